"""tf.contrib.opt."""

import importlib
import os
import tempfile

from contrib_cases import numbers, session


def _trained(tf, make, steps=4, apply_options=None):
    """Two variables after some steps: one with dense gradients, one with gradients of some rows."""
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        dense = tf.get_variable("dense", initializer=numbers(3, 4))
        rows = tf.get_variable("rows", initializer=numbers(5, 2, seed=2))
        step = tf.train.get_or_create_global_step()
        picked = tf.gather(rows, [1, 3])
        loss = tf.reduce_sum(dense * dense * tf.constant(numbers(3, 4, seed=3)))
        loss += tf.reduce_sum(tf.square(picked - 1.0)) + tf.reduce_sum(picked**3) * 0.1
        optimizer = make(step)
        pairs = optimizer.compute_gradients(loss)
        options = {} if apply_options is None else apply_options(dense, rows)
        # Weight decay changes variables beside the computation of gradients in 1.15: put it behind.
        with tf.control_dependencies([gradient for gradient, _ in pairs]):
            train = optimizer.apply_gradients(pairs, global_step=step, **options)
        with session(tf) as sess:
            for _ in range(steps):
                sess.run(train)
            return sess.run({v.op.name: v for v in tf.global_variables()})


def case_weight_decay(tf):
    opt = tf.contrib.opt
    extended = opt.extend_with_decoupled_weight_decay(tf.train.RMSPropOptimizer)

    def listed(dense, rows):
        return {"decay_var_list": [dense]}

    results = {
        "adam": _trained(tf, lambda step: opt.AdamWOptimizer(0.01, learning_rate=0.1)),
        "adam_some": _trained(tf, lambda step: opt.AdamWOptimizer(0.1, 0.1), apply_options=listed),
        "adam_schedule": _trained(
            tf,
            lambda step: opt.AdamWOptimizer(
                0.1 * tf.train.exponential_decay(1.0, step, 2, 0.5), 0.1, name="W"
            ),
        ),
        "momentum": _trained(tf, lambda step: opt.MomentumWOptimizer(0.02, 0.1, 0.9)),
        "nesterov": _trained(
            tf, lambda step: opt.MomentumWOptimizer(0.02, 0.1, 0.9, use_nesterov=True)
        ),
        "extended": _trained(tf, lambda step: extended(0.05, learning_rate=0.1, name="Own")),
        "extended_keywords": _trained(
            tf, lambda step: extended(weight_decay=0.05, learning_rate=0.1, momentum=0.5)
        ),
    }
    # Whose updates of the two kinds of variables may be one: each variable decays once all the same.
    for base in (opt.LARSOptimizer, opt.NadamOptimizer):
        decaying = opt.extend_with_decoupled_weight_decay(base)
        results[base.__name__] = _trained(
            tf, lambda step, decaying=decaying: decaying(0.05, learning_rate=0.1)
        )
    with tf.Graph().as_default():
        x = tf.get_variable("x", initializer=numbers(3))
        y = tf.get_variable("y", initializer=numbers(3))
        optimizer = opt.MomentumWOptimizer(0.1, 0.01, 0.9)
        # A loss whose gradients do not depend on the variables, so that their order does not
        # matter.
        train = optimizer.minimize(tf.reduce_sum(x * 2 + y * 3), decay_var_list=[x])
        with session(tf) as sess:
            sess.run(train)
            results["minimize"] = sess.run([x, y])
    return results


def case_lars(tf):
    opt = tf.contrib.opt
    return {
        "plain": _trained(tf, lambda step: opt.LARSOptimizer(5.0)),
        "options": _trained(
            tf,
            lambda step: opt.LARSOptimizer(
                tf.train.polynomial_decay(3.0, step, 10),
                momentum=0.8,
                weight_decay=0.01,
                eeta=0.01,
                epsilon=1e-3,
                use_nesterov=True,
                name="lars",
            ),
        ),
        "skipped": _trained(tf, lambda step: opt.LARSOptimizer(0.1, skip_list=["dense"])),
    }


