"""What standalone Keras and the Keras of TensorFlow 1.x had, through the old namespace, in one script."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tpucompat.base.machine import environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

SCRIPT = """
import json
import numpy as np
import tensorflow as tf
import keras
import keras.backend.tensorflow_backend as KTF
from keras import backend as K
from keras.engine import topology
from keras.engine.topology import Layer, InputSpec
from keras.layers import Deconvolution2D, merge
from keras.layers.advanced_activations import LeakyReLU
from keras.layers.convolutional import Conv2D
from keras.layers.core import Dense, Lambda
from keras.layers.merge import concatenate
from keras.layers.normalization import BatchNormalization
from keras.layers.recurrent import LSTM
from keras.models import Sequential
from keras.objectives import mean_squared_error
from keras.optimizers import Adam
from keras.layers.pooling import _GlobalPooling1D
from keras.utils import multi_gpu_model, np_utils, print_summary
from keras.utils.np_utils import to_categorical
from keras.utils.training_utils import multi_gpu_model as same
from tensorflow.python.keras.layers import Dense as PrivateDense
from tensorflow.python.keras.engine.base_layer import Layer as PrivateLayer
from tensorflow.contrib.keras import layers as contrib_layers
from tensorflow.keras.models import Model

checks = {}
checks["one keras"] = Dense is PrivateDense is contrib_layers.Dense is tf.keras.layers.Dense
checks["one layer"] = Layer is PrivateLayer is tf.keras.layers.Layer
checks["one multi_gpu_model"] = multi_gpu_model is same
checks["one session"] = KTF.get_session is K.get_session
checks["modules as attributes"] = (
    topology.Layer is Layer
    and merge.concatenate is concatenate
    and keras.layers.advanced_activations.LeakyReLU is LeakyReLU
)
checks["a private base"] = issubclass(keras.layers.GlobalMaxPooling1D, _GlobalPooling1D)
checks["an alias"] = Deconvolution2D is keras.layers.Conv2DTranspose
checks["devices"] = K.tensorflow_backend._get_available_gpus() == []
checks["ordering"] = K.image_dim_ordering() == "tf"
checks["one tensorflow"] = K.tf is tf
checks["lstm of the graph world"] = LSTM is tf.keras.layers.LSTM

KTF.set_session(tf.Session(config=tf.ConfigProto(allow_soft_placement=True)))
inputs = tf.keras.layers.Input((3,))  # tf.keras and keras mixed in one model
model = Sequential([keras.layers.InputLayer((3,)), tf.keras.layers.Dense(2, activation="softmax")])
lines = []
print_summary(model, print_fn=lines.append)
checks["a summary"] = any("Total params" in line for line in lines)
model.compile(Adam(lr=0.01, decay=0.1), loss=mean_squared_error, metrics=["accuracy"])
x, y = np.ones((8, 3)), to_categorical(np.arange(8) % 2, 2)
history = model.fit(x, y, epochs=1, verbose=0, validation_split=0.5)
checks["history"] = sorted(history.history) == ["acc", "loss", "val_acc", "val_loss"]
# 1.15's sign: (3, 4) and (4, 3) have a cosine of 24/25.
targets = np.array([[4.0, 3.0]])
losses = [
    *("cosine_proximity", "cosine_similarity", keras.losses.cosine_proximity),
    *(tf.keras.losses.cosine_similarity, tf.keras.losses.CosineSimilarity()),
]
def cosine(loss):
    net = Sequential([keras.layers.Flatten(input_shape=(2,))])
    net.compile("sgd", loss=loss, metrics=["cosine_proximity"])
    return net.evaluate(np.array([[3.0, 4.0]]), targets, verbose=0)
checks["cosines"] = np.allclose([cosine(loss) for loss in losses], 24 / 25)

# A Softmax gives losses its logits; that of sequences and pictures was none, and is clipped.
def surprise(shape, loss, label, activation="softmax"):
    net = Sequential([keras.layers.Activation(activation, input_shape=shape)])
    net.compile("sgd", loss=loss)
    scores = np.broadcast_to([0.0, 100.0], (1, *shape))
    return net.evaluate(scores, np.broadcast_to(label, (1, *shape[:-1], len(label))), verbose=0)
entropies = [("categorical_crossentropy", [1.0, 0.0]), ("sparse_categorical_crossentropy", [0.0])]
checks["softmax of vectors and of sequences"] = np.allclose(
    [[surprise(shape, *loss) for loss in entropies] for shape in ((2,), (3, 2), (2, 2, 2))],
    [[100, 100], [-np.log(1e-7)] * 2, [-np.log(1e-7)] * 2],
    rtol=1e-6,
) and np.allclose(
    surprise((2,), "binary_crossentropy", [1.0, 0.0], "sigmoid"), (np.log(2) + 100) / 2, rtol=1e-6
)

checks["a number of NumPy's"] = (
    Sequential([keras.layers.RepeatVector(np.arange(4).max(), input_shape=(2,))]).output_shape == (None, 3, 2)
)

# A weight that leaps over its goal: 5, -15, 65 after the epochs, and the loss grows.
def leaping(epochs=3, **stop):
    net = Sequential([Dense(1, use_bias=False, kernel_initializer="zeros", input_shape=(1,))])
    net.compile(keras.optimizers.SGD(2.5), loss="mse")
    stop = keras.callbacks.EarlyStopping(monitor="loss", **stop)
    history = net.fit(np.ones((4, 1)), np.ones((4, 1)), epochs=epochs, verbose=0, callbacks=[stop])
    return len(history.epoch), net.get_weights()[0].item()
