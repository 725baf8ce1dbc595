"""Steps that a TPU compiles, and steps that it does not; tests/behaviour/test_checked_steps.py traces them all.

A step takes one core's batch, floats of shape [8, 16]. A line that a TPU refuses ends in ``# stops``.
"""

import tensorflow as tf2

tf = tf2.compat.v1


def dense(x, units=4, name="dense"):
    kernel = tf.get_variable(name, [x.shape[-1], units], use_resource=True)
    return tf.matmul(x, kernel)


def trained(loss, optimizer=None):
    optimizer = tf.tpu.CrossShardOptimizer(optimizer or tf.train.AdamOptimizer(1e-3))
    with tf.control_dependencies([optimizer.minimize(loss)]):
        return tf.identity(loss)


# Refused: (step, code, the operation's type or "") ------------------------------------------------


def python_on_arrays(x):
    return tf.py_func(lambda value: value, [x], tf.float32)  # stops


def python_on_tensors(x):
    return tf.py_function(lambda value: value, [x], tf.float32)  # stops


def text(x):
    return tf.strings.length(tf.as_string(x))  # stops


def decoded(x):
    return tf.io.decode_raw(tf.as_string(x[0, 0]), tf.uint8)  # stops


def file(x):
    return x + tf.cast(tf.strings.length(tf.read_file("a file")), tf.float32)  # stops


def summary(x):
    return tf.summary.scalar("mean", tf.reduce_mean(x))  # stops


def printed(x):
    return tf.Print(x, [x])  # stops


def printed_anew(x):
    with tf.control_dependencies([tf2.print("batch", x)]):  # stops
        return tf.identity(x)


def table(x):
    lookup = tf2.lookup.experimental.DenseHashTable(tf.int64, tf.int64, 0, -1, -2)
    return lookup.lookup(tf.cast(x, tf.int64))  # stops


def queue(x):
    held = tf.queue.FIFOQueue(1, [tf.float32], [[]])
    return x + held.dequeue()  # stops


def sparse(x):
    some = tf.SparseTensor([[0, 0]], [1.0], [16, 16])
    return tf.sparse.sparse_dense_matmul(some, tf.transpose(x))  # stops


def edit_distance(x):
    some = tf.SparseTensor([[0, 0]], tf.cast(x[0, :1], tf.int64), [1, 1])
    return tf.edit_distance(some, some)  # stops


def no_kernel(x):
    return tf.raw_ops.BesselI0(x=x)  # stops


def random_without_kernel(x):
    return x + tf.random.poisson(3.0, [])  # stops


def complex_double(x):
    return tf.abs(tf.cast(x, tf.complex128) * 2)  # stops


def size_by_data(x):
    return tf.range(tf.cast(tf.reduce_sum(x), tf.int32))  # stops


def shape_by_data(x):
    return tf.reshape(x, [tf.cast(x[0, 0], tf.int32), -1])  # stops


def unbounded_loop(x):
    kernel = tf.get_variable("kernel", [16, 16], use_resource=True)
    value = tf.while_loop(  # stops
        lambda v: tf.reduce_sum(v) < 9.0, lambda v: tf.matmul(v, kernel), [x]
    )
    return tf.gradients(tf.reduce_sum(value), [kernel])[0]


def growing_loop(x):
    return tf.while_loop(  # stops
        lambda v: tf.shape(v)[0] < 64,
        lambda v: tf.concat([v, v], 0),
        [x],
        shape_invariants=[tf.TensorShape([None, 16])],
    )


def placeholder(x):
    return x + tf.placeholder(tf.float32, [])  # stops


def unknown_batch(x):
    return tf.reshape(x, [x.shape[0] * 2, -1])  # stops


def failing(x):
    raise KeyError("labels")  # stops


BROKEN = [
    (python_on_arrays, "TPU371", "PyFunc"),
    (python_on_tensors, "TPU371", "EagerPyFunc"),
    (text, "TPU383", "AsString"),
    (decoded, "TPU383", "DecodeRaw"),
    (file, "TPU383", "ReadFile"),
    (summary, "TPU384", "ScalarSummary"),
    (printed, "TPU385", "Print"),
    (printed_anew, "TPU385", "PrintV2"),
    (table, "TPU386", "LookupTableFindV2"),
    (queue, "TPU386", "QueueDequeueV2"),
    (sparse, "TPU387", "SparseTensorDenseMatMul"),
    (edit_distance, "TPU387", "EditDistance"),
    (no_kernel, "TPU381", "BesselI0"),
    (random_without_kernel, "TPU381", "RandomPoissonV2"),
    (complex_double, "TPU390", "Cast"),
    (size_by_data, "TPU392", "Range"),
    (shape_by_data, "TPU392", "Reshape"),
    (unbounded_loop, "TPU393", ""),
    (growing_loop, "TPU394", ""),
    (placeholder, "TPU396", "placeholder"),
    (unknown_batch, "TPU391", ""),
    (failing, "TPU397", "KeyError"),
]


