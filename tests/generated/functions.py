"""Functions of tf.nn, tf.math and the backend of Keras that other programs do not draw.

A table has a row for each: name -> function of a tensor whose first axis is the batch. A function looks at one
example at a time, so that cores compute what one replica does, and gives numbers of an ordinary size. What a
TPU refuses is in no row. ``tests/unit/test_generated_names.py`` fails if a public name is in no table.
"""

from __future__ import annotations

import numpy as np

import tpucompat.v1 as tf

K = tf.keras.backend


def size(x):
    return x.shape.as_list()[-1]


def within(x):
    """Numbers between -0.8 and 0.8."""
    return 0.8 * tf.tanh(x)


def above(x):
    """Numbers above 0.5."""
    return 0.5 + tf.square(x) / (1.0 + tf.square(x))


def nothing(x, of):
    """A number that changes nothing, of an operation that has no gradient or looks at the whole batch."""
    return x * (1.0 + 0.0 * tf.cast(of, tf.float32))


def straight(x, function):
    """A function without a gradient, with the gradient of what it is given."""
    return x + tf.stop_gradient(function(x) - x)


def first(x):
    """The last axis comes first, for operations over the first one."""
    return tf.transpose(x, [x.shape.ndims - 1, *range(x.shape.ndims - 1)])


def last(x):
    return tf.transpose(x, [*range(1, x.shape.ndims), 0])


def segments(function, *more):
    """A reduction of the two segments of the last axis, whose number some functions do not tell."""

    def apply(x):
        ids = np.sort(np.arange(size(x)) % 2)
        found = last(function(first(x), ids, *more))
        found.set_shape([*x.shape.as_list()[:-1], ids[-1] + 1 if not more else more[0]])
        return found

    return apply


def moments(x):
    """Sums of the last axis, and their number."""
    count, total, squares, _ = tf.nn.sufficient_statistics(x, [x.shape.ndims - 1], keep_dims=True)
    return tf.nn.normalize_moments(count, total, squares, None)


def ones(*shape):
    return tf.fill(shape, 0.2)


