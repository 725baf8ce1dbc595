"""Trains with TPUEstimator and with a copy of its source that the program carries, named like a module of its own."""

import json
import sys

import changed_tpu_estimator
import numpy as np
import tensorflow as tf

POINTS = np.linspace(-1, 1, 64).astype(np.float32).reshape(32, 2)


def input_fn(params):
    data = tf.data.Dataset.from_tensor_slices((POINTS, POINTS[:, :1] * 3 - 1)).repeat()
    return data.batch(params["batch_size"], drop_remainder=True)


def results(library, folder):
    def model_fn(features, labels, mode, params):
        weights = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
        offset = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        prediction = tf.matmul(features, weights) + offset
        loss = tf.losses.mean_squared_error(labels, prediction)
        if mode == tf.estimator.ModeKeys.EVAL:

            def metric_fn(prediction, labels):
                return {"mae": tf.metrics.mean_absolute_error(labels, prediction)}

            return library.TPUEstimatorSpec(
                mode, loss=loss, eval_metrics=(metric_fn, [prediction, labels])
            )
        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        return library.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

    tpu_config = tf.contrib.tpu.TPUConfig(iterations_per_loop=3, num_shards=8)
    config = tf.contrib.tpu.RunConfig(model_dir=folder, tpu_config=tpu_config)
    estimator = library.TPUEstimator(
        model_fn, config=config, use_tpu=True, train_batch_size=8, eval_batch_size=8
    )
    estimator.train(input_fn, max_steps=9)
    found = {name: estimator.get_variable_value(name).ravel().tolist() for name in ("w", "b")}
    evaluated = estimator.evaluate(input_fn, steps=4)
    return dict(found, mae=float(evaluated["mae"]), step=int(evaluated["global_step"]))


own = results(changed_tpu_estimator, sys.argv[1] + "/own")
theirs = results(tf.contrib.tpu, sys.argv[1] + "/theirs")
print("RESULTS " + json.dumps([own, theirs]))
