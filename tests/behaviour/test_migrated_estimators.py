"""Generated model functions, run by TPUEstimator and by what ``tpucompat migrate`` makes of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from tpucompat.base.machine import environment
from tpucompat.commands.migrate import keras_v1, written

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "tests", "generated", "migrated_model_fns.py")

pytestmark = pytest.mark.skipif(
    tuple(map(int, environment().tensorflow.split(".")[:2])) < (2, 16),
    reason="the migrated program is for the TensorFlow of today",
)


def run(half, seeds, cores):
    found = subprocess.run(
        [sys.executable, PROGRAM, half, *map(str, seeds)],
        env={
            **os.environ,
            "PYTHONPATH": ROOT,
            "TPUCOMPAT_CORES": str(cores),
            "TF_ENABLE_ONEDNN_OPTS": "0",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    return {one["seed"]: one for one in map(json.loads, found.stdout.splitlines())}


def compare(old, new, path):
    if isinstance(old, dict):
        assert old.keys() == new.keys(), path
        for key in old:
            compare(old[key], new[key], f"{path}/{key}")
    elif isinstance(old, list) and old and isinstance(old[0], dict):
        assert len(old) == len(new), path
        for index, (one, other) in enumerate(zip(old, new)):
            compare(one, other, f"{path}/{index}")
    else:
        # Three steps of an optimizer, and the order of sums over cores: measured 1e-5 at most.
        np.testing.assert_allclose(new, old, rtol=1e-4, atol=1e-7, err_msg=path)


def check(seeds, cores):
    old, new = run("old", seeds, cores), run("new", seeds, cores)
    assert set(old) == set(new) == set(seeds)
    for seed in seeds:
        assert "error" not in new[seed], new[seed]["error"]
        for part in ("losses", "weights", "metrics", "predictions"):
            compare(old[seed][part], new[seed][part], f"{seed}/{part}")
        # A TPU's loop has a summary of the loss; Estimator adds one where it finds none called "loss".
        free = ["loss"] if seed % 3 != 2 else ["loss_1", "loss_2"][: 1 if cores == 1 else 2]
        assert old[seed]["tags"] == new[seed]["tags"] == free, seed


def test_on_four_cores():
    # Batch normalization in training, an average of the variables; a loop, clipped gradients, an optimizer of
    # its own; batch normalization of tf_slim.
    check([2, 3, 23], cores=4)


@pytest.mark.long
@pytest.mark.parametrize("cores", [1, 4])
def test_many(cores):
    # 9 averages the variables of a recurrent cell: dynamic_rnn caches them in the old run, which so reads them
    # before the step. On a TPU, whose steps are in a loop, it did not cache them.
    check([0, 1, 2, 3, 4, 6, 7, 8, 10, 11], cores)


ESTIMATOR = """\
import glob, json, sys
import numpy as np
import tensorflow as tf

def model_fn(features, labels, mode, params):
  size = features.shape[1].value
  (w,) = {tf.get_variable('w', [size, 1], initializer=tf.ones_initializer())}
  logits = tf.matmul(features, w)
  loss = train_op = metrics = None
  if mode != tf.estimator.ModeKeys.PREDICT:
    with tf.name_scope('loss'):
      loss = tf.reduce_mean(tf.square(logits - labels))
    metrics = {'auc': tf.metrics.auc(labels > 3, logits / 10)}
    metrics['mae'] = tf.metrics.mean_absolute_error(labels, logits)
    metrics['shared'] = (2 * metrics['mae'][0], metrics['mae'][1])
    metrics['iou'] = tf.metrics.mean_iou(labels > 3, logits > 3, 2)
    optimizer = tf.train.AdamOptimizer(params['rate'])
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
  scaffold = None
  if mode == tf.estimator.ModeKeys.TRAIN:
    scaffold = tf.train.Scaffold(saver=tf.train.Saver(max_to_keep=1))
  return tf.estimator.EstimatorSpec(
      mode, {'y': logits}, loss, train_op, eval_metric_ops=metrics, scaffold=scaffold)

def input_fn(params):
  assert params == {'rate': 0.1, 'use_tpu': False}
  x = np.random.RandomState(0).rand(32, 3).astype('float32')
  return tf.data.Dataset.from_tensor_slices((x, 2 * x.sum(1, keepdims=True))).repeat(2).batch(5)

def changed(params):
  x, y = input_fn(params).make_one_shot_iterator().get_next()
  return (2 + np.random.rand()) * x, y

def serving():
  x = tf.placeholder(tf.float32, [None, 3], name='x')
  return tf.estimator.export.TensorServingInputReceiver(x, {'x': x})

