"""Losses of ``tf.keras`` that mean something else today than in TensorFlow 1.15."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base import keras_generation
from tpucompat.tf import patches


def cosine_proximity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """The cosine of the angle between labels and predictions, as loss and as metric.

    1.15's sign (``tensorflow/python/keras/losses.py``): 1 where they point the same way. As a loss, TensorFlow
    2.0 and later give the negative of it, and no longer know its first name.

    Args:
      y_true: Labels.
      y_pred: Predictions, of the same shape.
      axis: The axis of the vectors.

    Returns:
      A tensor without that axis.
    """
    return tf.reduce_sum(tf.nn.l2_normalize(y_true, axis) * tf.nn.l2_normalize(y_pred, axis), axis)


def _negative_proximity(y_true: Any, y_pred: Any) -> Any:
    """Minus the cosine, as 1.13 had it under this and a short name, and 1.14 and later only under this."""
    return -cosine_proximity(y_true, y_pred)


_negative_proximity.__name__ = cosine_proximity.__name__  # which the metric is called


class CosineSimilarity(keras_generation.graph_keras().losses.CosineSimilarity):  # type: ignore[misc]
    """``tf.keras.losses.CosineSimilarity`` with 1.15's sign, see :func:`cosine_proximity`."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The similarity of each example, shape [batch]."""
        return -super().call(y_true, y_pred)


@patches.patch
def register() -> None:
    """Lets ``compile(loss="cosine_proximity")`` find 1.15's function, and "cosine" that of 1.13."""
    for name in ("cosine_proximity", "cosine_similarity"):
        patches.replace(tf.keras.utils.get_custom_objects(), name, cosine_proximity)
    patches.replace(tf.keras.utils.get_custom_objects(), "cosine", _negative_proximity)
