"""Random Keras models and scripts of what no other program of this folder does with them.

The rows were found by a search of TensorFlow 1.15's ``tf.keras`` for names, arguments and methods that no other
file has: callbacks with all their arguments, models saved whole or by their configuration, weights by name,
inputs from several threads, metrics that go on, learning phases that a script sets, other names of layers.
The programs are the walks of ``keras_drawn.py``.
"""

from __future__ import annotations

import csv
import os
from unittest import mock

import keras_drawn as drawn
import keras_models as plain
from keras_drawn import BATCH

import tpucompat.v1 as tf

keras = tf.keras
layers = keras.layers
K = keras.backend

# Layers ---------------------------------------------------------------------------------------------


def other_name(m, x):
    """A layer by its other name."""
    rank = drawn.rank_of(x)
    kind = m.one(
        *{
            1: ("AvgPool1D", "MaxPool1D", "GlobalAvgPool1D", "Convolution1D"),
            2: ("AvgPool2D", "MaxPool2D", "GlobalMaxPool2D", "Convolution2D"),
            3: ("AvgPool3D", "GlobalAvgPool3D", "GlobalMaxPool3D", "Convolution3D"),
        }[rank]
    )
    m.note(kind)
    given = (2, 2) if kind.startswith("Conv") else ()
    return getattr(layers, kind)(*given)(x)


def both_ways(m, x):
    """A stack of cells in both directions, which compute all gates at once or each by itself."""
    kinds = [m.one("LSTMCell", "GRUCell") for _ in range(m.one(1, 2))]
    options = {"implementation": m.one(1, 2), "recurrent_dropout": m.rate("dropout")}
    m.note(f"{kinds} in both directions, {options}")
    cells = [getattr(layers, kind)(m.units(), **options) for kind in kinds]
    layer = layers.RNN(cells, return_sequences=m.often())
    return layers.Bidirectional(layer, merge_mode=m.one("sum", "concat"))(x)


class Counted(layers.Layer):
    """A layer with a loss, a metric, weights that are not trained, and updates of them."""

    def build(self, shape):
        size = int(shape[-1])
        self.scale = self.add_weight("scale", (size,), initializer="ones", regularizer="l2")
        self.seen = self.add_weight("seen", (), initializer="zeros", trainable=False)
        super().build(shape)

    def call(self, x):
        self.add_update(self.seen.assign_add(1.0))
        y = x * self.scale
        self.add_loss(1e-2 * K.mean(K.square(y)), inputs=True)
        self.add_metric(K.mean(y), aggregation="mean", name=f"mean_of_{self.name}")
        return y

    def compute_output_shape(self, shape):
        return shape


def counted(m, x):
    m.note("a layer with a loss and a metric")
    return Counted(name=f"own_{len(m.log)}_{m.random.randint(0, 999)}")(drawn.unmasked(x))


