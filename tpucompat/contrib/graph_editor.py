"""``tf.contrib.graph_editor``: copying parts of a graph, and rerouting edges.

Behaviour follows tensorflow/contrib/graph_editor of TensorFlow 1.15. Copies are made by
``tf.import_graph_def``, so that any operation can be copied; control edges from outside a copied part are left
out. Selection is in :mod:`~tpucompat.contrib.graph_editor_selection`.
"""

from __future__ import annotations

from typing import Any, Iterable

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.contrib.graph_editor_selection import (
    compute_boundary_ts,
    get_name_scope_ops,
    get_walks_intersection_ops,
    make_list_of_op,
    make_list_of_t,
    select_ops,
)

# Parts of a graph (subgraph.py, transform.py) ----------------------------------------------------------


class SubGraphView:
    """A part of a graph: some operations, with the tensors that enter and leave it.

    Args:
      inside_ops: The operations.
      passthrough_ts: Ignored.
    """

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops = make_list_of_op(inside_ops)
        self._inputs, self._outputs, _ = compute_boundary_ts(self._ops)

    @property
    def ops(self) -> list[Any]:
        """The operations."""
        return self._ops

    @property
    def inputs(self) -> list[Any]:
        """The tensors that come from outside."""
        return self._inputs

    @property
    def outputs(self) -> list[Any]:
        """The tensors that are used outside, or by nothing."""
        return self._outputs

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._ops[0].graph

    def __iter__(self) -> Any:
        """Over the operations."""
        return iter(self._ops)


def make_view(*args: Any, **kwargs: Any) -> SubGraphView:
    """A view of the operations that :func:`select_ops` finds."""
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0]
    return SubGraphView(select_ops(*args, **kwargs))


sgv = make_view


def make_view_from_scope(scope: str, graph: Any) -> SubGraphView:
    """A view of the operations in a name scope."""
    return SubGraphView(get_name_scope_ops(graph, scope))


sgv_scope = make_view_from_scope


class TransformerInfo:
    """What became of the operations and tensors of a copied part."""

    def __init__(self, ops: dict[Any, Any]) -> None:
        self._transformed_ops = ops
        self._tensors = {
            id(old): new
            for before, after in ops.items()
            for old, new in zip(before.outputs, after.outputs)
        }

    def transformed(self, original: Any, missing_fn: Any = None) -> Any:
        """The copy of an operation or tensor, or of a structure of them.

        Args:
          original: What was copied.
          missing_fn: Gives the result for what was not.

        Returns:
          The copy.
        """

        def one(entry: Any) -> Any:
            if isinstance(entry, tf.Operation):
                found = self._transformed_ops.get(entry)
            else:
                found = self._tensors.get(id(entry))
            return missing_fn(entry) if found is None and missing_fn is not None else found

        return tf.nest.map_structure(one, original)


def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: dict[Any, Any],
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copies a part of a graph, with other inputs.

    Args:
      sgv: The part, a view or operations.
      replacement_ts: Tensor to the tensor that takes its place; others from outside are used as they are.
      dst_graph: Where the copy goes; the same graph by default.
      dst_scope: The name scope of the copy.
      src_scope: Taken off the names.
      reuse_dst_scope: Ignored: names are made unique.

    Returns:
      A view of the copy, and what became of what.
    """
    view = make_view(sgv)
    return _copied(view, replacement_ts.items(), dst_graph or view.graph, dst_scope, src_scope)


def _copied(
    view: SubGraphView,
    replacements: Iterable[tuple[Any, Any]],
    graph: Any,
    dst_scope: str,
    src_scope: str,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copies a part of a graph; the replacements are pairs, for not every tensor is hashable."""
    replaced = {id(old): new for old, new in replacements}
    with graph.as_default():
        names = {op.name: _copied_name(graph, op.name, dst_scope, src_scope) for op in view.ops}
        definition = tf.GraphDef()
        definition.library.CopyFrom(view.graph.as_graph_def().library)
        inputs: dict[str, Any] = {}
        for op in view.ops:
            node = definition.node.add()
            node.CopyFrom(op.node_def)
            node.name = names[op.name]
            node.attr.pop("_class", None)
            del node.input[:]
            for tensor in op.inputs:
                new = replaced.get(id(tensor))
                if new is None and tensor.op.name in names:
                    node.input.append(f"{names[tensor.op.name]}:{tensor.value_index}")
                    continue
                key = f"outside_{len(inputs)}"
                inputs[key + ":0"] = tensor if new is None else new
                node.input.append(key + ":0")
            node.input.extend(
                "^" + names[before.name] for before in op.control_inputs if before.name in names
            )
        copies = tf.import_graph_def(
            definition,
            input_map=inputs,
            return_elements=[names[op.name] for op in view.ops],
            name="",
        )
    copied = dict(zip(view.ops, copies))
    made = SubGraphView(copies)
    # As in 1.15 (transform.py, Transformer._transform_sgv): only copied tensors count as inputs, and those
    # from outside are none.
    made._inputs = []
    return made, TransformerInfo(copied)


