"""Calls of a script's own layers and models, which Keras 3 gives nothing but tensors by position."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import constant, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder


#: Methods of models whose calls are rewritten: their arguments, their results, or what they print.
_REWRITTEN = frozenset(
    (
        *("compile", "fit", "evaluate", "predict", "fit_generator", "evaluate_generator"),
        *("predict_generator", "train_on_batch", "test_on_batch", "save", "save_weights"),
        *("load_weights",),
    )
)
_OF_CLASSES = re.compile(r"(^|\.)(Model|Sequential)\.\w+$")


def differences(finder: Finder) -> Iterator[Difference]:
    """Each call with ``training`` or a number by position, and methods that are called by other names."""
    if finder.early:
        yield from _bound(finder)
    own = _own(finder)
    if not own:
        return
    made = _made(finder, own)
    for node in indexes.nodes(finder, ast.Call):
        if len(node.args) > 1:
            found = {own[name] for name in _classes(node.func, own, made)}
            names = _names(node, *found) if len(found) == 1 else []
            if names:
                yield Difference(table.BEHAVIOURS["positional"], node, node, ",".join(names))


def _bound(finder: Finder) -> Iterator[Difference]:
    """Methods of models that are values: ``train = model.fit``, and ``partial(Model.compile, loss='mse')``."""
    called = {id(call.func) for call in indexes.nodes(finder, ast.Call)}
    asked = {id(node.value) for node in indexes.nodes(finder, ast.Attribute)}
    for node in indexes.nodes(finder, ast.Attribute):
        if node.attr not in _REWRITTEN or id(node) in called or id(node) in asked:
            continue
        name = below_keras(finder.values.used.get(id(node), ""))
        is_method = finder._is_model(node.value) or _OF_CLASSES.search(name) is not None
        if is_method and isinstance(node.ctx, ast.Load) and id(node) not in finder.names.own:
            yield Difference(table.BEHAVIOURS["bound_method"], node)


def _own(finder: Finder) -> dict[str, tuple[str, ...]]:
    """Class -> the parameters of its ``call``."""
    found = {}
    for node in indexes.nodes(finder, ast.ClassDef):
        if not node.bases:
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "call":
                found[node.name] = tuple(one.arg for one in method.args.args[1:])
    return found


def _made(finder: Finder, own: dict[str, tuple[str, ...]]) -> dict[str, set[str]]:
    """Name -> the classes of what is assigned to it, or of the items of that."""
    made: dict[str, set[str]] = {}
    for node in indexes.nodes(finder, ast.Assign):
        inside = [one for one in walk(node.value) if isinstance(one, ast.Call)]
        classes = {key(one.func) for one in inside} & own.keys()
        for target in node.targets if classes else ():
            made.setdefault(key(target), set()).update(classes)
    for node in indexes.nodes(finder, ast.For, ast.comprehension):
        if key(node.iter) in made:
            made.setdefault(key(node.target), set()).update(made[key(node.iter)])
    made.pop("", None)
    return made


def _classes(
    function: ast.expr, own: dict[str, tuple[str, ...]], made: dict[str, set[str]]
) -> set[str]:
    """The classes of what is called."""
    if isinstance(function, ast.Call):
        return {key(function.func)} & own.keys()
    if isinstance(function, ast.Subscript):
        function = function.value
    return made.get(key(function), set())


def _names(call: ast.Call, parameters: tuple[str, ...]) -> list[str]:
    """The parameters from the first that is given something else than a tensor."""
    if len(call.args) > len(parameters) or any(isinstance(one, ast.Starred) for one in call.args):
        return []
    for place, (given, name) in enumerate(zip(call.args, parameters)):
        is_plain = isinstance(constant(given), (bool, int, float, str))
        if place and (is_plain or name == "training"):
            return list(parameters[place : len(call.args)])
    return []
