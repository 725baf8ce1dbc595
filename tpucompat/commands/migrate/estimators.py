"""TPUEstimator: the script's model_fn under a ``tf.distribute`` strategy, by a small training loop beside it.

A model_fn is unchanged; what called it becomes ``training_loop.py``, which belongs to the user and is plain
TensorFlow 2. What that does not do (most hooks, model parallelism, embedding tables of a TPU) is found before
anything is rewritten, and such a file uses ``tpucompat.v1``.
"""

from __future__ import annotations

import ast
import os
import re
from typing import Any, Iterable, Iterator, NamedTuple

from tpucompat.commands.migrate import (
    estimator_hooks,
    estimator_limits,
    loop_tags,
    optimizers,
    tpu_connections,
    written,
)
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.estimator_limits import AS_SPEC
from tpucompat.commands.migrate.estimator_tables import (
    COMPUTATIONS,
    CONTRIB,
    DROPPED,
    ELSEWHERE,
    KEPT,
    METHODS,
    MODULE,
    NAMES,
    OF_ESTIMATORS,
    POSITIONAL,
    RESOLVERS,
    SESSIONS,
    SUMMARIES,
    SUMMARY,
)
from tpucompat.commands.migrate.keras import CannotSee, finish
from tpucompat.names.used import Call, walk

_IN_NEW_GRAPH = '''

def in_new_graph(function):
{i}"""Calls a function in a new graph each time."""
{i}@functools.wraps(function)
{i}def call(*args, **kwargs):
{i}{i}with {tf}.Graph().as_default():
{i}{i}{i}return function(*args, **kwargs)

{i}return call
'''


class Home(NamedTuple):
    """Where a program has a module that is written beside one of its files.

    Attributes:
      package: What a file imports it from; "" for the folder of the script.
      is_here: Whether it is written beside this file.
    """

    package: str
    is_here: bool


_IN_A_BRANCH = (
    "gradients are applied in a branch of tf.cond, which works on one device only: on several, "
    "apply them in each step, multiplied by 0 or 1"
)
_KERAS_INPUT = re.compile(r"(tensorflow\.(\w+\.)*)?keras\.(\w+\.)*Input")
_KERAS_MODEL = re.compile(r"(tensorflow\.(\w+\.)*)?keras\.(\w+\.)*Model")
#: Names of the module that a program without a training loop may have too.
_OF_ANY_PROGRAM = {"make_strategy", "summary_writer", "record_every", "ExponentialMovingAverage"}
#: Rows of calls that compute at once, which TensorFlow 2 does outside of a graph.
_AT_ONCE = {*METHODS.values(), "train_and_evaluate"}
_OF_COMPUTATIONS = {*COMPUTATIONS, "get_tpu_context"}


class Plan(NamedTuple):
    """What is rewritten in a file.

    Attributes:
      uses: The place of a name, and what stands there afterwards.
      calls: Calls whose arguments change, and the row of the table for each.
      renamed: Methods that have another name.
      op_names: ``variable.op.name``.
      aliases: ``tpu = tf.contrib.tpu``, where all that is used of it has a place.
      addresses: ``resolver.get_master()``, which a strategy has no need of.
      inputs: ``Input(tensor=x)`` of Keras, which is x for the layers behind it.
      graphs: Functions that build a graph, which the default one was, and statements with a FileWriter.
      specs: Calls of ``as_estimator_spec``.
    """

    uses: list[tuple[Any, str]]
    calls: list[tuple[ast.Call, str]]
    renamed: list[tuple[ast.Attribute, str]]
    op_names: list[ast.Attribute]
    aliases: list[ast.Assign]
    addresses: list[ast.Call]
    inputs: list[tuple[ast.Call, ast.expr]]
    graphs: list[Any]
    specs: list[ast.Call]

    @property
    def handled(self) -> frozenset[int]:
        """Nodes that need nothing else."""
        values = [one.value for one in self.aliases]
        return frozenset(map(id, [*(node for node, _ in self.uses), *values]))


def target(name: str) -> str:
    """What stands in the place of an old name; "" if that is another rewriter's business."""
    head, dot, rest = name, "", ""
    while head:
        found = _target(head)
        if found:
            return found + dot + rest
        head, _, last = head.rpartition(".")
        rest, dot = (f"{last}.{rest}" if rest else last), "."
    return ""


