"""``tf.contrib.framework``: shape checks and helpers that neither TensorFlow nor tf-slim kept.

Behaviour follows tensorflow/contrib/framework/python of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.errors import BadTypeError, BadValueError
from tpucompat.legacy import python_functions
from tpucompat.legacy.contrib import nest


def with_shape(expected_shape: Any, tensor: Any) -> Any:
    """A tensor checked against a shape: at once where both are static, else when it is computed.

    Args:
      expected_shape: A TensorShape, a sequence of integers or an int32 vector; unknown sizes fit
        any.
      tensor: A dense tensor. One of shape [1] fits the expected shape [], to which it is reshaped.

    Returns:
      The tensor, with its static shape set where the expected one is static.

    Raises:
      ValueError: For a SparseTensor, an expected shape that is none, or static shapes that differ.
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


def remove_squeezable_dimensions(
    predictions: Any, labels: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Squeezes the last dimension of the one whose rank is one more than the other's.

    Args:
      predictions: Values.
      labels: What they should have been.
      name: Of the operation.

    Returns:
      The predictions and the labels (``tf.confusion_matrix``'s helper has them the other way
      round).
    """
    with tf.name_scope(name, "remove_squeezable_dimensions", [predictions, labels]):
        predictions, labels = tf.convert_to_tensor(predictions), tf.convert_to_tensor(labels)
        if predictions.shape.rank is not None and labels.shape.rank is not None:
            difference = predictions.shape.rank - labels.shape.rank
            if difference == 1:
                predictions = tf.squeeze(predictions, [-1])
            elif difference == -1:
                labels = tf.squeeze(labels, [-1])
            return predictions, labels
        more = tf.rank(predictions) - tf.rank(labels)
        return _squeezed_if(tf.equal(more, 1), predictions), _squeezed_if(
            tf.equal(more, -1), labels
        )


def _squeezed_if(condition: Any, tensor: Any) -> Any:
    shape = tensor.shape
    if shape.rank is not None and not (shape.rank and shape[-1:].is_compatible_with([1])):
        return tensor
    return tf.cond(condition, lambda: tf.squeeze(tensor, [-1]), lambda: tensor)


def reduce_sum_n(tensors: Sequence[Any], name: str | None = None) -> Any:
    """The sum of all elements of all tensors.

    Args:
      tensors: Tensors of one type and any shapes.
      name: Of the operation.

    Returns:
      A scalar.

    Raises:
      ValueError: If there are none.
    """
    if not tensors:
        raise BadValueError("TPU103", "No tensors provided.")
    with tf.name_scope(name, "reduce_sum_n", tensors):
        return tf.add_n([tf.reduce_sum(tensor) for tensor in tensors])


def assert_scalar_int(tensor: Any, name: str | None = None) -> Any:
    """Checks for a scalar of an integer type.

    Args:
      tensor: The tensor.
      name: Of the operation.

    Returns:
      The tensor.

    Raises:
      ValueError: If it is none.
    """
    tensor = tf.convert_to_tensor(tensor)
    if not tensor.dtype.base_dtype.is_integer:
        raise BadValueError(
            "TPU103",
            f"Expected integer type for {tensor.name}, received type: {tensor.dtype}.",
        )
    return tf.debugging.assert_scalar(tensor, name=name)


def print_op(
    input_: Any,
    data: Sequence[Any] | None = None,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int = 20,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_shape: bool = True,
    summarize_indicator_vector: bool = True,
    name: str | None = None,
) -> Any:
    """``contrib.framework.python.ops.prettyprint_ops.print_op``: prints what it gives back, with its kind.

    Args:
      input_: A tensor, variable, SparseTensor or TensorArray.
      data: More of them, printed too.
      message: Printed before all.
      first_n: How often it prints; always if None.
      summarize: How many elements of each.
      print_tensor_name: Whether names are printed.
      print_tensor_type: Whether kinds and dtypes are.
      print_shape: Whether shapes are; of a TensorArray, its size.
      summarize_indicator_vector: Whether the place of the first True of a bool tensor is.
      name: Of the operation.

    Returns:
      The input.

    Raises:
      ValueError: The input, or one of ``data``, is none of these.
    """
    kinds = {
        "Tensor": tf.Tensor,
        "SparseTensor": tf.SparseTensor,
        "TensorArray": tf.TensorArray,
        "Variable": tf.Variable,
    }
    if not all(isinstance(each, tuple(kinds.values())) for each in [input_, *(data or ())]):
        raise BadValueError("TPU103", "input_ must be of type Tensor, SparseTensor or TensorArray")
    said: list[Any] = []
    for each in [input_, *(data or ())]:
        sparse, array = isinstance(each, tf.SparseTensor), isinstance(each, tf.TensorArray)
        dense = isinstance(each, tf.Tensor)
        if print_tensor_name and dense:
            said.append("Name: " + each.name)
        if print_tensor_type:
            kind = next(name for name, kind in kinds.items() if isinstance(each, kind))
            said.append(f"Type: {kind} ({each.dtype.name})")
        if print_shape and sparse:
            said += ["Shape:", each.dense_shape]
        elif print_shape and dense:
            said.append(f"Shape: {each.shape.as_list() if each.shape.rank is not None else None}")
        elif print_shape and array:
            said += ["Size:", each.size()]
        if summarize_indicator_vector and each.dtype == tf.bool:
            said += ["First True in Boolean tensor at:", tf.argmax(tf.cast(each, tf.uint8), 0)]
        if sparse:
            said += ["Sparse indices:", each.indices, "Sparse values:", each.values]
        elif dense or array:
            said += ["Value:", each if dense else each.stack()]
    printed = [tf.convert_to_tensor(each) for each in said]
    whole = isinstance(input_, (tf.Tensor, tf.Variable))
    shown = tf.Print(
        input_ if whole else tf.constant([]), printed, message or "", first_n, summarize, name
    )
    if whole:
        return shown
    with tf.control_dependencies([shown]):
        if isinstance(input_, tf.SparseTensor):
            parts = (input_.indices, input_.values, input_.dense_shape)
            return tf.SparseTensor(*(tf.identity(part) for part in parts))
        flow = tf.identity(input_.flow)
        return tf.TensorArray(dtype=input_.dtype, handle=input_.handle, flow=flow)


def get_placeholders(graph: Any) -> list[Any]:
    """The outputs of all placeholders of a graph.

    Args:
      graph: A ``tf.Graph``.

    Returns:
      The tensors, in the order of the graph.

    Raises:
      TypeError: If ``graph`` is none.
    """
    if not isinstance(graph, tf.Graph):
        raise BadTypeError("TPU103", f"Input graph needs to be a Graph: {graph}")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


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
    partitioned variable, because NumPy from 1.23 on wants slices in a tuple.

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


def py_func(
    func: Callable[..., Any],
    args: Any = (),
    kwargs: Any = None,
    output_types: Any = None,
    output_shapes: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """``tf.py_func`` for structures of arguments and results.

    Args:
      func: Gets arrays in the structure of ``args`` and ``kwargs``.
      args: A list or tuple of structures of tensors.
      kwargs: A dictionary of structures of tensors.
      output_types: The structure of types of what ``func`` returns, or a function of the arguments
        that returns it.
      output_shapes: Likewise, the shapes.
      stateful: Whether results may differ from call to call.
      name: Of the operation.

    Returns:
      Tensors in the structure of ``output_types``.

    Raises:
      TypeError: If ``args`` is no sequence or ``kwargs`` no dictionary.
    """
    kwargs = {} if kwargs is None else kwargs
    if not isinstance(args, (list, tuple)):
        raise BadTypeError("TPU103", f"args must be list and not {type(args)}. args: {args}")
    if not isinstance(kwargs, dict):
        raise BadTypeError("TPU103", f"kwargs must be dict and not {type(kwargs)}. args: {kwargs}")
    types = output_types(*args, **kwargs) if callable(output_types) else output_types
    shapes = output_shapes(*args, **kwargs) if callable(output_shapes) else output_shapes
    given = (args, kwargs)

    def flat_func(*values: Any) -> Any:
        args, kwargs = nest.pack_sequence_as(given, values)
        result = func(*args, **kwargs)
        nest.assert_shallow_structure(types, result)
        return nest.flatten(result)

    results = python_functions.py_func(
        flat_func, nest.flatten(given), nest.flatten(types), stateful=stateful, name=name
    )
    if shapes is not None:
        shapes = nest.flatten_up_to(types, shapes)
        for result, shape in zip(results, shapes):
            result.set_shape(shape)
    return nest.pack_sequence_as(types, results)


def load_linear_multiclass_bias_initializer(
    ckpt_path: Any,
    bias_tensor_name: str,
    new_class_vocab_size: int,
    old_class_vocab_file: str,
    new_class_vocab_file: str,
    num_class_oov_buckets: int = 0,
    initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> Any:
    """An initializer that loads a bias from a checkpoint and maps its classes to a new vocabulary.

    Args:
      ckpt_path: The checkpoint.
      bias_tensor_name: The bias in it.
      new_class_vocab_size: Classes now.
      old_class_vocab_file: Names of the classes in the checkpoint, one a line.
      new_class_vocab_file: Names of the classes now.
      num_class_oov_buckets: Classes beyond the vocabulary.
      initializer: For classes that the checkpoint has not; zeros by default.
      max_rows_in_memory: Rows read at a time; all by default.

    Returns:
      An initializer for a ``[classes, 1]`` variable.
    """
    from tpucompat import private

    return private.load_and_remap_matrix_initializer()(
        ckpt_path=ckpt_path,
        old_tensor_name=bias_tensor_name,
        new_row_vocab_size=new_class_vocab_size,
        new_col_vocab_size=1,
        old_row_vocab_file=old_class_vocab_file,
        new_row_vocab_file=new_class_vocab_file,
        num_row_oov_buckets=num_class_oov_buckets,
        initializer=initializer or tf.zeros_initializer(),
        max_rows_in_memory=max_rows_in_memory,
    )


def load_variable_slot_initializer(
    ckpt_path: Any,
    old_tensor_name: str,
    primary_partition_info: Any,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    **options: Any,
) -> Any:
    """An initializer for an optimizer's slot, remapped as the variable that it belongs to.

    Args:
      ckpt_path: The checkpoint.
      old_tensor_name: The slot in it.
      primary_partition_info: The partition of the variable.
      new_row_vocab_size: Rows now.
      new_col_vocab_size: Columns now.
      **options: More arguments of ``load_and_remap_matrix_initializer``.

    Returns:
      An initializer.
    """
    from tpucompat import private

    load = private.load_and_remap_matrix_initializer()(
        ckpt_path, old_tensor_name, new_row_vocab_size, new_col_vocab_size, **options
    )

    def initializer(shape: Any, dtype: Any = tf.float32, partition_info: Any = None) -> Any:
        del partition_info  # the slot's own says nothing: the variable's counts
        return load(shape, dtype, partition_info=primary_partition_info)

    return initializer
