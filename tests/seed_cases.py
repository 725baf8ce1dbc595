"""Calls that build graphs, to be counted under TensorFlow 1.15 and under tpucompat.

``tools/record_operation_counts.py`` runs them under 1.15. A case gets ``tf`` and builds into the default graph.
"""

import keras_seed_cases
import numpy as np

PIXELS = np.zeros((8, 8, 8, 1), np.float32)
LABELS = np.zeros(8, np.int32)


def _input(tf, *shape, dtype="float32"):
    return tf.placeholder(dtype, shape)


def _slices(tf):
    return tf.data.Dataset.from_tensor_slices((PIXELS, LABELS))


def _next(dataset):
    return dataset.make_initializable_iterator().get_next()


def _parsed(tf, record):
    return tf.parse_single_example(record, {"a": tf.FixedLenFeature([3], tf.int64)})


def _features(tf, *features):
    return {str(number): feature for number, feature in enumerate(features)}


def _augmented(tf, image, label):
    image = tf.image.resize_image_with_crop_or_pad(image, 12, 12)
    image = tf.random_crop(image, [8, 8, 1])
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.2)
    image = tf.image.random_contrast(image, 0.5, 1.5)
    return tf.image.per_image_standardization(image), label


def _cell(tf, size=3):
    cell = tf.nn.rnn_cell.BasicLSTMCell(size)
    return tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.5)


def _keras(tf, *layers):
    return tf.keras.Sequential(list(layers))


def _with_resources(tf, build):
    import tensorflow  # the installed one, in which a test may have enabled them before

    before = tensorflow.compat.v1.resource_variables_enabled()
    tf.enable_resource_variables()
    try:
        build(tf)
    finally:
        tf.disable_resource_variables()
        if before:
            tensorflow.compat.v1.enable_resource_variables()


def _variables(tf):
    matrix = tf.get_variable("w", [3, 4], initializer=tf.glorot_uniform_initializer())
    number = tf.Variable(1.0)
    product = tf.matmul(_input(tf, None, 3), matrix) * number
    tf.assign_add(number, 1.0)
    tf.assign(matrix, matrix.initialized_value() * number)
    return tf.identity(matrix), product


def _tower(tf):
    """A small convolutional network with all that usually goes with it, trained, and a variable after it."""
    image = _input(tf, None, 8, 8, 1)
    net = tf.layers.conv2d(image, 4, 3, padding="same", use_bias=False)
    net = tf.nn.relu(tf.layers.batch_normalization(net, training=True))
    net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.flatten(net)
    net = tf.layers.dropout(net, 0.4, training=True)
    logits = tf.layers.dense(net, 3)
    return tf.losses.sparse_softmax_cross_entropy(_input(tf, None, dtype="int32"), logits)


def _encoder(tf):
    """One layer of a Transformer, written as BERT is."""
    ids = _input(tf, 2, 5, dtype="int32")

    def dense(x, size, activation=None):
        initializer = tf.truncated_normal_initializer(stddev=0.02)
        return tf.layers.dense(x, size, activation=activation, kernel_initializer=initializer)

    table = tf.get_variable(
        "table", [11, 8], initializer=tf.truncated_normal_initializer(stddev=0.02)
    )
    x = tf.reshape(tf.gather(table, tf.reshape(ids, [-1])), [2, 5, 8])
    x = tf.contrib.layers.layer_norm(x, begin_norm_axis=-1, begin_params_axis=-1, scope="norm")
    x = tf.reshape(tf.nn.dropout(x, 0.9), [-1, 8])
    query, key, value = (tf.reshape(dense(x, 8), [2, 5, 2, 4]) for _ in range(3))
    scores = tf.matmul(
        tf.transpose(query, [0, 2, 1, 3]), tf.transpose(key, [0, 2, 1, 3]), transpose_b=True
    )
    probabilities = tf.nn.dropout(tf.nn.softmax(tf.multiply(scores, 0.5)), 0.9)
    context = tf.transpose(
        tf.matmul(probabilities, tf.transpose(value, [0, 2, 1, 3])), [0, 2, 1, 3]
    )
    x = tf.nn.dropout(dense(tf.reshape(context, [10, 8]), 8), 0.9) + x
    return dense(x, 3, tf.tanh)


def _gradient(tf, function, shape):
    x = tf.placeholder("float32", shape)
    tf.gradients(tf.reduce_sum(function(tf, x)), [x])


def _minimized(tf, optimizer, *step):
    product = tf.matmul(_input(tf, 2, 3), tf.get_variable("v", [3, 4])) + tf.get_variable("w", [4])
    optimizer.minimize(tf.reduce_mean(tf.square(product)), *step)
    return tf.get_variable("after", [2])


#: What is differentiated, of 4 rows and 6 columns.
_DIFFERENTIATED = {
    "add": lambda tf, x: x + _input(tf, 6),
    "add, alike": lambda tf, x: x + _input(tf, 4, 6),
    "add, alike and unknown": lambda tf, x: x + _input(tf, None, 6),
    "add, twice": lambda tf, x: x + _input(tf, 6) + _input(tf, 6),
    "add, to a row": lambda tf, x: x + _input(tf, 1, 6),
    "add, to a column": lambda tf, x: _input(tf, None, 1) + x,
    "subtract": lambda tf, x: _input(tf, 6) - x,
    "multiply": lambda tf, x: x * 2.0,
    "multiply, alike": lambda tf, x: x * x,
    "multiply, double": lambda tf, x: tf.cast(x, tf.float64) * tf.cast(x, tf.float64),
    "multiply, of unknown rank": lambda tf, x: x * tf.placeholder("float32"),
    "divide": lambda tf, x: x / _input(tf, 6),
    "divide, alike": lambda tf, x: x / _input(tf, 4, 6),
    "divide, by a number": lambda tf, x: x / 2.0,
    "power": lambda tf, x: x**2.0,
    "maximum": lambda tf, x: tf.maximum(x, 0.0),
    "maximum, large": lambda tf, x: tf.maximum(tf.tile(x, [10, 10]), 0.0),
    "minimum": lambda tf, x: tf.minimum(x, _input(tf, 4, 6)),
    "squared_difference": lambda tf, x: tf.squared_difference(x, _input(tf, 6)),
    "mod": lambda tf, x: tf.floormod(x, 2.0),
    "clip_by_value": lambda tf, x: tf.clip_by_value(x, 0.0, 1.0),
    "where": lambda tf, x: tf.where(x > 0, x, tf.zeros_like(x)),
    "where_v2": lambda tf, x: tf.compat.v2.where(_input(tf, 4, 6) > 0, x, 0.0),
    "dropout": lambda tf, x: tf.nn.dropout(x, 0.5),
    "dropout, of rows": lambda tf, x: tf.nn.dropout(x, 0.5, noise_shape=[4, 1]),
    "reduce_sum": lambda tf, x: tf.reduce_sum(x, 1),
    "reduce_sum, kept": lambda tf, x: tf.reduce_sum(x, 1, keepdims=True),
    "reduce_sum, twice": lambda tf, x: tf.reduce_sum(x, 1) + tf.reduce_sum(2.0 * x, 1),
    "reduce_mean": lambda tf, x: tf.reduce_mean(x, 1),
    "reduce_mean, all": lambda tf, x: tf.reduce_mean(x),
    "reduce_mean, kept": lambda tf, x: tf.reduce_mean(x, -1, keepdims=True),
    "reduce_max": lambda tf, x: tf.reduce_max(x, 1),
    "reduce_min, kept": lambda tf, x: tf.reduce_min(x, 1, keepdims=True),
    "reduce_prod": lambda tf, x: tf.reduce_prod(x, 1),
    "reduce_prod, kept": lambda tf, x: tf.reduce_prod(x, 1, keepdims=True),
    "reduce_logsumexp": lambda tf, x: tf.reduce_logsumexp(x, 1),
    "slice": lambda tf, x: x[:, 1:3],
    "slice, from a tensor": lambda tf, x: x[_input(tf, dtype="int32") :],
    "gather": lambda tf, x: tf.gather(x, [1, 2]),
    "unsorted_segment_sum": lambda tf, x: tf.unsorted_segment_sum(
        x, _input(tf, None, dtype="int32"), 3
    ),
    "unsorted_segment_sum, of numbers": lambda tf, x: tf.unsorted_segment_sum(
        x, _input(tf, 4, 6, dtype="int32"), 3
    ),
    "matmul, of batches": lambda tf, x: tf.matmul(tf.reshape(x, [2, 2, 6]), _input(tf, 2, 6, 3)),
    "matmul, of open batches": lambda tf, x: tf.matmul(
        tf.reshape(x, [-1, 2, 6]), _input(tf, None, 6, 3)
    ),
    "matmul, of equal batches": lambda tf, x: tf.matmul(
        tf.reshape(x, [6, 2, 2]), _input(tf, 6, 2, 2)
    ),
    "reshape, to a scalar": lambda tf, x: tf.reshape(tf.reduce_sum(x), []),
    "l2_loss": lambda tf, x: tf.nn.l2_loss(x),
    "l2_normalize": lambda tf, x: tf.nn.l2_normalize(x, 1),
    "layer_norm": lambda tf, x: tf.contrib.layers.layer_norm(tf.reshape(x, [4, 6])),
    "batch_normalization": lambda tf, x: tf.layers.batch_normalization(
        tf.reshape(x, [4, 6]), training=True
    ),
    "softmax": lambda tf, x: tf.nn.softmax(tf.reshape(x, [-1, 6])),
    "sparse_softmax_cross_entropy": lambda tf, x: tf.losses.sparse_softmax_cross_entropy(
        _input(tf, None, dtype="int32"), tf.reshape(x, [-1, 6])
    ),
    "softmax_cross_entropy": lambda tf, x: tf.losses.softmax_cross_entropy(
        _input(tf, None, 6), tf.reshape(x, [-1, 6])
    ),
    "sigmoid_cross_entropy": lambda tf, x: tf.losses.sigmoid_cross_entropy(tf.zeros_like(x), x),
    "conditional": lambda tf, x: tf.cond(
        _input(tf, dtype="bool"), lambda: x * 2.0, lambda: tf.identity(x)
    ),
    "loop": lambda tf, x: tf.while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, y * 2.0), [0, x])[
        1
    ],
    "loop, added": lambda tf, x: tf.while_loop(
        lambda n, y: n < 3, lambda n, y: (n + 1, y / (y + 1.0)), [0, x]
    )[1],
    "recurrent, dynamic": lambda tf, x: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.BasicLSTMCell(3), tf.reshape(x, [-1, 2, 6]), dtype=tf.float32
    )[0],
    "recurrent, of lengths": lambda tf, x: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(3), tf.reshape(x, [2, 2, 6]), [1, 2], dtype=tf.float32
    )[0],
    "recurrent": lambda tf, x: tf.nn.static_rnn(
        tf.nn.rnn_cell.BasicLSTMCell(3), [tf.reshape(x, [4, 6])] * 2, dtype=tf.float32
    )[0][-1],
}

