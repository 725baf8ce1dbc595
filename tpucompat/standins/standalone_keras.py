"""Positions, defaults and kernels as the package ``keras`` took them, for the modules that import it.

``keras.optimizers.Adadelta()`` learned at a rate of 1, tf.keras' at 0.001, and ``Conv2D(32, 3, 3)`` had a
kernel of 3 x 3 where tf.keras takes strides of 3. The tables are in :mod:`tpucompat.names.standalone_keras`.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable, Dict, Sequence, Tuple

import tensorflow

from tpucompat.base import journal
from tpucompat.engines import session
from tpucompat.names.standalone_keras import ADDED, RENAMED, SIDES, Signature, is_meant, signatures
from tpucompat.tf import patches, private

Arguments = Tuple[Tuple[Any, ...], Dict[str, Any]]
Translate = Callable[[Tuple[Any, ...], Dict[str, Any]], Arguments]


@patches.patch
def take_arguments_of_the_package() -> None:
    """Lets Keras' classes and methods take them from the modules that mean the package."""
    keras = session.keras_of_the_era()
    for name, signature in signatures().items():
        above, _, last = name.rpartition(".")
        for owner in _owners(keras, above):
            found = vars(owner).get(last)
            if isinstance(found, type):
                _wrap(found, "__init__", last, functools.partial(_declared, name, signature, found))
            elif found is not None:
                _wrap(owner, last, last, functools.partial(_declared, name, signature, None))
    for layer, sides in SIDES.items():
        one = getattr(keras.layers, layer)
        _wrap(one, "__init__", layer, functools.partial(_one_kernel, layer, sides))
    _wrap(keras.layers.ZeroPadding2D, "__init__", "ZeroPadding2D", _four_sides)
    for moment in ("begin", "end"):
        _without_names(keras.callbacks.Callback, f"on_train_batch_{moment}", f"on_batch_{moment}")
    for owner in _owners(keras, "Model"):
        _wrap(owner, "compile", "compile", _optimizer_by_name)
    private.replace_functions({"keras/backend:_get_variables": _with_all_variables})


def _owners(keras: Any, path: str) -> Sequence[Any]:
    if path == "Model":
        return (keras.Model, *private.keras_model_engines())
    if path == "optimizers":
        return (session.optimizers_of_the_era(),)
    return (getattr(keras, path),)


def _wrap(owner: Any, method: str, name: str, translate: Translate) -> None:
    function = vars(owner).get(method)
    if not inspect.isfunction(function):
        return
    has_self = isinstance(owner, type)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if is_meant(sys._getframe(1), name):
            rest, kwargs = translate(args[has_self:], kwargs)
            args = (*args[:has_self], *rest)
        return function(*args, **kwargs)

    called.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # Keras looks at it
    patches.replace(owner, method, called)


def _without_names(callback: Any, method: str, name: str) -> None:
    """A callback's ``on_batch_end(self, batch, log)`` got its logs by position."""
    function = vars(callback).get(method)
    if function is None:  # 1.13 calls on_batch_end itself
        return

    @functools.wraps(function)  # with Keras' mark of a method that does nothing
    def called(self: Any, batch: Any, logs: Any = None) -> None:
        getattr(self, name)(batch, logs)

    patches.replace(callback, method, called)


def _with_all_variables(original: Callable[..., Any]) -> Callable[..., Any]:
    """What ``get_session`` initializes: of the package all variables of the graph, of tf.keras its own."""

    @functools.wraps(original)
    def variables(graph: Any = None) -> Any:
        found = original(graph)
        if graph is not None:
            found.update(graph.get_collection(tensorflow.compat.v1.GraphKeys.GLOBAL_VARIABLES))
        return found

    return variables


