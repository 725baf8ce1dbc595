"""Every code block of the guide, executed: Python in one process for each world, shell lines by bash."""

from __future__ import annotations

import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap

import guide_blocks
import pytest

from tpucompat.base.machine import environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = sorted(
    path
    for path in glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)
    # These are made when the guide is built, from tables; the Chinese pages have the blocks of the others,
    # which test_pages.py asserts.
    if os.path.relpath(path, os.path.join(ROOT, "docs")).split(os.sep)[0]
    not in ("codes", "made", "pairs", "zh")
)
PAGES.append(os.path.join(ROOT, "README.md"))
BLOCKS = [block for page in PAGES for block in guide_blocks.blocks(page)]
SHELL_PAGES = sorted({block.page for block in BLOCKS if block.world == "shell"})

#: Lines of TensorFlow's native log, which depend on the machine.
NATIVE = re.compile(r"(?m)^(?:WARNING: All log messages before absl|[IWEF]\d{4} \d\d:).*\n")

RELEASE = environment().release or (0, 0)
pytestmark = pytest.mark.skipif(
    RELEASE < (2, 15) or (RELEASE > (2, 15) and not environment().tf_keras_version),
    reason="the guide is written for TensorFlow 2.15 and later, with tf-keras beside it",
)

#: Stands before the real one: nothing is installed, but what would be has to exist.
PIP = """
import re, sys
arguments = sys.argv[1:]
if arguments[:3] != ["-m", "pip", "install"]:
    import os
    os.execv({python!r}, [{python!r}, *arguments])
text = open({pyproject!r}, encoding="utf-8").read()
table = text.split("[project.optional-dependencies]")[1].split("[project")[0]
extras = re.findall(r"(?m)^(\\w+) = \\[", table)
known = {{"tensorflow-tpu", "tf-keras", "tensorflow-estimator", "tf-slim", "libtpu"}}
for word in arguments[3:]:
    name, _, extra = re.match(r"([\\w.-]+)(\\[(\\w+)\\])?", word).groups()
    assert name == "." and extra in (None, *extras) or name.rstrip(".-") in known, word
"""


def _environment(**more: str) -> dict[str, str]:
    # What other tests leave in this process is not part of the reader's environment.
    set_by_us = re.compile("TPUCOMPAT_|TF_USE_LEGACY_KERAS$|TF_ENABLE_ONEDNN_OPTS$")
    inherited = {key: value for key, value in os.environ.items() if not set_by_us.match(key)}
    return {
        **inherited,
        "PYTHONPATH": ROOT,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
        "PYTHONIOENCODING": "utf-8",
        **more,
    }


@pytest.mark.parametrize("world", ["tf1", "tf2"])
def test_python_blocks_run(world, tmp_path):
    there = [block for block in BLOCKS if block.world == world]
    pages = sorted({block.page for block in there})
    done = subprocess.run(
        [sys.executable, os.path.join(ROOT, "tools", "guide_blocks.py"), world, *pages],
        cwd=tmp_path,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    problems = [f"{one['page']}:{one['line']}: {one['problem']}" for one in results]
    assert not [line for line, one in zip(problems, results) if one["problem"]], "\n".join(problems)
    assert len(results) == len(there) > 5, done.stderr[-2000:]


@pytest.fixture(scope="module")
def shell_results(tmp_path_factory):
    """Page -> what its commands did; two pages at a time, each in a folder of its own."""
    tools = tmp_path_factory.mktemp("bin")
    pyproject = os.path.join(ROOT, "pyproject.toml")
    (tools / "python.py").write_text(PIP.format(python=sys.executable, pyproject=pyproject))
    for name, module in (("python", str(tools / "python.py")), ("tpucompat", "-m tpucompat")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        (tools / name).chmod(0o755)

    def run(page: str) -> list[str]:
        folder = tmp_path_factory.mktemp("page")
        for name in ("legacy_examples", "migrated_examples", "examples_data"):
            shutil.copytree(os.path.join(ROOT, name), folder / name)
        problems = []
        for block in (one for one in BLOCKS if one.page == page and one.world == "shell"):
            done = subprocess.run(
                ["bash", "-e", "-u", "-o", "pipefail", "-c", block.code]
                if not block.exit_code
                else ["bash", "-c", "worst=0; trap 'worst=$?' ERR\n" + block.code + "exit $worst"],
                cwd=folder,
                env=_environment(PATH=f"{tools}{os.pathsep}{os.environ['PATH']}"),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=300,
                check=False,
            )
            if done.returncode != block.exit_code:
                said = textwrap.indent(done.stdout[-2000:], "  ")
                problems.append(f"{page}:{block.line}: exit code {done.returncode}\n{said}")
            elif "prints" in block.marks:
                wrong = guide_blocks.difference(NATIVE.sub("", done.stdout), block.printed)
                problems += [f"{page}:{block.line}: {wrong}"] if wrong else []
        return problems

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(SHELL_PAGES, pool.map(run, SHELL_PAGES)))


@pytest.mark.parametrize(
    "printed, expected, is_alike",
    [
        ("loss 0.5001, 3 steps\n", "loss 0.5000,  3 steps", True),
        ("loss 0.51, 3 steps\n", "loss 0.50, 3 steps", False),
        ("loss 0.50, 4 steps\n", "loss 0.50, 3 steps", False),
        ("TensorFlow 2.15\nmany\nlines\nend", "TensorFlow …\n…\nend", True),
        ("TensorFlow 2.15\nend", "TensorFlow …\nanother end", False),
        ("error 3.1e-08 of 1e-05", "error 1.2e-08 of 1e-05", True),
        ("error 3.1e-05 of 1e-05", "error 1.2e-08 of 1e-05", False),
    ],
)
def test_what_a_page_says_is_printed(printed, expected, is_alike):
    assert (guide_blocks.difference(printed, expected) == "") is is_alike


def test_every_command_of_the_readme_is_run():
    blocks = guide_blocks.blocks(os.path.join(ROOT, "README.md"))
    assert [block.world for block in blocks if block.language != "text"] == ["shell"] * 4
    assert sum("prints" in block.marks for block in blocks) == 3


@pytest.mark.parametrize("page", SHELL_PAGES, ids=lambda page: os.path.relpath(page, ROOT))
def test_shell_blocks_run(page, shell_results):
    assert not shell_results[page], "\n".join(shell_results[page])
