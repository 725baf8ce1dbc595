"""Records what the package ``keras`` makes of its arguments, in ``tests/data/standalone_keras.json``.

    python tools/record_standalone_keras.py --reference PYTHON

PYTHON has TensorFlow 1.15, ``keras==2.2.4`` and PyYAML. The package leaves open whether an optimizer reads its
counter of steps before it is increased; here it does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

import provenance

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "tests", "data", "standalone_keras.json")
PROGRAM = os.path.join(ROOT, "tests", "behaviour", "programs", "standalone_keras.py")

#: Runs a program with every update that other updates read behind them.
_IN_ORDER = """
import runpy, sys
import tensorflow as tf
from keras import backend, optimizers

backend.update_add = lambda variable, by: ("+", variable, by)

def in_order(get_updates):
    def ordered(self, loss, params):
        get_updates(self, loss, params)
        first = [each for each in self.updates if not isinstance(each, tuple)]
        last = [each for each in self.updates if isinstance(each, tuple)]
        with tf.control_dependencies(first + [each[1] for each in last if each[0] != "+"]):
            for each in last:
                if each[0] == "+":
                    _, variable, by = each
                    first.append(tf.assign_add(variable, tf.cast(by, variable.dtype.base_dtype)))
                else:
                    first.append(tf.assign(*each))
        self.updates = first
        return first
    return ordered

for name in ("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam"):
    optimizer = getattr(optimizers, name)
    optimizer.get_updates = in_order(optimizer.get_updates)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def main():
    """Runs the program on the reference and writes its numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", required=True, metavar="PYTHON")
    reference = parser.parse_args().reference
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        subprocess.run([reference, "-c", _IN_ORDER, PROGRAM, out], check=True)
        with open(out, encoding="ascii") as file:
            results = json.load(file)
    with open(OUT, "w", encoding="ascii") as file:
        json.dump({"made": provenance.made(reference), **results}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