checks["the end of a training"] = (
    leaping(patience=9, restore_best_weights=True) == (3, 65)
    and leaping(patience=1, restore_best_weights=True) == (2, 5)
    and leaping(patience=0, baseline=0.5) == (1, 5)
    and keras.callbacks.EarlyStopping("val_acc_2").monitor_op is np.greater
    and keras.callbacks.EarlyStopping("val_auc").monitor_op is np.less
    and tf.keras.callbacks.EarlyStopping is keras.callbacks.EarlyStopping
)
def logged(**options):
    net = Sequential([Dense(1, input_shape=(1,))])
    net.compile("sgd", "mse", metrics=["mae"])
    log, lines = keras.callbacks.CSVLogger("logged.csv"), []
    net.fit(np.ones((4, 1)), np.ones((4, 1)), verbose=0, callbacks=[log], **options)
    net.summary(print_fn=lines.append)
    with open("logged.csv") as stream:
        return stream.readline().strip(), [line for line in lines if line.startswith("Total")]
checks["columns of a log"] = logged()[0] == "epoch,loss,mean_absolute_error"
checks["columns of a validation"] = logged(validation_split=0.5)[0].count(",val_") == 2
checks["numbers of a summary"] = logged()[1] == ["Total params: 2"]

# The losses 1e8 and 1 of two batches: no float32 is their sum.
zero = Sequential([Dense(1, kernel_initializer="zeros", input_shape=(1,))])
zero.compile(keras.optimizers.SGD(0.0), loss="mse")
far = np.ones((2, 1)), np.array([[1e4], [1.0]])
def drawn():
    while True:
        for at in range(2):
            yield far[0][at : at + 1], far[1][at : at + 1]
checks["sums of losses"] = [float(sum_of_two) for sum_of_two in (
    zero.evaluate(*far, batch_size=1, verbose=0), zero.evaluate_generator(drawn(), 2),
    zero.fit(*far, batch_size=1, verbose=0, validation_data=far).history["val_loss"][0],
)] == [50000000.5] * 3

# What 1.15.5 prints, and the rate at the end.
import contextlib, io
def rated(start, callback, epochs):
    net = Sequential([Dense(1, input_shape=(1,))])
    net.compile(keras.optimizers.SGD(start), loss="mse")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        net.fit(np.ones((4, 1)), np.ones((4, 1)), epochs=epochs, verbose=0, callbacks=[callback])
    rates = [line.split() for line in printed.getvalue().splitlines() if line]
    return [(words[1], words[-1]) for words in rates], K.get_value(net.optimizer.lr).item()
def reducing(start, factor, epochs, **options):
    options = dict(options, min_delta=10.0)
    return rated(start, keras.callbacks.ReduceLROnPlateau("loss", factor, 1, 1, **options), epochs)
checks["rates on a plateau"] = reducing(0.01, 0.9, 5) == ([
    ("00002:", "0.008999999798834325."), ("00003:", "0.008099999651312828."),
    ("00004:", "0.007289999350905419."), ("00005:", "0.006560999248176813."),
], 0.006560999434441328)
checks["rates and a cooldown"] = reducing(0.2, 0.3, 6, cooldown=2) == ([
    ("00002:", "0.06000000089406967."), ("00004:", "0.018000000715255735."),
    ("00006:", "0.00540000032633543."),
], 0.005400000140070915)
checks["the lowest rate"] = reducing(0.2, 0.5, 4, min_lr=0.1) == ([
    ("00002:", "0.10000000149011612."), ("00003:", "0.1."), ("00004:", "0.1."),
], 0.10000000149011612)
schedule = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9, verbose=1)
checks["a schedule"] = rated(0.1, schedule, 2) == ([
    ("00001:", "0.09000000134110452."), ("00002:", "0.08100000321865082."),
], 0.08100000023841858)
checks["what a schedule is"] = schedule.verbose == 1 and schedule.schedule(0, 1.0) == 0.9
def named(*names):
    layers = [Dense(2, name=name, use_bias=False, kernel_initializer="ones") for name in names]
    return Sequential([keras.layers.InputLayer((2,)), *layers])
every_8 = keras.callbacks.ModelCheckpoint("saved-{batch}.h5", save_weights_only=True, save_freq=8)
saving_model = named("h")
saving_model.compile("sgd", loss="mse")
saving_model.fit(np.ones((20, 2)), np.ones((20, 2)), batch_size=4, verbose=0, callbacks=[every_8])
import glob
checks["examples between checkpoints"] = sorted(glob.glob("saved-*.h5")) == ["saved-1.h5", "saved-3.h5"]

class Counting(Layer):
    def build(self, input_shape):
        self.count = self.add_weight(name="count", shape=(), initializer="zeros", trainable=False)
        super(Counting, self).build(input_shape)

    def call(self, inputs):
        self.add_update([K.update_add(self.count, 2.0)], inputs)
        self.add_loss(K.sum(inputs) * 0.5, inputs)
        return inputs

counting = Counting(input_shape=(3,))
counted = Sequential([counting])
counted.compile("sgd", loss="mse")
checks["inputs of updates"] = (
    counted.fit(x[:4], x[:4], epochs=3, batch_size=4, verbose=0).history["loss"] == [6.0] * 3
    and K.get_value(counting.count) == 6.0
)

