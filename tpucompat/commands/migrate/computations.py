"""``rewrite``, ``shard`` and ``batch_parallel`` of plain functions: ``strategy.run`` instead of a Session.

A Session computes a graph whenever it is asked; TensorFlow 2 computes at once. That is the same where nothing
in the file has a state or draws random numbers, and where the Session is asked for nothing but the
computations. On all cores the shares must be the same to the function as the whole: it has to treat its
examples one by one.
What does not clearly match uses ``tpucompat.v1``, and the reason is given.
"""

from __future__ import annotations

import ast
import collections
from typing import Any, Iterable, NamedTuple

from tpucompat.commands.analysis import indexes
from tpucompat.commands.migrate import computation_functions, keras, keras_copies
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.commands.migrate.text import Text, strings_over_lines
from tpucompat.names import fixes
from tpucompat.names.used import Call, argument, constant, walk

_ON_ONE_CORE = '''

def on_one_core(strategy, computation, inputs):
{i}"""Gives a function that computes on a core and returns the results as a list of arrays."""
{i}inputs = [{tf}.convert_to_tensor(one) for one in inputs]
{i}step = {tf}.function(lambda given: strategy.run(computation, args=tuple(given)))

{i}def compute():
{i}{i}results = {tf}.nest.flatten(step(inputs))
{i}{i}return [strategy.experimental_local_results(one)[0].numpy() for one in results]

{i}return compute
'''
_ON_ALL_CORES = '''

def on_all_cores(strategy, computation, inputs):
{i}"""Gives a function that computes on all cores, each on its rows, and returns a list of arrays."""
{i}cores = strategy.num_replicas_in_sync

{i}def share(rows):
{i}{i}pieces = {tf}.split({tf}.convert_to_tensor(rows), cores)
{i}{i}return strategy.experimental_distribute_values_from_function(
{i}{i}{i}{i}lambda context: pieces[context.replica_id_in_sync_group])

{i}inputs = [share(one) for one in inputs]
{i}step = {tf}.function(lambda given: strategy.run(computation, args=tuple(given)))

{i}def compute():
{i}{i}results = {tf}.nest.flatten(step(inputs))
{i}{i}return [{tf}.concat(strategy.experimental_local_results(one), 0).numpy() for one in results]

{i}return compute
'''
_HELPERS = {
    "rewrite": ("on_one_core", _ON_ONE_CORE),
    "shard": ("on_all_cores", _ON_ALL_CORES),
    "batch_parallel": ("on_all_cores", _ON_ALL_CORES),
}

#: Dotted name -> the name in ``tf.contrib.tpu`` that it is.
NAMES = {"tensorflow." + path: name for path, name in fixes.COMPUTATIONS.items()}
SYSTEM = frozenset(
    path for path, name in NAMES.items() if name in ("initialize_system", "shutdown_system")
)
#: What kept TensorFlow 2 in graph mode, where a program without a Session is not, and what ``make_strategy``
#: does by itself.
_STARTS = frozenset(
    f"tensorflow.{version}{name}"
    for version in ("", "compat.v1.")
    for name in (
        *("disable_control_flow_v2", "disable_eager_execution", "disable_tensor_equality"),
        *(
            "disable_v2_behavior",
            "disable_v2_tensorshape",
            "tpu.experimental.initialize_tpu_system",
        ),
        *("config.experimental_connect_to_cluster", "config.experimental_connect_to_host"),
    )
)
_INITIALIZERS = frozenset(
    "tensorflow." + name for name in ("global_variables_initializer", "initialize_all_variables")
)
#: Functions of ``tf`` that treat the elements of one tensor, or of several of the same shape, one by one.
_ELEMENTWISE = frozenset(
    (
        *("abs", "add", "ceil", "cos", "divide", "exp", "floor", "identity", "maximum", "minimum"),
        *("multiply", "negative", "round", "sigmoid", "sign", "sin", "sqrt", "square", "subtract"),
        *("tanh", "nn.elu", "nn.leaky_relu", "nn.relu", "nn.relu6", "nn.selu", "nn.softplus"),
        *("cast", "nn.sigmoid", "nn.tanh", "math.exp", "math.sqrt", "math.square", "math.tanh"),
    )
)
#: Those that treat the rows of their first argument one by one, with others that all rows share.
_ROWWISE = frozenset(("matmul", "nn.bias_add", "nn.conv2d", "nn.max_pool", "nn.avg_pool"))
#: Those that do where they leave the first axis alone.
_REDUCTIONS = frozenset(
    "reduce_" + name for name in ("all", "any", "max", "mean", "min", "prod", "sum")
)
#: The same for those that keep the axis that they go along.
_ALONG = _REDUCTIONS | {
    *("argmax", "argmin", "cumprod", "cumsum", "nn.l2_normalize", "nn.log_softmax", "nn.softmax")
}
#: Without state too.
_PURE = frozenset(
    (
        *("concat", "constant", "convert_to_tensor", "expand_dims", "eye", "fill", "linspace"),
        *("nn.l2_loss", "ones", "ones_like", "pow", "range"),
        *("reshape", "squeeze", "stack", "tensordot", "tile", "transpose", "where", "zeros"),
        *("zeros_like", *_ALONG),
    )
)
#: What has nothing to do with graphs.
AROUND = (
    *("app.", "contrib.cluster_resolver.TPU", "distribute.cluster_resolver.TPU", "flags."),
    *("gfile.", "logging."),
)
_DTYPES = frozenset(
    (
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "bool",
        "uint8",
    )
)
#: What has no state, and is the same in a graph and outside of one.
STATELESS = _ELEMENTWISE | _ROWWISE | _PURE | _DTYPES


