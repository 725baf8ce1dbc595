"""What the host does of a step whose rest is compiled: the operations of ``tf.tpu.outside_compilation``.

They carry an attribute, by which TensorFlow's rewriting for a TPU leaves them to the host
(``tensorflow/compiler/jit/extract_outside_compilation_pass.cc``). A rehearsal does the same where
nothing comes back into the step: what they take becomes a result of the program, and the host runs
them for each core when the program has ended.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tpucompat.base import errors
from tpucompat.base.late import late
from tpucompat.engines import graphdef

# Scan and check read tables of this module without TensorFlow.
attr_value_pb2 = late("tensorflow.core.framework.attr_value_pb2")
tf = late("tensorflow.compat.v1")

_MARK = "_xla_outside_compilation"
#: In its place while a computation is written out for several shards, which drops what binds it to a TPU.
_KEPT = "_tpucompat_host"
#: The mark of what every core has, and the first one's host does for all.
_ONCE = b"tpucompat once"


class HostPart(NamedTuple):
    """Operations for the host.

    Attributes:
      graph_def: The operations, and the functions that they call.
      takes: The tensors of the program that they take.
      is_once: Whether all cores compute the same shards, so that the host of the first one runs them.
    """

    graph_def: Any
    takes: tuple[str, ...]
    is_once: bool


def mark(operation: Any) -> None:
    """Leaves an operation to the host, wherever the rest of the step runs.

    Args:
      operation: A ``tf.Operation``; nothing that the cores compute may need what it gives.
    """
    operation._set_attr(_MARK, attr_value_pb2.AttrValue(s=b"tpucompat"))


def is_marked(node: Any) -> bool:
    """Whether a NodeDef is left to the host."""
    return _MARK in node.attr


def keep(graph_def: Any) -> Any:
    """A copy of a GraphDef whose marks are kept while it is written out for several shards."""
    return _renamed(graph_def, _MARK, _KEPT)


def mark_once(graph_def: Any) -> Any:
    """A copy of what has been written out: all cores have it, so one host runs what is for the host."""
    return _renamed(graph_def, _KEPT, _MARK)


def _renamed(graph_def: Any, old: str, new: str) -> Any:
    copy = type(graph_def)()
    copy.CopyFrom(graph_def)
    for nodes in (copy.node, *(function.node_def for function in copy.library.function)):
        for node in nodes:
            if old in node.attr:
                del node.attr[old]
                node.attr[new].s = _ONCE
    return copy


def functions_with(library: Any) -> set[str]:
    """The functions of a library that hold operations for the host."""
    return {f.signature.name for f in library.function if any(map(is_marked, f.node_def))}


def take_out(nodes: dict[str, Any], graph_def: Any) -> HostPart:
    """Removes the operations for the host from the nodes of a step.

    What waits for one of them waits for what that takes.

    Args:
      nodes: Name -> NodeDef; they are changed.
      graph_def: The GraphDef that they are from.

    Raises:
      errors.UnsupportedGraphError: If the step needs what one of them gives (TPU463).
    """
    host = {name: nodes.pop(name) for name in list(nodes) if is_marked(nodes[name])}
    is_once = any(node.attr[_MARK].s == _ONCE for node in host.values())
    waits: dict[str, list[str]] = {}
    for name, node in host.items():  # in the order of the graph: sources come first
        sources = [graphdef.node_name(key) for key in node.input]
        waits[name] = [w for s in sources for w in (waits.get(s, ()) if s in host else ["^" + s])]
    for node in nodes.values():
        taken = [key for key in graphdef.data_inputs(node) if graphdef.node_name(key) in host]
        if taken:
            raise refusal(host[graphdef.node_name(taken[0])], "returns a value to the cores")
        after = [w for key in node.input for w in waits.get(graphdef.node_name(key), ())]
        if after:
            kept = [key for key in node.input if graphdef.node_name(key) not in host]
            graphdef.set_inputs(node, [*kept, *dict.fromkeys(after)])
    takes = [key for node in host.values() for key in graphdef.data_inputs(node)]
    for node in host.values():
        kept = [key for key in node.input if graphdef.node_name(key) in host or key[:1] != "^"]
        graphdef.set_inputs(node, kept)
        graphdef.free(node)
        del node.attr[_MARK]
    result = type(graph_def)(versions=graph_def.versions)
    result.node.extend(host.values())
    result.library.CopyFrom(graphdef.reachable(graph_def.library, host.values()))
    outside = (key for key in takes if graphdef.node_name(key) not in host)
    return HostPart(result, tuple(dict.fromkeys(outside)), is_once)


def refusal(node: Any, what: str, function: str = "") -> errors.UnsupportedGraphError:
    """The error for an operation that a rehearsal cannot leave to the host."""
    error = errors.UnsupportedGraphError("TPU463", f"{node.op} ({node.name}) on the host {what}")
    return error.at(node.name, function)


def run(part: HostPart, values: Any, after: Any, name: str) -> Any:
    """Adds the operations to the default graph.

    Args:
      part: The operations.
      values: A tensor for each that they take.
      after: Operations that have to run before.
      name: A name scope for them.

    Returns:
      Operations that have run when all have.
    """
    if not part.graph_def.node:
        return list(after)
    with tf.control_dependencies(list(after)):
        given = {key: tf.identity(value) for key, value in zip(part.takes, values)}
    made = tf.import_graph_def(
        part.graph_def, given, [node.name for node in part.graph_def.node], name=name
    )
    return [*after, *made]
