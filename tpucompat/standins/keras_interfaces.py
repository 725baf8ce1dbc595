"""``keras.legacy.interfaces``: decorators that gave functions of Keras 2 the arguments of Keras 1.

Layers, models and optimizers of Keras take those here by :mod:`tpucompat.standins.keras1_arguments`;
scripts decorate methods of their own with them, as the classes that they were copied from were.
"""

from __future__ import annotations

import functools
from typing import Any, Callable


def legacy_get_updates_support(func: Callable[..., Any]) -> Callable[..., Any]:
    """Lets ``get_updates(loss, params)`` be called as in Keras 1: ``(params, constraints, loss)``.

    Args:
      func: The method of an optimizer.
    """

    @functools.wraps(func)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 3:
            args = (args[2], args[0])
        elif len(args) == 2 and "loss" in kwargs:  # behind the parameters stand the constraints
            args = (kwargs.pop("loss"), args[0])
        kwargs.pop("constraints", None)
        return func(self, *args, **kwargs)

    return wrapper


def generate_legacy_interface(*_: Any, **__: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that leaves a function as it is."""
    return lambda func: func


def __getattr__(name: str) -> Any:
    """The other decorators, ``legacy_dense_support`` and its kin, leave a function as it is."""
    if not (name.startswith("legacy_") and name.endswith("_support")):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return lambda func: func
