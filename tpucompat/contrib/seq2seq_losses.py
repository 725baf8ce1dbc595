"""``tf.contrib.seq2seq.sequence_loss``: the cross entropy of sequences."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """Weighted cross entropy of sequences.

    Args:
      logits: ``[batch, time, classes]``.
      targets: ``[batch, time]`` classes.
      weights: ``[batch, time]``.
      average_across_timesteps: Whether to sum over time and divide by the weights.
      average_across_batch: Likewise over the batch.
      sum_over_timesteps: Whether to sum over time and divide by the number of weights that are not
        0.
      sum_over_batch: Likewise over the batch.
      softmax_loss_function: Gets labels and logits, flat over batch and time.
      name: Of the operation.

    Returns:
      A scalar, ``[batch]``, ``[time]`` or ``[batch, time]``.

    Raises:
      ValueError: If a rank is wrong, or both a sum and an average are asked for.
    """
    for tensor, rank, what in (
        (logits, 3, "Logits must be a [batch_size x sequence_length x logits] tensor"),
        (targets, 2, "Targets must be a [batch_size x sequence_length] tensor"),
        (weights, 2, "Weights must be a [batch_size x sequence_length] tensor"),
    ):
        if len(tensor.get_shape()) != rank:
            raise BadValueError("TPU103", what)
    for average, total, axis in (
        (average_across_timesteps, sum_over_timesteps, "timesteps"),
        (average_across_batch, sum_over_batch, "batch"),
    ):
        if average and total:
            raise BadValueError(
                "TPU103",
                f"average_across_{axis} and sum_over_{axis} cannot be set to True at same time.",
            )
    with tf.name_scope(name, "sequence_loss", [logits, targets, weights]):
        flat_logits = tf.reshape(logits, [-1, tf.shape(logits)[2]])
        compute = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
        losses = compute(labels=tf.reshape(targets, [-1]), logits=flat_logits)
        losses *= tf.reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return tf.div_no_nan(tf.reduce_sum(losses), tf.reduce_sum(weights))
        if sum_over_timesteps and sum_over_batch:
            count = tf.cast(tf.count_nonzero(weights), losses.dtype)
            return tf.div_no_nan(tf.reduce_sum(losses), count)
        losses = tf.reshape(losses, tf.shape(logits)[0:2])
        if average_across_timesteps or average_across_batch:
            over = [0] if average_across_batch else [1]
            size = tf.reduce_sum(weights, axis=over)
            return tf.div_no_nan(tf.reduce_sum(losses, axis=over), size)
        if sum_over_timesteps or sum_over_batch:
            over = [0] if sum_over_batch else [1]
            count = tf.cast(tf.count_nonzero(weights, axis=over), losses.dtype)
            return tf.div_no_nan(tf.reduce_sum(losses, axis=over), count)
        return losses
