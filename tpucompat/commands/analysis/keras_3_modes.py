"""Training mode in the methods and functions of layers.

In TensorFlow 1 the mode was a tensor of the graph, which ``call`` was given as ``training`` and which
``K.learning_phase()`` returned everywhere. In Keras 3 it is an argument alone: True, False, or None where a
model is built.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import LAYER, MODELS, below_keras
from tpucompat.names.used import argument, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

TRAINING = "training"
#: They take the mode as Python's value, too.
_PHASES = ("backend.in_train_phase", "backend.in_test_phase")


def differences(finder: Finder) -> Iterator[Difference]:
    """What asks for the mode, and what takes it for a tensor."""
    known: set[int] = set()
    for function in functions(finder):
        inside = walk(function)
        known.update(map(id, inside))
        tensors = {id(one) for node in inside for one in _taken_as_tensors(finder, node)}
        for node in inside:
            kind = "tensor" if id(node) in tensors else ""
            below = below_keras(finder.values.called.get(id(node), ""))
            if below == "backend.learning_phase":
                yield Difference(table.BEHAVIOURS["training_mode"], node, None, kind)
            elif kind and getattr(node, "id", "") == TRAINING and takes_mode(function):
                yield Difference(table.BEHAVIOURS["training_tensor"], node, None, kind)
    for call in finder.names.calls:
        if below_keras(call.name) in _PHASES and argument(call.node, 2, TRAINING) is None:
            row = table.BEHAVIOURS["train_phase"]
            how = "training_argument" if id(call.node) in known else ""
            yield Difference(row._replace(how=how), call.node, call.node)


def functions(finder: Finder) -> list[Any]:
    """The functions that Keras gives the mode: each ``call`` of the script's, and those of Lambda layers."""
    found: list[Any] = []
    for node in indexes.nodes(finder, ast.ClassDef):
        if finder.values.own_class(node.name) in _OF_CALL:
            found += [
                one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "call"
            ]
    for call in finder.names.calls:
        if below_keras(call.name) == "layers.Lambda":
            function = argument(call.node, 0, "function")
            found += [function] if isinstance(function, ast.Lambda) else []
    return found


_OF_CALL = MODELS | {LAYER}


def takes_mode(function: Any) -> bool:
    """Whether a function has the argument."""
    arguments = function.args
    return any(one.arg == TRAINING for one in (*arguments.args, *arguments.kwonlyargs))


def _taken_as_tensors(finder: Finder, node: ast.AST) -> list[ast.expr]:
    """The arguments by position of a function of TensorFlow, which Python's True may not stand for."""
    name = finder.values.called.get(id(node), "")
    below = below_keras(name)
    is_layer = below.rpartition(".")[2][:1].isupper()
    if is_layer or below in _PHASES or not (name.startswith("tensorflow.") or below):
        return []  # a layer's arguments say how it is made
    call: Any = node
    return [*call.args, *(word.value for word in call.keywords if word.arg == "pred")]
