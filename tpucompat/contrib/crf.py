"""``tf.contrib.crf``: linear-chain conditional random fields.

Behaviour follows tensorflow/contrib/crf/python/ops/crf.py of TensorFlow 1.15. Shapes: B batch, T
longest sequence, K tags; potentials (``inputs``) are float32 ``[B, T, K]``, lengths integers
``[B]``, transitions ``[K, K]`` from row to column.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow.compat.v1 as tf


def _if_one_step(inputs: Any, one: Callable[[], Any], more: Callable[[], Any]) -> Any:
    """``one()`` where sequences are one step long, else ``more()``; decided late if need be."""
    steps = inputs.shape[1:2].as_list()[0] if inputs.shape.rank is not None else None
    if steps is not None:
        return one() if steps == 1 else more()
    return tf.cond(tf.equal(tf.shape(inputs)[1], 1), one, more)


def _zero_where_empty(scores: Any, lengths: Any) -> Any:
    return tf.where(tf.less_equal(lengths, 0), tf.zeros_like(scores), scores)


def _steps_after_first(lengths: Any) -> Any:
    return tf.maximum(tf.constant(0, lengths.dtype), lengths - 1)


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """The sum of the potentials of a sequence's tags.

    Args:
      tag_indices: ``[B, T]`` integers.
      sequence_lengths: ``[B]``.
      inputs: Potentials.

    Returns:
      ``[B]`` scores.
    """
    tags = tf.convert_to_tensor(tag_indices)
    chosen = tf.gather(inputs, tags[:, :, None], axis=2, batch_dims=2)[:, :, 0]
    mask = tf.sequence_mask(sequence_lengths, maxlen=tf.shape(tags)[1], dtype=tf.float32)
    return tf.reduce_sum(chosen * mask, 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The sum of the transitions between a sequence's tags.

    Args:
      tag_indices: ``[B, T]`` integers.
      sequence_lengths: ``[B]``.
      transition_params: Transitions.

    Returns:
      ``[B]`` scores.
    """
    tags = tf.convert_to_tensor(tag_indices)
    transitions = tf.convert_to_tensor(transition_params)
    pairs = tf.stack([tags[:, :-1], tags[:, 1:]], axis=2)
    mask = tf.sequence_mask(sequence_lengths, maxlen=tf.shape(tags)[1], dtype=tf.float32)
    return tf.reduce_sum(tf.gather_nd(transitions, pairs) * mask[:, 1:], 1)


