"""Old programs of Keras, and what ``migrate`` makes of them for plain Python: both tell the same."""

from __future__ import annotations

import pytest
import tensorflow as tf
from migrated_cases import check, migrated

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


ADDED_LOSSES = """
import json
import numpy as np
import tensorflow as tf

features = tf.keras.Input((3,), name='features')
hidden = tf.keras.layers.Dense(4, kernel_initializer='ones', name='hidden')(features)
output = tf.keras.layers.Dense(1, kernel_initializer='ones', name='output')(hidden)
first = tf.keras.layers.Dense(2, kernel_initializer='ones', name='first')(hidden)
second = tf.keras.layers.Dense(2, kernel_initializer='ones', name='second')(first)
third = tf.keras.layers.Dense(2, kernel_initializer='ones', name='third')(hidden)
model = tf.keras.Model(features, output)
told = [len(model.get_weights())]
model.add_metric(tf.reduce_mean(third) + tf.reduce_sum(second), name='sums', aggregation='mean')
told += [[w.name for w in model.weights], model.layers[2].name, model.layers[-1].name]
model.add_loss(tf.reduce_mean(tf.square(second)) + tf.reduce_sum(third))
told += [[w.name for w in model.trainable_weights], model.layers[2].name, model.layers[-1].name]
plain = tf.keras.Sequential([
    tf.keras.layers.Dense(2, kernel_initializer='ones', input_shape=(3,), name='one'),
    tf.keras.layers.Dense(1, kernel_initializer='ones', name='two')])
plain.add_loss(tf.reduce_mean(tf.square(plain.layers[0].output)))
told += [plain.layers[0].name, plain.layers[1].name]
x, y = np.ones((4, 3), 'float32'), np.ones((4, 1), 'float32')
for one in (model, plain):
    one.compile(tf.keras.optimizers.SGD(0.001), 'mse')
    told.append(one.fit(x, y, epochs=2, verbose=0).history)
    told.append([weight.tolist() for weight in one.get_weights()])
    one.save_weights('weights.h5')
    one.set_weights([0 * weight for weight in one.get_weights()])
    one.load_weights('weights.h5')
    told += [one.evaluate(x, y, verbose=0), one.predict(x).tolist(), one.count_params()]
print('TOLD', json.dumps(told, default=float))
"""


def test_the_places_of_layers_and_weights_behind_a_loss_of_a_tensor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    then, _ = check(tmp_path, ADDED_LOSSES)
    names = [name.partition("/")[0] for name in then[1]]
    assert names[::2] == ["hidden", "output", "first", "third", "second"] == names[1::2]


COMPILED_AGAIN = """
import json
import numpy as np
import tensorflow as tf

x, y = np.ones((4, 3), 'float32'), np.ones((4, 1), 'float32')
told = []

def build():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,), kernel_initializer='ones')])
    model.compile('sgd', 'mse', metrics=['accuracy', 'mae'])
    return model

def show(model):
    found = model.evaluate(x, y, verbose=0)
    told.append([model.metrics_names, np.shape(found), np.ravel(found).tolist()])
    return model

def again(model):
    model.compile('sgd', 'mae')

class Holder(object):
    def __init__(self, model):
        self.model = model

model = show(build())
other = model
other.compile('sgd', 'mse')
show(model)
holder = Holder(build())
holder.model.compile('sgd', 'mse')
show(holder.model)
model = build()
again(model)
show(model)
model = build()
model.save('model.h5')
loaded = show(tf.keras.models.load_model('model.h5'))
loaded.compile('sgd', 'mse')
show(loaded)
plain = tf.keras.models.load_model('model.h5', compile=False)
plain.compile('sgd', 'mse')
show(plain)
cloned = tf.keras.models.clone_model(model)
cloned.compile('sgd', 'mse')
show(cloned)
described = tf.keras.models.model_from_json(model.to_json())
described.compile('sgd', 'mse', metrics=['acc'])
show(described)
settings = dict(loss='mse', optimizer='sgd')
model.compile(**settings)
show(model)
for turn in range(3):
    if turn == 1:
        model.compile('sgd', 'mse', metrics=['mae'])
    else:
        model.compile('sgd', 'mse')
    show(model)
print('TOLD', json.dumps(told, default=float))
"""


