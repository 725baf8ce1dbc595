"""Losses and metrics named by a text from elsewhere: a function added to the script knows the old names."""

from __future__ import annotations

from typing import Mapping

from tpucompat.commands.analysis.keras_3_rules import (
    COSINES,
    LOSSES,
    METRIC_OBJECTS,
    METRICS,
    Difference,
)
from tpucompat.commands.migrate import keras_3_text as written
from tpucompat.commands.migrate.keras_3_rewriter import Rewriter, Rewriting
from tpucompat.commands.migrate.keras_3_text_training import LOSS_OF, METRIC_OF


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
    made = {name: repr(LOSSES[name]) if name in LOSSES else "cosine_of_angle" for name in names}
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


REWRITINGS: dict[str, Rewriting] = {
    "loss_of_text": _loss_of_text,
    "metric_of_text": _metric_of_text,
}
