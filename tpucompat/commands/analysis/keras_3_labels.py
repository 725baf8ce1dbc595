"""Labels that Keras 3 takes otherwise: with class weights beside generators and Datasets, and of booleans."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_batches import counts_steps
from tpucompat.commands.analysis.keras_3_rules import Difference, is_function, is_generator
from tpucompat.commands.analysis.keras_values import DATASET, ITERATOR, key
from tpucompat.commands.analysis.rules import of_calls
from tpucompat.names.used import Call, argument, constant, keyword, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: Method -> the place of its class weights.
_CLASS_WEIGHTS = {".fit": 9, ".fit_generator": 7}
#: Method -> the place of its validation data; targets stand in the second place.
_TARGETS = {".fit": 7, ".evaluate": 99, ".test_on_batch": 99, ".train_on_batch": 99}
#: Functions of NumPy that give booleans.
_BOOLEAN = frozenset(
    (
        *("equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "isin", "isnan"),
        *("logical_and", "logical_or", "logical_not", "logical_xor"),
    )
)
_TYPES = ("bool", "np.bool", "np.bool_", "numpy.bool", "numpy.bool_")
#: What gives back the array that it has, in other places or another shape.
_SAME_TYPE = ("reshape", "ravel", "flatten", "to_numpy", "copy", "asarray", "array", "expand_dims")
_STRATEGIES = (".keras_to_tpu_model", "Strategy")


@of_calls(".fit")
def class_weights(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``fit_generator(batches(), class_weight={0: 1., 1: 5.})``, and the same beside a Dataset."""
    place = _CLASS_WEIGHTS.get(call.name)
    weights = argument(call.node, place, "class_weight") if place else None
    data = argument(call.node, 0, "generator" if call.name == ".fit_generator" else "x")
    if weights is None or data is None or _is_none(weights):
        return
    values = finder.values.values(data) or [data]
    if is_generator(finder, data):
        if counts_steps(finder, call):
            return  # a Sequence, which Keras 3 weighs
        yield Difference(table.BEHAVIOURS["weighted_generator"], data, call.node, "class_weight")
    elif finder.values.kind(data) in (DATASET, ITERATOR) or any(
        is_function(finder, one) for one in values
    ):
        yield Difference(table.BEHAVIOURS["weighted_dataset"], weights, call.node, "class_weight")


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def booleans(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Labels of booleans, where there may be several replicas."""
    labels: list[Any] = []
    if call.name in _TARGETS:
        labels.append(argument(call.node, 1, "y"))
        labels.append(_second(argument(call.node, _TARGETS[call.name], "validation_data")))
    elif call.name.endswith(".from_tensor_slices") and call.node.args:
        labels.append(_second(call.node.args[0]))
    for one in labels:
        if one is not None and _has_replicas(finder) and _is_boolean(finder, one):
            yield Difference(table.BEHAVIOURS["boolean_labels"], one, call.node)


def yielded(finder: Finder, function: ast.FunctionDef) -> Iterator[Difference]:
    """The same labels of a generator."""
    if not _has_replicas(finder):
        return
    for node in walk(function):
        one = _second(node.value) if isinstance(node, ast.Yield) else None
        if one is not None and _is_boolean(finder, one):
            yield Difference(table.BEHAVIOURS["boolean_labels"], one)


@indexes.once
def _has_replicas(finder: Finder) -> bool:
    return any(use.name.endswith(_STRATEGIES) for use in finder.names.uses)


def _second(node: ast.AST | None) -> ast.AST | None:
    return node.elts[1] if isinstance(node, ast.Tuple) and len(node.elts) > 1 else None


def _is_boolean(finder: Finder, node: ast.AST, depth: int = 5) -> bool:
    """Whether an array is one of booleans, by what was assigned to it last."""
    if isinstance(node, ast.Compare):
        return True
    if isinstance(node, (ast.Name, ast.Attribute)) and depth:
        found = finder.values.values(node)
        return bool(found) and _is_boolean(finder, found[-1], depth - 1)
    if isinstance(node, ast.Subscript):
        return _is_boolean(finder, node.value, depth)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert) and _is_boolean(finder, node.operand, depth)
    if isinstance(node, ast.BinOp):
        is_logical = isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
        return is_logical and _is_boolean(finder, node.left, depth)
    return isinstance(node, ast.Call) and _makes_booleans(finder, node, depth)


def _makes_booleans(finder: Finder, call: ast.Call, depth: int) -> bool:
    last = getattr(call.func, "attr", "")
    types = [*(call.args[:1] if last == "astype" else ()), keyword(call, "dtype")]
    if any(types):
        return any(key(one) in _TYPES or constant(one) == "bool" for one in types if one)
    if last in _SAME_TYPE:
        is_method = key(call.func) not in ("np." + last, "numpy." + last)
        inner = call.func.value if is_method else next(iter(call.args), None)  # type: ignore[attr-defined]
        return inner is not None and _is_boolean(finder, inner, depth)
    return last in _BOOLEAN and key(call.func).startswith(("np.", "numpy."))


RULES = (class_weights, booleans)
