"""A converted model that is copied under the strategy: before and after ``migrate``, on one device and two."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from migrated_cases import told

from tpucompat.base.releases import release_of
from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.migrate import plan

SCRIPT = """
import json
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.models import clone_model, model_from_json

def rmse(y_true, y_pred):
    return K.sqrt(K.mean(K.square(y_true - y_pred)))

def compiled(model):
    model.compile(tf.keras.optimizers.SGD(0.1, momentum=0.5), 'mse', ['mae'])
    return model

class Regression:
    def build(self):
        inputs = tf.keras.layers.Input([4])
        doubled = tf.keras.layers.Lambda(lambda x: 2 * x)(inputs)
        hidden = tf.keras.layers.Dense(3, 'tanh', kernel_initializer='ones', name='hidden')(doubled)
        outputs = tf.keras.layers.Dense(1, kernel_initializer='ones')(hidden)
        self.model = tf.keras.models.Model(inputs, outputs)
        self.model.compile(tf.keras.optimizers.SGD(0.1, momentum=0.5), 'mse', ['mae'])
        self.model.set_weights([0.5 * weight for weight in self.model.get_weights()])

    def to_tpu(self):
        self.model = tf.contrib.tpu.keras_to_tpu_model(self.model, None)

x = np.random.RandomState(0).rand(16, 4).astype('float32')
y = x.sum(axis=1, keepdims=True)
one = Regression()
one.build()
one.to_tpu()
history = one.model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0)
hidden = K.function([one.model.layers[0].input], [one.model.get_layer('hidden').output])
plain = tf.keras.models.Sequential([tf.keras.layers.Dense(1, kernel_initializer='ones', input_shape=(4,))])
plain.compile('sgd', rmse, [rmse])
told = [history.history['loss'], one.model.predict(x).tolist(), hidden([x])[0].tolist()]
told += [compiled(one.model).fit(x, y > 2, batch_size=8, shuffle=False, verbose=0).history['loss']]
told += [clone_model(plain).predict(x).shape, model_from_json(plain.to_json()).count_params()]
print('TOLD', json.dumps(told))
"""
STEPS = """
import json
import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).rand(24, 4).astype('float32')
y = 2 * x.sum(axis=1, keepdims=True) - x[:, :1]

class Batches(tf.keras.utils.Sequence):
    def __len__(self):
        return 6
    def __getitem__(self, index):
        # TensorFlow 2.21 writes into arrays that it is given, where CPU devices share a batch.
        return x[4 * index:4 * index + 4].copy(), y[4 * index:4 * index + 4].copy()

def batches():
    index = 0
    while True:
        yield Batches()[index % 6]
        index += 1

model = tf.keras.models.Sequential([tf.keras.layers.Dense(1, kernel_initializer='ones', input_shape=(4,))])
model.compile(tf.keras.optimizers.SGD(0.1), 'mse', ['mae'])
model = tf.contrib.tpu.keras_to_tpu_model(model, None)
told = [model.fit_generator(Batches(), steps_per_epoch=4, epochs=3, shuffle=False, verbose=0).history['loss']]
told += [model.fit_generator(batches(), steps_per_epoch=4, epochs=3, workers=0, verbose=0).history['loss']]
both = zip(iter([x[:8]] * 9), iter([y[:8]] * 9))
told += [model.fit_generator(both, steps_per_epoch=2, epochs=2, workers=0, verbose=0).history['loss']]
generator = batches()
for _ in range(2):
    told += [model.evaluate_generator(generator, steps=2, workers=0)]
    told += [model.predict_generator(generator, steps=2, workers=0).tolist()]
told += [model.predict_generator(Batches(), steps=7, workers=0).tolist()]
training = model.fit_generator(Batches(), epochs=3, shuffle=False, verbose=0,
                               validation_data=Batches(), validation_steps=4)
told += [training.history['val_loss']]
print('TOLD', json.dumps(told, default=float))
"""
OF_TENSORFLOW_2 = """
import json
import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).rand(20, 4).astype('float32')
y = 2 * x.sum(axis=1, keepdims=True) - x[:, :1]

class Batches(tf.keras.utils.Sequence):
    def __len__(self):
        return 5
    def __getitem__(self, index):
        return x[4 * index:4 * index + 4], y[4 * index:4 * index + 4]

