"""``tf.contrib.image``: projective transformations and warps on TensorFlow's own kernel.

Behaviour follows tensorflow/contrib/image/python/ops of TensorFlow 1.15. A flat transform is the
eight numbers ``[a0, a1, a2, b0, b1, b2, c0, c1]`` that map an *output* point (x, y) to the input
point ``((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)`` with ``k = c0 x + c1 y + 1``.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError

_TYPES = (tf.uint8, tf.int32, tf.int64, tf.float16, tf.float32, tf.float64)


def _batched(images: Any) -> Any:
    """Images as ``[batch, height, width, channels]``."""
    if images.dtype.base_dtype not in _TYPES:
        raise BadTypeError("TPU103", f"Invalid dtype {images.dtype}.")
    rank = images.shape.rank
    if rank is None:
        raise BadTypeError("TPU103", "image_or_images rank must be statically known")
    if rank == 2:
        return images[None, :, :, None]
    if rank == 3:
        return images[None, :, :, :]
    if rank == 4:
        return images
    raise BadTypeError("TPU103", "Images should have rank between 2 and 4.")


def transform(
    images: Any,
    transforms: Any,
    interpolation: str = "NEAREST",
    output_shape: Any = None,
    name: str | None = None,
) -> Any:
    """Applies projective transforms to images; points outside are zero.

    Args:
      images: ``[height, width]``, ``[height, width, channels]`` or a batch of the latter; uint8,
        int32, int64, float16, float32 or float64.
      transforms: One flat transform, or one for each image.
      interpolation: "NEAREST" or "BILINEAR".
      output_shape: (height, width) of the result; that of the images by default.
      name: Of the operation.

    Returns:
      Images of the given rank and type.

    Raises:
      TypeError: If the type or a rank does not fit.
      ValueError: If ``output_shape`` is not two numbers.
    """
    with tf.name_scope(name, "transform"):
        given = tf.convert_to_tensor(images, name="images")
        transforms = tf.convert_to_tensor(transforms, name="transforms", dtype=tf.float32)
        images = _batched(given)
        if output_shape is None:
            static = images.shape[1:3]
            output_shape = static.as_list() if static.is_fully_defined() else tf.shape(images)[1:3]
        output_shape = tf.convert_to_tensor(output_shape, tf.int32, name="output_shape")
        if not output_shape.shape.is_compatible_with([2]):
            raise BadValueError(
                "TPU103",
                "output_shape must be a 1-D Tensor of 2 elements: new_height, new_width",
            )
        if transforms.shape.rank is None:
            raise BadTypeError("TPU103", "transform_or_transforms rank must be statically known")
        if transforms.shape.rank not in (1, 2):
            raise BadTypeError("TPU103", "Transforms should have rank 1 or 2.")
        output = tf.raw_ops.ImageProjectiveTransformV2(
            images=images,
            transforms=transforms[None] if transforms.shape.rank == 1 else transforms,
            output_shape=output_shape,
            interpolation=interpolation.upper(),
        )
        if given.shape.rank == 2:
            return output[0, :, :, 0]
        return output[0] if given.shape.rank == 3 else output


def rotate(
    images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Any:
    """Rotates images about their centres.

    Args:
      images: As for :func:`transform`.
      angles: Radians counterclockwise, one or one for each image.
      interpolation: "NEAREST" or "BILINEAR".
      name: Of the operation.

    Returns:
      Images of the given shape and type.

    Raises:
      TypeError: If the type or a rank does not fit.
    """
    with tf.name_scope(name, "rotate"):
        images = tf.convert_to_tensor(images)
        size = tf.cast(tf.shape(_batched(images))[1:3], tf.float32)
        turned = angles_to_projective_transforms(angles, size[0:1], size[1:2])
        return transform(images, turned, interpolation=interpolation)


def translate(
    images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Any:
    """Moves images.

    Args:
      images: As for :func:`transform`.
      translations: (dx, dy) in pixels, one pair or one for each image.
      interpolation: "NEAREST" or "BILINEAR".
      name: Of the operation.

    Returns:
      Images of the given shape and type.

    Raises:
      TypeError: If the type or a rank does not fit.
    """
    with tf.name_scope(name, "translate"):
        moved = translations_to_projective_transforms(translations)
        return transform(images, moved, interpolation=interpolation)


def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> Any:
    """The transforms that rotate images of a size about their centres.

    Args:
      angles: Radians, a scalar or a vector.
      image_height: float32.
      image_width: float32.
      name: Of the operation.

    Returns:
      ``[angles, 8]``.

    Raises:
      TypeError: If ``angles`` has another rank.
    """
    with tf.name_scope(name, "angles_to_projective_transforms"):
        angles = tf.convert_to_tensor(angles, name="angles", dtype=tf.float32)
        if angles.shape.rank not in (0, 1):
            raise BadTypeError("TPU103", "Angles should have rank 0 or 1.")
        angles = tf.reshape(angles, [-1])
        cos, sin = tf.cos(angles), tf.sin(angles)
        right, bottom = image_width - 1, image_height - 1
        x = (right - (cos * right - sin * bottom)) / 2.0
        y = (bottom - (sin * right + cos * bottom)) / 2.0
        none = tf.zeros_like(cos)
        return tf.stack([cos, -sin, x, sin, cos, y, none, none], axis=1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Any:
    """The transforms that move images.

    Args:
      translations: ``[2]`` or ``[n, 2]`` (dx, dy).
      name: Of the operation.

    Returns:
      ``[n, 8]``.

    Raises:
      TypeError: If ``translations`` has another rank.
    """
    with tf.name_scope(name, "translations_to_projective_transforms"):
        moves = tf.convert_to_tensor(translations, name="translations", dtype=tf.float32)
        if moves.shape.rank is None:
            raise BadTypeError(
                "TPU103", "translation_or_translations rank must be statically known"
            )
        if moves.shape.rank not in (1, 2):
            raise BadTypeError("TPU103", "Translations should have rank 1 or 2.")
        moves = tf.reshape(moves, [-1, 2])
        none = tf.zeros_like(moves[:, 0])
        one = none + 1
        return tf.stack([one, none, -moves[:, 0], none, one, -moves[:, 1], none, none], axis=1)


def compose_transforms(*transforms: Any) -> Any:
    """One transform for several, which are applied from the last to the first output-to-input map.

    Args:
      *transforms: Flat transforms, each ``[8]`` or ``[n, 8]``.

    Returns:
      ``[n, 8]``.
    """
    assert transforms, "transforms cannot be empty"
    with tf.name_scope("compose_transforms"):
        matrices = map(flat_transforms_to_matrices, transforms)
        return matrices_to_flat_transforms(functools.reduce(tf.matmul, matrices))


def flat_transforms_to_matrices(transforms: Any) -> Any:
    """Flat transforms as matrices.

    Args:
      transforms: ``[8]`` or ``[n, 8]``.

    Returns:
      ``[n, 3, 3]``.

    Raises:
      ValueError: If the rank does not fit.
    """
    with tf.name_scope("flat_transforms_to_matrices"):
        transforms = tf.convert_to_tensor(transforms, name="transforms")
        if transforms.shape.rank not in (1, 2):
            raise BadValueError("TPU103", f"Transforms should be 1D or 2D, got: {transforms}")
        flat = tf.reshape(transforms, [-1, 8])
        return tf.reshape(tf.concat([flat, tf.ones_like(flat[:, :1])], axis=1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> Any:
    """Matrices as flat transforms, scaled so that their last element is 1.

    Args:
      transform_matrices: ``[3, 3]`` or ``[n, 3, 3]``.

    Returns:
      ``[n, 8]``.

    Raises:
      ValueError: If the rank does not fit.
    """
    with tf.name_scope("matrices_to_flat_transforms"):
        matrices = tf.convert_to_tensor(transform_matrices, name="transform_matrices")
        if matrices.shape.rank not in (2, 3):
            raise BadValueError("TPU103", f"Matrices should be 2D or 3D, got: {matrices}")
        flat = tf.reshape(matrices, [-1, 9])
        return (flat / flat[:, 8:9])[:, :8]
