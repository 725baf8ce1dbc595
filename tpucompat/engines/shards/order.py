"""Puts the reads and writes of resources into one order.

TensorFlow runs what nothing orders in any order; a TPU runs a compiled program in one order. Here a
read that nothing puts behind a write sees the value from before all writes, and two writes keep the
order in which they were traced.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from tpucompat.engines.shards.bodies import Body, data_inputs, producer
from tpucompat.engines.shards.operations import DEQUEUES, FEEDS, Library, takes_resource


class Access(NamedTuple):
    """What a node does with a resource."""

    node: str
    reads: bool
    writes: bool


class OrderedLibrary(Library):
    """Functions in whose bodies reads and writes of resources are put in order."""

    def body(self, name: str) -> Body:
        """The body of a function."""
        known = name in self._bodies
        body = super().body(name)
        if not known:
            order_accesses(body, self)
        return body


def resource_accesses(body: Body, library: Library) -> dict[str, list[Access]]:
    """Resource -> the nodes that read or change it, in the order in which they were traced."""
    found: dict[str, dict[str, Access]] = {}
    for name, node in body.nodes.items():
        if node.op in FEEDS:
            direction = "infeed" if node.op in DEQUEUES else "outfeed"
            found.setdefault(direction, {})[name] = Access(name, True, True)
            continue
        if node.op == "Identity":
            continue
        for position, reference in enumerate(data_inputs(node)):
            if not takes_resource(node, position, library):
                continue
            root = body.root(reference)
            reads, writes = library.access(node, position)
            before = found.setdefault(root, {}).get(name, Access(name, False, False))
            found[root][name] = Access(name, before.reads or reads, before.writes or writes)
    return {
        root: list(accesses.values())
        for root, accesses in found.items()
        if any(access.writes for access in accesses.values())
    }


def order_accesses(body: Body, library: Library) -> dict[str, list[Access]]:
    """Adds control inputs, so that every resource is read and written in one order only.

    A read that nothing orders behind a write sees the value from before all writes; two writes keep
    the order in which they were traced. TensorFlow leaves both open; a TPU, and TensorFlow 1.15
    with it, runs the compiled program in one order.

    Returns:
      The accesses of the resources that are written.
    """
    accesses = resource_accesses(body, library)
    names = [access.node for one in accesses.values() for access in one]
    if not names:
        return accesses
    bits = {name: 1 << bit for bit, name in enumerate(dict.fromkeys(names))}
    before = ancestors(body, bits)
    for one in accesses.values():
        position = {access.node: index for index, access in enumerate(one)}
        for first, second in itertools.permutations(one, 2):
            if not second.writes or before[first.node] & bits[second.node]:
                continue
            if before[second.node] & bits[first.node]:
                continue
            if first.writes and position[first.node] > position[second.node]:
                continue
            node = body.nodes[second.node]
            node.input.append("^" + first.node)
            gained = before[first.node] | bits[first.node]
            for name in bits:
                if name == second.node or before[name] & bits[second.node]:
                    before[name] |= gained
    body.changed()
    return accesses


def ancestors(body: Body, bits: dict[str, int]) -> dict[str, int]:
    """Node -> which of the nodes in ``bits`` run before it."""
    before: dict[str, int] = {}
    for name in body.order():
        mask = 0
        for source in map(producer, body.nodes[name].input):
            if source in body.nodes:
                mask |= before.get(source, 0) | bits.get(source, 0)
        before[name] = mask
    return before
