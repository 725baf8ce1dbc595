"""Early TensorFlow 2 scripts through ``tpucompat run``: the TPU start-up calls, then training."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import targets
import tensorflow as tf

from tpucompat.base.releases import release_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

pytestmark = pytest.mark.skipif(
    release_of(tf.__version__) < (2, 1),
    reason="the scripts are written for TensorFlow 2, and ask for names that came with 2.1",
)

# A network that must not be used, put before every script; then lines that print facts.
PREAMBLE = """
import json, os, socket
def refuse(*arguments, **_):
    raise AssertionError('the network was asked: %r' % (arguments,))
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
def tell(*values):
    print('TOLD', json.dumps(values, default=float))
import numpy as np
import tensorflow as tf

from tpucompat.base.releases import release_of
"""

# The ways in which such scripts start, each leading to ``strategy``.
START_UPS = {
    "Colab, with an address": """
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu='grpc://' + os.environ['COLAB_TPU_ADDR'])
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.experimental.TPUStrategy(resolver)
        """,
    "2.0 alpha, by host": """
        TPU_ADDRESS = 'grpc://' + os.environ['COLAB_TPU_ADDR']
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(TPU_ADDRESS)
        tf.config.experimental_connect_to_host(TPU_ADDRESS)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.experimental.TPUStrategy(resolver)
        """,
    "Kaggle, with a way without TPU": """
        try:
            tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
            print('Running on TPU ', tpu.master(), tpu.cluster_spec().as_dict()['worker'])
        except ValueError:
            tpu = None
        if tpu:
            tf.config.experimental_connect_to_cluster(tpu)
            tf.tpu.experimental.initialize_tpu_system(tpu)
            strategy = tf.distribute.experimental.TPUStrategy(tpu)
        else:
            raise SystemExit('took the way without TPU')
        """,
    "2.3, connect": """
        tpu = tf.distribute.cluster_resolver.TPUClusterResolver.connect('my-tpu', zone='europe')
        strategy = tf.distribute.TPUStrategy(tpu)
        """,
    "a list of one name, and only the strategy": """
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(['my-tpu'])
        strategy = tf.distribute.experimental.TPUStrategy(tpu_cluster_resolver=resolver)
        """,
    "compat.v2 by that name": """
        import tensorflow.compat.v2 as tf2
        from tensorflow.compat.v2.keras import layers
        tf2.enable_v2_behavior()
        resolver = tf2.distribute.cluster_resolver.TPUClusterResolver('my-tpu')
        tf2.config.experimental_connect_to_cluster(resolver)
        tf2.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf2.distribute.experimental.TPUStrategy(resolver)
        assert layers is tf.keras.layers and tf2.compat.v2 is tf2
        """,
    "compat.v1 by that name": """
        import tensorflow.compat.v1 as tf1
        resolver = tf1.distribute.cluster_resolver.TPUClusterResolver('my-tpu')
        tf1.config.experimental_connect_to_cluster(resolver)
        tf1.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf1.distribute.experimental.TPUStrategy(resolver)
        """,
}

BODY = """
tell(strategy.num_replicas_in_sync, tf.executing_eagerly(), tf.__version__)
tell(isinstance(strategy, tf.distribute.experimental.TPUStrategy),
     isinstance(tf.distribute.OneDeviceStrategy('/cpu:0'), tf.distribute.experimental.TPUStrategy),
     isinstance(None, tf.distribute.TPUStrategy),
     isinstance(strategy, tf.distribute.MirroredStrategy),
     isinstance(tf.distribute.MirroredStrategy(['/cpu:0']), tf.distribute.MirroredStrategy))
"""

TRAINING = """
rng = np.random.RandomState(0)
X, Y = rng.rand(32, 4).astype('f'), rng.randint(0, 3, 32)

def dataset(batch):
    return tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(batch, drop_remainder=True)

def make_model():
    layer = tf.keras.layers.Dense(3, kernel_initializer='zeros', input_shape=(4,))
    return tf.keras.Sequential([layer])

loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction='none')

with strategy.scope():
    model = make_model()
    model.compile(tf.keras.optimizers.SGD(0.5), loss=tf.keras.losses.SparseCategoricalCrossentropy(
        from_logits=True), metrics=['accuracy'])
