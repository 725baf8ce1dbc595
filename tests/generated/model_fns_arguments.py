"""Random model functions whose arguments are drawn function by function.

``arguments_drawn.py`` does this for Keras. A function of tf.layers, tf.contrib.layers, tf.nn, tf.losses,
tf.train, tf.metrics or of an Estimator has its arguments in a table; any of them may be given, a value out of
:data:`VALUES`. The programs are those of ``model_fns.py``.
"""

from __future__ import annotations

import random
import types
from unittest import mock

import model_fns as plain

import tpucompat.v1 as tf

slim, cells, tpu = tf.contrib.layers, tf.nn.rnn_cell, tf.contrib.tpu


# Values of arguments --------------------------------------------------------------------------------


def initializer(m):
    made, seed, size = tf.initializers, m.random.randint(0, 99), m.one(0.2, 0.5)
    rows = {
        "random_uniform": lambda: made.random_uniform(-size, size, seed=seed),
        "random_normal": lambda: made.random_normal(0.1, size),
        "truncated_normal": lambda: made.truncated_normal(0.0, size, seed),
        "variance_scaling": lambda: made.variance_scaling(
            size, m.one("fan_in", "fan_avg", "fan_out"), m.one("uniform", "untruncated_normal")
        ),
        "uniform_unit_scaling": lambda: made.uniform_unit_scaling(1.2, seed=seed),
        "orthogonal": lambda: made.orthogonal(size, seed),
        "glorot_normal": lambda: made.glorot_normal(seed),
        "he_uniform": lambda: made.he_uniform(),
        "lecun_normal": lambda: made.lecun_normal(seed=seed),
        "constant": lambda: made.constant(size),
        "xavier": lambda: slim.xavier_initializer(uniform=False, seed=seed),
        "xavier_conv": lambda: slim.xavier_initializer_conv2d(),
        "slim": lambda: slim.variance_scaling_initializer(
            size, m.one("FAN_IN", "FAN_OUT", "FAN_AVG"), m.often(), seed
        ),
    }
    return rows[m.one(*rows)]()


def vector_initializer(m):
    made = tf.initializers
    return m.one(made.constant(0.3), made.random_uniform(0.5, 1.0, 3), made.ones())


def regularizer(m):
    both = [slim.l1_regularizer(0.01), slim.l2_regularizer(0.01)]
    found = [*both, slim.l1_l2_regularizer(0.01, 0.02), slim.sum_regularizer(both)]
    return m.one(*found, tf.keras.regularizers.l2(0.01), lambda w: 0.01 * tf.reduce_sum(w * w))


def constraint(m):
    kept = tf.keras.constraints
    return m.one(lambda w: tf.clip_by_norm(w, 1.5), kept.NonNeg(), kept.MaxNorm(0.9, axis=0))


def activation(m):
    found = [tf.nn.relu6, tf.nn.selu, tf.nn.leaky_relu, tf.nn.softsign, tf.nn.swish, tf.identity]
    return m.one(None, *found, lambda x: 0.5 * x)


def last_norm(x, **_):
    return slim.unit_norm(x, x.shape.ndims - 1, epsilon=1e-2)


