"""Random TPUEstimators drawn from what a model function can hold, and scripts that are random walks over one.

``model_fns.py`` and its kin draw the layers of scripts. Here are the ways around layers that they lack:
variables made in every way, gradients of gradients, functions of TensorFlow in graphs, names and scopes,
updates that a script writes itself, moving averages, decoders; specs with hooks and scaffolds; and what a
script does with an Estimator: train again, ask in the midst, go on in another Estimator, export.
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
ModeKeys = tf.estimator.ModeKeys
BATCH, EXAMPLES = 16, 48


def seeded(m, matrix=True):
    """An initializer with a seed of its own: the graph of several cores may have other operations."""
    seed = m.random.randint(0, 999)
    return m.one(
        lambda: tf.glorot_uniform_initializer(seed=seed),
        lambda: tf.random_normal_initializer(stddev=0.3, seed=seed),
        lambda: tf.truncated_normal_initializer(stddev=0.3, seed=seed),
        lambda: tf.random_uniform_initializer(-0.4, 0.4, seed=seed),
        lambda: tf.variance_scaling_initializer(0.7, "fan_avg", seed=seed),
        lambda: tf.contrib.layers.xavier_initializer(seed=seed),
        # As the initializer of a scope it is one of biases, too, which are no matrices.
        *([lambda: tf.orthogonal_initializer(seed=seed)] if matrix else []),
    )


# Pieces: each is a function of a matrix, which gives one -----------------------------------------------------


def layer_options(m):
    """Some arguments of a layer of tf.layers."""
    initial = seeded(m)
    drawn = {
        "activation": m.one(tf.nn.relu, tf.tanh, tf.nn.elu, tf.nn.softplus, "sigmoid"),
        "use_bias": m.often(),
        "bias_initializer": m.one(tf.ones_initializer(), tf.constant_initializer(0.1)),
        "kernel_regularizer": m.one(
            tf.contrib.layers.l2_regularizer(0.01),
            tf.contrib.layers.l1_l2_regularizer(0.01, 0.01),
            tf.keras.regularizers.l2(0.01),
            lambda w: 0.01 * tf.reduce_sum(tf.abs(w)),
        ),
        "bias_regularizer": tf.contrib.layers.l2_regularizer(0.01),
        # A layer divides it by the size of its batch, so it is a sum.
        "activity_regularizer": lambda y: 0.01 * tf.reduce_sum(tf.square(y)),
        "kernel_constraint": m.one(
            tf.keras.constraints.MaxNorm(0.9), lambda w: tf.clip_by_value(w, -0.5, 0.5)
        ),
        "trainable": m.often(0.7),
    }
    chosen = {name: value for name, value in drawn.items() if m.often(0.3)}
    if not chosen.get("use_bias", True):
        chosen.pop("bias_regularizer", None)
    return {**chosen, "kernel_initializer": initial()}


def dense(m):
    units, options = m.units(), layer_options(m)
    m.note(f"dense {sorted(options)}")
    return lambda x, training: tf.layers.dense(x, units, **options)


def convolution(m):
    """A convolution of tf.layers over the columns."""
    kind = m.one("conv1d", "conv2d", "conv2d_transpose", "separable_conv1d", "conv3d")
    options = layer_options(m)
    padding = m.one("same", "valid", "SAME")
    if kind.startswith("separable"):
        initial = options.pop("kernel_initializer")
        options = {
            "depthwise_initializer": initial,
            "pointwise_initializer": initial,
            **{k: v for k, v in options.items() if not k.startswith("kernel")},
        }
    m.note(f"{kind} {padding} {sorted(options)}")

    def apply(x, training):
        rank = 1 if kind[-2] == "1" else 3 if kind[-2] == "3" else 2
        shape = [x.shape.as_list()[1], *[2] * (rank - 1), 1]
        tiled = tf.tile(tf.reshape(x, [-1, shape[0], *[1] * rank]), [1, 1, *[2] * (rank - 1), 1])
        y = getattr(tf.layers, kind)(tiled, 2, 2, padding=padding, **options)
        return tf.layers.flatten(y)

    return apply


def normalization(m):
    """Batch normalization with the arguments of tf.layers and of slim."""
    way = m.one("layers", "slim", "slim now", "group", "instance", "layer")
    m.note(f"normalization {way}")
    fused, momentum, scale = m.one(None, False), m.one(0.5, 0.9), m.often()
    if way in ("layers", "slim", "slim now") and not m.exact:
        m.apart.add("batch normalization: statistics of a core's part of the batch")

    def apply(x, training):
        training = training and not m.exact
        given = tf.contrib.layers
        if way == "layers":
            return tf.layers.batch_normalization(
                x, momentum=momentum, scale=scale, fused=fused, training=training, name=None
            )
        if way in ("slim", "slim now"):
            updates = {"updates_collections": None} if way == "slim now" else {}
            return given.batch_norm(
                x, decay=momentum, scale=scale, is_training=training, epsilon=1e-2, **updates
            )
        if way == "layer":
            return given.layer_norm(x, scale=scale)
        picture = tf.reshape(x, [x.shape.as_list()[0], 1, x.shape.as_list()[1], 1])
        picture = tf.tile(picture, [1, 2, 1, 4]) * tf.constant([1.0, 0.5, -0.3, 2.0])
        if way == "group":
            return tf.layers.flatten(given.group_norm(picture, groups=2, epsilon=1e-2))
        return tf.layers.flatten(given.instance_norm(picture, epsilon=1e-2))

    return apply


def variables(m):
    """A variable made and used in one of the ways of TensorFlow 1."""
    way = m.one(
        *("Variable", "Variable of a function", "partitioned", "float64", "bfloat16", "getter"),
        *("scope", "constrained", "template", "local scope", "regularized", "read", "collection"),
        *("model variable", "slices", "from a tensor", "resource", "caching"),
    )
    initial = seeded(m)
    m.note(f"variable: {way}")
    if way == "bfloat16":
        m.apart.add("bfloat16: a sum in another order may have another last digit, of 4e-3")

    def kernel_of(size):
        shape, start = [size, 4], initial()
        if way == "Variable":
            return tf.Variable(np.linspace(-0.5, 0.5, size * 4).reshape(shape).astype("float32"))
        if way == "Variable of a function":
            return tf.Variable(lambda: start(shape), name="made", dtype=tf.float32)
        if way == "from a tensor":
            return tf.get_variable("w", initializer=tf.fill(shape, 0.1) + tf.eye(size, 4))
        if way == "partitioned":
            parts = tf.fixed_size_partitioner(2)
            with tf.variable_scope("parts", partitioner=parts):
                return tf.convert_to_tensor(tf.get_variable("w", shape, initializer=start))
        if way in ("float64", "bfloat16"):
            made = tf.get_variable("w", shape, getattr(tf, way), tf.constant_initializer(0.25))
            return tf.cast(made, tf.float32)
        if way == "getter":

            def getter(get, *args, **options):
                return 0.5 * get(*args, **options)

            with tf.variable_scope("got", custom_getter=getter):
                return tf.get_variable("w", shape, initializer=start)
        if way == "scope":
            with tf.variable_scope("outer", initializer=start), tf.variable_scope("inner") as scope:
                first = tf.get_variable("w", shape)
            with tf.variable_scope(scope, reuse=True):
                return first + tf.get_variable("w")
        if way == "constrained":
            clip = lambda w: tf.clip_by_norm(w, 0.8)
            return tf.get_variable("w", shape, initializer=start, constraint=clip)
        if way == "template":
            made = tf.make_template("t", lambda: tf.get_variable("w", shape, initializer=start))
            return made() + made()
        if way == "local scope":
            with tf.name_scope("named"), tf.variable_scope("a/b", auxiliary_name_scope=False):
                return tf.get_variable("w", shape, initializer=start)
        if way == "regularized":
            with tf.variable_scope("r", regularizer=tf.contrib.layers.l2_regularizer(0.01)):
                return tf.get_variable("w", shape, initializer=start)
        if way == "read":
            return tf.get_variable("w", shape, initializer=start).read_value()
        if way == "collection":
            both = [tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.TRAINABLE_VARIABLES, "mine"]
            tf.get_variable("w", shape, initializer=start, collections=both)
            return tf.get_collection("mine")[-1]
        if way == "model variable":
            return tf.contrib.framework.model_variable("w", shape, initializer=start)
        if way == "slices":
            wide = tf.get_variable("w", [size, 8], initializer=start)
            return wide[:, :4] + tf.split(wide, 2, axis=1)[1]
        if way == "caching":
            with tf.variable_scope("c", caching_device=lambda op: op.device):
                return tf.get_variable("w", shape, initializer=start)
        return tf.get_variable("w", shape, initializer=start, use_resource=True)

    def apply(x, training):
        with tf.variable_scope(None, "variables"):
            return tf.matmul(x, kernel_of(x.shape.as_list()[-1]))

    return apply


def assigned(m):
    """A script's own updates of a variable that the next step reads; all cores assign alike."""
    way = m.one(
        *("assign", "assign_add", "scatter_update", "scatter_add", "scatter_nd_update", "count"),
        *("moving average", "cond", "sliced", "while", "assign_moving_average"),
    )
    m.note(f"assigned: {way}")

    def update(w, step):
        if way == "assign":
            return tf.assign(w, 0.9 * w + 0.1)
        if way == "assign_add":
            return tf.assign_add(w, tf.fill(w.shape, 0.125))
        if way == "scatter_update":
            return tf.scatter_update(w, [0], [0.5 + 0.1 * tf.cast(step, tf.float32)])
        if way == "scatter_add":
            return tf.scatter_add(w, [1, 1], [0.25, 0.125])
        if way == "scatter_nd_update":
            return tf.scatter_nd_update(w, [[0], [2]], [0.3, 0.2])
        if way == "moving average":
            average = tf.train.ExponentialMovingAverage(0.5)
            return tf.group(average.apply([w]), w.assign(1.1 * w))
        if way == "assign_moving_average":
            from tensorflow.python.training import moving_averages

            return moving_averages.assign_moving_average(w, 0.3 * w, 0.9, zero_debias=False)
        if way == "cond":
            return tf.cond(
                step > 0, lambda: tf.assign(w, 0.5 * w).op, lambda: tf.assign_sub(w, 0.25 * w).op
            )
        if way == "sliced":
            return w[1:3].assign([0.2, 0.4])
        if way == "while":
            total = tf.while_loop(
                lambda i, t: i < 2, lambda i, t: (i + 1, t + 0.5), (0, 0.0), maximum_iterations=2
            )[1]
            return tf.assign(w, w * total)
        return tf.assign(w, tf.cast(tf.fill(w.shape, step + 1), tf.float32))

    def apply(x, training):
        size = x.shape.as_list()[-1]
        with tf.variable_scope(None, "assigned"):
            w = tf.get_variable(
                "w", [max(size, 3)], initializer=tf.ones_initializer(), trainable=False
            )
        now = tf.identity(w)
        if training:
            with tf.control_dependencies([now]):
                tf.add_to_collection(
                    tf.GraphKeys.UPDATE_OPS, update(w, tf.train.get_or_create_global_step())
                )
        return x * now[:size]

    return apply


