"""Random model functions of TensorFlow 1's time, trained, evaluated and asked through ``TPUEstimator``.

As ``keras_models.py``: a program is a function of its seed alone, and says why cores may give other numbers
than one replica.
"""

from __future__ import annotations

import shutil
import tempfile
import zlib

import numpy as np
from choices import Maker

import tpucompat.v1 as tf

tpu = tf.contrib.tpu
ModeKeys = tf.estimator.ModeKeys
BATCH, EXAMPLES, STEPS = 16, 48, 3


# Pieces of a network: each gives a function of a tensor, so that every graph is built alike --------


def function_of(m):
    return m.one(None, tf.nn.relu, tf.nn.tanh, tf.sigmoid, tf.nn.elu, tf.nn.softplus)


def dense(m, kind):
    units, function = m.units(), function_of(m)
    regularizer = m.one(None, None, tf.contrib.layers.l2_regularizer(0.01))
    m.note("dense")
    return lambda x, _: tf.layers.dense(x, units, function, kernel_regularizer=regularizer)


def slim_dense(m, kind):
    units = m.units()
    m.note("contrib.layers.fully_connected")
    return lambda x, _: tf.contrib.layers.fully_connected(x, units)


def own_dense(m, kind):
    """Variables by hand."""
    units = m.units()
    m.note("matmul")

    def apply(x, _):
        with tf.variable_scope(None, "own"):
            kernel = tf.get_variable("kernel", [x.shape.as_list()[-1], units])
            bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        return (
            tf.nn.bias_add(tf.tensordot(x, kernel, 1), bias)
            if kind != "vector"
            else (tf.matmul(x, kernel) + bias)
        )

    return apply


def normalized(m, kind):
    momentum, fused = m.one(0.5, 0.9), m.one(None, False)
    slim = m.often(0.3)
    m.note(f"batch normalization (contrib: {slim})")
    if not m.exact:
        m.apart.add("batch normalization: statistics of a core's part of the batch")

    def apply(x, training):
        training = training and not m.exact
        if slim:
            return tf.contrib.layers.batch_norm(x, momentum, is_training=training)
        return tf.layers.batch_normalization(x, momentum=momentum, fused=fused, training=training)

    return apply


def layer_normalized(m, kind):
    m.note("contrib.layers.layer_norm")
    return lambda x, _: tf.contrib.layers.layer_norm(x)


def dropped(m, kind):
    rate = m.rate("dropout") if m.often() else 0.0
    if not rate:
        m.note("dropout of nothing")
        return lambda x, training: tf.layers.dropout(x, 0.0, training=training)
    m.note("dropout")
    return m.one(
        lambda x, training: tf.layers.dropout(x, rate, training=training),
        lambda x, training: tf.nn.dropout(x, keep_prob=1.0 - rate) if training else x,
    )


def computed(m, kind):
    """Functions without variables; some are loops and conditionals.

    Loops say how often they run at most: without, a TPU has no place for what their gradients need (TPU393).
    """

    def loop(x, _):
        return tf.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (i + 1, tf.tanh(y) + 0.1 * x),
            (0, x),
            maximum_iterations=3,
        )[1]

    def nested_loops(x, _):
        def inner(y):
            return tf.while_loop(
                lambda j, z: j < 2,
                lambda j, z: (j + 1, tf.sin(z) + 0.1 * x),
                (0, y),
                maximum_iterations=2,
            )[1]

        return tf.while_loop(
            lambda i, y: i < 2, lambda i, y: (i + 1, inner(y)), (0, x), maximum_iterations=2
        )[1]

    def in_turn(x, _):
        step = tf.train.get_or_create_global_step()
        return tf.cond(tf.equal(step % 2, 0), lambda: tf.tanh(x), lambda: 0.5 * x)

    def loop_with_conditional(x, _):
        def body(i, y):
            return i + 1, tf.cond(i > 0, lambda: tf.sin(y), lambda: y * 1.5)

        return tf.while_loop(lambda i, y: i < 3, body, (0, x), maximum_iterations=3)[1]

    def own_gradient(x, _):
        @tf.custom_gradient
        def clipped(y):
            return tf.minimum(y, 1.0), lambda dy: 0.5 * dy

        return clipped(x)

    functions = {
        "loop": loop,
        "nested loops": nested_loops,
        "in turn": in_turn,
        "loop with conditional": loop_with_conditional,
        "own gradient": own_gradient,
        "where": lambda x, _: tf.where(x > 0.1, x, 0.5 * x),
        "map_fn": lambda x, _: tf.map_fn(lambda row: tf.tanh(row) + 0.1 * row, x),
        "scan": lambda x, _: tf.transpose(
            tf.scan(
                lambda a, row: 0.5 * a + row,
                tf.transpose(x, [1, 0, *range(2, x.shape.ndims)]),
            ),
            [1, 0, *range(2, x.shape.ndims)],
        ),
        "stop_gradient": lambda x, _: x + tf.stop_gradient(0.5 * x),
        "clip": lambda x, _: tf.clip_by_value(x, -0.8, 0.8),
        "softmax": lambda x, _: tf.nn.softmax(x) + x,
    }
    name = m.one(*functions)
    m.note(name)
    return functions[name]


