"""The assignments of a module, by the names that they bind and by what they assign."""

from __future__ import annotations

import ast
from typing import Iterable, Tuple

#: (scopes, target, value, how): how is "" for a plain assignment, else "item", "with", "return" or "parameter".
Pair = Tuple[Tuple[int, ...], ast.AST, ast.AST, str]


def key(node: ast.AST) -> str:
    """``model`` or ``self.model``; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    above = key(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{above}.{node.attr}" if above else ""  # type: ignore[attr-defined]


class Bindings:
    """The assignments that tell more than one value of a name.

    Args:
      pairs: All of the module, in its order.
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        #: ("unpacked", "item" or "parameter", scope, name) -> each value with its place among all.
        self._bound: dict[tuple[str, int, str], list[tuple[int, ast.AST]]] = {}
        #: The identity of a value -> the tuples and lists that it is assigned to.
        self.targets: dict[int, list[ast.Tuple | ast.List]] = {}
        for place, (scope, target, value, how) in enumerate(pairs):
            for name in self._names(target, value, how):
                where = how or "unpacked", scope[-1], name
                self._bound.setdefault(where, []).append((place, value))

    def of(self, how: str, name: str, scopes: tuple[int, ...]) -> list[ast.AST]:
        """What is assigned to a name in one of these ways, in any of some scopes."""
        found = [one for scope in {*scopes} for one in self._bound.get((how, scope, name), ())]
        return [value for _, value in sorted(found, key=lambda one: one[0])]

    def _names(self, target: ast.AST, value: ast.AST, how: str) -> set[str]:
        if how == "parameter":
            return {key(target)}
        if not isinstance(target, (ast.Tuple, ast.List)):
            return set()
        if not how:
            self.targets.setdefault(id(value), []).append(target)
            return _names_in([target]) if isinstance(value, (ast.Call, ast.Subscript)) else set()
        counts = isinstance(value, ast.Call) and key(value.func) == "enumerate"
        return _names_in(target.elts[1:] if counts else target.elts) if how == "item" else set()


def _names_in(targets: Iterable[ast.AST]) -> set[str]:
    return {key(one) for target in targets for one in ast.walk(target)}


def columns(rows: ast.AST, size: int) -> list[ast.expr]:
    """What the variables of ``for a, b in [(1, 2), (3, 4)]`` go through: [1, 3] and [2, 4]."""
    written = rows.elts if isinstance(rows, (ast.List, ast.Tuple, ast.Set)) else []
    found = [row.elts for row in written if isinstance(row, (ast.Tuple, ast.List))]
    if not found or any(len(row) != size for row in found):
        return []
    return [ast.List(list(column), ast.Load()) for column in zip(*found)]
