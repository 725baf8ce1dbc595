"""Modules that are imported when they are first used.

TensorFlow takes seconds to import and reads the environment while it does, so that a command which needs none
imports none, and a command which needs it prepares the process first. Other libraries may not be installed, or
have moved between releases. A module names such a library at its top, as it names any other:

    tf = late("tensorflow")
    topology = late("tensorflow.python.tpu.topology", "tensorflow.contrib.tpu.python.tpu.topology")
"""

from __future__ import annotations

import importlib
from typing import Any


class _Late:
    """Stands for a module; its attributes are those of the module, to be read only."""

    __slots__ = ("_names",)

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        # Nothing is kept: a test may put another module into sys.modules.
        return getattr(load(self), name)

    def __repr__(self) -> str:
        return f"late({', '.join(map(repr, self._names))})"


def late(*names: str) -> Any:
    """A module that is imported at the first use of one of its attributes.

    Args:
      *names: Its full name; several if it has moved: the first that exists is taken.

    Returns:
      What stands for the module. An attribute raises ImportError if there is no such module.
    """
    return _Late(names)


def load(module: Any) -> Any:
    """Imports what :func:`late` stands for.

    Raises:
      ImportError: If there is no such module; the error is that of its last name.
    """
    *earlier, last = module._names
    for name in earlier:
        try:
            return own_module(name)
        except ImportError:
            continue
    return own_module(last)


def own_module(name: str) -> Any:
    """A module as the statement ``from parent import child`` finds it.

    In 1.14 and 1.15 ``tensorflow.python.pywrap_tensorflow`` imported by its full name is a second copy that
    TensorFlow does not look at.
    """
    parent, _, child = name.rpartition(".")
    found = getattr(importlib.import_module(parent), child, None) if parent else None
    return importlib.import_module(name) if found is None else found
