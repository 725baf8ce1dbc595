"""Patterns of files in a folder that is not there raise, with what TensorFlow 1.15.5 says."""

import os
import subprocess
import sys
import textwrap

import pytest
import tensorflow
from hypothesis import given
from hypothesis import strategies as st

from tpucompat.engines import missing_folders
from tpucompat.tf import private

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture(scope="module")
def v1():
    import tpucompat.v1 as tf

    return tf


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with one that is empty, one with a file, and a file."""
    for name in ("empty", "full"):
        (tmp_path / name).mkdir()
    for name in ("full/train-0", "file"):
        (tmp_path / name).write_text("a line\n")
    monkeypatch.chdir(tmp_path)


# What TensorFlow 1.15.5 gives for tf.gfile.Glob and tf.matching_files alike: files, or what is not there.
FOUND = {
    "full/train-*": ["full/train-0"],
    "empty/train-*": [],
    "no*/train-0": [],
    "no?ne/train-0": [],
    "n[o]/train-0": [],
    "train-*": [],
    "": [],
}
MISSING = {
    "none/train-*": "none",
    "none/train-0": "none",
    "none/": "none",
    "none/deep/train-*": "none/deep",
    "full/../none/*": "full/../none",
    "none//train-*": "none/",
}


@pytest.mark.parametrize("glob", ["gfile.Glob", "io.gfile.glob", "compat.v1.gfile.Glob"])
@pytest.mark.parametrize("pattern", list(FOUND))
def test_glob_finds_the_files_of_a_folder(v1, glob, pattern):
    assert _of(v1, glob)(pattern) == FOUND[pattern]


@pytest.mark.parametrize("glob", ["gfile.Glob", "io.gfile.glob", "compat.v1.gfile.Glob"])
@pytest.mark.parametrize("pattern", list(MISSING))
def test_glob_of_a_missing_folder_raises(v1, glob, pattern):
    with pytest.raises(v1.errors.NotFoundError, match=f"^{MISSING[pattern]}; No such file"):
        _of(v1, glob)(pattern)
    with pytest.raises(v1.errors.NotFoundError, match=f"^{MISSING[pattern]}; No such file"):
        _of(v1, glob)(["full/*", pattern])


def test_glob_below_a_file_raises(v1):
    with pytest.raises(v1.errors.FailedPreconditionError, match="^file; Not a directory"):
        v1.gfile.Glob("file/*")


def test_private_modules_of_files_raise_too(v1):
    code = """
    from tensorflow.python.lib.io import file_io
    from tensorflow.python.platform import gfile
    import tensorflow as tf

    for find in (gfile.Glob, file_io.get_matching_files, file_io.get_matching_files_v2):
        try:
            print(find("none/*"))
        except tf.errors.NotFoundError as error:
            print(error.message)
    """
    assert _run(code).stdout.splitlines() == ["none; No such file or directory"] * 3


@pytest.mark.parametrize("pattern", [name for name in FOUND if name])
def test_the_operation_finds_the_files_of_a_folder(v1, pattern):
    with v1.Graph().as_default(), v1.Session() as session:
        found = session.run(v1.matching_files(pattern)).tolist()
    assert [name.decode() for name in found] == FOUND[pattern]


@pytest.mark.parametrize("patterns", ["full/*", ["full/*", "empty/*"]])
def test_a_folder_that_is_there_makes_no_more_operations(v1, patterns):
    with v1.Graph().as_default() as graph:
        v1.matching_files(patterns)
        assert [node.type for node in graph.get_operations()] == ["Const", "MatchingFiles"]


def test_a_pattern_that_is_computed_is_left_alone(v1):
    with v1.Graph().as_default(), v1.Session() as session:
        fed = v1.placeholder(v1.string, [])
        found = v1.matching_files([fed, "full/*"])
        assert session.run(found, {fed: "full/train-0"}).tolist() == [b"full/train-0"] * 2


@pytest.mark.parametrize("pattern", list(MISSING))
def test_the_operation_raises_when_it_runs(v1, pattern):
    with v1.Graph().as_default(), v1.Session() as session:
        operations = [v1.matching_files(pattern), v1.matching_files(["full/*", pattern])]
        for operation in operations:
            with pytest.raises(v1.errors.NotFoundError, match="none.*; No such file"):
                session.run(operation)


def test_the_operation_raises_where_it_runs_at_once(v1):
    with private.eager_mode():
        assert tensorflow.io.matching_files("full/*").numpy().tolist() == [b"full/train-0"]
        assert tensorflow.io.matching_files(["empty/*", "full/*"]).numpy().tolist() == [
            b"full/train-0"
        ]
        assert tensorflow.io.matching_files([]).numpy().tolist() == []
        for pattern in ("none/*", ["full/*", "none/*"], tensorflow.constant(["none/*"])):
            with pytest.raises(v1.errors.NotFoundError, match="^none; No such file"):
                tensorflow.io.matching_files(pattern)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("iterator", ["make_one_shot_iterator", "make_initializable_iterator"])
def test_a_data_set_of_a_missing_folders_files_raises(v1, shuffle, iterator):
    def first(pattern):
        with v1.Graph().as_default(), v1.Session() as session:
            made = getattr(v1.data.Dataset.list_files(pattern, shuffle=shuffle), iterator)()
            following = made.get_next()
            if iterator == "make_initializable_iterator":
                session.run(made.initializer)
            return session.run(following)

    assert first("full/train-*") == b"full/train-0"
    with pytest.raises(v1.errors.NotFoundError, match="none; No such file"):
        first("none/train-*")
    # A one-shot iterator leaves out the assertion that something was found, in 1.15 too.
    one_shot = iterator == "make_one_shot_iterator"
    with pytest.raises(v1.errors.OutOfRangeError if one_shot else v1.errors.InvalidArgumentError):
        first("empty/train-*")


def test_a_folder_that_is_made_later_is_looked_into(v1):
    with v1.Graph().as_default():
        operation = v1.matching_files(["later/*", "full/*"])
        os.mkdir("later")
        with v1.Session() as session:
            assert session.run(operation).tolist() == [b"full/train-0"]
        with open("later/train-0", "w", encoding="utf-8"):
            pass
        with v1.Session() as session:  # one session may keep what it has found, as 1.15's does
            assert sorted(session.run(operation).tolist()) == [b"full/train-0", b"later/train-0"]


def test_a_missing_folder_changes_no_seed(v1):
    def drawn(pattern):
        with v1.Graph().as_default(), v1.Session() as session:
            v1.set_random_seed(1)
            v1.matching_files(pattern)
            return session.run(v1.random_uniform([3])).tolist()

    if tuple(map(int, tensorflow.__version__.split(".")[:2])) < (2, 6):
        pytest.skip("before 2.6 TensorFlow counts itself")
    assert drawn("none/train-*") == drawn("full/train-*")


def test_a_script_without_its_data_fails_and_says_so():
    code = """
    import tensorflow as tf

    def input_fn(params):
        files = tf.data.Dataset.list_files("none/train-*")
        lines = files.apply(tf.contrib.data.parallel_interleave(tf.data.TextLineDataset, cycle_length=2))
        return lines.map(lambda line: (tf.ones([2, 1]), tf.ones([2, 1])))

    def model_fn(features, labels, mode, params):
        weight = tf.get_variable("w", [1, 1])
        loss = tf.reduce_mean(tf.square(tf.matmul(features, weight) - labels))
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=step)

    config = tf.contrib.tpu.RunConfig(model_dir="out")
    tf.contrib.tpu.TPUEstimator(model_fn, config=config, train_batch_size=8).train(input_fn, max_steps=2)
    """
    done = _run(code)
    assert done.returncode == 1
    assert "none; No such file or directory" in done.stderr and "TPU444" in done.stderr


_NAMES = st.text("ab.", min_size=1, max_size=3)
_PARTS = st.lists(_NAMES, max_size=3).map("/".join)


@given(_PARTS, st.text("ab*?[", max_size=4), st.sampled_from(["*", "?", "["]))
def test_the_folder_is_what_comes_before_the_first_wildcard(folder, name, wildcard):
    found = missing_folders.folder(os.path.join(folder, wildcard + name))
    assert found == (folder or ".")


@pytest.mark.parametrize("pattern", ["gs://bucket/data/*", "s3://bucket/*", ""])
def test_other_file_systems_are_not_asked(pattern):
    assert missing_folders.folder(pattern) == ""


def test_a_scheme_for_this_machines_files_is_looked_through():
    assert missing_folders.folder("file:///a/b/*") == "/a/b"
    assert missing_folders.folder(b"/x*") == "/"


def _of(module, path):
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _run(code):
    with open("script.py", "w", encoding="utf-8") as script:
        script.write(textwrap.dedent(code))
    command = [sys.executable, "-m", "tpucompat", "run", "script.py"]
    environ = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
    pipe = subprocess.PIPE
    return subprocess.run(
        command, stdout=pipe, stderr=pipe, universal_newlines=True, env=environ, timeout=300
    )
