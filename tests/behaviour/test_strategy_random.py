"""Random computations with sums, loops, conditionals and assignments, against NumPy.

NumPy runs the same program on all replicas at once, one operation after the other in the order in
which the program makes them.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
import tensorflow as tf

from tpucompat.base.releases import release_of
from tpucompat.engines import calls
from tpucompat.engines.replicated_variables import ReplicatedVariables
from tpucompat.engines.strategy import ReplicatedStep, TracedStep, replay_in_graph

tf1 = tf.compat.v1

pytestmark = pytest.mark.skipif(
    tf.__version__.startswith("1."), reason="the strategy engine needs TensorFlow 2"
)

WIDTH, VARIABLES, LENGTH = 3, 3, 45
KINDS = ("add", "mul", "tanh", "max", "turn", "sum", "sums", "if", "loop", "read", "assign")
KINDS += ("where", "wait")
# tensorflow/core/ops/tpu_cross_replica_ops.cc: CrossReplicaSum takes no double up to 2.6.
SUMS_DOUBLES = release_of(tf.__version__) >= (2, 7)
KIND = np.float64 if SUMS_DOUBLES else np.float32
CLOSE = {"rtol": 1e-9, "atol": 1e-12} if SUMS_DOUBLES else {"rtol": 1e-4, "atol": 1e-5}


class Host:
    """The operations of the program, in TensorFlow (one replica) or NumPy (a row per replica)."""

    def __init__(self, replicas):
        self.replicas = replicas


class InNumpy(Host):
    tanh, maximum = staticmethod(np.tanh), staticmethod(np.maximum)

    def __init__(self, replicas, variables):
        super().__init__(replicas)
        self.variables = variables  # [replica, variable, element]

    def turned(self, a):
        return a[:, ::-1]

    def total(self, a, groups=1):
        parts = a.reshape(groups, -1, WIDTH).sum(1, keepdims=True)
        return np.broadcast_to(parts, [groups, self.replicas // groups, WIDTH]).reshape(a.shape)

    def either(self, a, yes, no, inside):
        chosen = (a.mean(1) > 0)[:, None]
        taken = np.where(chosen, yes(a), 0)
        return np.where(chosen, self.total(taken) if inside else taken, no(a))

    def loop(self, a, body):
        for _ in range(3):
            a = body(a)
        return a

    def read(self, which):
        return self.variables[:, which].copy()

    def assign(self, which, a, chosen=None):
        chosen = np.ones([self.replicas, 1], bool) if chosen is None else chosen
        self.variables[:, which] = np.where(chosen, a, self.variables[:, which])

    def assign_where(self, which, a):
        self.assign(which, a, (a.mean(1) > 0)[:, None])

    def barrier(self, a, other):
        return a


class InTensorFlow(Host):
    tanh, maximum = staticmethod(tf.tanh), staticmethod(tf.maximum)

    def __init__(self, replicas, variables):
        super().__init__(replicas)
        self.variables = variables
        self.updates = []

    def turned(self, a):
        return tf.reverse(a, [0])

    def total(self, a, groups=1):
        from tensorflow.python.tpu.ops import tpu_ops

        rows = np.arange(self.replicas).reshape(groups, -1).tolist()
        return tpu_ops.cross_replica_sum(a, rows)

    def either(self, a, yes, no, inside):
        def taken():
            return self.total(yes(a)) if inside else yes(a)

        return tf1.cond(tf.reduce_mean(a) > 0, taken, lambda: no(a))

    def loop(self, a, body):
        return tf1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, body(a)), [0, a])[1]

    def read(self, which):
        return self.variables[which].read_value()

    def assign(self, which, a):
        self.updates.append(self.variables[which].assign(a))

    def assign_where(self, which, a):
        v = self.variables[which]
        self.updates.append(
            tf1.cond(tf.reduce_mean(a) > 0, lambda: v.assign(a) + 0.0, lambda: a + 0.0)
        )

    def barrier(self, a, other):
        with tf.control_dependencies([tf.group(other)]):
            return tf.identity(a)


def program(seed, host, values):
    """Runs the program of a seed; its random choices are the same on both hosts."""
    choose = random.Random(seed)
    values = list(values)

    def pick():
        return values[choose.randrange(len(values))]

    for _ in range(LENGTH):
        kind = choose.choice(KINDS)
        a, b, which, factor = pick(), pick(), choose.randrange(VARIABLES), choose.uniform(-1, 1)
        inside, halves = choose.random() < 0.5, 2 if host.replicas > 1 else 1
        if kind == "add":
            values.append(a + b * factor)
        elif kind == "mul":
            values.append(host.tanh(a) * b)
        elif kind == "tanh":
            values.append(host.tanh(a + factor))
        elif kind == "max":
            values.append(host.maximum(a, b))
        elif kind == "turn":
            values.append(host.turned(a))
        elif kind == "sum":
            values.append(host.tanh(host.total(a) * factor))
        elif kind == "sums":
            values.append(host.tanh(host.total(a, halves)))
        elif kind == "if":
            values.append(
                host.either(
                    a + b,
                    lambda c, b=b, f=factor: host.tanh(c) * f + b,
                    lambda c: c - 1.0,
                    inside,
                )
            )
        elif kind == "loop":
            values.append(host.loop(a, lambda c, b=b, f=factor: host.tanh(c + b) * f))
        elif kind == "read":
            values.append(host.read(which) + a)
        elif kind == "assign":
            host.assign(which, host.tanh(a + b))
        elif kind == "where":
            host.assign_where(which, host.tanh(a - b))
        else:
            values.append(host.barrier(a, b))
    return [pick() for _ in range(4)]


def traced(seed, replicas, start):
    graph = tf.Graph()
    with graph.as_default():
        inputs = [tf1.placeholder(KIND, [WIDTH]) for _ in range(2)]
        variables = [
            tf1.get_variable(f"v{i}", initializer=start[i], use_resource=True)
            for i in range(VARIABLES)
        ]
        host = InTensorFlow(replicas, variables)
        outputs = program(seed, host, inputs)
        return TracedStep(graph, inputs, outputs, host.updates)


@pytest.mark.parametrize("seed", range(12))
def test_a_random_computation(strategy_of, seed, monkeypatch):
    replicas = (1, 2, 8)[seed % 3]
    if seed % 4:  # all stages become functions that the replicas share, also the small ones
        monkeypatch.setattr(calls, "_FEWEST_NODES", 1)
    numbers = np.random.RandomState(seed)
    start = numbers.randn(VARIABLES, WIDTH).astype(KIND)
    if seed % 2:
        tf1.enable_control_flow_v2()
    try:
        step = traced(seed, replicas, start)
    finally:
        tf1.disable_control_flow_v2()

    strategy = strategy_of(replicas)
    variables = ReplicatedVariables(strategy)
    variables.load({f"v{i}": start[i] for i in range(VARIABLES)})
    run = ReplicatedStep(step, strategy, variables)
    reference = InNumpy(replicas, np.tile(start, [replicas, 1, 1]))
    for _ in range(3):
        fed = numbers.randn(2, replicas, WIDTH).astype(KIND)
        wanted = program(seed, reference, fed)
        got = run([[fed[0, r], fed[1, r]] for r in range(replicas)])
        np.testing.assert_allclose(got, np.stack(wanted, 1), **CLOSE)
    for replica in range(replicas):
        values = variables.read(replica=replica)
        for name in step.variables:
            np.testing.assert_allclose(
                values[name], reference.variables[replica, int(name[1:])], **CLOSE
            )


@pytest.mark.parametrize("seed", range(12, 16))
def test_a_random_computation_in_one_session(seed):
    """Every shard has variables of its own here, so that the order of the shards does not matter."""
    replicas = (2, 4)[seed % 2]
    numbers = np.random.RandomState(seed)
    start = numbers.randn(VARIABLES, WIDTH).astype(KIND)
    step = traced(seed, replicas, start)
    reference = InNumpy(replicas, np.tile(start, [replicas, 1, 1]))
    fed = numbers.randn(2, replicas, WIDTH).astype(KIND)
    wanted = program(seed, reference, fed)
    with tf.Graph().as_default(), tf1.Session() as session:
        handles = []
        for shard in range(replicas):
            with tf1.variable_scope(f"shard_{shard}"):
                own = {
                    f"v{i}": tf1.get_variable(f"v{i}", initializer=start[i], use_resource=True)
                    for i in range(VARIABLES)
                }
            handles.append({name: variable.handle for name, variable in own.items()})
        feeds = [[tf.constant(fed[0, r]), tf.constant(fed[1, r])] for r in range(replicas)]
        shards = replay_in_graph(step, feeds, handles)
        session.run(tf1.global_variables_initializer())
        got, _ = session.run([[s.outputs for s in shards], [s.updates for s in shards]])
    np.testing.assert_allclose(got, np.stack(wanted, 1), **CLOSE)


def test_the_programs_hold_what_they_shall_hold():
    """The seeds above cover sums after sums, and sums inside conditionals."""
    stages, guarded = [], 0
    for seed in range(0, 12, 2):
        cut = traced(seed, 8, np.zeros([VARIABLES, WIDTH], KIND)).cut
        stages.append(len(cut.stages))
        guarded += sum(bool(one.conditions) for stage in cut.stages for one in stage.meetings)
    assert max(stages) >= 4 and guarded >= 3