#: The end of an argument's name -> what it may be.
VALUES = {
    "bias_initializer": vector_initializer,
    "biases_initializer": lambda m: m.one(vector_initializer(m), None),
    "beta_initializer": vector_initializer,
    "gamma_initializer": vector_initializer,
    "mean_initializer": vector_initializer,
    "variance_initializer": vector_initializer,
    "initializer": initializer,
    "activity_regularizer": lambda m: tf.keras.regularizers.l2(0.01),
    "regularizer": regularizer,
    "constraint": constraint,
    "activation": activation,
    "activation_fn": activation,
    "use_bias": lambda m: m.often(),
    "trainable": lambda m: m.often(),
    "padding": lambda m: m.one("same", "valid", "SAME", "VALID"),
    "strides": lambda m: m.one(1, 2),
    "stride": lambda m: m.one(1, 2),
    "pool_size": lambda m: m.one(1, 2),
    "dilation_rate": lambda m: 2,
    "rate": lambda m: 1,
    "data_format": lambda m: "channels_last",
    "depth_multiplier": lambda m: 2,
    "momentum": lambda m: m.one(0.5, 0.9),
    "decay": lambda m: m.one(0.5, 0.9),
    "epsilon": lambda m: m.one(1e-3, 1e-2),
    "center": lambda m: m.often(),
    "scale": lambda m: m.often(),
    "fused": lambda m: m.one(None, False, True),
    "renorm": lambda m: True,
    "renorm_clipping": lambda m: {"rmax": 2.0, "rmin": 0.5, "dmax": 1.0},
    "renorm_momentum": lambda m: 0.8,
    "zero_debias_moving_mean": lambda m: True,
    "updates_collections": lambda m: m.one(None, "update_ops", "own_updates"),
    "variables_collections": lambda m: m.one(["own_variables"], {"biases": ["own_biases"]}),
    "outputs_collections": lambda m: "own_outputs",
    "normalizer_fn": lambda m: m.one(slim.layer_norm, last_norm, tf.layers.batch_normalization),
    "param_initializers": lambda m: {"beta": tf.constant_initializer(0.2)},
    "begin_norm_axis": lambda m: m.one(1, -1),
    "forget_bias": lambda m: m.one(0.0, 0.5),
    "use_peepholes": lambda m: m.often(),
    "cell_clip": lambda m: 1.5,
    "num_proj": lambda m: m.units(),
    "proj_clip": lambda m: 0.9,
    "state_is_tuple": lambda m: True,
    "sequence_length": lambda m: True,  # made where the input is known
    "initial_state": lambda m: True,
    "dtype": lambda m: tf.float32,
    "parallel_iterations": lambda m: m.one(1, 4),
    "swap_memory": lambda m: m.often(),
    "time_major": lambda m: True,
    "seed": lambda m: m.random.randint(0, 99),
    "name": lambda m: f"own_{len(m.log)}",
    "scope": lambda m: f"own_{len(m.log)}",
    "use_locking": lambda m: True,
    "learning_rate_power": lambda m: -0.4,
    "initial_accumulator_value": lambda m: m.one(0.2, 0.5),
    "initial_gradient_squared_accumulator_value": lambda m: 0.2,
    "l1_regularization_strength": lambda m: 0.001,
    "l2_regularization_strength": lambda m: 0.01,
    "l2_shrinkage_regularization_strength": lambda m: 0.01,
    "accum_name": lambda m: "accumulated",
    "linear_name": lambda m: "line",
    "rho": lambda m: m.one(0.5, 0.9),
    "beta1": lambda m: m.one(0.5, 0.9),
    "beta2": lambda m: m.one(0.8, 0.99),
    "use_nesterov": lambda m: True,
    "centered": lambda m: True,
    "weight_decay": lambda m: 0.01,
    "eeta": lambda m: 0.1,
    "skip_list": lambda m: ["bias"],
    "staircase": lambda m: True,
    "cycle": lambda m: True,
    "end_learning_rate": lambda m: 0.01,
    "power": lambda m: m.one(0.5, 2.0),
    "alpha": lambda m: 0.1,
    "beta": lambda m: 0.01,
    "num_periods": lambda m: 1.5,
    "t_mul": lambda m: 1.5,
    "m_mul": lambda m: 0.5,
    "label_smoothing": lambda m: 0.2,
    "delta": lambda m: m.one(0.1, 0.5),
    "loss_collection": lambda m: m.one(None, "own_losses"),
    "gate_gradients": lambda m: m.one(1, 2),  # with 0 (GATE_NONE) reads and assignments race
    "aggregation_method": lambda m: m.one(0, 1, 2),
    "colocate_gradients_with_ops": lambda m: True,
    "num_updates": lambda m: True,
    "zero_debias": lambda m: True,
    "num_thresholds": lambda m: 30,
    "curve": lambda m: m.one("ROC", "PR"),
    "summation_method": lambda m: m.one("minoring", "majoring", "careful_interpolation"),
    "metrics_collections": lambda m: ["own_metrics"],
}


def drawn(m, names, probability=0.35):
    """Some of the arguments, with a value each; those with an exclamation mark always."""
    options = {}
    for word in names.split():
        name = word.strip("!")
        if not (word.endswith("!") or m.often(probability)):
            continue
        rows = [name] if name in VALUES else [e for e in VALUES if name.endswith("_" + e)]
        options[name] = VALUES[max(rows, key=len)](m)
    if options.get("strides", options.get("stride", 1)) != 1:
        options.pop("dilation_rate", None)
    if options.get("use_bias") is False:
        for name in ("bias_regularizer", "bias_constraint"):
            options.pop(name, None)
    return options


