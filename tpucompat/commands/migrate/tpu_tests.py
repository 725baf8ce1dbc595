"""Tests for the TPU of Colab. ``make_strategy`` needs none: it falls back to other devices."""

from __future__ import annotations

import ast
from typing import Any

from tpucompat.commands.analysis import sources
from tpucompat.commands.migrate.text import Text, strings_over_lines
from tpucompat.names.used import constant, walk

_ADDRESS = "COLAB_TPU_ADDR"
_LOCAL = "local"


def asks_for_tpu(test: ast.AST | None) -> bool:
    """Whether a condition is that Colab's TPU is there: ``'COLAB_TPU_ADDR' in os.environ``."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        if isinstance(test.ops[0], ast.In):
            return constant(test.left) == _ADDRESS
        is_not = isinstance(test.ops[0], (ast.IsNot, ast.NotEq))
        return is_not and not constant(test.comparators[0]) and asks_for_tpu(test.left)
    function = test.func if isinstance(test, ast.Call) and test.args else None
    if not isinstance(function, ast.Attribute) or function.attr not in ("get", "getenv"):
        return False
    return constant(test.args[0]) == _ADDRESS  # type: ignore[union-attr]


def without_constants(source: str) -> str:
    """A text without tests of the name 'local', which stands where an address was asked for."""
    if "'local'" not in source:
        return source
    text, tree = Text(source), sources.parse(source)
    blocks = [
        value for node in walk(tree) for value in vars(node).values() if isinstance(value, list)
    ]
    beside = {id(one) for block in blocks if len(block) > 1 for one in block} | set(
        map(id, tree.body)
    )
    for node in walk(tree):
        found = _truth(node.test) if isinstance(node, (ast.If, ast.IfExp)) else None
        if found is None:
            continue
        done = (
            _chosen(text, node, found)
            if isinstance(node, ast.IfExp)
            else _kept(text, node, found, id(node) in beside)
        )
        if done:  # those inside it are found in the text that is left
            return without_constants(text.result())
    return source


def _truth(test: ast.expr) -> bool | None:
    """What a test of the constant is; None for any other."""
    if constant(test) == _LOCAL:
        return True
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        found = _truth(test.operand)
        return None if found is None else not found
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and constant(test.left) == _LOCAL:
        other = test.comparators[0]
        if isinstance(other, ast.Constant) and other.value in (None, ""):
            if isinstance(test.ops[0], (ast.IsNot, ast.NotEq)):
                return True
            return False if isinstance(test.ops[0], (ast.Is, ast.Eq)) else None
    return None


def _chosen(text: Text, node: Any, is_true: bool) -> bool:
    """``a if 'local' else b`` -> ``a``"""
    (start, end), (first, last) = text.span(node), text.span(node.body if is_true else node.orelse)
    if is_true and not text.text[last:].lstrip().startswith("if"):
        return False  # in brackets
    if is_true:
        text.replace(last, end, "")
    elif text.text[start:first].rstrip().endswith("else"):
        text.replace(start, first, "")
    else:
        return False
    return True


def _kept(text: Text, node: Any, is_true: bool, has_others: bool) -> bool:
    """The branch that is taken, in the place of the whole statement."""
    kept = node.body if is_true else node.orelse
    alone = text.line(node.lineno).lstrip().startswith("if")
    if not alone or strings_over_lines(node, node.lineno, node.end_lineno):
        return False
    if all(isinstance(one, ast.Pass) for one in kept):
        if not has_others or not text.owns_lines(node):
            return False
        text.delete_lines(node.lineno, node.end_lineno)
        return True
    if not all(map(text.owns_lines, kept)) or kept[0].lineno <= node.lineno:
        return False
    first, last = kept[0].lineno, kept[-1].end_lineno
    by = len(text.indent(first)) - len(text.indent(node.lineno))
    if by <= 0:
        return False  # elif
    text.delete_lines(node.lineno, first - 1)
    if last < node.end_lineno:
        text.delete_lines(last + 1, node.end_lineno)
    for number in range(first, last + 1):
        text.dedent_line(number, by)
    return True
