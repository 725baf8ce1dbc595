"""The pairs with TPUEstimator: the old script, and its twin, from the same weights on the same batches.

The first run leaves a checkpoint of its initial values; the others start from it. The models have no maximum
in them (pooling, ReLU), which would turn a difference of rounding into another gradient.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import targets

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TF115 = os.environ.get("TPUCOMPAT_TF115_PYTHON")
STEPS = 10
# The scripts' own arguments.
OPTIONS = {
    "bert_classifier.py": ["--batch_size=32", "--iterations=5", f"--train_steps={STEPS}"],
    "mnist_tpu_estimator.py": [
        "--data_dir=" + os.path.join(ROOT, "examples_data"),
        "--batch_size=64",
        "--iterations=5",
        f"--train_steps={STEPS}",
    ],
}
NAMES = sorted(OPTIONS)


def run(command, report, *more):
    """Runs a program to its end; returns its report."""
    environment = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
    # TensorFlow 2 leaves these to its children.
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS"):
        environment.pop(name, None)
    done = subprocess.run(
        [*command, f"--report={report}", *more],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-3000:]
    with open(report) as stream:
        return json.load(stream)


class Pair:
    """The runs of one pair; all of them start from the weights of the first."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = folder
        self.initial = None  # a checkpoint

    def legacy(self, python, cores=None, *more):
        """The old script's report: through tpucompat, or as it is where there are no cores."""
        kind = f"{cores or 'plain'}"
        model_dir = self.folder / kind
        model_dir.mkdir()
        if self.initial and self.name == "bert_classifier.py":
            more = (*more, f"--init_checkpoint={self.initial}")
        elif self.initial:
            for file in self.initial.parent.glob(self.initial.name + ".*"):
                shutil.copy(str(file), str(model_dir))
            (model_dir / "checkpoint").write_text(f'model_checkpoint_path: "{self.initial.name}"')
        command = [python]
        if cores:
            command += ["-m", "tpucompat", "run", *targets.options(cores, python)]
        result = run(
            [*command, os.path.join(ROOT, "legacy_examples", self.name), *OPTIONS[self.name]],
            self.folder / f"{kind}.json",
            f"--model_dir={model_dir}",
            *more,
        )
        self.initial = self.initial or model_dir / "model.ckpt-0"
        return result

    def migrated(self):
        """The twin's report."""
        return run(
            [
                sys.executable,
                os.path.join(ROOT, "migrated_examples", self.name),
                *OPTIONS[self.name],
            ],
            self.folder / "migrated.json",
            f"--model_dir={self.folder / 'migrated'}",
            f"--checkpoint={self.initial}",
        )


def same(actual, expected, tolerance):
    """Whether two reports say the same; losses and probabilities are of the order of 1."""
    assert len(actual["step_loss"]) == len(expected["step_loss"]) == STEPS
    for name in ("step_loss", "learning_rate", "probabilities"):
        np.testing.assert_allclose(
            actual[name], expected[name], rtol=tolerance, atol=tolerance, err_msg=name
        )
    for name, value in expected["metrics"].items():
        assert actual["metrics"][name] == pytest.approx(value, rel=tolerance), name


@pytest.mark.skipif("sys.version_info < (3, 8)", reason="TensorFlow 2 needs Python 3.8")
@pytest.mark.parametrize("name", NAMES)
def test_the_pair_computes_the_same(name, tmp_path):
    pair = Pair(name, tmp_path)
    exports = name == "mnist_tpu_estimator.py"
    options = [f"--export_dir={tmp_path / 'export'}"] if exports else []
    legacy = pair.legacy(sys.executable, 1, *options)
    assert len(set(legacy["step_loss"])) == STEPS  # something is trained
    if name == "mnist_tpu_estimator.py":  # ten steps teach the transformer nothing yet
        assert legacy["metrics"]["mean_loss"] < legacy["step_loss"][0]
    assert len(list((tmp_path / "export").glob("*/saved_model.pb"))) == exports
    same(pair.legacy(sys.executable, 8), legacy, 1e-5)
    same(pair.migrated(), legacy, 1e-5)


@pytest.mark.reference
@pytest.mark.skipif(not TF115, reason="TPUCOMPAT_TF115_PYTHON is not set")
@pytest.mark.parametrize("name", NAMES)
def test_the_old_script_computes_what_tensorflow_1_does(name, tmp_path):
    pair = Pair(name, tmp_path)
    theirs = pair.legacy(TF115, None, "--use_tpu=false")
    same(pair.legacy(sys.executable, 1), theirs, 1e-6)
