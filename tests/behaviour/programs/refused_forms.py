"""Gives a TPU what it cannot run, in several forms. Run by tests/behaviour/test_rehearsal.py.

Each argument is KIND:FORM, a function of refused_layers.py and what is made of it. Goes on after all but the last.
"""

import sys

import numpy as np
import refused_layers
import tensorflow as tf
from tensorflow import keras

tpu = tf.contrib.tpu
x = np.random.RandomState(0).rand(32, 4).astype('float32')


def layer(function):
    model = keras.Sequential([
        keras.layers.Dense(4, input_shape=(4,)),
        keras.layers.Lambda(function),
        keras.layers.Dense(3, activation='softmax'),
    ])
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver('grpc://10.0.0.2:8470')
    model = tpu.keras_to_tpu_model(model, tpu.TPUDistributionStrategy(resolver))
    model.compile('sgd', 'sparse_categorical_crossentropy')
    model.fit(x, np.arange(32) % 3, batch_size=32, verbose=0)


def metric(function):
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(4,))])
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver('grpc://10.0.0.2:8470')
    model = tpu.keras_to_tpu_model(model, tpu.TPUDistributionStrategy(resolver))

    def measured(labels, out):
        return function(out)

    model.compile('sgd', 'mse', metrics=[measured])
    model.train_on_batch(x, x[:, :1])


def computation(replicate):
    def of(function):
        def step(a):
            w = tf.get_variable('w', [4, 1])
            loss = tf.reduce_mean(tf.square(function(tf.matmul(a, w))))
            with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.1).minimize(loss)]):
                return tf.identity(loss)

        out = replicate(step, tf.constant(x))
        with tf.Session() as sess:
            sess.run(tpu.initialize_system())
            sess.run(tf.global_variables_initializer())
            sess.run(out)

    return of


FORMS = {
    'layer': layer,
    'metric': metric,
    'rewrite': computation(lambda step, x: tpu.rewrite(step, [x])),
    'shard': computation(lambda step, x: tpu.shard(step, [x], num_shards=2)),
}
for each in sys.argv[1:]:
    kind, form = each.split(':')
    keras.backend.clear_session()
    tf.reset_default_graph()
    try:
        FORMS[form](getattr(refused_layers, kind))
    except Exception as error:
        if each == sys.argv[-1]:
            raise
        print(each + ' was refused: ' + str(error).replace('\n', ' '))
