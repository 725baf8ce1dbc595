"""A comparison as one page of HTML that needs nothing from elsewhere."""

from __future__ import annotations

import difflib
import html
from typing import Mapping, Sequence

from tpucompat.commands.verify import proofs
from tpucompat.commands.verify.comparison import Result
from tpucompat.commands.verify.report import markdown, plots
from tpucompat.commands.verify.report.terminal import conclusion
from tpucompat.commands.verify.rungs import AGREE, DIFFER, SKIPPED, Row, Rung
from tpucompat.commands.verify.runs import Run, described

_MARKS = {AGREE: "✓ agree", DIFFER: "✗ differ", SKIPPED: "– not compared"}
_CLASSES = {AGREE: "agree", DIFFER: "differ", SKIPPED: "skipped"}
#: Of a rung's tensors so many are listed and drawn: those that are furthest apart first.
_ROWS = 60
_OUTPUT = 8000  # characters of what a run printed

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2429; --soft: #5d6b75; --line: #dfe5e9;
  --paper: #fff; --back: #f5f7f8;
  --agree: #1b7f4d; --differ: #b3261e; --old: #c0504d; --new: #2e6f95; --warn: #c17f24;
  --gone: #fbe9e7; --come: #e6f2ea; --gone-mark: #f5c6c0; --come-mark: #bfe0cb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8eb; --soft: #9aa8b1; --line: #333d44;
  --paper: #1b2126; --back: #12171a;
  --agree: #58c08b; --differ: #f2877f; --old: #e08783; --new: #6bb1da; --warn: #e0a95a;
  --gone: #3b2322; --come: #1d3327; --gone-mark: #6b3633; --come-mark: #2f5a42; } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--back);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 24px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 34px 0 10px; }
.verdict { font-size: 17px; font-weight: 600; padding: 10px 14px; border-radius: 6px; color: var(--paper);
  display: inline-block; margin: 10px 0; }
.verdict.agree { background: var(--agree); color: var(--paper); }
.verdict.differ { background: var(--differ); color: var(--paper); }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 14px 18px;
  overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: 13px; }
