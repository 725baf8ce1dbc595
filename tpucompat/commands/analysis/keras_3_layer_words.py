"""Activations, initializers, regularizers and constraints of layers by the names of Keras 2.

A text that stands in the call is replaced there. One from elsewhere may also be printed, compared or be a part
of a name: the call alone then looks it up, by a function added to the script.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Iterator

from tpucompat.commands.analysis import keras_3_unseen
from tpucompat.commands.analysis.keras_3_rows import BEHAVIOURS
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_3_texts import far, leaves
from tpucompat.commands.analysis.rules import of_calls
from tpucompat.names.used import Call, constant

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_HARD_SIGMOID = "hard_sigmoid"
#: What an argument ends with -> words that Keras 3 no longer knows, or that mean something else, and what
#: becomes of them: a word, a function, or nothing.
WORDS = {
    "activation": {_HARD_SIGMOID: _HARD_SIGMOID},
    "initializer": {"constant": "zeros", "Constant": "zeros"},
    "regularizer": {"l1_l2": ""},
    "constraint": {"maxnorm": "max_norm", "nonneg": "non_neg", "unitnorm": "unit_norm"},
}

#: Layers -> the place of their activation, where it is usually given without its name.
_PLACES = {"Activation": 0, "Dense": 1}


@of_calls(below=("layers.",))
def words(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """``kernel_constraint='maxnorm'``, ``Activation('hard_sigmoid')``"""
    if not below.startswith("layers."):
        return
    for given in call.node.keywords:
        kind = (given.arg or "").rpartition("_")[2]
        if kind in WORDS:
            yield from of_value(finder, call, kind, given.value)
    activation = _PLACES.get(below.rpartition(".")[2])
    for place, value in enumerate(call.node.args):
        if place == activation or isinstance(value, ast.Constant):
            yield from of_value(finder, call, "activation", value)


def of_value(finder: Finder, call: Call, kind: str, value: ast.expr) -> Iterator[Difference]:
    """The differences of what one argument is given.

    Args:
      kind: What the argument is: a key of `WORDS`.
    """
    known = WORDS[kind]
    elsewhere = list(far(finder, value))
    for text in leaves(finder, value):
        now = known.get(constant(text))
        if now == "" or (now and text not in elsewhere):
            row = BEHAVIOURS["word"]._replace(how="text" if now else "")
            if kind == "activation":
                row = BEHAVIOURS[_HARD_SIGMOID]
            yield Difference(row, text, call.node, "text" if kind == "activation" else now)
    told = {one for one in known if known[one]}
    unseen = keras_3_unseen.words(finder, value, told, told if finder.tf1 else set())
    if unseen or any(constant(text) in told for text in elsewhere):
        yield Difference(BEHAVIOURS["word_of_text"], value, call.node, kind)
