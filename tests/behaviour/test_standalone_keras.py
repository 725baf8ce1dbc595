"""The package ``keras`` beside tf.keras: what was recorded with Keras 2.2.4, and who gets which."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, "behaviour", "programs", "standalone_keras.py")

MIXED = """
import json, sys
import tensorflow as tf
import keras
from keras.layers import Conv2D
from tensorflow.keras.layers import Conv2D as OfTensorFlow
import own, late
import keras.optimizers as optimizers
rate = lambda optimizer: float(tf.keras.backend.get_value(optimizer.lr))
def compiled(word):
    model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(2,))])
    model.compile(word, "mse")
    return rate(model.optimizer)
def refused(**word):
    try:
        Conv2D(4, 3, 3, **word)
    except ValueError as error:
        return "3 sides" not in str(error) and "sides of a kernel" in str(error)
results = {
    "package": [Conv2D(4, 3, 3).kernel_size, keras.layers.Conv2D(
        4,
        3, 3).kernel_size],
    "tensorflow": [OfTensorFlow(4, 3, 3).strides, tf.keras.layers.Conv2D(4, 3, 3).strides,
                   own.layer().strides],
    "rates": [rate(optimizers.Adadelta()),
              rate(tf.keras.optimizers.Adadelta()), own.rate(), compiled("adadelta"), compiled("sgd"),
              rate(keras.optimizers.Adadelta(0.5)), rate(keras.optimizers.Adadelta(learning_rate=0.5))],
    "refused": [refused(padding="same"), refused(border_mode="same")],
    "put in its place": late.layer().strides,
}
json.dump(results, open(sys.argv[1], "w"))
"""
OWN = """
import tensorflow as tf
from tensorflow.keras.layers import Conv2D
def layer():
    return Conv2D(4, 3, 3)
def rate():
    return float(tf.keras.backend.get_value(tf.keras.optimizers.Adadelta().lr))
"""
LATE = """
import sys
import tensorflow as tf
sys.modules["keras"] = tf.keras
sys.modules["keras.layers"] = tf.keras.layers
from keras.layers import Conv2D
def layer():
    return Conv2D(4, 3, 3)
del sys.modules["keras"], sys.modules["keras.layers"]
"""

BY_NAME = """
import json, sys
import tensorflow as tf
import keras
{era}
def compiled(word):
    model = {models}.Sequential([{models}.layers.Dense(1, input_shape=(2,))])
    model.compile(word, "mse")
    return float(tf.keras.backend.get_value(model.optimizer.lr))
json.dump([compiled("adadelta"), compiled("adagrad"), compiled("sgd")], open(sys.argv[1], "w"))
"""
#: Variables of tf.metrics are local; programs add them to the global ones, which the package initialized.
METRIC = """
import json, sys
import numpy as np
import keras
import tensorflow as tf
def area(labels, predictions):
    value, update = tf.metrics.auc(labels, predictions)
    for variable in tf.local_variables():
        tf.add_to_collection(tf.GraphKeys.GLOBAL_VARIABLES, variable)
    with tf.control_dependencies([update]):
        return tf.identity(value)
model = keras.Sequential([keras.layers.Dense(1, "sigmoid", input_shape=(2,))])
model.compile("sgd", "binary_crossentropy", metrics=[area])
x, y = np.eye(2), np.array([[0.0], [1.0]])
json.dump([float(each) for each in model.train_on_batch(x, y)], open(sys.argv[1], "w"))
"""
EARLY_TF2 = "tf.distribute.experimental.TPUStrategy"


def _run(script, out):
    command = [sys.executable, "-m", "tpucompat", "run", "--exact", str(script), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=os.path.dirname(str(out)))
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(out.read_text())


def test_arguments_have_the_meaning_of_keras_2_2_4(tmp_path):
    with open(os.path.join(ROOT, "data", "standalone_keras.json"), encoding="ascii") as file:
        recorded = json.load(file)
    results = _run(PROGRAM, tmp_path / "out.json")
    for kind in ("shapes", "methods", "input"):
        assert results[kind] == recorded[kind]
    for number, (then, now) in enumerate(zip(recorded["layers"], results["layers"])):
        assert now[:2] == then[:2], number
        # Sums of up to 512 outputs of up to 60 products each, in single precision.
        assert now[2:][1] == pytest.approx(then[3], rel=1e-5)
        assert now[2] == pytest.approx(then[2], rel=1e-5, abs=1e-4), number
    for number, (then, now) in enumerate(zip(recorded["optimizers"], results["optimizers"])):
        assert now == pytest.approx(then, rel=1e-5), number  # single precision, a few steps
    assert len(results["layers"]) == len(recorded["layers"])
    assert len(results["optimizers"]) == len(recorded["optimizers"])


def test_only_modules_that_import_the_package_get_its_arguments(tmp_path):
    for name, text in (("mixed", MIXED), ("own", OWN), ("late", LATE)):
        (tmp_path / f"{name}.py").write_text(text)
    results = _run(tmp_path / "mixed.py", tmp_path / "out.json")
    assert results["package"] == [[3, 3], [3, 3]]
    assert results["tensorflow"] == [[3, 3]] * 3
    assert results["rates"] == pytest.approx([1, 0.001, 0.001, 1, 0.01, 0.5, 0.5], rel=1e-6)
    assert results["refused"] == [True, None]
    assert results["put in its place"] == [3, 3]


@pytest.mark.parametrize("era", ["", EARLY_TF2])
@pytest.mark.parametrize(
    "models, rates", [("keras", [1, 0.01, 0.01]), ("tf.keras", [0.001, 0.001, 0.01])]
)
def test_compile_by_name_means_the_keras_that_made_the_models(tmp_path, era, models, rates):
    (tmp_path / "script.py").write_text(BY_NAME.format(era=era, models=models))
    assert _run(tmp_path / "script.py", tmp_path / "out.json") == pytest.approx(rates, rel=1e-6)


def test_a_session_of_the_package_initializes_all_variables(tmp_path):
    (tmp_path / "script.py").write_text(METRIC)
    loss, area = _run(tmp_path / "script.py", tmp_path / "out.json")
    assert loss > 0 and 0 <= area <= 1
