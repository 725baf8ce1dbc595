"""What an expression of a script may be: texts are followed to the places where they are written."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis.keras_values import key
from tpucompat.names.used import constant, index_of, keyword, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder


def leaves(
    finder: Finder,
    node: ast.AST,
    seen: set[int] | None = None,
    within: frozenset[int] = frozenset(),
) -> Iterator[ast.AST]:
    """What an expression may be; a name, attribute or item stands for itself where nothing is known of it.

    Args:
      finder: Knows the assignments.
      node: The expression.
      seen: The identities of the expressions that were followed for the same result.
      within: Those of the expressions whose container this one is: a recursive function passes itself a
        part of its own parameter.
    """
    seen = set() if seen is None else seen
    if id(node) in seen or id(node) in within:
        return
    seen.add(id(node))
    within |= {id(node)}
    parts: list[Any] = []
    if isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, ast.Subscript):
        parts = list(_items(finder, node.value, constant(index_of(node)) or "", within))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        if node.func.attr == "get" and node.args:
            items = _items(finder, owner, constant(node.args[0]) or "", within)
            parts = [*items, *node.args[1:]]
        elif node.func.attr in ("lower", "strip"):
            parts = [owner]
    elif isinstance(node, (ast.Name, ast.Attribute)):
        values = finder.values
        parts = [*values.values(node), *values.given(node), *_defaults(finder, node)]
        for container in values.iterated(node):
            parts += _items(finder, container, None, within)
        for whole in values.taken_apart(node):
            parts += _unpacked(finder, node, whole, within)
        if not parts and isinstance(node, ast.Attribute) and key(node.value) in ("self", "cls"):
            parts = attributes(finder).get(node.attr, [])
    if not parts:
        yield node
    for one in parts:
        yield from leaves(finder, one, seen, within)


@indexes.once
def attributes(finder: Finder) -> dict[str, list[ast.AST]]:
    """What the script's classes and their objects have: ``loss = 'mse'`` in a class, and ``self.loss = …``."""
    found: dict[str, list[ast.AST]] = {}
    for (_, name), values in finder.values.assigned.items():
        owner, _, attribute = name.rpartition(".")
        if owner == "self":
            found.setdefault(attribute, []).extend(values)
    for node in indexes.nodes(finder, ast.ClassDef):
        for one in (one for one in node.body if isinstance(one, ast.Assign)):
            for target in one.targets:
                found.setdefault(key(target), []).append(one.value)
    return found


def far(finder: Finder, node: ast.AST) -> Iterator[ast.AST]:
    """What an expression may be that is written elsewhere.

    The script may also print such a text, compare it or make a name of it.
    """
    inside = {id(one) for one in walk(node)}
    return (one for one in leaves(finder, node) if id(one) not in inside)


def dictionaries(finder: Finder, node: ast.AST, seen: set[int] | None = None) -> Iterator[ast.AST]:
    """What a dictionary may be, with those that it takes in: ``dict(these, loss='mse')``."""
    seen = set() if seen is None else seen
    for one in (one for one in leaves(finder, node) if id(one) not in seen):
        seen.add(id(one))
        yield one
        for inner in taken_in(one):
            yield from dictionaries(finder, inner, seen)


def taken_in(node: Any) -> list[ast.expr]:
    """The dictionaries whose items become those of another: ``{**these, 'loss': 'mse'}``."""
    if isinstance(node, ast.Dict):
        return [value for name, value in zip(node.keys, node.values) if name is None]
    if isinstance(node, ast.Call) and key(node.func) == "dict":
        spread = [word.value for word in node.keywords if word.arg is None]
        return [*node.args, *spread]
    return []


def _items(
    finder: Finder, container: ast.AST, name: object, within: frozenset[int]
) -> Iterator[ast.AST]:
    """The items of a list or dictionary: of one key, of any if that is "", or what a loop over it sees."""
    for one in leaves(finder, container, within=within):
        value = item(one, name) if isinstance(name, str) else None
        if value is not None:
            yield value
        elif isinstance(one, ast.Dict):
            yield from one.values if name is not None else (word for word in one.keys if word)
        elif isinstance(one, (ast.List, ast.Tuple, ast.Set)):
            yield from one.elts
        elif isinstance(one, ast.Call) and getattr(one.func, "attr", "") == "values":
            yield from _items(finder, one.func.value, "", within)  # type: ignore[attr-defined]


def _unpacked(
    finder: Finder, node: ast.AST, whole: ast.AST, within: frozenset[int]
) -> Iterator[ast.AST]:
    """What a name is given of ``name, other = table[key]``."""
    places = finder.values.places(node, whole)
    for one in leaves(finder, whole, within=within) if places else ():
        if isinstance(one, (ast.Tuple, ast.List)):
            yield from (one.elts[place] for place in places if place < len(one.elts))


def _defaults(finder: Finder, node: ast.AST) -> Iterator[ast.AST]:
    """The default of a parameter, and the parameter itself where its calls are not seen."""
    scopes = finder.values.scope(node)
    if not isinstance(node, ast.Name) or len(scopes) == 1:
        return
    for function in indexes.nodes(finder, ast.FunctionDef, ast.Lambda):
        if id(function) in scopes:
            given = function.args
            places = given.args[len(given.args) - len(given.defaults) :]
            both = [*zip(places, given.defaults), *zip(given.kwonlyargs, given.kw_defaults)]
            yield from (value for one, value in both if one.arg == node.id and value is not None)
            if getattr(function, "name", "") == "__init__" and any(
                one.arg == node.id for one in (*given.args, *given.kwonlyargs)
            ):
                yield ast.Name(node.id, ast.Load())


def item(node: ast.AST, name: str) -> ast.expr | None:
    """The value of a key of a dictionary that the script writes out."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values)
        return next((value for word, value in pairs if constant(word) == name), None)
    is_dict = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict"
    return keyword(node, name) if is_dict else None  # type: ignore[arg-type]