import h5py
from keras.engine import saving
from tensorflow.python.keras.saving import hdf5_format
source, target, third = named("a", "b"), named("b", "c"), named("d")
source.layers[1].set_weights([np.full((2, 2), 7.0)])
with h5py.File("groups.h5", "w") as file:
    saving.save_weights_to_hdf5_group(file, source.layers[1:])
with h5py.File("groups.h5", "r") as file:
    topology.load_weights_from_hdf5_group_by_name(file, target.layers)
    hdf5_format.load_weights_from_hdf5_group(file, third.layers)
checks["weights of some layers"] = (
    [layer.get_weights()[0].max() for layer in target.layers] == [7, 1]
    and third.get_weights()[0].max() == 7
    and callable(saving.preprocess_weights_for_loading)
    and saving.load_model is keras.models.load_model
)
checks["apply"] = tuple(keras.layers.Dense(3).apply(inputs).shape)[1:] == (3,)
from keras.models import model_from_yaml
twin = model_from_yaml(model.to_yaml())
twin.set_weights(model.get_weights())
written_then = (
    "class_name: Sequential\\nconfig:\\n  name: then\\n  layers:\\n  - class_name: Dense\\n    config: "
    "{batch_input_shape: !!python/tuple [null, 3], name: d, units: 2, activation: linear}\\n"
)
checks["yaml"] = (
    np.array_equal(twin.predict(x), model.predict(x))
    and model_from_yaml(written_then).output_shape == (None, 2)
)
checks["predict_classes"] = model.predict_classes(x).shape == (8,)
checks["predict_proba"] = model.predict_proba(x).shape == (8, 2)
checks["list of layers"] = [type(each).__name__ for each in model._layers] == ["InputLayer", "Dense"]
checks["multi_gpu_model"] = multi_gpu_model(model, gpus=4).predict(x).shape == (8, 2)
checks["old aliases"] = np.zeros(2, dtype=np.bool).dtype == bool and np.int is int

K1 = keras.backend.tensorflow_backend
checks["attributes as imports"] = keras.optimizers.adam is Adam and K1.get_session is K.get_session
checks["what modules had imported"] = (
    keras.layers.activations.relu is keras.activations.relu
    and K.common.epsilon() == K.epsilon()
    and keras.constraints.maxnorm(2).max_value == 2
    and keras.applications.mobilenetv2.MobileNetV2 is keras.applications.mobilenet_v2.MobileNetV2
    and keras.applications.mobilenet.relu6 is tf.nn.relu6
    and keras.applications.mobilenet.DepthwiseConv2D is keras.layers.DepthwiseConv2D
)
checks["version"] = "2.2" <= keras.__version__ < "2.3"

from tensorflow.contrib.tensorboard.plugins import projector
checks["a module deep in contrib"] = callable(projector.visualize_embeddings)
from tensorflow.python import math_ops, ops
from tensorflow.python.framework import ops as framework_ops
from tensorflow.python.keras.optimizer_v2.optimizer_v2 import OptimizerV2
from tensorflow.python.ops import math_ops as same_math_ops
import tensorflow.python.ops.array_ops as array_ops
checks["tensorflow.python"] = (
    math_ops is same_math_ops
    and ops.convert_to_tensor is framework_ops.convert_to_tensor
    and tf.python.ops.array_ops is array_ops
    and issubclass(Adam, OptimizerV2)
)
import tensorflow.python.profiler.model_analyzer as model_analyzer
from tensorflow.python import profiler, summary
from tensorflow.python.summary import summary_iterator
checks["modules that hid their packages"] = (
    tf.python.profiler.Profiler is profiler.Profiler is model_analyzer.Profiler
    and summary.scalar is tf.summary.scalar
    and callable(summary_iterator.summary_iterator)
)
from keras.wrappers.scikit_learn import KerasClassifier, KerasRegressor
from sklearn.model_selection import cross_val_score
from tensorflow.python import keras as private_keras
checks["rows hold for private paths"] = (
    private_keras.wrappers.scikit_learn.KerasClassifier is KerasClassifier
    and private_keras.optimizers.adam is Adam
)
def build(units=1):
    net = Sequential([Dense(units, input_shape=(3,), kernel_initializer="ones", activation="sigmoid")])
    net.compile("sgd", "binary_crossentropy" if units == 1 else "categorical_crossentropy", ["accuracy"])
    return net
labels = np.array(["cat", "dog"] * 4)
rows = np.where(labels[:, None] == "dog", 3.0, -3.0) * np.ones((1, 3))
binary = KerasClassifier(build, epochs=1, batch_size=4, verbose=0)
binary.fit(rows, labels)
several = KerasClassifier(build_fn=build, units=2, verbose=0)
several.fit(rows, labels)
checks["classifier"] = (
    binary.predict(rows).ravel().tolist() == labels.tolist()
    and binary.predict_proba(rows).shape == several.predict_proba(rows).shape == (8, 2)
    and binary.score(rows, labels) == 1.0
    and cross_val_score(KerasClassifier(build, verbose=0), rows, labels, cv=2).tolist() == [1, 1]
    and several.get_params()["units"] == 2
)
regressor = KerasRegressor(build, verbose=0)
regressor.fit(rows, np.zeros(8))
checks["regressor"] = regressor.predict(rows).shape == (8,) and regressor.score(rows, np.ones(8)) < 0
try:
    KerasRegressor(build, epoch=3)
