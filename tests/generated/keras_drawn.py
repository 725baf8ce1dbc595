"""Random Keras models drawn from the arguments of the classes, and scripts that are random walks over a model.

Where ``keras_models.py`` and its kin have a function for every way that scripts write a layer, this one has
none: a class is called with some of the arguments that its constructors name, each value out of a table of
arguments. A model is any graph of such layers, a later layer taking any tensor before it. What a script does
with it is a walk over what a model can do: train in any way, ask, compile again, freeze, save, load, go on.

What it gives is everything that the walk has seen, so targets are compared action by action.
"""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile

import keras_models as plain
import numpy as np
from choices import Maker

import tpucompat.v1 as tf

keras = tf.keras
layers = keras.layers
K = keras.backend
BATCH, LARGEST = 16, 300

#: Arguments of today that 1.15 has not, or that change no number.
NOT_OF_115 = {"groups", "synchronized", "score_mode", "keepdims", "sparse", "zero_output_for_mask"}
NOT_DRAWN = {
    # On a CPU convolutions and pooling know one order of the axes.
    "data_format",
    # A seed of its own makes other numbers on every core all the same.
    "seed",
    # Which scripts say in other places: stateful models and states have actions of their own.
    "stateful",
    "return_state",
    "time_major",
    "cell",
    "layer",
    "backward_layer",
    "weights",
    # Statistics of a core's part of the batch.
    "virtual_batch_size",
    "adjustment",
    "renorm",
    "renorm_clipping",
    "renorm_momentum",
    "input_dim",
    "input_shape",
    "batch_size",
    "dynamic",
    "dtype",
}


# Arguments: each value follows from the maker, the class, and the tensor that a layer is called with


def rank_of(x):
    return x.shape.ndims - 2


def initializer(m, *_):
    found = keras.initializers
    return m.one(
        "zeros",
        "ones",
        "glorot_uniform",
        "he_uniform",
        "lecun_normal",
        "random_uniform",
        found.Constant(0.3),
        found.RandomUniform(-0.3, 0.3),
        found.VarianceScaling(0.5, "fan_avg", "truncated_normal"),
        tf.glorot_normal_initializer(),
        tf.constant_initializer(0.1),
    )


def of_variance(m, *_):
    return m.one("ones", keras.initializers.Constant(0.7), keras.initializers.RandomUniform(0.5, 1))


def regularizer(m, *_):
    found = keras.regularizers
    return m.one("l1", "l2", "l1_l2", found.l2(0.05), found.l1_l2(0.01, 0.02), smooth)


def smooth(weights):
    return 0.01 * K.sum(K.sqrt(K.square(weights) + 1e-3))


def of_activity(m, *_):
    return m.one("l2", keras.regularizers.l2(0.02), keras.regularizers.l1(0.003))


def constraint(m, *_):
    found = keras.constraints
    # A norm near zero would make numbers out of rounding: none that divides by it for what may be zero.
    return m.one("non_neg", found.max_norm(0.9), found.MaxNorm(0.8, axis=0), Bounded())


class Bounded(keras.constraints.Constraint):
    def __call__(self, weights):
        return K.clip(weights, -0.5, 0.5)


def activation(m, *_):
    return m.one(
        *("relu", "tanh", "sigmoid", "elu", "selu", "softplus", "softsign", "softmax", "linear"),
        *("exponential", "hard_sigmoid", tf.nn.swish, tf.nn.leaky_relu, K.tanh, wavy),
    )


def wavy(x):
    return tf.sin(x) + 0.1 * x


def times(m, kind, x):
    """A size for every axis of space."""
    number = m.one(1, 2, 2)
    return m.one(number, (number,) * max(rank_of(x), 1))


def strides(m, kind, x):
    # Those of a depthwise convolution are the same in both axes.
    return m.one(1, 2, (2,) * max(rank_of(x), 1))


def amounts(m, kind, x):
    rank = rank_of(x)
    if rank == 1:
        return m.one(1, (1, 0), (0, 1))
    return m.one(1, (1,) * rank, tuple((1, 0) for _ in range(rank)))


def noise_shape(m, kind, x):
    return [None, *[m.one(1, size) for size in x.shape.as_list()[1:]]]


