"""Keras after ``tf.enable_eager_execution()``, beside the numbers of TensorFlow 1.15.5."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "tests", "eager_cases.py")

with open(os.path.join(ROOT, "tests", "data", "eager_tf115.json"), encoding="utf-8") as stream:
    RECORDED = json.load(stream)


@pytest.fixture(scope="module")
def done():
    return subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--quiet", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        env=dict(os.environ, CUDA_VISIBLE_DEVICES="-1", PYTHONPATH=ROOT),
    )


def test_it_prints_what_the_script_prints(done):
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1  # no progress of predict's
    assert json.loads(done.stdout)["eager"] is True


@pytest.mark.parametrize("name", sorted(set(RECORDED) - {"eager"}))
def test_numbers_are_those_of_tensorflow_1_15(done, name):
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)[name]
    assert sorted(found) == sorted(RECORDED[name])  # "acc", not "accuracy"
    for key, numbers in RECORDED[name].items():
        np.testing.assert_allclose(found[key], numbers, rtol=1e-6, atol=1e-7, err_msg=key)
