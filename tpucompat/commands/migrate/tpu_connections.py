"""The start-up of a TPU: addresses of Colab's TPU nodes, the calls of early TensorFlow 2."""

from __future__ import annotations

import ast
from typing import Any, Mapping, NamedTuple, Sequence

from tpucompat.commands.analysis import indexes, sources
from tpucompat.commands.migrate import keras, session_settings
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.text import Text, strings_over_lines
from tpucompat.names import era, fixes
from tpucompat.names import successors as today
from tpucompat.names.used import Call, argument, constant, walk

LOCAL = "'local'"

_CONNECT = "tensorflow.config.experimental_connect_to_host"
#: Calls that end a program, as ``ast.dump`` writes their functions.
_EXITS = frozenset(
    ast.dump(ast.parse(call, mode="eval").body) for call in ("sys.exit", "exit", "quit")
)
#: Methods of a strategy that 2.4 and later releases took away, and those that took their places.
METHODS = {
    "experimental_run_v2": "run",
    "experimental_distribute_datasets_from_function": "distribute_datasets_from_function",
}
_NO_NAME = "TPUClusterResolver raises where it is given no name: TPUClusterResolver(tpu='local')"
NUMPY_DATASET = "experimental_make_numpy_dataset"
_SESSIONS = ("tensorflow.Session", "tensorflow.compat.v1.Session")
_SYSTEM = {
    f"tensorflow.{version}{path}": name
    for path, name in fixes.COMPUTATIONS.items()
    if name in ("initialize_system", "shutdown_system")
    for version in ("", "compat.v1.")
}
_TOPOLOGIES = tuple(
    f"tensorflow.{module}.Topology"
    for module in ("contrib.tpu", "contrib.tpu.python.tpu.topology", "python.tpu.topology")
)


def rewrite(context: Context) -> None:
    """Rewrites addresses, connections and calls; marks what is tested for instead of used."""
    for node, _, _, guarded in context.names.strings:
        cell = context.cell_of(node)
        if not guarded and id(node) not in context.done:
            _address(context, node, cell)
    for call in context.names.calls:
        if id(call.node) in context.done or id(call.node.func) in context.done:
            continue
        if call.name == _CONNECT and not call.guarded:
            _connection(context, call)
        elif call.name.endswith(".TPUStrategy") and not call.guarded:
            _arguments_of_strategy(context, call)
        elif call.name.endswith(".TPUClusterResolver") and _may_name_nothing(context, call):
            context.todo("TPU208", _NO_NAME, call.node, context.cell_of(call.node))
        elif call.name[1:] in METHODS and not call.guarded:
            _method(context, call, METHODS[call.name[1:]])
        elif call.name == "." + NUMPY_DATASET and not call.guarded and len(call.node.args) == 1:
            made = context.local("tf.data.Dataset.from_tensor_slices")
            context.replace(call.node.func, context.cell_of(call.node), made)


def _may_name_nothing(context: Context, call: Call) -> bool:
    """Whether a program of TensorFlow 1 makes a resolver that today's TensorFlow refuses without a name."""
    is_old = context.module.era == era.TF1 or call.name.startswith("tensorflow.compat.v1.")
    above: Any = call.node
    while above is not None and not isinstance(above, ast.Try):
        above = context.parents(context.cell_of(call.node)).get(id(above))
    name = argument(call.node, 0, "tpu")
    named = isinstance(name, (ast.List, ast.Tuple)) or bool(constant(name))
    return is_old and not named and not call.guarded and above is None


_MODES = frozenset(
    f"tensorflow.{version}{name}"
    for version in ("", "compat.v1.")
    for name in (
        *("disable_v2_behavior", "disable_eager_execution", "disable_resource_variables"),
        *("disable_control_flow_v2", "disable_v2_tensorshape", "disable_tensor_equality"),
    )
)


def eager_calls(context: Context) -> list[Call]:
    """The calls by which a program asks for eager execution, where nothing else decides it."""
    return [
        call
        for call in context.names.calls
        if call.name.endswith(".enable_eager_execution") and not call.guarded
    ]


def remove_eager_calls(context: Context) -> None:
    """Takes out what asks for the mode that TensorFlow 2 is in."""
    for call in eager_calls(context):
        if _stands_alone(context, call.node):
            cell = context.cell_of(call.node)
            context.remove(context.statement(call.node, cell), cell)