model = tf.keras.models.Sequential([tf.keras.layers.Dense(1, kernel_initializer='ones', input_shape=(4,))])
model.compile(tf.keras.optimizers.SGD(0.1), 'mse', ['mae'])
told = model.fit(Batches(), steps_per_epoch=3, epochs=4, shuffle=False, verbose=0,
                 validation_data=Batches(), validation_steps=2).history
class Trained(tf.keras.Model):
    def train_step(self, data):
        x, y, weights = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compiled_loss(y, y_pred, sample_weight=weights, regularization_losses=self.losses)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        self.compiled_metrics.update_state(y, y_pred, sample_weight=weights)
        return {metric.name: metric.result() for metric in self.metrics}

inputs = tf.keras.Input((4,))
own = Trained(inputs, tf.keras.layers.Dense(1, kernel_initializer='ones', kernel_regularizer='l2')(inputs))
own.compile(tf.keras.optimizers.SGD(0.1), 'mse', ['mae'])
weights = np.linspace(0.5, 1.5, 20)
logs = own.fit(x, y, sample_weight=weights, batch_size=4, epochs=2, shuffle=False, verbose=0).history

class Counted(tf.keras.utils.Sequence):
    def __init__(self):
        self.ended = 0
    def __len__(self):
        return 2
    def __getitem__(self, index):
        return x[4 * index:4 * index + 4], y[4 * index:4 * index + 4]
    def on_epoch_end(self):
        self.ended += 1

trained, tested, ends = Counted(), Counted(), []
note = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: ends.append(tested.ended))
model.fit(trained, epochs=3, shuffle=False, verbose=0, validation_data=tested, callbacks=[note])
model.evaluate(tested, verbose=0)
ends += [trained.ended, tested.ended]
print('TOLD', json.dumps([told['loss'], told['val_loss'], told['val_mae'], logs['loss'], logs['mae'], ends]))
"""
TWO = """
import tensorflow
device = tensorflow.config.list_physical_devices('CPU')[0]
tensorflow.config.set_logical_device_configuration(device, [tensorflow.config.LogicalDeviceConfiguration()] * 2)
"""

pytestmark = pytest.mark.skipif(
    release_of(tf.__version__) < (2, 16), reason="what is written is Keras 3, which came with 2.16"
)


@pytest.mark.parametrize(
    "script, written",
    [
        pytest.param(SCRIPT, "self.model = under_strategy(self.model)", id="model"),
        pytest.param(
            STEPS,
            "model.fit(StepsOf(batches(), 4), epochs=3, shuffle=False, verbose=0)",
            id="steps",
            marks=pytest.mark.long,
        ),
        pytest.param(
            OF_TENSORFLOW_2,
            "model.fit(StepsOf(passes(Batches(), steps=3), 3), epochs=4",
            id="tensorflow_2",
        ),
    ],
)
def test_a_model_that_is_copied_under_the_strategy(tmp_path, script, written):
    module = findings.understand(sources.decode("old.py", script.encode()))
    after = plan.migrate(module).after.decode()
    assert written in after
    if script is OF_TENSORFLOW_2:
        old = told(tmp_path, script, "-m", "tpucompat", "run", "--quiet")
        for before, now in zip(old, told(tmp_path, after)):
            np.testing.assert_allclose(now, before, rtol=1e-5)
        return
    only = "return tf.distribute.get_strategy()"
    assert after.count(only) == 1
    on_two = TWO + after.replace(
        only, "return tf.distribute.MirroredStrategy(['/cpu:0', '/cpu:1'])"
    )
    old = told(tmp_path, script, "-m", "tpucompat", "run", "--quiet")
    for text in (after, on_two):
        new = told(tmp_path, text)
        for before, now in zip(old, new):
            np.testing.assert_allclose(now, before, rtol=1e-5)


UNKNOWN_LENGTH = """
import json
import numpy as np
import tensorflow as tf

def examples():
    for index in range(12):
        yield {'x': np.float32([index, 1, 0])}, np.float32([index % 3])

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__(name='net')
        self.layers_of = [tf.keras.layers.Dense(2, kernel_initializer='ones') for _ in range(2)]
        self.head = tf.keras.layers.Dense(1, kernel_initializer='ones', name='head')
    def call(self, inputs):
        x = 0.1 * inputs['x']
        for layer in self.layers_of:
            x = layer(x)
        return self.head(x)

