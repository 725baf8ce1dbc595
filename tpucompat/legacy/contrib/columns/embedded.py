"""Feature columns of ``tf.contrib.layers`` that make numbers of categories: one-hot and embeddings.

Behaviour follows tensorflow/contrib/layers/python/layers/feature_column.py of TensorFlow 1.15.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy.contrib.columns import base
from tpucompat.legacy.contrib.columns.sparse import (
    _SparseColumn,
    _WeightedSparseColumn,
    check_checkpoint,
)


class _OneHotColumn(
    base.FeatureColumn,
    base.CORE._DenseColumn,
    collections.namedtuple("_OneHotColumn", ["sparse_id_column"]),
):
    """How often each category occurs in an example, or the sum of its weights."""

    @property
    def name(self) -> str:
        return f"{self.sparse_id_column.name}_one_hot"

    @property
    def length(self) -> int:
        """The number of categories."""
        return self.sparse_id_column.length

    @property
    def config(self) -> dict[str, Any]:
        return base.feature_config(self.sparse_id_column)

    def insert_transformed_feature(self, columns_to_tensors: dict[Any, Any]) -> None:
        """Adds the categories' numbers; the layer makes them one-hot, in its own rank."""
        columns_to_tensors[self] = base.Given(columns_to_tensors).get(self.sparse_id_column)

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = False,
        output_rank: int = 2,
    ) -> Any:
        ids = base.inner_flatten(self.sparse_id_column.id_tensor(input_tensor), output_rank)
        weights = self.sparse_id_column.weight_tensor(input_tensor)
        if weights is not None:
            merged = tf.sparse_merge(sp_ids=ids, sp_values=weights, vocab_size=self.length)
            # An id of -1, for no category, has an index in front of the first.
            inside = tf.sparse_slice(merged, tf.zeros_like(merged.dense_shape), merged.dense_shape)
            dense = tf.sparse_tensor_to_dense(inside)
            shape = tf.concat([tf.shape(dense)[:-1], [self.length]], axis=0)
            return tf.reshape(dense, shape)
        dense = tf.sparse_tensor_to_dense(ids, default_value=-1)
        counted = tf.one_hot(dense, depth=self.length, on_value=1.0, off_value=0.0)
        return tf.reduce_sum(counted, axis=[output_rank - 1])

    @property
    def _variable_shape(self) -> Any:
        return tf.TensorShape([self.length])

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return inputs.get(self)

    def _transform_feature(self, inputs: Any) -> Any:
        return self._to_dnn_input_layer(inputs.get(self.sparse_id_column))


class _EmbeddingColumn(
    base.EmbeddedColumn,
    collections.namedtuple(
        "_EmbeddingColumn",
        [
            "sparse_id_column",
            "dimension",
            "combiner",
            "initializer",
            "ckpt_to_load_from",
            "tensor_name_in_ckpt",
            "shared_embedding_name",
            "shared_vocab_size",
            "max_norm",
            "trainable",
        ],
    ),
):
    """The embeddings of categories."""

    def __new__(
        cls,
        sparse_id_column: Any,
        dimension: int,
        combiner: str = "mean",
        initializer: Any = None,
        ckpt_to_load_from: str | None = None,
        tensor_name_in_ckpt: str | None = None,
        shared_embedding_name: str | None = None,
        shared_vocab_size: int | None = None,
        max_norm: float | None = None,
        trainable: bool = True,
    ) -> Any:
        _check_initializer(initializer, f"Embedding of column_name: {sparse_id_column.name}")
        check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
        if initializer is None:
            tf.logging.warn(
                'The default stddev value of initializer was changed from "1/sqrt(vocab_size)" to '
                '"1/sqrt(dimension)" in core implementation (tf.feature_column.embedding_column).'
            )
            initializer = tf.truncated_normal_initializer(
                mean=0.0, stddev=1 / math.sqrt(sparse_id_column.length)
            )
        return super().__new__(
            cls,
            sparse_id_column,
            dimension,
            combiner,
            initializer,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            shared_embedding_name,
            shared_vocab_size,
            max_norm,
            trainable,
        )

    @property
    def name(self) -> str:
        shared = "" if self.shared_embedding_name is None else "_shared"
        return f"{self.sparse_id_column.name}{shared}_embedding"

    @property
    def length(self) -> int:
        """The number of embeddings."""
        if self.shared_vocab_size is None:
            return self.sparse_id_column.length
        return self.shared_vocab_size

    @property
    def config(self) -> dict[str, Any]:
        return base.feature_config(self.sparse_id_column)

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.sparse_id_column)

    def _deep_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> base.DeepEmbeddingLookupArguments:
        return base.DeepEmbeddingLookupArguments(
            input_tensor=self.sparse_id_column.id_tensor(input_tensor),
            weight_tensor=self.sparse_id_column.weight_tensor(input_tensor),
            vocab_size=self.length,
            initializer=self.initializer,
            combiner=self.combiner,
            dimension=self.dimension,
            shared_embedding_name=self.shared_embedding_name,
            hash_key=None,
            max_norm=self.max_norm,
            trainable=self.trainable,
        )

    def _wide_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> base.LinearEmbeddingLookupArguments:
        raise BadValueError(
            "TPU103", f"Column {self} is not supported in linear models. Please use sparse_column."
        )