def with_variables_in_branches(m, kind):
    """A conditional, or a loop, that reads variables."""
    looped = m.often()
    m.note(f"a variable in a {'loop' if looped else 'conditional'}")

    def apply(x, _):
        with tf.variable_scope(None, "inside"):
            scale = tf.get_variable("scale", [x.shape.as_list()[-1]])
        if looped:
            return tf.while_loop(
                lambda i, y: i < 2,
                lambda i, y: (i + 1, tf.tanh(y * (1.0 + scale))),
                (0, x),
                maximum_iterations=2,
            )[1]
        step = tf.train.get_or_create_global_step()
        return tf.cond(step > 0, lambda: x * (1.0 + scale), lambda: x - scale)

    return apply


def cell_of(m):
    cells = tf.nn.rnn_cell
    kind = m.one("BasicLSTMCell", "LSTMCell", "GRUCell", "BasicRNNCell", "MultiRNNCell", "peephole")
    units = m.units()
    wrapped = m.one(None, None, None, "Residual", "Dropout")
    m.note(f"{kind} {wrapped}")
    rate = m.rate("dropout of a cell") if wrapped == "Dropout" else 0.0

    def make(training):
        if kind == "MultiRNNCell":
            cell = cells.MultiRNNCell([cells.BasicLSTMCell(units), cells.GRUCell(units)])
        elif kind == "peephole":
            cell = cells.LSTMCell(units, use_peepholes=True, cell_clip=3.0, num_proj=2)
        else:
            cell = getattr(cells, kind)(units)
        if wrapped == "Dropout" and training:
            cell = cells.DropoutWrapper(cell, output_keep_prob=1.0 - rate)
        return cell

    return make


def recurrent(m, kind):
    """Some way of a recurrent network over a sequence."""
    way = m.one(
        "dynamic", "lengths", "bidirectional", "bidirectional", "static", "lengths", "states"
    )
    cell, back = cell_of(m), cell_of(m)
    m.note(f"rnn: {way}")

    def apply(x, training):
        with tf.variable_scope(None, "recurrent"):
            if way == "bidirectional":
                outputs, _ = tf.nn.bidirectional_dynamic_rnn(
                    cell(training), back(training), x, dtype=tf.float32
                )
                return tf.concat(outputs, -1)
            if way == "static":
                outputs, _ = tf.nn.static_rnn(
                    cell(training), tf.unstack(x, axis=1), dtype=tf.float32
                )
                return tf.stack(outputs, 1)
            if way == "lengths":
                lengths = 1 + tf.cast(tf.reduce_sum(tf.abs(x), [1, 2]) * 10.0, tf.int32) % 3
                return tf.nn.dynamic_rnn(cell(training), x, lengths, dtype=tf.float32)[0]
            if way == "states":
                one = cell(training)
                state = one.zero_state(x.shape.as_list()[0], tf.float32)
                return tf.nn.dynamic_rnn(one, x, initial_state=state, time_major=False)[0]
            return tf.nn.dynamic_rnn(
                cell(training), x, dtype=tf.float32, swap_memory=m.seed % 2 == 0
            )[0]

    return apply


