"""``tf.contrib.seq2seq``: decoding loops and the loss.

Behaviour follows tensorflow/contrib/seq2seq/python/ops of TensorFlow 1.15 (decoder.py,
basic_decoder.py, loss.py). Helpers are in :mod:`~tpucompat.contrib.seq2seq_helpers`, attention in
:mod:`~tpucompat.contrib.seq2seq_attention`, beam search in :mod:`~tpucompat.contrib.seq2seq_beam`.
"""

from __future__ import annotations

import abc
import contextlib
from typing import Any, Callable, NamedTuple

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError
from tpucompat.contrib import nest
from tpucompat.contrib.rnn import transpose_batch_time
from tpucompat.contrib.seq2seq_helpers import Helper
from tpucompat.tf import private

# Decoders (decoder.py, basic_decoder.py)
# --------------------------------------------------------------


class Decoder(abc.ABC):
    """What :func:`dynamic_decode` runs; subclass it."""

    @property
    def batch_size(self) -> Any:
        """Sequences in a batch, a scalar."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """A structure of the shapes of one step's outputs, without the batch."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The structure of their types."""
        raise NotImplementedError

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """``[batch]`` booleans of what is finished already, the first inputs, the first state."""

    @abc.abstractmethod
    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Outputs, next state, next inputs and what is finished."""

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """May change the stacked outputs and the final state at the end."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether sequences may become unfinished again, as in a beam search."""
        return False


