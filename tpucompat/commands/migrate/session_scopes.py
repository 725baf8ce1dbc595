"""Blocks around a Session's graph that mean nothing without it: the tree has what is in them in their place.

``with tf.name_scope('inputs'):`` names operations that nobody sees any more, ``with tf.device('/cpu:0'):``
places what the strategy places, and ``with graph.as_default():`` fills a graph that is not made. A
``with tf.variable_scope('model'):`` around a computation is only read so: it stays, as it names variables.
"""

from __future__ import annotations

import ast
from typing import Any, Sequence

from tpucompat.commands.migrate import computations, keras
from tpucompat.commands.migrate.context import Context
from tpucompat.names.used import Call, argument, walk

_OPENED = frozenset(
    f"tensorflow.{version}{name}"
    for version in ("", "compat.v1.")
    for name in ("device", "name_scope")
)
_NAMING = frozenset(("tensorflow.variable_scope", "tensorflow.compat.v1.variable_scope"))
_SESSIONS = frozenset(("tensorflow.Session", "tensorflow.InteractiveSession"))


class Scopes:
    """The blocks of a file, which is read without them.

    Args:
      context: The file.

    Attributes:
      gone: The blocks that go, and the statements that make the graphs that they fill.
      kept: Those that stay.
      idle: Those of other Sessions, which only start the TPU or stop it, and what the tree has there.
    """

    def __init__(self, context: Context) -> None:
        self.gone: list[ast.stmt] = []
        self.kept: list[ast.With] = []
        self.idle: list[tuple[ast.With, ast.Pass]] = []
        self._context = context
        self._undo: list[tuple[list[Any], list[Any]]] = []
        self._calls = {id(call.node): call for call in context.names.calls}
        sessions = [call for call in context.names.calls if call.name in _SESSIONS]
        if len(sessions) > 1:
            sessions = [call for call in sessions if not self._is_idle(call)]
        cell = context.cell_of(sessions[0].node) if len(sessions) == 1 else None
        if cell is None:
            return
        given = argument(sessions[0].node, 99, "graph")
        self._graph = getattr(given, "id", "")
        node: Any = sessions[0].node
        while node is not None:  # the Session's block, and all that it stands in
            if isinstance(node, (ast.Module, ast.FunctionDef)):
                self._flatten(node.body, cell)
            elif isinstance(node, ast.With):  # whose first line tells where it begins when it goes
                self._flatten(node.body, cell, first=1)
            node = context.parents(cell).get(id(node))
        self._flatten(context.trees[cell].body, cell)
        context.forget_parents()

    def undo(self) -> None:
        """Puts everything back."""
        for body, before in reversed(self._undo):
            body[:] = before
        self._context.forget_parents()

    def _is_idle(self, call: Call) -> bool:
        """Whether a Session only starts the TPU or stops it; then the tree is read without its block."""
        parents = self._context.parents(self._context.cell_of(call.node))
        block: Any = parents.get(id(parents.get(id(call.node))))
        if not isinstance(block, ast.With) or len(block.items) != 1:
            return False
        for one in block.body:
            run = getattr(one, "value", None)
            is_run = isinstance(run, ast.Call) and getattr(run.func, "attr", "") == "run"
            asked = self._calls.get(id(run.args[0])) if is_run and len(run.args) == 1 else None  # type: ignore[union-attr]
            if (
                not isinstance(one, ast.Expr)
                or asked is None
                or asked.name not in computations.SYSTEM
            ):
                return False
        for body in (
            getattr(parents[id(block)], name, []) for name in ("body", "orelse", "finalbody")
        ):
            at = next((at for at, one in enumerate(body) if one is block), None)
            if at is not None:
                self._undo.append((body, list(body)))
                nothing = ast.copy_location(ast.Pass(), block)
                body[at] = nothing
                self.idle.append((block, nothing))
        return True

    def _flatten(self, body: list[Any], cell: int, first: int = 0) -> None:
        at = first
        while at < len(body):
            is_kept = self._names_variables(body[at])
            if not is_kept and not self._is_scope(body[at], cell):
                at += 1
                continue
            self._undo.append((body, list(body)))
            (self.kept if is_kept else self.gone).append(body[at])
            body[at : at + 1] = body[at].body

    def _names_variables(self, node: ast.stmt) -> bool:
        """Whether a block names the variables of a computation that is made in it."""
        if not isinstance(node, ast.With) or len(node.items) != 1 or node.items[0].optional_vars:
            return False
        opened = self._calls.get(id(node.items[0].context_expr))
        if opened is None or opened.name not in _NAMING:
            return False
        made = (self._calls.get(id(one)) for one in walk(node))
        return any(one is not None and computations.is_computation(one) for one in made)

    def _is_scope(self, node: ast.stmt, cell: int) -> bool:
        if not isinstance(node, ast.With):
            return False
        is_known = all(
            one.optional_vars is None and self._opens_nothing(one.context_expr)
            for one in node.items
        )
        return is_known and computations.can_go(self._context.texts[cell], node)

    def _opens_nothing(self, node: ast.AST) -> bool:
        call = self._calls.get(id(node))
        if call is not None and call.name in _OPENED:
            return True
        method = node.func if isinstance(node, ast.Call) else None
        owner = getattr(getattr(method, "value", None), "id", None)
        if getattr(method, "attr", "") != "as_default" or owner != self._graph:
            return False
        made = keras.only_assignment(self._context, owner)
        graph = self._calls.get(id(made[0].value)) if made else None
        if made is None or graph is None or graph.name != "tensorflow.Graph":
            return False
        if not any(one is made[0] for one in self.gone):
            self.gone.append(made[0])
        return True


def graphs(scopes: Sequence[ast.stmt]) -> set[str]:
    """The names of the graphs that such blocks fill."""
    made = (one.targets[0] for one in scopes if isinstance(one, ast.Assign))
    return {one.id for one in made if isinstance(one, ast.Name)}
