"""Releases of TensorFlow, as numbers."""

from __future__ import annotations

import re
from typing import Tuple

Release = Tuple[int, int]

#: The oldest release that can be used, and the newest that was tried.
OLDEST: Release = (1, 13)
NEWEST: Release = (2, 21)

#: The values of TF_USE_LEGACY_KERAS that TensorFlow takes for yes (2.15 and later,
#: tensorflow/python/util/lazy_loader.py).
LEGACY_KERAS_ON = ("true", "True", "1")


def release_of(version: str) -> Release | None:
    """(major, minor) of a version; None if it has no numbers."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match.group(1)), int(match.group(2))) if match else None
