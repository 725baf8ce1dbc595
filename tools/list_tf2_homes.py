"""Writes what to write in TensorFlow 2 for each public symbol of TensorFlow 1.15.

    python tools/list_tf2_homes.py > tpucompat/names/tables/tf2_homes.txt

Run it with the latest TensorFlow, Keras 3 and tf-keras. Each symbol of ``tf115_symbols.txt`` outside of
``tf.contrib`` is looked up in ``tf.compat.v1`` and in ``tf``; what is the very same object there needs no
change, so a line is written for the others only:

    NAME renamed TARGET             the same object under another name
    NAME changed TARGET OLD NEW     the name means something else now; the parameters then and now, or -
    NAME v1 TARGET                  only tf.compat.v1 has it
    NAME keras2 TARGET              only tf.compat.v1 has it, and only with tf-keras as its Keras
    NAME gone -                     neither has it
"""

from __future__ import annotations

import inspect
import os
import sys
import types
import warnings
from typing import Any, Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import tensorflow as tf  # noqa: E402

from tpucompat.names import symbols  # noqa: E402

HEADER = """\
# What TensorFlow {version} has for the public symbols of TensorFlow 1.15; a symbol without a line is the
# same. Written by tools/list_tf2_homes.py, which describes the lines; do not edit.
"""
MISSING = object()
SEEN_MODULES = ("compat", "keras", "estimator", "contrib")
# Layers that are Keras 2's own: Keras 3 refuses them (tensorflow/python/layers/layers.py, 2.16).
OF_KERAS_2 = ("layers.", "nn.rnn_cell.")


def find(root: Any, name: str) -> Any:
    """The value of a dotted name, or the mark for none."""
    value = root
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except Exception:
            return MISSING
    return value


def names_of_today() -> dict[int, list[str]]:
    """The identity of each public object of ``tf`` -> its names."""
    found: dict[int, list[str]] = {}
    waiting: list[tuple[str, Any]] = [("", tf)]
    while waiting:
        prefix, module = waiting.pop()
        for name in dir(module):
            if name.startswith("_") or (not prefix and name in SEEN_MODULES):
                continue
            value = find(module, name)
            if isinstance(value, types.ModuleType):
                if "_api" in value.__name__:
                    waiting.append((prefix + name + ".", value))
            elif not isinstance(value, (int, float, str, bool, tuple, type(None))):
                found.setdefault(id(value), []).append(prefix + name)
    return found


def canonical(value: Any, names: list[str]) -> str:
    """The name that TensorFlow's own documentation gives an object."""
    exported = [name for name in getattr(value, "_tf_api_names", ()) if name in names]
    return exported[0] if exported else min(names, key=lambda name: (name.count("."), len(name)))


def parameters(value: Any) -> str:
    """The names of a function's parameters, separated by commas; - where there are none to see."""
    if inspect.isclass(value):
        return "-"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "-"
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(parameter.kind in kinds for parameter in signature.parameters.values()):
        return "-"
    return ",".join(signature.parameters) or "-"


def same(one: Any, other: Any) -> bool:
    """Whether two values of a public name are the same thing."""
    if one is other:
        return True
    if isinstance(one, types.ModuleType) and isinstance(other, types.ModuleType):
        return True  # a module's names have lines of their own
    plain = (int, float, str, bool, tuple)
    return isinstance(one, plain) and type(one) is type(other) and one == other


def keras_line(name: str) -> str | None:
    """Keras is another library by now: what counts is whether it has the name."""
    if find(tf, name) is not MISSING:
        return None
    import tf_keras

    inside = name.partition(".")[2]
    if find(tf_keras, inside) is not MISSING:
        return f"{name} renamed tf_keras.{inside}"
    return f"{name} gone -"


def lines() -> Iterator[str]:
    """The lines of the list."""
    today = names_of_today()
    for name in symbols.names():
        if name.startswith(("contrib", "estimator")) or name == "keras":
            if name.startswith("estimator"):
                yield f"{name} gone -"
            continue
        if name.startswith("keras."):
            line = keras_line(name)
            if line:
                yield line
            continue
        old, new = find(tf.compat.v1, name), find(tf, name)
        if old is MISSING and name.startswith(OF_KERAS_2):
            yield f"{name} keras2 tf.compat.v1.{name}"
        elif old is MISSING:
            # What only later releases have under the name is another thing.
            yield f"{name} gone -"
        elif same(old, new):
            continue
        elif id(old) in today:
            yield f"{name} renamed tf.{canonical(old, today[id(old)])}"
        elif new is not MISSING:
            yield f"{name} changed tf.compat.v1.{name} {parameters(old)} {parameters(new)}"
        else:
            yield f"{name} v1 tf.compat.v1.{name}"


def main() -> None:
    """Prints the list."""
    print(HEADER.format(version=tf.__version__), end="")
    for line in lines():
        print(line)


if __name__ == "__main__":
    main()
