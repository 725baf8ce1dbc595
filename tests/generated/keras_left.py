"""Random Keras models of what the other programs leave out.

The rows were found by a search for the names of ``tf.keras`` and their arguments that no other file of this
folder has: states and ways of recurrent layers, axes of normalizations, inputs that are no floats, functions
of ``tf.nn`` with weights, updates, losses and metrics by their classes.
"""

from __future__ import annotations

import inspect
from unittest import mock

import keras_models as plain
import numpy as np

import tpucompat.v1 as tf

keras = tf.keras
layers = keras.layers
K = keras.backend
BATCH = plain.BATCH


def function(call, name):
    return layers.Lambda(call, mask=lambda *_: None, name=name)


def fresh(m, word):
    return f"{word}_{len(m.log)}_{m.random.randint(0, 9999)}"


# Recurrent layers: states, orders, constants, cells of other modules ------------------------------------------


def kind_of_rnn(m):
    return getattr(layers, m.one("LSTM", "GRU", "SimpleRNN"))


def joined(parts):
    flat = [part if part.shape.ndims == 2 else layers.Flatten()(part) for part in parts]
    return layers.concatenate(flat) if len(flat) > 1 else flat[0]


def states(m, x):
    options = {"return_sequences": m.often(), "go_backwards": m.often(), "unroll": m.often()}
    m.note(str(options))
    return joined(kind_of_rnn(m)(m.units(), return_state=True, **options)(x))


def two_ways(m, x):
    """Both ways apart, by a layer of its own, or with their states."""
    way = m.one("apart", "own backward", "states")
    m.note(way)
    kind, units = kind_of_rnn(m), m.units()
    if way == "apart":
        return joined(layers.Bidirectional(kind(units, return_sequences=True), merge_mode=None)(x))
    if way == "own backward":
        back = kind_of_rnn(m)(units, return_sequences=True, go_backwards=True)
        return layers.Bidirectional(kind(units, return_sequences=True), backward_layer=back)(x)
    found = layers.Bidirectional(kind(units, return_state=True), merge_mode="sum")(x)
    first = layers.Bidirectional(kind(units, return_sequences=True))(x, initial_state=found[1:])
    return joined([first, found[0]])


def constant(m, x):
    class Cell(plain.OwnCell):
        def build(self, shape):
            # 1.15 passes the shapes of constants too
            shape = shape[0] if isinstance(shape, list) else shape
            super().build(shape)

        def call(self, inputs, states, constants=None):
            found, _ = super().call(inputs, states)
            found += 0.1 * K.mean(constants[0], axis=-1, keepdims=True)
            return found, [found]

    extra = layers.Dense(2)(layers.GlobalMaxPooling1D()(x))
    return layers.RNN(Cell(m.units()), return_sequences=m.often())(x, constants=extra)


def foreign_cell(m, x):
    """A cell of tf.nn.rnn_cell in a layer of Keras."""
    kind = m.one(tf.nn.rnn_cell.LSTMCell, tf.nn.rnn_cell.GRUCell, tf.nn.rnn_cell.BasicRNNCell)
    return layers.RNN(kind(m.units()), return_sequences=m.often(), unroll=m.often(0.2))(x)


def masked(m, x):
    x = layers.Masking(0.0)(x)
    way = m.one("added", "concatenated", "own", "wrapped", "dense", "unrolled")
    m.note(way)
    if way == "added":
        x = layers.add([x, layers.Dense(x.shape.as_list()[-1])(x)])
    elif way == "concatenated":
        x = layers.concatenate([x, layers.Activation("tanh")(x)])
    elif way == "own":
        x = layers.Lambda(lambda y: y * 2.0, mask=lambda _, mask: mask)(x)
    elif way == "wrapped":
        x = layers.TimeDistributed(layers.Dense(3))(x)
    elif way == "unrolled":
        return kind_of_rnn(m)(m.units(), unroll=True, return_sequences=True)(x)
    return layers.Bidirectional(layers.RNN(layers.GRUCell(2), return_sequences=m.often()))(x)


