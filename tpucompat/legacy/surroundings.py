"""What Python, NumPy, SciPy, pandas and scikit-learn have removed since, for the script's own modules.

A row of :mod:`tpucompat.legacy.removed.table` says what stands for a name that is gone. A module of the
table is shown to the script as an :class:`Overlay`: the real module with the rows behind it. Where the
installed release still has every name, the script gets the real module itself; everybody else always does.
"""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from typing import Any, Mapping, Sequence

from tpucompat import journal
from tpucompat.errors import GoneError
from tpucompat.legacy.removed import table
from tpucompat.legacy.rows import Constant, Gone, Row


class Overlay(types.ModuleType):
    """A module as old scripts knew it: the real one, and behind it the names that it has lost.

    Assigning to it assigns to the real module, as scripts that patch a library expect.
    """

    def __init__(self, real: types.ModuleType, rows: Mapping[str, Row]) -> None:
        super().__init__(real.__name__, real.__doc__)
        # A copy of the names makes the overlay as fast as the module; __getattr__ serves later ones.
        # The module's own hooks (PEP 562) stay out: they would be asked before the class's.
        self.__dict__.update(
            (name, value)
            for name, value in real.__dict__.items()
            if name not in ("__getattr__", "__dir__")
        )
        self.__dict__["_tpucompat"] = (real, rows)

    def __getattr__(self, name: str) -> Any:
        real, rows = self.__dict__["_tpucompat"]
        if name == "__all__":
            raise AttributeError(name)
        if name not in rows:  # a submodule imported later, or the module's own lazy names
            return getattr(real, name)
        value = _value(f"{real.__name__}.{name}", rows[name])
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        setattr(self.__dict__["_tpucompat"][0], name, value)

    def __dir__(self) -> list[str]:
        real, rows = self.__dict__["_tpucompat"]
        return sorted({*dir(real), *rows})

    def __reduce__(self) -> Any:
        return importlib.import_module, (self.__name__,)


def _value(name: str, row: Row) -> Any:
    journal.used(name)
    if isinstance(row, Constant):
        return row.value
    if isinstance(row, Gone):
        raise GoneError(row.code, f"{name}: {row.reason}", row.instead)
    module, _, attribute = row.target.partition(":")  # type: ignore[union-attr]
    value: Any = importlib.import_module(module)
    for part in attribute.split(".") if attribute else ():
        value = getattr(value, part)
    return value


def print_numbers_as_then() -> None:
    """Lets NumPy 2 print its scalars as NumPy 1 did: ``0.5`` instead of ``np.float32(0.5)``.

    Scripts print losses and metrics, and what reads their output knows no other form. It is an option of
    NumPy's own (2.0 release notes, "Representation of NumPy scalars changed"); a script may set another.
    """
    import numpy

    if numpy.lib.NumpyVersion(numpy.__version__) >= "2.0.0":
        numpy.set_printoptions(legacy="1.25")


class Surroundings:
    """The modules of the table, as the script's imports see them.

    Args:
      load: Python's own ``importlib.import_module``.
    """

    def __init__(self, load: Any) -> None:
        self._load = load
        self._shown: dict[str, Any] = {}

    def stands_in(self, name: str, fromlist: Sequence[str], importer: Any) -> bool:
        """Whether an import below a root that is only partly in the table is answered here.

        Args:
          name: A module below such a root, or the root itself.
          fromlist: The names that are taken out of it.
          importer: The frame that imports.
        """
        part = "google.colab"
        if not (f"{name}.".startswith(part + ".") or (name == "google" and "colab" in fromlist)):
            return False
        from tpucompat.legacy.colab import question

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
                rows = {n: row for n, row in rows.items() if not hasattr(real, n)}
        children = [n for n in table.ROWS if n.rpartition(".")[0] == name]
        shown = Overlay(real, rows) if rows or children else real
        for child in children:
            part = self._child(child)
            if part is not None:
                shown.__dict__[child.rpartition(".")[2]] = part
        return shown

    def _child(self, name: str) -> Any | None:
        """A submodule that the table names: ``scipy.misc``, ``sklearn.externals``."""
        if name in sys.modules or name in table.MODULES:
            try:
                return self.module(name)
            except ImportError:
                return None
        return None

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
