"""TF_CONFIG: which machines train together, and which one this is."""

from __future__ import annotations

import json

import pytest

from tpucompat.base import cluster, journal
from tpucompat.base.errors import BadValueError, SetupError
from tpucompat.engines import accelerator, workers
from tpucompat.idioms.keras_tpu import strategy as keras_strategy


def given(monkeypatch, named, kind="worker", index=0, **more):
    config = {"cluster": named, "task": {"type": kind, "index": index}, **more}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    return cluster.cluster()


def test_no_cluster(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert cluster.cluster() is None
    for text in ("", "{}", '{"cluster": {}, "task": {}}', '{"model_dir": "x"}'):
        monkeypatch.setenv("TF_CONFIG", text)
        assert cluster.cluster() is None


@pytest.mark.parametrize("chief", ["chief", "master"])
def test_who_is_who(monkeypatch, chief):
    machines = {chief: ["a:1"], "worker": {"1": "c:1", "0": "b:1"}, "ps": ["d:1"]}
    first = given(monkeypatch, machines, chief)
    assert (first.machines, first.rank, first.servers) == (3, 0, 1)
    assert first.jobs == {"chief": ["a:1"], "worker": ["b:1", "c:1"]}
    last = given(monkeypatch, machines, "worker", 1)
    assert (last.rank, last.trains, last.has_chief) == (2, True, True)
    assert not given(monkeypatch, machines, "ps").trains
    assert not given(monkeypatch, machines, "evaluator").trains
    alone = given(monkeypatch, {"worker": ["a:1", "b:1"]}, "worker", 1, model_dir="x")
    assert (alone.machines, alone.rank, alone.has_chief) == (2, 1, False)
    assert json.loads(cluster.without_cluster()) == {"model_dir": "x"}


@pytest.mark.parametrize(
    "text, cause",
    [
        ("{'cluster'", "it is not valid JSON"),
        ("[]", "it is not a JSON object"),
        ('{"cluster": ["a:1"]}', "not an object"),
        ('{"cluster": {"worker": "a:1"}}', "not a list of strings"),
        ('{"cluster": {"ps": ["a:1"]}}', "neither a chief nor a worker"),
        ('{"cluster": {"chief": ["a:1"], "master": ["b:1"]}}', "more than one chief"),
        ('{"cluster": {"worker": ["a:1"]}}', "cannot be identified"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}', "has 1"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}}', "'chief'"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "x"}}', "'x'"),
    ],
)
def test_what_cannot_be_used(monkeypatch, text, cause):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(BadValueError, match="TPU418.*" + cause):
        cluster.cluster()


def test_who_does_not_train_with_others(monkeypatch):
    for kind, machines in (
        ("worker", {"worker": ["a:1"]}),
        ("evaluator", {"worker": ["a:1", "b:1"]}),
    ):
        given(monkeypatch, machines, kind)
        assert workers.of_process() is None
    given(monkeypatch, {"chief": ["a:1"], "ps": ["b:1"]}, "ps")
    with pytest.raises(SetupError, match="TPU317.*task 0 of 'ps'"):
        workers.of_process()


def test_keras_trains_alone_and_says_so(monkeypatch):
    journal.reset()
    monkeypatch.setenv("TPUCOMPAT_CORES", "1")
    for kind, machines in (("worker", {"worker": ["a:1"]}), ("chief", {"worker": ["a:1", "b:1"]})):
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": machines, "task": {"type": kind}}))
        keras_strategy.TPUDistributionStrategy()  # one machine, and what is none of its business
    assert journal.notices() == []
    given(monkeypatch, {"chief": ["a:1"], "worker": ["b:1"]})
    keras_strategy.TPUDistributionStrategy()
    assert [code for code, _ in journal.notices()] == ["TPU301"]
    journal.reset()


def test_what_hinders(monkeypatch):
    machines = given(monkeypatch, {"worker": ["a:1", "b:1"]})
    monkeypatch.setenv("TPUCOMPAT_CORES", "8")
    with pytest.raises(SetupError, match="TPU419.*2 machines, and TPUCOMPAT_CORES=8 is set"):
        accelerator.strategy_over(machines, 1)
    monkeypatch.setenv("TPUCOMPAT_WORKERS_TIMEOUT", "soon")
    with pytest.raises(SetupError, match="TPU419.*TPUCOMPAT_WORKERS_TIMEOUT=soon"):
        cluster.patience()
    monkeypatch.setenv("TPUCOMPAT_WORKERS_TIMEOUT", "60")
    assert cluster.patience() == 60
