"""Feature columns of ``tf.contrib.layers`` for categories: by hash, list, file or number, weighted or crossed.

Behaviour follows tensorflow/contrib/layers/python/layers/feature_column.py of TensorFlow 1.15.
"""

from __future__ import annotations

import collections
from typing import Any, Iterator

import tensorflow.compat.v1 as tf

from tpucompat import private
from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy.contrib import lookup
from tpucompat.legacy.contrib.columns import base
from tpucompat.legacy.contrib.columns.real_valued import _BucketizedColumn
from tpucompat.legacy.contrib.feature_cross import sparse_feature_cross
from tpucompat.legacy.contrib.slim import sparse_ops


class _SparseIdLookupConfig(
    collections.namedtuple(
        "_SparseIdLookupConfig",
        ["vocabulary_file", "keys", "num_oov_buckets", "vocab_size", "default_value"],
    )
):
    """How a category becomes a number: by a list or a file."""

    __slots__ = ()

    def __new__(
        cls,
        vocabulary_file: str | None = None,
        keys: Any = None,
        num_oov_buckets: int = 0,
        vocab_size: int | None = None,
        default_value: int = -1,
    ) -> Any:
        return super().__new__(
            cls, vocabulary_file, keys, num_oov_buckets, vocab_size, default_value
        )


class _SparseColumn(
    base.CategoricalColumn,
    collections.namedtuple(
        "_SparseColumn",
        ["column_name", "is_integerized", "bucket_size", "lookup_config", "combiner", "dtype"],
    ),
):
    """A feature of categories."""

    def __new__(
        cls,
        column_name: str,
        is_integerized: bool = False,
        bucket_size: int | None = None,
        lookup_config: Any = None,
        combiner: str = "sum",
        dtype: Any = tf.string,
    ) -> Any:
        in_column = f"column_name: {column_name}"
        problem = ""
        if is_integerized and bucket_size is None:
            problem = f"bucket_size must be set if is_integerized is True. {in_column}"
        elif is_integerized and not dtype.is_integer:
            problem = (
                f"dtype must be an integer if is_integerized is True. dtype: {dtype}, {in_column}."
            )
        elif dtype != tf.string and not dtype.is_integer:
            problem = f"dtype must be string or integer. dtype: {dtype}, {in_column}"
        elif bucket_size is None and lookup_config is None:
            problem = f"one of bucket_size or lookup_config must be set. {in_column}"
        elif bucket_size is not None and lookup_config:
            problem = f"one and only one of bucket_size or lookup_config must be set. {in_column}"
        elif bucket_size is not None and bucket_size < 1:
            problem = f"bucket_size must be at least 1. bucket_size: {bucket_size}, {in_column}"
        if problem:
            raise BadValueError("TPU103", problem)
        if lookup_config and not isinstance(lookup_config, _SparseIdLookupConfig):
            raise BadTypeError(
                "TPU103",
                "lookup_config must be an instance of _SparseIdLookupConfig. Given one is in type "
                f"{type(lookup_config)} for column_name {column_name}",
            )
        if lookup_config and lookup_config.vocabulary_file and lookup_config.vocab_size is None:
            raise BadValueError("TPU103", f"vocab_size must be defined. {in_column}")
        return super().__new__(
            cls, column_name, is_integerized, bucket_size, lookup_config, combiner, dtype
        )

    @property
    def name(self) -> str:
        return self.column_name

    @property
    def length(self) -> int:
        if self.bucket_size is not None:
            return self.bucket_size
        return self.lookup_config.vocab_size + self.lookup_config.num_oov_buckets

    @property
    def config(self) -> dict[str, Any]:
        return {self.column_name: tf.VarLenFeature(self.dtype)}

    def _to_dnn_input_layer(self, *args: Any, **options: Any) -> Any:
        raise BadValueError(
            "TPU103",
            "SparseColumn is not supported in DNN. Please use embedding_column or one_hot_column. "
            f"column: {self}",
        )

    def _wide_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> base.LinearEmbeddingLookupArguments:
        return self._linear(input_tensor, self.combiner)

    def _transform_feature(self, inputs: Any) -> Any:
        feature = inputs.get(self.name)
        if not isinstance(feature, tf.SparseTensor):
            ignored = "" if feature.dtype == tf.string else -1
            feature = base.of_rank(feature, 2, self.name)
            feature = sparse_ops.dense_to_sparse_tensor(feature, ignore_value=ignored)
        return self._numbered(feature)

    def _numbered(self, feature: Any) -> Any:
        """The numbers of a feature's categories, a SparseTensor."""
        raise NotImplementedError

    def is_compatible(self, other_column: Any) -> bool:
        """Whether the two can share an embedding: they look up alike, or may do so."""
        if self.lookup_config and other_column.lookup_config:
            return self.lookup_config == other_column.lookup_config
        both_integers = self.dtype.is_integer and other_column.dtype.is_integer
        alike = self.length == other_column.length and (
            self.dtype == other_column.dtype or both_integers
        )
        if alike:
            tf.logging.warn(
                "Column %s and %s may not have the same vocabulary.", self.name, other_column.name
            )
        return alike


