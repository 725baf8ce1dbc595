"""Random TPUEstimator programs in the form of repositories of 2018 to 2020.

As ``model_fns.py``, which draws single layers. Here is what repositories have around and beside them: slim and
Keras layers in a model function, attention, batch normalization over the cores, networks that are called twice,
GANs, counters and averages of a script's own, gradients by hand, functions of ``tf.contrib`` that make a
``train_op``, features as tensors, warm starts, training and evaluation in turns.
"""

from __future__ import annotations

import os
import shutil
import tempfile

import model_fns as plain
import numpy as np
from choices import Maker

import tpucompat.v1 as tf

tpu = tf.contrib.tpu
slim = tf.contrib.slim
ModeKeys = tf.estimator.ModeKeys
BATCH, EXAMPLES, STEPS = 16, 48, 3


# Networks: each gives a function of a tensor and the phase, which builds the same graph in every mode -----


def slim_network(m):
    """Convolutions of slim under an ``arg_scope``."""
    m.note("slim network")
    units, pool = m.units(), m.one(slim.max_pool2d, slim.avg_pool2d)
    normal = m.often()
    if normal and not m.exact:
        m.apart.add("batch normalization: statistics of a core's part of the batch")

    def apply(x, training):
        bn = {"is_training": training and not m.exact, "decay": 0.9, "scale": True, "epsilon": 1e-3}
        with slim.arg_scope(
            [slim.conv2d, slim.fully_connected],
            weights_regularizer=slim.l2_regularizer(1e-3),
            weights_initializer=slim.variance_scaling_initializer(seed=3),
            normalizer_fn=slim.batch_norm if normal else None,
            normalizer_params=bn if normal else None,
        ), slim.arg_scope([slim.conv2d], padding="SAME"):
            x = slim.repeat(x, 2, slim.conv2d, units, [3, 3], scope="conv1")
            x = pool(x, [2, 2], scope="pool1")
            x = slim.separable_conv2d(x, units, 3, depth_multiplier=1, scope="separable")
            x = tf.reduce_mean(x, [1, 2], name="global")
            return slim.dropout(x, 1.0, is_training=training)

    return apply


def residual_network(m):
    """As in the official ResNet: fixed padding, batch normalization, residual blocks."""
    own = m.one("fused", "over the cores", "plain")
    filters = m.units()
    m.note(f"residual network, batch normalization {own}")
    if own != "over the cores" and not m.exact:
        m.apart.add("batch normalization: statistics of a core's part of the batch")

    def normal(x, training):
        if own == "over the cores":
            return tf.nn.relu(global_normalization(x, training))
        x = tf.layers.batch_normalization(
            x, 3, 0.9, 1e-3, training=training and not m.exact, fused=own == "fused"
        )
        return tf.nn.relu(x)

    def apply(x, training):
        x = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])
        initial = tf.variance_scaling_initializer(seed=5)
        x = tf.layers.conv2d(x, filters, 3, 2, "valid", use_bias=False, kernel_initializer=initial)
        shortcut = x
        for index in range(2):
            with tf.variable_scope(f"block_{index}"):
                x = tf.layers.conv2d(
                    normal(x, training), filters, 3, 1, "same", kernel_initializer=initial
                )
        return tf.reduce_mean(normal(x + shortcut, training), [1, 2])

    return apply


def global_normalization(x, training):
    """Batch normalization whose statistics are those of the global batch."""
    with tf.variable_scope(None, "global_normalization"):
        size = x.shape.as_list()[-1]
        gamma = tf.get_variable("gamma", [size], initializer=tf.ones_initializer())
        mean = tf.get_variable("mean", [size], initializer=tf.zeros_initializer(), trainable=False)
    if not training:
        return (x - mean) * gamma
    shards = tpu_shards()
    axes = list(range(x.shape.ndims - 1))
    batch_mean = tf.reduce_mean(x, axes)
    square = tf.reduce_mean(tf.square(x), axes)
    if shards > 1:
        batch_mean = tpu.cross_replica_sum(batch_mean) / shards
        square = tpu.cross_replica_sum(square) / shards
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_sub(mean, 0.1 * (mean - batch_mean)).op)
    variance = square - tf.square(batch_mean)
    return tf.nn.batch_normalization(x, batch_mean, variance, None, gamma, 1e-2)


def tpu_shards():
    from tensorflow.python.tpu import tpu_function

    return tpu_function.get_tpu_context().number_of_shards or 1


