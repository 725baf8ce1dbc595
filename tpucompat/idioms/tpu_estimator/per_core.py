"""What a model function gives to each core by itself: Mesh TensorFlow's slices of a variable.

A script that sets ``TPUConfig(num_cores_per_replica=1)`` is told which core a replica is on, and may hand
every core another value: the computation is inside a context of XLA's, whose ``get_replicated_var_handle``
makes one variable out of one for each core, and ``tpu_replicated_input`` does the same with tensors. Outside
of such a context a replicated variable is its first one.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.idioms.tpu_estimator import device as device_lib
from tpucompat.tf import private


@contextlib.contextmanager
def variables() -> Iterator[None]:
    """Within: a step of several cores is being built, and a variable may be another one on each."""
    with private.XlaContext(_handle):
        yield


def _handle(name: str, *args: Any, **kwargs: Any) -> Any:
    """The handle of a variable that is one on each core; later releases have an identity before the list."""
    del kwargs
    several = next(one for one in args if isinstance(one, (list, tuple)))
    return device_lib.device_for_graph().replicated_input(
        name, [variable.handle for variable in several]
    )


def tpu_replicated_input(inputs: Sequence[Any], name: str | None = None, **kwargs: Any) -> Any:
    """The value of this core among those of all cores.

    Args:
      inputs: A value for each core, or the handle of a variable.
      name: The operation's name.
      **kwargs: Further arguments of the operation, where there is no program of several cores.

    Returns:
      The core's own.

    Raises:
      UnsupportedGraphError: If there are more or fewer values than cores (TPU361).
    """
    tensors = [tf.convert_to_tensor(one) for one in inputs]
    if len(tensors) == 1:
        return tf.identity(tensors[0], name=name)
    cores = device_lib.device_for_graph()
    if cores.replica is None:
        return private.tpu_ops().tpu_replicated_input(tensors, name=name, **kwargs)
    return cores.replicated_input(name or "TPUReplicatedInput", tensors)
