"""What TPU computations built by hand give, against the same written per shard in plain TensorFlow.

Every function here is a case: it is called with a number of shards, builds both in a fresh graph,
and compares. The module needs no pytest, so that a TensorFlow 1.15 without it runs the same cases:

    python -m tests.behaviour.batch_parallel_cases
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading

import numpy as np

import tpucompat.v1 as tf
from tpucompat.engines import accelerator, partitioned_call
from tpucompat.idioms.startup import tpu_system
from tpucompat.tf import private

tpu = tf.contrib.tpu
CASES = {}
# Whether computations run on the cores, out of the reach of the script's graph.
ON_CORES = partitioned_call.FORCE in os.environ or "TPUCOMPAT_REHEARSE" in os.environ
# As programs do whose computations take variables that were made outside of them.
tf.enable_resource_variables()


def case(function):
    CASES[function.__name__] = function
    return function


@contextlib.contextmanager
def session():
    """A Session of the default graph, with variables and the TPU system initialized."""
    with tf.Session("grpc://tpu.invalid:8470") as sess:
        sess.run(tpu.initialize_system())
        sess.run(tf.global_variables_initializer())
        yield sess


def same(got, wanted, tolerance=1e-6):
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def numbers(*shape):
    return np.random.RandomState(sum(shape)).rand(*shape).astype("float32")


def pieces(array, shards, axis=0):
    return np.split(array, shards, axis)


# Inputs and outputs
# ---------------------------------------------------------------------------------


@case
def batch_parallel_splits_and_concatenates(shards):
    x, y = numbers(16, 3), numbers(8, 2)
    captured = tf.constant(2.5)
    got = tpu.batch_parallel(
        lambda a, b: (a * captured, tf.reduce_sum(b, axis=1), tf.cumsum(a)),
        [tf.constant(x), tf.constant(y)],
        num_shards=shards,
    )
    wanted = [
        tf.concat([tf.constant(p) * captured for p in pieces(x, shards)], 0),
        tf.concat([tf.reduce_sum(tf.constant(p), axis=1) for p in pieces(y, shards)], 0),
        tf.concat([tf.cumsum(tf.constant(p)) for p in pieces(x, shards)], 0),
    ]
    assert isinstance(got, list)
    with session() as sess:
        for one, other in zip(*sess.run([got, wanted])):
            same(one, other)


@case
def scalars_are_stacked(shards):
    x = numbers(16, 3)
    got = tpu.shard(
        lambda a: [tf.reduce_mean(a), tf.reduce_max(a, axis=0)], [tf.constant(x)], num_shards=shards
    )
    with session() as sess:
        mean, largest = sess.run(got)
    same(mean, [p.mean() for p in pieces(x, shards)])
    same(largest, np.concatenate([p.max(axis=0) for p in pieces(x, shards)]))
    assert mean.shape == (shards,)


@case
def axes_and_chosen_outputs(shards):
    x, y = numbers(3, 16), numbers(8, 4)
    got = tpu.shard(
        lambda a, b: (a * 2.0, tf.transpose(b), b + 1.0),
        [tf.constant(x), tf.constant(y)],
        num_shards=shards,
        input_shard_axes=[1, 0],
        output_shard_axes=[1, 1, 0],
        outputs_from_all_shards=[True, True, False],
    )
    with session() as sess:
        doubled, turned, first = sess.run(got)
    same(doubled, x * 2)
    same(turned, y.T)
    same(first, pieces(y, shards)[0] + 1)


@case
def replicas_take_and_return_structures(shards):
    rows = [
        [{"a": tf.constant(numbers(2) + i), "b": (tf.constant(float(i)), 3.0)}]
        for i in range(shards)
    ]
    got = tpu.replicate(
        lambda one: {"sum": one["a"] + one["b"][0], "pair": [one["b"][1], one["a"]]}, rows
    )
    assert len(got) == shards
    assert sorted(got[0]) == ["pair", "sum"]
    with session() as sess:
        for i, one in enumerate(sess.run(got)):
            same(one["sum"], numbers(2) + 2 * i)
            same(one["pair"][0], 3.0)
            same(one["pair"][1], numbers(2) + i)


@case
def replicas_of_different_size_are_padded(shards):
    rows = [[tf.constant(np.ones([i + 1, 2], "float32"))] for i in range(shards)]
    got = tpu.replicate(lambda a: [a], rows, maximum_shapes=[tf.TensorShape([None, 2])])
    with session() as sess:
        for i, (one,) in enumerate(sess.run(got)):
            assert one.shape == (shards, 2)
            same(one.sum(), 2 * (i + 1))


@case
def rewrite_returns_what_tensorflow_1_did(shards):
    x = tf.constant(numbers(4))
    with tf.variable_scope("v"):
        single = tpu.rewrite(lambda a: a + 1.0, [x])
        several = tpu.rewrite(lambda a: (a, a * 2.0), [x])
        nested = tpu.rewrite(lambda a: {"k": (a, [a * 3.0])}, [x])
        number = tpu.rewrite(lambda: 4)
        with_operation = tpu.rewrite(lambda a: (a, tf.no_op()), [x])
        nothing = tpu.rewrite(lambda a: None, [x])
        operation = tpu.rewrite(lambda a: tf.group(a), [x])
        listed = tpu.rewrite(lambda pair: pair[0] + pair[1], [[x, 1.0]])
    assert isinstance(single, list) and len(single) == 1
    assert isinstance(several, list) and len(several) == 2
    assert isinstance(with_operation, list) and len(with_operation) == 1
    assert isinstance(nothing, tf.Operation) and isinstance(operation, tf.Operation)
    with session() as sess:
        same(sess.run(single)[0], numbers(4) + 1)
        same(sess.run(several)[1], numbers(4) * 2)
        same(sess.run(nested)["k"][1][0], numbers(4) * 3)
        assert sess.run(number) == [4]
        same(sess.run(listed)[0], numbers(4) + 1)
        assert sess.run(nothing) is None and sess.run(operation) is None


@case
def the_compilation_can_be_fetched(shards):
    from tpucompat.v1.contrib.tpu.python.tpu import tpu as module

    compiled, (out,) = module.split_compile_and_shard(
        lambda a: a + 1.0, [tf.zeros([8])], num_shards=shards
    )
    also, rows = module.split_compile_and_replicate(lambda: tf.constant(1.0), [[]] * shards)
    with session() as sess:
        assert sess.run([compiled, also]) == [b"", b""]
        same(sess.run(out), np.ones(8))
        same(sess.run(rows), np.ones([shards, 1]))


@case
def unknown_sizes_are_split_when_they_run(shards):
    x = tf.placeholder(tf.float32, [None, 2])
    (got,) = tpu.batch_parallel(lambda a: a * 2.0, [x], num_shards=shards)
    with session() as sess:
        same(sess.run(got, {x: numbers(16, 2)}), numbers(16, 2) * 2)
        same(sess.run(got, {x: numbers(8, 2)}), numbers(8, 2) * 2)


# Python and effects
# ---------------------------------------------------------------------------------


@case
def the_function_is_called_once(shards):
    calls = []

    def computation(a):
        calls.append(tpu_context().number_of_shards)
        return a

    def tpu_context():
        from tpucompat.v1.contrib.tpu.python.tpu import tpu_function

        return tpu_function.get_tpu_context()

    assert tpu_context().number_of_shards is None
    tpu.batch_parallel(computation, [tf.zeros([8])], num_shards=shards)
    assert calls == [shards]
    assert tpu_context().number_of_shards is None


@case
def what_is_not_returned_runs_too(shards):
    with tf.variable_scope("v"):
        count = tf.get_variable("count", [], initializer=tf.zeros_initializer())

    def computation(a):
        count.assign_add(1.0)
        return a * 2.0

    def silent(a):
        count.assign_add(10.0)

    (got,) = tpu.batch_parallel(computation, [tf.ones([8])], num_shards=shards)
    (operation,) = tpu.batch_parallel(silent, [tf.ones([8])], num_shards=shards)
    with session() as sess:
        sess.run(got)
        assert sess.run(count) == 1.0
        sess.run(operation)
        assert sess.run(count) == 11.0


@case
def collections_hold_what_can_be_fetched(shards):
    if ON_CORES:
        return  # nobody can fetch what is inside

    def computation(a):
        tf.losses.add_loss(tf.reduce_sum(a))
        return a

    (got,) = tpu.batch_parallel(computation, [tf.ones([8])], num_shards=shards)
    (loss,) = tf.losses.get_losses()
    with session() as sess:
        assert sess.run(loss) == 8 / shards
        same(sess.run(got), np.ones(8))


@case
def host_code_inside_runs_for_each_shard(shards):
    seen = []

    def note(value):
        seen.append(float(value))
        return value

    def computation(a):
        total = tf.reduce_sum(a)
        with tf.device(tpu.core(0)):
            out = tpu.outside_compilation(lambda t: tf.py_func(note, [t], tf.float32), total)
        return tf.reshape(out, [1])

    x = numbers(8)
    with tf.device("/device:TPU:0"):
        got = tpu.shard(computation, [tf.constant(x)], num_shards=shards)
    with session() as sess:
        (out,) = sess.run(got)
    same(sorted(seen), sorted(p.sum() for p in pieces(x, shards)))
    same(out, [p.sum() for p in pieces(x, shards)])


@case
def it_waits_for_what_it_depends_on(shards):
    order = []
    first = tf.py_func(lambda: np.float32(order.append("first") or 1), [], tf.float32)

    def computation():
        with tf.control_dependencies([first]):
            return tf.py_func(lambda: np.float32(order.append("then") or 1), [], tf.float32)

    got = tpu.rewrite(computation)
    with session() as sess:
        sess.run(got)
    assert order == ["first", "then"]


# Variables
# ------------------------------------------------------------------------------------------


@case
def a_variable_is_one_for_all_shards(shards):
    def computation(a):
        w = tf.get_variable("w", [3], initializer=tf.constant_initializer(2.0))
        return a * w

    with tf.variable_scope("s"):
        (got,) = tpu.batch_parallel(computation, [tf.constant(numbers(8, 3))], num_shards=shards)
    assert [v.name for v in tf.global_variables()] == ["s/w:0"]
    assert [v.name for v in tf.trainable_variables()] == ["s/w:0"]
    with tf.variable_scope("s", reuse=True):
        again = tf.get_variable("w", [3])
    with session() as sess:
        same(sess.run(got), numbers(8, 3) * 2)
        sess.run(again.assign([1.0, 2.0, 3.0]))
        same(sess.run(got), numbers(8, 3) * [1, 2, 3])


@case
def reads_see_the_start_and_shard_0_writes(shards):
    x = numbers(8)
    with tf.variable_scope("s"):
        v = tf.get_variable("v", [], initializer=tf.constant_initializer(5.0))

    def computation(a):
        before = v.read_value()
        update = v.assign(v + tf.reduce_sum(a))
        with tf.control_dependencies([update]):
            after = v.read_value()
        return before, after

    before, after = tpu.shard(computation, [tf.constant(x)], num_shards=shards)
    sums = np.array([p.sum() for p in pieces(x, shards)])
    with session() as sess:
        start = 5.0
        for _ in range(3):
            got = sess.run([before, after])
            same(got[0], [start] * shards)
            same(got[1], start + sums)
            start += sums[0]
            same(sess.run(v), start)


@case
def an_unordered_read_sees_the_start(shards):
    with tf.variable_scope("s"):
        step = tf.get_variable("step", [], tf.int64, initializer=tf.zeros_initializer())

    def computation(a):
        update = step.assign_add(1)
        late = tf.cast(step.read_value(), tf.float32)
        with tf.control_dependencies([update]):
            return a + late

    (got,) = tpu.batch_parallel(computation, [tf.zeros([8])], num_shards=shards)
    with session() as sess:
        for i in range(10):
            same(sess.run(got), np.full(8, i))
        assert sess.run(step) == 10


@case
def batch_norm_keeps_shard_0s_statistics(shards):
    x = numbers(16, 4)

    def computation(a):
        out = tf.layers.batch_normalization(a, training=True, momentum=0.5, name="bn")
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            return tf.identity(out)

    (got,) = tpu.batch_parallel(computation, [tf.constant(x)], num_shards=shards)
    mean = next(v for v in tf.global_variables() if "moving_mean" in v.name)
    with session() as sess:
        out = sess.run(got)
        parts = pieces(x, shards)
        wanted = [(p - p.mean(0)) / np.sqrt(p.var(0) + 1e-3) for p in parts]
        same(out, np.concatenate(wanted), 1e-5)  # the variance is computed in another order
        same(sess.run(mean), parts[0].mean(0) * 0.5)
        sess.run(got)
        same(sess.run(mean), parts[0].mean(0) * 0.75)


# Sums over the shards
# -------------------------------------------------------------------------------


@case
def sums_over_all_shards(shards):
    x = numbers(8, 2)

    def computation(a):
        total = tpu.cross_replica_sum(tf.reduce_sum(a))
        share = a / total
        return share, tpu.cross_replica_sum(tf.reduce_sum(share)), total

    share, one, total = tpu.shard(computation, [tf.constant(x)], num_shards=shards)
    with session() as sess:
        share, one, total = sess.run([share, one, total])
    same(share, x / x.sum())
    same(one, np.ones(shards))
    same(total, np.full(shards, x.sum()))


@case
def sums_over_groups(shards):
    if shards < 8:
        return
    x = numbers(8)
    groups = [[0, 2, 4, 6], [1, 3, 5, 7]]

    def computation(a):
        total = tpu.cross_replica_sum(tf.reduce_sum(a), groups)
        return total, tpu.cross_replica_sum(total)

    within, over = tpu.shard(computation, [tf.constant(x)], num_shards=8)
    with session() as sess:
        within, over = sess.run([within, over])
    same(within, [x[0::2].sum(), x[1::2].sum()] * 4)
    same(over, np.full(8, 4 * x.sum()))


@case
def exchanges_between_shards(shards):
    from tpucompat.v1.contrib.tpu.python.ops import tpu_ops

    x = numbers(shards, shards)
    to_all, moved = tpu.shard(
        lambda a: (
            tpu_ops.all_to_all(a, concat_dimension=0, split_dimension=1, split_count=shards),
            tpu_ops.collective_permute(a, [[i, i + 1] for i in range(shards - 1)]),
        ),
        [tf.constant(x)],
        num_shards=shards,
    )
    with session() as sess:
        to_all, moved = sess.run([to_all, moved])
    same(to_all.reshape(shards, shards), x.T)
    same(moved, np.concatenate([np.zeros([1, shards]), x[:-1]]))


def towers(loss_of, inputs, shards, optimizer, steps, scale=None):
    """Losses and weights of the same training written as towers in plain TensorFlow."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        rows = list(zip(*[[tf.constant(p) for p in pieces(i, shards)] for i in inputs]))
        losses = []
        for row in rows:
            with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
                losses.append(loss_of(*row))
        opt = optimizer()
        total = tf.add_n(losses) * (1.0 / shards if scale is None else scale)
        gradients = tf.gradients(total, tf.trainable_variables())
        gradients = [tf.convert_to_tensor(g) for g in gradients]
        train = opt.apply_gradients(zip(gradients, tf.trainable_variables()))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            start = sess.run(tf.trainable_variables())
            got = [sess.run([losses, train])[0] for _ in range(steps)]
            return np.array(got), start, sess.run(tf.trainable_variables())


