"""Computations that ask for the number of their replica; the argument is how many there are."""

import sys

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla

N = int(sys.argv[1])

def computation(x):
    number = xla.replica_id()
    turned = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y + tf.cast(xla.replica_id(), tf.float32)), [0, x[0, 0]])[1]
    placed = tf.scatter_nd([[number]], [x[0]], [N, 2])
    return tf.reshape(number, [1]), tf.reshape(turned, [1]), tf.expand_dims(tf.tpu.cross_replica_sum(placed), 0)

x = tf.constant(np.arange(2.0 * N, dtype="float32").reshape(N, 2))
outputs = tf.contrib.tpu.shard(computation, [x], num_shards=N)
with tf.Session() as session:
    session.run(tf.contrib.tpu.initialize_system())
    numbers, turned, gathered = session.run(outputs)
    print(numbers.tolist(), turned.tolist(), bool(np.all(gathered == session.run(x)[None])))

def model_fn(features, labels, mode, params):
    w = tf.get_variable("w", [N, 2], initializer=tf.zeros_initializer())
    mine = tf.scatter_nd([[xla.replica_id()]], [features[0]], [N, 2])
    lasts = tf.map_fn(lambda one: one * tf.cast(xla.replica_id(), tf.float32), features)
    everything = tf.tpu.cross_replica_sum(mine) if N > 1 else mine
    with tf.control_dependencies([w.assign(everything + tf.tpu.cross_replica_sum(tf.reduce_sum(lasts)))]):
        step = tf.train.get_global_step().assign_add(1)
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_sum(everything), train_op=step.op)

def input_fn(params):
    data = tf.data.Dataset.from_tensor_slices((np.arange(2.0 * N, dtype="float32").reshape(N, 2), np.zeros(N, "f")))
    return data.repeat().batch(params["batch_size"], drop_remainder=True)

config = tf.contrib.tpu.RunConfig(tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=1))
estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, train_batch_size=N)
estimator.train(input_fn, max_steps=1)
print(estimator.get_variable_value("w").tolist())
