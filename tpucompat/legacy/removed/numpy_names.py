"""Functions that NumPy has removed."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np


def asscalar(a: Any) -> Any:
    """The Python scalar in an array of one element (NumPy up to 1.22)."""
    return a.item()


def asfarray(a: Any, dtype: Any = np.float64) -> Any:
    """An array of a floating type: of ``dtype``, or float64 where that is none (NumPy up to 1.26)."""
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
