"""Turns the graph of one shard's computation into one graph for all shards.

The computation is traced once. Its GraphDef is then written out for N shards: what is the same in
every shard stands once, what differs stands N times, and a ``CrossReplicaSum`` becomes an ``AddN``
over the shards. The result is one GraphDef that runs in any Session.

*Varying or not.* A value varies if it can differ between the shards: the inputs of the shards do,
random numbers, what comes out of an infeed queue, and everything computed from them, until a sum
over all shards makes it the same again. An optimizer's update therefore stands once, as in a
hand-written multi-tower graph.

*Functions.* ``While``, ``If``, ``Case`` and calls hold their bodies as functions; those are written
out the same way. Where the predicate is the same in all shards, the shards share one loop that
carries the varying values N times, so that sums over the shards may stand inside it. Where the
predicate varies, every shard gets a loop of its own.

*Variables* follow the distributed TPU rewrite (``tensorflow/core/tpu/graph_rewrite/
distributed_tpu_rewrite_pass.cc`` in 2.x): all shards read the value at the start of the run, a
write is seen by later reads of the same shard, and what shard 0 wrote is what remains.

*One batch.* Where the shards come from splitting one batch, and every operation treats its examples one
by one, nothing has to be split: the computation is written once, for the whole batch.

Everything here works on protocol buffers; the graph that is read is not changed.
"""

from __future__ import annotations

from tpucompat.engines.shards.expansion import (
    Computation,
    Expansion,
    Prepared,
    diverging,
    expand,
)
from tpucompat.engines.shards.lowering import QUEUE_CAPACITY, queue_name
from tpucompat.engines.shards.merging import merged_axes

__all__ = [
    "QUEUE_CAPACITY",
    "Computation",
    "Expansion",
    "Prepared",
    "diverging",
    "expand",
    "merged_axes",
    "queue_name",
]
