"""Conditionals that are decided before a step runs: what is left computes the same, and nothing else runs."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tpucompat.engines import decided, flow

tf1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _conditionals_of_tensorflow_1():
    tf1.disable_control_flow_v2()


def written(build):
    """Name -> NodeDef of what ``build`` makes of the placeholders ``train`` and ``x``."""
    with tf.Graph().as_default() as graph:
        train = tf1.placeholder(tf.bool, [], "train")
        build(train, tf1.placeholder(tf.float32, [], "x"))
    return {node.name: node for node in graph.as_graph_def().node}


def run(nodes, fetches, **values):
    graph_def = tf1.GraphDef()
    graph_def.node.extend(nodes.values())
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        tf.import_graph_def(graph_def, name="")
        fed = {graph.get_tensor_by_name(name + ":0"): value for name, value in values.items()}
        return session.run(fetches, fed)


def without(nodes, train, wanted=("y:0",)):
    decided.take_out(nodes, {"train:0": np.bool_(train)}, wanted)
    flow.analyse(nodes)  # no node waits for one that is gone, or for itself
    return nodes


def operations(nodes):
    return {node.op for node in nodes.values()}


def dropout_or_not(train, x):
    tf.identity(tf1.cond(train, lambda: tf.negative(x), lambda: tf.exp(x)), "y")


@pytest.mark.parametrize("train", [True, False])
def test_the_branch_that_is_not_taken_goes(train):
    nodes = without(written(dropout_or_not), train)
    assert operations(nodes) & {"Switch", "Merge"} == set()
    assert operations(nodes) & {"Neg", "Exp"} == {"Neg" if train else "Exp"}
    # The predicate is no longer asked: it may be fed either way.
    for fed in (True, False):
        expected = run(written(dropout_or_not), "y:0", train=train, x=2.0)
        assert run(nodes, "y:0", train=fed, x=2.0) == expected


@pytest.mark.parametrize("known", [{}, {"x:0": np.float32(1)}, {"train:0": np.float32(1)}])
def test_what_is_not_known_to_be_true_or_false_decides_nothing(known):
    nodes = written(dropout_or_not)
    decided.take_out(nodes, known, ["y:0"])
    kinds = lambda nodes: {name: node.op for name, node in nodes.items()}
    assert kinds(nodes) == kinds(written(dropout_or_not))


def test_an_unknown_predicate_stays_within_a_branch_that_is_taken():
    def build(train, x):
        inner = lambda: tf1.cond(x > 0, lambda: tf.sqrt(x), lambda: tf.negative(x))
        tf.identity(tf1.cond(train, inner, lambda: tf.exp(x)), "y")

    nodes = without(written(build), True)
    assert {"Sqrt", "Neg"} <= operations(nodes) and "Exp" not in operations(nodes)
    assert [run(nodes, "y:0", train=False, x=x) for x in (4.0, -4.0)] == [2.0, 4.0]


def test_one_predicate_decides_all_conditionals_within():
    def build(train, x):
        inner = lambda: tf1.cond(train, lambda: tf.sqrt(x), lambda: tf.exp(x))
        tf.identity(tf1.cond(tf.identity(train), inner, lambda: tf.negative(x)), "y")

    nodes = without(written(build), True)
    assert operations(nodes) & {"Switch", "Merge", "Exp", "Neg"} == set()
    assert run(nodes, "y:0", train=False, x=4.0) == 2.0


@pytest.mark.parametrize("train", [True, False])
def test_a_merge_still_says_which_of_its_inputs_came(train):
    def build(train, x):
        off, on = tf1.raw_ops.Switch(data=x, pred=train)
        merged = tf1.raw_ops.Merge(inputs=[tf.negative(on), tf.exp(off)])
        tf.identity(merged.value_index, "y")

    nodes = without(written(build), train)
    assert "Merge" not in operations(nodes)
    assert run(nodes, "y:0", train=not train, x=1.0) == (0 if train else 1)


def test_a_loop_in_the_branch_runs_as_before():
    def build(train, x):
        loop = lambda: tf1.while_loop(lambda v: v < 100, lambda v: v * 2, [x])
        tf.identity(tf1.cond(train, loop, lambda: tf.exp(x)), "y")

    nodes = without(written(build), True)
    assert "Exp" not in operations(nodes)
    assert run(nodes, "y:0", train=False, x=3.0) == 192.0
    assert {"Enter", "Exit", "NextIteration"} & operations(without(written(build), False)) == set()


def test_what_waits_for_the_other_branch_never_runs():
    def build(train, x):
        off, on = tf1.raw_ops.Switch(data=x, pred=train)
        with tf.control_dependencies([tf.exp(off)]):
            waiting = tf.sqrt(x)
        tf.identity(tf1.raw_ops.Merge(inputs=[waiting, on]).output, "y")

    nodes = without(written(build), True)
    assert operations(nodes) & {"Sqrt", "Exp", "Switch", "Merge"} == set()
    assert run(nodes, "y:0", train=False, x=4.0) == 4.0


@pytest.mark.parametrize("wanted", ["y:0", "^y"])
def test_nothing_goes_where_the_host_takes_what_never_runs(wanted):
    def build(train, x):
        off, _ = tf1.raw_ops.Switch(data=x, pred=train)
        tf.exp(off, "y")

    assert without(written(build), True, [wanted]) == written(build)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Retval|not alive|dead"):
        run(written(build), "y:0", train=True, x=1.0)


def test_nothing_goes_where_a_merge_keeps_several_inputs():
    def build(train, x):
        off, on = tf1.raw_ops.Switch(data=x, pred=train)
        low, high = tf1.raw_ops.Switch(data=on, pred=x > 0)
        tf.identity(tf1.raw_ops.Merge(inputs=[off, tf.negative(low), high]).output, "y")

    nodes = without(written(build), True)
    assert nodes == written(build)
    assert [run(nodes, "y:0", train=True, x=x) for x in (3.0, -3.0)] == [3.0, 3.0]


def test_a_merge_runs_whatever_it_waits_for():
    def build(train, x):
        off, on = tf1.raw_ops.Switch(data=x, pred=train)
        with tf.control_dependencies([tf.exp(off)]):
            merged = tf1.raw_ops.Merge(inputs=[off, on])
        tf.identity(merged.output, "y")

    nodes = without(written(build), True)
    assert "Exp" not in operations(nodes)
    assert run(nodes, "y:0", train=False, x=4.0) == 4.0
