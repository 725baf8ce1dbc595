"""Runs a computation for several shards in the script's own graph and Session.

The Python function is called once, with a graph of its own as the default one. Variables that it
makes land in the script's graph, where initializers and savers find them; what it takes from the
script's graph is captured. The traced graph is then written out for all shards
(:mod:`tpucompat.engines.shards`) and imported into the script's graph. So Python side effects
happen once, a variable exists once, and nothing depends on the number of devices.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base import journal
from tpucompat.base.errors import BadValueError, UnsupportedGraphError
from tpucompat.base.machine import current_environment
from tpucompat.engines import (
    accelerator,
    graph_walk,
    graphdef,
    observer,
    partitioned_call,
    shards,
)
from tpucompat.tf import private


class Traced(NamedTuple):
    """A computation, traced for one shard.

    Attributes:
      computation: Its graph and names.
      graph: The graph that it was traced into.
      captures: The tensors of the script's graph that it takes, in the order of the names.
      control: Operations of the script's graph that it waits for.
      shapes: The static shapes of what it returns.
    """

    computation: shards.Computation
    graph: Any
    captures: Sequence[Any]
    control: Sequence[Any]
    shapes: Sequence[Any]


class Replicated(NamedTuple):
    """A computation in the script's graph.

    Attributes:
      outputs: ``outputs[shard][index]``: tensors; a single row where the shards are one batch.
      executed: The operation that runs everything but what is only computed to be returned.
      effects: Whether the computation does anything of that kind.
    """

    outputs: list[list[Any]]
    executed: Any
    effects: bool


class Whole(NamedTuple):
    """A batch before it was split into the inputs of the shards.

    Attributes:
      inputs: The tensors.
      axes: The axis along which each was split.
      output_axes: The axis along which each output is to be concatenated; None stands for 0.
    """

    inputs: Sequence[Any]
    axes: Sequence[int]
    output_axes: Sequence[int] | None


#: What TensorFlow says of an operation that changes a reference, and is given a value.
_REFUSED_VALUE = re.compile(r"In op '([^']*)', input types .* expected types .*_ref\b", re.DOTALL)


class _ComputationGraph(private.func_graph()):  # type: ignore[misc]
    """The graph of one shard; it captures what the computation takes from the graph around it."""

    def capture(self, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        """Makes a tensor of an outer graph available here."""
        if isinstance(tensor, tf.Tensor) and tensor.graph is not self:
            _refuse_reference(tensor)
        return super().capture(tensor, *args, **kwargs)


def _refuse_reference(tensor: Any) -> None:
    if tensor.dtype.name.endswith("_ref"):
        raise _unsupported(tensor.op.name)


def _unsupported(operation: str) -> UnsupportedGraphError:
    return UnsupportedGraphError(
        "TPU343",
        "Non-resource Variables are not supported inside TPU computations (operator name: "
        f"{operation})",
    )


def trace(
    function: Callable[..., Sequence[Any]], specs: Sequence[tuple[Any, Any]], name: str
) -> Traced:
    """Calls a function once, to build the graph of one shard.

    Args:
      function: Takes one tensor for each of ``specs``; returns a list of tensors.
      specs: (``tf.DType``, ``tf.TensorShape``) of each input of a shard.
      name: The name of the traced graph.

    Returns:
      The traced computation.

    Raises:
      SetupError: On TensorFlow 1.13 (TPU357).
    """
    accelerator.require_several_cores(current_environment())
    outer = tf.get_default_graph()
    graph = _ComputationGraph(name, collections=private.graph_collections(outer))
    scope = outer.get_name_scope()
    # The cores' compiler wants to know how often a loop runs at most, as TensorFlow 1's did.
    compiled = private.XlaContext() if partitioned_call.wanted() else contextlib.nullcontext()
    with graph.as_default(), tf.name_scope(scope + "/" if scope else None), compiled:
        arguments = [
            tf.placeholder(dtype, shape, name=f"argument_{index}")
            for index, (dtype, shape) in enumerate(specs)
        ]
        try:
            outputs = list(function(*arguments))
        except Exception as error:
            _move_collections(graph, "", {})
            _explain_initial_value(error)
            _explain_reference(error)
            raise
    externals = list(graph.external_captures)
    internals = [tensor.op.name for tensor in graph.internal_captures]
    graph_def = graph.as_graph_def()
    # Before accesses are put in order, or another write would wait for one that nothing needs.
    changed = graphdef.leave_out_unused_parts(graph_def.node, graph_def.library)
    graphdef.rename_changed(graph_def.node, graph_def.library, changed)
    computation = shards.Computation(
        graph_def=graph_def,
        arguments=[tensor.op.name for tensor in arguments],
        captures=internals,
        variables={
            internal: (handle.node_def.attr["dtype"].type, handle.node_def.attr["shape"].shape)
            for internal, handle in zip(internals, map(graph_walk.maker, externals))
            if handle.type == "VarHandleOp"
        },
        outputs=[tensor.name for tensor in outputs],
        output_types=[tensor.dtype.as_datatype_enum for tensor in outputs],
        kept=[operation.name for _, _, operation in _collected(graph) if operation.graph is graph],
    )
    return Traced(
        computation,
        graph,
        captures=externals,
        control=list(private.control_captures(graph)),
        shapes=[tensor.shape for tensor in outputs],
    )


def _explain_initial_value(error: Exception) -> None:
    """Says in TensorFlow 1.15's words that an initial value was computed inside.

    The graph of a computation is that of a function for TensorFlow, which names it so.
    """
    text = str(error) if isinstance(error, ValueError) else ""
    if "wrapped in an init_scope" in text or "could not be lifted out" in text:
        raise BadValueError(
            "TPU353",
            "Initializer for a variable is from inside a TPU computation. When creating a variable "
            "inside a computation, use a lambda as the initializer.",
        ) from error


def _explain_reference(error: Exception) -> None:
    """Says that a loop or a branch changes a reference variable.

    Its own graph gets the value, since a function has no references as inputs; there the operation fails.
    """
    found = _REFUSED_VALUE.search(str(error)) if isinstance(error, TypeError) else None
    if found:
        raise _unsupported(found[1]) from error


def replicate(
    traced: Traced,
    inputs: Sequence[Sequence[Any]],
    ready: Any,
    core_of: Callable[[int], int],
    whole: Whole | None = None,
) -> Replicated:
    """Adds a traced computation to the default graph, for all shards.

    Args:
      traced: The computation.
      inputs: ``inputs[shard][index]``: tensors of the default graph.
      ready: A scalar boolean tensor that has to be there before the computation has an effect.
      core_of: Shard number -> number of the core whose infeed and outfeed queue it uses.
      whole: What the inputs were before they were split, if their outputs may be one batch too.

    Returns:
      What the shards return.
    """
    prepared = shards.Prepared(traced.computation)
    if observer.watched():
        return _shown(prepared, traced, inputs)
    if traced.control:
        with tf.control_dependencies(traced.control):
            ready = tf.identity(ready)
    gives = traced.computation.outputs or prepared.effects
    if gives and partitioned_call.wanted():
        call = partitioned_call.build(
            prepared,
            traced.graph,
            traced.captures,
            inputs,
            traced.shapes,
            ready,
            _notice_predicate,
        )
        if call is not None:
            _move_collections(traced.graph, "", {})
            _keep(traced.graph)
            return Replicated(call.outputs, call.executed, bool(prepared.effects))
    shapes = traced.shapes
    merged = None if whole is None else _merged_shapes(prepared, traced, whole, len(inputs))
    if whole is not None and merged is not None:
        inputs, shapes = [whole.inputs], merged
    expansion = shards.expand(prepared, len(inputs), core_of, _notice_predicate)
    given: dict[str, Any] = {"pivot:0": ready}
    for shard, values in enumerate(inputs):
        for index, value in enumerate(values):
            given[f"argument/{index}/shard_{shard}:0"] = value
    for index, value in enumerate(traced.captures):
        given[f"capture/{index}:0"] = value
    given = {name: _taken(given[name]) for name in expansion.needs}
    flat = [name for outputs in expansion.outputs for name in outputs]
    with tf.device(_device()):
        wanted = tf.import_graph_def(
            expansion.graph_def,
            input_map=given,
            return_elements=[*flat, expansion.executed],
            name=traced.graph.name,
        )
    executed = wanted.pop()
    size = len(expansion.outputs[0])
    outputs = [wanted[i * size : (i + 1) * size] for i in range(len(inputs))]
    for row in outputs:  # an import infers shapes anew, and may know less than the trace did
        for tensor, shape in zip(row, shapes):
            tensor.set_shape(shape)
    prefix = executed.name[: -len(expansion.executed)]
    _move_collections(traced.graph, prefix, expansion.nodes)
    _keep(traced.graph)
    return Replicated(outputs, executed, expansion.effects)


def _taken(tensor: Any) -> Any:
    """A tensor in the default graph, where that is a function's and takes it from a graph around it.

    Operations take their inputs so by themselves; an import refuses those of other graphs.
    """
    graph = tf.get_default_graph()
    outside = tensor.graph is not graph and hasattr(graph, "capture")
    return graph.capture(tensor) if outside else tensor


def _merged_shapes(
    prepared: shards.Prepared, traced: Traced, whole: Whole, num_shards: int
) -> list[Any] | None:
    """The shapes of what all shards return together; None if they cannot be one batch."""
    known = [*traced.shapes, *(tensor.shape for tensor in whole.inputs)]
    if num_shards == 1 or not traced.shapes or any(shape.ndims is None for shape in known):
        return None

    def shape_of(reference: str) -> list[int | None] | None:
        name, _, index = reference.partition(":")
        shape = traced.graph.get_tensor_by_name(f"{name}:{index or 0}").shape
        return None if shape.ndims is None else list(shape.as_list())

    def positive(axis: int, shape: Any) -> int:
        return axis if axis >= 0 else axis + int(shape.ndims)

    axes = [positive(axis, tensor.shape) for axis, tensor in zip(whole.axes, whole.inputs)]
    if any(tensor.shape.as_list()[axis] is None for axis, tensor in zip(axes, whole.inputs)):
        return None  # cutting it checks its size
    found = shards.merged_axes(prepared, axes, shape_of)
    wanted = [0] * len(traced.shapes) if whole.output_axes is None else whole.output_axes
    if found is None or found != list(map(positive, wanted, traced.shapes)):
        return None
    merged = []
    for axis, shape in zip(found, traced.shapes):
        sizes = shape.as_list()
        sizes[axis] = sizes[axis] and sizes[axis] * num_shards
        merged.append(tf.TensorShape(sizes))
    return merged


def _shown(prepared: shards.Prepared, traced: Traced, inputs: Sequence[Any]) -> Replicated:
    """Shows a computation to who observes; zeros stand for what the shards would return."""
    computation = traced.computation
    find = traced.graph.get_tensor_by_name
    shared = [
        (name, value)
        for name, value in zip(computation.captures, traced.captures)
        if name not in computation.variables
    ]
    told = observer.Computation(
        "computation of tf.contrib.tpu",
        traced.graph,
        inputs=[find(name + ":0") for name in (*computation.arguments, *(n for n, _ in shared))],
        outputs=[find(name) for name in computation.outputs],
        updates=[traced.graph.get_operation_by_name(name) for name in prepared.effects],
        handles={
            name + ":0": (tf.as_dtype(kind), tf.TensorShape(shape))
            for name, (kind, shape) in computation.variables.items()
        },
        replicas=len(inputs),
    )
    observer.tell(told)
    after = []
    fed = [*inputs[0], *(value for _, value in shared)]
    if not all(tensor.shape.is_fully_defined() for tensor in fed):  # known when it is run

        def run(*shapes: Any) -> Any:
            observer.tell(told._replace(shapes=[tuple(shape) for shape in shapes]))
            return np.int32(0)

        call = getattr(tf, "numpy_function", tf.py_func)
        after = [call(run, [tf.shape(tensor) for tensor in fed], tf.int32)]
    with tf.control_dependencies(after):
        row = [
            tf.zeros([size or 1 for size in shape.as_list()] if shape.ndims else [], dtype)
            for shape, dtype in zip(traced.shapes, map(tf.as_dtype, computation.output_types))
        ]
        executed = tf.no_op("shown")
    _move_collections(traced.graph, "", {})
    _keep(traced.graph)
    return Replicated([list(row) for _ in inputs], executed, bool(prepared.effects))


def _keep(graph: Any) -> None:
    """Lets a traced graph live as long as the default one: on 1.x it owns the py_func functions."""
    outer = tf.get_default_graph()
    outer._tpucompat_traced = [*traced_in(outer), graph]


def traced_in(graph: Any) -> list[Any]:
    """The graphs of the computations that were built in a graph."""
    return list(getattr(graph, "_tpucompat_traced", []))


def is_tracing() -> bool:
    """Whether a computation is being traced now."""
    graph = tf.get_default_graph()
    while graph is not None and not isinstance(graph, _ComputationGraph):
        graph = getattr(graph, "outer_graph", None)
    return graph is not None


def current_device() -> str:
    """The device on which an operation would be placed here, "" for none."""
    with tf.control_dependencies(None):
        return str(tf.no_op(name="where").device)


def _device() -> Any:
    """The device for the computation: the script's, unless it is a TPU, which no Session has."""
    device = current_device()
    return None if "TPU" in device else device


