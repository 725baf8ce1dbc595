"""``tpucompat verify`` without TensorFlow: matching, differences, the ladder, the reports, the command."""

from __future__ import annotations

import html.parser
import importlib.util
import json
import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import schemas

from tpucompat.__main__ import main
from tpucompat.commands.cli import verify
from tpucompat.commands.verify import (
    comparison,
    differences,
    files,
    ladder,
    pairs,
    printed,
    proofs,
    runs,
    seeds,
    shuffles,
    tolerances,
)
from tpucompat.commands.verify.matching import copies, match
from tpucompat.commands.verify.recorder import Recorder, Recording, Site, Variable
from tpucompat.commands.verify.report import as_json, markdown, page, plots, terminal
from tpucompat.commands.verify.rungs import SKIPPED

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def variables(*specs):
    return [Variable(name, shape, True) for name, shape in specs]


# Matching --------------------------------------------------------------------------------------


def test_names_decide_before_shapes_and_order():
    old = variables(("scope/b/kernel", (2, 2)), ("scope/a/kernel", (2, 2)), ("scope/a/bias", (2,)))
    new = variables(("m/a/kernel", (2, 2)), ("m/b/kernel", (2, 2)), ("m/a/bias", (2,)))
    found = match(old, new)
    assert found.pairs == {
        "m/a/kernel": "scope/a/kernel",
        "m/b/kernel": "scope/b/kernel",
        "m/a/bias": "scope/a/bias",
    }
    assert set(found.how.values()) == {"name"}
    assert found.only_old == found.only_new == found.problems == []


def test_the_longer_ending_of_a_name_decides():
    names = [f"layer_{layer}/{part}/kernel" for layer in (0, 1) for part in ("key", "query")]
    old = variables(*((f"encoder/{name}", (2, 2)) for name in names))
    new = variables(*((f"model/weights/encoder/{name}", (2, 2)) for name in reversed(names)))
    found = match(old, new)
    assert all(ours == "model/weights/" + theirs for ours, theirs in found.pairs.items())
    assert set(found.how.values()) == {"name"}


def test_names_that_keras_has_counted_say_nothing_unless_all_of_them_agree():
    old = variables(*((f"dense_{i}/kernel", (4, 4)) for i in (1, 2, 3)))
    new = variables(*((f"dense{i}/kernel", (4, 4)) for i in ("", "_1", "_2")))
    assert list(match(old, new).pairs.values()) == [v.name for v in old]
    assert set(match(old, new).how.values()) == {"order"}


def test_a_gamma_is_never_a_beta():
    old = variables(("n/beta", (3,)), ("n/gamma", (3,)), ("o/LayerNorm/beta", (3,)))
    new = variables(("a/gamma", (3,)), ("a/beta", (3,)), ("b/beta", (3,)))
    assert match(old, new).pairs == {
        "a/gamma": "n/gamma",
        "a/beta": "n/beta",
        "b/beta": "o/LayerNorm/beta",
    }


def test_what_has_no_twin_is_said():
    found = match(variables(("a", (1,)), ("b", (2,))), variables(("a", (1,)), ("c", (3,))))
    assert (found.pairs, found.only_old, found.only_new) == ({"a": "a"}, ["b"], ["c"])


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({"nwe": "old"}, "the new run has no variable 'nwe'; did you mean 'new'?"),
        ({"new": "odl"}, "the old run has no variable 'odl'; did you mean 'old'?"),
        ({"new": "other"}, "new (2,) cannot be other (3,)"),
    ],
)
def test_a_mapping_that_does_not_fit_is_said(mapping, said):
    old, new = variables(("old", (2,)), ("other", (3,))), variables(("new", (2,)), ("third", (3,)))
    assert match(old, new, mapping).problems == [said]


def test_a_mapping_decides_against_names():
    both = variables(("a", (2,)), ("b", (2,)))
    assert match(both, both, {"a": "b"}).pairs == {"a": "b", "b": "a"}


def test_what_began_as_a_copy_of_a_variable_follows_it():
    w, given = np.arange(3.0), np.arange(3.0) + 5
    others = {"average": w.copy(), "moment": np.zeros(3), "other": w + 1, "long": np.arange(4.0)}
    found = copies(others, [(w, given), (np.zeros(3), np.ones(3))])
    assert list(found) == ["average"] and found["average"] is given


# Differences -----------------------------------------------------------------------------------


def test_the_statistics_of_a_difference():
    expected = np.linspace(1, 2, 101)
    found = differences.compare(expected * np.where(expected == 2, 1.1, 1 + 1e-3), expected)
    assert found.max_rel == pytest.approx(0.1)
    assert found.p99_rel == pytest.approx(1e-3)
    assert found.max_abs == pytest.approx(0.2)
    assert found.scaled == pytest.approx(0.1)
    assert found.mean_rel == pytest.approx((100 * 1e-3 + 0.1) / 101)


@pytest.mark.parametrize(
    ("actual", "expected", "nans"),
    [
        ([np.nan, 1.0], [np.nan, 1.0], 0),
        ([np.inf, 1.0], [np.inf, 1.0], 0),
        ([np.nan, 1.0], [0.0, 1.0], 1),
        ([1.0, 1.0], [np.nan, 1.0], 1),
        ([-np.inf, 1.0], [np.inf, 1.0], 1),
        ([np.inf], [1.0], 1),
    ],
)
def test_a_nan_agrees_with_a_nan_only(actual, expected, nans):
    found = differences.compare(actual, expected)
    assert (found.nans, found.max_abs) == (nans, 0.0)


def test_axes_of_length_one_do_not_matter_and_others_do():
    assert differences.compare(np.ones((3, 1)), np.ones(3)).comparable
    assert differences.compare(np.ones((3, 2)), np.ones((2, 3))).note == "shape 3×2 instead of 2×3"


def test_rows_find_their_twins():
    rng = np.random.RandomState(0)
    rows = rng.randn(64, 10)
    order = rng.permutation(64)
    np.testing.assert_array_equal(rows[order][differences.same_rows(rows[order], rows)], rows)


def test_a_histogram_counts_powers_of_ten():
    counts = differences.histogram([1 + 1e-3, 1 - 2e-6, 1.0], [1.0, 1.0, 1.0])
    assert sum(counts) == 3 and counts[0] == 1
    assert counts[-3 + 10 - 1] + counts[-3 + 10] == 1 and counts[-6 + 10] == 1


# The ladder ------------------------------------------------------------------------------------


