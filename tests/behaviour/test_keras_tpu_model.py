"""``keras_to_tpu_model`` on one replica, on four emulated cores, and beside TensorFlow 1.15.

The programs are in ``keras_cases.py``; each number of cores is one process that runs them all.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import keras_cases
import numpy as np
import pytest
import targets

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
REFERENCE = ROOT / "tests" / "data" / "keras_reference.json"
TF1 = keras_cases.tf.__version__.startswith("1.")
CORES = [1] if TF1 else [1, 4]

# What cores compute for themselves, so that four of them give other numbers than one.
PER_CORE = {
    "batch_norm_per_core": "statistics of a core's part of the batch",
    "bad_models": "texts hold addresses of objects",
    "clipped_per_core": "gradients are clipped before they are averaged",
    "convolution": "batch norm",
    "dropped_out": "every core draws its own numbers",
    "looks": "tells the number of cores",
    "stateful_lstm": "tells of the notice",
    "static_batch_needed": "the batch is the number of cores times the static one",
    "target_tensors": "refused on several cores only",
    "uneven_batch": "refused on several cores only",
}
# Not the same on TensorFlow 1.15, whatever runs there.
OTHER_ON_1_15 = {
    "bad_models": "texts hold names of classes",
    "dropped_out": "other random numbers",
    "bad_data": "Keras' words changed",
}
TOLERANCE = 1e-5  # relative to the largest number of an array


def run_cases(python, out, cores, *cases):
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        **targets.settings(cores, python),
        "TPUCOMPAT_REQUIRE_TPU": "",
    }
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS"):  # set by this process, wrong for another
        environment.pop(name, None)
    subprocess.run(
        [python, str(HERE / "keras_cases.py"), str(out), *cases],
        check=True,
        env=environment,
        cwd=str(ROOT),
        stdout=subprocess.DEVNULL,
        timeout=900,
    )
    return json.loads(pathlib.Path(out).read_text())


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Gives the results of all cases on a number of cores; every number runs once."""
    done = {}

    def get(cores):
        if cores not in done:
            out = tmp_path_factory.mktemp("keras") / f"{cores}.json"
            done[cores] = run_cases(sys.executable, out, cores)
        return done[cores]

    return get


@pytest.fixture(params=CORES)
def ran(request, results):
    """The results on one core, then on four; a case that raised fails with its traceback."""

    class Results(dict):
        cores = request.param

        def __missing__(self, case):
            raise KeyError(case)

        def __getitem__(self, case):
            value = super().__getitem__(case)
            assert not isinstance(value.get("error"), str), value["error"]
            return value

    return Results(results(request.param))


def differences(got, expected, path=""):
    """Where two results differ by more than the tolerance."""
    if isinstance(expected, dict):
        if not isinstance(got, dict) or set(got) != set(expected):
            return [f"{path}: {got} for {expected}"]
        return [
            d for key in expected for d in differences(got[key], expected[key], f"{path}/{key}")
        ]
    numeric = np.asarray(expected, dtype=object).ravel()
    if isinstance(expected, list) and not all(isinstance(n, (int, float)) for n in numeric):
        if len(got) != len(expected):
            return [f"{path}: {got} for {expected}"]
        return [
            d
            for i, (g, e) in enumerate(zip(got, expected))
            for d in differences(g, e, f"{path}/{i}")
        ]
    if isinstance(expected, (int, float, list)) and not isinstance(expected, bool):
        got, expected = np.asarray(got, "float64"), np.asarray(expected, "float64")
        if got.shape != expected.shape:
            return [f"{path}: shape {got.shape} for {expected.shape}"]
        if not got.size:
            return []
        error = np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-6)
        return [] if error <= TOLERANCE else [f"{path}: {error:.1e}, {got} for {expected}"]
    return [] if got == expected else [f"{path}: {got!r} for {expected!r}"]


@pytest.mark.skipif(TF1, reason="one replica only on TensorFlow 1.x")
@pytest.mark.parametrize("case", sorted(set(keras_cases.CASES) - set(PER_CORE)))
def test_four_cores_give_the_numbers_of_one(case, results):
    one, four = results(1)[case], results(4)[case]
    assert not isinstance(four.get("error"), str), four["error"]
    assert differences(four, one) == []


@pytest.mark.parametrize("case", sorted(set(keras_cases.CASES) - set(OTHER_ON_1_15)))
def test_one_core_gives_the_numbers_of_tensorflow_1_15(case, results):
    expected = json.loads(REFERENCE.read_text())[case]
    got = results(1)[case]
    assert not isinstance(got.get("error"), str), got["error"]
    assert differences(got, expected) == []


