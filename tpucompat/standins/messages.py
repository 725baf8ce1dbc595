"""Protocol messages that take what they took under TensorFlow 1.x."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf


class _Int64List(type):
    """Makes messages of the real class; the stand-in is that class to ``isinstance`` and otherwise."""

    def __call__(cls, value: Any = None, **fields: Any) -> Any:
        """A message; truth values count as 0 and 1.

        NumPy 1.x let its own be used as an index, which protobuf asks of integers; release 7 refuses bools.
        """
        if value is None:
            return tf.train.Int64List(**fields)
        values = value if hasattr(value, "__len__") else list(value)
        try:
            return tf.train.Int64List(value=values, **fields)
        except TypeError:
            numbers = [int(one) if isinstance(one, (bool, np.bool_)) else one for one in values]
            return tf.train.Int64List(value=numbers, **fields)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, tf.train.Int64List)

    def __getattr__(cls, name: str) -> Any:
        return getattr(tf.train.Int64List, name)


class Int64List(metaclass=_Int64List):
    """``tf.train.Int64List``."""
