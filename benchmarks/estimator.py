"""What TPUEstimator costs through tpucompat, as ratios from one run on one machine.

    python benchmarks/estimator.py [--rounds N] [--steps N] [--exact] [--output FILE]

A training step of a small BERT (``legacy_examples/bert_classifier.py``) is timed through
``tpucompat run`` and, in turn, in a bare Session, by a hand-written loop under MirroredStrategy
(``direct_bert.py``), and on a real TensorFlow 1.15 where TPUCOMPAT_TF115_PYTHON names an
interpreter. A ratio is the median over the rounds, with the smallest and largest beside it. All
processes have the same settings, which stand above the table: TensorFlow's own, or with ``--exact``
oneDNN off. Timings on a shared machine are noisy: these are figures to read, not a test.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)

from overhead import Row, alternate, report, row, settings  # noqa: E402  (benchmarks/overhead.py)

LEGACY = os.path.join(ROOT, "legacy_examples", "bert_classifier.py")
DIRECT = os.path.join(HERE, "direct_bert.py")
MODEL = ["--width=128", "--layers=4", "--length=64", "--batch_size=32", "--vocabulary=1000"]
#: Steps in which TensorFlow still chooses kernels and fills its memory pools.
WARM_UP = 5


def step_time(command: Sequence[str], steps: int) -> float:
    """Seconds of a step, the median of one process."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        words = [*command, *MODEL, f"--train_steps={steps}", "--iterations=5"]
        words += [f"--model_dir={folder}/model", f"--report={report}"]
        environment = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
        done = subprocess.run(
            words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stdout.decode(errors="replace")[-4000:])
        with open(report) as stream:
            times = json.load(stream)["step_time"]
    # From the first to the last: with several cores the host hears of several steps at once.
    return (times[-1] - times[WARM_UP]) / (len(times) - 1 - WARM_UP)


def measure(rounds: int, steps: int, python115: str | None) -> list[Row]:
    """Times all of them in turn; returns the lines of the table."""
    ours = [sys.executable, "-m", "tpucompat", "run", "--quiet", "--cores"]
    commands = {
        "one replica": [*ours, "1", LEGACY],
        "bare Session": [*ours, "1", DIRECT, "session", "--use_tpu=false"],
        "8 cores": [*ours, "8", LEGACY],
        "MirroredStrategy": [sys.executable, DIRECT, "mirrored"],
    }
    if python115:
        commands["TensorFlow 1.15"] = [python115, LEGACY, "--use_tpu=false"]
    times: dict[str, list[float]] = {name: [] for name in commands}

    def one(name: str) -> None:
        times[name].append(step_time(commands[name], steps))
        print(f"  {name:<20} {times[name][-1] * 1000:7.1f} ms per step", flush=True)

    alternate(rounds, [lambda name=name: one(name) for name in commands])

    def ratios(of: str, over: str) -> list[float]:
        return [a / b for a, b in zip(times[of], times[over])]

    rows = [
        row("one replica over a bare Session", "ratio", ratios("one replica", "bare Session"), 1.03)
    ]
    if python115:
        over = ratios("one replica", "TensorFlow 1.15")
        rows.append(row("one replica over TensorFlow 1.15", "ratio", over, 0.8))
    rows.append(
        row("8 cores over MirroredStrategy", "ratio", ratios("8 cores", "MirroredStrategy"), 0.9)
    )
    return rows


def main() -> int:
    """Measures, prints the table and writes it as JSON; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind")
    parser.add_argument("--steps", type=int, default=30, help="training steps per process")
    parser.add_argument("--exact", action="store_true", help="oneDNN off on all sides")
    parser.add_argument("--output", help="a .json for the figures")
    args = parser.parse_args()
    told = settings(args.exact)
    rows = measure(args.rounds, args.steps, os.environ.get("TPUCOMPAT_TF115_PYTHON"))
    report(rows, args.output, told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
