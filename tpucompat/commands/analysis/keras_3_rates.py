"""Learning rates that a program computes with or shows.

In TensorFlow 1 a rate was a number of NumPy's type float32, also in a configuration and in logs. NumPy 1 made
float64 of its product with a number of Python's; NumPy 2 keeps float32. Keras 3 gives configurations and logs a
float.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import constant, index_of

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_RATES = ("lr", "learning_rate")
_COMPUTES = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_SHOWS = frozenset(("print", "str", "repr"))


def differences(finder: Finder) -> Iterator[Difference]:
    """Rates in float32 beside other numbers, and those of configurations that are made into text."""
    if not indexes.has_word(finder, "lr", "learning_rate", "get_config"):
        return
    for node in indexes.nodes(finder, ast.BinOp):
        sides = (node.left, node.right) if isinstance(node.op, _COMPUTES) else ()
        rates = [one for one in sides if _is_rate(finder, one)]
        if len(rates) == 1:  # of two, NumPy 1 made float32 too
            yield Difference(table.BEHAVIOURS["rate_computed"], rates[0])
    for node in indexes.nodes(finder, ast.Call, ast.BinOp):
        for one in shown(node):
            if _is_of_config(one):
                yield Difference(table.BEHAVIOURS["rate_shown"], one)


def shown(node: Any) -> list[ast.expr]:
    """What a call or a ``%`` makes into text."""
    if isinstance(node, ast.Call):
        is_format = getattr(node.func, "attr", "") == "format"
        if key(node.func) not in _SHOWS and not is_format:
            return []
        return [*node.args, *(word.value for word in node.keywords)]
    if not isinstance(node.op, ast.Mod) or not isinstance(constant(node.left), str):
        return []
    return node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]


def _is_rate(finder: Finder, node: Any) -> bool:
    """Whether an expression is ``K.get_value(optimizer.lr)``, or a name for nothing else."""
    if isinstance(node, ast.Name):
        made = finder.values.values(node)
        return bool(made) and all(
            isinstance(one, ast.Call) and _is_rate(finder, one) for one in made
        )
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return False
    called = below_keras(finder.values.called.get(id(node), ""))
    is_read = called in ("backend.get_value", "backend.eval")
    return is_read and getattr(node.args[0], "attr", "") in _RATES


def _is_of_config(node: ast.AST) -> bool:
    """Whether an expression is ``optimizer.get_config()['lr']``."""
    call = node.value if isinstance(node, ast.Subscript) else None
    asked = isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "get_config"
    return asked and constant(index_of(node)) in _RATES  # type: ignore[arg-type]
