"""Selection in ``tf.contrib.graph_editor``: operations and tensors by name, by neighbourhood, by walks.

Behaviour follows util.py and select.py in tensorflow/contrib/graph_editor of TensorFlow 1.15.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Iterable, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError


def make_list_of_op(
    ops: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> list[Any]:
    """The operations of a graph, of one operation or of a collection.

    Args:
      ops: A graph, an operation, or operations.
      check_graph: Whether all have to belong to one graph.
      allow_graph: Whether a graph is allowed.
      ignore_ts: Whether tensors are left out silently.

    Returns:
      The operations.

    Raises:
      TypeError: If something else is among them.
    """
    if isinstance(ops, tf.Graph):
        if not allow_graph:
            raise BadTypeError("TPU103", "allow_graph is False: cannot convert a tf.Graph.")
        return ops.get_operations()
    found = [ops] if not is_iterable(ops) else list(ops)
    if ignore_ts:
        found = [entry for entry in found if not tf.is_tensor(entry)]
    _check_all(found, tf.Operation, check_graph)
    return found


def make_list_of_t(
    ts: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> list[Any]:
    """The tensors of a graph, of one tensor or of a collection.

    Args:
      ts: A graph, a tensor, or tensors.
      check_graph: Whether all have to belong to one graph.
      allow_graph: Whether a graph is allowed.
      ignore_ops: Whether operations are left out silently.

    Returns:
      The tensors.

    Raises:
      TypeError: If something else is among them.
    """
    if isinstance(ts, tf.Graph):
        if not allow_graph:
            raise BadTypeError("TPU103", "allow_graph is False: cannot convert a tf.Graph.")
        return get_tensors(ts)
    found = [ts] if not is_iterable(ts) else list(ts)
    if ignore_ops:
        found = [entry for entry in found if not isinstance(entry, tf.Operation)]
    _check_all(found, tf.Tensor, check_graph)
    return found


def _check_all(entries: list[Any], kind: type, check_graph: bool) -> None:
    for entry in entries:
        if not isinstance(entry, kind):
            raise BadTypeError("TPU103", f"Expected a {kind.__name__}, got: {type(entry)}")
    if check_graph and len({id(entry.graph) for entry in entries}) > 1:
        raise BadValueError("TPU103", "Operations or tensors of several graphs.")


def is_iterable(obj: Any) -> bool:
    """Whether something is a collection (a tensor is not)."""
    return isinstance(obj, Iterable) and not tf.is_tensor(obj)


def get_tensors(graph: Any) -> list[Any]:
    """All tensors of a graph."""
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


def get_generating_ops(ts: Any) -> list[Any]:
    """The operations that make some tensors."""
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: Any) -> list[Any]:
    """The operations that use some tensors."""
    found: list[Any] = []
    for tensor in make_list_of_t(ts, allow_graph=False):
        extend(found, tensor.consumers())
    return found


def extend(entries: list[Any], more: Iterable[Any]) -> list[Any]:
    """Appends what is not in a list yet; by identity, since tensors may compare element by element."""
    known = {id(entry) for entry in entries}
    for entry in more:
        if id(entry) not in known:
            known.add(id(entry))
            entries.append(entry)
    return entries


class ControlOutputs:
    """The control edges of a graph by where they start.

    Args:
      graph: The graph.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self.update()

    def update(self) -> ControlOutputs:
        """Reads the graph again; returns itself."""
        self._outputs: dict[Any, list[Any]] = {}
        for op in self._graph.get_operations():
            for before in op.control_inputs:
                self._outputs.setdefault(before, []).append(op)
        return self

    def get_all(self) -> dict[Any, list[Any]]:
        """Operation to the operations that wait for it."""
        return self._outputs

    def get(self, op: Any) -> list[Any]:
        """The operations that wait for one."""
        return self._outputs.get(op, [])

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph


def can_be_regex(obj: Any) -> bool:
    """Whether something is a text or a compiled regular expression."""
    return isinstance(obj, (str, re.Pattern))


def make_regex(obj: Any) -> Any:
    """A text as a regular expression.

    Raises:
      ValueError: If it can be none.
    """
    if not can_be_regex(obj):
        raise BadValueError("TPU103", f"Expected a string or a regex, got: {type(obj)}")
    return re.compile(obj)


def filter_ops(ops: Any, positive_filter: Any) -> list[Any]:
    """The operations for which a function is true; all of them where it is True itself."""
    found = make_list_of_op(ops)
    return found if positive_filter is True else [op for op in found if positive_filter(op)]


def filter_ops_from_regex(ops: Any, regex: Any) -> list[Any]:
    """The operations whose names match."""
    pattern = make_regex(regex)
    return filter_ops(ops, lambda op: pattern.search(op.name))