class _SparseColumnIntegerized(_SparseColumn):
    """Categories that are numbers already."""

    def _numbered(self, feature: Any) -> Any:
        numbers = tf.mod(feature.values, self.bucket_size, name="mod")
        return tf.SparseTensor(feature.indices, numbers, feature.dense_shape)


class _SparseColumnHashed(_SparseColumn):
    """Categories that are hashed, by each of ``hash_keys`` where those are given."""

    def __new__(
        cls,
        column_name: str,
        is_integerized: bool = False,
        bucket_size: int | None = None,
        lookup_config: Any = None,
        combiner: str = "sum",
        dtype: Any = tf.string,
        hash_keys: Any = None,
    ) -> Any:
        if hash_keys is not None:
            if not isinstance(hash_keys, list) or not hash_keys:
                raise BadValueError("TPU103", "hash_keys must be a non-empty list.")
            if not all(
                isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, int) for n in pair)
                for pair in hash_keys
            ):
                raise BadValueError(
                    "TPU103", "Each element of hash_keys must be a pair of integers."
                )
        column = super().__new__(
            cls, column_name, is_integerized, bucket_size, lookup_config, combiner, dtype
        )
        column.hash_keys = hash_keys
        return column

    def _numbered(self, feature: Any) -> Any:
        texts = tf.as_string(feature.values) if self.dtype.is_integer else feature.values
        if not self.hash_keys:
            hashed = tf.string_to_hash_bucket_fast(texts, self.bucket_size, name="lookup")
            return tf.SparseTensor(feature.indices, hashed, feature.dense_shape)
        hashed_by_each = [
            tf.SparseTensor(
                feature.indices,
                tf.string_to_hash_bucket_strong(texts, self.bucket_size, key),
                feature.dense_shape,
            )
            for key in self.hash_keys
        ]
        return tf.sparse_concat(axis=1, sp_inputs=hashed_by_each, name="lookup")


class _SparseColumnKeys(_SparseColumn):
    """Categories that are listed."""

    def _numbered(self, feature: Any) -> Any:
        return lookup.index_table_from_tensor(
            mapping=tuple(self.lookup_config.keys),
            default_value=self.lookup_config.default_value,
            dtype=self.dtype,
            name="lookup",
        ).lookup(feature)


class _SparseColumnVocabulary(_SparseColumn):
    """Categories that are the lines of a file."""

    def _numbered(self, feature: Any) -> Any:
        if self.dtype.is_integer:
            texts = tf.as_string(feature.values)
            feature = tf.SparseTensor(feature.indices, texts, feature.dense_shape)
        return (
            private.lookup_ops()
            .index_table_from_file(
                vocabulary_file=self.lookup_config.vocabulary_file,
                num_oov_buckets=self.lookup_config.num_oov_buckets,
                vocab_size=self.lookup_config.vocab_size,
                default_value=self.lookup_config.default_value,
                name=self.name + "_lookup",
            )
            .lookup(feature)
        )


