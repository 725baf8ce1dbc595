"""A training whose loss is a function of the step: python estimator_steps.py MODEL_DIR MAX_STEPS.

Prints "step loss" after each step, the number of the step first. Every batch is the same, so that a
training that was resumed cannot be told from one that was not disturbed.
"""

import sys
import time

import numpy as np
import tensorflow as tf

tpu = tf.contrib.tpu
X = np.arange(32, dtype="float32").reshape(16, 2) / 32
Y = X[:, :1] * 3 - X[:, 1:] + 0.5


def input_fn(params):
    dataset = tf.data.Dataset.from_tensors((X, Y)).repeat().apply(tf.data.experimental.unbatch())
    return dataset.batch(params["batch_size"], drop_remainder=True)


def model_fn(features, labels, mode, params):
    loss = tf.losses.mean_squared_error(
        labels, tf.layers.dense(features, 1, kernel_initializer=tf.zeros_initializer())
    )
    step = tf.train.get_global_step()
    optimizer = tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.05, 0.9))

    def say(steps, losses):
        print(steps[0], "%.9g" % np.mean(losses), flush=True)
        time.sleep(0.05)
        return np.int32(0)

    return tpu.TPUEstimatorSpec(
        mode,
        loss=loss,
        train_op=optimizer.minimize(loss, step),
        host_call=(
            lambda steps, losses: [tf.py_func(say, [steps, losses], tf.int32)],
            [tf.reshape(step, [1]), tf.reshape(loss, [1])],
        ),
    )


estimator = tpu.TPUEstimator(
    model_fn=model_fn,
    use_tpu=True,
    train_batch_size=16,
    config=tpu.RunConfig(
        model_dir=sys.argv[1],
        save_checkpoints_steps=5,
        tpu_config=tpu.TPUConfig(iterations_per_loop=5),
    ),
)
estimator.train(input_fn, max_steps=int(sys.argv[2]))