# Layers ---------------------------------------------------------------------------------------------

KERNEL = "kernel_initializer kernel_regularizer kernel_constraint"
BIAS = "use_bias bias_initializer bias_regularizer bias_constraint activity_regularizer activation"
PARTS = " ".join(
    f"{part}_{what}"
    for part in ("depthwise", "pointwise")
    for what in ("initializer", "regularizer", "constraint")
)
CONV = f"padding strides data_format {BIAS} trainable name"
POOL = "padding data_format name"
SLIM = "activation_fn weights_initializer weights_regularizer biases_initializer biases_regularizer"
SLIM += " variables_collections outputs_collections trainable scope"
NORM = "momentum epsilon center scale beta_initializer gamma_initializer moving_mean_initializer"
NORM += " moving_variance_initializer beta_regularizer gamma_regularizer beta_constraint"
NORM += " gamma_constraint trainable name fused renorm renorm_clipping renorm_momentum"
SLIM_NORM = "decay center scale epsilon activation_fn param_initializers updates_collections"
SLIM_NORM += (
    " variables_collections outputs_collections trainable fused zero_debias_moving_mean scope"
)
OUT = "outputs_collections scope"
#: Kind of tensor -> function -> what it is given first, and the arguments that may be given.
LAYERS = {
    "any": {
        "layers.dense": ("units", f"{KERNEL} {BIAS} trainable name"),
        "layers.dropout": ("", "seed name"),
        "layers.batch_normalization": ("", NORM),
        "contrib.layers.fully_connected": ("units", f"{SLIM} normalizer_fn"),
        "contrib.layers.batch_norm": ("", SLIM_NORM),
        "contrib.layers.layer_norm": (
            "",
            "center scale activation_fn variables_collections trainable begin_norm_axis scope",
        ),
        "contrib.layers.dropout": ("", f"seed {OUT}"),
        "contrib.layers.bias_add": ("", "activation_fn initializer regularizer trainable scope"),
        "contrib.layers.maxout": ("one", "scope"),
    },
    "vector": {"contrib.layers.legacy_fully_connected": ("units", "activation_fn bias_init name")},
    "sequence": {
        "layers.conv1d": ("units size", f"{CONV} {KERNEL} dilation_rate"),
        "layers.separable_conv1d": ("units size", f"{CONV} {PARTS} depth_multiplier"),
        "layers.max_pooling1d": ("two step", POOL),
        "layers.average_pooling1d": ("two step", POOL),
        "contrib.layers.conv1d": ("units size", f"{SLIM} padding stride normalizer_fn"),
    },
    "image": {
        "layers.conv2d": ("units size", f"{CONV} {KERNEL} dilation_rate"),
        "layers.conv2d_transpose": ("units size", f"{CONV} {KERNEL}"),
        "layers.separable_conv2d": ("units size", f"{CONV} {PARTS} depth_multiplier"),
        "layers.max_pooling2d": ("two step", POOL),
        "layers.average_pooling2d": ("two step", POOL),
        "contrib.layers.conv2d": ("units size", f"{SLIM} padding stride rate normalizer_fn"),
        "contrib.layers.separable_conv2d": ("units size", f"{SLIM} depth_multiplier stride"),
        "contrib.layers.conv2d_transpose": ("units size", f"{SLIM} padding stride"),
        "contrib.layers.conv2d_in_plane": ("size", f"{SLIM} padding stride"),
        "contrib.layers.max_pool2d": ("two", f"stride padding {OUT}"),
        "contrib.layers.avg_pool2d": ("two", f"stride padding {OUT}"),
        "contrib.layers.instance_norm": (
            "",
            "center scale epsilon activation_fn param_initializers variables_collections scope",
        ),
    },
}
#: What a function is given first -> how it is drawn.
FIRST = {
    "units": lambda m: m.units(),
    "size": lambda m: m.one(1, 2, 3),
    "one": lambda m: 1,
    "two": lambda m: 2,
    "step": lambda m: m.one(1, 2),
}
#: Arguments of tf.contrib.layers that are spelled in capitals there.
CAPITALS = ("contrib.layers.",)


