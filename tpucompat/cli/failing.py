"""How a command says that it could not run."""

from __future__ import annotations

import sys

from tpucompat.errors import TPUCompatError

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