class Program:
    """A softmax regression in NumPy, with the mistakes that a migration can make."""

    def __init__(self, folder, replicas=1, **mistakes):
        self.folder, self.replicas = str(folder), replicas
        self.mistakes = mistakes
        rng = np.random.RandomState(0)
        self.weights = {"net/kernel": rng.randn(5, 3) * 0.1, "net/bias": np.zeros(3)}
        self.x, self.labels = rng.randn(16, 5), rng.randint(0, 3, 16)

    def run(self, steps=4):
        recorder = Recorder(self.folder)
        specs = [Variable(n, v.shape, True) for n, v in self.weights.items()]
        site = Site(recorder, specs, self.replicas, ["softmax"])
        rate = self.mistakes.get("rate", 0.5)
        for _ in range(steps):
            total = [np.zeros_like(v) for v in self.weights.values()]
            labels = np.roll(self.labels, self.mistakes.get("shift", 0))
            size = self.mistakes.get("batch", 16)
            spare = np.zeros((5, self.mistakes.get("spare", 0)))
            for rows in np.array_split(np.arange(size), self.replicas):
                logits = self.x[rows] @ self.weights["net/kernel"] + self.weights["net/bias"]
                p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
                losses = -np.log(p[np.arange(len(rows)), labels[rows]])
                scale = self.mistakes.get("scale", 1.0) / size
                back = (p - np.eye(3)[labels[rows]]) * scale
                parts = [self.x[rows].T @ back, back.sum(0)]
                logits = np.concatenate([logits, self.x[rows] @ spare], axis=1)
                site.called(
                    losses.sum() * scale, *parts, *self.weights.values(), labels[rows], logits
                )
                total = [a + b for a, b in zip(total, parts)]
            for name, gradient in zip(self.weights, total):
                self.weights[name] = self.weights[name] - rate * gradient
            if recorder.wants_snapshot():
                recorder.snapshot(self.weights)
        recorder.write("evaluation", values={"loss": float(losses.mean()), "acc": 0.5})
        recorder.write("prediction", {"probabilities": p})
        recorder.write("end", error="")
        return Recording(self.folder)


def verdicts(old, new, **options):
    found = ladder.compare(old, new, **options)
    return {rung.key: rung.verdict for rung in found.rungs}, found


@pytest.fixture
def old(tmp_path):
    return Program(tmp_path / "old").run()


def test_equal_programs_agree_on_every_rung(old, tmp_path):
    found, result = verdicts(old, Program(tmp_path / "new").run())
    assert result.verdict == ladder.AGREE
    assert {key for key, verdict in found.items() if verdict == ladder.AGREE} == {
        *("variables", "initial", "forward", "loss", "gradients", "update", "steps"),
        *("evaluation", "prediction"),
    }


def test_replicas_of_a_step_are_one_step(old, tmp_path):
    """Four replicas, and they have shared the batch in another order."""
    program = Program(tmp_path / "new", replicas=4)
    order = np.random.RandomState(1).permutation(16)
    program.x, program.labels = program.x[order], program.labels[order]
    found, result = verdicts(old, program.run())
    del found["prediction"], found["evaluation"]  # the last replica's, of other examples
    assert set(found.values()) == {ladder.AGREE, SKIPPED}
    assert "different order" in {r.key: r for r in result.rungs}["forward"].note


@pytest.mark.parametrize(
    ("mistake", "first", "said"),
    [
        ({"rate": 0.25}, "update", "all updates are 0.5 times as large"),
        ({"scale": 16.0}, "loss", "16 times as much"),
        ({"shift": 1}, "loss", "labels of the first step differ"),
        ({"batch": 8}, "forward", "8 examples in a step instead of 16"),
        ({"spare": 1, "rate": 0.25}, "forward", "shape"),
    ],
)
def test_a_mistake_is_found_on_its_rung(old, tmp_path, mistake, first, said):
    _, result = verdicts(old, Program(tmp_path / "new", **mistake).run())
    differing = [rung for rung in result.rungs if rung.verdict == ladder.DIFFER]
    assert differing[0].key == first
    assert said in differing[0].note
    steps = {rung.key: rung for rung in result.rungs}["steps"]
    assert "the curves diverge at step" in steps.note  # and the ladder goes on


def test_a_nan_in_one_run_differs(old, tmp_path):
    program = Program(tmp_path / "new")
    program.x[3, 2] = np.nan
    _, result = verdicts(old, program.run())
    by_key = {rung.key: rung for rung in result.rungs}
    assert by_key["loss"].verdict == by_key["gradients"].verdict == ladder.DIFFER
    assert "NaN" in by_key["gradients"].note


def test_a_run_that_never_trains_is_said(old, tmp_path):
    silent = Recorder(str(tmp_path / "new"))
    silent.write("end", error="")
    found, result = verdicts(old, Recording(str(tmp_path / "new")))
    assert found["steps"] == ladder.DIFFER
    assert result.rungs[0].note == "the new run does not train"


def test_a_recording_that_ends_in_the_middle_is_read(old, tmp_path):
    with open(os.path.join(old.folder, "events.jsonl"), "a") as stream:
        stream.write('{"kind": "step", "si')
    again = Recording(old.folder)
    assert again.objectives(0) == old.objectives(0)
    assert again.arrays({"file": "missing.npz"}) == {}


def test_logits_are_compared_as_probabilities(tmp_path):
    logits = np.random.RandomState(0).randn(4, 3)
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    for name, values in (("old", p), ("new", logits + 7)):
        Recorder(str(tmp_path / name)).write("prediction", {"predictions": values})
    found, result = verdicts(Recording(str(tmp_path / "old")), Recording(str(tmp_path / "new")))
    assert found["prediction"] == ladder.AGREE
    assert "logits" in {rung.key: rung for rung in result.rungs}["prediction"].note


@pytest.mark.parametrize(
    ("answers", "verdict", "said"),
    [
        (8, ladder.DIFFER, "8 answers instead of 10"),
        (12, ladder.AGREE, "the old run requested 10 of 12 predictions"),
    ],
)
def test_answers_that_the_new_run_lacks_are_a_difference(tmp_path, answers, verdict, said):
    values = np.random.RandomState(0).rand(12, 3)
    for name, count in (("old", 10), ("new", answers)):
        recorder = Recorder(str(tmp_path / name))
        recorder.write("prediction", {"predictions": values[:count]})
    found, result = verdicts(Recording(str(tmp_path / "old")), Recording(str(tmp_path / "new")))
    assert found["prediction"] == verdict
    assert said in {rung.key: rung for rung in result.rungs}["prediction"].note


def test_of_several_checkpoints_the_last_one_counts(tmp_path):
    final = {"w": np.ones(3)}
    for name in ("old", "new"):
        recorder = Recorder(str(tmp_path / name))
        for scale in (0.5, 1.0, 0.2):
            recorder.write("checkpoint", {"w": scale * final["w"]}, path=f"epoch-{scale}.h5")
        recorder.snapshot(final)
    both = [Recording(str(tmp_path / name)) for name in ("old", "new")]
    assert verdicts(*both)[0]["checkpoint"] == ladder.AGREE


