"""Random Keras models of TensorFlow 1's time, trained through ``keras_to_tpu_model``.

A model is a function of its seed alone: layers, initial weights, data, optimizer, and how it is trained.
``run.py`` trains them on a number of cores. What cannot be the same on one replica and on several cores
(random numbers, statistics of a core's part of the batch) is named in the result, and only has to be finite.

Sizes are small: a step of most models takes milliseconds.
"""

from __future__ import annotations

import numpy as np
from choices import Maker

import tpucompat.v1 as tf
from tpucompat.engines import accelerator

keras = tf.keras
layers = keras.layers
K = keras.backend
BATCH = 16


# Options of layers --------------------------------------------------------------------------------


def activation(m):
    return m.one(
        None, "relu", "tanh", "sigmoid", "elu", "selu", "softplus", "hard_sigmoid", tf.nn.tanh
    )


def kernel_options(m, constraints=True):
    options = {"activation": activation(m), "use_bias": m.often(0.8)}
    if m.often(0.3):
        options["kernel_regularizer"] = m.one(
            "l2", keras.regularizers.l1(0.01), keras.regularizers.l1_l2(0.01, 0.02)
        )
    if m.often(0.15):
        options["activity_regularizer"] = keras.regularizers.l2(0.01)
    if constraints and m.often(0.2):
        options["kernel_constraint"] = m.one(
            "non_neg",
            keras.constraints.max_norm(0.7),
            keras.constraints.unit_norm(),
            keras.constraints.min_max_norm(0.2, 0.9, rate=0.5),
        )
    if m.often(0.2):
        options["kernel_initializer"] = m.one("he_normal", "lecun_uniform", "orthogonal")
    return options


def recurrent_options(m):
    options = {"activation": m.one("tanh", "relu", "sigmoid"), "use_bias": m.often(0.8)}
    for name in ("kernel_regularizer", "recurrent_regularizer", "bias_regularizer"):
        if (name != "bias_regularizer" or options["use_bias"]) and m.often(0.15):
            options[name] = keras.regularizers.l2(0.01)
    if m.often(0.15):
        options["recurrent_constraint"] = keras.constraints.max_norm(0.8)
    if m.often(0.15):
        options[m.one("dropout", "recurrent_dropout")] = m.rate("dropout of a recurrent layer")
    return options


def recurrent(m, **more):
    kind = m.one("LSTM", "GRU", "SimpleRNN", "RNN", "RNN")
    options = {"go_backwards": m.often(0.15), "unroll": m.often(0.1), **more}
    if kind == "RNN":
        cells = [cell(m) for _ in range(m.random.randint(1, 2))]
        m.note("RNN(" + ", ".join(type(one).__name__ for one in cells) + f", {options})")
        return layers.RNN(cells if len(cells) > 1 else cells[0], **options)
    options.update(recurrent_options(m))
    if kind in ("LSTM", "GRU"):
        options["implementation"] = m.one(1, 2)
        options["recurrent_activation"] = m.one("sigmoid", "hard_sigmoid")
    if kind == "LSTM":
        options["unit_forget_bias"] = m.often()
    if kind == "GRU":
        options["reset_after"] = m.often()
    m.note(f"{kind}({options})")
    return getattr(layers, kind)(m.units(), **options)


def cell(m):
    kind = m.one(layers.LSTMCell, layers.GRUCell, layers.SimpleRNNCell, OwnCell)
    return kind(m.units())


class OwnCell(layers.Layer):
    """A recurrent cell as scripts wrote their own."""

    def __init__(self, units, **options):
        self.units = units
        self.state_size = units
        super().__init__(**options)

    def build(self, input_shape):
        self.kernel = self.add_weight("kernel", shape=(int(input_shape[-1]), self.units))
        self.recurrent = self.add_weight("recurrent", shape=(self.units, self.units))
        self.built = True

    def call(self, inputs, states):
        output = K.tanh(K.dot(inputs, self.kernel) + K.dot(states[0], self.recurrent))
        return output, [output]

    def get_config(self):
        return {"units": self.units, **super().get_config()}


class Counting(layers.Layer):
    """Counts its training steps in a weight, as layers with updates of their own do."""

    def build(self, input_shape):
        self.scale = self.add_weight("scale", shape=(int(input_shape[-1]),), initializer="ones")
        self.count = self.add_weight("count", shape=(), initializer="zeros", trainable=False)
        super().build(input_shape)

    def call(self, inputs, training=None):
        self.add_update(K.update_add(self.count, 1.0))
        return K.in_train_phase(inputs * self.scale * 1.5, inputs * self.scale, training=training)


