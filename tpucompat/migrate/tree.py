"""Rewrites the files of a tree, those of a folder in view of each other."""

from __future__ import annotations

import ast
import os
import sys
from typing import Iterable, Iterator, Mapping

from tpucompat.analysis import findings, sources
from tpucompat.analysis.sources import SourceError
from tpucompat.migrate import estimators, plan
from tpucompat.migrate.context import Context
from tpucompat.migrate.plan import Result
from tpucompat.scan.scanner import DEPTH

#: How often a file is looked at again.
_PASSES = 3
#: Way -> what is said of a file that went it.
WAYS: Mapping[str, str] = {
    plan.NOTHING: "nothing to rewrite",
    plan.PLAIN: "rewritten to TensorFlow 2",
    plan.KERAS: "rewritten to TensorFlow 2, with its model under a strategy",
    plan.LOOP: "rewritten to TensorFlow 2, with training_loop.py beside it",
    plan.COMPATIBLE: "uses tpucompat.v1; its TODO gives the reason",
}


def said(result: Result) -> str:
    """What is said of a file: that it is TensorFlow 2 only where nothing is left to do in it."""
    if result.todos == 0 or result.way == plan.COMPATIBLE:
        if result.notes == 0:
            return WAYS[result.way]
        many = "a NOTE describes" if result.notes == 1 else f"{result.notes} NOTEs describe"
        return f"{WAYS[result.way]}; {many} what is reported differently"
    many = "1 TODO is" if result.todos == 1 else f"{result.todos} TODOs are"
    return f"partly rewritten; {many} left to resolve by hand"


def migrate(paths: Iterable[str], unsafe: bool = False, version: int = 3) -> Iterator[Result]:
    """Rewrites files in memory.

    The modules of one program share a process, and that is in the graph world as soon as one of them uses
    tpucompat.v1; so of the files that import each other those that build graphs use it all, or none does.

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
    scripts = [module for module in modules if not module.source.is_notebook]
    alone = {id(module): module for module in modules if module.source.is_notebook}
    for group in _groups(scripts):
        contexts = [Context(module) for module in group]
        together = any(map(plan.stays, contexts))
        with_loop = not together and any(map(estimators.is_wanted, contexts))
        for module in group:
            yield _settled(module, unsafe, together, with_loop, version)
    for module in alone.values():
        yield _settled(module, unsafe, version=version)


def _settled(
    module: findings.Module,
    unsafe: bool,
    together: bool = False,
    with_loop: bool = False,
    version: int = 3,
) -> Result:
    """A rewriting in which nothing is left to rewrite: one may show what another rests on."""
    result = plan.migrate(module, unsafe, together, with_loop, version)
    for _ in range(_PASSES if result.changed else 0):
        again = findings.understand(sources.decode(result.path, result.after))
        after = plan.migrate(again, unsafe, together, with_loop, version).after
        if after == result.after:
            break
        result = result._replace(after=after)
    return result


def _groups(modules: list[findings.Module]) -> Iterator[list[findings.Module]]:
    """The files of a folder, those together of which one imports another."""
    names = [os.path.splitext(os.path.basename(module.source.path))[0] for module in modules]
    group = {name: {name} for name in names}
    for name, module in zip(names, modules):
        for other in _imported(module) & group.keys():
            joined = group[name] | group[other]
            group.update(dict.fromkeys(joined, joined))
    done: set[int] = set()
    for name in names:
        if id(group[name]) not in done:
            done.add(id(group[name]))
            yield [module for one, module in zip(names, modules) if one in group[name]]


def _imported(module: findings.Module) -> set[str]:
    """Last parts of what a file imports."""
    found = set()
    for tree in filter(None, module.trees):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                found.add((node.module or "").rpartition(".")[2])
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.Import):
                found.update(alias.name.rpartition(".")[2] for alias in node.names)
    return found
