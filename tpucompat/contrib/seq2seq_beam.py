"""The beam search of ``tf.contrib.seq2seq``.

Behaviour follows tensorflow/contrib/seq2seq/python/ops/beam_search_decoder.py of TensorFlow 1.15.
In shapes, W is the beam width.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.contrib import nest
from tpucompat.contrib.seq2seq import Decoder, check_layer, sized_by, static
from tpucompat.contrib.seq2seq_attention import AttentionWrapperState
from tpucompat.contrib.seq2seq_helpers import tokens


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Any:
    """What a stacked TensorArray holds for the final sequences, whose beams changed from step to step.

    Args:
      t: ``[time, batch, W, ...]`` or ``[time, batch * W, ...]``.
      parent_ids: ``[time, batch, W]``.
      sequence_length: ``[batch, W]``; later steps are unchanged.

    Returns:
      A tensor like ``t``.
    """
    time, batch, width = (tf.shape(parent_ids)[axis] for axis in range(3))
    beams = tf.zeros_like(parent_ids) + tf.range(width)
    longest = tf.cast(tf.reduce_max(sequence_length, axis=1), tf.int32)
    order = gather_tree(beams, parent_ids, longest, width + 1)
    inside = tf.transpose(tf.sequence_mask(sequence_length, maxlen=time), [2, 0, 1])
    order = tf.where(inside, order, beams)
    split = tf.reshape(t, tf.concat([[time, batch, width], [-1]], 0))
    return tf.reshape(tf.gather(split, order, axis=2, batch_dims=2), tf.shape(t))


class BeamSearchDecoderState(NamedTuple):
    """The state of a :class:`BeamSearchDecoder`."""

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """What a step of a :class:`BeamSearchDecoder` gives, each ``[batch, W]``."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """The sequences found, ``[time, batch, W]``, and the outputs of all steps."""

    predicted_ids: Any
    beam_search_decoder_output: Any


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Repeats each entry of a batch, so that a beam search has one for each beam.

    Args:
      t: A structure of ``[batch, ...]``.
      multiplier: How often.
      name: Of the operation.

    Returns:
      The structure of ``[batch * multiplier, ...]``.

    Raises:
      ValueError: If a rank is not static.
    """

    def tiled(tensor: Any) -> Any:
        tensor = tf.convert_to_tensor(tensor, name="t")
        if not tensor.shape.rank:
            raise BadValueError("TPU103", "t must have statically known rank")
        repeats = [1] * (tensor.shape.rank + 1)
        repeats[1] = multiplier
        shape = tf.shape(tensor)
        repeated = tf.reshape(
            tf.tile(tensor[:, None], repeats), tf.concat([[shape[0] * multiplier], shape[1:]], 0)
        )
        batch = tensor.shape.as_list()[0]
        known = None if batch is None else batch * multiplier
        repeated.set_shape(tf.TensorShape([known]).concatenate(tensor.shape[1:]))
        return repeated

    with tf.name_scope(name, "tile_batch"):
        return nest.map_structure(tiled, t)


def gather_tree(
    step_ids: Any,
    parent_ids: Any,
    max_sequence_lengths: Any,
    end_token: Any,
    name: str | None = None,
) -> Any:
    """Follows the parents of beams back to whole sequences.

    Args:
      step_ids: ``[time, batch, W]`` int32 classes.
      parent_ids: ``[time, batch, W]`` int32, which beam of the step before each comes from.
      max_sequence_lengths: ``[batch]`` int32.
      end_token: Fills what comes after a sequence's end.
      name: Of the operation.

    Returns:
      ``[time, batch, W]`` int32.
    """
    with tf.name_scope(name, "GatherTree"):
        ids, parents = tf.convert_to_tensor(step_ids), tf.convert_to_tensor(parent_ids)
        end = tf.cast(end_token, ids.dtype)
        beams = tf.zeros_like(ids[0]) + tf.range(tf.shape(ids)[2], dtype=ids.dtype)

        def back(last: Any, step: Any) -> Any:
            time, ids, parents = step
            beam = last[1]
            inside = (time < max_sequence_lengths)[:, None]
            inside = tf.logical_and(inside, tf.ones_like(beam, tf.bool))
            found = tf.where(
                inside, tf.gather(ids, beam, batch_dims=1), tf.fill(tf.shape(beam), end)
            )
            return found, tf.where(inside, tf.gather(parents, beam, batch_dims=1), beam)

        times = tf.range(tf.shape(ids)[0])
        found, _ = tf.scan(
            back, (times, ids, parents), (beams, beams), reverse=True, back_prop=False
        )
        ended = tf.cumsum(tf.cast(tf.equal(found, end), tf.int32), axis=0, exclusive=True) > 0
        found = tf.where(ended, tf.fill(tf.shape(found), end), found)
        found.set_shape(ids.shape)
        return found


