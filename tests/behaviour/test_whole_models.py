"""Whole models that TensorFlow 1.15 or Keras 2 saved, converted to Keras 3."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "tests", "behaviour", "programs", "whole_models.py")
TF115 = os.environ.get("TPUCOMPAT_TF115_PYTHON")
CONVERTED = (
    *(
        "activations",
        "attention",
        "bidirectional",
        "cells",
        "convolutions",
        "dense",
        "dropouts",
        "embedding",
    ),
    *("merged", "normalized", "pooled", "recurrent", "separable", "shapes", "shared", "timed"),
)

pytest.importorskip("tf_keras")
pytest.importorskip("keras", minversion="3.5")


def run(python, *arguments):
    environment = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS"):
        environment.pop(name, None)
    done = subprocess.run(
        [python, PROGRAM, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    return dict(line.partition(" ")[::2] for line in done.stdout.decode().splitlines())


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with models of TensorFlow 1.15 where that is at hand, else of tf-keras."""
    folder = str(tmp_path_factory.mktemp("models"))
    run(TF115 or sys.executable, "save", folder)
    return folder


def test_keras_3_loads_them_and_goes_on_with_the_training(saved):
    found = run(sys.executable, "convert", saved)
    found.pop("unknown", None)  # a loss that only TensorFlow 1.15 has
    assert found == {
        **dict.fromkeys(CONVERTED, "converted"),
        "adam": "converted with 5 values of the optimizer",
        "decaying": "converted with 3 values of the optimizer",
        "rmsprop": "converted with 3 values of the optimizer",
        "lambda": "refused: a Lambda holds code of the Python that saved it",
        "locally": "refused: Keras 3 has no LocallyConnected1D",
    }


def test_a_model_that_predicts_something_else_is_not_written(saved):
    assert run(sys.executable, "mistake", saved) == {
        "recurrent": "refused: the model of Keras 3 predicts something else"
    }
