"""``batch_parallel``, ``shard``, ``replicate``, ``rewrite``: TPU computations built by hand.

Arguments, checks and the form of what is returned follow ``tensorflow/python/tpu/tpu.py`` of
TensorFlow 1.15; the computation runs in the script's own graph and Session
(:mod:`tpucompat.engines.in_graph`).
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base import journal, package
from tpucompat.base.errors import BadTypeError, BadValueError
from tpucompat.engines import in_graph, observer, operation_seeds, references
from tpucompat.idioms.computations import cross_shard
from tpucompat.idioms.startup import tpu_system

Computation = Callable[..., Any]


def rewrite(
    computation: Computation,
    inputs: Sequence[Any] | None = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
) -> Any:
    """Builds a computation for one core.

    Args:
      computation: Builds the computation from ``inputs``.
      inputs: A list of values or nested structures of values; None for no inputs.
      infeed_queue: An ``InfeedQueue`` whose elements are further arguments of ``computation``.
      device_assignment: A ``DeviceAssignment``; says whose infeed and outfeed are used.
      name: Ignored, as in TensorFlow 1.15.

    Returns:
      The structure that ``computation`` returns, of tensors; a list with the tensor for a single
      one; an operation where it returns None or operations only. Fetching any of it runs all
      operations with side effects that ``computation`` made.

    Raises:
      TypeError: If ``computation`` does not take that number of inputs (TPU346).
      ValueError: If it returns something that is not a tensor (TPU348).
      NotImplementedError: If it uses a reference variable (TPU343).
    """
    return replicate(
        computation,
        None if inputs is None else [inputs],
        infeed_queue=infeed_queue,
        device_assignment=device_assignment,
        name=name,
    )[0]


def replicate(
    computation: Computation,
    inputs: list[Any] | None = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
    maximum_shapes: Any = None,
) -> list[Any]:
    """Builds a computation for several cores with inputs of their own.

    Args:
      computation: Builds the computation of one replica; it is called once.
      inputs: ``inputs[replica][index]``; each a value or a nested structure of values.
      infeed_queue: An ``InfeedQueue`` whose elements are further arguments of ``computation``.
      device_assignment: A ``DeviceAssignment``; says whose infeed and outfeed are used.
      name: Ignored, as in TensorFlow 1.15.
      maximum_shapes: A structure like ``inputs[0]`` of shapes to which inputs of different size are
        padded; an unknown dimension stands for the largest among the replicas.

    Returns:
      For each replica what :func:`rewrite` returns.

    Raises:
      TypeError, ValueError, NotImplementedError: As :func:`rewrite`; and if the replicas' inputs
      differ in
        number, type or structure (TPU345).
    """
    outputs: list[Any] = split_compile_and_replicate(
        computation, inputs, infeed_queue, device_assignment, name, maximum_shapes=maximum_shapes
    )[1]
    return outputs


def split_compile_and_replicate(
    computation: Computation,
    inputs: list[Any] | None = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
    use_tpu: bool = True,
    maximum_shapes: Any = None,
) -> Any:
    """Like :func:`replicate`, with the result of the compilation as a tensor of its own.

    Args:
      computation: As in :func:`replicate`, like the arguments that follow.
      inputs: See there.
      infeed_queue: See there.
      device_assignment: See there.
      name: Ignored.
      use_tpu: Whether the TPU has to be initialized before the computation runs.
      maximum_shapes: See there.

    Returns:
      (compilation result, outputs). Nothing is compiled ahead; the result is a string tensor that
      says so with an empty ``CompilationResultProto``, which means success.
    """
    del name
    return _compile_and_replicate(
        computation, inputs, infeed_queue, device_assignment, use_tpu, maximum_shapes
    )


def _compile_and_replicate(
    computation: Computation,
    inputs: list[Any] | None,
    infeed_queue: Any,
    device_assignment: Any,
    use_tpu: bool = True,
    maximum_shapes: Any = None,
    whole: in_graph.Whole | None = None,
) -> Any:
    """:func:`split_compile_and_replicate`; there is one row of outputs, those of the whole batch,
    where ``whole`` can be computed as one."""
    inputs = [[]] if inputs is None else inputs
    if not isinstance(inputs, list) or any(not isinstance(one, (list, tuple)) for one in inputs):
        raise BadTypeError("TPU345", "tpu.replicate() inputs must be a list of lists/tuples")
    if not inputs:
        return []
    for other in inputs[1:]:
        tf.nest.assert_same_structure(inputs[0], other)
    flat = [[tf.convert_to_tensor(value) for value in tf.nest.flatten(one)] for one in inputs]
    _check_inputs(computation, inputs, flat, infeed_queue)
    structure, padded = inputs[0], len(flat[0])
    if maximum_shapes:
        if infeed_queue:
            raise BadValueError(
                "TPU345", "Dynamic input shapes are not supported with infeed queues"
            )
        tf.nest.assert_same_structure(structure, maximum_shapes, check_types=False)
        flat = _pad(flat, [tf.TensorShape(shape) for shape in tf.nest.flatten(maximum_shapes)])

    num_replicas = len(inputs)
    returned: list[_Returned] = []

    def build(*values: Any) -> list[Any]:
        with cross_shard.tpu_shard_context(num_replicas):
            arguments = tf.nest.pack_sequence_as(structure, list(values)[:padded])
            arguments = list(arguments)
            if infeed_queue is not None:
                infeed_queue.set_number_of_shards(num_replicas)
                arguments.extend(infeed_queue.generate_dequeue_op())
            with variable_rules(), observer.tracing("computation of tf.contrib.tpu"):
                result = computation(*arguments)
            returned.append(_take_apart(result))
            return returned[0].tensors

    specs = [(column[0].dtype, _common_shape(column)) for column in zip(*flat)]
    traced = in_graph.trace(build, specs, "cluster")
    if returned[0].structure is not None:
        whole = None
    # Written out for all shards or called on the cores: what comes after starts alike.
    with operation_seeds.uncounted():
        ready = tpu_system.check() if use_tpu else tf.constant(True)
        core_of = _core_of(device_assignment)
        replicated = in_graph.replicate(traced, flat, ready, core_of, whole)
        compiled = tf.constant(b"", name="TPUCompilationResult")
        if returned[0].tensors:
            return [compiled, [returned[0].put_together(each) for each in replicated.outputs]]
        if not replicated.effects:
            _notice_nothing(computation)
        with tf.control_dependencies([replicated.executed]):
            return [compiled, [tf.no_op(f"shard_{i}") for i in range(num_replicas)]]


def shard(
    computation: Computation,
    inputs: list[Any] | None = None,
    num_shards: int = 1,
    input_shard_axes: Sequence[int] | None = None,
    outputs_from_all_shards: bool | Sequence[bool] = True,
    output_shard_axes: Sequence[int] | None = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
) -> list[Any]:
    """Splits inputs into shards, runs a computation on each, and puts the outputs together.

    Args:
      computation: Builds the computation of one shard; it is called once.
      inputs: A list of tensors of rank 1 or more, or None.
      num_shards: How many shards; more than there are cores is fine.
      input_shard_axes: For each input the axis along which it is split; None stands for axis 0. The
        size of the axis has to be a multiple of ``num_shards``.
      outputs_from_all_shards: For each output, or for all, whether the outputs of all shards are
        put together; otherwise shard 0's is returned.
      output_shard_axes: For each output the axis along which it is concatenated; None stands for
        axis 0. Scalars are stacked to a vector of ``num_shards`` elements.
      infeed_queue: An ``InfeedQueue`` whose elements are further arguments of ``computation``.
      device_assignment: A ``DeviceAssignment``; says whose infeed and outfeed are used.
      name: Ignored, as in TensorFlow 1.15.

    Returns:
      A list of tensors; a list with an operation where the computation has no outputs.

    Raises:
      ValueError: If ``num_shards`` is not positive, or the lists of axes do not fit (TPU347).
      TypeError, NotImplementedError: As :func:`replicate`.
    """
    return split_compile_and_shard(
        computation,
        inputs,
        num_shards,
        input_shard_axes,
        outputs_from_all_shards,
        output_shard_axes,
        infeed_queue,
        device_assignment,
        name,
    )[1]


def split_compile_and_shard(
    computation: Computation,
    inputs: list[Any] | None = None,
    num_shards: int = 1,
    input_shard_axes: Sequence[int] | None = None,
    outputs_from_all_shards: bool | Sequence[bool] = True,
    output_shard_axes: Sequence[int] | None = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
) -> tuple[Any, list[Any]]:
    """Like :func:`shard`, with the result of the compilation as a tensor of its own.

    Args:
      computation: As in :func:`shard`, like all other arguments.
      inputs: See there.
      num_shards: See there.
      input_shard_axes: See there.
      outputs_from_all_shards: See there.
      output_shard_axes: See there.
      infeed_queue: See there.
      device_assignment: See there.
      name: Ignored.

    Returns:
      (compilation result, list of outputs).
    """
    if num_shards <= 0:
        raise BadValueError("TPU347", "num_shards must be a positive integer.")
    inputs = [] if inputs is None else inputs
    if not isinstance(inputs, list):
        raise BadTypeError("TPU347", "tpu.shard()'s inputs must be a list of Tensors or None.")
    tensors = [tf.convert_to_tensor(value) for value in inputs]
    axes = [0] * len(tensors) if input_shard_axes is None else input_shard_axes
    if len(tensors) != len(axes):
        raise BadValueError(
            "TPU347", "Length of input_shard_axes must be equal to the number of inputs."
        )
    columns = [_split(tensor, num_shards, axis) for tensor, axis in zip(tensors, axes)]
    shards = [list(row) for row in zip(*columns)] if columns else [[] for _ in range(num_shards)]
    # Where the shards are computed as one batch, nobody takes the pieces, and none is cut.
    all_shards = isinstance(outputs_from_all_shards, bool) and outputs_from_all_shards
    whole = in_graph.Whole(tensors, axes, output_shard_axes) if all_shards and tensors else None
    compiled, outputs = _compile_and_replicate(
        computation, shards, infeed_queue, device_assignment, whole=whole
    )
    if isinstance(outputs[0], tf.Operation):
        return compiled, [outputs[0]]
    if len(outputs) < num_shards:
        return compiled, list(outputs[0])
    with operation_seeds.uncounted():
        return compiled, _join(outputs, output_shard_axes, outputs_from_all_shards)


def batch_parallel(
    computation: Computation,
    inputs: list[Any] | None = None,
    num_shards: int = 1,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
) -> list[Any]:
    """:func:`shard` along axis 0 of all inputs and outputs.

    Args:
      computation: Builds the computation of one shard; it is called once.
      inputs: A list of tensors of rank 1 or more, or None.
      num_shards: How many shards; it has to divide the size of axis 0 of every input.
      infeed_queue: An ``InfeedQueue`` whose elements are further arguments of ``computation``.
      device_assignment: A ``DeviceAssignment``; says whose infeed and outfeed are used.
      name: Ignored, as in TensorFlow 1.15.

    Returns:
      A list of tensors; a list with an operation where the computation has no outputs.

    Raises:
      ValueError, TypeError, NotImplementedError: As :func:`shard`.
    """
    return shard(
        computation,
        inputs,
        num_shards=num_shards,
        infeed_queue=infeed_queue,
        device_assignment=device_assignment,
        name=name,
    )


def rewrite_for_inference(
    computation: Computation,
    inputs: Sequence[Any] | None = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
) -> Any:
    """Like :func:`rewrite`, with the variables' values marked as constant for good.

    Args:
      computation: As in :func:`rewrite`, like all other arguments.
      inputs: See there.
      infeed_queue: See there.
      device_assignment: See there.
      name: Ignored.

    Returns:
      What :func:`rewrite` returns.
    """

    def constant(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        variable = getter(name, *args, **kwargs)
        return tf.raw_ops.GuaranteeConst(input=variable, name=name + "/GuaranteeConst")

    @functools.wraps(computation)
    def wrapped(*args: Any) -> Any:
        with tf.variable_scope(tf.get_variable_scope(), custom_getter=constant):
            return computation(*args)

    return rewrite(wrapped, inputs, infeed_queue, device_assignment, name)


def validate_inference_rewrite_for_variables(graph: Any) -> None:
    """Checks that :func:`rewrite_for_inference` found variables.

    Args:
      graph: The graph to look through.

    Raises:
      RuntimeError: If no variable's value is marked as constant.
    """
    operations = [o for one in [graph, *in_graph.traced_in(graph)] for o in one.get_operations()]
    if not any(operation.type == "GuaranteeConst" for operation in operations):
        raise RuntimeError(
            "No GuaranteeConst ops found in the graph after running tpu.rewrite_for_inference(...). "
            "Please check that you are using tf.get_variable() to create and access variables in "
            "your tpu computation."
        )


def outside_compilation(computation: Computation, *args: Any, **kwargs: Any) -> Any:
    """Builds a part of a TPU computation that the host runs; here it simply stands where it is
    called.

    Args:
      computation: The function.
      *args: Its arguments.
      **kwargs: Its keyword arguments.

    Returns:
      What it returns.
    """
    if observer.watched():
        with observer.on_host(tf.get_default_graph()):
            return computation(*args, **kwargs)
    return computation(*args, **kwargs)


def core(num: int) -> str:
    """The name of a core of a replica, for ``tf.device``.

    Args:
      num: The number of the core within its replica.

    Returns:
      A device name. Computations ignore it: a replica runs on one device.
    """
    return f"device:TPU_REPLICATED_CORE:{num}"


# Inputs
# ---------------------------------------------------------------------------------------------


def _check_inputs(
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


def _common_shape(tensors: Sequence[Any]) -> Any:
    """The static shape that all of the tensors have."""
    shape = tensors[0].shape
    for tensor in tensors[1:]:
        other = tensor.shape
        if shape.ndims is None or shape.ndims != other.ndims:
            return tf.TensorShape(None)
        pairs = zip(shape.as_list(), other.as_list())
        shape = tf.TensorShape([a if a == b else None for a, b in pairs])
    return shape


def _pad(flat: Sequence[Sequence[Any]], shapes: Sequence[Any]) -> list[list[Any]]:
    """Pads inputs whose sizes differ between the replicas, with zeros at the end of each
    dimension."""
    columns = [_pad_column(column, shape) for column, shape in zip(zip(*flat), shapes)]
    return [list(row) for row in zip(*columns)]


def _pad_column(tensors: Sequence[Any], wanted: Any) -> list[Any]:
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


def _split(tensor: Any, num_shards: int, axis: int) -> list[Any]:
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


def _core_of(device_assignment: Any) -> Callable[[int], int]:
    """Replica -> the number of the core whose infeed and outfeed it uses."""
    if device_assignment is None:
        return int

    def of(replica: int) -> int:
        return tpu_system.core_number(
            device_assignment.host_device(replica=replica),
            device_assignment.tpu_ordinal(replica=replica),
        )

    return of


@contextlib.contextmanager
def variable_rules() -> Iterator[None]:
    """Within: new variables are resource variables and are not partitioned, as in TensorFlow
    1.15."""
    scope = tf.get_variable_scope()
    use_resource, custom_getter = scope.use_resource, scope.custom_getter

    def whole(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("partitioner") is not None:
            kwargs["partitioner"] = None
            tf.logging.warning(
                "Partitioned variables are not supported on TPU. Setting `partitioner` to `None` "
                "for "
                "variable %s.",
                name,
            )
        if custom_getter is None:
            return getter(name, *args, **kwargs)
        return custom_getter(getter, name, *args, **kwargs)

    scope.set_use_resource(True)
    scope.set_custom_getter(whole)
    try:
        with references.asked_by_a_tpu():
            yield
    finally:
        scope.set_use_resource(use_resource)
        scope.set_custom_getter(custom_getter)


# Outputs
# --------------------------------------------------------------------------------------------


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


def _take_apart(result: Any) -> _Returned:
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


def _join(
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


def _notice_nothing(computation: Computation) -> None:
    journal.notice(
        "TPU350",
        (
            "the computation {!r} at {} has no results and no side effects, so nothing is "
            "computed; return its result to compute it"
        ).format(getattr(computation, "__name__", repr(computation)), _line_of_script()),
    )


def _line_of_script() -> str:
    """FILE:LINE of the innermost caller that is neither this package nor TensorFlow."""
    here = package.FOLDER
    library = os.path.dirname(os.path.abspath(tf.nest.__file__))
    frame = sys._getframe(1)
    while frame.f_back is not None:
        path = os.path.abspath(frame.f_code.co_filename)
        if not path.startswith((here + os.sep, library + os.sep)):
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
