"""Trains random programs on a target, and compares the results of targets.

    python tests/generated/run.py --target emulated:8 --out eight.jsonl keras:0:300 model_fn:0:100
    python tests/generated/run.py --target one --out one.jsonl keras:0:300 model_fn:0:100
    python tests/generated/run.py --compare one.jsonl eight.jsonl

A target is ``one`` (one replica), ``emulated:N`` (N emulated cores) or ``rehearse:N`` (N cores of a TPU that is
not there); the number of cores is fixed when TensorFlow starts, so a target is a process. The file has a line
for every program: what was computed or the error, and the seconds that it took. Programs that the file has are
left out, so that a run that was ended goes on. With ``--brief`` programs only train: evaluation, validation and
prediction take a function each that has to be compiled.

With ``--nudged`` the numbers of the data differ in their last bit. A program whose results differ as much then,
on one replica, shows rounding and no error of several cores:

    python tests/generated/run.py --target one --nudged --out nudged.jsonl keras_wide:8004
    python tests/generated/run.py --compare one.jsonl nudged.jsonl
"""

from __future__ import annotations

import argparse
import collections
import gc
import importlib
import json
import os
import pathlib
import re
import sys
import time
import traceback

HERE = pathlib.Path(__file__).parent
# Cores add up in another order than one replica, in float32, so numbers agree relative to the largest of their
# array. An array whose numbers are all below SMALL is compared absolutely, to TOLERANCE * SMALL = 1e-8: its
# numbers may be differences of numbers around 1, which are rounded to 6e-8. The bias before a batch
# normalization is one: its gradient is zero, and what the sum over the batch leaves of it is rounding alone.
TOLERANCE, SMALL = 1e-5, 1e-3
# Target -> the variable of the environment that says so.
TARGETS = {
    "one": "TPUCOMPAT_CORES",
    "emulated": "TPUCOMPAT_CORES",
    "rehearse": "TPUCOMPAT_REHEARSE",
}
MODULES = {
    "arguments_drawn": "arguments_drawn",
    "contrib_drawn": "contrib_drawn",
    "keras": "keras_models",
    "keras_arguments": "keras_arguments",
    "keras_drawn": "keras_drawn",
    "keras_left": "keras_left",
    "keras_network": "keras_networks",
    "keras_own": "keras_own",
    "keras_rest": "keras_rest",
    "keras_script": "keras_scripts",
    "keras_seldom": "keras_seldom",
    "keras_wide": "keras_wide",
    "model_fn": "model_fns",
    "model_fn_arguments": "model_fns_arguments",
    "model_fn_features": "model_fns_features",
    "model_fn_more": "model_fns_more",
    "model_fn_rest": "model_fns_rest",
    "model_fn_wide": "model_fns_wide",
    "estimator_drawn": "estimators_drawn",
    "estimator_script": "estimator_scripts",
    "estimator_seldom": "estimators_seldom",
    "session_script": "session_scripts",
}


def environment_of(target):
    """The variables of the environment that make a process run on a target."""
    name, _, cores = target.partition(":")
    # oneDNN computes other sums on one core than on several.
    return {TARGETS[name]: cores or "1", "TPUCOMPAT_EXACT": "1"}


def refusal_of(row):
    """The code by which a TPU refuses a program, and the operation; "" if it does not."""
    if "error" not in row:
        return ""
    raised = re.findall(r"^tpucompat\.base\.errors\.\w+: (TPU3\d\d \w+)", row["error"], re.M)
    return raised[-1] if raised else ""


def train_all(programs, out, plainly=False, brief=False):
    """Trains programs one after the other, and writes what they gave.

    Args:
      programs: Their kinds (keys of :data:`MODULES`) and seeds.
      out: The file; what it has stays, and those programs are left out.
      plainly: Whether graphs run as they are: most of the time of small models goes into making them faster.
      brief: Whether they only train.

    Returns:
      The rows of the programs.
    """
    import numpy as np

    import tpucompat.v1 as tf

    tf.logging.set_verbosity(tf.logging.ERROR)
    if plainly:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    out = pathlib.Path(out)
    done = read(out) if out.exists() else {}
    for kind, seed in programs:
        name = f"{kind}:{seed}"
        if name in done:
            continue
        module = importlib.import_module(MODULES[kind])
        tf.keras.backend.clear_session()
        tf.reset_default_graph()
        gc.collect()
        gc.freeze()
        start = time.time()
        try:
            row = plain(module.train(seed, brief), np)
        except Exception as error:
            row = {"error": traceback.format_exc(), "log": getattr(error, "log", [])}
        row.update(seconds=round(time.time() - start, 2), brief=brief)
        done[name] = row
        with out.open("a") as file:
            file.write(json.dumps({"program": name, **row}) + "\n")
        last = row["error"].strip().splitlines()[-1][:150] if "error" in row else "trained"
        print(name, row["seconds"], last, flush=True)
    return [done[f"{kind}:{seed}"] for kind, seed in programs]


