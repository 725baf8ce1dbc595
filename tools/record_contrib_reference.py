"""Runs the calls of ``tests/contrib_cases`` under one TensorFlow and writes the results to a file.

With a Python that has the real TensorFlow 1.15, this makes the numbers that the tests compare with:

    python tools/record_contrib_reference.py --out tests/data/contrib_reference.npz

``--tensorflow tpucompat.v1`` runs them under tpucompat instead; a case that raises is written down
as the text of its error, under ``AREA/CASE/error``. ``--areas`` limits the run; with ``--update``
the other areas of an existing file are kept. ``--units SEED`` moves each input by a unit of its last
digit, up or down, as the seed draws: how far the results move then is what rounding may do.
"""

import argparse
import importlib
import os
import sys
import traceback
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # as in exact mode
warnings.filterwarnings("ignore")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tests"), os.path.join(ROOT, "tools")]

import contrib_cases  # noqa: E402
import numpy as np  # noqa: E402
import provenance  # noqa: E402


def main():
    """Runs the cases and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--tensorflow", default="tensorflow")
    parser.add_argument("--areas", nargs="*", default=[])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--units", type=int)
    options = parser.parse_args()
    tf = importlib.import_module(options.tensorflow)
    tf = sys.modules[options.tensorflow]
    tf.logging.set_verbosity(tf.logging.ERROR)
    if options.units is not None:
        contrib_cases.units = np.random.RandomState(options.units)
    found = {}
    if options.update and os.path.exists(options.out):
        old = contrib_cases.load(options.out)
        found = {key: old[key] for key in old if key.split("/")[0] not in options.areas}
    for area, name, case in contrib_cases.cases(options.areas):
        key = area + "/" + name
        try:
            found.update(contrib_cases.flat(key, case(tf)))
        except Exception as error:
            traceback.print_exc()
            found[key + "/error"] = np.array(f"{type(error).__name__}: {error}")
    contrib_cases.save(options.out, found, provenance.made())
    print("{} results, {} errors".format(len(found), sum(k.endswith("/error") for k in found)))


if __name__ == "__main__":
    main()