def transformer(m):
    """Attention as in BERT: reshaped to a matrix, heads, a mask, layer normalization."""
    layers, rate = m.random.randint(1, 2), m.rate("dropout")
    m.note(f"transformer of {layers} layers")

    def apply(x, training):
        _, length, size = x.shape.as_list()
        mask = tf.cast(tf.reduce_sum(tf.abs(x), -1) > 0.1, tf.float32)
        adder = (1.0 - tf.expand_dims(tf.expand_dims(mask, 1), 1)) * -10000.0
        heads, units = 2, 3
        x = tf.reshape(x, [-1, size])
        for index in range(layers):
            with tf.variable_scope(f"layer_{index}"):

                def project(name, x=x):
                    y = tf.layers.dense(x, heads * units, name=name)
                    return tf.transpose(tf.reshape(y, [-1, length, heads, units]), [0, 2, 1, 3])

                query, key, value = map(project, ("query", "key", "value"))
                scores = tf.matmul(query, key, transpose_b=True) * units**-0.5 + adder
                weights = tf.nn.softmax(scores)
                if training and rate:
                    weights = tf.nn.dropout(weights, rate=rate)
                mixed = tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3])
                mixed = tf.reshape(mixed, [-1, heads * units])
                x = tf.contrib.layers.layer_norm(
                    x + tf.layers.dense(mixed, size, name="out"),
                    begin_norm_axis=-1,
                    begin_params_axis=-1,
                )
                y = tf.layers.dense(x, 8, lambda t: t * tf.sigmoid(1.702 * t), name="up")
                x = x + tf.layers.dense(y, size, name="down")
        return tf.squeeze(tf.reshape(x, [-1, length, size])[:, 0:1], axis=1)

    return apply


def keras_layers(m, kind):
    """Layers of Keras, made outside of a model or as one."""
    way = m.one("layers", "model")
    units = m.units()
    m.note(f"Keras {way}")

    def apply(x, training):
        keras = tf.keras
        first = (
            keras.layers.Conv2D(units, 3, padding="same", activation="relu")
            if kind == "image"
            else keras.layers.LSTM(units, return_sequences=True)
            if kind == "sequence"
            else keras.layers.Dense(units, activation="relu")
        )
        parts = [first, keras.layers.BatchNormalization(momentum=0.9), keras.layers.Flatten()]
        parts += [keras.layers.Dropout(0.0), keras.layers.Dense(4)]
        if way == "model":
            model = keras.Sequential(parts)
            return model(x, training=training and not m.exact)
        for part in parts:
            phased = isinstance(part, (keras.layers.BatchNormalization, keras.layers.Dropout))
            x = part(x, training=training and not m.exact) if phased else part(x)
        return x

    if not m.exact:
        m.apart.add("batch normalization: statistics of a core's part of the batch")
    return apply


def sequence_network(m):
    """Recurrent networks beyond a plain call of ``dynamic_rnn``."""
    way = m.one("attention", "raw", "lstm block", "stacked", "array", "conditional", "decoder")
    units = m.units()
    m.note(f"sequence: {way}")

    def raw(x):
        """A loop with a TensorArray in it."""
        steps = x.shape.as_list()[1]
        rows = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(x, [1, 0, 2]))
        out = tf.TensorArray(tf.float32, steps)
        kernel = tf.get_variable("kernel", [x.shape.as_list()[-1] + units, units])

        def body(i, state, out):
            state = tf.tanh(tf.matmul(tf.concat([rows.read(i), state], 1), kernel))
            return i + 1, state, out.write(i, state)

        first = tf.zeros([x.shape.as_list()[0], units])
        _, _, out = tf.while_loop(
            lambda i, *_: i < steps, body, (0, first, out), maximum_iterations=steps
        )
        return tf.reduce_mean(out.stack(), 0)

    def conditional(x):
        """Every second step of training takes a recurrent network, the others a mean."""
        step = tf.train.get_or_create_global_step()
        cell = tf.nn.rnn_cell.GRUCell(x.shape.as_list()[-1])
        through = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)[0][:, -1]
        return tf.cond(tf.equal(step % 2, 0), lambda: through, lambda: tf.reduce_mean(x, 1))

    def decoder(x):
        """Teacher forcing step by step, unrolled."""
        cell = tf.nn.rnn_cell.LSTMCell(units, initializer=tf.orthogonal_initializer(seed=2))
        state = cell.zero_state(tf.shape(x)[0], tf.float32)
        outputs = []
        for step in range(x.shape.as_list()[1]):
            output, state = cell(x[:, step], state)
            outputs.append(output)
        return tf.add_n(outputs)

    def apply(x, training):
        with tf.variable_scope("sequence"):
            if way == "raw":
                return raw(x)
            if way == "conditional":
                return conditional(x)
            if way == "decoder":
                return decoder(x)
            if way == "array":
                summed = tf.map_fn(
                    lambda row: tf.reduce_sum(tf.cumsum(row), 0), x, parallel_iterations=4
                )
                return tf.layers.dense(summed, units)
            cells = [tf.nn.rnn_cell.LSTMCell(units), tf.nn.rnn_cell.LSTMCell(3)]
            if way == "lstm block":
                cells = [tf.contrib.rnn.LayerNormBasicLSTMCell(units)]
            outputs, state = tf.nn.dynamic_rnn(
                tf.nn.rnn_cell.MultiRNNCell(cells),
                x,
                dtype=tf.float32,
                sequence_length=tf.fill([x.shape.as_list()[0]], 3) if way == "stacked" else None,
            )
            if way == "stacked":
                return tf.concat([state[0].h, state[-1].c], 1)
            scores = tf.nn.softmax(tf.layers.dense(tf.tanh(outputs), 1), axis=1)
            return tf.reduce_sum(outputs * scores, 1)

    return apply


