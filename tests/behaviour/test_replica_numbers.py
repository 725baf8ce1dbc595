"""``xla.replica_id``: an operation without a kernel, which ended the process on a CPU."""

import os
import subprocess
import sys

import pytest

from tpucompat.base.machine import environment

HERE = os.path.dirname(os.path.abspath(__file__))
RELEASE = environment().release or (0, 0)

# What a shard is told of itself, here and in a loop of three turns, and what all have placed.
TWO = ["[0, 1] [0.0, 5.0] True", "[[5.0, 6.0], [7.0, 8.0]]"]


@pytest.mark.parametrize(
    ("options", "replicas", "told"),
    [
        ([], "1", ["[0] [0.0] True", "[[0.0, 1.0]]"]),
        (["--cores", "2"], "2", TWO),
        pytest.param(
            ["--rehearse", "2"],
            "2",
            TWO,
            marks=pytest.mark.skipif(RELEASE < (2, 15), reason="no rehearsal before 2.15"),
        ),
    ],
    ids=["one", "emulated", "rehearsed"],
)
@pytest.mark.skipif(RELEASE < (1, 15), reason="1.13 has no such operation")
def test_each_replica_has_its_number(options, replicas, told, tmp_path):
    program = os.path.join(HERE, "programs", "replica_numbers.py")
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--quiet", *options, program, replicas],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        cwd=str(tmp_path),
        env={**os.environ, "PYTHONPATH": os.getcwd(), "CUDA_VISIBLE_DEVICES": "-1"},
    )
    assert done.stdout.strip().split("\n") == told, done.stderr[-2000:]