ARGUMENTS = {
    "activation": activation,
    "recurrent_activation": lambda m, *_: m.one("sigmoid", "hard_sigmoid", tf.sigmoid),
    "alpha": lambda m, *_: m.one(0.1, 0.5, 1.0),
    "axis": lambda m, *_: -1,
    "causal": lambda m, *_: m.often(),
    "center": lambda m, *_: m.often(),
    "cropping": amounts,
    "depth_multiplier": lambda m, *_: m.one(1, 2),
    "dilation_rate": lambda m, kind, x: m.one(1, 2),
    "dropout": lambda m, *_: m.rate("dropout"),
    "recurrent_dropout": lambda m, *_: m.rate("dropout"),
    "epsilon": lambda m, *_: m.one(1e-2, 1e-3),
    "filters": lambda m, *_: m.units(),
    "fused": lambda m, *_: False,
    "go_backwards": lambda m, *_: m.often(),
    "implementation": lambda m, *_: m.one(1, 2),
    "interpolation": lambda m, *_: m.one("nearest", "bilinear"),
    "kernel_size": times,
    "l1": lambda m, *_: 0.002,
    "l2": lambda m, *_: 0.01,
    "max_value": lambda m, *_: m.one(0.6, 6.0),
    "momentum": lambda m, *_: m.one(0.5, 0.99),
    "moving_variance_initializer": of_variance,
    "n": lambda m, *_: m.random.randint(2, 4),
    "name": lambda m, *_: f"named_{len(m.log)}_{m.random.randint(0, 99)}",
    "negative_slope": lambda m, *_: m.one(0.1, 0.3),
    "noise_shape": noise_shape,
    "normalize": lambda m, *_: m.often(),
    "output_padding": None,
    "padding": lambda m, *_: m.one("same", "valid", "SAME"),
    "pool_size": times,
    "rate": lambda m, *_: m.rate("dropout"),
    "reset_after": lambda m, *_: m.often(),
    "return_sequences": lambda m, *_: m.often(),
    "scale": lambda m, *_: m.often(),
    "size": times,
    "stddev": lambda m, *_: m.rate("noise"),
    "strides": strides,
    "theta": lambda m, *_: m.one(0.1, 0.3),
    "threshold": lambda m, *_: m.one(0.1, 0.2),
    "trainable": lambda m, *_: m.often(0.8),
    "unit_forget_bias": lambda m, *_: m.often(),
    "units": lambda m, *_: m.units(),
    "unroll": lambda m, *_: m.often(),
    "use_bias": lambda m, *_: m.often(),
    "use_scale": lambda m, *_: m.often(),
    "shared_axes": lambda m, kind, x: list(range(1, max(x.shape.ndims - 1, 2))),
    "mask_value": lambda m, *_: 0.0,
    "activity_regularizer": of_activity,
}
ENDINGS = {"_initializer": initializer, "_regularizer": regularizer, "_constraint": constraint}
#: Argument of one class, where it means something else there.
OF_CLASS = {
    ("ZeroPadding", "padding"): amounts,
    ("Conv1D", "padding"): lambda m, *_: m.one("same", "valid", "causal"),
    ("LocallyConnected", "padding"): lambda m, *_: "valid",
    ("LocallyConnected", "implementation"): lambda m, *_: m.one(1, 2, 3),
    ("UpSampling1D", "size"): lambda m, *_: 2,
    ("Dropout", "noise_shape"): noise_shape,
    ("ELU", "alpha"): lambda m, *_: m.one(0.2, 1.0),
    ("SimpleRNN", "implementation"): None,
    ("AlphaDropout", "noise_shape"): None,
    ("DepthwiseConv2D", "filters"): None,
    # The optimizers of 1.15 take no constraint of a variable with sparse gradients.
    ("Embedding", "embeddings_constraint"): None,
}
#: Rank of the tensor -> classes that are called with it.
SPACE = (
    "Conv{0}D SeparableConv{0}D LocallyConnected{0}D MaxPooling{0}D AveragePooling{0}D ZeroPadding{0}D "
    "Cropping{0}D UpSampling{0}D SpatialDropout{0}D GlobalMaxPooling{0}D GlobalAveragePooling{0}D "
    "Conv{0}DTranspose"
)
ALWAYS = [
    "Dense",
    "Activation",
    "ActivityRegularization",
    "AlphaDropout",
    "Dropout",
    "GaussianDropout",
    "GaussianNoise",
    "ELU",
    "LeakyReLU",
    "PReLU",
    "ReLU",
    "Softmax",
    "ThresholdedReLU",
    "BatchNormalization",
    "LayerNormalization",
    "Flatten",
]
CLASSES = {
    2: [*ALWAYS, "RepeatVector"],
    3: [*ALWAYS, *SPACE.format(1).split(), *["LSTM", "GRU", "SimpleRNN"] * 2, "Masking"],
    4: [*ALWAYS, *SPACE.format(2).split(), "DepthwiseConv2D"],
    5: [*ALWAYS, *SPACE.format(3).split(), "ConvLSTM2D", "ConvLSTM2D"],
}
MISSING = {"SeparableConv3D", "LocallyConnected3D", "Conv1DTranspose"}
#: What a layer is not for every step: a mask ends there, and a batch's statistics are those of a core.
NOT_OF_STEPS = {"Masking", "BatchNormalization"}
#: What a constructor has to be given.
REQUIRED = ["units", "filters", "kernel_size", "rate", "stddev", "n", "activation"]
PER_CORE = ("Dropout", "GaussianNoise", "GaussianDropout", "AlphaDropout", "SpatialDropout")


