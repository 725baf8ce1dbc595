"""Kills trainings at random moments, starts them again, and compares their losses with undisturbed ones.

    python tools/kill.py estimator:1 keras:8 [--kills 17] [--seed 0] [--out FILE]
    python tools/kill.py --table FILE          # the table of docs/reliability.md

For each PROGRAM:CORES a training runs to its end once. Then it is started in a new folder and killed (SIGKILL)
at a moment that is drawn, again and again, each time after it has printed a step of its own, until it was
killed --kills times. A start loses the steps that were printed before and are printed again; of those there may
be no more than lie between two checkpoints, and every loss has to be, digit for digit, that of the undisturbed
training. The exit code is 1 where that does not hold. --out gathers the figures of several runs, a line for
each start.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Iterator

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = {
    "estimator": ("TPUEstimator", "tests/behaviour/programs/estimator_steps.py"),
    "keras": ("keras_to_tpu_model, ModelCheckpoint", "tests/behaviour/programs/keras_steps.py"),
    "session": ("shard in a Session, Saver", "tests/behaviour/programs/session_steps.py"),
}
#: Steps between two checkpoints, in all of the programs.
BETWEEN = 5


def start(program: str, cores: int, folder: str, steps: int) -> subprocess.Popen[str]:
    """Starts a training that prints "step loss" lines."""
    path = os.path.join(ROOT, PROGRAMS[program][1])
    command = [sys.executable, "-m", "tpucompat", "run", "--quiet", "--exact"]
    command += ["--cores", str(cores)] if cores > 1 else []
    environment = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
    return subprocess.Popen(
        [*command, path, folder, str(steps)],
        env=environment,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def lines(process: subprocess.Popen[str]) -> Iterator[tuple[int, str]]:
    """The steps of a training as they are printed; a line that was cut off is none."""
    assert process.stdout is not None
    for line in process.stdout:
        words = line.split()
        if line.endswith("\n") and len(words) == 2:
            yield int(words[0]), words[1]


def undisturbed(program: str, cores: int, steps: int) -> dict[int, str]:
    """The losses of a training that nobody kills."""
    with tempfile.TemporaryDirectory() as folder, start(program, cores, folder, steps) as process:
        losses = dict(lines(process))
        said = process.stderr.read() if process.stderr else ""
    if process.returncode or len(losses) != steps:
        raise SystemExit(f"{program} on {cores} cores does not run: {said[-2000:]}")
    return losses


def killed(program: str, cores: int, kills: int, steps: int, seed: str) -> Iterator[dict[str, Any]]:
    """Kills a training that often; for each start what was lost, and which losses differ."""
    draw = random.Random(f"{program} {cores} {seed}")
    wanted = undisturbed(program, cores, steps)
    seen: dict[int, str] = {}
    folder = tempfile.mkdtemp()
    while kills > 0:
        before, first, differ = max(seen, default=-1), -1, []
        # From the first step on, also in the middle of a save; the time is drawn, and no step.
        moment = draw.uniform(0.0, 1.5)
        with start(program, cores, folder, steps) as process:
            timer = threading.Timer(moment, process.kill)
            for step, loss in lines(process):
                if first < 0:
                    first = step
                    timer.start()
                seen[step] = loss
                if loss != wanted[step]:
                    differ.append([step, loss, wanted[step]])
            timer.cancel()
            said = process.stderr.read() if process.stderr else ""
        was_killed = process.returncode == -signal.SIGKILL
        if first < 0 and process.returncode == 0:  # the end was reached: begin anew
            shutil.rmtree(folder)
            folder, seen = tempfile.mkdtemp(), {}
            continue
        if first < 0:
            raise SystemExit(f"{program} on {cores} cores does not start again: {said[-2000:]}")
        if process.returncode and not was_killed:
            raise SystemExit(f"{program} on {cores} cores ended by itself: {said[-2000:]}")
        kills -= was_killed
        yield {
            "program": program,
            "cores": cores,
            "kills": int(was_killed),
            "lost": [before + 1 - first] if before >= 0 else [],
            "differ": differ,
            "seed": seed,
        }
    shutil.rmtree(folder)


def table(path: str) -> Iterator[str]:
    """The figures as a table of the guide."""
    yield "| training | cores | kills | max. steps lost | losses that differ |"
    yield "|---|---|---|---|---|"
    sums: dict[tuple[str, int], list[int]] = {}
    with open(path, encoding="utf-8") as file:
        for has in map(json.loads, file):
            row = sums.setdefault((has["program"], has["cores"]), [0, 0, 0])
            row[0] += has["kills"]
            row[1] = max([row[1], *has["lost"]])
            row[2] += len(has["differ"])
    for (program, cores), (kills, lost, differ) in sorted(sums.items()):
        yield f"| {PROGRAMS[program][0]} | {cores} | {kills} | {lost} | {differ} |"
    together = list(zip(*sums.values()))
    yield f"| total | | {sum(together[0])} | {max(together[1])} | {sum(together[2])} |"


def main(argv: list[str]) -> int:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", metavar="PROGRAM:CORES", help=", ".join(PROGRAMS))
    parser.add_argument("--kills", type=int, default=17)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--out", metavar="FILE")
    parser.add_argument("--table", metavar="FILE")
    options = parser.parse_args(argv)
    if options.table:
        print("\n".join(table(options.table)))
        return 0
    bad = False
    for word in options.what:
        program, _, cores = word.partition(":")
        begun = time.time()
        for found in killed(program, int(cores or 1), options.kills, options.steps, options.seed):
            # A step may have been computed, and saved, without having been printed.
            bad = bad or bool(found["differ"]) or max(found["lost"], default=0) > BETWEEN
            line = json.dumps(found)
            print(f"{line} after {time.time() - begun:.0f} s", flush=True)
            if options.out:
                with open(options.out, "a", encoding="utf-8") as file:
                    file.write(line + "\n")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
