"""Small operations on GraphDefs and function libraries that the strategy engine needs.

The names of tensors are written ``node:0`` here, those of operations in control inputs ``^node``.
"""

from __future__ import annotations

import collections
import itertools
from typing import Any, Callable, Iterable, Mapping

# Attributes that bind a node to a place or to a compilation; the host decides both anew.
_PLACE_ATTRS = (
    "_class",
    "_tpu_replicate",
    "_xla_compile_id",
    "_XlaCompile",
    "_XlaScope",
    "_XlaMustCompile",
)

# Where a loop or a conditional names the functions that are its parts.
_CONDITIONAL = "then_branch", "else_branch"
_PARTS = {
    "While": ("cond", "body"),
    "StatelessWhile": ("cond", "body"),
    "If": _CONDITIONAL,
    "StatelessIf": _CONDITIONAL,
    "Case": ("branches",),
    "StatelessCase": ("branches",),
}

#: The operation that knows the replica's number; it has no kernel but a TPU's.
REPLICA_ID = "XlaReplicaId"
_NUMBER = "_tpucompat_replica"
_INT32 = 3  # of DataType

# Functions have names that are unique in a process, frames of TF 1 loops names unique in a graph.
_numbers = itertools.count()


def fresh_number() -> int:
    """A number that was not given out before in this process."""
    return next(_numbers)


def tensor_name(reference: str) -> str:
    """The full name of what a node's input refers to: ``a`` and ``a:0`` are the tensor ``a:0``."""
    return reference if reference.startswith("^") or ":" in reference else reference + ":0"


def node_name(reference: str) -> str:
    """The node that an input, a tensor name or a control input refers to."""
    return reference.lstrip("^").split(":", 1)[0]


def data_inputs(node: Any) -> list[str]:
    """The tensors that a node takes."""
    return [tensor_name(name) for name in node.input if not name.startswith("^")]


def control_inputs(node: Any) -> list[str]:
    """The control inputs of a node."""
    return [name for name in node.input if name.startswith("^")]


def set_inputs(node: Any, names: Iterable[str]) -> None:
    """Gives a node other inputs."""
    names = list(names)
    del node.input[:]
    node.input.extend(names)


def add_node(
    graph_def: Any, name: str, op: str, inputs: Iterable[str], dtype: int | None = None
) -> Any:
    """Adds a node; ``dtype`` is its attribute ``T``."""
    node = graph_def.node.add()
    node.name, node.op = name, op
    node.input.extend(inputs)
    if dtype is not None:
        node.attr["T"].type = dtype
    return node


def become_identity(node: Any, dtype: int) -> None:
    """Makes a node hand on its first input."""
    node.op = "Identity"
    node.attr.clear()
    node.attr["T"].type = dtype


def free(node: Any) -> bool:
    """Frees a node of its device and of what bound it to a compilation; says whether it had one."""
    bound = [attr for attr in _PLACE_ATTRS if attr in node.attr]
    changed = bool(node.device or bound)
    node.device = ""
    for attr in bound:
        del node.attr[attr]
    return changed


# Function libraries ----------------------------------------------------------------------------


def called_by(node: Any) -> list[str]:
    """Names that may be those of functions which a node calls.

    A function is named by an attribute, or is the operation itself (``Defun``). Custom gradients
    and the two passes of a ``defun`` name each other in text attributes.
    """
    names = [node.op]
    for attr in node.attr.values():
        if attr.HasField("func"):
            names.append(attr.func.name)
        names += [function.name for function in attr.list.func]
        if attr.s:
            names.append(attr.s.decode("utf-8", "ignore"))
    return names


def reachable(library: Any, nodes: Iterable[Any]) -> Any:
    """A copy of the part of a function library that the nodes call, directly or not."""
    functions = {function.signature.name: function for function in library.function}
    gradients = {gradient.function_name: gradient.gradient_func for gradient in library.gradient}
    found: set[str] = set()
    queue = collections.deque(name for node in nodes for name in called_by(node))
    while queue:
        name = queue.popleft()
        if name in found or name not in functions:
            continue
        found.add(name)
        queue.append(gradients.get(name, ""))
        for node in functions[name].node_def:
            queue.extend(called_by(node))
        for attr in functions[name].attr.values():
            queue.append(attr.s.decode("utf-8", "ignore"))
    result = type(library)()
    result.function.extend(f for f in library.function if f.signature.name in found)
    result.gradient.extend(g for g in library.gradient if g.function_name in found)
    return result


def with_callers(library: Any, names: Iterable[str]) -> set[str]:
    """The named functions, and the functions that call them, directly or not."""
    calls = {
        function.signature.name: {name for node in function.node_def for name in called_by(node)}
        for function in library.function
    }
    found = set(names)
    while True:
        more = {name for name, called in calls.items() if called & found} - found
        if not more:
            return found
        found |= more


def bodies(library: Any, nodes: Iterable[Any]) -> set[str]:
    """Names of the functions that are run as parts of loops and conditionals, of the nodes or below them."""
    found: set[str] = set()
    for node in itertools.chain(nodes, *(function.node_def for function in library.function)):
        for attr in _PARTS.get(node.op, ()):
            value = node.attr[attr]
            found.update(function.name for function in value.list.func or [value.func])
    return found