history = model.fit(dataset(16), epochs=2, steps_per_epoch=2, verbose=0)
tell('fit', history.history['loss'])

with strategy.scope():
    model = make_model()
    optimizer = tf.keras.optimizers.SGD(0.5)

inputs = strategy.experimental_distribute_dataset(dataset(16))

@tf.function
def train_step(batch):
    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(
                loss_fn(labels, model(images, training=True)), global_batch_size=16)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss
    losses = strategy.experimental_run_v2(step, args=batch)
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

steps = iter(inputs)
tell('loop', [float(train_step(next(steps))) for _ in range(4)])
"""

REST = """
resolver = tf.distribute.cluster_resolver.TPUClusterResolver('my-tpu', job_name='tpu_worker')
tell(resolver.num_accelerators(), resolver.get_job_name(), resolver.cluster_spec().as_dict())
topology = tf.tpu.experimental.initialize_tpu_system(resolver)
tell(topology.num_tpus_per_task, topology.num_tasks, np.prod(topology.mesh_shape).item())
metadata = resolver.get_tpu_system_metadata()
tell(metadata.num_cores, metadata.num_hosts, len(metadata.devices))
tell(len(tf.config.list_logical_devices('TPU')), len(tf.config.list_logical_devices('CPU')))
tf.config.experimental_connect_to_host(['10.0.0.1:8470', 'grpc://10.0.0.2:8470'])
tf.config.experimental_connect_to_cluster(resolver.cluster_spec())
try:
    tf.config.experimental_connect_to_host()
except ValueError as error:
    tell(str(error))
with tf.device('/TPU:0'):
    tell(tf.matmul(tf.ones([2, 3]), tf.ones([3, 2])).numpy().tolist())
tf.tpu.experimental.shutdown_tpu_system(resolver)
tell(tf.executing_eagerly())
"""


# Names of Keras 2.3 and TensorFlow 2.0 to 2.3 that later releases have changed or removed.
OLD_NAMES = """
import warnings
warnings.simplefilter('ignore')
import keras
from keras.utils import np_utils
from keras.layers.convolutional import Conv2D
from tensorflow.keras.optimizers import Adam, Optimizer
from tensorflow.python.keras import layers as private_layers
tell('one keras', keras.Model is tf.keras.Model, private_layers.Dense is tf.keras.layers.Dense)

class Halving(Optimizer):
    def __init__(self, learning_rate=0.1, name='Halving', **kwargs):
        super().__init__(name, **kwargs)
        self._set_hyper('learning_rate', kwargs.get('lr', learning_rate))
    def _create_slots(self, variables):
        for variable in variables:
            self.add_slot(variable, 'seen')
    def _resource_apply_dense(self, gradient, variable, apply_state=None):
        step = self._decayed_lr(variable.dtype.base_dtype)
        return tf.group(variable.assign(variable * (1 - step)),
                        self.get_slot(variable, 'seen').assign_add(tf.ones_like(variable)))
    def get_config(self):
        return dict(super().get_config(), learning_rate=self._serialize_hyperparameter('learning_rate'))

X, Y = np.arange(12, dtype='f').reshape(4, 3), np.array([[1.], [0.], [2.], [1.]], 'f')
def train(optimizer):
    layer = tf.keras.layers.Dense(1, kernel_initializer='ones', input_shape=(3,))
    with tf.distribute.get_strategy().scope():
        model = tf.keras.Sequential([layer])
        model.compile(optimizer, 'mse')
    return model, [model.train_on_batch(X, Y) for _ in range(3)]

model, losses = train(Halving(lr=0.5))
tell('subclass', model.get_weights()[0].ravel().tolist(), model.optimizer.get_weights()[0].item())
tell('decay', train(tf.keras.optimizers.SGD(lr=0.002, decay=0.5, momentum=0.5))[1])
for name in ('rmsprop', 'adagrad'):
    tell(name, train(name)[1], train(tf.keras.optimizers.get(name))[1])
tell('options', Adam(lr=0.25, clipnorm=1.0).lr.numpy().item(),
     float(tf.identity(tf.keras.optimizers.get('adam')._decayed_lr('float32'))))