def test_orders_that_keras_draws_are_drawn_again(tmp_path):
    """A module of Keras shuffles in place; the second run gets the first one's orders, of the same length."""
    keras = {"__name__": "tf_keras.src.engine.training_arrays_v1", "np": np}
    exec(
        "def shuffled(n):\n  order = np.arange(n)\n  np.random.shuffle(order)\n  return order",
        keras,
    )
    original = np.random.shuffle

    def run(name, seed, earlier=()):
        recorder = Recorder(str(tmp_path / name))
        np.random.seed(seed)
        np.random.shuffle = shuffles.Shuffles(recorder, earlier)._in_place(original)
        try:
            drawn = [keras["shuffled"](n).tolist() for n in (50, 7, 50)]
            mine = np.arange(9)
            np.random.shuffle(mine)  # not Keras
        finally:
            np.random.shuffle = original
        return drawn, Recording(str(tmp_path / name))

    first, recording = run("old", 0)
    orders = [recording.arrays(event)["0"] for event in recording.all("shuffle")]
    assert [order.tolist() for order in orders] == first
    again, other = run("new", 1, orders)
    assert again == first and not other.all("shuffle")


def test_results_in_text_files_are_numbers_by_name(tmp_path):
    text = "eval_accuracy = 0.5\nloss: 1e-3\n0.25\t-.5\n1 2 3\nepoch 3 took 1.5 seconds\n"
    (tmp_path / "eval_results.txt").write_text(text)
    found = files.arrays_of(str(tmp_path / "eval_results.txt"))
    assert {name: values.tolist() for name, values in found.items()} == {
        "eval_accuracy": [0.5],
        "signs behind names": [":", "="],
        "loss": [1e-3],
        "numbers": [0.25, -0.5, 1, 2, 3],
    }
    (tmp_path / "labels.tsv").write_bytes(b"\xff\xfe")
    assert files.arrays_of(str(tmp_path / "labels.tsv")) == {}


def test_reports_are_compared_by_key_and_some_are_ignored(tmp_path):
    for name, accuracy, seconds in (("old", "acc", 1.0), ("new", "accuracy", 2.0)):
        Recorder(str(tmp_path / name)).write(
            "report", {f"test/{accuracy}": 0.5, "seconds": seconds}, path="r.json"
        )
    both = [Recording(str(tmp_path / name)) for name in ("old", "new")]
    assert verdicts(*both, ignore={"*seconds*": "it is"})[0]["files"] == ladder.AGREE
    assert verdicts(*both)[0]["files"] == ladder.DIFFER


# What only one run does, and what a rung is to see -----------------------------------------------


def recorded(folder, *events):
    """A recording of events, each (kind, arrays, more)."""
    recorder = Recorder(str(folder))
    for kind, arrays, more in events:
        recorder.write(kind, arrays, **more)
    return Recording(str(folder))


FINAL = {"w": np.arange(6.0).reshape(2, 3), "b": np.ones(3)}
LEFT = {
    "evaluation": ("evaluation", None, {"values": {"loss": 0.5}}),
    "prediction": ("prediction", {"p": np.ones((2, 3))}, {}),
    "checkpoint": ("checkpoint", FINAL, {"path": "model.h5"}),
    "export": ("export", None, {"path": "/somewhere"}),
    "files": ("report", {"loss": np.float64(0.5)}, {"path": "r.json"}),
    "printed": ("printed", None, {"text": "test accuracy 0.25"}),
}
SNAPSHOT = ("snapshot", FINAL, {"step": 0})


@pytest.mark.parametrize("key", LEFT)
@pytest.mark.parametrize("which", ["old", "new"])
def test_what_only_one_run_does_is_a_difference_unless_somebody_says_why(key, which, tmp_path):
    both = {"old": [SNAPSHOT], "new": [SNAPSHOT]}
    both[which].append(LEFT[key])
    found = [recorded(tmp_path / name, *events) for name, events in both.items()]
    assert verdicts(*found)[0][key] == ladder.DIFFER
    names = {"files": "r.json", "printed": "printed: test accuracy"}
    ignore = {names.get(key, key): "the other one has no need of it"}
    agreed, result = verdicts(*found, ignore=ignore)
    assert agreed[key] == SKIPPED
    if key not in names:
        assert "no need of it" in {rung.key: rung for rung in result.rungs}[key].note


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("evaluation", {"loss": 0.5, "acc": 0.1}, {"loss": 0.5}),
        ("prediction", {"p": np.ones((2, 3)), "class": np.ones(2, int)}, {"p": np.ones((2, 3))}),
        ("report", {"loss": np.ones(2), "rate": np.ones(2)}, {"loss": np.ones(2)}),
    ],
)
def test_a_number_that_one_run_lacks_is_a_difference(kind, old, new, tmp_path):
    more = {"path": "r.json"} if kind == "report" else {}
    both = []
    for name, values in (("old", old), ("new", new)):
        arrays, extra = (None, {"values": values}) if kind == "evaluation" else (values, more)
        both.append(recorded(tmp_path / name, (kind, arrays, extra)))
    key = "files" if kind == "report" else kind
    assert verdicts(*both)[0][key] == ladder.DIFFER
    assert verdicts(*both, ignore={"acc*": "", "prediction: class": "", "rate": ""})[0][key] == (
        ladder.AGREE
    )


def test_another_number_of_evaluations_is_a_difference(tmp_path):
    both = [recorded(tmp_path / str(count), *[LEFT["evaluation"]] * count) for count in (2, 1)]
    assert verdicts(*both)[0]["evaluation"] == ladder.DIFFER


def test_a_new_checkpoint_is_compared_with_the_old_one(tmp_path):
    """Each holds its own run's final variables; the new run's are others."""
    other = {name: value * 1.5 for name, value in FINAL.items()}
    both = []
    for name, values in (("old", FINAL), ("new", other)):
        site = {
            "site": 0,
            "variables": [v._asdict() for v in variables(("w", (2, 3)), ("b", (3,)))],
        }
        steps = ("step", None, {"site": 0, "objective": 1.0})
        file = ("checkpoint", values, {"path": "m.h5"})
        snapshot = ("snapshot", values, {"step": 1})
        both.append(recorded(tmp_path / name, ("site", None, site), steps, snapshot, file))
    found, result = verdicts(*both)
    assert found["checkpoint"] == ladder.DIFFER
    assert "w of both" in {rung.key: rung for rung in result.rungs}["checkpoint"].note


