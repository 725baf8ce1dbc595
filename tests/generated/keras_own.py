"""Random Keras models out of classes that a script writes itself, trained by hand and by fit.

Layers, cells, metrics, losses, regularizers, constraints, initializers and callbacks of a script's own; outputs
with a dict of losses; weights for examples and for steps; loops over train_on_batch. Nothing is random in a
model, and no statistic of a batch is kept, so that cores give the numbers of one replica.
"""

from __future__ import annotations

import numpy as np
from choices import Maker
from keras_models import convert, reset_weights

import tpucompat.v1 as tf

keras = tf.keras
layers = keras.layers
K = keras.backend
BATCH, EXAMPLES = 16, 48


# Classes of a script ----------------------------------------------------------------------------------


class Halving(keras.regularizers.Regularizer):
    def __init__(self, by=0.01):
        self.by = by

    def __call__(self, x):
        return self.by * K.sum(K.square(x)) / (1.0 + K.sum(K.abs(x)))

    def get_config(self):
        return {"by": self.by}


class Bounded(keras.constraints.Constraint):
    def __init__(self, limit=0.7):
        self.limit = limit

    def __call__(self, w):
        return K.clip(w, -self.limit, self.limit)

    def get_config(self):
        return {"limit": self.limit}


class Stepped(keras.initializers.Initializer):
    def __call__(self, shape, dtype=None, partition_info=None):
        count = int(np.prod([int(n) for n in shape]))
        return tf.reshape(tf.linspace(-0.3, 0.4, count) if count > 1 else [0.1], shape)

    def get_config(self):
        return {}


class Own(layers.Layer):
    """Passes a mask on."""

    def __init__(self, **options):
        super().__init__(**options)
        self.supports_masking = True


class Projected(Own):
    """A matrix of its own, with everything that add_weight takes."""

    def __init__(self, units, decayed=False, **options):
        super().__init__(**options)
        self.units, self.decayed = units, decayed

    def build(self, input_shape):
        size = int(input_shape[-1])
        self.kernel = self.add_weight(
            name="kernel",
            shape=(size, self.units),
            initializer=Stepped(),
            regularizer=Halving() if self.decayed else None,
            constraint=Bounded(),
            trainable=True,
        )
        self.shift = self.add_variable("shift", [self.units], initializer="zeros")
        self.scale = self.add_weight("scale", shape=(), initializer="ones", trainable=False)
        super().build(input_shape)

    def call(self, inputs):
        return tf.tanh(tf.tensordot(inputs, self.kernel * self.scale, 1) + self.shift)

    def compute_output_shape(self, input_shape):
        return [*tf.TensorShape(input_shape).as_list()[:-1], self.units]

    def get_config(self):
        return {**super().get_config(), "units": self.units, "decayed": self.decayed}


class Penalized(Own):
    """Adds a loss of its inputs, a metric of them, and a loss of its weight."""

    def build(self, input_shape):
        self.gain = self.add_weight("gain", shape=(int(input_shape[-1]),), initializer="ones")
        super().build(input_shape)

    def call(self, inputs):
        found = inputs * self.gain
        self.add_loss(0.05 * tf.reduce_mean(tf.square(found)), inputs=inputs)
        self.add_metric(K.mean(found), name=f"{self.name}_mean", aggregation="mean")
        return found


class Nested(Own):
    """Layers in a layer, and another call in training."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units
        self.inner = layers.Dense(units, activation="relu", kernel_regularizer="l2")
        self.outer = Projected(units, True, name="outer")

    def call(self, inputs, training=None):
        x = self.outer(self.inner(inputs))
        return K.in_train_phase(0.5 * x, 0.5 * x + 0.0, training=training)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


class Forked(Own):
    """Two tensors of one."""

    def call(self, inputs):
        return [tf.sin(inputs), inputs * 0.5]

    def compute_output_shape(self, input_shape):
        return [input_shape, input_shape]


class Joined(Own):
    """One tensor of several, each with a weight."""

    def build(self, input_shape):
        self.parts = self.add_weight("parts", shape=(len(input_shape),), initializer="ones")
        super().build(input_shape)

    def call(self, inputs):
        return tf.add_n([x * self.parts[i] for i, x in enumerate(inputs)])

    def compute_output_shape(self, input_shape):
        return input_shape[0]


class Attended(Own):
    """Attention over steps that honours a mask."""

    def build(self, input_shape):
        self.query = self.add_weight(
            "query", shape=(int(input_shape[-1]), 1), initializer=Stepped()
        )
        super().build(input_shape)

    def call(self, inputs, mask=None):
        scores = K.squeeze(K.dot(inputs, self.query), -1)
        if mask is not None:
            scores -= 1e3 * (1.0 - K.cast(mask, "float32"))
        return K.sum(inputs * K.expand_dims(K.softmax(scores)), 1)

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return input_shape[0], input_shape[-1]


class Counted(Own):
    """Counts its calls in training; reads the count before it changes."""

    def build(self, input_shape):
        self.calls = self.add_weight("calls", shape=(), initializer="zeros", trainable=False)
        super().build(input_shape)

    def call(self, inputs):
        now = tf.identity(self.calls)
        with tf.control_dependencies([now]):
            self.add_update(K.update_add(self.calls, 1.0), inputs=inputs)
        return inputs / (1.0 + 0.01 * tf.stop_gradient(now))


class Leaking(layers.Layer):
    """A cell with two states."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units
        self.state_size, self.output_size = [units, units], units

    def build(self, input_shape):
        self.kernel = self.add_weight("kernel", shape=(int(input_shape[-1]), self.units))
        self.back = self.add_weight("back", shape=(self.units, self.units), initializer="identity")
        self.built = True

    def call(self, inputs, states):
        fast, slow = states
        fast = K.tanh(K.dot(inputs, self.kernel) + K.dot(fast, self.back))
        slow = 0.9 * slow + 0.1 * fast
        return fast + slow, [fast, slow]

    def get_config(self):
        return {**super().get_config(), "units": self.units}


