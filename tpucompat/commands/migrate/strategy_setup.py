"""The start-up of early TensorFlow 2 as a whole: resolver, connection, initialization, strategy.

Where the four statements stand together, ``make_strategy()`` takes their place, which is the same on a TPU and
goes on without one. Where what the program is started with names the TPU, it takes that name. What else uses
the resolver, such as a print, keeps one that needs no TPU either. Otherwise
:mod:`tpucompat.commands.migrate.tpu_connections` rewrites each call.
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, NamedTuple

from tpucompat.commands.migrate import keras, keras_copies, tpu_connections
from tpucompat.commands.migrate.context import Context
from tpucompat.names import era
from tpucompat.names.used import Call, argument, constant, index_of, walk

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
_NO_TPU = "it raises where there is no TPU; catch that, and use tf.distribute.get_strategy()"
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
      call: The call of ``TPUStrategy`` in it.
      is_named: Whether a value that only the running program knows names the TPU.
      stays: Whether the resolver is used elsewhere too.
    """

    cell: int
    resolver: Any
    others: list[Any]
    strategy: Any
    call: ast.Call
    is_named: bool
    stays: bool


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
    strategy = context.innermost(call.node, cell)
    name = tpu_connections.only_resolver(context, call)
    if not isinstance(name, ast.Name):
        return None
    made = keras.only_assignment(context, name.id, joined=True)
    if made is None or made[1] != cell:
        return None
    is_named = _is_named(context, made[0].value, calls)
    if not is_named and not _takes_colab(context, made[0].value, calls):
        return None
    body = context.body_of(strategy, cell)
    others = [one for one in body if _prepares(context, one, calls)]
    together = [made[0], *others, strategy]
    in_order = [one for one in body if any(one is other for other in together)]
    head = [*together[:-1], call.node]
    stays = keras_copies.loads_outside(context, name.id, head)
    owned = all(context.may_remove(one, cell) for one in together)
    is_old = _is_old(context, head) or (is_named and _is_of_tensorflow_1(context, call))
    if in_order != together or not owned or not is_old:
        return None
    is_plain = _is_assignment(strategy, call.node) or _is_return(strategy, call.node)
    if is_named and (stays or not is_plain) and not _is_copied(context, made[0].value, cell):
        return None
    if stays and _starts_elsewhere(calls, name.id, head):
        return None
    return StrategySetup(
        cell, made[0], others, strategy, call.node, is_named, stays or not is_plain
    )


def _starts_elsewhere(calls: dict[int, Call], name: str, statements: list[Any]) -> bool:
    """Whether a resolver starts a TPU outside of some statements too."""
    inside = {id(node) for one in statements for node in walk(one)}
    starts = (".TPUStrategy", *_CONNECTS, _INITIALIZES)
    return any(
        isinstance(node, ast.Name) and node.id == name
        for call in calls.values()
        if call.name.endswith(starts) and id(call.node) not in inside
        for node in walk(call.node)
    )


def _is_copied(context: Context, made: ast.Call, cell: int) -> bool:
    """Whether what a resolver is given can be written a second time, by keyword."""
    given = [*made.args, *(word.value for word in made.keywords)]
    inside = {id(node) for one in given for node in walk(one)}
    is_old = any(id(place.use.node) in inside for place in context.places)
    has_calls = any(isinstance(node, ast.Call) for one in given for node in walk(one))
    return (
        len(given) == 1
        and not is_old
        and not has_calls
        and context.may_remove(context.innermost(made, cell), cell)
    )


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
        made = keras.only_assignment(context, given[0].id, joined=True)
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


def _prepares(context: Context, statement: ast.stmt, calls: dict[int, Call]) -> bool:
    """Whether a statement connects to a TPU or initializes it, and nothing asks for what that returns."""
    call = calls.get(id(getattr(statement, "value", None)))
    if call is None or not call.name.endswith((*_CONNECTS, _INITIALIZES)):
        return False
    if isinstance(statement, ast.Expr):
        return True
    name = statement.targets[0].id if _is_assignment(statement, call.node) else ""  # type: ignore[attr-defined]
    return bool(name) and not keras_copies.loads_outside(context, name, [])


