"""TPUs: their topology, their native operations, and XLA."""

from __future__ import annotations

import functools
from typing import Any, Callable

from tensorflow.python.ops import control_flow_ops

from tpucompat.base.late import late, load

# Where 1.14 to 2.21 have them, and 1.13.
_device_assignment = late(
    "tensorflow.python.tpu.device_assignment",
    "tensorflow.contrib.tpu.python.tpu.device_assignment",
)
_topology = late("tensorflow.python.tpu.topology", "tensorflow.contrib.tpu.python.tpu.topology")
_topology_pb2 = late(
    "tensorflow.core.protobuf.tpu.topology_pb2", "tensorflow.contrib.tpu.proto.topology_pb2"
)
_tpu_feed = late("tensorflow.python.tpu.tpu_feed", "tensorflow.contrib.tpu.python.tpu.tpu_feed")
_tpu_function = late(
    "tensorflow.python.tpu.tpu_function", "tensorflow.contrib.tpu.python.tpu.tpu_function"
)
_tpu_ops = late("tensorflow.python.tpu.ops.tpu_ops", "tensorflow.contrib.tpu.python.ops.tpu_ops")
_training_loop = late(
    "tensorflow.python.tpu.training_loop", "tensorflow.contrib.tpu.python.tpu.training_loop"
)
# For check alone.
_gen_xla_ops = late("tensorflow.compiler.tf2xla.ops.gen_xla_ops")
_hlo_pb2 = late("tensorflow.compiler.xla.service.hlo_pb2")


def topology_class() -> Any:
    """``tf.tpu.experimental.Topology``, which is public since 2.2.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.topology``; in 1.13 under ``tensorflow.contrib.tpu``.
    """
    return _topology.Topology


def cross_replica_sum(value: Any, name: str = "") -> Any:
    """Adds a native ``CrossReplicaSum`` node for all cores of the TPU to the default graph.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.ops.tpu_ops``; in 1.13 under ``tensorflow.contrib.tpu``.
    """
    return _tpu_ops.cross_replica_sum(value, name=name or None)


def tpu_function() -> Any:
    """The module that holds the thread's TPU context: ``get_tpu_context`` and ``tpu_shard_context``.

    TensorFlow's own module is used, so that library code (tensorflow-estimator) and the stand-ins see the
    same number of shards. Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.tpu_function``; in 1.13 under
    ``tensorflow.contrib.tpu``.
    """
    return load(_tpu_function)


def tpu_ops() -> Any:
    """The module of the TPU's native operations, which also registers their gradients.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.ops.tpu_ops``; in 1.13 under ``tensorflow.contrib.tpu``.
    """
    return load(_tpu_ops)


def device_assignment() -> Any:
    """The module that spreads replicas over cores; the class is public as tf.tpu.experimental.DeviceAssignment.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.device_assignment``; in 1.13 under
    ``tensorflow.contrib.tpu``.
    """
    return load(_device_assignment)


def topology_proto() -> Any:
    """The class ``TopologyProto``; seen in 1.14 to 2.21 in ``tensorflow.core.protobuf.tpu``."""
    return _topology_pb2.TopologyProto


def topology_rank() -> int:
    """The number of mesh dimensions that the installed ``Topology`` class takes: 3 in 1.x, 4 since 2.1."""
    proto = topology_proto()()
    proto.mesh_shape.extend([1, 1, 1, 1])
    proto.num_tasks = proto.num_tpu_devices_per_task = 1
    proto.device_coordinates.extend([0, 0, 0, 0])
    try:
        topology_class()(serialized=proto.SerializeToString())
    except ValueError:
        return 3
    return 4


def tpu_feed() -> Any:
    """The module of ``InfeedQueue``: ``tensorflow.python.tpu.tpu_feed``, 1.14 to 2.21; 1.13 in contrib."""
    return load(_tpu_feed)


def training_loop() -> Any:
    """The module of ``repeat``: ``tensorflow.python.tpu.training_loop``, 1.14 to 2.21; 1.13 in contrib."""
    return load(_training_loop)


class XlaContext:
    """What is built inside is meant for XLA: loops get a maximal number of steps.

    Keras' recurrent layers and the gradients of loops look for it (``GraphOrParentsInXlaContext``). It can
    be entered several times, since a gradient needs the context of its loop. Seen in 1.13 to 2.21 as
    ``control_flow_ops.XLAControlFlowContext``. The TPU's own, a subclass, has ``get_replicated_var_handle``,
    and ``grad_state`` and ``back_prop``, which the gradients of conditionals and loops ask for
    (``TPUReplicateContext``: ``tensorflow/python/tpu/tpu.py`` in 1.15, ``tpu_replication.py`` in 2.15, 2.21).

    Args:
      replicated_handle: Stands for that method; None for a context without it.
    """

    def __init__(self, replicated_handle: Callable[..., Any] | None = None) -> None:
        self._context = _xla_control_flow_context()()
        if replicated_handle is not None:
            self._context.get_replicated_var_handle = replicated_handle

    def __enter__(self) -> None:
        self._context.Enter()

    def __exit__(self, *error: Any) -> None:
        self._context.Exit()


@functools.lru_cache(maxsize=None)
def _xla_control_flow_context() -> Any:
    class Context(control_flow_ops.XLAControlFlowContext):
        """A program for XLA is not a loop: gradients in it begin outside of all loops but its own."""

        grad_state = None

        @property
        def back_prop(self) -> bool:
            """Whether the loop around it, if there is one, has gradients."""
            loop = self.GetWhileContext()
            return loop is not None and loop.back_prop

    return Context


def custom_call(value: Any, target: str, config: str) -> Any:
    """A call, in XLA's program, of a function that takes a tensor and gives one like it.

    Seen in 2.8 to 2.21 as ``xla_custom_call`` of ``tensorflow/compiler/tf2xla/ops/gen_xla_ops.py``.
    """
    return _gen_xla_ops.xla_custom_call(
        args=[value],
        target_name=target,
        backend_config=config,
        dtype=value.dtype,
        shape=value.shape,
    )


def all_reduce(value: Any, groups: Any) -> Any:
    """The sum over cores as an operation that has no static shape to know.

    Seen in 2.8 to 2.21 as ``xla_all_reduce`` of ``tensorflow/compiler/tf2xla/ops/gen_xla_ops.py``; XLA's
    compiler for a CPU has it since 2.16.
    """
    return _gen_xla_ops.xla_all_reduce(value, groups, "Add", "CrossReplica")


def xla_replica_id() -> Any:
    """The number of the replica as an operation, a tensor of int32.

    Seen in 1.15 to 2.21 as ``xla_replica_id`` of ``tensorflow/compiler/tf2xla/ops/gen_xla_ops.py``.
    """
    return _gen_xla_ops.xla_replica_id()


def hlo_module(program: bytes) -> Any:
    """A serialized ``HloModuleProto`` as a message.

    Seen in 2.12 to 2.21 in ``tensorflow/compiler/xla/service/hlo_pb2.py``.
    """
    return _hlo_pb2.HloModuleProto.FromString(program)