if __name__ == '__main__':
  np.random.seed(3)
  params = {'rate': 0.1, 'use_tpu': False}
  est = tf.estimator.Estimator(model_fn, params=params, model_dir=sys.argv[1])
  est.train(input_fn, steps=4)
  found = est.evaluate(input_fn)
  found['kept'] = len(glob.glob(sys.argv[1] + '/*.index'))
  found['changed'] = est.evaluate(changed, name='tensors')['loss']
  path = est.export_savedmodel(sys.argv[1] + '/export', serving)
  found['exported'] = path.decode().startswith(sys.argv[1] + '/export')
  events = (e for f in glob.glob(sys.argv[1] + '/events*') for e in tf.train.summary_iterator(f))
  found['tag'] = 'loss_1' in {value.tag for e in events for value in e.summary.value}
  rows = [float(one['y'][0]) for one in est.predict(input_fn)]
  warm = tf.estimator.WarmStartSettings(sys.argv[1], vars_to_warm_start='w')
  warm = tf.estimator.Estimator(model_fn, sys.argv[1] + '2', None, params, warm_start_from=warm)
  warm.train(input_fn, max_steps=1)
  def trains_always(features, labels, mode, params):
    spec = model_fn(features, labels, tf.estimator.ModeKeys.TRAIN, params)
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=spec.loss, train_op=spec.train_op)
  tpu = tf.contrib.tpu.TPUEstimator(
      trains_always, sys.argv[1], tf.contrib.tpu.RunConfig(), params={'rate': 0.1},
      train_batch_size=5, eval_batch_size=5, use_tpu=False)
  found['again'] = tpu.evaluate(lambda params: input_fn(est.params), steps=3)['loss']
  def of_all(features, labels, mode, params):
    shards = params['context'].num_replicas * params['context'].num_hosts
    loss = shards * tf.reduce_sum(tf.get_variable('w', [3, 1])) + 0 * tf.reduce_sum(features)
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss)
  ones = np.ones([4, 3], 'float32')
  tpu = tf.contrib.tpu.TPUEstimator(
      of_all, sys.argv[1], tf.contrib.tpu.RunConfig(), train_batch_size=4, eval_batch_size=4)
  one = lambda params: tf.data.Dataset.from_tensors((ones, ones[:, :1]))
  found['all'] = tpu.evaluate(one, steps=1)['loss']
  def host(steps, losses):
    with tf.contrib.summary.create_file_writer(sys.argv[1] + '/host').as_default():
      with tf.contrib.summary.always_record_summaries():
        tf.contrib.summary.scalar('loss', losses[0], step=steps[0])
        return tf.contrib.summary.all_summary_ops()
  def with_host(features, labels, mode, params):
    spec = model_fn(features, labels, mode, {'rate': 0.1})
    step = tf.train.get_global_step()
    values = [tf.reshape(step, [1]), tf.reshape(spec.loss, [1])]
    logged = {'seen': features[0], 'cost': spec.loss, 'step': step}
    hook = tf.train.LoggingTensorHook(logged, every_n_iter=2)
    return tf.contrib.tpu.TPUEstimatorSpec(
        mode, loss=spec.loss, train_op=spec.train_op, host_call=(host, values), training_hooks=[hook])
  tpu = tf.contrib.tpu.TPUEstimator(
      with_host, sys.argv[1] + '3', tf.contrib.tpu.RunConfig(), train_batch_size=4, use_tpu=False)
  tf.logging.set_verbosity(tf.logging.INFO)
  tpu.train(lambda params: one(params).repeat(), steps=3)
  events = (e for f in glob.glob(sys.argv[1] + '3/events*') for e in tf.train.summary_iterator(f))
  found['beside the host'] = 'loss_2' in {v.tag for e in events for v in e.summary.value}
  print(json.dumps([{k: float(v) for k, v in found.items()}, rows, warm.get_variable_value('w').tolist()]))
"""


def test_an_estimator_without_a_tpu(tmp_path):
    """Metrics as operations, a smaller last batch, dimensions, a warm start, training ops in evaluation.

    And an input function that draws and returns tensors, the tag of the loss, an export of the predictions, and
    the context of a model_fn.
    """
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(ESTIMATOR)
    new.write_text(ESTIMATOR)
    environ = {**os.environ, "PYTHONPATH": ROOT, "TF_ENABLE_ONEDNN_OPTS": "0"}
    migrate = [sys.executable, "-m", "tpucompat", "migrate", "--write", str(new)]
    subprocess.run(migrate, env=environ, check=True, stdout=subprocess.PIPE)
    assert "tpucompat.v1" not in new.read_text()
    found, logged = [], []
    for words in (
        ["-m", "tpucompat", "run", str(old), str(tmp_path / "a")],
        [str(new), str(tmp_path / "b")],
    ):
        ran = subprocess.run(
            [sys.executable, *words],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        lines = re.findall(r"INFO:tensorflow:cost = (.*), seen = (.*?\])", ran.stderr)
        logged.append(list(dict.fromkeys(lines)))  # a logger and its parent may both write a line
        found.append(
            json.loads(next(line for line in ran.stdout.splitlines() if line.startswith("[{")))
        )
    assert len(found[0][1]) == 64 and found[0][0]["global_step"] == 4 and found[0][0]["tag"]
    assert found[0][0]["beside the host"] and found[0][0]["kept"] == 1
    assert len(logged[0]) == len(logged[1]) == 2 and logged[0][0][1] == "[1. 1. 1.]"
    for before, after in zip(*logged):
        compare(float(before[0]), float(after[0]), "logged")
        assert before[1] == after[1]
    for part, (before, after) in zip(("metrics", "predictions", "weights"), zip(*found)):
        compare(before, after, part)


HOOKED = """\
import glob, os, sys
import numpy as np
import tensorflow as tf
tf.logging.set_verbosity(tf.logging.INFO)
from tensorflow.contrib import predictor

class Calls(tf.train.SessionRunHook):
  def begin(self):
    self.calls = 0
  def after_run(self, run_context, run_values):
    self.calls += 1
  def end(self, session):
    print('calls', self.calls)

