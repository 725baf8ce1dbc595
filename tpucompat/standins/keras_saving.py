"""``keras.engine.saving`` and ``keras.saving.hdf5_format``: weights in the groups of an HDF5 file.

Their functions took a list of layers, which a script could choose (some of a model's, or those of a model
around it); since Keras 2.5 they take the model. What else the module holds is the installed Keras' own.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Sequence

from tpucompat.tf import private


class _Layers:
    """As much of a model as the functions look at."""

    def __init__(self, layers: Sequence[Any]) -> None:
        self.layers = list(layers)
        # What a model holds beside its layers; a list of layers holds nothing.
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self.weights: list[Any] = []

    def _flatten_layers(self) -> list[Any]:
        return self.layers


def _call(name: str, f: Any, layers: Any, **options: Any) -> Any:
    function: Callable[..., Any] = getattr(private.hdf5_format(), name)
    takes_model = "model" in inspect.signature(function).parameters
    if takes_model and not hasattr(layers, "layers"):
        layers = _Layers(layers)
    elif not takes_model and hasattr(layers, "layers"):
        layers = layers.layers
    return function(f, layers, **options)


def load_weights_from_hdf5_group(f: Any, layers: Any) -> None:
    """Sets the weights of layers, in their order, to those of a group.

    Args:
      f: An open h5py group.
      layers: The layers; or a model, as in today's Keras.

    Raises:
      ValueError: If the group was written from other layers.
    """
    _call("load_weights_from_hdf5_group", f, layers)


def load_weights_from_hdf5_group_by_name(
    f: Any, layers: Any, skip_mismatch: bool = False, reshape: bool = False
) -> None:
    """Sets the weights of the layers whose names are in a group; leaves the others.

    Args:
      f: An open h5py group.
      layers: The layers; or a model, as in today's Keras.
      skip_mismatch: Whether layers with weights of another shape are left, too.
      reshape: Not needed: standalone Keras alone reshaped weights of the same size.

    Raises:
      ValueError: If a layer's weights have another shape, unless ``skip_mismatch``.
    """
    del reshape
    options = {"skip_mismatch": True} if skip_mismatch else {}
    _call("load_weights_from_hdf5_group_by_name", f, layers, **options)


def save_weights_to_hdf5_group(f: Any, layers: Any) -> None:
    """Writes the weights of layers into a group.

    Args:
      f: An open h5py group.
      layers: The layers; or a model, as in today's Keras.
    """
    _call("save_weights_to_hdf5_group", f, layers)


def __getattr__(name: str) -> Any:
    """Everything else is the installed module's."""
    return getattr(private.hdf5_format(), name)
