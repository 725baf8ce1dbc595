"""Runs a script of TensorFlow 1.13 on a real TensorFlow 1.15 without a TPU and without tpucompat.

    PYTHON_WITH_TENSORFLOW_1.15 tools/host_clone.py legacy_examples/fashion_mnist_keras.py --its --flags

``keras_to_tpu_model`` is what it did on one core, by hand and on the host: a clone of the model, with its
weights, which Keras itself compiles and trains. Nothing else of the script is replaced but the connection to a
TPU. What the tests call TensorFlow 1.15's numbers is recorded so.
"""

import os
import runpy
import sys

import tensorflow as tf


def keras_to_tpu_model(model, strategy=None):
    """A clone of a model, which begins with its weights."""
    del strategy
    clone = tf.keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    return clone


def _no_strategy(resolver=None):
    return None


def main():
    """Runs the script that the command line names, as ``__main__``."""
    if not tf.__version__.startswith("1.") or "tpucompat" in sys.modules:
        sys.exit("this needs a TensorFlow 1.x, without tpucompat")
    os.environ.setdefault("COLAB_TPU_ADDR", "localhost:8470")
    tpu = tf.contrib.tpu
    tpu.keras_to_tpu_model = keras_to_tpu_model
    tpu.TPUDistributionStrategy = _no_strategy
    tf.contrib.cluster_resolver.TPUClusterResolver = _no_strategy
    sys.argv[:] = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
