"""``tf.contrib.resampler``: bilinear sampling at given points (spatial transformers).

Behaviour follows tensorflow/contrib/resampler of TensorFlow 1.15: points outside count as zero,
and a point less than one pixel outside mixes with zeros.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def resampler(data: Any, warp: Any, name: str = "resampler") -> Any:
    """Samples images at points.

    Args:
      data: ``[batch, height, width, channels]``.
      warp: ``[batch, ..., 2]`` points (x, y) in pixels.
      name: Of the operation.

    Returns:
      ``[batch, ..., channels]``.
    """
    with tf.name_scope(name, "resampler", [data, warp]):
        data, warp = tf.convert_to_tensor(data), tf.convert_to_tensor(warp)
        batch, height, width = (tf.shape(data)[axis] for axis in range(3))
        points = tf.reshape(warp, [batch, -1, 2])
        x, y = points[:, :, 0], points[:, :, 1]
        left, top = tf.floor(x), tf.floor(y)
        # Zeros all around take the place of what is outside.
        framed = tf.pad(data, [[0, 0], [1, 1], [1, 1], [0, 0]])

        def corner(column: Any, row: Any) -> Any:
            column = tf.clip_by_value(tf.cast(column, tf.int32) + 1, 0, width + 1)
            row = tf.clip_by_value(tf.cast(row, tf.int32) + 1, 0, height + 1)
            return tf.gather_nd(framed, tf.stack([row, column], axis=2), batch_dims=1)

        right_part, bottom_part = (x - left)[:, :, None], (y - top)[:, :, None]
        upper = (1 - right_part) * corner(left, top) + right_part * corner(left + 1, top)
        lower = (1 - right_part) * corner(left, top + 1) + right_part * corner(left + 1, top + 1)
        sampled = (1 - bottom_part) * upper + bottom_part * lower
        shape = tf.concat([tf.shape(warp)[:-1], tf.shape(data)[-1:]], 0)
        sampled = tf.reshape(sampled, shape)
        sampled.set_shape(warp.shape[:-1].concatenate(data.shape[-1:]))
        return sampled
