"""A program that carries its own copy of TPUEstimator's source trains like TPUEstimator itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import targets
import tensorflow as tf

PROGRAM = Path(__file__).parent / "programs" / "own_tpu_estimator.py"
SOURCE = "tensorflow_estimator/python/estimator/tpu/tpu_estimator.py"
# A module of TensorFlow that its release 2.15 uses, and that no program of TensorFlow 1.x could.
TOO_NEW = "from tensorflow.python.tpu import tpu_embedding_gradient\n"
# Of two usage counters of one name TensorFlow refuses the second up to 2.14.
COUNTER = "/tensorflow/api/tpu_estimator"

pytestmark = pytest.mark.skipif(
    tf.__version__.startswith("1."), reason="the copy is of tensorflow-estimator 2.15"
)


@pytest.mark.parametrize("cores", [1, 4])
def test_trains_like_the_original(tmp_path, cores):
    installed = next(Path(path) / SOURCE for path in sys.path if (Path(path) / SOURCE).exists())
    text = installed.read_text()
    assert TOO_NEW in text
    copy = tmp_path / "changed_tpu_estimator.py"
    text = text.replace(TOO_NEW, "tpu_embedding_gradient = None\n")
    copy.write_text(text.replace(COUNTER, COUNTER + "_changed"))
    script = shutil.copy(str(PROGRAM), str(tmp_path))
    command = [sys.executable, "-m", "tpucompat", "run", *targets.options(cores), script]
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [*command, str(tmp_path)],
        env=dict(os.environ, PYTHONPATH=root, TF_CPP_MIN_LOG_LEVEL="3"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULTS "))
    own, theirs = json.loads(line[len("RESULTS ") :])
    assert own["step"] == theirs["step"] == 9
    for name in ("w", "b", "mae"):  # the order of sums over the cores differs
        np.testing.assert_allclose(own[name], theirs[name], rtol=1e-6, atol=1e-7)
    assert 1.0 < own["w"][0] < 1.5 and own["mae"] < 0.3  # it has learned
