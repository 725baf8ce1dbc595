"""What the replicas of a strategy run for the shards of a computation.

As many shards as there are replicas run one on each. Other numbers of shards take turns on the
replicas, where they neither meet nor change a variable. Everything else is one program that
computes all shards together (:mod:`tpucompat.engines.shards`): every replica runs it, and what the
first gives is taken.

All shards start from what shard 0 left in the variables, as the distributed TPU rewrite of TensorFlow
1 wrote back core 0's (``distributed_tpu_rewrite_pass.cc``).
"""

from __future__ import annotations

import itertools
import re
from typing import Any, Callable, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError, UnsupportedGraphError
from tpucompat.base.machine import current_environment
from tpucompat.engines import (
    coherence,
    graph_walk,
    graphdef,
    host_parts,
    script_lines,
    shards,
    strategy,
)

# Operations that only a host can run.
_HOST = re.compile("PyFunc|EagerPyFunc|Print|.*Summary.*")

# Sums that replicas cannot make, and one program can: those inside of loops, and of unknown groups.
_NOT_BETWEEN_REPLICAS = ("TPU362", "TPU364")


def program(
    prepared: shards.Prepared,
    captures: Sequence[Any],
    num_shards: int,
    replicas: int,
    notice: Callable[[str], None],
    origin: Any,
) -> Program:
    """The program for a number of shards.

    Args:
      prepared: The computation.
      captures: The tensors that it takes from the script's graph, for all shards.
      num_shards: How many shards there are.
      replicas: How many replicas run them.
      notice: As in :func:`tpucompat.engines.shards.expand`.
      origin: The graph that the script's function was called in.

    Raises:
      UnsupportedGraphError: If it holds what no replica can run.
    """
    source = Source(prepared, captures, origin)
    try:
        own = OneEach(source, num_shards)
        if num_shards == replicas or own.takes_turns:
            return own
    except UnsupportedGraphError as error:
        if error.code not in _NOT_BETWEEN_REPLICAS:
            raise
    return Together(source, num_shards, notice)


class Source:
    """A computation, and what it takes from the script's graph.

    Args:
      prepared: The computation.
      captures: The tensors that it takes.
      origin: As in :func:`program`.

    Attributes:
      handles: Variable, by its name among the captures -> its handle in the script's graph.
      shared: The other captures.

    Raises:
      UnsupportedGraphError: If it takes another resource than a variable (TPU361).
    """

    def __init__(self, prepared: shards.Prepared, captures: Sequence[Any], origin: Any) -> None:
        self.prepared = prepared
        self.origin = origin
        self.computation = prepared.computation
        outer = dict(zip(self.computation.captures, captures))
        self.handles = {
            name: graph_walk.maker(outer[name]).outputs[0] for name in self.computation.variables
        }
        self.shared = [name for name in self.computation.captures if name not in self.handles]
        for name in self.shared:
            if outer[name].dtype in (tf.resource, tf.variant):
                raise UnsupportedGraphError(
                    "TPU361", f"the computation uses the resource {name!r} of the Session"
                )

    def name_of(self, variable: str) -> str:
        """What the Session knows a variable by."""
        return coherence.name_of(self.handles[variable])

    def handle(self, variable: str) -> Any:
        """A handle of the variable in the default graph."""
        kind, shape = self.computation.variables[variable]
        return tf.raw_ops.VarHandleOp(
            dtype=tf.as_dtype(kind),
            shape=tf.TensorShape(shape),
            shared_name=self.name_of(variable),
            name=variable,
        )

    def inputs(self, names: Sequence[str], prefix: str = "") -> list[Any]:
        """Placeholders in the default graph for arguments or captures."""
        nodes = {node.name: node for node in self.computation.graph_def.node}
        return [
            tf.placeholder(
                tf.as_dtype(nodes[name].attr["dtype"].type),
                tf.TensorShape(nodes[name].attr["shape"].shape),
                name=prefix + name,
            )
            for name in names
        ]


