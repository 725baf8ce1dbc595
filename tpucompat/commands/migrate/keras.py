"""``keras_to_tpu_model``: builds and compiles the model under a strategy instead.

What is moved is the run of statements from the one that makes the model to the one that compiles it, below
``with make_strategy().scope():``. Where that run is unknown, the model is copied under the
strategy, as keras_to_tpu_model did it, if the program keeps using only the copy.
"""

from __future__ import annotations

import ast
import bisect
from typing import Any, Iterator, NamedTuple, Sequence, cast

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis.keras_values import key as _key
from tpucompat.commands.migrate import keras_copies as copies
from tpucompat.commands.migrate import keras_makers, optimizers
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.text import lines_of_strings
from tpucompat.commands.migrate.tpu_tests import asks_for_tpu
from tpucompat.names.used import Call, argument, walk

_HELPER = '''

def make_strategy({given}):
{i}"""A strategy for the TPU where there is one, else for the devices that are here."""
{i}try:
{i}{i}resolver = {tf}.distribute.cluster_resolver.TPUClusterResolver(
{i}{i}{i}{i}tpu={name}os.environ.get('TPU_NAME', 'local'){others})
{i}{i}{tf}.config.experimental_connect_to_cluster(resolver)
{i}{i}{tf}.tpu.experimental.initialize_tpu_system(resolver)
{i}{i}return {tf}.distribute.TPUStrategy(resolver)
{i}except (ValueError, {tf}.errors.OpError):
{i}{i}if {asked}'TPU_NAME' in os.environ:
{i}{i}{i}raise
{i}{i}if len({tf}.config.list_physical_devices('GPU')) > 1:
{i}{i}{i}return {tf}.distribute.MirroredStrategy()
{i}{i}return {tf}.distribute.get_strategy()
'''
_WITHOUT_NAME = {"given": "", "name": "", "others": "", "asked": ""}
# The same where the program names its TPU in what it is started with.
_WITH_NAME = {
    "given": "tpu=None, zone=None, project=None",
    "name": "tpu or ",
    "others": ", zone=zone, project=project",
    "asked": "(tpu or 'local') != 'local' or ",
}


# Methods of argparse's parsers, whose results are no layers.


class Run(NamedTuple):
    """Statements of one block that are moved below ``with strategy.scope():``, from the first to the last.

    Attributes:
      cell: Where they stand.
      first: The first of them.
      last: The last of them.
      strategy: The strategy, where a model was copied under it.
    """

    cell: int
    first: Any
    last: Any
    strategy: str = "one_strategy()"


class Conversion(NamedTuple):
    """One call of keras_to_tpu_model, and what belongs to it.

    Attributes:
      call: The call.
      cell: Where it stands.
      statement: ``tpu_model = keras_to_tpu_model(model, strategy)``.
      model: The expression of the model that it is given.
      runs: What is moved; the statement that makes the model is in the first of them. Empty where it is copied.
      strategy: The expression of the strategy, or None.
      condition: What the program asks before it takes the TPU, or None.
      compiling: What compiles the copy later.
    """

    call: Call
    cell: int
    statement: Any
    model: ast.expr
    runs: list[Run]
    strategy: ast.expr | None
    condition: ast.expr | None
    compiling: Sequence[Run] = ()


class CannotSee(Exception):
    """Why a conversion is left to people."""


def is_conversion(call: Call) -> bool:
    """Whether a call is one of keras_to_tpu_model, by any of its paths."""
    return call.name.startswith("tensorflow.") and call.name.endswith(".keras_to_tpu_model")


def _is_used_before(context: Context, one: Conversion) -> bool:
    """Whether the condition asks for what the moved statements only make."""
    if not one.runs:
        return False
    asked = (
        {node.id for node in walk(one.condition) if isinstance(node, ast.Name)}
        if one.condition
        else set()
    )
    run = one.runs[0]
    first = run.cell, run.first.lineno
    last = max((run.cell, run.last.lineno), (one.cell, one.statement.lineno))
    return any(
        isinstance(node.ctx, ast.Store) and first <= (context.cell_of(node), node.lineno) <= last
        for name in asked
        for node in context.named(name)
    )


