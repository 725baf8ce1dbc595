"""Which functions of Keras' backend take tensors and no variables, as ``migrate`` knows them."""

from __future__ import annotations

import inspect
import sys

import pytest
import tensorflow as tf

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

from tpucompat.base.releases import release_of
from tpucompat.commands.analysis import keras_3_values

pytestmark = pytest.mark.skipif(
    release_of(tf.__version__) < (2, 16), reason="what is written is Keras 3, which came with 2.16"
)


def _fails(function, value):
    try:
        function(value)
    except Exception:
        return True
    return False


def _of_one_value(function):
    parameters = list(inspect.signature(function).parameters.values())
    is_alone = all(one.default is not one.empty for one in parameters[1:])
    return bool(parameters) and parameters[0].name == "x" and is_alone


def test_every_function_that_refuses_a_variable_is_known():
    layer = tf.keras.layers.Dense(2)
    layer.build((None, 2))
    functions = {name: getattr(tf.keras.backend, name) for name in dir(tf.keras.backend)}
    found = {
        name
        for name, function in functions.items()
        if inspect.isfunction(function) and not name.startswith("_") and _of_one_value(function)
        if _fails(function, layer.kernel)
        if not _fails(function, tf.convert_to_tensor(layer.kernel))
    }
    assert found == keras_3_values.TAKE_TENSORS
