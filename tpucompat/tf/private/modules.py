"""TensorFlow's modules as Python objects: finding them, and putting other functions into them."""

from __future__ import annotations

import importlib
import inspect
import sys
import types
from typing import Any, Callable, Mapping

import tensorflow as tf

from tpucompat.base.late import late
from tpucompat.tf import patches
from tpucompat.tf.private.keras import keras_source

_pywrap_util_port = late("tensorflow.python.util._pywrap_util_port")


def computes_with_onednn() -> bool:
    """Whether TensorFlow, which has to be loaded, computes with oneDNN's kernels on a CPU.

    Seen in 2.15 to 2.21; a release without the module, 1.15 among them, has no oneDNN in its wheels.
    """
    try:
        return bool(_pywrap_util_port.IsMklEnabled())
    except ImportError:
        return False


def replace_functions(by_place: Mapping[str, Callable[[Callable[..., Any]], Any]]) -> None:
    """Puts other functions in the place of TensorFlow's own, wherever a loaded module holds them.

    Args:
      by_place: For each place what makes the new function of the old one. A place is
        ``module:name`` or ``module:Class.name``; ``keras:Layer.name`` for a layer of
        ``tf.compat.v1.keras.layers``, ``keras/module:name`` for a module of Keras' source. One that this
        release does not have is left out.
    """
    new: dict[Any, Any] = {}
    for place, change in by_place.items():
        path, _, name = place.partition(":")
        try:
            if path == "keras":
                owner = tf.compat.v1.keras.layers
            else:
                path = path.replace("keras/", keras_source() + ".")
                owner = importlib.import_module(path)
            for part in name.split(".")[:-1]:
                owner = getattr(owner, part)
        except (ImportError, AttributeError):
            continue
        attribute = name.rpartition(".")[2]
        if inspect.isclass(owner):
            owner = next((each for each in owner.__mro__ if attribute in vars(each)), owner)
        old = vars(owner).get(attribute)
        if old is None:
            continue
        changed = change(old)
        patches.replace(owner, attribute, changed)
        if inspect.ismodule(owner):
            new[inspect.unwrap(old)] = changed
    names = {function.__name__ for function in new}
    for module in list(sys.modules.values()):
        if not getattr(module, "__name__", "").startswith(("tensorflow", "keras", "tf_keras")):
            continue
        # Some 80,000 values, at every start: their type is compared, and only what is found is looked at.
        found = [
            (name, value)
            for name, value in vars(module).copy().items()
            if type(value) is types.FunctionType and value.__name__ in names
        ]
        for name, value in found:
            # Two decorated forms of one function may be about: tf.nn.swish is not tf.compat.v1.nn.swish.
            changed = new.get(inspect.unwrap(value))
            if changed is not None and changed is not value:
                patches.replace(module, name, changed)
