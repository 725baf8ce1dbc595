"""What a text may be that a script does not show: of a class, a command line, a file, another function."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, AbstractSet, Any, Iterable

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis.keras_3_rules import WRAPPERS, parts
from tpucompat.commands.analysis.keras_3_texts import attributes, leaves
from tpucompat.commands.analysis.keras_values import key
from tpucompat.names.used import constant, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_LIST = re.compile(r"\w+(, ?\w+)+")
#: Methods that change a list or dictionary after it was made.
_CHANGES = frozenset(("append", "extend", "insert", "update", "setdefault"))
#: Methods that make an object of another.
_MAKES = frozenset(("clone", "from_config"))


def words(
    finder: Finder, node: Any, known: AbstractSet[str], usual: AbstractSet[str], depth: int = 4
) -> set[str]:
    """Which of the known texts an expression may be that are not seen: of those in the script, or the usual."""
    found: set[str] = set()
    if key(node) in changed(finder):
        found |= known & texts(finder)
    if isinstance(node, ast.Subscript) and key(node.value) in changed(finder):
        found |= usual | (known & texts(finder))
    for one in leaves(finder, node) if depth else ():
        made = one.func if isinstance(one, ast.Call) else one
        function = finder.names.functions.get(getattr(made, "id", ""))
        if isinstance(one, (ast.Dict, ast.List, ast.Tuple)):
            for part in parts(one):
                found |= words(finder, part, known, usual, depth - 1)
        elif isinstance(one, ast.BinOp):  # of lists
            for part in (one.left, one.right):
                found |= words(finder, part, known, usual, depth - 1)
        elif not isinstance(one, (ast.Attribute, ast.Subscript, ast.Name, ast.Call)):
            continue
        elif made is not one and function is not None and function.node.name not in WRAPPERS:
            found |= _of_all(finder, returned(finder, function.node), known, usual, depth)
        elif isinstance(one, ast.Attribute) and one.attr in attributes(finder):
            found |= _of_all(finder, attributes(finder)[one.attr], known, usual, depth)
            if not _is_own(finder, one.value):  # a command line's options, perhaps
                found |= (known & texts(finder)) | usual
        elif not _is_object(finder, made, isinstance(one, ast.Call)):
            is_near = isinstance(made, ast.Name) and made.id not in imported(finder)
            found |= (known & texts(finder)) | (set() if is_near else usual)
    return found


def _is_own(finder: Finder, owner: ast.AST) -> bool:
    """Whether an expression is a class of the script, or an object of one."""
    made = (getattr(one, "func", one) for one in (owner, *finder.values.values(owner)))
    return key(owner) in ("self", "cls") or any(key(one) in defined(finder) for one in made)


def _of_all(
    finder: Finder,
    values: Iterable[ast.AST],
    known: AbstractSet[str],
    usual: AbstractSet[str],
    depth: int,
) -> set[str]:
    """The known texts among several expressions, whether they are seen or not."""
    found: set[str] = set()
    for value in values:
        found |= words(finder, value, known, usual, depth - 1)
        for leaf in leaves(finder, value):
            found |= {constant(one) for one in parts(leaf)} & known
    return found


def returned(finder: Finder, function: ast.AST) -> list[ast.expr]:
    """What a function returns itself, not what the functions in it return."""
    found = indexes.returned(finder, function)
    return [one for one in found if finder.values.scope(one)[-1] == id(function)]


def _is_object(finder: Finder, made: Any, is_called: bool) -> bool:
    """Whether an expression is a function or an object, and no text."""
    name, last = finder.values.used.get(id(made), ""), key(made).rpartition(".")[2]
    first = key(made).partition(".")[0]
    if name.partition(".")[0] in ("tensorflow", "keras"):
        return not name.startswith(("tensorflow.contrib.training", "tensorflow.app"))
    if last in defined(finder) or last in WRAPPERS or (is_called and last in _MAKES):
        return True
    if isinstance(made, ast.Subscript) and isinstance(made.value, ast.Call):
        return finder.values.called.get(id(made.value), "").endswith(".get_custom_objects")
    if is_called and isinstance(made, ast.Call):
        return True  # getattr(optimizers, name)(…)
    if is_called and any(
        finder.values.used.get(id(one), "").startswith(("tensorflow.", "keras."))
        for one in leaves(finder, made)
    ):
        return True  # one of several classes
    if first in imported(finder) and not is_called:
        return not (last.isupper() or last.lower().startswith(("loss", "metric")))
    return is_called and (first in imported(finder) or last[:1].isupper())


@indexes.once
def defined(finder: Finder) -> set[str]:
    """The names of the script's functions, also of those in functions, and of its classes."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in indexes.nodes(finder, *kinds)}


@indexes.once
def imported(finder: Finder) -> set[str]:
    """The names that the script has from other modules."""
    imports = indexes.nodes(finder, ast.Import, ast.ImportFrom)
    aliases = (alias for one in imports for alias in one.names)
    return {(alias.asname or alias.name).partition(".")[0] for alias in aliases}


@indexes.once
def _written(finder: Finder) -> set[int]:
    """What stands in functions that migrate wrote."""
    functions = (one for one in indexes.nodes(finder, ast.FunctionDef) if one.name in WRAPPERS)
    return {id(node) for function in functions for node in walk(function)}


@indexes.once
def changed(finder: Finder) -> set[str]:
    """The names of lists and dictionaries that the script changes after it has made them."""
    found = set()
    for node in indexes.nodes(finder, ast.Call, ast.AugAssign, ast.Assign):
        if id(node) in _written(finder):
            continue
        if isinstance(node, ast.AugAssign):
            found.add(key(node.target))
        elif isinstance(node, ast.Assign):
            items = [one for one in node.targets if isinstance(one, ast.Subscript)]
            found.update(key(one.value) for one in items)
        elif getattr(node.func, "attr", "") in _CHANGES:
            found.add(key(node.func.value))
    return found - {""}


@indexes.once
def texts(finder: Finder) -> set[str]:
    """All texts of the script and the words of lists like ``adam,sgd``; not of functions that migrate wrote."""
    found: set[str] = set()
    for node in indexes.nodes(finder, ast.Constant):
        if isinstance(node.value, str) and id(node) not in _written(finder):
            listed = node.value.split(",") if _LIST.fullmatch(node.value) else ()
            found.update((node.value, *(word.strip() for word in listed)))
    return found