def _declared(
    name: str, signature: Signature, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Arguments:
    """By name what stands behind the arguments' first places, and the package's defaults."""
    given = dict(zip(signature.order, args))
    if len(args) > len(signature.order):
        return args, kwargs
    out = {**signature.defaults, **ADDED.get(name, {}), **given, **kwargs}
    if signature.defaults and "learning_rate" in kwargs:
        out.pop("lr", None)
    for old, new in RENAMED.items():
        if hasattr(cls, new) and out.get(old) is not None:
            out[new] = out.pop(old)
    return (), out


def _one_kernel(
    name: str, sides: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Arguments:
    """A kernel for its sides one by one: ``(32, 3, 3)``, ``(32, 3, nb_col=3)``."""
    if len(args) == len(sides) + 2 and isinstance(args[-1], (list, tuple)):
        args = args[:-1]  # the output's shape of a Deconvolution2D, which Keras 2 found by itself
    by_place = list(args[1 : len(sides) + 1])
    by_word = sides[len(by_place) :]
    if not by_place or not all(isinstance(side, int) for side in by_place):
        return args, kwargs
    if any(word not in kwargs for word in by_word):
        return args, kwargs
    for word in ("padding", "strides", "data_format"):
        if word in kwargs and not by_word:
            raise ValueError(
                f"{name} received {len(sides)} sides of a kernel by position, as in Keras 1, and "
                f"`{word}`, as in Keras 2; pass kernel_size as a tuple, or strides by its name"
            )
    journal.used(f"{name}({', '.join(sides)})")
    kernel = (*by_place, *(kwargs[word] for word in by_word))
    rest = {word: value for word, value in kwargs.items() if word not in by_word}
    return (args[0], kernel, *args[len(sides) + 1 :]), rest


def _four_sides(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Zeros as Keras 1 counted them: ``padding={"top_pad": 1, "left_pad": 2}``."""
    given = args[0] if args else kwargs.get("padding")
    if not isinstance(given, dict):
        return args, kwargs
    sides = [given.get(f"{side}_pad", 0) for side in ("top", "bottom", "left", "right")]
    return args[1:], {**kwargs, "padding": (tuple(sides[:2]), tuple(sides[2:]))}


def _optimizer_by_name(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """An optimizer with the package's defaults for ``compile("adadelta")``."""
    given = args[0] if args else kwargs.get("optimizer")
    made = _by_name(given)
    if made is None:
        return args, kwargs
    if args:
        return (made, *args[1:]), kwargs
    return args, {**kwargs, "optimizer": made}


def optimizer_by_name(word: Any, frame: Any) -> Any:
    """The package's optimizer of a name, where a caller of ``compile`` means the package, else None.

    Args:
      word: What ``compile`` was given.
      frame: The frame of its caller.
    """
    if not is_meant(frame, "compile"):
        return None
    return _by_name(word)


def _by_name(word: Any) -> Any:
    optimizers = session.optimizers_of_the_era()
    for name, signature in signatures().items():
        above, _, last = name.partition(".")
        if above == "optimizers" and signature.defaults and last.lower() == str(word).lower():
            return getattr(optimizers, last)(**signature.defaults, **ADDED.get(name, {}))
    return None


def AtrousConvolution1D(*args: Any, atrous_rate: Any = 1, **kwargs: Any) -> Any:
    """``keras.layers.AtrousConvolution1D`` of Keras 1: a ``Conv1D`` with ``dilation_rate``.

    Args:
      *args: Those of ``Conv1D``.
      atrous_rate: Its ``dilation_rate``.
      **kwargs: Those of ``Conv1D``.
    """
    return session.keras_of_the_era().layers.Conv1D(*args, dilation_rate=atrous_rate, **kwargs)


def AtrousConvolution2D(*args: Any, atrous_rate: Any = 1, **kwargs: Any) -> Any:
    """``keras.layers.AtrousConvolution2D`` of Keras 1: a ``Conv2D`` with ``dilation_rate``.

    Args:
      *args: Those of ``Conv2D``, the sides of the kernel one by one among them.
      atrous_rate: Its ``dilation_rate``.
      **kwargs: Those of ``Conv2D``.
    """
    return session.keras_of_the_era().layers.Conv2D(*args, dilation_rate=atrous_rate, **kwargs)
