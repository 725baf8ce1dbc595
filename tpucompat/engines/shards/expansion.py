"""Writes a whole computation out for all shards, and gives its variables to them."""

from __future__ import annotations

import itertools
from typing import Any, Callable, NamedTuple, Sequence

from tpucompat.engines.graphdef import fresh_number, put_numbers
from tpucompat.engines.shards.bodies import DT_BOOL, DT_RESOURCE, Body, copied, is_control, producer
from tpucompat.engines.shards.order import OrderedLibrary, ancestors, order_accesses
from tpucompat.engines.shards.varying import Analyses, Analysis
from tpucompat.engines.shards.writer import Context, Writer


class Computation(NamedTuple):
    """One shard's computation, traced.

    Attributes:
      graph_def: Its nodes and functions.
      arguments: Names of the nodes that stand for the inputs of a shard.
      captures: Names of the nodes that stand for values from outside, the same for all shards.
      variables: Those of the captures that are handles of resource variables: name -> (type number,
        shape).
      outputs: References to the values that the computation returns.
      output_types: Their type numbers.
      kept: Nodes that are wanted too, though no output needs them.
    """

    graph_def: Any
    arguments: Sequence[str]
    captures: Sequence[str]
    variables: dict[str, tuple[int, Any]]
    outputs: Sequence[str]
    output_types: Sequence[int]
    kept: Sequence[str] = ()


class Expansion(NamedTuple):
    """The graph for all shards.

    Attributes:
      graph_def: What to import. It takes ``argument/INDEX/shard_SHARD:0``, ``capture/INDEX:0`` and
        ``pivot:0`` (a boolean that every effect and every output waits for) from outside.
      outputs: ``outputs[shard][index]``: names of the tensors that the shards return.
      executed: The name of the operation that waits for all effects.
      nodes: Traced node -> its name in shard 0.
      effects: Whether the computation does anything but compute what it returns.
      needs: The names among those above that ``graph_def`` takes.
    """

    graph_def: Any
    outputs: list[list[str]]
    executed: str
    nodes: dict[str, str]
    effects: bool
    needs: list[str]


def expand(
    prepared: Prepared,
    num_shards: int,
    core_of: Callable[[int], int] = int,
    notice: Callable[[str], None] = lambda loop: None,
) -> Expansion:
    """Writes a computation out for a number of shards.

    Args:
      prepared: The computation.
      num_shards: How many shards there are.
      core_of: Shard number -> core number, which says whose infeed and outfeed queue the shard
        uses.
      notice: Called with the name of a loop or conditional that holds a sum over the shards
        although its predicate can differ between them; shard 0's predicate then decides for all.

    Returns:
      The graph for all shards.
    """
    return TopLevel(prepared, num_shards, core_of, notice).expand()


def diverging(computation: Computation, num_shards: int, inputs_vary: bool = True) -> Sequence[str]:
    """The variables of which each shard would come to have another value.

    Args:
      computation: The computation.
      num_shards: How many shards there are.
      inputs_vary: Whether the inputs of the shards differ; what else can is random.

    Returns:
      Their names among the captures.
    """
    if not inputs_vary:  # then they are like what is captured
        captures = [*computation.arguments, *computation.captures]
        computation = computation._replace(arguments=[], captures=captures)
    level = TopLevel(Prepared(computation), num_shards, int, lambda loop: None)
    return [name for name in computation.variables if level._diverges(name)]


