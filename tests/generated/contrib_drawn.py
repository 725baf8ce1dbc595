"""Random model functions out of the parts of tf.contrib that other programs do not draw.

Layers of tf.contrib.layers under their other names, masked layers of tf.contrib.model_pruning, cells of
tf.contrib.rnn and tf.contrib.cudnn_rnn, decoders of tf.contrib.legacy_seq2seq and tf.contrib.seq2seq, chains of
tags of tf.contrib.crf, densities of tf.contrib.distributions, the optimizers that wrap another one. The
programs are those of ``model_fns.py``.
"""

from __future__ import annotations

import importlib.util
from unittest import mock

import arguments_drawn
import model_fns as plain
import numpy as np
from model_fns import function_of

import tpucompat.v1 as tf

slim, rnn, cells = tf.contrib.layers, tf.contrib.rnn, tf.nn.rnn_cell
seq2seq, legacy = tf.contrib.seq2seq, tf.contrib.legacy_seq2seq
pruning, crf = tf.contrib.model_pruning, tf.contrib.crf


def batch_of(x):
    return x.shape.as_list()[0]


def size(x):
    return x.shape.as_list()[-1]


def last_only(x, function):
    """A function of matrices, of every vector of a tensor."""
    made = function(tf.reshape(x, [-1, size(x)]))
    return tf.reshape(made, [*x.shape.as_list()[:-1], size(made)])


# Layers ------------------------------------------------------------------------------------------------------


def layered(m, kind):
    """A layer of tf.contrib.layers or tf.contrib.model_pruning, with some of its arguments."""
    units, function = m.units(), function_of(m)
    regularizer = m.one(None, slim.l2_regularizer(0.01), slim.l1_regularizer(0.01))
    start = m.one(slim.xavier_initializer(), slim.xavier_initializer_conv2d(uniform=False))
    padding, stride = m.one("SAME", "VALID"), m.one(1, 1, 2)
    norm = m.one(None, slim.layer_norm, slim.unit_norm)
    normed = {"dim": 1, "epsilon": 1e-2} if norm is slim.unit_norm else None
    options = {
        "activation_fn": function,
        "weights_initializer": start,
        "weights_regularizer": regularizer,
        "biases_initializer": m.one(tf.zeros_initializer(), tf.constant_initializer(0.2)),
    }
    full = {**options, "normalizer_fn": norm, "normalizer_params": normed}
    ways = {
        "legacy_fully_connected": lambda x: last_only(
            x,
            lambda y: slim.legacy_fully_connected(
                y, units, function, weight_regularizer=regularizer
            ),
        ),
        "legacy_linear": lambda x: last_only(x, lambda y: slim.legacy_linear(y, units)),
        "legacy_relu": lambda x: last_only(x, lambda y: slim.legacy_relu(y, units)),
        "relu": lambda x: last_only(x, lambda y: slim.relu(y, units)),
        "relu6": lambda x: last_only(x, lambda y: slim.relu6(y, units)),
        "stack": lambda x: last_only(x, lambda y: slim.stack(y, slim.linear, [units, 3])),
        "repeat": lambda x: last_only(x, lambda y: slim.repeat(y, 2, slim.linear, units)),
        "one_hot_encoding": lambda x: (
            x + slim.one_hot_encoding(tf.argmax(tf.reshape(x, [batch_of(x), -1]), 1), size(x))[
                (slice(None), *[None] * (x.shape.ndims - 2))
            ]
        ),
        "apply_regularization": regularized,
        "masked_fully_connected": lambda x: last_only(
            x, lambda y: pruning.masked_fully_connected(y, units, function)
        ),
        "apply_mask": masked,
        "arg_scope": lambda x: scoped(x, units),
        "bias_add": lambda x: slim.bias_add(x, function, initializer=tf.ones_initializer()),
        "softmax": lambda x: slim.softmax(x) + x,
        "fully_connected": lambda x: last_only(x, lambda y: slim.fully_connected(y, units, **full)),
    }  # fmt: skip
    if kind == "sequence":
        ways = {
            "convolution1d": lambda x: slim.convolution1d(x, units, 2, stride, padding, **options),
            "convolution": lambda x: slim.convolution(x, units, 2, rate=2, padding="SAME"),
            "pool": lambda x: slim.pool(x, 2, "AVG", "SAME"),
            **ways,
        }
    if kind == "image":
        ways = {
            "convolution2d": lambda x: slim.convolution2d(
                x, units, [2, 3], stride, padding, **options
            ),
            "convolution2d_transpose": lambda x: slim.convolution2d_transpose(
                x, units, 2, 1, padding, **options
            ),
            "convolution2d_in_plane": lambda x: slim.convolution2d_in_plane(x, 2, 1, padding),
            "separable_convolution2d": lambda x: slim.separable_convolution2d(
                x, units, 2, 2, stride, padding, **options
            ),
            "depthwise alone": lambda x: slim.separable_conv2d(
                x, None, 2, 1, activation_fn=function
            ),
            "convolution3d": lambda x: slim.convolution3d(x[..., None], 2, 2, 1, "SAME")[..., 0],
            "convolution3d_transpose": lambda x: slim.convolution3d_transpose(x[..., None], 2, 2)[
                ..., 0
            ],
            "masked_conv2d": lambda x: pruning.masked_conv2d(x, units, 2, activation_fn=function),
            "masked_convolution": lambda x: pruning.masked_convolution(x, units, 2, rate=1),
            "gdn": lambda x: slim.gdn(x, inverse=m.seed % 2 == 0),
            "avg_pool2d": lambda x: slim.avg_pool2d(x, 2, 1, padding),
            "max_pool2d": lambda x: slim.max_pool2d(x, 2, 1, padding),
            "max_pool3d": lambda x: slim.max_pool3d(x[..., None], [2, 2, 1], 1, "SAME")[..., 0],
            **ways,
        }
    own = [*ways][:13] if kind == "image" else [*ways]
    name = m.one(*own, *ways)
    m.note(name)
    return lambda x, _: 0.5 * tf.tanh(ways[name](x))


