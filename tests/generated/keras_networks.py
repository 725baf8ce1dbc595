"""Random Keras models that are whole networks of the time: of articles, and of the programs that followed.

``keras_drawn.py`` puts any layers together; here is what people built of them, with layers, wrappers, cells,
losses and optimizers of their own. What a script does with a model is a walk of ``keras_drawn.py``, with more
actions: data and losses by name, weights of steps, a number that a callback changes, two models over one graph.
"""

from __future__ import annotations

from unittest import mock

import keras_drawn as drawn
import keras_models as plain
import numpy as np

import tpucompat.v1 as tf

keras = tf.keras
layers = keras.layers
K = keras.backend
BATCH = plain.BATCH


# Layers, wrappers and cells of scripts ------------------------------------------------------------------------


class Heads(layers.Layer):
    """Attention of several heads, as a layer with weights of its own."""

    def __init__(self, heads=2, size=3, **options):
        super().__init__(**options)
        self.heads, self.size = heads, size
        self.supports_masking = True

    def build(self, input_shape):
        width = int(input_shape[-1])
        shape = (width, self.heads, self.size)
        self.q, self.k, self.v = (self.add_weight(name, shape) for name in "qkv")
        self.out = self.add_weight("out", (self.heads, self.size, width))
        super().build(input_shape)

    def call(self, inputs, mask=None):
        q, k, v = (tf.einsum("btf,fhs->bths", inputs, w) for w in (self.q, self.k, self.v))
        scores = tf.einsum("bqhs,bkhs->bhqk", q, k) / self.size**0.5
        if mask is not None:
            scores += (1.0 - K.cast(mask, "float32"))[:, None, None] * -1e4
        found = tf.einsum("bhqk,bkhs->bqhs", K.softmax(scores), v)
        return tf.einsum("bqhs,hsf->bqf", found, self.out)

    def get_config(self):
        return {**super().get_config(), "heads": self.heads, "size": self.size}


class Positions(layers.Layer):
    """A table of positions that is added."""

    def build(self, input_shape):
        self.table = self.add_weight("table", [int(n) for n in input_shape[1:]])
        super().build(input_shape)

    def call(self, inputs):
        return inputs + self.table


class Pooled(layers.Layer):
    """Attention over the steps, with a mask that ends here."""

    def __init__(self, **options):
        super().__init__(**options)
        self.supports_masking = True

    def build(self, input_shape):
        self.w = self.add_weight("w", (input_shape[-1], 1), regularizer=keras.regularizers.l2(0.01))
        self.b = self.add_weight("b", (input_shape[1],), constraint=keras.constraints.non_neg())
        super().build(input_shape)

    def compute_mask(self, inputs, mask=None):
        return None

    def call(self, inputs, mask=None):
        scores = K.exp(K.tanh(K.squeeze(K.dot(inputs, self.w), -1) + self.b))
        if mask is not None:
            scores *= K.cast(mask, K.floatx())
        scores /= K.cast(K.sum(scores, axis=1, keepdims=True) + K.epsilon(), K.floatx())
        return K.sum(inputs * K.expand_dims(scores), axis=1)

    def compute_output_shape(self, input_shape):
        return input_shape[0], input_shape[-1]


class Capsules(layers.Layer):
    """Capsules with routing."""

    def __init__(self, number=2, size=3, rounds=2, **options):
        super().__init__(**options)
        self.number, self.size, self.rounds = number, size, rounds

    def build(self, input_shape):
        self.w = self.add_weight("w", (1, int(input_shape[-1]), self.number * self.size))
        super().build(input_shape)

    def call(self, u):
        hats = K.conv1d(u, self.w)
        hats = K.reshape(hats, (-1, K.int_shape(u)[1], self.number, self.size))
        hats = K.permute_dimensions(hats, (0, 2, 1, 3))
        b = K.zeros_like(hats[:, :, :, 0])
        for turn in range(self.rounds):
            c = K.softmax(b, 1)
            o = tf.keras.backend.batch_dot(c, hats, [2, 2])
            o = o / K.sqrt(K.sum(K.square(o), -1, keepdims=True) + 0.1)
            if turn < self.rounds - 1:
                b += K.batch_dot(o, hats, [2, 3])
        return o

    def compute_output_shape(self, input_shape):
        return None, self.number, self.size

    def get_config(self):
        own = {"number": self.number, "size": self.size, "rounds": self.rounds}
        return {**super().get_config(), **own}


