"""Feature columns of ``tf.contrib.layers`` for numbers, as they are or in buckets.

Behaviour follows tensorflow/contrib/layers/python/layers/feature_column.py of TensorFlow 1.15.
"""

from __future__ import annotations

import collections
from typing import Any, Callable

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy.contrib.columns import base
from tpucompat.legacy.contrib.slim import layers

Normalizer = Callable[[Any], Any]


class _NumberColumn(base.FeatureColumn):
    """A feature of numbers."""

    _not_in_key = ("normalizer",)
    column_name: str
    normalizer: Normalizer | None

    @property
    def name(self) -> str:
        return self.column_name

    @property
    def normalizer_fn(self) -> Normalizer | None:
        """What the numbers are normalized by."""
        return self.normalizer

    def _normalized_input_tensor(self, input_tensor: Any) -> Any:
        return input_tensor if self.normalizer is None else self.normalizer(input_tensor)

    def _transform_feature(self, inputs: Any) -> Any:
        return tf.cast(self._normalized_input_tensor(inputs.get(self.name)), tf.float32)

    def _to_dense_tensor(self, input_tensor: Any) -> Any:
        return input_tensor

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> Any:
        numbers = tf.cast(self._to_dense_tensor(input_tensor), tf.float32)
        return base.of_rank(numbers, output_rank, self.name)


class _RealValuedVarLenColumn(
    _NumberColumn,
    collections.namedtuple(
        "_RealValuedVarLenColumn",
        ["column_name", "default_value", "dtype", "normalizer", "is_sparse"],
    ),
):
    """A feature of any number of numbers."""

    @property
    def config(self) -> dict[str, Any]:
        if self.is_sparse:
            return {self.column_name: tf.VarLenFeature(self.dtype)}
        padded = tf.FixedLenSequenceFeature(
            [], self.dtype, allow_missing=True, default_value=self.default_value
        )
        return {self.column_name: padded}

    def _normalized_input_tensor(self, input_tensor: Any) -> Any:
        if self.normalizer is None or not self.is_sparse:
            return super()._normalized_input_tensor(input_tensor)
        values = self.normalizer(input_tensor.values)
        return tf.SparseTensor(input_tensor.indices, values, input_tensor.dense_shape)

    def _to_dense_tensor(self, input_tensor: Any) -> Any:
        if self.is_sparse:
            raise BadValueError(
                "TPU103",
                f"Set is_sparse to False if you want a dense Tensor for column_name: {self.name}",
            )
        return input_tensor


class _RealValuedColumn(
    _NumberColumn,
    base.CORE._DenseColumn,
    collections.namedtuple(
        "_RealValuedColumn", ["column_name", "dimension", "default_value", "dtype", "normalizer"]
    ),
):
    """A feature of ``dimension`` numbers."""

    def __new__(
        cls, column_name: str, dimension: int, default_value: Any, dtype: Any, normalizer: Any
    ) -> Any:
        if default_value is not None:
            default_value = tuple(default_value)
        return super().__new__(cls, column_name, dimension, default_value, dtype, normalizer)

    @property
    def config(self) -> dict[str, Any]:
        default = None if self.default_value is None else list(self.default_value)
        return {self.column_name: tf.FixedLenFeature([self.dimension], self.dtype, default)}

    @property
    def _variable_shape(self) -> Any:
        return tf.TensorShape([self.dimension])

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return inputs.get(self)


