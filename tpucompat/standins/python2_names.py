"""Built-in names of Python 2, for modules of a script that use them where Python 3 does not get to.

Programs of 2018 were mostly run on both; a ``long`` in a type check was left in some that ran on Python 2 only.
Such a module is given the names that it uses and does not have, and where it calls a dictionary's methods of
that time, dictionaries have them for the script. Syntax of Python 2 stays an error.
"""

from __future__ import annotations

import dis
import functools
import importlib
import sys
import types
from typing import Any, Iterator

from tpucompat.base import journal
from tpucompat.tf import patches


def cmp(x: Any, y: Any) -> int:
    """Python 2's comparison: -1, 0 or 1."""
    return (x > y) - (x < y)


def reload(module: types.ModuleType) -> types.ModuleType:
    """Loads a module again; ``sys`` has ``setdefaultencoding`` then, which its start took away in Python 2.

    Args:
      module: The module.
    """
    again = importlib.reload(module)
    if again is sys:
        give_encoding()
    return again


@patches.patch
def give_encoding() -> None:
    """Gives ``sys`` a ``setdefaultencoding``, which has nothing to set: Python 3 encodes texts as UTF-8."""
    patches.replace(sys, "setdefaultencoding", lambda name: None)


#: Name -> what it was called when Python 3 merged, moved or renamed it.
NAMES: dict[str, Any] = {
    "basestring": str,
    "cmp": cmp,
    "long": int,
    "raw_input": input,
    "reduce": functools.reduce,
    "reload": reload,
    "unichr": chr,
    "unicode": str,
    "xrange": range,
}

#: The methods of dictionaries that Python 3 dropped; :mod:`tpucompat.names.surroundings` has their rows.
METHODS = frozenset(
    ["has_key", "iteritems", "iterkeys", "itervalues", "viewitems", "viewkeys", "viewvalues"]
)

_SEEN = "_tpucompat_python2_names"


def give(frame: Any) -> bool:
    """Gives a module that is being executed the names that it uses; once.

    One that handles NameError asks whether it runs on Python 2, and gets the true answer.

    Args:
      frame: Where an import stands; nothing is done inside functions.

    Returns:
      Whether it uses dictionaries' methods of Python 2 besides.
    """
    namespace = frame.f_globals
    if frame.f_locals is not namespace or _SEEN in namespace:
        return False
    namespace[_SEEN] = True
    methods = not METHODS.isdisjoint(mentioned(frame.f_code))
    used = set(_used(frame.f_code))
    if "NameError" in used:
        return methods
    for name in sorted(NAMES.keys() & used):
        if name not in namespace:
            namespace[name] = NAMES[name]
            journal.used(f"{name} of Python 2")
    return methods


def mentioned(code: types.CodeType) -> Iterator[str]:
    """The names, attributes among them, of a piece of code and its functions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from mentioned(constant)


def _used(code: types.CodeType) -> Iterator[str]:
    """The names that a piece of code with one of Python 2 reads as global ones, and its functions."""
    if not {"NameError", *NAMES}.isdisjoint(code.co_names):  # which has the attributes, too
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _used(constant)
