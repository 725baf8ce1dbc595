"""``tpucompat convert-checkpoint``: writes a checkpoint in the format of another generation."""

from __future__ import annotations

import argparse
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
from typing import Any, Sequence

from tpucompat.base import native_log, processes
from tpucompat.base.errors import ScriptError
from tpucompat.commands.checkpoints import conversion, optimizers, slots
from tpucompat.commands.checkpoints.conversion import ConversionError
from tpucompat.commands.checkpoints.formats import MissingError, UnreadableError
from tpucompat.commands.checkpoints.hdf5 import UnsafeError
from tpucompat.commands.cli.failing import fail
from tpucompat.commands.cli.options import Parser
from tpucompat.commands.verify.comparison import read_mapping

#: How long a conversion may take: this, and as long as a slow disk takes for the files.
SECONDS = 120
BYTES_A_SECOND = 1 << 20
# For a path where nothing is.
_PATH = "Check the path: a file, the prefix of a checkpoint, or a folder with checkpoints."


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = Parser(
        prog="tpucompat convert-checkpoint",
        description=(
            "Converts a checkpoint between TensorFlow 1 (name-based), TensorFlow "
            "2 (object-based) and Keras (.h5, .keras, .weights.h5)."
        ),
    )
    result.add_argument(
        "old", metavar="OLD", help="a file, a checkpoint prefix, or a folder with checkpoints"
    )
    result.add_argument("new", metavar="NEW", help="the file or prefix to write")
    result.add_argument(
        "--to",
        choices=conversion.KINDS,
        help=("output format (default: from the extension of NEW, or from --like)"),
    )
    result.add_argument(
        "--like",
        metavar="FILE",
        help=("a checkpoint of the program that will read NEW; NEW gets its names and layout"),
    )
    result.add_argument(
        "--map",
        metavar="FILE",
        help='JSON file that assigns variables: {"name in NEW": "name in OLD"}',
    )
    result.add_argument(
        "--partial",
        action="store_true",
        help="variables without a match keep their value from --like",
    )
    result.add_argument("--json", action="store_true", help="print the result as JSON")
    result.add_argument(
        "--optimizer",
        choices=("auto", *slots.NAMES),
        help=(
            "also convert the optimizer's state; --like must contain that of the new program's optimizer "
            "(auto: recognize the optimizer)"
        ),
    )
    result.add_argument(
        "--step",
        metavar="N",
        type=int,
        help="number of updates that the optimizer has made (default: from OLD)",
    )
    result.add_argument(
        "--learning-rate",
        metavar="RATE",
        type=float,
        help="learning rate of the next step, for momentum (default: from the Keras file)",
    )
    return result


def main(argv: Sequence[str]) -> int:
    """Runs the command in a process of its own; returns 0, or 2 if nothing could be converted.

    The libraries that read checkpoints are written in C and C++. A damaged file can end them, or let them read
    for ever; the file that is written takes its place as the last thing they do.
    """
    options = parser().parse_args(argv)
    files = [name for name in (options.old, options.like) if name]
    limit = SECONDS + sum(map(_size, files)) / BYTES_A_SECOND
    start = "from tpucompat.commands.cli import convert_checkpoint as c; sys.exit(c.convert(sys.argv[1:]))"
    command = processes.statement(start, *argv)
    environment = dict(os.environ, PYTHONIOENCODING="utf-8")
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            code = subprocess.run(
                command, stdout=output, stderr=errors, timeout=limit, env=environment
            ).returncode
        except subprocess.TimeoutExpired:
            said = f"did not finish in {limit:.0f} s"
            return fail(ScriptError("TPU488", f"{', '.join(files)}: the reader {said}."))
        if code < 0:
            said = f"was killed by signal {-code} ({_signal(-code)})"
            return fail(ScriptError("TPU488", f"{', '.join(files)}: the reader {said}."))
        for written, stream in ((errors, sys.stderr), (output, sys.stdout)):
            written.seek(0)
            stream.write(written.read().decode("utf-8", "replace"))
    return code


def _size(path: str) -> int:
    if os.path.isdir(path):
        return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())
    names = [path, *glob.glob(glob.escape(path) + ".data-*")]
    return sum(os.path.getsize(name) for name in names if os.path.isfile(name))


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def convert(argv: Sequence[str]) -> int:
    """The command in this process."""
    options = parser().parse_args(argv)
    native_log.quieten()
    try:
        mapping = read_mapping(options.map) if options.map else None
        wanted = None
        if options.optimizer:
            wanted = optimizers.Wanted(options.optimizer, options.step, options.learning_rate)
        elif options.step is not None or options.learning_rate is not None:
            raise ConversionError("--step and --learning-rate require --optimizer")
        done = conversion.convert(
            *(options.old, options.new, options.to, options.like),
            mapping=mapping,
            partial=options.partial,
            optimizer=wanted,
        )
    except UnsafeError as error:
        return fail(ScriptError("TPU486", str(error)))
    except MissingError as error:
        return fail(ScriptError("TPU471", str(error), _PATH))
    except (UnreadableError, ConversionError, ValueError, OSError) as error:
        return fail(ScriptError("TPU471", str(error)))
    if options.json:
        print(json.dumps(_document(options, done), indent=1))
        return 0
    print(f"{options.old} ({done.source}) -> {options.new} ({done.target})")
    width = max(map(len, done.names), default=0)
    for ours, theirs in done.names.items():
        how = f"  by {done.matches.how[ours]}" if done.matches is not None else ""
        print(f"  {ours:<{width}} <- {theirs}{how}")
    for key, origin in (done.state or {}).items():
        print(f"  {key} <- {origin}")
    for name in done.kept:
        print(f"  {name:<{width}} keeps the value of {options.like}")
    for remark in done.remarks:
        print(f"  {remark}")
    state = "" if done.state is None else f" and {len(done.state)} values of the optimizer"
    print(f"{len(done.names)} variables{state} written and verified")
    return 0


def _document(options: argparse.Namespace, done: conversion.Converted) -> dict[str, Any]:
    how = done.matches.how if done.matches is not None else {}
    return {
        "old": options.old,
        "old_format": done.source,
        "new": options.new,
        "new_format": done.target,
        "variables": [
            {"name": name, "was": was, "by": how.get(name, "")} for name, was in done.names.items()
        ],
        "kept": list(done.kept),
        "remarks": list(done.remarks),
        "state": [{"name": key, "was": was} for key, was in (done.state or {}).items()],
    }