@pytest.mark.parametrize(
    ("mistake", "verdict"),
    [
        (lambda draw: draw.randn(10000) * 0.02, ladder.AGREE),
        (lambda draw: draw.randn(10000) * 0.05, ladder.DIFFER),
        (lambda draw: draw.uniform(-0.0346, 0.0346, 10000), ladder.DIFFER),  # the same spread
        (lambda draw: draw.randn(10000) * 0.02 + 0.02, ladder.DIFFER),
        (lambda draw: np.zeros(10000), ladder.DIFFER),
    ],
)
def test_initial_values_are_those_that_the_new_run_has_drawn_itself(mistake, verdict, tmp_path):
    old = Program(tmp_path / "old")
    new = Program(tmp_path / "new")
    kernel = np.random.RandomState(3).randn(10000) * 0.02
    both = []
    for name, program in (("old", old), ("new", new)):
        recorder = Recorder(program.folder)
        site = Site(recorder, variables(("w", (10000,))), 1, [])
        if name == "new":
            recorder.write("own", {"w": mistake(np.random.RandomState(4))})
        site.called(1.0, kernel, kernel)
        both.append(Recording(program.folder))
    assert verdicts(*both)[0]["initial"] == verdict


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8, 12, 16, 32, 64])
def test_two_draws_of_few_numbers_agree(size):
    """6000 pairs of each size: chance alone reaches 4 in one of 16000, and 6 in none."""
    random = np.random.RandomState(size)
    kinds = (random.randn, lambda n: random.uniform(-1, 1, n), lambda n: truncated(random, n))
    found = [
        differences.drawn_alike(draw(size), draw(size)).deviations
        for draw in kinds
        for _ in range(2000)
    ]
    assert max(found) < tolerances.DEFAULTS["initial"].limit
    assert size < 3 or max(found) > 2.4  # they are compared


def truncated(random, size):
    """Numbers of a truncated normal distribution, of as much spread as a uniform one in [-1, 1]."""
    drawn = random.randn(4 * size + 40)
    return drawn[np.abs(drawn) < 2][:size] / 0.8796 / np.sqrt(3)


def test_a_uniform_draw_for_a_truncated_normal_one_is_seen():
    random, limit = np.random.RandomState(0), tolerances.DEFAULTS["initial"].limit
    normal, other = truncated(random, 1152), truncated(random, 1152)
    uniform = random.uniform(-1, 1, 1152)
    assert differences.drawn_alike(uniform, normal).deviations > 1.5 * limit
    assert differences.drawn_alike(normal, uniform).deviations > 1.5 * limit
    assert differences.drawn_alike(other, normal).deviations < limit


def test_another_spread_of_a_small_kernel_is_seen():
    random = np.random.RandomState(0)
    drawn = [random.randn(100) * spread for spread in (0.02, 0.05, 0.02)]
    limit = tolerances.DEFAULTS["initial"].limit
    assert differences.drawn_alike(drawn[0], drawn[1]).deviations > limit
    assert differences.drawn_alike(drawn[0], drawn[2]).deviations < limit


def two_kernels(folder, seeds):
    recorder = Recorder(str(folder))
    shapes = {"net/first": (4, 6), "net/second": (6, 5), "net/bias": (20,), "net/other": (20,)}
    site = Site(recorder, variables(*shapes.items()), 1, [])
    values = [
        np.random.RandomState(seed).randn(*shape) for seed, shape in zip(seeds, shapes.values())
    ]
    site.called(
        1.0, *[np.ones(shape) for shape in shapes.values()], *values, np.zeros(20), np.zeros(20)
    )
    return Recording(recorder.folder)


@pytest.mark.parametrize(
    "old, new, verdict",
    [
        ((1, 2), (3, 4), ladder.AGREE),
        ((1, 2), (3, 3), ladder.DIFFER),
        ((1, 1), (3, 3), ladder.AGREE),  # so does the old script
    ],
)
def test_one_seed_for_all_variables_is_seen(tmp_path, old, new, verdict):
    found, result = verdicts(*(two_kernels(tmp_path / str(each), each) for each in (old, new)))
    assert found["initial"] == verdict
    note = "net/first and net/second begin with the same random numbers"
    said = {rung.key: rung for rung in result.rungs}["initial"].note
    assert (note in said) == (verdict == ladder.DIFFER)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_a_constant_has_to_be_that_constant(bias):
    found = differences.drawn_alike(np.full(8, bias), np.zeros(8))
    assert found.deviations == (np.inf if bias else 0)


def test_a_variable_of_another_precision_is_another_variable(tmp_path):
    both = [Program(tmp_path / name) for name in ("old", "new")]
    both[1].weights = {n: v.astype(np.float32) for n, v in both[1].weights.items()}
    _, result = verdicts(*(program.run() for program in both))
    assert "net/kernel is float32 instead of float64" in result.rungs[0].note
    assert result.rungs[0].verdict == ladder.DIFFER


class Adam:
    """Steps of Adam after a warm-up, whose first step has a rate of 0; with what a mistake changes."""

    def __init__(self, folder, beta=0.9, moves=True):
        recorder = Recorder(str(folder))
        site = Site(recorder, variables(("net/w", (40,))), 1, [])
        w = np.linspace(-1, 1, 40)
        m, v = np.zeros(40), np.zeros(40)
        for step in range(2):
            gradient = np.cos(np.arange(40) + step)
            site.called(1.0, gradient, w)
            m, v = beta * m + (1 - beta) * gradient, 0.999 * v + 0.001 * gradient**2
            w = w - 0.1 * step * moves * m / (1 - beta) / np.sqrt(v)
            if recorder.wants_snapshot():
                recorder.snapshot({"net/w": w}, slots={"net/w/Adam": m, "net/w/Adam_1": v})
        self.recording = Recording(recorder.folder)


def first_step_of_adam(folder, gradient, epsilon=1e-8, rate=1e-3):
    recorder = Recorder(str(folder))
    site = Site(recorder, variables(("net/w", (40,))), 1, [])
    w = np.linspace(-1, 1, 40)
    site.called(1.0, gradient, w)
    w = w - rate * gradient / (np.abs(gradient) + epsilon / np.sqrt(0.001))
    if recorder.wants_snapshot():
        recorder.snapshot({"net/w": w})
    return Recording(recorder.folder)


@pytest.mark.parametrize(
    "rounding, options, verdict",
    [
        (4e-7, {}, ladder.AGREE),  # 8e-6 of the largest gradient; its sign turns round
        (1e-7, {}, ladder.AGREE),
        (0.0, {"epsilon": 1e-7}, ladder.DIFFER),
        (4e-7, {"epsilon": 1e-7}, ladder.DIFFER),
        (4e-7, {"rate": 1.01e-3}, ladder.DIFFER),
    ],
)
def test_an_update_may_amplify_the_rounding_of_its_gradient(tmp_path, rounding, options, verdict):
    gradient = 0.05 * np.cos(np.arange(40))
    gradient[3] = 2e-7
    old = first_step_of_adam(tmp_path / "old", gradient)
    gradient[3] -= rounding
    found, _ = verdicts(old, first_step_of_adam(tmp_path / "new", gradient, **options))
    assert found["update"] == verdict


