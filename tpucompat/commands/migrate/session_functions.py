"""What the functions of a Session's computations may do, so that a ``tf.function`` of them computes the same.

They are called twice, once in a graph for their variables and once in a ``tf.function``; a Session runs what
its fetches need, a ``tf.function`` whatever has an effect.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import AbstractSet, Any, Iterable

from tpucompat.commands.analysis import indexes
from tpucompat.commands.migrate import computation_functions, computations
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names import fixes, symbols
from tpucompat.names.used import Call, Function, Use, argument, keyword, walk

#: Names of ``tf`` that make variables, or change them.
_STATEFUL = re.compile(
    r"get_variable$|Variable$|layers\.|nn\.rnn_cell\.|nn\.\w*rnn$|train\.\w+Optimizer$|"
    r"train\.(get_or_create|get)_global_step$"
)
#: Modules whose names mean the same in a ``tf.function``, if need be those below ``tf.compat.v1``.
_OPERATIONS = frozenset(
    (
        *("", "bitwise", "dtypes", "image", "initializers", "layers", "linalg", "losses", "manip"),
        *("math", "nest", "nn", "nn.rnn_cell", "random", "signal", "spectral"),
    )
)
#: But for those that ask for a graph or a file, have an effect that a Session need not run, or no TPU has.
_OF_GRAPHS = re.compile(
    r"(add_to|count_up|create_partitioned|delete|disable|enable|import|initialize|load|make_template|"
    r"matching|queue|read|register|report|reset|set_random|write)(_|$)|"
    r"get_(default|local|session|seed|logger)|is_variable_init|assert_|assign|print|Print|py_func|string|"
    r"\w*(placeholder|variables_initializer|tables_initializer|Queue|Reader|Session|Accumulator|_creator_scope)|"
    r"(batch_)?scatter_(add|div|max|min|mul|sub|update|nd_)|"
    r"(Assert|CriticalSection|Graph|GradientTape|Module|Operation|RegisterGradient|Summary|colocate_with|"
    r"container|device|(all|global|local|model|moving_average)_variables|variables|executing_eagerly|function|init_scope|numpy_function|set_seed|timestamp|wrap_function)$"
)
#: What of ``tf.train`` does too.
_OF_TRAINING = re.compile(
    r"(?!Sync)\w+Optimizer$|\w+_decay$|piecewise_constant$|get_(or_create_)?global_step$"
)
#: Modules without a graph or a state.
_MODULES = frozenset(("tensorflow", "numpy", "math", "functools", "itertools", "collections"))
#: What is asked beside a Session without a graph.
_AROUND = (
    *("train.latest_checkpoint", "train.list_variables", "train.load_variable"),
    *("train.NewCheckpointReader", "train.load_checkpoint", "train.summary_iterator"),
    *("set_random_seed", "random.set_random_seed", "contrib.data.", "data.", "errors."),
    *("Summary", "enable_resource_variables"),
    *("FixedLenFeature", "VarLenFeature", "TensorShape", *computations.AROUND),
)
#: What a script is called with, which stays the same.
_FLAGS = ("app.flags.FLAGS.", "flags.FLAGS.")
#: Methods of a dataset that call a function.
_OF_DATA = frozenset((".map", ".flat_map", ".interleave", ".filter", ".apply", ".from_generator"))
_PURE = computations.STATELESS
#: What cores do together, or what changes variables: turns at it, one core after the other, compute otherwise.
_TOGETHER = re.compile(r"batch_norm|BatchNorm|get_collection|Optimizer$|cross_replica_sum$")
_ASSIGNS = re.compile(r"assign(_add|_sub)?$|(batch_)?scatter_|apply(_gradients)?$|minimize$")
#: Loops on a core -> what one does without them.
_LOOPS = {
    path: ": run the computation in a loop of the script instead"
    for path, name in fixes.COMPUTATIONS.items()
    if name in ("repeat", "while_loop")
}
#: Methods that change what they are called on.
_CHANGES = frozenset(
    ("append", "extend", "insert", "pop", "remove", "add", "update", "setdefault", "clear")
)


def reached(context: Context, calls: list[Call]) -> set[Function]:
    """The functions of computations, and all of the file that they use.

    Raises:
      CannotSee: If one of them is not a plain function of the file.
    """
    methods = {
        id(one) for node in context.nodes if isinstance(node, ast.ClassDef) for one in node.body
    }
    known = {
        name: one for name, one in context.names.functions.items() if id(one.node) not in methods
    }
    waiting = [computation_functions.function_of(context, call) for call in calls]
    given = (argument(call.node, 0, "computation") for call in calls)
    if any(
        id(one.node) in methods and computation_functions.method_of(context, node) is None
        for one, node in zip(waiting, given)
    ):
        raise CannotSee("cannot find its function")
    found: set[Function] = set()
    while waiting:
        function = waiting.pop()
        if function in found:
            continue
        found.add(function)
        own = bound(function.node)
        waiting += [known[one] for one in function.names if one in known and one not in own]
        asked = (computation_functions.method_of(context, one) for one in walk(function.node))
        waiting += [one for one in asked if one is not None]
    inner = {one for one in known.values() if one.outer in found}
    return found | inner


def check(context: Context, functions: set[Function], known: AbstractSet[str]) -> bool:
    """That the functions can be called again, and by nobody else; whether they have variables.

    Args:
      context: The file.
      functions: The functions.
      known: Names outside of them that are rewritten where they read them.

    Raises:
      CannotSee: If they cannot.
    """
    for function in functions:
        _check_function(context, function)
    inside = {id(node) for one in functions for node in walk(one.node)}
    names = {one.node.name for one in functions}
    given = {
        id(node)
        for call in context.names.calls
        if computations.is_computation(call)
        for node in [*call.node.args[:1], keyword(call.node, "computation")]
    }
    outer = (one for one in functions if one.outer not in functions)
    free = set().union(*(read_outside(one.node) for one in outer)) - names
    made = [one for one in context.nodes if id(one) in given and isinstance(one, ast.Call)]
    free |= {one.id for call in made for one in walk(call) if isinstance(one, ast.Name)}
    given |= _returned(context, made)
    called = {one.node.name for one in functions if one.outer not in functions}
    own = _own_names(context, called)
    known_names = {getattr(use.node, "id", "") for use in context.names.uses}  # of import *
    _check_imports(context, free - known_names)
    stored = dict.fromkeys(free, 0)
    for node in context.nodes:
        is_given = id(node) in inside or id(node) in given
        if not is_given and computation_functions.method_of(context, node) in functions:
            raise CannotSee(f"{node.attr} is also called outside of the computations")  # type: ignore[attr-defined]
        if id(node) in inside or not isinstance(node, ast.Name):
            continue
        if isinstance(node.ctx, ast.Load):
            if node.id in called and id(node) not in given and id(node) not in own:
                raise CannotSee(f"{node.id} is also called outside of the computations")
        elif node.id in free:
            stored[node.id] += 1
    for name, count in stored.items():
        if count > 1:
            raise CannotSee(f"{name}, which its function reads, changes")
    makes = False
    for use in context.names.uses:
        below = use.name.partition(".")[2]
        if use.statement is not None or id(use.node) not in inside:
            continue
        if use.guarded or not (is_known(below) or _is_fixed(use)):
            shown = use.name.replace("tensorflow.", "tf.")
            raise CannotSee(f"its function uses {shown}{_LOOPS.get(below, '')}")
        makes = makes or bool(_STATEFUL.match(below))
    _check_objects(context, functions, makes)
    if makes:
        _check_tensors(context, free - known)
    for call in context.names.calls:
        below = call.name.partition(".")[2]
        is_ours = id(call.node) in inside and call.name.startswith("tensorflow.")
        # An initializer runs once, in a graph, as it did.
        if is_ours and keyword(call.node, "seed") is not None and "initializer" not in below:
            raise CannotSee(f"its function draws tf.{below} with a seed")
    return makes


def _returned(context: Context, made: list[ast.Call]) -> set[int]:
    """The identities of ``step`` in ``return step``, at the end of functions that make a computation's.

    Raises:
      CannotSee: If one of these is called for something else too.
    """
    found: set[int] = set()
    inside = {id(node) for call in made for node in walk(call)}
    for call in made:
        function = computation_functions.returned_by(context, call)
        if function is None or function.outer is None:
            continue
        maker = function.outer.node
        for node in context.named(maker.name):
            if id(node) not in inside:
                raise CannotSee(f"{maker.name} is also called outside of the computations")
        found.add(id(maker.body[-1].value))
    return found


def _own_names(context: Context, names: set[str]) -> set[int]:
    """The identities of nodes in functions where one of some names stands for something of their own."""
    functions = (node for node in context.nodes if isinstance(node, ast.FunctionDef))
    found = ((node, bound(node) & names) for node in functions)
    return {
        id(one)
        for node, own in found
        for one in (walk(node) if own else ())
        if getattr(one, "id", "") in own
    }


def is_known(below: str) -> bool:
    """Whether a name of TensorFlow 1 means the same in a ``tf.function`` that each replica runs."""
    if below in _PURE:
        return True
    if below in fixes.COMPUTATIONS:
        return fixes.COMPUTATIONS[below] in ("CrossShardOptimizer", "cross_replica_sum", "repeat")
    if below.startswith(_FLAGS):
        return True
    module, _, name = below.rpartition(".")
    if symbols.kind(below) is None and symbols.kind(module) == "class":
        return is_known(module)  # tf.GraphKeys.UPDATE_OPS
    if symbols.kind(below) not in ("function", "class", "value"):
        return False
    if module == "train":
        return _OF_TRAINING.match(name) is not None
    return module in _OPERATIONS and not _OF_GRAPHS.match(name)


def _is_fixed(use: Use) -> bool:
    """Whether it is of NumPy, and the same whenever the function is called."""
    if not use.name.startswith("numpy.random."):
        return use.name.startswith("numpy.")
    return use.name == "numpy.random.RandomState" and bool(use.parent and use.parent.args)


def _check_imports(context: Context, free: set[str]) -> None:
    """That functions call nothing of another module, where nobody sees what it does."""
    bound = {name for tree in context.trees.values() for name in bound_in(tree)}
    for name in sorted(free - bound - {*dir(builtins)}):
        raise CannotSee(f"its function calls {name}")
    for node in context.nodes:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            module = getattr(node, "module", None) or alias.name
            if name in free and module.partition(".")[0] not in _MODULES:
                raise CannotSee(f"its function calls {name}, of another module")


def bound_in(tree: ast.AST) -> set[str]:
    """The names that anything in a file binds."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = bound(tree) | {one.name for one in walk(tree) if isinstance(one, kinds)}
    aliases = (one for one in walk(tree) if isinstance(one, ast.alias))
    return found | {one.asname or one.name.partition(".")[0] for one in aliases}


