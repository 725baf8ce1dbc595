"""Random Keras programs in the form of scripts of 2018 to 2020: blocks of known networks, and what is around.

As ``keras_models.py``, whose layers they are made of too. Here is what scripts have beside a plain stack of
layers: branches and blocks, layers of their own, operations of TensorFlow on Keras' tensors, losses and data
given by name, callbacks, schedules, fine-tuning in two phases, saving and loading.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile

import keras_models as plain_models
import numpy as np
from choices import Maker

import tpucompat.v1 as tf

keras = tf.keras
layers = keras.layers
K = keras.backend
BATCH = plain_models.BATCH


# Layers of a script's own ---------------------------------------------------------------------------


class SelfAttention(layers.Layer):
    """Several heads over the steps of a sequence, with a mask and a residual connection."""

    def __init__(self, heads=2, **options):
        super().__init__(**options)
        self.heads = heads
        self.supports_masking = True

    def build(self, input_shape):
        size = int(input_shape[-1])
        self.units = 2 * self.heads
        for name in ("query", "key", "value"):
            weight = self.add_weight(
                name=name, shape=(size, self.units), initializer="glorot_uniform", trainable=True
            )
            setattr(self, name, weight)
        self.back = self.add_weight(name="back", shape=(self.units, size), initializer="uniform")
        super().build(input_shape)

    def split(self, x):
        shape = tf.shape(x)
        x = tf.reshape(x, [shape[0], shape[1], self.heads, self.units // self.heads])
        return tf.transpose(x, [0, 2, 1, 3])

    def call(self, inputs, mask=None):
        query, key, value = (
            self.split(K.dot(inputs, weight)) for weight in (self.query, self.key, self.value)
        )
        scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(self.units / self.heads)
        if mask is not None:
            scores -= 1e4 * (1.0 - K.cast(mask, "float32")[:, None, None, :])
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
        mixed = tf.reshape(mixed, [-1, tf.shape(inputs)[1], self.units])
        return inputs + K.dot(mixed, self.back)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {"heads": self.heads, **super().get_config()}


class Positions(layers.Layer):
    """Adds sines of the positions."""

    def call(self, inputs):
        positions = K.cumsum(K.ones_like(inputs[:, :, :1]), axis=1) - 1.0
        size = K.int_shape(inputs)[-1]
        rates = K.pow(100.0, -K.arange(0, size, dtype="float32") / size)
        return inputs + K.sin(positions * rates)


class Normalization(layers.Layer):
    """Layer normalization as scripts wrote it before Keras had one."""

    def build(self, input_shape):
        self.gamma = self.add_weight("gamma", shape=(int(input_shape[-1]),), initializer="ones")
        self.beta = self.add_weight("beta", shape=(int(input_shape[-1]),), initializer="zeros")
        super().build(input_shape)

    def call(self, x):
        mean = K.mean(x, axis=-1, keepdims=True)
        deviation = K.sqrt(K.mean(K.square(x - mean), axis=-1, keepdims=True) + 1e-3)
        return self.gamma * (x - mean) / deviation + self.beta


class WeightedMean(layers.Layer):
    """Attention that takes the steps together, knows the mask, and ends it."""

    def __init__(self, **options):
        self.supports_masking = True
        super().__init__(**options)

    def build(self, input_shape):
        self.w = self.add_weight(
            "w", (int(input_shape[-1]), 1), regularizer=keras.regularizers.l2(0.01)
        )
        self.b = self.add_weight("b", (int(input_shape[1]), 1), initializer="zeros")
        super().build(input_shape)

    def compute_mask(self, inputs, mask=None):
        return None

    def call(self, inputs, mask=None):
        scores = K.exp(K.squeeze(K.tanh(K.dot(inputs, self.w) + self.b), -1))
        if mask is not None:
            scores *= K.cast(mask, K.floatx())
        scores /= K.sum(scores, axis=1, keepdims=True) + K.epsilon()
        return K.sum(inputs * K.expand_dims(scores), axis=1)

    def compute_output_shape(self, input_shape):
        return input_shape[0], input_shape[-1]


class Centers(layers.Layer):
    """Keeps means of what it is given in a weight that it assigns itself, as center losses do."""

    def build(self, input_shape):
        self.centers = self.add_weight(
            name="centers", shape=(int(input_shape[-1]),), initializer="zeros", trainable=False
        )
        super().build(input_shape)

    def call(self, inputs):
        # Every core has its own part of the batch, so only what they share may go into the weight.
        self.add_update([(self.centers, self.centers * 0.5 + 0.25)], inputs)
        return inputs - self.centers

    def compute_output_shape(self, input_shape):
        return input_shape


class TwoWays(layers.Layer):
    """Gives two tensors."""

    def build(self, input_shape):
        size = int(input_shape[-1])
        self.first = self.add_weight("first", (size, 3))
        self.second = self.add_weight("second", (size, 3))
        super().build(input_shape)

    def call(self, x):
        return [K.dot(x, self.first), K.relu(K.dot(x, self.second))]

    def compute_output_shape(self, input_shape):
        shape = (*tuple(input_shape)[:-1], 3)
        return [shape, shape]


class LayerOfLayers(layers.Layer):
    """A layer that holds others."""

    def __init__(self, units, rate, **options):
        super().__init__(**options)
        self.units, self.rate = units, rate
        self.dense = layers.Dense(units, activation="relu")
        self.dropout = layers.Dropout(rate)
        self.out = layers.Dense(units)

    def call(self, inputs, training=None):
        x = self.dense(inputs)
        return self.out(self.dropout(x, training=training))

    def compute_output_shape(self, input_shape):
        return (*tuple(input_shape)[:-1], self.units)

    def get_config(self):
        return {"units": self.units, "rate": self.rate, **super().get_config()}


# Blocks: each takes a tensor and gives one ----------------------------------------------------------


def normalization(m, x, **options):
    """Batch normalization; in an exact model it uses its moving statistics."""
    layer = layers.BatchNormalization(**options)
    if m.exact:
        return layer(x, training=False)
    m.apart.add("BatchNormalization: statistics of a core's part of the batch")
    return layer(x)


def residual_block(m, x):
    units, strides = m.units(), m.one(1, 2)
    m.note(f"residual block, strides {strides}")
    y = layers.Conv2D(units, 3, strides=strides, padding="same", use_bias=False)(x)
    y = layers.Activation("relu")(normalization(m, y))
    y = layers.Conv2D(units, 3, padding="same", use_bias=False)(y)
    y = normalization(m, y, momentum=0.9, epsilon=1e-3)
    return layers.Activation("relu")(
        layers.add([y, layers.Conv2D(units, 1, strides=strides, padding="same")(x)])
    )


def inception_block(m, x):
    m.note("inception block")
    ways = [layers.Conv2D(2, size, padding="same", activation="relu")(x) for size in (1, 3, 5)]
    pooled = layers.MaxPooling2D(3, strides=1, padding="same")(x)
    ways.append(layers.Conv2D(2, 1, padding="same")(pooled))
    return layers.concatenate(ways, axis=-1)


def dense_block(m, x):
    m.note("dense block")
    for _ in range(2):
        y = layers.Conv2D(2, 3, padding="same")(layers.Activation("relu")(normalization(m, x)))
        x = layers.Concatenate(axis=3)([x, y])
    return layers.AveragePooling2D(2)(x) if min(K.int_shape(x)[1:3]) > 3 else x


def squeeze_and_excite(m, x):
    size = K.int_shape(x)[-1]
    m.note("squeeze and excite")
    y = layers.GlobalAveragePooling2D()(x)
    y = layers.Dense(2, activation="relu")(layers.Reshape((1, 1, size))(y))
    return layers.multiply([x, layers.Dense(size, activation="sigmoid")(y)])


def mobile_block(m, x):
    m.note("depthwise block")
    y = layers.Conv2D(4, 1, use_bias=False)(x)
    y = layers.ReLU(6.0)(normalization(m, y))
    y = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=m.one(1, 2), use_bias=False)(y)
    return layers.Conv2D(3, 1, use_bias=False)(layers.ReLU(6.0)(y))


def u_net(m, x):
    rows, columns, _ = K.int_shape(x)[1:]
    m.note("down and up")
    x = layers.ZeroPadding2D(((0, rows % 2), (0, columns % 2)))(x)
    way = m.one("transposed", "nearest", "bilinear")
    down = layers.Conv2D(3, 3, padding="same", activation="relu")(layers.MaxPooling2D()(x))
    if way == "transposed":
        up = layers.Conv2DTranspose(3, 2, strides=2, padding="same")(down)
    else:
        up = layers.UpSampling2D(2, interpolation=way)(down)
    m.note(way)
    return layers.Conv2D(3, 3, padding="same")(layers.concatenate([up, x]))


def cropped(m, x):
    m.note("Cropping2D")
    return layers.Cropping2D(((1, 0), (0, 1)))(x)


def dilated(m, x):
    m.note("dilated, strided and separable")
    x = layers.Conv2D(3, 2, dilation_rate=2, padding="same")(x)
    return layers.SeparableConv2D(3, 2, padding="same", depth_multiplier=2)(x)


def local(m, x):
    m.note("LocallyConnected2D")
    return layers.LocallyConnected2D(2, 2, activation="tanh", implementation=m.one(1, 2))(x)


def other_axis(m, x):
    m.note("BatchNormalization of another axis")
    return normalization(m, x, axis=1, fused=False)


def renormalized(m, x):
    m.note("BatchNormalization with renorm")
    return normalization(m, x, renorm=True, momentum=0.8)


def resized(m, x):
    m.note("tf.image")
    way = m.one("resize", "flip", "crop")
    if way == "resize":
        return layers.Lambda(lambda y: tf.image.resize_bilinear(y, (6, 6)))(x)
    if way == "flip":
        return layers.Lambda(lambda y: tf.image.flip_left_right(y) + 0.5 * y)(x)
    return layers.Lambda(lambda y: y[:, 1:, :-1, :])(x)


def text_cnn(m, x):
    m.note("convolutions of several widths")
    x = unmasked(x)
    ways = [
        layers.GlobalMaxPooling1D()(layers.Conv1D(2, size, activation="relu")(x))
        for size in (1, 2, 3)
    ]
    return layers.Dropout(m.rate("dropout"))(layers.concatenate(ways))


def unmasked(x):
    """Convolutions and reshapes take no mask: one that comes from an embedding ends here."""
    return layers.Lambda(lambda y: y, mask=lambda *_: None)(x)


def hierarchical(m, x):
    m.note("attention by Permute and RepeatVector")
    x = unmasked(x)
    units = K.int_shape(x)[-1]
    weights = layers.Flatten()(layers.Dense(1, activation="tanh")(x))
    weights = layers.RepeatVector(units)(layers.Activation("softmax")(weights))
    mixed = layers.Multiply()([x, layers.Permute([2, 1])(weights)])
    return layers.Lambda(lambda y: K.sum(y, axis=1), output_shape=(units,))(mixed)


def transformer(m, x):
    size = K.int_shape(x)[-1]
    m.note("transformer block")
    x = Positions()(unmasked(x)) if m.often() else x
    x = Normalization()(SelfAttention(m.one(1, 2))(x))
    y = layers.Dense(size)(layers.Dropout(m.rate("dropout"))(layers.Dense(6, activation=gelu)(x)))
    return layers.LayerNormalization(epsilon=1e-3)(layers.Add()([x, y]))


def gelu(x):
    return 0.5 * x * (1.0 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3))))


def weighted_mean(m, x):
    m.note("WeightedMean")
    return WeightedMean()(x)


def stacked_rnn(m, x):
    m.note("stacked recurrent layers")
    x = layers.LSTM(m.units(), return_sequences=True, dropout=m.rate("dropout of LSTM"))(x)
    return layers.Bidirectional(layers.GRU(m.units(), reset_after=m.often()))(x)


def captioned(m, x):
    """A recurrent layer that begins where a Dense layer says."""
    units = m.units()
    m.note("initial states by Dense layers")
    first = layers.GlobalAveragePooling1D()(unmasked(x))
    states = [layers.Dense(units, activation="tanh")(first) for _ in range(2)]
    return layers.LSTM(units, return_sequences=m.often())(x, initial_state=states)


def encoded_and_attended(m, x):
    m.note("bidirectional encoder, decoder, Dot attention")
    x = unmasked(x)
    units = m.units()
    encoder = layers.Bidirectional(layers.LSTM(units, return_sequences=True, return_state=True))
    outputs, h1, c1, h2, c2 = encoder(x)
    states = [layers.concatenate([h1, h2]), layers.concatenate([c1, c2])]
    decoded = layers.LSTM(2 * units, return_sequences=True)(x, initial_state=states)
    scores = layers.Activation("softmax")(layers.Dot([2, 2])([decoded, outputs]))
    context = layers.dot([scores, outputs], axes=[2, 1])
    return layers.concatenate([context, decoded])


def cells(m, x):
    m.note("StackedRNNCells with dropout")
    rate = m.rate("dropout of cells")
    stacked = layers.StackedRNNCells(
        [layers.LSTMCell(3, dropout=rate), layers.GRUCell(2, recurrent_dropout=rate)]
    )
    return layers.RNN(stacked, return_sequences=m.often())(x)


def per_step_model(m, x):
    m.note("TimeDistributed(model)")
    inner = keras.Sequential([layers.Dense(4, activation="relu"), layers.Dense(3)])
    return layers.TimeDistributed(inner)(unmasked(x))


def causal(m, x):
    m.note("WaveNet block")
    x = unmasked(x)
    for dilation in (1, 2):
        y = layers.Conv1D(4, 2, padding="causal", dilation_rate=dilation, activation="tanh")(x)
        gate = layers.Conv1D(4, 2, padding="causal", dilation_rate=dilation, activation="sigmoid")
        x = layers.add([layers.Conv1D(4, 1)(layers.multiply([y, gate(x)])), layers.Conv1D(4, 1)(x)])
    return x


def taken(m, x):
    m.note("a step by Lambda")
    way = m.one("last", "first", "gather", "K")
    functions = {
        "last": lambda y: y[:, -1],
        "first": lambda y: tf.squeeze(y[:, 0:1, :], axis=1),
        "gather": lambda y: tf.gather(y, 1, axis=1),
        "K": lambda y: K.batch_dot(y, y, axes=(1, 1))[:, 0],
    }
    return layers.Lambda(functions[way])(unmasked(x))


def highway(m, x):
    size = K.int_shape(x)[-1]
    m.note("highway")
    gate = layers.Dense(
        size, activation="sigmoid", bias_initializer=keras.initializers.Constant(-1.0)
    )(x)
    made = layers.Dense(size, activation="relu")(x)
    kept = layers.Lambda(lambda t: (1.0 - t[0]) * t[1])([gate, x])
    return layers.add([layers.multiply([gate, made]), kept])


def two_ways(m, x):
    m.note("a layer of two outputs")
    first, second = TwoWays()(x)
    return m.one(layers.minimum, layers.maximum, layers.subtract)([first, second])


def of_layers(m, x):
    m.note("a layer of layers")
    return LayerOfLayers(m.units(), m.rate("dropout"))(x)


def centered(m, x):
    m.note("Centers")
    return Centers()(x)


def sampled(m, x):
    """A variational encoder's sampling; an exact one has no deviation."""
    m.note("sampling")
    deviation = 0.0 if m.exact else 0.1
    if not m.exact:
        m.apart.add("sampling: every core draws its own numbers")
    mean, log_variance = layers.Dense(3)(x), layers.Dense(3)(x)

    def sample(parts):
        noise = K.random_normal((K.shape(parts[0])[0], 3), stddev=deviation)
        return parts[0] + K.exp(0.5 * parts[1]) * noise

    m.added.append(lambda: -0.05 * K.mean(1 + log_variance - K.square(mean) - K.exp(log_variance)))
    return layers.Lambda(sample, output_shape=(3,))([mean, log_variance])


