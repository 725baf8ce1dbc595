"""Finds out whether the shards of a computation can be computed as one batch.

Where every operation treats the examples of a batch one by one, cutting the batch into shards and
joining what they return gives what the whole batch gives. On one device both can then be left out,
which saves a copy of every input and of every output.

A value that varies is followed along the axis on which the shards' values lie side by side. What is
not in :data:`RULES` ends the search, and the shards stay apart: random numbers, a batch's
statistics, whatever asks for the shape of a shard or has an effect. The sizes of a shard that were
known when it was traced (the divisor of a mean) are constants in its graph, and remain those of a
shard.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Sequence, Tuple

import tensorflow.compat.v1 as tf

from tpucompat.engines.shards.bodies import Body, data_inputs, producer
from tpucompat.engines.shards.expansion import Prepared
from tpucompat.engines.shards.operations import LOWERED
from tpucompat.engines.shards.varying import Analyses, Analysis

#: The dimensions of a value in one shard, None for those that are not known.
Shape = Sequence[Optional[int]]
#: For each output of an operation the axis of the batch; of further outputs nothing is known.
Axes = Tuple[int, ...]


class Call(NamedTuple):
    """An operation on values that vary, as the rules see it.

    Attributes:
      node: The operation.
      axes: For each input the axis of the batch; None where the shards share one value.
      shapes: For each input its shape.
      integers: Position of an input -> the numbers in it; None if the graph does not hold them.
    """

    node: Any
    axes: Sequence[int | None]
    shapes: Sequence[Shape]
    integers: Callable[[int], list[int] | None]

    def flag(self, *names: str) -> bool:
        """Whether one of the attributes is there and true."""
        return any(self.node.attr[name].b for name in names if name in self.node.attr)


Rule = Callable[[Call], Optional[Axes]]


def merged_axes(
    prepared: Prepared, axes: Sequence[int], shape_of: Callable[[str], Shape | None]
) -> list[int] | None:
    """Follows the batch through a computation.

    Args:
      prepared: The computation.
      axes: For each argument the axis along which it was split.
      shape_of: Reference to a value -> its shape in one shard; None if its rank is not known.

    Returns:
      For each returned value the axis along which the shards' values lie side by side, if the
      computation is given its arguments unsplit; None if the shards have to stay apart.
    """
    body, library = prepared.body, prepared.library
    batch = _Batch(body, dict(zip(prepared.computation.arguments, axes)), shape_of)
    varying = [name in batch.known for name in body.arguments]
    analysis = Analysis(body, library, varying, Analyses(library, notice=lambda loop: None))
    apart = {name for name, varies in analysis.nodes.items() if varies}
    apart.update(name for name, plan in analysis.plans.items() if plan.mode != "once")
    # What is kept is for others to fetch, who look for the value of shard 0.
    if prepared.effects or apart.intersection(prepared.computation.kept):
        return None
    for name in body.order():
        node = body.nodes[name]
        if node.op in LOWERED or (name in apart and not batch.follow(node)):
            return None
    returned = [batch.axis(reference) for reference in body.returns]
    known = [axis for axis in returned if axis is not None]
    return known if len(known) == len(returned) else None


class _Batch:
    """Where the batch is in the values that vary."""

    def __init__(
        self, body: Body, axes: dict[str, int], shape_of: Callable[[str], Shape | None]
    ) -> None:
        self.body = body
        self.shape_of = shape_of
        self.known: dict[str, Axes] = {name: (axis,) for name, axis in axes.items()}

    def axis(self, reference: str) -> int | None:
        """The axis of the batch in a value."""
        axes = self.known.get(producer(reference), ())
        index = self.body.output_index(reference)
        return axes[index] if index < len(axes) else None

    def follow(self, node: Any) -> bool:
        """Finds the batch in what an operation returns; whether it is known."""
        references = data_inputs(node)
        axes = [self.axis(reference) for reference in references]
        shapes = [shape for shape in map(self.shape_of, references) if shape is not None]
        unknown = any(a is None and producer(r) in self.known for a, r in zip(axes, references))
        if unknown or node.op not in RULES or len(shapes) < len(references):
            return False
        call = Call(node, axes, shapes, lambda position: self._integers(references[position]))
        found = RULES[node.op](call)
        if found is not None:
            self.known[node.name] = found
        return found is not None

    def _integers(self, reference: str) -> list[int] | None:
        node = self.body.nodes.get(self.body.root(reference))
        if node is None or node.op != "Const":
            return None
        return [int(number) for number in tf.make_ndarray(node.attr["value"].tensor).ravel()]


# The rules: where the batch is in what an operation returns; None where the operation mixes the
# examples, or may.


def _first_alone(call: Call) -> int | None:
    """The axis of the first input, if all others are shared."""
    return None if any(axis is not None for axis in call.axes[1:]) else call.axes[0]


def _elementwise(call: Call) -> Axes | None:
    """Element by element, with the rules of broadcasting."""
    rank = max(map(len, call.shapes))
    sizes = set()
    places = set()
    for axis, shape in zip(call.axes, call.shapes):
        if axis is not None:
            places.add(axis + rank - len(shape))
            sizes.add(shape[axis])
    if len(places) > 1 or len(sizes) > 1:
        return None
    # One that is not known could be 1 beside another size, and be stretched within its shard.
    if None in sizes and sum(axis is not None for axis in call.axes) > 1:
        return None
    (place,) = places
    for axis, shape in zip(call.axes, call.shapes):
        own = place - rank + len(shape)
        if axis is None and own >= 0 and shape[own] != 1:
            return None  # it has a number for each example of a shard
    return (place,)


def _alike(call: Call) -> Axes | None:
    """Element by element, on values of one shape."""
    same = len(set(call.axes)) == 1 and len({len(shape) for shape in call.shapes}) == 1
    return _elementwise(call) if same else None


def _example(call: Call) -> Axes | None:
    """Whole examples along the first axis, with what they share: a kernel, a bias, a size."""
    return (0,) if _first_alone(call) == 0 else None


def _normalized(call: Call) -> Axes | None:
    """A normalization, which must have its statistics from elsewhere."""
    return None if call.flag("is_training") else _example(call)


def _row(call: Call) -> Axes | None:
    """Along the last axis."""
    axis = _first_alone(call)
    return None if axis is None or axis == len(call.shapes[0]) - 1 else (axis,)


def _loss(call: Call) -> Axes | None:
    """The loss of each row, and its gradient."""
    sizes = {shape[0] for shape in call.shapes}
    return (0, 0) if set(call.axes) == {0} and len(sizes) == 1 and None not in sizes else None


def _reduction(call: Call) -> Axes | None:
    """Along the axes that the second input names."""
    axis, named = _first_alone(call), call.integers(1)
    if axis is None or named is None:
        return None
    gone = {one % len(call.shapes[0]) for one in named}
    if axis in gone:
        return None
    return (axis if call.flag("keep_dims") else axis - sum(one < axis for one in gone),)


def _product(call: Call) -> Axes | None:
    """A product of matrices, or of stacks of them."""
    for side, (axis, shape) in enumerate(zip(call.axes, call.shapes)):
        if axis is None or axis < len(shape) - 2:
            continue
        flipped = call.flag(*_TRANSPOSED[side])
        rows = axis == len(shape) - 2
        # Rows of the first and columns of the second are not summed over.
        if rows == (flipped if side == 0 else not flipped) or call.axes[1 - side] is not None:
            return None
        return (max(map(len, call.shapes)) - 2 + side,)
    return _elementwise(call._replace(shapes=[shape[:-2] for shape in call.shapes]))


_TRANSPOSED = (("transpose_a", "adj_x"), ("transpose_b", "adj_y"))


def _einsum(call: Call) -> Axes | None:
    """A sum of products, whose axes are named."""
    equation = call.node.attr["equation"].s.decode()
    if "." in equation:
        return None
    inputs, _, output = equation.replace(" ", "").partition("->")
    labels = inputs.split(",")
    batch = {label[axis] for label, axis in zip(labels, call.axes) if axis is not None}
    shared = [label for label, axis in zip(labels, call.axes) if axis is None]
    if len(batch) > 1 or any(batch.intersection(label) for label in shared):
        return None
    (letter,) = batch
    repeated = any(label.count(letter) > 1 for label in labels)
    return None if repeated or letter not in output else (output.index(letter),)


def _transposition(call: Call) -> Axes | None:
    """The axes in another order."""
    axis, order = _first_alone(call), call.integers(1)
    return None if axis is None or order is None else (order.index(axis),)


def _reshape(call: Call) -> Axes | None:
    """Another shape, whose first dimension follows from the others."""
    shape = call.integers(1)
    return (0,) if _first_alone(call) == 0 and shape and shape[0] == -1 else None


def _expansion(call: Call) -> Axes | None:
    """One dimension more."""
    axis, added = _first_alone(call), call.integers(1)
    if axis is None or added is None:
        return None
    return (axis + (added[0] % (len(call.shapes[0]) + 1) <= axis),)


def _squeeze(call: Call) -> Axes | None:
    """Without some dimensions, which must be named: the examples of a shard may be one."""
    (axis,) = call.axes
    gone = {one % len(call.shapes[0]) for one in call.node.attr["squeeze_dims"].list.i}
    if axis is None or not gone or axis in gone:
        return None
    return (axis - sum(one < axis for one in gone),)


def _concatenation(call: Call) -> Axes | None:
    """Values end to end, along another axis."""
    along = call.integers(len(call.axes) - 1)
    axis = call.axes[0]
    if axis is None or along is None or set(call.axes[:-1]) != {axis}:
        return None
    return None if along[0] % len(call.shapes[0]) == axis else (axis,)


def _lookup(call: Call) -> Axes | None:
    """Rows of a table that is shared."""
    table, axis = call.axes[:2]
    along = call.integers(2) if call.node.op == "GatherV2" else [0]
    batched = "batch_dims" in call.node.attr and call.node.attr["batch_dims"].i
    if table is not None or axis is None or along is None or batched:
        return None
    return (axis + (along[0] % len(call.shapes[0]) if along[0] else 0),)


#: Rule -> the operations that follow it.
_OPERATIONS: dict[Rule, str] = {
    _elementwise: """
        Identity StopGradient Snapshot PreventGradient Cast ZerosLike OnesLike
        Abs Neg Sign Square Sqrt Rsqrt Reciprocal Inv Exp Expm1 Log Log1p Pow Erf Erfc Lgamma
        Sin Cos Tan Asin Acos Atan Atan2 Sinh Cosh Tanh Asinh Acosh Atanh
        Floor Ceil Round Rint IsNan IsInf IsFinite
        Sigmoid Relu Relu6 LeakyRelu Elu Selu Softplus Softsign
        Add AddV2 Sub Mul MulNoNan Div RealDiv DivNoNan FloorDiv FloorMod TruncateDiv Mod Xdivy
        Maximum Minimum SquaredDifference SelectV2
        Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalNot
    """,
    _alike: "AddN Select ReluGrad SigmoidGrad TanhGrad",
    _example: """
        Conv2D Conv3D DepthwiseConv2dNative Dilation2D BiasAdd BiasAddV1 LRN
        MaxPool MaxPool3D AvgPool AvgPool3D SpaceToDepth DepthToSpace
        ResizeBilinear ResizeNearestNeighbor ResizeBicubic ResizeArea
    """,
    _normalized: "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3",
    _row: "Softmax LogSoftmax",
    _loss: "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits",
    _reduction: "Sum Mean Prod Max Min All Any ArgMax ArgMin EuclideanNorm",
    _product: "MatMul BatchMatMulV2",
    _einsum: "Einsum",
    _transposition: "Transpose",
    _reshape: "Reshape",
    _expansion: "ExpandDims",
    _squeeze: "Squeeze",
    _concatenation: "ConcatV2",
    _lookup: "GatherV2 ResourceGather",
}
RULES: dict[str, Rule] = {
    operation: rule for rule, names in _OPERATIONS.items() for operation in names.split()
}
