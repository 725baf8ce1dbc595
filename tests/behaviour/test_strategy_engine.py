"""The strategy engine: one traced step, replayed on several replicas, in a Session graph, compiled."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tpucompat.base import errors
from tpucompat.engines import dataset as pipeline
from tpucompat.engines import trace
from tpucompat.engines.replicated_variables import ReplicatedVariables
from tpucompat.engines.strategy import ReplicatedStep, TracedStep, compilable, replay_in_graph
from tpucompat.tf import private

tf1 = tf.compat.v1

pytestmark = pytest.mark.skipif(
    tf.__version__.startswith("1."), reason="the strategy engine needs TensorFlow 2"
)

# Sums over replicas are made in another order than sums over a batch.
ROUNDING = {"rtol": 2e-5, "atol": 2e-6}


@pytest.fixture(params=["v1", "v2"])
def control_flow(request):
    """Both forms of conditionals and loops."""
    if request.param == "v2":
        tf1.enable_control_flow_v2()
    yield request.param
    tf1.disable_control_flow_v2()


# A Session places its whole graph, and there is no sum over cores for a CPU; this one places what it
# runs.
PRUNED = tf1.ConfigProto(graph_options=tf1.GraphOptions(place_pruned_graph=True))


def cross(value):
    return private.cross_replica_sum(value)


def variable(name, value, dtype=None):
    return tf1.get_variable(
        name, initializer=tf.constant(value, dtype=dtype), use_resource=True, trainable=False
    )


class Bench:
    """Traces a step and makes it ready to run."""

    def __init__(self, build, strategy=None, constants=None):
        self.graph = tf.Graph()
        with self.graph.as_default():
            inputs, outputs, updates = build()
            self.traced = TracedStep(self.graph, inputs, outputs, updates, constants)
            with tf1.Session(config=PRUNED) as session:
                session.run(tf1.global_variables_initializer())
                self.values = {
                    v.op.name: value
                    for v, value in zip(tf1.global_variables(), session.run(tf1.global_variables()))
                }
        if strategy is not None:
            self.variables = ReplicatedVariables(strategy)
            self.variables.load(self.values)
            self.step = ReplicatedStep(self.traced, strategy, self.variables)

    def session(self):
        """A Session of the traced graph itself, which has to hold no sum."""
        session = tf1.Session(graph=self.graph)
        with self.graph.as_default():
            session.run(tf1.global_variables_initializer())
        return session


def column(results, index=0):
    """One output of all replicas."""
    return [replica[index] for replica in results]


# Training --------------------------------------------------------------------------------------

BATCH, STEPS = 16, 5
EXAMPLES = np.random.RandomState(0).rand(BATCH, 5, 6).astype(np.float32)
LABELS = np.random.RandomState(1).randint(0, 4, BATCH).astype(np.int32)


def train(replicas, reduce):
    """A recurrent classifier; several sums, that of the norm after that of the gradients."""
    x = tf1.placeholder(tf.float32, [BATCH // replicas, 5, 6])
    y = tf1.placeholder(tf.int32, [BATCH // replicas])
    random = np.random.RandomState(2)

    def weights(name, *shape):
        value = random.randn(*shape).astype(np.float32) / 3
        return tf1.get_variable(name, initializer=value, use_resource=True)

    inner, recurrent, out = weights("in", 6, 8), weights("rec", 8, 8), weights("out", 8, 4)
    _, state = tf1.while_loop(
        lambda t, h: t < 5,
        lambda t, h: (t + 1, tf.tanh(tf.matmul(x[:, t], inner) + tf.matmul(h, recurrent))),
        (0, tf.zeros([BATCH // replicas, 8])),
        maximum_iterations=5,
    )
    state = tf1.cond(tf.size(state) > 3, lambda: state * 1.5, lambda: state - 7.0)
    loss = tf1.losses.sparse_softmax_cross_entropy(y, tf.matmul(state, out))
    step = tf1.train.get_or_create_global_step()
    rate = tf1.train.exponential_decay(0.1, step, 2, 0.7)
    optimizer = tf1.train.AdamOptimizer(rate)
    pairs = optimizer.compute_gradients(loss)
    gradients = [reduce(gradient / replicas) for gradient, _ in pairs]
    gradients, norm = tf1.clip_by_global_norm(gradients, 0.5)
    norm = reduce(norm / replicas)
    update = optimizer.apply_gradients(zip(gradients, [v for _, v in pairs]), step)
    return [x, y], [loss, norm], [update]


def parts(array, replicas):
    return np.split(array, replicas)


@pytest.mark.parametrize("replicas", [1, 2, 8])
def test_training_matches_one_device(strategy_of, control_flow, replicas):
    whole = Bench(lambda: train(1, lambda value: value))
    with whole.session() as session:
        feed = dict(zip(whole.traced.inputs, (EXAMPLES, LABELS)))
        fetches = [whole.traced.outputs, whole.graph.get_operation_by_name("Adam")]
        wanted = [session.run(fetches, feed)[0] for _ in range(STEPS)]
        final = session.run(whole.graph.get_tensor_by_name("rec/Read/ReadVariableOp:0"))

    bench = Bench(lambda: train(replicas, cross), strategy_of(replicas))
    feeds = list(zip(parts(EXAMPLES, replicas), parts(LABELS, replicas)))
    for loss, norm in wanted:
        results = bench.step(feeds)
        np.testing.assert_allclose(np.mean(column(results)), loss, **ROUNDING)
        np.testing.assert_allclose(column(results, 1), [norm] * replicas, **ROUNDING)
    for replica in {0, replicas - 1}:
        values = bench.variables.read(replica=replica)
        np.testing.assert_allclose(values["rec"], final, **ROUNDING)
        assert values["global_step"] == STEPS and values["global_step"].dtype == np.int64
    if replicas == 1:  # no sum is made at all
        np.testing.assert_array_equal(values["rec"], final)


def test_shards_in_one_session_match_the_replicas(strategy_of, control_flow):
    bench = Bench(lambda: train(4, cross), strategy_of(4))
    feeds = list(zip(parts(EXAMPLES, 4), parts(LABELS, 4)))
    wanted = [column(bench.step(feeds)) for _ in range(2)]
    with tf.Graph().as_default():
        copies = {name: variable(name, value) for name, value in bench.values.items()}
        handles = {name: copy.handle for name, copy in copies.items()}
        constants = [[tf.constant(value) for value in feed] for feed in feeds]
        shards = replay_in_graph(bench.traced, constants, handles)
        # Forward on all shards with the variables as they were; then shard 0 alone assigns.
        losses = [shard.outputs[0] for shard in shards]
        norms = [shard.outputs[1] for shard in shards]
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            np.testing.assert_allclose(session.run(losses), wanted[0], **ROUNDING)
            session.run([norms, shards[0].updates])
            np.testing.assert_allclose(session.run(losses), wanted[1], **ROUNDING)


# Sums ------------------------------------------------------------------------------------------


def test_sums_of_every_type(strategy_of):
    # The native operation takes float64 on recent releases only (2.4 does not), float16 from 2.1 on.
    summed = {attr.name: attr for attr in private.op_def("CrossReplicaSum").attr}["T"]
    types = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int32]
    types = [dtype for dtype in types if dtype in summed.allowed_values.list.type]
    assert len(types) >= 3

    def build():
        inputs = [tf1.placeholder(dtype, [2]) for dtype in types]
        return inputs, [cross(value) for value in inputs], []

    bench = Bench(build, strategy_of(4))
    feeds = [
        [np.full(2, replica + 1).astype(dtype.as_numpy_dtype) for dtype in types]
        for replica in range(4)
    ]
    for outputs in bench.step(feeds):
        for output, dtype in zip(outputs, types):
            assert output.dtype == dtype.as_numpy_dtype
            assert output.astype(np.float64).tolist() == [10, 10]


def test_sums_within_groups_of_replicas(strategy_of):
    from tensorflow.python.tpu.ops import tpu_ops

    def build():
        x = tf1.placeholder(tf.float32, [3])
        pairs = tpu_ops.cross_replica_sum(x, [[0, 2], [3, 1]])
        return [x], [pairs, tpu_ops.cross_replica_sum(pairs, [[0, 1, 2, 3]])], []

    bench = Bench(build, strategy_of(4))
    feeds = [[np.full(3, 10.0**replica)] for replica in range(4)]
    results = bench.step(feeds)
    assert [int(value[0]) for value in column(results)] == [101, 1010, 101, 1010]
    assert [int(value[0]) for value in column(results, 1)] == [2222] * 4
    with tf.Graph().as_default(), tf1.Session() as session:
        constants = [[tf.constant(feed[0], tf.float32)] for feed in feeds]
        shards = replay_in_graph(bench.traced, constants, {})
        np.testing.assert_array_equal(
            session.run([shard.outputs for shard in shards]), np.asarray(results)
        )


def test_exchanges_between_replicas(strategy_of):
    from tensorflow.python.tpu.ops import tpu_ops

    def build():
        x, flag = tf1.placeholder(tf.float32, [2, 4]), tf1.placeholder(tf.bool, [2])
        moved = tpu_ops.collective_permute(x, [[0, 1], [1, 3], [3, 0]])
        swapped = tpu_ops.all_to_all(x, 0, 1, 2, [[0, 2], [1, 3]])
        flags = tpu_ops.all_to_all(flag, 0, 0, 2, [[0, 1], [2, 3]])
        return [x, flag], [moved, swapped, flags], []

    bench = Bench(build, strategy_of(4))
    x = np.arange(32, dtype=np.float32).reshape(4, 2, 4)
    x[2, 0, 0] = np.inf  # must not spoil what others get
    flags = np.array([[True, False]] * 2 + [[False, True]] * 2)
    feeds = [[x[replica], flags[replica]] for replica in range(4)]

    def check(results):
        moved, swapped, flags = (column(results, index) for index in range(3))
        np.testing.assert_array_equal(moved, [x[3], x[0], np.zeros([2, 4]), x[1]])
        for replica, (group, half) in enumerate(
            [((0, 2), 0), ((1, 3), 0), ((0, 2), 1), ((1, 3), 1)]
        ):
            wanted = np.concatenate([x[member][:, 2 * half : 2 * half + 2] for member in group])
            np.testing.assert_array_equal(swapped[replica], wanted)
        assert np.array(flags).tolist() == [[True] * 2, [False] * 2, [False] * 2, [True] * 2]

    check(bench.step(feeds))
    with tf.Graph().as_default(), tf1.Session() as session:
        shards = replay_in_graph(bench.traced, [list(map(tf.constant, feed)) for feed in feeds], {})
        check(session.run([shard.outputs for shard in shards]))


def test_a_sum_in_a_conditional(strategy_of, control_flow):
    """Gradient accumulation: the replicas meet in every second step only."""

    def build():
        x = tf1.placeholder(tf.float32, [2])
        count, held = variable("count", 0), variable("held", [0.0, 0.0])
        total = variable("total", [0.0, 0.0])
        with tf.control_dependencies([count.assign_add(1), held.assign_add(x)]):
            now = tf.equal(count.read_value() % 2, 0)

        def apply():
            with tf.control_dependencies([total.assign_add(cross(held.read_value()))]):
                return held.assign(tf.zeros(2)).op

        return [x], [], [tf1.cond(now, apply, lambda: tf.no_op())]

    bench = Bench(build, strategy_of(2))
    for number in range(1, 6):
        bench.step([[np.array([number, 1.0])], [np.array([10.0 * number, 1.0])]])
    for replica in range(2):
        values = bench.variables.read(replica=replica)
        assert values["count"] == 5
        assert values["total"].tolist() == [110.0, 8.0]
    assert bench.variables.read(replica=1)["held"].tolist() == [50.0, 1.0]


@pytest.mark.parametrize("flags", [(1, 1), (1, 0), (0, 0)])
def test_a_sum_in_nested_conditionals_that_go_different_ways(strategy_of, control_flow, flags):
    def build():
        outer, inner = tf1.placeholder(tf.bool, []), tf1.placeholder(tf.bool, [])
        x = tf1.placeholder(tf.float32, [])
        deep = tf1.cond(
            outer,
            lambda: tf1.cond(inner, lambda: cross(x * 2.0) + 1.0, lambda: x * 3.0),
            lambda: tf.constant(-1.0),
        )
        return [outer, inner, x], [deep], []

    bench = Bench(build, strategy_of(2))
    got = column(bench.step([[True, flags[0], 5.0], [True, flags[1], 7.0]]))
    joined = 2 * (5.0 * flags[0] + 7.0 * flags[1]) + 1
    assert got == [joined if flags[0] else 15.0, joined if flags[1] else 21.0]
    got = column(bench.step([[False, flags[0], 5.0], [True, flags[1], 7.0]]))
    assert got == [-1.0, 15.0 if flags[1] else 21.0]


def test_a_sum_waits_for_its_control_inputs(strategy_of):
    def build():
        v = variable("v", 1.0)
        with tf.control_dependencies([v.assign(5.0)]):
            total = cross(tf.constant(1.0))
        with tf.control_dependencies([total]):
            return [], [v.read_value() + 0.0 * total], []

    assert column(Bench(build, strategy_of(2)).step([[], []])) == [5.0, 5.0]


def test_what_waits_for_several_sums_of_one_operation_waits_for_it_once():
    """A rehearsed TPUStrategy gives the sums of a stage together."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], "x")
        sums = [cross(x), cross(2.0 * x)]
        with tf.control_dependencies([each.op for each in sums]):
            tf.identity(x, "after")
    computation = trace.cut(graph, ["x:0"], ["after:0"], [], {})
    with tf.Graph().as_default(), tf1.Session() as session:
        replay = trace.replay(computation, [tf.constant([1.0, 2.0])], {})
        requests = next(replay)
        together = tf.unstack(tf.stack([request.value for request in requests]))
        with pytest.raises(StopIteration) as end:
            replay.send(together)
        assert session.run(end.value.value[0][0]).tolist() == [1.0, 2.0]


