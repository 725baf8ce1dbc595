"""Writes down what a script computes, while it computes: lines of JSON, and arrays beside them.

A recording is a folder with ``events.jsonl``, one event per line, written through at once so that a run
that crashes or is ended leaves what it had, and one ``.npz`` file for each event with arrays. This module
knows no TensorFlow; it runs in the recorded process, on Python 3.7 too.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

EVENTS = "events.jsonl"
#: After how many steps the variables are written down, where nothing else is asked for.
SNAPSHOT_STEPS = (0, 1, 2, 5, 10, 20, 50, 100)


class Variable(NamedTuple):
    """A variable of the model.

    Attributes:
      name: Unique in its recording.
      shape: Its shape.
      trainable: Whether gradients were taken with respect to it.
    """

    name: str
    shape: tuple[int, ...]
    trainable: bool


def is_foreign(array: np.ndarray) -> bool:
    """Whether an array's type is not NumPy's own, as bfloat16: in a file it is a number of bytes."""
    return array.dtype.kind == "V" and array.dtype.fields is None


def storable(array: np.ndarray) -> np.ndarray:
    """An array as a file can have it: bfloat16 in single precision."""
    return array.astype(np.float32) if is_foreign(array) else array


class Recorder:
    """Takes events from the watchers and writes them down.

    Args:
      folder: Where to; made if it does not exist.
      snapshot_steps: After how many steps to write down the variables.
    """

    def __init__(self, folder: str, snapshot_steps: Sequence[int] = SNAPSHOT_STEPS) -> None:
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.snapshot_steps = frozenset(snapshot_steps)
        self.sites: list[Site] = []
        self._snapshots: set[int] = set()
        self._lock = threading.RLock()
        self._count = 0
        self._inside = threading.local()
        self._stream = open(  # noqa: SIM115  (open as long as the process lives)
            os.path.join(folder, EVENTS), "a", encoding="utf-8"
        )

    def write(
        self, kind: str, arrays: Mapping[str, Any] | Sequence[Any] | None = None, **values: Any
    ) -> None:
        """Writes one event down, with its arrays in a file of their own."""
        with self._lock:
            event: dict[str, Any] = {"kind": kind}
            event.update(values)
            if arrays is not None:
                self._count += 1
                event["file"] = f"{self._count:05d}.npz"
                if isinstance(arrays, Mapping):
                    # Names with slashes and blanks are no file names: they go beside the arrays.
                    event["names"] = list(arrays)
                    arrays = list(arrays.values())
                given = list(map(np.asarray, arrays))
                types = {index: a.dtype.name for index, a in enumerate(given) if is_foreign(a)}
                if types:
                    event["types"] = types
                numbered: dict[str, Any] = {
                    f"a{i}": storable(array) for i, array in enumerate(given)
                }
                np.savez(os.path.join(self.folder, event["file"]), **numbered)
            self._stream.write(json.dumps(event, default=_plain) + "\n")
            self._stream.flush()

    @property
    def steps(self) -> int:
        """How many training steps there were."""
        return max((site.steps for site in self.sites), default=0)

    def wants_snapshot(self) -> bool:
        """Whether the variables are to be written down now, and have not been."""
        steps = self.steps
        return steps in self.snapshot_steps and steps not in self._snapshots

    def snapshot(
        self,
        values: Mapping[str, Any],
        again: bool = False,
        slots: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes the variables down, as they are after the steps so far.

        Args:
          values: Name -> array.
          again: Also where this step has been written down before (a later one counts).
          slots: What the optimizer holds besides: name -> array.
        """
        steps = self.steps
        if values and (again or steps not in self._snapshots):
            self._snapshots.add(steps)
            self.write("snapshot", values, step=steps)
            if slots:
                self.write("slots", slots, step=steps)

    @contextlib.contextmanager
    def outermost(self, kind: str) -> Iterator[bool]:
        """Around a recorded function: whether it is the outermost one of its kind in this thread."""
        depth = getattr(self._inside, kind, 0)
        setattr(self._inside, kind, depth + 1)
        try:
            yield depth == 0
        finally:
            setattr(self._inside, kind, depth)

    @contextlib.contextmanager
    def own_work(self) -> Iterator[None]:
        """Around work of the recording itself, which no watcher may take for the script's."""
        before = getattr(self._inside, "own", False)
        self._inside.own = True
        try:
            yield
        finally:
            self._inside.own = before

    @property
    def at_own_work(self) -> bool:
        """Whether this thread does work of the recording itself."""
        return getattr(self._inside, "own", False)


