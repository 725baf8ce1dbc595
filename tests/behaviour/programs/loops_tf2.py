"""The loops around strategy.run that TensorFlow 2's guides write. Run by tests/behaviour/test_rehearsal.py."""

import json
import sys

import numpy as np
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.experimental.TPUStrategy(resolver)
random = np.random.RandomState(0)
rows = tf.data.Dataset.from_tensor_slices(
    (random.randn(64, 4).astype('float32'), random.randn(64, 1).astype('float32')))
rows = rows.batch(16, drop_remainder=True)


losses = []


def write_down(loss):
    """On the host, for each core."""
    tf.numpy_function(lambda value: losses.append(float(value)), [loss], [])


def make():
    model = tf.keras.Sequential([tf.keras.layers.Dense(5, 'tanh', kernel_initializer='ones'),
                                 tf.keras.layers.Dense(1, kernel_initializer='ones')])
    model.build([None, 4])
    optimizer = tf.keras.optimizers.SGD(0.1)
    optimizer.iterations  # makes it
    seen = tf.keras.metrics.Mean()

    def step(batch):
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(model(x, training=True) - y)) / 16
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        seen.update_state(loss)
        tf.compat.v1.tpu.outside_compilation(write_down, loss)
        return loss

    def numbers():
        return [float(v) for each in model.get_weights() for v in np.ravel(each)]

    return step, numbers


def of_range(step, data):
    @tf.function
    def loop(iterator):
        for _ in tf.range(4):
            strategy.run(step, args=(next(iterator),))

    loop(iter(data))


def of_function(step, data):
    compiled = tf.function(step)

    @tf.function
    def loop(iterator):
        for _ in tf.range(4):
            strategy.run(compiled, args=(next(iterator),))

    loop(iter(data))


def of_dataset(step, data):
    @tf.function
    def loop(dataset):
        total = 0.0
        for batch in dataset:
            total += strategy.reduce('sum', strategy.run(step, args=(batch,)), axis=None)
        return total

    loop(data)


def of_while(step, data):
    @tf.function
    def loop(iterator):
        losses = tf.TensorArray(tf.float32, size=4)
        i = 0
        while i < 4:
            each = strategy.run(step, args=(next(iterator),))
            losses = losses.write(i, strategy.reduce('sum', each, axis=None))
            i += 1
        return losses.stack()

    loop(iter(data))


def of_host(step, data):
    compiled = tf.function(lambda batch: strategy.run(step, args=(batch,)))
    for batch in data:
        compiled(batch)


found = {}
for loop in (of_range, of_function, of_dataset, of_while, of_host):
    with strategy.scope():
        step, numbers = make()
    loop(step, strategy.experimental_distribute_dataset(rows))
    found[loop.__name__] = numbers()
step, numbers = make()
for batch in rows:
    step(batch)
found['plain'] = numbers()
found['losses'] = losses
with open(sys.argv[1], 'w') as out:
    json.dump(found, out)