class Penalty(layers.Layer):
    """Adds losses where it is called, of its weight and of what it is given, as scripts do."""

    def build(self, input_shape):
        self.scale = self.add_weight("scale", shape=(int(input_shape[-1]),), initializer="ones")
        super().build(input_shape)

    def call(self, inputs):
        outputs = inputs * self.scale
        self.add_loss(0.1 * K.sum(K.square(self.scale)))
        self.add_loss(0.1 * K.mean(K.square(outputs)))
        return outputs


# Layers: each function gives a layer (or a function of a tensor) and the kind of what comes out -----


def dense(m, x):
    options = kernel_options(m)
    m.note(f"Dense({options})")
    return layers.Dense(m.units(), **options)


def activated(m, x):
    kind = m.one("LeakyReLU", "PReLU", "ELU", "ThresholdedReLU", "Softmax", "ReLU", "Activation")
    m.note(kind)
    if kind == "Activation":
        return layers.Activation(m.one("tanh", "softsign", "exponential", tf.nn.relu6))
    if kind == "ThresholdedReLU":
        return layers.ThresholdedReLU(0.1)
    return getattr(layers, kind)()


def dropped(m, x):
    kind = m.one("Dropout", "Dropout", "GaussianDropout", "AlphaDropout", "GaussianNoise", "none")
    m.note(kind)
    if kind == "none":  # a layer that knows the phase, and changes nothing
        return m.one(layers.Dropout, layers.GaussianNoise)(0.0)
    return getattr(layers, kind)(m.rate(kind))


def spatially_dropped(m, x):
    kinds = {
        "sequence": layers.SpatialDropout1D,
        "image": layers.SpatialDropout2D,
        "video": layers.SpatialDropout3D,
    }
    make = kinds[kind_of(x)]
    m.note(make.__name__)
    return make(m.rate(make.__name__))


def dropped_with_one_noise(m, x):
    m.note("Dropout(noise_shape)")
    return layers.Dropout(m.rate("Dropout"), noise_shape=[None, 1, *x.shape.as_list()[2:]])


def normalized(m, x):
    frozen = m.often(0.3)
    options = {
        "momentum": m.one(0.5, 0.9),
        "center": m.often(0.8),
        "scale": m.often(0.8),
        "fused": m.one(None, False),
    }
    m.note(f"BatchNormalization({options}, frozen={frozen})")
    layer = layers.BatchNormalization(**options)
    if m.exact:
        return lambda y: layer(y, training=False)
    if frozen:
        layer.trainable = False
    m.apart.add("BatchNormalization: statistics of a core's part of the batch")
    return layer


def layer_normalized(m, x):
    m.note("LayerNormalization")
    return layers.LayerNormalization()


def computed(m, x):
    """A Lambda; some of them are loops or conditionals of TensorFlow's own."""
    functions = {
        "square": lambda x: K.square(x) - 0.1 * x,
        "reverse": lambda x: K.reverse(x, 1),
        "cumsum": lambda x: tf.cumsum(x, axis=1) * 0.5,
        "where": lambda x: tf.where(x > 0.1, x, 0.5 * x),
        "clip": lambda x: tf.clip_by_value(x, -0.8, 0.8),
        "norm": lambda x: K.l2_normalize(x, axis=-1),
        "phase": lambda x: K.in_train_phase(x * 1.5, x),
        "map_fn": lambda x: tf.map_fn(lambda row: tf.tanh(row) + 0.1 * row, x),
        "while": lambda x: tf.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (i + 1, tf.tanh(y) + 0.1 * x),
            (0, x),
            maximum_iterations=3,
        )[1],
        "cond": lambda x: tf.cond(tf.shape(x)[0] > 0, lambda: tf.sin(x), lambda: x),
        "foldl": lambda x: (
            x
            + tf.expand_dims(
                tf.foldl(lambda a, row: a + tf.sin(row), tf.stack(tf.unstack(x, axis=1))), 1
            )
        ),
    }
    name = m.one(*functions)
    m.note(f"Lambda({name})")
    return layers.Lambda(functions[name], name=f"{name}_{len(m.log)}")


def counted(m, x):
    m.note("Counting")
    return Counting()


