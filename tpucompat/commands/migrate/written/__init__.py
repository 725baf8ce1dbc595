"""Modules that are written beside a migrated script, and belong to its user from then on."""

from __future__ import annotations

import os

_FIRST = '"""Trains, evaluates and exports a model_fn'


def source(name: str) -> bytes:
    """The text of a module."""
    with open(os.path.join(os.path.dirname(__file__), name), "rb") as stream:
        return stream.read()


def is_ours(path: str) -> bool:
    """Whether a file began as the module that is written here; its user may have changed it since."""
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read(len(_FIRST)) == _FIRST