def _collected(graph: Any) -> Iterator[tuple[list[Any], int, Any]]:
    """What a traced graph has put into collections: (the collection, position, operation)."""
    collections = private.graph_collections(graph)
    for items in list(collections.values()):
        for position, item in enumerate(items):
            operation = item if isinstance(item, tf.Operation) else getattr(item, "op", None)
            if _is_within(getattr(operation, "graph", None), graph):
                yield items, position, operation


def _move_collections(graph: Any, prefix: str, nodes: dict[str, str]) -> None:
    """Puts shard 0's tensors and operations in the place of the traced ones in the collections.

    A TPU let nobody fetch them; here a loss or an update in a collection is of use.
    """
    outer = tf.get_default_graph()
    gone = object()
    for items, position, operation in list(_collected(graph)):
        item = items[position]
        if operation.graph is not graph or operation.name not in nodes:
            items[position] = gone  # inside a loop or conditional
            continue
        name = prefix + nodes[operation.name]
        if isinstance(item, tf.Tensor):
            name += f":{item.value_index}"
        items[position] = outer.as_graph_element(name)
    for items in private.graph_collections(graph).values():
        if any(item is gone for item in items):
            items[:] = [item for item in items if item is not gone]


def _is_within(graph: Any, outer: Any) -> bool:
    """Whether a graph is another one, or that of a function inside it."""
    while graph is not None and graph is not outer:
        graph = getattr(graph, "outer_graph", None)
    return graph is outer


def _notice_predicate(loop: str) -> None:
    journal.notice(
        "TPU344",
        (
            f"the loop or conditional {loop!r} contains a cross-replica sum, but its "
            "condition can differ between shards; the value of shard 0 is used"
        ),
    )
