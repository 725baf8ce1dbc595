"""TensorFlow's own ``TPUStrategy`` on the simulated cores of a TPU.

The strategy, its replica context, variables and input workers are TensorFlow's. Two things stand in for
the TPU: what the cluster resolver tells of it, and ``tpu.replicate``, by which ``TPUStrategy.run`` makes
one program for all cores. As there, the step is traced once, in a ``TPUReplicateContext``: the replica's
number is a tensor, and the cores meet in ``CrossReplicaSum`` and its kin. The program of all cores is then
written out (each node once per core, a sum as an addition) into a function, which one ``XlaLaunch``
compiles and runs. TensorFlow makes functions of TF 1's own loops and conditionals before it compiles them
(``tensorflow/compiler/tf2xla/functionalize_control_flow.cc``), as it does for a TPU.

It shows that the step can be traced, compiled by XLA and run under TPUStrategy, and what it computes. It
shows nothing of a TPU's arithmetic, memory and speed, nor of its infeed.
"""

from __future__ import annotations

import collections
import re
from typing import Any, Callable, NamedTuple, Sequence

import tensorflow as tf
import tensorflow.compat.v1 as v1

from tpucompat.base import errors
from tpucompat.engines import (
    collectives,
    cpu_kernels,
    graphdef,
    host_parts,
    refusals,
    strategy,
    trace,
)
from tpucompat.tf import private

#: The programs by the names that TensorFlow's errors call them: what each was traced into, and its cut.
_programs: dict[str, tuple[Any, trace.Cut]] = {}

#: How often a step was traced ("traced"), and how many meetings of the cores its program has ("meetings").
counts: collections.Counter[str] = collections.Counter()


class Resolver:
    """Tells a ``TPUStrategy`` of a TPU, as a ``TPUClusterResolver`` does.

    Args:
      cores: The number of cores.
      hosts: The number of hosts that they belong to.
    """

    tpu_hardware_feature = task_type = task_id = None

    def __init__(self, cores: int, hosts: int = 1) -> None:
        self._metadata = private.system_metadata(cores, hosts)

    def get_tpu_system_metadata(self) -> Any:
        """How many cores there are, and what their devices are called."""
        return self._metadata

    def cluster_spec(self) -> None:
        """There is one machine."""


def strategy_over(cores: int, hosts: int = 1) -> Any:
    """A ``tf.distribute.TPUStrategy`` on simulated cores.

    Args:
      cores: The number of cores.
      hosts: The number of hosts that they belong to.
    """
    tf.config.set_soft_device_placement(True)  # what is for a core is on the CPU, in every thread
    private.leave_replica_inputs_untuned()
    private.replicate_by(_replicate)
    return private.unpacked_tpu_strategy(Resolver(cores, hosts))


def told(error: Any) -> Exception:
    """What an error of TensorFlow's says of a program that was rehearsed; another error as it is.

    For programs whose own ``tf.function`` raises it, when the compiler has refused what is in it.
    """
    named = re.search(r"tpucompat_program_\d+", str(error))
    program = _programs.get(named.group()) if named else None
    return error if program is None else refusals.explained(error, *program)


class _Program(NamedTuple):
    """One core's computation.

    Attributes:
      graph: What it was traced into.
      fed: The placeholders of what each core is given.
      handles: (placeholder, the handle on each core) of the variables.
      tensors: What it returns.
      structure: The same as the computation returned it.
      effects: The operations that run too.
    """

    graph: Any
    fed: Sequence[Any]
    handles: Sequence[tuple[Any, Sequence[Any]]]
    tensors: Sequence[Any]
    structure: Any
    effects: Sequence[Any]


def _replicate(computation: Callable[..., Any], inputs: Any = None, **options: Any) -> list[Any]:
    """What ``tpu.replicate`` does: one program for all cores.

    Args:
      computation: The step of one core.
      inputs: For each core what the computation takes.
      **options: Further arguments of ``tpu.replicate``: how a TPU's cores are assigned and padded.

    Returns:
      For each core what the computation returns.

    Raises:
      errors.BadValueError: If the cores are given values of different types or shapes (TPU373).
    """
    del options
    rows = [
        [tf.convert_to_tensor(value) for value in tf.nest.flatten(row, expand_composites=True)]
        for row in inputs or [[]]
    ]
    rows = _of_one_shape(rows)
    structure = (inputs or [[]])[0]
    program = _trace(computation, structure, rows[0], len(rows))
    results = _launch(program, rows)
    if not program.tensors:
        return [results[0][0].op] * len(rows)
    if not isinstance(program.structure, (list, tuple)):
        return results
    flat = tf.nest.flatten(program.structure, expand_composites=True)
    if len(program.tensors) != len(flat):  # with operations or None among them
        return results
    return [
        tf.nest.pack_sequence_as(program.structure, row, expand_composites=True) for row in results
    ]


