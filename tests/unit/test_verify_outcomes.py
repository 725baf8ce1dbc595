"""What ``tpucompat verify`` holds against each other besides losses: steps, types, words, rates, slots."""

from __future__ import annotations

import argparse
import logging
import pickle
import sys
import types

import h5py
import numpy as np
import pytest
from absl import flags as absl_flags

from tpucompat.commands.verify import answers, contents, files, flags, ladder, reports, seeds
from tpucompat.commands.verify.printed import Printed
from tpucompat.commands.verify.recorder import Recorder, Recording, Site, Variable
from tpucompat.commands.verify.rungs import SKIPPED


def recorded(folder, *events):
    recorder = Recorder(str(folder))
    for kind, arrays, more in events:
        recorder.write(kind, arrays, **more)
    return Recording(str(folder))


def rungs(tmp_path, old, new, **options):
    both = [recorded(tmp_path / name, *events) for name, events in (("old", old), ("new", new))]
    return {rung.key: rung for rung in ladder.compare(*both, **options).rungs}


def trained(folder, momentum, rate=1e-5, steps=5):
    """Weights around 1 that a small rate hardly moves."""
    recorder = Recorder(str(folder))
    site = Site(recorder, [Variable("w", (40,), True)], 1, [])
    w, velocity = np.linspace(0.5, 1.5, 40), np.zeros(40)
    for _ in range(steps):
        site.called(1.0, np.cos(w), w)
        velocity = momentum * velocity + np.cos(w)
        w = w - rate * velocity
        if recorder.wants_snapshot():
            recorder.snapshot({"w": w})
    return Recording(str(folder))


def test_the_way_of_a_variable_counts_not_its_size(tmp_path):
    """The first update is the same, the losses are, and a small rate hides the rest beside the weights."""
    old = trained(tmp_path / "old", 0.9)
    same = {r.key: r for r in ladder.compare(old, trained(tmp_path / "same", 0.9)).rungs}
    assert same["steps"].verdict == ladder.AGREE
    found = {r.key: r for r in ladder.compare(old, trained(tmp_path / "new", 0.92)).rungs}
    assert found["update"].verdict == ladder.AGREE
    assert found["steps"].verdict == ladder.DIFFER
    assert "in 2 steps 1 of 1 variables go another way, the first is w" in found["steps"].note
    assert found["steps"].tolerance.limit == 5e-3 < found["steps"].worst


def test_a_metric_of_one_of_several_outputs_may_be_called_otherwise():
    names = ["kind_acc", "val_kind_sparse_categorical_accuracy", "kind_top2", "acc", "val_loss"]
    found = reports.same_metrics(dict.fromkeys(names, 0))
    assert list(found) == [
        "kind_accuracy",
        "val_kind_accuracy",
        "kind_top2",
        "accuracy",
        "val_loss",
    ]


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({"step": np.int64(20)}, ""),
        ({"step": np.int64(10)}, "10 instead of 20"),
        ({"save_counter": np.int64(20)}, "none instead of 20"),
    ],
)
def test_the_count_of_steps_is_in_the_checkpoint(there, said, tmp_path):
    final = {"w": np.arange(6.0)}

    def run(counter):
        return [
            ("snapshot", final, {"step": 0}),
            ("checkpoint", {**final, **counter}, {"path": "model"}),
        ]

    # TPUEstimator has a metric of this name; what is said of that says nothing of a checkpoint.
    ignore = {"global_step": "a metric"}
    old = {"global_step": np.int64(20)}
    rung = rungs(tmp_path, run(old), run(there), ignore=ignore)["checkpoint"]
    assert rung.verdict == (ladder.DIFFER if said else ladder.AGREE)
    assert said in rung.note


@pytest.mark.parametrize(
    ("theirs", "ours", "ignore", "said"),
    [
        ((0, 10, 20), (10, 20), {}, ""),
        ((0, 10, 20), (20,), {}, "only the old run leaves one after 10 steps"),
        ((20,), (10, 20), {}, ""),
        ((10, 20), (20,), {"checkpoint: on the way": "one is enough"}, ""),
    ],
)
def test_checkpoints_on_the_way_are_not_left_out(theirs, ours, ignore, said, tmp_path):
    both = (_saving(steps, "tf2") for steps in (theirs, ours))
    rung = rungs(tmp_path, *both, ignore=ignore)["checkpoint"]
    assert rung.verdict == (ladder.DIFFER if said else ladder.AGREE)
    assert said in rung.note


def test_what_saves_as_the_old_run_did_keeps_no_more_either(tmp_path):
    rung = rungs(tmp_path, _saving((20,), "tf1"), _saving((10, 20), "tf1"))["checkpoint"]
    assert rung.verdict == ladder.DIFFER
    assert "only the new run leaves one after 10 steps" in rung.note


def test_what_is_trained_twice_begins_once(tmp_path):
    before, after = ("initial", {"w": np.zeros(2)}, {"site": 0}), ("initial", {"w": np.ones(2)}, {})
    assert not np.any(recorded(tmp_path, before, after).initial()["w"])


def test_the_second_training_does_not_stand_for_the_first(tmp_path):
    entering = [("entering", {"w": np.full(2, n)}, {"step": 5, "site": n}) for n in (1.0, 2.0)]
    assert recorded(tmp_path / "1", *entering).snapshots()[5]["w"].tolist() == [1.0, 1.0]
    seen = ("snapshot", {"w": np.full(2, 3.0)}, {"step": 5})
    assert recorded(tmp_path / "2", *entering, seen).snapshots()[5]["w"].tolist() == [3.0, 3.0]


def _saving(steps, form):
    final = {"w": np.arange(6.0)}
    more = {"path": "model-20", "form": form, "labels": {}}
    newest = ("checkpoint", {**final, "step": np.int64(20)}, more)
    return [("snapshot", final, {"step": 0}), newest, ("saved", None, {"steps": steps})]


