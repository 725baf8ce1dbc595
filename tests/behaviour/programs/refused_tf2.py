"""Gives a TPU what it cannot run, in TensorFlow 2. Run by tests/behaviour/test_rehearsal.py.

Goes on after all kinds but the last.
"""

import sys

import numpy as np
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.experimental.TPUStrategy(resolver)
rows = np.random.RandomState(0).randn(64, 4).astype('float32')
data = tf.data.Dataset.from_tensor_slices(rows).repeat().batch(32, drop_remainder=True)
with strategy.scope():
    w = tf.Variable(tf.ones([4, 4]))


def plain(x):
    return x


def py_function(x):
    return tf.reshape(tf.py_function(lambda v: v * 2, [x], tf.float32), [-1, 4])


def string(x):
    return tf.strings.to_number(tf.strings.as_string(x))


def printed(x):
    tf.print('a step', tf.reduce_sum(x))
    return x


def size(x):
    return tf.zeros([tf.cast(tf.reduce_sum(tf.abs(x)), tf.int32), 4])


def unbounded(x):
    while tf.reduce_sum(x) < 100.0:
        x = tf.tanh(tf.matmul(x, w)) + 1.0
    return x


def sum_in_loop(x):
    for _ in tf.range(3):
        x = x + tf.distribute.get_replica_context().all_reduce('sum', x)
    return x


def back_from_host(x):
    on_host = lambda v: tf.numpy_function(lambda each: each * 2, [v], tf.float32)
    return tf.reshape(tf.compat.v1.tpu.outside_compilation(on_host, x), [-1, 4])


def train(change):
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(change(x), w)))
        w.assign_sub(0.01 * tape.gradient(loss, w))

    @tf.function
    def steps(iterator):
        for _ in tf.range(2):
            strategy.run(step, args=(next(iterator),))

    steps(iter(strategy.experimental_distribute_dataset(data)))


for kind in sys.argv[1:-1]:
    try:
        train(globals()[kind])
    except NotImplementedError as error:
        print(kind, 'was refused:', str(error).replace('\n', ' '))
train(globals()[sys.argv[-1]])
