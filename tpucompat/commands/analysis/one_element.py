"""Arrays that have axes where a program wants a number, which NumPy 2.4 no longer makes of them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import batch_elements, indexes, keras_3_axes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.array_shapes import axes
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import MODELS, below_keras, key
from tpucompat.names.used import argument, constant, index_of, is_given

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_NUMBERS = frozenset(("float", "int", "chr"))
#: The conversions of a format, but for those of a tuple's width.
_SHOWN = re.compile(r"%[-+ #0\d.]*([a-zA-Z])")
_PREDICTS = frozenset(
    f"predict{ending}" for ending in ("", "_on_batch", "_classes", "_proba", "_generator")
)
_REDUCTIONS = frozenset(
    (
        "argmax",
        "argmin",
        "max",
        "min",
        "amax",
        "amin",
        "sum",
        "mean",
        "prod",
        "std",
        "var",
        "median",
    )
)
#: Where functions of NumPy, whose results have ``item()`` also if they are scalars, take what leaves axes.
_AXES = {
    **{f"numpy.{name}": (1, "axis") for name in _REDUCTIONS},
    **{
        f"numpy.random.{name}": (0, "size") for name in ("rand", "randn", "random", "random_sample")
    },
    "numpy.random.choice": (1, "size"),
    **{
        f"numpy.random.{name}": (2, "size") for name in ("randint", "normal", "uniform", "binomial")
    },
}
#: Those whose result has an array of indices for each axis.
_INDICES = frozenset(("numpy.where", "numpy.nonzero"))


def numbers(finder: Finder, node: ast.AST) -> Iterator[Difference]:
    """``float(model.predict(x)[0])``, ``'%f' % model.predict(x)[0]`` and their like, which have an axis."""
    given: list[ast.expr] = []
    indices = 0
    name = key(node.func) if isinstance(node, ast.Call) else ""
    is_number = name in _NUMBERS or finder.values.called.get(id(node), "").startswith("math.")
    if isinstance(node, ast.Call) and is_number and len(node.args) == 1:
        given = node.args
    elif isinstance(node, ast.Call) and name == "map" and len(node.args) == 2:
        given, indices = node.args[1:] if key(node.args[0]) in _NUMBERS else [], 1
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        text = constant(node.left)
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        shown = _SHOWN.findall(text.replace("%%", "")) if isinstance(text, str) else []
        if len(shown) == len(values):
            given = [value for value, how in zip(values, shown) if how not in "rsa"]
    elif isinstance(node, ast.Assign) and _is_item(finder, node.targets[0]):
        given = [node.value] if _is_prediction(finder, node.value) else []
    for value in given:
        element = "" if indices else _of_batch(finder, value)
        if element in (batch_elements.TENSOR, batch_elements.MIXED):
            yield Difference(table.BEHAVIOURS["one_element"], value, None, element)
        elif element or _is_array(finder, value, indices):
            yield Difference(table.BEHAVIOURS["one_element"], value, None, name)


def _of_batch(finder: Finder, node: ast.AST) -> str:
    """The kind of the element of a batched Dataset that an expression is, or is computed from."""
    if isinstance(node, (ast.BinOp, ast.Compare)):
        sides = [node.left, *([node.right] if isinstance(node, ast.BinOp) else node.comparators)]
        found = {_of_batch(finder, one) for one in sides} - {""}
        return found.pop() if len(found) == 1 else batch_elements.MIXED if found else ""
    if isinstance(node, ast.UnaryOp):
        return _of_batch(finder, node.operand)
    return batch_elements.kind(finder.values, finder.names.functions, node)


def _is_item(finder: Finder, target: ast.AST) -> bool:
    """Whether a target is a number in an array of NumPy's."""
    if not finder.has_estimators or not isinstance(target, ast.Subscript):
        return False
    inner = index_of(target)
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    is_slice = any(isinstance(one, ast.Slice) for one in parts)
    return not is_slice and axes(finder.values, target.value) == len(parts)


def _is_array(finder: Finder, node: ast.AST, indices: int) -> bool:
    """Whether an expression, or a part of what it adds or compares, has axes."""
    if isinstance(node, ast.BinOp):
        return any(_is_array(finder, one, indices) for one in (node.left, node.right))
    if isinstance(node, ast.Compare):
        return any(_is_array(finder, one, indices) for one in (node.left, *node.comparators))
    if isinstance(node, ast.UnaryOp):
        return _is_array(finder, node.operand, indices)
    if finder.has_estimators and not indices and _is_prediction(finder, node):
        return True
    return _has_axes(finder, node, indices) or (axes(finder.values, node) or 0) > indices


#: Calls that give the elements of what they are given, in its order.
_ELEMENTS = frozenset(("list", "tuple", "iter", "enumerate", "islice", "itertools.islice", "tqdm"))