class Program:
    """A traced step for some shards.

    Args:
      source: The computation.
      num_shards: How many shards there are.
      traced: The step.

    Attributes:
      uses: The variables that it reads and writes, by the names that the Session knows them by.

    Raises:
      UnsupportedGraphError: If it holds what no replica can run (TPU361).
    """

    #: Whether the replicas are given different inputs.
    inputs_vary = True

    def __init__(self, source: Source, num_shards: int, traced: strategy.TracedStep) -> None:
        self.source = source
        self.num_shards = num_shards
        self.traced = traced
        script_lines.written_from(traced.graph, source.origin)
        _refuse_host_operations(traced.cut)
        used = {source.name_of(name): handle for name, handle in source.handles.items()}
        self.handles = {name: used[name] for name in traced.variables if name in used}
        written = map(source.name_of, source.prepared.written)
        self.uses = coherence.Uses(
            frozenset(self.handles), frozenset(self.handles.keys() & set(written))
        )

    def step(self, mirror: coherence.Mirror) -> strategy.ReplicatedStep:
        """The step over the variables of a Session."""
        changed = shards.diverging(self.source.computation, self.num_shards, self.inputs_vary)
        of_first = [name for name in map(self.source.name_of, changed) if name in self.handles]
        return strategy.ReplicatedStep(self.traced, mirror.strategy, mirror.variables, of_first)

    def run(
        self, mirror: coherence.Mirror, step: strategy.ReplicatedStep, arrays: Sequence[Any]
    ) -> list[Any]:
        """Runs all shards.

        Args:
          mirror: The variables of the Session.
          step: What :meth:`step` has made for it.
          arrays: The inputs of the shards one after the other, then what they share.

        Returns:
          The outputs of the shards one after the other.
        """
        raise NotImplementedError


class OneEach(Program):
    """Every replica runs a shard; where there are other numbers of shards, in turns.

    Attributes:
      takes_turns: Whether the shards may: they neither meet nor change a variable.
    """

    def __init__(self, source: Source, num_shards: int) -> None:
        computation, prepared = source.computation, source.prepared
        given = [*computation.arguments, *source.shared]
        graph = tf.Graph()
        with graph.as_default():
            inputs = source.inputs(given)
            known = dict(zip(given, inputs))
            known.update((name, source.handle(name)) for name in source.handles)
            outputs, effects = _imported(
                prepared.graph_def(), known, computation.outputs, prepared.effects
            )
        traced = strategy.TracedStep(graph, inputs, outputs, effects)
        super().__init__(source, num_shards, traced)
        self.takes_turns = not (traced.meets or self.uses.written)

    def run(
        self, mirror: coherence.Mirror, step: strategy.ReplicatedStep, arrays: Sequence[Any]
    ) -> list[Any]:
        """Runs all shards; see :meth:`Program.run`."""
        if step.replicas != self.num_shards and not self.takes_turns:
            raise BadValueError(
                "TPU366",
                (
                    f"{self.num_shards} shards were requested, but there are "
                    f"{step.replicas} replica(s)"
                ),
            )
        count = len(self.source.computation.arguments)
        shared = arrays[self.num_shards * count :]
        feeds = [[*arrays[k * count : (k + 1) * count], *shared] for k in range(self.num_shards)]
        outputs: list[Any] = []
        for start in range(0, len(feeds), step.replicas):
            turn = feeds[start : start + step.replicas]
            idle = step.replicas - len(turn)  # they repeat a shard, for nothing
            rows = mirror.run_within(step, turn + turn[-1:] * idle, self.uses)
            outputs += itertools.chain(*rows[: len(turn)])
        return outputs


