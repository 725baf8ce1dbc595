"""What becomes of attributes and arguments that libraries around TensorFlow have removed or changed.

The shim's rows are :data:`tpucompat.names.surroundings.ATTRIBUTES` and its ``Changed`` functions; a test
compares the two. A row without a rewriting is a TODO at the line.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple

from tpucompat.commands.analysis import library_values as kinds
from tpucompat.commands.analysis.keras_3_rows import Row

REMOVED, CHANGED = "TPU220", "TPU221"


class Member(NamedTuple):
    """An attribute: of which library, of which kinds of values ("" if its name is telling), and its row."""

    library: str
    kinds: tuple[str, ...]
    row: Row


def _gone(was: str, becomes: str = "", how: str = "", note: str = "") -> Row:
    return Row(was, becomes, how, REMOVED, note)


def _changed(was: str, becomes: str = "", how: str = "", note: str = "") -> Row:
    return Row(was, becomes, how, CHANGED, note)


def _renamed(old: str, new: str, library: str, *of: str) -> Member:
    return Member(library, of, _gone(f".{old}", f".{new}", "rename", new))


def _property(old: str, new: str) -> Member:
    return Member("pandas", (), _gone(f".{old}", f".{new}", "property", new))


_FRAME, _SERIES = kinds.FRAME, kinds.SERIES
_NUMERIC = "columns of text are an error"
_FREQUENCY = _changed(
    "resample('M')", "resample('ME')", "frequency", "the letters of frequencies since pandas 3"
)
_IN_PLACE = _changed(
    "df['a'].{}(…, inplace=True)", "df['a'] = df['a'].{}(…)", "in_place", "a column is a copy"
)

#: Attribute -> its rows; the first that fits holds.
MEMBERS: Mapping[str, tuple[Member, ...]] = {
    # pandas
    "append": (
        Member("pandas", (_FRAME,), _gone("DataFrame.append", "pd.concat([df, other])", "append")),
        Member("pandas", (_SERIES,), _gone("Series.append", "pd.concat([a, b])", "append")),
    ),
    "applymap": (_renamed("applymap", "map", "pandas"),),
    "as_matrix": (Member("pandas", (), _gone(".as_matrix()", ".values", "values")),),
    "from_csv": (
        Member("pandas", (), _gone("DataFrame.from_csv", "pd.read_csv(path, index_col=0)")),
    ),
    "from_items": (
        Member("pandas", (), _gone("DataFrame.from_items", "pd.DataFrame(dict(items))")),
    ),
    "get_value": (Member("pandas", (_FRAME, _SERIES), _gone(".get_value()", ".at[…]", "at")),),
    "get_values": (Member("pandas", (), _gone(".get_values()", ".values", "values")),),
    "ix": (
        Member("pandas", (), _gone(".ix[…]", ".loc[…] of labels, or .iloc[…] of positions", "ix")),
    ),
    "nonzero": (_renamed("nonzero", "to_numpy().nonzero", "pandas", _SERIES),),
    "ravel": (_renamed("ravel", "to_numpy().ravel", "pandas", _SERIES),),
    "compress": (_renamed("compress", "to_numpy().compress", "pandas", _SERIES),),
    "sort": (Member("pandas", (_FRAME,), _gone("DataFrame.sort", "sort_values(by)")),),
    "swapaxes": (Member("pandas", (_FRAME,), _gone("DataFrame.swapaxes", "transpose()")),),
    "between": (
        Member("pandas", (), _changed("between(inclusive=True)", "inclusive='both'", "inclusive")),
    ),
    **{name: (Member("pandas", (), _FREQUENCY),) for name in ("asfreq", "resample")},
    "is_monotonic": (_property("is_monotonic", "is_monotonic_increasing"),),
    "weekday_name": (_property("weekday_name", "day_name()"),),
    "is_all_dates": (
        Member("pandas", (), _gone(".is_all_dates", "isinstance(index, pd.DatetimeIndex)")),
    ),
    "ftypes": (Member("pandas", (_FRAME,), _gone(".ftypes", ".dtypes")),),
    "blocks": (Member("pandas", (_FRAME,), _gone("DataFrame.blocks", "select_dtypes()")),),
    "lookup": (
        Member(
            "pandas", (_FRAME,), _gone("DataFrame.lookup", "positions by get_indexer, and .values")
        ),
    ),
    "mad": (
        Member("pandas", (_FRAME, _SERIES), _gone(".mad()", "(x - x.mean()).abs().mean()", "mad")),
    ),
    "set_value": (
        Member("pandas", (_FRAME, _SERIES), _gone(".set_value()", ".at[…] = value", "at")),
    ),
    "week": (Member("pandas", (), _gone(".dt.week", ".dt.isocalendar().week", "week")),),
    "weekofyear": (
        Member("pandas", (), _gone(".dt.weekofyear", ".dt.isocalendar().week", "week")),
    ),
    "fillna": (
        Member("pandas", (), _gone("fillna(method=…)", ".ffill() or .bfill()", "fill_method")),
    ),
    **{
        name: (
            Member(
                "pandas",
                (_FRAME,),
                _changed(f"df.{name}()", "numeric_only=True", "numeric", _NUMERIC),
            ),
        )
        for name in (*("corr", "cov", "kurt", "mean", "median", "quantile", "skew", "std", "var"),)
    },
    # h5py
    "value": (Member("h5py", (kinds.H5_DATA,), _gone("Dataset.value", "dataset[()]", "h5_value")),),
    # Pillow
    "textsize": (
        Member("PIL", (), _gone("ImageDraw.textsize()", "textbbox((0, 0), text)[2:]", "textsize")),
    ),
    "getsize": (
        Member("PIL", (kinds.FONT,), _gone("ImageFont.getsize()", "getbbox(text)[2:]", "getsize")),
    ),
    # NumPy
    "tostring": (_renamed("tostring", "tobytes", "numpy"),),
    "itemset": (Member("numpy", (), _gone(".itemset(…)", "x[index] = value", "itemset")),),
    "ptp": (Member("numpy", (kinds.ARRAY,), _gone(".ptp()", "np.ptp(x)", "ptp")),),
    "newbyteorder": (
        Member(
            "numpy", (), _gone(".newbyteorder()", "x.view(x.dtype.newbyteorder())", "byte_order")
        ),
    ),
    # Python
    **{"iter" + name: (_renamed("iter" + name, name, ""),) for name in ("items", "keys", "values")},
    **{"view" + name: (_renamed("view" + name, name, ""),) for name in ("items", "keys", "values")},
    "has_key": (Member("", (), _gone("dict.has_key(key)", "key in dict", "has_key")),),
    "isAlive": (_renamed("isAlive", "is_alive", "threading"),),
    "getchildren": (Member("xml", (), _gone(".getchildren()", "list(element)", "children")),),
    "getiterator": (_renamed("getiterator", "iter", "xml"),),
    **{
        old: (_renamed(old, new, "unittest"),)
        for old, new in (
            ("assertEquals", "assertEqual"),
            ("assertNotEquals", "assertNotEqual"),
            ("assertAlmostEquals", "assertAlmostEqual"),
            ("assertNotAlmostEquals", "assertNotAlmostEqual"),
            ("assertRegexpMatches", "assertRegex"),
            ("assertNotRegexpMatches", "assertNotRegex"),
            ("assertRaisesRegexp", "assertRaisesRegex"),
            ("assert_", "assertTrue"),
        )
    },
}

_SEQUENCES = ("column_stack", "concatenate", "dstack", "hstack", "stack", "vstack")

#: Function -> its row.
FUNCTIONS: Mapping[str, Row] = {
    "numpy.array": _changed("np.array(copy=False)", "np.asarray", "no_copy"),
    "numpy.load": _changed("np.load()", "allow_pickle=True", "allow_pickle", "since NumPy 1.16.3"),
    "numpy.fromstring": _gone("np.fromstring(bytes)", "np.frombuffer(bytes).copy()", "from_bytes"),
    "numpy.linspace": _changed("np.linspace(num=float)", "int(num)", "whole_number"),
    "numpy.sum": _changed("np.sum(generator)", "sum(generator)", "sum_generator"),
    **{
        "numpy." + name: _changed(f"np.{name}(generator)", "a list", "as_list")
        for name in _SEQUENCES
    },
    "numpy.asscalar": _gone("np.asscalar(x)", "x.item()", "item"),
    "numpy.asfarray": _gone("np.asfarray(x)", "np.asarray(x, float)", "float_array"),
    "numpy.msort": _gone("np.msort(x)", "np.sort(x, axis=0)", "sorted"),
    "inspect.getargspec": _gone(
        "inspect.getargspec(f)", "inspect.getfullargspec(f)", "full_arguments"
    ),
    "time.clock": _gone("time.clock()", "time.process_time()", "process_time"),
    "pandas.value_counts": _gone("pd.value_counts(x)", "pd.Series(x).value_counts()", "counts"),
    "pandas.get_dummies": _changed(
        "pd.get_dummies()", "dtype='uint8'", "dummies", "it gives True and False now"
    ),
    **{
        "pandas." + name: _changed(f"pd.{name}()", "its current arguments", "reader")
        for name in ("read_csv", "read_table")
    },
    **{
        "pandas." + name: _FREQUENCY
        for name in ("bdate_range", "date_range", "Grouper", "timedelta_range", "TimeGrouper")
    },
    "h5py.File": _changed("h5py.File(path)", "a mode", "h5_mode", "it only reads now"),
    "yaml.load": _changed("yaml.load(stream)", "Loader=yaml.FullLoader", "yaml_loader"),
    "random.sample": _changed("random.sample(set)", "of a tuple", "sample_set"),
    "matplotlib.cm.get_cmap": _gone("cm.get_cmap()", "plt.get_cmap()", "get_cmap"),
    "sklearn.metrics.mean_squared_error": _changed(
        "mean_squared_error(squared=False)", "mean_squared_error() ** 0.5", "squared"
    ),
    "sklearn.utils.class_weight.compute_class_weight": _changed(
        "compute_class_weight(weight, classes, y)", "classes=…, y=…", "class_weight"
    ),
}

#: What NumPy has no more, and what one writes instead (numpy/_expired_attrs_2_0.py; 1.24 and earlier).
NAMES: Mapping[str, Row] = {
    "numpy." + name: _gone("np." + name, instead)
    for names, instead in (
        (("cast",), "x.astype(dtype)"),
        (("alen",), "len(x)"),
        (("fastCopyAndTranspose",), "x.T.copy()"),
        (("issctype",), "issubclass(x, np.generic)"),
        (("nbytes",), "np.dtype(x).itemsize"),
        (("sctype2char",), "np.dtype(x).char"),
        (("sctypes", "maximum_sctype", "typeNA"), "the types by their names"),
        (("deprecate", "deprecate_with_doc"), "warnings.warn"),
        (("geterrobj", "seterrobj"), "np.errstate"),
        (("MachAr",), "np.finfo"),
        (("mafromtxt", "ndfromtxt", "recfromcsv", "recfromtxt"), "np.genfromtxt"),
        (("set_string_function",), "np.set_printoptions"),
        (("lookfor", "source", "who", "compat", "set_numeric_ops", "get_array_wrap"), ""),
        (("fv", "ipmt", "irr", "mirr", "nper"), "the same of numpy_financial"),
        (("npv", "pmt", "ppmt", "pv", "rate"), "the same of numpy_financial"),
    )
    for name in names
}
#: Arrays of lists of different lengths.
RAGGED = _changed(
    "np.array([[1, 2], [3]])",
    "an array of objects, by a function added to the script",
    "ragged",
    "since NumPy 1.24",
)
#: A function or method whose arguments by position, or by their old names, are refused.
ARGUMENTS = _changed("{}()", "its arguments by name", "arguments")
#: A question for the type of a column of texts.
TEXT_TYPE = _changed(
    "df['a'].dtype == object",
    "df['a'].dtype in (object, 'str')",
    "text_type",
    "pandas 3 has a type for columns of text",
)
#: Lists and dictionaries of numbers that are shown.
PRINTED = _changed(
    "print([np.mean(x)])",
    "np.set_printoptions(legacy='1.25')",
    "printed",
    "NumPy 2 writes np.float64(0.5) within a list",
)
IN_PLACE = _IN_PLACE
ITEM_OF_COLUMN = _changed(
    "df['a'][rows] = value", "df.loc[rows, 'a'] = value", "item_of_column", "a column is a copy"
)
COLUMNS_OF_GROUPS = _changed("groupby(…)['a', 'b']", "groupby(…)[['a', 'b']]", "columns")
PATTERN = _changed("str.replace(pattern, …)", "regex=True", "pattern")
ATTRIBUTE_TEXT = _changed(
    "attrs[…].decode()", "attrs[…]", "", "h5py 3 reads text as str, not as bytes"
)
LEVEL = _gone("df.sum(level=0)", "df.groupby(level=0).sum()")
#: What pandas 3 calls a frequency, without its number and its anchor.
FREQUENCIES = {
    "M": "ME",
    "BM": "BME",
    "SM": "SME",
    "CBM": "CBME",
    "Q": "QE",
    "BQ": "BQE",
    "A": "YE",
    "Y": "YE",
    "BA": "BYE",
    "BY": "BYE",
    "AS": "YS",
    "BAS": "BYS",
    "H": "h",
    "BH": "bh",
    "CBH": "cbh",
    "T": "min",
    "S": "s",
    "L": "ms",
    "U": "us",
    "N": "ns",
}
#: Methods of a column that change the frame no longer.
IN_PLACE_METHODS = frozenset(
    ("bfill", "clip", "ffill", "fillna", "interpolate", "mask", "replace", "where")
)
