"""Watches a TensorFlow 1 program: ``tf.gradients`` and the Session.

Training in a graph calls ``tf.gradients``: every optimizer does, Keras' too. What comes out is made to wait
for an operation that hands loss, gradients and variables to the recorder, so that it runs whenever the
gradients are used: in a Session, in Keras' functions, in Estimators, in steps that tpucompat replays on
several cores.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from typing import Any, Callable, Iterator, Mapping

import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as v1

from tpucompat.commands.verify import outputs
from tpucompat.commands.verify.matching import copies, match
from tpucompat.commands.verify.recorder import Recorder, Site, Variable
from tpucompat.engines import host_parts
from tpucompat.tf import private

_FLOATS = ("float16", "bfloat16", "float32", "float64")


class GraphWatcher:
    """Watches graphs and sessions.

    Args:
      recorder: Where to write.
      initial: The old run's variables with their initial values, to start from; None to start from the
        program's own.
      mapping: New variable -> old variable, where names, shapes and order do not tell.
    """

    def __init__(
        self,
        recorder: Recorder,
        initial: tuple[list[Variable], Mapping[str, np.ndarray]] | None = None,
        mapping: Mapping[str, str] | None = None,
    ) -> None:
        self._recorder = recorder
        self._initial = initial
        self._mapping = mapping
        # Graph -> the model's variables in it, in the order of their making.
        self._variables: weakref.WeakKeyDictionary[Any, dict[str, Any]] = (
            weakref.WeakKeyDictionary()
        )
        self._sessions: weakref.WeakSet[Any] = weakref.WeakSet()
        self._running = 0  # runs of sessions, in all threads
        self._lock = threading.Lock()
        # While Keras builds a training function for several cores: how many, and whether it averages.
        self._cores: tuple[int, bool] | None = None

    def open(self) -> None:
        """Begins to watch."""
        for module in private.gradient_modules():
            module.gradients = self._gradients(module.gradients)
        private.watch_sessions(self._session_runs)
        private.before_sessions_close(self._session_closes)

    @contextlib.contextmanager
    def several_cores(self, cores: int, average: bool) -> Iterator[None]:
        """While a training function for several cores is built, where TensorFlow does not know of them."""
        self._cores = (cores, average)
        try:
            yield
        finally:
            self._cores = None

    # Gradients ---------------------------------------------------------------------------------

    def _gradients(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def gradients(ys: Any, xs: Any, *args: Any, **kwargs: Any) -> Any:
            if outputs.is_eager_program():
                return original(ys, xs, *args, **kwargs)
            found = original(ys, xs, *args, **kwargs)
            with self._recorder.outermost("gradients") as outermost:
                if not outermost:
                    return found
                return self._watched(ys, xs, found)

        return gradients

    def _watched(self, ys: Any, xs: Any, found: list[Any]) -> list[Any]:
        variables = [_variable_of(x) for x in (xs if isinstance(xs, (list, tuple)) else [xs])]
        losses = list(ys) if isinstance(ys, (list, tuple)) else [ys]
        trained = [(x, g) for x, g in zip(variables, found) if g is not None]
        if len(losses) != 1 or not trained or not all(map(_is_variable, variables)):
            return found
        loss = v1.convert_to_tensor(losses[0])
        names = [_name(x) for x, _ in trained]
        self._note_variables([x for x, _ in trained])
        seen = outputs.seen_in(loss.graph)
        cores, average = self._cores or (_shards(), False)
        specs = [Variable(n, tuple(x.shape.as_list()), True) for n, (x, _) in zip(names, trained)]
        site = Site(
            self._recorder,
            specs,
            cores,
            [each.kind for each in seen],
            whole_batch=self._cores is not None,
            average=average,
        )
        inputs = [loss, *(v1.convert_to_tensor(g) for _, g in trained)]
        inputs += [v1.convert_to_tensor(x) for x, _ in trained]
        for each in seen:
            inputs += [each.labels, each.outputs]
        inputs = [v1.cast(i, v1.float32) if i.dtype == v1.bfloat16 else i for i in inputs]
        recorded = v1.py_func(site.called, inputs, v1.int32, name="tpucompat_verify")
        host_parts.mark(recorded.op)
        with v1.control_dependencies([recorded]):
            return [_after(gradient) for gradient in found]

    def _note_variables(self, trained: list[Any]) -> None:
        # The loss may be in the function of a TPU computation; variables are in the script's graph.
        graph = trained[0].graph
        known = self._variables.setdefault(graph, {})
        collection = private.graph_collections(graph).get(
            tf.compat.v1.GraphKeys.GLOBAL_VARIABLES, []
        )
        everything = [*trained, *collection] if not known else trained
        for variable in everything:
            if _is_variable(variable) and variable.dtype.base_dtype.name in _FLOATS:
                known.setdefault(_name(variable), variable)

    # Sessions ----------------------------------------------------------------------------------

    def _session_runs(self, session: Any, names: set[str]) -> Callable[[], None] | None:
        if self._recorder.at_own_work:
            return None
        self._sessions.add(session)
        if self._recorder.steps == 0:
            self._snapshot(session)
        before = self._recorder.steps
        with self._lock:
            self._running += 1

        def done() -> None:
            with self._lock:
                self._running -= 1
                alone = not self._running  # else a step may be half done
            if alone and self._recorder.steps > before:
                self._snapshot(session)

        return done

    def _session_closes(self, session: Any) -> None:
        if self._recorder.steps and not self._recorder.at_own_work:
            self._snapshot(session, last=True)

    def finish(self) -> None:
        """The script has ended: what the sessions that are still open hold is final."""
        for session in list(self._sessions):
            self._session_closes(session)

    def _snapshot(self, session: Any, last: bool = False) -> None:
        variables = self._variables.get(session.graph)
        if not variables or not (last or self._recorder.wants_snapshot()):
            return
        with self._recorder.own_work():
            readings = {name: _reading(v) for name, v in variables.items()}
            try:
                values = session.run(readings)
                if self._initial is not None and not self._recorder.steps:
                    self._recorder.write("own", values)
                    self._give(session, variables, values)
                    values = session.run(readings)
            except Exception as problem:
                # Not initialized yet, a closed session, a graph that is finalized: nothing is to be seen.
                if self._recorder.steps:
                    self._recorder.write("problem", text=f"variables cannot be read: {problem}")
                return
            slots = self._others(session, variables) if self._recorder.steps else {}
            self._recorder.snapshot(values, last, slots)

    def _others(self, session: Any, variables: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """What is there besides the model's variables: slots of optimizers, averages of weights."""
        others = _other_variables(session.graph, variables)
        try:
            found: dict[str, np.ndarray] = session.run({n: _reading(v) for n, v in others.items()})
        except Exception as problem:  # one of them may not be initialized
            self._recorder.write("problem", text=f"slots cannot be read: {problem}")
            return {}
        return found

    def _give(
        self, session: Any, variables: Mapping[str, Any], drawn: Mapping[str, np.ndarray]
    ) -> None:
        """Before the first step: puts the old run's values into the variables, which are initialized."""
        assert self._initial is not None
        old, values = self._initial
        new = [
            Variable(name, tuple(v.shape.as_list()), bool(getattr(v, "trainable", True)))
            for name, v in variables.items()
        ]
        pairs = match(old, new, self._mapping).pairs
        given = {name: values[theirs] for name, theirs in pairs.items() if theirs in values}
        changed = ((drawn[name], value) for name, value in given.items())
        given.update(copies(self._others(session, variables), changed))
        others = _other_variables(session.graph, variables)
        for name, value in given.items():
            # What an initializer assigns can be fed, also where the graph takes no new operation.
            initializer = {**others, **variables}[name].initializer
            session.run(initializer, {initializer.inputs[1]: value})


