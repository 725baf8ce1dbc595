"""How far two arrays are apart, and what counts as equal."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: Draws that are this close are the same draw, rounded in another order.
_EQUAL = 1e-6


class Difference(NamedTuple):
    """The statistics of one comparison; absolute errors, and errors relative to the expected number.

    Attributes:
      numbers: How many numbers were compared.
      max_abs, mean_abs, p99_abs: Largest, mean and 99th percentile of the absolute error.
      max_rel, mean_rel, p99_rel: The same of the relative error, where the expected number is not 0.
      scaled: The largest absolute error, divided by the largest expected number.
      mean_scaled: The mean absolute error, divided by the mean size of the expected numbers.
      nans: How many numbers are NaN in one run only, or infinite with different signs.
      deviations: Of :func:`drawn_alike`: by how many standard errors the two are apart.
      note: Why the two could not be compared, such as different shapes; "" if they could.
    """

    numbers: int = 0
    max_abs: float = 0.0
    mean_abs: float = 0.0
    p99_abs: float = 0.0
    max_rel: float = 0.0
    mean_rel: float = 0.0
    p99_rel: float = 0.0
    scaled: float = 0.0
    mean_scaled: float = 0.0
    nans: int = 0
    note: str = ""
    deviations: float = 0.0

    @property
    def comparable(self) -> bool:
        """Whether the two have a shape in common."""
        return not self.note


def compare(actual: Any, expected: Any, floor: float = 0.0) -> Difference:
    """Compares two arrays element by element.

    A NaN on both sides, or the same infinity on both sides, counts as equal: an old script that divides
    by zero has a twin that does. A NaN on one side only never agrees with anything.

    Args:
      actual: The new run's numbers.
      expected: The old run's numbers, of the same shape; axes of length 1 do not matter.
      floor: The least size that errors are scaled by: what is far smaller than its neighbours is rounding.
    """
    a, e = np.asarray(actual), np.asarray(expected)
    if a.shape != e.shape:
        if np.squeeze(a).shape != np.squeeze(e).shape:
            return Difference(note=f"shape {_shape(a)} instead of {_shape(e)}")
        a, e = np.squeeze(a), np.squeeze(e)
    if a.dtype.kind not in "biuf" or e.dtype.kind not in "biuf":
        same = a.astype(str) == e.astype(str)
        return Difference(int(a.size), note="" if bool(np.all(same)) else "other text")
    a, e = a.astype(np.float64).ravel(), e.astype(np.float64).ravel()
    if not a.size:
        return Difference()
    with np.errstate(all="ignore"):
        same = (np.isnan(a) & np.isnan(e)) | (a == e)
        error = np.where(same, 0.0, np.abs(a - e))
        odd = ~np.isfinite(error)
        error = error[~odd]
        size = np.abs(e[~odd])
    if not error.size:
        return Difference(int(a.size), nans=int(odd.sum()))
    finite = np.where(np.isfinite(size), size, 0.0)
    relative = error[finite > 0] / finite[finite > 0]
    largest, mean = max(float(finite.max()), floor), max(float(finite.mean()), floor)
    return Difference(
        numbers=int(a.size),
        max_abs=float(error.max()),
        mean_abs=float(error.mean()),
        p99_abs=float(np.percentile(error, 99)),
        max_rel=float(relative.max()) if relative.size else 0.0,
        mean_rel=float(relative.mean()) if relative.size else 0.0,
        p99_rel=float(np.percentile(relative, 99)) if relative.size else 0.0,
        scaled=_over(float(error.max()), largest),
        mean_scaled=_over(float(error.mean()), mean),
        nans=int(odd.sum()),
    )


def drawn_alike(actual: Any, expected: Any) -> Difference:
    """Compares two draws of an initializer: equal, or of the same distribution.

    Generations of TensorFlow draw other numbers from the same seed. What can be held against each other is the
    mean, the spread, the distribution function (Kolmogorov and Smirnov's statistic) and the extremes. Each is
    given in the deviations of a normal variable that are as rare, so that small tensors are not asked for more
    than they can tell. A constant has to be equal.

    Args:
      actual: The new run's numbers.
      expected: The old run's, of the same shape.
    """
    found = compare(actual, expected)
    if not found.comparable or found.nans or found.scaled <= _EQUAL:
        return found
    a, e = (np.sort(np.asarray(x, np.float64).ravel()) for x in (actual, expected))
    spreads, size = (float(np.std(a)), float(np.std(e))), a.size
    if not all(spreads):
        return found._replace(deviations=float("inf"))
    mean = _as_normal(
        abs(a.mean() - e.mean()) / np.hypot(*spreads) * np.sqrt(size - 1), 2 * size - 2
    )
    # For normal variables, sinh(log(ratio)) sqrt(f) has Student's distribution with f = n - 1 degrees of
    # freedom (Cacoullos 1965). For others the fourth moment decides how much a spread varies; few numbers do
    # not tell it.
    known = np.mean([np.mean((x - x.mean()) ** 4) / np.var(x) ** 2 for x in (a, e)])
    kurtosis = (size * known + _NORMAL_KURTOSIS * _FEW) / (size + _FEW)
    freedom = 2 * (size - 1) / max(kurtosis - 1, 0.5)
    ratio = np.sinh(abs(np.log(spreads[0] / spreads[1])))
    spread = _as_normal(np.sqrt(freedom) * ratio, freedom)
    both = np.concatenate([a, e])
    shares = [np.searchsorted(x, both, side="right") / size for x in (a, e)]
    # Twice, for a chance as small as that of a mean: 2 exp(-2 (D² n / 2)).
    shape = 2 * np.max(np.abs(shares[0] - shares[1])) * np.sqrt(size / 2)
    return found._replace(deviations=float(max(mean, spread, shape, _extremes(a, e))))


def _extremes(a: np.ndarray, e: np.ndarray) -> float:
    """How rare it is that so many extreme numbers come from one of two draws.

    A uniform and a truncated normal distribution of the same spread differ little in the middle, but one ends
    before the other. That the k largest of all numbers come from one draw has a chance of 2^(1-k) at most.
    """
    beyond, margin = 0, _COARSE * max(np.max(np.abs(a)), np.max(np.abs(e)))
    for x, y in ((a, e), (-a, -e), (np.abs(a), np.abs(e))):
        beyond = max(beyond, int(np.sum(x > y.max() + margin)), int(np.sum(y > x.max() + margin)))
    # The chance of a mean of so many deviations is 2 exp(-deviations² / 2) at most.
    return float(np.sqrt(2 * np.log(2) * beyond))


def order_of_first(values: Any) -> tuple[int, ...]:
    """The order of a variable's first numbers: the same for all that are drawn from one random sequence.

    Args:
      values: Its numbers.
    """
    return tuple(np.argsort(np.ravel(values)[:_SEQUENCE], kind="stable").tolist())


def same_numbers(one: Any, other: Any) -> bool:
    """Whether two variables are drawn from the same random numbers, each with its own mean and spread.

    Args:
      one: Some numbers.
      other: The numbers of another variable; the smaller one's decide.
    """
    size = min(np.size(one), np.size(other))
    if size < _SEQUENCE:
        return False
    first, second = (np.asarray(x, np.float64).ravel()[:size] for x in (one, other))
    spread = np.std(first) * np.std(second)
    if not np.isfinite(spread) or not spread:
        return False
    product = np.mean((first - first.mean()) * (second - second.mean()))
    return bool(product > (1 - _EQUAL) * spread)


def without_amplified(
    ours: np.ndarray, theirs: np.ndarray, gradient: np.ndarray, expected: np.ndarray, limit: float
) -> np.ndarray:
    """An update, less what the rounding of its gradient explains.

    A gradient g may be near zero, and mostly rounding. Adam, RMSProp and Adagrad divide it by its size. Their
    first update u(g) is a function of which u(g)/g does not grow with the size of g. So where g differs by d, u
    differs by no more than u d/g, for the smaller g. For gradient descent that is exact.

    Args:
      ours: The new run's update.
      theirs: The old run's.
      gradient: The new run's gradient.
      expected: The old run's.
      limit: How much of the largest gradient the gradients may differ; more explains nothing more.
    """
    sizes = np.minimum(np.abs(gradient), np.abs(expected)).astype(np.float64)
    apart = np.minimum(
        np.abs(np.subtract(gradient, expected, dtype=np.float64)),
        limit * np.max(np.abs(expected), initial=0.0),
    )
    explained = np.abs(theirs) * np.divide(apart, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    error = ours - theirs
    return theirs + np.sign(error) * np.maximum(np.abs(error) - explained, 0.0)


def are_same(actual: Any, expected: Any) -> bool:
    """Whether two arrays hold the same numbers, bit by bit but for the sign of a zero; NaN equals NaN."""
    found = compare(actual, expected)
    return found.comparable and not found.nans and not found.max_abs


def single_draws(actual: Any, expected: Any) -> bool:
    """Whether both are one number that an initializer has drawn.

    A constant that somebody has written is short in decimal digits (0, 1, 0.1, -4.6); of numbers that are drawn
    in single precision, one in a thousand is.

    Args:
      actual: The new run's numbers.
      expected: The old run's.
    """
    return all(np.size(x) == 1 and not _is_short(np.asarray(x).item()) for x in (actual, expected))


def _is_short(number: float) -> bool:
    return bool(np.float32(number) == np.float32(f"{number:.{_SHORT}g}"))


#: Digits of a constant.
_SHORT = 4

#: So many numbers are in the same order by chance in no run.
_SEQUENCE = 16

#: The rounding of bfloat16: where a draw in low precision ends depends on how its generator rounds.
_COARSE = 2**-8

#: Where the fourth moment of so many numbers is known, it counts as much as that of the normal distribution.
_FEW, _NORMAL_KURTOSIS = 30, 3


def _as_normal(t: float, freedom: float) -> float:
    """The deviation of a normal variable that is as rare as one of Student's (Wallace 1959)."""
    return float(
        np.sqrt(freedom * np.log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3)
    )


def histogram(actual: Any, expected: Any, low: int = -10, high: int = 1) -> list[int]:
    """How many elements have a relative error in each power of ten.

    Args:
      actual: The new run's numbers.
      expected: The old run's, of the same shape.
      low: The exponent that smaller errors are counted under; errors of exactly 0 are too.
      high: The exponent that larger ones are counted under.
    """
    numbers = all(np.asarray(x).dtype.kind in "biuf" for x in (actual, expected))
    a = np.asarray(actual, np.float64 if numbers else None).ravel()
    e = np.asarray(expected, np.float64 if numbers else None).ravel()
    if a.shape != e.shape or not a.size or not numbers:
        return [0] * (high - low + 1)
    scale = float(np.max(np.abs(e))) or 1.0
    with np.errstate(all="ignore"):
        error = np.abs(a - e) / scale
        power = np.floor(np.log10(np.where(error > 0, error, 10.0**low)))
    power = np.where(np.isfinite(power), power, high)
    counts = np.bincount((np.clip(power, low, high) - low).astype(int), minlength=high - low + 1)
    return [int(count) for count in counts]


def same_rows(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Puts rows of a batch that the replicas shared in another order beside their twins.

    Args:
      actual: Shape (rows, width).
      expected: Shape (rows, width).

    Returns:
      For each expected row the index of the nearest actual one, shape (rows,).
    """
    squares = (actual**2).sum(1)[None, :] - 2 * expected @ actual.T
    return np.argmin(squares, axis=1)


def _over(error: float, size: float) -> float:
    if size:
        return error / size
    return float("inf") if error else 0.0


def _shape(array: np.ndarray) -> str:
    return "×".join(map(str, array.shape)) or "a single number"
