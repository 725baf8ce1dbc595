"""A comparison as Markdown, short enough for a pull request."""

from __future__ import annotations

import os
from typing import Sequence

from tpucompat.commands.verify.comparison import Result
from tpucompat.commands.verify.report.terminal import conclusion
from tpucompat.commands.verify.rungs import AGREE, DIFFER, SKIPPED, Rung

_MARKS = {AGREE: "✅ agree", DIFFER: "❌ differ"}


def summary(result: Result) -> str:
    """The conclusion, a table of the rungs that were compared, and one line for the others.

    Args:
      result: What to show.
    """
    rungs = result.comparison.rungs
    compared = [rung for rung in rungs if rung.verdict != SKIPPED]
    skipped = [rung.title for rung in rungs if rung.verdict == SKIPPED]
    lines = [f"### {_escaped(result.name)}", "", f"**{_escaped(conclusion(result))}**", ""]
    lines += [f"- {_escaped(problem)}" for problem in result.problems]
    if result.problems:
        lines.append("")
    lines += _table(compared)
    if skipped:
        lines += ["", f"Not compared: {', '.join(map(_escaped, skipped))}."]
    releases = [
        f"{which} on TensorFlow {run.recording.first('environment').get('tensorflow', 'unknown')}"
        for which, run in (("old", result.old), ("new", result.new))
    ]
    scripts = " → ".join(
        f"`{os.path.basename(run.half.script)}`" for run in (result.old, result.new)
    )
    return "\n".join([*lines, "", f"`tpucompat verify`: {scripts}; {', '.join(releases)}.", ""])


def _table(rungs: Sequence[Rung]) -> list[str]:
    if not rungs:
        return []
    lines = ["| Rung | Verdict | Worst | Limit | Note |", "|---|---|--:|--:|---|"]
    for rung in rungs:
        worst = limit = ""
        if rung.worst is not None:
            worst = f"{rung.worst:.1e}"
            limit = f"{rung.tolerance.limit:.0e}" if rung.tolerance else ""
        # The notes of what agrees are in the full report.
        note = _escaped(rung.note) if rung.verdict == DIFFER else ""
        lines.append(
            f"| {_escaped(rung.title)} | {_MARKS[rung.verdict]} | {worst} | {limit} | {note} |"
        )
    return lines


def _escaped(text: str) -> str:
    """Text that Markdown neither formats nor takes for a cell of its own."""
    for character in "\\`*_|<>[]":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())
