"""Fine-tunes a small BERT as a classifier of pairs of sentences, on a Cloud TPU.

Written for TensorFlow 1.13. The sentences are numbers already, made up where no --data is given: a
pair is positive if the words of its second sentence are of the upper half of the vocabulary; a
sentence that is too short ends in zeros. With a TPU called demo-tpu:

    python bert_classifier.py --tpu=demo-tpu --model_dir=gs://bucket/pairs --init_checkpoint=...
"""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import json
import re
import time

import numpy as np
import tensorflow as tf

flags = tf.flags
flags.DEFINE_string('tpu', '', 'Name of the TPU.')
flags.DEFINE_string('data', None, '.npz with the arrays ids, segments and labels.')
flags.DEFINE_string('model_dir', None, 'Where checkpoints go.')
flags.DEFINE_string('init_checkpoint', None, 'A checkpoint with an encoder to start from.')
flags.DEFINE_string('report', None, '.json to write the losses to.')
flags.DEFINE_integer('batch_size', 32, 'Batch of all cores together.')
flags.DEFINE_integer('train_steps', 200, 'Steps to train.')
flags.DEFINE_integer('warmup_steps', 5, 'Steps in which the learning rate grows.')
flags.DEFINE_integer('iterations', 50, 'Steps in one call of the TPU.')
flags.DEFINE_integer('vocabulary', 100, 'Words.')
flags.DEFINE_integer('length', 24, 'Words of a pair of sentences.')
flags.DEFINE_integer('width', 32, 'Width of the encoder.')
flags.DEFINE_integer('layers', 2, 'Layers of the encoder.')
flags.DEFINE_integer('heads', 4, 'Heads of attention.')
flags.DEFINE_float('learning_rate', 1e-3, 'The highest one.')
flags.DEFINE_float('weight_decay', 0.01, 'Of the optimizer.')
flags.DEFINE_float('clip_norm', 1.0, 'The largest norm of all gradients together.')
flags.DEFINE_float('initializer_range', 0.02, 'Spread of the weights at the start.')
flags.DEFINE_bool('use_tpu', True, 'Whether to use a TPU.')
FLAGS = flags.FLAGS


def load_data():
  if FLAGS.data:
    with np.load(FLAGS.data) as data:
      return {name: data[name] for name in ('ids', 'segments', 'labels')}
  rng = np.random.RandomState(0)
  half = FLAGS.length // 2
  topic = (FLAGS.vocabulary - 1) // 2
  labels = rng.randint(0, 2, 512)
  first = rng.randint(1, FLAGS.vocabulary, (512, half))
  second = rng.randint(1, 1 + topic, (512, half)) + topic * labels[:, None]
  words = rng.randint(half // 2, half + 1, (2, 512, 1))
  ids = [np.where(np.arange(half) < n, x, 0) for n, x in zip(words, (first, second))]
  return {
      'ids': np.concatenate(ids, 1).astype(np.int32),
      'segments': np.repeat([[0, 1]], half, 1).repeat(512, 0).astype(np.int32),
      'labels': labels.astype(np.int32),
  }


def make_input_fn(training):
  def input_fn(params):
    data = load_data()
    labels = data.pop('labels')
    dataset = tf.data.Dataset.from_tensor_slices((data, labels))
    if training:
      dataset = dataset.repeat()
    return dataset.batch(params['batch_size'], drop_remainder=True)
  return input_fn


def weights():
  return tf.truncated_normal_initializer(stddev=FLAGS.initializer_range)


def dense(x, width, name, activation=None):
  return tf.layers.dense(x, width, activation, name=name, kernel_initializer=weights())


def gelu(x):
  return x * 0.5 * (1.0 + tf.erf(x / np.sqrt(2.0).astype(np.float32)))


def layer_norm(x, name):
  return tf.contrib.layers.layer_norm(x, begin_norm_axis=-1, begin_params_axis=-1, scope=name)


def attention(x, mask, batch, length):
  size = FLAGS.width // FLAGS.heads

  def heads_of(name):
    y = tf.reshape(dense(x, FLAGS.width, name), [batch, length, FLAGS.heads, size])
    return tf.transpose(y, [0, 2, 1, 3])

  query, key, value = heads_of('query'), heads_of('key'), heads_of('value')
  scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(size).astype(np.float32)
  scores += (1.0 - mask[:, tf.newaxis, tf.newaxis, :]) * -10000.0
  y = tf.matmul(tf.nn.softmax(scores), value)
  return tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [batch, length, FLAGS.width])