def _check_tensors(context: Context, free: set[str]) -> None:
    """That functions with variables read no tensors from outside, which their graph does not have."""
    makes = _tensors(context)
    for node in context.nodes:
        targets = node.targets if isinstance(node, ast.Assign) else []
        names = {one.id for each in targets for one in walk(each) if isinstance(one, ast.Name)}
        if names & free and any(id(one) in makes for one in walk(node)):
            raise CannotSee(f"its function reads the tensor {min(names & free)} from outside")


def _check_objects(context: Context, functions: set[Function], makes: bool) -> None:
    """That what methods read of their object is set where it is made; with variables, to no tensor."""
    methods = {id(one.node) for one in functions}
    tensors = _tensors(context) if makes else set()
    attributes = [one for one in context.nodes if isinstance(one, ast.Attribute)]
    stored = [one for one in attributes if _is_stored(one)]
    for owner in (one for one in context.nodes if isinstance(one, ast.ClassDef)):
        inside = {id(node) for one in owner.body if id(one) in methods for node in walk(one)}
        of_object = (one for one in attributes if getattr(one.value, "id", "") == "self")
        read = {one.attr for one in of_object if id(one) in inside}
        read -= {getattr(one, "name", "") for one in owner.body}  # other methods
        starts = [one for one in owner.body if getattr(one, "name", "") == "__init__"]
        begun = {id(one) for start in starts for one in walk(start)}
        made = (one for one in context.nodes if isinstance(one, ast.Call))
        given = [one for one in made if getattr(one.func, "id", "") == owner.name]
        nodes = (id(node) for one in [*given, *starts] for node in walk(one))
        if read and not tensors.isdisjoint(nodes):
            raise CannotSee(f"{owner.name} may keep tensors for its functions")
        for one in stored:
            if one.attr in read and id(one) not in begun:
                raise CannotSee(f"{one.attr}, which its function reads, changes")