def shards_training(loss_of, inputs, shards, optimizer, steps, start, **kwargs):
    """The same with shard and CrossShardOptimizer."""

    def computation(*values):
        with tf.variable_scope("model"):
            loss = loss_of(*values)
        tpu.CrossShardOptimizer(optimizer(), **kwargs).minimize(loss)
        return loss

    (losses,) = tpu.shard(computation, [tf.constant(i) for i in inputs], num_shards=shards)
    with session() as sess:
        for variable, value in zip(tf.trainable_variables(), start):
            variable.load(value, sess)
        got = [sess.run(losses) for _ in range(steps)]
        return np.array(got), sess.run(tf.trainable_variables())


def dense_loss(x, y):
    w = tf.get_variable("w", [3, 1], initializer=tf.ones_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    return tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))


@case
def gradients_are_averaged(shards):
    inputs = [numbers(16, 3), numbers(16, 1)]
    for optimizer in (
        lambda: tf.train.GradientDescentOptimizer(0.1),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        lambda: tf.train.AdamOptimizer(0.1),
        lambda: tf.train.RMSPropOptimizer(0.1),
    ):
        tf.reset_default_graph()
        wanted, start, weights = towers(dense_loss, inputs, shards, optimizer, 5)
        got, ended = shards_training(dense_loss, inputs, shards, optimizer, 5, start)
        same(got, wanted, 1e-5)  # sums in another order, five steps
        for one, other in zip(ended, weights):
            same(one, other, 1e-5)


