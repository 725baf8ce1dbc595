"""What a script gives to a TPU runs under TensorFlow's own TPUStrategy, on one rehearsed core and on eight."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tpucompat.environment import environment

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not environment().has("rehearsal"), reason="a rehearsal needs TensorFlow 2.15"
)

#: Program -> how many steps change weights.
STEPS = {"keras": 8, "stateful": 8, "single": 8, "estimator": 6, "shard": 4}


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
    # XLA adds up in another order than TensorFlow's kernels.
    np.testing.assert_allclose(found["numbers"], one_replica[kind], rtol=1e-5, atol=1e-6)


REFUSED = {
    "py_func": ("TPU371", "PyFunc", "tf.py_func("),
    "string": ("TPU383", "AsString", "tf.as_string("),
    "print": ("TPU385", "Print", "tf.Print("),
    "while": ("TPU393", "while", "estimator.train("),
    "unknown": ("TPU352", "[None, 4]", "estimator.train("),
}


@pytest.mark.parametrize("kind", list(REFUSED))
def test_what_a_tpu_cannot_run_is_refused_with_the_line(tmp_path, kind):
    code, operation, line = REFUSED[kind]
    done = run(tmp_path, "--quiet", "--rehearse", "8", program="refused.py", arguments=[kind])
    assert done.returncode == 2
    told = done.stderr[done.stderr.index("Traceback (most recent call last)") :]
    assert code in told and operation in told and line in told
    assert len(told.splitlines()) <= 25


def test_cores_that_get_other_shapes_are_refused(tmp_path):
    done = run(tmp_path, "--quiet", "--rehearse", "8", program="uneven.py")
    assert done.returncode != 0
    assert "TPU373" in done.stderr and "drop_remainder=True" in done.stderr


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
