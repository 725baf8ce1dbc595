"""``tpucompat verify`` on what ``tpucompat migrate`` writes: it has to agree, for all that a script keeps.

Each program stands for an idiom, and has what the pairs of ``examples.toml`` do not: optimizers of Keras,
averages of weights, a seeded shuffle that is repeated, a Session that stays one.
"""

from __future__ import annotations

import json
import os

import pytest

from tpucompat.__main__ import main

pytestmark = pytest.mark.skipif("sys.version_info < (3, 9)", reason="migrated scripts need 3.9")

KERAS = """
import sys
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
x, y = rng.rand(64, 6, 6, 1).astype("float32"), rng.randint(0, 3, 64)
layers = tf.keras.layers
pictures = layers.Input((6, 6, 1))
both = layers.Conv2D(4, 3, name="conv")(pictures)
both = layers.BatchNormalization(momentum=0.9, name="norm")(both)
both = layers.Flatten()(layers.Activation("relu")(both))
first = layers.Dense(3, activation="softmax", name="kind")(both)
second = layers.Dense(1, name="score")(both)
model = tf.keras.models.Model(pictures, [first, second])
model.compile(
    tf.keras.optimizers.SGD(lr=0.02, momentum=0.9), loss=["sparse_categorical_crossentropy", "mse"],
    metrics={"kind": ["sparse_categorical_accuracy"]})
model = tf.contrib.tpu.keras_to_tpu_model(model, strategy=tf.contrib.tpu.TPUDistributionStrategy(
    tf.contrib.cluster_resolver.TPUClusterResolver("demo")))
model.fit(x, [y, x.mean((1, 2))], batch_size=16, epochs=2, verbose=0)
model.save_weights(sys.argv[1] + "/weights.h5")
"""
ESTIMATOR = """
import sys
import numpy as np
import tensorflow as tf

def input_fn(params):
  x = np.random.RandomState(0).rand(64, 5).astype(np.float32)
  data = tf.data.Dataset.from_tensor_slices((x, (x[:, 0] > 0.5).astype(np.int32)))
  return data.shuffle(64, seed=3).repeat().batch(params["batch_size"], drop_remainder=True)

def model_fn(features, labels, mode, params):
  hidden = tf.layers.batch_normalization(tf.layers.dense(features, 8, name="a"), training=True, name="norm")
  logits = tf.layers.dense(tf.nn.relu(hidden), 2, name="b")
  loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
  if mode == tf.estimator.ModeKeys.EVAL:
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss)
  optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.1, 0.9))
  with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
  with tf.control_dependencies([train_op]):
    train_op = tf.train.ExponentialMovingAverage(0.9).apply(tf.trainable_variables())
  return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

config = tf.contrib.tpu.RunConfig(
  model_dir=sys.argv[1] + "/model", tf_random_seed=1,
  tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=3))
estimator = tf.contrib.tpu.TPUEstimator(
  model_fn, use_tpu=True, config=config, train_batch_size=16, eval_batch_size=16)
for until in (3, 6):
  estimator.train(input_fn, max_steps=until)
print("loss %.6f" % estimator.evaluate(input_fn, steps=2)["loss"])
"""
PACKAGE = """
import numpy as np
import tensorflow as tf

def input_fn(params):
  x = np.random.RandomState(0).rand(64, 5).astype(np.float32)
  data = tf.data.Dataset.from_tensor_slices((x, (x[:, 0] > 0.5).astype(np.int32)))
  return data.repeat().batch(params["batch_size"], drop_remainder=True)

def model_fn(features, labels, mode, params):
  print("norm: none")
  hidden = tf.layers.dense(features, 8, tf.nn.relu, name="a")
  if mode == tf.estimator.ModeKeys.TRAIN:
    hidden = tf.nn.dropout(hidden, rate=0.4)
  logits = tf.layers.dense(hidden, 2, name="b")
  loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
  if mode == tf.estimator.ModeKeys.EVAL:
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss)
  optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
  return tf.contrib.tpu.TPUEstimatorSpec(
    mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()))

def main(folder):
  loop = tf.contrib.tpu.TPUConfig(iterations_per_loop=3)
  config = tf.contrib.tpu.RunConfig(model_dir=folder, tpu_config=loop)
  estimator = tf.contrib.tpu.TPUEstimator(
    model_fn, use_tpu=True, config=config, train_batch_size=16, eval_batch_size=16)
  estimator.train(input_fn, max_steps=6)
  for step in (0, 6):
    estimator.evaluate(input_fn, steps=2, checkpoint_path=folder + "/model.ckpt-%d" % step)
"""
SESSION = """
import sys
import numpy as np
import tensorflow as tf

x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.int32, [None])
hidden = tf.layers.dense(x, 8, tf.nn.relu, name="a")
loss = tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(hidden, 3, name="b"))
step = tf.train.get_or_create_global_step()
train = tf.train.RMSPropOptimizer(0.01, momentum=0.5).minimize(loss, step)
average = tf.train.ExponentialMovingAverage(0.9)
with tf.control_dependencies([train]):
  train = average.apply(tf.trainable_variables())
saver, averaged = tf.train.Saver(), tf.train.Saver(average.variables_to_restore())
rng = np.random.RandomState(0)
feeds = {x: rng.randn(32, 5), y: rng.randint(0, 3, 32)}
with tf.Session() as session:
  session.run(tf.global_variables_initializer())
  for _ in range(6):
    session.run(train, feeds)
  path = saver.save(session, sys.argv[1] + "/model.ckpt", step)
  averaged.restore(session, path)
  print("loss %.6f" % session.run(loss, feeds))
"""


