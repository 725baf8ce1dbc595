"""``tf.contrib.image``: hue, saturation and value of images changed as in YIQ, television's space of colors.

Behaviour follows tensorflow/contrib/image/python/ops/distort_image_ops.py of TensorFlow 1.15, whose compiled
operation multiplied each color by one matrix (kernels/adjust_hsv_in_yiq_op.h).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError

_TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])
_FROM_YIQ = np.array(
    [[1, 0.95617069, 0.62143257], [1, -0.2726886, -0.64681324], [1, -1.103744, 1.70062309]]
)


def adjust_hsv_in_yiq(
    image: Any,
    delta_hue: Any = 0,
    scale_saturation: Any = 1,
    scale_value: Any = 1,
    name: str | None = None,
) -> Any:
    """Turns the colors of images, and scales their saturation and brightness.

    Args:
      image: RGB images [..., 3] of any type.
      delta_hue: By how much the hue is turned, in radians.
      scale_saturation: What the saturation is multiplied by.
      scale_value: What everything is multiplied by.
      name: Of the operation.

    Returns:
      Images of the same shape and type.

    Raises:
      ValueError: An image has fewer than three dimensions.
      tf.errors.InvalidArgumentError: An image has not three channels.
    """
    with tf.name_scope(name, "adjust_hsv_in_yiq", [image]):
        image = tf.convert_to_tensor(image, name="image")
        if image.shape.rank is not None and image.shape.rank < 3:
            rank = image.shape.rank
            raise BadValueError("TPU103", f"Shape must be at least rank 3 but is rank {rank}")
        known = None if image.shape.rank is None else image.shape.as_list()[-1]
        if known not in (None, 3):  # where 1.15's kernel ran
            told = f"input must have 3 channels but instead has {known} channels"
            raise tf.errors.InvalidArgumentError(None, None, told)
        colors = tf.image.convert_image_dtype(image, tf.float32)
        hue, saturation, value = (
            tf.cast(number, tf.float32) for number in (delta_hue, scale_saturation, scale_value)
        )
        along = value * saturation * tf.cos(hue)
        across = value * saturation * tf.sin(hue)
        zero = tf.zeros([])
        turn = tf.stack([value, zero, zero, zero, along, -across, zero, across, along])
        matrix = tf.matmul(
            tf.constant(_FROM_YIQ, tf.float32),
            tf.matmul(tf.reshape(turn, [3, 3]), tf.constant(_TO_YIQ, tf.float32)),
        )
        changed = tf.reshape(
            tf.matmul(tf.reshape(colors, [-1, 3]), matrix, transpose_b=True), tf.shape(colors)
        )
        changed.set_shape(colors.shape)
        return tf.image.convert_image_dtype(changed, image.dtype)


def random_hsv_in_yiq(
    image: Any,
    max_delta_hue: float = 0,
    lower_saturation: float = 1,
    upper_saturation: float = 1,
    lower_value: float = 1,
    upper_value: float = 1,
    seed: int | None = None,
) -> Any:
    """:func:`adjust_hsv_in_yiq` by random numbers, the same for all pixels.

    Args:
      image: RGB images [..., 3].
      max_delta_hue: By how much the hue is turned at most, either way; 0 leaves it.
      lower_saturation: The least factor of the saturation.
      upper_saturation: The largest.
      lower_value: The least factor of everything.
      upper_value: The largest.
      seed: Of the random numbers.

    Returns:
      Images of the same shape and type.

    Raises:
      ValueError: A bound is negative, or a lower one above the upper.
    """
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    for kind, lower, upper in (
        ("saturation", lower_saturation, upper_saturation),
        ("value", lower_value, upper_value),
    ):
        if lower < 0:
            raise ValueError(f"lower_{kind} must be non-negative.")
        if lower > upper:
            raise ValueError(f"lower_{kind} must be < upper_{kind}.")

    def drawn(lower: float, upper: float) -> Any:
        return lower if lower == upper else tf.random_uniform([], lower, upper, seed=seed)

    hue = drawn(-max_delta_hue, max_delta_hue)
    saturation = drawn(lower_saturation, upper_saturation)
    return adjust_hsv_in_yiq(image, hue, saturation, drawn(lower_value, upper_value))
