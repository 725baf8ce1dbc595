"""How many operations more TensorFlow 1.15 makes for the gradient of an operation than TensorFlow 2.

As :mod:`tpucompat.engines.operation_counts`, for the functions that ``tf.RegisterGradient`` has: by type of
operation, from the Python of both (1.15.5; 2.15 and 2.21) in ``math_grad.py``, ``array_grad.py`` and
``nn_grad.py``.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow

from tpucompat.base.machine import current_environment
from tpucompat.engines.operation_counts import More
from tpucompat.tf import private

#: Of an operation and the gradient of its first output.
Difference = Callable[[Any, Any], More]

#: What 1.15 computes once for a graph: shapes that were broadcast, and shapes with their reduced axes.
_broadcast: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()
_reduced: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()


def _is_first(seen: Any, key: Any) -> bool:
    known = seen.setdefault(tensorflow.compat.v1.get_default_graph(), set())
    if key in known:
        return False
    known.add(key)
    return True


def _sizes(tensor: Any) -> tuple[int | None, ...] | None:
    shape = tensor.shape
    return None if shape.rank is None else tuple(shape.as_list())


def _is_known(sizes: Sequence[int | None] | None) -> bool:
    return sizes is not None and None not in sizes


#: That keeps a value of each step of a loop for its gradient.
_STACK = 6


def _axes_in_graph(x: Any, y: Any) -> int:
    """Two shapes and the axes over which they broadcast; loops keep those of unknown shapes on stacks."""
    known = _is_known(_sizes(x)) and _is_known(_sizes(y))
    return 3 if known or not private.is_in_loop(x.op) else 3 + 2 * _STACK


def _summed_now(x: Any, y: Any, gradients: int = 2) -> int:
    """What 2.x makes to sum one or both gradients over what was broadcast, as far as it is known."""
    shapes = [_sizes(x), _sizes(y)]
    in_graph = _axes_in_graph(x, y) + 2 * gradients  # for each a sum and its shape
    if shapes[0] is None or shapes[1] is None:
        return in_graph
    rank = max(len(shapes[0]), len(shapes[1]))
    padded = [(1,) * (rank - len(each or ())) + (each or ()) for each in shapes]
    if any(None in pair and 1 not in pair for pair in zip(*padded)):
        return in_graph
    operations = 2
    for mine in range(gradients):
        pairs = zip(padded[mine], padded[1 - mine])
        summed = any(one == 1 and other != 1 for one, other in pairs)
        operations += 3 * (summed or len(shapes[mine] or ()) < rank)
    return operations


def _summed_then(x: Any, y: Any, gradient: Any) -> int:
    """What 1.15 made: nothing where the shapes are known to be the gradient's."""
    shapes = (_sizes(x), _sizes(y))
    if not all(map(_is_known, shapes)):
        return _axes_in_graph(x, y) + 4
    operations = 3 * _is_first(_broadcast, shapes)
    return operations + 4 * sum(each != _sizes(gradient) for each in shapes)


def _same_known_shapes(*tensors: Any) -> bool:
    shapes = set(map(_sizes, tensors))
    return len(shapes) == 1 and _is_known(shapes.pop())


def _broadcasting(operation: Any, gradient: Any) -> More:
    """1.15 sums a gradient over what was broadcast; known shapes it compares once."""
    x, y = operation.inputs
    if _same_known_shapes(x, y, gradient):
        return More()
    return More(after=_summed_then(x, y, gradient) - _summed_now(x, y))


def _multiplication(operation: Any, gradient: Any) -> More:
    """Numbers of other types than these are always summed."""
    if gradient.dtype in (tensorflow.int32, tensorflow.float32):
        return _broadcasting(operation, gradient)
    return _power(operation, gradient)


def _power(operation: Any, gradient: Any) -> More:
    x, y = operation.inputs
    return More(after=_summed_then(x, y, gradient) - _summed_now(x, y))


def _always_summed(operation: Any, gradient: Any) -> More:
    """1.15 sums whatever the shapes are."""
    x, y = operation.inputs
    return More(after=_axes_in_graph(x, y) + 4 - _summed_now(x, y))


def _zeros_like(tensor: Any) -> int:
    sizes = _sizes(tensor)
    if not _is_known(sizes):
        return 1
    return 1 if np.prod(sizes, dtype=int) < 1000 else 3  # a small constant


def _extremum_of_two(operation: Any, gradient: Any) -> More:
    """1.15 fills zeros of the gradient's shape, and sums."""
    x, y = operation.inputs
    then = 7 + _axes_in_graph(x, y)
    return More(after=then - _zeros_like(gradient) - _summed_now(x, y))


