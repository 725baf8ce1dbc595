"""Watches a TensorFlow 2 program: ``tf.GradientTape`` and calls of ``tf.function``.

Keras' training step and loops of one's own both ask a tape for the gradients of a loss with respect to
variables. What it answers goes to the recorder, from inside the traced function. While that is being
traced, nothing has run yet, and it is known what the variables are: then the old run's initial values are
put into them. Between the calls of the outermost ``tf.function`` nothing runs either: there they are read.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from tpucompat.commands.verify import names, outputs
from tpucompat.commands.verify.matching import copies, match
from tpucompat.commands.verify.recorder import Recorder, Site, Variable
from tpucompat.engines import host_parts
from tpucompat.tf import private


class EagerWatcher:
    """Watches tapes and traced functions.

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
        self._sites: dict[tuple[int, ...], Site] = {}
        self._variables: dict[str, Any] = {}
        self._given: set[str] = set()
        self._slots: dict[str, Any] = {}
        self._past: set[str] = set()
        self._saved: list[Callable[[], None]] = []
        self._calls = 0

    def open(self) -> None:
        """Begins to watch."""
        tape: Any = tf.GradientTape
        tape.gradient = self._gradient(tape.gradient)
        tape.__enter__ = self._enter(tape.__enter__)
        function_type: Any = type(tf.function(lambda: None))
        function_type.__call__ = self._call(function_type.__call__)
        for module in private.gradient_modules():
            module.gradients = self._graph_gradients(module.gradients)

    # Traced functions --------------------------------------------------------------------------

    def _call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            if self._calls or not tf.executing_eagerly() or self._recorder.at_own_work:
                return original(function, *args, **kwargs)
            self._calls += 1
            try:
                self.between_calls()
                result = original(function, *args, **kwargs)
                self._note_slots()  # what trains may be gone when another function is called
                return result
            finally:
                self._calls -= 1

        return call

    def _enter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def enter(tape: Any) -> Any:
            if tf.executing_eagerly() and not self._calls:
                self._eager_step()
            outputs.forget()
            return original(tape)

        return outputs.not_converted(enter)

    def _eager_step(self) -> None:
        """Before a step that is not traced."""
        self.between_calls()
        if self._recorder.steps == 0 and not self._variables:
            for name, variable in names.trainable_variables():
                self._variables.setdefault(name, variable)
        self._begin()

    def between_calls(self) -> None:
        """Nothing runs: writes the variables down, if they are wanted now."""
        if self._recorder.steps and self._recorder.wants_snapshot():
            self._snapshot()

    def begins_anew(self) -> None:
        """A training makes its variables again, under the names of the last ones, as in a graph of its own."""
        self._past = set(self._variables)
        self._slots = {}

    def saved(self, again: Callable[[], None]) -> None:
        """A checkpoint was written; one from before the first step has to have the old run's values."""
        if self._initial is not None and not self._recorder.steps:
            self._saved.append(again)

    def finish(self) -> None:
        """The script has ended: the variables are final."""
        if self._recorder.steps:
            self._snapshot(last=True)

    def _begin(self) -> None:
        """Before the first step: gives the variables the old run's values, and writes them down."""
        if not self._variables or self._recorder.steps:
            return
        with self._recorder.own_work(), names.eagerly():
            for name, variable in names.untrained_variables(self._variables):
                self._variables.setdefault(name, variable)
            self._give()
            for again in self._saved:
                again()
        self._saved = []
        self._snapshot(last=True)

    def _give(self) -> None:
        if self._initial is None or self._given >= set(self._variables):
            return
        old, values = self._initial
        new = [
            Variable(name, tuple(variable.shape.as_list()), bool(variable.trainable))
            for name, variable in self._variables.items()
        ]
        own = {name: self._variables[name] for name in self._variables if name not in self._given}
        drawn = {name: names.value_of(v) for name, v in own.items()}
        self._recorder.write("own", drawn)
        pairs = match(old, new, self._mapping).pairs
        given = {n: values[pairs[n]] for n in own if pairs.get(n) in values}
        others = {**dict(names.other_variables(self._variables)), **own}
        others = {name: v for name, v in others.items() if name not in given}
        changed = ((drawn[name], value) for name, value in given.items())
        given.update(copies(_values(others), changed))
        for name, value in given.items():
            for part in names.parts(others.get(name, self._variables.get(name))):
                part.assign(value.astype(part.dtype.as_numpy_dtype))
        self._given = set(self._variables)

    def _snapshot(self, last: bool = False) -> None:
        with self._recorder.own_work(), names.eagerly():
            self._note_slots()
            values, slots = map(_values, (self._variables, self._slots))
            self._recorder.snapshot(values, last, slots)

    def _note_slots(self) -> None:
        """After the first step: what the optimizer has made."""
        if self._recorder.steps and not self._slots:
            self._slots = dict(names.other_variables(self._variables))
            self._recorder.write("optimizer", slots=names.of_optimizers(self._slots))

    # Tapes -------------------------------------------------------------------------------------

    def _gradient(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(tape, target, sources, *args, **kwargs)
            if not self._recorder.at_own_work:
                self._record(target, sources, found)
            return found

        return outputs.not_converted(gradient)

    def _graph_gradients(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """``tf.gradients`` in a traced function, as optimizers of ``tf.compat.v1`` ask for it."""

        @functools.wraps(original)
        def gradients(ys: Any, xs: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(ys, xs, *args, **kwargs)
            # A function in a graph of TensorFlow 1, such as a TPU computation, is that graph's matter.
            eager = tf.compat.v1.executing_eagerly_outside_functions()
            if eager and tf.inside_function() and not self._recorder.at_own_work:
                with self._recorder.outermost("gradients") as outermost:
                    if outermost:
                        self._note_variables()
                        self._record(ys, xs, found)
            return found

        return outputs.not_converted(gradients)

    def _note_variables(self) -> None:
        """The model's variables, where the traced function keeps a collection of them as a graph does."""
        graph = tf.compat.v1.get_default_graph()
        collection = private.graph_collections(graph).get(
            tf.compat.v1.GraphKeys.GLOBAL_VARIABLES, []
        )
        known = {id(variable) for variable in self._variables.values()}
        new = [names.container(v) for v in collection if names.is_variable(v)]
        new = [v for v in new if v.dtype.is_floating and id(v) not in known]
        if new and (self._past or not self._recorder.steps):
            self._named(new)

    def _named(self, variables: list[Any]) -> list[str]:
        """Gives names to variables; those of an earlier training's are free."""
        taken = {name: v for name, v in self._variables.items() if name not in self._past}
        with self._recorder.own_work():
            named = names.names_of(variables, taken=taken)
        self._variables.update(zip(named, variables))
        self._past -= set(named)
        return named

    def _record(self, target: Any, sources: Any, found: Any) -> None:
        variables = [names.plain(v) for v in tf.nest.flatten(sources)]
        gradients = [_dense(g) for g in _flat(found)]
        targets = tf.nest.flatten(target)
        if len(targets) != 1 or not all(map(names.is_variable, variables)):
            return
        trained = [(v, g) for v, g in zip(variables, gradients) if g is not None]
        if not trained:
            return
        loss = tf.convert_to_tensor(targets[0])
        eager = names.is_eager(loss)
        seen = outputs.seen_in(None if eager else loss.graph)
        site = self._site(trained, [each.kind for each in seen])
        inputs = [loss, *(g for _, g in trained)]
        inputs += [tf.convert_to_tensor(v) for v, _ in trained]
        for each in seen:
            inputs += [each.labels, each.outputs]
        inputs = [tf.cast(i, tf.float32) if i.dtype == tf.bfloat16 else i for i in inputs]
        if eager:
            site.called(*(i.numpy() for i in inputs))
        else:
            host_parts.mark(tf.numpy_function(site.called, inputs, tf.int32).op)

    def _site(self, trained: list[tuple[Any, Any]], kinds: list[str]) -> Site:
        key = tuple(id(names.container(v)) for v, _ in trained)
        if key not in self._sites:
            context = tf.distribute.get_replica_context()
            replicas = context.num_replicas_in_sync if context is not None else 1
            containers = [names.container(v) for v, _ in trained]
            named = self._named(containers)
            specs = [
                Variable(name, tuple(variable.shape.as_list()), True)
                for name, variable in zip(named, containers)
            ]
            self._begin()
            self._sites[key] = Site(self._recorder, specs, replicas, kinds)
        return self._sites[key]


def _values(variables: Mapping[str, Any]) -> dict[str, np.ndarray]:
    values = {}
    for name, variable in variables.items():
        with contextlib.suppress(Exception):  # deleted, or not initialized yet
            values[name] = names.value_of(variable)
    return values


def _flat(found: Any) -> list[Any]:
    # None and IndexedSlices are leaves.
    if isinstance(found, dict):
        found = [found[key] for key in sorted(found)]
    if not isinstance(found, (list, tuple)):
        return [found]
    if any(isinstance(each, (list, tuple, dict)) for each in found):
        flat: list[Any] = tf.nest.flatten(found)
        return flat
    return list(found)


def _dense(gradient: Any) -> Any:
    return None if gradient is None else tf.convert_to_tensor(gradient)