def remove_modes(context: Context) -> None:
    """Takes out what brings a process back to TensorFlow 1's modes, in which no training loop runs."""
    for call in context.names.calls:
        if call.name in _MODES and not call.guarded and _stands_alone(context, call.node):
            cell = context.cell_of(call.node)
            context.remove(context.statement(call.node, cell), cell)


def idle_calls(context: Context) -> list[Call]:
    """``tpu.shutdown_system()`` as a statement of its own, whose operation nothing runs."""
    return [
        call
        for call in context.names.calls
        if call.name in _SYSTEM and not call.guarded and _stands_alone(context, call.node)
    ]


def _stands_alone(context: Context, node: ast.AST) -> bool:
    statement = context.statement(node, context.cell_of(node))
    return isinstance(statement, ast.Expr) and statement.value is node


def remove_idle_calls(context: Context) -> None:
    """Takes such statements out."""
    for call in idle_calls(context):
        cell = context.cell_of(call.node)
        statement = context.statement(call.node, cell)
        context.remove(statement, cell)
        keras.finish(context, statement)


class Listing(NamedTuple):
    """A Session that is opened only to list the devices of the TPU, and to start and stop it.

    Attributes:
      cell: Where it stands.
      session: Its ``with`` statement.
      dropped: Statements in it that start and stop the TPU.
      cores: ``Topology(serialized=topology).num_tpus_per_task`` of what starting it returned.
    """

    cell: int
    session: ast.With
    dropped: list[ast.stmt]
    cores: list[ast.Attribute]

    @property
    def handled(self) -> set[int]:
        """The identities of what needs no other answer."""
        nodes = [self.session.items[0].context_expr, *self.dropped, *self.cores]
        return {id(inside) for node in nodes for inside in walk(node)}


def listings(context: Context) -> list[Listing]:
    """Where a Session is opened only to list the devices of the TPU.

    with tf.Session(address) as session:
      devices = session.list_devices()
      topology = session.run(tf.contrib.tpu.initialize_system())
    """
    blocks = indexes.nodes(context, ast.With)
    found = [_listing(context, node, context.cell_of(node)) for node in blocks]
    return [one for one in found if one is not None]


def in_session(context: Context, graph: str) -> bool:
    """Whether a program of TensorFlow 1 runs the computations of a TPUStrategy in a Session.

    Args:
      context: The file.
      graph: What of it works in a graph; "" if nothing does.
    """
    if context.module.era != era.TF1 or eager_calls(context):
        return False
    gone = {node for one in listings(context) for node in one.handled}
    gone |= session_settings.plan(context).nodes
    calls = [call for call in context.names.calls if not call.guarded and id(call.node) not in gone]
    opens = bool(graph) or any(call.name in _SESSIONS for call in calls)
    made = (call.name for call in calls if call.name.startswith("tensorflow."))
    return opens and any(name.endswith(".TPUStrategy") for name in made)


@indexes.once
def _called(context: Context) -> dict[int, str]:
    return {id(call.node): call.name for call in context.names.calls if not call.guarded}


def _listing(context: Context, node: ast.With, cell: int) -> Listing | None:
    item = node.items[0]
    name = getattr(item.optional_vars, "id", "")
    called = _called(context)
    if len(node.items) != 1 or not name or called.get(id(item.context_expr)) not in _SESSIONS:
        return None
    inside = [one for statement in node.body for one in walk(statement)]
    dropped = [one for one in node.body if _starts_or_stops(one, name, called)]
    known = {id(one) for statement in dropped for one in walk(statement)}
    uses = [one for one in inside if isinstance(one, ast.Name) and one.id == name]
    listed = {id(one.func.value) for one in inside if _listed(one) == name}  # type: ignore[attr-defined]
    text = context.texts[cell]
    is_plain = (
        all(id(one) in known | listed for one in uses)
        and bool(listed)
        and node.body[0].lineno > node.lineno
        and all(map(text.owns_lines, [node, *dropped]))
        and "\f" not in text.source(node) + text.line(node.lineno)
        and not strings_over_lines(node, node.lineno, node.end_lineno or node.lineno)
    )
    if not is_plain or (dropped and not context.is_free("make_strategy")):
        return None
    cores: list[ast.Attribute] = []
    for statement in dropped:
        if isinstance(statement, ast.Assign):
            counts = _counts(context, statement, cell, called)
            if counts is None or not context.is_free("strategy"):
                return None
            cores += counts
    return Listing(cell, node, dropped, cores)


