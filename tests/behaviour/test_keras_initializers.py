"""Initializers of TensorFlow 1 and those of Keras that migrate writes draw from the same distributions."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys

import pytest

from tpucompat.commands.migrate import initializers

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "tests", "behaviour", "programs", "keras_initializers.py")
# Two samples of 120,000 are further apart in one of a million comparisons.
FARTHEST = 0.011

pytest.importorskip("keras", minversion="3.0")


@pytest.fixture(scope="module")
def found():
    environment = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, PROGRAM],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    return json.loads(done.stdout.decode().strip().splitlines()[-1])


def test_each_call_draws_from_the_same_distribution(found):
    assert len(found["distances"]) > 2 * len(initializers.ROWS)
    far = {call: one for call, one in found["distances"].items() if one > FARTHEST}
    assert not far
    assert found["caught"] > 0.1  # Keras' own default would be seen


def test_the_rows_say_what_the_signatures_say(found):
    for name, row in initializers.ROWS.items():
        before, now = found["signatures"][name].values()
        ours = [key for key in before if key not in ("dtype", "verify_shape", "kwargs")]
        assert ours == list(row.parameters), name
        assert ours == [key for key in now if key in ours], name
        for key in ours:
            is_default = _value(before[key]) == _value(now[key])
            # An upper limit that is not given is 1 for real numbers.
            given = "1.0" if (name, key) == ("random_uniform", "maxval") else before[key]
            assert is_default or _value(row.defaults[key]) == _value(given), (name, key)
            assert not is_default or key not in row.defaults, (name, key)


def _value(text):
    return ast.literal_eval(text)
