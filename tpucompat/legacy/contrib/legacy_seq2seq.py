"""``tf.contrib.legacy_seq2seq``: unrolled encoders and decoders, and their loss.

Behaviour follows tensorflow/contrib/legacy_seq2seq/python/ops/seq2seq.py of TensorFlow 1.15.
"""

from __future__ import annotations

import copy
import functools
from typing import Any, Callable, Iterable, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy.contrib import rnn
from tpucompat.legacy.contrib.rnn_cells import RNNCell, projected


def rnn_decoder(
    decoder_inputs: Iterable[Any],
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


def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Runs a cell over a list of embedded symbols.

    Args:
      decoder_inputs: ``[batch]`` symbols for each step.
      initial_state: Of the cell.
      cell: The cell.
      num_symbols: Rows of the matrix "embedding".
      embedding_size: Its columns.
      output_projection: Weights ``[outputs, num_symbols]`` and biases from which the next symbol is chosen.
      feed_previous: Whether a step gets the symbol that the one before chose, after the first.
      update_embedding_for_previous: Whether the embedding of such a symbol is trained.
      scope: "embedding_rnn_decoder" by default.

    Returns:
      The outputs of all steps, and the last state.

    Raises:
      ValueError: If the projection's shapes are others.
    """
    with tf.variable_scope(scope or "embedding_rnn_decoder") as inner:
        _check_projection(output_projection, num_symbols, inner.dtype)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = _chosen(embedding, output_projection, update_embedding_for_previous)
        # A generator, so that the lookups lie in the decoder's scope, each before its step.
        embedded = (tf.nn.embedding_lookup(embedding, each) for each in decoder_inputs)
        return rnn_decoder(embedded, initial_state, cell, loop if feed_previous else None)


def _check_projection(projection: Any, symbols: int, dtype: Any, weights: bool = True) -> None:
    if projection is None:
        return
    if weights:
        first = tf.convert_to_tensor(projection[0], dtype=dtype)
        first.shape.assert_is_compatible_with([None, symbols])
    tf.convert_to_tensor(projection[1], dtype=dtype).shape.assert_is_compatible_with([symbols])


def _chosen(embedding: Any, projection: Any, update: bool) -> Callable[[Any, int], Any]:
    """A loop function that embeds the symbol with the largest number."""

    def loop(previous: Any, _: int) -> Any:
        if projection is not None:
            previous = tf.nn.xw_plus_b(previous, projection[0], projection[1])
        embedded = tf.nn.embedding_lookup(embedding, tf.argmax(previous, 1))
        return embedded if update else tf.stop_gradient(embedded)

    return loop


def _decoded(
    feed_previous: Any,
    decode: Callable[[bool, bool], tuple[list[Any], Any]],
    structure: Any,
    update_of_both: bool = False,
) -> tuple[list[Any], Any]:
    """Outputs and state of a decoder that is told in Python, or by a tensor, whether to feed itself.

    Args:
      feed_previous: A bool, or a scalar of that type.
      decode: Gets ``feed_previous`` as a bool, and whether the embedding of chosen symbols is trained.
      structure: Makes the structure of the state; called after the branches.
      update_of_both: Whether it is trained where a tensor decides, too.
    """
    if isinstance(feed_previous, bool):
        return decode(feed_previous, True)
    lengths = []

    def branch(fed: bool) -> list[Any]:
        # The branch that is built first makes the variables.
        with tf.variable_scope(tf.get_variable_scope(), reuse=None if fed else True):
            outputs, state = decode(fed, update_of_both)
        lengths.append(len(outputs))
        return list(outputs) + tf.nest.flatten(state)

    both = tf.cond(feed_previous, lambda: branch(True), lambda: branch(False))
    return list(both[: lengths[0]]), tf.nest.pack_sequence_as(structure(), both[lengths[0] :])


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """An encoder and a decoder of symbols, each with an embedding and a cell of its own.

    Args:
      encoder_inputs: ``[batch]`` symbols for each step.
      decoder_inputs: Likewise.
      cell: The cell; the encoder has a copy.
      num_encoder_symbols: Rows of the encoder's embedding.
      num_decoder_symbols: Rows of the decoder's.
      embedding_size: Their columns.
      output_projection: As for :func:`embedding_rnn_decoder`; without it outputs are ``num_decoder_symbols``
        logits.
      feed_previous: As there; or a scalar tensor of that type.
      dtype: Of the states; the scope's by default.
      scope: "embedding_rnn_seq2seq" by default.

    Returns:
      The outputs of the decoder, and its last state.
    """
    with tf.variable_scope(scope or "embedding_rnn_seq2seq") as inner:
        if dtype is not None:
            inner.set_dtype(dtype)
        encoder = rnn.EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=dtype or inner.dtype)
        if output_projection is None:
            cell = rnn.OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(fed: bool, update: bool) -> tuple[list[Any], Any]:
            return embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection=output_projection,
                feed_previous=fed,
                update_embedding_for_previous=update,
            )

        return _decoded(feed_previous, decode, lambda: state)


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """An encoder and a decoder of symbols that share embedding and cell.

    Args:
      encoder_inputs: ``[batch]`` symbols for each step.
      decoder_inputs: Likewise.
      cell: The cell.
      num_symbols: Rows of the embedding.
      embedding_size: Its columns.
      num_decoder_symbols: Logits in an output, ``num_symbols`` by default.
      output_projection: As for :func:`embedding_rnn_decoder`; without it outputs are logits.
      feed_previous: As there; or a scalar tensor of that type.
      dtype: Of the states; the scope's by default.
      scope: "embedding_tied_rnn_seq2seq" by default.

    Returns:
      The outputs of the decoder, and its last state.

    Raises:
      ValueError: If the projection's shapes are others.
    """
    with tf.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as inner:
        dtype = inner.dtype
        _check_projection(output_projection, num_symbols, dtype)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size], dtype)
        encoded = [tf.nn.embedding_lookup(embedding, each) for each in encoder_inputs]
        decoded = [tf.nn.embedding_lookup(embedding, each) for each in decoder_inputs]
        if output_projection is None:
            symbols = num_symbols if num_decoder_symbols is None else num_decoder_symbols
            cell = rnn.OutputProjectionWrapper(cell, symbols)

        def decode(fed: bool, update: bool) -> tuple[list[Any], Any]:
            loop = _chosen(embedding, output_projection, update) if fed else None
            return tied_rnn_seq2seq(encoded, decoded, cell, loop_function=loop, dtype=dtype)

        def zeros() -> Any:
            sizes = [each.shape[0] for each in encoder_inputs]
            known = next((size for size in sizes if size is not None), None)
            return cell.zero_state(
                tf.shape(encoder_inputs[0])[0] if known is None else known, dtype
            )

        return _decoded(feed_previous, decode, zeros)


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Any = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs, and lets each step look at the states of an encoder.

    Args:
      decoder_inputs: ``[batch, size]`` for each step.
      initial_state: Of the cell.
      attention_states: ``[batch, length, attention size]``.
      cell: The cell.
      output_size: Numbers in an output, the cell's by default.
      num_heads: Weighted sums of the states that a step gets.
      loop_function: Makes an input of the last output and the step's number, instead of the one given.
      dtype: Of the variables; the scope's by default.
      scope: "attention_decoder" by default.
      initial_state_attention: Whether the first step gets sums too, of the first state, and not zeros.

    Returns:
      The outputs of all steps, and the last state.

    Raises:
      ValueError: If there are no inputs or heads, or the last size of the inputs or states is unknown.
    """
    if not decoder_inputs:
        raise BadValueError("TPU103", "Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise BadValueError("TPU103", "With less than 1 heads, use a non-attention decoder.")
    size = attention_states.shape.as_list()[2]
    if size is None:
        shape = attention_states.shape
        raise BadValueError("TPU103", f"Shape[2] of attention_states must be known: {shape}")
    output_size = cell.output_size if output_size is None else output_size
    with tf.variable_scope(scope or "attention_decoder", dtype=dtype) as inner:
        dtype = inner.dtype
        batch = tf.shape(decoder_inputs[0])[0]
        attend = _Heads(attention_states, num_heads, dtype)
        empty = tf.stack([batch, size])
        sums = [tf.zeros(empty, dtype=dtype) for _ in range(num_heads)]
        for each in sums:
            each.set_shape([None, size])
        state = initial_state
        if initial_state_attention:
            sums = attend(state)
        outputs: list[Any] = []
        for number, given in enumerate(decoder_inputs):
            if number:
                tf.get_variable_scope().reuse_variables()
                if loop_function is not None:
                    with tf.variable_scope("loop_function", reuse=True):
                        given = loop_function(outputs[-1], number)
            width = given.shape.with_rank(2).as_list()[1]
            if width is None:
                name = given.name
                raise BadValueError("TPU103", f"Could not infer input size from input: {name}")
            inputs = [tf.cast(each, dtype) for each in [given, *sums]]
            output, state = cell(projected(inputs, width), state)
            if not number and initial_state_attention:  # which has made the heads' variables
                with tf.variable_scope(tf.get_variable_scope(), reuse=True):
                    sums = attend(state)
            else:
                sums = attend(state)
            with tf.variable_scope("AttnOutputProjection"):
                outputs.append(projected([tf.cast(output, dtype), *sums], output_size))
    return outputs, state


class _Heads:
    """Weighted sums of an encoder's states, by the softmax of ``v . tanh(W states + U query)``."""

    def __init__(self, states: Any, number: int, dtype: Any) -> None:
        known, self._size = states.shape.as_list()[1:]
        self._length = tf.shape(states)[1] if known is None else known
        self._dtype = dtype
        size = self._size
        self._states = tf.reshape(states, [-1, self._length, 1, size])
        self._features, self._vectors = [], []
        for head in range(number):
            kernel = tf.get_variable(f"AttnW_{head}", [1, 1, size, size], dtype)
            self._features.append(tf.nn.conv2d(self._states, kernel, [1, 1, 1, 1], "SAME"))
            self._vectors.append(tf.get_variable(f"AttnV_{head}", [size], dtype))

    def __call__(self, query: Any) -> list[Any]:
        """``[batch, size]`` for each head, for a state of the decoder's cell."""
        if isinstance(query, (list, tuple)):
            query = tf.concat(tf.nest.flatten(query), 1)
        sums = []
        for head, (features, vector) in enumerate(zip(self._features, self._vectors)):
            with tf.variable_scope(f"Attention_{head}"):
                asked = tf.reshape(projected(query, self._size), [-1, 1, 1, self._size])
                asked = tf.cast(asked, self._dtype)
                scores = tf.reduce_sum(vector * tf.tanh(features + asked), [2, 3])
                weights = tf.cast(tf.nn.softmax(tf.cast(scores, tf.float32)), self._dtype)
                weights = tf.reshape(weights, [-1, self._length, 1, 1])
                total = tf.reduce_sum(weights * self._states, [1, 2])
                sums.append(tf.reshape(total, [-1, self._size]))
        return sums


def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
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
    """:func:`attention_decoder` over a list of embedded symbols.

    Args:
      decoder_inputs: ``[batch]`` symbols for each step.
      initial_state: As for :func:`attention_decoder`.
      attention_states: Likewise.
      cell: Likewise.
      num_symbols: As for :func:`embedding_rnn_decoder`.
      embedding_size: Likewise.
      num_heads: As for :func:`attention_decoder`.
      output_size: Likewise.
      output_projection: As for :func:`embedding_rnn_decoder`.
      feed_previous: Likewise.
      update_embedding_for_previous: Likewise.
      dtype: As for :func:`attention_decoder`.
      scope: "embedding_attention_decoder" by default.
      initial_state_attention: As for :func:`attention_decoder`.

    Returns:
      The outputs of all steps, and the last state.

    Raises:
      ValueError: As :func:`attention_decoder`, or if the projection's shape is another.
    """
    output_size = cell.output_size if output_size is None else output_size
    _check_projection(output_projection, num_symbols, dtype, weights=False)
    with tf.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = _chosen(embedding, output_projection, update_embedding_for_previous)
        return attention_decoder(
            [tf.nn.embedding_lookup(embedding, each) for each in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size=output_size,
            num_heads=num_heads,
            loop_function=loop if feed_previous else None,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
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
    """An encoder of symbols, and a decoder of symbols that attends to its outputs.

    Args:
      encoder_inputs: As for :func:`embedding_rnn_seq2seq`.
      decoder_inputs: Likewise.
      cell: Likewise.
      num_encoder_symbols: Likewise.
      num_decoder_symbols: Likewise.
      embedding_size: Likewise.
      num_heads: As for :func:`attention_decoder`.
      output_projection: As for :func:`embedding_rnn_seq2seq`.
      feed_previous: Likewise.
      dtype: Likewise.
      scope: "embedding_attention_seq2seq" by default.
      initial_state_attention: As for :func:`attention_decoder`.

    Returns:
      The outputs of the decoder, and its last state.
    """
    with tf.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as inner:
        encoder = rnn.EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        outputs, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=inner.dtype)
        tops = tf.concat([tf.reshape(each, [-1, 1, cell.output_size]) for each in outputs], 1)
        output_size = None
        if output_projection is None:
            cell = rnn.OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decode(fed: bool, update: bool) -> tuple[list[Any], Any]:
            return embedding_attention_decoder(
                decoder_inputs,
                state,
                tops,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=fed,
                update_embedding_for_previous=update,
                initial_state_attention=initial_state_attention,
            )

        return _decoded(feed_previous, decode, lambda: state)


def one2many_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs_dict: dict[Any, Sequence[Any]],
    enc_cell: Any,
    dec_cells_dict: dict[Any, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: dict[Any, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    """An encoder of symbols with several decoders.

    Args:
      encoder_inputs: ``[batch]`` symbols for each step.
      decoder_inputs_dict: Likewise, for each decoder.
      enc_cell: The encoder's cell.
      dec_cells_dict: Those of the decoders.
      num_encoder_symbols: Rows of the encoder's embedding.
      num_decoder_symbols_dict: Rows of each decoder's, and numbers in its outputs.
      embedding_size: Columns of all of them.
      feed_previous: As for :func:`embedding_rnn_seq2seq`.
      dtype: Of the states; the scope's by default.
      scope: "one2many_rnn_seq2seq" by default.

    Returns:
      For each decoder its outputs, and its last state.

    Raises:
      TypeError: If a cell is none.
      ValueError: If decoders have inputs or cells only.
    """
    for cell in (enc_cell, *dec_cells_dict.values()):
        if not isinstance(cell, RNNCell):
            raise BadTypeError("TPU103", f"The cell is not an RNNCell: {type(cell)}")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise BadValueError("TPU103", "keys of dec_cells_dict != keys of decoder_inputs_dict")
    outputs: dict[Any, list[Any]] = {}
    states: dict[Any, Any] = {}
    with tf.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as inner:
        encoder = rnn.EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=inner.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with tf.variable_scope(f"one2many_decoder_{name}"):
                cell = rnn.OutputProjectionWrapper(dec_cells_dict[name], symbols)
                decode = functools.partial(
                    _decode_one, inputs, state, cell, symbols, embedding_size
                )
                outputs[name], states[name] = _decoded(
                    feed_previous, decode, lambda: state, update_of_both=True
                )
    return outputs, states


def _decode_one(
    inputs: Sequence[Any], state: Any, cell: Any, symbols: int, size: int, fed: bool, update: bool
) -> tuple[list[Any], Any]:
    return embedding_rnn_decoder(
        inputs,
        state,
        cell,
        symbols,
        size,
        feed_previous=fed,
        update_embedding_for_previous=update,
    )


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


def model_with_buckets(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    targets: list[Any],
    weights: list[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[list[Any], list[Any]], tuple[list[Any], Any]],
    softmax_loss_function: Any = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[list[Any]], list[Any]]:
    """The same model for each of several lengths.

    Args:
      encoder_inputs: Tensors for each step.
      decoder_inputs: Likewise.
      targets: ``[batch]`` symbols for each step.
      weights: ``[batch]`` for each step.
      buckets: Lengths of encoder and decoder, the largest last.
      seq2seq: Makes outputs and state of the inputs of encoder and decoder.
      softmax_loss_function: As for :func:`sequence_loss_by_example`.
      per_example_loss: Whether a loss is that of each sequence.
      name: Of the operations.

    Returns:
      The outputs for each bucket, and the loss.

    Raises:
      ValueError: If there are fewer tensors than the last bucket has.
    """
    for what, given, needed in (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]),
        ("targets", targets, buckets[-1][1]),
        ("weights", weights, buckets[-1][1]),
    ):
        if len(given) < needed:
            raise BadValueError(
                "TPU103",
                f"Length of {what} ({len(given)}) must be at least that of last bucket ({needed}).",
            )
    compute = sequence_loss_by_example if per_example_loss else sequence_loss
    outputs: list[list[Any]] = []
    losses = []
    inputs = [*encoder_inputs, *decoder_inputs, *targets, *weights]
    with tf.name_scope(name, "model_with_buckets", inputs):
        for number, (encoded, decoded) in enumerate(buckets):
            with tf.variable_scope(tf.get_variable_scope(), reuse=True if number else None):
                made, _ = seq2seq(encoder_inputs[:encoded], decoder_inputs[:decoded])
                outputs.append(made)
                losses.append(
                    compute(
                        made,
                        targets[:decoded],
                        weights[:decoded],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses
