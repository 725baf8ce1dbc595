"""Compares the first pair with TensorFlow 1.15, step by step, on several interpreters.

    python tools/compare_first_pair.py [--cores N] PYTHON [PYTHON ...]

Every interpreter trains the legacy half through tpucompat (and the migrated half as it is, where it
has TensorFlow 2) from the same weights on the same batches, with dropout off, on one replica. The
losses are compared with the recorded ones of TensorFlow 1.15 (``tools/record_reference.py``), or
with a run of TPUCOMPAT_TF115_PYTHON where that is set and ``--live`` is given. ``--cores N``
adds N emulated cores against one replica. Exit code 1 if a limit is passed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, NamedTuple

import first_pair

#: Why several cores may part from one replica after the first steps.
CORES_PART = (
    "TensorFlow 1.13 joined the cores' outputs before the loss, so that Keras finds no softmax there "
    "to take the logits of, and clips probabilities at 1e-7. The curves part at the first image "
    "whose class gets less than that."
)


class Row(NamedTuple):
    """One compared run."""

    what: str
    case: str
    first: float
    whole: float
    validation: float
    limit: float

    @property
    def agrees(self) -> bool:
        """Whether the first steps are within the limit."""
        return self.first <= self.limit


def compare(
    what: str, case: str, got: dict[str, Any], expected: dict[str, Any], limit: float
) -> Row:
    """One row: the largest difference over the first steps and over all of them."""
    parts = first_pair.differences(got["step_loss"], expected["step_loss"])
    validation = first_pair.differences(
        got["epochs"]["val_loss"][-1:], expected["epochs"]["val_loss"][-1:]
    )
    first = first_pair.CASES[case].first
    return Row(what, case, parts[:first].max(), parts.max(), validation.max(), limit)


def main() -> int:
    """Trains, compares and prints the table; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python", nargs="+", help="an interpreter with TensorFlow")
    parser.add_argument("--case", action="append", choices=first_pair.CASES, help="default: all")
    parser.add_argument("--cores", type=int, help="also N emulated cores against one replica")
    parser.add_argument(
        "--live", action="store_true", help="run TensorFlow 1.15 instead of reading"
    )
    args = parser.parse_args()

    with open(first_pair.REFERENCE, encoding="utf-8") as stream:
        reference = json.load(stream)
    steps, epochs = reference["steps"], reference["epochs"]
    rows = []

    def show(row: Row) -> None:
        rows.append(row)
        print(
            f"{row.what:<42} {row.case:<20} {row.first:>10.1e} {row.whole:>10.1e} "
            f"{row.validation:>10.1e} {row.limit:>8.0e}  {'ok' if row.agrees else 'DIFFERS'}",
            flush=True,
        )

    print(
        f"reference: TensorFlow {reference['versions']['tensorflow']}; relative differences of loss"
    )
    print(
        f"{'run':<42} {'case':<20} {'10 steps':>10} {f'{steps} steps':>10} "
        f"{'validation':>10} {'limit':>8}"
    )
    for name in args.case or first_pair.CASES:
        case = first_pair.CASES[name]
        expected = reference["cases"][name]
        if args.live:
            old = os.environ["TPUCOMPAT_TF115_PYTHON"]
            expected = first_pair.train(
                first_pair.legacy_command(old), case, steps, epochs, timeout=1800
            )
        for python in args.python:
            tensorflow = first_pair.versions(python)["tensorflow"]
            legacy = first_pair.legacy_command(python)
            one = first_pair.train(legacy, case, steps, epochs, timeout=1800)
            show(compare(f"legacy on {tensorflow}", name, one, expected, case.limit))
            if tensorflow.startswith("1."):
                continue  # no migrated half, and Keras models on one replica only (TPU308)
            migrated = first_pair.train(
                first_pair.migrated_command(python), case, steps, epochs, timeout=1800
            )
            limit = max(case.limit, first_pair.MIGRATED_LIMIT)
            show(compare(f"migrated on {tensorflow}", name, migrated, expected, limit))
            if args.cores and not case.batch_norm:
                legacy = first_pair.legacy_command(python, ["--cores", str(args.cores)])
                many = first_pair.train(legacy, case, steps, epochs, timeout=1800)
                what = f"legacy on {tensorflow}, {args.cores} cores over 1"
                show(compare(what, name, many, one, 1e-5))
    for name in args.case or first_pair.CASES:
        print(f"{name}, limit {first_pair.CASES[name].limit:.0e}: {first_pair.CASES[name].why}")
    if args.cores:
        print(f"{args.cores} cores: {CORES_PART}")
    return 0 if all(row.agrees for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
