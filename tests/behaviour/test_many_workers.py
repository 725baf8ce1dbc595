"""Several machines that train one TPUEstimator: processes on this one, against a single process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from tpucompat.base.machine import environment as installed

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAM = os.path.join(HERE, "programs", "many_workers.py")
WORKERS = 2

pytestmark = pytest.mark.skipif(
    not installed().has("multi_worker"), reason="MultiWorkerMirroredStrategy came with 2.4"
)


def free_ports():
    """As many ports as there are workers, which nobody listens on."""
    sockets = [socket.socket() for _ in range(WORKERS)]
    try:
        for one in sockets:
            one.bind(("localhost", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def start(folder, name, arguments, options=(), **environment):
    """Starts the program; it writes ``name``.json, and says what it says into ``name``.txt."""
    command = [sys.executable, "-m", "tpucompat", "run", *options, PROGRAM]
    environment = {**os.environ, "PYTHONPATH": ROOT, "CUDA_VISIBLE_DEVICES": "-1", **environment}
    for unset in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS"):
        environment.pop(unset, None)
    model_dir = str(folder / ("one" if name == "one" else "many"))
    with open(folder / (name + ".txt"), "w") as said:
        return subprocess.Popen(
            [*command, model_dir, str(folder / (name + ".json")), *arguments],
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
        )


def run(folder, *arguments):
    """Runs the program in one process with two cores, and in two workers with one each.

    Returns:
      For the one process, the chief and the worker: exit code, results, and what it said.
    """
    ports = free_ports()
    cluster = {"worker": [f"localhost:{port}" for port in ports]}
    processes = {"one": start(folder, "one", arguments, ["--cores", str(WORKERS)])}
    for index in range(WORKERS):
        task = {"type": "worker", "index": index}
        processes[f"worker{index}"] = start(
            folder,
            f"worker{index}",
            arguments,
            TF_CONFIG=json.dumps({"cluster": cluster, "task": task}),
        )
    results = []
    try:
        for name, process in processes.items():
            code = process.wait(timeout=240)
            said = (folder / (name + ".txt")).read_text()
            assert (folder / (name + ".json")).exists(), said[-3000:]
            results.append((code, json.loads((folder / (name + ".json")).read_text()), said))
    finally:
        for process in processes.values():
            process.kill()
    return results


def check(one, chief, other):
    """The workers compute what the one process does; the chief alone reports and saves."""
    assert (one["is_chief"], chief["is_chief"], other["is_chief"]) == (True, True, False)
    assert len(one["losses"]) >= 2
    for worker in (chief, other):
        # Sums over the cores in another order, in single precision.
        assert worker["losses"] == pytest.approx(one["losses"], rel=1e-6)
    assert chief["of_all"].keys() == one["of_all"].keys()
    for step, losses in one["of_all"].items():
        assert len(losses) == WORKERS
        assert chief["of_all"][step] == pytest.approx(losses, rel=1e-6)
    assert other["of_all"] == {}
    for key in {"metrics", "predictions"} & one.keys():
        for worker in (chief, other):
            assert worker[key] == pytest.approx(one[key], rel=1e-6)


@pytest.mark.long
def test_two_workers_compute_what_one_process_does(tmp_path):
    cases = ["batches", "sharded", "split", "tensors", "cores", "short"]
    results = run(tmp_path, "8", *cases, "dies")
    (code, one, _), (code_0, chief, said), (code_1, other, also_said) = results
    assert (code, code_0, code_1) == (0, 0, -signal.SIGKILL), said[-3000:] + also_said[-3000:]
    for case in cases:
        check(one[case], chief[case], other[case])
    assert len(one["batches"]["losses"]) == 4  # in two trainings
    assert len(one["batches"]["predictions"]) == 22
    assert "this is worker 0 and the chief [TPU314]" in said
    assert "this is worker 1 [TPU314]" in also_said
    shards = "the input function shards its input across the workers [TPU315]"
    assert said.count(shards) == 1

    # One who writes summaries, and one who writes those of an evaluation.
    written = os.listdir(tmp_path / "many" / "split")
    assert sum(name.startswith("events.out") for name in written) == 1
    assert len(os.listdir(tmp_path / "many" / "batches" / "eval")) == 1

    # An input that ends early, and a worker that dies.
    for result in (one, chief, other):
        assert result["short"]["error"] == "OutOfRangeError"
        assert "TPU336" in result["short"]["text"]
    assert "error" not in one["dies"]
    assert chief["dies"]["error"] == "LostWorkerError"
    assert "TPU316" in chief["dies"]["text"]