def test_operations_without_outputs_keep_their_order_across_sums(strategy_of):
    def build():
        x = tf1.placeholder(tf.float32, [])
        v = variable("v", 0.0)
        first = tf.group(v.assign(x))
        total = cross(x)
        with tf.control_dependencies([first, total.op]):
            second = tf.group(v.assign_add(100.0))
        with tf.control_dependencies([second]):
            last = cross(v.read_value())
        with tf.control_dependencies([last]):
            return [x], [last], [v.assign_add(1000.0).op]

    bench = Bench(build, strategy_of(2))
    assert column(bench.step([[1.0], [2.0]])) == [203.0, 203.0]
    assert [float(bench.variables.read(replica=r)["v"]) for r in (0, 1)] == [1101.0, 1102.0]


def test_sums_that_cannot_be_cut_are_refused(control_flow):
    def in_loop():
        x = tf1.placeholder(tf.float32, [])
        _, y = tf1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, cross(a)), [0, x])
        return [x], [y], []

    with pytest.raises(errors.UnsupportedGraphError, match=r"TPU362 CrossReplicaSum .* inside"):
        Bench(in_loop)


def test_a_sum_of_unknown_shape_in_a_conditional(strategy_of):
    def build(unknown):
        x = tf1.placeholder(tf.float32, [None])
        y = tf.boolean_mask(x, x > 0) if unknown else x
        return [x], [tf1.cond(x[0] > 0, lambda: cross(y), lambda: y)], []

    # The shapes that are fed count, and one replica meets nobody.
    results = Bench(lambda: build(False), strategy_of(2)).step([[[3.0]], [[4.0]]])
    assert column(results) == [[7.0], [7.0]]
    assert column(Bench(lambda: build(True), strategy_of(1)).step([[[3.0]]])) == [[3.0]]
    with pytest.raises(errors.UnsupportedGraphError, match="TPU362 .* is unknown"):
        Bench(lambda: build(True), strategy_of(2)).step([[[3.0]], [[4.0]]])


