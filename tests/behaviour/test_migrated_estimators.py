"""Generated model functions, run by TPUEstimator and by what ``tpucompat migrate`` makes of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tpucompat.environment import environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "tests", "generated", "migrated_model_fns.py")

pytestmark = pytest.mark.skipif(
    tuple(map(int, environment().tensorflow.split(".")[:2])) < (2, 16),
    reason="the migrated program is for the TensorFlow of today",
)


def run(half, seeds, cores):
    found = subprocess.run(
        [sys.executable, PROGRAM, half, *map(str, seeds)],
        env={
            **os.environ,
            "PYTHONPATH": ROOT,
            "TPUCOMPAT_CORES": str(cores),
            "TF_ENABLE_ONEDNN_OPTS": "0",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    return {one["seed"]: one for one in map(json.loads, found.stdout.splitlines())}


def compare(old, new, path):
    if isinstance(old, dict):
        assert old.keys() == new.keys(), path
        for key in old:
            compare(old[key], new[key], f"{path}/{key}")
    elif isinstance(old, list) and old and isinstance(old[0], dict):
        assert len(old) == len(new), path
        for index, (one, other) in enumerate(zip(old, new)):
            compare(one, other, f"{path}/{index}")
    else:
        # Three steps of an optimizer, and the order of sums over cores: measured 1e-5 at most.
        np.testing.assert_allclose(new, old, rtol=1e-4, atol=1e-7, err_msg=path)


def check(seeds, cores):
    old, new = run("old", seeds, cores), run("new", seeds, cores)
    assert set(old) == set(new) == set(seeds)
    for seed in seeds:
        assert "error" not in new[seed], new[seed]["error"]
        for part in ("losses", "weights", "metrics", "predictions"):
            compare(old[seed][part], new[seed][part], f"{seed}/{part}")


def test_on_two_cores():
    # Batch normalization in training, an average of the variables; a loop, clipped gradients.
    check([2, 3], cores=2)


@pytest.mark.long
@pytest.mark.parametrize("cores", [1, 4])
def test_many(cores):
    # 9 averages the variables of a recurrent cell, which the old run initializes otherwise.
    check([0, 1, 2, 3, 4, 6, 7, 8, 10, 11], cores)