class Prepared:
    """A computation without what nobody needs, its reads and writes put in order."""

    def __init__(self, computation: Computation) -> None:
        self.computation = computation
        self.library = OrderedLibrary(computation.graph_def.library)
        given = [*computation.arguments, *computation.captures]
        nodes = [copied(node) for node in computation.graph_def.node if node.name not in set(given)]
        self.body = Body(nodes, given, computation.outputs)
        self.effects = self._find_effects()
        self._prune()
        self.accesses = order_accesses(self.body, self.library)

    @property
    def written(self) -> list[str]:
        """The variables that the computation changes."""
        return [name for name in self.computation.variables if name in self.accesses]

    def graph_def(self) -> Any:
        """The nodes, without those of arguments and captures, and the functions."""
        graph_def = type(self.computation.graph_def)()
        graph_def.versions.CopyFrom(self.computation.graph_def.versions)
        graph_def.node.extend(self.body.nodes.values())
        graph_def.library.gradient.extend(self.computation.graph_def.library.gradient)
        for name, function in self.library.functions.items():
            copy = graph_def.library.function.add()
            copy.CopyFrom(function)
            del copy.node_def[:]
            copy.node_def.extend(self.library.body(name).nodes.values())
        return graph_def

    def _find_effects(self) -> list[str]:
        """The nodes that have to run whenever the computation does.

        What waits for a placeholder inside the computation is not among them, since nobody can feed
        it: building a Keras model leaves updates of that kind behind.
        """
        unfed: set[str] = set()
        for name in self.body.order():
            node = self.body.nodes[name]
            if node.op == "Placeholder" or unfed.intersection(map(producer, node.input)):
                unfed.add(name)
        nodes = self.body.nodes.items()
        return [n for n, node in nodes if n not in unfed and self.library.has_effect(node)]

    def _prune(self) -> None:
        """Leaves out what neither an output nor an effect needs."""
        wanted = [producer(reference) for reference in self.body.returns]
        wanted += [*self.computation.kept, *self.effects]
        kept: set[str] = set()
        while wanted:
            name = wanted.pop()
            if name in kept or name not in self.body.nodes:
                continue
            kept.add(name)
            wanted.extend(map(producer, self.body.nodes[name].input))
        self.body.nodes = {name: node for name, node in self.body.nodes.items() if name in kept}
        self.body.changed()
        for node in self.body.nodes.values():
            stale = [r for r in node.input if is_control(r) and producer(r) not in kept]
            if stale:
                left = [r for r in node.input if r not in stale]
                del node.input[:]
                node.input.extend(left)


