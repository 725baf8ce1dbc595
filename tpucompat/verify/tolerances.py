"""How far apart the halves may be on each rung, and why."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple


class Tolerance(NamedTuple):
    """One limit.

    Attributes:
      limit: The largest number that agrees.
      measure: Which number of :class:`~tpucompat.verify.differences.Difference` is held against it.
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
        "standard errors of mean, spread and distribution before the new run is given the old run's values; "
        "two draws of one initializer are as far apart once in 1e8 times, a constant never",
    ),
    "forward": Tolerance(
        1e-5, "scaled", "single precision; releases and processors add up in another order"
    ),
    "loss": Tolerance(1e-5, "max_rel", "single precision, a mean over the batch"),
    "gradients": Tolerance(
        1e-4, "scaled", "sums over batch and positions, of both signs, in another order"
    ),
    "update": Tolerance(
        5e-4,
        "mean_scaled",
        "the difference of two single-precision values; Adam divides a small gradient by its own size, "
        "and so its rounding too: the mean over a tensor counts, not its largest error (pairs that agree: up "
        "to 1.2e-4; Adam with Keras' epsilon: 2e-3)",
    ),
    "steps": Tolerance(1e-3, "max_rel", "rounding grows with every step"),
    "moved": Tolerance(
        5e-3,
        "mean_scaled",
        "how far a variable has come from its initial value within the first steps, in parts of that way; ten "
        "times what is allowed for one update (pairs that agree: up to 3.3e-4)",
    ),
    "final": Tolerance(1e-2, "mean_scaled", "as for one update, grown over the steps"),
    "evaluation": Tolerance(1e-3, "max_rel", "as for the steps that came before"),
    "prediction": Tolerance(1e-3, "scaled", "as for the steps that came before"),
    "checkpoint": Tolerance(0.0, "max_abs", "what was saved is what was there"),
    "saved": Tolerance(
        1e-2, "mean_scaled", "of old and new checkpoint, as for the final variables"
    ),
    "export": Tolerance(1e-3, "scaled", "as for the steps that came before"),
    "files": Tolerance(1e-3, "scaled", "as for the steps that came before"),
    "printed": Tolerance(
        1e-3, "scaled", "as for the steps that came before, and a last digit printed"
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
            raise ValueError(f"there is no rung {rung!r}; there are {', '.join(result)}")
        limit = float(change["limit"])
        why = str(change.get("why", ""))
        if limit > result[rung].limit and not why:
            raise ValueError(f"{rung}: a looser limit needs its reason (why = ...)")
        result[rung] = result[rung]._replace(limit=limit, why=why or result[rung].why)
    return result
