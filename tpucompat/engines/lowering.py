"""Turns what one core runs into XLA's own form, with TensorFlow's compiler on the CPU.

The computation's nodes are taken out of the graph that it was traced into, and imported into a
``tf.function(jit_compile=True)``: variables are arguments of the program, inputs have their real
shapes, and the native ``CrossReplicaSum``, which XLA's compiler for a CPU lacks, becomes XLA's all-reduce
(:mod:`tpucompat.engines.sums`). Nothing is compiled for the CPU and nothing is run.
"""

from __future__ import annotations

import collections
import re
from typing import Any, NamedTuple, Sequence

from tpucompat.base.late import late
from tpucompat.engines import graphdef, infeeds, sums
from tpucompat.engines import xla_operations as operations
from tpucompat.engines.graphdef import node_name, tensor_name
from tpucompat.engines.observer import Computation, made_on_host
from tpucompat.engines.script_lines import Sources
from tpucompat.engines.xla_operations import Finding
from tpucompat.tf import private

# `check` imports this before it prepares the process for TensorFlow.
tf = late("tensorflow.compat.v1")
tf2 = late("tensorflow")

_SCOPE = "step"


class Lowered(NamedTuple):
    """What became of a computation.

    Attributes:
      findings: What stops it; nothing where it was lowered.
      hlo: The serialized ``HloModuleProto``; b"" where there is none.
      reductions: How many sums over the cores are in it.
      operations: How many operations it has, with those of the functions that it calls.
      arguments: Bytes of the variables and of the batch of one core.
      notes: What deserves a look and stops nothing.
      unsure: Why tier (a) cannot tell, where it cannot; "" otherwise.
    """

    findings: list[Finding]
    hlo: bytes = b""
    reductions: int = 0
    operations: int = 0
    arguments: int = 0
    unsure: str = ""
    notes: Sequence[str] = ()


class _Part(NamedTuple):
    """The part of a graph that a computation needs."""

    graph_def: Any
    needed: Any  # the nodes as they were
    inputs: list[tuple[str, Any, Any]]
    variables: dict[str, tuple[Any, Any]]
    constants: dict[str, Any]
    fetches: list[str]
    updates: list[str]


def available() -> bool:
    """Whether this TensorFlow shows the lowered form of what a graph holds (2.15 and later do)."""
    function = private.plain_function(lambda: None, jit_compile=True)
    return hasattr(function, "experimental_get_compiler_ir")


def lower(computation: Computation, sources: Sources) -> Lowered:
    """Lowers one computation, or says what stops it.

    Args:
      computation: What was told.
      sources: Finds the script's lines.
    """
    part = _take(computation)
    notes = _notes(computation, part)
    findings = operations.refused(part.needed)
    findings += _open_shapes(part)
    located = [_locate(finding, computation.graph, sources) for finding in _distinct(findings)]
    nodes = sum(1 for _ in operations.nodes_of(part.needed))
    summed = sum(sums.is_sum(node) for _, node in operations.nodes_of(part.graph_def))
    size = _bytes(part)
    if located:
        return Lowered(located, b"", summed, nodes, size, notes=notes)
    strange = sorted(
        {n.op for _, n in operations.nodes_of(part.graph_def)} & operations.on_tpu_only()
    )
    if strange:
        text = f"the XLA compiler for CPUs does not support {', '.join(strange)}; TPUs do"
        return Lowered([], b"", summed, nodes, size, text, notes)
    try:
        function, specs = _trace(part)
    except Exception as error:
        text = str(error).strip().split("\n")[0][:300]
        return Lowered([], b"", summed, nodes, size, f"it could not be imported: {text}", notes)
    try:
        with private.eager_mode():
            hlo = _program(function, specs)
    except Exception as error:
        finding = _locate(explain(str(error), part.needed), computation.graph, sources)
        return Lowered([finding], b"", summed, nodes, size, notes=notes)
    return Lowered([], hlo, summed, nodes, size, notes=notes)


