"""Tables of embeddings: what an optimizer makes of the gradients of some rows of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Callable, Iterator

from tpucompat.commands.analysis import indexes, keras_values
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras
from tpucompat.names import standalone_keras
from tpucompat.names.used import Call, argument, constant, keyword

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder


def embeddings(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Gradients of some rows of a table, and masks of the steps of sequences."""
    masks = below == "layers.Masking" or constant(keyword(call.node, "mask_zero")) is True
    if masks and "layers.TimeDistributed" in indexes.of_keras(finder.names):
        yield Difference(table.BEHAVIOURS["masked_outputs"], call.node, call.node)
    if below == "layers.Embedding" and _may_square(finder):
        yield Difference(table.BEHAVIOURS["embedding"], call.node.func, call.node)


@indexes.once
def _may_square(finder: Finder) -> bool:
    """Whether an optimizer that keeps squares trains models of a file; another file may train them."""
    calls = finder.names.calls
    if any(_squares(one) and not (finder.early and steps_rows(one)) for one in calls):
        return True
    if any(finder.values.kind(one.node) == keras_values.OPTIMIZER for one in calls):
        return False
    trains = [one for one in calls if one.name in (".compile", ".apply_gradients")]
    given = [argument(one.node, 0, "optimizer") for one in trains if one.name == ".compile"]
    return not trains or any(one is not None and not _is_made_here(finder, one) for one in given)


def _is_made_here(finder: Finder, optimizer: ast.AST) -> bool:
    """Whether a file shows which optimizer is meant: by a word, or by a class of a library."""
    made = [optimizer] if isinstance(optimizer, ast.Call) else finder.values.values(optimizer)
    return constant(optimizer) is not None or (
        bool(made)
        and all(
            constant(one) is not None or "." in finder.values.called.get(id(one), "").lstrip(".")
            for one in made
        )
    )


def _squares(call: Call) -> bool:
    """Whether an optimizer is made that keeps squares of gradients."""
    head, _, last = call.name.rpartition(".")
    if head in ("tensorflow.train", "tensorflow.compat.v1.train"):
        return last.endswith("Optimizer") and last not in (
            *("GradientDescentOptimizer", "MomentumOptimizer"),
        )
    below = below_keras(call.name)
    if below.startswith("optimizers."):
        return below.rpartition(".")[2] in _SQUARING
    word = _word(call) if call.name == ".compile" else ""
    return word.lower() in {one.lower() for one in _SQUARING}


_SQUARING = frozenset(
    ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Nadam", "RMSprop")
)


_TRAIN = ("tensorflow.train", "tensorflow.compat.v1.train")
#: Optimizers that left rows without a gradient alone -> the place of the momentum without which today's do too,
#: or 0; found by training a table with every optimizer of 1.15.
_BY_ROWS = {"Adadelta": 0, "Adamax": 0, "Ftrl": 0, "RMSprop": 2, "SGD": 1}
_TRAIN_BY_ROWS = frozenset(
    f"{name}Optimizer" for name in ("Adadelta", "Ftrl", "Momentum", "RMSProp")
)


def steps_rows(call: Call) -> bool:
    """Whether an optimizer of TensorFlow 1 is made that steps no row of a table but those of the batch."""
    if call.name == ".compile":
        return _BY_ROWS.get(_word(call)) == 0
    head, _, last = call.name.rpartition(".")
    if head in _TRAIN:
        return last in _TRAIN_BY_ROWS
    if standalone_keras.is_of_package(call.name) or call.name.startswith(
        standalone_keras.PRIVATE_OPTIMIZERS
    ):
        return False  # these had no rule for tables
    below = below_keras(call.name)
    place = _BY_ROWS.get(below.rpartition(".")[2]) if below.startswith("optimizers.") else None
    if not place:
        return place == 0
    momentum = argument(call.node, place, "momentum")
    return momentum is not None and constant(momentum) not in (0, 0.0)


def _word(compiled: Call) -> str:
    """``Adamax`` of ``compile('adamax')``; None or an expression has no such name."""
    return str(constant(argument(compiled.node, 0, "optimizer"))).capitalize()


def has_tables(names: object) -> bool:
    """Whether a file makes a table of embeddings."""
    return "layers.Embedding" in indexes.of_keras(names)


def optimizers(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Optimizers of Keras that step a table."""
    if not finder.early or not has_tables(finder.names):
        return
    row = table.BEHAVIOURS["by_rows"]
    if below.startswith("optimizers.") and steps_rows(call):
        if id(call.node) not in finder.wrapped:
            yield Difference(row, call.node, call.node)
    elif (
        call.name == ".compile"
        and steps_rows(call)
        and not any(map(standalone_keras.is_of_package, indexes.called_names(finder.names)))
    ):
        yield Difference(row, argument(call.node, 0, "optimizer"), call.node, _word(call))


RULES: tuple[Callable[[Finder, Call, str], Iterator[Difference]], ...] = (embeddings, optimizers)
