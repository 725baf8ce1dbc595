"""Trains on with each optimizer after its state has gone from one generation's checkpoint to another's.

    python optimizer_checkpoints.py FOLDER some|all|layers|slots [OPTIMIZER ...]

"some" goes from TensorFlow 1 to other forms and back, "all" from each form to each. Prints a line for each.
"layers" goes to a file of Keras 3 whose layers have the same shapes, some of them frozen, and prints how many values.
"slots" prints as JSON what each generation calls the slots of each optimizer.
"""

import json
import os
import sys

import keras
import numpy as np
import tensorflow as tf
import tf_keras

from tpucompat.commands.checkpoints import conversion, formats
from tpucompat.commands.checkpoints.optimizers import Wanted

FOLDER, WHICH, *CHOSEN = sys.argv[1:]
RNG = np.random.RandomState(0)
X = RNG.randn(16, 5).astype(np.float32)
Y = np.tanh(X @ RNG.randn(5, 3)).astype(np.float32)
WIDTHS = (5, 4, 6, 3)
LAYERS = ("hidden", "other", "logits")
BEFORE, AFTER = 7, 10
SOME = (
    ("TensorFlow 1", "Keras 3 .keras"),
    ("TensorFlow 1", "Keras 2 legacy checkpoint"),
    ("Keras 3 .weights.h5", "TensorFlow 1"),
    ("Keras 2 .h5", "TensorFlow 1"),
    ("Keras 2 legacy checkpoint", "Keras 3 .keras"),
)
train = tf.compat.v1.train

# Name -> the optimizer of tf.train, its class in Keras, and the same arguments for it.
OPTIMIZERS = {
    "Adam": (lambda: train.AdamOptimizer(0.01), "Adam", {"learning_rate": 0.01, "epsilon": 1e-8}),
    "Adam with betas": (
        lambda: train.AdamOptimizer(0.01, beta1=0.5, beta2=0.99),
        "Adam",
        {"learning_rate": 0.01, "epsilon": 1e-8, "beta_1": 0.5, "beta_2": 0.99},
    ),
    "Momentum": (
        lambda: train.MomentumOptimizer(0.05, 0.9),
        "SGD",
        {"learning_rate": 0.05, "momentum": 0.9},
    ),
    "Nesterov": (
        lambda: train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
        "SGD",
        {"learning_rate": 0.05, "momentum": 0.9, "nesterov": True},
    ),
    "RMSProp": (
        lambda: train.RMSPropOptimizer(0.003, momentum=0.9),
        "RMSprop",
        {"learning_rate": 0.003, "momentum": 0.9, "epsilon": 1e-10},
    ),
    "centered RMSProp": (
        lambda: train.RMSPropOptimizer(0.003, momentum=0.9, centered=True, epsilon=1e-3),
        "RMSprop",
        {"learning_rate": 0.003, "momentum": 0.9, "epsilon": 1e-3, "centered": True},
    ),
    "Adagrad": (
        lambda: train.AdagradOptimizer(0.1),
        "Adagrad",
        {"learning_rate": 0.1, "epsilon": 1e-12, "initial_accumulator_value": 0.1},
    ),
    "Adadelta": (
        lambda: train.AdadeltaOptimizer(1.0, epsilon=1e-6),
        "Adadelta",
        {"learning_rate": 1.0, "epsilon": 1e-6},
    ),
    "Ftrl": (lambda: train.FtrlOptimizer(0.1), "Ftrl", {"learning_rate": 0.1}),
}


def initial(seed):
    """Variables of the model, by layer."""
    rng = np.random.RandomState(seed)
    shapes = zip(WIDTHS, WIDTHS[1:])
    return [(rng.randn(*shape) * 0.5, rng.randn(shape[1]) * 0.1) for shape in shapes]


class Tf1:
    """The program in a graph, with a Saver."""

    def __init__(self, optimizer, seed=0, path=None):
        self.graph = tf.Graph()
        with self.graph.as_default():
            y = tf.constant(X)
            for name, (kernel, bias) in zip(LAYERS, initial(seed)):
                with tf.compat.v1.variable_scope(name, use_resource=True):
                    get = tf.compat.v1.get_variable
                    weights = get("kernel", initializer=kernel.astype(np.float32))
                    y = y @ weights + get("bias", initializer=bias.astype(np.float32))
                y = y if name == LAYERS[-1] else tf.tanh(y)
            self.loss = tf.reduce_mean(tf.square(y - Y))
            step = train.get_or_create_global_step()
            self.step = OPTIMIZERS[optimizer][0]().minimize(self.loss, global_step=step)
            self.saver = train.Saver()
            self.session = tf.compat.v1.Session()
            self.session.run(tf.compat.v1.global_variables_initializer())
            if path:
                self.saver.restore(self.session, path)

    def losses(self, steps):
        """The losses of the next steps."""
        found = []
        for _ in range(steps):
            found.append(float(self.session.run(self.loss)))
            self.session.run(self.step)
        return found

    def save(self, path):
        with self.graph.as_default():
            return self.saver.save(self.session, path)