def zeros_of(size: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros ``[batch, *size]``; the static shape is set where it is known."""
    shape = tf.TensorShape([] if size is None else size)
    return private.zero_state(shape, batch_size, dtype)


def static(value: Any) -> Any:
    """The value of a scalar, or None if it is known at run time only."""
    known = tf.get_static_value(value) if tf.is_tensor(value) else value
    return None if known is None else int(known)


def sized_by(layer: Any, size: Any) -> Any:
    """The shape, without the batch, of a layer's outputs for inputs of a size; of the inputs without."""
    if layer is None:
        return size
    shape = layer.compute_output_shape(tf.TensorShape([None]).concatenate(size))
    return tf.TensorShape(shape)[1:]


def _decoding_step(decoder: Any, blanks: Any, impute: bool) -> Callable[..., tuple[Any, ...]]:
    """The body of the loop: a step, with what it writes for sequences that go on."""

    def body(
        time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any
    ) -> tuple[Any, ...]:
        outputs, new_state, new_inputs, ended = decoder.step(time, inputs, state)
        if not decoder.tracks_own_finished:
            ended = tf.logical_or(ended, finished)
        lengths = tf.where(tf.logical_not(finished), tf.fill(tf.shape(lengths), time + 1), lengths)
        nest.assert_same_structure(state, new_state)
        nest.assert_same_structure(arrays, outputs)
        nest.assert_same_structure(inputs, new_inputs)

        def kept(new: Any, old: Any) -> Any:
            if isinstance(old, tf.TensorArray):
                return new
            new.set_shape(old.shape)
            return new if new.shape.rank == 0 else tf.where(finished, old, new)

        if impute:
            outputs = nest.map_structure(
                lambda out, blank: tf.where(finished, blank, out), outputs, blanks
            )
            new_state = nest.map_structure(kept, new_state, state)
        arrays = nest.map_structure(lambda ta, out: ta.write(time, out), arrays, outputs)
        return time + 1, arrays, new_state, new_inputs, ended, lengths

    return body


def dynamic_decode(
    decoder: Any,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Decodes until every sequence is finished.

    Args:
      decoder: The decoder.
      output_time_major: Whether the time comes first in the outputs.
      impute_finished: Whether finished sequences emit zeros and keep their states.
      maximum_iterations: The most steps, a scalar.
      parallel_iterations: Of the loop.
      swap_memory: Of the loop.
      scope: "decoder" by default.

    Returns:
      The outputs, the final state and the ``[batch]`` lengths.

    Raises:
      TypeError: If ``decoder`` is not a Decoder.
      ValueError: If ``maximum_iterations`` is not a scalar; if it is None in a TPU's computation, where the
        outputs have as many steps (TPU393).
    """
    if not isinstance(decoder, Decoder):
        raise BadTypeError(
            "TPU103", f"Expected decoder to be type Decoder, but saw: {type(decoder)}"
        )
    compiled = private.is_for_xla()
    if compiled and maximum_iterations is None:
        raise BadValueError("TPU393", "dynamic_decode has no maximum_iterations, which XLA needs")
    with tf.variable_scope(scope, "decoder"):
        limit = None
        if maximum_iterations is not None:
            limit = tf.convert_to_tensor(maximum_iterations, tf.int32, name="maximum_iterations")
            if limit.shape.rank != 0:
                raise BadValueError("TPU103", "maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize()
        if limit is not None:
            finished = tf.logical_or(finished, limit <= 0)
        sizes, types, batch = decoder.output_size, decoder.output_dtype, decoder.batch_size
        blanks = nest.map_structure(lambda s, d: zeros_of(s, batch, d), sizes, types)

        def array(size: Any, dtype: Any) -> Any:
            known = isinstance(size, tf.TensorShape) and size.rank not in (None, 0)
            shape = tf.TensorShape([static(batch)]).concatenate(size) if known else None
            # A number becomes a tensor either way, so that seeds of operations stay the same.
            length = (static(limit) or limit) if compiled else 0
            return tf.TensorArray(dtype, length, dynamic_size=not compiled, element_shape=shape)

        _, arrays, state, _, _, lengths = tf.while_loop(
            lambda time, arrays, state, inputs, finished, lengths: tf.logical_not(
                tf.reduce_all(finished)
            ),
            _decoding_step(decoder, blanks, impute_finished),
            (
                tf.constant(0),
                nest.map_structure(array, sizes, types),
                state,
                inputs,
                finished,
                tf.zeros_like(finished, tf.int32),
            ),
            parallel_iterations=parallel_iterations,
            maximum_iterations=limit,
            swap_memory=swap_memory,
        )
        outputs = nest.map_structure(lambda ta: ta.stack(), arrays)
        # Only some decoders, such as a beam search, have something to do at the end.
        with contextlib.suppress(NotImplementedError):
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
    return outputs, state, lengths


class BasicDecoderOutput(NamedTuple):
    """What a step of a :class:`BasicDecoder` gives."""

    rnn_output: Any
    sample_id: Any


class BasicDecoder(Decoder):
    """Runs a cell on what a helper feeds it.

    Args:
      cell: The cell.
      helper: The helper.
      initial_state: Of the cell.
      output_layer: Applied to the cell's outputs before they are sampled.

    Raises:
      TypeError: If one is of another type.
    """

    def __init__(
        self, cell: Any, helper: Any, initial_state: Any, output_layer: Any = None
    ) -> None:
        if not isinstance(helper, Helper):
            raise BadTypeError("TPU103", f"helper must be a Helper, received: {type(helper)}")
        check_layer("output_layer", output_layer)
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self) -> Any:
        """The helper's."""
        return self._helper.batch_size

    @property
    def output_size(self) -> BasicDecoderOutput:
        """Sizes of outputs and samples."""
        size = nest.map_structure(lambda s: sized_by(self._output_layer, s), self._cell.output_size)
        return BasicDecoderOutput(size, self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        """Types of outputs and samples."""
        sizes = self.output_size.rnn_output
        # A cell computes in the type of its state.
        computed = next(iter(nest.flatten(self._initial_state))).dtype
        types = nest.pack_sequence_as(sizes, [computed] * len(nest.flatten(sizes)))
        return BasicDecoderOutput(rnn_output=types, sample_id=self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Starts; see :meth:`Decoder.initialize`."""
        finished, inputs = self._helper.initialize()
        return finished, inputs, self._initial_state

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """One step; see :meth:`Decoder.step`."""
        with tf.name_scope(name, "BasicDecoderStep"):
            outputs, state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, inputs, state = self._helper.next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=ids
            )
        return BasicDecoderOutput(outputs, ids), state, inputs, finished


def check_layer(name: str, layer: Any) -> None:
    """Raises a TypeError for what is neither a layer nor None."""
    if layer is not None and not isinstance(layer, (tf.layers.Layer, tf.keras.layers.Layer)):
        raise BadTypeError("TPU103", f"{name} must be a Layer, received: {type(layer)}")
