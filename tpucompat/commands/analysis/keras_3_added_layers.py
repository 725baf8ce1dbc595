"""Layers that TensorFlow 1 added to a model for the operations of a tensor that became a loss or metric of it.

What ``migrate`` writes keeps the layers that the model had in their places, with the weights, and puts the
others behind them. How many these are, and what they are called, differs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import MODELS, key
from tpucompat.names.used import constant, index_of, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_ADDING = (".add_loss", ".add_metric")
#: What a program reads of a layer that tells of which operation it is.
_TELLING = frozenset(("name", "__class__", "get_config", "input", "output"))


def differences(finder: Finder) -> Iterator[Difference]:
    """Each place that counts such layers, or reads their names."""
    models = {
        key(function.value)
        for call in finder.names.calls
        if call.name in _ADDING
        for function in [call.node.func]
        if isinstance(function, ast.Attribute) and finder.values.kinds(function.value) & MODELS
    } - {"", "self"}
    if not models:
        return
    row = table.BEHAVIOURS["added_layers"]
    for node in finder.nodes:
        if any(_is_layers(one, models) for one in _counted(node)):
            yield Difference(row, node)
        elif isinstance(node, (ast.For, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            loops = [node] if isinstance(node, ast.For) else node.generators
            for loop in loops:
                if _goes_through(loop.iter, models) and _asks(node, loop.target):
                    yield Difference(row, loop.iter)


def _counted(node: Any) -> Iterator[ast.AST]:
    """What a node counts, or counts from the end of."""
    if isinstance(node, ast.Call) and key(node.func) == "len":
        yield from node.args
    elif isinstance(node, ast.Subscript):
        index = index_of(node)
        bounds = [index.lower, index.upper] if isinstance(index, ast.Slice) else [index]
        numbers = [number for number in map(constant, bounds) if isinstance(number, int)]
        if any(number < 0 for number in numbers) and numbers != [-1]:
            yield node.value


def _is_layers(node: Any, models: set[str]) -> bool:
    return getattr(node, "attr", "") == "layers" and key(node.value) in models


def _goes_through(node: ast.AST, models: set[str]) -> bool:
    """Whether a loop is over the layers, as they are or numbered."""
    given = node.args if isinstance(node, ast.Call) and key(node.func) == "enumerate" else [node]
    return any(_is_layers(one, models) for one in given)


def _asks(node: ast.AST, target: ast.AST) -> bool:
    """Whether a loop reads what a layer is called, or what it computes from."""
    names = {one.id for one in walk(target) if isinstance(one, ast.Name)}
    return any(
        isinstance(one, ast.Attribute) and one.attr in _TELLING and key(one.value) in names
        for one in walk(node)
    )
