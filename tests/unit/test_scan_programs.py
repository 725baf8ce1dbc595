"""Public programs through scan and migrate; TPUCOMPAT_PROGRAMS names the folders that they are checked out in.

    TPUCOMPAT_PROGRAMS=tensorflow-tpu:bert pytest tests/unit/test_scan_programs.py

``benchmarks/scan.py`` measures the time and the memory of the same.
"""

from __future__ import annotations

import ast
import difflib
import os
import re
import sys

import pytest

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.migrate import plan, tree
from tpucompat.commands.scan import configuration, scanner

FOLDERS = [path for path in os.environ.get("TPUCOMPAT_PROGRAMS", "").split(os.pathsep) if path]

pytestmark = pytest.mark.skipif(not FOLDERS, reason="TPUCOMPAT_PROGRAMS names no folders")

NOTHING = configuration.Configuration()


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_use_of_contrib_tpu_is_reported_with_a_replacement(folder):
    """google's programs say `from tensorflow.contrib import tpu as contrib_tpu`."""
    reports = scanner.scan(scanner.files([folder], NOTHING), NOTHING)
    found = {(one.path, one.line, one.column): one for report in reports for one in report.findings}
    count = 0
    for report in reports:
        if not report.path.endswith(".py"):
            continue
        with open(report.path, encoding="utf-8", errors="replace") as stream:
            for number, line in enumerate(stream, 1):
                for use in re.finditer(r"\bcontrib_tpu\.\w+", line):
                    count += 1
                    one = found[report.path, number, use.start() + 1]
                    assert one.code.startswith("TPU2") and one.becomes and one.covered
    print(f"{len(reports)} files, {len(found)} findings, {count} uses of contrib_tpu")
    assert reports


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_rewritten_file_is_sound(folder):
    """It parses, is not rewritten again, and lines without anything old are those of the original."""
    results = list(tree.migrate(scanner.files([folder], NOTHING)))
    for result in results:
        if not result.changed or result.path.endswith(".ipynb"):
            continue
        module = findings.understand(sources.decode(result.path, result.after))
        ast.parse(module.source.units[0].original)
        together = result.way == plan.COMPATIBLE
        assert plan.migrate(module, together=together).after == result.after, result.path
        if result.way != plan.KERAS:
            assert _touched(result) <= _old_lines(result), result.path
    print({way: sum(one.way == way for one in results) for way in tree.WAYS})


def _touched(result):
    """The numbers of the original's lines that the rewriting does not have."""
    before, after = (data.split(b"\n") for data in (result.before, result.after))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return {
        line + 1
        for kind, start, end, _, _ in matcher.get_opcodes()
        if kind in ("replace", "delete")
        for line in range(start, end)
    }


def _old_lines(result):
    """The numbers of the original's lines on which something old stands, or an import."""
    module = findings.understand(sources.decode(result.path, result.before))
    nodes = [place.use.node for place in findings.places(module)]
    nodes += [call.node for call in module.names.calls if call.name in findings.METHODS]
    nodes += [node for node, _, _, _ in module.names.strings]
    nodes += [
        node
        for node in ast.walk(module.trees[0])
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.With, ast.Call))
        and (not isinstance(node, ast.With) or "list_devices" in ast.dump(node))
        and (not isinstance(node, ast.Call) or _imports(node))
    ]
    return {
        line
        for node in nodes
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if hasattr(node, "lineno")
    }


def _imports(call):
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    keras_optimizer = any(word.arg == "lr" for word in call.keywords)
    return name in ("import_module", "__import__") or name.endswith("Optimizer") or keras_optimizer