@pytest.mark.long  # changes with the recorder alone
@pytest.mark.reference
def test_the_recorded_numbers_are_those_of_tensorflow_1_15(tmp_path):
    python = os.environ.get("TPUCOMPAT_TF115_PYTHON")
    if not python:
        pytest.skip("TPUCOMPAT_TF115_PYTHON names no Python with TensorFlow 1.15")
    fresh = run_cases(python, tmp_path / "reference.json", 1)
    recorded = json.loads(REFERENCE.read_text())
    assert set(recorded) == set(fresh)
    for case in set(recorded) - set(OTHER_ON_1_15) - {"_"}:
        assert differences(fresh[case], recorded[case]) == []


@pytest.mark.reference
def test_several_cores_on_tensorflow_1_15_are_an_error(tmp_path):
    python = os.environ.get("TPUCOMPAT_TF115_PYTHON")
    if not python:
        pytest.skip("TPUCOMPAT_TF115_PYTHON names no Python with TensorFlow 1.15")
    result = run_cases(python, tmp_path / "four.json", 4, "fit_arrays")["fit_arrays"]
    assert "SetupError: TPU308" in result["error"]


# What the numbers alone do not say ---------------------------------------------------------


def test_history_has_the_names_of_tensorflow_1(ran):
    assert sorted(ran["fit_arrays"]["history"]) == ["acc", "loss", "val_acc", "val_loss"]
    assert ran["fit_arrays"]["epochs"] == [0, 1, 2]
    assert ran["multi_input_output"]["names"] == [
        "loss",
        "labels_loss",
        "value_loss",
        "labels_acc",
        "value_mean_absolute_error",
    ]


def test_weights_of_samples_and_classes_count(ran):
    weighted = ran["fit_weighted"]
    assert weighted["history"]["loss"][0] != pytest.approx(weighted["unweighted"]["loss"][0], 1e-2)
    _plain, with_weights, without, trained = weighted["turns"]
    assert with_weights[0] != pytest.approx(without[0], 1e-2)
    assert without[0] == pytest.approx(trained[0], 1e-5)


def test_a_dataset_function_feeds_each_core(ran):
    assert differences(ran["fit_dataset_function"], ran["fit_dataset"]) == []


def test_iterators_and_tensors_are_datasets(ran):
    history = {key: ran["fit_dataset"]["history"][key] for key in ("loss", "acc")}
    assert differences(ran["fit_iterator"]["history"], history) == []
    assert differences(ran["fit_tensors"]["history"], history) == []


def test_fractional_steps_count_up(ran):
    assert len(ran["fit_generator"]["predict"]) == 2 * 16
    assert ran["fit_generator"]["history"]["loss"]


def test_initial_epoch(ran):
    assert ran["initial_epoch"]["epochs"] == [3, 4]
    assert ran["initial_epoch"]["nb_epoch"] == [0, 1]


def test_training_lowers_the_loss(ran):
    for name, losses in ran["optimizers"].items():
        if name != "keras_sgd":  # its momentum overshoots on this data
            assert losses[1] < losses[0], name


def test_gradients_are_clipped_by_each_core(ran):
    """One step of norm-clipped gradients, computed with numpy from each core's part."""
    case = ran["clipped_per_core"]
    w0, b0, w1, b1 = (np.asarray(w, "float64") for w in case["start"])
    cores = ran.cores
    x, y = keras_cases.X[:16].astype("float64"), keras_cases.Y[:16]
    hidden = np.tanh(x @ w0 + b0)
    logits = hidden @ w1 + b1
    softmax = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    d_logits = (softmax - y) / len(x) * cores  # every core sees the sum of all cores' gradients
    steps = [0, 0, 0, 0]
    for part in np.split(np.arange(16), cores):
        d_hidden = d_logits[part] @ w1.T * (1 - hidden[part] ** 2)
        gradients = [
            x[part].T @ d_hidden,
            d_hidden.sum(0),
            hidden[part].T @ d_logits[part],
            d_logits[part].sum(0),
        ]
        for index, gradient in enumerate(gradients):
            norm = np.sqrt((gradient**2).sum())
            steps[index] = steps[index] - gradient * min(1, 0.05 / norm) / cores
    for got, expected in zip(case["step"], steps):
        # float32 differences of weights of order 0.4
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-7)


def test_batch_norm_keeps_the_statistics_of_core_0(ran):
    case = ran["batch_norm_per_core"]
    np.testing.assert_allclose(case["moving_mean"], case["expected"], rtol=1e-6)


def test_dropout_is_off_in_evaluation(ran):
    assert ran["dropped_out"]["evaluate"] == ran["dropped_out"]["again"]
    assert np.isfinite(ran["dropped_out"]["history"]["loss"]).all()


def test_a_stateful_model_trains_on_one_core(ran):
    case = ran["stateful_lstm"]
    assert case["cores"] == 1
    assert ("TPU309" in case["notices"]) == (ran.cores > 1)
    assert differences(case["carried"], case["fresh"]) != []  # the states were carried over


def test_single_core_takes_any_batch(ran):
    assert ran["single_core"]["cores"] == 1


