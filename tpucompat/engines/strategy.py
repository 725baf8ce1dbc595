"""N replicas: a step traced once in a TF 1 graph, replayed under a ``tf.distribute`` strategy.

The step of one replica is a :class:`TracedStep`: tensors in, tensors out, resource variables, sums
over the cores as native ``CrossReplicaSum`` nodes. Three hosts replay it, with the same code
(``trace.replay``):

* :class:`ReplicatedStep`: ``strategy.run`` inside ``tf.function``; the replicas meet in
  ``ReplicaContext.all_reduce``.
* :func:`replay_in_graph`: several shards in the script's own graph, for a Session; sums are
  ``add_n``.
* :func:`compilable`: one replica as a ``tf.function(jit_compile=True)``, to be lowered for a
  compiler.

The process is in graph mode (the legacy world); everything of the strategy's side happens under
``private.eager_mode()``. Loops and conditionals of both forms, TF 1's and control flow v2, are
replayed as they were traced.
"""

from __future__ import annotations

import collections.abc
import contextlib
import gc
from typing import Any, Callable, Generator, Iterator, Mapping, NamedTuple, Sequence

import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as v1

from tpucompat.base import errors, interrupts
from tpucompat.base.machine import current_environment, environment
from tpucompat.engines import calls, collectives, observer, refusals, trace
from tpucompat.engines.replicated_variables import ReplicatedVariables
from tpucompat.tf import private

#: Grappler works on the nodes of all emulated cores together. For larger steps that takes many times as
#: long as it saves in the steps of a run.
_MOST_OPTIMIZED_NODES = 2000


def to_host(values: Any) -> Any:
    """What a step has left on the cores, as arrays; anything else as it is.

    Args:
      values: A tensor, or lists of them.
    """
    flat = tf.nest.flatten(values)
    return tf.nest.pack_sequence_as(
        values, [value.numpy() if isinstance(value, tf.Tensor) else value for value in flat]
    )


class Shard(NamedTuple):
    """What one shard of :func:`replay_in_graph` gives: outputs, and what runs for each update."""

    outputs: list[Any]
    updates: list[Any]


class TracedStep:
    """One replica's computation in a ``tf.Graph``.

    Args:
      graph: The graph (TF 1 mode, resource variables) that holds it. It may hold much else: only
        what the outputs and updates need is taken.
      inputs: Tensors that every replica is fed; mostly placeholders, but any tensor may be one.
      outputs: Tensors wanted of every replica.
      updates: Operations or tensors that shall run in every step, and whose values nobody wants.
      constants: Tensor -> value, for placeholders with one value for good (Keras' learning phase).
      reads_first: Whether a read comes before a write that the graph does not order, instead of the
        one that was made first.

    Raises:
      errors.UnsupportedGraphError: If the computation holds something that cannot be replayed
        (TPU360 to TPU364).
    """

    def __init__(
        self,
        graph: Any,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        updates: Sequence[Any] = (),
        constants: Mapping[Any, Any] | None = None,
        reads_first: bool = False,
    ) -> None:
        self.graph = graph  # kept: the graph owns the Python functions of its py_func operations
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        for_xla = current_environment().is_tpu or observer.watched()
        with refusals.located(graph):
            self.cut = trace.cut(
                graph,
                inputs=[tensor.name for tensor in inputs],
                outputs=[tensor.name for tensor in outputs],
                updates=[getattr(update, "op", update).name for update in updates],
                constants={
                    tensor.name: np.asarray(value, tensor.dtype.as_numpy_dtype)
                    for tensor, value in (constants or {}).items()
                },
                reads_first=reads_first,
                asserts=not for_xla,
                for_xla=for_xla,
            )
        self.variables: dict[str, trace.VariableSpec] = {
            spec.name: spec for spec in self.cut.variables.values()
        }

    @property
    def provided(self) -> dict[str, int]:
        """The type of each tensor that the host provides, by the name that the nodes know it by."""
        known = {tensor.name: tensor.dtype for tensor in self.inputs}
        known.update((key, tf.as_dtype(value.dtype)) for key, value in self.cut.constants.items())
        known.update((key, tf.resource) for key in self.cut.variables)
        return {
            self.cut.moved.get(key, key): dtype.as_datatype_enum for key, dtype in known.items()
        }

    @property
    def size(self) -> int:
        """The number of its nodes."""
        return sum(len(stage.graph_def.node) for stage in self.cut.stages)

    @property
    def meets(self) -> bool:
        """Whether the replicas meet in it."""
        return any(stage.meetings for stage in self.cut.stages)


