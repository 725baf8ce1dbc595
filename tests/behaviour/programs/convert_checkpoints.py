"""Converts checkpoints between all generations, with a model of today's TensorFlow that reads them.

    python convert_checkpoints.py FOLDER

Writes FOLDER/back/old.ckpt for TensorFlow 1.x to read, and prints what was done.
"""

import os
import sys

import numpy as np
import tensorflow as tf

from tpucompat.commands.checkpoints import conversion, formats

FOLDER = sys.argv[1]
RNG = np.random.RandomState(0)
# The variables of a TensorFlow 1 program, two of them of the same shape, and what its optimizer keeps.
SHAPES = {
    "net/hidden/kernel": (6, 5),
    "net/hidden/bias": (5,),
    "net/norm/gamma": (5,),
    "net/norm/beta": (5,),
    "net/norm/moving_mean": (5,),
    "net/norm/moving_variance": (5,),
    "net/other/kernel": (5, 5),
    "net/other/bias": (5,),
    "net/logits/kernel": (5, 5),
    "net/logits/bias": (5,),
}
OLD = {name: RNG.uniform(0.1, 1, shape).astype(np.float32) for name, shape in SHAPES.items()}


def place(*names):
    """A path below the folder, whose own folder is made."""
    path = os.path.join(FOLDER, *names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def build_model():
    """The same network in Keras."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((6,)),
            layers.Dense(5, name="hidden"),
            layers.BatchNormalization(name="norm", epsilon=1e-3),
            layers.Dense(5, name="other", activation="tanh"),
            layers.Dense(5, name="logits"),
        ]
    )


def answer(x):
    """What the old program answers."""
    y = x @ OLD["net/hidden/kernel"] + OLD["net/hidden/bias"]
    y = (y - OLD["net/norm/moving_mean"]) / np.sqrt(OLD["net/norm/moving_variance"] + 1e-3)
    y = y * OLD["net/norm/gamma"] + OLD["net/norm/beta"]
    y = np.tanh(y @ OLD["net/other/kernel"] + OLD["net/other/bias"])
    return y @ OLD["net/logits/kernel"] + OLD["net/logits/bias"]


def main():
    """Converts there and back."""
    x = RNG.randn(4, 6).astype(np.float32)

    def check(model, what):
        # The layers' matrix products in single precision, against numpy's.
        np.testing.assert_allclose(model(x), answer(x), rtol=1e-5, atol=1e-5, err_msg=what)
        print(what)

    old = place("old", "model.ckpt-7")
    extra = {"global_step": np.int64(7), "net/hidden/kernel/Adam": OLD["net/hidden/kernel"] * 0}
    conversion._write_tf1(old, {**OLD, **extra})
    conversion._name_newest(old)
    assert formats.kind(old) == "tf1" and list(formats.read(place("old", ""))) == sorted(OLD)

    # Files of the new model as it is before it is trained show the layout.
    new = build_model()
    new.set_weights([RNG.uniform(0.1, 1, w.shape) for w in new.get_weights()])
    like = {
        "tf2": tf.train.Checkpoint(model=new, step=tf.Variable(0)).save(place("like", "ckpt")),
        "keras": place("like", "new.weights.h5"),
        "archive": place("like", "new.keras"),
    }
    new.save_weights(like["keras"])
    new.save(like["archive"])

    target = place("new", "model.ckpt")
    # An object-based checkpoint does not say what a layer is called.
    try:
        conversion.convert(old, target, like=like["tf2"])
        raise SystemExit("layers of the same shape were taken for each other")
    except conversion.ConversionError as error:
        assert "--map" in str(error), error

    def mapping_of(path):
        found = {}
        for name, value in formats.read(path).items():
            for layer in new.layers:
                for weight, held in zip(layer.weights, layer.get_weights()):
                    if held.shape == value.shape and np.array_equal(held, value):
                        last = weight.name.partition(":")[0].rpartition("/")[2]
                        found[name] = f"net/{layer.name}/{last}"
        return found

    mapping = mapping_of(like["tf2"])
    done = conversion.convert(old, target, like=like["tf2"], mapping=mapping)
    assert (done.source, done.target, len(done.names)) == ("tf1", "tf2", 10)
    model = build_model()
    tf.train.Checkpoint(model=model).restore(target).assert_existing_objects_matched()
    check(model, "tf1 to tf2")

    for kind, ending in (("keras", "h.weights.h5"), ("archive", "a.keras")):
        names = mapping_of(like[kind])
        conversion.convert(old, place("new", ending), like=like[kind], mapping=names)
        model = build_model()
        if kind == "archive":
            model = tf.keras.models.load_model(place("new", ending))
        else:
            model.load_weights(place("new", ending))
        check(model, f"tf1 to {kind}")
        # And back, by the old program's own layout.
        names = {theirs: ours for ours, theirs in names.items()}
        conversion.convert(
            place("new", ending), place("back", kind, "old.ckpt"), like=old, mapping=names
        )
        back = formats.read(place("back", kind, "old.ckpt"), optimizer=True)
        assert all(np.array_equal(back[name], value) for name, value in {**OLD, **extra}.items())
        print(f"{kind} to tf1")

    back = {theirs: ours for ours, theirs in mapping.items()}
    conversion.convert(target, place("back", "old.ckpt"), like=old, mapping=back)
    back = formats.read(place("back", "old.ckpt"))
    assert all(np.array_equal(back[name], value) for name, value in OLD.items())
    print("tf2 to tf1")

    # Without a layout: the names are the old ones.
    conversion.convert(old, place("free", "old.h5"))
    conversion.convert(place("free", "old.h5"), place("free", "model.ckpt"), to="tf2")
    free = formats.read(place("free", "model.ckpt"))
    assert formats.kind(place("free", "model.ckpt")) == "tf2"
    assert all(np.array_equal(free[name], value) for name, value in OLD.items())
    print("tf1 to h5 to tf2")

    # Every direction, each by the layout of a file of the target's program.
    own = {name: name for name in OLD}
    files = {
        "tf1": (old, "m.ckpt", own),
        "h5": (place("free", "old.h5"), "m.h5", own),
        "tf2": (target, "m.ckpt", mapping),
        "keras": (place("new", "h.weights.h5"), "m.weights.h5", mapping_of(like["keras"])),
        "archive": (place("new", "a.keras"), "m.keras", mapping_of(like["archive"])),
    }
    count = 0
    for one, (source, _, theirs) in files.items():
        known = {name: there for there, name in theirs.items()}
        for other, (layout, ending, ours) in files.items():
            to = place("all", f"{one}-{other}", ending)
            conversion.convert(
                source, to, like=layout, mapping={name: known[ours[name]] for name in ours}
            )
            found = formats.read(to)
            assert all(np.array_equal(found[name], OLD[ours[name]]) for name in ours), (one, other)
            count += 1
    print(count, "directions")


if __name__ == "__main__":
    main()