@pytest.mark.parametrize(
    ("complete", "count", "verdict"),
    [(True, 12, ladder.DIFFER), (True, 10, ladder.AGREE), (False, 12, ladder.AGREE)],
)
def test_padding_is_no_answer(complete, count, verdict, tmp_path):
    """Unless the old run has stopped asking."""
    answers = np.arange(24.0).reshape(12, 2)
    old = ("prediction", {"p": answers[:10]}, {"count": 10, "complete": complete})
    new = ("prediction", {"p": answers[:count]}, {"count": count, "complete": True})
    rung = rungs(tmp_path, [old], [new])["prediction"]
    assert rung.verdict == verdict
    assert ("12 answers instead of 10" in rung.note) == (verdict == ladder.DIFFER)


@pytest.mark.parametrize("kind", ["prediction", "report"])
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (np.int64, np.int32, ""),
        (np.int64, np.float32, "float32 instead of int64"),
        (np.float32, np.float64, "float64 instead of float32"),
        (np.float32, np.float16, "float16 instead of float32"),
    ],
)
def test_the_type_of_an_array_is_part_of_it(kind, old, new, said, tmp_path):
    more = {"path": "r.npy"} if kind == "report" else {"count": 4, "complete": True}
    both = ([(kind, {"array": np.arange(4).astype(one)}, more)] for one in (old, new))
    rung = rungs(tmp_path, *both)["files" if kind == "report" else kind]
    assert rung.verdict == (ladder.DIFFER if said else ladder.AGREE)
    assert said in rung.note


def report(tmp_path, name, old, new):
    events = []
    for which, text in (("old", old), ("new", new)):
        (tmp_path / which).mkdir(exist_ok=True)
        path = tmp_path / which / name
        path.write_text(text)
        found = files.results_of(str(path))
        events.append([("report", found, {"path": name})] if found else [])
    return rungs(tmp_path / "runs", *events)["files"]


@pytest.mark.parametrize(
    ("name", "old", "new", "differs"),
    [
        ("r.json", '{"classes": ["cat", "dog"]}', '{"classes": ["dog", "cat"]}', "classes"),
        ("r.json", '{"classes": ["cat", "dog"]}', '{"classes": ["cat", "dog"]}', ""),
        ("r.json", '{"best": "0.5"}', '{"best": "0.6"}', "best"),
        ("r.json", '{"where": "/tmp/1/a.h5"}', '{"where": "/tmp/2/b.h5"}', ""),
        ("r.json", '{"when": "2019-01-01 10:00"}', '{"when": "2026-01-01 11:00"}', ""),
        ("r.json", '{"step": 20000}', '{"step": 20001}', "step: a count is 1 off"),
        ("r.json", '{"curve": [[1000, 0.5]]}', '{"curve": [[1000, 0.4]]}', "curve [1]"),
        ("r.txt", "loss = 0.5\n", "loss: 0.5\n", "signs behind names"),
        ("labels.txt", "cat\ndog\n", "dog\ncat\n", "words"),
        ("log.txt", "Training has ended well.\n", "It is over, and done.\n", ""),
        ("a.csv", "id,label\n1,cat\n2,dog\n", "id,label\n1,cat\n2,cat\n", "label"),
        ("a.csv", "step,loss\n900,0.5\n", "step,loss\n900,0.4\n", "loss"),
        ("a.csv", "epoch,acc,loss\n1,.5,.7\n", "epoch,loss,accuracy\n1,.7,.5\n", ""),
        ("a.csv", "step,loss\n9,0.5\n", "loss,step\n0.5,9\n", "order"),
        ("a.csv", "1,0.5\n2,0.25\n", "2,0.5\n2,0.25\n", "column 1"),
        ("a.tsv", "a\tb\n1\t0.5\n", "a\tb\n1\t0.25\n", "b"),
        ("a.log", "epoch,loss\n0,.5\n1,.4\n", "epoch,loss\n0,.5\n1,.3\n", "loss"),
        ("a.log", "epoch,loss\n0,.5\n", "epoch;loss\n0;.5\n", "epoch (by"),
        ("a.log", "2019-01-01 10:00:01,5 loss 0.5\n", "2026-01-01 11:00:02,7 loss 0.5\n", ""),
        ("a.log", "2019-01-01 10:00:01,5 loss 0.5\n", "2026-01-01 11:00:02,7 loss 0.6\n", "loss"),
        ("a.jsonl", '{"epoch": 1, "loss": 0.5}\n' * 2, '{"epoch": 0, "loss": 0.5}\n' * 2, "epoch"),
        ("a.md", "| cat | 0.5 |\n| dog | 0.2 |\n", "| dog | 0.5 |\n| cat | 0.2 |\n", "column 2"),
        ("results", "best: cat\n", "best: dog\n", "best"),
        ("a.py", "rate = 0.5\n", "rate = 0.6\n", ""),
    ],
)
def test_words_and_columns_of_a_report_are_compared(name, old, new, differs, tmp_path):
    (tmp_path / "runs").mkdir()
    rung = report(tmp_path, name, old, new)
    assert (rung.verdict == ladder.DIFFER) == bool(differs), rung
    assert not differs or f"{name}: {differs}" in rung.note


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({"loss": [0.5, 0.4]}, {"loss": [np.float32(0.5), np.float32(0.4)]}, ""),
        ({"loss": [0.5, 0.4]}, {"loss": [0.5, 0.3]}, "h.pkl: loss"),
        ({"loss": [0.5]}, {"loss": [0.5], "acc": [0.1]}, "accuracy: in the new run only"),
        ((np.ones(3), {"kind": "cat"}), (np.ones(3), {"kind": "dog"}), "kind"),
        (argparse.Namespace(a=1), argparse.Namespace(a=2), ""),
    ],
)
def test_numbers_in_a_pickle_are_compared_and_nothing_of_it_is_called(old, new, said, tmp_path):
    events = []
    for which, content in (("old", old), ("new", new)):
        path = tmp_path / which / "h.pkl"
        path.parent.mkdir()
        path.write_bytes(pickle.dumps(content))
        found = files.results_of(str(path))
        events.append([("report", found, {"path": "h.pkl"})] if found else [])
    rung = rungs(tmp_path / "runs", *events)["files"]
    assert (rung.verdict == ladder.DIFFER) == bool(said) and said in rung.note
    assert (rung.verdict == SKIPPED) == isinstance(old, argparse.Namespace)


