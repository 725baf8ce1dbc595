"""TPU computations built by hand, on this TensorFlow and on 1.15, on one device and on 8 cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import targets
import tensorflow as tf

from tests.behaviour import batch_parallel_cases
from tpucompat.base.machine import environment
from tpucompat.engines import partitioned_call

pytestmark = pytest.mark.skipif(
    not environment().has("several_cores"), reason="1.13 cannot trace computations of several cores"
)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REFERENCE = os.environ.get("TPUCOMPAT_TF115_PYTHON", "")


@pytest.mark.parametrize("shards", [1, 2, 8])
@pytest.mark.parametrize("name", sorted(batch_parallel_cases.CASES))
def test_equals_plain_tensorflow(name, shards):
    batch_parallel_cases.CASES[name](shards)


def run_all(python, cores, **more):
    """The cases that fail in another process."""
    environment = {**os.environ, "PYTHONPATH": ROOT, **targets.settings(cores, python), **more}
    # TensorFlow 2 leaves these to its children.
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS"):
        environment.pop(name, None)
    done = subprocess.run(
        [python, "-m", "tests.behaviour.batch_parallel_cases"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_on_eight_emulated_cores():
    assert run_all(sys.executable, 8) == {}


@pytest.mark.long
@pytest.mark.skipif(tf.__version__.startswith("1."), reason="a strategy needs TensorFlow 2")
def test_called_from_a_session_on_a_strategy():
    """As on a TPU: one shard on each replica, called from within the Session."""
    assert run_all(sys.executable, 8, **{partitioned_call.FORCE: "1"}) == {}


@pytest.mark.reference
@pytest.mark.skipif(not REFERENCE, reason="TPUCOMPAT_TF115_PYTHON is not set")
@pytest.mark.parametrize("cores", [pytest.param(1, marks=pytest.mark.long), 8])
def test_on_tensorflow_1(cores):
    assert run_all(REFERENCE, cores) == {}
