"""Functions that Python's standard library has removed."""

from __future__ import annotations

import collections.abc
import random
import time
from typing import Any, Callable, Iterator

from tpucompat.standins.signatures import specification

ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def clock() -> float:
    """Processor time in seconds, as ``time.clock`` gave it on Unix (Python up to 3.7)."""
    return time.process_time()


def getargspec(func: Any) -> ArgSpec:
    """The names and defaults of a function's arguments (Python up to 3.10).

    Raises:
      ValueError: If the function has keyword-only arguments or annotations, as ever; those that TensorFlow's
        own functions were given since do not count.
    """
    spec = specification(func)
    if spec.kwonlyargs or spec.annotations:
        raise ValueError(
            "Function has keyword-only parameters or annotations, use inspect.signature() API "
            "which can support them"
        )
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def sample(population: Any, k: int, **options: Any) -> list[Any]:
    """``random.sample``, which took sets (Python up to 3.10)."""
    if isinstance(population, collections.abc.Set):
        population = tuple(population)
    return random.sample(population, k, **options)


def is_alive(self: Any) -> bool:
    """``Thread.isAlive`` (Python up to 3.8)."""
    return self.is_alive()


def getchildren(self: Any) -> list[Any]:
    """``Element.getchildren`` (Python up to 3.8)."""
    return list(self)


def getiterator(self: Any, tag: str | None = None) -> list[Any]:
    """``Element.getiterator`` and ``ElementTree.getiterator`` (Python up to 3.8)."""
    return list(self.iter(tag))


def has_key(self: Any, key: Any) -> bool:
    """``dict.has_key`` (Python 2)."""
    return key in self


def _view(name: str) -> Callable[[Any], Any]:
    def view(self: Any) -> Any:
        return getattr(self, name)()

    view.__doc__ = f"``dict.view{name}`` (Python 2)."
    return view


def _iterator(name: str) -> Callable[[Any], Iterator[Any]]:
    def iterator(self: Any) -> Iterator[Any]:
        return iter(getattr(self, name)())

    iterator.__doc__ = f"``dict.iter{name}`` (Python 2)."
    return iterator


iteritems, iterkeys, itervalues = map(_iterator, ("items", "keys", "values"))
viewitems, viewkeys, viewvalues = map(_view, ("items", "keys", "values"))


def tostring(self: Any) -> bytes:
    """``array.tostring`` (Python up to 3.8)."""
    return self.tobytes()


def fromstring(self: Any, buffer: bytes) -> None:
    """``array.fromstring`` (Python up to 3.8)."""
    self.frombytes(buffer)


class _Assertions:
    """The assertions that ``unittest.TestCase`` had under two names (Python up to 3.11)."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return getattr(owner if instance is None else instance, self._name)


assertEquals = _Assertions("assertEqual")
assertNotEquals = _Assertions("assertNotEqual")
assertAlmostEquals = _Assertions("assertAlmostEqual")
assertNotAlmostEquals = _Assertions("assertNotAlmostEqual")
assertRegexpMatches = _Assertions("assertRegex")
assertNotRegexpMatches = _Assertions("assertNotRegex")
assertRaisesRegexp = _Assertions("assertRaisesRegex")
assert_ = _Assertions("assertTrue")