class Plan(NamedTuple):
    """What a file's Session is replaced by.

    Attributes:
      cell: Where all of it stands.
      computations: The calls, with the name of the helper that takes the place of each.
      session: The ``with`` statement of the Session.
      dropped: Statements that start and stop the TPU, and initialize nothing.
      runs: ``session.run(name)``, and the name.
    """

    cell: int
    computations: list[tuple[Call, str]]
    session: ast.With
    dropped: list[Any]
    runs: list[tuple[ast.Call, ast.Name]]


def is_computation(call: Call) -> bool:
    """Whether a call puts a function onto cores of the TPU."""
    return NAMES.get(call.name) in (*_HELPERS, "replicate")


def plan(context: Context) -> Plan:
    """How a file does without its Session.

    Raises:
      CannotSee: If it is not known to compute the same then.
    """
    calls = [call for call in context.names.calls if is_computation(call)]
    cells = {context.cell_of(call.node) for call in calls}
    sessions = [call for call in context.names.calls if call.name == "tensorflow.Session"]
    if len(cells) != 1 or len(sessions) != 1:
        raise CannotSee("the computation must run in a single Session in the same place")
    (cell,) = cells
    for name in ("make_strategy", "strategy", "on_one_core", "on_all_cores"):
        if not context.is_free(name):
            raise CannotSee(f"the file already defines {name}")
    session = block_of(context, sessions[0], cell)
    body = context.body_of(session, cell)
    computations, names = [], set()
    for call in calls:
        statement = context.statement(call.node, cell)
        if not _is_named(statement, call.node) or not any(one is statement for one in body):
            raise CannotSee("its result is not assigned directly next to the Session")
        names.add(statement.targets[0].id)
        kind = NAMES[call.name]
        if kind == "replicate":
            raise CannotSee("its inputs are named for each core")
        if computation_functions.method_of(context, argument(call.node, 0, "computation")):
            raise CannotSee("its function is a method")
        check_function(context, call, by_rows=kind != "rewrite")
        if argument(call.node, 1, "inputs") is None:
            raise CannotSee("it has no inputs")
        computations.append((call, _HELPERS[kind][0]))
    found = _uses_of_session(context, session, cell, names, computations)
    _check_the_rest(context, found)
    return found


def block_of(context: Context, call: Call, cell: int) -> ast.With:
    """The ``with tf.Session(address) as session:`` that a call stands in.

    Raises:
      CannotSee: If it is another statement.
    """
    statement = context.statement(call.node, cell)
    if (
        not isinstance(statement, ast.With)
        or len(statement.items) != 1
        or statement.items[0].context_expr is not call.node
        or not isinstance(statement.items[0].optional_vars, ast.Name)
        or not can_go(context.texts[cell], statement)
    ):
        raise CannotSee("the Session is not a plain `with tf.Session(address) as session:`")
    return statement


