"""The start-up of early TensorFlow 2 as a whole: resolver, connection, initialization, strategy.

Where the four statements stand together and nothing else uses the resolver, ``make_strategy()`` takes their
place, which is the same on a TPU and goes on without one. Where what the program is started with names the TPU,
it takes that name. Otherwise
:mod:`tpucompat.commands.migrate.tpu_connections` rewrites each call.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from tpucompat.commands.migrate import keras, keras_copies, tpu_connections
from tpucompat.commands.migrate.context import Context
from tpucompat.names import era
from tpucompat.names.used import Call, argument, constant, walk

# Keras 3 learns the types of a training from the mean over the replicas of its first batch
# (``_maybe_symbolic_build`` of its TensorFlow backend), which has no value where their parts have other sizes.
_UNEVEN = '''

def with_uneven_batches(strategy):
{i}"""Shows Keras the part of one replica where the replicas cannot share a first batch evenly."""
{i}reduce = strategy.reduce

{i}def reduce_or_take(reduce_op, value, axis=None):
{i}{i}try:
{i}{i}{i}return reduce(reduce_op, value, axis)
{i}{i}except {tf}.errors.InvalidArgumentError:
{i}{i}{i}return strategy.experimental_local_results(value)[0]

{i}strategy.reduce = reduce_or_take
{i}return strategy
'''
_CONNECTS = (".experimental_connect_to_host", ".experimental_connect_to_cluster")
_INITIALIZES = ".initialize_tpu_system"
#: What names a TPU, in the order of ``TPUClusterResolver`` and of ``make_strategy``.
_NAMING = ("tpu", "zone", "project")


class StrategySetup(NamedTuple):
    """The statements of one start-up in one block.

    Attributes:
      cell: Where they stand.
      resolver: What makes the resolver.
      others: What connects to the TPU and initializes it.
      strategy: What makes the strategy.
      is_named: Whether a value that only the running program knows names the TPU.
    """

    cell: int
    resolver: Any
    others: list[Any]
    strategy: Any
    is_named: bool


def find(context: Context) -> list[StrategySetup]:
    """The start-ups that can be replaced as a whole."""
    if "make_strategy" in context.names.functions:
        return []
    calls = {id(call.node): call for call in context.names.calls if not call.guarded}
    found = []
    for call in calls.values():
        if call.name.endswith(".TPUStrategy") and call.name.startswith("tensorflow."):
            one = _strategy_setup(context, call, calls)
            if one is not None:
                found.append(one)
    return found


def _strategy_setup(context: Context, call: Call, calls: dict[int, Call]) -> StrategySetup | None:
    cell = context.cell_of(call.node)
    strategy = context.statement(call.node, cell)
    name = tpu_connections.only_resolver(context, call)
    is_made = _is_assignment(strategy, call.node) or _is_return(strategy, call.node)
    if not is_made or not isinstance(name, ast.Name):
        return None
    made = keras.only_assignment(context, name.id)
    if made is None or made[1] != cell:
        return None
    is_named = _is_named(context, made[0].value, calls)
    if not is_named and not _takes_colab(context, made[0].value, calls):
        return None
    body = context.body_of(strategy, cell)
    others = [one for one in body if isinstance(one, ast.Expr) and _prepares(one.value, calls)]
    together = [made[0], *others, strategy]
    in_order = [one for one in body if any(one is other for other in together)]
    alone = not keras_copies.loads_outside(context, name.id, together)
    owned = all(context.texts[cell].owns_lines(one) for one in together)
    is_old = _is_old(context, together) or (is_named and _is_of_tensorflow_1(context, call))
    if in_order != together or not alone or not owned or not is_old:
        return None
    return StrategySetup(cell, made[0], others, strategy, is_named)


def _is_old(context: Context, statements: list[Any]) -> bool:
    """Whether anything in the start-up is outdated."""
    inside = {id(node) for one in statements for node in walk(one)}
    old = [place.use.node for place in context.places]
    old += [node for node, _, _, _ in context.names.strings]
    return any(id(node) in inside for node in old)


def _is_of_tensorflow_1(context: Context, call: Call) -> bool:
    """Whether a program of TensorFlow 1 makes the strategy, by the names that today's TensorFlow has too."""
    return bool(context.places) or call.name.startswith("tensorflow.compat.v1.")


