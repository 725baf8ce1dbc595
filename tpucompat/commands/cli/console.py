"""What all commands share on a terminal: colour, width, progress, and how much they say."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
from typing import TextIO

#: The commands' own logger; a library user may give it handlers, which then get the notices too.
LOGGER = logging.getLogger("tpucompat")

LEVELS = ("debug", "info", "warning", "error")
_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}


def has_colours(stream: TextIO) -> bool:
    """Whether to write colours: on a terminal, unless NO_COLOR or FORCE_COLOR is set.

    The rules are those of Python 3.13: NO_COLOR takes precedence over FORCE_COLOR.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    if os.environ.get("TERM") == "dumb":
        return False
    return bool(getattr(stream, "isatty", bool)())


def paint(text: str, style: str, colours: bool = True) -> str:
    """A text in a style, such as "red" or "bold red"; unchanged without colours."""
    codes = ";".join(_STYLES[word] for word in style.split())
    return f"\033[{codes}m{text}\033[0m" if colours and text and codes else text


def shown(name: str) -> str:
    """The name of a file with its control characters written out, so that a terminal does not obey them."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in name
    )


def width(most: int = 100) -> int:
    """How many columns a table may take: those of the terminal, 80 where there is none."""
    return min(shutil.get_terminal_size((80, 24)).columns, most)


def write(text: str) -> None:
    """Writes to standard output what its encoding can hold."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


class Progress:
    """A bar on standard error; silent where that is not a terminal.

    Args:
      total: The number of steps.
      stream: Where the bar is written.

    Attributes:
      name: Of the step's subject; it is shown before the text.
    """

    def __init__(self, total: int = 1, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._total, self._done = total, 0
        self.name = ""

    def __call__(self, text: str) -> None:
        """Shows that the next step begins."""
        self.show(self._done, self._total, f"{self.name}: {text}" if self.name else text)
        self._done += 1

    def show(self, done: int, total: int, text: str) -> None:
        """Shows that so many steps are done."""
        if self._shown:
            full = 24 * done // max(1, total)
            line = "█" * full + "░" * (24 - full) + " " + shown(text)
            self._stream.write("\r\033[K" + line[: width(200) - 1])
            self._stream.flush()

    def close(self) -> None:
        """Removes the bar."""
        if self._shown:
            self._stream.write("\r\033[K")
            self._stream.flush()


def add_logging(parser: argparse.ArgumentParser) -> None:
    """Adds ``--verbose`` and ``--log-level`` to a command's options."""
    parser.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="log what the command does; -vv logs details",
    )
    parser.add_argument("--log-level", choices=LEVELS, help="log messages of this level and above")


def set_up_logging(options: argparse.Namespace) -> None:
    """Sends the log to standard error, as far as the options ask for it."""
    level = getattr(options, "log_level", None)
    if not level and options.verbose:
        level = "info" if options.verbose == 1 else "debug"
    if not level or any(isinstance(each, _Handler) for each in LOGGER.handlers):
        return
    handler = _Handler()
    handler.setFormatter(logging.Formatter("tpucompat: %(levelname)s: %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level.upper())
    LOGGER.propagate = False


class _Handler(logging.Handler):
    """Writes to the current standard error. Notices are written there anyway: see ``journal.notice``."""

    takes_notices = False

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(self.format(record) + "\n")
