"""Names in TensorFlow's private modules (``tensorflow.python``) that lie elsewhere in later releases.

The list beside this module is made by ``tools/list_private_moves.py`` from real releases.
"""

from __future__ import annotations

import os

from tpucompat.legacy.rows import Moved, Row

_FILE = os.path.join(os.path.dirname(__file__), "private_moves.txt")


def _rows() -> dict[str, Row]:
    with open(_FILE, encoding="utf-8") as lines:
        entries = [line.split() for line in lines if not line.startswith("#")]
    return {name: Moved(target, since=release) for name, target, release in entries}


ROWS: dict[str, Row] = _rows()
