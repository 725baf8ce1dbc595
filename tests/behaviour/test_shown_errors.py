"""TensorFlow's own errors, as a script ends with them: the words that are left, and the script's line."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow

import tpucompat.v1 as tpucompat_v1
from tpucompat.base import package
from tpucompat.runtime import advice, failures, tracebacks
from tpucompat.tf import private

tf = tensorflow.compat.v1
HERE = os.path.basename(__file__)


def shown(error):
    """(the error in a few lines, its code)."""
    place = failures.place_of(error)
    text = failures.shortened(error, error.__traceback__, "trace.txt", place)
    found = advice.for_error(type(error).__name__, str(error))
    return text, found.code if found else ""


def line_of(mark):
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.endswith(f"# {mark}\n"))


def test_a_label_out_of_range_is_told_with_the_line_of_the_loss():
    logits = tf.zeros([2, 3])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 7], logits=logits)  # loss
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(loss)
    text, code = shown(caught.value)
    assert len(text.splitlines()) <= failures.LINES
    assert "Received a label value of 7" in text and "Original stack trace" not in text
    assert f"{HERE}:{line_of('loss')}: loss = " in text
    assert code == "TPU478"


def test_an_element_of_a_data_set_is_told_with_the_line_of_its_function():
    """Not with that of the graph's operation that has the same name as the node."""

    def parse(text):
        values = tf.decode_raw(text, tf.uint8)
        return tf.reshape(values, [2, 4])[0]  # parse

    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.from_tensors(tf.constant(b"123456")).map(parse)
        x = tf.data.make_one_shot_iterator(data).get_next()
        y = tf.reshape(x, [4, 1])
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(y)
    text, _ = shown(caught.value)
    assert "a tensor with 6 values" in text
    assert f"{HERE}:{line_of('parse')}: return tf.reshape" in text


@pytest.mark.parametrize("name", ["random.set_seed", "optimizers"])
def test_a_name_that_came_with_tensorflow_2_leads_to_its_era(name):
    with pytest.raises(AttributeError) as caught:
        value = tpucompat_v1
        for part in name.split("."):
            value = getattr(value, part)
    found = advice.for_error("AttributeError", str(caught.value))
    assert "--era tf2" in (str(found) if found else str(caught.value))


def test_a_name_that_is_misspelled_has_no_other_era():
    with pytest.raises(AttributeError) as caught:
        tpucompat_v1.random.set_sed(3)
    assert "era" not in str(advice.for_error("AttributeError", str(caught.value)))


def test_labels_of_another_rank():
    with pytest.raises(ValueError) as caught:
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 1]], logits=tf.zeros([1, 3]))
    assert shown(caught.value)[1] == "TPU479"


def test_an_array_that_does_not_fit_its_placeholder():
    x = tf.placeholder(tf.float32, [None, 4])
    with tf.Session() as session, pytest.raises(ValueError) as caught:
        session.run(x, {x: np.zeros([2, 5])})
    assert shown(caught.value)[1] == "TPU480"


def test_a_batch_that_cannot_be_split():
    x = tf.placeholder(tf.float32, [None])
    parts = tf.split(x, 8)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(parts, {x: np.zeros(10)})
    assert shown(caught.value)[1] == "TPU489"


def test_data_without_a_batch():
    rows = tf.data.Dataset.from_tensors((np.ones(3), np.ones(1))).batch(2, drop_remainder=True)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError) as caught:
        model.fit(rows, epochs=1, verbose=0)
    assert shown(caught.value)[1] == "TPU490"


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.numpy(),
        lambda x: float(x),
        lambda x: list(tf.data.Dataset.range(3)),
    ],
)
def test_a_value_of_a_graph(use):
    x = tf.constant(1.0)
    with pytest.raises(Exception) as caught:
        use(x)
    assert shown(caught.value)[1] == "TPU491"


@pytest.mark.parametrize(
    "use",
    [
        lambda x: tf.placeholder(tf.float32),
        lambda x: tf.gradients(x, x),
        lambda x: tf.Session().run(x),
        lambda x: tf.data.make_initializable_iterator(tf.data.Dataset.range(3)),
        lambda x: tf.train.AdamOptimizer().minimize(x),
        lambda x: x.eval(),
        lambda x: x.graph,
    ],
)
def test_a_graph_in_eager_code(use):
    with private.eager_mode(), pytest.raises(Exception) as caught:
        use(tf.constant([1.0]))
    assert shown(caught.value)[1] == "TPU492"


