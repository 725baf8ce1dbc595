"""What Python, NumPy, SciPy, pandas and scikit-learn have removed or changed since, for the script's modules.

A row of :mod:`tpucompat.names.surroundings` says what stands for a name that is gone or has changed. A
module of the table is shown to the script as an :class:`Overlay`: the real module with the rows before or
behind it. Where the installed release still has every name, the script gets the real module itself;
everybody else always does. Attributes of classes are answered by :mod:`tpucompat.standins.attributes`.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
import types
import warnings
from typing import Any, Callable, Mapping, Sequence

from packaging.version import InvalidVersion, Version

from tpucompat.base import journal
from tpucompat.base.errors import GoneError
from tpucompat.names import surroundings as table
from tpucompat.names.rows import Changed, Constant, Gone, Row
from tpucompat.standins import attributes
from tpucompat.standins.colab import question


class Overlay(types.ModuleType):
    """A module as old scripts knew it: the real one, and the names that it has lost or changed.

    Assigning to it assigns to the real module, as scripts that patch a library expect.

    Args:
      real: The module.
      rows: Name -> what stands for it.
      part: Gives the submodules that the table names, as the script sees them.
    """

    def __init__(
        self, real: types.ModuleType, rows: Mapping[str, Row], part: Callable[[str], Any]
    ) -> None:
        super().__init__(real.__name__, real.__doc__)
        # A copy of the names makes the overlay as fast as the module; __getattr__ serves later ones.
        # The module's own hooks (PEP 562) stay out: they would be asked before the class's.
        self.__dict__.update(
            (name, value)
            for name, value in real.__dict__.items()
            if name not in ("__getattr__", "__dir__", *rows)
        )
        self.__dict__["_tpucompat"] = (real, rows, part)

    def __getattr__(self, name: str) -> Any:
        real, rows, part = self.__dict__["_tpucompat"]
        if name == "__all__":
            raise AttributeError(name)
        if name not in rows:
            value = part(f"{real.__name__}.{name}")
            # What is no part: a submodule imported later, or the module's own lazy names.
            return getattr(real, name) if value is None else value
        value = _value(f"{real.__name__}.{name}", rows[name])
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        setattr(self.__dict__["_tpucompat"][0], name, value)

    def __dir__(self) -> list[str]:
        real, rows, _ = self.__dict__["_tpucompat"]
        return sorted({*dir(real), *rows})

    def __reduce__(self) -> Any:
        return importlib.import_module, (self.__name__,)


def _value(name: str, row: Row) -> Any:
    if not isinstance(row, Changed):  # every script takes those; they count what differs themselves
        journal.used(name)
    if isinstance(row, Constant):
        return row.value
    if isinstance(row, Gone):
        raise GoneError(row.code, f"{name}: {row.reason}", row.instead)
    return _target(row.target)  # type: ignore[arg-type]


def _target(target: str) -> Any:
    module, _, attribute = target.partition(":")
    value: Any = importlib.import_module(module)
    for part in attribute.split(".") if attribute else ():
        value = getattr(value, part)
    return value


def _serves(row: Row, owner: Any, name: str) -> bool:
    """Whether a row says something of the installed release."""
    return in_force(row) if isinstance(row, Changed) else not hasattr(owner, name)


def in_force(change: Changed) -> bool:
    """Whether the installed release is one of those that have changed what the row is about."""
    what, _, since = change.since.partition(" ")
    installed = (
        platform.python_version()
        if what == "python"
        else getattr(sys.modules.get(what), "__version__", "0")
    )
    try:
        return Version(installed) >= Version(since)
    except InvalidVersion:  # a private build; the newest, then
        return True


class Surroundings:
    """The modules of the table, as the script's imports see them.

    Args:
      load: Python's own ``importlib.import_module``.
      owns: Tells whether the module with these globals is the script's own.
    """

    def __init__(self, load: Any, owns: attributes.Owns = lambda importer: False) -> None:
        self._load = load
        self._owns = owns
        self._shown: dict[str, Any] = {}

    def stands_in(self, name: str, fromlist: Sequence[str], importer: Any) -> bool:
        """Whether an import below a root that is only partly in the table is answered here.

        Args:
          name: A module below such a root, or the root itself.
          fromlist: The names that are taken out of it.
          importer: The frame that imports.
        """
        asked = "google.colab" if name == "google" and "colab" in fromlist else name
        place = next((one for one in table.PLACES if f"{asked}.".startswith(one + ".")), None)
        if place is None:
            return False
        if any(os.environ.get(variable) for variable in table.PLACES[place]):
            return True
        return not question.is_question(importer)

    def module(self, name: str) -> Any:
        """The module of that name as the script sees it.

        Raises:
          ImportError: Python's own, where neither the library nor the table has it.
        """
        if name not in self._shown:
            self._shown[name] = self._make(name)
        return self._shown[name]

    def _make(self, name: str) -> Any:
        rows = table.ROWS.get(name, {})
        try:
            real = self._load(name)
        except ImportError:
            if not self._has_stand_in(name):
                raise
            real = self._stand_in(name)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # NumPy warns of names that it is about to change
                rows = {n: row for n, row in rows.items() if _serves(row, real, n)}
            self._restore(name, real)
        parts = [n for n in table.ROWS if n.rpartition(".")[0] == name]
        if not rows and not parts:
            return real
        shown = Overlay(real, rows, self._part)
        for part in parts:  # those that the real module has already, or never again
            shown.__dict__.pop(part.rpartition(".")[2], None)
        return shown

    def _part(self, name: str) -> Any | None:
        """A submodule that the table names: ``scipy.misc``, ``sklearn.externals``."""
        if name in table.MODULES or (name in table.ROWS and name in sys.modules):
            try:
                return self.module(name)
            except ImportError:
                return None
        return None

    def _restore(self, name: str, module: Any) -> None:
        """Gives classes and settings of a module back to the script as they were."""
        for class_name, rows in table.ATTRIBUTES.get(name, {}).items():
            owner: Any = module
            for part in class_name.split("."):
                owner = getattr(owner, part, None)
            if not isinstance(owner, type):
                continue
            for attribute, row in rows.items():
                if _serves(row, owner, attribute):
                    lost = not isinstance(row, Changed)
                    target: str = row.target  # type: ignore[union-attr, assignment]
                    attributes.restore_attribute(owner, attribute, target, self._owns, lost)
        setting = table.SETTINGS.get(name)
        if setting is not None and in_force(setting):
            _target(setting.target)(self._owns)

    def _has_stand_in(self, name: str) -> bool:
        return name in table.MODULES or bool(table.MODULES.get(name.rpartition(".")[0]))

    def _stand_in(self, name: str) -> Any:
        """What stands for a module that is gone as a whole; one that has nothing but its rows, if need be."""
        journal.used(name)
        parent, _, child = name.rpartition(".")
        target = (
            table.MODULES[name] if name in table.MODULES else f"{table.MODULES[parent]}.{child}"
        )
        if target is not None:
            return self._load(target)
        module = types.ModuleType(name)
        module.__path__ = []
        return module
