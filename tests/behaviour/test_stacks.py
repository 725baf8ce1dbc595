"""Stacks of gradients of TF 1 loops: tensors stand on them in place of their shapes, nothing else is new."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tpucompat.engines import stacks

tf1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _loops_of_tensorflow_1():
    tf1.disable_control_flow_v2()


def split_in_a_loop(x):
    """One part goes unused: its gradient is zeros, of the shape that it had."""

    def body(i, y):
        first, _ = tf.split(y, [2, 1], axis=-1)
        return i + 1, tf.concat([first, tf.tanh(first[:, :1])], -1)

    return tf1.while_loop(lambda i, y: i < 3, body, (0, x))[1]


def broadcast_in_a_loop(x):
    """A gradient is added up over the axis that was not there."""
    return tf1.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * x[:, :1]), (0, x))[1]


def loop_in_a_loop(x):
    def body(i, y):
        return i + 1, split_in_a_loop(y)

    return tf1.while_loop(lambda i, y: i < 2, body, (0, x))[1]


def written(build):
    """Name -> NodeDef of a loop over ``x``, whose batch is not known, and of its gradient ``g``."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 3], "x")
        tf.identity(tf1.gradients(build(x), x)[0], "g")
    return {node.name: node for node in graph.as_graph_def().node}


def run(nodes):
    graph_def = tf1.GraphDef()
    graph_def.node.extend(nodes.values())
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        tf.import_graph_def(graph_def, name="")
        value = np.linspace(-1.0, 1.0, 12, dtype="float32").reshape(4, 3)
        return session.run("g:0", {graph.get_tensor_by_name("x:0"): value})


def pushed(nodes):
    """The operations whose results are put on stacks."""
    return [
        nodes[node.input[1].split(":")[0]].op for node in nodes.values() if node.op == "StackPushV2"
    ]


@pytest.mark.parametrize("build", [split_in_a_loop, broadcast_in_a_loop, loop_in_a_loop])
def test_shapes_are_asked_of_what_is_on_the_stack(build):
    nodes = written(build)
    assert "Shape" in pushed(nodes)
    expected = run(nodes)
    stacks.keep_values(nodes)
    assert "Shape" not in pushed(nodes)
    np.testing.assert_array_equal(run(nodes), expected)
