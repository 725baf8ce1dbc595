"""Trains a model with embedding columns, on tables of the cores and without a TPU.

    python embedding_cases.py OUTPUT.json

Gradient descent with one learning rate for tables and model: TensorFlow's own columns without a TPU,
whose tables the model's optimizer updates, then have to give the same numbers.
"""

import json
import sys
import tempfile

import tpucompat

tpucompat.install()

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

RATE = 0.1
ROWS, COLUMNS, BATCH, STEPS = 7, 3, 8, 3


def columns():
    """One table with weights, one without."""
    weighted = tf.feature_column.weighted_categorical_column(
        tf.feature_column.categorical_column_with_identity("weighted", ROWS), "weights"
    )
    bag = tf.feature_column.categorical_column_with_identity("bag", ROWS)
    start = tf.constant_initializer(np.linspace(-1, 1, ROWS * COLUMNS).reshape(ROWS, COLUMNS))
    embedding = tf.tpu.experimental.embedding_column
    return [
        embedding(weighted, COLUMNS, combiner="mean", initializer=start),
        embedding(bag, COLUMNS, combiner="sqrtn", initializer=start),
    ]


def input_fn(params):
    random = np.random.RandomState(0)
    samples = BATCH * STEPS
    present = random.rand(samples, 3) < 0.8
    present[:, 0] = True
    ids = random.randint(0, ROWS, (samples, 3))
    weights = 0.5 + random.rand(samples, 3)
    where = np.argwhere(present)

    def sparse(values):
        return tf.SparseTensor(where, values[present], present.shape)

    features = {
        "weighted": sparse(ids),
        "weights": sparse(weights.astype(np.float32)),
        "bag": sparse((ids * 2) % ROWS),
    }
    labels = random.rand(samples, 1).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((features, labels))
    return data.batch(params["batch_size"], drop_remainder=True)


def model_fn(features, labels, mode, params):
    net = tf.keras.layers.DenseFeatures(columns())(features)
    net = tf.layers.dense(net, 1, kernel_initializer=tf.ones_initializer())
    errors = tf.square(net - labels)
    loss = tf.reduce_mean(errors)
    train_op = None
    if mode == tf.estimator.ModeKeys.TRAIN:
        optimizer = tf.train.GradientDescentOptimizer(RATE)
        if params["use_tpu"]:
            optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
    metrics = (lambda errors: {"error": tf.metrics.mean(errors)}, [errors])
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, eval_metrics=metrics)


def train(use_tpu):
    spec = tf.estimator.tpu.experimental.EmbeddingConfigSpec(
        feature_columns=columns(),
        optimization_parameters=tf.tpu.experimental.StochasticGradientDescentParameters(RATE),
    )
    estimator = tf.contrib.tpu.TPUEstimator(
        model_fn,
        tempfile.mkdtemp(),
        tf.contrib.tpu.RunConfig(
            tpu_config=tf.contrib.tpu.TPUConfig(
                iterations_per_loop=1,
                per_host_input_for_training=tf.contrib.tpu.InputPipelineConfig.PER_HOST_V2,
            )
        ),
        use_tpu=use_tpu,
        train_batch_size=BATCH,
        eval_batch_size=BATCH,
        embedding_config_spec=spec if use_tpu else None,
    )
    estimator.train(input_fn, steps=STEPS)
    names = [
        "dense/kernel",
        "dense_features/bag_embedding/embedding_weights",
        "dense_features/weighted_weighted_by_weights_embedding/embedding_weights",
    ]
    values = {name: estimator.get_variable_value(name).tolist() for name in names}
    return {"error": float(estimator.evaluate(input_fn, steps=STEPS)["error"]), **values}


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        json.dump({"tables": train(True), "columns": train(False)}, file)
