"""Metrics that depend on the batches that TensorFlow 1 computed them from; the ends of epochs of batches."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import (
    WRAPPERS,
    Difference,
    is_function,
    is_generator,
    parts,
)
from tpucompat.commands.analysis.keras_values import DATASET, ITERATOR, MODELS, below_keras, key
from tpucompat.commands.analysis.rules import of_calls
from tpucompat.names.used import Call, argument, constant, is_given, keyword, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: What takes the examples of a batch together, by its last name, of Keras' backend and of TensorFlow.
_TOGETHER = frozenset(
    part
    for one in ("sum", "mean", "max", "min", "prod", "std", "var")
    for part in (one, f"reduce_{one}")
)
_ROOTS = ("tensorflow.", "keras.")
_ON_BATCH = (".train_on_batch", ".test_on_batch")
_OF_MANY = (".fit", ".fit_generator", ".evaluate", ".evaluate_generator")


@of_calls(".fit")
def validation_batches(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Metrics of whole batches, beside validation arrays, which ``fit`` shuffled."""
    if call.name != ".fit":
        return
    data = argument(call.node, 7, "validation_data")
    split = keyword(call.node, "validation_split")
    given = split if data is None else data
    if given is None or finder.values.kind(given) or constant(given) in (0, 0.0):
        return
    owner = key(getattr(call.node.func, "value", call.node))
    used = indexes.methods_of(finder.names).get(owner, ())
    compiled = [one for one in used if one.name == ".compile"]
    # A function may have compiled it, under another name.
    if any(_has_metrics_of_batch(finder, one) for one in compiled) or (
        not compiled and _may_have_metrics_of_batch(finder)
    ):
        yield Difference(table.BEHAVIOURS["validation_batches"], call.node, call.node)


@indexes.once
def _may_have_metrics_of_batch(finder: Finder) -> bool:
    """Whether any model of a file has a metric of a whole batch."""
    compiled = indexes.calls(finder.names, ".compile")
    return any(_has_metrics_of_batch(finder, one) for one in compiled)


def _has_metrics_of_batch(finder: Finder, compiled: Call) -> bool:
    metrics = [
        value.args[0] if key(getattr(value, "func", value)) == "with_columns" else value
        for value in parts(argument(compiled.node, 2, "metrics"))
    ]
    return any(_is_of_batch(finder, value) for value in metrics)


def _is_of_batch(finder: Finder, metric: ast.AST) -> bool:
    """Whether a function of the script is more than a mean over examples."""
    function = finder.names.functions.get(key(metric))
    return function is not None and _takes_together(finder, function.node)


@indexes.once
def _takes_together(finder: Finder, function: ast.AST) -> bool:
    returned = {id(one) for one in indexes.returned(finder, function) if isinstance(one, ast.Call)}
    for node in walk(function):
        name = finder.values.called.get(id(node), "") if isinstance(node, ast.Call) else ""
        last = name.rpartition(".")[2]
        if not isinstance(node, ast.Call) or last not in _TOGETHER or not name.startswith(_ROOTS):
            continue
        # The mean of the batches' means is that of all examples.
        is_mean = id(node) in returned and last.endswith("mean")
        axis = argument(node, 1, "axis")
        if (axis is None or constant(axis) == 0) and not is_mean:
            return True
    return False


