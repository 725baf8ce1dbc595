"""Random model functions of feature columns, tf.contrib.layers and what scripts write around an optimizer.

Features in a dict with columns of every kind that gives a dense matrix, gradients that are added up over steps,
several train_ops in a group, getters and gradients of a script's own, moving averages that an evaluation reads.
"""

from __future__ import annotations

import shutil
import tempfile

import model_fns as plain
import numpy as np
from choices import Maker

import tpucompat.v1 as tf

tpu = tf.contrib.tpu
ModeKeys = tf.estimator.ModeKeys
columns, slim = tf.feature_column, tf.contrib.layers
BATCH, EXAMPLES = 16, 48


# Features -----------------------------------------------------------------------------------------------


def numeric(m, name):
    size = m.random.randint(1, 4)
    options = {"normalizer_fn": lambda x: (x - 0.5) * 2.0} if m.often(0.3) else {}
    data = m.numbers.rand(EXAMPLES, size).astype("float32")
    return data, columns.numeric_column(name, (size,), **options)


def bucketized(m, name):
    source = columns.numeric_column(name)
    data = m.numbers.rand(EXAMPLES, 1).astype("float32")
    return data, columns.bucketized_column(source, [0.2, 0.5, 0.7])


def indicated(m, name):
    source = columns.categorical_column_with_identity(name, 6, default_value=0)
    data = m.numbers.randint(0, 6, (EXAMPLES, 1)).astype("int64")
    return data, columns.indicator_column(source)


def embedded(m, name):
    source = columns.categorical_column_with_identity(name, 6)
    data = m.numbers.randint(0, 6, (EXAMPLES, m.one(1, 3))).astype("int64")
    initial = tf.constant_initializer(m.numbers.rand(6, 3) - 0.5)
    way = m.one("mean", "sum", "sqrtn")
    return data, columns.embedding_column(source, 3, way, initial)


def hand_made(m, name):
    """A matrix that gather or one_hot reads, as scripts for a TPU do it."""
    data, way = m.numbers.randint(0, 6, (EXAMPLES, 3)).astype("int32"), m.one("gather", "one_hot")

    def apply(ids):
        table = tf.get_variable(name + "_table", [6, 2])
        found = (
            tf.gather(table, ids) if way == "gather" else tf.tensordot(tf.one_hot(ids, 6), table, 1)
        )
        return tf.reduce_sum(found, 1)

    return data, apply


KINDS = {"numeric": numeric, "bucketized": bucketized, "hand_made": hand_made}
# A TPU has no sparse tensors, which these columns are made of.
SPARSE = {"indicated": indicated, "embedded": embedded}


# Towers -------------------------------------------------------------------------------------------------


def scaled_getter(getter, name, *args, **options):
    """Half of every trainable variable."""
    found = getter(name, *args, **options)
    return 0.5 * found if options.get("trainable", True) else found


@tf.custom_gradient
def rounded(x):
    return tf.floor(4.0 * x + 0.01) / 4.0, lambda dy: dy * 0.9


@tf.custom_gradient
def scaled(x, by):
    def gradients(dy):
        return dy * by, tf.reduce_sum(dy * x)

    return x * by, gradients


def with_scale(x, training):
    with tf.variable_scope(None, "scaled"):
        return scaled(x, tf.get_variable("by", [], initializer=tf.ones_initializer()))


def normalized(x, training):
    given = {"is_training": False, "decay": 0.9, "scale": True}
    return slim.fully_connected(x, 4, normalizer_fn=slim.batch_norm, normalizer_params=given)


def layer_normalized(x, training):
    return slim.fully_connected(x, 4, activation_fn=tf.nn.elu, normalizer_fn=slim.layer_norm)


def stacked(x, training):
    regularizer = slim.l2_regularizer(0.01)
    with tf.contrib.framework.arg_scope([slim.fully_connected], weights_regularizer=regularizer):
        return slim.stack(x, slim.fully_connected, [4, 3], scope=None)


def unit(x, training):
    return slim.unit_norm(slim.linear(x, 3) + 1.5, 1, 1e-3)


def gotten(x, training):
    with tf.variable_scope(None, "gotten", custom_getter=scaled_getter):
        return tf.layers.dense(x, 3, tf.tanh)


def highway(x, training):
    size = x.shape.as_list()[-1]
    gate = slim.fully_connected(
        x, size, activation_fn=tf.sigmoid, biases_initializer=tf.constant_initializer(-1.0)
    )
    return gate * slim.fully_connected(x, size, activation_fn=tf.tanh) + (1.0 - gate) * x


def conv_normed(x, training):
    x = tf.expand_dims(tf.expand_dims(x, -1), -1)
    x = slim.conv2d(x, 4, [3, 1], normalizer_fn=slim.group_norm, normalizer_params={"groups": 2})
    return slim.flatten(slim.max_pool2d(x, [2, 1], [1, 1], padding="SAME"))


def instance(x, training):
    x = tf.reshape(slim.linear(x, 6), [-1, 3, 1, 2])
    return slim.flatten(slim.instance_norm(x))