class _BucketizedColumn(
    base.CategoricalColumn,
    base.CORE._DenseColumn,
    collections.namedtuple("_BucketizedColumn", ["source_column", "boundaries"]),
):
    """A feature of numbers, of each of which the interval is taken that it lies in."""

    def __new__(cls, source_column: Any, boundaries: Any) -> Any:
        if not isinstance(source_column, _RealValuedColumn):
            raise BadTypeError(
                "TPU103",
                "source_column must be an instance of _RealValuedColumn. "
                f"source_column: {source_column}",
            )
        if source_column.dimension is None:
            raise BadValueError(
                "TPU103",
                f"source_column must have a defined dimension. source_column: {source_column}",
            )
        if not isinstance(boundaries, (list, tuple)) or not boundaries:
            raise BadValueError(
                "TPU103", f"boundaries must be a non-empty list or tuple. boundaries: {boundaries}"
            )
        pairs = list(zip(boundaries, boundaries[1:]))
        if any(lower > upper for lower, upper in pairs):
            raise BadValueError(
                "TPU103", f"boundaries must be a sorted list. boundaries: {boundaries}"
            )
        distinct = [lower for lower, upper in pairs if lower != upper]
        return super().__new__(cls, source_column, (*distinct, boundaries[-1]))

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def length(self) -> int:
        return len(self.boundaries) + 1

    @property
    def config(self) -> dict[str, Any]:
        return self.source_column.config

    @property
    def _num_buckets(self) -> int:
        return self.length * self.source_column.dimension

    def id_tensor(self, input_tensor: Any) -> Any:
        return self.to_sparse_tensor(input_tensor)

    def to_sparse_tensor(self, input_tensor: Any) -> Any:
        """The buckets, numbered on from one of the feature's numbers to the next."""
        dimension = self.source_column.dimension
        batch = tf.shape(input_tensor, name="shape")[0]
        buckets = tf.reshape(input_tensor, [-1], name="reshape")
        if dimension > 1:
            rows = tf.expand_dims(tf.range(0, batch), 1, name="expand_dims")
            rows = tf.reshape(tf.tile(rows, [1, dimension], name="tile"), [-1], name="reshape")
            places = tf.tile(tf.range(0, dimension), [batch], name="tile")
            buckets += self.length * places
        else:
            rows = tf.range(0, batch)
            places = tf.zeros([batch], dtype=tf.int32, name="zeros")
        indices = tf.cast(tf.transpose(tf.stack((rows, places))), tf.int64)
        return tf.SparseTensor(indices, buckets, tf.cast(tf.stack([batch, dimension]), tf.int64))

    def _wide_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> base.LinearEmbeddingLookupArguments:
        return self._linear(input_tensor, "sum")

    def _transform_feature(self, inputs: Any) -> Any:
        numbers = inputs.get(self.source_column)
        return layers.bucketization_op.bucketize(
            numbers, boundaries=list(self.boundaries), name="bucketize"
        )

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> Any:
        if output_rank != 2:
            raise BadValueError("TPU103", "BucketizedColumn currently only supports output_rank=2")
        chosen = tf.one_hot(tf.cast(input_tensor, tf.int64), self.length, 1.0, 0.0, name="one_hot")
        return tf.reshape(chosen, [-1, self._num_buckets], name="reshape")

    @property
    def _variable_shape(self) -> Any:
        return tf.TensorShape([self._num_buckets])

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return self._to_dnn_input_layer(inputs.get(self))


class DataFrameColumn(
    _NumberColumn, collections.namedtuple("DataFrameColumn", ["column_name", "series"])
):
    """A series of ``tf.contrib.learn``'s data frames, which are gone, or of what behaves like one.

    It has ``required_base_features()`` and ``build(features)``.
    """

    _is_parsed = False
    normalizer = None

    @property
    def config(self) -> dict[str, Any]:
        """What the series asks for."""
        return self.series.required_base_features()

    @property
    def key(self) -> str:
        """The column's name."""
        return self.name

    def insert_transformed_feature(self, columns_to_tensors: dict[Any, Any]) -> None:
        """Adds what the series builds of the features."""
        columns_to_tensors[self] = self.series.build(columns_to_tensors)

    def _to_dense_tensor(self, input_tensor: Any) -> Any:
        return base.of_rank(tf.cast(input_tensor, tf.float32), 2, self.name)

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> Any:
        return base.of_rank(tf.cast(input_tensor, tf.float32), output_rank, self.name)


