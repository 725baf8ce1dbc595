"""``tf.contrib.eager`` and ``tf.contrib.checkpoint``."""

import importlib
import os
import tempfile

import numpy as np

from contrib_cases import numbers, session


def _eager_mode(tf):
    return importlib.import_module(tf.__name__ + ".python.eager.context").eager_mode()


def case_metrics_in_a_graph(tf):
    metrics = tf.contrib.eager.metrics
    labels = np.array([0, 2, 1, 2])
    logits = numbers(4, 3)
    with tf.Graph().as_default():
        mean, weighted = metrics.Mean(), metrics.Mean("with space", dtype=tf.float32)
        made = [
            (mean, (tf.constant(numbers(5)),)),
            (weighted, (tf.constant(numbers(5)), tf.constant(numbers(5, seed=2) ** 2))),
            (metrics.Accuracy(), (tf.constant(labels), tf.constant([0, 1, 1, 2], tf.int64))),
            (
                metrics.Accuracy("of rows"),
                (tf.argmax(logits, -1), tf.constant(labels), [1, 2, 3, 4]),
            ),
        ]
        updates = [metric(*arguments) for metric, arguments in made]
        start = tf.group(*[metric.init_variables() for metric, _ in made])
        results = [metric.result() for metric, _ in made]
        with session(tf) as sess:
            sess.run(updates)
            once = sess.run(updates[0])
            values = sess.run(results)
            sess.run(start)
            again = sess.run(mean.denom)
        return {
            "values": values,
            "types": [result.dtype.name for result in results],
            "names": [metric.name for metric, _ in made],
            "variables": [variable.name for variable in tf.local_variables()],
            "metric variables": len(tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)),
            "update": once,
            "after init_variables": again,
        }


def case_metrics_eagerly(tf):
    with _eager_mode(tf):
        mean = tf.contrib.eager.metrics.Mean()
        right = tf.contrib.eager.metrics.Accuracy("right")
        for step in range(3):
            mean(numbers(4, seed=step), weights=numbers(4, seed=step + 9) ** 2)
            right([2, 1], np.argmax(numbers(2, 3, seed=step), -1).astype(np.int32))
        found = [mean.result().numpy(), right.result().numpy(), right.name]
        other = tf.contrib.eager.metrics.Mean()
        other(numbers(2))
        mean.aggregate([other])
        found.append(mean.value()().numpy())
        mean.init_variables()
        mean(7)
        return {"found": found, "denom": [mean.denom.name, mean.result().numpy()]}


def case_savers(tf):
    tfe = tf.contrib.eager
    with _eager_mode(tf), tempfile.TemporaryDirectory() as folder:
        weight = tfe.Variable(numbers(2, 3), name="weight")
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(lambda: tf.reduce_sum(weight**2))
        slots = tfe.get_optimizer_variables(optimizer)
        saver = tfe.Saver([weight, *slots])
        path = saver.save(os.path.join(folder, "model"), global_step=3)
        kept = weight.numpy()
        optimizer.minimize(lambda: tf.reduce_sum(weight**2))
        saver.restore(path)
        with tfe.restore_variables_on_create(path, lambda name: name.replace("other", "weight")):
            other = tfe.Variable(tf.zeros([2, 3]), name="other")
        return {
            "same": np.array_equal(kept, weight.numpy()),
            "restored": other.numpy(),
            "slot": slots[0].numpy(),
            "file": os.path.basename(path),
            "names": sorted(name for name, _ in tf.train.list_variables(path)),
        }


def case_eager_tensors_are_keys(tf):
    with _eager_mode(tf):
        one, other = tf.constant(1.0), tf.constant(1.0)
        return {"members": len({one, other, one}), "in": one in {one: 2}, "equal": one == other}
