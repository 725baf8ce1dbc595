"""A model that is copied under a strategy, and what tells whether its program keeps using only the copy."""

from __future__ import annotations

import ast
from typing import Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis.keras_values import key as _key
from tpucompat.commands.migrate.context import Context
from tpucompat.names.nodes import parameters
from tpucompat.names.used import walk

# As tpu_model of 1.15 did it (contrib/tpu/python/tpu/keras_support.py). Keras 3 has what a model was compiled
# with in _compile_config alone. A metric with an update_state of its own has it from of_columns.
COPY = '''

@functools.lru_cache(maxsize=None)
def one_strategy():
{i}"""The strategy of all models."""
{i}return make_strategy()


def under_strategy(model):
{i}"""A copy of a model under the strategy, compiled the same; with one device, the model itself."""
{i}if one_strategy() is {tf}.distribute.get_strategy():
{i}{i}return model

{i}def fresh(one):
{i}{i}is_own = isinstance(one, {keras}.layers.Lambda) or 'update_state' in vars(one)
{i}{i}return one if is_own else type(one).from_config(one.get_config())

{i}compiled, model.compiled = model.compiled, False
{i}with one_strategy().scope():
{i}{i}copy = {keras}.models.clone_model(model, clone_function=fresh)
{i}{i}copy.set_weights(model.get_weights())
{i}{i}model.compiled = compiled
{i}{i}if compiled:
{i}{i}{i}given = {{
{i}{i}{i}{i}name: {tf}.nest.map_structure(
{i}{i}{i}{i}{i}lambda one: fresh(one) if isinstance(one, {keras}.metrics.Metric) else one, value)
{i}{i}{i}{i}for name, value in model._compile_config.config.items()
{i}{i}{i}}}
{i}{i}{i}copy.compile(**{{**given, 'optimizer': fresh(model.optimizer)}})
{i}return copy
'''


def functions_around(context: Context, cell: int, node: ast.AST) -> Iterator[ast.FunctionDef]:
    """The functions that a node is in, the innermost first."""
    parents = context.parents(cell)
    above = parents.get(id(node))
    while above is not None:
        if isinstance(above, ast.FunctionDef):
            yield above
        above = parents.get(id(above))


def lambda_of(context: Context, cell: int, call: ast.AST) -> str:
    """The name of the lambda that returns what a call gives; "" where it is in none."""
    parents = context.parents(cell)
    function = parents.get(id(call))
    statement = parents.get(id(function))
    if not isinstance(function, ast.Lambda) or not isinstance(statement, ast.Assign):
        return ""
    return _key(statement.targets[0]) if len(statement.targets) == 1 else ""


def is_returned(function: ast.FunctionDef, statement: Any) -> bool:
    """Whether a function returns what a statement of it makes."""
    names = {_key(target) for target in getattr(statement, "targets", ())} - {""}
    returns = [node for node in walk(function) if isinstance(node, ast.Return)]
    return statement in returns or any(one.value and _key(one.value) in names for one in returns)


def assignments(context: Context, function: str) -> Iterator[tuple[int, ast.Assign]]:
    """Where results of a function of the file, or of a method of this name, are assigned; and their cells."""
    for cell, tree in context.trees.items():
        for node in walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                called = node.value.func
                if function in (_key(called), getattr(called, "attr", "")):
                    yield cell, node


def given(assignment: Any) -> list[ast.expr]:
    """What the called function gets; a constant for nothing."""
    return list(assignment.value.args) or [ast.Constant(None)]


def goes_on_with(
    context: Context, cell: int, at: Any, model: str, names: set[str], results: set[str]
) -> bool:
    """Whether a program asks for a model beside its copy, whose weights are others, or makes a layer of one.

    Args:
      context: The file.
      cell: Where the copy is made.
      at: The statement that makes it.
      model: The name of the model.
      names: Those of the copy.
      results: Those of all that functions make of copies.
    """
    if not _called(context).isdisjoint(names | {model}):  # a layer of another model
        return True
    if not model or model in names:
        return False
    reads = _reads(context).get(model, ())
    here = _binder(context, at, model)
    if "." not in model:
        return any(
            _binder(context, node, model) is here
            and (context.cell_of(node), node.lineno) > (cell, at.end_lineno)
            for node in reads
        )
    # Methods run in an order of their own: those that make the model are the ones that come first.
    return model not in results and any(
        (context.cell_of(node), node.lineno) > (cell, at.end_lineno)
        if _function(context, node) is here
        else not _stores(context, _function(context, node), model)
        for node in reads
    )


def _function(context: Context, node: ast.AST) -> ast.AST | None:
    """The innermost function around a node."""
    return next(functions_around(context, context.cell_of(node), node), None)


def _binder(context: Context, node: ast.AST, name: str) -> ast.AST | None:
    """The function whose variable a name is; None for one of the module. Of an attribute, the one around it."""
    for function in functions_around(context, context.cell_of(node), node):
        if "." in name or name in _locals(context, function):
            return function
    return None


