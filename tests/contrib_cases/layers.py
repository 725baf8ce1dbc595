"""tf.contrib.layers and tf.contrib.slim."""

import importlib

import numpy as np

from contrib_cases import numbers, run, session


def _names(tf):
    return sorted(variable.op.name for variable in tf.global_variables())


def _trained(tf, make, steps=2):
    """Output, gradients, variables after steps of descent, and names of a network."""
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        output = make()
        loss = tf.reduce_sum(output * output * 0.01) + tf.losses.get_regularization_loss()
        optimizer = tf.train.GradientDescentOptimizer(0.05)
        pairs = optimizer.compute_gradients(loss)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = optimizer.apply_gradients(pairs)
        with session(tf) as sess:
            first = sess.run([output] + [gradient for gradient, _ in pairs])
            for _ in range(steps):
                sess.run(train)
            variables = {v.op.name: v for v in tf.global_variables()}
            return {
                "output": first[0],
                "gradients": first[1:],
                "after": sess.run(variables),
                "names": " ".join(_names(tf)),
                "trainable": " ".join(v.op.name for v in tf.trainable_variables()),
            }


def _image(tf):
    return tf.constant(numbers(2, 6, 6, 3))


def _constant(tf, seed):
    """An initializer that gives repeatable numbers for any shape."""

    def initializer(shape, dtype=None, partition_info=None):
        size = [int(d) for d in shape]
        return tf.constant(numbers(*size, seed=seed) * 0.3, tf.float32)

    return initializer


def case_convolutions(tf):
    layers = tf.contrib.layers
    kernel = _constant(tf, 4)

    def plain():
        x = layers.conv2d(_image(tf), 4, [3, 3], stride=2, weights_initializer=kernel)
        return layers.conv2d_transpose(x, 2, 3, stride=2, weights_initializer=kernel)

    def separable():
        x = layers.separable_conv2d(_image(tf), 4, [3, 3], 2, weights_initializer=kernel)
        return layers.conv2d_in_plane(x, [3, 1], weights_initializer=kernel)

    def pooled():
        x = layers.conv2d(
            _image(tf),
            4,
            3,
            rate=2,
            activation_fn=tf.nn.elu,
            weights_initializer=kernel,
            weights_regularizer=layers.l2_regularizer(0.01),
            scope="one",
        )
        return layers.max_pool2d(x, 2) + layers.avg_pool2d(x, 2, 2)

    def narrow():
        x = tf.constant(numbers(2, 7, 3))
        return layers.conv1d(x, 4, 3, padding="SAME", weights_initializer=kernel)

    return {
        "plain": _trained(tf, plain),
        "separable": _trained(tf, separable),
        "pooled": _trained(tf, pooled),
        "narrow": _trained(tf, narrow),
    }


def case_dense(tf):
    layers = tf.contrib.layers
    rows = numbers(4, 5)

    def plain():
        x = layers.fully_connected(tf.constant(rows), 6, weights_initializer=_constant(tf, 5))
        x = layers.linear(x, 3, weights_initializer=_constant(tf, 6))
        with tf.contrib.framework.arg_scope(
            [layers.fully_connected], weights_initializer=_constant(tf, 7)
        ):
            return layers.flatten(layers.stack(x, layers.fully_connected, [4, 2], scope="s"))

    def normalized():
        return layers.fully_connected(
            tf.constant(rows),
            6,
            normalizer_fn=layers.batch_norm,
            normalizer_params={"is_training": True, "decay": 0.9, "scale": True},
            weights_initializer=_constant(tf, 5),
            weights_regularizer=layers.l1_l2_regularizer(0.01, 0.02),
        )

    def misc():
        x = tf.constant(numbers(2, 4, 4, 2))
        return {
            "one_hot": layers.one_hot_encoding([0, 2, 1], 3),
            "spatial": layers.spatial_softmax(x, temperature=1.0, trainable=False),
            "softmax": layers.softmax(x),
            "maxout": layers.maxout(x, 1),
            "unit": layers.unit_norm(x, 1),
            "dropout": layers.dropout(x, 0.5, seed=11),
            "kept": layers.dropout(x, 0.5, is_training=False),
            "sequence": layers.images_to_sequence(x),
            "images": layers.sequence_to_images(layers.images_to_sequence(x), 4),
            "scaled": tf.gradients(layers.scale_gradient(x, 3.0), x)[0],
        }

    return {
        "plain": _trained(tf, plain),
        "normalized": _trained(tf, normalized),
        "misc": run(tf, misc),
    }