class Spectral(layers.Wrapper):
    """Divides a kernel by its largest singular value, which an update comes nearer to."""

    def build(self, input_shape):
        if not self.layer.built:
            self.layer.build(input_shape)
        self.kernel = self.layer.kernel
        self.u = self.add_weight(
            "u", (1, int(self.kernel.shape[-1])), initializer="ones", trainable=False
        )
        super().build(input_shape)

    def call(self, inputs):
        w = tf.reshape(self.kernel, [-1, self.kernel.shape[-1]])
        v = tf.nn.l2_normalize(tf.matmul(self.u, w, transpose_b=True) + 0.1)
        u = tf.stop_gradient(tf.nn.l2_normalize(tf.matmul(v, w) + 0.1))
        sigma = tf.squeeze(tf.matmul(tf.matmul(tf.stop_gradient(v), w), u, transpose_b=True))
        self.add_update(self.u.assign(u), inputs=True)
        self.layer.kernel = self.kernel / (sigma + 1.0)
        return self.layer.call(inputs)

    def compute_output_shape(self, input_shape):
        return self.layer.compute_output_shape(input_shape)


class Divergence(layers.Layer):
    """Adds the loss of a variational model, and a metric."""

    def call(self, inputs):
        mean, log_variance = inputs
        terms = 1.0 + log_variance - K.square(mean) - K.exp(log_variance)
        loss = -0.05 * K.mean(K.sum(terms, -1))
        self.add_loss(loss, inputs=inputs)
        self.add_metric(loss, name=f"{self.name}_kl", aggregation="mean")
        return mean


class Uncertain(layers.Layer):
    """A loss in a layer, of labels that are an input, with a learned weight."""

    def build(self, input_shape):
        self.logs = self.add_weight("logs", (1,), initializer="zeros")
        super().build(input_shape)

    def call(self, inputs):
        y, p = inputs
        self.add_loss(K.mean(K.exp(-self.logs[0]) * K.square(y - p) + self.logs[0]), inputs=inputs)
        return p


class Conditioned(layers.Layer):
    """A cell that sees a constant at every step."""

    def __init__(self, units=3, constants=4, **options):
        super().__init__(**options)
        self.units = self.state_size = self.output_size = units
        self.constants = constants  # 1.15 does not tell a cell their shapes

    def build(self, input_shape):
        self.x = self.add_weight("x", (int(input_shape[-1]), self.units))
        self.c = self.add_weight("c", (self.constants, self.units))
        self.s = self.add_weight("s", (self.units, self.units))
        self.built = True

    def call(self, inputs, states, constants):
        made = K.dot(inputs, self.x) + K.dot(states[0], self.s) + K.dot(constants[0], self.c)
        made = K.tanh(made)
        return made, [made]

    def get_config(self):
        return {**super().get_config(), "units": self.units, "constants": self.constants}