def test_more_than_the_rounding_of_a_gradient_explains_no_update():
    gradient = np.cos(np.arange(40))
    found = differences.without_amplified(
        -0.2 * gradient, -0.1 * gradient, 2 * gradient, gradient, 1e-4
    )
    assert differences.compare(found, -0.1 * gradient).mean_scaled > 0.99


def test_one_update_is_the_first_that_moves_something(tmp_path):
    old, new = (Adam(tmp_path / name).recording for name in ("old", "new"))
    found, result = verdicts(old, new)
    rung = {rung.key: rung for rung in result.rungs}["update"]
    assert found["update"] == ladder.AGREE
    assert rung.note == "the first update is after 2 steps; with 2 slots"
    still = [Adam(tmp_path / f"still {i}", moves=False).recording for i in range(2)]
    found, result = verdicts(*still)
    assert found["update"] == SKIPPED
    assert "no trained variable moves in 2 steps" in {r.key: r for r in result.rungs}["update"].note


@pytest.mark.parametrize(
    "drops, verdict",
    [
        ([(0.2, (None, 4)), (0.5, (4,))], ladder.AGREE),
        ([(0.2, None), (0.5, None)], ladder.AGREE),
        ([(0.3, None), (0.5, None)], ladder.DIFFER),
        ([(0.2, None)], ladder.DIFFER),
        ([(0.2, (7, 4)), (0.5, (3,))], ladder.DIFFER),
    ],
)
def test_rates_of_dropout_are_compared_alone_where_a_size_is_not_known(tmp_path, drops, verdict):
    recordings = []
    for name, rows in (("old", [(0.2, (7, 4)), (0.5, (4,))]), ("new", drops)):
        adam = Adam(tmp_path / name)
        for rate, shape in rows:
            Recorder(adam.recording.folder).write("dropout", rate=rate, shape=shape, on=False)
        recordings.append(Recording(adam.recording.folder))
    assert verdicts(*recordings)[0]["dropout"] == verdict


def normalized(folder, signs, momentum=0.9):
    """A bias before batch normalization, which Adam moves by the sign of a rounding error."""
    recorder = Recorder(str(folder))
    specs = variables(("net/kernel", (4,)), ("net/bias", (4,)))
    site = Site(recorder, specs, 1, [])
    kernel, bias, mean = np.ones(4), np.zeros(4), np.zeros(4)
    for step in range(6):
        if recorder.wants_snapshot():
            recorder.snapshot({"net/kernel": kernel, "net/bias": bias, "net/moving_mean": mean})
        gradient = np.cos(np.arange(4) + step)
        site.called(1.0, gradient, 1e-9 * signs, kernel, bias)
        mean = momentum * mean + (1 - momentum) * (0.1 * np.arange(1, 5) + bias)
        kernel, bias = kernel - 0.01 * gradient, bias - 0.01 * signs
    return Recording(recorder.folder)


@pytest.mark.parametrize("momentum, verdict", [(0.9, ladder.AGREE), (0.8, ladder.DIFFER)])
def test_a_moving_mean_may_follow_a_bias_that_drifts(tmp_path, momentum, verdict):
    signs = np.array([1, -1, 1, 1])
    old, new = normalized(tmp_path / "old", signs), normalized(tmp_path / "new", -signs, momentum)
    _, result = verdicts(old, new)
    assert result.verdict == verdict
    rows = {row.name for rung in result.rungs for row in rung.rows if row.verdict == ladder.DIFFER}
    assert {name for name in rows if "kernel" in name or "bias" in name} == set()


def test_slots_of_the_optimizer_are_compared(tmp_path):
    """Another beta; what it does to the step is taken back by the rate."""
    old, new = Adam(tmp_path / "old").recording, Adam(tmp_path / "new", beta=0.8).recording
    _, result = verdicts(old, new)
    rung = {rung.key: rung for rung in result.rungs}["update"]
    assert rung.verdict == ladder.DIFFER
    assert {row.name for row in rung.rows if row.verdict == ladder.DIFFER} >= {"slot net/w/Adam"}


def test_one_number_is_said_to_be_all(tmp_path):
    both = [recorded(tmp_path / name, LEFT["files"]) for name in ("old", "new")]
    found, result = verdicts(*both)
    assert found["files"] == ladder.AGREE
    assert {r.key: r for r in result.rungs}["files"].note == "only one number is compared"


def test_printed_numbers_are_compared_by_the_words_before_them():
    old = printed.numbers("step    20  loss 0.25\ntest loss 1.5, test acc 0.5\n8 of 16 are right\n")
    assert {name: found.values.tolist() for name, found in old.items()} == {
        "step": [20],
        "loss": [0.25],
        "test loss": [1.5],
        "test acc": [0.5],
        "": [8],
        "of": [16],
    }
    shown = printed.numbers(
        "{'loss': np.float32(0.25), 'global_step': np.int64(6), 'ok': np.True_}"
    )
    assert {name: one.values.tolist() for name, one in shown.items()} == (
        {"loss": [0.25], "global_step": [6.0]}
    )
    weights = printed.numbers("weights [ 1.5 -2. 0. 3. 4.]  bias nan")["weights"]
    assert weights.values.tolist() == [1.5, -2, 0, 3, 4]
    record = printed.numbers("[100 0.5]\n[200 0.25]")
    assert {name: found.values.tolist() for name, found in record.items()} == {
        "": [100, 200],
        "[1]": [0.5, 0.25],
    }
    for new, same in (("0.26", True), ("0.27", False), ("25", False)):
        ours, theirs = printed.rounded(printed.numbers("loss " + new)["loss"], old["loss"])
        assert np.array_equal(ours, theirs) == same
    # A new script that prints fewer digits may not hide more than the limit.
    fewer = [printed.numbers(text)["loss"] for text in ("loss 2.30", "loss 2.2956")]
    assert printed.rounded(*fewer)[0].tolist() == [2.30]
    assert printed.rounded(*fewer[::-1])[0].tolist() == [2.30]
    whole = [printed.numbers(text)[""] for text in ("8", "9")]
    assert not np.array_equal(*printed.rounded(*whole))


def test_a_number_in_quotes_is_not_a_number(tmp_path):
    for name, content in (("old.json", [0.5, 0.25]), ("new.json", ["0.5", "0.25"])):
        (tmp_path / name).write_text(json.dumps({"loss": content, "kind": ["cat", "dog"]}))
    assert sorted(files.numbers_of(str(tmp_path / "old.json"))) == ["kind", "loss"]
    assert sorted(files.numbers_of(str(tmp_path / "new.json"))) == ["kind", "loss (in quotes)"]


