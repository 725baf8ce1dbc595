"""Cuts one replica's computation out of a graph, into stages between which the replicas meet.

A computation is traced once into a ``tf.Graph``; sums over the cores are native
``CrossReplicaSum`` nodes in it. :func:`cut` takes the part of its GraphDef that the wanted tensors
need, leaves out what the host provides (inputs, variables) and orders the rest by the number of
meetings on the way to a node. :func:`replay` imports the stages one after the other into whatever
graph is the default one. It is a generator: it hands out what a replica brings to a meeting and is
sent what the replica gets, so that one piece of code serves every host (a replica under
``strategy.run``, several shards in one Session graph, one replica's program for a compiler); see
``strategy.py``.
"""

from __future__ import annotations

import collections
from typing import Any, Generator, Iterable, Mapping, NamedTuple, Sequence

import tensorflow as tf
import tensorflow.compat.v1 as v1

from tpucompat.base import errors
from tpucompat.engines import (
    accesses,
    assertions,
    branches,
    collectives,
    decided,
    flow,
    graphdef,
    host_parts,
    identities,
    inline,
    stacks,
)
from tpucompat.engines import script_lines as sources
from tpucompat.engines.graphdef import node_name, tensor_name
from tpucompat.tf import private

# Nodes of TF 1's TPU rewrite that carry no value of their own for a single replica.
_DECORATION = frozenset(["TPUReplicateMetadata"])
_PASS_THROUGH = frozenset(["TPUReplicatedInput", "TPUReplicatedOutput"])

#: What lives outside a replica, and what there is no place for in a replayed step: operation ->
#: what it is.
FOREIGN = {
    "InfeedDequeue": "an infeed",
    "InfeedDequeueTuple": "an infeed",
    "OutfeedEnqueue": "an outfeed",
    "OutfeedEnqueueTuple": "an outfeed",
    "TPUCompilationResult": "a compilation result",
    "TPUReplicatedInput": "a value for several replicas",
    "TPUReplicatedOutput": "a value of several replicas",
    "Variable": "a reference variable",
    "VariableV2": "a reference variable",
    "TemporaryVariable": "a reference variable",
    "OneShotIterator": "an input iterator",
    "Iterator": "an input iterator",
    "IteratorV2": "an input iterator",
    "FIFOQueueV2": "a queue",
    "PaddingFIFOQueueV2": "a queue",
    "RandomShuffleQueueV2": "a queue",
    "PriorityQueueV2": "a queue",
    "HashTableV2": "a lookup table",
    "MutableHashTableV2": "a lookup table",
    "MutableHashTableOfTensorsV2": "a lookup table",
    "MutableDenseHashTableV2": "a lookup table",
}


class VariableSpec(NamedTuple):
    """A resource variable of the computation: its name, ``tf.DType`` and ``tf.TensorShape``."""

    name: str
    dtype: Any
    shape: Any


class Stage(NamedTuple):
    """Nodes between two meetings of the replicas.

    Attributes:
      meetings: The meetings that come before the nodes.
      graph_def: The nodes, without function library.
      needs: Tensors and operations of earlier stages or of the host that the nodes take.
      gives: Tensors and operations of the stage that later stages or the caller take.
      shapes: The static shapes of the tensors among them. An import infers them again, and knows
        less than the trace did: nothing about what comes out of a TF 1 loop.
      conditional: Whether some of what it needs or gives is in a TF 1 conditional, so that not every
        run has it.
      elements: Where in ``graph_def`` to find what it gives, if not under its own name.
    """

    meetings: tuple[collectives.Meeting, ...]
    graph_def: Any
    needs: tuple[str, ...]
    gives: tuple[str, ...]
    shapes: Mapping[str, Any]
    conditional: bool = False
    elements: Mapping[str, str] = {}


