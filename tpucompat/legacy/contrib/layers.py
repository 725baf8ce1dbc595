"""``tf.contrib.layers``: what tf-slim left out of it.

Behaviour follows tensorflow/contrib/layers/python/layers/{encoders,embedding_ops}.py of TensorFlow
1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy.contrib.slim import tf_slim


def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: bool | None = None,
) -> Any:
    """Looks integer symbols up in a matrix of embeddings, the model variable ``embeddings``.

    Args:
      ids: ``[batch, length]`` integers.
      vocab_size: Rows of the matrix; may be None when reusing.
      embed_dim: Its columns; may be None when reusing.
      unique: Whether each symbol is looked up once only.
      initializer: Of the matrix; the scope's own by default.
      regularizer: Of the matrix.
      trainable: Whether the matrix is trained.
      scope: A name or variable scope; "EmbedSequence" by default.
      reuse: Whether the scope is reused.

    Returns:
      ``[batch, length, embed_dim]``.

    Raises:
      ValueError: If a size is missing and ``reuse`` is not set.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise BadValueError(
            "TPU103",
            "Must specify vocab size and embedding dimension when not reusing. "
            f"Got vocab_size={vocab_size} and embed_dim={embed_dim}",
        )
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        known = vocab_size is not None and embed_dim is not None
        embeddings = tf_slim.model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim] if known else None,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if unique:
            return embedding_lookup_unique(embeddings, ids)
        return tf.nn.embedding_lookup(embeddings, ids)


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: bool | None = None,
) -> Any:
    """Averages the embeddings of the symbols in each row.

    Args:
      ids: ``[batch, length]`` integers, dense or sparse.
      vocab_size: Rows of the matrix of embeddings.
      embed_dim: Its columns.
      sparse_lookup: Whether a dense row counts its nonzero symbols only.
      initializer: Of the matrix.
      regularizer: Of the matrix.
      trainable: Whether the matrix is trained.
      scope: A name or variable scope; "bow_encoder" by default.
      reuse: Whether the scope is reused.

    Returns:
      ``[batch, embed_dim]``.

    Raises:
      ValueError: If a size is missing.
      TypeError: If ``ids`` is sparse and ``sparse_lookup`` is not set.
    """
    if not vocab_size or not embed_dim:
        raise BadValueError("TPU103", "Must specify vocab size and embedding dimension")
    is_sparse = isinstance(ids, tf.SparseTensor)
    with tf.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = tf_slim.model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if sparse_lookup:
            sparse_ids = ids if is_sparse else tf_slim.dense_to_sparse(ids)
            return safe_embedding_lookup_sparse(
                [embeddings], sparse_ids, combiner="mean", default_id=0
            )
        if is_sparse:
            raise BadTypeError("TPU103", f"ids are expected to be dense Tensor, got: {ids}")
        return tf.reduce_mean(tf.nn.embedding_lookup(embeddings, ids), axis=1)


def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> Any:
    """Like ``tf.nn.embedding_lookup``, but each row is fetched once however often it is asked for.

    Args:
      params: A matrix or the parts of one.
      ids: Integers of any shape.
      partition_strategy: How the parts divide the rows, "mod" or "div".
      name: Of the operation.

    Returns:
      The rows, in the shape of ``ids`` with that of a row appended.
    """
    with tf.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = tf.convert_to_tensor(ids)
        distinct, where = tf.unique(tf.reshape(ids, [-1]))
        rows = tf.nn.embedding_lookup(params, distinct, partition_strategy)
        shape = tf.concat([tf.shape(ids), tf.shape(rows)[1:]], 0)
        found = tf.reshape(tf.gather(rows, where), shape)
        found.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return found


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = None,
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Any:
    """``tf.nn.safe_embedding_lookup_sparse`` with "mean" for a combiner of None.

    Args:
      embedding_weights: A matrix or the parts of one.
      sparse_ids: Integers; invalid ones are left out.
      sparse_weights: A weight for each of them.
      combiner: "mean", "sqrtn" or "sum".
      default_id: The row for an entry without valid ids; zeros by default.
      name: Of the operation.
      partition_strategy: How the parts divide the rows.
      max_norm: Rows of a larger norm are scaled down to it.

    Returns:
      A dense tensor, one row for each row of ``sparse_ids``.
    """
    return tf.nn.safe_embedding_lookup_sparse(
        embedding_weights,
        sparse_ids,
        sparse_weights=sparse_weights,
        combiner=combiner or "mean",
        default_id=default_id,
        name=name,
        partition_strategy=partition_strategy,
        max_norm=max_norm,
    )
