"""``tf.contrib.feature_column``: columns of sequences, and the inputs that they make.

Behaviour follows tensorflow/contrib/feature_column/python/feature_column/sequence_feature_column.py of
TensorFlow 1.15, which is written for the columns of graphs that ``tf.feature_column`` had before those of V2;
the embedding and indicator columns of V2 know how to be read as such.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from tpucompat import private
from tpucompat.errors import BadTypeError, BadValueError

_CORE: Any = private.feature_columns_of_graphs()


def sequence_input_layer(
    features: Any,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
) -> tuple[Any, Any]:
    """Builds a dense sequence of inputs from sequence feature columns.

    Args:
      features: Name to tensor.
      feature_columns: Sequence columns, embedded or indicated where they are categorical.
      weight_collections: Collections that variables go into, besides those of all variables.
      trainable: Whether embeddings are trained.

    Returns:
      ``[batch, time, size]`` inputs and the ``[batch]`` int64 lengths.

    Raises:
      ValueError: If a column is none of a dense sequence.
    """
    columns = _CORE._normalize_feature_columns(feature_columns)
    for column in columns:
        if not isinstance(column, _CORE._SequenceDenseColumn):
            raise BadValueError(
                "TPU103",
                "All feature_columns must be of type _SequenceDenseColumn. You can wrap a "
                "sequence_categorical_column with an embedding_column or indicator_column. "
                f"Given (type {type(column)}): {column}",
            )
    columns = sorted(columns, key=lambda column: column.name)
    with tf.variable_scope(None, "sequence_input_layer", values=features.values()):
        builder = _CORE._LazyBuilder(features)
        inputs, lengths = [], []
        for column in columns:
            with tf.variable_scope(None, column._var_scope_name):
                dense, length = column._get_sequence_dense_tensor(
                    builder, weight_collections=weight_collections, trainable=trainable
                )
                shape = tf.shape(dense)
                size = column._variable_shape.num_elements()
                inputs.append(tf.reshape(dense, [shape[0], shape[1], size]))
                lengths.append(length)
        _CORE._verify_static_batch_size_equality(inputs, columns)
        _CORE._verify_static_batch_size_equality(lengths, columns)
        return tf.concat(inputs, -1), _the_same(lengths)


def _the_same(lengths: list[Any]) -> Any:
    """The first of tensors that are equal, which is asserted."""
    with tf.name_scope(None, "assert_all_equal", values=lengths):
        if len(lengths) == 1:
            return lengths[0]
        equal = [tf.assert_equal(lengths[0], other) for other in lengths[1:]]
        with tf.control_dependencies(equal):
            return tf.identity(lengths[0])


def concatenate_context_input(context_input: Any, sequence_input: Any) -> Any:
    """Appends to each step of sequences what holds for all of them.

    Args:
      context_input: ``[batch, d1]`` float32.
      sequence_input: ``[batch, time, d0]`` float32.

    Returns:
      ``[batch, time, d0 + d1]``.

    Raises:
      ValueError: If a rank is another.
      TypeError: If a type is another.
    """
    checks: list[Any] = []
    for name, tensor, rank in (
        ("sequence_input", sequence_input, 3),
        ("context_input", context_input, 2),
    ):
        of_rank = f"{name} must have rank {rank}"
        of_type = f"{name} must have dtype float32; got {tensor.dtype}."
        checks.append(tf.assert_rank(tensor, rank, data=[tf.shape(tensor)], message=of_rank))
        checks.append(tf.assert_type(tensor, tf.float32, message=of_type))
    with tf.control_dependencies([check for check in checks if check is not None]):
        time = tf.shape(sequence_input)[1]
        times = tf.concat([[1], [time], [1]], 0)
        repeated = tf.tile(tf.expand_dims(context_input, 1), times)
    return tf.concat([sequence_input, repeated], 2)


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> Any:
    """A column of sequences of integers below ``num_buckets``.

    Args:
      key: Its feature.
      num_buckets: The number of classes.
      default_value: Taken for integers out of range, which are errors without it.
    """
    return _CORE._SequenceCategoricalColumn(
        _CORE._categorical_column_with_identity(key, num_buckets, default_value)
    )


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = tf.string
) -> Any:
    """A column of sequences of words, or integers, whose classes are hashes.

    Args:
      key: Its feature.
      hash_bucket_size: The number of classes.
      dtype: Of the feature.
    """
    return _CORE._SequenceCategoricalColumn(
        _CORE._categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = tf.string,
) -> Any:
    """A column of sequences of words, whose classes are their lines in a file.

    Args:
      key: Its feature.
      vocabulary_file: The file.
      vocabulary_size: The number of its lines that count, all by default.
      num_oov_buckets: Classes by hashes for other words.
      default_value: Taken for other words, -1 by default.
      dtype: Of the feature.
    """
    return _CORE._SequenceCategoricalColumn(
        _CORE._categorical_column_with_vocabulary_file(
            key=key,
            vocabulary_file=vocabulary_file,
            vocabulary_size=vocabulary_size,
            num_oov_buckets=num_oov_buckets,
            default_value=default_value,
            dtype=dtype,
        )
    )


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> Any:
    """A column of sequences of words, whose classes are their places in a list.

    Args:
      key: Its feature.
      vocabulary_list: The list.
      dtype: Of the feature, the list's by default.
      default_value: Taken for other words.
      num_oov_buckets: Classes by hashes for other words.
    """
    return _CORE._SequenceCategoricalColumn(
        _CORE._categorical_column_with_vocabulary_list(
            key=key,
            vocabulary_list=vocabulary_list,
            dtype=dtype,
            default_value=default_value,
            num_oov_buckets=num_oov_buckets,
        )
    )


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = tf.float32,
    normalizer_fn: Any = None,
) -> Any:
    """A column of sequences of numbers.

    Args:
      key: Its feature.
      shape: Of the numbers of a step.
      default_value: Fills what is missing.
      dtype: Of the feature.
      normalizer_fn: Applied to the feature.

    Raises:
      TypeError: If a dimension is no int, or ``normalizer_fn`` cannot be called.
      ValueError: If a dimension is not positive, or ``dtype`` no number.
    """
    shape = _CORE._check_shape(shape=shape, key=key)
    if not (dtype.is_integer or dtype.is_floating):
        raise BadValueError(
            "TPU103", f"dtype must be convertible to float. dtype: {dtype}, key: {key}"
        )
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise BadTypeError("TPU103", f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return _SequenceNumericColumn(key, shape, default_value, dtype, normalizer_fn)


class _NumericFields(NamedTuple):
    key: str
    shape: Any
    default_value: Any
    dtype: Any
    normalizer_fn: Any


class _SequenceNumericColumn(_CORE._SequenceDenseColumn, _NumericFields):
    """Sequences of numbers, of a feature that is sparse."""

    @property
    def name(self) -> str:
        """The feature's."""
        return self.key

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return {self.key: tf.VarLenFeature(self.dtype)}

    @property
    def _variable_shape(self) -> Any:
        return tf.TensorShape(self.shape)

    def _transform_feature(self, inputs: Any) -> Any:
        values = inputs.get(self.key)
        return values if self.normalizer_fn is None else self.normalizer_fn(values)

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        values = inputs.get(self)
        dense = tf.sparse_tensor_to_dense(values, default_value=self.default_value)
        rest = tf.constant([-1, *self.shape], tf.int32)
        dense = tf.reshape(dense, tf.concat([tf.shape(dense)[:1], rest], 0))
        # A step has all its numbers in a row of a matrix, or a row of its own.
        together = self._variable_shape.num_elements() if values.shape.rank == 2 else 1
        return _CORE._SequenceDenseColumn.TensorSequenceLengthPair(
            dense_tensor=dense, sequence_length=_lengths(values, together)
        )


def _lengths(values: Any, together: int) -> Any:
    """``[batch]`` steps: the last column of each row, so many of which are one step.

    1.15: tensorflow/python/feature_column/utils.py, ``sequence_length_from_sparse_tensor``.
    """
    with tf.name_scope(None, "sequence_length") as scope:
        rows, last = values.indices[:, 0], values.indices[:, 1]
        columns = tf.segment_max(last + tf.ones_like(last), rows)
        steps = tf.cast(tf.ceil(columns / together), tf.int64)
        missing = tf.shape(values)[:1] - tf.shape(steps)[:1]
        return tf.concat([steps, tf.zeros(missing, steps.dtype)], 0, name=scope)
