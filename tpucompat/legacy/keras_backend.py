"""Functions of ``tf.keras.backend`` that mean something else today than in TensorFlow 1.15."""

from __future__ import annotations

from typing import Any

from tpucompat.engines import session


def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    """The product of matrices, or of vectors, for each example of a batch.

    As ``tensorflow/python/keras/backend.py`` of 1.15: matrices are the last two dimensions, and all
    dimensions before them count examples, so that attention multiplies [batch, heads, rows, depth]
    by [batch, heads, depth, columns]. Keras 2.2.5 and TensorFlow 2.2 and later contract one axis of
    each and spread the others: [batch, heads, rows, heads, columns].

    Args:
      x: A tensor of rank 2 or more.
      y: A tensor of rank 2 or more; the one of lower rank gets dimensions of 1 at its end.
      axes: One axis, or one for each tensor: an ``x`` axis other than the last, and a ``y`` axis that
        is the last, mean the transposed matrix. None multiplies the matrices as they are.

    Returns:
      The product; of rank 2 at least.
    """
    tf = session.enter()
    backend = session.keras().backend
    ranks = backend.ndim(x), backend.ndim(y)
    if axes is None:
        axes = ranks[0] - 1, ranks[1] - 2
    elif isinstance(axes, int):
        axes = axes, axes
    added = abs(ranks[0] - ranks[1])
    if ranks[0] > ranks[1]:
        y = _with_ones(y, added)
    elif added:
        x = _with_ones(x, added)
    if max(ranks) == 2:
        left = x if axes[0] == axes[1] else tf.transpose(x)
        product = tf.reduce_sum(left * y, axes[1])
    else:
        last = max(ranks) - 1
        product = tf.matmul(x, y, transpose_a=axes[0] != last, transpose_b=axes[1] == last)
    if added:
        first = sum(ranks) - 3 if ranks[0] > ranks[1] else ranks[0] - 1
        product = tf.squeeze(product, list(range(first, first + added)))
    return tf.expand_dims(product, 1) if backend.ndim(product) == 1 else product


def _with_ones(tensor: Any, count: int) -> Any:
    tf = session.enter()
    return tf.reshape(tensor, tf.concat([tf.shape(tensor), [1] * count], 0))
