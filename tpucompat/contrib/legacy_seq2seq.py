"""``tf.contrib.legacy_seq2seq``: sequence models whose steps are unrolled in Python lists.

Results, variable names and the order of operations, which decides seeds, are those of TensorFlow 1.15. "Steps"
are lists with a tensor ``[batch, size]`` for each step, or ``[batch]`` integers where words are embedded. Each
model returns its steps of outputs and the last state. The losses and the models with buckets have a module of
their own.

Arguments that several functions share: ``output_projection`` is a pair of weights ``[cell.output_size, words]``
and biases ``[words]``, which turn an output into logits; without it the models that embed add such a layer.
``feed_previous`` is a bool, or a boolean tensor: whether a step's input is the most probable word of the step
before, and only the first of the decoder's inputs is used. ``update_embedding_for_previous`` says whether the
gradient reaches the embedding of such a word.
"""

from __future__ import annotations

import copy
from typing import Any, Callable, Iterable, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.contrib.rnn import EmbeddingWrapper, OutputProjectionWrapper
from tpucompat.contrib.rnn_cells import projected

#: The next input from the last output and the step's number.
LoopFunction = Callable[[Any, int], Any]
Steps = Sequence[Any]


def most_probable(
    embedding: Any, output_projection: Any = None, update_embedding: bool = True
) -> LoopFunction:
    """Embeds the most probable word of the step before."""

    def embed(previous: Any, step: int) -> Any:
        logits = previous
        if output_projection is not None:
            logits = tf.nn.xw_plus_b(previous, *output_projection)
        words = tf.nn.embedding_lookup(embedding, tf.argmax(logits, 1))
        return words if update_embedding else tf.stop_gradient(words)

    return embed


def _fed(inputs: Iterable[Any], function: LoopFunction | None, last: Callable[[], Any]) -> Any:
    """Each step's input, by the function of the last output where there are both; variables are shared."""
    for step, value in enumerate(inputs):
        if step:
            tf.get_variable_scope().reuse_variables()
            if function is not None:
                with tf.variable_scope("loop_function", reuse=True):
                    value = function(last(), step)
        yield value


def rnn_decoder(
    decoder_inputs: Iterable[Any],
    initial_state: Any,
    cell: Any,
    loop_function: LoopFunction | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """A cell over the steps; with ``loop_function``, only the first of the inputs is used."""
    outputs: list[Any] = []
    state = initial_state
    with tf.variable_scope(scope or "rnn_decoder"):
        for value in _fed(decoder_inputs, loop_function, lambda: outputs[-1]):
            output, state = cell(value, state)
            outputs.append(output)
    return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    cell: Any,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """A copy of the cell reads the encoder's steps; the cell starts with its last state."""
    with tf.variable_scope(scope or "basic_rnn_seq2seq"):
        read = tf.nn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, read[1], cell)


def tied_rnn_seq2seq(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    cell: Any,
    loop_function: LoopFunction | None = None,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """The same cell, with the same variables, reads the encoder's steps and makes the decoder's."""
    shared = {"scope": scope or "tied_rnn_seq2seq"}
    with tf.variable_scope("combined_tied_rnn_seq2seq") as combined:
        state = tf.nn.static_rnn(cell, encoder_inputs, dtype=dtype, **shared)[1]
        combined.reuse_variables()
        return rnn_decoder(
            decoder_inputs, initial_state=state, cell=cell, loop_function=loop_function, **shared
        )


def _checked(projection: Any, words: int, outputs: Any = None) -> None:
    """Refuses a projection that does not lead to the words."""
    if projection is not None:
        weights, biases = (tf.convert_to_tensor(part) for part in projection)
        weights.shape.assert_is_compatible_with([outputs, words])
        biases.shape.assert_is_compatible_with([words])


def embedding_rnn_decoder(
    decoder_inputs: Steps,
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """:func:`rnn_decoder` of embedded words."""
    with tf.variable_scope(scope or "embedding_rnn_decoder") as inner:
        _checked(output_projection, num_symbols)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size], inner.dtype)
        following = most_probable(embedding, output_projection, update_embedding_for_previous)
        steps = (tf.nn.embedding_lookup(embedding, words) for words in decoder_inputs)
        return rnn_decoder(steps, initial_state, cell, following if feed_previous else None)