def convolved(m, kind):
    units, function = m.units(), function_of(m)
    padding = m.one("same", "valid")
    m.note(f"convolution {padding}")
    layer = tf.layers.conv1d if kind == "sequence" else tf.layers.conv2d
    return lambda x, _: layer(x, units, 2, padding=padding, activation=function)


def pooled(m, kind):
    m.note("pooling")
    if kind == "sequence":
        return lambda x, _: tf.layers.average_pooling1d(x, 2, 1, "same")
    pool = m.one(tf.layers.max_pooling2d, tf.layers.average_pooling2d)
    return lambda x, _: pool(x, 2, 1, "same")


def to_vector(m, kind):
    way = m.one("last", "mean", "flat", "max")
    m.note(way)
    if way == "flat":
        return lambda x, _: tf.layers.flatten(x)
    axes = [1] if kind == "sequence" else [1, 2]
    if way == "last" and kind == "sequence":
        return lambda x, _: x[:, -1]
    reduce = tf.reduce_max if way == "max" else tf.reduce_mean
    return lambda x, _: reduce(x, axes)


ANY = [
    dense,
    own_dense,
    slim_dense,
    normalized,
    normalized,
    layer_normalized,
    dropped,
    computed,
    computed,
]
ANY += [with_variables_in_branches]
TABLE = {
    "vector": ANY,
    "sequence": [*ANY, recurrent, recurrent, recurrent, convolved, pooled],
    "image": [*ANY, convolved, convolved, pooled],
}


# Inputs, losses, optimizers -----------------------------------------------------------------------


def data_of(m):
    """Named features with labels; the kinds of the features."""
    features, kinds = {}, {}
    for index in range(m.one(1, 1, 2)):
        kind = m.one("words", "sequence", "sequence", "vector", "image")
        shape = {
            "words": (m.random.randint(4, 6),),
            "sequence": (m.random.randint(4, 6), m.random.randint(2, 4)),
            "vector": (m.random.randint(3, 6),),
            "image": (5, 5, m.random.randint(1, 2)),
        }[kind]
        name = f"{kind}_{index}"
        m.note(f"{name}:")
        if kind == "words":
            features[name] = m.numbers.randint(0, 9, (EXAMPLES, *shape)).astype("int32")
        else:
            features[name] = m.numbers.rand(EXAMPLES, *shape).astype("float32")
        kinds[name] = kind
    task = m.one("classes", "numbers", "both")
    labels = {
        "classes": m.numbers.randint(0, 3, EXAMPLES).astype("int32"),
        "numbers": m.numbers.rand(EXAMPLES, 2).astype("float32"),
    }
    if task != "both":
        labels = {task: labels[task]}
    return features, kinds, labels


def dataset(m):
    """The examples in their order, one at a time."""
    return lambda features, labels: tf.data.Dataset.from_tensor_slices((features, labels))


def batches(m):
    return lambda data, size: data.repeat().batch(size, drop_remainder=True)


def embedded(m):
    size, way = m.units(), m.one("lookup", "gather", "one_hot")
    m.note(f"embedding by {way}")

    def apply(words, _):
        with tf.variable_scope(None, "embedding"):
            table = tf.get_variable("table", [9, size])
        if way == "lookup":
            return tf.nn.embedding_lookup(table, words)
        if way == "gather":
            return tf.gather(table, words)
        return tf.tensordot(tf.one_hot(words, 9), table, 1)

    return apply


