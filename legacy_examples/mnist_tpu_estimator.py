"""MNIST on a Cloud TPU with TPUEstimator.

Written for TensorFlow 1.14. With a TPU called demo-tpu:

    python mnist_tpu_estimator.py --tpu=demo-tpu --data_dir=... --model_dir=gs://bucket/mnist
"""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import glob
import json
import os

import numpy as np
import tensorflow as tf

from tensorflow.contrib import summary as contrib_summary
from tensorflow.contrib import tpu as contrib_tpu
from tensorflow.contrib.cluster_resolver import TPUClusterResolver

flags = tf.flags
flags.DEFINE_string('tpu', '', 'Name of the TPU.')
flags.DEFINE_string('data_dir', '', 'Folder with mnist.npz, or a sample of Fashion-MNIST.')
flags.DEFINE_string('model_dir', None, 'Where checkpoints and summaries go.')
flags.DEFINE_string('export_dir', None, 'Where the trained model goes.')
flags.DEFINE_string('report', None, '.json to write the losses to.')
flags.DEFINE_integer('batch_size', 256, 'Batch of all cores together.')
flags.DEFINE_integer('train_steps', 1000, 'Steps to train.')
flags.DEFINE_integer('iterations', 50, 'Steps in one call of the TPU.')
flags.DEFINE_integer('seed', 1, 'Decides on the order of the images.')
flags.DEFINE_float('learning_rate', 0.05, 'Of the first step.')
flags.DEFINE_bool('use_tpu', True, 'Whether to use a TPU.')
FLAGS = flags.FLAGS


def load_data():
  for name in ('mnist.npz', 'fashion_mnist_sample.npz'):
    path = os.path.join(FLAGS.data_dir, name)
    if os.path.exists(path):
      with np.load(path) as data:
        return {part: (data['x_' + part][..., np.newaxis].astype(np.float32) / 255.0,
                       data['y_' + part].astype(np.int32)) for part in ('train', 'test')}
  raise IOError('There is no data in %r.' % FLAGS.data_dir)


def train_input_fn(params):
  images, labels = load_data()['train']
  batch_size = params['batch_size']
  rng = np.random.RandomState(FLAGS.seed)
  per_pass = len(images) // FLAGS.batch_size * FLAGS.batch_size
  passes = -(-FLAGS.train_steps * FLAGS.batch_size // per_pass)
  order = np.concatenate([rng.permutation(len(images))[:per_pass] for _ in range(passes)])
  images, labels = tf.constant(images), tf.constant(labels)
  dataset = tf.data.Dataset.from_tensor_slices(order).repeat()
  dataset = dataset.apply(tf.contrib.data.map_and_batch(
      lambda row: (tf.gather(images, row), tf.gather(labels, row)), batch_size,
      drop_remainder=True))
  return dataset.prefetch(tf.contrib.data.AUTOTUNE)


def eval_input_fn(params):
  dataset = tf.data.Dataset.from_tensor_slices(load_data()['test'])
  return dataset.batch(params['batch_size'], drop_remainder=True)


def predict_input_fn(params):
  dataset = tf.data.Dataset.from_tensor_slices(load_data()['test'][0][:10])
  return dataset.batch(params['batch_size'])


def network(images):
  x = tf.layers.conv2d(images, 8, 5, padding='same', activation=tf.nn.elu, name='conv1')
  x = tf.layers.average_pooling2d(x, 2, 2)
  x = tf.layers.conv2d(x, 16, 5, padding='same', activation=tf.nn.elu, name='conv2')
  x = tf.layers.average_pooling2d(x, 2, 2)
  x = tf.layers.dense(tf.layers.flatten(x), 64, activation=tf.nn.elu, name='hidden')
  return tf.layers.dense(x, 10, name='logits')


def metric_fn(labels, logits):
  return {
      'accuracy': tf.metrics.accuracy(labels, tf.argmax(logits, 1)),
      'mean_loss': tf.metrics.mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
          labels=labels, logits=logits)),
  }


