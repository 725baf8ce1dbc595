"""Names in TensorFlow's private modules (``tensorflow.python``) that lie elsewhere in later releases.

The list beside this module is made by ``tools/list_private_moves.py`` from real releases.
"""

from __future__ import annotations

import os

from tpucompat.base.machine import environment
from tpucompat.base.releases import NEWEST, release_of
from tpucompat.names.rows import Moved, Row

_FILE = os.path.join(os.path.dirname(__file__), "private_moves.txt")


def rows(release: tuple[int, int] | None) -> dict[str, Row]:
    """The names that a release has elsewhere, or no longer in the place that an earlier one had them in.

    Args:
      release: The installed TensorFlow's (major, minor); None counts as the newest.
    """
    with open(_FILE, encoding="utf-8") as lines:
        entries = [line.split() for line in lines if not line.startswith("#")]
    # A name that moved twice has two lines, in the order of the releases: the last that holds counts.
    last = {
        name: (target, since)
        for name, target, since in entries
        if (release_of(since) or NEWEST) <= (release or NEWEST)
    }
    return {
        name: Moved(target, since=since) for name, (target, since) in last.items() if target != "-"
    }


ROWS: dict[str, Row] = rows(environment().release)
