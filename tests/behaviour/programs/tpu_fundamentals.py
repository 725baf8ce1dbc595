"""The steps of a first look at a TPU, as a notebook of 2018 would take them, in one script.

rewrite, batch_parallel, a training loop in repeat fed by threads through infeed and outfeed. Writes
what it computed to the JSON file that its argument names.
"""

import json
import os
import sys
import threading

import numpy as np
import tensorflow as tf
from tensorflow.contrib import tpu
from tensorflow.contrib.cluster_resolver import TPUClusterResolver
from tensorflow.contrib.tpu.python.tpu import tpu_function

NUM_SHARDS = 8
STEPS = 20
BATCH = 64
report = {}

resolver = TPUClusterResolver(tpu='grpc://' + os.environ['COLAB_TPU_ADDR'])
address = resolver.get_master()


def axpy(a, x, y):
  return a * x + y


# One core.
on_one_core = tpu.rewrite(axpy, [3.0, tf.range(5.0), tf.ones([4, 5])])

# All cores; what the function takes from outside goes to each of them.
factor = tf.constant(0.5)
rows = tf.constant(np.arange(NUM_SHARDS * 4, dtype=np.float32).reshape(NUM_SHARDS, 4))


def halve_and_sum(part):
  return part * factor, tf.reduce_sum(part), tpu.cross_replica_sum(tf.reduce_sum(part))


on_all_cores = tpu.batch_parallel(halve_and_sum, [rows], num_shards=NUM_SHARDS)

# A training loop that stays on the TPU. One thread feeds it, another one takes the losses.
features = tf.placeholder(tf.float32, [BATCH, 3])
labels = tf.placeholder(tf.int32, [BATCH])
queue = tpu.InfeedQueue(number_of_tuple_elements=2)
queue.set_number_of_shards(NUM_SHARDS)
enqueue = queue.split_inputs_and_generate_enqueue_ops([features, labels])


def network(x):
  hidden = tf.layers.dense(
      x, 8, activation=tf.nn.relu, name='hidden',
      kernel_initializer=tf.random_uniform_initializer(-1, 1, seed=1))
  return tf.layers.dense(
      hidden, 2, name='out', kernel_initializer=tf.random_uniform_initializer(-1, 1, seed=2))


def train_step(last_loss, x, y):
  del last_loss
  loss = tf.losses.sparse_softmax_cross_entropy(y, network(x))
  optimizer = tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.2, 0.9))
  train = optimizer.minimize(loss, tf.train.get_or_create_global_step())
  shards = tpu_function.get_tpu_context().number_of_shards
  mean = tpu.cross_replica_sum(loss / shards)
  with tf.control_dependencies([train]):
    sent = tpu.outfeed_enqueue_tuple([loss, tf.train.get_global_step().read_value()])
  return mean, sent


def train_loop():
  return tpu.repeat(STEPS, train_step, [0.0], infeed_queue=queue)


train, = tpu.shard(train_loop, num_shards=NUM_SHARDS, outputs_from_all_shards=False)
outfeed = [
    tpu.outfeed_dequeue_tuple([tf.float32, tf.int64], [[], []], device_ordinal=core)
    for core in range(NUM_SHARDS)
]

data = np.random.RandomState(0)
batches = []
for _ in range(STEPS):
  x = data.randn(BATCH, 3).astype(np.float32)
  batches.append((x, (x[:, 0] * x[:, 1] > 0).astype(np.int32)))

with tf.Session(address) as session:
  session.run(tpu.initialize_system())
  session.run(tf.global_variables_initializer())

  report['one core'] = session.run(on_one_core)[0].tolist()
  report['all cores'] = [part.tolist() for part in session.run(on_all_cores)]

  losses = []

  def feed():
    for x, y in batches:
      session.run(enqueue, {features: x, labels: y})

  def collect():
    for _ in range(STEPS):
      parts = session.run(outfeed)
      losses.append((float(np.mean([loss for loss, _ in parts])), int(parts[0][1])))

  threads = [threading.Thread(target=feed), threading.Thread(target=collect)]
  for thread in threads:
    thread.start()
  report['final loss'] = float(session.run(train))
  for thread in threads:
    thread.join()
  report['losses'] = [loss for loss, _ in losses]
  report['steps'] = [step for _, step in losses]
  report['global step'] = int(session.run(tf.train.get_global_step()))
  session.run(tpu.shutdown_system())

print('loss {:.4f} after the first step, {:.4f} after the last'.format(
    report['losses'][0], report['final loss']))
with open(sys.argv[1], 'w') as f:
  json.dump(report, f)
