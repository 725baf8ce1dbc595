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
    plan.KERAS: "rewritten for TensorFlow 2, with its model under a strategy",
    plan.COMPATIBLE: "uses tpucompat.v1; its TODO gives the reason",
}


def said(result: Result) -> str:
    """What is said of a file: that it is TensorFlow 2 only where nothing is left to do in it."""
    if result.todos == 0 or result.way == plan.COMPATIBLE:
        return WAYS[result.way]
    many = "1 TODO is" if result.todos == 1 else f"{result.todos} TODOs are"
    return f"partly rewritten; {many} left to resolve by hand"


def migrate(paths: Iterable[str], unsafe: bool = False) -> Iterator[Result]:
    """Rewrites files in memory.

    The modules of one program share a process, and that is in the graph world as soon as one of them uses
    tpucompat.v1; so the files of a folder that build graphs use it all, or none does.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEPTH))
    try:
        folders: dict[str, list[str]] = {}
        for path in paths:
            folders.setdefault(os.path.dirname(os.path.abspath(path)), []).append(path)
        for files in folders.values():
            yield from _folder(files, unsafe)
    finally:
        sys.setrecursionlimit(before)


def _folder(paths: list[str], unsafe: bool) -> Iterator[Result]:
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
        yield plan.migrate(module, unsafe, together and not module.source.is_notebook)
