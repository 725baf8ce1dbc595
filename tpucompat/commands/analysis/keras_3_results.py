"""Results of a training that were numbers of NumPy in Keras 2, and best values that a callback has not yet."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import HISTORY, LOGS, MODELS, below_keras, key
from tpucompat.commands.analysis.rules import of_calls
from tpucompat.names.used import Call, index_of, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: Methods of NumPy's numbers that Python's floats do not have.
_METHODS = frozenset(
    f".{name}"
    for name in ("item", "tolist", "astype", "mean", "sum", "min", "max", "std", "round", "squeeze")
)
#: Methods of a model that give numbers.
_MEASURE = frozenset(("evaluate", "evaluate_generator", "train_on_batch", "test_on_batch"))
_KEEP_BEST = frozenset(
    f"callbacks.{name}" for name in ("ModelCheckpoint", "ReduceLROnPlateau", "EarlyStopping")
)


@of_calls(*_METHODS)
def number_methods(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``history.history['loss'][-1].item()``, ``model.evaluate(x, y)[0].tolist()``"""
    owner: Any = getattr(call.node.func, "value", None)
    if call.name in _METHODS and owner is not None and _is_number(finder, owner):
        yield Difference(table.BEHAVIOURS["number_method"], owner, call.node)


def _is_number(finder: Finder, node: Any, depth: int = 3) -> bool:
    values = finder.values
    if isinstance(node, ast.Call):
        return _measures(finder, node) or (
            getattr(node.func, "attr", "") == "get" and _is_logs(finder, node.func.value)  # type: ignore[attr-defined]
        )
    if isinstance(node, ast.Subscript):
        if isinstance(index_of(node), ast.Slice):
            return False
        is_result = _is_logs(finder, node.value) or _is_column(finder, node.value)
        made = [node.value, *values.values(node.value)]
        return is_result or any(_measures(finder, one) for one in made)
    if not key(node) or not depth:
        return False
    if any(_is_column(finder, one) for one in values.iterated(node)):
        return True
    if any(_measures(finder, one) for one in values.unpacked(node)):
        return True
    return any(_is_number(finder, one, depth - 1) for one in values.values(node))


def _measures(finder: Finder, node: Any) -> bool:
    function = getattr(node, "func", None)
    if not isinstance(function, ast.Attribute) or function.attr not in _MEASURE:
        return False
    kind = finder.values.kind(function.value)
    return not kind or kind in MODELS


def _is_logs(finder: Finder, node: ast.AST) -> bool:
    """Whether something is what a callback is given: a number for each name."""
    if isinstance(node, ast.Attribute):
        return False  # a history, which has lists
    return getattr(node, "id", "") == "logs"


def _is_column(finder: Finder, node: Any) -> bool:
    """``history.history['loss']``, or a name of it"""
    made = [node, *finder.values.values(node)]
    return any(isinstance(one, ast.Subscript) and _is_history(finder, one.value) for one in made)


def _is_history(finder: Finder, node: ast.AST) -> bool:
    if getattr(node, "id", "") == "logs":
        return False
    kind = finder.values.kind(node)
    is_attribute = getattr(node, "attr", "") == "history"
    return kind == LOGS or (is_attribute and finder.values.kind(node.value) in ("", HISTORY))  # type: ignore[attr-defined]


def bests(finder: Finder, node: ast.Attribute) -> Iterator[Difference]:
    """``checkpoint.best`` where it is read, which may be before the first value"""
    if node.attr != "best" or not isinstance(node.ctx, ast.Load):
        return
    if key(node.value) == "self":
        keeps = any(id(node) in one for one in _keeping_their_best(finder))
    else:
        made = [node.value, *finder.values.values(node.value)]
        names = (finder.values.called.get(id(one), "") for one in made)
        keeps = any(below_keras(name) in _KEEP_BEST for name in names)
    if keeps:
        yield Difference(table.BEHAVIOURS["best"], node, None, "best")


@indexes.once
def _keeping_their_best(finder: Finder) -> list[set[int]]:
    """What stands in each class that extends one of Keras, and sets no best value itself."""
    found = []
    for one in indexes.nodes(finder, ast.ClassDef):
        used = (below_keras(finder.values.used.get(id(base), "")) for base in one.bases)
        inside = list(walk(one))
        sets = any(
            getattr(part, "attr", "") == "best" and isinstance(part.ctx, ast.Store)  # type: ignore[attr-defined]
            for part in inside
        )
        if not sets and _KEEP_BEST & set(used):
            found.append(set(map(id, inside)))
    return found
