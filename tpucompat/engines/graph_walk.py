"""Walks over the operations of a TF 1 graph."""

from __future__ import annotations

from typing import Any

from tpucompat.tf import private


def needed(operation: Any) -> set[Any]:
    """An operation and all operations that it needs, by data and by control.

    Args:
      operation: A ``tf.Operation``; the bodies of functions are not looked into.
    """
    found = {operation}
    waiting = [operation]
    while waiting:
        here = waiting.pop()
        for source in [*(tensor.op for tensor in here.inputs), *here.control_inputs]:
            if source not in found:
                found.add(source)
                waiting.append(source)
    return found


def needing(operations: set[Any], among: set[Any]) -> set[Any]:
    """The operations that need one of those given, by data or by control, and those themselves.

    Args:
      operations: ``tf.Operation``s.
      among: The operations that are looked at.
    """
    users: dict[Any, list[Any]] = {}
    for user in among:
        for source in [*(tensor.op for tensor in user.inputs), *user.control_inputs]:
            users.setdefault(source, []).append(user)
    found = set(operations)
    waiting = list(found)
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in found:
                found.add(user)
                waiting.append(user)
    return found


def maker(tensor: Any) -> Any:
    """The operation that makes a tensor, seen through the captures of functions."""
    graph = tensor.graph
    while isinstance(graph, private.func_graph()):
        pairs = zip(graph.internal_captures, graph.external_captures)
        outer = next((external for internal, external in pairs if internal is tensor), None)
        if outer is None:
            break
        tensor, graph = outer, outer.graph
    return tensor.op
