"""How a command says that it could not run."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import Any, Callable

from tpucompat.base.errors import ScriptError, TPUCompatError

#: The exit code of every command that could not do what it was asked for.
COULD_NOT_RUN = 2


def fail(error: TPUCompatError) -> int:
    """Says on standard error why a command could not run: code, cause, next step, where to read more.

    Args:
      error: What hindered it.

    Returns:
      The command's exit code.
    """
    sys.stderr.write(f"tpucompat: error: {error}\n")
    return COULD_NOT_RUN


class _Watched:
    """A stream of text that remembers what it could not write."""

    def __init__(self, stream: Any) -> None:
        self.problem: OSError | None = None
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> Any:
        """Writes a text."""
        return self._do(self._stream.write, text)

    def flush(self) -> None:
        """Writes out what waits."""
        self._do(self._stream.flush)

    def _do(self, what: Callable[..., Any], *arguments: str) -> Any:
        try:
            return what(*arguments)
        except OSError as error:
            self.problem = error
            raise

    def is_whole(self) -> bool:
        """Whether all was written; else what still waits is thrown away, so that Python's end does not fail."""
        with contextlib.suppress(OSError):
            self.flush()
        if self.problem is None:
            return True
        with open(os.devnull, "wb") as nowhere, contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere.fileno(), self._stream.fileno())
        return False


def with_output(command: Callable[[], int]) -> int:
    """Runs a command whose output may be lost: its disk is full, or what reads it has gone.

    Returns:
      The command's exit code, or 2 if not all of its output was written. Nobody is told of a pipe that was
      closed, as by ``| head``.
    """
    before = sys.stdout, sys.stderr
    # None: closed by the caller, who wants to know nothing.
    watched = [_Watched(stream or open(os.devnull, "w")) for stream in before]  # noqa: SIM115
    sys.stdout, sys.stderr = watched
    left: BaseException | None = None
    try:
        code = command()
    except (OSError, SystemExit) as error:  # argparse leaves so
        left = error
    finally:
        sys.stdout, sys.stderr = before
    lost = [stream.problem for stream in watched if not stream.is_whole() and stream.problem]
    if lost:
        if lost[0].errno != errno.EPIPE and sys.stderr is not None:
            fail(ScriptError("TPU487", f"The output: {lost[0].strerror or lost[0]}."))
        return COULD_NOT_RUN
    if left is not None:
        raise left
    return code
