"""What was done to a file, for the report: each change with its rule, each use of an API with its state."""

from __future__ import annotations

import collections
import difflib
from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence

from tpucompat.commands.migrate.context import Context

#: State of a use of an API -> what it means.
STATES: Mapping[str, str] = {
    "the same": "unchanged in TensorFlow 2",
    "rewritten": "rewritten to TensorFlow 2",
    "tpucompat.v1": "uses tpucompat.v1",
    "open": "left to resolve by hand; a TODO gives the reason",
    "guarded": "guarded: the program also works without it",
}
SAME, REWRITTEN, COMPATIBLE, OPEN, GUARDED = STATES
_ROOTS = ("tensorflow", "keras")


class Change(NamedTuple):
    """One replacement.

    Attributes:
      cell: The number of the notebook's cell; 0 in a script.
      line: Where it stood, from 1.
      rule: The code of the rule, whose page says more; of an import, that of the first change that needs it.
      was: What stood there; "" where something was added.
      becomes: What stands there now; "" where it was taken out.
    """

    cell: int
    line: int
    rule: str
    was: str
    becomes: str


class ApiUse(NamedTuple):
    """One use of a name of TensorFlow or Keras.

    Attributes:
      cell: The number of the notebook's cell; 0 in a script.
      line: Where it stands in the old file.
      name: Its full name.
      state: A key of :data:`STATES`.
      rule: The code of what is known about it; "" where nothing has changed.
      becomes: What one writes today, where there is something.
    """

    cell: int
    line: int
    name: str
    state: str
    rule: str = ""
    becomes: str = ""


def changes(context: Context) -> list[Change]:
    """The replacements in a file, in order."""
    found = []
    for cell, text in context.texts.items():
        if cell not in context.trees:
            continue
        line, counted = 1, 0
        for edit in sorted(text.edits, key=lambda one: (one.start, one.rank)):
            line += text.text.count("\n", counted, edit.start)
            counted = edit.start
            was, becomes = text.text[edit.start : edit.end], edit.text
            if was.strip() == becomes.strip():
                continue  # only indented otherwise
            found.append(Change(cell, line, edit.rule, was.strip(), becomes.strip()))
    return found


def moved(
    later: Iterable[Change], old: Mapping[int, str], new: Mapping[int, str]
) -> Iterator[Change]:
    """The changes of a second rewriting, with the lines that they are about in the file as it was.

    Args:
      later: The changes.
      old: Cell -> its text before the first rewriting.
      new: Cell -> its text after it.
    """
    lines: dict[int, list[int]] = {}
    for change in later:
        if change.cell not in lines:
            before = old.get(change.cell, "").splitlines()
            lines[change.cell] = _lines(before, new.get(change.cell, "").splitlines())
        known = lines[change.cell]
        yield change._replace(line=known[min(change.line, len(known)) - 1] if known else 1)


def _lines(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """For each new line the old one that it is made from, from 1."""
    found = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for _, start, end, first, last in matcher.get_opcodes():
        most = max(end - 1, start if end > start else start - 1, 0)
        found += [min(start + number, most) + 1 for number in range(last - first)]
    return found


def uses(context: Context, compatible: bool) -> list[ApiUse]:
    """What a file uses of TensorFlow and Keras.

    Args:
      context: The file, when everything has been rewritten.
      compatible: Whether it uses tpucompat.v1.
    """
    places = {id(place.use.node): place for place in context.places}
    found = []
    start = 0
    for unit, (end, _, _) in zip(context.module.source.units, context.module.ends):
        for use in context.names.uses[start:end]:
            if use.statement is not None or use.name.partition(".")[0] not in _ROOTS:
                continue
            place = places.get(id(use.node))
            rule = place.finding.code if place is not None else ""
            becomes = place.fate.becomes if place is not None else ""
            line = getattr(use.node, "lineno", 1)
            if use.guarded:
                state = GUARDED
            elif compatible:
                state = COMPATIBLE
            elif id(use.node) in context.left:
                state = OPEN
            else:
                state = REWRITTEN if place is not None else SAME
            found.append(ApiUse(unit.cell, line, use.name, state, rule, becomes))
        start = end
    return found


def counts(found: Iterable[ApiUse]) -> dict[str, int]:
    """How many uses are in each state, in the order of :data:`STATES`."""
    tally = collections.Counter(use.state for use in found)
    return {state: tally[state] for state in STATES if tally[state]}


def by_name(found: Sequence[ApiUse]) -> list[tuple[ApiUse, list[int]]]:
    """The uses of each name in the same state together, with their lines; the most frequent first."""
    together: dict[tuple[str, str], list[ApiUse]] = {}
    for use in found:
        together.setdefault((use.name, use.state), []).append(use)
    listed = [(group[0], [use.line for use in group]) for group in together.values()]
    return sorted(listed, key=lambda one: (-len(one[1]), one[0].name))