def regularized(x):
    with tf.variable_scope(None, "regularized"):
        w = tf.get_variable("w", [size(x), size(x)])
    slim.apply_regularization(slim.l2_regularizer(0.01), [w])
    return tf.tensordot(x, w, 1)


def masked(x):
    with tf.variable_scope(None, "own_mask") as scope:
        w = tf.get_variable("w", [size(x), 3])
        return tf.tensordot(x, pruning.apply_mask(w, scope), 1)


def scoped(x, units):
    options = {"normalizer_fn": slim.layer_norm, "activation_fn": tf.nn.elu}
    with tf.contrib.framework.arg_scope([slim.fully_connected], **options):
        with tf.contrib.framework.arg_scope([slim.fully_connected], activation_fn=tf.tanh):
            x = slim.fully_connected(x, units)
        return slim.fully_connected(x, 3)


#: Kind of tensor -> functions of tf.layers, whose arguments are drawn by their names.
OF_LAYERS = {
    "vector": ["Dense", "Flatten"],
    "sequence": ["Conv1D", "SeparableConv1D", "Dense", "AveragePooling1D", "MaxPooling1D"],
    "image": ["Conv2D", "Conv2DTranspose", "SeparableConv2D", "AveragePooling2D", "MaxPooling2D"],
}


def of_layers(m, kind):
    name = m.one(*OF_LAYERS[kind])
    cls = getattr(tf.layers, name)
    without = (
        "name",
        "dtype",
        "trainable",
        "strides",
        "pool_size",
        *arguments_drawn.WITHOUT.get(name, ()),
    )
    options = arguments_drawn.drawn(m, cls, *without, probability=0.4)
    if "Pooling" in name:
        options.update(pool_size=2, strides=1)
    # tf.layers hands them on to get_variable, which takes no word for a function.
    if isinstance(options.get("activation"), str):
        options["activation"] = tf.nn.tanh
    m.note(f"tf.layers.{name} {sorted(options)}")
    return lambda x, _: cls(**options)(x)


