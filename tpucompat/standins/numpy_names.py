"""Functions and methods that NumPy has removed, or that take less than they did."""

from __future__ import annotations

import functools
import operator
import types
from typing import Any, Callable, Sequence

import numpy as np

from tpucompat.base import journal
from tpucompat.standins import array_numbers
from tpucompat.standins.attributes import Owns
from tpucompat.tf import patches

# What ``copy=False`` meant, in the words of NumPy 2.
_IF_NEEDED = None if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else False


_PRINTED = patches.Setting(
    "numpy.set_printoptions.legacy",
    lambda: np.get_printoptions().get("legacy"),
    lambda value: np.set_printoptions(legacy=value),
)


@patches.patch
def print_numbers_like_numpy_1() -> None:
    """Lets NumPy 2 print its scalars as NumPy 1 did: ``0.5`` instead of ``np.float32(0.5)``.

    Scripts print losses and metrics, and what reads their output knows no other form. It is an option of
    NumPy's own (2.0 release notes, "Representation of NumPy scalars changed"); a script may set another.
    """
    patches.replace(_PRINTED, "", "1.25")


def restore_numbers(owns: Owns) -> None:
    """Prints numbers as then, and takes arrays of one element for numbers."""
    print_numbers_like_numpy_1()
    array_numbers.accept_arrays_as_numbers(owns)


def asscalar(a: Any) -> Any:
    """The Python scalar in an array of one element (NumPy up to 1.22)."""
    return a.item()


def asfarray(a: Any, dtype: Any = np.float64) -> Any:
    """An array of a floating type: of ``dtype``, or float64 if that is not one (NumPy up to 1.26)."""
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def msort(a: Any) -> Any:
    """A copy sorted along the first axis (NumPy up to 1.26)."""
    return np.sort(a, axis=0)


def obj2sctype(rep: Any, default: Any | None = None) -> Any:
    """The scalar type of a dtype-like object, or ``default`` (NumPy up to 1.26)."""
    try:
        return np.dtype(rep).type
    except TypeError:
        return default


def find_common_type(array_types: Sequence[Any], scalar_types: Sequence[Any]) -> Any:
    """The dtype that holds all; a scalar's counts only where its kind is above the arrays' (up to 1.26)."""
    kinds = "buifc"
    arrays = np.result_type(*array_types) if array_types else None
    scalars = np.result_type(*scalar_types) if scalar_types else None
    if arrays is None or scalars is None:
        return scalars if arrays is None else arrays
    if arrays.kind in kinds and scalars.kind in kinds:
        return scalars if kinds.index(scalars.kind) > kinds.index(arrays.kind) else arrays
    return np.result_type(arrays, scalars)


def array(object: Any, dtype: Any = None, *, copy: Any = True, **options: Any) -> Any:
    """``np.array``, which made an object array of sequences of different lengths (NumPy up to 1.23).

    It made one of a sequence of a graph's tensors too, whose numbers nobody knows yet (up to 1.19).
    ``copy=False`` allowed a copy where one is needed (up to 1.26); NumPy 2 refuses.
    """
    if copy is False:
        copy = _IF_NEEDED
    try:
        return np.array(object, dtype, copy=copy, **options)
    except NotImplementedError as error:
        sequence = isinstance(object, (list, tuple))
        if dtype is not None or not sequence or "symbolic" not in str(error):
            raise
        return _of_objects(object)
    except ValueError as error:
        if dtype is not None or "inhomogeneous" not in str(error):
            raise
        journal.used("numpy.array of sequences of different lengths")
        return np.array(object, np.object_, copy=copy, **options)


def of_ragged(function: Callable[..., Any], deep: bool = False) -> Callable[..., Any]:
    """A function that makes arrays of objects where today's NumPy refuses to make an array (up to 1.23).

    Args:
      function: A function of NumPy's.
      deep: Whether its first argument is a sequence of arrays.
    """

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            if "inhomogeneous" not in str(error):
                raise
        if deep:
            first, *rest = args
            return function([_if_nested(each) for each in first], *rest, **kwargs)
        given = {key: _if_nested(value) for key, value in kwargs.items()}
        return function(*map(_if_nested, args), **given)

    return called


def _if_nested(value: Any) -> Any:
    """A sequence of sequences as an array; anything else as it is."""
    sequences = (list, tuple, np.ndarray)
    nested = isinstance(value, (list, tuple)) and any(isinstance(one, sequences) for one in value)
    return array(value) if nested else value