def _epochs(*files, form="h5"):
    """A run that has saved its weights several times: (path, value) of each file."""
    saved = [
        ("checkpoint", {"dense/kernel": np.full((2, 3), value)}, {"path": path, "form": form})
        for path, value in files
    ]
    return [("snapshot", {"w": np.full((2, 3), 4.0)}, {"step": 5}), *saved]


@pytest.mark.parametrize(
    ("files_of_new", "said"),
    [
        ([("e-1.weights.h5", 1.0), ("e-2.weights.h5", 2.0), ("last.weights.h5", 4.0)], ""),
        ([("last.weights.h5", 4.0)], "e-1.h5: in the old run only"),
        ([("e-1.h5", 1.0), ("e-2.h5", 1.5), ("last.h5", 4.0)], "first e-2.h5"),
        ([("e-0.h5", 1.0), ("e-1.h5", 2.0), ("last.h5", 4.0)], "it is called e-0.h5"),
        ([("e-1.h5", 1.0), ("e-2.h5", 2.0), ("e-3.h5", 3.0), ("last.h5", 4.0)], "new run only"),
    ],
)
def test_each_file_with_weights_has_its_twin(files_of_new, said, tmp_path):
    old = _epochs(("e-1.h5", 1.0), ("e-2.h5", 2.0), ("last.h5", 4.0))
    found = rungs(tmp_path, old, _epochs(*files_of_new, form="keras"))["checkpoint"]
    assert (found.verdict == ladder.DIFFER) == bool(said) and said in found.note, found.note
    ignore = {"checkpoint: on the way": "the twin saves otherwise"}
    left = rungs(tmp_path / "2", old, _epochs(*files_of_new, form="keras"), ignore=ignore)
    assert left["checkpoint"].verdict == ladder.AGREE


def test_a_whole_model_of_keras_2_has_its_optimizer(tmp_path):
    with h5py.File(str(tmp_path / "m.h5"), "w") as file:
        file.attrs["layer_names"] = [b"dense"]
        layer = file.create_group("model_weights/dense")
        layer.attrs["weight_names"] = [b"dense/kernel:0"]
        file["model_weights"].attrs["layer_names"] = [b"dense"]
        layer.create_dataset("dense/kernel:0", data=np.ones(3))
        file.create_dataset("optimizer_weights/adam/m:0", data=np.full(3, 2.0))
        file["optimizer_weights"].attrs["weight_names"] = [b"adam/m:0"]
    recorder = Recorder(str(tmp_path / "recording"))
    files.record(recorder, str(tmp_path))
    recording = Recording(recorder.folder)
    found = recording.arrays(recording.first("checkpoint"))
    assert found["/optimizer_weights/adam/m:0"].tolist() == [2.0, 2.0, 2.0]


def test_files_of_no_known_kind_are_there_in_both_runs(tmp_path):
    """Those with the same bytes are the same; of the others it is said that they were not compared."""
    halves = []
    for which, curves in (("old", b"1"), ("new", b"2")):
        work = tmp_path / which / "work"
        (work / "model").mkdir(parents=True)
        (work / "labels.pkl").write_bytes(b"same")
        (work / "curves.png").write_bytes(curves)
        (work / "model" / "checkpoint").write_text(which)
        halves.append(work)
    recordings = [Recorder(str(tmp_path / f"{i}")) for i in range(4)]
    for recorder, work in zip(recordings, halves):
        files.record(recorder, str(work))
    (halves[1] / "curves.png").rename(halves[1] / "curve.png")
    files.record(recordings[2], str(halves[1]))
    old, new, renamed = (Recording(r.folder) for r in recordings[:3])
    found = {r.key: r for r in ladder.compare(old, new).rungs}["files"]
    assert found.verdict == ladder.AGREE and "known kind: curves.png" in found.note
    assert [row.name for row in found.rows] == ["labels.pkl, byte by byte"]
    found = {r.key: r for r in ladder.compare(old, renamed).rungs}["files"]
    assert found.verdict == ladder.DIFFER and "curves.png: in the old run only" in found.note
    ignore = {"file: *.png": "pictures"}
    found = {r.key: r for r in ladder.compare(old, renamed, ignore=ignore).rungs}["files"]
    assert found.verdict == ladder.AGREE


def test_a_summary_stands_at_its_step_and_a_histogram_has_one(tmp_path):
    steps = files.STEPS
    old = {"loss": np.ones(2), "loss" + steps: np.array([5, 10]), "w" + steps: np.array([10])}

    def of(arrays):
        return [("report", arrays, {"path": "summaries"})]

    late = {**old, "loss" + steps: np.array([6, 11])}
    rung = rungs(tmp_path / "1", of(old), of(late))["files"]
    assert rung.verdict == ladder.DIFFER and "loss (steps)" in rung.note
    without = {name: array for name, array in old.items() if name != "w" + steps}
    assert rungs(tmp_path / "2", of(old), of(without))["files"].verdict == ladder.DIFFER
    ignored = rungs(tmp_path / "3", of(old), of(without), ignore={"w": "the twin draws none"})
    assert ignored["files"].verdict == ladder.AGREE
    gone = rungs(tmp_path / "4", of(old), of({"w" + steps: old["w" + steps]}))["files"]
    assert [row.name for row in gone.rows if row.verdict == ladder.DIFFER] == ["summaries: loss"]