def found(path):
    """A function by its path."""
    where = tf
    for part in path.split("."):
        where = getattr(where, part)
    return where


def layer(m, kind):
    rows = {**LAYERS["any"], **LAYERS[kind]}
    path = m.one(*rows)
    first, names = rows[path]
    first = [FIRST[name](m) for name in first.split()]
    options = drawn(m, names.replace("bias_init ", ""))
    if path.startswith(CAPITALS) and "padding" in options:
        options["padding"] = options["padding"].upper()
    if "separable" in path or "in_plane" in path:
        options.pop("padding", None) if options.get("stride", 1) != 1 else None
        options.pop("strides", None)
    if "renorm" not in options:
        options = {k: v for k, v in options.items() if not k.startswith("renorm_")}
    else:
        options["fused"] = None if options.get("fused") else options.get("fused")
    if path.endswith(("batch_norm", "batch_normalization")) and not m.exact:
        m.apart.add("batch normalization: statistics of a core's part of the batch")
    rate = m.rate("dropout") if path.endswith("dropout") else 0.0
    m.note(f"{path} {first} {sorted(options)}")

    def apply(x, training):
        more = dict(options)
        if path == "layers.batch_normalization":
            more["training"] = training and not m.exact
        elif path == "contrib.layers.batch_norm":
            more["is_training"] = training and not m.exact
        elif path == "layers.dropout":
            more.update(rate=rate, training=training)
        elif path == "contrib.layers.dropout":
            more.update(keep_prob=1.0 - rate, is_training=training)
        if not fits(path, first, more, x):
            return x
        if path.startswith("layers.") and m.seed % 3 == 0:  # the layer as an object
            called = {"training": more.pop("training")} if "training" in more else {}
            cls = getattr(tf.layers, path.split(".")[1].title().replace("_", ""))
            return cls(*first, **more)(x, **called)
        return found(path)(x, *first, **more)

    return apply


def fits(path, first, options, x):
    """Whether a layer takes a tensor of this size; a size that is too small takes only what keeps it."""
    sizes = x.shape.as_list()[1:-1]
    if not sizes or not (first or "stride" in options):
        return True
    return min(sizes) > 2 * max([*(each for each in first if isinstance(each, int)), 1]) or (
        options.get("padding", "").lower() == "same"
        and options.get("strides", options.get("stride", 1)) == 1
    )


# Recurrent networks ---------------------------------------------------------------------------------

CELLS = {
    "BasicLSTMCell": "forget_bias state_is_tuple activation name dtype",
    "LSTMCell": "use_peepholes cell_clip initializer num_proj proj_clip forget_bias activation name",
    "GRUCell": "activation kernel_initializer bias_initializer name",
    "BasicRNNCell": "activation name",
}
RNN = "sequence_length initial_state parallel_iterations swap_memory time_major scope"
WAYS = {
    "dynamic_rnn": RNN,
    "bidirectional_dynamic_rnn": RNN,
    "static_rnn": "sequence_length initial_state scope",
    "static_bidirectional_rnn": "sequence_length initial_state scope",
}


def cell_of(m):
    kind, wrapped = m.one(*CELLS), m.one(None, None, "Dropout", "Residual", "variational")
    units, options = m.units(), drawn(m, CELLS[kind])
    options["activation"] = options.get("activation") or tf.nn.tanh
    if "num_proj" not in options:
        options.pop("proj_clip", None)
    keep = 1.0 - (m.rate("dropout of a cell") if wrapped in ("Dropout", "variational") else 0.0)
    probabilities = {f"{part}_keep_prob": keep for part in ("input", "output", "state")}
    m.note(f"{kind} {sorted(options)} {wrapped}")

    def make(size, training):
        cell = getattr(cells, kind)(units, **options)
        if wrapped == "Residual":
            return cells.ResidualWrapper(cell, residual_fn=lambda i, o: tf.tanh(o))
        if wrapped == "Dropout" and training:
            return cells.DropoutWrapper(cell, **probabilities, seed=m.seed)
        if wrapped == "variational" and training:
            return cells.DropoutWrapper(
                cell, **probabilities, variational_recurrent=True, input_size=size, dtype=tf.float32
            )
        return cell

    return make