class _WeightedSparseColumn(
    base.CategoricalColumn,
    collections.namedtuple(
        "_WeightedSparseColumn", ["sparse_id_column", "weight_column_name", "dtype"]
    ),
):
    """Categories whose weights are another feature."""

    @property
    def name(self) -> str:
        return f"{self.sparse_id_column.name}_weighted_by_{self.weight_column_name}"

    @property
    def length(self) -> int:
        return self.sparse_id_column.length

    @property
    def config(self) -> dict[str, Any]:
        return {
            **base.feature_config(self.sparse_id_column),
            self.weight_column_name: tf.VarLenFeature(self.dtype),
        }

    @property
    def lookup_config(self) -> Any:
        """How the categories are looked up."""
        return self.sparse_id_column.lookup_config

    def id_tensor(self, input_tensor: Any) -> Any:
        return input_tensor[0]

    def weight_tensor(self, input_tensor: Any) -> Any:
        return input_tensor[1]

    def _to_dnn_input_layer(self, *args: Any, **options: Any) -> Any:
        raise BadValueError(
            "TPU103",
            "WeightedSparseColumn is not supported in DNN. Please use embedding_column or one_hot_column. "
            f"column: {self}",
        )

    def _wide_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> base.LinearEmbeddingLookupArguments:
        return self._linear(input_tensor, self.sparse_id_column.combiner)

    def _transform_feature(self, inputs: Any) -> Any:
        ids, weights = inputs.get(self.sparse_id_column), inputs.get(self.weight_column_name)
        if not isinstance(weights, tf.SparseTensor):
            weights = sparse_ops.dense_to_sparse_tensor(weights)
        return ids, weights if self.dtype.is_floating else tf.cast(weights, tf.float32)

    def is_compatible(self, other_column: Any) -> bool:
        """Whether the two can share an embedding."""
        return self.sparse_id_column.is_compatible(
            getattr(other_column, "sparse_id_column", other_column)
        )


class _CrossedColumn(
    base.CategoricalColumn,
    collections.namedtuple(
        "_CrossedColumn",
        [
            "columns",
            "hash_bucket_size",
            "hash_key",
            "combiner",
            "ckpt_to_load_from",
            "tensor_name_in_ckpt",
        ],
    ),
):
    """The combinations of the categories of several columns, hashed."""

    def __new__(
        cls,
        columns: Any,
        hash_bucket_size: int,
        hash_key: int | None,
        combiner: str = "sum",
        ckpt_to_load_from: str | None = None,
        tensor_name_in_ckpt: str | None = None,
    ) -> Any:
        for column in columns:
            if not isinstance(column, (_SparseColumn, _CrossedColumn, _BucketizedColumn)):
                raise BadTypeError(
                    "TPU103",
                    "columns must be a set of _SparseColumn, _CrossedColumn, or _BucketizedColumn "
                    f"instances. (column {column} is a {type(column).__name__})",
                )
        if len(columns) < 2:
            raise BadValueError(
                "TPU103", f"columns must contain at least 2 elements. columns: {columns}"
            )
        if hash_bucket_size < 2:
            raise BadValueError(
                "TPU103",
                f"hash_bucket_size must be at least 2. hash_bucket_size: {hash_bucket_size}",
            )
        check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
        in_order = tuple(sorted(columns, key=lambda column: column.name))
        return super().__new__(
            cls,
            in_order,
            hash_bucket_size,
            hash_key,
            combiner,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
        )

    @property
    def name(self) -> str:
        return "_X_".join(sorted(column.name for column in self.columns))

    @property
    def length(self) -> int:
        return self.hash_bucket_size

    @property
    def config(self) -> dict[str, Any]:
        return {
            name: how
            for column in self.columns
            for name, how in base.feature_config(column).items()
        }

    def _to_dnn_input_layer(self, *args: Any, **options: Any) -> Any:
        raise BadValueError(
            "TPU103",
            f"CrossedColumn is not supported in DNN. Please use embedding_column. column: {self}",
        )

    def _wide_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> base.LinearEmbeddingLookupArguments:
        return self._linear(input_tensor, self.combiner)

    def _transform_feature(self, inputs: Any) -> Any:
        # Of a column of categories it is the feature itself that is crossed, not what it is looked up as.
        features = [
            column.to_sparse_tensor(inputs.get(column))
            if isinstance(column, _BucketizedColumn)
            else inputs.get(column.name)
            for column in self._leaves()
        ]
        return sparse_feature_cross(
            features,
            hashed_output=True,
            num_buckets=self.hash_bucket_size,
            hash_key=self.hash_key,
            name="cross",
        )

    def _leaves(self) -> Iterator[Any]:
        for column in self.columns:
            if isinstance(column, _CrossedColumn):
                yield from column._leaves()
            else:
                yield column