def _compared(folder, text, cores, change=("", "")):
    """The rungs of a program and of what migrate makes of it, with a change in that."""
    old, new = folder / "old.py", folder / "new" / "old.py"
    if not new.exists():
        old.write_text(text)
        assert main(["migrate", "--output", str(folder / "new"), str(old)]) == 0
    made = new.read_text()
    assert not change[0] or made.count(change[0]) == 1, made
    other = folder / "new" / "other.py"
    other.write_text(made.replace(*change) if change[0] else made)
    data = folder / "r.json"
    options = ["--args", "{out}", "--cores", str(cores), "--timeout", "200", "--json", str(data)]
    code = main(["verify", str(old), str(other), *options])
    rungs = {rung["key"]: rung for rung in json.loads(data.read_text())["rungs"]}
    bad = {key: rung["note"] for key, rung in rungs.items() if rung["verdict"] == "differ"}
    assert code == bool(bad)
    return rungs, bad


@pytest.mark.parametrize("beside", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_model_of_keras_with_its_own_optimizer(tmp_path, beside):
    """Also where a script that needs Keras 2 has left its loop in the folder."""
    if beside:
        (tmp_path / "estimator.py").write_text(ESTIMATOR)
        arguments = ["--output", str(tmp_path / "new"), str(tmp_path / "estimator.py")]
        assert main(["migrate", *arguments]) == 0
        assert os.path.exists(tmp_path / "new" / "training_loop.py")
    rungs, bad = _compared(tmp_path, KERAS, 1)
    assert not bad
    assert {rungs[key]["verdict"] for key in ("loss", "gradients", "update", "evaluation")} == {
        "agree"
    }
    assert "slots" in rungs["update"]["note"] and "conv/bias" in rungs["update"]["note"]
    assert "conv/bias" not in [row["name"] for row in rungs["gradients"]["rows"]]


@pytest.mark.long
def test_an_estimator_on_cores(tmp_path):
    """Its slots and averages are seen, although the model is gone when the script ends.

    It trains twice: each time its variables are made again, and go on from where they were.
    """
    rungs, bad = _compared(tmp_path, ESTIMATOR, 8)
    assert not bad
    slots = [row["name"] for row in rungs["update"]["rows"] if row["name"].startswith("slot")]
    assert {"slot a/kernel/ExponentialMovingAverage", "slot a/kernel/Momentum"} <= set(slots)
    _, bad = _compared(tmp_path, ESTIMATOR, 8, ("ExponentialMovingAverage(0.9)",
                                                "ExponentialMovingAverage(0.5)"))  # fmt: skip
    assert "ExponentialMovingAverage" in bad["update"]


def test_an_estimator_in_a_package(tmp_path):
    """The loop is a module of the package, which a module beside the script would not be.

    The script evaluates the initial values too, and its model_fn prints: the loop calls it again for its steps.
    """
    old = tmp_path / "old"
    (old / "net").mkdir(parents=True)
    (old / "main.py").write_text("import sys\nfrom net import model\n\nmodel.main(sys.argv[1])\n")
    (old / "net" / "__init__.py").write_text("")
    (old / "net" / "model.py").write_text(PACKAGE)
    assert main(["migrate", "--output", str(tmp_path / "new"), str(old)]) == 0
    new, data = tmp_path / "new" / "main.py", tmp_path / "r.json"
    assert os.path.exists(tmp_path / "new" / "net" / "training_loop.py")
    options = ["--args", "{out}", "--no-dropout", "--timeout", "200", "--json", str(data)]
    main(["verify", str(old / "main.py"), str(new), *options])
    rungs = {rung["key"]: rung for rung in json.loads(data.read_text())["rungs"]}
    assert not [key for key, rung in rungs.items() if rung["verdict"] == "differ"]
    compared = {key for key, rung in rungs.items() if rung["verdict"] == "agree"}
    assert {"loss", "gradients", "update", "steps", "evaluation", "printed"} <= compared
    said = [row["name"] for row in rungs["evaluation"]["rows"]]
    assert {"evaluation 1: loss", "evaluation 2: loss"} <= {*said}
    assert "norm" in [row["name"] for row in rungs["printed"]["rows"]]


def test_a_session_that_stays_one(tmp_path):
    """Its training is seen, and its averages begin where the weights do."""
    rungs, bad = _compared(tmp_path, SESSION, 1)
    assert not bad
    assert rungs["gradients"]["worst"] == 0.0 and rungs["printed"]["verdict"] == "agree"
    _, bad = _compared(tmp_path, SESSION, 1, ("average.variables_to_restore()", ""))
    assert list(bad) == ["printed"] or "printed" in bad