def called_twice(m, kind):
    """One network on two tensors, by ``reuse`` or a template."""
    way = m.one("AUTO_REUSE", "reuse", "template", "object")
    m.note(f"shared: {way}")

    def network(x):
        return tf.layers.dense(tf.layers.dense(x, 5, tf.nn.relu, name="one"), 3, name="two")

    def apply(x, _):
        x = tf.layers.flatten(x)
        other = x * x
        if way == "AUTO_REUSE":
            with tf.variable_scope("tower", reuse=tf.AUTO_REUSE):
                first = network(x)
            with tf.variable_scope("tower", reuse=tf.AUTO_REUSE):
                second = network(other)
        elif way == "reuse":
            with tf.variable_scope("tower") as scope:
                first = network(x)
                scope.reuse_variables()
                second = network(other)
        elif way == "template":
            template = tf.make_template("tower", network)
            first, second = template(x), template(other)
        else:
            layer = tf.layers.Dense(3, tf.tanh)
            first, second = layer(x), layer(other)
        return tf.concat([first, tf.abs(first - second)], 1)

    return apply


def cast(m, kind):
    """A part in bfloat16, as programs for TPUs have it."""
    m.note("bfloat16")
    m.apart.add("bfloat16: XLA keeps more digits")

    def apply(x, _):
        x = tf.layers.flatten(x)
        with tpu.bfloat16_scope():
            x = tf.layers.dense(tf.cast(x, tf.bfloat16), 4, tf.nn.relu)
        return tf.cast(x, tf.float32)

    return apply


def mixture(m, kind):
    """Experts and a gate, with functions of arrays."""
    m.note("experts")

    def apply(x, _):
        x = tf.layers.flatten(x)
        gate = tf.nn.softmax(tf.layers.dense(x, 3, name="gate"))
        values, indices = tf.nn.top_k(gate, 2)
        experts = tf.stack([tf.layers.dense(x, 4, name=f"expert_{i}") for i in range(3)], 1)
        mask = tf.reduce_sum(tf.one_hot(indices, 3) * tf.expand_dims(values, -1), 1)
        return tf.einsum("bn,bnu->bu", mask, experts)

    return apply


def codes(m, kind):
    """The nearest of some vectors, with the gradient passed straight through."""
    m.note("nearest codes")

    def apply(x, training):
        x = tf.layers.dense(tf.layers.flatten(x), 3)
        book = tf.get_variable("book", [4, 3], initializer=tf.random_normal_initializer(seed=7))
        distances = (
            tf.reduce_sum(x**2, 1, keepdims=True)
            - 2 * tf.matmul(x, book, transpose_b=True)
            + tf.reduce_sum(book**2, 1)
        )
        nearest = tf.nn.embedding_lookup(book, tf.argmin(distances, 1))
        tf.losses.add_loss(0.1 * tf.reduce_mean(tf.square(nearest - tf.stop_gradient(x))))
        return x + tf.stop_gradient(nearest - x)

    return apply


