"""Keras of 2018 and of early TensorFlow 2, before migration and after it: the same numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import early_keras_idioms
import keras_idioms
import numpy as np
import pytest
import tensorflow as tf

from tpucompat.commands.analysis import findings, sources
from tpucompat.commands.migrate import plan

pytestmark = pytest.mark.skipif(
    tuple(map(int, tf.__version__.split(".")[:2])) < (2, 16), reason="tf.keras is Keras 2"
)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_QUICK = (
    *("save_weights", "decay", "predict_classes", "gru", "gan_of_one_optimizer", "logs_in_a_file"),
    *(
        "epochs_of_a_sequence",
        "names_of_other_parts",
        "optimizers_by_texts",
        "gradients_of_outputs",
    ),
    *("decay_and_rates_that_are_set", "summed_over_shards", "weights_and_the_optimizer"),
    "frozen_batch_normalization",
)
# What a person has to do has a TODO: the script is not said to be rewritten.
_LEFT = {"loss_of_tensors": "TPU515", "target_tensors": "TPU515"}
# `run` refuses what TensorFlow 1.15 took; the numbers are those of a fit of the Dataset itself.
_NOT_BEFORE = ("one_shot_iterator",)

_DRIVER = """\
import contextlib, importlib, io, json, os, sys, traceback
sys.path.insert(0, os.getcwd())
results = {}
for name in sys.argv[2:]:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            importlib.import_module(name)
    except Exception:
        results[name] = traceback.format_exc()
    else:
        lines = printed.getvalue().splitlines()
        results[name] = [json.loads(line[7:]) for line in lines if line.startswith('RESULT ')]
    with open(sys.argv[1], 'w') as stream:
        json.dump(results, stream)
"""


def _migrated(name, text):
    source = sources.decode(f"{name}.py", text.encode())
    return plan.migrate(findings.understand(source))


def _run(folder, texts, command):
    """What each script reports, all of them in one process."""
    folder.mkdir()
    (folder / "drive.py").write_text(_DRIVER)
    for name, text in texts.items():
        (folder / f"idiom_{name}.py").write_bytes(text)
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "PYTHONPATH": ROOT}
    environment.pop("TF_USE_LEGACY_KERAS", None)  # which this process has set for itself
    if "tpucompat" not in command:
        environment.pop("PYTHONPATH")
    words = [*command, "drive.py", "results.json", *(f"idiom_{name}" for name in texts)]
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True
    )
    assert (folder / "results.json").exists(), done.stderr.decode()[-2000:]
    found = json.loads((folder / "results.json").read_text())
    return {name[len("idiom_") :]: value for name, value in found.items()}


def _flat(value):
    if isinstance(value, list):
        return [one for part in value for one in _flat(part)]
    return [float(value) if not isinstance(value, str) else value]


def _check(tmp_path, names, scripts=keras_idioms.SCRIPTS, options=()):
    results = {name: _migrated(name, scripts[name]) for name in names}
    for name, result in results.items():
        assert not result.problems and result.changed, name
        assert (b"TODO(tpucompat" in result.after) == (name in _LEFT), result.after.decode()
    plain = {name: one.after for name, one in results.items() if name not in _LEFT}
    assert not any(b"tpucompat.v1" in text for text in plain.values())
    old = {name: scripts[name].encode() for name in plain if name not in _NOT_BEFORE}
    before = _run(tmp_path / "before", old, ["-m", "tpucompat", "run", *options])
    after = _run(tmp_path / "after", plain, [])
    failed = {name: text for name, text in {**before, **after}.items() if isinstance(text, str)}
    assert not failed, "\n".join(f"{name}: {text[-700:]}" for name, text in failed.items())
    for name in old:
        then, now = _flat(before[name]), _flat(after[name])
        words = [one for one in then if isinstance(one, str)]
        assert words == [one for one in now if isinstance(one, str)], name
        np.testing.assert_allclose(
            [one for one in now if not isinstance(one, str)],
            [one for one in then if not isinstance(one, str)],
            rtol=1e-5,
            atol=1e-5,
            err_msg=name,
        )
    return plain


def test_a_sample_of_the_idioms_computes_the_same(tmp_path):
    assert len(_check(tmp_path, _QUICK)) == len(_QUICK)


def test_those_of_early_tensorflow_2_compute_the_same(tmp_path):
    scripts = early_keras_idioms.SCRIPTS
    assert _check(tmp_path, list(scripts), scripts, ("--era", "tf2")).keys() == scripts.keys()


@pytest.mark.long
def test_all_idioms_compute_the_same_or_have_a_todo(tmp_path):
    plain = _check(tmp_path, list(keras_idioms.SCRIPTS))
    assert len(plain) >= 0.9 * len(keras_idioms.SCRIPTS)