def model_fn(features, labels, mode, params):
  features = features['x'] if isinstance(features, dict) else features
  w = tf.get_variable('w', [3, 1], initializer=tf.ones_initializer())
  logits = tf.identity(tf.matmul(features, w), 'logits')
  if mode == tf.estimator.ModeKeys.PREDICT:
    return tf.contrib.tpu.TPUEstimatorSpec(mode, {'y': logits, 'twice': 2 * logits, 'x': features + 1})
  loss = tf.reduce_mean(tf.square(logits - labels))
  optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
  hook = tf.train.LoggingTensorHook({'cost': loss}, every_n_iter=2)
  return tf.contrib.tpu.TPUEstimatorSpec(
      mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()),
      training_hooks=[tf.train.NanTensorHook(loss), hook])

def input_fn(params):
  x = np.random.RandomState(0).rand(32, 3).astype('float32')
  data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat()
  return data.batch(params['batch_size'], drop_remainder=True)

def predict_fn(params):
  return tf.data.Dataset.from_tensor_slices(np.eye(3, dtype='f')).batch(params['batch_size'])

def serving():
  x = tf.placeholder(tf.float32, [2, 3], name='x')
  return tf.estimator.export.build_raw_serving_input_receiver_fn({'x': x})()

def serving_by(name):
  x = tf.placeholder(tf.float32, [None, 3])
  return tf.estimator.export.ServingInputReceiver({'x': x}, {name: x})

config = tf.contrib.tpu.RunConfig(
    model_dir=sys.argv[1], tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=4))
est = tf.contrib.tpu.TPUEstimator(model_fn, config=config, train_batch_size=8, predict_batch_size=8)
hooks = [Calls(), tf.train.StopAtStepHook(num_steps=3)]
est.train(input_fn, max_steps=20, hooks=hooks)
print('step', est.get_variable_value('global_step'))
est.train(input_fn, max_steps=20, hooks=[
    tf.train.StopAtStepHook(last_step=6), tf.train.LoggingTensorHook(['logits'], 1),
    tf.train.StepCounterHook(2, output_dir=sys.argv[1]),
    tf.train.CheckpointSaverHook(sys.argv[1], save_steps=2)])
print('saved', sorted(os.path.basename(one) for one in glob.glob(sys.argv[1] + '/model.ckpt-*.index')))
print('step', est.get_variable_value('global_step'), 'w', est.get_variable_value('w').ravel())
for one in est.predict(predict_fn, predict_keys=['y', 'twice']):
  print(sorted(one), one['y'], one['twice'])
folder = est.export_saved_model(sys.argv[1] + '/export', serving)
found = predictor.from_saved_model(folder)({'x': np.eye(3)})
print(sorted((name, float(one.sum())) for name, one in found.items()))
for name in ('class', 'petal-width', 'a/b', '0'):
  folder = est.export_saved_model(sys.argv[1] + '/named', lambda: serving_by(name))
  print(predictor.from_saved_model(folder)({name: [[1., 2., 3.]]})['y'].ravel())
spec = {'x': tf.FixedLenFeature([3], tf.float32)}
parsing = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
floats = tf.train.Feature(float_list=tf.train.FloatList(value=[1., 2., 3.]))
text = tf.train.Example(features=tf.train.Features(feature={'x': floats})).SerializeToString()
folder = est.export_saved_model(sys.argv[1] + '/parsing', parsing)
found = predictor.from_saved_model(folder)({'examples': [text, text]})
print(found['y'].ravel(), found['x'].ravel())
"""


def printed_by_both(tmp_path, text):
    """What a script prints, and what its migration does, in words; their numbers are compared."""
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(text)
    new.write_text(text)
    environ = {**os.environ, "PYTHONPATH": ROOT, "TF_ENABLE_ONEDNN_OPTS": "0"}
    migrate = [sys.executable, "-m", "tpucompat", "migrate", "--write", str(new)]
    subprocess.run(migrate, env=environ, check=True, stdout=subprocess.PIPE)
    assert "tpucompat" not in new.read_text()
    printed, logged = [], []
    for words in (
        ["-m", "tpucompat", "run", "--quiet", str(old), str(tmp_path / "a")],
        [str(new), str(tmp_path / "b")],
    ):
        ran = subprocess.run(
            [sys.executable, *words], env=environ, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        printed.append(re.split(r"[\s\[\]()',]+", ran.stdout))
        logged.append(ran.stderr)
    assert len(printed[0]) == len(printed[1])
    for before, after in zip(*printed):
        if re.fullmatch(r"-?\d*\.\d*(e-?\d+)?", before):
            np.testing.assert_allclose(float(after), float(before), rtol=1e-5)
        else:
            assert after == before
    return printed[0], logged


def test_hooks_some_of_the_predictions_and_a_predictor(tmp_path):
    printed, logged = printed_by_both(tmp_path, HOOKED)
    assert printed[:2] == ["calls", "3"]
    for one in logged:
        assert one.count("cost = ") >= 2 and "logits = " in one


LAZY = """\
import sys
import numpy as np
import tensorflow as tf

