"""Code that a script takes or skips by what is installed: what of it a program of TensorFlow 2 runs.

``names.used`` marks as guarded what stands in ``try`` with an ``except ImportError``, and below a test for a
version. That does not hold where TensorFlow 2 runs what is below it, or where the other way leads nowhere.
"""

from __future__ import annotations

import ast
import collections
import re
from typing import Any, Callable, Collection, Iterable, Iterator, Mapping, NamedTuple

from tpucompat.names import fixes
from tpucompat.names import successors as today
from tpucompat.names.used import Names, Use, constant, index_of, is_guarding, walk

_VERSION = "2.21.0"
#: Releases by which a test for a minor version is known: it tells those of both majors apart.
_MINORS_OF_1 = tuple(f"1.{minor}.0" for minor in range(16))
_MINORS_OF_2 = tuple(f"2.{minor}.0" for minor in range(31))
_VERSIONS = frozenset(
    ("tensorflow.__version__", "tensorflow.VERSION", "tensorflow.version.VERSION")
)
_UNKNOWN = object()
#: What turns a mode on that TensorFlow 2 is in: a program skips it there as it should.
_MODES = re.compile(
    r"tf\.(compat\.v1\.)?enable_(eager_execution|v2_\w+|resource_variables|control_flow_v2|tensor_equality)"
)
_LEAVES = frozenset(("exit", "_exit", "quit", "abort"))
#: Handlers of any error, and methods that train or use a model: below both, nothing asks what is installed.
_ANY_ERROR = frozenset(("Exception", "BaseException"))
_WORK = re.compile(
    r"(fit|evaluate|predict)(_generator)?|(train|test|predict)_on_batch|train(_and_evaluate)?"
    r"|compile|save(_weights)?|load_weights|predict_(classes|proba)"
)


Counts = Mapping[str, int]


class Dead(NamedTuple):
    """A condition that ends a program of TensorFlow 2, leaves it without a name, or is about 1's minors."""

    node: ast.AST
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


class Known(NamedTuple):
    """The value of a part of a condition."""

    value: Any


#: Node -> the name that it stands for, or what it is known to be.
Used = Mapping[int, Any]


class Opened(NamedTuple):
    """What of a file's guards a program of TensorFlow 2 needs.

    Attributes:
      nodes: Identities of the nodes below guards that TensorFlow 2 runs, or has nothing else for.
      asked: Identities of the tests ``hasattr(module, "name")`` that are renamed with what they guard.
    """

    nodes: set[int]
    asked: set[int]


def opened(names: Names, trees: Collection[ast.AST], gone: Mapping[int, today.Fate]) -> Opened:
    """What TensorFlow 2 runs below guards, or has nothing else for.

    Args:
      names: What the file uses.
      trees: Its trees.
      gone: The identity of each node that stands for what TensorFlow 2 does not have -> what became of it.
    """
    used = _names(names)
    nodes = [node for tree in trees for node in walk(tree)]
    occurrences = _Occurrences(nodes)
    asked = {id(call.node) for call in names.calls if asked_name(call.node, used) is not None}
    found = _looked_up(names.uses, used, gone)
    for node in nodes:
        if isinstance(node, ast.Try) and any(map(is_guarding, node.handlers)):
            if not any(
                _is_other_way(node, handler, occurrences, used, gone) for handler in node.handlers
            ):
                found |= _inside([*node.body, *node.handlers])
            elif not any(map(_finds_attributes, node.handlers)):
                found |= _attributes(node.body, used)
        elif isinstance(node, (ast.If, ast.IfExp)):
            tests = [one for one in walk(node.test) if id(one) in asked]
            if tests and _has_other_way(node, used, gone):
                asked.difference_update(map(id, tests))
            elif tests:
                found |= _inside([*_branches(node)[0], *_branches(node)[1]])
                continue
            found |= _inside(_runs(node, used, gone))
    return Opened(found, asked)


def asked_name(call: ast.AST, used: Used) -> today.Fate | None:
    """What became of the name that ``hasattr(tf.train, "AdamOptimizer")`` asks for, if it has another home."""
    if not isinstance(call, ast.Call) or not _is_hasattr(call):
        return None
    base, name = used.get(id(call.args[0])), constant(call.args[1])
    if not isinstance(base, str) or not isinstance(name, str):
        return None
    found = today.fate(f"{base}.{name}")
    is_known = found is not None and _has_moved(found) and not found.rest
    return found if is_known else None


def _has_home(found: today.Fate) -> bool:
    """Whether it is known what a name is in TensorFlow 2."""
    return found.fix == fixes.SAFE and found.becomes.startswith(("tf.", "tf_slim."))


def _has_moved(found: today.Fate) -> bool:
    """Whether TensorFlow 2 has a name under another one alone."""
    return _has_home(found) and found.code != "TPU204" and not _MODES.fullmatch(found.was)


def _looked_up(uses: Iterable[Use], used: Used, gone: Mapping[int, today.Fate]) -> set[int]:
    """``getattr(tf, "log", None)``, which would be None where ``tf.math.log`` is meant."""
    return {
        id(use.node)
        for use in uses
        if isinstance(use.node, ast.Call) and id(use.node) in gone
        if _has_moved(gone[id(use.node)]) and not gone[id(use.node)].rest
        if not _is_of_today(use.node.args[2:], used, gone)
    }


