"""What 1.15 has for tensors, and another release lacks."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tpucompat.legacy import tensors

v1 = tf.compat.v1


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
    from tpucompat import private
    from tpucompat.legacy import namespace

    old = namespace.V1.lookup
    assert old("", "Tensor") is old("python.framework.ops", "Tensor")
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32)
        assert type(x) is type(x + 1) is old("", "Tensor")
        assert not isinstance(v1.get_variable("v", []), old("", "Tensor"))
    with private.eager_mode():
        assert isinstance(tf.constant(0), old("", "Tensor"))