@case
def gradients_are_summed(shards):
    inputs = [numbers(16, 3), numbers(16, 1)]
    optimizer = lambda: tf.train.GradientDescentOptimizer(0.01)
    wanted, start, _ = towers(dense_loss, inputs, shards, optimizer, 3, scale=1.0)
    got, _ = shards_training(
        dense_loss, inputs, shards, optimizer, 3, start, reduction=tf.losses.Reduction.SUM
    )
    same(got, wanted, 1e-5)


@case
def gradients_are_averaged_within_groups(shards):
    if shards < 8:
        return
    inputs = [numbers(16, 3), numbers(16, 1)]
    groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
    optimizer = lambda: tf.train.GradientDescentOptimizer(0.1)
    first = [i[:8] for i in inputs]
    wanted, start, weights = towers(dense_loss, first, 4, optimizer, 3)
    got, ended = shards_training(
        dense_loss, inputs, 8, optimizer, 3, start, group_assignment=groups
    )
    same(got[:, :4], wanted, 1e-5)
    for one, other in zip(ended, weights):
        same(one, other, 1e-5)


@case
def embeddings_and_recurrent_networks_train(shards):
    words = np.random.RandomState(3).randint(0, 7, [16, 5]).astype("int32")
    labels = np.random.RandomState(4).randint(0, 2, [16]).astype("int32")

    def loss_of(ids, y):
        table = tf.get_variable("table", [7, 4], initializer=tf.random_normal_initializer(seed=1))
        cell = tf.nn.rnn_cell.LSTMCell(3, initializer=tf.random_uniform_initializer(-1, 1, seed=2))
        out, _ = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(table, ids), dtype=tf.float32)
        kernel = tf.get_variable("k", [3, 2], initializer=tf.random_normal_initializer(seed=3))
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=y, logits=tf.matmul(out[:, -1], kernel)
            )
        )

    optimizer = lambda: tf.train.GradientDescentOptimizer(0.5)
    wanted, start, weights = towers(loss_of, [words, labels], shards, optimizer, 3)
    got, ended = shards_training(loss_of, [words, labels], shards, optimizer, 3, start)
    same(got, wanted, 1e-5)
    for one, other in zip(ended, weights):
        same(one, other, 1e-5)


