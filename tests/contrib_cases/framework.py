"""tf.contrib.framework."""

import importlib
import os
import tempfile

import numpy as np

from contrib_cases import numbers, run, session


def case_checkpoints(tf):
    framework = tf.contrib.framework
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():
        tf.get_variable("a/x", initializer=numbers(2, 3))
        tf.get_variable("b/y", initializer=numbers(4, seed=2))
        saver = tf.train.Saver()
        with session(tf) as sess:
            path = saver.save(sess, os.path.join(folder, "model.ckpt"))
    results = {
        "listed": str([(name, list(shape)) for name, shape in framework.list_variables(folder)]),
        "loaded": framework.load_variable(folder, "a/x:0"),
        "reader": framework.load_checkpoint(path).get_tensor("b/y"),
    }
    with tf.Graph().as_default():
        x = tf.get_variable("c/x", [2, 3], initializer=tf.zeros_initializer())
        y = framework.model_variable("b/y", [4], initializer=tf.zeros_initializer())
        framework.init_from_checkpoint(folder, {"a/": "c/"})
        restore = framework.assign_from_checkpoint_fn(path, [y])
        with session(tf) as sess:
            results["initialized"] = sess.run(x)
            restore(sess)
            results["restored"] = sess.run(y)
        assign, feed = framework.assign_from_checkpoint(path, {"a/x": x, "b/y": y})
        with session(tf) as sess:
            sess.run(assign, feed)
            results["assigned"] = sess.run([x, y])
        parts = tf.fixed_size_partitioner(2)
        split = framework.variable("split", [2, 3], partitioner=parts)
        assign, feed = framework.assign_from_checkpoint(path, {"a/x": [*split, x]})
        with session(tf) as sess:
            sess.run(assign, feed)
            results["parts"] = sess.run([*split, x])
        results["skipped"] = str(
            framework.assign_from_checkpoint_fn(path, {"none": y}, ignore_missing_vars=True)
        )[:4]
    return results


def case_variables(tf):
    framework = tf.contrib.framework

    with tf.Graph().as_default():
        framework.create_global_step()
        with tf.variable_scope("scope"):
            framework.variable("v", [2], initializer=tf.ones_initializer())
            framework.model_variable(
                "m",
                [3],
                initializer=tf.constant_initializer(2.0),
                regularizer=lambda v: tf.reduce_sum(v),
            )
        local = framework.local_variable(numbers(2))
        framework.add_model_variable(framework.get_variables_by_name("v")[0])
        assign = framework.assign_from_values_fn({"scope/v": np.array([5.0, 6.0], np.float32)})
        names = [
            [v.op.name for v in found]
            for found in (
                framework.get_variables(),
                framework.get_variables("scope"),
                framework.get_model_variables(),
                framework.get_trainable_variables(),
                framework.get_local_variables(),
                framework.get_variables_by_suffix("m"),
                framework.get_variables_to_restore(include=["scope"], exclude=["scope/m"]),
                framework.filter_variables(tf.global_variables(), include_patterns=["m$"]),
                [framework.get_unique_variable("scope/m")],
                [framework.get_or_create_global_step(), framework.get_global_step()],
            )
        ]
        zero = framework.zero_initializer(framework.get_unique_variable("scope/m"))
        with tf.Session() as sess:
            sess.run(zero)
            refused = False
            try:
                sess.run(zero)
            except tf.errors.InvalidArgumentError as error:
                refused = "input is already initialized" in str(error)
            zeros = sess.run(framework.get_unique_variable("scope/m"))
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            assign(sess)
            values = sess.run([framework.get_unique_variable("scope/v"), local])
            values.append(zeros)
            losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
            return {
                "names": str(names),
                "values": values,
                "losses": sess.run(losses),
                "refused": refused,
            }


