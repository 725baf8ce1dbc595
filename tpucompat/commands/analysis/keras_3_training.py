"""What of a training Keras 3 decides otherwise: which weights train, whose an optimizer is, what is better."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes, keras_3_compiles, keras_3_files
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import OPTIMIZER, below_keras, key
from tpucompat.names.used import Call, argument, constant, keyword, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_TRAINS = (".fit", ".fit_generator", ".train_on_batch")
_KEEPS, _SHARES, _BY_BATCH = "keep_trainable", "share_optimizer", "normalize_by_batch"


def differences(finder: Finder) -> Iterator[Difference]:
    """Every place of a file, once."""
    if _KEEPS not in finder.names.functions:
        yield from _frozen(finder)
    if _SHARES not in finder.names.functions:
        yield from _shared(finder)
    if finder.normalizes and _BY_BATCH not in finder.names.functions:
        yield from _frozen_statistics(finder)
    yield from _loaded(finder)
    yield from keras_3_compiles.again(finder)
    for node in indexes.nodes(finder, ast.ClassDef):
        yield from _compared(finder, node)
    for call in finder.names.calls if finder.tf1 else ():
        yield from _watching(call.node, below_keras(call.name))


def _owner(call: ast.Call) -> str:
    return key(getattr(call.func, "value", call))


# Weights --------------------------------------------------------------------------------------------


def _frozen_statistics(finder: Finder) -> Iterator[Difference]:
    """``layer.trainable = False`` in a program that normalizes batches."""
    for node in indexes.nodes(finder, ast.Assign):
        for target in node.targets:
            is_frozen = isinstance(target, ast.Attribute) and target.attr == "trainable"
            if is_frozen and constant(node.value) is False:
                yield Difference(table.BEHAVIOURS["frozen_statistics"], target)


def _frozen(finder: Finder) -> Iterator[Difference]:
    """Models whose ``trainable`` is set after ``compile``, each at its compile."""
    found: dict[int, ast.Call] = {}
    loops = indexes.nodes(finder, ast.For)
    for node in indexes.nodes(finder, ast.Assign):
        if constant(node.value) is True:
            continue
        for target in node.targets:
            if not isinstance(target, ast.Attribute) or target.attr != "trainable":
                continue
            model = _model_of(target.value, loops)
            before = _compiled_before(finder, model, node) if model is not None else []
            if constant(node.value) is not False and before:
                before = keras_3_compiles.calls(finder)  # it is turned on and off
            found.update((id(call), call) for call in before)
    for call in found.values():
        yield Difference(table.BEHAVIOURS["trainable"], call, call)


def _model_of(node: ast.expr, loops: list[ast.For]) -> ast.expr | None:
    """The model whose weights are meant: of ``layer`` in ``for layer in model.layers``, that model."""
    for loop in loops:
        if key(loop.target) == key(node) and any(one is node for one in walk(loop)):
            inside = (one for one in walk(loop.iter) if isinstance(one, ast.Attribute))
            return next((one.value for one in inside if one.attr == "layers"), None)
    return node


def _compiled_before(finder: Finder, model: ast.expr, at: ast.AST, depth: int = 3) -> list[Any]:
    """Where a model was compiled that is not compiled again behind a place."""
    values, name = finder.values, key(model)
    line: int = at.lineno  # type: ignore[attr-defined]
    scope = values.scope(at)
    here = [call for call in keras_3_compiles.calls(finder) if name and _owner(call) == name]
    here = [one for one in here if name.startswith("self.") or values.scope(one) == scope]
    if any(one.lineno > line and values.scope(one) == scope for one in here):
        return []
    if here or not depth:
        return here
    functions = finder.names.functions
    for value in values.values(model):
        made = functions.get(key(getattr(value, "func", value)).rpartition(".")[2])
        if isinstance(value, ast.Call) and made is not None:
            inside = {id(one) for one in walk(made.node)}
            here += [call for call in keras_3_compiles.calls(finder) if id(call) in inside]
    for function in functions.values():
        names = [one.arg for one in function.node.args.args]
        if name not in names or not any(one is at for one in walk(function.node)):
            continue
        place = names.index(name) - (names[0] == "self")
        for call in finder.names.calls:
            if key(call.node.func).rpartition(".")[2] == function.node.name:
                given = argument(call.node, place, name)
                if given is not None:
                    here += _compiled_before(finder, given, call.node, depth - 1)
    return here


def _loaded(finder: Finder) -> Iterator[Difference]:
    """Weights of layers that a program saves to HDF5, loads and goes on from."""
    files = [one for one in keras_3_files.arguments(finder) if one[2] != "signatures"]
    saved = {(finder.text_of(path), rule) for path, _, rule, saves in files if saves}
    folders = {rule for text, rule in saved if not _may_be_hdf5(text)}
    if not saved or "weights_file" in folders:
        return  # TensorFlow's own format had the optimizer too
    uses: list[Any] = [call.node for call in finder.names.calls if call.name in _TRAINS]
    uses += [node for node in indexes.nodes(finder, ast.Attribute) if node.attr == "optimizer"]
    used = {id(one) for one in uses}
    again: set[int] = set()  # what a use may follow though it stands above
    for node in indexes.nodes(finder, ast.For, ast.While, ast.FunctionDef):
        inside = {id(one) for one in walk(node)}
        if isinstance(node, ast.FunctionDef) == inside.isdisjoint(used):
            again |= inside
    for path, call, rule, saves in files:
        is_old = not saves and rule == "weights_file" and _may_be_hdf5(finder.text_of(path))
        goes_on = id(call) in again or any(call.lineno < one.lineno for one in uses)
        if is_old and goes_on and uses and keyword(call, "by_name") is None:
            yield Difference(table.BEHAVIOURS["optimizer_in_weights"], call.func, call)


def _may_be_hdf5(text: str | None) -> bool:
    """Whether a name may be one of Keras 2's weights in HDF5, by its end."""
    return text is None or re.search(r"(?<!\.weights)\.(h5|hdf5?)$", text) is not None


