"""Two optimizers in one step of an Estimator: each takes its gradients from the values before the step."""

import time

import numpy as np
import pytest

import tpucompat.v1 as tf
from tpucompat.base.machine import environment

pytestmark = pytest.mark.skipif(
    environment().has("contrib"),
    reason="there it is TensorFlow's own Estimator, which orders nothing",
)

RATE, STEPS, START, DATA = 0.25, 4, (3.0, -2.0), 0.5


def late(x):
    """The value, when the other optimizer has long been ready."""

    def wait(value):
        time.sleep(0.2)
        return value

    out = tf.py_func(wait, [x], tf.float32)
    out.set_shape(x.shape)
    return out


def model_fn(features, labels, mode):
    del labels
    first, second = (
        tf.get_variable(name, (), initializer=tf.constant_initializer(start), use_resource=False)
        for name, start in zip(("first", "second"), START)
    )
    data = tf.reduce_mean(features)
    one = tf.square(first - data)
    # d two / d second reads `first`, by its memory, after `first` could have been updated.
    two = tf.reshape(tf.reshape(first, [1]) * late(tf.reshape(data, [1])), []) * second
    step = tf.train.get_global_step()
    train = tf.group(
        tf.train.MomentumOptimizer(RATE, 0.5).minimize(one, global_step=step, var_list=[first]),
        tf.train.GradientDescentOptimizer(RATE).minimize(two, var_list=[second]),
    )
    return tf.estimator.EstimatorSpec(mode, loss=one + two, train_op=train)


def by_hand():
    first, second, momentum = *START, 0.0
    for _ in range(STEPS):
        momentum = 0.5 * momentum + 2 * (first - DATA)
        first, second = first - RATE * momentum, second - RATE * first * DATA
    return first, second


def test_two_optimizers_take_the_values_before_the_step(tmp_path):
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    estimator.train(
        lambda: tf.data.Dataset.from_tensors(np.full(2, DATA, np.float32)).repeat(), steps=STEPS
    )
    values = [estimator.get_variable_value(name) for name in ("first", "second")]
    np.testing.assert_allclose(values, by_hand(), rtol=1e-6)