def _trains(context: Context) -> bool:
    """Whether Keras gives batches to the replicas, which on a TPU are of one size only in TensorFlow 1."""
    is_later = context.module.era != era.TF1
    return is_later and any(call.name in (".fit", ".evaluate") for call in context.names.calls)


def rewrite(context: Context, found: list[StrategySetup]) -> None:
    """Puts ``make_strategy()`` in the place of each."""
    with_name = any(one.is_named for one in found)
    for one in found:
        gone = [] if one.stays or isinstance(one.strategy, ast.Return) else [one.strategy]
        for statement in [*(gone if one.is_named or one.stays else [one.resolver]), *one.others]:
            context.remove(statement, one.cell)
        wrapped = _trains(context) and context.helper("with_uneven_batches", _UNEVEN)
        before, after = ("with_uneven_batches(", ")") if wrapped else ("", "")
        if one.stays:
            _keep_resolver(context, one, before, after)
        elif one.is_named:
            _rename(context, one, before + "make_strategy", after)
        else:
            context.replace(one.call, one.cell, before + "make_strategy()" + after)
        if not one.is_named:
            _drop_names(context, one)
        keras.finish(context, one.call)
        keras.add_helper(context, with_name)


def mark_left(context: Context, found: list[StrategySetup]) -> None:
    """Marks what initializes a TPU in an outdated start-up that stays, which fails without one."""
    if "make_strategy" in context.names.functions:
        return
    gone = {id(node) for one in found for other in one.others for node in walk(other)}
    makes = [place for place in context.places if place.use.name.endswith(".TPUStrategy")]
    for call in context.names.calls if makes else ():
        cell = context.cell_of(call.node)
        if not call.name.endswith(_INITIALIZES) or call.guarded or id(call.node) in gone:
            continue
        if not any(isinstance(one, ast.Try) for one in _above(context, call.node, cell)):
            context.todo("TPU208", _NO_TPU, call.node, cell)


def _above(context: Context, node: ast.AST, cell: int) -> Iterator[ast.AST]:
    parents = context.parents(cell)
    above = parents.get(id(node))
    while above is not None:
        yield above
        above = parents.get(id(above))


def rewrite_workers(context: Context) -> None:
    """Asks for the workers of a resolver, which that of a TPU VM does not name."""
    if not any(call.name.endswith(".TPUClusterResolver") for call in context.names.calls):
        return
    for node in context.nodes:
        if not isinstance(node, ast.Subscript) or constant(index_of(node)) != "worker":
            continue
        if _method(_method(node.value, "as_dict"), "cluster_spec") is not None:
            text = context.texts[context.cell_of(node)]
            start, end = text.span(node.value)[1], text.span(node)[1]
            text.replace(start, end, ".get('worker', ['localhost'])")


def _method(node: Any, name: str) -> Any:
    """What a method is called of; None for any other call."""
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return node.func.value if is_method and node.func.attr == name else None


def _keep_resolver(context: Context, one: StrategySetup, before: str, after: str) -> None:
    """Makes the strategy by itself, and a resolver that no TPU is needed for."""
    made = one.resolver.value
    source = context.texts[one.cell].source(argument(made, 0, "tpu")) if one.is_named else ""  # type: ignore[arg-type]
    given = f"tpu={source}" if one.is_named else ""
    context.replace(one.call, one.cell, f"{before}make_strategy({given}){after}")
    context.want("os")
    local = "os.environ.get('TPU_NAME', 'local')"
    name = context.local("tf.distribute.cluster_resolver.TPUClusterResolver")
    named = f"{source} or {local}" if one.is_named else local
    if not keras_copies.loads_outside(context, one.resolver.targets[0].id, _started(one)):
        context.remove(one.resolver, one.cell)  # a strategy that is made in place, and no other use
        return
    context.replace(made, one.cell, f"{name}(tpu={named})")
    keras.finish(context, made)


def _started(one: StrategySetup) -> list[Any]:
    return [one.resolver, *one.others, one.call]


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
        is_name = isinstance(node, ast.Name)
        made = keras.only_assignment(context, node.id, joined=True) if is_name else None  # type: ignore[attr-defined]
        if made is None or not keras.serves_start_up(context, made[0].value):
            continue
        if not keras_copies.loads_outside(context, node.id, [one.resolver]):  # type: ignore[attr-defined]
            context.remove(*made)
