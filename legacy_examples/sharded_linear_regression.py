"""Linear regression on all cores of a Colab TPU, by hand: shard, CrossShardOptimizer, a Saver.

Written for TensorFlow 1.12. In a Colab notebook with a TPU runtime:

    !python sharded_linear_regression.py --model-dir /tmp/line

Started again with the same --model-dir, it goes on where it was.
"""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import argparse
import json
import os

import numpy as np
import tensorflow as tf

FEATURES = 4
TRUE_WEIGHTS = np.array([[1.5], [-2.0], [0.5], [3.0]], np.float32)
TRUE_BIAS = -0.7


def parse_args():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--steps', type=int, default=200, help='to be at in the end')
  parser.add_argument('--batch-size', type=int, default=64, help='for all shards together')
  parser.add_argument('--shards', type=int, default=8)
  parser.add_argument('--learning-rate', type=float, default=0.05)
  parser.add_argument('--optimizer', choices=['sgd', 'adam'], default='adam')
  parser.add_argument('--model-dir', help='where to keep checkpoints')
  parser.add_argument('--save-every', type=int, default=50, metavar='STEPS')
  parser.add_argument('--history', metavar='FILE', help='.json to write the losses to')
  return parser.parse_args()


def batch(step, size):
  """The batch of a step: the same one whenever it is asked for."""
  rng = np.random.RandomState(step)
  x = rng.randn(size, FEATURES).astype(np.float32)
  noise = 0.1 * rng.randn(size, 1).astype(np.float32)
  return x, x.dot(TRUE_WEIGHTS) + TRUE_BIAS + noise


def predict(x):
  with tf.variable_scope('line', reuse=tf.AUTO_REUSE):
    weights = tf.get_variable('weights', [FEATURES, 1], initializer=tf.zeros_initializer())
    bias = tf.get_variable('bias', [1], initializer=tf.zeros_initializer())
  return tf.matmul(x, weights) + bias


def mean_squared_error(x, y):
  return tf.reduce_mean(tf.square(predict(x) - y))


def main():
  args = parse_args()
  x = tf.placeholder(tf.float32, [args.batch_size, FEATURES])
  y = tf.placeholder(tf.float32, [args.batch_size, 1])

  def train_step(x, y):
    loss = mean_squared_error(x, y)
    if args.optimizer == 'adam':
      optimizer = tf.train.AdamOptimizer(args.learning_rate)
    else:
      optimizer = tf.train.GradientDescentOptimizer(args.learning_rate)
    optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    with tf.control_dependencies([train]):
      return tf.identity(loss)

  shard_losses, = tf.contrib.tpu.shard(train_step, [x, y], num_shards=args.shards)
  test_loss, = tf.contrib.tpu.rewrite(mean_squared_error, [x, y])
  saver = tf.train.Saver(max_to_keep=2)

  history = {'first_step': 0, 'loss': []}
  with tf.Session('grpc://' + os.environ['COLAB_TPU_ADDR']) as session:
    session.run(tf.contrib.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    if args.model_dir and tf.train.latest_checkpoint(args.model_dir):
      saver.restore(session, tf.train.latest_checkpoint(args.model_dir))
    step = history['first_step'] = int(session.run(tf.train.get_global_step()))
    while step < args.steps:
      inputs, targets = batch(step, args.batch_size)
      losses = session.run(shard_losses, {x: inputs, y: targets})
      step += 1
      history['loss'].append(float(np.mean(losses)))
      if step % 20 == 0:
        print('step {:5d}  loss {:.6f}'.format(step, np.mean(losses)))
      if args.model_dir and (step % args.save_every == 0 or step == args.steps):
        saver.save(session, os.path.join(args.model_dir, 'line'), global_step=step)
    inputs, targets = batch(-1 % 2**31, args.batch_size)
    history['test_loss'] = float(session.run(test_loss, {x: inputs, y: targets}))
    weights, bias = session.run(tf.trainable_variables())
    session.run(tf.contrib.tpu.shutdown_system())

  print('test loss {:.6f}'.format(history['test_loss']))
  print('weights', weights.ravel(), 'bias', bias)
  history['weights'] = weights.ravel().tolist() + bias.tolist()
  if args.history:
    with open(args.history, 'w') as f:
      json.dump(history, f)


if __name__ == '__main__':
  main()
