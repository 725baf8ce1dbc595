"""What a script gives to a TPU runs under TensorFlow's own TPUStrategy, on one rehearsed core and on eight."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tpucompat.__main__ import main
from tpucompat.base.machine import environment

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not environment().has("rehearsal"), reason="a rehearsal needs TensorFlow 2.15"
)

#: Program -> how many steps change weights.
STEPS = {"keras": 8, "stateful": 8, "single": 8, "words": 8, "estimator": 6, "shard": 4}
#: Program -> what crosses between host and cores while it trains, as programs/rehearsed.py writes it. Keras
#: gives a batch and waits for its loss. TPUEstimator waits for a step when the next one is under way, and
#: for the last one at the end of its loop of three; variables cross when no loop is.
CROSSED = {
    **dict.fromkeys(("keras", "stateful", "single", "words"), "w" * 8),
    "estimator": "ssrsr" + "rvwr" + "ssrsr" + "rvwr" + "vvvv",
}


def run(folder, *options, program="rehearsed.py", arguments=(), **settings):
    unset = ("TPUCOMPAT_CORES", "TPUCOMPAT_REHEARSE")
    environ = {name: value for name, value in os.environ.items() if name not in unset}
    environ.update(settings, PYTHONPATH=str(ROOT), CUDA_VISIBLE_DEVICES="-1")
    return subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", *options, str(PROGRAMS / program), *arguments],
        env=environ,
        cwd=str(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=600,
    )


def report_of(folder, kind, *options, **settings):
    file = folder / "report.json"
    done = run(folder, *options, arguments=[kind, str(file)], **settings)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(file.read_text())


@pytest.fixture(scope="module")
def one_replica(tmp_path_factory):
    """Kind of program -> its numbers on one replica."""
    return {
        kind: report_of(tmp_path_factory.mktemp(kind), kind, "--cores", "1")["numbers"]
        for kind in STEPS
    }


@pytest.mark.parametrize("kind", list(STEPS))
@pytest.mark.parametrize("cores", ["1", "8"])
def test_every_step_runs_under_the_strategy(tmp_path, one_replica, kind, cores):
    found = report_of(tmp_path, kind, "--rehearse", cores, TPUCOMPAT_REQUIRE_TPU="1")
    assert (found["steps"], found["host"]) == (STEPS[kind], 0)
    assert found.get("training", "") == CROSSED.get(kind, "")
    # XLA adds up in another order than TensorFlow's kernels.
    np.testing.assert_allclose(found["numbers"], one_replica[kind], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [("--cores", "1"), ("--cores", "2"), ("--rehearse", "2")])
def test_an_update_in_a_branch_happens_once_and_training_waits_for_it(tmp_path, options):
    """XLA made two of a write that two Merge nodes waited for; TF 1.15's Session never trains this."""
    file, program = tmp_path / "report.json", "updates_in_branches.py"
    done = run(tmp_path, "--quiet", *options, program=program, arguments=[str(file)])
    assert done.returncode == 0, done.stderr[-3000:]
    count, weight = json.loads(file.read_text())
    assert count == 2.0 + 1.0 + 1.0
    expected = np.array([1.0, 2.0])
    for _ in range(3):  # the loss is the mean of w ** 5 over both columns
        expected = expected - 0.01 * 2.5 * expected**4
    np.testing.assert_allclose(weight, expected, rtol=1e-6)


@pytest.mark.parametrize("options", [("--cores", "2"), ("--rehearse", "2")])
def test_what_no_result_of_a_loop_or_a_branch_waits_for_does_not_run(tmp_path, options):
    """As in TensorFlow 1; a stateful recurrent layer in a loop of the script's leaves such updates."""
    file, program = tmp_path / "report.json", "updates_in_loops.py"
    done = run(tmp_path, "--quiet", *options, program=program, arguments=[str(file)])
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(file.read_text()) == {
        "turns": 3.0,
        "waited": 6.0,
        "forgotten": 0.0,
        "out": 2.0,
    }


