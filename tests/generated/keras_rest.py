"""Random Keras models out of what ``keras_models.py`` and ``keras_scripts.py`` do not draw.

The programs are those of ``keras_models.py``, drawn from other tables: the remaining layers, losses, metrics,
initializers, constraints, regularizers and callbacks of tf.keras 1.15, and functions of the backend and of
TensorFlow in Lambda layers. ``tests/unit/test_generated_names.py`` fails if a public name is in no table.
"""

from __future__ import annotations

import shutil
import tempfile
from unittest import mock

import keras_models as plain
import numpy as np

import tpucompat.v1 as tf

keras = tf.keras
layers = keras.layers
K = keras.backend


# Parts of a script's own ----------------------------------------------------------------------------


class Smooth(keras.regularizers.Regularizer):
    def __call__(self, x):
        return 0.01 * K.sum(K.sqrt(K.square(x) + 1e-3))

    def get_config(self):
        return {}


class Bounded(keras.constraints.Constraint):
    def __call__(self, w):
        return K.clip(w, -0.6, 0.6)


class Steps(keras.initializers.Initializer):
    def __call__(self, shape, dtype=None, partition_info=None):
        size = int(np.prod(shape))
        return K.reshape(K.constant(np.linspace(-0.5, 0.5, size), dtype=dtype), shape)

    def get_config(self):
        return {}


