"""``tf.contrib.nn``: a few functions that did not move into ``tf.nn``.

Behaviour follows tensorflow/contrib/nn/python/ops of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadValueError

# The limit of SELU on the left: -scale * alpha of Klambauer et al., 2017.
_SELU_LIMIT = -1.7580993408473766


def alpha_dropout(
    x: Any,
    keep_prob: Any,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Dropout that keeps mean and variance of self-normalizing networks (Klambauer et al., 2017).

    Args:
      x: A tensor of floats.
      keep_prob: The probability that an element is kept.
      noise_shape: Of the choice; that of ``x`` by default.
      seed: Of the choice.
      name: Of the operation.

    Returns:
      A tensor like ``x``.

    Raises:
      ValueError: If ``keep_prob`` is not in (0, 1].
    """
    with tf.name_scope(name, "alpha_dropout", [x]):
        x = tf.convert_to_tensor(x, name="x")
        if isinstance(keep_prob, (int, float)):
            if not 0 < keep_prob <= 1:
                raise BadValueError(
                    "TPU103",
                    "keep_prob must be a scalar tensor or a float in the range (0, 1], "
                    f"got {float(keep_prob):g}",
                )
            if keep_prob == 1:
                return x
        keep = tf.convert_to_tensor(keep_prob, dtype=x.dtype, name="keep_prob")
        if tf.get_static_value(keep) == 1:
            return x
        shape = tf.shape(x) if noise_shape is None else noise_shape
        kept = tf.cast(tf.random_uniform(shape, seed=seed, dtype=x.dtype) >= 1 - keep, x.dtype)
        scale = (keep + keep * (1 - keep) * _SELU_LIMIT**2) ** -0.5
        shift = -scale * _SELU_LIMIT * (1 - keep)
        return scale * (x * kept + _SELU_LIMIT * (1 - kept)) + shift


def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> Any:
    """``alpha * log(1 + exp(x / alpha))``, a smooth relu, optionally clipped from above.

    Args:
      x: A tensor of floats.
      alpha: Its scale; broadcast against ``x``.
      clip: The upper bound.
      name: Of the operation.

    Returns:
      A tensor like ``x``.
    """
    with tf.name_scope(name, "scaled_softplus", [x, alpha]):
        x = tf.convert_to_tensor(x, name="x")
        alpha = tf.convert_to_tensor(alpha, dtype=x.dtype, name="alpha")
        y = alpha * tf.nn.softplus(x / alpha)
        if clip is None:
            return y
        return tf.minimum(y, tf.convert_to_tensor(clip, dtype=x.dtype, name="clip"))


def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, dim: int = -1, name: str | None = None
) -> Any:
    """``tf.nn.softmax_cross_entropy_with_logits`` with the logits first.

    Args:
      logits: Unscaled log probabilities.
      labels: Probabilities.
      dim: The dimension of the classes.
      name: Of the operation.

    Returns:
      The losses.
    """
    return tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, name: str | None = None
) -> Any:
    """``tf.nn.sparse_softmax_cross_entropy_with_logits`` with the logits first.

    Args:
      logits: Unscaled log probabilities.
      labels: Classes.
      name: Of the operation.

    Returns:
      The losses.
    """
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(
    logits: Any, targets: Any, name: str | None = None
) -> Any:
    """``tf.nn.sigmoid_cross_entropy_with_logits`` with the logits first.

    Args:
      logits: Log odds.
      targets: Probabilities.
      name: Of the operation.

    Returns:
      The losses.
    """
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


def sparsemax(logits: Any, name: str | None = None) -> Any:
    """Projects rows onto the probability simplex (Martins and Astudillo, 2016): ``tf.contrib.sparsemax``.

    Args:
      logits: ``[batch, classes]``.
      name: Of the operation.

    Returns:
      ``[batch, classes]`` probabilities, some of them exactly 0; nan for a row without finite
      numbers.
    """
    with tf.name_scope(name, "sparsemax", [logits]):
        z = tf.convert_to_tensor(logits, name="logits")
        classes = tf.shape(z)[1]
        descending, _ = tf.nn.top_k(z, k=classes)
        sums = tf.cumsum(descending, axis=1)
        counts = tf.range(1, tf.cast(classes, z.dtype) + 1, dtype=z.dtype)
        support = tf.reduce_sum(tf.cast(1 + counts * descending > sums, tf.int32), axis=1)
        last = tf.maximum(support, 1) - 1
        total = tf.gather(sums, last[:, None], axis=1, batch_dims=1)
        threshold = (total - 1) / tf.cast(support, z.dtype)[:, None]
        bad = tf.logical_or(tf.equal(support, 0), tf.is_nan(sums[:, -1]))
        projected = tf.maximum(tf.zeros([], z.dtype), z - threshold)
        return tf.where(bad, tf.fill(tf.shape(z), tf.cast(float("nan"), z.dtype)), projected)


def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> Any:
    """The loss whose gradient is ``sparsemax - labels``: ``tf.contrib.sparsemax.sparsemax_loss``.

    Args:
      logits: ``[batch, classes]``.
      sparsemax: Their :func:`sparsemax`.
      labels: ``[batch, classes]`` probabilities.
      name: Of the operation.

    Returns:
      ``[batch]`` losses.
    """
    with tf.name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        z, p, q = (tf.convert_to_tensor(t) for t in (logits, sparsemax, labels))
        used = tf.logical_or(p > 0, tf.is_nan(p))
        predicted = tf.where(used, p * (z - 0.5 * p), tf.zeros_like(p))
        # An impossible class may have a logit of minus infinity.
        idle = tf.logical_and(tf.equal(q, 0), tf.is_inf(z))
        labelled = tf.where(idle, tf.zeros_like(z), q * (0.5 * q - z))
        return tf.reduce_sum(predicted + labelled, axis=1)


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
