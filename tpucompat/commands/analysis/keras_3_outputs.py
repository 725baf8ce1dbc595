"""Weights of the examples and classes of each output of a model, by the names of the outputs.

Keras 2 took them as a dictionary, beside targets in a dictionary or a list. Keras 3 wants one structure for
both, and of dictionaries it finds no weights: what works everywhere is a list in the order of the outputs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import key
from tpucompat.names.used import Call, argument, constant, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: Method -> the place of its sample_weight; targets stand in the second place.
_WEIGHTS = {".fit": 10, ".evaluate": 4, ".train_on_batch": 2, ".test_on_batch": 2}
_CLASS_WEIGHTS = {".fit": 9, ".fit_generator": 7, ".train_on_batch": 3}
#: Functions that migrate writes, which give lists.
_WRITTEN = frozenset(("by_output", "weights_of_classes"))


def weights_of_outputs(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``fit(x, {'a': y, 'b': z}, sample_weight={'a': w, 'b': v})``."""
    owner = key(getattr(call.node.func, "value", call.node))
    several = owner in finder.of_several_outputs()
    if call.name in _WEIGHTS:
        place = _WEIGHTS[call.name]
        given = [argument(call.node, 1, "y"), argument(call.node, place, "sample_weight")]
        yield from _together(finder, call, several, *given)
        validation: Any = argument(call.node, 7, "validation_data") if call.name == ".fit" else None
        if isinstance(validation, ast.Tuple) and len(validation.elts) == 3:
            yield from _together(finder, call, several, *validation.elts[1:])
        elif isinstance(validation, ast.Name):
            for value in finder.values.values(validation):  # which other models may be given too
                named = value.elts[1:] if isinstance(value, ast.Tuple) else []
                if len(named) == 2 and any(_together(finder, call, several, *named)):
                    row = table.BEHAVIOURS["weights_of_outputs"]._replace(how="")
                    yield Difference(row, validation, call.node, "sample_weight")
    if call.name in _CLASS_WEIGHTS:
        weights = argument(call.node, _CLASS_WEIGHTS[call.name], "class_weight")
        if weights is not None and (_by_name(finder, weights) or (several and _is_given(weights))):
            yield Difference(table.BEHAVIOURS["class_weight_of_outputs"], weights, call.node)
    if call.name == ".compile":
        yield from _of_losses(call)
    if call.name.endswith(".from_tensor_slices") and call.node.args:
        yield from _in_data(finder, call.node.args[0])


def yielded_weights(finder: Finder, node: ast.FunctionDef) -> Iterator[Difference]:
    """The same in a generator."""
    for inside in walk(node):
        if isinstance(inside, ast.Yield):
            yield from _in_data(finder, inside.value)


def _together(
    finder: Finder, call: Call, several: bool, targets: ast.expr | None, weights: ast.expr | None
) -> Iterator[Difference]:
    names = _by_name(finder, weights) if weights is not None and _is_given(weights) else []
    if weights is None or not (names or (several and _is_given(weights))):
        return
    row = table.BEHAVIOURS["weights_of_outputs"]
    if not _is_in_order(weights):
        yield Difference(row, weights, call.node, "sample_weight")
    if targets is not None and (several or len(names) > 1) and not _is_in_order(targets):
        yield Difference(row, targets, call.node, "y")


def _of_losses(call: Call) -> Iterator[Difference]:
    """Losses without a weight, beside others that have one."""
    loss, weights = argument(call.node, 1, "loss"), argument(call.node, 3, "loss_weights")
    if not isinstance(loss, ast.Dict) or not isinstance(weights, ast.Dict) or not weights.keys:
        return
    names, known = ([constant(name) for name in one.keys] for one in (loss, weights))
    missing = [name for name in names if name not in known]
    if missing and all(isinstance(name, str) for name in (*names, *known)):
        ones = ", ".join(f"{name!r}: 1.0" for name in missing)
        yield Difference(table.BEHAVIOURS["loss_weights"], weights, call.node, ones)


def _in_data(finder: Finder, batch: ast.AST | None) -> Iterator[Difference]:
    if isinstance(batch, ast.Tuple) and len(batch.elts) == 3 and _by_name(finder, batch.elts[2]):
        yield Difference(table.BEHAVIOURS["yielded_weights"], batch.elts[2])


def _by_name(finder: Finder, value: ast.AST) -> list[str]:
    """The texts that are the keys of a dictionary; none of anything else."""
    for one in finder.values.values(value) or [value]:
        if isinstance(one, ast.Dict):
            return [constant(name) for name in one.keys if isinstance(constant(name), str)]
    return []


def _is_given(value: ast.AST) -> bool:
    return not (isinstance(value, ast.Constant) and constant(value) is None)


def _is_in_order(value: ast.AST) -> bool:
    is_written = isinstance(value, ast.Call) and key(value.func) in _WRITTEN
    return is_written or isinstance(value, (ast.List, ast.Tuple))