def plan(context: Context) -> list[Conversion]:
    """The conversions of a file.

    Raises:
      CannotSee: If one of them cannot be rewritten.
    """
    calls = [call for call in context.names.calls if is_conversion(call)]
    try:
        found = _moved(context, calls)
    except CannotSee as why:
        if context.keras != 3:
            raise
        found = [_copied(context, call, calls, why) for call in calls]
    if found and "make_strategy" in context.names.functions:
        raise CannotSee("the file already defines make_strategy")
    for call in context.names.calls:
        if optimizers.class_of(call) and not call.guarded:
            reason = optimizers.why_not(context, call)
            if reason:
                raise CannotSee(f"tf.train.{optimizers.class_of(call)}: {reason}")
    for _, what in optimizers.refused(context):
        raise CannotSee(f"{what}: Keras has no such optimizer")
    return found


def _moved(context: Context, calls: Sequence[Call]) -> list[Conversion]:
    """The conversions of models whose making can be moved."""
    found = [_conversion(context, call) for call in calls]
    if any(_is_used_before(context, one) for one in found):
        raise CannotSee("the check for a TPU follows the construction of the model")
    runs = [(run.cell, run.first.lineno, run.last.end_lineno) for one in found for run in one.runs]
    runs.sort()
    for (cell, _, last), (other, first, _) in zip(runs, runs[1:]):
        if cell == other and first <= last:
            raise CannotSee("two models are built in one block of statements")
    return found


def _copied(context: Context, call: Call, calls: Sequence[Call], why: CannotSee) -> Conversion:
    """The conversion of a model that is copied where it stands.

    Args:
      context: The file.
      call: The conversion.
      calls: All conversions of the file.
      why: Why the making of a model cannot be moved.

    Raises:
      CannotSee: If the program keeps using the model, or the old strategy, beside the copy.
    """
    cell = context.cell_of(call.node)
    parents, statement = context.parents(cell), cast(Any, call.node)
    while not isinstance(statement, ast.stmt):
        statement = parents[id(statement)]
    model = argument(call.node, 0, "model")
    strategy = argument(call.node, 1, "strategy")
    if model is None or not all(map(context.is_free, ("under_strategy", "one_strategy"))):
        raise why
    made: list[tuple[int, Any, ast.expr]] = [(cell, statement, model)]
    function = next(copies.functions_around(context, cell, statement), None)
    name = copies.lambda_of(context, cell, call.node)
    if name:
        made = []
    elif function is not None and copies.is_returned(function, statement):
        name = function.name
    if name:
        found = copies.assignments(context, name)
        made += [(place, one, given) for place, one in found for given in copies.given(one)]
    compiling: list[Run] = []
    results = {_key(target) for _, one, _ in made for target in getattr(one, "targets", ())} - {""}
    for place, one, given in made:
        names = {_key(target) for target in getattr(one, "targets", ())} - {""}
        if copies.goes_on_with(context, place, one, _key(given), names, results):
            raise why
        for number, compiled in copies.compiled_later(context, place, one, names):
            optimizer = argument(compiled.value, 0, "optimizer")  # type: ignore[attr-defined]
            above = context.parents(place).get(id(one))
            is_sure = not isinstance(above, ast.If) or compiled in walk(above)
            if is_sure:
                made_before = _made_before(context, optimizer, why)
                compiling += [*made_before, Run(number, compiled, compiled)]
    sure = {id(run.last) for run in compiling}
    for number, compiled in copies.compiled_elsewhere(
        context, [(place, one) for place, one, _ in made]
    ):
        if id(compiled) not in sure:
            compiling.append(_with_optimizer(context, number, compiled, why))
    for run in compiling:
        _check(context, run)
    optimizers_of = [one for run in compiling for one in (run.first, run.last)]
    if any(_is_used_elsewhere(context, one, optimizers_of) for one in optimizers_of):
        raise why
    if isinstance(strategy, ast.Name):
        only = only_assignment(context, strategy.id)
        nodes: list[Any] = [each.node for each in calls]
        if only is None or copies.loads_outside(context, strategy.id, [*nodes, only[0]]):
            raise why
    return Conversion(call, cell, statement, model, [], strategy, None, compiling)


