"""Records the step losses of the first pair's legacy half on a real TensorFlow 1.15, without tpucompat.

    python tools/record_reference.py --python /path/to/tf115/bin/python

The interpreter can also be given as TPUCOMPAT_TF115_PYTHON. The losses, and the versions that made
them, go to ``tests/data/first_pair_tf115.json``, which the tests compare with.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

import first_pair
import provenance

#: 50 steps with a validation after every tenth.
STEPS, EPOCHS = 50, 5


def main() -> int:
    """Trains every case once and writes the file; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", default=os.environ.get("TPUCOMPAT_TF115_PYTHON"))
    parser.add_argument("--output", default=first_pair.REFERENCE)
    args = parser.parse_args()
    if not args.python:
        parser.error("no interpreter: give --python or set TPUCOMPAT_TF115_PYTHON")
    versions = first_pair.versions(args.python)
    if not versions["tensorflow"].startswith("1."):
        parser.error(f"{args.python} has TensorFlow {versions['tensorflow']}, not 1.x")
    cases = {}
    for name, case in first_pair.CASES.items():
        result = first_pair.train(
            first_pair.reference_command(args.python), case, STEPS, EPOCHS, timeout=1800
        )
        cases[name] = {key: result[key] for key in ("step_loss", "epochs", "test")}
        print(
            f"{name}: first loss {result['step_loss'][0]:.6f}, last {result['step_loss'][-1]:.6f}"
        )
    record = {
        "made_by": "tools/record_reference.py",
        "made": provenance.made(args.python),
        "versions": versions,
        "steps": STEPS,
        "epochs": EPOCHS,
        "filters": first_pair.FILTERS,
        "cases": cases,
    }
    with open(args.output, "w", encoding="utf-8") as stream:
        json.dump(record, stream, indent=1)
        stream.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
