"""Keeps a session's variables and the replicas' copies of them consistent for every reader.

A script trains on N replicas and between two steps does to its session whatever it likes: reads
weights, saves a checkpoint, sets a learning rate, resets a metric, evaluates another model that
shares layers. Nothing of that goes through this package. So every run of the session is watched:
the graph tells which variables it reads and writes. Values are copied when they are needed, in the
direction in which they are newer, and not before.

A computation may also stand in the session's own graph, and run on the replicas in the middle of a
run of the session (``partitioned_call.py``). What operations of the host read or write in runs that are under
way is then held by the host: the computation takes it from the session and gives it back at once,
so that they see each other's values in the order that the graph gives them.
"""

from __future__ import annotations

import collections
import itertools
import sys
import threading
import weakref
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.engines import replicated_variables
from tpucompat.engines import strategy as engine
from tpucompat.tf import patches, private

# Operations that take a variable's handle and leave its value alone.
_READERS = frozenset(
    ["ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp"]
)

_mirrors: weakref.WeakKeyDictionary[Any, Mirror] = weakref.WeakKeyDictionary()
_by_number: weakref.WeakValueDictionary[int, Mirror] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)
_lock = threading.RLock()

_RESIDENTS = "_tpucompat_residents"
_TRANSFERS = "_tpucompat_transfers"


@patches.patch
def watch() -> None:
    """Watches the runs of all sessions from here on; to be called before the first of them.

    A callable that Keras has made earlier would go past.
    """
    private.watch_sessions(_session_runs)
    private.after_sessions_close(_session_closed)  # others read variables before


def _session_runs(session: Any, names: set[str]) -> Callable[[], None] | None:
    mirror = _mirrors.get(session)
    if mirror is None:
        residents = getattr(session.graph, _RESIDENTS, None)
        if residents is None:
            return None
        mirror = mirror_of(session, residents.strategy)
    return mirror.session_runs(names)


def _session_closed(session: Any) -> None:
    """A closed session has no variables; their copies shall not stay on the cores for it."""
    _mirrors.pop(session, None)


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


def mirror_of_number(number: int) -> Mirror:
    """The mirror of the session whose number a computation has read.

    Args:
      number: The value of :meth:`Residents.number`.
    """
    return _by_number[number]


class Residents:
    """The variables that computations in the runs of a graph's sessions use; they live on the replicas.

    Args:
      graph: The graph.
      strategy: The strategy whose replicas run the computations.

    Attributes:
      handles: Shared name of a variable -> its handle in the graph.
    """

    def __init__(self, graph: Any, strategy: Any) -> None:
        self.strategy = strategy
        self.handles: dict[str, Any] = {}
        with graph.as_default(), tf.control_dependencies(None), tf.device(None), tf.name_scope(
            None
        ):
            self._number = tf.raw_ops.VarHandleOp(
                dtype=tf.int64, shape=[], shared_name="the number of this Session", name="residents"
            )
            self._slot = tf.placeholder(tf.int64, [], name="residents/given")
            self._tell = tf.raw_ops.AssignVariableOp(resource=self._number, value=self._slot)

    def add(self, handles: Iterable[Any]) -> None:
        """Takes variables in, and makes now what moves their values: graphs are finalized later."""
        for handle in handles:
            self.handles.setdefault(name_of(handle), handle)
            _transfer(handle)

    def number(self) -> Any:
        """A tensor of the default graph by which a computation knows the session that runs it."""
        return tf.raw_ops.ReadVariableOp(resource=self._number, dtype=tf.int64)

    def tell(self, session: Any, number: int) -> None:
        """Gives a session its number."""
        session.run(self._tell, {self._slot: number})


