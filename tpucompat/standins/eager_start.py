"""``tf.enable_eager_execution`` of TensorFlow 1.x: eager execution, with the Keras of that time."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow

from tpucompat.tf import patches
from tpucompat.tf.patches.row import EAGER_KERAS

# What 1.15 calls a metric where TensorFlow 2's behaviour is off, eagerly too
# (tensorflow/python/keras/engine/training_utils.py, get_metric_name).
_NAMES = {"accuracy": "acc", "crossentropy": "ce"}


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """``tf.enable_eager_execution``: operations compute at once, for the rest of the program.

    Args:
      config: A ConfigProto, or None.
      device_policy: What happens to inputs that lie on another device; None chooses.
      execution_mode: Whether operations wait for one another; None chooses.

    Raises:
      ValueError: A graph has been used already.
    """
    tensorflow.compat.v1.enable_eager_execution(config, device_policy, execution_mode)
    patches.apply(EAGER_KERAS)
    name_metrics_like_tensorflow_1()


@patches.patch
def name_metrics_like_tensorflow_1() -> None:
    """Lets ``compile(metrics=["accuracy"])`` call the metric ``acc``."""
    compile_model = tensorflow.keras.Model.compile

    @functools.wraps(compile_model)
    def compiled(self: Any, optimizer: Any = "rmsprop", *args: Any, **kwargs: Any) -> Any:
        for name in ("metrics", "weighted_metrics"):
            if name in kwargs:
                kwargs[name] = _renamed(kwargs[name])
        if len(args) > 1:  # behind the loss
            args = (args[0], _renamed(args[1]), *args[2:])
        return compile_model(self, optimizer, *args, **kwargs)

    patches.replace(tensorflow.keras.Model, "compile", compiled)


def _renamed(metrics: Any) -> Any:
    """Metrics, in lists and dictionaries of any kind, by 1.15's names."""
    if isinstance(metrics, dict):
        return {key: _renamed(value) for key, value in metrics.items()}
    if isinstance(metrics, (list, tuple)):
        return [_renamed(each) for each in metrics]
    return _NAMES.get(metrics, metrics) if isinstance(metrics, str) else metrics