def test_a_static_batch_is_that_of_a_core(ran):
    case = ran["static_batch"]
    assert case["input_names"] == ["named"]
    assert len(case["predict"]) == 20
    needed = ran["static_batch_needed"]
    assert np.isfinite(needed["loss"])
    assert needed["error"]["code"] == "TPU310"
    assert "ValueError" in needed["error"]["types"]


def test_weights_set_before_the_conversion_are_kept(ran):
    case = ran["compiled_before"]
    assert differences(case["converted"], case["before"]) == []
    assert sorted(case["history"]) == ["acc", "loss", "square"]
    assert differences(case["plain"], case["model"]) == []


def test_files_and_plain_models_hold_the_trained_weights(ran):
    case = ran["weights"]
    for name in ("sync", "load_h5", "load_by_name", "load_tf", "load_model"):
        assert differences(case[name], case["trained"]) == [], name
    assert differences(case["set"], case["trained"]) != []
    assert case["sync_is_plain"] == "Sequential"


def test_a_saved_model_goes_on_where_training_stopped(ran):
    assert differences(ran["weights"]["resumed"], ran["weights"]["continued"]) == []


def test_callbacks(ran):
    case = ran["callbacks"]
    assert len(case["seen"]["batches"]) == 16
    assert len(set(case["seen"]["norms"])) == 16  # every batch changed the weights that it sees
    np.testing.assert_allclose(case["seen"]["rates"], [0.5, 0.25, 0.125, 0.0625])
    assert {"best.h5", "log.csv", "w01.h5", "w04.h5"} <= set(case["files"])
    assert case["logged"]
    assert len(case["stopped"]) < 50
    assert case["first_checkpoint"][0] == pytest.approx(case["history"]["val_loss"][0], 1e-5)


def test_a_learning_rate_set_in_the_session_counts_at_once(ran):
    first, second, third, fourth, fifth, _ = (
        loss for loss, _ in ran["learning_rate_by_session"]["losses"]
    )
    assert second < first
    assert third == pytest.approx(second, 1e-6)  # trained with a rate of 0
    assert fourth == pytest.approx(second, 1e-6)
    assert fifth < fourth


def test_savers_see_trained_variables(ran):
    assert differences(ran["saver"]["restored"], ran["saver"]["trained"]) == []


def test_the_scripts_own_session_is_used(ran):
    assert ran["own_session"]["same"]
    assert differences(ran["own_session"]["history"], ran["clear_session"]["history"]) == []


def test_compile_can_be_rebound(ran):
    case = ran["rebound_compile"]
    assert case["calls"] == ["count", "both"]
    assert differences(case["compile_both"], case["compile_and_count"]) == []


def test_looks_like_a_model(ran):
    case = ran["looks"]
    assert case["config"] == ["cpu_model", "tpu_assignment", "tpu_name_or_address"]
    assert all(case[name] for name in ("summary", "cpu_model", "is_model", "json"))
    assert case["layers"] == ["hidden_input", "hidden", "out"]
    assert case["converted_twice"] == "KerasTPUModel"
    assert case["default_strategy"] == ran.cores
    assert case["of_1_9"] == 1


def test_a_batch_that_the_cores_cannot_share(ran):
    for error in ran["uneven_batch"].values():
        if ran.cores == 1:
            assert error["text"] == "no error"
        else:
            assert error["code"] == "TPU304"
            assert "AssertionError" in error["types"]
            assert "vs 4" in error["text"]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("shape", "TPU303"),
        ("structure", "TPU303"),
        ("unequal", "TPU303"),
        ("arrays", "TPU303"),
        ("evaluate", "TPU303"),
        ("predict", "TPU303"),
        ("no_steps", "TPU305"),
        ("no_validation_steps", "TPU305"),
        ("with_y", "TPU305"),
        ("no_dataset", "TPU306"),
        ("unbatched", "TPU306"),
        ("few_batches", "TPU490"),
        ("few_to_validate", "TPU490"),
        ("few_to_predict", "TPU490"),
    ],
)
def test_bad_data(kind, code, ran):
    error = ran["bad_data"][kind]
    assert error["code"] == code
    assert "ValueError" in error["types"]
    assert "Next: " in error["text"]


@pytest.mark.parametrize(
    ("kind", "code", "builtin"),
    [
        ("variable", "TPU302", "ValueError"),
        ("subclassed", "TPU312", "ValueError"),
        ("unbuilt", "TPU312", "ValueError"),
        ("strategy", "TPU307", "TypeError"),
    ],
)
def test_bad_models(kind, code, builtin, ran):
    error = ran["bad_models"][kind]
    assert error["code"] == code
    assert builtin in error["types"]


def test_target_tensors_on_several_cores(ran):
    on_host = ran.cores == 1 and not targets.REHEARSED
    assert ran["target_tensors"]["error"]["code"] == ("" if on_host else "TPU311")
