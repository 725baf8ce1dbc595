"""The trees of a file, and what its rewriters ask of them over and over."""

from __future__ import annotations

import ast
from typing import Any

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis.findings import Module
from tpucompat.names.used import children, members, walk


class Trees:
    """The trees of one file.

    Args:
      module: The file as it was read.
    """

    def __init__(self, module: Module) -> None:
        self.trees = {
            unit.cell: tree
            for unit, tree in zip(module.source.units, module.trees)
            if tree is not None
        }
        self._nodes: list[ast.AST] | None = None
        self._named: dict[str, list[ast.Name]] | None = None
        self._parents: dict[int, dict[int, ast.AST]] = {}
        self._cells: dict[int, int] = {}
        #: A node -> a child in a list of it -> that list.
        self._lists: dict[int, dict[int, list[Any]]] = {}

    @property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the file; the trees are walked once."""
        if self._nodes is None:
            self._nodes = [node for tree in self.trees.values() for node in walk(tree)]
        return self._nodes

    def named(self, name: str) -> list[ast.Name]:
        """Where a name stands; the trees are searched once, however many names are asked for."""
        if self._named is None:
            self._named = {}
            for node in self.nodes:
                if isinstance(node, ast.Name):
                    self._named.setdefault(node.id, []).append(node)
        return self._named.get(name, [])

    def loads(self, name: str) -> list[ast.Name]:
        """Where the file reads a name."""
        return [node for node in self.named(name) if isinstance(node.ctx, ast.Load)]

    def parents(self, cell: int) -> dict[int, ast.AST]:
        """The identity of each node of a unit -> the node above it."""
        if cell not in self._parents:
            found: dict[int, ast.AST] = {}
            for node in walk(self.trees[cell]):
                for child in children(node):
                    found[id(child)] = node
            self._parents[cell] = found
        return self._parents[cell]

    def forget_parents(self) -> None:
        """Is called when nodes of a tree were put in the place of others."""
        self._parents.clear()
        self._cells.clear()
        self._lists.clear()

    def body_of(self, statement: ast.AST, cell: int) -> list[ast.stmt]:
        """The list of statements that a statement stands in."""
        parent = self.parents(cell).get(id(statement), self.trees[cell])
        if id(parent) not in self._lists:
            found: dict[int, list[Any]] = {}
            for value in vars(parent).values():
                for one in value if isinstance(value, list) else ():
                    found.setdefault(id(one), value)
            self._lists[id(parent)] = found
        return self._lists[id(parent)].get(id(statement), [])

    def cell_of(self, node: ast.AST) -> int:
        """The cell that holds a node."""
        if not self._cells:
            for cell, tree in self.trees.items():
                self._cells.setdefault(id(tree), cell)
                for inside in self.parents(cell):
                    self._cells.setdefault(inside, cell)
        return self._cells.get(id(node), 0)

    def having(self, name: str) -> list[ast.AST]:
        """What has a name, or gives something a name, but for the statements of classes."""
        return _having(self).get(name, [])


@indexes.once
def _having(file: Trees) -> dict[object, list[ast.AST]]:
    """What any node of a file is called, or calls something -> these nodes."""
    found: dict[object, list[ast.AST]] = {}
    inside = members(file.nodes)
    for node in file.nodes:
        if id(node) in inside:
            continue
        name = getattr(node, "id", getattr(node, "arg", getattr(node, "name", "")))
        found.setdefault(name, []).append(node)
    return found
