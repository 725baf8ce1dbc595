"""``tf.contrib.distribute`` in graphs and Sessions, as scripts of TensorFlow 1.14 and 1.15 use it.

The module needs no pytest: ``python -m tests.behaviour.distribute_cases`` prints what it computed.
"""

from __future__ import annotations

import importlib
import json
import sys

import numpy as np

import tpucompat.v1 as tf

X = np.random.RandomState(0).rand(64, 5).astype("float32")
Y = np.random.RandomState(1).randint(0, 3, 64).astype("int64")
BATCH = 16


def make_strategy():
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver("grpc://10.0.0.2:8470")
    topology = tf.contrib.distribute.initialize_tpu_system(resolver)
    strategy = tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=4)
    assert isinstance(strategy, tf.contrib.distribute.TPUStrategy)
    assert strategy.steps_per_run == 4
    assert topology.num_tpus_per_task == strategy.num_replicas_in_sync
    return strategy


def make_model():
    return tf.keras.Sequential(
        [
            tf.keras.layers.Dense(
                4, activation="relu", input_shape=(5,), kernel_initializer="ones"
            ),
            tf.keras.layers.Dense(
                3, kernel_initializer=tf.keras.initializers.RandomUniform(-1, 1, seed=3)
            ),
        ]
    )


def keras_fit():
    """Losses of model.fit under the strategy."""
    strategy = make_strategy()
    with strategy.scope():
        model = make_model()
        model.compile(
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            optimizer=tf.train.GradientDescentOptimizer(0.1),
        )
    history = model.fit(X, Y, batch_size=BATCH, epochs=2, shuffle=False, verbose=0)
    return [float(loss) for loss in history.history["loss"]]


def partial_batches():
    """What a last batch of a third gives: losses of the batches, and predictions without a strategy."""
    strategy = make_strategy()
    size, count = 24, 56
    with strategy.scope():
        model = make_model()
        model.compile(loss="mse", optimizer=tf.train.GradientDescentOptimizer(0.1))
    targets = np.ones((64, 3), "float32")
    validation = (X[:count], targets[:count])
    history = model.fit(X[:48], targets[:48], size, 1, 0, validation_data=validation, shuffle=False)
    plain = make_model()
    plain.set_weights(model.get_weights())
    plain.compile(loss="mse", optimizer="sgd")
    parts = [slice(start, min(start + size, count)) for start in range(0, count, size)]
    losses = [plain.evaluate(X[part], targets[part], verbose=0) for part in parts]
    np.testing.assert_allclose(history.history["val_loss"], np.mean(losses), rtol=1e-6)
    predicted = model.predict(X[:count], batch_size=size)
    np.testing.assert_allclose(predicted, plain.predict(X[:count]), rtol=1e-5)
    return [float(history.history["val_loss"][-1])]


def plain_fit():
    """The same without a strategy."""
    model = make_model()
    model.compile(
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=tf.train.GradientDescentOptimizer(0.1),
    )
    history = model.fit(X, Y, batch_size=BATCH, epochs=2, shuffle=False, verbose=0)
    return [float(loss) for loss in history.history["loss"]]


def custom_loop():
    """Losses of a hand-written loop: iterator, experimental_run, the values of each replica."""
    strategy = make_strategy()
    replicas = strategy.num_replicas_in_sync
    with strategy.scope():
        model = make_model()
        optimizer = tf.train.GradientDescentOptimizer(0.1)

        def step(inputs):
            within = tf.distribute.get_strategy()
            assert isinstance(within, tf.distribute.experimental.TPUStrategy)
            assert not isinstance(within, tf.distribute.MirroredStrategy)
            x, y = inputs
            logits = model(x)
            loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
            scaled = loss / strategy.num_replicas_in_sync
            gradients = tf.gradients(scaled, model.trainable_variables)
            train = optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            with tf.control_dependencies([train]):
                return tf.identity(loss)

        dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH, drop_remainder=True)
        iterator = strategy.make_dataset_iterator(dataset)
        start = iterator.initialize()
        losses = strategy.experimental_run(step, iterator).values
        assert len(losses) == replicas
    out = []
    with tf.Session("grpc://10.0.0.2:8470") as session:
        session.run(tf.global_variables_initializer())
        session.run(start)
        while True:
            try:
                out.append(float(np.mean(session.run(losses))))
            except tf.errors.OutOfRangeError:
                break
    return out


def other_strategies():
    """The names of the strategies whose scope makes a variable."""
    made = []
    below = importlib.import_module("tpucompat.v1.contrib.distribute.python.mirrored_strategy")
    for name, strategy in (
        ("core mirrored", below.CoreMirroredStrategy(["/cpu:0"])),
        ("mirrored", tf.contrib.distribute.MirroredStrategy(num_gpus=0)),
        ("one device", tf.contrib.distribute.OneDeviceStrategy("/cpu:0")),
        ("parameter server", tf.contrib.distribute.ParameterServerStrategy()),
    ):
        with tf.Graph().as_default(), strategy.scope():
            assert tf.contrib.distribute.has_distribution_strategy()
            assert tf.contrib.distribute.get_strategy() is strategy
            tf.get_variable("v", [2])
            made.append(name)
    assert not tf.contrib.distribute.has_strategy()
    return made


def run():
    results = {}
    for function in (keras_fit, partial_batches, plain_fit, custom_loop, other_strategies):
        tf.keras.backend.clear_session()
        tf.reset_default_graph()
        results[function.__name__] = function()
    return results


if __name__ == "__main__":
    json.dump(run(), sys.stdout)