def operations(m, x):
    """Operations of TensorFlow right on a layer's output."""
    name = m.one("scaled", "relu", "concat", "mean", "slice", "matmul", "cond")
    m.note(f"operation {name}")
    x = unmasked(x)
    if name == "scaled":
        return x * 0.5 + 1.0
    if name == "relu":
        return tf.nn.relu(x) - tf.exp(-x * x)
    if name == "concat":
        return tf.concat([x, tf.square(x)], axis=-1)
    if name == "mean":
        return x - tf.reduce_mean(x, axis=1, keepdims=True)
    if name == "slice":
        return x[..., 1:]
    if name == "matmul":
        return (
            tf.matmul(
                tf.expand_dims(tf.reshape(x, [-1, x.shape[-1]]), 1), tf.ones([x.shape[-1], 3])
            )[:, 0]
            if x.shape.ndims == 2
            else x
        )
    return tf.clip_by_value(x, -1.0, 1.0)


def squashed(m, x):
    m.note("capsules")
    x = layers.Dense(6)(x)
    x = layers.Reshape((2, 3))(x)

    def squash(vectors, axis=-1):
        size = K.sum(K.square(vectors), axis, keepdims=True)
        return size / (1 + size) * vectors / K.sqrt(size + 1e-3)

    x = layers.Lambda(squash, arguments={"axis": -1})(x)
    return layers.Lambda(lambda y: K.sqrt(K.sum(K.square(y), -1) + 1e-3))(x)