def dropped(*places, on=True):
    return [("dropout", None, {"rate": r, "shape": s, "on": on}) for r, s in places]


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ([(0.3, [16])], ""),
        ([(0.5, [16])], "only the old run drops 0.3 of 16; only the new run drops 0.5 of 16"),
        ([(0.3, [8])], "only the old run drops 0.3 of 16"),
        ([(0.3, [16]), (0.3, [8])], "only the new run drops 0.3 of 8"),
        ([(None, [16])], ""),
        ([], "only the old run drops anything out"),
    ],
)
def test_rates_of_dropout_are_compared(new, said, tmp_path):
    rung = rungs(tmp_path, dropped((0.3, [16])), dropped(*new))["dropout"]
    assert rung.verdict == (ladder.DIFFER if said else ladder.AGREE)
    assert said in rung.note


def test_a_velocity_that_holds_the_rate_is_the_same_slot():
    """Keras' points down and is as long as the step; another sign or two lengths are something else."""
    old = {"w/Momentum": np.array([1.0, 2.0]), "b/Momentum": np.array([3.0, -1.0, 0.5])}
    new = {f"v{i}": -0.125 * value for i, value in enumerate(old.values())}
    found = contents.turned(old, new)
    assert {n: v.tolist() for n, v in found.items()} == {n: v.tolist() for n, v in old.items()}
    assert not contents.turned(old, {name: 0.125 * value for name, value in old.items()})
    assert not contents.turned(old, {**new, "v1": -0.25 * old["b/Momentum"]})


def test_over_several_seeds_what_is_reported_is_compared_too(tmp_path):
    """The losses are of one kind; the evaluation of the new script is of the training data."""

    def run(which, seed, better, metric):
        draw = np.random.RandomState(seed + 100 * (which == "new"))
        loss, accuracy = 0.5 + 0.01 * draw.randn(), 0.7 + 0.01 * draw.randn() + better
        site = {"site": 0, "variables": []}
        return recorded(
            tmp_path / f"{which} {seed} {better}",
            ("site", None, site),
            ("step", None, {"site": 0, "objective": loss}),
            ("evaluation", None, {"values": {"loss": loss, metric: accuracy}}),
            ("printed", None, {"text": f"test {metric} {accuracy:.4f}, {seed} images"}),
            ("report", {"examples": np.array([16])}, {"path": "r.json"}),
        )

    def found(better, **options):
        old = [run("old", seed, 0.0, "acc") for seed in range(6)]
        new = [run("new", seed, better, "accuracy") for seed in range(6)]
        result = seeds.with_distributions(ladder.compare(old[0], new[0]), old, new, **options)
        return {rung.key: rung for rung in result.rungs}

    same, other = found(0.0), found(0.1)
    assert same["reported"].verdict == ladder.AGREE and same["reported"].note == "5 numbers"
    assert other["seeds"].verdict == ladder.AGREE
    assert other["reported"].verdict == ladder.DIFFER
    assert "2 of 5 part, the first is evaluation: accuracy" in other["reported"].note
    ignore = {"*accuracy": "of the training data, on purpose"}
    assert found(0.1, ignore=ignore)["reported"].verdict == ladder.AGREE


@pytest.mark.parametrize(
    ("one", "other", "chance"),
    [
        # Of tables of Student's distribution: 2.306 and 3.355 for 8 degrees of freedom, at 5 and at 1 %.
        ([0, 1, 2, 3, 4], [2.306, 3.306, 4.306, 5.306, 6.306], 0.05),
        ([0, 1, 2, 3, 4], [3.355, 4.355, 5.355, 6.355, 7.355], 0.01),
        ([3, 3, 3], [3, 3, 3], 1.0),
        ([3, 3, 3], [4, 4, 4], 0.0),
    ],
)
def test_how_often_chance_sets_two_means_apart(one, other, chance):
    assert seeds.by_chance(one, other) == pytest.approx(chance, abs=2e-4)


@pytest.mark.parametrize(
    ("new", "verdict"),
    [
        ("predicted:  bag is: coat\nTraining\n", ladder.AGREE),
        ("predicted: shirt is: coat\n", ladder.DIFFER),
        ("the first one is bag\n", SKIPPED),
        ("ready: bag\n", SKIPPED),
    ],
)
def test_answers_in_print_are_compared(new, verdict, tmp_path):
    texts = ("Start training ...\npredicted: bag   is: coat\nin: /tmp/a\n", new)
    both = ([("printed", None, {"text": text})] for text in texts)
    assert rungs(tmp_path, *both)["printed"].verdict == verdict


@pytest.mark.parametrize("sign", [":", " =", " is", " ->"])
def test_an_answer_stands_behind_a_word_too(sign, tmp_path):
    both = ([("printed", None, {"text": f"the kind{sign} {kind}\n"})] for kind in ("cat", "dog"))
    assert rungs(tmp_path, *both)["printed"].verdict == ladder.DIFFER


@pytest.mark.parametrize(
    ("new", "verdict"),
    [
        ("loss 0.50\nkind: cat\n", ladder.AGREE),
        ("loss 0.60\nkind: cat\n", ladder.DIFFER),
        ("loss 0.50\nkind: dog\n", ladder.DIFFER),
        ("rate 0.1\n", SKIPPED),  # of another level
        ("loss 0.60\nloss 0.70\n", SKIPPED),
    ],
)
def test_what_both_scripts_log_is_compared(new, verdict, tmp_path):
    both = ([("logged", None, {"text": text})] for text in ("loss 0.50\nkind: cat\n", new))
    assert rungs(tmp_path, *both)["printed"].verdict == verdict


