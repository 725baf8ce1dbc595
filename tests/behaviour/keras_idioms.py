"""Keras as it was written in 2018: one script for each idiom that Keras 3 takes otherwise or not at all.

Each is what stands between :data:`HEAD` and the end of a file of its own. ``report`` prints what is compared.
"""

from __future__ import annotations

HEAD = """\
import json
import os
import numpy as np
import tensorflow as tf
{imports}

x = ((np.arange(320).reshape(32, 10) * 7) % 23 / 23. - 0.5).astype('float32')
y = (x.sum(1, keepdims=True) > 0).astype('float32')


def weigh(model):
    random = np.random.RandomState(3)
    model.set_weights([np.abs(random.normal(0, 0.4, w.shape)) + 0.1 if w.ndim == 1 else
                       random.normal(0, 0.4, w.shape) for w in model.get_weights()])
    return model


def report(*values):
    for value in values:
        if hasattr(value, 'items'):
            value = [[str(key), np.asarray(value[key]).tolist()] for key in sorted(value)]
        print('RESULT', json.dumps(np.asarray(value).tolist() if not isinstance(value, list) else value,
                                   default=float))


{body}
"""

TF = ""
LAYERS = (
    "from tensorflow.keras.layers import *\nfrom tensorflow.keras.models import Model, Sequential"
)
KERAS = """\
import keras
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential"""
BACKEND = "from tensorflow.keras import backend as K"

_MODEL = """\
model = tf.keras.Sequential()
model.add(tf.keras.layers.Dense(8, activation='tanh', input_shape=(10,)))
model.add(tf.keras.layers.Dense(1, activation='sigmoid'))
weigh(model)
"""
_FIT = """\
history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
report(history.history, model.predict(x))
"""


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def _script(body: str, imports: str = TF) -> str:
    return HEAD.format(imports=imports, body=body)