def factorized(m, x):
    m.note("factorization machine")
    vectors = [layers.Dense(3, kernel_regularizer="l2")(x) for _ in range(3)]
    stacked = layers.Lambda(lambda many: K.stack(many, axis=1))(vectors)
    pairs = layers.Lambda(
        lambda v: 0.5 * (K.square(K.sum(v, axis=1)) - K.sum(K.square(v), axis=1))
    )(stacked)
    return layers.concatenate([pairs, x])


def plain_layer(m, x):
    kind = plain_models.kind_of(x)
    rows = [row for row in plain_models.TABLE[kind] if plain_models.fits(row[0], x)]
    return plain_models.apply(m, x, m.one(*rows))[0]


BLOCKS = {
    2: [highway, two_ways, of_layers, centered, sampled, operations, squashed, factorized],
    3: [
        text_cnn,
        hierarchical,
        transformer,
        weighted_mean,
        stacked_rnn,
        captioned,
        encoded_and_attended,
        cells,
        per_step_model,
        causal,
        taken,
        of_layers,
        operations,
    ],
    4: [
        residual_block,
        inception_block,
        dense_block,
        squeeze_and_excite,
        mobile_block,
        u_net,
        cropped,
        dilated,
        local,
        other_axis,
        renormalized,
        resized,
        operations,
    ],
}