types = ({'x': tf.float32}, tf.float32)
data = tf.data.Dataset.from_generator(examples, types, ({'x': [3]}, [1])).batch(4, drop_remainder=True)
resolver = tf.distribute.cluster_resolver.TPUClusterResolver('local')
print(resolver.cluster_spec().as_dict()['worker'])
topology = tf.tpu.experimental.initialize_tpu_system(resolver)
with tf.distribute.experimental.TPUStrategy(resolver).scope():
    model = Net()
    model.compile(tf.keras.optimizers.SGD(0.01), 'mse', metrics=['mae'])
history = model.fit(data, epochs=2, verbose=0, validation_data=data.take(2)).history
told = [history['loss'], history['mae'], history['val_loss'], model.evaluate(data, verbose=0)]
names = [v.name for v in model.trainable_variables] + [v.name for v in model.head.weights]
names += [layer.kernel.name for layer in model.layers_of]
for batch in data.take(1):
    told.append(float(batch[1][2]))
print('TOLD', json.dumps([told, names], default=float))
"""


def test_a_dataset_of_unknown_length_and_the_names_of_an_own_model(tmp_path):
    """Keras 3 divides by one batch more than there is where all have one size, and no TPU."""
    module = findings.understand(sources.decode("old.py", UNKNOWN_LENGTH.encode()))
    after = plan.migrate(module).after.decode()
    numbers, names = told(tmp_path, UNKNOWN_LENGTH, "-m", "tpucompat", "run", "--quiet")
    numbers_now, names_now = told(tmp_path, after)
    assert names_now == names and names[-1] == "net/dense_1/kernel:0"
    for before, now in zip(numbers, numbers_now):
        np.testing.assert_allclose(now, before, rtol=1e-5)


NAMED_OUTPUTS = """
import json
import numpy as np
import tensorflow as tf

def ones():
    return tf.keras.initializers.Constant(0.3)

inputs = tf.keras.Input((3,), name='features')
hidden = tf.keras.layers.Dense(4, kernel_initializer=ones())(inputs)
main = tf.keras.layers.Dense(1, kernel_initializer=ones(), name='main')(hidden)
aux = tf.keras.layers.Dense(2, kernel_initializer=ones(), name='aux')(hidden)
model = tf.keras.Model(inputs, [main, aux])
model.add_loss(0.01 * tf.reduce_mean(tf.square(hidden)))
model.add_metric(tf.reduce_mean(hidden), name='hidden', aggregation='mean')
losses, weights = {'main': 'mse', 'aux': 'mae'}, {'main': 1.0, 'aux': 0.5}
model.compile(tf.keras.optimizers.SGD(0.05), loss=losses, loss_weights=weights)
x = np.random.RandomState(0).rand(16, 3).astype('float32')
y = {'main': x[:, :1], 'aux': x[:, 1:]}
data = tf.data.Dataset.from_tensor_slices(({'features': x}, y)).batch(8)
history = model.fit(data, epochs=2, verbose=0).history
told = [history[name] for name in ('loss', 'main_loss', 'aux_loss', 'hidden')]
scores = dict(zip(model.metrics_names, model.evaluate(data, verbose=0)))
told += [scores[name] for name in ('main_loss', 'aux_loss')]
print('TOLD', json.dumps([told, model.output_names], default=float))
"""


def test_outputs_keep_their_names_beside_losses_and_metrics_of_tensors(tmp_path):
    module = findings.understand(sources.decode("old.py", NAMED_OUTPUTS.encode()))
    after = plan.migrate(module._replace(era="tf2")).after.decode()
    assert "model = with_metric(model, " in after and "model = with_loss(model, " in after
    numbers, names = told(
        tmp_path, NAMED_OUTPUTS, "-m", "tpucompat", "run", "--quiet", "--era", "tf2"
    )
    numbers_now, names_now = told(tmp_path, after)
    assert names_now == names == ["main", "aux"]
    for before, now in zip(numbers, numbers_now):
        np.testing.assert_allclose(now, before, rtol=1e-5)


LOADED_AGAIN = """
import json
import sys
import numpy as np
import tensorflow as tf

def saved(path):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer='ones', input_shape=(4,))])
    model = tf.contrib.tpu.keras_to_tpu_model(model, None)
    model.compile('sgd', 'mse')
    model.save(path)

def loaded(path):
    return tf.keras.models.load_model(path)

for path in ['m.h5'] + sys.argv[1:]:
    saved(path)
    model = loaded(path)
