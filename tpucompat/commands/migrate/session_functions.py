"""What the functions of a Session's computations may do, so that a ``tf.function`` of them computes the same.

They are called twice, once in a graph for their variables and once in a ``tf.function``; a Session runs what
its fetches need, a ``tf.function`` whatever has an effect.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import AbstractSet, Any

from tpucompat.commands.migrate import computations
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.keras import CannotSee
from tpucompat.names.used import Function, keyword

#: Names of ``tf`` that make variables, or change them.
_STATEFUL = re.compile(
    r"get_variable$|Variable$|layers\.|train\.\w+Optimizer$|train\.get_or_create_g"
)
#: Names that mean the same in a ``tf.function``, below ``tf.compat.v1`` where they are no longer in ``tf``.
_KNOWN = re.compile(
    r"((get_variable|variable_scope|Variable|AUTO_REUSE|name_scope|control_dependencies|group|no_op|"
    r"gradients|stop_gradient|trainable_variables|clip_by_\w+|global_norm|cond|while_loop|one_hot|"
    r"arg_?max|arg_?min|equal|not_equal|greater\w*|less\w*|logical_\w+|gather|slice|split|unstack|"
    r"shape|rank|size|einsum|log|floordiv|mod|truediv|div|erf|rsqrt|reciprocal|squared_difference|"
    r"add_n|accumulate_n|cumsum|reverse|pad|to_\w+|random_(normal|uniform)|truncated_normal)$|"
    r"(zeros|ones|constant|truncated_normal|random_normal|random_uniform|variance_scaling|"
    r"glorot_uniform|glorot_normal|orthogonal|identity)_initializer$|initializers\.\w+$|"
    r"layers\.(dense|conv2d|max_pooling2d|average_pooling2d|flatten|batch_normalization|dropout)$|"
    r"nn\.(\w*softmax\w*|\w*sigmoid\w*|relu\w*|elu|selu|softplus|conv2d|max_pool|avg_pool|bias_add|dropout|"
    r"l2_loss|l2_normalize|moments|embedding_lookup)$|losses\.(mean_squared_error|absolute_difference|"
    r"softmax_cross_entropy|sparse_softmax_cross_entropy|sigmoid_cross_entropy|huber_loss|log_loss)$|"
    r"train\.(Adam|GradientDescent|Momentum|RMSProp|Adagrad|Adadelta|Ftrl)Optimizer$|"
    r"train\.(get_or_create_global_step|exponential_decay|polynomial_decay)$|"
    r"contrib\.tpu\.(CrossShardOptimizer|cross_replica_sum)$)"
)
#: Modules without a graph or a state.
_MODULES = frozenset(("tensorflow", "numpy", "math", "functools", "itertools", "collections"))
#: What is asked beside a Session without a graph.
_AROUND = ("train.latest_checkpoint", *computations.AROUND)
_PURE = computations.STATELESS
_DRAWS = ("random_normal", "random_uniform", "truncated_normal")
#: Methods that change what they are called on.
_CHANGES = frozenset(
    ("append", "extend", "insert", "pop", "remove", "add", "update", "setdefault", "clear")
)


def reached(context: Context, names: list[str]) -> set[Function]:
    """The functions of computations, and all of the file that they use.

    Raises:
      CannotSee: If one of them is not a plain function of the file.
    """
    known = context.names.functions
    found: set[Function] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in known:
            raise CannotSee("cannot find its function")
        if known[name] not in found:
            found.add(known[name])
            waiting += [one for one in known[name].names if one in known]
    inner = {one for one in known.values() if one.outer in found}
    return found | inner


def check(context: Context, functions: set[Function], computed: list[str]) -> bool:
    """That the functions can be called again, and by nobody else; whether they have variables.

    Raises:
      CannotSee: If they cannot.
    """
    for function in functions:
        _check_function(context, function)
    inside = {id(node) for one in functions for node in ast.walk(one.node)}
    names = {one.node.name for one in functions}
    given = {
        id(node)
        for call in context.names.calls
        if computations.is_computation(call)
        for node in [*call.node.args[:1], keyword(call.node, "computation")]
    }
    free = set().union(*(_free(one.node) for one in functions)) - names
    _check_imports(context, free)
    stored = dict.fromkeys(free, 0)
    for tree in context.trees.values():
        for node in ast.walk(tree):
            if id(node) in inside or not isinstance(node, ast.Name):
                continue
            if isinstance(node.ctx, ast.Load):
                if node.id in names and id(node) not in given:
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
        if use.guarded or not (_KNOWN.match(below) or below in _PURE):
            raise CannotSee(f"its function uses {use.name.replace('tensorflow.', 'tf.')}")
        makes = makes or bool(_STATEFUL.match(below))
    if makes:
        _check_tensors(context, free)
    for call in context.names.calls:
        below = call.name.partition(".")[2]
        if id(call.node) in inside and below in _DRAWS and keyword(call.node, "seed") is not None:
            raise CannotSee(f"its function draws tf.{below} with a seed")
    return makes


def _check_imports(context: Context, free: set[str]) -> None:
    """That functions call nothing of another module, where nobody sees what it does."""
    bound = {name for tree in context.trees.values() for name in bound_in(tree)}
    for name in sorted(free - bound - {*dir(builtins)}):
        raise CannotSee(f"its function calls {name}")
    for tree in context.trees.values():
        for node in ast.walk(tree):
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
    found = bound(tree) | {one.name for one in ast.walk(tree) if isinstance(one, kinds)}
    aliases = (one for one in ast.walk(tree) if isinstance(one, ast.alias))
    return found | {one.asname or one.name.partition(".")[0] for one in aliases}


def _check_tensors(context: Context, free: set[str]) -> None:
    """That functions with variables read no tensors from outside, which their graph does not have."""
    makes = {id(use.node) for use in context.names.uses if use.statement is None}
    for tree in context.trees.values():
        for node in ast.walk(tree):
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = {
                one.id for each in targets for one in ast.walk(each) if isinstance(one, ast.Name)
            }
            if names & free and any(id(one) in makes for one in ast.walk(node)):
                raise CannotSee(f"its function reads the tensor {min(names & free)} from outside")


def _check_function(context: Context, function: Function) -> None:
    node = function.node
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        raise CannotSee(f"{getattr(node, 'name', 'its function')} is not a plain function")
    stored = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and _is_stored(one)} | {
        one.arg for one in ast.walk(node) if isinstance(one, ast.arg)
    }
    for one in ast.walk(node):
        target = one.value if isinstance(one, (ast.Attribute, ast.Subscript)) else None
        changes = isinstance(one, (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await))
        if target is not None and _is_stored(one):
            changes = True
        method = one.func if isinstance(one, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr in _CHANGES:
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
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name) and _is_stored(one))
    return {one.id for one in names} | {
        one.arg for one in ast.walk(node) if isinstance(one, ast.arg)
    }


def _free(node: ast.AST) -> set[str]:
    """The names that a function reads from outside."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - bound(node)


def check_around(context: Context, functions: set[Function], handled: AbstractSet[int]) -> None:
    """That nothing else in the file is of a graph, has a state, or is drawn by chance.

    Raises:
      CannotSee: If something is.
    """
    inside = {id(node) for one in functions for node in ast.walk(one.node)}
    for use in context.names.uses:
        head, _, below = use.name.partition(".")
        if use.statement is not None or head != "tensorflow" or id(use.node) in inside | handled:
            continue
        if below in _PURE or below.startswith(_AROUND):
            continue
        raise CannotSee(f"tf.{below} may need a graph, or have state")