class Keras:
    """The program with one of the three optimizers of Keras, and one of its files."""

    library = keras
    optimizers = keras.optimizers
    ending = ""  # a tf.train.Checkpoint

    def __init__(self, optimizer, seed=0, path=None):
        _, name, arguments = OPTIMIZERS[optimizer]
        if path and self.ending in (".h5", ".keras"):
            self.model = self.library.models.load_model(path)
            return
        layers = self.library.layers
        self.model = self.library.Sequential(
            [
                layers.InputLayer((5,)),
                *(
                    layers.Dense(width, name=layer, activation=None if width == 3 else "tanh")
                    for layer, width in zip(LAYERS, WIDTHS[1:])
                ),
            ]
        )
        made = getattr(self.optimizers, name)(**arguments)
        self.model.compile(made, self.library.losses.MeanSquaredError())
        if hasattr(made, "build"):
            made.build(self.model.trainable_variables)
        else:
            made._create_all_weights(self.model.trainable_variables)
        self.model.set_weights([value for pair in initial(seed) for value in pair])
        if path and self.ending:
            self.model.load_weights(path)
        elif path:
            found = tf.train.Checkpoint(model=self.model, optimizer=made)
            found.read(path).assert_existing_objects_matched()

    def losses(self, steps):
        """The losses of the next steps."""
        found = []
        for _ in range(steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.model(X) - Y))
            variables = self.model.trainable_variables
            gradients = tape.gradient(loss, variables)
            self.model.optimizer.apply_gradients(zip(gradients, variables))
            found.append(float(loss))
        return found

    def save(self, path):
        path += self.ending
        if self.ending == ".weights.h5":
            self.model.save_weights(path)
        elif self.ending:
            self.model.save(path)
        else:
            checkpoint = tf.train.Checkpoint(model=self.model, optimizer=self.model.optimizer)
            path = checkpoint.write(path)
        return path


def forms():
    """Name -> program, of each generation in each of its forms that it restores an optimizer from.

    Keras 3 reads .h5 files, but builds the optimizer for no variables.
    """
    found = {"TensorFlow 1": Tf1}
    for name, library, optimizers, endings in (
        ("Keras 3", keras, keras.optimizers, ("", ".keras", ".weights.h5")),
        ("Keras 2", tf_keras, tf_keras.optimizers, ("", ".h5")),
        ("Keras 2 legacy", tf_keras, tf_keras.optimizers.legacy, ("", ".h5")),
    ):
        for ending in endings:
            members = {"library": library, "optimizers": optimizers, "ending": ending}
            found[f"{name} {ending or 'checkpoint'}"] = type("Form", (Keras,), members)
    return found


def main():
    """Goes from each form to each other."""
    made = forms()
    for optimizer in CHOSEN or OPTIMIZERS:
        saved, wanted, layouts = {}, {}, {}
        pairs = [(one, two) for one in made for two in made if one != two]
        pairs = list(SOME) if WHICH == "some" else pairs
        needed = {name for pair in pairs for name in pair}
        for place, (name, form) in enumerate(made.items()):
            if name not in needed:
                continue
            program = form(optimizer)
            program.losses(BEFORE)
            saved[name] = program.save(os.path.join(FOLDER, f"{optimizer}-{place}-old"))
            wanted[name] = program.losses(AFTER)
            other = form(optimizer, seed=1)
            other.losses(2)
            layouts[name] = other.save(os.path.join(FOLDER, f"{optimizer}-{place}-like"))
        for old, new in pairs:
            form = made[new]
            target = os.path.join(FOLDER, "new" + getattr(form, "ending", ""))
            conversion.convert(
                saved[old], target, like=layouts[new], optimizer=Wanted("auto")
            )
            found = form(optimizer, path=target).losses(AFTER)
            error = np.max(np.abs(np.subtract(found, wanted[old])) / np.abs(wanted[old]))
            assert error < 1e-5, (optimizer, old, new, found, wanted[old])
            if WHICH == "all" or (old, new) == SOME[0]:
                # The state matters: with that of the layout the losses are others.
                conversion.convert(saved[old], target, like=layouts[new])
                stale = form(optimizer, path=target).losses(AFTER)
                change = np.max(np.abs(np.subtract(stale, wanted[old])))
                assert change > 1e-4, (optimizer, old, new)
            print(f"{optimizer}: {old} to {new} {error:.1e}")