def loss_of(m, labels):
    """A function of labels and outputs: the mean over the examples, of one or two losses."""
    regularized = m.often(0.4)
    for_classes = m.one("sparse", "one_hot", "smoothed", "sigmoid")
    for_numbers = m.one("mse", "mae", "huber", "own", "cosine")
    m.note(f"losses {for_classes} {for_numbers}, regularized: {regularized}")

    def apply(labels, outputs):
        losses, total = tf.losses, 0.0
        if "classes" in labels:
            given, logits = labels["classes"], outputs["classes"]
            ones = tf.one_hot(given, 3)
            total += {
                "sparse": lambda: losses.sparse_softmax_cross_entropy(given, logits),
                "one_hot": lambda: tf.reduce_mean(
                    tf.nn.softmax_cross_entropy_with_logits_v2(labels=ones, logits=logits)
                ),
                "smoothed": lambda: losses.softmax_cross_entropy(ones, logits, label_smoothing=0.1),
                "sigmoid": lambda: losses.sigmoid_cross_entropy(ones, logits),
            }[for_classes]()
        if "numbers" in labels:
            given, numbers = labels["numbers"], outputs["numbers"]
            total += (
                0.5
                * {
                    "mse": lambda: losses.mean_squared_error(given, numbers),
                    "mae": lambda: losses.absolute_difference(given, numbers),
                    "huber": lambda: losses.huber_loss(given, numbers, delta=0.3),
                    "own": lambda: tf.reduce_mean(tf.log(tf.cosh(given - numbers))),
                    "cosine": lambda: losses.cosine_distance(
                        tf.nn.l2_normalize(given, 1), tf.nn.l2_normalize(numbers + 0.1, 1), axis=1
                    ),
                }[for_numbers]()
            )
        if regularized:
            total += 1e-3 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])
        regularization = tf.losses.get_regularization_losses()
        return total + tf.add_n(regularization) if regularization else total

    return apply


def rate_of(m):
    """A learning rate, as a function of the step."""
    train = tf.train
    schedules = {
        "constant": lambda step: 0.05,
        "exponential": lambda step: train.exponential_decay(0.05, step, 2, 0.5, staircase=True),
        "polynomial": lambda step: train.polynomial_decay(0.05, step, 10, 0.01, power=2.0),
        "piecewise": lambda step: train.piecewise_constant(step, [1, 2], [0.02, 0.05, 0.01]),
        "cosine": lambda step: train.cosine_decay(0.05, step, 10),
        "inverse": lambda step: train.inverse_time_decay(0.05, step, 2, 0.5),
        "warm up": lambda step: tf.where(
            step < 2,
            0.01 * tf.cast(step + 1, tf.float32),
            train.natural_exp_decay(0.05, step, 5, 0.5),
        ),
        "warm up by cond": lambda step: tf.cond(
            step < 2, lambda: 0.02 * tf.cast(step + 1, tf.float32), lambda: tf.constant(0.05)
        ),
    }
    name = m.one(*schedules)
    m.note(f"rate {name}")
    return schedules[name]


def optimizer_of(m):
    """An optimizer; those that divide by a root of gradients have an epsilon above rounding errors."""
    train, opt = tf.train, tf.contrib.opt
    nesterov, centered = m.often(), m.often()
    rows = {
        "sgd": train.GradientDescentOptimizer,
        "momentum": lambda rate: train.MomentumOptimizer(rate, 0.9, use_nesterov=nesterov),
        "adam": lambda rate: train.AdamOptimizer(rate, epsilon=1e-3),
        "rmsprop": lambda rate: train.RMSPropOptimizer(
            rate, momentum=0.5, epsilon=1e-3, centered=centered
        ),
        "adagrad": train.AdagradOptimizer,
        "adadelta": lambda rate: train.AdadeltaOptimizer(rate * 10.0, epsilon=1e-3),
        "ftrl": train.FtrlOptimizer,
        "proximal": lambda rate: train.ProximalGradientDescentOptimizer(
            rate, l2_regularization_strength=0.01
        ),
        "proximal adagrad": lambda rate: train.ProximalAdagradOptimizer(
            rate, l2_regularization_strength=0.01
        ),
        "adagrad da": lambda rate: train.AdagradDAOptimizer(rate, train.get_global_step()),
        "adamw": lambda rate: opt.AdamWOptimizer(0.01, rate, epsilon=1e-3),
        "lars": lambda rate: opt.LARSOptimizer(rate, 0.9, 0.01),
        "lazy adam": lambda rate: opt.LazyAdamOptimizer(rate, epsilon=1e-3),
    }
    name = m.one(*rows)
    m.note(f"optimizer {name}")
    return rows[name]


