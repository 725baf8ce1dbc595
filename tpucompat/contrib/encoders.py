"""``tf.contrib.layers``: embeddings of sequences of words.

Results and variable names follow tensorflow/contrib/layers/python/layers/{encoders,embedding_ops}.py of
TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError
from tpucompat.contrib import slim

_SIZES = "Must specify vocab size and embedding dimension"


def _embeddings(shape: Any, initializer: Any, regularizer: Any, trainable: bool) -> Any:
    return slim.variables.model_variable(
        "embeddings",
        shape=shape,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
    )


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
    """The mean of a document's embeddings.

    Args:
      ids: Integers ``[batch, words]``, dense or sparse.
      vocab_size: Words.
      embed_dim: Numbers in an embedding.
      sparse_lookup: Whether zeros are padding, which counts only where a document has nothing else.
      initializer: Of the embeddings.
      regularizer: Of the embeddings.
      trainable: Whether they are trained.
      scope: "bow_encoder" by default.
      reuse: Whether they exist.

    Returns:
      ``[batch, embed_dim]``.

    Raises:
      ValueError: If a size is missing.
      TypeError: If the integers are sparse without ``sparse_lookup``.
    """
    if not vocab_size or not embed_dim:
        raise BadValueError("TPU103", _SIZES)
    with tf.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = _embeddings([vocab_size, embed_dim], initializer, regularizer, trainable)
        sparse = isinstance(ids, tf.SparseTensor)
        if sparse_lookup:
            return tf.nn.safe_embedding_lookup_sparse(
                [embeddings],
                ids if sparse else tf.sparse.from_dense(ids),
                combiner="mean",
                default_id=0,
            )
        if sparse:
            raise BadTypeError("TPU103", f"ids are expected to be dense Tensor, got: {ids}")
        return tf.reduce_mean(tf.nn.embedding_lookup(embeddings, ids), axis=1)


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
    """The embedding of each word.

    Args:
      ids: Integers ``[batch, words]``.
      vocab_size: Words.
      embed_dim: Numbers in an embedding.
      unique: Whether a word that occurs twice is looked up once.
      initializer: Of the embeddings.
      regularizer: Of the embeddings.
      trainable: Whether they are trained.
      scope: "EmbedSequence" by default.
      reuse: Whether they exist; the sizes may be missing then.

    Returns:
      ``[batch, words, embed_dim]``.

    Raises:
      ValueError: If a size is missing.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise BadValueError(
            "TPU103",
            f"{_SIZES} when not reusing. Got vocab_size={vocab_size} and embed_dim={embed_dim}",
        )
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        known = not (reuse and vocab_size is None) and embed_dim is not None
        embeddings = _embeddings(
            [vocab_size, embed_dim] if known else None, initializer, regularizer, trainable
        )
        lookup = embedding_lookup_unique if unique else tf.nn.embedding_lookup
        return lookup(embeddings, ids)


def embedding_lookup_unique(params: Any, ids: Any, name: str | None = None) -> Any:
    """``tf.nn.embedding_lookup`` that looks a word up once, however often it occurs.

    Args:
      params: Embeddings, or a list of their parts.
      ids: Integers.
      name: Of the operations.

    Returns:
      The shape of ``ids`` and then that of an embedding.
    """
    with tf.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = tf.convert_to_tensor(ids)
        words, places = tf.unique(tf.reshape(ids, [-1]))
        rows = tf.gather(tf.nn.embedding_lookup(params, words), places)
        result = tf.reshape(rows, tf.concat([tf.shape(ids), tf.shape(rows)[1:]], axis=0))
        result.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return result
