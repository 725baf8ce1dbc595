"""``tf.contrib.eager``, ``tf.contrib.checkpoint`` and ``tf.contrib.testing``."""

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
            (metrics.CategoricalAccuracy(), (tf.one_hot(labels, 3), tf.constant(logits))),
            (metrics.BinaryAccuracy(0.5), (tf.constant([[0, 1, 1]]), tf.constant(logits[:1]))),
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
        sparse = tf.contrib.eager.metrics.SparseAccuracy("right")
        for step in range(3):
            mean(numbers(4, seed=step), weights=numbers(4, seed=step + 9) ** 2)
            sparse([2], numbers(1, 3, seed=step))
        found = [mean.result().numpy(), sparse.result().numpy(), sparse.name]
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


def case_parts_of_checkpoints(tf):
    parts = tf.contrib.checkpoint
    with _eager_mode(tf), tempfile.TemporaryDirectory() as folder:
        tracker = parts.UniqueNameTracker()
        for base in ("x", "y", "x"):
            tracker.track(tf.contrib.eager.Variable(numbers(2), name=base), base)
        state = parts.NumpyState()
        state.table = numbers(2, 2)
        held = parts.List([tf.contrib.eager.Variable(3.0)])
        checkpoint = tf.train.Checkpoint(tracker=tracker, state=state, held=held)
        path = checkpoint.save(os.path.join(folder, "all"))
        fresh = parts.NumpyState()
        tf.train.Checkpoint(state=fresh).restore(path)
        state.table[0, 0] = 5.0
        checkpoint.restore(path)
        dots = parts.dot_graph_from_checkpoint(path)
        return {
            "fresh": fresh.table,
            "restored": state.table,
            "names": sorted(name for name, _ in tf.train.list_variables(path)),
            "edges": sorted(line.partition("[")[2] for line in dots.splitlines() if "->" in line),
        }


def case_split_dependency(tf):
    with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        whole = tf.get_variable("whole", initializer=numbers(6))

        def fill(buffer):
            buffer["first"], buffer["second"] = whole[:2], whole[2:]

        def consume(buffer):
            return whole.assign(tf.concat([buffer["first"], buffer["second"]], 0))

        dependencies = tf.contrib.checkpoint.split_dependency(
            ("first", "second"), (tf.float32, tf.float32), fill, consume, ""
        )
        checkpoint = tf.train.Checkpoint(**dependencies)
        with session(tf) as sess:
            path = checkpoint.save(os.path.join(folder, "parts"), session=sess)
            sess.run(whole.assign(tf.zeros([6])))
            checkpoint.restore(path).run_restore_ops(sess)
            values = dict(tf.train.list_variables(path))
            return {"restored": sess.run(whole), "saved": {k: list(v) for k, v in values.items()}}


def case_summaries_for_tests(tf):
    testing = tf.contrib.testing
    with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        tf.summary.scalar("loss", tf.cast(step, tf.float32) * 2.0)
        testing.FakeSummaryWriter.install()
        try:
            writer = tf.summary.FileWriterCache.get(folder)
            merged = tf.summary.merge_all()
            hook = tf.train.SummarySaverHook(1, summary_writer=writer, summary_op=merged)
            with tf.train.SingularMonitoredSession([hook]) as sess:
                for _ in range(3):
                    sess.run(step)
            kept = {k: [s.value[0].simple_value for s in v] for k, v in writer.summaries.items()}
        finally:
            testing.FakeSummaryWriter.uninstall()
            tf.summary.FileWriterCache.clear()
        with tf.Session() as sess:
            real = tf.summary.FileWriter(folder)
            sess.run(tf.global_variables_initializer())
            real.add_summary(sess.run(tf.summary.merge_all()), 4)
            real.close()
        written = testing.latest_summaries(folder)
        return {
            "kept": kept,
            "steps": [event.step for event in written],
            "events": len(list(testing.latest_events(folder))),
            "values": testing.simple_values_from_events(written, ["loss"]),
        }
