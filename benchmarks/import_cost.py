"""What the old namespace costs before a script's first step, as figures from one run on one machine.

    python benchmarks/import_cost.py [--rounds N] [--modules N] [--output FILE]

* ``import tpucompat.v1 as tf`` and the first use of a name, over the same with
  ``tensorflow.compat.v1``, each in a process of its own;
* what the import hook adds to a module of a script: a script with many small modules is timed by
  itself while it imports them, under ``python`` and under ``tpucompat run``.

Timings on a shared machine are noisy: these are figures to read, not a test.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)

from overhead import Row, alternate, report, row, settings  # noqa: E402  (benchmarks/overhead.py)

MODULE = """import collections
import os
import numpy as np
from package import base

def value():
    return base.ONE + {number}
"""
SCRIPT = """import time
import numpy as np
start = time.perf_counter()
{imports}
print((time.perf_counter() - start) * 1000.0 / {count})
"""


def environment() -> dict[str, str]:
    """What every process is given.

    Byte code may be written, as for any user: what pip installs has its own, and ``PYTHONDONTWRITEBYTECODE``
    would have a checkout's modules compiled in each process, TensorFlow's not.
    """
    inherited = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    return {
        **inherited,
        "PYTHONPATH": ROOT,
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_USE_LEGACY_KERAS": "1",
    }


def import_time(module: str) -> float:
    """Seconds of a process that imports a module as ``tf`` and uses a name of it."""
    start = time.perf_counter()
    code = f"import {module} as tf; tf.placeholder"
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True, capture_output=True)
    return time.perf_counter() - start


def module_time(command: list[str], folder: str) -> float:
    """Milliseconds per module of the script in that folder, as it says itself."""
    done = subprocess.run(
        [*command, "script.py"], cwd=folder, env=environment(), check=True, capture_output=True
    )
    return float(done.stdout.split()[-1])


def write_script(folder: str, count: int) -> None:
    """A script with so many modules."""
    os.mkdir(os.path.join(folder, "package"))
    contents = {
        "package/__init__.py": "",
        "package/base.py": "ONE = 1\n",
        "script.py": SCRIPT.format(
            imports="\n".join(f"from package import m{number}" for number in range(count)),
            count=count,
        ),
        **{f"package/m{number}.py": MODULE.format(number=number) for number in range(count)},
    }
    for name, text in contents.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            stream.write(text)


def measure(rounds: int, modules: int) -> list[Row]:
    """Measures all of it; returns the lines of the table."""
    names = ("tensorflow.compat.v1", "tpucompat.v1")
    seconds: dict[str, list[float]] = {name: [] for name in names}
    commands = {
        "python": [sys.executable],
        "tpucompat run": [sys.executable, "-m", "tpucompat", "run", "--quiet"],
    }
    each: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        write_script(folder, modules)
        for name in names:
            import_time(name)  # byte code and the page cache
        for command in commands.values():
            module_time(command, folder)
        alternate(
            rounds,
            [
                *(lambda name=name: seconds[name].append(import_time(name)) for name in names),
                *(
                    lambda name=name: each[name].append(module_time(commands[name], folder))
                    for name in commands
                ),
            ],
        )
    return [
        row(
            "import tpucompat.v1 over tensorflow's",
            "ratio",
            [ours / theirs for theirs, ours in zip(*seconds.values())],
            1.05,
        ),
        row(
            "import hook, per module",
            "ms",
            [ours - theirs for theirs, ours in zip(*each.values())],
            2.0,
        ),
    ]


def main() -> int:
    """Measures, prints the table and writes it as JSON; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="processes of each kind")
    parser.add_argument("--modules", type=int, default=200, help="modules of the script")
    parser.add_argument("--output", help="a .json for the figures")
    args = parser.parse_args()
    rows = measure(args.rounds, args.modules)
    report(rows, args.output, settings(exact=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