class Inner(keras.Model):
    """A model by its methods, as a layer of another."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.first = layers.Dense(units, activation="tanh")
        self.second = layers.Dense(units)

    def get_config(self):
        return {"name": self.name, "units": self.second.units}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)

    def call(self, x):
        y = self.first(x)
        return y + self.second(y)

    def compute_output_shape(self, shape):
        return tf.TensorShape([*tf.TensorShape(shape).as_list()[:-1], self.second.units])


def of_methods(m, x):
    m.note("a model by its methods")
    return Inner(m.units())(drawn.unmasked(x))


def in_a_row(m, x):
    m.note("a Sequential as a layer")
    return keras.Sequential([layers.Dense(m.units(), activation="relu"), layers.Dense(3)])(
        drawn.unmasked(x)
    )


def model_over_steps(m, x):
    m.note("a model for each step")
    given = layers.Input(x.shape.as_list()[2:])
    flat = layers.Flatten()(given) if given.shape.ndims > 2 else given
    inner = keras.Model(given, layers.Dense(m.units(), activation="tanh")(flat))
    return layers.TimeDistributed(inner)(drawn.unmasked(x))


def phased(m, x):
    """What depends on the learning phase without a layer of Keras."""
    m.note("K.in_train_phase")
    return layers.Lambda(
        lambda y: K.in_train_phase(0.5 * y, lambda: y + 0.0), mask=lambda *_: None
    )(x)


NEW = {
    2: [counted, of_methods, in_a_row, phased],
    3: [counted, other_name, both_ways, both_ways, of_methods, model_over_steps, phased],
    4: [counted, other_name, in_a_row, model_over_steps, phased],
    5: [counted, other_name, model_over_steps, phased],
}
WAYS = {ndims: [*rows, *NEW[ndims] * 2] for ndims, rows in drawn.WAYS.items()}
OWN = {"smooth": drawn.smooth, "Bounded": drawn.Bounded, "wavy": drawn.wavy}
OWN.update({"Counted": Counted, "Inner": Inner})


# What a script does -----------------------------------------------------------------------------------


class Pieces(keras.utils.Sequence):
    """Batches by their number, in another order from epoch to epoch."""

    def __init__(self, pieces, turned=False):
        self.pieces, self.turned = list(pieces), turned

    def __len__(self):
        return len(self.pieces)

    def __getitem__(self, index):
        return self.pieces[index]

    def on_epoch_end(self):
        self.pieces = self.pieces[::-1] if self.turned else self.pieces


class Seen(keras.callbacks.Callback):
    """All that Keras tells a callback, in order."""

    def __init__(self):
        super().__init__()
        self.told = []

    def note(self, what, logs):
        self.told.append(
            [what, *(float(logs[key]) for key in sorted(logs or ()) if key != "val_loss")]
        )

    def on_train_begin(self, logs=None):
        self.told.append([f"params {sorted(self.params)}"])

    def on_epoch_begin(self, epoch, logs=None):
        self.note(f"epoch {epoch}", logs)

    def on_batch_end(self, batch, logs=None):
        logs = {k: v for k, v in (logs or {}).items() if k in ("loss", "batch", "size")}
        self.note(f"batch {batch}", logs)

    def on_train_end(self, logs=None):
        self.told.append(["end"])


class Walk(drawn.Walk):
    """A walk that takes ways that few scripts take."""

    def has_rate(self):
        return hasattr(self.model.optimizer, "lr")

    def fit_with_callbacks(self):
        m, found = self.m, keras.callbacks
        place = os.path.join(self.folder, f"run_{len(m.log)}")
        os.makedirs(place)
        seen, table = Seen(), os.path.join(place, "log.csv")
        rows = {
            "early": lambda: found.EarlyStopping(
                "loss",
                min_delta=m.one(0.0, 5.0),
                patience=m.one(0, 1),
                mode="min",
                baseline=m.one(None, 9.0),
            ),
            "best": lambda: found.EarlyStopping("loss", 5.0, 1, restore_best_weights=True),
            "plateau": lambda: found.ReduceLROnPlateau(
                "loss", 0.5, patience=0, min_delta=5.0, cooldown=m.one(0, 1), min_lr=0.004
            ),
            "schedule": lambda: found.LearningRateScheduler(lambda epoch, lr: lr / (1.0 + epoch)),
            "checkpoint": lambda: found.ModelCheckpoint(
                os.path.join(place, "w-{epoch:02d}-{loss:.1e}.h5"),
                monitor="loss",
                save_weights_only=m.often(),
                save_best_only=m.often(),
                period=m.one(1, 2),
            ),
            "table": lambda: found.CSVLogger(table, separator=";", append=m.often()),
            "nan": lambda: found.TerminateOnNaN(),
            "history": lambda: found.History(),
            "counted": lambda: found.ProgbarLogger(m.one("steps", "samples")),
            "functions": lambda: found.LambdaCallback(
                on_epoch_begin=lambda epoch, logs: None,
                on_epoch_end=lambda epoch, logs: setattr(self.model, "stop_training", epoch == 1),
                on_train_end=lambda logs: seen.told.append(["stopped"]),
            ),
        }
        names = [n for n in rows if self.has_rate() or n not in ("plateau", "schedule")]
        names = m.random.sample(names, m.one(2, 3))
        m.note(f"callbacks {names}")
        x, y = self.everything()
        made = self.model.fit(
            x,
            y,
            BATCH,
            epochs=3,
            verbose=0,
            shuffle=False,
            callbacks=[seen, *(rows[name]() for name in names)],
        )
        result = {"history": made.history, "epochs": made.epoch, "told": told(seen.told)}
        result["files"] = sorted(name for name in os.listdir(place) if not name.startswith("w-"))
        result["saved"] = len([name for name in os.listdir(place) if name.startswith("w-")])
        if os.path.exists(table):
            with open(table) as stream:
                head, *lines = csv.reader(stream, delimiter=";")
            result["table"] = {
                "head": " ".join(head),
                "rows": [[float(n) for n in r] for r in lines],
            }
        return result

    def fit_sequence(self):
        pieces = Pieces([self.some(0), self.some(16)], turned=self.m.often())
        options = {"workers": self.m.one(1, 2), "max_queue_size": self.m.one(1, 4)}
        return self.model.fit_generator(
            pieces, epochs=2, shuffle=False, verbose=0, **options
        ).history

    def fit_sequence_itself(self):
        pieces = Pieces([self.some(16), self.some(0)])
        return self.model.fit(pieces, epochs=1, shuffle=False, verbose=0, workers=2).history

    def fit_in_parts(self):
        """Epoch after epoch, each in a call of its own."""
        x, y = self.everything()
        return [
            self.model.fit(
                x, y, BATCH, epochs=e + 1, initial_epoch=e, verbose=0, shuffle=False
            ).history
            for e in range(2)
        ]

    def metrics_go_on(self):
        found = [self.model.train_on_batch(*self.some(s), reset_metrics=s == 0) for s in (0, 16)]
        return [found, list(map(str, self.model.metrics_names)).__len__()]

    def evaluate_generator(self):
        if self.brief:
            return None
        return self.model.evaluate_generator(Pieces([self.some(0), self.some(16)]), verbose=0)

    def predict_generator(self):
        if self.brief:
            return None
        pieces = Pieces([self.some(0)[:1], self.some(16)[:1]])
        return self.model.predict_generator(pieces, verbose=0)

    def take(self, other):
        """Goes on with a model that is there anew."""
        other.compile(drawn.optimizer(self.m), **self.options(metrics=False))
        self.model = plain.convert(other)
        return self.train_on_batch()

    def save_whole(self):
        path = os.path.join(self.folder, f"model_{len(self.m.log)}.h5")
        self.model.sync_to_cpu().save(path, include_optimizer=False)
        return self.take(keras.models.load_model(path, custom_objects=OWN, compile=False))

    def by_configuration(self):
        model, way = self.model.sync_to_cpu(), self.m.one("json", "config")
        self.m.note(way)
        if way == "json":
            other = keras.models.model_from_json(model.to_json(), OWN)
        else:
            other = keras.Model.from_config(model.get_config(), OWN)
        other.set_weights(self.model.get_weights())
        return self.take(other)

    def weights_by_name(self):
        path = os.path.join(self.folder, f"named_{len(self.m.log)}.h5")
        self.model.save_weights(path, save_format="h5")
        self.model.set_weights([0.5 * value for value in self.model.get_weights()])
        self.model.load_weights(path, by_name=True)
        return self.train_on_batch()

    def hidden_values(self):
        """A layer's values by a function of the backend, in both phases."""
        if self.brief:
            return None
        model = self.model.sync_to_cpu()
        layer = model.layers[-2]
        given = K.function([*model.inputs, K.learning_phase()], [layer.output])
        data = [each[:8] for each in self.data]
        return (
            []
            if self.fixed
            else [given([*data, phase])[0] for phase in ((0, 1) if self.m.exact else (0,))]
        )


def told(rows):
    """Text and numbers apart, as results are compared."""
    return {
        "words": "; ".join(row[0] for row in rows),
        "numbers": [row[1:] for row in rows if row[1:]],
    }


TRAINING = ["fit_with_callbacks"] * 3 + ["fit_sequence", "fit_sequence_itself", "fit_in_parts"]
OTHERS = [
    "metrics_go_on",
    "evaluate_generator",
    "predict_generator",
    "save_whole",
    "by_configuration",
    "weights_by_name",
    "hidden_values",
    "rate",
    "freeze",
]


def train(seed, brief=False):
    """Makes the program of a seed and runs it, as ``keras_drawn.train``."""
    others = {"Walk": Walk, "TRAINING": TRAINING, "OTHERS": OTHERS, "WAYS": WAYS}
    with mock.patch.multiple(drawn, **others):
        return drawn.train(seed, brief)
