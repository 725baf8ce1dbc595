"""What a GraphDef says about the order, the loops and the conditionals of its nodes."""

from __future__ import annotations

import collections
import heapq
import itertools
from typing import Any, Iterable, Mapping, NamedTuple, Sequence, Tuple

from tpucompat.base import errors
from tpucompat.engines import collectives, graphdef
from tpucompat.engines.graphdef import node_name, tensor_name

#: The conditionals that a node is in: (predicate, branch), outermost first.
Conditions = Tuple[Tuple[str, int], ...]


class Flow(NamedTuple):
    """The control flow of a computation.

    Attributes:
      order: The nodes in a topological order, that of the graph where possible.
      loops: Node -> the outermost TF 1 loop (its frame) that it is in. A loop made of Enter,
        Merge, Switch, NextIteration and Exit has to be imported as a whole.
      conditions: Node -> the TF 1 conditionals that decide whether it runs.
    """

    order: Sequence[str]
    loops: Mapping[str, str]
    conditions: Mapping[str, Conditions]


def analyse(nodes: Mapping[str, Any]) -> Flow:
    """Finds order, loops and conditionals.

    Raises:
      errors.UnsupportedGraphError: If a meeting of the replicas is in a loop (TPU362), or nodes
        wait for each other in a circle that is not a loop (TPU363).
    """
    edges = {name: _waits_for(node, nodes) for name, node in nodes.items()}
    order = _order(edges)
    loops = _loops(nodes, edges, order)
    return Flow(order, loops, _conditions(nodes, loops, order))


def in_order(nodes: Mapping[str, Any]) -> list[str]:
    """The nodes in a topological order, that of the mapping where possible.

    Raises:
      errors.UnsupportedGraphError: As :func:`analyse`, if they wait for each other (TPU363).
    """
    return _order({name: _waits_for(node, nodes) for name, node in nodes.items()})


def conditions_of(key: str, nodes: Mapping[str, Any], control: Flow) -> Conditions:
    """The conditionals that decide whether a tensor or a control input is there.

    Args:
      key: What a node gives, or what the host provides.
      nodes: Name -> NodeDef.
      control: What :func:`analyse` says of them.
    """
    name = node_name(key)
    return _given_by(key, nodes[name], control.conditions, control.loops) if name in nodes else ()


def let_loops_begin(nodes: dict[str, Any]) -> None:
    """Takes the control inputs from TF 1 loops by which they wait for what they give themselves.

    A gradient adds a counter of its steps to the loop. Made under control dependencies
    (``with control_dependencies(UPDATE_OPS): minimize``), it waits for what comes after the loop
    (``WhileContext.AddForwardLoopCounter``, control_flow_ops.py of 1.13 to 2.21). TensorFlow's executor
    lets the counter lag behind a loop of up to ``parallel_iterations`` steps; a loop that is imported as a
    whole, or compiled, cannot wait for itself.

    Args:
      nodes: Name -> NodeDef; they are changed.
    """
    edges = {name: _waits_for(node, nodes) for name, node in nodes.items()}
    loops = _loops(nodes, edges, _order(edges))
    unit = _units(nodes, loops)
    users = _users(_between(unit, edges))
    after = {loop: _reached(loop, users) for loop in {unit[name] for name in loops}}
    for name in loops:
        source = node_name(nodes[name].input[0])
        begins = nodes[name].op == "Enter" and source in nodes and source not in loops
        if begins and nodes[source].op == "Const":
            late = after[unit[name]]
            kept = [key for key in nodes[source].input if unit.get(node_name(key)) not in late]
            graphdef.set_inputs(nodes[source], kept)


def levels(nodes: Mapping[str, Any], loops: Mapping[str, str]) -> dict[str, int]:
    """Node -> the number of meetings of the replicas on the longest way to it, itself included.

    All nodes of a loop have the same level.
    """
    unit = _units(nodes, loops)
    sources = {name: map(node_name, collectives.sources(node)) for name, node in nodes.items()}
    edges = _between(unit, sources)
    found: dict[str, int] = {}
    for key in _order(edges):
        before = max((found[source] for source in edges[key]), default=0)
        kind, name = key.split(" ", 1)
        found[key] = before + int(kind == "node" and nodes[name].op in collectives.OPS)
    return {name: found[unit[name]] for name in nodes}