def counted(m, kind):
    """Variables that the script assigns itself: a counter and a spectral norm's vector."""
    m.note("assigned variables")

    def apply(x, training):
        x = tf.layers.flatten(x)
        size = x.shape.as_list()[-1]
        kernel = tf.get_variable("w", [size, 4], initializer=tf.glorot_uniform_initializer(seed=3))
        u = tf.get_variable("u", [1, 4], initializer=tf.ones_initializer(), trainable=False)
        count = tf.get_variable(
            "count", [], tf.int32, initializer=tf.zeros_initializer(), trainable=False
        )
        v = tf.nn.l2_normalize(tf.matmul(u, kernel, transpose_b=True), epsilon=1e-3)
        new = tf.stop_gradient(tf.nn.l2_normalize(tf.matmul(v, kernel), epsilon=1e-3))
        sigma = tf.reduce_sum(tf.matmul(tf.stop_gradient(v), kernel) * new)
        if training:
            with tf.control_dependencies([u.assign(new), count.assign_add(1)]):
                return tf.matmul(x, kernel / sigma)
        return tf.matmul(x, kernel / sigma)

    return apply


NETWORKS = {
    "image": [slim_network, residual_network, residual_network, keras_layers],
    "sequence": [transformer, transformer, sequence_network, sequence_network, keras_layers],
    "vector": [called_twice, mixture, codes, counted, keras_layers, cast],
}
WITH_KIND = {keras_layers, called_twice, cast, mixture, codes, counted}


def network_of(m, kind):
    make = m.one(*NETWORKS[kind], *NETWORKS["vector"][:4])
    return make(m, kind) if make in WITH_KIND else make(m)


# Training -------------------------------------------------------------------------------------------


