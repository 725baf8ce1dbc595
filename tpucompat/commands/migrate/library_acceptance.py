"""What the installed pandas and NumPy say of the calls of a rewritten file.

Functions are asked by their names. A method is asked where its object is a frame or column: it is refused only
if no class of pandas that the object may be of has it, or takes the arguments.
"""

from __future__ import annotations

import ast
import importlib
from typing import Any, Iterator

from tpucompat.commands.analysis import library_values as kinds
from tpucompat.commands.analysis.findings import Module
from tpucompat.commands.analysis.library_values import LibraryValues
from tpucompat.names import era
from tpucompat.names.used import Call

#: Libraries whose functions are asked about.
ROOTS = ("numpy", "pandas")
_TABLES = {kinds.FRAME: "pandas.DataFrame", kinds.SERIES: "pandas.Series"}
#: What an expression may be that is taken for a frame or a column.
_LIKE_TABLES = ("DataFrame", "Series", "Index", "DatetimeIndex", "MultiIndex")


def called(module: Module) -> Iterator[tuple[str, Call]]:
    """(dotted name, call) of each call that pandas or NumPy can be asked about."""
    roots = {use.name.partition(".")[0] for use in module.names.uses}
    values: LibraryValues | None = None
    for call in module.names.calls:
        if call.guarded:
            continue
        if call.name.partition(".")[0] in ROOTS:
            yield call.name, call
        elif "pandas" in roots and isinstance(call.node.func, ast.Attribute):
            if values is None:
                trees = [tree for tree in module.trees if tree is not None]
                values = LibraryValues(trees, module.names, module.era == era.TF1)
            found = values.kinds(call.node.func.value)
            if len(found) == 1 and call.name[:1] == ".":
                above = _TABLES.get(next(iter(found)), "")
                if above:
                    yield above + call.name, call


def candidates(name: str) -> list[Any]:
    """What a name may stand for in the installed libraries; of a method of a table, those of all its kind.

    Raises:
      AttributeError: If nothing has the name.
      ImportError: If the library is not installed.
    """
    above, _, last = name.rpartition(".")
    if above not in _TABLES.values():
        return []
    pandas = importlib.import_module("pandas")
    numpy = importlib.import_module("numpy")
    owners = [above.rpartition(".")[2], *_LIKE_TABLES]
    classes = [getattr(pandas, one) for one in dict.fromkeys(owners)]
    grouped = importlib.import_module("pandas.core.groupby")
    classes += [numpy.ndarray, numpy.generic, grouped.DataFrameGroupBy, grouped.SeriesGroupBy]
    found = [getattr(one, last) for one in classes if hasattr(one, last)]
    if not found:
        raise AttributeError(last)
    return found