def filter_ts(ops: Any, positive_filter: Any) -> list[Any]:
    """The inputs and outputs of operations for which a function is true."""
    found = make_list_of_op(ops)
    tensors = extend(inputs_of(found), (t for op in found for t in op.outputs))
    return tensors if positive_filter is True else [t for t in tensors if positive_filter(t)]


def filter_ts_from_regex(ops: Any, regex: Any) -> list[Any]:
    """The inputs and outputs of operations whose names match."""
    pattern = make_regex(regex)
    return filter_ts(ops, lambda tensor: pattern.search(tensor.name))


def inputs_of(ops: Iterable[Any]) -> list[Any]:
    """What the operations read, each tensor once."""
    return extend([], (tensor for op in ops for tensor in op.inputs))


def get_name_scope_ops(ops: Any, scope: str) -> list[Any]:
    """The operations in a name scope."""
    return filter_ops_from_regex(ops, f"^{scope.rstrip('/')}(/.*)?$")


def compute_boundary_ts(ops: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """The inputs from outside, the outputs to outside, and the tensors inside of a part of a graph.

    Args:
      ops: The operations of the part.

    Returns:
      The three lists.
    """
    part = make_list_of_op(ops)
    inside_ops = {id(op) for op in part}
    inputs = inputs_of(part)
    outputs = [tensor for op in part for tensor in op.outputs]
    inside = [tensor for tensor in inputs if id(tensor.op) in inside_ops]
    hidden = {
        id(tensor)
        for tensor in inside
        if all(id(consumer) in inside_ops for consumer in tensor.consumers())
    }
    return (
        [tensor for tensor in inputs if id(tensor.op) not in inside_ops],
        [tensor for tensor in outputs if id(tensor) not in hidden],
        inside,
    )


def _walk(
    seeds: list[Any],
    following: Callable[[Any], Iterable[Any]],
    inclusive: bool,
    within_ops: Any,
    within_ops_fn: Any,
) -> list[Any]:
    """Operations reached from seeds, wave by wave."""
    within = None if not within_ops else {id(op) for op in make_list_of_op(within_ops)}
    if within is not None:
        seeds = [op for op in seeds if id(op) in within]
    found, wave = list(seeds), list(seeds)
    known = {id(op) for op in seeds}
    while wave:
        new: list[Any] = []
        for op in wave:
            for other in following(op):
                inside = (within is None or id(other) in within) and (
                    within_ops_fn is None or within_ops_fn(other)
                )
                if inside and id(other) not in known:
                    known.add(id(other))
                    new.append(other)
        found.extend(new)
        wave = new
    start = {id(op) for op in seeds}
    return found if inclusive else [op for op in found if id(op) not in start]


def _seeds(seed_ops: Any, of_tensors: Callable[[Any], list[Any]]) -> list[Any]:
    seeds = list(seed_ops) if is_iterable(seed_ops) else [seed_ops]
    if seeds and tf.is_tensor(seeds[0]):
        return of_tensors(seeds)
    return make_list_of_op(seeds, allow_graph=False)


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Any]:
    """The operations that depend on some.

    Args:
      seed_ops: Operations, or tensors for their consumers.
      inclusive: Whether they are in the result.
      within_ops: The only operations that count.
      within_ops_fn: Whether an operation counts.
      stop_at_ts: Tensors where the walk ends.
      control_outputs: A :class:`ControlOutputs`, to follow control edges too.

    Returns:
      The operations.
    """
    stop = {id(tensor) for tensor in make_list_of_t(stop_at_ts)}

    def following(op: Any) -> Iterable[Any]:
        for tensor in op.outputs:
            if id(tensor) not in stop:
                yield from tensor.consumers()
        if control_outputs is not None:
            yield from control_outputs.update().get(op)

    return _walk(
        _seeds(seed_ops, get_consuming_ops), following, inclusive, within_ops, within_ops_fn
    )


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Any]:
    """The operations that some depend on.

    Args:
      seed_ops: Operations, or tensors for those that make them.
      inclusive: Whether they are in the result.
      within_ops: The only operations that count.
      within_ops_fn: Whether an operation counts.
      stop_at_ts: Tensors where the walk ends.
      control_inputs: Whether control edges count.

    Returns:
      The operations.
    """
    stop = {id(tensor) for tensor in make_list_of_t(stop_at_ts)}

    def following(op: Any) -> Iterable[Any]:
        for tensor in op.inputs:
            if id(tensor) not in stop:
                yield tensor.op
        if control_inputs:
            yield from op.control_inputs

    return _walk(
        _seeds(seed_ops, get_generating_ops), following, inclusive, within_ops, within_ops_fn
    )


