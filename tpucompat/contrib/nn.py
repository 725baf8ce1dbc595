"""``tf.contrib.nn``: a few functions that did not move into ``tf.nn``.

Behaviour follows tensorflow/contrib/nn/python/ops of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> Any:
    """The n-th smallest number of each row.

    Args:
      input: ``[..., size]``.
      n: Which, from 0.
      reverse: Whether the n-th largest is meant.
      name: Of the operation.

    Returns:
      ``[...]``.
    """
    return tf.raw_ops.NthElement(input=input, n=n, reverse=reverse, name=name)
