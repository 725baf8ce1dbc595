"""Records what the models of ``tf.keras.applications`` are, in ``tests/data/applications_tf115.json``.

python tools/record_applications.py /path/to/python-with-tensorflow-1.15
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile

import provenance

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "tests" / "behaviour" / "programs" / "applications.py"


def main(python):
    """Runs the program and writes the file, a line for each model."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out.json")
        subprocess.run([python, PROGRAM, out], check=True)
        results = {"made": provenance.made(python), **json.loads(out.read_text())}
    assert results["made"]["tensorflow"].startswith("1.15")
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in results.items()]
    target = ROOT / "tests" / "data" / "applications_tf115.json"
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
