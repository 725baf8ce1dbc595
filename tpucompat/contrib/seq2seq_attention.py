"""The attention of ``tf.contrib.seq2seq``.

Behaviour and variable names follow tensorflow/contrib/seq2seq/python/ops/attention_wrapper.py of
TensorFlow 1.15.
"""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError
from tpucompat.contrib import nest
from tpucompat.contrib.framework import with_same_shape
from tpucompat.contrib.seq2seq import check_layer, zeros_of


class AttentionMechanism:
    """What an :class:`AttentionWrapper` asks; a subclass is called with (query, state)."""

    @property
    def alignments_size(self) -> Any:
        """Time steps attended to."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """Numbers in the mechanism's state."""
        raise NotImplementedError


class _Mechanism(AttentionMechanism):
    """Attention over a memory, by a score of a query against keys."""

    # Name of the scope of the variables that a call makes.
    _scope = ""

    def __init__(
        self,
        query_layer: Any,
        memory: Any,
        probability_fn: Callable[[Any, Any], Any],
        memory_sequence_length: Any = None,
        memory_layer: Any = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: Any = None,
        custom_key_value_fn: Any = None,
        name: str | None = None,
    ) -> None:
        check_layer("query_layer", query_layer)
        check_layer("memory_layer", memory_layer)
        if not callable(probability_fn):
            raise BadTypeError(
                "TPU103",
                f"probability_fn must be callable, saw type: {type(probability_fn).__name__}",
            )
        self._query_layer = query_layer
        self._memory_layer = memory_layer
        self.dtype = memory_layer.dtype
        self._probability_fn = probability_fn
        self._lengths = memory_sequence_length
        self._mask_value = -np.inf if score_mask_value is None else score_mask_value
        with tf.name_scope(name, "BaseAttentionMechanismInit"):
            values = _masked_memory(memory, memory_sequence_length, check_inner_dims_defined)
            keys = memory_layer(values) if memory_layer else values
            if custom_key_value_fn is not None:
                keys, values = custom_key_value_fn(keys, values)
            self._keys, self._values = keys, values
            static = keys.shape.as_list()
            self._batch_size = static[0] or tf.shape(keys)[0]
            self._alignments_size = static[1] or tf.shape(keys)[1]

    @property
    def memory_layer(self) -> Any:
        """Makes keys of the memory."""
        return self._memory_layer

    @property
    def query_layer(self) -> Any:
        """Applied to queries."""
        return self._query_layer

    @property
    def values(self) -> Any:
        """``[batch, time, size]`` what is attended to."""
        return self._values

    @property
    def keys(self) -> Any:
        """``[batch, time, num_units]`` what queries are scored against."""
        return self._keys

    @property
    def batch_size(self) -> Any:
        """Of the memory."""
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        """Time steps of the memory."""
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        """The state is the last alignments."""
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros.

        Args:
          batch_size: A scalar.
          dtype: Of the alignments.

        Returns:
          ``[batch, time]``.
        """
        return _zeros(self._alignments_size, batch_size, dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """The initial alignments.

        Args:
          batch_size: A scalar.
          dtype: Of the alignments.

        Returns:
          ``[batch, time]``.
        """
        return self.initial_alignments(batch_size, dtype)

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Scores a query.

        Args:
          query: ``[batch, size]``.
          state: The last alignments.

        Returns:
          ``[batch, time]`` alignments, and the next state.
        """
        with tf.variable_scope(None, self._scope, [query]):
            score = self._score(query)
        if self._lengths is not None:
            message = "All values in memory_sequence_length must be greater than zero."
            with tf.control_dependencies([tf.assert_positive(self._lengths, message=message)]):
                inside = tf.sequence_mask(self._lengths, maxlen=tf.shape(score)[1])
            score = tf.where(inside, score, self._mask_value * tf.ones_like(score))
        alignments = self._probability_fn(score, state)
        return alignments, alignments

    def _score(self, query: Any) -> Any:
        raise NotImplementedError