@tf.RegisterGradient("HalfOfTanh")
def _half(op, grad):
    return 0.5 * grad * (1.0 - tf.square(op.outputs[0]))


def functions(m):
    """Functions of TensorFlow in a graph, gradients of a script's own, gradients in the forward pass."""
    way = m.one(
        *("override", "defun", "tf.function", "Defun", "custom_gradient", "penalty", "hessian"),
        *("stop", "identity_n", "tuple", "Assert", "check_numerics", "device", "colocated"),
        *("recomputed", "nested cond", "while of arrays", "shape invariants", "case", "assert"),
        *("while of variables", "name_scope", "cond of a tuple", "grad of a loop", "summaries"),
    )
    m.note(f"function: {way}")

    def override(x):
        with tf.get_default_graph().gradient_override_map({"Tanh": "HalfOfTanh"}):
            return tf.tanh(x, name="overridden")

    def defined(x):
        return tf.contrib.eager.defun(lambda y: tf.tanh(y) + 0.1 * y)(x)

    def function(x):
        @tf.function
        def computed(y):
            total = y
            for _ in tf.range(2):
                total = tf.tanh(total) + 0.1 * y
            return total

        return computed(x)

    def defun_115(x):
        from tensorflow.python.framework import function as of_tensorflow

        @of_tensorflow.Defun(tf.float32)
        def computed(y):
            return tf.tanh(y) * 0.5 + y

        made = computed(x)
        made.set_shape(x.shape)
        return made

    def custom(x):
        @tf.custom_gradient
        def reversed_gradient(y):
            return tf.identity(y), lambda dy: -0.1 * dy

        return x + reversed_gradient(x)

    def penalty(x):
        y = tf.layers.dense(x, 3, tf.tanh, kernel_initializer=tf.ones_initializer())
        slope = tf.gradients(y, x)[0]
        tf.losses.add_loss(0.01 * tf.reduce_mean(tf.square(tf.norm(slope + 0.1, axis=1) - 1.0)))
        return y

    def hessian(x):
        y = tf.reduce_sum(tf.sin(x), 1)
        return x + 0.1 * tf.gradients(tf.gradients(y, x)[0], x)[0]

    def asserted(x):
        with tf.control_dependencies([tf.Assert(tf.reduce_all(x < 1e6), [x])]):
            return tf.identity(x)

    def compared(x):
        with tf.control_dependencies([tf.assert_equal(tf.shape(x)[1], x.shape.as_list()[1])]):
            return x + 0.0

    def on_device(x):
        with tf.device("/cpu:0"), tf.device(None):
            return tf.sin(x)

    def colocated(x):
        y = tf.exp(-x * x)
        with tf.colocate_with(y):
            return y + 0.1 * x

    def recomputed(x):
        return tf.contrib.layers.recompute_grad(lambda y: tf.tanh(y) * y)(x)

    def nested(x):
        step = tf.train.get_or_create_global_step()
        return tf.cond(
            step < 2,
            lambda: tf.cond(tf.equal(step, 0), lambda: x * 0.5, lambda: tf.sin(x)),
            lambda: tf.tanh(x),
        )

    def arrays(x):
        size = x.shape.as_list()[1]
        columns = tf.TensorArray(tf.float32, size).unstack(tf.transpose(x))
        out = tf.TensorArray(tf.float32, size, element_shape=[x.shape.as_list()[0]])

        def body(i, last, out):
            now = 0.5 * last + columns.read(i)
            return i + 1, now, out.write(i, tf.tanh(now))

        start = (0, tf.zeros([x.shape.as_list()[0]]), out)
        _, _, out = tf.while_loop(lambda i, *_: i < size, body, start, maximum_iterations=size)
        return tf.transpose(out.stack())

    def invariants(x):
        return tf.while_loop(
            lambda i, y: i < 2,
            lambda i, y: [i + 1, 0.5 * tf.tanh(y) + 0.1 * x],
            [tf.constant(0), x],
            shape_invariants=[tf.TensorShape([]), x.shape],
            back_prop=True,
            parallel_iterations=1,
            maximum_iterations=4,
        )[1]

    def case(x):
        step = tf.train.get_or_create_global_step()
        return tf.case(
            {tf.equal(step, 0): lambda: x, tf.equal(step, 1): lambda: tf.sin(x)},
            default=lambda: 0.5 * x,
            exclusive=True,
        )

    def with_variables(x):
        """Layers made in the body of a loop."""

        def body(i, y):
            with tf.variable_scope("body", reuse=tf.AUTO_REUSE):
                w = tf.get_variable("w", [x.shape.as_list()[1]], initializer=tf.ones_initializer())
            return i + 1, tf.tanh(y * w)

        return tf.while_loop(lambda i, y: i < 3, body, (0, x), maximum_iterations=3)[1]

    def pairs(x):
        step = tf.train.get_or_create_global_step()
        a, b = tf.cond(step > 0, lambda: (x, tf.sin(x)), lambda: (tf.cos(x), 0.5 * x))
        return a + 0.5 * b

    def of_a_loop(x):
        """The gradient of a loop, in the forward pass."""
        y = tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y)), (0, x), maximum_iterations=3
        )[1]
        return x + 0.1 * tf.stop_gradient(tf.gradients(y, x)[0])

    def summarized(x):
        tf.summary.scalar("mean", tf.reduce_mean(x))
        tf.summary.histogram("values", x)
        return x

    def scoped(x):
        with tf.name_scope("outer/"), tf.name_scope(None), tf.name_scope("again", values=[x]):
            return tf.identity(0.5 * x, name="scaled")

    rows = {
        "override": override,
        "defun": defined,
        "tf.function": function,
        "Defun": defun_115,
        "custom_gradient": custom,
        "penalty": penalty,
        "hessian": hessian,
        "stop": lambda x: x + tf.stop_gradient(tf.square(x)),
        "identity_n": lambda x: sum(tf.identity_n([x, 0.5 * x])),
        "tuple": lambda x: tf.tuple([x, tf.sin(x)])[1],
        "Assert": asserted,
        "assert": compared,
        "check_numerics": lambda x: tf.check_numerics(x, "not a number"),
        "device": on_device,
        "colocated": colocated,
        "recomputed": recomputed,
        "nested cond": nested,
        "while of arrays": arrays,
        "shape invariants": invariants,
        "case": case,
        "while of variables": with_variables,
        "name_scope": scoped,
        "cond of a tuple": pairs,
        "grad of a loop": of_a_loop,
        "summaries": summarized,
    }
    return lambda x, training: rows[way](x)


