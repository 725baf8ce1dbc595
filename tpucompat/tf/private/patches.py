"""What tpucompat changes in TensorFlow, Keras and NumPy for the whole process: once, listed, and to be undone.

A function that patches something is marked by :func:`patch`, which applies it once, and replaces attributes
by :func:`replace`, which remembers what was there. So nothing asks a patched attribute whether it has been
patched: TensorFlow's own decorators set ``__wrapped__`` too.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, NamedTuple, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MISSING = object()


class Patch(NamedTuple):
    """A function that changes something.

    Attributes:
      name: ``module.function``.
      releases: The releases of TensorFlow, or of the library named, in which it replaces something.
      why: What it is for: the first line of its docstring.
      make: The function.
    """

    name: str
    releases: str
    why: str
    make: Callable[..., Any]


class Setting(NamedTuple):
    """What is not an attribute, but read and set by functions of a library.

    Attributes:
      name: Where it is: ``numpy.set_printoptions.legacy``.
      read: Gives its value.
      write: Sets it.
    """

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], None]


class Change(NamedTuple):
    """An attribute that was replaced.

    Attributes:
      patch: By what.
      owner: The module, the class or the setting.
      name: The attribute.
      before: What was there: the raw value of its ``__dict__``.
      after: What is there now.
    """

    patch: Patch
    owner: Any
    name: str
    before: Any
    after: Any

    @property
    def target(self) -> str:
        """Where it is: ``module.Class.name``."""
        if isinstance(self.owner, Setting):
            return self.owner.name
        if isinstance(self.owner, type):
            return f"{self.owner.__module__}.{self.owner.__qualname__}.{self.name}"
        return f"{getattr(self.owner, '__name__', type(self.owner).__name__)}.{self.name}"


#: Every patch of the modules that are loaded: ``module.function`` -> its row.
registry: dict[str, Patch] = {}
#: What was done, in order: changes, and the functions that were applied.
_log: list[Any] = []
_applied: dict[Any, Any] = {}
_active: list[Patch] = []


def patch(releases: str) -> Callable[[_Function], _Function]:
    """Marks a function that changes TensorFlow, Keras or NumPy.

    It is applied once for the same arguments, until it is undone.

    Args:
      releases: Those in which it replaces something: "2.15 to 2.21", "1.13"; "NumPy 2.0 and later".
    """

    def register(function: _Function) -> _Function:
        name = f"{function.__module__}.{function.__name__}"

        @functools.wraps(function)
        def once(*args: Any, **kwargs: Any) -> Any:
            key = (once, *map(id, args), *map(id, kwargs.values()))
            if key in _applied:
                return None
            _active.append(registry[name])
            try:
                result = function(*args, **kwargs)
            finally:
                _active.pop()
            _applied[key] = args, kwargs  # kept, so that each id stays its own
            _log.append(key)
            return result

        why = (function.__doc__ or "").partition("\n")[0]
        registry[name] = Patch(name, releases, why, once)
        return cast(_Function, once)

    return register


def replace(owner: Any, name: str, value: Any) -> None:
    """Puts a value in the place of an attribute.

    Args:
      owner: A module or a class, a dictionary that has the name, or a :class:`Setting` ("" is its name).
      name: The attribute; it may be new.
      value: As it would stand in the ``__dict__``: a ``staticmethod``, a property.
    """
    code = sys._getframe(1).f_code
    row = _active[-1] if _active else Patch(code.co_name, "", "", replace)
    before = _own(owner, name)
    _put(owner, name, value)
    _log.append(Change(row, owner, name, before, _own(owner, name)))


def _own(owner: Any, name: str) -> Any:
    """What an owner itself has under a name; its own names are in no ``__dict__``."""
    if isinstance(owner, Setting):
        return owner.read()
    if name in ("__name__", "__qualname__"):
        return getattr(owner, name)
    return (owner if isinstance(owner, dict) else vars(owner)).get(name, _MISSING)


def _put(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, Setting):
        owner.write(value)
    elif isinstance(owner, dict):
        owner[name] = value
    elif value is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)


def _is_still(change: Change) -> bool:
    now = _own(change.owner, change.name)
    return now is change.after or (isinstance(change.owner, Setting) and now == change.after)


def changes(since: int = 0) -> list[Change]:
    """What is replaced, in order."""
    return [entry for entry in _log[since:] if isinstance(entry, Change)]


def mark() -> int:
    """The point from which :func:`undo` may begin."""
    return len(_log)


def undo(since: int = 0) -> None:
    """Puts back what was replaced, the newest first, but for what somebody else has replaced meanwhile.

    Args:
      since: A :func:`mark`.
    """
    for entry in reversed(_log[since:]):
        if not isinstance(entry, Change):
            _applied.pop(entry, None)
        elif _is_still(entry):
            _put(entry.owner, entry.name, entry.before)
    del _log[since:]