@case
def shards_draw_different_numbers(shards):
    tf.set_random_seed(7)
    (got,) = tpu.shard(lambda: tf.random_uniform([4]), num_shards=shards)
    (masked,) = tpu.batch_parallel(
        lambda a: tf.nn.dropout(a, rate=0.5), [tf.ones([8, 64])], num_shards=shards
    )
    with session() as sess:
        rows = sess.run(got).reshape(shards, 4)
        masks = sess.run(masked).reshape(shards, -1)
        again = sess.run(got).reshape(shards, 4)
    assert len({tuple(row) for row in rows}) == shards
    assert len({tuple(row) for row in masks}) == shards
    assert not (rows == again).any()


# Loops and conditionals
# -----------------------------------------------------------------------------


@case
def repeat_runs_its_body(shards):
    x = numbers(8)

    def computation(a):
        return tpu.repeat(3, lambda total, v: (total + tf.reduce_sum(v), v * 2.0), [0.0, a])

    total, last = tpu.shard(computation, [tf.constant(x)], num_shards=shards)
    with session() as sess:
        total, last = sess.run([total, last])
    same(total, [p.sum() * 7 for p in pieces(x, shards)])
    same(last, x * 8)


@case
def while_loop_runs_as_long_as_it_holds(shards):
    def until_sum(a):
        # The shards stop at different times.
        return tpu.while_loop(
            lambda n, v: tf.reduce_sum(v) < 100.0, lambda n, v: (n + 1, v * 2.0), [0, a]
        )

    x = np.arange(1, 9).astype("float32")
    count, last = tpu.shard(until_sum, [tf.constant(x)], num_shards=shards)
    with session() as sess:
        count, last = sess.run([count, last])
    for n, v, start in zip(count, pieces(last, shards), pieces(x, shards)):
        assert n == int(np.ceil(np.log2(100.0 / start.sum())))
        same(v, start * 2.0**n)


@case
def sums_inside_loops(shards):
    x = numbers(8)

    def computation(a):
        def body(i, v):
            total = tpu.cross_replica_sum(tf.reduce_sum(v))
            return i + 1, v / total + 1.0

        return tf.while_loop(lambda i, v: i < 4, body, [0, a])[1]

    (got,) = tpu.batch_parallel(computation, [tf.constant(x)], num_shards=shards)
    wanted = x
    for _ in range(4):
        wanted = wanted / wanted.sum() + 1
    with session() as sess:
        same(sess.run(got), wanted)


@case
def training_inside_repeat(shards):
    inputs = [numbers(16, 3), numbers(16, 1)]
    optimizer = lambda: tf.train.AdamOptimizer(0.1)
    wanted, _, weights = towers(dense_loss, inputs, shards, optimizer, 6)

    def computation(x, y):
        def step(last):
            with tf.variable_scope("model"):
                loss = dense_loss(x, y)
            train = tpu.CrossShardOptimizer(optimizer()).minimize(
                loss, tf.train.get_or_create_global_step()
            )
            return loss, train

        return tpu.repeat(6, step, [0.0])

    (losses,) = tpu.shard(computation, [tf.constant(i) for i in inputs], num_shards=shards)
    with session() as sess:
        same(sess.run(losses), wanted[-1], 1e-5)
        assert sess.run(tf.train.get_global_step()) == 6
        for one, other in zip(sess.run(tf.trainable_variables()), weights):
            same(one, other, 1e-5)


@case
def variables_that_differ_inside_loops(shards):
    x = numbers(8)
    with tf.variable_scope("s"):
        v = tf.get_variable("v", [], initializer=tf.constant_initializer(1.0))

    def computation(a):
        def body(last):
            update = v.assign(v * 0.5 + tf.reduce_sum(a))
            with tf.control_dependencies([update]):
                return v.read_value()

        return tpu.repeat(3, body, [0.0])

    (got,) = tpu.shard(computation, [tf.constant(x)], num_shards=shards)

    def after(start, total):
        for _ in range(3):
            start = start * 0.5 + total
        return start

    sums = [p.sum() for p in pieces(x, shards)]
    with session() as sess:
        same(sess.run(got), [after(1.0, s) for s in sums])
        middle = after(1.0, sums[0])
        same(sess.run(v), middle)
        same(sess.run(got), [after(middle, s) for s in sums])


@case
def writes_that_nothing_needs_do_not_run_in_loops(shards):
    """Such is the update of a stateful Keras layer; another write of its variable needs it no more."""
    x = numbers(8)
    variables = {name: tf.Variable(1.0, name=name) for name in ("v", "also_trained", "chosen")}
    v, trained, chosen = variables.values()

    def computation(a):
        def body(last):
            old = v + trained + chosen
            tf.assign(v, tf.reduce_sum(a))
            tf.assign(trained, tf.reduce_sum(a))
            tf.cond(last < 9.0, lambda: [tf.assign(chosen, -1.0), last][1], lambda: last)
            with tf.control_dependencies([old]):
                train = tf.assign_sub(trained, 0.25)
            with tf.control_dependencies([train]):
                return last + old

        return tpu.repeat(2, body, [0.0])

    (got,) = tpu.shard(computation, [tf.constant(x)], num_shards=shards)
    with session() as sess:
        same(sess.run(got), [3.0 + 2.75] * shards)
        same(sess.run(list(variables.values())), [1.0, 0.5, 1.0])
        same(sess.run(got), [2.5 + 2.25] * shards)


@case
def gradients_are_accumulated_by_cond(shards):
    inputs = [numbers(16, 3), numbers(16, 1)]

    def computation(x, y):
        with tf.variable_scope("model"):
            loss = dense_loss(x, y)
        opt = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        (gradient, w), _ = opt.compute_gradients(loss)
        with tf.variable_scope("sum"):
            total = tf.get_variable(
                "t", [3, 1], trainable=False, initializer=tf.zeros_initializer()
            )
            step = tf.get_variable(
                "s", [], tf.int32, trainable=False, initializer=tf.zeros_initializer()
            )
        add = total.assign_add(gradient)
        count = step.assign_add(1)

        def apply():
            train = opt.apply_gradients([(total.read_value() / 2.0, w)])
            with tf.control_dependencies([train]):
                return tf.identity(total.assign(tf.zeros([3, 1])))

        with tf.control_dependencies([add, count]):
            done = tf.cond(tf.equal(step.read_value() % 2, 0), apply, total.read_value)
        with tf.control_dependencies([done]):
            return tf.identity(loss)

    (losses,) = tpu.shard(computation, [tf.constant(i) for i in inputs], num_shards=shards)
    w, kept = np.ones([3, 1]), np.zeros([3, 1])
    with session() as sess:
        for run in range(4):
            rows = list(zip(*[pieces(i, shards) for i in inputs]))
            same(sess.run(losses), [((x @ w - y) ** 2).mean() for x, y in rows], 1e-5)
            # All shards start from what shard 0 kept.
            sums = [kept + 2 * x.T @ (x @ w - y) / len(x) / shards for x, y in rows]
            kept = sums[0]
            if run % 2:
                w, kept = w - 0.1 * sum(sums) / 2, np.zeros([3, 1])
            same(sess.run(tf.trainable_variables()[0]), w, 1e-5)


