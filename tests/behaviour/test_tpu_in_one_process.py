"""Sessions and the eager TPU share a process: in which order they come does not matter.

``programs/stand_in_tpu.py`` is the TPU. It fails where TensorFlow says that a real one does: when it is
initialized a second time ("previously created variables on TPU to be lost",
``tensorflow/python/tpu/tpu_strategy_util.py`` of 2.4 to 2.21) or shut down, and when a Session, which makes
TPU devices of its own (``tensorflow/compiler/jit/xla_tpu_device.cc``), places an operation on them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tpucompat.base.machine import environment

PROGRAMS = Path(__file__).parent / "programs"

pytestmark = pytest.mark.skipif(
    not environment().has("rehearsal"), reason="the stand-in's cores are rehearsed ones"
)

ORDERS = [
    "session initialize shard model initialize shutdown initialize model_again placed estimator "
    "resolver shard estimator twice",
    *(
        pytest.param(order, marks=pytest.mark.long)
        for order in (
            "model initialize shard session model_again shutdown initialize_all shard model_again",
            "resolver estimator model resolver estimator initialize shard placed model_again",
            "initialize_all initialize_all shard estimator session shutdown initialize model shard",
        )
    ),
]


def losses(bias, steps):
    """The loss before each step of gradient descent, and after the last, as programs/one_process.py trains."""
    x = np.random.RandomState(0).randn(16, 4).astype("float32")
    y = x.sum(1, keepdims=True)
    x = np.hstack([x, np.full([16, 1], float(bias))])
    w, found = np.zeros([5, 1]), []
    for _ in range(steps + 1):
        error = x @ w - y
        found.append(float(np.mean(error**2)))
        w -= 0.1 * 2 * x.T @ error / 16
    return found


def wanted(order):
    """What each of the actions gives, whatever came before."""
    plain, with_bias = losses(0, 40), losses(1, 40)
    first: dict[str, int] = {}
    for name in order.split():
        kind = {"model_again": "model"}.get(name, name)
        start = first.get(kind, 0)
        if name in ("shard", "model", "model_again"):
            first[kind] = start + 4
            yield name, (plain if name == "shard" else with_bias)[start : start + 4]
        else:
            x = np.random.RandomState(0).randn(16, 4).astype("float32")
            given = {
                "session": x.sum(),
                "placed": x.sum(),
                "estimator": with_bias[4],
                "resolver": 2,
            }
            yield name, given.get(name, None if name == "shutdown" else 1.0)


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_does_not_matter(tmp_path, order):
    file = tmp_path / "found.json"
    unset = ("TPUCOMPAT_CORES", "TPUCOMPAT_REHEARSE", "TPUCOMPAT_REQUIRE_TPU")
    environ = {name: value for name, value in os.environ.items() if name not in unset}
    environ.update(PYTHONPATH=str(Path(__file__).parents[2]), CUDA_VISIBLE_DEVICES="-1")
    program = str(PROGRAMS / "one_process.py")
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "stand_in_tpu.py"), program, str(file), *order.split()],
        env=environ,
        cwd=str(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(file.read_text())
    assert told["initialized"] == 1 + order.split().count("twice")
    assert [name for name, _ in told["found"]] == order.split()
    for (name, found), (_, expected) in zip(told["found"], wanted(order)):
        if expected is None:
            assert found is None
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-4, err_msg=name)  # float32
