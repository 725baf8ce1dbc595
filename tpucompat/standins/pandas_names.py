"""Functions and methods that pandas has removed, or that take less than they did."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Sequence, cast

import numpy as np
import pandas as pd

from tpucompat.names import renamed
from tpucompat.standins.attributes import Owns
from tpucompat.tf import patches

_TEXT = patches.Setting(
    "pandas.options.future.infer_string",
    lambda: pd.get_option("future.infer_string"),
    lambda value: pd.set_option("future.infer_string", value),
)


@patches.patch
def keep_text_as_objects(owns: Owns) -> None:
    """Lets pandas 3 read text into columns of ``object`` again; scripts ask for that dtype.

    An option of pandas' own (3.0 release notes, "Dedicated string data type by default").
    """
    del owns  # the option is one for the whole process
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas 3 announces that pandas 4 ends it
        patches.replace(_TEXT, "", False)


def _in_order(class_name: str, name: str) -> Callable[..., Any]:
    """A method that takes by position what pandas 2.0 and 3.0 take by keyword only."""
    then = renamed.METHODS[class_name][name]
    names = then.order.split()

    def method(self: Any, *args: Any, **options: Any) -> Any:
        if names and len(args) > len(names):
            raise TypeError(f"{name}() takes at most {len(names)} arguments")
        args, options = renamed.as_now(then, args, options)
        return getattr(self, name)(*args, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``{class_name}.{name}`` with its arguments by position (pandas up to 1.5)."
    return method


frame_drop = _in_order("DataFrame", "drop")
frame_dropna = _in_order("DataFrame", "dropna")
frame_pivot = _in_order("DataFrame", "pivot")
frame_reset_index = _in_order("DataFrame", "reset_index")
frame_set_axis = _in_order("DataFrame", "set_axis")
frame_set_index = _in_order("DataFrame", "set_index")
frame_sort_values = _in_order("DataFrame", "sort_values")
frame_sort_index = _in_order("DataFrame", "sort_index")
to_csv = _in_order("DataFrame", "to_csv")
series_drop = _in_order("Series", "drop")
series_reset_index = _in_order("Series", "reset_index")
series_sort_values = _in_order("Series", "sort_values")
text_split = _in_order("Series.str", "split")
text_rsplit = _in_order("Series.str", "rsplit")


def fillna(
    self: Any,
    value: Any = None,
    method: str | None = None,
    axis: Any = None,
    inplace: bool = False,
    limit: int | None = None,
) -> Any:
    """``fillna`` with a ``method`` (pandas up to 2.3)."""
    if method is None:
        return self.fillna(value, axis=axis, inplace=inplace, limit=limit)
    fill = {"ffill": "ffill", "pad": "ffill", "bfill": "bfill", "backfill": "bfill"}[method]
    return getattr(self, fill)(axis=axis, inplace=inplace, limit=limit)


def _of_numbers(name: str, always: bool = False) -> Callable[..., Any]:
    """A reduction that left out columns of text; ``always`` for those that never tried them."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        reduce = getattr(self, name)
        if "numeric_only" in options:
            return reduce(*args, **options)
        try:
            return reduce(*args, **dict(options, **({"numeric_only": True} if always else {})))
        except (TypeError, ValueError):
            return reduce(*args, numeric_only=True, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``DataFrame.{name}`` of the numeric columns (pandas up to 1.5)."
    return method


frame_corr = _of_numbers("corr", always=True)
frame_cov = _of_numbers("cov", always=True)
frame_quantile = _of_numbers("quantile", always=True)
frame_mean = _of_numbers("mean")
frame_median = _of_numbers("median")
frame_std = _of_numbers("std")
frame_var = _of_numbers("var")
frame_skew = _of_numbers("skew")
frame_kurt = _of_numbers("kurt")


def frame_append(
    self: Any,
    other: Any,
    ignore_index: bool = False,
    verify_integrity: bool = False,
    sort: bool = False,
) -> Any:
    """``DataFrame.append``: the rows of both (pandas up to 1.5)."""
    if isinstance(other, dict):
        if not ignore_index:
            raise TypeError("Can only append a dict if ignore_index=True")
        other = pd.Series(other)
    if isinstance(other, pd.Series):
        if other.name is None and not ignore_index:
            raise TypeError(
                "Can only append a Series if ignore_index=True or if the Series has a name"
            )
        other = other.to_frame().T.infer_objects()
    if isinstance(other, list) and other and not isinstance(other[0], pd.DataFrame):
        other = pd.DataFrame(other)  # of dictionaries or Series
    parts = [self, *other] if isinstance(other, (list, tuple)) else [self, other]
    # An empty frame has columns of objects, which then decided nothing.
    parts = [part for part in parts if len(part) or len(part.columns)] or parts
    return pd.concat(parts, ignore_index=ignore_index, verify_integrity=verify_integrity, sort=sort)


def series_append(
    self: Any, to_append: Any, ignore_index: bool = False, verify_integrity: bool = False
) -> Any:
    """``Series.append``: the elements of both (pandas up to 1.5)."""
    others = to_append if isinstance(to_append, (list, tuple)) else [to_append]
    return pd.concat([self, *others], ignore_index=ignore_index, verify_integrity=verify_integrity)


def from_csv(cls: Any, path: Any, header: Any = 0, sep: str = ",", **options: Any) -> Any:
    """``from_csv``: the first column is an index of dates (pandas up to 0.25)."""
    options = {"index_col": 0, "parse_dates": True, **options}
    data = pd.read_csv(path, header=header, sep=sep, **options)
    return data.squeeze("columns") if issubclass(cls, pd.Series) else data


def from_items(cls: Any, items: Any) -> Any:
    """``DataFrame.from_items``: columns by pairs of name and values (pandas up to 0.25)."""
    return cls(dict(items))


frame_from_csv: Any = classmethod(cast(Any, from_csv))
series_from_csv: Any = frame_from_csv
frame_from_items = classmethod(from_items)


def get_values(self: Any) -> Any:
    """``get_values``: the values (pandas up to 0.25)."""
    return self.values


def mad(self: Any, axis: Any = 0, skipna: bool = True) -> Any:
    """``mad``: the mean absolute deviation from the mean (pandas up to 1.5)."""
    if isinstance(self, pd.Series):
        return (self - self.mean(skipna=skipna)).abs().mean(skipna=skipna)
    numbers = self.select_dtypes("number")
    centre = numbers.mean(axis=axis, skipna=skipna)
    return numbers.sub(centre, axis=1 - axis).abs().mean(axis=axis, skipna=skipna)


def lookup(self: Any, row_labels: Any, col_labels: Any) -> Any:
    """``DataFrame.lookup``: one value for each pair of labels (pandas up to 1.5)."""
    rows = self.index.get_indexer(row_labels)
    columns = self.columns.get_indexer(col_labels)
    if (rows == -1).any() or (columns == -1).any():
        raise KeyError("One or more labels was not found")
    return self.to_numpy()[rows, columns]


def text_replace(
    self: Any,
    pat: Any,
    repl: Any,
    n: int = -1,
    case: Any = None,
    flags: int = 0,
    regex: bool | None = None,
) -> Any:
    """``Series.str.replace``, which took all but a single character for a pattern (pandas up to 1.5)."""
    if regex is None:
        regex = not isinstance(pat, str) or len(pat) > 1 or bool(flags) or callable(repl)
        regex = regex or case is False
    return self.replace(pat, repl, n=n, case=case, flags=flags, regex=regex)


def _week(self: Any) -> Any:
    weeks = self.isocalendar().week
    return weeks.astype("int64") if isinstance(self, pd.Index) or not weeks.isna().any() else weeks


week = property(_week, doc="``week``: the number of the week in its year (pandas up to 1.5).")


def grouped_columns(self: Any, key: Any) -> Any:
    """``groupby(...)["a", "b"]``: two columns, without a list (pandas up to 1.5)."""
    return self[list(key) if isinstance(key, tuple) and len(key) > 1 else key]


def as_matrix(self: Any, columns: Any = None) -> Any:
    """``as_matrix``: the values, of some columns if they are given (pandas up to 0.25)."""
    return (self if columns is None else self[columns]).values


def iteritems(self: Any) -> Any:
    """``iteritems`` under its later name (pandas up to 1.5)."""
    return self.items()


def get_value(self: Any, *where: Any) -> Any:
    """``get_value``: one element by its labels (pandas up to 0.25)."""
    return self.at[where if len(where) > 1 else where[0]]


def set_value(self: Any, *where_and_value: Any) -> Any:
    """``set_value``: sets one element by its labels and gives the object (pandas up to 0.25)."""
    *where, value = where_and_value
    self.at[tuple(where) if len(where) > 1 else where[0]] = value
    return self


def applymap(self: Any, func: Callable[[Any], Any], **options: Any) -> Any:
    """``DataFrame.applymap`` under its later name (pandas up to 2.3)."""
    return self.map(func, **options)


class _Mixed:
    """``.ix``: labels, and positions where the labels of that axis are not integers."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def _positions(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        found = tuple(_position(axis, one) for axis, one in zip(self._data.axes, keys))
        return found if isinstance(key, tuple) else found[0]

    def __getitem__(self, key: Any) -> Any:
        return self._data.iloc[self._positions(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            where = self._positions(key)
        except KeyError:  # a new label
            self._data.loc[key] = value
        else:
            self._data.iloc[where] = value


def _position(axis: Any, key: Any) -> Any:
    by_position = not pd.api.types.is_integer_dtype(axis.dtype)
    if isinstance(key, slice):
        bounds = [bound for bound in (key.start, key.stop) if bound is not None]
        if by_position and all(pd.api.types.is_integer(bound) for bound in bounds):
            return key
        return axis.slice_indexer(key.start, key.stop, key.step)
    if pd.api.types.is_list_like(key):
        values = np.asarray(key)
        if values.dtype.kind == "b":
            return np.flatnonzero(values)
        if by_position and values.dtype.kind in "iu":
            return values
        return axis.get_indexer_for(key)
    if by_position and pd.api.types.is_integer(key) and key not in axis:
        return key
    return axis.get_loc(key)


ix = property(
    _Mixed, doc="Labels, or positions if the labels are not integers (pandas up to 0.25)."
)


def value_counts(values: Any, *args: Any, **options: Any) -> Any:
    """``pd.value_counts`` of whatever a Series can be made of (pandas up to 2.3)."""
    order = ("sort", "ascending", "normalize", "bins", "dropna")
    return pd.Series(values).value_counts(**dict(zip(order, args)), **options)


def get_dummies(data: Any, *args: Any, **options: Any) -> Any:
    """``pd.get_dummies``, which gave zeros and ones, not truth values (pandas up to 1.5)."""
    if options.get("dtype") is None and len(args) < 7:
        options["dtype"] = np.uint8
    return pd.get_dummies(data, *args, **options)


def _reader(name: str) -> Callable[..., Any]:
    def read(path: Any, *args: Any, **options: Any) -> Any:
        order: Sequence[str] = ("sep", "delimiter", "header", "names", "index_col", "usecols")
        options.update(zip(order, args))
        if options.pop("error_bad_lines", None) is False:
            quiet = options.pop("warn_bad_lines", None) is False
            options["on_bad_lines"] = "skip" if quiet else "warn"
        options.pop("warn_bad_lines", None)
        if options.pop("delim_whitespace", False):
            options["sep"] = r"\s+"
        squeeze = options.pop("squeeze", False)
        data = getattr(pd, name)(path, **options)
        return data.squeeze("columns") if squeeze else data

    read.__name__ = read.__qualname__ = name
    read.__doc__ = f"``pd.{name}`` with the arguments that it took (pandas up to 1.5)."
    return read


read_csv = _reader("read_csv")
read_table = _reader("read_table")