CELLS = {
    "BasicRNNCell": {},
    "GRUCell": {"activation": tf.nn.relu},
    "LSTMCell": {"use_peepholes": True, "num_proj": 3, "proj_clip": 1.0, "forget_bias": 0.5},
    "BasicLSTMCell": {"forget_bias": 0.3, "activation": tf.sin},
    "rnn.BasicRNNCell": {},
    "rnn.NASCell": {},
    "rnn.LayerNormBasicLSTMCell": {},
}


def recurrent(m):
    """A cell, and a loop over the columns."""
    name = m.one(*CELLS)
    way = m.one("dynamic", "static", "bidirectional", "lengths", "seq2seq", "time major", "stacked")
    # Other wrappers are gone (TPU101).
    wrapper = m.one(None, None, "ResidualWrapper", "DropoutWrapper", "both", "multi")
    initial = seeded(m, matrix=False)
    m.note(f"{way} {name} {wrapper}")

    def cell_of(size):
        module = tf.contrib.rnn if name.startswith("rnn.") else tf.nn.rnn_cell
        options = CELLS[name] if m.seed % 2 else {}
        cell = getattr(module, name.rsplit(".", 1)[-1])(4, **options)
        if wrapper in ("DropoutWrapper", "both"):
            cell = tf.nn.rnn_cell.DropoutWrapper(cell, 1.0, state_keep_prob=1.0)
        if wrapper in ("ResidualWrapper", "both") and cell.output_size == size:
            return tf.nn.rnn_cell.ResidualWrapper(cell)
        if wrapper == "multi":
            return tf.nn.rnn_cell.MultiRNNCell([cell, tf.nn.rnn_cell.GRUCell(3)])
        return cell

    def unrolled(x):
        """One step for every column, of four numbers."""
        rows = tf.expand_dims(x, -1) * tf.constant([1.0, 0.5, -0.5, 0.2])
        batch, steps = x.shape.as_list()
        if way == "static":
            outputs, _ = tf.nn.static_rnn(cell_of(4), tf.unstack(rows, axis=1), dtype=tf.float32)
            return outputs[-1]
        if way == "bidirectional":
            outputs, _ = tf.nn.bidirectional_dynamic_rnn(
                cell_of(4), cell_of(4), rows, dtype=tf.float32
            )
            return tf.concat(outputs, -1)[:, 0]
        if way == "stacked":
            outputs, _, _ = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
                [cell_of(4), cell_of(8)], [cell_of(4), cell_of(8)], rows, dtype=tf.float32
            )
            return tf.reduce_mean(outputs, 1)
        if way == "time major":
            outputs, _ = tf.nn.dynamic_rnn(
                cell_of(4), tf.transpose(rows, [1, 0, 2]), time_major=True, dtype=tf.float32
            )
            return tf.reduce_max(outputs, 0)
        lengths = None
        if way == "lengths":
            lengths = 1 + tf.cast(tf.abs(x[:, 0]) * 10.0, tf.int32) % 2
        if way == "seq2seq":
            helper = tf.contrib.seq2seq.TrainingHelper(rows, tf.fill([batch], steps))
            cell = cell_of(4)
            decoder = tf.contrib.seq2seq.BasicDecoder(
                cell, helper, cell.zero_state(batch, tf.float32)
            )
            found, _, _ = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
            return tf.reduce_sum(found.rnn_output, 1)
        outputs, _ = tf.nn.dynamic_rnn(cell_of(4), rows, lengths, dtype=tf.float32)
        return outputs[:, -1]

    def apply(x, training):
        with tf.variable_scope(None, "recurrent", initializer=initial()):
            made = unrolled(x)
        made.set_shape([x.shape.as_list()[0], made.shape.as_list()[1]])
        return made

    return apply


