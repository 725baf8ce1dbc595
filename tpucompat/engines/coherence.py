"""Keeps a session's variables and the replicas' copies of them one and the same for everybody who
looks.

A script trains on N replicas and between two steps does to its session whatever it likes: reads
weights, saves a checkpoint, sets a learning rate, resets a metric, evaluates another model that
shares layers. Nothing of that goes through this package. So every run of the session is watched:
the graph tells which variables it reads and writes. Values are copied when they are needed, in the
direction in which they are newer, and not before.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from tpucompat import private
from tpucompat.engines import strategy as engine

# Operations that take a variable's handle and leave its value alone.
_READERS = frozenset(
    ["ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp"]
)

_mirrors: weakref.WeakKeyDictionary[Any, Mirror] = weakref.WeakKeyDictionary()
_lock = threading.RLock()
_watching = False


def watch() -> None:
    """Watches the runs of all sessions from here on; to be called before the first of them.

    A callable that Keras has made earlier would go past.
    """
    global _watching
    if not _watching:
        private.watch_sessions(_session_runs)
        _watching = True


def _session_runs(session: Any, names: set[str]) -> Callable[[], None] | None:
    mirror = _mirrors.get(session)
    return mirror.session_runs(names) if mirror is not None else None


def mirror_of(session: Any, strategy: Any) -> Mirror:
    """The one mirror of a session's variables on the replicas of a strategy; made at first use."""
    watch()
    with _lock:
        if session not in _mirrors:
            _mirrors[session] = Mirror(session, strategy)
        return _mirrors[session]


def attach(session: Any, mirror: Mirror) -> None:
    """Makes a mirror, of a kind of its own, the one of its session.

    Args:
      session: The Session.
      mirror: The mirror; its ``session_runs`` is called before each run.
    """
    watch()
    with _lock:
        _mirrors[session] = mirror


class Uses(NamedTuple):
    """Names of the resource variables that a computation reads and that it writes."""

    read: frozenset[str]
    written: frozenset[str]


