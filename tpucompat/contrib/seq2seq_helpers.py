"""Helpers of ``tf.contrib.seq2seq``: what a decoder reads at its next step.

Behaviour follows tensorflow/contrib/seq2seq/python/ops/helper.py of TensorFlow 1.15.
"""

from __future__ import annotations

import abc
import functools
from typing import Any, Callable

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError
from tpucompat.contrib.rnn import transpose_batch_time


class Helper(abc.ABC):
    """Feeds a :class:`BasicDecoder`; subclass it."""

    @property
    @abc.abstractmethod
    def batch_size(self) -> Any:
        """Sequences in a batch."""

    @property
    @abc.abstractmethod
    def sample_ids_shape(self) -> Any:
        """The shape of a sample, without the batch."""

    @property
    @abc.abstractmethod
    def sample_ids_dtype(self) -> Any:
        """Its type."""

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """What is finished already, and the first inputs."""

    @abc.abstractmethod
    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Samples from outputs."""

    @abc.abstractmethod
    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """What is finished, the next inputs and the state."""


class _HelperOfFunctions(Helper):
    """A helper that asks three functions.

    Args:
      start: Gives (finished, inputs).
      draw: Samples from ``time``, ``outputs`` and ``state``.
      advance: Gives (finished, inputs, state) for these and ``sample_ids``.
      sample: What a sample is like, without the batch.
    """

    def __init__(self, start: Any, draw: Any, advance: Any, sample: tf.TensorSpec) -> None:
        self._functions = (start, draw, advance)
        self._sample = sample
        self._sequences: Any = None

    @property
    def batch_size(self) -> Any:
        """The number of sequences, which may be known only once decoding has started."""
        if self._sequences is None:
            raise BadValueError("TPU103", "batch_size accessed before initialize was called")
        return self._sequences

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of a sample."""
        return self._sample.shape

    @property
    def sample_ids_dtype(self) -> Any:
        """Its type."""
        return self._sample.dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Starts; see :meth:`Helper.initialize`."""
        finished, inputs = self._functions[0]()
        if self._sequences is None:
            self._sequences = tf.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Samples; see :meth:`Helper.sample`."""
        return self._functions[1](time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Goes on; see :meth:`Helper.next_inputs`."""
        return self._functions[2](time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class CustomHelper(_HelperOfFunctions):
    """A helper of three functions.

    Args:
      initialize_fn: Returns (finished, inputs).
      sample_fn: Gets time, outputs and state; returns samples.
      next_inputs_fn: Gets time, outputs, state and sample_ids; returns (finished, inputs, state).
      sample_ids_shape: Of a sample; scalar by default.
      sample_ids_dtype: Of a sample; int32 by default.
    """

    def __init__(
        self,
        initialize_fn: Any,
        sample_fn: Any,
        next_inputs_fn: Any,
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        sample = tf.TensorSpec(sample_ids_shape or [], sample_ids_dtype or tf.int32)
        super().__init__(initialize_fn, sample_fn, next_inputs_fn, sample)


def _unless_all(finished: Any, idle: Any, make: Callable[[], Any]) -> Any:
    """The next inputs; once all sequences have ended nobody reads them, and they are not computed."""
    return tf.cond(tf.reduce_all(finished), lambda: idle, make)


def _steps_of(inputs: Any) -> Any:
    """A TensorArray of the time steps of time-major inputs."""
    array = tf.TensorArray(inputs.dtype, size=tf.shape(inputs)[0], element_shape=inputs.shape[1:])
    return array.unstack(inputs)


class TrainingHelper(Helper):
    """Feeds what the sequence should be (teacher forcing); samples are the best classes.

    Args:
      inputs: ``[batch, time, size]``, or ``[time, batch, size]`` where ``time_major``.
      sequence_length: ``[batch]`` integers.
      time_major: Whether the time comes first.
      name: Of the operations.

    Raises:
      ValueError: If ``sequence_length`` is not a vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        time_major: bool = False,
        name: str | None = None,
    ) -> None:
        with tf.name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            self._inputs = inputs = tf.convert_to_tensor(inputs, name="inputs")
            self._sequence_length = tf.convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.rank != 1:
                raise BadValueError(
                    "TPU103",
                    "Expected sequence_length to be a vector, but received shape: "
                    f"{self._sequence_length.shape}",
                )
            inputs = inputs if time_major else transpose_batch_time(inputs)
            self._steps = _steps_of(inputs)
            self._zero_inputs = tf.zeros_like(inputs[0, :])
            self._batch_size = tf.size(sequence_length)

    @property
    def inputs(self) -> Any:
        """All inputs, as they were given."""
        return self._inputs

    @property
    def sequence_length(self) -> Any:
        """The lengths."""
        return self._sequence_length

    @property
    def batch_size(self) -> Any:
        """The number of lengths."""
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        """Scalar."""
        return tf.TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        """int32."""
        return tf.int32

    def _read(self, finished: Any, time: Any) -> Any:
        return _unless_all(finished, self._zero_inputs, lambda: self._steps.read(time))

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Starts; see :meth:`Helper.initialize`."""
        finished = tf.equal(tf.zeros([], self._sequence_length.dtype), self._sequence_length)
        return finished, self._read(finished, 0)

    def sample(
        self, time: Any, outputs: Any, state: Any = None, name: str | None = None, **kwargs: Any
    ) -> Any:
        """Samples; see :meth:`Helper.sample`."""
        return tf.cast(tf.argmax(outputs, axis=-1), tf.int32)

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> tuple[Any, Any, Any]:
        """Goes on; see :meth:`Helper.next_inputs`."""
        following = time + 1
        finished = following >= tf.cast(self._sequence_length, following.dtype)
        return finished, self._read(finished, following), state


def bernoulli_sample(
    probs: Any = None,
    logits: Any = None,
    dtype: Any = tf.int32,
    sample_shape: Any = (),
    seed: int | None = None,
) -> Any:
    """Draws 0 or 1; ``helper.bernoulli_sample``.

    Args:
      probs: Probabilities of 1.
      logits: Their logits, instead.
      dtype: Of the draws.
      sample_shape: How many are drawn for each.
      seed: Of the draws.

    Returns:
      ``[*sample_shape, *shape of the probabilities]``.
    """
    if probs is None:
        probs = tf.sigmoid(logits, name="probs")
    probs = tf.convert_to_tensor(probs, name="probs")

    def draw(number: Any) -> Any:
        shape = tf.concat([[number], tf.shape(probs)], 0)
        return tf.cast(tf.random_uniform(shape, seed=seed, dtype=probs.dtype) < probs, dtype)

    return _sampled(draw, sample_shape)


def categorical_sample(
    logits: Any, dtype: Any = tf.int32, sample_shape: Any = (), seed: int | None = None
) -> Any:
    """Draws classes; ``helper.categorical_sample``.

    Args:
      logits: ``[..., classes]``.
      dtype: Of the draws.
      sample_shape: How many are drawn for each.
      seed: Of the draws.

    Returns:
      ``[*sample_shape, ...]``.
    """
    logits = tf.convert_to_tensor(logits, name="logits")
    outer = tf.shape(logits)[:-1]
    rows = logits if logits.shape.rank == 2 else tf.reshape(logits, [-1, tf.shape(logits)[-1]])
    drawn = tf.int64 if logits.dtype.size > 4 else tf.int32

    def draw(number: Any) -> Any:
        draws = tf.multinomial(rows, number, seed=seed, output_dtype=drawn)
        return tf.cast(tf.reshape(tf.transpose(draws), tf.concat([[number], outer], 0)), dtype)

    return _sampled(draw, sample_shape)


def _sampled(draw: Callable[[Any], Any], sample_shape: Any) -> Any:
    shape = tf.reshape(tf.convert_to_tensor(sample_shape, tf.int32, name="sample_shape"), [-1])
    samples = draw(tf.reduce_prod(shape))
    return tf.reshape(samples, tf.concat([shape, tf.shape(samples)[1:]], 0))


def _probability(value: Any) -> Any:
    probability = tf.convert_to_tensor(value, name="sampling_probability")
    if probability.shape.rank not in (0, 1):
        raise BadValueError(
            "TPU103",
            "sampling_probability must be either a scalar or a vector. "
            f"saw shape: {probability.shape}",
        )
    return probability


def _chosen(probability: Any, batch_size: Any, seed: Any) -> Any:
    """A boolean for each sequence, true with a probability."""
    shape = tf.concat([[batch_size], tf.shape(probability)], 0)
    uniform = tf.random_uniform(shape, seed=seed, dtype=probability.dtype)
    # For a vector of probabilities TensorFlow 1.15 draws a matrix; only a scalar is of use there
    # too.
    return uniform < probability


def _drawn(logits: Any, seed: Any) -> Any:
    """A class for each row of logits."""
    return tf.cast(tf.multinomial(logits, 1, seed=seed, output_dtype=tf.int32)[:, 0], tf.int32)


def _embedder(embedding: Any) -> Callable[[Any], Any]:
    if callable(embedding):
        return embedding
    return lambda ids: tf.nn.embedding_lookup(embedding, ids)


def _mixed(where: Any, sampled: Any, given: Any) -> Any:
    """Rows of ``given``, with those at ``where`` replaced by the rows of ``sampled``."""
    rest = tf.logical_not(where)
    shape = tf.shape(given)
    at, elsewhere = (tf.cast(tf.where(mask), tf.int32) for mask in (where, rest))
    return tf.scatter_nd(at, sampled, shape) + tf.scatter_nd(
        elsewhere, tf.gather_nd(given, elsewhere), shape
    )


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Feeds samples of the model's own instead of the true inputs, with a probability.

    Args:
      inputs: As for :class:`TrainingHelper`, embedded.
      sequence_length: Likewise.
      embedding: A matrix, or a function of class numbers.
      sampling_probability: A scalar.
      time_major: Whether the time comes first.
      seed: Of the samples.
      scheduling_seed: Of the choice.
      name: Of the operations.

    Raises:
      ValueError: If the probability is neither scalar nor vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        self._embedding_fn = _embedder(embedding)
        self._sampling_probability = _probability(sampling_probability)
        self._seed = seed
        self._scheduling_seed = scheduling_seed
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(
        self, time: Any, outputs: Any, state: Any = None, name: str | None = None, **kwargs: Any
    ) -> Any:
        """A class for a chosen sequence, -1 for another."""
        chosen = _chosen(self._sampling_probability, self.batch_size, self._scheduling_seed)
        return tf.where(chosen, _drawn(outputs, self._seed), tf.fill([self.batch_size], -1))

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> tuple[Any, Any, Any]:
        """Goes on; see :meth:`Helper.next_inputs`."""
        finished, inputs, state = super().next_inputs(time, outputs, state)

        def mixed() -> Any:
            where = sample_ids > -1
            return _mixed(where, self._embedding_fn(tf.boolean_mask(sample_ids, where)), inputs)

        return finished, _unless_all(finished, inputs, mixed), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Feeds the model's own outputs instead of the true inputs, with a probability.

    Args:
      inputs: As for :class:`TrainingHelper`.
      sequence_length: Likewise.
      sampling_probability: A scalar.
      time_major: Whether the time comes first.
      seed: Of the choice.
      next_inputs_fn: Makes inputs of outputs; they are fed as they are by default.
      auxiliary_inputs: Appended to all inputs.
      name: Of the operations.

    Raises:
      ValueError: If the probability is neither scalar nor vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Any = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        self._sampling_probability = _probability(sampling_probability)
        self._seed = seed
        self._next_inputs_fn = next_inputs_fn
        self._auxiliary_steps = None
        if auxiliary_inputs is not None:
            more = tf.convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
            inputs = tf.concat([tf.convert_to_tensor(inputs, name="inputs"), more], -1)
            self._auxiliary_steps = _steps_of(more if time_major else transpose_batch_time(more))
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(
        self, time: Any, outputs: Any, state: Any = None, name: str | None = None, **kwargs: Any
    ) -> Any:
        """1 for a chosen sequence, 0 for another."""
        chosen = _chosen(self._sampling_probability, self.batch_size, self._seed)
        return tf.cast(chosen, tf.int32)

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> tuple[Any, Any, Any]:
        """Goes on; see :meth:`Helper.next_inputs`."""
        finished, inputs, state = super().next_inputs(time, outputs, state)
        chosen = tf.cast(sample_ids, tf.bool)

        def appended(rows: Any, where: Any = None) -> Any:
            if self._auxiliary_steps is None:
                return rows
            more = self._auxiliary_steps.read(time + 1)
            more = more if where is None else tf.boolean_mask(more, where)
            return tf.concat([rows, more], -1)

        def mixed() -> Any:
            if self._next_inputs_fn is None:
                return tf.where(chosen, appended(outputs), inputs)
            rows = self._next_inputs_fn(tf.boolean_mask(outputs, chosen))
            return _mixed(chosen, appended(rows, chosen), inputs)

        none = tf.logical_or(tf.reduce_all(finished), tf.logical_not(tf.reduce_any(chosen)))
        return finished, tf.cond(none, lambda: inputs, mixed), state


class GreedyEmbeddingHelper(Helper):
    """Feeds the embedding of the best class, until it is the end.

    Args:
      embedding: A matrix, or a function of class numbers.
      start_tokens: ``[batch]`` classes to start from.
      end_token: The class that ends a sequence.

    Raises:
      ValueError: If the tokens have other shapes.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = _embedder(embedding)
        self._start_tokens, self._end_token = tokens(start_tokens, end_token)
        self._batch_size = tf.size(start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    @property
    def batch_size(self) -> Any:
        """The number of start tokens."""
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        """Scalar."""
        return tf.TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        """int32."""
        return tf.int32

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Starts; see :meth:`Helper.initialize`."""
        return tf.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The best classes."""
        _check_tensor(outputs)
        return tf.argmax(outputs, axis=-1, output_type=tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Goes on; see :meth:`Helper.next_inputs`."""
        ended = tf.equal(sample_ids, self._end_token)
        embed = functools.partial(self._embedding_fn, sample_ids)
        return ended, _unless_all(ended, self._start_inputs, embed), state


def tokens(start_tokens: Any, end_token: Any) -> tuple[Any, Any]:
    """The tokens as int32 tensors of the right ranks."""
    start = tf.convert_to_tensor(start_tokens, tf.int32, name="start_tokens")
    end = tf.convert_to_tensor(end_token, tf.int32, name="end_token")
    if start.shape.rank != 1:
        raise BadValueError("TPU103", "start_tokens must be a vector")
    if end.shape.rank != 0:
        raise BadValueError("TPU103", "end_token must be a scalar")
    return start, end


def _check_tensor(outputs: Any) -> None:
    if not tf.is_tensor(outputs):
        raise BadTypeError(
            "TPU103", f"Expected outputs to be a single Tensor, got: {type(outputs)}"
        )


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Feeds the embedding of a class drawn from the outputs, until it is the end.

    Args:
      embedding: As for :class:`GreedyEmbeddingHelper`.
      start_tokens: Likewise.
      end_token: Likewise.
      softmax_temperature: Outputs are divided by it.
      seed: Of the draws.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature = softmax_temperature
        self._seed = seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Drawn classes."""
        _check_tensor(outputs)
        temperature = self._softmax_temperature
        return _drawn(outputs if temperature is None else outputs / temperature, self._seed)


class InferenceHelper(_HelperOfFunctions):
    """A helper of functions, for inference.

    Args:
      sample_fn: Samples from outputs.
      sample_shape: Of a sample, without the batch.
      sample_dtype: Of a sample.
      start_inputs: The first inputs.
      end_fn: Which samples end their sequences.
      next_inputs_fn: Makes inputs of samples; they are fed as they are by default.
    """

    def __init__(
        self,
        sample_fn: Any,
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Any,
        next_inputs_fn: Any = None,
    ) -> None:
        sequences = tf.shape(start_inputs)[0]
        first = tf.convert_to_tensor(start_inputs, name="start_inputs")

        def advance(state: Any, sample_ids: Any, **others: Any) -> tuple[Any, Any, Any]:
            inputs = next_inputs_fn(sample_ids) if next_inputs_fn else sample_ids
            return end_fn(sample_ids), inputs, state

        super().__init__(
            lambda: (tf.tile([False], [sequences]), first),
            lambda outputs, **others: sample_fn(outputs),
            advance,
            tf.TensorSpec(sample_shape, sample_dtype),
        )
        self._sequences = sequences
