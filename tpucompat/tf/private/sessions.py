"""Sessions: their settings, and everything that runs in them."""

from __future__ import annotations

import functools
import weakref
from typing import Any, Callable

from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import session
from tensorflow.python.client.session import BaseSession, SessionInterface
from tensorflow.python.eager import context

from tpucompat.base.late import own_module
from tpucompat.tf import patches


def default_session_config() -> Any:
    """The ConfigProto that a session without one gets, made from the settings of ``tf.config``.

    Seen in 1.14 to 2.21 as ``tensorflow.python.eager.context.context().config``; in 1.13 a session without
    a ConfigProto gets an empty one.
    """
    return getattr(context.context(), "config", None) or config_pb2.ConfigProto()


def convert_in_sessions(
    kind: type, fetch: Callable[..., Any], feed: Callable[..., list[tuple[Any, Any]]]
) -> None:
    """Says what sessions fetch and feed for a value of some type.

    Seen in 1.13 to 2.21 in ``tensorflow/python/client/session.py``, with the list ``_REGISTERED_EXPANSIONS``.

    Args:
      kind: The type.
      fetch: Gives what to fetch for it, and the function that makes one value of what was fetched.
      feed: Gives the tensors to feed for it and their values; without a value, for a partial run.
    """
    # The same type is refused twice, so that the list has to be put back.
    patches.replace(session, "_REGISTERED_EXPANSIONS", [*session._REGISTERED_EXPANSIONS])
    register = session.register_session_run_conversion_functions
    register(kind, fetch, feed, lambda value: [tensor for tensor, _ in feed(value)])


def _names_of(within: Any, fetches: Any) -> tuple[set[str], set[str]]:
    """The operations that run, and those whose results are fetched."""
    handler = session._FetchHandler(within.graph, fetches, {})
    return {one.name for one in handler.targets()}, {one.op.name for one in handler.fetches()}


def _between(
    begin: Callable[[], Callable[[], None] | None], call: Callable[..., Any]
) -> Callable[..., Any]:
    """A call that is preceded by another, whose result is called afterwards."""

    def run(*args: Any, **kwargs: Any) -> Any:
        done = begin()
        try:
            return call(*args, **kwargs)
        finally:
            if done is not None:
                done()

    return run


def watch_sessions(watcher: Callable[[Any, set[str]], Callable[[], None] | None]) -> None:
    """Tells a watcher about everything that any Session of the process is going to run.

    ``Session.run`` and callables (Keras makes one for every function) come together in four methods. Seen
    in 1.13 to 2.21 as ``BaseSession._do_run``, ``BaseSession._make_callable_from_options``,
    ``BaseSession.make_callable``, which runs by itself what has no feeds, and
    ``BaseSession.partial_run_setup``, after which operations run as soon as they can.

    Args:
      watcher: Called before a run with the session and the names of the operations that are fetched or run;
        returns what is to be called when the run has ended, or None. A partial run lasts until everything
        has been fetched that it was set up for.
    """
    base = session.BaseSession
    do_run, from_options = base._do_run, base._make_callable_from_options
    make_callable, set_up = base.make_callable, base.partial_run_setup
    # Session -> handle of a partial run -> what is left to fetch, and what is to be called then.
    partial: weakref.WeakKeyDictionary[Any, dict[Any, tuple[set[str], Callable[[], None]]]]
    partial = weakref.WeakKeyDictionary()

    def watched(self: Any, names: set[str], call: Callable[..., Any]) -> Callable[..., Any]:
        return _between(functools.partial(watcher, self, names), call)

    def watched_run(
        self: Any, handle: Any, targets: Any, fetches: Any, *args: Any, **kwargs: Any
    ) -> Any:
        fetched = {one.op.name for one in fetches}
        run = functools.partial(do_run, self, handle, targets, fetches)
        values = watched(self, {one.name for one in targets} | fetched, run)(*args, **kwargs)
        begun = partial.get(self, {})
        if handle in begun:
            left, done = begun[handle]
            left -= fetched
            if not left:
                del begun[handle]
                done()
        return values

    def callable_from_options(self: Any, options: Any) -> Callable[..., Any]:
        connected = [connection.from_tensor for connection in options.tensor_connection]
        names = {name.partition(":")[0] for name in [*options.fetch, *options.target, *connected]}
        return watched(self, names, from_options(self, options))

    def watched_callable(
        self: Any, fetches: Any, feed_list: Any = None, *args: Any, **kwargs: Any
    ) -> Callable[..., Any]:
        call: Callable[..., Any] = make_callable(self, fetches, feed_list, *args, **kwargs)
        if feed_list:  # it calls run()
            return call
        return watched(self, set().union(*_names_of(self, fetches)), call)

    def watched_set_up(self: Any, fetches: Any, *args: Any, **kwargs: Any) -> Any:
        targets, fetched = _names_of(self, fetches)
        done = watcher(self, targets | fetched)
        try:
            handle = set_up(self, fetches, *args, **kwargs)
        except BaseException:
            if done is not None:
                done()
            raise
        if done is not None:
            partial.setdefault(self, {})[handle] = fetched, done
        return handle

    patches.replace(base, "_do_run", watched_run)
    patches.replace(base, "_make_callable_from_options", callable_from_options)
    patches.replace(base, "make_callable", watched_callable)
    patches.replace(base, "partial_run_setup", watched_set_up)


