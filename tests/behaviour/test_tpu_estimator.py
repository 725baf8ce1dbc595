"""TPUEstimator on one replica and on eight emulated cores, against what TensorFlow 1.15 computed.

The programs are those of ``estimator_cases.py``; each number of cores is a process of its own. The
reference (``tools/record_estimator_reference.py``) is the real TPUEstimator for one replica, and
towers written by hand for eight.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import targets

from tpucompat.base.machine import environment

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
REFERENCE = os.path.join(ROOT, "tests", "data", "estimator_reference.json")

with open(REFERENCE) as _file:
    EXPECTED = json.load(_file)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Gives the results of all programs on that many cores."""
    done = {}

    def of(cores):
        if cores not in done:
            out = tmp_path_factory.mktemp("estimator") / f"{cores}.json"
            environment = {**os.environ, "PYTHONPATH": ROOT, **targets.settings(cores)}
            # TensorFlow 2 leaves these to its children.
            for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS", "PLAIN_TENSORFLOW"):
                environment.pop(name, None)
            ran = subprocess.run(
                [sys.executable, os.path.join(HERE, "estimator_cases.py"), str(out)],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=600,
                check=False,
            )
            assert ran.returncode == 0, ran.stdout.decode(errors="replace")[-3000:]
            done[cores] = json.loads(out.read_text())
        return done[cores]

    return of


@pytest.fixture
def on(results):
    """Gives the result of one program on that many cores."""

    def of(name, cores):
        result = results(cores)[name]
        assert not isinstance(result.get("error"), str), result["error"]
        return result

    return of


def same(actual, expected, tolerance):
    """Whether two trees of numbers are the same, relative to their size."""
    if isinstance(expected, dict):
        assert sorted(actual) == sorted(expected)
        for name in expected:
            same(actual[name], expected[name], tolerance)
    else:
        # Losses and weights are of the order of 1.
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


# One replica: 1e-6 of TensorFlow 1.15, the promise of docs/architecture.md
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "train_evaluate_predict",
        "another_batch_axis",
        "scaffold_and_initial_values",
        "assigns_inside_the_replica",
        "exported",
        "train_and_evaluate",
    ],
)
def test_one_replica_computes_what_tensorflow_1_did(on, name):
    same(on(name, 1), EXPECTED[name], 1e-6)


@pytest.mark.parametrize("cores", [1, 8])
def test_a_step_reads_the_global_step_before_it_writes_it(on, cores):
    ours = on("reads_the_step_that_it_writes", cores)
    np.testing.assert_allclose(
        ours["rates"], [[r] * cores for r in (0.8, 0.7, 0.6, 0.5)], rtol=1e-6
    )
    # The graph's own order, not luck; several cores have the order of the replay. Without a TPU: always.
    assert ours["waiting"] == [cores == 1 and not targets.REHEARSED, True, True]
    # A read that the model puts behind the write stays there.
    assert ours["later"] == 4


def test_one_replica_takes_inputs_as_tensorflow_1_did(on):
    ours, theirs = dict(on("inputs_of_all_kinds", 1)), dict(EXPECTED["inputs_of_all_kinds"])
    assert ours.pop("nested") == theirs.pop("nested")
    same(ours, theirs, 1e-6)


@pytest.mark.parametrize("name", ["hooks_and_checkpoints", "summaries"])
def test_one_replica_saves_and_writes_as_tensorflow_1_did(on, name):
    assert on(name, 1) == EXPECTED[name]


# Eight cores: 1e-5 of towers in TensorFlow 1.15
# -------------------------------------------------------------------------------------------------


def forward(weights, x):
    """The network of the programs, in numpy."""
    kernel, bias, out, out_bias = (
        np.asarray(weights[name])
        for name in ("hidden/kernel", "hidden/bias", "out/kernel", "out/bias")
    )
    return np.tanh(x @ kernel + bias) @ out + out_bias


