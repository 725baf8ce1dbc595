"""Programs with ``keras_to_tpu_model``, each a function that returns what it computed.

Run as a script in a process of its own, because the number of cores is fixed when TensorFlow
starts: ``python keras_cases.py OUT.json [CASE ...]`` writes {case: result or {"error": traceback}}.
It runs on TensorFlow 1.15 (Python 3.7) as on today's. Initial weights are numbers of our own, so
that releases with different initializers can be compared.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np

from tpucompat.base import errors, journal
from tpucompat.engines import accelerator, session

tf = session.enter_graph_mode()

from tpucompat.idioms.keras_tpu import keras_to_tpu_model as keras_support  # noqa: E402

keras = tf.keras
layers = keras.layers
K = keras.backend
CORES = accelerator.cores()

_rng = np.random.RandomState(7)
X = _rng.rand(64, 6).astype("float32")
LABELS = (X.sum(1) * 2).astype("int32") % 3
Y = np.eye(3, dtype="float32")[LABELS]
WEIGHTS = _rng.rand(64).astype("float32") + 0.5


def reset_weights(model, seed=0):
    """Gives a model weights that depend on their order and shape only."""
    rng = np.random.RandomState(seed)
    model.set_weights([(rng.rand(*w.shape) - 0.5) * 0.8 for w in model.get_weights()])


def mlp(**input_options):
    model = keras.Sequential(
        [
            layers.Dense(8, activation="tanh", input_shape=(6,), name="hidden", **input_options),
            layers.Dense(3, activation="softmax", name="out"),
        ]
    )
    reset_weights(model)
    return model


def convert(model, **strategy_options):
    strategy = keras_support.TPUDistributionStrategy(None, **strategy_options)
    return keras_support.tpu_model(model, strategy=strategy)


def compiled(optimizer=None, **options):
    model = convert(mlp())
    options.setdefault("loss", "categorical_crossentropy")
    options.setdefault("metrics", ["accuracy"])
    model.compile(optimizer or tf.train.GradientDescentOptimizer(0.5), **options)
    return model


def batches(size=16, *, forever=True, weights=False):
    """A generator of batches in order."""
    while True:
        for start in range(0, len(X), size):
            part = slice(start, start + size)
            yield (X[part], Y[part], WEIGHTS[part]) if weights else (X[part], Y[part])
        if not forever:
            return


def dataset(size=16):
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(size, drop_remainder=True).repeat()


def error_of(function, *args, **kwargs):
    """The type names and the code of the error that a call raises."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return {
            "types": [base.__name__ for base in type(error).__mro__],
            "code": getattr(error, "code", ""),
            "text": str(error),
        }
    return {"types": [], "code": "", "text": "no error"}


def next_step_of(function, *args, **kwargs):
    """The same without the first line, which counts the cores."""
    error = error_of(function, *args, **kwargs)
    return {**error, "text": error["text"].partition("\n")[2]}


# Training loops -----------------------------------------------------------------------------------


def fit_arrays():
    model = compiled()
    history = model.fit(
        X, Y, batch_size=16, epochs=3, validation_split=0.25, shuffle=False, verbose=0
    )
    return {"history": history.history, "epochs": history.epoch, "weights": model.get_weights()}


def fit_default_batch_and_shuffle():
    np.random.seed(3)
    model = compiled("sgd")
    history = model.fit(X, Y, epochs=2, verbose=0)
    return {"history": history.history}


def fit_weighted():
    model = compiled()
    history = model.fit(
        X,
        Y,
        batch_size=16,
        epochs=2,
        shuffle=False,
        verbose=0,
        class_weight={0: 1.0, 1: 3.0, 2: 0.5},
        sample_weight=WEIGHTS,
        validation_data=(X[:32], Y[:32], WEIGHTS[:32]),
    )
    plain = compiled()
    unweighted = plain.fit(X, Y, batch_size=16, epochs=1, shuffle=False, verbose=0)
    # Weights that come and go, in an order in which Keras itself runs an outdated function.
    coming = compiled()
    turns = [coming.evaluate(X, Y, verbose=0)]
    coming.fit(X, Y, batch_size=32, verbose=0, sample_weight=WEIGHTS, shuffle=False)
    turns.append(coming.evaluate(X, Y, verbose=0, sample_weight=WEIGHTS))
    turns.append(coming.evaluate(X, Y, verbose=0))
    turns.append(coming.train_on_batch(X, Y))
    return {
        "history": history.history,
        "unweighted": unweighted.history,
        "turns": turns,
        "mean": float(np.mean(coming.predict(X))),
    }


def fit_dataset():
    model = compiled()
    history = model.fit(
        dataset(),
        steps_per_epoch=4,
        epochs=2,
        verbose=0,
        validation_data=dataset(32),
        validation_steps=2,
    )
    return {
        "history": history.history,
        "evaluate": model.evaluate(dataset(), steps=4, verbose=0),
        "predict": model.predict(dataset(), steps=2),
    }


