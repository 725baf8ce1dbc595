"""Old symbols give TensorFlow 1.15's results: tests/contrib_cases against recorded numbers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import contrib_cases  # noqa: E402

from tpucompat.base.machine import environment  # noqa: E402

pytestmark = pytest.mark.skipif(
    (environment().release or (0, 0)) < (1, 15),
    reason="tf.contrib is TensorFlow's own there, of an earlier release than the recorded numbers",
)

REFERENCE = ROOT / "tests" / "data" / "contrib_reference.npz"
RECORDER = ROOT / "tools" / "record_contrib_reference.py"

# float32 rounding, relative and absolute: newer kernels sum in another order.
ROUNDING = 5e-6
# Looser ones, each with its reason: a case, or a part of one. "One unit" is what the results move by where each
# input is moved by a unit of its last digit, the most over six draws (record_contrib_reference.py --units):
# other processors round inside as well, so three times that is allowed.
LOOSER = {
    # Gradients of squares through two steps of 3x3 convolutions. One unit: 5.9e-6; AVX2 without
    # oneDNN: 5.9e-6, with it 2.4e-6, with it on SSE4.1 4.6e-6.
    "rnn/convolutional": 1.8e-5,
    "seq2seq/attention": 1e-5,  # gradients of squares through several steps
}


def _cases():
    return sorted({"/".join(key.split("/")[:2]) for key in contrib_cases.load(REFERENCE)})


def _run(python, tensorflow, out):
    """Runs all cases in a process of their own and gives their results."""
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    environment.pop("TPUCOMPAT_CORES", None)
    # TensorFlow 2 sets it for its own process, and TensorFlow 1.15 would obey it.
    environment.pop("TF2_BEHAVIOR", None)
    done = subprocess.run(
        [python, str(RECORDER), "--tensorflow", tensorflow, "--out", str(out)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout.decode()[-3000:]
    return contrib_cases.load(out)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    out = tmp_path_factory.mktemp("contrib") / "results.npz"
    return _run(sys.executable, "tpucompat.v1", out)


@pytest.fixture(scope="module")
def reference():
    return contrib_cases.load(REFERENCE)


def _of(case, values):
    return {
        key: value for key, value in values.items() if key.startswith(case + "/") or key == case
    }


def _assert_same(case, expected, found):
    assert not any(key.endswith("/error") for key in found), found.get(case + "/error")
    assert sorted(found) == sorted(expected)
    for key, value in sorted(expected.items()):
        assert found[key].dtype.kind == "U" or found[key].dtype == value.dtype, key
        if value.dtype.kind in "fc":
            tolerance = next((v for k, v in LOOSER.items() if key.startswith(k)), ROUNDING)
            np.testing.assert_allclose(
                found[key], value, rtol=tolerance, atol=tolerance, err_msg=key
            )
        else:
            np.testing.assert_array_equal(found[key], value, err_msg=key)


@pytest.mark.parametrize("case", _cases())
def test_gives_the_numbers_of_tensorflow_1(case, reference, results):
    _assert_same(case, _of(case, reference), _of(case, results))


def test_every_case_was_recorded(reference, results):
    assert {k: str(v) for k, v in results.items() if k.endswith("/error")} == {}
    assert sorted(results) == sorted(reference)


@pytest.mark.long  # changes with the recorder alone
@pytest.mark.reference
def test_the_recorded_numbers_are_those_of_tensorflow_1(tmp_path, reference):
    python = os.environ.get("TPUCOMPAT_TF115_PYTHON")
    if not python:
        pytest.skip("TPUCOMPAT_TF115_PYTHON names no Python with TensorFlow 1.15")
    fresh = _run(python, "tensorflow", tmp_path / "fresh.npz")
    assert {k: str(v) for k, v in fresh.items() if k.endswith("/error")} == {}
    assert sorted(fresh) == sorted(reference)
    for case in _cases():
        _assert_same(case, _of(case, reference), _of(case, fresh))


PACKAGES = """
import tensorflow as tf
from tensorflow.contrib.eager.python import tfe
from tensorflow.contrib.learn.python.learn import learn_runner
import tensorflow.contrib.eager
assert tfe.Variable is tf.contrib.eager.Variable is tensorflow.contrib.eager.Variable
assert learn_runner.run.__name__ == tf.contrib.learn.learn_runner.run.__name__ == "run"
print("found")
"""


def _run_script(python, script):
    """The words that a script prints through ``tpucompat run``."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT), TF_CPP_MIN_LOG_LEVEL="3")
    environment.pop("TF2_BEHAVIOR", None)
    done = subprocess.run(
        [python, "-m", "tpucompat", "run", "--quiet", str(script)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return done.stdout.decode().split()


@pytest.mark.parametrize("release", ["this", "1.15"])
def test_packages_whose_names_pass_for_another_module(tmp_path, release):
    """``tf.contrib.eager`` of 1.15 is one of the modules below the package of this name."""
    python = sys.executable if release == "this" else os.environ.get("TPUCOMPAT_TF115_PYTHON")
    if not python:
        pytest.skip("TPUCOMPAT_TF115_PYTHON names no Python with TensorFlow 1.15")
    script = tmp_path / "packages.py"
    script.write_text(PACKAGES)
    assert _run_script(python, script) == ["found"]


SLIM = """
import tf_slim as slim
from tf_slim import losses
import tensorflow as tf
x = tf.ones([2, 8, 8, 3])
with slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm, weights_initializer=tf.ones_initializer()):
    x = slim.max_pool2d(slim.conv2d(x, 4, 3, scope="conv"), 2)
x = slim.fully_connected(slim.flatten(x), 2, activation_fn=None, weights_initializer=tf.ones_initializer())
loss = losses.softmax_cross_entropy(x, tf.one_hot([0, 1], 2))
step = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
assert slim.arg_scope is tf.contrib.slim.arg_scope
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(round(float(session.run(step)), 5))
"""


@pytest.mark.skipif(
    (environment().release or (0, 0)) < (2, 0), reason="TensorFlow 1.x has its own slim"
)
def test_slim_by_the_name_of_its_package(tmp_path):
    """Programs of 2020 import tf-slim themselves, which works on no TensorFlow of today as it is."""
    script = tmp_path / "slim.py"
    script.write_text(SLIM)
    assert _run_script(sys.executable, script) == ["0.69315"]


def test_a_decoder_in_a_tpu_s_computation_gives_as_many_steps_as_it_may_take():
    """XLA knows no array that grows: TensorFlow 1.15 made one of maximum_iterations there."""
    import tensorflow.compat.v1 as tf

    from tpucompat.contrib import seq2seq
    from tpucompat.tf import private

    class Counting(seq2seq.Decoder):
        batch_size, output_size, output_dtype = 2, tf.TensorShape([]), tf.float32

        def initialize(self, name=None):
            return tf.fill([2], False), tf.ones([2]), tf.zeros([2])

        def step(self, time, inputs, state, name=None):
            state = state + inputs
            return state, state, inputs, tf.fill([2], time >= 1)

    lengths = {}
    for name, context in (("host", contextlib.nullcontext()), ("tpu", private.XlaContext())):
        with tf.Graph().as_default(), tf.Session() as session:
            with context:
                outputs, _, steps = seq2seq.dynamic_decode(Counting(), maximum_iterations=4)
            wanted = [tf.identity(outputs), tf.identity(steps)]  # nobody fetches what is inside
            lengths[name] = [part.tolist() for part in session.run(wanted)]
    assert lengths["host"] == [[[1, 2], [1, 2]], [2, 2]]
    assert lengths["tpu"] == [[[1, 2, 0, 0], [1, 2, 0, 0]], [2, 2]]
    refused = pytest.raises(ValueError, match=r"TPU393.*maximum_iterations")
    with tf.Graph().as_default(), private.XlaContext(), refused:
        seq2seq.dynamic_decode(Counting())