tell('classes', model.predict_classes(X).shape)
precision = tf.keras.mixed_precision.experimental
precision.set_policy(precision.Policy('mixed_bfloat16', loss_scale=None))
tell('policy', precision.global_policy().name, precision.global_policy().compute_dtype)
precision.set_policy('float32')

rate = tf.keras.experimental.LinearCosineDecay(0.1, 8)
tell('rates', *(float(rate(step)) for step in (0, 4)))
strategy = tf.distribute.get_strategy()
tell('strategy', strategy.experimental_run_v2(lambda x: x + 1, args=(2,)),
     [part.numpy().tolist() for part in strategy.experimental_make_numpy_dataset(Y[:2, 0])])
"""


def run(tmp_path, text, *options, **environ):
    """What a script told, as text, and what was said on standard error."""
    script = tmp_path / "script.py"
    script.write_text(PREAMBLE + textwrap.dedent(text))
    quiet = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": ROOT}
    names = ("COLAB_TPU_ADDR", "TPU_NAME", "TPUCOMPAT_CORES", "TF_USE_LEGACY_KERAS")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", *options, str(script)],
        env=dict(clean, **quiet, **environ),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = [line[5:] for line in done.stdout.splitlines() if line.startswith("TOLD ")]
    return [json.loads(line) for line in told], done.stderr


def notices(errors):
    return [line for line in errors.splitlines() if re.search(r"TPU410|TPU457", line)]


@pytest.fixture(scope="module")
def one_replica(tmp_path_factory):
    """All ways to start in one process, the training and the rest, on one replica."""
    text = "".join(textwrap.dedent(each) + BODY for each in START_UPS.values())
    return run(tmp_path_factory.mktemp("one"), text + TRAINING + REST)


@pytest.fixture(scope="module")
def four_cores(tmp_path_factory):
    """The same on four emulated cores."""
    text = "".join(textwrap.dedent(each) + BODY for each in START_UPS.values())
    return run(tmp_path_factory.mktemp("four"), text + TRAINING + REST, *targets.options(4))


@pytest.mark.parametrize("name", START_UPS)
def test_every_way_to_start(one_replica, four_cores, name):
    number = list(START_UPS).index(name)
    for (told, _), replicas in ((one_replica, 1), (four_cores, 4)):
        # tf.__version__ is the installed one: such scripts branch on what TensorFlow 2 can do.
        assert told[2 * number] == [replicas, True, tf.__version__]
        assert told[2 * number + 1] == [True, False, False, False, True]


def test_one_line_says_what_trains(one_replica, four_cores):
    assert len(notices(one_replica[1])) == len(notices(four_cores[1])) == 1
    assert "training on one CPU replica" in notices(one_replica[1])[0]
    what = "a rehearsed TPUStrategy, 4 cores" if targets.REHEARSED else "4 emulated cores"
    assert f"training on {what}" in notices(four_cores[1])[0]


def test_four_cores_give_the_losses_of_one(one_replica, four_cores):
    first = 2 * len(START_UPS)
    for number, name in ((first, "fit"), (first + 1, "loop")):
        one, four = one_replica[0][number], four_cores[0][number]
        assert one[0] == four[0] == name
        assert one[1] == pytest.approx(four[1], rel=1e-5)  # sums in another order
    assert one_replica[0][first + 1][1] == pytest.approx(losses_by_hand(), rel=1e-5)


def losses_by_hand():
    """The losses of TRAINING's loop: softmax regression, four steps of gradient descent."""
    rng = np.random.RandomState(0)
    images, labels = rng.rand(32, 4).astype("f"), rng.randint(0, 3, 32)
    kernel, bias, losses = np.zeros((4, 3)), np.zeros(3), []
    for step in range(4):
        part = slice(16 * (step % 2), 16 * (step % 2) + 16)
        logits = images[part] @ kernel + bias
        chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        losses.append(-np.log(chances[np.arange(16), labels[part]]).mean())
        gradient = (chances - np.eye(3)[labels[part]]) / 16
        kernel -= 0.5 * images[part].T @ gradient
        bias -= 0.5 * gradient.sum(axis=0)
    return losses