def read(path):
    """Program -> its row of a file; the newest one where it has several."""
    rows = map(json.loads, pathlib.Path(path).read_text().splitlines())
    return {row.pop("program"): row for row in rows}


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
    if isinstance(expected, str):
        return [] if got == expected else [f"{path}: {got} for {expected}"]
    got, expected = np.asarray(got, "float64"), np.asarray(expected, "float64")
    if got.shape != expected.shape:
        return [f"{path}: shape {got.shape} for {expected.shape}"]
    if not got.size:
        return []
    error = np.abs(got - expected).max() / max(np.abs(expected).max(), SMALL)
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
    for key, value in leaves(numbers_of(row)):
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


def numbers_of(row, brief=False):
    """What a program gave; with ``brief`` only what training alone gives too."""
    left_out = {"log", "apart", "seconds", "brief"}
    if brief:
        left_out |= {"evaluate", "metrics", "predict", "predictions", "synced"}
    numbers = {key: value for key, value in row.items() if key not in left_out}
    history = numbers.get("history")
    if brief and isinstance(history, dict):
        numbers["history"] = {k: v for k, v in history.items() if not k.startswith("val_")}
    return numbers


def compare(first, second):
    """Compares two targets' results.

    Returns:
      Program -> what is wrong; and how many trained, how many of them are the same, how many cannot be. What
      the second target refuses by a code is counted by it, and is not wrong.
    """
    wrong, counts = {}, collections.Counter()
    for name in first:
        if name not in second:
            continue
        one, other = first[name], second[name]
        refused = "error" not in one and refusal_of(other)
        if refused:
            counts["all"] += 1
            counts[f"refused: {refused}"] += 1
            continue
        found = [f"first: {each}" for each in problems(one)]
        found += [f"second: {each}" for each in problems(other)]
        counts["all"] += 1
        if "error" not in one and "error" not in other:
            counts["trained"] += 1
            if one["apart"]:
                counts["of their own"] += 1
            else:
                brief = one["brief"] or other["brief"]
                found += differences(numbers_of(other, brief), numbers_of(one, brief))
                counts["the same" if not found else "different"] += 1
        if found:
            wrong[name] = found
    return wrong, counts


def programs_of(text):
    """``keras:0:300`` or ``model_fn:3,7`` as kinds and seeds."""
    kind, _, seeds = text.partition(":")
    if ":" in seeds:
        return [(kind, seed) for seed in range(*map(int, seeds.split(":")))]
    return [(kind, int(seed)) for seed in seeds.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "programs",
        nargs="*",
        type=programs_of,
        metavar="KIND:SEEDS",
        help="a key of MODULES, and FIRST:END or seeds with commas between",
    )
    parser.add_argument("--target", default="one")
    parser.add_argument("--out")
    parser.add_argument(
        "--plainly", action="store_true", help="leave TensorFlow's optimizations of graphs out"
    )
    parser.add_argument(
        "--nudged", action="store_true", help="change the last bit of the data's numbers"
    )
    parser.add_argument("--brief", action="store_true", help="train, and nothing else")
    parser.add_argument("--compare", nargs=2, metavar=("FIRST", "SECOND"))
    options = parser.parse_args()
    if options.compare:
        first, second = map(read, options.compare)
        wrong, counts = compare(first, second)
        for name, found in wrong.items():
            print(name, *found[:6], sep="\n    ")
        print(dict(counts))
        slow = sorted(((row["seconds"], name) for name, row in second.items()), reverse=True)
        print("slowest:", slow[:5], "mean:", sum(s for s, _ in slow) / max(len(slow), 1))
        return 1 if wrong else 0
    os.environ.update(environment_of(options.target))
    sys.path.insert(0, str(HERE))
    importlib.import_module("choices").Maker.nudged = options.nudged
    programs = [each for part in options.programs for each in part]
    rows = train_all(programs, options.out, options.plainly, options.brief)
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
