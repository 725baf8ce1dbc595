"""Options of a command as rows of a table."""

from __future__ import annotations

import argparse
from typing import Any, Iterable, Mapping, NamedTuple


class Option(NamedTuple):
    """What ``add_argument`` takes."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]


def option(*names: str, **settings: Any) -> Option:
    """A row, written as a call of ``add_argument``."""
    return Option(names, settings)


def add_options(parser: argparse.ArgumentParser, options: Iterable[Option]) -> None:
    """Gives a parser the options of a table, in their order."""
    for names, settings in options:
        parser.add_argument(*names, **settings)