class Cut(NamedTuple):
    """A computation ready to be replayed, all by the names of the graph that it was cut from.

    Attributes:
      inputs: The tensors that the host feeds.
      constants: Tensor -> value, for those with one value for good.
      variables: Tensor of a handle -> the variable; several handles may belong to one variable.
      library: The functions that the nodes call.
      stages: The nodes.
      outputs: The tensors wanted.
      updates: The operations that run too.
      moved: Where a tensor of a replaced node is now.
      seeded: The functions of the library that give each replica random numbers or a number of its own.
      host: What the host does with the last of the outputs; None where it is not taken out.
    """

    inputs: tuple[str, ...]
    constants: Mapping[str, Any]
    variables: Mapping[str, VariableSpec]
    library: Any
    stages: tuple[Stage, ...]
    outputs: tuple[str, ...]
    updates: tuple[str, ...]
    moved: Mapping[str, str]
    seeded: frozenset[str]
    host: host_parts.HostPart | None = None


def cut(
    graph: Any,
    inputs: Sequence[str],
    outputs: Sequence[str],
    updates: Sequence[str],
    constants: Mapping[str, Any],
    reads_first: bool = False,
    compiled: bool = False,
    asserts: bool = True,
    for_xla: bool = False,
) -> Cut:
    """Takes a computation out of a graph and cuts it where the replicas meet.

    Args:
      graph: The ``tf.Graph`` that holds the computation.
      inputs: Names of the tensors that the host feeds. They need not be placeholders.
      outputs: Names of the tensors wanted.
      updates: Names of operations that shall run too.
      constants: Tensor name -> value, for tensors that have one value for good.
      reads_first: How reads and writes are ordered that the graph leaves open; see
        :func:`tpucompat.engines.accesses.put_in_order`.
      compiled: Whether a compiler takes the stages, so that what is marked for the host
        (:mod:`tpucompat.engines.host_parts`) is taken out; what it takes are further outputs.
      asserts: Whether assertions are kept; see :mod:`tpucompat.engines.assertions`.
      for_xla: Whether XLA compiles the loops in the end; see :mod:`tpucompat.engines.stacks` and
        :mod:`tpucompat.engines.branches`.

    Returns:
      The stages and what they need.

    Raises:
      errors.UnsupportedGraphError: If the computation holds something that cannot be replayed.
    """
    sources.remember(graph)
    graph_def, moved = inline.inline(graph, graph.as_graph_def(), compiled)
    if not asserts:
        assertions.wait_for_none(graph_def)
    wanted = [*(moved.get(name, name) for name in outputs), *("^" + name for name in updates)]
    known = {moved.get(name, name): value for name, value in constants.items()}
    given = {*(moved.get(name, name) for name in inputs), *known}
    nodes = _needed({node.name: node for node in graph_def.node}, wanted, given)
    decided.take_out(nodes, known, wanted)
    nodes = _needed(nodes, wanted, given)
    host = host_parts.take_out(nodes, graph_def) if compiled else None
    if host is not None:
        gone = {node.name for node in host.graph_def.node}
        outputs, updates = [*outputs, *host.takes], [name for name in updates if name not in gone]
        wanted = [key for key in (*wanted, *host.takes) if node_name(key) not in gone]
    library = graphdef.reachable(graph_def.library, nodes.values())
    variables = _take_variables(nodes)
    _clean(nodes, library)
    _check(nodes, library, compiled)

    if for_xla:
        stacks.keep_values(nodes)
        branches.even_out(nodes)
    flow.let_loops_begin(nodes)
    control = flow.analyse(nodes)
    if host is not None:
        _check_sent(host, control)
    names = {key: spec.name for key, spec in variables.items()}
    accesses.put_in_order(nodes, names, control, reads_first)
    identities.take_out(nodes, control, wanted)
    control = flow.analyse(nodes)
    everything = {node.name: node for node in graph_def.node}
    meetings = {
        name: collectives.meeting(node, everything, control.conditions[name])
        for name, node in nodes.items()
        if node.op in collectives.OPS
    }
    return Cut(
        inputs=tuple(inputs),
        constants=dict(constants),
        variables=variables,
        library=library,
        stages=_stages(graph, graph_def.versions, nodes, meetings, control, wanted),
        outputs=tuple(outputs),
        updates=tuple(updates),
        moved=moved,
        seeded=graphdef.seeded_functions(library),
        host=host,
    )