def attention(m):
    """tf.contrib.seq2seq's attention over the columns."""
    kind = m.one("LuongAttention", "BahdanauAttention")
    initial = seeded(m, matrix=False)
    m.note(kind)

    def apply(x, training):
        batch, steps = x.shape.as_list()
        memory = tf.expand_dims(x, -1) * tf.constant([1.0, -0.5, 0.3])
        given = tf.contrib.seq2seq
        with tf.variable_scope(None, "attention", initializer=initial()):
            mechanism = getattr(given, kind)(4, memory)
            cell = given.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), mechanism, 4)
            helper = given.TrainingHelper(memory, tf.fill([batch], steps))
            decoder = given.BasicDecoder(cell, helper, cell.zero_state(batch, tf.float32))
            found, _, _ = given.dynamic_decode(decoder, maximum_iterations=steps)
        made = tf.reduce_mean(found.rnn_output, 1)
        made.set_shape([batch, 4])
        return made

    return apply


def keras_part(m):
    """Layers or a model of Keras inside of a model function."""
    way = m.one("layer", "model", "functional", "own layer", "subclass")
    units = m.units()
    m.note(f"Keras {way}")
    keras = tf.keras

    class Scaled(keras.layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight("scale", (int(shape[-1]),), initializer="ones")
            self.built = True

        def call(self, inputs):
            self.add_loss(0.01 * tf.reduce_sum(tf.square(self.scale)))
            return inputs * self.scale

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.one = keras.layers.Dense(units, "relu", kernel_initializer="ones")

        def call(self, inputs, training=None):
            return 0.1 * self.one(inputs)

    def apply(x, training):
        options = {"kernel_initializer": keras.initializers.Constant(0.2)}
        if way == "layer":
            return keras.layers.Dense(units, activation="tanh", **options)(x)
        if way == "model":
            made = [keras.layers.Dense(units, **options), keras.layers.Dropout(0.0)]
            return keras.Sequential(made)(x, training=training)
        if way == "functional":
            given = keras.layers.Input(x.shape.as_list()[1:])
            inner = keras.Model(given, keras.layers.Dense(units, **options)(given))
            return inner(x)
        if way == "subclass":
            return Model()(x)
        layer = Scaled()
        made = layer(x)
        for loss in layer.losses:
            tf.losses.add_loss(loss)
        return made

    return apply


PIECES = [dense, convolution, normalization, *[variables] * 3, assigned, assigned]
PIECES += [*[functions] * 5, *[recurrent] * 3, attention, keras_part]


# Losses, training, metrics -----------------------------------------------------------------------------------


def loss_of(m):
    """A loss of tf.losses with some of its arguments."""
    name = m.one("softmax", "sparse", "squares", "huber", "log", "hinge", "sigmoid", "own")
    weights = m.one(1.0, 0.5, "column")
    collected = m.often()
    m.note(f"loss {name}, weights {weights}, collected {collected}")

    def apply(labels, logits):
        losses, ones = tf.losses, tf.one_hot(labels, 3)
        # The mean over the batch, and weights that are not of an example: cores have parts of the same size.
        given = {"weights": [[1.0, 2.0, 0.5]] if weights == "column" else weights}
        given["reduction"] = losses.Reduction.SUM_OVER_BATCH_SIZE
        scalar = {**given, "weights": 0.5 if weights == "column" else weights}
        if not collected:
            given["loss_collection"] = scalar["loss_collection"] = None
        loss = {
            "softmax": lambda: losses.softmax_cross_entropy(
                ones, logits, label_smoothing=0.1, **scalar
            ),
            "sparse": lambda: losses.sparse_softmax_cross_entropy(labels, logits, **scalar),
            "squares": lambda: losses.mean_squared_error(ones, logits, **given),
            "huber": lambda: losses.huber_loss(ones, logits, delta=0.5, **given),
            "log": lambda: losses.log_loss(ones, tf.sigmoid(logits), epsilon=1e-2, **given),
            "hinge": lambda: losses.hinge_loss(ones, logits, **given),
            "sigmoid": lambda: losses.sigmoid_cross_entropy(
                ones, logits, label_smoothing=0.1, **given
            ),
            "own": lambda: tf.reduce_mean(tf.reduce_sum(tf.square(ones - tf.sigmoid(logits)), 1)),
        }[name]()
        total = losses.get_total_loss() if collected and name != "own" else loss
        if not collected or name == "own":
            for other in [*losses.get_losses(), *losses.get_regularization_losses()]:
                total += other
        return total

    return apply


def optimizer_of(m):
    """Every optimizer of tf.train and tf.contrib.opt, with some of its arguments."""
    train, opt = tf.train, tf.contrib.opt
    locked = m.often()
    rows = {
        "sgd": lambda r, s: train.GradientDescentOptimizer(r, use_locking=locked, name="Mine"),
        "momentum": lambda r, s: train.MomentumOptimizer(r, tf.constant(0.8), use_locking=locked),
        "adam": lambda r, s: train.AdamOptimizer(r, 0.7, 0.9, 1e-2, use_locking=locked),
        "rmsprop": lambda r, s: train.RMSPropOptimizer(r, 0.8, 0.3, 1e-2, centered=locked),
        "adagrad": lambda r, s: train.AdagradOptimizer(r, 0.3),
        "adadelta": lambda r, s: train.AdadeltaOptimizer(10.0 * r, 0.8, 1e-2),
        "ftrl": lambda r, s: train.FtrlOptimizer(
            r, l1_regularization_strength=0.001, l2_shrinkage_regularization_strength=0.01
        ),
        "proximal": lambda r, s: train.ProximalGradientDescentOptimizer(r, 0.001, 0.01),
        "proximal adagrad": lambda r, s: train.ProximalAdagradOptimizer(r, 0.2, 0.001, 0.01),
        "adagrad da": lambda r, s: train.AdagradDAOptimizer(r, s, 0.2, 0.0, 0.01),
        "adamw": lambda r, s: opt.AdamWOptimizer(0.01, r, epsilon=1e-2),
        "momentumw": lambda r, s: opt.MomentumWOptimizer(0.01, r, 0.8, use_nesterov=locked),
        "nadam": lambda r, s: opt.NadamOptimizer(r, epsilon=1e-2),
        "lazy adam": lambda r, s: opt.LazyAdamOptimizer(r, epsilon=1e-2),
        "lars": lambda r, s: opt.LARSOptimizer(r, use_nesterov=locked, epsilon=1e-2),
    }
    name = m.one(*rows)
    m.note(f"optimizer {name}")
    return rows[name]


def training_of(m):
    way = m.one(
        *("minimize", "gates", "stopped", "listed", "grad_loss", "averaged", "twice", "ordered"),
        *("norm", "named", "by variable", "noise of none", "wrapped"),
    )
    make, rate_at = optimizer_of(m), plain.rate_of(m)
    m.note(f"train_op: {way}")

    def apply(loss):
        step = tf.train.get_global_step()
        rate = tf.convert_to_tensor(rate_at(step), tf.float32)
        inner = make(rate, step)
        made = tpu.CrossShardOptimizer(inner, name=m.one("Cross", "CrossShardOptimizer"))
        if way == "wrapped":
            made = tpu.CrossShardOptimizer(inner, reduction=tf.losses.Reduction.MEAN)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(updates):
            if way == "gates":
                op = made.minimize(
                    loss,
                    step,
                    gate_gradients=tf.train.Optimizer.GATE_GRAPH,
                    colocate_gradients_with_ops=True,
                    aggregation_method=tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
                )
            elif way == "listed":
                op = made.minimize(loss, step, var_list=tf.trainable_variables()[::-1], name="go")
            elif way == "grad_loss":
                pairs = made.compute_gradients(loss, grad_loss=tf.constant(0.5))
                op = made.apply_gradients(pairs, step)
            elif way == "norm":
                pairs = [(g, v) for g, v in made.compute_gradients(loss) if g is not None]
                norm = tf.global_norm([tf.convert_to_tensor(g) for g, _ in pairs])
                with tf.control_dependencies([norm]):
                    op = made.apply_gradients(pairs, step, "train_op")
            elif way == "by variable":
                ops = []
                for gradient, variable in made.compute_gradients(loss):
                    # Without an order, Adam's powers of beta are read before or after another update.
                    with tf.control_dependencies(ops[-1:]):
                        if gradient is not None:
                            ops.append(made.apply_gradients([(gradient, variable)]))
                with tf.control_dependencies(ops):
                    op = tf.assign_add(step, 1)
            elif way == "twice":
                first = made.minimize(loss)
                with tf.control_dependencies([first]):
                    op = tf.assign_add(step, 1).op
            elif way == "ordered":
                op = made.minimize(loss)
                op = tf.group(op, step.assign_add(1))
            else:
                op = made.minimize(loss, global_step=step)
        if way == "averaged":
            average = tf.train.ExponentialMovingAverage(0.7, name="Averages")
            with tf.control_dependencies([op]):
                op = average.apply(tf.trainable_variables())
        return op, rate

    return apply, way


def metrics(labels, logits, weights):
    given, chosen = tf.metrics, tf.argmax(logits, 1, output_type=tf.int32)
    return {
        "accuracy": given.accuracy(labels, chosen, weights=weights),
        "mean": given.mean(logits[:, 0], weights=weights),
        "auc": given.auc(tf.equal(labels, 0), tf.sigmoid(logits[:, 0]), weights, 20, curve="PR"),
        "squares": given.mean_squared_error(tf.one_hot(labels, 3), logits),
        "precision": given.precision(tf.equal(labels, 1), tf.equal(chosen, 1), weights=weights),
        "own": tf.metrics.mean(tf.reduce_max(logits, 1)),
    }


# Programs ----------------------------------------------------------------------------------------------------


class Counting(tf.train.SessionRunHook):
    """What a script's hook sees: the global step after every call."""

    def __init__(self):
        self.seen = []

    def begin(self):
        self.step = tf.train.get_global_step()

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.step)

    def after_run(self, run_context, run_values):
        self.seen.append(int(run_values.results))

    def end(self, session):
        self.seen.append(-int(session.run(self.step)))


