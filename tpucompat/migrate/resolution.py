"""Looks up the names of a rewritten file in the TensorFlow and Keras that are installed, without running it.

``python -m tpucompat.migrate.resolution`` does that in a process of its own: names on its input, one a
line, and those that are missing on its output.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from typing import Iterable

from tpucompat.analysis import findings, sources
from tpucompat.migrate.context import Context
from tpucompat.migrate.plan import COMPATIBLE, Result, encoded

_ROOTS = ("tensorflow", "keras", "tf_keras", "tf_slim")
_CODE = "TPU516"


def missing(names: Iterable[str], legacy_keras: bool = False) -> set[str]:
    """Those of some dotted names that are not there; none where TensorFlow is not installed.

    Args:
      names: ``tensorflow.math.log`` and the like.
      legacy_keras: Whether the program asks for Keras 2 by ``TF_USE_LEGACY_KERAS``.
    """
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment.pop("TF_USE_LEGACY_KERAS", None)
    if legacy_keras:
        environment["TF_USE_LEGACY_KERAS"] = "1"
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (folder, environment.get("PYTHONPATH")))
    )
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat.migrate.resolution"],
        input="\n".join(sorted(names)),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    marked = (line.partition("MISSING ") for line in done.stdout.splitlines())
    return {name for before, mark, name in marked if mark and not before}


def mark(result: Result) -> Result:
    """A rewritten file with a TODO at each name that is not there."""
    if result.way == COMPATIBLE or not result.changed:
        return result
    module = findings.understand(sources.decode(result.path, result.after))
    uses = [
        use for use in module.names.uses if not use.guarded and use.name.partition(".")[0] in _ROOTS
    ]
    legacy = b"TF_USE_LEGACY_KERAS" in result.after
    gone = missing({use.name for use in uses}, legacy) if uses else set()
    context = Context(module)
    for use in uses:
        if use.name in gone:
            at = use.statement if use.statement is not None else use.node
            what = f"{use.name} does not exist in the installed packages"
            context.todo(_CODE, what, at, context.cell_of(at))
    return result._replace(after=encoded(module, context.finish())) if gone else result


def is_there(name: str) -> bool:
    """Whether a dotted name leads to something; True where its package is not installed."""
    head, *parts = name.split(".")
    try:
        value = importlib.import_module(head)
    except ImportError:
        return head != "tensorflow" or not parts
    path = head
    for part in parts:
        path += "." + part
        try:
            value = getattr(value, part)
        except Exception:
            try:
                value = importlib.import_module(path)
            except Exception:
                return False
    return True


def main() -> None:
    """Answers for the names on the input."""
    names = sys.stdin.read().split()
    try:
        importlib.import_module("tensorflow")
    except ImportError:
        return
    for name in names:
        if not is_there(name):
            sys.stdout.write(f"\nMISSING {name}\n")


if __name__ == "__main__":
    main()
