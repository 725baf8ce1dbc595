"""Runs a computation for several shards on the replicas of a strategy, from inside a Session.

On a TPU the script's graph and Session stay on the host. Where the computation stands in the graph,
one operation is put: the door. When the Session reaches it, it takes the shards' inputs and the
values of the variables, runs the traced computation under ``strategy.run``, one shard on each
replica, and gives back the outputs and the new values of the variables that the computation changes,
as shard 0 left them. This is what the distributed TPU rewrite of TensorFlow 1 did with a graph's
variables, which lived on the host too.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
from typing import Any, NamedTuple, Sequence

from tpucompat import accelerator, errors, journal
from tpucompat.engines import session, shards, strategy
from tpucompat.environment import environment

tf = session.v1()

#: Set for tests: emulated cores get doors too, and not only a TPU.
FORCE = "TPUCOMPAT_SESSION_DOORS"


# Operations that only a host can run.
_HOST = re.compile("PyFunc|EagerPyFunc|Print|.*Summary.*")


class Door(NamedTuple):
    """A computation behind a door.

    Attributes:
      outputs: ``outputs[shard][index]``: tensors of the default graph.
      updates: Operations that write back the variables.
    """

    outputs: list[list[Any]]
    updates: list[Any]


def wanted(num_shards: int) -> bool:
    """Whether a computation of so many shards is run on the replicas of a strategy."""
    if not environment().tpu and not os.environ.get(FORCE):
        return False
    if num_shards in (1, accelerator.cores()):
        return True
    _notice(f"{num_shards} shards do not fit {accelerator.cores()} cores")
    return False


def build(
    prepared: shards.Prepared,
    captures: Sequence[Any],
    inputs: Sequence[Sequence[Any]],
    ready: Any,
) -> Door | None:
    """Adds a door to the default graph.

    Args:
      prepared: The computation.
      captures: The tensors of the default graph that it takes, for all shards.
      inputs: ``inputs[shard][index]``: tensors of the default graph.
      ready: A tensor that has to be there before the computation runs.

    Returns:
      The door; None where the replicas cannot do what the computation does.
    """
    try:
        behind = _Behind(prepared, captures, len(inputs))
    except errors.UnsupportedGraphError as error:
        _notice(error.cause)
        return None
    handles = dict(zip(prepared.computation.captures, captures))
    values = [
        tf.raw_ops.ReadVariableOp(resource=handles[name], dtype=dtype)
        for name, dtype in behind.variables.items()
    ]
    shared = [handles[name] for name in behind.shared]
    flat = [value for row in inputs for value in row]
    types = [dtype for _ in inputs for dtype in behind.output_types]
    types += [behind.variables[name] for name in prepared.written]
    call = getattr(tf, "numpy_function", tf.py_func)
    with tf.control_dependencies([ready]):
        results = call(behind.run, [*flat, *shared, *values], types, name="door")
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    count = len(behind.output_types)
    outputs = [results[k * count : (k + 1) * count] for k in range(len(inputs))]
    for row in outputs:
        for tensor, shape in zip(row, behind.output_shapes):
            tensor.set_shape(shape)
    updates = [
        tf.raw_ops.AssignVariableOp(resource=handles[name], value=value)
        for name, value in zip(prepared.written, results[len(inputs) * count :])
    ]
    return Door(outputs, updates or [getattr(results[0], "op", results[0])])


class _Behind:
    """What is behind a door: the replicas, and what they run.

    Args:
      prepared: The computation.
      captures: The tensors that it takes from the script's graph.
      num_shards: How many shards, and replicas, there are.
    """

    def __init__(self, prepared: shards.Prepared, captures: Sequence[Any], num_shards: int) -> None:
        computation = prepared.computation
        self._num_shards = num_shards
        # A single shard is run by every replica, and what replica 0 gives is taken.
        self._copies = accelerator.cores() if num_shards == 1 else 1
        self._written = prepared.written
        self._num_arguments = len(computation.arguments)
        self.variables = {
            name: tf.as_dtype(kind) for name, (kind, _) in computation.variables.items()
        }
        self.shared = [name for name in computation.captures if name not in self.variables]
        types = dict(zip(computation.captures, (tensor.dtype for tensor in captures)))
        for name in self.shared:
            if types[name] in (tf.resource, tf.variant):
                raise errors.UnsupportedGraphError(
                    "TPU361", f"the computation takes the resource {name!r} of the Session"
                )
        graph, outputs = self._graph(prepared)
        given = [*computation.arguments, *self.shared]
        traced = strategy.TracedStep(
            graph,
            inputs=[graph.get_tensor_by_name(name + ":0") for name in given],
            outputs=outputs,
            updates=[graph.get_operation_by_name(name) for name in prepared.effects],
        )
        _refuse_host_operations(traced.cut)
        self.output_types = [tensor.dtype for tensor in outputs]
        self.output_shapes = [tensor.shape for tensor in outputs]
        self._state = strategy.ReplicatedVariables(accelerator.strategy())
        self._step = strategy.ReplicatedStep(traced, accelerator.strategy(), self._state)
        # The replicas' variables are one set; Sessions may come by several threads.
        self._lock = threading.Lock()

    def run(self, *arrays: Any) -> list[Any]:
        """Runs all shards once; takes and gives what :func:`build` passes."""
        count = self._num_shards * self._num_arguments
        shared = list(arrays[count : count + len(self.shared)])
        feeds = [
            [*arrays[k * self._num_arguments : (k + 1) * self._num_arguments], *shared]
            for k in range(self._num_shards)
        ]
        with self._lock:
            self._state.load(dict(zip(self.variables, arrays[count + len(self.shared) :])))
            rows = self._step(feeds * self._copies)[: self._num_shards]
            after = self._state.read(self._written) if self._written else {}
        return [value for row in rows for value in row] + [after[name] for name in self._written]

    def _graph(self, prepared: shards.Prepared) -> tuple[Any, list[Any]]:
        """The computation in a graph of its own, with variables in the place of captured handles."""
        computation = prepared.computation
        graph_def = prepared.graph_def()
        for node in computation.graph_def.node:
            if node.name in computation.arguments or node.name in self.shared:
                graph_def.node.add().CopyFrom(node)
        for name, (kind, shape) in computation.variables.items():
            handle = graph_def.node.add(name=name, op="VarHandleOp")
            handle.attr["dtype"].type = kind
            handle.attr["shape"].shape.CopyFrom(shape)
            handle.attr["shared_name"].s = name.encode()
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(graph_def, name="")
            outputs = [graph.get_tensor_by_name(name) for name in computation.outputs]
        return graph, outputs


def _refuse_host_operations(cut: Any) -> None:
    """Raises where a computation needs Python or the console, which no core can reach."""
    nodes = itertools.chain(
        *(stage.graph_def.node for stage in cut.stages),
        *(function.node_def for function in cut.library.function),
    )
    for node in nodes:
        if _HOST.match(node.op):
            raise errors.UnsupportedGraphError(
                "TPU361", f"the computation holds the host operation {node.op} {node.name!r}"
            )


def _notice(reason: str) -> None:
    journal.notice("TPU354", f"the host runs a computation, not the cores: {reason}")