def case_norms(tf):
    layers = tf.contrib.layers

    def batch(**options):
        return _trained(tf, lambda: layers.batch_norm(_image(tf), **options))

    return {
        "batch": batch(decay=0.9, scale=True),
        "batch_fused": batch(decay=0.9, scale=True, fused=True, epsilon=1e-3),
        "batch_unfused": batch(decay=0.8, center=False, scale=True, fused=False, scope="bn"),
        "batch_in_place": batch(decay=0.9, updates_collections=None),
        "batch_eval": batch(is_training=False),
        "batch_renorm": batch(decay=0.9, renorm=True, renorm_decay=0.9),
        "layer": _trained(tf, lambda: layers.layer_norm(_image(tf))),
        "layer_bert": _trained(
            tf,
            lambda: layers.layer_norm(
                inputs=tf.constant(numbers(2, 3, 4)),
                begin_norm_axis=-1,
                begin_params_axis=-1,
                scope="LayerNorm",
            ),
        ),
        "instance": _trained(tf, lambda: layers.instance_norm(_image(tf), scale=True)),
        "group": _trained(tf, lambda: layers.group_norm(_image(tf), groups=3)),
    }


def case_initializers(tf):
    layers = tf.contrib.layers

    def build():
        shape = [3, 3, 4, 5]
        made = {
            "xavier": layers.xavier_initializer(seed=1)(shape),
            "xavier_normal": layers.xavier_initializer(uniform=False, seed=2)([6, 7]),
            "xavier_conv": layers.xavier_initializer_conv2d(seed=3)(shape),
            "scaling": layers.variance_scaling_initializer(seed=4)([6, 7]),
            "scaling_uniform": layers.variance_scaling_initializer(
                2.0, "FAN_AVG", uniform=True, seed=5
            )(shape),
        }
        with tf.variable_scope("scope", initializer=layers.xavier_initializer()):
            tf.get_variable("a", [2, 2])
        return made

    return run(tf, build)


def case_regularizers(tf):
    layers = tf.contrib.layers

    def build():
        x = tf.get_variable("x", initializer=numbers(3, 4))
        y = tf.get_variable("y", initializer=numbers(2, 2, seed=2))
        total = layers.sum_regularizer([layers.l1_regularizer(0.1), layers.l2_regularizer(0.2)])
        return {
            "l1": layers.l1_regularizer(0.1)(x),
            "l2": layers.l2_regularizer(0.1)(x),
            "both": layers.l1_l2_regularizer(0.1, 0.3)(x),
            "sum": total(x),
            "applied": layers.apply_regularization(layers.l2_regularizer(0.5), [x, y]),
            "collected": tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)),
        }

    results = run(tf, build)
    results["none"] = str(layers.l2_regularizer(0.0)(None))
    try:
        layers.l2_regularizer(1)
    except ValueError as error:
        results["refused"] = str(error).split("\n")[0]
    return results


def case_embeddings(tf):
    layers = tf.contrib.layers
    table = numbers(7, 3)

    def build():
        sparse = tf.SparseTensor([[0, 0], [2, 1]], tf.constant([3, -1], tf.int64), [3, 2])
        return {
            "safe": layers.safe_embedding_lookup_sparse([tf.constant(table)], sparse),
        }

    return run(tf, build)


def case_encoders(tf):
    layers = tf.contrib.layers
    ops = importlib.import_module(tf.__name__ + ".contrib.layers.python.layers.embedding_ops")
    ids = [[1, 3, 0], [0, 0, 0], [3, 3, 2]]

    def filled(shape, dtype=None, partition_info=None):
        return tf.constant(numbers(*[int(size) for size in shape]))

    def results(make):
        def build():
            made = make(tf.constant(ids, tf.int64))
            variables = tf.trainable_variables()
            gradients = tf.gradients(tf.reduce_sum(made * made), variables)
            return {
                "made": made,
                "gradients": [tf.convert_to_tensor(each) for each in gradients],
                "names": [tf.constant(v.op.name) for v in variables],
                "shape": tf.constant(str(made.shape.as_list())),
            }

        return run(tf, build)

    def reused(words):
        first = layers.embed_sequence(words, 5, 2, initializer=filled, scope="shared")
        return first + layers.embed_sequence(words, 5, 2, scope="shared", reuse=True)

    return {
        "bag": results(lambda w: layers.bow_encoder(w, 5, 2, initializer=filled)),
        "bag_dense": results(
            lambda w: layers.bow_encoder(w, 5, 2, sparse_lookup=False, initializer=filled)
        ),
        "sequence": results(lambda w: layers.embed_sequence(w, 5, 2, initializer=filled)),
        "unique": results(
            lambda w: layers.embed_sequence(w, 5, 2, unique=True, initializer=filled)
        ),
        "reused": results(reused),
        "lookup": run(
            tf, lambda: ops.embedding_lookup_unique(tf.constant(numbers(5, 2)), tf.constant(ids))
        ),
    }