class Rate(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return 0.05 / (1.0 + tf.cast(step, tf.float32))

    def get_config(self):
        return {}


class MinimalCell(layers.AbstractRNNCell):
    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units

    @property
    def state_size(self):
        return self.units

    @property
    def output_size(self):
        return self.units

    def build(self, input_shape):
        size = int(input_shape[-1])
        self.kernel = self.add_weight("kernel", (size, 2 * self.units), regularizer="l2")
        self.recurrent = self.add_weight("recurrent", (self.units, 2 * self.units))
        super().build(input_shape)

    def call(self, inputs, states):
        both = K.dot(inputs, self.kernel) + K.dot(states[0], self.recurrent)
        gate, new = tf.split(both, 2, axis=1)
        gate = K.hard_sigmoid(gate)
        state = gate * states[0] + (1.0 - gate) * K.tanh(new)
        return state, [state]

    def get_config(self):
        return {"units": self.units, **super().get_config()}


class Watched(layers.Layer):
    """Adds metrics that are objects where it is called."""

    def __init__(self, **options):
        super().__init__(**options)
        self.seen = [keras.metrics.Sum(name="sum"), keras.metrics.Mean(name="mean")]

    def call(self, inputs):
        for metric in self.seen:
            self.add_metric(metric(inputs), name=f"{self.name}_{metric.name}")
        return inputs


class Normed(layers.Wrapper):
    """Scales what a layer gives, as scripts wrapped layers."""

    def build(self, input_shape):
        self.input_spec = layers.InputSpec(ndim=len(input_shape))
        if not self.layer.built:
            self.layer.build(input_shape)
        self.g = self.add_weight("scale_g", (), initializer="ones")
        super().build()

    def call(self, inputs):
        return self.g * self.layer.call(inputs)

    def compute_output_shape(self, input_shape):
        return self.layer.compute_output_shape(input_shape)


# Options --------------------------------------------------------------------------------------------


def activation(m):
    return m.one(
        None, "linear", "exponential", "softmax", "softsign", tf.nn.swish, tf.nn.leaky_relu, K.sin
    )


def initializer(m):
    found = keras.initializers
    return m.one(
        "normal",
        "glorot_normal",
        "he_uniform",
        "lecun_normal",
        "random_uniform",
        "truncated_normal",
        found.RandomNormal(0.0, 0.2),
        found.RandomUniform(-0.4, 0.4, seed=m.seed),
        found.TruncatedNormal(stddev=0.3),
        found.VarianceScaling(2.0, "fan_out", "uniform"),
        found.Orthogonal(0.9),
        found.Ones(),
        found.Zeros(),
        Steps(),
    )


def regularizer(m):
    return m.one(keras.regularizers.L1L2(0.01, 0.01), "l1", Smooth())


def constraint(m):
    found = keras.constraints
    return m.one(
        found.MaxNorm(0.8, axis=0),
        found.MinMaxNorm(0.2, 0.9),
        found.NonNeg(),
        found.UnitNorm(axis=0),
        Bounded(),
    )


def vector_constraint(m):
    """A constraint of a bias, which does not divide by its norm.

    The gradient of a bias may be zero (before a mean is taken away), and the bias rounding alone: a norm of
    one would make a number of that.
    """
    found = constraint(m)
    divides = isinstance(found, (keras.constraints.MinMaxNorm, keras.constraints.UnitNorm))
    return Bounded() if divides else found


def kernel_options(m, constraints=True):
    options = {"activation": activation(m), "use_bias": m.often(0.8)}
    options["kernel_initializer"] = initializer(m)
    if options["use_bias"] and m.often(0.3):
        options["bias_initializer"] = m.one("ones", keras.initializers.Constant(0.2))
    for name in ("kernel_regularizer", "bias_regularizer", "activity_regularizer"):
        if (name[0] != "b" or options["use_bias"]) and m.often(0.15):
            options[name] = regularizer(m)
    for name in ("kernel_constraint", "bias_constraint"):
        if constraints and (name[0] != "b" or options["use_bias"]) and m.often(0.2):
            options[name] = (vector_constraint if name[0] == "b" else constraint)(m)
    return options


# Layers ---------------------------------------------------------------------------------------------


def dense(m, x):
    options = kernel_options(m)
    size = x.shape.as_list()[-1]
    if m.often(0.2):
        options["kernel_initializer"] = keras.initializers.Identity(0.7)
        m.note("Dense(Identity)")
        return layers.Dense(size, **options)
    m.note(f"Dense({options})")
    return layers.Dense(m.units(), **options)


def wrapped(m, x):
    m.note("a Wrapper")
    return Normed(layers.Dense(m.units(), activation="tanh"))


def watched(m, x):
    m.note("add_metric of objects")
    return Watched()


def pair(m, x):
    kind = m.one("Minimum", "Subtract", "Dot")
    first, second = layers.Dense(3, activation="tanh"), layers.Dense(3)
    m.note(f"pair {kind}")
    if kind == "Dot" and x.shape.ndims == 3:
        return lambda y: layers.Dot((2, 2))([first(y), second(y)])
    kind = "Minimum" if kind == "Dot" else kind
    return lambda y: getattr(layers, kind)()([first(y), second(y)])


FUNCTIONS = {
    "any": {
        "K.cos": lambda x: K.cos(x),
        "K.cumprod": lambda x: K.cumprod(0.5 + x, axis=-1),
        "K.greater": lambda x: x * K.cast(K.greater(x, 0.2), "float32"),
        "K.greater_equal": lambda x: x - 0.1 * K.cast(K.greater_equal(x, 0.3), "float32"),
        "K.less": lambda x: x * K.cast(K.less(x, 0.9), "float32"),
        "K.less_equal": lambda x: x * K.cast(K.less_equal(x, 0.8), "float32"),
        "K.not_equal": lambda x: x * K.cast(K.not_equal(x, 0.0), "float32"),
        "K.sign": lambda x: x + 0.1 * K.sign(x - 0.3),
        "K.std": lambda x: x / (0.5 + K.std(x, axis=-1, keepdims=True)),
        "K.var": lambda x: x - K.var(x, axis=-1, keepdims=True),
        "K.switch": lambda x: K.switch(K.greater(x, 0.4), x, 0.5 * x),
        "K.switch of a number": lambda x: K.switch(
            K.constant(1.0) > 0.5, lambda: x * 2.0, lambda: x
        ),
        "K.in_test_phase": lambda x: K.in_test_phase(x * 0.5, x),
        "K.tile": lambda x: K.tile(x, [1] * (x.shape.ndims - 1) + [2]),
        "K.repeat_elements": lambda x: K.repeat_elements(x, 2, axis=-1),
        # On 1.15, too, its result has no size that a Dense layer could be built from.
        "K.batch_flatten": lambda x: K.reshape(
            K.batch_flatten(x), (-1, int(np.prod(x.shape.as_list()[1:])))
        ),
        "K.logsumexp": lambda x: x - K.logsumexp(x, axis=-1, keepdims=True),
        "K.foldr": lambda x: (
            x * (1.0 + 0.0 * K.foldr(lambda a, row: a + K.sum(row), x, initializer=K.constant(0.0)))
        ),
        "K.stop_gradient": lambda x: x + K.stop_gradient(K.exp(-x)),
        "K.round": lambda x: x + K.stop_gradient(K.round(4.0 * x + 0.01) / 4.0 - x),
        "crelu": lambda x: tf.nn.crelu(x - 0.3),
        "moments": lambda x: x - tf.nn.moments(x, [-1], keep_dims=True)[0],
        "log_softmax": lambda x: tf.nn.log_softmax(x),
        "erf": lambda x: tf.erf(x) + tf.lgamma(x + 3.0) + tf.digamma(x + 2.0),
        "top_k": lambda x: tf.nn.top_k(x, k=2)[0],
        "sort": lambda x: tf.sort(x, axis=-1, direction="DESCENDING"),
        "argsort": lambda x: x + 0.1 * tf.cast(tf.argsort(x, axis=-1), tf.float32),
        "roll": lambda x: x + 0.5 * tf.roll(x, shift=1, axis=-1),
        "norm": lambda x: x / (0.5 + tf.norm(x, axis=-1, keepdims=True)),
        "pad": lambda x: tf.pad(x, [[0, 0]] * (x.shape.ndims - 1) + [[1, 1]], "SYMMETRIC"),
        "one_hot": lambda x: x + tf.one_hot(tf.argmax(x, -1), x.shape.as_list()[-1]),
        "gather_nd": lambda x: (
            x
            + tf.expand_dims(
                tf.gather_nd(
                    tf.transpose(x, [x.shape.ndims - 1, *range(x.shape.ndims - 1)]), [[0]]
                )[0],
                -1,
            )
        ),
        "case": lambda x: tf.case(
            [(tf.shape(x)[0] > 100, lambda: x), (tf.shape(x)[0] > 0, lambda: 0.7 * x)],
            default=lambda: -x,
        ),
        "mod": lambda x: tf.floormod(x + 0.05, 0.9),
        "polyval": lambda x: tf.math.polyval([0.5, -1.0, 0.2], x),
        "clip_by_norm": lambda x: tf.clip_by_norm(x, 0.7, axes=[-1]),
        "segment_sum": lambda x: tf.transpose(
            tf.math.unsorted_segment_sum(
                tf.transpose(x, [x.shape.ndims - 1, *range(x.shape.ndims - 1)]),
                np.arange(x.shape.as_list()[-1]) % 2,
                2,
            ),
            [*range(1, x.shape.ndims), 0],
        ),
        "scatter_nd": lambda x: x + tf.scatter_nd([[0]], [0.3], [x.shape.as_list()[-1]]),
        "fake_quant": lambda x: tf.quantization.fake_quant_with_min_max_args(x, -4.0, 4.0),
    },
    "sequence": {
        "K.permute_dimensions": lambda x: K.permute_dimensions(x, (0, 2, 1)),
        "K.temporal_padding": lambda x: K.temporal_padding(x, (1, 0)),
        "K.batch_dot": lambda x: K.batch_dot(x, x, axes=(2, 2)),
        "K.rnn": lambda x: K.rnn(
            lambda y, states: (K.tanh(y + states[0]), [K.tanh(y + states[0])]),
            x,
            [K.zeros_like(x[:, 0])],
        )[1],
        "einsum": lambda x: tf.einsum("bij,bkj->bik", x, x),
        "reverse_sequence": lambda x: tf.reverse_sequence(
            x, tf.fill([tf.shape(x)[0]], 2), seq_axis=1
        ),
        "sequence_mask": lambda x: (
            x
            * tf.expand_dims(
                tf.sequence_mask(tf.fill([tf.shape(x)[0]], 2), x.shape.as_list()[1], tf.float32), -1
            )
        ),
        "band_part": lambda x: tf.matmul(
            tf.matrix_band_part(tf.matmul(x, x, transpose_b=True), -1, 0), x
        ),
        "scan": lambda x: tf.transpose(
            tf.scan(lambda a, y: 0.5 * a + tf.sin(y), tf.transpose(x, [1, 0, 2])), [1, 0, 2]
        ),
        "TensorArray": lambda x: tf.transpose(
            tf.TensorArray(tf.float32, x.shape.as_list()[1])
            .unstack(tf.transpose(x, [1, 0, 2]))
            .stack(),
            [1, 0, 2],
        ),
        "strided": lambda x: x[:, ::2, :],
    },
    "image": {
        "K.resize_images": lambda x: K.resize_images(x, 2, 1, "channels_last"),
        "K.spatial_2d_padding": lambda x: K.spatial_2d_padding(x, ((1, 0), (0, 1))),
        "K.pool2d": lambda x: K.pool2d(x, (2, 2), padding="same", pool_mode="avg"),
        "K.conv2d": lambda x: K.conv2d(x, K.ones((2, 2, x.shape.as_list()[-1], 2)) * 0.1),
        "K.depthwise_conv2d": lambda x: K.depthwise_conv2d(
            x, K.ones((2, 2, x.shape.as_list()[-1], 1)) * 0.2, padding="same"
        ),
        "lrn": lambda x: tf.nn.local_response_normalization(x, depth_radius=1),
        "space_to_depth": lambda x: tf.space_to_depth(x[:, :4, :4], 2),
        "depth_to_space": lambda x: tf.depth_to_space(tf.concat([x] * 4, -1), 2),
        "max_pool": lambda x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
        "resize_nearest": lambda x: tf.image.resize_nearest_neighbor(x, (5, 5)),
        "adjust": lambda x: tf.image.per_image_standardization(x),
        "transposed": lambda x: tf.nn.conv2d_transpose(
            x,
            K.ones((2, 2, 1, x.shape.as_list()[-1])) * 0.1,
            tf.stack([tf.shape(x)[0], x.shape.as_list()[1], x.shape.as_list()[2], 1]),
            1,
        ),
    },
}


def computed(m, x):
    kind = plain.kind_of(x)
    rows = {**FUNCTIONS["any"], **FUNCTIONS.get(kind, {})}
    if x.shape.as_list()[-1] < 2 or np.prod(x.shape.as_list()[1:]) > 100:
        rows = {k: v for k, v in rows.items() if k not in ("top_k", "K.tile", "K.repeat_elements")}
    name = m.one(*rows)
    m.note(f"Lambda({name})")
    function = rows[name]
    plainly = plain.layers.Lambda(lambda y: y, mask=lambda *_: None)  # a mask ends here
    # Not lambda_N, which Keras gives to the layers without a name.
    layer = layers.Lambda(function, name=f"computed_{len(m.log)}")
    return lambda y: layer(plainly(y))


def recurrent(m, x):
    m.note("RNN(AbstractRNNCell)")
    many = m.often()
    layer = layers.RNN(MinimalCell(m.units()), return_sequences=many, go_backwards=m.often(0.2))
    return layer, ("sequence" if many else "vector")


def attended(m, x):
    kind = m.one("AdditiveAttention", "Attention")
    options = {"use_scale": m.often()}
    if kind == "Attention":
        options["causal"] = m.often()
    m.note(f"{kind}({options})")
    query = layers.Dense(3)
    return lambda y: getattr(layers, kind)(**options)([query(y), query(y)])


def cropped1(m, x):
    m.note("Cropping1D")
    return layers.Cropping1D((1, 0))


def convolved1(m, x):
    m.note("Conv1D")
    return layers.Conv1D(m.units(), 2, padding=m.one("same", "causal"), **kernel_options(m))


def convolved2(m, x):
    kind = m.one("Conv2D", "Conv2DTranspose", "strided")
    options = kernel_options(m)
    m.note(f"{kind}({options})")
    if kind == "Conv2D":
        if m.often(0.3):
            options["kernel_constraint"] = keras.constraints.RadialConstraint()
        return layers.Conv2D(m.units(), 3, padding="same", **options)
    if kind == "strided":
        return layers.Conv2D(m.units(), (2, 1), strides=(2, 1), padding="same", **options)
    return layers.Conv2DTranspose(2, 2, strides=(1, 2), padding="same", **options)


def pooled2(m, x):
    m.note("pooling")
    kind = m.one(layers.MaxPooling2D, layers.AveragePooling2D)
    return kind((2, 1), strides=(1, 1), padding="valid")


def volumes(m, x):
    kind = m.one(
        "Conv3D",
        "Conv3DTranspose",
        "AveragePooling3D",
        "MaxPooling3D",
        "UpSampling3D",
        "ZeroPadding3D",
        "Cropping3D",
    )
    m.note(kind)
    make = getattr(layers, kind)
    if kind.startswith("Conv"):
        return make(2, 2, padding="same", **kernel_options(m, constraints=False))
    if kind.endswith("Pooling3D"):
        return make(2, strides=1, padding=m.one("same", "valid"))
    if kind == "Cropping3D":
        return make(((0, 1), (1, 0), (0, 1)))
    return make((1, 2, 1)) if kind == "UpSampling3D" else make((1, 0, 1))


def pooled_volumes(m, x):
    kind = m.one("GlobalAveragePooling3D", "GlobalMaxPooling3D")
    m.note(kind)
    return getattr(layers, kind)()


def dropped_volumes(m, x):
    m.note("SpatialDropout3D")
    return layers.SpatialDropout3D(m.rate("SpatialDropout3D"))


def normalized(m, x):
    m.note("BatchNormalization")
    options = {
        "gamma_regularizer": "l2",
        "beta_constraint": vector_constraint(m),
        "axis": m.one(-1, 1),
    }
    options.update(fused=False, moving_mean_initializer="ones", epsilon=0.01)
    layer = layers.BatchNormalization(**options)
    if m.exact:
        return lambda y: layer(y, training=False)
    m.apart.add("BatchNormalization: statistics of a core's part of the batch")
    return layer


def layer_normalized(m, x):
    m.note("LayerNormalization of two axes")
    axes = -1 if x.shape.ndims == 2 else [1, x.shape.ndims - 1]
    return layers.LayerNormalization(axis=axes, epsilon=0.01, center=m.often(), scale=m.often())


ANY = [(dense, None), (computed, None), (computed, None), (computed, None), (pair, None)]
ANY = [*ANY, (normalized, None), (layer_normalized, None), (watched, None)]
TABLE = {
    "vector": [*ANY, (wrapped, None), (plain.repeated, "sequence"), (plain.counted, None)],
    "sequence": [
        *ANY,
        (recurrent, None),
        (recurrent, None),
        (attended, None),
        (cropped1, None),
        (convolved1, None),
        (plain.steps, None),
        (plain.pooled_away, "vector"),
    ],
    "image": [
        *ANY,
        (convolved2, None),
        (convolved2, None),
        (pooled2, None),
        (plain.pooled_away, "vector"),
    ],
    "video": [
        (volumes, None),
        (volumes, None),
        (volumes, None),
        (dropped_volumes, None),
        (pooled_volumes, "vector"),
        (plain.flat_pictures, "sequence"),
    ],
}


def fits(make, x):
    sizes = x.shape.as_list()[1:]
    if None in sizes:
        return False
    if len(sizes) > 1 and make in (cropped1, convolved1, convolved2, pooled2, volumes, computed):
        return min(sizes[:-1]) >= 4 - (make is volumes) and np.prod(sizes) < plain.LARGEST
    return plain.fits(make, x)


def chain(m, x, kind, length, keeps=False):
    """Random layers; a Lambda may change the kind."""
    for _ in range(length):
        rows = [row for row in TABLE[kind] if fits(row[0], x)]
        if not rows:
            break
        x, _ = plain.apply(m, x, m.one(*rows))
        kind = plain.kind_of(x)
    return x, kind


# Inputs, outputs ------------------------------------------------------------------------------------


def columns(m):
    """Features of a table by feature columns."""
    m.note("DenseFeatures")
    feature = tf.feature_column
    given = {
        "age": layers.Input((1,), name="age"),
        "size": layers.Input((2,), name="size"),
        "kind": layers.Input((1,), name="kind", dtype="int32"),
    }
    data = [
        m.numbers.rand(m.examples, 1).astype("float32"),
        m.numbers.rand(m.examples, 2).astype("float32"),
        np.concatenate([m.numbers.permutation(8) for _ in range(m.examples // 8)])[:, None],
    ]
    data[2] = data[2].astype("int32")
    age, kind = feature.numeric_column("age"), feature.categorical_column_with_identity("kind", 8)
    chosen = [
        feature.numeric_column("size", shape=(2,)),
        m.one(age, feature.bucketized_column(age, [0.2, 0.5, 0.8])),
        # No embedding_column: it reshapes sparse tensors in the step, which a TPU refuses (TPU387).
        m.one(feature.indicator_column(kind), feature.numeric_column("kind", dtype=tf.int32)),
    ]
    return given, data, layers.DenseFeatures(chosen)(given)


def build(m):
    m.examples = m.one(32, 48)
    if m.often(0.1):
        given, data, x = columns(m)
    else:
        inputs, numbers, x = plain.new_input(m, 0)
        given, data = [inputs], [numbers]
        x, _ = chain(m, x, plain.kind_of(x), m.random.randint(2, 4))
    x, _ = chain(m, x, plain.kind_of(x), m.random.randint(0, 2))
    outputs = [new_output(m, x, index) for index in range(m.one(1, 1, 1, 2))]
    m.hidden = x
    return keras.Model(_flat(given), [output[0] for output in outputs]), data, outputs


def _flat(given):
    return list(given.values()) if isinstance(given, dict) else given


def new_output(m, x, index):
    """An output with losses and metrics as objects."""
    name, losses, found = f"output_{index}", keras.losses, keras.metrics
    x = plain.to_vector(m, x)
    kind = m.one("classes", "sparse", "binary", "signs", "numbers", "positive")
    options = m.one({}, {"reduction": "sum_over_batch_size"})
    at = {"name": f"own_metric_{index}"}
    if kind in ("classes", "sparse"):
        classes = m.numbers.randint(0, 3, m.examples)
        x = layers.Dense(3, activation="softmax", name=name)(x)
        if kind == "sparse":
            m.note(f"{name}: sparse")
            loss = losses.SparseCategoricalCrossentropy(**options)
            metrics = [
                found.SparseCategoricalAccuracy(**at),
                found.SparseCategoricalCrossentropy(name=f"cross_{index}"),
                "sparse_categorical_accuracy",
            ]
            return x, classes.astype("int32"), loss, metrics
        loss = m.one(
            losses.CategoricalHinge(**options),
            losses.KLDivergence(**options),
            losses.CategoricalCrossentropy(**options),
            losses.CosineSimilarity(axis=1, **options),
            "kld",
        )
        m.note(f"{name}: classes, {loss}")
        metrics = [
            found.CategoricalHinge(**at),
            found.KLDivergence(name=f"kl_{index}"),
            found.CategoricalCrossentropy(name=f"cross_{index}"),
            found.CosineSimilarity(name=f"cosine_{index}"),
            second_best,
        ]
        return x, np.eye(3, dtype="float32")[classes], loss, metrics
    labels = m.numbers.randint(0, 2, (m.examples, 1)).astype("float32")
    if kind == "signs":
        x = layers.Dense(1, activation="tanh", name=name)(x)
        loss = m.one(losses.Hinge(**options), losses.SquaredHinge(**options))
        m.note(f"{name}: signs, {loss}")
        metrics = [
            found.Hinge(**at),
            found.SquaredHinge(name=f"squared_{index}"),
            found.Accuracy(name=f"equal_{index}"),
        ]
        return x, labels * 2 - 1, loss, metrics
    if kind == "binary":
        x = layers.Dense(1, activation="sigmoid", name=name)(x)
        loss = losses.BinaryCrossentropy(**options)
        m.note(f"{name}: binary")
        metrics = [
            found.BinaryAccuracy(threshold=0.4, **at),
            found.BinaryCrossentropy(name=f"cross_{index}"),
            found.FalseNegatives(name=f"misses_{index}"),
            found.TrueNegatives(name=f"rejected_{index}"),
            found.TruePositives([0.3, 0.6], name=f"hits_{index}"),
            found.SensitivityAtSpecificity(0.5, 20, name=f"sensitivity_{index}"),
            found.SpecificityAtSensitivity(0.5, 20, name=f"specificity_{index}"),
            "binary_accuracy",
        ]
        return x, labels, loss, metrics
    positive = kind == "positive"
    x = layers.Dense(2, activation="softplus" if positive else None, name=name)(x)
    numbers = m.numbers.rand(m.examples, 2).astype("float32") + 0.1
    loss = (
        m.one(losses.Poisson(**options), losses.MeanSquaredLogarithmicError(**options), "mape")
        if positive
        else m.one(
            losses.MeanSquaredError(**options),
            losses.MeanAbsoluteError(**options),
            losses.MeanAbsolutePercentageError(**options),
            losses.LogCosh(**options),
            losses.Huber(**options),
            "cosine_proximity",
            keras.losses.mean_absolute_percentage_error,
        )
    )
    m.note(f"{name}: {kind}, {loss}")
    metrics = [
        found.MeanAbsoluteError(**at),
        found.MeanSquaredError(name=f"squares_{index}"),
        found.MeanAbsolutePercentageError(name=f"percents_{index}"),
        found.MeanSquaredLogarithmicError(name=f"logs_{index}"),
        found.LogCoshError(name=f"cosh_{index}"),
        found.MeanRelativeError([0.5, 0.7], name=f"relative_{index}"),
        "cosine_proximity",
        "mean_absolute_percentage_error",
    ]
    if positive:
        metrics.append(found.Poisson(name=f"poisson_{index}"))
    return x, numbers, loss, metrics


def second_best(y_true, y_pred):
    return keras.metrics.top_k_categorical_accuracy(y_true, y_pred, k=2)


# Training -------------------------------------------------------------------------------------------


def optimizer(m):
    """The optimizers of ``keras_models``, or one with a schedule of the script's own."""
    if m.often(0.7):
        return plain_optimizer(m)
    m.note("a schedule of the script's own")
    return m.one(
        lambda: keras.optimizers.SGD(Rate(), momentum=0.5),
        lambda: keras.optimizers.Adam(Rate(), epsilon=1e-3),
        lambda: keras.optimizers.RMSprop(Rate(), epsilon=1e-3),
    )()


def reset_weights(model, numbers):
    """Some models keep their initial values, which follow from the seed on every target."""
    if numbers.rand() < 0.6:
        plain_reset(model, numbers)


def fit(m, model, data, labels, several, brief):
    """``keras_models.fit``, with the callbacks that Keras has for the eye."""
    if not m.often(0.3):
        return plain_fit(m, model, data, labels, several, brief)
    found = keras.callbacks
    folder = tempfile.mkdtemp()
    chosen = {
        "History": found.History,
        "BaseLogger": found.BaseLogger,
        "ProgbarLogger": lambda: found.ProgbarLogger("steps"),
        "TensorBoard": lambda: found.TensorBoard(folder, write_graph=m.often()),
    }
    name = m.one(*chosen)
    m.note(f"callback {name}")
    try:
        return model.fit(
            plain.unlisted(data),
            plain.unlisted(labels),
            batch_size=plain.BATCH,
            epochs=2,
            shuffle=False,
            verbose=0,
            callbacks=[chosen[name]()],
        ).history
    finally:
        shutil.rmtree(folder, ignore_errors=True)


plain_optimizer, plain_reset, plain_fit = plain.optimizer, plain.reset_weights, plain.fit


def train(seed, brief=False):
    """Makes the model of a seed and trains it, as ``keras_models.train``."""
    others = {"build": build, "optimizer": optimizer, "reset_weights": reset_weights, "fit": fit}
    with mock.patch.multiple(plain, **others):
        return plain.train(seed, brief)
