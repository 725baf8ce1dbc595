"""Trains random programs on a target, and compares the results of targets.

    python tests/generated/run.py --kind keras --seeds 0:300 --target emulated:8 --out eight.json
    python tests/generated/run.py --kind keras --seeds 0:300 --target one --out one.json
    python tests/generated/run.py --compare one.json eight.json

A target is ``one`` (one replica), ``emulated:N`` (N emulated cores) or ``rehearse:N`` (N cores of a TPU that is
not there); the number of cores is fixed when TensorFlow starts, so a target is a process. The file has a row
for every seed: what was computed or the error, and the seconds that it took.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import json
import os
import pathlib
import sys
import time
import traceback

HERE = pathlib.Path(__file__).parent
# Sums over cores are made in another order than sums over a batch, in float32: relative to the largest number
# of an array.
TOLERANCE = 1e-5
# Target -> the variable of the environment that says so.
TARGETS = {
    "one": "TPUCOMPAT_CORES",
    "emulated": "TPUCOMPAT_CORES",
    "rehearse": "TPUCOMPAT_REHEARSE",
}
MODULES = {"keras": "keras_models", "model_fn": "model_fns"}


def environment_of(target):
    """The variables of the environment that make a process run on a target."""
    name, _, cores = target.partition(":")
    # oneDNN computes other sums on one core than on several.
    return {TARGETS[name]: cores or "1", "TPUCOMPAT_EXACT": "1"}


def train_all(kind, seeds, out, plainly):
    """Trains the programs of the seeds one after the other, and writes what they gave.

    Args:
      kind: A key of :data:`MODULES`.
      seeds: The seeds.
      out: The file.
      plainly: Whether graphs run as they are: most of the time of small models goes into making them faster.
    """
    import numpy as np

    import tpucompat.v1 as tf

    tf.logging.set_verbosity(tf.logging.ERROR)
    module = importlib.import_module(MODULES[kind])
    if plainly:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    rows = {}
    for seed in seeds:
        tf.keras.backend.clear_session()
        tf.reset_default_graph()
        start = time.time()
        try:
            row = plain(module.train(seed), np)
        except Exception as error:
            row = {"error": traceback.format_exc(), "log": getattr(error, "log", [])}
        row["seconds"] = round(time.time() - start, 2)
        rows[str(seed)] = row
        last = row["error"].strip().splitlines()[-1][:150] if "error" in row else "trained"
        print(seed, row["seconds"], last, flush=True)
        if seed % 10 == 0 or seed == seeds[-1]:
            pathlib.Path(out).write_text(json.dumps(rows))
    return rows


def plain(value, np):
    """Arrays and their kin as lists, of as many digits as float32 has."""
    if isinstance(value, dict):
        return {str(key): plain(each, np) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, np) for each in value]
    if isinstance(value, (np.ndarray, np.generic, float)):
        array = np.asarray(value, "float64")
        return np.array([float(f"{n:.9g}") for n in array.ravel()]).reshape(array.shape).tolist()
    return value


def differences(got, expected, path=""):
    """Where two results differ by more than the tolerance."""
    import numpy as np

    if isinstance(expected, dict):
        if not isinstance(got, dict) or set(got) != set(expected):
            return [f"{path}: {got} for {expected}"]
        return [
            d for key in expected for d in differences(got[key], expected[key], f"{path}/{key}")
        ]
    if isinstance(expected, list) and not is_array(expected):
        if len(got) != len(expected):
            return [f"{path}: {len(got)} for {len(expected)}"]
        pairs = enumerate(zip(got, expected))
        return [d for i, (g, e) in pairs for d in differences(g, e, f"{path}/{i}")]
    got, expected = np.asarray(got, "float64"), np.asarray(expected, "float64")
    if got.shape != expected.shape:
        return [f"{path}: shape {got.shape} for {expected.shape}"]
    if not got.size:
        return []
    error = np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-6)
    return [] if error <= TOLERANCE else [f"{path}: {error:.1e}"]


def is_array(value):
    import numpy as np

    try:
        np.asarray(value, "float64")
    except (TypeError, ValueError):
        return False
    return True


def problems(row):
    """What is wrong with a result by itself."""
    import numpy as np

    if "error" in row:
        return [row["error"].strip().splitlines()[-1]]
    bad = []
    for key, value in leaves({k: v for k, v in row.items() if k not in ("log", "apart")}):
        if isinstance(value, (int, float)) and not np.isfinite(value):
            bad.append(f"{key}: not finite")
    return sorted(set(bad))


def leaves(value, path=""):
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, f"{path}/{key}")
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, path)
    else:
        yield path, value


def compare(first, second):
    """Compares two targets' results.

    Returns:
      Seed -> what is wrong; and how many trained, how many of them are the same, how many cannot be.
    """
    wrong, counts = {}, collections.Counter()
    for seed in sorted(set(first) & set(second), key=int):
        one, other = first[seed], second[seed]
        found = [f"first: {each}" for each in problems(one)]
        found += [f"second: {each}" for each in problems(other)]
        counts["all"] += 1
        if "error" not in one and "error" not in other:
            counts["trained"] += 1
            if one["apart"]:
                counts["of their own"] += 1
            else:
                keys = [key for key in one if key not in ("log", "apart", "seconds")]
                found += differences({k: other[k] for k in keys}, {k: one[k] for k in keys})
                counts["the same" if not found else "different"] += 1
        if found:
            wrong[seed] = found
    return wrong, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=MODULES, default="keras")
    parser.add_argument("--seeds", default="0:10", help="FIRST:END, or seeds with commas between")
    parser.add_argument("--target", default="one")
    parser.add_argument("--out")
    parser.add_argument(
        "--plainly", action="store_true", help="leave TensorFlow's optimizations of graphs out"
    )
    parser.add_argument("--compare", nargs=2, metavar=("FIRST", "SECOND"))
    options = parser.parse_args()
    if options.compare:
        rows = [json.loads(pathlib.Path(path).read_text()) for path in options.compare]
        wrong, counts = compare(*rows)
        for seed, found in wrong.items():
            print(seed, *found[:6], sep="\n    ")
        print(dict(counts))
        slow = sorted(
            ((row["seconds"], seed) for row in rows[1:] for seed, row in row.items()), reverse=True
        )
        print("slowest:", slow[:5], "mean:", sum(s for s, _ in slow) / max(len(slow), 1))
        return 1 if wrong else 0
    os.environ.update(environment_of(options.target))
    sys.path.insert(0, str(HERE))
    if ":" in options.seeds:
        seeds = list(range(*map(int, options.seeds.split(":"))))
    else:
        seeds = [int(seed) for seed in options.seeds.split(",")]
    rows = train_all(options.kind, seeds, options.out, options.plainly)
    return 1 if any("error" in row for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
