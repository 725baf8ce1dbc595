"""What 1.15 has for tensors, and another release lacks."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow


def __getattr__(name: str) -> Any:
    """``tf.Tensor``, the class of a graph's tensors: scripts ask for ``type(x) is tf.Tensor``.

    Since 2.15 (seen in 2.15 to 2.21) it is the base of theirs and of those that have values already. Programs
    that compute at once get the base, in what is traced for them too: a function there may take in values.
    """
    if name != "Tensor":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = _of_graphs()
    if found is tensorflow.Tensor or tensorflow.executing_eagerly():
        return tensorflow.Tensor
    eager = tensorflow.compat.v1.executing_eagerly_outside_functions()
    return tensorflow.Tensor if eager else found


@functools.lru_cache(maxsize=None)
def _of_graphs() -> Any:
    with tensorflow.Graph().as_default():
        return type(tensorflow.constant(0))


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Lets a type with ``name`` and ``dtype`` pass for a tensor.

    ``tensorflow/python/framework/ops.py`` of 1.15. TensorFlow 2 needs no registration (2.15 and 2.21):
    whatever a function of the script's own makes a tensor of (``register_tensor_conversion_function``) passes,
    so that only the check is left.

    Args:
      tensor_type: The type.

    Raises:
      TypeError: If it has no properties ``name`` and ``dtype``.
    """
    for name in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, name, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{name}` property")


def bfloat16_type() -> Any:
    """NumPy's scalar type of a bfloat16, which ``pywrap_tensorflow.TF_bfloat16_type`` gave."""
    return tensorflow.bfloat16.as_numpy_dtype


def repeat(tensor: Any, repeats: Any, axis: int) -> Any:
    """``tf.repeat``, which 1.15 has, and TensorFlow 2 since 2.1.

    Args:
      tensor: ``[..., n, ...]``.
      repeats: How often each of the n parts along the axis stands in what is given back: a number, or ``[n]``.
      axis: The axis.
    """
    v1 = tensorflow.compat.v1
    if hasattr(v1, "repeat"):
        return v1.repeat(tensor, repeats, axis=axis)
    parts = v1.shape(tensor)[axis]
    counts = v1.cast(repeats, v1.int32) + v1.zeros([parts], v1.int32)
    return v1.gather(tensor, v1.where(v1.sequence_mask(counts))[:, 0], axis=axis)
