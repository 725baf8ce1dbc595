"""Operations that hand on what they take: a third of the nodes of a large Keras model.

Grappler removes most of them before a graph runs; here they go before it is written for every replica.
"""

from __future__ import annotations

from typing import Any, Iterable

from tpucompat.engines import flow, graphdef
from tpucompat.engines.graphdef import control_inputs, data_inputs, node_name

_OPS = frozenset(["Identity", "IdentityN"])
# What hands on one side of it runs, for those that wait for it, only where the conditional goes there.
_BRANCHING = frozenset(["Switch", "RefSwitch"])


def take_out(nodes: dict[str, Any], control: flow.Flow, wanted: Iterable[str]) -> None:
    """Removes identities that wait for nothing and do not tell the sides of a conditional apart.

    Args:
      nodes: Name -> NodeDef; they are changed.
      control: The control flow of the nodes, as it was traced.
      wanted: What the host takes, by names that have to stay.
    """
    kept = {node_name(key) for key in wanted} | control.loops.keys()
    waited_for = {node_name(key) for node in nodes.values() for key in control_inputs(node)}
    instead: dict[str, list[str]] = {}  # tensor or control input -> what stands for it
    for name in control.order:
        node = nodes[name]
        if node.op not in _OPS or name in kept or control_inputs(node):
            continue
        sources = [instead.get(key, [key])[0] for key in data_inputs(node)]
        makers = [nodes.get(node_name(source)) for source in sources]
        if name in waited_for and any(maker is None or maker.op in _BRANCHING for maker in makers):
            continue
        instead.update((f"{name}:{index}", [source]) for index, source in enumerate(sources))
        instead["^" + name] = ["^" + node_name(source) for source in sources]
        del nodes[name]
    for node in nodes.values():
        keys = [*data_inputs(node), *control_inputs(node)]
        if any(key in instead for key in keys):
            new = [one for key in keys for one in instead.get(key, [key])]
            waits = dict.fromkeys(key for key in new if key.startswith("^"))
            graphdef.set_inputs(node, [key for key in new if not key.startswith("^")] + [*waits])