def _tensors(context: Context) -> set[int]:
    """The identities of what may stand for a tensor, or return one."""
    uses = (one for one in context.names.uses if one.statement is None)
    return {id(one.node) for one in uses if _may_be_tensor(*one.name.partition(".")[::2])}


def _may_be_tensor(library: str, below: str) -> bool:
    """Whether what a name stands for, or returns, may be a tensor."""
    if library != "tensorflow" or below.startswith(("app.", "flags.")):
        return False
    return symbols.kind(below) != "value" and "initializer" not in below


@indexes.once
def uses(context: Context) -> set[int]:
    """The identities of what stands for a name of a known library."""
    return {id(use.node) for use in context.names.uses}


def _check_function(context: Context, function: Function) -> None:
    node = function.node
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        raise CannotSee(f"{getattr(node, 'name', 'its function')} is not a plain function")
    named = uses(context)
    stored = {one.id for one in walk(node) if isinstance(one, ast.Name) and _is_stored(one)} | {
        one.arg for one in walk(node) if isinstance(one, ast.arg)
    }
    for one in walk(node):
        target = one.value if isinstance(one, (ast.Attribute, ast.Subscript)) else None
        changes = isinstance(one, (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await))
        if target is not None and _is_stored(one):
            changes = True
        method = one.func if isinstance(one, ast.Call) else None
        is_name = id(method) in named  # tf.add
        if isinstance(method, ast.Attribute) and method.attr in _CHANGES and not is_name:
            changes = getattr(method.value, "id", "") not in stored
        if changes:
            raise CannotSee(f"{node.name} has side effects")
        if isinstance(one, ast.Return) and _is_nested(one.value):
            raise CannotSee(f"{node.name} returns a structure")


