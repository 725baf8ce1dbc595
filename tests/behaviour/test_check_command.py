"""``tpucompat check`` of whole scripts: what it sees of them, and that it trains nothing."""

import json
import os
import subprocess
import sys

import pytest

from tpucompat.engines import lowering

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples_data")

pytestmark = pytest.mark.skipif(
    not lowering.available(),
    reason="older releases do not show a function's lowered form",
)


def check(folder, *arguments):
    """What the command says, and its exit code."""
    environment = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS", "TPUCOMPAT_CORES"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "check", "--no-compiler", "--json", *arguments],
        cwd=str(folder),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=300,
    )
    told = json.loads(done.stdout) if done.stdout.strip() else done.stderr
    return told, done.returncode


def example(kind, name):
    return os.path.join(ROOT, kind + "_examples", name + ".py")


def test_the_three_steps_of_an_estimator(tmp_path):
    told, code = check(
        tmp_path,
        *["--tpu", "v3-8", example("legacy", "mnist_tpu_estimator")],
        *["--data_dir", EXAMPLES, "--model_dir", str(tmp_path / "model")],
    )
    assert code == 0 and told["verdict"] == "lowers", told
    names = [computation["name"] for computation in told["computations"]]
    assert names == [
        f"{kind} step of TPUEstimator" for kind in ("training", "evaluation", "prediction")
    ]
    training = told["computations"][0]
    assert training["reductions"] == 8 and training["replicas"] == 8
    assert not list(tmp_path.glob("model/*ckpt*"))  # no Session was made
    # One core's share of 256 pictures, 28 x 28 floats and a label each, is among the arguments.
    assert training["arguments"] > 32 * (28 * 28 + 1) * 4


REFUSED = """
import tensorflow as tf

def model_fn(features, labels, mode, params):
  seen = tf.py_func(lambda value: value, [features], tf.float32)
  seen.set_shape([params['batch_size'], 4])
  loss = tf.reduce_mean(tf.layers.dense(seen, 1))
  optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
  train = optimizer.minimize(loss, global_step=tf.train.get_global_step())
  return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train)

def input_fn(params):
  data = tf.data.Dataset.from_tensors((tf.ones([4]), 0)).repeat()
  return data.batch(params['batch_size'], drop_remainder=True)

config = tf.contrib.tpu.RunConfig(tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=2))
estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, use_tpu=True, train_batch_size=16)
estimator.train(input_fn, max_steps=4)
open('no such data')
"""


def test_a_refused_step_and_data_that_is_not_there(tmp_path):
    script = tmp_path / "refused.py"
    script.write_text(REFUSED)
    told, code = check(tmp_path, "--tpu", "v5e-8", str(script))
    assert code == 1 and told["verdict"] == "does not compile"
    (finding,) = told["computations"][0]["findings"]
    assert (finding["code"], finding["line"]) == ("TPU371", "refused.py:5")
    assert "PyFunc" in finding["text"] and "input function" in finding["instead"]
    assert told["script"]["missing_file"] and "refused.py:19" in told["notes"][-1]


def test_a_function_under_tpu_strategy(tmp_path):
    told, code = check(
        tmp_path, "--tpu", "v3-8", example("migrated", "sharded_linear_regression"), "--steps", "20"
    )
    assert code == 0, told
    (step,) = told["computations"]
    assert step["name"] == "train_step under TPUStrategy" and step["reductions"] == 2


METRIC = """
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver(''))
with strategy.scope():
    metric = tf.keras.metrics.Mean()

@tf.function
def update(x):
    strategy.run(lambda x: metric.update_state(x), args=(x,))

update(tf.ones([8]))
"""


UNEVEN = """
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver(''))
data = tf.data.Dataset.from_tensor_slices(tf.ones([24, 2])).batch(12)
for batch in strategy.experimental_distribute_dataset(data):
    strategy.run(tf.function(tf.reduce_sum), args=(batch,))
"""


def test_a_batch_that_the_cores_cannot_share_equally(tmp_path):
    (tmp_path / "uneven.py").write_text(UNEVEN)
    told, _ = check(tmp_path, "--tpu", "v3-8", "--era", "tf2", "uneven.py")
    assert any("a batch of 12" in note and "[TPU399]" in note for note in told["notes"]), told


def test_a_function_that_returns_an_operation(tmp_path):
    (tmp_path / "metric.py").write_text(METRIC)
    told, code = check(tmp_path, "--tpu", "v3-8", "--era", "tf2", "metric.py")
    assert code == 0 and told["computations"][0]["findings"] == [], told


def test_a_script_without_a_tpu_computation(tmp_path):
    (tmp_path / "script.py").write_text("import tensorflow as tf\nprint(tf.Session)\n")
    told, code = check(tmp_path, "--tpu", "v3-8", "script.py")
    assert code == 2 and "TPU378" in told and "--use_tpu=True" in told
