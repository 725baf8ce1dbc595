"""What the values of a script are, as far as pandas, NumPy, h5py and Pillow are concerned."""

from __future__ import annotations

import ast
import re
from typing import Any, Iterator, Mapping

from tpucompat.commands.analysis.keras_values import Values
from tpucompat.names.used import constant, index_of

FRAME, SERIES, GROUPED, LOCATED = "DataFrame", "Series", "groupby", "loc"
H5_GROUP, H5_DATA, H5_ATTRIBUTES = "h5py.Group", "h5py.Dataset", "h5py.attrs"
ARRAY, FONT, MAPPING, LIST = "ndarray", "font", "dict", "list"
TABLES = frozenset((FRAME, SERIES))

#: What a call gives.
_MADE: tuple[tuple[str, str], ...] = (
    (r"pandas\.DataFrame(\.from_\w+)?$", FRAME),
    (r"pandas\.(read_\w+|concat|merge|get_dummies|crosstab|pivot_table|melt)$", FRAME),
    (r"pandas\.(Series|to_datetime|to_numeric|cut|qcut)$", SERIES),
    (r"h5py\.File$", H5_GROUP),
    (r"numpy\.", ARRAY),
    (r"PIL\.ImageFont\.(truetype|load_default|load)$", FONT),
    (r"dict$|collections\.(OrderedDict|defaultdict)$", MAPPING),
)
_MADE_BY = tuple((re.compile(pattern), kind) for pattern, kind in _MADE)
#: Methods that make one number of a column.
REDUCTIONS = frozenset(
    (
        *("all", "any", "count", "idxmax", "idxmin", "kurt", "max", "mean", "median", "min"),
        *("nunique", "prod", "quantile", "skew", "std", "sum", "var"),
    )
)
_NO_TABLES = frozenset(
    (
        *("hist", "info", "items", "iteritems", "iterrows", "itertuples", "keys", "plot"),
        *("to_csv", "to_dict", "to_hdf", "to_json", "to_pickle", "to_string", "tolist"),
    )
)
_OF_ARRAYS = frozenset(("as_matrix", "get_values", "to_numpy", "unique"))
_ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    FRAME: {"T": FRAME, "values": ARRAY},
    SERIES: {"T": SERIES, "values": ARRAY},
    H5_GROUP: {"attrs": H5_ATTRIBUTES},
    H5_DATA: {"attrs": H5_ATTRIBUTES},
}
#: Attributes of frames that are no columns.
_OF_FRAMES = frozenset(
    (
        *("at", "attrs", "axes", "blocks", "columns", "dtypes", "empty", "flags", "ftypes", "iat"),
        *("index", "ndim", "plot", "shape", "size", "sparse", "style", "hist"),
    )
)
_LOCATORS = frozenset(("iloc", "ix", "loc"))


class LibraryValues(Values):
    """The kinds of the values of a module that belong to libraries around TensorFlow."""

    def _of(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Subscript):
            yield from self._item(node)
        elif isinstance(node, ast.BinOp):
            yield from (self.kinds(node.left) | self.kinds(node.right)) & {*TABLES, ARRAY}
        elif isinstance(node, (ast.Dict, ast.DictComp)):
            yield MAPPING
        elif isinstance(node, (ast.List, ast.ListComp)):
            yield LIST
        else:
            yield from super()._of(node)

    def _of_call(self, node: ast.Call) -> Iterator[str]:
        name = self.called.get(id(node), "")
        for pattern, kind in _MADE_BY:
            if pattern.match(name):
                yield kind
                return
        yield from super()._of_call(node)

    def _of_name(self, node: Any) -> Iterator[str]:
        found = list(super()._of_name(node))
        yield from found
        if found or not isinstance(node, ast.Attribute):
            return
        for kind in self.kinds(node.value):
            if kind in TABLES and node.attr in _LOCATORS:
                yield LOCATED
            elif node.attr in _ATTRIBUTES.get(kind, {}):
                yield _ATTRIBUTES[kind][node.attr]
            elif kind == FRAME and node.attr not in _OF_FRAMES:
                yield SERIES  # a column
            elif kind == GROUPED:
                yield GROUPED

    def _item(self, node: ast.Subscript) -> Iterator[str]:
        above = self.kinds(node.value)
        where = index_of(node)
        if FRAME in above:
            is_name = isinstance(constant(where), str)
            yield SERIES if is_name else FRAME
            if not is_name and isinstance(where, (ast.Name, ast.Attribute)):
                yield SERIES
        if LOCATED in above:
            yield from TABLES
        if H5_GROUP in above:
            yield from (H5_GROUP, H5_DATA)
        yield from above & {SERIES, ARRAY, GROUPED}

    def _of_method(self, node: ast.Call, function: ast.Attribute) -> Iterator[str]:
        above, name = self.kinds(function.value), function.attr
        if H5_GROUP in above and name.startswith(("create_", "require_")):
            yield H5_GROUP if name.endswith("group") else H5_DATA
        if not above & TABLES or name in _NO_TABLES:
            return
        if name == "groupby":
            yield GROUPED
        elif name in _OF_ARRAYS:
            yield ARRAY
        elif FRAME in above:
            yield SERIES if name in REDUCTIONS else FRAME
        elif name not in REDUCTIONS:
            yield SERIES
