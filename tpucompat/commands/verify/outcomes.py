"""The upper rungs: what a script does with what it has trained, and what it leaves behind.

What one run does and the other does not is a difference, unless the table of pairs says why.
"""

from __future__ import annotations

import os
from typing import AbstractSet, Any, Mapping, Sequence

import numpy as np

from tpucompat.commands.verify import checkpoint_files, checkpoint_names, contents, interfaces
from tpucompat.commands.verify.differences import Difference
from tpucompat.commands.verify.recorder import Recording
from tpucompat.commands.verify.reports import Reports, same_metrics
from tpucompat.commands.verify.rungs import AGREE, DIFFER, SKIPPED, Row, Rung


def exported(old: Recording, new: Recording) -> list[list[dict[str, Any]]]:
    """What each run has exported; where the other one does, a file of Keras 3 stands for that.

    ``model.save`` of Keras 2 exports a model, that of Keras 3 writes a file.
    """
    found = [run.all("export") for run in (old, new)]
    if any(found):
        found = [one or run.all("keras_model") for one, run in zip(found, (old, new))]
    return found


class Outcomes(Reports):
    """Evaluation, prediction, checkpoints and exported models.

    Attributes:
      exports: What the exported models answered: see :mod:`tpucompat.commands.verify.exports`.
      trained: The new run's variables that have gradients.
      rounding: Those of them whose gradients are rounding alone.
      drifts: Step -> shape -> how far apart variables of that shape may be by then, for rounding.
    """

    exports: Mapping[str, Any] = {}
    trained: AbstractSet[str] = frozenset()
    rounding: AbstractSet[str] = frozenset()
    drifts: Mapping[int, Mapping[tuple[int, ...], np.ndarray]] = {}

    def without_drift(
        self, name: str, actual: np.ndarray, expected: np.ndarray, last: int | None = None
    ) -> np.ndarray:
        """A new value, less what it may owe to variables that drift.

        A gradient that is rounding moves its variable another way in each run, and with it whatever follows
        that variable: a moving mean its bias, an average of weights those weights.

        Args:
          name: The new variable.
          actual: Its value.
          expected: The old run's.
          last: The step after which both are seen; None after all.
        """
        if name in self.trained or actual.shape != expected.shape:
            return actual
        seen = [step for step in self.drifts if last is None or step <= last]
        drift = self.drifts[max(seen)].get(actual.shape) if seen else None
        if drift is None:
            return actual
        apart = actual.astype(np.float64) - expected
        return expected + np.sign(apart) * np.maximum(np.abs(apart) - drift, 0)

    def find_drifts(self) -> dict[int, dict[tuple[int, ...], np.ndarray]]:
        """Steps -> shape -> how far apart drifting variables of that shape have been until then."""
        found: dict[int, dict[tuple[int, ...], np.ndarray]] = {}
        until: dict[tuple[int, ...], np.ndarray] = {}
        old, new = (self.old.snapshots(), self.new.snapshots()) if self.rounding else ({}, {})
        for step in sorted(set(old) & set(new)):
            for name in self.rounding & set(new[step]):
                ours, theirs = new[step][name], old[step].get(self.matches.pairs[name])
                if theirs is not None and theirs.shape == ours.shape:
                    apart = np.abs(ours.astype(np.float64) - theirs)
                    until[ours.shape] = np.maximum(until.get(ours.shape, 0), apart)
            found[step] = dict(until)
        return found

    def evaluation(self) -> Rung:
        """What ``evaluate`` finds, and what ``fit`` says of its epochs."""
        key, title = "evaluation", "evaluation"
        rows = self.history()
        old, new = self.old.all("evaluation"), self.new.all("evaluation")
        found = self.alone(key, title, old or rows, new or rows, "calls evaluate")
        if found:
            return found
        problem = ""
        if len(old) != len(new):
            problem = f"{len(new)} evaluations instead of {len(old)}"
        for index, (theirs, ours) in enumerate(zip(old, new)):
            place = "" if len(old) == 1 else f"evaluation {index + 1}: "
            rows += self.shared(
                key, same_metrics(theirs["values"]), same_metrics(ours["values"]), place
            )
        why = self.ignored(key)
        if problem and why:
            return self.rung(key, title, rows, f"{problem}: {why}")
        return self.with_drift(self.rung(key, title, rows, problem=problem))

    def with_drift(self, rung: Rung) -> Rung:
        """Says of what differs that it may owe it to variables which drift, and averages that follow them."""
        if rung.verdict != DIFFER or not self.rounding:
            return rung
        named = ", ".join(sorted(self.rounding)[:4])
        why = f"each run moves {named} another way, because its gradients are rounding"
        return rung._replace(note=f"{rung.note}; {why}: without it (use_bias=False) this is sharp")

    def history(self) -> list[Row]:
        """What ``fit`` says, epoch by epoch."""
        rows = []
        counts = [len(run.all("history")) for run in (self.old, self.new)]
        if all(counts) and counts[0] != counts[1] and not self.ignored("fit: count"):
            note = f"{counts[1]} calls of fit instead of {counts[0]}"
            rows.append(Row("fit: count", Difference(note=note), DIFFER, []))
        for theirs, ours in zip(self.old.all("history"), self.new.all("history")):
            old, new = same_metrics(theirs["values"]), same_metrics(ours["values"])
            for name in old:
                if name in new and name.startswith("val_"):
                    self.curves[name] = (old[name], new[name])
            rows += self.shared("evaluation", old, new, "fit: ")
        # A loop of one's own may take the place of fit, but has to validate as fit did.
        if bool(self.old.all("history")) != bool(self.new.all("history")):
            which = "old" if self.old.all("history") else "new"
            run = self.old if which == "old" else self.new
            names = {name for fit in run.all("history") for name in same_metrics(fit["values"])}
            validated = sorted(name for name in names if name.startswith("val_"))
            rows += [row for name in validated for row in self.only_in(which, f"fit: {name}", name)]
        return rows

    def prediction(self) -> Rung:
        """What ``predict`` answers."""
        key, title = "prediction", "prediction"
        old, new = self.old.all(key), self.new.all(key)
        found = self.alone(key, title, old, new, "calls predict")
        if found:
            return found
        rows, notes, problems = [], [], []
        if len(old) != len(new) and not self.ignored(key):
            problems.append(f"{len(new)} predictions instead of {len(old)}")
        for theirs, ours in zip(old, new):
            both = self.old.arrays(theirs), self.new.arrays(ours)
            types = self.old.types(theirs), self.new.types(ours)
            found_rows, said = self.answers(key, *both, types)
            rows += found_rows
            # Whoever asked for some answers only says nothing of how many there are.
            other = theirs.get("complete") and ours["count"] != theirs["count"]
            if other and not self.ignored("prediction: count"):
                said = [f"{ours['count']} answers instead of {theirs['count']}"]
            # Examples that a batch of another size leaves over are lost in one run only.
            problems += [each for each in said if "answers instead" in each]
            notes += [each for each in said if "answers instead" not in each]
        unique = [dict.fromkeys(each) for each in (notes, problems)]
        return self.with_drift(self.rung(key, title, rows, *map("; ".join, unique)))

    def answers(
        self,
        key: str,
        old: Mapping[str, np.ndarray],
        new: Mapping[str, np.ndarray],
        types: Sequence[Mapping[str, str]] = ({}, {}),
    ) -> tuple[list[Row], list[str]]:
        """Compares what two models answered, whatever they call it; their types, where NumPy has none."""
        rows, notes, taken = [], [], set()
        for name, expected in old.items():
            fitting = [n for n, a in new.items() if _answers_like(a, expected)]
            ours = name if name in new else next(iter(fitting), None)
            if ours is None or (ours != name and len(fitting) > 1 and len(old) > 1):
                rows += self.only_in("old", name, f"{key}: {name}")
                continue
            taken.add(ours)
            actual = new[ours]
            if len(np.atleast_1d(actual)) != len(np.atleast_1d(expected)):
                notes.append(
                    f"{len(actual)} answers instead of {len(expected)}"
                    if len(actual) < len(expected)
                    else (f"the old run requested {len(expected)} of {len(actual)} predictions")
                )
                count = min(len(actual), len(expected))
                actual, expected = actual[:count], expected[:count]
            converted = _like(actual, expected)
            if converted is not actual:
                notes.append("the new model returns logits")
            if not self.ignored(name, f"{key}: {name}"):
                row = self.typed_row(key, name, converted, expected, actual.dtype)
                before, after = types[0].get(name), types[1].get(ours)
                if before != after:
                    note = f"{after or actual.dtype} instead of {before or expected.dtype}"
                    row = Row(name, Difference(note=note), DIFFER, [])
                rows.append(row)
        for name in new:
            if name not in taken:
                rows += self.only_in("new", name, f"{key}: {name}")
        return rows, notes

    def checkpoint(self) -> Rung:
        """Each run's checkpoint beside its own variables, and the new one beside the old one."""
        key, title = "checkpoint", "checkpoints hold the final variables"
        runs = (self.old, self.new)
        both = [run.all(key) for run in runs]
        saves, exports = ([bool(run.all(what)) for run in runs] for what in (key, "export"))
        if sum(saves) == 1 and exports == saves[::-1] and all(exported(*runs)):
            return self.skipped(key, title, "one run exports its model, the other one saves it")
        found = self.alone(key, title, both[0], both[1], "leaves one")
        if found:
            return found
        last, values, finals, files, everything = [], [], [], [], []
        for recording, events in zip(runs, both):
            snapshots = recording.snapshots()
            finals.append(snapshots[max(snapshots)] if snapshots else {})
            saved = [recording.arrays(event) for event in events]
            everything.append(saved)
            last.append(contents.last(saved, finals[-1]))
            files.append(next(e for e, each in zip(events, saved) if each is last[-1]))
            values.append(contents.held(finals[-1], contents.of_models(last[-1])))
        own = self.own_values(key, values, finals)
        old, new = values
        shared = []
        for name, theirs in self.matches.pairs.items():
            actual, expected = new.get(name), old.get(theirs)
            if actual is not None and expected is not None and name not in self.rounding:
                actual = self.without_drift(name, actual, expected)
                shared.append(self.row("saved", f"{name} of both", actual, expected))
        shared += self.counters(*last) + self.on_the_way(checkpoint_names.is_exact(*files))
        shared += self.names(files, last, values) + self.several(both, everything)
        slots = contents.kept(self.final_slots(self.old), last[0])
        shared += self.slot_rows("saved", slots, last[1], "the new checkpoint")
        return self.beside(self.rung(key, title, own), self.rung("saved", title, shared))

    def own_values(
        self,
        key: str,
        values: Sequence[Mapping[str, np.ndarray | None]],
        finals: Sequence[Mapping[str, np.ndarray]],
    ) -> list[Row]:
        """Rows for what the new checkpoint has of the new run's final variables.

        What the old script does not save, or saves before it ends, the new one need not have either.

        Args:
          key: Of the rung.
          values: Of both runs: variable -> the tensor in the checkpoint that is its value.
          finals: Of both runs: variable -> its value in the end.
        """
        rows = []
        for name, value in values[1].items():
            theirs = self.matches.pairs.get(name, "")
            before = values[0].get(theirs)
            if theirs in finals[0]:
                final = finals[0][theirs]
                if before is None or self.row(key, theirs, before, final).verdict == DIFFER:
                    continue
            if value is None:
                shape = Difference(note="the checkpoint has no tensor of this shape")
                rows.append(Row(f"new: {name}", shape, DIFFER, []))
            else:
                rows.append(self.row(key, f"new: {name}", value, finals[1][name]))
        return rows

    def names(
        self,
        files: Sequence[Mapping[str, Any]],
        last: Sequence[Mapping[str, np.ndarray]],
        values: Sequence[Mapping[str, np.ndarray | None]],
    ) -> list[Row]:
        """Rows for what the two last checkpoints call their variables, and where they lie.

        Args:
          files: The events.
          last: What is in them.
          values: Variable -> the tensor among those that is its value.
        """
        if not all(file.get("form") for file in files) or self.ignored("checkpoint: names"):
            return []
        exact = checkpoint_names.is_exact(*files)
        theirs, ours = (checkpoint_names.named(f, a, exact) for f, a in zip(files, last))
        found = checkpoint_names.compare(theirs, ours, exact)
        rows = [Row("names", Difference(len(found.same)), AGREE, [])] if found.same else []
        for old, new in found.same.items():
            for name, theirs_name in self.matches.pairs.items():
                ours_held = values[1].get(name)
                if values[0].get(theirs_name) is last[0][old] and ours_held is not None:
                    row = self.row("saved", f"{new} by its name", last[1][new], ours_held)
                    rows += [row] if row.verdict == DIFFER else []
        places = [f["path"] if exact else os.path.dirname(f["path"]) for f in files]
        said = [(places[0] or ".", f"it lies in {places[1] or '.'}")] * (places[0] != places[1])
        said += [(old, f"it is called {new}") for old, new in found.renamed]
        said += [(old, "in the old checkpoint only") for old in found.only_old]
        said += [(new, "in the new checkpoint only") for new in found.only_new]
        for name, note in said:
            if not self.ignored(name, f"checkpoint: {name}"):
                rows.append(Row(f"name {name}", Difference(note=note), DIFFER, []))
        return rows

    def counters(self, old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]) -> list[Row]:
        """A row for each count of steps in the old checkpoint: who goes on from the new one has to find it."""
        rows = []
        there = {int(v) for n, v in new.items() if contents.counts_steps(n, v)}
        for name, value in old.items():
            if not contents.counts_steps(name, value) or self.ignored(f"checkpoint: {name}"):
                continue
            missing = int(value) not in there
            found = ", ".join(map(str, sorted(there))) or "none"
            note = f"{found} instead of {int(value)}" if missing else ""
            rows.append(
                Row(f"count {name}", Difference(1, note=note), DIFFER if missing else AGREE, [])
            )
        return rows

    def on_the_way(self, exactly: bool) -> list[Row]:
        """A row where the new run left out a checkpoint; one from before the first step does not count.

        Args:
          exactly: Nor may it keep more of them: whatever saves and deletes them is the same.
        """
        theirs, ours = (set(run.first("saved").get("steps", ())) for run in (self.old, self.new))
        if not ours or self.ignored("checkpoint: on the way"):
            return []
        rows = []
        for which, steps in (("old", theirs - ours), ("new", ours - theirs if exactly else set())):
            after = ", ".join(map(str, sorted(steps - {0})))
            if after:
                note = f"only the {which} run leaves one after {after} steps"
                rows.append(Row("on the way", Difference(note=note), DIFFER, []))
        return rows

    def several(
        self,
        events: Sequence[Sequence[Mapping[str, Any]]],
        saved: Sequence[Sequence[Mapping[str, np.ndarray]]],
    ) -> list[Row]:
        """Rows for files of Keras, of which a run keeps more than the last: each has its twin.

        Args:
          events: Of both recordings.
          saved: What is in those checkpoints.
        """
        drifting = {v.shape for v in self.new.variables() if v.name in self.rounding}
        old, new = (checkpoint_files.of(e, s, drifting) for e, s in zip(events, saved))
        if not old or not new or len(old) == len(new) == 1:
            return []
        if self.ignored("checkpoint: on the way"):
            return []
        rows = []
        pairs = checkpoint_files.together(old, new)
        for one, other in pairs:
            note = checkpoint_files.apart(one, other)
            found = contents.held(one.values, other.values)
            more = [self.row("saved", one.path, found[n], v) for n, v in one.values.items()]
            worst = max(more, key=lambda row: row.difference.mean_scaled)
            if note and worst.verdict == AGREE:
                worst = Row(one.path, Difference(note=note), DIFFER, [])
            rows.append(worst)
        paired = {id(each) for pair in pairs for each in pair}
        for which, files in (("old", old), ("new", new)):
            for each in files:
                if id(each) not in paired:
                    rows += self.only_in(which, each.path, f"checkpoint: {each.path}")
        return rows

    def beside(self, first: Rung, second: Rung) -> Rung:
        """One rung of two with limits of their own; the number to show is that of the one that differs."""
        told = [rung.verdict for rung in (first, second)]
        shown = second if told[0] == SKIPPED or (told[1] == DIFFER != told[0]) else first
        note = "; ".join(filter(None, [first.note, second.note]))
        rows = [*first.rows, *second.rows]
        return shown._replace(key=first.key, note=note, rows=rows)

    def final_slots(self, recording: Any) -> Mapping[str, np.ndarray]:
        """What the old run's optimizer holds in the end, without what is rounding alone."""
        raise NotImplementedError

    def slot_rows(
        self, key: str, old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray], where: str
    ) -> list[Row]:
        """A row for each slot of the old run's optimizer, beside the most similar tensor of the new run."""
        rows, apart = [], {}
        for name, value in contents.held(old, new).items():
            if self.ignored(f"slot: {name}"):
                continue
            if value is None:
                lacking = Difference(note=f"{where} has no tensor of this shape")
                rows.append(Row(f"slot {name}", lacking, DIFFER, []))
                continue
            row = self.row(key, f"slot {name}", value, old[name])
            if row.verdict == DIFFER:
                apart[name] = old[name]
            rows.append(row)
        # Keras keeps the step that momentum makes, TensorFlow 1 the gradients: minus the rate, times as much.
        turned = contents.turned(apart, new)
        again = {f"slot {n}": self.row(key, f"slot {n}", v, old[n]) for n, v in turned.items()}
        return [again.get(row.name, row) for row in rows]

    def export(self) -> Rung:
        """What the exported models answer to the same questions."""
        key, title = "export", "exported models give the same results"
        old, new = exported(self.old, self.new)
        found = self.alone(key, title, old, new, "exports a model")
        if found:
            return found
        if self.exports.get("problem") and "old_problem" not in self.exports:
            return self.differs(key, title, self.exports["problem"])
        if "old_problem" in self.exports:
            return self.skipped(key, title, self.exports["old_problem"])
        theirs, ours = (interfaces.by_signature(self.exports.get(w, {})) for w in ("old", "new"))
        rows, notes = self.answers(key, theirs[""], ours[""])
        for name in sorted(set(theirs) & set(ours) - {""}):  # of another it is told below
            more, said = self.answers(key, theirs[name], ours[name])
            rows += [row._replace(name=f"{name}: {row.name}") for row in more]
            notes += said
        # The questions are as many as each model takes.
        problems = [each for each in notes if "answers instead" in each or "requested" in each]
        notes = [each for each in notes if each not in problems]
        said = ["the models take batches of different sizes"] * bool(problems)
        rows += self.interface()
        places = [found[-1].get("place") for found in (old, new)]
        if None not in places and places[0] != places[1] and not self.ignored("export: place"):
            note = f"it lies in {places[1] or '.'}"
            rows.append(Row(f"export in {places[0] or '.'}", Difference(note=note), DIFFER, []))
        return self.rung(key, title, rows, "; ".join(notes), "; ".join(said))

    def interface(self) -> list[Row]:
        """Rows for what a client has to know of the exported models: signatures, names, types and shapes."""
        theirs, ours = (self.exports.get(f"{which}_interface", {}) for which in ("old", "new"))
        if not theirs or not ours:  # a file of Keras 3 has none
            return []
        said = [
            (name, note)
            for name, note in interfaces.differences(theirs, ours)
            if not self.ignored(name, f"export: {name}")
        ]
        rows = [Row(name, Difference(note=note), DIFFER, []) for name, note in said]
        return rows or [Row("interface", Difference(interfaces.size(theirs)), AGREE, [])]