class Scanned(layers.Layer):
    """A recurrence by a loop of TensorFlow or of the backend."""

    def __init__(self, way="scan", **options):
        super().__init__(**options)
        self.way = way

    def build(self, input_shape):
        size = int(input_shape[-1])
        self.w, self.b = self.add_weight("w", (size, size)), self.add_weight("b", (size,))
        super().build(input_shape)

    def call(self, x, training=None):
        steps = x.shape.as_list()[1]
        rows = K.permute_dimensions(x, (1, 0, 2))
        step = lambda s, now: tf.tanh(tf.matmul(s, self.w) + now) + self.b
        if self.way == "scan":
            return tf.transpose(tf.scan(step, rows, initializer=rows[0]), [1, 0, 2])
        if self.way == "foldl":
            return K.foldl(step, rows, initializer=rows[0])
        if self.way == "foldr":
            return tf.foldr(step, rows)
        if self.way == "map_fn":
            return tf.map_fn(lambda one: tf.matmul(one, self.w) + self.b, x)
        if self.way == "rnn":
            found, _, _ = K.rnn(
                lambda now, states: (step(states[0], now), [step(states[0], now)]), x, [x[:, 0]]
            )
            return found
        if self.way == "phase":
            made = K.in_train_phase(lambda: K.dot(x, self.w), lambda: x, training=training)
            return made + self.b
        if self.way == "cond":
            flag = K.learning_phase()
            flag = tf.cast(flag, tf.bool)
            return tf.cond(flag, lambda: K.dot(x, self.w) + self.b, lambda: x * self.b)
        if self.way == "array":
            out = tf.TensorArray(tf.float32, steps)
            state = rows[0]
            for i in range(steps):
                state = step(state, rows[i])
                out = out.write(i, state)
            return tf.transpose(out.stack(), [1, 0, 2])
        found = tf.while_loop(
            lambda i, s: i < steps,
            lambda i, s: (i + 1, step(s, rows[i])),
            (0, rows[0]),
            maximum_iterations=steps,
        )
        return found[1]

    def compute_output_shape(self, shape):
        shape = tf.TensorShape(shape).as_list()
        folded = self.way in ("foldl", "foldr", "while")
        return tf.TensorShape([shape[0], shape[-1]] if folded else shape)

    def get_config(self):
        return {**super().get_config(), "way": self.way}


@tf.custom_gradient
def reversed_gradient(x):
    return tf.identity(x), lambda dy: -0.5 * dy


OWN = (Heads, Positions, Pooled, Capsules, Spectral, Divergence, Uncertain, Conditioned, Scanned)


# Losses -------------------------------------------------------------------------------------------------------


def dice(y_true, y_pred):
    axes = list(range(1, K.ndim(y_pred)))
    both = K.sum(y_true * y_pred, axis=axes)
    return 1.0 - (2.0 * both + 1.0) / (K.sum(y_true, axis=axes) + K.sum(y_pred, axis=axes) + 1.0)


def focal(y_true, y_pred):
    p = K.clip(y_pred, 1e-3, 1.0 - 1e-3)
    p_t = tf.where(tf.equal(y_true, 1), p, 1.0 - p)
    return -K.mean(K.pow(1.0 - p_t, 2.0) * K.log(p_t), axis=-1)


def contrastive(y_true, y_pred):
    return K.mean(
        y_true * K.square(y_pred) + (1 - y_true) * K.square(K.maximum(1.0 - y_pred, 0)), -1
    )


def quantile(q):
    def loss(y_true, y_pred):
        e = y_true - y_pred
        return K.mean(K.maximum(q * e, (q - 1) * e), axis=-1)

    return loss


class Margin(keras.losses.Loss):
    """A loss as a class."""

    def call(self, y_true, y_pred):
        y_true = tf.cast(y_true, y_pred.dtype)
        return K.sum(y_true * K.square(K.relu(0.9 - y_pred)), -1) + 0.5 * K.sum(
            (1 - y_true) * K.square(K.relu(y_pred - 0.1)), -1
        )


# Networks: each gives the inputs, their data, and a tensor ----------------------------------------------------


def numbers(m, *shape):
    return layers.Input(shape), m.numbers.rand(m.examples, *shape).astype("float32")