def _starts_or_stops(statement: ast.stmt, name: str, called: Mapping[int, str]) -> bool:
    """``session.run(tf.contrib.tpu.initialize_system())``, its result named or not, or the end of it."""
    run = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    method = run.func if isinstance(run, ast.Call) and len(run.args) == 1 else None
    if not isinstance(run, ast.Call) or not isinstance(method, ast.Attribute) or run.keywords:
        return False
    is_run = method.attr == "run" and getattr(method.value, "id", "") == name
    given: Any = run.args[0]
    started = _SYSTEM.get(called.get(id(given), ""), "")
    is_named = isinstance(statement, ast.Assign)
    is_wanted = started == "initialize_system" or (started != "" and not is_named)
    return is_run and is_wanted and not (given.args or given.keywords)


def _counts(
    context: Context, made: ast.Assign, cell: int, called: Mapping[int, str]
) -> list[ast.Attribute] | None:
    """Where the cores of a started TPU are counted; None if anything else is asked of its topology."""
    name = getattr(made.targets[0], "id", "")
    parents = context.parents(cell)
    found: list[ast.Attribute] = []
    for node in context.named(name):
        if node is made.targets[0]:
            continue
        above = parents.get(id(node))
        call = parents.get(id(above)) if isinstance(above, ast.keyword) else above
        asked = parents.get(id(call))
        if called.get(id(call)) not in _TOPOLOGIES or not isinstance(asked, ast.Attribute):
            return None
        only = isinstance(call, ast.Call) and len(call.args) + len(call.keywords) == 1
        if not only or asked.attr != "num_tpus_per_task":
            return None
        found.append(asked)
    return found if name and len(made.targets) == 1 else None


def _listed(node: ast.AST) -> str:
    """``session`` of a call ``session.list_devices()``; "" for anything else."""
    function = node.func if isinstance(node, ast.Call) and not node.args else None
    if isinstance(function, ast.Attribute) and function.attr == "list_devices":
        return getattr(function.value, "id", "")
    return ""


def rewrite_listings(context: Context, found: list[Listing]) -> None:
    """Lists the devices without a Session; where it started the TPU, a strategy does."""
    for one in found:
        cell, node = one.cell, one.session
        text = context.texts[cell]
        by = len(text.indent(node.body[0].lineno)) - len(text.indent(node.lineno))
        context.done.update(one.handled)
        text.delete_lines(node.lineno, node.body[0].lineno - 1)
        if one.dropped:
            made = ("strategy = " if one.cores else "") + "make_strategy()"
            text.insert_line(node.lineno, text.indent(node.lineno) + made + text.newline)
            keras.add_helper(context)
        for statement in one.dropped:
            context.remove(statement, cell)
        gone = {
            line
            for statement in one.dropped
            for line in range(statement.lineno, (statement.end_lineno or 0) + 1)
        }
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1):
            if line not in gone:
                text.dedent_line(line, by)
        name = context.local("tf.config.list_logical_devices")
        for call in walk(node):
            if _listed(call):
                context.replace(call.func, cell, name)  # type: ignore[attr-defined]
        for asked in one.cores:
            context.replace(asked, context.cell_of(asked), "strategy.num_replicas_in_sync")


def whole_address(context: Context, node: ast.AST, cell: int) -> Any | None:
    """The expression that makes an address of ``COLAB_TPU_ADDR``: ``'grpc://' + os.environ[…]``.

    Args:
      context: The file.
      node: The text ``COLAB_TPU_ADDR``.
      cell: Where it stands.

    Returns:
      The largest expression that is an address; None where the name is only asked for.
    """
    parents = context.parents(cell)
    found = parents.get(id(node))
    is_lookup = isinstance(found, ast.Subscript) and isinstance(found.ctx, ast.Load)
    is_get = isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute)
    if is_get and found.func.attr not in ("get", "getenv"):  # type: ignore[union-attr]
        return None
    if not is_lookup and not is_get:
        return None
    while True:
        above = parents.get(id(found))
        if not _makes_address(above):
            return found
        found = above


