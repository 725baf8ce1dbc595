"""``tf.contrib.distribute``, on one replica and on four, against no strategy and TensorFlow 1.15."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import targets

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REFERENCE = os.environ.get("TPUCOMPAT_TF115_PYTHON", "")


@functools.lru_cache(maxsize=None)
def results(python, cores):
    environment = {**os.environ, "PYTHONPATH": ROOT, **targets.settings(cores, python)}
    # TensorFlow 2 leaves these to its children.
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS"):
        environment.pop(name, None)
    done = subprocess.run(
        [python, "-m", "tests.behaviour.distribute_cases"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("cores", [1, 4])
def test_a_tpu_strategy_trains_as_without_one(cores):
    got = results(sys.executable, cores)
    np.testing.assert_allclose(got["keras_fit"], got["plain_fit"], rtol=1e-6)
    # The loop makes the first epoch's four steps; Keras reports their mean.
    np.testing.assert_allclose(np.mean(got["custom_loop"]), got["plain_fit"][0], rtol=1e-6)


def test_the_other_strategies_open_their_scope():
    assert results(sys.executable, 1)["other_strategies"] == [
        "core mirrored",
        "mirrored",
        "one device",
        "parameter server",
    ]


@pytest.mark.reference
@pytest.mark.skipif(not REFERENCE, reason="TPUCOMPAT_TF115_PYTHON is not set")
@pytest.mark.parametrize("cores", [1, 4])
def test_equals_tensorflow_1(cores):
    ours, theirs = results(sys.executable, cores), results(REFERENCE, cores)
    np.testing.assert_allclose(ours["keras_fit"], theirs["keras_fit"], rtol=1e-6)
    np.testing.assert_allclose(ours["custom_loop"], theirs["custom_loop"], rtol=1e-6)
    np.testing.assert_allclose(ours["partial_batches"], theirs["partial_batches"], rtol=1e-6)
