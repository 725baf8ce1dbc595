"""Saves whole models by Keras 2, or by TensorFlow 1.15's Keras; converts them and loads them by Keras 3.

    python whole_models.py save FOLDER         # with TensorFlow 1.15, or with tf-keras
    python whole_models.py convert FOLDER      # with Keras 3: prints what is refused; what differs is an error
    python whole_models.py mistake FOLDER      # the same of one model, with a mistake in the translation
"""

import glob
import os
import sys

import numpy as np

MODELS = {
    "activations": ([(4,)], lambda L, a: L.ReLU(6.0, 0.1)(L.ELU()(L.LeakyReLU(0.2)(L.PReLU()(a))))),
    "attention": ([(4, 3), (4, 3)], lambda L, a, b: L.Attention()([a, b])),
    "bidirectional": ([(5, 4)], lambda L, a: L.Bidirectional(L.LSTM(3), merge_mode="sum")(a)),
    "cells": ([(5, 4)], lambda L, a: L.RNN([L.LSTMCell(3), L.GRUCell(2)])(a)),
    "convolutions": (
        [(8, 8, 3)],
        lambda L, a: L.DepthwiseConv2D(2)(L.Conv2DTranspose(2, 3)(L.Conv2D(4, 3, dilation_rate=2)(a))),
    ),
    "dense": ([(4,)], lambda L, a: L.Dense(3, kernel_regularizer="l2", kernel_constraint="max_norm")(a)),
    "dropouts": ([(5, 4)], lambda L, a: L.SpatialDropout1D(0.1)(L.GaussianNoise(0.1)(L.Dropout(0.3)(a)))),
    "embedding": ([(4,)], lambda L, a: L.GRU(2)(L.Embedding(9, 3, mask_zero=True, input_length=4)(a))),
    "lambda": ([(4,)], lambda L, a: L.Lambda(lambda x: x * 2)(a)),
    "locally": ([(8, 3)], lambda L, a: L.LocallyConnected1D(2, 3)(a)),
    "merged": ([(4,), (4,)], lambda L, a, b: L.Dot(1, normalize=True)([L.Add()([a, b]), b])),
    "normalized": ([(4,)], lambda L, a: L.LayerNormalization()(L.BatchNormalization()(a))),
    "pooled": ([(8, 8, 3)], lambda L, a: L.GlobalAveragePooling2D()(L.MaxPooling2D(padding="same")(a))),
    "recurrent": ([(5, 4)], lambda L, a: L.SimpleRNN(3)(L.LSTM(3, recurrent_activation="hard_sigmoid", return_sequences=True)(a))),
    "separable": ([(8, 3)], lambda L, a: L.SeparableConv1D(2, 3)(a)),
    "shapes": ([(4, 3)], lambda L, a: L.Flatten()(L.Permute((2, 1))(L.ZeroPadding1D(1)(a)))),
    "timed": ([(5, 8, 1)], lambda L, a: L.TimeDistributed(L.Conv1D(2, 3))(a)),
}
COMPILED = {
    "adam": ("adam", "mse", ["mae"]),
    "decaying": (lambda K: K.optimizers.SGD(0.1, momentum=0.9, decay=0.1), "mean_squared_error", ["accuracy"]),
    "rmsprop": ("rmsprop", "categorical_crossentropy", ["accuracy"]),
    "unknown": ("sgd", "cosine_proximity", []),
}


def save(folder):
    import tensorflow as tf

    if tf.__version__.startswith("1."):
        K = tf.keras
    else:
        import tf_keras as K
    for name, (shapes, build) in MODELS.items():
        K.backend.clear_session()
        inputs = [K.Input(shape, name="in%d" % i) for i, shape in enumerate(shapes)]
        model = K.Model(inputs if len(inputs) > 1 else inputs[0], build(K.layers, *inputs))
        write(model, folder, name, shapes)
    K.backend.clear_session()
    shared = K.Sequential([K.layers.Dense(3, input_shape=(4,)), K.layers.Dense(4)])
    one, two = K.Input((4,), name="in0"), K.Input((4,), name="in1")
    write(K.Model([one, two], [shared(one), shared(shared(two))]), folder, "shared", [(4,), (4,)])
    for name, (optimizer, loss, metrics) in COMPILED.items():
        if name == "unknown" and not tf.__version__.startswith("1."):
            continue
        K.backend.clear_session()
        model = K.Sequential([K.layers.Dense(3, input_shape=(4,), activation="softmax")])
        if callable(optimizer) and not tf.__version__.startswith("1."):
            optimizer = K.optimizers.legacy.SGD(0.1, momentum=0.9, decay=0.1)
        optimizer = optimizer(K) if callable(optimizer) else optimizer
        model.compile(optimizer, loss, metrics=metrics)
        for _ in range(3):
            model.train_on_batch(values((4,)), np.eye(3)[:2])
        write(model, folder, name, [(4,)], lambda m: losses(m))