def replay(
    computation: Cut,
    feeds: Sequence[Any],
    handles: Mapping[str, Any],
    replica: int | None = 0,
    name: str = "replay",
) -> Generator[list[collectives.Request], list[Any], tuple[list[Any], list[Any]]]:
    """Adds one replica of the computation to the default graph.

    A generator: once for each stage with meetings it yields what the replica brings to them, and
    wants to be sent what the replica gets.

    Args:
      computation: What :func:`cut` returned.
      feeds: A tensor of the default graph for each input.
      handles: Variable name -> resource handle in the default graph, for each variable of the
        computation.
      replica: The number of the replica. Seeded random operations of replica 0 keep their seed;
        those of the others get one of their own, since cores of a TPU draw different numbers. None
        where one program serves all replicas.
      name: Name scope of the added nodes. It is made unique, so that nothing in the graph changes
        its name: the back edges of TF 1 loops are lost where it does.

    Returns:
      The output tensors, and an operation or tensor for each update.
    """
    frames = f"/replay_{graphdef.fresh_number()}"
    own = computation.seeded if replica else graphdef.numbered_functions(computation.library)
    moved = computation.moved
    values: dict[str, Any] = {
        moved.get(key, key): value for key, value in zip(computation.inputs, feeds)
    }
    for key, value in computation.constants.items():
        values[moved.get(key, key)] = v1.constant(value)
    for handle, variable in computation.variables.items():
        values[handle] = handles[variable.name]
    for index, stage in enumerate(computation.stages):
        if stage.meetings:
            answers = yield [_request(values, meeting) for meeting in stage.meetings]
            for meeting, answer in zip(stage.meetings, answers):
                values[meeting.node + ":0"] = answer
        graph_def = v1.GraphDef()
        graph_def.CopyFrom(stage.graph_def)
        if index == 0:
            graph_def.library.CopyFrom(computation.library)
        graphdef.set_apart(graph_def, own, replica)
        for node in graph_def.node:
            if node.op in ("Enter", "RefEnter"):
                node.attr["frame_name"].s += frames.encode()
        private.add_functions(graph_def.library)
        given = {key: _value_of(values, key) for key in stage.needs}
        got = v1.import_graph_def(
            graph_def,
            input_map=_waiting_once(graph_def, given),
            return_elements=[stage.elements.get(key, key.lstrip("^")) for key in stage.gives],
            name=name,
        )
        tokens: dict[
            str, Any
        ] = {}  # what has an input of a call's anyway drops a wait for the call
        for key, value in zip(stage.gives, got):
            if key.startswith("^") and key in stage.elements:
                if value.name not in tokens:
                    tokens[value.name] = tf.identity(value)
                value = tokens[value.name]
            values[key] = value
            if key in stage.shapes:
                value.set_shape(stage.shapes[key])
    outputs = [values[moved.get(key, key)] for key in computation.outputs]
    updates = [_value_of(values, "^" + key) for key in computation.updates]
    return outputs, [update for update in updates if update is not None]


def holds_state(graph_def: Any) -> bool:
    """Whether a graph uses what lives in a Session: variables, tables, queues, iterators."""

    def holds(node: Any) -> bool:
        if node.op == "Const":  # what a pipeline has captured, as 2.4 writes it down
            return bool(node.attr["dtype"].type == tf.resource.as_datatype_enum)
        return node.op == "VarHandleOp" or node.op in FOREIGN

    containers = [graph_def.node, *(f.node_def for f in graph_def.library.function)]
    return any(holds(node) for nodes in containers for node in nodes)


# Replaying -------------------------------------------------------------------------------------


def _request(values: dict[str, Any], meeting: collectives.Meeting) -> collectives.Request:
    """What a replica brings; the value waits for the control inputs of the meeting."""
    value = values[meeting.source]
    if meeting.after:
        with v1.control_dependencies([_value_of(values, key) for key in meeting.after]):
            value = v1.identity(value)
    conditions = tuple((values[predicate], branch) for predicate, branch in meeting.conditions)
    return collectives.Request(meeting, value, conditions)


