"""How long does a Colab TPU take for a convolution?

Written for TensorFlow 1.12. In a Colab notebook with a TPU runtime:

    !python conv_batch_parallel.py --repeats 100
"""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import argparse
import json
import os
import time

import numpy as np
import tensorflow as tf

KERNEL_SIZE = 5


def parse_args():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--images', type=int, default=128, help='for all cores together')
  parser.add_argument('--size', type=int, default=256, help='height and width of an image')
  parser.add_argument('--channels', type=int, default=3)
  parser.add_argument('--filters', type=int, default=8)
  parser.add_argument('--shards', type=int, default=8, help='cores to share the images')
  parser.add_argument('--repeats', type=int, default=10)
  parser.add_argument('--report', metavar='FILE', help='.json to write the times to')
  parser.add_argument('--result', metavar='FILE', help='.npy to write the convolved images to')
  return parser.parse_args()


def main():
  args = parse_args()
  rng = np.random.RandomState(0)
  pixels = rng.rand(args.images, args.size, args.size, args.channels).astype(np.float32)
  weights = rng.randn(KERNEL_SIZE, KERNEL_SIZE, args.channels, args.filters).astype(np.float32)

  images = tf.Variable(tf.zeros(pixels.shape), trainable=False, name='images')
  feed = tf.placeholder(tf.float32, pixels.shape)
  load = images.assign(feed)
  kernel = tf.constant(weights)

  def convolve(batch):
    return tf.nn.conv2d(batch, kernel, strides=[1, 1, 1, 1], padding='SAME')

  def convolve_and_forget(batch):
    tf.nn.conv2d(batch, kernel, strides=[1, 1, 1, 1], padding='SAME')

  forms = [
      ('nothing returned', tf.contrib.tpu.batch_parallel(
          convolve_and_forget, [images], num_shards=args.shards)),
      ('result returned', tf.contrib.tpu.batch_parallel(
          convolve, [images], num_shards=args.shards)),
  ]

  report = {}
  with tf.Session('grpc://' + os.environ['COLAB_TPU_ADDR']) as session:
    session.run(tf.contrib.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    session.run(load, {feed: pixels})
    for name, operations in forms:
      result = session.run(operations)  # the first run compiles
      start = time.time()
      for _ in range(args.repeats):
        session.run(operations)
      milliseconds = (time.time() - start) / args.repeats * 1000
      print('{:<18}{:10.3f} ms per run'.format(name, milliseconds))
      report[name] = {'ms': milliseconds}
    mean, deviation = float(np.mean(result[0])), float(np.std(result[0]))
    print('{} values, mean {:.6f}, deviation {:.6f}'.format(result[0].shape, mean, deviation))
    report['shape'], report['mean'], report['deviation'] = result[0].shape, mean, deviation
    session.run(tf.contrib.tpu.shutdown_system())

  if args.result:
    np.save(args.result, result[0])
  if args.report:
    with open(args.report, 'w') as f:
      json.dump(report, f)


if __name__ == '__main__':
  main()
