"""``tf.contrib.eager``: the names that mean something else today, or are private.

Behaviour follows tensorflow/contrib/eager/python/tfe.py of TensorFlow 1.15.
"""

from __future__ import annotations

import importlib
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.standins import eager_start


def _first(*targets: str) -> Any:
    """The first of several ``module:attribute`` that exists."""
    for target in targets:
        module, _, attribute = target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError):
            continue
    raise ImportError("none of " + ", ".join(targets))


# Moved in 2.9.
Checkpointable = _first(
    "tensorflow.python.trackable.autotrackable:AutoTrackable",
    "tensorflow.python.training.tracking.tracking:AutoTrackable",
)


def defun(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    reduce_retracing: bool = False,
) -> Any:
    """Compiles a Python function into a graph: ``tf.function``, which took its place.

    Args:
      func: The function; without it, the result is a decorator.
      input_signature: Specs of its arguments.
      autograph: Whether its Python control flow is converted.
      experimental_autograph_options: For the conversion.
      reduce_retracing: Ignored.

    Returns:
      The compiled function, or a decorator.
    """
    return tf.function(
        func,
        input_signature=input_signature,
        autograph=autograph,
        experimental_autograph_options=experimental_autograph_options,
    )


def Iterator(dataset: Any) -> Any:
    """Iterates over a dataset in eager mode.

    Args:
      dataset: The dataset.

    Returns:
      An iterator.
    """
    return iter(dataset)


def list_devices() -> list[str]:
    """The names of the devices that operations can run on, as eager mode spelled them."""
    devices = tf.config.experimental.list_logical_devices()
    return ["/job:localhost/replica:0/task:0" + device.name for device in devices]


def num_gpus() -> int:
    """The number of GPUs that TensorFlow sees."""
    return len(tf.config.experimental.list_physical_devices("GPU"))


def run(main: Any = None, argv: Any = None) -> Any:
    """Runs a program with eager execution on; ``tf.app.run`` otherwise.

    Args:
      main: Its main function.
      argv: Its arguments.

    Returns:
      Does not return: the process ends with the result of ``main``.
    """
    eager_start.enable_eager_execution()
    return tf.app.run(main, argv)
