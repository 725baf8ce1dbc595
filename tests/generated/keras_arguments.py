"""Random Keras models with the arguments that ``arguments_drawn.py`` does not draw.

There a layer, an optimizer or a loss is given any argument of its signature. Here the same is done for cells,
wrappers and merges, for metrics, losses and callbacks, and for the methods of a model: ``compile``, ``fit``,
``evaluate``, ``predict``, ``train_on_batch``. Layers of ``arguments_drawn.py`` lie between.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from unittest import mock

import arguments_drawn as drawn
import keras_models as plain
import numpy as np

import tpucompat.v1 as tf

keras = tf.keras
layers = keras.layers
BATCH = plain.BATCH


def some(m, rows, probability=0.35):
    """Some of the rows: name -> a value that a function draws, or the value itself."""
    chosen = {name: row for name, row in rows.items() if m.often(probability)}
    return {name: row(m) if callable(row) else row for name, row in chosen.items()}


# Layers ---------------------------------------------------------------------------------------------

WEIGHT = {
    f"{part}_{what}": getattr(drawn, what)
    for part in ("kernel", "recurrent", "bias")
    for what in ("initializer", "regularizer", "constraint")
}
CELL = {**WEIGHT, "activation": lambda m: m.one("relu", "softsign", None), "use_bias": True}
GATES = {"recurrent_activation": lambda m: m.one("sigmoid", "hard_sigmoid", "softsign")}
GATES["implementation"] = lambda m: m.one(1, 2)
CELLS = {
    "SimpleRNNCell": CELL,
    "LSTMCell": {**CELL, **GATES, "unit_forget_bias": lambda m: m.often()},
    "GRUCell": {**CELL, **GATES, "reset_after": lambda m: m.often()},
}
RNN = {"unroll": lambda m: m.often(), "go_backwards": lambda m: m.often(), "trainable": True}


def cell(m):
    kind = m.one(*CELLS)
    options = some(m, CELLS[kind])
    rate = {m.one("dropout", "recurrent_dropout"): m.rate("dropout of a cell")}
    m.note(f"{kind} {sorted(options)} {rate}")
    return getattr(layers, kind)(m.units(), **options, **rate)


def cells(m):
    """RNN of cells, of stacked ones, with states that are read."""
    made = [cell(m) for _ in range(m.one(1, 1, 2))]
    one = layers.StackedRNNCells(made) if len(made) > 1 else made[0]
    options, way = some(m, RNN), m.one("sequences", "states")
    m.note(f"RNN {options} {way}")
    if way == "states":
        layer = layers.RNN(one, return_sequences=True, return_state=True, **options)

        def with_state(x):
            sequence, *states = layer(x)
            last = tf.nest.flatten(states)[-1]
            scale = layers.Dense(sequence.shape.as_list()[-1])(last)
            return layers.Multiply(name=f"scaled_{len(m.log)}")([sequence, scale])

        return with_state
    return layers.RNN(one, return_sequences=True, **options)


def both_ways(m):
    """Bidirectional with a layer of its own for the way back."""
    kind, units = m.one("LSTM", "GRU", "SimpleRNN"), m.units()
    names = sorted(some(m, dict.fromkeys(WEIGHT, True), 0.2))
    options = {name: WEIGHT[name](m) for name in names}
    own = m.often()
    merge = m.one("concat", "sum", "mul", "ave", None)
    m.note(f"Bidirectional {kind} {names} backward_layer: {own} {merge}")
    make = getattr(layers, kind)
    forward = make(units, return_sequences=True, **options)
    back = {"backward_layer": make(units, return_sequences=True, go_backwards=True)} if own else {}
    layer = layers.Bidirectional(forward, merge_mode=merge, **back)
    if merge is None:
        return lambda x: layers.Average()(layer(x))
    return layer


def stateless_picture(m):
    """ConvLSTM2D with its arguments."""
    rows = {**CELL, "dilation_rate": 1, "padding": "same", "unit_forget_bias": lambda m: m.often()}
    rows.update(recurrent_activation="sigmoid", go_backwards=True, data_format="channels_last")
    options = some(m, rows)
    m.note(f"ConvLSTM2D {sorted(options)}")
    return layers.ConvLSTM2D(2, m.one(1, 2), return_sequences=True, **options)


MERGES = ["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot"]


def merge(m):
    """A merge of a tensor with what a layer makes of it, in either form."""
    kind, object_, normalize = m.one(*MERGES), m.often(), m.often()
    name = f"merged_{len(m.log)}"
    m.note(f"{kind}, object: {object_}")

    def apply(x):
        both = [x, layers.Dense(x.shape.as_list()[-1], activation="tanh")(x)]
        if kind == "Dot":
            axis = x.shape.ndims - 1
            if x.shape.ndims > 3:
                return both[1]
            if object_:
                return layers.Dot(axis, normalize=normalize, name=name)(both)
            return layers.dot(both, axis, normalize=normalize)
        options = {"axis": m.one(1, -1)} if kind == "Concatenate" else {}
        if object_:
            return getattr(layers, kind)(name=name, **options)(both)
        return getattr(layers, kind.lower())(both, **options)

    return apply


def spread(m):
    """Noise of a shape, the axes of a softmax or a normalization, formats of pictures."""
    kinds = [
        "noise_shape",
        "Softmax",
        "LayerNormalization",
        "Lambda",
        "renorm",
        "virtual",
        "Flatten",
    ]
    kind = m.one(*kinds)
    m.note(kind)

    def apply(x):
        rank = x.shape.ndims
        if kind == "noise_shape":
            noise = [None, *[1] * (rank - 2), x.shape.as_list()[-1]]
            make = m.one(layers.Dropout, layers.AlphaDropout)
            return make(m.rate("Dropout"), noise_shape=noise, seed=7)(x)
        if kind == "Softmax":
            return layers.Softmax(axis=m.random.randint(1, rank - 1))(x)
        if kind == "LayerNormalization":
            options = {"beta_constraint": "non_neg", "gamma_regularizer": "l2", "trainable": True}
            return layers.LayerNormalization(
                axis=m.random.randint(1, rank - 1), **some(m, options)
            )(x)
        if kind == "Lambda":
            return layers.Lambda(
                lambda y, scale, shift: y * scale + shift,
                arguments={"scale": 0.5, "shift": 0.1},
                output_shape=x.shape.as_list()[1:],
                name=f"own_{len(m.log)}",
            )(x)
        if kind == "Flatten":
            return layers.Flatten("channels_first" if m.often() else None)(x)
        options = {"renorm": True, "renorm_momentum": 0.8}
        options["renorm_clipping"] = {"rmax": 2.0, "rmin": 0.5, "dmax": 1.0}
        if kind == "virtual":
            options = {"momentum": 0.8, "axis": [rank - 1], "fused": False}
        layer = layers.BatchNormalization(epsilon=1e-2, **options)
        if m.exact:
            return layer(x, training=False)
        m.apart.add("batch normalization: statistics of a core's part of the batch")
        return layer(x)

    return apply


OWN = {
    "vector": [merge, spread],
    "sequence": [cells, cells, both_ways, merge, spread],
    "image": [merge, spread],
    "video": [stateless_picture, spread],
}


def chain(m, x, kind, length, keeps=False):
    """Layers of ``arguments_drawn.py`` and those above."""
    for _ in range(length):
        kind = plain.kind_of(x)
        if m.often(0.4):
            x, _ = drawn_chain(m, x, kind, 1)
            continue
        x = m.one(*OWN[kind])(m)(x)
        if x.shape.as_list()[-1] > 12:
            x = layers.Dense(4)(x)
    return x, plain.kind_of(x)


# Losses and metrics ---------------------------------------------------------------------------------

FOR_SHARES = {
    "AUC": {
        "num_thresholds": 20,
        "curve": lambda m: m.one("ROC", "PR"),
        "summation_method": lambda m: m.one("interpolation", "minoring", "majoring"),
        "thresholds": lambda m: [0.3, 0.6],
    },
    "Precision": {"thresholds": lambda m: m.one(0.4, [0.3, 0.6])},
    "Recall": {"thresholds": lambda m: m.one(0.4, [0.3, 0.6])},
    "TruePositives": {"thresholds": 0.4},
    "TrueNegatives": {"thresholds": lambda m: [0.2, 0.6]},
    "FalsePositives": {"thresholds": 0.6},
    "FalseNegatives": {"thresholds": lambda m: [0.2, 0.6]},
    "BinaryAccuracy": {"threshold": 0.4, "dtype": "float32"},
    "BinaryCrossentropy": {"label_smoothing": 0.1},
    "SensitivityAtSpecificity": {"specificity": None, "num_thresholds": 20},
    "SpecificityAtSensitivity": {"sensitivity": None, "num_thresholds": 20},
}
FOR_CLASSES = {
    "CategoricalCrossentropy": {"label_smoothing": 0.1},
    "CategoricalAccuracy": {"dtype": "float32"},
    "TopKCategoricalAccuracy": {"k": 2},
    "CosineSimilarity": {"axis": 1},
    "Precision": {"top_k": 2, "class_id": 1},
    "Recall": {"top_k": 1, "class_id": 0},
}
FOR_INDICES = {
    "SparseTopKCategoricalAccuracy": {"k": 2},
    "SparseCategoricalCrossentropy": {"axis": -1},
    "SparseCategoricalAccuracy": {"dtype": "float32"},
}
FOR_NUMBERS = {
    "MeanSquaredError": {"dtype": "float32"},
    "RootMeanSquaredError": {},
    "MeanAbsoluteError": {},
    "LogCoshError": {},
    "CosineSimilarity": {"axis": -1},
    "MeanAbsolutePercentageError": {},
}
#: Kind of an output -> losses with their arguments, metrics.
OUTPUTS = {
    "shares": ({"BinaryCrossentropy": {"label_smoothing": 0.1}, "Hinge": {}}, FOR_SHARES),
    "classes": (
        {"CategoricalCrossentropy": {"label_smoothing": 0.2}, "KLDivergence": {}},
        FOR_CLASSES,
    ),
    "indices": ({"SparseCategoricalCrossentropy": {}}, FOR_INDICES),
    "numbers": (
        {
            "MeanSquaredError": {},
            "MeanAbsoluteError": {},
            "Huber": {"delta": 0.3},
            "LogCosh": {},
            "CosineSimilarity": {"axis": -1},
        },
        FOR_NUMBERS,
    ),
}
REDUCTIONS = ["auto", "sum_over_batch_size", "none"]


def new_output(m, x, index):
    """An output, its labels, its loss, and metrics; logits or not."""
    name, kind = f"output_{index}", m.one(*OUTPUTS)
    x = plain.to_vector(m, x)
    chosen, metrics = OUTPUTS[kind]
    loss_name = m.one(*chosen)
    options = some(m, {**chosen[loss_name], "name": "own_loss"})
    if m.often():
        options["reduction"] = m.one(*REDUCTIONS[:2])
    logits = "Crossentropy" in loss_name and m.often()
    if logits:
        options["from_logits"] = True
    size = {"shares": 1, "numbers": 2}.get(kind, 3)
    function = {"shares": "sigmoid", "numbers": None}.get(kind, "softmax")
    x = layers.Dense(size, activation=None if logits else function, name=name)(x)
    found = []
    for number, metric in enumerate(m.random.sample(sorted(metrics), 2)):
        more = some(m, {k: v for k, v in metrics[metric].items() if v is not None}, 0.5)
        first = [0.5] if None in metrics[metric].values() else []
        if logits and "Crossentropy" in metric:
            more["from_logits"] = True
        elif logits:  # shares alone lie between thresholds
            continue
        made = getattr(keras.metrics, metric)
        found.append(made(*first, name=f"own_{index}_{number}", **more))
        m.note(f"{metric} {more}")
    m.note(f"{name}: {kind}, {loss_name} {options}")
    classes = m.numbers.randint(0, 3, m.examples)
    labels = {
        "shares": lambda: m.numbers.randint(0, 2, (m.examples, 1)).astype("float32"),
        "classes": lambda: np.eye(3, dtype="float32")[classes],
        "indices": lambda: classes.astype("int32"),
        "numbers": lambda: m.numbers.rand(m.examples, 2).astype("float32"),
    }[kind]()
    return x, labels, getattr(keras.losses, loss_name)(**options), found


# Methods of a model ---------------------------------------------------------------------------------


def callbacks(m, folder):
    found, ran = keras.callbacks, []
    mode = {"mode": m.one("auto", "min"), "verbose": 0}
    monitor = m.one("loss", "val_loss")
    rows = {
        "EarlyStopping": {"patience": 1, "baseline": 9.0, "min_delta": 0.01, **mode},
        "ReduceLROnPlateau": {"factor": 0.5, "patience": 0, "cooldown": 1, "min_lr": 1e-3, **mode},
        "CSVLogger": {"separator": ";", "append": True},
        "TensorBoard": {"update_freq": m.one("batch", "epoch", 1), "profile_batch": 0},
        "ModelCheckpoint": {"save_weights_only": True, "save_freq": "epoch", **mode},
        "LearningRateScheduler": {"verbose": 0},
        "LambdaCallback": {
            f"on_{what}": lambda *args: ran.append(len(args))
            for what in ("epoch_begin", "batch_begin", "train_begin", "train_end")
        },
        "ProgbarLogger": {"stateful_metrics": None, "count_mode": "steps"},
        "TerminateOnNaN": {},
    }
    rows["TensorBoard"].update(histogram_freq=0, write_graph=False, batch_size=BATCH)
    first = {
        "EarlyStopping": monitor,
        "ReduceLROnPlateau": monitor,
        "CSVLogger": os.path.join(folder, "log.csv"),
        "TensorBoard": folder,
        "ModelCheckpoint": os.path.join(folder, "weights_{epoch}.h5"),
        "LearningRateScheduler": lambda epoch: 0.02 / (1 + epoch),
    }
    made = []
    for name in m.random.sample(sorted(rows), m.one(0, 1, 2)):
        options = some(m, {k: (lambda _, v=v: v) for k, v in rows[name].items()}, 0.5)
        m.note(f"callback {name} {sorted(options)}")
        made.append(getattr(found, name)(*([first[name]] if name in first else []), **options))
    return made


def optimizer(m):
    """Any optimizer; a rate that is a schedule with its arguments."""
    made = drawn_optimizer(m)
    if m.often(0.7):
        return made
    schedules, name = keras.optimizers.schedules, m.one("Exponential", "Inverse", "Polynomial")
    first = {
        "Exponential": ("ExponentialDecay", (0.05, 2, 0.5), {"staircase": True, "name": "rate"}),
        "Inverse": ("InverseTimeDecay", (0.05, 2, 0.5), {"staircase": True, "name": "rate"}),
        "Polynomial": (
            "PolynomialDecay",
            (0.05, 4),
            {"end_learning_rate": 0.01, "power": 2.0, "cycle": True, "name": "rate"},
        ),
    }
    kind, args, options = first[name]
    rate = getattr(schedules, kind)(*args, **some(m, options, 0.5))
    m.note(f"{kind} {sorted(options)}")
    return keras.optimizers.SGD(rate, name="own_sgd")


def walked(m, model, data, labels, several, folder, brief):
    """Everything that is asked of the model: fit, a generator, batches, evaluation, prediction."""
    x, y = plain.unlisted(data), plain.unlisted(labels)
    given, seen = {"batch_size": BATCH, "verbose": 0, "shuffle": False}, {}
    options = some(m, {"workers": 2, "max_queue_size": 3, "use_multiprocessing": False})
    epochs = {"epochs": 2, **some(m, {"initial_epoch": 1})}
    made = callbacks(m, folder)
    rated = {type(each).__name__ for each in made} & {"LearningRateScheduler", "ReduceLROnPlateau"}
    scheduled = isinstance(
        getattr(model.optimizer, "learning_rate", None),
        keras.optimizers.schedules.LearningRateSchedule,
    )
    if rated and scheduled:
        made = []
    first = slice(0, 2 * BATCH)
    validation = (
        plain.unlisted([p[first] for p in data]),
        plain.unlisted([p[first] for p in labels]),
    )
    way = m.one("fit", "fit_generator", "batches")
    m.note(f"{way} {sorted(options)} {epochs}")
    validated = {"validation_data": validation, **some(m, {"validation_freq": 2})}
    if any(getattr(each, "monitor", "") == "val_loss" for each in made):
        validated.pop("validation_freq", None)
    elif brief or m.often():
        validated = {}
    if way == "fit":
        if not several and m.often(0.4):
            given["sample_weight"] = m.numbers.rand(m.examples).astype("float32") + 0.5
        seen["fit"] = model.fit(
            x, y, callbacks=made, **given, **options, **epochs, **validated
        ).history
    elif way == "fit_generator":

        def forever():
            while True:
                yield from plain.batches(data, labels, BATCH)

        options.pop("workers", None)
        seen["fit"] = model.fit_generator(
            forever(),
            steps_per_epoch=2,
            callbacks=made,
            verbose=0,
            **epochs,
            **validated,
            **options,
        ).history
    else:
        kept = some(m, {"reset_metrics": False})
        weights = (
            {} if several else some(m, {"sample_weight": lambda m: m.numbers.rand(BATCH) + 0.5})
        )
        parts = list(plain.batches(data, labels, BATCH))[:2]
        seen["batches"] = [model.train_on_batch(*part, **kept, **weights) for part in parts]
        if not brief:
            seen["tested"] = [model.test_on_batch(*part, **kept) for part in parts]
    for name in ("lr", "val_lr"):
        if isinstance(seen.get("fit"), dict):
            seen["fit"].pop(name, None)
    if brief:
        return seen
    asked = {} if m.often() else {"batch_size": BATCH}
    whole = plain.unlisted([p[:BATCH] for p in data])
    weights = {}
    if not several and m.often(0.3):
        weights["sample_weight"] = m.numbers.rand(m.examples).astype("float32") + 0.5
    seen["evaluate"] = model.evaluate(x, y, batch_size=BATCH, verbose=0, **weights)
    seen["predict"] = model.predict(whole, batch_size=BATCH, **some(m, {"verbose": 0}))
    seen["on_batch"] = model.predict_on_batch(whole)
    generated = some(m, {"max_queue_size": 2, "workers": 1, "verbose": 0})
    seen["evaluate_generator"] = model.evaluate_generator(
        iter(plain.batches(data, labels, BATCH)), steps=2, **generated
    )
    m.note(f"{asked} {sorted(generated)}")
    return seen


def train(seed, brief=False):
    """Makes the program of a seed and trains it, as ``keras_models.train``."""
    m, folder = plain.Maker(seed), tempfile.mkdtemp()
    others = {"chain": chain, "new_output": new_output}
    try:
        with mock.patch.multiple(plain, **others):
            return {**_train(m, folder, brief), "log": m.log, "apart": sorted(m.apart)}
    except Exception as error:
        error.log = m.log
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _train(m, folder, brief):
    np.random.seed(m.seed)
    tf.set_random_seed(m.seed)
    made, data, outputs = plain.build(m)
    if m.often(0.7):
        plain.reset_weights(made, m.numbers)
    labels, several = [output[1] for output in outputs], len(outputs) > 1
    losses, metrics = [output[2] for output in outputs], [output[3] for output in outputs]
    options = {"loss": losses if several else losses[0]}
    options["metrics"] = metrics if several else metrics[0]
    names = [output[0].op.name.split("/")[0] for output in outputs]
    if several and m.often():
        options["loss"] = dict(zip(names, losses))
        options["metrics"] = dict(zip(names, metrics))
    if several and m.often():
        shares = [0.7, 0.3][: len(names)]
        options["loss_weights"] = m.one(shares, dict(zip(names, shares)))
    if not several and m.often(0.3):
        options["weighted_metrics"] = [keras.metrics.MeanSquaredError(name="weighted")]
    model = plain.convert(made)
    model.compile(optimizer(m), **options)
    seen = walked(m, model, data, labels, several, folder, brief)
    return {"seen": seen, "weights": model.get_weights()}


drawn_chain, drawn_optimizer = drawn.chain, drawn.optimizer
