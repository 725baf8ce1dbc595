"""Finds TensorFlow 1 code, and code that TPUs do not support, in scripts and notebooks.

Exit codes: 0 no findings; 1 findings, or a file that is not valid Python; 2 a path does not exist, or the
configuration is invalid.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Sequence

from tpucompat.base import missing
from tpucompat.base.errors import ScriptError, TPUCompatError
from tpucompat.commands.cli import console
from tpucompat.commands.cli.failing import fail
from tpucompat.commands.cli.options import Parser, positive
from tpucompat.commands.scan import configuration, reporters, scanner


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = Parser(
        prog="tpucompat scan",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="file or folder")
    result.add_argument(
        "--format",
        choices=("text", "json", "sarif", "github"),
        default="text",
        help="output format (default: text)",
    )
    for name, what in (
        ("select", "report only these codes; TPU2 selects all codes that begin with TPU2"),
        ("ignore", "do not report these codes"),
    ):
        result.add_argument("--" + name, action="append", default=[], metavar="CODES", help=what)
    result.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="skip files and folders that match",
    )
    result.add_argument(
        "--guarded",
        action="store_true",
        help="also show guarded uses (in try/except or behind a version check)",
    )
    result.add_argument(
        "--jobs", type=positive, metavar="N", help="number of processes (default: one per core)"
    )
    console.add_logging(result)
    return result


def main(argv: Sequence[str]) -> int:
    """Runs the command.

    Args:
      argv: The arguments behind ``scan``.

    Returns:
      The exit code.
    """
    options = parser().parse_args(argv)
    console.set_up_logging(options)
    try:
        for path in options.paths:
            if not os.path.lexists(path):
                raise ScriptError(
                    "TPU420", f"{path}: no such file or folder.", missing.next_step(path)
                )
        settings = configuration.load(
            options.paths[0], _codes(options.select), _codes(options.ignore), options.exclude
        )
    except TPUCompatError as error:
        return fail(error)
    bar = console.Progress()

    def progress(done: int, total: int) -> None:
        if done % 16 == 0:
            bar.show(done, total, f"{done} of {total} files")

    files = list(scanner.files(options.paths, settings))
    for path in files:
        console.LOGGER.info("scanning %s", path)
    reports = scanner.scan(files, settings, options.jobs, progress)
    bar.close()
    if options.format == "text":
        text = reporters.text(reports, options.guarded, console.has_colours(sys.stdout))
    else:
        text = reporters.FORMATS[options.format](reports, options.guarded)
    console.write(text)
    found = any(not one.guarded for report in reports for one in report.findings)
    return 1 if found else 0


def _codes(words: Sequence[str]) -> list[str]:
    return [code.strip().upper() for word in words for code in word.split(",") if code.strip()]
