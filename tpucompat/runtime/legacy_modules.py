"""The modules of an old namespace as objects, and what real modules have."""

from __future__ import annotations

import importlib
import re
import sys
import types
from typing import (
    TYPE_CHECKING,
    Any,
    Sequence,
)

from tpucompat.base.errors import GoneError
from tpucompat.names.rows import Gone
from tpucompat.standins import python2_names

if TYPE_CHECKING:
    from tpucompat.runtime.namespace import Namespace


#: What says that there is no such name.
MISSING = object()


class Vanished:
    """Stands where a symbol is gone: harmless until it is called, subclassed or looked into."""

    def __init__(self, symbol: str, row: Gone) -> None:
        self.__dict__.update(_symbol=symbol, _row=row)

    def _error(self) -> GoneError:
        return GoneError(
            self._row.code, f"tf.{self._symbol}: {self._row.reason}", self._row.instead
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises the symbol's error."""
        raise self._error()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            # Protocols such as copy and inspect only ask whether it is there.
            raise AttributeError(name)
        raise self._error()

    def __mro_entries__(self, bases: Sequence[Any]) -> Any:
        raise self._error()

    def __repr__(self) -> str:
        return f"<tf.{self._symbol}: removed, {self._row.code}>"


_IMPORTLIB = "<frozen importlib._bootstrap>"
#: Names like Python's own that are TensorFlow's.
_OF_TENSORFLOW = ("__git_version__", "__compiler_version__", "__cxx11_abi_flag__", "__internal__")


class LegacyModule(types.ModuleType):
    """One module of the old namespace; its names are looked up on first use."""

    def __init__(self, namespace: Namespace, path: str) -> None:
        super().__init__(
            namespace.module_name(path), "tensorflow." + path if path else "tensorflow"
        )
        self.__dict__["_namespace"] = namespace
        self.__dict__["_path"] = path
        # A module with __path__ is a package: the import system then asks LegacyFinder for submodules.
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        frame = sys._getframe(1)
        place = frame.f_code, frame.f_lasti
        if name == "__all__":
            self.__dict__["_star"] = place, frozenset(python2_names.mentioned(frame.f_code))
            return sorted(self._namespace.names(self._path, star=True))
        if name.startswith("__") and name.endswith("__") and name not in ("__version__",):
            if name in _OF_TENSORFLOW:
                return self._namespace.lookup(self._path, name)
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        # `from … import *` asks for __all__ and then for every name in it, all at one instruction.
        at, mentioned = self.__dict__.get("_star", (None, ()))
        is_used = place != at or name in mentioned
        is_asked = frame.f_code.co_filename != _IMPORTLIB  # which only asks whether a name exists
        return self._namespace.lookup(self._path, name, is_used and is_asked)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if not name.startswith("__") and not isinstance(value, types.ModuleType):
            self._namespace.replace_behind(self._path, name, value)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._namespace.restore_behind(self._path, name)

    def __dir__(self) -> list[str]:
        return sorted(set(self.__dict__) | self._namespace.names(self._path))

    def __repr__(self) -> str:
        return "<module 'tensorflow{}' as of TensorFlow 1.15, by tpucompat>".format(
            "." + self._path if self._path else ""
        )

    def __reduce__(self) -> Any:
        return importlib.import_module, (self.__name__,)


def attribute_of(value: Any, name: str) -> Any:
    """An attribute or submodule of a real module, or the mark for "none"."""
    found = getattr(value, name, MISSING)
    if isinstance(value, LegacyModule):
        return found  # below a package row, every name could be imported
    if isinstance(value, types.ModuleType) and hasattr(value, "__path__"):
        # 1.15 calls its package tensorflow_core, and imports its own modules by the other name: by this one
        # they would be loaded a second time.
        full = re.sub(r"^tensorflow_core\b", "tensorflow", value.__name__) + "." + name
        if found is MISSING:
            module = import_or_none(full)
            return MISSING if module is None else module
        if full.startswith("tensorflow.python.") and not _is_named(found, full):
            # tensorflow/python/__init__.py takes over what other modules have imported: in 1.15 its `ops` is
            # framework/ops.py, and its `platform` may be Python's own.
            return import_or_none(full) or found
    return found


def _is_named(value: Any, full: str) -> bool:
    """Whether a value is the module of that name, or no module at all."""
    return not isinstance(value, types.ModuleType) or value.__name__ in (
        full,
        re.sub(r"^tensorflow\b", "tensorflow_core", full),
    )


def is_own_submodule(module: Any, name: str, value: Any) -> bool:
    """Whether ``value`` is a submodule of ``module``, and not one that it has merely imported."""
    if not isinstance(value, types.ModuleType):
        return False
    return value.__name__ == "{}.{}".format(getattr(module, "__name__", ""), name)


def public_names(module: Any) -> list[str]:
    """``__all__``, or else all names but those of modules that the module has only imported."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    inside = getattr(module, "__name__", "") + "."
    return [
        name
        for name in dir(module)
        if not isinstance(getattr(module, name, None), types.ModuleType)
        or getattr(module, name).__name__.startswith(inside)
    ]


def import_or_none(name: str) -> types.ModuleType | None:
    """Imports a module; None where it does not exist, its own errors where it is broken."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            return None
        raise