def _chosen(operation: Any, gradient: Any) -> More:
    """``tf.where``, and a dropout: 1.15 multiplies by a mask there."""
    condition, x, y = operation.inputs
    output = operation.outputs[0]
    now = 3 + _summed_now(x, output, 1) + _summed_now(y, output, 1)
    if condition.op.type != "GreaterEqual" or condition.op.inputs[0].op.type != "RandomUniform":
        then = 6 + _axes_in_graph(x, output) + _axes_in_graph(y, output)
        return More(after=then - now)
    if _same_known_shapes(x, condition, gradient) and gradient.dtype == tensorflow.float32:
        return More(after=2 - now)
    return More(after=2 + _summed_then(x, condition, gradient) - now)


#: The shape with ones for what is reduced, where it is computed in the graph.
_SHAPE_OF_REDUCED = 10


def _sum(operation: Any, gradient: Any) -> More:
    """1.15 computes by what to tile the gradient, in the graph; 2.x broadcasts it."""
    sizes, axes = _sizes(operation.inputs[0]), tensorflow.get_static_value(operation.inputs[1])
    if sizes is not None and axes is not None:
        if np.array_equal(axes, np.arange(len(sizes))):
            return More()
        if _is_known(sizes):
            first = _is_first(_reduced, (sizes, tuple(axes.reshape(-1).tolist())))
            return More(after=first * (_SHAPE_OF_REDUCED + 2))
    return More(after=_SHAPE_OF_REDUCED + 4 if operation.get_attr("keep_dims") else 3)


def _mean(operation: Any, gradient: Any) -> More:
    """As a sum; 1.15 divides the number of inputs by that of outputs, 2.x multiplies what is reduced."""
    known = _is_known(_sizes(operation.inputs[0])) and _is_known(_sizes(operation.outputs[0]))
    return More(after=_sum(operation, gradient).after + (not known))


def _is_reduced_in_python(operation: Any) -> bool:
    return (
        _is_known(_sizes(operation.inputs[0]))
        and tensorflow.get_static_value(operation.inputs[1]) is not None
    )


def _extremum(operation: Any, gradient: Any) -> More:
    """1.15 computes the reduced shape in the graph, also where nothing is missing from it."""
    if operation.get_attr("keep_dims"):
        return More(after=_SHAPE_OF_REDUCED + 1)
    return More(after=_SHAPE_OF_REDUCED - 3 if _is_reduced_in_python(operation) else 0)


def _product(operation: Any, gradient: Any) -> More:
    """As an extremum, and as a sum it is tiled."""
    if operation.get_attr("keep_dims"):
        return More(after=_SHAPE_OF_REDUCED + 4)
    return More(after=3 + (_SHAPE_OF_REDUCED - 1) * _is_reduced_in_python(operation))


def _batch_product(operation: Any, gradient: Any) -> More:
    """1.15 compares the matrices' sizes too before it leaves out the sum."""
    one, other = (each.shape for each in operation.inputs)
    known = one.is_fully_defined() and other.is_fully_defined()
    summed_then = not (known and one == other)
    batched = any(each.rank is None or each.rank > 2 for each in (one, other))
    alike = one[:-2].is_fully_defined() and other[:-2].is_fully_defined() and one[:-2] == other[:-2]
    return More(after=15 * (summed_then - (batched and not alike)))


def _slice(operation: Any, gradient: Any) -> More:
    """2.x makes constants of the values that it knows."""
    x, *bounds = operation.inputs
    known = sum(tensorflow.get_static_value(each) is not None for each in bounds)
    return More(after=-known - x.shape.is_fully_defined())


def _gathered(operation: Any, gradient: Any) -> More:
    """1.15 casts the shape of what was gathered from."""
    return More(after=int(current_environment().has("gathered_shapes_uncast")))


def _written(operation: Any, gradient: Any) -> More:
    """2.x waits for the array, by two identities."""
    return More(after=-2 - _STACK * private.is_in_loop(operation))


def _segments(operation: Any, gradient: Any) -> More:
    """1.15 expands the mask of the segments step by step, 2.x by a shape with ones."""
    rank = gradient.shape.rank
    return More() if rank is None else More(after=2 * (rank - 1) - 12)


def _one(operation: Any, gradient: Any) -> More:
    return More(after=1)


#: By type of operation.
DIFFERENCES: Mapping[str, Difference] = {
    **dict.fromkeys(("Add", "AddV2", "Sub", "SquaredDifference"), _broadcasting),
    "Mul": _multiplication,
    "Pow": _power,
    **dict.fromkeys(("RealDiv", "Div", "DivNoNan", "MulNoNan", "FloorMod"), _always_summed),
    **dict.fromkeys(("Maximum", "Minimum"), _extremum_of_two),
    "SelectV2": _chosen,
    "Sum": _sum,
    "Mean": _mean,
    **dict.fromkeys(("Max", "Min"), _extremum),
    "Prod": _product,
    "BatchMatMulV2": _batch_product,
    "StridedSlice": _slice,
    **dict.fromkeys(("Gather", "GatherV2"), _gathered),
    "UnsortedSegmentSum": _segments,
    **dict.fromkeys(("TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArraySplitV3"), _written),
    # PreventGradient
    "SparseSoftmaxCrossEntropyWithLogits": _one,
}
