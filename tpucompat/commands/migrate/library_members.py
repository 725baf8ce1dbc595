"""Rewrites what newer releases of NumPy, pandas, h5py and others removed; the rows are in library_rows.py."""

from __future__ import annotations

import ast
from typing import Any, Mapping

from tpucompat.commands.analysis import indexes, library_members
from tpucompat.commands.analysis import library_values as kinds
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter, Rewriting
from tpucompat.names import renamed
from tpucompat.names.used import argument, constant, keyword, walk


def rewrite(context: Context) -> None:
    """Rewrites every removed member and argument of a file, or marks it."""
    if not library_members.applies(context.module):
        return
    rewriter = Rewriter(context, REWRITINGS, library_members.Finder(context.module))
    for one in rewriter.found:
        with context.rule(one.row.code):
            rewriter.rewrite(one)
    rewriter.finish()


# Attributes ----------------------------------------------------------------------------------------


def _rename(self: Rewriter, one: Difference) -> bool:
    return self.rename_attribute(one, one.row.note)


def _frequency(self: Rewriter, one: Difference) -> bool:
    """``resample('M')`` -> ``resample('ME')``"""
    call = one.node if isinstance(one.node, ast.Call) else self.call_of(one.node)
    for given, now in library_members.frequencies(call).values() if call is not None else ():
        self.context.replace(given, self.cell(given), repr(now))
    return call is not None


