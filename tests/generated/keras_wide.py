"""Random Keras models: functions in Lambda layers, and the ways of scripts that other programs do not draw.

The programs are those of ``keras_models.py``, drawn from the tables here and in ``functions.py``: layers with
state of their own, shared and tied weights, models in models, wrappers around wrappers, batches with weights,
functions of the backend beside a model.
"""

from __future__ import annotations

from unittest import mock

import functions
import keras_models as plain
import numpy as np

import tpucompat.v1 as tf

keras = tf.keras
layers = keras.layers
K = keras.backend


# Layers of a script's own ---------------------------------------------------------------------------


class Remembering(layers.Layer):
    """Keeps averages and counts in weights that updates change."""

    def build(self, input_shape):
        self.average = self.add_weight("average", (2,), initializer="zeros", trainable=False)
        self.left = self.add_weight("left", (), initializer="ones", trainable=False)
        super().build(input_shape)

    def call(self, inputs):
        self.add_update(K.update(self.average, 0.9 * self.average + [0.1, 0.2]), inputs=True)
        self.add_update(K.update_sub(self.left, 0.125), inputs=True)
        return inputs


class Tied(layers.Layer):
    """The weights of another layer, the other way."""

    def __init__(self, tied, **options):
        super().__init__(**options)
        self.tied = tied

    def build(self, input_shape):
        self.bias = self.add_weight("bias", (int(self.tied.kernel.shape[0]),))
        super().build(input_shape)

    def call(self, inputs):
        return K.bias_add(K.dot(inputs, K.transpose(self.tied.kernel)), self.bias)


class Composed(keras.Model):
    """A model as a class, as a layer of another."""

    def __init__(self, units):
        super().__init__()
        self.first = layers.Dense(units, activation="tanh", kernel_regularizer="l2")
        self.second = layers.Dense(units)
        self.drop = layers.Dropout(0.0)

    def call(self, inputs, training=None):
        return self.second(self.drop(self.first(inputs), training=training))