def test_messages_of_the_script_are_kept_and_those_of_libraries_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(logging.Logger, "handle", logging.Logger.handle)
    monkeypatch.setattr(sys, "stdout", types.SimpleNamespace(write=lambda text: None))
    recorder = Recorder(str(tmp_path / "recording"))
    watcher = Printed(recorder, str(tmp_path / "train.py"))
    watcher.open()
    logger = logging.getLogger("tpucompat.test")
    monkeypatch.setattr(logger, "propagate", False)
    monkeypatch.setattr(logger, "handlers", [logging.NullHandler()])
    logger.setLevel(logging.INFO)
    said = compile("log('loss %.2f', 0.5); hidden('rate 1')", str(tmp_path / "train.py"), "exec")
    exec(said, {"log": logger.info, "hidden": logger.debug})
    logger.info("of another file %d", 1)
    loop = compile("log('of the loop %d', 1)", str(tmp_path / "training_loop.py"), "exec")
    exec(loop, {"log": logger.info})
    watcher.finish()
    assert Recording(recorder.folder).first("logged")["text"] == "loss 0.50\n"


def flags_of(folder, define):
    recorder = Recorder(str(folder))
    watched = flags.Flags(recorder)
    watched.open()
    define()
    watched.finish()
    return Recording(str(folder))


def by_argparse(rate):
    def define():
        parser = argparse.ArgumentParser()
        parser.add_argument("--learning-rate", type=float, default=rate)
        parser.add_argument("--fast", action="store_true")
        parser.add_argument("--where", default=f"/tmp/{rate}")
        assert parser.parse_args(["--learning-rate", "5"]).learning_rate == 5

    return define


@pytest.fixture
def parsers(monkeypatch):
    """Neither argparse nor absl keeps what a test does to them."""
    monkeypatch.setattr(
        argparse.ArgumentParser, "parse_known_args", argparse.ArgumentParser.parse_known_args
    )
    monkeypatch.setattr(absl_flags, "FLAGS", absl_flags.FlagValues())


@pytest.mark.parametrize(
    ("rate", "ignore", "verdict", "said"),
    [
        (0.1, {}, ladder.AGREE, "2 of them"),
        (0.01, {}, ladder.DIFFER, "--learning_rate is 0.01 instead of 0.1"),
        (0.01, {"flags: learning_rate": "it is"}, ladder.AGREE, "1 of them"),
    ],
)
def test_defaults_of_flags_are_compared_though_the_command_line_gives_others(
    rate, ignore, verdict, said, tmp_path, parsers
):
    def defined_by_absl():
        absl_flags.DEFINE_float("learning_rate", 0.1, "How fast.", flag_values=absl_flags.FLAGS)
        absl_flags.DEFINE_bool("fast", False, "Whether.", flag_values=absl_flags.FLAGS)

    old = flags_of(tmp_path / "old", defined_by_absl)
    absl_flags.FLAGS = absl_flags.FlagValues()
    new = flags_of(tmp_path / "new", by_argparse(rate))
    found = ladder.compare(old, new, ignore=ignore)
    rung = {each.key: each for each in found.rungs}["flags"]
    assert rung.verdict == verdict and rung.note.partition("; if")[0] == said
    assert ("--ignore 'flags: learning_rate'" in rung.note) == (verdict == ladder.DIFFER)
    # Nothing was computed: that is no agreement.
    assert found.verdict == (ladder.DIFFER if verdict == ladder.DIFFER else SKIPPED)


@pytest.mark.parametrize(
    ("name", "old", "new", "verdict"),
    [
        ("--loop", "fit", "custom", ladder.DIFFER),
        ("--use_tpu", True, False, ladder.AGREE),
        ("--num_shards", 8, 1, ladder.AGREE),
        ("--iterations", 50, 1, ladder.AGREE),
        ("--log_every", 50, 1, ladder.AGREE),
        ("--score", 8, 1, ladder.DIFFER),
        ("--model_dir", "out", "results", SKIPPED),
        ("--data", "a/b", "c/d", SKIPPED),
    ],
)
def test_words_count_among_defaults_and_where_a_script_computes_does_not(
    name, old, new, verdict, tmp_path, parsers
):
    both = []
    for folder, default in (("old", old), ("new", new)):

        def define(default=default):
            parser = argparse.ArgumentParser()
            parser.add_argument(name, default=default)
            parser.parse_args([])

        both.append(flags_of(tmp_path / folder, define))
    rung = {each.key: each for each in ladder.compare(*both).rungs}["flags"]
    assert rung.verdict == verdict
    if verdict == ladder.AGREE:
        assert f"{name} is {new} instead of {old}" in rung.note


# What one run does, and how ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "cores", "verdict"),
    [
        (8, (8, 1), ladder.DIFFER),
        (8, (1, 8), ladder.AGREE),
        (1, (8, 1), ladder.AGREE),  # eight shards on one core
    ],
)
def test_a_step_on_one_core_for_eight_is_a_difference(there, cores, verdict, tmp_path):
    both = []
    for name, count in zip(("old", "new"), cores):
        recorder = Recorder(str(tmp_path / name))
        recorder.write("environment", cores=there)
        site = Site(recorder, [Variable("w", (4,), True)], count, [])
        for _ in range(count):
            site.called(1.0 / count, np.ones(4) / count, np.ones(4))
        both.append(Recording(str(tmp_path / name)))
    rung = {each.key: each for each in ladder.compare(*both).rungs}["steps"]
    assert rung.verdict == verdict
    assert ("each step runs on 1 of 8 replicas" in rung.note) == (verdict == ladder.DIFFER)
    ignored = ladder.compare(*both, ignore={"replicas": "one is enough"})
    assert {each.key: each for each in ignored.rungs}["steps"].verdict == ladder.AGREE


def test_a_loop_of_ones_own_validates_as_fit_did(tmp_path):
    evaluation = ("evaluation", None, {"values": {"loss": 0.5}})
    fit = ("history", None, {"values": {"loss": [0.5], "val_loss": [0.6]}})
    found = rungs(tmp_path, [fit, evaluation], [evaluation])["evaluation"]
    assert found.verdict == ladder.DIFFER and "fit: val_loss" in found.note
    plain = ("history", None, {"values": {"loss": [0.5]}})
    assert rungs(tmp_path / "2", [plain, evaluation], [evaluation])["evaluation"].verdict == (
        ladder.AGREE
    )


