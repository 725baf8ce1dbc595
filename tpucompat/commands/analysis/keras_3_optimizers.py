"""Optimizers of a script's own classes, and those that are made of settings or of one of several classes."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes, keras_1_rules
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import WRAPPERS, Difference
from tpucompat.commands.analysis.keras_3_texts import item, leaves
from tpucompat.commands.analysis.keras_3_unseen import defined, imported, texts
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import Call, constant, keyword

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
#: Names of settings that Keras 3 refuses or ignores.
OLD_SETTINGS = ("lr", "decay")


def differences(finder: Finder) -> Iterator[Difference]:
    """Every call that makes an optimizer of settings, and the steps and rates of the script's own classes."""
    yield from _of_settings(finder)
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


def _of_settings(finder: Finder) -> Iterator[Difference]:
    """``Adam(**settings)``, and ``make(lr=0.1)`` where ``make`` may be one of several classes of Keras."""
    row = table.BEHAVIOURS["settings"]
    for call in indexes.nodes(finder, ast.Call):
        settings = [word.value for word in call.keywords if word.arg is None]
        words = {word.arg for word in call.keywords}.intersection(OLD_SETTINGS)
        if not (settings or words) or key(call.func) in WRAPPERS:
            continue
        is_old = any(_is_old(finder, one) for one in settings)
        name = finder.values.called.get(id(call), "")
        rate = keras_1_rules.rate_beside_settings(finder, name, call)
        if is_class(name) or _gives_class(finder, call.func):
            # Where there are no settings, the words have rows of their own.
            is_found = is_old or any(_is_unseen(finder, one) for one in settings)
            is_found = is_found or bool(rate or (words and settings))
        else:
            is_found = bool(words or is_old) and _is_chosen(finder, call.func)
        if is_found:
            yield Difference(row, call, call, str(rate or ""))


def old_names(settings: ast.AST, call: Call) -> Iterator[Difference]:
    """The names of a dictionary that Keras 3 does not take."""
    words = settings.keys if isinstance(settings, ast.Dict) else ()
    for word in (one for one in words if constant(one) in OLD_SETTINGS):
        row = table.ARGUMENTS["*", constant(word)]
        yield Difference(
            row._replace(how="text" if constant(word) == "lr" else ""), word, call.node, row.becomes
        )
    for name in OLD_SETTINGS if isinstance(settings, ast.Call) else ():
        if item(settings, name) is not None:
            yield Difference(table.ARGUMENTS["*", name]._replace(how=""), settings, call.node)


def is_class(name: str) -> bool:
    """Whether a name is that of a class of Keras' optimizers."""
    package, _, last = below_keras(name).rpartition(".")
    return package == "optimizers" and last[:1].isupper()


def _gives_class(finder: Finder, node: ast.AST) -> bool:
    """Whether an expression is seen to be a class of Keras' optimizers."""
    for one in leaves(finder, node):
        if isinstance(one, ast.Call) and key(one.func) == "getattr" and one.args:
            name = finder.values.used.get(id(one.args[0]), "")
            if below_keras(name + ".X") == "optimizers.X":
                return True
        if is_class(finder.values.used.get(id(one), "")):
            return True
    return False


def _is_chosen(finder: Finder, node: ast.AST) -> bool:
    """Whether an expression may be one of the classes that the script holds in lists, tables or names."""
    if isinstance(node, ast.Attribute) and key(node.value) != "self":
        return False
    name = key(node).rpartition(".")[2]
    if name in (*defined(finder), *imported(finder)) or hasattr(builtins, name):
        return False
    made = (finder.values.called.get(id(one), "") for one in finder.values.values(node))
    is_tuple = any(one.endswith(("namedtuple", "NamedTuple")) for one in made)
    return not is_tuple and _holds_classes(finder)


@indexes.once
def _holds_classes(finder: Finder) -> bool:
    """Whether the script uses an optimizer's class as a value, other than to call it or to extend it."""
    called = {id(call.func) for call in indexes.nodes(finder, ast.Call)}
    extended = {id(base) for one in indexes.nodes(finder, ast.ClassDef) for base in one.bases}
    named = (node for node, name in finder.values.used.items() if is_class(name))
    return any(node not in called and node not in extended for node in named)


def _is_old(finder: Finder, settings: ast.AST) -> bool:
    """Whether the script shows that a dictionary has a name that Keras 3 does not take."""
    found = (item(one, name) for one in leaves(finder, settings) for name in OLD_SETTINGS)
    return any(value is not None for value in found)


def _is_unseen(finder: Finder, settings: ast.AST) -> bool:
    """Whether a dictionary comes from elsewhere, and may have such a name."""
    return _has_old_names(finder) and not all(map(_is_written_out, leaves(finder, settings)))


def _is_written_out(node: ast.AST) -> bool:
    """``{'lr': 0.1}`` or ``dict(lr=0.1)``"""
    if isinstance(node, ast.Dict):
        return None not in node.keys
    return isinstance(node, ast.Call) and key(node.func) == "dict" and not node.args


@indexes.once
def _has_old_names(finder: Finder) -> bool:
    """Whether a file may hold such names: one of TensorFlow 1, or that has them itself."""
    words = {word.arg for call in indexes.nodes(finder, ast.Call) for word in call.keywords}
    return finder.tf1 or not {*words, *texts(finder)}.isdisjoint(OLD_SETTINGS)


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
