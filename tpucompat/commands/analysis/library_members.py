"""Where a script uses what newer releases of NumPy, pandas, h5py and others removed; see library_rows.py."""

from __future__ import annotations

import ast
import itertools
import re
from typing import AbstractSet, Any, Iterator

from tpucompat.commands.analysis import indexes, printed_numbers, python_2
from tpucompat.commands.analysis import library_rows as table
from tpucompat.commands.analysis import library_values as kinds
from tpucompat.commands.analysis.array_shapes import may_be_ragged
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.analysis.library_values import LibraryValues
from tpucompat.commands.analysis.sources import spelled
from tpucompat.names import era, renamed
from tpucompat.names.used import Call, argument, constant, keyword, walk

#: scikit-learn's functions are imported from its packages too.
_PUBLIC = {
    "sklearn.utils.compute_class_weight": "sklearn.utils.class_weight.compute_class_weight",
}
_CLASSES = {kinds.FRAME: "DataFrame", kinds.SERIES: "Series"}
_METHODS_OF_TABLES = frozenset(
    name for owner in ("DataFrame", "Series") for name in renamed.METHODS[owner]
)
#: Rows that depend on the kind of the object although they name none.
_KNOWN = frozenset(("h5_value", "numeric"))
_CALLED = frozenset(("fill_method", "numeric", "rename"))
#: How a script names the type of columns that hold texts and other objects.
_OBJECT = frozenset(("O", "object", "object_"))
#: What is there today, and does something else unless an argument says so. A program of TensorFlow 2 may have
#: been written for either; one of TensorFlow 1 has not.
_OTHERWISE = frozenset(("allow_pickle", "dummies", "no_copy", "numeric", "pattern", "printed"))
_FREQUENCY = re.compile(r"(-?\d*)([A-Z]+)(-[A-Z]{3})?$")
_OF_ROWS = ("numpy.array", "numpy.asarray")
_LIBRARIES = frozenset(
    (
        *(name.partition(".")[0] for name in (*table.FUNCTIONS, *renamed.CALLS)),
        *(member.library for members in table.MEMBERS.values() for member in members),
    )
)
_BY_NAME_ALONE = frozenset(
    "." + name
    for name, members in table.MEMBERS.items()
    if any(not member.library for member in members)
)
# Library -> the members of which the text has one where the file falls under a row; columns of tables and
# elements of groups have no names of their own.
_WORDS: dict[str, set[str]] = {"pandas": {""}, "h5py": {""}}
for _name, _members in table.MEMBERS.items():
    for _member in _members:
        _WORDS.setdefault(_member.library, set()).add(_name)


def applies(module: Any) -> bool:
    """Whether a file can have any of it."""
    return (
        any(use.name.partition(".")[0] in _LIBRARIES for use in module.names.uses)
        or any(call.name in _BY_NAME_ALONE for call in module.names.calls)
        or python_2.may_be_in([unit.text or "" for unit in module.source.units])
    )


