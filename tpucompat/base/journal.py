"""What tpucompat did for a script: old names used, notices given. The summary is made from it."""

from __future__ import annotations

import collections
import logging
import sys
import threading
from typing import Any, Counter, Iterable

quiet = False  # set by ``tpucompat run --quiet``: notices are kept but not shown

#: Notices go to the handlers of this logger if it has any, else to standard error.
LOGGER = logging.getLogger("tpucompat")

_lock = threading.Lock()
_used: Counter[str] = collections.Counter()
_notices: list[tuple[str, str]] = []
_said: set[tuple[str, str]] = set()


def used(symbol: str) -> None:
    """Counts one use of an old name, written as the script does: ``tf.contrib.tpu.shard``."""
    with _lock:
        _used[symbol] += 1
        first = _used[symbol] == 1
    if first:
        LOGGER.debug("the script uses %s", symbol)


def uses() -> list[tuple[str, int]]:
    """The old names used so far with their counts, most frequent first."""
    with _lock:
        return _used.most_common()


def notice(code: str, text: str) -> None:
    """Writes one line to standard error, once per process for the same code and text.

    If the logger "tpucompat" has handlers, the notice goes to them as a warning, with the code as the attribute
    ``code`` of its record.
    """
    with _lock:
        if (code, text) in _said:
            return
        _said.add((code, text))
        _notices.append((code, text))
    if any(getattr(each, "takes_notices", True) for each in LOGGER.handlers):
        LOGGER.warning("%s [%s]", text, code, extra={"code": code})
    elif not quiet:
        sys.stderr.write(f"tpucompat: {text} [{code}]\n")
        sys.stderr.flush()


def notices() -> list[tuple[str, str]]:
    """The notices given so far: (code, text)."""
    with _lock:
        return list(_notices)


def take_over(uses: Iterable[Iterable[Any]], notices: Iterable[Iterable[str]]) -> None:
    """Adds what another process has counted and said: the kernel of a notebook."""
    with _lock:
        _used.update({str(symbol): int(count) for symbol, count in uses})
        _notices.extend((code, text) for code, text in notices)


def reset() -> None:
    """Forgets everything; for tests."""
    with _lock:
        _used.clear()
        _notices.clear()
        _said.clear()
