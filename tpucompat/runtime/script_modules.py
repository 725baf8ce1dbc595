"""``sys.modules`` as a script of TensorFlow 1 knows it, for the script's own modules.

Scripts look there for TensorFlow, and put things there: ``sys.modules["keras"] = tf.keras`` lets what they
import next use the Keras of TensorFlow. Python's own table holds the real packages, which others go on
importing; up to 2.15 one of them is called ``keras``. So names below TensorFlow and Keras are kept apart here.
"""

from __future__ import annotations

import sys
import types
from typing import Any, Iterator, Mapping, MutableMapping


class Modules(MutableMapping[str, Any]):
    """Python's table of modules, but below the roots of the old namespace what the script sees and puts there.

    Args:
      view: What the script imports -> where the old namespace has it.
    """

    def __init__(self, view: Mapping[str, str]) -> None:
        self._view = view
        self._put: dict[str, Any] = {}
        self._removed: set[str] = set()

    def _place(self, name: str) -> str | None:
        """Where the old namespace has a module of that name; None for modules of others."""
        head, dot, below = name.partition(".")
        return self._view[head] + dot + below if head in self._view else None

    def __getitem__(self, name: str) -> Any:
        place = self._place(name) if isinstance(name, str) else None
        if place is None:
            return sys.modules[name]
        if name in self._put:
            return self._put[name]
        if name in self._removed:
            raise KeyError(name)
        return sys.modules[place]

    def __setitem__(self, name: str, module: Any) -> None:
        if self._place(name) is None:
            sys.modules[name] = module
        else:
            self._put[name] = module

    def __delitem__(self, name: str) -> None:
        if self._place(name) is None:
            del sys.modules[name]
            return
        self[name]  # raises KeyError, as a dictionary does
        self._put.pop(name, None)
        self._removed.add(name)

    def __iter__(self) -> Iterator[str]:
        names = list(sys.modules)
        yield from (name for name in names if self._place(name) is None)
        seen = dict.fromkeys(self._put)
        for head, place in self._view.items():
            for name in names:
                if name == place or name.startswith(place + "."):
                    seen[head + name[len(place) :]] = None
        yield from (name for name in seen if name in self._put or name not in self._removed)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def copy(self) -> dict[str, Any]:
        """As ``dict.copy``."""
        return dict(self)

    def imported(self, name: str) -> Any | None:
        """What the script has put in a module's place, or above it; else None, and it is there from now on."""
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            above = ".".join(parts[:length])
            if above in self._put:
                found = self._put[above]
                for part in parts[length:]:
                    found = getattr(found, part, None)
                return found
            self._removed.discard(above)
        return None


class System(types.ModuleType):
    """The module ``sys`` with that table; all else is Python's own, both ways.

    Args:
      modules: The table.
    """

    def __init__(self, modules: Modules) -> None:
        super().__init__("sys", sys.__doc__)
        self.__dict__["modules"] = modules

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(sys, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(sys, name)

    def __dir__(self) -> list[str]:
        return dir(sys)


def asks(code: types.CodeType) -> bool:
    """Whether code, or a function in it, has a name ``modules``; who has none gets Python's own ``sys``."""
    if "modules" in code.co_names:
        return True
    return any(asks(inner) for inner in code.co_consts if isinstance(inner, types.CodeType))
