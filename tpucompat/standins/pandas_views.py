"""Columns that belong to their frame, as up to pandas 2: what is written to one is written to the frame.

pandas 3 gives copies (its release notes, "Copy-on-Write"), so that ``df["a"].fillna(0, inplace=True)`` and
``df["a"][mask] = 1`` do nothing, and what ``values`` gives cannot be written to. Until then a column remembered
its frame (pandas/core/generic.py, ``_maybe_update_cacher``) and gave it back what had become of it; so does a
column here that code of the script takes out of a frame.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable

import numpy as np
import pandas as pd

from tpucompat.standins import pandas_names

_OF = "_tpucompat_column_of"


def frame_getitem(self: Any, key: Any) -> Any:
    """``DataFrame.__getitem__``, whose columns remember the frame."""
    return _remembered(self, key, self[key])


def frame_getattr(self: Any, name: str) -> Any:
    """``DataFrame.__getattr__``, whose columns remember the frame."""
    # Called by a Python that did not find the name by itself, so that this asks for a column.
    return _remembered(self, name, pd.DataFrame.__getattr__(self, name))


def _remembered(frame: Any, key: Any, value: Any) -> Any:
    if isinstance(value, pd.Series):
        object.__setattr__(value, _OF, (key, weakref.ref(frame)))
    return value


def _frame_of(column: Any) -> tuple[Any, Any]:
    key, frame = getattr(column, "__dict__", {}).get(_OF, (None, None))
    return key, frame() if frame is not None else None


def _give_back(column: Any) -> None:
    key, frame = _frame_of(column)
    if frame is not None and len(column) == len(frame) and column.name in frame.columns:
        frame[key] = column


def _in_place(name: str, call: Callable[..., Any] | None = None) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        result = (
            getattr(self, name)(*args, **options) if call is None else call(self, *args, **options)
        )
        if result is None or result is self:
            _give_back(self)
        return result

    method.__name__ = method.__qualname__ = name
    method.__doc__ = (
        f"``Series.{name}``, which changes the frame of a column too (pandas up to 2.3)."
    )
    return method


series_fillna = _in_place("fillna", pandas_names.fillna)
series_replace = _in_place("replace")
series_clip = _in_place("clip")
series_interpolate = _in_place("interpolate")
series_ffill = _in_place("ffill")
series_bfill = _in_place("bfill")
series_mask = _in_place("mask")
series_where = _in_place("where")
series_update = _in_place("update")


def series_setitem(self: Any, key: Any, value: Any) -> None:
    """``Series.__setitem__``: of a wider type where the value needs one, in the frame of a column too."""
    try:
        self[key] = value
    except TypeError as error:
        if not _is_too_narrow(error):
            raise
        wide = self.astype(object)
        wide[key] = value
        _become(self, wide.infer_objects())
    _give_back(self)


def _is_too_narrow(error: TypeError) -> bool:
    return str(error).startswith(
        "Invalid value"
    )  # pandas 3.0, for what up to then changed the type


def _become(data: Any, other: Any) -> None:
    data._update_inplace(other)


class _Indexer:
    """``loc``, ``iloc``, ``at`` or ``iat`` of a Series or a frame."""

    def __init__(self, name: str, data: Any, real: Any) -> None:
        self._name, self._data, self._real = name, data, real

    def __getitem__(self, key: Any) -> Any:
        value = self._real[key]
        is_pair = isinstance(key, tuple) and len(key) == 2
        if is_pair and isinstance(key[0], slice) and key[0] == slice(None):  # else an array of rows
            return _remembered(self._data, key[1], value) if self._name == "loc" else value
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            self._real[key] = value
        except TypeError as error:
            if not _is_too_narrow(error):
                raise
            wide = self._data.astype(object)
            getattr(wide, self._name)[key] = value
            if isinstance(wide, pd.Series):
                _become(self._data, wide.infer_objects())
            else:
                _become(self._data, _with_types_of(wide, self._data))
        if isinstance(self._data, pd.Series):
            _give_back(self._data)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return _Indexer(self._name, self._data, self._real(*args, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _with_types_of(wide: Any, before: Any) -> Any:
    """The columns of objects with the types that they had, where their values still have it."""
    for position, dtype in enumerate(before.dtypes):
        name = wide.columns[position]
        now = before[name] if wide[name].equals(before[name].astype(object)) else None
        wide[name] = now if now is not None and now.dtype == dtype else wide[name].infer_objects()
    return wide


def _indexer(name: str) -> Any:
    return property(
        lambda self: _Indexer(name, self, getattr(self, name)),
        doc=f"``{name}``, which may change the type of what it sets (pandas up to 2.3).",
    )


loc, iloc, at, iat = (_indexer(name) for name in ("loc", "iloc", "at", "iat"))


def _writable(data: Any, array: Any) -> Any:
    """An array that can be written to: the data's own memory, unless other data share it by now."""
    if not isinstance(array, np.ndarray) or array.flags.writeable:
        return array
    frame = _frame_of(data)[1]
    if _sharing(data) > 1 + (frame is not None):
        return array.copy()
    try:
        array.flags.writeable = True
    except ValueError:
        return array.copy()
    return array


def _sharing(data: Any) -> float:
    """How many Series and frames use the memory of this one; more than all where pandas does not tell."""
    try:
        blocks = data._mgr.blocks
        return max(sum(other() is not None for other in b.refs.referenced_blocks) for b in blocks)
    except (AttributeError, TypeError, ValueError):
        return float("inf")


values = property(
    lambda self: _writable(self, self.values),
    doc="``values``, which can be written to (pandas up to 2.3).",
)


def to_numpy(self: Any, *args: Any, **options: Any) -> Any:
    """``to_numpy``, whose array can be written to (pandas up to 2.3)."""
    return _writable(self, self.to_numpy(*args, **options))