@case
def cond_may_differ_between_shards(shards):
    x = np.linspace(-1, 1.5, 8).astype("float32")  # no sum that rounding decides
    (got,) = tpu.batch_parallel(
        lambda a: tf.cond(tf.reduce_sum(a) > 0, lambda: a * 10.0, lambda: a - 1.0),
        [tf.constant(x)],
        num_shards=shards,
    )
    wanted = [p * 10 if p.sum() > 0 else p - 1 for p in pieces(x, shards)]
    with session() as sess:
        same(sess.run(got), np.concatenate(wanted))


@case
def map_fn_and_gradients_inside(shards):
    x = numbers(8, 3)

    def computation(a):
        out = tf.map_fn(lambda row: tf.reduce_sum(row * row), a)
        return tf.gradients(out, a)[0]

    (got,) = tpu.batch_parallel(computation, [tf.constant(x)], num_shards=shards)
    with session() as sess:
        same(sess.run(got), 2 * x)


@case
def functions_inside(shards):
    from tensorflow.python.framework import function

    @function.Defun(tf.float32)
    def double(v):
        return v * 2.0

    x = numbers(8)
    (got,) = tpu.batch_parallel(
        lambda a: double(a) + double(tf.constant(1.0)), [tf.constant(x)], num_shards=shards
    )
    with session() as sess:
        same(sess.run(got), 2 * x + 2)


@case
def variables_are_constant_in_inference(shards):
    from tpucompat.v1.contrib.tpu.python.tpu import tpu as module

    def computation(a):
        return a * tf.get_variable("w", [3], initializer=tf.constant_initializer(2.0))

    got = module.rewrite_for_inference(computation, [tf.constant(numbers(3))])
    module.validate_inference_rewrite_for_variables(tf.get_default_graph())
    check = module.validate_inference_rewrite_for_variables
    expect(RuntimeError, "GuaranteeConst", check, tf.Graph())
    with session() as sess:
        same(sess.run(got)[0], numbers(3) * 2)


@case
def every_path_leads_here(shards):
    from tensorflow.python.tpu import tpu_feed as native
    from tpucompat.v1.contrib.tpu.ops import gen_tpu_ops
    from tpucompat.v1.contrib.tpu.python.ops import tpu_ops
    from tpucompat.v1.contrib.tpu.python.tpu import tpu as module
    from tpucompat.v1.contrib.tpu.python.tpu import tpu_feed, tpu_sharding, training_loop

    assert tf.compat.v1.tpu.batch_parallel is tf.tpu.batch_parallel is tpu.batch_parallel
    assert module.shard is tpu.shard and module.rewrite is tf.tpu.rewrite
    assert training_loop.repeat is tpu.repeat and tpu_feed.InfeedQueue is tpu.InfeedQueue
    assert tpu_ops.infeed_dequeue_tuple is gen_tpu_ops.infeed_dequeue_tuple
    assert issubclass(tpu.InfeedQueue, native.InfeedQueue)
    assert tpu_sharding.ShardingPolicy().number_of_shards is None
    assert callable(gen_tpu_ops.tpu_replicate_metadata)


# Infeed and outfeed
# ---------------------------------------------------------------------------------


@case
def infeed_and_outfeed_of_each_core(shards):
    def computation():
        one = tpu.infeed_dequeue(tf.float32, [2])
        other, number = tpu.infeed_dequeue_tuple([tf.float32, tf.int32], [[2], []])
        tpu.outfeed_enqueue(one + other)
        tpu.outfeed_enqueue_tuple([number, one])
        return one * other

    got = tpu.replicate(computation, [[]] * shards)
    enqueue = [
        [
            tpu.infeed_enqueue(tf.constant([1.0 + k, 2.0]), [2], device_ordinal=k),
            tpu.infeed_enqueue_tuple(
                [tf.constant([10.0, 20.0]), tf.constant(k)], [[2], []], device_ordinal=k
            ),
        ]
        for k in range(shards)
    ]
    first = [tpu.outfeed_dequeue(tf.float32, [2], device_ordinal=k) for k in range(shards)]
    second = [
        tpu.outfeed_dequeue_tuple([tf.int32, tf.float32], [[], [2]], device_ordinal=k)
        for k in range(shards)
    ]
    with session() as sess:
        for pair in enqueue:
            for operation in pair:
                sess.run(operation)
        out = sess.run(got)
        for k in range(shards):
            same(out[k][0], [10.0 * (1 + k), 40.0])
            same(sess.run(first[k]), [11.0 + k, 22.0])
            number, one = sess.run(second[k])
            assert number == k
            same(one, [1.0 + k, 2.0])


@case
def threads_feed_a_training_loop(shards):
    steps = 5
    xs, ys = numbers(steps, 16, 3), numbers(steps, 16, 1)
    x, y = tf.placeholder(tf.float32, [16, 3]), tf.placeholder(tf.float32, [16, 1])
    queue = tpu.InfeedQueue(number_of_tuple_elements=2)
    queue.set_number_of_shards(shards)
    enqueue = queue.split_inputs_and_generate_enqueue_ops([x, y])

    def step(last, x, y):
        with tf.variable_scope("model"):
            loss = dense_loss(x, y)
        train = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1)).minimize(loss)
        out = tpu.outfeed_enqueue_tuple([loss])
        return loss, train, out

    loop = tpu.shard(lambda: tpu.repeat(steps, step, [0.0], infeed_queue=queue), num_shards=shards)
    outfeed = [
        tpu.outfeed_dequeue_tuple([tf.float32], [[]], device_ordinal=k) for k in range(shards)
    ]
    w, b, wanted = np.ones([3, 1]), np.zeros(1), []
    for one, other in zip(xs, ys):
        error = one @ w + b - other
        wanted.append([(e**2).mean() for e in pieces(error, shards)])
        w, b = w - 0.2 * one.T @ error / 16, b - 0.2 * error.mean()
    got = []
    with session() as sess:

        def feed():
            for one, other in zip(xs, ys):
                sess.run(enqueue, {x: one, y: other})

        def drain():
            for _ in range(steps):
                got.append([value for (value,) in sess.run(outfeed)])

        threads = [threading.Thread(target=feed), threading.Thread(target=drain)]
        for thread in threads:
            thread.start()
        (last,) = sess.run(loop)
        for thread in threads:
            thread.join(60)
    same(got, wanted, 1e-5)
    same(last, wanted[-1], 1e-5)