def recurrent(m, kind):
    way = m.one(*WAYS)
    cell, back, options = cell_of(m), cell_of(m), drawn(m, WAYS[way])
    m.note(f"{way} {sorted(options)}")

    def apply(x, training):
        batch, steps, size = x.shape.as_list()
        both, more = "bidirectional" in way, dict(options)
        made = [make(size, training) for make in ((cell, back) if both else (cell,))]
        if more.pop("sequence_length", None):
            lengths = 1 + tf.cast(tf.reduce_sum(tf.abs(x), [1, 2]) * 10.0, tf.int32) % steps
            more["sequence_length"] = lengths
        if more.pop("initial_state", None):
            for one, name in zip(made, ("_fw", "_bw") if both else ("",)):
                more["initial_state" + name] = tf.nest.map_structure(
                    lambda zeros: zeros + 0.1, one.zero_state(batch or tf.shape(x)[0], tf.float32)
                )
        with tf.variable_scope(None, "recurrent"):
            turned = tf.transpose(x, [1, 0, 2])
            given = turned if more.get("time_major") else x
            if way.startswith("static"):
                given = tf.unstack(x, axis=1)
            outputs = getattr(tf.nn, way)(*made, given, dtype=tf.float32, **more)[0]
        if way.startswith("static"):
            return tf.stack(outputs, 1)
        outputs = tf.concat(outputs, -1) if both else outputs
        return tf.transpose(outputs, [1, 0, 2]) if more.get("time_major") else outputs

    return apply


ROWS = [layer, layer, layer, layer, plain.computed]
TABLE = {"vector": ROWS, "sequence": [*ROWS, recurrent, recurrent], "image": ROWS}


# Losses, rates, optimizers, averages ----------------------------------------------------------------

LOSS = "scope loss_collection"
LOSSES = {
    "sparse_softmax_cross_entropy": LOSS,
    "softmax_cross_entropy": f"label_smoothing {LOSS}",
    "sigmoid_cross_entropy": f"label_smoothing {LOSS}",
    "hinge_loss": LOSS,
    "log_loss": f"epsilon {LOSS}",
    "absolute_difference": LOSS,
    "mean_squared_error": LOSS,
    "huber_loss": f"delta {LOSS}",
    "cosine_distance": f"axis! {LOSS}",
    "compute_weighted_loss": LOSS,
}
VALUES["axis"] = lambda m: 1
CLASSES = ["sparse_softmax_cross_entropy", "softmax_cross_entropy", "sigmoid_cross_entropy"]
CLASSES += ["hinge_loss", "log_loss"]
NUMBERS = ["absolute_difference", "mean_squared_error", "huber_loss", "cosine_distance"]
NUMBERS += ["compute_weighted_loss"]
# The sum of a core's weights divides its losses, so MEAN is one replica's only where weights are constant.
REDUCTIONS = ["NONE", "SUM", "MEAN", "SUM_OVER_BATCH_SIZE", "SUM_OVER_NONZERO_WEIGHTS", None]


def loss_of(m, labels):
    names = {"classes": m.one(*CLASSES), "numbers": m.one(*NUMBERS)}
    options = {name: drawn(m, LOSSES[name]) for name in names.values()}
    weighted, reduction = m.one("no", "constant", "examples"), m.one(*REDUCTIONS)
    collected = not any("loss_collection" in one for one in options.values()) and m.often()
    if reduction == "MEAN" and weighted == "examples":
        weighted = "constant"
    m.note(f"losses {options}, weights: {weighted}, {reduction}, get_total_loss: {collected}")

    def one(given, outputs, name, columns):
        losses, more = tf.losses, dict(options[name])
        batch = given.shape.as_list()[0]
        if weighted == "constant":
            more["weights"] = 0.5
        elif weighted == "examples":
            rows = 0.5 + tf.reshape(tf.cast(given, tf.float32), [batch, -1])[:, :1]
            more["weights"] = rows if columns == "matrix" else rows[:, 0]
        if reduction:
            more["reduction"] = getattr(losses.Reduction, reduction)
        if name == "compute_weighted_loss":
            value = losses.compute_weighted_loss(tf.squared_difference(given, outputs), **more)
        else:
            value = getattr(losses, name)(given, outputs, **more)
        if reduction == "NONE":
            return tf.reduce_mean(value)
        return value / batch if reduction == "SUM" else value

    def apply(labels, outputs):
        value, matrix = 0.0, True
        if "classes" in labels:
            given, logits, name = labels["classes"], outputs["classes"], names["classes"]
            logits = tf.nn.softmax(logits) if name == "log_loss" else logits
            matrix = name in ("hinge_loss", "log_loss", "sigmoid_cross_entropy")
            ones = given if name.startswith("sparse") else tf.one_hot(given, 3)
            value += one(ones, logits, name, "matrix" if matrix else "vector")
        if "numbers" in labels:
            value += one(labels["numbers"], outputs["numbers"], names["numbers"], "matrix")
        if collected and reduction not in ("NONE", "SUM"):
            return 0.5 * (value + tf.losses.get_total_loss(add_regularization_losses=True))
        return value + tf.losses.get_regularization_loss()

    return apply