def encoder(ids, segments):
  batch, length = ids.shape.as_list()
  table = weights()
  mask = tf.cast(tf.not_equal(ids, 0), tf.float32)
  with tf.variable_scope('encoder'):
    words = tf.get_variable('words', [FLAGS.vocabulary, FLAGS.width], initializer=table)
    positions = tf.get_variable('positions', [length, FLAGS.width], initializer=table)
    kinds = tf.get_variable('segments', [2, FLAGS.width], initializer=table)
    x = tf.gather(words, ids) + positions + tf.gather(kinds, segments)
    x = layer_norm(x, 'norm')
    for index in range(FLAGS.layers):
      with tf.variable_scope('layer_%d' % index):
        y = dense(attention(x, mask, batch, length), FLAGS.width, 'attended')
        x = layer_norm(x + y, 'attention_norm')
        y = dense(dense(x, 4 * FLAGS.width, 'intermediate', gelu), FLAGS.width, 'output')
        x = layer_norm(x + y, 'output_norm')
    return dense(x[:, 0], FLAGS.width, 'pooled', tf.tanh)


class AdamWeightDecayOptimizer(tf.train.Optimizer):
  """Adam of clipped gradients, whose weight decay does not go through the moments."""

  def __init__(self, learning_rate, decay=0.01, clip_norm=1.0, beta_1=0.9, beta_2=0.999,
               epsilon=1e-6, without_decay=('norm', 'bias')):
    super(AdamWeightDecayOptimizer, self).__init__(False, 'AdamWeightDecayOptimizer')
    self.learning_rate = learning_rate
    self.decay = decay
    self.clip_norm = clip_norm
    self.beta_1 = beta_1
    self.beta_2 = beta_2
    self.epsilon = epsilon
    self.without_decay = without_decay

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    assignments = []
    gradients, variables = zip(*grads_and_vars)
    gradients, _ = tf.clip_by_global_norm(gradients, self.clip_norm)
    for gradient, variable in zip(gradients, variables):
      if gradient is None:
        continue
      gradient = tf.convert_to_tensor(gradient)
      name = re.match('^(.*):\\d+$', variable.name).group(1)
      m, v = [
          tf.get_variable(name + slot, variable.shape.as_list(), trainable=False,
                          initializer=tf.zeros_initializer()) for slot in ('/adam_m', '/adam_v')]
      next_m = self.beta_1 * m + (1.0 - self.beta_1) * gradient
      next_v = self.beta_2 * v + (1.0 - self.beta_2) * tf.square(gradient)
      update = next_m / (tf.sqrt(next_v) + self.epsilon)
      if not any(re.search(pattern, name) for pattern in self.without_decay):
        update += self.decay * variable
      assignments += [variable.assign(variable - self.learning_rate * update),
                      m.assign(next_m), v.assign(next_v)]
    return tf.group(*assignments)


def learning_rate_at(step):
  step = tf.cast(step, tf.float32)
  decayed = FLAGS.learning_rate * (1.0 - step / FLAGS.train_steps)
  warm = FLAGS.learning_rate * step / max(FLAGS.warmup_steps, 1)
  return tf.where(step < FLAGS.warmup_steps, warm, decayed)


def metric_fn(losses, labels, logits):
  return {
      'accuracy': tf.metrics.accuracy(labels, tf.argmax(logits, 1)),
      'mean_loss': tf.metrics.mean(losses),
  }


RECORDED = {'step_loss': [], 'learning_rate': [], 'step_time': []}