class Together(Program):
    """One program computes all shards, and every replica runs it.

    Args:
      source: The computation.
      num_shards: How many shards there are.
      notice: As in :func:`tpucompat.engines.shards.expand`.
    """

    inputs_vary = False

    def __init__(self, source: Source, num_shards: int, notice: Callable[[str], None]) -> None:
        computation = source.computation
        graph_def = computation.graph_def
        if current_environment().rehearsed_cores:
            graph_def = host_parts.keep(graph_def)
        # Writing out changes what was prepared.
        prepared = shards.Prepared(computation._replace(graph_def=graph_def))
        written = shards.expand(prepared, num_shards, notice=notice)
        graph = tf.Graph()
        with graph.as_default():
            rows = [source.inputs(computation.arguments, f"shard_{k}/") for k in range(num_shards)]
            shared = source.inputs(source.shared)
            values = dict(zip(source.shared, shared))
            values.update((name, source.handle(name)) for name in source.handles)
            known = {
                f"argument/{index}/shard_{k}": value
                for k, row in enumerate(rows)
                for index, value in enumerate(row)
            }
            known.update(
                (f"capture/{index}", values[name])
                for index, name in enumerate(computation.captures)
            )
            known["pivot"] = tf.constant(True)
            flat = list(itertools.chain(*written.outputs))
            written_out = host_parts.mark_once(written.graph_def)
            outputs, executed = _imported(written_out, known, flat, [written.executed])
        inputs = [*itertools.chain(*rows), *shared]
        traced = strategy.TracedStep(graph, inputs, outputs, executed)
        super().__init__(source, num_shards, traced)
        # The shards' own variables, which start anew in every run.
        self._own = [spec for name, spec in traced.variables.items() if name not in self.handles]
        for spec in self._own:
            if not spec.shape.is_fully_defined():
                raise UnsupportedGraphError(
                    "TPU361",
                    (f"each shard needs its own variable {spec.name!r}, which has no static shape"),
                )

    def step(self, mirror: coherence.Mirror) -> strategy.ReplicatedStep:
        """The step over the variables of a Session; see :meth:`Program.step`."""
        mirror.variables.load(
            {
                spec.name: np.zeros(spec.shape.as_list(), spec.dtype.as_numpy_dtype)
                for spec in self._own
            }
        )
        return super().step(mirror)

    def run(
        self, mirror: coherence.Mirror, step: strategy.ReplicatedStep, arrays: Sequence[Any]
    ) -> list[Any]:
        """Runs all shards; see :meth:`Program.run`."""
        return mirror.run_within(step, [list(arrays)] * step.replicas, self.uses)[0]


def _imported(
    graph_def: Any, known: dict[str, Any], outputs: Sequence[str], operations: Sequence[str]
) -> tuple[list[Any], list[Any]]:
    """Puts nodes into the default graph.

    Args:
      graph_def: The nodes; they are freed of their places, which the script's graph has.
      known: The tensors that they take from outside, by the name of the node there.
      outputs: References to tensors, which may be some of those that are known.
      operations: Names of nodes.

    Returns:
      The tensors of the outputs, and the operations.
    """
    for node in graph_def.node:
        graphdef.free(node)
    taken = {key.lstrip("^").partition(":")[0] for node in graph_def.node for key in node.input}
    full = {name: name if ":" in name else name + ":0" for name in outputs}
    made = [name for name in outputs if name.partition(":")[0] not in known]
    elements = tf.import_graph_def(
        graph_def,
        {name + ":0": value for name, value in known.items() if name in taken},
        [*(full[name] for name in made), *operations],
        name="computation",
    )
    tensors = {name + ":0": value for name, value in known.items()}
    tensors.update((full[name], tensor) for name, tensor in zip(made, elements))
    return [tensors[full[name]] for name in outputs], elements[len(made) :]


def _refuse_host_operations(cut: Any) -> None:
    """Raises where a computation needs Python or the console, which no core can reach.

    A rehearsal leaves nothing of that kind to the host: its step is refused, with the script's line.
    """
    if current_environment().rehearsed_cores:
        return
    nodes = itertools.chain(
        *(stage.graph_def.node for stage in cut.stages),
        *(function.node_def for function in cut.library.function),
    )
    for node in nodes:
        if _HOST.match(node.op) and not host_parts.is_marked(node):
            raise UnsupportedGraphError(
                "TPU361", (f"the computation contains the host operation {node.op} {node.name!r}")
            )
