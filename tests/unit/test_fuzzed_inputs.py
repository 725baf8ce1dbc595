"""Some inputs of ``tools/fuzz.py``, those that failed before, and files for which time grew as a square."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tpucompat.commands.cli import line_diff

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

from tpucompat.commands.cli import migrate, scan

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "fuzz.py")
SOME = [
    "scan:0:20",
    "migrate:0:20",
    "notebook:0:20",
    "tree:0:10",
    "pyproject:0:40",
    "tf_config:0:200",
]
# A second pass changed something; a codec that is none of texts; numbers such as "²" in TF_CONFIG.
FAILED = [f"migrate:{n}" for n in (500, 1131, 3533, 5243, 8083, 9826)] + [
    "notebook:3127",
    "notebook:4198",
]


@pytest.mark.skipif(sys.version_info < (3, 9) or os.name != "posix", reason="a tool, on POSIX")
def test_inputs_of_the_campaign():
    done = subprocess.run(
        [sys.executable, TOOL, *SOME, *FAILED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count('"failures": []') == len(SOME) + len(FAILED)


@pytest.mark.skipif(sys.version_info < (3, 9) or os.name != "posix", reason="a tool, on POSIX")
@pytest.mark.parametrize("asked", ["scan:5000:900", "scan:5:5", "scan", "scan:a:b", "nothing:0:1"])
def test_a_campaign_of_no_input_is_an_error(asked):
    """Its figures would be those of a campaign without failures."""
    done = subprocess.run([sys.executable, TOOL, asked], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and f"{asked}: " in done.stderr


FUNCTION = "def f{0}(x):\n  return tf.log(f{0}(x))\n"
GUARD = """
try:
    import m{0}
except ImportError:
    m{0} = None
if tf.__version__ < "2":
    x{0} = 1
"""
WAY = """
try:
    import m{0}
except ImportError:
    m{0} = tf.contrib.layers.flatten
"""
TABLE = """
df{0} = pd.DataFrame(rows)
df{0} = df{0}.append(df{0})
"""
LONG = {
    "a name of thousands of parts": lambda n: "x = tf" + ".a" * (10 * n) + "\n",
    "attributes of nothing known": lambda n: "x = foo" + ".a" * (10 * n) + "\n",
    "findings": lambda n: "tf.log(1)\n" * n,
    "functions": lambda n: "".join(FUNCTION.format(i) for i in range(n)),
    "guards": lambda n: "".join(GUARD.format(i) for i in range(n)),
    "other ways": lambda n: "".join(WAY.format(i) for i in range(n)),
    "tables": lambda n: "import pandas as pd\n" + "".join(TABLE.format(i) for i in range(n // 4)),
    "changes in all places": lambda n: "".join(f"y = {i}\ntf.log({i})\n" for i in range(n)),
}


@pytest.mark.long
@pytest.mark.parametrize("command", [scan, migrate])
@pytest.mark.parametrize("what", LONG)
def test_time_grows_with_the_size(what, command, tmp_path, capsys):
    """Eight times the size takes far less than the 64 times of a square."""
    taken = []
    for size in (500, 4000):
        path = tmp_path / f"script{size}.py"
        path.write_text("import tensorflow as tf\n" + LONG[what](size))
        tries = []
        for _ in range(3):  # the collector of garbage may come in between
            start = time.process_time()
            command.main([str(path)])
            tries.append(time.process_time() - start)
            capsys.readouterr()
        taken.append(min(tries))
    assert taken[1] < 24 * max(taken[0], 0.02), taken


@pytest.mark.parametrize(
    "asked",
    [
        "tf.__version__" + ".replace('2', '22')" * 200,
        "tf.__version__" + ".replace('', '22')" * 200,
        "tf.__version__.startswith(3)",
        "tf.__version__.split('.').startswith('2')",
        "tf.__version__.split('.')[0].replace(1, 2)",
        "int(tf.__version__[0]) < int(float('1e999'))",
    ],
)
def test_a_version_is_asked_for_in_ways_that_have_no_answer(asked, tmp_path, capsys):
    path = tmp_path / "script.py"
    path.write_text(f"import tensorflow as tf\nif {asked}:\n    tf.log(1)\n")
    start = time.process_time()
    assert scan.main([str(path)]) == 0
    assert "1 guarded" in capsys.readouterr().out and time.process_time() - start < 5


def test_a_diff_of_many_lines_is_that_of_patch(tmp_path):
    old = [f"line {i % 97}\n" for i in range(3000)]
    new = [line.upper() if i % 50 == 7 else line for i, line in enumerate(old) if i % 400 != 3]
    new[1000:1000] = [f"put in {i}\n" for i in range(700)]
    diff = list(line_diff.unified(old, new, "a", "b"))
    assert applied(old, diff) == new
    assert len(diff) < 2500 and list(line_diff.unified(old, old, "a", "b")) == []


def applied(old, diff):
    """What a unified diff makes of the old lines; each of its own has to be what is there."""
    result, at = [], 0
    for line in diff[2:]:
        if line.startswith("@@"):
            start, _, length = line.split()[1][1:].partition(",")
            first = int(start) - (length != "0")
            result += old[at:first]
            at = first
        elif line[0] == "+":
            result.append(line[1:])
        else:
            assert old[at] == line[1:]
            result += old[at : at + 1] if line[0] == " " else []
            at += 1
    return result + old[at:]
