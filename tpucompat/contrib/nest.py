"""``tf.contrib.framework.nest``, with the names that TensorFlow's structure helpers had in 1.15."""

from __future__ import annotations

from typing import Any

from tpucompat.tf import private

_NEST = private.nest()

# Renamed in TensorFlow 2.4.
is_sequence = getattr(_NEST, "is_sequence", None) or _NEST.is_nested


def __getattr__(name: str) -> Any:
    return getattr(_NEST, name)
