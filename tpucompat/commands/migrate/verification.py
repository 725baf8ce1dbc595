"""``migrate --verify``: runs a script and its rewriting by ``tpucompat verify`` before anything is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, NamedTuple, Sequence

from tpucompat.base import temporary
from tpucompat.commands.migrate import files
from tpucompat.commands.migrate.plan import COMPATIBLE, Result

#: One replica, cores that are emulated, and cores that are rehearsed under TensorFlow's own TPUStrategy.
EVERYWHERE = ("--cores", "1", "--cores", "8", "--rehearse", "8")
#: What goes on with tpucompat.v1 has no strategy that could be rehearsed: it is the old program itself.
_HERE = ("--cores", "1")


class Compared(NamedTuple):
    """What the comparisons of one script said.

    Attributes:
      exit_code: 0 where all agree, 1 where one differs, 2 where one could not be made.
      why: What to say where it is not 0.
      comparisons: What ``tpucompat verify --json`` wrote about each.
    """

    exit_code: int
    why: str
    comparisons: Sequence[Any]


def report_of(path: str) -> str:
    """Where the comparison of a script is written: beside it."""
    return os.path.splitext(path)[0] + ".verify.json"


def compare(result: Result, arguments: str, beside: str) -> Compared:
    """Compares a rewritten script with the original on one replica, on emulated cores and on rehearsed ones.

    Args:
      result: The rewritten script.
      arguments: The scripts' own arguments, as one string.
      beside: The script that the report is written beside.
    """
    report = os.path.abspath(report_of(beside))
    os.makedirs(os.path.dirname(report), exist_ok=True)
    places = _HERE if result.way == COMPATIBLE else EVERYWHERE
    code = verify(result, arguments, [*places, "--json", report])
    try:
        with open(report, encoding="utf-8") as stream:
            found = json.load(stream)
    except (OSError, ValueError):
        found = []
    comparisons = found if isinstance(found, list) else [found]
    bad = [one for one in comparisons if one["exit_code"]]
    what = ", ".join(f"{one['name'].partition(' → ')[2]}: {one['verdict']}" for one in bad)
    why = {0: "", 1: "it differs from the old script"}.get(code, "it could not be compared")
    return Compared(code, f"{why} ({what})" if what else why, comparisons)


def verify(result: Result, arguments: str = "", options: Sequence[str] = ()) -> int:
    """Compares the numbers of a rewritten script with those of the original.

    The rewriting stands in a folder of its own, among links to what stands beside the original.

    Args:
      result: The rewritten script.
      arguments: The scripts' own arguments, as one string.
      options: More options of ``tpucompat verify``.

    Returns:
      Its exit code: 0 where they agree, 1 where they differ, 2 where they could not be compared.
    """
    original = os.path.abspath(result.path)
    folder, name = os.path.split(original)
    with temporary.folder() as beside:
        for entry in os.listdir(folder):
            if entry != name:
                os.symlink(os.path.join(folder, entry), os.path.join(beside, entry))
        rewritten = os.path.join(beside, name)
        with open(rewritten, "wb") as stream:
            stream.write(result.after)
        for path, content in files.beside(result.beside, beside).items():
            files.place(path, content)
        command = [sys.executable, "-m", "tpucompat", "verify", original, rewritten]
        command += ["--args", arguments] if arguments else []
        return subprocess.run([*command, *options]).returncode