@pytest.mark.parametrize("cores", [1, 4])
def test_what_the_rest_answers(one_replica, four_cores, cores):
    told = (one_replica if cores == 1 else four_cores)[0][2 * len(START_UPS) + 2 :]
    assert told == [
        [{"TPU": cores}, "tpu_worker", {"tpu_worker": ["localhost"]}],
        [cores, 1, cores],
        [cores, 1, cores],
        [0, 1 if targets.REHEARSED else cores],  # a rehearsed TPU has no devices
        ["Must provide at least one remote_host"],
        [[[3.0, 3.0], [3.0, 3.0]]],
        [True],
    ]


# What methods of models took in 2.0 and 2.1, and private modules of TensorFlow as they were then.
OLD_ARGUMENTS = """
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_ops
from tensorflow.python.training.tracking import base, data_structures
from tensorflow.python.training import distribution_strategy_context
from tensorflow.python.distribute import distribution_strategy_context as context
tell('private', isinstance(tf.constant(1), ops.Tensor),
     int(control_flow_ops.cond(tf.constant(True), lambda: 1, lambda: 2, strict=True)),
     int(control_flow_ops.case([(tf.constant(True), lambda: tf.constant(5))], lambda: tf.constant(2))),
     issubclass(data_structures.List, base.Trackable), context.has_strategy(),
     distribution_strategy_context.get_strategy() is tf.distribute.get_strategy())

X, Y = np.arange(12, dtype='f').reshape(4, 3) / 12, np.array([0, 1, 0, 1])
def make():
    layer = tf.keras.layers.Dense(2, kernel_initializer='zeros', activation='softmax', input_shape=(3,))
    model = tf.keras.Sequential([layer])
    # sample_weight_mode, weighted_metrics, target_tensors
    model.compile('sgd', 'sparse_categorical_crossentropy', ['accuracy'], None, None, None, None)
    return model
def losses(weights):
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    return [make().fit(X, Y, class_weight=weights, verbose=0).history['loss'][0],
            make().train_on_batch(X, Y, None, weights)[0],
            make().fit_generator(data, 1, class_weight=weights, verbose=0).history['loss'][0]]
for name, weights in (('nothing', None), ('list', [1., 3.]), ('tuple', (1., 3.)), ('word', 'auto'),
                      ('array', np.array([1., 3.])), ('dictionary', {0: 1., 1: 3.}),
                      ('with a gap', {0: 1., 1: 3., 7: 9.})):
    tell(name, losses(weights))
def of_truths(labels):
    layer = tf.keras.layers.Dense(1, kernel_initializer='zeros', activation='sigmoid', input_shape=(3,))
    model = tf.keras.Sequential([layer])
    model.compile(tf.keras.optimizers.SGD(0.0), 'binary_crossentropy')
    data = tf.data.Dataset.from_tensor_slices((X, labels)).batch(4)
    return [model.fit(*given, class_weight={0: 1., 1: 3.}, verbose=0).history['loss'][0]
            for given in [(data,)] * takes_datasets + [(X, labels)]]
takes_datasets = tf.__version__[:4] != '2.1.'  # whose Keras has no class weights for bool labels of a Dataset
tell('truths', of_truths(Y > 0), of_truths(Y[:, None] > 0))
K = tf.keras.backend
def moved(x):
    return K.dot(x[None], K.eye(3))[0] + K.zeros((3,)) + K.ones((3,)) * K.variable([1., 2., 3.])
tell('dataset', next(iter(tf.data.Dataset.from_tensor_slices(X).map(moved))).numpy().tolist())
model, plateau = make(), tf.keras.callbacks.ReduceLROnPlateau('loss', 0.9, 1, min_delta=10.)
model.fit(X, Y, epochs=5, verbose=0, callbacks=[plateau])
tell('rate', K.get_value(model.optimizer.lr).item())
print('SILENT')
make().predict(X)
make().predict(X, 2, 0)
"""


