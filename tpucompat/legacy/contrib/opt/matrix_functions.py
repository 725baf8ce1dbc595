"""Roots of matrices by iteration.

Behaviour follows matrix_functions.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def matrix_square_root(
    mat_a: Any, mat_a_size: Any, iter_count: int = 100, ridge_epsilon: float = 1e-4
) -> Any:
    """The square root of a symmetric positive matrix, by a Newton iteration (Iannazzo, 2006).

    Args:
      mat_a: The matrix.
      mat_a_size: Its size.
      iter_count: The most steps; they end where the error grows.
      ridge_epsilon: Added to the diagonal.
    """
    identity = tf.eye(tf.cast(mat_a_size, tf.int32))
    mat_a = mat_a + ridge_epsilon * identity
    norm = tf.sqrt(tf.reduce_sum(mat_a * mat_a))

    def goes_on(step: Any, y: Any, old_y: Any, z: Any, error: Any, old_error: Any) -> Any:
        return tf.logical_and(step < iter_count, error < old_error)

    def better(step: Any, y: Any, old_y: Any, z: Any, error: Any, old_error: Any) -> Any:
        factor = 0.5 * (3.0 * identity - tf.matmul(z, y))
        new_y, new_z = tf.matmul(y, factor), tf.matmul(factor, z)
        root = new_y * tf.sqrt(norm)
        residual = mat_a - tf.matmul(root, root)
        new_error = tf.sqrt(tf.reduce_sum(residual * residual)) / norm
        return step + 1, new_y, y, new_z, new_error, error

    start = mat_a / norm
    # The last step has made it worse: the root is that of the one before.
    found = tf.while_loop(goes_on, better, [0, start, start, identity, norm, norm + 1.0])
    return found[2] * tf.sqrt(norm)


def matrix_inverse_pth_root(
    mat_g: Any,
    mat_g_size: Any,
    alpha: float,
    iter_count: int = 100,
    epsilon: float = 1e-6,
    ridge_epsilon: float = 1e-6,
) -> Any:
    """``mat_g ** alpha`` of a symmetric positive matrix, by a coupled Newton iteration (Guo and Higham, 2006).

    Args:
      mat_g: The matrix.
      mat_g_size: Its size.
      alpha: The exponent, -1/p of a whole number p.
      iter_count: The most steps.
      epsilon: The largest error at which they end.
      ridge_epsilon: Added to the diagonal.
    """
    if mat_g_size == 1:
        return tf.pow(mat_g + ridge_epsilon, alpha)
    identity = tf.eye(tf.cast(mat_g_size, tf.int32))
    damped = mat_g + ridge_epsilon * identity

    def goes_on(step: Any, m: Any, x: Any) -> Any:
        error = tf.reduce_max(tf.abs(m - identity))
        return tf.logical_and(step < iter_count, error > epsilon)

    def better(step: Any, m: Any, x: Any) -> Any:
        factor = (1 - alpha) * identity + alpha * m
        return step + 1, tf.matmul(_power(factor, -1.0 / alpha), m), tf.matmul(x, factor)

    scale = (1 - 1 / alpha) / (2 * tf.norm(damped))
    start = [0, damped * scale, identity * tf.pow(scale, -alpha)]
    return tf.while_loop(goes_on, better, start)[2]


def _power(matrix: Any, exponent: float) -> Any:
    """A power of a matrix by a whole number above zero."""
    assert exponent == int(exponent) and exponent > 0
    rest, found = int(exponent), None
    while rest:
        if rest % 2:
            found = matrix if found is None else tf.matmul(matrix, found)
        rest //= 2
        matrix = tf.matmul(matrix, matrix)
    return found