# Functions ---------------------------------------------------------------------------------------------------


def densities():
    """Name -> the logarithm of a density, of numbers between 0.1 and 0.9."""
    d = tf.contrib.distributions
    half = tf.constant(0.5)
    return {
        "StudentT": lambda x: d.StudentT(3.0, x, 1.0 + x).log_prob(0.3),
        "Logistic": lambda x: d.Logistic(x, 1.0).log_prob(0.2),
        "Exponential": lambda x: d.Exponential(0.5 + x).log_prob(0.7),
        "HalfNormal": lambda x: d.HalfNormal(0.5 + x).log_prob(0.4),
        "Cauchy": lambda x: d.Cauchy(x, 1.0).log_prob(half),
        "Chi2": lambda x: d.Chi2(1.0 + x).log_prob(0.8),
        "Poisson": lambda x: d.Poisson(0.5 + x).log_prob(2.0),
        "Geometric": lambda x: d.Geometric(probs=x).log_prob(1.0),
        "Binomial": lambda x: d.Binomial(4.0, probs=x).log_prob(2.0),
        "NegativeBinomial": lambda x: d.NegativeBinomial(3.0, probs=x).log_prob(1.0),
        "InverseGamma": lambda x: d.InverseGamma(2.0, 0.5 + x).log_prob(half),
        "Kumaraswamy": lambda x: d.Kumaraswamy(1.0 + x, 2.0).log_prob(half),
        "NormalWithSoftplusScale": lambda x: d.NormalWithSoftplusScale(x, x).log_prob(half),
        "LaplaceWithSoftplusScale": lambda x: d.LaplaceWithSoftplusScale(x, x).log_prob(0.95),
        "Uniform": lambda x: x * d.Uniform(0.0, 1.0 + x).prob(0.05),
        "MultivariateNormalDiag": lambda x: x * d.MultivariateNormalDiag(x, 1.0 + x).log_prob(x * x)[
            ..., None
        ],
        "Dirichlet": lambda x: x * d.Dirichlet(0.5 + x).log_prob(tf.nn.softmax(tf.zeros_like(x)))[
            ..., None
        ],
        "OneHotCategorical": lambda x: x + d.OneHotCategorical(x).entropy()[..., None],
        "Mixture": lambda x: d.Mixture(
            d.Categorical(tf.stack([x, 1.0 - x], -1)),
            [d.Normal(x, 1.0), d.Normal(-x, 2.0)],
        ).log_prob(half),
        "Independent": lambda x: x
        * d.Independent(d.Normal(x, 1.0), 1).log_prob(0.3 * tf.ones_like(x))[..., None],
        "softplus_inverse": lambda x: d.softplus_inverse(0.5 + x),
        "reduce_weighted_logsumexp": lambda x: x
        + d.reduce_weighted_logsumexp(x, 0.5 + x, -1, keep_dims=True),
    }  # fmt: skip


def computed(m, kind):
    # Most densities are those of tensorflow-probability.
    rows = densities() if importlib.util.find_spec("tensorflow_probability") else {}
    rows["nth_element"] = lambda x: (
        x + tf.contrib.nn.nth_element(x, min(1, x.shape.as_list()[-1] - 1))[..., None]
    )
    rows["same_as_all"] = lambda x: tf.contrib.framework.with_shape(x.shape.as_list(), x)
    rows["smart_cond"] = lambda x: tf.contrib.framework.smart_cond(
        True, lambda: tf.sin(x), lambda: x
    )
    if kind == "image":
        image = tf.contrib.image
        rows["translate"] = lambda x: image.translate(x, [1.0, 0.0])
        rows["transform"] = lambda x: image.transform(
            x, image.compose_transforms(image.translations_to_projective_transforms([[1.0, 0.0]]))
        )
    name = m.one(*rows)
    m.note(name)
    return lambda x, _: 0.5 * tf.tanh(rows[name](0.1 + 0.8 * tf.sigmoid(x))) + 0.1 * x


