"""NumPy's functions that took sequences of different lengths for an array of objects (NumPy up to 1.23)."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from tpucompat.standins import numpy_names


def reshape(a: Any, newshape: Any, order: Any = "C") -> Any:
    """``np.reshape``, whose ``newshape`` is ``shape`` since NumPy 2.1."""
    return numpy_names.of_ragged(np.reshape)(a, newshape, order=order)


def __getattr__(name: str) -> Callable[..., Any]:
    """A function of NumPy's by its name, ``random_permutation`` for ``random.permutation``."""
    if name.startswith("_"):
        raise AttributeError(name)
    module = np.random if name.startswith("random_") else np
    return numpy_names.of_ragged(getattr(module, name.replace("random_", "")))
