"""Draws from TensorFlow 1's initializers and from those of Keras that migrate writes in their place.

Prints as JSON: call -> the largest distance of the two empirical distributions, and for each row what the
signatures say.
"""

import re
import inspect
import json

import keras
import numpy as np
import tensorflow as tf

from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.migrate import initializers, plan

SHAPE = (400, 300)
# Parameter -> values, as text, that a script may give.
VALUES = {
    "mean": ("0.5",), "stddev": ("0.1", "2.0"), "seed": ("3",), "minval": ("-2.0",), "maxval": ("3.0",),
    "value": ("0.25", "7"), "gain": ("1.5",), "scale": ("2.0",), "mode": ("'fan_out'", "'fan_avg'"),
    "distribution": ("'uniform'", "'truncated_normal'", "'untruncated_normal'"),
}
SCRIPT = """
import tensorflow as tf

tf.keras.layers.Dense(3, kernel_initializer={})
"""


def calls(name, row):
    """The initializer without arguments, and with each value of each parameter."""
    written = f"tf.{name}_initializer"
    if not hasattr(tf.compat.v1, f"{name}_initializer"):
        written = f"tf.initializers.{name}"
    yield f"{written}()"
    for parameter in row.parameters:
        for value in VALUES[parameter]:
            dtype = "" if name.startswith(("he_", "lecun_")) else ", dtype=tf.float32"
            yield f"{written}({parameter}={value}{dtype})"


def rewritten(call):
    """What migrate makes of it."""
    text = SCRIPT.format(call)
    result = plan.migrate(findings.understand(sources.decode("script.py", text.encode())))
    after = result.after.decode()
    assert "TODO" not in after and not re.search(r"^[^#\n]*tpucompat", after, re.M), after
    (line,) = (line for line in after.splitlines() if "kernel_initializer" in line)
    return line.partition("kernel_initializer=")[2][:-1]


def main():
    """Compares each row."""
    distances = {}
    for name, row in initializers.ROWS.items():
        for call in calls(name, row):
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                tf.compat.v1.set_random_seed(1)
                old = session.run(eval(call, {"tf": tf.compat.v1})(SHAPE))
            new = np.asarray(eval(rewritten(call), {"tf": tf})(SHAPE))
            distances[call] = distance(old.ravel(), new.ravel())
    wrong = keras.initializers.TruncatedNormal()(SHAPE)  # the class with Keras' own default
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        right = session.run(tf.compat.v1.truncated_normal_initializer()(SHAPE))
    signatures = {}
    for name, row in initializers.ROWS.items():
        theirs = getattr(tf.compat.v1.initializers, name)
        before = inspect.signature(theirs).parameters
        now = inspect.signature(getattr(keras.initializers, row.becomes)).parameters
        signatures[name] = {
            "before": {key: repr(one.default) for key, one in before.items()},
            "now": {key: repr(one.default) for key, one in now.items()},
        }
    caught = distance(np.asarray(wrong).ravel(), right.ravel())
    print(json.dumps({"distances": distances, "caught": caught, "signatures": signatures}))


def distance(one, other):
    """The statistic of Kolmogorov and Smirnov."""
    one, other = np.sort(one), np.sort(other)
    values = np.concatenate([one, other])
    left = np.searchsorted(one, values, side="right") / len(one)
    right = np.searchsorted(other, values, side="right") / len(other)
    return float(np.max(np.abs(left - right)))


if __name__ == "__main__":
    main()