def maxed(x, training):
    return slim.maxout(slim.linear(x, 6), 3)


def dropped(x, training):
    return slim.dropout(slim.bias_add(x), 1.0, is_training=training)


TOWER = {
    "rounded": lambda x, training: rounded(x),
    "with_scale": with_scale,
    "normalized": normalized,
    "layer_normalized": layer_normalized,
    "stacked": stacked,
    "unit": unit,
    "gotten": gotten,
    "highway": highway,
    "conv_normed": conv_normed,
    "instance": instance,
    "maxed": maxed,
    "dropped": dropped,
}


# Training -----------------------------------------------------------------------------------------------


def accumulating(make, loss, step, way):
    """Adds gradients up in variables, and applies them every second step."""
    made = tpu.CrossShardOptimizer(make())
    pairs = [(g, v) for g, v in made.compute_gradients(loss) if g is not None]
    options = {"trainable": False, "use_resource": True, "initializer": tf.zeros_initializer()}
    with tf.variable_scope("accumulated"):
        sums = [tf.get_variable(v.op.name, v.shape, **options) for _, v in pairs]
    added = [a.assign_add(tf.convert_to_tensor(g)) for a, (g, _) in zip(sums, pairs)]
    with tf.control_dependencies(added):
        number = tf.identity(step)

    def apply():
        values = [(0.5 * a.read_value(), v) for a, (_, v) in zip(sums, pairs)]
        with tf.control_dependencies([made.apply_gradients(values)]):
            return tf.group(*[a.assign(tf.zeros_like(a)) for a in sums])

    due = tf.equal(number % 2, 1)
    if way == "cond":
        done = tf.cond(due, apply, tf.no_op)
    else:
        chosen = tf.cast(due, tf.float32)
        values = [(0.5 * a.read_value() * chosen, v) for a, (_, v) in zip(sums, pairs)]
        with tf.control_dependencies([made.apply_gradients(values)]):
            done = tf.group(*[a.assign(a * (1.0 - chosen)) for a in sums])
    with tf.control_dependencies([done]):
        return tf.assign_add(step, 1).op


def grouped(make, loss, step):
    """Two optimizers, and an update of a script's own."""
    variables = tf.trainable_variables()
    first = tpu.CrossShardOptimizer(make()).minimize(loss, var_list=variables[::2])
    rest = variables[1::2]
    ops = [first]
    if rest:
        other = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.03))
        ops.append(other.minimize(loss, var_list=rest))
    options = {"trainable": False, "initializer": tf.zeros_initializer()}
    decayed = tf.get_variable("decayed", [], **options)
    with tf.control_dependencies([tf.group(*ops)]):
        return tf.group(tf.assign(decayed, 0.9 * decayed + 0.1), tf.assign_add(step, 1))


def penalized(make, loss, step):
    """A penalty of the gradient's size, which takes a second gradient."""
    variables = tf.trainable_variables()
    first = [g for g in tf.gradients(loss, variables) if isinstance(g, tf.Tensor)]
    total = loss + 0.0 * tf.add_n([tf.reduce_sum(g) for g in first])
    return tpu.CrossShardOptimizer(make()).minimize(total, step)


def multiplied(make, loss, step):
    made = tpu.CrossShardOptimizer(make())
    pairs = made.compute_gradients(loss)
    factors = {v: 0.5 for _, v in pairs if "bias" in v.name}
    pairs = [(g if g is None or v not in factors else g * factors[v], v) for g, v in pairs]
    return made.apply_gradients(pairs, step)


WAYS = {
    "accumulating by cond": lambda *given: accumulating(*given, "cond"),
    "accumulating by factor": lambda *given: accumulating(*given, "factor"),
    "grouped": grouped,
    "penalized": penalized,
    "multiplied": multiplied,
}


def metrics(labels, logits, weights):
    chosen, given = tf.argmax(logits, 1, output_type=tf.int32), tf.metrics
    weights = tf.reshape(weights, [-1])
    near = tf.nn.softmax(logits)
    return {
        "accuracy": given.accuracy(labels, chosen, weights),
        "recall": given.recall(tf.equal(labels, 1), tf.equal(chosen, 1), weights),
        "per_class": given.mean_per_class_accuracy(labels, chosen, 3),
        "iou": given.mean_iou(labels, chosen, 3),
        "top": given.recall_at_k(tf.cast(labels, tf.int64), logits, 2),
        "cosine": given.mean_cosine_distance(tf.one_hot(labels, 3), tf.nn.l2_normalize(near, 1), 1),
        "relative": given.mean_relative_error(near, tf.one_hot(labels, 3), near + 0.1),
        "below": given.percentage_below(near[:, 0], 0.3),
        "positives": given.true_positives(tf.equal(labels, 0), tf.equal(chosen, 0)),
        "weighted": given.mean_tensor(tf.reduce_mean(near, 0)),
    }