def lower_function(function: Any, concrete: Any, specs: Sequence[Any], sources: Sources) -> Lowered:
    """Lowers a function of TensorFlow 2's.

    Args:
      function: A ``tf.function(jit_compile=True)``.
      concrete: What it was traced to.
      specs: A ``tf.TensorSpec`` for each of its inputs.
      sources: Finds the script's lines.
    """
    graph = concrete.graph
    graph_def = graph.as_graph_def()
    findings = operations.refused(graph_def)
    findings += [
        Finding(
            "TPU391",
            f"an input has the shape {spec.shape}, but TPU programs need static shapes",
            instead="batch with drop_remainder=True",
        )
        for spec in specs
        if not spec.shape.is_fully_defined()
    ]
    nodes = sum(1 for _ in operations.nodes_of(graph_def))
    summed = sum(sums.is_sum(node) for _, node in operations.nodes_of(graph_def))
    values = [*specs, *concrete.variables]
    size = sum((v.shape.num_elements() or 0) * v.dtype.size for v in values)
    hlo = b""
    located = [_locate(finding, graph, sources) for finding in _distinct(findings)]
    if not located:
        try:
            hlo = _program(function, specs)
        except Exception as error:
            located = [_locate(explain(str(error), graph_def), graph, sources)]
    return Lowered(located, hlo, summed, nodes, size)


# Taking the computation out of its graph ----------------------------------------------------------


def _take(computation: Computation) -> _Part:
    graph_def = computation.graph.as_graph_def()
    nodes = {node.name: node for node in graph_def.node}
    shapes = computation.shapes or [tensor.shape for tensor in computation.inputs]
    inputs = [(t.name, t.dtype, tf.TensorShape(s)) for t, s in zip(computation.inputs, shapes)]
    constants = {tensor.name: value for tensor, value in computation.constants.items()}
    fetches = [tensor.name for tensor in computation.outputs]
    updates = [getattr(update, "op", update).name for update in computation.updates]
    given = {name for name, _, _ in inputs} | set(constants) | set(computation.handles)
    found: dict[str, Any] = {}
    host = made_on_host(computation.graph) - {node_name(name) for name in given}
    updates = [name for name in updates if name not in host]
    queue = collections.deque([*fetches, *("^" + name for name in updates)])
    given_nodes = {node_name(name) for name in given}
    while queue:
        key = tensor_name(queue.popleft())
        name = node_name(key)
        if key in given or name in found or (key.startswith("^") and name in given_nodes):
            continue
        if name in host:  # what it gives comes in from the host
            if not key.startswith("^"):
                tensor = computation.graph.get_tensor_by_name(key)
                inputs.append((key, tensor.dtype, tensor.shape))
                given.add(key)
            continue
        found[name] = nodes[name]
        queue.extend(nodes[name].input)
    kept = tf.GraphDef()
    kept.versions.CopyFrom(graph_def.versions)
    variables = dict(computation.handles)
    for node in graph_def.node:  # the graph's order
        if node.name not in found:
            continue
        if node.op == "VarHandleOp":
            variables[node.name + ":0"] = (
                tf.as_dtype(node.attr["dtype"].type),
                tf.TensorShape(node.attr["shape"].shape),
            )
            continue
        kept.node.add().CopyFrom(node)
    kept.library.CopyFrom(graphdef.reachable(graph_def.library, kept.node))
    needed = tf.GraphDef()
    needed.CopyFrom(kept)
    for node in kept.node:
        _shape_infeed(node, inputs)
    _rewrite(kept, computation, host)
    _rename_functions(kept)
    return _Part(kept, needed, inputs, variables, constants, fetches, updates)


def _shape_infeed(node: Any, inputs: list[tuple[str, Any, Any]]) -> None:
    """Takes what an infeed brings as inputs of the program."""
    if node.op not in infeeds.OPERATIONS:
        return
    for index, (kind, shape) in enumerate(infeeds.brings(node)):
        inputs.append((f"{node.name}:{index}", tf.as_dtype(kind), tf.TensorShape(shape)))