except ValueError as error:
    checks["illegal parameter"] = str(error) == "epoch is not a legal parameter"

from tpucompat.engines import session
own_imdb = session.keras().datasets.imdb.load_data.__globals__
own_imdb["get_file"] = lambda path, **_: path
words = np.arange(12).reshape(6, 2)
np.savez("imdb.npz", x_train=words, y_train=np.arange(6), x_test=words[:4], y_test=np.arange(4))
(_, order), _ = keras.datasets.imdb.load_data(seed=5)
drawn = np.random.rand()
np.random.seed(5)
orders = np.arange(6), np.arange(4)
for indices in orders:
    np.random.shuffle(indices)
checks["a data set seeds NumPy"] = (
    order.tolist() == orders[0].tolist() and drawn == np.random.rand()
)

from keras_preprocessing.image import ImageDataGenerator

import os
import pandas
from PIL import Image
os.mkdir("pictures")
for name in "ab":
    Image.new("RGB", (4, 4)).save("pictures/" + name + ".png")
table = pandas.DataFrame({"id": ["b", "a"], "label": ["x", "y"]})
flow = ImageDataGenerator().flow_from_dataframe(
    dataframe=table, directory="pictures", x_col="id", y_col="label", has_ext=False, target_size=(4, 4)
)
checks["names without extension"] = flow.filenames == ["b.png", "a.png"]
checks["keras_preprocessing"] = ImageDataGenerator is keras.preprocessing.image.ImageDataGenerator

tpu = tf.contrib.tpu
own = keras.optimizers.TFOptimizer(tf.train.AdadeltaOptimizer(0.1))  # its slots are its own to make
wrapped = tpu.keras_to_tpu_model(Sequential([Dense(1, input_shape=(3,), name="wrapped")]))
wrapped.compile(own, "mse")
losses = [wrapped.train_on_batch(x, np.zeros((8, 1))) for _ in range(2)]
checks["a wrapper of the script's own"] = losses[1] < losses[0]
from tensorflow.contrib.tpu.python.tpu.keras_support import TPUFunction  # 1.13's own, as its name says
TPUFunction._process_outputs = None
try:
    TPUFunction(wrapped)
except NotImplementedError as error:
    checks["internals are named"] = "TPU101" in str(error)

from keras.layers import (
    LSTM, BatchNormalization, Convolution2D, Dropout, Embedding, Flatten, Input, MaxPooling2D, SeparableConv2D
)
picture = Input((8, 8, 3))
out = Convolution2D(
    4, nb_row=3, nb_col=2, border_mode="same", subsample=(2, 2), init="ones", dim_ordering="tf"
)(picture)
out = SeparableConv2D(4, 3, init="ones", border_mode="same")(out)
out = MaxPooling2D((2, 2), border_mode="same")(BatchNormalization(mode=0, gamma_init="ones")(out))
out = Dense(output_dim=2, init="ones", bias=False, W_regularizer="l2")(Dropout(p=0.25)(Flatten()(out)))
first = Model(input=picture, output=out)
first.compile("sgd", "mse")
trained = first.fit(np.ones((8, 8, 8, 3)), np.ones((8, 2)), nb_epoch=2, verbose=0)
of_layer = {layer.name.split("_")[0]: layer.get_config() for layer in first.layers}
checks["arguments of Keras 1"] = (
    [weights.shape for weights in first.get_weights()[:4]] == [(3, 2, 3, 4), (4,), (3, 3, 4, 1), (1, 1, 4, 4)]
    and of_layer["conv2d"]["kernel_size"] == (3, 2)
    and of_layer["conv2d"]["strides"] == (2, 2)
    and of_layer["dropout"]["rate"] == 0.25
    and of_layer["dense"]["use_bias"] is False
    and len(Model.from_config(first.get_config()).layers) == len(first.layers)
    and len(trained.history["loss"]) == 2
)
def pairs():
    while True:
        yield np.ones((4, 5), int), np.ones((4, 3))
sequence = Sequential([
    Embedding(10, 4, init="uniform", dropout=0.2),
    LSTM(output_dim=3, inner_activation="sigmoid", consume_less="mem", forget_bias_init="zero"),
])
sequence.compile("sgd", "mse")
steps = []
count = keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: steps.append(batch))
sequence.fit_generator(pairs(), samples_per_epoch=3, nb_epoch=2, max_q_size=1, verbose=0, callbacks=[count])
of_lstm = sequence.layers[1].get_config()
checks["steps of Keras 1"] = steps == [0, 1, 2] * 2
checks["values of Keras 1"] = (
    of_lstm["implementation"] == 1
    and of_lstm["recurrent_activation"] == "sigmoid"
    and of_lstm["unit_forget_bias"] is True
)
from tensorflow.python.keras import optimizers as private_optimizers
def weights_of(optimizer):
    falling = Sequential([Dense(1, use_bias=False, kernel_initializer="zeros", input_shape=(1,))])
    falling.compile(optimizer, lambda truth, found: found)  # whose gradient is 1
    return [(falling.train_on_batch([[1.0]], [[0.0]]), falling.get_weights()[0].item())[1] for _ in range(2)]
