"""Names and configurations that Keras itself makes, where a script reads them.

Inputs, models and optimizers without a name have another one in Keras 3, and configurations have other entries.
A script that reads none of them is left unchanged. ``_READS`` has a row for each attribute that holds such a
name.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Iterator, Mapping

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import (
    LAYER,
    METRIC,
    MODEL,
    MODELS,
    OPTIMIZER,
    below_keras,
    key,
)
from tpucompat.names import successors
from tpucompat.names.used import Call, argument, children, constant, index_of, keyword

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

INPUT, FUNCTIONAL = "input", "model"
#: What makes something that has a name -> (how Keras 2 called it, the place of ``name``).
_NAMED = {"Input": (INPUT, 2), "layers.InputLayer": (INPUT, 99), "Model": (FUNCTIONAL, 2)}
#: (attribute, kind of what has it) -> the row about it, and whether the row is about own classes alone.
_READS: Mapping[tuple[str, str], tuple[str, bool]] = {
    ("_name", OPTIMIZER): ("optimizer_name", False),
    ("input_names", MODEL): ("own_model_names", True),
    ("output_names", MODEL): ("own_model_names", True),
    ("count_params", MODEL): ("own_metrics", True),
    ("weights", MODEL): ("own_metrics", True),
    ("variables", MODEL): ("own_metrics", True),
    ("non_trainable_weights", MODEL): ("own_metrics", True),
}
_LOADS = frozenset(("load_model", "model_from_json", "model_from_yaml", "clone_model"))
#: What takes a configuration or text as a whole, and gives the same whatever stands in it.
_TAKES_WHOLE = frozenset(
    ("from_config", "model_from_config", "model_from_json", "architecture", "write", "update")
)
_WORDS = re.compile(r"(^|[._])(model|layer)s?$")


def differences(finder: Finder) -> Iterator[Difference]:
    """Every place of a file, once."""
    configurations = []
    for node in indexes.nodes(finder, ast.Attribute, ast.Call, ast.Subscript):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield from _attribute(finder, node)
        elif isinstance(node, ast.Call):
            configurations += [node] if _gives_configuration(finder, node) else []
        elif isinstance(node, ast.Subscript) and constant(index_of(node)) == "name":
            yield from _configured_name(finder, node)
    yield from _wholes(finder, configurations)
    reads = (_reads_name(finder, node) for node in indexes.nodes(finder, ast.Attribute))
    if any(reads) or _asked_by_name(finder):
        yield from _unnamed(finder)


def is_early(use: Any) -> bool:
    """Whether a name is one that TensorFlow 2 had up to 2.4."""
    fate = successors.fate(use.name)
    return fate is not None and not use.guarded and not successors.is_of_tensorflow_1(fate)


@indexes.once
def unnamed_words(finder: Finder) -> set[str]:
    """What Keras 2 named the inputs and models of a file after that have no name."""
    return {word for _, word in unnamed(finder)}


def unnamed(finder: Finder) -> Iterator[tuple[Call, str]]:
    """The calls that make an input or a model without a name, and what Keras 2 named it after."""
    inside = _in_sequentials(finder)
    from_keras = any(
        below_keras(call.name).startswith("applications.") for call in finder.names.calls
    )
    for call in finder.names.calls:
        below = below_keras(call.name)
        word, place = _NAMED.get("Input" if below.endswith(".Input") else below, ("", 0))
        is_known = argument(call.node, place, "name") is not None or any(
            one.arg is None for one in call.node.keywords
        )
        if not word or is_known or keyword(call.node, "tensor") is not None:
            continue
        if id(call.node) in inside:  # which Keras 2 named after the first layer
            continue
        # The models of Keras counted their inputs too, and count them under another name now.
        if not (word == INPUT and from_keras) and (call.node.args or call.node.keywords):
            yield call, word


def _in_sequentials(finder: Finder) -> set[int]:
    """What stands in the list of a Sequential, or is added to one."""
    found = set()
    for call in finder.names.calls:
        if below_keras(call.name) == "Sequential":
            layers = argument(call.node, 0, "layers")
            found |= {id(one) for one in getattr(layers, "elts", ())}
        elif call.name == ".add" and call.node.args:
            found.add(id(call.node.args[0]))
    return found


def _unnamed(finder: Finder) -> Iterator[Difference]:
    for call, word in unnamed(finder):
        yield Difference(table.BEHAVIOURS["unnamed"], call.node, call.node, word, "", call.guarded)


def _reads_name(finder: Finder, node: ast.AST) -> bool:
    """Whether a name is read that may be that of an input or of a model."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return False
    kind = finder.values.kind(node.value)
    if node.attr == "input_names":
        return kind in (*MODELS, "")
    if node.attr != "name":
        return False
    if kind == LAYER:
        return set(finder.class_of(node.value, kind)) <= {"layers.InputLayer", "layers.Layer"}
    if kind == MODEL:
        return not _own_classes(finder, node.value)
    return kind == "" and bool(_WORDS.search(key(node.value).lower()))