# Optimizers -----------------------------------------------------------------------------------------


def _shared(finder: Finder) -> Iterator[Difference]:
    """Optimizers of several models, at the last of them; of one that is compiled again, at the first."""
    groups: dict[tuple[object, str], list[ast.Call]] = {}
    for call in finder.names.calls:
        given = argument(call.node, 0, "optimizer") if call.name == ".compile" else None
        if given is not None and key(given) and _owner(call.node) and _is_one(finder, given):
            where = "" if key(given).startswith("self.") else finder.values.scope(call.node)
            groups.setdefault((where, key(given)), []).append(call.node)
    for (_, name), compiles in groups.items():
        owners = list(dict.fromkeys(map(_owner, compiles)))
        first, last = compiles[0], compiles[-1]
        if len(compiles) < 2:
            continue
        trains = any(_trains_between(one, first, last) for one in finder.names.calls)
        row = table.BEHAVIOURS["shared_optimizer"]
        if len(owners) > 1 and trains:
            row = row._replace(how="")
        at = last if len(owners) > 1 else first
        yield Difference(row, at, at, ", ".join([name, *owners]))


def _is_one(finder: Finder, given: ast.expr) -> bool:
    """Whether a name stands for one optimizer, which is made once."""
    made = finder.values.values(given)
    is_optimizer = finder.values.kind(given) == OPTIMIZER or any(
        finder.values.called.get(id(one), "").endswith("Optimizer") for one in made
    )
    return is_optimizer and len(made) == 1


def _trains_between(call: Call, first: ast.Call, last: ast.Call) -> bool:
    return call.name in _TRAINS and first.lineno < call.node.lineno < last.lineno


# Callbacks ------------------------------------------------------------------------------------------

#: Callbacks that watch a value -> the places of its name, and of what tells whether more is better.
_WATCHING = {
    "callbacks.EarlyStopping": (0, 4),
    "callbacks.ReduceLROnPlateau": (0, 4),
    "callbacks.ModelCheckpoint": (1, 5),
}


def _compared(finder: Finder, node: ast.ClassDef) -> Iterator[Difference]:
    """``self.monitor_op`` in a class of the script that extends one of these callbacks."""
    bases = (below_keras(finder.values.used.get(id(base), "")) for base in node.bases)
    if any(base in _WATCHING for base in bases):
        for inside in walk(node):
            if key(inside) == "self.monitor_op" and isinstance(inside.ctx, ast.Load):  # type: ignore[attr-defined]
                yield Difference(table.BEHAVIOURS["monitor_op"], inside)


def _watching(call: ast.Call, below: str) -> Iterator[Difference]:
    """Callbacks that find out by a name whether more is better, and when the best weights come back."""
    if below not in _WATCHING or any(word.arg is None for word in call.keywords):
        return
    monitor, mode = (
        argument(call, place, name) for place, name in zip(_WATCHING[below], ("monitor", "mode"))
    )
    is_auto = mode is None or constant(mode) == "auto"
    asks = below != "callbacks.ModelCheckpoint" or argument(call, 3, "save_best_only") is not None
    if asks and is_auto and monitor is not None and constant(monitor) not in ("loss", "val_loss"):
        yield Difference(table.BEHAVIOURS["mode"], mode or call, call, "mode", below)
    restores = argument(call, 6, "restore_best_weights")
    is_false = restores is None or (isinstance(restores, ast.Constant) and not restores.value)
    if below == "callbacks.EarlyStopping" and not is_false:
        yield Difference(table.BEHAVIOURS["restored"], call.func, call)
