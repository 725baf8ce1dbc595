"""``tf.contrib.legacy_seq2seq``: unrolled decoders and their loss.

Behaviour follows tensorflow/contrib/legacy_seq2seq/python/ops/seq2seq.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadValueError


def rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    loop_function: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs.

    Args:
      decoder_inputs: ``[batch, size]`` for each step.
      initial_state: Of the cell.
      cell: The cell.
      loop_function: Makes an input of the last output and the step's number, instead of the one given.
      scope: "rnn_decoder" by default.

    Returns:
      The outputs of all steps, and the last state.
    """
    with tf.variable_scope(scope or "rnn_decoder"):
        outputs: list[Any] = []
        state = initial_state
        for number, given in enumerate(decoder_inputs):
            if number:
                tf.get_variable_scope().reuse_variables()
                if loop_function is not None:
                    with tf.variable_scope("loop_function", reuse=True):
                        given = loop_function(outputs[-1], number)
            output, state = cell(given, state)
            outputs.append(output)
    return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """An encoder and a decoder, each with a cell of its own.

    Args:
      encoder_inputs: ``[batch, size]`` for each step.
      decoder_inputs: Likewise.
      cell: The cell; the encoder has a copy.
      dtype: Of the first state.
      scope: "basic_rnn_seq2seq" by default.

    Returns:
      The outputs of the decoder, and its last state.
    """
    import copy

    with tf.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = tf.nn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    loop_function: Any = None,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """An encoder and a decoder that share a cell.

    Args:
      encoder_inputs: ``[batch, size]`` for each step.
      decoder_inputs: Likewise.
      cell: The cell.
      loop_function: As for :func:`rnn_decoder`.
      dtype: Of the first state.
      scope: "combined_tied_rnn_seq2seq" by default.

    Returns:
      The outputs of the decoder, and its last state.
    """
    with tf.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = tf.nn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        tf.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """Weighted cross entropy of each sequence.

    Args:
      logits: ``[batch, classes]`` for each step.
      targets: ``[batch]`` classes for each step.
      weights: ``[batch]`` for each step.
      average_across_timesteps: Whether to divide by the weights.
      softmax_loss_function: Gets labels and logits of a step.
      name: Of the operation.

    Returns:
      ``[batch]`` losses.

    Raises:
      ValueError: If the lists differ in length.
    """
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise BadValueError(
            "TPU103",
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}.",
        )
    compute = softmax_loss_function or _cross_entropy
    with tf.name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        steps = [
            compute(labels=target, logits=logit) * weight
            for logit, target, weight in zip(logits, targets, weights)
        ]
        total = tf.add_n(steps)
        # The constant avoids a division by zero where all weights are zero.
        return total / (tf.add_n(list(weights)) + 1e-12) if average_across_timesteps else total


def _cross_entropy(labels: Any, logits: Any) -> Any:
    return tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(labels, [-1]), logits=logits
    )


def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """Weighted cross entropy of a batch of sequences.

    Args:
      logits: As for :func:`sequence_loss_by_example`.
      targets: Likewise.
      weights: Likewise.
      average_across_timesteps: Likewise.
      average_across_batch: Whether to divide by the batch size.
      softmax_loss_function: As for :func:`sequence_loss_by_example`.
      name: Of the operation.

    Returns:
      A scalar.

    Raises:
      ValueError: If the lists differ in length.
    """
    with tf.name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        losses = sequence_loss_by_example(
            logits, targets, weights, average_across_timesteps, softmax_loss_function
        )
        total = tf.reduce_sum(losses)
        return (
            total / tf.cast(tf.shape(targets[0])[0], total.dtype) if average_across_batch else total
        )