ANY = {
    # tf.math
    "accumulate_n": lambda x: tf.accumulate_n([x, tf.sin(x)]),
    "acos": lambda x: tf.acos(within(x)),
    "acosh": lambda x: tf.acosh(1.0 + above(x)),
    "angle": lambda x: x + tf.math.angle(tf.complex(above(x), x)),
    "asin": lambda x: tf.asin(within(x)),
    "atan": lambda x: tf.atan(x),
    "atanh": lambda x: tf.atanh(within(x)),
    "bessel_i0": lambda x: tf.math.bessel_i0(within(x)),
    "bessel_i0e": lambda x: tf.math.bessel_i0e(x),
    "bessel_i1": lambda x: tf.math.bessel_i1(within(x)),
    "bessel_i1e": lambda x: tf.math.bessel_i1e(x),
    "betainc": lambda x: tf.math.betainc(tf.ones_like(x), 2.0 * tf.ones_like(x), above(x) - 0.4),
    "bincount": lambda x: nothing(x, tf.math.bincount([0, 1, 1], minlength=2, maxlength=2)[1]),
    "ceil": lambda x: straight(x, lambda y: tf.ceil(4.0 * y + 0.01) / 4.0),
    "confusion_matrix": lambda x: nothing(
        x, tf.math.confusion_matrix([0, 1], [1, 1], num_classes=2)[0, 0]
    ),
    "conj": lambda x: tf.math.real(tf.math.conj(tf.complex(x, x)) * tf.complex(x, 1.0 + x)),
    "count_nonzero": lambda x: nothing(x, tf.math.count_nonzero(x)),
    "cumulative_logsumexp": lambda x: x - tf.math.cumulative_logsumexp(x, axis=-1),
    "divide": lambda x: tf.math.divide(x, above(x)),
    "divide_no_nan": lambda x: tf.math.divide_no_nan(x, above(x) * tf.ones_like(x)),
    "erfc": lambda x: tf.erfc(x),
    "floor": lambda x: straight(x, lambda y: tf.floor(4.0 * y + 0.01) / 4.0),
    "floordiv": lambda x: straight(x, lambda y: tf.floordiv(y + 0.01, 0.25) * 0.25),
    "igamma": lambda x: tf.math.igamma(2.0 * tf.ones_like(x), above(x)),
    "igammac": lambda x: tf.math.igammac(2.0 * tf.ones_like(x), above(x)),
    "imag": lambda x: tf.math.imag(tf.exp(tf.complex(within(x), x))),
    "invert_permutation": lambda x: tf.gather(
        x, tf.math.invert_permutation(np.arange(size(x))[::-1].astype("int32")), axis=-1
    ),
    "is_finite": lambda x: tf.where(tf.is_finite(x), x, tf.zeros_like(x)),
    "is_inf": lambda x: tf.where(tf.is_inf(x), tf.zeros_like(x), x),
    "is_nan": lambda x: tf.where(tf.is_nan(x), tf.zeros_like(x), x),
    "is_non_decreasing": lambda x: nothing(x, tf.is_non_decreasing(x)),
    "is_strictly_increasing": lambda x: nothing(x, tf.is_strictly_increasing(x)),
    "lbeta": lambda x: x * tf.expand_dims(tf.exp(tf.lbeta(above(x))), -1),
    "log_sigmoid": lambda x: tf.log_sigmoid(x),
    "logical_not": lambda x: tf.where(tf.logical_not(x > 0.3), x, 0.5 * x),
    "logical_or": lambda x: tf.where(tf.logical_or(x > 0.7, x < 0.1), x, 0.5 * x),
    "logical_xor": lambda x: tf.where(tf.math.logical_xor(x > 0.2, x < 0.6), x, 0.5 * x),
    "multiply_no_nan": lambda x: tf.math.multiply_no_nan(x, above(x)),
    "negative": lambda x: tf.negative(x),
    "nextafter": lambda x: straight(x, lambda y: tf.math.nextafter(y, y + 1.0)),
    "polygamma": lambda x: tf.polygamma(tf.ones_like(x), above(x)),
    "reciprocal": lambda x: tf.reciprocal(above(x)),
    "reciprocal_no_nan": lambda x: tf.math.reciprocal_no_nan(above(x)),
    "reduce_all": lambda x: x * (0.5 + tf.cast(tf.reduce_all(x > 0.2, -1, True), tf.float32)),
    "reduce_any": lambda x: x * (0.5 + tf.cast(tf.reduce_any(x > 0.5, -1, True), tf.float32)),
    "reduce_euclidean_norm": lambda x: (
        x / (0.5 + tf.math.reduce_euclidean_norm(x + 2.0, -1, keepdims=True))
    ),
    "reduce_logsumexp": lambda x: x - tf.reduce_logsumexp(x, -1, keepdims=True),
    "reduce_min": lambda x: x - tf.reduce_min(x, -1, keepdims=True),
    "reduce_prod": lambda x: x + tf.reduce_prod(within(x) + 0.1, -1, keepdims=True),
    "reduce_std": lambda x: x / (0.5 + tf.math.reduce_std(first_other(x), -1, keepdims=True)),
    "reduce_variance": lambda x: x - tf.math.reduce_variance(x, -1, keepdims=True),
    "rint": lambda x: straight(x, lambda y: tf.rint(4.0 * y + 0.01) / 4.0),
    "rsqrt": lambda x: tf.rsqrt(above(x)),
    "scalar_mul": lambda x: tf.scalar_mul(0.7, x),
    "segment_max": segments(tf.math.segment_max),
    "segment_mean": segments(tf.math.segment_mean),
    "segment_min": segments(tf.math.segment_min),
    "segment_prod": segments(tf.math.segment_prod),
    "sinh": lambda x: tf.sinh(within(x)),
    "tan": lambda x: tf.tan(within(x)),
    "truediv": lambda x: tf.truediv(x, above(x)),
    "unsorted_segment_max": segments(tf.math.unsorted_segment_max, 2),
    "unsorted_segment_mean": segments(tf.math.unsorted_segment_mean, 2),
    "unsorted_segment_min": segments(tf.math.unsorted_segment_min, 2),
    "unsorted_segment_prod": segments(tf.math.unsorted_segment_prod, 2),
    "unsorted_segment_sqrt_n": segments(tf.math.unsorted_segment_sqrt_n, 2),
    "xdivy": lambda x: tf.math.xdivy(x, above(x)),
    "xlogy": lambda x: tf.math.xlogy(x, above(x)),
    "zeta": lambda x: tf.math.zeta(2.5 * tf.ones_like(x), 1.0 + above(x)),
    # tf.nn
    "normalize_moments": lambda x: x - moments(x)[0],
    "sufficient_statistics": lambda x: x / (0.5 + moments(x)[1]),
    "weighted_moments": lambda x: (
        x - tf.nn.weighted_moments(x, [-1], tf.fill([size(x)], 0.5), keep_dims=True)[0]
    ),
    "compute_average_loss": lambda x: nothing(
        x, tf.nn.compute_average_loss(tf.zeros([4]), global_batch_size=4)
    ),
    "scale_regularization_loss": lambda x: nothing(x, tf.nn.scale_regularization_loss([0.0])),
    # The backend
    "cast_to_floatx": lambda x: x + K.cast_to_floatx(np.array(0.25, "float64")),
    "count_params": lambda x: nothing(x, K.count_params(K.variable(np.zeros((2, 3))))),
    "image_data_format": lambda x: -x if K.image_data_format() == "channels_last" else x,
    "is_sparse": lambda x: 0.0 * x if K.is_sparse(x) else 0.5 * x,
    "learning_phase": lambda x: nothing(x, K.learning_phase()),
    "min": lambda x: x - K.min(x, axis=-1, keepdims=True),
    "name_scope": lambda x: scoped(x),
}


