"""Records what TPUEstimator's programs compute on a real TensorFlow 1.15.

    python tools/record_estimator_reference.py --python /path/to/tf115/bin/python

The interpreter can also be given as TPUCOMPAT_TF115_PYTHON. One replica is TPUEstimator itself with
use_tpu=False; eight cores are the same model written by hand as eight towers. The numbers go to
``tests/data/estimator_reference.json``, which the tests compare with.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys

import provenance

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_REFERENCE = _ROOT / "tests" / "data" / "estimator_reference.json"
_CASES = _ROOT / "tests" / "behaviour"

_PROGRAM = """
import json
import estimator_cases as cases
cases.tf.logging.set_verbosity(cases.tf.logging.ERROR)
result = {
    "tensorflow": cases.tf.__version__,
    "towers": cases.towers(8),
    "towers that assign": cases.towers(8, assigning=True),
}
for case in (
    cases.train_evaluate_predict,
    cases.inputs_of_all_kinds,
    cases.another_batch_axis,
    cases.hooks_and_checkpoints,
    cases.scaffold_and_initial_values,
    cases.assigns_inside_the_replica,
    cases.exported,
    cases.train_and_evaluate,
    cases.summaries,
):
    result[case.__name__] = case()
print("RESULT " + json.dumps(result))
"""


def main() -> int:
    """Runs the programs and writes the file; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", default=os.environ.get("TPUCOMPAT_TF115_PYTHON"))
    parser.add_argument("--output", type=pathlib.Path, default=_REFERENCE)
    options = parser.parse_args()
    if not options.python:
        parser.error("no interpreter: give --python or set TPUCOMPAT_TF115_PYTHON")
    environment = {**os.environ, "PLAIN_TENSORFLOW": "1", "PYTHONPATH": str(_CASES)}
    ran = subprocess.run(
        [options.python, "-c", _PROGRAM],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    line = next(line for line in ran.stdout.splitlines() if line.startswith("RESULT "))
    result = json.loads(line[len("RESULT ") :])
    if not result["tensorflow"].startswith("1."):
        parser.error(f"{options.python} has TensorFlow {result['tensorflow']}, not 1.x")
    result["made"] = provenance.made(options.python)
    options.output.write_text(json.dumps(result) + "\n")
    print(f"written to {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
