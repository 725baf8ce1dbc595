"""Files that get TensorFlow from a module beside them, by ``from utils import *``.

Such a file is read as if it imported by itself what it uses of that.
"""

from __future__ import annotations

import ast
import os
from typing import Iterable, Iterator

from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.analysis.findings import Module
from tpucompat.commands.analysis.sources import SourceError
from tpucompat.names.used import FOLLOWED, walk

#: How many such modules may stand behind each other.
_DEPTH = 3


def explicit(module: Module, on_line: bool = False) -> Module | None:
    """A file with the imports that it gets from others; None where it gets none.

    Args:
      module: The file.
      on_line: Whether to put them behind a star import in its line, so that no other line moves.
    """
    source = module.source
    tree = module.trees[0] if len(module.trees) == 1 else None
    if tree is None or source.is_notebook or module.problems:
        return None
    stars = [node for node in tree.body if _is_star(node)]
    if not stars:
        return None  # most files, whose names need not be collected
    nodes = walk(tree)
    names = [one for one in nodes if isinstance(one, ast.Name)]
    own = {one.id for one in names if not isinstance(one.ctx, ast.Load)} | {*_imported(nodes)}
    wanted = {one.id for one in names} - own
    lines = source.data.splitlines(keepends=True)
    changed = False
    for node in reversed(stars):
        found = {k: v for k, v in _given(source.path, node, _DEPTH).items() if k in wanted}
        wanted -= found.keys()
        last = (node.end_lineno or node.lineno) - 1
        if not found or lines[last].rstrip().endswith(b"\\"):
            continue
        changed = True
        text = [one.encode() for one in sorted(set(found.values()))]
        if on_line:
            line = lines[last].rstrip()
            head = line.partition(b"#")[0].rstrip().ljust(len(line))  # columns tell them apart
            lines[last] = b"; ".join([head, *text]) + b"\n"
        else:
            lines[last] = lines[last].rstrip(b"\r\n") + b"\n"
            lines.insert(last + 1, b"".join(one + b"\n" for one in text))
    if not changed:
        return None
    return findings.understand(sources.decode(source.path, b"".join(lines)))


def _is_star(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (one.asname or one.name.partition(".")[0] for one in node.names)


def _given(path: str, node: ast.stmt, depth: int) -> dict[str, str]:
    """What a star import takes of the followed packages: name -> the statement that imports it."""
    assert isinstance(node, ast.ImportFrom)
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(node.level - 1):
        folder = os.path.dirname(folder)
    module = os.path.join(folder, *(node.module or "").split("."))
    for one in (module + ".py", os.path.join(module, "__init__.py")):
        if os.path.isfile(one):
            return _imports_of(one, depth)
    return {}


def _is_followed(node: ast.ImportFrom) -> bool:
    return not node.level and (node.module or "").partition(".")[0] in FOLLOWED


def _imports_of(path: str, depth: int) -> dict[str, str]:
    try:
        tree = sources.parse(sources.read(path).units[0].text or "")
    except (SourceError, RecursionError):
        return {}
    found: dict[str, str] = {}
    for node in tree.body:
        if _is_star(node) and depth > 1:
            found.update(_given(path, node, depth - 1))
        elif isinstance(node, ast.Import):
            for one in node.names:
                name = one.asname or one.name
                if one.name.partition(".")[0] in FOLLOWED and "." not in name:
                    found[name] = f"import {one.name}" + (f" as {one.asname}" if one.asname else "")
        elif isinstance(node, ast.ImportFrom) and _is_followed(node):
            for one in node.names:
                to = f" as {one.asname}" if one.asname else ""
                found[one.asname or one.name] = f"from {node.module} import {one.name}{to}"
    return {name: text for name, text in found.items() if name[0] not in "_*"}
