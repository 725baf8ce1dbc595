"""What the ladder is made of: rows, rungs, and how a row gets its verdict."""

from __future__ import annotations

import fnmatch
from typing import Any, Mapping, NamedTuple, Sequence

from tpucompat.commands.verify import differences
from tpucompat.commands.verify.differences import Difference
from tpucompat.commands.verify.matching import Matches
from tpucompat.commands.verify.recorder import Recording
from tpucompat.commands.verify.tolerances import Tolerance

AGREE, DIFFER, SKIPPED = "agree", "differ", "not compared"


class Row(NamedTuple):
    """One compared tensor or number.

    Attributes:
      name: What it is called in the new run.
      difference: How far it is from the old run's.
      verdict: "agree" or "differ".
      histogram: Its elements' relative errors, by powers of ten from 1e-10 on.
    """

    name: str
    difference: Difference
    verdict: str
    histogram: list[int]


class Rung(NamedTuple):
    """One rung's verdict.

    Attributes:
      key: Its name in tables and tolerances.
      title: Its name for people.
      verdict: "agree", "differ" or "not compared".
      worst: The number that is held against the limit; None where there is none.
      tolerance: The limit.
      note: What is to be said about it.
      rows: What was compared.
    """

    key: str
    title: str
    verdict: str
    worst: float | None
    tolerance: Tolerance | None
    note: str
    rows: list[Row]


class Comparison(NamedTuple):
    """All rungs, and what the report draws.

    Attributes:
      rungs: In order.
      matches: Which variable is which.
      curves: Name of a curve -> (old numbers, new numbers).
    """

    rungs: list[Rung]
    matches: Matches
    curves: dict[str, tuple[list[float], list[float]]]

    @property
    def verdict(self) -> str:
        """ "differ" if any rung does, "agree" if one was compared at least."""
        if any(rung.verdict == DIFFER for rung in self.rungs):
            return DIFFER
        # Flags with the same defaults say nothing of what was computed.
        agree = any(rung.verdict == AGREE for rung in self.rungs if rung.key != "flags")
        return AGREE if agree else SKIPPED


def ignored(ignore: Mapping[str, str], *names: str) -> str:
    """Why none of these names need agree; "" if it has to.

    Args:
      ignore: Pattern -> why.
      *names: What something is called.
    """
    for pattern, why in ignore.items():
        if any(fnmatch.fnmatch(name, pattern) for name in names):
            return why or "asked for"
    return ""


class Rungs:
    """Two recordings, and what every rung is made of.

    Args:
      old: Of the old script.
      new: Of the new script.
      matches: Which variable is which.
      limits: Rung -> its limit.
      ignore: Pattern -> why what it names need not agree, nor be there in both runs.
    """

    def __init__(
        self,
        old: Recording,
        new: Recording,
        matches: Matches,
        limits: Mapping[str, Tolerance],
        ignore: Mapping[str, str],
    ) -> None:
        self.old, self.new = old, new
        self.matches = matches
        self.limits = limits
        self.ignore = ignore
        self.curves: dict[str, tuple[list[float], list[float]]] = {}

    def row(self, key: str, name: str, actual: Any, expected: Any, floor: float = 0.0) -> Row:
        """A row with its verdict."""
        found = differences.compare(actual, expected, floor)
        return Row(
            name,
            found,
            AGREE if self.within(key, found) else DIFFER,
            differences.histogram(actual, expected) if found.comparable else [],
        )

    def within(self, key: str, found: Difference) -> bool:
        """Whether a difference is within the limit of a rung."""
        value = getattr(found, self.limits[key].measure)
        return found.comparable and not found.nans and bool(value <= self.limits[key].limit)

    def rung(
        self, key: str, title: str, rows: Sequence[Row], note: str = "", problem: str = ""
    ) -> Rung:
        """A rung from its rows; a problem makes it differ whatever the rows say."""
        limit = self.limits.get(key)
        worst = None
        if rows and limit is not None:
            numbers = [getattr(row.difference, limit.measure) for row in rows]
            worst = float(max(numbers))
        bad = [row for row in rows if row.verdict == DIFFER]
        notes = [problem, note]
        if bad:
            first = bad[0]
            why = first.difference.note
            if first.difference.nans:
                why = f"{first.difference.nans} numbers are NaN or infinite in one run only"
            notes.insert(
                0,
                f"{len(bad)} of {len(rows)} differ, first {first.name}"
                + (f": {why}" if why else ""),
            )
        verdict = DIFFER if bad or problem else (AGREE if rows else SKIPPED)
        return Rung(key, title, verdict, worst, limit, "; ".join(filter(None, notes)), list(rows))

    def skipped(self, key: str, title: str, why: str) -> Rung:
        """A rung on which nothing was compared."""
        return Rung(key, title, SKIPPED, None, self.limits.get(key), why, [])

    def differs(self, key: str, title: str, why: str) -> Rung:
        """A rung that differs as a whole."""
        return Rung(key, title, DIFFER, None, self.limits.get(key), why, [])

    def ignored(self, *names: str) -> str:
        """Why none of these names need agree; "" if it has to."""
        return ignored(self.ignore, *names)

    def alone(self, key: str, title: str, old: Any, new: Any, does: str) -> Rung | None:
        """The verdict where one run does what the other does not, or none of them does it.

        Args:
          key: Of the rung, and what a pattern calls it that says why.
          title: Of the rung.
          old: Whatever the old run has of it.
          new: Whatever the new run has of it.
          does: What such a run does: "calls evaluate".
        """
        if bool(old) == bool(new):
            return None if old else self.skipped(key, title, f"neither run {does}")
        said = f"only the {'old' if old else 'new'} run {does}"
        why = self.ignored(key)
        return self.skipped(key, title, f"{said}: {why}") if why else self.differs(key, title, said)

    def only_in(self, which: str, name: str, *names: str) -> list[Row]:
        """A row for what one run has alone, unless somebody has said why."""
        if self.ignored(name, *names):
            return []
        return [Row(name, Difference(note=f"in the {which} run only"), DIFFER, [])]

    def shared(
        self, key: str, old: Mapping[str, Any], new: Mapping[str, Any], place: str = ""
    ) -> list[Row]:
        """Rows for numbers by name: what one run has alone differs.

        Args:
          key: Of the rung.
          old: Name -> the old run's number or array.
          new: Name -> the new run's.
          place: What stands before the names in the report.
        """
        rows: list[Row] = []
        for name in dict.fromkeys([*old, *new]):
            label = place + name
            if name not in old or name not in new:
                rows += self.only_in("old" if name in old else "new", label, name)
            elif not self.ignored(name, label):
                rows.append(self.row(key, label, new[name], old[name]))
        return rows


def with_little_said(rungs: list[Rung]) -> list[Rung]:
    """Says of a pair that agrees on one number that it does."""
    compared = [rung for rung in rungs if rung.verdict != SKIPPED and rung.key != "flags"]
    numbers = sum(row.difference.numbers for rung in compared for row in rung.rows)
    if numbers > 1 or len(compared) != 1 or compared[0].key == "variables":
        return rungs
    said = "; ".join(filter(None, [compared[0].note, "only one number is compared"]))
    return [rung._replace(note=said) if rung is compared[0] else rung for rung in rungs]
