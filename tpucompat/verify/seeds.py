"""Whether two programs that draw random numbers of their own train alike: by many runs of each.

Dropout, shuffling and augmentation draw other numbers in each generation of TensorFlow, whatever the seed. Then
single numbers say nothing; but the final losses of several runs with different seeds come from the same
distribution, if the programs are the same.
"""

from __future__ import annotations

import itertools
import math
from typing import Sequence

import numpy as np

from tpucompat.verify.differences import Difference
from tpucompat.verify.recorder import Recording
from tpucompat.verify.rungs import AGREE, DIFFER, SKIPPED, Comparison, Row, Rung

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
    comparison: Comparison, old: Sequence[Recording], new: Sequence[Recording]
) -> Comparison:
    """A comparison whose random rungs are replaced by one over several seeds.

    Args:
      comparison: Of the first runs.
      old: The old script's runs, one for each seed.
      new: The new script's runs.
    """
    rungs = [
        _without_numbers(rung) if rung.key in _RANDOM and rung.verdict == DIFFER else rung
        for rung in comparison.rungs
    ]
    losses = [[final_loss(run) for run in runs] for runs in (old, new)]
    return comparison._replace(rungs=[*rungs, rung_of(losses[0], losses[1])])


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
