"""Modules of TensorFlow 1 beside a script that imports them, which were not given to ``migrate``."""

from __future__ import annotations

import ast
import os
from typing import Collection, Iterator, Mapping

from tpucompat.commands.analysis import findings
from tpucompat.commands.analysis.findings import Module
from tpucompat.commands.analysis.sources import SourceError
from tpucompat.commands.migrate import written
from tpucompat.commands.migrate.context import Context
from tpucompat.names import era
from tpucompat.names.used import walk

_ROOTS = ("tensorflow.", "keras.")


def find(module: Module, given: Collection[str]) -> Mapping[str, str]:
    """The modules that a file imports and that are not migrated with it.

    Args:
      module: The file.
      given: The paths of the files that are migrated.

    Returns:
      The name of each in the import -> its file.
    """
    found = {}
    for tree in filter(None, module.trees):
        for node in walk(tree):
            for name, level in _imported(node):
                path = _file(os.path.abspath(module.source.path), name, level)
                if path and path not in given and _is_old(path):
                    found[name] = path
    return found


def mark(context: Context) -> None:
    """Adds a TODO where a file imports such a module."""
    for node in context.nodes if context.module.left else ():
        for name, _ in _imported(node):
            path = context.module.left.get(name)
            if path is not None:
                folder = os.path.dirname(os.path.abspath(context.module.source.path))
                beside = os.path.relpath(path, folder).replace(os.sep, "/")
                what = f"{name} is written for TensorFlow 1 → tpucompat migrate {beside}"
                context.todo("TPU427", what, node, context.cell_of(node))


def _imported(node: ast.AST) -> Iterator[tuple[str, int]]:
    """(the name of a module that a statement may import, how many folders above)"""
    if isinstance(node, ast.Import):
        yield from ((alias.name, 0) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        if node.module:
            yield node.module, node.level
        head = f"{node.module}." if node.module else ""
        yield from ((head + alias.name, node.level) for alias in node.names)


def _file(importer: str, name: str, level: int) -> str:
    """The file of a module as a script beside it finds it; "" if it lies elsewhere."""
    folder = importer
    for _ in range(max(level, 1)):
        folder = os.path.dirname(folder)
    path = os.path.join(folder, *name.split("."))
    for one in (path + ".py", os.path.join(path, "__init__.py")):
        if os.path.isfile(one) and one != importer:
            return one
    return ""


def _is_old(path: str) -> bool:
    if os.path.basename(path)[: -len(".py")] in written.MODULES and written.is_ours(path):
        return False
    try:
        module = findings.analyse(path)
    except SourceError:
        return False
    uses = any(use.name.startswith(_ROOTS) for use in module.names.uses)
    return uses and module.era_known and module.era == era.TF1 and not module.uses_tpucompat
