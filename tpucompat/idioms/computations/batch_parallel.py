"""``batch_parallel``, ``shard``, ``replicate``, ``rewrite``: TPU computations built by hand.

Arguments, checks and the form of what is returned follow ``tensorflow/python/tpu/tpu.py`` of
TensorFlow 1.15; the computation runs in the script's own graph and Session
(:mod:`tpucompat.engines.in_graph`).
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from typing import Any, Callable, Iterator, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base import journal, package
from tpucompat.base.errors import BadTypeError, BadValueError
from tpucompat.base.machine import current_environment
from tpucompat.engines import host_parts, in_graph, observer, operation_seeds, references
from tpucompat.idioms.computations import cross_shard
from tpucompat.idioms.computations.structures import (
    Computation,
    _Returned,
    check_inputs,
    common_shape,
    join_outputs,
    pad_to_shape,
    split_inputs,
    take_apart,
)
from tpucompat.idioms.startup import tpu_system


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
    check_inputs(computation, inputs, flat, infeed_queue)
    structure, padded = inputs[0], len(flat[0])
    if maximum_shapes:
        if infeed_queue:
            raise BadValueError(
                "TPU345", "Dynamic input shapes are not supported with infeed queues"
            )
        tf.nest.assert_same_structure(structure, maximum_shapes, check_types=False)
        flat = pad_to_shape(
            flat, [tf.TensorShape(shape) for shape in tf.nest.flatten(maximum_shapes)]
        )

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
            returned.append(take_apart(result))
            return returned[0].tensors

    specs = [(column[0].dtype, common_shape(column)) for column in zip(*flat)]
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
    columns = [split_inputs(tensor, num_shards, axis) for tensor, axis in zip(tensors, axes)]
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
        return compiled, join_outputs(outputs, output_shard_axes, outputs_from_all_shards)


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
    graph = tf.get_default_graph()
    known = len(graph.get_operations())
    given = computation(*args, **kwargs)
    # What comes back into the step is computed in it, as far as XLA can.
    if current_environment().rehearsed_cores and not any(map(tf.is_tensor, tf.nest.flatten(given))):
        for operation in graph.get_operations()[known:]:
            host_parts.mark(operation)
    return given


def core(num: int) -> str:
    """The name of a core of a replica, for ``tf.device``.

    Args:
      num: The number of the core within its replica.

    Returns:
      A device name. Computations ignore it: a replica runs on one device.
    """
    return f"device:TPU_REPLICATED_CORE:{num}"


def _core_of(device_assignment: Any) -> Callable[[int], int]:
    """Replica -> the number of the core whose infeed and outfeed it uses."""
    if device_assignment is None:
        return int

    def core(replica: int) -> int:
        return tpu_system.core_number(
            device_assignment.host_device(replica=replica),
            device_assignment.tpu_ordinal(replica=replica),
        )

    return core


@contextlib.contextmanager
def variable_rules(looped: bool = False) -> Iterator[None]:
    """Within: new variables are resource variables and are not partitioned, as in TensorFlow
    1.15.

    Args:
      looped: Whether a TPU would run the computation in a loop, as TPUEstimator's steps. There ``dynamic_rnn``
        and its kin ask for no caching device, so a moving average after an update sees its result.
    """
    scope = tf.get_variable_scope()
    use_resource, custom_getter = scope.use_resource, scope.custom_getter

    def whole(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("partitioner") is not None:
            kwargs["partitioner"] = None
            tf.logging.warning(
                "Partitioned variables are not supported on TPU. Setting `partitioner` to `None` for "
                "variable %s.",
                name,
            )
        if looped:
            kwargs["caching_device"] = None
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
