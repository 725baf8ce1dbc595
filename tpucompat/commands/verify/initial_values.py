"""The rung of the initial values: what each run draws by itself, before the new one gets the old one's."""

from __future__ import annotations

from itertools import combinations
from typing import Mapping, Sequence

import numpy as np

from tpucompat.commands.verify import differences
from tpucompat.commands.verify.outcomes import Outcomes
from tpucompat.commands.verify.recorder import Variable
from tpucompat.commands.verify.rungs import AGREE, DIFFER, Row, Rung


class InitialValues(Outcomes):
    """What variables begin with; :meth:`pairs` finds the values of both runs.

    Attributes:
      new_variables: The new run's variables, in its order.
    """

    new_variables: Sequence[Variable]

    def untrained(self, key: str, title: str) -> Rung | None:
        """The verdict where one run has no training step, or none of them has."""
        seen = [bool(recording.sites()) for recording in (self.old, self.new)]
        if all(seen):
            return None
        if not any(seen):
            return self.skipped(key, title, "neither run has a training step")
        which = "old" if seen[1] else "new"
        return self.differs(key, title, f"the {which} run does not train")

    def pairs(
        self, old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]
    ) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """(name, new value, old value) of the variables that both have, in the new run's order."""
        order = [variable.name for variable in self.new_variables]
        return [
            (name, new[name], old[self.matches.pairs[name]])
            for name in order
            if name in new and self.matches.pairs.get(name) in old
        ]

    def other_types(self) -> list[str]:
        """Variables of another precision."""
        found = [
            f"{name} is {actual.dtype} instead of {expected.dtype}"
            for name, actual, expected in self.pairs(self.old.initial(), self.new.drawn())
            if actual.dtype.kind == expected.dtype.kind == "f" and actual.dtype != expected.dtype
        ]
        return found[:4]

    def initial(self) -> Rung:
        """The rung: each variable's distribution, and that all of them are drawn apart."""
        title = "initial values have the same distribution"
        found = self.untrained("initial", title)
        if found:
            return found
        rows, problems, single = [], [], []
        old, given = self.old.initial(), self.new.initial()
        for name, actual, expected in self.pairs(old, self.new.drawn()):
            found_here = differences.drawn_alike(actual, expected)
            if found_here.deviations and differences.single_draws(actual, expected):
                single.append(name)
                continue
            verdict = AGREE if self.within("initial", found_here) else DIFFER
            rows.append(Row(name, found_here, verdict, []))
        problems += self.drawn_together()
        lost = [
            name
            for name, actual, expected in self.pairs(old, given)
            if self.new.all("own") and not differences.are_same(actual, expected)
        ]
        if lost:
            said = ", ".join(lost[:4])
            problems.append(f"the new run did not use the old run's initial values: {said}")
        note = ""
        if single:
            note = (
                f"not compared, because one number shows no distribution: {', '.join(single[:4])}"
            )
        return self.rung("initial", title, rows, note, "; ".join(problems))

    def drawn_together(self) -> list[str]:
        """Variables that only the new run draws from one random sequence, as one seed for all of them does."""
        kinds: dict[tuple[int, ...], list[tuple[str, np.ndarray, np.ndarray]]] = {}
        for each in self.pairs(self.old.initial(), self.new.drawn()):
            kinds.setdefault(differences.order_of_first(each[1]), []).append(each)
        return [
            f"{one[0]} and {other[0]} begin with the same random numbers"
            for kind in kinds.values()
            for one, other in combinations(kind, 2)
            if differences.same_numbers(one[1], other[1])
            and not differences.same_numbers(one[2], other[2])
        ][:1]
