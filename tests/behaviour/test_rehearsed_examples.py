"""The examples on rehearsed cores: the numbers of as many emulated ones, and of one replica on one core.

All runs start from the same initial values (``tools/seeded_start``). What is compared is what the scripts
write down: losses, metrics, results.
"""

from __future__ import annotations

import fnmatch
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tpucompat.base.machine import environment
from tpucompat.commands.verify import files, pairs

ROOT = Path(__file__).parents[2]
if sys.version_info >= (3, 11) and environment().has("rehearsal"):
    PAIRS = {pair.name: pair for pair in pairs.read(str(ROOT / "examples.toml"))}
else:  # examples.toml wants tomllib
    PAIRS = {}

pytestmark = pytest.mark.skipif(
    not PAIRS, reason="TensorFlow 2.15 rehearses, Python 3.11 has tomllib"
)

#: The rows that the default suite compares: the rest takes minutes.
QUICK = [("sharded_linear_regression", "legacy", 8)]
ROWS = [(n, half, cores) for n in PAIRS for half in ("legacy", "migrated") for cores in (1, 8)]
#: Single precision: XLA adds up in another order than TensorFlow's kernels.
LIMIT = 1e-5


def numbers(half, folder, data, options):
    """What a script writes down: the numbers of its JSON files by their paths."""
    out = folder / "out"
    out.mkdir(parents=True)

    def placed(words):
        return [word.replace("{out}", str(out)).replace("{data}", str(data)) for word in words]

    unset = ("TPUCOMPAT_CORES", "TPUCOMPAT_REHEARSE")
    environ = {name: value for name, value in os.environ.items() if name not in unset}
    environ.update(
        PYTHONPATH=os.pathsep.join([str(ROOT / "tools" / "seeded_start"), str(ROOT)]),
        PYTHONHASHSEED="0",
        CUDA_VISIBLE_DEVICES="-1",
        ALIKE_ON_CORES="1",
        TPUCOMPAT_EXACT="1",
    )
    command = [sys.executable, "-m", "tpucompat", "run", "--quiet", *options]
    done = subprocess.run(
        [*command, *placed(half.options), half.script, *placed(half.arguments)],
        env=environ,
        cwd=str(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return {
        f"{path.relative_to(out)}: {name}": value
        for path in sorted(out.rglob("*.json"))
        for name, value in files.numbers_of(str(path)).items()
    }


def differences(pair, which, cores, folder):
    """Name of a number -> how far the rehearsed run is from the other one, relative to its size."""
    task = pair.task(cores, sys.executable, sys.executable)
    half = task.old if which == "legacy" else task.new
    data = folder / "data"
    data.mkdir()
    if task.prepare:
        words = [word.replace("{data}", str(data)) for word in task.prepare]
        subprocess.run([sys.executable, *words], check=True)
    expected = numbers(half, folder / "other", data, ["--cores", str(cores)])
    found = numbers(half, folder / "rehearsed", data, ["--rehearse", str(cores)])
    compared = {
        name: value
        for name, value in expected.items()
        if not any(fnmatch.fnmatch(name.partition(": ")[2], pattern) for pattern in task.ignore)
    }
    assert compared and set(compared) <= set(found)
    return {
        name: np.abs(found[name] - value.astype(float)).max() / max(np.abs(value).max(), 1e-6)
        for name, value in compared.items()
    }


@pytest.mark.parametrize(
    ("name", "which", "cores"),
    [row if row in QUICK else pytest.param(*row, marks=pytest.mark.long) for row in ROWS],
)
def test_a_rehearsal_computes_what_other_cores_do(tmp_path, name, which, cores):
    pair = PAIRS[name]
    own = pair.content.get("tolerances", {}).get("files", {})
    limit = max(LIMIT, own.get("limit", 0))
    found = differences(pair, which, cores, tmp_path)
    assert max(found.values()) <= limit, found
