"""Each patch replaces what its row says on the installed release, and undoing it puts the same objects back."""

from __future__ import annotations

import fnmatch
import functools
import importlib
import importlib.util
import json
import os
import subprocess
import sys

import pytest
import tensorflow

import tpucompat
from tpucompat.tf import patches
from tpucompat.tf.patches import rows
from tpucompat.tf.patches.row import EAGER_KERAS

_FEEDING = "tensorflow_estimator.python.estimator.inputs.queues.feeding_functions"
TF1 = tensorflow.__version__.startswith("1.")


def _nobody(names):
    return False


def _arguments(name):
    """What a patch that is not applied with a group is given here."""
    import numpy

    import tpucompat.v1 as old
    from tpucompat.runtime.paths import mapping, redirection

    return {
        "write_variables_last": (old.estimator.Estimator,),
        "export_only_what_is_better": (old.estimator.BestExporter,),
        "feed_text_as_objects": (importlib.import_module(_FEEDING),),
        "gate_gradients": (print,),
        "replicate_by": (print,),
        "restore_attribute": (numpy.ndarray, "tpucompat_test", "os:getcwd", _nobody, True),
        "accept_arrays_as_numbers": (_nobody,),
        "map_paths": (redirection.Redirection(mapping.parse_all(["gs://bucket=" + os.getcwd()])),),
        "enable": ("tf1",),
        "keep_text_as_objects": (_nobody,),
    }.get(name, ())


def _use_graphs():
    import tpucompat.v1 as old

    assert old.Session and old.estimator.Estimator and old.contrib.slim.conv2d
    applied = {change.patch.make for change in patches.changes()}
    for row in rows.ROWS:
        if row.make in applied or row.group == EAGER_KERAS or not row.is_needed():
            continue
        if _has_library(row):
            module, _, name = row.make.partition(":")
            getattr(importlib.import_module(module), name)(*_arguments(name))


def _use_eager():
    from tpucompat.runtime import namespace

    assert namespace.root(namespace.V2).keras.Model


def _has_library(row):
    return not row.releases.startswith("pandas") or importlib.util.find_spec("pandas")


def _place(change):
    # A setting has no place but its name: whoever replaces it makes an owner.
    return (
        change.target
        if isinstance(change.owner, patches.Setting)
        else (id(change.owner), change.name)
    )


def _is_before(first):
    now = patches._own(first.owner, first.name)
    return now is first.before or (isinstance(first.owner, patches.Setting) and now == first.before)


def main(world):
    """Applies the patches in a world, and undoes them; prints what each replaced, and what is not as before."""
    tpucompat.install("tf2" if world == "eager" else "tf1")
    _use_eager() if world == "eager" else _use_graphs()
    done = patches.changes()
    before = {}
    for change in done:
        before.setdefault(_place(change), change)
    tpucompat.uninstall()
    left = {place for place, first in before.items() if not _is_before(first)}
    found = {}
    for change in done:
        row = found.setdefault(change.patch.make, {"targets": [], "left": []})
        row["targets"].append(change.target)
        if _place(change) in left:
            row["left"].append(change.target)
    assert not patches.changes()
    print(json.dumps(found))


@functools.lru_cache(maxsize=None)
def _found(world):
    root = os.path.dirname(os.path.dirname(tpucompat.__file__))
    environment = dict(os.environ, PYTHONPATH=root, TF_CPP_MIN_LOG_LEVEL="3")
    environment.pop("TPUCOMPAT_REHEARSE", None)
    command = [sys.executable, os.path.abspath(__file__), world]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.decode().splitlines()[-1])


@pytest.mark.parametrize("row", rows.ROWS, ids=lambda row: row.make.partition(".")[2])
def test_is_applied_on_its_releases_and_undone(row):
    if not _has_library(row):
        pytest.skip("pandas is not installed")
    eager = row.group == EAGER_KERAS
    found = {} if eager and TF1 else _found("eager" if eager else "graph").get(row.make, {})
    targets = found.get("targets", [])
    assert bool(targets) == row.is_needed(), row.releases
    assert [
        target
        for target in targets
        if not any(fnmatch.fnmatchcase(target, pattern) for pattern in row.targets)
    ] == []
    assert found.get("left", []) == []


def test_nothing_is_replaced_without_a_row():
    names = {row.make for row in rows.ROWS}
    assert _found("graph").keys() - names == set()
    assert len(names) == len(rows.ROWS)


if __name__ == "__main__":
    main(*sys.argv[1:])
