"""Which functions of Keras' backend take tensors and no variables, as ``migrate`` knows them."""

from __future__ import annotations

import json
import os
import subprocess
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
SCRIPT = """
import inspect, json
import tensorflow as tf

def fails(function, value):
    try:
        function(value)
    except Exception:
        return True
    return False

def takes_one(function):
    parameters = list(inspect.signature(function).parameters.values())
    given = all(one.default is not one.empty for one in parameters[1:])
    return bool(parameters) and parameters[0].name == 'x' and given

layer = tf.keras.layers.Dense(2)
layer.build((None, 2))
found = []
for name in dir(tf.keras.backend):
    function = getattr(tf.keras.backend, name)
    if inspect.isfunction(function) and takes_one(function) and fails(function, layer.kernel):
        if not fails(function, tf.convert_to_tensor(layer.kernel)):
            found.append(name)
print('FOUND', json.dumps(found))
"""


def test_every_function_that_refuses_a_variable_is_known():
    clean = {name: value for name, value in os.environ.items() if name != "TF_USE_LEGACY_KERAS"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=clean, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert set(json.loads(done.stdout.split("FOUND ")[1])) == keras_3_values.TAKE_TENSORS