def model_fn(features, labels, mode, params):
  logits = network(features)
  if mode == tf.estimator.ModeKeys.PREDICT:
    predictions = {
        'class': tf.argmax(logits, axis=1),
        'probabilities': tf.nn.softmax(logits),
    }
    return contrib_tpu.TPUEstimatorSpec(
        mode, predictions=predictions,
        export_outputs={'classify': tf.estimator.export.PredictOutput(predictions)})

  loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
  if mode == tf.estimator.ModeKeys.EVAL:
    return contrib_tpu.TPUEstimatorSpec(
        mode, loss=loss, eval_metrics=(metric_fn, [labels, logits]))

  global_step = tf.train.get_global_step()
  learning_rate = tf.train.exponential_decay(FLAGS.learning_rate, global_step, 100, 0.9)
  optimizer = tf.train.GradientDescentOptimizer(learning_rate)
  if FLAGS.use_tpu:
    optimizer = contrib_tpu.CrossShardOptimizer(optimizer)
  train_op = optimizer.minimize(loss, global_step)

  def host_call_fn(step, loss, learning_rate):
    with contrib_summary.create_file_writer(params['model_dir']).as_default():
      with contrib_summary.always_record_summaries():
        contrib_summary.scalar('training/loss', tf.reduce_mean(loss), step=step[0])
        contrib_summary.scalar('training/learning_rate', learning_rate[0], step=step[0])
        return contrib_summary.all_summary_ops()

  # What goes to the host has to have a batch dimension.
  host_call = (host_call_fn, [tf.reshape(global_step, [1]), tf.reshape(loss, [1]),
                              tf.reshape(learning_rate, [1])])
  return contrib_tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, host_call=host_call)


def written_scalars(tag):
  found = {}
  for path in glob.glob(os.path.join(FLAGS.model_dir, '*tfevents*')):
    for event in tf.train.summary_iterator(path):
      for value in event.summary.value:
        if value.tag == tag:
          number = tf.make_ndarray(value.tensor) if value.HasField('tensor') else value.simple_value
          found[event.step] = float(number)
  return [found[step] for step in sorted(found)]


def main(unused_argv):
  cluster = TPUClusterResolver(FLAGS.tpu) if FLAGS.use_tpu else None
  config = contrib_tpu.RunConfig(
      cluster=cluster,
      model_dir=FLAGS.model_dir,
      save_checkpoints_steps=max(100, FLAGS.iterations),
      tpu_config=contrib_tpu.TPUConfig(
          iterations_per_loop=FLAGS.iterations, num_shards=8,
          per_host_input_for_training=contrib_tpu.InputPipelineConfig.PER_HOST_V2))
  estimator = contrib_tpu.TPUEstimator(
      model_fn=model_fn,
      use_tpu=FLAGS.use_tpu,
      config=config,
      params={'model_dir': FLAGS.model_dir},
      train_batch_size=FLAGS.batch_size,
      eval_batch_size=FLAGS.batch_size,
      predict_batch_size=FLAGS.batch_size)

  estimator.train(train_input_fn, max_steps=FLAGS.train_steps)
  steps = len(load_data()['test'][0]) // FLAGS.batch_size
  metrics = estimator.evaluate(eval_input_fn, steps=steps)
  print('accuracy %.4f' % metrics['accuracy'])
  guesses = list(estimator.predict(predict_input_fn))
  for guess in guesses:
    print('predicted: %d (%.1f%%)' % (guess['class'], 100 * guess['probabilities'].max()))

  if FLAGS.export_dir:
    def serving_input_fn():
      images = tf.placeholder(tf.float32, [None, 28, 28, 1])
      return tf.estimator.export.TensorServingInputReceiver(images, images)
    estimator.export_saved_model(FLAGS.export_dir, serving_input_fn)

  if FLAGS.report:
    with open(FLAGS.report, 'w') as stream:
      json.dump({
          'step_loss': written_scalars('training/loss'),
          'learning_rate': written_scalars('training/learning_rate'),
          'metrics': {name: float(metrics[name]) for name in ('accuracy', 'mean_loss')},
          'probabilities': [guess['probabilities'].tolist() for guess in guesses],
      }, stream)


if __name__ == '__main__':
  tf.logging.set_verbosity(tf.logging.INFO)
  tf.app.run()
