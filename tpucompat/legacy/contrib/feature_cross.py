"""``sparse_feature_cross`` of ``tf.contrib.layers``, by today's operations.

With a hash key TensorFlow's own ``SparseCross`` is the operation that ``tf.contrib`` had compiled. Without one
it chained the features' numbers by another rule, which is here. Behaviour follows
tensorflow/contrib/layers/{python/ops/sparse_feature_cross_op.py,kernels/sparse_feature_cross_kernel.cc} of
TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.engines import operation_seeds
from tpucompat.errors import BadTypeError
from tpucompat.legacy import tensors

#: The hash key that 1.15 meant to make the default.
SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = 956888297470

_FIRST = 0xDECAFCAFFE  # what the numbers are chained to
_ADDED = 0x9E3779B97F4A7800 - 2**64  # as a signed number
_LARGEST = 2**63 - 1


def sparse_feature_cross(
    inputs: list[Any],
    hashed_output: bool = False,
    num_buckets: int = 0,
    name: str | None = None,
    hash_key: int | None = None,
) -> Any:
    """The crosses of features: for each example, every choice of one value of each.

    Args:
      inputs: ``[batch, n]`` tensors, sparse or dense, of strings or integers; sparse ones are crossed first.
      hashed_output: Whether a cross is an int64 hash; otherwise it is a string joined by ``_X_``.
      num_buckets: Into how many the hashes are folded; 0 leaves them as they are.
      name: Of the operation.
      hash_key: Of the fingerprints; without one the hashes are chained by an older rule.

    Returns:
      A ``[batch, largest number of crosses]`` SparseTensor.

    Raises:
      TypeError: If ``inputs`` is no list of tensors.
    """
    if not isinstance(inputs, list):
        raise BadTypeError("TPU103", "Inputs must be a list")
    if not all(isinstance(each, (tf.SparseTensor, tf.Tensor)) for each in inputs):
        raise BadTypeError("TPU103", "All inputs must be SparseTensors")
    sparse = [each for each in inputs if isinstance(each, tf.SparseTensor)]
    values = [_string_or_int64(each.values) for each in sparse]
    dense = [_string_or_int64(each) for each in inputs if not isinstance(each, tf.SparseTensor)]
    if hashed_output and not hash_key:
        graph = tf.get_default_graph()
        before = operation_seeds.count(graph)
        with tf.name_scope(name, "SparseFeatureCross", inputs):
            crosses = _chained(sparse, values, dense, num_buckets)
        # One operation in 1.15, for the seeds of those that follow.
        operation_seeds.add(graph, before + 1 - operation_seeds.count(graph))
        return crosses
    all_strings = all(each.dtype == tf.string for each in values + dense)
    return tf.SparseTensor(
        *tf.raw_ops.SparseCross(
            indices=[each.indices for each in sparse],
            values=values,
            shapes=[each.dense_shape for each in sparse],
            dense_inputs=dense,
            hashed_output=hashed_output,
            num_buckets=num_buckets,
            hash_key=hash_key or 0,
            out_type=tf.int64 if hashed_output else tf.string,
            internal_type=tf.string if all_strings else tf.int64,
            name=name,
        )
    )


def _string_or_int64(values: Any) -> Any:
    return values if values.dtype == tf.string else tf.cast(values, tf.int64)


def _chained(sparse: list[Any], values: list[Any], dense: list[Any], num_buckets: int) -> Any:
    """The crosses hashed without a key; of two columns the last one's values vary first."""
    batch = sparse[0].dense_shape[0] if sparse else tf.shape(dense[0], out_type=tf.int64)[0]
    counts = [
        tf.unsorted_segment_sum(tf.ones_like(each.indices[:, 0]), each.indices[:, 0], batch)
        for each in sparse
    ]
    counts += [tf.fill([batch], tf.shape(each, out_type=tf.int64)[1]) for each in dense]
    crosses = counts[0]
    for more in counts[1:]:
        crosses = crosses * more
    row = tensors.repeat(tf.range(batch), crosses, 0)
    place = tf.range(tf.reduce_sum(crosses)) - tf.gather(tf.cumsum(crosses, exclusive=True), row)
    hashed: Any = tf.constant(_FIRST, tf.int64)
    stride = crosses
    for count, column in zip(counts, values + [tf.reshape(each, [-1]) for each in dense]):
        stride = stride // tf.maximum(count, 1)
        chosen = place // tf.gather(stride, row) % tf.gather(count, row)
        first = tf.gather(tf.cumsum(count, exclusive=True), row)
        hashed = _combined(hashed, tf.gather(_number(column), first + chosen))
    shape = tf.stack([batch, tf.maximum(tf.reduce_max(crosses), 0)])
    folded = _unsigned_remainder(hashed, num_buckets if num_buckets > 0 else _LARGEST)
    return tf.SparseTensor(tf.stack([row, place], axis=1), folded, shape)


def _number(values: Any) -> Any:
    """The 64 bits that stand for each value."""
    if values.dtype != tf.string:
        return values
    return tf.bitcast(tf.raw_ops.Fingerprint(data=values, method="farmhash64"), tf.int64)


def _combined(hashed: Any, number: Any) -> Any:
    """One more number chained to a hash, on 64 bits with a sign."""
    mixed = (
        number
        + _ADDED
        + tf.bitwise.left_shift(hashed, tf.constant(10, tf.int64))
        + tf.bitwise.right_shift(hashed, tf.constant(4, tf.int64))
    )
    return tf.bitwise.bitwise_xor(hashed, mixed)


def _unsigned_remainder(bits: Any, divisor: int) -> Any:
    """The remainder of 64 bits read as a number without a sign."""
    rest = tf.bitwise.bitwise_and(bits, tf.constant(_LARGEST, tf.int64)) % divisor
    return tf.where(bits < 0, (rest + 2**63 % divisor) % divisor, rest)
