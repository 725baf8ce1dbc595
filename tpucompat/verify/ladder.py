"""The ladder: what two recordings have in common, rung by rung, stopping nowhere."""

from __future__ import annotations

import fnmatch
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from tpucompat.verify import differences
from tpucompat.verify.differences import Difference
from tpucompat.verify.matching import Matches, match
from tpucompat.verify.recorder import Recording
from tpucompat.verify.tolerances import Tolerance, tolerances

AGREE, DIFFER, SKIPPED = "agree", "differ", "not compared"

#: What is smaller than this part of the largest gradient (or update) of a model is rounding.
_NOISE = 1e-3
#: A tensor whose gradient is no larger than this part of the model's largest one has none: what there is is
#: rounding, which Adam divides by its own size (a bias before batch normalization).
_ROUNDING = 1e-5
#: Words that one metric goes by.
_METRICS = {
    "acc": "accuracy",
    "sparse_categorical_accuracy": "accuracy",
    "categorical_accuracy": "accuracy",
    "binary_accuracy": "accuracy",
    "compile_metrics": "accuracy",
}


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
        verdicts = [rung.verdict for rung in self.rungs]
        if DIFFER in verdicts:
            return DIFFER
        return AGREE if AGREE in verdicts else SKIPPED


def compare(
    old: Recording,
    new: Recording,
    mapping: Mapping[str, str] | None = None,
    changes: Mapping[str, Any] | None = None,
    ignore: Sequence[str] = (),
    exports: Mapping[str, Any] | None = None,
) -> Comparison:
    """Compares two recordings.

    Args:
      old: Of the old script.
      new: Of the new script.
      mapping: New variable -> old variable.
      changes: Tolerances that differ from the default.
      ignore: Patterns of numbers in reports that need not agree ("*time*"), and of metrics.
      exports: What the exported models answered: see :mod:`tpucompat.verify.exports`.
    """
    return _Ladder(old, new, mapping, tolerances(changes), ignore, exports or {}).climb()