def _makes_address(node: ast.AST | None) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Add, ast.Mod)) and is_grpc(constant(node.left))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "format" and is_grpc(constant(node.func.value))
    if isinstance(node, ast.JoinedStr):
        return bool(node.values) and is_grpc(constant(node.values[0]))
    return isinstance(node, ast.FormattedValue)


def is_grpc(value: Any) -> bool:
    """Whether a value is the address of a TPU node, or the beginning of one."""
    return isinstance(value, str) and value.startswith("grpc://")


def _address(context: Context, node: ast.AST, cell: int) -> None:
    whole = whole_address(context, node, cell)
    if whole is None and _is_only_for_tpu(context, node, cell):
        return
    found = checks(context.trees[cell], context.texts[cell]) if whole is None else []
    if is_python(context, cell) and any(check.test.left is node for check, _ in found):  # type: ignore[attr-defined]
        return  # without_checks takes it out in the end
    if whole is None or not context.replace(whole, cell, LOCAL):
        context.todo(
            "TPU208", "Colab no longer sets COLAB_TPU_ADDR; its TPU is tpu='local'", node, cell
        )


def _is_only_for_tpu(context: Context, node: ast.AST, cell: int) -> bool:
    """Takes out what ends a program without Colab's TPU, where ``make_strategy`` goes on without one.

    if 'COLAB_TPU_ADDR' not in os.environ:
      sys.exit('not connected to a TPU')
    """
    test: Any = context.parents(cell).get(id(node))
    statement = context.parents(cell).get(id(test))
    if not keras.has_helper(context) or not isinstance(test, ast.Compare) or test.left is not node:
        return False
    if isinstance(statement, ast.Assert):
        asked: type = ast.In
    elif isinstance(statement, ast.If) and not statement.orelse:
        asked = ast.NotIn
        if not _only_tells(statement.body) or not _ends(statement.body[-1]):
            return False
    else:
        return False
    is_plain = len(test.ops) == 1 and isinstance(test.ops[0], asked)
    return is_plain and context.remove(statement, cell)


def is_python(context: Context, cell: int) -> bool:
    """Whether a unit has no lines of IPython's own, so that its text can be read again."""
    return any(
        unit.cell == cell and unit.text == unit.original for unit in context.module.source.units
    )


