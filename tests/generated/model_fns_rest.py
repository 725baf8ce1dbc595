"""Random model functions out of what ``model_fns.py`` and ``estimator_scripts.py`` do not draw.

The programs are those of ``model_fns.py``, drawn from other tables: the remaining layers, losses, metrics,
optimizers and learning rates of TensorFlow 1.15, cells and layers of tf.contrib, operations of tf and tf.nn.
``tests/unit/test_generated_names.py`` fails if a public name is in no table.
"""

from __future__ import annotations

from unittest import mock

import model_fns as plain
import numpy as np
from model_fns import function_of

import tpucompat.v1 as tf

tpu = tf.contrib.tpu
slim = tf.contrib.layers


# Pieces ---------------------------------------------------------------------------------------------


def dense(m, kind):
    units, function, use_bias = m.units(), function_of(m), m.often()
    way = m.one("options", "object", "linear", "l1", "sum", "xw_plus_b", "own variable")
    m.note(f"dense: {way}")

    def apply(x, _):
        if way == "options":
            return tf.layers.dense(
                x,
                units,
                function,
                use_bias=use_bias,
                # A sum: tf.layers itself divides by the size of the batch.
                activity_regularizer=lambda y: 1e-3 * tf.reduce_sum(y * y),
                kernel_constraint=lambda w: tf.clip_by_norm(w, 1.0),
            )
        if way == "object":
            layer = tf.layers.Dense(x.shape.as_list()[-1], function)
            return layer(layer(x))
        if way == "linear":
            return slim.linear(x, units, weights_initializer=slim.xavier_initializer())
        if way == "l1":
            both = slim.l1_l2_regularizer(0.01, 0.01)
            return slim.fully_connected(x, units, tf.nn.tanh, weights_regularizer=both)
        if way == "sum":
            total = slim.sum_regularizer([slim.l1_regularizer(0.01), slim.l2_regularizer(0.01)])
            with tf.variable_scope(None, "summed", regularizer=total):
                return tf.layers.dense(x, units)
        with tf.variable_scope(None, "own"):
            w = tf.get_variable("w", [x.shape.as_list()[-1], units])
            b = tf.get_variable("b", [units], initializer=tf.ones_initializer())
            if way == "own variable":
                seen = tf.get_variable(
                    "seen", [], initializer=tf.zeros_initializer(), trainable=False
                )
                tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, seen.assign_add(0.5))
        flat = tf.reshape(x, [-1, x.shape.as_list()[-1]])
        return tf.reshape(tf.nn.xw_plus_b(flat, w, b), [*x.shape.as_list()[:-1], units])

    return apply


def normalized(m, kind):
    ways = ["layer", "unit", "renorm", "moments"]
    ways += {"image": ["group", "instance", "lrn", "standardized"]}.get(kind, [])
    way = m.one(*ways)
    m.note(f"normalized: {way}")
    if way == "renorm" and not m.exact:
        m.apart.add("batch normalization: statistics of a core's part of the batch")

    def apply(x, training):
        if way == "group":
            return slim.group_norm(x, groups=1)
        if way == "instance":
            return slim.instance_norm(x, epsilon=1e-3)
        if way == "lrn":
            return tf.nn.lrn(x, depth_radius=1)
        if way == "standardized":
            return tf.map_fn(tf.image.per_image_standardization, x)
        if way == "unit":
            return slim.unit_norm(x, x.shape.ndims - 1, epsilon=1e-2)
        if way == "renorm":
            training = training and not m.exact
            return tf.layers.batch_normalization(
                x, renorm=True, momentum=0.8, training=training, epsilon=1e-2
            )
        if way == "moments":
            mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
            return tf.nn.batch_normalization(x, mean, variance, 0.1, 1.1, 1e-2)
        return slim.layer_norm(x, begin_norm_axis=-1, begin_params_axis=-1)

    return apply


