"""Codes that no other test reads by their number: each is provoked here, and its advice read."""

import sys
import types

import numpy as np
import pytest

import tpucompat.v1 as tf
from tpucompat.base import journal
from tpucompat.base.codes import CODES
from tpucompat.base.errors import TPUCompatError
from tpucompat.engines import flow
from tpucompat.idioms.computations import far_feeds, feeds
from tpucompat.idioms.tpu_estimator import context
from tpucompat.idioms.tpu_estimator.errors import explained
from tpucompat.standins import keras_names

tpu = tf.contrib.tpu


def sum_in_a_loop(x):
    total = lambda i, a: (i + 1, a + tpu.cross_replica_sum(x)[0, 0])
    return tf.while_loop(lambda i, a: a < x[0, 0], total, [0, 0.0])[1]


def grouped(groups):
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    crossed = tpu.CrossShardOptimizer(optimizer, group_assignment=groups)

    def step(x):
        loss = tf.reduce_sum(tf.get_variable("grouped", [], use_resource=True) * x)
        return loss, crossed.minimize(loss)

    return tpu.shard(step, [tf.zeros([4, 1])], num_shards=4)


@pytest.mark.parametrize(
    "code, call, advised",
    [
        ("TPU342", lambda: grouped([[0, 1], [2]]), "[[0, 1], [2, 3]]"),
        ("TPU346", lambda: tpu.rewrite(lambda: 1.0, [tf.zeros([2])]), "parameters"),
        ("TPU347", lambda: tpu.shard(lambda x: x, [tf.zeros([2])], num_shards=0), "num_shards"),
        ("TPU351", lambda: feeds.check_infeed_types([tf.int32, tf.string]), "Cast"),
    ],
)
def test_a_computation_that_is_refused(code, call, advised):
    with pytest.raises(TPUCompatError) as caught:
        call()
    assert caught.value.code == code
    assert advised in caught.value.next_step


#: What TPUEstimator's source raises (tensorflow_estimator 2.15.0, tpu/*.py) -> code, a word of the advice.
ESTIMATOR = {
    "train batch size 17 must be divisible by number of replicas 8": ("TPU329", "multiples"),
    "eval_batch_size in TPUEstimator constructor cannot be `None`": ("TPU329", "Pass integers"),
    "model_fn should return an EstimatorSpec.": ("TPU330", "TPUEstimatorSpec"),
    "estimator_spec used by TPU evaluation must have type`TPUEstimatorSpec`.": (
        "TPU330",
        "every mode",
    ),
    "host_call should be tuple or list. Got <class 'int'>": ("TPU331", "rank 1"),
    "TPUEstimatorSpec.predictions must be dict of Tensors.": ("TPU332", "dictionary"),
    "`input_fn` must return a Dataset": ("TPU333", "drop_remainder=True"),
    "unsupported callable": ("TPU333", "Accept `params`"),
    "Must specify max_steps > 0, given: 0": ("TPU334", "max_steps"),
    "one of `steps` or `max_steps` must be set for TPU training": ("TPU334", "max_steps"),
    "`config` must be provided with type `tpu_config.RunConfig`": ("TPU335", "argument"),
}


@pytest.mark.parametrize("text", ESTIMATOR)
def test_what_tpu_estimator_refuses_has_a_code(text):
    code, advised = ESTIMATOR[text]
    with pytest.raises(TPUCompatError) as caught, explained():
        raise ValueError(text)
    assert caught.value.code == code and isinstance(caught.value, ValueError)
    assert advised in caught.value.next_step


def test_an_input_fn_that_returns_none_has_a_code():
    source = compile("None.dtype", "/somewhere/tpu_estimator.py", "exec")
    with pytest.raises(ValueError) as caught, explained():
        exec(source)
    assert caught.value.code == "TPU333" and "input_fn returned None" in str(caught.value)
    with pytest.raises(AttributeError), explained():  # the script's own
        exec(compile("None.dtype", "/somewhere/model.py", "exec"))


@pytest.mark.parametrize(
    "kind, text, code, advised",
    [
        ("OutOfRangeError", "End of sequence", "TPU336", ".repeat()"),
        (
            "NotFoundError",
            "Restoring from checkpoint failed. Key w not found",
            "TPU337",
            "model_dir",
        ),
        ("ResourceExhaustedError", "/m/ckpt; No space left on device", "TPU338", "free space"),
    ],
)
def test_errors_of_a_training_s_operations_have_a_code(kind, text, code, advised):
    error = getattr(tf.errors, kind)
    with pytest.raises(error) as caught, explained():
        raise error(None, None, text)
    first, *rest = caught.value.message.splitlines()
    assert first.startswith(code) and text in first
    assert advised in rest[0] and rest[-1].endswith(f"tpucompat explain {code}")