def model_fn(features, labels, mode, params):
  rows = tf.get_variable('rows', [5, 2], initializer=tf.constant_initializer(0.5))
  logits = tf.reduce_sum(tf.nn.embedding_lookup(rows, features), [1, 2])
  loss = tf.losses.mean_squared_error(labels, logits)
  optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.contrib.opt.LazyAdamOptimizer(0.1))
  return tf.contrib.tpu.TPUEstimatorSpec(
      mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()))

def input_fn(params):
  ids = np.repeat(np.int32([[0, 1], [2, 3]]), 8, axis=0)
  data = tf.data.Dataset.from_tensor_slices((ids, np.arange(16, dtype=np.float32)))
  return data.repeat().batch(params['batch_size'], drop_remainder=True)

est = tf.contrib.tpu.TPUEstimator(
    model_fn, sys.argv[1], tf.contrib.tpu.RunConfig(model_dir=sys.argv[1]), train_batch_size=8)
est.train(input_fn, max_steps=3)
print('rows', est.get_variable_value('rows').ravel())
"""


TAGS = """\
import glob
import sys
import tempfile
import numpy as np
import tensorflow as tf
folder = tempfile.mkdtemp()
def model_fn(features, labels, mode, params):
    y = tf.layers.dense(features, 1, kernel_initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(y - labels))
    rate = tf.train.exponential_decay(0.1, tf.train.get_or_create_global_step(), 10, 0.5)
    opt = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(rate))
    train_op = opt.minimize(loss, tf.train.get_global_step())
    def host_call_fn(gs, lr, loss):
        gs = gs[0]
        with tf.contrib.summary.create_file_writer(folder, max_queue=1000).as_default():
            with tf.contrib.summary.always_record_summaries():
                tf.contrib.summary.scalar('learning_rate', lr[0], step=gs)
                tf.contrib.summary.scalar('learning_rate', 2 * lr[0], step=gs)
                for n in range(2):
                    tf.contrib.summary.scalar('each', lr[0] + n, step=gs)
                with tf.name_scope('train'):
                    tf.contrib.summary.scalar('x', lr[0], step=gs)
                    tf.contrib.summary.scalar('x', loss[0], step=gs)
                return tf.contrib.summary.all_summary_ops()
    given = [tf.reshape(one, [1]) for one in (tf.train.get_global_step(), rate, loss)]
    return tf.contrib.tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op, host_call=(host_call_fn, given))
def input_fn(params):
    x = np.linspace(0, 1, 64).reshape(16, 4).astype('f')
    data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True)))
    return data.repeat().batch(params['batch_size'], drop_remainder=True)
config = tf.contrib.tpu.RunConfig(
    model_dir=sys.argv[1], tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=2))
est = tf.contrib.tpu.TPUEstimator(model_fn, use_tpu=True, config=config, train_batch_size=8)
est.train(input_fn, steps=4)
rows = []
for path in sorted(glob.glob(folder + '/events*')):
    for event in tf.train.summary_iterator(path):
        for value in event.summary.value:
            number = value.simple_value if value.HasField('simple_value') else tf.make_ndarray(value.tensor)
            rows.append((event.step, value.tag, '%.4f' % number))
for row in sorted(rows): print(*row)
"""


def test_tags_of_summaries_that_are_used_twice_have_numbers(tmp_path):
    printed, _ = printed_by_both(tmp_path, TAGS)
    assert {"learning_rate_1", "each_1", "train/x_1"} <= set(printed) and "x_2" not in printed


def test_gradients_of_rows_are_dense_on_one_replica_too(tmp_path):
    """As sums over the cores of a TPU are: the moments of rows without a gradient decay."""
    printed, _ = printed_by_both(tmp_path, LAZY)
    assert printed[0] == "rows" and len(printed) >= 11


NORMALIZED = (
    TAGS.replace(
        "def model_fn",
        """class BatchNormalization(tf.layers.BatchNormalization):
    def _moments(self, inputs, reduction_axes, keep_dims):
        mean, variance = super(BatchNormalization, self)._moments(
            inputs, reduction_axes, keep_dims=keep_dims)
        shards = tf.contrib.tpu.python.tpu.tpu_function.get_tpu_context().number_of_shards or 1
        return tf.contrib.tpu.cross_replica_sum(mean) / shards, 2 * variance
class Quiet(BatchNormalization):
    def _moments(self, inputs, *axes, **options):
        return super(Quiet, self)._moments(inputs, *axes, **options)
def model_fn""",
        1,
    )
    .replace("tf.layers.dense(features,", "tf.layers.dense(Quiet(fused=False)(features, training=True),")
    .replace("rows = []", "rows = [(0, name, '%.5f' % est.get_variable_value(name).sum())"
    " for name in est.get_variable_names() if 'quiet' in name]")
)  # fmt: skip


def test_a_batch_normalization_with_moments_of_its_own(tmp_path):
    """As in simclr and efficientnet; ``_moments`` of tf-keras has a mask."""
    printed, _ = printed_by_both(tmp_path, NORMALIZED)
    assert any("moving_variance" in word for word in printed)


TWO_OPTIMIZERS = """\
import os, sys
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()

