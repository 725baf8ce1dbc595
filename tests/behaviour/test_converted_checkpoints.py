"""Checkpoints of all generations, converted and read by the TensorFlow that they are for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "tests", "behaviour", "programs", "convert_checkpoints.py")
TF115 = os.environ.get("TPUCOMPAT_TF115_PYTHON")

pytestmark = pytest.mark.skipif("sys.version_info < (3, 8)", reason="TensorFlow 2 needs Python 3.8")

# What a TensorFlow 1 program does with the checkpoint that was converted back for it.
RESTORE = """
import sys
import tensorflow as tf

with tf.variable_scope("net/hidden"):
  kernel = tf.get_variable("kernel", [6, 5])
  bias = tf.get_variable("bias", [5])
step = tf.train.get_or_create_global_step()
with tf.Session() as session:
  tf.train.Saver().restore(session, tf.train.latest_checkpoint(sys.argv[1]))
  print(int(session.run(step)), float(session.run(tf.reduce_sum(kernel))))
"""


def run(*command):
    environment = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS"):
        environment.pop(name, None)
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    return done.stdout.decode().strip().splitlines()


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    return folder, run(sys.executable, PROGRAM, str(folder))


def test_checkpoints_go_from_each_generation_to_each_other(converted):
    assert converted[1] == [
        "tf1 to tf2",
        "tf1 to keras",
        "keras to tf1",
        "tf1 to archive",
        "archive to tf1",
        "tf2 to tf1",
        "tf1 to h5 to tf2",
        "25 directions",
    ]


@pytest.mark.reference
@pytest.mark.skipif(not TF115, reason="TPUCOMPAT_TF115_PYTHON is not set")
def test_tensorflow_1_restores_what_was_converted_back(converted):
    import numpy as np

    folder = converted[0]
    step, total = run(TF115, "-c", RESTORE, str(folder / "back"))[-1].split()
    kernel = np.random.RandomState(0).uniform(0.1, 1, (6, 5)).astype(np.float32)
    assert int(step) == 7
    # Thirty numbers in single precision, printed by the other release.
    assert float(total) == pytest.approx(float(kernel.sum()), rel=1e-5)
