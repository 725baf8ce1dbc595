"""Trains on a slice of a pod, and writes down what each host was told and fed. Run by test_pod_slices.py."""

import json
import sys

import numpy as np
import tensorflow as tf

report, kinds = sys.argv[1], sys.argv[2:]
tpu = tf.contrib.tpu
GLOBAL_BATCH = 64
STEPS = 2


def told(context):
  """What a TPUContext says."""
  def ask(function):
    try:
      return function()
    except (RuntimeError, ValueError) as error:
      return type(error).__name__
  return {
      'replicas': context.num_replicas, 'hosts': context.num_hosts,
      'per host': ask(lambda: context.num_of_replicas_per_host),
      'host': ask(lambda: context.current_host),
      'deployment': ask(lambda: list(context.current_input_fn_deployment()[1:])),
      'ordinals': [context.device_for_replica(one)[1] for one in range(context.num_replicas)],
  }


def run(kind):
  found = {'input': [], 'model': [], 'fed': []}
  sharded_per_core = kind == 'PER_SHARD_V1'

  def input_fn(params):
    batch, context = params['batch_size'], params['context']
    found['input'].append(dict(told(context), batch=batch))
    first = 1000. * context.current_input_fn_deployment()[1]
    if sharded_per_core:
      return {'x': tf.range(first, first + batch, dtype=tf.float32)}, None
    data = tf.data.Dataset.range(STEPS * GLOBAL_BATCH).map(lambda i: {'x': first + tf.cast(i, tf.float32)})
    return data.batch(batch, drop_remainder=True)

  def keep(x, step):
    found['fed'].append(np.asarray(x).tolist())
    return step

  def model_fn(features, labels, mode, params):
    found['model'].append(dict(told(params['context']), batch=params['batch_size'],
                               shape=features['x'].shape.as_list()))
    w = tf.get_variable('w', [], initializer=tf.zeros_initializer(), use_resource=True)
    loss = tf.reduce_mean(w * features['x'])
    optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.001))
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    step = tf.reshape(tf.train.get_global_step(), [1])
    return tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op,
        eval_metrics=(lambda x: {'sum': tf.metrics.mean(x)}, [features['x']]),
        host_call=(lambda x, step: tf.py_func(keep, [x, step], tf.int64), [features['x'], step]))

  config = tpu.RunConfig(
      master='grpc://10.0.0.2:8470',
      tpu_config=tpu.TPUConfig(
          iterations_per_loop=STEPS,
          per_host_input_for_training=getattr(tpu.InputPipelineConfig, kind)))
  estimator = tpu.TPUEstimator(model_fn, config=config, train_batch_size=GLOBAL_BATCH,
                               eval_batch_size=GLOBAL_BATCH)
  estimator.train(input_fn, steps=STEPS)
  found['w'] = float(estimator.get_variable_value('w'))
  found['trained'] = len(found['input'])
  try:
    found['mean'] = float(estimator.evaluate(input_fn, steps=1)['sum'])
  except ValueError as error:
    found['evaluation'] = str(error)
  return found


results = {kind: run(kind) for kind in kinds}
from tpucompat.engines import rehearsal
results['traced'] = rehearsal.counts['traced']
with open(report, 'w') as out:
  json.dump(results, out)
