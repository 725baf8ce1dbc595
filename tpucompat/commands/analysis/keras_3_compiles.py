"""Models that are compiled again without the metrics that they have: Keras 3 keeps them, TensorFlow 1 did not.

A model is known by the call that makes it, under all names that it has later, and through the functions that
return it or are given it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, AbstractSet, Any, Iterator

from tpucompat.commands.analysis import indexes, keras_3_members, keras_3_unseen
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_3_texts import dictionaries, item
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import argument, constant, keyword, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: What a model is that comes from a file, with the metrics that it was saved with.
_LOADED = -1
_DEPTH = 8


def calls(finder: Finder) -> list[ast.Call]:
    """All calls of ``compile`` that the script makes itself."""
    return [
        call.node
        for call in indexes.calls(finder.names, ".compile")
        if getattr(getattr(call.function, "node", None), "name", "") not in keras_3_members.WRITTEN
    ]


def again(finder: Finder) -> Iterator[Difference]:
    """Each ``compile`` without metrics of a model that may have some."""
    compiles = [one for one in calls(finder) if isinstance(one.func, ast.Attribute)]
    models = {id(one): _makers(finder, one.func.value) for one in compiles}  # type: ignore[attr-defined]
    given = {id(one): _metrics(finder, one) for one in compiles}
    measured = [one for one in compiles if any(map(_is_something, given[id(one)]))]
    for call in compiles:
        if given[id(call)] or _is_unknown(finder, call):
            continue
        made = models[id(call)]
        if _LOADED in made or any(
            made & models[id(one)] and _may_be_before(finder, one, call) for one in measured
        ):
            yield Difference(table.BEHAVIOURS["compiled_again"], call, call)


def _settings(finder: Finder, call: ast.Call) -> list[Any]:
    """What ``compile(**settings)`` is given."""
    words = [word.value for word in call.keywords if word.arg is None]
    return [one for word in words for one in dictionaries(finder, word)]


def _metrics(finder: Finder, call: ast.Call) -> list[ast.AST]:
    """What a call gives for metrics."""
    given: list[ast.AST | None] = []
    for place, word in ((2, "metrics"), (5, "weighted_metrics")):
        given.append(argument(call, place, word))
        given += [item(one, word) for one in _settings(finder, call)]
    return [one for one in given if one is not None]


def _is_something(node: ast.AST) -> bool:
    return not isinstance(node, ast.List) or bool(node.elts)


def _is_unknown(finder: Finder, call: ast.Call) -> bool:
    """Whether metrics may be among arguments that nothing shows."""
    words = [word.value for word in call.keywords if word.arg is None]
    return any(key(word) in keras_3_unseen.changed(finder) for word in words) or any(
        not isinstance(one, ast.Dict) and key(getattr(one, "func", one)) != "dict"
        for one in _settings(finder, call)
    )


def _may_be_before(finder: Finder, one: ast.Call, call: ast.Call) -> bool:
    """Whether the first of two compiles of a model may come first; in one function, by their lines."""
    values = finder.values
    if values.scope(one) != values.scope(call):
        return True
    model, other = (function.value for function in (call.func, one.func))  # type: ignore[attr-defined]
    made: list[Any] = values.values(model)
    if key(model) != key(other):  # where another name for it makes nothing new
        made = [node for node in made if isinstance(node, ast.Call)]
    loops = indexes.nodes(finder, ast.For, ast.While)
    in_loop = any({id(one), id(call)} <= indexes.inside(finder, loop) for loop in loops)
    if one.lineno > call.lineno:
        return in_loop and not any(_shares_loop(loops, call, node) for node in made)
    return not any(one.lineno < node.lineno < call.lineno for node in made)


def _shares_loop(loops: list[Any], call: ast.AST, made: ast.AST) -> bool:
    return any({id(call), id(made)} <= {id(node) for node in walk(loop)} for loop in loops)


def _makers(finder: Finder, node: Any, depth: int = _DEPTH) -> AbstractSet[int]:
    """The calls that make what an expression may be."""
    if depth == 0:
        return frozenset()
    if isinstance(node, ast.Call):
        return _of_call(finder, node, depth)
    if isinstance(node, ast.IfExp):
        parts: list[Any] = [node.body, node.orelse]
    else:
        values = finder.values
        parts = [one for one in (*values.values(node), *values.given(node)) if one is not node]
        if not parts and isinstance(node, ast.Attribute):  # of an object of a class of the script
            parts = values.assigned.get((0, f"self.{node.attr}"), [])
    found: set[int] = set()
    for one in parts:
        found |= _makers(finder, one, depth - 1)
    if not found and key(node):  # known by its name alone
        scope = 0 if key(node).startswith("self.") else finder.values.scope(node)[-1]
        found.add(hash((scope, key(node))))
    return found


def _of_call(finder: Finder, node: ast.Call, depth: int) -> AbstractSet[int]:
    below = below_keras(finder.values.called.get(id(node), ""))
    if below.rpartition(".")[2] == "load_model":
        compiles = keyword(node, "compile")
        return frozenset() if constant(compiles) is False else {_LOADED}
    function = finder.names.functions.get(key(node.func).rpartition(".")[2])
    if function is None or below:
        return {id(node)}
    returned = [one.value for one in walk(function.node) if isinstance(one, ast.Return)]
    found: set[int] = set()
    for value in returned:
        found |= _makers(finder, value, depth - 1)
    return found or {id(node)}
