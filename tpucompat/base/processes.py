"""Starts Python for a part of this package, as it is where nothing of the current folder may be run."""

from __future__ import annotations

import os
import sys

from tpucompat.base import package


def statement(text: str, *arguments: str) -> list[str]:
    """The command line of a Python that runs a statement.

    ``python -m`` would look for Python's own modules, and TensorFlow, in the current folder first.

    Args:
      text: The statement; this package can be imported in it.
      *arguments: What it finds in ``sys.argv[1:]``.
    """
    root = os.path.dirname(package.FOLDER)
    start = f"import sys; sys.path[:] = [{root!r}, *filter(None, sys.path)]; "
    return [sys.executable, "-c", start + text, *arguments]
