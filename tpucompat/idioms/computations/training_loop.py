"""``repeat`` and ``while_loop``: training loops that run inside a TPU computation.

They are TensorFlow's own (``tensorflow/python/tpu/training_loop.py``, the same from 1.13 to 2.21);
the engine writes their bodies out for all shards, sums over the shards included.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

from tpucompat.tf import private


def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    inputs: Sequence[Any] | None = None,
    infeed_queue: Any = None,
    name: str | None = None,
) -> Any:
    """Runs a body as long as a condition holds.

    Args:
      condition: Takes the loop's values, returns a boolean scalar.
      body: Takes the loop's values and then a tuple of the infeed; returns new values, and after
        them operations that are to run in each iteration.
      inputs: The initial values; None for none.
      infeed_queue: An ``InfeedQueue``, or None.
      name: Ignored, as in TensorFlow 1.15.

    Returns:
      The final values.

    Raises:
      TypeError: If a function does not take that number of values, or the body returns other types.
      ValueError: If there is an infeed queue, and no computation is being built.
    """
    return private.training_loop().while_loop(condition, body, inputs, infeed_queue, name)


def repeat(
    n: Any,
    body: Callable[..., Any],
    inputs: Sequence[Any] | None = None,
    infeed_queue: Any = None,
    name: str | None = None,
) -> Any:
    """Runs a body a number of times.

    Args:
      n: How many times.
      body: As in :func:`while_loop`.
      inputs: The initial values; None for none.
      infeed_queue: An ``InfeedQueue``, or None.
      name: Ignored, as in TensorFlow 1.15.

    Returns:
      The final values; the loop's operation where there are none.

    Raises:
      TypeError, ValueError: As in :func:`while_loop`.
    """
    return private.training_loop().repeat(n, body, inputs, infeed_queue, name)
