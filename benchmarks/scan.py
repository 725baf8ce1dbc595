"""How long ``tpucompat scan`` takes on a tree, beside TensorFlow's own tf_upgrade_v2, and on ten copies of it.

    python benchmarks/scan.py PATH/TO/tensorflow-tpu [--upgrade PATH/TO/tf_upgrade_v2] [--repeats 5]

Prints the best and the median of some runs of whole processes, the largest memory of one (with its workers),
and the ratios. tf_upgrade_v2 stops at the first file that it cannot handle and then reports nothing; files
on which it crashed in a first pass are left out of its run, and named.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

LARGEST_BYTES = 200 * 2**20


class Took(NamedTuple):
    """Seconds by the clock, and seconds of all cores together, which other work hardly changes."""

    clock: float
    cores: float


def timed(command: list[str]) -> tuple[Took, subprocess.CompletedProcess]:
    """What a process took, with its workers, and what it left."""
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    after, end = os.times(), time.perf_counter()
    cores = after.children_user + after.children_system
    return Took(end - start, cores - before.children_user - before.children_system), done


def shown(took: Took) -> str:
    """The seconds of all cores."""
    return f"{took.cores:.2f} s of all cores together"


def compared(took: Took, once: Took) -> str:
    """How often something took as long as one scan."""
    by_cores = f"{shown(took)}, {took.cores / once.cores:.1f} times as long"
    return f"{took.clock:.2f} s, {took.clock / once.clock:.1f} times as long; {by_cores}"


def scan_command(tree: str) -> list[str]:
    """The scan of a tree by this interpreter."""
    return [sys.executable, "-m", "tpucompat", "scan", "--format", "json", tree]


def peak(tree: str) -> int:
    """The bytes of memory of a scan: its own, and those of its largest worker for each worker."""
    script = (
        "import resource, sys; from tpucompat.__main__ import main; main(['scan', sys.argv[1]]);"
        "peak = lambda who: resource.getrusage(who).ru_maxrss * 1024;"
        "sys.stderr.write('%d %d' % (peak(resource.RUSAGE_SELF), peak(resource.RUSAGE_CHILDREN)))"
    )
    done = subprocess.run([sys.executable, "-c", script, tree], capture_output=True, text=True)
    own, worker = map(int, done.stderr.split()[-2:])
    return own + worker * len(os.sched_getaffinity(0))


def upgrade(program: str, tree: str, out: str) -> tuple[Took, list[str]]:
    """Seconds of tf_upgrade_v2 on the files that it survives, and those that it does not."""
    copy, left_out = os.path.join(out, "copy"), []
    shutil.copytree(tree, copy, symlinks=True)
    while True:
        shutil.rmtree(os.path.join(out, "upgraded"), ignore_errors=True)
        command = [program, "--intree", copy, "--outtree", os.path.join(out, "upgraded")]
        command += ["--reportfile", os.path.join(out, "report.txt")]
        seconds, done = timed(command)
        if done.returncode == 0:
            return seconds, left_out
        # Its error names no file, only the line: "line 252: im_mask[…".
        where = re.findall(r"^line (\d+): (.*)$", done.stderr, re.MULTILINE)
        guilty = [path for path in scripts(copy) if where and has_line(path, *where[-1])]
        if not guilty:
            raise SystemExit(done.stderr[-2000:])
        left_out += [os.path.relpath(path, copy) for path in guilty]
        for path in guilty:
            os.remove(path)


def scripts(tree: str) -> list[str]:
    """The scripts and notebooks of a tree."""
    found = (os.path.join(folder, name) for folder, _, names in os.walk(tree) for name in names)
    return [path for path in found if path.endswith((".py", ".ipynb"))]


def has_line(path: str, number: str, text: str) -> bool:
    """Whether a file has this text on this line."""
    with open(path, encoding="utf-8", errors="replace") as stream:
        lines = stream.read().split("\n")
    return len(lines) >= int(number) and lines[int(number) - 1].strip() == text.strip()


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree")
    parser.add_argument("--upgrade", help="tf_upgrade_v2, to compare with")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    taken = [timed(scan_command(options.tree))[0] for _ in range(options.repeats)]
    once = Took(min(one.clock for one in taken), min(one.cores for one in taken))
    middle = statistics.median(one.clock for one in taken)
    print(f"scan: {once.clock:.2f} s at best, {middle:.2f} s in the middle; {shown(once)}")
    memory = peak(options.tree)
    print(f"memory: {memory / 2**20:.0f} MB with all workers (limit {LARGEST_BYTES >> 20})")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(10):
            shutil.copytree(options.tree, os.path.join(folder, str(number)), symlinks=True)
        tens = [timed(scan_command(folder))[0] for _ in range(max(2, options.repeats // 2))]
        ten = Took(min(one.clock for one in tens), min(one.cores for one in tens))
        print(f"ten copies: {compared(ten, once)} (limit 11)")
    if options.upgrade:
        with tempfile.TemporaryDirectory() as folder:
            theirs, left_out = upgrade(options.upgrade, options.tree, folder)
        print(f"tf_upgrade_v2: {compared(theirs, once)} (at least 7)")
        print(f"left out of its run, as it crashes on them: {', '.join(left_out) or 'none'}")
    print(f"cores: {len(os.sched_getaffinity(0))}; load: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