def test_a_sum_in_a_function(strategy_of):
    def build():
        x = tf1.placeholder(tf.float32, [2])
        v = variable("v", [0.0, 0.0])

        @tf.function(autograph=False)
        def inner(a):
            v.assign(a)
            return cross(a), a + 1.0

        @tf.function(autograph=False)
        def outer(a):
            total, more = inner(a * 2.0)
            return total + more

        return [x], [outer(x), v.read_value()], []

    results = Bench(build, strategy_of(2)).step([[[1.0, 2.0]], [[3.0, 4.0]]])
    assert [value.tolist() for value in column(results)] == [[11.0, 17.0], [15.0, 21.0]]
    assert [value.tolist() for value in column(results, 1)] == [[2.0, 4.0], [6.0, 8.0]]


# Variables -------------------------------------------------------------------------------------


def test_replicas_assign_their_own_copies(strategy_of):
    def build():
        x = tf1.placeholder(tf.float32, [2])
        moving, count = variable("moving", [0.0, 0.0]), variable("count", 3)
        flag, half = variable("flag", False), variable("half", 1.0, tf.bfloat16)
        updates = [
            moving.assign(moving * 0.5 + x),
            count.assign_add(2),
            flag.assign(tf.logical_not(flag)),
            half.assign(half * 3),
        ]
        return [x], [], updates

    bench = Bench(build, strategy_of(2))
    for _ in range(3):
        assert bench.step([[[1.0, 2.0]], [[4.0, 8.0]]]) == [[], []]
    first, second = bench.variables.read(), bench.variables.read(replica=1)
    assert first["moving"].tolist() == [1.75, 3.5]
    assert second["moving"].tolist() == [7.0, 14.0]
    assert first["count"] == second["count"] == 9
    assert first["flag"] and first["half"] == 27 and tf.as_dtype(first["half"].dtype) == tf.bfloat16
    # Replica 0 is the one that the host reads, and the host's values go to all.
    bench.variables.load({"moving": first["moving"]})
    assert bench.variables.read(["moving"], 1)["moving"].tolist() == [1.75, 3.5]