@pytest.mark.parametrize(("size", "said"), [(1e-9, True), (1.0, False)])
def test_an_evaluation_may_owe_its_difference_to_what_drifts(size, said, tmp_path):
    halves = []
    for index in range(2):
        recorder = Recorder(str(tmp_path / str(index)))
        site = Site(recorder, [Variable("a/bias", (2,), True), Variable("w", (2,), True)], 1, [])
        site.called(1.0, np.full(2, size), np.ones(2), np.zeros(2), np.ones(2))
        recorder.write("evaluation", values={"loss": 0.5 + index})
        halves.append(Recording(recorder.folder))
    found = {rung.key: rung for rung in ladder.compare(*halves).rungs}["evaluation"]
    assert found.verdict == ladder.DIFFER
    assert ("each run moves a/bias another way" in found.note) == said


def test_two_words_for_accuracy_are_two_metrics():
    both = {"acc": 0.5, "binary_accuracy": 0.75, "val_acc": 0.25, "lr": 0.1}
    named = {"accuracy": 0.5, "binary_accuracy": 0.75, "val_accuracy": 0.25, "learning_rate": 0.1}
    assert reports.same_metrics(both) == reports.same_metrics(named) == named


def test_each_training_is_compared(tmp_path):
    fit = ("history", None, {"values": {"loss": [0.5]}})
    for count, verdict in ((2, ladder.AGREE), (1, ladder.DIFFER)):
        found = rungs(tmp_path / str(count), [fit] * 2, [fit] * count)["evaluation"]
        assert found.verdict == verdict
    assert "1 calls of fit instead of 2" in found.note


@pytest.mark.parametrize(("difference", "verdict"), [(0.0, ladder.AGREE), (0.1, ladder.DIFFER)])
def test_a_file_of_keras_3_stands_for_an_export(tmp_path, difference, verdict):
    answers = np.linspace(0, 1, 16).reshape(8, 2)
    old = [("export", None, {"path": "/somewhere"})]
    saved = ("checkpoint", {"w": np.ones(2)}, {"path": "m.keras"})
    new = [saved, ("keras_model", None, {"path": "/m.keras"})]
    exports = {"old": {"dense": answers}, "new": {"output_0": answers + difference}}
    found = rungs(tmp_path, old, new, exports=exports)
    assert found["export"].verdict == verdict
    assert found["checkpoint"].verdict == SKIPPED
    # Weights alone do not stand for it.
    alone = rungs(tmp_path / "2", old, [saved])
    assert {alone[key].verdict for key in ("export", "checkpoint")} == {ladder.DIFFER}


def test_an_exported_model_takes_batches_of_any_size(tmp_path):
    answers = np.linspace(0, 1, 16).reshape(8, 2)
    events = [("export", None, {"path": "/somewhere"})]
    for count, verdict in ((8, ladder.AGREE), (1, ladder.DIFFER)):
        exports = {"old": {"p": answers}, "new": {"p": answers[:count]}}
        found = rungs(tmp_path / str(count), events, events, exports=exports)["export"]
        assert found.verdict == verdict
    assert found.note == "the models take batches of different sizes"


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [("export/1795758005", ladder.AGREE), ("export", ladder.AGREE), ("exports/1", ladder.DIFFER)],
)
def test_an_export_lies_where_the_old_one_does(ours, verdict, tmp_path):
    """But for the folder that a server takes for its version."""
    recordings = []
    for index, place in enumerate(("export/1795758004", ours)):
        folder = tmp_path / str(index) / place
        folder.mkdir(parents=True)
        (folder / "saved_model.pb").write_bytes(b"")
        recorder = Recorder(str(tmp_path / f"recorded {index}"))
        files.record(recorder, str(tmp_path / str(index)))
        recordings.append(Recording(recorder.folder))
    answers = {"p": np.linspace(0, 1, 16).reshape(8, 2)}
    found = ladder.compare(*recordings, exports={"old": answers, "new": answers})
    assert {rung.key: rung for rung in found.rungs}["export"].verdict == verdict


SPEC = {"inputs": {"x": ["float32", [None, 4]]}, "outputs": {"p": ["float32", [None, 2]]}}


@pytest.mark.parametrize(("kept", "verdict"), [(2, ladder.AGREE), (1, ladder.DIFFER)])
def test_who_saves_a_part_is_asked_for_that_part(kept, verdict, tmp_path):
    """A generator without its critic, which has a variable of the same shape and one of its own."""
    final = {"g/w": np.ones(3), "g/b": np.zeros(2), "c/w": np.full(3, 5.0), "c/k": np.ones((2, 2))}
    part = {name: final[name] for name in ("g/w", "g/b")}
    halves = []
    for saved in (part, dict(list(part.items())[:kept])):
        more = {"path": "m-1", "form": "tf1", "labels": {}}
        halves.append([("snapshot", final, {"step": 1}), ("checkpoint", saved, more)])
    found = rungs(tmp_path, *halves)["checkpoint"]
    assert found.verdict == verdict
    assert (verdict == ladder.AGREE) or "new: g/b" in found.note


def test_variables_that_go_by_each_others_names_are_exchanged(tmp_path):
    """Who looks for the values alone finds both of them."""
    both = {"a/w": np.ones(3), "b/w": np.full(3, 2.0)}
    turned = {"a/w": both["b/w"], "b/w": both["a/w"]}
    found = {}
    for name, saved in (("right", both), ("turned", turned)):
        halves = []
        for content in (both, saved):
            more = {"path": "m-1", "form": "tf1", "labels": {}}
            halves.append([("snapshot", both, {"step": 1}), ("checkpoint", content, more)])
        found[name] = rungs(tmp_path / name, *halves)["checkpoint"]
    assert found["right"].verdict == ladder.AGREE
    assert found["turned"].verdict == ladder.DIFFER and "a/w by its name" in found["turned"].note


