"""The same with the Keras of the installed TensorFlow, on emulated cores: how ``verify`` runs what is migrated."""
import os

import numpy as np

os.environ['TPUCOMPAT_CORES'] = '8'
from tpucompat.engines import accelerator  # noqa: E402

accelerator.prepare()
import tensorflow as tf  # noqa: E402

strategy = tf.distribute.MirroredStrategy([f'/cpu:{core}' for core in range(8)])
x = np.arange(640, dtype='float32').reshape(64, 10) / 640
y = (np.arange(64) % 3).astype('float32').reshape(64, 1)
before = x.copy(), y.copy()


def parts():
    while True:
        for index in range(4):
            yield x[16 * index:16 * index + 16], y[16 * index:16 * index + 16]


class Parts(tf.keras.utils.Sequence):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return x[16 * index:16 * index + 16], y[16 * index:16 * index + 16]


def check(what):
    assert np.array_equal(x, before[0]) and np.array_equal(y, before[1]), what


with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((10,)), tf.keras.layers.Dense(4, 'relu'), tf.keras.layers.Dense(1)])
    model.compile('sgd', 'mse')
model.fit(Parts(), epochs=2, verbose=0, validation_data=Parts())
check('a PyDataset')
model.fit(parts(), steps_per_epoch=4, epochs=2, verbose=0)
check('a generator')
print('KEPT')