def before_graphs_are_sent(watcher: Callable[[Any, list[Any]], None]) -> None:
    """Shows a watcher what every Session is about to be given of its graph, each operation once.

    That is before they are placed, and before anything runs. Seen in 1.13 to 2.21 as
    ``BaseSession._extend_graph``, which runs and callables go through.

    Args:
      watcher: Called with the session and the operations.
    """
    extend = BaseSession._extend_graph
    seen: weakref.WeakKeyDictionary[Any, tuple[int, int]] = weakref.WeakKeyDictionary()

    def watched_extend(self: Any) -> None:
        before, version = seen.get(self, (0, 0))
        if self.graph.version != version:  # every run asks, and a list of all operations takes time
            operations = self.graph.get_operations()
            watcher(self, operations[before:])
            seen[self] = len(operations), self.graph.version
        extend(self)

    patches.replace(BaseSession, "_extend_graph", watched_extend)


def place(operation: Any, device: str) -> None:
    """Changes the device of an operation that no Session has yet.

    Seen in 1.13 to 2.21 as ``Operation._set_device``.
    """
    operation._set_device(device)


def session_run_function() -> tuple[Any, str]:
    """The method that every ``Session.run`` ends in; seen in 1.13 to 2.21 as ``BaseSession._do_run``."""
    return own_module("tensorflow.python.client.session").BaseSession, "_do_run"


def session_interface() -> Any:
    """The base class of all Sessions, which savers insist on.

    Seen in 1.13 to 2.21 as ``SessionInterface`` of ``tensorflow.python.client.session``.
    """
    return SessionInterface


def before_sessions_close(watcher: Callable[[Any], None]) -> None:
    """Tells a watcher about every Session that is about to close.

    Seen in 1.13 to 2.21 as ``tensorflow.python.client.session.BaseSession.close``, through which monitored
    sessions and Estimators close theirs.
    """
    close = BaseSession.close

    def watched_close(self: Any) -> None:
        if not self._closed:
            watcher(self)
        close(self)

    patches.replace(BaseSession, "close", watched_close)


def after_sessions_close(watcher: Callable[[Any], None]) -> None:
    """Tells a watcher about every Session that has closed; see :func:`before_sessions_close`."""
    close = BaseSession.close

    def watched_close(self: Any) -> None:
        was_open = not self._closed
        close(self)
        if was_open:
            watcher(self)

    patches.replace(BaseSession, "close", watched_close)