def test_arguments_and_private_names_of_early_tf2(tmp_path):
    told = {each[0]: each[1:] for each in run(tmp_path, OLD_ARGUMENTS)[0]}
    assert told.pop("private") == [True, 1, 5, True, False, True]
    assert told.pop("dataset")[0] == pytest.approx([1, 2 + 1 / 12, 3 + 2 / 12])
    half = float(np.log(2))
    for name in ("nothing", "list", "tuple", "word", "array"):  # no notice was taken of others
        assert told.pop(name)[0] == pytest.approx([half] * 3, rel=1e-6), name
    for name in ("dictionary", "with a gap"):
        assert told.pop(name)[0] == pytest.approx([half * 2] * 3, rel=1e-6), name
    for losses in told.pop("truths"):
        assert losses == pytest.approx([half * 2] * len(losses), rel=1e-6) and losses
    assert told.pop("rate") == [0.006560999434441328]  # NumPy 1 multiplies the float32 in float64
    assert not told


ESTIMATORS = """
import tempfile
from tensorflow.compat.v1 import estimator as of_v1
rows = np.linspace(-1, 1, 24).reshape(8, 3).astype("f")
def input_fn():
    data = tf.data.Dataset.from_tensor_slices(({"x": rows}, rows[:, :1] * 2 - 1))
    return data.repeat().batch(4)
def model_fn(features, labels, mode):
    dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
    answer = dense(features["x"])
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": answer})
    loss = tf.reduce_mean(tf.square(answer - labels))
    optimizer = tf.keras.optimizers.Adam(0.1)
    optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
    step = optimizer.get_updates(loss, dense.trainable_variables)[0]
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step if mode == "train" else None)
def numbers(estimator, key):
    estimator.train(input_fn, steps=5)
    loss = estimator.evaluate(input_fn, steps=2)["loss"]
    return [float(loss), float(next(estimator.predict(input_fn))[key][0])]
column = tf.feature_column.numeric_column("x", shape=(3,))
tell(
    tf.executing_eagerly(),
    issubclass(of_v1.Estimator, tf.estimator.Estimator) or issubclass(tf.estimator.Estimator, of_v1.Estimator),
    numbers(tf.estimator.Estimator(model_fn, tempfile.mkdtemp()), "y"),
    numbers(tf.estimator.LinearRegressor([column], model_dir=tempfile.mkdtemp()), "predictions"),
)
"""


def test_estimators_of_early_tf2(tmp_path):
    ((is_eager, are_one, own, linear),), _ = run(tmp_path, ESTIMATORS, "--era", "tf2")
    assert is_eager and are_one
    # TensorFlow 2.1.0, of the same script: loss after five steps, first prediction. In single precision,
    # with sums in whatever order a processor has.
    assert own == pytest.approx([0.700905978679657, -2.9335148334503174], rel=1e-5)
    assert linear == pytest.approx([0.757900595664978, -1.5364903211593628], rel=1e-5)


def test_names_of_early_keras(tmp_path):
    told = {each[0]: each[1:] for each in run(tmp_path, OLD_NAMES)[0]}
    assert told.pop("one keras") == [True, True]
    # Halved three times; `iterations` is the first of the optimizer's weights.
    assert told.pop("subclass") == [[0.125] * 3, 3]
    for name, epsilon_and_rate in (("rmsprop", (1e-7, 0.001)), ("adagrad", (1e-7, 0.001))):
        by_name, by_object = told.pop(name)
        assert by_name == by_object
        assert by_name == pytest.approx(LOSSES[name](*epsilon_and_rate), rel=1e-5)
    assert told.pop("decay")[0] == pytest.approx(losses_with_decay(0.002, 0.5, 0.5), rel=1e-5)
    assert told == {
        "options": [0.25, pytest.approx(0.001)],
        "classes": [[4, 1]],
        "policy": ["mixed_bfloat16", "bfloat16"],
        "rates": pytest.approx([0.1001, 0.0251], rel=1e-5),  # of TensorFlow 2.3.4
        "strategy": [3, [1.0, 0.0]],
    }


def linear_losses(update):
    """Losses of OLD_NAMES' linear model for three steps of ``update(number, gradient) -> step``."""
    images, targets = np.arange(12.0).reshape(4, 3), np.array([1.0, 0.0, 2.0, 1.0])
    images = np.hstack([images, np.ones((4, 1))])
    weights, losses = np.array([1.0, 1.0, 1.0, 0.0]), []
    for number in range(3):
        error = images @ weights - targets
        losses.append((error**2).mean())
        weights = weights - update(number, images.T @ error * 2 / 4)
    return losses


