"""What tpucompat changes in TensorFlow, Keras and NumPy for the whole process: once, listed, and to be undone.

:mod:`tpucompat.tf.patches.rows` has a row for each patch. The function that a row names is marked by
:func:`patch`, which applies it once, in the row's releases alone, and replaces attributes by :func:`replace`,
which remembers what was there. So nothing asks a patched attribute whether it has been patched: TensorFlow's
own decorators set ``__wrapped__`` too.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
from typing import Any, Callable, Iterator, NamedTuple, Sequence, TypeVar, cast

from tpucompat.tf.patches.row import Patch
from tpucompat.tf.patches.rows import ROWS

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MISSING = object()


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
      patch: By which row.
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


_BY_MAKER = {row.make: row for row in ROWS}
#: What was done, in order: changes, and the functions that were applied.
_log: list[Any] = []
_applied: dict[Any, Any] = {}
_active: list[Patch] = []
#: What ``verify`` replaces in the process that it records.
_NO_ROW = Patch("", "", "", (), "")


def patch(function: _Function) -> _Function:
    """Marks the function of a row.

    It is applied once for the same arguments until it is undone, and only in the row's releases.

    Raises:
      KeyError: No row names the function.
    """
    row = _BY_MAKER[f"{function.__module__}:{function.__name__}"]

    @functools.wraps(function)
    def once(*args: Any, **kwargs: Any) -> None:
        key = (row, *map(_identity, args), *map(_identity, kwargs.values()))
        if key in _applied or not row.is_needed():
            return
        with _making(row):
            function(*args, **kwargs)
        _applied[key] = args, kwargs  # kept, so that each id stays its own
        _log.append(key)

    return cast(_Function, once)


def _identity(value: Any) -> Any:
    return value if isinstance(value, (str, bool)) else id(value)


@contextlib.contextmanager
def _making(row: Patch) -> Iterator[None]:
    _active.append(row)
    try:
        yield
    finally:
        _active.pop()


def apply(group: str) -> None:
    """Applies the patches of a group, in the order of their rows; once, until they are undone.

    Args:
      group: One of the constants of :mod:`tpucompat.tf.patches.row`.
    """
    if group in _applied:
        return
    for row in ROWS:
        if row.group == group and row.is_needed():
            module, _, name = row.make.partition(":")
            getattr(importlib.import_module(module), name)()
    _applied[group] = ()
    _log.append(group)


def is_applied(group: str) -> bool:
    """Whether a group has been applied, and not been undone."""
    return group in _applied


def replace(owner: Any, name: str, value: Any) -> None:
    """Puts a value in the place of an attribute; to be called while the function of a row runs.

    Args:
      owner: A module or a class, a dictionary that has the name, or a :class:`Setting` ("" is its name).
      name: The attribute; it may be new.
      value: As it would stand in the ``__dict__``: a ``staticmethod``, a property.
    """
    before = _own(owner, name)
    _put(owner, name, value)
    row = _active[-1] if _active else _NO_ROW
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
        _put_into(owner, name, value)
    else:
        try:
            delattr(owner, name) if value is _MISSING else setattr(owner, name, value)
        except TypeError:
            _put_into_native(owner, name, value)


def _put_into(names: dict[str, Any], name: str, value: Any) -> None:
    if value is _MISSING:
        names.pop(name, None)
    else:
        names[name] = value


def _put_into_native(owner: type, name: str, value: Any) -> None:
    """Sets or removes an attribute of a class that is written in C, which Python refuses by its usual way.

    Its dictionary is an ordinary one all the same, reached through its read-only view; ``PyType_Modified``
    then empties the caches, as the usual way does.
    """
    (names,) = (one for one in gc.get_referents(owner.__dict__) if isinstance(one, dict))
    _put_into(names, name, value)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


def _is_still(change: Change) -> bool:
    now = _own(change.owner, change.name)
    return now is change.after or (isinstance(change.owner, Setting) and now == change.after)


def changes(since: int = 0) -> list[Change]:
    """What is replaced, in order."""
    return [entry for entry in _log[since:] if isinstance(entry, Change)]


def mark() -> int:
    """The point from which :func:`undo` may begin."""
    return len(_log)


def entries(since: int) -> list[Any]:
    """What was done from a :func:`mark` on, for :func:`take_back`."""
    return _log[since:]


def undo(since: int = 0) -> None:
    """Puts back what was replaced, the newest first, but for what somebody else has replaced meanwhile.

    Args:
      since: A :func:`mark`.
    """
    take_back(_log[since:])


def take_back(done: Sequence[Any]) -> None:
    """:func:`undo` for some :func:`entries`; those that are undone already are left out."""
    mine = {id(entry) for entry in done}
    for entry in reversed(_log):
        if id(entry) not in mine:
            continue
        if not isinstance(entry, Change):
            _applied.pop(entry, None)
        elif _is_still(entry):
            _put(entry.owner, entry.name, entry.before)
    _log[:] = [entry for entry in _log if id(entry) not in mine]
