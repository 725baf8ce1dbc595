"""Questions about a whole file that many of its places ask: each is answered once, and kept with the file.

A rule that walks a file for each call of it takes four times as long for each line of a file that is four times
as long.
"""

from __future__ import annotations

import ast
import functools
from typing import Any, Callable, Iterable, TypeVar, cast

from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import Call, walk

_Question = TypeVar("_Question", bound=Callable[..., Any])


def once(question: _Question) -> _Question:
    """Keeps the answers of a function with its first argument, one for each of the other arguments.

    Args:
      question: The function. Its first argument is the object of a file, which does not change; of a Module,
        its names keep the answers. The others are nodes, texts or numbers. Its answer can be read repeatedly.
    """

    @functools.wraps(question)
    def answered(file: Any, *rest: Any) -> Any:
        keeper = file if hasattr(file, "__dict__") else file.names
        answers = keeper.__dict__.setdefault("_answers", {})
        asked = (question, *rest)
        if asked not in answers:
            answers[asked] = question(file, *rest)
        return answers[asked]

    return cast(_Question, answered)


@once
def _calls(names: Any) -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {}
    for call in names.calls:
        found.setdefault(call.name, []).append(call)
    return found


def calls(names: Any, name: str) -> list[Call]:
    """The calls of one name, such as ``.compile``, in the order of the file."""
    return _calls(names).get(name, [])


def has_call(names: Any, *wanted: str) -> bool:
    """Whether a file calls any of some names."""
    return not _calls(names).keys().isdisjoint(wanted)


@once
def called_names(names: Any) -> dict[str, None]:
    """The names of all calls, each once, in the order of the file."""
    return dict.fromkeys(_calls(names))


@once
def of_keras(names: Any) -> dict[str, dict[int, int]]:
    """What a file calls of Keras, such as ``layers.Dense`` -> the identity and place of each of its calls."""
    found: dict[str, dict[int, int]] = {}
    for call in names.calls:
        below = below_keras(call.name)
        if below:
            of_name = found.setdefault(below, {})
            of_name[id(call.node)] = len(of_name)
    return found


@once
def methods_of(names: Any) -> dict[str, list[Call]]:
    """What methods are called on, such as ``self.model`` -> the calls; "" for what has no such name."""
    found: dict[str, list[Call]] = {}
    for call in names.calls:
        owner = key(getattr(call.node.func, "value", call.node))
        found.setdefault(owner, []).append(call)
    return found


@once
def _by_class(file: Any) -> dict[type, list[Any]]:
    found: dict[type, list[Any]] = {}
    for node in file.nodes:
        kind = node.__class__
        if kind in found:
            found[kind].append(node)
        else:
            found[kind] = [node]
    return found


@once
def nodes(file: Any, *kinds: type) -> list[Any]:
    """The nodes of some classes, in the order of ``file.nodes``."""
    if len(kinds) == 1:
        return _by_class(file).get(kinds[0], [])
    return [node for node in file.nodes if node.__class__ in kinds]


def has_word(file: Any, *wanted: str) -> bool:
    """Whether a file has any of some names or attributes."""
    return not _words(file).isdisjoint(wanted)


@once
def _words(file: Any) -> set[str]:
    names = {node.id for node in nodes(file, ast.Name)}
    return names | {node.attr for node in nodes(file, ast.Attribute)}


@once
def _classes(file: Any) -> dict[str, list[tuple[int, ast.ClassDef]]]:
    found: dict[str, list[tuple[int, ast.ClassDef]]] = {}
    for place, node in enumerate(nodes(file, ast.ClassDef)):
        found.setdefault(node.name, []).append((place, node))
    return found


def classes(file: Any, wanted: Iterable[str]) -> list[ast.ClassDef]:
    """The classes of a file that have one of some names, in the order of ``file.nodes``."""
    known = _classes(file)
    found = [one for name in {*wanted} for one in known.get(name, ())]
    return [node for _, node in sorted(found, key=lambda one: one[0])]


@once
def returned(file: Any, function: ast.AST) -> list[ast.expr]:
    """What a function of a file returns, as the statements stand."""
    returns = (node for node in walk(function) if isinstance(node, ast.Return))
    return [node.value for node in returns if node.value is not None]


@once
def inside(file: Any, node: ast.AST) -> frozenset[int]:
    """The identities of a node and of all that is in it."""
    return frozenset(map(id, walk(node)))
