"""What to do about a path that does not exist, or cannot be written to."""

from __future__ import annotations

import difflib
import errno
import os

_WRITING = {
    errno.ENOSPC: "Free some space on that disk, and run the command again.",
    errno.EDQUOT: "Free some of your quota, and run the command again.",
    errno.EROFS: "The file system is read-only: write to another folder.",
    errno.ENAMETOOLONG: "Use a shorter name.",
    errno.EISDIR: "It is a folder: name a file.",
    errno.ENOTDIR: "A part of the path is a file: name another folder.",
}


def next_step(path: str) -> str:
    """A file whose name is nearly that of the path's, or how to check it; for one argument of a command line.

    Args:
      path: What was given, a file or a folder that does not exist.
    """
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        lacks = folder
        while lacks and not os.path.isdir(os.path.dirname(lacks) or "."):
            lacks = os.path.dirname(lacks)
        return f"Check the path: the folder {lacks} does not exist or cannot be read."
    stem, ending = os.path.splitext(name)
    known = {os.path.splitext(each)[0]: each for each in names if each.endswith(ending)}
    close = difflib.get_close_matches(stem, known, n=1)
    if close:
        return f"Did you mean {os.path.join(folder, known[close[0]])}?"
    return f"Check the path; it is relative to {os.getcwd()}." if not os.path.isabs(path) else ""


def writing_step(error: OSError) -> str:
    """What to do where a file could not be written; "" where its permissions may be the cause.

    Args:
      error: What the system said.
    """
    return _WRITING.get(error.errno or 0, "")
