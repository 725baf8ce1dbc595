"""What tpucompat costs, as ratios from one run on one machine.

    python benchmarks/overhead.py [--rounds N] [--steps N] [--exact] [--output FILE]

The legacy example is trained through ``tpucompat run`` and, in turn, by what it is compared with,
each time in a process of its own: the same model written directly on ``tf.compat.v1`` Keras
(``direct_fashion_mnist.py``), the same model written for TensorFlow 2 (``direct_keras.py``), and
the same script on a real TensorFlow 1.15 where TPUCOMPAT_TF115_PYTHON names an interpreter. On
eight emulated cores it is compared with the TensorFlow 2 model under MirroredStrategy. Step times
are taken inside the script, by its Keras callback, and the first steps are left out. A ratio is the
median over the rounds, with the smallest and largest beside it. All processes have the same
settings, which stand above the table: TensorFlow's own, or with ``--exact``
oneDNN off. Timings on a shared machine are noisy: these are figures to read, not a test.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable, NamedTuple, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tools"))

import first_pair  # noqa: E402  (tools/first_pair.py)

DIRECT = os.path.join(HERE, "direct_fashion_mnist.py")
DIRECT_2 = os.path.join(HERE, "direct_keras.py")
#: Steps in which TensorFlow still chooses kernels and fills its memory pools.
WARM_UP = 5
#: Milliseconds that `import tpucompat` may take more than an empty interpreter.
IMPORT_LIMIT = 20.0

#: For each line: its words, whose figure over whose, which figure, and the limit.
COMPARISONS = (
    ("step time over tf.compat.v1 Keras", "tpucompat", "compat.v1", "step", 1.03),
    ("peak memory over tf.compat.v1 Keras", "tpucompat", "compat.v1", "memory", 1.05),
    ("step time over TensorFlow 2 Keras", "tpucompat", "TensorFlow 2", "step", 1.05),
    ("8 cores over MirroredStrategy", "8 cores", "MirroredStrategy", "step", 0.6),
    ("step time over TensorFlow 1.15", "tpucompat", "TensorFlow 1.15", "step", 0.4),
)


class Run(NamedTuple):
    """What one process took: the median step in seconds, and its peak memory in bytes."""

    step: float
    memory: float


class Row(NamedTuple):
    """One line of the table."""

    what: str
    unit: str
    measured: float
    lowest: float
    highest: float
    limit: float


def train(command: Sequence[str], steps: int) -> Run:
    """Runs one process to its end and reads its step times and its peak resident memory."""
    with tempfile.TemporaryDirectory() as folder:
        weights = os.path.join(folder, "initial.npz")
        history = os.path.join(folder, "history.json")
        log = os.path.join(folder, "log")
        first_pair.save_initial_weights(weights, batch_norm=True)
        words = [*command, *first_pair.FLAGS, "--epochs", "1", "--steps-per-epoch", str(steps)]
        words += ["--initial-weights", weights, "--history", history]
        with open(log, "wb") as stream:
            process = subprocess.Popen(
                words, env=first_pair.environ(), cwd=folder, stdout=stream, stderr=stream
            )
            # wait4 gives the peak memory of this very child; getrusage only that of the largest.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            with open(log, encoding="utf-8", errors="replace") as stream_in:
                raise RuntimeError(f"{' '.join(words)}\n{stream_in.read()[-4000:]}")
        with open(history, encoding="utf-8") as stream_in:
            times = json.load(stream_in)["step_time"]
    taken = [after - before for before, after in zip(times, times[1:])]
    # Linux counts ru_maxrss in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(statistics.median(taken[WARM_UP:]), usage.ru_maxrss * unit)


def start(program: str) -> float:
    """Milliseconds of a whole interpreter that runs ``program``."""
    before = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], env=first_pair.environ(), check=True)
    return (time.perf_counter() - before) * 1000


def settings(exact: bool) -> str:
    """Gives all processes to come the same settings, and says which.

    Args:
      exact: Whether oneDNN is off, as in exact mode; else all is as this process was started.
    """
    if exact:
        os.environ.update(first_pair.EXACT)
    told = (f"{name}={os.environ.get(name, '(unset)')}" for name in first_pair.EXACT)
    return f"all sides: {', '.join(told)}; {os.cpu_count()} CPUs"


def row(what: str, unit: str, values: Sequence[float], limit: float) -> Row:
    """The line for one figure that was measured several times."""
    return Row(what, unit, statistics.median(values), min(values), max(values), limit)


def report(rows: Sequence[Row], output: str | None, told: str, **circumstances: object) -> None:
    """Prints the table, and writes it as JSON where a file is named.

    Args:
      rows: Its lines.
      output: The file; None for none.
      told: What :func:`settings` says.
      **circumstances: What the file says besides: versions, rounds, steps.
    """
    print(f"\n{told}")
    width = max(len(line.what) for line in rows) + 2
    print(f"\n{'':<{width}}{'median':>8} {'lowest':>8} {'highest':>8} {'limit':>8}")
    for what, unit, middle, lowest, highest, limit in rows:
        verdict = "" if middle <= limit else "  over the limit"
        figures = f"{middle:>8.3f} {lowest:>8.3f} {highest:>8.3f} {limit:>8.2f} {unit}"
        print(f"{what:<{width}}{figures}{verdict}")
    if output:
        record = {"settings": told, **circumstances, "rows": [line._asdict() for line in rows]}
        with open(output, "w", encoding="utf-8") as stream:
            json.dump(record, stream, indent=1)
            stream.write("\n")


def alternate(rounds: int, runs: Sequence[Callable[[], object]]) -> None:
    """Calls all of them in every round, every second round in reverse (A B, B A, …)."""
    for number in range(rounds):
        for run in runs if number % 2 == 0 else list(reversed(runs)):
            run()


def measure(rounds: int, steps: int, python115: str | None) -> list[Row]:
    """Trains in turn and returns the lines about step time and memory."""
    commands = {
        "tpucompat": first_pair.legacy_command(sys.executable, ["--quiet"]),
        "compat.v1": [sys.executable, DIRECT],
        "TensorFlow 2": [sys.executable, DIRECT_2, "one"],
        "8 cores": first_pair.legacy_command(sys.executable, ["--quiet", "--cores", "8"]),
        "MirroredStrategy": [sys.executable, DIRECT_2, "mirrored"],
    }
    if python115:
        commands["TensorFlow 1.15"] = first_pair.legacy_command(python115, ["--quiet"])
    runs: dict[str, list[Run]] = {name: [] for name in commands}

    def one(name: str) -> Callable[[], None]:
        def run() -> None:
            runs[name].append(train(commands[name], steps))
            step, memory = runs[name][-1]
            print(
                f"  {name:<16} {step * 1000:7.1f} ms per step, {memory / 2**20:6.0f} MiB",
                flush=True,
            )

        return run

    alternate(rounds, [one(name) for name in commands])

    def ratios(ours: str, other: str, field: str) -> list[float]:
        return [getattr(a, field) / getattr(b, field) for a, b in zip(runs[ours], runs[other])]

    return [
        row(line, "ratio", ratios(ours, other, field), limit)
        for line, ours, other, field, limit in COMPARISONS
        if {ours, other} <= set(commands)
    ]


def measure_import(rounds: int) -> Row:
    """The line about ``import tpucompat``: milliseconds over an empty interpreter."""
    empty: list[float] = []
    ours: list[float] = []
    alternate(
        rounds,
        [lambda: empty.append(start("pass")), lambda: ours.append(start("import tpucompat"))],
    )
    more = [a - b for a, b in zip(ours, empty)]
    return row("import tpucompat over an empty interpreter", "ms", more, IMPORT_LIMIT)


def main() -> int:
    """Measures, prints the table and writes it as JSON; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind")
    parser.add_argument("--steps", type=int, default=30, help="training steps per process")
    parser.add_argument("--exact", action="store_true", help="oneDNN off on all sides")
    parser.add_argument("--output", help="a .json for the figures")
    args = parser.parse_args()
    python115 = os.environ.get("TPUCOMPAT_TF115_PYTHON")

    versions = first_pair.versions(sys.executable)
    print(f"TensorFlow {versions['tensorflow']} on Python {versions['python']}")
    if not python115:
        print("TPUCOMPAT_TF115_PYTHON is not set: no comparison with TensorFlow 1.15")
    told = settings(args.exact)
    rows = [measure_import(max(20, args.rounds)), *measure(args.rounds, args.steps, python115)]

    report(rows, args.output, told, versions=versions, rounds=args.rounds, steps=args.steps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