def data():
    """The programs' examples."""
    rng = np.random.RandomState(7)
    x = rng.rand(64, 6).astype("float32")
    return x, (np.sin(x.sum(1, keepdims=True) * 2) + x[:, :1]).astype("float32")


def test_eight_cores_compute_what_eight_towers_did(on):
    ours, theirs = on("train_evaluate_predict", 8), EXPECTED["towers"]
    same(ours["losses"], theirs["losses"], 1e-5)
    same({name: ours["weights"][name] for name in theirs["weights"]}, theirs["weights"], 1e-5)
    assert ours["weights"]["global_step"] == 8
    x, y = data()
    error = np.abs(forward(theirs["weights"], x[:48]) - y[:48])
    assert ours["metrics"]["error"] == pytest.approx(error.mean(), rel=1e-5)  # of all cores
    of_core_0 = np.concatenate([error[start : start + 2] for start in (0, 16, 32)])
    assert ours["metrics"]["loss"] == pytest.approx(np.square(of_core_0).mean(), rel=1e-5)
    same(ours["predictions"], forward(theirs["weights"], x[:21]), 1e-5)


def test_eight_cores_that_assign_compute_what_eight_towers_did(on):
    ours, theirs = on("assigns_inside_the_replica", 8), EXPECTED["towers that assign"]
    same(ours["losses"], theirs["losses"], 1e-5)
    same(ours["weights"], theirs["weights"], 1e-5)
    assert ours["step"] == 8


def test_eight_cores_share_the_inputs(on):
    ours, towers = on("inputs_of_all_kinds", 8), EXPECTED["towers"]["losses"]
    for kind in ("dataset", "dataset, each core", "pair"):
        same(ours[kind], towers[:4], 1e-5)
    # An input function called for each core gives every core the same examples here.
    for losses in ours["pair for each core"]:
        assert len(losses) == 8
        assert len(set(losses)) == 1
    assert ours["nested"] == [[[2, 1], "int32"]]
    same(on("another_batch_axis", 8)["losses"], towers[:3], 1e-5)


def test_eight_cores_start_from_a_checkpoint(on):
    ours = on("scaffold_and_initial_values", 8)
    same(ours["fresh"], EXPECTED["towers"]["losses"][:1], 1e-5)
    assert abs(np.mean(ours["warm"]) - np.mean(ours["fresh"])) > 1e-3
    assert abs(np.mean(ours["scaffold"]) - np.mean(ours["warm"])) > 1e-3


@pytest.mark.parametrize("case", ["exported", "exported_for_tpu"])
@pytest.mark.parametrize("cores", [1, 8])
def test_export_serves_what_is_predicted(on, cores, case):
    ours = on(case, cores)
    same(ours["served"], ours["predicted"], 1e-6)
    assert (
        case == "exported" or "TPU356" in ours["said"]
    )  # it says what it does with a TPU's program


def test_threads_end_before_the_interpreter(on):
    assert on("left_in_the_middle", 8) == {"during": 2, "after": 0}


def test_eight_cores_train_and_evaluate(on):
    ours, theirs = on("train_and_evaluate", 8), EXPECTED["towers"]
    x, y = data()
    error = np.abs(forward(theirs["weights"], x[:32]) - y[:32]).mean()
    assert ours["error"] == pytest.approx(error, rel=1e-5)
    assert ours["global_step"] == 8


