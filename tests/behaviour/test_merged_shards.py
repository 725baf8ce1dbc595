"""Shards that are computed as one batch give what they give one by one."""

from __future__ import annotations

import contextlib
from unittest import mock

import numpy as np
import pytest

import tpucompat.v1 as tf
from tpucompat.base.machine import environment
from tpucompat.engines import shards

pytestmark = pytest.mark.skipif(
    not environment().has("several_cores"), reason="1.13 cannot trace computations of several cores"
)
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies
batch_parallel = tf.contrib.tpu.batch_parallel

SHARDS = 4
#: Examples of one shard, height, width, channels.
SHAPE = (3, 5, 4, 6)


def numbers(*shape):
    return np.random.RandomState(sum(shape)).uniform(0.2, 1, shape).astype("float32")


def is_apart(tensors):
    """Whether what was returned has been joined from pieces."""
    return any(tensor.op.type in ("ConcatV2", "Pack") for tensor in tensors)


def results(computation, inputs, **options):
    """What a computation gives as it is, and with its shards kept apart; was it one batch?"""
    found = []
    for merging in (shards.merged_axes, lambda *args: None):
        with tf.Graph().as_default(), mock.patch.object(shards, "merged_axes", merging):
            tensors = tf.contrib.tpu.shard(
                computation, list(map(tf.constant, inputs)), num_shards=SHARDS, **options
            )
            with tf.Session() as session:
                session.run([tf.contrib.tpu.initialize_system(), tf.global_variables_initializer()])
                found.append((session.run(tensors), is_apart(tensors), tensors))
    (one, joined, merged), (other, apart, separate) = found
    assert apart
    assert [t.shape.as_list() for t in merged] == [t.shape.as_list() for t in separate]
    for a, b in zip(one, other):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    return not joined


def dense(x):
    return tf.layers.dense(x, 3, kernel_initializer=tf.ones_initializer())


def frozen(x, training=False):
    scale, mean = tf.constant(numbers(6)), tf.constant([] if training else numbers(6))
    normalize = tf.raw_ops.FusedBatchNormV3
    return normalize(x=x, scale=scale, offset=scale, mean=mean, variance=mean, is_training=training)


def rows(x):
    return tf.reshape(x, [-1, 6])


ONE_BATCH = {
    "convolution": lambda x: tf.nn.conv2d(x, numbers(3, 3, 6, 2), [1, 2, 2, 1], "SAME"),
    "depthwise": lambda x: tf.nn.depthwise_conv2d(x, numbers(2, 2, 6, 2), [1] * 4, "VALID"),
    "pools": lambda x: tf.nn.max_pool(tf.nn.avg_pool(x, 2, 1, "SAME"), 2, 2, "VALID"),
    "bias": lambda x: tf.nn.relu(tf.nn.bias_add(x, numbers(6))),
    "frozen statistics": lambda x: frozen(x)[0],
    "elements": lambda x: tf.where(x > 0.5, tf.exp(-x) * 2 + numbers(4, 1), tf.maximum(x, 0.7)),
    "row by row": lambda x: tf.nn.softmax(x) - tf.reduce_mean(x, [1, -1], keepdims=True),
    "reductions": lambda x: tf.reduce_max(tf.reduce_sum(x, [2]), 1),
    "largest": lambda x: tf.argmax(x, -1),
    "dense layer": lambda x: dense(tf.reshape(x, [-1, 120])),
    "stacks of matrices": lambda x: tf.matmul(x, x, transpose_a=True),
    "stacks by a matrix": lambda x: tf.matmul(x, numbers(6, 2)),
    "rows by a matrix": lambda x: tf.matmul(rows(x), numbers(4, 6), transpose_b=True),
    "a matrix by columns": lambda x: tf.transpose(
        tf.matmul(numbers(4, 6), rows(x), transpose_b=True)
    ),
    "columns as rows": lambda x: tf.matmul(tf.transpose(rows(x)), numbers(6, 2), transpose_a=True),
    "named axes": lambda x: tf.raw_ops.Einsum(inputs=[x, x], equation="bijk,bilk->bjl"),
    "other axes": lambda x: tf.squeeze(tf.expand_dims(tf.transpose(x, [0, 3, 1, 2]), 2), [2]),
    "end to end": lambda x: tf.concat([x, tf.square(x)], 1),
    "a table": lambda x: tf.nn.embedding_lookup(numbers(7, 2), tf.cast(x * 7, tf.int32)),
    "a loss": lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.argmax(tf.reshape(x, [-1, 120]), 1) // 20, logits=tf.reduce_sum(x, [1, 2])
    ),
    "the size of a shard": lambda x: x / tf.cast(tf.shape(x)[0], tf.float32),
    "two results": lambda x: [x + 1, tf.reduce_sum(x, 1)],
}