class Share(keras.metrics.Metric):
    """The share of outputs near their labels, with a weight for each."""

    def __init__(self, name="share", within=0.4, **options):
        super().__init__(name=name, **options)
        self.within = within
        self.near = self.add_weight("near", initializer="zeros")
        self.all = self.add_weight("all", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = tf.cast(y_true, tf.float32)
        hits = tf.cast(tf.abs(y_true - y_pred) < self.within, tf.float32)
        if sample_weight is not None:
            weights = tf.cast(sample_weight, tf.float32)
            shape = [-1, *weights.shape.as_list()[1:]]
            hits *= tf.reshape(weights, shape + [1] * (hits.shape.ndims - len(shape)))
        self.near.assign_add(tf.reduce_sum(hits))
        self.all.assign_add(tf.cast(tf.size(y_pred), tf.float32))

    def result(self):
        return tf.math.divide_no_nan(self.near, self.all)


class Tversky(keras.losses.Loss):
    def call(self, y_true, y_pred):
        y_true = tf.cast(y_true, y_pred.dtype)
        both = tf.reduce_sum(y_true * y_pred, -1)
        return 1.0 - both / (0.1 + both + 0.3 * tf.reduce_sum(tf.abs(y_true - y_pred), -1))


def swish(x):
    return x * K.sigmoid(x)


def quantile(at):
    def loss(y_true, y_pred):
        error = tf.cast(y_true, tf.float32) - y_pred
        return K.mean(K.maximum(at * error, (at - 1.0) * error), axis=-1)

    return loss


def smallest(y_true, y_pred):
    return K.min(y_pred, axis=-1)


# Pieces -----------------------------------------------------------------------------------------------


def forked(m, x):
    one, other = Forked()(x)
    return Joined()([one, other, layers.Dense(x.shape.as_list()[-1], activation=swish)(x)])


def celled(m, x):
    cell = m.one(Leaking(m.units()), [Leaking(3), layers.GRUCell(m.units())])
    return layers.RNN(cell, return_sequences=True, go_backwards=m.often())(x)


def wrapped(m, x):
    return layers.TimeDistributed(Projected(m.units(), True))(x)


def both_ways(m, x):
    return layers.Bidirectional(layers.RNN(Leaking(m.units()), return_sequences=True))(x)


ROWS = {
    "projected": lambda m, x: Projected(m.units(), m.often())(x),
    "penalized": lambda m, x: Penalized()(x),
    "nested": lambda m, x: Nested(m.units())(x),
    "forked": forked,
    "counted": lambda m, x: Counted()(x),
    "dense": lambda m, x: layers.Dense(
        m.units(), activation=swish, kernel_constraint=Bounded(0.5), bias_regularizer=Halving()
    )(x),
}
STEPS = {"celled": celled, "wrapped": wrapped, "both_ways": both_ways}


def drawn(m, x, rows):
    name = m.one(*rows)
    m.note(name)
    return rows[name](m, x)


def build(m):
    """A model; its data and its labels by name."""
    data, ways = {}, []
    temporal = m.often(0.25)
    for index in range(1 if temporal else m.one(1, 2)):
        steps = temporal or m.often()
        shape = (5, 3) if steps else (4,)
        name = f"given_{index}"
        data[name] = m.numbers.rand(EXAMPLES, *shape).astype("float32")
        given = x = layers.Input(shape, name=name)
        if steps and m.often(0.4):
            m.note("masked")
            data[name][::2, -2:] = 0.0
            x = layers.Masking()(x)
            x = drawn(m, x, STEPS)
        for _ in range(m.random.randint(1, 3)):
            x = drawn(m, x, {**ROWS, **STEPS} if steps else ROWS)
        if steps and not temporal:
            x = m.one(Attended(), layers.GlobalMaxPooling1D(), layers.Flatten())(x)
        ways.append((given, x))
    x = ways[0][1] if len(ways) == 1 else layers.concatenate([x for _, x in ways])
    labels, losses, outputs, found = {}, {}, [], {}
    for index in range(1 if temporal else m.one(1, 2, 2)):
        name = f"out_{index}"
        rows = (EXAMPLES, 5) if temporal else (EXAMPLES,)
        kind = m.one("classes", "numbers", "sets")
        m.note(f"{name}: {kind}")
        if kind == "classes":
            outputs.append(layers.Dense(3, activation="softmax", name=name)(x))
            labels[name] = m.numbers.randint(0, 3, (*rows, 1)).astype("float32")
            losses[name], found[name] = "sparse_categorical_crossentropy", []
        elif kind == "sets":
            outputs.append(layers.Dense(2, activation="sigmoid", name=name)(x))
            labels[name] = m.numbers.randint(0, 2, (*rows, 2)).astype("float32")
            losses[name] = m.one(Tversky(), "binary_crossentropy")
            found[name] = [Share(f"share_{index}")]
        else:
            outputs.append(Projected(2, name=name)(x))
            labels[name] = m.numbers.rand(*rows, 2).astype("float32")
            losses[name] = m.one(quantile(0.3), "mse", Tversky())
            found[name] = [Share(f"share_{index}", 0.3), smallest]
    model = keras.Model([given for given, _ in ways], outputs)
    return model, data, labels, losses, found, temporal


# Training ---------------------------------------------------------------------------------------------


class Rates(keras.callbacks.Callback):
    """Keeps what happens, and halves the rate."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_batch_end(self, batch, logs=None):
        self.seen.append(float(logs["loss"]))

    def on_epoch_end(self, epoch, logs=None):
        K.set_value(self.model.optimizer.lr, K.get_value(self.model.optimizer.lr) * 0.5)


def cut(values, part):
    return {name: value[part] for name, value in values.items()}


def single(values):
    """A dict of one is given as it is in some scripts, as its value in others."""
    return next(iter(values.values())) if len(values) == 1 else list(values.values())


def fit(m, model, data, labels, temporal, brief):
    parts = [slice(start, start + BATCH) for start in range(0, EXAMPLES, BATCH)]
    weights = m.numbers.rand(EXAMPLES, *([5] if temporal else [])).astype("float32") + 0.5
    if len(labels) > 1:
        weights = {name: weights * (i + 1.0) for i, name in enumerate(labels)}
    weighted = temporal or m.often(0.4)
    by_name = m.often()
    shown = (lambda v: v) if by_name else single

    def batch(part):
        made = [shown(cut(data, part)), shown(cut(labels, part))]
        given = cut(weights, part) if isinstance(weights, dict) else weights[part]
        return (*made, given) if weighted else tuple(made)

    def forever():
        while True:
            for part in parts:
                yield batch(part)

    rates = Rates()
    way = m.one("by hand", "fit", "generator", "fit of a generator")
    m.note(f"{way}, weighted: {weighted}, by name: {by_name}")
    checked = {} if brief else {"validation_data": batch(parts[0])}
    every = slice(0, EXAMPLES)
    if way == "by hand":
        found, tested = [], []
        for part in [*parts, parts[0]]:
            x, y, *rest = batch(part)
            found.append(model.train_on_batch(x, y, *rest))
            if m.often(0.3) and not brief:
                tested.append(model.test_on_batch(x, y))
        return {"history": found, "metrics": tested}
    if way == "fit":
        x, y, *rest = batch(every)
        options = {"sample_weight": rest[0]} if rest else {}
        found = model.fit(
            x, y, BATCH, 2, 0, callbacks=[rates], shuffle=False, **options, **checked
        ).history
    else:
        if not brief:
            checked = {"validation_data": forever(), "validation_steps": 2}
        ask = model.fit_generator if way == "generator" else model.fit
        found = ask(
            forever(), steps_per_epoch=3, epochs=2, verbose=0, callbacks=[rates], **checked
        ).history
    return {"history": found, "batches": rates.seen}


def train(seed, brief=False):
    """Makes the model of a seed and trains it: what it gave, and what it is."""
    m = Maker(seed)
    try:
        return {**_train(m, brief), "log": m.log, "apart": []}
    except Exception as error:
        error.log = m.log
        raise


def _train(m, brief):
    np.random.seed(m.seed)
    tf.set_random_seed(m.seed)
    made, data, labels, losses, found, temporal = build(m)
    reset_weights(made, m.numbers)
    options = {"loss": losses if m.often(0.7) else list(losses.values())}
    if m.often(0.7):
        options["metrics"] = found
    if len(losses) > 1 and m.often():
        options["loss_weights"] = {name: 0.5 + i for i, name in enumerate(losses)}
    if temporal:
        options["sample_weight_mode"] = "temporal"
    optimizers = keras.optimizers
    optimizer = m.one(optimizers.SGD(0.05, 0.9), optimizers.Adam(0.01, epsilon=1e-3))
    model = convert(made)
    model.compile(optimizer, **options)
    history = fit(m, model, data, labels, temporal, brief)
    result = {**history, "weights": model.get_weights()}
    if brief:
        return result
    x, y = single(data), single(labels)
    return {
        **result,
        "evaluate": model.evaluate(x, y, batch_size=BATCH, verbose=0),
        "predict": model.predict(x, batch_size=BATCH),
        "synced": model.sync_to_cpu().predict(x, batch_size=BATCH),
    }