def penalized(m, x):
    m.note("Penalty")
    return Penalty()


def regularized_activity(m, x):
    m.note("ActivityRegularization")
    return layers.ActivityRegularization(l1=0.001, l2=0.01)


def residual(m, x):
    """An addition of what a layer gives; no layer itself, so it is not in a Sequential."""
    size = x.shape.as_list()[-1]
    layer = layers.Dense(size, activation="tanh")
    merge = m.one(layers.Add, layers.Multiply, layers.Maximum, layers.Average, layers.Subtract)
    m.note(f"residual {merge.__name__}")
    return lambda y: merge()([y, layer(y)])


def nested(m, x):
    """A model as a layer, sometimes called twice."""
    inputs = layers.Input(x.shape.as_list()[1:])
    m.note("nested(")
    inner, _ = chain(m, inputs, kind_of(x), 2, keeps=True)
    model = keras.Model(inputs, inner)
    m.note(")")
    if m.often(0.3) and inner.shape.as_list() == inputs.shape.as_list():
        m.note("twice")
        return lambda y: model(model(y))
    return model


def repeated(m, x):
    m.note("RepeatVector")
    return layers.RepeatVector(m.random.randint(3, 5))


def reshaped(m, x):
    m.note("Reshape")
    return layers.Reshape((-1, 1))


def convolved1(m, x):
    options = kernel_options(m)
    options["padding"] = m.one("same", "valid", "causal")
    kind = m.one("Conv1D", "Conv1D", "SeparableConv1D", "LocallyConnected1D")
    if kind != "Conv1D":
        for name in ("kernel_regularizer", "kernel_constraint", "kernel_initializer"):
            options.pop(name, None)
        options["padding"] = "valid" if kind == "LocallyConnected1D" else m.one("same", "valid")
    elif m.often(0.3):
        options["dilation_rate"] = 2
        options["padding"] = "same"
    m.note(f"{kind}({options})")
    return getattr(layers, kind)(m.units(), 2, **options)


def pooled1(m, x):
    kind = m.one(layers.MaxPooling1D, layers.AveragePooling1D)
    m.note(kind.__name__)
    return kind(2, padding="same", strides=m.one(1, 2))


def moved1(m, x):
    kind = m.one("ZeroPadding1D", "UpSampling1D", "Permute", "Masking")
    m.note(kind)
    if kind == "Permute":
        return layers.Permute((2, 1))
    return (
        layers.Masking(0.0)
        if kind == "Masking"
        else getattr(layers, kind)(*((2,) if kind[0] == "U" else ()))
    )


def steps(m, x):
    return recurrent(m, return_sequences=True)


def last_step(m, x):
    return recurrent(m)


def bidirectional(m, x):
    many = m.often()
    m.note("Bidirectional(")
    layer = layers.Bidirectional(
        recurrent(m, return_sequences=many), merge_mode=m.one("concat", "sum", "mul", "ave")
    )
    m.note(")")
    return (layer, "sequence" if many else "vector")


def over_steps(m, x):
    m.note("TimeDistributed(")
    layer = layers.TimeDistributed(m.one(dense, dropped)(m, x))
    m.note(")")
    return layer


def with_states(m, x):
    """An encoder and a decoder that begins with its states."""
    kind, units = m.one("LSTM", "GRU"), m.units()
    m.note(f"encoder and decoder ({kind})")
    encoder = getattr(layers, kind)(units, return_state=True)
    decoder = getattr(layers, kind)(units, return_sequences=True)

    def call(y):
        _, *states = encoder(y)
        return decoder(y, initial_state=states)

    return call


def attended(m, x):
    m.note("Attention")
    query = layers.Dense(3)
    return lambda y: layers.Attention()([query(y), query(y)])


def pooled_away(m, x):
    kinds = {
        "sequence": (layers.GlobalMaxPooling1D, layers.GlobalAveragePooling1D),
        "image": (layers.GlobalMaxPooling2D, layers.GlobalAveragePooling2D),
    }
    make = m.one(*kinds[kind_of(x)])
    m.note(make.__name__)
    return make()


def flattened(m, x):
    m.note("Flatten")
    return layers.Flatten()