def leave_out_unused_parts(nodes: Iterable[Any], library: Any) -> set[str]:
    """Takes out of the functions of loops and branches what nothing needs; the names of those that changed."""
    parts = bodies(library, nodes)
    functions = [each for each in library.function if each.signature.name in parts]
    return {each.signature.name for each in functions if leave_out_unused(each)}


def rename_changed(nodes: Iterable[Any], library: Any, changed: set[str]) -> None:
    """Gives changed functions, which are shared by name, other names, and their callers too."""
    number = fresh_number()
    renamed = {name: f"{name}_freed_{number}" for name in with_callers(library, changed)}
    rename(nodes, library, renamed)


def leave_out_unused(function: Any) -> bool:
    """Takes out of a function what neither its results nor its effects need; says whether it did.

    In TensorFlow 1 nothing else of a loop or a branch runs. XLA would run an assignment that is left.
    """
    wanted = [node_name(key) for key in function.ret.values()]
    wanted.extend(getattr(function, "control_ret", {}).values())
    sources = {node.name: [node_name(key) for key in node.input] for node in function.node_def}
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted.extend(sources.get(name, ()))
    kept = [node for node in function.node_def if node.name in found]
    unused = len(kept) < len(function.node_def)
    if unused:
        copies = type(function)()
        copies.node_def.extend(kept)
        del function.node_def[:]
        function.node_def.extend(copies.node_def)
    return unused


def rename(nodes: Iterable[Any], library: Any, renamed: Mapping[str, str]) -> None:
    """Gives functions other names, and says so to the nodes and functions that call them."""
    if not renamed:
        return
    for function in library.function:
        name = function.signature.name
        function.signature.name = renamed.get(name, name)
    for gradient in library.gradient:
        gradient.function_name = renamed.get(gradient.function_name, gradient.function_name)
        gradient.gradient_func = renamed.get(gradient.gradient_func, gradient.gradient_func)
    for node in itertools.chain(nodes, *(function.node_def for function in library.function)):
        node.op = renamed.get(node.op, node.op)
        for attr in node.attr.values():
            called = [attr.func] if attr.HasField("func") else attr.list.func
            for function in called:
                function.name = renamed.get(function.name, function.name)


# Random numbers --------------------------------------------------------------------------------


def has_seed(node: Any) -> bool:
    """Whether a node draws random numbers by a seed; with 0 and 0 TensorFlow draws the seed."""
    if "seed" not in node.attr or "seed2" not in node.attr:
        return False
    return (node.attr["seed"].i, node.attr["seed2"].i) != (0, 0)


def set_node_apart(node: Any, replica: int) -> None:
    """Makes a node that of one replica; see :func:`set_apart`. The numbers wait for :func:`put_numbers`."""
    if node.op == REPLICA_ID:
        node.attr[_NUMBER].i = replica
    elif replica and has_seed(node):
        node.attr["seed2"].i = (node.attr["seed2"].i + replica * 0x9E3779B1) % 0x7FFFFFFF


def put_numbers(graph_def: Any) -> None:
    """Makes constants of the replicas' numbers that :func:`set_node_apart` has noted."""
    _put_numbers(graph_def.node)
    for function in graph_def.library.function:
        # Inside a function an output is called by the name that its operation gives it.
        names = {f"{name}:id:0": f"{name}:output:0" for name in _put_numbers(function.node_def)}
        for node in function.node_def:
            node.input[:] = [names.get(key, key) for key in node.input]
        for key, value in list(function.ret.items()):
            function.ret[key] = names.get(value, value)


def _put_numbers(nodes: Iterable[Any]) -> list[str]:
    numbered = [node for node in nodes if node.op == REPLICA_ID and _NUMBER in node.attr]
    for node in numbered:
        replica = node.attr[_NUMBER].i
        node.op = "Const"
        node.attr.clear()
        node.attr["dtype"].type = _INT32
        node.attr["value"].tensor.dtype = _INT32
        node.attr["value"].tensor.tensor_shape.SetInParent()
        node.attr["value"].tensor.int_val.append(replica)
    return [node.name for node in numbered]


def seeded_functions(library: Any) -> frozenset[str]:
    """The functions that give each replica values of its own, or call one that does."""
    return _functions_with(library, lambda node: _is_number(node) or has_seed(node))


def numbered_functions(library: Any) -> frozenset[str]:
    """Those of them that know the replica's number: the others are as they were for the first."""
    return _functions_with(library, _is_number)


def _functions_with(library: Any, holds: Callable[[Any], bool]) -> frozenset[str]:
    found = {f.signature.name for f in library.function if any(map(holds, f.node_def))}
    return frozenset(with_callers(library, found))


def _is_number(node: Any) -> bool:
    return bool(node.op == REPLICA_ID)


def set_apart(graph_def: Any, own: frozenset[str], replica: int | None) -> None:
    """Gives a replica its number, and all but the first random numbers of their own, as cores of a TPU have.

    Args:
      graph_def: Nodes and function library of one replica; they are changed.
      own: The functions that change for this replica. Functions are shared by name, so these get
        another name.
      replica: The number of the replica; None where one program serves all, and each core knows its own.
    """
    if replica is None:
        return
    renamed = {name: f"{name}_replica_{replica}" for name in own}
    rename(graph_def.node, graph_def.library, renamed)
    functions = [function.node_def for function in graph_def.library.function]
    for node in itertools.chain(graph_def.node, *functions):
        set_node_apart(node, replica)
    put_numbers(graph_def)