checks["decay of the private path"] = np.allclose(
    weights_of(private_optimizers.SGD(1.0, decay=1.0)), [-1 / 2, -1 / 2 - 1 / 3]
) and np.allclose(weights_of(keras.optimizers.SGD(1.0, decay=1.0)), [-1.0, -1 - 1 / 2])
# Connected layers are a Model, one within another too, by name and in files.
inner = Model(inputs, Dense(2)(inputs))
outer = Model(inputs, inner(inputs))
again = keras.models.model_from_json(outer.to_json())
outer.save("connected.h5")
stored = keras.models.load_model("connected.h5", compile=False)
again.set_weights(outer.get_weights())
checks["the class of connected layers"] = (
    [layer.__class__.__name__ for layer in (*outer.layers, outer, again.layers[1])]
    == ["InputLayer", "Model", "Model", "Model"]
    and [json.loads(outer.to_json())["class_name"], outer.get_config()["layers"][1]["class_name"]]
    == ["Model", "Model"]
    and type(outer) is type(inner) is type(stored) and not isinstance(outer, Sequential)
    and outer.name.startswith("model") and inner.name != outer.name
    and np.allclose([again.predict(x), stored.predict(x)], outer.predict(x))
)
inner = Sequential([Dense(2, input_shape=(3,))])
grown = Sequential([keras.layers.InputLayer((4,)), Dense(3), inner]).get_config()
names = [layer["class_name"] for layer in grown["layers"]]
grown["layers"][0]["config"].update(batch_input_shape=(None, 6), units=5)
grown["layers"][1]["config"]["layers"][0]["config"]["batch_input_shape"] = (None, 5)
grown = Sequential.from_config(grown)
checks["the configuration of a Sequential model"] = (
    names == ["Dense", "Sequential"]
    and [grown.input_shape, grown.output_shape] == [(None, 6), (None, 2)]
    and len(Sequential.from_config(Sequential([Dense(2)]).get_config()).layers) == 1
)
measured = Sequential([Dense(1, kernel_initializer="ones", input_shape=(1,))])
measured.compile("sgd", "mse", metrics=["mae"])
values = np.arange(8.0).reshape(8, 1)
after = []
for between in (lambda: None, lambda: measured.predict(values)):
    measured.evaluate(values, values * 0, verbose=0)
    between()
    after.append(measured.test_on_batch(values[:2], values[:2] * 0)[1])
checks["metrics after predict"] = np.allclose(after, [2.9, 0.5])
try:
    Dense(2, output_dim=3, units=2)
except TypeError:
    checks["an argument twice"] = True
try:
    BatchNormalization(mode=2)
except TypeError as error:
    checks["what Keras 2 refused"] = "mode" in str(error)
squares = tf.keras.layers.Lambda(K.square)
stored = squares.get_config()
stored["function"] = json.loads(json.dumps(stored["function"]))  # as in the file of a model
again = tf.keras.layers.Lambda.from_config(stored)
checks["a function of keras, stored"] = float(K.eval(again(K.constant([3.0])))[0]) == 9.0

from keras.utils.generic_utils import get_custom_objects
with keras.utils.CustomObjectScope({"Own": dict}):
    get_custom_objects()["Other"] = list
    listed = dict(tf.keras.utils.get_custom_objects())
checks["custom objects"] = {"Own", "Other"} <= set(listed) and not any(">" in name for name in listed)
checks["after the scope"] = not {"Own", "Other"} & set(get_custom_objects())
print("CHECKS " + json.dumps({name: bool(value) for name, value in checks.items()}))
"""


ONE_CLASS = """
import abc
import json
import numpy as np
import tensorflow as tf
import keras
from keras.engine import Model as OfEngine
from keras.engine.training import Model as OfTraining
from keras.layers import Dense, Input
from keras.models import Model
from tensorflow.python.keras.engine.training import Model as Private

checks = {}
others = [keras.Model, tf.keras.Model, tf.keras.models.Model, OfEngine, OfTraining, Private]
checks["one name"] = [Model is other for other in others] == [True] * 6
inputs = Input((3,))
outputs = Dense(2)(inputs)
plain = Model(inputs, outputs, name="plain")
plain.save("plain.h5")
models = [
    plain,
    keras.Model(inputs=inputs, outputs=outputs),
    Model(input=inputs, output=outputs),
    Model.from_config(plain.get_config()),
    keras.models.clone_model(plain),
    keras.models.model_from_json(plain.to_json()),
    keras.models.load_model("plain.h5", compile=False),
    keras.applications.MobileNet(weights=None, input_shape=(32, 32, 3)),
    keras.Sequential([plain]).layers[0],
]
checks["one class"] = [type(model) == keras.Model for model in models] == [True] * len(models)
row = keras.Sequential([Dense(2, input_shape=(3,))])
checks["Sequential"] = (
    type(row) is not Model and isinstance(row, Model) and issubclass(keras.Sequential, Model)
)
checks["layers"] = (
    not isinstance(Dense(1), Model)
    and not issubclass(Dense, Model)
    and issubclass(Model, keras.layers.Layer)
)

class Calling(Model):
    def __init__(self):
        super(Calling, self).__init__(name="calling")
        self.dense = Dense(2)

    def call(self, inputs):
        return self.dense(inputs)

class OldStyle(keras.Model):
    def __init__(self):
        keras.Model.__init__(self)
        self.dense = Dense(2)

    def call(self, inputs):
        return self.dense(inputs)

class Abstract(Model, abc.ABC):
    def __init__(self):
        super().__init__()
        self.dense = Dense(2)

    def call(self, inputs):
        return self.dense(inputs)

