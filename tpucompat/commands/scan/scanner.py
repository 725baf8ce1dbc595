"""Walks over files and folders, and looks at every script and notebook in one pass."""

from __future__ import annotations

import functools
import gc
import os
import sys
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from tpucompat.base import journal
from tpucompat.base.late import late
from tpucompat.commands.analysis import (
    collector,
    findings,
    guards,
    keras_3,
    library_members,
    star_imports,
)
from tpucompat.commands.analysis.findings import Finding, Module
from tpucompat.commands.analysis.sources import SourceError
from tpucompat.commands.cli import console
from tpucompat.commands.scan import hostile
from tpucompat.commands.scan.configuration import Configuration
from tpucompat.names import fixes
from tpucompat.names import successors as today

multiprocessing = late("multiprocessing")

#: Fewer files are not worth a second process.
FEW = 24
#: How deeply nested an expression may be.
DEPTH = 12_000

SUFFIXES = (".py", ".ipynb")


class FileReport(NamedTuple):
    """What was found in one file."""

    path: str
    lines: int
    findings: list[Finding]


def files(paths: Sequence[str], configuration: Configuration) -> Iterator[str]:
    """The scripts and notebooks at and below the paths, each once.

    A path that is named is looked at in any case. Below a folder, links are not followed: what they point to
    in the tree is found where it lies, and what lies outside of it is not the author's to read or to rewrite
    (TPU485).
    """
    roots = [os.path.realpath(path) for path in paths if os.path.isdir(path)]
    seen: set[str] = set()
    outside: list[str] = []
    for path in paths:
        for file in _below(path, configuration, roots, outside) if os.path.isdir(path) else (path,):
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                yield file
    if outside:
        named = ", ".join(map(console.shown, outside[:5]))
        named += f" and {len(outside) - 5} more" if outside[5:] else ""
        verb = "is a link" if len(outside) == 1 else "are links"
        journal.notice("TPU485", f"skipped: {named} {verb} out of the tree")


def _below(
    folder: str, configuration: Configuration, roots: Sequence[str], outside: list[str]
) -> Iterator[str]:
    """The files below a folder; links out of ``roots`` are added to ``outside``."""
    waiting = [folder]
    seen: set[tuple[int, int]] = set()  # a folder may be mounted below itself
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            yield folder  # which the scanner then cannot read, and says so
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        if status.st_ino:
            seen.add((status.st_dev, status.st_ino))
        folders = []
        for entry in entries:
            if configuration.leaves_out(entry.path):
                continue
            is_script = entry.name.endswith(SUFFIXES)
            if entry.is_symlink():
                real = os.path.realpath(entry.path)
                if not any(_is_in(root, real) for root in roots):
                    if is_script or os.path.isdir(real):
                        outside.append(entry.path)
                elif is_script and not (real.endswith(SUFFIXES) and os.path.isfile(real)):
                    yield entry.path  # dead, or to a script of another ending
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif is_script and entry.is_file(follow_symlinks=False):
                yield entry.path
        waiting += reversed(folders)