def _with_optimizer(context: Context, cell: int, compiled: Any, why: CannotSee) -> Run:
    """What compiles a model that may be a copy: under its own strategy, with the making of its optimizer.

    Raises:
      CannotSee: If the optimizer may be made elsewhere.
    """
    model = context.texts[cell].source(compiled.value.func.value)
    optimizer = argument(compiled.value, 0, "optimizer")
    first = next((run.first for run in _made_before(context, optimizer, why)), compiled)
    body = context.body_of(compiled, cell)
    between = body[body.index(first) + 1 : body.index(compiled)] if first in body else None
    stores = [
        one for statement in between or () for one in walk(statement) if isinstance(one, ast.Assign)
    ]
    if between is None or any(_key(target) == model for one in stores for target in one.targets):
        raise why
    return Run(cell, first, compiled, f"{model}.distribute_strategy")


def _made_before(context: Context, optimizer: ast.AST | None, why: CannotSee) -> list[Run]:
    """The statement that makes an optimizer which has a name; it has to be made under the strategy too.

    Raises:
      CannotSee: If it may be made elsewhere.
    """
    if isinstance(optimizer, (ast.Call, ast.Constant)):
        return []
    made = only_assignment(context, optimizer.id) if isinstance(optimizer, ast.Name) else None
    if made is None or not isinstance(made[0].value, ast.Call):
        raise why
    return [Run(made[1], made[0], made[0])]


def _is_used_elsewhere(context: Context, made: Any, compiling: Sequence[ast.AST]) -> bool:
    """Whether an optimizer serves more than the models that are compiled under the strategy."""
    if not isinstance(made, ast.Assign):
        return False
    return copies.loads_outside(context, _key(made.targets[0]), list(compiling))


def _conversion(context: Context, call: Call) -> Conversion:
    cell = context.cell_of(call.node)
    statement = context.statement(call.node, cell)
    model = argument(call.node, 0, "model")
    is_assigned = (
        isinstance(statement, ast.Assign)
        and statement.value is call.node
        and len(statement.targets) == 1
        and _key(statement.targets[0])
    )
    if not is_assigned or model is None:
        raise CannotSee("its result is not assigned directly")
    names = {_key(statement.targets[0]), _key(model)} - {""}
    condition: ast.expr | None = None
    if isinstance(model, ast.Call):
        run = _to_compile(context, cell, statement, statement, names)
    elif not _key(model):
        raise CannotSee("cannot find where the model is built")
    else:
        run, condition = _run(context, cell, statement, _key(model), names)
    runs = [run, *_other_compiles(context, run, names, cell)]
    for one in runs:
        _check(context, one)
    strategy = argument(call.node, 1, "strategy")
    return Conversion(call, cell, statement, model, runs, strategy, condition)


def _run(
    context: Context, cell: int, statement: Any, name: str, names: set[str]
) -> tuple[Run, ast.expr | None]:
    """The statements from the one that makes the model on, and the condition around the conversion."""
    parents = context.parents(cell)
    condition: ast.expr | None = None
    at: Any = statement
    while True:
        body = context.body_of(at, cell)
        index = next(number for number, one in enumerate(body) if one is at)
        first = keras_makers.maker(context, body[:index], name)
        if first is not None:
            return _to_compile(context, cell, first, at, names), condition
        above = parents.get(id(at))
        if isinstance(above, ast.If) and condition is None:
            condition = above.test
        elif isinstance(above, ast.Module) and context.module.source.is_notebook:
            return _earlier_cell(context, cell, name), condition
        else:
            raise CannotSee(f"cannot find where {name} is built")
        at = above


