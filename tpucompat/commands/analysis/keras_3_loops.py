"""Training loops of a program's own, on the replicas of a strategy."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import keyword

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_RUNS = (".run", ".experimental_run_v2")


def differences(finder: Finder) -> Iterator[Difference]:
    """The first step of each optimizer, in which Keras 3 would make its slots."""
    if finder.tf1 or not any(call.name in _RUNS for call in finder.names.calls):
        return
    built = {key(call.node.func.value) for call in finder.names.calls if call.name == ".build"}
    for call in finder.names.calls:
        function: Any = call.node.func
        if call.name != ".apply_gradients" or call.function is None:
            continue
        name = key(function.value)
        if _are_listed(finder, call.node):
            continue
        if name and name not in built and _has_slots(finder, function.value):
            built.add(name)
            yield Difference(table.BEHAVIOURS["slots"], call.node, call.node, name)


def _has_slots(finder: Finder, node: ast.AST) -> bool:
    made: list[Any] = finder.values.values(node)
    names = [below_keras(finder.values.called.get(id(one), "")) for one in made]
    plain = [
        name == "optimizers.SGD" and keyword(one, "momentum") is None and len(one.args) < 2
        for name, one in zip(names, made)
    ]
    return any(name.startswith("optimizers.") for name in names) and not all(plain)


def _are_listed(finder: Finder, call: ast.Call) -> bool:
    """Whether variables are of the script's own, in a list: there is no model whose variables are meant."""
    given = _given(call)
    return given is not None and any(
        isinstance(one, (ast.List, ast.Tuple)) for one in finder.values.values(given)
    )


def _given(call: ast.Call) -> Any:
    given: Any = call.args[0] if call.args else None
    while isinstance(given, ast.Call) and key(given.func) in ("list", "zip") and given.args:
        given = given.args[-1]
    return given


def variables_of(call: ast.Call) -> ast.Attribute | None:
    """``model.trainable_variables`` of ``apply_gradients(zip(gradients, model.trainable_variables))``"""
    given = _given(call)
    is_plain = isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name)
    return given if is_plain and given.attr.startswith("trainable_") else None
