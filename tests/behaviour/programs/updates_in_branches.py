"""A model function whose update is in both branches of a conditional, and whose loop begins with a weight.

    updates_in_branches.py FILE

FILE gets, as JSON, the count that the branches change, and the weight.
"""

import json
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.contrib import tpu


def model_fn(features, labels, mode, params):
    start = np.array([1.0, 2.0], np.float32)
    w = tf.get_variable("w", initializer=start)
    calls = tf.get_variable("calls", initializer=0.0, trainable=False)
    update = tf.cond(
        calls > 0.0, lambda: tf.assign_add(calls, 1.0), lambda: tf.assign_add(calls, 2.0)
    )
    _, y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, y * w),
        (0, tf.square(w) * features["x"]),
        maximum_iterations=3,
    )
    loss = tf.reduce_mean(y)
    optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.01))
    with tf.control_dependencies([update]):
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(params):
    data = {"x": np.ones([16, 2], np.float32)}
    dataset = tf.data.Dataset.from_tensor_slices((data, np.zeros([16], np.float32)))
    return dataset.repeat().batch(params["batch_size"], drop_remainder=True)


estimator = tpu.TPUEstimator(
    model_fn,
    config=tpu.RunConfig(
        model_dir=tempfile.mkdtemp(), tpu_config=tpu.TPUConfig(iterations_per_loop=3)
    ),
    use_tpu=True,
    params={},
    train_batch_size=8,
)
estimator.train(input_fn, steps=3)
with open(sys.argv[1], "w") as file:
    names = ("calls", "w")
    json.dump([estimator.get_variable_value(name).tolist() for name in names], file)
