"""Random programs of ``tests/generated`` train on several cores, with the numbers of one replica.

``CONTRIBUTING.md`` says how more of them are tried. A program that failed and was mended is kept here, beside
what it has found.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tpucompat.base.machine import environment

GENERATED = Path(__file__).parents[1] / "generated"
ROOT = GENERATED.parents[1]
sys.path.insert(0, str(GENERATED))

import run  # noqa: E402  (it lies beside the programs)

#: Programs that are trained with every change: small ones, of many kinds of layers and operations.
SOME = ["keras_rest:400", "model_fn:3", "model_fn:5", "session_script:8"]
#: Programs that failed, and what they have found. Each has a short test of its own, too.
FOUND = {
    "keras:8": "XLA has the gradient of UpSampling2D for a TPU alone (test_cpu_kernels.py)",
    "model_fn:402": "nothing but control inputs took sums that one operation gives (test_strategy_engine.py)",
    "keras_rest:422": "batch_flatten gives no size that a Dense layer could be built from, on 1.15 neither",
    "keras_rest:432": "the same",
    "keras_rest:700": "a layer had the name that Keras gives to another (test_generated_names.py)",
    "keras_script:306": "losses of several cores were of probabilities cut off (saturated in keras_cases.py)",
    "keras_rest:420": "a constraint made a number of the rounding of a bias without a gradient",
    "keras:7000": "XLA knew no shape that a loop's gradient takes from a stack (test_stacks.py)",
    "keras_drawn:8012": "a ThresholdedReLU in a wrapper knew no dtype (thresholded in keras_cases.py)",
    "estimator_drawn:8012": "dynamic_decode filled an array that grows (test_contrib.py)",
    "keras_rest:31004": "a Lambda made a variable (test_old_keras.py)",
    "keras_own:20000": "an update came before what its layer had read (counted in keras_cases.py)",
    "estimator_drawn:51000": "a decoder read its inputs in a conditional of its loop (test_branches.py)",
    "model_fn_more:8": "dynamic_decode changed the seeds of what came after it on a TPU",
    "model_fn_more:27": "a loop's condition alone took one of its values (test_branches.py)",
    "model_fn_more:1016": "a norm of zeros, whose gradient XLA computes as 0 / 0, on a TPU too",
    "model_fn_more:1023": "an interleaved dataset could not be repeated (test_repeated_shuffles.py)",
    "estimator_seldom:612400": "a hook that saves elsewhere replaced checkpoints (test_tpu_estimator.py)",
    "model_fn_arguments:700058": "an average missed the update of recurrent weights (test_tpu_estimator.py)",
    "session_script:9": "variables made after a computation had other seeds (test_operation_seeds.py)",
}
#: Sparse gradients met optimizers whose sparse updates no TPU has (``words`` in test_rehearsal.py).
ONE_CORE = ["keras:71003", "keras:71006", "keras_rest:71003", "keras_drawn:71005"]
#: What was found and others, which take minutes; on emulated cores an evaluation and a prediction follow the
#: training.
#: Not of ``model_fn_more``, many of which a TPU refuses, and not of kinds that have not been tried yet.
LEFT_OUT = (
    *("model_fn_more", "contrib_drawn", "arguments_drawn"),
    *("keras_seldom", "estimator_seldom", "keras_arguments"),
)
OTHERS = [f"{kind}:{n}" for kind in run.MODULES if kind not in LEFT_OUT for n in range(12)]
MORE = list(dict.fromkeys([*FOUND, *OTHERS]))


def rows(folder, target, programs, *options):
    """Trains programs in a process of their own: program -> row."""
    file = folder / f"{target.replace(':', '_')}.jsonl"
    unset = ("TPUCOMPAT_CORES", "TPUCOMPAT_REHEARSE", "TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS")
    environ = {name: value for name, value in os.environ.items() if name not in unset}
    environ.update(PYTHONPATH=str(ROOT), CUDA_VISIBLE_DEVICES="-1", TPUCOMPAT_REQUIRE_TPU="")
    command = [sys.executable, str(GENERATED / "run.py"), "--target", target, "--out", str(file)]
    done = subprocess.run(
        [*command, "--plainly", *options, *programs],
        env=environ,
        cwd=str(ROOT),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=3600,
    )
    assert file.exists(), done.stderr[-3000:]
    return run.read(file)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Gives the rows of some programs on a target; they run once."""
    done = {}

    def get(target, programs, *options):
        key = (target, tuple(programs), options)
        if key not in done:
            done[key] = rows(tmp_path_factory.mktemp("rows"), target, programs, *options)
        return done[key]

    return get


def wrong(trained, name, target, programs, *options):
    """What is wrong with a program on a target, beside one replica."""
    one, several = (trained(where, programs, *options)[name] for where in ("one", target))
    found, counts = run.compare({name: one}, {name: several})
    return found or ([] if counts["trained"] else ["nothing was compared"])


several_cores = pytest.mark.skipif(
    environment().tensorflow.startswith("1."), reason="several cores need TensorFlow 2"
)
rehearsed = pytest.mark.skipif(
    not environment().has("rehearsal"), reason="a rehearsal needs TensorFlow 2.15"
)


@several_cores
@pytest.mark.parametrize("name", SOME)
def test_trains_on_eight_emulated_cores(trained, name):
    assert wrong(trained, name, "emulated:8", SOME, "--brief") == []


@several_cores
@pytest.mark.long
@pytest.mark.parametrize("name", MORE)
def test_evaluates_and_predicts_on_eight_emulated_cores(trained, name):
    assert wrong(trained, name, "emulated:8", MORE) == []


@rehearsed
@pytest.mark.long
@pytest.mark.parametrize("name", MORE)
def test_trains_on_eight_rehearsed_cores(trained, name):
    assert wrong(trained, name, "rehearse:8", MORE, "--brief") == []


@rehearsed
@pytest.mark.long
@pytest.mark.parametrize("name", ONE_CORE)
def test_trains_on_one_rehearsed_core(trained, name):
    assert wrong(trained, name, "rehearse:1", ONE_CORE, "--brief") == []