class _Ladder:
    def __init__(
        self,
        old: Recording,
        new: Recording,
        mapping: Mapping[str, str] | None,
        limits: Mapping[str, Tolerance],
        ignore: Sequence[str],
        exports: Mapping[str, Any],
    ) -> None:
        self.old, self.new = old, new
        self.limits = limits
        self.ignore = ignore
        self.exports = exports
        self.old_variables, self.new_variables = old.variables(), new.variables()
        self.matches = match(self.old_variables, self.new_variables, mapping)
        self.sites = list(zip(old.sites(), new.sites()))
        self.curves: dict[str, tuple[list[float], list[float]]] = {}
        self.trained, self.rounding = self.gradient_sizes()

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
            )
        ]
        return Comparison(rungs, self.matches, self.curves)

    # What every rung is made of ------------------------------------------------------------------

    def row(self, key: str, name: str, actual: Any, expected: Any, floor: float = 0.0) -> Row:
        found = differences.compare(actual, expected, floor)
        return Row(
            name,
            found,
            AGREE if self.within(key, found) else DIFFER,
            differences.histogram(actual, expected) if found.comparable else [],
        )

    def within(self, key: str, found: Difference) -> bool:
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
                f"{len(bad)} of {len(rows)} part, the first is {first.name}"
                + (f": {why}" if why else ""),
            )
        verdict = DIFFER if bad or problem else (AGREE if rows else SKIPPED)
        return Rung(key, title, verdict, worst, limit, "; ".join(filter(None, notes)), list(rows))

    def skipped(self, key: str, title: str, why: str) -> Rung:
        return Rung(key, title, SKIPPED, None, self.limits.get(key), why, [])

    def differs(self, key: str, title: str, why: str) -> Rung:
        return Rung(key, title, DIFFER, None, self.limits.get(key), why, [])

    def untrained(self, key: str, title: str) -> Rung | None:
        """The verdict where one run has no training step, or none of them has."""
        seen = [bool(recording.sites()) for recording in (self.old, self.new)]
        if all(seen):
            return None
        if not any(seen):
            return self.skipped(key, title, "no training step was seen in either run")
        which = "old" if seen[1] else "new"
        return self.differs(key, title, f"the {which} run never trains")

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
        problems = list(matches.problems)
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

    def initial(self) -> Rung:
        title = "initial values are equal"
        found = self.untrained("initial", title)
        if found:
            return found
        rows = [
            self.row("initial", name, actual.astype(np.float64), expected.astype(np.float64))
            for name, actual, expected in self.pairs(self.old.initial(), self.new.initial())
        ]
        return self.rung("initial", title, rows)

    def forward(self) -> Rung:
        title = "forward pass"
        found = self.untrained("forward", title)
        if found:
            return found
        rows, notes = [], []
        for index, (old_outputs, new_outputs) in enumerate(self.outputs()):
            ours, theirs = new_outputs[1], old_outputs[1]
            if len(ours) != len(theirs):
                note = f"{len(ours)} examples in a step instead of {len(theirs)}"
                rows.append(Row(f"output {index}", Difference(note=note), DIFFER, []))
                continue
            ours, moved = _in_order(ours, theirs)
            rows.append(self.row("forward", f"output {index}", ours, theirs))
            if moved is not None:
                notes.append("the examples of the step come in another order")
        if not rows:
            return self.skipped(
                "forward", title, "neither loss takes logits: the output is not seen by itself"
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
                        (_classes(labels), _probabilities(kind, logits))
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
                _, order = _in_order(new_rows, old_rows)
                ours = ours if order is None else ours[order]
                # The same labels with other outputs may only be in another order.
                same_set = np.array_equal(np.sort(ours, axis=0), np.sort(theirs, axis=0))
                if same_set and not np.allclose(new_rows, old_rows, rtol=1e-3, atol=1e-4):
                    continue
                if ours.shape == theirs.shape and not np.array_equal(ours, theirs):
                    parted = int(np.sum(np.any(np.atleast_2d((ours != theirs).T).T, axis=-1)))
                    note = f"{parted} of {len(theirs)} labels of the first step are others"
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
            rows += [self.row("gradients", *each, floor) for each in self.pairs(old, new)]
            factors: list[float] = [
                np.sum(a * e) / np.sum(e * e)
                for _, a, e in self.pairs(old, new)
                if a.shape == e.shape and np.any(e)
            ]
            if _all_alike(factors, 1e-3) and abs(factors[0] - 1) > 1e-2:
                problems.append(f"all of them are {factors[0]:.4g} times as large")
        if len(self.old.sites()) != len(self.new.sites()):
            problems.append(
                f"{len(self.new.sites())} losses are differentiated instead of {len(self.old.sites())}"
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
                "update", title, "the runs show their variables after no common step"
            )
        step = common[0]
        before_old, before_new = self.old.initial(), self.new.initial()
        factors: list[float] = []
        changes = []
        for name, actual, expected in self.pairs(old[step], new[step]):
            their_name = self.matches.pairs[name]
            if name not in before_new or their_name not in before_old:
                continue
            ours = actual.astype(np.float64) - before_new[name]
            theirs = expected.astype(np.float64) - before_old[their_name]
            if name in self.rounding:
                continue
            changes.append((name, ours, theirs))
            if name in self.trained and ours.shape == theirs.shape and np.any(theirs):
                factors.append(float(np.sum(ours * theirs) / np.sum(theirs * theirs)))
        floor = _NOISE * max((float(np.mean(np.abs(t))) for _, _, t in changes), default=0)
        rows = [self.row("update", *change, floor) for change in changes]
        notes = [] if step == 1 else [f"seen together after {step} steps only"]
        if self.rounding:
            left_out = ", ".join(sorted(self.rounding)[:4])
            notes.append(f"left out, because their gradients are rounding alone: {left_out}")
        note = "; ".join(notes)
        problem = ""
        if _all_alike(factors, 0.02) and abs(factors[0] - 1) > 0.02:
            problem = f"all updates are {factors[0]:.4g} times as large"
        return self.rung("update", title, rows, note, problem)

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
            if len(theirs) != len(ours):
                problems.append(f"{len(ours)} steps instead of {len(theirs)}")
            count = min(len(theirs), len(ours))
            rows.append(self.row("steps", f"{name} of {count} steps", ours[:count], theirs[:count]))
            error = np.abs(np.array(ours[:count]) - theirs[:count])
            size = np.abs(theirs[:count])
            parted = np.flatnonzero(~(error <= self.limits["steps"].limit * size))
            if len(parted):
                problems.append(f"the curves part at step {parted[0] + 1}")
        old, new = self.old.snapshots(), self.new.snapshots()
        common = sorted(set(old) & set(new))
        step = common[-1] if common else 0
        finals = []
        if step:
            finals = [
                self.row("final", name, actual, expected)
                for name, actual, expected in self.pairs(old[step], new[step])
                if name not in self.rounding
            ]
            bad = [row.name for row in finals if row.verdict == DIFFER]
            if bad:
                problems.append(
                    f"after {step} steps {len(bad)} of {len(finals)} variables part, the first is {bad[0]}"
                )
            else:
                notes.append(f"the variables after {step} steps too, {len(finals)} of them")
        rung = self.rung("steps", title, rows, "; ".join(notes), "; ".join(problems))
        if any(row.verdict == DIFFER for row in finals) and all(r.verdict == AGREE for r in rows):
            # The curves say nothing of it: the number to show is that of the variables.
            limit = self.limits["final"]
            numbers = [getattr(row.difference, limit.measure) for row in finals]
            rung = rung._replace(worst=float(max(numbers)), tolerance=limit)
        return rung._replace(rows=[*rung.rows, *finals])

    def evaluation(self) -> Rung:
        title = "evaluation"
        old, new = self.old.all("evaluation"), self.new.all("evaluation")
        if not old and not new:
            return self.skipped("evaluation", title, "neither run calls evaluate")
        if not old or not new:
            which = "old" if new else "new"
            return self.skipped("evaluation", title, f"the {which} run does not call evaluate")
        rows = []
        for index, (theirs, ours) in enumerate(zip(old, new)):
            old_values, new_values = _metrics(theirs["values"]), _metrics(ours["values"])
            for name in old_values:
                if name in new_values and not self.ignored(name):
                    label = name if len(old) == 1 else f"{name} of evaluation {index + 1}"
                    rows.append(self.row("evaluation", label, new_values[name], old_values[name]))
        note = "" if len(old) == len(new) else f"{len(new)} evaluations instead of {len(old)}"
        history = self.history()
        return self.rung("evaluation", title, [*rows, *history], note)

    def history(self) -> list[Row]:
        """What ``fit`` says of validation, epoch by epoch."""
        rows = []
        for theirs, ours in zip(self.old.all("history"), self.new.all("history")):
            old_values, new_values = _metrics(theirs["values"]), _metrics(ours["values"])
            for name in old_values:
                if name in new_values and name.startswith("val_") and not self.ignored(name):
                    self.curves[name] = (old_values[name], new_values[name])
                    rows.append(self.row("evaluation", name, new_values[name], old_values[name]))
        return rows

    def prediction(self) -> Rung:
        title = "prediction"
        old, new = self.old.all("prediction"), self.new.all("prediction")
        if not old and not new:
            return self.skipped("prediction", title, "neither run calls predict")
        if not old or not new:
            which = "old" if new else "new"
            return self.skipped("prediction", title, f"the {which} run does not call predict")
        rows, notes, problems = [], [], []
        for theirs, ours in zip(old, new):
            both = self.old.arrays(theirs), self.new.arrays(ours)
            found, said = self.answers("prediction", *both)
            rows += found
            # Examples that a batch of another size leaves over are lost in one run only.
            problems += [each for each in said if "answers instead" in each]
            notes += [each for each in said if "answers instead" not in each]
        unique = [dict.fromkeys(each) for each in (notes, problems)]
        return self.rung("prediction", title, rows, *map("; ".join, unique))

    def answers(
        self, key: str, old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]
    ) -> tuple[list[Row], list[str]]:
        """Compares what two models answered, whatever they call it."""
        rows, notes = [], []
        for name, expected in old.items():
            if expected.dtype.kind != "f":
                continue
            actual = new.get(name)
            if actual is None:
                fitting = [a for a in new.values() if a.shape[1:] == expected.shape[1:]]
                actual = fitting[0] if len(fitting) == 1 or (fitting and len(old) == 1) else None
            if actual is None:
                continue
            count = min(len(actual), len(expected)) if actual.ndim and expected.ndim else None
            if count is not None and len(actual) != len(expected):
                notes.append(
                    f"{len(actual)} answers instead of {len(expected)}"
                    if len(actual) < len(expected)
                    else f"the old run asked for {len(expected)} of {len(actual)} answers"
                )
                actual, expected = actual[:count], expected[:count]
            converted = _like(actual, expected)
            if converted is not actual:
                notes.append("the new model answers with logits")
            rows.append(self.row(key, name, converted, expected))
        return rows, notes

    def checkpoint(self) -> Rung:
        title = "checkpoint holds the final variables"
        rows, missing = [], []
        counts = [len(r.all("checkpoint")) for r in (self.old, self.new)]
        if not any(counts):
            return self.skipped("checkpoint", title, "neither run leaves one")
        for which, recording, count in (("old", self.old, counts[0]), ("new", self.new, counts[1])):
            if not count:
                missing.append(f"the {which} run leaves none")
                continue
            snapshots = recording.snapshots()
            if not snapshots:
                continue
            final = snapshots[max(snapshots)]
            best = [_held(final, recording.arrays(event)) for event in recording.all("checkpoint")]
            # Of several the one that was written last; their files' times say less than their content.
            held = min(best, key=lambda found: _distance(found, final))
            for name, value in held.items():
                if value is None:
                    shape = Difference(note="the checkpoint has no tensor of its shape")
                    rows.append(Row(f"{which}: {name}", shape, DIFFER, []))
                else:
                    rows.append(self.row("checkpoint", f"{which}: {name}", value, final[name]))
        return self.rung("checkpoint", title, rows, "; ".join(missing))

    def export(self) -> Rung:
        title = "exported model gives the same answers"
        if self.exports.get("problem"):
            return self.skipped("export", title, self.exports["problem"])
        if not self.exports:
            return self.skipped("export", title, "not both runs export a model")
        rows, notes = self.answers("export", self.exports["old"], self.exports["new"])
        return self.rung("export", title, rows, "; ".join(notes))

    def files(self) -> Rung:
        title = "numbers in the files that both write"
        rows = []
        new = self.new.all("report")
        for theirs in self.old.all("report"):
            same = [event for event in new if event["path"] == theirs["path"]]
            if not same:
                continue
            old_numbers, new_numbers = self.old.arrays(theirs), self.new.arrays(same[0])
            renamed = {_metric_path(name): value for name, value in new_numbers.items()}
            for name, expected in old_numbers.items():
                actual = renamed.get(_metric_path(name))
                if actual is not None and not self.ignored(name):
                    rows.append(self.row("files", f"{theirs['path']}: {name}", actual, expected))
        if not rows:
            return self.skipped("files", title, "there are none")
        return self.rung("files", title, rows)

    def ignored(self, name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in self.ignore)