@case
def the_host_enqueues_in_a_loop(shards):
    (got,) = tpu.shard(
        lambda: tpu.repeat(4, lambda total: total + tpu.infeed_dequeue(tf.float32, []), [0.0]),
        num_shards=shards,
    )

    def enqueue(i):
        operations = [
            tpu.infeed_enqueue(tf.cast(i * (k + 1), tf.float32), [], device_ordinal=k)
            for k in range(shards)
        ]
        with tf.control_dependencies(operations):
            return i + 1

    with tf.device("/device:CPU:0"):
        host = tf.while_loop(lambda i: i < 4, enqueue, [0], parallel_iterations=1)
    with session() as sess:
        sess.run(host)
        same(sess.run(got), [6.0 * (k + 1) for k in range(shards)])


# Habits of programs


@case
def keras_layers_inside(shards):
    x, y = numbers(16, 8, 8, 3), np.arange(16, dtype="int32") % 10
    outside = tf.keras.layers.Dense(10)
    outside.build((None, 144))

    def computation(images, labels):
        model = tf.keras.Sequential(
            [
                tf.keras.layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 3)),
                tf.keras.layers.BatchNormalization(),
                tf.keras.layers.Flatten(),
            ]
        )
        logits = outside(model(images, training=True))
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        train = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.01)).minimize(loss)
        with tf.control_dependencies([train, *model.get_updates_for(images)]):
            return tf.identity(loss)

    (losses,) = tpu.shard(computation, [tf.constant(x), tf.constant(y)], num_shards=shards)
    with session() as sess:
        first = sess.run(losses).mean()
        for _ in range(10):
            last = sess.run(losses).mean()
    assert last < first


@case
def what_training_scripts_put_around_an_optimizer(shards):
    def computation(a):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [3, 1], initializer=tf.ones_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(a, w)))
        rate = tf.train.exponential_decay(0.1, step, 2, 0.5, staircase=True)
        opt = tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(rate, 0.9))
        gradients, variables = zip(*opt.compute_gradients(loss))
        gradients, _ = tf.clip_by_global_norm(gradients, 0.1)
        train = opt.apply_gradients(zip(gradients, variables), step)
        average = tf.train.ExponentialMovingAverage(0.9, step)
        with tf.control_dependencies([train]):
            kept = average.apply([w])
        with tf.control_dependencies([kept]):
            return tf.identity(loss), rate

    losses, rates = tpu.shard(computation, [tf.constant(numbers(16, 3))], num_shards=shards)
    with session() as sess:
        for run in range(4):
            rate = sess.run([losses, rates])[1]
            same(rate, np.full(shards, 0.1 * 0.5 ** (run // 2)))
        assert sess.run(tf.train.get_global_step()) == 4
        slots = [v.name for v in tf.global_variables()]
    assert {"w:0", "w/Momentum:0", "w/ExponentialMovingAverage:0"} <= set(slots), slots


@case
def batch_norm_and_dropout_inside_repeat(shards):
    def computation(a):
        def step(last):
            h = tf.layers.dense(a, 4, name="d")
            h = tf.layers.batch_normalization(h, training=True, name="b")
            loss = tf.reduce_mean(tf.square(tf.nn.dropout(h, rate=0.5)))
            opt = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                return loss, opt.minimize(loss)

        return tpu.repeat(5, step, [0.0])

    (losses,) = tpu.shard(computation, [tf.constant(numbers(16, 3))], num_shards=shards)
    mean = next(v for v in tf.global_variables() if "moving_mean" in v.name)
    with session() as sess:
        assert np.isfinite(sess.run(losses)).all()
        assert np.abs(sess.run(mean)).sum() > 0


@case
def a_sum_over_the_shards_has_a_gradient(shards):
    x = numbers(8, 3)

    def computation(a):
        w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
        mean = tpu.cross_replica_sum(tf.reduce_mean(a * w, 0)) / shards
        return tf.gradients(tf.reduce_sum(tf.square(a * w - mean)), w)

    (got,) = tpu.shard(computation, [tf.constant(x)], num_shards=shards)
    mean = x.mean(0)
    # Each shard's loss depends on all shards' values: the gradient of a sum is a sum.
    back = -2 * (x - mean).sum(0) / shards
    wanted = [(2 * (p - mean) * p).sum(0) + back * p.mean(0) for p in pieces(x, shards)]
    with session() as sess:
        same(sess.run(got), np.concatenate(wanted), 1e-5)


@case
def computations_inside_loops_and_conditionals_of_the_host(shards):
    count = tf.get_variable("count", [], initializer=tf.zeros_initializer())

    def body(i):
        return tpu.rewrite(lambda a: [a + 1, count.assign_add(1.0)], [i])[0]

    loop = tf.while_loop(lambda i: i < 5, body, [tf.constant(0)], parallel_iterations=1)
    choice = tf.placeholder(tf.bool, [])
    chosen = tf.cond(
        choice,
        lambda: tpu.batch_parallel(lambda a: a * 2.0, [tf.ones([8])], shards)[0],
        lambda: tf.zeros([8]),
    )
    with session() as sess:
        assert sess.run(loop) == 5 and sess.run(count) == 5.0
        same(sess.run(chosen, {choice: True}), np.full(8, 2.0))
        same(sess.run(chosen, {choice: False}), np.zeros(8))


@case
def what_is_captured_may_be_fed_or_come_from_a_dataset(shards):
    factor = tf.placeholder(tf.float32, [])
    numbered = tf.data.Dataset.range(64).batch(8, drop_remainder=True)
    row = tf.data.make_one_shot_iterator(numbered).get_next()
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([1, 9], tf.int64), tf.constant([7.0, 8.0])),
        -1.0,
    )

    def computation(a):
        return tf.cast(a, tf.float32) * factor, table.lookup(a)

    scaled, found = tpu.batch_parallel(computation, [row], num_shards=shards)
    with session() as sess:
        sess.run(tf.tables_initializer())
        for start in (0, 8):
            got = sess.run([scaled, found], {factor: 3.0})
            same(got[0], 3.0 * np.arange(start, start + 8))
            assert got[1][1] == (7.0 if start == 0 else 8.0) and got[1][0] == -1.0


@case
def other_types_than_floats(shards):
    def computation(a, b, c, d):
        half = tf.cast(a, tf.bfloat16)
        return (
            tf.cast(tpu.cross_replica_sum(tf.reduce_sum(half)), tf.float32),
            tpu.cross_replica_sum(tf.reduce_sum(b)),
            tf.logical_not(c),
            tf.sparse.to_dense(tf.SparseTensor([[0]], [2.0], [1])) + d,
        )

    ones = tf.ones([8])
    got = tpu.shard(
        computation,
        [ones, tf.ones([8], tf.int32), tf.ones([8], tf.bool), ones],
        num_shards=shards,
    )
    with session() as sess:
        a, b, c, d = sess.run(got)
    same(a, np.full(shards, 8.0))
    assert (b == 8).all() and not c.any()
    same(d, np.full(8, 3.0))


@case
def sessions_of_other_kinds(shards):
    def computation(a):
        w = tf.get_variable("w", [3])
        opt = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        opt.minimize(tf.reduce_sum(w * a), tf.train.get_or_create_global_step())
        return a * w

    (got,) = tpu.batch_parallel(computation, [tf.ones([8, 3])], num_shards=shards)
    tf.add_to_collection("got", got)
    with session() as sess, tempfile.TemporaryDirectory() as folder:
        path = tf.train.Saver().save(sess, folder + "/model")
        wanted = sess.run(got)
        if not ON_CORES:  # such a call works in its own process only
            with tf.Graph().as_default(), tf.Session() as other:
                tf.train.import_meta_graph(path + ".meta").restore(other, path)
                same(other.run(tf.get_collection("got")[0]), wanted)
    config = tf.ConfigProto(log_device_placement=False)
    config.cluster_def.CopyFrom(
        tf.train.ClusterSpec({"worker": ["10.0.0.1:8470"]}).as_cluster_def()
    )
    runs = 0
    with tf.train.MonitoredTrainingSession(
        "grpc://10.0.0.1:8470", config=config, hooks=[tf.train.StopAtStepHook(num_steps=4)]
    ) as monitored:
        while not monitored.should_stop():
            monitored.run(got)
            runs += 1
    assert runs == 4


@case
def threads_run_the_same_computation(shards):
    count = tf.get_variable("count", [], initializer=tf.zeros_initializer())

    def computation(a):
        return a + count.assign_add(1.0) * 0.0

    (got,) = tpu.batch_parallel(computation, [tf.ones([8])], num_shards=shards)
    with session() as sess:
        threads = [threading.Thread(target=sess.run, args=(got,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        same(sess.run(got), np.ones(8))


@case
def closing_a_session_ends_who_waits_for_the_outfeed(shards):
    waiting = tpu.outfeed_dequeue(tf.float32, [], device_ordinal=0)
    sess = tf.Session()
    ended = []

    def wait():
        try:
            sess.run(waiting)
        except tf.errors.CancelledError:
            ended.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    threading.Event().wait(0.3)
    sess.close()
    thread.join(30)
    assert ended == [True]


# Scripts
# --------------------------------------------------------------------------------------------


@case
def a_saver_restores_what_was_trained(shards):
    inputs = [numbers(16, 3), numbers(16, 1)]

    def computation(x, y):
        with tf.variable_scope("model"):
            loss = dense_loss(x, y)
        tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1)).minimize(loss)
        return loss

    (losses,) = tpu.shard(computation, [tf.constant(i) for i in inputs], num_shards=shards)
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder:
        with session() as sess:
            sess.run(losses)
            path = saver.save(sess, folder + "/model")
            wanted = sess.run(losses)
        with session() as sess:
            saver.restore(sess, path)
            same(sess.run(losses), wanted)
        names = {name for name, _ in tf.train.list_variables(path)}
    assert "model/w" in names and "model/w/Adam" in names, names


@case
def the_system_is_initialized_and_shut_down(shards):
    (got,) = tpu.batch_parallel(lambda a: a, [tf.ones([8])], num_shards=shards)
    start, stop = tpu.initialize_system(), tpu.shutdown_system()
    tpu_system.mark_shut_down()
    with tf.Session() as sess:
        expect(tf.errors.FailedPreconditionError, "TPU349", sess.run, got)
        serialized = sess.run(start)
        same(sess.run(got), np.ones(8))
    with tf.Session() as other:  # the system outlives the session
        same(other.run(got), np.ones(8))
        other.run(stop)
        expect(tf.errors.FailedPreconditionError, "TPU349", other.run, got)
    assert isinstance(serialized, bytes)
    topology = private.topology_proto().FromString(serialized)
    cores = accelerator.cores()
    assert topology.num_tasks == 1 and topology.num_tpu_devices_per_task == cores
    assert np.prod(topology.mesh_shape) == cores
    places = np.reshape(topology.device_coordinates, [cores, len(topology.mesh_shape)])
    assert len({tuple(place) for place in places}) == cores
    assert (places < np.array(topology.mesh_shape)).all()


# Bad input
# ------------------------------------------------------------------------------------------


def expect(kind, text, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}")


@case
def bad_input_is_refused(shards):
    one = tf.ones([8])
    expect(ValueError, "must be a positive", tpu.batch_parallel, lambda a: a, [one], num_shards=0)
    expect(TypeError, "must be a list", tpu.shard, lambda a: a, one, num_shards=2)
    expect(ValueError, "divisible by 3 but is 8", tpu.shard, lambda a: a, [one], num_shards=3)
    expect(
        ValueError, "input_shard_axes", tpu.shard, lambda a: a, [one], 2, input_shard_axes=[0, 0]
    )
    expect(ValueError, "output_shard_axes", tpu.shard, lambda a: a, [one], 2, output_shard_axes=[])
    expect(
        ValueError, "outputs_from_all_shards", tpu.shard, lambda a: a, [one], 2,
        outputs_from_all_shards=[True, True],
    )  # fmt: skip
    expect(TypeError, "exactly 2 arguments", tpu.rewrite, lambda a, b: a, [one])
    expect(TypeError, "at least 1 argument", tpu.rewrite, lambda a, b=1: a)
    expect(TypeError, "list of lists", tpu.replicate, lambda a: a, one)
    expect(ValueError, "TPU345", tpu.replicate, lambda a: a, [[one], [tf.ones([8], tf.int32)]])
    expect(ValueError, "TPU348", tpu.rewrite, lambda: object())
    expect(ValueError, "TPU348", tpu.rewrite, lambda a: (tf.no_op(), a), [one])
    expect(ValueError, "TPU348", tpu.rewrite, lambda a: {"o": tf.no_op(), "a": a}, [one])
    expect(
        NotImplementedError, "nested", tpu.rewrite, lambda a: tpu.rewrite(lambda b: b, [a]), [one]
    )
    with tf.variable_scope("old", use_resource=False):
        old = tf.get_variable("old", [], use_resource=False)
    expect(NotImplementedError, "Non-resource", tpu.rewrite, lambda: old.assign_add(1.0))
    made = lambda: tf.Variable(tf.ones([2]))
    expect(ValueError, "TPU353", tpu.rewrite, made)
    expect(TypeError, "infeed type", tpu.infeed_dequeue, tf.string, [])
    queue = tpu.InfeedQueue(tuple_types=[tf.float32], tuple_shapes=[[None, 2]])
    queue.set_number_of_shards(2)
    expect(ValueError, "fixed size", queue.generate_dequeue_op)
    queue = tpu.InfeedQueue(tuple_types=[tf.float32], tuple_shapes=[[8, 2]])
    queue.generate_dequeue_op()
    expect(
        ValueError,
        "TPU352",
        queue.split_inputs_and_generate_enqueue_ops,
        [tf.zeros([8, 2], tf.int32)],
    )
    expect(ValueError, "shape", tpu.infeed_enqueue_tuple, [tf.ones([3])], [[2]], device_ordinal=0)
    expect(ValueError, "TPU340", tpu.CrossShardOptimizer, None, tf.losses.Reduction.NONE)
    expect(TypeError, "TPU341", tpu.CrossShardOptimizer, tf.keras.optimizers.Adam())
    tf.get_variable("w", [1])
    for groups in ([0, 1], [[0]], [[0], [1, 2]]):
        opt = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(), group_assignment=groups)

        def minimize(a, opt=opt):
            with tf.variable_scope("", reuse=True):
                opt.minimize(a * tf.get_variable("w", [1]))

        expect(ValueError, "group_assignment", tpu.shard, minimize, [tf.ones([3])], 3)


@case
def an_infeed_is_filled_in_a_graph_and_session_of_its_own(shards):
    # As the low-level runners of Google's MLPerf submissions do; on a TPU the infeed is the device's.
    rows = numbers(4, shards, 2)
    host = tf.Graph()
    queue = tpu.InfeedQueue(number_of_tuple_elements=2)
    with host.as_default():
        iterator = tf.data.Dataset.from_tensor_slices(rows).make_initializable_iterator()
        parts = tf.unstack(iterator.get_next())
        before = host.version
        enqueue = queue.generate_enqueue_ops(
            [[part, tf.reduce_sum(part, keepdims=True)] for part in parts],
            tpu_ordinal_function=lambda i: i,
        )

    def step(total):
        pair, added = queue.generate_dequeue_op()
        return total + tf.reduce_sum(pair * 2) + added[0]

    totals = tpu.shard(lambda: tpu.repeat(2, step, [0.0]), num_shards=shards)
    assert host.version > before
    with session() as sess, tf.Session("grpc://tpu.invalid:8470", graph=host) as other:
        other.run(iterator.initializer)
        for half in (rows[:2], rows[2:]):
            other.run(enqueue)
            other.run(enqueue)
            same(sess.run(totals)[0], 3 * half.sum(axis=(0, 2)))


@case
def a_tuple_of_the_wrong_type_fails_when_it_is_taken(shards):
    got = tpu.rewrite(lambda: tpu.infeed_dequeue(tf.float32, [2]))
    wrong = tpu.infeed_enqueue(tf.constant([1, 2]), [2], device_ordinal=0)
    with session() as sess:
        sess.run(wrong)
        expect(tf.errors.InvalidArgumentError, "int32", sess.run, got)


@case
def a_function_that_holds_a_computation_is_called_and_exported(shards):
    """As exporters for serving do: tpu.rewrite in a Defun, called by TPUPartitionedCall."""
    from tensorflow.python.framework import function

    tpu_ops = tf.contrib.tpu.python.ops.tpu_ops
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    doubled = x * 2.0

    @function.Defun(capture_resource_var_by_value=False)
    def predict():
        def computation(value):
            weights = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
            return tf.matmul(value, weights) + tf.constant(float(shards)), tf.reduce_sum(value)

        return tpu.rewrite(computation, [doubled])

    first, second = tf.contrib.tpu.python.tpu.functional.TPUPartitionedCall(
        args=predict.captured_inputs,
        device_ordinal=tpu_ops.tpu_ordinal_selector(),
        Tout=[output.type for output in predict.definition.signature.output_arg],
        f=predict,
    )
    tf.identity(first, name="y")
    values = numbers(4, 3)
    with session() as sess, tempfile.TemporaryDirectory() as folder:
        got = sess.run([first, second], {x: values})
        wanted = 2 * values.sum(axis=1, keepdims=True).repeat(2, axis=1) + shards
        same(got[0], wanted)
        same(got[1], 2 * values.sum(), 1e-5)
        tf.saved_model.simple_save(sess, folder + "/model", {"x": x}, {"y": first})
        sess.run(tpu.shutdown_system())  # serving asks nobody for it
        with tf.Graph().as_default(), tf.Session() as other:
            tf.saved_model.loader.load(other, ["serve"], folder + "/model")
            same(other.run("y:0", {"x:0": values}), wanted)


def run(only=()):
    """Runs all cases with 1, 2 and 8 shards; the names of those that failed, with their errors."""
    failed = {}
    for name, function in CASES.items():
        for shards in (1, 2, 8):
            if only and name not in only:
                continue
            tf.reset_default_graph()
            try:
                function(shards)
            except Exception as error:
                import traceback

                failed[f"{name}[{shards}]"] = "".join(traceback.format_exc())[-3000:] or repr(error)
    return failed


if __name__ == "__main__":
    json.dump(run(sys.argv[1:]), sys.stdout)
