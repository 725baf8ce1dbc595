"""``keras_to_tpu_model``: builds and compiles the model under a strategy instead.

What is moved is the run of statements from the one that makes the model to the one that compiles it, below
``with make_strategy().scope():``. Where that run cannot be seen, nothing is rewritten here.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from tpucompat.analysis.names import Call, argument
from tpucompat.migrate import optimizers
from tpucompat.migrate.context import Context
from tpucompat.migrate.text import strings_over_lines

_HELPER = '''

def make_strategy():
{i}"""A strategy for the TPU where there is one, else for the devices that are here."""
{i}try:
{i}{i}resolver = {tf}.distribute.cluster_resolver.TPUClusterResolver(
{i}{i}{i}{i}tpu=os.environ.get('TPU_NAME', 'local'))
{i}{i}{tf}.config.experimental_connect_to_cluster(resolver)
{i}{i}{tf}.tpu.experimental.initialize_tpu_system(resolver)
{i}{i}return {tf}.distribute.TPUStrategy(resolver)
{i}except (ValueError, {tf}.errors.OpError):
{i}{i}if len({tf}.config.list_physical_devices('GPU')) > 1:
{i}{i}{i}return {tf}.distribute.MirroredStrategy()
{i}{i}return {tf}.distribute.get_strategy()
'''


class Conversion(NamedTuple):
    """One call of keras_to_tpu_model, and what belongs to it.

    Attributes:
      call: The call.
      cell: Where it stands.
      statement: ``tpu_model = keras_to_tpu_model(model, strategy)``.
      model: The expression of the model that it is given.
      first: The statement that the moved run begins with.
      last: The one that it ends with.
      strategy: The expression of the strategy, or None.
    """

    call: Call
    cell: int
    statement: Any
    model: ast.expr
    first: Any
    last: Any
    strategy: ast.expr | None


class CannotSee(Exception):
    """Why a conversion is left to people."""


def is_conversion(call: Call) -> bool:
    """Whether a call is one of keras_to_tpu_model, by any of its paths."""
    return call.name.startswith("tensorflow.") and call.name.endswith(".keras_to_tpu_model")


def plan(context: Context) -> list[Conversion]:
    """The conversions of a file.

    Raises:
      CannotSee: If one of them cannot be rewritten.
    """
    found = [_conversion(context, call) for call in context.names.calls if is_conversion(call)]
    for call in context.names.calls:
        if optimizers.class_of(call) and not call.guarded:
            reason = optimizers.why_not(call, context.unsafe)
            if reason:
                raise CannotSee(f"tf.train.{optimizers.class_of(call)}: {reason}")
    return found


def _conversion(context: Context, call: Call) -> Conversion:
    cell = context.cell_of(call.node)
    statement = context.statement(call.node, cell)
    model = argument(call.node, 0, "model")
    is_assigned = (
        isinstance(statement, ast.Assign)
        and statement.value is call.node
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
    )
    if not is_assigned or model is None:
        raise CannotSee("its result is not simply assigned")
    body = context.body_of(statement, cell)
    at = next(index for index, one in enumerate(body) if one is statement)
    first: Any = statement
    if isinstance(model, ast.Name):
        makers = [one for one in body[:at] if _assigns(one, model.id)]
        if not makers:
            raise CannotSee(f"where {model.id} is built cannot be seen")
        # A model may be made in several steps; x = layer(x) of another name belongs to the run as well.
        first = makers[0]
    elif not isinstance(model, ast.Call):
        raise CannotSee("where the model is built cannot be seen")
    names = {statement.targets[0].id, getattr(model, "id", "")}
    last: Any = statement
    for one in body[at + 1 :]:
        if _calls_method(one, names, "compile"):
            last = one
    text = context.texts[cell]
    if strings_over_lines(context.trees[cell], first.lineno, last.end_lineno):
        raise CannotSee("a text of several lines stands among the statements that build the model")
    if not text.owns_lines(first) or not text.owns_lines(last):
        raise CannotSee("several statements share a line")
    strategy = argument(call.node, 1, "strategy")
    return Conversion(call, cell, statement, model, first, last, strategy)


def _assigns(statement: ast.stmt, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _calls_method(statement: ast.stmt, names: set[str], method: str) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    function = value.func if isinstance(value, ast.Call) else None
    return (
        isinstance(function, ast.Attribute)
        and function.attr == method
        and getattr(function.value, "id", "") in names
    )


# Rewriting -----------------------------------------------------------------------------------------


def rewrite(context: Context, conversions: list[Conversion]) -> None:
    """Rewrites the conversions, the optimizers and what only served the old start-up."""
    for call in context.names.calls:
        if optimizers.class_of(call) and not call.guarded:
            optimizers.rewrite(context, call)
        elif call.name == ".sync_to_cpu" and isinstance(call.node.func, ast.Attribute):
            cell = context.cell_of(call.node)
            end = context.texts[cell].span(call.node)[1]
            inner = context.texts[cell].span(call.node.func.value)[1]
            if context.texts[cell].is_free(inner, end):
                context.texts[cell].replace(inner, end, "")
    for one in conversions:
        _convert(context, one)
    if conversions:
        _add_helper(context)


def _convert(context: Context, one: Conversion) -> None:
    text = context.texts[one.cell]
    target = one.statement.targets[0].id
    context.done.add(id(one.call.node.func))
    removed: list[ast.AST] = [one.strategy] if one.strategy is not None else []
    if isinstance(one.model, ast.Name) and one.model.id == target:
        context.remove(one.statement, one.cell)
    else:
        context.replace(one.call.node, one.cell, text.source(one.model))
    named = _retire(context, one, removed)
    indent = text.indent(one.first.lineno)
    unit = context.indent_unit()
    if named:
        text.insert_line(one.first.lineno, f"{indent}{named} = make_strategy(){text.newline}")
    scope = f"{named or 'make_strategy()'}.scope()"
    text.insert_line(one.first.lineno, f"{indent}with {scope}:{text.newline}")
    context.indent_later(one.cell, one.first.lineno, one.last.end_lineno, unit)


def _retire(context: Context, one: Conversion, removed: list[ast.AST]) -> str:
    """Takes out what only served the old strategy; gives its name if the program needs it further on."""
    named = ""
    waiting = list(removed)
    gone = [one.call.node]
    while waiting:
        expression = waiting.pop()
        for name in [node for node in ast.walk(expression) if isinstance(node, ast.Name)]:
            made = _only_assignment(context, name.id)
            if made is None or not _serves_start_up(context, made[0].value):
                continue
            statement, cell = made
            if any(statement is other for other in gone):
                continue
            if _loads_outside(context, name.id, [*gone, statement]):
                if expression is one.strategy:
                    named = name.id
                    context.remove(statement, cell)
                    gone.append(statement)
                    waiting.append(statement.value)
                    _finish(context, statement)
                continue
            if context.remove(statement, cell):
                gone.append(statement)
                waiting.append(statement.value)
                _finish(context, statement)
    for expression in removed:
        _finish(context, expression)
    _finish(context, one.call.node, but=one.model)
    return named


def _finish(context: Context, node: ast.AST, but: ast.AST | None = None) -> None:
    """What stands in a place that is gone needs no rewriting of its own."""
    kept = {id(inside) for inside in ast.walk(but)} if but is not None else set()
    context.done.update(id(inside) for inside in ast.walk(node) if id(inside) not in kept)


def _only_assignment(context: Context, name: str) -> tuple[Any, int] | None:
    found = [
        (node, cell)
        for cell, tree in context.trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _assigns(node, name)
    ]
    stores = sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for tree in context.trees.values()
        for node in ast.walk(tree)
    )
    is_plain = len(found) == stores == 1 and len(found[0][0].targets) == 1
    return found[0] if is_plain and context.texts[found[0][1]].owns_lines(found[0][0]) else None


def _serves_start_up(context: Context, value: ast.AST) -> bool:
    """Whether an expression makes an address, a resolver or a strategy of a TPU, and nothing else."""
    inside = {id(node) for node in ast.walk(value)}
    if any(id(node) in inside for node, _, _, _ in context.names.strings):
        return True
    return any(
        id(call.node) in inside
        and call.name.endswith((".TPUClusterResolver", ".TPUDistributionStrategy"))
        for call in context.names.calls
    )


def _loads_outside(context: Context, name: str, inside: list[Any]) -> bool:
    known = {id(node) for one in inside for node in ast.walk(one)}
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and id(node) not in known
        for tree in context.trees.values()
        for node in ast.walk(tree)
    )


def _add_helper(context: Context) -> None:
    tf = context.local("tf.distribute").rpartition(".")[0]
    helper = _HELPER.format(i=context.indent_unit(), tf=tf)
    context.want("os")
    context.after_imports.append(helper)