# Recurrent networks ------------------------------------------------------------------------------------------


def cells_of(m):
    units, start = m.units(), m.one(None, tf.orthogonal_initializer(seed=m.seed))
    cudnn = tf.contrib.cudnn_rnn
    rows = {
        "CudnnCompatibleLSTMCell": lambda: cudnn.CudnnCompatibleLSTMCell(units),
        "CudnnCompatibleGRUCell": lambda: cudnn.CudnnCompatibleGRUCell(units),
        "InputProjectionWrapper": lambda: rnn.InputProjectionWrapper(
            cells.GRUCell(units), 3, activation=tf.tanh
        ),
        "OutputProjectionWrapper": lambda: rnn.OutputProjectionWrapper(
            cells.BasicRNNCell(units), 3, activation=tf.sigmoid
        ),
        "NASCell": lambda: rnn.NASCell(units, num_proj=3, use_bias=True),
        "LayerNormBasicLSTMCell": lambda: rnn.LayerNormBasicLSTMCell(
            units, 0.5, norm_gain=0.9, norm_shift=0.1, layer_norm=m.seed % 2 == 0
        ),
        "LSTMCell": lambda: cells.LSTMCell(
            units, True, 0.9, start, num_proj=4, proj_clip=0.8, forget_bias=0.5, activation=tf.sin
        ),
        "GRUCell": lambda: cells.GRUCell(units, tf.nn.elu, kernel_initializer=start),
        "BasicLSTMCell": lambda: cells.BasicLSTMCell(units, 0.3, activation="sigmoid"),
        "LSTMBlockCell": lambda: rnn.LSTMBlockCell(units, 0.5, cell_clip=0.7, use_peephole=True),
        "ResidualWrapper": lambda: cells.MultiRNNCell(
            [cells.GRUCell(units), rnn.ResidualWrapper(rnn.GRUBlockCellV2(units))]
        ),
    }  # fmt: skip
    name = m.one(*rows)
    m.note(f"cell {name}")
    return rows[name]


def recurrent(m, kind):
    cell, units = cells_of(m), m.units()
    options = {"direction": m.one("unidirectional", "bidirectional")}
    options["bias_initializer"] = m.one(None, tf.constant_initializer(0.1))
    layers = m.one(1, 2)
    ways = {
        "functional_rnn": lambda x: tf.contrib.recurrent.functional_rnn(
            cell(), x, dtype=tf.float32
        )[0],
        "bidirectional_functional_rnn": lambda x: tf.concat(
            tf.contrib.recurrent.bidirectional_functional_rnn(
                cell(), cells.GRUCell(units), x, dtype=tf.float32
            )[0], -1
        ),
        "Recurrent": lambda x: tf.transpose(
            tf.contrib.recurrent.Recurrent(
                {"w": tf.get_variable("w", [size(x)], initializer=tf.ones_initializer())},
                tf.zeros_like(x[:, 0]),
                tf.transpose(x, [1, 0, 2]),
                lambda theta, state, row: (tf.tanh(theta["w"] * state + row), {}),
            )[0],
            [1, 0, 2],
        ),
        "dynamic_rnn": lambda x: tf.nn.dynamic_rnn(cell(), x, dtype=tf.float32)[0],
        "static_rnn": lambda x: tf.stack(
            tf.nn.static_rnn(cell(), tf.unstack(x, axis=1), dtype=tf.float32)[0], 1
        ),
        "ConvLSTMCell": lambda x: flat(tf.nn.dynamic_rnn(
            rnn.ConvLSTMCell(1, [size(x), 1], 2, [2], skip_connection=True), x[..., None],
            dtype=tf.float32,
        )[0]),
        "Conv2DLSTMCell": lambda x: flat(tf.nn.dynamic_rnn(
            rnn.Conv2DLSTMCell(
                input_shape=[size(x), 1, 1], output_channels=2, kernel_shape=[2, 1],
                initializers=tf.glorot_uniform_initializer(seed=1),
            ), x[..., None, None], dtype=tf.float32,
        )[0]),
        "EmbeddingWrapper": lambda x: tf.stack(tf.nn.static_rnn(
            rnn.EmbeddingWrapper(cell(), 8, 3), list(
                tf.unstack(tf.cast(8.0 * tf.sigmoid(x[..., :1]), tf.int32), axis=1)
            ), dtype=tf.float32,
        )[0], 1),
        **{
            name: lambda x, name=name: turned(
                getattr(tf.contrib.cudnn_rnn, name)(layers, units, **options)(turned(x))[0]
            ) for name in ("CudnnLSTM", "CudnnGRU", "CudnnRNNTanh", "CudnnRNNRelu")
        },
    }  # fmt: skip
    name = m.one(*ways)
    m.note(f"rnn: {name}")

    def apply(x, training):
        with tf.variable_scope(None, "recurrent"):
            return ways[name](x)

    return apply