def _either(
    feed_previous: Any, decode: Callable[[bool], tuple[list[Any], Any]]
) -> tuple[list[Any], Any]:
    """What a decoder makes with or without its previous words, which a tensor may decide."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous)
    forms: list[Any] = []

    def branch(previous: bool, reuse: bool | None) -> list[Any]:
        with tf.variable_scope(tf.get_variable_scope(), reuse=reuse):
            outputs, state = decode(previous)
        forms.append((len(outputs), state))
        return [*outputs, *tf.nest.flatten(state)]

    flat = tf.cond(feed_previous, lambda: branch(True, None), lambda: branch(False, True))
    count, state = forms[0]
    return flat[:count], tf.nest.pack_sequence_as(state, flat[count:])


def _encoded(cell: Any, inputs: Steps, words: int, size: int, dtype: Any) -> Any:
    """What a copy of the cell makes of embedded words: outputs and the last state."""
    reader = EmbeddingWrapper(copy.deepcopy(cell), embedding_classes=words, embedding_size=size)
    return tf.nn.static_rnn(reader, inputs, dtype=dtype)


def embedding_rnn_seq2seq(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """:func:`basic_rnn_seq2seq` of words, each side with an embedding of its own."""
    with tf.variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype) as inner:
        dtype = inner.dtype if dtype is None else dtype
        _, state = _encoded(cell, encoder_inputs, num_encoder_symbols, embedding_size, dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(previous: bool) -> tuple[list[Any], Any]:
            return embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection,
                previous,
                isinstance(feed_previous, bool),
            )

        return _either(feed_previous, decode)


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """:func:`tied_rnn_seq2seq` of words with one embedding; the decoder may use the first words only."""
    if num_decoder_symbols is not None and num_decoder_symbols > num_symbols:
        raise BadValueError(
            "TPU103",
            f"num_decoder_symbols ({num_decoder_symbols}) exceeds num_symbols ({num_symbols}).",
        )
    words = num_symbols if num_decoder_symbols is None else num_decoder_symbols
    with tf.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as inner:
        dtype = inner.dtype
        _checked(output_projection, words)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size], dtype)
        read, made = (
            [tf.nn.embedding_lookup(embedding, step) for step in steps]
            for steps in (encoder_inputs, decoder_inputs)
        )
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, words)

        def decode(previous: bool) -> tuple[list[Any], Any]:
            known = isinstance(feed_previous, bool)
            following = most_probable(embedding, output_projection, known)
            return tied_rnn_seq2seq(read, made, cell, following if previous else None, dtype)

        return _either(feed_previous, decode)


class _Attention:
    """``num_heads`` attentions to the same states ``[batch, length, size]``, with variables of this scope."""

    def __init__(self, states: Any, num_heads: int) -> None:
        _, length, size = states.shape.as_list()
        if length is None:
            length = tf.shape(states)[1]
        self._memory = tf.reshape(states, [-1, length, 1, size])
        self._length, self.size = length, size
        self._heads = [
            (
                tf.nn.conv2d(
                    self._memory,
                    tf.get_variable(f"AttnW_{head}", [1, 1, size, size], states.dtype),
                    [1, 1, 1, 1],
                    "SAME",
                ),
                tf.get_variable(f"AttnV_{head}", [size], states.dtype),
            )
            for head in range(num_heads)
        ]

    def none(self, batch: Any) -> list[Any]:
        """What is read before the first step: zeros."""
        shape = tf.stack([batch, self.size])
        read = [tf.zeros(shape, self._memory.dtype) for _ in self._heads]
        for value in read:
            value.set_shape([None, self.size])
        return read

    def __call__(self, state: Any) -> list[Any]:
        """What each head reads for a cell's state, ``[batch, size]``."""
        query = tf.concat(tf.nest.flatten(state), 1) if tf.nest.is_nested(state) else state
        return [self._read(head, query) for head in range(len(self._heads))]

    def _read(self, head: int, query: Any) -> Any:
        features, vector = self._heads[head]
        with tf.variable_scope(f"Attention_{head}"):
            asked = tf.reshape(projected(query, self.size), [-1, 1, 1, self.size])
            scores = tf.reduce_sum(vector * tf.tanh(features + asked), [2, 3])
            weights = tf.reshape(tf.nn.softmax(scores), [-1, self._length, 1, 1])
            return tf.reshape(tf.reduce_sum(weights * self._memory, [1, 2]), [-1, self.size])