class _ScatteredEmbeddingColumn(
    base.EmbeddedColumn,
    collections.namedtuple(
        "_ScatteredEmbeddingColumn",
        ["column_name", "size", "dimension", "hash_key", "combiner", "initializer"],
    ),
):
    """Embeddings of texts, each number of which is a hash's choice among ``size`` weights."""

    def __new__(
        cls,
        column_name: str,
        size: int,
        dimension: int,
        hash_key: int | None,
        combiner: str = "sqrtn",
        initializer: Any = None,
    ) -> Any:
        _check_initializer(initializer, f"column_name: {column_name}")
        if initializer is None:
            initializer = tf.truncated_normal_initializer(mean=0.0, stddev=0.1)
        return super().__new__(cls, column_name, size, dimension, hash_key, combiner, initializer)

    @property
    def name(self) -> str:
        return f"{self.column_name}_scattered_embedding"

    @property
    def config(self) -> dict[str, Any]:
        return {self.column_name: tf.VarLenFeature(tf.string)}

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.column_name)

    def _deep_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> base.DeepEmbeddingLookupArguments:
        return base.DeepEmbeddingLookupArguments(
            input_tensor=input_tensor,
            weight_tensor=None,
            vocab_size=self.size,
            initializer=self.initializer,
            combiner=self.combiner,
            dimension=self.dimension,
            shared_embedding_name=None,
            hash_key=self.hash_key,
            max_norm=None,
            trainable=True,
        )


def _check_initializer(initializer: Any, where: str) -> None:
    if initializer is not None and not callable(initializer):
        raise BadValueError("TPU103", f"initializer must be callable if specified. {where}")


def one_hot_column(sparse_id_column: Any) -> Any:
    """How often each category occurs in an example.

    Args:
      sparse_id_column: A column of categories, which may be weighted.
    """
    return _OneHotColumn(sparse_id_column)


