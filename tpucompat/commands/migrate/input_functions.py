"""An input_fn that returns the tensors of an iterator returns the dataset instead, where that is the same.

``return dataset.make_one_shot_iterator().get_next()`` becomes ``return dataset``. The training loop takes both,
but a dataset feeds it without a Session. What is not clearly an input_fn, or does more with the tensors, stays.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Iterator, NamedTuple

from tpucompat.commands.analysis import indexes
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import finish
from tpucompat.names.used import walk

_MAKER = "make_one_shot_iterator"
_FUNCTIONS = tuple(f"tensorflow.{head}data.{_MAKER}" for head in ("", "compat.v1."))
_TAIL = re.compile(rf"[\s\\]*\.[\s\\]*{_MAKER}\s*\(\s*\)")
_CLOSING = re.compile(r"[\s,]*\)")
_NEXT = re.compile(r"[\s\\]*\.[\s\\]*get_next\s*\([^()]*\)")


class _Made(NamedTuple):
    """``dataset.make_one_shot_iterator()`` or ``tf.data.make_one_shot_iterator(dataset)``."""

    call: ast.Call
    dataset: ast.expr


def rewrite(context: Context) -> None:
    """Rewrites the functions of a file."""
    for cell, tree in context.trees.items():
        made = dict(_made(context, tree))
        for function in walk(tree) if made else ():
            if isinstance(function, ast.FunctionDef) and _is_input_fn(context, function):
                _function(context, cell, function, made)


def _made(context: Context, tree: ast.AST) -> Iterator[tuple[int, _Made]]:
    names = {id(call.node): call.name for call in context.names.calls if not call.guarded}
    for node in walk(tree):
        if not isinstance(node, ast.Call) or node.keywords:
            continue
        if names.get(id(node)) == "." + _MAKER and not node.args:
            yield id(node), _Made(node, node.func.value)  # type: ignore[attr-defined]
        elif names.get(id(node)) in _FUNCTIONS and len(node.args) == 1:
            yield id(node), _Made(node, node.args[0])


def _is_input_fn(context: Context, function: ast.FunctionDef) -> bool:
    """Whether only an Estimator calls it, as far as the file tells."""
    arguments = [one.arg for one in function.args.args]
    name = function.name
    looks_so = (
        name.endswith("input_fn") or arguments[:1] == ["params"] or arguments[1:2] == ["params"]
    )
    return looks_so and not function.decorator_list and not _is_called(context, name, {name})


def _around(context: Context, cell: int, node: ast.AST) -> Any:
    """The function that a node stands in."""
    parents = context.parents(cell)
    around = parents.get(id(node))
    while around is not None and not isinstance(around, (ast.FunctionDef, ast.Lambda)):
        around = parents.get(id(around))
    return around


def _is_called(context: Context, name: str, seen: set[str]) -> bool:
    """Whether something else than a function that hands the result on calls a function."""
    for cell, node in _calls(context).get(name, ()):
        above = context.parents(cell).get(id(node))
        if isinstance(above, ast.Lambda) and above.body is node:
            continue
        around = _around(context, cell, node)
        if not isinstance(above, ast.Return) or not isinstance(around, ast.FunctionDef):
            return True
        if around.name not in seen and _is_called(context, around.name, seen | {around.name}):
            return True
    return False


@indexes.once
def _calls(context: Context) -> dict[str, list[tuple[int, ast.Call]]]:
    """The last name of what is called -> the cell and node of each call."""
    found: dict[str, list[tuple[int, ast.Call]]] = {}
    for cell, tree in context.trees.items():
        for node in walk(tree):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                found.setdefault(called, []).append((cell, node))
    return found


def _function(
    context: Context, cell: int, function: ast.FunctionDef, made: dict[int, _Made]
) -> None:
    for statement in walk(function):
        if not isinstance(statement, ast.Return) or statement.value is None:
            continue
        if _around(context, cell, statement) is not function:
            continue
        assigned = _assigned(function, context.body_of(statement, cell))
        gone: list[ast.Assign] = []
        asked = _followed(_names(statement.value), statement.value, assigned, gone)
        iterator = asked.func.value if _asks(asked) else None  # type: ignore[union-attr]
        found = _followed(_names(iterator), iterator, assigned, gone) if iterator else None
        if id(found) in made:
            _write(context, cell, statement, made[id(found)], gone)


def _assigned(function: ast.FunctionDef, body: list[ast.stmt]) -> dict[tuple[str, ...], ast.Assign]:
    """Names that a statement beside a ``return`` assigns, and that the function has in two places only."""
    names = [node.id for node in walk(function) if isinstance(node, ast.Name)]
    found = {}
    for statement in body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            targets = _names(statement.targets[0])
            if targets and all(names.count(name) == 2 for name in targets):
                found[targets] = statement
    return found


def _names(node: ast.AST | None) -> tuple[str, ...]:
    """The names of ``features, labels``, or of ``features``; none of anything else."""
    pair = isinstance(node, ast.Tuple) and len(node.elts) == 2
    elements: list[Any] = node.elts if pair else [node]  # type: ignore[union-attr]
    return (
        tuple(one.id for one in elements)
        if all(isinstance(one, ast.Name) for one in elements)
        else ()
    )


def _followed(
    names: tuple[str, ...],
    value: ast.AST | None,
    assigned: dict[tuple[str, ...], ast.Assign],
    gone: list[ast.Assign],
) -> ast.AST | None:
    """What is assigned to names, where that is known; else the value itself."""
    if names not in assigned:
        return value
    gone.append(assigned[names])
    return assigned[names].value


def _asks(node: ast.AST | None) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr == "get_next"


def _write(
    context: Context, cell: int, statement: ast.Return, made: _Made, gone: list[ast.Assign]
) -> None:
    """Leaves the dataset where the iterator is made, and returns it."""
    text = context.texts[cell]
    start, end = text.span(made.call)
    first, last = text.span(made.dataset)
    pattern = _CLOSING if made.call.args else _TAIL
    home = next((one for one in gone if any(node is made.call for node in walk(one))), None)
    outer: Any = statement.value if home is None else home.value
    if outer is not made.call:  # it is asked where it is made
        if text.span(outer)[0] != start or not _NEXT.fullmatch(text.source(outer)[end - start :]):
            return
        end_of_all = text.span(outer)[1]
    else:
        end_of_all = end
    if not pattern.fullmatch(text.text[last:end]) or not all(map(text.owns_lines, gone)):
        return
    finish(context, made.call, made.dataset)
    for one in gone:
        if one is not home:
            context.remove(one, cell)
    if home is not None and _is_same_later(context, cell, made.dataset, home):
        context.replace(statement.value, cell, text.source(made.dataset))  # type: ignore[arg-type]
        context.remove(home, cell)
        return
    if first > start:
        text.replace(start, first, "")
    text.replace(last, end_of_all, "")
    if home is not None:
        name = "dataset" if context.is_free("dataset") else _names(home.targets[0])[0]
        text.replace(*text.span(home.targets[0]), name)
        context.replace(statement.value, cell, name)  # type: ignore[arg-type]


def _is_same_later(context: Context, cell: int, dataset: ast.expr, home: ast.Assign) -> bool:
    """Whether a dataset has a name, which stands for it at the end of the function too."""
    if not isinstance(dataset, ast.Name):
        return False
    lines = [
        node.lineno
        for node in walk(_around(context, cell, home))
        if isinstance(node, ast.Name) and node.id == dataset.id and isinstance(node.ctx, ast.Store)
    ]
    return max(lines, default=0) < home.lineno