def _units(nodes: Iterable[str], loops: Mapping[str, str]) -> dict[str, str]:
    """Node -> what is imported as a whole: its loop, or itself."""
    return {name: "loop " + loops[name] if name in loops else "node " + name for name in nodes}


def _between(unit: Mapping[str, str], edges: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """The edges between units."""
    found: dict[str, set[str]] = {key: set() for key in unit.values()}
    for name, sources in edges.items():
        found[unit[name]].update(unit[source] for source in sources if source in unit)
        found[unit[name]].discard(unit[name])
    return found


def _users(edges: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    users: dict[str, list[str]] = collections.defaultdict(list)
    for name, sources in edges.items():
        for source in set(sources):
            users[source].append(name)
    return users


def _reached(start: str, users: Mapping[str, list[str]]) -> set[str]:
    found: set[str] = set()
    queue = [start]
    while queue:
        name = queue.pop()
        if name not in found:
            found.add(name)
            queue.extend(users[name])
    return found


def _waits_for(node: Any, nodes: Mapping[str, Any]) -> list[str]:
    """The nodes that a node waits for, without the back edges of loops."""
    sources = [name for name in map(node_name, collectives.sources(node)) if name in nodes]
    if node.op in ("Merge", "RefMerge"):
        return [name for name in sources if "NextIteration" not in nodes[name].op]
    return sources


def _order(edges: Mapping[str, Iterable[str]]) -> list[str]:
    """A topological order of the keys, that of the mapping where possible."""
    names = list(edges)
    position = {name: index for index, name in enumerate(names)}
    waiting = {name: len(set(sources)) for name, sources in edges.items()}
    users = _users(edges)
    ready = [position[name] for name, count in waiting.items() if count == 0]
    order = []
    while ready:
        name = names[heapq.heappop(ready)]
        order.append(name)
        for user in users[name]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, position[user])
    if len(order) != len(names):
        stuck = min(name for name, count in waiting.items() if count > 0)
        raise errors.UnsupportedGraphError(
            "TPU363",
            f"the computation has a cycle through {stuck!r} that is not a TensorFlow loop",
        )
    return order


def _loops(
    nodes: Mapping[str, Any], edges: Mapping[str, list[str]], order: Sequence[str]
) -> dict[str, str]:
    frames: dict[str, tuple[str, ...]] = {}  # of the values that a node gives out
    member: dict[str, str] = {}
    for name in order:
        node = nodes[name]
        inside = max((frames[source] for source in edges[name]), key=len, default=())
        if node.op in ("Enter", "RefEnter"):
            inside = (*inside, node.attr["frame_name"].s.decode())
        if inside:
            member[name] = inside[0]
            if node.op in collectives.OPS:
                raise errors.UnsupportedGraphError(
                    "TPU362", f"{node.op} {name!r} is inside the loop {inside[0]!r}"
                )
        frames[name] = inside[:-1] if node.op in ("Exit", "RefExit") else inside
    return member


def _conditions(
    nodes: Mapping[str, Any], loops: Mapping[str, str], order: Sequence[str]
) -> dict[str, Conditions]:
    """The conditionals of every node.

    A Switch gives its value to one of two outputs, and what depends on the other one does not run,
    up to the Merge that joins both. Within loops this does not matter: no meeting is in one.
    """
    found: dict[str, Conditions] = {}

    for name in order:
        sources = [
            _given_by(key, nodes[node_name(key)], found, loops)
            for key in collectives.sources(nodes[name])
            if node_name(key) in found
        ]
        if nodes[name].op in ("Merge", "RefMerge") and name not in loops:
            found[name] = tuple(one for one in sources[0] if all(one in rest for rest in sources))
        else:
            sources.sort(key=len, reverse=True)
            found[name] = tuple(dict.fromkeys(itertools.chain(*sources)))
    return found


def _given_by(
    key: str, node: Any, conditions: Mapping[str, Conditions], loops: Mapping[str, str]
) -> Conditions:
    """The conditionals of what a node gives: those of the node, and which way a Switch has to go."""
    if node.op not in ("Switch", "RefSwitch") or node.name in loops or key.startswith("^"):
        return conditions[node.name]
    return (*conditions[node.name], (tensor_name(node.input[1]), int(key.split(":")[1])))