def _is_of_today(body: list[Any], used: Used, gone: Collection[int]) -> bool:
    """Whether some code is TensorFlow 2's: it has names of TensorFlow, and none that is gone."""
    inside = _inside(body)
    return not inside.isdisjoint(used) and inside.isdisjoint(gone)


def _has_other_way(node: Any, used: Used, gone: Collection[int]) -> bool:
    """Whether a program does without a name of TensorFlow 1 by names of TensorFlow 2 alone."""
    found = truth(node.test, used)
    if not isinstance(found, bool):
        return False
    taken = _branches(node)[not found]
    return _is_of_today(taken, used, gone) and not _ends(taken)


def _branches(node: Any) -> list[list[Any]]:
    return [part if isinstance(part, list) else [part] for part in (node.body, node.orelse)]


def _finds_attributes(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is for what a module does not have."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {getattr(kind, "id", "Exception") for kind in kinds}
    return not names.isdisjoint(_ANY_ERROR | {"AttributeError"})


def _attributes(body: list[ast.stmt], used: Used) -> set[int]:
    """What statements take of TensorFlow by its own name, which no handler of an ImportError catches."""
    nodes = [node for one in body for node in walk(one) if isinstance(node, ast.Attribute)]
    roots = {id(node): node for node in nodes}
    for node in nodes:
        root: Any = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if used.get(id(root)) != "tensorflow":
            del roots[id(node)]
    return set(roots)


def dead(names: Names, trees: Collection[ast.AST]) -> Iterator[Dead]:
    """Conditions on the version of TensorFlow that TensorFlow 2 does not survive, or that it cannot answer."""
    used = _names(names)
    if not (
        _VERSIONS.intersection(used.values()) or any(call.name == "hasattr" for call in names.calls)
    ):
        return  # no test tells
    used.update((call, Known(True)) for call in names.asked)
    nodes = [node for tree in trees for node in walk(tree)]
    occurrences = _Occurrences(nodes)
    for node in nodes:
        if not isinstance(node, (ast.Assert, ast.If, ast.IfExp)):
            continue
        is_true = truth(node.test, used)
        if _asks_for_minor(node.test, used):
            yield Dead(node, "this asks for a minor version of TensorFlow 1")
        elif isinstance(node, ast.Assert) and is_true is False:
            yield Dead(node, "this is false in TensorFlow 2")
        elif isinstance(node, ast.If) and isinstance(is_true, bool):
            taken, skipped = (node.body, node.orelse)[:: 1 if is_true else -1]
            only = occurrences.unbound(_bound(skipped) - _bound(taken), node)
            missing = sorted(occurrences.loaded(only, node))
            if taken and _ends(taken):
                yield Dead(node, "in TensorFlow 2 the program ends here")
            elif missing:
                yield Dead(node, f"in TensorFlow 2, {', '.join(missing)} would be undefined")


def _asks_for_minor(test: ast.AST, used: Used) -> bool:
    """Whether a test tells apart the minor versions of TensorFlow 1, and those of 2 without meaning to."""
    places = [id(one) for one in walk(test) if used.get(id(one)) in _VERSIONS]
    if not places:
        return False

    def differ(versions: Iterable[str]) -> bool:
        known = ({**used, **dict.fromkeys(places, Known(version))} for version in versions)
        found = {truth(test, one) for one in known}
        return found == {True, False}

    return differ(_MINORS_OF_2) and differ(_MINORS_OF_1)


def _names(names: Names) -> dict[int, Any]:
    """Node -> the name that it stands for, those inside of longer ones too."""
    found: dict[int, Any] = {}
    for use in names.uses:
        node: Any = use.node
        name = use.name
        while name:
            found[id(node)] = name
            if not isinstance(node, ast.Attribute):
                break
            node, name = node.value, name.rpartition(".")[0]
    return found


def _runs(node: Any, used: Used, gone: Collection[int]) -> list[Any]:
    """What below a condition TensorFlow 2 runs, as far as its test tells."""
    found = truth(node.test, used)
    branches = _branches(node)
    either = [*branches[0], *branches[1]]
    if isinstance(found, bool):
        return either if _asks_for_minor(node.test, used) else branches[not found]
    asks = [one for one in walk(node.test) if isinstance(one, ast.Call) and _is_hasattr(one)]
    of_objects = asks and not any(used.get(id(one.args[0])) for one in asks)
    neither = not any(_inside(branch).isdisjoint(gone) for branch in branches)
    return either if of_objects or neither else []


def _is_hasattr(call: ast.Call) -> bool:
    return getattr(call.func, "id", "") == "hasattr" and len(call.args) == 2


def _is_other_way(
    node: ast.Try,
    handler: ast.ExceptHandler,
    occurrences: _Occurrences,
    used: Used,
    gone: Mapping[int, today.Fate],
) -> bool:
    """Whether a program goes on from a handler with all that it uses."""
    if _ends(handler.body) or not _inside(handler.body).isdisjoint(gone):
        return False
    if getattr(handler.type, "id", "Exception") in _ANY_ERROR and any(map(_works, node.body)):
        return False
    if _finds_attributes(handler) and _inside(handler.body).isdisjoint(used):
        renamed = [gone[one] for one in _inside(node.body) & gone.keys() if one in used]
        if any(map(_has_moved, renamed)) and all(map(_has_home, renamed)):
            return False  # in silence
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


def truth(node: ast.AST, used: Used) -> Any:
    """What a test for the version of TensorFlow is in TensorFlow 2; None where nobody can tell."""
    asks = any(
        used.get(id(one)) in _VERSIONS
        or isinstance(used.get(id(one)), Known)
        or (isinstance(one, ast.Call) and _is_hasattr(one))
        for one in walk(node)
    )
    found = _value(node, used) if asks else _UNKNOWN
    return None if found is _UNKNOWN else bool(found)


def _value(node: Any, used: Used) -> Any:
    known = used.get(id(node))
    if isinstance(known, Known):
        return known.value
    if known in _VERSIONS:
        return _VERSION
    evaluate = _EVALUATED.get(type(node))
    if evaluate is None:
        return _UNKNOWN
    try:
        return evaluate(node, used)
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
        return _UNKNOWN


def _all_known(nodes: list[Any], used: Used) -> list[Any]:
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


def _compare(node: ast.Compare, used: Used) -> Any:
    values = _all_known([node.left, *node.comparators], used)
    return all(
        _COMPARED[type(operator)](one, other)
        for operator, one, other in zip(node.ops, values, values[1:])
    )


def _both(node: ast.BoolOp, used: Used) -> Any:
    decisive = isinstance(node.op, ast.Or)
    values = [_value(one, used) for one in node.values]
    if any(one is not _UNKNOWN and bool(one) is decisive for one in values):
        return decisive
    return _UNKNOWN if _UNKNOWN in values else not decisive


def _not(node: ast.UnaryOp, used: Used) -> Any:
    (value,) = _all_known([node.operand], used)
    return not value if isinstance(node.op, ast.Not) else _UNKNOWN


def _item(node: ast.Subscript, used: Used) -> Any:
    (value,) = _all_known([node.value], used)
    where = index_of(node)
    if isinstance(where, ast.Slice):
        parts = (where.lower, where.upper, where.step)
        return value[slice(*(None if one is None else _value(one, used) for one in parts))]
    return value[_value(where, used)]


def _call(node: ast.Call, used: Used) -> Any:
    function: Any = node.func
    last = getattr(function, "attr", getattr(function, "id", ""))
    if _is_hasattr(node):
        base, name = used.get(id(node.args[0])), constant(node.args[1])
        if not isinstance(base, str) or not isinstance(name, str):
            return _UNKNOWN
        found = today.fate(f"{base}.{name}")
        is_gone = found is not None and not found.rest and found.code != "TPU204"
        is_module = (base, name) == ("tensorflow", "contrib")
        is_of_tensorflow = base.partition(".")[0] == "tensorflow"
        return False if is_of_tensorflow and (is_module or is_gone) else _UNKNOWN
    if last == "map" and len(node.args) == 2:
        (values,) = _all_known(node.args[1:], used)
        return [_TYPES[node.args[0].id](one) for one in values]  # type: ignore[attr-defined]
    values = _all_known(list(node.args), used)
    if last in ("LooseVersion", "StrictVersion", "Version", "parse", "parse_version"):
        return [int(part) for part in re.findall(r"\d+", values[0])]
    if isinstance(function, ast.Name) and last in _TYPES:
        return _TYPES[last](values[0])
    if isinstance(function, ast.Attribute) and last in ("startswith", "split", "replace", "join"):
        (owner,) = _all_known([function.value], used)
        if last == "replace" and not len(values[1]) <= len(values[0]) > 0:
            return _UNKNOWN  # a chain of these would grow without bounds
        return getattr(owner, last)(*values)
    return _UNKNOWN


def _comprehension(node: Any, used: Used) -> Any:
    """``[int(part) for part in tf.__version__.split('.')]``"""
    (generator,) = node.generators
    (values,) = _all_known([generator.iter], used)
    named = [id(one) for one in walk(node.elt) if getattr(one, "id", "") == generator.target.id]
    if generator.ifs:
        return _UNKNOWN
    return [
        _all_known([node.elt], {**used, **dict.fromkeys(named, Known(value))})[0]
        for value in values
    ]


_TYPES: Mapping[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "tuple": tuple,
    "list": list,
}
_EVALUATED: Mapping[type, Callable[[Any, Mapping[int, str]], Any]] = {
    ast.BoolOp: _both,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.Constant: lambda node, used: node.value,
    ast.GeneratorExp: _comprehension,
    ast.List: lambda node, used: _all_known(node.elts, used),
    ast.ListComp: _comprehension,
    ast.Subscript: _item,
    ast.Tuple: lambda node, used: tuple(_all_known(node.elts, used)),
    ast.UnaryOp: _not,
}