def blocks(m, x, length):
    for _ in range(length):
        sizes = K.int_shape(x)[1:]
        if len(sizes) > 1 and (min(sizes[:-1]) < 4 or np.prod(sizes) > 400):
            break
        if len(sizes) not in (1, 2, 3) or m.often(0.15):
            x = plain_layer(m, x)
        else:
            x = m.one(*BLOCKS[len(sizes) + 1])(m, x)
    return x


# Inputs ---------------------------------------------------------------------------------------------


def new_input(m, name):
    """An input, its data, and a tensor of numbers; words, pictures of bytes, numbers, series."""
    kind = m.one("words", "words", "pixels", "table", "series", "ids", "picture")
    m.note(f"{name}: {kind}")
    if kind in ("words", "ids"):
        length = m.random.randint(4, 7) if kind == "words" else 1
        words = m.numbers.randint(0, 8, (m.examples, length))
        # No batch lacks a word: on several cores its vector moves by the momentum all the same, since a sum
        # over the cores makes a dense gradient.
        words[:, 0] = np.concatenate([m.numbers.permutation(8) for _ in range(m.examples // 8)])
        data = words.astype(m.one("int32", "int64", "float32"))
        given = layers.Input((length,), name=name, dtype=m.one("int32", data.dtype.name))
        options = {"mask_zero": m.often(0.3)} if kind == "words" else {}
        if m.often(0.25):
            options.update(weights=[m.numbers.rand(9, 4).astype("float32")], trainable=m.often())
        m.note(f"Embedding({sorted(options)})")
        x = (
            m.shared_embedding(given)
            if m.shared_embedding
            else layers.Embedding(9, 4, **options)(given)
        )
        if kind == "ids":
            x = m.one(layers.Flatten(), layers.Reshape((4,)))(x)
        return given, data, x
    if kind == "pixels":
        data = m.numbers.randint(0, 255, (m.examples, 6, 6, m.one(1, 3))).astype("uint8")
        given = layers.Input(data.shape[1:], name=name, dtype=m.one("uint8", "float32"))
        return given, data, layers.Lambda(lambda y: K.cast(y, "float32") / 255.0)(given)
    shape = {"table": (5,), "series": (6, m.one(1, 3)), "picture": (7, 6, 2)}[kind]
    data = m.numbers.rand(m.examples, *shape).astype(m.one("float32", "float64"))
    given = layers.Input(shape, name=name)
    return given, data, given


def siamese(m):
    """Two inputs, one model of both, and their distance."""
    m.note("siamese")
    inner_input = layers.Input((6,))
    x = layers.Dense(5, activation="relu")(inner_input)
    x = LayerOfLayers(4, m.rate("dropout"))(x)
    way = m.one("distance", "cosine", "concatenated")
    inner = keras.Model(inner_input, x)
    given = [layers.Input((6,), name=name) for name in ("left", "right")]
    data = [m.numbers.rand(m.examples, 6).astype("float32") for _ in range(2)]
    left, right = map(inner, given)
    if way == "distance":
        x = layers.Lambda(lambda t: K.abs(t[0] - t[1]))([left, right])
    elif way == "cosine":
        x = layers.concatenate([layers.Dot(1, normalize=True)([left, right]), left])
    else:
        x = layers.concatenate([left, right, layers.multiply([left, right])])
    return given, data, x


# Outputs, losses, metrics ---------------------------------------------------------------------------


def scaled_loss(alpha):
    def loss(y_true, y_pred):
        return alpha * K.mean(K.square(y_true - y_pred), axis=-1)

    return loss


def dice(y_true, y_pred):
    """Of the whole batch, as the losses of segmentations are."""
    shared = K.sum(K.flatten(y_true) * K.flatten(y_pred))
    return 1.0 - (2.0 * shared + 1.0) / (K.sum(y_true) + K.sum(y_pred) + 1.0)


def quantile(y_true, y_pred):
    error = y_true - y_pred
    return K.mean(K.maximum(0.3 * error, -0.7 * error), axis=-1)


def contrastive(y_true, y_pred):
    return K.mean(
        y_true * K.square(y_pred) + (1 - y_true) * K.square(K.maximum(1 - y_pred, 0.0)), axis=-1
    )


class OwnLoss(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return K.mean(K.abs(y_true - y_pred) * (1.0 + y_true), axis=-1)


class Mean(keras.metrics.Metric):
    """A metric with states of its own."""

    def __init__(self, name="own_mean", **options):
        super().__init__(name=name, **options)
        self.total = self.add_weight("total", initializer="zeros")
        self.count = self.add_weight("seen", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(K.sum(K.cast(y_pred, "float32")))
        self.count.assign_add(K.cast(K.shape(y_pred)[0], "float32"))

    def result(self):
        return self.total / self.count


def r_squared(y_true, y_pred):
    left = K.sum(K.square(y_true - y_pred))
    return 1 - left / (K.sum(K.square(y_true - K.mean(y_true))) + 1e-3)


def new_output(m, x, name):
    """An output, labels, loss, metrics."""
    kind = m.one("classes", "sparse", "binary", "many", "number", "number", "mask")
    if kind == "mask" and len(K.int_shape(x)) == 4:
        m.note(f"{name}: segmentation")
        x = layers.Conv2D(1, 1, activation="sigmoid", name=name)(x)
        labels = m.numbers.randint(0, 2, (m.examples, *K.int_shape(x)[1:])).astype("float32")
        return (
            x,
            labels,
            m.one(dice, "binary_crossentropy"),
            [keras.metrics.MeanIoU(2, name=f"iou_{name}")],
        )
    if len(K.int_shape(x)) == 3 and m.often(0.3):
        m.note(f"{name}: tags")
        x = layers.TimeDistributed(layers.Dense(3, activation="softmax"), name=name)(x)
        labels = m.numbers.randint(0, 3, (m.examples, K.int_shape(x)[1], 1)).astype("int32")
        return x, labels, "sparse_categorical_crossentropy", ["sparse_categorical_accuracy"]
    x = plain_models.to_vector(m, x)
    found = keras.metrics
    if kind in ("classes", "sparse"):
        classes = m.numbers.randint(0, 4, m.examples)
        from_logits = m.often(0.3)
        x = layers.Dense(4, activation=None if from_logits else "softmax", name=name)(x)
        m.note(f"{name}: {kind}, logits: {from_logits}")
        if kind == "sparse":
            labels = m.one(classes, classes[:, None], classes.astype("float32"))
            loss = (
                keras.losses.SparseCategoricalCrossentropy(from_logits=True)
                if from_logits
                else "sparse_categorical_crossentropy"
            )
            top = found.SparseTopKCategoricalAccuracy(2, name=f"top_{name}")
            return x, labels, loss, ["acc", "sparse_top_k_categorical_accuracy", top]
        loss = (
            (lambda y, p: K.categorical_crossentropy(y, p, from_logits=True))
            if from_logits
            else m.one("categorical_crossentropy", "categorical_hinge", "kld")
        )
        top = found.TopKCategoricalAccuracy(2, name=f"top_{name}")
        return x, keras.utils.to_categorical(classes, 4), loss, ["acc", "categorical_accuracy", top]
    if kind in ("binary", "many", "mask"):
        units = 1 if kind == "binary" else 3
        m.note(f"{name}: {kind}")
        x = layers.Dense(units, activation="sigmoid", name=name)(x)
        labels = m.numbers.randint(0, 2, (m.examples, units)).astype(
            m.one("float32", "int64", "bool")
        )
        if units == 1 and m.often():
            labels = labels[:, 0]
        loss = m.one(
            "binary_crossentropy",
            contrastive if labels.dtype == "float32" else "mse",
            keras.losses.BinaryCrossentropy(label_smoothing=0.1),
        )
        metrics = [
            "acc",
            found.Precision(name=f"precision_{name}"),
            found.Recall(name=f"recall_{name}"),
            found.FalsePositives(name=f"false_{name}"),
            found.AUC(20, curve="PR", name=f"pr_{name}"),
        ]
        return x, labels, loss, metrics
    units = m.one(1, 2)
    labels = m.numbers.rand(m.examples, units).astype(m.one("float32", "float64"))
    if units == 1 and m.often():
        labels = labels[:, 0]
    loss = m.one(
        "mean_squared_error",
        scaled_loss(0.5),
        quantile,
        OwnLoss(),
        keras.losses.LogCosh(),
        "mean_squared_logarithmic_error",
        keras.losses.mean_absolute_error,
        tf.losses.huber_loss,
        "cosine_similarity",
    )
    m.note(f"{name}: {units} numbers, {loss}")
    x = layers.Dense(units, name=name)(x)
    metrics = [
        "mae",
        r_squared,
        Mean(name=f"own_{name}"),
        found.RootMeanSquaredError(name=f"rmse_{name}"),
    ]
    return x, labels, loss, metrics


# Programs -------------------------------------------------------------------------------------------


def build(m):
    m.examples, m.added = m.one(32, 48, 48, 40, 56), []
    m.shared_embedding = layers.Embedding(9, 4) if m.often(0.15) else None
    if m.often(0.12):
        given, data, x = siamese(m)
    else:
        given, data, ways = [], [], []
        for index in range(m.one(1, 1, 1, 2, 3)):
            one, numbers, x = new_input(m, f"in_{index}")
            given.append(one)
            data.append(numbers)
            ways.append(blocks(m, x, m.random.randint(1, 3)))
        x = ways[0]
        if len(ways) > 1:
            x = layers.concatenate([plain_models.to_vector(m, way) for way in ways])
    x = blocks(m, x, m.random.randint(0, 2))
    outputs = [new_output(m, x, f"out_{index}") for index in range(m.one(1, 1, 1, 2, 3))]
    model = keras.Model(given, [output[0] for output in outputs], name=f"script_{m.seed}")
    return model, data, outputs


def stateful(m):
    """Series that go on from batch to batch: one core trains them."""
    m.note("stateful")
    m.examples, m.added, m.hidden = 48, [], None
    kind = m.one(layers.LSTM, layers.GRU, layers.SimpleRNN)
    model = keras.Sequential(name=f"stateful_{m.seed}")
    many = m.often()
    model.add(
        kind(m.units(), stateful=True, return_sequences=many, batch_input_shape=(BATCH, 4, 2))
    )
    model.add(layers.Dropout(0.0))
    if many:
        model.add(layers.LSTM(3, stateful=True))
    model.add(layers.Dense(1))
    data = m.numbers.rand(m.examples, 4, 2).astype("float32")
    labels = m.numbers.rand(m.examples, 1).astype("float32")
    return model, data, labels


def rate_of(m):
    """A learning rate: a number, a schedule of Keras, or a tensor."""
    way = m.one("number", "number", "schedule", "decay")
    m.note(f"rate: {way}")
    if way == "schedule":
        schedules = keras.optimizers.schedules
        return m.one(
            lambda: schedules.ExponentialDecay(0.02, 2, 0.5, staircase=m.often()),
            lambda: schedules.PolynomialDecay(0.02, 5, 0.001),
            lambda: schedules.PiecewiseConstantDecay([1, 3], [0.02, 0.01, 0.005]),
            lambda: schedules.InverseTimeDecay(0.02, 2, 0.5),
        )(), {}
    return 0.01, {"decay": 0.05} if way == "decay" else {}


def optimizer(m):
    rate, more = rate_of(m)
    optimizers, train = keras.optimizers, tf.train
    name = m.one("Adam", "SGD", "RMSprop", "own", "tf", "cross", "adamw", "plain")
    m.note(f"optimizer {name}")
    if name == "Adam":
        return optimizers.Adam(rate, beta_1=0.8, epsilon=1e-3, **more)
    if name == "SGD":
        return optimizers.SGD(rate, momentum=m.one(0.0, 0.9), **more)
    if name == "RMSprop":
        return optimizers.RMSprop(
            rate, rho=0.8, momentum=0.5, centered=m.often(), epsilon=1e-3, **more
        )
    if name == "own":
        return SignedDescent(0.01)
    if name == "tf":
        return train.AdamOptimizer(0.01, epsilon=1e-3)
    if name == "cross":
        return tf.contrib.tpu.CrossShardOptimizer(train.MomentumOptimizer(0.02, 0.9))
    if name == "adamw":
        if any(each.startswith("Embedding") for each in m.log):
            m.apart.add(
                "AdamW: gradients are dense on cores, where rows that no example has decay too"
            )
        return tf.contrib.opt.AdamWOptimizer(1e-3, learning_rate=0.01, epsilon=1e-3)
    return m.one("sgd", "adadelta", "nadam") if m.exact else "adam"


class SignedDescent(keras.optimizers.Optimizer):
    """An optimizer of a script's own."""

    def __init__(self, rate, name="SignedDescent", **options):
        super().__init__(name, **options)
        self._set_hyper("rate", rate)

    def _create_slots(self, var_list):
        for variable in var_list:
            self.add_slot(variable, "seen")

    def _resource_apply_dense(self, grad, var, apply_state=None):
        seen = self.get_slot(var, "seen")
        total = seen.assign(0.5 * seen + grad, use_locking=self._use_locking)
        rate = self._get_hyper("rate", var.dtype.base_dtype)
        return var.assign_sub(rate * tf.tanh(total), use_locking=self._use_locking).op

    def _resource_apply_sparse(self, grad, var, indices, apply_state=None):
        return self._resource_apply_dense(
            tf.convert_to_tensor(tf.IndexedSlices(grad, indices, tf.shape(var))), var
        )

    def get_config(self):
        return {"rate": self._serialize_hyperparameter("rate"), **super().get_config()}


class Written(keras.callbacks.Callback):
    """What a script's own callback sees."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def on_batch_end(self, batch, logs=None):
        self.rows.append(float(logs["loss"]))

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1 and hasattr(self.model.optimizer, "lr"):
            with contextlib.suppress(AttributeError, TypeError):  # a schedule
                K.set_value(self.model.optimizer.lr, 0.5 * K.get_value(self.model.optimizer.lr))


def callbacks_of(m, folder, made):
    found = [Written()]
    number = hasattr(made, "_hyper") and not callable(made._hyper.get("learning_rate", len))
    rows = {
        "checkpoint": lambda: keras.callbacks.ModelCheckpoint(
            os.path.join(folder, "best.h5"),
            monitor="loss",
            save_best_only=True,
            save_weights_only=m.often(),
        ),
        "early": lambda: keras.callbacks.EarlyStopping(
            "loss", patience=0, min_delta=1e3, restore_best_weights=m.often()
        ),
        "csv": lambda: keras.callbacks.CSVLogger(os.path.join(folder, "log.csv")),
        "lambda": lambda: keras.callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: found[0].rows.append(len(logs))
        ),
        "nan": keras.callbacks.TerminateOnNaN,
    }
    if number:
        rows["schedule"] = lambda: keras.callbacks.LearningRateScheduler(
            lambda epoch: 0.02 / (epoch + 1)
        )
        rows["plateau"] = lambda: keras.callbacks.ReduceLROnPlateau(
            "loss", factor=0.5, patience=0, min_delta=1e3
        )
    for name in m.random.sample(sorted(rows), m.random.randint(0, 3)):
        m.note(f"callback {name}")
        found.append(rows[name]())
    return found


class Pieces(keras.utils.Sequence):
    """Batches as a Sequence."""

    def __init__(self, pieces):
        self.pieces = pieces

    def __len__(self):
        return len(self.pieces)

    def __getitem__(self, index):
        return self.pieces[index]


def named(m, model, data, labels):
    """Data and labels as lists or by name."""
    if m.often(0.3):
        m.note("by name")
        x = dict(zip(model.input_names, data))
        y = dict(zip(model.output_names, labels))
        return x, (y if len(labels) > 1 else labels[0])
    return plain_models.unlisted(data), plain_models.unlisted(labels)


def compile_options(m, model, outputs):
    names = model.output_names
    losses = [output[2] for output in outputs]
    metrics = [m.random.sample(o[3], min(len(o[3]), m.random.randint(0, 3))) for o in outputs]
    if len(outputs) == 1:
        options = {"loss": losses[0], "metrics": metrics[0]}
        if m.often(0.2):
            options = {"loss": {names[0]: losses[0]}, "metrics": {names[0]: metrics[0]}}
        return options
    if m.often():
        m.note("losses by name")
        options = {"loss": dict(zip(names, losses)), "metrics": dict(zip(names, metrics))}
        if m.often():
            options["loss_weights"] = dict(zip(names, (1.0, 0.3, 2.0)))
        return options
    options = {"loss": losses, "metrics": metrics}
    if m.often():
        options["loss_weights"] = [1.0, 0.3, 2.0][: len(outputs)]
    return options


def recompiled(m, options):
    """The same for another compile: metrics that are objects belong to one."""

    def again(value):
        if isinstance(value, dict):
            return {key: again(each) for key, each in value.items()}
        if isinstance(value, list):
            return [again(each) for each in value]
        if isinstance(value, keras.metrics.Metric):
            return type(value).from_config(value.get_config())
        return value

    return {key: again(value) for key, value in options.items()}


def train(seed, brief=False):
    """Makes the program of a seed and runs it: what it gave, why it cannot be the same, what it is."""
    m = Maker(seed)
    folder = tempfile.mkdtemp()
    try:
        np.random.seed(seed)
        tf.set_random_seed(seed)
        made = _train_stateful(m) if m.often(0.07) else _train(m, folder, brief)
        return {**made, "log": m.log, "apart": sorted(m.apart)}
    except Exception as error:
        error.log = m.log
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _train_stateful(m):
    plain, data, labels = stateful(m)
    plain_models.reset_weights(plain, m.numbers)
    plain.compile(optimizer(m), "mse")
    model = plain_models.convert(plain)
    losses = []
    for _ in range(2):
        found = model.fit(data, labels, batch_size=BATCH, epochs=1, shuffle=False, verbose=0)
        losses += found.history["loss"]
        model.reset_states()
    return {
        "losses": losses,
        "predict": model.predict(data[:BATCH], batch_size=BATCH),
        "weights": model.get_weights(),
    }


def _train(m, folder, brief):
    plain, data, outputs = build(m)
    for make in m.added:
        plain.add_loss(make())
    plain_models.reset_weights(plain, m.numbers)
    labels = [output[1] for output in outputs]
    options = compile_options(m, plain, outputs)
    before = m.often()
    frozen = m.often(0.2) and len(plain.layers) > 4
    if frozen:
        m.note("two phases")
        for layer in plain.layers[: len(plain.layers) // 2]:
            layer.trainable = False
        if not plain.trainable_weights:
            plain.trainable = True
    made = optimizer(m)
    if before:
        plain.compile(made, **options)
        model = plain_models.convert(plain)
    else:
        model = plain_models.convert(plain)
        model.compile(made, **options)
    result = {"history": fit(m, model, data, labels, folder, brief)}
    if frozen:
        for layer in model.layers:
            layer.trainable = True
        model.compile(keras.optimizers.SGD(1e-3), **recompiled(m, options))
        x, y = plain_models.unlisted(data), plain_models.unlisted(labels)
        result["second"] = model.fit(
            x, y, batch_size=BATCH, epochs=1, shuffle=False, verbose=0
        ).history
    result["weights"] = model.get_weights()
    if m.often(0.3):
        m.note("saved and loaded")
        path = os.path.join(folder, m.one("weights.h5", "weights"))
        model.save_weights(path)
        model.set_weights([0.0 * value for value in model.get_weights()])
        model.load_weights(path)
        result["loaded"] = model.get_weights()
    if brief:
        return result
    x, y = plain_models.unlisted(data), plain_models.unlisted(labels)
    some = plain_models.unlisted([part[:BATCH] for part in data])
    pieces = list(plain_models.batches(data, labels, BATCH))
    result["evaluate"] = m.one(
        lambda: model.evaluate(x, y, batch_size=BATCH, verbose=0),
        lambda: model.evaluate_generator(iter(pieces), steps=2),
        lambda: model.test_on_batch(*pieces[0]),
    )()
    result["predict"] = m.one(
        lambda: model.predict(x, batch_size=BATCH),
        lambda: model.predict_generator(Pieces([(piece[0],) for piece in pieces])),
        lambda: model.predict_on_batch(some),
    )()
    return result


def fit(m, model, data, labels, folder, brief):
    """Trains in one of the ways of scripts."""
    x, y = named(m, model, data, labels)
    way = m.one("arrays", "arrays", "arrays", "sequence", "Dataset", "loop", "twice")
    m.note(f"trained by {way}")
    found = callbacks_of(m, folder, model.optimizer)
    written = found[0].rows
    shared = {"verbose": 0, "callbacks": found}
    if way == "arrays":
        options = {"epochs": m.one(1, 2, 3), "shuffle": m.one(False, True, False)}
        if m.often(0.25):
            options.update(initial_epoch=1, epochs=3)
        if m.often(0.2) and len(labels) == 1 and labels[0].ndim < 3:
            options["sample_weight"] = np.linspace(0.5, 1.5, len(labels[0])).astype(
                m.one("float32", "float64")
            )
        elif m.often(0.2) and len(labels) > 1:
            options["sample_weight"] = (
                {model.output_names[0]: np.linspace(0.5, 1.5, len(labels[0]))}
                if labels[0].ndim < 3
                else None
            )
        elif (
            m.often(0.2)
            and len(labels) == 1
            and labels[0].ndim == 1
            and labels[0].dtype.kind != "f"
        ):
            options["class_weight"] = {0: 1.0, 1: 2.0, 2: 0.5, 3: 1.5}
        if not brief and m.often(0.4):
            options["validation_data"] = (x, y)
        m.note(f"with {sorted(options)}")
        history = model.fit(x, y, batch_size=BATCH, **shared, **options).history
    elif way == "sequence":
        pieces = list(plain_models.batches(data, labels, BATCH))
        if m.often(0.3):  # the last batch is smaller
            rest = [part[: BATCH // 2] for part in data], [part[: BATCH // 2] for part in labels]
            pieces.append(tuple(map(plain_models.unlisted, rest)))
        history = model.fit_generator(
            Pieces(pieces), epochs=m.one(1, 2), shuffle=False, workers=m.one(1, 2), **shared
        ).history
    elif way == "Dataset":
        examples = (
            tuple(data) if len(data) > 1 else data[0],
            tuple(labels) if len(labels) > 1 else labels[0],
        )
        dataset = tf.data.Dataset.from_tensor_slices(examples)
        if m.often():
            dataset = dataset.map(lambda a, b: (a, b), num_parallel_calls=2).cache()
        dataset = dataset.batch(BATCH, drop_remainder=True).repeat().prefetch(1)
        history = model.fit(dataset, steps_per_epoch=2, epochs=m.one(1, 2), **shared).history
    elif way == "loop":
        history = {"batches": []}
        for _ in range(m.one(1, 2)):
            for piece in list(plain_models.batches(data, labels, BATCH))[:2]:
                history["batches"].append(np.ravel(model.train_on_batch(*piece)))
    else:
        history = model.fit(x, y, batch_size=BATCH, epochs=1, shuffle=False, **shared).history
        more = model.fit(x, y, batch_size=BATCH // 2, epochs=1, shuffle=False, **shared).history
        history = {"first": history, "second": more}
    return {**history, "written": written}
