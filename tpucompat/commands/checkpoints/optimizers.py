"""Carries an optimizer's state (slots, steps, beta powers) from one generation's checkpoint to another's."""

from __future__ import annotations

import math
from typing import Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from tpucompat.commands.checkpoints.slots import Row, rows_of
from tpucompat.commands.checkpoints.states import POWERS, STEPS, File, StateError, open_state

_DEFAULT_BETAS = (0.9, 0.999)  # of Adam and Adamax in all generations


class Wanted(NamedTuple):
    """What a user says of an optimizer.

    Attributes:
      optimizer: Its class in Keras, or "auto".
      step: How many updates it has made, or None.
      learning_rate: The learning rate of the next step, or None.
    """

    optimizer: str = "auto"
    step: int | None = None
    learning_rate: float | None = None


class Carried(NamedTuple):
    """The state in the terms of the layout.

    Attributes:
      values: Key in the layout -> value.
      names: Key in the layout -> where its value is from.
      kept: Keys in the layout for which the source has no value.
    """

    values: dict[str, np.ndarray]
    names: dict[str, str]
    kept: list[str]


def carry(source: str, like: str, pairs: Mapping[str, str], wanted: Wanted) -> Carried:
    """Says the state of one checkpoint in the terms of another.

    Args:
      source: The checkpoint to read.
      like: The layout.
      pairs: Variable of the layout -> variable of the source.
      wanted: What the user says.

    Raises:
      StateError: If one of them has no state, or its kind, steps or learning rate cannot be told.
    """
    old, new = open_state(source), open_state(like)
    row, moves = _moves(old, new, pairs, wanted.optimizer)
    values: dict[str, np.ndarray] = {}
    names: dict[str, str] = {}
    kept: list[str] = []
    factor = _factor(old, new, row, wanted)
    for key, (theirs, is_scaled) in moves.items():
        if theirs is None:
            kept.append(key)
            continue
        value = old.values[theirs]
        scale = factor if is_scaled else 1.0
        values[key] = (value * scale).astype(new.values[key].dtype)
        names[key] = theirs if scale == 1.0 else f"{theirs} * {scale:g}"
    step = _step(old, wanted.step, _betas(old, new))
    counters = [key for word in STEPS for key in new.scalars.get(word, ())]
    powers = [key for word in POWERS for key in new.scalars.get(word, ())]
    if step is None:
        kept += counters + powers
        return Carried(values, names, kept)
    for key in counters:
        values[key] = np.asarray(step, new.values[key].dtype)
        names[key] = f"{step} updates"
    for word, beta in zip(POWERS, _betas(new, old)):
        for key in new.scalars.get(word, ()):
            values[key] = np.asarray(beta ** (step + 1), new.values[key].dtype)
            names[key] = f"{beta:g} ** {step + 1}"
    return Carried(values, names, kept)


def _moves(
    old: File, new: File, pairs: Mapping[str, str], optimizer: str
) -> tuple[Row, dict[str, tuple[str | None, bool]]]:
    """The row; key of a slot in the layout -> its key in the source, and whether it is scaled."""
    rows = [row for row in old.candidates() if row in new.candidates()]
    if optimizer != "auto":
        rows = list(rows_of(optimizer))
    found: list[tuple[Row, dict[str, tuple[str | None, bool]]]] = []
    problems = []
    for row in rows:
        try:
            theirs = old.slots(row, new.known_slots(row))
            ours = new.slots(row, {slot for _, slot in theirs})
        except StateError as error:
            problems.append(str(error))
            continue
        moves = {
            key: (theirs.get((pairs.get(name, ""), slot)), slot in row.scaled)
            for (name, slot), key in ours.items()
        }
        if not any(moves == others for _, others in found):
            found.append((row, moves))
    if len(found) == 1:
        return found[0]
    if not found:
        said = f"{old.path} and {new.path} belong to different optimizers"
        raise StateError("; ".join(problems[:2]) or said)
    names = " or ".join(row.name for row, _ in found)
    raise StateError(f"{old.path}: its optimizer may be {names}; say which one with --optimizer")


def _factor(old: File, new: File, row: Row, wanted: Wanted) -> float:
    """What a scaled slot is multiplied by."""
    if not row.scaled or old.is_keras == new.is_keras:
        return 1.0
    keras = new if new.is_keras else old
    rate = wanted.learning_rate or keras.learning_rate()
    if not rate:
        raise StateError(
            f"{keras.path}: Keras keeps the momentum of {row.name} multiplied by the learning rate, "
            "which the file does not contain; pass it with --learning-rate"
        )
    return -rate if new.is_keras else -1.0 / rate


# Steps --------------------------------------------------------------------------------------------


def _step(file: File, said: int | None, betas: Sequence[float]) -> int | None:
    """How many updates an optimizer has made; None if its file has no counter.

    ``tf.train``'s Adam has no counter but the powers of its betas, which vanish after a while, and the
    program's global step, which another optimizer may have counted.
    """
    if said is not None:
        return said
    counted = {int(file.values[key]) for word in STEPS for key in file.scalars.get(word, ())}
    powers = _powers(file)
    if not powers:
        if len(counted) > 1:
            raise StateError(_ask_for_step(file, sorted(counted)))
        return counted.pop() if counted else None
    told = [
        math.log(power) / math.log(beta) - 1
        for power, beta in zip(powers, betas)
        if power > 1e-30 and 0 < beta < 1
    ]
    agreed = [step for step in counted if not told or any(_near(one, step) for one in told)]
    if len(agreed) == 1:
        return agreed[0]
    if told and not counted and all(_near(one, told[-1]) for one in told):
        return round(told[-1])
    raise StateError(_ask_for_step(file, sorted(counted | {round(one) for one in told})))


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= max(0.5, 0.01 * other)  # the powers are products in single precision


def _powers(file: File) -> list[float]:
    """Both powers of the betas; none if there are none."""
    found: list[float] = []
    for word in POWERS:
        powers = {float(file.values[key]) for key in file.scalars.get(word, ())}
        if len(powers) > 1:
            raise StateError(
                f"{file.path}: several optimizers; pass --step with the number of updates"
            )
        found += powers
    return found


def _ask_for_step(file: File, steps: Iterable[int]) -> str:
    numbers = ", ".join(map(str, steps)) or "none"
    return f"{file.path}: the number of updates is unclear (found {numbers}); pass it with --step"


def _betas(file: File, other: File) -> list[float]:
    """The betas of the first file that knows them, else Adam's defaults."""
    found = []
    for place, default in enumerate(_DEFAULT_BETAS):
        known = (one.beta(place) for one in (file, other))
        found.append(next((beta for beta in known if beta is not None), default))
    return found
