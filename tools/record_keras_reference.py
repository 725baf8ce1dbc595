"""Makes ``tests/data/keras_reference.json``: what the Keras cases give on the real TensorFlow 1.15.

python tools/record_keras_reference.py /path/to/python-with-tensorflow-1.15
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import provenance

ROOT = pathlib.Path(__file__).resolve().parent.parent


def _short(value):
    """The value with floats of nine digits, which is what float32 holds."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def main(python):
    """Runs the cases and writes the file."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        subprocess.run(
            [python, str(ROOT / "tests" / "behaviour" / "keras_cases.py"), out],
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TPUCOMPAT_CORES": "1"},
        )
        with open(out) as file:
            results = json.load(file)
    results["_"]["made"] = provenance.made(python)
    assert results["_"]["tensorflow"].startswith("1.15")
    failed = [case for case, value in results.items() if isinstance(value.get("error"), str)]
    assert not failed, failed
    lines = [
        f"{json.dumps(case)}: {json.dumps(_short(value))}"
        for case, value in sorted(results.items())
    ]
    target = ROOT / "tests" / "data" / "keras_reference.json"
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
