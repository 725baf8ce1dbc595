"""The arguments of Keras 1, which standalone Keras took until 2.3 and translated.

tf.keras never took them; a script that has them says ``import keras``, and here both are one Keras.
Names and values follow keras/legacy/interfaces.py of Keras 2.2.4. An argument that a class takes by itself is
left to it, so that only calls change which would be refused otherwise. ``Conv2D(32, 3, 3)`` is not among them:
its last number is Keras 1's second side of the kernel, and tf.keras' strides.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Mapping

from tpucompat.base import journal
from tpucompat.tf import private
from tpucompat.tf.private import patches

#: What an old name becomes: one word, two, or none where the argument did nothing any more.
Names = Mapping[str, str]

_WEIGHTS: Names = {
    "init": "kernel_initializer",
    "bias": "use_bias",
    **{
        f"{old}_{kind}": f"{new}_{kind}"
        for kind in ("regularizer", "constraint")
        for old, new in (("W", "kernel"), ("U", "recurrent"), ("b", "bias"))
    },
}
_ORDER: Names = {"dim_ordering": "data_format"}
_PADDED: Names = {"border_mode": "padding", **_ORDER}
# The sides of a kernel, in the order in which it has them.
_SIDES = ("nb_row", "nb_col", "kernel_dim1", "kernel_dim2", "kernel_dim3")
_CONVOLUTION: Names = {
    "nb_filter": "filters",
    "subsample": "strides",
    **dict.fromkeys(_SIDES, "kernel_size"),
    **_PADDED,
    **_WEIGHTS,
}
_RECURRENT: Names = {
    **_WEIGHTS,
    "output_dim": "units",
    "inner_init": "recurrent_initializer",
    "inner_activation": "recurrent_activation",
    "dropout_W": "dropout",
    "dropout_U": "recurrent_dropout",
    "consume_less": "implementation",
    "forget_bias_init": "",  # ones, the default, or whatever else Keras 2 ignored
}
_EMBEDDING: Names = {
    "init": "embeddings_initializer",
    "W_regularizer": "embeddings_regularizer",
    "W_constraint": "embeddings_constraint",
    "dropout": "",
}
_NORMALIZATION: Names = {
    "beta_init": "beta_initializer",
    "gamma_init": "gamma_initializer",
    "mode": "",
}
_LENGTHS: Names = {"pool_length": "pool_size", "stride": "strides", "border_mode": "padding"}

_ALIKE: tuple[tuple[Names, tuple[str, ...]], ...] = (
    ({"p": "rate"}, ("Dropout", "SpatialDropout1D", "SpatialDropout2D", "GaussianDropout")),
    (_RECURRENT, ("SimpleRNN", "LSTM", "GRU")),
    (_CONVOLUTION, ("Conv2D", "Conv3D")),
    (_LENGTHS, ("MaxPooling1D", "AveragePooling1D")),
    (_PADDED, tuple(f"{kind}Pooling{n}D" for kind in ("Max", "Average") for n in (2, 3))),
    (_ORDER, tuple(f"Global{kind}Pooling{n}D" for kind in ("Max", "Average") for n in (2, 3))),
    (
        _ORDER,
        tuple(f"{kind}{n}D" for kind in ("UpSampling", "ZeroPadding", "Cropping") for n in (2, 3)),
    ),
)
LAYERS: Mapping[str, Names] = {
    **{layer: names for names, layers in _ALIKE for layer in layers},
    "Dense": {"output_dim": "units", **_WEIGHTS},
    "SpatialDropout3D": {"p": "rate", **_ORDER},
    "GaussianNoise": {"sigma": "stddev"},
    "PReLU": {"init": "alpha_initializer"},
    "Embedding": _EMBEDDING,
    "BatchNormalization": _NORMALIZATION,
    "Conv1D": {**_CONVOLUTION, "filter_length": "kernel_size", "subsample_length": "strides"},
    "SeparableConv2D": {**_CONVOLUTION, "init": "depthwise_initializer pointwise_initializer"},
    "Conv2DTranspose": {**_CONVOLUTION, "output_shape": ""},
    "ConvLSTM2D": {**{n: w for n, w in _RECURRENT.items() if n != "output_dim"}, **_CONVOLUTION},
    "UpSampling1D": {"length": "size"},
}
_GENERATOR: Names = {
    "samples_per_epoch": "steps_per_epoch",
    "val_samples": "steps",
    "nb_epoch": "epochs",
    "nb_val_samples": "validation_steps",
    "nb_worker": "workers",
    "pickle_safe": "use_multiprocessing",
    "max_q_size": "max_queue_size",
}
METHODS: Mapping[str, Names] = {
    "fit": {"nb_epoch": "epochs"},
    "fit_generator": _GENERATOR,
    "evaluate_generator": _GENERATOR,
    "predict_generator": _GENERATOR,
}
_MODEL: Names = {"input": "inputs", "output": "outputs"}

_VALUES: Mapping[str, Mapping[Any, Any]] = {
    "dim_ordering": {"tf": "channels_last", "th": "channels_first", "default": None},
    "consume_less": {"cpu": 0, "mem": 1, "gpu": 2},
}
# Not translated, so that Keras refuses it: Keras 2 could not normalize in these ways.
_REFUSED: Mapping[str, tuple[Any, ...]] = {"mode": (1, 2)}


@patches.patch("1.13 to 2.21")
def accept_keras_1_arguments(keras: Any) -> None:
    """Lets Keras' layers and models take them.

    Args:
      keras: The Keras of the graph world, or that of early TensorFlow 2.
    """
    for name, names in LAYERS.items():
        layer = getattr(keras.layers, name, None)
        if isinstance(layer, type):
            _wrap(_defining(layer, "__init__"), "__init__", names)
    for owner in (keras.Model, *private.keras_model_engines()):
        for name, names in METHODS.items():
            _wrap(owner, name, names)
        _wrap(owner, "__init__", _MODEL)
        _wrap(owner, "__new__", _MODEL, only=keras.Model)


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
        if name in _REFUSED and value in _REFUSED[name]:
            words = name
        if isinstance(value, str):
            value = _VALUES.get(name, {}).get(value, value)
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
            out[new] = (*out.get(new, ()), value) if name in _SIDES else value
    return out