def test_steps_share_variables(strategy_of):
    strategy = strategy_of(2)

    def training():
        x = tf1.placeholder(tf.float32, [])
        w = variable("w", 1.0)
        return [x], [], [w.assign_add(cross(x))]

    def evaluation():
        return [], [variable("w", 0.0) * 2.0], []

    bench = Bench(training, strategy)
    evaluate = ReplicatedStep(Bench(evaluation).traced, strategy, bench.variables)
    bench.step([[3.0], [4.0]])
    assert column(evaluate([[], []])) == [16.0, 16.0]


def test_variables_that_are_only_assigned_or_only_read_or_never_used(strategy_of):
    def build():
        variable("spare", 5.0)
        only_read = variable("read", 2.0)
        return [], [only_read + 1.0], [variable("written", 0.0).assign(9.0)]

    bench = Bench(build, strategy_of(2))
    assert set(bench.traced.variables) == {"read", "written"}
    assert column(bench.step([[], []])) == [3.0, 3.0]
    assert bench.variables.read() == {"read": 2.0, "written": 9.0, "spare": 5.0}


def test_a_variable_without_value(strategy_of):
    def build():
        return [], [variable("a", 1.0) + variable("b", 1.0)], []

    bench = Bench(build)
    variables = ReplicatedVariables(strategy_of(2))
    step = ReplicatedStep(bench.traced, strategy_of(2), variables)
    variables.load({"a": 1.0})
    with pytest.raises(errors.UninitializedError, match="TPU365 .* 1 of .*: b"):
        step([[], []])
    variables.load({"b": np.ones(2)})
    with pytest.raises(errors.BadValueError, match=r"TPU368 .*'b' .*\(2,\)"):
        step([[], []])
    variables.load({"b": np.float32(5.0)})
    assert column(step([[], []])) == [6.0, 6.0]


