"""Two plain functions on the cores of a TPU; writes what they computed to a file."""

import json
import os
import sys
import numpy as np
import tensorflow as tf
from tensorflow.contrib import tpu
from tensorflow.contrib.cluster_resolver import TPUClusterResolver

weights = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))

def axy(a, x, y):
  return a * x + y

def rows_by_rows(rows):
  """Row by row."""
  doubled = 2.0 * rows
  return tf.nn.relu(doubled - 9.0), tf.matmul(rows, weights)

inputs = [3.0, tf.ones([2, 2], tf.float32), tf.reduce_sum(weights)]
one = tpu.rewrite(axy, inputs)
all_of_them = tpu.batch_parallel(rows_by_rows, [tf.reshape(tf.range(48.0), [16, 3])], num_shards=8)
address = TPUClusterResolver('grpc://' + os.environ['COLAB_TPU_ADDR']).get_master()

with tf.Session(address) as session:
  session.run(tpu.initialize_system())
  session.run(tf.global_variables_initializer())
  for _ in range(2):
    relu, product = session.run(all_of_them)  # twice
  report = {'one': session.run(one)[0].tolist(), 'relu': relu.tolist(), 'product': product.tolist()}
  session.run(tpu.shutdown_system())

with open(sys.argv[1], 'w') as f:
  json.dump(report, f)