class ReplicatedStep:
    """A traced step that runs on all replicas of a strategy.

    Args:
      traced: The step of one replica.
      strategy: The strategy, with as many replicas as the step was traced for.
      variables: The replicas' variables, shared with other steps.
      of_first: Names of variables whose copies all become that of replica 0 when the step has run.
    """

    def __init__(
        self,
        traced: TracedStep,
        strategy: Any,
        variables: ReplicatedVariables,
        of_first: Sequence[str] = (),
    ) -> None:
        self.traced = traced
        self.strategy = strategy
        self.variables = variables
        self._of_first = list(of_first)
        variables.declare(traced.variables.values())
        # A TPU wants static shapes; elsewhere batches of many sizes shall not be traced one by one.
        self._step = private.plain_function(
            self._all_replicas, relax_shapes=not collectives.is_for_tpus(strategy)
        )
        self._loops: dict[bool, Callable[..., Any]] = {}
        self._cut, self._config = traced.cut, None
        if self.replicas > 1 and collectives.are_cores_of_a_cpu(strategy):
            if environment().has("calls_of_arrays"):
                self._cut = calls.shared(traced.cut, traced.provided)
            if traced.size > _MOST_OPTIMIZED_NODES:
                with private.eager_mode():
                    self._config = private.call_config(optimized=False)
        self._is_new = True
        self._rehearsed = collectives.is_for_tpus(strategy) and bool(environment().rehearsed_cores)
        if self._rehearsed:
            refusals.refuse(traced.graph, traced.cut)

    @property
    def replicas(self) -> int:
        """The number of replicas in this process; all of them unless there are several workers."""
        if self.strategy.num_replicas_in_sync == 1:  # the default strategy knows no devices
            return 1
        return len(self.strategy.extended.worker_devices)

    def __call__(self, feeds: Sequence[Sequence[Any]], wait: bool = True) -> list[list[Any]]:
        """Runs one step.

        Args:
          feeds: For each replica a list with an array for each input, or a tensor that a step has left
            on the replica.
          wait: Whether the host waits for the outputs; else they stay on the replicas.

        Returns:
          For each replica a list with an array, or a tensor on the replica, for each output.

        Raises:
          errors.BadValueError: If the feeds do not fit the replicas or the inputs.
          errors.UninitializedError: If a variable of the step has no value.
        """
        with private.eager_mode(), self._called():
            self.variables.create(self.traced.variables)
            return self._to_host(self._step(self._from_host(feeds)), wait)

    def run(self, iterator: Any, steps: int, stacked: bool = False) -> list[list[Any]]:
        """Runs several steps in one call to the runtime, as ``iterations_per_loop`` did.

        Args:
          iterator: A ``dataset.Feed``, or the strategy's own iterator; its elements are flat tuples
            with a value for each input.
          steps: How many steps, at least one.
          stacked: Whether the outputs of all steps are wanted, and not those of the last step.

        Returns:
          For each replica a list with an array for each output; where stacked, its axis 0 goes over
          the steps.

        Raises:
          tf.errors.OutOfRangeError: If the data ends early; the steps before have been done.
          errors.UninitializedError: If a variable of the step has no value.
        """
        with private.eager_mode(), self._called():
            self.variables.create(self.traced.variables)
            if stacked not in self._loops:
                body = self._stacked_steps if stacked else self._last_step
                self._loops[stacked] = tf.function(body, autograph=False)
            iterator = getattr(iterator, "iterator", iterator)
            return self._to_host(self._loops[stacked](iterator, tf.constant(steps, tf.int32)))

    @contextlib.contextmanager
    def _called(self) -> Iterator[None]:
        """Within: the step is called; what XLA refuses in a rehearsal is told with the script's line."""
        first = _compiled() if self._is_new else contextlib.nullcontext()
        try:
            with private.functions_called_with(self._config), first:
                yield
            self._is_new = False
        except tf.errors.OpError as error:
            if not self._rehearsed:
                raise
            told = refusals.explained(error, self.traced.graph, self.traced.cut)
            raise told from (None if told is not error else error.__cause__)

    def _last_step(self, iterator: Any, steps: Any) -> Any:
        def body(done: Any) -> Any:
            self._step(list(next(iterator)))
            return done + 1

        tf.while_loop(lambda done: done < steps - 1, body, [tf.constant(0)], parallel_iterations=1)
        return self._step(list(next(iterator)))

    def _stacked_steps(self, iterator: Any, steps: Any) -> Any:
        def body(done: Any, *stacks: Any) -> Any:
            outputs = self._step(list(next(iterator)))
            local = [
                value
                for output in outputs[: len(self.traced.outputs)]
                for value in self.strategy.experimental_local_results(output)
            ]
            return (done + 1, *(stack.write(done, value) for stack, value in zip(stacks, local)))

        stacks = [
            tf.TensorArray(output.dtype, size=steps, element_shape=output.shape)
            for output in self.traced.outputs
            for _ in range(self.replicas)
        ]
        _, *stacks = tf.while_loop(
            lambda done, *_: done < steps, body, [tf.constant(0), *stacks], parallel_iterations=1
        )
        values = [stack.stack() for stack in stacks]
        return [
            tuple(values[start : start + self.replicas])
            for start in range(0, len(values), self.replicas)
        ]

    def _all_replicas(self, values: list[Any]) -> Any:
        return private.run_on_replicas(self.strategy, self._one_replica, (values,))

    def _one_replica(self, values: list[Any]) -> list[Any]:
        context = tf.distribute.get_replica_context()

        _check_fits(values, self.traced.inputs)
        # Unknown where one program serves all replicas (TPUStrategy), whose cores draw different
        # numbers by themselves.
        replica = private.static_value(context.replica_id_in_sync_group)
        handles = self.variables.handles(self.traced.variables)
        number = None if replica is None else int(replica)
        replay = trace.replay(self._cut, values, handles, replica=number)
        outputs, updates = _drive(
            replay, lambda requests: collectives.meet_replicas(context, requests)
        )
        if self._of_first and self.replicas > 1:
            updates = self._spread_first(context, handles, [*outputs, *updates])
        return _after(updates, outputs)

    def _spread_first(
        self, context: Any, handles: Mapping[str, Any], after: Sequence[Any]
    ) -> list[Any]:
        """Operations that give all replicas the variables of replica 0, after some others."""
        with v1.control_dependencies(list(after)):
            own = [
                v1.raw_ops.ReadVariableOp(
                    resource=handles[name], dtype=self.traced.variables[name].dtype
                )
                for name in self._of_first
            ]
        return [
            v1.raw_ops.AssignVariableOp(resource=handles[name], value=value)
            for name, value in zip(self._of_first, collectives.of_first(context, own))
        ]

    def _from_host(self, feeds: Sequence[Sequence[Any]]) -> list[Any]:
        """Arrays of every replica as values of the strategy, one for each input."""
        count = len(self.traced.inputs)
        if len(feeds) != self.replicas or any(len(feed) != count for feed in feeds):
            raise errors.BadValueError(
                "TPU366",
                (
                    f"the step needs {count} value(s) for each of {self.replicas} replica(s), "
                    f"but received {[len(feed) for feed in feeds]}"
                ),
            )

        types = [tensor.dtype for tensor in self.traced.inputs]
        if self.strategy.num_replicas_in_sync == 1:  # the default strategy has no such values
            return [_as_fed(value, dtype) for value, dtype in zip(feeds[0], types)]

        def value_of(index: int) -> Callable[[Any], Any]:
            # Replicas are numbered through over the workers, each of which has the same number.
            return lambda context: _as_fed(
                feeds[context.replica_id_in_sync_group % self.replicas][index], types[index]
            )

        return [private.per_replica(self.strategy, value_of(index)) for index in range(count)]

    def _to_host(self, outputs: list[Any], wait: bool = True) -> list[list[Any]]:
        """Outputs of the strategy as arrays, or as tensors: for each replica a list."""
        local = [
            output
            if isinstance(output, tuple)
            else self.strategy.experimental_local_results(output)
            for output in outputs
        ]
        return [
            [
                values[replica].numpy() if wait else values[replica]
                for values in local[: len(self.traced.outputs)]
            ]
            for replica in range(self.replicas)
        ]