CASES = {
    # Variables and their initializers
    "get_variable": lambda tf: tf.get_variable("w", [3, 3]),
    "get_variable, truncated normal": lambda tf: tf.get_variable(
        "w", [3, 3], initializer=tf.truncated_normal_initializer(stddev=0.02)
    ),
    "get_variable, constant": lambda tf: tf.get_variable(
        "w", [3], initializer=tf.constant_initializer(0.1)
    ),
    "get_variable, uniform": lambda tf: tf.get_variable(
        "w", [3], initializer=tf.random_uniform_initializer()
    ),
    "get_variable, uniform between": lambda tf: tf.get_variable(
        "w", [3], initializer=tf.random_uniform_initializer(-0.1, 0.1)
    ),
    "get_variable, regularized": lambda tf: tf.get_variable(
        "w", [3, 3], regularizer=tf.contrib.layers.l2_regularizer(0.1)
    ),
    "get_variable, xavier": lambda tf: tf.get_variable(
        "w", [3, 3], initializer=tf.contrib.layers.xavier_initializer()
    ),
    "get_variable, scaled": lambda tf: tf.get_variable(
        "w", [3, 3], initializer=tf.variance_scaling_initializer()
    ),
    "get_variable, contrib scaled": lambda tf: tf.get_variable(
        "w", [3, 3], initializer=tf.contrib.layers.variance_scaling_initializer()
    ),
    "get_variable, orthogonal": lambda tf: tf.get_variable(
        "w", [3, 3], initializer=tf.orthogonal_initializer()
    ),
    "get_variable, uniform unit scaling": lambda tf: tf.get_variable(
        "w", [3, 3], initializer=tf.uniform_unit_scaling_initializer()
    ),
    "get_variable, he": lambda tf: tf.get_variable(
        "w", [3, 3], initializer=tf.keras.initializers.he_normal()
    ),
    "get_variable, resource": lambda tf: tf.get_variable("w", [3, 3], use_resource=True) + 1,
    "get_variable, partitioned": lambda tf: tf.get_variable(
        "w", [4, 3], partitioner=tf.fixed_size_partitioner(2)
    ),
    "Variable": lambda tf: tf.Variable(tf.random_normal([3, 3])),
    "Variable, truncated": lambda tf: tf.Variable(tf.truncated_normal([3, 3], stddev=0.1)),
    "Variable, uniform": lambda tf: tf.Variable(tf.random_uniform([3, 3], -1.0, 1.0)),
    "Variable, zeros": lambda tf: tf.Variable(tf.zeros([3, 3])),
    "global step": lambda tf: tf.train.get_or_create_global_step(),
    # Random numbers
    "random_uniform": lambda tf: tf.random_uniform([3]),
    "random_uniform, up to": lambda tf: tf.random_uniform([3], maxval=2.0),
    "random_uniform, whole": lambda tf: tf.random_uniform([3], 0, 5, tf.int32),
    "random_uniform, of a shape": lambda tf: tf.random_uniform(tf.shape(_input(tf, None, 3))),
    "random_normal": lambda tf: tf.random_normal([3]),
    "truncated_normal": lambda tf: tf.truncated_normal([3]),
    "random_shuffle": lambda tf: tf.random_shuffle(_input(tf, 3)),
    "multinomial": lambda tf: tf.multinomial(_input(tf, None, 3), 1),
    "random_gamma": lambda tf: tf.random_gamma([3], 1.0),
    "random_poisson": lambda tf: tf.random_poisson([1.0], [3]),
    "distributions normal": lambda tf: tf.distributions.Normal(0.0, 1.0).sample(3),
    # Dropout
    "dropout": lambda tf: tf.nn.dropout(_input(tf, None, 8), 0.9),
    "dropout, static": lambda tf: tf.nn.dropout(_input(tf, 3, 8), 0.9),
    "dropout, rate": lambda tf: tf.nn.dropout(_input(tf, None, 8), rate=0.1),
    "dropout, fed": lambda tf: tf.nn.dropout(_input(tf, None, 8), _input(tf)),
    "dropout, none": lambda tf: tf.nn.dropout(_input(tf, None, 8), 1.0),
    "dropout, noise shape": lambda tf: tf.nn.dropout(_input(tf, None, 8), 0.9, noise_shape=[1, 8]),
    "layers.dropout": lambda tf: tf.layers.dropout(_input(tf, None, 8), 0.5, training=True),
    "layers.dropout, not training": lambda tf: tf.layers.dropout(_input(tf, None, 8), 0.5),
    "layers.dropout, fed": lambda tf: tf.layers.dropout(
        _input(tf, None, 8), 0.5, training=_input(tf, dtype="bool")
    ),
    "contrib dropout": lambda tf: tf.contrib.layers.dropout(_input(tf, None, 8), 0.5),
    **{
        f"{kind} attention": lambda tf, kind=kind: getattr(tf.contrib.seq2seq, kind + "Attention")(
            6, _input(tf, 5, 7, 10), memory_sequence_length=[3, 2, 3, 1, 1]
        )
        for kind in ("Bahdanau", "Luong")
    },
    "dynamic_decode, training": lambda tf: tf.contrib.seq2seq.dynamic_decode(
        tf.contrib.seq2seq.BasicDecoder(
            tf.nn.rnn_cell.GRUCell(3),
            tf.contrib.seq2seq.TrainingHelper(_input(tf, 2, 3, 4), _input(tf, 2, dtype="int32")),
            _input(tf, 2, 3),
        ),
        maximum_iterations=3,
    ),
    "dynamic_decode, unknown": lambda tf: tf.contrib.seq2seq.dynamic_decode(
        tf.contrib.seq2seq.BasicDecoder(
            _cell(tf),
            tf.contrib.seq2seq.TrainingHelper(
                _input(tf, None, None, 4), _input(tf, None, dtype="int32")
            ),
            _cell(tf).zero_state(_input(tf, dtype="int32"), tf.float32),
        )
    ),
    "dynamic_decode, greedy": lambda tf: tf.contrib.seq2seq.dynamic_decode(
        tf.contrib.seq2seq.BasicDecoder(
            tf.nn.rnn_cell.GRUCell(3),
            tf.contrib.seq2seq.GreedyEmbeddingHelper(
                tf.get_variable("e", [5, 4]), tf.constant([1, 1]), 2
            ),
            _input(tf, 2, 3),
            tf.layers.Dense(5),
        ),
        maximum_iterations=3,
    ),
    # Layers
    "dense": lambda tf: tf.layers.dense(_input(tf, None, 4), 3),
    "dense, rank 3": lambda tf: tf.layers.dense(_input(tf, None, 5, 4), 3),
    "dense, rank 3, static": lambda tf: tf.layers.dense(_input(tf, 2, 5, 4), 3),
    "dense, regularized": lambda tf: tf.layers.dense(
        _input(tf, None, 4), 3, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1)
    ),
    "dense, reused": lambda tf: [
        tf.layers.dense(_input(tf, None, 4), 3, name="a", reuse=reuse) for reuse in (None, True)
    ],
    "conv1d": lambda tf: tf.layers.conv1d(_input(tf, None, 8, 1), 4, 3),
    "conv2d": lambda tf: tf.layers.conv2d(_input(tf, None, 8, 8, 1), 4, 3),
    "conv2d, channels first": lambda tf: tf.layers.conv2d(
        _input(tf, None, 1, 8, 8), 4, 3, data_format="channels_first"
    ),
    "conv2d, dilated": lambda tf: tf.layers.conv2d(
        _input(tf, None, 8, 8, 1), 4, 3, dilation_rate=2
    ),
    "conv2d, layer called twice": lambda tf: [
        layer(_input(tf, None, 8, 8, 1)) for layer in [tf.layers.Conv2D(4, 3)] for _ in range(2)
    ],
    "conv3d": lambda tf: tf.layers.conv3d(_input(tf, None, 4, 8, 8, 1), 4, 3),
    "conv2d_transpose": lambda tf: tf.layers.conv2d_transpose(_input(tf, None, 8, 8, 1), 4, 3),
    "conv2d_transpose, same": lambda tf: tf.layers.conv2d_transpose(
        _input(tf, None, 8, 8, 1), 4, 3, strides=2, padding="same"
    ),
    "conv2d_transpose, unknown": lambda tf: tf.layers.conv2d_transpose(
        _input(tf, None, None, 8, 1), 4, 3
    ),
    "conv2d_transpose, static": lambda tf: tf.layers.conv2d_transpose(
        _input(tf, 2, 8, 8, 1), 4, 5, strides=2, padding="same", use_bias=False
    ),
    "separable_conv2d": lambda tf: tf.layers.separable_conv2d(_input(tf, None, 8, 8, 1), 4, 3),
    "separable_conv1d": lambda tf: tf.layers.separable_conv1d(_input(tf, None, 8, 1), 4, 3),
    "max_pooling2d": lambda tf: tf.layers.max_pooling2d(_input(tf, None, 8, 8, 1), 2, 2),
    "average_pooling2d": lambda tf: tf.layers.average_pooling2d(_input(tf, None, 8, 8, 1), 2, 2),
    "max_pooling1d": lambda tf: tf.layers.max_pooling1d(_input(tf, None, 8, 1), 2, 2),
    "flatten": lambda tf: tf.layers.flatten(_input(tf, None, 8, 8, 1)),
    "flatten, static": lambda tf: tf.layers.flatten(_input(tf, 2, 8, 8, 1)),
    "flatten, unknown": lambda tf: tf.layers.flatten(_input(tf, None, None, 8, 1)),
    "flatten, flat": lambda tf: tf.layers.flatten(_input(tf, None, 8)),
    "batch norm": lambda tf: tf.layers.batch_normalization(
        _input(tf, None, 8, 8, 1), training=True
    ),
    "batch norm, not training": lambda tf: tf.layers.batch_normalization(_input(tf, None, 8, 8, 1)),
    "batch norm, fed": lambda tf: tf.layers.batch_normalization(
        _input(tf, None, 8, 8, 1), training=_input(tf, dtype="bool")
    ),
    "batch norm, rank 2": lambda tf: tf.layers.batch_normalization(
        _input(tf, None, 8), training=True
    ),
    "batch norm, rank 2, fed": lambda tf: tf.layers.batch_normalization(
        _input(tf, None, 8), training=_input(tf, dtype="bool")
    ),
    "batch norm, not fused": lambda tf: tf.layers.batch_normalization(
        _input(tf, None, 8, 8, 1), training=True, fused=False
    ),
    **{
        f"batch norm of {dtype}, {kind}": lambda tf, dtype=dtype, words=words: (
            tf.layers.batch_normalization(
                _input(tf, None, 8, 8, 1, dtype=dtype), fused=False, **words
            )
        )
        for dtype in ("float16", "bfloat16")
        for kind, words in (
            ("training", {"training": True}),
            ("not training", {"training": False, "scale": False}),
        )
    },
    "batch norm of float16, fed": lambda tf: tf.layers.batch_normalization(
        _input(tf, None, 8, 8, 1, dtype="float16"),
        training=_input(tf, dtype="bool"),
        fused=False,
    ),
    "batch norm, no scale": lambda tf: tf.layers.batch_normalization(
        _input(tf, None, 8, 8, 1), training=True, scale=False, center=False
    ),
    # contrib.layers
    "fully_connected": lambda tf: tf.contrib.layers.fully_connected(_input(tf, None, 4), 3),
    "fully_connected, regularized": lambda tf: tf.contrib.layers.fully_connected(
        _input(tf, None, 4), 3, weights_regularizer=tf.contrib.layers.l2_regularizer(0.1)
    ),
    "fully_connected, normalized": lambda tf: tf.contrib.layers.fully_connected(
        _input(tf, None, 4), 3, normalizer_fn=tf.contrib.layers.batch_norm
    ),
    "contrib conv2d": lambda tf: tf.contrib.layers.conv2d(_input(tf, None, 8, 8, 1), 3, 3),
    "contrib conv2d_transpose": lambda tf: tf.contrib.layers.conv2d_transpose(
        _input(tf, None, 8, 8, 1), 3, 3
    ),
    "contrib separable_conv2d": lambda tf: tf.contrib.layers.separable_conv2d(
        _input(tf, None, 8, 8, 1), 3, 3, depth_multiplier=1
    ),
    "contrib batch_norm": lambda tf: tf.contrib.layers.batch_norm(_input(tf, None, 8, 8, 1)),
    "contrib batch_norm, not training": lambda tf: tf.contrib.layers.batch_norm(
        _input(tf, None, 8, 8, 1), is_training=False
    ),
    "contrib batch_norm, not fused": lambda tf: tf.contrib.layers.batch_norm(
        _input(tf, None, 8, 8, 1), fused=False
    ),
    "contrib batch_norm, rank 2": lambda tf: tf.contrib.layers.batch_norm(
        _input(tf, None, 8), scale=True
    ),
    "contrib layer_norm": lambda tf: tf.contrib.layers.layer_norm(_input(tf, None, 5, 4)),
    "contrib layer_norm, last axis": lambda tf: tf.contrib.layers.layer_norm(
        _input(tf, 2, 5, 4), begin_norm_axis=-1, begin_params_axis=-1
    ),
    "contrib flatten": lambda tf: tf.contrib.layers.flatten(_input(tf, None, 8, 8, 1)),
    "contrib flatten, static": lambda tf: tf.contrib.layers.flatten(_input(tf, 2, 8, 8, 1)),
    "contrib max_pool2d": lambda tf: tf.contrib.layers.max_pool2d(_input(tf, None, 8, 8, 1), 2),
    "contrib instance_norm": lambda tf: tf.contrib.layers.instance_norm(_input(tf, 2, 8, 8, 3)),
    "contrib group_norm": lambda tf: tf.contrib.layers.group_norm(_input(tf, 2, 8, 8, 4), groups=2),
    "contrib spatial_softmax": lambda tf: tf.contrib.layers.spatial_softmax(
        _input(tf, None, 8, 8, 2)
    ),
    "contrib one_hot_encoding": lambda tf: tf.contrib.layers.one_hot_encoding(
        _input(tf, None, dtype="int32"), 4
    ),
    # Losses
    "losses.sparse_softmax_cross_entropy": lambda tf: tf.losses.sparse_softmax_cross_entropy(
        _input(tf, None, dtype="int32"), _input(tf, None, 3)
    ),
    "losses.softmax_cross_entropy": lambda tf: tf.losses.softmax_cross_entropy(
        _input(tf, None, 3), _input(tf, None, 3)
    ),
    "losses.softmax_cross_entropy, smoothed": lambda tf: tf.losses.softmax_cross_entropy(
        _input(tf, None, 3), _input(tf, None, 3), label_smoothing=0.1
    ),
    "losses.mean_squared_error": lambda tf: tf.losses.mean_squared_error(
        _input(tf, None, 3), _input(tf, None, 3)
    ),
    "losses.sigmoid_cross_entropy": lambda tf: tf.losses.sigmoid_cross_entropy(
        _input(tf, None, 3), _input(tf, None, 3)
    ),
    "losses.absolute_difference": lambda tf: tf.losses.absolute_difference(
        _input(tf, None, 3), _input(tf, None, 3), weights=_input(tf, None, 1)
    ),
    "losses.get_total_loss": lambda tf: [
        tf.losses.mean_squared_error(_input(tf, None, 3), tf.layers.dense(_input(tf, None, 4), 3)),
        tf.losses.get_total_loss(),
    ],
    "softmax_cross_entropy_with_logits": lambda tf: tf.nn.softmax_cross_entropy_with_logits(
        labels=_input(tf, None, 3), logits=_input(tf, None, 3)
    ),
    "softmax_cross_entropy_with_logits_v2": lambda tf: tf.nn.softmax_cross_entropy_with_logits_v2(
        labels=_input(tf, None, 3), logits=_input(tf, None, 3)
    ),
    "sparse_softmax_cross_entropy_with_logits": lambda tf: (
        tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=_input(tf, None, dtype="int32"), logits=_input(tf, None, 3)
        )
    ),
    "sigmoid_cross_entropy_with_logits": lambda tf: tf.nn.sigmoid_cross_entropy_with_logits(
        labels=_input(tf, None, 3), logits=_input(tf, None, 3)
    ),
    "weighted_cross_entropy_with_logits": lambda tf: tf.nn.weighted_cross_entropy_with_logits(
        _input(tf, None, 3), _input(tf, None, 3), 2.0
    ),
    "sampled_softmax_loss": lambda tf: tf.nn.sampled_softmax_loss(
        tf.get_variable("w", [9, 3]),
        tf.get_variable("b", [9]),
        _input(tf, None, 1, dtype="int64"),
        _input(tf, None, 3),
        2,
        9,
    ),
    "nce_loss": lambda tf: tf.nn.nce_loss(
        tf.get_variable("w", [9, 3]),
        tf.get_variable("b", [9]),
        _input(tf, None, 1, dtype="int64"),
        _input(tf, None, 3),
        2,
        9,
    ),
    "l2_loss": lambda tf: tf.nn.l2_loss(_input(tf, None, 3)),
    # Mathematics
    "reduce_mean": lambda tf: tf.reduce_mean(_input(tf, None, 3), axis=-1, keepdims=True),
    "reduce_mean, all": lambda tf: tf.reduce_mean(_input(tf, None, 3)),
    "reduce_sum, of a scalar": lambda tf: tf.reduce_sum(_input(tf)),
    "reduce_sum, of a variable": lambda tf: tf.reduce_sum(tf.get_variable("v", [4, 6])),
    "reduce_mean, of a resource": lambda tf: tf.reduce_mean(
        tf.get_variable("v", [4, 6], use_resource=True)
    ),
    "reduce_sum, of a variable's scalar": lambda tf: tf.reduce_sum(tf.get_variable("v", [])),
    "reduce_sum, of a variable's axis": lambda tf: tf.reduce_sum(tf.get_variable("v", [4, 6]), 1),
    "reduce_max, unknown rank": lambda tf: tf.reduce_max(tf.placeholder(tf.float32)),
    "reduce_logsumexp": lambda tf: tf.reduce_logsumexp(_input(tf, None, 3), 1),
    "reduce_std": lambda tf: tf.math.reduce_std(_input(tf, None, 3), 1),
    "count_nonzero": lambda tf: tf.count_nonzero(_input(tf, None, 3)),
    "matmul": lambda tf: tf.matmul(_input(tf, 2, 3, 4), _input(tf, 2, 5, 4), transpose_b=True),
    "matmul, rank 2": lambda tf: tf.matmul(_input(tf, None, 4), _input(tf, 4, 5)),
    "tensordot": lambda tf: tf.tensordot(_input(tf, None, 3, 4), _input(tf, 4, 5), 1),
    "tensordot, static": lambda tf: tf.tensordot(_input(tf, 2, 3, 4), _input(tf, 5, 4), [[2], [1]]),
    "tensordot, vector": lambda tf: tf.tensordot(_input(tf, None, 3, 4), _input(tf, 4), axes=1),
    "einsum": lambda tf: tf.einsum("abc,cd->abd", _input(tf, None, 3, 4), _input(tf, 4, 5)),
    "einsum, batch": lambda tf: tf.einsum(
        "ibnd,jbnd->ijbn", _input(tf, 3, 2, 2, 4), _input(tf, 5, 2, 2, 4)
    ),
    "einsum, product": lambda tf: tf.einsum("i,j->ij", _input(tf, 3), _input(tf, 4)),
    "moments": lambda tf: tf.nn.moments(_input(tf, None, 3), [0]),
    "moments, keep": lambda tf: tf.nn.moments(_input(tf, None, 3), [-1], keep_dims=True),
    "l2_normalize": lambda tf: tf.nn.l2_normalize(_input(tf, None, 3), 1),
    "batch_normalization": lambda tf: tf.nn.batch_normalization(
        _input(tf, None, 3), _input(tf, 3), _input(tf, 3), _input(tf, 3), _input(tf, 3), 1e-3
    ),
    "fused_batch_norm": lambda tf: tf.nn.fused_batch_norm(
        _input(tf, None, 8, 8, 3), _input(tf, 3), _input(tf, 3)
    ),
    "clip_by_global_norm": lambda tf: tf.clip_by_global_norm([_input(tf, 3), _input(tf, 4)], 1.0),
    "clip_by_norm": lambda tf: tf.clip_by_norm(_input(tf, 3), 1.0),
    "clip_by_value": lambda tf: tf.clip_by_value(_input(tf, 3), 0.0, 1.0),
    "argmax": lambda tf: tf.argmax(_input(tf, None, 3), 1),
    "cumsum": lambda tf: tf.cumsum(_input(tf, None, 3), axis=1),
    "top_k": lambda tf: tf.nn.top_k(_input(tf, None, 3), 2),
    "in_top_k": lambda tf: tf.nn.in_top_k(_input(tf, None, 3), _input(tf, None, dtype="int32"), 2),
    "confusion_matrix": lambda tf: tf.confusion_matrix(
        _input(tf, 4, dtype="int32"), _input(tf, 4, dtype="int32"), 3
    ),
    "operators": lambda tf: (-_input(tf, 3) + 1.0) * 2.0 / _input(tf, 3) - _input(tf, 3) ** 2 % 3.0,
    "comparison": lambda tf: tf.logical_and(_input(tf, 3) > 1.0, tf.equal(_input(tf, 3), 2.0)),
    "gelu": lambda tf: (
        0.5 * _input(tf, None, 3) * (1.0 + tf.erf(_input(tf, None, 3) / tf.sqrt(2.0)))
    ),
    "pow": lambda tf: tf.pow(_input(tf, 3), 2.0),
    "to_float": lambda tf: tf.to_float(_input(tf, 3, dtype="int32")),
    "linspace": lambda tf: tf.linspace(0.0, 1.0, 5),
    "range": lambda tf: tf.range(_input(tf, dtype="int32")),
    "segment_sum": lambda tf: tf.unsorted_segment_sum(
        _input(tf, 4, 2), _input(tf, 4, dtype="int32"), 3
    ),
    "matrix_band_part": lambda tf: tf.matrix_band_part(tf.ones([3, 3]), -1, 0),
    "eye": lambda tf: tf.eye(3),
    # Arrays
    "reshape": lambda tf: tf.reshape(_input(tf, None, 4), [-1, 2, 2]),
    "reshape, of a shape": lambda tf: tf.reshape(
        _input(tf, None, 4), [tf.shape(_input(tf, None, 4))[0], 2, 2]
    ),
    "transpose": lambda tf: tf.transpose(_input(tf, None, 3, 4), [0, 2, 1]),
    "transpose, whole": lambda tf: tf.transpose(_input(tf, None, 3)),
    "split": lambda tf: tf.split(_input(tf, None, 4), 2, axis=1),
    "split, sizes": lambda tf: tf.split(_input(tf, None, 4), [1, 3], axis=1),
    "unstack": lambda tf: tf.unstack(_input(tf, 2, 5), axis=1),
    "stack": lambda tf: tf.stack([_input(tf, 3), _input(tf, 3)], 1),
    "concat": lambda tf: tf.concat([_input(tf, None, 3), _input(tf, None, 3)], -1),
    "tile": lambda tf: tf.tile(_input(tf, None, 3), [1, 2]),
    "pad": lambda tf: tf.pad(_input(tf, None, 3), [[0, 0], [1, 1]]),
    "where": lambda tf: tf.where(_input(tf, 3) > 0, _input(tf, 3), _input(tf, 3)),
    "where, indices": lambda tf: tf.where(_input(tf, 3) > 0),
    "boolean_mask": lambda tf: tf.boolean_mask(_input(tf, None, 3), _input(tf, None, dtype="bool")),
    "one_hot": lambda tf: tf.one_hot(_input(tf, None, dtype="int32"), 4),
    "one_hot, values": lambda tf: tf.one_hot(
        _input(tf, None, dtype="int32"), 4, 0.9, 0.1, dtype=tf.float32
    ),
    "expand_dims": lambda tf: tf.expand_dims(_input(tf, None, 3), -1),
    "squeeze": lambda tf: tf.squeeze(_input(tf, None, 1, 4), axis=1),
    "slice": lambda tf: _input(tf, None, 5, 4)[:, 0:1, :],
    "slice, ellipsis": lambda tf: _input(tf, None, 5, 4)[..., tf.newaxis, ::2],
    "slice, up to a tensor": lambda tf: _input(tf, 7)[: _input(tf, dtype="int32")],
    "slice, from a tensor": lambda tf: _input(tf, 7, 5, 4)[:, _input(tf, dtype="int32") :, 1],
    "slice, between tensors": lambda tf: _input(tf, 7, 5)[
        _input(tf, dtype="int32") : _input(tf, dtype="int32"), 2:
    ],
    "slice, up to an int64": lambda tf: _input(tf, 7, 5)[1:3, : _input(tf, dtype="int64")],
    "slice, by a tensor": lambda tf: _input(tf, 7, 5)[..., _input(tf, dtype="int32")],
    "slice, by an int64": lambda tf: _input(tf, 7, 5)[:, _input(tf, dtype="int64")],
    "slice, of a variable": lambda tf: tf.get_variable("w", [7, 5])[
        : tf.shape(_input(tf, None))[0]
    ],
    "slice, of a resource": lambda tf: tf.get_variable("w", [7, 5], use_resource=True)[
        : tf.shape(_input(tf, None))[0]
    ],
    "enabled resources": lambda tf: _with_resources(tf, _variables),
    "enabled resources, dense": lambda tf: _with_resources(
        tf, lambda tf: tf.layers.dense(_input(tf, None, 3), 4)
    ),
    "shape": lambda tf: tf.shape(_input(tf, None, 3))[0],
    "shape, static": lambda tf: tf.shape(_input(tf, 2, 3))[0],
    "zeros_like": lambda tf: tf.zeros_like(_input(tf, None, 3)),
    "ones_like, static": lambda tf: tf.ones_like(_input(tf, 2, 3)),
    "ones": lambda tf: tf.ones([2, 3]),
    "zeros, of some sizes": lambda tf: [
        tf.zeros([tf.shape(_input(tf, None, 3))[0], 3]),
        tf.ones([2, 3, tf.shape(_input(tf, None, 3))[0]]),
        tf.zeros((_input(tf, dtype="int32"), _input(tf, dtype="int32"), 2, 3)),
    ],
    "zeros, of a shape": lambda tf: tf.zeros(tf.shape(_input(tf, None, 3))),
    "fill": lambda tf: tf.fill([2, 3], 1.0),
    "gather": lambda tf: tf.gather(tf.get_variable("e", [9, 3]), _input(tf, None, dtype="int32")),
    "gather_nd": lambda tf: tf.gather_nd(_input(tf, 3, 3), _input(tf, None, 2, dtype="int32")),
    "scatter_nd": lambda tf: tf.scatter_nd(
        _input(tf, None, 1, dtype="int32"), _input(tf, None), [5]
    ),
    "embedding_lookup": lambda tf: tf.nn.embedding_lookup(
        tf.get_variable("e", [9, 3]), _input(tf, None, dtype="int32")
    ),
    "embedding_lookup, resource": lambda tf: tf.nn.embedding_lookup(
        tf.get_variable("e", [9, 3], use_resource=True), _input(tf, None, dtype="int32")
    ),
    "embedding_lookup_sparse": lambda tf: tf.nn.embedding_lookup_sparse(
        tf.get_variable("e", [9, 3]), tf.sparse_placeholder(tf.int64), None
    ),
    "embedding_lookup_sparse, of a norm": lambda tf: tf.nn.embedding_lookup_sparse(
        tf.get_variable("e", [9, 3]), tf.sparse_placeholder(tf.int64), None, max_norm=1.0
    ),
    "embedding_lookup_sparse, of two": lambda tf: tf.nn.embedding_lookup_sparse(
        [tf.get_variable("e", [5, 3]), tf.get_variable("f", [4, 3])],
        tf.sparse_placeholder(tf.int64),
        None,
        combiner="sum",
    ),
    "embedding_lookup_sparse, weighted": lambda tf: tf.nn.embedding_lookup_sparse(
        tf.get_variable("e", [9, 3]),
        tf.sparse_placeholder(tf.int64),
        tf.sparse_placeholder(tf.float32),
    ),
    "sequence_mask": lambda tf: tf.sequence_mask(_input(tf, None, dtype="int32"), 5, tf.float32),
    "reverse_sequence": lambda tf: tf.reverse_sequence(
        _input(tf, 2, 5, 3), _input(tf, 2, dtype="int32"), seq_axis=1, batch_axis=0
    ),
    "cast": lambda tf: tf.cast(_input(tf, 3), tf.int32),
    "stop_gradient": lambda tf: tf.stop_gradient(_input(tf, 3)),
    "sparse_to_dense": lambda tf: tf.sparse_to_dense([[0, 1]], [2, 2], 1.0),
    "bfloat16": lambda tf: tf.cast(tf.cast(_input(tf, 3), tf.bfloat16), tf.float32),
    # tf.nn
    "nn.conv2d": lambda tf: tf.nn.conv2d(
        _input(tf, None, 8, 8, 1), tf.get_variable("w", [3, 3, 1, 4]), [1, 1, 1, 1], "SAME"
    ),
    "nn.convolution": lambda tf: tf.nn.convolution(
        _input(tf, None, 8, 8, 1), _input(tf, 3, 3, 1, 4), "SAME"
    ),
    "nn.conv1d": lambda tf: tf.nn.conv1d(_input(tf, None, 8, 1), _input(tf, 3, 1, 4), 1, "SAME"),
    "nn.depthwise_conv2d": lambda tf: tf.nn.depthwise_conv2d(
        _input(tf, None, 8, 8, 2), _input(tf, 3, 3, 2, 1), [1, 1, 1, 1], "SAME"
    ),
    "nn.conv2d_transpose": lambda tf: tf.nn.conv2d_transpose(
        _input(tf, 2, 4, 4, 3), _input(tf, 3, 3, 2, 3), [2, 8, 8, 2], [1, 2, 2, 1]
    ),
    "nn.avg_pool": lambda tf: tf.nn.avg_pool(
        _input(tf, None, 8, 8, 1), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"
    ),
    "nn.max_pool": lambda tf: tf.nn.max_pool(
        _input(tf, None, 8, 8, 1), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"
    ),
    "nn.bias_add": lambda tf: tf.nn.bias_add(_input(tf, None, 3), _input(tf, 3)),
    "nn.softmax": lambda tf: tf.nn.softmax(_input(tf, None, 3)),
    "nn.softmax, other axis": lambda tf: tf.nn.softmax(_input(tf, None, 3, 4), axis=1),
    "nn.log_softmax": lambda tf: tf.nn.log_softmax(_input(tf, None, 3)),
    "nn.leaky_relu": lambda tf: tf.nn.leaky_relu(_input(tf, None, 3)),
    "nn.elu": lambda tf: tf.nn.elu(_input(tf, None, 3)),
    "nn.swish": lambda tf: tf.nn.swish(_input(tf, None, 3)),
    "nn.relu6": lambda tf: tf.nn.relu6(_input(tf, None, 3)),
    "nn.sigmoid": lambda tf: tf.nn.sigmoid(_input(tf, None, 3)),
    "nn.xw_plus_b": lambda tf: tf.nn.xw_plus_b(
        _input(tf, None, 3), _input(tf, 3, 2), _input(tf, 2)
    ),
    "nn.lrn": lambda tf: tf.nn.lrn(_input(tf, None, 8, 8, 1), 4),
    "nn.space_to_depth": lambda tf: tf.space_to_depth(_input(tf, None, 8, 8, 1), 2),
    "nn.ctc_loss": lambda tf: tf.nn.ctc_loss(
        tf.sparse_placeholder(tf.int32), _input(tf, 5, 2, 4), _input(tf, 2, dtype="int32")
    ),
    # Recurrent networks
    "dynamic_rnn, LSTM": lambda tf: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.LSTMCell(3), _input(tf, None, 5, 4), dtype=tf.float32
    ),
    "dynamic_rnn, lengths": lambda tf: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.LSTMCell(3),
        _input(tf, None, 5, 4),
        _input(tf, None, dtype="int32"),
        dtype=tf.float32,
    ),
    "dynamic_rnn, static": lambda tf: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.BasicLSTMCell(3), _input(tf, 2, 5, 4), dtype=tf.float32
    ),
    "dynamic_rnn, GRU": lambda tf: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(3), _input(tf, None, 5, 4), dtype=tf.float32
    ),
    "static_rnn": lambda tf: tf.nn.static_rnn(
        tf.nn.rnn_cell.BasicLSTMCell(3), tf.unstack(_input(tf, 2, 5, 4), axis=1), dtype=tf.float32
    ),
    "dynamic_rnn, two with dropout": lambda tf: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.MultiRNNCell([_cell(tf), _cell(tf)]),
        _input(tf, None, 5, 4),
        dtype=tf.float32,
    ),
    "bidirectional_dynamic_rnn": lambda tf: tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.LSTMCell(3),
        tf.nn.rnn_cell.LSTMCell(3),
        _input(tf, None, 5, 4),
        dtype=tf.float32,
    ),
    "contrib LayerNormBasicLSTMCell": lambda tf: tf.nn.dynamic_rnn(
        tf.contrib.rnn.LayerNormBasicLSTMCell(3), _input(tf, None, 5, 4), dtype=tf.float32
    ),
    "contrib crf": lambda tf: tf.contrib.crf.crf_log_likelihood(
        _input(tf, None, 5, 4), _input(tf, None, 5, dtype="int32"), _input(tf, None, dtype="int32")
    ),
    # Control flow
    "cond": lambda tf: tf.cond(
        _input(tf, dtype="bool"), lambda: _input(tf, 3) * 2, lambda: _input(tf, 3) * 3
    ),
    "while_loop": lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)]),
    "map_fn": lambda tf: tf.map_fn(lambda x: x * 2, _input(tf, None, 3)),
    "scan": lambda tf: tf.scan(lambda a, x: a + x, _input(tf, None, 3)),
    "case": lambda tf: tf.case([(_input(tf) > 0, lambda: tf.constant(1))], lambda: tf.constant(2)),
    "control_dependencies": lambda tf: [
        tf.identity(_input(tf, 3))
        for _ in [0]
        for scope in [tf.control_dependencies([tf.no_op()])]
        if scope
    ],
    "assert_equal": lambda tf: tf.assert_equal(_input(tf, None, dtype="int32"), 1),
    "py_func": lambda tf: tf.py_func(lambda x: x, [_input(tf, 3)], tf.float32),
    "Print": lambda tf: tf.Print(_input(tf, 3), [_input(tf, 3)]),
    "gradients": lambda tf: tf.gradients(
        tf.matmul(_input(tf, 2, 3), tf.get_variable("w", [3, 3])), tf.trainable_variables()
    ),
    "matrix_diag_part": lambda tf: tf.matrix_diag_part(_input(tf, 2, 3, 3)),
    "matrix_set_diag": lambda tf: tf.matrix_set_diag(_input(tf, 2, 3, 3), _input(tf, 2, 3)),
    "trace": lambda tf: tf.trace(_input(tf, 3, 3)),
    "logdet": lambda tf: tf.linalg.logdet(_input(tf, None, 3, 3)),
    "weighted_moments": lambda tf: tf.nn.weighted_moments(_input(tf, None, 3), [0], [1.0]),
    "saturate_cast": lambda tf: tf.saturate_cast(_input(tf, 3), tf.uint8),
    "saturate_cast, of one side": lambda tf: tf.saturate_cast(
        _input(tf, 3, dtype="int32"), tf.uint64
    ),
    "sparse_placeholder": lambda tf: tf.sparse_placeholder("float32", [3, 3]),
    "sparse_placeholder, open": lambda tf: tf.sparse_placeholder("float32", [None, 3]),
    "sparse_placeholder, unknown": lambda tf: tf.sparse_placeholder("float32"),
    **{
        f"stateless_{name}": lambda tf, name=name: getattr(tf.random, f"stateless_{name}")(
            [3], [1, 2]
        )
        for name in ("uniform", "normal", "truncated_normal")
    },
    **{
        f"polynomial_decay, {'cycle' if cycle else 'once'}": (
            lambda tf, cycle=cycle: tf.train.polynomial_decay(
                0.1, tf.train.get_or_create_global_step(), 10, cycle=cycle
            )
        )
        for cycle in (False, True)
    },
    "polynomial_decay, of a tensor": lambda tf: tf.train.polynomial_decay(
        0.1, tf.train.get_or_create_global_step(), _input(tf)
    ),
    "input_layer, embedding": lambda tf: tf.feature_column.input_layer(
        {"a": _input(tf, 4, 1, dtype="int64")},
        [
            tf.feature_column.embedding_column(
                tf.feature_column.categorical_column_with_identity("a", 5), 3
            )
        ],
    ),
    "input_layer, default": lambda tf: tf.feature_column.input_layer(
        {"a": _input(tf, None, 1, dtype="int32")},
        [
            tf.feature_column.indicator_column(
                tf.feature_column.categorical_column_with_identity("a", 5, 0)
            )
        ],
    ),
    # Summaries and metrics
    "summary.scalar": lambda tf: tf.summary.scalar("a", _input(tf)),
    "summary.histogram": lambda tf: tf.summary.histogram("a", _input(tf, 3)),
    "summary.image": lambda tf: tf.summary.image("a", _input(tf, None, 8, 8, 1)),
    "metrics.accuracy": lambda tf: tf.metrics.accuracy(_input(tf, None), _input(tf, None)),
    "metrics.mean": lambda tf: tf.metrics.mean(_input(tf, None)),
    "metrics.mean_iou": lambda tf: tf.metrics.mean_iou(
        _input(tf, 4, dtype="int32"), _input(tf, 4, dtype="int32"), 3
    ),
    "confusion_matrix, of unknown classes": lambda tf: tf.confusion_matrix(
        _input(tf, None, dtype="int32"), _input(tf, None, dtype="int32")
    ),
    # Images
    "decode_raw": lambda tf: tf.decode_raw(_input(tf, None, dtype="string"), tf.uint8),
    "decode_jpeg": lambda tf: tf.image.decode_jpeg(_input(tf, dtype="string"), 3),
    "decode_image": lambda tf: tf.image.decode_image(_input(tf, dtype="string"), 3),
    "convert_image_dtype": lambda tf: tf.image.convert_image_dtype(
        _input(tf, 8, 8, 3, dtype="uint8"), tf.float32
    ),
    "resize_bilinear": lambda tf: tf.image.resize_bilinear(_input(tf, None, 8, 8, 1), [4, 4]),
    "resize_images": lambda tf: tf.image.resize_images(_input(tf, 8, 8, 1), [4, 4]),
    "resize_images, unknown": lambda tf: tf.image.resize_images(_input(tf, None, None, 3), [4, 4]),
    "resize_image_with_crop_or_pad": lambda tf: tf.image.resize_image_with_crop_or_pad(
        _input(tf, 8, 8, 1), 10, 10
    ),
    "resize_image_with_crop_or_pad, unknown": lambda tf: tf.image.resize_image_with_crop_or_pad(
        _input(tf, None, None, 3), 10, 10
    ),
    "central_crop": lambda tf: tf.image.central_crop(_input(tf, 8, 8, 3), 0.5),
    "crop_to_bounding_box": lambda tf: tf.image.crop_to_bounding_box(
        _input(tf, 8, 8, 1), 1, 1, 4, 4
    ),
    "pad_to_bounding_box": lambda tf: tf.image.pad_to_bounding_box(
        _input(tf, 8, 8, 1), 1, 1, 12, 12
    ),
    "random_crop": lambda tf: tf.random_crop(_input(tf, 8, 8, 1), [4, 4, 1]),
    "random_flip_left_right": lambda tf: tf.image.random_flip_left_right(_input(tf, 8, 8, 1)),
    "random_flip_up_down": lambda tf: tf.image.random_flip_up_down(_input(tf, 8, 8, 1)),
    "random_flip, batch": lambda tf: tf.image.random_flip_left_right(_input(tf, None, 8, 8, 1)),
    "flip_left_right": lambda tf: tf.image.flip_left_right(_input(tf, 8, 8, 1)),
    "random_brightness": lambda tf: tf.image.random_brightness(_input(tf, 8, 8, 3), 0.2),
    "random_contrast": lambda tf: tf.image.random_contrast(_input(tf, 8, 8, 3), 0.2, 0.5),
    "random_saturation": lambda tf: tf.image.random_saturation(_input(tf, 8, 8, 3), 0.2, 0.5),
    "random_hue": lambda tf: tf.image.random_hue(_input(tf, 8, 8, 3), 0.2),
    "per_image_standardization": lambda tf: tf.image.per_image_standardization(_input(tf, 8, 8, 1)),
    "random_flip, unknown rank": lambda tf: tf.image.random_flip_left_right(
        tf.placeholder("float32")
    ),
    "random_flip_up_down, unknown rank": lambda tf: tf.image.random_flip_up_down(
        tf.image.decode_image(_input(tf, dtype="string"))
    ),
    "random colours, whole numbers": lambda tf: tf.image.random_saturation(
        tf.image.random_contrast(
            tf.image.random_brightness(_input(tf, 8, 8, 3, dtype="uint8"), 0.5), 0.1, 0.5
        ),
        0.2,
        0.4,
    ),
    "central_crop, unknown": lambda tf: tf.image.central_crop(_input(tf, None, None, 3), 0.5),
    "central_crop, of a height": lambda tf: tf.image.central_crop(_input(tf, 2, None, 8, 3), 0.5),
    "resize_images, ratio": lambda tf: tf.image.resize_images(
        _input(tf, 8, 8, 3), [4, 2], preserve_aspect_ratio=True
    ),
    "resize_images, ratio and unknown": lambda tf: tf.image.resize_images(
        _input(tf, None, None, 3), [4, 2], preserve_aspect_ratio=True
    ),
    "rot90": lambda tf: tf.image.rot90(_input(tf, 8, 8, 1)),
    "rgb_to_grayscale": lambda tf: tf.image.rgb_to_grayscale(_input(tf, 8, 8, 3)),
    "sample_distorted_bounding_box": lambda tf: tf.image.sample_distorted_bounding_box(
        _input(tf, 3, dtype="int32"), _input(tf, 1, 1, 4), min_object_covered=0.1
    ),
    "non_max_suppression": lambda tf: tf.image.non_max_suppression(
        _input(tf, 5, 4), _input(tf, 5), 3
    ),
    # Input pipelines
    "dataset, one-shot": lambda tf: (
        _slices(tf).repeat().batch(4).make_one_shot_iterator().get_next()
    ),
    "dataset, initializable": lambda tf: _next(
        _slices(tf).shuffle(8).repeat().batch(4, drop_remainder=True)
    ),
    "dataset, map": lambda tf: _next(_slices(tf).map(lambda a, b: (a * 2, b)).prefetch(2)),
    "dataset, augmented": lambda tf: _next(
        _slices(tf).map(lambda a, b: _augmented(tf, a, b)).batch(4)
    ),
    "dataset, records": lambda tf: _next(
        tf.data.TFRecordDataset(["a"]).repeat().shuffle(8).map(lambda r: _parsed(tf, r), 2).batch(4)
    ),
    "dataset, map_and_batch": lambda tf: _next(
        tf.data.TFRecordDataset(["a"])
        .apply(tf.contrib.data.shuffle_and_repeat(8))
        .apply(tf.contrib.data.map_and_batch(lambda r: _parsed(tf, r), 4, drop_remainder=True))
    ),
    "dataset, interleave": lambda tf: _next(
        tf.data.Dataset.from_tensor_slices(["a", "b"])
        .shuffle(2)
        .apply(
            tf.contrib.data.parallel_interleave(
                tf.data.TFRecordDataset, sloppy=False, cycle_length=2
            )
        )
        .shuffle(8)
        .apply(tf.data.experimental.map_and_batch(lambda r: _parsed(tf, r), 4))
    ),
    "dataset, interleave of itself": lambda tf: _next(
        tf.data.Dataset.from_tensor_slices(["a", "b"])
        .interleave(tf.data.TFRecordDataset, 2)
        .batch(2)
    ),
    "dataset, interleave in parallel": lambda tf: _next(
        tf.data.Dataset.from_tensor_slices(["a", "b"])
        .interleave(tf.data.TFRecordDataset, 2, num_parallel_calls=2)
        .batch(2)
    ),
    "dataset, files": lambda tf: _next(
        tf.data.Dataset.list_files("/nowhere/*", shuffle=True)
        .repeat()
        .apply(tf.data.experimental.ignore_errors())
    ),
    "dataset, flat_map": lambda tf: _next(
        tf.data.Dataset.from_tensor_slices(["a", "b"]).flat_map(tf.data.TFRecordDataset).batch(2)
    ),
    "dataset, generator": lambda tf: _next(
        tf.data.Dataset.from_generator(lambda: iter([1]), tf.int32).batch(2)
    ),
    "dataset, padded": lambda tf: _next(
        tf.data.Dataset.range(3).map(lambda n: tf.range(n)).padded_batch(2, [None])
    ),
    "dataset, zip": lambda tf: _next(
        tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.range(3)))
    ),
    "dataset, filter": lambda tf: _next(
        tf.data.Dataset.range(3).filter(lambda n: n > 1).skip(1).take(1).cache()
    ),
    "dataset, enumerated": lambda tf: _next(
        tf.data.Dataset.range(5).apply(tf.data.experimental.enumerate_dataset())
    ),
    "dataset, chosen from": lambda tf: _next(
        tf.data.experimental.choose_from_datasets(
            [tf.data.Dataset.range(5), tf.data.Dataset.range(3)], tf.data.Dataset.range(2)
        )
    ),
    "dataset, options": lambda tf: _next(tf.data.Dataset.range(5).with_options(tf.data.Options())),
    **{
        f"dataset, sparse {sort}": lambda tf, drop=drop: _next(
            tf.data.Dataset.from_tensors(tf.SparseTensor([[0, 0]], [1.0], [2, 3]))
            .repeat()
            .batch(2, drop_remainder=drop)
        )
        for sort, drop in (("batches", False), ("whole batches", True))
    },
    "dataset, dense to sparse": lambda tf: _next(
        tf.data.Dataset.range(5)
        .map(lambda n: tf.range(n))
        .apply(tf.data.experimental.dense_to_sparse_batch(2, [5]))
    ),
    "dataset, csv": lambda tf: _next(tf.data.experimental.CsvDataset(["a"], [tf.float32])),
    "parse_single_example": lambda tf: tf.parse_single_example(
        _input(tf, dtype="string"), _features(tf, tf.FixedLenFeature([3], tf.int64))
    ),
    "parse_single_example, two and sparse": lambda tf: tf.parse_single_example(
        _input(tf, dtype="string"),
        _features(
            tf,
            tf.FixedLenFeature([3], tf.int64),
            tf.FixedLenFeature([], tf.string, ""),
            tf.VarLenFeature(tf.int64),
        ),
    ),
    "parse_example": lambda tf: tf.parse_example(
        _input(tf, None, dtype="string"), _features(tf, tf.FixedLenFeature([3], tf.int64))
    ),
    "parse_example, two and two sparse": lambda tf: tf.parse_example(
        _input(tf, None, dtype="string"),
        _features(
            tf,
            tf.FixedLenFeature([3], tf.int64),
            tf.FixedLenFeature([], tf.string, ""),
            tf.VarLenFeature(tf.int64),
            tf.VarLenFeature(tf.string),
        ),
    ),
    "parse_example, sparse feature": lambda tf: tf.parse_example(
        _input(tf, None, dtype="string"),
        _features(tf, tf.SparseFeature("i", "v", tf.float32, 9)),
    ),
    "parse_single_sequence_example": lambda tf: tf.parse_single_sequence_example(
        _input(tf, dtype="string"),
        _features(tf, tf.FixedLenFeature([], tf.int64), tf.VarLenFeature(tf.int64)),
        {"s": tf.FixedLenSequenceFeature([], tf.int64)},
    ),
    "dataset, parsed and cropped": lambda tf: _next(
        tf.data.TFRecordDataset(["a"]).map(
            lambda r: tf.random_crop(
                tf.image.decode_jpeg(
                    tf.parse_single_example(
                        r, _features(tf, tf.FixedLenFeature([], tf.string, ""))
                    )["0"],
                    channels=3,
                ),
                [8, 8, 3],
            )
        )
    ),
    # Keras
    "keras Input": lambda tf: tf.keras.Input((3,)),
    "keras Dense": lambda tf: tf.keras.layers.Dense(3)(_input(tf, None, 4)),
    "keras Dense, rank 3": lambda tf: tf.keras.layers.Dense(3)(_input(tf, None, 5, 4)),
    "keras Conv2D": lambda tf: tf.keras.layers.Conv2D(3, 3)(_input(tf, None, 8, 8, 1)),
    "keras Dropout": lambda tf: tf.keras.layers.Dropout(0.5)(_input(tf, None, 4)),
    "keras BatchNormalization": lambda tf: tf.keras.layers.BatchNormalization()(
        _input(tf, None, 8, 8, 1)
    ),
    "keras BatchNormalization, rank 2": lambda tf: tf.keras.layers.BatchNormalization()(
        _input(tf, None, 8)
    ),
    "keras LayerNormalization": lambda tf: tf.keras.layers.LayerNormalization()(
        _input(tf, None, 8)
    ),
    "keras LayerNormalization, rank 3": lambda tf: tf.keras.layers.LayerNormalization()(
        _input(tf, None, 5, 8)
    ),
    "keras LayerNormalization, static": lambda tf: tf.keras.layers.LayerNormalization()(
        _input(tf, 2, 5, 8)
    ),
    "keras Embedding": lambda tf: tf.keras.layers.Embedding(9, 3)(
        _input(tf, None, 5, dtype="int32")
    ),
    "keras LSTM": lambda tf: tf.keras.layers.LSTM(3)(_input(tf, None, 5, 4)),
    "keras GRU": lambda tf: tf.keras.layers.GRU(3)(_input(tf, None, 5, 4)),
    "keras SimpleRNN": lambda tf: tf.keras.layers.SimpleRNN(3)(_input(tf, None, 5, 4)),
    "keras Bidirectional": lambda tf: tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(3))(
        _input(tf, None, 5, 4)
    ),
    "keras TimeDistributed": lambda tf: tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(3))(
        _input(tf, None, 5, 4)
    ),
    "keras Conv2DTranspose": lambda tf: tf.keras.layers.Conv2DTranspose(3, 3)(
        _input(tf, None, 8, 8, 1)
    ),
    "keras UpSampling2D": lambda tf: tf.keras.layers.UpSampling2D()(_input(tf, None, 8, 8, 1)),
    "keras ZeroPadding2D": lambda tf: tf.keras.layers.ZeroPadding2D()(_input(tf, None, 8, 8, 1)),
    "keras GlobalAveragePooling2D": lambda tf: tf.keras.layers.GlobalAveragePooling2D()(
        _input(tf, None, 8, 8, 1)
    ),
    "keras DepthwiseConv2D": lambda tf: tf.keras.layers.DepthwiseConv2D(3)(
        _input(tf, None, 8, 8, 1)
    ),
    "keras SeparableConv2D": lambda tf: tf.keras.layers.SeparableConv2D(4, 3)(
        _input(tf, None, 8, 8, 1)
    ),
    "keras PReLU": lambda tf: tf.keras.layers.PReLU()(_input(tf, None, 8)),
    "keras LeakyReLU": lambda tf: tf.keras.layers.LeakyReLU()(_input(tf, None, 8)),
    "keras Reshape": lambda tf: tf.keras.layers.Reshape((4, 2))(_input(tf, None, 8)),
    "keras Concatenate": lambda tf: tf.keras.layers.concatenate(
        [_input(tf, None, 8), _input(tf, None, 8)]
    ),
    "keras GaussianNoise": lambda tf: tf.keras.layers.GaussianNoise(0.1)(_input(tf, None, 8)),
    "keras SpatialDropout1D": lambda tf: tf.keras.layers.SpatialDropout1D(0.1)(
        _input(tf, None, 8, 3)
    ),
    **keras_seed_cases.CASES,
    "keras convolutional": lambda tf: _keras(
        tf,
        tf.keras.layers.Conv2D(3, 3, input_shape=(8, 8, 1), activation="relu"),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Dropout(0.25),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(3, activation="softmax"),
    ),
    "keras recurrent": lambda tf: _keras(
        tf,
        tf.keras.layers.Embedding(10, 3, input_length=5),
        tf.keras.layers.LSTM(4),
        tf.keras.layers.Dense(3),
    ),
    "keras compiled": lambda tf: _keras(
        tf, tf.keras.layers.Dense(3, input_shape=(4,), kernel_regularizer="l2")
    ).compile("adam", "categorical_crossentropy"),
    "keras regularized twice": lambda tf: (
        _keras(
            tf,
            tf.keras.layers.Dense(
                3, input_shape=(4,), kernel_regularizer=tf.keras.regularizers.l1_l2(0.1, 0.1)
            ),
            tf.keras.layers.Dense(2, kernel_regularizer="l1"),
        ).losses
    ),
    # Gradients
    **{
        f"gradient of {name}, {sort}": lambda tf, function=function, shape=shape: _gradient(
            tf, function, shape
        )
        for name, function in _DIFFERENTIATED.items()
        for sort, shape in (
            ("static", [4, 6]),
            ("open", [None, 6]),
            ("unknown", [None, None]),
        )
    },
    **{
        f"{name}.minimize": lambda tf, name=name, options=options: _minimized(
            tf, getattr(tf.train, name)(*options)
        )
        for name, options in {
            "GradientDescentOptimizer": (0.1,),
            "AdamOptimizer": (0.1,),
            "MomentumOptimizer": (0.1, 0.9),
            "RMSPropOptimizer": (0.1,),
            "AdagradOptimizer": (0.1,),
            "AdadeltaOptimizer": (0.1,),
            "FtrlOptimizer": (0.1,),
        }.items()
    },
    "FtrlOptimizer.minimize, rate and large": lambda tf: [
        _minimized(tf, tf.train.FtrlOptimizer(_input(tf))),
        tf.train.FtrlOptimizer(0.1).minimize(tf.reduce_sum(tf.get_variable("large", [40, 50]))),
    ],
    "AdamOptimizer.minimize, step": lambda tf: _minimized(
        tf, tf.train.AdamOptimizer(0.1), tf.train.get_or_create_global_step()
    ),
    # Together
    "a convolutional network": _tower,
    "a Transformer's layer": _encoder,
}