def _asked_by_name(finder: Finder) -> bool:
    """Whether a text of the script is a name that Keras 2 gave."""
    return any(
        isinstance(constant(node), str) and DEFAULT_NAME.match(constant(node))
        for node in indexes.nodes(finder, ast.Constant)
    )


DEFAULT_NAME = re.compile(r"(input_\d+|model(_\d+)?)$")


def _attribute(finder: Finder, node: ast.Attribute) -> Iterator[Difference]:
    kind = finder.values.kind(node.value)
    row, is_own = _READS.get((node.attr, kind), ("", False))
    if row and (not is_own or _is_counted(finder, node.value, row)):
        yield Difference(table.BEHAVIOURS[row], node, None, node.attr)
    if node.attr == "__name__":
        yield from _class_name(finder, node)


def _own_classes(finder: Finder, node: ast.AST) -> list[ast.ClassDef]:
    """The classes of the script that an object is made of."""
    made = {key(one.func) for one in finder.values.values(node) if isinstance(one, ast.Call)}
    if not any(map(finder.values.own_class, made)):
        return []
    return indexes.classes(finder, made)


def _is_counted(finder: Finder, node: ast.AST, row: str) -> bool:
    """Whether an object is of a class of the script; of one that keeps metrics, where they are counted."""
    return any(
        row != "own_metrics" or _keeps_metrics(finder, found)
        for found in _own_classes(finder, node)
    )


@indexes.once
def _keeps_metrics(finder: Finder, found: ast.ClassDef) -> bool:
    return any(
        METRIC in finder.values.kinds(one.value)
        for one in ast.walk(found)
        if isinstance(one, ast.Assign) and key(one.targets[0]).startswith("self.")
    )


def _class_name(finder: Finder, node: ast.Attribute) -> Iterator[Difference]:
    """``type(model).__name__`` and ``model.__class__.__name__``"""
    owner: Any = node.value
    if isinstance(owner, ast.Call) and key(owner.func) == "type" and len(owner.args) == 1:
        found = owner.args[0]
    elif isinstance(owner, ast.Attribute) and owner.attr == "__class__":
        found = owner.value
    else:
        return
    kind = finder.values.kind(found)
    nests = kind == LAYER and _nests(finder)
    may_be = kind == MODEL and not _own_classes(finder, found)
    if may_be or (nests and not finder.class_of(found, kind)):
        yield Difference(table.BEHAVIOURS["class_name"], node, None, "__name__")


@indexes.once
def _nests(finder: Finder) -> bool:
    """Whether a model is called by its name."""
    calls = indexes.nodes(finder, ast.Call)
    return any(
        isinstance(call.func, ast.Name) and finder.values.kind(call.func) == MODEL for call in calls
    )


def _configured_name(finder: Finder, node: ast.Subscript) -> Iterator[Difference]:
    """``optimizer.get_config()['name']``"""
    made: Any = node.value
    is_asked = getattr(getattr(made, "func", None), "attr", "") == "get_config"
    if is_asked and finder.values.kind(made.func.value) == OPTIMIZER:
        yield Difference(table.BEHAVIOURS["optimizer_name"], node, made, "name")


# Configurations ---------------------------------------------------------------------------------------


def _gives_configuration(finder: Finder, node: ast.Call) -> bool:
    method = getattr(node.func, "attr", "")
    if method in ("get_config", "to_json"):
        return _has_configuration(finder, node.func.value, method)  # type: ignore[attr-defined]
    return bool(_SERIALIZES.match(below_keras(finder.values.called.get(id(node), ""))))