def embedding_column(
    sparse_id_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """The embeddings of categories.

    Args:
      sparse_id_column: A column of categories, which may be weighted or crossed.
      dimension: Of an embedding.
      combiner: How several in one example are combined: "sum", "mean" or "sqrtn".
      initializer: Of the embeddings; by default a truncated normal of stddev 1/sqrt(categories).
      ckpt_to_load_from: A checkpoint that they start from.
      tensor_name_in_ckpt: Their name in it.
      max_norm: Embeddings of a larger norm are scaled down to it.
      trainable: Whether they are trained.

    Raises:
      ValueError: If the initializer cannot be called, or one of checkpoint and name is missing.
    """
    return _EmbeddingColumn(
        sparse_id_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm=max_norm,
        trainable=trainable,
    )


def shared_embedding_columns(
    sparse_id_columns: Any,
    dimension: int,
    combiner: str = "mean",
    shared_embedding_name: str | None = None,
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """Columns that share one variable of embeddings.

    Args:
      sparse_id_columns: Columns of categories that are looked up alike.
      dimension: Of an embedding.
      combiner: How several in one example are combined.
      shared_embedding_name: The variable's name; by default made of the columns' names.
      initializer: Of the embeddings.
      ckpt_to_load_from: A checkpoint that they start from.
      tensor_name_in_ckpt: Their name in it.
      max_norm: Embeddings of a larger norm are scaled down to it.
      trainable: Whether they are trained.

    Returns:
      A tuple of columns; a list of one where one was given.

    Raises:
      TypeError: If it is no sequence of columns of categories.
      ValueError: If there are none, or they are not looked up alike.
    """
    if not isinstance(sparse_id_columns, Sequence) or isinstance(sparse_id_columns, (str, bytes)):
        raise BadTypeError(
            "TPU103",
            "sparse_id_columns must be a non-string sequence (ex: list or tuple) instead of type "
            f"{type(sparse_id_columns)}.",
        )
    if not sparse_id_columns:
        raise BadValueError(
            "TPU103", "The input sparse_id_columns should have at least one element."
        )
    for column in sparse_id_columns:
        if not isinstance(column, (_SparseColumn, _WeightedSparseColumn)):
            raise BadTypeError(
                "TPU103",
                "Elements of sparse_id_columns must be _SparseColumn or _WeightedSparseColumn, but "
                f"{column} is not.",
            )
    first, *others = sparse_id_columns
    size = None
    if others:
        if not all(_compatible(first, other) for other in others):
            raise BadValueError("TPU103", "The input sparse id columns are not compatible.")
        shared_embedding_name = shared_embedding_name or _common_name(sparse_id_columns)
        size = first.length
    columns = [
        _EmbeddingColumn(
            column,
            dimension,
            combiner,
            initializer,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            shared_embedding_name,
            size,
            max_norm=max_norm,
            trainable=trainable,
        )
        for column in sparse_id_columns
    ]
    return tuple(columns) if others else columns


def _compatible(first: Any, other: Any) -> bool:
    if isinstance(first, _WeightedSparseColumn):
        return first.is_compatible(other)
    return bool(other.is_compatible(first))


def _common_name(columns: Sequence[Any]) -> str:
    """The name of the variable that columns share."""
    sparse = sorted(column for column in columns if isinstance(column, _SparseColumn))
    weighted = [column for column in columns if not isinstance(column, _SparseColumn)]
    names = [column.name for column in sparse]
    names += sorted(column.name for column in weighted)
    more = f"_plus_{len(names) - 3}_others" if len(names) > 3 else ""
    return "_".join(names[:3]) + more + "_shared_embedding"


def scattered_embedding_column(
    column_name: str,
    size: int,
    dimension: int,
    hash_key: int | None,
    combiner: str = "mean",
    initializer: Any = None,
) -> Any:
    """Embeddings of texts, each number of which is a hash's choice among ``size`` weights.

    Args:
      column_name: The feature.
      size: The number of weights.
      dimension: Of an embedding.
      hash_key: Of the hash.
      combiner: How several in one example are combined.
      initializer: Of the weights.

    Raises:
      ValueError: If a size is not positive, the combiner unknown or the initializer cannot be called.
    """
    if dimension < 1 or size < 1:
        raise BadValueError(
            "TPU103",
            "Dimension and size must be greater than 0. "
            f"dimension: {dimension}, size: {size}, column_name: {column_name}",
        )
    if combiner not in ("mean", "sqrtn", "sum"):
        raise BadValueError(
            "TPU103",
            "Combiner must be one of 'mean', 'sqrtn' or 'sum'. "
            f"combiner: {combiner}, column_name: {column_name}",
        )
    return _ScatteredEmbeddingColumn(column_name, size, dimension, hash_key, combiner, initializer)
