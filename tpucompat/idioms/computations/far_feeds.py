"""Infeeds that one graph's Session fills, and a computation in another graph's Session empties.

A TPU's infeed belongs to the device, whichever Session runs there, and programs have a graph of their own
for the input (the low-level runners of Google's MLPerf submissions). Here an infeed is a queue of a
Session. So a thread takes what the one Session puts into the queue of a core, and puts it into the queue
of the same core of the other. It begins when a Session of the first graph runs something for the first
time, and ends when that Session is closed.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import Any, Callable, Iterator, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base import journal
from tpucompat.engines import operation_seeds
from tpucompat.tf import patches, private

_LANES = "_tpucompat_infeed_lanes"


@patches.patch
def watch_lanes() -> None:
    """Lets a lane begin and end with the Sessions of its first graph."""
    private.watch_sessions(_session_runs)


def carry(
    source: Any,
    target: Any,
    core: int,
    specs: Sequence[tuple[Any, Any]],
    take: Callable[[], Sequence[Any]],
    put: Callable[[Sequence[Any]], Any],
) -> None:
    """Lets the infeed of a core in one graph's Sessions go on to that in another graph's.

    Args:
      source: The graph that fills it.
      target: The graph whose computation empties it.
      core: The core's number.
      specs: The types and shapes of a tuple.
      take: Builds what takes a tuple from the core's queue.
      put: Builds the operation that puts such a tuple into it.
    """
    lanes = _lanes(source)
    if (id(target), core) in lanes:
        return
    journal.notice("TPU355", "an infeed is filled in one Session and read in another")
    watch_lanes()
    with _beside(source):
        taken = take()
    with _beside(target):
        fed = [tf.placeholder(dtype, shape) for dtype, shape in specs]
        lane = _Lane(source, taken, fed, put(fed))
    lanes[id(target), core] = lane  # which keeps the target, so that its id stays its own
    _lanes(target)[id(source), core] = lane


def _lanes(graph: Any) -> dict[tuple[int, int], _Lane]:
    """The lanes that begin or end in a graph, by the other graph and the core."""
    if not hasattr(graph, _LANES):
        setattr(graph, _LANES, {})
    lanes: dict[tuple[int, int], _Lane] = getattr(graph, _LANES)
    return lanes


@contextlib.contextmanager
def _beside(graph: Any) -> Iterator[None]:
    """Operations that TensorFlow 1.15 would not have made in a graph, and that nothing of it orders."""
    before = operation_seeds.count(graph)
    with graph.as_default(), tf.control_dependencies(None), tf.device(None):
        yield
    operation_seeds.add(graph, before - operation_seeds.count(graph))


def _session_runs(running: Any, names: set[str]) -> None:
    for lane in list(getattr(running.graph, _LANES, {}).values()):
        lane.session_runs(running)


class _Lane:
    """The way of one core's tuples."""

    def __init__(self, source: Any, taken: Any, fed: Any, put: Any) -> None:
        self._source = source
        self._taken = taken
        self._fed = fed
        self._put = put
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        self._goal: weakref.ref[Any] | None = None
        self._changed = threading.Condition()

    def session_runs(self, running: Any) -> None:
        """Notes a Session of one of the two graphs."""
        with self._changed:
            if running in self._known:
                return
            self._known.add(running)
            if running.graph is not self._source:
                self._goal = weakref.ref(running)
                self._changed.notify_all()
                return
        threading.Thread(
            target=self._work, args=(running,), name="tpucompat infeed", daemon=True
        ).start()

    def _work(self, source: Any) -> None:
        """Carries until the Session that fills the queue is closed."""
        while True:
            try:
                values = source.run(self._taken)
            except (tf.errors.CancelledError, RuntimeError):  # RuntimeError: closed already
                return
            while not self._delivered(values):
                pass

    def _delivered(self, values: Any) -> bool:
        """Puts a tuple into the newest Session that empties the queue, once there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._goal is not None)
            assert self._goal is not None
            goal = self._goal
        running = goal()
        try:
            if running is not None:
                running.run(self._put, dict(zip(self._fed, values)))
                return True
        except (tf.errors.CancelledError, RuntimeError):
            pass
        with self._changed:
            if self._goal is goal:  # closed, or gone: as on a TPU, the next one finds the tuple
                self._goal = None
        return False