def _earlier_cell(context: Context, cell: int, name: str) -> Run:
    """The run in a cell of its own, to its last statement that has to do with the model."""
    cells = {context.cell_of(one) for one in keras_makers.makers(context).get(name, ())}
    for number in sorted((one for one in cells if one < cell), reverse=True):
        body = context.trees[number].body
        first = keras_makers.maker(context, body, name)
        if first is None:
            continue
        makers = keras_makers.makers(context)[name]
        last = [one for one in body if one in makers or _uses_method(one, name)][-1]
        return Run(number, first, last)
    raise CannotSee(f"cannot find where {name} is built")


def _to_compile(context: Context, cell: int, first: Any, last: Any, names: set[str]) -> Run:
    body = context.body_of(last, cell)
    at = next(index for index, one in enumerate(body) if one is last)
    behind = set(body[at + 1 :])
    for _, one in copies.compiling(context, names):
        last = one if one in behind else last
    return Run(cell, first, last)


def _other_compiles(context: Context, run: Run, names: set[str], cell: int) -> Iterator[Run]:
    """Where the model is compiled elsewhere: in another cell, or another block."""
    for number, node in copies.compiling(context, names):
        inside = number == run.cell and run.first.lineno <= node.lineno <= run.last.lineno
        if not inside:
            if not context.module.source.is_notebook:
                raise CannotSee("it is compiled elsewhere")
            yield Run(number, node, node)


def _check(context: Context, run: Run) -> None:
    text = context.texts[run.cell]
    inside = range(run.first.lineno, run.last.lineno + 1)
    if any(one.cell == run.cell and one.node.lineno in inside for one in context.imports):
        raise CannotSee("TensorFlow is imported among the statements that build the model")
    lines = _lines_of_strings(context, run.cell)
    at = bisect.bisect_left(lines, run.first.lineno)
    if at < len(lines) and lines[at] <= run.last.end_lineno:
        raise CannotSee("a multi-line string is among the statements that build the model")
    if not text.owns_lines(run.first) or not text.owns_lines(run.last):
        raise CannotSee("several statements share a line")


@indexes.once
def _lines_of_strings(context: Context, cell: int) -> list[int]:
    """The lines in which strings begin that go over several."""
    return sorted(lines_of_strings(context.trees[cell]))


def _uses_method(statement: ast.stmt, name: str) -> bool:
    function = copies.called(statement)
    return isinstance(function, ast.Attribute) and _key(function.value) == name


# Rewriting -----------------------------------------------------------------------------------------


def rewrite(context: Context, conversions: list[Conversion], optimizers_too: bool) -> None:
    """Rewrites the conversions, the optimizers and what only served the old start-up.

    Args:
      context: The file.
      conversions: What :func:`plan` found.
      optimizers_too: Whether optimizers of ``tf.train`` are given to Keras models, and become Keras'.
    """
    for call in context.names.calls:
        is_optimizer = optimizers_too and optimizers.class_of(call) and not call.guarded
        if is_optimizer:
            reason = optimizers.why_not(context, call)
            if not reason:
                optimizers.rewrite(context, call)
            elif any(call.node is one for one in optimizers.compiled(context)):
                what = f"compile takes no tf.train.{optimizers.class_of(call)}: {reason}"
                context.todo("TPU510", what, call.node, context.cell_of(call.node))
        elif call.name == ".sync_to_cpu" and isinstance(call.node.func, ast.Attribute):
            cell = context.cell_of(call.node)
            end = context.texts[cell].span(call.node)[1]
            inner = context.texts[cell].span(call.node.func.value)[1]
            if context.texts[cell].is_free(inner, end):
                context.texts[cell].replace(inner, end, "")
    copies.drop_cpu_models(context)
    if optimizers_too:
        optimizers.rewrite_steps(context)
        optimizers.unwrap(context)
        for made, what in optimizers.refused(context):
            context.todo("TPU510", f"compile takes no {what}", made, context.cell_of(made))
    for one in conversions:
        _convert(context, one, [other.call.node for other in conversions])
    _drop_names(context, conversions)
    compiling = {id(run.first): run for one in conversions for run in one.compiling}
    for run in compiling.values():
        _write_before(context, run, f"with {run.strategy}.scope():")
        context.indent_later(run.cell, run.first.lineno, run.last.end_lineno, context.indent_unit())
    if any(not one.runs for one in conversions):
        context.helper("under_strategy", copies.COPY)
    if conversions:
        add_helper(context)