class Finder:
    """Looks for removed members and arguments in one file.

    Args:
      module: The file, as :func:`tpucompat.commands.analysis.findings.understand` gives it.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self.trees = [tree for tree in module.trees if tree is not None]
        self.names = module.names
        self._text = spelled("\n".join(unit.text or "" for unit in module.source.units))
        aliases = [(node, one) for node in self.names.imports for one in node.names]
        self._imported = {one.asname or one.name for _, one in aliases}
        modules = {getattr(node, "module", None) or one.name for node, one in aliases}
        modules |= {one.name for _, one in aliases}
        self.libraries = {module.partition(".")[0] for module in modules}
        self._has_tables = "pandas" in self.libraries
        self._is_old = module.era == era.TF1
        self._values: LibraryValues | None = None
        #: The function of each call -> the call.
        self._calls = {id(call.node.func): call.node for call in module.names.calls}

    @property
    def values(self) -> LibraryValues:
        """The kinds of its values; found at the first question, as most files use no pandas and no h5py."""
        if self._values is None:
            self._values = LibraryValues(self.trees, self.names, self._is_old)
        return self._values

    def find(self) -> Iterator[Difference]:
        """Every place of the file that falls under a row, each once."""
        for one in self._all():
            if self._is_old or one.row.how not in _OTHERWISE:
                yield one

    def _all(self) -> Iterator[Difference]:
        for call in self.names.calls:
            if not call.guarded:
                yield from self._call(call)
        yield from self._methods()
        for use in self.names.uses:
            if use.name in table.NAMES and not use.guarded:
                yield Difference(table.NAMES[use.name], use.node, None, use.name)
        if self._is_old and "numpy" in self.libraries:
            for node in itertools.islice(printed_numbers.Shown(self.module).numbers(), 1):
                yield Difference(table.PRINTED, node)
        if self._is_old and self._has_tables and "dtype" in self._text:
            yield from self._text_types()
        if self._is_old and python_2.speaks_of_it(self._text):
            yield from self._of_python_2()
        if any(
            any(word in self._text for word in words)
            for library, words in _WORDS.items()
            if not library or library in self.libraries
        ):
            yield from self._members()

    def _text_types(self) -> Iterator[Difference]:
        """``df['a'].dtype == object`` and ``df.dtypes['a'] != 'O'``"""
        loops = indexes.nodes(self.module, ast.For, ast.comprehension)
        named = {
            name
            for loop in loops
            if any(getattr(one, "attr", "") == "dtypes" for one in walk(loop.iter))
            for name in (getattr(one, "id", "") for one in walk(loop.target))
        }
        for node in indexes.nodes(self.module, ast.Compare):
            is_one = len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq))
            asked = node.left.value if isinstance(node.left, ast.Subscript) else node.left
            other = node.comparators[-1]
            word = constant(other) or key(other).rpartition(".")[2]
            is_type = getattr(asked, "attr", "") in ("dtype", "dtypes") or key(asked) in named
            if is_one and is_type and word in _OBJECT:
                yield Difference(table.TEXT_TYPE, node)

    def _of_python_2(self) -> Iterator[Difference]:
        for name, row in python_2.names(self.module.nodes):
            yield Difference(row, name, None, name.id)
        for method in python_2.steps(self.module.nodes):
            yield Difference(python_2.NEXT, method, None, "next")
        for function in python_2.encodings(self.module.nodes):
            yield Difference(python_2.ENCODING, function, None, "setdefaultencoding")

    def _members(self) -> Iterator[Difference]:
        node: Any
        for node in indexes.nodes(self.module, ast.Attribute, ast.Assign, ast.Subscript):
            if node.__class__ is ast.Attribute and node.ctx.__class__ is ast.Load:
                yield from self._member(node)
            elif node.__class__ is ast.Assign:
                yield from self._assigned(node)
            elif node.__class__ is ast.Subscript:
                yield from self._columns(node)

    # Functions ---------------------------------------------------------------------------------

    def _call(self, call: Call) -> Iterator[Difference]:
        name = _PUBLIC.get(call.name, call.name)
        row = table.FUNCTIONS.get(name)
        if row is not None and self._concerns(row.how, call.node):
            yield Difference(row, call.node, call.node, name)
        if name in _OF_ROWS and may_be_ragged(self.values, call.node):
            yield Difference(table.RAGGED, call.node, call.node, name)
        module, _, last = name.rpartition(".")
        then = renamed.CALLS.get(module, {}).get(last)
        if then is None and name[:1] == ".":
            then = self._method(call.node)
        if then is not None and _is_old(then, call.node):
            row = table.ARGUMENTS._replace(was=name.lstrip(".") + "()")
            yield Difference(row, call.node, call.node, name)

    def _method(self, call: ast.Call) -> renamed.Then | None:
        """How a method was called, by the kind of its object."""
        function: Any = call.func
        above = getattr(function.value, "attr", "")
        if above == "str" and self._has_tables:
            return renamed.METHODS["Series.str"].get(function.attr)
        if not self._has_tables or function.attr not in _METHODS_OF_TABLES:
            return None
        owner = _CLASSES.get(self.values.kind(function.value), "")
        both = self.values.kinds(function.value) == kinds.TABLES
        return renamed.METHODS.get("DataFrame" if both else owner, {}).get(function.attr)

    def then(self, one: Difference) -> renamed.Then | None:
        """How the call of a difference was called."""
        module, _, last = one.name.rpartition(".")
        return renamed.CALLS[module][last] if module else self._method(one.node)

    def _concerns(self, how: str, call: ast.Call) -> bool:
        """Whether a call falls under a row that not all calls of its function do."""
        first = call.args[0] if call.args else None
        if how == "no_copy":
            return constant(keyword(call, "copy")) is False
        if how == "from_bytes":
            return argument(call, 3, "sep") is None
        if how == "whole_number":
            return _may_be_float(argument(call, 2, "num"))
        if how in ("as_list", "sum_generator"):
            return _is_generator(first, names=how == "as_list")
        if how == "allow_pickle":
            return argument(call, 2, "allow_pickle") is None
        if how == "h5_mode":
            return argument(call, 1, "mode") is None and self._writes_h5()
        if how == "yaml_loader":
            return argument(call, 1, "Loader") is None
        if how == "frequency":
            return bool(frequencies(call))
        if how == "sample_set":
            return isinstance(first, ast.Set) or self._is_set(first)
        if how == "dummies":
            return argument(call, 7, "dtype") is None
        if how == "squared":
            return keyword(call, "squared") is not None
        if how == "class_weight":
            return len(call.args) > 1
        if how == "reader":
            old = ("error_bad_lines", "warn_bad_lines", "delim_whitespace", "squeeze")
            return len(call.args) > 1 or any(keyword(call, word) is not None for word in old)
        return True

    def _is_set(self, node: ast.AST | None) -> bool:
        return self.values.called.get(id(node)) == "set" or (
            isinstance(node, ast.Call) and getattr(node.func, "id", "") == "set"
        )

    @indexes.once
    def _writes_h5(self) -> bool:
        return any(
            name.startswith((".create_", ".require_")) for name in indexes.called_names(self.names)
        ) or any(
            isinstance(node.ctx, ast.Store) and kinds.H5_GROUP in self.values.kinds(node.value)
            for node in indexes.nodes(self.module, ast.Subscript)
        )

    # Attributes --------------------------------------------------------------------------------

    def _member(self, node: ast.Attribute) -> Iterator[Difference]:
        is_of_module = getattr(node.value, "id", "") in self._imported
        if is_of_module and node.attr not in ("from_csv", "from_items"):
            return
        for member in table.MEMBERS.get(node.attr, ()):
            if self._fits(member, node):
                yield Difference(member.row, node, None, node.attr)
                return
        if (
            node.attr == "decode"
            and "h5py" in self.libraries
            and kinds.H5_ATTRIBUTES in self._sources(node.value)
        ):
            yield Difference(table.ATTRIBUTE_TEXT, node, None, node.attr)

    def _fits(self, member: table.Member, node: ast.Attribute) -> bool:
        if member.library and member.library not in self.libraries:
            return False
        how = member.row.how
        call = self._calls.get(id(node))
        if how in _CALLED and call is None:
            return False
        if how == "week":
            return getattr(node.value, "attr", "") == "dt"
        found = self.values.kinds(node.value) if member.kinds or how in _KNOWN else set()
        if how == "h5_value" and not found:  # f[name].value
            owner = node.value
            return isinstance(owner, ast.Subscript) and not isinstance(owner.value, ast.Attribute)
        if how == "numeric":
            return found == {kinds.FRAME} and not _has(call, "numeric_only")
        if how == "fill_method":
            return _has(call, "method")
        if how == "frequency":
            return call is not None and bool(frequencies(call))
        if how == "inclusive":
            given = keyword(call, "inclusive") if call is not None else None
            return isinstance(constant(given), bool)
        may_be = {*member.kinds, *kinds.TABLES, kinds.H5_GROUP}
        return not member.kinds or (bool(found & set(member.kinds)) and found <= may_be)

    def _sources(self, node: ast.AST) -> AbstractSet[str]:
        """The kinds of what an element was taken from."""
        if isinstance(node, ast.Subscript):
            return self.values.kinds(node.value)
        for loop in indexes.nodes(self.module, ast.comprehension, ast.For):
            is_it = getattr(loop.target, "id", "") == getattr(node, "id", "-")
            if is_it and isinstance(loop.iter, ast.Subscript):
                return self.values.kinds(loop.iter.value)
        return set()

    # pandas ------------------------------------------------------------------------------------

    def _assigned(self, node: ast.Assign) -> Iterator[Difference]:
        for target in node.targets:
            column = target.value if isinstance(target, ast.Subscript) else None
            if column is not None and self.is_column(column):
                yield Difference(table.ITEM_OF_COLUMN, target, None, "")

    def is_column(self, node: ast.AST) -> bool:
        """Whether an expression is ``df['a']``."""
        return (
            self._has_tables
            and isinstance(node, ast.Subscript)
            and self.values.kinds(node.value) == {kinds.FRAME}
            and isinstance(constant(index_of(node)), str)
        )

    def _columns(self, node: ast.Subscript) -> Iterator[Difference]:
        is_several = self._has_tables and isinstance(index_of(node), ast.Tuple)
        if is_several and self.values.kinds(node.value) == {kinds.GROUPED}:
            yield Difference(table.COLUMNS_OF_GROUPS, node, None, "")

    def _methods(self) -> Iterator[Difference]:
        """Calls of methods that change a column in place, and of ``str.replace``."""
        for call in self.names.calls:
            function: Any = call.node.func
            if call.guarded or call.name[:1] != "." or not isinstance(function, ast.Attribute):
                continue
            has_level = function.attr in kinds.REDUCTIONS and _has(call.node, "level")
            if has_level and self.values.kinds(function.value) & kinds.TABLES:
                yield Difference(table.LEVEL, call.node, call.node)
            if function.attr in table.IN_PLACE_METHODS and self.is_column(function.value):
                if constant(keyword(call.node, "inplace")) is True:
                    row = table.IN_PLACE
                    words = (row.was.format(function.attr), row.becomes.format(function.attr))
                    yield Difference(
                        row._replace(was=words[0], becomes=words[1]), call.node, call.node
                    )
            elif function.attr == "replace" and getattr(function.value, "attr", "") == "str":
                pattern = argument(call.node, 0, "pat")
                is_plain = isinstance(constant(pattern), str) and len(constant(pattern)) == 1
                if self._has_tables and not is_plain and not _has(call.node, "regex"):
                    yield Difference(table.PATTERN, call.node, call.node)


def frequencies(call: ast.Call) -> dict[int, tuple[ast.expr, str]]:
    """The frequencies of a call that have other letters now, and those."""
    found = {}
    words = [word.value for word in call.keywords if word.arg in ("freq", "rule")]
    for given in (*call.args, *words):
        match = _FREQUENCY.match(str(constant(given))) if constant(given) else None
        if match is not None and match.group(2) in table.FREQUENCIES:
            letters = table.FREQUENCIES[match.group(2)]
            found[id(given)] = given, match.group(1) + letters + (match.group(3) or "")
    return found


def _has(call: ast.Call | None, name: str) -> bool:
    return call is not None and keyword(call, name) is not None


def index_of(node: ast.Subscript) -> Any:
    """What stands between the brackets, for any Python."""
    where: Any = node.slice
    return where.value if type(where).__name__ == "Index" else where


def _may_be_float(node: ast.AST | None) -> bool:
    """Whether a number has a fraction, as far as its expression tells."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Div) or any(map(_may_be_float, (node.left, node.right)))
    return isinstance(constant(node), float)


def _is_generator(node: ast.AST | None, names: bool) -> bool:
    if isinstance(node, ast.GeneratorExp):
        return True
    function = node.func if names and isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr in ("values", "keys", "items") and not node.args  # type: ignore[union-attr]
    return getattr(function, "id", "") in ("map", "filter", "zip", "reversed")


def _is_old(then: renamed.Then, call: ast.Call) -> bool:
    if any(isinstance(one, ast.Starred) for one in call.args):
        return False
    words = {word.arg for word in call.keywords}
    if words & {*then.renamed, *then.dropped}:
        return True
    order = then.order.split()
    first = max(then.first, order[:1] == ["data"])
    return bool(order) and first < len(call.args) <= len(order)
