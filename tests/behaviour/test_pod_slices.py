"""A rehearsed slice of a pod: what each of its hosts is told and feeds, and what its cores compute together.

The expected values are what tensorflow-estimator 2.15's ``tpu/tpu_context.py`` says of four hosts with eight
cores each, and ``tpu/tpu_estimator.py`` of which host feeds which core.
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

PROGRAM = Path(__file__).parent / "programs" / "pod.py"
ROOT = Path(__file__).parents[2]
CORES, HOSTS, PER_HOST = 32, 4, 8
GLOBAL_BATCH, STEPS, RATE = 64, 2, 0.001

pytestmark = pytest.mark.skipif(
    not environment().has("rehearsal"), reason="a rehearsal needs TensorFlow 2.15"
)


def on_a_slice(folder, *kinds, name="v3-32"):
    unset = ("TPUCOMPAT_CORES", "TPUCOMPAT_REHEARSE")
    environ = {name: value for name, value in os.environ.items() if name not in unset}
    environ.update(PYTHONPATH=str(ROOT), CUDA_VISIBLE_DEVICES="-1", TPUCOMPAT_REQUIRE_TPU="1")
    report = folder / "report.json"
    command = [sys.executable, "-m", "tpucompat", "run", "--quiet", "--rehearse", name]
    done = subprocess.run(
        [*command, str(PROGRAM), str(report), *kinds],
        env=environ,
        cwd=str(folder),
        capture_output=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return json.loads(report.read_text())


def rows(first, count):
    return [first + each for each in range(count)]


def fed_by_hosts(step):
    """All cores' batches in the order of the cores: a host's number in thousands, then its examples."""
    per_host = GLOBAL_BATCH // HOSTS
    return [row for host in range(HOSTS) for row in rows(1000 * host + step * per_host, per_host)]


def fed_by_cores(step):
    del step  # the input of a core is the same in each step
    return [row for core in range(CORES) for row in rows(1000 * core, GLOBAL_BATCH // CORES)]


def fed_to_all(step):
    """All cores have the same batch, and TPUEstimator gives host_call that of core 0."""
    return rows(step * GLOBAL_BATCH, GLOBAL_BATCH)


# How often the input function is called, for how many replicas each time, with which batch size, the batch
# size of the model function, and what the cores are fed.
EXPECTED = {
    "PER_HOST_V1": (HOSTS, PER_HOST, GLOBAL_BATCH // HOSTS, GLOBAL_BATCH // CORES, fed_by_hosts),
    "PER_HOST_V2": (HOSTS, PER_HOST, GLOBAL_BATCH // CORES, GLOBAL_BATCH // CORES, fed_by_hosts),
    "PER_SHARD_V1": (CORES, 1, GLOBAL_BATCH // CORES, GLOBAL_BATCH // CORES, fed_by_cores),
    "BROADCAST": (1, CORES, GLOBAL_BATCH, GLOBAL_BATCH, fed_to_all),
}


def check(kind, found):
    calls, replicas, batch, core_batch, fed = EXPECTED[kind]
    everywhere = {
        "replicas": CORES,
        "hosts": HOSTS,
        "per host": PER_HOST,
        "ordinals": [core % PER_HOST for core in range(CORES)],
    }
    assert found["input"][: found["trained"]] == [
        dict(
            everywhere,
            host=call * HOSTS // calls,
            deployment=[call, calls, replicas],
            batch=batch,
        )
        for call in range(calls)
    ]
    told = dict(everywhere, host="RuntimeError", deployment="RuntimeError", batch=core_batch)
    assert found["model"][0] == dict(told, shape=[core_batch])
    batches = [fed(step) for step in range(STEPS)]
    assert found["fed"][:STEPS] == batches  # what host_call has of the cores' batches
    gradient = sum(np.mean(each) for each in batches)
    np.testing.assert_allclose(found["w"], -RATE * gradient, rtol=1e-5)
    # TPUEstimator evaluates on several hosts where each core's batch is known to its host.
    if kind in ("PER_HOST_V2", "BROADCAST"):
        np.testing.assert_allclose(found["mean"], np.mean(fed(0)), rtol=1e-6)
    else:
        assert f"num_hosts: {HOSTS}" in found["evaluation"]


def test_hosts_of_a_slice_feed_their_cores(tmp_path):
    found = on_a_slice(tmp_path, "PER_HOST_V2")
    check("PER_HOST_V2", found["PER_HOST_V2"])
    # One program for all cores each: the training's step, the evaluation's, and after both the check of the
    # variables.
    assert found["traced"] == 4


@pytest.mark.long
def test_every_deployment_of_the_input(tmp_path):
    found = on_a_slice(tmp_path, *EXPECTED)
    for kind in EXPECTED:
        check(kind, found[kind])
