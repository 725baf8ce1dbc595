"""Optimizers that old programs make of settings, tables and texts, and what ``migrate`` makes of them."""

from __future__ import annotations

import pytest
import tensorflow as tf
from migrated_cases import check, migrated

from tpucompat.base.releases import release_of

pytestmark = pytest.mark.skipif(
    release_of(tf.__version__) < (2, 16), reason="what is written is Keras 3, which came with 2.16"
)

SETTINGS = """
import functools
import json
import numpy as np
import tensorflow as tf
import tensorflow.keras.optimizers as optimizers
from tensorflow.keras.optimizers import SGD, Adam, Adamax, RMSprop

x = np.linspace(-1, 1, 60).reshape(12, 5).astype('f')
y = (x.sum(1) > 0).astype('f')
told = []
tf.logging.set_verbosity(tf.logging.ERROR)

def train(optimizer):
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(3, activation='tanh', kernel_initializer='ones', input_shape=(5,)),
        tf.keras.layers.Dense(1, kernel_initializer='ones')])
    model.compile(optimizer, 'mse')
    told.append(model.fit(x, y, epochs=2, batch_size=4, shuffle=False, verbose=0).history['loss'])

def make(kind, **settings):
    return kind(**settings)

class Trainer(object):
    def __init__(self, kind=Adam, **settings):
        self.kind = kind
        self.optimizer = kind(**settings)
        self.other = self.kind(lr=0.03, decay=0.5)

TABLE = {'adam': (Adam, {'lr': 0.15, 'epsilon': None}), 'sgd': (SGD, {'lr': 0.2, 'decay': 0.25})}
settings = {'lr': 0.1}
settings['decay'] = 0.125
train(Adam(**settings))
train(SGD(**dict(lr=0.1, momentum=0.5)))
for kind, each in [(SGD, dict(lr=0.1, momentum=0.5)), (Adam, {'lr': 0.02, 'amsgrad': True})]:
    train(kind(**each))
for name in ('adam', 'sgd'):
    chosen, given = TABLE[name]
    train(chosen(**given))
train(make(RMSprop, lr=0.01))
train(Trainer(lr=0.02).optimizer)
train(Trainer().other)
for name, kind in {'adam': Adam, 'sgd': SGD}.items():
    train(kind(lr=0.05))
train((lambda kind: kind(lr=0.01))(Adamax))
for part in [functools.partial(SGD, momentum=0.9), Adam]:
    train(part(lr=0.02))
train(optimizers.get({'class_name': 'SGD', 'config': {'lr': 0.3}}))
train(Adam.from_config({'lr': 0.2}))
print('TOLD ' + json.dumps(told))
"""


def test_settings_that_keras_2_named_otherwise(tmp_path):
    then, after = check(tmp_path, SETTINGS)
    assert len(then) == 16
    assert migrated(after) == after


TEXTS = """
import argparse
import json
import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument('--optimizers', default='sgd,Adagrad,rmsprop')
parser.add_argument('--classes', nargs='*', default=['RMSprop', 'SGD'])
args = parser.parse_args()
x = np.linspace(-0.01, 0.01, 60).reshape(12, 5).astype('f')
y = x.sum(1)
told = []

def train(optimizer):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer='zeros', input_shape=(5,))])
    model.compile(optimizer, 'mse', metrics=['acc'])
    told.append(model.fit(x, y, epochs=2, batch_size=4, shuffle=False, verbose=0).history['loss'])

for name in args.optimizers.split(','):
    train(name)
for name in args.classes:
    train(getattr(tf.keras.optimizers, name)(lr=0.125))
print('TOLD ' + json.dumps(told))
"""


def test_optimizers_named_on_the_command_line(tmp_path):
    then, after = check(tmp_path, TEXTS)
    assert len(then) == 5
    assert "with_outer_epsilon(getattr(tf.keras.optimizers, name))(learning_rate=0.125)" in after
    assert migrated(after) == after


DICTIONARIES = """
import json
import numpy as np
import tensorflow as tf
from tensorflow.keras import callbacks, layers

x = np.linspace(-1, 1, 60).reshape(12, 5).astype('f')
y = (x.sum(1) > 0).astype('f')
FIT = dict(epochs=2, batch_size=4, shuffle=False, verbose=0)
told = []

def train(model, **others):
    history = model.fit(x, y, **others, **FIT).history
    told.append([sorted(history), history['loss']])

def network():
    return tf.keras.Sequential([
        layers.Dense(3, activation='tanh', kernel_initializer='ones', input_shape=(5,)),
        layers.Dense(1, activation='sigmoid', kernel_initializer='ones')])

class Experiment(object):
    defaults = dict(loss='mse', optimizer='adagrad', metrics=['mae'])
    def __init__(self, **others):
        self.settings = dict(self.defaults)
        self.settings.update(others)
        self.model = network()
        self.model.compile(**self.settings)

for others in ({}, {'optimizer': 'rmsprop'}):
    train(Experiment(**others).model)
settings = {'optimizer': tf.keras.optimizers.SGD(lr=0.1), 'loss': 'mse', 'metrics': ['accuracy']}
model = network()
model.compile(**settings)
train(model)
config = {'compile': {'optimizer': 'rmsprop', 'loss': 'mse', 'metrics': ['mae', 'acc']}}
model = network()
model.compile(**config['compile'])
checkpoint = {'filepath': 'weights{epoch}.h5', 'save_weights_only': True, 'period': 1}
common = {'monitor': 'val_acc', 'mode': 'max'}
train(model, validation_data=(x, y), callbacks=[
    callbacks.ModelCheckpoint(**checkpoint), callbacks.EarlyStopping(patience=1, **common)])
model = tf.keras.Sequential([layers.Flatten(input_shape=(5,))])
for kind, given in [(layers.LeakyReLU, {'alpha': 0.3}), (layers.Dropout, {'rate': 0.0})]:
    model.add(kind(**given))
model.add(layers.BatchNormalization(**{'momentum': 0.5, 'fused': False}))
model.add(layers.deserialize(
    {'class_name': 'Dense', 'config': {'units': 1, 'kernel_initializer': 'ones'}}))
model.compile(loss='mse', **{'optimizer': 'sgd', 'metrics': ['accuracy']})
train(model)
print('TOLD ' + json.dumps(told))
"""


def test_arguments_in_dictionaries(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    then, after = check(tmp_path, DICTIONARIES)
    assert then[0][0] == ["loss", "mean_absolute_error"] and then[2][0] == ["acc", "loss"]
    assert "'fused'" not in after and "'period'" not in after
    assert migrated(after) == after
