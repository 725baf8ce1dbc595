"""Whether two programs that draw random numbers of their own train the same: by many runs of each.

Dropout, shuffling and augmentation draw other numbers in each generation of TensorFlow, whatever the seed. Then
single numbers say nothing; but the final losses of several runs with different seeds come from the same
distribution, if the programs are the same, and so do the numbers that they report.
"""

from __future__ import annotations

import itertools
import math
from typing import Mapping, Sequence

import numpy as np

from tpucompat.commands.verify import printed
from tpucompat.commands.verify.differences import Difference
from tpucompat.commands.verify.recorder import Recording
from tpucompat.commands.verify.reports import same_metric, same_metrics
from tpucompat.commands.verify.rungs import AGREE, DIFFER, SKIPPED, Comparison, Row, Rung, ignored

#: Two sets of runs differ if chance makes as large a difference in less than this part of all cases.
SIGNIFICANCE = 0.02
#: With fewer runs of each half no difference can be that rare: 5 of 10 can be chosen in 252 ways.
FEWEST = 5
#: Rungs that random numbers decide.
_RANDOM = frozenset(
    [
        "forward",
        "loss",
        "gradients",
        "update",
        "steps",
        "evaluation",
        "prediction",
        "export",
        "checkpoint",
        "files",
        "printed",
    ]
)
#: The loss of a run is the mean over this last part of its steps.
_LAST = 0.25
#: So many ways to part the runs into two sets are looked at; all of them, where there are not more.
_WAYS = 20000


def with_distributions(
    comparison: Comparison,
    old: Sequence[Recording],
    new: Sequence[Recording],
    ignore: Mapping[str, str] | None = None,
) -> Comparison:
    """A comparison whose random rungs are replaced by two over several seeds: of losses, and of reports.

    Args:
      comparison: Of the first runs.
      old: The old script's runs, one for each seed.
      new: The new script's runs.
      ignore: Pattern -> why what it names need not agree.
    """
    rungs = [
        _without_numbers(rung) if rung.key in _RANDOM and rung.verdict == DIFFER else rung
        for rung in comparison.rungs
    ]
    losses = [[final_loss(run) for run in runs] for runs in (old, new)]
    values = [[reported(run) for run in runs] for runs in (old, new)]
    last = [rung_of(losses[0], losses[1]), rung_of_reports(values[0], values[1], ignore or {})]
    return comparison._replace(rungs=[*rungs, *last])


def _without_numbers(rung: Rung) -> Rung:
    """A rung that says no more of numbers; what one run lacks it lacks whatever the numbers are."""
    lacking = [row for row in rung.rows if row.verdict == DIFFER and not row.difference.comparable]
    if lacking or not rung.rows:
        return rung._replace(rows=lacking)
    return rung._replace(
        verdict=SKIPPED, note="depends on random numbers; see the rung over several seeds"
    )


def final_loss(recording: Recording) -> float:
    """The mean loss over the last quarter of a run's steps; NaN for a run without steps."""
    sites = recording.sites()
    if not sites:
        return math.nan
    losses = recording.objectives(sites[0]["site"])
    return float(np.mean(losses[-max(1, int(len(losses) * _LAST)) :]))


def rung_of(old: Sequence[float], new: Sequence[float]) -> Rung:
    """The verdict over final losses.

    Args:
      old: The old script's, one for each seed.
      new: The new script's.
    """
    title = "final losses over several seeds"
    theirs, ours = ([loss for loss in losses if math.isfinite(loss)] for losses in (old, new))
    if min(len(theirs), len(ours)) < FEWEST:
        why = (
            f"{len(theirs)} and {len(ours)} runs have a finite loss; at least {FEWEST} "
            "of each are required"
        )
        verdict = DIFFER if len(theirs) != len(ours) else SKIPPED
        return Rung("seeds", title, verdict, None, None, why, [])
    if len({*theirs, *ours}) == 1:
        return Rung("seeds", title, AGREE, None, None, "all runs have the same loss", [])
    chance = permutation_test(theirs, ours)
    note = (
        f"old {np.mean(theirs):.5g} ± {np.std(theirs):.2g}, new {np.mean(ours):.5g} ± "
        f"{np.std(ours):.2g} over {len(theirs)} seeds; p = {chance:.1%}"
    )
    if np.std(theirs) == 0 or np.std(ours) == 0:
        note += "; a script that sets its own seed does not vary"
    verdict = AGREE if chance >= SIGNIFICANCE else DIFFER
    error = abs(float(np.mean(ours) - np.mean(theirs)))
    relative = error / abs(float(np.mean(theirs)))
    difference = Difference(len(ours), error, error, error, relative, relative, relative)
    return Rung(
        "seeds", title, verdict, None, None, note, [Row("final loss", difference, verdict, [])]
    )


