"""What the package ``keras`` took otherwise than tf.keras: names/keras1.py, names/standalone_keras.py."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Iterator, Mapping

from tpucompat.commands.analysis.keras_3_rows import ARGUMENTS, BEHAVIOURS
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras
from tpucompat.commands.analysis.rules import of_calls
from tpucompat.names import keras1, standalone_keras
from tpucompat.names.used import Call, constant, keyword

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

_RATES = ("lr", "learning_rate")
_PACKAGE = "keras."


def declared(finder: Finder, call: Call, below: str) -> standalone_keras.Signature | None:
    """How the package declared what a call makes; None where it is of tf.keras, or no other there."""
    of_package = finder.tf1 and standalone_keras.is_of_package(call.name)
    return standalone_keras.signatures().get(below) if of_package else None


@of_calls(below=("optimizers.",))
def package(finder: Finder, call: Call, below: str) -> Iterator[Difference]:
    """Defaults of the package's optimizers, and what its ``clipnorm`` meant."""
    signature = declared(finder, call, below)
    if signature is None or not below.startswith("optimizers."):
        return
    clip = keyword(call.node, "clipnorm")
    if clip is not None and call.name.startswith(_PACKAGE):
        yield Difference(BEHAVIOURS["package_clipnorm"], clip, call.node, "clipnorm", below)
    given = {*signature.order[: len(call.node.args)], *(word.arg for word in call.node.keywords)}
    if {None, *_RATES} & given or any(isinstance(one, ast.Starred) for one in call.node.args):
        given.update(_RATES)  # or nobody sees
    for name, value in _defaults(below):
        if name not in given:
            yield Difference(
                BEHAVIOURS["package_default"], call.node, call.node, f"{name}={value}", below
            )


def rate_beside_settings(finder: Finder, name: str, call: ast.Call) -> object:
    """The package's rate of ``Adagrad(**settings)``, which may give none; None where tf.keras has the same.

    Args:
      finder: Knows the era of the script.
      name: The full name of the class.
      call: What makes the optimizer.
    """
    below = below_keras(name)
    signature = declared(finder, Call(name, call, None, False), below)
    if signature is None or not is_settings(call):
        return None
    return signature.defaults.get("lr")


def is_settings(call: ast.Call) -> bool:
    """Whether only a dictionary of a call may have a rate."""
    words = {word.arg for word in call.keywords}
    return None in words and not call.args and words.isdisjoint(_RATES)


def optimizer_of(word: str) -> str:
    """``Adadelta(learning_rate=1.0)``, what the package made of a text; "" where tf.keras makes the same."""
    for below in standalone_keras.signatures():
        last = below.rpartition(".")[2]
        defaults = ", ".join(f"{name}={value}" for name, value in _defaults(below))
        if below.startswith("optimizers.") and last.lower() == word.lower() and defaults:
            return f"{last}({defaults})"
    return ""


def _defaults(below: str) -> Iterator[tuple[str, object]]:
    signature = standalone_keras.signatures()[below]
    added = standalone_keras.ADDED.get(below, {})
    for name, value in {**signature.defaults, **added}.items():
        yield ("learning_rate" if name == "lr" else name), value


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
    sides = len(standalone_keras.SIDES.get(last, ()))
    given: list[Any] = call.node.args
    are_sides = len(given) == sides + 1 > 1 and all(_is_number(one) for one in given[1:])
    if call.name.startswith(_PACKAGE) and are_sides:
        yield Difference(BEHAVIOURS["sides"], given[1], call.node, "", below, call.guarded)


def _is_number(node: ast.AST) -> bool:
    # A name may stand for a tuple; a script that has two of them in a row means two numbers.
    return isinstance(constant(node), int) or isinstance(node, ast.Name)


#: What :mod:`tpucompat.commands.analysis.keras_3` asks of each call.
RULES = (keras_1, package)
