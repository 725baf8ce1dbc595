"""Several files of Keras that a run has saved its weights to: after each epoch, the best, the last."""

from __future__ import annotations

import os
import re
from typing import AbstractSet, Any, Mapping, NamedTuple, Sequence

import numpy as np

from tpucompat.commands.checkpoints import formats
from tpucompat.commands.verify import contents

_FORMS = frozenset(("h5", "keras"))
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Saved(NamedTuple):
    """One file.

    Attributes:
      path: Where it lies.
      values: What is in it of the model.
    """

    path: str
    values: Mapping[str, np.ndarray]


def of(
    events: Sequence[Mapping[str, Any]],
    saved: Sequence[Mapping[str, np.ndarray]],
    drifting: AbstractSet[tuple[int, ...]],
) -> list[Saved]:
    """The files of Keras among the checkpoints of a run.

    Args:
      events: Of the recording.
      saved: What is in them.
      drifting: Shapes of variables that each run moves another way, which say nothing.
    """
    return [
        Saved(
            event["path"],
            {
                name: value
                for name, value in contents.of_models(arrays).items()
                if value.dtype.kind == "f"
                and value.shape not in drifting
                and not formats.is_optimizers(name)
            },
        )
        for event, arrays in zip(events, saved)
        if event.get("form") in _FORMS
    ]


def together(old: Sequence[Saved], new: Sequence[Saved]) -> list[tuple[Saved, Saved]]:
    """Each old file with the new one that is most like it; those that are nearest to each other first."""
    distances = sorted(
        (_distance(one, other), i, j) for i, one in enumerate(old) for j, other in enumerate(new)
    )
    found: dict[int, int] = {}
    for distance, i, j in distances:
        if np.isfinite(distance) and i not in found and j not in found.values():
            found[i] = j
    return [(old[i], new[j]) for i, j in sorted(found.items())]


def apart(one: Saved, other: Saved) -> str:
    """What the names of two files count otherwise: epochs, steps; "" for nothing."""
    theirs, ours = (_counts(each.path) for each in (one, other))
    return "" if theirs == ours else f"it is called {other.path}"


def _counts(path: str) -> list[int]:
    """The whole numbers in a file's name; others are metrics."""
    name = re.sub(r"(\.weights)?\.(h5|hdf5|keras)$", "", os.path.basename(path))
    return [int(number) for number in _NUMBER.findall(name) if "." not in number]


def _distance(one: Saved, other: Saved) -> float:
    found = contents.held(one.values, other.values)
    if not found or any(value is None for value in found.values()):
        return float("inf")
    sizes = [float(np.mean(np.abs(v), dtype=np.float64)) or 1.0 for v in one.values.values()]
    errors = [
        float(np.mean(np.abs(np.subtract(found[name], value, dtype=np.float64))))
        for name, value in one.values.items()
        if value.size
    ]
    return float(sum(error / size for error, size in zip(errors, sizes)))
