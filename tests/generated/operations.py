"""Operations of tf, tf.linalg, tf.image, tf.signal and tf.contrib that other programs do not draw.

Rows as in ``functions.py``: name -> function of a tensor whose first axis is the batch. Some are nothing for a
TPU, which then refuses them by a code; emulated cores compute them all.
"""

from __future__ import annotations

import numpy as np
from functions import above, nothing, ones, size, straight, within

import tpucompat.v1 as tf

linalg, image, signal = tf.linalg, tf.image, tf.signal


def matrix(x):
    """A matrix of each vector, whose eigenvalues are different and above 1."""
    outer = 0.1 * within(x)[..., :, None] * within(x)[..., None, :]
    return outer + tf.diag(tf.constant(np.arange(1.0, size(x) + 1.0), tf.float32))


def column(x):
    return x[..., None]


def operator(make):
    """A linear operator, applied to the vector and solved for it."""

    def apply(x):
        made = make(x)
        return within(made.matvec(x)) + 0.1 * made.solvevec(x)

    return apply


def whole(function):
    """A function of numbers from 0 to 15."""

    def apply(x):
        return nothing(x, function(tf.cast(tf.abs(within(x)) * 15.0, tf.int32)))

    return apply


def flat(x):
    """Every vector of the tensor in a row of one matrix."""
    return tf.reshape(x, [-1, size(x)])


def like(x, of):
    return tf.reshape(of, tf.shape(x))


def scattered(function):
    """An update of some columns."""

    def apply(x):
        turned = tf.transpose(flat(x))
        made = function(turned, [[0]], tf.stop_gradient(0.5 * turned[1:2]))
        return like(x, tf.transpose(made))

    return apply


def spectrum(forward, backward):
    return lambda x: tf.math.real(
        backward(forward(tf.complex(x, 0.0 * x)) * tf.complex(ones(size(x)), 0.0))
    )


def checked(assertion, *given):
    def apply(x):
        with tf.control_dependencies([assertion(x, *given)]):
            return tf.identity(x)

    return apply


def sparse(x):
    """The first two columns, or the only one, as a sparse matrix."""
    every = flat(x)
    count, columns = every.shape.as_list()[0] or 1, min(size(x), 2)
    indices = np.array([[row, col] for row in range(count) for col in range(columns)], "int64")
    return tf.SparseTensor(indices, tf.reshape(every[:count, :2], [-1]), [count, size(x)])


def by_columns(function):
    """A function of a sparse matrix that gives a number or more for each of its rows."""
    return lambda x: x + 0.1 * like(x[..., :1], function(sparse(x)))


def of_images(function):
    """A function of pictures of three colours between 0 and 1."""

    def apply(x):
        return x[..., :1] * 0.1 + function(
            tf.sigmoid(tf.concat([x[..., :1]] * 3, -1) * [1.0, 0.5, -0.7])
        )

    return apply


def partitioned(x):
    """Columns in two parts, and together again."""
    which = np.arange(size(x)) % 2
    turned = tf.transpose(flat(x))
    parts = tf.dynamic_partition(turned, which, 2)
    where = tf.dynamic_partition(tf.range(size(x)), which, 2)
    return like(x, tf.transpose(tf.dynamic_stitch(where, [parts[0] * 0.5, parts[1]])))