def _all_alike(factors: Sequence[float], limit: float) -> bool:
    return bool(factors) and max(factors) - min(factors) < limit * abs(factors[0])


def _metrics(values: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in values.items():
        before, word = ("val_", name[4:]) if name.startswith("val_") else ("", name)
        found[before + _METRICS.get(word, word)] = value
    return found


def _metric_path(name: str) -> str:
    head, _, last = name.rpartition("/")
    return f"{head}/{next(iter(_metrics({last: 0})))}"


def _classes(labels: np.ndarray) -> np.ndarray:
    """Labels as they compare: the class where they are one-hot, else as they are."""
    one_hot = labels.ndim == 2 and labels.shape[1] > 1 and np.all((labels == 0) | (labels == 1))
    if one_hot and np.all(labels.sum(1) == 1):
        return np.argmax(labels, axis=1)
    flat: np.ndarray = labels.reshape(len(labels), -1)
    if flat.shape[1] == 1:
        flat = flat[:, 0]
    return flat.astype(np.int64) if np.all(flat == np.round(flat)) else flat


def _probabilities(kind: str, logits: np.ndarray) -> np.ndarray:
    """Outputs as they compare: logits that differ by a constant are the same answer."""
    values: np.ndarray = logits.astype(np.float64)
    if kind == "softmax":
        values = _softmax(values)
    elif kind == "sigmoid":
        with np.errstate(over="ignore"):
            values = 1 / (1 + np.exp(-values))
    return values.reshape(len(values), -1)


def _softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max(-1, keepdims=True))
    result: np.ndarray = powers / powers.sum(-1, keepdims=True)
    return result


