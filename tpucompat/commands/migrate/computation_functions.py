"""The functions that ``rewrite``, ``shard`` and ``batch_parallel`` put onto cores, and what gives one."""

from __future__ import annotations

import ast
import collections

from tpucompat.commands.analysis import indexes
from tpucompat.commands.migrate import keras
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import Call, Function, argument, walk


def partial_of(context: Context, node: ast.AST | None) -> ast.Call | None:
    """``functools.partial(function, …)`` that an expression is, or that its name stands for."""
    if isinstance(node, ast.Name) and node.id not in context.names.functions:
        made = keras.only_assignment(context, node.id)
        node = made[0].value if made else None
    function = node.func if isinstance(node, ast.Call) else None
    name = getattr(function, "attr", getattr(function, "id", ""))
    is_partial = name == "partial" and bool(node.args)  # type: ignore[union-attr]
    return node if is_partial else None  # type: ignore[return-value]


def function_of(context: Context, call: Call) -> Function:
    """The function of a computation; one that returns its expression for a lambda, or for a partial.

    Raises:
      CannotSee: If it is not one of the file.
    """
    given = argument(call.node, 0, "computation")
    partial = partial_of(context, given)
    if isinstance(given, ast.Lambda):
        return _returning("its lambda", given, given.args, given.body)
    if partial is not None:
        nothing = ast.arguments(
            posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        return _returning("its partial", partial, nothing, partial)
    function = context.names.functions.get(given.id) if isinstance(given, ast.Name) else None
    function = function or method_of(context, given) or returned_by(context, given)
    if function is None:
        what = ast.unparse(given) if given is not None else "none"
        raise CannotSee(f"its function is {what}: give it a function of this file by its name")
    return function


def method_of(context: Context, node: ast.AST | None) -> Function | None:
    """The method that ``self.step``, or ``model.step``, names; None for something else.

    One class of the file has to have it, of which ``model`` is an object.
    """
    owner = getattr(node, "value", None)
    if not isinstance(node, ast.Attribute) or not isinstance(owner, ast.Name):
        return None
    method = methods(context).get(node.attr)
    if owner.id == "self" or method is None:
        return method
    made = keras.only_assignment(context, owner.id)
    name = getattr(getattr(made[0].value, "func", None), "id", "") if made else ""
    owners = (one for one in context.nodes if isinstance(one, ast.ClassDef) and one.name == name)
    return method if any(method.node in one.body for one in owners) else None


def returned_by(context: Context, node: ast.AST | None) -> Function | None:
    """The function that ``make_step(rate)`` returns: one of its own, at its end; None for something else."""
    name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
    maker = context.names.functions.get(name)
    body = maker.node.body if maker is not None and isinstance(maker.node, ast.FunctionDef) else []
    last = body[-1].value if body and isinstance(body[-1], ast.Return) else None
    inner = [one for one in body if isinstance(one, ast.FunctionDef)]
    within = {id(one) for each in inner for one in walk(each)}
    others = (one for each in body for one in walk(each) if id(one) not in within)
    if sum(isinstance(one, ast.Return) for one in others) != 1 or not isinstance(last, ast.Name):
        return None
    found = context.names.functions.get(last.id)
    return found if found is not None and any(found.node is one for one in inner) else None


@indexes.once
def methods(context: Context) -> dict[str, Function]:
    """The methods of all classes, without names that a file has twice."""
    functions = [one for one in context.nodes if isinstance(one, ast.FunctionDef)]
    counts = collections.Counter(one.name for one in functions)
    classes = (one for one in context.nodes if isinstance(one, ast.ClassDef))
    below = {id(one) for node in classes for one in node.body}
    return {
        name: one
        for name, one in context.names.functions.items()
        if id(one.node) in below and counts[name] == 1
    }


def _returning(name: str, node: ast.AST, parameters: ast.arguments, value: ast.expr) -> Function:
    """A function that returns an expression, and uses the names in it."""
    body: list[ast.stmt] = [ast.Return(value=value)]
    function = ast.FunctionDef(name=name, args=parameters, body=body, decorator_list=[])
    made = Function(ast.copy_location(function, node), None)
    made.names.update(one.id for one in walk(value) if isinstance(one, ast.Name))
    return made