def convolved(m, kind):
    units, function = m.units(), function_of(m)
    way = (
        m.one("separable", "strided", "atrous", "slim")
        if kind == "sequence"
        else m.one(
            "transposed",
            "separable",
            "depthwise",
            "volume",
            "volume back",
            "atrous",
            "in plane",
            "slim",
        )
    )
    m.note(f"convolved: {way}")

    def apply(x, _):
        layers = tf.layers
        if kind == "sequence":
            if way == "separable":
                return layers.separable_conv1d(x, units, 2, padding="same", activation=function)
            if way == "slim":
                return slim.conv1d(x, units, 2)
            step = {"strides": 2} if way == "strided" else {"dilation_rate": 2}
            return layers.conv1d(x, units, 2, padding="same", activation=function, **step)
        if way == "transposed":
            return layers.conv2d_transpose(x, units, 2, padding="same", activation=function)
        if way == "separable":
            return layers.separable_conv2d(x, units, 2, depth_multiplier=2, padding="same")
        if way == "volume":
            return layers.conv3d(tf.expand_dims(x, -1), 2, 2, padding="same")[..., 0]
        if way == "volume back":
            return layers.conv3d_transpose(tf.expand_dims(x, -1), 2, 2, padding="same")[..., 0]
        if way == "in plane":
            return slim.conv2d_in_plane(x, 2)
        if way == "slim":
            x = slim.separable_conv2d(x, units, [2, 2], depth_multiplier=1)
            return slim.conv2d_transpose(x, 2, [2, 2])
        with tf.variable_scope(None, "kernel"):
            shape = [2, 2, x.shape.as_list()[-1], 2]
            kernel = tf.get_variable("kernel", shape)
        if way == "depthwise":
            return tf.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")
        return tf.nn.atrous_conv2d(x, kernel, 2, "SAME")

    return apply


def pooled(m, kind):
    way = m.one("max", "average", "volume", "nn")
    m.note(f"pooled: {way}")

    def apply(x, _):
        layers = tf.layers
        if kind == "sequence":
            make = layers.max_pooling1d if way == "max" else layers.average_pooling1d
            return make(x, 2, 1, "valid" if way == "nn" else "same")
        if way == "volume":
            make = layers.max_pooling3d if m.seed % 2 else layers.average_pooling3d
            return make(tf.expand_dims(x, -1), 2, 1, "same")[..., 0]
        if way == "nn":
            return tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
        return tf.nn.max_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "SAME")

    return apply