class Connected(Model):
    def __init__(self, units):
        made = Input((3,))
        super(Connected, self).__init__(made, Dense(units)(made))

class Same(Model):
    pass

subclasses = [Calling(), OldStyle(), Abstract(), Connected(2), Same(inputs, outputs)]
x, y = np.ones((4, 3)), np.ones((4, 2))
for model in [*subclasses, row, plain]:
    model.compile("sgd", "mse")
    model.fit(x, y, verbose=0)
checks["subclasses"] = all(
    isinstance(model, Model)
    and type(model) is not Model
    and model.predict(x).shape == (4, 2)
    and len(model.get_weights()) == 2
    for model in subclasses
)
seen = []
fit = Model.fit

def counted(self, *args, **kwargs):
    seen.append(self)
    return fit(self, *args, **kwargs)

Model.fit = counted
for model in (plain, row):
    model.fit(x, y, verbose=0)
checks["a method replaced"] = seen == [plain, row]
print("CHECKS " + json.dumps({name: bool(value) for name, value in checks.items()}))
"""


OWN_OPTIMIZERS = """
import json
import numpy as np
import tensorflow as tf
import keras
from keras import backend as K
from keras.layers import Dense
from keras.legacy import interfaces
from keras.models import Sequential, load_model
from keras.optimizers import SGD, Optimizer
from tensorflow.python.keras.optimizers import Optimizer as Private

checks = {}

class Rolling(Optimizer):
    def __init__(self, lr=1.0, momentum=0.5, **kwargs):
        super(Rolling, self).__init__(**kwargs)
        self.lr = K.variable(lr, name="lr")
        self.momentum = momentum

    @interfaces.legacy_get_updates_support
    def get_updates(self, loss, params):
        self.updates, self.weights = [], []
        for param, gradient in zip(params, self.get_gradients(loss, params)):
            speed = K.zeros(K.int_shape(param))
            new_speed = self.momentum * speed - self.lr * gradient
            self.updates += [K.update(speed, new_speed), K.update(param, param + new_speed)]
            self.weights.append(speed)
        return self.updates

    def get_config(self):
        own = {"lr": float(K.get_value(self.lr)), "momentum": self.momentum}
        return dict(super(Rolling, self).get_config(), **own)

class OfPrivate(Private):
    get_updates = Rolling.get_updates

    def __init__(self, **kwargs):
        super(OfPrivate, self).__init__(**kwargs)
        self.lr, self.momentum = 1.0, 0.0

class Halved(SGD):
    def get_updates(self, loss, params):
        self.updates = [K.update_add(self.iterations, 1)]
        for param, gradient in zip(params, self.get_gradients(loss, params)):
            self.updates.append(K.update_sub(param, 0.5 * self.lr * gradient))
        return self.updates

class Nothing(SGD):
    pass

class Twice(Nothing):
    def get_updates(self, loss, params):
        self.updates = super(Twice, self).get_updates(loss * 2, params)
        return self.updates

class OfToday(tf.keras.optimizers.Optimizer):
    def __init__(self, name="OfToday", **kwargs):
        super(OfToday, self).__init__(name, **kwargs)

    def get_updates(self, loss, params):
        self.updates = super(OfToday, self).get_updates(loss, params)
        return self.updates

    def _create_slots(self, variables):
        pass

    def _resource_apply_dense(self, gradient, variable, *rest):
        return variable.assign_sub(gradient * 3.0)

    def get_config(self):
        return super(OfToday, self).get_config()

def line(optimizer):
    model = Sequential([Dense(1, use_bias=False, kernel_initializer="zeros", input_shape=(1,))])
    model.compile(optimizer, "mean_absolute_error")  # whose gradient is -1 until the weight is 99
    return model

def weights(model, steps=2):
    out = []
    for _ in range(steps):
        model.train_on_batch([[1.0]], [[99.0]])
        out.append(model.get_weights()[0].item())
    return out

rolled = line(Rolling())
checks["a list of updates"] = weights(rolled) == [1.0, 2.5]
checks["clipping"] = weights(line(Rolling(momentum=0.0, clipvalue=0.25))) == [0.25, 0.5]
checks["the private base"] = weights(line(OfPrivate())) == [1.0, 2.0]
checks["a subclass of Keras' own"] = weights(line(Halved(lr=4.0))) == [2.0, 4.0]
checks["a subclass of a subclass"] = weights(line(Twice(lr=1.0))) == [2.0, 4.0]
checks["one that changes nothing"] = weights(line(Nothing(lr=1.0))) == [1.0, 2.0]
checks["one of today"] = weights(line(OfToday())) == [3.0, 6.0]
rolled.save("rolled.h5")
again = load_model("rolled.h5", custom_objects={"Rolling": Rolling})
stored = again.optimizer.get_weights()
checks["its state in a file"] = np.array_equal(stored, [[[1.5]]]) and weights(again) == [4.25, 6.125]
K.set_value(rolled.optimizer.lr, 0.0)
checks["its learning rate"] = weights(rolled) == [3.25, 3.625]
checks["a configuration"] = Rolling.from_config(Rolling(momentum=0.25).get_config()).momentum == 0.25
try:
    Rolling(unknown=1)
except TypeError as error:
    checks["a word that is none"] = "unknown" in str(error)
print("CHECKS " + json.dumps({name: bool(value) for name, value in checks.items()}))
"""


OWN_LAYERS = """
import json
import numpy as np
import keras
from keras import backend as K
from keras.engine.topology import Layer
from keras.layers import Embedding
from keras.models import Model, Sequential, load_model

