"""What a scan found, as text, JSON, SARIF, or commands for GitHub's pages."""

from __future__ import annotations

import collections
import json
import os
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from tpucompat.base.codes import CODES, GUIDE, page
from tpucompat.commands.analysis.findings import Finding
from tpucompat.commands.cli.console import paint, shown
from tpucompat.commands.scan.scanner import FileReport
from tpucompat.version import VERSION

_URI = "https://json.schemastore.org/sarif-2.1.0.json"


class Effort(NamedTuple):
    """How much there is to do.

    Attributes:
      findings: How many places.
      safe: Those that ``migrate`` rewrites.
      unsafe: Those that it rewrites with ``--unsafe``.
      by_hand: The others.
      uncovered: Those that ``run`` does not answer either.
      unclear: Those of which only the installed packages can tell.
      guarded: Places that the program is written to do without; they are in no other number.
    """

    findings: int
    safe: int
    unsafe: int
    by_hand: int
    uncovered: int
    unclear: int
    guarded: int


def effort(found: Iterable[Finding]) -> Effort:
    """The sums over some findings."""
    listed = list(found)
    counted = [one for one in listed if not one.guarded]
    fixes = collections.Counter(one.fix for one in counted)
    covered = collections.Counter(one.covered for one in counted)
    return Effort(
        len(counted),
        fixes["safe"],
        fixes["unsafe"],
        fixes[""],
        covered[False],
        covered[None],
        len(listed) - len(counted),
    )


def text(reports: Sequence[FileReport], guarded: bool = False, colours: bool = False) -> str:
    """For people: one line per finding, one per file if there are several, and the total."""
    lines: list[str] = []
    touched = [report for report in reports if report.findings]
    for report in touched:
        for one in report.findings:
            if guarded or not one.guarded:
                lines.append(_line(one, colours))
    if lines:
        lines.append("")
    if len(touched) > 1:
        for report in touched:
            name = paint(shown(report.path), "bold", colours)
            lines.append(f"{name}: {_effort_line(effort(report.findings))}")
        lines.append("")
    everything = effort(one for report in reports for one in report.findings)
    read = f"{_count(len(reports), 'file')} ({_count(sum(one.lines for one in reports), 'line')})"
    if everything.findings or everything.guarded:
        lines.append(f"Checked {read}: {_effort_line(everything)}")
    else:
        lines.append(paint(f"Checked {read}: no findings", "green", colours))
    return "\n".join(lines) + "\n"


def _line(one: Finding, colours: bool) -> str:
    cell = f"cell {one.cell}:" if one.cell else ""
    path = paint(shown(one.path), "bold", colours)
    code = paint(one.code, "red" if one.covered is False else "yellow", colours)
    words = f"{path}:{cell}{one.line}:{one.column}: {code} {one.was}"
    if one.becomes:
        words += " → " + paint(one.becomes, "green", colours)
    marks = [
        {True: "", False: "unsupported by run", None: "depends on installed packages"}[one.covered],
        {"safe": "migrate", "unsafe": "migrate --unsafe", "": ""}[one.fix],
        "guarded" if one.guarded else "",
    ]
    marked = ", ".join(mark for mark in marks if mark)
    if marked:
        words += "  " + paint(f"[{marked}]", "dim", colours)
    if one.note and not one.becomes:
        words += f"  ({one.note})"
    return words


def _effort_line(sums: Effort) -> str:
    parts = [_count(sums.findings, "finding")]
    if sums.safe:
        parts.append(f"{sums.safe} fixable with migrate")
    if sums.unsafe:
        parts.append(f"{sums.unsafe} with migrate --unsafe")
    if sums.by_hand:
        parts.append(f"{sums.by_hand} by hand")
    if sums.uncovered:
        parts.append(f"{sums.uncovered} unsupported by run")
    if sums.unclear:
        parts.append(f"{sums.unclear} that depend on installed packages")
    if sums.guarded:
        parts.append(f"{sums.guarded} guarded")
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("s" if number != 1 else "")


def as_json(reports: Sequence[FileReport], guarded: bool = False) -> str:
    """For programs: everything."""
    return (
        json.dumps(
            {
                "version": VERSION,
                "findings": [_as_dictionary(one) for report in reports for one in report.findings],
                "files": [
                    {
                        "path": report.path,
                        "lines": report.lines,
                        **effort(report.findings)._asdict(),
                    }
                    for report in reports
                ],
                "effort": effort(one for report in reports for one in report.findings)._asdict(),
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


def _as_dictionary(one: Finding) -> dict[str, Any]:
    return {**one._asdict(), "title": CODES[one.code].title, "page": one.page}


def sarif(reports: Sequence[FileReport], guarded: bool = False) -> str:
    """SARIF 2.1.0, which code hosts and editors read."""
    found = [one for report in reports for one in report.findings if guarded or not one.guarded]
    used = sorted({one.code for one in found})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].title},
            "fullDescription": {"text": CODES[code].why},
            "help": {"text": CODES[code].what_to_do},
            "helpUri": GUIDE + page(code),
        }
        for code in used
    ]
    results = [
        {
            "ruleId": one.code,
            "ruleIndex": used.index(one.code),
            "level": "error" if one.covered is False else "warning",
            "message": {"text": _message(one)},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": one.path.replace(os.sep, "/")},
                        "region": {"startLine": one.line, "startColumn": one.column},
                    }
                }
            ],
            "properties": {
                "becomes": one.becomes,
                "run": one.covered,
                "migrate": one.fix,
                "cell": one.cell,
                "page": one.page,
            },
        }
        for one in found
    ]
    driver = {"name": "tpucompat", "version": VERSION, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return (
        json.dumps(
            {"$schema": _URI, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False
        )
        + "\n"
    )


def github(reports: Sequence[FileReport], guarded: bool = False) -> str:
    """Workflow commands: GitHub shows them at the lines of a pull request."""
    lines = []
    for report in reports:
        for one in report.findings:
            if one.guarded and not guarded:
                continue
            level = "error" if one.covered is False else "warning"
            where = f"file={_property(shown(one.path))},line={one.line},col={one.column}"
            lines.append(f"::{level} {where},title={one.code}::{_data(_message(one))}")
    return "".join(line + "\n" for line in lines)


def _message(one: Finding) -> str:
    words = one.was
    if one.becomes:
        words += f" → {one.becomes}"
    words += f". {CODES[one.code].title}."
    if one.note:
        words += " " + one.note
    return f"cell {one.cell}: {words}" if one.cell else words


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMATS: Mapping[str, Callable[..., str]] = {
    "text": text,
    "json": as_json,
    "sarif": sarif,
    "github": github,
}
