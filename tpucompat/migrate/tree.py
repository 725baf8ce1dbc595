"""Rewrites the files of a tree, those of a folder in view of each other."""

from __future__ import annotations

import os
import sys
from typing import Iterable, Iterator, Mapping

from tpucompat.analysis import findings
from tpucompat.analysis.sources import SourceError
from tpucompat.migrate import plan
from tpucompat.migrate.context import Context
from tpucompat.migrate.plan import Result
from tpucompat.scan.scanner import DEPTH

#: Way -> what is said of a file that went it.
WAYS: Mapping[str, str] = {
    plan.NOTHING: "nothing to rewrite",
    plan.PLAIN: "rewritten to TensorFlow 2",
    plan.KERAS: "rewritten to TensorFlow 2, its model under a strategy",
    plan.COMPATIBLE: "goes on with tpucompat.v1; its TODO says why",
}


def said(result: Result) -> str:
    """What is said of a file: that it is TensorFlow 2 only where nothing is left to do in it."""
    if result.todos == 0 or result.way == plan.COMPATIBLE:
        if result.notes == 0:
            return WAYS[result.way]
        many = "a NOTE says" if result.notes == 1 else f"{result.notes} NOTEs say"
        return f"{WAYS[result.way]}; {many} what is reported otherwise"
    many = "1 TODO is" if result.todos == 1 else f"{result.todos} TODOs are"
    return f"rewritten in part; {many} left to a person"


def migrate(paths: Iterable[str], unsafe: bool = False, version: int = 3) -> Iterator[Result]:
    """Rewrites files in memory.

    The modules of one program share a process, and that is in the graph world as soon as one of them uses
    tpucompat.v1; so the files of a folder that build graphs use it all, or none does.

    Args:
      paths: The files.
      unsafe: Whether to rewrite too what may change what the program does.
      version: Which Keras they get: 3, or 2, the package tf-keras.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEPTH))
    try:
        folders: dict[str, list[str]] = {}
        for path in paths:
            folders.setdefault(os.path.dirname(os.path.abspath(path)), []).append(path)
        for files in folders.values():
            yield from _folder(files, unsafe, version)
    finally:
        sys.setrecursionlimit(before)


def _folder(paths: list[str], unsafe: bool, version: int) -> Iterator[Result]:
    modules: list[findings.Module] = []
    for path in paths:
        try:
            modules.append(findings.analyse(path))
        except SourceError as error:
            yield Result(path, b"", b"", plan.NOTHING, [findings.problem(path, error)])
    together = any(
        plan.needs(Context(module)) for module in modules if not module.source.is_notebook
    )
    for module in modules:
        yield plan.migrate(module, unsafe, together and not module.source.is_notebook, version)