@pytest.mark.long
def test_a_variable_that_nobody_touches_costs_no_time(tmp_path):
    file = tmp_path / "report.json"
    done = run(
        tmp_path, "--quiet", "--rehearse", "8", program="large_variable.py", arguments=[str(file)]
    )
    assert done.returncode == 0, done.stderr[-3000:]
    without, with_it = json.loads(file.read_text())
    assert with_it <= 1.5 * without


REFUSED = {
    "py_func": ("TPU371", "PyFunc", "tf.py_func("),
    "string": ("TPU383", "AsString", "tf.as_string("),
    "print": ("TPU385", "Print", "tf.Print("),
    "while": ("TPU393", "while", "tf.tanh(tf.matmul(v, w))"),
    "initial": ("TPU374", "scale", "tf.fill([4], 0.5)"),
    "unknown": ("TPU352", "[None, 4]", "estimator.train("),
    "type": ("TPU351", "features['pictures']['left'] is uint8", "estimator.train("),
}


@pytest.mark.parametrize("kind", list(REFUSED))
def test_what_a_tpu_cannot_run_is_refused_with_the_line(tmp_path, kind):
    code, operation, line = REFUSED[kind]
    done = run(tmp_path, "--quiet", "--rehearse", "8", program="refused.py", arguments=[kind])
    assert done.returncode == 2
    told = done.stderr[done.stderr.index("Traceback (most recent call last)") :]
    assert code in told and operation in told and line in told
    assert len(told.splitlines()) <= 25
    assert kind != "unknown" or "drop_remainder=True" in told


#: What is refused in forms that scripts have -> the code, the operation, and the line of another module.
FORMS = {
    "python": ("TPU371", "PyFunc", "tf.py_func("),
    "text": ("TPU383", "AsString", "tf.as_string("),
    "printed": ("TPU385", "StringFormat", "tf.print("),
    "looped": ("TPU393", "accumulator", "lambda v: tf."),
}


def refused(tmp_path, program, kinds):
    """What a program says of each kind that it tries; the last one ends it."""
    done = run(tmp_path, "--quiet", "--rehearse", "2", program=program, arguments=kinds)
    assert done.returncode == 2
    told = dict(line.split(" was refused: ", 1) for line in done.stdout.splitlines())
    told[kinds[-1]] = done.stderr[done.stderr.index("Traceback (most recent call last)") :]
    assert len(told[kinds[-1]].splitlines()) <= 25
    assert list(told) == kinds
    return told


@pytest.mark.parametrize(
    ("forms", "last"),
    [
        (["python:layer", "text:layer", "looped:layer", "python:metric"], "printed:layer"),
        (["python:rewrite", "text:rewrite", "looped:rewrite"], "printed:rewrite"),
        pytest.param(
            ["python:shard", "text:shard", "looped:shard"], "printed:shard", marks=pytest.mark.long
        ),
    ],
)
def test_each_form_is_refused_with_the_line_of_a_helper(tmp_path, forms, last):
    for form, text in refused(tmp_path, "refused_forms.py", [*forms, last]).items():
        code, operation, line = FORMS[form.partition(":")[0]]
        assert code in text and operation in text and "refused_layers.py:" in text and line in text


def test_cores_that_get_other_shapes_are_refused(tmp_path):
    done = run(tmp_path, "--quiet", "--rehearse", "8", program="uneven.py")
    assert done.returncode != 0
    told = done.stderr[done.stderr.index("Traceback") :]
    for part in (
        "TPU373",
        "[4 4]",
        "core 7 of shape",
        "[0 4]",
        "drop_remainder=True",
        "strategy.run(",
    ):
        assert part in told
    assert len(told.splitlines()) <= 25


@pytest.mark.parametrize(
    ("options", "settings", "code"),
    [
        (["--rehearse", "none"], {}, "TPU455"),
        (["--rehearse", "8", "--cores", "8"], {}, "TPU455"),
    ],
)
def test_settings_that_contradict_each_other(tmp_path, options, settings, code):
    arguments = ["keras", str(tmp_path / "report.json")]
    done = run(tmp_path, *options, arguments=arguments, **settings)
    assert done.returncode == 2
    assert code in done.stderr