def model_fn(features, labels, mode, params):
  rows = tf.get_variable('rows', [2], initializer=tf.constant_initializer(0.5))
  bias = tf.get_variable('bias', [], initializer=tf.constant_initializer(0.1))
  loss = tf.losses.mean_squared_error(labels, tf.reduce_sum(features * rows, 1) + bias)
  step = tf.train.get_global_step()
  if mode == tf.estimator.ModeKeys.EVAL:
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
  make = lambda rate: tf.tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(rate, 0.9))
  train_op = tf.group(make(0.1).minimize(loss, step, [rows]), make(0.01).minimize(loss, step, [bias]))

  def host_call(step, loss):
    with tf.compat.v2.summary.create_file_writer(os.path.join(sys.argv[1], 'told')).as_default():
      with tf.compat.v2.summary.record_if(True):
        tf.compat.v2.summary.scalar('told', loss[0], step=step[0])
        return tf.summary.all_v2_summary_ops()

  told = (host_call, [tf.reshape(step, [1]), tf.reshape(loss, [1])])
  return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, host_call=told)

def input_fn(params):
  x = np.arange(32, dtype=np.float32).reshape(16, 2) / 32
  return tf.data.Dataset.from_tensor_slices((x, x.sum(1))).repeat().batch(8, drop_remainder=True)

config = tf.estimator.tpu.RunConfig(model_dir=sys.argv[1], tpu_config=tf.estimator.tpu.TPUConfig(2))
est = tf.estimator.tpu.TPUEstimator(model_fn, sys.argv[1], config, train_batch_size=8, eval_batch_size=8)
for last in (1, 4, 5, 9):
  est.train(input_fn, max_steps=last)
  found = est.evaluate(input_fn, steps=2)
  print('at', found['global_step'], found['loss'], est.get_variable_value('rows'))
events = [name for name in os.listdir(os.path.join(sys.argv[1], 'told')) if 'tfevents' in name]
tags = [(event.step, value.tag) for name in events
        for event in tf.train.summary_iterator(os.path.join(sys.argv[1], 'told', name))
        for value in event.summary.value]
print('told', len(tags), [step for step, _ in sorted(tags)])
"""


def test_steps_that_count_twice_end_where_tensorflow_1_ended_them(tmp_path):
    """With modes of TensorFlow 1, in which no training loop runs, and a writer of TensorFlow 2."""
    printed, _ = printed_by_both(tmp_path, TWO_OPTIMIZERS)
    assert printed[:2] == ["at", "2"] and "told" in printed
    after = (tmp_path / "new.py").read_text()
    assert "disable_v2_behavior" not in after and "training_loop.summary_writer" in after


WITH_SESSION = """\
import os, sys
import numpy as np
import tensorflow as tf

class Progress(tf.train.SessionRunHook):
  def __init__(self, fetched):
    self.fetched = fetched
  def begin(self):
    self.step, self.variables = tf.train.get_global_step(), len(tf.global_variables())
  def before_run(self, run_context):
    return tf.train.SessionRunArgs({'found': self.fetched, 'step': self.step})
  def after_run(self, run_context, run_values):
    print('after', run_context.session.run(self.step), float(run_values.results['found']))
  def end(self, session):
    print('end', session.run(self.step), self.variables)

class Averages(tf.train.SessionRunHook):
  def begin(self):
    names = tf.train.ExponentialMovingAverage(0.8).variables_to_restore()
    self.saver = tf.train.Saver(names)
  def after_create_session(self, session, coord):
    self.saver.restore(session, tf.train.latest_checkpoint(sys.argv[1]))

class Loaded(tf.train.SessionRunHook):
  def begin(self):
    names = tf.train.ExponentialMovingAverage(0.8).variables_to_restore()
    names['missing'] = tf.trainable_variables()[0]
    self.load = tf.contrib.framework.assign_from_checkpoint_fn(
        tf.train.latest_checkpoint(sys.argv[1]), names, ignore_missing_vars=True)
  def after_create_session(self, session, coord):
    self.load(session)

class Stop(tf.estimator.SessionRunHook):
  def begin(self):
    self.add = tf.assign_add(tf.trainable_variables()[0], tf.ones([3, 1]))
  def after_create_session(self, session, coord):
    session.run(self.add)
  def after_run(self, run_context, run_values):
    step = run_context.session.run(tf.train.get_global_step())
    if step in (4, 6):  # the checkpoint of step 6 is without it
      run_context.session.run(self.add)
    if step == 6:
      run_context.request_stop()

def model_fn(features, labels, mode, params):
  features = features['x'] if isinstance(features, dict) else features
  w = tf.get_variable('w', [3, 1], initializer=tf.ones_initializer())
  y = tf.matmul(features, w)
  if mode == tf.estimator.ModeKeys.PREDICT:
    return tf.contrib.tpu.TPUEstimatorSpec(mode, {'y': y}, prediction_hooks=[Averages()])
  loss = tf.reduce_mean(tf.square(y - labels), name='mse')
  if mode == tf.estimator.ModeKeys.EVAL:
    def metric_fn(y, size):
      total = tf.get_variable(
          'total', [size - 1], initializer=tf.zeros_initializer(), trainable=False,
          collections=[tf.GraphKeys.LOCAL_VARIABLES])
      return {'total': (total, tf.assign_add(total, tf.fill([size - 1], tf.reduce_sum(y))))}
    return tf.contrib.tpu.TPUEstimatorSpec(
        mode, loss=loss, eval_metrics=(metric_fn, [y, 3]), evaluation_hooks=[Progress(loss)])
  train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
  with tf.control_dependencies([train_op]):
    train_op = tf.train.ExponentialMovingAverage(0.8).apply(tf.trainable_variables())
  logging = tf.train.LoggingTensorHook([loss], every_n_iter=2, at_end=True)
  return tf.contrib.tpu.TPUEstimatorSpec(
      mode, loss=loss, train_op=train_op, training_hooks=[Progress(loss), logging])

