"""``tpucompat check``: whether a script's TPU computations compile for a named TPU; none is needed."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from typing import Any, Iterable, NamedTuple, Sequence

from tpucompat.base import missing, package, targets, temporary
from tpucompat.base.errors import ScriptError, SetupError, TPUCompatError
from tpucompat.commands.check import compiler as compilers
from tpucompat.commands.check import rehearse, report
from tpucompat.commands.check.watcher import RECORDS
from tpucompat.commands.cli.failing import fail
from tpucompat.commands.cli.options import Parser, seconds

USAGE = "tpucompat check [OPTIONS] (SCRIPT | -m MODULE) [ARGUMENTS OF THE SCRIPT …]"


def parser() -> argparse.ArgumentParser:
    """The options of the command; everything behind the script's name is the script's."""
    result = Parser(
        prog="tpucompat check",
        usage=USAGE,
        description=__doc__,
        allow_abbrev=False,
    )
    add = result.add_argument
    add("--tpu", default=targets.DEFAULT, metavar="NAMES", help="default: %(default)s")
    add("--json", action="store_true", help="print everything as JSON")
    add("--full", action="store_true", help="compile at full effort, for the exact memory")
    add("--no-compiler", action="store_true", help="tier (a) only, even if libtpu is installed")
    add("--verbose", action="store_true", help="show the output of the script")
    add(
        "--keep",
        metavar="DIR",
        help="keep records, lowered programs and the script's output in DIR",
    )
    add(
        "--limit",
        type=seconds,
        default=600.0,
        metavar="S",
        help="time limit for the script (default: %(default)s s)",
    )
    add(
        "--patience",
        type=seconds,
        default=60.0,
        metavar="S",
        help=("stop the script after this long without a new computation (default: %(default)s s)"),
    )
    add("--compile-limit", type=seconds, default=300.0, metavar="S", help="for one compilation")
    add("--compile-memory", type=float, default=16.0, metavar="GIB", help="of the compiler")
    add(
        "--rehearse",
        metavar="N",
        help=(
            "also run the first epochs and steps of the script under TensorFlow's "
            "TPUStrategy on N simulated cores (or a TPU such as v3-8); the script may "
            "write files"
        ),
    )
    for name in ("--era", "--legacy-package", "--map"):
        add(name, action="append", default=[], metavar="X", help="as for tpucompat run")
    add("-m", dest="module", nargs=argparse.REMAINDER, help="check a module, as python -m runs it")
    add("script", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return result


class Run(NamedTuple):
    """What one run of the script left behind.

    Attributes:
      records: The computations.
      notes: What is to be said besides.
      ended: How the script ended.
    """

    records: list[dict[str, Any]]
    notes: list[str]
    ended: dict[str, Any]


def main(argv: Sequence[str]) -> int:
    """Runs the command.

    Returns:
      0 if everything compiles (without libtpu: lowers), 1 if something does not, 2 if that is not
      known or nothing could be run.
    """
    options = parser().parse_args(argv)
    folder = options.keep or temporary.make()
    os.makedirs(folder, exist_ok=True)
    try:
        return _check(options, os.path.abspath(folder))
    except TPUCompatError as error:
        return fail(error)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def _check(options: argparse.Namespace, folder: str) -> int:
    wanted = targets.parse(options.tpu)
    program = _program(options)
    libtpu, why = _compiler(options)
    name = f"libtpu {libtpu.version}".strip() if libtpu is not None else why
    checked: list[report.Checked] = []
    notes: list[str] = []
    ended: dict[str, Any] = {}
    missing: list[tuple[int, list[targets.Target]]] = []
    for replicas in sorted({target.replicas for target in wanted}, reverse=True):
        group = [target for target in wanted if target.replicas == replicas]
        done = _run(options, program, replicas, os.path.join(folder, str(replicas)))
        notes += [note for note in done.notes if note not in notes]
        ended = done.ended
        if not done.records:
            missing.append((replicas, group))
        checked += _compile(options, done.records, group, libtpu, name)
    for replicas, group in missing if checked else ():
        checked.append(report.unseen(replicas, group))
    if options.rehearse:
        checked.append(
            rehearse.check(options.rehearse, program, folder, options.limit, _environment())
        )
    if not checked:
        raise _nothing(ended, notes)
    licence = "" if libtpu is not None or options.no_compiler else compilers.LICENCE + ". " + _HOW
    if options.json:
        print(json.dumps(report.as_dict(checked, notes, name, ended), indent=2))
    else:
        print(report.text(checked, notes, licence), end="")
    return report.EXIT[report.overall(checked)]


_HOW = "Install it (python -m pip install libtpu) to compile the computations"


def _program(options: argparse.Namespace) -> list[str]:
    passed = [f"{name}={value}" for name in ("map",) for value in options.map]
    result = [f"--{each}" for each in passed]
    for name, values in (("--era", options.era), ("--legacy-package", options.legacy_package)):
        for value in values:
            result += [name, value]
    if options.module:
        return [*result, "-m", *options.module]
    if not options.script:
        raise ScriptError("TPU420", "No script was given.", USAGE)
    if not os.path.isfile(options.script[0]):
        raise ScriptError(
            "TPU420", f"{options.script[0]}: no such file", missing.next_step(options.script[0])
        )
    if options.script[0].endswith(".ipynb"):
        raise ScriptError(
            "TPU420",
            "Notebooks cannot be checked.",
            "Save the code as a script: `jupyter nbconvert --to script NOTEBOOK`, or in Jupyter's menu.",
        )
    return [*result, *options.script]


def _compiler(options: argparse.Namespace) -> tuple[compilers.Libtpu | None, str]:
    if options.no_compiler:
        return None, "the compiler is disabled (--no-compiler)"
    try:
        return compilers.find(), ""
    except SetupError as error:
        return None, error.cause


def _run(options: argparse.Namespace, program: list[str], replicas: int, folder: str) -> Run:
    """Runs the script for so many cores, as long as new computations come."""
    os.makedirs(folder, exist_ok=True)
    file = os.path.join(folder, RECORDS)
    if os.path.exists(file):
        os.remove(file)
    start = time.time()
    with open(os.path.join(folder, "output.txt"), "wb") as output:
        child = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tpucompat.commands.check.child",
                folder,
                str(replicas),
                *program,
            ],
            stdout=None if options.verbose and not options.json else output,
            stderr=None if options.verbose and not options.json else subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=_environment(),
        )
        stopped = ""
        try:
            while child.poll() is None and not stopped:
                time.sleep(0.1)
                quiet = time.time() - os.path.getmtime(file) if os.path.exists(file) else 0.0
                if time.time() - start > options.limit:
                    stopped = f"the script was stopped after {options.limit:.0f} s (--limit)"
                elif quiet > options.patience:
                    stopped = (
                        f"the script was stopped after {options.patience:.0f} s without a "
                        "new computation (--patience)"
                    )
        finally:
            child.kill()
            child.wait()
    return _read(file, stopped, os.path.join(folder, "output.txt"))


def _environment() -> dict[str, str]:
    environ = dict(os.environ, PYTHONPATH=os.pathsep.join([_root(), *_python_path()]))
    environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # No TPU is needed to check for one; the command line says how many cores there are.
    for name in ("TPUCOMPAT_REQUIRE_TPU", "TPUCOMPAT_CORES", "TPUCOMPAT_REHEARSE"):
        environ.pop(name, None)
    return environ


def _read(file: str, stopped: str, output: str) -> Run:
    records: list[dict[str, Any]] = []
    notes = [stopped] if stopped else []
    ended: dict[str, Any] = {}
    for record in _lines(file):
        if "end" in record:
            ended = record
        elif "note" in record:
            notes.append(record["note"])
        else:
            records.append(record)
    if not ended and not stopped:
        ended = {"error": "the process that ran the script exited", "line": ""}
    if ended.get("error"):
        where = f" at {ended['line']}" if ended.get("line") else ""
        notes.append(f"the script failed with {ended['error'].splitlines()[0][:300]}{where}")
    if not records:
        with open(output, encoding="utf-8", errors="replace") as text:
            ended["output"] = text.read()[-2000:]
    return Run(records, notes, ended)


def _lines(file: str) -> Iterable[dict[str, Any]]:
    if os.path.exists(file):
        with open(file, encoding="utf-8") as text:
            for line in text:
                if line.endswith("\n"):  # the last one may have been cut off
                    yield json.loads(line)


def _compile(
    options: argparse.Namespace,
    records: list[dict[str, Any]],
    group: list[targets.Target],
    libtpu: compilers.Libtpu | None,
    name: str,
) -> list[report.Checked]:
    compiler = None
    if libtpu is not None:
        limit = int(options.compile_memory * 2**30)
        compiler = compilers.Compiler(libtpu, options.compile_limit, limit)
    effort = "full" if options.full else "quick"
    result = []
    try:
        for record in records:
            rows = []
            for target in group:
                outcome = None
                if compiler is not None and record.get("program"):
                    outcome = compiler.compile(
                        record["program"], target, record["replicas"], effort
                    )
                rows.append(report.judge(record, target, outcome, name))
            result.append(report.Checked(record, rows))
    finally:
        if compiler is not None:
            compiler.close()
    return result


def _nothing(ended: dict[str, Any], notes: list[str]) -> TPUCompatError:
    cause = "No TPU computation was found"
    if ended.get("error"):
        cause += ": " + notes[-1]
    elif notes:
        cause += ": " + "; ".join(notes)
    else:
        cause += ": the script ended without one"
    step = ""
    error = ended.get("error", "")
    if error.startswith("ModuleNotFoundError"):
        step = "Install the package that the script imports, or put its folder on PYTHONPATH."
    elif ended.get("missing_file"):
        step = (
            "Provide the file that the script reads; --map replaces a bucket with a local folder."
        )
    elif error:
        step = "Read the output of the script (--verbose), and make it reach its training loop."
    return ScriptError("TPU378", cause + ".", step)


def _root() -> str:
    """The folder that this package was imported from."""
    return os.path.dirname(package.FOLDER)


def _python_path() -> list[str]:
    return list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