def arguments_of(kind):
    """The arguments that a class's constructors name, its bases' among them; and the required ones."""
    found, required = set(), set()
    for base in inspect.getmro(kind):
        if base.__init__ is object.__init__ or base is layers.Layer:
            break
        for name, parameter in inspect.signature(base.__init__).parameters.items():
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and name != "self":
                found.add(name)
                if parameter.default is parameter.empty and base is kind:
                    required.add(name)
    return {*found, "name", "trainable"} - NOT_OF_115 - NOT_DRAWN, required & set(REQUIRED)


def value_of(m, kind, name, x):
    """A value for an argument, or None where there is none to draw."""
    for (start, argument), draw in OF_CLASS.items():
        if argument == name and kind.startswith(start):
            return draw and draw(m, kind, x)
    if name in ARGUMENTS:
        return ARGUMENTS[name] and ARGUMENTS[name](m, kind, x)
    for ending, draw in ENDINGS.items():
        if name.endswith(ending):
            return draw(m, kind, x)
    return None


def options_of(m, kind, x):
    """Some of a class's arguments."""
    known, required = arguments_of(getattr(layers, kind))
    options = {}
    for name in sorted(known):
        if name in required or m.often(0.25):
            value = value_of(m, kind, name, x)
            if value is not None:
                options[name] = value
    if options.get("dilation_rate", 1) != 1:  # strides and dilation exclude each other
        options.pop("strides", None)
        if "Transpose" in kind or kind.startswith("ConvLSTM"):
            options.pop("dilation_rate")
    if kind == "SpatialDropout1D":
        options.pop("noise_shape", None)
    if not options.get("use_bias", True):
        options = {k: v for k, v in options.items() if not k.startswith("bias_")}
        options.pop("unit_forget_bias", None)
    if kind in ("LSTM", "GRU", "SimpleRNN", "ConvLSTM2D") and options.get("activation") in (
        "exponential",
        "selu",
    ):
        options["activation"] = "tanh"
    return options


# Layers out of layers -----------------------------------------------------------------------------


def cells(m, x):
    found = []
    for _ in range(m.random.randint(1, 3)):
        kind = m.one("LSTMCell", "GRUCell", "SimpleRNNCell")
        found.append(getattr(layers, kind)(**options_of(m, kind, x)))
    return found[0] if len(found) == 1 else m.one(found, layers.StackedRNNCells(found))


def recurrent(m, x):
    """A layer that gives its states, or begins with some."""
    way = m.one("cells", "states", "initial", "bidirectional", "backward layer", "no mask")
    m.note(f"recurrent: {way}")
    if way == "cells":
        return layers.RNN(cells(m, x), return_sequences=m.often(), unroll=m.often(0.2))(x)
    kind = m.one("LSTM", "GRU", "SimpleRNN")
    options = options_of(m, kind, x)
    m.note(f"{kind}({options})")
    if way == "states":
        made = getattr(layers, kind)(**{**options, "return_state": True})(x)
        made = [part for part in made if part.shape.ndims == 2]
        return layers.concatenate(made) if len(made) > 1 else made[0]
    if way == "initial":
        first = layers.Lambda(lambda y: y[:, 0], mask=lambda *_: None)(x)
        number = 2 if kind == "LSTM" else 1
        begin = [layers.Dense(options["units"], activation="tanh")(first) for _ in range(number)]
        return getattr(layers, kind)(**options)(x, initial_state=begin)
    options.pop("name", None)
    options.pop("go_backwards", None)
    layer = getattr(layers, kind)(**options)
    if way == "no mask":
        return layers.TimeDistributed(layers.Dense(3))(
            layers.Bidirectional(
                layers.SimpleRNN(3, return_sequences=True), merge_mode=m.one("concat", "sum", "ave")
            )(x)
        )
    mode = m.one("concat", "sum", "mul", "ave")
    return layers.Bidirectional(layer, merge_mode=mode)(x)


def over_steps(m, x):
    """A drawn layer for every step."""
    inner = tf.TensorShape([None, *x.shape.as_list()[2:]])
    one = layers.Input(inner.as_list()[1:])
    kind = m.one(*[k for k in CLASSES[inner.ndims] if k not in {*MISSING, *NOT_OF_STEPS}])
    options = options_of(m, kind, one)
    m.note(f"TimeDistributed({kind}({options}))")
    return layers.TimeDistributed(getattr(layers, kind)(**options))(unmasked(x))