def _is_assignment(statement: Any, value: ast.AST) -> bool:
    is_one = isinstance(statement, ast.Assign) and statement.value is value
    return is_one and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name)


def _is_return(statement: Any, value: ast.AST) -> bool:
    return isinstance(statement, ast.Return) and statement.value is value


def _takes_colab(context: Context, value: ast.AST, calls: dict[int, Call]) -> bool:
    """Whether a resolver asks for Colab's TPU, for whichever there is, or for a node of before the TPU VMs."""
    call = calls.get(id(value))
    if call is None or not call.name.endswith(".TPUClusterResolver"):
        return False
    given = [*call.node.args, *(word.value for word in call.node.keywords)]
    if not given:
        return True
    if len(given) > 1 or any(word.arg != "tpu" for word in call.node.keywords):
        return False
    if constant(given[0]) in ("", "local") or tpu_connections.is_grpc(constant(given[0])):
        return True
    if isinstance(given[0], ast.Name):
        made = keras.only_assignment(context, given[0].id)
        return made is not None and keras.serves_start_up(context, made[0].value)
    return keras.serves_start_up(context, given[0])


def _is_named(context: Context, value: ast.AST, calls: dict[int, Call]) -> bool:
    """Whether a resolver is given a name, zone or project that is not a constant: a flag, a parameter."""
    call = calls.get(id(value))
    if call is None or not call.name.endswith(".TPUClusterResolver") or keras.has_helper(context):
        return False
    words = {word.arg: word.value for word in call.node.keywords}
    given = [*call.node.args, *words.values()]
    is_plain = len(call.node.args) <= len(_NAMING) and words.keys() <= set(_NAMING)
    tpu = argument(call.node, 0, "tpu")
    is_known = any(
        isinstance(one, (ast.Constant, ast.List, ast.Starred)) for one in [tpu, *given[:1]]
    )
    return is_plain and bool(given) and not is_known and not _takes_colab(context, value, calls)


def _prepares(value: ast.AST, calls: dict[int, Call]) -> bool:
    call = calls.get(id(value))
    return call is not None and call.name.endswith((*_CONNECTS, _INITIALIZES))


def _trains(context: Context) -> bool:
    """Whether Keras gives batches to the replicas, which on a TPU are of one size only in TensorFlow 1."""
    is_later = context.module.era != era.TF1
    return is_later and any(call.name in (".fit", ".evaluate") for call in context.names.calls)


def rewrite(context: Context, found: list[StrategySetup]) -> None:
    """Puts ``make_strategy()`` in the place of each."""
    with_name = any(one.is_named for one in found)
    for one in found:
        is_returned = isinstance(one.strategy, ast.Return)
        gone = [] if is_returned else [one.strategy]
        for statement in [*(gone if one.is_named else [one.resolver]), *one.others]:
            context.remove(statement, one.cell)
        wrapped = _trains(context) and context.helper("with_uneven_batches", _UNEVEN)
        before, after = ("with_uneven_batches(", ")") if wrapped else ("", "")
        if one.is_named:
            _rename(context, one, before + "make_strategy", after)
        else:
            context.replace(one.strategy.value, one.cell, before + "make_strategy()" + after)
            _drop_names(context, one)
        keras.finish(context, one.strategy)
        keras.add_helper(context, with_name)


def _rename(context: Context, one: StrategySetup, function: str, after: str) -> None:
    """Makes the strategy where the resolver was made, of the same name, zone and project."""
    text, made = context.texts[one.cell], one.resolver.value
    if isinstance(one.strategy, ast.Return):
        name = "strategy" if context.is_free("strategy") else text.source(one.resolver.targets[0])
        context.replace(one.strategy.value, one.cell, name)  # type: ignore[arg-type]
    else:
        name = text.source(one.strategy.targets[0])
    context.replace(one.resolver.targets[0], one.cell, name)
    context.replace(made.func, one.cell, function)
    keras.finish(context, made.func)
    if after:
        text.replace(text.span(made)[1], text.span(made)[1], after)


def _drop_names(context: Context, one: StrategySetup) -> None:
    """Takes out the address that only this resolver was given."""
    for node in walk(one.resolver.value):
        made = keras.only_assignment(context, node.id) if isinstance(node, ast.Name) else None
        if made is None or not keras.serves_start_up(context, made[0].value):
            continue
        if not keras_copies.loads_outside(context, node.id, [one.resolver]):  # type: ignore[attr-defined]
            context.remove(*made)
