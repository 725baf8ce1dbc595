"""The cores of a TPU as TPUEstimator's graph sees them.

TPUEstimator builds one graph on the host: input pipelines that end in enqueue operations, the
program of the cores, dequeue operations with what the cores give out, and around all that whatever
a script's hooks, scaffold and metric functions add. Here the infeeds and outfeeds are queues of
that graph, and the program is a step of the strategy engine, traced from the same graph: the host's
parts run in the Session as they are, and the step runs on the replicas.

Fetching the program's result starts it. It runs in a thread of its own, beside the Session's
run that wants the result and the runs that feed it, as a TPU does.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from typing import Any, Callable, Iterable, NamedTuple, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.base.errors import UnsupportedGraphError
from tpucompat.engines import coherence, graph_walk
from tpucompat.engines import strategy as engine
from tpucompat.idioms.tpu_estimator.placement import Here

# How many batches wait for a core; those of eight cores lie in the host's memory.
_INFEED_CAPACITY = 4
# The host takes the outputs of each step while the next ones run.
_OUTFEED_CAPACITY = 64


class Channel:
    """A queue of tuples of tensors between the host's graph and one core.

    Args:
      graph: The host's graph.
      name: The queue's name.
      capacity: How many tuples it holds before an enqueue blocks.
      dtypes: The tensors' types.
      shapes: Their shapes.
    """

    def __init__(
        self, graph: Any, name: str, capacity: int, dtypes: Sequence[Any], shapes: Sequence[Any]
    ) -> None:
        # Enqueue operations stand in the body of a loop; the queue stands outside.
        with graph.as_default(), tf.control_dependencies(None), tf.device(None), tf.name_scope(
            None
        ):
            self._queue = tf.queue.FIFOQueue(capacity, list(dtypes), name=name)
            taken = self._queue.dequeue()
            self.taken = list(taken) if isinstance(taken, (list, tuple)) else [taken]
            for tensor, shape in zip(self.taken, shapes):
                tensor.set_shape(shape)
            self.given = [tf.placeholder(dtype, name=name + "_given") for dtype in dtypes]
            self.give = self._queue.enqueue(self.given)
            self.close = self._queue.close(cancel_pending_enqueues=True)

    def enqueue(self, tensors: Sequence[Any]) -> Any:
        """An operation that puts tensors of the current graph into the queue."""
        return self._queue.enqueue(list(tensors))


class Program(NamedTuple):
    """What the cores run, step by step.

    Attributes:
      inputs: The step's inputs besides its infeed: the replica's number, and what changes from step
      to
        step.
      output: What the step computes; the program's result is as :func:`result_of` says.
      result: Where the host takes the result from.
      iterations: A tensor with the number of steps; None where the step tells when to stop.
      carries: Whether the changing input is the step's own last output; otherwise it is the number
        of the step.
      start: The first value that is carried.
    """

    inputs: tuple[Any, Any]
    output: Any
    result: Channel
    iterations: Any
    carries: bool
    start: Any

    def again(self, done: int, value: Any, iterations: int | None) -> bool:
        """Whether there is another step.

        Args:
          done: The number of steps so far.
          value: The last output of replica 0.
          iterations: The value of ``iterations``.
        """
        return not value if iterations is None else done < iterations


def result_of(values: Sequence[Any]) -> Any:
    """The result of a program: what core 0 has computed; NaN where a core has, so that hooks see it.

    Args:
      values: The last output of each core: a loss, or whether the step says that there is no other.
    """
    numbers = np.asarray(values)
    if numbers.dtype != bool and np.isnan(numbers).any():
        return numbers.dtype.type(np.nan)
    return values[0]


class Device:
    """The cores of one graph.

    Args:
      graph: The host's graph.

    Attributes:
      outfeed_every: A step gives something out every so many steps.
      replicas: How many cores run the program.
      replica: The core's number, as the step sees it.
      apart: Variable that is another one on each core, by the name of core 0's -> the handles of all.
      tables: Embedding table -> its variable in the program, and those of its slots.
      caught_gradients: Embedding feature -> gradient of its activations.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = weakref.ref(graph)
        self._infeed: dict[str, dict[int, Channel]] = {}
        self._outfeed: dict[int, Channel] = {}
        self._lanes: dict[str, list[Any]] = {}
        self.outfeed_outputs: list[Any] = []
        self.outfeed_every = 1
        self.replicas = 1
        self.replica: Any = None
        self.apart: dict[str, list[Any]] = {}
        self.tables: dict[str, list[Any]] = {}
        self.caught_gradients: dict[str, Any] = {}
        self.program: Program | None = None
        self._checked: list[tuple[Any, Any]] = []
        self._check: Any = None
        self._steps: tuple[engine.TracedStep, engine.TracedStep | None] | None = None
        self._placement: Any = None

    @property
    def graph(self) -> Any:
        """The host's graph."""
        graph = self._graph()
        assert graph is not None
        return graph

    @property
    def placement(self) -> Here:
        """Where the cores are; all are in this process unless somebody has set it."""
        return self._placement or Here(self.replicas)

    @placement.setter
    def placement(self, placement: Here) -> None:
        self._placement = placement

    # Building the graph --------------------------------------------------------------------------

    def enqueue(self, core: int, tensors: Sequence[Any], lane: str = "infeed") -> Any:
        """An operation of the host that puts a batch into a core's infeed.

        Args:
          core: The core.
          tensors: The batch.
          lane: Which of the infeed's queues; a step takes one batch from each.
        """
        channels = self._infeed.setdefault(lane, {})
        if core not in channels:
            channels[core] = Channel(
                self.graph,
                f"{lane}_{core}",
                _INFEED_CAPACITY,
                [tensor.dtype for tensor in tensors],
                [tensor.shape for tensor in tensors],
            )
        return channels[core].enqueue(tensors)

    def take(self, dtypes: Sequence[Any], shapes: Sequence[Any], lane: str = "infeed") -> list[Any]:
        """A core's batch, as the step takes it."""
        self._lanes[lane] = [
            tf.placeholder(dtype, shape, name=f"{lane}/{index}")
            for index, (dtype, shape) in enumerate(zip(dtypes, shapes))
        ]
        return self.lane(lane)

    def lane(self, lane: str) -> list[Any]:
        """What the step takes from that lane; nothing if it has not asked."""
        return list(self._lanes.get(lane, ()))

    def replicated_input(self, name: str, values: Sequence[Any]) -> Any:
        """What a core sees of several values, of which each core has its own.

        Args:
          name: What they are called.
          values: A tensor, or the handle of a variable, for each core.

        Returns:
          A tensor of the step. Of handles it is core 0's, with which a replica finds its own variable.

        Raises:
          UnsupportedGraphError: If there are more or fewer of them than cores (TPU361).
        """
        if len(values) != self.replicas:
            raise UnsupportedGraphError(
                "TPU361",
                (
                    f"{name!r} has {len(values)} values, one per core, but the computation "
                    f"runs on {self.replicas} cores"
                ),
            )
        if values[0].dtype != tf.resource:
            return tf.gather(tf.stack(list(values)), self.replica)
        self.apart[coherence.name_of(values[0])] = list(values)
        return values[0]

    def give_outfeed(self, tensors: Sequence[Any]) -> Any:
        """An operation after which the step gives these tensors to the host."""
        self.outfeed_outputs = [tf.convert_to_tensor(tensor) for tensor in tensors]
        with tf.device(None):
            return tf.no_op(name="outfeed")

    def dequeue(self, core: int, dtypes: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
        """What a step of a core gave out, on the host."""
        if core not in self._outfeed:
            self._outfeed[core] = Channel(
                self.graph, f"outfeed_{core}", _OUTFEED_CAPACITY, dtypes, shapes
            )
        return list(self._outfeed[core].taken)

    def run_program(
        self,
        step: Callable[[Any, Any], Any],
        replicas: int,
        iterations: Any = None,
        start: Any = None,
    ) -> Any:
        """Builds the program.

        Args:
          step: Builds the step of one core; takes the replica's number and what changes from step
          to
            step: the output of the step before, or the step's number where there is no ``start``.
          replicas: How many cores run it.
          iterations: The number of steps, a tensor; None if the output tells when to stop, by being
            true.
          start: The value that the first step takes.

        Returns:
          The last output of replica 0, a scalar tensor; fetching it runs the program.
        """
        carries = start is not None
        self.replicas = replicas
        with self.graph.as_default():
            inputs = (
                tf.placeholder(tf.int32, [], name="replica"),
                tf.placeholder(
                    tf.as_dtype(type(start)) if carries else tf.int32, [], name="iteration"
                ),
            )
            self.replica = inputs[0]
            output = tf.convert_to_tensor(step(*inputs))
            result = Channel(self.graph, "program", 1, [output.dtype], [output.shape])
        self.program = Program(inputs, output, result, iterations, carries, start)
        return result.taken[0]

    def check_numerics(self, variables: Iterable[Any]) -> None:
        """Lets the program fail when it leaves a NaN or an infinity in one of these variables."""
        floating = [variable for variable in variables if variable.dtype.is_floating]
        if not floating:
            return
        with tf.control_dependencies(None):
            values = [variable.read_value() for variable in floating]
            self._check = tf.stack(
                [
                    tf.stack([tf.reduce_any(kind(value)) for value in values])
                    for kind in (tf.math.is_nan, tf.math.is_inf)
                ]
            )
            for variable, value in zip(floating, values):
                # Nobody runs it; an error wants an operation that has failed.
                operation = tf.debugging.check_numerics(value, "").op
                self._checked.append((variable, operation))

    def computed_on_cores(self, names: Iterable[str]) -> str:
        """The first of these operations whose value exists on the cores only; "" if none does.

        Args:
          names: Names of operations of the host's graph.
        """
        foreign = {tensor.op for tensor in self._inputs()}
        graph = self.graph
        for name in sorted(names):
            if not foreign.isdisjoint(graph_walk.needed(graph.get_operation_by_name(name))):
                return name
        return ""

    def read_with_result(self) -> list[Any]:
        """Reads of what a run of the Session wants of the program's variables beside its result."""
        global_step = tf.train.get_global_step(self.graph)
        steps = [] if global_step is None else [global_step]
        read = [*steps, *(one for variables in self.tables.values() for one in variables)]
        return [self.graph.as_graph_element(variable).op for variable in read]

    def is_computed_on_cores(self, tensor: Any) -> bool:
        """Whether a tensor's value exists on the cores only."""
        return tensor.graph is self.graph and bool(self.computed_on_cores([tensor.op.name]))

    def _inputs(self) -> list[Any]:
        own = list(self.program.inputs) if self.program is not None else []
        return [*own, *(tensor for inputs in self._lanes.values() for tensor in inputs)]

    # Running it ----------------------------------------------------------------------------------

    def start(self, session: Any) -> None:
        """Connects the cores with a new Session of the graph."""
        coherence.attach(session, Running(self, session, self.placement.strategy))

    def traced(self) -> tuple[engine.TracedStep, engine.TracedStep | None]:
        """The step, and the one that checks the variables; traced when first asked for."""
        if self._steps is None:
            assert self.program is not None
            outputs = [self.program.output, *self.outfeed_outputs]
            # TensorFlow's own tests of host_call (test_summaries) read the global step so.
            step = engine.TracedStep(self.graph, self._inputs(), outputs, reads_first=True)
            check = None
            if self._check is not None:
                check = engine.TracedStep(self.graph, [], [self._check])
            self._steps = step, check
        return self._steps

    def raise_if_not_finite(self, flags: Any) -> None:
        """Raises for what the check of the variables found.

        Args:
          flags: An array of shape [2, variables]: whether there is a NaN, an infinity.

        Raises:
          tf.errors.InvalidArgumentError: As TensorFlow's CheckNumerics does.
        """
        for kind, found in zip(("NaN", "Inf"), flags):
            for bad, (variable, operation) in zip(found, self._checked):
                if bad:
                    raise tf.errors.InvalidArgumentError(
                        None,
                        operation,
                        f"Gradient for {variable.name} is NaN : Tensor had {kind} values",
                    )


def device_for_graph(graph: Any = None) -> Device:
    """The cores of a graph; of the default one, or the one around the default function, if None."""
    if graph is None:
        with tf.init_scope():
            graph = tf.get_default_graph()
    # The device holds tensors of the graph: a table of all graphs would keep them for ever.
    if not hasattr(graph, "_tpucompat_device"):
        graph._tpucompat_device = Device(graph)
    device: Device = graph._tpucompat_device
    return device


class Running(coherence.Mirror):
    """The cores of a graph in one Session: its variables on the replicas, and the program.

    Args:
      device: The cores.
      session: The Session.
      strategy: The strategy whose replicas are the cores.
    """

    def __init__(self, device: Device, session: Any, strategy: Any) -> None:
        super().__init__(session, strategy, device.apart)
        self._device = device
        self._steps: list[Any] | None = None
        self._wanted: dict[frozenset[str], bool] = {}

    def session_runs(self, names: set[str]) -> Callable[[], None] | None:
        """Brings what a run of the Session needs; starts the program if its result is fetched.

        Args:
          names: The operations that are fetched or run.

        Returns:
          What is to be called after the run; it waits for the program.

        Raises:
          UnsupportedGraphError: If something is fetched that exists on the cores only.
        """
        wanted = self._wants_program(names)
        brought = super().session_runs(names)
        if not wanted:
            return brought
        execution = Execution(self)

        def done() -> None:
            if brought is not None:
                brought()
            execution.end()

        return done

    def _wants_program(self, names: set[str]) -> bool:
        key = frozenset(names)
        if key not in self._wanted:
            device = self._device
            assert device.program is not None
            foreign = device.computed_on_cores(names)
            if foreign:
                raise UnsupportedGraphError(
                    "TPU324", f"a hook fetches {foreign!r}, which exists only on the cores"
                )
            result = device.program.result.taken[0].op
            self._wanted[key] = any(
                result in graph_walk.needed(device.graph.get_operation_by_name(name))
                for name in names
            )
        return self._wanted[key]

    @property
    def session(self) -> Any:
        """The Session."""
        session = self._session()
        assert session is not None
        return session

    def run_program(self) -> None:
        """Runs the program, and puts its result where the host takes it from."""
        device, session = self._device, self.session
        program = device.program
        assert program is not None
        placement = device.placement
        _, check = self._replicated()
        lanes = [device._infeed[lane] for lane in device._lanes]
        infeeds = [[one for lane in lanes for one in lane[core].taken] for core in placement.cores]
        iterations = session.run(program.iterations) if program.iterations is not None else None
        values = [program.start for _ in placement.cores]
        given: Sequence[
            Sequence[Any]
        ] = []  # what the last step gives out: nobody has waited for it
        done = 0
        try:
            while program.again(done, values[0], iterations):
                batches = session.run(infeeds) if lanes else infeeds
                changing = values if program.carries else [done for _ in values]
                placement.before_step(done, iterations)
                outputs = self._step_of_cores(
                    [
                        [core, value, *batch]
                        for core, value, batch in zip(placement.cores, changing, batches)
                    ]
                )
                self._give_out(given)  # while the cores compute the next step
                values, given = [output[0] for output in outputs], []
                if device._outfeed and done % device.outfeed_every == 0:
                    given = [output[1:] for output in outputs]
                done += 1
        except Exception:
            with contextlib.suppress(Exception):  # the first error counts
                self._give_out(given)
            raise
        self._give_out(given)
        session.run(device.read_with_result())
        if check is not None:
            device.raise_if_not_finite(self.run(check, [[] for _ in range(check.replicas)])[0][0])
        result = placement.result(result_of(engine.to_host(values)))
        session.run(program.result.give, {program.result.given[0]: result})

    def _step_of_cores(self, feeds: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """A step of the cores that are here; in turns where the strategy has fewer replicas."""
        step, _ = self._replicated()
        outputs: list[list[Any]] = []
        for start in range(0, len(feeds), step.replicas):
            with self._device.placement.step():
                # What one step leaves for the next stays on the cores.
                outputs += self.run(step, feeds[start : start + step.replicas], wait=False)
        return outputs

    def _give_out(self, given: Sequence[Sequence[Any]]) -> None:
        """Waits for what the cores that are here give out, and hands that of all to the host."""
        if not given:
            return
        outputs = self._device.placement.outputs_of_all(engine.to_host(list(given)))
        channels = [self._device._outfeed[core] for core in range(len(outputs))]
        feeds = {
            slot: value
            for channel, values in zip(channels, outputs)
            for slot, value in zip(channel.given, values)
        }
        self.session.run([channel.give for channel in channels], feeds)

    def _replicated(self) -> list[Any]:
        if self._steps is None:
            self._steps = [
                self._step_of(traced) if traced is not None else None
                for traced in self._device.traced()
            ]
        return self._steps

    def _step_of(self, traced: engine.TracedStep) -> Any:
        """The step on the cores that are here; joint where they meet and cannot take turns."""
        step = engine.ReplicatedStep(traced, self.strategy, self.variables)
        cores = len(self._device.placement.cores)
        if step.replicas < self._device.replicas and self._device.apart:
            raise UnsupportedGraphError(
                "TPU361",
                (
                    f"the variable {next(iter(self._device.apart))!r} differs between cores, "
                    f"and this machine has {step.replicas} replica(s) for "
                    f"{self._device.replicas} cores"
                ),
            )
        if step.replicas < cores and traced.meets:
            return engine.JointStep(traced, cores, self.variables)
        return step


class Execution:
    """One execution of the program, in a thread of its own.

    Args:
      running: The cores that run it.
    """

    def __init__(self, running: Running) -> None:
        self._running = running
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="TPUProgram", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Waits for the end.

        Raises:
          Exception: What the program failed with, unless the Session's run failed with a cause of
            its own.
        """
        self._thread.join()
        theirs = sys.exc_info()[1]
        if self._error is not None and (theirs is None or isinstance(theirs, _CONSEQUENCES)):
            raise self._error from None

    def _run(self) -> None:
        try:
            self._running.run_program()
        except BaseException as error:
            self._error = error
            program = self._running._device.program
            assert program is not None
            # Nobody shall wait for the result any longer. A closed Session has nobody waiting.
            with contextlib.suppress(Exception):
                self._running.session.run(program.result.close)


# What the Session says when the program, or its input, has failed.
_CONSEQUENCES = (tf.errors.CancelledError, tf.errors.OutOfRangeError)
