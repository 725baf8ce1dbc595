"""The arguments of Keras 1, which standalone Keras translated until 2.3: see names/keras1.py."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Iterator, Mapping

from tpucompat.commands.analysis.keras_3_rows import ARGUMENTS, BEHAVIOURS
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.names import keras1
from tpucompat.names.used import Call, constant

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_TWO_SIDES = frozenset(("Conv2D", "Conv2DTranspose", "SeparableConv2D"))


def names_of(below: str, name: str) -> Mapping[str, str]:
    """Old argument -> the new one, of a class or method of Keras."""
    if name.startswith("."):
        return keras1.METHODS.get(name[1:], {})
    last = below.rpartition(".")[2]
    if last == "Model":
        return keras1.MODEL
    if not below.startswith("layers."):
        return {}
    last = last.replace("Convolution", "Conv")
    last = re.sub(r"Pool(?!ing)", "Pooling", last).replace("AvgPooling", "AveragePooling")
    return keras1.LAYERS.get(last, {})


def keras_1(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Arguments under their names of Keras 1, and the sides of a kernel one by one."""
    names = names_of(below, call.name)
    for word in call.node.keywords:
        is_known = word.arg in names and (f"Model{call.name}", word.arg) not in ARGUMENTS
        if is_known and constant(word.value) not in keras1.REFUSED.get(word.arg or "", ()):
            yield Difference(
                BEHAVIOURS["keras_1"], word.value, call.node, word.arg or "", below, call.guarded
            )
    # tf.keras took the third argument for the strides.
    last = below.rpartition(".")[2].replace("Convolution", "Conv")
    given: list[Any] = call.node.args
    are_sides = len(given) == 3 and all(_is_number(one) for one in given[1:])
    if call.name.startswith("keras.") and last in _TWO_SIDES and are_sides:
        yield Difference(BEHAVIOURS["sides"], given[1], call.node, "", below, call.guarded)


def _is_number(node: ast.AST) -> bool:
    # A name may stand for a tuple; a script that has two of them in a row means two numbers.
    return isinstance(constant(node), int) or isinstance(node, ast.Name)