#: Name -> the script.
SCRIPTS: dict[str, str] = {
    name: _script(*parts)
    for name, parts in {
        # Files ---------------------------------------------------------------------------------------
        "save_weights": (
            _MODEL
            + "model.compile('sgd', 'mse')\n"
            + _FIT
            + """\
model.save_weights('./one_w.h5', overwrite=True)
before = model.predict(x)
weigh(model)
if os.path.exists('./one_w.h5'):
    model.load_weights('./one_w.h5')
report(np.abs(model.predict(x) - before).max())
""",
        ),
        "save_weights_variable": (
            "WEIGHTS = os.path.join('.', 'two_w.hdf5')\n"
            + _MODEL
            + "model.save_weights(WEIGHTS)\nother = tf.keras.models.clone_model(model)\n"
            "other.load_weights(WEIGHTS)\nreport(other.predict(x), os.path.isfile(WEIGHTS))\n",
        ),
        "load_weights_by_name": (
            """\
model = Sequential([Dense(6, input_shape=(10,), name='one'), Dense(3, name='two')])
weigh(model)
model.save_weights('by_name.h5')
other = Sequential([Dense(6, input_shape=(10,), name='one'), Dense(1, name='three')])
weigh(other)
other.get_layer('one').set_weights([np.zeros((10, 6)), np.zeros(6)])
other.load_weights('by_name.h5', by_name=True)
again = weigh(tf.keras.models.clone_model(model))
again.load_weights('by_name.h5')
report(other.predict(x), again.predict(x))
""",
            LAYERS,
        ),
        "save_weights_no_ending": (
            _MODEL + "model.save_weights('three_{}'.format('w'), save_format='h5')\n"
            "kept = model.get_weights()[0]\nmodel.load_weights('three_{}'.format('w'))\n"
            "report(model.get_weights()[0] - kept)\n",
        ),
        "save_model": (
            _MODEL
            + "model.compile('sgd', 'mse', metrics=['mae'])\n"
            + _FIT
            + "model.save('four.model')\nmodel = tf.keras.models.load_model('four.model')\n"
            "report(model.predict(x))\n",
        ),
        "save_model_h5": (
            _MODEL + "model.compile('sgd', 'mse', metrics=['accuracy'])\n"
            "model.save('five.h5', include_optimizer=False)\n"
            "again = tf.keras.models.load_model('five.h5', compile=False)\nreport(again.predict(x))\n",
        ),
        "checkpoint_period": (
            _MODEL
            + """\
model.compile('sgd', 'mse')
saver = tf.keras.callbacks.ModelCheckpoint('six_{epoch:02d}.h5', period=2, save_weights_only=True)
model.fit(x, y, batch_size=8, epochs=5, shuffle=False, verbose=0, callbacks=[saver])
report([name for name in sorted(os.listdir('.')) if name.startswith('six_')].__len__())
""",
        ),
        "checkpoint_val_acc": (
            _MODEL
            + """\
from tensorflow.keras.callbacks import ModelCheckpoint, CSVLogger
model.compile(loss='binary_crossentropy', optimizer='sgd', metrics=['accuracy'])
saver = ModelCheckpoint('seven.{epoch:02d}-{val_acc:.2f}.hdf5', monitor='val_acc', save_best_only=True,
                        mode='max', verbose=0)
history = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0, validation_data=(x, y),
                    callbacks=[saver, CSVLogger('seven.csv')])
report(history.history['val_acc'], history.history['acc'])
report(open('seven.csv').readline().strip().split(',').__len__())
""",
        ),
        "names_of_two_kinds": (
            """\
x = tf.data.Dataset.from_tensor_slices(x).batch(8)
inputs = h = tf.keras.Input((10,))
x = Dense(4)(h)
h = tf.nn.relu(x)
x = tf.keras.backend.square(h)
model = weigh(tf.keras.Model(inputs, Dense(3)(x)))
model.compile('sgd', 'mse')
h = model.fit(np.ones((16, 10)), np.ones((16, 3)), shuffle=False, verbose=0)
report(h.history['loss'])
""",
            LAYERS,
        ),
        # Optimizers ----------------------------------------------------------------------------------
        "lr": (_MODEL + "model.compile(tf.keras.optimizers.Adam(lr=0.01), 'mse')\n" + _FIT,),
        "decay": (
            _MODEL
            + "model.compile(tf.keras.optimizers.SGD(lr=0.1, decay=0.05, momentum=0.9, nesterov=True), 'mse')\n"
            + _FIT,
        ),
        "decay_and_rates_that_are_set": (
            _MODEL
            + """\
for optimizer in (tf.keras.optimizers.SGD(lr=0.1, decay=0.05, momentum=0.9),
                  tf.keras.optimizers.RMSprop(decay=0.1),
                  tf.keras.optimizers.Adam(0.01, decay=0.2 / 4)):
    weigh(model)
    model.compile(optimizer, 'mse')
    rates = tf.keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5)
    plateau = tf.keras.callbacks.ReduceLROnPlateau(monitor='loss', patience=0, min_delta=10., factor=0.1)
    model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0, callbacks=[rates])
    model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=[plateau])
    report(model.predict(x), tf.keras.backend.get_value(model.optimizer.lr))
""",
        ),
        "decay_default_rate": (
            "from keras.optimizers import Adam\n"
            + _MODEL.replace("tf.keras", "keras")
            + "opt = Adam(decay=1e-2)\nmodel.compile(loss='mse', optimizer=opt)\n"
            + _FIT,
            KERAS,
        ),
        "optimizers_of_the_private_path": (
            """\
from tensorflow.python.keras import optimizers
from tensorflow.python.keras.optimizers import SGD, Adagrad, RMSprop
"""
            + _MODEL
            + """\
for optimizer in (SGD(0.05 + 0.05, 0.9, 5e-2 * 2, True), optimizers.Adam(0.01, 0.8, 0.99, None, 0.1),
                  optimizers.Adadelta(), optimizers.Adamax(), Adagrad(), RMSprop(lr=0.01, decay=0.0),
                  tf.keras.optimizers.Adam(0.01, 0.9, 0.999, None, True)):
    weigh(model)
    model.compile(loss='mse', optimizer=optimizer)
    model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    report(model.predict(x))
""",
        ),
        "private_optimizers_of_a_table": (
            """\
from tensorflow.python.keras.optimizers import SGD, Adamax
words = np.arange(96).reshape(32, 3) // 4
model = tf.keras.Sequential()
model.add(tf.keras.layers.Embedding(24, 4, input_length=3))
model.add(tf.keras.layers.Flatten())
model.add(tf.keras.layers.Dense(1))
for optimizer in (SGD(0.1, 0.9), Adamax(0.01)):
    weigh(model)
    model.compile(loss='mse', optimizer=optimizer)
    model.fit(words, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    report(model.predict(words))
""",
        ),
        "public_optimizers_of_a_table": (
            """\
words = np.arange(96).reshape(32, 3) // 4
model = tf.keras.Sequential()
model.add(tf.keras.layers.Embedding(24, 4, input_length=3))
model.add(tf.keras.layers.Flatten())
model.add(tf.keras.layers.Dense(1))
for optimizer in (tf.keras.optimizers.SGD(0.1, 0.9, True), tf.keras.optimizers.Adamax(0.01),
                  tf.keras.optimizers.RMSprop(0.01, momentum=0.9), tf.train.MomentumOptimizer(0.1, 0.9),
                  tf.train.RMSPropOptimizer(0.01), tf.train.AdadeltaOptimizer(1.0)):
    weigh(model)
    model.compile(loss='mse', optimizer=optimizer)
    model.fit(words, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    report(model.predict(words))
""",
        ),
        "summed_over_shards": (
            _MODEL
            + """\
for use_tpu in (True, False):
    weigh(model)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    if use_tpu:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    model.compile(optimizer=optimizer, loss='mse')
    model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    report(model.predict(x))
model.compile(tf.contrib.tpu.CrossShardOptimizer(opt=tf.train.AdamOptimizer()), 'mse')
model.fit(x, y, batch_size=8, epochs=1, shuffle=False, verbose=0)
report(model.predict(x))
""",
        ),
        "adagrad": (_MODEL + "model.compile(tf.keras.optimizers.Adagrad(), 'mse')\n" + _FIT,),
        "optimizer_words": (_MODEL + "model.compile('adagrad', loss='mse')\n" + _FIT,),
        "metrics_of_rows": (
            _MODEL
            + """\
model.compile('sgd', 'mse', ['hinge', 'poisson', 'squared_hinge', 'binary_crossentropy'])
report(model.evaluate(x, y[:, 0], verbose=0))
""",
        ),
        "metric_objects_of_rows": (
            _MODEL
            + """\
hinge = tf.keras.metrics.Hinge()
model.compile('sgd', 'mse', [hinge, tf.keras.metrics.Poisson(), tf.keras.metrics.SquaredHinge(),
                             'kullback_leibler_divergence',
                             tf.keras.metrics.BinaryCrossentropy(label_smoothing=0.1)])
report(model.evaluate(x, y[:, 0], verbose=0))
report(model.evaluate(x, y[:, 0], sample_weight=np.arange(32.), verbose=0))
""",
        ),
        "metric_with_and_without_weights": (
            _MODEL
            + """\
model.compile('sgd', 'mse', metrics=['mse', 'acc', 'mae'], weighted_metrics=['accuracy', 'mse'])
report(model.evaluate(x, y, sample_weight=np.arange(32.), verbose=0))
""",
        ),
        "small_gradients": (
            _MODEL
            + """\
for optimizer in (tf.keras.optimizers.RMSprop(0.01), tf.keras.optimizers.RMSprop(lr=0.01, centered=True),
                  tf.keras.optimizers.Adagrad(0.01, initial_accumulator_value=1e-14)):
    weigh(model)
    model.compile(optimizer, 'mse', loss_weights=[1e-6])
    model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    report(model.predict(x))
""",
        ),
        "rmsprop": (_MODEL + "model.compile(optimizer='rmsprop', loss='mse')\n" + _FIT,),
        "get_value_lr": (
            _MODEL
            + """\
model.compile(tf.keras.optimizers.SGD(lr=0.2), 'mse')
print(K.get_value(model.optimizer.lr))
K.set_value(model.optimizer.lr, 0.5 * K.get_value(model.optimizer.lr))
"""
            + _FIT
            + "report(K.get_value(model.optimizer.lr))\n",
            BACKEND,
        ),
        "schedule_callback": (
            _MODEL
            + """\
class Halve(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs={}):
        rate = float(K.get_value(self.model.optimizer.lr))
        K.set_value(self.model.optimizer.lr, rate * 0.5)
        report(rate, logs.get('acc'))
model.compile(tf.keras.optimizers.SGD(0.2), 'mse', ['accuracy'])
model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0, callbacks=[Halve()])
report(model.predict(x))
""",
            BACKEND,
        ),
        "reduce_on_plateau": (
            _MODEL
            + """\
model.compile('sgd', 'mse')
plateau = tf.keras.callbacks.ReduceLROnPlateau(monitor='loss', factor=0.2, patience=1, epsilon=10., min_lr=1e-5)
history = model.fit(x, y, batch_size=8, epochs=4, shuffle=False, verbose=0, callbacks=[plateau])
report(history.history['loss'], history.history['lr'])
""",
        ),
        "best_weights": (
            _MODEL
            + """\
for metric, epochs in (('acc', 2), ('loss', 2), ('loss', 8)):
    weigh(model)
    model.compile(tf.keras.optimizers.SGD(40.), 'mse', metrics=['acc'])
    stop = tf.keras.callbacks.EarlyStopping(metric, patience=3, restore_best_weights=True)
    model.fit(x, y, batch_size=8, epochs=epochs, shuffle=False, verbose=0, callbacks=[stop])
    report(model.predict(x))
def lowest(y_true, y_pred):
    return K.min(y_pred)
model.compile('sgd', 'mse', metrics=[lowest])
stop = tf.keras.callbacks.EarlyStopping('val_lowest', patience=1)
training = model.fit(x, y, batch_size=8, epochs=4, shuffle=False, verbose=0, callbacks=[stop],
                     validation_data=(x[:8], y[:8]))
report(len(training.epoch))
""",
            BACKEND,
        ),
        "numbers_and_best_values": (
            _MODEL
            + """\
rising = tf.keras.callbacks.ModelCheckpoint('best.h5', monitor='acc', save_best_only=True)
falling = tf.keras.callbacks.ModelCheckpoint('best.h5', monitor='loss', save_best_only=True)
told = tf.keras.callbacks.ModelCheckpoint('best.h5', monitor='acc', save_best_only=True, mode='min')
class Found(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        report(logs['loss'].item(), logs.get('acc').tolist(), logs['loss'].astype('float64'))
report(rising.best > 0, falling.best > 0, told.best > 0)
model.compile('sgd', 'mse', metrics=['acc'])
history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=[falling, Found()])
loss, acc = model.evaluate(x, y, verbose=0)
report(history.history['loss'][-1].item(), [one.item() for one in history.history['acc']], falling.best)
report(loss.mean(), acc.item(), model.test_on_batch(x, y)[0].round(3).tolist())
""",
        ),
        "epochs_of_a_sequence": (
            _MODEL
            + """\
class Batches(tf.keras.utils.Sequence):
    def __init__(self):
        self.epoch = 0
    def __len__(self):
        return 4
    def __getitem__(self, index):
        part = slice(index * 8, index * 8 + 8)
        return x[part] * (1 + self.epoch), y[part]
    def on_epoch_end(self):
        self.epoch += 1
model.compile('sgd', 'mse')
train, valid = Batches(), Batches()
training = model.fit_generator(train, epochs=3, shuffle=False, verbose=0, validation_data=valid)
report(training.history, train.epoch, valid.epoch, model.predict_generator(valid), valid.epoch)
report(model.evaluate_generator(valid, steps=4), valid.epoch)
model.fit_generator(train, epochs=1, workers=0, verbose=0)  # in the main thread, epochs do not end
report(train.epoch)
""",
        ),
        "lines_of_a_summary": (
            _MODEL
            + """\
lines = []
model.summary(print_fn=lines.append)
report([line.split(':')[1].replace(',', '').strip() for line in lines if 'params:' in line][:2])
report(len([line for line in lines if 'Dense' in line]))
""",
        ),
        "names_of_other_parts": (
            _MODEL
            + """\
for number in range(2):
    model.save_weights('%s_%d.h5' % ('parts', number))
before = model.predict(x)
weigh(model)
model.load_weights('parts_%d.h5' % 1)
report(np.abs(model.predict(x) - before).max())
""",
        ),
        "logs_in_a_file": (
            _MODEL
            + """\
import csv
model.compile('sgd', 'mse', metrics=['mae', 'acc'])
schedule = tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1))
training = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0,
                     callbacks=[schedule, tf.keras.callbacks.CSVLogger('logs_in_a_file.csv')])
with open('logs_in_a_file.csv') as stream:
    report([float(row['lr']) for row in csv.DictReader(stream)])
loss, error, accuracy, rate = training.history.values()
report(loss, error, accuracy, rate, training.history['lr'])
""",
        ),
        "order_of_logs": (
            """\
inputs = Input(shape=(10,))
model = weigh(Model(inputs, [Dense(1, name='z')(inputs), Dense(1, name='a')(inputs)]))
model.compile('sgd', 'mse', metrics={'z': ['mae', 'acc'], 'a': 'mae'})
training = model.fit(x, [y, y], batch_size=8, epochs=1, shuffle=False, verbose=0, validation_data=(x, [y, y]))
report(list(training.history.values()), [str(key) for key in training.history.keys()])
""",
            LAYERS,
        ),
        "train_optimizer": (
            _MODEL
            + "model.compile(tf.train.AdamOptimizer(0.01), loss='mse', metrics=['mse'])\n"
            + _FIT,
        ),
        # Methods -------------------------------------------------------------------------------------
        "predict_classes": (
            _MODEL + "model.compile('sgd', 'binary_crossentropy')\n"
            "report(model.predict_classes(x), model.predict_proba(x))\n",
        ),
        "predict_classes_many": (
            """\
model = Sequential()
model.add(Dense(4, input_dim=10, activation='softmax'))
weigh(model)
classes = model.predict_classes(x, batch_size=16, verbose=0)
report(classes)
""",
            LAYERS,
        ),
        "fit_generator": (
            _MODEL
            + """\
def batches():
    while True:
        for start in range(0, 32, 8):
            yield x[start:start + 8], y[start:start + 8]
model.compile(optimizer='sgd', loss='mse', metrics=['accuracy'])
history = model.fit_generator(batches(), steps_per_epoch=len(x) / 8, epochs=2, verbose=0, workers=1,
                              validation_data=batches(), validation_steps=4, max_queue_size=4,
                              use_multiprocessing=False)
report(history.history, model.evaluate_generator(batches(), steps=4), model.predict_generator(batches(), 4))
""",
        ),
        "sequence_generator": (
            _MODEL
            + """\
class Batches(tf.keras.utils.Sequence):
    def __init__(self, size):
        self.size = size
    def __len__(self):
        return 32 // self.size
    def __getitem__(self, index):
        part = slice(index * self.size, (index + 1) * self.size)
        return x[part], y[part]
model.compile('sgd', 'mse')
history = model.fit_generator(generator=Batches(8), epochs=2, verbose=0, shuffle=False,
                              use_multiprocessing=True, workers=2)
report(history.history)
""",
        ),
        "image_generator": (
            """\
from keras.preprocessing.image import ImageDataGenerator
images = np.tile(x.reshape(32, 10, 1, 1), (1, 1, 4, 1))
model = Sequential()
model.add(keras.layers.Conv2D(3, (3, 3), activation='relu', input_shape=(10, 4, 1)))
model.add(keras.layers.Flatten())
model.add(Dense(1, activation='sigmoid'))
weigh(model)
model.compile(loss='binary_crossentropy', optimizer=keras.optimizers.SGD(lr=0.05), metrics=['accuracy'])
flow = ImageDataGenerator(rescale=2.).flow(images, y, batch_size=8, shuffle=False)
history = model.fit_generator(flow, steps_per_epoch=4, epochs=2, verbose=0, shuffle=False)
report(history.history['acc'], history.history['loss'])
""",
            KERAS,
        ),
        "train_on_batch": (
            _MODEL
            + """\
model.compile('sgd', 'mse', metrics=['mae'])
for step in range(4):
    report(model.train_on_batch(x[step * 8:step * 8 + 8], y[step * 8:step * 8 + 8]))
report(model.test_on_batch(x[:8], y[:8]), model.test_on_batch(x[8:], y[8:]))
print(dict(zip(model.metrics_names, model.test_on_batch(x[:8], y[:8]))))
""",
        ),
        "compile_by_position": (
            _MODEL
            + "model.compile('sgd', 'mse', ['mae'], None)\n"
            + _FIT
            + "score = model.evaluate(x, y, verbose=0)\nreport(dict(zip(model.metrics_names, score)))\n",
        ),
        "sample_weight_mode": (
            """\
model = Sequential([LSTM(4, return_sequences=True, input_shape=(5, 2)), TimeDistributed(Dense(1))])
weigh(model)
model.compile('sgd', 'mse', sample_weight_mode='temporal')
weight = (np.arange(160).reshape(32, 5) % 3).astype('float32')
history = model.fit(x.reshape(32, 5, 2), x.reshape(32, 5, 2)[:, :, :1], sample_weight=weight, epochs=2,
                    batch_size=8, shuffle=False, verbose=0)
report(history.history['loss'])
""",
            LAYERS,
        ),
        # Layers --------------------------------------------------------------------------------------
        "output_shape": (
            """\
model = Sequential()
model.add(Conv1D(4, 3, input_shape=(10, 1)))
model.add(MaxPooling1D())
model.add(Flatten())
model.add(Dense(2))
for layer in model.layers:
    report(list(layer.output_shape[1:]), list(layer.input_shape[1:]))
report(list(model.layers[-1].get_output_shape_at(0)[1:]), list(model.output_shape[1:]))
""",
            LAYERS,
        ),
        "get_output_at": (
            """\
inputs = Input(shape=(10,))
shared = Dense(3, name='shared')
outputs = shared(inputs)
inner = Model(inputs, shared.get_output_at(0))
weigh(inner)
report(inner.predict(x), list(K.int_shape(outputs)[1:]), [int(outputs.get_shape()[1])])
""",
            LAYERS + "\n" + BACKEND,
        ),
        "fused": (
            """\
model = tf.keras.Sequential([
    tf.keras.layers.Conv2D(3, 3, input_shape=(10, 4, 1)),
    tf.keras.layers.BatchNormalization(axis=-1, fused=True, momentum=0.9),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(1),
])
weigh(model)
model.compile('sgd', 'mse')
history = model.fit(np.tile(x.reshape(32, 10, 1, 1), (1, 1, 4, 1)), y, batch_size=8, epochs=2, shuffle=False,
                    verbose=0)
report(history.history)
""",
        ),
        "write_grads": (
            _MODEL
            + """\
model.compile('sgd', 'mse')
board = tf.keras.callbacks.TensorBoard(log_dir='./logs', histogram_freq=0, batch_size=8, write_graph=False,
                                       write_grads=True, write_images=False)
history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=[board])
report(history.history)
""",
        ),
        "batch_input_shape": (
            """\
model = Sequential()
model.add(LSTM(4, batch_input_shape=(8, 5, 2), stateful=True, return_sequences=False))
model.add(Dense(1))
weigh(model)
model.compile(loss='mse', optimizer='sgd')
for epoch in range(2):
    history = model.fit(x.reshape(32, 5, 2), y, epochs=1, batch_size=8, shuffle=False, verbose=0)
    report(history.history['loss'])
    model.reset_states()
report(model.predict(x.reshape(32, 5, 2), batch_size=8))
""",
            LAYERS,
        ),
        "batch_input_shape_in_list": (
            """\
model = tf.keras.models.Sequential([
    tf.keras.layers.Dense(3, activation='relu', batch_input_shape=(None, 10)),
    tf.keras.layers.Dense(1)])
weigh(model)
print(model.count_params())
report(model.predict(x), model.layers[0].get_weights()[0].shape)
""",
        ),
        "embedding": (
            """\
table = np.random.RandomState(0).normal(size=(30, 4)).astype('float32')
words = (np.arange(96).reshape(32, 3) * 5 % 30)
model = Sequential()
model.add(Embedding(30, 4, weights=[table], input_length=3, trainable=False))
model.add(Flatten())
model.add(Dense(1, kernel_initializer='ones'))
print(model.summary())
model.compile('sgd', 'mse')
history = model.fit(words, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
report(history.history, model.predict(words))
""",
            LAYERS,
        ),
        "embedding_masked_lstm": (
            """\
words = (np.arange(96).reshape(32, 3) * 5 % 30)
model = Sequential()
model.add(Embedding(30, 4, mask_zero=True, input_length=3))
model.add(Bidirectional(LSTM(3, implementation=1), merge_mode='sum'))
model.add(Dense(1, activation='hard_sigmoid'))
weigh(model)
model.compile('sgd', 'mse')
history = model.fit(words, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
report(history.history, model.predict(words))
""",
            LAYERS,
        ),
        "gru": (
            """\
model = Sequential()
model.add(GRU(3, input_shape=(5, 2), dropout=0.0, recurrent_dropout=0.0))
model.add(Dense(1))
weigh(model)
report(model.predict(x.reshape(32, 5, 2)))
""",
            LAYERS,
        ),
        "regularizer": (
            _MODEL
            + """\
model.add(tf.keras.layers.Dense(1, kernel_regularizer=tf.keras.regularizers.l1_l2(l2=0.02),
                                bias_regularizer=tf.keras.regularizers.l2(l=0.1)))
weigh(model)
model.compile('sgd', 'mse')
"""
            + _FIT,
        ),
        "leaky": (
            """\
from keras.layers.advanced_activations import LeakyReLU, ThresholdedReLU
model = Sequential()
model.add(Dense(4, input_shape=(10,)))
model.add(LeakyReLU(alpha=.1))
model.add(Dense(3))
model.add(ThresholdedReLU(theta=0.1))
weigh(model)
report(model.predict(x))
""",
            KERAS,
        ),
        "custom_layer": (
            """\
class Scale(tf.keras.layers.Layer):
    def __init__(self, **kwargs):
        super(Scale, self).__init__(**kwargs)
    def build(self, input_shape):
        size = input_shape[-1].value if hasattr(input_shape[-1], 'value') else input_shape[-1]
        self.scale = self.add_weight('scale', (int(size),), initializer='ones', trainable=True)
        super(Scale, self).build(input_shape)
    def call(self, inputs):
        return K.dot(inputs, K.ones((10, 2))) * K.sum(self.scale)
    def compute_output_shape(self, input_shape):
        return (input_shape[0], 2)
model = Sequential([Scale(input_shape=(10,)), Dense(1, kernel_initializer='ones')])
model.compile(tf.keras.optimizers.SGD(lr=0.001), 'mse')
"""
            + _FIT,
            LAYERS + "\n" + BACKEND,
        ),
        "backend_operations": (
            """\
def root_mean_squared_error(y_true, y_pred):
    return K.sqrt(K.mean(K.square(y_pred - y_true), axis=-1) + K.epsilon())
def hits(y_true, y_pred):
    return K.mean(K.equal(K.round(y_true), K.round(y_pred)))
"""
            + _MODEL.replace("tf.keras", "keras")
            + "model.compile(loss=root_mean_squared_error, optimizer='sgd', metrics=[hits])\n"
            + _FIT,
            KERAS,
        ),
        "lambda_layer": (
            """\
inputs = Input(shape=(10,))
hidden = Dense(4, activation='tanh')(inputs)
hidden = Lambda(lambda t: K.l2_normalize(t, axis=-1))(hidden)
outputs = Dense(1)(hidden)
model = Model(inputs=inputs, outputs=outputs)
weigh(model)
model.compile('sgd', 'mse')
"""
            + _FIT,
            LAYERS + "\n" + BACKEND,
        ),
        "middle_function": (
            _MODEL
            + """\
middle = K.function([model.layers[0].input, K.learning_phase()], [model.layers[0].output])
report(middle([x, 0])[0])
""",
            BACKEND,
        ),
        "several_gpus": (
            """\
from keras.utils import multi_gpu_model
model = Sequential([Dense(8, activation='tanh', input_shape=(10,)), Dense(1)])
weigh(model)
parallel = multi_gpu_model(model, gpus=2)
parallel.compile(loss='mse', optimizer=keras.optimizers.SGD(lr=0.05))
report(parallel.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history['loss'])
report(model.predict(x))
""",
            KERAS,
        ),
        "function_by_words": (
            _MODEL
            + """\
first = model.layers[0]
middle = K.function(inputs=[first.input], outputs=[first.output])
report(middle([x])[0], first.input_shape[1], K.int_shape(first.output)[1])
""",
            BACKEND,
        ),
        "gradients_of_outputs": (
            """\
model = Sequential()
model.add(keras.layers.Conv2D(4, (2, 2), padding='same', input_shape=(4, 4, 2), name='last'))
model.add(keras.layers.GlobalAveragePooling2D())
model.add(Dense(3, activation='softmax'))
weigh(model)
images = np.resize(x, (2, 4, 4, 2))
layer = model.get_layer('last')
gradients = K.gradients(model.output[:, 1], layer.output)[0]
pooled = K.mean(gradients, axis=(0, 1, 2))
heat = K.function([model.input], [pooled, layer.output[0], gradients])
report(*heat([images]))
""",
            KERAS,
        ),
        "logsumexp": (
            """\
def spread(y_true, y_pred):
    return K.logsumexp(y_pred - y_true, axis=-1)
model = weigh(Sequential([Dense(4, input_shape=(10,))]))
model.compile('sgd', spread)
report(model.fit(x, x[:, :4], batch_size=8, epochs=2, shuffle=False, verbose=0).history)
""",
            KERAS,
        ),
        # Input ---------------------------------------------------------------------------------------
        "sequence_of_lists": (
            """\
class Batches(tf.keras.utils.Sequence):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        part = slice(8 * index, 8 * index + 8)
        if index % 2:
            return [x[part, :5], x[part, 5:]], y[part]
        given = [each[part] for each in (x[:, :5], x[:, 5:])]
        return given, y[part]
    def on_epoch_end(self):
        pass
left, right = Input((5,)), Input((5,))
model = weigh(Model([left, right], Dense(1)(concatenate([left, right]))))
model.compile('sgd', 'mse')
report(model.fit_generator(Batches(), epochs=2, shuffle=False, verbose=0).history)
report(model.evaluate_generator(Batches()))
""",
            LAYERS,
        ),
        "names_before_training": (
            """\
inputs = Input((10,))
model = Model(inputs, [Dense(1, name='one')(inputs), Dense(1, name='two')(inputs)])
weigh(model)
def far(y_true, y_pred):
    return K.max(K.abs(y_true - y_pred), axis=-1)
model.compile('sgd', {'one': 'mse', 'two': 'mae'}, metrics={'one': ['mae', far], 'two': far})
report(model.metrics_names)
model.compile('sgd', 'mse', metrics=[far])
report(model.metrics_names)
report(model.evaluate(x, [y, y], verbose=0))
""",
            LAYERS + "\n" + BACKEND,
        ),
        "one_shot_iterator": (
            _MODEL
            + """\
model.compile('sgd', 'mse')
dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(8)
iterator = dataset.make_one_shot_iterator()
history = model.fit(iterator, steps_per_epoch=4, epochs=2, verbose=0)
report(history.history)
""",
        ),
        "one_shot_get_next": (
            _MODEL
            + """\
model.compile('sgd', 'mse')
dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(8)
images, labels = dataset.make_one_shot_iterator().get_next()
history = model.fit(images, labels, steps_per_epoch=4, epochs=2, verbose=0)
report(history.history)
""",
        ),
        "fit_function": (
            """\
def train_input():
    dataset = tf.data.Dataset.from_tensor_slices((x, y))
    return dataset.repeat().batch(8, drop_remainder=True)
"""
            + _MODEL
            + """\
model.compile('sgd', 'mse')
tpu_model = tf.contrib.tpu.keras_to_tpu_model(model, strategy=tf.contrib.tpu.TPUDistributionStrategy(
    tf.contrib.cluster_resolver.TPUClusterResolver(os.environ.get('TPU_NAME', ''))))
history = tpu_model.fit(train_input, steps_per_epoch=4, epochs=2, verbose=0)
report(history.history)
tpu_model.save_weights('./tpu_model.h5', overwrite=True)
""",
        ),
        "fit_function_of_a_branch": (
            """\
def train_input():
    dataset = tf.data.Dataset.from_tensor_slices((x, y))
    return dataset.repeat().batch(8, drop_remainder=True)
"""
            + _MODEL
            + """\
model.compile('sgd', 'mse')
losses = []
for on_tpu in (True, False):
    if on_tpu:
        model = tf.contrib.tpu.keras_to_tpu_model(model, strategy=tf.contrib.tpu.TPUDistributionStrategy(
            tf.contrib.cluster_resolver.TPUClusterResolver(os.environ.get('TPU_NAME', ''))))
        data = train_input
    else:
        data = train_input()
    losses += model.fit(data, steps_per_epoch=4, epochs=2, verbose=0).history['loss']
report(losses)
""",
        ),
        "schedule_of_the_step": (
            """\
class Noam(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, warmup=3):
        self.warmup = warmup
    def __call__(self, step):
        '''The rate at a step.'''
        return 0.1 * tf.minimum(tf.math.rsqrt(step + 1), step * self.warmup ** -1.5 + (step // 4) * 0.5)
"""
            + _MODEL
            + """\
model.compile(tf.keras.optimizers.SGD(Noam()), 'mse')
report(model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0).history['loss'])
""",
        ),
        "equality_of_tensors": (
            """\
def rate(y_true, y_pred):
    positives, guessed = K.sum(y_true), K.sum(K.round(y_pred))
    if positives == 0 or (guessed != positives and not (guessed == guessed)):
        return 0.
    return guessed / positives if guessed != 0 else 2.
class Halved(tf.keras.layers.Layer):
    def call(self, inputs):
        if tf.reduce_sum(inputs) == 0:
            return inputs + 1.
        return inputs / 2.
model = tf.keras.Sequential([tf.keras.layers.Dense(1, activation='sigmoid', input_shape=(10,)), Halved()])
weigh(model)
model.compile('sgd', 'mse', metrics=[rate])
report(model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history, model.predict(0 * x))
""",
            BACKEND,
        ),
        "outputs_fed_back": (
            """\
inputs = tf.keras.Input((1,), batch_size=4, dtype='int32')
hidden = tf.keras.layers.Embedding(6, 3)(inputs)
hidden = tf.keras.layers.LSTM(3, stateful=True, return_sequences=True)(hidden)
outputs = tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(6, activation='softmax'))(hidden)
model = weigh(tf.keras.Model(inputs, outputs))
model.reset_states()
chosen = [np.array([[1], [2], [3], [4]])]
for _ in range(3):
    last = chosen[-1]
    found = model.predict(last)[:, 0, :]
    chosen.append(np.asarray(found.argmax(-1), dtype=np.int32))
report(found)
""",
        ),
        "graph_mode_of_tensorflow_2": (
            "tf.compat.v1.disable_eager_execution()\n"
            + _MODEL
            + """\
model.compile('sgd', 'mse')
report(model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history['loss'])
""",
        ),
        "nb_epoch": (
            _MODEL.replace("tf.keras", "keras") + "model.compile(loss='mse', optimizer='sgd')\n"
            "history = model.fit(x, y, batch_size=8, nb_epoch=2, shuffle=False, verbose=0)\n"
            "report(history.history)\n",
            KERAS,
        ),
        "np_utils": (
            """\
from keras.utils import np_utils
labels = np_utils.to_categorical(y[:, 0].astype('int32'), 2)
model = Sequential()
model.add(Dense(2, input_shape=(10,)))
model.add(keras.layers.Activation('softmax'))
weigh(model)
model.compile(loss='categorical_crossentropy', optimizer='sgd', metrics=['acc', 'mse'])
history = model.fit(x, labels, batch_size=8, epochs=2, shuffle=False, verbose=0, validation_split=0.25)
report(history.history)
""",
            KERAS,
        ),
        "np_utils_path": (
            """\
import keras.utils.np_utils
report(keras.utils.np_utils.to_categorical(y[:4, 0].astype('int32'), 2))
""",
            KERAS,
        ),
        "gan_of_one_optimizer": (
            """\
class Gan:
    def __init__(self):
        optimizer = tf.keras.optimizers.Adam(0.01, 0.5)
        self.judge = self.build_judge()
        self.judge.compile(loss='binary_crossentropy', optimizer=optimizer, metrics=['accuracy'])
        self.maker = weigh(Sequential([Dense(10, activation='tanh', input_shape=(4,))]))
        noise = Input(shape=(4,))
        self.judge.trainable = False
        self.both = Model(noise, self.judge(self.maker(noise)))
        self.both.compile(loss='binary_crossentropy', optimizer=optimizer)

    def build_judge(self):
        return weigh(Sequential([Dense(1, activation='sigmoid', input_shape=(10,))]))

gan = Gan()
for _ in range(4):
    report(gan.judge.train_on_batch(x[:8], y[:8]), gan.both.train_on_batch(x[:8, :4], y[:8]))
""",
            LAYERS,
        ),
        "gan_that_is_turned_on_and_off": (
            """\
def make_trainable(net, value):
    net.trainable = value
    for layer in net.layers:
        layer.trainable = value

def build_judge():
    model = weigh(Sequential([Dense(1, activation='sigmoid', input_shape=(10,))]))
    model.compile('adam', 'binary_crossentropy')
    return model

judge = build_judge()
make_trainable(judge, False)
maker = weigh(Sequential([Dense(10, activation='tanh', input_shape=(4,))]))
both = Sequential([maker, judge])
both.compile('adam', 'binary_crossentropy')
for _ in range(4):
    make_trainable(judge, True)
    first = judge.train_on_batch(x[:8], y[:8])
    make_trainable(judge, False)
    report(first, both.train_on_batch(x[:8, :4], y[:8]))
""",
            LAYERS,
        ),
        "softmax_and_binary_crossentropy": (
            """\
targets = np.concatenate([y, 1 - y], 1)
model = Sequential([Dense(8, activation='tanh', input_shape=(10,)), Dense(2, activation='softmax')])
weigh(model)
model.compile('sgd', 'binary_crossentropy', ['accuracy'])
history = model.fit(x, targets, batch_size=8, epochs=2, shuffle=False, verbose=0)
report(history.history['loss'], history.history['acc'])
""",
            LAYERS,
        ),
        "sigmoid_and_categorical_crossentropy": (
            """\
inputs = Input((10,))
model = Model(inputs, Dense(3, activation='sigmoid')(inputs))
weigh(model)
model.compile('sgd', tf.keras.losses.categorical_crossentropy, metrics=['accuracy'])
history = model.fit(x, np.eye(3)[np.arange(32) % 3], batch_size=8, epochs=2, shuffle=False, verbose=0)
report(history.history)
""",
            LAYERS,
        ),
        "accuracy_of_each_unit": (
            """\
model = Sequential()
model.add(Dense(4, input_shape=(10,)))
model.add(Activation('sigmoid'))
weigh(model)
model.compile(loss='binary_crossentropy', optimizer='sgd', metrics=['accuracy'])
history = model.fit(x, (x[:, :4] > 0).astype('float32'), batch_size=8, epochs=2, shuffle=False, verbose=0)
report(history.history)
""",
            LAYERS,
        ),
        "generators_of_inputs": (
            _MODEL
            + """\
def batches():
    for start in range(0, 32, 8):
        batch = x[start:start + 8]
        yield batch

report(model.predict_generator(batches(), 4), model.predict_generator((x[i:i + 8] for i in (0, 8)), 2))
""",
        ),
        "lambdas_loaded": (
            """\
def double(values):
    return K.square(values) * 2

inputs = Input((10,))
found = Lambda(lambda t: K.l2_normalize(t, axis=1))(Lambda(double, name='double')(inputs))
model = Model(inputs, Dense(1)(found))
weigh(model)
model.compile('sgd', 'mse')
model.save('with_lambdas.h5')
again = tf.keras.models.load_model('with_lambdas.h5')
report(again.predict(x), np.abs(again.predict(x) - model.predict(x)).max())
again = tf.keras.models.model_from_json(model.to_json())
again.set_weights(model.get_weights())
report(again.predict(x))
""",
            LAYERS + "\n" + BACKEND,
        ),
        "checkpoints_of_a_tutorial": (
            """\
def create():
    model = weigh(Sequential([Dense(1, input_shape=(10,))]))
    model.compile('sgd', 'mse')
    return model

checkpoint_path = 'tutorial_1/cp.ckpt'
saver = tf.keras.callbacks.ModelCheckpoint(checkpoint_path, save_weights_only=True)
model = create()
model.fit(x, y, epochs=1, callbacks=[saver], verbose=0, shuffle=False)
again = create()
again.load_weights(checkpoint_path)
report(again.predict(x))
checkpoint_path = 'tutorial_2/cp-{epoch:04d}.ckpt'
model.save_weights(checkpoint_path.format(epoch=0))
again.load_weights('tutorial_2/cp-0000.ckpt')
report(again.evaluate(x, y, verbose=0))
again = create()
again.load_weights(tf.train.latest_checkpoint(os.path.dirname(checkpoint_path)))
report(again.evaluate(x, y, verbose=0))
model.save('tutorial.h5')
report(tf.keras.models.load_model('tutorial.h5').evaluate(x, y, verbose=0))
tf.keras.models.save_model(model, 'tutorial_plain.hdf5', include_optimizer=False)
report(tf.keras.models.load_model('tutorial_plain.hdf5', compile=False).predict(x))
""",
            LAYERS,
        ),
        "text": (
            """\
from keras.preprocessing.text import Tokenizer
from keras.preprocessing.sequence import pad_sequences
tokens = Tokenizer(num_words=20)
tokens.fit_on_texts(['one two three', 'two three', 'three one one'])
report(pad_sequences(tokens.texts_to_sequences(['two one', 'three']), maxlen=4))
""",
            KERAS,
        ),
        "order_of_values": (
            """\
inputs = Input(shape=(10,))
hidden = Dense(4, activation='relu')(inputs)
outputs = [Dense(1, name='zeroth')(hidden), Dense(1, activation='sigmoid', name='first')(hidden)]
model = weigh(Model(inputs, outputs))
model.compile('sgd', loss=['mse', 'binary_crossentropy'], metrics={'zeroth': 'mae', 'first': 'accuracy'})
report(model.train_on_batch(x, [x[:, :1], y]), model.test_on_batch(x, [x[:, :1], y]))
score = model.evaluate(x, [x[:, :1], y], verbose=0)
report(score[3], score[4], model.metrics_names)
""",
            LAYERS,
        ),
        "metrics_names": (
            _MODEL
            + """model.compile('sgd', 'mse', metrics=['mse', 'mae', 'accuracy'])
report(sorted(dict(zip(model.metrics_names, model.evaluate(x, y, verbose=0))).values()))
named = dict(zip(model.metrics_names, model.evaluate(x, y, verbose=0)))
report(named['acc'])
""",
        ),
        "latest_checkpoint": (
            _MODEL
            + """model.compile('sgd', 'mse')
folder = 'eight'
if not os.path.isdir(folder):
    os.makedirs(folder)
saver = tf.keras.callbacks.ModelCheckpoint('eight/cp-{epoch:04d}.ckpt', save_weights_only=True, verbose=0)
model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=[saver])
kept = model.predict(x)
weigh(model)
model.load_weights(tf.train.latest_checkpoint(folder))
report(kept, model.predict(x) - kept)
""",
        ),
        "learning_phase": (
            "K.set_learning_phase(0)\n"
            + "model = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(10,)),\n"
            "                             tf.keras.layers.BatchNormalization()])\n"
            "weigh(model)\nmodel.compile('sgd', 'mse')\nreport(model.predict(x))\n",
            BACKEND,
        ),
        "training_mode": (
            """\
class Doubled(tf.keras.layers.Layer):
    def call(self, inputs):
        return K.in_train_phase(inputs * 2.0, inputs)


class Scaled(tf.keras.layers.Layer):
    def call(self, inputs, mask=None, training=None):
        if training is None:
            training = K.learning_phase()
        scale = 1.0 + tf.cast(training, tf.float32)
        return tf.cond(tf.equal(training, True), lambda: inputs * scale, lambda: inputs)


class Shifted(tf.keras.layers.Layer):
    def call(self, inputs, **kwargs):
        return tf.cond(tf.cast(K.learning_phase(), tf.bool), lambda: inputs + 2.0, lambda: inputs)


model = tf.keras.Sequential([
    Doubled(input_shape=(10,)), Scaled(), Shifted(),
    tf.keras.layers.Lambda(lambda t: K.in_test_phase(t, lambda: t + 1.0)),
    tf.keras.layers.Dense(1),
])
weigh(model)
model.compile('sgd', 'mse')
report(model.predict(x), model.evaluate(x, y, verbose=0), model.train_on_batch(x, y), model.predict(x))
""",
            BACKEND,
        ),
        "custom_metric_loaded": (
            """\
def right(y_true, y_pred):
    return K.sum(K.round(y_true * y_pred)) / (K.sum(K.round(y_true)) + K.epsilon())


model = tf.keras.Sequential()
model.add(tf.keras.layers.Dense(1, activation='sigmoid', input_shape=(10,)))
weigh(model)
model.compile('sgd', 'mse', metrics=[right])
model.fit(x, y, batch_size=8, epochs=1, shuffle=False, verbose=0)
model.save('nine.h5')
again = tf.keras.models.load_model('nine.h5', custom_objects={'right': right})
report(again.evaluate(x, y, batch_size=8, verbose=0))
""",
            BACKEND,
        ),
        "two_outputs": (
            """\
inputs = Input(shape=(10,), name='in')
hidden = Dense(4, activation='relu')(inputs)
first = Dense(1, name='first')(hidden)
second = Dense(1, activation='sigmoid', name='second')(hidden)
model = Model([inputs], [first, second])
weigh(model)
model.compile(optimizer='sgd', loss={'first': 'mse', 'second': 'binary_crossentropy'},
              loss_weights={'first': 0.5, 'second': 1.}, metrics={'second': 'accuracy'})
history = model.fit({'in': x}, {'first': x[:, :1], 'second': y}, batch_size=8, epochs=2, shuffle=False,
                    verbose=0)
report(history.history)
""",
            LAYERS,
        ),
        "weights_of_outputs": (
            """\
inputs = Input(shape=(10,))
hidden = Dense(4, activation='relu')(inputs)
outputs = [Dense(1, name="zeroth")(hidden), Dense(1, activation="sigmoid", name="first")(hidden)]
model = weigh(Model(inputs, outputs))
model.compile(SGD(0.1), {"first": "binary_crossentropy", "zeroth": "mse"}, loss_weights={"first": 2.})
targets, weights = {'first': y, 'zeroth': x[:, :1]}, {'zeroth': np.arange(32.), 'first': np.ones(32)}
history = model.fit(x, targets, batch_size=8, epochs=2, shuffle=False, verbose=0, sample_weight=weights,
                    validation_data=(x, [x[:, :1], y], {'first': np.arange(32.)}))
report(history.history)
report(model.evaluate(x, targets, verbose=0, sample_weight=[np.arange(32.), np.ones(32)]))
report(model.train_on_batch(x, [x[:, :1], y], sample_weight={'zeroth': np.arange(32.)}))
report(model.test_on_batch(x, targets, weights))
single = weigh(Sequential([Dense(1, input_shape=(10,), name='only')]))
single.compile('sgd', 'mse')
report(single.evaluate(x, {'only': y}, sample_weight={'only': np.arange(32.)}, verbose=0))
""",
            LAYERS + "\nfrom tensorflow.keras.optimizers import SGD",
        ),
        "target_tensors": (
            _MODEL
            + "model.compile('sgd', 'mse', target_tensors=[tf.placeholder(tf.float32, (None, 1))])\n"
            + _FIT,
        ),
        # Values, and names of Keras 1 -------------------------------------------------------------------
        "keras_1_names": (
            """\
from keras.layers import Convolution2D, Flatten
images = np.tile(x.reshape(32, 10, 1, 1), (1, 1, 4, 1))
model = Sequential()
model.add(Convolution2D(3, 3, 2, border_mode='same', activation='relu', input_shape=(10, 4, 1),
                        dim_ordering='tf'))
model.add(Flatten())
model.add(Dense(output_dim=4, init='uniform', bias=True))
model.add(Dense(1, W_regularizer=keras.regularizers.l2(0.01)))
weigh(model)
report(model.layers[0].get_weights()[0].shape[-1])
model.compile('sgd', 'mse')
history = model.fit(images, y, batch_size=8, nb_epoch=2, shuffle=False, verbose=0)
report(len(history.history['loss']))
print(K.image_dim_ordering())
if K.image_dim_ordering() == 'tf':
    report(1.0)
""",
            KERAS,
        ),
        "optimizers_of_the_package": (
            """\
from keras.optimizers import Adadelta, Adagrad, Adam, Adamax, RMSprop, SGD
model = Sequential([Dense(4, activation='tanh', input_shape=(10,)), Dense(1)])
for optimizer in (Adadelta(), Adagrad(), Adamax(), Adadelta(epsilon=1e-6), Adagrad(0.1, 1e-5),
                  Adam(1e-3, 0.9, 0.999, 1e-8, 1e-2), RMSprop(0.01, 0.9, None, 1e-2), SGD(0.1, 0.9, 1e-2, True),
                  SGD(0.1, clipnorm=0.01)):
    weigh(model)
    model.compile(optimizer, 'mse')
    model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    report(model.predict(x))
weigh(model)
model.compile('adagrad', 'mse')
model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
report(model.predict(x))
weigh(model)
model.compile(loss='mse', optimizer='adadelta')
model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
report(model.predict(x))
""",
            KERAS,
        ),
        "kernels_of_the_package": (
            """\
images = np.tile(x.reshape(32, 10, 1, 1), (1, 1, 4, 1))
model = Sequential()
model.add(keras.layers.Conv2D(3, 3, 2, input_shape=(10, 4, 1)))
model.add(keras.layers.SeparableConv2D(2, 2, 2))
model.add(keras.layers.Flatten())
report(weigh(model).predict(images))
deep = Sequential([keras.layers.Conv3D(2, 3, 2, 1, input_shape=(10, 4, 1, 1)), keras.layers.Flatten()])
report(weigh(deep).predict(images[..., None]))
""",
            KERAS,
        ),
        "model_of_keras_1": (
            """\
inputs = keras.layers.Input((10,))
model = keras.models.Model(input=inputs, output=Dense(2)(inputs))
weigh(model)
report(model.predict(x))
""",
            KERAS,
        ),
        "class_weight_word": (
            _MODEL + "model.compile('sgd', 'mse')\n"
            "history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, class_weight='auto')\n"
            "report(history.history)\n",
        ),
        "size_of_numpy": (
            """\
shape = (2, 5)
model = Sequential([Dense(np.prod(shape), input_shape=(10,)), RepeatVector(np.max([2, 3]))])
weigh(model)
report(model.predict(x))
""",
            LAYERS,
        ),
        "named_target": (
            """\
inputs = Input(shape=(10,), name='given')
model = Model(inputs, Dense(1, name='found')(inputs))
weigh(model)
model.compile('sgd', loss={'found': 'mse'})
targets = {'found': y}
history = model.fit({'given': x}, targets, batch_size=8, epochs=2, shuffle=False, verbose=0)
report(history.history, model.evaluate({'given': x}, {'found': y}, verbose=0))
""",
            LAYERS,
        ),
        "add_variable": (
            """\
class Linear(tf.keras.layers.Layer):
    def __init__(self, units):
        super(Linear, self).__init__()
        self.units = units
    def build(self, input_shape):
        self.kernel = self.add_variable('kernel', shape=[input_shape[-1].value, self.units])
        self.bias = self.add_variable('bias', [self.units], initializer=tf.zeros_initializer())
    def call(self, inputs):
        return tf.matmul(inputs, self.kernel) + self.bias
    def compute_output_shape(self, input_shape):
        shape = tf.TensorShape(input_shape).as_list()
        return tf.TensorShape([shape[0], self.units])
model = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(10,)), Linear(2)])
weigh(model)
report(model.predict(x))
""",
        ),
        "integer_targets": (
            """\
def square(y_true, y_pred):
    return K.mean(K.square(y_true - y_pred))
model = Sequential([Dense(1, input_shape=(10,))])
weigh(model)
model.compile('sgd', square, metrics=[square])
history = model.fit(x, y.astype('int64'), batch_size=8, epochs=2, shuffle=False, verbose=0)
report(history.history)
""",
            LAYERS + "\n" + BACKEND,
        ),
        "stateful_batch_size": (
            """\
model = Sequential()
model.add(LSTM(4, input_shape=(5, 2), batch_size=8, stateful=True))
weigh(model)
report(model.predict(x.reshape(32, 5, 2), batch_size=8))
""",
            LAYERS,
        ),
        "items_of_logs": (
            _MODEL
            + """\
class Losses(tf.keras.callbacks.Callback):
    def on_batch_end(self, batch, logs=None):
        for name, value in sorted(logs.items()):
            if name != 'size':
                report(float(value))
        report(float(logs.get('acc')), logs['batch'])
model.compile('sgd', 'mse', metrics=['accuracy'])
model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=[Losses()])
""",
        ),
        "lambda_callback": (
            _MODEL
            + """\
def keep(batch, logs):
    report(batch, float(logs['loss']))
class Keeper:
    def keep(self, batch, logs):
        report(float(logs['acc']), logs['batch'])
model.compile('sgd', 'mse', metrics=['accuracy'])
callbacks = [
    tf.keras.callbacks.LambdaCallback(on_batch_end=lambda n, logs: report(float(logs['loss']), logs['batch'])),
    tf.keras.callbacks.LambdaCallback(None, None, None, keep),
    tf.keras.callbacks.LambdaCallback(on_batch_end=Keeper().keep),
    tf.keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: report(batch)),
]
model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=callbacks)
""",
        ),
        "weights_in_folder": (
            _MODEL
            + """\
name = 'weights_of_run/cp-{epoch:04d}.ckpt'
before = model.predict(x)
model.save_weights(name.format(epoch=0))
weigh(model)
model.load_weights(name.format(epoch=0))
report(np.abs(model.predict(x) - before).max())
""",
        ),
        "losses_of_tf": (
            _MODEL + "model.compile('sgd', tf.losses.huber_loss)\n"
            "history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)\n"
            "report(history.history)\n",
        ),
        "images_of_tf": (
            """\
inputs = Input((4, 4, 1))
small = Lambda(lambda image: tf.image.resize_bilinear(image, (2, 2)))(inputs)
model = Model(inputs, Lambda(lambda image: tf.space_to_depth(image, 2))(small))
report(model.predict(x[:, :8].reshape(16, 4, 4, 1)))
""",
            LAYERS,
        ),
        "loss_of_tensors": (
            """\
inputs = Input(shape=(10,))
mean = Dense(2)(inputs)
model = Model(inputs, Dense(10)(mean))
weigh(model)
def with_mean(y_true, y_pred):
    return K.mean(K.square(y_true - y_pred)) + 0.1 * K.mean(K.square(mean))
model.compile('sgd', with_mean)
history = model.fit(x, x, batch_size=8, epochs=2, shuffle=False, verbose=0)
report(history.history)
""",
            LAYERS + "\n" + BACKEND,
        ),
        "add_loss": (
            """\
inputs = Input(shape=(10,))
mean = Dense(2)(inputs)
outputs = Dense(10)(mean)
model = Model(inputs, outputs)
weigh(model)
model.add_loss((K.mean(K.square(outputs - inputs)) + 0.1 * K.mean(K.square(mean))) * 0.5)
model.compile(optimizer='sgd')
history = model.fit(x, batch_size=8, epochs=2, shuffle=False, verbose=0)
report(history.history)
""",
            LAYERS + "\n" + BACKEND,
        ),
        "custom_objects_by_name": (
            """\
def soft(values):
    return values * K.sigmoid(1.702 * values)


def distance(y_true, y_pred):
    return K.mean(K.abs(y_true - y_pred))


tf.keras.utils.get_custom_objects().update({'soft': Activation(soft), 'distance': distance})
tf.keras.utils.get_custom_objects()['third'] = soft
inputs = Input(shape=(10,))
model = Model(inputs, Activation('third')(Dense(10, activation='soft')(inputs)))
weigh(model)
model.compile('sgd', loss='distance', metrics=['distance'])
history = model.fit(x, x, batch_size=8, epochs=2, shuffle=False, verbose=0)
report(history.history)
""",
            LAYERS + "\n" + BACKEND,
        ),
        "class_weights_of_a_generator": (
            _MODEL
            + """\
def batches():
    while True:
        for start in range(0, 32, 8):
            yield x[start:start + 8], y[start:start + 8] > 0


model.compile('sgd', 'binary_crossentropy', metrics=['acc'])
weights = {0: 1., 1: 5.}
history = model.fit_generator(batches(), 4, epochs=2, class_weight=weights, workers=0, verbose=0)
report(history.history)
""",
        ),
        "class_weights_of_a_dataset": (
            _MODEL
            + """\
model.compile('sgd', 'binary_crossentropy', metrics=['acc'])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
report(model.fit(data, epochs=2, class_weight={0: 1., 1: 5.}, verbose=0).history)
""",
        ),
        "class_weights_of_outputs": (
            """\
inputs = Input(shape=(10,))
hidden = Dense(4, activation='relu')(inputs)
outputs = [Dense(1, activation="sigmoid", name="z")(hidden), Dense(3, activation="softmax", name="a")(hidden)]
model = weigh(Model(inputs, outputs))
model.compile('sgd', {'z': 'binary_crossentropy', 'a': 'categorical_crossentropy'})
hot = np.eye(3)[np.arange(32) % 3]
history = model.fit(x, {'z': y, 'a': hot}, batch_size=8, epochs=2, shuffle=False, verbose=0,
                    class_weight={'z': {0: 1., 1: 5.}, 'a': {0: 1., 1: 2., 2: 3.}})
report(history.history)
targets = [y, hot]
history = model.fit(x, targets, class_weight={'a': {0: 0., 1: 2., 2: 3.}}, verbose=0, shuffle=False)
report(history.history, model.predict(x)[0])
""",
            LAYERS,
        ),
        "names_with_a_slash": (
            """\
inputs = Input(shape=(10,))
model = weigh(Model(inputs, Dense(2, name='block/' + 'dense')(inputs)))
report(model.get_layer('block/dense').get_weights()[0], model.predict(x))
""",
            LAYERS,
        ),
        # Random numbers ------------------------------------------------------------------------------
        "initializer_with_a_name": (
            """\
init = tf.keras.initializers.RandomNormal(stddev=0.1)
model = tf.keras.Sequential()
for _ in range(2):
    model.add(tf.keras.layers.Dense(10, kernel_initializer=init, input_shape=(10,)))
first, _, second, _ = model.get_weights()
report(bool((first == second).any()))
""",
        ),
        "seed_of_tensorflow": (
            """\
def weights():
    K.clear_session()
    tf.set_random_seed(7)
    return Sequential([Dense(3, input_shape=(10,)), Dense(2)]).get_weights()
report([float((a - b).max()) for a, b in zip(weights(), weights())])
""",
            LAYERS + "\n" + BACKEND,
        ),
        "callback_that_stops": (
            _MODEL
            + """\
class Stop(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            self.model.stop_training = True
model.compile(tf.keras.optimizers.SGD(lr=0.1), 'mse')
history = model.fit(x, y, batch_size=8, epochs=4, shuffle=False, verbose=0, callbacks=[Stop()])
report(history.history['loss'])
""",
        ),
        "yaml": (
            "from tensorflow.keras.models import model_from_yaml\n"
            + _MODEL
            + """\
with open('model.yaml', 'w') as stream:
    stream.write(model.to_yaml())
other = model_from_yaml(open('model.yaml').read())
report(weigh(other).predict(x))
""",
        ),
        "optimizers_by_texts": (
            """\
OPTIMIZER = 'rmsprop'
CONFIG = {'optimizer': 'adagrad', 'loss': 'binary_crossentropy'}
CLASSES = {'a': tf.keras.optimizers.RMSprop, 'b': tf.keras.optimizers.SGD}

def train(optimizer='RMSprop', loss='logcosh', metric='accuracy'):
"""
            + _indented(_MODEL)
            + """\
    model.compile(optimizer=optimizer, loss=loss, metrics=[metric])
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    report(history.history, model.predict(x))

train()
train(OPTIMIZER if len(x) > 3 else 'adam')
train(CONFIG['optimizer'], CONFIG['loss'])
for name in ['sgd', 'adagrad']:
    train(tf.keras.optimizers.get(name))
for name in CLASSES:
    train(CLASSES[name](lr=0.01), 'mse', 'mae')
""",
        ),
        "words_by_names": (
            """\
activation = 'hard_sigmoid'

def net(activation, constraint='maxnorm', initializer='constant'):
    model = tf.keras.Sequential()
    model.add(tf.keras.layers.Dense(
        4, activation=activation, input_shape=(10,), kernel_constraint=constraint))
    model.add(tf.keras.layers.Dense(1, bias_initializer=initializer))
    return weigh(model)

model = net(activation)
model.compile('sgd', 'mse')
"""
            + _FIT,
        ),
        "weights_and_the_optimizer": (
            _MODEL
            + """\
model.compile(tf.keras.optimizers.Adam(lr=0.05), 'mse')
best = tf.keras.callbacks.ModelCheckpoint('best.h5', save_weights_only=True)
whole = tf.keras.callbacks.ModelCheckpoint('whole.h5')
model.save_weights('first.h5')
report(model.fit(x, y, epochs=2, shuffle=False, verbose=0, callbacks=[best, whole]).history['loss'])
tf.keras.backend.set_value(model.optimizer.lr, 0.01)
for name in ('best.h5', 'first.h5'):
    model.fit(x, y, shuffle=False, verbose=0)
    model.load_weights(name)
    report(model.fit(x, y, shuffle=False, verbose=0).history['loss'])
report(float(tf.keras.backend.get_value(model.optimizer.lr)))
model.load_weights('whole.h5')
report(model.fit(x, y, shuffle=False, verbose=0).history['loss'])
report(float(tf.keras.backend.get_value(model.optimizer.lr)))
""",
        ),
        "frozen_batch_normalization": (
            """\
inner = tf.keras.Sequential([
    tf.keras.layers.Dense(6, input_shape=(10,)), tf.keras.layers.BatchNormalization(),
    tf.keras.layers.Activation('relu')])
model = tf.keras.Sequential([
    inner, tf.keras.layers.BatchNormalization(momentum=0.5), tf.keras.layers.Dense(1)])
weigh(model)
for layer in inner.layers:
    layer.trainable = False
model.layers[1].trainable = False
model.compile('sgd', 'mse')
history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0, validation_data=(x, y))
report(history.history)
report([float(value) for weights in model.get_weights() for value in weights.ravel()])
model.layers[1].trainable = True
model.compile('sgd', 'mse')
report(model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0).history['loss'])
report([float(value) for weights in model.get_weights() for value in weights.ravel()])
""",
        ),
        "sequence_in_the_main_thread": (
            _MODEL
            + """\
class Batches(tf.keras.utils.Sequence):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return x[8 * index:8 * index + 8], y[8 * index:8 * index + 8]
model.compile('sgd', 'binary_crossentropy')
report(model.fit_generator(Batches(), epochs=2, verbose=0, workers=0).history)
report(model.fit_generator(Batches(), epochs=2, verbose=0, workers=0, shuffle=True).history)
""",
        ),
    }.items()
}