APART = {
    "a sum over examples": lambda x: x - tf.reduce_mean(x, 0),
    "a scalar": tf.reduce_sum,
    "statistics of the batch": lambda x: frozen(x, training=True)[0],
    "batch norm": lambda x: tf.layers.batch_normalization(x, training=True),
    "along the examples": lambda x: tf.nn.softmax(tf.reduce_sum(x, [1, 2, 3])),
    "backwards": lambda x: tf.reverse(x, [0]),
    "a number for each example": lambda x: x * numbers(3, 1, 1, 1),
    "examples by examples": lambda x: tf.matmul(rows(x), rows(x), transpose_b=True),
    "summed over examples": lambda x: tf.matmul(rows(x), rows(x), transpose_a=True),
    "named sums": lambda x: tf.raw_ops.Einsum(inputs=[x, x], equation="bijk,cilk->bjl"),
    "one after the other": lambda x: tf.concat([x, x], 0),
    "mixed by a shape": lambda x: tf.reshape(tf.transpose(x, [1, 0, 2, 3]), [-1, 6]),
    "the examples last": lambda x: tf.transpose(x, [1, 2, 3, 0]),
    "the same for all": lambda x: [x, tf.constant(numbers(3))],
    "each with itself": lambda x: tf.map_fn(lambda one: one * 2, x),
    "sums over the shards": lambda x: tf.contrib.tpu.cross_replica_sum(x),
    "a choice": lambda x: tf.cond(tf.reduce_sum(x) > 50, lambda: x, lambda: -x),
}


@pytest.mark.parametrize("name", sorted(ONE_BATCH))
def test_is_one_batch(name):
    assert results(ONE_BATCH[name], [numbers(SHARDS * SHAPE[0], *SHAPE[1:])])


@pytest.mark.parametrize("name", sorted(APART))
def test_stays_apart(name):
    assert not results(APART[name], [numbers(SHARDS * SHAPE[0], *SHAPE[1:])])


def test_along_other_axes():
    def mix(x, y):
        return tf.reduce_sum(x, 0) + tf.reduce_sum(y, 1), tf.transpose(y)

    inputs = [numbers(5, 12), numbers(12, 7)]
    axes = {"input_shard_axes": [1, -2], "output_shard_axes": [0, -1]}
    assert results(mix, inputs, **axes)
    assert not results(mix, inputs, **{**axes, "output_shard_axes": [0, 0]})
    assert not results(mix, inputs, **axes, outputs_from_all_shards=[True, True])


def test_a_single_example_is_not_stretched_over_others():
    """Within a shard one example meets two; in the whole batch four meet eight."""
    assert not results(tf.add, [numbers(4, 3), numbers(8, 3)])
    assert not results(lambda x: x + numbers(2, 3), [numbers(4, 3)])
    assert results(lambda x: x + numbers(1, 3), [numbers(4, 3)])
    assert not results(lambda x: tf.add_n([x, tf.constant(numbers(1, 3))]), [numbers(4, 3)])
    assert not results(tf.squeeze, [numbers(4, 1, 3)])


