"""A local folder for a bucket: the same files and values come out of every way in; outside all is gs://."""

import os

import numpy as np
import pytest
import tensorflow

import tpucompat.v1 as tf
from tpucompat.runtime.paths import mapping, redirection
from tpucompat.tf import private

TF1 = tensorflow.__version__.startswith("1.")


@pytest.fixture
def bucket(tmp_path, request):
    """The folder for gs://bucket."""
    folder = tmp_path / getattr(request, "param", "b")
    redirection.install(mapping.parse_all([f"gs://bucket={folder}"]))
    yield folder
    redirection.uninstall()


def write(path, text):
    with tf.gfile.Open(path, "w") as file:
        file.write(text)


def files(folder):
    return sorted(
        os.path.relpath(os.path.join(place, name), str(folder))
        for place, _, names in os.walk(str(folder))
        for name in names
    )


def drain(dataset):
    element = tensorflow.compat.v1.data.make_one_shot_iterator(dataset).get_next()
    found = []
    with tf.Session() as session:
        while True:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found


def path_operations():
    """The operations that were put into the default graph for paths."""
    graph = tf.get_default_graph()
    return [op.name for op in graph.get_operations() if op.type == "StaticRegexReplace"]


@pytest.mark.parametrize("bucket", ["b", "b[1]"], indirect=True)
def test_files(bucket):
    write("gs://bucket/a/b/x.txt", "one\ntwo\n")
    assert (bucket / "a" / "b" / "x.txt").read_text() == "one\ntwo\n"
    assert tf.gfile.Open("gs://bucket/a/b/x.txt").read() == "one\ntwo\n"
    assert tf.gfile.Exists("gs://bucket/a/b/x.txt")
    assert not tf.gfile.Exists("gs://bucket/a/b/y.txt")
    assert tf.gfile.IsDirectory("gs://bucket")
    assert tf.gfile.ListDirectory("gs://bucket/a") == ["b"]
    assert tf.gfile.Stat("gs://bucket/a/b/x.txt").length == 8
    assert tf.gfile.Glob("gs://bucket/*/b/*.txt") == ["gs://bucket/a/b/x.txt"]
    assert list(tf.gfile.Walk("gs://bucket"))[-1] == ("gs://bucket/a/b", [], ["x.txt"])
    tf.gfile.MakeDirs("gs://bucket/c/d")
    tf.gfile.Copy("gs://bucket/a/b/x.txt", "gs://bucket/c/d/y.txt")
    tf.gfile.Rename("gs://bucket/c/d/y.txt", "gs://bucket/c/d/z.txt")
    assert files(bucket) == ["a/b/x.txt", "c/d/z.txt"]
    tf.gfile.Remove("gs://bucket/a/b/x.txt")
    tf.gfile.DeleteRecursively("gs://bucket/c")
    assert files(bucket) == []


def test_local_paths_are_left_alone(bucket, tmp_path):
    write(str(tmp_path / "x.txt"), "x")
    assert tf.gfile.Glob(str(tmp_path / "*.txt")) == [str(tmp_path / "x.txt")]


def test_record_files(bucket):
    with tf.python_io.TFRecordWriter("gs://bucket/new/0.tfrecord") as writer:
        writer.write(b"r1")
        writer.write(b"r2")
    assert list(tf.python_io.tf_record_iterator("gs://bucket/new/0.tfrecord")) == [b"r1", b"r2"]


def test_datasets(bucket):
    write("gs://bucket/a/x.txt", "one\ntwo\n")
    path, lines = "gs://bucket/a/x.txt", [b"one", b"two"]
    assert drain(tf.data.TextLineDataset(path)) == lines
    assert drain(tf.data.TextLineDataset([path, path])) == lines * 2
    assert drain(tf.data.TextLineDataset(tf.constant(path))) == lines
    computed = tf.string_join(["gs://bucket", "a/x.txt"], "/")
    assert drain(tf.data.TextLineDataset(computed)) == lines
    assert drain(tf.data.FixedLengthRecordDataset(path, 4)) == [b"one\n", b"two\n"]
    assert drain(tf.data.Dataset.list_files("gs://bucket/*/*.txt")) == [path.encode()]
    names = tf.data.Dataset.list_files("gs://bucket/*/*.txt")
    assert drain(names.interleave(tf.data.TextLineDataset, cycle_length=1)) == lines
    assert drain(names.map(tf.read_file)) == [b"one\ntwo\n"]
    assert drain(tf.data.Dataset.range(2).cache("gs://bucket/cache/c")) == [0, 1]
    assert any(name.startswith("cache/c") for name in files(bucket))


