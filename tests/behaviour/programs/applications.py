"""What ``tf.keras.applications`` builds: layers by place and name, weights, and what they compute.

python applications.py OUT.json, on TensorFlow 1.15 for tests/data/applications_tf115.json.
"""

import hashlib
import json
import re
import sys

import numpy as np
import tensorflow as tf

MOBILE = [
    {"weights": None, "alpha": 0.25, "classes": 5, "input_shape": (32, 32, 3)},
    {
        "weights": None,
        "alpha": 0.25,
        "include_top": False,
        "input_shape": (37, 43, 3),
        "pooling": "avg",
    },
    {"weights": None, "alpha": 0.5, "include_top": False, "input_shape": (None, None, 3)},
]
LARGE = [{"weights": None, "classes": 5, "input_shape": (32, 32, 3)}]
CASES = [
    ("MobileNet", MOBILE),
    ("MobileNetV2", MOBILE),
    ("DenseNet121", LARGE),
    ("ResNet50V2", LARGE),
]


def shape(found):
    """A shape, or that of an input layer, as a list."""
    one = found[0] if isinstance(found, list) else found
    return [None if side is None else int(side) for side in one]


def weights(model):
    """Numbers for the weights of a model, the same in every release."""
    numbers = np.random.RandomState(0)
    found = []
    for weight in model.get_weights():
        drawn = numbers.normal(size=weight.shape, scale=0.2)
        found.append((np.abs(drawn) + 0.5 if len(weight.shape) == 1 else drawn).astype("float32"))
    return found


def described(model):
    """Its layers, how many weights are frozen with the first 20 of them, and the sum of what it computes."""
    layers = [(type(one).__name__, one.name, shape(one.output_shape)) for one in model.layers]
    held = [(one.name, shape(one.shape)) for one in model.weights]
    model.set_weights(weights(model))
    sides = [side or 32 for side in shape(model.input_shape)[1:]]
    image = np.random.RandomState(1).uniform(-1, 1, size=[2] + sides).astype("float32")
    computed = model.predict(image)
    for layer in model.layers[:20]:
        layer.trainable = False
    return {
        "name": model.name,
        "layers": [one[:2] for one in layers[:3] + layers[-5:]],
        "count": [len(layers), len(held), len(model.trainable_weights)],
        "digest": hashlib.md5(json.dumps([layers, held]).encode()).hexdigest(),
        "computed": [
            list(computed.shape),
            float(np.sum(computed * np.arange(computed.size).reshape(computed.shape))),
        ],
    }


def blocks():
    """The layers of Inception-ResNet with the names of its blocks, and two of their numbers."""
    tf.keras.backend.clear_session()
    model = tf.keras.applications.InceptionResNetV2(weights=None, include_top=False)
    return [
        [
            [type(one).__name__, one.name]
            for one in model.layers
            if re.match(r"block\d+_\d+$", one.name)
        ],
        [model.get_layer(name).arguments["scale"] for name in ("block35_2", "block8_10")],
    ]


if __name__ == "__main__":
    results = {}
    for name, cases in CASES:
        for number, options in enumerate(cases):
            tf.keras.backend.clear_session()
            model = getattr(tf.keras.applications, name)(**options)
            results["%s %d" % (name, number)] = described(model)
    results["blocks"] = blocks()
    with open(sys.argv[1], "w") as file:
        json.dump(results, file)
