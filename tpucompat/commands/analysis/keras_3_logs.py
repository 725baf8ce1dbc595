"""What a training logs under another name, in another order or in another form than in TensorFlow 1.

One name can be read in many places, also from files that are read later. The learning rate gets its new name if
each of its readers is seen; otherwise, it is logged under its old one.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator, Mapping

from tpucompat.commands.analysis import indexes, keras_3_rates, keras_values
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras, key
from tpucompat.names.used import Call, argument, children, constant, index_of, is_given, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_LOG_RATES = frozenset(("callbacks.LearningRateScheduler", "callbacks.ReduceLROnPlateau"))
_WRITE_LOGS = "callbacks.CSVLogger"
#: Where keys in their order are put that are looked up by name, or shown.
_BY_NAME = frozenset(("sorted", "set", "frozenset", "len", "print", "enumerate"))
_TAKE_PLACES = frozenset(("list", "tuple", "iter"))
#: What takes a column of a table by its place.
_OF_COLUMNS = frozenset(("iloc", "iat", "columns", "values", "to_numpy", "as_matrix"))
_FITS = frozenset((".fit", ".fit_generator"))
_READ_EVENTS = ("summary_iterator", "EventAccumulator")


def writes_rate(node: ast.AST) -> bool:
    """Whether a callback writes a rate itself: ``logs['lr'] = rate``."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
        return False
    return getattr(node.value, "id", "") == "logs" and constant(index_of(node)) == "lr"


def rates(finder: Finder, logs: ast.AST, text: Any) -> Iterator[Difference]:
    """``logs['lr']`` and ``logs.get('lr')`` of a program that does not write it itself."""
    if constant(text) != "lr" or finder.logs_rate or finder.kept_rates:
        return
    if _is_logs(finder, logs):
        yield Difference(table.BEHAVIOURS["log_lr"], text, None, "learning_rate")


def _is_logs(finder: Finder, node: ast.AST) -> bool:
    return finder.values.kind(node) == keras_values.LOGS or (
        finder.is_history(node) or getattr(node, "id", "") == "logs"
    )


def keeps_rate(finder: Finder) -> list[ast.Call]:
    """The callbacks that log the learning rate, where more is done with logs than their items are read."""
    callbacks = list(_log_rates(finder))
    if not callbacks:
        return []
    above = _parents(finder)
    if not any(call.name in _FITS for call in finder.names.calls):
        return callbacks  # another file trains with them, and may do anything with what is logged
    kept = any(_takes_all(finder, node, above) for node in finder.nodes) or _shows_rate(finder)
    return callbacks if kept else []


def _shows_rate(finder: Finder) -> bool:
    """Whether logged rates are made into text, which has the digits of float32: ``print(logs['lr'])``."""
    for node in indexes.nodes(finder, ast.Call, ast.BinOp, ast.FormattedValue):
        is_value = isinstance(node, ast.FormattedValue)
        texts = [node.value] if is_value else keras_3_rates.shown(node)
        if any(_reads_rate(finder, inside) for one in texts for inside in walk(one)):
            return True
    return False


def _reads_rate(finder: Finder, node: Any) -> bool:
    """Whether an expression is ``logs['lr']`` or ``logs.get('lr')``."""
    if isinstance(node, ast.Subscript):
        return constant(index_of(node)) == "lr" and _is_logs(finder, node.value)
    function = getattr(node, "func", None)
    if getattr(function, "attr", "") != "get" or not node.args:
        return False
    return constant(node.args[0]) == "lr" and _is_logs(finder, function.value)  # type: ignore[union-attr]


def _log_rates(finder: Finder) -> Iterator[ast.Call]:
    """Callbacks that log the learning rate, of Keras and of classes that extend them."""
    used = finder.values.used
    own = {
        node.name
        for node in indexes.nodes(finder, ast.ClassDef)
        if any(below_keras(used.get(id(base), "")) in _LOG_RATES for base in node.bases)
    }
    for call in finder.names.calls:
        if below_keras(call.name) in _LOG_RATES or getattr(call.node.func, "id", "") in own:
            yield call.node


