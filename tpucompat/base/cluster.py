"""The machines that train together, as the environment variable TF_CONFIG names them.

TF_CONFIG is JSON: ``{"cluster": {"worker": ["host:port", ...]}, "task": {"type": "worker", "index": 0}}``,
the same on all machines but for the task. It is that of ``tf.estimator.RunConfig`` (with a ``chief``
or a ``master`` besides the workers, and perhaps parameter servers) and that of
``tf.distribute.MultiWorkerMirroredStrategy`` (where worker 0 may be the chief). Nothing connects here,
and TensorFlow is not imported.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, Mapping, NamedTuple

from tpucompat.base.errors import BadValueError, SetupError

#: The variable.
VARIABLE = "TF_CONFIG"
#: How many seconds the workers wait for each other; :func:`patience`.
PATIENCE = "TPUCOMPAT_WORKERS_TIMEOUT"

_CHIEFS = ("chief", "master")


class Cluster(NamedTuple):
    """The machines of a training, and this one's place among them.

    Attributes:
      jobs: "chief" (if there is one) and "worker" -> addresses. A "master" is a chief.
      task: The kind of this process: "chief", "worker", "ps" or "evaluator".
      task_id: Its number among those of its kind.
      servers: How many parameter servers are named.
    """

    jobs: Mapping[str, list[str]]
    task: str
    task_id: int
    servers: int

    @property
    def machines(self) -> int:
        """How many machines train."""
        return sum(len(addresses) for addresses in self.jobs.values())

    @property
    def rank(self) -> int:
        """This machine's number among them; the chief, or worker 0 where there is none, is 0."""
        return self.task_id + (len(self.jobs.get("chief", ())) if self.task == "worker" else 0)

    @property
    def has_chief(self) -> bool:
        """Whether one is named, without which ``tf.estimator.RunConfig`` refuses a cluster."""
        return "chief" in self.jobs

    @property
    def trains(self) -> bool:
        """Whether this process is one of the machines that train."""
        return self.task in self.jobs


def cluster() -> Cluster | None:
    """The cluster of TF_CONFIG; None where it names none.

    Raises:
      BadValueError: It is not JSON, or does not say which of the cluster's tasks this process is
        (TPU418).
    """
    given = _parsed()
    named = given.get("cluster")
    if not named:
        return None
    if not isinstance(named, dict):
        raise _wrong('"cluster" is not an object with jobs and addresses')
    everything = {str(job): _addresses(job, tasks) for job, tasks in named.items()}
    chiefs = [address for job in _CHIEFS for address in everything.get(job, ())]
    if len(chiefs) > 1:
        raise _wrong('"cluster" has more than one chief')
    jobs = {"chief": chiefs, "worker": everything.get("worker", [])}
    jobs = {job: addresses for job, addresses in jobs.items() if addresses}
    if not jobs:
        raise _wrong('"cluster" has neither a chief nor a worker')
    task = given.get("task")
    if not isinstance(task, dict) or "type" not in task or "index" not in task:
        raise _wrong(
            '"task" with "type" and "index" is missing, so this machine cannot be identified'
        )
    kind, index = str(task["type"]), task["index"]
    if isinstance(index, bool) or not _is_number(index):
        raise _wrong(f'"index" is {index!r}, which is not a task number')
    if kind != "evaluator":  # which stands beside the cluster
        known = everything.get(kind)
        if known is None:
            raise _wrong(f'"type" is {kind!r}, but "cluster" has {sorted(everything)}')
        if int(index) >= len(known):
            raise _wrong(f'"index" is {index}, but "cluster" has {len(known)} of {kind!r}')
    return Cluster(
        jobs, "chief" if kind in _CHIEFS else kind, int(index), len(everything.get("ps", ()))
    )


def without_cluster() -> str:
    """TF_CONFIG as JSON without its cluster: what else it says, such as ``model_dir``."""
    given = _parsed()
    return json.dumps({key: given[key] for key in given if key not in ("cluster", "task")})


def patience() -> int:
    """How many seconds a worker waits for the others before it gives up; an hour.

    Raises:
      SetupError: TPUCOMPAT_WORKERS_TIMEOUT is not a positive integer (TPU419).
    """
    text = os.environ.get(PATIENCE, "3600")
    if not _is_number(text) or not int(text):
        raise SetupError("TPU419", f"{PATIENCE}={text} is not a number of seconds.")
    return int(text)


def _parsed() -> dict[str, Any]:
    text = os.environ.get(VARIABLE) or "{}"
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"it is not valid JSON ({error})") from error
    if not isinstance(given, dict):
        raise _wrong("it is not a JSON object")
    return given


def _is_number(value: Any) -> bool:
    return re.fullmatch("[0-9]{1,9}", str(value)) is not None


def _addresses(job: Any, tasks: Any) -> list[str]:
    if isinstance(tasks, dict):  # of a sparse cluster: number -> address
        if not all(map(_is_number, tasks)):
            raise _wrong(f"the tasks of {job!r} have other names than numbers")
        tasks = [tasks[number] for number in sorted(tasks, key=int)]
    if not isinstance(tasks, list) or not all(isinstance(task, str) for task in tasks):
        raise _wrong(f"the addresses of {job!r} are not a list of strings")
    return tasks


def _wrong(what: str) -> BadValueError:
    return BadValueError("TPU418", f"{VARIABLE} is invalid: {what}.")