def _sum_by_calls(graph_def: Any, computation: Computation) -> None:
    """Makes calls of the sums whose shape and whose groups of cores are known."""
    constants = {
        (function, node.name): node
        for function, node in operations.nodes_of(graph_def)
        if node.op == "Const"
    }
    for function, node in operations.nodes_of(graph_def):
        if node.op != "CrossReplicaSum":
            continue
        groups: Any = [range(computation.replicas)]
        named = graphdef.data_inputs(node)[1:]
        if named:
            given = constants.get((function, node_name(named[0])))
            if given is None:
                continue
            groups = tf.make_ndarray(given.attr["value"].tensor).tolist()
        graph = computation.graph
        if function:
            graph = private.function_graph(graph, function)
        shape = _shape_of(graph, node.name)
        if shape is not None:
            sums.to_call(node, shape, groups)


def _shape_of(graph: Any, name: str) -> Any:
    """The shape of an operation's first output; None where that is not known."""
    try:
        shape = graph.get_tensor_by_name(name + ":0").shape
    except (AttributeError, KeyError, ValueError):
        return None
    return shape if shape.is_fully_defined() else None


def _rename_functions(graph_def: Any) -> None:
    """Gives the functions other names: the runtime knows those of their own names, as they were."""
    number = graphdef.fresh_number()
    names = [function.signature.name for function in graph_def.library.function]
    renamed = {name: f"{name}_tpucompat_{number}" for name in names}
    graphdef.rename(graph_def.node, graph_def.library, renamed)


_GROUPS = "tpucompat_all_cores"


def _all_cores(replicas: int) -> Any:
    """A constant: one group of all cores, which a sum without groups means."""
    node = tf.NodeDef(name=_GROUPS, op="Const")
    node.attr["dtype"].type = tf.int32.as_datatype_enum
    value = tf.make_tensor_proto([list(range(replicas))], tf.int32)
    node.attr["value"].tensor.CopyFrom(value)
    return node


def _rewrite(graph_def: Any, computation: Computation, host: set[str]) -> None:
    """Frees all nodes of what only the whole graph, or a TPU's own rewriting, understands."""
    _sum_by_calls(graph_def, computation)
    infeeds.to_calls(graph_def.library)
    replicas = computation.replicas
    fed = {node.name for node in graph_def.node if node.op in infeeds.OPERATIONS}
    dropped = host | fed | {n.name for n in graph_def.node if n.op == "TPUReplicateMetadata"}
    kept = [node for node in graph_def.node if node.name not in dropped]
    bodies = [(kept, _GROUPS)]
    for function in graph_def.library.function:
        bodies.append((function.node_def, _GROUPS + ":output:0"))
        if any(node.op == "CrossReplicaSum" for node in function.node_def):
            function.node_def.add().CopyFrom(_all_cores(replicas))
    if any(node.op == "CrossReplicaSum" for node in kept):
        kept.append(_all_cores(replicas))
    for groups, node in ((groups, node) for body, groups in bodies for node in body):
        graphdef.free(node)
        if any(key.startswith("^") and key[1:] in dropped for key in node.input):
            graphdef.set_inputs(
                node, [key for key in node.input if not (key[:1] == "^" and key[1:] in dropped)]
            )
        if node.op == "PlaceholderWithDefault":
            graphdef.become_identity(node, node.attr["dtype"].type)
        elif node.op in ("TPUReplicatedInput", "TPUReplicatedOutput"):
            graphdef.become_identity(node, node.attr["T"].type)
        elif node.op in ("OutfeedEnqueue", "OutfeedEnqueueTuple"):
            keys = ["^" + node_name(key) for key in node.input]
            node.op = "NoOp"
            node.attr.clear()
            graphdef.set_inputs(node, dict.fromkeys(keys))
        elif node.op == "CrossReplicaSum":
            kind = node.attr["T"].type
            node.op = "XlaAllReduce"
            node.attr.clear()
            node.attr["T"].type = kind
            node.attr["reduce_op"].s, node.attr["mode"].s = b"Add", b"CrossReplica"
            if len(node.input) < 2 or node.input[1].startswith("^"):
                keys = [*node.input[:1], groups, *node.input[1:]]
                graphdef.set_inputs(node, keys)
    copies = [tf.NodeDef.FromString(node.SerializeToString()) for node in kept]
    del graph_def.node[:]
    graph_def.node.extend(copies)


