"""Losses and metrics named by a text from elsewhere: a function added to the script knows the old names."""

from __future__ import annotations

import ast
from typing import Mapping

from tpucompat.commands.analysis.keras_3_layer_words import WORDS
from tpucompat.commands.analysis.keras_3_losses import CROSSENTROPIES
from tpucompat.commands.analysis.keras_3_rules import (
    COSINES,
    LOSSES,
    METRIC_OBJECTS,
    METRICS,
    Difference,
)
from tpucompat.commands.migrate import keras_3_text as written
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter, Rewriting
from tpucompat.commands.migrate.keras_3_text_training import (
    ACCURACY_OF,
    CROSSENTROPY_BY_ACTIVATION,
    LOSS_OF,
    METRIC_OF,
    WORD_OF,
)
from tpucompat.names.used import argument


def _names(self: Rewriter, one: Difference) -> list[str]:
    """The names that some of the script's models may be compiled with."""
    found = {name for each in self.found if each.row is one.row for name in each.name.split()}
    return sorted(found)


def _wrap(
    self: Rewriter, one: Difference, function: str, template: str, made: Mapping[str, str]
) -> bool:
    lines = "".join(f"{{i}}{{i}}'{name}': {text},\n" for name, text in made.items())
    defined = self.define(function, template.replace("LINES", lines))
    return defined and self.wrap(one.node, f"{function}(", ")")


def _loss_of_text(self: Rewriter, one: Difference) -> bool:
    names = _names(self, one)
    if COSINES.intersection(names) and not self.define("cosine_of_angle", written.COSINE):
        return False
    if CROSSENTROPIES.intersection(names):
        name = "binary_crossentropy_of_probabilities"
        if not self.define(name, written.BINARY_CROSSENTROPY):
            return False
        if not self.define("crossentropy_by_activation", CROSSENTROPY_BY_ACTIVATION):
            return False
    made = {
        name: repr(LOSSES[name])
        if name in LOSSES
        else f"crossentropy_by_activation('{name}')"
        if name in CROSSENTROPIES
        else "cosine_of_angle"
        for name in names
    }
    return _wrap(self, one, "loss_of", LOSS_OF, made)


def _metric_of_text(self: Rewriter, one: Difference) -> bool:
    metrics = self.context.local("tf.keras.metrics")
    made = {
        name: f"lambda: {metrics}.{METRIC_OBJECTS[name]}"
        if name in METRIC_OBJECTS
        else f"lambda: '{METRICS[name]}'"
        for name in _names(self, one)
    }
    return _wrap(self, one, "metric_of", METRIC_OF, made)


def _accuracy_of_loss(self: Rewriter, one: Difference) -> bool:
    given = argument(one.call, 1, "loss") if isinstance(one.call, ast.Call) else None
    if given is None:
        return False
    cell = self.cell(one.node)
    loss = self.context.texts[cell].source(given)
    defined = self.define("accuracy_of", ACCURACY_OF)
    return defined and self.context.replace(one.node, cell, f"accuracy_of({loss})")


def _word_of_text(self: Rewriter, one: Difference) -> bool:
    if one.name == "activation" and not self.define("hard_sigmoid", written.HARD_SIGMOID):
        return False
    known = {old: new for old, new in WORDS[one.name].items() if new}
    lines = "".join(
        f"{{i}}{{i}}'{old}': {new if one.name == 'activation' else repr(new)},\n"
        for old, new in known.items()
    )
    function = f"{one.name}_of"
    template = WORD_OF.replace("LINES", lines).replace("KIND", one.name)
    return self.define(function, template) and self.wrap(one.node, f"{function}(", ")")


REWRITINGS: dict[str, Rewriting] = {
    "loss_of_text": _loss_of_text,
    "accuracy_of_loss": _accuracy_of_loss,
    "word_of_text": _word_of_text,
    "metric_of_text": _metric_of_text,
}
