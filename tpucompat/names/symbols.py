"""TensorFlow 1.15's own list of public symbols and module paths, read only when a name is not found."""

from __future__ import annotations

import functools
import os
from typing import Iterable

_FILE = os.path.join(os.path.dirname(__file__), "tables", "tf115_symbols.txt")


@functools.lru_cache(maxsize=None)
def _kinds() -> dict[str, str]:
    if not os.path.exists(_FILE):
        return {}
    with open(_FILE, encoding="utf-8") as lines:
        rows = (line.split() for line in lines if line.strip() and not line.startswith("#"))
        return {row[0]: row[1] for row in rows}


def kind(name: str) -> str | None:
    """What ``tensorflow.<name>`` was in 1.15: "function", "class", "module", "value", or None if nothing."""
    return _kinds().get(name)


def names() -> Iterable[str]:
    """The names of all symbols, dotted, below ``tensorflow``."""
    return _kinds().keys()


def in_keras(below: str) -> str:
    """Where Keras shows a class of its folder ``engine``, whose modules are private; others as they are."""
    head, _, name = below.rpartition(".")
    if head.partition(".")[0] != "engine":
        return below
    places = (f"layers.{name}", name)
    return next((place for place in places if kind("keras." + place) == "class"), below)
