"""TF 1 conditionals that are decided before the step runs.

Keras has its learning phase before every dropout and batch normalization, and a step is made for
training or for evaluation. The nodes that a switch with a known predicate does not choose never run.
Without them the graph is shorter, and what is left of it is in no conditional.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

import numpy as np

from tpucompat.engines import flow, graphdef
from tpucompat.engines.graphdef import control_inputs, data_inputs, node_name, tensor_name

_INT32 = 3  # of DataType


def take_out(nodes: dict[str, Any], known: Mapping[str, Any], wanted: Iterable[str]) -> None:
    """Removes the ways that conditionals with a known predicate do not go.

    Args:
      nodes: Name -> NodeDef; they are changed.
      known: Tensor -> value, for those with one value for good.
      wanted: What the host takes. Where something of it never runs, all nodes are kept.
    """
    if not any(node.op == "Switch" for node in nodes.values()):
        return
    ways = _Ways(nodes, known)
    for name in flow.in_order(nodes):
        ways.follow(nodes[name])
    if not ways.unclear and not any(map(ways.never, wanted)):
        ways.shorten()


class _Ways:
    """The ways through a graph.

    Args:
      nodes: Name -> NodeDef.
      known: Tensor -> value.

    Attributes:
      unclear: Whether a merge loses some of its inputs and keeps several.
    """

    def __init__(self, nodes: dict[str, Any], known: Mapping[str, Any]) -> None:
        self._nodes = nodes
        self._values = {
            key: bool(value) for key, value in known.items() if np.asarray(value).dtype == bool
        }
        self._dead: set[str] = set()  # nodes that never run, and outputs that never have a value
        self._switches: set[str] = set()  # those that go one way
        self._merges: dict[str, int] = {}  # those that come from one input -> its number
        self.unclear = False

    def never(self, key: str) -> bool:
        """Whether no run has this tensor, or this operation (``^name``)."""
        return key in self._dead or node_name(key) in self._dead

    def follow(self, node: Any) -> None:
        """Looks at a node, after all that it takes something from."""
        data = data_inputs(node)
        if node.op in ("Merge", "RefMerge"):
            self._merge(node, data)
        elif any(map(self.never, (*data, *map(graphdef.node_name, control_inputs(node))))):
            self._dead.add(node.name)
        elif node.op == "Switch" and data[1] in self._values:
            way = int(self._values[data[1]])
            self._switches.add(node.name)
            self._dead.add(f"{node.name}:{1 - way}")
            self._know(f"{node.name}:{way}", data[0])
        elif node.op == "Identity":
            self._know(node.name + ":0", data[0])

    def _know(self, key: str, source: str) -> None:
        if source in self._values:
            self._values[key] = self._values[source]

    def _merge(self, node: Any, data: list[str]) -> None:
        """A merge runs if one of its inputs has a value, whatever its control inputs do."""
        begins = [key for key in data if not self._is_back_edge(key)]
        alive = [key for key in begins if not self.never(key)]
        if not alive:
            self._dead.add(node.name)
        elif len(alive) < len(begins):
            self._merges[node.name] = data.index(alive[0])
            self.unclear |= len(alive) > 1 or begins != data or node.op != "Merge"

    def _is_back_edge(self, key: str) -> bool:
        node = self._nodes.get(node_name(key))
        return node is not None and "NextIteration" in node.op

    def shorten(self) -> None:
        """Removes what never runs; a switch or merge with one way hands on what it takes."""
        for name in self._dead & self._nodes.keys():
            del self._nodes[name]
        for node in list(self._nodes.values()):
            data = data_inputs(node)
            if node.name in self._switches:
                data = data[:1]
            elif node.name in self._merges:
                data = [data[self._merges[node.name]]]
            if node.name in self._switches or node.name in self._merges:
                graphdef.become_identity(node, node.attr["T"].type)
            controls = [key for key in control_inputs(node) if not self.never(key)]
            graphdef.set_inputs(node, [*map(self._instead, data), *controls])

    def _instead(self, key: str) -> str:
        """What stands for a tensor: a switch has one output left, and a merge's number is known."""
        name = node_name(key)
        if name in self._switches:
            return name + ":0"
        if name not in self._merges or key == tensor_name(name):
            return key
        number = name + "/value_index"
        if number not in self._nodes:
            node = type(self._nodes[name])(name=number, op="Const", input=["^" + name])
            node.attr["dtype"].type = _INT32
            tensor = node.attr["value"].tensor
            tensor.dtype = _INT32
            tensor.tensor_shape.SetInParent()
            tensor.int_val.append(self._merges[name])
            self._nodes[number] = node
        return number + ":0"