def training_of(m):
    """A loss's ``train_op``."""
    way = m.one(
        "optimize_loss",
        "create_train_op",
        "slim",
        "by hand",
        "clip each",
        "clip by value",
        "accumulated",
        "averaged",
        "own",
        "scaled loss",
    )
    m.note(f"train_op by {way}")
    rate_at = plain.rate_of(m)
    kind = m.one("momentum", "adam", "rmsprop", "sgd")

    def optimizer(rate):
        train = tf.train
        made = {
            "momentum": lambda: train.MomentumOptimizer(rate, 0.9, use_nesterov=True),
            "adam": lambda: train.AdamOptimizer(rate, beta1=0.5, epsilon=1e-3),
            "rmsprop": lambda: train.RMSPropOptimizer(rate, momentum=0.9, epsilon=1e-2),
            "sgd": lambda: train.GradientDescentOptimizer(rate),
        }[kind]()
        return tpu.CrossShardOptimizer(made)

    def by_hand(loss, rate, step, updates):
        variables = tf.trainable_variables()
        gradients = tf.gradients(loss, variables)
        shards = tpu_shards()
        if shards > 1:
            gradients = [tpu.cross_replica_sum(tf.convert_to_tensor(g)) / shards for g in gradients]
        moved = [tf.assign_sub(v, rate * g) for v, g in zip(variables, gradients)]
        with tf.control_dependencies([*moved, *updates]):
            return tf.assign_add(step, 1)

    def accumulated(loss, rate, step, updates):
        """Gradients of two steps go into one update."""
        made = optimizer(rate)
        pairs = [(g, v) for g, v in made.compute_gradients(loss) if g is not None]
        sums = [
            tf.get_variable(
                "sum_" + v.op.name.replace("/", "_"),
                v.shape,
                initializer=tf.zeros_initializer(),
                trainable=False,
            )
            for _, v in pairs
        ]
        shards = tpu_shards()

        def over_cores(g):  # CrossShardOptimizer has divided the loss by the number of cores
            return tpu.cross_replica_sum(tf.convert_to_tensor(g)) if shards > 1 else g

        added = [s.assign_add(over_cores(g)) for s, (g, _) in zip(sums, pairs)]
        with tf.control_dependencies([*added, *updates]):
            now = [s.read_value() for s in sums]
        due = tf.cast(tf.equal(step % 2, 1), tf.float32)
        moved = [v.assign_sub(rate * due * n) for (_, v), n in zip(pairs, now)]
        with tf.control_dependencies(moved):
            cleared = [s.assign(s * (1.0 - due)) for s in sums]
        with tf.control_dependencies(cleared):
            return tf.assign_add(step, 1)

    def own(loss, rate, step, updates):
        """BERT's: variables moved one by one with weight decay, the step set last."""
        made = []
        pairs = zip(tf.gradients(loss, tf.trainable_variables()), tf.trainable_variables())
        for gradient, variable in pairs:
            if gradient is None:
                continue
            name = variable.op.name
            shards = tpu_shards()
            gradient = tf.convert_to_tensor(gradient)
            if shards > 1:
                gradient = tpu.cross_replica_sum(gradient) / shards
            first, second = (
                tf.get_variable(
                    f"{name}/adam_{which}",
                    shape=variable.shape.as_list(),
                    dtype=tf.float32,
                    trainable=False,
                    initializer=tf.zeros_initializer(),
                )
                for which in "mv"
            )
            next_m = 0.9 * first + 0.1 * gradient
            next_v = 0.999 * second + 0.001 * tf.square(gradient)
            update = next_m / (tf.sqrt(next_v) + 1e-3)
            if "bias" not in name:
                update += 0.01 * variable
            made += [
                variable.assign(variable - rate * update),
                first.assign(next_m),
                second.assign(next_v),
            ]
        with tf.control_dependencies(updates):
            moved = tf.group(*made)
        with tf.control_dependencies([moved]):
            return tf.group(step.assign(step + 1))

    def apply(loss):
        step = tf.train.get_or_create_global_step()
        rate = tf.convert_to_tensor(rate_at(step), tf.float32)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        ways = {"by hand": by_hand, "accumulated": accumulated, "own": own}
        if way in ways:
            return ways[way](loss, rate, step, updates), rate
        if way == "optimize_loss":
            op = tf.contrib.layers.optimize_loss(
                loss, step, None, optimizer(rate), clip_gradients=1e3, summaries=[]
            )
            return op, rate
        if way == "create_train_op":
            op = tf.contrib.training.create_train_op(
                loss, optimizer(rate), step, check_numerics=False
            )
            return op, rate
        if way == "slim":
            return slim.learning.create_train_op(
                loss, optimizer(rate), step, check_numerics=False
            ), rate
        made = optimizer(rate)
        with tf.control_dependencies(updates):
            if way in ("clip each", "clip by value"):
                if not m.exact:
                    m.apart.add("clipped: every core clips its own gradients")
                limit = 1e3 if m.exact else 0.05
                pairs = made.compute_gradients(loss, tf.trainable_variables())
                pairs = [(g, v) for g, v in pairs if g is not None]
                if way == "clip each":
                    pairs = [(tf.clip_by_norm(g, limit), v) for g, v in pairs]
                else:
                    pairs = [
                        (tf.clip_by_value(tf.convert_to_tensor(g), -limit, limit), v)
                        for g, v in pairs
                    ]
                return made.apply_gradients(pairs, step, "train"), rate
            if way == "scaled loss":
                pairs = made.compute_gradients(loss * 128.0)
                pairs = [
                    (None if g is None else tf.convert_to_tensor(g) / 128.0, v) for g, v in pairs
                ]
                return made.apply_gradients(pairs, step), rate
            op = made.minimize(loss, step)
        average = tf.train.ExponentialMovingAverage(0.5, step, zero_debias=False)
        kept = tf.trainable_variables() + tf.get_collection("moving_average_variables")
        with tf.control_dependencies([op]):
            return average.apply(list(dict.fromkeys(kept))), rate

    return apply


# Programs -------------------------------------------------------------------------------------------


def metrics_of(m):
    names = m.random.sample(["precision", "recall", "iou", "per class", "in top", "weighted"], 2)
    m.note(f"metrics {names}")

    def metric_fn(labels, logits, weights):
        chosen = tf.argmax(logits, axis=-1, output_type=tf.int32)
        return {
            name: {
                "precision": lambda: tf.metrics.precision(tf.equal(labels, 1), tf.equal(chosen, 1)),
                "recall": lambda: tf.metrics.recall(tf.equal(labels, 1), tf.equal(chosen, 1)),
                "iou": lambda: tf.metrics.mean_iou(labels, chosen, 3),
                "per class": lambda: tf.metrics.mean_per_class_accuracy(labels, chosen, 3),
                "in top": lambda: tf.metrics.mean(
                    tf.cast(tf.nn.in_top_k(logits, labels, 2), tf.float32)
                ),
                "weighted": lambda: tf.metrics.accuracy(labels, chosen, weights),
            }[name]()
            for name in names
        }

    return metric_fn


