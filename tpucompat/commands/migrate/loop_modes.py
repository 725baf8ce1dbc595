"""Whether a program makes its training operation only where it trains, as far as its files tell."""

from __future__ import annotations

import ast
from typing import Any, Iterator

from tpucompat.names.used import walk

#: What updates variables.
_UPDATES = ("minimize", "apply_gradients")
_OTHERS = frozenset(("EVAL", "PREDICT"))


def updates_anywhere(tree: ast.Module) -> bool:
    """Whether a file may update variables in a mode other than TRAIN; TensorFlow 1 ran no such operation."""
    functions = [node for node in walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {id(call) for one in functions for call in _calls(one.body, frozenset(), _names(one))}
    every = {id(node) for node in walk(tree) if _is_update(node)}
    return bool(every - inside)


def _is_update(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _UPDATES


def _names(function: ast.FunctionDef) -> dict[str, frozenset[str]]:
    """``is_training = mode == tf.estimator.ModeKeys.TRAIN``: name -> the modes."""
    assigned = [node for node in walk(function) if isinstance(node, ast.Assign)]
    return {
        target.id: _modes(node.value, {})
        for node in assigned
        for target in node.targets
        if isinstance(target, ast.Name) and len(node.targets) == 1
    }


def _modes(test: ast.AST, names: dict[str, frozenset[str]]) -> frozenset[str]:
    """The modes of which a test asks for one; none where it asks for something else too."""
    if isinstance(test, ast.Name):
        return names.get(test.id, frozenset())
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        parts = [_modes(one, names) for one in test.values]
        return frozenset().union(*parts) if all(parts) else frozenset()
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        mode = getattr(test.comparators[0], "attr", "")
        return frozenset((mode,)) & (_OTHERS | {"TRAIN"})
    return frozenset()


def _calls(
    body: list[ast.stmt], gone: frozenset[str], names: dict[str, frozenset[str]]
) -> Iterator[ast.AST]:
    """The updates in some statements that are reached in training alone.

    Args:
      body: The statements.
      gone: The modes in which they are not reached.
      names: Names of tests.
    """
    for statement in body:
        if not isinstance(statement, ast.If):
            if gone >= _OTHERS:
                yield from filter(_is_update, walk(statement))
                continue
            for name in ("body", "orelse", "finalbody"):
                below: Any = getattr(statement, name, [])
                if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                    yield from _calls(below, gone, names)
            continue
        modes = _modes(statement.test, names)
        others = (_OTHERS | {"TRAIN"}) - modes if modes else frozenset()
        yield from _calls(statement.body, gone | others, names)
        yield from _calls(statement.orelse, gone | modes, names)
        if isinstance(statement.body[-1], (ast.Return, ast.Raise)):
            gone |= modes