def can_go(text: Text, block: ast.With) -> bool:
    """Whether the line of a block can be taken out, and what stands in it moved to the left."""
    return (
        block.body[0].lineno > block.lineno
        and text.owns_lines(block)
        and "\f" not in text.source(block) + text.line(block.lineno)
        and not strings_over_lines(block, block.lineno, block.end_lineno or 0)
    )


def _is_named(statement: Any, value: ast.AST) -> bool:
    is_one = isinstance(statement, ast.Assign) and statement.value is value
    return is_one and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name)


def _uses_of_session(
    context: Context,
    session: ast.With,
    cell: int,
    names: set[str],
    computations: list[tuple[Call, str]],
) -> Plan:
    """Everything that the Session is asked for; it has to be a computation, or of no effect."""
    name = session.items[0].optional_vars.id  # type: ignore[union-attr]
    calls = {id(call.node): call for call in context.names.calls}
    dropped: list[Any] = []
    runs: list[tuple[ast.Call, ast.Name]] = []
    asked: set[int] = set()
    for node in walk(session):
        method = node.func if isinstance(node, ast.Call) else None
        owner = method.value if isinstance(method, ast.Attribute) else None
        if not isinstance(node, ast.Call) or not isinstance(owner, ast.Name) or owner.id != name:
            continue
        assert isinstance(method, ast.Attribute)
        if method.attr != "run" or len(node.args) != 1 or node.keywords:
            raise CannotSee(f"{name}.{method.attr} fetches more than a computation")
        asked.add(id(owner))
        given = node.args[0]
        if isinstance(given, ast.Name) and given.id in names:
            runs.append((node, given))
            asked.add(id(given))
            continue
        called = calls.get(id(given))
        statement = context.innermost(node, cell)
        is_alone = isinstance(statement, ast.Expr) and statement.value is node
        if called is None or called.name not in SYSTEM | _INITIALIZERS or not is_alone:
            raise CannotSee("the Session fetches more than the computations")
        dropped.append(statement)
    stores = dict.fromkeys(names, 0)
    for node in walk(context.trees[cell]):
        if not isinstance(node, ast.Name):
            continue
        if isinstance(node.ctx, ast.Load):
            if (node.id == name or node.id in names) and id(node) not in asked:
                raise CannotSee(f"{node.id} has other uses")
        elif node.id in names:
            stores[node.id] += 1
    if any(count != 1 for count in stores.values()):
        raise CannotSee("the name of a computation is also used for something else")
    if not runs:
        raise CannotSee("no computation runs")
    return Plan(cell, computations, session, dropped, runs)


def start_up(context: Context) -> list[tuple[ast.Expr, int]]:
    """The statements that keep TensorFlow in graph mode or connect a TPU, each with its cell."""
    called = {id(call.node) for call in context.names.calls if call.name in _STARTS}
    return [
        (node, cell)
        for cell, tree in context.trees.items()
        for node in (walk(tree) if called else ())
        if isinstance(node, ast.Expr) and id(node.value) in called
    ]


def without_start_up(context: Context) -> None:
    """Takes these statements out, and the resolvers that only served them."""
    found = start_up(context)
    for statement, cell in found:
        if not context.remove(statement, cell):
            context.replace(statement, cell, "pass")
    gone: list[ast.AST] = [statement for statement, _ in found]
    retire(context, gone, list(gone))


def _check_the_rest(context: Context, found: Plan) -> None:
    """Nothing else in the file may be of a graph, have a state, or be drawn by chance."""
    around = {
        id(inside)
        for one in [
            *found.dropped,
            found.session.items[0].context_expr,
            *(statement for statement, _ in start_up(context)),
        ]
        for inside in walk(one)
    }
    around |= {id(call.node.func) for call, _ in found.computations}
    for use in context.names.uses:
        head, _, below = use.name.partition(".")
        if use.statement is not None or head != "tensorflow" or id(use.node) in around:
            continue
        if below in STATELESS or below.startswith(AROUND):
            continue
        raise CannotSee(f"tf.{below} may need a graph, or have state")


# Functions -----------------------------------------------------------------------------------------

# What an expression is to the rows of a function's inputs: made of them one by one, or without them.
_ROWS, _SHARED, _NUMBER = "rows", "shared", "number"