def input_fn(params):
  x = np.random.RandomState(0).rand(32, 3).astype('float32')
  data = tf.data.Dataset.from_tensor_slices((x, 2 * x.sum(1, keepdims=True))).repeat()
  return data.batch(params['batch_size'], drop_remainder=True)

def predict_fn(params):
  return tf.data.Dataset.from_tensor_slices(np.eye(3, dtype='f')).batch(params['batch_size'])

def serving():
  x = tf.placeholder(tf.float32, [None, 3])
  return tf.estimator.export.ServingInputReceiver({'x': x}, {'x': x})

def better(best_eval_result, current_eval_result):
  return current_eval_result['loss'] < best_eval_result['loss']

folder = sys.argv[1]
config = tf.contrib.tpu.RunConfig(model_dir=folder, save_checkpoints_steps=3)
est = tf.contrib.tpu.TPUEstimator(
    model_fn, config=config, use_tpu=False, train_batch_size=8, eval_batch_size=8, predict_batch_size=8)
asset = os.path.join(folder, 'words.txt')
tf.gfile.MakeDirs(folder)
with tf.gfile.Open(asset, 'w') as stream:
  stream.write('a b')
exporters = [
    tf.estimator.FinalExporter('final', serving, assets_extra={'more/words.txt': asset}),
    tf.estimator.BestExporter('best', serving, compare_fn=better),
    tf.estimator.LatestExporter('latest', serving, exports_to_keep=1)]
train = tf.estimator.TrainSpec(input_fn, max_steps=9, hooks=[Stop()])
for _ in range(2):
  found, exported = tf.estimator.train_and_evaluate(
      est, train, tf.estimator.EvalSpec(input_fn, 2, exporters=exporters, throttle_secs=0, start_delay_secs=0))
  print(found.pop('total'), sorted((key, float(one)) for key, one in found.items()))
  print([bool(one) for one in exported])
  exports = os.path.join(folder, 'export')
  print([(one, len(os.listdir(os.path.join(exports, one)))) for one in sorted(os.listdir(exports))])
(final,) = os.listdir(os.path.join(exports, 'final'))
print(open(os.path.join(exports, 'final', final, 'assets.extra', 'more', 'words.txt')).read())
print('ema', float(est.evaluate(input_fn, 1, hooks=[Averages()])['loss']))
print('ema', [float(one['y'].sum()) for one in est.predict(predict_fn)])
print('loaded', float(est.evaluate(input_fn, 1, hooks=[Loaded()])['loss']))
print('first', tf.train.load_variable(os.path.join(folder, 'model.ckpt-0'), 'w').ravel())
print('raw', est.get_variable_value('w').ravel())
"""


def test_hooks_with_a_session_and_exporters(tmp_path):
    printed, _ = printed_by_both(tmp_path, WITH_SESSION)
    assert printed.count("after") > 8 and printed.count("end") > 3


WITH_VARIABLES = """\
import sys
import numpy as np
import tensorflow as tf

def counters():
  with tf.variable_scope(tf.get_variable_scope(), reuse=tf.AUTO_REUSE):
    with tf.variable_scope('counters', reuse=tf.AUTO_REUSE):
      return [tf.get_variable(name, [], tf.int64, tf.constant_initializer(first), trainable=False)
              for name, first in (('calls', 0), ('before', 100), ('total', -1))]

class Counts(tf.train.SessionRunHook):
  def begin(self):
    calls, before, total = counters()
    with tf.name_scope('counting'):
      self.count = calls.assign_add(1)
      self.total = tf.cond(tf.equal(before % 2, 0), lambda: total.assign(before + self.count),
                           lambda: tf.identity(total))
      self.own = tf.Variable(0.5, trainable=False, name='own')
      self.double = self.own.assign(2 * self.own)
  def after_create_session(self, session, coord):
    print('starts with', [float(one) for one in session.run(counters() + [self.own])])
  def before_run(self, run_context):
    return tf.train.SessionRunArgs([self.count, self.total, self.double])
  def after_run(self, run_context, run_values):
    print('after', [float(one) for one in run_values.results])

class Saves(tf.train.CheckpointSaverListener):
  def begin(self):
    calls, before, total = counters()
    self.keep, self.reset = before.assign(calls), calls.assign(0)
  def before_save(self, session, global_step_value):
    print('before', global_step_value, session.run(self.keep))
  def after_save(self, session, global_step_value):
    session.run(self.reset)

def model_fn(features, labels, mode, params):
  loss = tf.reduce_mean(tf.square(tf.matmul(features, tf.get_variable('w', [3, 1])) - labels))
  rate = 0.01 * tf.cast(counters()[0] + 1, tf.float32)
  train_op = tf.train.GradientDescentOptimizer(rate).minimize(loss, tf.train.get_global_step())
  return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

def input_fn(params):
  x = np.random.RandomState(0).rand(32, 3).astype('float32')
  data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat()
  return data.batch(params['batch_size'], drop_remainder=True)