def _target(name: str) -> str:
    if name in NAMES:
        return f"{MODULE}.{NAMES[name]}"
    if name.startswith(SUMMARY):
        return SUMMARIES.get(name[len(SUMMARY) :].replace("summary.", ""), "")
    head, _, last = name.rpartition(".")
    if last == "TPUClusterResolver" and (head + ".").partition("tensorflow.")[2] in RESOLVERS:
        return MODULE + ".make_strategy"
    return ""


def is_wanted(context: Context, has_loop: bool = False) -> bool:
    """Whether a file has to do with TPUEstimator; one with an optimizer for it may, and has no Session.

    Args:
      context: The file.
      has_loop: Whether its program has a training loop, so that its summaries are those of a host_call.
    """
    of_keras = {id(call.func) for call, _ in optimizers.wrapped(context)}
    answered = {use.name for use in context.names.uses if id(use.node) in of_keras}
    asked = (use for use in context.names.uses if id(use.node) not in of_keras)
    names = {use.name for use in asked if use.statement is None or use.name not in answered}
    found = {target(name).split(".")[1] for name in names if target(name).startswith(MODULE)}
    if has_loop and any(_is_method(call) for call in context.names.calls):
        return True  # of an estimator that another module makes
    found -= {"make_strategy"} if has_loop else _OF_ANY_PROGRAM
    if found - {*_OF_COMPUTATIONS, *ELSEWHERE}:
        return True
    # A function that a model_fn calls may stand in a module of its own, which says nothing else.
    others = _OF_COMPUTATIONS | ELSEWHERE if has_loop else _OF_COMPUTATIONS
    return bool(found & others) and not _has_session(context)


def _is_method(call: Call) -> bool:
    """Whether a call is one of an estimator, whatever it is called: by its name, or what it is given."""
    function = call.node.func
    if not isinstance(function, ast.Attribute) or function.attr not in METHODS:
        return False
    return function.attr in estimator_limits.RENAMED or any(
        word.arg == "input_fn" or (word.arg in OF_ESTIMATORS and call.name.startswith("."))
        for word in call.node.keywords
    )


def is_trainer(name: str) -> bool:
    """Whether an old name is that of TPUEstimator, or of Estimator."""
    return target(name).startswith((MODULE + ".Trainer", MODULE + ".Estimator"))


def makes_trainer(context: Context) -> bool:
    """Whether a file makes a TPUEstimator, or an Estimator."""
    return any(is_trainer(use.name) for use in context.names.uses)


def plan(context: Context) -> Plan:
    """What becomes of the file.

    Raises:
      CannotSee: If something in it is out of reach.
    """
    beside = os.path.join(
        os.path.dirname(os.path.abspath(context.module.source.path)), MODULE + ".py"
    )
    if os.path.exists(beside) and not written.is_ours(beside):
        raise CannotSee(f"there is another {MODULE}.py beside it")
    uses = [(use.node, target(use.name)) for use in context.names.uses if target(use.name)]
    if any(use.guarded and target(use.name) for use in context.names.uses):
        raise CannotSee("it also runs without TPUEstimator")
    calls = [(call.node, row) for call in context.names.calls for row in [_row(call)] if row]
    estimators = _estimators(context)
    renamed = []
    for call in context.names.calls:
        function = call.node.func
        if not isinstance(function, ast.Attribute) or function.attr not in METHODS:
            continue
        row = METHODS[function.attr]
        if ast.dump(function.value) in estimators or _is_method(call):
            calls.append((call.node, row))
            if function.attr != row[1:]:
                renamed.append((function, row[1:]))
    for call_node, method, row in estimator_limits.replaced(context, target):
        calls.append((call_node, row))
        renamed.append((method, "_replace"))
    for node, row in calls:
        _check(context, node, row)
        if row in _AT_ONCE and estimator_limits.has_graph(context, node):
            raise CannotSee("it is called in a tf.Graph: take the call out of it")
    estimator_hooks.check(context)
    addresses = list(_addresses(context))
    op_names = [
        node
        for node in context.nodes
        if isinstance(node, ast.Attribute)
        and node.attr == "name"
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "op"
    ]
    graphs: list[Any] = estimator_limits.with_graphs(context, [node for node, _ in calls])
    inside = {id(node) for one in graphs for node in walk(one)}
    graphs += [one for one in estimator_limits.writers(context) if id(one) not in inside]
    listings = [one.session for one in tpu_connections.listings(context)]
    estimator_limits.check(context, MODULE, target, [*graphs, *listings])
    inputs = list(_inputs(context))
    specs = [call.node for call in context.names.calls if call.name.endswith(f".{AS_SPEC}")]
    aliases = list(_aliases(context))
    return Plan(uses, calls, renamed, op_names, aliases, addresses, inputs, graphs, specs)


