"""What a Session's computations are given: placeholders that are fed, and what an iterator has next."""

from __future__ import annotations

import ast
from typing import Any, Mapping, Sequence, Union

from tpucompat.commands.migrate import keras
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import argument, walk

#: The module that is written beside the script.
MODULE = "session_loop"
#: Text, and nodes that stay, in the order in which they stand in the file.
Parts = Sequence[Union[str, ast.AST]]

#: What an expression has in it that may be computed at another time, or twice.
_STILL = (
    *(ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Slice, ast.BinOp, ast.UnaryOp),
    *(ast.Tuple, ast.operator, ast.unaryop, ast.expr_context),
)
_ITERATORS = ("make_one_shot_iterator", "make_initializable_iterator")


class Inputs:
    """The inputs of the computations of a file.

    Args:
      context: The file.
      cell: Where its Session stands.

    Attributes:
      placeholders: Name -> the statement that makes it.
      replaced: Expressions, and what is written there.
      names: The identities of loads of names that are accounted for.
      added: Statements, and what is written before them.
    """

    def __init__(self, context: Context, cell: int) -> None:
        self._context = context
        self._text = context.texts[cell]
        self.placeholders: dict[str, ast.Assign] = {}
        self.replaced: list[tuple[Any, Parts]] = []
        self.names: set[int] = set()
        self.added: list[tuple[ast.stmt, str]] = []
        self._iterators: dict[str, ast.AST] = {}  # -> the dataset
        self._elements: dict[str, list[str]] = {}  # iterator -> the names of what it gives
        self._one_value: set[str] = set()  # iterators that give no tuple
        self._feeds: dict[str, ast.Dict] = {}
        self._orders: dict[
            str, list[str]
        ] = {}  # name of feeds -> the order that they are passed in

    @property
    def known(self) -> set[str]:
        """The names of all of them, but for placeholders."""
        drawn = {name for names in self._elements.values() for name in names}
        named = self._iterators.keys() - {"batches" for _ in self.added}
        return drawn | named | {*self._orders}

    def __contains__(self, name: str) -> bool:
        """Whether a computation may be given what has this name."""
        return name in self.placeholders or any(name in one for one in self._elements.values())

    def define(self, statement: ast.Assign, called: str) -> bool:
        """Keeps what a statement before the Session calls by a name; False for something else.

        Args:
          statement: The statement.
          called: The dotted name of the function that it calls.
        """
        node: Any = statement.value
        method = getattr(node.func, "attr", "")
        owner = getattr(getattr(node.func, "value", None), "id", "")
        target = statement.targets[0]
        if method == "get_next":
            owner = owner or self._without_name(node.func.value, statement)
        if method == "get_next" and owner in self._iterators:
            is_tuple = isinstance(target, (ast.Tuple, ast.List))
            names = [getattr(one, "id", "") for one in (target.elts if is_tuple else [target])]  # type: ignore[attr-defined]
            if node.args or node.keywords or owner in self._elements or not all(names):
                raise CannotSee("what an iterator gives")
            self._elements[owner] = names
            self._one_value |= set() if is_tuple else {owner}
            self.names.add(id(node.func.value))
            self.replaced.append((node, [owner + ".element_spec"]))
        elif not isinstance(target, ast.Name):
            return False
        elif called == "tensorflow.placeholder":
            self.placeholders[target.id] = statement
            self.replaced.append((node, self._specification(node)))
        elif method in _ITERATORS:
            is_function = called.startswith("tensorflow.")
            data = node.args[0] if is_function and node.args else node.func.value
            if node.keywords or len(node.args) != is_function:
                raise CannotSee("arguments of an iterator")
            self._iterators[target.id] = data
            self.replaced.append((node, ["iter(", data, ")"]))
        else:
            return False
        return True

    def _without_name(self, node: ast.AST, statement: ast.Assign) -> str:
        """The name that an iterator gets whose ``get_next`` is called at once; "" for something else."""
        method = getattr(getattr(node, "func", None), "attr", "")
        data = node.func.value if isinstance(node, ast.Call) and not node.args else None  # type: ignore[attr-defined]
        if method not in _ITERATORS or not is_still(data) or not self._context.is_free("batches"):
            return ""
        self._iterators["batches"] = data  # type: ignore[assignment]
        self.added.append((statement, f"batches = iter({self._text.source(data)})"))  # type: ignore[arg-type]
        return "batches"

    def _specification(self, node: ast.Call) -> Parts:
        """``tf.placeholder(dtype, shape)`` -> ``tf.TensorSpec(shape, dtype)``."""
        dtype, shape = argument(node, 0, "dtype"), argument(node, 1, "shape")
        if dtype is None or len(node.args) > 3:
            raise CannotSee("arguments of tf.placeholder")
        of = self._text.source(shape) if shape is not None else "None"
        spec = self._context.local("tf.TensorSpec")
        return [f"{spec}({of}, {self._text.source(dtype)})"]

    def begins_again(self, fetch: ast.AST, node: ast.Call, is_statement: bool) -> bool:
        """``session.run(iterator.initializer)`` makes a new iterator; False for another fetch."""
        owner = getattr(fetch, "value", None)
        if not isinstance(owner, ast.Name) or owner.id not in self._iterators:
            return False
        if getattr(fetch, "attr", "") != "initializer" or not is_statement:
            raise CannotSee(f"{owner.id} has other uses")
        self.names.add(id(owner))
        data = self._text.source(self._iterators[owner.id])
        self.replaced.append((node, [f"{owner.id} = iter({data})"]))
        return True

    def fed(self, node: ast.AST | None) -> Mapping[str, ast.AST]:
        """What a run is fed: placeholder -> value."""
        if node is None:
            return {}
        if isinstance(node, ast.Name):
            made = keras.only_assignment(self._context, node.id)
            if made is None or not isinstance(made[0].value, ast.Dict):
                raise CannotSee("cannot find what it feeds")
            self.names.add(id(node))
            self._feeds[node.id] = made[0].value
            node = made[0].value
        keys = node.keys if isinstance(node, ast.Dict) else [None]
        found: dict[str, ast.AST] = {}
        for key, value in zip(keys, getattr(node, "values", keys)):
            if not isinstance(key, ast.Name) or key.id not in self.placeholders:
                raise CannotSee("it feeds something else than placeholders by their names")
            self.names.add(id(key))
            found[key.id] = value
        return found

    def call_all(
        self, node: ast.Call, found: Sequence[Any], feeds: Mapping[str, ast.AST], fetch: ast.AST
    ) -> None:
        """Calls several computations in the place of one run.

        Args:
          node: The run.
          found: The computations, with ``name`` and ``given``.
          feeds: As :meth:`fed` gives it.
          fetch: The list or tuple that names them.
        """
        wanted = {name for one in found for name in one.given}
        if {*feeds} != wanted or not all(map(is_still, feeds.values())):
            raise CannotSee("its computations are fed together")
        texts = {name: self._text.source(value) for name, value in feeds.items()}
        calls = [f"{one.name}({', '.join(texts[name] for name in one.given)})" for one in found]
        ends = "()" if isinstance(fetch, ast.Tuple) else "[]"
        self.replaced.append((node, [ends[0] + ", ".join(calls) + ends[1]]))

    def values(self, feeds: Mapping[str, ast.AST], wanted: list[str]) -> Parts:
        """What is fed or drawn, as the arguments of a call.

        Args:
          feeds: As :meth:`fed` gives it.
          wanted: The names of what the computation takes, in its order.
        """
        iterator = next((name for name, one in self._elements.items() if {*one} & {*wanted}), "")
        if iterator:
            if feeds or self._elements[iterator] != wanted:
                raise CannotSee("a computation takes some of what its iterator gives")
            return [("" if iterator in self._one_value else "*") + f"{iterator}.get_next()"]
        if set(feeds) != set(wanted) or len(wanted) != len(set(wanted)):
            raise CannotSee("a run is fed something else than the inputs of its computation")
        fed = [*feeds.values()]
        parts: list[Any] = [part for value in fed for part in (", ", value)][1:]
        is_ordered = list(feeds) == wanted
        if not is_ordered and all(map(is_still, fed)):
            parts = [", ".join(self._text.source(feeds[name]) for name in wanted)]
        elif not is_ordered:  # what is fed is computed in the order in which it stands there
            places = ", ".join(str(list(feeds).index(name)) for name in wanted)
            parts = [f"*{MODULE}.chosen([", *parts, f"], {places})"]
        name = next((name for name, one in self._feeds.items() if {*fed} & {*one.values}), "")
        if not name:
            return parts
        if name not in self._orders:
            self._orders[name] = wanted
            self.replaced.append((self._feeds[name], ["[", *parts, "]"]))
        elif self._orders[name] != wanted:
            raise CannotSee("its computations are fed differently")
        return ["*" + name]


def is_still(node: ast.AST | None) -> bool:
    """Whether it does not matter when an expression is computed, and how often."""
    return node is not None and all(isinstance(one, _STILL) for one in walk(node))
