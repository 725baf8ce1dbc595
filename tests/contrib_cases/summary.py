"""tf.contrib.summary."""

import glob
import os
import tempfile

from contrib_cases import numbers


def _events(tf, folder):
    """What was written: (step, tag, value) for each summary, in order."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "events*"))):
        for event in tf.train.summary_iterator(path):
            if event.HasField("graph_def"):
                graph = tf.GraphDef.FromString(event.graph_def)
                found.append([event.step, "graph", len(graph.node) > 0])
            for value in event.summary.value:
                kind = value.WhichOneof("value")
                if kind == "simple_value":
                    content = round(value.simple_value, 5)
                elif kind == "tensor":
                    content = tf.make_ndarray(value.tensor).tolist()
                elif kind == "histo":
                    content = [value.histo.num, round(value.histo.sum, 4), len(value.histo.bucket)]
                elif kind == "image":
                    content = [value.image.height, value.image.width, value.image.colorspace]
                else:
                    content = [value.audio.sample_rate, value.audio.length_frames]
                found.append([event.step, value.tag, kind, content])
    return str(found)


def case_graph_mode(tf):
    summary = tf.contrib.summary
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        increment = tf.assign_add(step, 1)
        writer = summary.create_file_writer(folder, flush_millis=10000)
        with writer.as_default():
            summary.scalar("unrecorded", tf.constant(1.0))
            with summary.always_record_summaries():
                summary.scalar("loss", tf.cast(step, tf.float32) * 0.5, step=step)
                summary.scalar("rate", 0.25, family="optimizer")
                summary.histogram("weights", tf.constant(numbers(50)))
                summary.image("picture", tf.zeros([2, 4, 5, 3]), max_images=1)
                summary.audio("sound", tf.zeros([1, 30, 1]), 10.0, 1)
                summary.generic("tensor", tf.constant([1.0, 2.0]))
            with summary.record_summaries_every_n_global_steps(2):
                summary.scalar("sometimes", 3.0)
            with summary.never_record_summaries():
                summary.scalar("never", 4.0)
            with tf.name_scope("scope"), summary.always_record_summaries():
                summary.scalar("scoped", 5.0)
                decided = summary.should_record_summaries()
            undecided = summary.should_record_summaries()
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                summary.initialize(tf.get_default_graph(), session=sess)
                for _ in range(3):
                    sess.run(summary.all_summary_ops())
                    sess.run(increment)
                booleans = sess.run([decided, undecided])
                sess.run(summary.flush(writer=writer._resource))
                sess.run(summary.flush())
        count = len(summary.all_summary_ops())
        initializers = len(summary.summary_writer_initializer_op())
    # A step's summaries run in no fixed order.
    events = sorted(_events(tf, folder)[2:-2].split("], ["))
    return {
        "events": events,
        "booleans": booleans,
        "count": count,
        "initializers": initializers,
        "eval_dir": summary.eval_dir("model", "name"),
    }


def case_host_call(tf):
    """The host_call of a TPUEstimator program, run by hand."""
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():

        def host_call_fn(gs, loss, lr):
            gs = gs[0]
            writer = tf.contrib.summary.create_file_writer(folder, max_queue=3)
            with writer.as_default(), tf.contrib.summary.always_record_summaries():
                tf.contrib.summary.scalar("loss", loss[0], step=gs)
                tf.contrib.summary.scalar("learning_rate", lr[0], step=gs)
                return tf.contrib.summary.all_summary_ops()

        step = tf.placeholder(tf.int64, [1])
        ops = host_call_fn(step, tf.constant([0.5]), tf.constant([0.1]))
        with tf.Session() as sess:
            sess.run(tf.contrib.summary.summary_writer_initializer_op())
            for number in range(4):
                sess.run(ops, {step: [number * 10]})
            with tf.contrib.summary.create_file_writer(folder).as_default():
                sess.run(tf.contrib.summary.flush())
    return sorted(_events(tf, folder)[2:-2].split("], ["))


def case_nowhere(tf):
    """A writer without a folder writes nothing."""
    with tf.Graph().as_default():
        writer = tf.contrib.summary.create_file_writer(None)
        with writer.as_default(), tf.contrib.summary.always_record_summaries():
            op = tf.contrib.summary.scalar("a", 1.0, step=0)
        return {"type": op.type, "count": len(tf.contrib.summary.all_summary_ops())}