RATES = {
    "exponential_decay": ((0.05, None, 2, 0.5), "staircase name"),
    "natural_exp_decay": ((0.05, None, 2, 0.5), "staircase name"),
    "inverse_time_decay": ((0.05, None, 2, 0.5), "staircase name"),
    "polynomial_decay": ((0.05, None, 2), "end_learning_rate power cycle name"),
    "cosine_decay": ((0.05, None, 4), "alpha name"),
    "cosine_decay_restarts": ((0.05, None, 2), "t_mul m_mul alpha name"),
    "linear_cosine_decay": ((0.05, None, 4), "num_periods alpha beta name"),
    "piecewise_constant": ((None, [1, 2], [0.02, 0.05, 0.01]), "name"),
}
OPTIMIZERS = {
    "train.GradientDescentOptimizer": "use_locking name",
    "train.MomentumOptimizer": "momentum! use_nesterov use_locking name",
    "train.AdamOptimizer": "epsilon! beta1 beta2 use_locking name",
    "train.RMSPropOptimizer": "epsilon! decay momentum centered use_locking name",
    "train.AdagradOptimizer": "initial_accumulator_value use_locking name",
    "train.AdadeltaOptimizer": "epsilon! rho use_locking name",
    "train.FtrlOptimizer": "learning_rate_power initial_accumulator_value l1_regularization_strength"
    " l2_regularization_strength l2_shrinkage_regularization_strength accum_name linear_name"
    " use_locking name",
    "train.ProximalGradientDescentOptimizer": "l1_regularization_strength"
    " l2_regularization_strength use_locking name",
    "train.ProximalAdagradOptimizer": "initial_accumulator_value l1_regularization_strength"
    " l2_regularization_strength use_locking name",
    "train.AdagradDAOptimizer": "initial_gradient_squared_accumulator_value"
    " l1_regularization_strength l2_regularization_strength use_locking name",
    "contrib.opt.AdamWOptimizer": "epsilon! beta1 beta2 use_locking name",
    "contrib.opt.MomentumWOptimizer": "momentum! use_nesterov use_locking name",
    "contrib.opt.LARSOptimizer": "momentum weight_decay eeta epsilon skip_list use_nesterov name",
    "contrib.opt.LazyAdamOptimizer": "epsilon! beta1 beta2 use_locking name",
    "contrib.opt.NadamOptimizer": "epsilon! beta1 beta2 use_locking name",
}
MINIMIZE = "gate_gradients aggregation_method colocate_gradients_with_ops name"


