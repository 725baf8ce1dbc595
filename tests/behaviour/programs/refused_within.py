"""A TPUEstimator with what a TPU cannot run in many places. Run by tests/behaviour/test_rehearsal.py.

Each argument is KIND:PLACE, a function of refused_layers.py and where the script has it. Goes on after all but
the last. On the host ('map', 'host_call', 'metric_fn', 'hook') everything can run.
"""

import sys

import numpy as np
import refused_layers
import tensorflow as tf
from tensorflow.python.framework import function as functions

tpu = tf.contrib.tpu


def in_branch(function, x):
    return tf.cond(tf.reduce_sum(x) > -1e9, lambda: function(x), lambda: x)


def in_loop(function, x):
    return tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, function(v)), [0, x],
                         maximum_iterations=2)[1]


def in_function(function, x):
    return tf.function(function)(x)


def in_nested_functions(function, x):
    inner = tf.function(function)
    return tf.function(lambda v: inner(v) + 1.0)(x)


def in_defun(function, x):
    made = functions.Defun(tf.float32)(function)(x)
    made.set_shape(x.shape)
    return made


def in_gradient(function, x):
    @tf.custom_gradient
    def same(v):
        return tf.identity(v), function

    return same(x)


def recomputed(function, x):
    return tf.contrib.layers.recompute_grad(function)(x)


PLACES = {
    'branch': in_branch,
    'loop': in_loop,
    'function': in_function,
    'nested': in_nested_functions,
    'defun': in_defun,
    'gradient': in_gradient,
    'recomputed': recomputed,
    'map_fn': lambda function, x: tf.map_fn(function, x),
}


def train(function, place):
    def model_fn(features, labels, mode, params):
        x = tf.layers.dense(features, 4)
        x = PLACES[place](function, x) if place in PLACES else x
        loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - labels))
        if mode == tf.estimator.ModeKeys.EVAL:
            def metric_fn(outputs):
                outputs = function(outputs) if place == 'metric_fn' else outputs
                return {'mean': tf.metrics.mean(outputs)}

            return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [x]))

        def host_call(losses):
            losses = function(losses) if place == 'host_call' else losses
            return [tf.reduce_sum(losses)]

        opt = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        return tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=opt.minimize(loss, tf.train.get_global_step()),
            host_call=(host_call, [tf.reshape(loss, [1])]))

    def input_fn(params):
        x = np.random.RandomState(0).rand(32, 4).astype('f')
        data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).repeat()
        if place == 'map':
            data = data.map(lambda a, b: (function(tf.expand_dims(a, 0))[0], b))
        return data.batch(params['batch_size'], drop_remainder=True)

    config = tpu.RunConfig(tpu_config=tpu.TPUConfig(2))
    estimator = tpu.TPUEstimator(model_fn, config=config, use_tpu=True,
                                 train_batch_size=8, eval_batch_size=8)
    estimator.train(input_fn, steps=2)
    estimator.evaluate(input_fn, steps=1)


for each in sys.argv[1:]:
    kind, place = each.split(':')
    tf.reset_default_graph()
    try:
        train(getattr(refused_layers, kind), place)
        print(each + ' was refused: not')
    except Exception as error:
        if each == sys.argv[-1]:
            raise
        print(each + ' was refused: ' + str(error).replace('\n', ' '))