def _inputs(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Inputs of Keras that are tensors, and those.

    Raises:
      CannotSee: If a model is made of them, as only a graph lets one.
    """
    for call in context.names.calls:
        if _KERAS_INPUT.fullmatch(call.name):
            for word in call.node.keywords:
                if word.arg == "tensor":
                    if any(_KERAS_MODEL.fullmatch(other.name) for other in context.names.calls):
                        raise CannotSee("a Keras model of Input(tensor=)")
                    yield call.node, word.value


def _aliases(context: Context) -> Iterator[ast.Assign]:
    packages = {SUMMARY[:-1], *(head[:-1] for head in CONTRIB)}
    places = {id(use.node): use for use in context.names.uses if use.name in packages}
    for node in context.nodes:
        if not isinstance(node, ast.Assign) or id(node.value) not in places:
            continue
        package = places[id(node.value)].name
        below = [use.name for use in context.names.uses if use.base == package]
        if len(node.targets) == 1 and all(target(name) for name in below):
            yield node


def _row(call: Call) -> str:
    """The row of the table for a call; "" if its arguments stay."""
    found = target(call.name)
    if not found:
        return ""
    if call.name.startswith(SUMMARY) and found.endswith((".scalar", ".histogram")):
        return "summary"
    if call.name.endswith(".EstimatorSpec"):
        return "EstimatorSpec"
    row = found.rpartition(".")[2]
    return row if row in KEPT else ""


def _estimators(context: Context) -> set[str]:
    """Expressions that an estimator is assigned to, as ``ast.dump`` writes them where they are read."""
    makers = {
        id(call.node)
        for call in context.names.calls
        if target(call.name).endswith((".Trainer", ".Estimator"))
    }
    found = set()
    for node in context.nodes:
        if isinstance(node, ast.Assign) and id(node.value) in makers:
            for one in node.targets:
                found.add(ast.dump(one).replace("ctx=Store()", "ctx=Load()"))
    return found


def _check(context: Context, node: ast.Call, row: str) -> None:
    """That all arguments of a call have a place in the module."""
    shown = ast.unparse(node.func)
    if len(node.args) > POSITIONAL[row] and not any(
        isinstance(one, ast.Starred) for one in node.args
    ):
        extra = node.args[POSITIONAL[row] :]
        if not (row == "TPUConfig" and len(extra) == 1):
            raise CannotSee(f"{shown} has {len(node.args)} arguments without a name")
    words = [word.arg for word in node.keywords if not _is_nothing(word.value)]
    if row == "EstimatorSpec" and {"training_hooks", "training_chief_hooks"} <= {*words}:
        raise CannotSee("training_hooks beside training_chief_hooks")
    for word in node.keywords:
        kept, dropped = KEPT[row], DROPPED.get(row, frozenset())
        if word.arg is None:
            if row in ("Spec", "Trainer"):
                continue
            raise CannotSee(f"{shown} takes ** arguments")
        if word.arg in kept or word.arg in dropped or _is_nothing(word.value):
            continue
        raise CannotSee(f"{word.arg}= of {shown}")


def _is_nothing(node: ast.AST) -> bool:
    empty = isinstance(node, (ast.List, ast.Tuple)) and not node.elts
    return empty or (isinstance(node, ast.Constant) and node.value in (None, False))


def _addresses(context: Context) -> Iterator[ast.Call]:
    """Calls for a resolver's address; there is a strategy in its place, of which nothing else can be asked."""
    makers = {
        id(call.node)
        for call in context.names.calls
        if target(call.name).endswith(".make_strategy")
    }
    for tree in context.trees.values():
        names = {
            one.id
            for node in walk(tree)
            if isinstance(node, ast.Assign)
            and any(id(inside) in makers for inside in walk(node.value))
            for one in node.targets
            if isinstance(one, ast.Name)
        }
        called = {id(node.func): node for node in walk(tree) if isinstance(node, ast.Call)}
        for node in walk(tree):
            if not isinstance(node, ast.Attribute):
                continue
            asked = isinstance(node.value, ast.Name) and node.value.id in names
            if not asked and id(node.value) not in makers:
                continue
            if (
                node.attr not in ("get_master", "master")
                or id(node) not in called
                or _has_session(context)
            ):
                raise CannotSee(f"{node.attr} of the resolver")
            yield called[id(node)]


def _has_session(context: Context) -> bool:
    return any(
        use.name.startswith("tensorflow.Session") or use.name.endswith(SESSIONS)
        for use in context.names.uses
    )


# Rewriting -----------------------------------------------------------------------------------------


def rewrite(context: Context, found: Plan, package: str = "") -> None:
    """Writes the names of the module, and takes out arguments that it has no use for.

    Args:
      context: The file.
      found: What to rewrite.
      package: What the module is imported from.
    """
    summaries = [node for node, row in found.calls if row == "summary"]
    for tag in loop_tags.repeated(context, summaries):
        text = context.texts[context.cell_of(tag)]
        start, end = text.span(tag)
        text.replace(start, start, f"{MODULE}.next_tag(")
        text.replace(end, end, ")")
    for node, row in found.calls:
        _arguments(context, node, row)
    for call in context.names.calls:
        if call.name.startswith(SUMMARY):
            _recording(context, call)
    for method, name in found.renamed:
        cell = context.cell_of(method)
        end = context.texts[cell].span(method)[1]
        context.texts[cell].replace(end - len(method.attr), end, name)
    for use in context.names.uses:
        if use.statement is None and target(use.name) and id(use.node) not in context.done:
            cell = context.cell_of(use.node)
            if context.replace(use.node, cell, _written(context, target(use.name))):
                context.done.update(map(id, walk(use.node)))  # so that its import goes
    for address in found.addresses:
        cell, resolver = context.cell_of(address), address.func.value  # type: ignore[attr-defined]
        if _is_by_address(found.calls):
            end = context.texts[cell].span(address)[1]
            context.texts[cell].replace(context.texts[cell].span(resolver)[1], end, "")
        elif context.replace(address, cell, '""'):
            finish(context, address)
    for node, tensor in found.inputs:
        cell = context.cell_of(node)
        if context.replace(node, cell, context.texts[cell].source(tensor)):
            context.done.update(map(id, walk(node)))
    for node in _with_gradients_in_a_branch(context):
        context.todo("TPU212", _IN_A_BRANCH, node, context.cell_of(node))
    cleared = _drop_resets(context, found.graphs)
    for node in found.graphs:
        cell = context.cell_of(node)
        start = context.texts[cell].span(node)[0]
        graph = context.local("tf.Graph") + "().as_default()"
        indent = context.texts[cell].indent(node.lineno)
        is_function = isinstance(node, ast.FunctionDef)
        before = f"@{graph}\n" if is_function else f"with {graph}:\n{indent}  "
        if id(node) in cleared and context.helper("in_new_graph", _IN_NEW_GRAPH):
            before = "@in_new_graph\n"
        context.texts[cell].replace(start, start, before)
    for spec in found.specs:
        cell = context.cell_of(spec)
        text = context.texts[cell]
        text.replace(text.span(spec.func.value)[1], text.span(spec)[1], "")  # type: ignore[attr-defined]
    for statement in found.aliases:
        context.remove(statement, context.cell_of(statement))
    for named in found.op_names:
        cell = context.cell_of(named)
        start = context.texts[cell].span(named.value.value)[1]  # type: ignore[attr-defined]
        end = context.texts[cell].span(named)[1]
        context.texts[cell].replace(start, end, '.name.split(":")[0]')
    if any(target(use.name) for use in context.names.uses):
        context.want(MODULE, package)


def _drop_resets(context: Context, graphs: list[Any]) -> set[int]:
    """Takes ``tf.reset_default_graph()`` out of functions that get a graph of their own.

    Returns:
      The identities of these functions, whose graph has to be a new one each time.
    """
    owners = {id(node): id(one) for one in graphs for node in walk(one)}
    found: set[int] = set()
    for call in context.names.calls:
        if id(call.node) in owners and call.name.endswith(".reset_default_graph"):
            cell = context.cell_of(call.node)
            statement = context.innermost(call.node, cell)
            if getattr(statement, "value", None) is call.node and context.remove(statement, cell):
                found.add(owners[id(call.node)])
    return found


def _with_gradients_in_a_branch(context: Context) -> Iterator[ast.Call]:
    """Calls of ``tf.cond`` with a branch that applies gradients: the replicas would have to meet in it."""
    for call in context.names.calls:
        if call.name in ("tensorflow.cond", "tensorflow.compat.v1.cond"):
            branches = [*call.node.args[1:3], *(word.value for word in call.node.keywords)]
            if any(_applies(context, one, frozenset()) for one in branches):
                yield call.node


def _applies(context: Context, node: ast.AST, seen: frozenset[str]) -> bool:
    """Whether something applies gradients, or calls a function of the file that does."""
    for one in walk(node):
        if getattr(one, "attr", "") in ("apply_gradients", "minimize"):
            return True
        name = getattr(one, "id", "")
        function = context.names.functions.get(name) if name not in seen else None
        if function is not None and _applies(context, function.node, seen | {name}):
            return True
    return False


def _written(context: Context, name: str) -> str:
    return name if name.startswith(MODULE) else context.local(name)


def _has_cluster(node: ast.Call) -> bool:
    return any(word.arg == "cluster" and not _is_nothing(word.value) for word in node.keywords)


def _is_by_address(calls: Iterable[tuple[ast.Call, str]]) -> bool:
    """Whether a RunConfig is given the TPU's address and no cluster."""
    return any(
        row == "RunConfig"
        and not _has_cluster(node)
        and any(word.arg == "master" and not _is_nothing(word.value) for word in node.keywords)
        for node, row in calls
    )


def _arguments(context: Context, node: ast.Call, row: str) -> None:
    cell = context.cell_of(node)
    text = context.texts[cell]
    kept = dict(KEPT[row])
    if row == "RunConfig":
        kept.pop("cluster" if _is_by_address([(node, row)]) else "master")
        for word in node.keywords:
            if word.arg == "master" in kept:
                start, end = text.span(word.value)
                text.replace(start, start, MODULE + ".make_strategy(")
                text.replace(end, end, ")")
    for word in node.keywords:
        if word.arg == "scaffold" and row == "EstimatorSpec":
            start = text.span(word.value)[0]
            text.replace(start, start, "lambda: ")
    names = ("hooks", "training_hooks", "training_chief_hooks")
    unused = [word.arg for word in node.keywords if word.arg in names and _is_nothing(word.value)]
    kept = {name: now for name, now in kept.items() if name not in unused}
    gone = [word for word in node.keywords if word.arg and word.arg not in kept]
    if row == "TPUConfig":
        gone += node.args[1:]  # type: ignore[arg-type]
    for word in node.keywords:
        if word.arg and kept.get(word.arg, word.arg) != word.arg:
            text.replace(*text.keyword(word), kept[word.arg])
    for start, end, values in _spans(context, node, cell, gone):
        text.replace(start, end, "")
        for value in values:
            finish(context, value)


def _spans(
    context: Context, node: ast.Call, cell: int, gone: list[Any]
) -> Iterator[tuple[int, int, list[Any]]]:
    """The spans of arguments with the commas and the white space that go with them."""
    text = context.texts[cell]

    def start_of(one: Any) -> int:
        return (
            text.keyword(one)[0]
            if isinstance(one, ast.keyword) and one.arg
            else text.span(getattr(one, "value", one) if isinstance(one, ast.keyword) else one)[0]
        )

    def end_of(one: Any) -> int:
        return text.span(one.value if isinstance(one, ast.keyword) else one)[1]

    everything = sorted([*node.args, *node.keywords], key=start_of)
    leaves = [any(one is other for other in gone) for one in everything]
    index = 0
    while index < len(everything):
        if not leaves[index]:
            index += 1
            continue
        first = index
        while index < len(everything) and leaves[index]:
            index += 1
        values = everything[first:index]
        if first:
            yield end_of(everything[first - 1]), end_of(values[-1]), values
        elif index < len(everything):
            yield start_of(values[0]), start_of(everything[index]), values
        else:
            yield start_of(values[0]), end_of(values[-1]), values


def _recording(context: Context, call: Call) -> None:
    """``always_record_summaries()`` -> ``tf.summary.record_if(True)``."""
    last = call.name.rpartition(".")[2]
    if last not in ("always_record_summaries", "never_record_summaries"):
        return
    name = context.local("tf.summary.record_if")
    context.replace(call.node, context.cell_of(call.node), f"{name}({last.startswith('always')})")
    finish(context, call.node)
