"""How far apart the halves may be on each rung, and why."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple


class Tolerance(NamedTuple):
    """One limit.

    Attributes:
      limit: The largest number that agrees.
      measure: Which number of :class:`~tpucompat.commands.verify.differences.Difference` is held against it.
      why: Where the limit comes from.
    """

    limit: float
    measure: str
    why: str


#: Rung -> its limit. Single precision has 6e-8 to a number.
DEFAULTS: Mapping[str, Tolerance] = {
    "initial": Tolerance(
        6.0,
        "deviations",
        (
            "deviations of mean, spread and distribution, before the new run receives the "
            "old run's values; two draws of one initializer differ by more once in 1e8 "
            "times, constants never"
        ),
    ),
    "forward": Tolerance(
        1e-5,
        "scaled",
        ("single precision; summation order differs between releases and processors"),
    ),
    "loss": Tolerance(1e-5, "max_rel", "single precision, a mean over the batch"),
    "gradients": Tolerance(
        1e-4, "scaled", ("sums over batch and positions, of both signs, in different orders")
    ),
    "update": Tolerance(
        5e-4,
        "mean_scaled",
        (
            "the difference of two single-precision values, without what the rounding of the "
            "gradient explains: Adam divides a small gradient by its own size, and its error "
            "too; the mean over a tensor is compared (pairs that agree: up to 1.2e-4; Adam "
            "with Keras' epsilon: 2e-3)"
        ),
    ),
    "steps": Tolerance(1e-3, "max_rel", "rounding errors grow with every step"),
    "moved": Tolerance(
        5e-3,
        "mean_scaled",
        (
            "the change of a variable over the first steps, relative to that change; ten times "
            "the limit for one update (pairs that agree: up to 3.3e-4)"
        ),
    ),
    "final": Tolerance(1e-2, "mean_scaled", "as for one update, accumulated over the steps"),
    "evaluation": Tolerance(1e-3, "max_rel", "as for the preceding steps"),
    "prediction": Tolerance(1e-3, "scaled", "as for the preceding steps"),
    "checkpoint": Tolerance(0.0, "max_abs", "a checkpoint stores exact values"),
    "saved": Tolerance(1e-2, "mean_scaled", "old and new checkpoint, as for the final variables"),
    "export": Tolerance(1e-3, "scaled", "as for the preceding steps"),
    "files": Tolerance(1e-3, "scaled", "as for the preceding steps"),
    "printed": Tolerance(
        1e-3, "scaled", "as for the preceding steps, plus the last digit of the old run"
    ),
}


def tolerances(changes: Mapping[str, Any] | None = None) -> dict[str, Tolerance]:
    """The limits, with a pair's own.

    Args:
      changes: Rung -> ``{"limit": ..., "why": ...}``.

    Raises:
      ValueError: There is no such rung, or a looser limit has no reason beside it.
    """
    result = dict(DEFAULTS)
    for rung, change in (changes or {}).items():
        if rung not in result:
            raise ValueError(f"unknown rung {rung!r}; choose from {', '.join(result)}")
        limit = float(change["limit"])
        why = str(change.get("why", ""))
        if limit > result[rung].limit and not why:
            raise ValueError(f"{rung}: a looser limit needs its reason (why = ...)")
        result[rung] = result[rung]._replace(limit=limit, why=why or result[rung].why)
    return result