def _answers_like(actual: np.ndarray, expected: np.ndarray) -> bool:
    return actual.shape[1:] == expected.shape[1:] and actual.dtype.kind == expected.dtype.kind


def softmax(values: np.ndarray) -> np.ndarray:
    """Logits as probabilities, over the last axis."""
    powers = np.exp(values - values.max(-1, keepdims=True))
    result: np.ndarray = powers / powers.sum(-1, keepdims=True)
    return result


def _like(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Answers as probabilities, if the old model gives probabilities and the new one logits."""
    if actual.ndim < 2 or actual.shape != expected.shape:
        return actual

    def sums_to_one(rows: np.ndarray) -> bool:
        return bool(np.allclose(rows.sum(-1), 1, atol=1e-3) and np.all(rows >= 0))

    if actual.shape[-1] > 1 and sums_to_one(expected) and not sums_to_one(actual):
        return softmax(actual.astype(np.float64))
    inside = bool(np.all((expected >= 0) & (expected <= 1)))
    if actual.shape[-1] == 1 and inside:
        squashed: np.ndarray = 1 / (1 + np.exp(-actual.astype(np.float64)))
        # Logits may all lie between 0 and 1; then only one of the two is near the old answers.
        if np.abs(squashed - expected).max() < 1e-2 * np.abs(actual - expected).max():
            return squashed
    return actual
