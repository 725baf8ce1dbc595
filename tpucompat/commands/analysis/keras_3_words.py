"""Optimizers and metrics that a program names by a text, wherever the text comes from.

For some texts, TensorFlow 1 made another optimizer than Keras 3 does (``keras_3_rows.WORDS``). The text is
followed through assignments, conditional expressions, loops, parameters and dictionaries. What comes from
elsewhere, as from the command line, may be any text.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, AbstractSet, Iterator, Mapping

from tpucompat.commands.analysis import (
    indexes,
    keras_1_rules,
    keras_3_custom_objects,
    keras_3_elsewhere,
    keras_3_losses,
    keras_3_optimizers,
    keras_3_unseen,
)
from tpucompat.commands.analysis.keras_3_rows import BEHAVIOURS, WORDS
from tpucompat.commands.analysis.keras_3_rules import (
    COSINES,
    LOSSES,
    METRIC_OBJECTS,
    METRIC_WORDS,
    METRICS,
    Difference,
    parts,
)
from tpucompat.commands.analysis.keras_3_settings import words
from tpucompat.commands.analysis.keras_3_texts import item, leaves
from tpucompat.commands.analysis.keras_values import OPTIMIZER, key
from tpucompat.commands.analysis.rules import of_calls
from tpucompat.names import standalone_keras
from tpucompat.names.used import Call, argument, constant, walk

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_NADAM = "nadam"
_METRICS = ((2, "metrics"), (5, "weighted_metrics"))


@of_calls(".compile", below=("optimizers.",))
def optimizers(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """What ``compile`` and ``optimizers.get`` take for an optimizer."""
    if below.startswith("optimizers.") and below.endswith((".deserialize", ".get", ".from_config")):
        yield from _of_config(finder, call)
    if call.name != ".compile" and below != "optimizers.get":
        return
    given = argument(call.node, 0, "optimizer" if call.name == ".compile" else "identifier")
    # Early TensorFlow 2 started Adagrad's sums as Keras 3 does; its RMSprop was that of TensorFlow 1.
    known = made_of(finder) if finder.tf1 else {"rmsprop": WORDS["rmsprop"]}
    if given is None:
        yield from _of_settings(finder, call, known)
    elif id(given) not in indexes.inside(finder, getattr(call.node, "real", call.node)):
        return  # of a dictionary, which the call itself asks
    elif isinstance(constant(given), str):
        word = constant(given).lower()
        if word in known:
            of_package = known[word] != WORDS.get(word)
            row = BEHAVIOURS["package_word" if of_package else "optimizer_word"]
            yield Difference(row, given, call.node, known[word])
    else:
        is_made = OPTIMIZER in finder.values.kinds(given)  # where not another call gives a text
        found = _words(finder, given, known.keys(), is_made)
        if found & known.keys():
            names = " ".join(sorted(found & known.keys()))
            yield Difference(BEHAVIOURS["optimizer_of_text"], given, call.node, names)
        if _NADAM in found:
            yield Difference(BEHAVIOURS["nadam"], given, call.node)


def differences(finder: Finder) -> Iterator[Difference]:
    """Names of functions of the script's own, and the optimizers of dictionaries of classes."""
    yield from keras_3_custom_objects.differences(finder)


def compiled(finder: Finder) -> Iterator[Difference]:
    """The texts that models are compiled with for losses and metrics."""
    for call in indexes.calls(finder.names, ".compile"):
        yield from keras_3_elsewhere.differences(finder, call)
        for position, word in _METRICS:
            value = argument(call.node, position, word)
            for metric in parts(value):
                found = keras_3_losses.unaligned(finder, call, metric)
                if found is not None:
                    yield found
            inside = {id(node) for node in walk(value)} if value is not None else set()
            for text in keras_3_elsewhere.metrics(finder, value):
                yield from _metric(finder, call, text, constant(text), id(text) in inside)
        loss = argument(call.node, 1, "loss")
        inside = {id(node) for node in walk(loss)} if loss is not None else set()
        for text in keras_3_elsewhere.losses(finder, loss):
            if id(text) not in inside:
                continue  # the call alone looks it up
            if constant(text) in LOSSES:
                yield Difference(BEHAVIOURS["loss_name"], text, call.node, LOSSES[constant(text)])
            elif constant(text) in COSINES:
                yield Difference(BEHAVIOURS["cosine"], text, call.node)