class Mirror:
    """The variables of one session on the replicas of a strategy.

    Args:
      session: The Session.
      strategy: The strategy whose replicas hold the copies.
      apart: Variables that are not copies of one: name of replica 0's -> the handles of all replicas'. A
        step knows them by replica 0's, and so does what is kept here.
    """

    def __init__(
        self, session: Any, strategy: Any, apart: Mapping[str, Sequence[Any]] | None = None
    ) -> None:
        self._session = weakref.ref(session)
        self._apart = apart if apart is not None else {}
        self.strategy = strategy
        self.variables = engine.ReplicatedVariables(strategy)
        self._handles: dict[str, Any] = {}  # variables that some step has used
        self._newer_on_host: set[str] = set()
        self._newer_on_replicas: set[str] = set()
        self._uses: dict[frozenset[str], Uses] = {}
        self._transfers: dict[str, tuple[Any, Any, Any]] = {}
        self._copying = False

    def run(self, step: engine.ReplicatedStep, feeds: Any) -> list[list[Any]]:
        """Runs a step on the replicas with the session's values of now.

        Args:
          step: A step over :attr:`variables`.
          feeds: As :meth:`tpucompat.engines.strategy.ReplicatedStep.__call__`.

        Returns:
          For each replica a list with an array for each output.
        """
        with _lock:
            uses = self._uses_of_step(step)
            self._copy_to_replicas(uses.read | uses.written)
            try:
                return step(feeds)
            finally:
                self._newer_on_replicas |= uses.written

    def _uses_of_step(self, step: engine.ReplicatedStep) -> Uses:
        traced = step.traced
        for handle, spec in traced.cut.variables.items():
            if spec.name not in self._handles:
                self._handles[spec.name] = traced.graph.get_tensor_by_name(handle)
                self._newer_on_host.add(spec.name)
        names = {name.partition(":")[0] for name in (*traced.cut.outputs, *traced.cut.updates)}
        return self._uses_of(names)

    def session_runs(self, names: set[str]) -> Callable[[], None] | None:
        """Brings what a run of the session needs.

        Args:
          names: The operations that are fetched or run.

        Returns:
          What is to be called after the run, if it changes anything.
        """
        if not self._handles:
            return None
        with _lock:
            if self._copying:
                return None
            uses = self._uses_of(names)
            self._copy_to_session((uses.read | uses.written) & self._newer_on_replicas)
            changed = uses.written & self._handles.keys()

        def done() -> None:
            with _lock:
                self._newer_on_host.update(changed)

        return done if changed else None

    def _uses_of(self, names: Iterable[str]) -> Uses:
        key = frozenset(names)
        if key not in self._uses:
            session = self._session()
            assert session is not None
            uses = uses_of(session.graph, key)
            self._uses[key] = Uses(*(frozenset(self._known(names)) for names in uses))
        return self._uses[key]

    def _known(self, names: Iterable[str]) -> Iterator[str]:
        """The variables by the names that steps know them by."""
        first = {name_of(one): name for name, handles in self._apart.items() for one in handles}
        return (first.get(name, name) for name in names)

    def _handles_of(self, name: str) -> Sequence[Any]:
        """The session's variables of this name: one, or one for each replica."""
        return self._apart.get(name) or [self._handles[name]]

    def _copy_to_replicas(self, names: Iterable[str]) -> None:
        wanted = sorted(self._newer_on_host.intersection(names))
        if not wanted:
            return
        reads = [[self._transfer(one)[0] for one in self._handles_of(name)] for name in wanted]
        for name, values in zip(wanted, self._run(reads)):
            self.variables.load({name: values[0]})
            if len(values) > 1:
                self.variables.load_apart(name, values)
        self._newer_on_host.difference_update(wanted)

    def _copy_to_session(self, names: Iterable[str]) -> None:
        wanted = sorted(names)
        if not wanted:
            return
        pending = [
            (self._transfer(handle), self.variables.read([name], replica)[name])
            for name in wanted
            for replica, handle in enumerate(self._handles_of(name))
        ]
        while pending:
            # Variables that started from one tensor have one slot: each of them has a run of its own.
            now = {slot.name: (slot, value, assign) for (_, slot, assign), value in pending}
            self._run(
                [assign for _, _, assign in now.values()],
                {slot: value for slot, value, _ in now.values()},
            )
            done = {assign.name for _, _, assign in now.values()}
            pending = [one for one in pending if one[0][2].name not in done]
        self._newer_on_replicas.difference_update(wanted)

    def _run(self, fetches: list[Any], feeds: dict[Any, Any] | None = None) -> list[Any]:
        session = self._session()
        assert session is not None
        self._copying = True
        try:
            return list(session.run(fetches, feeds))
        finally:
            self._copying = False

    def _transfer(self, handle: Any) -> tuple[Any, Any, Any]:
        """The variable's value in the session's graph, a slot to feed a new one, its assignment."""
        name = handle.op.name
        if name not in self._transfers:
            import tensorflow.compat.v1 as tf

            dtype = tf.as_dtype(handle.op.get_attr("dtype"))
            shape = tf.TensorShape(handle.op.get_attr("shape"))
            # The graph may be finalized: the variable's own initializer and read serve too.
            read = _own(handle, "/Read/ReadVariableOp", "ReadVariableOp")
            assign = _own(handle, "/Assign", "AssignVariableOp")
            if read is not None and assign is not None:
                self._transfers[name] = (read.outputs[0], assign.inputs[1], assign)
                return self._transfers[name]
            with handle.graph.as_default(), tf.control_dependencies(None), tf.name_scope("mirror"):
                slot = tf.placeholder(dtype, shape)
                self._transfers[name] = (
                    tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype),
                    slot,
                    tf.raw_ops.AssignVariableOp(resource=handle, value=slot),
                )
        return self._transfers[name]


def uses_of(graph: Any, names: Iterable[str]) -> Uses:
    """Which resource variables the operations of these names, and all that they need, read and
    write.

    Args:
      graph: A ``tf.Graph``.
      names: Names of operations.

    Returns:
      Shared names of the variables. Where a function or a loop takes a variable's handle, it counts
      as written.
    """
    read: set[str] = set()
    written: set[str] = set()
    waiting = [graph.get_operation_by_name(name) for name in names]
    seen = set(waiting)
    while waiting:
        operation = waiting.pop()
        sources = [tensor.op for tensor in operation.inputs] + list(operation.control_inputs)
        for source in sources:
            if source not in seen:
                seen.add(source)
                waiting.append(source)
        if any(tensor.dtype.name == "resource" for tensor in operation.outputs):
            continue  # A handle on its way to its user.
        for tensor in operation.inputs:
            if tensor.dtype.name == "resource":
                users = read if operation.type in _READERS else written
                users.update(_variables_behind(tensor))
    return Uses(frozenset(read), frozenset(written))


def name_of(handle: Any) -> str:
    """The shared name of a variable.

    Args:
      handle: Its handle, a tensor of a ``VarHandleOp``.
    """
    return handle.op.get_attr("shared_name").decode() or str(handle.op.name)


def _variables_behind(handle: Any) -> set[str]:
    """The variables that a handle may belong to; a switch or an identity may lie between."""
    if handle.op.type == "VarHandleOp":
        return {name_of(handle)}
    names: set[str] = set()
    for tensor in handle.op.inputs:
        if tensor.dtype.name == "resource":
            names |= _variables_behind(tensor)
    return names


def _own(handle: Any, name: str, kind: str) -> Any:
    """An operation that a variable has made for itself; None if it is not there."""
    try:
        operation = handle.graph.get_operation_by_name(handle.op.name + name)
    except KeyError:
        return None
    return operation if operation.type == kind and not operation.control_inputs else None
