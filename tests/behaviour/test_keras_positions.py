"""Arguments of Keras by their positions in TensorFlow 1.15 to 2.1, and by names that they have lost."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys

import pytest

from tpucompat.base.machine import environment
from tpucompat.standins import keras_positions

pytestmark = pytest.mark.skipif(
    (environment().release or (0, 0)) < (2, 0), reason="the arguments have the positions of then"
)

SCRIPT = """
import json
import h5py, numpy as np, tensorflow as tf
K = tf.keras
one = K.Sequential([K.layers.Conv1D(2, 1, 1, 'same', 'channels_last', 1, 'relu', input_shape=(3, 1), name='a')])
one.compile('sgd', 'mse')
x = np.ones((8, 3, 1), 'f')
one.fit(x, np.ones((8, 3, 2), 'f'), 4, 1, 0, None, 0., None, True, None, None, 0, None, None, 1, 10, 1, False)
one.save_weights('w.h5')
two = K.Sequential([one.layers[0].__class__(2, 1, input_shape=(3, 1), name='a'), K.layers.Flatten(),
                    K.layers.Dense(3, name='b')])
two.load_weights('w.h5', True)
one.save('m.h5', True, False, 'h5')
class Wide(K.layers.Conv2D):
    def __init__(self, filters, activation, **kwargs):
        super().__init__(filters, 1, (1, 1), 'valid', None, (1, 1), activation, **kwargs)
wide = Wide(3, 'relu')
class Counting(K.layers.Layer):
    def call(self, inputs):
        self.add_metric(tf.reduce_sum(inputs), 'mean', 'total')
        return inputs
counted = K.Sequential([Counting(input_shape=(3,)), K.layers.Dense(1)])
counted.compile('sgd', 'mse')
K.models.save_model(counted, 'n.h5', True, False, 'h5')
kernels = ['zeros'] * 3
lstm = K.layers.LSTM(4, 'relu', 'sigmoid', True, *kernels, False, *[None] * 7, .1, .2, 1, True).get_config()
cell = K.layers.GRUCell(4, 'relu', 'sigmoid', True, *kernels, *[None] * 6, .1, .2, 1, True).get_config()
print(json.dumps({
    'activation': one.layers[0].activation.__name__,
    'by name': bool(np.all(two.get_weights()[0] == one.get_weights()[0])),
    'saved': sorted(h5py.File('m.h5', 'r').keys()),
    'own layer': [wide.activation.__name__, getattr(wide, 'groups', 1), type(wide).from_config(dict(
        filters=1, activation='tanh')).activation.__name__],
    'config': K.layers.Conv2D.from_config(K.layers.Conv2D(4, 3).get_config()).filters,
    'reduction': [K.losses.SparseCategoricalCrossentropy(True, 'none').reduction,
                  K.losses.BinaryCrossentropy(True, 0, 'sum').reduction],
    'metric': K.metrics.SensitivityAtSpecificity(.5, 10, 'named').name,
    'metrics': [*map(float, counted.fit(np.ones((4, 3)), np.ones((4, 1)), 4, 1, 0).history['total'])],
    'saved with': sorted(h5py.File('n.h5', 'r').keys()),
    'recurrent': [lstm['recurrent_dropout'], lstm['return_sequences'], cell['reset_after']],
    'words': [K.preprocessing.text.text_to_word_sequence(text='a b'),
              len(K.preprocessing.text.one_hot(text='a b c', n=5))],
    'objects': [K.utils.deserialize_keras_object(
                    {'class_name': 'Wide', 'config': {'filters': 1, 'activation': 'tanh'}},
                    {'Wide': Wide}, None, 'layer').filters,
                K.utils.deserialize_keras_object('relu', custom_objects={'relu': 7}),
                sorted(K.utils.serialize_keras_object(instance=K.layers.Dense(3)))],
}))
"""


@pytest.mark.parametrize("era", ["tf1", "tf2"])
def test_arguments_have_the_positions_of_then(era, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--quiet", "--era", era, str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.getcwd(), "CUDA_VISIBLE_DEVICES": "-1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.strip().split("\n")[-1]) == {
        "activation": "relu",
        "by name": True,
        "saved": ["model_weights"],
        "own layer": ["relu", 1, "tanh"],
        "config": 4,
        "reduction": ["none", "sum"],
        "metric": "named",
        "metrics": [12.0],
        "saved with": ["model_weights"],
        "recurrent": [0.2, True, True],
        "words": [["a", "b"], 3],
        "objects": [1, 7, ["class_name", "config"]],
    }


@pytest.mark.parametrize("era", ["tf1", "tf2"])
def test_arguments_and_callbacks_have_the_names_of_then(era, tmp_path):
    program = os.path.join(os.path.dirname(__file__), "programs", "keras_arguments.py")
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--quiet", "--era", era, program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.getcwd(), "CUDA_VISIBLE_DEVICES": "-1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    count, failed = json.loads(done.stdout.strip().split("\n")[-1])
    assert failed == [] and count > 60


def test_the_table_names_what_keras_has():
    import tensorflow as tf

    for name, arguments in keras_positions.table().items():
        found = functools.reduce(getattr, name.split("."), tf.keras)
        assert callable(found) and arguments, name