def test_operations_in_a_graph(bucket):
    write("gs://bucket/a/x.txt", "text")
    found = tf.matching_files(["gs://bucket/*/x.*"])
    path = tf.placeholder(tf.string, [])
    before = len(path_operations())
    content = tf.read_file(path)
    assert len(path_operations()) == before  # a fed path is mapped when it is fed
    saved = tf.write_file("gs://bucket/new/deep/y.txt", "y")
    with tf.Session() as session:
        assert list(session.run(found)) == [b"gs://bucket/a/x.txt"]
        assert session.run(content, {path: "gs://bucket/a/x.txt"}) == b"text"
        session.run(saved)
    assert (bucket / "new" / "deep" / "y.txt").read_text() == "y"


def test_a_queue_of_file_names(bucket):
    write("gs://bucket/x.txt", "text")
    queue = tf.train.string_input_producer(["gs://bucket/x.txt"], num_epochs=1)
    _, content = tf.WholeFileReader().read(queue)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert session.run(content) == b"text"
        coordinator.request_stop()
        coordinator.join(threads)


@pytest.mark.parametrize("sharded", [False, True])
def test_checkpoints(bucket, sharded):
    variable = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
    saver = tf.train.Saver(sharded=sharded)
    with tf.Session() as session:
        session.run(variable.initializer)
        session.run(variable.assign([1.0, 2.0]))
        path = saver.save(session, "gs://bucket/new/deep/model.ckpt", global_step=3)
        session.run(variable.assign([0.0, 0.0]))
        saver.restore(session, path)
        assert list(session.run(variable)) == [1, 2]
    assert path == "gs://bucket/new/deep/model.ckpt-3"
    folder = "gs://bucket/new/deep"
    assert tf.train.latest_checkpoint(folder) == path
    assert tf.train.checkpoint_exists(path)
    assert tf.train.list_variables(path) == [("v", [2])]
    assert list(tf.train.load_variable(folder, "v")) == [1, 2]
    assert list(tf.train.NewCheckpointReader(path).get_tensor("v")) == [1, 2]
    # The folder can be taken anywhere: no path of this machine is written down in it.
    for name in files(bucket):
        assert str(bucket).encode() not in (bucket / name).read_bytes(), name

    tf.reset_default_graph()
    other = tf.get_variable("w", [2])
    tf.train.init_from_checkpoint(folder, {"v": "w"})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert list(session.run(other)) == [1, 2]

    tf.reset_default_graph()
    saver = tf.train.import_meta_graph(path + ".meta")
    with tf.Session() as session:
        saver.restore(session, path)
        saver.save(session, "gs://bucket/again/and/again")
    assert "again/and/again.index" in files(bucket)


def test_summaries(bucket):
    writer = tf.summary.FileWriter("gs://bucket/logs/a")
    with tf.Session() as session:
        writer.add_summary(session.run(tf.summary.scalar("x", 1.0)), 1)
    writer.close()
    (name,) = tf.gfile.Glob("gs://bucket/logs/a/*")
    assert name.startswith("gs://bucket/logs/a/events")
    assert [event.step for event in tf.train.summary_iterator(name)] == [0, 1]

    other = tf.contrib.summary.create_file_writer("gs://bucket/logs/b")
    tf.train.get_or_create_global_step()
    with other.as_default(), tf.contrib.summary.always_record_summaries():
        scalar = tf.contrib.summary.scalar("x", 1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(other.init())
        session.run(scalar)
        session.run(other.flush())
    assert len(tf.gfile.Glob("gs://bucket/logs/b/*")) == 1


def test_a_lookup_table(bucket):
    write("gs://bucket/vocab.txt", "a\nb\n")
    whole, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    rows = tf.lookup.TextFileInitializer(
        "gs://bucket/vocab.txt", tf.string, whole, tf.int64, number
    )
    found = tf.lookup.StaticHashTable(rows, -1).lookup(tf.constant(["b", "a"]))
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        assert list(session.run(found)) == [1, 0]


def line_model(features, labels, mode):
    line = tf.layers.dense(features["x"], 1, kernel_initializer=tf.ones_initializer())
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": line})
    loss = tf.losses.mean_squared_error(labels, line)
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def numbers():
    lines = tf.data.TextLineDataset("gs://bucket/numbers.txt").map(tf.string_to_number)
    pairs = lines.map(lambda x: ({"x": tf.reshape(x, [1])}, tf.reshape(2 * x, [1])))
    return pairs.repeat().batch(2, drop_remainder=True)


def test_an_estimator(bucket):
    write("gs://bucket/numbers.txt", "1\n2\n3\n4\n")
    estimator = tf.estimator.Estimator(line_model, model_dir="gs://bucket/runs/1")
    estimator.train(numbers, steps=3)
    again = tf.estimator.Estimator(line_model, model_dir="gs://bucket/runs/1")
    loss = again.evaluate(numbers, steps=2)
    assert loss["global_step"] == 3
    inputs = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"x": tf.placeholder(tf.float32, [None, 1])}
    )
    exported = tensorflow.compat.as_str(again.export_saved_model("gs://bucket/export", inputs))
    assert exported.startswith("gs://bucket/export/")
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.loader.load(session, ["serve"], exported)
    for name in files(bucket):
        # The training graph, written beside the checkpoints, has the local name of its input as a constant.
        if name.startswith("export") or name.endswith("checkpoint"):
            assert str(bucket).encode() not in (bucket / name).read_bytes(), name


