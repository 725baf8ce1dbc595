"""Sessions that a function makes, or is given: in the tree, they come to stand where they are open.

``def make_session(): return tf.Session(address)`` and its one call become the Session itself. A function that
is given the Session in all of its calls is given the program, and its statements are read like those around
the Session.
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, NamedTuple

from tpucompat.commands.analysis import indexes
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import Call, walk

#: What a function may use of TensorFlow that only makes a Session.
_OF_MAKERS = ("Session", "InteractiveSession", "ConfigProto", "GPUOptions", "TPUClusterResolver")
_FLAGS = ("tensorflow.flags.", "tensorflow.app.flags.", "tensorflow.logging.")


class Maker(NamedTuple):
    """A function that makes a Session, and the one call of it."""

    function: ast.FunctionDef
    call: ast.Call


def functions_of(context: Context) -> Iterator[ast.FunctionDef]:
    """The functions of a file that others can only call by their names."""
    for node in context.nodes:
        body = [] if isinstance(node, ast.ClassDef) else getattr(node, "body", [])
        for one in body if isinstance(body, list) else []:
            if isinstance(one, ast.FunctionDef) and not one.decorator_list:
                yield one


def calls_of(context: Context, name: str) -> list[ast.Call] | None:
    """All calls of a function; None where something else is done with it."""
    calls = _calls(context).get(name, [])
    return calls if len(context.named(name)) == len(calls) else None


@indexes.once
def _calls(context: Context) -> dict[str, list[ast.Call]]:
    """The names of functions -> their calls."""
    found: dict[str, list[ast.Call]] = {}
    for node in context.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.setdefault(node.func.id, []).append(node)
    return found


def maker_of(context: Context, session: Call) -> Maker | None:
    """The function that a Session is made in and returned from, or None.

    Raises:
      CannotSee: If the function does more, or is called more than once.
    """
    for function in functions_of(context):
        if not any(node is session.node for node in walk(function)):
            continue
        last = function.body[-1]
        value = last.value if isinstance(last, ast.Return) else None
        if isinstance(value, ast.Name):
            stored = (one for one in function.body if isinstance(one, ast.Assign))
            named = [one.value for one in stored if _is_name(one.targets[0], value.id)]
            value = named[0] if len(named) == 1 else None
        if value is not session.node:
            continue
        inside = {id(node) for node in walk(function)}
        for use in context.names.uses:
            is_known = use.name.rpartition(".")[2] in _OF_MAKERS or use.name.startswith(_FLAGS)
            if id(use.node) in inside and use.name.startswith("tensorflow") and not is_known:
                raise CannotSee(f"{function.name} does more than make a Session")
        calls = calls_of(context, function.name)
        if not calls or len(calls) > 1:
            raise CannotSee(
                f"{function.name} makes more than one Session, or is not called by name"
            )
        return Maker(function, calls[0])
    return None


class Passed:
    """Functions that are given the Session: while the file is read, the tree is without their parameter.

    Args:
      context: The file.
      session: What the Session is called.

    Attributes:
      functions: The functions.
      gone: The arguments and parameters, and where they stand.
    """

    def __init__(self, context: Context, session: str) -> None:
        self.functions: list[ast.FunctionDef] = []
        self.gone: list[tuple[int, Any]] = []
        self._undo: list[Any] = []
        self._context = context
        while any(self._take(one, session) for one in functions_of(context)):
            pass

    def undo(self) -> None:
        """Puts everything back."""
        for back in reversed(self._undo):
            back()

    def named(self, known: str) -> Iterator[tuple[ast.Name, list[ast.Name]]]:
        """Where a known name is given to the functions, and where they read it by their own name."""
        for function in self.functions:
            calls = calls_of(self._context, function.name) or []
            for index, parameter in enumerate(function.args.args):
                given = [call.args[index] for call in calls if index < len(call.args)]
                if len(given) == len(calls) == 1 and _is_name(given[0], known):
                    nodes = walk(function)
                    yield given[0], [one for one in nodes if _is_name(one, parameter.arg)]  # type: ignore[misc]

    def _take(self, function: ast.FunctionDef, session: str) -> bool:
        calls = calls_of(self._context, function.name)
        parameters = function.args.args
        if not calls or function.args.vararg or function.args.kwonlyargs:
            return False
        places = {
            index
            for index, one in enumerate(parameters)
            if index < len(parameters) - len(function.args.defaults)
            and all(_is_given(call, index, one.arg, session) for call in calls)
        }
        if len(places) != 1:
            return False
        (index,) = places
        name = parameters[index].arg
        names = [one for one in walk(function) if _is_name(one, name)]
        if any(not isinstance(one.ctx, ast.Load) for one in names):  # type: ignore[attr-defined]
            return False
        for call in calls:
            taken = call.args[index] if index < len(call.args) else _word(call, name)
            self.gone.append((self._context.cell_of(call), taken))
            self._remove(call.args if index < len(call.args) else call.keywords, taken)
        self.gone.append((self._context.cell_of(function), parameters[index]))
        self._remove(parameters, parameters[index])
        for one in names:
            one.id = session  # type: ignore[attr-defined]
            self._undo.append(lambda one=one: setattr(one, "id", name))
        if function not in self.functions:
            self.functions.append(function)
        return True

    def _remove(self, siblings: list[Any], one: Any) -> None:
        at = next(index for index, other in enumerate(siblings) if other is one)
        del siblings[at]
        self._undo.append(lambda: siblings.insert(at, one))

    def rewrite(self, program: str) -> None:
        """Puts the program in the place of the Session among arguments and parameters."""
        for cell, one in self.gone:
            text = self._context.texts[cell]
            if isinstance(one, ast.keyword):
                text.replace(*text.keyword(one), program)
                one = one.value
            text.replace(*text.span(one), program)


def _is_given(call: ast.Call, index: int, parameter: str, name: str) -> bool:
    if any(isinstance(one, ast.Starred) for one in call.args):
        return False
    given = (
        call.args[index]
        if index < len(call.args)
        else getattr(_word(call, parameter), "value", None)
    )
    return _is_name(given, name)


def _word(call: ast.Call, name: str) -> Any:
    return next((word for word in call.keywords if word.arg == name), None)


def _is_name(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