# Layers with arguments that are never given -------------------------------------------------------------------


def batch_normal(m, x):
    rank = x.shape.ndims
    options = m.one({"axis": 1}, {"axis": [1]}, {"renorm": True}, {"axis": [rank - 1]})
    if options == {"renorm": True} and m.often():
        options["renorm_clipping"] = {"rmin": 0.3, "rmax": 3.0, "dmax": 5.0}
    m.note(str(options))
    layer = layers.BatchNormalization(**options)
    if m.exact:
        return layer(x, training=False)
    m.apart.add("BatchNormalization: statistics of a core's part of the batch")
    return layer(x)


def axes(m, x):
    rank = x.shape.ndims
    rows = {
        "layer": lambda: layers.LayerNormalization(axis=list(range(1, rank)), epsilon=1e-2),
        "softmax": lambda: layers.Softmax(axis=1),
        "prelu": lambda: layers.PReLU(shared_axes=[1]) if rank > 2 else layers.PReLU(),
        "permuted": lambda: layers.Permute(tuple(range(rank - 1, 0, -1))),
        "activity": lambda: layers.ActivityRegularization(l1=0.01),
        "thresholds": lambda: layers.ReLU(max_value=0.8, negative_slope=0.1, threshold=0.1),
    }
    name = m.one(*rows)
    m.note(name)
    return rows[name]()(x)


def merged(m, x):
    rank, size = x.shape.ndims, x.shape.as_list()[-1]
    other = layers.Dense(size, activation="tanh")(x)
    rows = {
        "minimum": lambda: layers.Minimum()([x, other]),
        "along 1": lambda: layers.Concatenate(axis=1)([x, other]),
        "near": lambda: layers.Dot(axes=rank - 1, normalize=True)([other + 1.0, x + 1.0]),
        "broadcast": lambda: layers.Multiply()([x, layers.Dense(1)(x)]),
        "outer": lambda: layers.Dot(axes=(1, 1))([x, other]),
        "in function": lambda: layers.subtract([x, other]),
        "average": lambda: layers.average([x, other, x]),
    }
    names = [n for n in rows if rank == 3 or n in ("minimum", "along 1", "broadcast", "average")]
    name = m.one(*names)
    m.note(name)
    return rows[name]()


# Layers of a script's own ------------------------------------------------------------------------------------


class Moving(layers.Layer):
    """A moving average of what it sees, by the functions that scripts use for one."""

    def __init__(self, way, **options):
        super().__init__(**options)
        self.way = way

    def build(self, shape):
        self.mean = self.add_weight("mean", (int(shape[-1]),), initializer="zeros", trainable=False)
        super().build(shape)

    def call(self, inputs, training=None):
        now = K.mean(inputs, axis=list(range(inputs.shape.ndims - 1)))
        before = tf.identity(self.mean)
        with tf.control_dependencies([before]):
            if self.way == "training":
                change = tf.python.training.moving_averages.assign_moving_average(
                    self.mean, now, 0.9, zero_debias=False
                )
            else:
                change = tf.assign(self.mean, 0.9 * before + 0.1 * now)
        self.add_update(change, inputs=None if self.way == "unconditional" else inputs)
        return inputs - tf.stop_gradient(before)


class Phases(layers.Layer):
    """Another computation in training, told in one of the ways of scripts."""

    def __init__(self, way, **options):
        super().__init__(**options)
        self.way = way

    def call(self, inputs, training=None):
        if training is None:
            training = K.learning_phase()
        if self.way == "in test":
            return K.in_test_phase(inputs, inputs * 1.5, training=training)
        if self.way == "switch":
            return K.switch(training, lambda: inputs * 1.5, lambda: inputs)
        if self.way == "where":
            flag = tf.cast(training, tf.float32)
            return inputs * (1.0 + 0.5 * flag)
        return tf.cond(tf.cast(training, tf.bool), lambda: 1.5 * inputs, lambda: inputs)

    def compute_output_shape(self, shape):
        return shape


