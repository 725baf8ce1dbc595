"""What the package ``keras`` (2.2.4) took otherwise than ``tf.keras`` of TensorFlow 1.15, and who means it.

Both are one Keras here. A call has the package's arguments where the module around it has imported ``keras``,
unless its text takes the name from TensorFlow.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
from typing import Any, Mapping, NamedTuple

from tpucompat.names import scope, tables, used


class Signature(NamedTuple):
    """How the package declared a class or method.

    Attributes:
      order: Its arguments by position, without ``self``.
      defaults: Argument -> its default, where ``tf.keras`` has another one.
    """

    order: tuple[str, ...]
    defaults: Mapping[str, Any]


#: What ``tf.keras`` adds to a class, and the value with which it computes as the package did.
ADDED: Mapping[str, Mapping[str, Any]] = {
    "optimizers.Adagrad": {"initial_accumulator_value": 0.0},
}
#: The package clipped the norm of all gradients together by this argument, tf.keras that of each.
RENAMED: Mapping[str, str] = {"clipnorm": "global_clipnorm"}

#: Layer -> the sides of its kernel, which Keras 1 took one by one; the package made a tuple of them.
SIDES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("Conv2D", "Conv2DTranspose", "SeparableConv2D", "LocallyConnected2D", "ConvLSTM2D"),
        ("nb_row", "nb_col"),
    ),
    "Conv3D": ("kernel_dim1", "kernel_dim2", "kernel_dim3"),
}


#: Where TensorFlow 1.15 had the package's optimizers.
PRIVATE_OPTIMIZERS = "tensorflow.python.keras.optimizers."


def is_of_package(name: str) -> bool:
    """Whether what has a full name takes the package's arguments."""
    return name.startswith(("keras.", PRIVATE_OPTIMIZERS))


@functools.lru_cache(maxsize=None)
def signatures() -> Mapping[str, Signature]:
    """Class or method of Keras -> how the package declared it."""
    path = os.path.join(os.path.dirname(tables.__file__), "keras_standalone.txt")
    found = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.startswith("#"):
                continue
            name, *arguments = line.split()
            pairs = [argument.partition("=") for argument in arguments]
            defaults = {word: ast.literal_eval(value) for word, equals, value in pairs if equals}
            found[name] = Signature(tuple(word for word, _, _ in pairs), defaults)
    return found


def is_meant(frame: Any, name: str) -> bool:
    """Whether a call has the package's arguments; a line that calls both Keras' ``name`` means the package.

    A method of a model is of the package, unless all models of the module are made from TensorFlow's.

    Args:
      frame: The frame of the caller, or one of ours below it.
      name: The last name of what is called.
    """
    while frame is not None and _is_ours(frame.f_globals):
        frame = frame.f_back
    if frame is None:
        return False
    if frame.f_globals.get("__name__") not in scope.current().importers_of_keras:
        return False
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    calls = _calls("".join(lines))
    names = calls.get((name, frame.f_lineno)) or _makers_of_models(calls)
    return not names or "keras" in names


def _makers_of_models(calls: Mapping[tuple[str, int], set[str]]) -> set[str]:
    made = (packages for (last, _), packages in calls.items() if last in ("Sequential", "Model"))
    return set().union(*made)


def _is_ours(module: Mapping[str, Any]) -> bool:
    name = str(module.get("__name__"))
    return name.partition(".")[0] == "tpucompat" and name != scope.OPERATORS


@functools.lru_cache(maxsize=64)
def _calls(text: str) -> Mapping[tuple[str, int], set[str]]:
    """Last name and line of each call in a module -> the packages that the name is taken from."""
    names = used.Names()
    try:
        names.add(ast.parse(text))
    except SyntaxError:  # a cell with commands of the shell
        return {}
    found: dict[tuple[str, int], set[str]] = {}
    for call in names.calls:
        package, _, below = call.name.partition(".")
        if package not in used.FOLLOWED:  # a function of the script, or any object's method
            continue
        first = call.node.lineno
        for line in range(first, (getattr(call.node, "end_lineno", None) or first) + 1):
            found.setdefault((below.rpartition(".")[2], line), set()).add(package)
    return found
