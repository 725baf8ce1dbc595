"""How many axes a tensor of a graph has, as a file shows it: a Session gives a number or an array for it."""

from __future__ import annotations

import ast
import re
from typing import Any, Iterable, Iterator, Mapping

from tpucompat.commands.analysis.array_shapes import length, nesting
from tpucompat.commands.analysis.keras_values import Values
from tpucompat.names.used import Function, argument, constant, keyword, walk

#: What takes axes away, where none is named all of them.
_REDUCES = re.compile(r"(^|\.)(reduce_\w+|count_nonzero|norm)$")
#: Functions whose result is a number.
_NUMBERS = re.compile(
    r"(^|\.)(size|rank|l2_loss|global_norm|get_global_step|get_or_create_global_step|create_global_step"
    r"|get_total_loss|get_regularization_loss|exponential_decay|polynomial_decay|piecewise_constant"
    r"|cosine_decay|inverse_time_decay|natural_exp_decay)$|\.(losses|metrics)\.\w+$"
)
#: Those whose result has the axes of what they are given.
_SAME = frozenset(
    (
        *("cast", "identity", "sqrt", "rsqrt", "exp", "log", "abs", "square", "negative", "round"),
        *(
            "floor",
            "sigmoid",
            "stop_gradient",
            "to_float",
            "to_int32",
            "to_int64",
            "cross_replica_sum",
        ),
        *("check_numerics", "Print", "pow", "maximum", "minimum", "add", "subtract", "multiply"),
        *("divide", "truediv", "div", "assign", "assign_add", "assign_sub"),
    )
)
#: Where functions take a shape, or a value that has it.
_SHAPES = {
    **dict.fromkeys(("placeholder", "get_variable", "reshape"), (1, "shape")),
    **dict.fromkeys(("zeros", "ones", "random_normal", "random_uniform", "fill"), (0, "shape")),
}
_VALUES = {
    "constant": (0, "value"),
    "Variable": (0, "initial_value"),
    "placeholder_with_default": (0, "input"),
}
_DEPTH = 6


class GraphAxes:
    """The axes of the tensors of a file.

    Args:
      values: What its names have.
      functions: Its functions.
    """

    def __init__(self, values: Values, functions: Mapping[str, Function]) -> None:
        self._values, self._functions = values, functions

    def of(self, node: Any, depth: int = _DEPTH) -> int | None:
        """The number of axes of an expression; None where the file does not show it."""
        if node is None or not depth:
            return None
        if isinstance(node, ast.Constant):
            return 0 if isinstance(node.value, (int, float)) else None
        if isinstance(node, ast.BinOp):
            return self._most((node.left, node.right), depth)
        if isinstance(node, ast.UnaryOp):
            return self.of(node.operand, depth)
        if isinstance(node, (ast.Name, ast.Attribute)):
            found = {self.of(one, depth - 1) for one in self._sources(node)}
            return found.pop() if len(found) == 1 else None
        return self._of_call(node, depth - 1) if isinstance(node, ast.Call) else None

    def _most(self, nodes: Iterable[ast.AST], depth: int) -> int | None:
        found = [self.of(one, depth) for one in nodes]
        known = [one for one in found if one is not None]
        return max(known) if len(known) == len(found) or any(known) else None

    def _sources(self, node: ast.AST) -> list[Any]:
        """What a name may have, as far as it is written in the file."""
        values = self._values
        found: list[Any] = [*values.values(node), *values.given(node)]
        calls: list[Any] = [] if found else values.unpacked(node)
        for call in calls:
            name = values.called.get(id(call), "")
            if name.startswith("tensorflow.") and ".metrics." in name:
                found.append(call)
            found += values.returned_at(node, call)
        return found

    def _of_call(self, node: ast.Call, depth: int) -> int | None:
        name = self._values.called.get(id(node), "")
        last = name.rpartition(".")[2]
        if not name.startswith("tensorflow."):
            function = self._functions.get(getattr(node.func, "id", ""))
            returned = [] if function is None else list(_returned(function.node))
            found = {self.of(one, depth) for one in returned}
            return found.pop() if len(found) == 1 else None
        if _REDUCES.search(name):
            return self._of_reduction(node)
        if _NUMBERS.search(name):
            return None if keyword(node, "reduction") is not None else 0
        if last in _SAME:
            return self._most(node.args[:2] if last in _OF_TWO else node.args[:1], depth)
        if last == "add_n" and isinstance(argument(node, 0, "inputs"), (ast.List, ast.Tuple)):
            return self._most(argument(node, 0, "inputs").elts, depth)  # type: ignore[union-attr]
        shape = argument(node, *_SHAPES[last]) if last in _SHAPES else None
        if shape is not None:
            return length(shape)
        value: Any = argument(node, *_VALUES[last]) if last in _VALUES else None
        nested = nesting(value)
        return nested if nested is not None else self.of(value, depth)

    @staticmethod
    def _of_reduction(node: ast.Call) -> int | None:
        words = {word.arg or "" for word in node.keywords}
        keeps = words & {"keepdims", "keep_dims"}
        named = len(node.args) > 1 or words & {"axis", "reduction_indices", "ord"}
        if keeps and any(constant(keyword(node, word)) is not False for word in keeps):
            return 1  # or more
        return None if named else 0


_OF_TWO = frozenset(
    ("maximum", "minimum", "add", "subtract", "multiply", "divide", "truediv", "div")
)


def _returned(function: Any) -> Iterator[ast.AST]:
    return (node.value for node in walk(function) if isinstance(node, ast.Return) and node.value)