config = tf.contrib.tpu.RunConfig(
    model_dir=sys.argv[1], save_checkpoints_steps=3, tpu_config=tf.contrib.tpu.TPUConfig(1))
est = tf.contrib.tpu.TPUEstimator(model_fn, config=config, train_batch_size=8, eval_batch_size=8)
for last in (4, 6):
  est.train(input_fn, max_steps=last, hooks=[Counts()], saving_listeners=[Saves()])
  print(sorted(est.get_variable_names()))
  print([float(est.get_variable_value(one)) for one in ('counters/total', 'counters/calls', 'counting/own')])
"""


def test_hooks_and_listeners_that_make_variables(tmp_path):
    """They begin with the model's: a checkpoint has them, and a hook shares them with a listener."""
    printed, _ = printed_by_both(tmp_path, WITH_VARIABLES)
    assert printed.count("after") == 6 and printed.count("before") == 5


REPLICAS = """\
import training_loop
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
strategy = tf.distribute.MirroredStrategy([f"CPU:{n}" for n in range(4)])
groups = [[0, 2], [1, 3]]

@tf.function
def summed():
  def of_replica():
    number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32) + 1
    with tf.GradientTape() as tape:
      x = [tf.identity(number), tf.stack([number, 10 * number])]
      tape.watch(x)
      sums = [training_loop.cross_replica_sum(one, groups) for one in x]
      loss = sums[0] * number + tf.reduce_sum(sums[1]) * number
    return sums, tape.gradient(loss, x)
  return strategy.run(of_replica)

sums, gradients = tf.nest.map_structure(
    lambda one: [value.numpy().tolist() for value in strategy.experimental_local_results(one)], summed())
assert sums == [[4.0, 6.0, 4.0, 6.0], [[4.0, 40.0], [6.0, 60.0]] * 2], sums
assert gradients == [[4.0, 6.0, 4.0, 6.0], [[4.0, 4.0], [6.0, 6.0]] * 2], gradients

descent = tf.compat.v1.train.GradientDescentOptimizer

class Clipping(descent):
  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    return super().apply_gradients([(tf.minimum(g, 6.0), v) for g, v in grads_and_vars], global_step, name)

class Holding(tf.compat.v1.train.Optimizer):
  def __init__(self, held):
    super().__init__(False, "Holding")
    self._held = held
  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    return self._held.apply_gradients([(2 * g, v) for g, v in grads_and_vars], global_step, name)

class Own(descent):
  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    return tf.group(*(v.assign_sub(g) for g, v in grads_and_vars))

for optimizer, reduction, expected in (
    (descent(1.0), "SUM", -10.0), (descent(1.0), "MEAN", -2.5),
    (Clipping(1.0), "SUM", -6.0), (Clipping(1.0), "MEAN", -2.5),
    (Holding(descent(1.0)), "SUM", -20.0), (Holding(Clipping(1.0)), "MEAN", -5.0),
    (Own(1.0), "SUM", -10.0), (Own(1.0), "MEAN", -2.5)):
  with strategy.scope():
    w = tf.Variable(0.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
  optimizer = training_loop.CrossShardOptimizer(
      optimizer, reduction=getattr(tf.compat.v1.losses.Reduction, reduction))

  @tf.function
  def step():
    def of_replica():
      number = tf.distribute.get_replica_context().replica_id_in_sync_group + 1
      loss = w * tf.cast(number, tf.float32)
      optimizer.apply_gradients(optimizer.compute_gradients(loss, [w]))
    strategy.run(of_replica)

  step()
  assert float(w.read_value()) == expected, (reduction, w)
"""


def test_sums_over_groups_of_replicas_and_optimizers_that_sum(tmp_path):
    (tmp_path / "training_loop.py").write_bytes(written.source("training_loop.py"))
    (tmp_path / "program.py").write_text(REPLICAS)
    environ = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    words = [sys.executable, str(tmp_path / "program.py")]
    ran = subprocess.run(words, env=environ, stderr=subprocess.PIPE, text=True)
    assert ran.returncode == 0, ran.stderr[-2000:]


SETTINGS = """\
from tensorflow.contrib.training import HParams, parse_values

def defaults(text):
  found = HParams(rate=0.1, layers=[3, 1], bias=True, name='small')
  found.add_hparam('late', None)
  print(sorted(parse_values('rate=2,layers=[4]', {'rate': float, 'layers': int}).items()))
  return found.parse(text)
"""
WITH_SETTINGS = """\
import sys
import numpy as np
import tensorflow as tf
from lib import settings

def model_fn(features, labels, mode, params):
  x = features
  for index, units in enumerate(params.layers):
    ones = tf.ones_initializer()
    x = tf.layers.dense(x, units, use_bias=params.bias, kernel_initializer=ones, name='d%d' % index)
  loss = tf.reduce_mean(tf.square(x - labels))
  optimizer = tf.train.GradientDescentOptimizer(params.get('rate', 1.0))
  assert mode != tf.estimator.ModeKeys.TRAIN or ('use_tpu' in params and params.batch_size == 4)
  return tf.contrib.tpu.TPUEstimatorSpec(
      mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()))

def input_fn(params):
  x = np.random.RandomState(0).rand(8, 3).astype('float32')
  data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat()
  return data.batch(params.batch_size, drop_remainder=True)

params = settings.defaults('rate=0.01,layers=[2,1],bias=false')
print(params, params.to_json(sort_keys=True), isinstance(params, tf.contrib.training.HParams))
est = tf.contrib.tpu.TPUEstimator(
    model_fn, params=params, config=tf.contrib.tpu.RunConfig(model_dir=sys.argv[1]),
    train_batch_size=4, eval_batch_size=4, use_tpu=False)
est.train(input_fn, steps=3)
print('loss', est.evaluate(input_fn, steps=2)['loss'], 'batch_size' in params)
try:
  params.set_hparam('rate', 'fast')
except ValueError as error:
  print('refused', str(error).partition('Next')[0].split('TPU103')[-1].strip())
"""