def test_over_several_seeds_what_one_run_lacks_still_differs(tmp_path):
    rung = ladder.Rung("files", "files", ladder.DIFFER, None, None, "", [])
    lacking = ladder.Row(
        "r.json", differences.Difference(note="it is in the old run only"), "differ", []
    )
    other = ladder.Row("loss", differences.Difference(1, 1.0), "differ", [])
    assert seeds._without_numbers(rung._replace(rows=[lacking, other])).verdict == ladder.DIFFER
    assert seeds._without_numbers(rung._replace(rows=[other])).verdict == SKIPPED


def test_a_looser_limit_needs_its_reason():
    assert tolerances.tolerances({"steps": {"limit": 1e-6}})["steps"].limit == 1e-6
    with pytest.raises(ValueError, match="needs its reason"):
        tolerances.tolerances({"steps": {"limit": 1.0}})
    with pytest.raises(ValueError, match="unknown rung 'step'"):
        tolerances.tolerances({"step": {"limit": 1.0, "why": "because"}})


def test_the_final_losses_of_many_seeds_are_compared_as_distributions(tmp_path):
    rng = np.random.RandomState(0)
    one, same, other = (mean + 0.1 * rng.randn(6) for mean in (1.0, 1.0, 1.5))
    assert seeds.rung_of(one, same).verdict == ladder.AGREE
    found = seeds.rung_of(one, other)
    assert found.verdict == ladder.DIFFER and "over 6 seeds" in found.note
    assert seeds.permutation_test([1, 2, 3], [4, 5, 6]) == pytest.approx(2 / 20)
    assert (
        seeds.permutation_test(rng.randn(40), rng.randn(40)) > 0.02
    )  # too many ways for all of them
    assert seeds.rung_of(one[:3], same[:3]).verdict == SKIPPED
    assert seeds.rung_of(one, [float("nan")] * 6).verdict == ladder.DIFFER
    runs_ = [Program(tmp_path / str(i), rate=0.5 + 0.01 * i).run() for i in range(10)]
    result = seeds.with_distributions(ladder.compare(runs_[0], runs_[9]), runs_[::2], runs_[1::2])
    by_key = {rung.key: rung.verdict for rung in result.rungs}
    assert by_key["update"] == SKIPPED and by_key["seeds"] == ladder.AGREE
    assert result.verdict == ladder.AGREE


# Reports ---------------------------------------------------------------------------------------


@pytest.fixture
def result(old, tmp_path):
    new = Program(tmp_path / "new", rate=0.25).run()
    scripts = []
    for name in ("old", "new"):
        script = tmp_path / f"{name}.py"
        script.write_text(f"import tensorflow as tf\n<&> = '{name}'\n", encoding="utf-8")
        scripts.append(runs.Half(str(script)))
    halves = [
        runs.Run(half, 0, 1.0, "done", recording, "", "")
        for half, recording in zip(scripts, (old, new))
    ]
    return comparison.Result("a pair", *halves, ladder.compare(old, new), [])


def test_the_table(result):
    text = terminal.table(result)
    assert re.search("one update +✗ differ", text)
    assert "all updates are 0.5 times as large" in text
    assert "they differ on 4 of 9 rungs, first on: one update" in text
    assert "\033[31;1m✗ differ" in terminal.table(result, colours=True)
    assert "DIFFER" in terminal.summary([result])


def test_the_markdown(result):
    text = markdown.summary(result)
    assert "**they differ on 4 of 9 rungs, first on: one update**" in text
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert len(rows) == 2 + 9  # a header, and the rungs that were compared
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 6 for row in rows)
    (update,) = (row for row in rows if row.startswith("| one update"))
    assert "❌ differ | 5.0e-01 |" in update and "all updates are 0.5 times as large" in update
    assert "Not compared: " in text and "TensorFlow" in text


def test_the_markdown_escapes_names(result):
    text = markdown.summary(result._replace(name="a|b_c <x>", problems=["*gone*"]))
    assert text.startswith(r"### a\|b\_c \<x\>") and r"- \*gone\*" in text


@pytest.mark.parametrize(
    ("count", "shown"), [(1, [1]), (2, [1, 2]), (50, [1, 20, 40, 50]), (12, [1, 5, 12])]
)
def test_steps_on_the_axis_are_round_numbers(count, shown):
    found = plots._steps(count)
    assert found[0] == 1 and found[-1] == count and found == sorted(set(found))
    assert set(shown) <= set(found)
    assert len(found) <= 7


def test_the_page_has_a_dark_mode_and_the_markdown(result):
    text = page.page(result)
    assert "@media (prefers-color-scheme: dark)" in text
    assert html.escape(markdown.summary(result)) in text
    style, body = text.split("</style>")
    assert not re.search(r"#[0-9a-f]{6}\b", body)  # colours are variables, which dark mode changes
    used = set(re.findall(r"var\((--[a-z-]+)\)", text))
    for theme in style.split("prefers-color-scheme: dark"):
        assert used <= set(re.findall(r"(--[a-z-]+): #", theme))


def test_the_data(result):
    content = json.loads(json.dumps(as_json.document(result), allow_nan=False))
    schemas.check("verify", content)
    assert content["exit_code"] == 1 and content["verdict"] == "differ"
    by_key = {rung["key"]: rung for rung in content["rungs"]}
    assert by_key["update"]["verdict"] == "differ"
    assert by_key["update"]["worst"] == pytest.approx(0.5)
    assert {"max_abs", "mean_rel", "p99_abs"} <= set(by_key["gradients"]["rows"][0])
    assert len(content["curves"]["loss"]["old"]) == 4


