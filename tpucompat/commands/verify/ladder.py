"""The ladder: what two recordings have in common, rung by rung, stopping nowhere."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Sequence

import numpy as np

from tpucompat.commands.verify import contents, differences
from tpucompat.commands.verify.answers import classes_of, in_their_order, probabilities_of
from tpucompat.commands.verify.differences import Difference
from tpucompat.commands.verify.initial_values import InitialValues
from tpucompat.commands.verify.matching import match
from tpucompat.commands.verify.recorder import Recording
from tpucompat.commands.verify.rungs import AGREE, DIFFER, Comparison, Row, Rung, with_little_said
from tpucompat.commands.verify.tolerances import Tolerance, tolerances

#: What is smaller than this part of the largest gradient (or update) of a model is rounding.
_NOISE = 1e-3
#: What is said of a size that is not known.
_UNKNOWN_SIZE = "what is there"
#: So many steps are few enough for rounding not to have grown.
_FIRST_STEPS = 20
#: A tensor whose gradient is no larger than this part of the model's largest one has none: what there is is
#: rounding, which Adam divides by its own size (a bias before batch normalization).
_ROUNDING = 1e-5


def compare(
    old: Recording,
    new: Recording,
    mapping: Mapping[str, str] | None = None,
    changes: Mapping[str, Any] | None = None,
    ignore: Mapping[str, str] | None = None,
    exports: Mapping[str, Any] | None = None,
) -> Comparison:
    """Compares two recordings.

    Args:
      old: Of the old script.
      new: Of the new script.
      mapping: New variable -> old variable.
      changes: Tolerances that differ from the default.
      ignore: Pattern -> why what it names need not agree, nor be in both runs: numbers in files and in print,
        metrics, slots, whole rungs ("evaluation").
      exports: What the exported models answered: see :mod:`tpucompat.commands.verify.exports`.
    """
    return _Ladder(old, new, mapping, tolerances(changes), ignore or {}, exports or {}).climb()


class _Ladder(InitialValues):
    def __init__(
        self,
        old: Recording,
        new: Recording,
        mapping: Mapping[str, str] | None,
        limits: Mapping[str, Tolerance],
        ignore: Mapping[str, str],
        exports: Mapping[str, Any],
    ) -> None:
        self.old_variables, self.new_variables = old.variables(), new.variables()
        matches = match(self.old_variables, self.new_variables, mapping)
        super().__init__(old, new, matches, limits, ignore)
        self.exports = exports
        self.sites = list(zip(old.sites(), new.sites()))
        self.before = old.initial(), new.initial()
        self.trained, self.rounding = self.gradient_sizes()
        self.drifts = self.find_drifts()
        self.matches_of_slots = self.match_slots()
        self.last_steps = self.find_last_steps()

    def gradient_sizes(self) -> tuple[set[str], set[str]]:
        """The new run's variables that have gradients, and those whose gradients are rounding."""
        sizes: dict[str, float] = {}
        for old_site, new_site in self.sites:
            old = self.old.arrays(self.old.first("gradients", site=old_site["site"]))
            new = self.new.arrays(self.new.first("gradients", site=new_site["site"]))
            for name, actual, expected in self.pairs(old, new):
                both = [float(np.max(np.abs(g), initial=0)) for g in (actual, expected)]
                sizes[name] = max(both)
        largest = max(sizes.values(), default=0.0)
        return set(sizes), {name for name, size in sizes.items() if size < _ROUNDING * largest}

    def climb(self) -> Comparison:
        rungs = [
            make()
            for make in (
                self.variables,
                self.initial,
                self.dropout,
                self.forward,
                self.loss,
                self.gradients,
                self.update,
                self.steps,
                self.evaluation,
                self.prediction,
                self.checkpoint,
                self.export,
                self.files,
                self.printed,
                self.flags,
            )
        ]
        return Comparison(with_little_said(rungs), self.matches, self.curves)

    # The rungs -----------------------------------------------------------------------------------

    def variables(self) -> Rung:
        title = "variables match in count, name and shape"
        found = self.untrained("variables", title)
        if found:
            return found
        matches = self.matches
        ways = sorted(set(matches.how.values()))
        counts = [f"{list(matches.how.values()).count(way)} by {way}" for way in ways]
        count = len(matches.pairs)
        note = f"{count} pair{'s' * (count != 1)}: " + ", ".join(counts)
        problems = list(matches.problems) + self.other_types()
        for which, names in (("old", matches.only_old), ("new", matches.only_new)):
            trained = {
                v.name
                for v in (self.old_variables if which == "old" else self.new_variables)
                if v.trainable
            }
            missing = [name for name in names if name in trained]
            if missing:
                problems.append(f"only in the {which} run: {', '.join(missing[:8])}")
            others = [name for name in names if name not in trained]
            if others:
                note += f"; not trained and only in the {which} run: {', '.join(others[:4])}"
        verdict = DIFFER if problems or not matches.pairs else AGREE
        return Rung("variables", title, verdict, None, None, "; ".join([*problems, note]), [])

    def dropout(self) -> Rung:
        title = "dropout rates"
        old, new = self.old.all("dropout"), self.new.all("dropout")
        found = self.alone("dropout", title, old, new, "drops anything out")
        if found:
            return found
        # A rate that the script decides in the step, by a placeholder, is not known here; nor is the size of
        # what a dataset has that does not say it.
        unknown = any(each["rate"] is None for each in [*old, *new])
        sizeless = any(_size(each["shape"]) == _UNKNOWN_SIZE for each in [*old, *new])

        def what_drops(event: Mapping[str, Any]) -> tuple[str, str]:
            rate = "?" if unknown else f"{event['rate']:g}"
            return rate, _UNKNOWN_SIZE if sizeless else _size(event["shape"])

        theirs, ours = (set(map(what_drops, events)) for events in (old, new))
        said = [f"only the old run drops {rate} of {size}" for rate, size in sorted(theirs - ours)]
        said += [f"only the new run drops {rate} of {size}" for rate, size in sorted(ours - theirs)]
        if said:
            return self.differs("dropout", title, "; ".join(said[:4]))
        rates = ", ".join(sorted({rate for rate, _ in theirs}))
        note = "rates that the step decides" if unknown else f"rates: {rates}"
        row = Row("rates", Difference(len(theirs)), AGREE, [])
        return Rung("dropout", title, AGREE, None, None, note, [row])

    def random_note(self) -> list[str]:
        """What to do where dropout decides the numbers of a step."""
        events = [*self.old.all("dropout"), *self.new.all("dropout")]
        if not any(event["on"] for event in events):
            return []
        return ["each run drops out other numbers: --no-dropout compares without"]

    def forward(self) -> Rung:
        title = "forward pass"
        found = self.untrained("forward", title)
        if found:
            return found
        rows, notes = [], self.random_note()
        for index, (old_outputs, new_outputs) in enumerate(self.outputs()):
            ours, theirs = new_outputs[1], old_outputs[1]
            if len(ours) != len(theirs):
                note = f"{len(ours)} examples in a step instead of {len(theirs)}"
                rows.append(Row(f"output {index}", Difference(note=note), DIFFER, []))
                continue
            ours, moved = in_their_order(ours, theirs)
            rows.append(self.row("forward", f"output {index}", ours, theirs))
            if moved is not None:
                notes.append("the examples of the step are in a different order")
        if not any(row.verdict == DIFFER for row in rows):
            notes = [note for note in notes if note not in self.random_note()]
        if not rows:
            return self.skipped(
                "forward", title, "neither loss uses logits, so the output is not recorded"
            )
        return self.rung("forward", title, rows, "; ".join(notes))

    def outputs(self) -> Iterable[tuple[tuple[Any, Any], tuple[Any, Any]]]:
        """(labels, probabilities) of the old and the new run, for each output of the first step."""
        for old_site, new_site in self.sites:
            halves = []
            for recording, site in ((self.old, old_site), (self.new, new_site)):
                event = recording.first("forward", site=site["site"])
                arrays = list(recording.arrays(event).values())
                kinds = event.get("outputs", [])
                halves.append(
                    [
                        (classes_of(labels), probabilities_of(kind, logits))
                        for kind, labels, logits in zip(kinds, arrays[::2], arrays[1::2])
                    ]
                )
            yield from zip(*halves)

    def loss(self) -> Rung:
        title = "loss of the first step"
        found = self.untrained("loss", title)
        if found:
            return found
        rows, problem = [], ""
        for index, (old_site, new_site) in enumerate(self.sites):
            expected = self.old.objectives(old_site["site"])[0]
            actual = self.new.objectives(new_site["site"])[0]
            rows.append(self.row("loss", f"loss {index}" if index else "loss", actual, expected))
            if rows[-1].verdict == DIFFER and expected:
                problem = (
                    f"{actual:.7g} instead of {expected:.7g}, {actual / expected:.6g} times as much"
                )
        note = ""
        for old_outputs, new_outputs in self.outputs():
            (theirs, old_rows), (ours, new_rows) = old_outputs, new_outputs
            if len(ours) == len(theirs) and len(old_rows) == len(new_rows):
                _, order = in_their_order(new_rows, old_rows)
                ours = ours if order is None else ours[order]
                # The same labels with other outputs may only be in another order.
                same_set = np.array_equal(np.sort(ours, axis=0), np.sort(theirs, axis=0))
                alike = new_rows.shape == old_rows.shape and np.allclose(
                    new_rows, old_rows, rtol=1e-3, atol=1e-4
                )
                if same_set and not alike:
                    continue
                if ours.shape == theirs.shape and not np.array_equal(ours, theirs):
                    parted = int(np.sum(np.any(np.atleast_2d((ours != theirs).T).T, axis=-1)))
                    note = f"{parted} of {len(theirs)} labels of the first step differ"
        return self.rung("loss", title, rows, problem or note, note if problem else "")

    def gradients(self) -> Rung:
        title = "gradients of the first step"
        found = self.untrained("gradients", title)
        if found:
            return found
        rows, problems = [], []
        for old_site, new_site in self.sites:
            old = self.old.arrays(self.old.first("gradients", site=old_site["site"]))
            new = self.new.arrays(self.new.first("gradients", site=new_site["site"]))
            # A gradient that is zero but for rounding (that of a key's bias in attention) has no scale.
            floor = _NOISE * max(
                (float(np.max(np.abs(g), initial=0)) for g in old.values()), default=0
            )
            rows += [
                self.row("gradients", *each, floor)
                for each in self.pairs(old, new)
                if each[0] not in self.rounding
            ]
            factors: list[float] = [
                np.sum(a * e) / np.sum(e * e)
                for _, a, e in self.pairs(old, new)
                if a.shape == e.shape and np.any(e)
            ]
            if _all_alike(factors, 1e-3) and abs(factors[0] - 1) > 1e-2:
                problems.append(f"all of them are {factors[0]:.4g} times as large")
        if len(self.old.sites()) != len(self.new.sites()):
            problems.append(
                f"{len(self.new.sites())} differentiated losses instead of {len(self.old.sites())}"
            )
        return self.rung("gradients", title, rows, problem="; ".join(problems))

    def update(self) -> Rung:
        title = "one update"
        found = self.untrained("update", title)
        if found:
            return found
        old, new = self.old.snapshots(), self.new.snapshots()
        common = sorted(set(old) & set(new) - {0})
        if not common:
            return self.skipped(
                "update", title, "the runs have no common step with recorded variables"
            )
        step = next((s for s in common if self.moves(s, old[s], new[s])), 0)
        if not step:
            return self.skipped("update", title, f"no trained variable moves in {common[-1]} steps")
        factors: list[float] = []
        changes = self.changes(step, old[step], new[step])
        for name, ours, theirs in changes:
            if name in self.trained and ours.shape == theirs.shape and np.any(theirs):
                factors.append(float(np.sum(ours * theirs) / np.sum(theirs * theirs)))
        floor = _NOISE * max((float(np.mean(np.abs(t))) for _, _, t in changes), default=0)
        if step == 1:
            changes = [
                (name, self.without_amplified(name, *both), both[1]) for name, *both in changes
            ]
        rows = [self.row("update", *change, floor) for change in changes]
        still = [s for s in common if s < step]
        notes = [] if step == 1 else [f"after {step} steps"]
        if still:
            notes = [f"the first update is after {step} steps"]
        if self.rounding:
            left_out = ", ".join(sorted(self.rounding)[:4])
            notes.append(f"skipped, because their gradients consist of rounding errors: {left_out}")
        slots, said = self.slots(step)
        rows += slots
        notes += said
        note = "; ".join(notes)
        problem = self.more_slots()
        if _all_alike(factors, 0.02) and abs(factors[0] - 1) > 0.02:
            problem = f"all updates are {factors[0]:.4g} times as large"
        return self.rung("update", title, rows, note, problem)

    def without_amplified(self, name: str, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """A first update, without what the difference of the gradients does to it."""
        sites = [
            (old, new)
            for old_site, new_site in self.sites
            for each, new, old in self.pairs(
                self.old.arrays(self.old.first("gradients", site=old_site["site"])),
                self.new.arrays(self.new.first("gradients", site=new_site["site"])),
            )
            if each == name
        ]
        if len(sites) != 1 or len({x.shape for x in (ours, theirs, *sites[0])}) != 1:
            return ours
        limit = self.limits["gradients"].limit
        return differences.without_amplified(ours, theirs, sites[0][1], sites[0][0], limit)

    def changes(
        self, step: int, old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]
    ) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """(name, change in the new run, change in the old run) until a step, of what is more than rounding."""
        old_before, new_before = self.before
        return [
            (
                name,
                actual.astype(np.float64) - new_before[name],
                expected.astype(np.float64) - old_before[self.matches.pairs[name]],
            )
            for name, actual, expected in self.without_rounding(step, old, new)
            if name in new_before and self.matches.pairs[name] in old_before
        ]

    def without_rounding(
        self, step: int, old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]
    ) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """(name, new value, old value) after a step, of what is more than rounding."""
        return [
            (name, self.without_drift(name, actual, expected, step), expected)
            for name, actual, expected in self.pairs(old, new)
            if name not in self.rounding
        ]

    def moves(
        self, step: int, old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]
    ) -> bool:
        """Whether a trained variable has moved in one of the runs: a warm-up may begin with a rate of 0."""
        return any(
            name in self.trained and (np.any(ours) or np.any(theirs))
            for name, ours, theirs in self.changes(step, old, new)
        )

    def slots(self, step: int) -> tuple[list[Row], list[str]]:
        """What the optimizers hold after a step, and what is to be said of it."""
        kept = self.new.slots()
        # Of a call that makes several steps the slots are seen after the last one.
        later = [one for one in self.old.slots() if one >= step and one in kept]
        at = min(later, default=step)
        old = self.kept_slots(self.old.slots().get(at, {}))
        if not old:
            return [], []
        said = f"with {len(old)} slots" + (f", after {at} steps" if at != step else "")
        return self.slot_rows("update", old, kept.get(at, {}), "the new optimizer"), [said]

    def more_slots(self) -> str:
        """Says if the new optimizer keeps more for each variable: what for may show in later steps only."""
        both = [step for step in self.old.slots() if step in self.new.slots()]
        old, new = (run.slots()[max(both)] if both else {} for run in (self.old, self.new))
        kept = self.new.first("optimizer").get("slots", ())
        trained = [v.shape for v in self.new_variables if v.name in self.trained]
        least = contents.more_for_each(trained, old, {n: new[n] for n in kept if n in new})
        if not old or least < 1 or self.ignored("slots"):
            return ""
        return f"the new optimizer keeps {least} tensor{'s' * (least > 1)} more for each variable"

    def kept_slots(self, slots: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The old run's slots that have to be there: not empty ones, nor what is rounding or the last step."""
        return {
            name: value
            for name, value in slots.items()
            if np.any(value)
            and self.matches_of_slots.get(name) not in self.rounding
            and name not in self.last_steps
        }

    def match_slots(self) -> dict[str, str]:
        """Slot of the old run -> the new run's variable that its name says it belongs to."""
        owners = {_plain(old): new for new, old in self.matches.pairs.items()}
        found = {}
        for name in {name for slots in self.old.slots().values() for name in slots}:
            inside = [known for known in owners if known in _plain(name)]
            if inside:
                found[name] = owners[max(inside, key=len)]
        return found

    def find_last_steps(self) -> set[str]:
        """Slots of the old run that are not state, but the last step.

        RMSProp of TensorFlow 1 has one also without momentum. What a step is is compared anyhow.
        """
        values = {**self.old.snapshots(), 0: self.old.initial()}
        found: dict[str, bool] = {}
        for step, slots in self.old.slots().items():
            if step not in values or step - 1 not in values:
                continue
            for name, slot in slots.items():
                owner = self.matches.pairs.get(self.matches_of_slots.get(name, ""), "")
                before, after = values[step - 1].get(owner), values[step].get(owner)
                if before is None or after is None or before.shape != slot.shape:
                    continue
                made = differences.compare(before.astype(np.float64) - after, slot)
                found[name] = found.get(name, True) and self.within("update", made)
        return {name for name, same in found.items() if same}

    def final_slots(self, recording: Recording) -> Mapping[str, np.ndarray]:
        slots = recording.slots()
        return self.kept_slots(slots[max(slots)]) if slots else {}

    def steps(self) -> Rung:
        title = "N steps"
        found = self.untrained("steps", title)
        if found:
            return found
        rows, notes, problems = [], [], []
        for index, (old_site, new_site) in enumerate(self.sites):
            theirs = self.old.objectives(old_site["site"])
            ours = self.new.objectives(new_site["site"])
            name = f"loss {index}" if index else "loss"
            self.curves[name] = (theirs, ours)
            # Of more shards than cores, several are computed on one.
            replicas = [site.get("replicas", 1) for site in (old_site, new_site)]
            cores = min(replicas[0], self.old.first("environment").get("cores", 1))
            if replicas[1] < cores and not self.ignored("replicas"):
                problems.append(f"each step runs on {replicas[1]} of {cores} replicas")
            if len(theirs) != len(ours):
                problems.append(f"{len(ours)} steps instead of {len(theirs)}")
            count = min(len(theirs), len(ours))
            rows.append(self.row("steps", f"{name} of {count} steps", ours[:count], theirs[:count]))
            error = np.abs(np.array(ours[:count]) - theirs[:count])
            size = np.abs(theirs[:count])
            parted = np.flatnonzero(~(error <= self.limits["steps"].limit * size))
            if len(parted):
                problems.append(f"the curves diverge at step {parted[0] + 1}")
        old, new = self.old.snapshots(), self.new.snapshots()
        common = sorted(set(old) & set(new))
        step = common[-1] if common else 0
        ways, said = self.ways(old, new, common)
        problems += said
        finals = []
        if step:
            finals = [
                self.row("final", name, actual, expected)
                for name, actual, expected in self.without_rounding(step, old[step], new[step])
            ]
            bad = [row.name for row in finals if row.verdict == DIFFER]
            if bad:
                problems.append(
                    f"after {step} steps {len(bad)} of {len(finals)} variables differ, "
                    f"first {bad[0]}"
                )
            else:
                notes.append(f"includes {len(finals)} variables after {step} steps")
        finals += ways
        rung = self.rung("steps", title, rows, "; ".join(notes), "; ".join(problems))
        if any(row.verdict == DIFFER for row in finals) and all(r.verdict == AGREE for r in rows):
            # The curves say nothing of it: the number to show is that of the variables.
            shown = ways if any(row.verdict == DIFFER for row in ways) else finals
            limit = self.limits["moved" if shown is ways else "final"]
            numbers = [getattr(row.difference, limit.measure) for row in shown]
            rung = rung._replace(worst=float(max(numbers)), tolerance=limit)
        return rung._replace(rows=[*rung.rows, *finals])

    def ways(
        self,
        old: Mapping[int, Mapping[str, np.ndarray]],
        new: Mapping[int, Mapping[str, np.ndarray]],
        common: Sequence[int],
    ) -> tuple[list[Row], list[str]]:
        """How far variables have come in the first steps: a small rate hides much beside their values."""
        for step in common:
            if not 1 < step <= _FIRST_STEPS:
                continue
            changes = self.changes(step, old[step], new[step])
            floor = _NOISE * max((float(np.mean(np.abs(t))) for _, _, t in changes), default=0)
            rows = [
                self.row("moved", f"way of {name} in {step} steps", a, e, floor)
                for name, a, e in changes
            ]
            bad = [row for row in rows if row.verdict == DIFFER]
            if bad:
                said = f"in {step} steps {len(bad)} of {len(rows)} variables go another way"
                return rows, [f"{said}, the first is {bad[0].name[7:].rpartition(' in ')[0]}"]
        return [], []


def _size(shape: Sequence[int | None] | None) -> str:
    """A shape but for the batch, as it is said; where it is not known, nothing of it is."""
    if shape is None or None in shape:
        return _UNKNOWN_SIZE
    return "×".join(map(str, shape)) or "single numbers"


def _plain(name: str) -> str:
    """Keras 3 writes a variable's path with underscores into the names of its slots."""
    return name.replace("/", "_").lower()


def _all_alike(factors: Sequence[float], limit: float) -> bool:
    return bool(factors) and max(factors) - min(factors) < limit * abs(factors[0])
