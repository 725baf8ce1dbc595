"""Arithmetic between arrays and numbers, for NumPy 1 itself and for the functions that stand in for operators.

PYTHON_WITH_NUMPY_1 tests/arithmetic_cases.py | gzip -9n > tests/data/arithmetic_numpy1.json.gz
"""

import itertools
import json
import operator
import sys
import warnings

import numpy as np

KINDS = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")
OPERATIONS = ("add", "sub", "mul", "truediv", "floordiv")
PYTHON = (True, 3, 200, 300, -1, 70000, 2**40, 0.5, 1e10)


def operands():
    """Name -> an array, a number of NumPy's or one of Python's."""
    found = {}
    for kind in KINDS:
        found["array " + kind] = np.array([1, 2, 3]).astype(kind)
        found["number " + kind] = np.dtype(kind).type(3)
        found["no dimensions " + kind] = np.array(2).astype(kind)
    found["array complex64"] = np.array([1, 2j], np.complex64)
    found["number float64 0.1"] = np.float64(0.1)
    found["number float64 1e300"] = np.float64(1e300)
    found["number int64 300"] = np.int64(300)
    found["number int64 -1"] = np.int64(-1)
    found["number uint8 200"] = np.uint8(200)
    found["array uint8 of two dimensions"] = np.array([[250, 3]], np.uint8)
    found.update((f"python {value!r}", value) for value in PYTHON)
    return found


def _said(function, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = function(*given)
        except (TypeError, ValueError, OverflowError):
            return "error"
    array = np.asarray(value)
    return [str(array.dtype), [repr(complex(each)) for each in array.ravel()]]


def _are_numbers_of_a_byte(one, other):
    return one.startswith("number") and "int8" in one and "int8" in other and "array" not in other


def results(function_of):
    """What each operation says of each pair with something of NumPy's in it.

    Args:
      function_of: Gives the function of an operation's name.
    """
    found = {}
    for (one, left), (other, right) in itertools.product(operands().items(), repeat=2):
        if one.startswith("python") and other.startswith("python"):
            continue
        for name in OPERATIONS:
            if name == "floordiv" and "complex" in one + other:  # gone since 1.20
                continue
            if name == "truediv" and _are_numbers_of_a_byte(one, other):
                continue  # float32 or float64, by NumPy 1's release
            found[f"{one} {name} {other}"] = _said(function_of(name), left, right)
            if "array" in one and name in ("add", "mul", "truediv"):
                inplace = function_of("i" + name)
                found[f"{one} {name}= {other}"] = _said(inplace, np.array(left), right)
    return found


if __name__ == "__main__":
    assert np.__version__.startswith("1."), np.__version__
    json.dump(results(lambda name: getattr(operator, name)), sys.stdout, sort_keys=True)
