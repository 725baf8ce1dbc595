"""The loops that ``tpucompat migrate`` has written for a script, and who is told when one is imported.

A loop stands beside the file that uses it, which may be a module of a package: ``lm/training_loop.py`` is
imported as ``lm.training_loop``, and a module ``training_loop`` beside it would be another one.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import os
import pathlib
import sys
import types
from typing import Any, Callable, Iterator, Mapping, Sequence

from tpucompat.commands.migrate import written
from tpucompat.names.used import walk


def of(script: str) -> set[str]:
    """The loops that a script imports, or what it imports does."""
    script = os.path.realpath(script)
    folder = os.path.dirname(script)
    # Where its loop is beside it, a script may have put folders below on Python's path.
    beside = any(_is_loop(os.path.join(folder, name + ".py")) for name in written.LOOPS)
    below = list(pathlib.Path(folder).rglob("*.py")) if beside else []
    waiting, reached = {script}, set()
    while waiting:
        path = waiting.pop()
        reached.add(path)
        try:
            text = pathlib.Path(path).read_bytes()
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        stems = written.imported_names(text)
        found = {*_imported(tree, path, folder), *(str(one) for one in below if one.stem in stems)}
        waiting |= {os.path.realpath(one) for one in found} - reached
    return {pathlib.Path(path).stem for path in reached if _is_loop(path)}


def _is_loop(path: str) -> bool:
    name = os.path.basename(path)[: -len(".py")]
    return name in written.LOOPS and os.path.exists(path) and written.is_ours(path)


def _imported(tree: ast.Module, path: str, folder: str) -> Iterator[str]:
    """The files that a file imports: of its own folder, of the script's, and of a package that it is in."""
    here = os.path.dirname(path)
    above = [str(one) for one in pathlib.Path(path).parents]
    for node in walk(tree):
        if isinstance(node, ast.Import):
            heads = [(alias.name, [""]) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            heads = [(node.module or "", ["", *(alias.name for alias in node.names)])]
        else:
            continue
        level = getattr(node, "level", 0)
        for head, members in heads:
            folders = above[level - 1 : level] if level else [here, folder]
            if "." in head or members != [""]:
                folders += [] if level else above
            for member in members:
                parts = [part for part in (*head.split("."), member) if part]
                yield from _first(folders, parts)


def _first(folders: Sequence[str], parts: Sequence[str]) -> Iterator[str]:
    """The file of a module, in the first of some folders that has it, with those of its packages."""
    for folder in folders if parts else ():
        place = os.path.join(folder, *parts)
        for path in (place + ".py", os.path.join(place, "__init__.py")):
            if os.path.isfile(path):
                yield path
                packages = (os.path.join(folder, *parts[:end]) for end in range(1, len(parts)))
                inits = (os.path.join(one, "__init__.py") for one in packages)
                yield from filter(os.path.isfile, inits)
                return


class Watch(importlib.abc.MetaPathFinder):
    """Tells who asked of each loop that is imported, by whatever name, before its importer has it.

    Args:
      opened: Name of a loop's file, without its ending -> who is given the module.
    """

    def __init__(self, opened: Mapping[str, Sequence[Callable[[Any], None]]]) -> None:
        self._opened = opened

    def open(self) -> None:
        """Begins to watch."""
        sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """What Python's finder of files finds, where it is a loop."""
        kind = name.rpartition(".")[2]
        if kind not in self._opened:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not spec.origin or not _is_loop(spec.origin):
            return None
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            execute(module)
            for told in self._opened[kind]:
                told(module)

        loader.exec_module = exec_module
        return spec