def flat(x):
    shape = x.shape.as_list()
    return tf.reshape(x, [*shape[:2], int(np.prod(shape[2:]))])


def turned(x):
    return tf.transpose(x, [1, 0, 2])


def decoded(m, kind):
    """A decoder of tf.contrib.legacy_seq2seq, or one of tf.contrib.seq2seq with rare arguments."""
    feeding, heads = m.often(), m.one(1, 2)
    hidden = m.one(None, 3)

    scale, causal = m.often(), m.one(0.0, 0.3)
    mechanisms = {
        "LuongAttention": lambda *given: seq2seq.LuongAttention(*given, scale=scale),
        "BahdanauAttention": lambda *given: seq2seq.BahdanauAttention(*given, normalize=scale),
        "LuongMonotonicAttention": lambda *given: seq2seq.LuongMonotonicAttention(
            *given, scale=scale, score_bias_init=causal, mode="parallel"
        ),
        "BahdanauMonotonicAttention": lambda *given: seq2seq.BahdanauMonotonicAttention(
            *given, normalize=scale, mode="recursive"
        ),
    }
    mechanism_of = mechanisms[m.one(*mechanisms)]

    def words(x):
        return list(tf.unstack(tf.cast(6.0 * tf.sigmoid(x[..., 0]), tf.int32), axis=1))

    def steps(x):
        return list(tf.unstack(tf.layers.dense(x, 4, name="before"), axis=1))

    def cell():
        return cells.GRUCell(4)

    def attended(x):
        cell_of, given = cell(), steps(x)
        states = tf.stack(given, 1)
        start = cell_of.zero_state(batch_of(x), tf.float32)
        return legacy.attention_decoder(
            given, start, states, cell_of, hidden, heads, initial_state_attention=m.seed % 2 == 0
        )[0]

    def wrapped(x):
        mechanism = mechanism_of(6, tf.layers.dense(x, 4, name="before"))
        wrapper = seq2seq.AttentionWrapper(
            cell(), mechanism, None if hidden is None else 5, alignment_history=False,
            output_attention=m.seed % 2 == 0,
            cell_input_fn=lambda given, attention: tf.concat([given, 0.5 * attention], -1),
        )  # fmt: skip
        helper = seq2seq.TrainingHelper(x, tf.fill([batch_of(x)], x.shape.as_list()[1]))
        start = wrapper.zero_state(batch_of(x), tf.float32)
        decoder = seq2seq.BasicDecoder(wrapper, helper, start, tf.layers.Dense(3))
        outputs, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=x.shape.as_list()[1])
        return [outputs.rnn_output]

    ways = {
        "rnn_decoder": lambda x: legacy.rnn_decoder(
            steps(x), cell().zero_state(batch_of(x), tf.float32), cell()
        )[0],
        "basic_rnn_seq2seq": lambda x: legacy.basic_rnn_seq2seq(steps(x), steps_again(x), cell())[
            0
        ],
        "tied_rnn_seq2seq": lambda x: legacy.tied_rnn_seq2seq(steps(x), steps_again(x), cell())[0],
        "embedding_rnn_seq2seq": lambda x: legacy.embedding_rnn_seq2seq(
            words(x), words(x), cell(), 6, 6, 3, feed_previous=feeding
        )[0],
        "embedding_tied_rnn_seq2seq": lambda x: legacy.embedding_tied_rnn_seq2seq(
            words(x), words(x), cell(), 6, 3, feed_previous=feeding
        )[0],
        "attention_decoder": attended,
        "embedding_attention_seq2seq": lambda x: legacy.embedding_attention_seq2seq(
            words(x), words(x), cell(), 6, 6, 3, heads, feed_previous=feeding
        )[0],
        "AttentionWrapper": wrapped,
    }

    def steps_again(x):
        return [0.5 * y for y in tf.unstack(x, axis=1)]

    name = m.one(*ways)
    m.note(f"decoder {name}")

    def apply(x, training):
        with tf.variable_scope(None, "decoded"):
            outputs = ways[name](x)
        found = outputs[0] if len(outputs) == 1 else tf.stack(outputs, 1)
        return tf.tanh(found)

    return apply


