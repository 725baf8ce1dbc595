"""Sessions: their settings, and everything that runs in them."""

from __future__ import annotations

from typing import Any, Callable

from tpucompat.private.modules import own_module


def default_session_config() -> Any:
    """The ConfigProto that a session without one gets, made from the settings of ``tf.config``.

    Seen in 1.14 to 2.21 as ``tensorflow.python.eager.context.context().config``; in 1.13 a session without
    a ConfigProto gets an empty one.
    """
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.eager import context

    return getattr(context.context(), "config", None) or config_pb2.ConfigProto()


def convert_in_sessions(
    kind: type, fetch: Callable[..., Any], feed: Callable[..., list[tuple[Any, Any]]]
) -> None:
    """Says what sessions fetch and feed for a value of some type.

    Seen in 1.13 to 2.21 in ``tensorflow/python/client/session.py``.

    Args:
      kind: The type.
      fetch: Gives what to fetch for it, and the function that makes one value of what was fetched.
      feed: Gives the tensors to feed for it and their values; without a value, for a partial run.
    """
    from tensorflow.python.client import session

    register = session.register_session_run_conversion_functions
    register(kind, fetch, feed, lambda value: [tensor for tensor, _ in feed(value)])


def watch_sessions(watcher: Callable[[Any, set[str]], Callable[[], None] | None]) -> None:
    """Tells a watcher about everything that any Session of the process is going to run.

    ``Session.run`` and callables (Keras makes one for every function) come together in these two methods
    only. Seen in 1.13 to 2.21 as ``BaseSession._do_run`` and ``BaseSession._make_callable_from_options``.

    Args:
      watcher: Called before a run with the session and the names of the operations that are fetched or run;
        returns what is to be called when the run has ended, or None.
    """
    from tensorflow.python.client.session import BaseSession

    do_run = BaseSession._do_run
    make_callable = BaseSession._make_callable_from_options

    def watched_run(
        self: Any, handle: Any, targets: Any, fetches: Any, *args: Any, **kwargs: Any
    ) -> Any:
        done = watcher(self, {one.name for one in targets} | {one.op.name for one in fetches})
        try:
            return do_run(self, handle, targets, fetches, *args, **kwargs)
        finally:
            if done is not None:
                done()

    def make_watched_callable(self: Any, options: Any) -> Callable[..., Any]:
        call = make_callable(self, options)
        connected = [connection.from_tensor for connection in options.tensor_connection]
        names = {name.partition(":")[0] for name in [*options.fetch, *options.target, *connected]}

        def watched_call(*args: Any, **kwargs: Any) -> Any:
            done = watcher(self, names)
            try:
                return call(*args, **kwargs)
            finally:
                if done is not None:
                    done()

        return watched_call

    BaseSession._do_run = watched_run
    BaseSession._make_callable_from_options = make_watched_callable


def session_run_function() -> tuple[Any, str]:
    """The method that every ``Session.run`` ends in; seen in 1.13 to 2.21 as ``BaseSession._do_run``."""
    return own_module("tensorflow.python.client.session").BaseSession, "_do_run"


def session_interface() -> Any:
    """The base class of all Sessions, which savers insist on.

    Seen in 1.13 to 2.21 as ``SessionInterface`` of ``tensorflow.python.client.session``.
    """
    from tensorflow.python.client.session import SessionInterface

    return SessionInterface


def before_sessions_close(watcher: Callable[[Any], None]) -> None:
    """Tells a watcher about every Session that is about to close.

    Seen in 1.13 to 2.21 as ``tensorflow.python.client.session.BaseSession.close``, through which monitored
    sessions and Estimators close theirs.
    """
    from tensorflow.python.client.session import BaseSession

    close = BaseSession.close

    def watched_close(self: Any) -> None:
        if not self._closed:
            watcher(self)
        close(self)

    BaseSession.close = watched_close
