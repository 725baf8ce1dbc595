"""``tf.contrib.legacy_seq2seq``: losses of unrolled sequences, and models with buckets of lengths.

Steps are as in :mod:`~tpucompat.contrib.legacy_seq2seq`: lists with a tensor for each step. Logits are
``[batch, words]``, targets ``[batch]`` integers and weights ``[batch]`` numbers. ``softmax_loss_function``
takes ``labels`` and ``logits`` by name and gives ``[batch]`` losses, in place of TensorFlow's own.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError

Steps = Sequence[Any]


def _same_lengths(*lists: Steps) -> None:
    lengths = [len(steps) for steps in lists]
    if len(set(lengths)) > 1:
        text = ", ".join(map(str, lengths))
        raise BadValueError(
            "TPU103", f"Lengths of logits, weights, and targets must be the same: {text}."
        )


def sequence_loss_by_example(
    logits: Steps,
    targets: Steps,
    weights: Steps,
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The weighted cross-entropies of each sequence, ``[batch]``: their mean over the steps, or their sum."""
    _same_lengths(logits, weights, targets)
    loss_of = softmax_loss_function
    if loss_of is None:

        def loss_of(labels: Any, logits: Any) -> Any:
            flat = tf.reshape(labels, [-1])
            return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=flat, logits=logits)

    with tf.name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        steps = zip(logits, targets, weights)
        total = tf.add_n([loss_of(labels=y, logits=x) * weight for x, y, weight in steps])
        # Not zero, where a sequence has no weights.
        return total / (tf.add_n(list(weights)) + 1e-12) if average_across_timesteps else total


def sequence_loss(
    logits: Steps,
    targets: Steps,
    weights: Steps,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The sum of :func:`sequence_loss_by_example` over the batch, or its mean: a scalar."""
    with tf.name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        by_example = sequence_loss_by_example(
            logits, targets, weights, average_across_timesteps, softmax_loss_function
        )
        total = tf.reduce_sum(by_example)
        if not average_across_batch:
            return total
        return total / tf.cast(tf.shape(targets[0])[0], total.dtype)


def model_with_buckets(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    targets: Steps,
    weights: Steps,
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Steps, Steps], tuple[Any, Any]],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """A model for each bucket, with shared variables; their steps of outputs and their losses.

    Args:
      encoder_inputs: Steps, at least as many as the longest bucket has.
      decoder_inputs: Steps.
      targets: Steps.
      weights: Steps.
      buckets: The lengths of inputs and of outputs; the longest is last.
      seq2seq: Makes outputs and a state from the steps of both inputs.
      softmax_loss_function: See the module.
      per_example_loss: Whether a loss is ``[batch]``, and not a scalar.
      name: Of the scope.

    Raises:
      ValueError: If there are fewer steps than the last bucket has.
    """
    longest = buckets[-1]
    for what, steps, least in (
        ("encoder_inputs", encoder_inputs, longest[0]),
        ("targets", targets, longest[1]),
        ("weights", weights, longest[1]),
    ):
        if len(steps) < least:
            raise BadValueError(
                "TPU103",
                f"Length of {what} ({len(steps)}) must be at least that of last bucket ({least}).",
            )
    loss_of = sequence_loss_by_example if per_example_loss else sequence_loss
    outputs, losses = [], []
    with tf.name_scope(
        name, "model_with_buckets", [*encoder_inputs, *decoder_inputs, *targets, *weights]
    ):
        for number, (read, made) in enumerate(buckets):
            with tf.variable_scope(tf.get_variable_scope(), reuse=True if number else None):
                outputs.append(seq2seq(encoder_inputs[:read], decoder_inputs[:made])[0])
                losses.append(
                    loss_of(
                        outputs[-1],
                        targets[:made],
                        weights[:made],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses
