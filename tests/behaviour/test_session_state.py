"""Session computations on the cores: their variables stay there, and are one with the Session's."""

from __future__ import annotations

import collections
import contextlib
import gc
import os
import threading
import weakref

import numpy as np
import pytest
import tensorflow

import tpucompat.v1 as tf
from tpucompat.base import errors, journal
from tpucompat.base import machine as environment
from tpucompat.engines import accelerator, coherence, partitioned_call, replicated_variables
from tpucompat.idioms.startup import tpu_system

tpu = tf.contrib.tpu

pytestmark = pytest.mark.skipif(
    tensorflow.__version__.startswith("1."), reason="a strategy needs TensorFlow 2"
)

CORES = 8


@pytest.fixture(autouse=True)
def cores(monkeypatch, request):
    """Eight emulated cores that the Session calls, as those of a TPU are."""
    monkeypatch.setenv("TPUCOMPAT_CORES", str(getattr(request, "param", CORES)))
    monkeypatch.setenv(partitioned_call.FORCE, "1")
    monkeypatch.setattr(accelerator, "_strategy", None)
    monkeypatch.setattr(accelerator, "_prepared", 0)
    tpu_system.mark_initialized()


class Transfers:
    """Names of the variables that went to the cores, and of those that came from there."""

    def __init__(self):
        self.loaded, self.read = collections.Counter(), collections.Counter()

    @contextlib.contextmanager
    def expected(self, loaded=(), read=()):
        """Within: these variables cross, and no others."""
        self.loaded.clear()
        self.read.clear()
        yield
        assert sorted(self.loaded.elements()) == sorted(loaded)
        assert sorted(self.read.elements()) == sorted(read)


@pytest.fixture
def transfers(monkeypatch):
    found = Transfers()
    load, read = (
        replicated_variables.ReplicatedVariables.load,
        replicated_variables.ReplicatedVariables.read,
    )

    def counted_load(self, values):
        found.loaded.update(values.keys())
        return load(self, values)

    def counted_read(self, names=None, replica=0):
        found.read.update(names)
        return read(self, names, replica)

    monkeypatch.setattr(replicated_variables.ReplicatedVariables, "load", counted_load)
    monkeypatch.setattr(replicated_variables.ReplicatedVariables, "read", counted_read)
    return found


@contextlib.contextmanager
def session():
    """A Session of the default graph with initialized variables."""
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        yield sess


def variable(name, value, dtype=tf.float32):
    return tf.get_variable(name, initializer=tf.constant(value, dtype), use_resource=True)


def adding(v, shards=CORES, amount=1.0):
    """A computation that adds to a variable and returns the sum."""

    def computation(a):
        with tf.control_dependencies([v.assign_add(tf.cast(amount, v.dtype))]):
            return tf.cast(v.read_value(), tf.float32) + a

    (got,) = tpu.batch_parallel(computation, [tf.zeros([2 * shards])], num_shards=shards)
    return got


def test_nothing_crosses_that_the_host_does_not_touch(transfers):
    v, other = variable("v", 1.0), variable("other", 2.0)
    tf.get_variable("unused", [1000], use_resource=True)

    def computation(a):
        tf.identity(tf.get_variable("unused", [1000], use_resource=True))
        return a + v.assign_add(other) + tf.random_uniform([]) * 0.0

    with tf.variable_scope("", reuse=True):
        (got,) = tpu.batch_parallel(computation, [tf.zeros([CORES])], num_shards=CORES)
    with session() as sess:
        with transfers.expected(loaded=["v", "other"]):
            np.testing.assert_array_equal(sess.run(got), np.full(CORES, 3.0))
        with transfers.expected():
            for step in range(5):
                np.testing.assert_array_equal(sess.run(got), np.full(CORES, 5.0 + 2 * step))
        with transfers.expected(read=["v"]):
            assert sess.run(v) == 13.0
        with transfers.expected():
            assert sess.run([v, other]) == [13.0, 2.0]
            sess.run(got)
        with transfers.expected(loaded=["other"]):
            sess.run(other.assign(10.0))
            assert sess.run(got)[0] == 25.0
        with transfers.expected(read=["v"], loaded=["v"]):
            sess.run(v.assign_add(1.0))
            assert sess.run(got)[0] == 36.0


def test_a_variable_that_is_not_initialized_is_named():
    v = variable("weights/v", 1.0)
    variable("unused", 1.0)
    got = adding(v)
    with tf.Session() as sess:
        for _ in range(2):
            with pytest.raises(tf.errors.FailedPreconditionError, match="weights/v"):
                sess.run(got)
        sess.run(v.initializer)
        assert sess.run(got)[0] == 2.0


def test_one_that_nobody_needs_may_be_uninitialized():
    v, unused = variable("v", 1.0), variable("unused", 1.0)

    def computation(a):
        unused.read_value()
        return a + v

    (got,) = tpu.batch_parallel(computation, [tf.zeros([CORES])], num_shards=CORES)
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(got)[0] == 1.0


def test_reads_and_writes_of_the_same_run_come_in_their_order(transfers):
    v = variable("v", 1.0)
    before = v.read_value()
    with tf.control_dependencies([before]):
        (first,) = tpu.batch_parallel(
            lambda a: a + v.assign_add(1.0), [tf.zeros([CORES])], num_shards=CORES
        )
    with tf.control_dependencies([first]):
        after = v.read_value()
    with tf.control_dependencies([after]):
        doubled = v.assign(after * 2.0)
    with tf.control_dependencies([doubled]):
        second = adding(v)
    with tf.control_dependencies([second]):
        tripled = v.assign(v.read_value() * 3.0)
    value = 1.0
    with session() as sess:
        for _ in range(3):
            got = sess.run([before, first, after, doubled, second, tripled])
            wanted = [value, value + 1, value + 1, 2 * value + 2, 2 * value + 3, 6 * value + 9]
            assert [np.max(one) for one in got] == wanted
            value = wanted[-1]
            assert sess.run(v) == value
            assert sess.run(first)[0] == value + 1  # and what the host wrote is known on the cores
            value += 1
        # A read that is not ordered sees the one or the other, and the step happens once.
        for _ in range(5):
            got, seen = sess.run([first, v])
            value += 1
            assert got[0] == value and seen in (value - 1, value)
        with transfers.expected():  # the run before brought it
            assert sess.run(v) == value


def test_an_assignment_before_the_computation_needs_no_initializer():
    v = variable("v", 1.0)
    with tf.control_dependencies([v.initializer]):
        got = adding(v)
    with tf.Session() as sess:
        assert sess.run(got)[0] == sess.run(got)[0] == 2.0


def test_branches_and_loops_of_the_host():
    v = variable("v", 1.0)
    wanted = tf.placeholder(tf.bool, [])
    maybe = tf.cond(wanted, lambda: adding(v)[0], lambda: tf.constant(-1.0))
    loop = tf.while_loop(
        lambda i, last: i < 3,
        lambda i, last: (i + 1, adding(v)[0]),
        [0, 0.0],
        parallel_iterations=1,
    )
    with tf.Session() as sess:
        assert sess.run(maybe, {wanted: False}) == -1.0  # nobody asks for a value of v
        sess.run(v.initializer)
        assert sess.run(maybe, {wanted: True}) == 2.0
        assert sess.run(loop)[1] == 5.0
        assert sess.run(v) == 5.0


def dense(shards=CORES, lr=0.1):
    """A training computation; its input, its losses, the computation's own step and the host's."""
    steps = tf.train.get_or_create_global_step()
    x = tf.constant(np.random.RandomState(1).rand(2 * CORES, 3).astype("float32"))

    def computation(x):
        w = tf.get_variable("w", [3, 1], initializer=tf.ones_initializer())
        x = tf.layers.batch_normalization(x, training=True, name="bn")
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 2.0))
        opt = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(lr))
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            opt.minimize(loss)
        return loss

    with tf.variable_scope("model"):
        (losses,) = tpu.shard(computation, [x], num_shards=shards)
    with tf.control_dependencies([losses]):
        count = steps.assign_add(1)
    return losses, count


def plain(monkeypatch, function, *args, **kwargs):
    """What a function gives where the Session computes everything itself."""
    with monkeypatch.context() as patch:
        patch.delenv(partitioned_call.FORCE)
        with tf.Graph().as_default():
            return function(*args, **kwargs)


def trained(folder):
    """Losses of a training with hooks that is stopped, resumed, and looked at; its variables."""
    losses, count = dense()
    found = []
    for last in (4, 7):
        hooks = [
            tf.train.StopAtStepHook(last_step=last),
            tf.train.NanTensorHook(tf.reduce_mean(losses)),
            tf.train.CheckpointSaverHook(folder, save_steps=2),
            tf.train.StepCounterHook(every_n_steps=2),
        ]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=hooks, save_checkpoint_secs=None, log_step_count_steps=None
        ) as sess:
            while not sess.should_stop():
                found.append(sess.run([losses, count])[0])
    path = tf.train.latest_checkpoint(folder)
    names = sorted(name for name, _ in tf.train.list_variables(path))
    return found, {name: tf.train.load_variable(path, name) for name in names}


def same(got, wanted):
    # Sums over the cores are made in another order; a few steps of Adam.
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)


def test_hooks_and_checkpoints_of_a_monitored_session(monkeypatch, tmp_path):
    wanted, kept = plain(monkeypatch, trained, str(tmp_path / "plain"))
    got, saved = trained(str(tmp_path / "cores"))
    same(got, wanted)
    assert saved["global_step"] == kept["global_step"] == 7
    assert saved.keys() == kept.keys()
    for name in saved:
        same(saved[name], kept[name])


def test_a_saver_saves_and_restores_in_the_middle(transfers, tmp_path):
    losses, _ = dense()
    saver = tf.train.Saver()
    with session() as sess:
        first = [sess.run(losses) for _ in range(2)]
        path = saver.save(sess, str(tmp_path / "model"))
        with transfers.expected():
            wanted = [sess.run(losses) for _ in range(3)]
        saver.restore(sess, path)
        same([sess.run(losses) for _ in range(3)], wanted)
        sess.run(tf.global_variables_initializer())
        same([sess.run(losses) for _ in range(2)], first)
    with tf.Session() as other:  # it knows nothing of the first
        with pytest.raises(tf.errors.FailedPreconditionError, match="model/"):
            other.run(losses)
        saver.restore(other, path)
        same([other.run(losses) for _ in range(3)], wanted)


def test_sessions_of_one_graph_have_variables_of_their_own():
    v = variable("v", 1.0)
    got = adding(v)
    with tf.Session() as one, tf.Session() as other:
        one.run(v.initializer)
        other.run(v.assign(100.0))
        for step in range(3):
            assert one.run(got)[0] == 2.0 + step
            assert other.run(got)[0] == 101.0 + step
        assert (one.run(v), other.run(v)) == (4.0, 103.0)


def test_a_closed_session_leaves_nothing_on_the_cores():
    got = adding(variable("v", 1.0))
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    sess.run(got)
    kept = weakref.ref(coherence.mirror_of(sess, accelerator.strategy()).variables)
    assert kept() is not None
    sess.close()
    gc.collect()
    assert kept() is None


def test_computations_share_variables(transfers):
    v = variable("v", 1.0)
    train = adding(v)
    (look,) = tpu.batch_parallel(lambda a: a * v, [tf.ones([6])], num_shards=3)
    single = tpu.rewrite(lambda: v.assign_add(10.0))
    with session() as sess:
        with transfers.expected(loaded=["v"]):
            assert sess.run(train)[0] == 2.0
            np.testing.assert_array_equal(sess.run(look), np.full(6, 2.0))
            assert sess.run(single) == [12.0]
            np.testing.assert_array_equal(sess.run(train), np.full(16, 13.0))
            np.testing.assert_array_equal(sess.run(look), np.full(6, 13.0))
        with transfers.expected(read=["v"]):
            assert sess.run(v) == 13.0


def test_threads_share_a_session():
    v, seen = variable("v", 0.0), variable("seen", 0.0)
    got = adding(v)
    with tf.control_dependencies([got]):
        both = [got, v.read_value(), seen.assign_add(1.0)]
    failed = []
    with session() as sess:

        def work(fetches):
            try:
                for _ in range(10):
                    sess.run(fetches)
            except Exception as error:
                failed.append(error)

        fetches = [got, both, v, [got, got], both, v.assign_add(0.0)]
        threads = [threading.Thread(target=work, args=(one,)) for one in fetches[:5]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in threads) and not failed
        assert sess.run([v, seen]) == [40.0, 20.0]


def test_many_calls_at_once_leave_the_session_its_threads():
    v = variable("v", 0.0)
    rows = [adding(v) for _ in range(12)]
    with tf.control_dependencies(rows):
        last = v.read_value()
    config = tf.ConfigProto(inter_op_parallelism_threads=1, use_per_session_threads=True)
    with tf.Session(config=config) as sess:
        sess.run(v.initializer)
        assert sess.run(last) == 12.0
        assert sess.run(last) == 24.0


def test_callables_and_partial_runs():
    v = variable("v", 1.0)
    amount = tf.placeholder(tf.float32, [])
    (got,) = tpu.batch_parallel(
        lambda a: a + v.assign_add(amount), [tf.zeros([CORES])], num_shards=CORES
    )
    total = tf.reduce_sum(got)
    add = adding(v)
    assign = v.assign(tf.constant(50.0))
    with session() as sess:
        run, read, write = (sess.make_callable(one) for one in (add, v.value(), assign))
        assert run()[0] == run()[0] - 1.0 == 2.0
        assert read() == 3.0
        write()
        assert run()[0] == 51.0
        fed = sess.make_callable(got, [amount])
        assert fed(4.0)[0] == 55.0
        assert read() == 55.0

        with tf.control_dependencies([total]):
            after = v.read_value()
        late = tf.placeholder(tf.float32, [])
        with tf.control_dependencies([after]):
            written = v.assign(late)
        handle = sess.partial_run_setup([total, after, written], [amount, late])
        assert sess.partial_run(handle, total, {amount: 5.0}) == 60.0 * CORES
        assert sess.partial_run(handle, after) == 60.0
        assert run()[0] == 61.0
        assert sess.partial_run(handle, written, {late: 7.0}) == 7.0
        assert run()[0] == 8.0
        assert sess.run(v) == 8.0


def test_an_error_of_the_cores_has_its_type():
    v = variable("v", 1.0)
    x = tf.placeholder(tf.float32, [CORES])
    (got,) = tpu.batch_parallel(
        lambda a: tf.debugging.check_numerics(a * v, "on the cores"), [x], num_shards=CORES
    )
    with session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="on the cores"):
            sess.run(got, {x: np.full(CORES, np.nan)})
        np.testing.assert_array_equal(sess.run(got, {x: np.ones(CORES)}), np.ones(CORES))


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int32", "int64", "float16", "float64"])
def test_all_shards_start_from_what_shard_0_left(name):
    dtype = tf.as_dtype(name)
    v = tf.get_variable("v", [2], dtype, initializer=tf.zeros_initializer(), use_resource=True)
    x = np.arange(CORES) % 2 == 0 if name == "bool" else np.arange(3, 3 + CORES)

    def computation(a):
        before = v.read_value()
        with tf.control_dependencies([before]):
            update = v.assign(tf.stack([a[0], tf.zeros([], dtype)]))
        with tf.control_dependencies([update]):
            return tf.cast(before, tf.int32), tf.cast(v.read_value(), tf.int32)

    before, after = tpu.shard(computation, [tf.constant(x, dtype)], num_shards=CORES)
    with session() as sess:
        sess.run(before)
        for _ in range(2):
            got = sess.run([before, after])
            np.testing.assert_array_equal(got[0], [int(x[0]), 0] * CORES)
            np.testing.assert_array_equal(got[1][::2], x)
        np.testing.assert_array_equal(sess.run(v), np.array([x[0], 0], dtype.as_numpy_dtype))


def look(shards):
    """Every shard sums the squares of its part, weighted; nothing is changed."""
    w = variable("w", 3.0)
    x = np.arange(2 * shards, dtype="float32")
    return tpu.shard(lambda a: [tf.reduce_sum(a * a) * w, a], [tf.constant(x)], num_shards=shards)


def meet(shards):
    """The shards sum over all of them, change a variable each, and draw no numbers."""
    v = variable("v", 1.0)
    x = np.arange(2 * shards, dtype="float32") + 1

    def computation(a):
        share = a / tpu.cross_replica_sum(tf.reduce_sum(a))
        update = v.assign(v * 0.5 + tf.reduce_sum(share))
        with tf.control_dependencies([update]):
            return share, v.read_value(), v * 1.0

    return tpu.shard(computation, [tf.constant(x)], num_shards=shards)


def loop(shards):
    """The shards sum over all of them in a loop."""
    x = np.arange(2 * shards, dtype="float32") + 1

    def body(i, v):
        return i + 1, v / tpu.cross_replica_sum(tf.reduce_sum(v)) + 1.0

    return tpu.shard(
        lambda a: tf.while_loop(lambda i, v: i < 3, body, [0, a])[1],
        [tf.constant(x)],
        num_shards=shards,
    )


def results(build, shards):
    fetches = build(shards)
    with session() as sess:
        return [sess.run(fetches) for _ in range(3)], sess.run(tf.global_variables())


@pytest.mark.parametrize("shards", [1, 2, 4, 5, 8])
@pytest.mark.parametrize("build", [look, meet, loop])
@pytest.mark.parametrize("cores", [4, 1], indirect=True)
def test_any_number_of_shards_runs_on_the_cores(monkeypatch, build, shards):
    notices = []
    monkeypatch.setattr(journal, "notice", lambda code, text, *args: notices.append(code))
    wanted, kept = plain(monkeypatch, results, build, shards)
    got, ended = results(build, shards)
    for one, other in zip(got, wanted):
        for value, expected in zip(one, other):
            same(value, expected)
    same(ended, kept)
    assert "TPU354" not in notices


def test_shards_in_turns_draw_different_numbers():
    tf.set_random_seed(3)
    (got,) = tpu.shard(lambda: tf.random_uniform([4]), num_shards=20)
    with session() as sess:
        rows = sess.run(got).reshape(20, 4)
    assert len({tuple(row) for row in rows}) == 20


def test_a_random_update_of_one_program_is_the_same_for_all(transfers):
    v = variable("v", 0.0)
    single = tpu.rewrite(lambda: v.assign(tf.random_uniform([])))
    (look,) = tpu.batch_parallel(lambda a: a + v, [tf.zeros([CORES])], num_shards=CORES)
    with session() as sess:
        sess.run(look)
        for _ in range(3):
            with transfers.expected():
                (drawn,) = sess.run(single)
                np.testing.assert_array_equal(sess.run(look), np.full(CORES, drawn))


def test_what_the_host_runs_is_told_and_is_an_error_where_a_tpu_is_required(monkeypatch):
    notices = []
    monkeypatch.setattr(journal, "notice", lambda code, text, *args: notices.append((code, text)))

    def build():
        return tpu.batch_parallel(
            lambda a: tf.py_func(lambda b: b + 1, [a], tf.float32), [tf.zeros([8])], num_shards=8
        )

    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(build())[0], np.ones(8))
    assert [code for code, text in notices if "PyFunc" in text] == ["TPU354"]
    monkeypatch.setenv("TPUCOMPAT_REQUIRE_TPU", "1")
    monkeypatch.delenv("TPUCOMPAT_CORES")  # the cores that were made above are a TPU's from here on
    monkeypatch.setattr(environment.Environment, "tpu", property(lambda self: True))
    with pytest.raises(errors.SetupError, match="TPU358 .*PyFunc"):
        build()


class Scripts:
    """What a script may do between and within runs, by random choice."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)
        self.v, self.w = variable("v", 1.0), variable("w", [1.0, 2.0])
        x = np.arange(16, dtype="float32") / 8

        def train(a):
            total = tpu.cross_replica_sum(tf.reduce_mean(a)) / CORES
            moved = self.w.assign_sub(0.1 * total * self.w)
            kept = self.v.assign(self.v * 0.5 + tf.reduce_mean(a))
            with tf.control_dependencies([moved, kept]):
                return tf.reduce_sum(self.w.read_value()) + self.v.read_value()

        (self.train,) = tpu.shard(train, [tf.constant(x)], num_shards=CORES)
        (self.look,) = tpu.batch_parallel(lambda a: a * self.v, [tf.constant(x)], num_shards=4)
        (self.one,) = tpu.rewrite(lambda: self.w.assign_add([0.5, 0.25]))
        with tf.control_dependencies([self.train]):
            self.after = [self.v.read_value(), self.w.assign(self.w.read_value() + 1.0)]
        with tf.control_dependencies([self.v.assign_add(2.0), self.w.read_value()]):
            (self.then,) = tpu.batch_parallel(
                lambda a: a + self.v.assign_add(1.0), [tf.zeros([8])], num_shards=8
            )
        self.saver = tf.train.Saver()
        self.actions = [
            *[self.train, self.look, self.one, self.v, self.w, self.after, self.then],
            *[[self.look, self.v], self.v.assign(3.0), self.w.assign_add([0.0, 1.0])],
            *[tf.global_variables_initializer(), "save", "restore", "session"],
        ]

    def run(self, steps, path):
        found, saved = [], False
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        for number in self.random.randint(0, len(self.actions), steps):
            action = self.actions[number]
            if action == "save":
                self.saver.save(sess, path)
                saved = True
            elif action == "restore":
                if saved:
                    self.saver.restore(sess, path)
            elif action == "session":
                sess.close()
                sess = tf.Session()
                sess.run(tf.global_variables_initializer())
            else:
                got = tf.nest.flatten(sess.run(action))
                found.append((number, [one for one in got if one is not None]))
        found.append((-1, sess.run([self.v, self.w])))
        sess.close()
        return found


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_give_what_the_session_alone_gives(monkeypatch, seed, tmp_path):
    wanted = plain(monkeypatch, lambda: Scripts(seed).run(40, os.path.join(tmp_path, "plain")))
    got = Scripts(seed).run(40, os.path.join(tmp_path, "cores"))
    assert len(got) == len(wanted)
    for (number, one), (_, other) in zip(got, wanted):
        for value, expected in zip(one, other):
            np.testing.assert_allclose(value, expected, rtol=1e-5, err_msg=f"action {number}")