def _wholes(finder: Finder, configurations: list[ast.Call]) -> Iterator[Difference]:
    """``print(layer.get_config())``, ``json.loads(model.to_json())``"""
    nodes = finder.nodes if configurations else []
    above = {id(child): node for node in nodes for child in children(node)}
    for made in configurations:
        method = getattr(made.func, "attr", "")
        row = table.BEHAVIOURS["json" if method == "to_json" else "config"]
        for use in _uses(finder, made, above):
            yield Difference(row, use, None, method)


_SERIALIZES = re.compile(r"(optimizers|initializers|regularizers|constraints|layers)\.serialize$")


def _has_configuration(finder: Finder, owner: ast.AST, method: str) -> bool:
    """Whether Keras itself, and no class of the script, says what stands in a configuration."""
    kind = finder.values.kind(owner)
    if kind == OPTIMIZER:
        return method == "get_config"
    if kind == "" and getattr(owner, "attr", "").endswith(_PARTS):
        return True
    known = MODELS if method == "to_json" else (*MODELS, LAYER)
    return kind in known and not _own_classes(finder, owner)


#: How the entries of a configuration are called that are configurations themselves.
_PARTS = ("_initializer", "_regularizer", "_constraint")


def _uses(finder: Finder, node: ast.AST, above: Mapping[int, ast.AST]) -> Iterator[ast.AST]:
    """Where a configuration is shown or gone through, instead of asked for one entry or made into an object."""
    parent: Any = above.get(id(node))
    if isinstance(parent, ast.Assign) and parent.value is node and len(parent.targets) == 1:
        name = key(parent.targets[0])
        for one in _reads(finder).get(name, ()) if name else ():
            if node in finder.values.values(one):
                yield from _uses_of(one, above)
    else:
        yield from _uses_of(node, above)


@indexes.once
def _reads(finder: Finder) -> dict[str, list[ast.AST]]:
    """Where the names and attributes of a file are read."""
    found: dict[str, list[ast.AST]] = {}
    for node in indexes.nodes(finder, ast.Name, ast.Attribute):
        if isinstance(node.ctx, ast.Load):
            found.setdefault(key(node), []).append(node)
    return found


def _uses_of(node: ast.AST, above: Mapping[int, ast.AST]) -> Iterator[ast.AST]:
    parent: Any = above.get(id(node))
    while isinstance(parent, (ast.keyword, ast.Starred, ast.FormattedValue, ast.JoinedStr)):
        parent = above.get(id(parent))
    if isinstance(parent, ast.Call) and node is not parent.func:
        function = parent.func
        last = getattr(function, "attr", getattr(function, "id", ""))
        if last not in _TAKES_WHOLE:
            yield parent
    elif isinstance(parent, ast.Attribute) and parent.attr in ("items", "keys", "values"):
        yield parent
    elif isinstance(parent, ast.Subscript) and parent.value is node:
        name, outer = str(constant(index_of(parent))), above.get(id(parent))
        is_item = isinstance(outer, ast.Subscript) and outer.value is parent
        if (name == "layers" and not is_item) or name.endswith(_PARTS):
            yield parent
    elif isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node:
        yield node
    elif isinstance(parent, (ast.Compare, ast.BinOp)) and not (
        isinstance(parent, ast.Compare) and isinstance(constant(parent.left), str)
    ):
        yield parent


# Variables --------------------------------------------------------------------------------------------


def is_made_again(finder: Finder, node: ast.AST, depth: int = 5) -> bool:
    """Whether a variable is one of a model that was loaded or copied in a process with other layers.

    Args:
      finder: The file.
      node: The variable, or what has it.
      depth: How far assignments are followed.
    """
    if not any(one.startswith("layers.") for one in indexes.of_keras(finder.names)):
        return False
    owner: Any = node
    while isinstance(owner, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(owner, ast.Call):
            name = finder.values.called.get(id(owner), "").rpartition(".")[2]
            if name in _LOADS:
                return True
            if not isinstance(owner.func, ast.Attribute):
                return False
            owner = owner.func
        owner = owner.value
    made = [*finder.values.values(owner), *finder.values.iterated(owner)] if depth else []
    return any(is_made_again(finder, one, depth - 1) for one in made if one is not node)