@pytest.mark.parametrize("resource", [False, True])
def test_a_variable_without_a_value(resource):
    variable = tf.get_variable("w", [3], use_resource=resource)
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError) as caught:
        session.run(variable + 1)
    text, code = shown(caught.value)
    assert code == "TPU481" and len(text.splitlines()) <= failures.LINES


def test_a_generator_that_raises_is_told_with_its_own_line():
    def rows():
        yield 1.0
        raise ValueError("row 1 is bad")  # generator

    row = tf.data.Dataset.from_generator(rows, tf.float32).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        session.run(row)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(row)
    text, code = shown(caught.value)
    assert len(text.splitlines()) <= failures.LINES
    assert "row 1 is bad" in text
    assert f"{HERE}:{line_of('generator')}: raise ValueError" in text
    assert code == "TPU482"


def test_an_input_that_ends():
    row = tf.data.Dataset.range(1).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        session.run(row)
        with pytest.raises(tf.errors.OutOfRangeError) as caught:
            session.run(row)
    assert shown(caught.value)[1] == "TPU336"


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.OpError) as caught:
        tf.gfile.MakeDirs(str(tmp_path / "file" / "model"))
    import traceback

    line = traceback.extract_tb(caught.value.__traceback__)[-1].line
    found = advice.for_error(type(caught.value).__name__, str(caught.value), line=line)
    assert found.code == "TPU476"


def test_a_checkpoint_that_cannot_be_written_is_told_with_the_line_that_saves():
    tf.get_variable("w", [1])
    saver = tf.train.Saver()
    with tf.Session() as session, pytest.raises(ValueError) as caught:
        session.run(tf.global_variables_initializer())
        saver.save(session, "/no/such/folder/model")  # save
    text, code = shown(caught.value)
    assert f"{HERE}:{line_of('save')}: saver.save" in text
    assert code == "TPU476"


def test_lines_of_ours_between_are_left_out_but_not_where_an_error_is_raised():
    ours = {}
    text = "def call(function):\n    return function()\ndef fail():\n    raise KeyError\n"
    exec(compile(text, os.path.join(package.FOLDER, "between.py"), "exec"), ours)

    def fails():
        return {}["nothing"]

    def files(function, **options):
        with pytest.raises(KeyError) as caught:
            ours["call"](function)
        found = tracebacks.files(tracebacks.strip(caught.value.__traceback__, **options))
        return [os.path.basename(file) for file in found]

    assert files(fails) == [HERE, "between.py", HERE]
    assert files(fails, between=True) == [HERE, HERE]
    assert files(ours["fail"], between=True) == [HERE, "between.py", "between.py"]


ESTIMATOR = """
import numpy as np
import tensorflow as tf

def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features, 10)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, loss=loss, train_op=train_op)

def input_fn(params):
    rows = np.ones([64, 4], np.float32), np.arange(64, dtype=np.int32) % 10 + 7
    return tf.data.Dataset.from_tensor_slices(rows).repeat().batch(params["batch_size"], True)

config = tf.contrib.tpu.RunConfig(tpu_config=tf.contrib.tpu.TPUConfig(2))
estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, use_tpu=True, train_batch_size=16)
estimator.train(input_fn, max_steps=4)
"""


@pytest.mark.long
@pytest.mark.skipif(tensorflow.__version__ < "2", reason="several cores need TensorFlow 2")
def test_a_failed_step_on_8_cores_is_told_with_the_line_of_the_model_function(tmp_path):
    """The step's graphs are replayed ones, whose operations know nothing of the script."""
    (tmp_path / "script.py").write_text(ESTIMATOR)
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--cores", "8", "script.py"],
        cwd=str(tmp_path),
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))),
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=300,
    )
    _, _, error = done.stderr.partition("── tpucompat")[0].partition("\nTraceback")
    assert done.returncode == 1
    assert 0 < len(error.splitlines()) <= failures.LINES
    assert "tpucompat: at script.py:8: tf.nn.sparse_softmax" in error
    assert error.rstrip().endswith("[TPU478]")
    assert 'File "/' not in done.stderr.partition("\nTraceback")[0]  # nor in what was logged
