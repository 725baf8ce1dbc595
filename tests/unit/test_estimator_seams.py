"""The seams of TPUEstimator's source are in TensorFlow's module, and in the table that lists them."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest
from packaging.version import Version

from tpucompat.idioms.tpu_estimator import seams

SOURCE = "python/estimator/tpu/tpu_estimator.py"
FOLDER = Path(seams.__file__).parent


def installed():
    """The source beside the installed TensorFlow, and that of the TensorFlow 1.15 for comparisons."""
    found = {}
    spec = importlib.util.find_spec("tensorflow_estimator")
    if spec is not None and spec.submodule_search_locations:
        found["installed"] = Path(next(iter(spec.submodule_search_locations))) / SOURCE
    reference = os.environ.get("TPUCOMPAT_TF115_PYTHON")
    if reference:
        command = [reference, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]
        folder = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().strip()
        found["1.15"] = Path(folder) / "tensorflow_estimator" / SOURCE
    return {name: path for name, path in found.items() if path.exists()}


def members_of(node):
    """The methods of a class, and those of the classes in it."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef):
            yield each.name
        elif isinstance(each, ast.ClassDef):
            yield from (f"{each.name}.{name}" for name in members_of(each))


def names_of(text):
    """What a module defines or imports, and the methods of its classes."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found.add(node.name)
            found.update(f"{node.name}.{name}" for name in members_of(node))
    return found


def test_each_seam_exists_in_each_installed_release():
    sources = installed()
    if not sources:
        pytest.skip("no tensorflow-estimator here")
    for name, path in sources.items():
        (about,) = path.parents[4].glob("tensorflow_estimator-*.dist-info")
        release = Version(about.stem.split("-")[1])
        expected = {
            seam for seam, row in seams.SEAMS.items() if release >= Version(row.since or "1.13")
        }
        assert expected - names_of(path.read_text(encoding="utf-8")) == set(), name


def test_a_seam_that_is_missing_is_seen():
    text = "import tpu_ops\nclass _OpQueueContext:\n    def other(self): pass\n"
    missing = seams.SEAMS.keys() - names_of(text)
    assert "_OpQueueContext.__init__" in missing
    assert "tpu_ops" not in missing
    with pytest.raises(AssertionError, match="another"):
        seams.replace(seams, "another", None)


def test_the_table_lists_what_is_replaced():
    text = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py"))
    replaced = re.findall(r'seams\.replace\(\s*module,\s*"([\w.]+)"', text)
    assert sorted(replaced) == sorted(seams.SEAMS)
    # None past the table, but for a namespace that lacks a function and a property without effect.
    source = (FOLDER / "source.py").read_text(encoding="utf-8")
    assert re.findall(r"^ +module\.(\w+) = ", source, re.M) == ["tf"]
