"""Datasets that are shuffled and repeated come in TensorFlow 1.15's order, all repetitions of them."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
import tensorflow

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

import repeated_cases  # noqa: E402

with open(os.path.join(ROOT, "tests", "data", "repeated_shuffles.json"), encoding="utf-8") as _file:
    RECORDED = json.load(_file)  # of TensorFlow 1.15.5, by tools/record_tables.py

pytestmark = pytest.mark.skipif(
    tuple(map(int, tensorflow.__version__.split(".")[:2])) < (2, 6),
    reason="before 2.6 TensorFlow's own shuffles are left unchanged",
)


@pytest.fixture(scope="module")
def v1():
    import tpucompat.v1 as tf

    return tf


@pytest.mark.parametrize("name", list(repeated_cases.CASES))
def test_all_repetitions_come_in_the_order_of_115(v1, name):
    assert repeated_cases.values(v1, name) == RECORDED[name]


def test_a_shuffle_without_any_seed_is_tensorflows_own(v1):
    with v1.Graph().as_default() as graph:
        v1.data.Dataset.range(9).shuffle(4).repeat(3)

        assert {"ShuffleDataset", "RepeatDataset"} <= {node.type for node in graph.get_operations()}
        assert "RandomDataset" not in {node.type for node in graph.get_operations()}


@pytest.mark.parametrize("size, follows", [(50_000, True), (50_001, False)])
def test_a_large_buffer_is_left_to_tensorflow(v1, size, follows):
    with v1.Graph().as_default() as graph:
        v1.data.Dataset.range(9).shuffle(size, seed=1).repeat(3)

        assert ("RandomDataset" in {node.type for node in graph.get_operations()}) is follows


# A Dataset crosses from the script's graph to the replicas by its serialized graph.
_ON_CORES = textwrap.dedent(
    """
    import numpy as np
    import tensorflow as tf

    def input_fn(params):
        numbers = np.arange(6, dtype="f")
        dataset = tf.data.Dataset.from_tensor_slices((numbers[:, None], numbers))
        return dataset.shuffle(4, seed=3).repeat().batch(params["batch_size"], drop_remainder=True)

    def model_fn(features, labels, mode, params):
        weight = tf.get_variable("w", [1, 1], initializer=tf.ones_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(features, weight)[:, 0] - 2.0 * labels))
        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.01))
        step = optimizer.minimize(loss, tf.train.get_global_step())
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=step)

    config = tf.contrib.tpu.RunConfig(tpu_config=tf.contrib.tpu.TPUConfig(3))
    estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, train_batch_size=8)
    estimator.train(input_fn, max_steps=9)
    print("WEIGHT", float(estimator.get_variable_value("w")[0, 0]))
    """
)


def _weight(tmp_path, *options):
    script = tmp_path / "script.py"
    script.write_text(_ON_CORES, encoding="utf-8")
    line = [sys.executable, "-m", "tpucompat", "run", *options, str(script)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, cwd=str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    return float(done.stdout.split("WEIGHT")[1])


def test_cores_get_them_too(tmp_path):
    one, many = _weight(tmp_path), _weight(tmp_path, "--cores", "4")

    assert many == pytest.approx(one, rel=1e-6)
