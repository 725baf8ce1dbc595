"""Layers that scripts define as standalone Keras allowed it: a weight's shape first, lists of weights set.

Keras 2.2.4 takes ``add_weight(shape, name, ...)`` as well as ``add_weight(name, shape, ...)``
(keras/legacy/interfaces.py), and lets a layer assign its ``trainable_weights`` (keras/engine/base_layer.py).
tf.keras knows neither, so that nothing it takes means anything else here.
"""

from __future__ import annotations

import functools
from typing import Any

from tpucompat.engines import session
from tpucompat.tf import patches, private


@patches.patch
def accept_old_layers() -> None:
    """Lets subclasses of Keras' layers do both."""
    keras = session.keras_of_the_era()
    layer = keras.layers.Layer
    bases = {base for each in (layer, *private.keras_layer_engines()) for base in each.__mro__}
    for owner in bases:
        if "add_weight" in vars(owner):
            patches.replace(owner, "add_weight", _shape_first(owner.add_weight))
        for name in ("trainable_weights", "non_trainable_weights"):
            listed = vars(owner).get(name)
            if isinstance(listed, property) and listed.fset is None:
                patches.replace(owner, name, listed.setter(_setter("_" + name)))


def _shape_first(add_weight: Any) -> Any:
    @functools.wraps(add_weight)
    def with_shape_first(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], (tuple, list)):
            kwargs["shape"], args = args[0], args[1:]
            if args and isinstance(args[0], str):
                kwargs["name"], args = args[0], args[1:]
        return add_weight(self, *args, **kwargs)

    return with_shape_first


def _setter(attribute: str) -> Any:
    def assign(self: Any, weights: Any) -> None:
        # The list itself is Keras', which goes on filling it.
        getattr(self, attribute)[:] = weights

    return assign