def check_function(context: Context, call: Call, by_rows: bool) -> None:
    """That the function of a computation has no state and, if asked, treats its rows one by one.

    Raises:
      CannotSee: If it is not known to.
    """
    partial = computation_functions.partial_of(context, argument(call.node, 0, "computation"))
    if partial is not None:
        first = partial.args[0]
        function = context.names.functions.get(getattr(first, "id", ""))
        if function is None:
            raise CannotSee("the function of its partial is not one of this file by its name")
        node = function.node
    else:
        node = computation_functions.function_of(context, call).node
    plain = not (node.decorator_list or node.args.vararg or node.args.kwarg or node.args.kwonlyargs)
    if not plain or not isinstance(node, ast.FunctionDef):
        raise CannotSee(f"{node.name} is not a plain function")
    known = {one.arg: _ROWS for one in node.args.args}
    if partial is not None:
        given = {one.arg: value for one, value in zip(node.args.args, partial.args[1:])}
        given.update({word.arg or "": word.value for word in partial.keywords})
        for name, value in given.items():
            known[name] = _NUMBER if isinstance(constant(value), (bool, int, float)) else _SHARED
    body = node.body
    if isinstance(body[0], ast.Expr) and isinstance(constant(body[0].value), str):
        body = body[1:]
    reader = _Function(context, known, by_rows)
    for statement in body[:-1]:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise CannotSee(f"{node.name} has side effects")
        target = statement.targets[0]
        if not isinstance(target, ast.Name):
            raise CannotSee(f"{node.name} has side effects")
        known[target.id] = reader.kind(statement.value)
    last = body[-1] if body else None
    if not isinstance(last, ast.Return) or last.value is None:
        raise CannotSee(f"{node.name} does not end with a return")
    values = last.value.elts if isinstance(last.value, (ast.Tuple, ast.List)) else [last.value]
    if any(reader.kind(value) != _ROWS for value in values) and by_rows:
        raise CannotSee(f"the result of {node.name} is not computed row by row")


@indexes.once
def _called(context: Context) -> dict[int, str]:
    return {id(call.node): call.name for call in context.names.calls}


@indexes.once
def _dtypes(context: Context) -> set[int]:
    uses = context.names.uses
    return {id(use.node) for use in uses if use.name.rpartition(".")[2] in _DTYPES}


class _Function:
    """Reads the expressions of one function."""

    def __init__(self, context: Context, known: dict[str, str], by_rows: bool) -> None:
        self._names = _called(context)
        self._dtypes = _dtypes(context)
        self._known = known
        self._by_rows = by_rows

    def kind(self, node: ast.AST) -> str:
        """What an expression is to the rows.

        Raises:
          CannotSee: If that is not known.
        """
        if isinstance(constant(node), (bool, int, float)):
            return _NUMBER
        if isinstance(node, ast.Name):
            return self._known.get(node.id, _SHARED)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.kind(node.operand)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.MatMult):
                return self._rowwise([node.left, node.right])
            return self._elementwise([node.left, node.right])
        if isinstance(node, ast.Call):
            return self._call(node)
        raise CannotSee("its function calls unknown code")

    def _call(self, node: ast.Call) -> str:
        name = self._names.get(id(node), "")
        below = name[len("tensorflow.") :] if name.startswith("tensorflow.") else ""
        words = [word.value for word in node.keywords]
        if below in _ELEMENTWISE:
            return self._elementwise(
                one for one in [*node.args, *words] if id(one) not in self._dtypes
            )
        if not self._by_rows and below in _PURE | _ROWWISE:
            return _ROWS
        if below in _ALONG and node.args and _keeps_rows(node):
            return self._rowwise([*node.args[:1]])
        if below not in _ROWWISE or not node.args:
            raise CannotSee(f"its function calls {name.replace('tensorflow.', 'tf.')}")
        if below == "matmul" and len(node.args) + len(words) != 2:
            raise CannotSee("a transpose may move the rows to another axis")
        return self._rowwise([*node.args[:1], *node.args[1:2]])

    def _elementwise(self, parts: Iterable[ast.AST]) -> str:
        kinds = [self.kind(one) for one in parts]
        if self._by_rows and _ROWS in kinds and _SHARED in kinds:
            raise CannotSee("a value captured by its function may have rows")
        return next((one for one in (_ROWS, _SHARED) if one in kinds), _NUMBER)

    def _rowwise(self, parts: list[ast.AST]) -> str:
        kinds = [self.kind(one) for one in parts]
        if self._by_rows and (kinds[0] != _ROWS or _ROWS in kinds[1:]):
            raise CannotSee("its function mixes the rows")
        return kinds[0]