class OwnCell(tf.nn.rnn_cell.RNNCell):
    """A cell as scripts wrote their own: its state is a tuple."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units

    @property
    def state_size(self):
        return tf.nn.rnn_cell.LSTMStateTuple(self.units, self.units)

    @property
    def output_size(self):
        return self.units

    def call(self, inputs, state):
        c, h = state
        gates = tf.layers.dense(tf.concat([inputs, h], 1), 3 * self.units, name="gates")
        keep, new, out = tf.split(gates, 3, 1)
        c = c * tf.sigmoid(keep + 1.0) + tf.tanh(new)
        h = tf.tanh(c) * tf.sigmoid(out)
        return h, tf.nn.rnn_cell.LSTMStateTuple(c, h)


def cell_of(m):
    cells, rnn = tf.nn.rnn_cell, tf.contrib.rnn
    kind = m.one(
        "own", "LayerNormBasicLSTMCell", "NASCell", "Residual", "GRU", "legacy", "projected"
    )
    units = m.units()
    m.note(kind)

    def make(training):
        if kind == "own":
            return OwnCell(units)
        if kind in ("LayerNormBasicLSTMCell", "NASCell"):
            return getattr(rnn, kind)(units)
        if kind == "Residual":
            first = cells.BasicRNNCell(units)
            return cells.MultiRNNCell([first, cells.ResidualWrapper(cells.GRUCell(units))])
        if kind == "GRU":
            return cells.GRUCell(
                units, activation=tf.nn.relu, bias_initializer=tf.constant_initializer(0.5)
            )
        if kind == "legacy":
            return cells.LSTMCell(units, initializer=tf.orthogonal_initializer(), forget_bias=0.0)
        return cells.LSTMCell(units, num_proj=3, proj_clip=0.9, activation=tf.nn.softsign)

    return make


def recurrent(m, kind):
    way = m.one("dynamic", "stacked", "raw", "static both", "time major")
    cell, back = cell_of(m), cell_of(m)
    m.note(f"rnn: {way}")

    def apply(x, training):
        with tf.variable_scope(None, "recurrent"):
            if way == "stacked":
                forward, backward = [cell(training)], [back(training)]
                return tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
                    forward, backward, x, dtype=tf.float32
                )[0]
            if way == "static both":
                outputs, _, _ = tf.nn.static_bidirectional_rnn(
                    cell(training), back(training), tf.unstack(x, axis=1), dtype=tf.float32
                )
                return tf.stack(outputs, 1)
            if way == "raw":
                return raw(cell(training), x)
            turned = tf.transpose(x, [1, 0, 2])
            if way == "time major":
                outputs, _ = tf.nn.dynamic_rnn(
                    cell(training), turned, dtype=tf.float32, time_major=True
                )
                return tf.contrib.rnn.transpose_batch_time(outputs)
            return tf.nn.dynamic_rnn(cell(training), x, dtype=tf.float32, parallel_iterations=1)[0]

    def raw(one, x):
        steps, batch = x.shape.as_list()[1], x.shape.as_list()[0]
        rows = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(x, [1, 0, 2]))
        state = one.zero_state(batch, tf.float32)
        outputs = []
        for index in range(steps):
            given, state = one(rows.read(index), state)
            outputs.append(given)
        return tf.stack(outputs, 1)

    return apply


def computed(m, kind):
    """Operations of TensorFlow and layers of tf.contrib without variables."""
    last = {"vector": 1, "sequence": 2, "image": 3}[kind]
    functions = {
        "swish": lambda x: tf.nn.swish(x),
        "crelu": lambda x: tf.nn.crelu(x - 0.2),
        "leaky": lambda x: tf.nn.leaky_relu(x) + tf.nn.relu6(4.0 * x) + tf.nn.selu(x),
        "softsign": lambda x: tf.nn.softsign(x) + tf.nn.log_softmax(x),
        "maxout": lambda x: slim.maxout(tf.concat([x, -0.5 * x], -1), x.shape.as_list()[-1]),
        "scaled gradient": lambda x: slim.scale_gradient(x, tf.constant(0.5)),
        "zero fraction": lambda x: (
            x * (1.0 - 0.5 * tf.stop_gradient(tf.nn.zero_fraction(x[:1]) * 0.0))
        ),
        "top_k": lambda x: tf.nn.top_k(x, min(2, x.shape.as_list()[-1]))[0],
        "in_top_k": lambda x: x + tf.sort(x, direction="DESCENDING"),
        "roll": lambda x: x + tf.roll(x, 1, -1),
        "case": lambda x: tf.case(
            [(tf.train.get_or_create_global_step() > 5, lambda: x)], default=lambda: tf.sin(x)
        ),
        "switch_case": lambda x: tf.switch_case(
            tf.cast(tf.train.get_or_create_global_step() % 2, tf.int32),
            [lambda: tf.sin(x), lambda: tf.cos(x)],
        ),
        "foldl": lambda x: (
            x
            + 0.1
            * tf.foldl(lambda a, y: a + tf.tanh(y), tf.transpose(x, [last, *range(last)]))[
                ..., None
            ]
        ),
        "einsum": lambda x: x + tf.einsum("b...i,ij->b...j", x, tf.eye(x.shape.as_list()[-1])),
        "erf": lambda x: tf.erf(x) + tf.expm1(-x) + tf.log1p(tf.abs(x)),
        "atan2": lambda x: tf.atan2(x, x + 2.0) + tf.asinh(x),
        "segments": lambda x: tf.transpose(
            tf.unsorted_segment_sum(
                tf.transpose(x, [last, *range(last)]),
                np.arange(x.shape.as_list()[-1]) % 2,
                2,
            ),
            [*range(1, last + 1), 0],
        ),
        "cumprod": lambda x: tf.cumprod(x + 0.5, axis=-1, exclusive=True),
        "norm": lambda x: x / (0.5 + tf.norm(x, axis=-1, keepdims=True)),
        "split": lambda x: tf.concat(tf.split(x, [1, x.shape.as_list()[-1] - 1], -1)[::-1], -1),
        "slices": lambda x: tf.pad(x[..., 1:], [[0, 0]] * last + [[1, 0]]),
        "boolean": lambda x: tf.where(tf.logical_and(x > 0.1, x < 0.9), x, tf.zeros_like(x)),
        "recomputed": slim.recompute_grad(lambda x: tf.tanh(x) * tf.sigmoid(x)),
        "bfloat16": lambda x: tf.cast(tf.cast(x, tf.bfloat16), tf.float32),
        "searched": lambda x: (
            x + tf.cast(tf.searchsorted([0.2, 0.6], tf.reshape(x, [-1])), tf.float32)[0] * 0.0
        ),
        "solved": lambda x: tf.tensordot(
            x, tf.matrix_inverse(tf.eye(x.shape.as_list()[-1]) * 2.0), 1
        ),
    }
    functions.update(
        {
            "image": {
                "space_to_depth": lambda x: tf.space_to_depth(x[:, :4, :4], 2),
                "spatial_softmax": lambda x: x + slim.spatial_softmax(x)[:, None, None, :1],
                "resized": lambda x: tf.image.resize_bilinear(x, (4, 6)),
                "cropped": lambda x: tf.image.resize_image_with_crop_or_pad(x, 4, 4),
                "extract": lambda x: tf.extract_image_patches(
                    x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME"
                ),
            },
            "sequence": {
                "reverse_sequence": lambda x: tf.reverse_sequence(
                    x, tf.constant([2] * x.shape.as_list()[0]), seq_axis=1
                ),
                "band_part": lambda x: tf.matmul(
                    tf.matrix_band_part(tf.matmul(x, x, transpose_b=True), -1, 0), x
                ),
                "mask": lambda x: (
                    x
                    * tf.sequence_mask(
                        [2] * x.shape.as_list()[0], x.shape.as_list()[1], tf.float32
                    )[..., None]
                ),
            },
        }.get(kind, {})
    )
    name = m.one(*functions)
    m.note(name)
    return lambda x, _: functions[name](x)


def reversible(m, kind):
    m.note("contrib.layers.rev_block")

    def apply(x, training):
        size = x.shape.as_list()[-1]
        flat = tf.reshape(x, [-1, size])
        given = slim.rev_block(
            flat,
            flat * 0.5,
            lambda y: tf.layers.dense(y, size, tf.tanh),
            lambda y: tf.layers.dense(y, size, tf.sigmoid),
            num_layers=2,
            is_training=training,
        )
        return tf.reshape(given[0] + given[1], x.shape.as_list())

    return apply


ANY = [dense, dense, normalized, computed, computed, computed, reversible]
TABLE = {
    "vector": ANY,
    "sequence": [*ANY, recurrent, recurrent, recurrent, convolved, pooled],
    "image": [*ANY, convolved, convolved, convolved, pooled],
}


# Losses, rates, optimizers, metrics -----------------------------------------------------------------


def loss_of(m, labels):
    for_classes = m.one("hinge", "log", "weighted", "with_logits", "total")
    for_numbers = m.one("weighted", "log_poisson", "pairs", "l2", "smooth")
    m.note(f"losses {for_classes} {for_numbers}")

    def apply(labels, outputs):
        losses, total = tf.losses, 0.0
        if "classes" in labels:
            given, logits = labels["classes"], outputs["classes"]
            ones = tf.one_hot(given, 3)
            total += {
                "hinge": lambda: losses.hinge_loss(ones, logits),
                "log": lambda: losses.log_loss(ones, tf.nn.softmax(logits), epsilon=1e-3),
                "weighted": lambda: tf.reduce_mean(
                    tf.nn.weighted_cross_entropy_with_logits(ones, logits, 2.0)
                ),
                "with_logits": lambda: tf.reduce_mean(
                    tf.nn.softmax_cross_entropy_with_logits(labels=ones, logits=logits)
                ),
                "total": lambda: (
                    losses.sparse_softmax_cross_entropy(given, logits, weights=0.5)
                    + losses.get_total_loss(False)
                ),
            }[for_classes]()
        if "numbers" in labels:
            given, numbers = labels["numbers"], outputs["numbers"]
            total += {
                "weighted": lambda: losses.compute_weighted_loss(
                    tf.squared_difference(given, numbers),
                    [[0.5, 1.5]],
                    reduction=losses.Reduction.SUM_OVER_BATCH_SIZE,
                ),
                "log_poisson": lambda: tf.reduce_mean(tf.nn.log_poisson_loss(given, numbers)),
                # The mean is over the pairs of an example; over the examples it is a sum.
                "pairs": lambda: (
                    losses.mean_pairwise_squared_error(given, numbers) / given.shape.as_list()[0]
                ),
                "l2": lambda: tf.nn.l2_loss(given - numbers) / given.shape.as_list()[0],
                "smooth": lambda: tf.reduce_mean(tf.sqrt(tf.square(given - numbers) + 1e-2)),
            }[for_numbers]()
        return total + losses.get_regularization_loss()

    return apply


def rate_of(m):
    train = tf.train
    schedules = {
        "restarts": lambda step: train.cosine_decay_restarts(0.05, step, 2),
        "linear cosine": lambda step: train.linear_cosine_decay(0.05, step, 10),
        "piecewise": lambda step: train.piecewise_constant_decay(step, [1, 2], [0.05, 0.02, 0.01]),
        "cosine": lambda step: train.cosine_decay(0.05, step, 10, alpha=0.1),
        "cycle": lambda step: train.polynomial_decay(0.05, step, 2, 0.01, cycle=True),
        "case": lambda step: tf.case(
            [(tf.less(step, 1), lambda: tf.constant(0.01))], default=lambda: tf.constant(0.03)
        ),
    }
    name = m.one(*schedules)
    m.note(f"rate {name}")
    return schedules[name]


def optimizer_of(m):
    train, opt = tf.train, tf.contrib.opt
    rows = {
        "momentumw": lambda rate: opt.MomentumWOptimizer(0.01, rate, 0.9),
        "nadam": lambda rate: opt.NadamOptimizer(rate, epsilon=1e-3),
        "decoupled": lambda rate: opt.extend_with_decoupled_weight_decay(train.AdamOptimizer)(
            weight_decay=0.01, learning_rate=rate, epsilon=1e-3
        ),
        "lars without bias": lambda rate: opt.LARSOptimizer(
            rate, 0.9, 0.01, skip_list=["bias"], epsilon=1e-3
        ),
        "adam": lambda rate: train.AdamOptimizer(rate, beta1=0.7, epsilon=1e-2),
        "own": lambda rate: Descent(rate),
        "rmsprop": lambda rate: train.RMSPropOptimizer(rate, decay=0.5, epsilon=1e-2),
        "with locks": lambda rate: train.MomentumOptimizer(rate, 0.5, use_locking=True),
    }
    name = m.one(*rows)
    m.note(f"optimizer {name}")
    return rows[name]


class Descent(tf.train.Optimizer):
    """An optimizer as scripts wrote their own, with a slot."""

    def __init__(self, rate, name="Descent"):
        super().__init__(False, name)
        self.rate = rate

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "seen", self._name)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        updates = []
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        self._create_slots([v for _, v in pairs])
        for gradient, variable in pairs:
            seen = self.get_slot(variable, "seen")
            total = 0.5 * seen + tf.convert_to_tensor(gradient)
            updates += [seen.assign(total), variable.assign_sub(self.rate * tf.tanh(total))]
        with tf.control_dependencies(updates):
            return tf.group(global_step.assign_add(1)) if global_step is not None else tf.no_op()


def metrics(classes=None, numbers=None, of_classes=None, of_numbers=None):
    found, given = {}, tf.metrics
    if classes is not None:
        first, chance = tf.equal(classes, 0), tf.nn.softmax(of_classes)[:, 0]
        chosen = tf.argmax(of_classes, 1, output_type=tf.int32)
        found = {
            "false_negatives": given.false_negatives(first, chance > 0.3),
            "false_positives": given.false_positives(first, chance > 0.3),
            "true_negatives": given.true_negatives(first, chance > 0.3),
            "true_positives": given.true_positives(first, chance > 0.3),
            "false_negatives_at": given.false_negatives_at_thresholds(first, chance, [0.2, 0.5]),
            "false_positives_at": given.false_positives_at_thresholds(first, chance, [0.2, 0.5]),
            "true_negatives_at": given.true_negatives_at_thresholds(first, chance, [0.2, 0.5]),
            "true_positives_at": given.true_positives_at_thresholds(first, chance, [0.2, 0.5]),
            "precision": given.precision(first, chance > 0.3),
            "recall": given.recall(first, chance > 0.3),
            "precision_at": given.precision_at_thresholds(first, chance, [0.2, 0.5]),
            "recall_at": given.recall_at_thresholds(first, chance, [0.2, 0.5]),
            "sensitivity": given.sensitivity_at_specificity(first, chance, 0.5, 20),
            "specificity": given.specificity_at_sensitivity(first, chance, 0.5, 20),
            "precision_k": given.precision_at_k(tf.cast(classes, tf.int64), of_classes, 2),
            "recall_k": given.recall_at_k(tf.cast(classes, tf.int64), of_classes, 2),
            "average_k": given.average_precision_at_k(tf.cast(classes, tf.int64), of_classes, 2),
            "per_class": given.mean_per_class_accuracy(classes, chosen, 3),
            "iou": given.mean_iou(classes, chosen, 3),
        }
    if numbers is not None:
        found["cosine"] = given.mean_cosine_distance(
            tf.nn.l2_normalize(numbers, 1), tf.nn.l2_normalize(of_numbers + 0.1, 1), 1
        )
        found["relative"] = given.mean_relative_error(numbers, of_numbers, numbers + 0.5)
        found["below"] = given.percentage_below(of_numbers, 0.4)
        found["tensor"] = given.mean_tensor(of_numbers[:2])
        found["squares"] = given.mean_squared_error(numbers, of_numbers)
    return found


def train(seed, brief=False):
    """Makes the program of a seed and runs it, as ``model_fns.train``."""
    others = {
        "TABLE": TABLE,
        "loss_of": loss_of,
        "rate_of": rate_of,
        "optimizer_of": optimizer_of,
        "metrics": metrics,
    }
    with mock.patch.multiple(plain, **others):
        return plain.train(seed, brief)
