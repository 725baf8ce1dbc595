"""What a script reports: files, summaries, print, flags."""

from __future__ import annotations

import re
from typing import Any, Mapping

import numpy as np

from tpucompat.commands.verify import contents, printed
from tpucompat.commands.verify.differences import Difference
from tpucompat.commands.verify.files import STEPS
from tpucompat.commands.verify.rungs import AGREE, DIFFER, Row, Rung, Rungs

#: Words that one metric, or the rate, goes by; a longer one before its ending.
_METRICS = {
    "acc": "accuracy",
    "sparse_categorical_accuracy": "accuracy",
    "categorical_accuracy": "accuracy",
    "binary_accuracy": "accuracy",
    "compile_metrics": "accuracy",
    "lr": "learning_rate",  # of a callback's schedule
}


#: Flags that say where a script computes and what it shows of that, not what it computes.
_ABOUT_DEVICES = re.compile(
    r"(?i)(^|_)(tpus?|gpus?|cpus?|cores?|shards?|replicas?|workers?|hosts?|devices?|iterations(_per_loop)?"
    r"|master|distribution|strategy|zone|project|verbos\w*|log|profil\w*)(_|$)"
)
#: Kinds of numbers.
_NUMBERS = {"b": "truth", "i": "whole", "u": "whole", "f": "fraction"}


