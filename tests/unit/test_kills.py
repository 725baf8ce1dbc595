"""``tools/kill.py`` over made-up trainings: what it must find wrong, and what not."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 9) or os.name != "posix", reason="a tool, on POSIX"
)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Saves every five steps, and goes on from there.
TRAINING = """
import os, sys, time
path, steps = os.path.join(sys.argv[1], "step"), int(sys.argv[2])
step = int(open(path).read()) if os.path.exists(path) else 0
first = step
while step < steps:
    print(step, LOSS, flush=True)
    step += 1
    if step % EVERY == 0:
        with open(path + ".new", "w") as file:
            file.write(str(step))
        os.replace(path + ".new", path)
    time.sleep(0.002)
"""


@pytest.fixture
def tool(monkeypatch):
    found = importlib.util.spec_from_file_location("kill", os.path.join(ROOT, "tools", "kill.py"))
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


@pytest.mark.parametrize(
    "every, loss, bad",
    [(5, "step * 0.5", 0), (2000, "step * 0.5", 1), (5, "(step - first) * 0.5", 1)],
)
def test_lost_steps_and_other_losses_are_found(every, loss, bad, tool, monkeypatch, tmp_path):
    text = TRAINING.replace("EVERY", str(every)).replace("LOSS", loss)

    def start(program, cores, folder, steps):
        command = [sys.executable, "-c", text, folder, str(steps)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)

    monkeypatch.setattr(tool, "start", start)
    out = tmp_path / "out.jsonl"
    words = ["estimator:8", "--kills", "3", "--steps", "900", "--out", str(out)]
    assert tool.main(words) == bad
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert sum(row["kills"] for row in rows) == 3
    *_, row, total = tool.table(str(out))
    lost, differ = (int(word) for word in row.strip("| ").split(" | ")[-2:])
    assert row.startswith("| TPUEstimator | 8 | 3 |") and total.startswith("| total | | 3 |")
    assert bad == (lost > 5 or differ > 0)
