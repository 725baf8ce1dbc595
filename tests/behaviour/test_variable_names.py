"""Variables by the names of their values, and fed: resource variables as 1.15's reference variables."""

from __future__ import annotations

import types

import numpy as np
import pytest

from tpucompat.engines import session as engine
from tpucompat.engines import variables
from tpucompat.names import scope as scopes
from tpucompat.runtime import installation

tf = engine.enter_graph_mode()


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as opened:
        yield opened


@pytest.fixture(params=[False, True], ids=["reference", "resource"])
def w(session, request):
    ones = tf.ones_initializer()
    variable = tf.get_variable("w", [2], initializer=ones, use_resource=request.param)
    session.run(tf.global_variables_initializer())
    return variable


def test_a_name_is_the_value(session, w):
    with tf.name_scope("inner"):
        tf.identity(w, name="read")  # an operation of the script's own
    for name in ("w:0", "w/read:0"):
        tensor = session.graph.get_tensor_by_name(name)
        assert tensor.shape.as_list() == [2] and tensor.dtype.base_dtype == tf.float32
        assert session.run(name).tolist() == [1.0, 1.0]
        assert [value.tolist() for value in session.run([name, w])] == [[1.0, 1.0]] * 2
        assert session.run({"a": name})["a"].tolist() == [1.0, 1.0]
        assert session.run(tensor * 2).tolist() == [2.0, 2.0]
    assert variables.by_name(session.graph, "inner/read:0") is None
    assert variables.by_name(session.graph, "w:0") is (w if w.op.type == "VarHandleOp" else None)
    assert session.run("inner/read:0").tolist() == [1.0, 1.0]
    assert session.run("w/Initializer/ones:0").tolist() == [1.0, 1.0]
    with pytest.raises(KeyError):
        session.graph.get_tensor_by_name("v/read:0")
    with pytest.raises(ValueError):
        session.run("v:0")


def test_what_a_name_gives_can_be_written(session, w):
    tensor = session.graph.get_tensor_by_name("w:0")
    assert session.run(tf.assign(tensor, [3.0, 4.0])).tolist() == [3.0, 4.0]
    session.run(tf.scatter_add(tensor, [0], [9.0]))
    session.run(tf.assign_sub(w._ref(), [1.0, 1.0]))
    assert session.run(w).tolist() == [11.0, 3.0]
    w.load([6.0, 7.0], session)
    assert w.eval().tolist() == [6.0, 7.0]
    with session.as_default():
        w.load([8.0, 9.0])
    assert session.run("w:0").tolist() == [8.0, 9.0]


def test_a_feed_reaches_every_reader(session, w):
    doubled, tripled = w * 2, tf.identity(w) * 3
    chosen = tf.cond(tf.constant(True), lambda: doubled + 0.0, lambda: doubled)
    for key in (w, "w:0", session.graph.get_tensor_by_name("w:0")):
        results = session.run([doubled, tripled, w, chosen], {key: [5.0, 6.0]})
        expected = [[10.0, 12.0], [15.0, 18.0], [5.0, 6.0], [10.0, 12.0]]
        np.testing.assert_array_equal(results, expected)
    assert session.run(doubled).tolist() == [2.0, 2.0]
    handle = session.partial_run_setup([doubled, tripled], [w])
    assert session.partial_run(handle, doubled, {w: [7.0, 8.0]}).tolist() == [14.0, 16.0]


@pytest.mark.parametrize("resource", [False, True])
def test_a_variable_without_a_valid_shape_takes_any(session, resource):
    free = tf.Variable([1.0, 2.0], validate_shape=False, use_resource=resource)
    longer = tf.assign(free, [1.0, 2.0, 3.0], validate_shape=False)
    session.run(tf.global_variables_initializer())
    assert free.shape.ndims is None and session.run(free).tolist() == [1.0, 2.0]
    session.run(longer)
    assert session.run(free * 2).tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("resource", [False, True])
def test_a_variable_starts_with_the_initial_value_of_another(session, resource):
    first = tf.Variable(tf.random_normal([3]), name="first", use_resource=resource)
    second = tf.Variable(first.initialized_value() * 2.0, use_resource=resource)
    session.run(first.initializer)
    session.run(second.initializer)
    one, other = session.run([first, second])
    np.testing.assert_array_equal(one * 2, other)


def test_a_graph_that_was_saved_keeps_the_names(session, w, tmp_path):
    path = tf.train.Saver().save(session, str(tmp_path / "model"))
    with tf.Graph().as_default() as graph, tf.Session() as other:
        tf.train.import_meta_graph(path + ".meta").restore(other, path)
        assert other.run("w:0").tolist() == [1.0, 1.0]
        assert other.run(graph.get_tensor_by_name("w:0") + 1).tolist() == [2.0, 2.0]


def test_an_import_takes_a_variable_for_one_of_its_own(session, w):
    """As tensorflow_hub applies a module: variables of one graph in the place of another's."""
    with tf.Graph().as_default() as other:
        v = tf.get_variable("v", [2], use_resource=w.op.type == "VarHandleOp")
        tf.identity(v * 2.0, name="twice")
    graph_def, placed = other.as_graph_def(), tf.GraphDef()
    placed.CopyFrom(graph_def)
    for node in placed.node:  # tensorflow_hub puts placeholders where the variables were
        if node.name == "v" and node.op == "VarHandleOp":
            node.Clear()
            node.name, node.op = "v", "Placeholder"
            node.attr["dtype"].type = tf.resource.as_datatype_enum
            node.attr["shape"].shape.CopyFrom(tf.TensorShape([]).as_proto())
    for each in (graph_def, placed):
        found = {"v:0": session.graph.get_tensor_by_name("w:0")}
        [twice] = tf.import_graph_def(each, found, ["twice:0"], name="module")
        assert session.run(twice).tolist() == [2.0, 2.0]
        session.run(tf.assign(w, [1.0, 1.0]))
    read = other.get_operation_by_name("mul").inputs[0].name
    [doubled] = tf.import_graph_def(graph_def, {read: w}, ["twice:0"], name="value")
    assert session.run(doubled).tolist() == [2.0, 2.0]


def test_a_package_of_the_time_gets_what_tensorflow_gives(session, w, monkeypatch):
    """tensorflow_hub takes a handle into a loop; a variable it could not."""
    scope = scopes.Scope(["old"])
    monkeypatch.setattr(installation, "installed", lambda: types.SimpleNamespace(scope=scope))
    package = {"__name__": "old.module", "graph": session.graph}
    exec("found = graph.get_tensor_by_name('w:0')", package)
    assert isinstance(package["found"], tf.Tensor)
    assert package["found"].op.name == "w"


def test_hooks_take_the_name_of_a_variable(session, w):
    seen = []
    hook = tf.train.LoggingTensorHook(["w:0"], every_n_iter=1, formatter=seen.append)
    with tf.train.MonitoredSession(hooks=[hook]) as monitored:
        monitored.run(w)
        assert monitored.run(w.op.outputs[0], {"w:0": [2.0, 3.0]}).tolist() == [2.0, 3.0]
    assert [values["w:0"].tolist() for values in seen[:1]] == [[1.0, 1.0]]


def test_tensorflow_still_finds_the_handle(session):
    tf.get_variable("w", [2], use_resource=True)
    assert session.graph.as_graph_element("w:0").dtype == tf.resource