def model_fn_of(m, made, hosted):
    names = sorted(made)
    towers = [
        (names if m.often() else names[: m.random.randint(1, len(names))],
         m.random.sample(sorted(TOWER), m.random.randint(1, 3)))
        for _ in range(m.one(1, 2, 3))
    ]  # fmt: skip
    way, averaged, initial = m.one(*WAYS), m.often(0.4), m.often(0.7)
    optimizer = m.one(
        lambda: tf.train.AdamOptimizer(0.02, epsilon=1e-3),
        lambda: tf.train.MomentumOptimizer(0.05, 0.9),
        lambda: tf.train.AdagradOptimizer(0.05),
    )
    for tower in towers:
        m.note(f"tower {tower}")
    m.note(f"{way}, averaged: {averaged}, by name: {initial}")

    def network(features, training):
        found = []
        for number, (of, pieces) in enumerate(towers):
            with tf.variable_scope(f"tower_{number}"):
                given = [made[name] for name in of]
                x = [f(features[n]) for n, f in zip(of, given) if callable(f) and not is_column(f)]
                dense = [column for column in given if is_column(column)]
                if dense:
                    x.append(columns.input_layer({n: features[n] for n in of}, dense))
                x = tf.concat(x, 1)
                for piece in pieces:
                    x = TOWER[piece](x, training)
            found.append(x)
        return tf.layers.dense(tf.concat(found, 1), 3, name="logits")

    def model_fn(features, labels, mode, params):
        getter = plain.by_name if initial else None
        with tf.variable_scope("model", custom_getter=getter):
            logits = network(features, mode == ModeKeys.TRAIN)
        average = tf.train.ExponentialMovingAverage(0.6)

        def scaffold_fn():
            return tf.train.Scaffold(saver=tf.train.Saver(average.variables_to_restore()))

        shown = scaffold_fn if averaged else None
        if mode == ModeKeys.PREDICT:
            found = {"logits": logits, "class": tf.argmax(logits, 1, output_type=tf.int32)}
            return tpu.TPUEstimatorSpec(mode, predictions=found, scaffold_fn=shown)
        each = tf.losses.sparse_softmax_cross_entropy(labels, logits, features["weight"][:, 0])
        loss = each + tf.losses.get_regularization_loss()
        if mode == ModeKeys.EVAL:
            given = {"labels": labels, "logits": logits, "weights": features["weight"]}
            return tpu.TPUEstimatorSpec(
                mode, loss=loss, eval_metrics=(metrics, given), scaffold_fn=shown
            )
        step = tf.train.get_global_step()
        train_op = WAYS[way](optimizer, loss, step)
        if averaged:
            with tf.control_dependencies([train_op]):
                train_op = average.apply(tf.trainable_variables())
        call = hosted.call(loss, tf.constant(0.0))
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, host_call=call)

    return model_fn


def is_column(value):
    return hasattr(value, "parse_example_spec") or hasattr(value, "_parse_example_spec")


def train(seed, brief=False):
    """Makes the program of a seed and runs it, as ``model_fns.train``."""
    m = Maker(seed)
    folder = tempfile.mkdtemp()
    try:
        return {**_train(m, folder, brief), "log": m.log, "apart": []}
    except Exception as error:
        error.log = m.log
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _train(m, folder, brief):
    data, made, hosted = {}, {}, plain.Losses()
    table = {**KINDS, **SPARSE} if m.often(0.25) else KINDS
    for index in range(m.random.randint(1, 3)):
        kind = m.one(*table)
        name = f"{kind}_{index}"
        m.note(name)
        data[name], made[name] = table[kind](m, name)
    # The weights of a core's examples sum up to the same on every core.
    data["weight"] = np.tile([[0.5], [1.5]], (EXAMPLES // 2, 1)).astype("float32")
    labels = m.numbers.randint(0, 3, EXAMPLES).astype("int32")
    model_fn = model_fn_of(m, made, hosted)

    def input_fn(params):
        found = tf.data.Dataset.from_tensor_slices((data, labels)).repeat()
        return found.batch(params["batch_size"], drop_remainder=True)

    def predict_input_fn(params):
        part = {name: value[:20] for name, value in data.items()}
        return tf.data.Dataset.from_tensor_slices(part).batch(params["batch_size"])

    estimator = tpu.TPUEstimator(
        model_fn,
        config=tpu.RunConfig(
            model_dir=folder,
            tf_random_seed=m.seed + 1,
            tpu_config=tpu.TPUConfig(iterations_per_loop=m.one(1, 2)),
        ),
        use_tpu=True,
        train_batch_size=BATCH,
        eval_batch_size=BATCH,
        predict_batch_size=BATCH,
    )
    estimator.train(input_fn, steps=4)
    # What a core has added up is its own; a checkpoint has that of core 0.
    names = [name for name in estimator.get_variable_names() if "accumulated" not in name]
    trained = {
        "losses": hosted.rows,
        "weights": {name: estimator.get_variable_value(name) for name in sorted(names)},
    }
    if brief:
        return trained
    found = estimator.evaluate(input_fn, steps=3)
    found.pop("loss")  # that of core 0, as TPUEstimator's own
    predictions = list(estimator.predict(predict_input_fn))
    return {**trained, "metrics": found, "predictions": predictions}