def convolved2(m, x):
    kind = m.one("Conv2D", "Conv2D", "SeparableConv2D", "DepthwiseConv2D", "Conv2DTranspose")
    options = kernel_options(m)
    options["padding"] = m.one("same", "valid")
    if kind in ("SeparableConv2D", "DepthwiseConv2D"):
        for name in ("kernel_regularizer", "kernel_constraint", "kernel_initializer"):
            options.pop(name, None)
    if kind in ("Conv2D", "DepthwiseConv2D") and m.often(0.3):
        options["strides"] = 2
        options["padding"] = "same"
    m.note(f"{kind}({options})")
    arguments = (2,) if kind == "DepthwiseConv2D" else (m.units(), 2)
    return getattr(layers, kind)(*arguments, **options)


def pooled2(m, x):
    kind = m.one(layers.MaxPooling2D, layers.AveragePooling2D)
    m.note(kind.__name__)
    return kind(2, padding="same", strides=m.one(1, 2))


def moved2(m, x):
    kind = m.one("ZeroPadding2D", "UpSampling2D")
    m.note(kind)
    return getattr(layers, kind)()


def rows_as_steps(m, x):
    m.note("TimeDistributed(recurrent) over rows")
    return layers.TimeDistributed(recurrent(m))


def video_convolved(m, x):
    many = m.often()
    options = {"dropout": m.rate("dropout of ConvLSTM2D")} if m.often(0.2) else {}
    m.note(f"ConvLSTM2D({many}, {options})")
    layer = layers.ConvLSTM2D(
        2, 2, padding=m.one("same", "valid"), return_sequences=many, **options
    )
    return (layer, "video" if many else "image")


def pictures(m, x):
    m.note("TimeDistributed(Conv2D)")
    return layers.TimeDistributed(layers.Conv2D(2, 2, activation="relu"))


def flat_pictures(m, x):
    m.note("TimeDistributed(Flatten)")
    return layers.TimeDistributed(layers.Flatten())


def convolved3(m, x):
    m.note("Conv3D")
    return layers.Conv3D(2, 2, padding="same", activation=activation(m))


ANY = [(activated, None), (dropped, None), (normalized, None), (computed, None), (counted, None)]
ANY += [(penalized, None), (regularized_activity, None), (residual, None), (layer_normalized, None)]
# Kind of a tensor -> the layers that take it, with the kind of what they give where it is another.
TABLE = {
    "vector": [
        *ANY,
        (dense, None),
        (dense, None),
        (nested, None),
        (repeated, "sequence"),
        (reshaped, "sequence"),
    ],
    "sequence": [
        *ANY,
        (convolved1, None),
        (pooled1, None),
        (moved1, None),
        (spatially_dropped, None),
        (dropped_with_one_noise, None),
        (steps, None),
        (steps, None),
        (last_step, "vector"),
        (last_step, "vector"),
        (bidirectional, None),
        (over_steps, None),
        (with_states, None),
        (attended, None),
        (nested, None),
        (pooled_away, "vector"),
        (flattened, "vector"),
    ],
    "image": [
        *ANY,
        (convolved2, None),
        (convolved2, None),
        (pooled2, None),
        (moved2, None),
        (spatially_dropped, None),
        (rows_as_steps, "sequence"),
        (nested, None),
        (pooled_away, "vector"),
        (flattened, "vector"),
    ],
    "video": [
        (dropped, None),
        (spatially_dropped, None),
        (normalized, None),
        (video_convolved, None),
        (video_convolved, None),
        (pictures, None),
        (convolved3, None),
        (flat_pictures, "sequence"),
    ],
}
# The way from one kind to another, where the random one does not get there.
WAYS = {"sequence": last_step, "image": pooled_away, "video": flat_pictures}
KINDS = {2: "vector", 3: "sequence", 4: "image", 5: "video"}
SMALLEST = 3  # steps, rows and columns that a layer which makes them fewer needs
LARGEST = 400  # numbers in one example


def kind_of(x):
    return KINDS[x.shape.ndims]


def fits(make, x):
    """Whether a layer takes a tensor of this size."""
    sizes = x.shape.as_list()[1:]
    if None in sizes:
        return False
    if make in (convolved1, convolved2, video_convolved, pictures, convolved3):
        return min(sizes[:-1]) >= SMALLEST
    if make in (moved1, moved2, repeated):
        return np.prod(sizes) * 2 < LARGEST
    return True


def apply(m, x, row):
    make, kind = row
    made = make(m, x)
    if isinstance(made, tuple):
        made, kind = made
    return made(x), kind or kind_of(x)


