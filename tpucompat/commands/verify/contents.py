"""Tensors by what is in them: in checkpoints, and in optimizers, whose names differ in each generation."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Mapping, Sequence

import numpy as np

#: A tensor that is this close to another one, in parts of its largest number, is the same.
_SAME = 1e-6

#: In the keys of what an optimizer of Keras 3 trains.
TRACKED = "/_trainable_variables/"
#: Names of what counts steps.
COUNTED = re.compile(r"(?i)step|epoch|iteration")


def counts_steps(name: str, value: Any) -> bool:
    """Whether a tensor of a checkpoint counts steps; how often a run has saved is its own matter."""
    return bool(
        np.asarray(value).dtype.kind in "iu"
        and np.size(value) == 1
        and COUNTED.search(name)
        and "save_counter" not in name
    )


def held(
    wanted: Mapping[str, np.ndarray], there: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray | None]:
    """For each tensor the one of a place that is most like it; None if none there has its shape.

    Args:
      wanted: Name -> tensor.
      there: What the place has, whatever it is called.
    """
    found: dict[str, np.ndarray | None] = {}
    for name, value in wanted.items():
        candidates = [tensor for tensor in there.values() if tensor.shape == value.shape]
        errors = [_error(tensor, value) for tensor in candidates]
        found[name] = candidates[int(np.argmin(errors))] if errors else None
    return found


def of_models(there: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A checkpoint without the optimizer's references to variables that no model in it has.

    Keras' optimizers track what they train: a checkpoint of another model has the trained variables too, where
    restoring it puts them nowhere. A variable that the saved model has is not stored a second time.

    Args:
      there: Key -> tensor.
    """
    owners = {key.partition(TRACKED)[0] for key in there if TRACKED in key}
    inside = {key for key in there if any(key.startswith(owner + "/") for owner in owners)}
    outside = {np.shape(value) for key, value in there.items() if key not in inside}
    return {
        key: value
        for key, value in there.items()
        if TRACKED not in key or np.shape(value) not in outside
    }


def turned(
    wanted: Mapping[str, np.ndarray], there: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """For each tensor the one that points the other way, made as long; empty unless one factor does for all."""
    found: dict[str, np.ndarray] = {}
    factors: list[float] = []
    for name, value in wanted.items():
        size = float(np.sum(np.square(value, dtype=np.float64)))
        best, least, longer = value, np.inf, 0.0
        for tensor in there.values():
            if tensor.shape != value.shape or not size:
                continue
            factor = float(np.sum(np.multiply(tensor, value, dtype=np.float64))) / size
            error = _error(tensor / factor, value) if factor < 0 else np.inf
            if error < least:
                best, least, longer = tensor / factor, error, factor
        found[name] = best
        factors.append(longer)
    most, fewest = max(factors, default=0.0), min(factors, default=0.0)
    alike = most < 0 and most - fewest < 1e-3 * -most
    return found if alike else {}


def kept(
    wanted: Mapping[str, np.ndarray], there: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Those tensors that a place has, number for number."""
    found = held(wanted, there)
    return {
        name: value
        for name, value in wanted.items()
        if found[name] is not None
        and _error(found[name], value) <= _SAME * np.max(np.abs(value), initial=0.0)
    }


def more_for_each(
    shapes: Sequence[tuple[int, ...]],
    old: Mapping[str, np.ndarray],
    new: Mapping[str, np.ndarray],
) -> int:
    """How many slots more than before there are for each variable; 0 if for one of them there are none.

    Args:
      shapes: Of the variables.
      old: Name -> slot.
      new: Name -> slot.
    """
    theirs, ours = (Counter(value.shape for value in slots.values()) for slots in (old, new))
    more = [(ours[shape] - theirs[shape]) // count for shape, count in Counter(shapes).items()]
    return max(0, min(more, default=0))


def last(
    files: Sequence[Mapping[str, np.ndarray]], final: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    """Of several checkpoints the one that was written last: the one that is most like the final variables.

    Their files' times say less than their content.
    """

    def distance(file: Mapping[str, np.ndarray]) -> tuple[int, float]:
        found = held(final, file)
        errors = [
            float(np.mean(np.abs(np.asarray(value, np.float64) - final[name])))
            for name, value in found.items()
            if value is not None and value.size
        ]
        return sum(value is None for value in found.values()), sum(errors)

    return min(files, key=distance)


def _error(tensor: np.ndarray | None, value: np.ndarray) -> float:
    assert tensor is not None
    difference = np.asarray(tensor, np.float64) - np.asarray(value, np.float64)
    return float(np.max(np.abs(difference), initial=0.0))
