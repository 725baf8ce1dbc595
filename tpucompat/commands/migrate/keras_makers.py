"""The statements of a program that make a model, and the layers that it is made of."""

from __future__ import annotations

import ast

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis.keras_values import key as _key
from tpucompat.commands.migrate.context import Context
from tpucompat.names.used import Function, walk

_COMMAND_LINE = frozenset(("parse_args", "parse_known_args"))


@indexes.once
def makers(context: Context) -> dict[str, set[ast.AST]]:
    """A name -> the statements that make what it stands for, or choose by ``if`` how to make it."""
    found: dict[str, set[ast.AST]] = {}
    for statement in indexes.nodes(context, ast.Assign):
        parents = context.parents(context.cell_of(statement))
        together: set[ast.AST] = {statement}
        above = parents.get(id(statement))
        while isinstance(above, ast.If):
            together.add(above)
            above = parents.get(id(above))
        for target in statement.targets:
            found.setdefault(_key(target), set()).update(together)
    return found


def maker(context: Context, body: list[ast.stmt], name: str) -> ast.stmt | None:
    """The statement of a block that the making of a model begins with."""
    known = makers(context).get(name, ())
    first = next((index for index, one in enumerate(body) if one in known), None)
    return None if first is None else _with_layers(context, body, first)


def _with_layers(context: Context, body: list[ast.stmt], last: int) -> ast.stmt:
    """The first of the statements that make a model, or what it is made of.

    Model(inputs, outputs): the layers between its inputs and outputs belong to it.
    """
    made, known = _names_made(context), _beginnings(context)
    one, wanted = body[last], frozenset(_names_in(body[last]))
    passed = []
    for index in range(last, -1, -1):
        if index < last:
            names = made.get(body[index])
            if not names or names.isdisjoint(wanted) or not _makes_layers(context, body[index]):
                continue
            one, wanted = body[index], wanted | _names_in(body[index])
        if (one, wanted) in known:
            one = known[one, wanted]
            break
        passed.append((one, wanted))
    known.update(dict.fromkeys(passed, one))
    return one


@indexes.once
def _beginnings(context: Context) -> dict[tuple[ast.stmt, frozenset[str]], ast.stmt]:
    """(a statement, the names that are looked for before it) -> the statement that these begin with."""
    return {}


@indexes.once
def _names_made(context: Context) -> dict[ast.AST, set[str]]:
    """The assignments of a file -> the names that stand in their targets."""
    found: dict[ast.AST, set[str]] = {}
    for one in indexes.nodes(context, ast.Assign):
        inside = (node for target in one.targets for node in walk(target))
        found[one] = {node.id for node in inside if isinstance(node, ast.Name)}
    return found


@indexes.once
def _makes_layers(context: Context, statement: ast.AST) -> bool:
    return any(_may_make_layers(context, node) for node in walk(statement))


def _may_make_layers(context: Context, node: ast.AST) -> bool:
    """Whether a call may make something that belongs under the strategy: not one that reads the command line,
    and no function of the file that is given nothing and has nothing to do with TensorFlow.
    """
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr not in _COMMAND_LINE
    known = context.names.functions
    if not isinstance(node.func, ast.Name) or node.func.id not in known:
        return True
    if node.args or node.keywords:  # it may call the layers that it is given
        return True
    return _reaches_tensorflow(context, node.func.id)


@indexes.once
def _reaches_tensorflow(context: Context, name: str) -> bool:
    """Whether a function of the file, or one that it uses, has to do with TensorFlow."""
    known = context.names.functions
    reached, waiting = set(), [name]
    while waiting:
        function = known[waiting.pop()]
        reached.add(function)
        waiting += [one for one in function.names if one in known and known[one] not in reached]
    return any(_is_within(use.function, reached) for use in context.names.uses)


def _is_within(function: Function | None, outer: set[Function]) -> bool:
    while function is not None and function not in outer:
        function = function.outer
    return function is not None


def _names_in(statement: ast.stmt) -> set[str]:
    value = getattr(statement, "value", None)
    direct = isinstance(value, ast.Call) and isinstance(
        value.func, (ast.Name, ast.Attribute, ast.Call)
    )
    found = {node.id for node in walk(value) if isinstance(node, ast.Name)} if value else set()
    return found if direct else set()