@indexes.once
def _parents(finder: Finder) -> dict[int, ast.AST]:
    return {id(inside): node for node in finder.nodes for inside in children(node)}


def _takes_all(finder: Finder, node: ast.AST, above: Mapping[int, ast.AST]) -> bool:
    """Whether all that is logged is written down, shown or passed on."""
    if isinstance(node, ast.Call):
        return below_keras(finder.values.called.get(id(node), "")) == _WRITE_LOGS
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and "{lr" in node.value  # the name of a checkpoint
    if not isinstance(getattr(node, "ctx", None), ast.Load) or not _is_logs(finder, node):
        return False
    if isinstance(node, ast.Name) and node.id != "logs":
        return False  # what it was assigned is seen there
    parent = above.get(id(node))
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return constant(index_of(parent)) is None and _names_rate(finder, index_of(parent))
    if isinstance(parent, ast.Attribute):
        return parent.attr not in ("get", "update", "setdefault", "pop")
    if isinstance(parent, ast.Call):
        return not _is_super(parent)
    return not isinstance(parent, (ast.BoolOp, ast.If, ast.IfExp, ast.UnaryOp, ast.Expr))


def _names_rate(finder: Finder, index: ast.AST) -> bool:
    """Whether a name of a log may be that of the rate: one of those that a loop lists, else of any text."""
    lists = (ast.Tuple, ast.List)
    around = [one for one in finder.values.iterated(index) if isinstance(one, lists)]
    if not around:
        return _says_rate(finder)
    return any(constant(part) == "lr" for one in around for part in walk(one))


@indexes.once
def _says_rate(finder: Finder) -> bool:
    return any(constant(part) == "lr" for part in indexes.nodes(finder, ast.Constant))


def _is_super(call: ast.Call) -> bool:
    """``super().on_epoch_end(epoch, logs)``"""
    owner = getattr(call.func, "value", None)
    return isinstance(owner, ast.Call) and key(owner.func) == "super"


def differences(finder: Finder) -> Iterator[Difference]:
    """Every place of a file where logs are written, or taken in their order."""
    for call in finder.kept_rates:
        if id(call) not in finder.wrapped and not finder.logs_rate:
            yield Difference(table.BEHAVIOURS["logged_rate"], call, call)
    for one in finder.names.calls:
        yield from _columns(finder, one)
        yield from _events(finder, one)
    yield from _ordered(finder)


# Files ----------------------------------------------------------------------------------------------


def _columns(finder: Finder, call: Call) -> Iterator[Difference]:
    """A CSVLogger of a training that is not seen to validate in each epoch."""
    if below_keras(call.name) != _WRITE_LOGS:
        return
    if not _all_validate(finder):
        yield Difference(table.BEHAVIOURS["log_columns"], call.node.func, call.node)


@indexes.once
def _all_validate(finder: Finder) -> bool:
    """Whether a file trains, and validates in each training."""
    fits = [one.node for one in finder.names.calls if one.name in (".fit", ".fit_generator")]
    return bool(fits) and all(map(_validates, fits))


def _validates(fit: ast.Call) -> bool:
    generator = getattr(fit.func, "attr", "") == "fit_generator"
    data = argument(fit, 5 if generator else 7, "validation_data")
    split = None if generator else argument(fit, 6, "validation_split")
    given = any(is_given(one) and constant(one) not in (0, 0.0) for one in (data, split))
    return given and argument(fit, 14, "validation_freq") is None


def _events(finder: Finder, call: Call) -> Iterator[Difference]:
    """Summaries that a program reads which writes them by the callback TensorBoard."""
    if call.name.rpartition(".")[2] not in _READ_EVENTS:
        return
    if _uses_tensorboard(finder):
        yield Difference(table.BEHAVIOURS["events"], call.node, call.node)


@indexes.once
def _uses_tensorboard(finder: Finder) -> bool:
    used = finder.values.used.values()
    return any(below_keras(name) == "callbacks.TensorBoard" for name in used)


