"""Random numbers that Keras 3 draws otherwise: of a seed, and of an initializer of several weights."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator

from tpucompat.commands.analysis import indexes
from tpucompat.commands.analysis import keras_3_rows as table
from tpucompat.commands.analysis.keras_3_rules import Difference
from tpucompat.commands.analysis.keras_values import below_keras
from tpucompat.names.used import Call, argument, constant, is_given

if TYPE_CHECKING:
    from tpucompat.commands.analysis.keras_3 import Finder

#: Where initializers have their seed in 1.15, if it is not the first argument.
_PLACES = {
    **dict.fromkeys(("RandomNormal", "RandomUniform", "TruncatedNormal", "normal", "uniform"), 2),
    **dict.fromkeys(("random_normal", "random_uniform", "truncated_normal"), 2),
    **dict.fromkeys(("Orthogonal", "orthogonal", "uniform_unit_scaling"), 1),
    **dict.fromkeys(("VarianceScaling", "variance_scaling"), 3),
}
#: Layers and functions of 1.15 that take one, and where.
_OTHERS = {
    **dict.fromkeys(("layers.Dropout", "layers.AlphaDropout"), 2),
    **dict.fromkeys(("backend.dropout", "backend.random_binomial"), 3),
    **dict.fromkeys(
        ("backend.random_normal", "backend.random_uniform", "backend.truncated_normal"), 4
    ),
    **dict.fromkeys(("backend.random_normal_variable", "backend.random_uniform_variable"), 5),
}
#: Initializers that draw nothing.
_CONSTANT = frozenset(("zeros", "ones", "constant", "identity", "zero", "one"))
_FUNCTIONS = frozenset(("get", "serialize", "deserialize"))
_INITIALIZERS = "tensorflow.initializers."
_OF_TENSORFLOW = frozenset(
    f"tensorflow.{name}"
    for name in ("set_random_seed", "random.set_random_seed", "compat.v1.set_random_seed")
)


def differences(finder: Finder) -> Iterator[Difference]:
    """The first seed of a file that makes layers, each seed of TensorFlow's, and shared initializers."""
    if not finder.tf1 or not any(
        below_keras(call.name).startswith(("layers.", "Model", "Sequential", "applications."))
        for call in finder.names.calls
    ):
        return
    seeds = [call for call in finder.names.calls if _is_seed(finder, call)]
    for call in sorted(seeds, key=_position)[:1]:
        yield Difference(table.BEHAVIOURS["seeded"], call.node, call.node)
    seeds_python = any(call.name == "random.seed" for call in finder.names.calls)
    for call in seeds if not seeds_python else ():
        if call.name in _OF_TENSORFLOW:
            yield Difference(table.BEHAVIOURS["python_seed"], call.node, call.node)
    for call in finder.names.calls:
        yield from _shared(finder, call)


def _position(call: Call) -> tuple[int, int]:
    return call.node.lineno, call.node.col_offset


@indexes.once
def _shuffles_any(finder: Finder) -> bool:
    return any(_shuffles(one) for one in finder.names.calls)


def _is_seed(finder: Finder, call: Call) -> bool:
    """Whether a call has a seed of random numbers that Keras or TensorFlow draws."""
    if call.name in _OF_TENSORFLOW:
        return True
    if call.name == "numpy.random.seed":
        return _shuffles_any(finder)
    below, last = below_keras(call.name), call.name.rpartition(".")[2]
    is_old = call.name.startswith("tensorflow.") and last.endswith("_initializer")
    if is_old or below.startswith("initializers.") or call.name.startswith(_INITIALIZERS):
        return _has_seed(call.node, last.replace("_initializer", ""))
    return below in _OTHERS and is_given(argument(call.node, _OTHERS[below], "seed"))


def _has_seed(call: ast.Call, name: str) -> bool:
    """Whether an initializer of a name is given a seed."""
    return not _is_fixed(name) and is_given(argument(call, _PLACES.get(name, 0), "seed"))


def _is_fixed(name: str) -> bool:
    return name.lower() in _CONSTANT or name in _FUNCTIONS


def _shuffles(call: Call) -> bool:
    """Whether ``fit`` may order arrays by NumPy's random numbers."""
    words = {word.arg for word in call.node.keywords}
    of_arrays = words & {"batch_size", "epochs"} and "steps_per_epoch" not in words
    return (
        call.name == ".fit"
        and bool(of_arrays)
        and constant(argument(call.node, 9, "shuffle")) is not False
    )


# Initializers ---------------------------------------------------------------------------------------


def _shared(finder: Finder, call: Call) -> Iterator[Difference]:
    """An initializer by its name, where a layer or a weight gets it."""
    for word in call.node.keywords:
        named = isinstance(word.value, (ast.Name, ast.Attribute))
        if named and (word.arg or "").endswith("initializer"):
            made: list[Any] = finder.values.values(word.value)
            if made and all(_draws(finder, one) for one in made):
                row = table.BEHAVIOURS["shared_initializer"]
                yield Difference(row, word.value, call.node)


def _draws(finder: Finder, made: ast.Call) -> bool:
    """Whether an expression makes an object that draws random numbers without a seed."""
    below = below_keras(finder.values.called.get(id(made), ""))
    package, _, last = below.rpartition(".")
    if package != "initializers":
        return False
    if last == "get":
        text = constant(argument(made, 0, "identifier"))
        return isinstance(text, str) and text.lower() not in _CONSTANT
    return not _is_fixed(last) and not _has_seed(made, last)