def _bytes(part: _Part) -> int:
    total = 0
    for dtype, shape in (*part.variables.values(), *((d, s) for _, d, s in part.inputs)):
        count = shape.num_elements() if shape.is_fully_defined() else 0
        total += (count or 0) * dtype.size
    return total


def _notes(computation: Computation, part: _Part) -> list[str]:
    notes = []
    if not part.fetches and not part.updates:
        notes.append("it has no results and no side effects, so a TPU prunes it [TPU350]")
    host = made_on_host(computation.graph)
    if host:
        kinds = {computation.graph.get_operation_by_name(name).type for name in host}
        told = ", ".join(sorted(kinds - {"Const", "Identity"}))
        notes.append(f"runs on the host (outside_compilation): {told}")
    return notes


# Lowering -----------------------------------------------------------------------------------------


def _trace(part: _Part) -> tuple[Any, list[Any]]:
    """The part as a function, which has been traced, and the types of its inputs."""
    with private.eager_mode():
        variables = {
            name: tf2.Variable(tf2.zeros(shape, dtype), dtype=dtype, trainable=False)
            for name, (dtype, shape) in part.variables.items()
        }

        def step(*values: Any) -> Any:
            graph = tf2.compat.v1.get_default_graph()
            given = {name: value for (name, _, _), value in zip(part.inputs, values)}
            given.update((name, graph.capture(v.handle)) for name, v in variables.items())
            given.update((name, tf2.constant(value)) for name, value in part.constants.items())
            private.add_functions(part.graph_def.library)
            got = tf2.compat.v1.import_graph_def(
                part.graph_def,
                input_map={key: given[key] for key in _used(part, given)},
                return_elements=[*part.fetches, *part.updates]
                if not set(part.fetches) & set(given)
                else [*(f for f in part.fetches if f not in given), *part.updates],
                name=_SCOPE,
            )
            tensors = [value for value in got if isinstance(value, tf2.Tensor)]
            with tf2.control_dependencies([v for v in got if not isinstance(v, tf2.Tensor)]):
                result = [tf2.identity(tensor) for tensor in tensors] or [tf2.constant(0)]
            private.must_run(result[0].op)
            return result

        function = private.plain_function(step, jit_compile=True)
        specs = [tf2.TensorSpec(shape, dtype) for _, dtype, shape in part.inputs]
        function.get_concrete_function(*specs)
    return function, specs


def _program(function: Any, specs: Sequence[Any]) -> bytes:
    """XLA's program of a function."""
    made = function.experimental_get_compiler_ir(*specs)(stage="hlo_serialized")
    return infeeds.in_program(sums.in_program(bytes(made)))


def _used(part: _Part, given: dict[str, Any]) -> set[str]:
    """The given names that the nodes take: ``import_graph_def`` refuses others."""
    taken = {tensor_name(key) for node in part.graph_def.node for key in node.input}
    controls = {key[1:] for key in taken if key.startswith("^")}
    result = {key for key in given if key in taken}
    return result | {key for key in given if node_name(key) in controls}


# What stops it ------------------------------------------------------------------------------------