def training_of(m):
    """The train_op of a loss, and the rate; in one of the ways of scripts."""
    rate_at, make = rate_of(m), optimizer_of(m)
    way = m.one("minimize", "updates", "updates", "grouped", "clipped", "scaled", "two")
    averaged = m.often(0.3)
    limit = 1e3 if m.exact else m.one(0.1, 1e3)
    if way == "clipped" and limit < 1:
        m.apart.add("clipped: every core clips its own gradients")
    m.note(f"train_op: {way}, averaged: {averaged}")

    def apply(loss):
        step = tf.train.get_global_step()
        rate = rate_at(step)
        optimizer = tpu.CrossShardOptimizer(make(rate))
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        if way == "updates":
            with tf.control_dependencies(updates):
                train_op = optimizer.minimize(loss, step)
        elif way in ("clipped", "scaled"):
            gradients, variables = zip(*optimizer.compute_gradients(loss))
            if way == "clipped":
                gradients, _ = tf.clip_by_global_norm(gradients, limit)
            else:
                gradients = [
                    g if isinstance(g, tf.IndexedSlices) or g is None else g * 0.5
                    for g in gradients
                ]
            with tf.control_dependencies(updates):
                train_op = optimizer.apply_gradients(zip(gradients, variables), step)
        elif way == "two":  # an optimizer for the first variables, another one for the last
            variables = tf.trainable_variables()
            half = len(variables) // 2
            other = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.05))
            with tf.control_dependencies(updates):
                first = optimizer.minimize(loss, step, var_list=variables[:half])
                train_op = tf.group(first, other.minimize(loss, var_list=variables[half:]))
        else:
            train_op = optimizer.minimize(loss, step)
            train_op = tf.group(train_op, *updates) if way == "grouped" else train_op
        if averaged:
            average = tf.train.ExponentialMovingAverage(
                0.9, num_updates=step if m.seed % 2 else None
            )
            with tf.control_dependencies([train_op]):
                moving = [one for one in tf.global_variables() if "/moving_" in one.name]
                train_op = average.apply(list({*tf.trainable_variables(), *moving}))
        return train_op, tf.convert_to_tensor(rate, tf.float32)

    return apply


# Programs -----------------------------------------------------------------------------------------


def by_name(getter, name, *args, **options):
    """Initial values that follow from the variable's name."""
    if options.get("trainable", True) and options.get("initializer") is None:
        shape = tf.TensorShape(options["shape"]).as_list()
        numbers = np.random.RandomState(zlib.crc32(name.encode()) % 2**31)
        options["initializer"] = tf.constant_initializer(
            (numbers.rand(*shape) - 0.5).astype("float32")
        )
    return getter(name, *args, **options)


class Losses:
    """What host_call gets of every core at every step; the learning rate with it."""

    def __init__(self):
        self.rows = []

    def call(self, loss, rate):
        def keep(losses, rates):
            self.rows.append([float(losses.mean()), float(rates.mean())])
            return np.int32(0)

        tensors = [tf.reshape(loss, [1]), tf.reshape(rate, [1])]
        return (lambda *values: [tf.py_func(keep, values, tf.int32)]), tensors


def model_fn_of(m, kinds, labels):
    """Draws everything that the model function needs, so that it builds the same graph in every mode."""
    ways = {}
    for name, kind in kinds.items():
        pieces = []
        if kind == "words":
            pieces.append(embedded(m))
            kind = "sequence"
        if m.often(0.3) and kind == "sequence":
            pieces.append(normalized(m, kind))
        pieces += [m.one(*TABLE[kind])(m, kind) for _ in range(m.random.randint(1, 3))]
        if kind != "vector":
            pieces.append(to_vector(m, kind))
        ways[name] = pieces
    pieces = [m.one(*TABLE["vector"])(m, "vector") for _ in range(m.random.randint(0, 2))]
    loss_fn, train_fn = loss_of(m, labels), training_of(m)
    named = m.often(0.5)
    scaffolded, hosted = m.often(0.3), Losses()
    m.note(f"initial values by name: {named}, scaffold_fn: {scaffolded}")

    def model_fn(features, labels, mode, params):
        training = mode == ModeKeys.TRAIN
        with tf.variable_scope("", custom_getter=by_name if named else None):
            outputs = network(features, training)
        scaffold_fn = (lambda: tf.train.Scaffold(saver=tf.train.Saver())) if scaffolded else None
        if mode == ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, predictions=outputs, scaffold_fn=scaffold_fn)
        loss = loss_fn(labels, outputs)
        if mode == ModeKeys.EVAL:
            return tpu.TPUEstimatorSpec(
                mode, loss=loss, eval_metrics=(metrics, {**labels, **outputs_named(outputs)})
            )
        train_op, rate = train_fn(loss)
        return tpu.TPUEstimatorSpec(
            mode,
            loss=loss,
            train_op=train_op,
            host_call=hosted.call(loss, rate),
            scaffold_fn=scaffold_fn,
        )

    def network(features, training):
        vectors = []
        for name, way in sorted(ways.items()):
            x = features[name]
            for piece in way:
                x = piece(x, training)
            vectors.append(x)
        x = tf.concat(vectors, 1)
        for piece in pieces:
            x = piece(x, training)
        outputs = {}
        if "classes" in label_names:
            outputs["classes"] = tf.layers.dense(x, 3, name="classes")
        if "numbers" in label_names:
            outputs["numbers"] = tf.layers.dense(x, 2, name="numbers")
        return outputs

    label_names = set(labels)
    return model_fn, hosted