class JointStep:
    """A traced step of several replicas that one device computes, all of them together.

    For where a step meets and there are fewer devices than replicas. The variables are those of one
    replica; a step that gave each its own value would not be computed right.

    Args:
      traced: The step of one replica.
      replicas: How many there are.
      variables: The variables, under a strategy on this device.
    """

    def __init__(self, traced: TracedStep, replicas: int, variables: ReplicatedVariables) -> None:
        self.traced = traced
        self.replicas = replicas
        self.variables = variables
        variables.declare(traced.variables.values())
        self._step = private.plain_function(self._all_replicas)

    def __call__(self, feeds: Sequence[Sequence[Any]], wait: bool = True) -> list[list[Any]]:
        """Runs one step; as :meth:`ReplicatedStep.__call__`, but the host always waits."""
        del wait
        self.variables.create(self.traced.variables)
        types = [tensor.dtype for tensor in self.traced.inputs]
        with private.eager_mode():
            given = [[_as_fed(*pair) for pair in zip(feed, types)] for feed in feeds]
            outputs = self._step(given)
            count = len(self.traced.outputs)
            return [[value.numpy() for value in values[:count]] for values in outputs]

    def _all_replicas(self, feeds: list[list[Any]]) -> list[list[Any]]:
        handles = self.variables.handles(self.traced.variables)
        for values in feeds:
            _check_fits(values, self.traced.inputs)
        replays = [
            trace.replay(self.traced.cut, values, handles, replica=replica)
            for replica, values in enumerate(feeds)
        ]
        return [_after(updates, outputs) for outputs, updates in drive_together(replays)]