def _open_shapes(part: _Part) -> list[Finding]:
    findings = []
    for name, _, shape in part.inputs:
        if not shape.is_fully_defined():
            findings.append(
                Finding(
                    "TPU391",
                    (
                        f"the input {name} has the shape {shape}, but TPU programs need "
                        "static shapes"
                    ),
                    node_name(name),
                    instead=(
                        "batch with drop_remainder=True, and give every placeholder a static shape"
                    ),
                )
            )
    for name, (_, shape) in part.variables.items():
        if not shape.is_fully_defined():
            findings.append(
                Finding(
                    "TPU391",
                    f"the variable {node_name(name)} has the shape {shape}",
                    node_name(name),
                    instead="give the variable a static shape, and do not set validate_shape",
                )
            )
    for node in part.graph_def.node:
        if node.op == "Placeholder":
            findings.append(
                Finding(
                    "TPU396",
                    f"the placeholder {node.name} is used, but the cores cannot be fed",
                    node.name,
                    instead="pass the value through the inputs of the computation",
                )
            )
    return findings


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    """One finding for each type of operation; a step may hold hundreds of the same."""
    seen: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        seen.setdefault((finding.code, finding.text.split(" (")[0]), finding)
    return list(seen.values())


def _locate(finding: Finding, graph: Any, sources: Sources) -> Finding:
    line = sources.of_operation(graph, finding.operation, finding.function)
    return finding._replace(line=line.place, source=line.text)


# What TensorFlow's compiler says (tf2xla of 2.15 to 2.21) -> code, what it is, what to write.
_TEXTS = (
    (
        r"must be a compile-time constant",
        "TPU392",
        "needs a size or an axis that is a compile-time constant, but it is computed",
        ("compute it in Python from static shapes, or use the largest size and mask the rest"),
    ),
    (
        r"fixed tensor list size|TensorList|max_num_elements",
        "TPU393",
        (
            "is in a loop with an unknown trip count, and its gradient stores a value for "
            "every iteration"
        ),
        (
            "pass a constant maximum_iterations to tf.while_loop; dynamic_rnn derives it "
            "from a static time axis"
        ),
    ),
    (
        r"[Ss]hapes? (of loop|must be|mismatch|.*not the same)|invariant|must be the same",
        "TPU394",
        "has values whose shape or dtype changes",
        "keep shapes and dtypes the same in every branch and every iteration",
    ),
    (
        r"dynamic|unbounded",
        "TPU388",
        "has a data-dependent output size",
        "keep the size fixed: tf.where(mask, x, 0) with three arguments, tf.nn.top_k, or padding",
    ),
)


def explain(message: str, graph_def: Any) -> Finding:
    """What TensorFlow's compiler complains about, in the script's terms.

    Args:
      message: What it says.
      graph_def: What it was given.
    """
    name = _operation_in(message)
    kind, where = "", ""
    for function, node in operations.nodes_of(graph_def):
        if node.name == name:
            kind, where = node.op, function
            break
    first = re.sub(r"^Failed getting HLO text: '", "", message.strip()).split("\n")[0][:300]
    code, what, instead = "TPU395", "is rejected by the XLA compiler: " + first, ""
    for pattern, found, said, advice in _TEXTS:
        if re.search(pattern, message):
            code, what, instead = found, said, advice
            break
    if not instead:
        kind_said = operations.kind_of(kind)
        instead = kind_said.instead if kind else "read the message of the compiler"
    text = f"{kind or 'an operation'} ({name}) {what}" if name else f"the computation {what}"
    return Finding(code, text, name, where, instead=instead)


def _operation_in(message: str) -> str:
    """The operation that a text of TensorFlow's names, as the script's graph calls it."""
    for pattern in (r"node `([^`]+)`", r"\{\{node ([^}]+)\}\}", r"\[\[([^\]{]+)\]\]"):
        names = re.findall(pattern, message)
        if names:
            name = names[-1] if pattern.startswith(r"\{") else names[0]
            return re.sub(rf"^(.*/)?{_SCOPE}(_\d+)?/", "", name.split(" ")[0])
    return ""