def losses_with_decay(rate, decay, momentum):
    """Gradient descent whose rate is divided by 1 + decay * step."""
    velocity = np.zeros(4)

    def update(number, gradient):
        velocity[:] = momentum * velocity + rate / (1 + decay * number) * gradient
        return velocity.copy()

    return linear_losses(update)


def rmsprop_losses(epsilon, rate):
    """RMSprop as up to 2.10: epsilon is added to the root (``optimizer_v2/rmsprop.py``)."""
    squares = np.zeros(4)

    def update(number, gradient):
        squares[:] = 0.9 * squares + 0.1 * gradient**2
        return rate * gradient / (np.sqrt(squares) + epsilon)

    return linear_losses(update)


def adagrad_losses(epsilon, rate):
    """Adagrad as up to 2.10, which starts from sums of 0.1 (``optimizer_v2/adagrad.py``)."""
    squares = np.full(4, 0.1)

    def update(number, gradient):
        squares[:] += gradient**2
        return rate * gradient / (np.sqrt(squares) + epsilon)

    return linear_losses(update)


LOSSES = {"rmsprop": rmsprop_losses, "adagrad": adagrad_losses}


METHODS = """
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), name='only')])
    model.compile('sgd', 'mse')
model._make_predict_function()
model._make_test_function()
model._make_train_function()
tell([layer.name for layer in model._layers][-1], model.predict(np.ones((4, 2)), verbose=0).shape)
trains = strategy.num_replicas_in_sync > 1 or os.environ.get('TPUCOMPAT_REHEARSE')
tell(model._get_distribution_strategy() is (strategy if trains else None))
"""


@pytest.mark.parametrize("cores", [1, 2])
def test_methods_of_models(tmp_path, cores):
    start = START_UPS["Colab, with an address"]
    told, _ = run(tmp_path, textwrap.dedent(start) + METHODS, *targets.options(cores))
    assert told == [["only", [4, 1]], [True]]


VECTORS = """
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1, kernel_initializer='ones')
        self.seen = []

    def call(self, inputs):
        pictures, switch = inputs
        self.seen.append((pictures.shape.rank, switch.shape.rank))
        return self.dense(pictures) + tf.cast(switch, tf.float32)

class Own(Net):
    def train_step(self, data):
        self.seen.append(data[1].shape.rank)
        return super().train_step(data)

x = [np.arange(8, dtype='f').reshape(4, 2), np.array([0, 1, 0, 1])]
for kind in Net, Own:
    with strategy.scope():
        model = kind()
        model.compile(tf.keras.optimizers.SGD(0.0), lambda y, p: tf.reduce_mean(tf.square(y - p), axis=-1))
    before = model.predict(x, batch_size=4)
    history = model.fit(x, np.arange(4.0), batch_size=4, verbose=0)
    tell(before.tolist(), history.history['loss'], model.evaluate(x, np.arange(4.0), verbose=0),
         sorted(set(map(str, model.seen))))
characters = tf.keras.Sequential([tf.keras.layers.Embedding(3, 2, batch_input_shape=(4, 1)),
                                  tf.keras.layers.LSTM(2, stateful=True)])
tell([characters.predict(each).shape for each in (np.ones((4, 1), 'f'), np.ones(4, 'f'), np.ones((4, 1), 'f'))])
"""


