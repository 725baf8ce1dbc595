"""Makes ``tf.keras`` the Keras 2 that trains TensorFlow 1 graphs, where TensorFlow leaves a choice.

TensorFlow 2.16 made Keras 3 the ``tf.keras``; with ``TF_USE_LEGACY_KERAS=1`` it takes the package tf-keras
instead, if the variable is set before the first touch of ``tf.keras``. Earlier releases are left alone: they
bundle Keras 2, and the variable would break it.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from tpucompat.base.errors import SetupError
from tpucompat.base.late import late
from tpucompat.base.machine import environment

tensorflow = late("tensorflow")

_VARIABLE = "TF_USE_LEGACY_KERAS"
# What TensorFlow takes for yes (2.16, tensorflow/python/util/lazy_loader.py).
_YES = ("1", "true", "True")


def graph_keras() -> Any:
    """The Keras with a graph engine, whose classes others derive from; leaves the process as it is.

    The classes are those of ``tf.compat.v1.keras`` once :func:`choose` has been called.

    Raises:
      SetupError: tf-keras is missing (TPU403).
    """
    here = environment()
    if not here.tensorflow or here.has("keras_2"):
        return tensorflow.keras if here.has("contrib") else tensorflow.compat.v1.keras
    _require_tf_keras()
    # What the lazy loader of tf.compat.v1.keras imports (2.16 to 2.21).
    return importlib.import_module("tf_keras.api._v1.keras")


def offer() -> None:
    """Sets the variable, if unset, where TensorFlow has a choice and tf-keras is installed.

    The libraries that a script imports next may touch ``tf.keras`` (tensorflow-hub 0.16 does), before
    anything of the script calls :func:`choose`. TensorFlow is not imported.
    """
    here = environment()
    if here.tensorflow and not here.has("keras_2") and here.tf_keras_version:
        os.environ.setdefault(_VARIABLE, "1")


def choose() -> None:
    """Sets the variable; imports TensorFlow's Keras only where TensorFlow was imported before.

    Raises:
      SetupError: The user's own setting asks for Keras 3 (TPU406), tf-keras is missing (TPU403), or
        ``tf.keras`` is in use as Keras 3 already (TPU422).
    """
    here = environment()
    if not here.tensorflow or here.has("keras_2"):
        return
    wish = os.environ.get(_VARIABLE)
    if wish is not None and wish not in _YES:
        raise SetupError(
            "TPU406",
            f"{_VARIABLE}={wish} selects Keras 3, which cannot train a TensorFlow 1 graph.",
        )
    _require_tf_keras()
    os.environ[_VARIABLE] = "1"
    tensorflow = sys.modules.get("tensorflow")
    # The lazy loader decides at the first touch of tf.keras and never again: ask what it decided.
    if tensorflow is not None and hasattr(tensorflow, "keras"):
        package = tensorflow.keras.Model.__module__.partition(".")[0]
        if package != "tf_keras":
            if wish is None:
                del os.environ[_VARIABLE]
            raise SetupError(
                "TPU422", f"tf.keras is already in use as Keras {here.keras_version or 3}."
            )


def _require_tf_keras() -> None:
    here = environment()
    if not here.tf_keras_version:
        release = ".".join(here.tensorflow.split(".")[:2])
        raise SetupError(
            "TPU403",
            f"TensorFlow {here.tensorflow} needs the tf-keras package for Keras 2, which is not installed.",
            f"pip install 'tf-keras=={release}.*'",
        )