def case_arg_scope(tf):
    framework = tf.contrib.framework

    @framework.add_arg_scope
    def function(a, b=1, c=2):
        return [a, b, c]

    with framework.arg_scope([function], b=10):
        results = [function(0), function(0, b=5), function(0, c=7)]
        with framework.arg_scope([function], c=20) as inner:
            results.append(function(0))
        has = framework.has_arg_scope(function)
        known = sorted(framework.arg_scoped_arguments(function))
    with framework.arg_scope(inner):
        results.append(function(1))
    return {"results": results, "has": has, "known": " ".join(known), "bare": function(2)}


def case_shapes(tf):
    framework = tf.contrib.framework

    def refused(function, *args):
        try:
            function(*args)
        except ValueError as error:
            return isinstance(error, ValueError)
        return False

    with tf.Graph().as_default(), tf.Session() as sess:
        loose = tf.placeholder(tf.float32)
        fixed = tf.constant(numbers(2, 3))
        shaped = framework.with_shape([2, 3], loose)
        partial = framework.with_shape(tf.TensorShape([2, None]), loose)
        dynamic = framework.with_shape(tf.constant([2, 3]), loose)
        scalar = framework.with_shape([], tf.constant([4.0]))
        same = framework.with_same_shape(fixed, loose)
        results = {
            "static": str([t.shape.as_list() for t in (shaped, partial, scalar, same)]),
            "values": sess.run([shaped, partial, dynamic, same], {loose: numbers(2, 3)}),
            "scalar": sess.run(scalar),
            "static_error": refused(framework.with_shape, [2, 4], fixed),
            "type_error": refused(framework.with_shape, np.array([2.0, 3.0]), fixed),
        }
        for name, tensor in [("shaped", shaped), ("dynamic", dynamic), ("partial", partial)]:
            try:
                sess.run(tensor, {loose: numbers(3, 3)})
            except tf.errors.InvalidArgumentError:
                results["refused_" + name] = "InvalidArgumentError"
        return results


def case_helpers(tf):
    framework = tf.contrib.framework
    nest = framework.nest

    def build():
        x = tf.constant(numbers(6))
        return {
            "sorted": framework.sort(x, direction="DESCENDING"),
            "order": framework.argsort(x),
            "smart": framework.smart_cond(True, lambda: x, lambda: x * 0),
            "late": framework.smart_cond(tf.reduce_sum(x) > 1000, lambda: x, lambda: x * 3),
            "orthogonal": framework.convolutional_orthogonal_2d(seed=1)([3, 3, 2, 4])[0, 0, 0, 0]
            * 0,
        }

    results = run(tf, build)
    results["nest"] = str(
        [
            nest.flatten({"b": [1, 2], "a": (3,)}),
            nest.map_structure(lambda a, b: a + b, [1, (2,)], [3, (4,)]),
            nest.is_sequence([1]),
            nest.is_sequence("text"),
            nest.flatten_up_to([0, 0], [[1, 2], 3]),
            nest.pack_sequence_as([1, [2]], [3, 4]),
        ]
    )
    results["scopes"] = str(
        [
            framework.prepend_name_scope("^a/b", "s"),
            framework.strip_name_scope("loc:@s/a/b", "s"),
            framework.is_tensor(tf.constant(1)),
            framework.is_tensor(1),
        ]
    )
    with tf.Graph().as_default(), tf.name_scope("outer"):
        results["scope"] = framework.get_name_scope()
    return results


def case_private_paths(tf):
    """assign_from_checkpoint by its private path takes parts of a variable, and zero_initializer is there."""
    private = importlib.import_module(tf.__name__ + ".contrib.framework.python.ops.variables")
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():
        tf.get_variable("x", initializer=numbers(4, 3))
        with session(tf) as sess:
            path = tf.train.Saver().save(sess, os.path.join(folder, "model.ckpt"))
    with tf.Graph().as_default():
        parts = tf.fixed_size_partitioner(2)
        split = private.variable("split", [4, 3], partitioner=parts)
        assign, feed = private.assign_from_checkpoint(path, {"x": list(split)})
        zero = private.zero_initializer(next(iter(split)))
        with tf.Session() as sess:
            zeros = sess.run(zero)
            sess.run(assign, feed)
            return {"zeros": zeros, "parts": sess.run(list(split))}
