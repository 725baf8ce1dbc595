"""Resource variables as a script of TensorFlow 1 knows variables: by the name of their value, and fed.

Up to 1.15 a script gets reference variables. The tensor ``w:0`` is the variable's value, ``w/read:0`` a
copy, and a value that is fed for either is what every reader sees. A resource variable's ``w:0`` is a
handle, and every reader has a read of its own, none of which a feed reaches. Here those names stand for
the variable, where a script asks by them or a Session is given them, and a feed goes to all reads.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import tensorflow

from tpucompat.names import scope as scopes
from tpucompat.tf import patches, private

_v1 = tensorflow.compat.v1


@patches.patch
def show_values() -> None:
    """Lets sessions, and scripts that ask a graph for a tensor, know variables so; idempotent."""
    private.convert_in_sessions(private.resource_variable_class(), _fetched, _fed)
    private.convert_in_sessions(str, _fetched_by_name, _fed_by_name)
    private.convert_in_sessions(tensorflow.Tensor, _fetched_tensor, _fed_tensor)
    _show_in_graphs()
    private.change_inputs_of_imports(_for_handles)


def by_name(graph: Any, name: str) -> Any:
    """The variable whose value has a name in TensorFlow 1.

    Args:
      graph: The ``tf.Graph``.
      name: A tensor's name: ``w:0`` or ``w/read:0``.

    Returns:
      The variable; None if another tensor, or none, has that name.
    """
    operation, _, output = name.partition(":")
    if output != "0":
        return None
    found = _operation(graph, operation)
    if found is None and operation.endswith("/read"):
        found = _operation(graph, operation[: -len("/read")])
    return _of_handle(found.outputs[0]) if found is not None and found.outputs else None


def _of_handle(tensor: Any) -> Any:
    """The variable that a tensor is the handle of, or None."""
    if tensor.dtype != _v1.resource or tensor.op.type != "VarHandleOp":
        return None
    kind = private.resource_variable_class()
    for key in tensor.graph.get_all_collection_keys():
        for value in tensor.graph.get_collection_ref(key):
            if isinstance(value, kind) and value.handle.name == tensor.name:
                return value
    return None


def _operation(graph: Any, name: str) -> Any:
    try:
        return graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        return None


def _fetched(fetch: Any) -> Any:
    return [fetch], lambda values: values[0]


def _fetched_by_name(fetch: str) -> Any:
    variable = by_name(_v1.get_default_graph(), fetch)
    return _fetched(fetch if variable is None else variable)


def _fetched_tensor(fetch: Any) -> Any:
    """A handle is fetched by hooks that were given a variable's name."""
    variable = _of_handle(fetch)
    return _fetched(fetch if variable is None else variable)


def _fed(variable: Any, value: Any = None) -> list[tuple[Any, Any]]:
    """What a feed of a variable is a feed of: its reads, but those inside loops and conditionals."""
    reads = [op for op in variable.handle.consumers() if op.type == "ReadVariableOp"]
    outside = [op.outputs[0] for op in reads if private.control_flow_context(op) is None]
    return [(tensor, value) for tensor in outside]


def _fed_by_name(name: str, value: Any = None) -> list[tuple[Any, Any]]:
    variable = by_name(_v1.get_default_graph(), name)
    return [(name, value)] if variable is None else _fed(variable, value)


def _fed_tensor(tensor: Any, value: Any = None) -> list[tuple[Any, Any]]:
    variable = _of_handle(tensor)
    return [(tensor, value)] if variable is None else _fed(variable, value)


def _for_handles(graph_def: Any, input_map: dict[Any, Any]) -> dict[Any, Any]:
    """An import's ``input_map``, with a variable's handle for what stands for a handle in the graph.

    Who maps the variables of one graph to those of another (``tensorflow_hub``'s modules) has looked them
    up by name.
    """
    kind = private.resource_variable_class()
    mapped = {
        str(key).partition(":")[0]: key
        for key, value in input_map.items()
        if isinstance(value, kind)
    }
    changed = dict(input_map)
    for node in graph_def.node if mapped else ():
        if node.name in mapped and _gives_handle(node):
            changed[mapped[node.name]] = input_map[mapped[node.name]].handle
    return changed


def _gives_handle(node: Any) -> bool:
    resource = _v1.resource.as_datatype_enum
    return bool(node.op == "VarHandleOp" or node.attr["dtype"].type == resource)


def _show_in_graphs() -> None:
    """``graph.get_tensor_by_name("w:0")`` gives the script the variable; TensorFlow needs the handle.

    So does a package of the time: ``tensorflow_hub`` 0.7 asked for resource variables, and takes their
    handles into loops (``native_module.py``).
    """
    original = tensorflow.Graph.get_tensor_by_name

    @functools.wraps(original)
    def get_tensor_by_name(self: Any, name: str) -> Any:
        scope = scopes.current()
        caller = sys._getframe(1).f_globals
        if isinstance(name, str) and scope.owns(caller) and not scope.packaged(caller):
            variable = by_name(self, name)
            if variable is not None:
                return variable
        return original(self, name)

    patches.replace(tensorflow.Graph, "get_tensor_by_name", get_tensor_by_name)