FEW = """
with strategy.scope():
    inputs = tf.keras.Input([9, 9, 2])
    one = tf.keras.layers.BatchNormalization()(tf.keras.layers.Conv2D(3, 3, padding='same')(inputs))
    other = tf.keras.layers.SeparableConv2D(3, 3, padding='same')(inputs)
    volume = tf.keras.layers.Conv3D(3, 1)(tf.keras.layers.Reshape([9, 9, 2, 1])(inputs))
    both = tf.keras.layers.add([one, other, tf.reduce_mean(volume, axis=3)])
    outputs = tf.keras.layers.Dense(3, 'softmax')(tf.keras.layers.GlobalAveragePooling2D()(both))
    model = tf.keras.Model(inputs, outputs)
    model.compile(tf.keras.optimizers.SGD(0.0), 'sparse_categorical_crossentropy')
x, y = np.random.RandomState(0).rand(9, 9, 9, 2).astype('f'), np.arange(9) % 3
all_of_them = model.predict(x, batch_size=9)
one_by_one = [model.predict(x[n:n + 1]) for n in range(9)]
tell(float(abs(np.concatenate(one_by_one) - all_of_them).max()),
     model.evaluate(x, y, batch_size=8, verbose=0), model.evaluate(x, y, batch_size=9, verbose=0),
     bool(np.isfinite(model.fit(x, y, batch_size=8, verbose=0).history['loss']).all()))
"""


def test_replicas_without_examples(tmp_path):
    """With oneDNN, whose convolutions of an empty batch have the shape of their input."""
    start = textwrap.dedent(START_UPS["Colab, with an address"])
    told, _ = run(
        tmp_path, start + FEW, *targets.options(4), TPUCOMPAT_EXACT="", TF_ENABLE_ONEDNN_OPTS="1"
    )
    ((difference, in_two, in_one, trained),) = told
    assert difference < 1e-6 and trained
    if release_of(tf.__version__) >= (2, 2):  # 2.1 takes each replica's mean, and the mean of those
        assert in_two == pytest.approx(in_one, rel=1e-5)


def test_vectors_are_columns_for_a_model_of_the_script_s_own(tmp_path):
    # 0 + 1, 2 + 3 + 1, ... against 0, 1, 2, 3: what 2.0 to 2.6 answered; later ones add a row to a column.
    predicted = [[1.0], [6.0], [9.0], [14.0]]
    loss = (1 + 25 + 49 + 121) / 4
    start = START_UPS["Colab, with an address"]
    told, _ = run(tmp_path, textwrap.dedent(start) + VECTORS)
    assert told == [
        [predicted, [loss], loss, ["(2, 2)"]],
        [predicted, [loss], loss, ["(2, 2)", "1"]],
        [[[4, 2]] * 3],
    ]


OWN_STEP = """
class Own(tf.keras.Model):
    def train_step(self, data):
        return {'mean': tf.reduce_mean(data[0]), 'other': tf.reduce_max(data[1])}
    def test_step(self, data):
        return self.train_step(data)
with strategy.scope():
    inputs = tf.keras.Input([1])
    model = Own(inputs, tf.keras.layers.Dense(1)(inputs))
    model.compile('sgd', 'mse')
x = np.arange(8.0).reshape(8, 1)
data = tf.data.Dataset.from_tensor_slices((x, x)).batch(8)
tell(model.fit(data, verbose=0).history, model.evaluate(data, verbose=0))
"""


@pytest.mark.skipif(release_of(tf.__version__) < (2, 3), reason="2.2 reports metrics alone")
@pytest.mark.parametrize("cores, mean, other", [(1, 3.5, 7), (2, 1.5, 3), (4, 0.5, 1)])
def test_an_own_step_is_reported_of_the_first_replica(tmp_path, cores, mean, other):
    start = textwrap.dedent(START_UPS["Colab, with an address"])
    ((trained, evaluated),), _ = run(tmp_path, start + OWN_STEP, *targets.options(cores))
    assert trained == {"mean": [mean], "other": [other]}
    assert evaluated in ([mean, other], [other, mean])


CROSS_ENTROPIES = """
x = np.random.RandomState(0).rand(8, 4).astype('f')
y = np.eye(3)[np.random.RandomState(1).randint(0, 3, 8)].astype('f')
weights = tf.keras.initializers.Constant(np.linspace(-1, 1, 12).reshape(4, 3))
for logits in False, True:
    for activation, loss in ('softmax', 'Binary'), ('sigmoid', 'Categorical'), ('softmax', 'Categorical'):
        loss = getattr(tf.keras.losses, loss + 'Crossentropy')(from_logits=logits)
        with strategy.scope():
            layer = tf.keras.layers.Dense(3, activation, input_shape=(4,), kernel_initializer=weights)
            model = tf.keras.Sequential([layer])
            model.compile('sgd', loss)
        tell(model.evaluate(x, y, verbose=0), loss(y, model(x)).numpy())
"""
# What TensorFlow 2.1.4 gives for the same models, by evaluate and eagerly.
CROSS_ENTROPIES_OF_21 = [0.7815381, 1.2223699, 1.3840907, 0.7891955, 1.1554903, 1.1804194]