def _inclusive(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    given = keyword(call, "inclusive") if call is not None else None
    if given is None:
        return False
    words = "'both'" if constant(given) else "'neither'"
    return self.context.replace(given, self.cell(given), words)


def _with_arguments(self: Rewriter, one: Difference, before: str, between: str = "") -> bool:
    """``x.method(a)`` -> ``before(x, a)``, with words between the two."""
    call = self.call_of(one.node)
    if call is None:
        return False
    text = self.context.texts[self.cell(call)]
    start, inner = text.span(call)[0], text.span(one.node.value)[1]
    opening = text.text.index("(", text.span(one.node)[1])
    if not text.is_free(inner, opening + 1):
        return False
    more = ", " if call.args or call.keywords else ""
    text.replace(start, start, before)
    text.replace(inner, opening + 1, between or more)
    return True


def _append(self: Rewriter, one: Difference) -> bool:
    """``df.append(other)`` -> ``pd.concat([df, other])``"""
    call = self.call_of(one.node)
    if call is None or not call.args or len(call.args) > 1:
        return False
    other = call.args[0]
    found = self.finder.values.kinds(other)
    text = self.context.texts[self.cell(call)]
    series = self.context.local("pandas.Series")
    before, after = "", "]"
    if found == {kinds.MAPPING}:
        before, after = f"{series}(", ").to_frame().T.infer_objects()]"  # one type for all numbers
    elif found == {kinds.SERIES} and kinds.FRAME in self.finder.values.kinds(one.node.value):
        after = ".to_frame().T]"
    elif found == {kinds.LIST}:
        inside = _inside(self, other)
        of_rows = bool(inside) and inside <= {kinds.MAPPING, kinds.SERIES}
        if kinds.FRAME not in self.finder.values.kinds(one.node.value) or inside == {kinds.FRAME}:
            before = "*"
        elif of_rows:  # each a dictionary or a Series
            before, after = f"{self.context.local('pandas.DataFrame')}(", ")]"
        else:
            return False
    elif not found & kinds.TABLES:
        return False
    if not _with_arguments(self, one, self.context.local("pandas.concat") + "([", f", {before}"):
        return False
    end = text.span(other)[1]
    text.replace(end, end, after)
    return True


def _inside(self: Rewriter, node: ast.expr) -> set[str]:
    """The kinds of what is in a list, as far as a file shows it: "" among them for what it does not."""
    parts: list[ast.expr] = list(getattr(node, "elts", ()))
    if isinstance(node, ast.Name):
        for made in self.finder.values.values(node):
            parts += getattr(made, "elts", [getattr(made, "elt", made)])
        puts = indexes.calls(self.finder.names, ".append")
        owned = (
            call.node for call in puts if key(getattr(call.node.func, "value", node)) == node.id
        )
        parts += [value for call in owned for value in call.args[:1]]
    found: set[str] = set()
    for part in parts:
        found |= self.finder.values.kinds(part) or {""}
    return found


def _printed(self: Rewriter, one: Difference) -> bool:
    numpy = self.context.local("numpy")
    self.context.put_behind_imports(f"{numpy}.set_printoptions(legacy='1.25')")
    return True


def _text_type(self: Rewriter, one: Difference) -> bool:
    text = self.context.texts[self.cell(one.node)]
    asked, other = one.node.left, one.node.comparators[0]
    if ")" in text.text[text.span(asked)[1] : text.span(other)[0]]:
        return False  # of brackets around it
    self.context.done.update(id(inside) for inside in walk(other))
    asks = "not " * isinstance(one.node.ops[0], ast.NotEq) + "in (object, 'str')"
    if getattr(one.node.left, "attr", "") == "dtypes":  # of all columns
        return self.behind(one.node.left, one.node, f".map(lambda dtype: dtype {asks})")
    return self.behind(one.node.left, one.node, " " + asks)


_ARRAY_OF_ROWS = '''

def array_of_rows(rows):
{i}"""An array of rows; one of lists where they differ in length."""
{i}try:
{i}{i}return {numpy}.array(rows)
{i}except ValueError:
{i}{i}found = {numpy}.empty(len(rows), dtype=object)
{i}{i}found[:] = rows
{i}{i}return found
'''


def _ragged(self: Rewriter, one: Difference) -> bool:
    """``np.array(lists)`` -> ``array_of_rows(lists)``"""
    call = one.node
    if call.keywords or not self.context.helper("array_of_rows", _ARRAY_OF_ROWS):
        return False
    return self.context.replace(call.func, self.cell(call), "array_of_rows")


def _values(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    if call is None or len(call.args) + len(call.keywords) > 1:
        return False
    given = call.args[0] if call.args else keyword(call, "columns")
    text = self.context.texts[self.cell(call)]
    if given is None and not call.keywords:
        return self.behind(one.node.value, call, ".values")
    if given is None:
        return False
    return self.behind(one.node.value, call, f"[{text.source(given)}].values")


def _at(self: Rewriter, one: Difference) -> bool:
    """``df.get_value(row, column)`` -> ``df.at[row, column]``; ``set_value`` is a statement."""
    call = self.call_of(one.node)
    if call is None or call.keywords:
        return False
    text = self.context.texts[self.cell(call)]
    words = [text.source(argument) for argument in call.args]
    if one.node.attr == "get_value":
        return self.behind(one.node.value, call, f".at[{', '.join(words)}]")
    statement = self.context.parents(self.cell(call)).get(id(call))
    if not isinstance(statement, ast.Expr):
        return False
    return self.behind(one.node.value, call, f".at[{', '.join(words[:-1])}] = {words[-1]}")


def _ix(self: Rewriter, one: Difference) -> bool:
    """``.ix`` of labels is ``.loc``; a number is a label or a position, which the index decides."""
    above: Any = self.context.parents(self.cell(one.node)).get(id(one.node))
    if not isinstance(above, ast.Subscript):
        return False
    where = library_members.index_of(above)
    parts = where.elts if isinstance(where, ast.Tuple) else [where]
    return all(map(_is_label, parts)) and self.rename_attribute(one, "loc")


def _is_label(node: ast.AST) -> bool:
    if isinstance(node, ast.Slice):
        return all(isinstance(constant(one), (str, type(None))) for one in (node.lower, node.upper))
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(isinstance(constant(one), str) for one in node.elts)
    return isinstance(node, ast.Compare) or isinstance(constant(node), str)


def _mad(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    if call is None or call.args or call.keywords or not isinstance(one.node.value, ast.Name):
        return False
    name = one.node.value.id
    return self.context.replace(call, self.cell(call), f"({name} - {name}.mean()).abs().mean()")


def _week(self: Rewriter, one: Difference) -> bool:
    return self.behind(one.node.value, one.node, ".isocalendar().week.astype('int64')")


_FILLS = {"ffill": "ffill", "pad": "ffill", "bfill": "bfill", "backfill": "bfill"}


def _fill_method(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    method = keyword(call, "method") if call is not None else None
    if call is None or method is None:
        return False
    new = _FILLS.get(constant(method) or "")
    return (
        new is not None
        and not call.args
        and self.drop(call, method)
        and (self.rename_attribute(one, new))
    )


def _numeric(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    return call is not None and self.add(call, "numeric_only=True")


def _h5_value(self: Rewriter, one: Difference) -> bool:
    return self.behind(one.node.value, one.node, "[()]")


def _textsize(self: Rewriter, one: Difference) -> bool:
    return _boxed(self, one, "textbbox", "(0, 0), ")


def _getsize(self: Rewriter, one: Difference) -> bool:
    return _boxed(self, one, "getbbox", "")


def _boxed(self: Rewriter, one: Difference, name: str, first: str) -> bool:
    call = self.call_of(one.node)
    if call is None or not call.args:
        return False
    text = self.context.texts[self.cell(call)]
    start, end = text.span(call.args[0])[0], text.span(call)[1]
    text.replace(start, start, first)
    text.replace(end, end, "[2:]")
    return self.rename_attribute(one, name)


def _itemset(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    cell = self.cell(one.node)
    is_statement = isinstance(self.context.parents(cell).get(id(call)), ast.Expr)
    if call is None or not is_statement or call.keywords or not 1 <= len(call.args) <= 2:
        return False
    words = [self.context.texts[cell].source(argument) for argument in call.args]
    if len(words) == 1:
        return self.behind(one.node.value, call, f".flat[0] = {words[0]}")
    where = f"[{words[0]}]" if isinstance(call.args[0], ast.Tuple) else f".flat[{words[0]}]"
    return self.behind(one.node.value, call, f"{where} = {words[1]}")


def _ptp(self: Rewriter, one: Difference) -> bool:
    return _with_arguments(self, one, self.context.local("numpy.ptp") + "(")


def _byte_order(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    if call is None or not isinstance(one.node.value, ast.Name):
        return False
    text = self.context.texts[self.cell(call)]
    order = ", ".join(map(text.source, call.args))
    name = one.node.value.id
    return self.behind(one.node.value, call, f".view({name}.dtype.newbyteorder({order}))")


def _has_key(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    if call is None or len(call.args) != 1:
        return False
    text = self.context.texts[self.cell(call)]
    key = text.source(call.args[0])
    if not isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Constant, ast.Subscript)):
        key = f"({key})"
    words = f"({key} in {text.source(one.node.value)})"
    return self.context.replace(call, self.cell(call), words)


def _python_2(self: Rewriter, one: Difference) -> bool:
    name = one.row.becomes
    name = self.context.local(name) if "." in name else name
    return self.context.replace(one.node, self.cell(one.node), name)


def _next(self: Rewriter, one: Difference) -> bool:
    call = self.call_of(one.node)
    if call is None:
        return False
    cell = self.cell(call)
    text = self.context.texts[cell]
    return self.context.replace(call, cell, f"next({text.source(one.node.value)})")


def _no_encoding(self: Rewriter, one: Difference) -> bool:
    """``reload(sys)`` and ``sys.setdefaultencoding('utf8')`` go."""
    call = self.call_of(one.node)
    cell = self.cell(one.node)
    statement = self.context.parents(cell).get(id(call))
    if not isinstance(statement, ast.Expr):
        return False
    return self.context.remove(statement, cell) or self.context.replace(statement, cell, "pass")


def _children(self: Rewriter, one: Difference) -> bool:
    return _with_arguments(self, one, "list(")


# Columns -------------------------------------------------------------------------------------------


def _in_place(self: Rewriter, one: Difference) -> bool:
    """``df['a'].fillna(0, inplace=True)`` -> ``df['a'] = df['a'].fillna(0)``"""
    call = one.node
    cell = self.cell(call)
    value = keyword(call, "inplace")
    if not isinstance(self.context.parents(cell).get(id(call)), ast.Expr) or value is None:
        return False
    text = self.context.texts[cell]
    start = text.span(call)[0]
    text.replace(start, start, text.source(call.func.value) + " = ")
    return self.drop(call, value)


def _item_of_column(self: Rewriter, one: Difference) -> bool:
    """``df['a'][mask] = value`` -> ``df.loc[mask, 'a'] = value``, where the rows are a mask."""
    rows = library_members.index_of(one.node)
    if not isinstance(rows, (ast.Compare, ast.BinOp)):
        return False
    column = one.node.value
    text = self.context.texts[self.cell(column)]
    name = text.source(library_members.index_of(column))
    words = f".loc[{text.source(rows)}, {name}]"
    return self.behind(column.value, one.node, words)


def _columns(self: Rewriter, one: Difference) -> bool:
    return self.wrap(library_members.index_of(one.node), "[", "]")


def _pattern(self: Rewriter, one: Difference) -> bool:
    return self.add(one.node, "regex=True")


# Functions -----------------------------------------------------------------------------------------


def _arguments(self: Rewriter, one: Difference) -> bool:
    """Gives arguments their names, and their current ones."""
    call, then = one.node, self.finder.then(one)  # type: ignore[union-attr]
    order = then.order.split()
    first = max(then.first, order[:1] == ["data"])
    dropped = {id(word) for word in call.keywords if _says_the_rule(then, word)}
    for word in call.keywords:
        if word.arg in then.dropped and id(word) not in dropped and word.arg not in then.renamed:
            return False
    text = self.context.texts[self.cell(call)]
    if len(call.args) > first and len(call.args) <= len(order):
        for name, value in list(zip(order, call.args))[first:]:
            start = text.span(value)[0]
            text.replace(start, start, name + "=")
    for word in call.keywords:
        if id(word) in dropped:
            self.drop(call, word.value)
        elif word.arg in then.renamed:
            text.replace(*text.keyword(word), then.renamed[word.arg])
    return True


def _says_the_rule(then: renamed.Then, word: ast.keyword) -> bool:
    """Whether an argument that is gone says what is the rule now."""
    if word.arg is None or word.arg not in then.dropped:
        return False
    meant = then.dropped[word.arg]
    return meant is None or (isinstance(word.value, ast.Constant) and word.value.value in meant)


def _no_copy(self: Rewriter, one: Difference) -> bool:
    name = self.context.local("numpy.asarray")
    return self.drop(one.node, keyword(one.node, "copy")) and self.context.replace(  # type: ignore[arg-type]
        one.node.func, self.cell(one.node), name
    )


def _add(words: str) -> Rewriting:
    def rewriting(self: Rewriter, one: Difference) -> bool:
        return self.add(one.node, words)

    return rewriting


def _yaml_loader(self: Rewriter, one: Difference) -> bool:
    return self.add(one.node, "Loader=" + self.context.local("yaml.FullLoader"))


def _from_bytes(self: Rewriter, one: Difference) -> bool:
    end = self.context.texts[self.cell(one.node)].span(one.node)[1]
    self.context.texts[self.cell(one.node)].replace(end, end, ".copy()")
    name = self.context.local("numpy.frombuffer")
    return self.context.replace(one.node.func, self.cell(one.node), name)


def _whole_number(self: Rewriter, one: Difference) -> bool:
    return self.wrap(argument(one.node, 2, "num"), "int(", ")")  # type: ignore[arg-type]


def _sum_generator(self: Rewriter, one: Difference) -> bool:
    if len(one.node.args) > 1 or one.node.keywords:
        return False
    return self.context.replace(one.node.func, self.cell(one.node), "sum")


def _as_list(self: Rewriter, one: Difference) -> bool:
    first = one.node.args[0]
    if isinstance(first, ast.GeneratorExp):
        text = self.context.texts[self.cell(first)]
        inside = text.source(first)
        if not (inside.startswith("(") and inside.endswith(")")):
            return False
        start, end = text.span(first)
        shared = len(one.node.args) == 1 and not one.node.keywords and end == text.span(one.node)[1]
        text.replace(start, start + 1, "([" if shared else "[")
        text.replace(end - 1, end, "])" if shared else "]")
        return True
    return self.wrap(first, "list(", ")")


def _item(self: Rewriter, one: Difference) -> bool:
    """``np.asscalar(x)`` -> ``x.item()``"""
    call = one.node
    if len(call.args) != 1 or call.keywords:
        return False
    text = self.context.texts[self.cell(call)]
    start, end = text.span(call.args[0])
    is_simple = isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    text.replace(text.span(call)[0], start, "" if is_simple else "(")
    text.replace(end, text.span(call)[1], ".item()" if is_simple else ").item()")
    self.context.done.update((id(call), id(call.func)))
    return True


def _function(name: str, added: str = "", after: str = "") -> Rewriting:
    """Another function in the place of one, with arguments behind the others and words behind the call."""

    def rewriting(self: Rewriter, one: Difference) -> bool:
        if added:
            self.add(one.node, added)
        text = self.context.texts[self.cell(one.node)]
        end = text.span(one.node)[1]
        if after:
            text.replace(end, end, after)
        return self.context.replace(one.node.func, self.cell(one.node), self.context.local(name))

    return rewriting


def _float_array(self: Rewriter, one: Difference) -> bool:
    single = len(one.node.args) == 1 and not one.node.keywords
    return single and _function("numpy.asarray", "float")(self, one)


def _counts(self: Rewriter, one: Difference) -> bool:
    single = len(one.node.args) == 1 and not one.node.keywords
    return single and _function("pandas.Series", after=".value_counts()")(self, one)


def _h5_mode(self: Rewriter, one: Difference) -> bool:
    text = self.context.texts[self.cell(one.node)]
    if len(one.node.args) != 1:
        return False
    end = text.span(one.node.args[0])[1]
    text.replace(end, end, ", 'a'")
    return True


def _full_arguments(self: Rewriter, one: Difference) -> bool:
    """``args, _, _, defaults = inspect.getargspec(f)`` -> ``… = inspect.getfullargspec(f)[:4]``"""
    words = {node.attr for node in self.context.nodes if isinstance(node, ast.Attribute)}
    if "keywords" in words:
        return False  # of what it gave, perhaps: its name today is varkw
    above: Any = self.context.parents(self.cell(one.node)).get(id(one.node))
    is_unpacked = isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Tuple)
    return _function("inspect.getfullargspec", after="[:4]" * is_unpacked)(self, one)


def _sample_set(self: Rewriter, one: Difference) -> bool:
    return self.wrap(one.node.args[0], "tuple(", ")")


def _squared(self: Rewriter, one: Difference) -> bool:
    value = keyword(one.node, "squared")
    if value is None or not isinstance(constant(value), bool):
        return False
    if not constant(value):
        end = self.context.texts[self.cell(one.node)].span(one.node)[1]
        self.context.texts[self.cell(one.node)].replace(end, end, " ** 0.5")
    return self.drop(one.node, value)


def _class_weight(self: Rewriter, one: Difference) -> bool:
    text = self.context.texts[self.cell(one.node)]
    for name, value in zip(("classes", "y"), one.node.args[1:]):
        start, end = text.span(value)
        as_array = name == "classes" and isinstance(value, (ast.List, ast.Tuple))
        text.replace(
            start, start, f"{name}=" + (self.context.local("numpy.array") + "(" if as_array else "")
        )
        if as_array:
            text.replace(end, end, ")")
    return True


def _reader(self: Rewriter, one: Difference) -> bool:
    call = one.node
    text = self.context.texts[self.cell(call)]
    order = ("filepath", "sep", "delimiter", "header", "names", "index_col", "usecols")
    for name, value in list(zip(order, call.args))[1:]:
        start = text.span(value)[0]
        text.replace(start, start, name + "=")
    bad, warn = keyword(call, "error_bad_lines"), keyword(call, "warn_bad_lines")
    if bad is not None and constant(bad) is False:
        how = "skip" if constant(warn) is False and warn is not None else "warn"
        self.add(call, f"on_bad_lines={how!r}")
    for word in call.keywords:
        if word.arg in ("error_bad_lines", "warn_bad_lines"):
            self.drop(call, word.value)
        elif word.arg == "delim_whitespace":
            self.drop(call, word.value)
            if constant(word.value) is True:
                self.add(call, "sep=r'\\s+'")
        elif word.arg == "squeeze":
            self.drop(call, word.value)
            if constant(word.value) is True:
                end = text.span(call)[1]
                text.replace(end, end, ".squeeze('columns')")
    return True


#: ``how`` of a row -> its rewriting.
REWRITINGS: Mapping[str, Rewriting] = {
    "allow_pickle": _add("allow_pickle=True"),
    "append": _append,
    "arguments": _arguments,
    "as_list": _as_list,
    "at": _at,
    "byte_order": _byte_order,
    "children": _children,
    "class_weight": _class_weight,
    "columns": _columns,
    "counts": _counts,
    "dummies": _add("dtype='uint8'"),
    "fill_method": _fill_method,
    "float_array": _float_array,
    "from_bytes": _from_bytes,
    "full_arguments": _full_arguments,
    "get_cmap": _function("matplotlib.pyplot.get_cmap"),
    "getsize": _getsize,
    "h5_mode": _h5_mode,
    "h5_value": _h5_value,
    "has_key": _has_key,
    "in_place": _in_place,
    "item": _item,
    "item_of_column": _item_of_column,
    "itemset": _itemset,
    "ix": _ix,
    "mad": _mad,
    "no_copy": _no_copy,
    "numeric": _numeric,
    "pattern": _pattern,
    "frequency": _frequency,
    "inclusive": _inclusive,
    "property": _rename,
    "process_time": _function("time.process_time"),
    "ptp": _ptp,
    "next": _next,
    "python_2": _python_2,
    "no_encoding": _no_encoding,
    "printed": _printed,
    "text_type": _text_type,
    "reader": _reader,
    "ragged": _ragged,
    "rename": _rename,
    "sample_set": _sample_set,
    "sorted": _function("numpy.sort", "axis=0"),
    "squared": _squared,
    "sum_generator": _sum_generator,
    "textsize": _textsize,
    "values": _values,
    "week": _week,
    "whole_number": _whole_number,
    "yaml_loader": _yaml_loader,
}
