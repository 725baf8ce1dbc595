"""The first pair: the old script through ``tpucompat run``, its twin, a recorded TensorFlow 1.15.

``tools/compare_first_pair.py`` does the same over 50 steps and on several interpreters.
"""

from __future__ import annotations

import functools
import json
import os
import sys

import first_pair
import pytest
import targets

STEPS = 10
TF115 = os.environ.get("TPUCOMPAT_TF115_PYTHON")

with open(first_pair.REFERENCE, encoding="utf-8") as _stream:
    RECORDED = json.load(_stream)


@functools.lru_cache(maxsize=None)
def legacy(case, cores=None, python=sys.executable):
    options = targets.options(cores, python) if cores else []
    command = first_pair.legacy_command(python, options)
    return first_pair.train(command, first_pair.CASES[case], STEPS)


def migrated(case):
    return first_pair.train(
        first_pair.migrated_command(sys.executable), first_pair.CASES[case], STEPS
    )


def largest(got, expected):
    assert len(got["step_loss"]) == STEPS
    return first_pair.differences(got["step_loss"], expected["step_loss"][:STEPS]).max()


@pytest.mark.parametrize("case", ["plain", "batch_norm_float64"])
def test_the_old_script_gives_the_losses_of_tensorflow_1_15(case):
    assert largest(legacy(case), RECORDED["cases"][case]) <= first_pair.CASES[case].limit


def test_the_old_script_learns_and_predicts():
    result = legacy("plain")
    assert result["step_loss"][-1] < 0.7 * result["step_loss"][0]
    assert set(result["epochs"]) == {"loss", "acc", "val_loss", "val_acc"}
    assert result["epochs"]["val_loss"][0] == pytest.approx(result["test"]["loss"], rel=1e-5)
    assert [len(guess) for guess in result["predictions"]] == [10] * 8
    assert [sum(guess) for guess in result["predictions"]] == pytest.approx([1] * 8, rel=1e-5)


@pytest.mark.long
def test_tpucompat_adds_nothing_to_single_precision_batch_norm():
    """The same TensorFlow without tpucompat makes the very same numbers.

    Between releases these differ (see the limit of the case), so that a comparison with the
    recorded TensorFlow 1.15 says little: the program without tpucompat is the yardstick.
    """
    case = first_pair.CASES["batch_norm"]
    direct = first_pair.train(
        [sys.executable, os.path.join(first_pair.ROOT, "benchmarks", "direct_fashion_mnist.py")],
        case,
        STEPS,
    )
    through = legacy("batch_norm")
    assert through["step_loss"] == direct["step_loss"]
    assert through["epochs"] == direct["epochs"]
    assert largest(through, RECORDED["cases"]["batch_norm"]) <= case.limit


@pytest.mark.skipif("sys.version_info < (3, 8)", reason="TensorFlow 2 needs Python 3.8")
def test_the_migrated_script_trains_like_the_old_one():
    result = migrated("batch_norm_float64")
    assert largest(result, legacy("batch_norm_float64")) <= first_pair.MIGRATED_LIMIT
    assert result["test"]["loss"] == pytest.approx(
        legacy("batch_norm_float64")["test"]["loss"], rel=first_pair.MIGRATED_LIMIT
    )


def test_eight_cores_train_like_one_replica_without_batch_norm():
    assert largest(legacy("plain", cores=8), legacy("plain")) <= 1e-5


@pytest.mark.long  # changes with the recorder alone
@pytest.mark.reference
@pytest.mark.skipif(not TF115, reason="TPUCOMPAT_TF115_PYTHON is not set")
@pytest.mark.parametrize("case", ["plain", "batch_norm_float64"])
def test_the_recorded_losses_are_those_of_a_real_tensorflow_1_15(case):
    # Other processors add up in another order: not exact, but far below the limits.
    live = legacy(case, python=TF115)
    assert largest(live, RECORDED["cases"][case]) <= 0.5 * first_pair.CASES[case].limit


@pytest.mark.reference
@pytest.mark.skipif(not TF115, reason="TPUCOMPAT_TF115_PYTHON is not set")
def test_the_recorded_losses_are_those_of_a_clone_that_keras_itself_trains():
    """Without tpucompat: what keras_to_tpu_model did on a core, written by hand."""
    command = first_pair.reference_command(TF115)
    live = first_pair.train(command, first_pair.CASES["plain"], STEPS)
    # Another processor adds up in another order: 1.1e-7 was seen.
    assert largest(live, RECORDED["cases"]["plain"]) <= 1e-6