def training_of(m):
    rate, make = m.one(*RATES), m.one(*OPTIMIZERS)
    given, rate_options = RATES[rate][0], drawn(m, RATES[rate][1])
    options, minimized = drawn(m, OPTIMIZERS[make]), drawn(m, MINIMIZE)
    averaged = drawn(m, "num_updates zero_debias name") if m.often(0.3) else None
    way = m.one("minimize", "apply_gradients", "optimize_loss", "var_list")
    m.note(f"{rate} {rate_options}, {make} {options}, {way} {minimized}, average {averaged}")

    def optimizer_at(step, value):
        first = [0.01] if "W" in make.rsplit(".", 1)[1] else []
        return found(make)(*first, value, *([step] if "DAOpt" in make else []), **options)

    def apply(loss):
        step = tf.train.get_global_step()
        value = getattr(tf.train, rate)(*(step if g is None else g for g in given), **rate_options)
        value = tf.convert_to_tensor(value)
        mean = tf.losses.Reduction.MEAN
        optimizer = tpu.CrossShardOptimizer(optimizer_at(step, value), mean, name="Cross")
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        updates += tf.get_collection("own_updates")
        more = {k: v for k, v in minimized.items() if k != "name"}
        with tf.control_dependencies(updates):
            if way == "optimize_loss":
                train_op = slim.optimize_loss(
                    loss, step, None, optimizer, summaries=[], update_ops=[], name="optimized"
                )
            elif way == "apply_gradients":
                pairs = optimizer.compute_gradients(loss, tf.trainable_variables(), **more)
                train_op = optimizer.apply_gradients(pairs, step, name=minimized.get("name"))
            else:
                listed = tf.trainable_variables() if way == "var_list" else None
                train_op = optimizer.minimize(loss, step, listed, **minimized)
        if averaged is not None:
            more = {**averaged, "num_updates": step if "num_updates" in averaged else None}
            average = tf.train.ExponentialMovingAverage(0.9, **more)
            with tf.control_dependencies([train_op]):
                train_op = average.apply(tf.trainable_variables())
        return train_op, value

    return apply


# Metrics, and what an Estimator is given ------------------------------------------------------------

METRIC = "weights metrics_collections name"
#: Metric -> the labels and predictions that it takes, and its arguments.
METRICS = {
    "accuracy": ("chosen", METRIC),
    "auc": ("shares", f"num_thresholds curve summation_method {METRIC}"),
    "precision": ("shares", METRIC),
    "recall": ("shares", METRIC),
    "mean_iou": ("chosen", f"num_classes! {METRIC}"),
    "mean_per_class_accuracy": ("chosen", f"num_classes! {METRIC}"),
    "precision_at_thresholds": ("shares", f"thresholds! {METRIC}"),
    "recall_at_thresholds": ("shares", f"thresholds! {METRIC}"),
    "true_positives_at_thresholds": ("shares", f"thresholds! {METRIC}"),
    "false_negatives_at_thresholds": ("shares", f"thresholds! {METRIC}"),
    "sensitivity_at_specificity": ("shares", f"specificity! num_thresholds {METRIC}"),
    "specificity_at_sensitivity": ("shares", f"sensitivity! num_thresholds {METRIC}"),
    "recall_at_k": ("scores", f"k! class_id {METRIC}"),
    "precision_at_k": ("scores", f"k! class_id {METRIC}"),
    "average_precision_at_k": ("scores", f"k! {METRIC}"),
    "mean_absolute_error": ("numbers", METRIC),
    "mean_squared_error": ("numbers", METRIC),
    "root_mean_squared_error": ("numbers", METRIC),
    "mean_cosine_distance": ("numbers", f"dim! {METRIC}"),
    "mean": ("values", METRIC),
    "mean_tensor": ("values", METRIC),
    "percentage_below": ("values", f"threshold! {METRIC}"),
}
VALUES.update(
    weights=lambda m: True,  # made where the labels are known
    num_classes=lambda m: 3,
    thresholds=lambda m: [0.2, 0.5],
    threshold=lambda m: 0.3,
    specificity=lambda m: 0.5,
    sensitivity=lambda m: 0.5,
    k=lambda m: m.one(1, 2),
    class_id=lambda m: m.one(0, 2),
    dim=lambda m: 1,
)


def metrics_of(m):
    names = m.random.sample(sorted(METRICS), 4)
    options = {name: drawn(m, METRICS[name][1]) for name in names}
    m.note(f"metrics {options}")

    def metrics(classes=None, numbers=None, of_classes=None, of_numbers=None):
        given = {}
        if classes is not None:
            given["chosen"] = classes, tf.argmax(of_classes, 1, output_type=tf.int32)
            given["shares"] = tf.equal(classes, 0), tf.nn.softmax(of_classes)[:, 0]
            given["scores"] = tf.cast(classes, tf.int64), of_classes
            given["values"] = (of_classes,)
        if numbers is not None:
            given["numbers"], given["values"] = (numbers, of_numbers), (of_numbers,)
        made = {}
        for name in names:
            if METRICS[name][0] not in given:
                continue
            tensors, more = given[METRICS[name][0]], dict(options[name])
            if more.pop("weights", None):
                rows = 0.5 + tf.cast(tf.range(tf.shape(tensors[0])[0]) % 2, tf.float32)
                wide = tensors[-1].shape.ndims > 1 and METRICS[name][0] != "scores"
                more["weights"] = rows[:, None] if wide else rows
            made[f"of_{name}"] = getattr(tf.metrics, name)(*tensors, **more)
        return made

    return metrics


