"""What a Session's computations are given: placeholders that are fed, and what an iterator has next."""

from __future__ import annotations

import ast
from typing import Any, Dict, Mapping, Sequence, Union

from tpucompat.commands.analysis.keras_values import key
from tpucompat.commands.migrate import keras, session_forms
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
#: What an iterator is called that has no name.
_NAMES = ("batches", "next_batches", "input_batches")
_ITERATORS = ("make_one_shot_iterator", "make_initializable_iterator")


class Fed(Dict[str, ast.AST]):
    """What a run is fed: placeholder -> value.

    Attributes:
      by: The name or the call that stands for the dictionary; None where it stands there itself.
    """

    by: ast.AST | None = None


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
      called: The identities of other names of placeholders, of parameters -> what each stands for.
    """

    def __init__(self, context: Context, cell: int) -> None:
        self._context = context
        self._cell = cell
        self._text = context.texts[cell]
        self.placeholders: dict[str, ast.Assign] = {}
        self.replaced: list[tuple[Any, Parts]] = []
        self.names: set[int] = set()
        self.added: list[tuple[ast.stmt, str]] = []
        self.called: dict[int, str] = {}
        self._iterators: dict[str, ast.AST] = {}  # -> the dataset
        self._made: set[str] = set()  # iterators that had no name
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
        named = self._iterators.keys() - self._made
        return drawn | named | self._orders.keys() - self._context.names.functions.keys()

    def __contains__(self, name: str) -> bool:
        """Whether a computation may be given what has this name."""
        return name in self.placeholders or any(name in one for one in self._elements.values())

    def define_all(self, statement: ast.Assign, calls: Mapping[int, str]) -> bool:
        """Keeps placeholders that one statement makes, ``x, y = tf.placeholder(…), tf.placeholder(…)``.

        Args:
          statement: The statement.
          calls: The identities of calls, and the dotted names of what they call.
        """
        target, value = statement.targets[0], statement.value
        made, names = getattr(value, "elts", []), getattr(target, "elts", [])
        known = all(calls.get(id(one)) == "tensorflow.placeholder" for one in made)
        if not made or not known or len(made) != len(names):
            return False
        for name, node in zip(names, made):
            one = ast.copy_location(ast.Assign([name], node), statement)
            self.define(one, "tensorflow.placeholder")
        return True

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
            if node.args or node.keywords or owner in self._elements:
                raise CannotSee("what an iterator gives")
            self.names.add(id(node.func.value))
            self._take(owner, target, node)
        elif self._is_drawn(node):
            self._take(self._call(statement, node, self._text.source(node)), target, node)
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

    def _take(self, owner: str, target: ast.AST, node: ast.AST) -> None:
        """Names take what an iterator gives."""
        is_tuple = isinstance(target, (ast.Tuple, ast.List))
        names = [getattr(one, "id", "") for one in (target.elts if is_tuple else [target])]  # type: ignore[attr-defined]
        if not all(names):
            raise CannotSee("what an iterator gives")
        self._elements[owner] = names
        self._one_value |= set() if is_tuple else {owner}
        self.replaced.append((node, [owner + ".element_spec"]))

    def _is_drawn(self, node: ast.Call) -> bool:
        """Whether a function that is called once returns what its iterator has next; then it returns that."""
        name = getattr(node.func, "id", "")
        function = self._context.names.functions.get(name)
        if function is None:
            return False
        calls = session_forms.calls_of(self._context, name) or []
        body = function.node.body if isinstance(function.node, ast.FunctionDef) else []
        if len(calls) != 1 or not body or not isinstance(body[-1], ast.Return):
            return False
        if sum(isinstance(one, ast.Return) for one in walk(function.node)) > 1:
            return False
        returned: Any = body[-1].value
        drawn, target = returned, None
        if isinstance(returned, (ast.Name, ast.Tuple)) and isinstance(body[-2:][0], ast.Assign):
            drawn, (target, *_) = body[-2].value, body[-2].targets  # type: ignore[attr-defined]
            if ast.unparse(target) != ast.unparse(returned):
                return False
        made = self._one_shot(drawn, body)
        if made is None:
            return False
        if target is not None:  # a, b = iterator.get_next(), and then return a, b
            name = self._free_name()
            self.replaced += [(target, [name]), (returned, [name])]
        self.replaced.append((drawn, made))
        return True

    def _one_shot(self, drawn: Any, body: list[ast.stmt]) -> Parts | None:
        """``dataset.make_one_shot_iterator().get_next()`` without its end; None for something else."""
        if not isinstance(drawn, ast.Call) or drawn.args or drawn.keywords:
            return None
        if not isinstance(drawn.func, ast.Attribute) or drawn.func.attr != "get_next":
            return None
        made = drawn.func.value
        stored = (one for one in body if isinstance(one, ast.Assign) and len(one.targets) == 1)
        assigned = [one.value for one in stored if key(one.targets[0]) == key(made) != ""]
        data = assigned[0] if len(assigned) == 1 else made
        if not isinstance(data, ast.Call) or data.args or data.keywords:
            return None
        if getattr(data.func, "attr", "") != "make_one_shot_iterator":
            return None
        parts: Parts = ["iter(", data.func.value, ")"]  # type: ignore[attr-defined]
        if data is made:
            return parts
        self.replaced.append((data, parts))
        return [made]

    def _without_name(self, node: ast.AST, statement: ast.Assign) -> str:
        """The name that an iterator gets whose ``get_next`` is called at once; "" for something else."""
        method = getattr(getattr(node, "func", None), "attr", "")
        data = node.func.value if isinstance(node, ast.Call) and not node.args else None  # type: ignore[attr-defined]
        if method not in _ITERATORS or not is_still(data):
            return ""
        return self._call(statement, data, f"iter({self._text.source(data)})")  # type: ignore[arg-type]

    def _call(self, statement: ast.stmt, data: ast.AST, words: str) -> str:
        """Gives a name, which is returned, to an iterator that has none."""
        name = self._free_name()
        self._made.add(name)
        self._iterators[name] = data
        self.added.append((statement, f"{name} = {words}"))
        return name

    def _free_name(self) -> str:
        free = (one for one in _NAMES if one not in self._made and self._context.is_free(one))
        name = next(free, "")
        if not name:
            raise CannotSee("an iterator without a name")
        return name

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

    def fed(self, node: ast.AST | None) -> Fed:
        """What a run is fed."""
        found = Fed()
        if node is None:
            return found
        if isinstance(node, ast.Name):
            made = keras.only_assignment(self._context, node.id)
            if made is None or not isinstance(made[0].value, ast.Dict):
                raise CannotSee("cannot find what it feeds")
            self.names.add(id(node))
            self._feeds[node.id] = made[0].value
            found.by, node = node, made[0].value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            self._feeds[node.func.id] = self._returned(node.func.id)
            found.by, node = node, self._feeds[node.func.id]
        keys = node.keys if isinstance(node, ast.Dict) else [None]
        for name, value in zip(keys, getattr(node, "values", keys)):
            named = self.called.get(id(name), getattr(name, "id", ""))
            if named not in self.placeholders:
                raise CannotSee("it feeds something else than placeholders by their names")
            self.names.add(id(name))
            found[named] = value
        return found

    def _returned(self, name: str) -> ast.Dict:
        """The dictionary that a function of the file returns, which only feeds runs."""
        function = self._context.names.functions.get(name)
        returns = (
            [one for one in walk(function.node) if isinstance(one, ast.Return)] if function else []
        )
        parents = self._context.parents(self._cell)
        calls = session_forms.calls_of(self._context, name) or []
        for call in calls:
            above: Any = parents.get(id(call))
            is_fed = isinstance(above, ast.keyword) and above.arg == "feed_dict"
            if not is_fed and not (isinstance(above, ast.Call) and above.args[1:2] == [call]):
                raise CannotSee("cannot find what it feeds")
        if not calls or len(returns) != 1 or not isinstance(returns[0].value, ast.Dict):
            raise CannotSee("cannot find what it feeds")
        return returns[0].value

    def call_all(self, node: ast.Call, found: Sequence[Any], feeds: Fed, fetch: ast.AST) -> None:
        """Calls several computations in the place of one run.

        Args:
          node: The run.
          found: The computations, with ``name`` and ``given``.
          feeds: As :meth:`fed` gives it.
          fetch: The list or tuple that names them.
        """
        wanted = {name for one in found for name in one.given}
        is_call = isinstance(feeds.by, ast.Call)
        if {*feeds} != wanted or is_call or not all(map(is_still, feeds.values())):
            raise CannotSee("its computations are fed together")
        texts = {name: self._text.source(value) for name, value in feeds.items()}
        calls = [f"{one.name}({', '.join(texts[name] for name in one.given)})" for one in found]
        ends = "()" if isinstance(fetch, ast.Tuple) else "[]"
        self.replaced.append((node, [ends[0] + ", ".join(calls) + ends[1]]))

    def values(self, feeds: Fed, wanted: list[str]) -> Parts:
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
        if feeds.by is None:
            return parts
        name = getattr(getattr(feeds.by, "func", feeds.by), "id", "")
        if name not in self._orders:
            self._orders[name] = wanted
            self.replaced.append((self._feeds[name], ["[", *parts, "]"]))
        elif self._orders[name] != wanted:
            raise CannotSee("its computations are fed differently")
        return ["*", feeds.by]


def is_still(node: ast.AST | None) -> bool:
    """Whether it does not matter when an expression is computed, and how often."""
    return node is not None and all(isinstance(one, _STILL) for one in walk(node))
