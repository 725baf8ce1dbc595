"""Functions that Python's standard library has removed."""

from __future__ import annotations

import collections
import inspect
import time
from typing import Any

ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def clock() -> float:
    """Processor time in seconds, as ``time.clock`` gave it on Unix (Python up to 3.7)."""
    return time.process_time()


def getargspec(func: Any) -> ArgSpec:
    """The names and defaults of a function's arguments (Python up to 3.10).

    Raises:
      ValueError: If the function has keyword-only arguments or annotations, as ever.
    """
    spec = inspect.getfullargspec(func)
    if spec.kwonlyargs or spec.annotations:
        raise ValueError(
            "Function has keyword-only parameters or annotations, use inspect.signature() API "
            "which can support them"
        )
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)