def _value_of(values: dict[str, Any], key: str) -> Any:
    """The tensor for a name; for that of a control input one that waits for the operation."""
    if not key.startswith("^"):
        return values[key]
    # A meeting gave way to a value; what the host provides (an input, a handle) has always run.
    operation = values.get(key, values.get(key[1:] + ":0"))
    if not isinstance(operation, v1.Operation):
        return operation
    if operation.outputs:
        return operation.outputs[0]
    # import_graph_def wants a tensor even for a control input; this one waits for the operation.
    with v1.control_dependencies([operation]):
        values[key] = v1.constant(0, name="after_" + node_name(key).replace("/", "_"))
    return values[key]


def _waiting_once(graph_def: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Lets no node wait twice for an operation that several of its control inputs become.

    The importer of TensorFlow 2.15 to 2.21 takes the second one out, and then a wrong input for one
    of the graph's own (``GraphConstructor::RemapNodeDefInputs`` in ``graph_constructor.cc``).

    Args:
      graph_def: The nodes; they are changed.
      given: Name -> tensor, for what the nodes are given.

    Returns:
      What they still take of it.
    """
    changed = False
    for node in graph_def.node:
        keys = graphdef.control_inputs(node)
        once = {given[key].op if key in given else key: key for key in keys}
        if len(once) < len(keys):
            data = [key for key in node.input if key[:1] != "^"]
            graphdef.set_inputs(node, [*data, *once.values()])
            changed = True
    if not changed:
        return given
    taken = {tensor_name(key) for node in graph_def.node for key in node.input}
    return {key: value for key, value in given.items() if key in taken}


# Cutting ---------------------------------------------------------------------------------------


def _needed(
    everything: Mapping[str, Any], wanted: Iterable[str], given: set[str]
) -> dict[str, Any]:
    """Copies of the nodes that the wanted names need, in the order of the graph."""
    given_nodes = {node_name(key) for key in given}
    found: set[str] = set()
    queue = collections.deque(key for key in wanted if key not in given)
    while queue:
        name = node_name(queue.popleft())
        if name in found:
            continue
        found.add(name)
        for source in collectives.sources(everything[name]):
            if source in given or (source.startswith("^") and source[1:] in given_nodes):
                continue
            queue.append(source)
    result: dict[str, Any] = {}
    for name, node in everything.items():
        if name in found:
            result[name] = type(node)()
            result[name].CopyFrom(node)
    return result


def _take_variables(nodes: dict[str, Any]) -> dict[str, VariableSpec]:
    """Removes the variable handles from the nodes: handle tensor -> the variable."""
    variables: dict[str, VariableSpec] = {}
    for name in [name for name, node in nodes.items() if node.op == "VarHandleOp"]:
        node = nodes.pop(name)
        variables[name + ":0"] = VariableSpec(
            node.attr["shared_name"].s.decode() or name,
            v1.as_dtype(node.attr["dtype"].type),
            v1.TensorShape(node.attr["shape"].shape),
        )
    return variables


def _clean(nodes: dict[str, Any], library: Any) -> None:
    """Frees nodes and functions of places, of decoration and of what there is no place for."""
    for name in [name for name, node in nodes.items() if node.op in _DECORATION]:
        del nodes[name]
    for node in nodes.values():
        _clean_node(node)
        if any(key.startswith("^") and key[1:] not in nodes for key in node.input):
            graphdef.set_inputs(
                node, [key for key in node.input if not key.startswith("^") or key[1:] in nodes]
            )
    changed = graphdef.leave_out_unused_parts(nodes.values(), library)
    for function in library.function:
        if sum(_clean_node(node) for node in function.node_def):
            changed.add(function.signature.name)
    graphdef.rename_changed(nodes.values(), library, changed)


def _clean_node(node: Any) -> bool:
    changed = graphdef.free(node)
    if node.op == "PlaceholderWithDefault":  # nobody feeds it: its value is the default
        graphdef.become_identity(node, node.attr["dtype"].type)
        return True
    if node.op == "GuaranteeConst":  # XLA has no kernel for it, and knows what is constant
        graphdef.become_identity(node, node.attr["T"].type)
        return True
    if node.op in _PASS_THROUGH and node.attr["N" if "N" in node.attr else "num_replicas"].i == 1:
        graphdef.become_identity(node, node.attr["T"].type)
        return True
    return changed


def _check_sent(host: host_parts.HostPart, control: flow.Flow) -> None:
    """Raises where the host takes what only some runs of the step, or all turns of a loop, have."""
    for key in host.takes:
        name = node_name(key)
        if name in control.loops or control.conditions.get(name):
            node = next(n for n in host.graph_def.node if key in map(tensor_name, n.input))
            raise host_parts.refusal(node, "is inside a loop or a conditional")


def _check(nodes: Mapping[str, Any], library: Any, compiled: bool) -> None:
    """Raises where the computation holds what a replayed step cannot."""
    for name, node in nodes.items():
        if node.op == "Placeholder":
            raise errors.UnsupportedGraphError(
                "TPU360",
                f"the computation needs the placeholder {name!r}, which has no value",
            )
        if node.op in FOREIGN:
            raise errors.UnsupportedGraphError(
                "TPU361", f"the computation contains {FOREIGN[node.op]} ({node.op} {name!r})"
            ).at(name)
    for function in library.function:
        where = f"the function {function.signature.name!r}"
        for node in function.node_def:
            if compiled and host_parts.is_marked(node):
                what = f"is inside {where}, which a loop calls"
                raise host_parts.refusal(node, what, function.signature.name)
            if node.op in collectives.OPS:
                raise errors.UnsupportedGraphError(
                    "TPU362", f"{node.op} {node.name!r} is inside {where}, which a loop calls"
                ).at(node.name, function.signature.name)
            if node.op == "VarHandleOp" or node.op in FOREIGN:
                what = FOREIGN.get(node.op, "a variable of its own")
                raise errors.UnsupportedGraphError(
                    "TPU361",
                    (f"{where} of the computation contains {what} ({node.op} {node.name!r})"),
                ).at(node.name, function.signature.name)


def _stages(
    graph: Any,
    versions: Any,
    nodes: dict[str, Any],
    meetings: Mapping[str, collectives.Meeting],
    control: flow.Flow,
    wanted: Sequence[str],
) -> tuple[Stage, ...]:
    """Orders the nodes by the number of meetings on the way to them."""
    levels = flow.levels(nodes, control.loops)
    by_level: dict[int, list[Any]] = {n: [] for n in range(max(levels.values(), default=0) + 1)}
    for name, node in nodes.items():
        by_level[levels[name]].append(node)
    # A name is kept where another stage, a meeting or the caller takes it.
    kept = set(wanted)
    for name, node in nodes.items():
        for source in collectives.sources(node):
            maker = node_name(source)
            if maker in nodes and (name in meetings or levels[maker] != levels[name]):
                kept.add(source)
    for meeting in meetings.values():
        kept.update(predicate for predicate, _ in meeting.conditions)
    stages = []
    for _, members in sorted(by_level.items()):
        mine = {node.name: node for node in members if node.name not in meetings}
        needs = {
            source
            for node in mine.values()
            for source in map(tensor_name, node.input)
            if node_name(source) not in mine
        }
        gives = sorted(key for key in kept if node_name(key) in mine)
        stages.append(
            Stage(
                meetings=tuple(meetings[node.name] for node in members if node.name in meetings),
                graph_def=_graph_def(versions, mine.values()),
                needs=tuple(sorted(needs)),
                gives=tuple(gives),
                shapes=_static_shapes(graph, gives),
                conditional=any(
                    flow.conditions_of(key, nodes, control) for key in (*needs, *gives)
                ),
            )
        )
    return tuple(stages)


def _graph_def(versions: Any, nodes: Iterable[Any]) -> Any:
    graph_def = v1.GraphDef()
    graph_def.versions.CopyFrom(versions)
    graph_def.node.extend(nodes)
    return graph_def


def _static_shapes(graph: Any, names: Iterable[str]) -> dict[str, Any]:
    """Tensor name -> shape in the graph; nodes that the cut has made are not in it."""
    shapes = {}
    for name in names:
        if not name.startswith("^"):
            try:
                shapes[name] = graph.get_tensor_by_name(name).shape
            except KeyError:
                continue
    return shapes