class Largest(keras.metrics.Metric):
    """A metric with a state that is no mean."""

    def __init__(self, name="largest", **options):
        super().__init__(name, **options)
        self.seen = self.add_weight("seen", initializer="zeros")
        self.number = self.add_weight("number", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        change = K.sum(K.abs(y_pred))
        return K.update_add(self.seen, change), K.update_add(
            self.number, K.cast(K.shape(y_pred)[0], "float32")
        )

    def result(self):
        return self.seen / (self.number + 1e-6)


# Pieces: each gives a function of a tensor ----------------------------------------------------------


def function(m, x):
    rows = functions.rows_of(plain.kind_of(x))
    name = m.one(*rows)
    m.note(f"Lambda({name})")
    layer = layers.Lambda(rows[name], mask=lambda *_: None, name=f"function_{len(m.log)}")
    return layer(x)


def remembering(m, x):
    return Remembering()(x)


def tied(m, x):
    layer = layers.Dense(m.units(), activation="tanh")
    return Tied(layer)(layer(x))


def inside(m, x):
    """A Sequential model in a functional one, sometimes called twice."""
    size = x.shape.as_list()[-1]
    inner = keras.Sequential(
        [
            layers.Dense(size, activation="tanh", kernel_regularizer=keras.regularizers.l2(0.01)),
            layers.Dropout(0.0),
            layers.Dense(size, use_bias=False),
        ]
    )
    return inner(inner(x)) if m.often() else inner(x)


def two_deep(m, x):
    given = layers.Input(x.shape.as_list()[1:])
    inner = keras.Sequential([layers.Dense(3, activation="sigmoid", input_shape=given.shape[1:])])
    model = keras.Model(given, [inner(given), layers.Dense(3)(given)])
    return layers.add(model(x))


def composed(m, x):
    return Composed(m.units())(x)


def gated(m, x):
    """A residual block with a gate of its own weights."""
    size = x.shape.as_list()[-1]
    gate = layers.Dense(
        size, activation="sigmoid", bias_initializer=keras.initializers.Constant(-1)
    )
    carry = layers.Lambda(lambda parts: parts[0] * parts[1] + (1.0 - parts[0]) * parts[2])
    return carry([gate(x), layers.Dense(size, activation="tanh")(x), x])


def cells(m):
    return [m.one(layers.LSTMCell, layers.GRUCell, plain.OwnCell)(m.units()) for _ in range(2)]


def masked_cells(m, x):
    x = layers.Masking(0.0)(x)
    given = m.one(cells(m), layers.StackedRNNCells(cells(m)))
    return layers.RNN(given, return_sequences=m.often())(x)


def turned_cells(m, x):
    return layers.Bidirectional(
        layers.RNN(layers.LSTMCell(m.units()), return_sequences=m.often()), merge_mode=m.one("sum")
    )(layers.Masking(0.0)(x))


def states(m, x):
    """The states of a layer with cells, beside what it gives."""
    found = layers.RNN(layers.LSTMCell(3), return_state=True)(x)
    return layers.concatenate(found)


def both_states(m, x):
    found = layers.Bidirectional(layers.LSTM(2, return_state=True, return_sequences=m.often()))(x)
    return layers.concatenate(found[1:])


def masked_pooling(m, x):
    return layers.GlobalAveragePooling1D()(layers.Masking(0.0)(x))


def model_over_steps(m, x):
    inner = keras.Sequential([layers.Dense(4, activation="tanh"), layers.Dense(m.units())])
    return layers.TimeDistributed(inner)(x)


def rows_convolved(m, x):
    made = m.one(
        lambda: layers.Conv1D(2, 2, padding="same"),
        lambda: layers.Bidirectional(layers.GRU(2, return_sequences=True)),
        lambda: layers.MaxPooling1D(2, strides=1, padding="same"),
    )()
    return layers.TimeDistributed(made)(x)


def pictures_convolved(m, x):
    made = m.one(
        lambda: layers.SeparableConv2D(2, 2, padding="same"),
        lambda: layers.DepthwiseConv2D(2, padding="same"),
        lambda: layers.AveragePooling2D(2, strides=1, padding="same"),
        lambda: layers.BatchNormalization(trainable=False),
    )()
    if isinstance(made, layers.BatchNormalization):  # whose statistics 1.15 takes from the batch
        m.apart.add("batch normalization: statistics of a core's part of the batch")
    return layers.TimeDistributed(made)(x)


def own_convolution(m, x):
    """A convolution of the backend, as the step of a series."""
    return layers.ConvLSTM2D(2, 2, padding="same", return_sequences=m.often(), stateful=False)(x)


ANY = [remembering, tied, inside, two_deep, composed, gated, *[function] * 9]
TABLE = {
    "vector": ANY,
    "sequence": [
        *ANY,
        masked_cells,
        masked_cells,
        turned_cells,
        states,
        both_states,
        masked_pooling,
        model_over_steps,
    ],
    "image": [*ANY, rows_convolved],
    "video": [*[function] * 3, remembering, pictures_convolved, own_convolution],
}


def chain(m, x, length):
    for _ in range(length):
        make = m.one(*TABLE[plain.kind_of(x)])
        m.note(make.__name__)
        given = make(m, x)
        # Most layers after a function keep its numbers of an ordinary size.
        if make is function and given.shape.ndims > 1 and m.often(0.6):
            given = layers.Dense(given.shape.as_list()[-1], activation="tanh")(given)
        if np.prod(given.shape.as_list()[1:]) < plain.LARGEST:
            x = given
    return x


def new_input(m, index):
    shape = m.one((5,), (5, 3), (5, 3), (5, 6, 2), (3, 4, 4, 2))
    data = m.numbers.rand(m.examples, *shape).astype("float32")
    if len(shape) == 2 and m.often():
        data[:, -1] = 0.0
    m.note(f"{shape}:")
    given = layers.Input(shape, name=f"input_{index}")
    x = given
    if m.often(0.7):  # a function is of weights, too
        x = layers.Dense(shape[-1], activation="tanh")(x)
    return given, data, x


def build(m):
    m.exact, m.examples, m.hidden = True, m.one(32, 48), None
    given, data, ways = [], [], []
    for index in range(m.one(1, 1, 2)):
        one, numbers, x = new_input(m, index)
        x = chain(m, x, m.random.randint(2, 4))
        given.append(one)
        data.append(numbers)
        ways.append(layers.Flatten()(x) if x.shape.ndims > 2 else x)
    x = ways[0] if len(ways) == 1 else layers.concatenate(ways)
    outputs = [new_output(m, x, index) for index in range(m.one(1, 1, 2))]
    return keras.Model(given, [output[0] for output in outputs]), data, outputs


def new_output(m, x, index):
    """An output; several have different losses."""
    name = f"output_{index}"
    kind = m.one("classes", "numbers", "binary")
    m.note(f"{name}: {kind}")
    found = [Largest(name=f"largest_{index}")]
    if kind == "classes":
        x = layers.Dense(3, activation="softmax", name=name)(x)
        return x, m.numbers.randint(0, 3, m.examples), "sparse_categorical_crossentropy", found
    if kind == "binary":
        x = layers.Dense(1, activation="sigmoid", name=name)(x)
        labels = m.numbers.randint(0, 2, (m.examples, 1)).astype("float32")
        return x, labels, "binary_crossentropy", [*found, "accuracy"]
    loss = m.one("mse", "mae", keras.losses.Huber(0.3))
    x = layers.Dense(2, name=name)(x)
    return x, m.numbers.rand(m.examples, 2).astype("float32"), loss, [*found, "mse"]


# Training -------------------------------------------------------------------------------------------


class Weighted(keras.utils.Sequence):
    """Batches with a weight for every example."""

    def __init__(self, pieces):
        self.pieces = [(*piece, np.linspace(0.5, 1.5, plain.BATCH)) for piece in pieces]

    def __len__(self):
        return len(self.pieces)

    def __getitem__(self, index):
        return self.pieces[index]


def fit(m, model, data, labels, several, brief):
    """Trains in one of the ways of scripts."""
    x, y = plain.unlisted(data), plain.unlisted(labels)
    pieces = list(plain.batches(data, labels, plain.BATCH))
    classed = not several and labels[0].ndim == 1
    rows = {
        "arrays": lambda: model.fit(x, y, plain.BATCH, 2, verbose=0, shuffle=False),
        "checked": lambda: model.fit(
            x,
            y,
            plain.BATCH,
            2,
            verbose=0,
            shuffle=False,
            validation_data=None if brief else (x, y),
            validation_freq=2,
        ),
        "data with steps": lambda: model.fit(
            tf.data.Dataset.from_tensor_slices((tuple(data), tuple(labels)))
            .map(lambda a, b: (a if len(data) > 1 else a[0], b if several else b[0]))
            .repeat()
            .batch(plain.BATCH, drop_remainder=True),
            steps_per_epoch=2,
            epochs=2,
            verbose=0,
        ),
        "generator": lambda: model.fit_generator(
            iter(pieces * 2),
            2,
            2,
            verbose=0,
            class_weight={0: 1.0, 1: 2.0, 2: 0.5} if classed else None,
            max_queue_size=1,
        ),
        "sequence with validation": lambda: model.fit_generator(
            Pieces(pieces),
            verbose=0,
            shuffle=False,
            validation_data=None if brief else Pieces(pieces[:1]),
        ),
    }
    if not several:
        rows["weighted"] = lambda: model.fit_generator(Weighted(pieces), verbose=0, shuffle=False)
    if classed:
        rows["weights of classes"] = lambda: model.fit(
            x, y, plain.BATCH, verbose=0, shuffle=False, class_weight={0: 1.0, 1: 2.0, 2: 0.5}
        )
    name = m.one(*rows, "by hand")
    m.note(f"trained by {name}")
    if name == "by hand":
        K.set_value(model.optimizer.lr, 0.02) if hasattr(model.optimizer, "lr") else None
        return [model.train_on_batch(*piece, reset_metrics=m.often()) for piece in pieces[:2]]
    return rows[name]().history


class Pieces(keras.utils.Sequence):
    """Batches as a Sequence."""

    def __init__(self, pieces):
        self.pieces = pieces

    def __len__(self):
        return len(self.pieces)

    def __getitem__(self, index):
        return self.pieces[index]


def optimizer(m):
    """Adam and SGD: what is drawn here is not the optimizer."""
    found = keras.optimizers
    return m.one(
        lambda: found.SGD(0.05, momentum=0.9),
        lambda: found.Adam(0.01, epsilon=1e-3),
        lambda: tf.train.MomentumOptimizer(0.05, 0.9),
    )()


def beside(model, data):
    """What a script asks of a model that it has trained, by functions of the backend."""
    model = model.sync_to_cpu()
    values = K.batch_get_value(model.weights)
    K.batch_set_value(list(zip(model.weights, [0.5 * value for value in values])))
    ask = K.function([*model.inputs, K.learning_phase()], [*model.outputs, model.layers[-1].input])
    return {"function": ask([*(part[:4] for part in data), 0]), "eval": K.eval(model.weights[-1])}


def train(seed, brief=False):
    """Makes the model of a seed and trains it, as ``keras_models.train``."""
    kept = {}

    def kept_build(m):
        plain_model, kept["data"], outputs = build(m)
        return plain_model, kept["data"], outputs

    def kept_convert(model):
        kept["model"] = plain_convert(model)
        return kept["model"]

    others = {"build": kept_build, "convert": kept_convert, "optimizer": optimizer, "fit": fit}
    with mock.patch.multiple(plain, **others):
        made = plain.train(seed, brief)
    return {**made, "beside": beside(kept["model"], kept["data"])}


plain_convert = plain.convert