def _check_attention(inputs: Steps, states: Any, heads: int) -> None:
    if not inputs:
        raise BadValueError("TPU103", "Must provide at least 1 input to attention decoder.")
    if heads < 1:
        raise BadValueError("TPU103", "With less than 1 heads, use a non-attention decoder.")
    if states.shape.as_list()[2] is None:
        raise BadValueError("TPU103", f"Shape[2] of attention_states must be known: {states.shape}")


def attention_decoder(
    decoder_inputs: Steps,
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: LoopFunction | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """:func:`rnn_decoder` whose cell also gets what attentions read from ``[batch, length, size]``.

    Args:
      decoder_inputs: Steps.
      initial_state: Of the cell.
      attention_states: What is attended to.
      cell: A cell.
      output_size: Numbers in an output; those of the cell by default.
      num_heads: Attentions.
      loop_function: As for :func:`rnn_decoder`.
      dtype: Of the scope.
      scope: "attention_decoder" by default.
      initial_state_attention: Whether the first step reads by the initial state; it gets zeros otherwise.

    Returns:
      The steps of outputs, and the last state.

    Raises:
      ValueError: Without inputs, heads or a known size of the states.
    """
    _check_attention(decoder_inputs, attention_states, num_heads)
    size = cell.output_size if output_size is None else output_size
    outputs: list[Any] = []
    state = initial_state
    with tf.variable_scope(scope or "attention_decoder", dtype=dtype):
        batch = tf.shape(decoder_inputs[0])[0]
        attention = _Attention(attention_states, num_heads)
        read = attention.none(batch)
        if initial_state_attention:
            read = attention(initial_state)
        for value in _fed(decoder_inputs, loop_function, lambda: outputs[-1]):
            width = value.shape.with_rank(2).as_list()[1]
            if width is None:
                raise BadValueError(
                    "TPU103", f"Could not infer input size from input: {value.name}"
                )
            made, state = cell(projected([value, *read], width), state)
            again = True if initial_state_attention and not outputs else None
            with tf.variable_scope(tf.get_variable_scope(), reuse=again):
                read = attention(state)
            with tf.variable_scope("AttnOutputProjection"):
                outputs.append(projected([made, *read], size))
    return outputs, state


def embedding_attention_decoder(
    decoder_inputs: Steps,
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """:func:`attention_decoder` of embedded words."""
    size = cell.output_size if output_size is None else output_size
    _checked(output_projection, num_symbols, size)
    with tf.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        following = most_probable(embedding, output_projection, update_embedding_for_previous)
        return attention_decoder(
            [tf.nn.embedding_lookup(embedding, words) for words in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size=size,
            num_heads=num_heads,
            loop_function=following if feed_previous else None,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """:func:`embedding_rnn_seq2seq` whose decoder attends to the encoder's outputs."""
    with tf.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as inner:
        dtype = inner.dtype
        read, state = _encoded(cell, encoder_inputs, num_encoder_symbols, embedding_size, dtype)
        memory = tf.concat([tf.reshape(step, [-1, 1, cell.output_size]) for step in read], 1)
        size = None
        if output_projection is None:
            cell, size = OutputProjectionWrapper(cell, num_decoder_symbols), num_decoder_symbols

        def decode(previous: bool) -> tuple[list[Any], Any]:
            return embedding_attention_decoder(
                decoder_inputs,
                state,
                memory,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=size,
                output_projection=output_projection,
                feed_previous=previous,
                update_embedding_for_previous=isinstance(feed_previous, bool),
                initial_state_attention=initial_state_attention,
            )

        return _either(feed_previous, decode)


def one2many_rnn_seq2seq(
    encoder_inputs: Steps,
    decoder_inputs_dict: dict[str, Steps],
    enc_cell: Any,
    dec_cells_dict: dict[str, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: dict[str, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """One encoder of words, and a decoder for each name; outputs and last states by the names."""
    outputs, states = {}, {}
    with tf.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as inner:
        dtype = inner.dtype
        _, state = _encoded(enc_cell, encoder_inputs, num_encoder_symbols, embedding_size, dtype)
        for name, inputs in decoder_inputs_dict.items():
            words = num_decoder_symbols_dict[name]
            with tf.variable_scope("one2many_decoder_" + str(name)):
                cell = OutputProjectionWrapper(dec_cells_dict[name], words)

                def decode(
                    previous: bool, cell: Any = cell, inputs: Any = inputs, words: int = words
                ) -> Any:
                    return embedding_rnn_decoder(
                        inputs, state, cell, words, embedding_size, feed_previous=previous
                    )

                outputs[name], states[name] = _either(feed_previous, decode)
    return outputs, states