def case_adams(tf):
    opt = tf.contrib.opt
    return {
        "lazy": _trained(tf, lambda step: opt.LazyAdamOptimizer(0.1)),
        "nadam": _trained(tf, lambda step: opt.NadamOptimizer(0.1, beta1=0.8)),
    }


def case_moving_average(tf):
    opt = tf.contrib.opt
    results = {
        "plain": _trained(
            tf,
            lambda step: opt.MovingAverageOptimizer(tf.train.AdamOptimizer(0.1), average_decay=0.9),
        ),
        "updates": _trained(
            tf,
            lambda step: opt.MovingAverageOptimizer(
                tf.train.MomentumOptimizer(0.1, 0.9), num_updates=step
            ),
        ),
    }
    path = os.path.join(tempfile.mkdtemp(), "swapped")
    with tf.Graph().as_default():
        x = tf.get_variable("x", initializer=numbers(3))
        optimizer = opt.MovingAverageOptimizer(
            tf.train.GradientDescentOptimizer(0.1), average_decay=0.5
        )
        try:
            optimizer.swapping_saver()
        except RuntimeError:
            results["early"] = "RuntimeError"
        train = optimizer.minimize(tf.reduce_sum(x * x))
        saver = optimizer.swapping_saver(max_to_keep=2)
        try:
            optimizer.swapping_saver([x])
        except ValueError:
            results["alone"] = "ValueError"
        with session(tf) as sess:
            for _ in range(2):
                sess.run(train)
            saver.save(sess, path)
            results["variable"] = sess.run(x)
    reader = tf.train.load_checkpoint(path)
    results["saved"] = {
        name: reader.get_tensor(name) for name in sorted(reader.get_variable_to_shape_map())
    }
    return results


def case_mixed_precision(tf):
    package = tf.contrib.mixed_precision

    def trained(manager_of, spoilt=()):
        """Values of the factor and of a variable after each step; some losses are infinite."""
        with tf.Graph().as_default():
            x = tf.get_variable("x", initializer=numbers(3))
            factor = tf.placeholder(tf.float32, [])
            step = tf.train.create_global_step()
            manager = manager_of()
            optimizer = package.LossScaleOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), manager)
            train = optimizer.minimize(tf.reduce_sum(x * x) * factor, step, [x])
            found = []
            with session(tf) as sess:
                for number in range(9):
                    sess.run(train, {factor: float("inf") if number in spoilt else 1.0})
                    found.append(sess.run([x, manager.get_loss_scale(), step]))
            names = " ".join(sorted(v.op.name for v in tf.global_variables()))
        return {"steps": found, "names": names}

    try:
        package.FixedLossScaleManager(0.5)
        refused = ""
    except ValueError:
        refused = "ValueError"
    exponential = package.ExponentialUpdateLossScaleManager
    return {
        "fixed": trained(lambda: package.FixedLossScaleManager(128.0), spoilt=(2,)),
        "grows": trained(lambda: exponential(4.0, 2, incr_ratio=3)),
        "shrinks": trained(lambda: exponential(2.0, 4, 2), spoilt=(0, 2, 3, 4, 7, 8)),
        "limits": trained(lambda: exponential(3e38, 1, 1), spoilt=(3,)),
        "refused": refused,
    }


def case_eagerly(tf):
    """The optimizers that keep variables of their own besides the slots."""
    opt = tf.contrib.opt
    eager = importlib.import_module(tf.__name__ + ".python.eager.context").eager_mode
    results = {}
    for name, make in (
        ("nadam", lambda: opt.NadamOptimizer(0.1)),
        ("lazy", lambda: opt.LazyAdamOptimizer(0.1)),
    ):
        with eager():
            one = tf.contrib.eager.Variable(numbers(3), name="one")
            two = tf.contrib.eager.Variable(numbers(2, 2, seed=2), name="two")
            optimizer = make()
            for step in range(4):
                gradients = [one * 0.5 + step, two * two]
                optimizer.apply_gradients(zip(gradients, [one, two]))
            results[name] = [one.numpy(), two.numpy(), len(optimizer.variables())]
    return results