def words(m, steps=5):
    data = m.numbers.randint(1, 8, (m.examples, steps))
    data[:, 0] = np.concatenate([m.numbers.permutation(8) for _ in range(m.examples // 8)])
    return layers.Input((steps,), dtype=m.one("int32", None)), data.astype("int32")


def seq2seq(m):
    source, given = numbers(m, 4, 3)
    target, wanted = numbers(m, 5, 2)
    kind, units = m.one("LSTM", "GRU"), m.units()
    layer = getattr(layers, kind)
    found = layer(units, return_state=True, return_sequences=True)(source)
    states = m.one(found[1:], list(found[1:]))
    x = layer(units, return_sequences=True)(target, initial_state=states)
    if isinstance(x, (list, tuple)):
        x = x[0]
    if m.often():
        m.note("with attention")
        scores = layers.Activation("softmax")(layers.Dot(axes=[2, 2])([x, found[0]]))
        x = layers.Concatenate()([layers.Dot(axes=[2, 1])([scores, found[0]]), x])
    return [source, target], [given, wanted], x


def transformer(m):
    ids, data = words(m)
    x = layers.Embedding(8, 4, mask_zero=m.often())(ids)
    x = Positions()(x) if not getattr(x, "_keras_mask", None) is not None else x
    for _ in range(m.one(1, 2)):
        y = Heads(2, m.units())(x)
        x = layers.LayerNormalization(epsilon=1e-3)(layers.add([x, layers.Dropout(0.0)(y)]))
        y = layers.Dense(4)(layers.Dense(6, activation=m.one(tf.nn.relu, gelu))(x))
        x = layers.LayerNormalization(epsilon=1e-3)(layers.add([x, y]))
    return [ids], [data], m.one(Pooled(), layers.GlobalAveragePooling1D())(x)


def gelu(x):
    return 0.5 * x * (1.0 + tf.tanh(0.8 * (x + 0.04 * tf.pow(x, 3))))


def attended_steps(m):
    """The attention of blogs: Permute, RepeatVector, Multiply."""
    given, data = numbers(m, 5, 3)
    units = m.units()
    x = m.one(
        layers.LSTM(units, return_sequences=True),
        layers.Bidirectional(layers.GRU(units, return_sequences=True)),
    )(given)
    size = x.shape.as_list()[-1]
    scores = layers.Flatten()(layers.Dense(1, activation="tanh")(x))
    scores = layers.RepeatVector(size)(layers.Activation("softmax")(scores))
    x = layers.Multiply()([x, layers.Permute([2, 1])(scores)])
    x = layers.Lambda(lambda v: K.sum(v, axis=-2), output_shape=(size,))(x)
    return [given], [data], x


def capsules(m):
    given, data = numbers(m, 6, 6, 1)
    x = layers.Conv2D(4, 3, activation="relu")(given)
    x = layers.Reshape((-1, 4))(x)
    x = Capsules(m.one(2, 3), m.units(), m.one(1, 2, 3))(x)
    length = layers.Lambda(lambda z: K.sqrt(K.sum(K.square(z), 2) + 1e-2))
    return [given], [data], m.one(length, layers.Flatten())(x)


def unet(m):
    given, data = numbers(m, 8, 8, 2)
    first = layers.Conv2D(3, 3, activation="relu", padding="same")(given)
    x = layers.MaxPooling2D()(first)
    x = layers.Conv2D(4, 3, activation="elu", padding="same", dilation_rate=m.one(1, 2))(x)
    x = m.one(
        layers.UpSampling2D(interpolation=m.one("nearest", "bilinear")),
        layers.Conv2DTranspose(3, 2, strides=2),
    )(x)
    x = layers.Concatenate(axis=-1)([first, x])
    return [given], [data], layers.Conv2D(2, 3, padding="same", activation="relu")(x)


def residual(m):
    given, data = numbers(m, 6, 6, 2)
    x = layers.Conv2D(4, 3, padding="same", use_bias=False)(given)
    for index in range(m.one(1, 2)):
        y = layers.BatchNormalization(momentum=0.5)(x, training=False if m.exact else None)
        if not m.exact:
            m.apart.add("BatchNormalization: statistics of a core's part of the batch")
        y = layers.Activation("relu")(y)
        y = m.one(
            lambda: layers.SeparableConv2D(4, 3, padding="same"),
            lambda: layers.DepthwiseConv2D(3, padding="same"),
            lambda: layers.Conv2D(4, 3, padding="same", kernel_regularizer=keras.regularizers.l2()),
        )()(y)
        gate = layers.Dense(2, activation="relu")(layers.GlobalAveragePooling2D()(y))
        gate = layers.Reshape((1, 1, 4))(layers.Dense(4, activation="sigmoid")(gate))
        x = layers.add([x, layers.multiply([y, gate])], name=f"add_{index}")
    return [given], [data], layers.GlobalAveragePooling2D()(x)


def wavenet(m):
    given, data = numbers(m, 8, 2)
    x, skips = layers.Conv1D(3, 2, padding="causal")(given), []
    for rate in (1, 2, 4)[: m.one(2, 3)]:
        a, b = (
            layers.Conv1D(3, 2, padding="causal", dilation_rate=rate, activation=f)(x)
            for f in ("tanh", "sigmoid")
        )
        y = layers.multiply([a, b])
        skips.append(layers.Conv1D(4, 1)(y))
        x = layers.add([x, layers.Conv1D(3, 1)(y)])
    return [given], [data], layers.Activation("relu")(layers.add(skips))


def siamese(m):
    (a, one), (b, other) = numbers(m, 5, 4), numbers(m, 5, 4)
    inner = keras.Sequential(
        [
            m.one(layers.LSTM(3), layers.Conv1D(3, 2, activation="tanh", input_shape=(5, 4))),
            layers.Flatten(),
            layers.Dense(m.units(), activation="tanh"),
        ]
    )
    way = m.one("l1", "l2", "cosine", "backend")
    m.note(way)
    x = {
        "l1": layers.Lambda(lambda t: K.abs(t[0] - t[1])),
        "l2": layers.Lambda(
            lambda t: K.sqrt(K.sum(K.square(t[0] - t[1]), axis=1, keepdims=True) + 1e-2),
            output_shape=lambda shapes: (shapes[0][0], 1),
        ),
        "cosine": layers.Dot(1, normalize=True),
        "backend": layers.Lambda(lambda t: K.batch_dot(t[0], t[1], axes=1)),
    }[way]([inner(a), inner(b)])
    return [a, b], [one, other], x


def variational(m):
    given, data = numbers(m, 6)
    x = layers.Dense(5, activation="tanh")(given)
    mean, log_variance = layers.Dense(2)(x), layers.Dense(2)(x)
    mean = Divergence()([mean, log_variance])
    noise = 0.0 if m.exact else 1.0
    if noise:
        m.apart.add("noise: every core draws its own numbers")

    def sampled(args):
        mean, log_variance = args
        drawn_numbers = K.random_normal(shape=(K.shape(mean)[0], K.int_shape(mean)[1]))
        return mean + noise * K.exp(0.5 * log_variance) * drawn_numbers

    z = layers.Lambda(sampled, output_shape=(2,))([mean, log_variance])
    decoder_input = layers.Input((2,))
    decoder = keras.Model(decoder_input, layers.Dense(4, activation="relu")(decoder_input))
    return [given], [data], decoder(z)


def factors(m):
    """Embeddings of users and items, with biases, and a deep way beside."""
    parts, given, data, biases = [], [], [], []
    for name in ("user", "item"):
        ids, values = words(m, 1)
        parts.append(layers.Flatten()(layers.Embedding(8, 3, name=f"{name}_{m.seed}")(ids)))
        biases.append(layers.Flatten()(layers.Embedding(8, 1)(ids)))
        given.append(ids)
        data.append(values)
    x = layers.Dot(1, normalize=False)(parts)
    x = layers.add([x, *biases])
    deep = layers.Dense(4, activation="relu")(layers.concatenate(parts))
    crossed = layers.Lambda(
        lambda t: 0.5 * (K.square(t[0] + t[1]) - K.square(t[0]) - K.square(t[1]))
    )(parts)
    return given, data, layers.concatenate([x, deep, crossed])


def conditioned(m):
    (x, rows), (c, constant) = numbers(m, 5, 3), numbers(m, 4)
    layer = layers.RNN(Conditioned(m.units()), return_sequences=m.often())
    if m.often(0.3):
        m.note("bidirectional")
        layer = layers.Bidirectional(layer)
    return [x, c], [rows, constant], layer(x, constants=c)


def films(m):
    given, data = numbers(m, 3, 4, 4, 2)
    way = m.one("convolved lstm", "3d", "each frame")
    m.note(way)
    if way == "each frame":
        inner = keras.Sequential()
        inner.add(layers.Conv2D(3, 2, activation="relu", input_shape=(4, 4, 2)))
        inner.add(layers.MaxPooling2D())
        inner.add(layers.Flatten())
        return [given], [data], layers.LSTM(3)(layers.TimeDistributed(inner)(given))
    if way == "3d":
        x = layers.Conv3D(2, 2, activation="relu")(layers.ZeroPadding3D()(given))
        return [given], [data], layers.GlobalAveragePooling3D()(layers.MaxPooling3D()(x))
    x = layers.ConvLSTM2D(2, 2, padding="same", return_sequences=True)(given)
    return [given], [data], layers.Flatten()(layers.Conv3D(1, 2)(x))


def memories(m):
    """A memory network, whose hops share their tables."""
    (story, told), (question, asked) = words(m, 6), words(m, 3)
    table, out = layers.Embedding(8, 4), layers.Embedding(8, 4)
    summed = layers.Lambda(lambda v: K.sum(v, axis=1))
    u = summed(table(question))
    for _ in range(m.one(1, 2)):
        p = layers.Lambda(lambda t: K.softmax(K.batch_dot(t[0], t[1], axes=(2, 1))))(
            [table(story), u]
        )
        o = layers.Lambda(lambda t: tf.reduce_sum(t[0] * tf.expand_dims(t[1], -1), 1))(
            [out(story), p]
        )
        u = layers.add([u, o])
    return [story, question], [told, asked], u


def experts(m):
    given, data = numbers(m, 5)
    number = m.one(2, 3)
    gates = layers.Dense(number, activation="softmax", name=f"gates_{m.seed}")(given)
    made = [layers.Dense(4, activation="tanh")(given) for _ in range(number)]
    x = layers.Lambda(lambda t: K.stack(t, axis=1))(made)
    x = layers.Lambda(lambda t: K.sum(t[0] * K.expand_dims(t[1]), axis=1))([x, gates])
    if m.often():
        m.note("gradient reversal")
        x = layers.concatenate([x, layers.Dense(2)(layers.Lambda(reversed_gradient)(x))])
    return [given], [data], x


def graphs(m):
    (nodes, values), (edges, adjacency) = numbers(m, 4, 3), numbers(m, 4, 4)
    x = nodes
    for _ in range(m.one(1, 2)):
        x = layers.Lambda(lambda t: K.batch_dot(t[0], t[1]))([edges, layers.Dense(3)(x)])
        x = layers.LeakyReLU(0.2)(x)
    return [nodes, edges], [values, adjacency], x


def scanned(m):
    given, data = numbers(m, 5, 3)
    way = m.one("scan", "foldl", "foldr", "map_fn", "rnn", "phase", "cond", "array", "while")
    m.note(way)
    x = Scanned(way)(given)
    if m.often():
        x = layers.Dropout(0.0)(x)
    return [given], [data], x


def spectral(m):
    if m.often():
        given, data = numbers(m, 6)
        return [given], [data], Spectral(layers.Dense(4, activation="relu"))(given)
    given, data = numbers(m, 5, 5, 2)
    return [given], [data], layers.Flatten()(Spectral(layers.Conv2D(3, 2))(given))


def own_loss(m):
    """The labels are an input, and a layer has the loss of them."""
    (given, data), (labels, wanted) = numbers(m, 5), numbers(m, 2)
    x = layers.Dense(4, activation="tanh")(given)
    return [given, labels], [data, wanted], Uncertain()([labels, layers.Dense(2)(x)])


NETWORKS = [seq2seq, transformer, attended_steps, capsules, unet, residual, wavenet, siamese]
NETWORKS += [variational, factors, conditioned, films, memories, experts, graphs]
NETWORKS += [scanned, scanned, spectral, own_loss]


# Models and walks ---------------------------------------------------------------------------------------------


def output(m, x, index):
    """A last layer of the tensor's own rank, its labels, its loss, its metrics."""
    shape = x.shape.as_list()[1:-1]
    if shape and m.often(0.3):
        shape, x = [], layers.Flatten()(drawn.unmasked(x))
    kind = m.one("classes", "binary", "numbers")
    size = {"classes": 3, "binary": 1, "numbers": 2}[kind]
    final = {"classes": "softmax", "binary": "sigmoid", "numbers": m.one("linear", "softplus")}
    x = layers.Dense(size, activation=final[kind], name=f"out_{index}")(x)
    draw = m.numbers.randint
    labels = {
        "classes": lambda: np.eye(3)[draw(0, 3, (m.examples, *shape))],
        "binary": lambda: draw(0, 2, (m.examples, *shape, 1)),
        "numbers": lambda: m.numbers.rand(m.examples, *shape, 2),
    }[kind]()
    loss = {
        "classes": ["categorical_crossentropy", focal, Margin()],
        "binary": ["binary_crossentropy", focal, dice, contrastive],
        "numbers": ["mse", "mae", quantile(0.3), tf.losses.mean_squared_error],
    }[kind]
    metrics = {
        "classes": ["accuracy", same],
        "binary": ["accuracy", dice],
        "numbers": ["mae", same],
    }
    loss, chosen = m.one(*loss), m.random.sample(metrics[kind], m.one(0, 1, 2))
    if loss is dice and shape and m.several:
        loss = focal
    m.note(f"{kind} {shape} {loss} {chosen}")
    return x, labels.astype("float32"), loss, chosen


def same(y_true, y_pred):
    return K.mean(K.cast(K.abs(y_true - y_pred) < 0.3, "float32"))


def build(m):
    m.examples = m.one(32, 48)
    network = m.one(*NETWORKS)
    m.note(network.__name__)
    given, data, x = network(m)
    m.several = m.often(0.25)
    outputs = [output(m, x, index) for index in range(1 + m.several)]
    m.hidden = x
    return keras.Model(given, [each[0] for each in outputs]), data, outputs


class OwnMomentum(keras.optimizers.Optimizer):
    """An optimizer of a script's own, as Keras 2 has them."""

    def __init__(self, rate=0.05, name="OwnMomentum", **options):
        super().__init__(name, **options)
        self._set_hyper("learning_rate", rate)

    def _create_slots(self, var_list):
        for var in var_list:
            self.add_slot(var, "m")

    def _resource_apply_dense(self, grad, var, apply_state=None):
        rate = self._get_hyper("learning_rate", var.dtype.base_dtype)
        m = self.get_slot(var, "m")
        new = 0.8 * m + grad
        return tf.group(m.assign(new), var.assign_sub(rate * new))

    def _resource_apply_sparse(self, grad, var, indices, apply_state=None):
        return self._resource_apply_dense(
            tf.convert_to_tensor(tf.IndexedSlices(grad, indices, tf.shape(var))), var
        )

    def get_config(self):
        return {**super().get_config(), "rate": self._serialize_hyperparameter("learning_rate")}


class OwnSigns(tf.train.Optimizer):
    """One of tf.train, with updates by functions of variables."""

    def __init__(self, rate=0.05):
        super().__init__(False, "OwnSigns")
        self.rate = rate

    def _create_slots(self, var_list):
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _apply_dense(self, grad, var):
        m = self.get_slot(var, "m")
        new = tf.assign(m, 0.5 * m + grad)
        return tf.assign_sub(var, self.rate * new / (1.0 + tf.abs(new)))

    def _resource_apply_dense(self, grad, var):
        return self._apply_dense(grad, var)

    def _resource_apply_sparse(self, grad, handle, indices):
        sparse = tf.IndexedSlices(grad, indices, tf.shape(handle))
        return self._apply_dense(tf.convert_to_tensor(sparse), handle)


def optimizer(m):
    if m.often(0.6):
        return drawn_optimizer(m)
    own = m.one(OwnMomentum, OwnSigns)
    m.note(own.__name__)
    return own()


drawn_optimizer = drawn.optimizer


class Walk(drawn.Walk):
    """What a script does with a model, in more ways."""

    def __init__(self, m, folder, brief):
        super().__init__(m, folder, brief)
        # A loss of tf.losses is one number for the whole batch.
        self.weighted = self.weighted and self.outputs[0][2] is not tf.losses.mean_squared_error

    def names(self):
        """The data by the inputs' names, and the labels by the outputs'."""
        x, y = self.everything()
        x, y = (each if isinstance(each, list) else [each] for each in (x, y))
        return dict(zip(self.model.input_names, x)), dict(zip(self.model.output_names, y))

    def fit_by_name(self):
        x, y = self.names()
        given = {name: output[2] for name, output in zip(self.model.output_names, self.outputs)}
        measured = {name: o[3] for name, o in zip(self.model.output_names, self.outputs)}
        weights = dict.fromkeys(given, 0.5)
        self.model.compile(optimizer(self.m), given, metrics=measured, loss_weights=weights)
        weights = {name: np.linspace(0.5, 1.5, self.m.examples) for name in given}
        weighted = not any(callable(loss) for loss in given.values()) and all(
            label.ndim == 2 for label in self.labels
        )
        options = {"sample_weight": weights} if weighted else {}
        return self.model.fit(x, y, BATCH, verbose=0, shuffle=False, **options).history

    def fit_weighted_steps(self):
        """Weights of every step."""
        if self.several or self.labels[0].ndim != 3 or callable(self.outputs[0][2]):
            return None
        x, y = self.everything()
        self.model.compile(optimizer(self.m), self.outputs[0][2], sample_weight_mode="temporal")
        weights = np.linspace(0.5, 1.5, y.shape[0] * y.shape[1]).reshape(y.shape[:2])
        return self.model.fit(x, y, BATCH, verbose=0, shuffle=False, sample_weight=weights).history

    def fit_with_callback(self):
        """A callback changes a number in the loss, reads weights, and ends the training."""
        scale, seen = K.variable(0.5), []
        first = self.outputs[0][2]
        of_loss = keras.losses.get(first)

        def scaled(y_true, y_pred):
            return scale * of_loss(y_true, y_pred)

        losses = [scaled, *[o[2] for o in self.outputs[1:]]]
        self.model.compile(optimizer(self.m), losses if self.several else scaled)
        model = self.model

        class Annealed(keras.callbacks.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                K.set_value(scale, 1.0 + 0.5 * epoch)

            def on_batch_end(self, batch, logs=None):
                seen.append(float(np.sum(self.model.get_weights()[0])))

            def on_epoch_end(self, epoch, logs=None):
                seen.append(float(K.get_value(scale)))
                self.model.stop_training = epoch == 1

        x, y = self.everything()
        more = keras.callbacks.LearningRateScheduler(lambda epoch: 0.01 / (1 + epoch))
        callbacks = [Annealed(), *([more] if hasattr(model.optimizer, "lr") else [])]
        made = model.fit(x, y, BATCH, 4, verbose=0, shuffle=False, callbacks=callbacks)
        return [made.history["loss"], seen]

    def two_models(self):
        """A second model over the same layers, trained in turn, as GANs are."""
        host = self.model.sync_to_cpu()
        other = keras.Model(host.inputs, layers.Dense(2, name="second")(self.flat(host)))
        other.layers[-1].set_weights(
            [np.full(w.shape, 0.1) for w in other.layers[-1].get_weights()]
        )
        other.compile(optimizer(self.m), "mse")
        second = plain.convert(other)
        x, _ = self.some(0)
        wanted = np.linspace(0, 1, 2 * BATCH).reshape(BATCH, 2)
        found = [second.train_on_batch(x, wanted) for _ in range(2)]
        return [found, second.get_weights()]

    def flat(self, host):
        x = host.outputs[0]
        return layers.Flatten()(drawn.unmasked(x)) if x.shape.ndims > 2 else x


TRAINING = [*drawn.TRAINING, "fit_by_name", "fit_weighted_steps", "fit_with_callback", "two_models"]


def train(seed, brief=False):
    """Makes the program of a seed and runs it, as ``keras_drawn.train``."""
    own = {each.__name__: each for each in OWN}
    others = {"build": build, "Walk": Walk, "optimizer": optimizer, "TRAINING": TRAINING}
    with mock.patch.multiple(drawn, **others), keras.utils.custom_object_scope(own):
        return drawn.train(seed, brief)
