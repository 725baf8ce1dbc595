"""Listeners of checkpoints, hooks that stop early, and exports that classify, before and after migrate."""

from __future__ import annotations

import pytest
from test_migrated_estimators import printed_by_both

from tpucompat.base.machine import environment

pytestmark = pytest.mark.skipif(
    tuple(map(int, environment().tensorflow.split(".")[:2])) < (2, 16),
    reason="the migrated program is for the TensorFlow of today",
)

LISTENED = """\
import sys
import numpy as np
import tensorflow as tf
from tensorflow.contrib import predictor

class Listener(tf.train.CheckpointSaverListener):
  def __init__(self, name, last=None):
    self.name, self.last = name, last
  def begin(self):
    self.w = tf.trainable_variables()[0]
    print(self.name, 'begins')
  def before_save(self, session, global_step_value):
    print(self.name, 'before', global_step_value, float(session.run(self.w).sum()))
  def after_save(self, session, global_step_value):
    print(self.name, 'after', global_step_value)
    return global_step_value == self.last
  def end(self, session, global_step_value):
    print(self.name, 'ends', global_step_value)

def model_fn(features, labels, mode, params):
  features = features['x'] if isinstance(features, dict) else features
  w = tf.get_variable('w', [3, 1], initializer=tf.ones_initializer())
  y = tf.matmul(features, w)
  names = tf.where(y > 3, tf.fill(tf.shape(y), 'much'), tf.fill(tf.shape(y), 'little'))
  export = tf.estimator.export
  outputs = {
      'classify': export.ClassificationOutput(scores=tf.sigmoid(y), classes=names),
      'regress': export.RegressionOutput(y),
      'serving_default': export.PredictOutput({'y': y})}
  if mode == tf.estimator.ModeKeys.PREDICT:
    return tf.estimator.EstimatorSpec(mode, {'y': y}, export_outputs=outputs)
  loss = tf.reduce_mean(tf.square(y - labels))
  metrics = {'mae': tf.metrics.mean_absolute_error(labels, y)}
  rate = tf.train.polynomial_decay(0.1, tf.train.get_global_step(), 30, params['rate'])
  train_op = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, tf.train.get_global_step())
  return tf.estimator.EstimatorSpec(mode, {'y': y}, loss, train_op, eval_metric_ops=metrics)

def input_fn():
  x = np.random.RandomState(0).rand(32, 3).astype('float32')
  return tf.data.Dataset.from_tensor_slices((x, 2 * x.sum(1, keepdims=True))).repeat().batch(8)

def estimator(name, rate=0.1):
  config = tf.estimator.RunConfig(save_checkpoints_steps=2)
  return tf.estimator.Estimator(model_fn, sys.argv[1] + name, config, params={'rate': rate})

est = estimator('listened')
est.train(input_fn, steps=5, saving_listeners=[Listener('a'), Listener('b')])
est.train(input_fn, steps=9, saving_listeners=[Listener('c', 9)])
print(est.get_variable_value('global_step'))
hook = tf.train.CheckpointSaverHook(sys.argv[1] + 'hooked', save_steps=3, listeners=[Listener('d')])
estimator('hooked').train(input_fn, hooks=[hook], max_steps=7)

for name, rate, make in (
    ('stuck', 9.0, lambda est: tf.contrib.estimator.stop_if_no_decrease_hook(
        est, 'loss', max_steps_without_decrease=4, min_steps=3, run_every_secs=None, run_every_steps=1)),
    ('grown', 9.0, lambda est: tf.contrib.estimator.stop_if_no_increase_hook(
        est, 'mae', 6, est.eval_dir(), 0, None, 1)),
    ('low', 0.1, lambda est: tf.estimator.experimental.stop_if_lower_hook(
        est, 'mae', 0.5, run_every_secs=None, run_every_steps=3)),
    ('high', 9.0, lambda est: tf.estimator.experimental.stop_if_higher_hook(
        est, metric_name='mae', threshold=2.0, run_every_secs=None, run_every_steps=1)),
    ('own', 0.1, lambda est: tf.estimator.experimental.make_early_stopping_hook(
        est, should_stop_fn=lambda: est.latest_checkpoint().endswith('-8'), run_every_secs=None,
        run_every_steps=2))):
  est = estimator(name, rate)
  train = tf.estimator.TrainSpec(input_fn, max_steps=40, hooks=[make(est)])
  spec = tf.estimator.EvalSpec(input_fn, steps=2, throttle_secs=0, start_delay_secs=0)
  found, _ = tf.estimator.train_and_evaluate(est, train, spec)
  print(name, found['global_step'], float(found['mae']))

spec = {'x': tf.FixedLenFeature([3], tf.float32)}
parsing = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
floats = tf.train.Feature(float_list=tf.train.FloatList(value=[1., 2., 3.]))
text = tf.train.Example(features=tf.train.Features(feature={'x': floats})).SerializeToString()
folder = est.export_saved_model(sys.argv[1] + 'export', parsing)
for key, name in (('classify', 'inputs'), ('regress', 'inputs'), ('serving_default', 'examples')):
  found = predictor.from_saved_model(folder, key)({name: [text]})
  for one in sorted(found):
    print(key, one, found[one].ravel().tolist())
"""


@pytest.mark.long
def test_listeners_early_stops_and_exports_that_classify(tmp_path):
    printed, _ = printed_by_both(tmp_path, LISTENED)
    assert printed.count("after") > 8 and printed.count("ends") == 4
    stops = {name: int(printed[printed.index(name) + 1]) for name in ("stuck", "low", "own")}
    assert all(2 < step < 40 for step in stops.values()), stops
