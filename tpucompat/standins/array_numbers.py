"""Arrays of one element as numbers: ``float(loss)``, ``"%d" % step``, ``chr(letter)``; empty ones as False.

NumPy 2.4 takes arrays without dimensions only (release notes, "Expired deprecations"); TensorFlow 1.15's NumPy
took every array of one element, and what ``Session.run`` returns has often the shape (1,). ``if not found:`` of
an empty array is an error since 2.2.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import sys
import warnings
from typing import Any

import numpy as np

from tpucompat.standins.attributes import Owns
from tpucompat.tf import patches

# Where CPython keeps the C functions behind ``__int__`` and ``__float__``, counted in pointers: the field
# tp_as_number of a type (Include/cpython/object.h, 3.7 to 3.14), and nb_bool, nb_int and nb_float in what it
# points to.
_AS_NUMBER = 12
_FUNCTIONS = {"__bool__": 9, "__int__": 16, "__float__": 18}


def refused(name: str = "__float__") -> bool:
    """Whether the installed NumPy refuses arrays of one element, or empty ones where a truth is asked for.

    Args:
      name: The method.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            getattr(np.ones(int(name != "__bool__")), name)()
        except (TypeError, ValueError):
            return True
    return False


@patches.patch
def accept_arrays_as_numbers(owns: Owns) -> None:
    """Lets the script's own modules convert arrays of one element and empty ones.

    A class of Python's own keeps in these fields a function that looks the method up by its name. ``ndarray``
    gets that function, and methods of those names that look at the caller.

    Args:
      owns: Tells whether the module with these globals is the script's own.
    """
    _replace_chr(owns)
    # Free-threaded builds have another, longer head of objects.
    plain_object = object.__basicsize__ == 2 * ctypes.sizeof(ctypes.c_void_p)
    if sys.implementation.name == "cpython" and plain_object:
        for name in _FUNCTIONS:
            if refused(name):
                _replace_method(name, owns)


class _ByName:
    """A class with these methods, whose C functions look them up."""

    def __bool__(self) -> bool:
        return False

    def __int__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0


def _field(owner: type, name: str) -> Any:
    """The place of a C function, to be read and written."""
    size = ctypes.sizeof(ctypes.c_void_p)
    numbers = ctypes.c_void_p.from_address(id(owner) + _AS_NUMBER * size).value or 0
    return ctypes.c_void_p.from_address(numbers + _FUNCTIONS[name] * size)


def _replace_method(name: str, owns: Owns) -> None:
    convert = np.ndarray.__dict__[name]  # keeps NumPy's C function, whatever the field says

    def number(self: Any) -> Any:
        if self.ndim and self.size == 1 and owns(_caller(sys._getframe(1))):
            return convert(self.reshape(()))
        return convert(self)

    def truth(self: Any) -> Any:
        if not self.size and owns(_caller(sys._getframe(1))):
            return False
        return convert(self)

    method = truth if name == "__bool__" else number
    patches.replace(np.ndarray, name, method)
    field = _field(np.ndarray, name)
    setting = patches.Setting(
        f"numpy.ndarray.{name}'s C function",
        lambda: field.value,
        functools.partial(setattr, field, "value"),
    )
    patches.replace(setting, "", _field(_ByName, name).value)


def _caller(frame: Any) -> Any:
    """The globals of the module that asks for a number; an eager tensor asks its array in its own method."""
    while frame.f_code.co_name in _FUNCTIONS and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_globals


def _replace_chr(owns: Owns) -> None:
    """Python 3.7's ``chr`` took whatever had ``__int__``; since 3.10 it wants ``__index__``."""
    real = builtins.chr

    def chr(i: Any) -> str:
        try:
            return real(i)
        except TypeError:
            if isinstance(i, np.ndarray) and i.size == 1 and owns(sys._getframe(1).f_globals):
                return real(int(i.reshape(())))
            raise

    patches.replace(builtins, "chr", chr)