def model_fn(features, labels, mode, params):
  pooled = encoder(features['ids'], features['segments'])
  logits = dense(pooled, 2, 'classifier')
  probabilities = tf.nn.softmax(logits)

  scaffold_fn = None
  if FLAGS.init_checkpoint:
    theirs = {name for name, _ in tf.train.list_variables(FLAGS.init_checkpoint)}
    names = {variable.op.name: variable.op.name for variable in tf.trainable_variables()
             if variable.op.name in theirs}
    if params['use_tpu']:
      def scaffold_fn():
        tf.train.init_from_checkpoint(FLAGS.init_checkpoint, names)
        return tf.train.Scaffold()
    else:
      tf.train.init_from_checkpoint(FLAGS.init_checkpoint, names)

  if mode == tf.estimator.ModeKeys.PREDICT:
    return tf.contrib.tpu.TPUEstimatorSpec(
        mode, predictions={'probabilities': probabilities}, scaffold_fn=scaffold_fn)
  losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
  loss = tf.reduce_mean(losses)
  if mode == tf.estimator.ModeKeys.EVAL:
    return tf.contrib.tpu.TPUEstimatorSpec(
        mode, loss=loss, eval_metrics=(metric_fn, [losses, labels, logits]),
        scaffold_fn=scaffold_fn)

  step = tf.train.get_global_step()
  learning_rate = learning_rate_at(step)
  optimizer = AdamWeightDecayOptimizer(learning_rate, FLAGS.weight_decay, FLAGS.clip_norm)
  if FLAGS.use_tpu:
    optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
  # The sum over the cores is that of their gradients, so each core takes its part of the loss.
  shards = params['context'].num_replicas if FLAGS.use_tpu else 1
  variables = tf.trainable_variables()
  gradients = tf.gradients(loss / shards, variables)
  with tf.control_dependencies([tf.convert_to_tensor(gradient) for gradient in gradients]):
    update = optimizer.apply_gradients(zip(gradients, variables))
  with tf.control_dependencies([update]):
    train_op = step.assign_add(1)

  def host_call_fn(losses, rates):
    def record(losses, rates):
      RECORDED['step_loss'].append(float(np.mean(losses)))
      RECORDED['learning_rate'].append(float(rates[0]))
      RECORDED['step_time'].append(time.time())
      return np.int32(0)
    return [tf.py_func(record, [losses, rates], tf.int32)]

  host_call = (host_call_fn, [tf.reshape(loss, [1]), tf.reshape(learning_rate, [1])])
  return tf.contrib.tpu.TPUEstimatorSpec(
      mode, loss=loss, train_op=train_op, host_call=host_call, scaffold_fn=scaffold_fn)


def main(unused_argv):
  cluster = None
  if FLAGS.use_tpu:
    cluster = tf.contrib.cluster_resolver.TPUClusterResolver(FLAGS.tpu)
  config = tf.contrib.tpu.RunConfig(
      cluster=cluster,
      model_dir=FLAGS.model_dir,
      save_checkpoints_steps=100,
      tpu_config=tf.contrib.tpu.TPUConfig(
          iterations_per_loop=FLAGS.iterations, num_shards=8,
          per_host_input_for_training=tf.contrib.tpu.InputPipelineConfig.PER_HOST_V2))
  estimator = tf.contrib.tpu.TPUEstimator(
      model_fn=model_fn,
      use_tpu=FLAGS.use_tpu,
      config=config,
      train_batch_size=FLAGS.batch_size,
      eval_batch_size=FLAGS.batch_size,
      predict_batch_size=FLAGS.batch_size)
  estimator.train(make_input_fn(True), max_steps=FLAGS.train_steps)
  steps = len(load_data()['labels']) // FLAGS.batch_size
  metrics = estimator.evaluate(make_input_fn(False), steps=steps)
  print('accuracy %.4f' % metrics['accuracy'])
  guesses = []
  for guess in estimator.predict(make_input_fn(False)):
    guesses.append(guess['probabilities'].tolist())
    if len(guesses) == 10:
      break
  if FLAGS.report:
    with open(FLAGS.report, 'w') as stream:
      json.dump(dict(
          RECORDED,
          metrics={name: float(metrics[name]) for name in ('accuracy', 'mean_loss')},
          probabilities=guesses), stream)


if __name__ == '__main__':
  tf.logging.set_verbosity(tf.logging.INFO)
  tf.app.run()
