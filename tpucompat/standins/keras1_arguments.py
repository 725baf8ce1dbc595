"""The arguments of Keras 1, which standalone Keras took until 2.3 and translated.

tf.keras never took them; a script that has them says ``import keras``, and here both are one Keras.
The table is :mod:`tpucompat.names.keras1`. An argument that a class takes by itself is left to it, so that only
calls change which would be refused otherwise; :mod:`tpucompat.standins.standalone_keras` has the others.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from tpucompat.base import journal
from tpucompat.engines import session
from tpucompat.names.keras1 import LAYERS, METHODS, MODEL, REFUSED, SEQUENCES, SIDES, VALUES, Names
from tpucompat.tf import patches, private


@patches.patch
def accept_keras_1_arguments() -> None:
    """Lets Keras' layers and models take them."""
    keras = session.keras_of_the_era()
    for name, names in LAYERS.items():
        layer = getattr(keras.layers, name, None)
        if isinstance(layer, type):
            _wrap(_defining(layer, "__init__"), "__init__", names)
    for owner in (keras.Model, *private.keras_model_engines()):
        for name, names in METHODS.items():
            _wrap(owner, name, names)
        _wrap(owner, "__init__", MODEL)
        _wrap(owner, "__new__", MODEL, only=keras.Model)
    for layer in {_defining(keras.layers.Layer, "add_weight"), *private.keras_layer_engines()}:
        patches.replace(layer, "add_weight", _shape_first(vars(layer)["add_weight"]))


def _shape_first(method: Any) -> Any:
    """``add_weight`` as of Keras 1: ``(shape)`` or ``(shape, name)``, where Keras 2 has the name first."""

    @functools.wraps(method)
    def add_weight(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], (list, tuple)):
            words = ("shape", "name")[: 1 + isinstance(args[1] if len(args) > 1 else None, str)]
            kwargs = {**kwargs, **dict(zip(words, args))}
            args = args[len(words) :]
        return method(self, *args, **kwargs)

    add_weight.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]  # Keras looks at it
    return private.left_alone_by_autograph(add_weight)


def _defining(owner: type, method: str) -> type:
    """The class that has a method of another's: ``BatchNormalization`` has its base's."""
    return next(each for each in owner.__mro__ if method in vars(each))


def _wrap(owner: type, method: str, names: Names, only: type | None = None) -> None:
    own = vars(owner).get(method)
    function: Any = own.__func__ if isinstance(own, staticmethod) else own
    if not inspect.isfunction(function) or hasattr(function, "_keras1"):
        return
    signature = inspect.signature(function)

    def as_today(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if owner.__name__ in SEQUENCES and "input_dim" in kwargs:
            length, features = kwargs.pop("input_length", None), kwargs.pop("input_dim")
            kwargs = {**kwargs, "input_shape": (length, features)}
        old = {name: names[name] for name in kwargs if name in names}
        for name in signature.parameters:
            old.pop(name, None)
        return _translated(owner.__name__, args, kwargs, old) if old else kwargs

    @functools.wraps(function)
    def translated(self: Any, *args: Any, **kwargs: Any) -> Any:
        if only is None or self is only:
            kwargs = as_today(args, kwargs)
        return function(self, *args, **kwargs)

    translated.__signature__ = signature  # type: ignore[attr-defined]  # Keras looks at it
    translated._keras1 = as_today  # type: ignore[attr-defined]
    patches.replace(owner, method, staticmethod(translated) if method == "__new__" else translated)


def as_today(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call as a method takes them today, for code that reads a call before the method.

    Args:
      method: A method, which may be one that takes the old words as well.
      args: The positional arguments, without ``self``.
      kwargs: The others.
    """
    translate = getattr(method, "_keras1", None)
    return translate(args, kwargs) if translate else kwargs


def _translated(
    owner: str, args: tuple[Any, ...], kwargs: dict[str, Any], old: Names
) -> dict[str, Any]:
    out = {name: value for name, value in kwargs.items() if name not in old}
    for name, words in old.items():
        journal.used(f"{owner}({name}=)")
        value = kwargs[name]
        if name in REFUSED and value in REFUSED[name]:
            words = name
        if isinstance(value, str):
            value = VALUES.get(name, {}).get(value, value)
        if name == "samples_per_epoch":
            # It counted examples; the generator says how many it yields.
            generator = args[0] if args else kwargs.get("generator")
            value //= getattr(generator, "batch_size", 1)
        for new in words.split():
            if new in kwargs and new != name:
                raise TypeError(
                    f"{owner} received both `{new}` and `{name}`, its Keras 1 name; "
                    "remove the latter"
                )
            # The sides of a kernel come one by one, in their order.
            out[new] = (*out.get(new, ()), value) if name in SIDES else value
    return out
