"""What is known of a shape before a graph runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow


def product(shape: list[int], axes: list[int]) -> int:
    """The number of elements along some axes."""
    elements = 1
    for axis in axes:
        elements *= shape[axis]
    return elements


def known_shape(value: Any) -> list[int] | None:
    """The sizes, if all are known."""
    shape = value.shape if tensorflow.is_tensor(value) else tensorflow.TensorShape(np.shape(value))
    if not shape.is_fully_defined():
        return None
    known: list[int] = shape.as_list()
    return known


def rank(value: Any) -> int | None:
    """The number of dimensions, if it is known."""
    number: int | None = tensorflow.TensorShape(getattr(value, "shape", None)).rank
    return number


def shape(value: Any) -> tensorflow.TensorShape:
    """The shape of a tensor, or of a number or an array; of None that of a number."""
    return tensorflow.TensorShape(value.shape if tensorflow.is_tensor(value) else np.shape(value))


def static(value: Any) -> Any:
    """What a tensor holds, if that is known; else the value."""
    return tensorflow.get_static_value(value) if tensorflow.is_tensor(value) else value