th, td { padding: 5px 10px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { padding-left: 10px; text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
tr:last-child td { border-bottom: 0; }
.agree { color: var(--agree); } .differ { color: var(--differ); font-weight: 600; }
.skipped { color: var(--soft); } .note { color: var(--soft); font-size: 13px; }
.mark { white-space: nowrap; }
.code, pre { font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.code { table-layout: fixed; }
.code td { border: 0; padding: 0 6px; white-space: pre-wrap; overflow-wrap: anywhere; }
.code td.line { width: 44px; color: var(--soft); text-align: right; user-select: none; }
.code td.gone { background: var(--gone); } .code td.come { background: var(--come); }
.code mark { background: var(--gone-mark); color: inherit; }
.code td.come mark { background: var(--come-mark); }
.code tr.fold td { color: var(--soft); background: var(--back); text-align: center; padding: 3px; }
details > summary { cursor: pointer; color: var(--soft); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 8px 0; }
svg { display: block; max-width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
.pairs { columns: 2; font-size: 13px; color: var(--soft); }
"""


def page(result: Result) -> str:
    """The whole page.

    Args:
      result: What to show.
    """
    verdict = "agree" if result.exit_code == 0 else "differ"
    title = html.escape(f"{result.name}: {conclusion(result)}")
    problems = "".join(f'<p class="differ">{html.escape(text)}</p>' for text in result.problems)
    body = [
        f"<h1>{html.escape(result.name)}</h1>",
        f'<div class="verdict {verdict}">{html.escape(conclusion(result))}</div>{problems}',
        '<details class="paste"><summary>Summary for a pull request (Markdown)</summary>'
        f"<pre>{html.escape(markdown.summary(result))}</pre></details>",
        _heading("The ladder", _ladder(result.comparison.rungs)),
        _heading("The two runs", _environments(result)),
    ]
    if result.proofs:
        body.append(_heading("Compiled for TPUs", _proofs(result.proofs)))
    curves = result.comparison.curves
    if curves:
        drawn = "".join(
            plots.curves(name, old, new, _limit(result)) for name, (old, new) in curves.items()
        )
        body.append(_heading("Curves", drawn))
    tensors = "".join(_tensors(rung) for rung in result.comparison.rungs if rung.rows)
    if tensors:
        body.append(_heading("Errors per tensor", tensors))
    body.append(_heading("Matched variables", _variables(result)))
    body.append(_heading("Code, side by side", _code(result.old, result.new)))
    body.append(_heading("Output of the runs", _outputs(result)))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )


def _heading(title: str, content: str) -> str:
    return f"<h2>{title}</h2><section>{content}</section>"


def _limit(result: Result) -> float | None:
    for rung in result.comparison.rungs:
        if rung.key == "steps" and rung.tolerance is not None:
            return rung.tolerance.limit
    return None


def _ladder(rungs: Sequence[Rung]) -> str:
    lines = []
    for rung in rungs:
        limit = why = ""
        if rung.worst is not None and rung.tolerance is not None:
            limit = f"{rung.tolerance.limit:.0e}"
            why = f"limit: {rung.tolerance.why}"
        notes = "".join(
            f'<div class="note">{html.escape(text)}</div>' for text in (rung.note, why) if text
        )
        lines.append(
            f"<tr><td>{html.escape(rung.title)}{notes}</td>"
            f'<td class="mark {_CLASSES[rung.verdict]}">{_MARKS[rung.verdict]}</td>'
            f'<td class="number">{_number(rung.worst)}</td><td class="number">{limit}</td></tr>'
        )
    return (
        '<table><tr><th>rung</th><th>verdict</th><th class="number">worst</th>'
        f'<th class="number">limit</th></tr>{"".join(lines)}</table>'
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


def _environments(result: Result) -> str:
    runs = (result.old, result.new)
    found = [run.recording.first("environment") for run in runs]
    lines = [
        ("script", [run.half.script for run in runs]),
        ("arguments", [" ".join(run.half.arguments) for run in runs]),
        ("interpreter", [run.half.python for run in runs]),
        *(
            (key, [str(values.get(key, "")) for values in found])
            for key in ("tensorflow", "keras", "python", "numpy", "platform", "through", "mode")
        ),
        (
            "trains on",
            [described(run.half.cores, bool(run.half.rehearse)) for run in runs],
        ),
        ("seconds", [f"{run.seconds:.1f}" for run in runs]),
        ("exit code", ["none" if run.code is None else str(run.code) for run in runs]),
    ]
    cells = "".join(
        f"<tr><td>{name}</td>" + "".join(f"<td>{html.escape(v)}</td>" for v in values) + "</tr>"
        for name, values in lines
    )
    return f"<table><tr><th></th><th>old</th><th>new</th></tr>{cells}</table>"


_PROVEN = {"compiles": "agree", "lowers": "skipped", "unknown": "skipped"}


def _proofs(found: Mapping[str, proofs.Proof]) -> str:
    """A table for each half: its computations, and what became of each on each TPU."""
    parts = []
    for which, proof in found.items():
        parts.append(f"<p>{which}: {html.escape(proofs.line(proof))}</p>")
        rows = list(proofs.rows(proof))
        tpus = list(dict.fromkeys(tpu for row in rows for tpu in row.cells))
        if not tpus:
            continue
        header = "".join(f"<th>{tpu}</th>" for tpu in tpus)
        lines = "".join(_proof_row(row, tpus) for row in rows)
        parts.append(f"<table><tr><th>computation</th>{header}</tr>{lines}</table>")
    return "".join(parts)


def _proof_row(row: proofs.Row, tpus: Sequence[str]) -> str:
    cells = ""
    for tpu in tpus:
        verdict, text = row.cells.get(tpu, ("unknown", "not found"))
        kind = _PROVEN.get(verdict, "differ")
        cells += f'<td class="{kind}">{html.escape(text)}</td>'
    notes = "".join(f'<div class="note">{html.escape(text)}</div>' for text in row.findings)
    return f"<tr><td>{html.escape(row.name)}{notes}</td>{cells}</tr>"


def _tensors(rung: Rung) -> str:
    rows = sorted(rung.rows, key=lambda row: (row.verdict == AGREE, -row.difference.scaled))
    lines = "".join(map(_tensor, rows[:_ROWS]))
    more = f'<p class="note">and {len(rows) - _ROWS} more</p>' if len(rows) > _ROWS else ""
    header = "".join(
        f'<th class="number">{name}</th>'
        for name in ("max abs", "mean abs", "p99 abs", "max rel", "mean rel", "p99 rel")
    )
    is_open = " open" if rung.verdict == DIFFER else ""
    return (
        f"<details{is_open}><summary>{html.escape(rung.title)}: {len(rows)} compared</summary>"
        f"<table><tr><th>tensor</th><th>verdict</th>{header}<th>errors, 1e-10 to 10</th></tr>"
        f"{lines}</table>{more}</details>"
    )


def _tensor(row: Row) -> str:
    found = row.difference
    numbers = (
        found.max_abs,
        found.mean_abs,
        found.p99_abs,
        found.max_rel,
        found.mean_rel,
        found.p99_rel,
    )
    cells = "".join(f'<td class="number">{_number(value)}</td>' for value in numbers)
    note = f'<div class="note">{html.escape(found.note)}</div>' if found.note else ""
    return (
        f"<tr><td>{html.escape(row.name)}{note}</td>"
        f'<td class="mark {_CLASSES[row.verdict]}">{_MARKS[row.verdict]}</td>{cells}'
        f"<td>{plots.histogram(row.histogram)}</td></tr>"
    )


def _variables(result: Result) -> str:
    matches = result.comparison.matches
    lines = "".join(
        f"<div>{html.escape(new)} ← {html.escape(old)} (by {matches.how[new]})</div>"
        for new, old in matches.pairs.items()
    )
    for which, names in (("old", matches.only_old), ("new", matches.only_new)):
        lines += "".join(
            f'<div class="differ">{html.escape(n)}: in the {which} run only</div>' for n in names
        )
    return f'<div class="pairs">{lines or "no variables were recorded"}</div>'


def _outputs(result: Result) -> str:
    return "".join(
        f"<details><summary>{which}</summary><pre>{html.escape(run.output[-_OUTPUT:])}</pre></details>"
        for which, run in (("old", result.old), ("new", result.new))
    )


# Code ------------------------------------------------------------------------------------------


def _code(old: Run, new: Run) -> str:
    ours, theirs = (_lines(run.half.script) for run in (new, old))
    lines: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(
        None, theirs, ours, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            lines += _unchanged(theirs[a:b], a, c)
            continue
        left, right = theirs[a:b], ours[c:d]
        for index in range(max(len(left), len(right))):
            one = left[index] if index < len(left) else None
            other = right[index] if index < len(right) else None
            lines.append(_changed(one, other, a + index + 1, c + index + 1))
    return f'<table class="code">{"".join(lines)}</table>'


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().splitlines()
    except OSError:
        return []


def _unchanged(lines: Sequence[str], left: int, right: int, context: int = 3) -> list[str]:
    folded = len(lines) > 2 * context + 2
    found = []
    for index, line in enumerate(lines):
        if folded and context <= index < len(lines) - context:
            if index == context:
                count = len(lines) - 2 * context
                found.append(f'<tr class="fold"><td colspan="4">{count} equal lines</td></tr>')
            continue
        text = html.escape(line)
        found.append(
            f'<tr><td class="line">{left + index + 1}</td><td>{text}</td>'
            f'<td class="line">{right + index + 1}</td><td>{text}</td></tr>'
        )
    return found


def _changed(one: str | None, other: str | None, left: int, right: int) -> str:
    first, second = html.escape(one or ""), html.escape(other or "")
    if one is not None and other is not None:
        first, second = _marked(one, other)
    cells = []
    for text, number, kind in ((one, left, "gone"), (other, right, "come")):
        shown = first if kind == "gone" else second
        if text is None:
            cells.append('<td class="line"></td><td></td>')
        else:
            cells.append(f'<td class="line">{number}</td><td class="{kind}">{shown}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _marked(one: str, other: str) -> tuple[str, str]:
    """Both lines, with what is different in them marked, if they are the same line at all."""
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    if matcher.ratio() < 0.5:
        return html.escape(one), html.escape(other)
    first, second = [], []
    for tag, a, b, c, d in matcher.get_opcodes():
        pieces = html.escape(one[a:b]), html.escape(other[c:d])
        if tag != "equal":
            pieces = tuple(f"<mark>{piece}</mark>" if piece else "" for piece in pieces)  # type: ignore
        first.append(pieces[0])
        second.append(pieces[1])
    return "".join(first), "".join(second)