def params(finder: Finder, node: ast.AST, owner: ast.AST, text: ast.AST) -> Iterator[Difference]:
    """What a callback asks its parameters for."""
    if getattr(owner, "attr", "") != "params":
        return
    # Of arrays there was a number of samples, and no number of steps.
    fits = indexes.calls(finder.names, ".fit")
    of_arrays = finder.tf1 and any(
        argument(one.node, 12, "steps_per_epoch") is None for one in fits
    )
    if constant(text) in _PARAMETERS or (of_arrays and constant(text) == "steps"):
        yield Difference(table.BEHAVIOURS["params"], node)


_PARAMETERS = ("samples", "metrics", "batch_size", "do_validation", "nb_epoch")


# Order ----------------------------------------------------------------------------------------------


def _ordered(finder: Finder) -> Iterator[Difference]:
    """``something.history`` where the values of a history are taken by their places."""
    if not indexes.has_word(finder, "history", "logs"):
        return
    histories = [
        node
        for node in finder.nodes
        if isinstance(getattr(node, "ctx", None), ast.Load)
        and getattr(node, "id", "") != "logs"
        and _is_logs(finder, node)
    ]
    above = _parents(finder) if histories else {}
    if not any(_by_place(finder, node, above) for node in histories):
        for node in histories:
            if finder.early and _shows(node, above):
                yield Difference(table.BEHAVIOURS["log_shown"], node, None, "history")
        return
    for node in histories:
        parent = above.get(id(node))
        is_item = isinstance(parent, ast.Subscript) and parent.value is node
        is_named = isinstance(parent, ast.Compare) or getattr(parent, "attr", "") == "get"
        is_whole = isinstance(node, ast.Attribute) and not (is_item or is_named)
        if is_whole and id(node.value) not in finder.wrapped:
            yield Difference(table.BEHAVIOURS["log_order"], node, None, "history")


def _by_place(finder: Finder, node: ast.AST, above: Mapping[int, ast.AST]) -> bool:
    parent = above.get(id(node))
    if isinstance(parent, ast.Attribute) and parent.attr in ("values", "keys", "items"):
        node = above.get(id(parent), parent)
        if parent.attr == "values":
            return not _is_shown(above.get(id(node)))
        parent = above.get(id(node))
        return isinstance(parent, ast.Call) and _takes(parent) and not _is_shown(above[id(parent)])
    if not isinstance(parent, ast.Call):
        return False
    if key(parent.func).rpartition(".")[2] == "DataFrame":
        return _takes_columns(finder)
    return _takes(parent) and not _is_shown(above.get(id(parent)))


def _shows(node: ast.AST, above: Mapping[int, ast.AST]) -> bool:
    """Whether names of a history are shown in their order: ``print(h.history.keys())``."""
    parent: Any = above.get(id(node))
    while (
        isinstance(parent, (ast.FormattedValue, ast.JoinedStr))
        or (isinstance(parent, ast.Attribute) and parent.attr in ("values", "keys", "items"))
        or (isinstance(parent, ast.Call) and (parent.func is node or _takes(parent)))
    ):
        node, parent = parent, above.get(id(parent))
    if isinstance(parent, (ast.For, ast.comprehension)):
        return parent.iter is node
    return isinstance(parent, ast.Call) and key(parent.func).rpartition(".")[2] in _SHOW


_SHOW = frozenset(("print", "str", "repr", "format", "info", "warning", "debug", "pprint"))


@indexes.once
def _takes_columns(finder: Finder) -> bool:
    """Whether a file takes columns by their places, of anything but a history itself."""
    return any(
        node.attr in _OF_COLUMNS and not _is_logs(finder, node.value)
        for node in indexes.nodes(finder, ast.Attribute)
    )


def _takes(call: ast.Call) -> bool:
    return key(call.func) in _TAKE_PLACES


def _is_shown(parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.Call) and key(parent.func) in _BY_NAME
