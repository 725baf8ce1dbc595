"""Assertions in a step for a TPU.

XLA ignores them (``tensorflow/compiler/tf2xla/kernels/assert_op.cc``), and yet compiles what they ask for:
Keras' metrics compare the shapes of weights and values by operations on sets, which no TPU has. TensorFlow 1's
``keras_support`` cloned a model with its batch size, so that they were compared when the graph was built.
"""

from __future__ import annotations

from typing import Any

from tpucompat.engines import graphdef

# What surrounds an assertion in a conditional of TF 1, and in the functions of one of TF 2.
_STRUCTURE = frozenset(["Identity", "Merge", "NoOp"])
_CONDITIONALS = frozenset(["If", "StatelessIf"])
_BODY = frozenset(["Assert", "Const", "Identity", "NoOp"])


def wait_for_none(graph_def: Any) -> None:
    """Lets nothing wait for an assertion, so that what only assertions ask for is not needed.

    Args:
      graph_def: A GraphDef; its nodes are changed.
    """
    asserting = _asserting(graph_def)
    for node in graph_def.node:
        kept = [key for key in node.input if key[:1] != "^" or key[1:] not in asserting]
        if len(kept) < len(node.input):
            graphdef.set_inputs(node, kept)


def _asserting(graph_def: Any) -> set[str]:
    """The names of the nodes that do nothing but assert."""
    checks = {
        function.signature.name
        for function in graph_def.library.function
        if all(node.op in _BODY for node in function.node_def)
    }
    pivots: set[str] = set()  # they carry on which side of a conditional the assertion is
    asserting: set[str] = set()
    for node in graph_def.node:  # sources come first, but for the ends of loops
        sources = {graphdef.node_name(key) for key in node.input}
        structural = node.op in _STRUCTURE
        if node.op == "Assert" or (node.op in _CONDITIONALS and _branches(node) <= checks):
            asserting.add(node.name)
        elif (structural and sources <= pivots) or (node.op == "Switch" and len(sources) == 1):
            pivots.add(node.name)
        elif structural and sources <= pivots | asserting:
            asserting.add(node.name)
    return asserting


def _branches(node: Any) -> set[str]:
    return {node.attr[branch].func.name for branch in ("then_branch", "else_branch")}
