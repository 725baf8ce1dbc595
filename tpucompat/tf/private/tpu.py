"""TPUs: their topology, their native operations, and XLA."""

from __future__ import annotations

import functools
from typing import Any, Callable

from tensorflow.python.ops import control_flow_ops


def topology_class() -> Any:
    """``tf.tpu.experimental.Topology``, which is public since 2.2.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.topology``; in 1.13 under ``tensorflow.contrib.tpu``.
    """
    try:
        from tensorflow.python.tpu import topology
    except ImportError:
        from tensorflow.contrib.tpu.python.tpu import topology
    return topology.Topology


def cross_replica_sum(value: Any, name: str = "") -> Any:
    """Adds a native ``CrossReplicaSum`` node for all cores of the TPU to the default graph.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.ops.tpu_ops``; in 1.13 under ``tensorflow.contrib.tpu``.
    """
    try:
        from tensorflow.python.tpu.ops import tpu_ops
    except ImportError:
        from tensorflow.contrib.tpu.python.ops import tpu_ops
    return tpu_ops.cross_replica_sum(value, name=name or None)


def tpu_function() -> Any:
    """The module that holds the thread's TPU context: ``get_tpu_context`` and ``tpu_shard_context``.

    TensorFlow's own module is used, so that library code (tensorflow-estimator) and the stand-ins see the
    same number of shards. Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.tpu_function``; in 1.13 under
    ``tensorflow.contrib.tpu``.
    """
    try:
        from tensorflow.python.tpu import tpu_function as module
    except ImportError:
        from tensorflow.contrib.tpu.python.tpu import tpu_function as module
    return module


def tpu_ops() -> Any:
    """The module of the TPU's native operations, which also registers their gradients.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.ops.tpu_ops``; in 1.13 under ``tensorflow.contrib.tpu``.
    """
    try:
        from tensorflow.python.tpu.ops import tpu_ops as module
    except ImportError:
        from tensorflow.contrib.tpu.python.ops import tpu_ops as module
    return module


def device_assignment() -> Any:
    """The module that spreads replicas over cores; the class is public as tf.tpu.experimental.DeviceAssignment.

    Seen in 1.14 to 2.21 as ``tensorflow.python.tpu.device_assignment``; in 1.13 under
    ``tensorflow.contrib.tpu``.
    """
    try:
        from tensorflow.python.tpu import device_assignment
    except ImportError:  # 1.13
        from tensorflow.contrib.tpu.python.tpu import device_assignment
    return device_assignment


def topology_proto() -> Any:
    """The class ``TopologyProto``; seen in 1.14 to 2.21 in ``tensorflow.core.protobuf.tpu``."""
    try:
        from tensorflow.core.protobuf.tpu import topology_pb2
    except ImportError:  # 1.13
        from tensorflow.contrib.tpu.proto import topology_pb2
    return topology_pb2.TopologyProto


def topology_rank() -> int:
    """The number of mesh dimensions that the installed ``Topology`` class takes: 3 in 1.x, 4 since 2.1."""
    try:
        from tensorflow.python.tpu.topology import Topology
    except ImportError:  # 1.13
        return 3
    proto = topology_proto()()
    proto.mesh_shape.extend([1, 1, 1, 1])
    proto.num_tasks = proto.num_tpu_devices_per_task = 1
    proto.device_coordinates.extend([0, 0, 0, 0])
    try:
        Topology(serialized=proto.SerializeToString())
    except ValueError:
        return 3
    return 4


def tpu_feed() -> Any:
    """The module of ``InfeedQueue``: ``tensorflow.python.tpu.tpu_feed``, 1.14 to 2.21; 1.13 in contrib."""
    try:
        from tensorflow.python.tpu import tpu_feed as module
    except ImportError:
        from tensorflow.contrib.tpu.python.tpu import tpu_feed as module
    return module


def training_loop() -> Any:
    """The module of ``repeat``: ``tensorflow.python.tpu.training_loop``, 1.14 to 2.21; 1.13 in contrib."""
    try:
        from tensorflow.python.tpu import training_loop as module
    except ImportError:
        from tensorflow.contrib.tpu.python.tpu import training_loop as module
    return module


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
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

    return gen_xla_ops.xla_custom_call(
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
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

    return gen_xla_ops.xla_all_reduce(value, groups, "Add", "CrossReplica")


def hlo_module(program: bytes) -> Any:
    """A serialized ``HloModuleProto`` as a message.

    Seen in 2.12 to 2.21 in ``tensorflow/compiler/xla/service/hlo_pb2.py``.
    """
    from tensorflow.compiler.xla.service import hlo_pb2

    return hlo_pb2.HloModuleProto.FromString(program)
