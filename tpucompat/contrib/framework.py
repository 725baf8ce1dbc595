"""``tf.contrib.framework``: shape checks and helpers that neither TensorFlow nor tf-slim kept.

Behaviour follows tensorflow/contrib/framework/python of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError


def with_shape(expected_shape: Any, tensor: Any) -> Any:
    """A tensor checked against a shape: at once where both are static, else when it is computed.

    Args:
      expected_shape: A TensorShape, a sequence of integers or an int32 vector; unknown sizes fit
        any.
      tensor: A dense tensor. One of shape [1] fits the expected shape [], to which it is reshaped.

    Returns:
      The tensor, with its static shape set where the expected one is static.

    Raises:
      ValueError: For a SparseTensor, an expected shape that is not a shape, or static shapes that differ.
    """
    if isinstance(tensor, tf.SparseTensor):
        raise BadValueError("TPU103", "SparseTensor not supported.")
    if not tf.is_tensor(expected_shape):
        return _with_static_shape(_static_shape(expected_shape, tensor), tensor)
    if expected_shape.dtype.base_dtype != tf.int32:
        raise BadValueError(
            "TPU103",
            f"Invalid dtype {expected_shape.dtype} for shape {expected_shape} expected of tensor "
            f"{tensor.name}.",
        )
    return _checked(expected_shape, tensor)


def _static_shape(expected_shape: Any, tensor: Any) -> Any:
    """The expected shape as a TensorShape."""
    if isinstance(expected_shape, tf.TensorShape):
        return expected_shape
    array = np.asarray(expected_shape if len(expected_shape) else np.zeros([0], np.int32))
    problem = f"rank {array.ndim}" if array.ndim > 1 else ""
    if not problem and array.dtype not in (np.int32, np.int64):
        problem = f"dtype {array.dtype}"
    if problem:
        raise BadValueError(
            "TPU103",
            f"Invalid {problem} for shape {expected_shape} expected of tensor {tensor.name}.",
        )
    return tf.TensorShape([int(size) if size >= 0 else None for size in array])


def _with_static_shape(expected: Any, tensor: Any) -> Any:
    if not tensor.shape.is_fully_defined():
        if expected.rank == 0:
            return tf.reshape(tensor, [])
        sizes = [-1 if size is None else size for size in expected.as_list()]
        tensor = _checked(tf.constant(sizes, tf.int32), tensor)
        tensor.set_shape(expected)
        return tensor
    if tensor.shape.is_compatible_with(expected):
        return tensor
    if expected.rank == 0 and tensor.shape.is_compatible_with([1]):
        return tf.reshape(tensor, [])
    raise BadValueError(
        "TPU103",
        f"Invalid shape for tensor {tensor.name}, expected {expected}, got {tensor.shape}.",
    )


def _checked(expected: Any, tensor: Any) -> Any:
    """The tensor behind an assertion; -1 in ``expected`` fits any size."""
    actual = tf.shape(tensor)
    said = [f"Wrong shape for {tensor.name} [expected] [actual].", expected, actual]
    with tf.control_dependencies([tf.Assert(tf.equal(tf.size(expected), tf.rank(tensor)), said)]):
        fits = tf.logical_or(tf.equal(expected, -1), tf.equal(expected, actual))
    with tf.control_dependencies([tf.Assert(tf.reduce_all(fits), said)]):
        return tf.identity(tensor)


def with_same_shape(expected_tensor: Any, tensor: Any) -> Any:
    """A tensor checked against the shape of another.

    Args:
      expected_tensor: The other.
      tensor: The tensor.

    Returns:
      ``tensor`` as :func:`with_shape` returns it.

    Raises:
      ValueError: If their static shapes differ.
    """
    shape = expected_tensor.shape
    return with_shape(
        shape.as_list() if shape.is_fully_defined() else tf.shape(expected_tensor), tensor
    )


def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Any:
    """Initializes a variable with zeros.

    Args:
      ref: The variable.
      use_locking: Whether the assignment is locked; resource variables always are.
      name: Of the operation.

    Returns:
      The variable's value then. To run it is an ``InvalidArgumentError`` where the variable has one.
    """
    unset = tf.logical_not(tf.is_variable_initialized(ref))
    with tf.control_dependencies([tf.Assert(unset, ["input is already initialized"])]):
        zeros = tf.zeros(ref.shape, ref.dtype.base_dtype)
    return tf.convert_to_tensor(tf.assign(ref, zeros, use_locking=use_locking, name=name))


def assign_from_checkpoint(
    model_path: Any, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Any, dict[Any, Any]]:
    """An operation that gives variables their values in a checkpoint, and what it is to be fed.

    As ``tensorflow/contrib/framework/python/ops/variables.py`` in 1.15; tf-slim's own takes no parts of a
    partitioned variable, because NumPy 1.23 and later require slices in a tuple.

    Args:
      model_path: The checkpoint.
      var_list: Variables, or name in the checkpoint -> variable, or a list of variables each of which is
        the whole or a part of it.
      ignore_missing_vars: Whether names that the checkpoint lacks are said only.

    Returns:
      The operation and its ``feed_dict``.

    Raises:
      ValueError: If the checkpoint lacks a name, or has another shape.
    """
    names = var_list
    if not isinstance(var_list, dict):
        names = {}
        for variable in var_list:
            names.setdefault(_name_in_checkpoint(variable), []).append(variable)
    reader = tf.train.NewCheckpointReader(model_path)
    assignments, feeds = [], {}
    for name, variables in names.items():
        if not reader.has_tensor(name):
            problem = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise BadValueError("TPU103", problem)
            tf.logging.warning(problem)
            continue
        value = reader.get_tensor(name)
        for variable in variables if isinstance(variables, (list, tuple)) else [variables]:
            part = _part_of(variable, value)
            if list(part.shape) != variable.shape.as_list():
                raise BadValueError(
                    "TPU103",
                    "Total size of new array must be unchanged for "
                    f"{name} lh_shape: [{part.shape}], rh_shape: [{variable.shape}]",
                )
            given = tf.placeholder(
                variable.dtype.base_dtype, variable.shape, "placeholder/" + variable.op.name
            )
            assignments.append(variable.assign(given))
            feeds[given] = part
    return tf.group(*assignments), feeds


def _name_in_checkpoint(variable: Any) -> str:
    info = variable._save_slice_info
    return str(info.full_name if info else variable.op.name)


def _part_of(variable: Any, value: Any) -> Any:
    """What belongs to a part of a partitioned variable, from the value of the whole."""
    info = variable._save_slice_info
    if not info:
        return value
    parts = zip(info.var_offset, info.var_shape)
    return value[tuple(slice(start, start + size) for start, size in parts)]