def _is_stored(node: Any) -> bool:
    return isinstance(node.ctx, (ast.Store, ast.Del))


def _is_nested(value: ast.AST | None) -> bool:
    items = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
    kinds = (ast.List, ast.Tuple, ast.Dict)
    return isinstance(value, ast.Dict) or any(isinstance(one, kinds) for one in items)


def bound(node: ast.AST) -> set[str]:
    """The names that are assigned in a function, and its parameters."""
    names = (one for one in walk(node) if isinstance(one, ast.Name) and _is_stored(one))
    return {one.id for one in names} | {one.arg for one in walk(node) if isinstance(one, ast.arg)}


def read_outside(node: ast.AST) -> set[str]:
    """The names that a function reads from outside."""
    return {one.id for one in walk(node) if isinstance(one, ast.Name)} - bound(node)


def check_around(context: Context, functions: set[Function], handled: AbstractSet[int]) -> None:
    """That nothing else in the file is of a graph, has a state, or is drawn by chance.

    Raises:
      CannotSee: If something is.
    """
    inside = {id(node) for one in functions for node in walk(one.node)} | unused(context)
    inside |= {id(node) for one, _ in computations.start_up(context) for node in walk(one)}
    for call in context.names.calls:
        method = call.name.rpartition(".")[2]
        asks = re.match(r"make_\w+_iterator$|get_next$", method)
        if asks and id(call.node) not in inside | handled:
            raise CannotSee(f"{method} is called for something else")
    of_data = _given_to_datasets(context)
    for use in context.names.uses:
        head, _, below = use.name.partition(".")
        if use.statement is not None or head != "tensorflow" or id(use.node) in inside | handled:
            continue
        if below in _PURE or below.startswith(_AROUND):
            continue
        if id(use.node) in of_data and is_known(below) and not _STATEFUL.match(below):
            continue
        raise CannotSee(f"tf.{below} may need a graph, or have state")


