"""What TensorFlow's own unit tests, and Keras', import."""

from __future__ import annotations

import importlib
from typing import Any

from tpucompat.base.late import late, load
from tpucompat.tf.private.keras import keras_source

_test_util = late("tensorflow.python.framework.test_util")


def test_util() -> Any:
    """The module of TensorFlow's own tests: decorators for test methods, and their base class.

    Seen in 1.13 to 2.21 as ``tensorflow.python.framework.test_util``; the public ``tf.test`` has the base
    class only.
    """
    return load(_test_util)


def keras_test_modules() -> tuple[Any, Any]:
    """The modules of Keras' own tests: their helpers, and the decorators that run a test in several ways.

    Seen in tf-keras 2.16 to 2.21 and Keras 2.13 to 2.15 below ``src.testing_infra``, in 2.9 to 2.12 as
    ``keras.testing_infra``; up to 2.8 the modules are ``keras.testing_utils`` and ``keras_parameterized``.
    """
    root = keras_source()
    try:
        return (
            importlib.import_module(root + ".testing_infra.test_utils"),
            importlib.import_module(root + ".testing_infra.test_combinations"),
        )
    except ModuleNotFoundError:
        return (
            importlib.import_module(root + ".testing_utils"),
            importlib.import_module(root + ".keras_parameterized"),
        )
