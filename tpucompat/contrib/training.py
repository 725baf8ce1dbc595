"""``tf.contrib.training``: placement of variables on servers.

Behaviour follows tensorflow/contrib/training/python/training/device_setter.py of TensorFlow 1.15.
"""

from __future__ import annotations

import hashlib
from typing import Any, Callable

from tpucompat.base.errors import BadValueError


class RandomStrategy:
    """Places an operation on a parameter server by a hash of its name.

    Args:
      num_ps_tasks: How many there are.
      seed: Changes the hash.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: Any) -> int:
        """The task's number."""
        key = f"{op.name}_{self._seed}".encode()
        return int(hashlib.md5(key).hexdigest(), 16) % self._num_tasks


class GreedyLoadBalancingStrategy:
    """Places an operation on the parameter server that has the least load so far.

    Args:
      num_tasks: How many there are.
      load_fn: Gives the load of an operation.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._loads = [0.0] * num_tasks
        self._load_fn = load_fn

    def __call__(self, op: Any) -> int:
        """The task's number."""
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: Any) -> int:
    """The bytes of an operation's one output.

    Raises:
      ValueError: If it has not exactly one output, or its shape is not static.
    """
    if len(op.outputs) != 1:
        raise BadValueError("TPU103", f"Op {op} must have a single output")
    output = op.outputs[0]
    shape = output.shape
    if not shape.is_fully_defined():
        shape = type(shape)(op.get_attr("shape"))
    shape.assert_is_fully_defined()
    return int(output.dtype.size * shape.num_elements())
