"""Writes what the package ``keras`` took otherwise than ``tf.keras`` of TensorFlow 1.15.

    python tools/list_standalone_keras.py > tpucompat/names/tables/keras_standalone.txt
    python tools/list_standalone_keras.py keras_1 > tpucompat/names/tables/keras_1.txt

Run it in an environment with TensorFlow 1.15 and ``keras==2.2.4``. In the first table, a class or method has a
line where an argument's position means another one, or where another value is taken if none is given: its
arguments up to the last that differs, with the package's own defaults where those of ``tf.keras`` are
others. In the second, it has the arguments of Keras 1 that it translated, and their names in Keras 2.
"""

from __future__ import annotations

import inspect
import sys

import keras
import tensorflow as tf

HEADER = f"""\
# Class or method of the package keras {keras.__version__}, and its arguments by position where tf.keras of
# TensorFlow 1.15 has others or other defaults (behind "="). By tools/list_standalone_keras.py; do not edit.
"""
KERAS_1 = f"""\
# Class or method of the package keras {keras.__version__}, and the arguments of Keras 1 it translated: OLD=NEW,
# OLD=NEW,NEW, OLD= where it did nothing any more. By tools/list_standalone_keras.py; do not edit.
"""
#: What the functions did that translated more than names, by their names in keras/legacy/interfaces.py.
TRANSLATED = {
    "embedding_kwargs_preprocessor": {"dropout": ""},
    "recurrent_args_preprocessor": {"forget_bias_init": ""},
    "conv1d_args_preprocessor": {},  # input_dim and input_length, as the recurrent ones
    "conv2d_args_preprocessor": {"nb_row": "kernel_size", "nb_col": "kernel_size"},
    "separable_conv2d_args_preprocessor": {
        "init": "depthwise_initializer,pointwise_initializer",
        "nb_row": "kernel_size",
        "nb_col": "kernel_size",
    },
    "deconv2d_args_preprocessor": {
        "output_shape": "",
        "nb_row": "kernel_size",
        "nb_col": "kernel_size",
    },
    "conv3d_args_preprocessor": {f"kernel_dim{n}": "kernel_size" for n in (1, 2, 3)},
    "convlstm2d_args_preprocessor": {
        "forget_bias_init": "",
        "nb_row": "kernel_size",
        "nb_col": "kernel_size",
    },
    "batchnorm_args_preprocessor": {"mode": ""},
    "zeropadding2d_args_preprocessor": {},  # a dictionary of sides, which no name says
    "generator_methods_args_preprocessor": {},
    "add_weight_args_preprocessing": {},
    "get_updates_arg_preprocessing": {},
}
MODULES = (
    *("callbacks", "constraints", "initializers", "layers"),
    *("losses", "metrics", "optimizers", "regularizers"),
)
METHODS = ("compile", "evaluate", "fit", "fit_generator", "evaluate_generator", "predict_generator")
#: Names for the same argument, which tf.keras takes by both.
SAME = {"lr": "learning_rate"}
#: What both make of None.
AS_NONE = {"epsilon": 1e-7, "data_format": "channels_last"}
#: A word that tf.keras takes for another.
ALIASES = {"normal": "truncated_normal"}


def declared(function):
    """The parameters of a function below Keras' decorators, without ``self`` and ``**kwargs``."""
    while hasattr(function, "_original_function") or hasattr(function, "__wrapped__"):
        function = getattr(function, "_original_function", None) or function.__wrapped__
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(function).parameters.values()
    return [one for one in parameters if one.name != "self" and one.kind not in kinds]


def positions(function):
    """How many arguments the decorator around a function let through by their positions."""
    if not hasattr(function, "_original_function"):
        return None
    cells = dict(zip(function.__code__.co_freevars, function.__closure__))
    if not cells["check_positional_args"].cell_contents:
        return None
    return len(cells["allowed_positional_args"].cell_contents)


def different(then, now):
    """The arguments of a line, or none."""
    there = {one.name: one for one in now}
    last, found = 0, []
    for position, one in enumerate(then, 1):
        name = SAME.get(one.name, one.name)
        other = there.get(name)
        at_place = now[position - 1].name if position <= len(now) else ""
        if at_place not in ("", name):
            last = position
        text = one.name
        if other is not None and one.default is not one.empty:
            values = [
                AS_NONE.get(name) if each.default is None else each.default for each in (one, other)
            ]
            values = [ALIASES.get(each, each) if isinstance(each, str) else each for each in values]
            if (
                not callable(values[0])
                and values[0] != values[1]
                and other.default is not one.empty
            ):
                text, last = f"{one.name}={one.default!r}", position
        found.append(text)
    return found[:last]


def translated(function):
    """Old name -> new ones, by the decorator around a function; none without one."""
    if not hasattr(function, "_original_function"):
        return {}
    cells = dict(zip(function.__code__.co_freevars, function.__closure__))
    preprocessor = cells["preprocessor"].cell_contents
    return {
        **dict(cells["conversions"].cell_contents),
        **({} if preprocessor is None else TRANSLATED[preprocessor.__name__]),
    }


def list_keras_1() -> None:
    """Prints the second table."""
    print(KERAS_1, end="")
    layers = {one.__name__: one for one in vars(keras.layers).values() if isinstance(one, type)}
    functions = [
        (name, one.__init__)
        for name, one in sorted(layers.items())
        # A class whose constructor is another public one's has that one's line.
        if not any(one.__init__ is layers[above].__init__ for above in _above(one) & set(layers))
    ]
    functions += [(f"Model.{name}", getattr(keras.Model, name)) for name in METHODS]
    for name, function in [*functions, ("Model", keras.Model.__init__)]:
        names = translated(function)
        if names:
            print(name, *(f"{old}={new}" for old, new in names.items()))


def _above(one):
    return {each.__name__ for each in one.__mro__[1:]}


def main() -> None:
    """Prints the first table."""
    if sys.argv[1:] == ["keras_1"]:
        list_keras_1()
        return
    print(HEADER, end="")
    functions = [
        (f"Model.{name}", getattr(keras.Model, name), getattr(tf.keras.Model, name))
        for name in METHODS
    ]
    functions.append(("layers.Input", keras.layers.Input, tf.keras.layers.Input))
    for module in MODULES:
        theirs, ours = getattr(keras, module), getattr(tf.keras, module)
        for name, one in sorted(vars(theirs).items()):
            other = getattr(ours, name, None)
            # Aliases and what a module has imported stand elsewhere.
            if isinstance(one, type) and isinstance(other, type) and one.__name__ == name:
                functions.append((f"{module}.{name}", one.__init__, other.__init__))
    for name, one, other in functions:
        arguments = different(declared(one)[: positions(one)], declared(other))
        if arguments:
            print(name, *arguments)


if __name__ == "__main__":
    main()