def test_replicas_do_not_race(strategy_of):
    """What the graph leaves open is done in the order of its making, on all replicas alike."""

    def build():
        x = tf1.placeholder(tf.float32, [])
        step, seen = variable("step", 0), variable("seen", 0.0)
        early = tf.cast(step.read_value(), tf.float32)  # a learning rate of the step
        slow = tf.reduce_sum(tf.linalg.inv(tf.eye(64) * (early + 1.0)))  # takes its time
        updates = [step.assign(step + 1), seen.assign_add(slow), seen.assign(seen * 2.0)]
        late = tf.cast(step.read_value(), tf.float32) + x * 0.0
        return [x], [early, late, cross(late)], updates

    bench = Bench(build, strategy_of(8))
    seen = 0.0
    for number in range(10):
        results = bench.step([[1.0]] * 8)
        assert results == [[number, number + 1, 8.0 * (number + 1)]] * 8
        seen = (seen + 64 / (number + 1.0)) * 2
    values = [bench.variables.read(replica=replica)["seen"] for replica in range(8)]
    np.testing.assert_allclose(values, seen, rtol=1e-6)


def test_no_change_of_a_variable_is_lost(strategy_of):
    """Reads come first, but not those that are there to change the variable when an update has been made."""

    def build():
        x = tf1.placeholder(tf.float32, [])
        power, updates = variable("power", 1.0), []
        weights = [variable(f"w{index}", 0.0) for index in range(3)]
        for weight in weights:  # an optimizer that is applied to each
            with tf.control_dependencies([weight.assign_add(power * x)]):
                updates.append(power.assign(power.read_value() * 0.5))
        return [x], [cross(weights[0].read_value())], updates

    with tf.Graph().as_default() as graph:
        inputs, outputs, updates = build()
        traced = TracedStep(graph, inputs, outputs, updates, reads_first=True)
    variables = ReplicatedVariables(strategy_of(2))
    variables.load({"power": np.float32(1.0), **{f"w{i}": np.float32(0.0) for i in range(3)}})
    step = ReplicatedStep(traced, strategy_of(2), variables)
    for number in (1, 2):
        step([[1.0]] * 2)
        assert variables.read()["power"] == 0.5 ** (3 * number)
    assert [variables.read()[f"w{index}"] for index in range(3)] == [1.125] * 3


def test_a_variable_that_changes_its_shape(strategy_of):
    def build():
        v = tf1.get_variable(
            "v", initializer=tf1.placeholder_with_default([1.0], None), validate_shape=False
        )
        return [], [tf.size(v)], [tf1.assign(v, tf.concat([v, v], 0), validate_shape=False)]

    bench = Bench(build, strategy_of(2))
    assert [column(bench.step([[], []])) for _ in range(3)] == [[1, 1], [2, 2], [4, 4]]
    assert bench.variables.read()["v"].tolist() == [1.0] * 8


# Inputs and outputs ----------------------------------------------------------------------------


def test_outputs_may_be_inputs_constants_variables_and_text(strategy_of):
    def build():
        x, text = tf1.placeholder(tf.float32, [None]), tf1.placeholder(tf.string, [])
        default = tf1.placeholder_with_default(4, [])
        joined = tf.strings.join([text, "!"])
        v = variable("v", 2.0)
        return [x, text], [x, tf.constant(3), default, joined, v.read_value(), cross(x)], []

    bench = Bench(build, strategy_of(2))
    results = bench.step([[[1.0], b"a"], [[2.0], b"b"]])
    assert [r[0].tolist() for r in results] == [[1.0], [2.0]]
    assert [r[1:5] for r in results] == [[3, 4, b"a!", 2.0], [3, 4, b"b!", 2.0]]
    assert [r[5].tolist() for r in results] == [[3.0], [3.0]]


def test_the_batch_may_change_its_size(strategy_of):
    def build():
        x = tf1.placeholder(tf.float32, [None, 2])
        return [x], [tf.reduce_sum(x), tf.shape(cross(tf.reduce_mean(x, 0)))], []

    bench = Bench(build, strategy_of(2))
    for size in (4, 2, 4, 1, 7):
        results = bench.step([[np.ones([size, 2])], [np.ones([size, 2])]])
        assert column(results) == [2.0 * size] * 2
    if hasattr(bench.step._step, "experimental_get_tracing_count"):
        assert bench.step._step.experimental_get_tracing_count() == 2


def test_any_tensor_may_be_an_input(strategy_of):
    def build():
        data = tf.data.Dataset.range(10).batch(2)
        x = tf1.data.make_one_shot_iterator(data).get_next()  # stays on the host
        x.set_shape([2])
        return [x], [x * 2], []

    results = Bench(build, strategy_of(2)).step([[[1, 2]], [[3, 4]]])
    assert [value.tolist() for value in column(results)] == [[2, 4], [6, 8]]