checks = {}

class Attention(Layer):
    def __init__(self, steps, **kwargs):
        self.supports_masking, self.steps, self.features = True, steps, 0
        super(Attention, self).__init__(**kwargs)

    def build(self, shape):
        self.features = shape[-1]
        self.W = self.add_weight((shape[-1],), initializer="ones", name="{}_W".format(self.name))
        decay = keras.regularizers.l2(0.1)
        name = "{}_b".format(self.name)
        self.b = self.add_weight([shape[1]], name, initializer="zero", regularizer=decay)
        self.built = True

    def compute_mask(self, inputs, mask=None):
        return None

    def call(self, x, mask=None):
        flat = K.dot(K.reshape(x, (-1, self.features)), K.reshape(self.W, (self.features, 1)))
        scores = K.exp(K.tanh(K.reshape(flat, (-1, self.steps)) + self.b))
        if mask is not None:
            scores *= K.cast(mask, K.floatx())
        scores /= K.sum(scores, axis=1, keepdims=True)
        return K.sum(x * K.expand_dims(scores), axis=1)

    def compute_output_shape(self, shape):
        return shape[0], self.features

words = Embedding(5, 2, input_length=4, mask_zero=True, weights=[np.arange(10.0).reshape(5, 2) / 10])
model = Sequential([words, Attention(4)])
found = model.predict(np.array([[1, 1, 0, 0], [3, 0, 0, 0]]))
checks["the shape first"] = np.allclose(found, [[0.2, 0.3], [0.6, 0.7]])
checks["names"] = [weight.name.split("/")[-1] for weight in model.layers[1].weights] == [
    model.layers[1].name + "_W:0", model.layers[1].name + "_b:0"
]
checks["a loss of a weight"] = len(model.losses) == 1

class Listing(Layer):
    def build(self, shape):
        self.scale = K.variable(np.ones(shape[-1]), name="scale")
        self.kept = K.variable(np.full(shape[-1], 2.0), name="kept")
        self.other = K.variable(np.zeros(shape[-1]), name="other")
        self.trainable_weights = [self.other, self.scale]
        self.non_trainable_weights = [self.kept]
        super(Listing, self).build(shape)

    def call(self, x):
        return x * self.scale * self.kept + self.other

listing = Listing(input_shape=(3,))
model = Sequential([listing])
model.compile(keras.optimizers.SGD(1.0), lambda truth, found: found)
model.train_on_batch(np.ones((1, 3)), np.ones((1, 3)))
# The gradients of a mean over three are thirds.
checks["lists of weights"] = np.allclose(model.get_weights(), np.array([[-1 / 3] * 3, [1 / 3] * 3, [2.0] * 3]))
checks["what is trained"] = [len(model.trainable_weights), len(model.non_trainable_weights)] == [2, 1]
listing.trainable = False
checks["what is frozen"] = [len(model.trainable_weights), len(model.non_trainable_weights)] == [0, 3]

scaled = keras.layers.Lambda(lambda x: x * K.variable(3.0, name="scale"), input_shape=(1,))
model = Sequential([scaled])
model.compile(keras.optimizers.SGD(1.0), lambda truth, found: found)
model.train_on_batch(np.ones((1, 1)), np.ones((1, 1)))
checks["a Lambda trains the variables that it makes"] = np.allclose(model.get_weights(), [2.0])
print("CHECKS " + json.dumps({name: bool(value) for name, value in checks.items()}))
"""


TRAINING = """
import contextlib
import io
import json
import numpy as np
import tensorflow as tf
from tensorflow import keras

checks = {}
x = np.arange(64, dtype="float32").reshape(16, 4) / 64
y = np.arange(16) % 3

def build(activation="softmax"):
    weights = keras.initializers.Constant(np.linspace(-1, 1, 12).reshape(4, 3))
    return keras.Sequential([keras.layers.Dense(3, activation, input_shape=(4,), kernel_initializer=weights)])

def iterator(repeat=None):
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat(repeat).batch(4).make_one_shot_iterator()

