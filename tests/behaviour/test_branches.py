"""Conditionals in TF 1 loops, and their gradients: stacks are used in every turn, and the numbers stay."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tpucompat.base import errors
from tpucompat.base.machine import environment
from tpucompat.engines import branches, flow, graphdef, rehearsal, trace
from tpucompat.tf import private

tf1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _control_flow_of_tensorflow_1():
    tf1.disable_control_flow_v2()


def turns(x, body, number=3):
    return tf1.while_loop(
        lambda i, y: i < number,
        lambda i, y: (i + 1, body(i, y)),
        (0, x),
        maximum_iterations=number,
    )[1]


def by_number(x):
    return turns(x, lambda i, y: tf1.cond(i > 0, lambda: tf.sin(tf.tanh(y)), lambda: y * 1.5))


def by_value(x):
    def body(i, y):
        return tf1.cond(tf.reduce_all(y > 0.3), lambda: tf.sin(tf.exp(y)), lambda: x * y)

    return turns(x, body)


def in_branches_of_branches(x):
    def body(i, y):
        inner = lambda: tf1.cond(i > 1, lambda: tf.square(tf.exp(y)), lambda: tf.sin(y))
        return tf1.cond(i > 0, inner, lambda: y * tf.cos(y))

    return turns(x, body)


def of_an_array(x):
    """As the decoder of tf.contrib.seq2seq reads its inputs."""
    rows = tf1.TensorArray(tf.float32, 2).unstack(x)

    def body(i, y):
        read = lambda: rows.read(tf.minimum(i, 1))
        return y * tf1.cond(i > 1, lambda: tf.zeros_like(y), read)

    return turns(tf.reduce_sum(x, 0), body)


def of_rows(x):
    return tf1.cond(tf.reduce_sum(x) > 0, lambda: tf.gather(x, [1, 0]), lambda: x * 1.5)


def asked_by_the_condition_alone(x):
    """What a loop's condition takes, and its body does not."""
    return tf1.while_loop(
        lambda ended, i, y: tf.logical_not(ended),
        lambda ended, i, y: (i > 1, i + 1, tf.sin(y)),
        (False, 0, x),
        maximum_iterations=5,
    )[2]


def loop_in_a_branch(x):
    return tf1.cond(tf.reduce_sum(x) > 0, lambda: turns(x, lambda i, y: tf.tanh(y * x)), lambda: x)


BUILDS = [
    by_number,
    by_value,
    in_branches_of_branches,
    of_an_array,
    of_rows,
    asked_by_the_condition_alone,
]


def written(build):
    """Name -> NodeDef of what is built of ``x``, and of its gradient ``g``."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 3], "x")
        with private.XlaContext():
            tf.identity(tf1.gradients(build(x), x)[0], "g")
    graph_def = graph.as_graph_def()
    nodes = {node.name: node for node in graph_def.node}
    for node in nodes.values():
        graphdef.free(node)
    return trace._needed(nodes, ["g:0"], set())


def imported(nodes, value):
    graph_def = tf1.GraphDef()
    graph_def.node.extend(node for node in nodes.values() if node.name != "x")
    return tf.import_graph_def(graph_def, {"x:0": value}, ["g:0"], name="")[0]


VALUE = np.linspace(0.1, 0.9, 6, dtype="float32").reshape(2, 3)


def run(nodes):
    with tf.Graph().as_default(), tf1.Session() as session:
        return session.run(imported(nodes, tf.constant(VALUE)))


def compiled(nodes):
    graph = private.func_graph()("whole")
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2, 3])
        found = imported(nodes, x)
    with tf.Graph().as_default(), tf1.Session() as session:
        name = f"whole_{id(nodes)}"
        return session.run(rehearsal._compiled(name, graph, [x], [found], [tf.constant(VALUE)])[0])


@pytest.mark.parametrize("build", BUILDS)
def test_the_numbers_stay(build):
    nodes = written(build)
    expected = run(nodes)
    branches.even_out(nodes)
    flow.in_order(nodes)
    np.testing.assert_array_equal(run(nodes), expected)


@pytest.mark.skipif(not environment().has("rehearsal"), reason="XlaLaunch of 2.15 or later")
@pytest.mark.parametrize("build", BUILDS)
def test_xla_compiles_it(build):
    nodes = written(build)
    expected = run(nodes)
    with pytest.raises(tf.errors.OpError, match="Retval|predicat|CondContext|Switch"):
        compiled(nodes)
    branches.even_out(nodes)
    np.testing.assert_allclose(compiled(nodes), expected, rtol=1e-5)


def test_a_loop_with_a_gradient_in_a_branch_is_refused():
    with pytest.raises(
        errors.UnsupportedGraphError, match="TPU395 a loop with a gradient"
    ) as found:
        branches.even_out(written(loop_in_a_branch))
    assert "cond/while" in found.value.operation[0]


def test_what_has_no_conditional_stays():
    nodes = written(lambda x: turns(x, lambda i, y: tf.tanh(y * x)))
    before = {name: node.SerializeToString(deterministic=True) for name, node in nodes.items()}
    branches.even_out(nodes)
    after = {name: node.SerializeToString(deterministic=True) for name, node in nodes.items()}
    assert after == before
