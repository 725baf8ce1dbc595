"""What the gradient of a TF 1 loop keeps of every turn, in a form that XLA can compile.

The gradient of a loop keeps on a stack what it needs of each turn. Of a tensor whose size is not known when the
gradient is made, such as the batch of a Keras model, it keeps the shape alone, and fills or reshapes by it
(``ZerosLikeV1WhileLoop`` in ``control_flow_state.py``). A program of a TPU has static shapes, but XLA does not
know that what is taken from a stack is one, and wants the size of a ``Fill`` to be a constant. With the tensor
itself on the stack, its shape is one; since nothing reads the values, XLA drops them.
"""

from __future__ import annotations

from typing import Any

from tpucompat.engines import graphdef
from tpucompat.engines.graphdef import control_inputs, data_inputs, node_name

#: What depends on nothing but the static shape of a tensor.
_OF_SHAPE = frozenset(["Shape", "Size"])
#: What hands a stack on into a loop.
_HANDED = frozenset(["Enter", "RefEnter", "Identity"])


def keep_values(nodes: dict[str, Any]) -> None:
    """Puts tensors on the stacks that have their shapes; what takes a shape from one asks for it after.

    Args:
      nodes: Name -> NodeDef; they are changed.
    """
    pushes: dict[str, list[Any]] = {}
    pops: dict[str, list[Any]] = {}
    for node in nodes.values():
        if node.op in ("StackPushV2", "StackPopV2"):
            found = pushes if node.op == "StackPushV2" else pops
            found.setdefault(_stack_of(nodes, node), []).append(node)
    for stack, (push, *more) in pushes.items():
        shape = nodes.get(node_name(data_inputs(push)[1]))
        if more or stack not in nodes or shape is None or shape.op not in _OF_SHAPE:
            continue
        dtype = shape.attr["T"].type
        nodes[stack].attr["elem_type"].type = dtype
        push.attr["T"].type = dtype
        handle, _ = data_inputs(push)
        graphdef.set_inputs(push, [handle, *data_inputs(shape), *control_inputs(push)])
        for pop in pops.get(stack, ()):
            _ask_after(nodes, pop, shape)


def _stack_of(nodes: dict[str, Any], node: Any) -> str:
    """The name of the stack that a node puts something on, or takes it from."""
    name = node_name(data_inputs(node)[0])
    while name in nodes and nodes[name].op in _HANDED:
        name = node_name(data_inputs(nodes[name])[0])
    return name


def _ask_after(nodes: dict[str, Any], pop: Any, shape: Any) -> None:
    """Makes a node that took a shape from a stack one that asks for the shape of what it takes."""
    value = type(pop)()
    value.CopyFrom(pop)
    value.name += "/value"
    value.attr["elem_type"].type = shape.attr["T"].type
    nodes[value.name] = value
    pop.op = shape.op
    pop.attr.clear()
    for name, attr in shape.attr.items():
        if name in ("T", "out_type"):
            pop.attr[name].CopyFrom(attr)
    graphdef.set_inputs(pop, [value.name + ":0"])