@of_calls(*_ON_BATCH)
def carried_metrics(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``train_on_batch`` after ``evaluate``: TensorFlow 1 reset metrics after each batch only."""
    owner = key(getattr(call.node.func, "value", call.node))
    if (
        call.name not in _ON_BATCH
        or not owner
        or constant(keyword(call.node, "reset_metrics")) is False
    ):
        return
    if call.node is _carries_metrics(finder, owner):
        yield Difference(table.BEHAVIOURS["carried_metrics"], call.node, call.node)


@indexes.once
def _carries_metrics(finder: Finder, owner: str) -> ast.Call | None:
    """The first training by batches of a model that has metrics, and other trainings or evaluations."""
    of_model = indexes.methods_of(finder.names)[owner]
    has_metrics = any(
        argument(one.node, 2, "metrics") is not None
        or keyword(one.node, "weighted_metrics") is not None
        for one in of_model
        if one.name == ".compile"
    )
    first = next(one for one in of_model if one.name in _ON_BATCH)
    return first.node if has_metrics and any(one.name in _OF_MANY for one in of_model) else None


_TAKE_SEQUENCES = frozenset(
    f".{method}{ending}"
    for method in ("fit", "evaluate", "predict")
    for ending in ("", "_generator")
)


@of_calls(*_TAKE_SEQUENCES)
def epochs(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Sequences of the script's own whose epochs end."""
    if call.name not in _TAKE_SEQUENCES:
        return
    trains = call.name.startswith(".fit")
    data = argument(call.node, 5 if call.name == ".fit_generator" else 7, "validation_data")
    first = _batches(call)
    first = None if counts_steps(finder, call) else first  # which ends its passes itself
    data = None if any(validation_steps(finder, call, below)) else data
    # TensorFlow 1 ended neither those of evaluations nor those that the main thread read.
    evaluated = ", trains=False, ends=False" if finder.tf1 else ", trains=False"
    in_thread = finder.tf1 and constant(keyword(call.node, "workers")) == 0
    trained = ", ends=False" if in_thread else ""
    for given, words in (
        (first, trained if trains else evaluated),
        (data if trains else None, evaluated),
    ):
        if given is None or _is_wrapped(given):
            continue
        made = [given] if isinstance(given, ast.Call) else finder.values.values(given)
        if any(_ends_epochs(finder, one) for one in made):
            yield Difference(table.BEHAVIOURS["epochs_of"], given, call.node, words)


def _is_wrapped(node: ast.AST) -> bool:
    """Whether an expression is what a function that migrate writes has made of another."""
    return getattr(getattr(node, "func", node), "id", "") in WRAPPERS


def _ends_epochs(finder: Finder, made: ast.AST) -> bool:
    """Whether an object is a Sequence of a class of the file that has on_epoch_end."""
    for node in indexes.classes(finder, [key(getattr(made, "func", made))])[:1]:
        methods = {getattr(one, "name", "") for one in node.body}
        return "on_epoch_end" in methods and _extends_sequence(finder, node)
    return False


def _extends_sequence(finder: Finder, node: ast.ClassDef) -> bool:
    bases = (below_keras(finder.values.used.get(id(base), "")) for base in node.bases)
    return any(one.endswith(".Sequence") for one in bases)


def lists(finder: Finder, node: ast.AST, kind: type) -> Iterator[Difference]:
    """Lists of arrays in the batches that a function yields or returns."""
    for inside in walk(node):
        pair = getattr(inside, "value", None) if isinstance(inside, kind) else None
        for part in pair.elts if isinstance(pair, ast.Tuple) and len(pair.elts) > 1 else ():
            made = finder.values.values(part) if isinstance(part, ast.Name) else [part]
            if made and all(isinstance(one, (ast.List, ast.ListComp)) for one in made):
                yield Difference(table.BEHAVIOURS["generator_lists"], part)


def returned_lists(finder: Finder, node: ast.ClassDef) -> Iterator[Difference]:
    """The same in the methods of a Sequence."""
    if _extends_sequence(finder, node):
        yield from lists(finder, node, ast.Return)


#: Method -> the place and name of the steps of an epoch.
_STEPS = {
    ".fit": (11, "steps_per_epoch"),
    ".evaluate": (5, "steps"),
    ".predict": (3, "steps"),
    ".fit_generator": (1, "steps_per_epoch"),
    ".evaluate_generator": (1, "steps"),
    ".predict_generator": (1, "steps"),
}


def steps_of(method: str, call: ast.Call) -> ast.expr | None:
    """How many batches a call says that an epoch has; None where it does not say."""
    found = argument(call, *_STEPS[method]) if method in _STEPS else None
    return None if isinstance(found, ast.Constant) and found.value is None else found


def _batches(call: Call) -> ast.expr | None:
    return argument(call.node, 0, "generator" if "_generator" in call.name else "x")


def counts_steps(finder: Finder, call: Call) -> bool:
    """Whether TensorFlow 1 took so many batches of a generator or Sequence, and went on there later."""
    steps, given = steps_of(call.name, call.node), _batches(call)
    if call.guarded or steps is None or given is None or _is_wrapped(given):
        return False
    if any(word.arg is None for word in call.node.keywords) or _is_length(steps, given):
        return False
    if is_generator(finder, given):
        made = [given] if isinstance(given, ast.Call) else finder.values.values(given)
        return finder.tf1 and any(_is_endless(finder, one) for one in made)
    # In TensorFlow 2, each epoch began with the first batch. So does each evaluation of Keras 3.
    return (finder.tf1 or call.name.startswith(".fit")) and _may_be_sequence(finder, call, given)


def _is_length(steps: ast.AST, given: ast.AST) -> bool:
    """Whether a number of steps is ``len(given)``."""
    is_length = isinstance(steps, ast.Call) and key(steps.func) == "len"
    return is_length and [ast.dump(one) for one in steps.args] == [ast.dump(given)]  # type: ignore[attr-defined]


def _may_be_sequence(finder: Finder, call: Call, given: ast.AST) -> bool:
    if call.name.endswith("_generator"):
        return finder.values.kind(given) not in (DATASET, ITERATOR)
    made = [given] if isinstance(given, ast.Call) else finder.values.values(given)
    return any(_is_sequence(finder, one) for one in made)


@of_calls(".fit")
def validation_steps(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``fit(validation_data=sequence, validation_steps=n)``"""
    if call.name not in (".fit", ".fit_generator"):
        return
    given = argument(call.node, 5 if call.name == ".fit_generator" else 7, "validation_data")
    count = keyword(call.node, "validation_steps")
    if (
        given is None
        or count is None
        or not is_given(count)
        or _is_length(count, given)
        or _is_wrapped(given)
    ):
        return
    tuples = (ast.Tuple, ast.List)
    is_list = any(isinstance(one, tuples) for one in (given, *finder.values.values(given)))
    is_passed_on = is_generator(finder, given) or is_list
    if not is_passed_on and _may_be_sequence(finder, call, given):
        yield Difference(table.BEHAVIOURS["first_batches"], given, call.node)


_FLOWS = ("flow", "flow_from_directory", "flow_from_dataframe")


def _is_endless(finder: Finder, made: ast.AST) -> bool:
    """Whether a generator of the file may go on for ever: Keras 3 says of others when they have ended."""
    function = finder.names.functions.get(key(getattr(made, "func", made)).rpartition(".")[2])
    return function is not None and _loops(finder, function.node)


@indexes.once
def _loops(finder: Finder, function: ast.AST) -> bool:
    return any(isinstance(one, ast.While) for one in walk(function))


def _is_sequence(finder: Finder, made: ast.AST) -> bool:
    """Whether an object is of a class of the file that extends Sequence, or the flow of an image generator."""
    return getattr(getattr(made, "func", None), "attr", "") in _FLOWS or any(
        _extends_sequence(finder, node)
        for node in indexes.classes(finder, [key(getattr(made, "func", made))])
    )


@of_calls(*_STEPS)
def steps(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``fit_generator(batches, steps_per_epoch=n)``"""
    given = _batches(call)
    if given is not None and counts_steps(finder, call):
        yield Difference(table.BEHAVIOURS["batches_of_steps"], given, call.node, call.name)


@of_calls(".fit", ".evaluate")
def unknown_lengths(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Datasets that end by themselves, whose batches of one size Keras 3 counts once too often."""
    data = [_batches(call)] if call.name in (".fit", ".evaluate") else []
    owner = finder.values.kind(getattr(call.node.func, "value", call.node))
    if not data or owner not in ("", *MODELS):
        return
    if is_given(steps_of(call.name, call.node)) or call.guarded:
        data = []
    validates = call.name == ".fit" and not is_given(keyword(call.node, "validation_steps"))
    data += [argument(call.node, 7, "validation_data")] if validates else []
    for given in data:
        if given is None or _is_wrapped(given):
            continue
        alone = argument(call.node, 1, "y") is None or given is not _batches(call)
        alone = alone and owner in MODELS
        made = _made(finder, given)
        is_dataset = finder.values.kind(made) == DATASET and _may_be_miscounted(finder, made)
        if is_dataset or (alone and _is_unseen(finder, given)):
            row = table.BEHAVIOURS["unknown_length"]
            yield Difference(row, given, call.node, uncertain=True)  # the running program knows


def _made(finder: Finder, given: ast.expr) -> ast.expr:
    """What is given instead of a function that returns a Dataset: ``fit(input_fn())``."""
    is_called = isinstance(given, ast.Name) and all(
        is_function(finder, one) for one in finder.values.values(given) or [given]
    )
    return ast.Call(given, [], []) if is_called else given


def _may_be_miscounted(finder: Finder, data: Any, depth: int = 9) -> bool:
    """Whether a Dataset may have an unknown length and batches of one size, as far as a file shows it."""
    known_length, any_size = True, True
    while depth:
        depth -= 1
        if isinstance(data, ast.Name):
            made = finder.values.values(data)
            if len(made) != 1:
                return True
            data = made[0]
            continue
        made = _returned(finder, data)
        if made:
            data = made[0]
            continue
        called = finder.values.called.get(id(data), "")
        method = getattr(getattr(data, "func", None), "attr", "")
        if called.startswith("tensorflow."):
            known_length = known_length and method in _OF_KNOWN_LENGTH
            return not (known_length or any_size)
        if not isinstance(data, ast.Call) or not isinstance(data.func, ast.Attribute):
            return True
        known_length = known_length and method in _KEEP_LENGTH
        any_size = any_size and method in (
            *_KEEP_LENGTH,
            "filter",
            "interleave",
            "unbatch",
            "flat_map",
        )
        if method in ("batch", "padded_batch"):
            drops = keyword(data, "drop_remainder")
            any_size = (
                any_size and (drops is None or constant(drops) is False) and len(data.args) < 2
            )
        data = data.func.value
    return True


def _returned(finder: Finder, call: ast.AST) -> list[ast.AST]:
    """What a function of the file returns, where that is one expression."""
    name = getattr(getattr(call, "func", None), "id", "")
    function = finder.names.functions.get(name)
    made: list[ast.AST] = [] if function is None else [*indexes.returned(finder, function.node)]
    return made if len(made) == 1 else []


_OF_KNOWN_LENGTH = frozenset(("from_tensor_slices", "from_tensors", "range"))
#: Methods that leave the length of a Dataset known, and the sizes of its batches as they are.
_KEEP_LENGTH = frozenset(
    (
        *("batch", "cache", "enumerate", "map", "padded_batch", "prefetch", "repeat", "shard"),
        *("shuffle", "skip", "take", "with_options"),
    )
)


def _is_unseen(finder: Finder, given: ast.expr) -> bool:
    """Whether another file, or a parameter, decides what a model is given."""
    made = [given] if isinstance(given, ast.Call) else finder.values.values(given)
    if not made and isinstance(given, ast.Name):
        return given.id in _parameters(finder)
    return bool(made) and all(_is_of_another_file(finder, one) for one in made)


@indexes.once
def _parameters(finder: Finder) -> set[str]:
    return {node.arg for node in indexes.nodes(finder, ast.arg)}


def _is_of_another_file(finder: Finder, made: ast.AST) -> bool:
    called = finder.values.called.get(id(made), "")
    known = called.startswith(("tensorflow.", "keras.", "numpy.", "pandas."))
    return isinstance(made, ast.Call) and "." in called[1:] and not known


@of_calls(".summary")
def summaries(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``model.summary(print_fn=f)`` with a function that takes a line."""
    function = keyword(call.node, "print_fn")
    if call.name == ".summary" and function is not None and not _is_wrapped(function):
        yield Difference(table.BEHAVIOURS["by_line"], function, call.node)


RULES = (
    validation_batches,
    carried_metrics,
    epochs,
    steps,
    validation_steps,
    unknown_lengths,
    summaries,
)
