"""Gives a TPU what it cannot run. Run by tests/behaviour/test_rehearsal.py."""

import sys
import numpy as np
import tensorflow as tf
kind = sys.argv[1]


def model_fn(features, labels, mode, params):
    x = features['x']
    if kind == 'py_func':
        x = tf.py_func(lambda v: v * 2, [x], tf.float32)
        x.set_shape([params['batch_size'], 4])
    elif kind == 'string':
        s = tf.as_string(x)
        x = tf.string_to_number(s)
    elif kind == 'print':
        x = tf.Print(x, [tf.reduce_sum(x)])
    elif kind == 'while':
        w = tf.get_variable('w', [4, 4])
        _, x = tf.while_loop(lambda i, v: tf.reduce_sum(v) < 100.,
                             lambda i, v: (i + 1, tf.tanh(tf.matmul(v, w))), [0, x])
    elif kind == 'initial':
        start = tf.fill([4], 0.5)
        x = x * tf.get_variable('scale', initializer=start)
    logits = tf.layers.dense(x, 3)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    opt = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    train = opt.minimize(loss, tf.train.get_global_step())
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train)


def input_fn(params):
    x = np.random.RandomState(0).randn(64, 4).astype('f')
    y = np.arange(64) % 3
    x = {'x': x, 'pictures': {'left': np.zeros([64, 2], np.uint8)}} if kind == 'type' else {'x': x}
    d = tf.data.Dataset.from_tensor_slices((x, y)).repeat()
    return d.batch(params['batch_size'], drop_remainder=kind != 'unknown')


config = tf.contrib.tpu.RunConfig(tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=2, num_shards=8))
estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, use_tpu=True, train_batch_size=32)
estimator.train(input_fn, max_steps=4)
