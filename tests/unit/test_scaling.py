"""scan and migrate take about the same time for each line of a file, however long it is.

The work is counted in calls of functions, which no other process and no other processor changes. A rule that
walks a file for each call in it makes sixteen times as many for a file four times as long.
"""

from __future__ import annotations

import cProfile
import json
import sys
from pathlib import Path

import pytest

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

from tpucompat.commands.migrate import tree
from tpucompat.commands.scan import configuration, scanner

#: How many times as many calls a program may need that is four times as long.
MOST = 4.3

IMPORTS = """\
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import backend as K
from tensorflow.contrib import tpu
"""
FUNCTIONS = """
def f{i}(x):
  inputs{i} = tf.keras.Input((3,))
  m = tf.keras.Model(inputs{i}, tf.keras.layers.Dense(1)(inputs{i}))
  m.compile('sgd', 'mse', metrics=['mae'])
  m.compile('adam', 'mse')
  d = tf.data.Dataset.from_tensor_slices((x, {{'out': x}})).map(lambda a, b: (a, {{'out': b}})).batch(4)
  h = m.fit(d, epochs=1)
  print(h.history, m.get_layer('input_1').name, m.get_config(), [np.mean(x)], type(m).__name__, m.to_json())
  if K.sum(x) == 0:
    return m.input_names
"""
CALLS = """
def g{i}(x, model=None):
  y = tf.nn.relu(tf.log(x) + {i})
  model = model or keras.Sequential([keras.layers.Dense(3)])
  if x is None:
    return tf.to_float(y)
  return g{after}(g{far}(y, model), model) if model.built else g{after}(tf.reduce_sum(y, keep_dims=True))
"""
CLASSES = """
class Scale{i}(keras.layers.Layer):
  def build(self, input_shape):
    self.w = self.add_weight('w', shape=(input_shape[-1],), initializer='ones')
  def call(self, inputs, training=None):
    self.add_loss(K.mean(inputs))
    return K.in_train_phase(inputs * self.w, inputs, training=training)

class Log{i}(keras.callbacks.Callback):
  def on_epoch_end(self, epoch, logs=None):
    print(epoch, logs['acc'], K.get_value(self.model.optimizer.lr))

def loss{i}(y_true, y_pred):
  return K.mean(K.square(y_true - y_pred), axis=-1) + K.epsilon()

model = keras.Sequential([Scale{i}(name='s{i}')])
model.compile('sgd', loss{i}, metrics=['acc'])
model.fit(np.ones((8, 3)), np.ones((8, 3)), callbacks=[Log{i}()])
"""
SCRIPT = """
x{i} = np.random.rand(32, 8, 8, 1)
y{i} = np.eye(10)[np.random.randint(0, 10, 32)]
inputs = keras.layers.Input(shape=(8, 8, 1), name='in{i}')
h = keras.layers.Conv2D(4, (3, 3), activation='relu')(inputs)
h = keras.layers.Flatten()(h)
outputs = keras.layers.Dense(10, activation='softmax')(h)
model{i} = keras.models.Model(inputs, outputs)
model{i}.compile(loss='categorical_crossentropy', optimizer=tf.train.AdamOptimizer(0.001), metrics=['acc'])
converted{i} = tpu.keras_to_tpu_model(model{i}, strategy=tpu.TPUDistributionStrategy())
history = converted{i}.fit(x{i}, y{i}, batch_size=16, epochs=2)
print(history.history['acc'], converted{i}.get_config())
loss, acc = converted{i}.evaluate(x{i}, y{i})
print('loss: %.2f' % loss, np.argmax(converted{i}.predict(x{i}), axis=-1)[:5])
converted{i}.save_weights('w{i}.h5')
"""
SESSIONS = """
def step{i}(x, y):
  w = tf.get_variable('w{i}', [4, 1], initializer=tf.zeros_initializer())
  loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
  with tf.control_dependencies([tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1)).minimize(loss)]):
    return tf.identity(loss)
x{i} = tf.placeholder(tf.float32, [16, 4])
y{i} = tf.placeholder(tf.float32, [16, 1])
out{i} = tpu.batch_parallel(step{i}, [x{i}, y{i}], num_shards=8)
for k in range(10):
  a = np.random.rand(16, 4)
  print(k, session.run(out{i}, feed_dict={{x{i}: a, y{i}: a.sum(1, keepdims=True)}}))
"""
ESTIMATORS = """
def input_fn{i}(params):
  d = tf.data.Dataset.from_tensor_slices(np.random.rand(64, 4)).repeat()
  return d.batch(params['batch_size'], drop_remainder=True).make_one_shot_iterator().get_next()

def model_fn{i}(features, labels, mode, params):
  with tf.variable_scope('out{i}', reuse=tf.AUTO_REUSE):
    w = tf.get_variable('w', [4, 3], initializer=tf.contrib.layers.xavier_initializer())
  loss = tf.reduce_mean(tf.square(tf.matmul(features, w)))
  optimizer = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.01))
  return tpu.TPUEstimatorSpec(
      mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()))

config{i} = tpu.RunConfig(model_dir='{i}', tpu_config=tpu.TPUConfig(10, 8))
estimator{i} = tpu.TPUEstimator(model_fn{i}, config=config{i}, use_tpu=True, train_batch_size=16)
estimator{i}.train(input_fn{i}, max_steps=20)
"""
MODULES = """
from p import m{after}
from p.m{far} import train{far} as other

def train{i}(x, y):
  model = keras.models.Sequential([keras.layers.Dense(1)])
  model.compile(optimizer='sgd', loss='mse', metrics=['acc'])
  history = model.fit(x, y, epochs=2)
  m{after}.train{after}(x, y)
  return other(x, y) if x is None else history.history['acc']
"""


