"""Rewrites what a script does with the ending of a file that has another one for Keras 3.

The files may come from the list of a folder, so that their names stand nowhere in the script: patterns and
comparisons get the new ending, and what takes the old one off a name takes off the new one.
"""

from __future__ import annotations

import ast
import posixpath
import re
from typing import Any, Iterator, NamedTuple

from tpucompat.commands.analysis import indexes, keras_3_files
from tpucompat.commands.analysis.keras_3 import Finder
from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter
from tpucompat.names.used import Call, constant, index_of

#: Functions that list files, of a folder or by a pattern.
_LISTING = frozenset(
    (
        *("listdir", "glob", "iglob", "rglob", "scandir", "walk", "iterdir"),
        *("Glob", "ListDirectory", "get_matching_files", "match_filenames_once"),
    )
)
_PATTERNS = frozenset(
    ("glob", "iglob", "rglob", "Glob", "fnmatch", "filter", "fnmatchcase", "match")
)
#: Methods of texts that look for the ending, or take it off.
_OF_ENDING = frozenset(
    (
        *("replace", "split", "rsplit", "partition", "rpartition", "removesuffix", "count"),
        *("find", "rfind", "index", "rindex"),
    )
)
#: Functions of names that give names.
_PASSING = frozenset(
    (
        *("sorted", "max", "min", "list", "reversed", "set", "filter", "str", "Path", "tuple"),
        *("basename", "join", "abspath", "normpath", "realpath", "expanduser", "natsorted"),
    )
)
_DEPTH = 8


class _Renamed(NamedTuple):
    """The name of a file as the script writes it, and its old and new ending."""

    name: Any
    old: str
    new: str


#: What a script fills into a name.
_PARTS = re.compile(r"%[-+ 0#]*\d*(?:\.\d+)?[a-z]|\{[^{}]*\}")


def rename(self: Rewriter, name: Any, old: str, new: str) -> None:
    """Gives the ending of a file to all that the script looks for files by.

    Args:
      self: The file that is rewritten.
      name: The name that the script writes, with the old ending; anything else where it is not one text.
      old: ``.h5``, ``.hdf5``.
      new: ``.weights.h5``, ``.keras``.
    """
    file = _Renamed(name, old, new)
    for call in _looking(self.context):
        if call.name.startswith("re."):
            _expression(self, call.node, old, new)
        elif _last(call.node) in _PATTERNS:
            _pattern(self, call.node, file)
        elif isinstance(call.node.func, ast.Attribute):
            _method(self, call.node, call.node.func, file)
    _compared(self, old, new)
    if isinstance(name, str):
        _filled(self, name, new)
    for node in _without_ending(self.finder):
        if id(node) in self.context.done:
            continue
        if isinstance(node, ast.Subscript):
            _cut(self, node, file)
        elif new.count(".") > 1:
            _stem(self, node, file)


@indexes.once
def _looking(context: Context) -> list[Call]:
    """The calls of a script that may look for files by their names."""
    methods = {"endswith", "strip", "rstrip", *_OF_ENDING}
    return [
        call
        for call in context.names.calls
        if call.name.startswith("re.")
        or _last(call.node) in _PATTERNS
        or (call.node.args and getattr(call.node.func, "attr", "") in methods)
    ]


@indexes.once
def _without_ending(finder: Finder) -> list[Any]:
    """The expressions of a script that may take the ending off a name, and the assignments of such names."""
    found: list[Any] = []
    for node in indexes.nodes(finder, ast.Subscript, ast.Attribute, ast.Assign):
        if isinstance(node, ast.Subscript):
            index: Any = index_of(node)
            is_cut = isinstance(index, ast.Slice) and index.upper is not None
            is_first = constant(index) == 0 and isinstance(node.value, ast.Call)
            if isinstance(node.ctx, ast.Load) and (is_cut or is_first):
                found.append(node)
        elif getattr(node, "attr", "") == "stem" or (
            isinstance(node, ast.Assign)
            and getattr(getattr(node.value, "func", None), "attr", "") == "splitext"
        ):
            found.append(node)
    return found