def check_checkpoint(path: str | None, name: str | None) -> None:
    """Refuses a checkpoint without a name in it, and a name without a checkpoint."""
    if (path is None) != (name is None):
        raise BadValueError(
            "TPU103",
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.",
        )


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = tf.int64
) -> Any:
    """A column of categories that are numbers below ``bucket_size`` already.

    Args:
      column_name: The feature.
      bucket_size: Larger numbers are taken modulo it.
      combiner: How several in one example are combined: "sum", "mean" or "sqrtn".
      dtype: An integer type.

    Raises:
      ValueError: If the size or the type does not fit.
    """
    return _SparseColumnIntegerized(
        column_name, is_integerized=True, bucket_size=bucket_size, combiner=combiner, dtype=dtype
    )


def sparse_column_with_hash_bucket(
    column_name: str,
    hash_bucket_size: int,
    combiner: str = "sum",
    dtype: Any = tf.string,
    hash_keys: Any = None,
) -> Any:
    """A column of categories that are hashed.

    Args:
      column_name: The feature.
      hash_bucket_size: Into how many numbers.
      combiner: How several in one example are combined.
      dtype: String, or an integer type, whose numbers are hashed as texts.
      hash_keys: Pairs of integers: the keys of as many hashes, side by side.

    Raises:
      ValueError: If the size, the type or the keys do not fit.
    """
    return _SparseColumnHashed(
        column_name,
        bucket_size=hash_bucket_size,
        combiner=combiner,
        dtype=dtype,
        hash_keys=hash_keys,
    )


def sparse_column_with_keys(
    column_name: str,
    keys: Any,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = tf.string,
) -> Any:
    """A column of categories that are listed.

    Args:
      column_name: The feature.
      keys: The list.
      default_value: The number of any other category.
      combiner: How several in one example are combined.
      dtype: Of the keys.
    """
    keys = tuple(keys)
    config = _SparseIdLookupConfig(keys=keys, vocab_size=len(keys), default_value=default_value)
    return _SparseColumnKeys(column_name, lookup_config=config, combiner=combiner, dtype=dtype)


def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = tf.string,
) -> Any:
    """A column of categories that are the lines of a file.

    Args:
      column_name: The feature.
      vocabulary_file: The file.
      num_oov_buckets: Into how many numbers other categories are hashed.
      vocab_size: The number of lines that are taken.
      default_value: The number of other categories where they are not hashed.
      combiner: How several in one example are combined.
      dtype: String, or an integer type, whose numbers are looked up as texts.

    Raises:
      ValueError: If ``vocab_size`` is None.
    """
    if vocab_size is None:
        raise BadValueError("TPU103", f"vocab_size should be defined. column_name: {column_name}")
    config = _SparseIdLookupConfig(
        vocabulary_file=vocabulary_file,
        num_oov_buckets=num_oov_buckets,
        vocab_size=vocab_size,
        default_value=default_value,
    )
    return _SparseColumnVocabulary(
        column_name, lookup_config=config, combiner=combiner, dtype=dtype
    )


def weighted_sparse_column(
    sparse_id_column: Any, weight_column_name: str, dtype: Any = tf.float32
) -> Any:
    """Categories whose weights are another feature.

    Args:
      sparse_id_column: The column of the categories.
      weight_column_name: The feature that holds a weight for each.
      dtype: Of the weights.

    Raises:
      ValueError: If the type is no number.
    """
    if not (dtype.is_integer or dtype.is_floating):
        raise BadValueError("TPU103", f"dtype is not convertible to float. Given {dtype}")
    return _WeightedSparseColumn(sparse_id_column, weight_column_name, dtype)


def crossed_column(
    columns: Any,
    hash_bucket_size: int,
    combiner: str = "sum",
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    hash_key: int | None = None,
) -> Any:
    """The combinations of the categories of several columns, hashed.

    Args:
      columns: Columns of categories, of buckets or of crosses; at least two.
      hash_bucket_size: Into how many numbers; at least two.
      combiner: How several in one example are combined.
      ckpt_to_load_from: A checkpoint that a linear model's weights start from.
      tensor_name_in_ckpt: Their name in it.
      hash_key: Of the hash; without one an older hash is taken.

    Raises:
      TypeError: If a column cannot be crossed.
      ValueError: If there are too few columns or buckets.
    """
    return _CrossedColumn(
        columns, hash_bucket_size, hash_key, combiner, ckpt_to_load_from, tensor_name_in_ckpt
    )