def outputs_named(outputs):
    return {"of_" + name: value for name, value in outputs.items()}


def metrics(classes=None, numbers=None, of_classes=None, of_numbers=None):
    found = {}
    if classes is not None:
        chosen = tf.argmax(of_classes, 1, output_type=tf.int32)
        found["accuracy"] = tf.metrics.accuracy(classes, chosen)
        found["auc"] = tf.metrics.auc(tf.equal(classes, 0), tf.nn.softmax(of_classes)[:, 0], 20)
        found["mean"] = tf.metrics.mean(of_classes)
    if numbers is not None:
        found["error"] = tf.metrics.mean_absolute_error(numbers, of_numbers)
        found["root"] = tf.metrics.root_mean_squared_error(numbers, of_numbers)
    return found


def train(seed, brief=False):
    """Makes the program of a seed and runs it.

    Args:
      seed: The seed.
      brief: Whether it only trains.

    Returns:
      ``losses`` (loss and rate of every step), ``weights``, ``metrics``, ``predictions``; ``apart``
      and ``log`` as in ``keras_models.train``.
    """
    m = Maker(seed)
    folder = tempfile.mkdtemp()
    try:
        return {**_train(m, folder, brief), "log": m.log, "apart": sorted(m.apart)}
    except Exception as error:
        error.log = m.log
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _train(m, folder, brief):
    features, kinds, labels = data_of(m)
    model_fn, hosted = model_fn_of(m, kinds, labels)
    loop = m.one(1, 2, 3)
    inputs = m.one("PER_HOST_V1", "PER_HOST_V2")
    m.note(f"iterations_per_loop {loop}, {inputs}")
    examples, batched = dataset(m), batches(m)

    def input_fn(params):
        return batched(examples(features, labels), params["batch_size"])

    def predict_input_fn(params):
        part = {name: values[:20] for name, values in features.items()}
        return tf.data.Dataset.from_tensor_slices(part).batch(params["batch_size"])

    config = tpu.RunConfig(
        model_dir=folder,
        tf_random_seed=m.seed + 1,
        tpu_config=tpu.TPUConfig(
            iterations_per_loop=loop,
            per_host_input_for_training=getattr(tpu.InputPipelineConfig, inputs),
        ),
    )
    estimator = tpu.TPUEstimator(
        model_fn,
        config=config,
        use_tpu=True,
        train_batch_size=BATCH,
        eval_batch_size=BATCH,
        predict_batch_size=BATCH,
    )
    estimator.train(input_fn, steps=STEPS)
    names = sorted(estimator.get_variable_names())
    trained = {
        "losses": hosted.rows,
        "weights": {name: estimator.get_variable_value(name) for name in names},
    }
    if brief:
        return trained
    metrics_found = estimator.evaluate(input_fn, steps=2)
    metrics_found.pop("loss")  # that of core 0, as TPUEstimator's own
    return {
        **trained,
        "metrics": metrics_found,
        "predictions": list(estimator.predict(predict_input_fn)),
    }
