"""Which files of a tree are one program: they import each other, and share a process."""

from __future__ import annotations

import ast
import os
from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence

from tpucompat.commands.analysis.findings import Module
from tpucompat.names.used import walk


class Link(NamedTuple):
    """That a file imports another one.

    Attributes:
      source: The file that imports.
      target: The file that is imported.
      package: What stands before its name: ``lm`` in ``from lm.modeling import f``, "." in ``from . import x``.
      name: Its name as the statement has it, with that: ``lm.modeling``, ``.x``.
    """

    source: str
    target: str
    package: str
    name: str


class Imports:
    """Who imports whom in a tree."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.paths = {os.path.abspath(module.source.path): module for module in modules}
        self._named: dict[str, list[str]] = {}
        for path in self.paths:
            self._named.setdefault(_parts(path)[-1], []).append(path)
        self.links = [
            link for path, module in self.paths.items() for link in self._links(path, module)
        ]
        self._below: dict[str, set[str]] = {path: set() for path in self.paths}
        for link in self.links:
            self._below[link.source].add(link.target)

    def programs(self, is_shared: Mapping[str, bool]) -> Iterator[list[str]]:
        """The files that share a process.

        Args:
          is_shared: Whether a file brings two programs together that both import it; another one may be
            in several.
        """
        owner: dict[str, set[str]] = {}
        for path in self.paths:
            reached = self.reached([path])
            joined = set(reached)
            for one in reached:
                if is_shared[one] or one == path:
                    joined |= owner.get(one, set())
            owner.update(
                dict.fromkeys([one for one in joined if is_shared[one] or one == path], joined)
            )
        done: set[str] = set()
        groups = []
        for path in sorted(self.paths, key=lambda one: not is_shared[one]):
            group = [one for one in self.paths if one in owner[path]]
            if path not in done:
                groups.append(group)
                done.update(group)
        order = list(self.paths)
        yield from sorted(groups, key=lambda group: order.index(group[0]))

    def reached(self, paths: Iterable[str]) -> set[str]:
        """Some files, those that they import, and what these import."""
        found = set(paths)
        waiting = list(found)
        while waiting:
            more = self._below[waiting.pop()] - found
            found |= more
            waiting += more
        return found

    def package_of(self, folder: str, path: str) -> str | None:
        """What a file writes before the name of a module in a folder; None where nothing there tells."""
        there = [link for link in self.links if os.path.dirname(link.target) == folder]
        own = [link.package for link in there if link.source == path]
        others = [link.package for link in there if link.package != "."]
        return next(iter([*own, *sorted(others)]), None)

    def _links(self, path: str, module: Module) -> Iterator[Link]:
        for tree in filter(None, module.trees):
            for node in walk(tree):
                if isinstance(node, ast.Import):
                    for alias in node.names:
                        yield from self._found(path, alias.name.split("."))
                elif isinstance(node, ast.ImportFrom):
                    head = node.module.split(".") if node.module else []
                    for parts in [head, *([*head, alias.name] for alias in node.names)]:
                        if node.level:
                            yield from self._relative(path, node.level, parts)
                        else:
                            yield from self._found(path, parts)

    def _relative(self, path: str, level: int, parts: list[str]) -> Iterator[Link]:
        folder = path
        for _ in range(level):
            folder = os.path.dirname(folder)
        target = os.path.join(folder, *parts) + ".py"
        if parts and target in self.paths and target != path:
            dots = "." * level
            yield Link(path, target, dots + ".".join(parts[:-1]), dots + ".".join(parts))

    def _found(self, path: str, parts: list[str]) -> Iterator[Link]:
        """The file that an absolute name means: the nearest of those whose paths end so."""
        if not parts:
            return
        found = [
            one for one in self._named.get(parts[-1], ()) if _parts(one)[-len(parts) :] == parts
        ]
        if len(parts) == 1:  # a name alone is found beside the script, which stands here or above
            found = [one for one in found if path.startswith(os.path.dirname(one) + os.sep)]
        found = [one for one in found if one != path]
        if found:
            nearest = max(found, key=lambda one: len(os.path.commonpath([one, path])))
            yield Link(path, nearest, ".".join(parts[:-1]), ".".join(parts))


def _parts(path: str) -> list[str]:
    return os.path.splitext(path)[0].split(os.sep)
