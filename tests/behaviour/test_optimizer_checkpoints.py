"""The state of optimizers goes from each generation's checkpoints to each other's."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tpucompat.commands.checkpoints import slots

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "tests", "behaviour", "programs", "optimizer_checkpoints.py")
OTHER_FORMS = 7
SOME_PAIRS = 5

pytest.importorskip("tf_keras")
pytest.importorskip("keras", minversion="3.5")


def run(*arguments):
    environment = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, PROGRAM, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    return done.stdout.decode().strip().splitlines()


def test_the_table_has_the_slots_of_the_libraries(tmp_path):
    found = json.loads(run(str(tmp_path), "slots")[-1])
    assert set(slots.NAMES) <= set(found)
    for name, generations in found.items():
        (row,) = slots.rows_of(name)
        in_order = [slot for group in row.groups for slot in group]
        assert generations["Keras 3"] == in_order[: len(generations["Keras 3"])], name
        for generation in ("Keras 2", "Keras 2 legacy"):
            words = generations.get(generation, [])
            known = {row.words[word] for word in words}
            assert row.may_have(known) or not words, (name, generation)
            assert len(known) == len(words), (name, generation)
        made = generations.get("TensorFlow 1", {})
        assert all(variable.split("/")[1].split("_")[0] in row.tf1 for variable in made), made
        words = [row.words.get(made[variable], made[variable]) for variable in sorted(made)]
        assert not made or tuple(words) in row.made, (name, words)


def test_training_goes_on_as_before(tmp_path):
    optimizers = ("Adam with betas", "Momentum", "RMSProp", "Adagrad")
    lines = run(str(tmp_path), "some", *optimizers)
    assert len(lines) == len(optimizers) * SOME_PAIRS


def test_the_state_finds_its_variables_among_those_of_the_same_shape(tmp_path):
    assert run(str(tmp_path), "layers")[-1].endswith(" values")


@pytest.mark.long
def test_training_goes_on_as_before_from_each_form_to_each(tmp_path):
    lines = run(str(tmp_path), "all")
    assert len(lines) == 9 * (OTHER_FORMS + 1) * OTHER_FORMS
