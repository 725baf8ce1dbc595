"""Which functions of tpucompat read like functions of the real TensorFlow 1.15.

    python tools/likeness.py SITE_PACKAGES [--from 0.75] [--tokens 40]

``SITE_PACKAGES`` is the folder that holds ``tensorflow_core`` and ``tensorflow_estimator``. The tool compares
the statements of functions that have the same name (methods: of classes with the same name), as sequences of
words. It leaves out docstrings, comments, annotations and decorators, and numbers local names, so that
renaming hides nothing. It prints each function whose likeness is at least ``--from``, the most alike first, and
exits 1 if there is one that ``tools/likeness_forced.toml`` does not allow.
"""

from __future__ import annotations

import argparse
import ast
import collections
import difflib
import pathlib
import sys
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORCED = ROOT / "tools" / "likeness_forced.toml"
#: From here on no interface is a reason.
HIGHEST_FORCED = 0.8
ORIGINALS = ("tensorflow_core", "tensorflow_estimator")


class Function(NamedTuple):
    """A function of a file: "Class.name", where it stands, and the words of its statements."""

    name: str
    place: str
    words: list[str]


class Pair(NamedTuple):
    """A function of ours, the one it is most like, and how much: 1 is the same."""

    likeness: float
    ours: Function
    original: Function


def words_of(function: ast.FunctionDef) -> list[str]:
    """The kinds of a function's syntax nodes in their order, with names and values."""
    numbers: dict[str, str] = {}
    for node in ast.walk(function):
        local = node.arg if isinstance(node, ast.arg) else ""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            local = node.id
        if local:
            numbers.setdefault(local, f"local{len(numbers)}")
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return [word for statement in body for word in _words(statement, numbers)]


#: Nodes that say nothing beside what is in them, and those that are never said.
_SILENT = (ast.Expr, ast.Load, ast.Store, ast.Del, ast.arguments, ast.Constant, ast.Name, ast.arg)


def _words(node: ast.AST, numbers: dict[str, str]) -> Iterator[str]:
    if isinstance(node, ast.AnnAssign):
        if node.value is None:
            return
        node = ast.Assign([node.target], node.value)
    if not isinstance(node, _SILENT):
        yield type(node).__name__
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "ctx", "type_comment", "kind"):
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield from _words(each, numbers)
            elif isinstance(each, str) and isinstance(node, (ast.Name, ast.arg)):
                yield numbers.get(each, each)
            elif each is not None:
                yield repr(each) if isinstance(node, ast.Constant) else str(each)


def functions(path: pathlib.Path) -> Iterator[Function]:
    """The functions and methods of a file; none where this Python cannot read it."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    todo: list[tuple[str, Any]] = [("", tree)]
    while todo:
        prefix, parent = todo.pop()
        for node in parent.body:
            if isinstance(node, ast.ClassDef):
                todo.append((f"{prefix}{node.name}.", node))
            elif isinstance(node, ast.FunctionDef):
                yield Function(prefix + node.name, f"{path}:{node.lineno}", words_of(node))


def pairs(
    originals: Sequence[pathlib.Path], project: pathlib.Path, least: float, size: int
) -> list[Pair]:
    """The functions of a project that are as much like an original as ``least``, the most alike first."""
    known = collections.defaultdict(list)
    for folder in originals:
        for path in folder.rglob("*.py"):
            for function in functions(path):
                if 2 * len(function.words) >= size:
                    known[_key(function.name)].append(function)
    found = []
    for path in sorted(project.rglob("*.py")):
        for function in functions(path):
            if len(function.words) >= size:
                alike = [
                    Pair(likeness(function.words, other.words, least), function, other)
                    for other in known[_key(function.name)]
                    if _may_be_one(function.name, other.name)
                ]
                found += sorted(alike)[-1:]
    return sorted((pair for pair in found if pair.likeness >= least), reverse=True)


def likeness(one: list[str], other: list[str], least: float = 0.0) -> float:
    """How much of two sequences of words is the same; 0 where it is surely less than ``least``."""
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
        return 0.0
    return matcher.ratio()


def _key(name: str) -> str:
    return name.rpartition(".")[2].lstrip("_")


def _may_be_one(ours: str, theirs: str) -> bool:
    """Whether two functions may have one origin: methods of unlike classes have not."""
    classes = [name.rpartition(".")[0].lstrip("_") for name in (ours, theirs)]
    return "" in classes or classes[0] == classes[1]


def forced() -> dict[str, str]:
    """What an interface forces: function -> the reason."""
    rows = {}
    for line in FORCED.read_text(encoding="utf-8").splitlines():
        name, _, reason = line.partition(" = ")
        if reason:
            rows[name.strip('"')] = reason.strip('"')
    return rows


def is_allowed(pair: Pair, allowed: Mapping[str, str]) -> bool:
    """Whether an interface forces a function to be so much like another."""
    return pair.likeness < HIGHEST_FORCED and pair.ours.name in allowed


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the functions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site_packages", type=pathlib.Path)
    parser.add_argument("--from", dest="least", type=float, default=0.75)
    parser.add_argument("--tokens", type=int, default=40, help="words of the smallest function")
    args = parser.parse_args(argv)
    originals = [args.site_packages / name for name in ORIGINALS]
    found = pairs(originals, ROOT / "tpucompat", args.least, args.tokens)
    allowed = forced()
    for pair in found:
        reason = allowed.get(pair.ours.name, "") if pair.likeness < HIGHEST_FORCED else ""
        print(
            f"{pair.likeness:.2f} {pair.ours.name} {pair.ours.place} <- {pair.original.place} {reason}"
        )
    print(f"{len(found)} functions are {args.least:.2f} or more like TensorFlow 1.15's")
    return int(not all(is_allowed(pair, allowed) for pair in found))


if __name__ == "__main__":
    sys.exit(main())