def _signature(inputs=None, outputs=None):
    return {"inputs": inputs or SPEC["inputs"], "outputs": outputs or SPEC["outputs"]}


@pytest.mark.parametrize(
    ("name", "ours", "said"),
    [
        ("serving_default", SPEC, ""),
        ("classify", SPEC, "signature serving_default: the new model has classify"),
        ("serving_default", _signature({"y": ["float32", [None, 4]]}), "has y in its place"),
        ("serving_default", _signature({"x": ["int32", [None, 4]]}), "int32 instead of float32"),
        ("serving_default", _signature({"x": ["float32", [8, 4]]}), "shape [8, 4] instead"),
        ("serving_default", _signature({"x": ["float32", None]}), ""),  # it takes whatever it took
        (
            "serving_default",
            _signature({**SPEC["inputs"], "mask": ["bool", [None]]}),
            "in the new model only",
        ),
        ("serving_default", _signature(outputs={"q": ["float32", [None, 2]]}), "has q in its"),
        ("serving_default", _signature(outputs={"p": ["float32", [None, 3]]}), "shape [None, 3]"),
    ],
)
def test_a_client_finds_what_it_asks_an_exported_model_for(name, ours, said, tmp_path):
    answers = {"p": np.linspace(0, 1, 16).reshape(8, 2)}
    events = [("export", None, {"path": "/somewhere"})]
    asked = {"old": answers, "new": answers, "old_interface": {"serving_default": SPEC}}
    asked["new_interface"] = {name: ours, "serve": ours}  # Keras 3 adds the second
    found = rungs(tmp_path, events, events, exports=asked)["export"]
    assert found.verdict == (ladder.DIFFER if said else ladder.AGREE) and said in found.note
    assert any(row.name == "interface" for row in found.rows) != bool(said)
    why = {"export: signature*": "a client of its own"}
    again = rungs(tmp_path / "2", events, events, exports=asked, ignore=why)["export"]
    assert again.verdict == ladder.AGREE


@pytest.mark.parametrize(
    ("shape", "verdict"), [([None, 4], ladder.AGREE), ([None, 2, 2], ladder.DIFFER)]
)
def test_who_expects_another_name_expects_the_same_form(shape, verdict, tmp_path):
    answers = {"p": np.linspace(0, 1, 16).reshape(8, 2)}
    events = [("export", None, {"path": "/somewhere"})]
    asked = {"old": answers, "new": answers, "old_interface": {"serving_default": SPEC}}
    asked["new_interface"] = {"serving_default": _signature({"y": ["float32", shape]})}
    why = {"export: signature*": "Keras 3 names inputs itself"}
    found = rungs(tmp_path, events, events, exports=asked, ignore=why)["export"]
    assert found.verdict == verdict


@pytest.mark.parametrize(("moved", "verdict"), [(0.0, ladder.AGREE), (0.1, ladder.DIFFER)])
def test_each_signature_of_both_models_is_compared(moved, verdict, tmp_path):
    """What Keras 3 adds, and what only the old model has, is no answer of the usual one."""
    p = np.linspace(0, 1, 16).reshape(8, 2)
    events = [("export", None, {"path": "/somewhere"})]
    asked = {
        "old": {"p": p, "classify: p": p, "regress: r": p[:, 0]},
        "new": {"output_0": p, "serve: output_0": p, "regress: r": p[:, 0] + moved},
    }
    found = rungs(tmp_path, events, events, exports=asked)["export"]
    assert found.verdict == verdict and len(found.rows) == 2
    assert ("first regress: r" in found.note) == (verdict == ladder.DIFFER)


def _saved(form, names, labels=(), path="model.ckpt-1"):
    """A checkpoint with these names; a word behind each says its size."""
    arrays = {n: np.arange(1.0, 2 + i).astype("float32") for i, n in enumerate(names)}
    return ("checkpoint", arrays, {"path": path, "form": form, "labels": dict(labels)})


VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
LAYERS = ["conv2d/kernel", "dense/kernel", "dense/bias"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (_saved("tf1", ["a/kernel", "a/bias"]), _saved("tf1", ["a/kernel", "a/bias"]), ""),
        (
            _saved("tf1", ["a/kernel", "a/bias"]),
            _saved("tf1", ["a/weights", "a/bias"]),
            "name a/kernel: it is called a/weights",
        ),
        (
            _saved("tf1", ["a/kernel"]),
            _saved("tf1", ["a/kernel", "b/kernel"]),
            "b/kernel: in the new checkpoint only",
        ),
        (
            _saved("tf1", ["a/weights", "w"]),
            _saved("tf2", ["model/a/kernel" + VALUE, "w" + VALUE]),
            "",
        ),
        (_saved("tf1", ["e/l/b"]), _saved("tf2", ["model/weights/e.Sl.Sbias" + VALUE]), ""),
        (
            _saved("tf1", ["line/weights"]),
            _saved("tf2", ["line/slope" + VALUE]),
            "name line/weights: it is called line/slope",
        ),
        (  # what is said beside the key
            _saved("tf1", ["conv/kernel"]),
            _saved(
                "tf2",
                ["optimizer/_trainable_variables/0" + VALUE],
                {"optimizer/_trainable_variables/0" + VALUE: "sequential/conv/kernel"},
            ),
            "",
        ),
        (_saved("h5", LAYERS), _saved("h5", [n.replace("dense", "dense_4") for n in LAYERS]), ""),
        (
            _saved("h5", ["first/kernel"]),
            _saved("keras", ["layers/dense/kernel"], {"layers/dense/kernel": "first/kernel"}),
            "",
        ),
        (
            _saved("h5", ["separable_conv2d/depthwise_kernel"]),
            _saved(
                "keras",
                ["layers/separable_conv2d/0"],
                {"layers/separable_conv2d/0": "separable_conv2d_1/0"},
            ),
            "",
        ),
        (
            _saved("h5", ["first/depthwise_kernel"]),
            _saved(
                "keras",
                ["layers/separable_conv2d/0"],
                {"layers/separable_conv2d/0": "separable_conv2d_1/0"},
            ),
            "name first/depthwise_kernel: it is called layers/separable_conv2d/0",
        ),
        (_saved("h5", ["lstm/kernel"]), _saved("keras", ["layers/lstm/lstm_cell/kernel"]), ""),
        (
            _saved("h5", ["first/kernel"]),
            _saved("keras", ["layers/dense/kernel"], {"layers/dense/kernel": "1st/kernel"}),
            "name first/kernel: it is called layers/dense/kernel",
        ),
        (
            _saved("tf1", ["w"], path="model/ckpt-5"),
            _saved("tf1", ["w"], path="ckpt-5"),
            "it lies in ckpt-5",
        ),
        (_saved("tf1", ["w"], path="m/model.ckpt-5"), _saved("tf2", ["w"], path="m/ckpt-1"), ""),
    ],
)
def test_variables_are_found_in_a_checkpoint_by_their_names(old, new, said, tmp_path):
    found = rungs(tmp_path, [old], [new])["checkpoint"]
    assert found.verdict == (ladder.DIFFER if said else ladder.AGREE) and said in found.note
    why = {"checkpoint: names": "the new names are shorter"}
    again = rungs(tmp_path / "2", [old], [new], ignore=why)["checkpoint"]
    assert again.verdict != ladder.DIFFER


