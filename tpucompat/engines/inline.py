"""Takes meetings of the replicas, and operations for the host, out of functions.

With control flow v2 a conditional is one node (``If``) that names two functions, and a called
function is one node too. Where such a function holds a sum over the cores, its body is written out
into the graph: a call as it is, a conditional as TF 1 writes it, with Switch and Merge. A loop
stays a loop.

The rewriting follows ``lower_if_op.cc`` and ``inline_function_utils.cc`` of TensorFlow, which do
the same when a graph is run.
"""

from __future__ import annotations

from typing import Any

from tensorflow.core.framework import types_pb2

from tpucompat.engines import collectives, host_parts
from tpucompat.engines.graphdef import (
    add_node,
    become_identity,
    called_by,
    control_inputs,
    data_inputs,
    node_name,
    set_inputs,
    tensor_name,
    with_callers,
)
from tpucompat.tf import private

_CALLS = frozenset(["PartitionedCall", "StatefulPartitionedCall"])
_CONDITIONALS = frozenset(["If", "StatelessIf"])


def inline(graph: Any, graph_def: Any, host: bool = False) -> tuple[Any, dict[str, str]]:
    """Writes out the functions that hold meetings of the replicas, as far as that can be done.

    Args:
      graph: The ``tf.Graph`` of the GraphDef.
      graph_def: A GraphDef; it is not changed.
      host: Whether functions that hold operations for the host are written out too.

    Returns:
      The GraphDef itself where it has no such functions, else another one; and where the tensors
      of the replaced nodes are now.
    """
    functions = {function.signature.name: function for function in graph_def.library.function}
    holders = with_callers(
        graph_def.library,
        {
            name
            for name, function in functions.items()
            if any(node.op in collectives.OPS for node in function.node_def)
        }
        | (host_parts.functions_with(graph_def.library) if host else set()),
    )
    moved: dict[str, str] = {}
    while holders and any(_can_be_written_out(node, holders) for node in graph_def.node):
        result = type(graph_def)()
        result.CopyFrom(graph_def)
        del result.node[:]
        for node in graph_def.node:
            if not _can_be_written_out(node, holders):
                result.node.add().CopyFrom(node)
                continue
            # The body takes the place of the node: the order of nodes says which came first.
            with graph.as_default():
                written = _Writer(result, node)
                if node.op in _CONDITIONALS:
                    written.conditional(functions)
                else:
                    written.call(functions[_function_of(node, functions)])
            moved.update({f"{node.name}:{i}": out for i, out in enumerate(written.outputs)})
            # The name stays, with an operation that has run when the replacement has.
            add_node(result, node.name, "NoOp", ["^" + written.done])
        for node in result.node:
            if any(tensor_name(source) in moved for source in node.input):
                set_inputs(node, [moved.get(tensor_name(key), key) for key in node.input])
        graph_def = result
    return graph_def, moved


def _can_be_written_out(node: Any, holders: set[str]) -> bool:
    if node.op in holders:
        return True
    if node.op not in _CALLS | _CONDITIONALS or not holders.intersection(called_by(node)):
        return False
    return node.op in _CALLS or node.attr["Tcond"].type == types_pb2.DT_BOOL


def _function_of(node: Any, functions: Any) -> str:
    return str(node.op if node.op in functions else node.attr["f"].func.name)


class _Writer:
    """Writes out one node of a GraphDef."""

    def __init__(self, graph_def: Any, node: Any) -> None:
        self.graph_def = graph_def
        self.node = node
        self.name = node.name
        self.after = control_inputs(node)
        self.outputs: list[str] = []
        self.done = ""

    def call(self, function: Any) -> None:
        """Replaces a call by the body of its function."""
        types = [arg.type for arg in function.signature.input_arg]
        given = [
            self._identity(f"argument_{index}", [source, *self.after], dtype)
            for index, (source, dtype) in enumerate(zip(data_inputs(self.node), types))
        ]
        outputs, effects = self._body("call", function, given, self.after)
        self.done = self.name + "/done"
        add_node(self.graph_def, self.done, "NoOp", ["^" + name for name in [*outputs, *effects]])
        self.outputs = [tensor_name(name) for name in outputs]

    def conditional(self, functions: Any) -> None:
        """Replaces a conditional by Switch, both branches and Merge."""
        predicate, *sources = data_inputs(self.node)
        branches = [
            functions[self.node.attr[key].func.name] for key in ("else_branch", "then_branch")
        ]
        types = [arg.type for arg in branches[0].signature.input_arg]
        sides = f"{self.name}/sides"
        add_node(
            self.graph_def, sides, "Switch", [predicate, predicate, *self.after], types_pb2.DT_BOOL
        )
        switches = []
        for index, (source, dtype) in enumerate(zip(sources, types)):
            switches.append(f"{self.name}/switch_{index}")
            add_node(
                self.graph_def, switches[-1], "Switch", [source, predicate, *self.after], dtype
            )
        ways = []
        for branch, function in enumerate(branches):
            pivot = self._identity(f"pivot_{branch}", [f"{sides}:{branch}"], types_pb2.DT_BOOL)
            given = [f"{switch}:{branch}" for switch in switches]
            outputs, effects = self._body(f"branch_{branch}", function, given, ["^" + pivot])
            waits = ["^" + name for name in [*outputs, *effects]]
            ways.append(
                [*outputs, self._identity(f"done_{branch}", [pivot, *waits], types_pb2.DT_BOOL)]
            )
        types = [arg.type for arg in branches[0].signature.output_arg] + [types_pb2.DT_BOOL]
        for index, (no, yes) in enumerate(zip(*ways)):
            merge = add_node(
                self.graph_def, f"{self.name}/merge_{index}", "Merge", [no, yes], types[index]
            )
            merge.attr["N"].i = 2
            self.outputs.append(tensor_name(merge.name))
        self.done = node_name(self.outputs.pop())

    def _body(
        self, kind: str, function: Any, given: list[str], after: list[str]
    ) -> tuple[list[str], list[str]]:
        """Adds the body of a function.

        Args:
          kind: A name for it.
          function: The FunctionDef.
          given: The tensors that are its arguments.
          after: Control inputs for what takes no input.

        Returns:
          A node for each output, and the nodes that have to run too.
        """
        body, flat = private.function_as_graph(function)
        prefix = f"{self.name}/{kind}/"
        arguments = {arg.name: tensor for arg, tensor in zip(function.signature.input_arg, given)}

        def renamed(source: str) -> str:
            name = node_name(source)
            if name in arguments:
                tensor = arguments[name]
                return "^" + node_name(tensor) if source.startswith("^") else tensor
            return "^" + prefix + source[1:] if source.startswith("^") else prefix + source

        for node in body.node:
            if node.name in arguments:
                continue
            copy = self.graph_def.node.add()
            copy.CopyFrom(node)
            copy.name = prefix + node.name
            inputs = [renamed(source) for source in node.input]
            set_inputs(copy, inputs or after)
        effects = [prefix + name for name in function.control_ret.values()]
        outputs = []
        for index, arg in enumerate(function.signature.output_arg):
            source = renamed(flat[function.ret[arg.name]])
            # A result is there when the function is done.
            waits = ["^" + name for name in effects]
            outputs.append(self._identity(f"{kind}/result_{index}", [source, *waits], arg.type))
        return outputs, effects

    def _identity(self, name: str, inputs: list[str], dtype: int) -> str:
        node = self.graph_def.node.add()
        node.name = f"{self.name}/{name}"
        node.input.extend(inputs)
        become_identity(node, dtype)
        return str(node.name)
