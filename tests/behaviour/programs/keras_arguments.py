"""Every argument of fit, evaluate, predict, compile and the callbacks, as in TensorFlow 1.13 to 2.4.

Prints what fails, and how many calls there were. Not here: ``distribute`` and ``target_tensors`` with a value.
"""

import functools
import json

import numpy as np
import tensorflow as tf

keras, C = tf.keras, tf.keras.callbacks
X, Y = np.arange(24, dtype="f").reshape(8, 3) / 24, np.array([[0], [1]] * 4, "f")
EAGER = tf.executing_eagerly()
COMMON = {"max_queue_size": 10, "workers": 1, "use_multiprocessing": False}


def model(**compiled):
    made = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(3,))])
    made.compile(**{"optimizer": "sgd", "loss": "mse", "metrics": ["mae"], **compiled})
    return made


def fit(compiled=(), **given):
    history = model(**dict(compiled)).fit(X, Y, **{"verbose": 0, **given}).history
    assert np.isfinite(history["loss"]).all()


def evaluate(**given):
    assert len(model().evaluate(X, Y, **{"verbose": 0, **given})) == 2


def predict(**given):
    assert model().predict(X, **given).shape == (8, 1)


def train(callback):
    fit(epochs=2, batch_size=4, validation_data=(X, Y), callbacks=[callback()])


def rows():
    return tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(4)


def batches():
    while True:
        yield X, Y


def generators():
    common = dict(COMMON, steps=2, verbose=0)
    given = dict(COMMON, class_weight=None, shuffle=True, initial_epoch=0, callbacks=None)
    given.update(epochs=1, verbose=0, validation_data=(X, Y), validation_steps=None)
    made = model()
    made.fit_generator(generator=batches(), steps_per_epoch=2, **given)
    assert len(made.evaluate_generator(batches(), **common)) == 2
    assert made.predict_generator(batches(), **common).shape == (16, 1)


class Own(C.Callback):
    """The names that were given, and those of then in what it is told."""

    def on_train_begin(self, logs={}):
        assert self.params["epochs"] == 2

    def on_batch_end(self, batch, logs={}):
        assert EAGER or logs["loss"].item() >= 0  # numbers of Python since 2.2

    def on_epoch_end(self, epoch, logs={}):
        assert {"loss", "val_loss"} <= set(logs)


FITS = [
    *COMMON.items(),
    *(("batch_size", 4), ("batch_size", np.int32(4)), ("epochs", np.int64(2)), ("verbose", True)),
    *(("callbacks", []), ("callbacks", None), ("validation_split", 0.25), ("shuffle", "batch")),
    *(("validation_data", (X, Y)), ("validation_data", (X, Y, np.ones(8))), ("initial_epoch", 0)),
    *(("class_weight", value) for value in ({0: 1.0, 1: 2.0}, [1.0, 2.0], np.ones(2), "auto")),
    *(("sample_weight", np.ones(8)), ("validation_freq", 2), ("validation_freq", [1, 2])),
    *([("validation_batch_size", 4)] if EAGER else []),
]
EVALUATES = [*COMMON.items(), ("batch_size", 4), ("steps", None), ("callbacks", [])]
COMPILES = [
    *(("optimizer", keras.optimizers.SGD(lr=0.1)), ("loss", ["mse"]), ("loss_weights", [0.5])),
    *(("loss", keras.losses.MeanSquaredError()), ("metrics", ["accuracy"]), ("distribute", None)),
    *(("sample_weight_mode", None), ("weighted_metrics", ["mae"]), ("target_tensors", None)),
    *(("run_eagerly", False), *([("steps_per_execution", 1)] if EAGER else [])),
]
BOARD = {"embeddings_freq": 0, "embeddings_layer_names": None, "embeddings_metadata": None}
FIRST_BOARD = dict(BOARD, batch_size=32, write_grads=False, embeddings_data=None)
CALLBACKS = [
    *(Own, C.History, C.TerminateOnNaN),
    # 2.2 took from it what it reads (params["metrics"]).
    *([] if EAGER else [lambda: C.BaseLogger(stateful_metrics=["mae"])]),
    *(lambda: C.ProgbarLogger("samples"), lambda: C.ProgbarLogger("steps", ["mae"])),
    lambda: C.ModelCheckpoint("a{epoch}.h5", "val_loss", 0, False, True, "auto", period=1),
    lambda: C.ModelCheckpoint("b.h5", save_freq="epoch", load_weights_on_restart=False),
    lambda: C.ModelCheckpoint("c.h5", save_freq=4, save_weights_only=True),
    lambda: C.EarlyStopping("val_loss", 0, 1, 0, "auto", None, True),
    lambda: C.RemoteMonitor("http://localhost:1", "/p/", "data", None, False) and C.Callback(),
    lambda: C.LearningRateScheduler(lambda epoch, rate: rate * 0.5, 0),
    lambda: C.LearningRateScheduler(lambda epoch: np.float32(0.1)),
    lambda: C.TensorBoard("t1", 0, write_graph=True, write_images=False, **FIRST_BOARD),
    lambda: C.TensorBoard("t2", histogram_freq=1, write_grads=True),
    lambda: C.TensorBoard("t3", update_freq=10, profile_batch=0, **BOARD),
    lambda: C.ReduceLROnPlateau("val_loss", 0.1, 1, 0, "auto", epsilon=1e-4, min_lr=0),
    lambda: C.ReduceLROnPlateau(min_delta=1e-4, cooldown=0),
    lambda: C.CSVLogger("log.csv", ",", False),
    # By position, whatever the functions call their arguments.
    lambda: C.LambdaCallback(
        on_epoch_begin=lambda e, l: None,
        on_epoch_end=lambda e, l: l["loss"],
        on_batch_begin=lambda b, l: None,
        on_batch_end=lambda b, l: l["loss"],
        on_train_begin=lambda l: None,
        on_train_end=lambda l: None,
    ),
]
CALLS = [
    *((f"fit {name}", functools.partial(fit, **{name: value})) for name, value in FITS),
    *((f"evaluate {n}", functools.partial(evaluate, **{n: value})) for n, value in EVALUATES),
    *((f"predict {n}", functools.partial(predict, **{n: value})) for n, value in EVALUATES),
    *((f"compile {n}", functools.partial(fit, [(n, value)])) for n, value in COMPILES),
    *((f"callback {n}", functools.partial(train, each)) for n, each in enumerate(CALLBACKS)),
    ("lists", lambda: model().fit([X], [Y], verbose=0)),
    ("steps", lambda: model().fit(rows(), epochs=1, steps_per_epoch=8 / 4, verbose=0)),
    ("generators", generators),
]
failed = []
for what, call in CALLS:
    try:
        call()
    except Exception as error:
        failed.append(f"{what}: {type(error).__name__} {error}"[:300])
print(json.dumps([len(CALLS), failed]))