def reported(recording: Recording) -> dict[str, float]:
    """Numbers that a run reports, by name, of several their mean: evaluations, curves, files and print."""
    found: dict[str, list[float]] = {}

    def take(name: str, value: object) -> None:
        numbers = np.ravel(np.asarray(value))
        if numbers.dtype.kind in "biuf":
            found.setdefault(name, []).extend(numbers.astype(float).tolist())

    for kind in ("evaluation", "history"):
        for event in recording.all(kind):
            for name, value in same_metrics(event["values"]).items():
                take(f"{kind}: {name}", value)
    for event in recording.all("report"):
        for name, array in recording.arrays(event).items():
            take(f"{event['path']}: {name}", array)
    for name, numbers in printed.numbers(str(recording.first("printed").get("text", ""))).items():
        take(f"printed: {same_metric(name)}", numbers.values)
    return {name: float(np.mean(values)) for name, values in found.items()}


def rung_of_reports(
    old: Sequence[Mapping[str, float]],
    new: Sequence[Mapping[str, float]],
    ignore: Mapping[str, str],
) -> Rung:
    """The verdict over what all runs of both scripts report.

    Of many numbers one is far off by chance: the limit is shared by all of them.

    Args:
      old: Name -> number, for each of the old script's runs.
      new: The same of the new script.
      ignore: Pattern -> why what it names need not agree.
    """
    key, title = "reported", "reported numbers over several seeds"
    if min(len(old), len(new)) < FEWEST:
        return Rung(key, title, SKIPPED, None, None, f"{FEWEST} runs of each are needed", [])
    shared = [
        name
        for name in old[0]
        if all(name in run for run in [*old, *new])
        and not ignored(ignore, name, name.partition(": ")[2])
    ]
    rows, chances = [], {}
    for name in shared:
        theirs, ours = ([run[name] for run in runs] for runs in (old, new))
        chances[name] = by_chance(theirs, ours)
        error = abs(float(np.mean(ours) - np.mean(theirs)))
        relative = error / (abs(float(np.mean(theirs))) or 1.0)
        verdict = AGREE if chances[name] >= SIGNIFICANCE / len(shared) else DIFFER
        found = Difference(len(ours), error, error, error, relative, relative, relative)
        rows.append(Row(name, found, verdict, []))
    bad = [row for row in rows if row.verdict == DIFFER]
    if not rows:
        return Rung(key, title, SKIPPED, None, None, "no number is reported by all runs", [])
    note = f"{len(rows)} numbers"
    if bad:
        note = (
            f"{len(bad)} of {len(rows)} part, the first is {bad[0].name}: chance makes as large a "
            f"difference in {chances[bad[0].name]:.2g} of cases"
        )
    return Rung(key, title, DIFFER if bad else AGREE, None, None, note, rows)


def by_chance(one: Sequence[float], other: Sequence[float]) -> float:
    """Student's test: how often two draws from one normal distribution have means as far apart.

    Args:
      one: A set of numbers.
      other: Another one.
    """
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    degrees = len(a) + len(b) - 2
    apart = abs(float(a.mean() - b.mean()))
    spread = math.sqrt((a.var() * len(a) + b.var() * len(b)) / degrees)
    # Numbers that do not vary with the seed are equal, but for rounding.
    spread = max(spread, 1e-4 * abs(float(a.mean())))
    if not math.isfinite(apart) or not apart:
        return 1.0 if np.isfinite(a).all() == np.isfinite(b).all() else 0.0
    if not spread:
        return 0.0
    statistic = apart / (spread * math.sqrt(1 / len(a) + 1 / len(b)))
    # With T = sqrt(degrees) tan(angle), the density is a power of a cosine.
    angles = np.linspace(0, np.pi / 2, 20001)
    density = np.cos(angles) ** (degrees - 1)
    tail = angles >= math.atan(statistic / math.sqrt(degrees))
    return float(density[tail].sum() / density.sum())


def permutation_test(one: Sequence[float], other: Sequence[float]) -> float:
    """How often two sets of these sizes, drawn from all the numbers, have means as far apart.

    Args:
      one: A set of numbers.
      other: Another one.

    Returns:
      A part of 1: small where the sets hardly come from one distribution.
    """
    everything = np.array([*one, *other], np.float64)
    count, size = len(everything), len(one)
    total = everything.sum()
    seen = abs(np.mean(one) - np.mean(other))
    if math.factorial(count) // math.factorial(size) // math.factorial(count - size) <= _WAYS:
        ways = np.array(list(itertools.combinations(range(count), size)))
    else:
        rng = np.random.RandomState(0)
        ways = np.array([rng.permutation(count)[:size] for _ in range(_WAYS)])
    sums = everything[ways].sum(axis=1)
    apart = np.abs(sums / size - (total - sums) / (count - size))
    return float(np.mean(apart >= seen * (1 - 1e-9)))
