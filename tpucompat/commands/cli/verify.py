"""``tpucompat verify``: runs an old script and its migration, and compares what they compute."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from typing import Any, Sequence

from tpucompat.base import package, targets, temporary
from tpucompat.base.errors import ScriptError, TPUCompatError
from tpucompat.commands.cli import console
from tpucompat.commands.cli.failing import fail
from tpucompat.commands.cli.options import Parser, add_options, option, positive, seconds
from tpucompat.commands.verify import comparison, pairs, proofs, seeds, tolerances
from tpucompat.commands.verify.comparison import Result, Task
from tpucompat.commands.verify.report import as_json, markdown, page, terminal
from tpucompat.commands.verify.runs import Half, described
from tpucompat.runtime import rounding

#: What is told while a pair is compared: old, new, comparing.
_STAGES = 3


_OPTIONS = (
    option("old", metavar="OLD", nargs="?", help="the old script"),
    option("new", metavar="NEW", nargs="?", help="its migration"),
    option("--args", default="", metavar="'WORDS'", help="arguments of both scripts"),
    option(
        "--old-args", default="", metavar="'WORDS'", help="additional arguments of the old script"
    ),
    option(
        "--new-args", default="", metavar="'WORDS'", help="additional arguments of the new script"
    ),
    option(
        "--first-run",
        metavar="'WORDS'",
        help=(
            "run both scripts once before, with these additional arguments and the same {out}, and "
            "compare how they continue"
        ),
    ),
    option(
        "--old-options",
        default="",
        metavar="'WORDS'",
        help=("options of `tpucompat run` for the old script, such as '--map gs://bucket=DIR'"),
    ),
    option(
        "--python-old", metavar="PYTHON", default=sys.executable, help="with TensorFlow 1.15 or 2"
    ),
    option("--python-new", metavar="PYTHON", default=sys.executable, help="with TensorFlow 2"),
    option("--cores", type=positive, action="append", metavar="N", help="emulate N cores"),
    option(
        "--rehearse",
        action="append",
        default=[],
        metavar="N",
        help=(
            "run both under TensorFlow's TPUStrategy on N simulated cores (or a TPU such as v3-8)"
        ),
    ),
    option(
        "--map",
        metavar="FILE",
        help='JSON file that assigns variables: {"new variable": "old variable"}',
    ),
    option(
        "--tolerance",
        action="append",
        default=[],
        metavar="RUNG=LIMIT",
        help=(
            "limit for a rung (forward, loss, gradients, update, moved, steps, final, "
            "evaluation, prediction, export, files); may be repeated"
        ),
    ),
    option(
        "--ignore",
        action="append",
        default=[],
        metavar="PATTERN",
        help=(
            "numbers to ignore, in files or printed, such as '*time*', or a rung, such "
            "as evaluation; may be repeated"
        ),
    ),
    option(
        "--seed",
        type=int,
        default=0,
        help="seed for both scripts; a script's own seed overrides it",
    ),
    option(
        "--seeds",
        type=positive,
        default=1,
        metavar="N",
        help=(
            "run each script with N seeds (5 or more) and compare the distributions of "
            "the final losses, for scripts with dropout or other random numbers"
        ),
    ),
    option(
        "--no-dropout",
        action="store_true",
        help=(
            "disable dropout in both scripts and compare only the rates, so that all other "
            "comparisons are exact"
        ),
    ),
    option("--timeout", type=seconds, metavar="SECONDS", help="time limit of each run"),
    option(
        "--format",
        choices=("text", "markdown"),
        default="text",
        help="format of the result; markdown is a summary to paste into a pull request",
    ),
    option("--json", metavar="FILE", help="write the comparison as JSON; - for standard output"),
    option("--html", metavar="FILE", help="write an HTML report (with --all: a folder of reports)"),
    option("--keep", metavar="DIR", help="keep recordings and the files of the scripts in DIR"),
    option(
        "--check-tpu",
        metavar="NAMES",
        default="",
        help="also check whether both compile for these TPUs, such as v5e-8,v3-8",
    ),
    option("--all", action="store_true", help="compare all pairs of examples.toml"),
    option("--examples", metavar="FILE", help="table of pairs to use instead"),
    option("--pair", action="append", metavar="NAME", help="with --all: only this pair"),
)


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = Parser(
        prog="tpucompat verify",
        description=(
            "Runs OLD with `tpucompat run` and NEW with plain python, from the "
            "same initial values, and compares the results. Exit codes: 0 they "
            "agree; 1 they differ; 2 they could not be compared."
        ),
    )
    add_options(result, _OPTIONS)
    console.add_logging(result)
    return result


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    options = parser().parse_args(argv)
    console.set_up_logging(options)
    try:
        if options.check_tpu:
            targets.parse(options.check_tpu)
        rounding.exact(os.environ)  # before anything runs
        tasks = [task._replace(tpus=options.check_tpu) for task in _tasks(options)]
    except TPUCompatError as error:
        return fail(error)
    except ValueError as error:
        return fail(ScriptError("TPU470", str(error)))
    folder = os.path.abspath(options.keep or temporary.make())
    stages = _STAGES + 2 * bool(options.check_tpu)
    progress = console.Progress(stages * len(tasks))
    results = []
    try:
        for index, task in enumerate(tasks):
            here = os.path.join(folder, f"{index:02d}-{_slug(task.name)}")
            shutil.rmtree(here, ignore_errors=True)
            progress.name = task.name
            console.LOGGER.info("comparing %s in %s", task.name, here)
            result = comparison.verify(task, here, progress)
            results.append(result)
            progress.close()
            _report(result, options)
    except comparison.PreparationError as error:
        return fail(ScriptError("TPU470", str(error)))
    finally:
        progress.close()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    _report_all(results, options)
    return max(_exit_codes(results))


def _exit_codes(results: Sequence[Result]) -> list[int]:
    # What differs is worse news than what could not be compared, but less than all is known then.
    codes = [result.exit_code for result in results]
    refused = [proofs.verdict(proof) for result in results for proof in result.proofs.values()]
    return [*codes, *(1 for verdict in refused if verdict == "does not compile")] or [2]


def _tasks(options: argparse.Namespace) -> list[Task]:
    asked = [(number, "") for number in options.cores or ()]
    asked += [(_rehearsed(given), given) for given in options.rehearse]
    for python in (options.python_old, options.python_new):
        if not shutil.which(python):
            raise ValueError(f"{python}: no such Python")
    if 1 < options.seeds < seeds.FEWEST:
        raise ValueError(f"--seeds {options.seeds}: at least {seeds.FEWEST} are required")
    if options.all:
        if options.old or options.new:
            raise ValueError("--all compares the pairs of a table: leave out OLD and NEW, or --all")
        return _all_tasks(options, asked)
    if not options.old or not options.new:
        raise ValueError("two scripts are required, the old one and the new one, or --all")
    if options.pair or options.examples:
        raise ValueError("--pair and --examples require --all")
    for script in (options.old, options.new):
        if not os.path.isfile(script):
            raise ValueError(f"{script}: no such file")
    both = shlex.split(options.args)
    first = None if options.first_run is None else shlex.split(options.first_run)
    mapping = comparison.read_mapping(options.map) if options.map else {}
    limits = dict(map(_tolerance, options.tolerance))
    return [
        Task(
            f"{os.path.basename(options.old)} → {os.path.basename(options.new)}"
            + (f", {described(count, bool(rehearse))}" if rehearse or count > 1 else ""),
            Half(
                options.old,
                [*both, *shlex.split(options.old_args)],
                options.python_old,
                True,
                count,
                shlex.split(options.old_options),
                rehearse,
                not options.no_dropout,
                first,
            ),
            Half(
                options.new,
                [*both, *shlex.split(options.new_args)],
                options.python_new,
                False,
                count,
                rehearse=rehearse,
                dropout=not options.no_dropout,
                first=first,
            ),
            mapping,
            limits,
            {**comparison.IGNORED, **dict.fromkeys(options.ignore, "asked for (--ignore)")},
            options.seed,
            options.timeout,
            seeds=options.seeds,
        )
        for count, rehearse in asked or [(1, "")]
    ]


def _rehearsed(given: str) -> int:
    found = targets.slice_of(given)
    if found is None:
        raise ValueError(f"--rehearse {given} is neither a number of cores nor a TPU name")
    return found.cores


def _all_tasks(options: argparse.Namespace, asked: Sequence[tuple[int, str]]) -> list[Task]:
    table = options.examples
    if table is None:
        root = os.path.dirname(package.FOLDER)
        places = [os.path.join(place, "examples.toml") for place in (os.getcwd(), root)]
        table = next(filter(os.path.exists, places), places[0])
    found = pairs.read(table)
    names = [pair.name for pair in found]
    for name in options.pair or ():
        if name not in names:
            raise ValueError(f"{table} has no pair {name!r}; it has {', '.join(names)}")
    return [
        pair.task(count, options.python_old, options.python_new, options.timeout, rehearse)
        for pair in found
        if not options.pair or pair.name in options.pair
        for count, rehearse in (asked or [(count, "") for count in pair.cores])
    ]


def _tolerance(text: str) -> tuple[str, dict[str, Any]]:
    rung, _, limit = text.partition("=")
    try:
        value = float(limit)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise ValueError(f"--tolerance {text}: expected RUNG=LIMIT, such as steps=1e-2")
    change = {"limit": value, "why": "set on the command line (--tolerance)"}
    tolerances.tolerances({rung: change})  # knows the rungs
    return rung, change


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name).strip("-")


def _report(result: Result, options: argparse.Namespace) -> None:
    is_text = options.format == "text"
    if options.json != "-" and not is_text:
        print(markdown.summary(result))
    elif options.json != "-":
        print(terminal.table(result, console.has_colours(sys.stdout), console.width()))
        print()
    if options.html:
        path = options.html
        if options.all:
            os.makedirs(path, exist_ok=True)
            path = os.path.join(path, _slug(result.name) + ".html")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(page.page(result))
        print(
            f"  page: {path}\n",
            file=sys.stderr if options.json == "-" or not is_text else sys.stdout,
        )


def _report_all(results: Sequence[Result], options: argparse.Namespace) -> None:
    if options.all and options.json != "-" and options.format == "text":
        print(terminal.summary(results, console.has_colours(sys.stdout)))
    if options.json:
        documents: Any = [as_json.document(result) for result in results]
        text = json.dumps(documents if len(documents) != 1 else documents[0], indent=1)
        if options.json == "-":
            print(text)
        else:
            with open(options.json, "w", encoding="utf-8") as stream:
                stream.write(text + "\n")