def _ends(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_exit = isinstance(call, ast.Call) and ast.dump(call.func) in _EXITS
    return isinstance(statement, ast.Raise) or is_exit


def _only_tells(body: Sequence[ast.stmt]) -> bool:
    """Whether a branch prints, and ends the program, and does nothing else."""
    return all(
        _ends(one)
        or (
            isinstance(one, ast.Expr)
            and isinstance(one.value, ast.Call)
            and getattr(one.value.func, "id", "") == "print"
        )
        for one in body
    )


def checks(tree: ast.AST, text: Text) -> list[tuple[ast.If, list[ast.stmt]]]:
    """Tests for Colab's TPU that only tell of its absence, each with the branch for the TPU.

    if 'COLAB_TPU_ADDR' not in os.environ:
      print('ERROR: not connected to a TPU runtime')
    else:
      tpu_address = 'grpc://' + os.environ['COLAB_TPU_ADDR']
    """
    found = []
    for node in walk(tree):
        test = node.test if isinstance(node, ast.If) else None
        if not isinstance(test, ast.Compare) or constant(test.left) != "COLAB_TPU_ADDR":
            continue
        if len(test.ops) != 1:
            continue
        assert isinstance(node, ast.If)
        told, kept = node.body, node.orelse
        if isinstance(test.ops[0], ast.In):
            told, kept = kept, told
        elif not isinstance(test.ops[0], ast.NotIn):
            continue
        is_plain = (
            bool(told and kept)
            and _only_tells(told)
            and text.line(node.lineno).lstrip().startswith("if")  # and not elif
            and kept[0].lineno > node.lineno
            and not strings_over_lines(node, node.lineno, node.end_lineno or node.lineno)
            and all(map(text.owns_lines, kept))
            and _else_of(text, node) is not None
        )
        if is_plain:
            found.append((node, kept))
    return found


def _else_of(text: Text, node: ast.If) -> int | None:
    """The line that holds nothing but ``else:``, of a test that has one."""
    first = node.orelse[0].lineno
    for line in range(first - 1, (node.body[-1].end_lineno or 0), -1):
        words = text.line(line).partition("#")[0].strip()
        if words == "else:" and text.indent(line) == text.indent(node.lineno):
            return line
        if words:
            return None
    return None


def without_checks(source: str) -> str:
    """A text without these tests; the branch for the TPU stays, as ``make_strategy`` goes on without one."""
    if "COLAB_TPU_ADDR" not in source:
        return source
    text = Text(source)
    tree = sources.parse(source)
    for node, kept in checks(tree, text)[:1]:  # those inside it are found in the text that is left
        by = len(text.indent(kept[0].lineno)) - len(text.indent(node.lineno))
        line, end = _else_of(text, node), node.end_lineno or 0
        assert line is not None
        if kept is node.orelse:
            first, last = line + 1, end
            text.delete_lines(node.lineno, line)
        else:
            first, last = node.lineno + 1, line - 1
            text.delete_lines(node.lineno, node.lineno)
            text.delete_lines(line, end)
        for number in range(first, last + 1):
            text.dedent_line(number, by)
        return without_checks(text.result())
    return source


def _connection(context: Context, call: Call) -> None:
    """``experimental_connect_to_host(resolver.master())`` -> ``…_to_cluster(resolver)``."""
    cell = context.cell_of(call.node)
    node = call.node.args[0] if len(call.node.args) == 1 and not call.node.keywords else None
    context.done.add(id(call.node.func))
    is_master = (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("master", "get_master")
    )
    if not is_master:
        context.todo(
            "TPU208",
            "connect with tf.config.experimental_connect_to_cluster(resolver)",
            call.node,
            cell,
        )
        return
    resolver = context.texts[cell].source(node.func.value)  # type: ignore[union-attr]
    context.replace(
        call.node.func, cell, context.local("tf.config.experimental_connect_to_cluster")
    )
    context.replace(node, cell, resolver)  # type: ignore[arg-type]


def only_resolver(context: Context, call: Call) -> ast.expr | None:
    """The resolver that a strategy is given, where it is given nothing else that matters today."""
    node, steps = call.node, _steps_of(call)
    given = [*node.args, *(word.value for word in node.keywords)]
    rest = [one for one in given if one is not steps or not _is_of_keras(context)]
    return rest[0] if len(rest) == 1 and given[0] is rest[0] and node.args else None


def _steps_of(call: Call) -> ast.expr | None:
    """How many steps a strategy runs at once."""
    place = 1 if call.name.startswith("tensorflow.contrib.") else len(call.node.args)
    return argument(call.node, place, "steps_per_run")


def _is_of_keras(context: Context) -> bool:
    """Whether Keras' loop alone knows how many steps a strategy runs at once."""
    looped = any(".experimental_run" in one.name for one in context.names.calls)
    return not looped and any(one.name.endswith(".fit") for one in context.names.calls)


def _arguments_of_strategy(context: Context, call: Call) -> None:
    """What TPUStrategy of 1.x and of early TensorFlow 2 took under other names, or took at all."""
    if today.fate(call.name) is None:
        return
    cell = context.cell_of(call.node)
    text = context.texts[cell]
    steps = _steps_of(call)
    if steps is not None and not _without(context, call, steps):
        context.todo(
            "TPU208", "TPUStrategy has no steps_per_run; loop in a tf.function", call.node, cell
        )
    for word in call.node.keywords:
        if word.arg == "device_assignment":
            text.replace(*text.keyword(word), "experimental_device_assignment")


def _without(context: Context, call: Call, steps: ast.expr) -> bool:
    """Takes out how many steps a strategy runs at once, where Keras' loop alone knows of it."""
    if not _is_of_keras(context):
        return False
    text = context.texts[context.cell_of(call.node)]
    words = {id(word.value): word for word in call.node.keywords}
    given = sorted([*call.node.args, *words.values()], key=lambda one: text.span(one)[0])
    place = given.index(words.get(id(steps), steps))
    if not place:
        return False
    text.replace(text.span(given[place - 1])[1], text.span(given[place])[1], "")
    return True


def _method(context: Context, call: Call, name: str) -> None:
    """Another name for a method."""
    cell = context.cell_of(call.node)
    text = context.texts[cell]
    end = text.span(call.node.func)[1]
    old = call.node.func.attr  # type: ignore[attr-defined]
    text.replace(end - len(old), end, name)
