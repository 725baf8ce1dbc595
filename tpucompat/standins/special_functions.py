"""Functions that 1.15 composed of operations that a TPU has, and that are operations of their own today.

``tensorflow/python/ops/special_math_ops.py`` of 1.15. A TPU has BesselI0e and BesselI1e, but neither BesselI0
nor BesselI1 (``engines/xla_operations.json``), which these functions are in 2.21.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def bessel_i0(x: Any, name: str | None = None) -> Any:
    """The modified Bessel function of order 0, of each element."""
    with tf.name_scope(name, "bessel_i0", [x]):
        return tf.exp(tf.abs(x)) * tf.math.bessel_i0e(x)


def bessel_i1(x: Any, name: str | None = None) -> Any:
    """The modified Bessel function of order 1, of each element."""
    with tf.name_scope(name, "bessel_i1", [x]):
        return tf.exp(tf.abs(x)) * tf.math.bessel_i1e(x)
