"""The ladder as a table for a terminal."""

from __future__ import annotations

import textwrap
from typing import Sequence

from tpucompat.commands.verify import proofs
from tpucompat.commands.verify.comparison import Result
from tpucompat.commands.verify.rungs import AGREE, DIFFER, SKIPPED, Rung
from tpucompat.commands.verify.runs import described

_COLOURS = {AGREE: "32", DIFFER: "31;1", SKIPPED: "2"}
_MARKS = {AGREE: "✓", DIFFER: "✗", SKIPPED: "–"}
_WIDTH = 42


def table(result: Result, colours: bool = False, width: int = 80) -> str:
    """A result's ladder, a line for each rung, notes below.

    Args:
      result: What to show.
      colours: Whether to colour the verdicts.
      width: Of the terminal.
    """
    old, new = (
        _environment(run.recording.first("environment")) for run in (result.old, result.new)
    )
    lines = [
        f"{result.name}",
        f"  old: {result.old.half.script}",
        f"       {old}, {result.old.seconds:.0f} s",
        f"  new: {result.new.half.script}",
        f"       {new}, {result.new.seconds:.0f} s",
        "",
        f"  {'rung':<{_WIDTH}} {'verdict':<13} {'worst':>9} {'limit':>9}",
    ]
    skipped: dict[str, list[str]] = {}
    for rung in result.comparison.rungs:
        if rung.verdict == SKIPPED:
            skipped.setdefault(rung.note, []).append(rung.title)
        else:
            lines += _rung(rung, colours, width)
    for note, titles in skipped.items():
        text = f"{_MARKS[SKIPPED]} {SKIPPED}, {note}: {', '.join(titles)}"
        for line in textwrap.wrap(text, width, initial_indent="  ", subsequent_indent=" " * 4):
            lines.append(_coloured(line, SKIPPED, colours))
    lines.append("")
    lines += [_coloured(f"  ! {problem}", DIFFER, colours) for problem in result.problems]
    lines.append(_coloured(f"  {conclusion(result)}", _verdict(result), colours))
    lines += [f"  {which} on TPUs: {proofs.line(proof)}" for which, proof in result.proofs.items()]
    return "\n".join(lines)


def conclusion(result: Result) -> str:
    """One sentence."""
    rungs = result.comparison.rungs
    compared = [rung for rung in rungs if rung.verdict != SKIPPED]
    differ = [rung.title for rung in compared if rung.verdict == DIFFER]
    if result.exit_code == 2:
        more = f"; the partial results differ on: {differ[0]}" if differ else ""
        return "could not be compared" + more
    if differ:
        return f"they differ on {len(differ)} of {len(compared)} rungs, first on: {differ[0]}"
    if len(compared) == 1:
        return f"they agree on the one rung that could be compared: {compared[0].title}"
    return f"they agree on all {len(compared)} rungs that could be compared"


def _verdict(result: Result) -> str:
    return AGREE if result.exit_code == 0 else DIFFER


def _rung(rung: Rung, colours: bool, width: int) -> list[str]:
    worst = "" if rung.worst is None else f"{rung.worst:.1e}"
    limit = "" if rung.worst is None or rung.tolerance is None else f"{rung.tolerance.limit:.0e}"
    verdict = _coloured(f"{_MARKS[rung.verdict]} {rung.verdict:<11}", rung.verdict, colours)
    lines = [f"  {rung.title:<{_WIDTH}} {verdict} {worst:>9} {limit:>9}".rstrip()]
    if rung.note:
        indent = " " * 6
        lines += textwrap.wrap(
            rung.note,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
    return lines


def _coloured(text: str, verdict: str, colours: bool) -> str:
    return f"\033[{_COLOURS[verdict]}m{text}\033[0m" if colours else text


def _environment(values: dict[str, object]) -> str:
    if not values:
        return "it never began"
    where = described(int(str(values.get("cores", 1))), bool(values.get("rehearsed")))
    return (
        f"TensorFlow {values.get('tensorflow')}, Keras {values.get('keras')}, "
        f"Python {values.get('python')}, {where}, {values.get('mode')}"
    )


def summary(results: Sequence[Result], colours: bool = False) -> str:
    """Several results, a line each: the worst number of each rung that was compared."""
    keys = ["forward", "loss", "gradients", "update", "steps", "evaluation", "prediction", "files"]
    names = max([len("pair"), *(len(result.name) for result in results)])
    heads = ["forward", "loss", "grads", "update", "steps", "eval", "predict", "files"]
    lines = [f"  {'pair':<{names}}" + "".join(f"{head:>8}" for head in heads) + "  verdict"]
    for result in results:
        by_key = {rung.key: rung for rung in result.comparison.rungs}
        cells = []
        for key in keys:
            rung = by_key[key]
            text = "–" if rung.worst is None else f"{rung.worst:.0e}"
            cells.append(_coloured(f"{text:>8}", rung.verdict, colours))
        words = {0: "agree", 1: "DIFFER", 2: "NOT COMPARED"}
        verdict = _coloured(words[result.exit_code], _verdict(result), colours)
        lines.append(f"  {result.name:<{names}}{''.join(cells)}  {verdict}")
    return "\n".join(lines)
