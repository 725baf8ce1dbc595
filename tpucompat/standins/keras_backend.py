"""Functions of ``tf.keras.backend`` that mean something else today than in TensorFlow 1.15."""

from __future__ import annotations

import functools
from typing import Any, Callable

import tensorflow.compat.v1 as tf

from tpucompat.tf import private

# Not :func:`tpucompat.engines.session.enter_graph_mode`: scripts of early TensorFlow 2 come by here too.


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
    backend = tf.keras.backend
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
    return tf.reshape(tensor, tf.concat([tf.shape(tensor), [1] * count], 0))


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two tensors, or of their elements, as a condition says.

    As ``tensorflow/python/keras/backend.py`` of 1.15: a condition of one dimension chooses whole rows of
    tensors of more. ``tf.where`` of TensorFlow 2 takes it for a condition of each last dimension, which fails,
    or chooses columns where a matrix is a square.

    Args:
      condition: A tensor; a scalar chooses one of the two.
      then_expression: A tensor, or a function that gives it.
      else_expression: The same, of the same shape.

    Returns:
      A tensor of that shape.
    """
    backend = tf.keras.backend
    if not hasattr(condition, "shape") or backend.ndim(condition) != 1:
        return backend.switch(condition, then_expression, else_expression)
    condition = condition if condition.dtype == tf.bool else tf.cast(condition, "bool")
    tensors = [each() if callable(each) else each for each in (then_expression, else_expression)]
    return tf.where(condition, *tensors)


def ctc_decode(
    y_pred: Any,
    input_length: Any,
    greedy: bool = True,
    beam_width: int = 100,
    top_paths: int = 1,
) -> tuple[list[Any], Any]:
    """The labels that the outputs of a network stand for, by connectionist temporal classification.

    As ``tensorflow/python/keras/backend.py`` of 1.15: each result is as wide as its longest sequence. Later
    ones are padded with -1 to the number of time steps, which scripts would take for labels.

    Args:
      y_pred: Probabilities [samples, time steps, categories].
      input_length: The number of time steps of each sample, [samples].
      greedy: Whether the best category of each step is taken; else a beam search is made.
      beam_width: The width of the beam.
      top_paths: How many sequences of each sample a beam search gives.

    Returns:
      A list of tensors [samples, longest sequence] with -1 behind the shorter ones, and the tensor of the
      logarithms of their probabilities.
    """
    decoded, scores = tf.keras.backend.ctc_decode(
        y_pred, input_length, greedy=greedy, beam_width=beam_width, top_paths=top_paths
    )
    return [_cut(labels) for labels in decoded], scores


def _cut(labels: Any) -> Any:
    lengths = tf.reduce_sum(tf.cast(tf.not_equal(labels, -1), tf.int32), axis=1)
    return labels[:, : tf.maximum(tf.reduce_max(lengths), 0)]


def variable(value: Any, dtype: Any = None, name: Any = None, constraint: Any = None) -> Any:
    """A variable; in a function of a Dataset, which makes none on TensorFlow 2, the tensor of its value."""
    backend = tf.keras.backend
    make = functools.partial(backend.variable, value, dtype, name, constraint)
    return _or_value(make, lambda: backend.constant(value, dtype))


def zeros(shape: Any, dtype: Any = None, name: Any = None) -> Any:
    """A variable of zeros; a tensor in a function of a Dataset, as :func:`variable`."""
    backend = tf.keras.backend
    make = functools.partial(backend.zeros, shape, dtype, name)
    return _or_value(make, lambda: tf.zeros(shape, dtype or backend.floatx()))


def ones(shape: Any, dtype: Any = None, name: Any = None) -> Any:
    """A variable of ones; a tensor in a function of a Dataset, as :func:`variable`."""
    backend = tf.keras.backend
    make = functools.partial(backend.ones, shape, dtype, name)
    return _or_value(make, lambda: tf.ones(shape, dtype or backend.floatx()))


def eye(size: Any, dtype: Any = None, name: Any = None) -> Any:
    """A variable with an identity matrix; a tensor in a function of a Dataset, as :func:`variable`."""
    backend = tf.keras.backend
    make = functools.partial(backend.eye, size, dtype, name)
    return _or_value(make, lambda: tf.eye(size, dtype=dtype or backend.floatx()))


def _or_value(make: Callable[[], Any], value: Callable[[], Any]) -> Any:
    """What ``make`` gives, or the value in a function of a Dataset.

    A variable made there is refused since 2.16; earlier, an iterator did not find it (2.6) or refused it.
    """
    return value() if private.is_function_of_a_dataset(tf.get_default_graph()) else make()
