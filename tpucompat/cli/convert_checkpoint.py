"""``tpucompat convert-checkpoint``: writes a checkpoint in the format of another generation."""

from __future__ import annotations

import argparse
import os
from typing import Sequence

from tpucompat.checkpoints import conversion
from tpucompat.checkpoints.conversion import ConversionError
from tpucompat.checkpoints.formats import UnreadableError
from tpucompat.cli.failing import fail
from tpucompat.errors import ScriptError
from tpucompat.verify.comparison import read_mapping


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="tpucompat convert-checkpoint",
        description="Reads a checkpoint of TensorFlow 1 (names), TensorFlow 2 (objects) or Keras (.h5, .keras, "
        ".weights.h5) and writes its variables as another of these.",
    )
    result.add_argument("old", metavar="OLD", help="a file, a prefix, or a folder with checkpoints")
    result.add_argument("new", metavar="NEW", help="the file or prefix to write")
    result.add_argument(
        "--to", choices=conversion.KINDS, help="what to write; told by NEW's ending, or by --like"
    )
    result.add_argument(
        "--like",
        metavar="FILE",
        help="a checkpoint of the program that is going to read NEW; its names and layout are taken",
    )
    result.add_argument(
        "--map",
        metavar="FILE",
        help='JSON: {"name in NEW": "name in OLD"}, where names do not tell',
    )
    result.add_argument(
        "--partial", action="store_true", help="let variables without a twin keep --like's values"
    )
    return result


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns 0, or 2 if nothing could be converted."""
    options = parser().parse_args(argv)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        mapping = read_mapping(options.map) if options.map else None
        done = conversion.convert(
            options.old, options.new, options.to, options.like, mapping, options.partial
        )
    except (UnreadableError, ConversionError, ValueError, OSError) as error:
        return fail(ScriptError("TPU471", str(error)))
    print(f"{options.old} ({done.source}) -> {options.new} ({done.target})")
    width = max(map(len, done.names))
    for ours, theirs in done.names.items():
        how = f"  by {done.matches.how[ours]}" if done.matches is not None else ""
        print(f"  {ours:<{width}} <- {theirs}{how}")
    for name in done.kept:
        print(f"  {name:<{width}} keeps the value of {options.like}")
    print(f"{len(done.names)} variables, read back and equal")
    return 0