def gan_of(m, hosted):
    """Two networks with an optimizer each, as GANs on a TPU train them."""
    m.note("GAN")
    in_turns = m.often()

    def generator(z):
        with tf.variable_scope("generator", reuse=tf.AUTO_REUSE):
            return tf.layers.dense(tf.layers.dense(z, 5, tf.nn.relu), 6, tf.tanh)

    def discriminator(x):
        with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
            return tf.layers.dense(tf.layers.dense(x, 5, tf.nn.leaky_relu), 1)[:, 0]

    def model_fn(features, labels, mode, params):
        real, noise = features["real"], features["noise"]
        made = generator(noise)
        if mode == ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, predictions={"made": made})
        of_real, of_made = discriminator(real), discriminator(made)
        cross = tf.nn.sigmoid_cross_entropy_with_logits
        d_loss = tf.reduce_mean(cross(labels=tf.ones_like(of_real), logits=of_real))
        d_loss += tf.reduce_mean(cross(labels=tf.zeros_like(of_made), logits=of_made))
        g_loss = tf.reduce_mean(cross(labels=tf.ones_like(of_made), logits=of_made))
        if mode == ModeKeys.EVAL:
            return tpu.TPUEstimatorSpec(
                mode,
                loss=g_loss,
                eval_metrics=(lambda r: {"real": tf.metrics.mean(r)}, [of_real]),
            )
        step = tf.train.get_or_create_global_step()
        optimizers = [
            tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.01, 0.5, epsilon=1e-3))
            for _ in range(2)
        ]
        of = [tf.trainable_variables(scope) for scope in ("discriminator", "generator")]
        d_op = optimizers[0].minimize(d_loss, var_list=of[0])
        if in_turns:
            with tf.control_dependencies([d_op]):
                train_op = optimizers[1].minimize(g_loss, step, var_list=of[1])
        else:
            train_op = tf.group(d_op, optimizers[1].minimize(g_loss, step, var_list=of[1]))
        return tpu.TPUEstimatorSpec(
            mode, loss=g_loss, train_op=train_op, host_call=hosted.call(g_loss, d_loss)
        )

    features = {
        "real": m.numbers.rand(EXAMPLES, 6).astype("float32"),
        "noise": m.numbers.rand(EXAMPLES, 3).astype("float32"),
    }
    return features, np.zeros([EXAMPLES, 1], "float32"), model_fn


def program_of(m, hosted):
    """Features, labels, model function."""
    kind = m.one("image", "sequence", "sequence", "words", "vector", "columns")
    form = m.one("dict", "tensor", "dict")
    m.note(f"{kind}, features as {form}")
    shape = {"image": (6, 6, 2), "sequence": (5, 4), "words": (5,), "vector": (6,), "columns": (3,)}
    examples = m.numbers.rand(EXAMPLES, *shape[kind]).astype("float32")
    if kind == "words":
        examples = m.numbers.randint(0, 9, (EXAMPLES, 5)).astype("int32")
    features = {"x": examples}
    if kind == "columns":
        features["id"] = m.numbers.randint(0, 5, (EXAMPLES, 1)).astype("int64")
        form = "dict"
    labels = m.numbers.randint(0, 3, EXAMPLES).astype("int32")
    network = network_of(m, {"words": "sequence", "columns": "vector"}.get(kind, kind))
    after = called_twice(m, "vector") if m.often(0.2) else None
    train_fn = training_of(m)
    metric_fn = metrics_of(m)
    loss_kind = m.one("sum", "mean", "losses", "focal")
    column = tf.feature_column

    def model_fn(features, labels, mode, params):
        training = mode == ModeKeys.TRAIN
        x = features["x"] if form == "dict" else features
        with tf.variable_scope("net", custom_getter=plain.by_name):
            if kind == "words":
                table = tf.get_variable("table", [9, 4])
                x = tf.gather(table, x)
            if kind == "columns":
                ids = column.categorical_column_with_identity("id", 5)
                x = column.input_layer(
                    features,
                    [column.numeric_column("x", (3,)), column.indicator_column(ids)],
                )
            x = network(x, training)
            if after is not None:
                with tf.variable_scope("after"):
                    x = after(x, training)
            logits = tf.layers.dense(
                x, 3, name="logits", kernel_initializer=tf.glorot_uniform_initializer(seed=9)
            )
        predictions = {
            "classes": tf.argmax(logits, 1),
            "probabilities": tf.nn.softmax(logits, name="probabilities"),
        }
        if mode == ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(
                mode,
                predictions=predictions,
                export_outputs={"classify": tf.estimator.export.PredictOutput(predictions)},
            )
        loss = loss_of(loss_kind, labels, logits)
        loss += sum(tf.losses.get_regularization_losses(), 0.0)
        if mode == ModeKeys.EVAL:
            weights = tf.ones_like(labels, tf.float32)
            return tpu.TPUEstimatorSpec(
                mode, loss=loss, eval_metrics=(metric_fn, [labels, logits, weights])
            )
        train_op, rate = train_fn(loss)
        return tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=train_op, host_call=hosted.call(loss, rate)
        )

    return (features if form == "dict" else examples), labels, model_fn