def chain(m, x, kind, length, keeps=False):
    """Some random layers; with ``keeps`` the kind stays."""
    for _ in range(length):
        rows = [row for row in TABLE[kind] if fits(row[0], x) and not (keeps and row[1])]
        if keeps:
            # Keras itself cannot place the losses of a layer in a model within a model (``penalized``).
            apart = (nested, bidirectional, video_convolved, penalized)
            rows = [row for row in rows if row[0] not in apart]
        x, kind = apply(m, x, m.one(*rows))
    return x, kind


def to_vector(m, x):
    while x.shape.ndims > 2:
        kind = kind_of(x)
        make = m.one(WAYS[kind], flattened) if kind != "video" else flat_pictures
        x, _ = apply(m, x, (make, None))
    return x


# Inputs and outputs -------------------------------------------------------------------------------


def new_data(m):
    """The shape of an example, the examples, and whether they are numbers of words."""
    kind = m.one("tokens", "tokens", "sequence", "sequence", "vector", "image", "video")
    m.note(f"{kind}:")
    if kind == "tokens":
        length = m.random.randint(4, 7)
        return (length,), m.numbers.randint(0, 9, (m.examples, length)).astype("int32"), True
    shape = {
        "sequence": (m.random.randint(4, 7), m.random.randint(2, 4)),
        "vector": (m.random.randint(3, 6),),
        "image": (m.random.randint(5, 7), m.random.randint(5, 7), m.random.randint(1, 3)),
        "video": (3, 5, 5, 1),
    }[kind]
    data = m.numbers.rand(m.examples, *shape).astype("float32")
    if kind == "sequence" and m.often(0.3):
        data[:, -1] = 0.0  # what a Masking layer leaves out
    return shape, data, False


def new_input(m, index):
    """An input, its data, and a tensor of numbers."""
    shape, data, embedded = new_data(m)
    inputs = layers.Input(shape, name=f"input_{index}", dtype=data.dtype.name)
    if not embedded:
        return inputs, data, inputs
    options = {"mask_zero": m.often(0.3)}
    if m.often(0.2):
        options["embeddings_regularizer"] = keras.regularizers.l2(0.01)
    m.note(f"Embedding({options})")
    return inputs, data, layers.Embedding(9, m.units(), **options)(inputs)


def new_output(m, x, index):
    """An output, its labels, its loss, and metrics that make sense."""
    name = f"output_{index}"
    kind = m.one("classes", "classes", "sparse", "binary", "numbers", "numbers")
    if x.shape.ndims == 3 and m.often(0.4):
        x = layers.TimeDistributed(layers.Dense(3, activation="softmax"), name=name)(x)
        m.note(f"{name}: classes of every step")
        shape = x.shape.as_list()[1:]
        labels = np.eye(3, dtype="float32")[m.numbers.randint(0, 3, (m.examples, shape[0]))]
        return x, labels, "categorical_crossentropy", ["accuracy"]
    if x.shape.ndims == 4 and m.often(0.4):
        m.note(f"{name}: picture")
        x = layers.Conv2D(1, 1, activation="sigmoid", name=name)(x)
        labels = m.numbers.randint(0, 2, (m.examples, *x.shape.as_list()[1:])).astype("float32")
        return x, labels, m.one("binary_crossentropy", "mse"), ["mse"]
    x = to_vector(m, x)
    if kind in ("classes", "sparse"):
        classes = m.numbers.randint(0, 3, m.examples)
        x = layers.Dense(3, activation="softmax", name=name)(x)
        if kind == "sparse":
            m.note(f"{name}: sparse classes")
            return (
                x,
                classes.astype(m.one("int32", "int64")),
                "sparse_categorical_crossentropy",
                ["accuracy"],
            )
        loss = m.one(
            "categorical_crossentropy",
            "kullback_leibler_divergence",
            keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
            focal,
        )
        m.note(f"{name}: classes, {loss}")
        metrics = ["accuracy", keras.metrics.CategoricalAccuracy(name=f"same{index}"), surest]
        return x, np.eye(3, dtype="float32")[classes], loss, metrics
    if kind == "binary":
        loss = m.one(
            "binary_crossentropy", "hinge", "squared_hinge", keras.losses.BinaryCrossentropy()
        )
        m.note(f"{name}: binary, {loss}")
        hinge = loss in ("hinge", "squared_hinge")
        x = layers.Dense(1, activation="tanh" if hinge else "sigmoid", name=name)(x)
        labels = m.numbers.randint(0, 2, (m.examples, 1)).astype("float32")
        metrics = [] if hinge else ["accuracy", keras.metrics.AUC(20, name=f"auc{index}")]
        return x, labels * 2 - 1 if hinge else labels, loss, metrics
    loss = m.one("mse", "mae", "logcosh", "poisson", "msle", keras.losses.Huber(0.5), of_the_batch)
    m.note(f"{name}: numbers, {loss}")
    positive = loss in ("poisson", "msle")
    x = layers.Dense(2, activation="softplus" if positive else None, name=name)(x)
    return x, m.numbers.rand(m.examples, 2).astype("float32"), loss, ["mae", "mse", "mape"]