def _metric(
    finder: Finder, call: Call, text: ast.AST, word: str, is_inside: bool
) -> Iterator[Difference]:
    if word in METRIC_OBJECTS and is_inside:
        row = BEHAVIOURS["metric_word" if word in METRIC_WORDS else "metric_object"]
        yield Difference(row, text, call.node, METRIC_OBJECTS[word])
        return
    name = METRICS.get(word, "acc" if word == "acc" else "")
    other = keras_3_losses.accuracy(finder, call, text) if name == "acc" else None
    if other is not None:
        yield Difference(other, text, call.node, "BinaryAccuracy('acc')")
    if is_inside and word != "acc" and not (other and other.how):
        yield Difference(BEHAVIOURS["metric_name"], text, call.node, name)


@indexes.once
def made_of(finder: Finder) -> Mapping[str, str]:
    """A text -> the optimizer that the file's Keras made of it, where Keras 3 makes another."""
    if not any(use.name.partition(".")[0] == "keras" for use in finder.names.uses):
        return WORDS
    signatures = (name.rpartition(".") for name in standalone_keras.signatures())
    words = [last.lower() for package, _, last in signatures if package == "optimizers"]
    of_package = {word: keras_1_rules.optimizer_of(word) for word in words}
    return {**WORDS, **{word: made for word, made in of_package.items() if made}}


def _of_config(finder: Finder, call: Call) -> Iterator[Difference]:
    """``deserialize({'class_name': 'SGD', 'config': {'lr': 0.1}})`` and ``SGD.from_config({'lr': 0.1})``"""
    given = call.node.args[0] if call.node.args else None
    for one in leaves(finder, given) if given is not None else ():
        name = item(one, "class_name")
        known = WORDS.keys() | {_NADAM}
        for word in _words(finder, name, known, False) & known if name is not None else ():
            row = BEHAVIOURS["optimizer_word" if word in WORDS else _NADAM]
            yield Difference(row._replace(how=""), name, call.node)
        config = one if name is None else item(one, "config")
        for settings in leaves(finder, config) if config is not None else ():
            yield from keras_3_optimizers.old_names(settings, call)


def _of_settings(finder: Finder, call: Call, known: Mapping[str, str]) -> Iterator[Difference]:
    """``compile(**settings)``, whose dictionary would hold one optimizer for all models."""
    row = BEHAVIOURS["optimizer_of_text"]._replace(how="optimizer_of_settings")
    for settings in (word.value for word in call.node.keywords if word.arg is None):
        if isinstance(settings, (ast.Dict, ast.Call)):
            continue  # which this call alone has
        given = [word for one in leaves(finder, settings) for word in words(finder, one)]
        found = {str(constant(one.value)).lower() for one in given if one.arg == "optimizer"}
        if key(settings) in keras_3_unseen.changed(finder):
            found |= {text.lower() for text in keras_3_unseen.texts(finder)}
            if _lists_other_metrics(finder):
                yield Difference(BEHAVIOURS["metric_of_text"]._replace(how=""), settings, call.node)
        if found & known.keys():
            names = " ".join(sorted(found & known.keys()))
            yield Difference(row, settings, call.node, names)


@indexes.once
def _lists_other_metrics(finder: Finder) -> bool:
    """Whether the script lists metrics by names of Keras 2 that are not seen to reach a model."""
    seen = {
        id(text)
        for call in indexes.calls(finder.names, ".compile")
        for place, word in _METRICS
        for text in keras_3_elsewhere.metrics(finder, argument(call.node, place, word))
    }
    known = {*METRICS, *METRIC_OBJECTS} if finder.tf1 else {*METRIC_WORDS}
    listed = (one for node in indexes.nodes(finder, ast.List, ast.Tuple) for one in node.elts)
    return any(constant(one) in known and id(one) not in seen for one in listed)


def _words(finder: Finder, node: ast.AST, known: AbstractSet[str], is_made: bool) -> set[str]:
    """The texts that an expression may be, in small letters; of those that are not seen, the known ones."""
    found = {constant(one) for one in leaves(finder, node)}
    if not is_made:
        told = {*known, _NADAM}
        spelt = {text for text in keras_3_unseen.texts(finder) if text.lower() in told}
        usual = known if finder.tf1 else set()
        found |= keras_3_unseen.words(finder, node, told | spelt, usual)
    return {text.lower() for text in found if isinstance(text, str)}
