"""Code that a script takes or skips by what is installed: what of it a program of TensorFlow 2 runs.

``names.used`` marks as guarded what stands in ``try`` with an ``except ImportError``, and below a test for a
version. That does not hold where TensorFlow 2 runs what is below it, or where the other way leads nowhere.
"""

from __future__ import annotations

import ast
import collections
import re
from typing import Any, Callable, Collection, Iterable, Iterator, Mapping, NamedTuple

from tpucompat.names import successors as today
from tpucompat.names.used import Names, index_of, is_guarding, walk

_VERSION = "2.21.0"
_VERSIONS = frozenset(
    ("tensorflow.__version__", "tensorflow.VERSION", "tensorflow.version.VERSION")
)
_UNKNOWN = object()
_LEAVES = frozenset(("exit", "_exit", "quit", "abort"))
#: Handlers of any error, and methods that train or use a model: below both, nothing asks what is installed.
_ANY_ERROR = frozenset(("Exception", "BaseException"))
_WORK = re.compile(
    r"(fit|evaluate|predict)(_generator)?|(train|test|predict)_on_batch|train(_and_evaluate)?"
    r"|compile|save(_weights)?|load_weights|predict_(classes|proba)"
)


Counts = Mapping[str, int]


class Dead(NamedTuple):
    """A condition that ends a program of TensorFlow 2, or leaves it without a name that it uses."""

    node: ast.stmt
    what: str


class _Occurrences:
    """How often a file binds and reads each name."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self._nodes = nodes
        self._counted: tuple[Counts, Counts] | None = None

    def _all(self) -> tuple[Counts, Counts]:
        """Counted when first asked for, as most files have no such condition."""
        if self._counted is None:
            self._counted = (_count(_bindings, self._nodes), _count(_loads, self._nodes))
        return self._counted

    def unbound(self, names: set[str], node: ast.AST) -> set[str]:
        """Those of some names that nothing outside of a statement binds."""
        if not names:
            return names
        inside = _count(_bindings, walk(node))
        return {name for name in names if self._all()[0][name] <= inside[name]}

    def loaded(self, names: set[str], node: ast.AST) -> set[str]:
        """Those of some names that are read outside of a statement."""
        if not names:
            return names
        inside = _count(_loads, walk(node))
        return {name for name in names if self._all()[1][name] > inside[name]}


def _count(names_of: Callable[[ast.AST], Iterable[str]], nodes: Iterable[ast.AST]) -> Counts:
    return collections.Counter(name for node in nodes for name in names_of(node))


def opened(names: Names, trees: Collection[ast.AST], gone: Collection[int]) -> set[int]:
    """Nodes below guards that TensorFlow 2 runs, or has nothing else for.

    Args:
      names: What the file uses.
      trees: Its trees.
      gone: Identities of the nodes that stand for what TensorFlow 2 does not have.
    """
    used = _names(names)
    nodes = [node for tree in trees for node in walk(tree)]
    occurrences = _Occurrences(nodes)
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Try) and any(map(is_guarding, node.handlers)):
            if not any(
                _is_other_way(node, handler, occurrences, gone) for handler in node.handlers
            ):
                found |= _inside(node.body)
        elif isinstance(node, (ast.If, ast.IfExp)):
            found |= _inside(_runs(node, used))
    return found


def dead(names: Names, trees: Collection[ast.AST]) -> Iterator[Dead]:
    """Conditions on the version of TensorFlow that TensorFlow 2 does not survive."""
    used = _names(names)
    if not (
        _VERSIONS.intersection(used.values()) or any(call.name == "hasattr" for call in names.calls)
    ):
        return  # no test tells
    nodes = [node for tree in trees for node in walk(tree)]
    occurrences = _Occurrences(nodes)
    for node in nodes:
        if isinstance(node, ast.Assert) and truth(node.test, used) is False:
            yield Dead(node, "this is false in TensorFlow 2")
        elif isinstance(node, ast.If) and isinstance(truth(node.test, used), bool):
            is_true = truth(node.test, used)
            taken, skipped = (node.body, node.orelse)[:: 1 if is_true else -1]
            only = occurrences.unbound(_bound(skipped) - _bound(taken), node)
            missing = sorted(occurrences.loaded(only, node))
            if taken and _ends(taken):
                yield Dead(node, "in TensorFlow 2 the program ends here")
            elif missing:
                yield Dead(node, f"in TensorFlow 2, {', '.join(missing)} would be undefined")


def _names(names: Names) -> dict[int, str]:
    """Node -> the name that it stands for, those inside of longer ones too."""
    found: dict[int, str] = {}
    for use in names.uses:
        node: Any = use.node
        name = use.name
        while name:
            found[id(node)] = name
            if not isinstance(node, ast.Attribute):
                break
            node, name = node.value, name.rpartition(".")[0]
    return found


def _runs(node: Any, used: Mapping[int, str]) -> list[Any]:
    """What below a condition TensorFlow 2 runs, as far as its test tells."""
    found = truth(node.test, used)
    branches = [part if isinstance(part, list) else [part] for part in (node.body, node.orelse)]
    if isinstance(found, bool):
        return branches[not found]
    asks = [one for one in walk(node.test) if isinstance(one, ast.Call) and _is_hasattr(one)]
    of_objects = asks and not any(used.get(id(one.args[0])) for one in asks)
    return [*branches[0], *branches[1]] if of_objects else []


def _is_hasattr(call: ast.Call) -> bool:
    return getattr(call.func, "id", "") == "hasattr" and len(call.args) == 2


def _is_other_way(
    node: ast.Try, handler: ast.ExceptHandler, occurrences: _Occurrences, gone: Collection[int]
) -> bool:
    """Whether a program goes on from a handler with all that it uses."""
    if _ends(handler.body) or not _inside(handler.body).isdisjoint(gone):
        return False
    if getattr(handler.type, "id", "Exception") in _ANY_ERROR and any(map(_works, node.body)):
        return False
    imports = [one for one in node.body if isinstance(one, (ast.Import, ast.ImportFrom))]
    only = occurrences.unbound(_bound(imports) - _bound(handler.body), node)
    flags = _bound(node.body) & _bound(handler.body)
    return bool(flags) or not occurrences.loaded(only, node)


def _works(statement: ast.stmt) -> bool:
    """Whether a statement trains a model, or uses it."""
    called = (node.func for node in walk(statement) if isinstance(node, ast.Call))
    return any(isinstance(one, ast.Attribute) and _WORK.fullmatch(one.attr) for one in called)


def _inside(body: list[Any]) -> set[int]:
    return {id(node) for statement in body for node in walk(statement)}


def _bound(body: list[Any]) -> set[str]:
    """The names that statements give a value."""
    return {name for one in body for node in walk(one) for name in _bindings(node)}


def _bindings(node: ast.AST) -> list[str]:
    """The names that one node, without those below it, gives a value."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(one.asname or one.name).partition(".")[0] for one in node.names]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return [node.id]
    return []