def focal(y_true, y_pred):
    return -K.sum(y_true * K.square(1.0 - y_pred) * K.log(y_pred + 1e-3), axis=-1)


def of_the_batch(y_true, y_pred):
    """A loss that looks at the whole batch: cores see the global one."""
    return K.mean(K.square(y_true - y_pred), axis=-1) + 0.1 * K.square(K.mean(y_pred) - 0.5)


def surest(y_true, y_pred):
    return K.mean(K.max(y_pred, axis=-1))


# Models -------------------------------------------------------------------------------------------


def build(m):
    """A model, its data and its labels."""
    m.examples = m.one(32, 32, 32, 48, 48, 48, 40)  # 40: the last batch has 8
    if m.often(0.25):
        return sequential(m)
    inputs, data, ways = [], [], []
    for index in range(m.one(1, 1, 1, 2, 2, 3)):
        given, numbers, x = new_input(m, index)
        x, _ = chain(m, x, kind_of(x), m.random.randint(1, 4))
        inputs.append(given)
        data.append(numbers)
        ways.append(x)
    x = ways[0]
    if len(ways) > 1:
        x = merged(m, ways)
    if x.shape.ndims == 2 and m.often(0.2):
        m.note("one layer called twice")
        layer = layers.Dense(x.shape.as_list()[-1], activation="tanh")
        x = layer(layer(x))
    x, _ = chain(m, x, kind_of(x), m.random.randint(0, 2))
    outputs = [new_output(m, x, index) for index in range(m.one(1, 1, 1, 2))]
    m.hidden = x
    model = keras.Model(inputs, [output[0] for output in outputs])
    return model, data, outputs


def sequential(m):
    """The same, of one input and output, in the form of most scripts."""
    m.note("Sequential")
    shape, data, embedded = new_data(m)
    model = keras.Sequential(name=f"sequential_{m.seed}")
    if embedded:
        model.add(layers.Embedding(9, 4, input_length=shape[0], mask_zero=m.often(0.3)))
    else:
        model.add(layers.InputLayer(shape))
    kind = kind_of(model.outputs[0])
    for _ in range(m.random.randint(2, 5)):
        x = model.outputs[0]
        make, then = m.one(*(row for row in TABLE[kind] if fits(row[0], x)))
        made = make(m, x)
        made, then = made if isinstance(made, tuple) else (made, then)
        if isinstance(made, layers.Layer):
            model.add(made)
            kind = then or kind_of(model.outputs[0])
    if model.outputs[0].shape.ndims > 2:
        model.add(layers.Flatten())
    model.add(layers.Dense(3, activation="softmax"))
    labels = np.eye(3, dtype="float32")[m.numbers.randint(0, 3, m.examples)]
    m.hidden = None
    return model, [data], [(model.outputs[0], labels, "categorical_crossentropy", ["accuracy"])]


def merged(m, ways):
    """Several tensors become one."""
    vectors = [to_vector(m, x) for x in ways]
    kind = m.one("Concatenate", "Concatenate", "Add", "Multiply", "Average", "Maximum", "Dot")
    m.note(kind)
    if kind == "Concatenate":
        return layers.concatenate(vectors)
    size = m.units()
    if m.often(0.3) and len({x.shape.as_list()[-1] for x in vectors}) == 1:
        layer = layers.Dense(size, activation="tanh")
        vectors = [layer(x) for x in vectors]
        m.note("with a shared layer")
    else:
        vectors = [layers.Dense(size, activation="tanh")(x) for x in vectors]
    if kind == "Dot":
        return layers.concatenate([layers.Dot(1)(vectors[:2]), *vectors])
    return getattr(layers, kind)()(vectors)