def _zeros(size: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros ``[batch, size]`` for a size that may be a tensor."""
    if tf.is_tensor(size):
        return tf.zeros(tf.stack([batch_size, size]), dtype)
    return zeros_of(size, batch_size, dtype)


def _masked_memory(memory: Any, lengths: Any, check_inner_dims: bool) -> Any:
    """The memory with zeros beyond the lengths."""
    memory = tf.convert_to_tensor(memory, name="memory")
    if check_inner_dims and not memory.shape[2:].is_fully_defined():
        raise BadValueError(
            "TPU103",
            f"Expected memory {memory.name} to have fully defined inner dims, "
            f"but saw shape: {memory.shape}",
        )
    if lengths is None:
        return memory
    mask = tf.sequence_mask(lengths, maxlen=tf.shape(memory)[1], dtype=memory.dtype)
    # By 1.15's operations: the memory layer's seed, which follows from their number, is then 1.15's.
    inner = tf.ones(memory.shape.rank - 2, dtype=tf.int32)
    return memory * tf.reshape(mask, tf.concat((tf.shape(mask), inner), 0))


def _dense(num_units: int, name: str, dtype: Any) -> Any:
    return tf.layers.Dense(num_units, name=name, use_bias=False, dtype=dtype or tf.float32)


class _Luong(_Mechanism):
    """Scores are products of query and keys (Luong, Pham and Manning, 2015)."""

    _scale = False

    def _score(self, query: Any) -> Any:
        depth, units = query.shape.as_list()[-1], self._keys.shape.as_list()[-1]
        if depth != units:
            raise BadValueError(
                "TPU103",
                "Incompatible or unknown inner dimensions between query and keys.  "
                f"Query ({query}) has units: {depth}.  Keys ({self._keys}) have units: {units}.  "
                f"Perhaps you need to set num_units to the keys' dimension ({units})?",
            )
        score = tf.squeeze(tf.matmul(query[:, None, :], self._keys, transpose_b=True), [1])
        if self._scale:
            score *= tf.get_variable("attention_g", (), query.dtype, tf.ones_initializer())
        return score


class _Bahdanau(_Mechanism):
    """Scores are a small network of query and keys (Bahdanau, Cho and Bengio, 2014)."""

    _normalize = False
    _num_units = 0

    def _score(self, query: Any) -> Any:
        units, dtype = self._num_units, query.dtype
        processed = self._query_layer(query) if self._query_layer else query
        vector = tf.get_variable("attention_v", [units], dtype)
        hidden = self._keys + processed[:, None, :]
        if self._normalize:
            start = tf.constant_initializer(math.sqrt(1.0 / units))
            gain = tf.get_variable("attention_g", (), dtype, start)
            hidden += tf.get_variable("attention_b", [units], dtype, tf.zeros_initializer())
            vector = gain * vector * tf.rsqrt(tf.reduce_sum(tf.square(vector)))
        return tf.reduce_sum(vector * tf.tanh(hidden), [2])


class LuongAttention(_Luong):
    """Attention by products, optionally scaled.

    Args:
      num_units: Numbers in a key; as many as in a query.
      memory: ``[batch, time, size]``.
      memory_sequence_length: ``[batch]`` integers.
      scale: Whether scores are scaled by a variable.
      probability_fn: Makes alignments of scores; softmax by default.
      score_mask_value: Scores beyond the lengths; minus infinity by default.
      dtype: Of the keys.
      custom_key_value_fn: May change keys and values.
      name: Of the operations.
    """

    _scope = "luong_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Any = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "LuongAttention",
    ) -> None:
        probabilities = probability_fn or tf.nn.softmax
        super().__init__(
            None,
            memory,
            lambda score, _: probabilities(score),
            memory_sequence_length,
            _dense(num_units, "memory_layer", dtype),
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._scale = scale


class BahdanauAttention(_Bahdanau):
    """Attention by a small network, optionally weight-normalized.

    Args:
      num_units: Numbers in a key and in a processed query.
      memory: ``[batch, time, size]``.
      memory_sequence_length: ``[batch]`` integers.
      normalize: Whether the weights are normalized.
      probability_fn: Makes alignments of scores; softmax by default.
      score_mask_value: Scores beyond the lengths; minus infinity by default.
      dtype: Of the layers.
      custom_key_value_fn: May change keys and values.
      name: Of the operations.
    """

    _scope = "bahdanau_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Any = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "BahdanauAttention",
    ) -> None:
        probabilities = probability_fn or tf.nn.softmax
        super().__init__(
            _dense(num_units, "query_layer", dtype),
            memory,
            lambda score, _: probabilities(score),
            memory_sequence_length,
            _dense(num_units, "memory_layer", dtype),
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize


# Monotonic attention (Raffel et al., 2017)
# ------------------------------------------------------------


def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Any:
    """``tf.cumprod`` for numbers in [0, 1], by logarithms; its gradient has no nan.

    Args:
      x: The numbers.
      *args: Of ``tf.cumsum``.
      **kwargs: Of ``tf.cumsum``.

    Returns:
      The products.
    """
    with tf.name_scope(None, "SafeCumprod", [x]):
        logarithms = _finite_log(tf.convert_to_tensor(x, name="x"))
        return tf.exp(tf.cumsum(logarithms, *args, **kwargs))


def _finite_log(probabilities: Any) -> Any:
    """The logarithms of numbers in [0, 1]; of 0, that of the smallest number above it."""
    smallest = np.finfo(probabilities.dtype.as_numpy_dtype).tiny
    return tf.log(tf.clip_by_value(probabilities, smallest, 1))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Any:
    """The probabilities of attending to each step, never before the last one attended to.

    Args:
      p_choose_i: ``[batch, time]`` probabilities of stopping at a step.
      previous_attention: ``[batch, time]``.
      mode: "recursive" (exact, slow), "parallel" (fast) or "hard" (probabilities 0 and 1).

    Returns:
      ``[batch, time]``.

    Raises:
      ValueError: If the mode is unknown.
    """
    choose = tf.convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = tf.convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        passed = tf.concat([tf.ones_like(choose[:, :1]), 1 - choose[:, :-1]], 1)
        reached = tf.scan(
            lambda last, step: step[0] * last + step[1],
            (tf.transpose(passed), tf.transpose(previous)),
            tf.zeros_like(choose[:, 0]),
        )
        return choose * tf.transpose(reached)
    if mode == "parallel":
        passed = safe_cumprod(1 - choose, axis=1, exclusive=True)
        reached = tf.cumsum(previous / tf.clip_by_value(passed, 1e-10, 1.0), axis=1)
        return choose * passed * reached
    if mode == "hard":
        choose *= tf.cumsum(previous, axis=1)
        return choose * tf.cumprod(1 - choose, axis=1, exclusive=True)
    raise BadValueError("TPU103", "mode must be 'recursive', 'parallel', or 'hard'.")


def _monotonic(noise: float, mode: str, seed: Any) -> Callable[[Any, Any], Any]:
    """The probability function of a monotonic mechanism."""

    def probabilities(score: Any, previous: Any) -> Any:
        if noise > 0:
            score += noise * tf.random_normal(tf.shape(score), dtype=score.dtype, seed=seed)
        choose = tf.cast(score > 0, score.dtype) if mode == "hard" else tf.sigmoid(score)
        return monotonic_attention(choose, previous, mode)

    return probabilities


class _Monotonic(_Mechanism):
    """Starts at the first step; scores have a bias."""

    _score_bias_init: Any = 0.0

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """All attention on the first step.

        Args:
          batch_size: A scalar.
          dtype: Of the alignments.

        Returns:
          ``[batch, time]``.
        """
        first = tf.zeros(tf.stack([batch_size]), tf.int32)
        return tf.one_hot(first, self._alignments_size, dtype=dtype)

    def _score(self, query: Any) -> Any:
        score = super()._score(query)
        bias = tf.get_variable(
            "attention_score_bias", dtype=query.dtype, initializer=self._score_bias_init
        )
        return score + bias


class LuongMonotonicAttention(_Monotonic, _Luong):
    """Monotonic attention by products.

    Args:
      num_units: As for :class:`LuongAttention`.
      memory: Likewise.
      memory_sequence_length: Likewise.
      scale: Likewise.
      score_mask_value: Likewise.
      sigmoid_noise: Standard deviation of noise on the scores.
      sigmoid_noise_seed: Of the noise.
      score_bias_init: Where the bias of the scores starts.
      mode: Of :func:`monotonic_attention`.
      dtype: Of the keys.
      name: Of the operations.
    """

    _scope = "luong_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        super().__init__(
            None,
            memory,
            _monotonic(sigmoid_noise, mode, sigmoid_noise_seed),
            memory_sequence_length,
            _dense(num_units, "memory_layer", dtype),
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._scale = scale
        self._score_bias_init = score_bias_init


class BahdanauMonotonicAttention(_Monotonic, _Bahdanau):
    """Monotonic attention by a small network.

    Args:
      num_units: As for :class:`BahdanauAttention`.
      memory: Likewise.
      memory_sequence_length: Likewise.
      normalize: Likewise.
      score_mask_value: Likewise.
      sigmoid_noise: Standard deviation of noise on the scores.
      sigmoid_noise_seed: Of the noise.
      score_bias_init: Where the bias of the scores starts.
      mode: Of :func:`monotonic_attention`.
      dtype: Of the layers.
      name: Of the operations.
    """

    _scope = "bahdanau_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        super().__init__(
            _dense(num_units, "query_layer", dtype),
            memory,
            _monotonic(sigmoid_noise, mode, sigmoid_noise_seed),
            memory_sequence_length,
            _dense(num_units, "memory_layer", dtype),
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize
        self._score_bias_init = score_bias_init


# The wrapper
# -------------------------------------------------------------------------------------------


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
                _dense(size, "attention_layer", mechanism.dtype)
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