def _loads(node: ast.AST) -> tuple[str, ...]:
    return (node.id,) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else ()


def _ends(body: list[Any]) -> bool:
    """Whether the program does not go on behind statements."""
    for statement in body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        function = getattr(call, "func", None)
        last = getattr(function, "attr", getattr(function, "id", ""))
        if isinstance(statement, ast.Raise) or last in _LEAVES:
            return True
    return False


# Conditions ----------------------------------------------------------------------------------------


def truth(node: ast.AST, used: Mapping[int, str]) -> Any:
    """What a test for the version of TensorFlow is in TensorFlow 2; None where nobody can tell."""
    asks = any(
        used.get(id(one)) in _VERSIONS or (isinstance(one, ast.Call) and _is_hasattr(one))
        for one in walk(node)
    )
    found = _value(node, used) if asks else _UNKNOWN
    return None if found is _UNKNOWN else bool(found)


def _value(node: Any, used: Mapping[int, str]) -> Any:
    if used.get(id(node)) in _VERSIONS:
        return _VERSION
    evaluate = _EVALUATED.get(type(node))
    if evaluate is None:
        return _UNKNOWN
    try:
        return evaluate(node, used)
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
        return _UNKNOWN


def _all_known(nodes: list[Any], used: Mapping[int, str]) -> list[Any]:
    found = [_value(node, used) for node in nodes]
    if any(one is _UNKNOWN for one in found):
        raise ValueError
    return found


_COMPARED: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Eq: lambda one, other: one == other,
    ast.NotEq: lambda one, other: one != other,
    ast.Lt: lambda one, other: one < other,
    ast.LtE: lambda one, other: one <= other,
    ast.Gt: lambda one, other: one > other,
    ast.GtE: lambda one, other: one >= other,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}


def _compare(node: ast.Compare, used: Mapping[int, str]) -> Any:
    values = _all_known([node.left, *node.comparators], used)
    return all(
        _COMPARED[type(operator)](one, other)
        for operator, one, other in zip(node.ops, values, values[1:])
    )


def _both(node: ast.BoolOp, used: Mapping[int, str]) -> Any:
    decisive = isinstance(node.op, ast.Or)
    values = [_value(one, used) for one in node.values]
    if any(one is not _UNKNOWN and bool(one) is decisive for one in values):
        return decisive
    return _UNKNOWN if _UNKNOWN in values else not decisive


def _not(node: ast.UnaryOp, used: Mapping[int, str]) -> Any:
    (value,) = _all_known([node.operand], used)
    return not value if isinstance(node.op, ast.Not) else _UNKNOWN


def _item(node: ast.Subscript, used: Mapping[int, str]) -> Any:
    (value,) = _all_known([node.value], used)
    where = index_of(node)
    if isinstance(where, ast.Slice):
        parts = (where.lower, where.upper, where.step)
        return value[slice(*(None if one is None else _value(one, used) for one in parts))]
    return value[_value(where, used)]


def _call(node: ast.Call, used: Mapping[int, str]) -> Any:
    function: Any = node.func
    last = getattr(function, "attr", getattr(function, "id", ""))
    if _is_hasattr(node):
        base, name = used.get(id(node.args[0])), getattr(node.args[1], "value", None)
        is_of_tensorflow = base == "tensorflow" and isinstance(name, str)
        if is_of_tensorflow and (name == "contrib" or today.fate(f"{base}.{name}")):
            return False
        return _UNKNOWN
    values = _all_known(list(node.args), used)
    if last in ("LooseVersion", "StrictVersion", "Version", "parse", "parse_version"):
        return [int(part) for part in re.findall(r"\d+", values[0])]
    if last in ("int", "float", "str"):
        return {"int": int, "float": float, "str": str}[last](values[0])
    if isinstance(function, ast.Attribute) and last in ("startswith", "split", "replace"):
        (owner,) = _all_known([function.value], used)
        if last == "replace" and not len(values[1]) <= len(values[0]) > 0:
            return _UNKNOWN  # a chain of these would grow without bounds
        return getattr(owner, last)(*values)
    return _UNKNOWN


_EVALUATED: Mapping[type, Callable[[Any, Mapping[int, str]], Any]] = {
    ast.BoolOp: _both,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.Constant: lambda node, used: node.value,
    ast.List: lambda node, used: _all_known(node.elts, used),
    ast.Subscript: _item,
    ast.Tuple: lambda node, used: tuple(_all_known(node.elts, used)),
    ast.UnaryOp: _not,
}