# Accepted -----------------------------------------------------------------------------------------


def classifier(x):
    labels = tf.cast(x[:, 0] > 0, tf.int32)
    logits = dense(tf.nn.relu(dense(x, 8, "hidden")))
    return trained(tf.losses.sparse_softmax_cross_entropy(labels, logits))


def convolution_with_batch_norm(x):
    images = tf.reshape(x, [8, 4, 4, 1])
    kernel = tf.get_variable("kernel", [3, 3, 1, 2], use_resource=True)
    scale = tf.get_variable("scale", [2], use_resource=True)
    y, _, _ = tf.nn.fused_batch_norm(tf.nn.conv2d(images, kernel, 1, "SAME"), scale, scale)
    return trained(tf.reduce_mean(tf.square(y)), tf.train.MomentumOptimizer(0.1, 0.9))


def dropout(x):
    return tf.nn.dropout(x, rate=0.5)


def clipped(x):
    kernel = tf.get_variable("kernel", [16, 4], use_resource=True)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    gradients = optimizer.compute_gradients(tf.reduce_mean(tf.matmul(x, kernel)))
    some, _ = tf.clip_by_global_norm([gradient for gradient, _ in gradients], 1.0)
    return optimizer.apply_gradients([(some[0], kernel)])


def bounded_loop(x):
    kernel = tf.get_variable("kernel", [16, 16], use_resource=True)
    value = tf.while_loop(
        lambda v: tf.reduce_sum(v) < 9.0,
        lambda v: tf.matmul(v, kernel),
        [x],
        maximum_iterations=5,
    )
    return tf.gradients(tf.reduce_sum(value), [kernel])[0]


def conditional(x):
    return tf.cond(tf.reduce_mean(x) > 0, lambda: x * 2, lambda: x / 2)


def masked(x):
    return tf.where(x > 0, x, tf.zeros_like(x))


def top_k(x):
    return tf.nn.top_k(x, 3).values


def embedding(x):
    words = tf.get_variable("words", [50, 8], use_resource=True)
    taken = tf.nn.embedding_lookup(words, tf.cast(tf.abs(x) * 10, tf.int32) % 50)
    return trained(tf.reduce_mean(tf.square(taken)))


def attention(x):
    heads = tf.reshape(x, [8, 4, 2, 2])
    scores = tf.matmul(heads, heads, transpose_b=True) / 2.0
    return tf.matmul(tf.nn.softmax(scores), heads)


def layer_norm(x):
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-6)


def half_precision(x):
    return tf.cast(tf.matmul(tf.cast(x, tf.bfloat16), tf.ones([16, 4], tf.bfloat16)), tf.float32)


def decayed_rate(x):
    step = tf.train.get_or_create_global_step()
    rate = tf.train.polynomial_decay(0.1, step, 100)
    return trained(tf.reduce_mean(dense(x)), tf.train.GradientDescentOptimizer(rate))


def asserted(x):
    with tf.control_dependencies([tf.assert_positive(x)]):
        return tf.identity(x)


def resized(x):
    return tf.image.resize_bilinear(tf.reshape(x, [8, 4, 4, 1]), [8, 8])


def sums(x):
    return tf.cumsum(x, axis=1) + tf.reduce_logsumexp(x, axis=1, keepdims=True)


def gathered(x):
    return tf.gather_nd(x, [[0, 1], [2, 3]]) + tf.scatter_nd([[1]], [2.0], [2])


def solved(x):
    square = tf.matmul(x, x, transpose_b=True) + 10 * tf.eye(8)
    return tf.linalg.cholesky(square)


def normal_numbers(x):
    return x + tf.random_normal(tf.shape(x), seed=1)


def reshaped(x):
    return tf.reshape(x, [-1, 4])


def unread_summary(x):
    tf.summary.scalar("mean", tf.reduce_mean(x))
    return x * 2


SOUND = [
    classifier,
    convolution_with_batch_norm,
    dropout,
    clipped,
    bounded_loop,
    conditional,
    masked,
    top_k,
    embedding,
    attention,
    layer_norm,
    half_precision,
    decayed_rate,
    asserted,
    resized,
    sums,
    gathered,
    solved,
    normal_numbers,
    reshaped,
    unread_summary,
]
