"""Nodes with arguments and returned values: a graph's, or a function's."""

from __future__ import annotations

import collections
from typing import Any, Iterable, Sequence

DT_RESOURCE = 20


DT_VARIANT = 21


DT_INT32 = 3


DT_BOOL = 10


def producer(reference: str) -> str:
    """The node or argument that a reference means: ``a`` of ``a``, ``a:1``, ``a:out:0`` and ``^a``."""
    return reference.lstrip("^").split(":", 1)[0]


def suffix(reference: str) -> str:
    """What follows the name of the node in a reference to a value."""
    return reference[len(producer(reference)) :]


def is_control(reference: str) -> bool:
    """Whether a reference is a control input."""
    return reference.startswith("^")


def data_inputs(node: Any) -> list[str]:
    """The values that a node takes, as they are written in it."""
    return [reference for reference in node.input if not is_control(reference)]


class Body:
    """Nodes with arguments and returned references: a graph's, or a function's."""

    def __init__(
        self,
        nodes: Iterable[Any],
        arguments: Sequence[str],
        returns: Sequence[str],
        function: Any = None,
    ) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.arguments = list(arguments)
        self.returns = list(returns)
        self.function = function
        self._order: list[str] | None = None

    @property
    def is_function(self) -> bool:
        """Whether the nodes are those of a function."""
        return self.function is not None

    def output(self, name: str, argument: str, index: int) -> str:
        """The reference to an output of a node; functions name the output's argument, graphs do
        not."""
        if self.is_function:
            return f"{name}:{argument}:{index}"
        return name if index == 0 else f"{name}:{index}"

    def output_index(self, reference: str, names: Sequence[str] = ()) -> int:
        """Which output of its node a reference means; ``names`` are the outputs of a called
        function."""
        parts = reference.split(":")
        if len(parts) == 3 and parts[1] in names:
            return names.index(parts[1]) + int(parts[2])
        return int(parts[-1]) if len(parts) > 1 else 0

    def order(self) -> list[str]:
        """The nodes, each after those that it takes something from."""
        if self._order is None:
            self._order = topological(
                {
                    name: [p for p in map(producer, node.input) if p in self.nodes]
                    for name, node in self.nodes.items()
                }
            )
        return self._order

    def changed(self) -> None:
        """Forgets the order, after edges were added."""
        self._order = None

    def root(self, reference: str) -> str:
        """The argument or node that a resource comes from, seen through Identity."""
        name = producer(reference)
        while name in self.nodes and self.nodes[name].op == "Identity":
            name = producer(self.nodes[name].input[0])
        return name


def topological(sources: dict[str, list[str]]) -> list[str]:
    """The keys, each after its sources."""
    waiting = {name: len(set(before)) for name, before in sources.items()}
    users: dict[str, list[str]] = collections.defaultdict(list)
    for name, before in sources.items():
        for source in set(before):
            users[source].append(name)
    ready = collections.deque(name for name, count in waiting.items() if not count)
    order = []
    while ready:
        name = ready.popleft()
        order.append(name)
        for user in users[name]:
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    # What is left belongs to a loop of Enter and NextIteration; it keeps the order in which it was
    # traced.
    seen = set(order)
    order.extend(name for name in sources if name not in seen)
    return order


def copied(node: Any) -> Any:
    """A copy of a protocol buffer."""
    copy = type(node)()
    copy.CopyFrom(node)
    return copy