def fit_weighted_dataset():
    """A Dataset with sample weights, after one without: functions are built anew."""
    model = compiled()
    weighted = (
        tf.data.Dataset.from_tensor_slices((X, Y, WEIGHTS)).batch(16, drop_remainder=True).repeat()
    )
    return {
        "plain": model.fit(dataset(), steps_per_epoch=4, verbose=0).history,
        "weighted": model.fit(weighted, steps_per_epoch=4, verbose=0).history,
        "evaluate": model.evaluate(weighted, steps=4, verbose=0),
        "evaluate_plain": model.evaluate(dataset(), steps=4, verbose=0),
        "again": model.fit(dataset(), steps_per_epoch=4, verbose=0).history,
    }


def fit_dataset_function():
    """Each core takes the next batch of the Dataset: smaller batches give the same steps."""
    model = compiled()
    history = model.fit(
        lambda: dataset(16 // CORES),
        steps_per_epoch=4,
        epochs=2,
        verbose=0,
        validation_data=lambda: dataset(32 // CORES),
        validation_steps=2,
    )
    return {
        "history": history.history,
        "evaluate": model.evaluate(lambda: dataset(16 // CORES), steps=4, verbose=0),
        "predict": model.predict(lambda: dataset(16 // CORES), steps=2),
    }


def fit_iterator():
    model = compiled()
    iterator = tf.data.make_one_shot_iterator(dataset())
    history = model.fit(iterator, steps_per_epoch=4, epochs=2, verbose=0)
    return {"history": history.history}


def fit_tensors():
    model = compiled()
    x, y = tf.data.make_one_shot_iterator(dataset()).get_next()
    return {"history": model.fit(x, y, steps_per_epoch=4, epochs=2, verbose=0).history}


def fit_generator():
    model = compiled()
    history = model.fit_generator(
        batches(),
        steps_per_epoch=60 / 16,  # four steps, as Keras of 2018 counted
        epochs=2,
        verbose=0,
        validation_data=batches(32),
        validation_steps=1.5,
        class_weight={0: 1.0, 1: 2.0, 2: 1.0},
    )
    return {
        "history": history.history,
        "evaluate": model.evaluate_generator(batches(), steps=3.5),
        "predict": model.predict_generator(batches(), steps=1.5),
    }


def fit_generator_weights():
    model = compiled()
    history = model.fit_generator(
        batches(weights=True),
        4,
        2,
        0,
        validation_data=(X, Y),
        max_queue_size=2,
        workers=1,
    )
    return {"history": history.history, "metrics_names": model.metrics_names}


def fit_sequence():
    class Batches(keras.utils.Sequence):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            part = slice(index * 16, index * 16 + 16)
            return X[part], Y[part]

    model = compiled()
    history = model.fit_generator(Batches(), epochs=2, verbose=0, shuffle=False)
    return {"history": history.history, "evaluate": model.evaluate_generator(Batches())}


def on_batch():
    model = compiled()
    trained = [model.train_on_batch(X[:16], Y[:16]) for _ in range(3)]
    trained.append(model.train_on_batch(X[:16], Y[:16], sample_weight=WEIGHTS[:16]))
    trained.append(model.train_on_batch(X[:16], Y[:16], class_weight={0: 1.0, 1: 5.0, 2: 1.0}))
    return {
        "train": trained,
        "test": model.test_on_batch(X[16:32], Y[16:32]),
        "test_weighted": model.test_on_batch(X[16:32], Y[16:32], sample_weight=WEIGHTS[:16]),
        "predict": model.predict_on_batch(X[:8]),
    }


def evaluate_predict():
    model = compiled()
    return {
        "evaluate": model.evaluate(X, Y, batch_size=16, verbose=0),
        "evaluate_weighted": model.evaluate(X, Y, sample_weight=WEIGHTS, verbose=0),
        "last_partial_batch": model.evaluate(X[:40], Y[:40], batch_size=16, verbose=0),
        "predict": model.predict(X[:40], batch_size=16),
        "predict_uncompiled": convert(mlp()).predict(X[:8]),
    }


def initial_epoch():
    model = compiled()
    history = model.fit(X, Y, batch_size=32, epochs=5, initial_epoch=3, shuffle=False, verbose=0)
    losses, epochs = history.history, history.epoch  # the History of a model is one
    by_its_old_name = model.fit(X, Y, batch_size=32, nb_epoch=2, shuffle=False, verbose=0)
    return {"history": losses, "epochs": epochs, "nb_epoch": by_its_old_name.epoch}


def partial_batch():
    """The last batch of 40 examples has 8: two for each of four cores."""
    model = compiled()
    history = model.fit(X[:40], Y[:40], batch_size=16, epochs=2, shuffle=False, verbose=0)
    return {"history": history.history, "weights": model.get_weights()}


# Optimizers, losses, metrics ----------------------------------------------------------------------


def optimizers():
    def schedule():
        step = tf.train.get_or_create_global_step()
        K.get_session().run(step.initializer)
        return tf.train.GradientDescentOptimizer(tf.train.exponential_decay(0.5, step, 2, 0.5))

    makers = {
        "tf_sgd": lambda: tf.train.GradientDescentOptimizer(0.3),
        "tf_momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        "tf_adam": lambda: tf.train.AdamOptimizer(0.01),
        "tf_rmsprop": lambda: tf.train.RMSPropOptimizer(0.01),
        "tf_adagrad": lambda: tf.train.AdagradOptimizer(0.1),
        "tf_schedule": schedule,
        "keras_sgd": lambda: keras.optimizers.SGD(lr=0.3, momentum=0.9, decay=0.1),
        "keras_clip": lambda: keras.optimizers.SGD(lr=0.3, clipvalue=1.0),
        "keras_adam": lambda: keras.optimizers.Adam(lr=0.01),
        "keras_rmsprop": lambda: keras.optimizers.RMSprop(lr=0.01),
        "string": lambda: "adam",
    }
    results = {}
    for name, make in makers.items():
        K.clear_session()
        model = compiled(make())
        results[name] = model.fit(X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0).history[
            "loss"
        ]
    return results


def clipped_per_core():
    """Gradients are clipped by every core for itself, before they are averaged (1.13's order)."""
    model = compiled(keras.optimizers.SGD(lr=1.0, clipnorm=0.05))
    before = model.get_weights()
    model.train_on_batch(X[:16], Y[:16])
    return {"step": [a - b for a, b in zip(model.get_weights(), before)], "start": before}


def cross_shard_optimizer():
    class CrossShardOptimizer(tf.train.Optimizer):
        """What a script's wrapped optimizer looks like; the model must not sum twice."""

        def __init__(self, opt):
            super().__init__(False, "cross")
            self._opt = opt

    model = compiled(CrossShardOptimizer(tf.train.AdamOptimizer(0.01)))
    return {"history": model.fit(X, Y, batch_size=16, shuffle=False, verbose=0).history}


def losses_and_metrics():
    def distance(y_true, y_pred):
        return K.mean(K.square(y_true - y_pred), axis=-1) + 0.1 * K.max(y_pred)

    def confident(y_true, y_pred):
        return K.mean(K.max(y_pred, axis=-1))

    model = compiled(
        loss=distance, metrics=["mae", confident, keras.metrics.CategoricalAccuracy(name="exact")]
    )
    history = model.fit(
        X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0, validation_data=(X, Y)
    )
    again = compiled(
        loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.1), loss_weights=[2.0]
    )
    return {
        "history": history.history,
        "object": again.fit(X, Y, batch_size=16, shuffle=False, verbose=0).history,
    }


def saturated():
    """Outputs near 0 and 1, where a cross entropy of probabilities and one of logits are not the same."""
    inputs = layers.Input((6,))
    outputs = [
        layers.Dense(2, activation="sigmoid", name="signs")(inputs),
        layers.Dense(3, activation="softmax", name="classes")(inputs),
    ]
    plain = keras.Model(inputs, outputs)
    reset_weights(plain)
    plain.set_weights([80.0 * value for value in plain.get_weights()])
    model = convert(plain)
    model.compile(keras.optimizers.SGD(0.1), ["binary_crossentropy", "categorical_crossentropy"])
    labels = [Y[:, :2], Y]
    return {
        "train": [model.train_on_batch(X[:32], [part[:32] for part in labels]) for _ in range(2)],
        "evaluate": model.evaluate(X, labels, batch_size=32, verbose=0),
        "weights": model.get_weights(),
    }


def counted():
    """A layer reads a count before its update changes it; the model is called again to leave the batch open."""

    class Counted(layers.Layer):
        def build(self, input_shape):
            self.calls = self.add_weight("calls", shape=(1,), initializer="zeros", trainable=False)
            super().build(input_shape)

        def call(self, inputs):
            now = tf.identity(self.calls)
            with tf.control_dependencies([now]):
                self.add_update(K.update_add(self.calls, tf.ones([1])))
            return inputs * (1.0 + now)

    steps = layers.SimpleRNN(3, input_shape=(3, 2), return_sequences=True)
    plain = keras.Sequential([steps, Counted(), layers.Flatten(), layers.Dense(1)])
    reset_weights(plain)
    model = convert(plain)
    model.compile(keras.optimizers.SGD(0.01), "mse")
    x, y = X.reshape(64, 3, 2)[:32], Y[:32, :1]
    return {
        "losses": [model.train_on_batch(x, y) for _ in range(3)],
        "weights": model.get_weights(),
    }


def sparse_labels():
    results = {}
    for labels in (LABELS, LABELS[:, None], LABELS.astype("int64")):
        model = compiled(loss="sparse_categorical_crossentropy", metrics=["acc"])
        name = f"{labels.dtype}{labels.ndim}"
        results[name] = model.fit(
            X, labels, batch_size=16, epochs=2, shuffle=False, verbose=0
        ).history
    return results


def weighted_metrics():
    model = compiled(weighted_metrics=["mse"], metrics=["mse"])
    history = model.fit(
        X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0, sample_weight=WEIGHTS
    )
    return {"history": history.history}


def multi_input_output():
    first, second = layers.Input((6,), name="first"), layers.Input((2,), name="second")
    joined = layers.concatenate([layers.Dense(4, activation="tanh", name="wide")(first), second])
    labels = layers.Dense(3, activation="softmax", name="labels")(joined)
    value = layers.Dense(1, name="value")(joined)
    plain = keras.Model([first, second], [labels, value])
    reset_weights(plain)
    model = convert(plain)
    model.compile(
        tf.train.AdamOptimizer(0.02),
        loss={"labels": "categorical_crossentropy", "value": "mse"},
        loss_weights={"labels": 1.0, "value": 0.3},
        metrics={"labels": ["accuracy"], "value": ["mae"]},
    )
    total = X.sum(1, keepdims=True)
    history = model.fit(
        [X, X[:, :2]],
        [Y, total],
        batch_size=16,
        epochs=2,
        shuffle=False,
        verbose=0,
        validation_data=({"first": X, "second": X[:, :2]}, {"labels": Y, "value": total}),
        sample_weight={"labels": WEIGHTS, "value": WEIGHTS},
    )

    def named():
        while True:
            yield {"first": X, "second": X[:, :2]}, {"labels": Y, "value": total}

    return {
        "history": history.history,
        "names": model.metrics_names,
        "predict": model.predict([X[:8], X[:8, :2]]),
        "generator": model.fit_generator(named(), steps_per_epoch=2, verbose=0).history,
        "evaluate": model.evaluate([X, X[:, :2]], [Y, total], verbose=0),
    }


def losses_of_layers():
    class Penalty(layers.Layer):
        """Says nothing of the inputs that its losses belong to, as most do not."""

        def build(self, input_shape):
            self.scale = self.add_weight("scale", shape=(8,), initializer="ones")
            super().build(input_shape)

        def call(self, inputs):
            self.add_loss(0.1 * K.sum(K.square(self.scale)))
            self.add_loss(K.mean(K.square(inputs)))
            return inputs * self.scale

    results = {}
    for name in ("plain", "loop"):
        inputs = layers.Input((6,))
        x = layers.Reshape((2, 3))(inputs)
        x = layers.SimpleRNN(8)(x) if name == "loop" else layers.Flatten()(x)
        x = layers.Dense(8, activation="tanh", kernel_regularizer=keras.regularizers.l2(0.01))(x)
        x = Penalty()(x)
        outputs = layers.Dense(3, activation="softmax", activity_regularizer="l2")(x)
        plain = keras.Model(inputs, outputs)
        plain.add_loss(0.1 * K.mean(K.square(x)))
        plain.add_metric(K.mean(x), name="mean", aggregation="mean")
        reset_weights(plain)
        model = convert(plain)
        model.compile(tf.train.GradientDescentOptimizer(0.3), "categorical_crossentropy")
        history = model.fit(X, Y, batch_size=16, shuffle=False, verbose=0).history
        results[name] = {"history": history, "evaluate": model.evaluate(X, Y, verbose=0)}
        results[name]["weights"] = model.get_weights()
        results[name]["synced"] = model.sync_to_cpu().predict(X[:8])
    return results


def metrics_of_layers():
    class Watched(layers.Layer):
        """Counts what it sees itself, with metrics that are objects."""

        def __init__(self, **options):
            super().__init__(**options)
            self.seen = [keras.metrics.Sum(name="sum"), keras.metrics.Mean(name="mean")]

        def call(self, inputs):
            for metric in self.seen:
                self.add_metric(metric(inputs), name=metric.name)
            return inputs

    inputs = layers.Input((6,))
    dense = [layers.Dense(8, activation="sigmoid"), layers.Dense(3, activation="softmax")]
    plain = keras.Model(inputs, dense[1](Watched()(dense[0](inputs))))
    for layer in dense:  # the metrics have weights too
        reset_weights(layer)
    model = convert(plain)
    model.compile(tf.train.GradientDescentOptimizer(0.3), "categorical_crossentropy")
    history = model.fit(X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0).history
    return {"history": history, "evaluate": model.evaluate(X, Y, verbose=0)}


# Kinds of models ----------------------------------------------------------------------------------


def lambda_and_own_layer():
    scale = 0.5

    class Squash(layers.Layer):
        """No get_config: it could not be cloned."""

        def __init__(self, units, **options):
            super().__init__(**options)
            self.units = units

        def build(self, input_shape):
            self.kernel = self.add_weight(name="kernel", shape=(6, self.units), initializer="ones")

        def call(self, inputs):
            return K.tanh(K.dot(inputs, self.kernel))

    inputs = layers.Input((6,))
    hidden = Squash(4)(layers.Lambda(lambda x: x * scale)(inputs))
    outputs = layers.Lambda(lambda parts: parts[0] + scale * parts[1])(
        [layers.Dense(3)(hidden), layers.Dense(3)(inputs)]
    )
    plain = keras.Model(inputs, layers.Activation("softmax")(outputs))
    reset_weights(plain)
    model = convert(plain)
    model.compile("sgd", "categorical_crossentropy", ["accuracy"])
    return {"history": model.fit(X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0).history}


def recurrent():
    """A loop, and after it a conditional on the learning phase that changes no number."""
    words = (X.repeat(2, axis=1) * 10).astype("int32")
    results = {}
    for name, cell in (("lstm", layers.LSTM(5)), ("gru", layers.GRU(5))):
        inputs = layers.Input((12,), dtype="int32")
        embedded = keras_support.TPUEmbedding(10, 4)(inputs)
        kept = layers.Dropout(0.0)(cell(embedded))
        plain = keras.Model(inputs, layers.Dense(3, activation="softmax")(kept))
        reset_weights(plain)
        model = convert(plain)
        model.compile(tf.train.AdamOptimizer(0.02), "categorical_crossentropy", ["accuracy"])
        history = model.fit(words, Y, batch_size=16, epochs=2, shuffle=False, verbose=0)
        results[name] = history.history
    return results


def thresholded():
    """A layer without weights in a wrapper, which does not tell it a dtype."""
    inputs = layers.Input((6,))
    x = layers.TimeDistributed(layers.ThresholdedReLU(0.3))(layers.Reshape((3, 2))(inputs))
    plain = keras.Model(inputs, layers.Dense(3, activation="softmax")(layers.Flatten()(x)))
    reset_weights(plain)
    model = convert(plain)
    model.compile(tf.train.AdamOptimizer(0.02), "categorical_crossentropy")
    return model.fit(X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0).history


def masked_embedding():
    words = (X * 10).astype("int32") % 5
    plain = keras.Sequential(
        [
            layers.Embedding(5, 4, mask_zero=True, input_length=6),
            layers.LSTM(5, return_sequences=True),
            layers.TimeDistributed(layers.Dense(2, activation="softmax")),
        ]
    )
    reset_weights(plain)
    model = convert(plain)
    model.compile("sgd", "categorical_crossentropy", ["accuracy"], sample_weight_mode="temporal")
    targets = np.eye(2, dtype="float32")[words % 2]
    history = model.fit(
        words,
        targets,
        batch_size=16,
        epochs=2,
        shuffle=False,
        verbose=0,
        sample_weight=np.linspace(0.5, 1.5, 64 * 6).reshape(64, 6),
    )
    return {"history": history.history, "predict": model.predict(words[:8])}


def stateful_lstm():
    """Trains on one core: the states have the size of a batch."""
    plain = keras.Sequential(
        [
            layers.LSTM(4, stateful=True, batch_input_shape=(8, 3, 2)),
            layers.Dense(3, activation="softmax"),
        ]
    )
    reset_weights(plain)
    model = convert(plain)
    model.compile(tf.train.AdamOptimizer(0.02), "categorical_crossentropy", ["accuracy"])
    sequences = X.reshape(64, 3, 2)
    history = model.fit(sequences, Y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    carried = model.predict(sequences[:8])
    model.reset_states()
    fresh = model.predict(sequences[:8])
    return {
        "history": history.history,
        "carried": carried,
        "fresh": fresh,
        "cores": model._tpu_assignment.num_towers,
        "notices": [code for code, _ in journal.notices()],
    }


def convolution():
    """Batch norm: every core computes it for itself."""
    return convolutional(dropout=0.0)


def dropped_out():
    """Cores drop out for themselves, and in training only."""
    return convolutional(dropout=0.5)


def convolutional(dropout):
    images = np.tile(X.reshape(64, 6, 1, 1), (1, 1, 6, 1))
    plain = keras.Sequential(
        [
            layers.Conv2D(4, 3, padding="same", use_bias=False, input_shape=(6, 6, 1)),
            layers.BatchNormalization(momentum=0.5, name="norm"),
            layers.ELU(),
            layers.MaxPooling2D(),
            layers.Dropout(dropout),
            layers.Flatten(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    reset_weights(plain)
    norm = plain.get_layer("norm")
    norm.set_weights([np.ones(4), np.zeros(4), np.zeros(4), np.ones(4)])
    model = convert(plain)
    model.compile(tf.train.AdamOptimizer(0.02), "categorical_crossentropy", ["accuracy"])
    history = model.fit(images, Y, batch_size=16, epochs=4, shuffle=False, verbose=0)
    return {
        "history": history.history,
        "evaluate": model.evaluate(images, Y, verbose=0),
        "again": model.evaluate(images, Y, verbose=0),
    }


def batch_norm_per_core():
    """One step: the moving mean comes from core 0's part of the batch alone."""
    plain = keras.Sequential(
        [
            layers.BatchNormalization(momentum=0.0, epsilon=1e-3, input_shape=(6,), name="norm"),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model = convert(plain)
    model.compile(tf.train.GradientDescentOptimizer(0.1), "categorical_crossentropy")
    model.train_on_batch(X[:32], Y[:32])
    return {
        "moving_mean": plain.get_layer("norm").get_weights()[2],
        "expected": X[: 32 // CORES].mean(0),
    }


def static_batch():
    """The Input's batch size is that of a core; other batches are taken too."""
    model = convert(mlp(batch_size=4))
    model.compile(tf.train.GradientDescentOptimizer(0.5), "categorical_crossentropy", ["accuracy"])
    history = model.fit(X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0)
    inputs = layers.Input(batch_shape=(4, 6), name="named")
    functional = keras.Model(inputs, layers.Dense(3, activation="softmax")(inputs))
    reset_weights(functional)
    second = convert(functional)
    second.compile("sgd", "mse")
    return {
        "history": history.history,
        "evaluate": model.evaluate(X[:40], Y[:40], verbose=0),
        "predict": model.predict(X[:20]),
        "by_name": second.fit({"named": X}, Y, batch_size=32, shuffle=False, verbose=0).history,
        "input_names": second.input_names,
        "layers": [layer.name for layer in second.layers],
    }


def static_batch_needed():
    """A layer that takes the batch size from the static shape: batches of just that size work."""
    size = 4
    inputs = layers.Input(batch_shape=(size, 6))
    doubled = layers.Lambda(lambda x: tf.reshape(x, [x.shape.as_list()[0] * 2, 3]))(inputs)
    rows = layers.Lambda(lambda x: tf.reshape(x, [size, 6]))(doubled)
    plain = keras.Model(inputs, layers.Dense(3, activation="softmax")(rows))
    reset_weights(plain)
    model = convert(plain)
    model.compile("sgd", "categorical_crossentropy")
    total = size * CORES
    return {
        "loss": model.train_on_batch(X[:total], Y[:total]),
        "error": error_of(model.train_on_batch, X[: 2 * total], Y[: 2 * total]),
    }


def nested_model():
    inner = mlp()
    converted = convert(inner)
    inputs = layers.Input((6,))
    plain = keras.Model(inputs, layers.Dense(3, activation="softmax")(inner(inputs)))
    reset_weights(plain)
    model = convert(plain)
    model.compile("sgd", "categorical_crossentropy", ["accuracy"])
    return {
        "history": model.fit(X, Y, batch_size=16, shuffle=False, verbose=0).history,
        "inner": converted.predict(X[:8]),
    }


# Weights, files, sessions -------------------------------------------------------------------------


def compiled_before():
    plain = mlp()
    plain.compile(
        keras.optimizers.SGD(lr=0.5),
        "categorical_crossentropy",
        ["accuracy", keras.metrics.MeanSquaredError(name="square")],
    )
    plain.fit(X, Y, batch_size=16, shuffle=False, verbose=0)
    before = plain.evaluate(X, Y, verbose=0)
    model = convert(plain)
    converted = model.evaluate(X, Y, verbose=0)
    history = model.fit(X, Y, batch_size=16, shuffle=False, verbose=0)
    return {
        "before": before,
        "converted": converted,
        "history": history.history,
        "plain": plain.evaluate(X, Y, verbose=0),
        "model": model.evaluate(X, Y, verbose=0),
    }


def weights():
    model = compiled(keras.optimizers.Adam(lr=0.01))
    model.fit(X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0)
    trained = model.evaluate(X, Y, verbose=0)
    arrays = model.get_weights()
    folder = tempfile.mkdtemp()
    model.save_weights(os.path.join(folder, "w.h5"))
    model.save_weights(os.path.join(folder, "w"), save_format="tf")
    model.save(os.path.join(folder, "model.h5"))
    plain = model.sync_to_cpu()
    results = {"trained": trained, "arrays": arrays, "sync": plain.evaluate(X, Y, verbose=0)}
    results["sync_is_plain"] = type(plain).__name__
    reset_weights(model, 5)
    results["set"] = model.evaluate(X, Y, verbose=0)
    model.load_weights(os.path.join(folder, "w.h5"))
    results["load_h5"] = model.evaluate(X, Y, verbose=0)
    reset_weights(model, 5)
    model.load_weights(os.path.join(folder, "w.h5"), by_name=True)
    results["load_by_name"] = model.evaluate(X, Y, verbose=0)
    reset_weights(model, 5)
    model.load_weights(os.path.join(folder, "w"))
    results["load_tf"] = model.evaluate(X, Y, verbose=0)
    # The optimizer's state is in the file: training goes on as if it had not been interrupted.
    loaded = keras.models.load_model(os.path.join(folder, "model.h5"))
    results["load_model"] = loaded.evaluate(X, Y, verbose=0)
    again = convert(loaded)
    results["resumed"] = again.fit(X, Y, batch_size=16, shuffle=False, verbose=0).history
    results["continued"] = model.fit(X, Y, batch_size=16, shuffle=False, verbose=0).history
    return results


def callbacks():
    folder = tempfile.mkdtemp()
    model = compiled(keras.optimizers.SGD(lr=0.5))
    seen = {"batches": [], "norms": [], "rates": []}

    class Own(keras.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            seen["batches"].append(float(logs["loss"]))
            seen["norms"].append(float(np.abs(self.model.get_weights()[0]).sum()))

        def on_epoch_end(self, epoch, logs=None):
            seen["rates"].append(float(K.get_value(self.model.optimizer.lr)))

    best = os.path.join(folder, "best.h5")
    log_dir = os.path.join(folder, "logs")
    history = model.fit(
        X,
        Y,
        batch_size=16,
        epochs=4,
        shuffle=False,
        verbose=0,
        validation_data=(X, Y),
        callbacks=[
            Own(),
            keras.callbacks.LearningRateScheduler(lambda epoch: 0.5 * 0.5**epoch),
            keras.callbacks.ModelCheckpoint(best, monitor="val_acc", save_best_only=True),
            keras.callbacks.ModelCheckpoint(
                os.path.join(folder, "w{epoch:02d}.h5"), save_weights_only=True
            ),
            keras.callbacks.TensorBoard(log_dir, histogram_freq=1, write_graph=True),
            keras.callbacks.CSVLogger(os.path.join(folder, "log.csv")),
            keras.callbacks.ReduceLROnPlateau(patience=100),
            keras.callbacks.TerminateOnNaN(),
        ],
    )
    stopping = compiled()
    stopped = stopping.fit(
        X,
        Y,
        batch_size=16,
        epochs=50,
        shuffle=False,
        verbose=0,
        validation_data=(X, Y),
        callbacks=[keras.callbacks.EarlyStopping(monitor="val_loss", min_delta=0.2, patience=1)],
    )
    model.load_weights(os.path.join(folder, "w01.h5"))
    return {
        "seen": seen,
        "history": history.history,
        "stopped": stopped.epoch,
        "first_checkpoint": model.evaluate(X, Y, verbose=0),
        "files": sorted(name for name in os.listdir(folder) if name.endswith((".h5", ".csv"))),
        "logged": bool(os.listdir(log_dir)),
    }


def learning_rate_by_session():
    """A learning rate that is set by whatever way reaches the cores at once."""
    model = compiled(keras.optimizers.SGD(lr=0.5))
    results = [model.train_on_batch(X[:16], Y[:16])]
    K.set_value(model.optimizer.lr, 0.0)
    results.append(model.train_on_batch(X[:16], Y[:16]))
    results.append(model.train_on_batch(X[:16], Y[:16]))
    K.get_session().run(tf.assign(model.optimizer.lr, 1.0))
    results.append(model.train_on_batch(X[:16], Y[:16]))
    results.append(model.train_on_batch(X[:16], Y[:16]))
    variable = model.weights[0]
    before = K.get_session().run(variable)
    variable.load(before * 0.0, K.get_session())
    results.append(model.train_on_batch(X[:16], Y[:16]))
    return {"losses": results, "weights": model.get_weights()}


def saver():
    """tf.train.Saver sees what the cores trained, and the cores what it restores."""
    model = compiled()
    model.fit(X, Y, batch_size=16, shuffle=False, verbose=0)
    trained = model.evaluate(X, Y, verbose=0)
    path = os.path.join(tempfile.mkdtemp(), "trained")
    saver = tf.train.Saver(model.weights)
    saver.save(K.get_session(), path)
    reset_weights(model, 5)
    model.train_on_batch(X, Y)
    saver.restore(K.get_session(), path)
    return {"trained": trained, "restored": model.evaluate(X, Y, verbose=0)}


def shared_layers():
    """A generator and a discriminator in turn, as GANs train: each sees the other's weights."""
    critic_in = layers.Input((6,))
    critic = keras.Model(critic_in, layers.Dense(1, activation="sigmoid")(critic_in))
    maker_in = layers.Input((3,))
    maker = keras.Model(maker_in, layers.Dense(6)(maker_in))
    reset_weights(critic)
    reset_weights(maker, 1)
    tpu_critic = convert(critic)
    tpu_critic.compile(tf.train.GradientDescentOptimizer(0.5), "binary_crossentropy")
    critic.trainable = False
    both_in = layers.Input((3,))
    both = convert(keras.Model(both_in, critic(maker(both_in))))
    both.compile(tf.train.GradientDescentOptimizer(0.5), "binary_crossentropy")
    losses = []
    for _ in range(3):
        made = maker.predict(X[:16, :3])
        losses.append(tpu_critic.train_on_batch(X[:16], np.ones((16, 1))))
        losses.append(tpu_critic.train_on_batch(made, np.zeros((16, 1))))
        losses.append(both.train_on_batch(X[:16, :3], np.ones((16, 1))))
    return {"losses": losses, "maker": maker.get_weights(), "critic": critic.predict(X[:8])}


def own_session():
    """A script that makes the session itself and initializes variables itself."""
    own = tf.Session()
    K.set_session(own)
    model = compiled()
    own.run(tf.global_variables_initializer())
    reset_weights(model)
    history = model.fit(X, Y, batch_size=16, shuffle=False, verbose=0)
    return {"history": history.history, "same": K.get_session() is own}


def clear_session():
    first = compiled()
    first.fit(X, Y, batch_size=16, shuffle=False, verbose=0)
    K.clear_session()
    second = compiled()
    return {"history": second.fit(X, Y, batch_size=16, shuffle=False, verbose=0).history}


def single_core():
    model = convert(mlp(), using_single_core=True)
    model.compile("sgd", "categorical_crossentropy", ["accuracy"])
    history = model.fit(X[:15], Y[:15], batch_size=15, verbose=0)  # no multiple of four
    return {"history": history.history, "cores": model._tpu_assignment.num_towers}


def rebound_compile():
    """Scripts replace the class's compile, by one that calls it or one like the original."""
    original = keras_support.KerasTPUModel.compile
    calls = []

    def compile_and_count(self, *args, **kwargs):
        calls.append("count")
        original(self, *args, **kwargs)

    def compile_both(self, optimizer, loss=None, metrics=None, **kwargs):
        calls.append("both")
        self._cpu_model.compile(keras_support._clone_optimizer(optimizer), loss, metrics, **kwargs)
        super(keras_support.KerasTPUModel, self).compile(optimizer, loss, metrics, **kwargs)

    results = {}
    try:
        for replacement in (compile_and_count, compile_both):
            keras_support.KerasTPUModel.compile = replacement
            model = compiled(keras.optimizers.SGD(lr=0.5))
            history = model.fit(X, Y, batch_size=16, shuffle=False, verbose=0)
            results[replacement.__name__] = history.history
            results[replacement.__name__ + "_sync"] = model.sync_to_cpu().evaluate(X, Y, verbose=0)
    finally:
        keras_support.KerasTPUModel.compile = original
    return {"calls": calls, **results}


def looks():
    plain = mlp()
    model = convert(plain)
    lines = []
    model.summary(print_fn=lines.append)
    config = model.get_config()
    return {
        "summary": any("hidden" in line for line in lines),
        "config": sorted(config),
        "cpu_model": config["cpu_model"] is plain,
        "is_model": isinstance(model, keras.Model),
        "json": "Dense" in model.to_json(),
        "layers": [layer.name for layer in model.layers],
        "count": model.count_params(),
        "converted_twice": type(convert(model)).__name__,
        "of_1_9": keras_support.tpu_model(
            mlp(),
            strategy=keras_support.TPUDistributionStrategy(num_cores_per_host=1),
            tpu_name_or_address="grpc://10.0.0.1:8470",
        )._tpu_assignment.num_towers,
        "default_strategy": keras_support.tpu_model(mlp())._tpu_assignment.num_towers,
    }


# Bad input ----------------------------------------------------------------------------------------


def uneven_batch():
    model = compiled()
    return {
        "fit": error_of(model.fit, X[:18], Y[:18], batch_size=16, verbose=0),
        "predict": error_of(model.predict, X[:18]),
    }


def bad_data():
    model = compiled()

    def wrong_shape():
        while True:
            yield X[:16, :4], Y[:16]

    def wrong_structure():
        while True:
            yield X[:16], Y[:16], WEIGHTS[:16], 3

    def unequal():
        while True:
            yield X[:16], Y[:8]

    return {
        "shape": error_of(model.fit_generator, wrong_shape(), steps_per_epoch=1, verbose=0),
        "structure": error_of(model.fit_generator, wrong_structure(), steps_per_epoch=1, verbose=0),
        "unequal": error_of(model.fit_generator, unequal(), steps_per_epoch=1, verbose=0),
        "arrays": error_of(model.fit, X[:, :4], Y),
        "evaluate": error_of(model.evaluate, X[:, :4], Y, verbose=0),
        "predict": error_of(model.predict, X[:, :4]),
        "no_steps": error_of(model.fit, dataset),
        "no_validation_steps": error_of(
            model.fit, dataset, steps_per_epoch=1, validation_data=dataset
        ),
        "with_y": error_of(model.fit, dataset, Y, steps_per_epoch=1),
        "no_dataset": error_of(model.fit, lambda: 3, steps_per_epoch=1),
        "few_batches": next_step_of(model.fit, lambda: dataset(65), steps_per_epoch=1, verbose=0),
        "few_to_validate": next_step_of(
            model.fit, X, Y, verbose=0, validation_data=lambda: dataset(65), validation_steps=1
        ),
        "few_to_predict": next_step_of(model.predict, lambda: dataset(65), steps=1),
        "unbatched": error_of(
            model.fit,
            lambda: tf.data.Dataset.from_tensor_slices((X[:, 0], Y[:, 0])),
            steps_per_epoch=1,
        ),
        "after": model.fit(X, Y, batch_size=16, shuffle=False, verbose=0).history,
    }


def bad_models():
    inputs = layers.Input((None, 4))
    variable = keras.Model(inputs, layers.LSTM(3)(inputs))

    class Subclassed(keras.Model):
        def call(self, inputs):
            return inputs

    return {
        "variable": error_of(keras_support.tpu_model, variable),
        "subclassed": error_of(keras_support.tpu_model, Subclassed()),
        "unbuilt": error_of(keras_support.tpu_model, keras.Sequential([layers.Dense(3)])),
        "strategy": error_of(keras_support.tpu_model, mlp(), "grpc://10.0.0.1:8470"),
    }


def target_tensors():
    model = convert(mlp())
    target = tf.constant(Y[:16])
    return {
        "error": error_of(model.compile, "sgd", "categorical_crossentropy", target_tensors=[target])
    }


CASES = {
    name: value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and not value.__code__.co_argcount
    and not value.__code__.co_flags & 0x20  # a generator is no case
    and name not in ("dataset", "mlp")
}


def _plain(value):
    """The value as JSON takes it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value).tolist()
    return value


def run(case):
    K.clear_session()
    started = time.time()
    try:
        return _plain(CASES[case]())
    except Exception:
        return {"error": traceback.format_exc()}
    finally:
        sys.stderr.write(f"{time.time() - started:6.1f} s  {case}\n")


def main(out, *cases):
    results = {case: run(case) for case in cases or CASES}
    results["_"] = {"tensorflow": session.enter_graph_mode().__version__, "cores": CORES}
    with open(out, "w") as file:
        json.dump(results, file)


if __name__ == "__main__":
    assert issubclass(errors.UnevenBatchError, AssertionError)
    main(*sys.argv[1:])