def _in_order(ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Our rows beside theirs, and the order if it is another one."""
    if ours.shape != theirs.shape or np.allclose(ours, theirs, rtol=1e-3, atol=1e-4):
        return ours, None
    order = differences.same_rows(ours, theirs)
    moved = ours[order]
    # Another order explains it only if each row has found a twin of its own.
    if len(set(order.tolist())) > 0.9 * len(order) and (
        np.abs(moved - theirs).mean() < 0.1 * np.abs(ours - theirs).mean()
    ):
        return moved, order
    return ours, None


def _like(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Answers as probabilities, if the old model gives probabilities and the new one logits."""
    if actual.ndim < 2 or actual.shape != expected.shape:
        return actual

    def sums_to_one(rows: np.ndarray) -> bool:
        return bool(np.allclose(rows.sum(-1), 1, atol=1e-3) and np.all(rows >= 0))

    if actual.shape[-1] > 1 and sums_to_one(expected) and not sums_to_one(actual):
        return _softmax(actual.astype(np.float64))
    inside = bool(np.all((expected >= 0) & (expected <= 1)))
    if actual.shape[-1] == 1 and inside:
        squashed: np.ndarray = 1 / (1 + np.exp(-actual.astype(np.float64)))
        # Logits may all lie between 0 and 1; then only one of the two is near the old answers.
        if np.abs(squashed - expected).max() < 1e-2 * np.abs(actual - expected).max():
            return squashed
    return actual


def _distance(
    held: Mapping[str, np.ndarray | None], final: Mapping[str, np.ndarray]
) -> tuple[int, float]:
    """How far a checkpoint is from the final variables: how many it lacks, and the others' error."""
    errors = [
        float(np.mean(np.abs(np.asarray(value, np.float64) - final[name]))) if value.size else 0.0
        for name, value in held.items()
        if value is not None
    ]
    return len(held) - len(errors), sum(errors)


def _held(
    variables: Mapping[str, np.ndarray], checkpoint: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray | None]:
    """For each variable the tensor of a checkpoint that is most like it; None if none has its shape."""
    found: dict[str, np.ndarray | None] = {}
    for name, value in variables.items():
        candidates = [tensor for tensor in checkpoint.values() if tensor.shape == value.shape]
        errors = [float(np.max(np.abs(tensor - value), initial=0.0)) for tensor in candidates]
        found[name] = candidates[int(np.argmin(errors))] if errors else None
    return found
