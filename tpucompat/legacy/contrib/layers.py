"""``tf.contrib.layers``: what tf-slim left out of it.

Behaviour follows tensorflow/contrib/layers/python/layers/{encoders,embedding_ops}.py of TensorFlow
1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy.contrib.feature_cross import sparse_feature_cross
from tpucompat.legacy.contrib.slim import tf_slim

# What stands for a row without values, unlikely to be one.
_NO_TEXT = "6ZxWzWOHxZ"
_NO_NUMBER = 1288896567


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

    Raises:
      ValueError: If there are no embeddings, or parts and weights are not of one type.
    """
    if embedding_weights is None or (isinstance(embedding_weights, list) and not embedding_weights):
        raise BadValueError("TPU103", f"Missing embedding_weights {embedding_weights}.")
    dtype = None if sparse_weights is None else sparse_weights.dtype
    parts = [
        part if isinstance(part, tf.Variable) else tf.convert_to_tensor(part, dtype)
        for part in _parts(embedding_weights)
    ]
    tf.debugging.assert_same_float_dtype([*parts, sparse_weights])
    return tf.nn.safe_embedding_lookup_sparse(
        parts,
        sparse_ids,
        sparse_weights=sparse_weights,
        combiner=combiner or "mean",
        default_id=default_id,
        name=name,
        partition_strategy=partition_strategy,
        max_norm=max_norm,
    )


def scattered_embedding_lookup(
    params: Any,
    values: Any,
    dimension: int | None,
    name: str | None = None,
    hash_key: int | None = None,
) -> Any:
    """Embeddings of values, each number of which is a hash's choice among common weights.

    Args:
      params: A vector of weights or the parts of one.
      values: Strings or integers of any shape.
      dimension: Of an embedding.
      name: Of the operation.
      hash_key: Of the hash.

    Returns:
      The shape of ``values`` with ``dimension`` appended.

    Raises:
      ValueError: If there is no dimension, or the parts are not of equal sizes.
    """
    if dimension is None:
        raise BadValueError("TPU103", "You must specify dimension.")
    return _sampled_scattered_embedding_lookup(
        params, values, dimension=dimension, hash_key=hash_key, name=name
    )


def scattered_embedding_lookup_sparse(
    params: Any,
    sparse_values: Any,
    dimension: int,
    combiner: str | None = None,
    default_value: Any = None,
    name: str | None = None,
    hash_key: int | None = None,
) -> Any:
    """Like :func:`scattered_embedding_lookup`, for each row of a SparseTensor.

    Args:
      params: A vector of weights or the parts of one.
      sparse_values: A matrix of strings or integers.
      dimension: Of an embedding.
      combiner: How several in a row are combined: "mean" (the default), "sqrtn" or "sum".
      default_value: What an empty row is taken to hold.
      name: Of the operation.
      hash_key: Of the hash.

    Returns:
      A matrix, one row for each of ``sparse_values``.

    Raises:
      TypeError: If the values are not sparse.
      ValueError: If the combiner is unknown.
    """
    if not isinstance(sparse_values, tf.SparseTensor):
        raise BadTypeError("TPU103", "sparse_values must be SparseTensor")
    combine = {
        "mean": tf.sparse_segment_mean,
        "sqrtn": tf.sparse_segment_sqrt_n,
        "sum": tf.sparse_segment_sum,
    }.get(combiner or "mean")
    with tf.name_scope(
        name, "scattered_embedding_lookup_sparse", [*_parts(params), sparse_values]
    ) as scope:
        if default_value is None:
            default_value = _NO_TEXT if sparse_values.dtype == tf.string else _NO_NUMBER
        sparse_values, _ = tf.sparse_fill_empty_rows(sparse_values, default_value)
        rows = tf.cast(sparse_values.indices[:, 0], tf.int32)
        distinct, where = tf.unique(sparse_values.values)
        found = scattered_embedding_lookup(params, distinct, dimension, hash_key=hash_key)
        if combine is None:
            raise BadValueError("TPU103", "Combiner must be one of 'mean', 'sqrtn' or 'sum'.")
        return combine(found, where, rows, name=scope)


def _parts(params: Any) -> list[Any]:
    """The parts of a variable that may be partitioned."""
    if hasattr(params, "_get_variable_list"):
        return list(params)
    return params if isinstance(params, list) else [params]


