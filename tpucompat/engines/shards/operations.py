"""What operations do: read, write, have an effect, run functions, need several shards."""

from __future__ import annotations

from typing import Any

from tpucompat.engines.graphdef import REPLICA_ID
from tpucompat.engines.shards.bodies import DT_RESOURCE, Body, copied, data_inputs
from tpucompat.tf import private

# Operations on a resource that only read it. Everything else that takes a resource is taken to
# change it.
READS = frozenset(
    [
        "ReadVariableOp",
        "ResourceGather",
        "ResourceGatherNd",
        "VariableShape",
        "VarIsInitializedOp",
        "LookupTableExportV2",
        "LookupTableFindV2",
        "LookupTableSizeV2",
        "QueueIsClosedV2",
        "QueueSizeV2",
        "Identity",
    ]
)


SUM = "CrossReplicaSum"


EXCHANGES = frozenset(["AllToAll", "CollectivePermute"])


DEQUEUES = frozenset(["InfeedDequeue", "InfeedDequeueTuple"])


ENQUEUES = frozenset(["OutfeedEnqueue", "OutfeedEnqueueTuple"])


FEEDS = DEQUEUES | ENQUEUES


LOWERED = FEEDS | EXCHANGES | {SUM}


# Operation -> (number of inputs before the arguments of its functions, attributes that hold
# functions).
FUNCTIONAL: dict[str, tuple[int, tuple[str, ...]]] = {
    "While": (0, ("cond", "body")),
    "StatelessWhile": (0, ("cond", "body")),
    "If": (1, ("then_branch", "else_branch")),
    "StatelessIf": (1, ("then_branch", "else_branch")),
    "Case": (1, ("branches",)),
    "StatelessCase": (1, ("branches",)),
    "PartitionedCall": (0, ("f",)),
    "StatefulPartitionedCall": (0, ("f",)),
}


LOOPS = frozenset(["While", "StatelessWhile"])


