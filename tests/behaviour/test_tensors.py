"""What 1.15 has for tensors, and another release lacks."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tpucompat.standins import tensors

v1 = tf.compat.v1
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.mark.parametrize("own", [True, False], ids=["TensorFlow's", "ours"])
@pytest.mark.parametrize("repeats, axis", [(3, 0), (2, 1), ([2, 0, 1], 0), ([1, 3], 1)])
def test_parts_are_repeated(monkeypatch, own, repeats, axis):
    if not own:
        monkeypatch.delattr(v1, "repeat", raising=False)
    elif not hasattr(v1, "repeat"):
        pytest.skip("came with 2.1")
    array = np.arange(6, dtype=np.int64).reshape(3, 2)
    with v1.Session() as session:
        found = session.run(tensors.repeat(v1.constant(array), repeats, axis))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, np.repeat(array, repeats, axis))


def test_the_class_of_a_graph_s_tensors():
    from tpucompat.runtime import namespace
    from tpucompat.tf import private

    old = namespace.V1.lookup
    assert old("", "Tensor") is old("python.framework.ops", "Tensor")
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32)
        assert type(x) is type(x + 1) is old("", "Tensor")
        assert not isinstance(v1.get_variable("v", []), old("", "Tensor"))
    with private.eager_mode():
        value = tf.constant(0)
        assert isinstance(value, old("", "Tensor"))


EAGER = """
import tensorflow as tf
tf.enable_eager_execution()
value = tf.constant(1.0)
def taken_in(x):
    assert isinstance(x, tf.Tensor) and isinstance(value, tf.Tensor)
    return x + value
print(float(tf.contrib.eager.defun(taken_in)(value)), end="")
"""
SLIM = """
import tensorflow as tf
import tf_slim
tf.random.set_seed(1)
print(tf.function(lambda x: x + 1)(tf.constant(1.0)).numpy(), end="")
"""


def test_a_specification_has_its_sizes():
    class Named(tf.TensorSpec):
        pass

    assert Named([2, None])._shape_tuple == (2, None)
    assert tf.TensorSpec(None)._shape_tuple is None
    assert tf.TensorSpec([])._shape_tuple == ()


@pytest.mark.skipif(
    tf.__version__.startswith("1."), reason="TensorFlow 1.x has one class and its own slim"
)
@pytest.mark.parametrize("script", [EAGER, SLIM], ids=["taken in", "TensorFlow 2's with tf-slim"])
def test_programs_that_compute_at_once(tmp_path, script):
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--quiet", "script.py"],
        cwd=str(tmp_path),
        env=dict(os.environ, PYTHONPATH=ROOT, CUDA_VISIBLE_DEVICES="-1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert (done.returncode, done.stdout) == (0, "2.0"), done.stderr[-3000:]


@pytest.mark.parametrize(
    # TensorFlow 1.15.5: sess.run(tf.math.bessel_i0([0.5, -2.0])), and the same of bessel_i1.
    "name, expected",
    [("bessel_i0", [1.0634835, 2.2795851]), ("bessel_i1", [0.25789434, -1.5906368])],
)
def test_bessel_functions_of_operations_that_a_tpu_has(name, expected):
    from tpucompat.engines import xla_operations
    from tpucompat.runtime import namespace

    with tf.Graph().as_default() as graph, v1.Session() as session:
        found = namespace.V1.lookup("math", name)([0.5, -2.0])
        np.testing.assert_allclose(session.run(found), expected, rtol=3e-7)
        assert xla_operations.refused(graph.as_graph_def()) == []
