"""Random Keras models and optimizers whose arguments are drawn signature by signature.

Any argument of a layer, an optimizer or a loss that :data:`VALUES` knows by its name may be given, whatever the
class; so arguments meet that no program was written for. The programs are those of ``keras_models.py``.
"""

from __future__ import annotations

import inspect
from unittest import mock

import keras_models as plain

import tpucompat.v1 as tf

keras = tf.keras
layers = keras.layers


def initializer(m, matrix=True):
    made, seed = keras.initializers, m.random.randint(0, 99)
    names = ["GlorotNormal", "he_uniform", "lecun_normal", "RandomUniform", "TruncatedNormal"]
    name = m.one("Ones", "Constant", "RandomNormal", "VarianceScaling", *names)
    if name == "Ones":
        return made.Ones()
    return made.Constant(0.2) if name == "Constant" else getattr(made, name)(seed=seed)


def regularizer(m):
    made = keras.regularizers
    # No function: Bidirectional copies its layer by its configuration.
    return m.one(made.l1(0.01), made.l2(0.01), made.l1_l2(0.01, 0.02))


def constraint(m):
    made = keras.constraints
    return m.one(made.NonNeg(), made.MaxNorm(0.9), made.MinMaxNorm(0.1, 0.9, 0.8, -1))


def function(m):
    own = m.one(None, "relu", "selu", "softsign", "exponential", "hard_sigmoid", "linear")
    return m.one(own, tf.nn.tanh, keras.activations.elu, lambda x: 0.5 * x)


#: The end of an argument's name -> what it may be.
VALUES = {
    "_initializer": initializer,
    "_regularizer": regularizer,
    "_constraint": constraint,
    "activation": function,
    "recurrent_activation": lambda m: m.one("sigmoid", "hard_sigmoid", "tanh"),
    "use_bias": lambda m: m.often(),
    "trainable": lambda m: m.often(0.8),
    "padding": lambda m: m.one("same", "valid"),
    "strides": lambda m: m.one(1, 2),
    "pool_size": lambda m: m.one(1, 2),
    "dilation_rate": lambda m: 2,
    "depth_multiplier": lambda m: 2,
    "data_format": lambda m: "channels_last",
    "unroll": lambda m: m.often(),
    "implementation": lambda m: m.one(1, 2),
    "go_backwards": lambda m: m.often(),
    "reset_after": lambda m: m.often(),
    "unit_forget_bias": lambda m: m.often(),
    "dropout": lambda m: 0.0,
    "recurrent_dropout": lambda m: 0.0,
    "time_major": lambda m: False,
    "stateful": lambda m: False,
    "merge_mode": lambda m: m.one("sum", "mul", "concat", "ave"),
    "momentum": lambda m: m.one(0.5, 0.9),
    "epsilon": lambda m: m.one(1e-3, 1e-2),
    "center": lambda m: m.often(),
    "scale": lambda m: m.often(),
    "fused": lambda m: m.one(None, False),
    "shared_axes": lambda m: [1],
    "max_value": lambda m: m.one(None, 0.8),
    "negative_slope": lambda m: 0.2,
    "threshold": lambda m: 0.1,
    "theta": lambda m: 0.2,
    "alpha": lambda m: 0.7,
    "noise_shape": lambda m: None,
    "seed": lambda m: 7,
    "size": lambda m: m.one(1, 2),
    "interpolation": lambda m: m.one("nearest", "bilinear"),
    "cropping": lambda m: 1,
    "l1": lambda m: 0.01,
    "l2": lambda m: 0.01,
    "name": lambda m: f"own_{m.random.randint(0, 99999)}",
    "dtype": lambda m: "float32",
    "mask_value": lambda m: 0.3,
    "return_sequences": lambda m: True,
    # Optimizers, losses
    "learning_rate": lambda m: m.one(0.01, 0.05),
    "lr": lambda m: m.one(0.01, 0.05),
    "decay": lambda m: m.one(0.0, 0.1),
    "rho": lambda m: m.one(0.5, 0.9),
    "beta_1": lambda m: m.one(0.5, 0.9),
    "beta_2": lambda m: m.one(0.8, 0.99),
    "amsgrad": lambda m: m.often(),
    "centered": lambda m: m.often(),
    "nesterov": lambda m: m.often(),
    "clipvalue": lambda m: 1e3,
    "clipnorm": lambda m: 1e3,
    "initial_accumulator_value": lambda m: m.one(0.1, 0.5),
    "learning_rate_power": lambda m: -0.4,
    "l1_regularization_strength": lambda m: 0.001,
    "l2_regularization_strength": lambda m: 0.01,
    "l2_shrinkage_regularization_strength": lambda m: 0.01,
    "label_smoothing": lambda m: 0.1,
    "from_logits": lambda m: m.often(),
    "delta": lambda m: 0.3,
    "reduction": lambda m: m.one("auto", "sum_over_batch_size"),
}
#: Of a class: what it must be given, and which arguments are not drawn (None: a reason of its own below).
MUST = {
    "units": lambda m: m.units(),
    "filters": lambda m: m.units(),
    "kernel_size": lambda m: m.one(1, 2),
    "rate": lambda m: 0.0,
    "stddev": lambda m: 0.0,
    "n": lambda m: 3,
}