class Library:
    """The functions of a graph, and what is known about them."""

    def __init__(self, library: Any) -> None:
        self.proto = library
        self.functions = {function.signature.name: function for function in library.function}
        self._bodies: dict[str, Body] = {}
        self._accesses: dict[str, list[tuple[bool, bool]]] = {}
        self._has: dict[tuple[str, str], bool] = {}

    def body(self, name: str) -> Body:
        """The body of a function."""
        if name not in self._bodies:
            function = self.functions[name]
            nodes = []
            for node in function.node_def:
                nodes.append(copied(node))
            body = Body(
                nodes,
                [argument.name for argument in function.signature.input_arg],
                [function.ret[output.name] for output in function.signature.output_arg],
                function,
            )
            self._bodies[name] = body
        return self._bodies[name]

    def called(self, node: Any) -> list[str]:
        """The functions that a node runs, as far as they are written out for the shards."""
        if node.op in self.functions:
            return [node.op]
        names: list[str] = []
        for attr in FUNCTIONAL.get(node.op, (0, ()))[1]:
            value = node.attr[attr]
            names.extend(func.name for func in (value.list.func or [value.func]))
        return [name for name in names if name in self.functions]

    def offset(self, node: Any) -> int:
        """How many inputs stand before the arguments of a node's functions."""
        return FUNCTIONAL[node.op][0] if node.op in FUNCTIONAL else 0

    def output_names(self, node: Any) -> list[str]:
        """The names of the outputs of a node that calls a function by its name."""
        if node.op not in self.functions:
            return []
        return [output.name for output in self.functions[node.op].signature.output_arg]

    def access(self, node: Any, position: int) -> tuple[bool, bool]:
        """Whether a node (reads, writes) the resource at an input position."""
        called = self.called(node)
        if called:
            reads = writes = False
            index = position - self.offset(node)
            for name in called:
                if index >= 0:
                    one = self.argument_access(name, index)
                    reads, writes = reads or one[0], writes or one[1]
            return reads, writes
        if node.op in READS:
            return True, False
        definition = private.op_def(node.op)
        outputs = bool(definition.output_arg) if definition is not None else True
        return outputs, True

    def argument_access(self, function: str, index: int) -> tuple[bool, bool]:
        """Whether a function (reads, writes) the resource that is an argument of it."""
        if function not in self._accesses:
            count = len(self.functions[function].signature.input_arg)
            self._accesses[function] = [
                (True, False)
            ] * count  # while a function that calls itself is looked at
            body = self.body(function)
            found = {name: [False, False] for name in body.arguments}
            for node in body.nodes.values():
                if node.op == "Identity":
                    continue
                for position, reference in enumerate(data_inputs(node)):
                    flags = found.get(body.root(reference))
                    if flags is not None:
                        reads, writes = self.access(node, position)
                        flags[0] |= reads
                        flags[1] |= writes
            self._accesses[function] = [(found[name][0], found[name][1]) for name in body.arguments]
        return self._accesses[function][index]

    def has_effect(self, node: Any) -> bool:
        """Whether running a node changes something outside of it."""
        called = self.called(node)
        if called:
            return any(self._any(name, "effect") for name in called)
        if node.op in FEEDS:
            return True
        if node.op in READS or _is_own(node) or node.op in LOWERED:
            return False
        definition = private.op_def(node.op)
        if definition is None or not definition.is_stateful:
            return False
        # What makes a handle (a queue, a table) is done when the handle is used.
        makes_handle = [output.type for output in definition.output_arg] == [DT_RESOURCE]
        return not (makes_handle and not definition.input_arg)

    def differs(self, node: Any) -> bool:
        """Whether a node must be run by every shard for itself, whatever its inputs are."""
        if node.op in FEEDS or node.op in EXCHANGES or node.op == REPLICA_ID:
            return True
        definition = private.op_def(node.op)
        if definition is None or not definition.is_stateful or node.op in READS:
            return False
        if any(_is_resource_input(definition, i) for i in range(len(definition.input_arg))):
            # A variable's update differs where its inputs do; taking from a queue always does.
            return "Variable" not in node.op and not node.op.startswith(("Resource", "Lookup"))
        return bool(definition.input_arg) or "seed2" in node.attr

    def is_special(self, function: str) -> bool:
        """Whether a function holds something that is written differently for each shard."""
        return self._any(function, "special")

    def has_sum(self, function: str) -> bool:
        """Whether a function needs values of several shards."""
        return self._any(function, "sum")

    def _any(self, function: str, what: str) -> bool:
        key = (function, what)
        if key not in self._has:
            self._has[key] = False  # while a function that calls itself is looked at
            self._has[key] = any(
                self._one(node, what) or any(self._any(name, what) for name in self.called(node))
                for node in self.functions[function].node_def
            )
        return self._has[key]

    def _one(self, node: Any, what: str) -> bool:
        if what == "effect":
            return not self.called(node) and self.has_effect(node)
        if what == "sum":
            return node.op == SUM or node.op in EXCHANGES
        return node.op in LOWERED or _is_own(node)


def _is_own(node: Any) -> bool:
    """Whether a node without inputs that differ gives each shard a value of its own."""
    return "seed2" in node.attr or node.op == REPLICA_ID


def _is_resource_input(definition: Any, position: int) -> bool:
    return bool(definition.input_arg[position].type == DT_RESOURCE)


def takes_resource(node: Any, position: int, library: Library) -> bool:
    """Whether the value at an input position of a node is a resource."""
    called = library.called(node)
    if called:
        index = position - library.offset(node)
        if index < 0:
            return False
        arguments = library.functions[called[0]].signature.input_arg
        return index < len(arguments) and arguments[index].type == DT_RESOURCE
    definition = private.op_def(node.op)
    if definition is None:
        return False
    at = 0
    for argument in definition.input_arg:
        size = _length(argument, node)
        if at <= position < at + size:
            return bool(_type_of(argument, node, position - at) == DT_RESOURCE)
        at += size
    return False


def _length(argument: Any, node: Any) -> int:
    if argument.number_attr:
        return int(node.attr[argument.number_attr].i)
    if argument.type_list_attr:
        return len(node.attr[argument.type_list_attr].list.type)
    return 1


def _type_of(argument: Any, node: Any, index: int) -> int:
    if argument.type_list_attr:
        return int(node.attr[argument.type_list_attr].list.type[index])
    if argument.type_attr:
        return int(node.attr[argument.type_attr].type)
    return int(argument.type)
