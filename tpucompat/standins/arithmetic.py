"""Arithmetic between NumPy's arrays and numbers with the types that NumPy 1 chose.

NumPy 1 looked at a number's value beside an array, and took Python's numbers beside NumPy's for int64 and
float64. NumPy 2 looks at types alone, and lets a Python number take NumPy's type (NEP 50): a float32 array
times ``np.sqrt(2)`` is float64 now, which TensorFlow refuses beside float32; ``0.0 + np.float32(loss)`` is
float32; a uint8 array plus 300 is an error, and ``np.uint8(200) + 100`` is 44.

:func:`rewritten` puts the functions of :data:`FUNCTIONS` in the place of operators, for the script's own
modules; what they do with anything but NumPy's numbers is what the operators do.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import functools
from typing import Any, Callable

import numpy as np

from tpucompat.standins import operators

_NUMPY = (np.ndarray, np.generic)
_PYTHON: dict[type, Any] = {
    bool: np.bool_,
    int: np.dtype(int),
    float: np.float64,
    complex: np.complex128,
}
# A scalar's value counts beside an array whose kind is not below its own (numpy/core/src/multiarray/
# convert_datatype.c of 1.18: dtype_kind_to_simplified_ordering).
_ORDER = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 2}


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def _dtype(value: Any) -> Any:
    """The dtype of a number or an array of numbers; None of anything else."""
    if isinstance(value, _NUMPY):
        return value.dtype if value.dtype.kind in _ORDER else None
    kind = _PYTHON.get(type(value))
    return None if kind is None else np.dtype(kind)


def _beside(array: Any, number: Any, dtype: Any, signed_first: bool) -> Any:
    """A number of the type that NumPy 1 gave it beside an array."""
    if _ORDER[dtype.kind] > _ORDER[array.dtype.kind]:
        return number
    least = np.min_scalar_type(number)
    if least.kind not in _ORDER:  # a Python number above all integer types
        return number
    if least.kind == "u" and array.dtype.kind != "u":
        signed = np.dtype(f"i{least.itemsize}")
        if number <= np.iinfo(signed).max:
            least = signed
    result = np.promote_types(array.dtype, least)
    if signed_first and result.kind == "u" and result != array.dtype:
        signed = np.dtype(f"i{result.itemsize}")
        result = signed if number <= np.iinfo(signed).max else result
    if type(number) in _PYTHON and result == array.dtype:
        return number
    return result.type(number)


def _adapted(left: Any, right: Any, signed_first: bool) -> tuple[Any, Any]:
    """Both operands, not two arrays, of types with which NumPy 2 computes what NumPy 1 did."""
    types = _dtype(left), _dtype(right)
    if (
        types[0] is None or types[1] is None
    ):  # a dtype says that it equals None, where it is float64
        return left, right
    if _is_array(left):
        return left, _beside(left, right, types[1], signed_first)
    if _is_array(right):
        return _beside(right, left, types[0], signed_first), right
    if type(left) in _PYTHON or type(right) in _PYTHON:
        kind = np.promote_types(*types).type
        try:
            return kind(left), kind(right)
        except OverflowError:  # a Python number above int64: it was an object to NumPy 1
            return left, right
    return left, right


def _function(name: str) -> Callable[[Any, Any], Any]:
    # Their loops were tried in an order in which int16 comes before uint16.
    signed_first = name.lstrip("i").rstrip("_") in _SIGNED_FIRST
    adapted = functools.partial(_adapted, signed_first=signed_first)
    return operators.function(name, _NUMPY, np.ndarray, adapted)


_OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}


_SIGNED_FIRST = ("floordiv", "lshift", "rshift", "and", "or", "xor")


def _name(operation: str) -> str:
    # With such an end a name stays as it is in the body of a class.
    return f"__tpucompat_{operation}__"


#: Name in rewritten code -> function of two operands; "i" before an operator's name is that in place.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    _name(name): _function(name)
    for each in _OPERATORS.values()
    for name in (each, "i" + each.rstrip("_"))
}

# What is no number: ``"a" + name``, ``[0] * count``.
_NO_NUMBERS = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp)
# Who reads a function's code itself knows no names of ours.
_COMPILERS = ("jit", "njit", "vectorize", "guvectorize")


class _Rewriter(ast.NodeTransformer):
    """Puts functions in the place of operators; ``changed`` says whether it found any."""

    changed = False

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = _OPERATORS.get(type(node.op))
        if name is None or _no_number(node.left) or _no_number(node.right):
            return node
        if isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
            return node
        return self._call(name, node.left, node.right, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        # What is written twice now must have no effects of its own.
        if _is_plain(node.target):
            read = copy.deepcopy(node.target)
            for part in ast.walk(read):
                if isinstance(getattr(part, "ctx", None), ast.Store):
                    part.ctx = ast.Load()  # type: ignore[attr-defined]
            self.generic_visit(node)
            name = _OPERATORS.get(type(node.op))
            if name is None or _no_number(node.value):
                return node
            call = self._call("i" + name.rstrip("_"), self.visit(read), node.value, node)
            return ast.copy_location(ast.Assign(targets=[node.target], value=call), node)
        self.generic_visit(node)
        return node

    def _call(self, name: str, left: ast.expr, right: ast.expr, node: ast.AST) -> ast.Call:
        self.changed = True
        function = ast.copy_location(ast.Name(id=_name(name), ctx=ast.Load()), node)
        return ast.copy_location(ast.Call(func=function, args=[left, right], keywords=[]), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node  # Keras writes a Lambda layer's code into the file of its model

    def visit_FunctionDef(self, node: Any) -> ast.AST:
        named = [part for each in node.decorator_list for part in ast.walk(each)]
        if any(getattr(part, "attr", getattr(part, "id", "")) in _COMPILERS for part in named):
            return node
        node.body = [self.visit(statement) for statement in node.body]
        node.args.defaults = [self.visit(value) for value in node.args.defaults]
        node.args.kw_defaults = [value and self.visit(value) for value in node.args.kw_defaults]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_MatchValue(self, node: ast.AST) -> ast.AST:
        return node  # a pattern: ``case 1 + 2j``


def _no_number(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, (int, float, complex))
    return isinstance(node, _NO_NUMBERS)


def _is_plain(node: ast.AST) -> bool:
    """Whether reading an expression twice is reading it once."""
    allowed: tuple[type, ...] = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple)
    allowed += (ast.Slice, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
    return all(isinstance(part, allowed) for part in ast.walk(node))


def rewritten(tree: ast.Module) -> bool:
    """Puts the functions in the place of a module's operators.

    Args:
      tree: The module, which is changed.

    Returns:
      Whether there were any. The functions are built-in names from here on.
    """
    rewriter = _Rewriter()
    for place, statement in enumerate(tree.body):
        # A statement with a sum of hundreds of terms may stay as it is: each operator stands for itself.
        with contextlib.suppress(RecursionError):
            tree.body[place] = rewriter.visit(statement)
    if rewriter.changed:
        builtins.__dict__.update(FUNCTIONS)
    return rewriter.changed