def reset_weights(model, numbers):
    """Numbers of our own, so that releases and targets begin alike."""
    values = []
    for weight, value in zip(model.weights, model.get_weights()):
        name = weight.name.rsplit("/", 1)[-1]
        if name.startswith(("moving_variance", "gamma", "scale")):
            values.append(np.ones(value.shape) + 0.1 * numbers.rand(*value.shape))
        elif name.startswith("count"):
            values.append(value)
        else:
            values.append(np.asarray((numbers.rand(*value.shape) - 0.5) * 0.8))
    model.set_weights(values)


# Training -----------------------------------------------------------------------------------------


def optimizer(m):
    """Any optimizer. Those that divide by a root of gradients have an epsilon above rounding errors."""
    optimizers, train = keras.optimizers, tf.train
    limit = {}
    if m.often(0.3):
        name, value = m.one("clipnorm", "clipvalue"), 1e3 if m.exact else m.one(0.05, 1e3)
        limit = {name: value}
        if value < 1.0:
            m.apart.add(f"{name}: every core clips its own gradients")
    rows = {
        "sgd": lambda: "sgd",
        "SGD": lambda: optimizers.SGD(0.05, momentum=0.9, decay=0.1, nesterov=m.often(), **limit),
        "RMSprop": lambda: optimizers.RMSprop(0.01, epsilon=1e-3, **limit),
        "Adam": lambda: optimizers.Adam(0.01, epsilon=1e-3, amsgrad=m.often(), **limit),
        "Adagrad": lambda: optimizers.Adagrad(0.05, epsilon=1e-3, **limit),
        "Adadelta": lambda: optimizers.Adadelta(0.5, epsilon=1e-3, **limit),
        "Adamax": lambda: optimizers.Adamax(0.01, epsilon=1e-3, **limit),
        "Nadam": lambda: optimizers.Nadam(0.01, epsilon=1e-3, **limit),
        "Ftrl": lambda: optimizers.Ftrl(0.05, l1_regularization_strength=0.001),
        "tf sgd": lambda: train.GradientDescentOptimizer(0.1),
        "tf momentum": lambda: train.MomentumOptimizer(0.05, 0.9, use_nesterov=m.often()),
        "tf adam": lambda: train.AdamOptimizer(0.01, epsilon=1e-3),
        "tf rmsprop": lambda: train.RMSPropOptimizer(
            0.01, momentum=0.5, epsilon=1e-3, centered=m.often()
        ),
        "tf adagrad": lambda: train.AdagradOptimizer(0.05),
        "tf adadelta": lambda: train.AdadeltaOptimizer(0.5, epsilon=1e-3),
        "tf ftrl": lambda: train.FtrlOptimizer(0.05, l2_regularization_strength=0.01),
        "tf proximal": lambda: train.ProximalGradientDescentOptimizer(
            0.05, l2_regularization_strength=0.01
        ),
        "tf proximal adagrad": lambda: train.ProximalAdagradOptimizer(
            0.05, l2_regularization_strength=0.01
        ),
        "tf adagrad da": lambda: train.AdagradDAOptimizer(
            0.05, initialized(train.get_or_create_global_step()), l2_regularization_strength=0.01
        ),
    }
    name = m.one(*rows)
    m.note(f"optimizer {name} {limit}")
    return rows[name]()


def initialized(variable):
    """Keras initializes its own variables only: a script has to do it for the global step."""
    K.get_session().run(variable.initializer)
    return variable


def convert(model):
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver()
    strategy = tf.contrib.tpu.TPUDistributionStrategy(resolver)
    return tf.contrib.tpu.keras_to_tpu_model(model, strategy=strategy)


def train(seed, brief=False):
    """Makes the model of a seed and trains it.

    Args:
      seed: The seed.
      brief: Whether it only trains.

    Returns:
      What it gave (``history``, ``evaluate``, ``predict``, ``weights``), why it cannot be the same on several
      cores (``apart``), and what the model is (``log``).
    """
    m = Maker(seed)
    try:
        return {**_train(m, brief), "log": m.log, "apart": sorted(m.apart)}
    except Exception as error:
        error.log = m.log
        raise