def _drop_names(context: Context, conversions: Sequence[Conversion]) -> None:
    """Takes out ``convert = tf.contrib.tpu.keras_to_tpu_model`` where only conversions used the name."""
    calls = [one.call.node for one in conversions]
    functions = [call.func for call in calls]
    for one in conversions:
        name = _key(one.call.node.func)
        made = only_assignment(context, name) if name.isidentifier() else None
        if made is None or copies.loads_outside(context, name, [*functions, made[0]]):
            continue
        if context.remove(*made):
            _retire(context, one, [made[0].value], [made[0], *calls])


def _convert(context: Context, one: Conversion, calls: Sequence[ast.AST]) -> None:
    text = context.texts[one.cell]
    context.done.add(id(one.call.node.func))
    if not one.runs:
        (start, end), (first, last) = text.span(one.call.node), text.span(one.model)
        text.replace(start, first, "under_strategy(")
        text.replace(last, end, ")")
        _retire(context, one, [one.strategy] if one.strategy is not None else [], calls)
        return
    if _key(one.model) and _key(one.model) == _key(one.statement.targets[0]):
        context.remove(one.statement, one.cell)
    else:
        context.replace(one.call.node, one.cell, text.source(one.model))
    named = _retire(context, one, [one.strategy] if one.strategy is not None else [])
    if len(one.runs) > 1 and not named:
        named = "strategy" if context.is_free("strategy") else "tpu_strategy"
    made = "make_strategy()"
    if one.condition is not None and asks_for_tpu(one.condition):
        finish(context, one.condition)
        one = one._replace(condition=None)
    if one.condition is not None:
        asked = text.source(one.condition)
        made = f"make_strategy() if {asked} else {context.local('tf.distribute.get_strategy')}()"
    if named:
        _write_before(context, one.runs[0], f"{named} = {made}")
    elif one.condition is not None:
        made = f"({made})"
    for run in one.runs:
        _write_before(context, run, f"with {named or made}.scope():")
        context.indent_later(run.cell, run.first.lineno, run.last.end_lineno, context.indent_unit())


def _write_before(context: Context, run: Run, words: str) -> None:
    text = context.texts[run.cell]
    line = run.first.lineno
    text.insert_line(line, text.indent(line) + words + text.newline)


def _retire(
    context: Context, one: Conversion, removed: list[ast.AST], calls: Sequence[ast.AST] = ()
) -> str:
    """Takes out what only served the old strategy, in this conversion and in others that are gone.

    Returns:
      Its name if the program needs it further on.
    """
    named = ""
    waiting = list(removed)
    gone: list[Any] = [one.call.node, *calls]

    def drop(statement: Any, cell: int) -> None:
        if context.remove(statement, cell):
            gone.append(statement)
            waiting.append(statement.value)
            finish(context, statement)

    while waiting:
        expression = waiting.pop()
        for name in [node for node in walk(expression) if isinstance(node, ast.Name)]:
            made = only_assignment(context, name.id)
            if made is None:
                for other in _for_each_conversion(context, name.id):
                    if other[0] not in gone:
                        drop(*other)
                gone += _remove_function(context, name.id, gone)
            if made is None or not serves_start_up(context, made[0].value) or made[0] in gone:
                continue
            is_needed = copies.loads_outside(context, name.id, [*gone, made[0]])
            if is_needed and name is not one.strategy:
                continue  # such as a resolver that is asked for its address
            named = name.id if is_needed else named
            drop(*made)
    for expression in removed:
        finish(context, expression)
    finish(context, one.call.node, but=one.model)
    finish(context, one.call.node.func)
    return named