def layered(seed):
    """A trained model whose layers only their order tells apart."""
    keras.utils.set_random_seed(seed)
    layers = keras.layers
    frozen = layers.Dense(4, name="second", trainable=False)
    model = keras.Sequential(
        [
            keras.Input((3, 4)),
            layers.LSTM(4, name="recurrent"),
            layers.Dense(4, name="third"),
            layers.LayerNormalization(),
            frozen,
            layers.BatchNormalization(),
            layers.Dense(4, name="first"),
            layers.Dropout(0.5),
            layers.Dense(4),
        ]
    )
    model.compile(keras.optimizers.RMSprop(0.01, momentum=0.9), keras.losses.MeanSquaredError())
    rng = np.random.RandomState(seed)
    model.set_weights([rng.uniform(0.1, 1.0, one.shape) for one in model.get_weights()])
    data = rng.randn(2, 8, 12).astype(np.float32)
    model.fit(data[0].reshape(8, 3, 4), data[1][:, :4], epochs=2, verbose=0)
    return model


def layers():
    """The state goes to the variables whose values it goes with."""
    old, new = layered(1), layered(2)
    place = lambda name: os.path.join(FOLDER, name)  # noqa: E731
    source = tf.train.Checkpoint(model=old, optimizer=old.optimizer).write(place("layered"))
    old.save(place("same.keras"))
    new.save(place("like.keras"))
    by_value = {value.tobytes(): name for name, value in formats.read(source).items()}
    mapping = {
        name: by_value[value.tobytes()] for name, value in formats.read(place("same.keras")).items()
    }
    assert len(set(mapping.values())) == len(mapping) == len(old.weights), mapping
    target, wanted = place("new.keras"), Wanted("auto")
    conversion.convert(source, target, like=place("like.keras"), mapping=mapping, optimizer=wanted)
    found = keras.models.load_model(target)
    values = list(zip(found.optimizer.variables, old.optimizer.variables))
    assert len(values) == 2 + 2 * len(old.trainable_variables)
    for ours, theirs in values:
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), err_msg=theirs.path)
    # The weights alone tell neither which layers are trainable nor their order.
    new.save_weights(place("like.weights.h5"))
    try:
        like = place("like.weights.h5")
        conversion.convert(source, place("a.weights.h5"), like=like, mapping=mapping, optimizer=wanted)
        raise SystemExit("layers of the same shapes were taken for each other")
    except ValueError as error:
        assert "use a .keras file" in str(error), error
    print(len(values), "values")


def slots():
    """Class in Keras -> generation -> the words for its slots, in the order of their making."""
    found = {}
    variable = tf.Variable([1.0, 2.0], name="w")
    for name, arguments in (
        ("Adam", {"amsgrad": True}),
        ("SGD", {"momentum": 0.9}),
        ("RMSprop", {"momentum": 0.9, "centered": True}),
        *((name, {}) for name in ("AdamW", "Adagrad", "Adadelta", "Adamax", "Ftrl")),
    ):
        words = found.setdefault(name, {})
        one = getattr(keras.optimizers, name)(**arguments)
        one.build([keras.Variable([1.0, 2.0], name="w")])
        names = [made.name for made in one.variables if len(made.shape)]
        words["Keras 3"] = [made.partition("_")[2] for made in names]
        two = getattr(tf_keras.optimizers, name)(**arguments)
        two.build([variable])
        words["Keras 2"] = [made.name.partition("/")[0] for made in two.variables if len(made.shape)]
        if hasattr(tf_keras.optimizers.legacy, name):
            legacy = getattr(tf_keras.optimizers.legacy, name)(**arguments)
            legacy._create_all_weights([variable])
            words["Keras 2 legacy"] = legacy.get_slot_names()
    for name, make in (
        ("Adam", lambda: train.AdamOptimizer()),
        ("SGD", lambda: train.MomentumOptimizer(0.1, 0.9)),
        ("RMSprop", lambda: train.RMSPropOptimizer(0.1, centered=True)),
        ("Adagrad", lambda: train.AdagradOptimizer(0.1)),
        ("Adadelta", lambda: train.AdadeltaOptimizer()),
        ("Ftrl", lambda: train.FtrlOptimizer(0.1)),
    ):
        with tf.Graph().as_default():
            w = tf.compat.v1.get_variable("w", [2])
            optimizer = make()
            optimizer.minimize(tf.reduce_sum(w * w))
            made = {optimizer.get_slot(w, slot).op.name: slot for slot in optimizer.get_slot_names()}
        found[name]["TensorFlow 1"] = made
    print(json.dumps(found))


if __name__ == "__main__":
    {"slots": slots, "layers": layers}.get(WHICH, main)()
