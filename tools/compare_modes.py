"""How far each idiom's losses are from TensorFlow 1.15, in exact mode and in fast mode.

    TPUCOMPAT_TF115_PYTHON=PYTHON python tools/compare_modes.py [--steps N]

A legacy example of each idiom trains on TensorFlow 1.15 and, through ``tpucompat run``, on this
interpreter's TensorFlow, on one replica, from the same weights (given, or drawn from the seeds of
``tools/seeded_start``, which dropout uses as well) and the same batches. The table gives the
largest relative difference of a step's loss over the first ten steps and over all of them. The
Keras and Estimator examples run on TensorFlow 1.15 without tpucompat; ``shard`` has no meaning
there without a TPU, so 1.15 runs that example through tpucompat as well.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Mapping, NamedTuple, Sequence

import first_pair

SEEDS = os.path.join(first_pair.ROOT, "tools", "seeded_start")
EXAMPLES = pathlib.Path(first_pair.ROOT, "legacy_examples")
FIRST = 10
#: TensorFlow as it is by default, and with the rounding of 1.15.
MODES: Mapping[str, Mapping[str, str]] = {"exact": first_pair.EXACT, "fast": {}}


class Example(NamedTuple):
    """A legacy example, and how its losses are had.

    Attributes:
      idiom: What it stands for.
      script: Its file in ``legacy_examples``.
      flags: Its flags; STEPS, WEIGHTS and LOSSES stand for the number of steps, the initial weights
        and the file for the losses.
      losses: The key of the losses in that file.
      alone: What 1.15 runs before the script; None for ``tpucompat run``.
    """

    idiom: str
    script: str
    flags: Sequence[str]
    losses: str
    alone: Sequence[str] | None


TABLE = (
    Example(
        "`keras_to_tpu_model`",
        "fashion_mnist_keras.py",
        [
            *first_pair.FLAGS,
            *first_pair.CASES["plain"].flags,
            *("--epochs=1", "--steps-per-epoch=STEPS"),
            *("--initial-weights=WEIGHTS", "--history=LOSSES"),
        ],
        "step_loss",
        [os.path.join(first_pair.ROOT, "tools", "host_clone.py")],
    ),
    Example(
        "`TPUEstimator`",
        "bert_classifier.py",
        ["--use_tpu=false", "--train_steps=STEPS", "--report=LOSSES", "--model_dir=MODEL"],
        "step_loss",
        [],
    ),
    Example(
        "`shard`, `CrossShardOptimizer`",
        "sharded_linear_regression.py",
        ["--shards=1", "--steps=STEPS", "--history=LOSSES"],
        "loss",
        None,
    ),
)


def losses(
    python: str, example: Example, steps: int, alone: bool, settings: Mapping[str, str]
) -> list[float]:
    """Trains one example and returns the loss of each step.

    Args:
      python: The interpreter.
      example: A row of the table.
      steps: How many steps.
      alone: Whether the script runs without tpucompat, where it can.
      settings: Environment variables of the mode.

    Raises:
      RuntimeError: The run failed; the end of its output is in the text.
    """
    with tempfile.TemporaryDirectory() as folder:
        names = {"STEPS": str(steps), "MODEL": os.path.join(folder, "model")}
        names["WEIGHTS"] = os.path.join(folder, "initial.npz")
        names["LOSSES"] = os.path.join(folder, "losses.json")
        first_pair.save_initial_weights(names["WEIGHTS"], batch_norm=False)
        before = ["-m", "tpucompat", "run", "--quiet", "--cores", "1"]
        if alone and example.alone is not None:
            before = list(example.alone)
        words = [python, *before, str(EXAMPLES / example.script)]
        for flag in example.flags:
            name, equals, value = flag.partition("=")
            words.append(name + equals + names.get(value, value))
        environment = first_pair.environ()
        for name in first_pair.EXACT:  # what this process was started with
            environment.pop(name, None)
        environment["PYTHONPATH"] = os.pathsep.join([SEEDS, environment["PYTHONPATH"]])
        done = subprocess.run(
            words,
            env={**environment, **settings},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode:
            output = done.stdout.decode("utf-8", "replace")
            raise RuntimeError(
                f"exit code {done.returncode} from {' '.join(words)}\n{output[-4000:]}"
            )
        with open(names["LOSSES"], encoding="utf-8") as stream:
            found: list[float] = json.load(stream)[example.losses]
    return found


def main() -> int:
    """Trains, compares and prints the table; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    python115 = os.environ.get("TPUCOMPAT_TF115_PYTHON")
    if not python115:
        parser.error("TPUCOMPAT_TF115_PYTHON names no interpreter")
    spans = [f"{mode}, {steps} steps" for mode in MODES for steps in (FIRST, args.steps)]
    print(f"TensorFlow {first_pair.versions(sys.executable)['tensorflow']} over 1.15\n")
    print(f"| idiom | {' | '.join(spans)} |\n|---|{'---|' * len(spans)}")
    for example in TABLE:
        expected = losses(python115, example, args.steps, True, first_pair.EXACT)
        cells = []
        for settings in MODES.values():
            got = losses(sys.executable, example, args.steps, False, settings)
            if not len(got) == len(expected) == args.steps:
                raise RuntimeError(f"{example.script}: {len(got)} losses for {len(expected)}")
            apart = first_pair.differences(got, expected)
            cells += [f"{apart[:FIRST].max():.1e}", f"{apart.max():.1e}"]
        print(f"| {example.idiom} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