class Program:
    def __init__(self, m, folder, brief):
        self.m, self.folder, self.brief = m, folder, brief
        kind = m.one("vector", "vector", "words", "several", "tuple")
        m.note(f"features: {kind}")
        self.features = {"x": m.numbers.rand(EXAMPLES, 6).astype("float32")}
        if kind == "words":
            words = m.numbers.randint(0, 9, (EXAMPLES, 5))
            self.features = {"ids": words.astype("int32")}
        elif kind == "several":
            self.features["more"] = {"y": m.numbers.rand(EXAMPLES, 3).astype("float32")}
            self.features["flag"] = m.numbers.randint(0, 2, (EXAMPLES, 1)).astype("bool")
        self.labels = m.numbers.randint(0, 3, EXAMPLES).astype("int32")
        self.pieces = [m.one(*PIECES)(m) for _ in range(m.random.randint(1, 3))]
        self.loss, (self.training, self.way) = loss_of(m), training_of(m)
        self.embedding = m.one("lookup", "partitioned", "gather", "feature column", "mean")
        self.initial, self.last = seeded(m), seeded(m)
        self.hosted, self.hook = plain.Losses(), Counting()
        self.host = m.one("losses", "losses", "summaries", "none")
        self.scaffold = m.one(None, None, "saver", "init", "restored")
        self.hooks = m.one("none", "spec", "train", "both")
        self.arguments = m.one("all", "config", "no labels")
        m.note(f"{self.embedding}, {self.host}, {self.scaffold}, hooks {self.hooks}")
        self.loop = m.one(1, 2, 4)
        self.number = 0

    # The model function

    def embed(self, ids):
        m = self.m
        if self.embedding == "feature column":
            column = tf.feature_column
            made = column.categorical_column_with_identity("ids", 9)
            if m.seed % 2:
                return column.input_layer({"ids": ids[:, :1]}, [column.indicator_column(made)])
            dense_column = column.embedding_column(made, 4, initializer=self.initial())
            return column.input_layer({"ids": ids[:, :1]}, [dense_column])
        parts = tf.fixed_size_partitioner(3) if self.embedding == "partitioned" else None
        table = tf.get_variable("table", [9, 4], initializer=self.initial(), partitioner=parts)
        if self.embedding == "gather":
            return tf.reshape(tf.gather(table, ids), [ids.shape.as_list()[0], 20])
        found = tf.nn.embedding_lookup(table, ids, partition_strategy="div")
        return tf.reduce_mean(found, 1)

    def network(self, features, training):
        if "ids" in features:
            x = self.embed(features["ids"])
        else:
            x = features["x"]
            if "more" in features:
                x = tf.concat([x, features["more"]["y"], tf.cast(features["flag"], tf.float32)], 1)
        for index, piece in enumerate(self.pieces):
            with tf.variable_scope(f"piece_{index}"):
                x = piece(x, training)
            if x.shape.as_list()[-1] > 40:
                x = x[:, :40]
        x = 0.5 * tf.tanh(x) + 0.01 * x
        return tf.layers.dense(x, 3, name="logits", kernel_initializer=self.last())

    def spec(self, features, labels, mode):
        logits = self.network(features, mode == ModeKeys.TRAIN)
        scaffold = self.scaffold_fn()
        if mode == ModeKeys.PREDICT:
            found = {"classes": tf.argmax(logits, 1), "logits": logits}
            return tpu.TPUEstimatorSpec(
                mode,
                predictions=found,
                scaffold_fn=scaffold,
                export_outputs={"serving_default": tf.estimator.export.PredictOutput(found)},
            )
        loss = self.loss(labels, logits)
        if mode == ModeKeys.EVAL:
            weights = tf.cast(labels > 0, tf.float32) + 0.5
            given = [labels, logits, weights]
            if self.m.seed % 2:
                given = dict(zip(("labels", "logits", "weights"), given))
            return tpu.TPUEstimatorSpec(
                mode,
                loss=loss,
                eval_metrics=(metrics, given),
                scaffold_fn=scaffold,
                evaluation_hooks=[Counting()] if self.hooks in ("spec", "both") else None,
            )
        op, rate = self.training(loss)
        return tpu.TPUEstimatorSpec(
            mode,
            loss=loss,
            train_op=op,
            host_call=self.host_call(loss, rate),
            scaffold_fn=scaffold,
            training_hooks=[self.hook] if self.hooks in ("spec", "both") else None,
        )

    def host_call(self, loss, rate):
        if self.host == "none":
            return None
        if self.host == "losses":
            return self.hosted.call(loss, rate)
        folder = os.path.join(self.folder, "host")

        def write(step, loss, rate):
            step = step[0]
            written = tf.contrib.summary
            writer = written.create_file_writer(folder, max_queue=10).as_default()
            with writer, written.record_summaries_every_n_global_steps(1, step):
                written.scalar("loss", tf.reduce_mean(loss), step=step)
                written.scalar("rate", rate[0], step=step)
                return written.all_summary_ops()

        step = tf.train.get_global_step()
        return write, [tf.reshape(t, [1]) for t in (step, loss, rate)]

    def scaffold_fn(self):
        if self.scaffold is None:
            return None

        def made():
            if self.scaffold == "saver":
                return tf.train.Scaffold(saver=tf.train.Saver(max_to_keep=3, sharded=True))
            if self.scaffold == "init":
                return tf.train.Scaffold(init_fn=lambda scaffold, session: None)
            return tf.train.Scaffold(
                saver=tf.train.Saver(tf.global_variables(), save_relative_paths=True),
                local_init_op=tf.group(tf.local_variables_initializer(), tf.tables_initializer()),
            )

        return made

    def model_fn(self):
        def all_of_them(features, labels, mode, params):
            assert params["own"] == 1
            return self.spec(features, labels, mode)

        def with_config(features, labels, mode, config, params):
            assert config.model_dir
            return self.spec(features, labels, mode)

        def without_labels(features, mode, params):
            features = dict(features)
            return self.spec(features, features.pop("label", None), mode)

        return {
            "all": all_of_them,
            "config": with_config,
            "no labels": without_labels,
        }[self.arguments]

    # What a script does

    def input_fn(self, params):
        features = self.features
        if self.arguments == "no labels":
            features = {**features, "label": self.labels}
            data = tf.data.Dataset.from_tensor_slices(features)
        else:
            data = tf.data.Dataset.from_tensor_slices((features, self.labels))
        return data.repeat().batch(params["batch_size"], drop_remainder=True)

    def predict_input_fn(self, params):
        part = tf.nest.map_structure(lambda v: v[:20], self.features)
        return tf.data.Dataset.from_tensor_slices(part).batch(params["batch_size"])

    def estimator(self, where="model", **options):
        m = self.m
        config = tpu.RunConfig(
            model_dir=os.path.join(self.folder, where),
            tf_random_seed=m.seed + 1,
            save_checkpoints_steps=None if m.seed % 3 else 2,
            save_checkpoints_secs=600 if m.seed % 3 else None,
            save_summary_steps=2,
            log_step_count_steps=2,
            session_config=tf.ConfigProto(allow_soft_placement=True) if m.seed % 2 else None,
            tpu_config=tpu.TPUConfig(self.loop, per_host_input_for_training=m.one(True, 3)),
        )
        return tpu.TPUEstimator(
            self.model_fn(),
            config=config,
            params={"own": 1},
            use_tpu=True,
            train_batch_size=BATCH,
            eval_batch_size=BATCH,
            predict_batch_size=BATCH,
            **options,
        )

    def train(self, made):
        hooks = [self.hook] if self.hooks in ("train", "both") else None
        if self.hooks == "both":
            hooks = [tf.train.StopAtStepHook(num_steps=100)]
        made.train(self.input_fn, hooks=hooks, steps=self.m.one(1, 2, 3, 5))

    def train_to(self, made):
        self.number = 7
        made.train(self.input_fn, max_steps=7)

    def train_and_evaluate(self, made):
        if self.brief:
            return None
        found = tf.estimator.train_and_evaluate(
            made,
            tf.estimator.TrainSpec(self.input_fn, max_steps=6),
            tf.estimator.EvalSpec(self.input_fn, steps=2, start_delay_secs=0, throttle_secs=0),
        )
        return None if found is None or found[0] is None else numbers_of(found[0])

    def evaluate(self, made):
        if self.brief:
            return None
        hooks = [Counting()] if self.m.often() else None
        return numbers_of(made.evaluate(self.input_fn, steps=self.m.one(1, 3), hooks=hooks))

    def evaluate_named(self, made):
        if self.brief:
            return None
        path = made.latest_checkpoint()
        return numbers_of(made.evaluate(self.input_fn, 2, checkpoint_path=path, name="other"))

    def predict(self, made):
        if self.brief:
            return None
        together = self.m.often()
        found = made.predict(self.predict_input_fn, yield_single_examples=not together)
        return [row["logits"] for row in found]

    def predict_some(self, made):
        if self.brief:
            return None
        found = made.predict(self.predict_input_fn, predict_keys=["logits"])
        return [next(found)["logits"] for _ in range(3)]

    def again(self, made):
        """Another Estimator goes on from the same directory."""
        self.made = self.estimator()
        self.made.train(self.input_fn, steps=2)

    def warm(self, made):
        self.made = self.estimator("warm", warm_start_from=os.path.join(self.folder, "model"))
        self.made.train(self.input_fn, steps=2)

    def export(self, made):
        if self.brief or "more" in self.features:  # what is exported has no levels
            return None

        def receiver():
            given = tf.nest.map_structure(
                lambda v: tf.placeholder(v.dtype, [4, *v.shape[1:]]), self.features
            )
            flat = {f"f{i}": each for i, each in enumerate(tf.nest.flatten(given))}
            return tf.estimator.export.ServingInputReceiver(given, flat)

        path = made.export_saved_model(os.path.join(self.folder, "export"), receiver)
        return sorted(os.listdir(path.decode()))

    def run(self):
        self.made, found = self.estimator(), {}
        others = [
            "train",
            "train_to",
            "train_and_evaluate",
            "evaluate",
            "evaluate_named",
            "predict",
            "predict_some",
            "again",
            "warm",
            "export",
        ]
        actions = ["train", *self.m.random.sample(others, 2 if self.brief else 4)]
        for number, action in enumerate(actions):
            self.m.note(action)
            made = getattr(self, action)(self.made)
            if made is not None:
                found[f"{number} {action}"] = made
        names = sorted(self.made.get_variable_names())
        found["weights"] = {name: self.made.get_variable_value(name) for name in names}
        # Bytes of float64 and bfloat16 as numbers of float32.
        found["weights"] = {k: np.asarray(v, "float32") for k, v in found["weights"].items()}
        return {
            **found,
            "losses": self.hosted.rows,
            "hook": self.hook.seen[-1:],
        }  # it sees a loop's steps at once


def numbers_of(found):
    """An evaluation, without the loss of core 0, which is TPUEstimator's own."""
    return {name: value for name, value in found.items() if name != "loss"}


def train(seed, brief=False):
    """Makes the program of a seed and runs it: what it gave, why it cannot be the same, what it is."""
    m = Maker(seed)
    m.exact = m.often(0.85)
    folder = tempfile.mkdtemp()
    try:
        made = Program(m, folder, brief).run()
        return {**made, "log": m.log, "apart": sorted(m.apart)}
    except Exception as error:
        error.log = m.log
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