class Site:
    """One place in a script where a loss is differentiated: most scripts have one, a GAN has two.

    The replicas of a step call it one by one. Their objectives and gradients are summed, which is what
    happens to them in TensorFlow 1 (``CrossShardOptimizer``) and 2 (optimizers under a strategy).

    Args:
      recorder: Where to write.
      variables: What is differentiated with respect to.
      replicas: How often it is called in one step.
      outputs: For each recorded output of the forward pass, what it is: "softmax" or "sigmoid" (of
        logits), or "plain".
      whole_batch: Whether each replica sees the outputs of the whole batch, not its part of them.
      average: Whether the script averages over the replicas afterwards, instead of summing.
    """

    def __init__(
        self,
        recorder: Recorder,
        variables: Sequence[Variable],
        replicas: int,
        outputs: Sequence[str],
        whole_batch: bool = False,
        average: bool = False,
    ) -> None:
        self.steps = 0
        self._recorder = recorder
        self._variables = list(variables)
        self._replicas = max(1, replicas)
        self._outputs = list(outputs)
        self._whole_batch = whole_batch
        self._share = 1.0 / self._replicas if average else 1.0
        self._calls: list[list[np.ndarray]] = []
        self._lock = threading.Lock()
        self.index = len(recorder.sites)
        recorder.sites.append(self)
        recorder.write(
            "site",
            site=self.index,
            replicas=self._replicas,
            variables=[variable._asdict() for variable in variables],
        )

    def called(self, *arrays: Any) -> np.int32:
        """One replica's step.

        Args:
          *arrays: The objective; a gradient for each variable; the variables' values; labels and logits
            of each output.

        Returns:
          Nothing that matters, in the type that TensorFlow expects.
        """
        with self._lock:
            self._calls.append([np.array(array) for array in arrays])
            if len(self._calls) == self._replicas:
                calls, self._calls = self._calls, []
                self._step(calls)
        return np.int32(0)

    def _step(self, calls: Sequence[Sequence[np.ndarray]]) -> None:
        objective = sum(float(np.sum(call[0])) for call in calls) * self._share
        write = self._recorder.write
        if self.steps == 0:
            count = len(self._variables)
            gradients = [
                sum(call[1 + index].astype(np.float64) for call in calls) * self._share
                for index in range(count)
            ]
            values = calls[0][1 + count : 1 + 2 * count]
            names = [variable.name for variable in self._variables]
            write("initial", dict(zip(names, values)), site=self.index)
            write("gradients", dict(zip(names, gradients)), site=self.index)
            self._forward(calls[:1] if self._whole_batch else calls, 1 + count + len(values))
        elif self.steps in self._recorder.snapshot_steps:
            # What a step finds is what the steps before it have left.
            count = len(self._variables)
            names = [variable.name for variable in self._variables]
            values = calls[0][1 + count : 1 + 2 * count]
            write("entering", dict(zip(names, values)), site=self.index, step=self.steps)
        write("step", site=self.index, step=self.steps, objective=objective)
        self.steps += 1

    def _forward(self, calls: Sequence[Sequence[np.ndarray]], start: int) -> None:
        arrays: list[np.ndarray] = []
        for index in range(len(self._outputs)):
            for part in (0, 1):  # labels, outputs
                pieces = [np.atleast_1d(call[start + 2 * index + part]) for call in calls]
                arrays.append(np.concatenate(pieces))
        if arrays:
            self._recorder.write("forward", arrays, site=self.index, outputs=self._outputs)


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays, as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