def tagged(m, kind):
    """The scores and the best paths of chains of tags."""
    way = m.one("likelihood", "scores", "norm", "decoded")
    m.note(f"crf {way}")

    def apply(x, training):
        batch, steps, _ = x.shape.as_list()
        lengths = 1 + tf.cast(tf.reduce_sum(tf.abs(x), [1, 2]) * 10.0, tf.int32) % steps
        with tf.variable_scope(None, "chain"):
            scores = tf.layers.dense(x, 3, name="scores")
            moves = tf.get_variable("moves", [3, 3])
        tags = tf.argmax(x, -1, output_type=tf.int32) % 3
        if way == "likelihood":
            found, _ = crf.crf_log_likelihood(scores, tags, lengths, moves)
        elif way == "scores":
            found = crf.crf_sequence_score(scores, tags, lengths, moves)
            found += crf.crf_unary_score(tags, lengths, scores)
            found += crf.crf_binary_score(tags, lengths, moves)
        elif way == "norm":
            found = crf.crf_log_norm(scores, lengths, moves)
        else:
            path, found = crf.crf_decode(scores, moves, lengths)
            found += 0.0 * tf.cast(tf.reduce_sum(path, 1), tf.float32)
        return scores + 0.1 * tf.tanh(tf.reshape(found, [batch, 1, 1]))

    return apply


# Losses and optimizers ---------------------------------------------------------------------------------------


def loss_of(m, labels):
    """Losses over sequences, and of pairs of a core's examples."""
    way = m.one("sequence_loss", "by_example", "npairs", "contrastive", "lifted", "semihard", "gan")
    if way in ("npairs", "contrastive", "lifted", "semihard"):
        m.apart.add("a loss of pairs: a core knows its own examples")
    m.note(f"loss {way}")

    def apply(labels, outputs):
        learning, total = tf.contrib.losses.metric_learning, 0.0
        if "numbers" in labels:
            total += tf.losses.mean_squared_error(labels["numbers"], outputs["numbers"])
        if "classes" not in labels:
            return total + tf.losses.get_regularization_loss()
        given, logits = labels["classes"], outputs["classes"]
        near = tf.nn.l2_normalize(logits + 0.1, 1)
        total += tf.losses.sparse_softmax_cross_entropy(given, logits)
        ones = tf.fill([batch_of(given), 1], 1.0)
        if way == "sequence_loss":
            total += seq2seq.sequence_loss(
                logits[:, None], given[:, None], ones, softmax_loss_function=None
            )
        elif way == "by_example":
            total += tf.reduce_mean(
                legacy.sequence_loss_by_example([logits], [given], [ones[:, 0]])
            )
        elif way == "npairs":
            total += learning.npairs_loss(given, near, near * 0.9, reg_lambda=0.01)
        elif way == "contrastive":
            total += learning.contrastive_loss(tf.cast(given > 0, tf.int32), near, near[:, ::-1])
        elif way == "lifted":
            total += learning.lifted_struct_loss(given, near)
        elif way == "semihard":
            total += learning.triplet_semihard_loss(given, near)
        else:
            lost = tf.contrib.gan.losses.wargs
            total += 0.1 * lost.wasserstein_discriminator_loss(logits[:, 0], logits[:, 1])
            total += 0.1 * lost.modified_generator_loss(logits[:, 2], label_smoothing=0.1)
        return total + tf.losses.get_regularization_loss()

    return apply