def _method(self: Rewriter, call: ast.Call, function: ast.Attribute, file: _Renamed) -> None:
    """Methods of texts that ask for the ending, or take it off."""
    last, first = function.attr, call.args[0]
    is_asked = last == "endswith" or (last in _OF_ENDING and constant(first) == file.old)
    if is_asked and _is_other(self, function.value, file):
        return
    if last == "endswith":
        for text in first.elts if isinstance(first, ast.Tuple) else [first]:
            _ending(self, text, file.old, file.new)
    elif is_asked:
        _end_once(self, first, file.new)
    elif last in ("strip", "rstrip") and constant(first) == file.old:
        what = f"name.{last}({file.old!r}) takes off characters, and files end in {file.new} now"
        self.context.todo("TPU513", what, call, self.cell(call))


def _pattern(self: Rewriter, call: ast.Call, file: _Renamed) -> None:
    """``glob('*.h5')``, also as the last part of a path."""
    is_list = _last(call) in _LISTING
    for node in call.args if not is_list or _may_list(self, call, file) else ():
        literal: Any = self.finder.literal_of(node)
        text = constant(literal)
        if isinstance(literal, ast.JoinedStr):
            text = constant(literal.values[-1])
        if isinstance(text, str) and "*" in text and text.endswith(file.old):
            _end_once(self, literal, file.new)


def _expression(self: Rewriter, call: ast.Call, old: str, new: str) -> None:
    """``re.match(r'(\\d+)\\.h5')``."""
    for node in call.args[:1]:
        if isinstance(constant(node), str) and id(node) not in self.context.done:
            cell = self.cell(node)
            source = self.context.texts[cell].source(node)
            made = re.sub(
                r"(\\{1,2}\.|\[\.\])" + re.escape(old[1:]) + r"(?!\w)",
                lambda found: new.replace(".", found.group(1)),
                source,
            )
            if made != source:
                self.context.replace(node, cell, made)


def _ending(self: Rewriter, node: ast.AST, old: str, new: str) -> None:
    if constant(node) == old:
        _end_once(self, node, new)
    else:
        _extension(self, node, old, new)


def _end_once(self: Rewriter, node: Any, new: str) -> None:
    if id(node) not in self.context.done:
        self.end_with(node, new)
        self.context.done.add(id(node))


def _extension(self: Rewriter, node: ast.AST, old: str, new: str) -> None:
    """``name.split('.')[-1] == 'hdf5'``, where the last part of the new ending is what it is compared with."""
    extension = "." + new.rpartition(".")[2]
    if constant(node) in (old, old[1:]) and extension != old:
        words = extension if constant(node) == old else extension[1:]
        self.context.replace(node, self.cell(node), repr(words))


def _compared(self: Rewriter, old: str, new: str) -> None:
    """``name[-5:] == '.hdf5'`` and ``'.hdf5' in name``."""
    for node in indexes.nodes(self.finder, ast.Compare):
        parts = (node.left, *node.comparators)
        for part in parts:
            _extension(self, part, old, new)
            index: Any = index_of(part) if isinstance(part, ast.Subscript) else None
            is_end = (
                isinstance(index, ast.Slice) and index.upper is None and index.lower is not None
            )
            size = len("." + new.rpartition(".")[2])
            for dot in (0, 1):  # with its dot, or without
                if is_end and constant(index.lower) == dot - len(old) != dot - size:
                    self.context.replace(index.lower, self.cell(part), str(dot - size))


def _filled(self: Rewriter, name: str, new: str) -> None:
    """``'w-00.h5'`` and ``'w-{:02d}.h5'``, where the script writes ``'w-%02d.h5' % epoch``."""
    if not _PARTS.search(name):
        return
    pattern = ".+".join(map(re.escape, _PARTS.split(name)))
    files = keras_3_files.arguments(self.finder)
    loaded = {id(self.finder.literal_of(path)) for path, _, _, saves in files if not saves}
    for node in indexes.nodes(self.finder, ast.Constant):
        text = constant(node)
        if not isinstance(text, str) or id(node) in self.context.done | loaded or text == name:
            continue
        if re.fullmatch(pattern, text) and not self.is_in_text(node):
            _end_once(self, node, new)