REFUSED_2 = {
    "py_function": ("TPU371", "EagerPyFunc", "tf.py_function("),
    "string": ("TPU383", "AsString", "tf.strings.as_string("),
    "printed": ("TPU385", "StringFormat", "tf.print("),
    "sum_in_loop": ("TPU362", "CrossReplicaSum", ".all_reduce("),
    "back_from_host": ("TPU463", "PyFunc", "tf.numpy_function("),
    "size": ("TPU392", "Fill", "tf.zeros("),
    "unbounded": ("TPU393", "EmptyTensorList", "tape.gradient("),
}


@pytest.mark.parametrize(
    ("kinds", "last"),
    [(["py_function", "string", "printed", "sum_in_loop", "back_from_host"], "unbounded")],
)
def test_a_program_of_tensorflow_2_is_told_its_own_line(tmp_path, kinds, last):
    for kind, text in refused(tmp_path, "refused_tf2.py", [*kinds, last]).items():
        code, operation, line = REFUSED_2[kind]
        assert code in text and operation in text and "refused_tf2.py:" in text and line in text


@pytest.mark.long
@pytest.mark.parametrize("kind", list(REFUSED_2))
def test_each_refusal_of_tensorflow_2_is_short(tmp_path, kind):
    test_a_program_of_tensorflow_2_is_told_its_own_line(tmp_path, [], kind)


def test_the_loops_around_strategy_run(tmp_path):
    file = tmp_path / "report.json"
    done = run(
        tmp_path, "--quiet", "--rehearse", "2", program="loops_tf2.py", arguments=[str(file)]
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(file.read_text())
    wanted, losses = found.pop("plain"), found.pop("losses")
    assert len(found) == 5
    # Four steps of five loops on two cores, which the host writes down one after the other; then one
    # replica's four.
    by_core = np.array(losses[:40]).reshape(5, 4, 2)
    np.testing.assert_allclose(by_core.sum(-1), [losses[40:]] * 5, rtol=1e-5)
    for numbers in found.values():
        np.testing.assert_allclose(numbers, wanted, rtol=1e-5, atol=1e-6)


def test_the_host_s_part_of_a_step_in_shards(tmp_path):
    """As many as there are cores, and more, which every core computes: the host has each of them once."""
    file = tmp_path / "report.json"
    done = run(
        tmp_path, "--quiet", "--rehearse", "2", program="other_shards.py", arguments=[str(file)]
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(file.read_text())
    for shards, runs in found.items():
        assert len(runs) == 3
        for returned, noted in runs:
            assert len(returned) == int(shards) and sorted(noted) == sorted(returned)
    means = [[np.mean(returned) for returned, _ in runs] for runs in found.values()]
    np.testing.assert_allclose(*means, rtol=1e-5)
    assert means[0][2] < means[0][0] / 2


PAIRS = [
    "fashion_mnist_keras",
    "mnist_tpu_estimator",
    "sharded_linear_regression",
    "conv_batch_parallel",
]


@pytest.mark.long
@pytest.mark.skipif(sys.version_info < (3, 11), reason="examples.toml is read by tomllib")
@pytest.mark.parametrize("pair", PAIRS)
def test_old_and_new_agree_under_a_rehearsed_strategy(pair, capsys):
    options = ["--all", "--pair", pair, "--rehearse", "8", "--rehearse", "1", "--timeout", "900"]
    assert main(["verify", *options]) == 0
    assert f"{pair}, 8 rehearsed cores" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "exit_code", "verdict", "code"),
    [("unbounded", 1, "does not compile", "TPU393"), ("plain", 0, "lowers", "")],
)
def test_check_runs_the_first_steps_too(tmp_path, capsys, kind, exit_code, verdict, code):
    options = ["--tpu", "v3-8", "--no-compiler", "--json", "--rehearse", "2"]
    program = str(PROGRAMS / "refused_tf2.py")
    assert main(["check", *options, program, kind]) == exit_code
    rehearsed = json.loads(capsys.readouterr().out)["computations"][-1]
    assert rehearsed["name"] == "rehearsal" and rehearsed["targets"][0]["verdict"] == verdict
    assert [finding["code"] for finding in rehearsed["findings"]] == ([code] if code else [])
