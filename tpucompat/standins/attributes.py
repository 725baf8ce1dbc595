"""Methods that a class has lost, or that take other arguments now, for the script's own modules.

``df.append(row)`` and ``image.tostring()`` are looked up on the class, which everybody shares. What is put
there is therefore a descriptor that looks at the caller: code of the script gets the old method, everybody
else what the library has, which may be an AttributeError.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Callable, Mapping

from tpucompat.base import journal
from tpucompat.tf import patches

_MISSING = object()

Owns = Callable[[Mapping[str, Any]], bool]


class OldAttribute:
    """A class attribute with two values: one for the script's modules, one for all others.

    Args:
      owner: The class.
      name: The attribute's name.
      target: ``module:name`` of what the script gets: a function or a property.
      owns: Tells whether the module with these globals is the script's own.
      lost: Whether the library has the attribute no longer; a use of it is then counted.
    """

    def __init__(self, owner: type, name: str, target: str, owns: Owns, lost: bool) -> None:
        self._target, self._owns, self._lost = target, owns, lost
        self._symbol = f"{owner.__module__.partition('.')[0]}.{owner.__name__}.{name}"
        self._name = name
        # The library may define it in a base class.
        values = (base.__dict__[name] for base in owner.__mro__ if name in base.__dict__)
        self._installed = next(values, _MISSING)
        self._old: Any = None

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if not self._owns(sys._getframe(1).f_globals):
            value = self._installed
            if value is _MISSING:
                raise AttributeError(
                    f"{(owner or type(instance)).__name__!r} object has no attribute {self._name!r}"
                )
        else:
            if self._old is None:
                module, _, name = self._target.partition(":")
                self._old = getattr(importlib.import_module(module), name)
            if self._lost:
                journal.used(self._symbol)
            value = self._old
        return value.__get__(instance, owner) if hasattr(value, "__get__") else value


@patches.patch
def restore_attribute(owner: type, name: str, target: str, owns: Owns, lost: bool) -> None:
    """Puts an :class:`OldAttribute` with these arguments into its class."""
    patches.replace(owner, name, OldAttribute(owner, name, target, owns, lost))
