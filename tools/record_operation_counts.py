"""Counts operations, lists seeds and runs programs of ``tests/seed_cases.py`` under TensorFlow 1.15.

With a Python that has the real TensorFlow 1.15:

    python tools/record_operation_counts.py --out tests/data/operation_counts.json

``--tensorflow tpucompat.v1`` counts as tpucompat does, to look at.
"""

import argparse
import importlib
import json
import os
import sys
import tempfile

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tests"), os.path.join(ROOT, "tools")]

import provenance  # noqa: E402
import seed_cases  # noqa: E402

#: Of the graphs; no operation count is that high.
SEED = 87654321


def seeds(graph):
    """The seeds that TensorFlow chose for the operations of a graph and of its functions, in order."""
    definition = graph.as_graph_def()
    nodes = [definition.node] + [function.node_def for function in definition.library.function]
    found = []
    for group in nodes:
        for node in group:
            if "seed2" in node.attr and node.attr["seed"].i == SEED:
                found.append(node.attr["seed2"].i)
            elif node.op == "Const" and node.name.split("/")[-2:] == ["seed2", "Const"]:
                found.append(node.attr["value"].tensor.int64_val[0])
    return sorted(found)


def counted(tf, case, count):
    """How many operations a case makes, and its seeds; the text of its error where it raises one."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(SEED)
        np.random.seed(0)  # which Keras draws seeds from
        try:
            case(tf)
        except Exception as error:  # which the table shows
            return f"{type(error).__name__}: {error}"[:300]
        return [count(graph), seeds(graph)]


def table(tf, count, names=()):
    """The counts of all cases, by name."""
    return {
        name: counted(tf, case, count)
        for name, case in seed_cases.CASES.items()
        if not names or name in names
    }


def program(tf, name, directory):
    """The numbers of one of ``seed_cases.PROGRAMS``."""
    tf.keras.backend.clear_session()
    with tf.Graph().as_default(), tf.Session().as_default():
        tf.set_random_seed(SEED)
        np.random.seed(0)  # which Keras draws seeds from
        numbers = [float(number) for number in seed_cases.PROGRAMS[name](tf, directory)]
    tf.keras.backend.clear_session()
    return numbers


def main():
    """Counts, and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--tensorflow", default="tensorflow")
    parser.add_argument("--cases", nargs="*", default=[])
    options = parser.parse_args()
    importlib.import_module(options.tensorflow)
    tf = sys.modules[options.tensorflow]
    tf.logging.set_verbosity(tf.logging.ERROR)
    if options.tensorflow == "tensorflow":

        def count(graph):
            return graph._last_id

    else:
        from tpucompat.engines.operation_seeds import count
    found = table(tf, count, options.cases)
    with tempfile.TemporaryDirectory() as directory:
        numbers = {
            name: program(tf, name, os.path.join(directory, name)) for name in seed_cases.PROGRAMS
        }
    with open(options.out, "w", encoding="utf-8") as file:
        record = {"cases": found, "programs": numbers, "made": provenance.made()}
        json.dump(record, file, indent=0, sort_keys=True)
        file.write("\n")
    errors = {name: value for name, value in found.items() if isinstance(value, str)}
    print(f"{len(found)} cases, {len(errors)} errors")
    for name, value in errors.items():
        print("  ", name, value)


if __name__ == "__main__":
    main()