def first_other(x):
    """Numbers whose deviation is not zero, where it has no gradient."""
    return tf.concat([x, x + 1.0], -1)


def scoped(x):
    with K.name_scope("a_scope"):
        return K.tanh(x) + 0.1 * x


OF_KIND = {
    "vector": {
        "relu_layer": lambda x: tf.nn.relu_layer(x, ones(size(x), 3), ones(3)),
        "embedding_lookup": lambda x: x + tf.nn.embedding_lookup(ones(4, size(x)), [0])[0],
    },
    "sequence": {
        "avg_pool1d": lambda x: tf.nn.avg_pool1d(x, 2, 1, "SAME"),
        "max_pool1d": lambda x: tf.nn.max_pool1d(x, 2, 1, "SAME"),
        "pool": lambda x: tf.nn.pool(x, [2], "AVG", "SAME"),
        "convolution": lambda x: tf.nn.convolution(x, ones(2, size(x), 3), "SAME"),
        "local_conv1d": lambda x: K.local_conv1d(
            x, ones(x.shape.as_list()[1] - 1, 2 * size(x), 2), (2,), (1,)
        ),
    },
    "image": {
        "avg_pool_v2": lambda x: tf.nn.avg_pool_v2(x, 2, 1, "SAME"),
        "max_pool_v2": lambda x: tf.nn.max_pool_v2(x, 2, 1, "SAME"),
        "pool": lambda x: tf.nn.pool(x, [2, 2], "MAX", "SAME"),
        "convolution": lambda x: tf.nn.convolution(
            x, ones(2, 2, size(x), 2), "SAME", dilation_rate=[2, 2]
        ),
        "depthwise_conv2d_native": lambda x: tf.nn.depthwise_conv2d_native(
            x, ones(2, 2, size(x), 1), [1, 1, 1, 1], "SAME"
        ),
        "atrous_conv2d_transpose": lambda x: tf.nn.atrous_conv2d_transpose(
            x, ones(2, 2, 2, size(x)), [tf.shape(x)[0], *x.shape.as_list()[1:3], 2], 2, "SAME"
        ),
        "conv2d_backprop_input": lambda x: tf.nn.conv2d_backprop_input(
            tf.shape(x), ones(2, 2, size(x), size(x)), x, [1, 1, 1, 1], "SAME"
        ),
        "batch_norm_with_global_normalization": lambda x: (
            tf.nn.batch_norm_with_global_normalization(
                x, *(ones(size(x)) for _ in range(4)), 0.1, True
            )
        ),
        "fused_batch_norm": lambda x: tf.nn.fused_batch_norm(
            x, *(ones(size(x)) for _ in range(4)), epsilon=0.1, is_training=False
        )[0],
        "space_to_batch": lambda x: tf.batch_to_space(
            tf.space_to_batch(x[:, :4, :4], [[0, 0], [0, 0]], 2), [[0, 0], [0, 0]], 2
        ),
        "with_space_to_batch": lambda x: tf.nn.with_space_to_batch(
            x,
            [2, 2],
            "SAME",
            lambda y, size, padding: tf.nn.avg_pool(y, [1, 2, 2, 1], [1, 1, 1, 1], padding),
            filter_shape=[2, 2],
        ),
        "local_conv2d": lambda x: K.local_conv2d(
            x,
            ones(int(np.prod([n - 1 for n in x.shape.as_list()[1:3]])), 4 * size(x), 2),
            (2, 2),
            (1, 1),
            tuple(n - 1 for n in x.shape.as_list()[1:3]),
        ),
    },
    "video": {
        "avg_pool3d": lambda x: tf.nn.avg_pool3d(
            x, [1, 2, 2, 2, 1], strides=[1] * 5, padding="SAME"
        ),
        "max_pool3d": lambda x: tf.nn.max_pool3d(
            x, [1, 2, 2, 2, 1], strides=[1] * 5, padding="SAME"
        ),
        "pool3d": lambda x: K.pool3d(x, (2, 2, 2), padding="same", pool_mode="avg"),
        "resize_volumes": lambda x: K.resize_volumes(x, 1, 2, 1, "channels_last"),
        "spatial_3d_padding": lambda x: K.spatial_3d_padding(x, ((0, 1), (0, 0), (1, 0))),
        "conv3d": lambda x: tf.nn.conv3d(x, ones(2, 2, 2, size(x), 2), [1] * 5, "SAME"),
    },
}


def rows_of(kind):
    """Name -> function, for a tensor of a kind."""
    return {**ANY, **OF_KIND.get(kind, {})}