def _cut(self: Rewriter, node: ast.Subscript, file: _Renamed) -> None:
    """``name[:-3]`` and ``os.path.splitext(name)[0]`` of the name of such a file."""
    index: Any = index_of(node)
    if isinstance(index, ast.Slice):
        end = index.upper
        if end is not None and constant(end) == -len(file.old) and _names(self, node.value, file):
            self.context.replace(end, self.cell(node), str(-len(file.new)))
        return
    call = node.value
    if constant(index) != 0 or not isinstance(call, ast.Call) or file.new.count(".") == 1:
        return
    last = _last(call)
    at_dot = last in ("rsplit", "rpartition") and call.args and constant(call.args[0]) == "."
    if (last == "splitext" and any(_names(self, one, file) for one in call.args)) or (
        at_dot and _names(self, getattr(call.func, "value", call), file)
    ):
        self.wrap(node, "", ".replace('.weights', '')")
        self.context.done.add(id(node))


def _stem(self: Rewriter, node: Any, file: _Renamed) -> None:
    """``path.stem``, and ``stem, extension = os.path.splitext(path)``."""
    if getattr(node, "attr", "") == "stem" and _names(self, node, file):
        self.wrap(node, "", ".replace('.weights', '')")
        self.context.done.add(id(node))
    call = node.value if isinstance(node, ast.Assign) else None
    if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "splitext":
        first = getattr(node.targets[0], "elts", [None])[0]
        if getattr(first, "id", "_") != "_" and any(_names(self, one, file) for one in call.args):
            what = f"{first.id} ends in .weights, as files end in {file.new} now"
            self.context.todo("TPU513", what, node, self.cell(node))


def _names(self: Rewriter, node: Any, file: _Renamed) -> bool:
    """Whether an expression is the name of such a file, from the list of a folder or of the script's own."""
    found = list(_origins(self, node))
    return any(
        _may_list(self, one, file) if isinstance(one, ast.Call) else id(one) in self.context.done
        for one in found
    )


def _is_other(self: Rewriter, node: Any, file: _Renamed) -> bool:
    """Whether an expression is the name of a file from another folder."""
    lists = [one for one in _origins(self, node) if isinstance(one, ast.Call)]
    return bool(lists) and not any(_may_list(self, one, file) for one in lists)


def _origins(self: Rewriter, node: Any, depth: int = _DEPTH) -> Iterator[ast.AST]:
    """The lists of files and the texts that an expression comes from."""
    for one in _sources(self, node) if depth else ():
        is_list = isinstance(one, ast.Call) and _last(one) in _LISTING
        if is_list or isinstance(constant(one), str):
            yield one
        else:
            yield from _origins(self, one, depth - 1)


def _may_list(self: Rewriter, call: ast.Call, file: _Renamed) -> bool:
    """Whether the files of a list may be such; another folder, or another pattern, tells that they are not."""
    for given in call.args[:1]:
        text = constant(self.finder.literal_of(given))
        if not isinstance(text, str):
            continue
        if "*" in text and not text.endswith((file.old, file.new, "*")):
            return False
        here = posixpath.dirname(text) if "*" in text else text
        there = posixpath.dirname(file.name) if isinstance(file.name, str) else ""
        if here and there and not re.search(r"[*%{]", here + there):
            return posixpath.normpath(here) == posixpath.normpath(there)
    return True


def _last(call: ast.Call) -> str:
    """The last name of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _sources(self: Rewriter, node: Any) -> Iterator[ast.AST]:
    """What an expression is made of."""
    if isinstance(node, ast.Call):
        last = _last(node)
        if last in _LISTING:
            yield node
        elif last in _PASSING:
            yield from node.args
        elif isinstance(node.func, ast.Attribute) and last in (
            "split",
            "strip",
            "decode",
            "format",
        ):
            yield node.func.value
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        yield from (one.iter for one in node.generators)
    elif isinstance(node, ast.Attribute) and node.attr in ("name", "stem"):
        yield node.value
    elif isinstance(node, (ast.Name, ast.Attribute)) and key(node):
        values = self.finder.values
        yield from (*values.values(node), *values.iterated(node), *values.given(node))
        yield from values.parts_of_items(node)
    elif isinstance(constant(node), str):
        yield node
