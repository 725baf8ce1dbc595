"""Losses and metrics named by a text from elsewhere: of a class, a command line, a file, another function.

What ``compile`` is given may then be any text, or a function. A function added to the script knows the texts
that mean another loss or metric in Keras 3, and leaves everything else as it is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, AbstractSet, Iterator

from tpucompat.commands.analysis import keras_3_losses, keras_3_unseen
from tpucompat.commands.analysis.keras_3_rows import BEHAVIOURS
from tpucompat.commands.analysis.keras_3_rules import (
    COSINES,
    LOSSES,
    METRIC_OBJECTS,
    METRIC_WORDS,
    METRICS,
    Difference,
    parts,
)
from tpucompat.commands.analysis.keras_3_texts import leaves
from tpucompat.names.used import Call, argument, constant, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder


def differences(finder: Finder, call: Call) -> Iterator[Difference]:
    """The losses and metrics of a ``compile`` whose texts are not all seen."""
    words = {*LOSSES, *(COSINES if finder.tf1 else ())}
    # What a script of TensorFlow 2 is given from outside it may well be written for Keras 3.
    usual = words if finder.tf1 else set()
    for one in parts(argument(call.node, 1, "loss")):
        names = keras_3_unseen.words(finder, one, words, usual)
        inside = {id(node) for node in walk(one)}
        names |= {constant(text) for text in losses(finder, one) if id(text) not in inside}
        names |= keras_3_losses.of_several_activations(finder, call, one)
        if names:
            yield Difference(BEHAVIOURS["loss_of_text"], one, call.node, " ".join(sorted(names)))
    words = {*METRICS, *METRIC_OBJECTS} if finder.tf1 else {*METRIC_WORDS}
    # As a class has a name of its own, it is known to be a text only where the script says so.
    usual = {word for word in words if word.islower() and finder.tf1}
    for position, name in ((2, "metrics"), (5, "weighted_metrics")):
        for one in parts(argument(call.node, position, name)):
            names = keras_3_unseen.words(finder, one, words, usual)
            inside = {id(node) for node in walk(one)}
            texts = (text for text in metrics(finder, one) if id(text) not in inside)
            names |= {constant(text) for text in texts} & words
            if names:
                row = BEHAVIOURS["metric_of_text"]
                yield Difference(row, one, call.node, " ".join(sorted(names)))


def losses(finder: Finder, value: ast.AST | None) -> Iterator[ast.AST]:
    """The texts that losses are named by, of what ``compile`` takes for them, that Keras 3 does not know."""
    return _texts(finder, value, {*LOSSES, *COSINES})


def metrics(finder: Finder, value: ast.AST | None) -> Iterator[ast.AST]:
    """The texts that metrics are named by, of what ``compile`` takes for them."""
    return _texts(finder, value, {*METRICS, *METRIC_OBJECTS, "acc"})


def _texts(finder: Finder, value: ast.AST | None, known: AbstractSet[str]) -> Iterator[ast.AST]:
    for part in parts(value):
        for one in leaves(finder, part):
            if isinstance(one, (ast.Dict, ast.List, ast.Tuple)):
                yield from _texts(finder, one, known)
            elif constant(one) in known:
                yield one
