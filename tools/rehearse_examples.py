"""Compares the examples on rehearsed cores with as many emulated cores, and with one replica.

    python tools/rehearse_examples.py                              # every pair, on 8 cores and on 1: an hour
    python tools/rehearse_examples.py --pair NAME --cores 8

Both scripts of each pair of ``examples.toml`` run by ``tpucompat run`` from the same initial values, without
dropout, and with the same order of the examples (``tools/seeded_start``). What is compared is what they write
down: losses, metrics, results. Of each number the largest difference counts, relative to the largest one of
its array. Where it is above 1e-5, one replica runs three times more, with its initial weights moved by one unit
in their last place: a program that is itself that far from its own results cannot be nearer to others. The
exit code is 1 if a run fails, or differs by more than 1e-5 and by more than the program does from itself.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tpucompat.commands.verify import files, pairs  # noqa: E402

EXAMPLES = ROOT / "examples.toml"
#: Single precision: XLA adds up in another order than TensorFlow's kernels.
LIMIT = 1e-5
#: A number that is nothing but rounding has no size to measure a difference by.
SMALLEST = 1e-6
HALVES = ("legacy", "migrated")
#: How often a program is compared with itself.
MOVED = 3
_ONE = ("--cores", "1")
#: The number of cores, which is another one on one replica.
_COUNT = ": cores"


class Failed(Exception):
    """A run that did not end well, with the end of what it said."""


class Row(NamedTuple):
    """A script on rehearsed cores.

    Attributes:
      pair: The name of its pair.
      half: One of ``HALVES``.
      cores: How many cores are rehearsed.
      emulated: The largest difference from as many emulated cores; on one core they are one replica.
      one: The largest difference from one replica.
      itself: The largest difference of one replica from itself with moved weights; None where not needed.
      worst: The number that differs most.
    """

    pair: str
    half: str
    cores: int
    emulated: float
    one: float
    itself: float | None
    worst: str

    @property
    def far(self) -> bool:
        """Whether a difference is above the limit."""
        return max(self.emulated, self.one) > LIMIT

    @property
    def agrees(self) -> bool:
        """Whether the rehearsed cores differ by no more than rounding."""
        return not self.far or max(self.emulated, self.one) <= (self.itself or 0.0)


class Example:
    """One script of a pair, for a number of cores.

    Args:
      pair: A row of ``examples.toml``.
      half: One of ``HALVES``.
      cores: The number of cores whose flags it gets.
      folder: An empty folder.
    """

    def __init__(self, pair: pairs.Pair, half: str, cores: int, folder: pathlib.Path) -> None:
        task = pair.task(cores, sys.executable, sys.executable)
        self._half = task.old if half == "legacy" else task.new
        self._ignored = list(task.ignore)
        self._folder = folder
        self._data = folder / "data"
        self._data.mkdir(parents=True)
        if task.prepare:
            words = [word.replace("{data}", str(self._data)) for word in task.prepare]
            subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)

    def numbers(self, *options: str, **environ: str) -> dict[str, np.ndarray]:
        """What a run writes down: the numbers of its JSON files by their paths.

        Args:
          *options: Of ``tpucompat run``: on which cores.
          **environ: More variables of its environment.

        Raises:
          Failed: It ended with an error.
        """
        where = self._folder / "-".join([*options, *environ.values()]).replace("--", "")
        out = where / "out"
        out.mkdir(parents=True)
        if self._half.first is not None:
            self._run(out, options, environ, self._half.first)
        self._run(out, options, environ)
        return {
            f"{path.relative_to(out)}: {name}": value
            for path in sorted(out.rglob("*.json"))
            for name, value in files.numbers_of(str(path)).items()
        }

    def _run(
        self,
        out: pathlib.Path,
        options: Sequence[str],
        environ: dict[str, str],
        more: Sequence[str] = (),
    ) -> None:
        unset = ("TPUCOMPAT_CORES", "TPUCOMPAT_REHEARSE")
        kept = {name: value for name, value in os.environ.items() if name not in unset}
        words = [*options, *self._half.options, self._half.script, *self._half.arguments, *more]
        placed = [w.replace("{out}", str(out)).replace("{data}", str(self._data)) for w in words]
        done = subprocess.run(
            [sys.executable, "-m", "tpucompat", "run", "--quiet", *placed],
            env={
                **kept,
                "PYTHONPATH": os.pathsep.join([str(ROOT / "tools" / "seeded_start"), str(ROOT)]),
                "PYTHONHASHSEED": "0",
                "CUDA_VISIBLE_DEVICES": "-1",
                "ALIKE_ON_CORES": "1",
                "TPUCOMPAT_EXACT": "1",
                **environ,
            },
            cwd=str(out.parent),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=1800,
        )
        if done.returncode:
            raise Failed(f"exit code {done.returncode}: {done.stderr.decode()[-3000:]}")

    def differences(
        self, found: dict[str, np.ndarray], expected: dict[str, np.ndarray]
    ) -> dict[str, float]:
        """Name of a number -> how far it is from the expected one; those that the pair ignores are left out.

        Raises:
          Failed: If there is nothing to compare, or a number is missing.
        """
        compared = {
            name: value.astype(float)
            for name, value in expected.items()
            if not any(fnmatch.fnmatch(name.partition(": ")[2], each) for each in self._ignored)
        }
        if not compared or not set(compared) <= set(found):
            raise Failed(f"{sorted(found)} was written for {sorted(compared)}")
        return {
            name: float(np.abs(found[name] - value).max() / max(np.abs(value).max(), SMALLEST))
            for name, value in compared.items()
        }


def rehearse(pair: pairs.Pair, half: str, cores: int, folder: pathlib.Path) -> Row:
    """Runs one script on rehearsed cores and on those that it is compared with.

    Args:
      pair: A row of ``examples.toml``.
      half: One of ``HALVES``.
      cores: How many cores are rehearsed.
      folder: An empty folder.

    Raises:
      Failed: A run ended with an error, or wrote down other things.
    """
    example = Example(pair, half, cores, folder)
    found = example.numbers("--rehearse", str(cores))
    one = example.numbers(*_ONE)
    from_one = example.differences(found, one)
    emulated = from_one
    if cores > 1:
        emulated = example.differences(found, example.numbers("--cores", str(cores)))
        from_one = {name: off for name, off in from_one.items() if not name.endswith(_COUNT)}
    worst = max(emulated, key=lambda name: max(emulated[name], from_one.get(name, 0.0)))
    farthest = max(emulated.values()), max(from_one.values(), default=0.0)
    row = Row(pair.name, half, cores, *farthest, None, worst)
    if not row.far:
        return row
    moved = [example.numbers(*_ONE, MOVED_WEIGHTS=str(seed)) for seed in range(1, MOVED + 1)]
    itself = max(max(example.differences(each, one).values()) for each in moved)
    return row._replace(itself=itself)


def _table(options: Any) -> Iterator[tuple[str, bool]]:
    """The lines of the table, and whether each of them is good."""
    yield "| script | cores | emulated cores | one replica | itself, moved | most different |", True
    yield "|---|---|---|---|---|---|", True
    for pair in pairs.read(str(EXAMPLES)):
        if options.pair and pair.name not in options.pair:
            continue
        for half in options.half or HALVES:
            for cores in options.cores or (8, 1):
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        row = rehearse(pair, half, cores, pathlib.Path(folder))
                    except Failed as error:
                        yield f"| {pair.name}, {half} | {cores} | {error} |", False
                        continue
                own = "" if row.itself is None else f"{row.itself:.1e}"
                yield (
                    f"| {row.pair}, {half} | {cores} | {row.emulated:.1e} | {row.one:.1e} | {own} | "
                    f"{row.worst}{'' if row.agrees else ' **differs**'} |",
                    row.agrees,
                )


def main() -> int:
    """Prints the table; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pair", action="append", help="the pairs; default: all")
    parser.add_argument("--half", action="append", choices=HALVES, help="default: both scripts")
    parser.add_argument("--cores", action="append", type=int, help="default: 8, and 1")
    good = True
    for line, agrees in _table(parser.parse_args()):
        print(line, flush=True)
        good = good and agrees
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
