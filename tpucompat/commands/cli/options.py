"""Options of a command as rows of a table, and a parser whose errors say what to do."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import Any, Iterable, Mapping, NamedTuple, NoReturn

from tpucompat.base.errors import ScriptError
from tpucompat.commands.cli.failing import COULD_NOT_RUN, fail


class Option(NamedTuple):
    """What ``add_argument`` takes."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]


class Parser(argparse.ArgumentParser):
    """An argparse parser whose errors have a code, the option that may have been meant, and a next step.

    A description may be a docstring: its double backquotes become single ones.
    """

    def format_help(self) -> str:
        """The help, in plain text."""
        return super().format_help().replace("``", "`")

    def error(self, message: str) -> NoReturn:
        """Says what is wrong with the command line, and ends the process."""
        wrong = re.search(r"unrecognized arguments: (-[^\s=]+)", message)
        known = [name for action in self._actions for name in action.option_strings]
        close = difflib.get_close_matches(wrong.group(1), known, n=1) if wrong else []
        hint = f"; did you mean {close[0]}?" if close else ""
        next_step = f"`{self.prog} --help` lists the options."
        fail(ScriptError("TPU493", f"{self.prog}: {message}{hint}", next_step))
        self.exit(COULD_NOT_RUN)


def option(*names: str, **settings: Any) -> Option:
    """A row, written as a call of ``add_argument``."""
    return Option(names, settings)


def add_options(parser: argparse.ArgumentParser, options: Iterable[Option]) -> None:
    """Gives a parser the options of a table, in their order."""
    for names, settings in options:
        parser.add_argument(*names, **settings)


def positive(text: str) -> int:
    """The type of an option that takes a positive integer."""
    if not re.fullmatch(r"\s*\+?0*[1-9][0-9]*\s*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def seconds(text: str) -> float:
    """The type of an option that takes a length of time."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return value