class Grouped(layers.Layer):
    """Layers in lists and dicts, built where they are called."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.blocks = [layers.Dense(units, activation="tanh") for _ in range(2)]
        self.named = {"gate": layers.Dense(units, activation="sigmoid")}
        self.count = tf.Variable(0.0, trainable=False, name="count")

    def call(self, inputs):
        x = inputs
        for block in self.blocks:
            x = block(x) * self.named["gate"](x)
        return x


class Classes(layers.Layer):
    """A loss over sampled or all classes, added by a layer with its own weights."""

    def build(self, shape):
        self.w = self.add_weight("w", (7, int(shape[0][-1])))
        self.b = self.add_weight("b", (7,), initializer="zeros")
        super().build(shape)

    def call(self, inputs):
        x, classes = inputs
        logits = tf.matmul(x, self.w, transpose_b=True) + self.b
        found = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.cast(classes[:, 0], tf.int32), logits=logits
        )
        self.add_loss(tf.reduce_mean(found), inputs=True)
        self.add_metric(found, aggregation="mean", name="own_loss")
        return x


def moving(m, x):
    way = m.one("assign", "unconditional", "training")
    m.note(way)
    if not m.exact:
        m.apart.add("Moving: means of a core's part of the batch")
        return Moving(way)(x)
    return Phases("where")(x)


def phases(m, x):
    way = m.one("in test", "switch", "where", "cond")
    m.note(way)
    return Phases(way)(x)


def grouped(m, x):
    return Grouped(x.shape.as_list()[-1])(x)


def shared(m, x):
    """One model called on two tensors, at two depths."""
    size = x.shape.as_list()[-1]
    inner = keras.Sequential(
        [
            layers.Dense(size, activation="tanh", kernel_regularizer="l2"),
            layers.LayerNormalization(epsilon=1e-2),
        ],
        name=fresh(m, "shared"),
    )
    outer = keras.Sequential([inner, layers.Dense(size)])
    return layers.add([inner(x), outer(x), inner(outer(x))])


# Functions of tf.nn and others, with weights ------------------------------------------------------------------


class Weighted(layers.Layer):
    """A function of a tensor and a weight."""

    def __init__(self, call, shape, **options):
        super().__init__(**options)
        self.function, self.weight_shape = call, shape

    def build(self, shape):
        self.w = self.add_weight("w", self.weight_shape)
        super().build(shape)

    def call(self, inputs):
        return self.function(inputs, self.w)


def weighted(m, x):
    size, nn = x.shape.as_list()[-1], tf.nn
    rows = {
        "xw_plus_b": (lambda y, w: tf.tensordot(y, w, 1) + w[0], (size, 3)),
        "sparse rows": (lambda y, w: y + nn.embedding_lookup(w, [0, 1, 0])[0], (2, size)),
        "gathered": (lambda y, w: y * tf.gather(w, tf.range(size) // 2), (size,)),
        "scattered": (
            lambda y, w: y + tf.scatter_nd([[0], [size - 1]], w, [size]),
            (2,),
        ),
        "batch_normalization": (
            lambda y, w: nn.batch_normalization(y, 0.1, 2.0, w, w, 0.1),
            (size,),
        ),
        "cumprod": (lambda y, w: y * tf.cumprod(1.0 + 0.1 * w), (size,)),
        "einsum": (lambda y, w: tf.einsum("...a,ab->...b", y, w), (size, 3)),
        "custom": (lambda y, w: clipped(y) * w, (size,)),
    }
    if x.shape.ndims == 3:
        rows["conv1d"] = (lambda y, w: nn.conv1d(y, w, 1, "SAME"), (2, size, 3))
        rows["dilated"] = (
            lambda y, w: nn.convolution(y, w, "SAME", dilation_rate=[2]),
            (2, size, 3),
        )
        rows["rnn"] = (lambda y, w: tf.scan(lambda s, z: tf.tanh(z + s * w), y[0] + 0 * y), (size,))
        rows["unstacked"] = (
            lambda y, w: tf.stack([z * w for z in tf.unstack(y, axis=1)], 1),
            (size,),
        )
    if x.shape.ndims == 4:
        rows["depthwise"] = (
            lambda y, w: nn.depthwise_conv2d(y, w, [1, 1, 1, 1], "SAME"),
            (2, 2, size, 1),
        )
        rows["atrous"] = (lambda y, w: nn.atrous_conv2d(y, w, 2, "SAME"), (2, 2, size, 2))
        rows["space"] = (lambda y, w: tf.space_to_depth(y[:, :4, :4] * w, 2), (size,))
        rows["blocks"] = (
            lambda y, w: tf.batch_to_space_nd(
                tf.space_to_batch_nd(y[:, :4, :4], [2, 2], [[0, 0], [0, 0]]) * w,
                [2, 2],
                [[0, 0], [0, 0]],
            ),
            (size,),
        )
        rows["resized"] = (
            lambda y, w: tf.image.resize_bilinear(y * w, [4, 4], align_corners=True),
            (size,),
        )
        rows["nearest"] = (
            lambda y, w: tf.image.resize_nearest_neighbor(y * w, [3, 3]),
            (size,),
        )
        rows["lrn"] = (lambda y, w: nn.local_response_normalization(y * w), (size,))
        rows["patches"] = (
            lambda y, w: tf.extract_image_patches(
                y * w, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"
            ),
            (size,),
        )
        rows["total variation"] = (
            lambda y, w: y * w + 0.01 * tf.image.total_variation(y)[:, None, None, None],
            (size,),
        )
    name = m.one(*rows)
    m.note(name)
    if name == "custom":
        m.apart.add("custom: gradients of a core's part of the batch are clipped")
    if name == "rnn":
        m.apart.add("rnn: a scan through the examples of a core's part of the batch")
    call, shape = rows[name]
    return Weighted(call, shape)(x)


@tf.custom_gradient
def clipped(x):
    return tf.minimum(x, 0.8), lambda dy: tf.clip_by_value(dy, -0.1, 0.1)


def computed(m, x):
    """Functions of tensors that other programs do not have."""
    nn = tf.nn
    rows = {
        "crelu": lambda y: nn.crelu(y),
        "top_k": lambda y: nn.top_k(y, 2, sorted=True).values,
        "sort": lambda y: tf.sort(y, axis=-1, direction="DESCENDING"),
        "argsort": lambda y: y + 0.1 * tf.cast(tf.argsort(y, axis=-1), tf.float32),
        "one_hot": lambda y: tf.concat([y, tf.one_hot(tf.argmax(y, -1), 3)], -1),
        "mask": lambda y: tf.where(y > 0.3, y, tf.zeros_like(y)) + tf.where_v2(y > 0, 0.1, 0.2),
        "band": lambda y: tf.matrix_band_part(y[..., None] * y[..., None, :], 0, -1)[..., 0],
        "norms": lambda y: y / (1.0 + tf.norm(y, axis=-1, keepdims=True)),
        "clip_by_norm": lambda y: tf.clip_by_norm(y, 0.9, axes=[-1]),
        "moments": lambda y: y - nn.moments(y, [-1], keep_dims=True)[0],
        "weighted moments": lambda y: y - nn.weighted_moments(y, [-1], 1.0, keep_dims=True)[0],
        "logsumexp": lambda y: y - tf.reduce_logsumexp(y, -1, keepdims=True),
        "reverse": lambda y: tf.reverse(y, [-1]) + tf.reverse_v2(y, [1]),
        "roll": lambda y: tf.roll(y, 1, -1),
        "pad": lambda y: tf.pad(y, [[0, 0]] * (y.shape.ndims - 1) + [[1, 1]], "SYMMETRIC"),
        "mirror": lambda y: tf.pad(y, [[0, 0]] * (y.shape.ndims - 1) + [[1, 0]], "REFLECT"),
        "tile": lambda y: tf.tile(y, [1] * (y.shape.ndims - 1) + [2]),
        "strided": lambda y: y[..., ::2] + y[..., :1],
        "complex": lambda y: tf.abs(tf.complex(y, y * 0.5) + 1.0),
        "fft": lambda y: tf.real(tf.spectral.rfft(y)),
        "bits": lambda y: (
            y * tf.cast(tf.bitwise.bitwise_and(tf.cast(y * 8, tf.int32), 3), tf.float32)
        ),
        "checked": lambda y: tf.check_numerics(y, "bad") + tf.stop_gradient(y),
        "asserted": lambda y: asserted(y),
        "double": lambda y: tf.cast(tf.cast(y, tf.float64) * 1.5, tf.float32),
        "half": lambda y: tf.cast(tf.cast(tf.round(y * 4) / 4, tf.bfloat16), tf.float32) + y,
        "case": lambda y: tf.case(
            [(tf.reduce_all(y[0] > 9.0), lambda: y * 2.0)], default=lambda: y + 0.1
        ),
        "nested cond": lambda y: tf.cond(
            tf.constant(True), lambda: tf.cond(tf.shape(y)[0] > 0, lambda: y, lambda: -y), lambda: y
        ),
        "segments": lambda y: tf.transpose(
            tf.unsorted_segment_sum(tf.transpose(y), [0, 1] + [0] * (y.shape.as_list()[-1] - 2), 2)
        ),
        "gather_nd": lambda y: y + tf.batch_gather(y, tf.zeros_like(y, tf.int32)),
        "confusion": lambda y: (
            y + 0.1 * tf.cast(tf.shape(tf.confusion_matrix([0, 1], [1, 1]))[0], "float32")
        ),
        "meshgrid": lambda y: y + 0.1 * tf.meshgrid(tf.range(3.0), tf.range(2.0))[0][0, 1],
        "histogram": lambda y: (
            y + 0.001 * tf.cast(tf.histogram_fixed_width(y[0], [0.0, 1.0], 3)[0] * 0, "float32")
        ),
        "variables": lambda y: (
            y + 0.0 * tf.cast(tf.rank(y), tf.float32) + tf.lgamma(tf.abs(y) + 1.0)
        ),
        "named": lambda y: tf.identity_n([y, y])[1] + tf.add_n([y, y]) + tf.accumulate_n([y, y]),
        "igamma": lambda y: tf.math.erf(y) + tf.digamma(1.0 + tf.abs(y)),
        "ordered": lambda y: after(y),
        "recomputed": lambda y: tf.contrib.layers.recompute_grad(lambda z: tf.tanh(z) * 2.0)(y),
    }
    name = m.one(*rows)
    if (name == "segments" and x.shape.ndims > 2) or (
        name == "mirror" and x.shape.as_list()[-1] < 2
    ):
        name = "roll"
    m.note(name)
    return function(rows[name], fresh(m, "computed"))(x)


def asserted(y):
    with tf.control_dependencies([tf.Assert(tf.reduce_all(y > -1e9), [y]), tf.assert_less(y, 1e9)]):
        return tf.identity(y)


def after(y):
    made = y * 2.0
    with tf.control_dependencies([made]):
        return tf.tuple([y + 1.0, made])[0]


ANY = [batch_normal, axes, merged, moving, phases, grouped, shared, weighted, weighted]
ANY += [computed, computed, computed]
STEPS = [states, two_ways, constant, foreign_cell, masked]
TABLE = {2: ANY, 3: [*ANY, *STEPS, *STEPS], 4: ANY}


# Inputs ------------------------------------------------------------------------------------------------------


def new_input(m, index):
    """An input of a type that is no float32, or of one; its data; a tensor of floats."""
    numbers, n, name = m.numbers, m.examples, f"given_{index}"
    way = m.one("words", "pages", "bytes", "flags", "long", "double", "vector", "steps", "picture")
    m.note(f"{way}:")
    cast = function(lambda x: tf.cast(x, tf.float32) * 0.25, fresh(m, "cast"))
    if way == "words":
        options = m.one(
            {}, {"mask_zero": True}, {"weights": [numbers.rand(9, 4)], "trainable": False}
        )
        data = numbers.randint(1, 9, (n, 5)).astype(m.one("int32", "int64", "uint8"))
        given = layers.Input((5,), name=name, dtype=data.dtype.name)
        x = function(lambda y: tf.cast(y, tf.int32), fresh(m, "ids"))(given)
        return given, data, layers.Embedding(9, 4, **options)(x)
    if way == "pages":  # words of sentences
        data = numbers.randint(0, 9, (n, 3, 4))
        given = layers.Input((3, 4), name=name, dtype="int32")
        x = layers.Embedding(9, 3)(given)
        inner = m.one(layers.LSTM(3), layers.GlobalAveragePooling1D(), layers.Flatten())
        return given, data, layers.TimeDistributed(inner)(x)
    shapes = {
        "bytes": (6, 6, 2),
        "picture": (6, 6, 2),
        "steps": (5, 3),
        "flags": (5,),
        "long": (4,),
    }
    shape = shapes.get(way, (5,))
    data = numbers.rand(n, *shape).astype("float32")
    kind = {"bytes": "uint8", "flags": "bool", "long": "int64", "double": "float64"}.get(way)
    if kind:
        data = ((data > 0.5) if way == "flags" else data * 7 if kind != "float64" else data).astype(
            kind
        )
        given = layers.Input(shape, name=name, dtype=kind)
        return given, data, cast(given)
    if way == "steps":
        data[::2, -1] = 0.0
    given = layers.Input(shape, name=name) if m.often(0.7) else layers.Input(shape)
    return given, data, given


# Outputs: losses and metrics by their classes -----------------------------------------------------------------


#: Kind of output -> losses, with the arguments that they are made of.
LOSSES = {
    "classes": ["CategoricalCrossentropy", "KLDivergence", "CategoricalHinge", "CosineSimilarity"],
    "sparse": ["SparseCategoricalCrossentropy"],
    "binary": ["BinaryCrossentropy", "Hinge", "SquaredHinge"],
    "numbers": [
        *(
            "MeanSquaredError",
            "MeanAbsoluteError",
            "MeanSquaredLogarithmicError",
            "Huber",
            "LogCosh",
        ),
        *("MeanAbsolutePercentageError", "Poisson"),
    ],
}
METRICS = {
    "classes": [
        *(
            "CategoricalAccuracy",
            "TopKCategoricalAccuracy",
            "CategoricalCrossentropy",
            "CategoricalHinge",
        ),
        *("KLDivergence", "CosineSimilarity", "Precision", "Recall"),
    ],
    "sparse": [
        *(
            "SparseCategoricalAccuracy",
            "SparseTopKCategoricalAccuracy",
            "SparseCategoricalCrossentropy",
        ),
    ],
    "binary": [
        *("BinaryAccuracy", "BinaryCrossentropy", "AUC", "Precision", "Recall", "TruePositives"),
        *("TrueNegatives", "FalsePositives", "FalseNegatives", "Hinge", "SquaredHinge"),
        *("SensitivityAtSpecificity", "SpecificityAtSensitivity"),
    ],
    "numbers": [
        *(
            "MeanSquaredError",
            "MeanAbsoluteError",
            "MeanAbsolutePercentageError",
            "RootMeanSquaredError",
        ),
        *("MeanSquaredLogarithmicError", "LogCoshError", "Poisson", "MeanRelativeError"),
    ],
}


def made(m, module, which, **more):
    """A class of a module, with some of its own arguments."""
    known = inspect.signature(getattr(module, which).__init__).parameters
    rows = {
        "from_logits": lambda: False,
        "label_smoothing": lambda: 0.1,
        "delta": lambda: 0.4,
        "reduction": lambda: m.one("sum_over_batch_size", "auto", "sum"),
        "num_thresholds": lambda: 20,
        "curve": lambda: m.one("ROC", "PR"),
        "summation_method": lambda: m.one("interpolation", "minoring", "majoring"),
        "thresholds": lambda: m.one(0.4, [0.3, 0.6]),
        "top_k": lambda: 2,
        "class_id": lambda: 1,
        "k": lambda: 2,
        "threshold": lambda: 0.4,
    }
    options = {key: row() for key, row in rows.items() if key in known and m.often(0.4)}
    if more.pop("single", False):  # one output has no classes
        options = {k: v for k, v in options.items() if k not in ("top_k", "class_id")}
    if ("thresholds" in options and "top_k" in options) or which == "AUC":
        options.pop("thresholds", None)
    required = {"specificity": 0.5, "sensitivity": 0.5}
    options.update({key: value for key, value in required.items() if key in known})
    if which == "MeanRelativeError":
        options["normalizer"] = [0.7, 0.9]
    if options.get("reduction") == "sum":
        m.note("sum")
    m.note(f"{which}({options})")
    return getattr(module, which)(**options, **more)


def new_output(m, x, index):
    name = f"out_{index}"
    kind = m.one(*LOSSES)
    final, size = {
        "classes": ("softmax", 3),
        "sparse": ("softmax", 3),
        "binary": ("sigmoid", 1),
        "numbers": ("softplus", 2),
    }[kind]
    x = layers.Dense(size, activation=final, name=name)(x)
    numbers, n = m.numbers, m.examples
    labels = {
        "classes": lambda: np.eye(3)[numbers.randint(0, 3, n)],
        "sparse": lambda: numbers.randint(0, 3, (n, 1)),
        "binary": lambda: numbers.randint(0, 2, (n, 1)),
        "numbers": lambda: numbers.rand(n, 2) + 0.2,
    }[kind]().astype("float32" if kind == "numbers" else m.one("float32", "int32", "float64"))
    loss = made(m, keras.losses, m.one(*LOSSES[kind]))
    metrics = [
        made(m, keras.metrics, each, name=f"{each}_{index}", single=size == 1)
        for each in m.random.sample(METRICS[kind], m.one(0, 1, 1))
    ]
    return x, labels, loss, metrics


# Models and training ------------------------------------------------------------------------------------------


def build(m):
    m.examples = m.one(32, 48, 40)
    given, data, ways = [], [], []
    for index in range(m.one(1, 1, 2)):
        one, numbers, x = new_input(m, index)
        for _ in range(m.random.randint(1, 3)):
            row = m.one(*TABLE[x.shape.ndims])
            m.note(row.__name__)
            found = row(m, x)
            if found.shape.ndims in TABLE and np.prod(found.shape.as_list()[1:]) < 300:
                x = found
            if m.often(0.4):
                x = layers.Dense(x.shape.as_list()[-1], activation="tanh")(x)
        given.append(one)
        data.append(numbers)
        ways.append(layers.Flatten()(bare(x)) if x.shape.ndims > 2 else x)
    x = ways[0] if len(ways) == 1 else layers.concatenate(ways)
    if m.often(0.15):
        m.note("a loss in a layer")
        classes = layers.Input((1,), name="seen", dtype="int32")
        given.append(classes)
        data.append(m.numbers.randint(0, 7, (m.examples, 1)))
        x = Classes()([x, classes])
    m.hidden = None
    outputs = [new_output(m, x, index) for index in range(m.one(1, 1, 2))]
    return keras.Model(given, [output[0] for output in outputs]), data, outputs


def bare(x):
    return layers.Lambda(lambda y: y, mask=lambda *_: None)(x)


def optimizer(m):
    found, train, opt = keras.optimizers, tf.train, tf.contrib.opt
    rows = {
        "Adam": lambda: found.Adam(0.01, epsilon=1e-2),
        "SGD": lambda: found.SGD(0.05, 0.9),
        "lars": lambda: opt.LARSOptimizer(0.05, eeta=0.1),
        "lazy": lambda: opt.LazyAdamOptimizer(0.01, epsilon=1e-2),
        "tensor": lambda: train.MomentumOptimizer(lambda: 0.02, 0.5),
        "cosine": lambda: found.SGD(keras.experimental.CosineDecay(0.05, 4)),
        "serialized": lambda: found.deserialize({"class_name": "SGD", "config": {"lr": 0.03}}),
    }
    name = m.one(*rows)
    m.note(f"optimizer {name}")
    if name in ("lars", "lazy") and {"words:", "pages:"} & set(m.log):
        m.apart.add(f"{name}: gradients of an Embedding are dense on cores")
    return rows[name]()


def fit(m, model, data, labels, several, brief):
    x, y = plain.unlisted(data), plain.unlisted(labels)
    n, pieces = m.examples, list(plain.batches(data, labels, BATCH))
    weights = np.linspace(0.5, 1.5, n).astype("float32")
    options = {"verbose": 0, "shuffle": False}
    given = dict(zip(model.input_names, data))

    def weighted_pieces():
        while True:
            for i, (a, b) in enumerate(pieces):
                w = weights[i * BATCH : (i + 1) * BATCH]
                yield a, b, [w] * len(labels) if several else w

    def iterated():
        made = (tuple(data) if data[1:] else data[0], tuple(labels) if several else labels[0])
        return tf.data.Dataset.from_tensor_slices(made).repeat().batch(BATCH, drop_remainder=True)

    rows = {
        "steps of arrays": lambda: model.fit(
            x, y, batch_size=BATCH, epochs=3, initial_epoch=1, **options
        ),
        "split": lambda: model.fit(
            x, y, BATCH, validation_split=0.0 if n == 40 else 0.5, **options
        ),
        "by name": lambda: model.fit(given, y, BATCH, **options),
        "weighted generator": lambda: model.fit_generator(weighted_pieces(), 2, 2, verbose=0),
        "generator of fit": lambda: model.fit(weighted_pieces(), steps_per_epoch=2, verbose=0),
        "validated generator": lambda: model.fit_generator(
            weighted_pieces(),
            2,
            2,
            verbose=0,
            validation_data=None if brief else weighted_pieces(),
            validation_steps=None if brief else 1,
            workers=2,
            max_queue_size=2,
        ),
        "Dataset": lambda: model.fit(iterated(), epochs=2, steps_per_epoch=2, verbose=0),
        "iterator": lambda: model.fit(
            iterated().make_one_shot_iterator(), epochs=2, steps_per_epoch=2, verbose=0
        ),
        "batch": lambda: model.fit(x, y, BATCH, 1, verbose=0, shuffle=False),
        "smaller": lambda: model.fit(x, y, 8, 1, **options),
        "validated": lambda: model.fit(
            x,
            y,
            BATCH,
            2,
            validation_data=None
            if brief
            else (x, y, [weights] * len(labels) if several else weights),
            sample_weight=[weights] * len(labels) if several else weights,
            **options,
        ),
    }
    name = m.one(*rows, "by hand")
    m.note(f"trained by {name}")
    if name == "smaller" and any(np.asarray(each).dtype.kind == "i" for each in data):
        m.apart.add("Embedding: momentum moves rows that a batch lacks, over cores alone")
    if name == "by hand":
        return [model.train_on_batch(*piece) for piece in pieces * 2]
    return rows[name]().history


def train(seed, brief=False):
    """Makes the model of a seed and trains it, as ``keras_models.train``."""
    others = {"build": build, "optimizer": optimizer, "fit": fit}
    with mock.patch.multiple(plain, **others):
        return plain.train(seed, brief)
