"""Runs a script and what ``migrate`` makes of it, and gives what each of them tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.migrate import plan

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
#: What runs an old script.
OLD = ("-m", "tpucompat", "run", "--quiet", "--era", "tf1")


def told(folder, text, *command):
    path = folder / "script.py"
    path.write_text(text)
    others = {"TF_USE_LEGACY_KERAS", "TPU_NAME", "TPUCOMPAT_CORES"}
    clean = {name: value for name, value in os.environ.items() if name not in others}
    settings = {"PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [sys.executable, *command, str(path)],
        env={**clean, **settings},
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.split("TOLD ")[1])


def migrated(text):
    """The script afterwards, in which nothing is left to do."""
    module = findings.understand(sources.decode("old.py", text.encode()))
    after = plan.migrate(module).after.decode()
    assert "TODO(tpucompat" not in after
    return after


def rounded(value):
    """A value without what rounding makes of its numbers."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def check(folder, text):
    """That a script and what becomes of it tell the same; gives what they tell, and the new text."""
    after = migrated(text)
    then, now = rounded(told(folder, text, *OLD)), rounded(told(folder, after))
    assert now == then, (now, then)
    return then, after