def test_what_has_an_effect_runs_for_each_shard():
    def counts(x):
        counter = tf.get_variable("counter", initializer=0.0, trainable=False)
        with tf.control_dependencies([counter.assign_add(tf.reduce_sum(x))]):
            return tf.identity(x)

    assert not results(counts, [numbers(8, 3)])
    assert not results(lambda x: x + 0 * tf.random.uniform(tf.shape(x)), [numbers(8, 3)])

    def collects(x):
        tf.add_to_collection("seen", x * 2)
        return x + 1

    assert not results(collects, [numbers(8, 3)])


def test_a_size_that_is_not_known_is_checked_when_it_runs():
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [None, 2])
        (doubled,) = batch_parallel(lambda x: x * 2, [fed], num_shards=SHARDS)
        session.run(tf.contrib.tpu.initialize_system())
        assert session.run(doubled, {fed: numbers(8, 2)}).shape == (8, 2)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(doubled, {fed: numbers(9, 2)})


# Steps of random computations: each takes values of a shard and returns another, or raises
# ValueError where the shapes do not fit.


def axis_of(value, number):
    return number % max(value.shape.ndims, 1)


STEPS = [
    lambda a, b, n: a + b,
    lambda a, b, n: tf.maximum(a, b * 0.5),
    lambda a, b, n: tf.tanh(a) * (n + 1),
    lambda a, b, n: tf.where(a > 0.3, a, tf.zeros_like(a)),
    lambda a, b, n: tf.reduce_sum(a, axis_of(a, n)),
    lambda a, b, n: tf.reduce_max(a, axis_of(a, n), keepdims=True),
    lambda a, b, n: tf.nn.softmax(a, axis=axis_of(a, n)),
    lambda a, b, n: tf.matmul(a, b, transpose_a=n % 2 == 1, transpose_b=n > 1),
    lambda a, b, n: tf.matmul(a, a, transpose_b=True),
    lambda a, b, n: tf.transpose(a, np.roll(range(a.shape.ndims), n)),
    lambda a, b, n: tf.reshape(a, [-1, *a.shape.as_list()[n + 1 :]]),
    lambda a, b, n: tf.reshape(a, [*a.shape.as_list()[: n + 1], -1]),
    lambda a, b, n: tf.expand_dims(a, axis_of(a, n)),
    lambda a, b, n: tf.squeeze(a),
    lambda a, b, n: tf.concat([a, b], axis_of(a, n)),
    lambda a, b, n: tf.cumsum(a, axis_of(a, n)),
    lambda a, b, n: a * numbers(*a.shape.as_list()[n:]),
    lambda a, b, n: a / tf.cast(tf.shape(a)[0], tf.float32),
    lambda a, b, n: tf.gather(a, [0, 0], axis=axis_of(a, n)),
    lambda a, b, n: tf.gather(numbers(3, 2), tf.cast(tf.abs(a), tf.int32) % 3, axis=n % 2),
]
STEP = st.tuples(
    st.integers(0, len(STEPS) - 1), st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)
)


@hypothesis.settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(
    sizes=st.lists(st.sampled_from([1, 2, 3]), min_size=2, max_size=2),
    axes=st.lists(st.integers(0, 2), min_size=2, max_size=2),
    steps=st.lists(STEP, min_size=1, max_size=6),
)
def test_random_computations(sizes, axes, steps):
    def computation(*values):
        values = list(values)
        for which, first, second, number in steps:
            a, b = values[first % len(values)], values[second % len(values)]
            with contextlib.suppress(ValueError):
                value = STEPS[which](a, b, number)
                if value.shape.num_elements() < 10_000:
                    values.append(value)
        result = values[-1]
        while result.shape.ndims <= axes[0]:
            result = tf.expand_dims(result, -1)
        return result

    inputs = []
    for size, axis in zip(sizes, axes):
        shape = [2, 3, 2]
        shape[axis] = size * SHARDS
        inputs.append(numbers(*shape))
    merged = results(computation, inputs, input_shard_axes=axes, output_shard_axes=axes[:1])
    hypothesis.event("one batch" if merged else "apart")
