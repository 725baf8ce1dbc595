"""The attention wrapper of ``tf.contrib.seq2seq``; the mechanisms are in seq2seq_mechanisms.py.

Behaviour and variable names follow tensorflow/contrib/seq2seq/python/ops/attention_wrapper.py of
TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError
from tpucompat.contrib import nest
from tpucompat.contrib.framework import with_same_shape
from tpucompat.contrib.seq2seq import zeros_of
from tpucompat.contrib.seq2seq_mechanisms import AttentionMechanism, dense_layer


class _State(NamedTuple):
    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any


class AttentionWrapperState(_State):
    """The state of an :class:`AttentionWrapper`."""

    __slots__ = ()

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """A copy with some parts replaced, each by one of the same shape.

        Args:
          **kwargs: The parts.

        Returns:
          The copy.
        """

        def checked(old: Any, new: Any) -> Any:
            return with_same_shape(old, new) if tf.is_tensor(old) and tf.is_tensor(new) else new

        return nest.map_structure(checked, self, self._replace(**kwargs))


def hardmax(logits: Any, name: str | None = None) -> Any:
    """One at the largest number of each row, zero elsewhere.

    Args:
      logits: ``[..., size]``.
      name: Of the operation.

    Returns:
      A tensor like ``logits``.
    """
    with tf.name_scope(name, "Hardmax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        depth = logits.shape.as_list()[-1] or tf.shape(logits)[-1]
        return tf.one_hot(tf.argmax(logits, -1), depth, dtype=logits.dtype)


def _attend(mechanism: Any, output: Any, state: Any, layer: Any) -> tuple[Any, Any, Any]:
    """Attention, alignments and the mechanism's next state."""
    alignments, state = mechanism(output, state=state)
    context = tf.squeeze(tf.matmul(alignments[:, None, :], mechanism.values), [1])
    if layer is not None:
        context = layer(tf.concat([output, context], 1))
    return context, alignments, state