def _is_prediction(finder: Finder, node: ast.AST, depth: int = 4) -> bool:
    """Whether an expression is a prediction of an Estimator: ``row['y']``, which may have an axis."""
    if isinstance(node, ast.Name) and depth:
        return any(_is_prediction(finder, one, depth - 1) for one in finder.values.values(node))
    is_part = isinstance(node, ast.Subscript) and not isinstance(index_of(node), ast.Slice)
    return is_part and _is_row(finder, node.value, depth)  # type: ignore[attr-defined]


def _is_row(finder: Finder, node: ast.AST, depth: int) -> bool:
    """Whether an expression is one of the dictionaries that ``predict`` of an Estimator yields."""
    values = finder.values
    if isinstance(node, ast.Name) and depth:
        return any(_are_rows(finder, one, depth - 1) for one in values.iterated(node)) or any(
            _is_row(finder, one, depth - 1) for one in values.values(node)
        )
    if isinstance(node, ast.Subscript):
        return not isinstance(index_of(node), ast.Slice) and _are_rows(finder, node.value, depth)
    is_next = isinstance(node, ast.Call) and key(node.func) == "next" and bool(node.args)
    return is_next and _are_rows(finder, node.args[0], depth)  # type: ignore[attr-defined]


def _are_rows(finder: Finder, node: ast.AST, depth: int) -> bool:
    """Whether an expression is what ``predict`` of an Estimator gives."""
    if isinstance(node, ast.Name) and depth:
        return any(_are_rows(finder, one, depth - 1) for one in finder.values.values(node))
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _is_row(finder, node.elt, depth)
    if not isinstance(node, ast.Call):
        return False
    if key(node.func) in _ELEMENTS:
        return bool(node.args) and _are_rows(finder, node.args[0], depth)
    owner = getattr(node.func, "value", None)
    if owner is None or getattr(node.func, "attr", "") != "predict":
        return False
    made = [finder.values.called.get(id(one), "") for one in finder.values.values(owner)]
    return not made or any(one.endswith("Estimator") for one in made)


def _has_axes(finder: Finder, node: ast.AST, indices: int = 0, depth: int = 4) -> bool:
    """Whether an expression is an array with axes: of predictions, of NumPy's, or of a data set's labels.

    Args:
      finder: Of the file.
      node: The expression.
      indices: How many axes fewer it has, as a part of a larger array.
      depth: How many names it may be found behind.
    """
    if isinstance(node, ast.Subscript):
        inner = index_of(node)
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        indices += sum(not isinstance(one, ast.Slice) for one in parts)
        return _has_axes(finder, node.value, indices, depth)
    values = finder.values
    if isinstance(node, ast.Name) and depth:
        items = (_has_axes(finder, one, indices + 1, depth - 1) for one in values.iterated(node))
        made = [*values.values(node), *filter(_predicts, values.unpacked(node))]
        found = (_has_axes(finder, one, indices, depth - 1) for one in made)
        return any(items) or any(found) or (indices == 1 and _is_loaded(finder, node))
    if isinstance(node, ast.ListComp):
        return indices > 0 and _has_axes(finder, node.elt, indices - 1, depth)
    if isinstance(node, ast.List):
        return 0 < indices <= max(map(_slices, node.elts), default=0)
    if not isinstance(node, ast.Call):
        return False
    called = values.called.get(id(node), "")
    if called in _AXES:
        return indices == 0 and is_given(argument(node, *_AXES[called]))
    if called in _INDICES:
        return indices == 1 and len(node.args) == 1
    if not isinstance(node.func, ast.Attribute):
        return False
    owner: Any = node.func.value
    if indices >= _most_axes(finder) + (key(owner) in finder.of_several_outputs()):
        return False
    if node.func.attr in _REDUCTIONS:
        whole = _has_axes(finder, owner, 0, depth)
        return indices == 0 and whole and is_given(argument(node, 0, "axis"))
    is_model = bool(values.kinds(owner) & MODELS) or key(owner).lower().endswith("model")
    return is_model and node.func.attr in _PREDICTS


@indexes.once
def _most_axes(finder: Finder) -> int:
    """How many axes an output of a file's models may have: 3 where a last layer is applied to each step."""
    made = (call for call in finder.names.calls if below_keras(call.name).endswith(_LAST))
    return max((keras_3_axes.of_output(finder, call.node) or 2 for call in made), default=2)


_LAST = ("layers.Dense", "layers.TimeDistributed", "layers.Activation")


def _predicts(node: Any) -> bool:
    """Whether the parts of what a call gives are arrays, one for each output of a model."""
    return getattr(getattr(node, "func", None), "attr", "") in _PREDICTS


def _slices(node: ast.AST) -> int:
    """How many axes ``x[:, -1:]`` has at least."""
    inner = index_of(node) if isinstance(node, ast.Subscript) else None
    return sum(isinstance(one, ast.Slice) for one in getattr(inner, "elts", ()))


def _is_loaded(finder: Finder, node: ast.Name) -> bool:
    """Whether a name has labels of a data set of Keras', which have a column for some."""
    loads: list[Any] = finder.values.unpacked(node)
    return not finder.values.values(node) and any(
        finder.values.called.get(id(one), "").endswith(".load_data") for one in loads
    )
