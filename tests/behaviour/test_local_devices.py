"""Jobs of a TPU's cluster in graphs that a Session runs in this process."""

import pytest
import tensorflow
import tensorflow.compat.v1 as tf

from tpucompat.base import journal
from tpucompat.engines import local_devices

JOBS = [
    "/job:worker/task:0/device:CPU:0",
    "/job:worker/replica:0/task:3/cpu:0",
    "/job:tpu_worker/device:CPU:0",
    "/job:coordinator/task:0",
    "/job:worker",
]


@pytest.mark.parametrize(
    "device, here",
    [
        ("/job:worker/replica:0/task:1/device:CPU:0", "/device:CPU:0"),
        ("/job:tpu_worker/task:0/device:TPU:3", "/device:TPU:3"),
        ("/job:coordinator", ""),
        (
            "/job:localhost/replica:0/task:0/device:CPU:1",
            "/job:localhost/replica:0/task:0/device:CPU:1",
        ),
        ("/device:CPU:0", "/device:CPU:0"),
        ("", ""),
    ],
)
def test_the_device_of_this_machine(device, here):
    assert local_devices.local(device) == here


@pytest.mark.parametrize("job", JOBS)
def test_operations_of_other_jobs_run_here(job):
    with tf.device(job):
        a = tf.constant(2.0)
        v = tf.get_variable("v", [], initializer=tf.ones_initializer())
        with tf.device(lambda operation: job):
            total = a + v
        rows = tf.data.Dataset.range(6).map(lambda x: x * 2).batch(2)
        iterator = tf.data.make_initializable_iterator(rows)
        batch = iterator.get_next()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), iterator.initializer])
        assert session.run(total) == 3.0
        assert session.make_callable(batch)().tolist() == [0, 2]
        with tf.device(job):
            later = total * 2  # what is made when the Session has run
            chosen = tf.cond(total > 0, lambda: later, lambda: a)
        assert session.run([later, chosen]) == [6.0, 6.0]


def test_operations_of_a_tpu_run_on_the_host_and_are_said_to(capsys, monkeypatch):
    monkeypatch.setattr(journal, "quiet", False)
    journal.reset()
    with tf.Graph().as_default():
        with tf.device("/job:tpu_worker/task:0/device:TPU:1"):
            product = tf.multiply(tf.constant(2.0), 3.0, name="product")
        meta_graph = tf.train.export_meta_graph()
        with tf.Session() as session:
            assert session.run(product) == 6.0
    said = capsys.readouterr().err
    assert "TPU464" in said
    assert (
        "the host runs Mul 'product', which the script places on /job:tpu_worker/task:0/device:TPU:1"
        in said
    )
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta_graph)
        with tf.Session() as session:
            assert session.run("product:0") == 6.0


def test_an_imported_graph_runs_here():
    with tf.Graph().as_default():
        with tf.device(JOBS[0]):
            tf.add_to_collection("value", tf.constant(3.0) + tf.get_variable("v", initializer=1.0))
        meta_graph = tf.train.export_meta_graph()
    assert "/job:worker" in str(meta_graph)
    saver = tf.train.import_meta_graph(meta_graph)
    assert saver is not None
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(tf.get_collection("value")) == [4.0]


def test_a_server_knows_its_jobs():
    server = tf.train.Server({"local": ["localhost:0"]}, protocol="grpc")
    with tf.device("/job:local/task:0/device:CPU:0"):
        value = tf.constant(1.0) + 1.0
    with tf.Session(server.target) as session:
        assert session.run(value) == 2.0
    assert value.op.device == "/job:local/task:0/device:CPU:0"
    with tf.device("/job:worker"):
        elsewhere = tf.constant(1.0)
    with tf.Session(server.target) as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(elsewhere)


def test_operations_are_looked_at_once(monkeypatch):
    asked = []
    listed = tf.Graph.get_operations

    def counted(graph):
        asked.append(graph)
        return listed(graph)

    with tf.device(JOBS[0]):
        value = tf.constant(1.0) + 1.0
    monkeypatch.setattr(tf.Graph, "get_operations", counted)
    with tf.Session() as session:
        assert session.run(value) == 2.0
        assert asked
        del asked[:]
        assert session.run(value) == session.run(value) == 2.0
    assert not asked


def test_a_device_of_another_kind_stays_an_error():
    with tf.device("/job:worker/device:GPU:7"):
        value = tf.constant(1.0)
    config = tf.ConfigProto(allow_soft_placement=False)
    with tf.Session(config=config) as session, pytest.raises(
        tensorflow.errors.InvalidArgumentError
    ):
        session.run(value)