class Recording:
    """A recording, read back.

    Args:
      folder: Of a :class:`Recorder`; may be missing or end in the middle.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.events: list[dict[str, Any]] = []
        path = os.path.join(folder, EVENTS)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                for line in stream:
                    with contextlib.suppress(ValueError):  # the last line of a run that was ended
                        self.events.append(json.loads(line))

    def all(self, kind: str, **values: Any) -> list[dict[str, Any]]:
        """The events of a kind, in order, with these values."""
        return [
            event
            for event in self.events
            if event["kind"] == kind and all(event.get(k) == v for k, v in values.items())
        ]

    def types(self, event: Mapping[str, Any]) -> dict[str, str]:
        """The types that NumPy does not have, of an event's arrays by their names."""
        names = event.get("names", [])
        return {names[int(index)]: name for index, name in event.get("types", {}).items()}

    def first(self, kind: str, **values: Any) -> dict[str, Any]:
        """The first event of a kind; an empty one if there is none."""
        found = self.all(kind, **values)
        return found[0] if found else {}

    def arrays(self, event: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The arrays of an event, by name ("0", "1" ... where they have none), in order."""
        if "file" not in event:
            return {}
        path = os.path.join(self.folder, event["file"])
        try:
            with np.load(path) as data:
                arrays = [data[f"a{index}"] for index in range(len(data.files))]
        except (OSError, ValueError, KeyError):  # of a run that was ended while it wrote
            return {}
        names = event.get("names") or [str(index) for index in range(len(arrays))]
        return dict(zip(names, arrays))

    def sites(self) -> list[dict[str, Any]]:
        """The places where a loss is differentiated, that were reached."""
        reached = {event["site"] for event in self.all("step")}
        return [event for event in self.all("site") if event["site"] in reached]

    def variables(self) -> list[Variable]:
        """The model's variables: those of all sites, then those that are not trained."""
        found: dict[str, Variable] = {}
        for site in self.sites():
            for each in site["variables"]:
                found.setdefault(
                    each["name"], Variable(each["name"], tuple(each["shape"]), each["trainable"])
                )
        for event in self.all("snapshot")[:1]:
            for name, value in self.arrays(event).items():
                found.setdefault(name, Variable(name, value.shape, False))
        return list(found.values())

    def initial(self) -> dict[str, np.ndarray]:
        """The values of the variables before the first step."""
        values: dict[str, np.ndarray] = {}
        for event in self.all("snapshot", step=0):
            values.update(self.arrays(event))
        first: dict[str, np.ndarray] = {}
        for event in self.all("initial"):
            # What is trained at a second place, or once more, has been trained before.
            for name, value in self.arrays(event).items():
                first.setdefault(name, value)
        return {**values, **first}

    def drawn(self) -> dict[str, np.ndarray]:
        """The values that the run itself has given to its variables, whatever it was given afterwards."""
        values = self.initial()
        for event in self.all("own"):
            values.update(self.arrays(event))
        return values

    def objectives(self, site: int) -> list[float]:
        """The loss of each step at a site."""
        return [event["objective"] for event in self.all("step", site=site)]

    def slots(self) -> dict[int, dict[str, np.ndarray]]:
        """Steps -> what the optimizers hold after them."""
        return {event["step"]: self.arrays(event) for event in self.all("slots")}

    def snapshots(self) -> dict[int, dict[str, np.ndarray]]:
        """Steps -> the variables' values after them."""
        found: dict[int, dict[str, np.ndarray]] = {}
        for kind in ("entering", "snapshot"):
            for event in self.all(kind):
                values = found.setdefault(event["step"], {})
                for name, value in self.arrays(event).items():
                    # What is trained once more comes to the same number of steps again.
                    if kind == "snapshot" or name not in values:
                        values[name] = value
        return found