def _sampled_scattered_embedding_lookup(
    params: Any,
    values: Any,
    dimension: int | None = None,
    sampled_candidates: Any = None,
    hash_key: int | None = None,
    name: str | None = None,
) -> Any:
    """Scattered embeddings, or of each only the numbers at the places ``sampled_candidates``."""
    params = _parts(params)
    with tf.name_scope(name, "scattered_embedding_lookup", [*params, dimension, values]):
        shape = tf.shape(values)
        values = tf.reshape(values, [-1, 1])
        size: Any = dimension
        if sampled_candidates is None:
            if dimension is None:
                raise BadValueError(
                    "TPU103", "You must specify either dimension or sampled_candidates."
                )
            if dimension <= 0:
                raise BadValueError("TPU103", f"Dimension must be >0. Given is {dimension}")
            places = tf.tile(tf.expand_dims(tf.range(0, dimension), 0), tf.shape(values))
        else:
            given = tf.shape(sampled_candidates)
            size = given[-1]
            fits = tf.Assert(
                tf.reduce_all(tf.equal(given, tf.concat([shape, [size]], 0))),
                [
                    "The shape of sampled_candidates: ",
                    given,
                    " does not match the shape of values: ",
                    shape,
                ],
            )
            with tf.control_dependencies([fits]):
                places = tf.reshape(sampled_candidates, [-1, size])
        crossed = sparse_feature_cross(
            [places, values],
            hashed_output=True,
            num_buckets=_number_of_weights(params),
            hash_key=hash_key,
        )
        chosen = tf.sparse_tensor_to_dense(crossed)
        found = tf.nn.embedding_lookup(params, chosen, partition_strategy="div")
        return tf.reshape(found, tf.concat([shape, [size]], 0))


def _number_of_weights(params: list[Any]) -> int:
    """How many weights the parts of a vector hold.

    Raises:
      ValueError: If they are no vectors, or not of equal sizes, the first ones having one more.
    """
    sizes = []
    for part in params:
        part.shape.assert_has_rank(1)
        part.shape.assert_is_fully_defined()
        sizes.append(int(part.shape[0]))
    for place, size in enumerate(sizes):
        expected = (sum(sizes) - place - 1) // len(sizes) + 1
        if size != expected:
            raise BadValueError(
                "TPU103", f"Tensor {place} in params has size {size}, expected {expected}."
            )
    return sum(sizes)


def _sampled_scattered_embedding_lookup_sparse(
    params: Any,
    sp_values: Any,
    dimension: int | None = None,
    sampled_candidates: Any = None,
    hash_key: int | None = None,
    with_sign_hash: bool = False,
    name: str | None = None,
) -> Any:
    """The sums of scattered embeddings over the rows of a SparseTensor; their numbers may get hashed signs."""
    if not isinstance(sp_values, tf.SparseTensor):
        raise BadTypeError("TPU103", "sp_values must be SparseTensor")
    with tf.name_scope(
        name,
        "sampled_scattered_embedding_lookup_sparse",
        [sp_values, params, dimension, sampled_candidates],
    ) as scope:
        rows = sp_values.indices[:, 0]
        options: dict[str, Any] = {"dimension": dimension, "hash_key": hash_key}
        if sampled_candidates is not None:
            options["sampled_candidates"] = tf.gather(sampled_candidates, rows)
        found = _sampled_scattered_embedding_lookup(
            params, sp_values.values, name="values_lookup", **options
        )
        if with_sign_hash:
            signs = _sampled_scattered_embedding_lookup(
                tf.constant([-1.0, 1.0]), sp_values.values, name="signs_lookup", **options
            )
            found = tf.multiply(signs, found, name="signs_hash")
        return tf.unsorted_segment_sum(
            found, tf.cast(rows, tf.int32), num_segments=tf.shape(sp_values)[0], name=scope
        )


def embedding_lookup_sparse_with_distributed_aggregation(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Any:
    """``tf.nn.embedding_lookup_sparse`` with "mean" for a combiner of None.

    1.15 summed on the parameter servers first; here all is summed in one place, with the same result up to
    rounding.

    Args:
      params: A matrix or the parts of one.
      sp_ids: Integers.
      sp_weights: A weight for each of them, or None.
      partition_strategy: How the parts divide the rows.
      name: Of the operation.
      combiner: "mean", "sqrtn" or "sum".
      max_norm: Rows of a larger norm are scaled down to it.

    Returns:
      A dense tensor, one row for each row of ``sp_ids``.

    Raises:
      TypeError: If ids or weights are not sparse.
      ValueError: If the combiner is unknown.
    """
    return tf.nn.embedding_lookup_sparse(
        _parts(params),
        sp_ids,
        sp_weights,
        partition_strategy=partition_strategy,
        name=name,
        combiner=combiner or "mean",
        max_norm=max_norm,
    )