class TopLevel:
    """Writes a prepared computation out, and gives its variables to the shards."""

    def __init__(
        self,
        prepared: Prepared,
        num_shards: int,
        core_of: Callable[[int], int],
        notice: Callable[[str], None],
    ) -> None:
        self.prepared = prepared
        computation = self.computation = prepared.computation
        self.shards = list(range(num_shards))
        self.library, self.body = prepared.library, prepared.body
        self.accesses = prepared.accesses
        self.start_reads = self._take_start_reads()
        varying = [name in set(computation.arguments) for name in self.body.arguments]
        analyses = Analyses(self.library, notice)
        self.analysis = Analysis(self.body, self.library, varying, analyses)
        self.context = Context(self.library, analyses, _node_type(computation.graph_def), core_of)
        self.extra = Writer(self.body, self.analysis, self.shards, self.context, {})

    def expand(self) -> Expansion:
        """The graph for all shards."""
        writer = Writer(
            self.body, self.analysis, self.shards, self.context, self._arguments_of_shards()
        )
        writer.write()
        written = {node.name: node for node in writer.nodes}
        self._wait_for_start_reads(writer, written)
        self._drop_unseen_writes(writer, written)
        effects = self._effects(writer, written)
        pivot = self.extra.new("replicate/pivot", "Identity")
        pivot.input.append("pivot:0")
        pivot.attr["T"].type = DT_BOOL
        executed = self.extra.new("replicate/executed", "NoOp")
        executed.input.append("^" + pivot.name)
        for name in effects:
            written[name].input.append("^" + pivot.name)
            executed.input.append("^" + name)
        outputs = self._outputs(writer, executed.name)
        graph_def = type(self.computation.graph_def)()
        graph_def.versions.CopyFrom(self.computation.graph_def.versions)
        graph_def.node.extend(writer.nodes)
        graph_def.node.extend(self.extra.nodes)
        graph_def.library.CopyFrom(self.computation.graph_def.library)
        graph_def.library.function.extend(self.context.functions.values())
        put_numbers(graph_def)
        made = {node.name for node in graph_def.node}
        taken = {producer(reference) for node in graph_def.node for reference in node.input}
        return Expansion(
            graph_def=graph_def,
            outputs=outputs,
            executed=executed.name,
            nodes={name: names[0] for name, names in writer.names.items()},
            effects=bool(effects),
            needs=sorted(name + ":0" for name in taken - made),
        )

    # Variables

    def _take_start_reads(self) -> dict[str, list[str]]:
        """Lets the reads of starting values take an argument of their own, which no write can
        touch.

        Returns:
          Variable -> the nodes that read its starting value, for the variables that are written.
        """
        bits = {a.node: 1 << i for i, a in enumerate(itertools.chain(*self.accesses.values()))}
        before = ancestors(self.body, bits)
        found: dict[str, list[str]] = {}
        for variable in self.computation.variables:
            accesses = self.accesses.get(variable, [])
            writes = sum({bits[access.node] for access in accesses if access.writes})
            for access in accesses:
                if access.writes or before[access.node] & writes:
                    continue
                found.setdefault(variable, []).append(access.node)
                node = self.body.nodes[access.node]
                for position, reference in enumerate(node.input):
                    if not is_control(reference) and self.body.root(reference) == variable:
                        node.input[position] = _start(variable)
        self.body.arguments.extend(map(_start, found))
        return found

    def _is_seen(self, variable: str) -> bool:
        """Whether a shard reads what it wrote itself."""
        starts = self.start_reads.get(variable, [])
        return any(
            # What a loop or conditional writes, it may read again.
            (access.reads or self.library.called(self.body.nodes[access.node]))
            and access.node not in starts
            for access in self.accesses.get(variable, [])
        )

    def _diverges(self, variable: str) -> bool:
        return variable in self.computation.variables and self.analysis.arguments[variable]

    def _arguments_of_shards(self) -> dict[str, list[str]]:
        """Argument -> its reference for each shard."""
        arguments: dict[str, list[str]] = {}
        for index, name in enumerate(self.computation.arguments):
            arguments[name] = [f"argument/{index}/shard_{k}:0" for k in self.shards]
        for index, name in enumerate(self.computation.captures):
            capture = f"capture/{index}:0"
            arguments[name] = arguments[_start(name)] = [capture] * len(self.shards)
            if self._diverges(name) and self._is_seen(name):
                arguments[name] = self._own_variables(index, name, capture)
        return arguments

    def _own_variables(self, index: int, name: str, capture: str) -> list[str]:
        """Gives every shard but the first a variable of its own, which starts with the common
        value."""
        kind, shape = self.computation.variables[name]
        scope = f"replicate/variable_{index}"
        start = self.extra.new(scope + "/start", "ReadVariableOp")
        start.input.append(capture)
        start.attr["dtype"].type = kind
        unique = fresh_number()
        handles = []
        for k in self.shards:
            source, ready = capture, start.name
            if k:
                own = self.extra.new(f"{scope}/shard_{k}", "VarHandleOp")
                own.attr["dtype"].type = kind
                own.attr["shape"].shape.CopyFrom(shape)
                own.attr["container"].s = b""
                own.attr["shared_name"].s = f"tpucompat/{unique}/{own.name}".encode()
                source = own.name
                assign = self.extra.new(own.name + "/assign", "AssignVariableOp")
                assign.input.extend([source, start.name])
                assign.attr["dtype"].type = kind
                ready = assign.name
            handle = self.extra.new(f"{scope}/handle_{k}", "Identity")
            handle.input.extend([source, "^" + ready])
            handle.attr["T"].type = DT_RESOURCE
            handles.append(handle.name)
        return handles

    def _wait_for_start_reads(self, writer: Writer, written: dict[str, Any]) -> None:
        """Lets the writes of a variable wait for the reads of its starting value in all shards."""
        for variable, reads in self.start_reads.items():
            names = [name for read in reads for name in writer.instances(read)]
            for access in self.accesses[variable]:
                for write in writer.instances(access.node) if access.writes else ():
                    known = set(written[write].input)
                    written[write].input.extend(
                        "^" + name for name in names if "^" + name not in known
                    )

    def _drop_unseen_writes(self, writer: Writer, written: dict[str, Any]) -> None:
        """Takes out the writes of all shards but the first, where nobody would see them."""
        for variable in self.computation.variables:
            if not self._diverges(variable) or self._is_seen(variable):
                continue
            for access in self.accesses[variable]:
                for name in writer.instances(access.node)[1:] if access.writes else ():
                    node = written[name]
                    left = [reference for reference in node.input if is_control(reference)]
                    node.op = "NoOp"
                    node.attr.clear()
                    del node.input[:]
                    node.input.extend(left)

    # Effects and outputs

    def _effects(self, writer: Writer, written: dict[str, Any]) -> list[str]:
        """The written nodes that have to run whenever the computation does."""
        return [
            instance
            for name in self.prepared.effects
            for instance in writer.instances(name)
            if written[instance].op != "NoOp"
        ]

    def _outputs(self, writer: Writer, executed: str) -> list[list[str]]:
        outputs: list[list[str]] = [[] for _ in self.shards]
        for index, (reference, kind) in enumerate(
            zip(self.body.returns, self.computation.output_types)
        ):
            own = writer.references(reference)
            for k in self.shards:
                node = self.extra.new(f"replicate/output_{index}_shard_{k}", "Identity")
                node.input.extend([own[k], "^" + executed])
                node.attr["T"].type = kind
                outputs[k].append(node.name + ":0")
        return outputs


def _start(variable: str) -> str:
    return variable + "/start"


def _node_type(graph_def: Any) -> Callable[[], Any]:
    """The class of nodes."""
    return type(type(graph_def)().node.add())