class Reading(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.found = self.validation_data and [each.shape for each in self.validation_data]

def read(**data):
    reading = Reading()
    model.fit(x, y, callbacks=[reading], verbose=0, **data)
    return reading.found

model = build()
model.compile("sgd", "sparse_categorical_crossentropy")
given = iterator()
first = model.fit(given, steps_per_epoch=1, verbose=0, validation_data=iterator(), validation_steps=4)
second = model.fit(given, steps_per_epoch=3, verbose=0)
other = build()
other.compile("sgd", "sparse_categorical_crossentropy")
losses = [other.train_on_batch(x[i:i + 4], y[i:i + 4]) for i in range(0, 16, 4)]
checks["an iterator goes on"] = np.allclose(first.history["loss"] + second.history["loss"],
                                            [losses[0], np.mean(losses[1:])], rtol=1e-5)
checks["of validation"] = len(first.history["val_loss"]) == 1
checks["evaluate"] = np.isclose(model.evaluate(iterator(), steps=4, verbose=0),
                                model.evaluate(x, y, verbose=0), rtol=1e-5)
checks["predict"] = np.allclose(model.predict(iterator(), steps=4), model.predict(x), rtol=1e-5)
ended = model.fit(iterator(1), steps_per_epoch=9, epochs=2, verbose=0)
checks["an end"] = len(ended.epoch) == 1
shown = io.StringIO()
with contextlib.redirect_stdout(shown):
    model.fit(iterator(), steps_per_epoch=2)
checks["a bar of metrics"] = "loss: " in shown.getvalue() and not any(
    word in shown.getvalue() for word in ("batch: ", "size: "))
checks["validation_data"] = read(validation_data=(x, y)) == [(16, 4), (16, 1), (16,)]
checks["validation_split"] = read(validation_split=0.25) == [(4, 4), (4, 1), (4,)]
checks["no validation"] = read() is None
model.compile("sgd", COSINE, metrics=[COSINE])
cosine = np.mean(np.sum(model.predict(x), -1) / np.linalg.norm(model.predict(x), axis=-1) / 3 ** 0.5)
found = model.evaluate(x, np.ones((16, 3)), verbose=0)
checks["cosine"] = np.allclose(found, [-cosine] * 2, rtol=1e-5)
checks["its name"] = model.metrics_names == ["loss", "cosine_proximity"]
for at, (activation, loss, expected) in enumerate(EXPECTED):
    loss = getattr(keras.losses, loss[1:])(from_logits=True) if loss[0] == "*" else loss
    model = build(activation)
    model.compile("sgd", loss)
    found = model.evaluate(x, np.eye(3)[y], verbose=0)
    checks["cross entropy %d" % at] = np.isclose(found, expected, rtol=1e-5)
print("CHECKS " + json.dumps({name: bool(value) for name, value in checks.items()}))
"""
# What TensorFlow 1.15.5 evaluates in the same model: activation, loss (* of logits), value.
CROSS_ENTROPIES = [
    ("softmax", "binary_crossentropy", 0.6712302),
    ("softmax", "*BinaryCrossentropy", 0.7649935),
    ("softmax", "*CategoricalCrossentropy", 1.107698),
    ("sigmoid", "categorical_crossentropy", 1.12097),
    ("sigmoid", "*BinaryCrossentropy", 0.8124409),
]


def test_layers_as_standalone_keras_let_them_be_defined(tmp_path):
    assert _checks(tmp_path, OWN_LAYERS, 7) == set()


def test_optimizers_that_make_lists_of_updates(tmp_path):
    assert _checks(tmp_path, OWN_OPTIMIZERS, 11) == set()


def test_training_of_the_time(tmp_path):
    # 1.15 knows neither the iterators nor the short name of 1.13.
    cosine = "cosine_proximity" if environment().has("contrib") else "cosine"
    failed = _checks(
        tmp_path, f"EXPECTED = {CROSS_ENTROPIES}\nCOSINE = {cosine!r}\n" + TRAINING, 16
    )
    if environment().has("contrib"):
        failed = {name for name in failed if "cross" in name or "validation_" in name}
    assert failed == set()


def test_models_of_layers_have_one_class(tmp_path):
    assert _checks(tmp_path, ONE_CLASS, 6) == set()


EVALUATIONS = """
import contextlib
import io
import json
import re
import numpy as np
import tensorflow as tf

x = np.arange(192, dtype="float32").reshape(64, 3) / 192
y = x[:, :1]
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,), kernel_initializer="ones")])
model.compile(tf.train.GradientDescentOptimizer(0.0), "mse", metrics=["mae"])
data = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16, drop_remainder=True)

def shown(method, *args, **words):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        method(*args, **words)
    return printed.getvalue().replace("\\b", "")

results = r"loss: 1\\.3\\d+ - mean_absolute_error: 1\\.0\\d+"
checks = {
    "arrays": re.search(r"64/64 \\[=+\\].*sample - " + results, shown(model.evaluate, x, y)),
    "a Dataset": re.search(r"4/4 \\[=+\\].*step - " + results, shown(model.evaluate, data, steps=4)),
    "a line": re.fullmatch(r"64/64 - .*" + results + r".*\\n", shown(model.evaluate, x, y, verbose=2)),
    "predictions": re.search(r"32/64 [^\\r]*\\r64/64 \\[=+\\]", shown(model.predict, x, verbose=1)),
    "silence": not shown(model.evaluate, x, y, verbose=0) + shown(model.predict, x),
    "validation": shown(
        model.fit, x, y, verbose=2, validation_data=(x, y)).count("64/64") == 1,
}
print("CHECKS " + json.dumps({name: bool(one) for name, one in checks.items()}))
"""


def test_evaluations_and_predictions_show_their_progress(tmp_path):
    """Since 2.2 Keras shows no progress in graphs but that of fit."""
    assert _checks(tmp_path, EVALUATIONS, 6) == set()


def test_old_keras(tmp_path):
    failed = _checks(tmp_path, SCRIPT, 63)
    if environment().has("contrib"):
        # 1.15 counts a step before it or after it reads the count, in no order.
        failed.discard("decay of the private path")
        # Its own private optimizers are those of Keras before tf.keras.optimizers.
        failed.discard("rows hold for private paths")
    assert failed == set()


def _checks(tmp_path, text, count):
    """Runs a script; the names of the checks that failed in it."""
    script = tmp_path / "script.py"
    script.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--quiet", str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        env=dict(os.environ, CUDA_VISIBLE_DEVICES="-1", PYTHONPATH=ROOT),
        cwd=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("CHECKS ")]
    checks = json.loads(lines[0][len("CHECKS ") :])
    assert len(checks) == count
    return {name for name, passed in checks.items() if not passed}
