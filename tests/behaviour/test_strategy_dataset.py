"""Input pipelines of a TF 1 graph, given to the replicas of a strategy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tpucompat.base import errors
from tpucompat.engines import dataset as pipeline
from tpucompat.tf import private

tf1 = tf.compat.v1

pytestmark = pytest.mark.skipif(
    tf.__version__.startswith("1."), reason="the strategy engine needs TensorFlow 2"
)


def build(make):
    graph = tf.Graph()
    with graph.as_default():
        tf1.set_random_seed(7)
        return make(), graph


def in_session(make, count):
    """The first elements as the script's own Session gives them."""
    graph = tf.Graph()
    with graph.as_default():
        tf1.set_random_seed(7)
        iterator = tf1.data.make_initializable_iterator(make())
        element = tf.nest.flatten(iterator.get_next(), expand_composites=True)
        with tf1.Session() as session:
            session.run([tf1.tables_initializer(), iterator.initializer])
            return [session.run(element) for _ in range(count)]


def taken(crossing, count):
    with private.eager_mode():
        return [[part.numpy() for part in values] for values in crossing.dataset.take(count)]


def same(got, wanted):
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        assert len(one) == len(other)
        for a, b in zip(one, other):
            np.testing.assert_array_equal(a, b)


def shuffled():
    x = np.arange(64, dtype=np.float32).reshape(32, 2)
    data = tf.data.Dataset.from_tensor_slices((x, np.arange(32)))
    data = data.shuffle(16).repeat()
    data = data.map(lambda a, b: ({"z": tf.cast(b, tf.int32), "x": a * 2.0}, tf.as_string(b)))
    return data.batch(8, drop_remainder=True)


def with_python():
    data = tf.data.Dataset.from_tensor_slices(np.arange(12, dtype=np.float32))
    return data.map(lambda v: tf1.py_func(lambda n: n * np.float32(3), [v], tf.float32)).batch(3)


def from_generator():
    def examples():
        for number in range(6):
            yield np.full([number + 1], number, np.int64), b"text"

    data = tf.data.Dataset.from_generator(examples, (tf.int64, tf.string), ([None], []))
    return data.padded_batch(2, ([None], []))


def with_table():
    table = tf1.lookup.StaticHashTable(
        tf1.lookup.KeyValueTensorInitializer(["a", "b", "c"], [10, 20, 30]), -1
    )
    return tf.data.Dataset.from_tensor_slices(["c", "a", "?", "b"]).map(table.lookup).batch(2)


def with_sparse():
    data = tf.data.Dataset.from_tensor_slices(np.eye(4, dtype=np.float32))
    return data.map(lambda row: (tf.sparse.from_dense(row), row))


@pytest.mark.parametrize(
    ("make", "count"),
    [(shuffled, 9), (with_python, 4), (from_generator, 3), (with_table, 2), (with_sparse, 4)],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_dataset_crosses_with_the_elements_that_a_session_gives(make, count):
    data, graph = build(make)
    same(taken(pipeline.cross(data, graph), count), in_session(make, count))


def test_flat_elements_keep_the_order_of_nest():
    data, graph = build(shuffled)
    crossing = pipeline.cross(data, graph)
    assert [spec.dtype for spec in crossing.specs] == [tf.float32, tf.int32, tf.string]
    assert [spec.shape.as_list() for spec in crossing.specs] == [[8, 2], [8], [8]]


def test_a_pipeline_built_from_a_placeholder():
    graph = tf.Graph()
    with graph.as_default():
        fed = tf1.placeholder(tf.int32, [4])
        data = tf.data.Dataset.from_tensor_slices(fed)
    crossing = pipeline.cross(data, graph, feed_dict={fed: [5, 6, 7, 8]})
    assert taken(crossing, 4) == [[5], [6], [7], [8]]


def test_variables_of_the_pipeline_are_those_of_the_given_session():
    graph = tf.Graph()
    with graph.as_default():
        offset = tf1.get_variable("offset", initializer=100, use_resource=True)
        data = tf.data.Dataset.range(3).map(lambda v: tf.cast(v, tf.int32) + offset)
        with tf1.Session() as session:
            session.run(offset.initializer)
            session.run(offset.assign(200))
            crossing = pipeline.cross(data, graph, session)
            assert taken(crossing, 3) == [[200], [201], [202]]


def test_tensors_of_a_session_become_a_dataset():
    graph = tf.Graph()
    with graph.as_default():
        data = tf.data.Dataset.range(5).batch(2)
        got = tf1.data.make_one_shot_iterator(data).get_next() * 10
        crossing = pipeline.from_session([got, tf.constant("x")], graph)
    same(taken(crossing, 9), [[[0, 10], b"x"], [[20, 30], b"x"], [[40], b"x"]])


def rounds(feed, strategy, limit=99):
    """What each replica gets, round by round."""
    got = []
    for values in feed:
        with private.eager_mode():
            got.append(
                [
                    [part.numpy().tolist() for part in strategy.experimental_local_results(value)]
                    for value in values
                ]
            )
        if len(got) == limit:
            break
    return got


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_a_batch_for_all_replicas_is_split_in_order(strategy_of, replicas):
    data, graph = build(lambda: tf.data.Dataset.range(24).batch(8, drop_remainder=True))
    strategy = strategy_of(replicas)
    got = rounds(pipeline.distribute(pipeline.cross(data, graph), strategy, True), strategy)
    assert [list(itertools.chain(*parts)) for (parts,) in got] == [
        list(range(8)),
        list(range(8, 16)),
        list(range(16, 24)),
    ]
    assert all(len(parts) == replicas for (parts,) in got)


@pytest.mark.parametrize("shapes", ["equal", "unequal"])
def test_replicas_take_turns_and_an_incomplete_round_is_dropped(strategy_of, shapes):
    def make():
        data = tf.data.Dataset.range(1, 8)
        if shapes == "equal":
            return data.map(lambda v: tf.fill([2], v))
        return data.filter(lambda v: v > 0).map(lambda v: tf.fill([v], v))

    data, graph = build(make)
    strategy = strategy_of(2)
    got = rounds(pipeline.distribute(pipeline.cross(data, graph), strategy), strategy)
    assert [[part[0] for part in parts] for (parts,) in got] == [[1, 2], [3, 4], [5, 6]]
    if shapes == "unequal":
        assert [[len(part) for part in parts] for (parts,) in got] == [[1, 2], [3, 4], [5, 6]]


def test_a_batch_that_the_replicas_cannot_share(strategy_of):
    data, graph = build(lambda: tf.data.Dataset.range(30).batch(10, drop_remainder=True))
    with pytest.raises(errors.BadValueError, match="TPU367 a batch of 10 .* 4 cores"):
        pipeline.distribute(pipeline.cross(data, graph), strategy_of(4), True)
    data, graph = build(lambda: tf.data.Dataset.range(30).batch(10))  # known at run time only
    feed = pipeline.distribute(pipeline.cross(data, graph), strategy_of(4), True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="TPU367"):
        next(feed)
    data, graph = build(lambda: tf.data.Dataset.range(30))
    with pytest.raises(errors.BadValueError, match="scalar"):
        pipeline.distribute(pipeline.cross(data, graph), strategy_of(2), True)
