"""Classes of a script that extend optimizers of Keras."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import keyword

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: Methods by which optimizers of Keras 2 made their steps, and which Keras 3 calls no more.
_STEPS = frozenset(
    (
        *("get_updates", "get_gradients", "_create_slots", "_prepare", "_prepare_local"),
        *("_resource_apply_dense", "_resource_apply_sparse"),
        *("_resource_apply_sparse_duplicate_indices",),
    )
)


def differences(finder: Finder) -> Iterator[Difference]:
    """Their steps, and the learning rates that they are given."""
    own = _own(finder)
    if not own:
        return
    for node in own.values():
        if any(getattr(one, "name", "") in _STEPS for one in node.body):
            yield Difference(table.BEHAVIOURS["own_steps"], node)
    row = table.ARGUMENTS["*", "lr"]
    for call in indexes.nodes(finder, ast.Call):
        rate = keyword(call, "lr")
        if rate is not None and _passes_on(own, finder, call):
            yield Difference(row, rate, call, "lr")


@indexes.once
def _own(finder: Finder) -> dict[str, ast.ClassDef]:
    """Name -> the class, where it or one above it extends an optimizer of Keras."""
    found: dict[str, ast.ClassDef] = {}
    for node in indexes.nodes(finder, ast.ClassDef):
        for base in node.bases:
            below = below_keras(finder.values.used.get(id(base), ""))
            if below.startswith("optimizers.") or key(base) in found:
                found[node.name] = node
    return found


def _passes_on(own: dict[str, ast.ClassDef], finder: Finder, call: ast.Call) -> bool:
    """Whether a call gives its arguments to the class of Keras: ``super().__init__(lr=…)``, ``Own(lr=…)``."""
    function: Any = call.func
    if getattr(function, "attr", "") != "__init__":
        made = own.get(key(function))
        return made is not None and _takes_any(own, made)
    owner = function.value
    if isinstance(owner, ast.Call) and key(owner.func) == "super":
        inside = next(
            (one for one in own.values() if id(call) in indexes.inside(finder, one)), None
        )
        bases = [own[key(base)] for base in inside.bases if key(base) in own] if inside else []
        return inside is not None and all(_takes_any(own, base) for base in bases)
    return below_keras(finder.values.used.get(id(owner), "")).startswith("optimizers.")


def _takes_any(own: dict[str, ast.ClassDef], made: ast.ClassDef) -> bool:
    """Whether a class knows no ``lr`` of its own, and gives it to the one above."""
    maker: Any = next((one for one in made.body if getattr(one, "name", "") == "__init__"), None)
    if maker is not None:
        arguments = maker.args
        known = {one.arg for one in (*arguments.args, *arguments.kwonlyargs)}
        return "lr" not in known and arguments.kwarg is not None
    return all(_takes_any(own, own[key(base)]) for base in made.bases if key(base) in own)