def _other_variables(graph: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> variable of all other tensors of numbers in a graph."""
    return {
        _name(v): v
        for v in private.graph_collections(graph).get("variables", [])
        if _is_variable(v)
        and _name(v) not in known
        and v.dtype.base_dtype.name in _FLOATS
        and v.shape.rank
    }


def _reading(variable: Any) -> Any:
    # A finalized graph takes no new operation; every variable has one that reads it.
    element = getattr(variable, "_graph_element", None)
    return variable if element is None else element


def _variable_of(x: Any) -> Any:
    """The variable that optimizers mean by a reference to it; anything else as it is."""
    graph = getattr(x, "graph", None)
    if graph is None or _is_variable(x) or x.op.type not in ("VariableV2", "Variable"):
        return x
    collection = private.graph_collections(graph).get(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES, [])
    return next((v for v in collection if getattr(v, "op", None) is x.op), x)


def _is_variable(thing: Any) -> bool:
    return isinstance(thing, tf.Variable) or hasattr(thing, "_in_graph_mode")


def _name(variable: Any) -> str:
    return str(variable.name).partition(":")[0]


def _shards() -> int:
    return private.tpu_function().get_tpu_context().number_of_shards or 1


def _after(gradient: Any) -> Any:
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(
            tf.identity(gradient.values), gradient.indices, gradient.dense_shape
        )
    return tf.identity(gradient)
