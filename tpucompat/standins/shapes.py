"""Functions of ``tensorflow/python/framework/tensor_shape.py`` in 1.15 that TensorFlow 2 has lost."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def scalar() -> Any:
    """The shape of a number."""
    return tf.TensorShape([])


def vector(length: Any) -> Any:
    """The shape of a vector.

    Args:
      length: Its length; None if that is not known.
    """
    return tf.TensorShape([length])


def matrix(rows: Any, cols: Any) -> Any:
    """The shape of a matrix.

    Args:
      rows: The number of rows; None if that is not known.
      cols: Likewise, of columns.
    """
    return tf.TensorShape([rows, cols])