def unused(context: Context) -> set[int]:
    """The identities of the nodes of functions that nobody calls."""
    nodes = context.nodes
    read = {one.id for one in nodes if isinstance(one, ast.Name)}
    read |= {one.attr for one in nodes if isinstance(one, ast.Attribute)}
    dead = (one.node for name, one in context.names.functions.items() if name not in read)
    return {id(node) for one in dead for node in walk(one)}


def _given_to_datasets(context: Context) -> set[int]:
    """The identities of all nodes of functions that only datasets call."""
    given: set[int] = set()  # the nodes that stand for a function
    found: list[ast.AST] = []
    for call in context.names.calls:
        if call.name in _OF_DATA or call.name.rpartition(".")[2] == "from_generator":
            given.update(id(one) for one in call.node.args)
            found += [one for one in call.node.args if isinstance(one, ast.Lambda)]
    for name, function in context.names.functions.items():
        loads = context.named(name)
        if loads and all(id(node) in given for node in loads):
            found.append(function.node)
    return {id(node) for one in found for node in walk(one)}


def trains(context: Context, functions: set[Function]) -> bool:
    """Whether one of some functions has an optimizer."""
    inside = _inside(functions)
    return any(
        id(use.node) in inside and use.name.endswith("Optimizer") for use in context.names.uses
    )


def is_one(context: Context, calls: list[Call], makes: bool) -> bool:
    """Whether variables belong to one core.

    Raises:
      CannotSee: If one core would train what others train too.
    """
    on_one = [call for call in calls if computations.NAMES[call.name] == "rewrite"]
    if not makes or len(on_one) == len(calls):
        return makes
    trained = reached(context, on_one)
    if trains(context, trained):
        raise CannotSee("one core trains what several cores train too")
    return False


def has_shares(context: Context, call: Call) -> bool:
    """Whether a result is another one on fewer cores: not computed row by row.

    Args:
      context: The file.
      call: The call that puts a function onto cores.
    """
    function = computation_functions.function_of(context, call).node
    returns = (one for one in walk(function) if isinstance(one, ast.Return))
    kind = computations.NAMES[call.name]
    if kind == "rewrite" or not any(one.value for one in returns):
        return False
    if kind == "replicate":
        return True
    try:
        computations.check_function(context, call, by_rows=True)
    except CannotSee:
        return True
    return False


def meets(context: Context, calls: list[Call]) -> bool:
    """Whether cores compute something together in some computations, or change variables.

    Args:
      context: The file.
      calls: The calls that put functions onto cores.
    """
    inside = _inside(reached(context, calls))
    names = (use.name for use in context.names.uses if id(use.node) in inside)
    methods = (
        one.attr for one in context.nodes if isinstance(one, ast.Attribute) and id(one) in inside
    )
    return any(map(_TOGETHER.search, names)) or any(map(_ASSIGNS.match, methods))


def check_loops(context: Context, calls: list[Call]) -> None:
    """That loops on a core compute the same by ``tf.while_loop``, in which replicas cannot meet.

    Args:
      context: The file.
      calls: The calls that put functions onto cores.

    Raises:
      CannotSee: If one may not.
    """
    inside = _inside(reached(context, calls))
    loops = [call for call in context.names.calls if call.name.partition(".")[2] in _LOOPS]
    on_all = [call for call in calls if computations.NAMES[call.name] != "rewrite"]
    for call in (one for one in loops if id(one.node) in inside):
        words = {word.arg for word in call.node.keywords}
        if len(call.node.args) > 3 or words - {"n", "body", "inputs", "name"}:
            raise CannotSee("arguments of repeat")
        if on_all and meets(context, on_all):
            shown = call.name.replace("tensorflow.", "tf.")
            raise CannotSee(f"its function uses {shown}{_LOOPS[call.name.partition('.')[2]]}")


def _inside(functions: Iterable[Function]) -> set[int]:
    return {id(node) for one in functions for node in walk(one.node)}
