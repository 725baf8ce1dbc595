"""Gives reads and writes of a variable an order where the traced graph has none.

A TF 1 graph orders what its author ordered; BERT's ``global_step.assign(global_step + 1)`` races
with the learning rate's read of the step. In one Session such a race blurs the numbers a little.
Between replicas it is worse, since they drift apart when each of them goes another way; on a TPU
the compiled program has one order for all cores. Here it is the order in which the operations were
made, as in a ``tf.function``.

That is what TensorFlow's automatic control dependencies do too; they fail on graphs with imported
TF 1 conditionals and loops, of whose contexts they know nothing.
"""

from __future__ import annotations

import collections
from typing import Any, Mapping, Sequence

from tensorflow.core.framework import node_def_pb2

from tpucompat.engines.flow import Conditions, Flow
from tpucompat.engines.graphdef import node_name, tensor_name

# Operations that take a variable's handle and leave its value alone.
_READS = frozenset(
    ["ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp"]
)
# Operations that hand on the handle itself.
_ALIASES = frozenset(["Identity", "Switch", "Enter"])
# Operations that call functions, which may write.
_FUNCTIONAL = frozenset(["If", "Case", "While", "PartitionedCall", "StatefulPartitionedCall"])


def put_in_order(
    nodes: dict[str, Any], handles: Mapping[str, str], flow: Flow, reads_first: bool = False
) -> None:
    """Adds control inputs to the nodes, and nodes that join the two ways of a conditional.

    Accesses in TF 1 loops are left unchanged: a control input cannot cross the loop's border.

    Args:
      nodes: Name -> NodeDef; they are changed.
      handles: Tensor of a handle -> name of the variable.
      flow: The control flow of the nodes.
      reads_first: Whether a read comes before a write that it does not depend on, whichever was
        made first.
    """
    aliases = dict(handles)
    reads: dict[str, list[str]] = {}
    writes: dict[str, list[str]] = {}
    joins: dict[str, Any] = {}
    order = _reads_first(nodes, handles, flow) if reads_first else flow.order
    merges = _Merges(nodes, order, flow)
    for name in order:
        node = nodes[name]
        used = {aliases[key] for key in map(tensor_name, node.input) if key in aliases}
        if not used:
            continue
        if node.op in _ALIASES:
            for output in (0, 1):
                aliases.update({f"{name}:{output}": variable for variable in used})
            continue
        if name in flow.loops:
            continue
        before: list[str] = []
        for variable in used:
            before += writes.get(variable, [])
            if node.op in _READS:
                reads.setdefault(variable, []).append(name)
                continue
            before += reads.get(variable, [])
            if flow.conditions[name]:  # it may not happen, so the accesses before it still count
                writes.setdefault(variable, []).append(name)
            else:
                writes[variable], reads[variable] = [name], []
        given = {*map(node_name, node.input), name}
        for other in dict.fromkeys(before):
            if other not in given and not _exclude(flow.conditions[other], flow.conditions[name]):
                node.input.append("^" + _seen_from(other, name, nodes, joins, flow, merges))
    nodes.update(joins)


class _Merges:
    """Finds the Merge by which the graph itself leaves a conditional.

    XLA writes a node of a branch out for every Merge that waits for it, unless the same tensors come into
    the branches of both (``functionalize_cond.cc``): a write that a Merge of ours waited for, too, would
    happen twice.

    Args:
      nodes: Name -> NodeDef.
      order: The order of the accesses.
      flow: The control flow of the nodes.
    """

    def __init__(self, nodes: Mapping[str, Any], order: Sequence[str], flow: Flow) -> None:
        self._nodes, self._flow = nodes, flow
        self._place = {name: place for place, name in enumerate(order)}
        self._users: dict[str, list[str]] = {}

    def after(self, other: str, name: str, conditions: Conditions) -> str | None:
        """A Merge that waits for ``other``, leaves the last of its conditions, and comes before ``name``."""
        if other not in self._place:
            return None
        if not self._users:
            self._users = collections.defaultdict(list)
            for user in self._place:
                for source in self._nodes[user].input:
                    self._users[node_name(source)].append(user)
        queue, found = collections.deque([other]), {other}
        while queue:
            for user in self._users[queue.popleft()]:
                if user in found or self._place[user] >= self._place[name]:
                    continue
                found.add(user)
                if self._flow.conditions[user][: len(conditions)] == conditions:
                    queue.append(user)
                elif self._nodes[user].op == "Merge":
                    return user
        return None