def values(shape):
    return (np.arange(2 * int(np.prod(shape))).reshape((2,) + shape) % 7 % 2).astype("f")


def losses(model):
    """What a model reports of three steps of training."""
    return np.array([np.ravel(model.train_on_batch(values((4,)), np.eye(3)[:2])) for _ in range(3)])


def write(model, folder, name, shapes, then=None):
    given = [values(shape) for shape in shapes]
    predicted = model.predict(given if len(given) > 1 else given[0])
    predicted = predicted if isinstance(predicted, list) else [predicted]
    path = os.path.join(folder, name)
    model.save(path + ".h5")
    trained = {} if then is None else {"then": then(model)}
    np.savez(path + ".npz", **{"p%d" % i: one for i, one in enumerate(predicted)}, **trained)


def mistake(folder):
    from tpucompat.commands.checkpoints import whole_models

    whole_models.hard_sigmoid = lambda x: 0.9 * hard_sigmoid(x)
    whole_models.hard_sigmoid.__name__ = "hard_sigmoid"
    convert(folder, "recurrent.h5")


def convert(folder, pattern="*.h5"):
    import keras

    from tpucompat.commands.checkpoints import conversion

    for path in sorted(glob.glob(os.path.join(folder, pattern))):
        name = os.path.basename(path)[:-3]
        target = os.path.join(folder, name + ".keras")
        if os.path.exists(target):
            os.remove(target)
        if name == "lambda":
            hide(path)
        try:
            done = conversion.convert(path, target)
        except conversion.ConversionError as error:
            print(name, "refused:", str(error).partition("not written: ")[2])
            assert not os.path.exists(target)
            continue
        model = keras.models.load_model(target, custom_objects={"hard_sigmoid": hard_sigmoid})
        known = np.load(path[:-3] + ".npz")
        shapes = MODELS[name][0] if name in MODELS else [(4,), (4,)][: 1 + (name == "shared")]
        given = [values(shape) for shape in shapes]
        found = model.predict(given if len(given) > 1 else given[0], verbose=0)
        for i, one in enumerate(found if isinstance(found, list) else [found]):
            error = np.abs(one - known["p%d" % i]).max()
            assert error < 1e-5, (name, error)
        said = "converted"
        if "then" in known and model.compiled:
            # Keras 3 reports means over all calls; the first one is the step's own.
            first = np.ravel(model.train_on_batch(values((4,)), np.eye(3)[:2]))
            np.testing.assert_allclose(first, known["then"][0], rtol=1e-5)
            model.reset_metrics()
            second = np.ravel(model.train_on_batch(values((4,)), np.eye(3)[:2]))
            np.testing.assert_allclose(second, known["then"][1], rtol=1e-5)
            said = f"converted with {len(done.state)} values of the optimizer"
        print(name, said, *(one.partition(":")[0] for one in done.remarks[1:]))


def hide(path):
    """Writes the name of a class with an escape, as a file may that has something to hide."""
    import h5py

    with h5py.File(path, "r+") as file:
        config = file.attrs["model_config"]
        config = config.decode() if isinstance(config, bytes) else config
        file.attrs["model_config"] = config.replace('"Lambda"', '"\\u004cambda"')


def hard_sigmoid(x):
    import tensorflow as tf

    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


if __name__ == "__main__":
    {"save": save, "convert": convert, "mistake": mistake}[sys.argv[1]](sys.argv[2])