def replay_in_graph(
    traced: TracedStep,
    feeds: Sequence[Sequence[Any]],
    handles: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    name: str = "shard",
) -> list[Shard]:
    """Adds several shards of a step to the default graph, for a Session on one device.

    Args:
      traced: The step of one shard.
      feeds: For each shard a list with a tensor of the default graph for each input.
      handles: Variable name -> resource handle in the default graph; one mapping for all shards, or
        one for each of them.
      name: Name scope of the added nodes.

    Returns:
      What each shard gives.
    """
    own = [handles] * len(feeds) if isinstance(handles, collections.abc.Mapping) else handles
    replays = [
        trace.replay(traced.cut, feed, own[shard], replica=shard, name=name)
        for shard, feed in enumerate(feeds)
    ]
    return [Shard(*result) for result in drive_together(replays)]


def compilable(traced: TracedStep, variables: ReplicatedVariables) -> Any:
    """One replica's step as a function for a compiler; its sums over the cores are left out.

    A TPU runs what its compiler accepts: no placeholder and no variable handle is left in the
    function, and its graph is that of every replica.

    Args:
      traced: The step.
      variables: Variables under a strategy of one replica, with their values loaded.

    Returns:
      A ``tf.function(jit_compile=True)`` that takes a tensor (or ``tf.TensorSpec``, for
      ``experimental_get_compiler_ir``) for each input and returns the list of outputs. Use it
      under ``private.eager_mode()``. What was traced with TF 1's own loops and conditionals a TPU
      compiles, but ``jit_compile`` does not: trace with control flow v2 for it.
    """
    variables.declare(traced.variables.values())
    variables.create(traced.variables)

    def step(*values: Any) -> list[Any]:
        replay = trace.replay(traced.cut, values, variables.handles(traced.variables))
        outputs, updates = _drive(replay, collectives.meet_alone)
        return _after(updates, outputs)

    return private.plain_function(step, jit_compile=True)


def _drive(replay: Generator[Any, Any, Any], meet: Callable[[Any], list[Any]]) -> Any:
    """Runs one replica's replay to its end; ``meet`` answers its requests."""
    try:
        requests = next(replay)
        while True:
            requests = replay.send(meet(requests))
    except StopIteration as end:
        return end.value


def drive_together(replays: Sequence[Generator[Any, Any, Any]]) -> list[Any]:
    """Runs the replays of all shards in step; their requests are answered together."""
    results: list[Any] = [None] * len(replays)
    answers: list[Any] = [None] * len(replays)
    while True:
        requests = []
        for shard, replay in enumerate(replays):
            try:
                requests.append(replay.send(answers[shard]))
            except StopIteration as end:
                results[shard] = end.value
        if not requests:
            return results
        answers = collectives.meet_shards(requests)


@contextlib.contextmanager
def _compiled() -> Iterator[None]:
    """Within: a step runs for the first time."""
    with _nothing_collected(), interrupts.compiling():
        yield


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Within: Python looks for no garbage, of which a trace makes none and which it would seek in all of it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _as_fed(value: Any, dtype: Any) -> Any:
    """A value as a Session's feed_dict takes it: made an array of the placeholder's type."""
    if isinstance(value, tf.Tensor):
        return tf.cast(value, dtype)
    value = np.asarray(value, dtype=dtype.as_numpy_dtype)
    return tf.convert_to_tensor(value, dtype)


def _check_fits(values: Sequence[Any], inputs: Sequence[Any]) -> None:
    """Raises where values cannot stand for the inputs of a step."""
    for value, tensor in zip(values, inputs):
        if value.dtype != tensor.dtype or not tensor.shape.is_compatible_with(value.shape):
            raise errors.BadValueError(
                "TPU366",
                (
                    f"{tensor.name} is {tensor.dtype.name} of shape {tensor.shape}, but "
                    f"received {value.dtype.name} of shape {value.shape}"
                ),
            )


def _after(updates: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """The outputs, given out when the updates have run; a step without outputs gives a token."""
    with tf.control_dependencies(list(updates)):
        given = [tf.identity(output) for output in outputs] or [tf.constant(0)]
    private.must_run(given[0].op)
    return given