def _of_one_shape(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The values of all cores; what only the run can tell of their shapes is checked there."""
    checked = [list(row) for row in rows]
    for core, row in enumerate(checked[1:], 1):
        for index, (first, value) in enumerate(zip(rows[0], row)):
            text = (
                "all cores of a TPU run one program, but core 0 received "
                f"{first.dtype.name} of shape {first.shape} and core {core} received "
                f"{value.dtype.name} of shape {value.shape}"
            )
            if first.dtype != value.dtype or not first.shape.is_compatible_with(value.shape):
                raise errors.BadValueError("TPU373", text)
            if not (first.shape.is_fully_defined() and value.shape.is_fully_defined()):
                with tf.control_dependencies(_assert_one_shape(first, value, core)):
                    row[index] = tf.identity(value)
    return checked


def _assert_one_shape(first: Any, value: Any, core: int) -> list[Any]:
    """Checks in the run that a core's value has the shape of core 0's, and tells both shapes if not."""
    text = f"the cores of a TPU run one program, and core 0 was given {first.dtype.name} of shape"
    said, *steps = str(errors.BadValueError("TPU373", text)).splitlines(keepends=True)
    shapes = tf.shape(first), tf.shape(value)
    data = [said.rstrip(), shapes[0], f"core {core} of shape", shapes[1], "\n" + "".join(steps)]
    same = tf.raw_ops.Equal(x=shapes[0], y=shapes[1], incompatible_shape_error=False)
    check = tf.debugging.Assert(tf.reduce_all(same), data)
    return [] if check is None else [check]


def _trace(computation: Any, structure: Any, like: Sequence[Any], cores: int) -> _Program:
    """Calls the computation once, for all cores."""
    counts["traced"] += 1
    around = tf.compat.v1.get_default_graph()
    graph = private.func_graph()("program")
    handles: list[tuple[Any, Sequence[Any]]] = []

    def handle_of(own: Sequence[Any]) -> Any:
        own = list(own) * cores if len(own) == 1 else own
        handles.append((private.handle_like(own[0]), own))
        return handles[-1][0]

    context = private.program_context(graph, cores, handle_of)
    automatic = private.is_ordered(around)
    with graph.as_default():
        fed = [tf.compat.v1.placeholder(value.dtype, value.shape) for value in like]
        shards = private.tpu_function().tpu_shard_context(cores)
        with private.inside_program(context, graph), shards, private.ordered_program(
            automatic
        ) as mark:
            result = computation(*tf.nest.pack_sequence_as(structure, fed, expand_composites=True))
            flat = tf.nest.flatten(result, expand_composites=True)
            tensors = [
                mark(tf.convert_to_tensor(value))
                for value in flat
                if value is not None and not isinstance(value, tf.Operation)
            ]
    # TensorFlow runs everything that has an effect in a function that it orders; in another one what
    # the results need.
    effects = [op for op in graph.get_operations() if automatic and _has_effect(op)]
    return _Program(graph, fed, handles, tensors, result, effects)


def _has_effect(operation: Any) -> bool:
    return (
        operation.op_def.is_stateful
        and operation.type != "Placeholder"
        and operation.type not in collectives.OPS
    )


def _launch(program: _Program, rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Compiles and runs the program of all cores: for each core what it returns."""
    captures = list(zip(program.graph.internal_captures, program.graph.external_captures))
    inner = [
        *program.fed,
        *(handle for handle, _ in program.handles),
        *(one for one, _ in captures),
    ]
    with refusals.located(program.graph):
        cut = trace.cut(
            program.graph,
            inputs=[tensor.name for tensor in inner],
            outputs=[tensor.name for tensor in program.tensors],
            updates=[operation.name for operation in program.effects],
            constants={},
            compiled=True,
        )
    refusals.refuse(program.graph, cut)
    nodes = [node for stage in cut.stages for node in stage.graph_def.node]
    renamed = cpu_kernels.write_out(nodes, cut.library)
    cut = cut._replace(seeded=frozenset(renamed.get(name, name) for name in cut.seeded))
    counts["meetings"] += sum(len(stage.meetings) for stage in cut.stages)
    shared = [outer for _, outer in captures]
    values = [
        [*row, *(own[core] for _, own in program.handles), *shared] for core, row in enumerate(rows)
    ]
    joint = private.func_graph()("all_cores")
    with joint.as_default():
        feeds = [[_placeholder_for(value) for value in row] for row in values]
        parts = strategy.drive_together(
            [trace.replay(cut, feed, {}, replica=core) for core, feed in enumerate(feeds)]
        )
        effects = [update for _, updates in parts for update in updates]
        with tf.control_dependencies(effects):
            outputs = [[tf.identity(each) for each in given] for given, _ in parts]
            wanted = [tensor for row in outputs for tensor in row] or [tf.constant(0)]
    name = f"tpucompat_program_{graphdef.fresh_number()}"
    _programs[name] = program.graph, cut
    given = _compiled(
        name, joint, [t for row in feeds for t in row], wanted, [v for r in values for v in r]
    )
    size = len(cut.outputs) or 1
    results = [given[start : start + size] for start in range(0, len(given), size)]
    if cut.host is None or not cut.host.graph_def.node:
        return results
    private.add_functions(cut.host.graph_def.library)
    count = len(program.tensors)
    done: list[Any] = []
    for core, row in enumerate(results[:1] if cut.host.is_once else results):
        done = host_parts.run(cut.host, row[count:], done, f"host_of_core_{core}")
    with tf.control_dependencies(done):
        return [[tf.identity(value) for value in row[:count] or row[:1]] for row in results]


def _placeholder_for(value: Any) -> Any:
    if value.dtype == v1.resource:
        return private.handle_like(value)
    return v1.placeholder(value.dtype, value.shape)


def _compiled(
    name: str, graph: Any, inputs: Sequence[Any], outputs: Sequence[Any], values: Sequence[Any]
) -> list[Any]:
    """Adds a graph to the default one, as what XLA compiles and runs.

    Args:
      name: What it is called.
      graph: The graph; it captures nothing.
      inputs: Its placeholders.
      outputs: The tensors wanted.
      values: A tensor for each input.

    Returns:
      A tensor of the default graph for each output.
    """
    # XlaLaunch takes the handles of variables last.
    pairs = sorted(zip(inputs, values), key=lambda pair: pair[0].dtype == v1.resource)
    graph_def = v1.GraphDef(versions=graph.as_graph_def().versions)
    library = graph.as_graph_def().library
    library.function.add().CopyFrom(
        private.function_def(graph, name, [tensor for tensor, _ in pairs], outputs)
    )
    private.add_functions(library)
    graph_def.library.CopyFrom(library)
    node = graph_def.node.add(name="program", op="XlaLaunch")
    node.attr["Tconstants"].list.SetInParent()
    types_of = node.attr["Targs"].list
    types_of.SetInParent()
    results = node.attr["Tresults"].list
    results.SetInParent()
    results.type.extend(tensor.dtype.as_datatype_enum for tensor in outputs)
    node.attr["function"].func.name = name
    given = {}
    for index, (tensor, value) in enumerate(pairs):
        source = graph_def.node.add(name=f"value_{index}", op="Placeholder")
        source.attr["dtype"].type = tensor.dtype.as_datatype_enum
        node.input.append(source.name)
        given[source.name + ":0"] = _here(value)
        if tensor.dtype == v1.resource:
            node.attr["Nresources"].i += 1
        else:
            types_of.type.append(tensor.dtype.as_datatype_enum)
    node.attr["Nresources"].i += 0
    made = v1.import_graph_def(
        graph_def, given, [f"program:{index}" for index in range(len(outputs))], name=""
    )
    for tensor, like in zip(made, outputs):
        tensor.set_shape(like.shape)
    return list(made)


def _here(value: Any) -> Any:
    """A tensor in the default graph, which may take it from a graph around it, or from eager code."""
    graph = v1.get_default_graph()
    return value if getattr(value, "graph", None) is graph else graph.capture(value)
