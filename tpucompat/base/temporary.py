"""Temporary files and folders that do not outlive their process by more than one run.

SIGTERM and the kernel's memory killer leave them behind. Their names tell the machine and the process, so
that the next run that makes one in the same place removes those whose process is gone.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import tempfile
import zlib
from typing import Iterator

_NAME = re.compile(r"\.?tpucompat-([0-9a-f]{8})-(\d+)-\w+")


def prefix() -> str:
    """How the names of this process' temporary files begin."""
    return f"tpucompat-{_machine()}-{os.getpid()}-"


def _machine() -> str:
    """A folder may be shared by machines, and a number of a process be another one's there."""
    return f"{zlib.crc32(platform.node().encode('utf-8', 'replace')):08x}"


@contextlib.contextmanager
def folder(beside: str | None = None) -> Iterator[str]:
    """Like :func:`make`, and removes the folder at the end."""
    made = make(beside)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def make(beside: str | None = None) -> str:
    """Makes a folder, and removes those that were left behind.

    Args:
      beside: A file; the folder lies hidden beside it, so that what it holds can be moved there at once. Where
        None, it lies among the machine's temporary files.
    """
    place = tempfile.gettempdir() if beside is None else os.path.dirname(os.path.abspath(beside))
    sweep(place)
    return tempfile.mkdtemp(prefix=("." if beside else "") + prefix(), dir=place)


def sweep(place: str) -> None:
    """Removes what processes of this machine and user have left in a folder, and are gone."""
    if os.name != "posix":  # elsewhere there is no question without an effect
        return
    try:
        entries = [entry for entry in os.scandir(place) if entry.name.startswith((".tpu", "tpu"))]
    except OSError:
        return
    for entry in entries:
        match = _NAME.fullmatch(entry.name)
        if match is None or match.group(1) != _machine() or _is_alive(int(match.group(2))):
            continue
        with contextlib.suppress(OSError):
            if entry.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.remove(entry.path)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        return True
    return True