def _of_objects(nested: Any) -> Any:
    """An array with a dimension for each depth of nested sequences, all of one length."""
    shape: list[int] = []
    level = [nested]
    while all(isinstance(each, (list, tuple)) for each in level):
        lengths = {len(each) for each in level}
        if len(lengths) != 1:
            break
        shape += lengths
        level = [each for sequence in level for each in sequence]
    found: Any = np.empty(len(level), np.object_)
    for position, each in enumerate(level):
        found[position] = each
    return found.reshape(shape)


def asarray(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """``np.asarray``, which made an object array of sequences of different lengths (NumPy up to 1.23)."""
    return array(a, dtype, copy=False, order=order)


def load(file: Any, mmap_mode: Any = None, allow_pickle: bool = True, **options: Any) -> Any:
    """``np.load``, which read pickled objects without being asked to (NumPy up to 1.16.2).

    The files are the script's own, as they were then.
    """
    return np.load(file, mmap_mode, allow_pickle, **options)


def fromstring(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "") -> Any:
    """``np.fromstring``, which read the bytes of numbers where no ``sep`` is given (NumPy up to 2.2)."""
    if sep:
        return np.fromstring(string, dtype, count, sep=sep)
    if isinstance(string, str):
        string = string.encode("latin-1")
    return np.frombuffer(string, dtype, count).copy()


def linspace(start: Any, stop: Any, num: Any = 50, *rest: Any, **options: Any) -> Any:
    """``np.linspace``, whose ``num`` could be a float (NumPy up to 1.17)."""
    return np.linspace(start, stop, _whole(num), *rest, **options)


def sum_(a: Any, *rest: Any, **options: Any) -> Any:
    """``np.sum``, which gave the sum of a generator's numbers to Python's own (NumPy up to 2.3)."""
    if isinstance(a, types.GeneratorType):
        return sum(a)
    return np.sum(a, *rest, **options)


def _whole(number: Any) -> int:
    try:
        return operator.index(number)
    except TypeError:
        return int(number)


def _of_sequences(name: str) -> Callable[..., Any]:
    function = of_ragged(getattr(np, name), deep=True)

    def joined(arrays: Any, *rest: Any, **options: Any) -> Any:
        if not hasattr(arrays, "__getitem__"):
            arrays = list(arrays)
        return function(arrays, *rest, **options)

    joined.__name__ = joined.__qualname__ = name
    joined.__doc__ = f"``np.{name}``, which took generators and ``map`` too (NumPy up to 1.15)."
    return joined


def _as_list(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def listed(*args: Any, **options: Any) -> Any:
        found = function(*args, **options)
        return list(found) if isinstance(found, tuple) else found

    listed.__name__ = listed.__qualname__ = name
    listed.__doc__ = f"``np.{name}``, which gave several arrays as a list (NumPy up to 1.26)."
    return listed


atleast_1d = _as_list("atleast_1d")
atleast_2d = _as_list("atleast_2d")
atleast_3d = _as_list("atleast_3d")
broadcast_arrays = _as_list("broadcast_arrays")
meshgrid = _as_list("meshgrid")
column_stack = _of_sequences("column_stack")
concatenate = _of_sequences("concatenate")
dstack = _of_sequences("dstack")
hstack = _of_sequences("hstack")
stack = _of_sequences("stack")
vstack = _of_sequences("vstack")


def tostring(self: Any, order: Any = "C") -> bytes:
    """``ndarray.tostring``: the bytes of the elements (NumPy up to 2.2)."""
    return self.tobytes(order)


def itemset(self: Any, *args: Any) -> None:
    """``ndarray.itemset``: sets the one element, or that at an index or indices (NumPy up to 1.26)."""
    *where, value = args
    if len(where) == 1 and not isinstance(where[0], tuple):
        self.flat[where[0]] = value
    else:
        self[where[0] if len(where) == 1 else tuple(where)] = value


def ptp(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """``ndarray.ptp``: the largest less the smallest value (NumPy up to 1.26)."""
    return np.ptp(self, axis, out, keepdims=keepdims)


def newbyteorder(self: Any, new_order: str = "S") -> Any:
    """``ndarray.newbyteorder``: the same bytes read in another order (NumPy up to 1.26)."""
    return self.view(self.dtype.newbyteorder(new_order))
