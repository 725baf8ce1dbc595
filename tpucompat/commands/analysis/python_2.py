"""Built-in names of Python 2 in a script, which Python 3 defines under tpucompat only."""

from __future__ import annotations

import ast
import re
from typing import Any, Iterator, Mapping, Sequence

from tpucompat.commands.analysis.keras_3_rows import Row
from tpucompat.names.used import walk

#: Name -> its row; a test compares them with those that a script of tpucompat is given.
NAMES: Mapping[str, Row] = {
    old: Row(f"{old} of Python 2", new, "python_2" if new[0] != "(" else "", "TPU220")
    for old, new in (
        ("basestring", "str"),
        ("cmp", "(a > b) - (a < b)"),
        ("long", "int"),
        ("raw_input", "input"),
        ("reduce", "functools.reduce"),
        ("reload", "importlib.reload"),
        ("unichr", "chr"),
        ("unicode", "str"),
        ("xrange", "range"),
    )
}
#: What generators and Keras' iterators over pictures had.
NEXT = Row("iterator.next()", "next(iterator)", "next", "TPU220")
#: What a reloaded ``sys`` had; Python 3 has the encoding that it was called for.
ENCODING = Row("sys.setdefaultencoding()", "", "no_encoding", "TPU220")
# Without \b in front: `re` skips to the first letters of alternatives, and not to the starts of words.
_NAME = "|".join(rf"{name}(?<!\w{name})\b" for name in NAMES)
_ANY = re.compile(rf"{_NAME}|\.next\(\)|\.setdefaultencoding\(")
#: What no text is without whose trees have something for ``names``, ``steps`` or ``encodings``.
# (An attribute may stand behind the ends and the comments of some lines, but hardly of more than twenty.)
_WORDS = re.compile(rf"{_NAME}|\.\s*(?:(?:\\|#[^\n]*)\n\s*){{0,20}}next\b|setdefaultencoding")


def may_be_in(texts: Sequence[str]) -> bool:
    """Whether texts have such words at all."""
    return any(map(_ANY.search, texts))


def speaks_of_it(text: str) -> bool:
    """Whether the trees of a text are worth a search, in whatever way it is spelled."""
    return _WORDS.search(text) is not None


def names(nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.Name, Row]]:
    """Such names in a file that binds them nowhere, and does not ask for the Python that it runs on.

    Args:
      nodes: All nodes of the file.
    """
    found = [node for node in nodes if isinstance(node, ast.Name) and node.id in NAMES]
    if not found or any(_asks(node) for node in nodes):
        return
    bound = {name for node in nodes for name in _bound(node)}
    of_sys = {id(node) for node in encodings(nodes)}
    for node in found:
        if node.id not in bound and id(node) not in of_sys:
            yield node, NAMES[node.id]


def steps(nodes: Sequence[ast.AST]) -> Iterator[ast.Attribute]:
    """``iterator.next`` of a call, in a file without a method of that name, its own or that of TarFile.

    Args:
      nodes: All nodes of the file.
    """
    found = [
        node.func
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "next"
        and not (node.args or node.keywords)
    ]
    if found and {"next", "tarfile"}.isdisjoint(name for node in nodes for name in _bound(node)):
        yield from found


def encodings(nodes: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """``reload`` of ``sys`` and ``sys.setdefaultencoding``, where a file does not ask for its Python.

    Args:
      nodes: All nodes of the file.
    """
    calls = (node for node in nodes if isinstance(node, ast.Call))
    found = [call.func for call in calls if _is_reload_of_sys(call) or _sets_encoding(call)]
    if found and not any(_asks(node) for node in nodes):
        yield from found


def _is_reload_of_sys(call: ast.Call) -> bool:
    given = [getattr(one, "id", "") for one in call.args]
    return getattr(call.func, "id", "") == "reload" and given == ["sys"]


def _sets_encoding(call: ast.Call) -> bool:
    return getattr(call.func, "attr", "") == "setdefaultencoding"


def _asks(node: ast.AST) -> bool:
    """Whether a handler, a version or an import of everything may give the file names of its own."""
    if isinstance(node, ast.ExceptHandler) and node.type is not None:
        return any(getattr(one, "id", "") == "NameError" for one in walk(node.type))
    if isinstance(node, ast.ImportFrom):
        return any(one.name == "*" for one in node.names)
    return isinstance(node, ast.Attribute) and node.attr in ("version_info", "PY2", "PY3")


def _bound(node: Any) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