print('TOLD', json.dumps(model.evaluate(np.ones((8, 4)), np.ones((8, 1)), verbose=0), default=float))
"""


def test_a_file_of_any_name_is_loaded_with_a_loss_of_a_short_name(tmp_path):
    module = findings.understand(sources.decode("old.py", LOADED_AGAIN.encode()))
    after = plan.migrate(module).after.decode()
    assert "load_model(saved_model_file(path))" in after
    then = told(tmp_path, LOADED_AGAIN, "-m", "tpucompat", "run", "--quiet")
    assert told(tmp_path, after) == pytest.approx(then, rel=1e-5)


LOADED_OLD = """
import json
import numpy as np
import tensorflow as tf
folder = './'
model = tf.keras.models.load_model(folder + 'm.h5')
model.compile(tf.keras.optimizers.SGD(0.1), 'mse', metrics=['mse'])
model.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0)
for i in range(2):
    model.save(folder + '{:02}_m.h5'.format(i))
    again = tf.keras.models.load_model(folder + '{:02}_m.h5'.format(i))
print('TOLD', json.dumps(model.predict(np.ones((1, 4))).tolist()))
"""


@pytest.mark.parametrize("is_converted", [True, False])
def test_a_file_of_keras_2_is_named_and_its_conversion_is_loaded(tmp_path, is_converted):
    h5py = pytest.importorskip("h5py")
    after = plan.migrate(findings.understand(sources.decode("old.py", LOADED_OLD.encode())))
    text = after.after.decode().replace(
        "print('TOLD'", "print('NAMES', saved_model_file('m.h5'))\nprint('TOLD'"
    )
    assert "load_model(saved_model_file(folder + 'm.h5'))" in text
    made = "import tensorflow as tf; m = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))]); "
    kinds = ("h5", "keras") if is_converted else ("h5",)
    made += "; ".join(f"m.save('m.{kind}')" for kind in kinds)
    subprocess.run([sys.executable, "-c", made], cwd=str(tmp_path), check=True)
    with h5py.File(str(tmp_path / "m.h5"), "r+") as file:
        file.attrs["keras_version"] = b"2.2.4-tf"
    script = tmp_path / "script.py"
    script.write_text(text)
    printed = subprocess.run(
        [sys.executable, str(script)], stdout=subprocess.PIPE, cwd=str(tmp_path), check=True
    ).stdout.decode()
    assert f"NAMES m.{'keras' if is_converted else 'h5'}\n" in printed
    assert ("m.h5 is of Keras 2.2.4-tf" in printed) != is_converted
    assert ("convert-checkpoint m.h5 m.keras" in printed) != is_converted


READ_NAMES = """
import json
import numpy as np
import tensorflow as tf

def head(x, units):
    return tf.keras.layers.Dense(units)(x)

first, second = tf.keras.Input((3,)), tf.keras.Input((2,), name='second')
model = tf.keras.Model([first, second], head(tf.keras.layers.concatenate([first, second]), 2))
third = tf.keras.Input((4,))
other = tf.keras.Model(third, head(third, 1))
plain = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,)), tf.keras.layers.Dropout(0.1)])
for one in (model, other, plain):
    one.compile(tf.keras.optimizers.RMSprop(0.1), 'mse')
model.fit({'input_1': np.ones((8, 3)), 'second': np.ones((8, 2))}, np.ones((8, 2)), verbose=0)
model.save('named.h5')
again = tf.keras.models.load_model('named.h5')
models = [model, other, plain, again]
told = [[one.name, one.input_names, type(one).__name__] for one in models]
told += [model.output_names, plain.output_names, again.output_names]
told += [[layer.name, str(layer.input_shape), str(layer.output_shape)] for layer in model.layers]
told += [one.optimizer.get_config()['name'] for one in models]
told += [[w.name for w in model.weights], model.get_layer('input_1').name, model.count_params()]
told += [plain.layers[0].get_config()['units'], type(plain.optimizer).__name__]
print('TOLD', json.dumps(told))
"""


def test_names_that_keras_itself_makes_are_read_as_before(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = findings.understand(sources.decode("old.py", READ_NAMES.encode()))
    after = plan.migrate(module).after.decode()
    then = told(tmp_path, READ_NAMES, "-m", "tpucompat", "run", "--quiet", "--era", "tf1")
    assert told(tmp_path, after) == then
    assert then[0] == ["model", ["input_1", "second"], "Model"]
    assert then[2] == ["sequential", ["dense_2_input"], "Sequential"]