def test_keras(bucket):
    tf.keras.backend.clear_session()
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    model.compile("sgd", "mse")
    callbacks = [
        tf.keras.callbacks.ModelCheckpoint("gs://bucket/k/epoch-{epoch}.h5"),
        tf.keras.callbacks.TensorBoard("gs://bucket/k/logs"),
    ]
    model.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0, callbacks=callbacks)
    weights = model.get_weights()
    for path, options in (("w.h5", {}), ("w.ckpt", {"save_format": "tf"})):
        model.save_weights("gs://bucket/k/" + path, **options)
        model.set_weights([0 * value for value in weights])
        model.load_weights("gs://bucket/k/" + path)
        for old, new in zip(weights, model.get_weights()):
            np.testing.assert_array_equal(old, new)
    model.save("gs://bucket/k/model.h5")
    loaded = tf.keras.models.load_model("gs://bucket/k/model.h5")
    for old, new in zip(weights, loaded.get_weights()):
        np.testing.assert_array_equal(old, new)
    assert {"k/epoch-1.h5", "k/w.h5", "k/w.ckpt.index", "k/model.h5"} <= set(files(bucket))


@pytest.mark.skipif(TF1, reason="TensorFlow 1.x reads datasets in graphs")
def test_eagerly(bucket):
    write("gs://bucket/a/x.txt", "one\ntwo\n")
    with private.eager_mode():
        paths = tensorflow.io.matching_files("gs://bucket/*/x.txt")
        assert paths.numpy().tolist() == [b"gs://bucket/a/x.txt"]
        assert tensorflow.io.read_file(paths[0]).numpy() == b"one\ntwo\n"
        lines = tensorflow.data.TextLineDataset("gs://bucket/a/x.txt")
        assert [line.numpy() for line in lines] == [b"one", b"two"]
        checkpoint = tensorflow.train.Checkpoint(v=tensorflow.Variable([1.0, 2.0]))
        path = checkpoint.save("gs://bucket/deep/down/ck")
        assert path == "gs://bucket/deep/down/ck-1"
        checkpoint.v.assign([0.0, 0.0])
        checkpoint.restore(path)
        assert checkpoint.v.numpy().tolist() == [1, 2]
        module = tensorflow.Module()
        module.v = tensorflow.Variable(3.0)
        tensorflow.saved_model.save(module, "gs://bucket/export")
        assert tensorflow.saved_model.load("gs://bucket/export").v.numpy() == 3
        writer = tensorflow.summary.create_file_writer("gs://bucket/logs")
        with writer.as_default():
            tensorflow.summary.scalar("x", 1.0, step=1)
        writer.close()
    assert any(name.startswith("logs/events") for name in files(bucket))


def test_without_the_mapping_the_functions_are_tensorflow_s_own(bucket):
    row = private.path_functions()[0]
    assert hasattr(getattr(row.owner, row.name), "__wrapped__")
    redirection.uninstall()
    assert not hasattr(getattr(row.owner, row.name), "__wrapped__")
    assert redirection._active is None