def test_what_a_model_evaluates_that_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    then, _ = check(tmp_path, COMPILED_AGAIN)
    assert [len(names) for names, _, _ in then] == [3, 1, 1, 1, 3, 1, 1, 1, 2, 1, 1, 2, 1]


LISTED_FILES = """
import glob
import json
import os
import re
from pathlib import Path
import numpy as np
import tensorflow as tf

x, y = np.ones((4, 3), 'float32'), np.ones((4, 1), 'float32')
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,), kernel_initializer='ones')])
model.compile('sgd', 'mse')
for folder in ('every', 'best', 'data'):
    if not os.path.isdir(folder):
        os.makedirs(folder)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
for epoch in range(3):
    model.fit(x, y, verbose=0)
    model.save_weights('every/w-%02d.h5' % epoch)
saving = tf.keras.callbacks.ModelCheckpoint('best/{epoch:02d}.hdf5', save_weights_only=True)
model.fit(x, y, epochs=2, verbose=0, callbacks=[saving])
open('data/a.h5', 'w').close()
told = []

def load(path):
    model.load_weights(path)
    told.append(model.evaluate(x, y, verbose=0))

load(sorted(glob.glob('every/*.h5'))[-1])
load(os.path.join('best', sorted(os.listdir('best'))[0]))
for name in sorted(os.listdir('every')):
    if name.endswith('.h5'):
        load(os.path.join('every', name))
for path in sorted(tf.gfile.Glob('best/*.hdf5')):
    load(path)
latest = max(glob.glob(os.path.join('every', '*.h5')))
told += [os.path.exists('every/w-00.h5'), os.path.basename(latest)[2:-3]]
told += [re.match(r'w-(\\d+)\\.h5', name).group(1) for name in sorted(os.listdir('every'))]
told += [name.replace('.h5', '') for name in sorted(os.listdir('every'))]
told += [name[:-3] for name in sorted(os.listdir('every')) if name[-3:] == '.h5']
told += [name[:-5] for name in sorted(os.listdir('best')) if name[-5:] == '.hdf5']
told += [name.rsplit('.', 1)[0] for name in sorted(os.listdir('best'))]
told += [os.path.splitext(name)[0] for name in sorted(os.listdir('best'))]
told += sorted(path.stem for path in Path('every').glob('*.h5'))
told += [len(glob.glob('data/*.h5')), os.path.exists('best/01.hdf5')]
print('TOLD', json.dumps(told, default=float))
"""


def test_files_of_weights_from_the_list_of_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    then, after = check(tmp_path, LISTED_FILES)
    assert then[7:10] == [True, "02", "00"] and then[-2:] == [1, True]
    assert "glob.glob('data/*.h5')" in after


IDENTIFIERS = """
import json
import numpy as np
import tensorflow as tf
from tensorflow.keras import activations, backend as K, initializers, losses, metrics, optimizers

x = K.constant(np.array([[1.0, 2.0], [3.0, 0.5]]))
y = K.constant(np.array([[0.0, 2.0], [1.0, 0.0]]))
told = []

def named(metric):
    return metrics.get(metric).__name__ if isinstance(metric, str) else metric.__name__

for name in ('mae', 'MSE', 'mean_squared_error', 'mape', 'hinge', 'squared_hinge', 'accuracy',
             'binary_accuracy', 'categorical_accuracy', 'poisson', 'mean_absolute_error'):
    told += [named(name), K.eval(metrics.get(name)(y, x)).tolist()]
told += [named(losses.mean_squared_error), metrics.get('msle').__name__]
for name in ('mse', 'mean_absolute_error', 'hinge'):
    told += [losses.get(name).__name__, K.eval(losses.get(name)(y, x)).tolist()]
told += [K.eval(losses.get('logcosh')(y, x)).tolist()]
told += [K.eval(losses.get('cosine_similarity')(y, x)).tolist()]
told += [K.eval(activations.get('hard_sigmoid')(x)).tolist(), activations.get(None).__name__]
told += [K.eval(activations.get('elu')(-x)).tolist(), activations.get('relu').__name__]
told += [K.eval(metrics.binary_accuracy(y, x)).tolist()]
told += [float(K.eval(K.mean(metrics.binary_accuracy(y, x))))]
optimizer = optimizers.get('sgd')
told += [float(K.get_value(optimizer.lr)), type(optimizer).__name__]
told += [K.eval(initializers.get('Constant')((2,))).tolist()]
print('TOLD', json.dumps(told, default=float))
"""


