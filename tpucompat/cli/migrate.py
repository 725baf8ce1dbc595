"""``tpucompat migrate``: rewrites old scripts and notebooks to TensorFlow 2.

It shows the changes unless it is told to write them.

Exit code 0: done, or nothing to do; 1 with --check: something would be rewritten; 2: a file cannot be read or
written, its rewriting was not verified, or the settings cannot be used. The other files are rewritten all the
same.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from typing import TYPE_CHECKING, Sequence

from tpucompat.cli.failing import fail
from tpucompat.errors import ScriptError, TPUCompatError

if TYPE_CHECKING:
    from tpucompat.migrate import plan


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="tpucompat migrate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("paths", nargs="+", metavar="PATH", help="file or folder")
    ways = result.add_mutually_exclusive_group()
    ways.add_argument("--diff", action="store_true", help="show the changes (default)")
    ways.add_argument("--check", action="store_true", help="list the files that would be rewritten")
    ways.add_argument("--write", action="store_true", help="rewrite the files")
    result.add_argument(
        "--unsafe", action="store_true", help="also make changes that may affect results"
    )
    result.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="skip files and folders that match",
    )
    result.add_argument(
        "--verify",
        action="store_true",
        help=(
            "run each script and its rewritten form with `tpucompat verify`; write only "
            "if they agree"
        ),
    )
    result.add_argument(
        "--try",
        dest="try_it",
        action="store_true",
        help="run each rewritten script for a few steps; write only if it succeeds",
    )
    result.add_argument(
        "--args",
        default="",
        metavar="'WORDS'",
        help="arguments of the scripts, for --verify and --try",
    )
    result.add_argument("--quiet", action="store_true", help="do not list the files")
    return result


def main(argv: Sequence[str]) -> int:
    """Runs the command.

    Args:
      argv: The arguments behind ``migrate``.

    Returns:
      The exit code.
    """
    from tpucompat.migrate import files, resolution, tree
    from tpucompat.scan import configuration, scanner

    options = parser().parse_args(argv)
    try:
        if sys.version_info < (3, 8):
            raise ScriptError("TPU453", "migrate requires Python 3.8 or later.")
        for path in options.paths:
            if not os.path.lexists(path):
                raise ScriptError("TPU420", f"{path}: no such file or folder.")
        settings = configuration.load(options.paths[0], exclude=options.exclude)
    except TPUCompatError as error:
        return fail(error)
    failed, changed = False, 0
    for result in tree.migrate(scanner.files(options.paths, settings), options.unsafe):
        for problem in result.problems:
            failed = True
            where = f"cell {problem.cell}:" if problem.cell else ""
            sys.stderr.write(f"{result.path}:{where}{problem.line}: {problem.code} {problem.was}\n")
        if not result.changed:
            continue
        changed += 1
        if options.verify and not _is_verified(result, options.args):
            failed = True
            sys.stderr.write(f"{result.path}: not verified, left unchanged\n")
            continue
        if options.write or options.try_it:
            result = resolution.mark(result)
        if options.try_it and not _runs(result, options.args):
            failed = True
            continue
        if options.write:
            try:
                files.write(result.path, result.before, result.after)
            except files.WriteError as error:
                failed = True
                fail(error)
                continue
        elif not options.check:
            _show(_diff(result.path, result.before, result.after))
        if not options.quiet and (options.write or options.check):
            _show(f"{result.path}: {tree.said(result)}\n")
    if failed:
        return 2
    return 1 if options.check and changed else 0


def _is_verified(result: plan.Result, arguments: str) -> bool:
    """Whether a rewriting computes what the original does, as far as that can be asked."""
    from tpucompat.migrate import plan, verification

    if result.way == plan.COMPATIBLE:
        # `verify` runs a migration as TensorFlow 2; this one sees what `tpucompat run` shows the original.
        sys.stderr.write(f"{result.path}: nothing to verify, it uses tpucompat.v1\n")
        return True
    return not result.path.endswith(".py") or verification.verify(result, arguments) == 0


def _runs(result: plan.Result, arguments: str) -> bool:
    """Whether a rewritten script runs under plain Python; what goes on with tpucompat.v1 is not tried."""
    from tpucompat.migrate import plan, trial

    if result.way == plan.COMPATIBLE or not result.path.endswith(".py"):
        return True
    error = trial.fails(result, arguments)
    if error:
        sys.stderr.write(f"{result.path}: TPU517 fails, left unchanged: {error}\n")
    return not error


def _diff(path: str, before: bytes, after: bytes) -> str:
    """A unified diff; lines end as they do in the file."""
    old, new = (
        data.decode("utf-8", "replace").splitlines(keepends=True) for data in (before, after)
    )
    name = path.replace(os.sep, "/").lstrip("/")
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )


def _show(text: str) -> None:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