class BeamSearchDecoder(Decoder):
    """Searches for the most probable sequences, several at a time.

    Memories, lengths and initial states of an attention have to be tiled by :func:`tile_batch`.

    Args:
      cell: The cell.
      embedding: A matrix, or a function of class numbers.
      start_tokens: ``[batch]`` classes to start from.
      end_token: The class that ends a sequence.
      initial_state: Of the cell, ``[batch * W, ...]``.
      beam_width: W.
      output_layer: Applied to the cell's outputs.
      length_penalty_weight: Of the length penalty of Wu et al., 2016.
      coverage_penalty_weight: Of the coverage penalty; for cells with attention.
      reorder_tensor_arrays: Whether TensorArrays of the state, such as an alignment history,
        follow the beams at the end.

    Raises:
      TypeError: If ``output_layer`` is not a layer.
      ValueError: If the tokens have other shapes.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        check_layer("output_layer", output_layer)
        self._cell = cell
        self._output_layer = output_layer
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._reorder = reorder_tensor_arrays
        start, self._end_token = tokens(start_tokens, end_token)
        self._batch_size = tf.size(start_tokens)
        self._initial_cell_state = self._per_beam(initial_state)
        if callable(embedding):
            self._embedding_fn = embedding
        else:
            self._embedding_fn = lambda ids: tf.nn.embedding_lookup(embedding, ids)
        self._start_inputs = self._embedding_fn(tf.tile(start[:, None], [1, beam_width]))

    @property
    def batch_size(self) -> Any:
        """The number of start tokens."""
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """True: beams change places."""
        return True

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        """W for each part."""
        return BeamSearchDecoderOutput(*[tf.TensorShape([self._beam_width])] * 3)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        """Types of scores, classes and parents."""
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        # Evaluated for its checks only: an output layer has to know its size.
        nest.map_structure(lambda s: sized_by(self._output_layer, s), self._cell.output_size)
        return BeamSearchDecoderOutput(dtype, tf.int32, tf.int32)

    # Shapes: [batch * W, ...] for the cell, [batch, W, ...] in the state
    # ----------------------------

    def _merged(self, tensor: Any) -> Any:
        shape = tf.shape(tensor)
        merged = tf.reshape(
            tensor, tf.concat([[self._batch_size * self._beam_width], shape[2:]], 0)
        )
        batch = static(self._batch_size)
        known = None if batch is None else batch * self._beam_width
        merged.set_shape(tf.TensorShape([known]).concatenate(tensor.shape[2:]))
        return merged

    def _split(self, tensor: Any) -> Any:
        shape = tf.shape(tensor)
        split = tf.reshape(tensor, tf.concat([[self._batch_size, self._beam_width], shape[1:]], 0))
        known = tf.TensorShape([static(self._batch_size), self._beam_width])
        split.set_shape(known.concatenate(tensor.shape[1:]))
        return split

    def _per_beam(self, state: Any) -> Any:
        def split(part: Any) -> Any:
            return self._split(part) if _rank(part) >= 1 else part

        return nest.map_structure(split, state)

    def _per_cell(self, state: Any) -> Any:
        def merged(part: Any) -> Any:
            return self._merged(part) if _rank(part) >= 2 else part

        return nest.map_structure(merged, state)

    # Decoding
    # ---------------------------------------------------------------------------------------

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Starts with one beam for each sequence; see :meth:`Decoder.initialize`."""
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        first = tf.one_hot(
            tf.zeros([self._batch_size], tf.int32),
            self._beam_width,
            on_value=True,
            off_value=False,
            dtype=tf.bool,
        )
        zeros = tf.zeros(tf.shape(first), dtype)
        zeros.set_shape(first.shape)
        coverage = get_attention_probs(self._initial_cell_state, self._coverage_penalty_weight)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=tf.where(first, zeros, zeros - np.inf),
            finished=tf.logical_not(first),
            lengths=tf.zeros([self._batch_size, self._beam_width], tf.int64),
            accumulated_attention_probs=() if coverage is None else coverage,
        )
        return state.finished, self._start_inputs, state

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """One step of all beams; see :meth:`Decoder.step`."""
        with tf.name_scope(name, "BeamSearchDecoderStep"):
            outputs, cell_state = self._cell(
                nest.map_structure(self._merged, inputs), self._per_cell(state.cell_state)
            )
            outputs = nest.map_structure(self._split, outputs)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, following = _beam_search_step(
                time,
                outputs,
                self._per_beam(cell_state),
                state,
                self._batch_size,
                self._beam_width,
                self._end_token,
                self._length_penalty_weight,
                self._coverage_penalty_weight,
            )
            inputs = tf.cond(
                tf.reduce_all(following.finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(output.predicted_ids),
            )
        return output, following, inputs, following.finished

    def finalize(
        self, outputs: Any, final_state: Any, sequence_lengths: Any
    ) -> tuple[FinalBeamSearchDecoderOutput, Any]:
        """Puts whole sequences together; see :meth:`Decoder.finalize`."""
        longest = tf.cast(tf.reduce_max(final_state.lengths, axis=1), tf.int32)
        found = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorder:
            final_state = final_state._replace(
                cell_state=nest.map_structure(
                    lambda part: self._reordered(part, outputs.parent_ids, final_state.lengths),
                    final_state.cell_state,
                )
            )
        return FinalBeamSearchDecoderOutput(found, outputs), final_state

    def _can_reorder(self, shape: Any) -> bool:
        """Whether elements of a shape are known to be, or may be, those of all beams.

        As in TensorFlow 1.15, static elements ``[batch * W, n]`` are left unchanged.
        """
        if not shape.rank:
            return False
        batch, sizes = static(self._batch_size), shape.as_list()
        if batch is None or sizes[0] is None:
            return True
        if sizes[0] != batch * self._beam_width:
            return False
        second = sizes[1] if len(sizes) > 1 else None
        return second is None or (sizes[0] == batch and second == self._beam_width)

    def _reordered(self, part: Any, parents: Any, lengths: Any) -> Any:
        """A TensorArray of the state as a tensor whose beams are those of the final sequences."""
        if not isinstance(part, tf.TensorArray) or not self._can_reorder(part.element_shape):
            return part
        return gather_tree_from_array(part.stack(), parents, lengths)


def _rank(part: Any) -> int:
    """The rank of a tensor of the state; -1 for a TensorArray, which is left unchanged."""
    if isinstance(part, tf.TensorArray):
        return -1
    if part.shape.rank is None:
        raise BadValueError(
            "TPU103", f"Expected tensor ({part}) to have known rank, but ndims == None."
        )
    return int(part.shape.rank)


def _mean(tensors: Any) -> Any:
    """The mean of several tensors, or the one."""
    if not isinstance(tensors, tuple):
        return tensors
    return tensors[0] if len(tensors) == 1 else tf.reduce_mean(tf.stack(tensors, -1), -1)


# What a step does, under the names of 1.15: programs made searches of their own with them ----------


def _beam_search_step(
    time: Any,
    logits: Any,
    next_cell_state: Any,
    beam_state: BeamSearchDecoderState,
    batch_size: Any,
    beam_width: int,
    end_token: Any,
    length_penalty_weight: Any,
    coverage_penalty_weight: Any,
) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
    """Chooses the W best continuations of all beams.

    Args:
      time: Without effect, as in 1.15.
      logits: ``[batch, W, classes]``.
      next_cell_state: What the cell gave, split into beams.
      beam_state: The state before.
      batch_size: How many searches there are.
      beam_width: W.
      end_token: The class that ends a sequence.
      length_penalty_weight: As for :class:`BeamSearchDecoder`.
      coverage_penalty_weight: As for :class:`BeamSearchDecoder`.
    """
    classes = logits.shape.as_list()[-1] or tf.shape(logits)[-1]
    going_on = tf.logical_not(beam_state.finished)
    log_probs = _mask_probs(tf.nn.log_softmax(logits), end_token, beam_state.finished)
    totals = beam_state.log_probs[:, :, None] + log_probs
    is_end = tf.equal(tf.range(classes), end_token)
    longer = tf.logical_and(going_on[:, :, None], tf.logical_not(is_end)[None, None, :])
    lengths = beam_state.lengths[:, :, None] + tf.cast(longer, tf.int64)
    coverage = get_attention_probs(next_cell_state, coverage_penalty_weight)
    if coverage is not None:
        coverage *= tf.cast(going_on, tf.float32)[:, :, None]
        coverage += beam_state.accumulated_attention_probs
    scores = _get_scores(
        totals,
        lengths,
        length_penalty_weight,
        coverage_penalty_weight,
        beam_state.finished,
        coverage,
    )
    best, places = tf.nn.top_k(tf.reshape(scores, [batch_size, -1]), k=beam_width)
    best.set_shape([static(batch_size), beam_width])
    places.set_shape(best.shape)
    words, parents = places % classes, places // classes

    def follow(part: Any) -> Any:
        if _rank(part) < 2:
            return part
        followed = tf.gather(part, parents, batch_dims=1)
        followed.set_shape(part.shape)
        return followed

    was_finished = follow(beam_state.finished)
    following = BeamSearchDecoderState(
        cell_state=nest.map_structure(follow, next_cell_state),
        log_probs=tf.gather(tf.reshape(totals, [batch_size, -1]), places, batch_dims=1),
        finished=tf.logical_or(was_finished, tf.equal(words, end_token)),
        lengths=follow(beam_state.lengths) + tf.cast(tf.logical_not(was_finished), tf.int64),
        accumulated_attention_probs=() if coverage is None else follow(coverage),
    )
    following.log_probs.set_shape(best.shape)
    return BeamSearchDecoderOutput(best, words, parents), following


def _mask_probs(probs: Any, eos_token: Any, finished: Any) -> Any:
    """Log-probabilities of all classes; a finished beam can only end again, at no cost."""
    ended = tf.one_hot(
        eos_token,
        tf.shape(probs)[2],
        on_value=tf.zeros([], probs.dtype),
        off_value=tf.constant(probs.dtype.min, probs.dtype),
        dtype=probs.dtype,
    )
    ended = ended[None, None, :] + tf.zeros_like(probs)
    finished = tf.convert_to_tensor(finished)
    mask = tf.logical_and(finished[:, :, None], tf.ones_like(probs, tf.bool))
    return tf.where(mask, ended, probs)


def _get_scores(
    log_probs: Any,
    sequence_lengths: Any,
    length_penalty_weight: Any,
    coverage_penalty_weight: Any,
    finished: Any,
    accumulated_attention_probs: Any,
) -> Any:
    """Sums of log-probabilities, with both penalties.

    Raises:
      ValueError: The coverage is None, and its penalty is asked for.
    """
    penalty = _length_penalty(sequence_lengths, length_penalty_weight)
    scores = log_probs / tf.cast(penalty, log_probs.dtype)
    if not tf.is_tensor(coverage_penalty_weight) and coverage_penalty_weight == 0.0:
        return scores
    coverage = accumulated_attention_probs
    if coverage is None:
        raise BadValueError(
            "TPU103",
            "accumulated_attention_probs can be None only if coverage penalty is disabled.",
        )
    # What was never attended to does not count: log(1).
    seen = tf.where(tf.equal(coverage, 0.0), tf.ones_like(coverage), coverage)
    penalty = tf.reduce_sum(tf.log(tf.minimum(seen, 1.0)), 2) * tf.cast(finished, tf.float32)
    return scores + (penalty * coverage_penalty_weight)[:, :, None]


def _length_penalty(sequence_lengths: Any, penalty_factor: Any) -> Any:
    """What the scores are divided by (Wu et al., 2016): 1.0 where the factor is 0, else float32."""
    if not tf.is_tensor(penalty_factor) and penalty_factor == 0:
        return 1.0
    lengths = tf.cast(sequence_lengths, tf.float32)
    return (5.0 + lengths) ** penalty_factor / (5.0 + 1.0) ** penalty_factor


def get_attention_probs(next_cell_state: Any, coverage_penalty_weight: Any) -> Any:
    """The mean alignments ``[batch, W, time]`` of the cell's attentions; None where not asked for.

    Raises:
      ValueError: The cell has none.
    """
    if not tf.is_tensor(coverage_penalty_weight) and coverage_penalty_weight == 0.0:
        return None
    alone = isinstance(next_cell_state, AttentionWrapperState)
    states = [next_cell_state] if alone else next_cell_state
    found = [
        attention_probs_from_attn_state(state)
        for state in states or ()
        if isinstance(state, AttentionWrapperState)
    ]
    if not found:
        raise BadValueError(
            "TPU103", "coverage_penalty_weight must be 0.0 if no cell is attentional."
        )
    return _mean(tuple(found))


def attention_probs_from_attn_state(attention_state: AttentionWrapperState) -> Any:
    """The mean alignments of one cell."""
    return _mean(attention_state.alignments)


def _tensor_gather_helper(
    gather_indices: Any,
    gather_from: Any,
    batch_size: Any,
    range_size: Any,
    gather_shape: Sequence[Any],
    name: str | None = None,
) -> Any:
    """The entries of each search that the indices ``[batch, W]`` name, where there are ``range_size``."""
    with tf.name_scope(name, "tensor_gather_helper"):
        first = tf.range(batch_size)[:, None] * range_size
        places = tf.reshape(gather_indices + first, [-1])
        found = tf.gather(tf.reshape(gather_from, gather_shape), places)
        kept = 1 + len(gather_shape)
        found = tf.reshape(found, tf.shape(gather_from)[:kept])
        found.set_shape(tf.TensorShape([static(batch_size)]).concatenate(gather_from.shape[1:kept]))
        return found


def _maybe_tensor_gather_helper(
    gather_indices: Any, gather_from: Any, batch_size: Any, range_size: Any, gather_shape: Any
) -> Any:
    """The same for a part of a state; what has too few dimensions, or is a TensorArray, stays."""
    if _rank(gather_from) < len(gather_shape):
        return gather_from
    return _tensor_gather_helper(gather_indices, gather_from, batch_size, range_size, gather_shape)


def _check_batch_beam(t: Any, batch_size: Any, beam_width: Any) -> Any:
    """An operation that refuses a stacked TensorArray whose elements are not those of all beams."""
    sizes = tf.shape(t)
    fits = tf.equal(sizes[1], batch_size * beam_width)
    if t.shape.rank != 2:
        apart = tf.logical_and(tf.equal(sizes[1], batch_size), tf.equal(sizes[2], beam_width))
        fits = tf.logical_or(fits, apart)
    said = (
        "TensorArray reordering expects elements to be reshapable to [batch_size, beam_size, -1] which is "
        f"incompatible with the dynamic shape of {getattr(t, 'name', t)} elements. Consider setting "
        "reorder_tensor_arrays to False to disable TensorArray reordering during the beam search."
    )
    return tf.Assert(fits, [said])
