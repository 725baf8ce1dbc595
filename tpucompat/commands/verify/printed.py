"""What a script itself prints: its numbers, by the words before them.

Progress bars and log lines of libraries are theirs, and other ones in each generation.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import sys
from typing import Any, Iterator, NamedTuple

import numpy as np

from tpucompat.commands.migrate import written
from tpucompat.commands.verify.recorder import Recorder

#: More characters than this are not kept.
_MOST = 2**20
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)|\bnan\b|[-+]?\binf\b"
)
#: More numbers than this in a row are an array.
_FEW = 4
_NAMED = re.compile(r"\s*([^\W\d_][\w ]*?)(?:\s*(?:[:=]|[-=]>)\s*|\s+(?:is|are|was|were)\s+)(\S.*)")
_WORD = re.compile(r"[^\W\d_][\w-]*")
#: How NumPy 2 shows a number in a list or dictionary, where NumPy 1, and `tpucompat run`, show it alone.
_TYPED = re.compile(r"\bnp\.(?:u?int|float|longdouble|bool)\d*\(([^()]*)\)")


class Numbers(NamedTuple):
    """What is printed behind the same words.

    Attributes:
      values: In order.
      units: What one is of its last digit.
    """

    values: np.ndarray
    units: np.ndarray


class Printed:
    """Watches what the script, and modules beside it, write to standard output.

    Args:
      recorder: Where to write.
      script: The script's file.
    """

    def __init__(self, recorder: Recorder, script: str) -> None:
        self._recorder = recorder
        self._folder = os.path.join(os.path.dirname(os.path.realpath(script)), "")
        self._pieces: list[str] = []
        self._logged: list[str] = []
        self._size = 0
        self._repeating = 0

    def open(self) -> None:
        """Begins to watch."""
        stream: Any = sys.stdout
        original = stream.write

        def write(text: str) -> Any:
            own = not self._repeating and self._is_own(sys._getframe(1).f_globals)
            if own and self._size < _MOST:
                self._pieces.append(text)
                self._size += len(text)
            return original(text)

        stream.write = write
        self._open_logs()

    def _open_logs(self) -> None:
        """Begins to watch what the script logs; what is below the level of its logger is not said."""
        loggers: Any = logging.Logger
        original = loggers.handle

        @functools.wraps(original)
        def handle(this: Any, record: logging.LogRecord) -> Any:
            place = record.pathname
            written_loop = os.path.basename(place)[: -len(".py")] in written.LOOPS
            if not self._repeating and self._is_beside(place) and not written_loop:
                with contextlib.suppress(Exception):  # a wrong message is the handler's matter
                    self._logged.append(record.getMessage() + "\n")
            return original(this, record)

        loggers.handle = handle

    @contextlib.contextmanager
    def repeated(self) -> Iterator[None]:
        """Within: what is printed is printed again, and does not count."""
        self._repeating += 1
        try:
            yield
        finally:
            self._repeating -= 1

    def _is_own(self, names: dict[str, Any]) -> bool:
        return names.get("__name__") == "__main__" or self._is_beside(
            str(names.get("__file__", ""))
        )

    def _is_beside(self, file: str) -> bool:
        inside = os.path.realpath(file).startswith(self._folder) and "site-packages" not in file
        return bool(file) and inside

    def finish(self) -> None:
        """The script has ended."""
        self._recorder.write("printed", text="".join(self._pieces))
        self._recorder.write("logged", text="".join(self._logged)[:_MOST])


def numbers(text: str) -> dict[str, Numbers]:
    """Words -> the numbers behind them.

    A number without words of its own goes with the words before it. Of a few such numbers in a line the second
    one is apart from the first: beside a step, an error of a loss would be nothing.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for line in _TYPED.sub(r"\1", text).splitlines():
        runs: list[tuple[str, list[tuple[float, float]]]] = []
        end = 0
        for match in _NUMBER.finditer(line):
            words = _WORD.findall(line[end : match.start()])
            if words or not runs:
                runs.append((" ".join(words[-3:]), []))
            runs[-1][1].append((float(match.group()), _unit(match.group())))
            end = match.end()
        for name, values in runs:
            apart = len(values) <= _FEW
            for index, value in enumerate(values):
                label = f"{name} [{index}]".strip() if apart and index else name
                found.setdefault(label, []).append(value)
    return {
        name: Numbers(*(np.array(part) for part in zip(*values))) for name, values in found.items()
    }


def words(text: str) -> dict[str, str]:
    """What stands behind a name and a colon, in lines without numbers: answers, such as the name of a class."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        named = _NAMED.fullmatch(line)
        if named and not _NUMBER.search(line) and "/" not in line:
            found.setdefault(" ".join(named[1].split()), []).append(" ".join(named[2].split()))
    return {name: "; ".join(answers) for name, answers in found.items()}


def rounded(actual: Numbers, expected: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Both runs' numbers, equal where they differ by no more than a last digit of the old run.

    Fewer digits in the new run may hide no more than the limit of the rung.
    """
    ours, theirs = actual.values, expected.values
    if ours.shape == theirs.shape:
        near = np.abs(ours - theirs) <= 1.001 * expected.units
        # An integer is printed as a whole.
        near &= (actual.units < 1) | (expected.units < 1)
        ours = np.where(near, theirs, ours)
    return ours, theirs


def _unit(text: str) -> float:
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - decimals)) if text[-1].isdigit() else 1.0
