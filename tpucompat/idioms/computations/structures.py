"""What goes into a TPU computation and what comes out of it: checks, shards, padding, nested structures.

Checks and forms follow ``tensorflow/python/tpu/tpu.py`` of TensorFlow 1.15.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, NamedTuple, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError

Computation = Callable[..., Any]


def check_inputs(
    computation: Computation,
    inputs: Sequence[Sequence[Any]],
    flat: Sequence[Sequence[Any]],
    infeed_queue: Any,
) -> None:
    """TensorFlow 1.15's checks of what the replicas are given."""
    arity = len(inputs[0])
    types = [tensor.dtype for tensor in flat[0]]
    for replica, (one, tensors) in enumerate(zip(inputs, flat)):
        if len(one) != arity:
            raise BadValueError(
                "TPU345",
                f"Replicas must have the same number of inputs. Replica 0 had {arity} inputs, "
                f"replica {replica} had "
                f"{len(one)} inputs.",
            )
        if [tensor.dtype for tensor in tensors] != types:
            raise BadValueError(
                "TPU345",
                f"Replicas must have matching input types. Replica 0 had input types {types}, "
                f"replica {replica} had "
                f"input types {[tensor.dtype for tensor in tensors]}",
            )
    from_queue = 0 if infeed_queue is None else infeed_queue.number_of_tuple_elements
    wanted = _argument_error(computation, arity + from_queue)
    if wanted:
        raise BadTypeError(
            "TPU346",
            "Supplied computation cannot be called with the specified inputs. You specified {} "
            "inputs: "
            "{}{}, but the computation needs {}".format(
                arity,
                [getattr(value, "name", value) for value in inputs[0]],
                f" and {from_queue} additional inputs from infeed" if from_queue else "",
                wanted,
            ),
        )


def _argument_error(function: Callable[..., Any], supplied: int) -> str:
    """What number of arguments a function wants, if it cannot be called with those supplied."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # builtins tell nothing of themselves
        return ""
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    most = len(positional)
    least = sum(p.default is p.empty for p in positional)
    if least <= supplied and (variadic or supplied <= most):
        return ""
    if least == most and not variadic:
        return "exactly {} argument{}".format(most, "" if most == 1 else "s")
    if supplied < least:
        return "at least {} argument{}".format(least, "" if least == 1 else "s")
    return "at most {} argument{}".format(most, "" if most == 1 else "s")


def common_shape(tensors: Sequence[Any]) -> Any:
    """The static shape that all of the tensors have."""
    shape = tensors[0].shape
    for tensor in tensors[1:]:
        other = tensor.shape
        if shape.ndims is None or shape.ndims != other.ndims:
            return tf.TensorShape(None)
        pairs = zip(shape.as_list(), other.as_list())
        shape = tf.TensorShape([a if a == b else None for a, b in pairs])
    return shape


def pad_to_shape(flat: Sequence[Sequence[Any]], shapes: Sequence[Any]) -> list[list[Any]]:
    """Pads inputs whose sizes differ between the replicas, with zeros at the end of each
    dimension."""
    columns = [_pad_input(column, shape) for column, shape in zip(zip(*flat), shapes)]
    return [list(row) for row in zip(*columns)]


def _pad_input(tensors: Sequence[Any], wanted: Any) -> list[Any]:
    static = [tensor.shape.as_list() for tensor in tensors]
    uneven = [len(set(sizes)) > 1 or None in sizes for sizes in zip(*static)]
    if not any(uneven):
        return list(tensors)
    sizes = [tf.shape(tensor) for tensor in tensors]
    largest = tf.reduce_max(tf.stack(sizes), axis=0)
    padded = []
    for tensor, size in zip(tensors, sizes):
        amounts = [
            [0, (wanted.as_list()[axis] or largest[axis]) - size[axis] if pad else 0]
            for axis, pad in enumerate(uneven)
        ]
        result = tf.pad(tensor, amounts)
        result.set_shape(
            [
                full if pad else one
                for pad, full, one in zip(uneven, wanted.as_list(), tensor.shape.as_list())
            ]
        )
        padded.append(result)
    return padded


def split_inputs(tensor: Any, num_shards: int, axis: int) -> list[Any]:
    """The pieces of an input for the shards."""
    rank = tensor.shape.ndims
    if rank is not None and -rank <= axis < rank:
        size = tensor.shape.as_list()[axis]
        if size is not None and size % num_shards:
            raise BadValueError(
                "TPU347",
                f"Dimension size must be evenly divisible by {num_shards} but is {size} (axis "
                f"{axis} of the input {tensor.name!r} with "
                f"shape {tensor.shape}).",
            )
    return list(tf.split(tensor, num_shards, axis=axis))


class _Returned(NamedTuple):
    """What a computation returned: its tensors, and the structure if it is a nested one."""

    tensors: list[Any]
    structure: Any

    def put_together(self, tensors: Sequence[Any]) -> Any:
        """The same structure with other tensors; a flat one becomes a list, as in TensorFlow
        1.15."""
        if self.structure is None:
            return list(tensors)
        return tf.nest.pack_sequence_as(self.structure, tensors)


def take_apart(result: Any) -> _Returned:
    """The tensors in what a computation returned.

    Raises:
      ValueError: If there is something else in it, or an operation before a tensor (TPU348).
    """
    nested = isinstance(result, dict) or (
        isinstance(result, (list, tuple))
        and any(isinstance(one, (list, tuple, dict)) for one in result)
    )
    values = tf.nest.flatten(result) if nested else _flat(result)
    tensors = []
    operation = None
    for value in values:
        if isinstance(value, tf.Operation):
            operation = value
            continue
        if operation is not None and not nested:
            raise BadValueError(
                "TPU348",
                "TPU functions must return zero-or more Tensor values followed by zero or more "
                "Operations.",
            )
        tensors.append(_as_tensor(value))
    if nested and operation is not None:
        raise BadValueError(
            "TPU348",
            "tpu.rewrite does not support Operation as return value in non-flat output structure. "
            "You can "
            "set returned Operations as control dependencies of returned Tensors so Operations are "
            f'triggered when Tensors are evaluated. Operation found: "{operation.name}"',
        )
    return _Returned(tensors, result if nested else None)


def _flat(result: Any) -> list[Any]:
    if result is None:
        return []
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _as_tensor(value: Any) -> Any:
    try:
        return tf.convert_to_tensor(value)
    except Exception as error:
        raise BadValueError(
            "TPU348",
            "TPU function return values must all either be Operations or convertible to Tensors. "
            f"Got {value!r}: {error}",
        ) from error


def join_outputs(
    outputs: Sequence[Sequence[Any]],
    axes: Sequence[int] | None,
    from_all: bool | Sequence[bool],
) -> list[Any]:
    """Puts the outputs of the shards together."""
    count = len(outputs[0])
    axes = [0] * count if axes is None else axes
    if count != len(axes):
        raise BadValueError(
            "TPU347", "Length of output_shard_axes must be equal to the number of outputs."
        )
    chosen = [from_all] * count if isinstance(from_all, bool) else from_all
    if count != len(chosen):
        raise BadValueError(
            "TPU347", "Length of outputs_from_all_shards must be equal to the number of outputs."
        )
    results = []
    for axis, all_shards, column in zip(axes, chosen, zip(*outputs)):
        if not all_shards:
            results.append(column[0])
        elif column[0].shape.ndims == 0:
            results.append(tf.stack(list(column)))
        else:
            results.append(tf.concat(list(column), axis=axis))
    return results