def real_valued_column(
    column_name: str,
    dimension: int = 1,
    default_value: Any = None,
    dtype: Any = tf.float32,
    normalizer: Normalizer | None = None,
) -> Any:
    """A feature of numbers.

    Args:
      column_name: The feature.
      dimension: How many numbers an example has.
      default_value: A number for all or a list, for examples without the feature.
      dtype: Of the feature.
      normalizer: What the numbers are normalized by.

    Raises:
      TypeError: If ``dimension`` is no integer, or the default does not fit ``dtype``.
      ValueError: If ``dimension`` is no positive number, ``dtype`` no type of numbers, or the default has
        another length.
    """
    in_column = f"dimension: {dimension}, column_name: {column_name}"
    if dimension is None:
        raise BadTypeError(
            "TPU103",
            "dimension must be an integer. Use the _real_valued_var_len_column for variable length features."
            + in_column,
        )
    if not isinstance(dimension, int):
        raise BadTypeError("TPU103", f"dimension must be an integer. {in_column}")
    if dimension < 1:
        raise BadValueError("TPU103", f"dimension must be greater than 0. {in_column}")
    if not (dtype.is_integer or dtype.is_floating):
        raise BadValueError(
            "TPU103",
            f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}",
        )
    defaults = _defaults(column_name, dimension, default_value, dtype)
    return _RealValuedColumn(column_name, dimension, defaults, dtype, normalizer)


def _defaults(name: str, dimension: int, default: Any, dtype: Any) -> list[Any] | None:
    """A default for each number of a feature."""
    if default is None:
        return None
    values = default if isinstance(default, list) else [default] * dimension
    if len(values) != dimension:
        raise BadValueError(
            "TPU103",
            "The length of default_value must be equal to dimension. "
            f"default_value: {default}, dimension: {dimension}, column_name: {name}",
        )
    if dtype.is_floating and all(isinstance(value, (int, float)) for value in values):
        return [float(value) for value in values]
    if dtype.is_integer and all(isinstance(value, int) for value in values):
        return values
    raise BadTypeError(
        "TPU103",
        f"default_value must be compatible with dtype. default_value: {default}, dtype: {dtype}, "
        f"column_name: {name}",
    )


def real_valued_var_len_column(
    column_name: str,
    default_value: Any = None,
    dtype: Any = tf.float32,
    normalizer: Normalizer | None = None,
    is_sparse: bool = False,
) -> Any:
    """A feature of any number of numbers.

    Args:
      column_name: The feature.
      default_value: What a dense batch is padded by.
      dtype: Of the feature.
      normalizer: What the numbers are normalized by.
      is_sparse: Whether a batch is a SparseTensor.

    Raises:
      TypeError: If ``dtype`` is no type of numbers.
      ValueError: If the default is missing or a list.
    """
    if not (dtype.is_integer or dtype.is_floating):
        raise BadTypeError(
            "TPU103",
            f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}",
        )
    if default_value is None and not is_sparse:
        raise BadValueError(
            "TPU103",
            "default_value must be provided when is_sparse=False to parse a padded Tensor. "
            f"column_name: {column_name}",
        )
    if isinstance(default_value, list):
        raise BadValueError(
            "TPU103",
            f"Only scalar default value. default_value: {default_value}, column_name: {column_name}",
        )
    if default_value is not None:
        default_value = (int if dtype.is_integer else float)(default_value)
    return _RealValuedVarLenColumn(column_name, default_value, dtype, normalizer, is_sparse)


def bucketized_column(source_column: Any, boundaries: Any) -> Any:
    """A column of the intervals that a feature's numbers lie in.

    Args:
      source_column: What :func:`real_valued_column` gave.
      boundaries: The sorted numbers between the intervals.

    Raises:
      TypeError: If the source is another column.
      ValueError: If there are no boundaries or they are not sorted.
    """
    return _BucketizedColumn(source_column, boundaries)
