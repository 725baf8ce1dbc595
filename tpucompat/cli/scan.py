"""``tpucompat scan``: what is old in scripts and notebooks, and what becomes of it.

Exit code 0: nothing was found; 1: something was found, or a file cannot be read as Python; 2: a path does not
exist, or the settings cannot be used.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Sequence

from tpucompat.cli.failing import fail
from tpucompat.errors import ScriptError, TPUCompatError


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="tpucompat scan",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="file or folder")
    result.add_argument(
        "--format",
        choices=("text", "json", "sarif", "github"),
        default="text",
        help="default: text",
    )
    for name, what in (
        ("select", "report these codes only: TPU101, or TPU2 for all that begin so"),
        ("ignore", "do not report these codes"),
    ):
        result.add_argument("--" + name, action="append", default=[], metavar="CODES", help=what)
    result.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave files or folders out",
    )
    result.add_argument(
        "--guarded",
        action="store_true",
        help="show uses too that the program can do without (try/except, version checks)",
    )
    result.add_argument(
        "--jobs", type=int, metavar="N", help="processes; default: one for each core"
    )
    return result


def main(argv: Sequence[str]) -> int:
    """Runs the command.

    Args:
      argv: The arguments behind ``scan``.

    Returns:
      The exit code.
    """
    from tpucompat.scan import configuration, reporters, scanner

    options = parser().parse_args(argv)
    try:
        for path in options.paths:
            if not os.path.lexists(path):
                raise ScriptError("TPU420", f"{path}: there is no such file or folder.")
        settings = configuration.load(
            options.paths[0], _codes(options.select), _codes(options.ignore), options.exclude
        )
    except TPUCompatError as error:
        return fail(error)
    reports = scanner.scan(scanner.files(options.paths, settings), settings, options.jobs)
    _write(reporters.FORMATS[options.format](reports, options.guarded))
    found = any(not one.guarded for report in reports for one in report.findings)
    return 1 if found else 0


def _codes(words: Sequence[str]) -> list[str]:
    return [code.strip().upper() for word in words for code in word.split(",") if code.strip()]


def _write(text: str) -> None:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
