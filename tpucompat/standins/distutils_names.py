"""The parts of distutils that scripts use: comparing versions, reading a flag. Python 3.12 removed it all.

They follow CPython 3.11's ``distutils/version.py`` and ``distutils/util.py``.
"""

from __future__ import annotations

import functools
import re
from typing import Any


@functools.total_ordering
class _Version:
    """A version that compares with others of its kind, and with text."""

    version: Any = ()

    def __init__(self, vstring: str | None = None) -> None:
        if vstring:
            self.parse(vstring)

    def parse(self, vstring: str) -> None:
        """Takes a version apart."""
        raise NotImplementedError

    def _other(self, other: Any) -> Any:
        return type(self)(other).version if isinstance(other, str) else other.version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (str, _Version)):
            return NotImplemented
        return bool(self.version == self._other(other))

    def __lt__(self, other: Any) -> bool:
        if not isinstance(other, (str, _Version)):
            return NotImplemented
        return bool(self.version < self._other(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self}')"


class LooseVersion(_Version):
    """Numbers and words in turn: ``LooseVersion("1.15.0-rc1").version == [1, 15, 0, "-", "rc", 1]``."""

    def parse(self, vstring: str) -> None:
        """Takes a version apart at its dots and where digits begin or end."""
        self.vstring = vstring
        parts = re.split(r"(\d+|[a-z]+|\.)", vstring)
        words = [part for part in parts if part and part != "."]
        self.version = [int(word) if word.isdigit() else word for word in words]

    def __str__(self) -> str:
        return self.vstring


class StrictVersion(_Version):
    """Two or three numbers, and perhaps ``a1`` or ``b1``, which come before the version without."""

    _FORM = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?$", re.ASCII)

    def parse(self, vstring: str) -> None:
        """Takes a version apart.

        Raises:
          ValueError: It is of another form.
        """
        found = self._FORM.match(vstring)
        if not found:
            raise ValueError(f"invalid version number '{vstring}'")
        major, minor, patch, letter, number = found.groups()
        self.vstring = vstring
        numbers = (int(major), int(minor), int(patch or 0))
        # "~" comes after every letter: a version without one is the last of its kind.
        self.version = (numbers, (letter, int(number)) if letter else ("~", 0))

    def __str__(self) -> str:
        numbers, (letter, number) = self.version
        shown = ".".join(map(str, numbers if numbers[2] else numbers[:2]))
        return shown if letter == "~" else f"{shown}{letter}{number}"


def strtobool(val: str) -> int:
    """1 for y, yes, t, true, on and 1; 0 for n, no, f, false, off and 0, in any case.

    Raises:
      ValueError: Anything else.
    """
    word = val.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if word in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {word!r}")
