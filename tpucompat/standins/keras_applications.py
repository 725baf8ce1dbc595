"""``keras.applications`` with the layers of TensorFlow 1.15, which scripts count and ask for by name.

1.15 built its models by Keras-Applications 1.0.8. TensorFlow 2.2 took the code in and renamed the last layers;
later releases pad within a strided convolution, where a layer did. So ``model.layers[:100]`` is other layers.
The weights have the same order, so that today's files hold for both.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any, Callable, Mapping

from tpucompat.engines import session

_LayerOf = Callable[..., Any]
#: What makes a layer, with the arguments that Keras makes it with today.
Edit = Callable[[_LayerOf, Mapping[str, Any]], Any]


def _named(name: str) -> Edit:
    """The layer by the name that it had."""
    return lambda make, options: make(**{**options, "name": name})


def _padded(name: str, sides: Callable[[Any], Any]) -> Edit:
    """The convolution behind a layer that pads."""

    def edit(make: _LayerOf, options: Mapping[str, Any]) -> Any:
        if options.get("padding") != "same":  # a release that has the layer
            return make(**options)
        convolution = make(**{**options, "padding": "valid"})

        def call(inputs: Any) -> Any:
            pad = session.keras_of_the_era().layers.ZeroPadding2D(sides(inputs), name=name)
            return convolution(pad(inputs))

        return call

    return edit


def _at_the_end(inputs: Any) -> Any:
    """A row and a column behind the others."""
    del inputs
    return (0, 1), (0, 1)


def _around_three(inputs: Any) -> Any:
    """What a kernel of three with strides of two lacks: a line before too where the side is odd."""
    backend = session.keras_of_the_era().backend
    first = 2 if backend.image_data_format() == "channels_first" else 1
    sides = backend.int_shape(inputs)[first : first + 2]
    return tuple((1 if side is not None and side % 2 else 0, 1) for side in sides)


def _shaped(name: str) -> Edit:
    """The mean without the axes of the image, and a layer that adds them again."""

    def edit(make: _LayerOf, options: Mapping[str, Any]) -> Any:
        if not options.get("keepdims"):
            return make(**options)
        mean = make(**{word: value for word, value in options.items() if word != "keepdims"})

        def call(inputs: Any) -> Any:
            keras = session.keras_of_the_era()
            found = mean(inputs)
            shape = [1, 1]
            shape.insert(
                0 if keras.backend.image_data_format() == "channels_first" else 2,
                keras.backend.int_shape(found)[-1],
            )
            return keras.layers.Reshape(tuple(shape), name=name)(found)

        return call

    return edit


def _scaled(scale: float) -> Any:
    """A block of Inception-ResNet: the sum was a Lambda with the block's name, which its convolution has."""

    def call(inputs: Any) -> Any:
        keras = session.keras_of_the_era()
        summed = keras.layers.Lambda(
            lambda inputs, scale: inputs[0] + inputs[1] * scale,
            output_shape=keras.backend.int_shape(inputs[0])[1:],
            arguments={"scale": scale},
            name=inputs[1]._keras_history[0].name[: -len("_conv")],
        )
        return summed(inputs)

    return call


#: Module -> class of its own -> what it had in its place up to TensorFlow 2.3.
_CLASSES: Mapping[str, Mapping[str, Any]] = {
    "inception_resnet_v2": {"CustomScaleLayer": _scaled},
}
#: Module -> name or class of a layer today -> what it was up to TensorFlow 2.3.
_LAYERS: Mapping[str, Mapping[str, Edit]] = {
    "mobilenet": {"conv1": _padded("conv1_pad", _at_the_end)},
    "mobilenet_v2": {"Conv1": _padded("Conv1_pad", _around_three)},
}
#: What more TensorFlow 1.15 and Keras-Applications had; 2.2 changed it.
_FIRST_LAYERS: Mapping[str, Mapping[str, Edit]] = {
    "densenet": {"predictions": _named("fc1000")},
    "inception_resnet_v2": {},
    "mobilenet": {
        "GlobalAveragePooling2D": _shaped("reshape_1"),
        "predictions": _named("act_softmax"),
    },
    "mobilenet_v2": {"predictions": _named("Logits")},
    "resnet": {"predictions": _named("probs")},
    "resnet_v2": {},
}


class _Layers:
    """``keras.layers`` for one of the modules, with its edits."""

    def __init__(self, edits: Mapping[str, Edit]) -> None:
        self._edits = edits

    def __getattr__(self, kind: str) -> Any:
        made = getattr(session.keras_of_the_era().layers, kind)

        def make(*args: Any, **options: Any) -> Any:
            edit = self._edits.get(options.get("name", kind))
            return (
                made(*args, **options)
                if edit is None
                else edit(functools.partial(made, *args), options)
            )

        return make


@functools.lru_cache(maxsize=None)
def _names(module: str, first: bool) -> dict[str, Any]:
    """The global names of a module of Keras, whose functions make such layers."""
    names = vars(sys.modules[module])
    name = module.rpartition(".")[2]
    layers = _Layers({**_LAYERS.get(name, {}), **(_FIRST_LAYERS[name] if first else {})})
    changed: dict[str, Any] = {"layers": layers, "VersionAwareLayers": lambda: layers}
    changed.update(_CLASSES.get(name, {}))
    if name == "resnet_v2":
        changed["resnet"] = types.SimpleNamespace(**_names(names["resnet"].__name__, first))
    bound = {**names, **{word: value for word, value in changed.items() if word in names}}
    for word, value in names.items():
        if isinstance(value, types.FunctionType) and value.__globals__ is names:
            bound[word] = _bound(value, bound)
    return bound


def _bound(function: types.FunctionType, names: dict[str, Any]) -> Any:
    """The function with other global names; its signature and documentation stay."""
    copy = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(copy, function)


class _Models:
    """The applications, by their names."""

    def __init__(self, first: bool) -> None:
        self._first = first

    def __getattr__(self, name: str) -> Any:
        made = getattr(session.keras_of_the_era().applications, name)
        if made.__module__.rpartition(".")[2] not in _FIRST_LAYERS:  # up to 2.1: Keras-Applications
            return made
        return _names(made.__module__, self._first)[name]


of_tensorflow_1 = _Models(first=True)
of_tensorflow_2 = _Models(first=False)