def test_what_a_name_of_a_metric_loss_or_optimizer_gives(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = IDENTIFIERS.replace("told += [K.eval(losses.get('logcosh')(y, x)).tolist()]\n", "")
    then, after = check(tmp_path, script)
    assert then[:4] == ["mean_absolute_error", [0.5, 1.25], "mean_squared_error", [0.5, 2.125]]
    assert "metric_function(metric).__name__ if" in after
    unnamed = IDENTIFIERS.replace(".__name__", "")
    assert "losses.get('log_cosh')" in migrated("import tensorflow as tf\n" + unnamed)


OWN_METHODS = """
import json
import numpy as np
import tensorflow as tf

class Classifier(object):
    def __init__(self):
        self.model = tf.keras.Sequential([
            tf.keras.layers.Dense(2, activation='softmax', kernel_initializer='ones', input_shape=(3,))])
    def predict_classes(self, x):
        return self.model.predict_classes(x) + 1
    def predict_proba(self, x):
        return self.model.predict_proba(x) / 2
    def fit_generator(self, generator, steps_per_epoch=1):
        return list(generator)[:steps_per_epoch]
    def fit(self, x, nb_epoch=1):
        return nb_epoch
    def to_yaml(self):
        return 'yaml'

class Below(Classifier):
    pass

class Net(tf.keras.Model):
    def __init__(self):
        super(Net, self).__init__()
        self.dense = tf.keras.layers.Dense(2, kernel_initializer='ones')
    def call(self, x):
        return tf.nn.softmax(self.dense(x))
    def predict_classes(self, x):
        return np.argmax(self.predict(x, verbose=0), -1)

class Holder(object):
    def __init__(self, classifier):
        self.classifier = classifier
    def classes(self):
        return self.classifier.predict_classes(x)

def run(classifier):
    found = classifier.fit_generator(iter([1, 2, 3]), steps_per_epoch=2)
    return [classifier.predict_classes(x).tolist(), found]

x = np.ones((4, 3), 'float32')
classifier, others = Classifier(), {'a': Classifier(), 'b': Below()}
told = [classifier.predict_classes(x).tolist(), classifier.predict_proba(x).tolist(), classifier.to_yaml()]
told += [run(classifier), run(Below()), classifier.fit(x, nb_epoch=3), Holder(classifier).classes().tolist()]
told += [one.predict_classes(x).tolist() for one in [Classifier(), Below()]]
told += [others['a'].predict_classes(x).tolist(), [one.predict_proba(x).tolist() for one in others.values()]]
told += [Net().predict_classes(x).tolist(), classifier.model.predict_classes(x).tolist()]
print('TOLD', json.dumps(told, default=float))
"""


def test_methods_of_the_script_with_names_that_keras_had(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    then, after = check(tmp_path, OWN_METHODS)
    assert then[2:4] == ["yaml", [[1, 1, 1, 1], [1, 2]]] and then[5] == 3
    assert "return predict_classes(self.model, x) + 1" in after
    assert "told = [classifier.predict_classes(x).tolist(), classifier.predict_proba(x)" in after


LOSSES_FROM_ELSEWHERE = """
import argparse, json, os
import numpy as np
import tensorflow as tf

class Settings:
    losses = ['cosine_proximity', 'logcosh', 'kullback_leibler_divergence']
    metrics = ['accuracy', 'mse', 'logcosh']

args = argparse.ArgumentParser()
args.add_argument('--loss', default='hinge')
args = args.parse_args([])
x = np.linspace(-1, 1, 24).reshape(6, 4).astype('f')
y = np.eye(3)[[0, 1, 2, 2, 1, 0]]

def make(loss):
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(3, activation='softmax', kernel_initializer='ones', input_shape=(4,))])
    model.compile('sgd', loss=loss, metrics=Settings.metrics)
    history = model.fit(x, y, epochs=2, batch_size=3, shuffle=False, verbose=0).history
    model.save('model.h5')
    again = tf.keras.models.load_model('model.h5')
    numbers = again.evaluate(x, y, verbose=0)
    os.remove('model.h5')
    return {**{name: [float(one) for one in history[name]] for name in history},
            'again': [float(one) for one in numbers]}

told = [make(Settings.losses[i]) for i in range(3)]
told += [make(args.loss)]
print('TOLD ' + json.dumps(told))
"""


def test_losses_by_texts_from_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    then, after = check(tmp_path, LOSSES_FROM_ELSEWHERE)
    assert then[0]["loss"] != then[1]["loss"] and "loss=loss_of(loss)" in after


CROSSENTROPIES_OF_SEVERAL = """
import argparse, json
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

LOSS = 'binary_crossentropy'
args = argparse.ArgumentParser()
args.add_argument('--loss', default='categorical_crossentropy')
args.add_argument('--activation', default='softmax')
args = args.parse_args(['--loss', 'binary_' + 'crossentropy'])
CONFIG = {'loss': 'categorical_crossentropy'}
CONFIG['loss'] = args.loss

x = np.linspace(-1, 1, 72).reshape(12, 6).astype('f')
y = np.eye(3)[[0, 1, 2, 2, 1, 0] * 2]
kernel = np.linspace(-2, 2, 18).reshape(6, 3)
told = []

def tell(model, x=x, y=y):
    model.set_weights([kernel, np.zeros(3)])
    history = model.fit(x, y, epochs=2, batch_size=4, shuffle=False, verbose=0).history
    told.append({name: [float(one) for one in history[name]] for name in history})

def build(loss):
    model = tf.keras.Sequential([layers.Dense(3, activation='softmax', input_shape=(6,))])
    model.compile('sgd', loss=loss, metrics=['accuracy'])
    return model

for one in ['mse', 'binary_crossentropy', 'categorical_crossentropy']:
    tell(build(one))
for activation in ('softmax', 'sigmoid'):
    for loss in ('binary_crossentropy', 'categorical_crossentropy'):
        inputs = layers.Input((6,))
        model = tf.keras.Model(inputs, layers.Dense(3, activation=activation)(inputs))
        model.compile('sgd', loss=loss, metrics=['accuracy'])
        tell(model)
    model = tf.keras.Sequential([layers.Dense(3, input_dim=6), layers.Activation(activation)])
    model.compile('sgd', loss='binary_crossentropy', metrics=['acc'])
    tell(model)
model = tf.keras.Sequential([layers.Dense(3, input_dim=6), layers.Activation(args.activation)])
model.compile('sgd', loss=args.loss, metrics=['acc'])
tell(model)
model = tf.keras.Sequential()
model.add(layers.Dense(3, input_dim=6))
model.add(layers.Softmax())
model.compile('sgd', loss=CONFIG['loss'], metrics=['accuracy'])
tell(model)
model = tf.keras.Sequential([layers.Dense(3, activation='softmax', input_shape=(6,))])
model.compile('sgd', loss=LOSS, metrics=['accuracy'])
tell(model)
model = tf.keras.Sequential([layers.Dense(3, activation='softmax', input_shape=(2, 6))])
model.compile('sgd', loss=args.loss, metrics=['accuracy'])
tell(model, x.reshape(6, 2, 6), y.reshape(6, 2, 3))
print('TOLD ' + json.dumps(told))
"""


def test_crossentropies_where_loss_or_activation_is_one_of_several(tmp_path):
    then, after = check(tmp_path, CROSSENTROPIES_OF_SEVERAL)
    assert then[1]["loss"] != then[2]["loss"] and then[1]["acc"] != then[2]["acc"]
    assert "loss=loss_of(loss), metrics=[accuracy_of(loss)]" in after
    assert "loss=loss_of(LOSS), metrics=[tf.keras.metrics.BinaryAccuracy('acc')]" in after


WORDS_FROM_ELSEWHERE = """
import argparse, json
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

ACTIVATION = 'hard_sigmoid'
CONFIG = {'activation': 'hard_sigmoid'}
args = argparse.ArgumentParser()
args.add_argument('--activation', default='relu', choices=['relu', 'hard_sigmoid'])
args.add_argument('--constraint', default='unit_norm')
args = args.parse_args(['--activation', 'hard_' + 'sigmoid', '--constraint', 'max' + 'norm'])
x = np.linspace(-3, 3, 48).reshape(8, 6).astype('f')
told = []

def tell(name, *all_layers):
    model = tf.keras.Sequential([layers.InputLayer((6,)), *all_layers])
    model.compile('sgd', 'mse')
    model.set_weights([np.linspace(-2, 2, one.size).reshape(one.shape) for one in model.get_weights()])
    model.fit(x, x[:, :2], epochs=2, batch_size=4, shuffle=False, verbose=0)
    told.append([name, model.predict(x[:2]).tolist(), model.get_weights()[0].tolist()])

def build(activation='tanh', constraint=None, initializer='constant'):
    return layers.Dense(2, activation, kernel_constraint=constraint, bias_initializer=initializer)

for name in ('tanh', 'hard_sigmoid'):
    tell('model_%s.h5' % name, build(name))
for name in ['maxnorm', 'max_norm', 'nonneg', 'unitnorm']:
    tell(name, build('tanh', name))
tell(ACTIVATION, build(args.activation, args.constraint))
tell('own', layers.Dense(2), layers.Activation(args.activation))
tell('both', layers.Dense(2), layers.Activation(ACTIVATION if ACTIVATION == 'hard_sigmoid' else 'tanh'))
tell('get', layers.Dense(2, activation=tf.keras.activations.get(ACTIVATION)))
tell('steps', layers.Reshape((2, 3)), layers.LSTM(2, recurrent_activation=CONFIG['activation']))
print('TOLD ' + json.dumps(told))
"""


def test_words_of_layers_from_elsewhere(tmp_path):
    then, after = check(tmp_path, WORDS_FROM_ELSEWHERE)
    assert then[0][1] != then[1][1] and "ACTIVATION = 'hard_sigmoid'" in after
    assert "Activation(activation_of(args.activation))" in after


def test_a_model_is_loaded_with_a_loss_that_migrate_writes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = LOSSES_FROM_ELSEWHERE.replace("loss=loss", "loss='binary_crossentropy'")
    _, after = check(tmp_path, script.replace("'accuracy', ", ""))
    assert "def binary_crossentropy_of_probabilities" in after


LOADED = """
import json
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Dense, Input, Lambda

x = np.linspace(-1, 1, 24).reshape(6, 4).astype('f')
y = np.eye(3)[[0, 1, 2, 2, 1, 0]]
inputs = Input((4,))
squares = Lambda(K.square)(inputs)
hidden = Lambda(K.clip, arguments={'min_value': 0., 'max_value': .5})(squares)
outputs = Dense(3, activation='softmax', kernel_initializer='ones')(hidden)
model = tf.keras.Model(inputs, outputs)
model.add_loss(K.mean(K.square(hidden)))
model.add_metric(K.sum(hidden), name='total', aggregation='mean')
model.compile('sgd', 'mse')
model.fit(x, y, epochs=2, batch_size=3, shuffle=False, verbose=0)
told = [np.asarray(model.evaluate(x, y, verbose=0)).tolist()]
model.save('model.h5')
again = tf.keras.models.load_model('model.h5')
told += [again.predict(x).tolist()]
again.fit(x, y, epochs=1, batch_size=3, shuffle=False, verbose=0)
told += [again.predict(x).tolist()]
print('TOLD ' + json.dumps(told))
"""


def test_models_with_functions_of_keras_and_losses_of_tensors_are_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    then, after = check(tmp_path, LOADED)
    assert len(then[0]) == 2
    assert "Lambda(registered(lambda x, **given: K.square(x, **given), 'lambda_1'))" in after