@pytest.mark.skipif(
    release_of(tf.__version__) < (2, 4), reason="2.2 and 2.3 compute these losses themselves"
)
def test_cross_entropies_take_no_logits_of_another_activation(tmp_path):
    start = START_UPS["Colab, with an address"]
    told, _ = run(tmp_path, textwrap.dedent(start) + CROSS_ENTROPIES)
    assert np.array(told) == pytest.approx(np.array([CROSS_ENTROPIES_OF_21] * 2).T, rel=1e-5)


INITIAL_WEIGHTS = """
import warnings
warnings.filterwarnings('error', message='The initializer')
layers = tf.keras.layers

class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.two = layers.Dense(4, 'relu'), layers.Dense(1)
    def build(self, shape):
        self.w = self.add_weight('w', (4,), initializer='uniform')
        super().build(shape)
    def call(self, x):
        return self.two(self.one(x) * self.w)

def told(model):
    tell([float(w.ravel()[-1]) for w in model.get_weights() if w.std()])

tf.random.set_seed(7)
with strategy.scope():
    shared = tf.keras.initializers.he_normal()  # is called twice, and draws twice
    words = layers.Input((8,), dtype='int32')
    x = layers.LSTM(4, return_sequences=True)(layers.Embedding(20, 6)(words))
    x = layers.Dense(3, kernel_initializer=shared)(layers.Conv1D(5, 3, kernel_initializer=shared)(x))
    x = layers.GlobalAveragePooling1D()(layers.Dense(3, kernel_initializer='lecun_uniform')(x))
    told(tf.keras.Model(words, layers.Dense(1, kernel_initializer='truncated_normal')(x)))
tell(tf.random.normal([2]).numpy().tolist())
with strategy.scope():
    model = Model()
    model.compile(tf.keras.optimizers.SGD(0.0), 'mse')
model.fit(np.ones((16, 8), 'f'), np.ones((16, 1), 'f'), batch_size=8, verbose=0)
told(model)
if release_of(tf.__version__) >= (2, 10):  # what later programs call keeps what it means
    import random
    tf.keras.utils.set_random_seed(3)
    seed = random.Random(3).randint(1, 10**9)
    drawn = tf.keras.initializers.GlorotUniform()((4, 3))
    assert np.array_equal(drawn, tf.keras.initializers.GlorotUniform(seed)((4, 3)))
"""
# What TensorFlow 2.0.4 and 2.4.4 give.
INITIAL_WEIGHTS_OF_24 = [
    [-0.00853879, -0.34188777, 0.43824327, 0.0, -0.43384689, -1.13478768, -0.65463924, 0.06837385],
    [-0.02612975, -1.19850719],
    [0.10205472, -1.05033588, -0.02034654],
]


@pytest.mark.parametrize("cores", [1, 4])
def test_the_seed_decides_the_initial_weights(tmp_path, cores):
    start = START_UPS["Colab, with an address"]
    text = textwrap.dedent(start) + INITIAL_WEIGHTS
    told, _ = run(tmp_path, text, *targets.options(cores))
    assert len(told) == len(INITIAL_WEIGHTS_OF_24)
    for (found,), expected in zip(told, INITIAL_WEIGHTS_OF_24):
        # Its processor may compute an orthogonal matrix, or a square root, with another last bit.
        assert found == pytest.approx(expected, rel=1e-5)


def test_a_required_tpu_is_an_error_that_no_fallback_swallows(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PREAMBLE + textwrap.dedent(START_UPS["Kaggle, with a way without TPU"]))
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", str(script)],
        env=dict(
            os.environ,
            PYTHONPATH=ROOT,
            TPUCOMPAT_REQUIRE_TPU="1",
            CUDA_VISIBLE_DEVICES="-1",
        ),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "TPU411" in done.stderr