def names_of(cls):
    """The arguments of a class, with those that it hands on to its bases."""
    found = {}
    for each in cls.__mro__:
        signature = inspect.signature(each.__init__) if "__init__" in each.__dict__ else None
        if signature is None:
            continue
        found.update(dict.fromkeys(signature.parameters))
        if not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
            break
    if issubclass(cls, layers.Layer):
        found.update(dict.fromkeys(("trainable", "name", "dtype")))
    # In their order by name: releases have the same ones in another order.
    return sorted(set(found) - {"self", "args", "kwargs"})


def drawn(m, cls, *without, probability=0.35):
    """Arguments of a class: all that it must have, and some others."""
    names = names_of(cls)
    options = {name: MUST[name](m) for name in names if name in MUST and name not in without}
    for name in names:
        rows = [value for end, value in VALUES.items() if name == end or (
            end.startswith("_") and name.endswith(end)
        )]  # fmt: skip
        if rows and name not in without and name not in options and m.often(probability):
            options[name] = rows[0](m)
    if options.get("strides", 1) != 1 or options.get("kernel_size") == 1:
        options.pop("dilation_rate", None)
    if options.get("unroll") and options.get("time_major"):
        options.pop("unroll")
    if not options.get("use_bias", True):
        options.pop("bias_regularizer", None)
    if options.get("trainable") is False:
        options.pop("trainable") if m.often() else None
    return options


#: Kind of tensor -> classes of layers, and what kind they give.
CLASSES = {
    "vector": ["Dense", "Activation", "LeakyReLU", "PReLU", "ELU", "ThresholdedReLU", "ReLU"],
    "sequence": ["Conv1D", "SeparableConv1D", "LocallyConnected1D", "LSTM", "GRU", "SimpleRNN"],
    "image": ["Conv2D", "Conv2DTranspose", "SeparableConv2D", "DepthwiseConv2D"],
}  # fmt: skip
CLASSES["vector"] += ["Softmax", "Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise"]
CLASSES["vector"] += ["LayerNormalization", "ActivityRegularization", "BatchNormalization"]
CLASSES["sequence"] += ["MaxPooling1D", "AveragePooling1D", "Cropping1D", "ZeroPadding1D", "Dense"]
CLASSES["sequence"] += [
    "SpatialDropout1D",
    "Masking",
    "LayerNormalization",
    "Bidirectional",
    "UpSampling1D",
]
CLASSES["sequence"] += ["TimeDistributed", "LSTM", "GRU", "SimpleRNN", "Bidirectional"]
CLASSES["image"] += [
    "LocallyConnected2D",
    "MaxPooling2D",
    "AveragePooling2D",
    "Cropping2D",
    "PReLU",
]
CLASSES["image"] += [
    "ZeroPadding2D",
    "UpSampling2D",
    "SpatialDropout2D",
    "BatchNormalization",
    "ReLU",
]
CLASSES["video"] = [
    "Conv3D",
    "Conv3DTranspose",
    "ConvLSTM2D",
    "MaxPooling3D",
    "AveragePooling3D",
    "ZeroPadding3D",
    "UpSampling3D",
    "SpatialDropout3D",
    "LeakyReLU",
]
#: Class -> arguments that it has, but not here.
WITHOUT = {
    # A mask in the middle of a model reaches layers that take none, on 1.15 too.
    "Masking": ("mask_value",),
    "LocallyConnected1D": ("padding",),  # valid alone
    "LocallyConnected2D": ("padding",),
    "Cropping2D": ("cropping",),
    **{f"ZeroPadding{rank}D": ("padding",) for rank in (1, 2, 3)},  # there a number
    "UpSampling1D": ("size",),
    "PReLU": ("shared_axes",),
    "SeparableConv1D": ("strides",),
    "SeparableConv2D": ("strides",),  # no CPU has unequal ones
    "DepthwiseConv2D": ("dilation_rate", "filters"),
    "Conv2DTranspose": ("dilation_rate",),
    "Conv3DTranspose": ("dilation_rate",),
    # A random variance may be negative.
    "BatchNormalization": ("virtual_batch_size", "moving_variance_initializer"),
    "LayerNormalization": ("axis",),
    "Softmax": ("axis",),
}