def _keeps_rows(node: ast.Call) -> bool:
    """Whether an operation leaves the first axis alone: its axes are counted from the first one."""
    given = argument(node, 1, "axis")
    axes = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]
    values = [constant(one) for one in axes]
    words = {word.arg for word in node.keywords}
    is_known = words <= {"axis", "name", "keepdims", "keep_dims", "epsilon", "output_type"}
    is_known = is_known and len(node.args) <= 2
    return is_known and bool(values) and all(isinstance(one, int) and one > 0 for one in values)


# Rewriting -----------------------------------------------------------------------------------------


def rewrite(context: Context, found: Plan) -> None:
    """Puts functions under a strategy in the place of computations and Session."""
    text = context.texts[found.cell]
    for call, helper in found.computations:
        node = call.node
        context.replace(node.func, found.cell, helper)
        given: Any = argument(node, 0, "computation")
        inputs: Any = argument(node, 1, "inputs")
        # Whatever stands behind the inputs, the number of shards, is the strategy's.
        start, end = text.span(node.args[0] if node.args else node)[0], text.span(node)[1]
        words = f"strategy, {text.source(given)}, {text.source(inputs)}"
        if not node.args:
            start = text.span(node.func)[1] + 1
        text.replace(start, end - 1, words)
        keras.finish(context, node)
    first = min(
        (context.statement(call.node, found.cell) for call, _ in found.computations),
        key=lambda statement: statement.lineno,
    )
    line = first.lineno
    made = "strategy = make_strategy()"
    text.insert_line(line, text.indent(line) + made + text.newline)
    for run, name in found.runs:
        context.replace(run, found.cell, f"{name.id}()")
    for statement in found.dropped:
        if not context.remove(statement, found.cell):
            context.replace(statement, found.cell, "pass")
    without_start_up(context)
    without_session(context, found.cell, found.session)
    used = {helper for _, helper in found.computations}
    keras.add_helper(context)
    tf = context.local("tf.distribute").rpartition(".")[0]
    for helper, words in dict(_HELPERS.values()).items():
        if helper in used:
            context.define(words.format(i=context.indent_unit(), tf=tf))


def without_session(context: Context, cell: int, node: ast.With) -> None:
    """Takes a Session out, behind all edits in its block; what only served to open it goes too."""
    opened = node.items[0].context_expr
    without_blocks(context, cell, [node])
    retire(context, [opened], [opened])


def without_blocks(context: Context, cell: int, blocks: Iterable[ast.With]) -> None:
    """Takes ``with`` statements out, one inside the other, and leaves what stands in them."""
    text = context.texts[cell]
    less: collections.Counter[int] = collections.Counter()
    for node in blocks:
        text.delete_lines(node.lineno, node.body[0].lineno - 1)
        keras.finish(context, node.items[0].context_expr)
        by = len(text.indent(node.body[0].lineno)) - len(text.indent(node.lineno))
        context.dedented.append((cell, node.body[0].lineno, node.end_lineno or 0, by))
        less.update(dict.fromkeys(range(node.body[0].lineno, (node.end_lineno or 0) + 1), by))
    for line, by in less.items():
        start = text.line_start(line)
        if text.is_free(start, start + max(by, 1)):
            text.dedent_line(line, by)


def retire(context: Context, removed: list[ast.AST], gone: list[Any]) -> None:
    """Takes out the addresses and resolvers that only served the Session."""
    waiting = list(removed)
    while waiting:
        for name in [node for node in walk(waiting.pop()) if isinstance(node, ast.Name)]:
            made = keras.only_assignment(context, name.id)
            if made is None or not keras.serves_start_up(context, made[0].value):
                continue
            statement, cell = made
            if any(statement is one for one in gone):
                continue
            if keras_copies.loads_outside(context, name.id, [*gone, statement]):
                continue
            if context.remove(statement, cell):
                gone.append(statement)
                waiting.append(statement.value)
                keras.finish(context, statement)
