"""Ctrl-C while a step is compiled.

Python runs its signal handlers between its own instructions, and the main thread spends a compilation, which
can take minutes, inside TensorFlow. A thread learns of the signal at once through :func:`signal.set_wakeup_fd`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from typing import Any, Iterator

#: Seconds after a signal in which a compilation may still end by itself.
_PATIENCE = 2.0


class _State:
    """What the process is doing.

    Attributes:
      compiling: How many steps run for the first time.
      trained: Whether a step has run, and what it has done may not be saved.
      saves: The signal handler of a training that saves what it has done; None outside of one.
      awaited: A signal that this handler has been told of, for a step that has not begun yet.
      asked: Whether a signal came before, by which the process has not ended.
    """

    compiling = 0
    trained = False
    saves: Any = None
    awaited = 0
    asked = False


_state = _State()


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Within: a step runs for the first time, most of which is its compilation."""
    _state.compiling += 1
    try:
        if _state.awaited and not _state.trained:
            _end(_state.awaited)
        yield
        _state.trained = True
    finally:
        _state.compiling -= 1


def saves(handler: Any) -> None:
    """Says that all is saved that was trained before.

    Args:
      handler: The signal handler that ends the training; None when it has ended.
    """
    _state.saves, _state.awaited, _state.trained, _state.asked = handler, 0, False, False


def watch() -> None:
    """Lets Ctrl-C end the process in a compilation; for a process that runs one script, in its main thread."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(read,), name="Interrupts", daemon=True).start()
    if hasattr(os, "register_at_fork"):  # not on Windows; a forked process has no such thread
        os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))


def _watch(read: int) -> None:
    while True:
        for number in os.read(read, 64):
            if number in (signal.SIGINT, signal.SIGTERM):
                _end_if_compiling(number)


def _end_if_compiling(number: int) -> None:
    ends = time.monotonic() + _PATIENCE
    while _state.compiling and time.monotonic() < ends:
        time.sleep(0.05)
    handler = signal.getsignal(number)
    saved = handler == _state.saves
    if not _state.compiling and saved:
        _state.awaited = number
    if not _state.compiling or not (saved or handler == signal.default_int_handler):
        return  # there is none, or the script has a handler of its own
    if _state.trained and not _state.asked:
        _state.asked = True
        _say("a step is being compiled; the script stops after it, or at once at the next Ctrl-C.")
        return
    _end(number)


def _end(number: int) -> None:
    _say("stopped while a step was being compiled; run the script again to start over or resume.")
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(128 + number)  # the main thread cannot end what it waits for


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"tpucompat: {text} [TPU483]\n")
        sys.stderr.flush()