def residents_of(graph: Any, strategy: Any) -> Residents:
    """The one list of residents of a graph; made at first use.

    Args:
      graph: The graph, of which sessions are made.
      strategy: The strategy whose replicas run the computations.
    """
    watch()
    if not hasattr(graph, _RESIDENTS):
        setattr(graph, _RESIDENTS, Residents(graph, strategy))
    residents: Residents = getattr(graph, _RESIDENTS)
    return residents


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
        self.variables = replicated_variables.ReplicatedVariables(strategy)
        self._handles: dict[str, Any] = {}  # variables that some step has used
        self._newer_on_host: set[str] = set()
        self._newer_on_replicas: set[str] = set()
        self._uses: dict[frozenset[str], Uses] = {}
        self._copying = False
        # What runs of the session that are under way read, and what they write.
        self._read_now: collections.Counter[str] = collections.Counter()
        self._written_now: collections.Counter[str] = collections.Counter()
        # Another session may have the variables of a server too; there they stay with the host.
        self._shared = bool(session.sess_str)
        self._number = 0
        self._failures: dict[str, BaseException] = {}

    def run(self, step: engine.ReplicatedStep, feeds: Any, wait: bool = True) -> list[list[Any]]:
        """Runs a step on the replicas with the session's values of now.

        Args:
          step: A step over :attr:`variables`.
          feeds: As :meth:`tpucompat.engines.strategy.ReplicatedStep.__call__`.
          wait: As there.

        Returns:
          For each replica a list with an array, or a tensor on the replica, for each output.
        """
        with _lock:
            uses = self._uses_of_step(step)
            self._copy_to_replicas(uses.read | uses.written)
            try:
                return step(feeds) if wait else step(feeds, wait=False)
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

    def run_within(self, step: Any, feeds: Any, uses: Uses) -> list[list[Any]]:
        """Runs a step from inside a run of the session, with the session's values of now.

        Args:
          step: A step over :attr:`variables`.
          feeds: What it takes.
          uses: The variables that it uses, all of them residents of the session's graph.

        Returns:
          What the step gives.
        """
        used = uses.read | uses.written
        with _lock:
            self._newer_on_host |= used if self._shared else used & self._written_now.keys()
            self._copy_to_replicas(used)
            try:
                return list(step(feeds))
            finally:
                self._newer_on_replicas |= uses.written
                held = self._read_now.keys() | self._written_now.keys()
                self._copy_to_session(uses.written if self._shared else uses.written & held)

    def failed_within(self, error: BaseException) -> Exception:
        """What an operation of Python has to raise for an error, so that the run fails with the error.

        TensorFlow makes an ``UnknownError`` of most that is raised there (``py_func.cc``).
        """
        text = f"failure {next(_numbers)} of what the cores ran"
        self._failures[text] = error
        return RuntimeError(text)

    def session_runs(self, names: set[str]) -> Callable[[], None] | None:
        """Brings what a run of the session needs.

        Args:
          names: The operations that are fetched or run.

        Returns:
          What is to be called after the run, if it changes anything or may fail on the replicas.
        """
        session = self._session()
        residents = getattr(session.graph, _RESIDENTS, None) if session is not None else None
        if residents is not None:
            self._admit(residents)
        elif not self._handles:
            return None
        uses = self._uses_of(names)
        written = uses.written & self._handles.keys()
        read = (uses.read | written) & self._handles.keys()
        if read:  # else nothing is moved, and a step that is under way is not waited for
            with _lock:
                if self._copying:
                    return None
                self._copy_to_session(read & self._newer_on_replicas)
                self._read_now.update(read)
                self._written_now.update(written)

        def done() -> None:
            if read:
                with _lock:
                    self._newer_on_host.update(written)
                    self._read_now -= collections.Counter(read)
                    self._written_now -= collections.Counter(written)
            self._raise_failure(sys.exc_info()[1])

        return done if read or residents is not None else None

    def _admit(self, residents: Residents) -> None:
        """Gets to know the variables of computations in the session's graph, and lets those know it."""
        new = residents.handles.keys() - self._handles.keys()
        if self._number and not new and not self._shared:
            return
        with _lock:
            for name in new:
                self._handles[name] = residents.handles[name]
                self._newer_on_host.add(name)
            if (not self._number or self._shared) and not self._copying:
                self._number = self._number or next(_numbers)
                _by_number[self._number] = self
                self._copying = True
                try:
                    residents.tell(self._session(), self._number)
                finally:
                    self._copying = False

    def _raise_failure(self, theirs: BaseException | None) -> None:
        """Raises the error in which a run that has failed began."""
        for text in [text for text in self._failures if theirs is not None and text in str(theirs)]:
            raise self._failures.pop(text) from None

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
        reads = [[_transfer(one)[0] for one in self._handles_of(name)] for name in wanted]
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
            (_transfer(handle), self.variables.read([name], replica)[name])
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
            return list(session.run(fetches, feeds, options=_here()))
        finally:
            self._copying = False


def _here() -> Any:
    """Options for a run in the thread that asks for it.

    The session's own threads may all be waiting for this one, inside of computations.
    """
    return tf.RunOptions(inter_op_thread_pool=-1)


def _transfer(handle: Any) -> tuple[Any, Any, Any]:
    """The variable's value in the session's graph, a slot to feed a new one, its assignment."""
    graph, name = handle.graph, handle.op.name
    if not hasattr(graph, _TRANSFERS):
        setattr(graph, _TRANSFERS, {})
    transfers: dict[str, tuple[Any, Any, Any]] = getattr(graph, _TRANSFERS)
    if name not in transfers:
        dtype = tf.as_dtype(handle.op.get_attr("dtype"))
        # The graph may be finalized: the variable's own initializer and read serve too.
        read = _own(handle, "/Read/ReadVariableOp", "ReadVariableOp")
        assign = _own(handle, "/Assign", "AssignVariableOp")
        if read is not None and assign is not None:
            transfers[name] = (read.outputs[0], assign.inputs[1], assign)
            return transfers[name]
        with graph.as_default(), tf.control_dependencies(None), tf.name_scope("mirror"):
            slot = tf.placeholder(dtype, tf.TensorShape(handle.op.get_attr("shape")))
            transfers[name] = (
                tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype),
                slot,
                tf.raw_ops.AssignVariableOp(resource=handle, value=slot),
            )
    return transfers[name]


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
    """An operation that a variable has made for itself; None if there is none."""
    try:
        operation = handle.graph.get_operation_by_name(handle.op.name + name)
    except KeyError:
        return None
    return operation if operation.type == kind and not operation.control_inputs else None