def drawn(m, x):
    """A class with some of its arguments."""
    kind = m.one(*[k for k in CLASSES[x.shape.ndims] if k not in MISSING])
    options = options_of(m, kind, x)
    m.note(f"{kind}({options})")
    layer = getattr(layers, kind)(**options)
    if kind == "BatchNormalization":
        if m.exact:
            return layer(x, training=False)
        m.apart.add("BatchNormalization: statistics of a core's part of the batch")
    if m.often(0.1) and kind in ("Dense", "PReLU", "Activation", "LayerNormalization"):
        m.note("called on two tensors")
        other = layers.Lambda(lambda y: 0.5 * y, mask=lambda *_: None)(x)
        return layers.concatenate([layer(x), layer(other)])
    return layer(x)


def attended(m, x):
    kind = m.one("Attention", "AdditiveAttention")
    options = options_of(m, kind, x)
    m.note(f"{kind}({options})")
    # A bias of all keys changes no softmax: its gradient would be rounding alone, and Adagrad divides by it.
    parts = [layers.Dense(3, use_bias=part < 2)(x) for part in range(m.one(2, 3))]
    return getattr(layers, kind)(**options)(parts)


def reshaped(m, x):
    sizes = x.shape.as_list()[1:]
    m.note("Reshape or Permute")
    if len(sizes) > 1 and m.often():
        order = list(range(1, len(sizes) + 1))
        m.random.shuffle(order)
        return layers.Permute(order)(unmasked(x))
    total = int(np.prod(sizes))
    factor = next(n for n in (3, 2, 5, 7, total) if total % n == 0)
    return layers.Reshape(m.one((factor, total // factor), (-1, factor), (total,)))(unmasked(x))


def operated(m, x):
    """Operations on tensors of Keras, without a layer around them."""
    m.note("operations")
    x = unmasked(x)
    return m.one(
        lambda: x * 0.5 + tf.tanh(x),
        lambda: tf.concat([x, -x], axis=-1),
        lambda: 1.0 - x / (1.0 + tf.abs(x)),
        lambda: tf.nn.relu(x[:, :2] - 0.1),
        lambda: K.softmax(x) ** 2,
        lambda: tf.where(x > 0.2, x, 0.1 * x),
        lambda: tf.squeeze(tf.expand_dims(x, 1), [1]) - tf.reduce_max(x, -1, keepdims=True),
    )()


def unmasked(x):
    return layers.Lambda(lambda y: y, mask=lambda *_: None)(x)


def inner_model(m, x):
    m.note("a model (")
    given = layers.Input(x.shape.as_list()[1:])
    inner = keras.Model(given, grown(m, [given], 2)[-1])
    m.note(")")
    way = m.one("plain", "clone", "config", "json", "inner of inner")
    m.note(way)
    if way == "clone":
        inner = keras.models.clone_model(inner)
    elif way == "inner of inner":
        again = layers.Input(x.shape.as_list()[1:])
        inner = keras.Model(again, inner(again))
    return inner(unmasked(x))


WAYS = {
    2: [*[drawn] * 6, reshaped, operated, inner_model],
    3: [*[drawn] * 6, recurrent, recurrent, over_steps, attended, reshaped, operated, inner_model],
    4: [*[drawn] * 6, over_steps, reshaped, operated, inner_model],
    5: [*[drawn] * 6, over_steps, reshaped, operated],
}
MERGES = ["Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply", "Subtract", "Dot"]


def merged(m, pool):
    """Two or three tensors of a shape; or any two, as vectors."""
    x = m.one(*pool)
    alike = [y for y in pool if y.shape.as_list() == x.shape.as_list() and y is not x]
    kind = m.one(*MERGES)
    m.note(kind)
    if not alike:
        parts = [layers.Dense(4)(layers.Flatten()(unmasked(y))) for y in (x, m.one(*pool))]
    else:
        parts = [x, m.one(*alike)]
    if kind not in ("Subtract", "Dot", "Concatenate") and m.often(0.3):
        parts.append(m.one(*parts))
    if kind == "Dot":
        axes = -1 if parts[0].shape.ndims < 4 else 1
        if parts[0].shape.ndims > 3:
            return layers.Add()(parts)
        return layers.Dot(axes, normalize=m.often(0.3))([unmasked(p) for p in parts])
    if kind == "Concatenate":
        return layers.Concatenate(axis=m.one(-1, 1))(parts)
    return getattr(layers, kind)()(parts)


def grown(m, pool, length):
    """Tensors of layers on tensors."""
    pool, failed = list(pool), 0
    while length and failed < 20:
        x = m.one(*pool[-2:], *pool)
        try:
            if m.often(0.2) and len(pool) > 1:
                made = merged(m, pool)
            else:
                made = m.one(*WAYS[x.shape.ndims])(m, x)
        except ValueError as error:  # sizes that do not fit: the next one
            m.note(f"not: {str(error)[:60]}")
            failed += 1
            continue
        sizes = made.shape.as_list()[1:]
        known = None not in sizes and sizes and 0 not in sizes
        if not known or np.prod(sizes) > LARGEST or len(sizes) > 4:
            continue
        pool.append(made)
        length -= 1
    return pool


# Models ------------------------------------------------------------------------------------------


def new_input(m, index):
    shape = m.one((4,), (6,), (5, 3), (5, 3), (6, 2), (5,), (5, 5, 2), (4, 6, 1), (3, 4, 4, 2))
    kind = "words" if shape == (5,) else m.one("float32", "float32", "float64", "uint8", "int32")
    m.note(f"{shape} {kind}:")
    name = m.one(f"in_{index}", f"Input-{index}") if m.often(0.4) else None
    if kind == "words":
        data = m.numbers.randint(0, 7, (m.examples, *shape)).astype(m.one("int32", "int64"))
        # No batch lacks a word: see keras_scripts.py.
        data[:, 0] = np.concatenate([m.numbers.permutation(8) for _ in range(m.examples // 8)])
        given = layers.Input(shape, name=name, dtype=m.one("int32", None))
        options = {k: v for k, v in options_of(m, "Embedding", given).items() if k != "axis"}
        options.pop("input_length", None)
        options["mask_zero"] = m.often(0.4)
        m.note(f"Embedding({options})")
        return given, data, layers.Embedding(8, m.units(), **options)(given)
    data = m.numbers.rand(m.examples, *shape)
    data = (data * 3).astype(kind) if "int" in kind else data.astype(kind)
    if "int" in kind and m.often():
        given = layers.Input(shape, name=name, dtype=kind)
        return given, data, layers.Lambda(lambda y: tf.cast(y, tf.float32) / 3.0)(given)
    return given_of(m, shape, name), data, None


def given_of(m, shape, name):
    if m.often(0.15):
        m.note("a batch of a fixed size")
        return layers.Input(batch_shape=(BATCH, *shape), name=name)
    return layers.Input(shape, name=name)


LOSSES = {
    "classes": [
        "categorical_crossentropy",
        "categorical_hinge",
        "kullback_leibler_divergence",
        "mean_squared_error",
        "CategoricalCrossentropy",
        "CategoricalHinge",
        "KLDivergence",
        "cosine_similarity",
    ],
    "sparse": ["sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"],
    "binary": [
        "binary_crossentropy",
        "BinaryCrossentropy",
        "hinge",
        "squared_hinge",
        "Hinge",
        "SquaredHinge",
        "poisson",
    ],
    "numbers": [
        "mse",
        "mae",
        "mape",
        "msle",
        "logcosh",
        "MeanSquaredError",
        "MeanAbsoluteError",
        "MeanAbsolutePercentageError",
        "MeanSquaredLogarithmicError",
        "Huber",
        "LogCosh",
        "Poisson",
        "CosineSimilarity",
        "huber_loss",
    ],
}
METRICS = {
    "classes": [
        "accuracy",
        "categorical_accuracy",
        "CategoricalAccuracy",
        "CategoricalCrossentropy",
        "CategoricalHinge",
        "TopKCategoricalAccuracy",
        "KLDivergence",
        "AUC",
        "Precision",
        "top_k_categorical_accuracy",
    ],
    "sparse": ["accuracy", "SparseCategoricalAccuracy", "SparseTopKCategoricalAccuracy"],
    "binary": [
        "accuracy",
        "acc",
        "binary_accuracy",
        "BinaryAccuracy",
        "BinaryCrossentropy",
        "AUC",
        "Precision",
        "Recall",
        "TruePositives",
        "TrueNegatives",
        "FalsePositives",
        "FalseNegatives",
        "SensitivityAtSpecificity",
        "SpecificityAtSensitivity",
        "Hinge",
        "SquaredHinge",
    ],
    "numbers": [
        "mae",
        "mse",
        "MeanAbsoluteError",
        "MeanSquaredError",
        "RootMeanSquaredError",
        "LogCoshError",
        "Poisson",
        "MeanAbsolutePercentageError",
        "MeanSquaredLogarithmicError",
        "CosineSimilarity",
        "MeanRelativeError",
        "mape",
        "cosine_proximity",
    ],
}


def metric_of(m, name, tag):
    found = keras.metrics
    if not name[0].isupper():
        return name
    options = {"name": f"{name}_{tag}"} if m.often(0.7) else {}
    special = {
        "AUC": {"num_thresholds": 20, "curve": m.one("ROC", "PR")},
        "Precision": {"thresholds": m.one(None, 0.4, [0.2, 0.4])} if tag != "sparse" else {},
        "Recall": {"thresholds": m.one(None, 0.6), "top_k": None},
        "TruePositives": {"thresholds": m.one(None, 0.4)},
        "SensitivityAtSpecificity": {"specificity": 0.5, "num_thresholds": 20},
        "SpecificityAtSensitivity": {"sensitivity": 0.5, "num_thresholds": 20},
        "TopKCategoricalAccuracy": {"k": 2},
        "SparseTopKCategoricalAccuracy": {"k": 2},
        "MeanRelativeError": {"normalizer": [0.5, 1.5]},
        "BinaryAccuracy": {"threshold": m.one(0.3, 0.5)},
        "BinaryCrossentropy": {"label_smoothing": m.one(0, 0.1)},
    }
    return getattr(found, name)(**options, **special.get(name, {}))


def loss_of(m, kind):
    name = m.one(*LOSSES[kind])
    if not name[0].isupper():
        return tf.losses.huber_loss if name == "huber_loss" else name
    options = {}
    if m.often(0.3):
        reduction = options["reduction"] = m.one("auto", "sum_over_batch_size", "sum")
        if reduction == "sum":
            m.apart.add("a sum of losses: every core has its own")
    if "Crossentropy" in name and m.often(0.3):
        options["from_logits"] = True
    if name in ("CategoricalCrossentropy", "BinaryCrossentropy") and m.often(0.3):
        options["label_smoothing"] = 0.1
    return getattr(keras.losses, name)(**options)


def new_output(m, x, index):
    kind = m.one("classes", "sparse", "binary", "numbers")
    loss = loss_of(m, kind)
    name = f"out_{index}" if m.often() else None
    if x.shape.ndims == 3 and m.often(0.3):
        shape, x = (x.shape.as_list()[1],), unmasked(x) if m.often() else x
    else:
        shape, x = (), x if x.shape.ndims == 2 else layers.Flatten()(unmasked(x))
    final = {"classes": "softmax", "sparse": "softmax", "binary": "sigmoid", "numbers": "softplus"}
    size = {"classes": 3, "sparse": 3, "binary": 1, "numbers": 2}[kind]
    x = layers.Dense(size, activation=final[kind], name=name)(x)
    labels = {
        "classes": lambda: np.eye(3)[m.numbers.randint(0, 3, (m.examples, *shape))],
        "sparse": lambda: m.numbers.randint(0, 3, (m.examples, *shape, 1)),
        "binary": lambda: m.numbers.randint(0, 2, (m.examples, *shape, 1)),
        "numbers": lambda: m.numbers.rand(m.examples, *shape, 2) + 0.2,
    }[kind]()
    labels = labels.astype(m.one("int32", "float32") if kind != "numbers" else "float32")
    metrics = [
        metric_of(m, each, f"{kind}_{index}")
        for each in m.random.sample(METRICS[kind], m.one(0, 1, 2))
        if not (shape and each in ("AUC", "Precision", "Recall"))
    ]
    m.note(f"{kind} {shape}, {loss}, {metrics}")
    return x, labels, loss, metrics


def build(m):
    m.examples = m.one(32, 48, 48)
    given, data, pool = [], [], []
    for index in range(m.one(1, 1, 2, 3)):
        one, numbers, x = new_input(m, index)
        given.append(one)
        data.append(numbers)
        pool.append(one if x is None else x)
    first = len(pool)
    pool = grown(m, pool, m.random.randint(2, 6))
    used = pool[first:][-2:] + pool[:first]  # every input is used
    flat = [layers.Flatten()(unmasked(x)) if x.shape.ndims > 2 else x for x in used]
    x = pool[-1] if first == 1 and m.often() else layers.concatenate(flat) if flat[1:] else flat[0]
    outputs = [new_output(m, x, index) for index in range(m.one(1, 1, 2))]
    model = keras.Model(given, [output[0] for output in outputs])
    m.hidden = x
    return model, data, outputs


def optimizer(m):
    """A class with some of its arguments."""
    found, train, opt = keras.optimizers, tf.train, tf.contrib.opt
    more = {}
    if m.often(0.3):
        more["decay"] = 0.1
    if m.often(0.2):
        more[m.one("clipvalue", "clipnorm")] = 1e3
    rows = {
        "SGD": lambda: found.SGD(lr=0.02, momentum=m.one(0.0, 0.8), nesterov=m.often(), **more),
        "RMSprop": lambda: found.RMSprop(lr=0.01, rho=m.one(0.5, 0.9), epsilon=1e-2, **more),
        "Adagrad": lambda: found.Adagrad(lr=0.05, epsilon=1e-2, **more),
        "Adadelta": lambda: found.Adadelta(lr=0.5, rho=0.8, epsilon=1e-2, **more),
        "Adam": lambda: found.Adam(lr=0.01, beta_1=0.7, beta_2=0.9, epsilon=1e-2, **more),
        "Adamax": lambda: found.Adamax(lr=0.01, epsilon=1e-2, **more),
        "Nadam": lambda: found.Nadam(lr=0.01, epsilon=1e-2),
        "Ftrl": lambda: found.Ftrl(
            0.05, initial_accumulator_value=0.2, l2_shrinkage_regularization_strength=0.01
        ),
        "name": lambda: m.one("sgd", "adagrad", "SGD"),
        "tf sgd": lambda: train.GradientDescentOptimizer(0.05, use_locking=m.often()),
        "tf momentum": lambda: train.MomentumOptimizer(0.02, 0.8, use_nesterov=m.often()),
        "tf adam": lambda: train.AdamOptimizer(tf.constant(0.01), 0.8, 0.9, 1e-2),
        "tf rmsprop": lambda: train.RMSPropOptimizer(0.01, 0.8, epsilon=1e-2, centered=m.often()),
        "tf adagrad": lambda: train.AdagradOptimizer(0.05, initial_accumulator_value=0.3),
        "opt nadam": lambda: opt.NadamOptimizer(0.01, epsilon=1e-2),
        "opt momentumw": lambda: opt.MomentumWOptimizer(1e-3, 0.02, 0.8),
        "cross": lambda: tf.contrib.tpu.CrossShardOptimizer(train.GradientDescentOptimizer(0.05)),
    }
    name = m.one(*rows)
    m.note(f"optimizer {name} {more}")
    return rows[name]()


# What a script does with a model ------------------------------------------------------------------


class Walk:
    """A model, its data, and what a script does with it."""

    def __init__(self, m, folder, brief):
        self.m, self.folder, self.brief = m, folder, brief
        plain_model, self.data, self.outputs = build(m)
        self.labels = [output[1] for output in self.outputs]
        self.several = len(self.outputs) > 1
        self.metrics = [output[3] for output in self.outputs]
        #: A loss that is one number for the whole batch takes no weights.
        self.weighted = not self.several and self.outputs[0][2] is not tf.losses.huber_loss
        self.weighted = self.weighted and self.labels[0].ndim == 2
        self.fixed = any(x.shape.as_list()[0] for x in plain_model.inputs)
        plain.reset_weights(plain_model, m.numbers)
        if m.often(0.15):
            m.note("add_loss, add_metric")
            plain_model.add_loss(0.1 * K.mean(K.square(m.hidden)))
            plain_model.add_metric(K.mean(m.hidden), name="hidden", aggregation="mean")
        if m.often():
            plain_model.compile(optimizer(m), **self.options())
            self.model = plain.convert(plain_model)
        else:
            self.model = plain.convert(plain_model)
            self.model.compile(optimizer(m), **self.options())

    def options(self, metrics=True):
        m, losses = self.m, [output[2] for output in self.outputs]
        options = {"loss": losses if self.several else losses[0]}
        if metrics:
            options["metrics"] = self.metrics if self.several else self.metrics[0]
        if self.several and m.often():
            options["loss_weights"] = [0.5] * len(losses)
        return options

    def some(self, start=0, number=BATCH):
        part = slice(start, start + number)
        return (
            plain.unlisted([each[part] for each in self.data]),
            plain.unlisted([each[part] for each in self.labels]),
        )

    def everything(self):
        return self.some(0, self.m.examples)

    def fit(self):
        m, (x, y) = self.m, self.everything()
        options = {"epochs": m.one(1, 2), "shuffle": False, "verbose": 0}
        if self.weighted and m.often(0.4):
            options["sample_weight"] = np.linspace(0.5, 1.5, m.examples)
        elif m.often(0.3) and not self.brief:
            options["validation_data"] = self.some(0, 32)
        elif m.often(0.3) and not self.brief and m.examples == 48:
            options["validation_split"] = 1 / 3
        if m.often(0.2):
            options["callbacks"] = [keras.callbacks.LambdaCallback(on_batch_end=lambda *_: None)]
        m.note(f"fit {sorted(options)}")
        return self.model.fit(x, y, batch_size=BATCH, **options).history

    def fit_rest(self):
        """The last batch is smaller."""
        if self.fixed:
            return None
        number = self.m.one(24, 40) if self.m.examples == 48 else 24
        x, y = self.some(0, number)
        return self.model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0).history

    def fit_data(self):
        m, (x, y) = self.m, self.everything()
        x = tuple(x) if isinstance(x, list) else x
        y = tuple(y) if isinstance(y, list) else y
        data = tf.data.Dataset.from_tensor_slices((x, y)).repeat()
        data = data.batch(BATCH, drop_remainder=True)
        epochs = m.one(1, 2)
        return self.model.fit(data, steps_per_epoch=2, epochs=epochs, verbose=0).history

    def fit_generator(self):
        pieces = [self.some(0), self.some(16)]
        return self.model.fit_generator(
            iter(pieces * 3), steps_per_epoch=2, epochs=2, verbose=0
        ).history

    def fit_generated(self):
        """A generator given to fit itself."""
        pieces = [self.some(0), self.some(16)]
        return self.model.fit(iter(pieces * 2), steps_per_epoch=2, epochs=1, verbose=0).history

    def train_on_batch(self):
        options = {}
        if self.weighted and self.m.often(0.3):
            options["sample_weight"] = np.linspace(0.1, 1.0, BATCH)
        return [self.model.train_on_batch(*self.some(s), **options) for s in (0, 16)]

    def test_on_batch(self):
        return None if self.brief else self.model.test_on_batch(*self.some(16))

    def predict_on_batch(self):
        return None if self.brief else self.model.predict_on_batch(self.some(16)[0])

    def evaluate(self):
        if self.brief:
            return None
        return self.model.evaluate(*self.everything(), batch_size=BATCH, verbose=0)

    def predict(self):
        if self.brief:
            return None
        x, _ = self.everything() if self.fixed else self.some(0, self.m.one(16, 24, 32))
        return self.model.predict(x, batch_size=BATCH)

    def compile(self):
        self.model.compile(optimizer(self.m), **self.options(metrics=False))
        return self.train_on_batch()

    def freeze(self):
        """Some layers are frozen, and the model compiled again."""
        chosen = [layer for layer in self.model.layers if layer.trainable_weights]
        for layer in chosen[: len(chosen) // 2]:
            layer.trainable = False
        return self.compile()

    def thaw(self):
        self.model.trainable = True
        return self.compile()

    def rate(self):
        rate = getattr(self.model.optimizer, "lr", None)
        if rate is not None:
            K.set_value(rate, 0.005)
        return self.train_on_batch()

    def save_weights(self):
        path = os.path.join(self.folder, self.m.one("w.h5", "w"))
        self.model.save_weights(path)
        before = self.train_on_batch()
        self.model.load_weights(path)
        return [before, self.train_on_batch()]

    def set_weights(self):
        self.model.set_weights([0.9 * value for value in self.model.get_weights()])
        return self.train_on_batch()

    def layer_weights(self):
        layer = next(each for each in reversed(self.model.layers) if each.weights)
        layer.set_weights([0.5 * value for value in layer.get_weights()])
        return [self.train_on_batch(), layer.get_weights()]

    def clone(self):
        """A new model of the same configuration, with the weights of the old one."""
        own = {"smooth": smooth, "Bounded": Bounded, "wavy": wavy}
        with keras.utils.custom_object_scope(own):
            other = keras.models.clone_model(self.model.sync_to_cpu())
        other.set_weights(self.model.get_weights())
        other.compile(optimizer(self.m), **self.options(metrics=False))
        self.model = plain.convert(other)
        return self.train_on_batch()


TRAINING = ["fit", "fit_rest", "fit_data", "fit_generator", "fit_generated", "train_on_batch"]
OTHERS = [
    "test_on_batch",
    "predict_on_batch",
    "evaluate",
    "predict",
    "compile",
    "freeze",
    "thaw",
    "rate",
    "save_weights",
    "set_weights",
    "layer_weights",
    "clone",
]


def train(seed, brief=False):
    """Makes the program of a seed and runs it: what it gave, why it cannot be the same, what it is."""
    m = Maker(seed)
    m.exact = m.often(0.85)
    folder = tempfile.mkdtemp()
    try:
        np.random.seed(seed)
        tf.set_random_seed(seed)
        walk = Walk(m, folder, brief)
        actions = [m.one(*TRAINING)]
        actions += m.random.sample(TRAINING + OTHERS, 2 if brief else 4)
        found = {}
        for number, action in enumerate(actions):
            m.note(action)
            made = getattr(walk, action)()
            if made is not None:
                found[f"{number} {action}"] = made
        found["weights"] = walk.model.get_weights()
        return {**found, "log": m.log, "apart": sorted(m.apart)}
    except Exception as error:
        error.log = m.log
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