def layer(m, kind):
    name = m.one(*CLASSES[kind])
    if name == "Bidirectional":
        inner = getattr(layers, m.one("LSTM", "GRU", "SimpleRNN"))
        options = drawn(m, inner, "go_backwards", "name", "trainable")
        options["return_sequences"] = True
        if getattr(options.get("activation"), "__name__", "") == "<lambda>":
            options.pop("activation")  # the copy for the way back knows it by its name
        merge = m.one("sum", "mul", "concat", "ave")
        m.note(f"Bidirectional {inner.__name__} {merge} {sorted(options)}")
        return layers.Bidirectional(inner(**options), merge_mode=merge)
    if name == "TimeDistributed":
        options = drawn(m, layers.Dense, "name")
        m.note(f"TimeDistributed Dense {sorted(options)}")
        return layers.TimeDistributed(layers.Dense(**options))
    cls = getattr(layers, name)
    options = drawn(m, cls, *WITHOUT.get(name, ()))
    if name == "Activation":
        options["activation"] = m.one("tanh", "relu", "softplus")
    if name in ("LSTM", "GRU", "SimpleRNN", "ConvLSTM2D"):
        options["return_sequences"] = True
    if name == "BatchNormalization" and options.get("trainable", True):
        if m.exact:
            options["trainable"] = False
        m.apart.add("batch normalization: statistics of a core's part of the batch")
    if "strides" in options and name in ("MaxPooling1D", "AveragePooling1D"):
        options["pool_size"] = 2
    m.note(f"{name} {sorted(options)}")
    return cls(**options)


def chain(m, x, kind, length, keeps=False):
    """Some layers one after the other, as ``keras_models.chain``."""
    for _ in range(length):
        shape = x.shape.as_list()[1:]
        if kind != "vector" and min(shape[:-1]) < 3:
            break
        x = layer(m, kind)(x)
        if x.shape.as_list()[-1] > 12:
            x = layers.Dense(4)(x)
    return x, kind


def optimizer(m):
    made = keras.optimizers
    cls = getattr(
        made, m.one("SGD", "RMSprop", "Adam", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl")
    )
    options = drawn(m, cls, "name", "dtype", probability=0.5)
    options.setdefault("epsilon", 1e-3) if "epsilon" in names_of(cls) else None
    if "lr" in options and "learning_rate" in options:
        options.pop("lr")
    if m.often(0.3):
        options[m.one("clipnorm", "clipvalue")] = 1e3
    m.note(f"{cls.__name__} {options}")
    return cls(**options)


def train(seed, brief=False):
    """Makes the program of a seed and trains it, as ``keras_models.train``."""
    with mock.patch.multiple(plain, chain=chain, optimizer=optimizer):
        return plain.train(seed, brief)