def case_optimize_loss(tf):
    layers = tf.contrib.layers

    optimizers = importlib.import_module(tf.__name__ + ".contrib.layers.python.layers.optimizers")

    def trained(**options):
        def build():
            x = tf.get_variable("x", initializer=numbers(3))
            loss = tf.reduce_sum(x**2) * 5
            train = layers.optimize_loss(loss, tf.train.get_or_create_global_step(), **options)
            return {"train": train, "fetch": [x, tf.train.get_global_step()]}

        return run(tf, build, steps=3)

    return {
        "sgd": trained(learning_rate=0.01, optimizer="SGD"),
        "adam": trained(learning_rate=0.1, optimizer="Adam", clip_gradients=0.5),
        "class": trained(
            learning_rate=0.1,
            optimizer=tf.train.MomentumOptimizer(0.1, 0.9),
            learning_rate_decay_fn=lambda rate, step: tf.train.exponential_decay(
                rate, step, 2, 0.5
            ),
        ),
        "adaptive": trained(
            learning_rate=0.1,
            optimizer="RMSProp",
            clip_gradients=optimizers.adaptive_clipping_fn(),
        ),
        "scaled": trained(
            learning_rate=0.1,
            optimizer=lambda rate: tf.train.GradientDescentOptimizer(rate * 0.1),
            gradient_multipliers={"x": 0.5},
            increment_global_step=False,
        ),
    }


def case_slim(tf):
    slim = tf.contrib.slim
    kernel = _constant(tf, 4)

    def scoped():
        with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_initializer=kernel):
            with slim.arg_scope([slim.conv2d], padding="VALID", normalizer_fn=slim.batch_norm):
                x = slim.conv2d(_image(tf), 4, 3, scope="a")
                x = slim.repeat(x, 2, slim.conv2d, 4, 1, scope="b")
            x = slim.flatten(slim.max_pool2d(x, 2, scope="pool"))
            return slim.fully_connected(x, 2, activation_fn=None, scope="logits")

    def resnet():
        nets = importlib.import_module(tf.__name__ + ".contrib.slim.nets")
        with slim.arg_scope(nets.resnet_v1.resnet_arg_scope()):
            blocks = [nets.resnet_v1.resnet_v1_block("block1", 2, 2, 2)]
            with slim.arg_scope([slim.conv2d], weights_initializer=_constant(tf, 9)):
                net, points = nets.resnet_v1.resnet_v1(
                    tf.constant(numbers(1, 33, 33, 3)), blocks, 3, is_training=False
                )
        return {"net": net, "names": tf.constant(" ".join(sorted(points)))}

    def train():
        x = tf.get_variable("x", initializer=numbers(3))
        slim.losses.add_loss(tf.reduce_sum(x**2))
        total = slim.losses.get_total_loss()
        op = slim.learning.create_train_op(
            total, tf.train.GradientDescentOptimizer(0.1), clip_gradient_norm=1.0
        )
        return {"train": op, "fetch": [x, slim.get_global_step(), total]}

    return {
        "scoped": _trained(tf, scoped),
        "resnet": run(tf, resnet),
        "train": run(tf, train, steps=3),
    }


def case_private_paths(tf):
    name = tf.__name__ + ".contrib.layers.python.layers"
    layers = importlib.import_module(name)
    utils = importlib.import_module(name + ".utils")
    importlib.import_module(name + ".initializers")
    importlib.import_module(name + ".layers")

    def build():
        x = tf.constant(numbers(2, 3))
        utils.collect_named_outputs("outputs", "alias", x)
        return {
            "initializers": layers.initializers.xavier_initializer(seed=1)([2, 2]),
            "regularizers": layers.regularizers.l2_regularizer(0.1)(x),
            "norm": layers.layers.layer_norm(x),
            "names": tf.constant(
                " ".join(utils.convert_collection_to_dict("outputs"))
                + str(utils.two_element_tuple(3))
            ),
        }

    return run(tf, build)


def case_checkpoint_of_layers(tf):
    """The values that a layer starts from, for the default initializers and seeds."""

    def build():
        x = tf.contrib.layers.fully_connected(_image(tf), 2)
        x = tf.contrib.layers.conv2d(x, 2, 3)
        return [v.read_value() for v in tf.global_variables()] + [x]

    results = run(tf, build)
    return [np.asarray(value).shape for value in results]