def test_a_condition_that_may_differ_between_the_shards_is_named():
    journal.reset()
    with tf.Graph().as_default():
        tpu.shard(sum_in_a_loop, [tf.constant(np.ones([2, 1], "float32"))], num_shards=2)
    assert "TPU344" in [code for code, _ in journal.notices()]


class Embedded:
    """A machine with a TPU, whose cores have no embedding tables."""

    tpu = "a TPU"


def several_machines():
    from tpucompat.idioms import estimator

    wanted = types.SimpleNamespace(train_distribute=None, remote_cluster=None)
    config = types.SimpleNamespace(_experimental_distribute=wanted, _train_distribute="Mirrored")
    estimator._init_run_config(config, {"cluster": {"worker": ["a:1", "b:1"]}})


def without_model_dir(monkeypatch):
    from tpucompat.idioms.tpu_estimator import workers

    monkeypatch.setattr(workers.cluster, "cluster", lambda: "a cluster")
    monkeypatch.setattr(workers.workers_lib, "of_process", lambda: "several workers")
    config = types.SimpleNamespace(task_type="worker", model_dir=None)
    workers.connected(lambda self, **kwargs: None, (), {})  # without a configuration nobody is met

    def constructor(self, model_dir=None, config=None, use_tpu=True):
        raise AssertionError

    workers.connected(constructor, (), {"config": config})


def on_a_tpu(monkeypatch):
    from tpucompat.idioms.embedding import tables

    monkeypatch.setattr(tables, "environment", lambda: Embedded)
    tables.TPUEmbedding({}, {}, 8, 1)


def joined_text(monkeypatch):
    from tpucompat.idioms.keras_tpu import replicated_function

    replicated_function.GlobalBatch(tf.get_default_graph(), 2).join(tf.constant(["text"]))


def scaffold_of_nothing(monkeypatch):
    from tpucompat.idioms.tpu_estimator import one_replica

    loss = tf.constant(1.0)
    spec = tpu.TPUEstimatorSpec("train", loss=loss, train_op=tf.no_op(), scaffold_fn=lambda: None)
    one_replica._as_estimator_spec(spec, "train")


def reference(monkeypatch):
    weight = tf.Variable(1.0, use_resource=False)
    tpu.rewrite(lambda: weight._ref() * 2.0)


def reference_in_loop(monkeypatch):
    """A loop has a graph of its own, which is given the variable's value."""
    weight = tf.Variable(1.0, use_resource=False)
    tpu.rewrite(lambda: tpu.repeat(2, lambda x: x + tf.assign_add(weight, 1.0), [0.0]))


def without_tf_slim(monkeypatch):
    from tpucompat.contrib import slim

    monkeypatch.setitem(sys.modules, "tf_slim", None)
    slim.package()


def circle(monkeypatch):
    nodes = {}
    for name, source in (("a", "b"), ("b", "a")):
        nodes[name] = tf.NodeDef(name=name, op="Identity", input=[source])
    flow.analyse(nodes)


@pytest.mark.parametrize(
    "code, call, advised",
    [
        (
            "TPU103",
            lambda patch: tf.contrib.image.translate(tf.zeros([2]), [0, 0]),
            "TensorFlow 1.15 documentation",
        ),
        ("TPU110", without_tf_slim, "pip install tf-slim"),
        ("TPU313", joined_text, "dense numeric tensors"),
        ("TPU318", without_model_dir, "shared storage"),
        ("TPU320", lambda patch: several_machines(), "TPUEstimator does not need train_distribute"),
        ("TPU321", on_a_tpu, "TPUEmbedding"),
        ("TPU326", scaffold_of_nothing, "inside scaffold_fn"),
        ("TPU343", reference, "use_resource=True"),
        ("TPU343", reference_in_loop, "use_resource=True"),
        ("TPU363", circle, "Rebuild it"),
    ],
)
def test_what_is_refused_has_its_code_and_advice(code, call, advised, monkeypatch):
    with pytest.raises(TPUCompatError) as caught:
        call(monkeypatch)
    assert caught.value.code == code
    assert advised in caught.value.next_step


def other_shards():
    config = tpu.RunConfig(tpu_config=tpu.TPUConfig(num_shards=8))
    context._for_replicas(config, 1)


def two_sessions():
    far_feeds.carry(tf.Graph(), tf.Graph(), 0, [], list, lambda values: tf.no_op())


@pytest.mark.parametrize(
    "code, call, advised",
    [
        ("TPU327", other_shards, "Set TPUCOMPAT_CORES"),
        ("TPU355", two_sessions, "in the same graph as the computation"),
        (
            "TPU426",
            lambda: keras_names.multi_gpu_model("the model", gpus=8),
            "keras_to_tpu_model",
        ),
    ],
)
def test_what_is_done_in_another_way_is_said(code, call, advised):
    journal.reset()
    call()
    assert [each for each, _ in journal.notices()] == [code]
    assert advised in CODES[code].what_to_do