def _session(tf, directory):
    """A Session's program: weights, dropout and a variable after the optimizer."""
    x, y = _input(tf, None, 4), _input(tf, None, dtype="int32")
    net = tf.nn.relu(tf.matmul(x, tf.get_variable("w", [4, 5])))
    net = tf.layers.dropout(tf.layers.dense(net, 6, activation=tf.nn.relu), 0.5, training=True)
    logits = tf.matmul(net, tf.Variable(tf.truncated_normal([6, 3], stddev=0.1)))
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    step = tf.train.AdamOptimizer(0.01).minimize(loss)
    random = np.random.RandomState(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        batches = [{x: random.randn(8, 4), y: random.randint(0, 3, 8)} for _ in range(4)]
        return [session.run([loss, step], batch)[0] for batch in batches]


def _estimator(tf, directory):
    """A TPUEstimator's program: a shuffled and augmented input, convolution, normalization, dropout."""
    random = np.random.RandomState(0)
    images, labels = random.randn(64, 8, 8, 1).astype("f"), random.randint(0, 3, 64).astype("i")

    def input_fn(params):
        dataset = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().shuffle(16)
        dataset = dataset.map(lambda image, label: _augmented(tf, image, label))
        return dataset.batch(params["batch_size"], drop_remainder=True)

    def model_fn(features, labels, mode, params):
        training = mode == tf.estimator.ModeKeys.TRAIN
        net = tf.layers.conv2d(features, 4, 3, padding="same", use_bias=False)
        net = tf.nn.relu(tf.layers.batch_normalization(net, training=training))
        net = tf.layers.dense(tf.layers.flatten(tf.layers.max_pooling2d(net, 2, 2)), 10, tf.nn.relu)
        logits = tf.layers.dense(tf.layers.dropout(net, 0.4, training=training), 3)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            step = tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_global_step())
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=step)

    config = tf.contrib.tpu.RunConfig(
        model_dir=directory, tf_random_seed=7, tpu_config=tf.contrib.tpu.TPUConfig(2)
    )
    estimator = tf.contrib.tpu.TPUEstimator(
        model_fn, use_tpu=False, train_batch_size=16, eval_batch_size=16, config=config
    )
    estimator.train(input_fn, steps=5)
    names = ("conv2d/kernel", "dense/kernel", "batch_normalization/moving_variance")
    weights = [np.abs(estimator.get_variable_value(name)).sum() for name in names]
    return [estimator.evaluate(input_fn, steps=2)["loss"], *weights]


