"""Which resource variables would be reference variables in TensorFlow 1.15, and their operations there.

Several cores, as those of a TPU, take resource variables only. 1.15 without a TPU gives a script that asks for
nothing a reference variable: its operation is the value, an Identity of which is read by all, where each
reader of a resource makes an operation of its own. A graph's operations are counted as if it had those
(:mod:`tpucompat.engines.operation_seeds`): a program starts from the same weights on any number of cores.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import Any, Iterator

import tensorflow

from tpucompat.tf import private

_CACHED = "/Read/Identity"
_INITIALIZED = "/IsInitialized/VarIsInitializedOp"  # that every resource variable brings
_v1 = tensorflow.compat.v1


class _Variables:
    """The resource variables of one graph that would be references.

    Attributes:
      names: Of their operations.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._seen = 0
        self._more = 0

    def more_operations(self, graph: Any) -> int:
        if not self.names:
            return 0
        operations = graph.get_operations()
        for operation in operations[self._seen :]:
            if operation.type == "VarHandleOp":
                self._more += operation.name in self.names  # its value's Identity
            elif operation.type == "ReadVariableOp" or operation.name.endswith(_INITIALIZED):
                self._more -= _handle_of(operation).name in self.names
            elif operation.type == "Identity" and operation.name.endswith(_CACHED):
                # Of a variable with a caching device; a reference's Identity is on that device itself.
                self._more -= operation.name[: -len(_CACHED)] in self.names
        self._seen = len(operations)
        return self._more


#: The graphs in which the scope asks for resources because of a TPU, not because of the script.
_for_a_tpu: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_graphs: weakref.WeakKeyDictionary[Any, _Variables] = weakref.WeakKeyDictionary()
_asked_for = False  # all that are made now, by tf.enable_resource_variables()


@contextlib.contextmanager
def asked_by_a_tpu() -> Iterator[None]:
    """Within: that the variable scope asks for resource variables is not what a script wants."""
    graph = _v1.get_default_graph()
    _for_a_tpu[graph] = _for_a_tpu.get(graph, 0) + 1
    try:
        yield
    finally:
        _for_a_tpu[graph] -= 1


def ask_for_resources(asked: bool) -> None:
    """Notes whether the script itself has enabled resource variables: then they are so in 1.15 too."""
    global _asked_for
    _asked_for = asked


def wanted(use_resource: Any) -> bool:
    """Whether a variable that is made now would be a reference variable in 1.15.

    Args:
      use_resource: What the call says, or the scope for it.
    """
    if _asked_for:
        return False
    if use_resource is None:
        use_resource = _v1.get_variable_scope().use_resource
    return use_resource is None or _for_a_tpu.get(_v1.get_default_graph(), 0) > 0


def note(variable: Any) -> None:
    """Notes a variable that was :func:`wanted`; a reference variable need not be noted.

    To be called before :func:`more_operations` sees the variable's operations.
    """
    if not tensorflow.executing_eagerly() and isinstance(
        variable, private.resource_variable_class()
    ):
        _graphs.setdefault(variable.graph, _Variables()).names.add(variable.op.name)


def includes(variable: Any) -> bool:
    """Whether a variable of a graph is a reference variable, or would be one in 1.15."""
    if not isinstance(variable, private.resource_variable_class()):
        return True
    noted = _graphs.get(variable.graph)
    return noted is not None and variable.op.name in noted.names


def more_operations(graph: Any) -> int:
    """How many operations more a graph would have by now if its noted variables were references."""
    noted = _graphs.get(graph)
    return 0 if noted is None else noted.more_operations(graph)


def _handle_of(operation: Any) -> Any:
    """The operation of the handle that an operation reads, seen from within loops and conditionals."""
    while operation.inputs:
        operation = operation.inputs[0].op
        if operation.type not in ("Enter", "Identity", "Switch"):
            break
    return operation