def masked(x):
    kept = tf.boolean_mask(x, np.arange(size(x)) % 2 == 0, axis=x.shape.ndims - 1)
    return tf.reshape(kept, [*x.shape.as_list()[:-1], (size(x) + 1) // 2])


def hessian(x):
    at = ones(3)
    return x * (1.0 + 0.1 * tf.reduce_sum(tf.hessians(tf.reduce_sum(tf.sin(at)), at)[0]))


ANY = {
    # matrices
    "cholesky": lambda x: linalg.diag_part(tf.cholesky(matrix(x))),
    "cholesky_solve": lambda x: tf.cholesky_solve(tf.cholesky(matrix(x)), column(x))[..., 0],
    "matrix_determinant": lambda x: x * column(tf.log(tf.matrix_determinant(matrix(x)))),
    "logdet": lambda x: x * column(linalg.logdet(matrix(x))),
    "slogdet": lambda x: x * column(linalg.slogdet(matrix(x))[1]),
    "matrix_solve": lambda x: tf.matrix_solve(matrix(x), column(x))[..., 0],
    "matrix_triangular_solve": lambda x: tf.matrix_triangular_solve(
        tf.cholesky(matrix(x)), column(x)
    )[..., 0],
    "matrix_solve_ls": lambda x: tf.matrix_solve_ls(matrix(x), column(x), 0.1)[..., 0],
    "lstsq": lambda x: linalg.lstsq(matrix(x), column(x), 0.2)[..., 0],
    "qr": lambda x: tf.abs(linalg.diag_part(tf.qr(matrix(x))[1])),
    "svd": lambda x: tf.svd(matrix(x), compute_uv=False),
    "self_adjoint_eig": lambda x: tf.square(tf.self_adjoint_eig(matrix(x))[1][..., 0]),
    "self_adjoint_eigvals": lambda x: tf.self_adjoint_eigvals(matrix(x)),
    "eigh": lambda x: linalg.eigh(matrix(x))[0] + linalg.eigvalsh(matrix(x)),
    "matrix_square_root": lambda x: linalg.diag_part(tf.matrix_square_root(matrix(x))),
    "expm": lambda x: linalg.diag_part(linalg.expm(0.1 * matrix(x))),
    "logm": lambda x: straight(
        x, lambda y: tf.math.real(linalg.diag_part(linalg.logm(tf.cast(matrix(y), tf.complex64))))
    ),
    "lu": lambda x: straight(x, lambda y: linalg.diag_part(linalg.lu(matrix(y))[0])),
    "pinv": lambda x: linalg.matvec(linalg.pinv(matrix(x)), x),
    "matrix_rank": lambda x: nothing(x, linalg.matrix_rank(matrix(x))[..., None]),
    "matvec": lambda x: linalg.matvec(matrix(x), x, transpose_a=True),
    "matrix_diag": lambda x: tf.matrix_diag_part(tf.matrix_transpose(tf.matrix_diag(x) * 0.5)),
    "matrix_set_diag": lambda x: linalg.matvec(tf.matrix_set_diag(matrix(x), x), x),
    "trace": lambda x: x / column(tf.trace(matrix(x))),
    "adjoint": lambda x: linalg.matvec(linalg.adjoint(matrix(x)), x),
    "diag": lambda x: tf.tensordot(x, tf.diag(tf.diag_part(tf.eye(size(x)))), 1),
    "tridiagonal_solve": lambda x: linalg.tridiagonal_solve(
        tf.stack([0.1 * x, 2.0 + above(x), 0.1 * x], -2), x
    ),
    "tridiagonal_matmul": lambda x: linalg.tridiagonal_matmul(
        tf.stack([x, above(x), x], -2), column(x)
    )[..., 0],
    "LinearOperatorDiag": operator(lambda x: linalg.LinearOperatorDiag(above(x))),
    "LinearOperatorLowerTriangular": operator(
        lambda x: linalg.LinearOperatorLowerTriangular(tf.cholesky(matrix(x)))
    ),
    "LinearOperatorFullMatrix": operator(lambda x: linalg.LinearOperatorFullMatrix(matrix(x))),
    "LinearOperatorLowRankUpdate": operator(
        lambda x: linalg.LinearOperatorLowRankUpdate(
            linalg.LinearOperatorDiag(above(x), is_positive_definite=True), 0.1 * column(x)
        )
    ),
    "LinearOperatorScaledIdentity": operator(
        lambda x: linalg.LinearOperatorScaledIdentity(size(x), 2.0)
    ),
    "LinearOperatorComposition": operator(
        lambda x: linalg.LinearOperatorComposition(
            [linalg.LinearOperatorDiag(above(x)), linalg.LinearOperatorFullMatrix(matrix(x))]
        )
    ),
    "LinearOperatorHouseholder": operator(
        lambda x: linalg.LinearOperatorHouseholder(tf.nn.l2_normalize(above(x), -1))
    ),
    # Fourier
    "fft": spectrum(tf.fft, tf.ifft),
    "rfft": lambda x: signal.irfft(signal.rfft(x) * 0.5, [size(x)]),
    "dct": lambda x: signal.idct(0.5 * signal.dct(x, norm="ortho"), norm="ortho"),
    "fftshift": lambda x: signal.fftshift(x, -1) + signal.ifftshift(x, -1),
    "frame": lambda x: signal.overlap_and_add(signal.frame(x, 2, 1), 1),
    "hann_window": lambda x: x * (signal.hann_window(size(x)) + signal.hamming_window(size(x))),
    "stft": lambda x: tf.reduce_sum(tf.abs(signal.stft(x + 1.0, 2, 1)), -2),
    # Whole numbers
    "bitwise_and": whole(lambda n: tf.bitwise.bitwise_and(n, 5)),
    "bitwise_or": whole(lambda n: tf.bitwise.bitwise_or(n, tf.bitwise.bitwise_xor(n, 3))),
    "invert": whole(tf.bitwise.invert),
    "left_shift": whole(lambda n: tf.bitwise.left_shift(tf.bitwise.right_shift(n, 1), 2)),
    "truncatediv": whole(
        lambda n: tf.truncatediv(n, 3) + tf.truncatemod(n, 3) + tf.floor_div(n, 2)
    ),
    "bitcast": whole(lambda n: tf.bitcast(n, tf.float32)),
    "saturate_cast": whole(lambda n: tf.saturate_cast(n * 40, tf.uint8)),
    "count": whole(lambda n: tf.rank(n) + tf.size(n) + tf.shape_n([n])[0][0]),
    "histogram": lambda x: nothing(x, tf.histogram_fixed_width(x, [0.0, 1.0], 4)[0]),
    "unravel_index": lambda x: nothing(x, tf.unravel_index([3], [2, 2])[0]),
    "setdiff1d": lambda x: nothing(x, tf.reduce_sum(tf.setdiff1d([1, 2, 3], [2])[0])),
    "unique": lambda x: nothing(x, tf.reduce_sum(tf.unique(tf.cast(flat(x)[:, 0], tf.int32))[0])),
    "unique_with_counts": lambda x: nothing(x, tf.unique_with_counts([1, 1, 2])[2][0]),
    "sets": lambda x: nothing(x, tf.reduce_sum(tf.sets.intersection([[1, 2]], [[2, 3]]).values)),
    # Shapes and indices
    "broadcast_to": lambda x: x + tf.broadcast_to(tf.fill([size(x)], 0.1), tf.shape(x)),
    "broadcast_static_shape": lambda x: (
        x + tf.ones(tf.broadcast_static_shape(tf.TensorShape([size(x)]), tf.TensorShape([1])))
    ),
    "ensure_shape": lambda x: tf.ensure_shape(x, [None, *x.shape.as_list()[1:]]),
    "boolean_mask": masked,
    "batch_gather": lambda x: tf.batch_gather(x, tf.zeros_like(x, tf.int32) + 1),
    "gather_nd": lambda x: like(
        x, tf.transpose(tf.gather_nd(tf.transpose(flat(x)), [[i] for i in range(size(x))]))
    ),
    "tensor_scatter_update": scattered(lambda *g: tf.tensor_scatter_update(*g)),
    "tensor_scatter_add": scattered(lambda *g: tf.tensor_scatter_add(*g)),
    "tensor_scatter_sub": scattered(lambda *g: tf.tensor_scatter_sub(*g)),
    "tensor_scatter_nd_update": scattered(lambda *g: tf.tensor_scatter_nd_update(*g)),
    "tensor_scatter_nd_add": scattered(lambda *g: tf.tensor_scatter_nd_add(*g)),
    "tensor_scatter_nd_sub": scattered(lambda *g: tf.tensor_scatter_nd_sub(*g)),
    "dynamic_partition": partitioned,
    "meshgrid": lambda x: x * tf.meshgrid(np.ones(size(x), "float32"), [0.5])[0],
    "strided_slice": lambda x: tf.strided_slice(
        x, [0] * x.shape.ndims, tf.shape(x), [1] * x.shape.ndims
    ),
    "reverse_v2": lambda x: tf.reverse_v2(x, [-1]),
    "parallel_stack": lambda x: straight(
        x, lambda y: tf.reduce_sum(tf.parallel_stack([y, 0.5 * y]), 0)
    ),
    "lin_space": lambda x: x * tf.lin_space(0.5, 1.0, size(x)),
    "repeat": lambda x: tf.repeat(x, 2, axis=-1),
    "searched by row": lambda x: nothing(
        x,
        tf.searchsorted(tf.cumsum(above(flat(x)), -1), ones(1, 1) + tf.zeros_like(flat(x)[:, :1]))[
            0, 0
        ],
    ),
    "argsort": lambda x: nothing(x, tf.argsort(x)),
    "where_v2": lambda x: tf.where_v2(x > 0.2, x, 0.1),
    "where": lambda x: nothing(x, tf.reduce_sum(tf.where(flat(x) > 0.3))),
    "to_float": lambda x: tf.to_float(tf.to_double(x)) + tf.to_float(tf.to_int32(x * 0.0)),
    "to_bfloat16": lambda x: straight(
        x, lambda y: tf.to_float(tf.to_bfloat16(tf.round(y * 8.0) / 8.0))
    ),
    "clip_by_average_norm": lambda x: tf.map_fn(lambda one: tf.clip_by_average_norm(one, 0.1), x),
    "clip_by_norm": lambda x: tf.clip_by_norm(x, 0.7, [x.shape.ndims - 1]),
    "quantized": lambda x: tf.fake_quant_with_min_max_args(x, -1.0, 1.0),
    "fake_quant": lambda x: tf.fake_quant_with_min_max_vars(x, -1.0, 1.0),
    "fake_quant per channel": lambda x: tf.fake_quant_with_min_max_vars_per_channel(
        x, tf.fill([size(x)], -1.0), tf.fill([size(x)], 1.0)
    ),
    "quantize_and_dequantize": lambda x: tf.quantization.quantize_and_dequantize(
        x, -1.0, 1.0, range_given=True
    ),
    # Gradients, loops, checks
    "hessians": hessian,
    "grad_pass_through": lambda x: tf.grad_pass_through(lambda y: tf.round(4.0 * y + 0.01) / 4.0)(
        x
    ),
    "guarantee_const": lambda x: x * tf.guarantee_const(tf.constant(0.5)),
    "vectorized_map": lambda x: tf.vectorized_map(
        lambda one: tf.tanh(one) + tf.reduce_mean(one), x
    ),
    "map_fn of two": lambda x: tf.map_fn(
        lambda pair: pair[0] * tf.sin(pair[1]), (x, 0.5 * x), dtype=tf.float32
    ),
    "foldr": lambda x: x + 0.1 * tf.foldr(lambda a, y: tf.tanh(a + y), tf.transpose(flat(x)))[0],
    "scan back": lambda x: like(
        x, tf.transpose(tf.scan(lambda a, y: 0.5 * a + y, tf.transpose(flat(x)), reverse=True))
    ),
    "Gradient of a switch": lambda x: tf.cond(
        tf.train.get_or_create_global_step() > 1,
        lambda: tf.gradients(tf.reduce_sum(tf.sin(x)), x)[0],
        lambda: tf.cos(x),
        strict=True,
    ),
    "numpy_function": lambda x: nothing(
        x, tf.ensure_shape(tf.numpy_function(lambda y: y, [0.0 * x], tf.float32), x.shape)
    ),
    "Print": lambda x: tf.Print(x, [tf.shape(x)], first_n=0, summarize=0),
    "assert_less": checked(tf.assert_less, 1e9),
    "assert_greater": checked(tf.assert_greater, -1e9),
    "assert_near": lambda x: checked(tf.assert_near, x)(x),
    "assert_rank": lambda x: checked(tf.assert_rank, x.shape.ndims)(x),
    "assert_rank_at_least": checked(tf.assert_rank_at_least, 1),
    "assert_non_negative": lambda x: nothing(x, checked(tf.assert_non_negative)(tf.abs(x))),
    "verify_tensor_all_finite": lambda x: tf.verify_tensor_all_finite(x, "not finite"),
    # Sparse tensors of constant indices
    "sparse_tensor_dense_matmul": by_columns(
        lambda s: tf.reduce_sum(tf.sparse_tensor_dense_matmul(s, ones(int(s.shape[1]), 2)), 1)
    ),
    "sparse_tensor_to_dense": by_columns(lambda s: tf.reduce_sum(tf.sparse_tensor_to_dense(s), 1)),
    "sparse_reduce_sum": by_columns(lambda s: tf.sparse_reduce_sum(s, 1)),
    "sparse_softmax": by_columns(
        lambda s: tf.reduce_max(tf.sparse_tensor_to_dense(tf.sparse_softmax(s)), 1)
    ),
    "sparse_add": by_columns(lambda s: tf.reduce_sum(tf.sparse_add(s, tf.ones(s.shape)), 1)),
    "sparse_transpose": by_columns(
        lambda s: tf.reduce_sum(tf.sparse_tensor_to_dense(tf.sparse_transpose(s)), 0)
    ),
    "sparse_segment_sum": lambda x: (
        x + 0.1 * tf.sparse_segment_sum(tf.fill([3, size(x)], 0.2), [0, 1], [0, 0])[0]
    ),
    "sparse_to_dense": lambda x: x + tf.sparse_to_dense([size(x) - 1], [size(x)], 0.5),
    # Distributions
    "Normal": lambda x: 0.1 * tf.distributions.Normal(x, above(x)).log_prob(0.5 * x + 0.1),
    "Laplace": lambda x: 0.1 * tf.distributions.Laplace(x, 1.0).cdf(0.3) + x,
    "Gamma": lambda x: 0.1 * tf.distributions.Gamma(2.0, above(x)).log_prob(above(x)),
    "Bernoulli": lambda x: tf.distributions.Bernoulli(logits=x).entropy(),
    "Categorical": lambda x: x + column(tf.distributions.Categorical(logits=x).entropy()),
    "Beta": lambda x: tf.distributions.Beta(above(x), 2.0).mean(),
    "kl_divergence": lambda x: (
        x
        + tf.distributions.kl_divergence(
            tf.distributions.Normal(x, 1.0), tf.distributions.Normal(0.0, above(x))
        )
    ),
}


def boxes(x):
    """Two parts of every picture."""
    count = x.shape.as_list()[0] or 1
    given = np.tile(np.array([[0.1, 0.1, 0.8, 0.9]], "float32"), (count, 1))
    return tf.image.crop_and_resize(x, given, np.arange(count), [4, 4])


def suppressed(x):
    given = np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [0.5, 0.5, 2, 2]], "float32")
    chosen, _ = image.non_max_suppression_padded(
        given, [0.9, 0.8, 0.7], 3, pad_to_max_output_size=True
    )
    return nothing(x, tf.reduce_sum(chosen))