def get_walks_intersection_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    control_inputs: bool = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Any]:
    """The operations between some and others.

    Args:
      forward_seed_ops: Where the forward walk starts.
      backward_seed_ops: Where the backward walk starts.
      forward_inclusive: Whether the former are in the result.
      backward_inclusive: Whether the latter are.
      within_ops: The only operations that count.
      within_ops_fn: Whether an operation counts.
      control_inputs: Whether control edges count backwards.
      control_outputs: Whether they count forwards; see :func:`get_forward_walk_ops`.
      control_ios: Both.

    Returns:
      The operations.
    """
    forward, backward = _walks(
        forward_seed_ops,
        backward_seed_ops,
        forward_inclusive,
        backward_inclusive,
        within_ops,
        within_ops_fn,
        control_inputs or control_ios is not None,
        control_outputs or control_ios,
    )
    reached = {id(op) for op in backward}
    return [op for op in forward if id(op) in reached]


def get_walks_union_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    control_inputs: bool = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Any]:
    """The operations that depend on some, and those that others depend on.

    Args:
      forward_seed_ops: As for :func:`get_walks_intersection_ops`, like all arguments.
      backward_seed_ops: Likewise.
      forward_inclusive: Likewise.
      backward_inclusive: Likewise.
      within_ops: Likewise.
      within_ops_fn: Likewise.
      control_inputs: Likewise.
      control_outputs: Likewise.
      control_ios: Likewise.

    Returns:
      The operations.
    """
    forward, backward = _walks(
        forward_seed_ops,
        backward_seed_ops,
        forward_inclusive,
        backward_inclusive,
        within_ops,
        within_ops_fn,
        control_inputs or control_ios is not None,
        control_outputs or control_ios,
    )
    return extend(forward, backward)


def _walks(
    forward_seeds: Any,
    backward_seeds: Any,
    forward_inclusive: bool,
    backward_inclusive: bool,
    within_ops: Any,
    within_ops_fn: Any,
    control_inputs: bool,
    control_outputs: Any,
) -> tuple[list[Any], list[Any]]:
    within = {"within_ops": within_ops, "within_ops_fn": within_ops_fn}
    forward = get_forward_walk_ops(
        forward_seeds, forward_inclusive, control_outputs=control_outputs, **within
    )
    backward = get_backward_walk_ops(
        backward_seeds, backward_inclusive, control_inputs=control_inputs, **within
    )
    return forward, backward


def select_ops(*args: Any, **kwargs: Any) -> list[Any]:
    """Operations, and those whose names match regular expressions.

    Args:
      *args: Operations, collections of them, or regular expressions.
      **kwargs: ``graph`` for the expressions, ``positive_filter``.

    Returns:
      The operations, each once.

    Raises:
      ValueError: If there is an expression but no graph.
    """
    return _select(args, kwargs, "(?#ts)", filter_ops_from_regex, _only_ops)


def select_ts(*args: Any, **kwargs: Any) -> list[Any]:
    """Tensors, and those whose names match regular expressions.

    Args:
      *args: Tensors, collections of them, or regular expressions.
      **kwargs: ``graph`` for the expressions, ``positive_filter``.

    Returns:
      The tensors, each once.

    Raises:
      ValueError: If there is an expression but no graph.
    """
    return _select(args, kwargs, "(?#ops)", filter_ts_from_regex, _only_ts)


def _only_ops(entries: Any) -> list[Any]:
    return make_list_of_op(entries, ignore_ts=True)


def _only_ts(entries: Any) -> list[Any]:
    return make_list_of_t(entries, ignore_ops=True)


def _select(
    args: Sequence[Any],
    kwargs: dict[str, Any],
    other_kind: str,
    matching: Callable[[Any, Any], list[Any]],
    listed: Callable[[Any], list[Any]],
) -> list[Any]:
    graph, accept = kwargs.pop("graph", None), kwargs.pop("positive_filter", None)
    for name in ("restrict_ops_regex", "restrict_ts_regex"):
        kwargs.pop(name, None)
    if kwargs:
        raise BadValueError("TPU103", f"Wrong keywords argument: {sorted(kwargs)}.")
    found: list[Any] = []
    for arg in args:
        if not can_be_regex(arg):
            entries = listed(arg)
        elif graph is None:
            raise BadValueError("TPU103", "Use the keyword argument 'graph' to use regex.")
        elif make_regex(arg).pattern.startswith(other_kind):
            continue
        else:
            entries = matching(graph, arg)
        extend(found, (entry for entry in entries if accept is None or accept(entry)))
    return found