class Links(html.parser.HTMLParser):
    """Whatever a page asks for from elsewhere, and whether its elements are closed."""

    def __init__(self):
        super().__init__()
        self.found, self.open = [], []

    def handle_starttag(self, tag, attributes):
        self.found += [v for k, v in attributes if k in ("src", "href", "srcset", "data")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_nothing_from_elsewhere(result):
    text = page.page(result)
    links = Links()
    links.feed(text)
    assert links.found == [] and links.open == []
    assert "http" not in text and "<script" not in text and "@import" not in text
    assert "&lt;&amp;&gt;" in text  # code is text
    assert text.count("<polyline") == 2  # both curves
    assert "they differ on" in text


def proof(verdict="compiles", text="compiles; 3 of 16 GiB <per core>", findings=()):
    """What ``tpucompat check --json`` says of one step: each number of cores is told apart."""
    told = [("v5e-8", verdict, text), ("v4-8", "compiles", "compiles; 1 of 32 GiB")]
    return {
        "verdict": verdict,
        "compiler": "libtpu 0.0.52",
        "computations": [
            {
                "name": "training step",
                "findings": list(findings),
                "targets": [{"tpu": tpu, "verdict": said, "text": words}],
            }
            for tpu, said, words in told
        ],
    }


def test_the_proof_for_tpus_is_in_every_report(result):
    finding = {"code": "TPU371", "text": "PyFunc", "line": "old.py:2", "instead": "feed it"}
    found = {"old": proof("does not compile", "PyFunc", [finding]), "new": proof()}
    whole = result._replace(proofs=found)
    text = page.page(whole)
    links = Links()
    links.feed(text)
    assert links.open == [] and "Compiled for TPUs" in text
    assert text.count("<td>training step") == 2  # one line for both numbers of cores
    assert "3 of 16 GiB &lt;per core&gt;" in text
    assert "TPU371 PyFunc at old.py:2; instead: feed it" in text
    table = terminal.table(whole)
    assert "new on TPUs: compiles: v5e-8, v4-8 (1 computation; libtpu 0.0.52)" in table
    assert "old on TPUs: does not compile: v5e-8; compiles: v4-8" in table
    assert as_json.document(whole)["tpus"]["new"]["verdict"] == "compiles"
    assert "Compiled for TPUs" not in page.page(result)
    nothing = result._replace(proofs={"new": {"error": "no TPU computation was seen"}})
    assert "new on TPUs: no TPU computation was seen" in terminal.table(nothing)
    assert "no TPU computation was seen" in page.page(nothing)


@pytest.mark.parametrize(
    "verdict, code", [("compiles", 0), ("lowers", 0), ("unknown", 0), ("does not compile", 1)]
)
def test_what_no_tpu_takes_is_a_failure(result, old, verdict, code):
    agreeing = result._replace(comparison=ladder.compare(old, old), proofs={"new": proof(verdict)})
    assert agreeing.exit_code == 0
    assert max(verify._exit_codes([agreeing])) == code


def test_both_halves_are_checked(tmp_path, monkeypatch):
    """With their arguments and options, each in a folder of its own, by the new one's interpreter."""
    checked = []

    def run(command, cwd, **rest):
        checked.append((command, cwd))
        return subprocess.CompletedProcess(command, 0, b'{"verdict": "lowers"}', b"")

    monkeypatch.setattr(proofs.subprocess, "run", run)
    halves = (
        runs.Half("old.py", ["--to", "{out}/x"], "/py37", True, 8, ["--map=gs://a={out}"]),
        runs.Half("new.py", ["--to", "{out}/x"], "/py311", False, 8),
    )
    task = comparison.Task("a pair", *halves, tpus="v5e-8")
    told = []
    found = comparison._proofs(task, str(tmp_path), told.append)
    assert {which: proofs.verdict(each) for which, each in found.items()} == {
        "old": "lowers",
        "new": "lowers",
    }
    (old_command, old_folder), (new_command, new_folder) = checked
    head = ["/py311", "-m", "tpucompat", "check", "--json", "--tpu", "v5e-8"]
    script = os.path.abspath("old.py")
    assert old_command == [*head, f"--map=gs://a={old_folder}", script, "--to", old_folder + "/x"]
    assert new_command[-2:] == ["--to", new_folder + "/x"] and new_folder != old_folder
    assert comparison._proofs(task._replace(tpus=""), str(tmp_path), told.append) == {}
    assert len(told) == 2


def test_curves_with_odd_numbers_are_drawn():
    nan = float("nan")
    assert "no finite number" in plots.curves("loss", [nan], [nan])
    assert "nan" not in plots.curves("loss", [1.0, nan, 2.0], [1.0, 1.5, float("inf")], 1e-3)
    assert "<svg" in plots.curves("loss", [1.0], [1.0])


# The table of pairs, and the command ------------------------------------------------------------


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_every_pair_of_the_table_is_there_and_every_pair_is_in_the_table():
    table = pairs.read(os.path.join(ROOT, "examples.toml"))
    for pair in table:
        for cores in pair.cores:
            task = pair.task(cores, "old-python", "new-python")
            assert os.path.exists(task.old.script) and os.path.exists(task.new.script)
            assert not any("{root}" in word or "{cores}" in word for word in task.old.arguments)
            tolerances.tolerances(task.tolerances)
            assert task.old.legacy and not task.new.legacy
        assert pair.idiom and pair.data and pair.tensorflow
    files = {
        name[:-3]
        for name in os.listdir(os.path.join(ROOT, "legacy_examples"))
        if name[-3:] == ".py"
    }
    assert {pair.script for pair in table} == files
    assert len({pair.name for pair in table}) == len(table)


@pytest.mark.long
@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_recorded_comparisons_are_of_these_scripts():
    """``tpucompat verify --all --json all.json``, and ``tools/record_pairs.py all.json``, make them anew.

    Not among the default tests: whoever changes a pair need not have the half hour that it takes. The guide
    shows no older figures meanwhile.
    """
    with open(os.path.join(ROOT, "docs", "pairs.json"), encoding="utf-8") as stream:
        recorded = json.load(stream)
    assert recorded["revision"] and recorded["date"] and recorded["processor"]
    for pair in pairs.read(os.path.join(ROOT, "examples.toml")):
        assert recorded["digests"].get(pair.name) == pair.digest, f"{pair.name} is older"
        assert [run["cores"] for run in recorded["pairs"][pair.name]] == list(pair.cores)
        assert {run["verdict"] for run in recorded["pairs"][pair.name]} == {"agree"}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_the_guide_shows_no_figures_that_are_older_than_the_pair(monkeypatch):
    monkeypatch.syspath_prepend(os.path.join(ROOT, "docs", "_ext"))
    import pages

    table = pairs.read(os.path.join(ROOT, "examples.toml"))
    runs_of = {pair.name: [{"cores": 1}] for pair in table}
    digests = {pair.name: pair.digest for pair in table}
    changed = table[0].name
    digests[changed] = "of before"
    shown = pages.fresh({"digests": digests, "pairs": runs_of})["pairs"]
    assert set(shown) == set(runs_of) - {changed}
    assert pages.fresh({"pairs": runs_of})["pairs"] == {}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_every_mistake_is_on_the_page_of_the_guide():
    mutate = _tool("mutate")
    with open(mutate.PAGE, encoding="utf-8") as stream:
        page_of_guide = stream.read()
    for each in mutate.read():
        assert f"| {each.pair} | {each.name} | " in page_of_guide


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_mistakes_are_drawn_from_what_a_twin_runs_and_compute_something():
    drawn_mistakes = _tool("drawn_mistakes")
    source = "def f(x):\n    y = x + 2\n    return g(y, axis=1)\n\n\ndef make_strategy():\n    return 3\n"
    found = drawn_mistakes.draw(source, 100, seed=0, lines={2, 3, 7})
    assert {one.source.split("\n\n")[0] for one in found} == {
        "def f(x):\n    pass\n    return g(y, axis=1)",
        "def f(x):\n    y = x - 2\n    return g(y, axis=1)",
        "def f(x):\n    y = x + 3\n    return g(y, axis=1)",
        "def f(x):\n    y = x + 2\n    return g(y, axis=2)",
        "def f(x):\n    y = x + 2\n    return g(y, )",
    }
    assert drawn_mistakes.draw(source, 2, 5, {2}) == drawn_mistakes.draw(source, 2, 5, {2})
    assert not drawn_mistakes.draw(source, 100, 0, {7})


def test_a_digest_knows_the_scripts_and_the_row(tmp_path):
    row = '[[pair]]\nname = "x"\nflags = []\n'
    found = set()
    flagged, described = row.replace("[]\n", '["1"]\n'), row + 'data = "words"\n'
    for text, script in ((row, "a"), (described, "a"), (row, "b"), (flagged, "a")):
        (tmp_path / "examples.toml").write_text(text)
        for kind in ("legacy_examples", "migrated_examples"):
            (tmp_path / kind).mkdir(exist_ok=True)
            (tmp_path / kind / "x.py").write_text(script)
        (pair,) = pairs.read(str(tmp_path / "examples.toml"))
        found.add(pair.digest)
    assert len(found) == 3


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_every_mistake_of_the_table_can_be_made():
    """tools/mutate.py makes them; ``read`` finds the text of each in its twin, once."""
    mutate = _tool("mutate")
    found = mutate.read()
    assert len(found) >= 100
    assert len({(each.pair, each.name) for each in found}) == len(found)
    assert {each.pair for each in found} == {pair.name for pair in pairs.read(mutate.EXAMPLES)}
    assert {each.cores for each in found} == {1, 8}
    below = [each for each in found if not each.rung]
    assert all(each.below for each in below) and len(below) <= 5
    own = {"variables", "dropout", "flags", "error"}  # they have no limit
    assert {each.rung for each in found if each.rung} <= {*tolerances.DEFAULTS, *own}
    for each in found:
        compile(mutate.twin(each.pair).replace(each.before, each.after), each.name, "exec")


def _tool(name):
    path = os.path.join(ROOT, "tools", name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_a_row_runs_another_script_with_flags_for_several_cores_and_without_dropout(tmp_path):
    table = tmp_path / "examples.toml"
    table.write_text(
        '[[pair]]\nname = "x_fast"\nscript = "x"\ndropout = false\n'
        'flags = ["--a"]\nnew_flags = ["--b"]\ncore_flags = ["--c{cores}"]\n'
        '[[pair]]\nname = "x"\n'
    )
    fast, plain = pairs.read(str(table))
    assert fast.scripts == plain.scripts and fast.scripts[0].endswith("x.py")
    one, eight = (fast.task(cores, "old", "new") for cores in (1, 8))
    assert (one.old.arguments, one.new.arguments) == (["--a"], ["--a", "--b"])
    assert (eight.old.arguments, eight.new.arguments) == (["--a", "--c8"], ["--a", "--b", "--c8"])
    assert not one.old.dropout and not one.new.dropout
    assert plain.task(1, "old", "new").new.dropout


@pytest.mark.parametrize("initial", [None, os.path.join("runs", "old", "recording")])
def test_an_earlier_run_comes_first_in_the_same_folder(tmp_path, initial):
    half = runs.Half("s.py", ["--steps", "20", "{out}/m"], first=["--steps", "8"])
    earlier, run = runs.specifications(half, str(tmp_path), initial)
    work = str(tmp_path / "work")
    assert earlier["work"] == run["work"] == work
    assert run["arguments"] == ["--steps", "20", f"{work}/m"]
    assert earlier["arguments"] == [*run["arguments"], "--steps", "8"]
    assert earlier["folder"] != run["folder"]
    # The earlier new run starts as the earlier old run did.
    begun = initial and os.path.join("runs", "old", "first", "recording")
    assert (earlier["initial"], run["initial"]) == (begun, initial)
    assert len(runs.specifications(half._replace(first=None), str(tmp_path))) == 1


def test_a_run_whose_earlier_run_fails_is_not_begun(tmp_path):
    script = tmp_path / "s.py"
    script.write_text(
        "import sys\nopen(sys.argv[1], 'a').write('x')\nsys.exit(len(sys.argv) - 2)\n"
    )
    half = runs.Half(str(script), ["{out}/ran"], first=["more"])
    run = runs.record(half, str(tmp_path / "run"), timeout=200)
    assert "exit code 1" in run.problem
    assert (tmp_path / "run" / "work" / "ran").read_text() == "x"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_a_wrong_table_is_said(tmp_path):
    table = tmp_path / "examples.toml"
    table.write_text('[[pair]]\nname = "x"\nflag = []\n')
    with pytest.raises(ValueError, match=r"x: unknown \['flag'\]"):
        pairs.read(str(table))
    table.write_text("[[pair]\n")
    with pytest.raises(ValueError, match="examples.toml"):
        pairs.read(str(table))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "two scripts are required"),
        (["no.py", "none.py"], "no.py: no such file"),
        ([__file__, __file__, "--rehearse", "v9"], "--rehearse v9 is neither a number of cores"),
        ([__file__, __file__, "--tolerance", "steps"], "expected RUNG=LIMIT"),
        ([__file__, __file__, "--map", "no.json"], "no.json"),
        ([__file__, __file__, "--check-tpu", "v9-8"], "Unknown TPU 'v9-8'"),
    ],
)
def test_what_cannot_begin_is_said(arguments, said, capsys):
    assert main(["verify", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_an_interpreter_that_is_not_there_is_said(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text("")
    arguments = [
        str(script),
        str(script),
        "--python-old",
        "/no/python",
        "--python-new",
        "/no/python",
    ]
    assert main(["verify", *arguments]) == 2
    assert "/no/python: no such Python" in capsys.readouterr().err


def test_a_run_that_never_ends_is_ended(tmp_path):
    """The process that is started here is Python without TensorFlow."""
    script = tmp_path / "python"
    script.write_text(
        textwrap.dedent(f"""\
        #!{sys.executable}
        import time
        print("working", flush=True)
        time.sleep(600)
        """)
    )
    script.chmod(0o755)
    run = runs.record(runs.Half(__file__, python=str(script)), str(tmp_path / "run"), timeout=1)
    assert run.code is None and run.seconds < 30
    assert run.problem == "stopped after 1 seconds (--timeout)"
    assert run.output == "working\n"
