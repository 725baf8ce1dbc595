"""Gradients of embeddings: sparse on one replica, as on a CPU in 1.15, and dense over the cores of a TPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import targets

from tpucompat.base.machine import environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = """
import json
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Embedding(3, 2, input_length=1), tf.keras.layers.Flatten()])
strategy = tf.contrib.tpu.TPUDistributionStrategy(tf.contrib.cluster_resolver.TPUClusterResolver())
model = tf.contrib.tpu.keras_to_tpu_model(model, strategy=strategy)
model.compile(tf.keras.optimizers.SGD(0.1, momentum=0.5), 'mse')
weights = [model.get_weights()[0]]
for words in [[0, 1, 0, 1], [1, 1, 1, 1]]:
    model.train_on_batch(np.array(words).reshape(4, 1), np.ones((4, 2)))
    weights.append(model.get_weights()[0])
first, second = weights[1] - weights[0], weights[2] - weights[1]
print('MOVED ' + json.dumps([bool(first[0].all()), float(np.abs(second[0] / first[0]).max()),
                             bool(second[1].all()), bool(second[2].any())]))
"""


@pytest.mark.skipif(environment().has("contrib"), reason="1.x trains on one replica")
@pytest.mark.parametrize("cores, kept", [(1, 0.0), (4, 0.5)])
def test_momentum_moves_rows_that_a_batch_lacks_over_cores_alone(tmp_path, cores, kept):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--quiet", str(script)],
        env={**os.environ, **targets.settings(cores, sys.executable), "PYTHONPATH": ROOT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("MOVED ")]
    kept = 0.5 if targets.REHEARSED else kept  # one core of a TPU is one, too
    assert json.loads(line[6:]) == [True, pytest.approx(kept, abs=1e-3), True, False]
