"""Calls of methods that a script's own classes have under names that Keras' models have too.

``classifier.predict_classes(x)`` is Keras' only if ``classifier`` is a model. It is the script's own where each
object that it may be is of a class of the script, and that class defines the method.
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, Mapping

from tpucompat.commands.analysis.keras_3_texts import leaves
from tpucompat.commands.analysis.keras_values import Values, key

#: Methods of models and layers that are rewritten or marked by their names.
_OF_KERAS = frozenset(
    (
        *("add_loss", "add_metric", "add_update", "add_variable", "add_weight", "compile"),
        *("evaluate", "evaluate_generator", "fit", "fit_generator", "get_input_at", "get_layer"),
        *("get_losses_for", "get_output_at", "get_updates_for", "load_weights", "predict"),
        *("predict_classes", "predict_generator", "predict_on_batch", "predict_proba"),
        *("reset_states", "save", "save_weights", "summary", "test_on_batch", "to_json"),
        *("to_yaml", "train_on_batch"),
    )
)


class _Look:
    """What :func:`leaves` asks of a file."""

    def __init__(self, values: Values, nodes: list[ast.AST]) -> None:
        self.values = values
        self.nodes = nodes


def calls(module: Any) -> Iterator[int]:
    """Places in ``names.calls`` of a file of the calls of methods of the script's own objects."""
    names = module.names
    if names.functions.keys().isdisjoint(_OF_KERAS):
        return  # most files, whose nodes need not be listed
    nodes = module.nodes
    trees = [tree for tree in module.trees if tree is not None]
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    methods = {name: _methods(classes, name) for name in classes}
    own = set().union(*methods.values()) & _OF_KERAS if methods else set()
    if not own:
        return
    look: Any = None
    for place, call in enumerate(names.calls):
        function = call.node.func
        if (
            call.name[1:] not in own
            or call.name[:1] != "."
            or not isinstance(function, ast.Attribute)
        ):
            continue
        if key(function.value) in ("self", "cls"):
            continue
        look = look or _Look(Values(trees, names, graph=True), nodes)
        found = [one for one in leaves(look, function.value) if hasattr(one, "lineno")]
        if found and all(function.attr in _of_object(one, methods) for one in found):
            yield place


def _methods(classes: Mapping[str, ast.ClassDef], name: str, depth: int = 8) -> set[str]:
    """The methods of a class, and of those of the script above it."""
    node = classes.get(name)
    if node is None or not depth:
        return set()
    found = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    for base in node.bases:
        found |= _methods(classes, key(base), depth - 1)
    return found


def _of_object(node: ast.AST, methods: Mapping[str, set[str]]) -> set[str]:
    """The methods of the script's that an expression has, where it makes an object of a class of the script."""
    return methods.get(key(node.func), set()) if isinstance(node, ast.Call) else set()