def test_a_placeholder_with_one_value_for_good(strategy_of):
    graph = tf.Graph()
    with graph.as_default():
        phase, x = tf1.placeholder(tf.bool, []), tf1.placeholder(tf.float32, [])
        y = tf1.cond(phase, lambda: x + 1.0, lambda: x - 1.0)
        traced = [TracedStep(graph, [x], [y], [], {phase: value}) for value in (True, False)]
    for step, wanted in zip(traced, ([2.0, 6.0], [0.0, 4.0])):
        run = ReplicatedStep(step, strategy_of(2), ReplicatedVariables(strategy_of(2)))
        assert column(run([[1.0], [5.0]])) == wanted


def test_only_what_the_outputs_need_is_taken(strategy_of):
    def build():
        x = tf1.placeholder(tf.float32, [])
        tf1.placeholder(tf.float32, [], "elsewhere") + variable("elsewhere_too", 1.0)
        return [x], [x + 1.0], []

    bench = Bench(build, strategy_of(1))
    assert not bench.traced.variables
    assert bench.step([[1.0]]) == [[2.0]]


@pytest.mark.parametrize("for_tpu", [False, True])
def test_a_tpu_computes_nothing_for_assertions_alone(control_flow, for_tpu):
    """XLA ignores them, and has no kernel for the sets by which Keras' metrics compare shapes."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2], "x")
        held = variable("held", 1.0)
        common = tf.sets.intersection([[1]], tf.cast(x[:1], tf.int32))
        known = tf1.Assert(tf.size(common.values) > 0, [x])
        with tf.control_dependencies([known, held.assign_add(1.0)]):
            tf.identity(x, "y")
        cut = trace.cut(graph, ["x:0"], ["y:0"], [], {}, asserts=not for_tpu)
    used = {node.op for stage in cut.stages for node in stage.graph_def.node}
    used |= {node.op for function in cut.library.function for node in function.node_def}
    assert used.isdisjoint({"Assert", "DenseToDenseSetOperation"}) == for_tpu
    assert "AssignAddVariableOp" in used  # what has an effect is waited for


def test_an_element_of_another_type(strategy_of):
    def build():
        x = tf1.placeholder(tf.int32, [2], "count")
        return [x], [x], []

    with tf.Graph().as_default() as graph:
        crossing = pipeline.cross(tf.data.Dataset.range(8).batch(2), graph)
    feed = pipeline.distribute(crossing, strategy_of(2))
    with pytest.raises(errors.BadValueError, match=r"TPU366 count:0 is int32 .* int64"):
        Bench(build, strategy_of(2)).step.run(feed, 1)


@pytest.mark.parametrize(
    ("feeds", "message"),
    [([[1.0]], r"2 replica.* \[1\]"), ([[1.0], []], r"\[1, 0\]")],
    ids=["too few replicas", "too few inputs"],
)
def test_feeds_that_do_not_fit(strategy_of, feeds, message):
    def build():
        x = tf1.placeholder(tf.float32, [])
        return [x], [x], []

    with pytest.raises(errors.BadValueError, match="TPU366 .*" + message):
        Bench(build, strategy_of(2)).step(feeds)


# What a computation may hold -------------------------------------------------------------------


def test_python_functions_prints_and_checks(strategy_of, capfd):
    def build():
        x = tf1.placeholder(tf.float32, [])
        y = tf1.py_func(lambda value: value * np.float32(2), [x], tf.float32)
        y = tf1.Print(y, [y], "value is ")
        with tf.control_dependencies([tf1.debugging.assert_less(y, 100.0)]):
            return [x], [cross(tf.reshape(y, []))], []

    bench = Bench(build, strategy_of(2))
    assert column(bench.step([[1.0], [2.0]])) == [6.0, 6.0]
    assert "value is [2]" in capfd.readouterr().err
    with pytest.raises(tf.errors.InvalidArgumentError):
        bench.step([[1.0], [200.0]])


def test_assignments_in_conditionals_and_loops(strategy_of, control_flow):
    def build():
        x = tf1.placeholder(tf.int32, [])
        odd, calls = variable("odd", 0), variable("calls", 0)
        update = tf1.cond(tf.equal(x % 2, 1), lambda: odd.assign_add(x), lambda: tf.identity(odd))

        def body(i):
            with tf.control_dependencies([calls.assign_add(1)]):
                return i + 1

        loop = tf1.while_loop(lambda i: i < x, body, [0])
        return [x], [loop], [update]

    bench = Bench(build, strategy_of(2))
    for values in ((1, 2), (3, 3)):
        assert column(bench.step([[value] for value in values])) == list(values)
    assert [int(bench.variables.read(replica=r)["odd"]) for r in (0, 1)] == [4, 3]
    assert [int(bench.variables.read(replica=r)["calls"]) for r in (0, 1)] == [4, 5]


def test_gradients_through_loops_within_loops(strategy_of, control_flow):
    def build(replicas):
        x = tf1.placeholder(tf.float32, [2])

        def inner(i, a):
            _, b = tf1.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, tf.sin(b) * a), [0, a])
            return i + 1, b

        _, y = tf1.while_loop(lambda i, a: i < 3, inner, [0, x])
        gradient = tf1.gradients(y, x)[0]
        return [x], [y, gradient, cross(gradient) if replicas > 1 else gradient], []

    alone = Bench(lambda: build(1))
    wanted = []
    with alone.session() as session:
        for value in ([0.5, 1.0], [2.0, -1.0]):
            wanted.append(session.run(alone.traced.outputs, {alone.traced.inputs[0]: value}))
    results = Bench(lambda: build(2), strategy_of(2)).step([[[0.5, 1.0]], [[2.0, -1.0]]])
    for result, (value, gradient, _) in zip(results, wanted):
        np.testing.assert_allclose(result[:2], [value, gradient], rtol=1e-6)
        np.testing.assert_allclose(result[2], wanted[0][1] + wanted[1][1], rtol=1e-6)


@pytest.mark.parametrize("kind", ["one", "two", "parallel", "nested", "conditional", "sum", "long"])
def test_gradients_that_wait_for_what_the_loop_gives(strategy_of, control_flow, kind):
    """As in ``with control_dependencies(UPDATE_OPS): minimize``: the gradient adds to a loop that is done."""
    steps = 40 if kind == "long" else 3  # TensorFlow itself stops there: 10 steps run side by side

    def loop(x, name):
        rate = tf1.get_variable(name, initializer=1.5, use_resource=True)

        def body(i, a):
            if kind == "nested":
                _, b = tf1.while_loop(lambda j, _: j < 2, lambda j, b: (j + 1, tf.sin(b)), [0, a])
                return i + 1, b * rate
            if kind == "conditional":
                return i + 1, tf1.cond(a[0] > 0.3, lambda: tf.sin(a), lambda: a * rate)
            return i + 1, tf.sin(a * rate)

        return tf1.while_loop(lambda i, _: i < steps, body, [0, x])[1]

    def build(waits, meet=tf.identity):
        x = tf1.placeholder(tf.float32, [2])
        given = [loop(x, "first")]
        if kind in ("two", "parallel"):
            given.append(loop(given[0] if kind == "two" else 2.0 * x, "second"))
        updates = []
        for index, y in enumerate(given):
            average = variable(f"average{index}", 0.0)
            updates.append(average.assign_add(meet(tf.reduce_mean(y))).op)
        with tf.control_dependencies(updates if waits else []):
            gradients = tf1.gradients(given, [x, *tf1.trainable_variables()])
        return [x], [*given, *gradients], updates

    plain = Bench(lambda: build(False))
    with plain.session() as session:
        wanted = session.run(plain.traced.outputs, {plain.traced.inputs[0]: [0.5, 1.0]})
    replicas = 2 if kind == "sum" else 1
    meet = cross if kind == "sum" else tf.identity
    bench = Bench(lambda: build(True, meet), strategy_of(replicas))
    for result in bench.step([[[0.5, 1.0]]] * replicas):
        for got, value in zip(result, wanted):
            np.testing.assert_allclose(got, value, rtol=1e-6)
    np.testing.assert_allclose(
        bench.variables.read()["average0"], np.mean(wanted[0]) * replicas, rtol=1e-6
    )


@pytest.mark.parametrize("place", ["outside", "in a loop"])
def test_random_numbers_differ_between_replicas(strategy_of, control_flow, place):
    def build(seed):
        def draw():
            return tf1.random_uniform([4], seed=seed)

        if place == "outside":
            return [], [draw()], []
        start = tf.zeros([4])
        return [], [tf1.while_loop(lambda v: v[0] < 0.001, lambda v: draw(), [start])], []

    for seed in (None, 5):
        bench = Bench(lambda seed=seed: build(seed), strategy_of(4))
        draws = [column(bench.step([[]] * 4)) for _ in range(2)]
        assert len({value.tobytes() for values in draws for value in values}) == 8
    # Replica 0 keeps the seed: it draws what a Session draws.
    with bench.session() as session:
        wanted = [session.run(bench.traced.outputs[0]) for _ in range(2)]
    np.testing.assert_array_equal([values[0] for values in draws], wanted)


def test_places_and_colocation_are_forgotten(strategy_of):
    def build():
        x = tf1.placeholder(tf.float32, [])
        with tf1.device("/job:worker/task:3/device:TPU:7"):
            y = x + 1.0
        with tf1.colocate_with(y.op):
            z = y * 2.0
        return [x], [z], []

    assert column(Bench(build, strategy_of(2)).step([[1.0], [2.0]])) == [4.0, 6.0]


def test_decoration_of_the_tpu_rewrite_is_dropped(strategy_of):
    from tensorflow.python.tpu.ops import tpu_ops

    def build():
        x = tf1.placeholder(tf.float32, [])
        y = tpu_ops.tpu_replicated_input([x])
        tf1.get_default_graph()
        meta = tpu_ops.tpu_replicate_metadata(num_replicas=1)
        with tf.control_dependencies([meta]):
            z = tpu_ops.tpu_replicated_output(y + 1.0, num_replicas=1)[0]
        z.op._set_attr("_tpu_replicate", tf1.AttrValue(s=b"cluster"))
        return [x], [z], []

    assert column(Bench(build, strategy_of(2)).step([[1.0], [2.0]])) == [2.0, 3.0]


def refused():
    from tensorflow.python.tpu.ops import tpu_ops

    def no_feed():
        return [], [tf1.placeholder(tf.float32, [], "forgotten") + 1.0], []

    def reference_variable():
        return [], [tf1.get_variable("ref", initializer=1.0, use_resource=False) + 1.0], []

    def iterator():
        data = tf.data.Dataset.range(3)
        return [], [tf1.data.make_one_shot_iterator(data).get_next()], []

    def table():
        initializer = tf1.lookup.KeyValueTensorInitializer([1], [2])
        return [], [tf1.lookup.StaticHashTable(initializer, 0).lookup(tf.constant(1))], []

    def infeed():
        return [], [tpu_ops.infeed_dequeue(tf.float32, [])], []

    def groups():
        fed = tf1.placeholder(tf.int32, [1, 2])
        return [fed], [tf.raw_ops.CrossReplicaSum(input=1.0, group_assignment=fed)], []

    return [
        (no_feed, "TPU360 .*'forgotten'"),
        (reference_variable, "TPU361 .*reference variable .*'ref'"),
        (iterator, "TPU361 .*iterator"),
        (table, "TPU361 .*lookup table"),
        (infeed, "TPU361 .*infeed"),
        (groups, "TPU364"),
    ]


@pytest.mark.parametrize("case", range(6))
def test_what_cannot_be_replayed_is_refused_by_name(case):
    build, message = refused()[case]
    with pytest.raises(
        errors.UnsupportedGraphError, match=message
    ), tf.Graph().as_default() as graph:
        inputs, outputs, updates = build()
        TracedStep(graph, inputs, outputs, updates)


# Several steps in one call ---------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [1, 2])
def test_several_steps_in_one_call(strategy_of, replicas):
    def build():
        fed = tf1.placeholder(tf.int64, [None])
        x, total = tf.cast(fed, tf.int32), variable("total", 0)
        with tf.control_dependencies([total.assign_add(cross(tf.reduce_sum(x)))]):
            return [fed], [total.read_value(), x], []

    with tf.Graph().as_default() as graph:
        data = tf.data.Dataset.range(22).batch(2, drop_remainder=True)
        crossing = pipeline.cross(data, graph)
    bench = Bench(build, strategy_of(replicas))
    feed = pipeline.distribute(crossing, strategy_of(replicas))
    seen = 2 * replicas * 3
    results = bench.step.run(feed, 3)
    assert column(results) == [sum(range(seen))] * replicas
    assert column(results, 1)[0].tolist() == [seen - 2 * replicas, seen - 2 * replicas + 1]
    results = bench.step.run(feed, 2, stacked=True)
    after = [sum(range(seen + 2 * replicas * n)) for n in (1, 2)]
    assert [value.tolist() for value in column(results)] == [after] * replicas
    assert column(results, 1)[0].shape == (2, 2)
    with pytest.raises(tf.errors.OutOfRangeError):
        bench.step.run(feed, 100)
    whole = 22 - 22 % (2 * replicas)
    assert bench.variables.read()["total"] == sum(range(whole))


# Compilation and older TensorFlow --------------------------------------------------------------


def test_one_replica_lowers_for_a_compiler(strategy_of):
    tf1.enable_control_flow_v2()  # a TPU takes both forms, TensorFlow's jit_compile this one only
    try:
        lower_and_compare(strategy_of)
    finally:
        tf1.disable_control_flow_v2()


def lower_and_compare(strategy_of):
    bench = Bench(lambda: train(2, cross), strategy_of(1))
    with private.eager_mode():
        step = compilable(bench.traced, bench.variables)
        specs = [tf.TensorSpec(t.shape, t.dtype) for t in bench.traced.inputs]
        held = {op.type for op in step.get_concrete_function(*specs).graph.get_operations()}
        assert "VarHandleOp" not in held and "CrossReplicaSum" not in held
        text = step.experimental_get_compiler_ir(*specs)(stage="hlo")
        assert "while" in text and "dot" in text
        compiled = step(EXAMPLES[:8], LABELS[:8])
    plain = Bench(lambda: train(2, lambda value: value), strategy_of(1))
    wanted = plain.step([[EXAMPLES[:8], LABELS[:8]]])[0]
    # XLA fuses and orders float32 arithmetic in its own way.
    np.testing.assert_allclose([value.numpy() for value in compiled], wanted, rtol=1e-5)


def test_functions_of_a_tensorflow_without_the_attribute(strategy_of, monkeypatch):
    monkeypatch.setattr(
        private, "plain_function", lambda function, **_: private.wrapped_functions(function)
    )
    test_training_matches_one_device(strategy_of, "v1", 2)
    test_several_steps_in_one_call(strategy_of, 2)
    test_the_batch_may_change_its_size(strategy_of)