@pytest.mark.parametrize(("theirs", "verdict"), [("float32", "differ"), ("bfloat16", "agree")])
def test_answers_in_bfloat16(theirs, verdict, tmp_path):
    """NumPy's files have no such type."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    answers = np.linspace(-2, 3, 16).reshape(8, 2).astype(ml_dtypes.bfloat16)

    def predicted(array):
        return [("prediction", {"predictions": array}, {"count": 8, "complete": True})]

    found = rungs(tmp_path, predicted(answers.astype(theirs)), predicted(answers))["prediction"]
    assert found.verdict == verdict
    assert ("bfloat16 instead of float32" in found.note + str(found.rows)) == (theirs == "float32")


@pytest.mark.parametrize(("loss", "verdict"), [(0.25, ladder.AGREE), (0.5, ladder.DIFFER)])
def test_a_loss_beside_a_step_is_not_lost_in_its_size(loss, verdict, tmp_path):
    both = ([("report", {"last": [1000, x]}, {"path": "r.json"})] for x in (0.25, loss))
    assert rungs(tmp_path, *both)["files"].verdict == verdict


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (0.3183099, -0.7511255, SKIPPED),
        (0.3183099, 0.0, ladder.DIFFER),
        (0.0, 1.0, ladder.DIFFER),
        (-4.6, 0.3183099, ladder.DIFFER),
    ],
)
def test_one_random_number_shows_no_distribution(old, new, verdict, tmp_path):
    both = []
    for name, value in (("old", old), ("new", new)):
        recorder = Recorder(str(tmp_path / name))
        site = Site(recorder, [Variable("b", (1,), True)], 1, [])
        if name == "new":
            recorder.write("own", {"b": np.float32([value])})
        site.called(1.0, np.ones(1), np.float32([old]))
        both.append(Recording(str(tmp_path / name)))
    rung = {each.key: each for each in ladder.compare(*both).rungs}["initial"]
    assert rung.verdict == verdict
    assert ("one number shows no distribution: b" in rung.note) == (verdict == SKIPPED)


@pytest.mark.parametrize("more", [0, 1])
def test_an_optimizer_that_keeps_more_is_another_one(more, tmp_path):
    """AMSGrad has Adam's first steps, and a third slot."""
    both = []
    for name, extra in (("old", 0), ("new", more)):
        recorder = Recorder(str(tmp_path / name))
        site = Site(recorder, [Variable("w", (4,), True)], 1, [])
        site.called(1.0, np.ones(4), np.ones(4))
        slots = {f"w/{n}": np.arange(1.0, 5) + min(n, 1) for n in range(2 + extra)}
        recorder.write("optimizer", slots=list(slots))
        recorder.snapshot({"w": np.zeros(4)}, slots=slots)
        both.append(Recording(str(tmp_path / name)))
    rung = {each.key: each for each in ladder.compare(*both).rungs}["update"]
    assert rung.verdict == (ladder.DIFFER if more else ladder.AGREE)
    assert ("keeps 1 tensor more for each variable" in rung.note) == bool(more)


def test_answers_that_are_near_each_other_are_found_in_another_order():
    """A model that has learned little answers almost the same to all examples."""
    random = np.random.RandomState(0)
    first = 0.79 + 2e-4 * random.rand(32)
    theirs = np.stack([first, 1 - first], 1)
    order = random.permutation(32)
    ours, found = answers.in_their_order(theirs[order] + 1e-8 * random.randn(32, 2), theirs)
    assert found is not None and not np.array_equal(order, np.arange(32))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    # A difference that is no order stays one.
    ours, found = answers.in_their_order(theirs[order] * [1.0001, 1], theirs)
    assert np.abs(ours - theirs).max() > 1e-5
    ours, found = answers.in_their_order(theirs + 1e-8 * random.randn(32, 2), theirs)
    assert found is None


@pytest.mark.parametrize("other", [False, True])
def test_what_only_the_optimizer_tracks_is_not_the_saved_model(other):
    """A checkpoint of another model still holds the trained variables, below the optimizer."""
    trained = np.arange(6.0).reshape(2, 3)
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    there = {f"opt/_variables/2{end}": 0.1 * trained, f"opt/_trainable_variables/0{end}": trained}
    if other:
        there[f"model/layer/kernel{end}"] = -trained
    (found,) = contents.held({"w": trained}, contents.of_models(there)).values()
    assert np.array_equal(found, trained) != other