def _keras_model(tf, directory):
    """A Keras model's program."""
    layers, random = tf.keras.layers, np.random.RandomState(0)
    model = _keras(
        tf,
        layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 1)),
        layers.MaxPooling2D(),
        layers.BatchNormalization(),
        layers.Flatten(),
        layers.Dropout(0.3),
        layers.Dense(6, activation="relu"),
        layers.Dense(3, activation="softmax"),
    )
    model.compile(tf.train.AdamOptimizer(0.01), "sparse_categorical_crossentropy")
    x, y = random.randn(64, 8, 8, 1).astype("f"), random.randint(0, 3, 64)
    return model.fit(x, y, epochs=2, batch_size=16, verbose=0, shuffle=False).history["loss"]


#: Whole programs, which give numbers.
def _recurrent(tf, directory):
    """A Keras model whose layers compute all gates at once, and drop out states."""
    layers, random = tf.keras.layers, np.random.RandomState(0)
    dropped = {"implementation": 2, "recurrent_dropout": 0.4, "return_sequences": True}
    model = _keras(
        tf,
        layers.LSTM(4, input_shape=(5, 3), dropout=0.3, **dropped),
        layers.GRU(4, **dropped),
        layers.GRU(4, dropout=0.3, reset_after=True, **dropped),
        layers.RNN(layers.GRUCell(4, implementation=2, recurrent_dropout=0.4), unroll=True),
        layers.Dense(3, activation="softmax"),
    )
    model.compile(tf.train.AdamOptimizer(0.05), "sparse_categorical_crossentropy")
    assert model.layers[0].get_config()["implementation"] == 2
    x, y = random.randn(64, 5, 3).astype("f"), random.randint(0, 3, 64)
    losses = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0).history["loss"]
    return [*losses, model.evaluate(x, y, verbose=0)]


def _experimental(tf, directory):
    """A Keras model of a cell and a learning rate that were experimental."""
    layers, random, found = tf.keras.layers, np.random.RandomState(0), tf.keras.experimental
    cells = [
        found.PeepholeLSTMCell(4, implementation=1, dropout=0.3),
        found.PeepholeLSTMCell(3, implementation=2, recurrent_dropout=0.4),
    ]
    model = _keras(tf, layers.RNN(cells, input_shape=(5, 3)), layers.Dense(3, activation="softmax"))
    rate = found.LinearCosineDecay(0.5, 10, num_periods=0.7, alpha=0.1)
    model.compile(tf.keras.optimizers.SGD(rate), "sparse_categorical_crossentropy")
    x, y = random.randn(64, 5, 3).astype("f"), random.randint(0, 3, 64)
    losses = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0).history["loss"]
    rates = tf.keras.backend.get_session().run([rate(step) for step in (0, 3, 12)])
    # All but the last: the biases of a softmax add up to zero.
    return [*losses, *rates, *[weights.sum() for weights in model.get_weights()[:-1]]]


PROGRAMS = {
    "estimator": _estimator,
    "experimental": _experimental,
    "keras": _keras_model,
    "recurrent": _recurrent,
    "session": _session,
}
