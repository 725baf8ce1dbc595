"""The positions of Keras' arguments in TensorFlow 1.15 to 2.1, where later releases put others between.

``SparseCategoricalCrossentropy(True, "none")`` gave the reduction; today its second is a class to ignore.
``tables/keras_positions.txt`` comes from the signatures of 1.15.5 and 2.1.0 beside those of tf-keras 2.21.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
from typing import Any, Sequence

from tpucompat.base.late import late
from tpucompat.engines import session
from tpucompat.names import renamed, tables
from tpucompat.tf import patches

tensorflow = late("tensorflow")

#: Functions whose argument has another name since 2.9, and was called by its name.
_RENAMED = {
    "one_hot": renamed.Then("keras 2.9", renamed={"text": "input_text"}),
    "text_to_word_sequence": renamed.Then("keras 2.9", renamed={"text": "input_text"}),
}


def table() -> dict[str, list[str]]:
    """Class, method or function of ``tf.keras`` -> its arguments in their order, without ``self``."""
    path = os.path.join(os.path.dirname(tables.__file__), "keras_positions.txt")
    with open(path, encoding="ascii") as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    return {name: arguments for name, *arguments in lines}


@patches.patch
def accept_old_positions() -> None:
    """Lets Keras' classes, their methods, and functions take their arguments in that order."""
    keras = session.keras_of_the_era()
    for name, then in table().items():
        above, _, last = name.rpartition(".")
        owner = functools.reduce(_attribute, above.split("."), keras)
        named = getattr(owner, last, None)
        if isinstance(named, type):
            owner, last = named, "__init__"
        # A class whose constructor is another's is left alone: the other one has positions of its own.
        if inspect.isfunction(getattr(owner, last, None)) and last in vars(owner):
            _replace(owner, last, then)


def _replace(owner: Any, name: str, then: Sequence[str]) -> None:
    function = getattr(owner, name)
    if isinstance(owner, type):
        then = ["self", *then]
    today = inspect.signature(function).parameters
    alike = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(then, today))))
    if alike < min(len(then), len(today)):
        patches.replace(owner, name, _in_order(function, then, alike))


def _attribute(owner: Any, name: str) -> Any:
    return getattr(owner, name, None)


def _in_order(function: Any, then: Sequence[str], alike: int) -> Any:
    """A function that gets by name what comes after the positions that are the same."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if alike < len(args) <= len(then):
            kwargs = {**dict(zip(then[alike:], args[alike:])), **kwargs}
            args = args[:alike]
        return function(*args, **kwargs)

    called.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # Keras looks at it
    return called


#: Functions of ``keras.utils`` whose arguments and results are others since 2.13, which keeps them apart.
_SERIALIZATION = ("deserialize_keras_object", "serialize_keras_object")


def __getattr__(name: str) -> Any:
    """A function of ``keras.utils`` or ``keras.preprocessing.text`` that takes the arguments of then."""
    if name not in (*_RENAMED, *_SERIALIZATION):
        raise AttributeError(name)
    keras = tensorflow.keras
    if name in _SERIALIZATION:
        return getattr(getattr(keras.utils, "legacy", keras.utils), name)
    owner = keras.utils if hasattr(keras.utils, name) else keras.preprocessing.text
    function = getattr(owner, name)
    (then,) = _RENAMED[name].renamed
    has_it = then in inspect.signature(function).parameters
    return function if has_it else renamed.adapted(function, _RENAMED[name])