def loss_of(kind, labels, logits):
    """The loss of classes, and what layers have added to it."""
    ones = tf.one_hot(labels, 3)
    if kind == "sum":
        each = -tf.reduce_sum(ones * tf.nn.log_softmax(logits), -1)
        loss = tf.reduce_mean(each)
    elif kind == "mean":
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(each)
    elif kind == "focal":
        p = tf.nn.softmax(logits)
        loss = tf.reduce_mean(tf.reduce_sum(-ones * (1 - p) ** 2 * tf.log(p + 1e-3), -1))
    else:
        tf.losses.softmax_cross_entropy(ones, logits, weights=0.5)
        return tf.add_n(tf.losses.get_losses())
    return loss + sum(tf.losses.get_losses(), 0.0)


def train(seed, brief=False):
    """Makes the program of a seed and runs it, as ``model_fns.train``."""
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
    hosted = plain.Losses()
    if m.often(0.12):
        features, labels, model_fn = gan_of(m, hosted)
    else:
        features, labels, model_fn = program_of(m, hosted)
    way = m.one("train", "train", "twice", "train and evaluate", "warm")
    piped = m.one("plain", "map_and_batch", "interleaved", "generator")
    m.note(f"{way}, input {piped}")

    def input_fn(params):
        data = tf.data.Dataset.from_tensor_slices((features, labels))
        size = params["batch_size"]
        if piped == "map_and_batch":
            data = data.repeat()
            return data.apply(
                tf.contrib.data.map_and_batch(
                    lambda *example: example, size, num_parallel_batches=2, drop_remainder=True
                )
            ).prefetch(2)
        if piped == "interleaved":
            data = tf.data.Dataset.range(1).interleave(lambda _: data, 1, 4)
        return data.repeat().batch(size, drop_remainder=True)

    def predict_input_fn(params):
        part = tf.nest.map_structure(lambda value: value[:16], features)
        return tf.data.Dataset.from_tensor_slices(part).batch(params["batch_size"])

    def estimator_of(where, warm=None):
        config = tpu.RunConfig(
            model_dir=os.path.join(folder, where),
            tf_random_seed=m.seed + 1,
            save_checkpoints_steps=2,
            keep_checkpoint_max=2,
            tpu_config=tpu.TPUConfig(iterations_per_loop=m.seed % 3 + 1, num_shards=None),
        )
        return tpu.TPUEstimator(
            model_fn,
            config=config,
            params={"own": 1},
            use_tpu=True,
            train_batch_size=BATCH,
            eval_batch_size=BATCH,
            predict_batch_size=BATCH,
            warm_start_from=warm,
        )

    estimator = estimator_of("model")
    if way == "train and evaluate" and not brief:
        tf.estimator.train_and_evaluate(
            estimator,
            tf.estimator.TrainSpec(input_fn, max_steps=STEPS),
            tf.estimator.EvalSpec(input_fn, steps=1, start_delay_secs=0, throttle_secs=0),
        )
    else:
        estimator.train(input_fn, max_steps=STEPS)
    if way == "twice":
        estimator.train(input_fn, steps=2)
    if way == "warm":
        estimator = estimator_of("second", os.path.join(folder, "model"))
        estimator.train(input_fn, steps=1)
    result = {
        "losses": hosted.rows,
        "weights": {
            name: estimator.get_variable_value(name) for name in estimator.get_variable_names()
        },
    }
    if brief:
        return result
    found = estimator.evaluate(input_fn, steps=2)
    found.pop("loss")  # that of core 0, as TPUEstimator's own
    result["metrics"] = found
    result["predictions"] = list(estimator.predict(predict_input_fn))
    return result