def _train(m, brief):
    np.random.seed(m.seed)
    tf.set_random_seed(m.seed)
    plain, data, outputs = build(m)
    if m.hidden is not None and m.often(0.2):
        m.note("add_loss")
        plain.add_loss(0.1 * K.mean(K.square(m.hidden)))
    if m.hidden is not None and m.often(0.15):
        m.note("add_metric")
        plain.add_metric(K.mean(m.hidden), name="mean_of_hidden", aggregation="mean")
    if m.often(0.1) and len(plain.layers) > 3:
        m.note("a frozen layer")
        plain.layers[len(plain.layers) // 2].trainable = False
        if not plain.trainable_weights:
            plain.layers[len(plain.layers) // 2].trainable = True
    reset_weights(plain, m.numbers)
    labels, losses, names = [], [], []
    for tensor, label, loss, _ in outputs:
        labels.append(label)
        losses.append(loss)
        names.append(tensor.op.name.split("/")[0])
    several = len(outputs) > 1
    options = {"loss": losses if several else losses[0]}
    if m.often(0.7):
        chosen = [m.random.sample(o[3], min(len(o[3]), m.random.randint(0, 2))) for o in outputs]
        options["metrics"] = chosen if several else chosen[0]
    if several and m.often():
        options["loss_weights"] = [1.0, 0.3][: len(outputs)]
    if m.often(0.2) and not several:
        options["weighted_metrics"] = ["mse"]
    made = optimizer(m)
    if m.often():  # compiled before, as most scripts do
        plain.compile(made, **options)
        model = convert(plain)
    else:
        model = convert(plain)
        model.compile(made, **options)
    history = fit(m, model, data, labels, several, brief)
    if brief:
        return {"history": history, "weights": model.get_weights()}
    x, y = unlisted(data), unlisted(labels)
    result = {
        "history": history,
        "evaluate": model.evaluate(x, y, batch_size=BATCH, verbose=0),
        "predict": model.predict(unlisted([part[:BATCH] for part in data]), batch_size=BATCH),
        "weights": model.get_weights(),
    }
    if m.often(0.2):
        m.note("synced")
        result["synced"] = model.sync_to_cpu().predict(unlisted([part[:8] for part in data]))
    return result


def unlisted(values):
    return values[0] if len(values) == 1 else list(values)


def fit(m, model, data, labels, several, brief):
    """Trains in one of the ways of scripts; the loss of every step or epoch."""
    x, y = unlisted(data), unlisted(labels)
    way = m.one("arrays", "arrays", "arrays", "generator", "generator", "dataset", "batches")
    m.note(f"trained by {way}")
    if way == "arrays":
        options = {}
        if m.often(0.25) and not several:
            options["sample_weight"] = m.numbers.rand(m.examples).astype("float32") + 0.5
        if m.often(0.2) and not several and labels[0].ndim == 2 and labels[0].shape[1] == 3:
            options["class_weight"] = {0: 1.0, 1: 2.0, 2: 0.5}
        if m.often(0.3):
            options["validation_data"] = (
                unlisted([p[:16] for p in data]),
                unlisted([p[:16] for p in labels]),
            )
        elif m.often(0.2) and m.examples == 48 and not options:
            options["validation_split"] = 1 / 3
        m.note(f"with {sorted(options)}")
        if brief and options.pop("validation_data", None):
            m.note("without validation")
        shuffle = m.often(0.3)
        return model.fit(
            x, y, batch_size=BATCH, epochs=m.one(1, 2), shuffle=shuffle, verbose=0, **options
        ).history
    if way == "batches":
        return [model.train_on_batch(*batch) for batch in list(batches(data, labels, BATCH))[:2]]
    if way == "generator":

        def forever():
            while True:
                yield from batches(data, labels, BATCH)

        return model.fit_generator(
            forever(),
            steps_per_epoch=2,
            epochs=m.one(1, 2),
            verbose=0,
            validation_data=None if brief else (x, y),
        ).history

    def dataset():
        """Each core takes the next batch of its own size."""
        examples = (
            tuple(data) if len(data) > 1 else data[0],
            tuple(labels) if several else labels[0],
        )
        size = BATCH // accelerator.cores()
        return (
            tf.data.Dataset.from_tensor_slices(examples).repeat().batch(size, drop_remainder=True)
        )

    return model.fit(dataset, steps_per_epoch=2, epochs=1, verbose=0).history


def batches(data, labels, size):
    for start in range(0, len(data[0]) - size + 1, size):
        part = slice(start, start + size)
        yield unlisted([each[part] for each in data]), unlisted([each[part] for each in labels])
