"""The masks of weights: variables, the collections that hold them, and blocks of weights.

Four collections belong together, entry by entry: weights, masks of their shape (ones and zeros),
thresholds (the size below which a weight is masked), and the products of weights and masks.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.standins import tensors

MASK_COLLECTION = "masks"
THRESHOLD_COLLECTION = "thresholds"
MASKED_WEIGHT_COLLECTION = "masked_weights"
WEIGHT_COLLECTION = "kernel"
# Tools that quantize a graph look for the part "weights" of the name.
MASKED_WEIGHT_NAME = "weights/masked_weight"


def collect(weights: Any, mask: Any, threshold: Any, name: str = MASKED_WEIGHT_NAME) -> Any:
    """The product of weights and mask; all four are collected, once for each mask.

    Args:
      weights: Of any shape.
      mask: Of the same shape.
      threshold: A scalar variable.
      name: Of the product.

    Returns:
      A tensor of the weights' shape.
    """
    masked = tf.multiply(mask, weights, name)
    # A cell's weights are used at every step.
    if not any(mask is known for known in tf.get_collection(MASK_COLLECTION)):
        tf.add_to_collection(THRESHOLD_COLLECTION, threshold)
        tf.add_to_collection(MASK_COLLECTION, mask)
        tf.add_to_collection(MASKED_WEIGHT_COLLECTION, masked)
        tf.add_to_collection(WEIGHT_COLLECTION, weights)
    return masked


def apply_mask(x: Any, scope: Any = "") -> Any:
    """Weights times a mask of their own, the variable ``mask``; ``threshold`` is beside it.

    Args:
      x: The weights.
      scope: A name or variable scope for the two variables.

    Returns:
      The product, of the weights' shape.
    """
    mask = weight_mask_variable(x, scope)
    return collect(x, mask, weight_threshold_variable(x, scope))


def weight_mask_variable(var: Any, scope: Any) -> Any:
    """The variable ``mask`` of ones in a scope, of the shape of ``var``."""
    with tf.variable_scope(scope):
        return tf.get_variable(
            "mask",
            var.get_shape(),
            initializer=tf.ones_initializer(),
            trainable=False,
            dtype=var.dtype,
        )


def weight_threshold_variable(var: Any, scope: Any) -> Any:
    """The scalar variable ``threshold``, zero at first, in a scope."""
    with tf.variable_scope(scope):
        return tf.get_variable(
            "threshold", [], initializer=tf.zeros_initializer(), trainable=False, dtype=var.dtype
        )


def get_masked_weights() -> list[Any]:
    """The products of weights and masks in the graph."""
    return tf.get_collection(MASKED_WEIGHT_COLLECTION)


def get_masks() -> list[Any]:
    """The masks of the graph."""
    return tf.get_collection(MASK_COLLECTION)


def get_thresholds() -> list[Any]:
    """The thresholds of the graph."""
    return tf.get_collection(THRESHOLD_COLLECTION)


def get_weights() -> list[Any]:
    """The weights of the graph that have masks."""
    return tf.get_collection(WEIGHT_COLLECTION)


def get_weight_sparsity() -> list[Any]:
    """For each mask the part of it that is zero, as a scalar."""
    return [tf.nn.zero_fraction(mask) for mask in get_masks()]


# Blocks ----------------------------------------------------------------------------------------------


def kronecker_product(mat1: Any, mat2: Any) -> Any:
    """The Kronecker product of ``[m, n]`` and ``[p, q]``, which is ``[m * p, n * q]``."""
    rows, columns = mat1.get_shape().as_list()
    inner_rows, inner_columns = mat2.get_shape().as_list()
    product = tf.reshape(mat1, [rows, 1, columns, 1]) * tf.reshape(
        mat2, [1, inner_rows, 1, inner_columns]
    )
    return tf.reshape(product, [rows * inner_rows, columns * inner_columns])


def expand_tensor(tensor: Any, block_dims: Sequence[int]) -> Any:
    """Each element of a matrix as a block of equal elements.

    Args:
      tensor: ``[rows, columns]``.
      block_dims: Height and width of a block.

    Returns:
      ``[rows * height, columns * width]``.

    Raises:
      ValueError: If the tensor is not a matrix, or there are not two dimensions of blocks.
    """
    if tensor.get_shape().ndims != 2:
        raise BadValueError("TPU103", "Input tensor must be rank 2")
    if len(block_dims) != 2:
        raise BadValueError("TPU103", "block_dims must have 2 elements")
    for axis, times in enumerate(block_dims):
        if times > 1:
            tensor = tensors.repeat(tensor, times, axis)
    return tensor


def factorized_pool(
    input_tensor: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    strides: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Any:
    """Pools a matrix along its columns and then along its rows, which a TPU does well for wide windows.

    Args:
      input_tensor: ``[height, width]``.
      window_shape: Height and width of a window.
      pooling_type: "MAX" or "AVG".
      strides: Between windows.
      padding: "SAME" or "VALID".
      name: Of the name scope.

    Returns:
      A matrix with one element for each window.

    Raises:
      ValueError: If the input is not a matrix.
    """
    if input_tensor.get_shape().ndims != 2:
        raise BadValueError("TPU103", "factorized_pool() accepts tensors of rank 2 only")
    with tf.name_scope(name, "factorized_pool"):
        pooled = input_tensor[tf.newaxis, tf.newaxis]
        for window, stride in zip(window_shape, strides):
            pooled = tf.nn.pool(
                pooled,
                window_shape=[1, window],
                pooling_type=pooling_type,
                strides=[1, stride],
                padding=padding,
            )
            pooled = tf.transpose(pooled, [0, 1, 3, 2])
        return tf.squeeze(pooled, [0, 1])


# Assignments -----------------------------------------------------------------------------------------


def determine_partitioned_axis(partitioned_variable: Any) -> int:
    """The axis along which a partitioned variable is cut.

    Raises:
      ValueError: If there is not one.
    """
    whole = partitioned_variable.get_shape()
    axis = 0
    for part in partitioned_variable:
        cut = np.less(part.get_shape().as_list(), whole)
        if np.count_nonzero(cut) != 1:
            raise BadValueError(
                "TPU103",
                f"Number of partitioned axes {np.count_nonzero(cut)} not equal to 1",
            )
        axis = int(np.flatnonzero(cut)[0])
    return axis


def variable_assign(var: Any, new_value: Any) -> Any:
    """Sets a variable."""
    return tf.assign(var, new_value, name=var.op.name + "_assign")


def partitioned_variable_assign(partitioned_var: Any, new_value: Any) -> Any:
    """Sets the parts of a partitioned variable; an operation."""
    parts = list(partitioned_var)
    axis = 0 if len(parts) == 1 else determine_partitioned_axis(partitioned_var)
    sizes = [part.get_shape().as_list()[axis] for part in parts]
    values = tf.split(new_value, sizes, axis=axis)
    assignments = [variable_assign(part, value) for part, value in zip(parts, values)]
    return tf.group(*assignments, name=partitioned_var.name + "_group_assign")
