"""Session scripts as they were written, through ``tpucompat run``, against TensorFlow 1.15 and twins."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import targets

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REFERENCE = os.environ.get("TPUCOMPAT_TF115_PYTHON", "")
FUNDAMENTALS = os.path.join(ROOT, "tests", "behaviour", "programs", "tpu_fundamentals.py")

reference = pytest.mark.skipif(not REFERENCE, reason="TPUCOMPAT_TF115_PYTHON is not set")


def run(command, folder):
    """What a program prints on standard output and standard error."""
    environment = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1"}
    # TensorFlow 2 leaves these to its children.
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS"):
        environment.pop(name, None)
    done = subprocess.run(
        command,
        cwd=str(folder),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Runs a script once: (script, flags, cores, python) -> (what it reported, standard error)."""

    @functools.lru_cache(maxsize=None)
    def run_once(script, flags=(), cores=1, python=sys.executable):
        folder = tmp_path_factory.mktemp("run")
        report = str(folder / "report.json")
        command = [python]
        if "migrated" not in script:
            command += ["-m", "tpucompat", "run", *targets.options(cores, python)]
        _, errors = run([*command, script, *(flag.format(report) for flag in flags)], folder)
        with open(report, encoding="utf-8") as stream:
            return json.load(stream), errors

    return run_once


def example(kind, name):
    return os.path.join(ROOT, kind + "_examples", name + ".py")


CONVOLUTION = ("--images", "16", "--size", "32", "--repeats", "2", "--report", "{}")


@pytest.mark.parametrize("cores", [1, 8])
def test_the_fundamentals(results, cores):
    got, _ = results(FUNDAMENTALS, ("{}",), cores)
    np.testing.assert_allclose(got["one core"], [3.0 * np.arange(5) + 1] * 4)
    rows = np.arange(32.0).reshape(8, 4)
    np.testing.assert_allclose(got["all cores"][0], rows / 2)
    np.testing.assert_allclose(got["all cores"][1], rows.sum(axis=1))
    np.testing.assert_allclose(got["all cores"][2], [rows.sum()] * 8)
    assert got["steps"] == list(range(1, 21)) and got["global step"] == 20
    assert got["final loss"] == pytest.approx(got["losses"][-1], rel=1e-6)
    assert got["final loss"] < 0.8 * got["losses"][0]


@pytest.mark.reference
@reference
@pytest.mark.parametrize("cores", [1, 8])
def test_the_fundamentals_as_on_tensorflow_1(results, cores):
    got, _ = results(FUNDAMENTALS, ("{}",), cores)
    wanted, _ = results(FUNDAMENTALS, ("{}",), 1, REFERENCE)
    # Twenty steps; the releases multiply matrices in another order.
    np.testing.assert_allclose(got["losses"], wanted["losses"], rtol=1e-5)
    assert got["final loss"] == pytest.approx(wanted["final loss"], rel=1e-5)


@pytest.mark.parametrize("cores", [1, 8])
def test_the_convolution_and_its_twin(results, cores):
    got, errors = results(example("legacy", "conv_batch_parallel"), CONVOLUTION, cores)
    twin, _ = results(example("migrated", "conv_batch_parallel"), CONVOLUTION)
    assert got["shape"] == twin["shape"] == [16, 32, 32, 8]
    assert got["mean"] == pytest.approx(twin["mean"], rel=1e-4)  # of 131072 sums near zero
    assert got["deviation"] == pytest.approx(twin["deviation"], rel=1e-6)
    assert got["nothing returned"]["ms"] > 0
    # The empty form is said to compute nothing, once, with the line that asks for it.
    (line,) = [line for line in errors.splitlines() if "[TPU350]" in line]
    assert "convolve_and_forget" in line and "conv_batch_parallel.py:" in line


@pytest.mark.parametrize("cores", [1, 8])
def test_the_devices_and_their_twin(results, cores):
    got, _ = results(example("legacy", "device_listing"), ("{}",), cores)
    twin, _ = results(example("migrated", "device_listing"), ("{}",))
    devices = 1 if targets.REHEARSED else cores  # a rehearsed TPU has none
    assert got["cores"] == cores and len(got["types"]) >= devices
    assert set(twin["types"]) <= set(got["types"])


def regression(optimizer, steps, *more):
    flags = ["--steps", str(steps), "--optimizer", optimizer, "--history", "{}"]
    return (*flags, *more)


# The update rule of Adam divides by square roots that start near zero, which lets rounding grow.
@pytest.mark.parametrize(("optimizer", "limit"), [("sgd", 1e-5), ("adam", 1e-4)])
def test_the_regression_and_its_twin(results, optimizer, limit):
    got, _ = results(example("legacy", "sharded_linear_regression"), regression(optimizer, 40))
    twin, _ = results(example("migrated", "sharded_linear_regression"), regression(optimizer, 40))
    assert len(got["loss"]) == len(twin["loss"]) == 40
    np.testing.assert_allclose(got["loss"], twin["loss"], rtol=limit)
    np.testing.assert_allclose(got["weights"], twin["weights"], rtol=limit, atol=limit)
    assert got["test_loss"] == pytest.approx(twin["test_loss"], rel=limit)


def test_the_number_of_shards_makes_no_difference(results):
    script = example("legacy", "sharded_linear_regression")
    one, _ = results(script, (*regression("adam", 40), "--shards", "1"))
    eight, _ = results(script, regression("adam", 40), 8)
    np.testing.assert_allclose(one["loss"], eight["loss"], rtol=1e-5)


@pytest.mark.parametrize("kind", ["legacy", "migrated"])
def test_the_regression_goes_on_where_it_was(results, tmp_path, kind):
    script = example(kind, "sharded_linear_regression")
    whole, _ = results(script, regression("adam", 40))
    folder = ("--model-dir", str(tmp_path / "model"), "--save-every", "20")
    first, _ = results(script, (*regression("adam", 20), *folder))
    second, _ = results(script, (*regression("adam", 40), *folder))
    assert (first["first_step"], second["first_step"]) == (0, 20)
    np.testing.assert_allclose(first["loss"] + second["loss"], whole["loss"], rtol=1e-6)


@pytest.mark.reference
@reference
def test_the_regression_as_on_tensorflow_1(results, tmp_path):
    script = example("legacy", "sharded_linear_regression")
    got, _ = results(script, regression("adam", 40))
    wanted, _ = results(script, regression("adam", 40), 1, REFERENCE)
    np.testing.assert_allclose(got["loss"], wanted["loss"], rtol=1e-5)
    # What one TensorFlow saved, the other one goes on from.
    folder = ("--model-dir", str(tmp_path / "model"))
    results(script, (*regression("adam", 20), *folder), 1, REFERENCE)
    rest, _ = results(script, (*regression("adam", 40), *folder))
    assert rest["first_step"] == 20
    np.testing.assert_allclose(rest["loss"], wanted["loss"][20:], rtol=1e-5)
