"""The TPU system as Session scripts see it: initialized, shut down, with a topology.

On a TPU the state belonged to the TPU's server, so that it outlived a Session; here it belongs to
the process. It is asked when a computation runs, not when it is built, because scripts build first.
"""

from __future__ import annotations

import re
import threading
import weakref
from typing import Any, Callable

import numpy
import tensorflow.compat.v1 as tf

from tpucompat.engines import accelerator
from tpucompat.tf import private, topology

# Reading a variable that nobody makes raises FailedPreconditionError, as a TPU does; its name is in
# the message.
_MISSING = (
    "the TPU system is not initialized, or was shut down [TPU349]. Next: run "
    "tf.contrib.tpu.initialize_system() in a Session first"
)

_lock = threading.Lock()
_initialized = False
_checks: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def initialize_system(embedding_config: Any = None, job: str | None = None) -> Any:
    """Builds what initializes the TPU system when it is run in a Session.

    Args:
      embedding_config: Ignored; there is no embedding hardware.
      job: Ignored; there is one machine.

    Returns:
      A scalar string tensor: the serialized ``TopologyProto`` of the cores.
    """
    del embedding_config, job
    with tf.device(None):
        return _host_call("ConfigureDistributedTPU", mark_initialized, tf.string)


def shutdown_system(job: str | None = None) -> Any:
    """Builds the operation that shuts the TPU system down; computations fail from then on.

    Args:
      job: Ignored; there is one machine.

    Returns:
      An operation.
    """
    del job
    with tf.device(None):
        return _host_call("ShutdownDistributedTPU", mark_shut_down, tf.bool).op


def mark_initialized() -> bytes:
    """Initializes the system at once.

    Returns:
      The serialized ``TopologyProto``.
    """
    global _initialized
    with _lock:
        _initialized = True
    return topology.serialized(accelerator.cores())


def mark_shut_down() -> bool:
    """Shuts the system down at once; True."""
    global _initialized
    with _lock:
        _initialized = False
    return True


def initialize_tpu_system(cluster_resolver: Any = None) -> Any:
    """``tf.tpu.experimental.initialize_tpu_system``: the topology of the cores that train.

    The TPU of this machine, if there is one, is initialised with the strategy, once per process.

    Args:
      cluster_resolver: Not needed.

    Returns:
      A ``tf.tpu.experimental.Topology`` of one task with as many devices as there are cores.
    """
    del cluster_resolver
    accelerator.announce()
    accelerator.strategy()
    mark_initialized()
    return private.topology_class()(serialized=topology.serialized(accelerator.cores()))


def shutdown_tpu_system(cluster_resolver: Any = None) -> None:
    """``tf.tpu.experimental.shutdown_tpu_system``: the TPU itself goes on serving this process.

    Args:
      cluster_resolver: Not needed.
    """
    del cluster_resolver
    mark_shut_down()


def is_initialized() -> bool:
    """Whether the system is initialized."""
    return _initialized


def check() -> Any:
    """A scalar boolean tensor that is true; fetching it fails while the system is not initialized.

    A function's graph asks nobody: it is exported, and a function of Python cannot be.

    Raises, in ``Session.run``: ``tf.errors.FailedPreconditionError`` (TPU349).
    """
    graph = tf.get_default_graph()
    if graph.building_function:
        return tf.constant(True)
    if graph not in _checks:
        # Outside of all loops, conditionals and devices of the place where the first computation
        # stands.
        with tf.control_dependencies(None), tf.device(None), tf.name_scope("tpu_system/"):
            up = _host_call("initialized", is_initialized, tf.bool)
            _checks[graph] = tf.cond(up, lambda: tf.constant(True), _fail)
    return _checks[graph]


def _fail() -> Any:
    handle = tf.raw_ops.VarHandleOp(dtype=tf.bool, shape=[], shared_name=_MISSING)
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.bool)


def _host_call(name: str, function: Callable[[], Any], dtype: Any) -> Any:
    """A scalar tensor that a function without arguments gives whenever it is fetched."""
    convert = numpy.bool_ if dtype == tf.bool else (lambda value: value)
    call = getattr(tf, "numpy_function", tf.py_func)  # 1.13 has no numpy_function
    value = call(lambda: convert(function()), [], dtype, name=name)
    value.set_shape([])
    return value


def core_number(device: str, ordinal: int) -> int:
    """The number of a core among all, from a device string and the ordinal within its host.

    Args:
      device: Such as ``/task:1/device:CPU:0`` or ``/device:TPU:3``.
      ordinal: The core of the host; -1 where ``device`` is the core itself.
    """
    task = re.search(r"task:(\d+)", device)
    if ordinal < 0:
        own = re.search(r"TPU:(\d+)", device)
        ordinal = int(own.group(1)) if own else 0
    return (int(task.group(1)) if task else 0) * topology.CORES_PER_HOST + ordinal
