"""``tf.contrib.image``: projective transformations and warps on TensorFlow's own kernel.

Behaviour follows tensorflow/contrib/image/python/ops of TensorFlow 1.15. A flat transform is the
eight numbers ``[a0, a1, a2, b0, b1, b2, c0, c1]`` that map an *output* point (x, y) to the input
point ``((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)`` with ``k = c0 x + c1 y + 1``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.errors import BadTypeError, BadValueError

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
        composed = flat_transforms_to_matrices(transforms[0])
        for following in transforms[1:]:
            composed = tf.matmul(composed, flat_transforms_to_matrices(following))
        return matrices_to_flat_transforms(composed)


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


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> Any:
    """Takes each output pixel from where a flow points back to, with bilinear interpolation.

    Args:
      image: ``[batch, height, width, channels]``.
      flow: ``[batch, height, width, 2]``; pixel (j, i) comes from (j, i) minus its flow.
      name: Of the operation.

    Returns:
      An image like ``image``; points beyond an edge take the edge's value.
    """
    with tf.name_scope(name):
        image, flow = tf.convert_to_tensor(image), tf.convert_to_tensor(flow)
        shape = tf.shape(image)
        rows, columns = tf.meshgrid(tf.range(shape[1]), tf.range(shape[2]), indexing="ij")
        points = tf.cast(tf.stack([rows, columns], axis=2), flow.dtype)[None] - flow
        warped = interpolate_bilinear(image, tf.reshape(points, [shape[0], -1, 2]))
        return tf.reshape(warped, shape)


def interpolate_bilinear(
    grid: Any, query_points: Any, name: str = "interpolate_bilinear", indexing: str = "ij"
) -> Any:
    """Bilinear values of a grid at points between its own; ``dense_image_warp._interpolate_bilinear``.

    Args:
      grid: ``[batch, height, width, channels]``, of two rows and columns at least.
      query_points: ``[batch, n, 2]`` rows and columns.
      name: Of the operation.
      indexing: "ij", or "xy" where the points are columns and rows.

    Returns:
      ``[batch, n, channels]``; points beyond an edge take the edge's value.

    Raises:
      ValueError: If a shape or ``indexing`` is another.
    """
    if indexing not in ("ij", "xy"):
        raise BadValueError("TPU103", "Indexing mode must be 'ij' or 'xy'")
    with tf.name_scope(name):
        grid, points = tf.convert_to_tensor(grid), tf.convert_to_tensor(query_points)
        if grid.shape.rank != 4:
            raise BadValueError(
                "TPU103", f"Grid must be 4 dimensional. Received size: {grid.shape}"
            )
        if points.shape.rank != 3:
            raise BadValueError("TPU103", "Query points must be 3 dimensional.")
        height, width = tf.shape(grid)[1], tf.shape(grid)[2]
        checks = [
            tf.assert_equal(
                tf.shape(points)[2], 2, message="Query points must be size 2 in dim 2."
            ),
            tf.assert_greater_equal(height, 2, message="Grid height must be at least 2."),
            tf.assert_greater_equal(width, 2, message="Grid width must be at least 2."),
        ]
        with tf.control_dependencies([check for check in checks if check is not None]):
            points = tf.identity(points)
        size = tf.stack([height, width])
        if indexing == "xy":
            # 1.15 turns the sizes around together with the points, so that rows end where columns do.
            size, points = size[::-1], points[..., ::-1]
        return _interpolated(grid, points, size)


def _interpolated(grid: Any, points: Any, size: Any) -> Any:
    last = tf.cast(size - 2, points.dtype)
    floor = tf.minimum(tf.maximum(tf.zeros([], points.dtype), tf.floor(points)), last)
    part = tf.cast(points - floor, grid.dtype)
    part = tf.minimum(tf.maximum(tf.zeros([], grid.dtype), part), tf.ones([], grid.dtype))
    top_left = tf.cast(floor, tf.int32)

    def corner(down: int, right: int) -> Any:
        return tf.gather_nd(grid, top_left + tf.constant([down, right]), batch_dims=1)

    across, along = part[:, :, 1:], part[:, :, :1]
    top = across * (corner(0, 1) - corner(0, 0)) + corner(0, 0)
    bottom = across * (corner(1, 1) - corner(1, 0)) + corner(1, 0)
    return along * (bottom - top) + top


def interpolate_spline(
    train_points: Any,
    train_values: Any,
    query_points: Any,
    order: int,
    regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> Any:
    """Interpolates by polyharmonic splines; order 2 is a thin plate.

    Args:
      train_points: ``[batch, n, d]`` where values are known.
      train_values: ``[batch, n, k]`` values.
      query_points: ``[batch, m, d]`` where they are asked for.
      order: Of the spline.
      regularization_weight: Smooths; 0 interpolates exactly.
      name: Of the operation.

    Returns:
      ``[batch, m, k]``.

    Raises:
      ValueError: If d or k is not static.
    """
    with tf.name_scope(name):
        points, values, queries = (
            tf.convert_to_tensor(t) for t in (train_points, train_values, query_points)
        )
        for size, what in ((points, "input points (d)"), (values, "output values (k)")):
            if size.shape.as_list()[-1] is None:
                raise BadValueError(
                    "TPU103", f"The dimensionality of the {what} must be statically-inferrable."
                )
        count, dimensions = tf.shape(points)[1], points.shape.as_list()[-1]
        kernel = _radial(_squared_distances(points, points), order)
        if regularization_weight > 0:
            kernel += regularization_weight * tf.eye(count, dtype=points.dtype)[None]
        plane = tf.concat([points, tf.ones_like(points[..., :1])], 2)
        corner = tf.zeros([tf.shape(points)[0], dimensions + 1, dimensions + 1], points.dtype)
        upper = tf.concat([kernel, plane], 2)
        lower = tf.concat([tf.transpose(plane, [0, 2, 1]), corner], 2)
        shape = [tf.shape(points)[0], dimensions + 1, values.shape.as_list()[-1]]
        known = tf.concat([values, tf.zeros(shape, values.dtype)], 1)
        solved = tf.matrix_solve(tf.concat([upper, lower], 1), known)
        asked = _radial(_squared_distances(queries, points), order)
        linear = tf.concat([queries, tf.ones_like(queries[..., :1])], 2)
        return tf.matmul(asked, solved[:, :count]) + tf.matmul(linear, solved[:, count:])


def _squared_distances(x: Any, y: Any) -> Any:
    """Between all pairs: ``[batch, n, d]`` and ``[batch, m, d]`` to ``[batch, n, m]``."""
    products = tf.matmul(x, y, adjoint_b=True)
    if x is y:  # from the products themselves, so that a point is exactly 0 from itself
        norms = tf.matrix_diag_part(products)
        return norms[:, :, None] - 2 * products + norms[:, None, :]
    norms_x, norms_y = tf.reduce_sum(tf.square(x), 2), tf.reduce_sum(tf.square(y), 2)
    return norms_x[:, :, None] - 2 * products + norms_y[:, None, :]


def _radial(squared: Any, order: int) -> Any:
    """The radial basis function of squared distances."""
    positive = tf.maximum(squared, tf.constant(1e-10, squared.dtype))
    if order % 2:
        return tf.pow(positive, 0.5 * order)
    if order in (2, 4):  # where the distance itself may be zero
        return 0.5 * (squared if order == 2 else tf.square(squared)) * tf.log(positive)
    return 0.5 * tf.pow(positive, 0.5 * order) * tf.log(positive)


def sparse_image_warp(
    image: Any,
    source_control_point_locations: Any,
    dest_control_point_locations: Any,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[Any, Any]:
    """Warps images so that control points move to given places.

    Args:
      image: ``[batch, height, width, channels]``, all sizes static.
      source_control_point_locations: ``[batch, n, 2]`` (row, column) before.
      dest_control_point_locations: ``[batch, n, 2]`` after.
      interpolation_order: Of the spline between the points.
      regularization_weight: Of the spline.
      num_boundary_points: Points on each edge that are held in place; none by default.
      name: Of the operation.

    Returns:
      The warped images, and the flow ``[batch, height, width, 2]``.
    """
    image = tf.convert_to_tensor(image)
    targets = tf.convert_to_tensor(dest_control_point_locations)
    flows = targets - tf.convert_to_tensor(source_control_point_locations)
    with tf.name_scope(name):
        batch, height, width, _ = image.shape.as_list()
        grid = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), -1)
        if num_boundary_points > 0:
            edge = _boundary(height, width, num_boundary_points - 1)
            held = tf.constant(np.tile(edge[None], [batch, 1, 1]), targets.dtype)
            targets = tf.concat([targets, held], 1)
            flows = tf.concat([flows, tf.zeros_like(held)], 1)
        points = np.tile(grid.reshape(1, -1, 2), [batch, 1, 1])
        flow = interpolate_spline(
            targets,
            flows,
            tf.constant(points, image.dtype),
            interpolation_order,
            regularization_weight,
        )
        flow = tf.reshape(flow, [batch, height, width, 2])
        return dense_image_warp(image, flow), flow


def _boundary(height: int, width: int, points_per_edge: int) -> Any:
    """Points (row, column) on the edges of an image, corners included."""
    rows: Any
    columns: Any
    rows, columns = np.meshgrid(
        np.linspace(0, height - 1, points_per_edge + 2),
        np.linspace(0, width - 1, points_per_edge + 2),
        indexing="ij",
    )
    outside = (columns == 0) | (columns == width - 1) | (rows == 0) | (rows == height - 1)
    return np.stack([rows[outside], columns[outside]], axis=-1)