def optimizer_of(m):
    """An optimizer around another one, or one with rare arguments."""
    train, opt, mixed = tf.train, tf.contrib.opt, tf.contrib.mixed_precision
    nesterov = m.often()
    make = m.one(
        lambda rate: train.MomentumOptimizer(rate, 0.8, use_nesterov=nesterov),
        lambda rate: train.AdamOptimizer(rate, 0.8, 0.9, 1e-3),
        lambda rate: train.AdagradOptimizer(rate, initial_accumulator_value=0.2),
        lambda rate: train.RMSPropOptimizer(rate, 0.8, 0.3, 1e-2),
        lambda rate: train.FtrlOptimizer(
            rate, -0.4, 0.2, 1e-3, 1e-3, l2_shrinkage_regularization_strength=1e-3
        ),
    )  # fmt: skip
    rows = {
        "MovingAverageOptimizer": lambda rate: opt.MovingAverageOptimizer(
            make(rate), average_decay=0.9, num_updates=None, sequential_update=m.seed % 2 == 0
        ),
        "DecoupledWeightDecayExtension": lambda rate: opt.extend_with_decoupled_weight_decay(
            train.AdamOptimizer
        )(0.01, learning_rate=rate, epsilon=1e-3),
        "MomentumWOptimizer": lambda rate: opt.MomentumWOptimizer(0.01, rate, 0.9, nesterov),
        "AdamWOptimizer": lambda rate: opt.AdamWOptimizer(0.001, rate, 0.8, 0.9, 1e-2),
        "NadamOptimizer": lambda rate: opt.NadamOptimizer(rate, epsilon=1e-2),
        "LARSOptimizer": lambda rate: opt.LARSOptimizer(
            rate, 0.8, 0.01, 0.5, 1e-3, skip_list=["bias"], use_nesterov=nesterov
        ),
        "FixedLossScaleManager": lambda rate: mixed.LossScaleOptimizer(
            make(rate), mixed.FixedLossScaleManager(8.0)
        ),
        "ExponentialUpdateLossScaleManager": lambda rate: mixed.LossScaleOptimizer(
            make(rate), mixed.ExponentialUpdateLossScaleManager(8.0, 2, 1, 2.0, 0.5)
        ),
        "plain": make,
    }
    name = m.one(*rows)
    m.note(f"optimizer {name}")
    return rows[name]


ANY = [layered, layered, of_layers, computed, computed, plain.dense]
TABLE = {
    "vector": ANY,
    "sequence": [layered, of_layers, computed, *[recurrent] * 4, *[decoded] * 3, tagged],
    "image": [layered, layered, layered, of_layers, computed],
}


def train(seed, brief=False):
    """Makes the program of a seed and runs it, as ``model_fns.train``."""
    others = {"TABLE": TABLE, "loss_of": loss_of, "optimizer_of": optimizer_of}
    with mock.patch.multiple(plain, **others):
        return plain.train(seed, brief)