def _locals(context: Context, function: ast.FunctionDef) -> set[str]:
    """The variables of a function."""
    known = _known_locals(context)
    if id(function) not in known:
        inside = walk(function)
        shared = {name for one in inside if isinstance(one, ast.Global) for name in one.names}
        stored = {
            one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        known[id(function)] = (stored - shared) | {one.arg for one in parameters(function.args)}
    return known[id(function)]


@indexes.once
def _known_locals(context: Context) -> dict[int, set[str]]:
    return {}


def _stores(context: Context, function: ast.AST | None, name: str) -> bool:
    """Whether a function gives a name a value."""
    return any(_function(context, one) is function for one, _ in _assigned(context).get(name, ()))


@indexes.once
def _called(context: Context) -> set[str]:
    """The names and attributes of a file that are called."""
    return {_key(node.func) for node in indexes.nodes(context, ast.Call)} - {""}


@indexes.once
def _reads(context: Context) -> dict[str, list[Any]]:
    """The names and attributes of a file -> where they are read."""
    found: dict[str, list[Any]] = {}
    for node in indexes.nodes(context, ast.Name, ast.Attribute):
        if isinstance(node.ctx, ast.Load):
            found.setdefault(_key(node), []).append(node)
    return found


def compiled_later(
    context: Context, cell: int, at: Any, names: set[str]
) -> Iterator[tuple[int, ast.stmt]]:
    """The statements that compile a copy, and their cells."""
    for number, node in compiling(context, names):
        if (number, node.lineno) > (cell, at.end_lineno):
            yield number, node


def compiled_elsewhere(
    context: Context, made: list[tuple[int, Any]]
) -> Iterator[tuple[int, ast.stmt]]:
    """The statements that compile what may be a copy, and their cells.

    Args:
      context: The file.
      made: The cells and the statements that make copies, or take them from functions.
    """
    last = {id(_function(context, one)): (cell, one.lineno) for cell, one in made}
    statements = {id(one) for _, one in made}
    for model, found in _compiling(context).items():
        for _, node in found:
            cell, function = context.cell_of(node), _function(context, node)
            before = [
                one
                for one, place in _assigned(context).get(model, ())
                if _function(context, one) is function and (place, one.lineno) < (cell, node.lineno)
            ]
            is_other = bool(before) and not any(id(one) in statements for one in before)
            is_other = is_other or id(called(node)) in context.names.own or model in ("self", "cls")
            if model and not is_other and (cell, node.lineno) > last.get(id(function), (-1, 0)):
                yield cell, node


def compiling(context: Context, names: set[str]) -> list[tuple[int, Any]]:
    """The statements that compile one of some models, in the order of the file, and their cells."""
    known = _compiling(context)
    found = sorted((one for name in names for one in known.get(name, ())), key=lambda one: one[0])
    return [(context.cell_of(node), node) for _, node in found]


@indexes.once
def _compiling(context: Context) -> dict[str, list[tuple[int, ast.Expr]]]:
    """A model -> the statements that compile it, each with its place among all."""
    found: dict[str, list[tuple[int, ast.Expr]]] = {}
    for place, node in enumerate(indexes.nodes(context, ast.Expr)):
        function = called(node)
        if isinstance(function, ast.Attribute) and function.attr == "compile":
            found.setdefault(_key(function.value), []).append((place, node))
    return found


def compiles(statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement is ``model.compile(…)`` of one of these models."""
    function = called(statement)
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "compile"
        and _key(function.value) in names
    )


def called(statement: ast.stmt) -> ast.expr | None:
    """What a statement calls, if that is all that it does."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return value.func if isinstance(value, ast.Call) else None


def drop_cpu_models(context: Context) -> None:
    """``tpu_model._cpu_model`` -> ``tpu_model``, whose weights are the only ones"""
    for cell, tree in context.trees.items():
        for node in walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "_cpu_model":
                text = context.texts[cell]
                inner, end = text.span(node.value)[1], text.span(node)[1]
                if text.is_free(inner, end):
                    text.replace(inner, end, "")


def plain_assignments(context: Context, name: str, joined: bool = False) -> list[tuple[Any, int]]:
    """The statements that assign a name, and their cells; none where one assigns more, or shares a line.

    Args:
      context: The file.
      name: The name.
      joined: Whether other statements may stand in its line, behind semicolons.
    """
    found = _assigned(context).get(name, [])
    stores = sum(isinstance(node.ctx, ast.Store) for node in context.named(name))
    is_plain = len(found) == stores and all(
        len(one.targets) == 1
        and (context.texts[cell].owns_lines(one) or (joined and context.may_remove(one, cell)))
        for one, cell in found
    )
    return list(found) if is_plain else []


@indexes.once
def _assigned(context: Context) -> dict[str, list[tuple[Any, int]]]:
    """What is assigned to -> the statements and their cells."""
    found: dict[str, list[tuple[Any, int]]] = {}
    for node in indexes.nodes(context, ast.Assign):
        for name in dict.fromkeys(map(_key, node.targets)):
            found.setdefault(name, []).append((node, context.cell_of(node)))
    return found


def loads_outside(context: Context, name: str, inside: list[Any]) -> bool:
    """Whether a name is read anywhere but in some statements."""
    statements = set(map(id, inside))
    return any(not _is_in(context, node, statements) for node in context.loads(name))


def _is_in(context: Context, node: Any, statements: set[int]) -> bool:
    parents = context.parents(context.cell_of(node))
    while node is not None and id(node) not in statements:
        node = parents.get(id(node))
    return node is not None
