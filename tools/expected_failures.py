"""Reads ``tests/expected_failures/*.txt``: which tests a TensorFlow release cannot pass, and why.

Every line has four parts between bars: the releases, the test, the cause, and where that can be read.

    2.0-2.14 | behaviour/test_x.py::test_y[some*] | what TensorFlow lacks | https://...

The releases are one, or the first and the last; ``crashes`` after them says that the test would end the
process, so that it is not run; ``rehearsed`` that it fails on a rehearsed TPU only (tests/targets.py). In the
test's name ``*`` stands for anything.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from typing import Any, NamedTuple

FOLDER = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "expected_failures"
)


class Row(NamedTuple):
    """One line.

    Attributes:
      first: The first release that fails, as (major, minor).
      last: The last one.
      test: Path below ``tests`` and name of the test, with ``*`` for anything.
      cause: Why.
      link: Where the cause can be read.
      crashes: Whether the test ends the process.
      rehearsed: Whether the line is about a rehearsed TPU only.
    """

    first: tuple[int, int]
    last: tuple[int, int]
    test: str
    cause: str
    link: str
    crashes: bool
    rehearsed: bool

    def names(self, nodeid: str) -> bool:
        """Whether the line is about a test, given as pytest names it."""
        # Brackets are part of a test's name, and no set of characters.
        pattern = re.sub(r"([\[\]])", r"[\1]", "*tests/" + self.test)
        return fnmatch.fnmatchcase("/" + nodeid, pattern)


def rows() -> list[Row]:
    """All lines.

    Raises:
      ValueError: A line has not four parts, or its releases are no numbers.
    """
    found = []
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.txt"))):
        with open(path, encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip() and not line.startswith("#"):
                    found.append(_row(line, f"{path}:{number}"))
    return found


def rows_for(environment: Any, rehearsed: bool = False) -> list[Row]:
    """The lines about the installed TensorFlow.

    Args:
      environment: ``tpucompat.environment()``.
      rehearsed: Whether the tests run on a rehearsed TPU.
    """
    release = environment.release
    return [
        row
        for row in rows()
        if release is not None
        and row.first <= release <= row.last
        and (rehearsed or not row.rehearsed)
    ]


def _row(line: str, place: str) -> Row:
    parts = [part.strip() for part in line.split(" | ")]
    match = re.match(r"(\d+)\.(\d+)(?:-(\d+)\.(\d+))?(?: (crashes|rehearsed))?$", parts[0])
    if len(parts) != 4 or match is None or not all(parts):
        raise ValueError(f"{place}: releases | test | cause | link, not {line.strip()!r}")
    numbers = [int(number) for number in match.groups()[:4] if number]
    return Row(
        (numbers[0], numbers[1]),
        (numbers[-2], numbers[-1]),
        *parts[1:],
        crashes=match.group(5) == "crashes",
        rehearsed=match.group(5) == "rehearsed",
    )