OF_KIND = {
    "image": {
        "adjust_brightness": lambda x: image.adjust_brightness(x, 0.2),
        "adjust_contrast": lambda x: straight(x, lambda y: image.adjust_contrast(y, 0.5)),
        "adjust_gamma": lambda x: image.adjust_gamma(above(x), 1.5),
        "adjust_hue": of_images(lambda y: straight(y, lambda z: image.adjust_hue(z, 0.1))),
        "adjust_saturation": of_images(
            lambda y: straight(y, lambda z: image.adjust_saturation(z, 0.5))
        ),
        "rgb_to_hsv": of_images(
            lambda y: straight(y, lambda z: image.hsv_to_rgb(image.rgb_to_hsv(z)))
        ),
        "rgb_to_yuv": of_images(lambda y: image.yuv_to_rgb(image.rgb_to_yuv(y) * 0.5)),
        "rgb_to_yiq": of_images(lambda y: image.yiq_to_rgb(image.rgb_to_yiq(y) * 0.5)),
        "rgb_to_grayscale": of_images(lambda y: image.grayscale_to_rgb(image.rgb_to_grayscale(y))),
        "central_crop": lambda x: image.central_crop(x, 0.6),
        "convert_image_dtype": lambda x: straight(
            x,
            lambda y: image.convert_image_dtype(
                image.convert_image_dtype(above(y) - 0.4, tf.uint8), tf.float32
            ),
        ),
        "crop_to_bounding_box": lambda x: image.crop_to_bounding_box(x, 1, 0, 2, 3),
        "pad_to_bounding_box": lambda x: image.pad_to_bounding_box(x, 1, 1, 8, 9),
        "crop_and_resize": boxes,
        "extract_glimpse": lambda x: straight(
            x,
            lambda y: image.extract_glimpse(
                y, y.shape.as_list()[1:3], tf.zeros([tf.shape(y)[0], 2])
            ),
        ),
        "extract_patches": lambda x: image.extract_patches(
            x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"
        ),
        "flip_up_down": lambda x: image.flip_up_down(x) + image.flip_left_right(0.5 * x),
        "image_gradients": lambda x: sum(image.image_gradients(x)),
        "non_max_suppression": suppressed,
        "psnr": lambda x: nothing(x, image.psnr(tf.sigmoid(x), above(x) - 0.2, 1.0)[0]),
        "ssim": lambda x: (
            x
            * image.ssim(tf.sigmoid(x), 0.5 * tf.sigmoid(x), 1.0, filter_size=3)[
                :, None, None, None
            ]
        ),
        "total_variation": lambda x: x / (1.0 + image.total_variation(x))[:, None, None, None],
        "rot90": lambda x: image.rot90(x, 1),
        "transpose_image": lambda x: image.transpose_image(x),
        "sobel_edges": lambda x: tf.reduce_sum(image.sobel_edges(x), -1),
        "resize_area": lambda x: straight(
            x, lambda y: image.resize_area(y, y.shape.as_list()[1:3])
        ),
        "resize_bicubic": lambda x: image.resize_bicubic(x, [6, 6], align_corners=True),
        "resize_nearest": lambda x: image.resize_nearest_neighbor(x, [6, 7]),
        "resize_images": lambda x: image.resize_images(x, [4, 6], preserve_aspect_ratio=True),
        "resize_image_with_pad": lambda x: image.resize_image_with_pad(x, 6, 8),
        "draw_bounding_boxes": of_images(
            lambda y: straight(
                y, lambda z: image.draw_bounding_boxes(z, tf.fill([tf.shape(z)[0], 1, 4], 0.5))
            )
        ),
        "rotate": lambda x: tf.contrib.image.rotate(x, 0.3, "BILINEAR"),
        "translate": lambda x: tf.contrib.image.translate(x, [1.0, 0.0]),
        "transform": lambda x: tf.contrib.image.transform(
            x, [1.0, 0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], "BILINEAR"
        ),
        "gdn": lambda x: tf.nn.relu(x) / (1.0 + tf.square(x)),
        "space_to_batch_nd": lambda x: tf.batch_to_space_nd(
            tf.space_to_batch_nd(x[:, :4, :4], [2, 2], [[0, 0], [0, 0]]), [2, 2], [[0, 0], [0, 0]]
        ),
        "fft2d": lambda x: tf.transpose(
            tf.math.real(
                tf.ifft2d(0.5 * tf.fft2d(tf.cast(tf.transpose(x, [0, 3, 1, 2]), tf.complex64)))
            ),
            [0, 2, 3, 1],
        ),
        "rfft2d": lambda x: tf.transpose(
            signal.irfft2d(signal.rfft2d(tf.transpose(x, [0, 3, 1, 2])), x.shape.as_list()[1:3]),
            [0, 2, 3, 1],
        ),
        "images_to_sequence": lambda x: (
            x
            + tf.contrib.layers.sequence_to_images(
                tf.contrib.layers.images_to_sequence(0.5 * x), x.shape.as_list()[1]
            )
        ),
        "data format": lambda x: tf.transpose(
            tf.nn.bias_add(tf.transpose(x, [0, 3, 1, 2]), ones(size(x)), data_format="NCHW"),
            [0, 2, 3, 1],
        ),
    },
    "sequence": {
        "mfccs": lambda x: signal.mfccs_from_log_mel_spectrograms(x),
        "safe_cumprod": lambda x: tf.contrib.seq2seq.safe_cumprod(above(x), axis=1, exclusive=True),
        "monotonic_attention": lambda x: (
            x
            + tf.contrib.seq2seq.monotonic_attention(
                tf.sigmoid(x[:, 0]), tf.nn.softmax(x[:, 1]), "parallel"
            )[:, None]
        ),
        "hardmax": lambda x: x * (0.5 + tf.contrib.seq2seq.hardmax(x)),
        "tile_batch": lambda x: tf.contrib.seq2seq.tile_batch(x, 2)[::2],
        "gather of pairs": lambda x: tf.gather_nd(
            x, tf.zeros([tf.shape(x)[0], 2, 1], tf.int32), batch_dims=1
        ),
        "matrix_diag of steps": lambda x: tf.reduce_sum(tf.matrix_diag(x), -1),
        "tensor_dot of steps": lambda x: tf.einsum("btc,bsc->bts", x, x)[..., :2],
        "bidirectional sum": lambda x: tf.cumsum(x, 1) + tf.cumsum(x, 1, reverse=True),
    },
}


def rows_of(kind):
    """Name -> function, for a tensor of a kind."""
    return {**ANY, **OF_KIND.get(kind, {})}