def _for_each_conversion(context: Context, name: str) -> list[tuple[Any, int]]:
    """The assignments of a name that each conversion makes again for itself alone."""
    found = copies.plain_assignments(context, name)
    inside: list[Any] = _conversions(context)
    serve = all(serves_start_up(context, one.value) for one, _ in found)
    alone = not copies.loads_outside(context, name, inside + [one for one, _ in found])
    return found if serve and alone else []


@indexes.once
def _conversions(context: Context) -> list[ast.Call]:
    return [call.node for call in context.names.calls if is_conversion(call)]


@indexes.once
def _functions(context: Context) -> dict[str, list[tuple[int, ast.FunctionDef]]]:
    """The names of the functions of the module itself -> each with its cell."""
    found: dict[str, list[tuple[int, ast.FunctionDef]]] = {}
    for cell, tree in context.trees.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, []).append((cell, node))
    return found


def _remove_function(context: Context, name: str, gone: Sequence[ast.AST]) -> list[ast.AST]:
    """Takes out a function that does nothing but make a strategy, and is called nowhere else."""
    for cell, node in _functions(context).get(name, ()):
        inside = walk(node)
        if node.decorator_list or any(isinstance(one, ast.Global) for one in inside):
            continue
        if copies.loads_outside(context, name, [*gone, node]):
            continue
        makes = any(one in _strategies(context) for one in inside)
        if makes and context.remove(node, cell):
            finish(context, node)
            return [node]
    return []


@indexes.once
def _strategies(context: Context) -> set[ast.AST]:
    calls = context.names.calls
    return {call.node for call in calls if call.name.endswith(".TPUDistributionStrategy")}


def finish(context: Context, node: ast.AST, but: ast.AST | None = None) -> None:
    """What stands in a place that is gone needs no rewriting of its own."""
    kept = {id(inside) for inside in walk(but)} if but is not None else set()
    context.done.update(id(inside) for inside in walk(node) if id(inside) not in kept)


def only_assignment(context: Context, name: str, joined: bool = False) -> tuple[Any, int] | None:
    """The statement that alone assigns a name, and its cell; None where it is not alone, or shares a line."""
    found = copies.plain_assignments(context, name, joined)
    return found[0] if len(found) == 1 else None


def serves_start_up(context: Context, value: ast.AST) -> bool:
    """Whether an expression makes an address, a resolver or a strategy of a TPU, and nothing else."""
    return any(node in _of_start_up(context) for node in walk(value))


@indexes.once
def _of_start_up(context: Context) -> set[ast.AST]:
    """The addresses, resolvers and strategies of a file."""
    made = (".TPUClusterResolver", ".TPUDistributionStrategy")
    calls = {call.node for call in context.names.calls if call.name.endswith(made)}
    return calls | {node for node, _, _, _ in context.names.strings}


def has_helper(context: Context) -> bool:
    """Whether ``make_strategy`` is defined behind the imports."""
    return any("def make_strategy" in one for one in context.after_imports)


def helper(indent: str, tf: str, is_named: bool = False) -> str:
    """The text of ``make_strategy``.

    Args:
      indent: One indentation.
      tf: What the file calls TensorFlow.
      is_named: Whether it takes the name of a TPU, its zone and its project.
    """
    return _HELPER.format(i=indent, tf=tf, **(_WITH_NAME if is_named else _WITHOUT_NAME))


def add_helper(context: Context, is_named: bool = False) -> None:
    """Defines ``make_strategy`` behind the imports, once."""
    if has_helper(context):
        return
    tf = context.local("tf.distribute").rpartition(".")[0]
    context.want("os")
    context.define(helper(context.indent_unit(), tf, is_named))