def crf_sequence_score(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """The unnormalized score of a sequence of tags.

    Args:
      inputs: Potentials.
      tag_indices: ``[B, T]`` integers.
      sequence_lengths: ``[B]``.
      transition_params: Transitions.

    Returns:
      ``[B]`` scores.
    """
    inputs, tags = tf.convert_to_tensor(inputs), tf.convert_to_tensor(tag_indices)
    lengths = tf.convert_to_tensor(sequence_lengths)

    def one() -> Any:
        chosen = tf.gather(inputs[:, 0, :], tags[:, :1], axis=1, batch_dims=1)[:, 0]
        return _zero_where_empty(chosen, lengths)

    def more() -> Any:
        binary = crf_binary_score(tags, lengths, transition_params)
        return crf_unary_score(tags, lengths, inputs) + binary

    return _if_one_step(inputs, one, more)


def crf_multitag_sequence_score(
    inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """The log of the summed exponential scores of all sequences that the bitmap allows.

    Args:
      inputs: Potentials.
      tag_bitmap: ``[B, T, K]`` booleans.
      sequence_lengths: ``[B]``.
      transition_params: Transitions.

    Returns:
      ``[B]`` scores.
    """
    inputs = tf.convert_to_tensor(inputs)
    allowed = tf.where(tag_bitmap, inputs, tf.fill(tf.shape(inputs), float("-inf")))
    return _if_one_step(
        inputs,
        lambda: tf.reduce_logsumexp(allowed, axis=[1, 2]),
        lambda: crf_log_norm(allowed, sequence_lengths, transition_params),
    )


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The log of the summed exponential scores of all sequences of tags.

    Args:
      inputs: Potentials.
      sequence_lengths: ``[B]``.
      transition_params: Transitions.

    Returns:
      ``[B]`` log normalizers; 0 for empty sequences.
    """
    inputs, lengths = tf.convert_to_tensor(inputs), tf.convert_to_tensor(sequence_lengths)
    first = inputs[:, 0, :]

    def more() -> Any:
        _, alphas = tf.nn.dynamic_rnn(
            CrfForwardRnnCell(transition_params),
            inputs[:, 1:, :],
            sequence_length=_steps_after_first(lengths),
            initial_state=first,
            dtype=tf.float32,
        )
        return _zero_where_empty(tf.reduce_logsumexp(alphas, [1]), lengths)

    return _if_one_step(
        inputs, lambda: _zero_where_empty(tf.reduce_logsumexp(first, [1]), lengths), more
    )


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Any, Any]:
    """The log likelihood of sequences of tags.

    Args:
      inputs: Potentials; K has to be static.
      tag_indices: ``[B, T]`` integers.
      sequence_lengths: ``[B]``.
      transition_params: Transitions; the variable "transitions" by default.

    Returns:
      ``[B]`` log likelihoods, and the transitions.
    """
    inputs = tf.convert_to_tensor(inputs)
    if transition_params is None:
        tags = inputs.shape.as_list()[2]
        transition_params = tf.get_variable("transitions", [tags, tags])
    scores = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return scores - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


class _CrfCell(tf.nn.rnn_cell.RNNCell):
    """A cell of the dynamic programs, without variables of its own."""

    def __init__(self, size: int) -> None:
        # Not the layer's constructor: a cell here is a function with sizes, as in TensorFlow 1.15.
        self._size = size

    @property
    def state_size(self) -> int:
        """Numbers in a state."""
        return self._size

    @property
    def output_size(self) -> int:
        """Numbers in an output."""
        return self._size


class CrfForwardRnnCell(_CrfCell):
    """The forward recursion: the state is the log of the summed scores that end in each tag.

    Args:
      transition_params: Transitions.
    """

    def __init__(self, transition_params: Any) -> None:
        transitions = tf.convert_to_tensor(transition_params)
        super().__init__(transitions.shape.as_list()[0])
        self._transitions = transitions[None, :, :]

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """One step: ``[B, K]`` potentials and state to the new state, twice."""
        scores = inputs + tf.reduce_logsumexp(state[:, :, None] + self._transitions, [1])
        return scores, scores


class CrfDecodeForwardRnnCell(_CrfCell):
    """The forward recursion of decoding: best scores and the tags that they came from.

    Args:
      transition_params: Transitions.
    """

    def __init__(self, transition_params: Any) -> None:
        transitions = tf.convert_to_tensor(transition_params)
        super().__init__(transitions.shape.as_list()[0])
        self._transitions = transitions[None, :, :]

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """One step: ``[B, K]`` potentials and scores to back pointers and new scores."""
        scores = state[:, :, None] + self._transitions
        return tf.argmax(scores, 1, output_type=tf.int32), inputs + tf.reduce_max(scores, [1])


class CrfDecodeBackwardRnnCell(_CrfCell):
    """The backward recursion of decoding: follows the back pointers.

    Args:
      num_tags: K.
    """

    def __init__(self, num_tags: int) -> None:
        super().__init__(1)
        self._num_tags = num_tags

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """One step: ``[B, K]`` back pointers and ``[B, 1]`` tags to the tags before, twice."""
        tags = tf.gather(inputs, state, axis=1, batch_dims=1)
        return tags, tags


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """The best sequences of tags.

    Args:
      potentials: Potentials; K has to be static.
      transition_params: Transitions.
      sequence_length: ``[B]``.

    Returns:
      ``[B, T]`` int32 tags, 0 beyond a sequence's end, and ``[B]`` scores.
    """
    potentials = tf.convert_to_tensor(potentials)
    lengths = tf.convert_to_tensor(sequence_length)

    def one() -> tuple[Any, Any]:
        scores = potentials[:, 0, :]
        tags = tf.argmax(scores, axis=1, output_type=tf.int32)
        return tags[:, None], tf.reduce_max(scores, axis=1)

    def more() -> tuple[Any, Any]:
        rest = _steps_after_first(lengths)
        pointers, last = tf.nn.dynamic_rnn(
            CrfDecodeForwardRnnCell(transition_params),
            potentials[:, 1:, :],
            sequence_length=rest,
            initial_state=potentials[:, 0, :],
            dtype=tf.int32,
        )
        end = tf.argmax(last, axis=1, output_type=tf.int32)[:, None]
        tags, _ = tf.nn.dynamic_rnn(
            CrfDecodeBackwardRnnCell(potentials.shape.as_list()[2]),
            tf.reverse_sequence(pointers, rest, seq_axis=1),
            sequence_length=rest,
            initial_state=end,
            dtype=tf.int32,
        )
        tags = tf.concat([end, tags[:, :, 0]], axis=1)
        tags = tf.reverse_sequence(tags, lengths, seq_axis=1)
        return tags, tf.reduce_max(last, axis=1)

    return _if_one_step(potentials, one, more)


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[Any], Any]:
    """The best sequence of tags for one sequence, outside of TensorFlow.

    Args:
      score: ``[T, K]`` array of potentials.
      transition_params: ``[K, K]`` array of transitions.

    Returns:
      The list of T tags, and the score.
    """
    best = score[0]
    pointers = []
    for potentials in score[1:]:
        candidates = best[:, None] + transition_params
        pointers.append(np.argmax(candidates, 0).astype(np.int32))
        best = (potentials + np.max(candidates, 0)).astype(score.dtype)
    tags = [np.argmax(best)]
    for pointer in reversed(pointers):
        tags.append(pointer[tags[-1]])
    return tags[::-1], np.max(best)