def _exclude(one: Conditions, other: Conditions) -> bool:
    """Whether two nodes are in the two ways of a conditional, so that one of them runs at most."""
    return any((predicate, 1 - branch) in other for predicate, branch in one)


def _reads_first(nodes: Mapping[str, Any], handles: Mapping[str, str], flow: Flow) -> Sequence[str]:
    """A topological order in which every write comes as late as it can.

    A read that waits for a write, and is there for another alone (``beta1_power * beta1`` when an update has
    been made), comes with that one: where an optimizer is applied several times, none of them is lost.
    """
    aliases = dict(handles)
    users: dict[str, list[str]] = collections.defaultdict(list)
    for name in flow.order:
        for source in nodes[name].input:
            users[node_name(source)].append(name)
    depth: dict[str, int] = {}  # the number of writes on the longest way to a node, itself included
    counted: set[str] = set()  # writes that are counted where they read
    for name in flow.order:
        node = nodes[name]
        before = max((depth.get(node_name(source), 0) for source in node.input), default=0)
        handle = next((key for key in map(tensor_name, node.input) if key in aliases), None)
        writes = handle is not None and node.op not in (*_READS, *_ALIASES) and name not in counted
        if handle is not None and node.op in _ALIASES:
            aliases.update({f"{name}:{output}": aliases[handle] for output in (0, 1)})
        elif handle is not None and node.op in _READS and before:
            change = _only_change(name, nodes, users)
            handles_of = map(tensor_name, nodes[change].input) if change else ()
            if change and aliases[handle] in {aliases.get(key) for key in handles_of}:
                counted.add(change)
                writes = True
        depth[name] = before + int(writes)
    return sorted(flow.order, key=lambda name: depth[name])


def _only_change(
    read: str, nodes: Mapping[str, Any], users: Mapping[str, Sequence[str]]
) -> str | None:
    """The assignment that alone uses what is read, by way of a few operations, or None."""
    name = read
    for _ in range(4):
        following = set(users.get(name, ()))
        if len(following) != 1:
            return None
        name = following.pop()
        if nodes[name].op.startswith("Assign"):
            return name
    return None


def _seen_from(
    other: str,
    name: str,
    nodes: Mapping[str, Any],
    joins: dict[str, Any],
    flow: Flow,
    merges: _Merges,
) -> str:
    """A node that has run when ``other`` has run or will not, and that runs if ``name`` does."""
    conditions = flow.conditions[other]
    other = _settled(other, nodes, joins)
    while conditions and conditions[-1] not in flow.conditions[name]:
        merge = merges.after(other, name, conditions)
        predicate, branch = conditions[-1]
        conditions = conditions[:-1]
        if merge is not None:
            other = merge
            continue
        joined = f"{other}/joined"
        if joined not in joins:
            sides = _add(joins, f"{joined}/sides", "Switch", [predicate, predicate])
            here = _add(joins, f"{joined}/here", "Identity", [f"{sides}:{branch}", f"^{other}"])
            there = _add(joins, f"{joined}/there", "Identity", [f"{sides}:{1 - branch}"])
            joins[_add(joins, joined, "Merge", [here, there])].attr["N"].i = 2
        other = joined
    return other


def _settled(other: str, nodes: Mapping[str, Any], joins: dict[str, Any]) -> str:
    """A node that runs when ``other`` has given all its outputs.

    A function traced in a TF 1 graph has no side effects of its own (no ``control_ret``): a control
    input from a conditional or loop that calls it may come before its assignments, an output not.
    """
    node = nodes[other]
    if node.op not in _FUNCTIONAL:
        return other
    types = list(node.attr["Tout" if "Tout" in node.attr else "T"].list.type)
    if not types:
        return other
    settled = f"{other}/settled"
    if settled not in joins:
        outputs = [
            _add(joins, f"{settled}/{index}", "Identity", [f"{other}:{index}"], dtype)
            for index, dtype in enumerate(types)
        ]
        _add(joins, settled, "NoOp", ["^" + output for output in outputs], None)
    return settled


def _add(
    joins: dict[str, Any], name: str, op: str, inputs: list[str], dtype: int | None = 10
) -> str:
    """Makes a node, on a predicate (type 10, bool) unless said otherwise."""
    joins[name] = node_def_pb2.NodeDef(name=name, op=op, input=inputs)
    if dtype is not None:
        joins[name].attr["T"].type = dtype
    return name
