"""Attention mechanisms of ``tf.contrib.seq2seq``: how much each step of the memory counts.

Behaviour follows tensorflow/contrib/seq2seq/python/ops/attention_wrapper.py of TensorFlow 1.15.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError
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


def dense_layer(num_units: int, name: str, dtype: Any) -> Any:
    """A layer without a bias, float32 if nothing else is given."""
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
            dense_layer(num_units, "memory_layer", dtype),
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
            dense_layer(num_units, "query_layer", dtype),
            memory,
            lambda score, _: probabilities(score),
            memory_sequence_length,
            dense_layer(num_units, "memory_layer", dtype),
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize


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
            dense_layer(num_units, "memory_layer", dtype),
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
            dense_layer(num_units, "query_layer", dtype),
            memory,
            _monotonic(sigmoid_noise, mode, sigmoid_noise_seed),
            memory_sequence_length,
            dense_layer(num_units, "memory_layer", dtype),
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize
        self._score_bias_init = score_bias_init
