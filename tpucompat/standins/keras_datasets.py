"""Data sets of ``tf.keras.datasets`` that seeded NumPy's own generator when they were loaded.

Up to TensorFlow 2.2 they shuffled by ``np.random.seed(seed)`` and ``np.random.shuffle``
(``tensorflow/python/keras/datasets/imdb.py``), so that a script which set no seed shuffled the batches
of ``fit``, chose its examples and split its data in the same way in every run. Since 2.3 a generator of
their own does that, and what follows is different each time.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable

import numpy as np

from tpucompat.engines import session


class _Seeded:
    """``np.random``, whose own generator stands for a new one."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np.random, name)

    @staticmethod
    def RandomState(seed: Any) -> Any:
        np.random.seed(seed)
        return np.random


class _NumPy:
    """NumPy with that ``random``."""

    random = _Seeded()

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def _load_data(name: str) -> Callable[..., Any]:
    def load_data(*args: Any, **kwargs: Any) -> Any:
        load = getattr(session.keras().datasets, name).load_data
        module = inspect.unwrap(load).__globals__
        module["np"] = _NumPy()
        try:
            return load(*args, **kwargs)
        finally:
            module["np"] = np

    load_data.__doc__ = f"``keras.datasets.{name}.load_data``; seeds ``np.random``, as up to 2.2."
    return load_data


load_boston_housing = _load_data("boston_housing")
load_imdb = _load_data("imdb")
load_reuters = _load_data("reuters")
