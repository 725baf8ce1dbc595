"""``tpucompat migrate``: rewrites old scripts and notebooks to TensorFlow 2.

It shows the changes; with --write it writes them.

Exit code 0: done, or nothing to do; 1 with --check: something would be rewritten; 2: a file cannot be read or
written, its rewriting was not verified, or the settings cannot be used. The other files are rewritten all the
same.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Iterable, Iterator, Sequence

from tpucompat.base import missing
from tpucompat.base.errors import ScriptError, TPUCompatError
from tpucompat.commands.cli import console, line_diff
from tpucompat.commands.cli.failing import fail
from tpucompat.commands.cli.options import Parser, add_options, option
from tpucompat.commands.migrate import (
    files,
    keras_2,
    plan,
    report,
    resolution,
    tree,
    trial,
    verification,
)
from tpucompat.commands.scan import configuration, scanner

_OPTIONS = (
    option("--backup", action="store_true", help="with --write: keep each old file as FILE.orig"),
    option(
        "--keras",
        choices=("2", "3"),
        default="3",
        help="which Keras the rewritten scripts import: that of TensorFlow, or the package tf-keras",
    ),
    option("--unsafe", action="store_true", help="also make changes that may affect results"),
    option(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="skip files and folders that match",
    ),
    option(
        "--verify",
        action="store_true",
        help=(
            "run each script and its rewritten form with `tpucompat verify`, on one replica, 8 emulated "
            "cores and 8 rehearsed cores; write only if they agree. The comparison is saved beside the "
            "script as SCRIPT.verify.json"
        ),
    ),
    option(
        "--try",
        dest="try_it",
        action="store_true",
        help="run each rewritten script for a few steps; write only if it succeeds",
    ),
    option(
        "--args",
        default="",
        metavar="'WORDS'",
        help="arguments of the scripts, for --verify and --try",
    ),
    option("--format", choices=("text", "json"), default="text", help="json: the report as data"),
    option(
        "--report",
        action="append",
        default=[],
        metavar="FILE",
        help="write a report with each change, its rule and each use of an API: a page if the name ends in "
        ".html, data if it ends in .json; may be repeated",
    ),
    option("--quiet", action="store_true", help="do not list the files"),
)


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = Parser(
        prog="tpucompat migrate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("paths", nargs="+", metavar="PATH", help="file or folder")
    ways = result.add_mutually_exclusive_group()
    ways.add_argument("--diff", action="store_true", help="show the changes (default)")
    ways.add_argument("--check", action="store_true", help="list the files that would be rewritten")
    ways.add_argument("--write", action="store_true", help="rewrite the files")
    ways.add_argument(
        "--output",
        metavar="FOLDER",
        help="write the results to this folder, with the unchanged files",
    )
    add_options(result, _OPTIONS)
    console.add_logging(result)
    return result


def main(argv: Sequence[str]) -> int:
    """Runs the command.

    Args:
      argv: The arguments behind ``migrate``.

    Returns:
      The exit code.
    """
    options = parser().parse_args(argv)
    console.set_up_logging(options)
    try:
        _check(options)
        settings = configuration.load(options.paths[0], exclude=options.exclude)
    except TPUCompatError as error:
        return fail(error)
    files = list(scanner.files(options.paths, settings))
    results: Iterable[plan.Result] = _watched(
        tree.migrate(files, options.unsafe, int(options.keras)), len(files)
    )
    if options.write or options.output or options.try_it or options.report:
        results = resolution.mark(tree.with_parts(list(results)))
    outcomes = []
    failed = False
    for result in results:
        outcome = _deal_with(result, options)
        failed = failed or bool(outcome.why or result.problems)
        outcomes.append(outcome)
    if options.format == "json":
        console.write(json.dumps(report.document(outcomes), indent=1) + "\n")
    try:
        for path in options.report:
            report.write(path, outcomes)
        if options.keras == "2":
            _require_keras_2(outcomes, options)
    except TPUCompatError as error:
        return fail(error)
    if failed:
        return 2
    return 1 if options.check and any(one.result.changed for one in outcomes) else 0


def _watched(results: Iterator[plan.Result], total: int) -> Iterator[plan.Result]:
    """The results; while one is made, the terminal shows how many there are."""
    bar = console.Progress()
    for done in range(total + 1):
        bar.show(done, total, f"{done} of {total} files")
        result = next(results, None)
        bar.close()
        if result is None:
            return
        console.LOGGER.info("%s: %s", result.path, result.way)
        yield result


def _check(options: argparse.Namespace) -> None:
    if sys.version_info < (3, 9):
        raise ScriptError("TPU453", "migrate requires Python 3.9 or later.")
    for path in options.paths:
        if not os.path.lexists(path):
            raise ScriptError("TPU420", f"{path}: no such file or folder.", missing.next_step(path))
    for path in options.report:
        if not path.endswith((".html", ".json")):
            raise ScriptError(
                "TPU493",
                f"--report {path}: the name must end in .html or .json.",
                "Rename the file.",
            )
    if options.output and os.path.lexists(options.output) and not os.path.isdir(options.output):
        raise ScriptError("TPU452", f"--output {options.output} is a file.", "Name a folder.")
    if options.backup and not options.write:
        raise ScriptError("TPU493", "--backup requires --write.", "Add --write.")


def _deal_with(result: plan.Result, options: argparse.Namespace) -> report.Outcome:
    """Verifies, tries, writes or shows one file."""
    name = console.shown(result.path)
    for problem in result.problems:
        where = f"cell {problem.cell}:" if problem.cell else ""
        sys.stderr.write(f"{name}:{where}{problem.line}: {problem.code} {problem.was}\n")
    target = _target(result.path, options)
    outcome = report.Outcome(result)
    try:
        if options.verify and result.changed and result.path.endswith(".py"):
            compared = verification.compare(result, options.args, target or result.path)
            outcome = outcome._replace(verified=compared.comparisons)
            if compared.exit_code:
                sys.stderr.write(f"{name}: not verified, left unchanged\n")
                return outcome._replace(why=compared.why)
        if options.try_it and result.changed and result.path.endswith(".py"):
            error = trial.fails(result, options.args)
            if error:
                why = f"TPU517 fails, left unchanged: {error}"
                sys.stderr.write(f"{name}: {why}\n")
                return outcome._replace(why=why)
        if target and (result.changed or options.output):
            _write(result, target, options)
            outcome = outcome._replace(written=target)
    except TPUCompatError as error:
        fail(error)
        return outcome._replace(why=str(error))
    if not result.changed or options.format == "json":
        return outcome
    if not target and not options.check:
        diff = _diff(result.path, result.before, result.after)
        console.write(_coloured(diff) if console.has_colours(sys.stdout) else diff)
        for module in result.beside:
            beside = os.path.join(os.path.dirname(result.path), module)
            console.write(f"and {console.shown(beside)}\n")
    if not options.quiet and (target or options.check):
        console.write(f"{name}: {tree.said(result, not options.check)}\n")
    return outcome


def _target(path: str, options: argparse.Namespace) -> str:
    """Where a file is written to; "" where nothing is written."""
    if options.write:
        return path
    if not options.output:
        return ""
    for given in options.paths:
        folder = os.path.abspath(given)
        if os.path.isdir(folder) and os.path.abspath(path).startswith(folder + os.sep):
            return os.path.join(options.output, os.path.relpath(os.path.abspath(path), folder))
    return os.path.join(options.output, os.path.basename(path))


def _write(result: plan.Result, target: str, options: argparse.Namespace) -> None:
    beside = files.beside(result.beside, os.path.dirname(target))
    if options.output:
        files.place(target, result.after)
    else:
        if options.backup:
            files.keep(result.path, result.before)
        files.write(target, result.before, result.after)
    for place, content in beside.items():
        files.place(place, content)


def _require_keras_2(outcomes: Sequence[report.Outcome], options: argparse.Namespace) -> None:
    """Says that tf-keras is needed, and adds it to the requirements beside what was written."""
    needs = [one for one in outcomes if keras_2.is_needed(one.result)]
    if not needs:
        return
    added = [] if options.check else keras_2.require(one.written for one in needs if one.written)
    if not options.quiet and options.format == "text":
        where = f"; added to {', '.join(added)}" if added else ""
        console.write(
            f"Keras 2 requires the package tf-keras: pip install {keras_2.REQUIREMENT}{where}\n"
        )


def _diff(path: str, before: bytes, after: bytes) -> str:
    """A unified diff; lines end as they do in the file."""
    old, new = (
        data.decode("utf-8", "replace").splitlines(keepends=True) for data in (before, after)
    )
    name = path.replace(os.sep, "/").lstrip("/")
    lines = line_diff.unified(old, new, f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )


def _coloured(diff: str) -> str:
    """A diff in the colours of `git diff`; line ends stay outside of the colours."""
    styles = {"---": "bold", "+++": "bold", "@@ ": "cyan", "-": "red", "+": "green"}
    painted = []
    for line in diff.splitlines(keepends=True):
        text = line.rstrip("\r\n")
        style = next((styles[start] for start in styles if text.startswith(start)), "")
        painted.append(console.paint(text, style) + line[len(text) :])
    return "".join(painted)