def test_hyperparameters_of_a_program(tmp_path):
    """An object as params, and what a module of the program makes it with."""
    printed = []
    for half in ("old", "new"):
        (tmp_path / half / "lib").mkdir(parents=True)
        (tmp_path / half / "lib" / "__init__.py").write_text("")
        (tmp_path / half / "lib" / "settings.py").write_text(SETTINGS)
        (tmp_path / half / "main.py").write_text(WITH_SETTINGS)
    environ = {**os.environ, "PYTHONPATH": ROOT, "TF_ENABLE_ONEDNN_OPTS": "0"}
    migrate = [sys.executable, "-m", "tpucompat", "migrate", "--write", str(tmp_path / "new")]
    subprocess.run(migrate, env=environ, check=True, stdout=subprocess.PIPE)
    texts = [path.read_text() for path in (tmp_path / "new").rglob("*.py")]
    assert not any("tpucompat" in text for text in texts)
    for words in (
        ["-m", "tpucompat", "run", "--quiet", "old/main.py", "a"],
        ["new/main.py", "b"],
    ):
        ran = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environ, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        printed.append(ran.stdout.splitlines())
    (old,), (new,) = ([line for line in lines if line.startswith("loss")] for lines in printed)
    np.testing.assert_allclose(float(new.split()[1]), float(old.split()[1]), rtol=1e-5)
    assert [one for one in printed[1] if one != new] == [one for one in printed[0] if one != old]
    assert len(printed[0]) == 4 and new.split()[2] == old.split()[2] == "False"


KERAS_LAYERS = """\
import json
import sys
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras.layers import GRU


def model_fn(features, labels, mode, params):
    seeded = keras.initializers.he_normal
    orthogonal = keras.initializers.Orthogonal(seed=2)
    x = GRU(4, kernel_initializer=seeded(seed=1), recurrent_initializer=orthogonal,
            return_sequences=True)(features)
    cells = [tf.keras.layers.SimpleRNNCell(4, kernel_initializer=seeded(seed=units),
                                           recurrent_initializer=orthogonal) for units in (4, 5)]
    x = tf.keras.layers.RNN(cells)(x)
    x = tf.keras.layers.BatchNormalization()(x, training=True)
    y = tf.layers.dense(x, 1, kernel_initializer=tf.keras.initializers.RandomNormal(seed=3))
    loss = tf.reduce_mean(tf.square(y - labels))
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(params):
    x = np.random.RandomState(0).rand(8, 5, 2).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((x, x.sum(1)[:, :1])).repeat()
    return data.batch(params['batch_size'], drop_remainder=True)


config = tf.contrib.tpu.RunConfig(model_dir=sys.argv[1])
estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, use_tpu=False, train_batch_size=8)
estimator.train(input_fn, max_steps=2)
names = sorted(estimator.get_variable_names())
print(json.dumps({name: estimator.get_variable_value(name).tolist() for name in names}))
"""


def test_keras_layers_are_those_of_tensorflow_1(tmp_path):
    """GRU, BatchNormalization and seeded initializers: ``tf.keras`` has other classes by these names today."""
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(KERAS_LAYERS)
    new.write_text(KERAS_LAYERS)
    environ = {**os.environ, "PYTHONPATH": ROOT, "TF_ENABLE_ONEDNN_OPTS": "0"}
    migrate = [sys.executable, "-m", "tpucompat", "migrate", "--write", str(new)]
    subprocess.run(migrate, env=environ, check=True, stdout=subprocess.PIPE)
    assert "tpucompat" not in new.read_text()
    found = []
    for words in (["-m", "tpucompat", "run", str(old), "a"], [str(new), "b"]):
        command = [sys.executable, *words]
        ran = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr[-2000:]
        found.append(json.loads(ran.stdout.splitlines()[-1]))
    assert {"gru/kernel", "rnn/kernel", "rnn/kernel_1"} < found[0].keys() and len(found[0]) == 16
    compare(*found, "variables")


def test_the_names_of_other_classes_are_those_that_tf_keras_has():
    """The table is what comparing ``tf.keras`` with ``tf.compat.v1.keras`` gives."""
    program = (
        "import tensorflow as tf\n"
        "for name in ('initializers', 'layers', 'optimizers'):\n"
        "  old, new = getattr(tf.compat.v1.keras, name), getattr(tf.keras, name)\n"
        "  for one in dir(old):\n"
        "    if hasattr(new, one) and getattr(old, one) is not getattr(new, one):\n"
        "      if isinstance(getattr(old, one), type):\n"
        "        print(f'{name}.{one}')\n"
    )
    environ = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True
    )
    assert set(ran.stdout.split()) == keras_v1.NAMES