class Reports(Rungs):
    """Numbers in files and in print, defaults of flags."""

    def typed_row(
        self, key: str, name: str, actual: np.ndarray, expected: np.ndarray, dtype: Any = None
    ) -> Row:
        """A row for arrays whose type is part of the result: integers are not fractions, half is not single."""
        theirs, ours = expected.dtype, actual.dtype if dtype is None else dtype
        if all(_NUMBERS[each.kind] == "whole" for each in (theirs, ours) if each.kind in _NUMBERS):
            return self.row(key, name, actual, expected)
        if theirs == ours or not {theirs.kind, ours.kind} <= set(_NUMBERS):
            return self.row(key, name, actual, expected)
        return Row(name, Difference(note=f"{ours} instead of {theirs}"), DIFFER, [])

    def files(self) -> Rung:
        """Numbers in files, and summaries for TensorBoard."""
        key, title = "files", "numbers in written files"
        reports = []
        for recording in (self.old, self.new):
            events = {event["path"]: event for event in recording.all("report")}
            reports.append({path: recording.arrays(event) for path, event in events.items()})
        old, new = reports
        rows: list[Row] = []
        for path in dict.fromkeys([*old, *new]):
            if path not in old or path not in new:
                rows += self.only_in("old" if path in old else "new", path)
                continue
            theirs, ours = ({_metric_path(n): v for n, v in r[path].items()} for r in reports)
            rows += self.column_order(path, list(old[path]), list(new[path]))
            rows += self.report(path, theirs, ours)
        others, note = self.other_files()
        rows += others
        if not rows:
            return self.skipped(key, title, note or "there are none")
        return self.rung(key, title, rows, note)

    def column_order(self, path: str, old: list[str], new: list[str]) -> list[Row]:
        """A row where the columns of a table stand in another order, though they are called the same."""
        turned = old != new and sorted(old) == sorted(new) and path.endswith((".csv", ".tsv"))
        if not turned or self.ignored(f"{path}: order"):
            return []
        note = f"its columns are {', '.join(new)} instead of {', '.join(old)}"
        return [Row(f"{path}: order", Difference(note=note), DIFFER, [])]

    def other_files(self) -> tuple[list[Row], str]:
        """Rows for files whose content is not read: pictures, pickles; and what is to be said of them."""
        runs = (self.old, self.new)
        if not all(run.all("left") for run in runs):  # one that was ended has not come so far
            return [], ""
        old, new = (run.first("left")["files"] for run in runs)
        rows: list[Row] = []
        for path in dict.fromkeys([*old, *new]):
            if path not in old or path not in new:
                rows += self.only_in("old" if path in old else "new", path, f"file: {path}")
            elif old[path] == new[path]:
                rows.append(Row(f"{path}, byte by byte", Difference(1), AGREE, []))
        unread = sorted(path for path in old if path in new and old[path] != new[path])
        named = ", ".join(unread[:4]) + ", ..." * (len(unread) > 4)
        return rows, f"not compared, because they are of no known kind: {named}" * bool(unread)

    def report(
        self, path: str, old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]
    ) -> list[Row]:
        """Rows for what is in one file of both runs."""
        rows: list[Row] = []
        place = f"{path}: "
        for name, value in old.items():
            base = name[: -len(STEPS)] if name.endswith(STEPS) else name
            if self.ignored(base, place + base):
                continue
            if name not in new:
                # A tag that is gone is said once.
                rows += [] if base != name and base in old else self.only_in("old", place + name)
            elif path.endswith((".npy", ".npz")):
                rows.append(self.typed_row("files", place + name, new[name], value))
            else:
                rows += self.columns(place + name, new[name], value)
        for name in new:
            base = name[: -len(STEPS)] if name.endswith(STEPS) else name
            if name not in old and not self.ignored(base, place + base):
                rows += [] if base != name and base in new else self.only_in("new", place + name)
        return rows

    def columns(self, name: str, actual: np.ndarray, expected: np.ndarray) -> list[Row]:
        """A row for an array of a report, or for each column of a table in which steps stand beside losses."""
        whole = _whole(expected)
        if expected.ndim == 2 and actual.shape == expected.shape and not np.all(whole):
            by_column = np.all(whole, axis=0)
            if np.any(by_column):
                return [
                    self.number_row("files", f"{name} [{index}]", a, e)
                    for index, (a, e) in enumerate(zip(actual.T, expected.T))
                ]
        if expected.ndim == 1 and actual.shape == expected.shape and expected.dtype.kind == "f":
            counts = whole & (np.abs(expected) > 1)
            if np.any(counts) and np.any(~whole):  # [step, loss]
                return [
                    self.number_row("files", f"{name} {said}", actual[part], expected[part])
                    for said, part in (("(whole numbers)", counts), ("(fractions)", ~counts))
                ]
        return [self.number_row("files", name, actual, expected)]

    def number_row(self, key: str, name: str, actual: np.ndarray, expected: np.ndarray) -> Row:
        """A row in which a count of steps or epochs has to be exact, however large it is."""
        found = self.row(key, name, actual, expected)
        counted = contents.COUNTED.search(name.rpartition(": ")[2]) and np.all(_whole(expected))
        if counted and found.verdict == AGREE and found.difference.max_abs:
            note = f"a count is {found.difference.max_abs:g} off"
            return found._replace(difference=found.difference._replace(note=note), verdict=DIFFER)
        return found

    def printed(self) -> Rung:
        """Numbers that the scripts print."""
        key, title = "printed", "printed numbers"
        texts = [str(run.first(key).get("text", "")) for run in (self.old, self.new)]
        old, new = map(printed.numbers, texts)
        rows: list[Row] = []
        for found, other, which in ((old, new, "old"), (new, old, "new")):
            for name in found:
                label = f"printed: {name}"
                if same_metric(name) not in map(same_metric, other):
                    rows += self.only_in(which, label, name)
        renamed = {same_metric(name): value for name, value in new.items()}
        for name, expected in old.items():
            actual = renamed.get(same_metric(name))
            if actual is not None and not self.ignored(f"printed: {name}", name):
                label = name or "at the start of a line"
                rows.append(self.row(key, label, *printed.rounded(actual, expected)))
        # What is said around answers is a matter of taste: only names that both print are compared.
        theirs, ours = map(printed.words, texts)
        rows += [
            self.row(key, name, ours[name], theirs[name])
            for name in theirs
            if name in ours and not self.ignored(f"printed: {name}", name)
        ]
        rows += self.logged()
        if not rows:
            return self.skipped(key, title, "neither script prints numbers")
        return self.rung(key, title, rows)

    def logged(self) -> list[Row]:
        """Rows for what both scripts log: how much of it is said is a matter of levels."""
        texts = [str(run.first("logged").get("text", "")) for run in (self.old, self.new)]
        (old, new), (theirs, ours) = map(printed.numbers, texts), map(printed.words, texts)
        rows = [
            self.row("printed", f"logged: {name}", *printed.rounded(new[name], expected))
            for name, expected in old.items()
            if name in new
            and new[name].values.shape == expected.values.shape
            and not self.ignored(f"logged: {name}", f"printed: {name}", name)
        ]
        return rows + [
            self.row("printed", f"logged: {name}", ours[name], said)
            for name, said in theirs.items()
            if name in ours and not self.ignored(f"logged: {name}", f"printed: {name}", name)
        ]

    def flags(self) -> Rung:
        """The defaults of flags that both scripts have, whether or not they were given this time."""
        key, title = "flags", "defaults of flags"
        old, new = (run.first(key).get("defaults", {}) for run in (self.old, self.new))
        shared = [n for n in old if n in new and not self.ignored(f"flags: {n}")]
        if not shared:
            return self.skipped(key, title, "the scripts share no flags with defaults to compare")
        other = [n for n in shared if new[n] != old[n]]
        # A migration chooses anew where and how long at a time it computes.
        wrong = [n for n in other if not _ABOUT_DEVICES.search(n)]
        said = [f"--{n} is {new[n]} instead of {old[n]}" for n in other]
        if wrong:
            names = " ".join(f"--ignore 'flags: {name}'" for name in wrong[:4])
            return self.differs(key, title, f"{'; '.join(said[:4])}; if that is meant: {names}")
        row = Row("defaults", Difference(len(shared)), AGREE, [])
        note = "; ".join([f"{len(shared)} of them", *said[:4]])
        return Rung(key, title, AGREE, None, None, note, [row])


def _whole(values: np.ndarray) -> np.ndarray:
    """Which numbers of an array are whole."""
    if values.dtype.kind != "f":
        return np.full(values.shape, values.dtype.kind in "biu")
    found: np.ndarray = np.isfinite(values) & (values == np.round(values))
    return found


def same_metrics(values: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics by the name that all generations of Keras are given here."""
    found = {}
    for name, value in values.items():
        before, word = ("val_", name[4:]) if name.startswith("val_") else ("", name)
        # Of several outputs, each has its name before that of the metric.
        last = next((one for one in _METRICS if f"_{word}".endswith(f"_{one}")), "")
        common = before + word[: len(word) - len(last)] + _METRICS.get(last, "")
        # A model may have two of these words.
        found[name if common in found else common] = value
    return found


def _metric_path(name: str) -> str:
    head, _, last = name.rpartition("/")
    return f"{head}/{next(iter(same_metrics({last: 0})))}".lstrip("/")


def same_metric(name: str) -> str:
    """What is printed as "test acc" is "test accuracy", also in the second place behind these words."""
    words, bracket, place = name.partition(" [")
    head, _, last = words.rpartition(" ")
    return f"{head} {next(iter(same_metrics({last: 0})))}".strip() + bracket + place