def estimator_options(m):
    """Arguments of an Estimator, its configurations, its specs and its methods: name -> arguments."""
    every, named = m.one(1, 2), m.one("A", "other_name")
    rows = {
        "TPUConfig": {
            "num_shards": None,
            "num_cores_per_replica": None,
            "tpu_job_name": None,
            "initial_infeed_sleep_secs": 0,
            "per_host_input_for_training": True,
        },
        "RunConfig": {
            "save_summary_steps": m.one(1, None),
            "save_checkpoints_steps": every,
            "keep_checkpoint_max": m.one(1, None),
            "keep_checkpoint_every_n_hours": 1,
            "log_step_count_steps": m.one(1, None),
            "session_config": tf.ConfigProto(allow_soft_placement=True),
            "master": None,
            "evaluation_master": None,
            "protocol": None,
            "session_creation_timeout_secs": 600,
        },
        "TPUEstimator": {
            "params": {"own": 1, "nested": {"rate": 0.1}},
            "batch_axis": None,
            "eval_on_tpu": True,
            "export_to_tpu": False,
        },
        "train": {"hooks": [tf.train.StepCounterHook(every)], "saving_listeners": []},
        "evaluate": {"hooks": [tf.train.LoggingTensorHook([], at_end=True)], "name": named},
        "predict": {"yield_single_examples": True, "hooks": []},
    }
    return {name: {k: v for k, v in row.items() if m.often(0.3)} for name, row in rows.items()}


def specs_of(m):
    """Arguments of a spec that are drawn for every mode."""
    rows = {
        "training_hooks": lambda _: [tf.train.NanTensorHook(tf.constant(0.0))],
        "evaluation_hooks": lambda _: [tf.train.StepCounterHook(1)],
        "prediction_hooks": lambda _: (),
        "export_outputs": lambda outputs: {
            "serving_default": tf.estimator.export.PredictOutput(outputs or {})
        },
    }
    return {name: row for name, row in rows.items() if m.often(0.25)}


def given_to(m, options, specs):
    """tf.contrib.tpu, whose classes are given more arguments."""

    def estimator(model_fn, **more):
        """An Estimator whose methods are given more; a subclass may replace none of them."""
        made = tpu.TPUEstimator(model_fn, **{**more, **options["TPUEstimator"]})
        return types.SimpleNamespace(
            train=lambda *args, **more: made.train(*args, **{**more, **options["train"]}),
            evaluate=lambda *args, **more: dict(
                made.evaluate(*args, **{**more, **options["evaluate"]})
            ),
            predict=lambda *args, **more: made.predict(*args, **{**more, **options["predict"]}),
            get_variable_names=made.get_variable_names,
            get_variable_value=made.get_variable_value,
        )

    def spec(mode, predictions=None, **more):
        made = {name: row(predictions) for name, row in specs.items() if name != "export_outputs"}
        if "export_outputs" in specs and predictions is not None:
            made["export_outputs"] = specs["export_outputs"](predictions)
        return tpu.TPUEstimatorSpec(mode, predictions=predictions, **more, **made)

    return types.SimpleNamespace(
        **{name: getattr(tpu, name) for name in ("CrossShardOptimizer", "InputPipelineConfig")},
        TPUEstimator=estimator,
        TPUEstimatorSpec=spec,
        TPUConfig=lambda **more: tpu.TPUConfig(**{**more, **options["TPUConfig"]}),
        RunConfig=lambda **more: tpu.RunConfig(**{**more, **options["RunConfig"]}),
    )


def train(seed, brief=False):
    """Makes the program of a seed and runs it, as ``model_fns.train``."""
    m = plain.Maker(seed)
    m.random = random.Random(seed + 1)
    others = {"TABLE": TABLE, "loss_of": loss_of, "training_of": training_of}
    others.update(metrics=metrics_of(m), tpu=given_to(m, estimator_options(m), specs_of(m)))
    with mock.patch.multiple(plain, **others):
        row = plain.train(seed, brief)
    row["log"] += m.log
    return row
