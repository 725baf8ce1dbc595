"""Identities are taken out of a step: what is left computes the same, in the same order."""

from __future__ import annotations

import pytest
import tensorflow as tf

from tpucompat.engines import flow, identities

tf1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _control_flow_of_tensorflow_1():
    tf1.disable_control_flow_v2()


def written(build):
    """Name -> NodeDef of what ``build`` makes of the placeholder ``x``."""
    with tf.Graph().as_default() as graph:
        build(tf1.placeholder(tf.float32, [], "x"))
    return {node.name: node for node in graph.as_graph_def().node}


def without(nodes, *wanted):
    identities.take_out(nodes, flow.analyse(nodes), wanted or ["y:0"])
    flow.analyse(nodes)
    return nodes


def run(nodes, fetches, x):
    graph_def = tf1.GraphDef()
    graph_def.node.extend(nodes.values())
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run(fetches, {graph.get_tensor_by_name("x:0"): x})


def left(nodes):
    """The identities that are left."""
    return {name for name, node in nodes.items() if node.op in ("Identity", "IdentityN")}


def test_a_chain_goes_and_its_user_takes_what_it_took():
    def build(x):
        tf.exp(tf.identity(tf.identity(x, "a"), "b"), "y")

    nodes = without(written(build))
    assert set(nodes) == {"x", "y"} and list(nodes["y"].input) == ["x:0"]
    assert run(nodes, "y:0", 0.0) == 1.0


def test_each_output_of_several_is_its_own():
    def build(x):
        one, two = tf.identity_n([x, tf.negative(x)], "both")
        tf.subtract(two, one, "y")

    nodes = without(written(build))
    assert left(nodes) == set()
    assert run(nodes, "y:0", 3.0) == -6.0


@pytest.mark.parametrize("wanted", ["a:0", "^a"])
def test_what_the_host_takes_stays(wanted):
    def build(x):
        tf.exp(tf.identity(x, "a"), "y")

    assert left(without(written(build), wanted)) == {"a"}


def test_what_waits_for_something_stays():
    def build(x):
        with tf.control_dependencies([tf.negative(x, "first")]):
            a = tf.identity(x, "a")
        tf.exp(a, "y")

    nodes = without(written(build))
    assert left(nodes) == {"a"} and list(nodes["a"].input) == ["x", "^first"]


def test_who_waits_for_one_waits_for_what_it_took():
    def build(x):
        first = tf.negative(x, "first")
        with tf.control_dependencies([tf.identity(first, "a"), tf.identity_n([first, x], "b")[0]]):
            tf.exp(x, "y")

    nodes = without(written(build))
    assert left(nodes) == set()
    assert list(nodes["y"].input) == ["x:0", "^first", "^x"]  # each once


@pytest.mark.parametrize("through", [lambda value: value, tf.identity])
def test_a_side_of_a_conditional_stays_where_something_waits_for_it(through):
    def build(x):
        off, on = tf1.raw_ops.Switch(data=x, pred=x > 0)
        pivots = [through(tf.identity(side)) for side in (off, on)]
        sides = []
        for pivot, value in zip(pivots, (1.0, 2.0)):
            with tf.control_dependencies([pivot]):
                sides.append(tf.constant(value))
        tf.identity(tf1.raw_ops.Merge(inputs=sides).output, "y")

    nodes = without(written(build))
    assert len(left(nodes) - {"y"}) == 2
    assert [run(nodes, "y:0", x) for x in (-1.0, 1.0)] == [1.0, 2.0]


def test_a_loop_keeps_its_own():
    def build(x):
        tf.exp(tf1.while_loop(lambda v: v < 3, lambda v: tf.identity(v) + 1, [x]), "y")

    nodes = written(build)
    inside = {name for name in left(nodes) if name.startswith("while/")}
    assert inside and left(without(nodes)) == inside
    assert run(nodes, "y:0", 3.0) == run(written(build), "y:0", 3.0)


def test_what_the_host_gives_may_stand_behind_one():
    """A node that is not among these is given by the host: it is never known to be a branch."""
    nodes = written(lambda x: tf.exp(tf.identity(x, "a"), "y"))
    del nodes["x"]
    assert list(without(nodes)["y"].input) == ["x:0"]
    nodes = written(lambda x: tf.exp(tf.identity(x, "a"), "y"))
    nodes["y"].input.append("^a")
    del nodes["x"]
    assert left(without(nodes)) == {"a"}
