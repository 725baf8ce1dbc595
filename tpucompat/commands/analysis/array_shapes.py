"""How many axes an array of NumPy's has, and whether its rows may differ in length, as a file shows it."""

from __future__ import annotations

import ast
from typing import Any

from tpucompat.commands.analysis.keras_values import Values
from tpucompat.names.used import argument, index_of, keyword

_MAKERS = frozenset(f"numpy.{name}" for name in ("array", "asarray", "asanyarray"))
_FILLED = frozenset(f"numpy.{name}" for name in ("empty", "full", "ones", "zeros"))
_LINES = frozenset(f"numpy.{name}" for name in ("arange", "linspace", "cumsum", "ravel", "unique"))
#: Functions and methods whose result has the axes of what they are given.
_SAME = frozenset(
    (
        *("abs", "absolute", "around", "ceil", "clip", "copy", "exp", "floor", "log", "negative"),
        *("power", "round", "sign", "sqrt", "square", "astype", "float32", "float64", "int32"),
    )
)
#: Where functions of numpy.random take a size.
_SIZES = {"normal": 2, "uniform": 2, "randint": 2, "binomial": 2, "choice": 1, "random_sample": 0}


def axes(values: Values, node: ast.AST | None, depth: int = 6) -> int | None:
    """The number of axes of an expression; None where the file does not show it."""
    if node is None or not depth:
        return None
    if isinstance(node, ast.Name):
        found = {axes(values, one, depth - 1) for one in values.values(node)}
        return found.pop() if len(found) == 1 else None
    if isinstance(node, ast.BinOp):
        sides = (axes(values, node.left, depth - 1), axes(values, node.right, depth - 1))
        return max((one for one in sides if one is not None), default=None)
    if isinstance(node, ast.UnaryOp):
        return axes(values, node.operand, depth - 1)
    if isinstance(node, ast.Subscript):
        return _of_part(node, axes(values, node.value, depth - 1))
    return _of_call(values, node, depth) if isinstance(node, ast.Call) else None


def _of_part(node: ast.Subscript, whole: int | None) -> int | None:
    index = index_of(node)
    for one in index.elts if isinstance(index, ast.Tuple) else [index]:
        number = one.operand if isinstance(one, ast.UnaryOp) else one
        is_number = isinstance(number, ast.Constant) and isinstance(number.value, int)
        if whole is None or not (is_number or isinstance(one, ast.Slice)):
            return None
        whole -= is_number
    return whole


def _of_call(values: Values, node: ast.Call, depth: int) -> int | None:
    name = values.called.get(id(node), "")
    first = node.args[0] if node.args else None
    last = name.rpartition(".")[2]
    if name in _MAKERS:
        return nesting(first) if isinstance(first, (ast.List, ast.Tuple)) else None
    if name in _FILLED:
        return length(argument(node, 0, "shape"))
    if name in _LINES:
        return 1
    if name.startswith("numpy.random.") and last in _SIZES:
        return length(argument(node, _SIZES[last], "size"))
    if name in ("numpy.random.rand", "numpy.random.randn"):
        return len(node.args)
    if name.startswith("numpy."):
        return axes(values, first, depth - 1) if last in _SAME else None
    function = node.func
    if not isinstance(function, ast.Attribute):
        return None
    if function.attr == "reshape":
        return length(first) if len(node.args) == 1 else len(node.args)
    if function.attr in ("flatten", "ravel"):
        return 1
    return axes(values, function.value, depth - 1) if function.attr in _SAME else None


def nesting(node: ast.AST | None) -> int | None:
    """The axes of what is written out; None where it has other arrays in it."""
    if not isinstance(node, (ast.List, ast.Tuple)):
        return 0 if isinstance(node, ast.Constant) else None
    inner = nesting(node.elts[0]) if node.elts else 0
    return None if inner is None else inner + 1


def length(shape: ast.AST | None) -> int | None:
    """The axes of a shape that is written out."""
    if isinstance(shape, (ast.List, ast.Tuple)):
        return len(shape.elts)
    is_number = isinstance(shape, ast.Constant) and isinstance(shape.value, int)
    return 1 if is_number or isinstance(shape, ast.UnaryOp) else None


def may_be_ragged(values: Values, call: ast.Call) -> bool:
    """Whether an array is made of rows that may differ in length, which were an array of objects up to 1.23."""
    if len(call.args) != 1 or keyword(call, "dtype") is not None:
        return False
    given = call.args[0]
    found = [given, *(values.values(given) if isinstance(given, ast.Name) else ())]
    return any(_is_ragged(one) for one in found)


def _is_ragged(node: Any) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)):
        rows = [one for one in node.elts if isinstance(one, (ast.List, ast.Tuple))]
        lengths = {len(one.elts) for one in rows}
        return len(rows) == len(node.elts) and len(lengths) > 1
    if isinstance(node, ast.ListComp):
        outer = {name for each in node.generators for name in _names(each.target)}
        row: Any = node.elt
        if isinstance(row, ast.ListComp):
            inner = {name for each in row.generators for name in _names(each.iter)}
            return bool(outer & inner) or any(each.ifs for each in row.generators)
        return _method(row) == "split"
    return _method(node) == "texts_to_sequences"


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _method(node: Any) -> str:
    return getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
