"""Looks up the names of a rewritten file in the TensorFlow and Keras that are installed, without running it.

:func:`main` does that in a process of its own: names on its input, one a line, and those that are missing on
its output.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import types
from typing import Iterable, Mapping, Sequence

from tpucompat.base import package, processes
from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.analysis.findings import Module
from tpucompat.commands.migrate.context import Context
from tpucompat.commands.migrate.plan import COMPATIBLE, Result, encoded
from tpucompat.names.used import Use

_ROOTS = ("tensorflow", "keras", "tf_keras", "tf_slim")
_CODE = "TPU516"


def missing(names: Iterable[str], legacy_keras: bool = False) -> set[str]:
    """Those of some dotted names that do not exist; none if TensorFlow is not installed.

    Args:
      names: ``tensorflow.math.log`` and the like.
      legacy_keras: Whether the program asks for Keras 2 by ``TF_USE_LEGACY_KERAS``.
    """
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment.pop("TF_USE_LEGACY_KERAS", None)
    if legacy_keras:
        environment["TF_USE_LEGACY_KERAS"] = "1"
    folder = os.path.dirname(package.FOLDER)
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (folder, environment.get("PYTHONPATH")))
    )
    done = subprocess.run(
        processes.statement("from tpucompat.commands.migrate import resolution; resolution.main()"),
        input="\n".join(sorted(names)),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    marked = (line.partition("MISSING ") for line in done.stdout.splitlines())
    return {name for before, mark, name in marked if mark and not before}


def mark(results: Sequence[Result]) -> list[Result]:
    """Rewritten files with a TODO at each name that does not exist; one process answers for all of them."""
    modules = {
        index: findings.understand(sources.decode(result.path, result.after))
        for index, result in enumerate(results)
        if result.way != COMPATIBLE and result.changed
    }
    wanted: dict[bool, set[str]] = {}
    for index, module in modules.items():
        legacy = _asks_for_keras_2(results[index])
        wanted.setdefault(legacy, set()).update(use.name for use in _uses(module))
    gone = {legacy: missing(names, legacy) for legacy, names in wanted.items() if names}
    return [
        _marked(result, modules[index], gone) if index in modules else result
        for index, result in enumerate(results)
    ]


def _uses(module: Module) -> list[Use]:
    return [
        use for use in module.names.uses if not use.guarded and use.name.partition(".")[0] in _ROOTS
    ]


def _asks_for_keras_2(result: Result) -> bool:
    return any(b"TF_USE_LEGACY_KERAS" in text for text in (result.after, *result.beside.values()))


def _marked(result: Result, module: Module, gone: Mapping[bool, set[str]]) -> Result:
    names = gone.get(_asks_for_keras_2(result), set())
    context = Context(module)
    marked = False
    for use in _uses(module):
        if use.name in names:
            at = use.statement if use.statement is not None else use.node
            what = f"{use.name} does not exist in the installed packages"
            context.todo(_CODE, what, at, context.cell_of(at))
            marked = True
    return result._replace(after=encoded(module, context.finish())) if marked else result


def is_there(name: str) -> bool:
    """Whether a dotted name leads to something; True where its package is not installed."""
    head, *parts = name.split(".")
    try:
        value = importlib.import_module(head)
    except ImportError:
        return head != "tensorflow" or not parts
    path = head
    for part in parts:
        if not isinstance(value, (types.ModuleType, type)):
            return True  # an object's attributes are the program's, those of FLAGS for one
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