# What functions are told, what is saved and written, what is refused
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cores", [1, 8])
def test_functions_are_told_the_batch_of_a_core(on, cores):
    for kind, told in on("what_functions_are_told", cores).items():
        shared = cores if kind != "BROADCAST" else 1
        sizes = {"train": 16, "eval": 16, "infer": 8}
        assert told["model_fn"] == [
            {
                "mode": mode,
                "batch_size": size // shared,
                "use_tpu": True,
                "replicas": cores,
                "shape": [size // shared, 6],
            }
            for mode, size in sizes.items()
        ]
        of_input = 16 // cores if kind == "PER_HOST_V2" else 16
        # context.current_input_fn_deployment: call, number of calls, replicas of the host
        assert told["input_fn"] == [[of_input, cores, 1, [0, 1, cores]]] * 2
        assert told["predicted"] == 19  # without the padding of the last batch


@pytest.mark.parametrize("cores", [1, 8])
def test_a_script_is_told_of_the_tpu_that_it_asked_for(on, cores):
    told = on("tpu_that_was_asked_for", cores)
    address = "grpc://10.2.3.4:8470"
    assert told["addresses"] == [address, address, ""]  # Sessions are opened here
    assert told["job"] == "tpu_worker" and told["host"] == "/replica:0/task:0/device:CPU:0"
    assert told["assignments"] == [None, [cores, 1], [max(1, cores // 2), 2]]


def test_each_core_has_a_variable_of_its_own(on):
    ours = on("one_variable_for_each_core", 8)
    rng = np.random.RandomState(7)
    x = rng.rand(64, 6).astype("float32")
    y = np.sin(x.sum(1, keepdims=True) * 2) + x[:, :1]
    one, two = (np.random.RandomState(0).rand(*shape) - 0.5 for shape in ((6, 16), (2, 1)))
    two = np.tile(two, (8, 1))
    scale = np.repeat(1 + np.arange(8) / 8, 2)
    losses = []
    for batch in (0, 1, 2, 0, 1):
        some, wanted = x[16 * batch :][:16], y[16 * batch :][:16]
        hidden = some @ one
        output = hidden * scale @ two
        # Core 0 speaks for all, since they have the same batch.
        losses.append([((output - wanted) ** 2).mean()])
        upstream = 0.005 * (output - wanted)
        gradients = some.T @ (upstream @ two.T * scale), (hidden * scale).T @ upstream
        one, two = one - gradients[0], two - gradients[1]
    same(ours["losses"], losses, 1e-6)
    same(ours["slices"], {"one": np.split(one, 8, 1), "two": np.split(two, 8)}, 1e-6)


def test_checkpoints_of_eight_cores(on):
    ours = on("hooks_and_checkpoints", 8)
    # Loops of three steps; a checkpoint is due every four.
    assert ours["steps"] == [3, 6, 7]
    assert ours["saved"] == [0, 6, 7]
    assert ours["sums differ"]
    assert ours["last"] == 9
    assert ours["names"] == EXPECTED["hooks_and_checkpoints"]["names"]


@pytest.mark.parametrize("cores", [1, 8])
def test_an_average_sees_the_update_of_recurrent_weights(on, cores):
    found = on("averages_of_recurrent_weights", cores)
    assert len(found) == 8
    for name, numbers in found.items():
        start, end, average = map(np.array, numbers)
        assert np.abs(end - start).max() > 1e-6, name
        np.testing.assert_allclose(average, 0.5 * (start + end), rtol=1e-6, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("cores", [1, 8])
def test_a_hook_that_saves_elsewhere_replaces_no_checkpoint(on, cores):
    assert on("saver_elsewhere", cores)["steps"] == [[0, 4], [0, 2, 4]]


@pytest.mark.parametrize("cores", [1, 8])
def test_asynchronous_checkpoints_hold_one_step(on, cores):
    ours = on("asynchronous_checkpoints", cores)
    assert "model.ckpt-6" in ours  # one that is due while another is written is left out
    for name, (step, step_of_adam) in ours.items():
        assert name == f"model.ckpt-{step}"
        assert step_of_adam == step


def test_summaries_of_eight_cores(on):
    expected = dict(EXPECTED["summaries"])
    del expected["of_cores"]  # as on a TPU: host_call writes what the cores compute
    assert on("summaries", 8) == expected


@pytest.mark.parametrize("cores", [1, 8])
def test_a_tpu_that_is_not_wanted(on, cores):
    ours = on("switched_off", cores)
    of_core = 16 // cores
    assert [(one["mode"], one["use_tpu"], one["shape"][0]) for one in ours["seen"]] == [
        ("train", False, 16),
        ("train", True, of_core),
        ("eval", False, 16),
    ]
    same(ours["losses"], EXPECTED["train_evaluate_predict"]["losses"][:2], 1e-6)
    assert ours["metrics"] == ["error", "global_step", "loss"]


# Input -> the type of TensorFlow 1.15, and a part of its text.
REFUSED = {
    "no config": ("ValueError", "`config` must be provided with type `tpu_config.RunConfig`"),
    "no batch size": ("ValueError", "`train_batch_size` cannot be `None`"),
    "batch size": ("TypeError", "train_batch_size must be int, got <class 'float'>"),
    "reserved": ("ValueError", "are reserved keys but existed in params"),
    "steps": ("ValueError", "one of `steps` or `max_steps` must be set"),
    "eval steps": ("ValueError", "Evaluate `steps` must be set on TPU"),
    "eval batch": ("ValueError", "eval_batch_size in TPUEstimator constructor cannot be `None`"),
    "model_fn without params": ("ValueError", "does not include params argument"),
    "input_fn without params": ("ValueError", "does not include params argument"),
    "wrong metrics": ("RuntimeError", "length of tensors 1 does not match method args"),
    "no spec": ("ValueError", "model_fn should return an EstimatorSpec"),
    "partition": ("ValueError", "The product of each input partition dim should equal to"),
    "not finite": ("NanLossDuringTrainingError", "NaN loss during training."),
    # TensorFlow 1.15 looked at the loss of core 0 alone.
    "not finite on one core": ("NanLossDuringTrainingError", "NaN loss during training."),
    "predictions": ("ValueError", "TPUEstimatorSpec.predictions"),
}
REFUSED_ON_A_TPU = {
    "scalar": ("RuntimeError", "should preserve batch size dimension, but got scalar"),
    "evaluation spec": ("RuntimeError", "must have type`TPUEstimatorSpec`"),
    "dynamic shape": ("ValueError", "must have static shape"),
    "ends early": ("OutOfRangeError", "End of sequence"),
    "greedy hook": ("NotImplementedError", "TPU324 a hook fetches 'mean_squared_error/value"),
}
REFUSED_ON_SEVERAL_CORES = {
    "uneven": ("ValueError", "train batch size 17 must be divisible by number of replicas 8"),
    "no CrossShardOptimizer": ("ValueError", "TPU325 CrossShardOptimizer must be used"),
    # The batch is split by the cores before anything looks at its shape.
    "dynamic shape": ("ValueError", "must have a fixed size for dimension 0"),
}


@pytest.mark.parametrize("cores", [1, 8])
def test_bad_input_is_refused_with_the_next_step(on, cores):
    ours = on("bad_input", cores)
    expected = {
        **REFUSED,
        **(REFUSED_ON_A_TPU if cores > 1 or targets.REHEARSED else {}),
        **(REFUSED_ON_SEVERAL_CORES if cores > 1 else {}),
    }
    assert {name for name, error in ours.items() if error} == set(expected)
    for name, (kind, text) in expected.items():
        kinds, message = ours[name]
        assert kind in kinds, name
        assert text in message, name
        assert name.startswith("not finite") or "\n  Next: " in message, name


@pytest.mark.skipif((environment().release or (0, 0)) < (1, 15), reason="1.15 packs small features")
def test_nested_features_pass_the_infeed_beside_small_ones():
    import tensorflow.compat.v1 as tf

    from tpucompat.idioms.tpu_estimator import source

    packer = source.load().TensorPacker(1, 1)
    with tf.Graph().as_default():
        small, large = tf.zeros([4, 1]), tf.zeros([4, 3])
        features = {"a": small, "b": {"c": large}}
        packer.maybe_concatenate_features(features)
        packer.maybe_split_features(features)
        assert features == {"a": small, "b": {"c": large}}
        flat = {"a": small, "b": large}  # without levels, small ones are one tensor all the same
        packer.maybe_concatenate_features(flat)
        assert list(flat) != ["a", "b"]
