"""Records two tables of a real TensorFlow 1.15: signatures of its functions, and orders of shuffled Datasets.

    python tools/record_tables.py --python /path/to/tf115/bin/python

The interpreter can also be given as TPUCOMPAT_TF115_PYTHON. What ``tf_inspect.getfullargspec`` says of the
functions in ``tests/data/signatures_tf115.json``, and of those that are named, goes there; what the Datasets
of ``tests/repeated_cases.py`` give goes to ``tests/data/repeated_shuffles.json``. Under "_" both say what made
them.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess

import provenance

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_DATA = _ROOT / "tests" / "data"

_PROGRAM = """
import functools, importlib, json, sys
import tensorflow as tf
from tensorflow.python.util import tf_inspect
import repeated_cases

tf.logging.set_verbosity(tf.logging.ERROR)
signatures = {}
for name in json.loads(sys.argv[1]):
    function = functools.reduce(getattr, name.split("."), tf)
    spec = tf_inspect.getfullargspec(function)
    signatures[name] = [spec.args, repr(spec.defaults)]
shuffles = {name: repeated_cases.values(tf, name) for name in repeated_cases.CASES}
print("RESULT " + json.dumps([tf.__version__, signatures, shuffles]))
"""


def _write(name: str, made: dict[str, str], table: dict[str, object]) -> None:
    """A line for each row, so that a new record can be compared with the old one."""
    rows = {"_": made, **dict(sorted(table.items()))}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in rows.items()]
    (_DATA / name).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> None:
    """Runs the program and writes both files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="more functions: compat.v2.fill")
    parser.add_argument("--python", default=os.environ.get("TPUCOMPAT_TF115_PYTHON"))
    options = parser.parse_args()
    if not options.python:
        parser.error("no interpreter: give --python or set TPUCOMPAT_TF115_PYTHON")
    known = json.loads((_DATA / "signatures_tf115.json").read_text("utf-8"))
    names = [name for name in (*known, *options.names) if name != "_"]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT / "tests"), "CUDA_VISIBLE_DEVICES": "-1"}
    ran = subprocess.run(
        [options.python, "-c", _PROGRAM, json.dumps(names)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    line = next(line for line in ran.stdout.splitlines() if line.startswith("RESULT "))
    release, signatures, shuffles = json.loads(line[len("RESULT ") :])
    if not release.startswith("1."):
        parser.error(f"{options.python} has TensorFlow {release}, not 1.x")
    made = provenance.made(options.python)
    _write("signatures_tf115.json", made, signatures)
    _write("repeated_shuffles.json", made, shuffles)
    print(f"{len(signatures)} signatures, {len(shuffles)} shuffles of TensorFlow {release}")


if __name__ == "__main__":
    main()