def parts(text: str, count: int) -> list[str]:
    """A part of a program, so many times, each with names of its own."""
    return [
        text.format(i=number, after=(number + 1) % count, far=(number * 7 + 3) % count)
        for number in range(count)
    ]


def write(folder: Path, text: str, count: int) -> list[str]:
    """Writes a program of so many parts; a module for each, a cell for each, or one file."""
    made = parts(text, count)
    if text is MODULES:
        files = {f"p/m{number}.py": IMPORTS + part for number, part in enumerate(made)}
        files["p/__init__.py"] = ""
    else:
        start = IMPORTS + ("session = tf.Session()\n" if text is SESSIONS else "")
        files = {"script.py": start + "".join(made)}
        if text is SCRIPT:
            cells = [
                {"cell_type": "code", "metadata": {}, "outputs": [], "source": [cell]}
                for cell in (start, *made)
            ]
            files["notebook.ipynb"] = json.dumps({"cells": cells, "nbformat": 4, "metadata": {}})
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return [str(folder / name) for name in files]


def calls(paths: list[str]) -> int:
    """How many calls scan and migrate make for some files."""
    profile = cProfile.Profile()
    profile.enable()
    reports = [scanner.scan_file(path, configuration.Configuration()) for path in paths]
    results = list(tree.migrate(paths))
    profile.disable()
    assert any(report.findings for report in reports) and any(one.changed for one in results)
    assert not any(result.problems for result in results)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param(FUNCTIONS, 5, id="functions"),
        pytest.param(CALLS, 10, id="calls"),
        pytest.param(CLASSES, 5, id="classes"),
        pytest.param(SCRIPT, 5, id="script"),
        pytest.param(SESSIONS, 5, id="sessions"),
        pytest.param(ESTIMATORS, 4, id="estimators"),
        pytest.param(MODULES, 5, id="modules"),
    ],
)
def test_four_times_the_program_takes_four_times_the_calls(text, count, tmp_path):
    few, many = (write(tmp_path / str(size), text, size) for size in (count, 4 * count))
    calls(few)  # reads the tables
    ratio = calls(many) / calls(few)
    assert ratio < MOST, ratio