def _is_in(root: str, path: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def scan(
    paths: Iterable[str],
    configuration: Configuration,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[FileReport]:
    """Scans files, in several processes if there are many.

    Args:
      paths: The files.
      configuration: What is reported.
      workers: The number of processes; one per core of the machine if None.
      progress: Called with the number of files that are done, and of all.

    Returns:
      A report for each file, in the order of ``paths``.
    """
    listed = list(paths)
    count = min(_cores() if workers is None else workers, len(listed) // FEW + 1)
    look = functools.partial(scan_file, configuration=configuration)
    if count <= 1:
        with collector.paused():
            return _counted(map(look, listed), len(listed), progress)
    # Large files first, so that no process is left with one at the end.
    order = sorted(range(len(listed)), key=lambda index: -_size(listed[index]))
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    context = multiprocessing.get_context(method)
    _warm_up()
    with context.Pool(count, initializer=gc.disable) as pool:
        results = pool.imap(look, [listed[index] for index in order], chunksize=8)
        found = _counted(results, len(listed), progress)
    reports: list[FileReport | None] = [None] * len(listed)
    for index, report in zip(order, found):
        reports[index] = report
    return [report for report in reports if report is not None]


def _counted(
    reports: Iterable[FileReport], total: int, progress: Callable[[int, int], None]
) -> list[FileReport]:
    done = []
    for report in reports:
        done.append(report)
        progress(len(done), total)
    return done


def scan_file(path: str, configuration: Configuration) -> FileReport:
    """Looks at one file; what keeps it from being read is a finding too."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEPTH))
    try:
        lies = findings.analyse(path)
        module = star_imports.explicit(lies, on_line=True)
        shown = _found(lies) if module is None else _within(lies, _found(module))
        found = sorted(shown, key=lambda one: (one.cell, one.line, one.column, one.code))
    except SourceError as error:
        return FileReport(path, 0, _kept([findings.problem(path, error)], {}, configuration))
    except RecursionError:
        deep = SourceError("TPU424", "Its expressions are nested too deeply.")
        return FileReport(path, 0, _kept([findings.problem(path, deep)], {}, configuration))
    finally:
        sys.setrecursionlimit(before)
    units = {unit.cell: findings.ignored(unit.original) for unit in lies.source.units}
    lines = sum(unit.original.count("\n") + 1 for unit in lies.source.units)
    return FileReport(path, lines, _kept(found, units, configuration))


def _within(module: Module, found: Iterable[Finding]) -> Iterator[Finding]:
    """Findings in the text of a file, which was read with more at the end of a line."""
    lines = module.source.units[0].original.split("\n")
    yield from (one for one in found if one.column <= len(lines[one.line - 1]))


def _found(module: Module) -> Iterator[Finding]:
    yield from module.problems
    differences = list(_differences(module))
    told = {(one.cell, one.line, one.column, one.code) for one in differences}
    for place in findings.places(module):
        found = place.finding
        if (found.cell, found.line, found.column, found.code) not in told:
            yield found
    yield from findings.other_findings(module)
    yield from differences
    yield from _conditions(module)
    yield from _hazards(module)


def _conditions(module: Module) -> Iterator[Finding]:
    """Tests for the version of TensorFlow that a program of TensorFlow 2 does not survive."""
    trees = [tree for tree in module.trees if tree is not None]
    for dead in guards.dead(module.names, trees):
        was = "condition on the version of TensorFlow"
        yield Finding(*findings.where(module, dead.node), "TPU218", was, "", dead.what)


def _differences(module: Module) -> Iterator[Finding]:
    """What Keras 3 and other libraries offer otherwise, by the rows that ``migrate`` rewrites."""
    finders: list[Any] = []
    if keras_3.applies(module):
        finders.append(keras_3.Finder(module))
    if library_members.applies(module):
        finders.append(library_members.Finder(module))
    for one in (one for finder in finders for one in finder.find()):
        if one.row.how == "generator":
            continue  # a method, which is reported as one
        if one.uncertain:
            continue  # `migrate` makes sure of the name; a finding would be a guess
        row, where = one.row, findings.where(module, one.node)
        fix = fixes.SAFE if row.how else fixes.NONE
        yield Finding(*where, row.code, row.was, row.becomes, row.note, True, fix, one.guarded)


def _hazards(module: Module) -> Iterator[Finding]:
    seen: set[tuple[str, int, int]] = set()
    for hazard in hostile.hazards(module):
        where = findings.where(module, hazard.node)
        mark = (hazard.code, where[1], where[2])
        if mark not in seen:
            seen.add(mark)
            yield Finding(*where, hazard.code, hazard.was, hazard.becomes, hazard.note)


def _kept(
    found: Iterable[Finding],
    ignored: Mapping[int, Mapping[int, frozenset[str]]],
    configuration: Configuration,
) -> list[Finding]:
    kept = []
    for finding in found:
        codes = ignored.get(finding.cell, {}).get(finding.line)
        if codes is not None and (not codes or any(finding.code.startswith(c) for c in codes)):
            continue
        if configuration.reports(finding.code):
            kept.append(finding)
    return kept


def _warm_up() -> None:
    """Reads the tables once, before the other processes are made from this one."""
    today.fate("tensorflow.contrib.tpu.shard")
    today.roots()
    today.homes()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
