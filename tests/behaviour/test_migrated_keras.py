"""Old programs of Keras, and what ``migrate`` makes of them for plain Python: both tell the same."""

from __future__ import annotations

import pytest
import tensorflow as tf
from migrated_cases import check

from tpucompat.base.releases import release_of

pytestmark = pytest.mark.skipif(
    release_of(tf.__version__) < (2, 16), reason="what is written is Keras 3, which came with 2.16"
)
MODULES = """
import importlib
import json
import numpy as np
import tensorflow as tf

def get_keras():
    from tensorflow import keras
    return keras

keras_of_globals = None
def load():
    global keras_of_globals
    from tensorflow import keras
    keras_of_globals = keras

try:
    from nowhere import keras as tried
except ImportError:
    from tensorflow import keras as tried
USES_TENSORFLOW = True
if USES_TENSORFLOW:
    chosen = tf.keras
else:
    import keras as chosen

class Base(object):
    optimizer = tf.keras.optimizers.SGD
    def library(self):
        return tf.keras
    @property
    def backend(self):
        return tf.keras.backend

class Trainer(Base):
    def __init__(self):
        self.keras, self.layers = get_keras(), tf.keras.layers
    def build(self):
        model = self.keras.models.Sequential([
            self.layers.Dense(2, input_shape=(3,), kernel_initializer='ones'),
            self.library().layers.LeakyReLU(alpha=0.5)])
        model.compile(self.optimizer(lr=0.1, decay=0.5), 'mse', metrics=['accuracy'])
        return model

load()
trainer = Trainer()
model = trainer.build()
x, y = np.ones((8, 3), 'float32'), np.ones((8, 2), 'float32')
told = [model.fit(x, y, epochs=2, verbose=0).history]
told += [trainer.backend.int_shape(model.output), get_keras().backend.int_shape(model.output)]
model.save_weights('weights.h5')
by_name, K = importlib.import_module('tensorflow.keras'), getattr(tf, 'keras').backend
made = [by_name.layers.LeakyReLU(alpha=0.25), get_keras().layers.LeakyReLU(alpha=0.25)]
made += [keras_of_globals.layers.LeakyReLU(alpha=0.25), tried.layers.LeakyReLU(alpha=0.25)]
made += [chosen.layers.LeakyReLU(alpha=0.25), trainer.keras.layers.LeakyReLU(alpha=0.25)]
told += [K.eval(layer(K.constant([-1.0, 2.0]))).tolist() for layer in made]
optimizers = {'sgd': tf.keras.optimizers.SGD, 'adam': tf.keras.optimizers.Adam}
rates = [optimizers[name](lr=0.5) for name in sorted(optimizers)]
rates += [each(lr=0.25) for each in (tf.keras.optimizers.SGD, tf.keras.optimizers.Adam)]
for name in ('SGD', 'Adam'):
    optimizer = getattr(tf.keras.optimizers, name)(lr=0.125)
    told.append(float(K.get_value(optimizer.lr)))
told += [float(K.get_value(optimizer.lr)) for optimizer in rates]
print('TOLD', json.dumps(told, default=float))
"""


def test_keras_under_names_that_are_no_imports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    then, _ = check(tmp_path, MODULES)
    assert [*then[0]] == ["loss", "acc"] or [*then[0]] == ["acc", "loss"]
    assert then[-1] == 0.25 and then[3] == [-0.25, 2.0]