class AttentionWrapper(tf.nn.rnn_cell.RNNCell):
    """Wraps a cell so that it attends to a memory.

    Args:
      cell: The cell.
      attention_mechanism: A mechanism, or several.
      attention_layer_size: Numbers in an attention; one for each mechanism. Without it (and without
        ``attention_layer``) the attention is the context itself.
      alignment_history: Whether all alignments are kept, in a TensorArray of the state.
      cell_input_fn: Makes the cell's inputs of inputs and attention; they are joined by default.
      output_attention: Whether the attention is the output, or the cell's own.
      initial_cell_state: For ``zero_state``.
      name: Of the wrapper.
      attention_layer: Layers instead of sizes.
      attention_fn: Computes attention, alignments and state instead of the usual way.
      dtype: Of the wrapper.

    Raises:
      TypeError: If a mechanism or a function has another type.
      ValueError: If sizes or layers do not fit the mechanisms.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Any = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        mechanisms = tuple(attention_mechanism) if self._is_multi else (attention_mechanism,)
        for mechanism in mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise BadTypeError(
                    "TPU103",
                    "attention_mechanism must be an AttentionMechanism or list of multiple "
                    f"AttentionMechanism instances, saw type: {type(mechanism).__name__}",
                )
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise BadTypeError(
                "TPU103",
                f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}",
            )
        if attention_layer_size is not None and attention_layer is not None:
            raise BadValueError(
                "TPU103", "Only one of attention_layer_size and attention_layer should be set"
            )
        self._cell = cell
        self._attention_mechanisms = mechanisms
        self._cell_input_fn = cell_input_fn or (lambda x, attention: tf.concat([x, attention], -1))
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._attention_fn = attention_fn or _attend
        self._attention_layers, self._attention_layer_size = self._made_layers(
            attention_layer_size, attention_layer
        )
        self._initial_cell_state = None
        if initial_cell_state is not None:
            with tf.name_scope(name, "AttentionWrapperInit"):
                last = nest.flatten(initial_cell_state)[-1]
                batch = last.shape.as_list()[0] or tf.shape(last)[0]
                self._initial_cell_state = self._checked(batch, initial_cell_state)

    # Not `_layers`: in 2.4 that is where a Keras layer keeps those inside it.
    def _made_layers(self, sizes: Any, layers: Any) -> tuple[Any, int]:
        """The attention layers, and the size of all attentions together."""
        mechanisms = self._attention_mechanisms
        depths = [mechanism.values.shape.as_list()[-1] for mechanism in mechanisms]
        if sizes is None and layers is None:
            return None, sum(depths)
        given = sizes if layers is None else layers
        given = tuple(given) if isinstance(given, (list, tuple)) else (given,)
        if len(given) != len(mechanisms):
            what = "attention_layer_size" if layers is None else "attention_layer"
            raise BadValueError(
                "TPU103",
                f"If provided, {what} must contain exactly one entry per attention_mechanism, "
                f"saw: {len(given)} vs {len(mechanisms)}",
            )
        if layers is None:
            made = [
                dense_layer(size, "attention_layer", mechanism.dtype)
                for size, mechanism in zip(given, mechanisms)
            ]
            return tuple(made), sum(given)
        widths = [
            tf.TensorShape(
                layer.compute_output_shape(tf.TensorShape([None, self._cell.output_size + depth]))
            ).as_list()[-1]
            for layer, depth in zip(given, depths)
        ]
        return given, sum(widths)

    def _checked(self, batch_size: Any, tensors: Any) -> Any:
        """Tensors behind a check that the memories have a batch size."""
        message = (
            f"In AttentionWrapper {self.name}: Non-matching batch sizes between the memory "
            "(encoder output) and the state or query.  Are you using the BeamSearchDecoder?  "
            "You may need to tile the memory, its lengths and the initial state by "
            "tf.contrib.seq2seq.tile_batch with multiplier=beam_width."
        )
        checks = [
            tf.assert_equal(batch_size, mechanism.batch_size, message=message)
            for mechanism in self._attention_mechanisms
        ]
        with tf.control_dependencies([check for check in checks if check is not None]):
            return nest.map_structure(tf.identity, tensors)

    def _one_or_all(self, entries: Any) -> Any:
        entries = tuple(entries)
        return entries if self._is_multi else entries[0]

    @property
    def output_size(self) -> Any:
        """Numbers in an output."""
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        """Sizes of the parts of a state."""
        kept = [each.state_size for each in self._attention_mechanisms]
        widths = self._one_or_all(each.alignments_size for each in self._attention_mechanisms)
        none = self._one_or_all(() for _ in kept)
        return AttentionWrapperState(
            time=tf.TensorShape([]),
            cell_state=self._cell.state_size,
            attention=self._attention_layer_size,
            attention_state=self._one_or_all(kept),
            alignments=widths,
            alignment_history=widths if self._alignment_history else none,
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        """The first state; that of the cell is ``initial_cell_state`` where it was given.

        Args:
          batch_size: A scalar; times the beam width in a beam search.
          dtype: Of the state.

        Returns:
          The state.
        """
        with tf.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.zero_state(batch_size, dtype)
            mechanisms = self._attention_mechanisms
            alignments = [m.initial_alignments(batch_size, dtype) for m in mechanisms]
            return AttentionWrapperState(
                cell_state=self._checked(batch_size, cell_state),
                time=tf.zeros([], tf.int32),
                attention=zeros_of(self._attention_layer_size, batch_size, dtype),
                alignments=self._one_or_all(alignments),
                attention_state=self._one_or_all(
                    m.initial_state(batch_size, dtype) for m in mechanisms
                ),
                alignment_history=self._one_or_all(
                    tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=first.shape)
                    if self._alignment_history
                    else ()
                    for first in alignments
                ),
            )

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
          inputs: ``[batch, size]``.
          state: An :class:`AttentionWrapperState`.

        Returns:
          The output and the next state.

        Raises:
          TypeError: If the state has another type.
        """
        if not isinstance(state, AttentionWrapperState):
            raise BadTypeError(
                "TPU103",
                "Expected state to be instance of AttentionWrapperState. "
                f"Received type {type(state)} instead.",
            )
        joined = self._cell_input_fn(inputs, state.attention)
        output, cell_state = self._cell(joined, state.cell_state)
        output = self._checked(output.shape.as_list()[0] or tf.shape(output)[0], output)
        one = not self._is_multi
        states = [state.attention_state] if one else state.attention_state
        histories = [state.alignment_history] if one else state.alignment_history
        layers = self._attention_layers or [None] * len(self._attention_mechanisms)
        attended = [
            self._attention_fn(mechanism, output, states[number], layers[number])
            for number, mechanism in enumerate(self._attention_mechanisms)
        ]
        attentions, alignments, next_states = zip(*attended)
        attention = tf.concat(attentions, 1)
        following = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._one_or_all(next_states),
            alignments=self._one_or_all(alignments),
            alignment_history=self._one_or_all(
                history.write(state.time, aligned) if self._alignment_history else ()
                for history, aligned in zip(histories, alignments)
            ),
        )
        return (attention if self._output_attention else output), following
