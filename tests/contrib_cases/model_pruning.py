"""tf.contrib.model_pruning."""

import numpy as np

from contrib_cases import numbers, session


def _pruned(tf, make, text, steps=6):
    """A network that is trained and pruned: loss, masks, thresholds and names after some steps."""
    pruning = tf.contrib.model_pruning
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        step = tf.train.get_or_create_global_step()
        loss = tf.reduce_mean(tf.square(make()))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        schedule = pruning.Pruning(pruning.get_pruning_hparams().parse(text))
        update = schedule.conditional_mask_update_op()
        schedule.add_pruning_summaries()
        with session(tf) as sess:
            # One after the other: nothing orders a step's reads of the masks and their update.
            losses = []
            for _ in range(steps):
                losses.append(sess.run(loss))
                sess.run(train)
                sess.run(update)
            return {
                "losses": np.array(losses),
                "masks": sess.run(pruning.get_masks()),
                "masked": sess.run(pruning.get_masked_weights()),
                "thresholds": sess.run(pruning.get_thresholds()),
                "sparsity": sess.run(pruning.get_weight_sparsity()),
                "weights": sess.run(pruning.get_weights()),
                "names": " ".join(sorted(v.op.name for v in tf.global_variables())),
                "trainable": " ".join(sorted(v.op.name for v in tf.trainable_variables())),
                "products": " ".join(t.name for t in pruning.get_masked_weights()),
                "summaries": " ".join(
                    sorted(t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES))
                ),
            }


def _given(tf, seed):
    def initializer(shape, dtype=None, partition_info=None):
        return tf.constant(numbers(*[int(d) for d in shape], seed=seed) * 0.3, tf.float32)

    return initializer


def case_layers(tf):
    pruning = tf.contrib.model_pruning

    def network():
        x = tf.constant(numbers(2, 8, 8, 3))
        x = pruning.masked_conv2d(x, 4, [3, 3], stride=2, weights_initializer=_given(tf, 1))
        x = pruning.masked_convolution(
            x,
            4,
            3,
            rate=2,
            weights_initializer=_given(tf, 2),
            normalizer_fn=tf.contrib.layers.batch_norm,
        )
        x = tf.reshape(x, [2, -1])
        return pruning.masked_fully_connected(
            x, 5, activation_fn=None, weights_initializer=_given(tf, 3), scope="last"
        )

    plain = "pruning_frequency=2,target_sparsity=0.6,sparsity_function_end_step=4"
    late = "begin_pruning_step=3,end_pruning_step=4,threshold_decay=0.5,initial_sparsity=0.2"
    return {
        "plain": _pruned(tf, network, plain),
        "late": _pruned(tf, network, late + ",sparsity_function_exponent=1.0"),
    }


def case_blocks(tf):
    def network():
        weights = tf.get_variable("weights", [7, 6], initializer=_given(tf, 4))
        masked = tf.contrib.model_pruning.apply_mask(weights, tf.get_variable_scope())
        return tf.matmul(tf.constant(numbers(3, 7)), masked)

    both = "pruning_frequency=1,sparsity_function_end_step=3,block_height=2,block_width=%d"
    return {
        "mean": _pruned(tf, network, both % 3),
        "largest": _pruned(tf, network, both % 4 + ",block_pooling_function=MAX"),
        "tpu": _pruned(tf, network, both % 3 + ",use_tpu=true"),
        "rows": _pruned(tf, network, both % -1),
        "map": _pruned(tf, network, "pruning_frequency=1,block_dims_map=[weights:3x2]"),
    }
