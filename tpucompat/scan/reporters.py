"""What a scan found, as text, JSON, SARIF, or commands for GitHub's pages."""

from __future__ import annotations

import collections
import json
import os
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from tpucompat.analysis.findings import Finding
from tpucompat.codes import CODES, GUIDE, page
from tpucompat.scan.scanner import FileReport
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


def text(reports: Sequence[FileReport], guarded: bool = False) -> str:
    """For people: a line for each finding, the sum of each file, the sum of all."""
    lines: list[str] = []
    touched = [report for report in reports if report.findings]
    for report in touched:
        for one in report.findings:
            if guarded or not one.guarded:
                lines.append(_line(one))
    if lines:
        lines.append("")
    width = max((len(report.path) for report in touched), default=0)
    for report in touched:
        lines.append(f"{report.path:<{width}}  {_effort_line(effort(report.findings))}")
    everything = effort(one for report in reports for one in report.findings)
    read = f"{len(reports)} files, {sum(report.lines for report in reports)} lines"
    if everything.findings or everything.guarded:
        lines += ["", f"{read}: {_effort_line(everything)}"]
    else:
        lines.append(f"{read}: nothing old was found")
    return "\n".join(lines) + "\n"


def _line(one: Finding) -> str:
    cell = f"cell {one.cell}:" if one.cell else ""
    words = f"{one.path}:{cell}{one.line}:{one.column}: {one.code} {one.was}"
    if one.becomes:
        words += f" → {one.becomes}"
    marks = [
        {True: "", False: "run does not cover it", None: "run: unclear"}[one.covered],
        {"safe": "migrate", "unsafe": "migrate --unsafe", "": ""}[one.fix],
        "guarded" if one.guarded else "",
    ]
    shown = ", ".join(mark for mark in marks if mark)
    if shown:
        words += f"  [{shown}]"
    if one.note and not one.becomes:
        words += f"  ({one.note})"
    return words


def _effort_line(sums: Effort) -> str:
    parts = [f"{sums.findings} to change"]
    if sums.safe or sums.unsafe:
        unsafe = f", {sums.unsafe} with --unsafe" if sums.unsafe else ""
        parts.append(f"{sums.safe} by migrate{unsafe}")
    parts.append(f"{sums.by_hand} by hand")
    if sums.uncovered:
        parts.append(f"{sums.uncovered} that run does not cover")
    if sums.unclear:
        parts.append(f"{sums.unclear} unclear")
    if sums.guarded:
        parts.append(f"{sums.guarded} guarded")
    return "; ".join(parts)


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
            where = f"file={_property(one.path)},line={one.line},col={one.column}"
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


FORMATS: Mapping[str, Callable[[Sequence[FileReport], bool], str]] = {
    "text": text,
    "json": as_json,
    "sarif": sarif,
    "github": github,
}
