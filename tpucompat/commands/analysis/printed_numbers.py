"""Lists, tuples and dictionaries of NumPy's numbers that a script shows.

NumPy 1 wrote such a number as Python does; within a list NumPy 2 writes ``np.float64(0.5)``.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis.keras_values import key
from tpucompat.names.used import constant, keyword

#: Functions of NumPy, and methods of arrays and Sessions, that give one number.
_GIVE_NUMBERS = re.compile(
    r"(numpy(\.\w+)*)?\.(a?m(ax|in)|arg(max|min)|average|mean|median|nan\w+|norm|percentile|prod|quantile|std|sum|var)$"
    r"|numpy\.(abs\w*|around|ceil|dot|exp|floor|(float|int)\d+|log\w*|power|round|sqrt|square)$"
    r"|\.(eval|get_value|numpy|run)$|(tensorflow\.)?keras\.backend\.(eval|get_value)$"
)
_GIVE_ARRAYS = re.compile(r"numpy\.|\.(get_weights|predict|predict_on_batch)$")
#: Functions of Python whose results hold what they are given.
_PASS_ON = frozenset(("dict", "enumerate", "list", "reversed", "set", "sorted", "tuple", "zip"))
_SHOWS = frozenset(("print", "repr", "str"))
_LOGS = frozenset((".debug", ".error", ".format", ".info", ".log", ".warn", ".warning"))
#: Methods that put a value into a list or set, and those that put in all of another one.
_PUTS = frozenset((".add", ".append", ".appendleft", ".insert"))
_TAKES_IN = frozenset((".extend", ".update"))
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)
#: How far assignments are followed.
_DEPTH = 4


class Shown:
    """What a file shows.

    Args:
      module: The file, as :func:`tpucompat.commands.analysis.findings.understand` gives it.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        self._called = {id(call.node): call.name for call in module.names.calls}
        self._made: dict[str, list[ast.expr]] = {}
        self._put: dict[str, list[ast.expr]] = {}
        #: What is put into the lists of a dictionary.
        self._items: dict[str, list[ast.expr]] = {}
        for node in indexes.nodes(module, ast.Assign, ast.AugAssign):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    into = self._put if isinstance(target, ast.Subscript) else self._made
                    into.setdefault(_root(target), []).append(node.value)
            else:
                self._made.setdefault(_root(node.target), []).append(node.value)
        for call in module.names.calls:
            if call.name in _PUTS or call.name in _TAKES_IN:
                into = self._put if call.name in _PUTS else self._made
                owner: Any = call.node.func.value
                into.setdefault(_root(owner), []).extend(call.node.args[-1:])
                if _root(owner) != _name(owner):
                    inside = [ast.List(call.node.args[-1:], ast.Load())] * (call.name in _PUTS)
                    self._items.setdefault(_root(owner), []).extend(inside or call.node.args[-1:])

    def numbers(self) -> Iterator[ast.AST]:
        """Where a list of NumPy's numbers is made into text."""
        if any(
            self._called.get(id(node)) == "numpy.set_printoptions" and keyword(node, "legacy")
            for node in indexes.nodes(self._module, ast.Call)
        ):
            return
        for node in indexes.nodes(self._module, ast.Call, ast.FormattedValue, ast.BinOp):
            if any(self._holds(one, _DEPTH) for one in self._shown(node)):
                yield node

    def _shown(self, node: Any) -> list[ast.expr]:
        if isinstance(node, ast.Call):
            name = self._called.get(id(node), getattr(node.func, "id", ""))
            is_shown = name in _SHOWS or "." + name.rpartition(".")[2] in _LOGS
            return [*node.args, *(word.value for word in node.keywords)] if is_shown else []
        if isinstance(node, ast.FormattedValue):
            return [node.value]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            parts = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            return parts if _is_text(node.left) else []
        return []

    def _holds(self, node: Any, depth: int) -> bool:
        """Whether a value is a list, tuple or dictionary with numbers of NumPy in it."""
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return any(self._is_inside(one, depth) for one in node.elts)
        if isinstance(node, ast.Dict):
            return any(self._is_inside(one, depth) for one in node.values)
        if isinstance(node, _COMPREHENSIONS):
            return self._is_inside(node.elt, depth)
        if isinstance(node, ast.DictComp):
            return self._is_inside(node.value, depth)
        if isinstance(node, ast.Call):
            function: Any = node.func
            if getattr(function, "id", "") in _PASS_ON:
                return any(self._holds(one, depth) for one in node.args)
            is_view = getattr(function, "attr", "") in ("copy", "items", "values")
            return is_view and self._holds(function.value, depth)
        if isinstance(node, ast.Subscript) and depth:
            return any(self._holds(one, depth - 1) for one in self._items.get(_root(node), ()))
        name = _name(node)
        return bool(name) and depth > 0 and self._named_holds(name, depth - 1)

    @indexes.once
    def _named_holds(self, name: str, depth: int) -> bool:
        return any(self._holds(one, depth) for one in self._made.get(name, ())) or any(
            self._is_inside(one, depth) for one in self._put.get(name, ())
        )

    def _is_inside(self, node: Any, depth: int) -> bool:
        return self._is_number(node, depth) or self._holds(node, depth)

    def _is_number(self, node: Any, depth: int) -> bool:
        """Whether a value may be one number of NumPy."""
        if isinstance(node, ast.Call):
            return bool(_GIVE_NUMBERS.match(self._called.get(id(node), "")))
        if isinstance(node, ast.BinOp):
            sides = () if _is_text(node.left) else (node.left, node.right)
            return any(self._is_number(one, depth) for one in sides)
        if isinstance(node, ast.IfExp):
            return any(self._is_number(one, depth) for one in (node.body, node.orelse))
        if isinstance(node, ast.Subscript) and depth:
            return self._is_array(_root(node))
        name = _name(node)
        return bool(name) and depth > 0 and self._is_named_number(name, depth - 1)

    @indexes.once
    def _is_array(self, name: str) -> bool:
        made = self._made.get(name, ())
        return any(_GIVE_ARRAYS.search(self._called.get(id(one), "")) for one in made)

    @indexes.once
    def _is_named_number(self, name: str, depth: int) -> bool:
        return any(self._is_number(one, depth) for one in self._made.get(name, ()))


def _is_text(node: ast.AST) -> bool:
    return isinstance(constant(node), str)


def _root(node: Any) -> str:
    """What a name, or a place in what it stands for, is called: ``logs`` of ``logs.setdefault('loss', [])``."""
    while isinstance(node, ast.Subscript) or _asks_for_place(node):
        node = node.value if isinstance(node, ast.Subscript) else node.func.value
    return _name(node)


def _name(node: ast.AST) -> str:
    """A name, or an attribute by itself: what ``self`` is called elsewhere is unknown."""
    return f".{node.attr}" if isinstance(node, ast.Attribute) else key(node)


def _asks_for_place(node: Any) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("get", "setdefault")
