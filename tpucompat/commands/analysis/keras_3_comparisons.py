"""Comparisons of tensors, which TensorFlow 1 took for objects: ``if K.sum(y_true) == 0`` was never true."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: Functions of TensorFlow that compute a tensor of tensors.
_COMPUTES = re.compile(
    r"tensorflow\.(?:compat\.v1\.)?(?:math\.\w+|reduce_\w+|to_(?:float|int32|int64)"
    r"|(?:argmax|argmin|cast|count_nonzero|rank|round|size|squeeze))$"
)
#: Functions of Keras' backend that give values of Python.
_GIVES_VALUES = re.compile(
    r"backend\.(?:backend|batch_get_value|count_params|dtype|epsilon|eval|floatx|get_\w+|image_\w+"
    r"|int_shape|is_\w+|learning_phase|ndim|set_\w+)$"
)


_TESTING = (ast.If, ast.While, ast.IfExp, ast.Assert, ast.comprehension)


def differences(finder: Finder) -> Iterator[Difference]:
    """Tests whether a tensor is equal to something; elsewhere the result of such a comparison has no use."""
    for node in indexes.nodes(finder, *_TESTING):
        tests = node.ifs if isinstance(node, ast.comprehension) else [node.test]
        for test in tests:
            for compared in _comparisons(test):
                sides = (compared.left, compared.comparators[0])
                if any(_is_tensor(finder, side) for side in sides):
                    yield Difference(table.BEHAVIOURS["compared"], compared)


def _comparisons(test: ast.AST | None) -> Iterator[ast.Compare]:
    """The equalities that a condition is made of."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _comparisons(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _comparisons(test.operand)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        yield from [test] if isinstance(test.ops[0], (ast.Eq, ast.NotEq)) else []


def _is_tensor(finder: Finder, node: ast.AST, depth: int = 4) -> bool:
    """Whether an expression is a tensor in a graph, and nothing else elsewhere."""
    if finder.values.is_tensor(node):
        return True
    if isinstance(node, ast.BinOp):
        return any(_is_tensor(finder, side, depth) for side in (node.left, node.right))
    if isinstance(node, ast.Call):
        name = finder.values.called.get(id(node), "")
        below = below_keras(name)
        if below.startswith("backend."):
            return _GIVES_VALUES.match(below) is None
        return _COMPUTES.match(name) is not None
    made = finder.values.values(node) if isinstance(node, ast.Name) and depth else []
    return bool(made) and all(_is_tensor(finder, one, depth - 1) for one in made)