def _copied_name(graph: Any, name: str, dst_scope: str, src_scope: str) -> str:
    prefix = src_scope.rstrip("/") + "/"
    relative = name[len(prefix) :] if src_scope and name.startswith(prefix) else name
    scope = dst_scope.rstrip("/")
    with tf.name_scope(None):
        return graph.unique_name(f"{scope}/{relative}" if scope else relative)


def copy(
    sgv: Any,
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copies a part of a graph; inputs from outside become placeholders in another graph.

    Args:
      sgv: As for :func:`copy_with_input_replacements`.
      dst_graph: Likewise.
      dst_scope: Likewise.
      src_scope: Likewise.
      reuse_dst_scope: Likewise.

    Returns:
      A view of the copy, and what became of what.
    """
    view = make_view(sgv)
    graph = dst_graph or view.graph
    replacements: list[tuple[Any, Any]] = []
    if graph is not view.graph:
        with graph.as_default():
            replacements = [(t, tf.placeholder(t.dtype, t.shape)) for t in view.inputs]
    return _copied(view, replacements, graph, dst_scope, src_scope)


def graph_replace(
    target_ts: Any,
    replacement_ts: dict[Any, Any],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Tensors recomputed with other inputs; only what depends on the inputs is copied.

    Args:
      target_ts: A tensor, or a structure of tensors.
      replacement_ts: Tensor to the tensor that takes its place.
      dst_scope: The name scope of the copy.
      src_scope: Taken off the names.
      reuse_dst_scope: Ignored.

    Returns:
      The new tensors, in the same structure.

    Raises:
      ValueError: If the targets do not depend on the inputs.
    """
    targets = tf.nest.flatten(target_ts)
    between = get_walks_intersection_ops(list(replacement_ts), targets, backward_inclusive=True)
    if not between:
        raise BadValueError("TPU103", "Targets and replacements are not connected!")
    _, info = copy_with_input_replacements(
        SubGraphView(between), replacement_ts, None, dst_scope, src_scope
    )
    return info.transformed(target_ts, missing_fn=lambda tensor: tensor)


# Edges (reroute.py) -----------------------------------------------------------------------------------


def _reroute(new: Any, old: Any, users: Iterable[Any], can_modify: Any, cannot_modify: Any) -> int:
    if not new.dtype.is_compatible_with(old.dtype):
        raise BadValueError("TPU103", f"Dtypes {new.dtype} and {old.dtype} are not compatible.")
    allowed = None if can_modify is None else {id(op) for op in make_list_of_op(can_modify)}
    barred = {id(op) for op in make_list_of_op(cannot_modify or [])}
    count = 0
    for op in users:
        if id(op) in barred or (allowed is not None and id(op) not in allowed):
            continue
        for index, tensor in enumerate(op.inputs):
            if tensor is old:
                op._update_input(index, new)  # TensorFlow has no public way to move an edge
                count += 1
    return count


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Lets the users of some tensors use others instead.

    Args:
      ts0: The tensors to use.
      ts1: The tensors that were used.
      can_modify: The only operations that are changed.
      cannot_modify: Operations that are not.

    Returns:
      How many edges were moved.

    Raises:
      ValueError: If types differ.
    """
    pairs = zip(make_list_of_t(ts0), make_list_of_t(ts1))
    return sum(_reroute(a, b, b.consumers(), can_modify, cannot_modify) for a, b in pairs)


def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Lets the users of some tensors use others instead, and the reverse.

    Args:
      ts0: Tensors.
      ts1: As many.
      can_modify: The only operations that are changed.
      cannot_modify: Operations that are not.

    Returns:
      How many edges were moved.

    Raises:
      ValueError: If types differ.
    """
    count = 0
    for first, second in zip(make_list_of_t(ts0), make_list_of_t(ts1)):
        users = first.consumers(), second.consumers()
        count += _reroute(first, second, users[1], can_modify, cannot_modify)
        count += _reroute(second, first, users[0], can_modify, cannot_modify)
    return count


def add_control_inputs(op: Any, cops: Any) -> None:
    """Lets an operation wait for others.

    Args:
      op: The operation.
      cops: The others.

    Raises:
      TypeError: If one is not an operation.
    """
    op._add_control_inputs(make_list_of_op(cops, allow_graph=False))


def remove_control_inputs(op: Any, cops: Any) -> None:
    """Lets an operation no more wait for others.

    Args:
      op: The operation.
      cops: The others.

    Raises:
      TypeError: If one is not an operation.
    """
    gone = {id(other) for other in make_list_of_op(cops, allow_graph=False)}
    kept = [other for other in op.control_inputs if id(other) not in gone]
    op._remove_all_control_inputs()
    op._add_control_inputs(kept)
