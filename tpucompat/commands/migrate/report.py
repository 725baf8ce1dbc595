"""The report of a migration, as data and as one page of HTML that needs nothing from elsewhere."""

from __future__ import annotations

import html
import json
import re
from typing import Any, NamedTuple, Sequence

from tpucompat.base import codes
from tpucompat.commands.migrate import files, record, tree
from tpucompat.commands.migrate.plan import Result
from tpucompat.version import VERSION

#: The format of the JSON; it grows when a member changes its meaning or goes.
SCHEMA = 1
_TODO = re.compile(r"#\s*TODO\(tpucompat (TPU\d+)\):\s*(.*)")
_SHORT = 200  # characters of a change that the page shows


class Outcome(NamedTuple):
    """What became of one file in the end.

    Attributes:
      result: What migrate made of it.
      written: The path that it was written to; "" where it was not.
      why: Why it was not written though that was asked; "" otherwise.
      verified: The comparisons of ``--verify``, as ``tpucompat verify --json`` gives them.
    """

    result: Result
    written: str = ""
    why: str = ""
    verified: Sequence[Any] = ()


def document(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The report as data."""
    every_use = [use for one in outcomes for use in one.result.uses]
    return {
        "schema": SCHEMA,
        "tpucompat": VERSION,
        "counts": {
            "files": len(outcomes),
            "changed": sum(one.result.changed for one in outcomes),
            "open": sum(one.result.todos for one in outcomes),
            "uses": record.counts(every_use),
        },
        "files": [_file(one) for one in outcomes],
    }


def _file(one: Outcome) -> dict[str, Any]:
    result = one.result
    return {
        "path": result.path,
        "way": result.way,
        "said": tree.said(result),
        "written": one.written,
        "not_written": one.why,
        "problems": [
            {"line": problem.line, "cell": problem.cell, "code": problem.code, "what": problem.was}
            for problem in result.problems
        ],
        "open": open_todos(result),
        "changes": [
            {**change._asdict(), "page": codes.page(change.rule) if change.rule else ""}
            for change in result.changes
        ],
        "uses": [use._asdict() for use in result.uses],
        "counts": record.counts(result.uses),
        "verified": [
            {key: comparison.get(key) for key in ("name", "verdict", "exit_code")}
            for comparison in one.verified
        ],
    }


def open_todos(result: Result) -> list[dict[str, Any]]:
    """The TODOs of a rewritten file; the lines are its own, in a notebook those of its JSON."""
    found: list[dict[str, Any]] = []
    for number, line in enumerate(result.after.decode("utf-8", "replace").splitlines(), 1):
        match = _TODO.search(line)
        if match:
            found.append({"line": number, "code": match.group(1), "what": match.group(2)})
        elif found and found[-1]["line"] + found[-1].pop("more", 0) + 1 == number:
            more = re.match(r"\s*#   (.*)", line)
            if more:
                found[-1]["what"] += " " + more.group(1)
                found[-1]["more"] = number - found[-1]["line"]
    for one in found:
        one.pop("more", None)
    return found


def write(path: str, outcomes: Sequence[Outcome]) -> None:
    """Writes the report to a file; its ending, .html or .json, is the format.

    Raises:
      WriteError: If it cannot be written.
    """
    if path.endswith(".json"):
        text = json.dumps(document(outcomes), indent=1) + "\n"
    else:
        text = page(outcomes)
    files.place(path, text.encode("utf-8"))


# The page --------------------------------------------------------------------------------------------

_STYLE = """
body { margin: 0; color: #1d2429; background: #f5f7f8;
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 24px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 34px 0 6px; }
h3 { font-size: 15px; margin: 16px 0 4px; color: #5d6b75; }
section, details { background: #fff; border: 1px solid #dfe5e9; border-radius: 8px; padding: 10px 18px;
  margin: 8px 0; overflow-x: auto; }
summary { cursor: pointer; font-weight: 600; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; color: #5d6b75; font-size: 13px; }
th, td { padding: 4px 10px 4px 0; border-bottom: 1px solid #dfe5e9; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code { font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.open { color: #b3261e; } .done { color: #1b7f4d; } .note { color: #5d6b75; font-size: 13px; }
"""


def page(outcomes: Sequence[Outcome]) -> str:
    """The report as one page."""
    data = document(outcomes)
    counts = data["counts"]
    states = "".join(
        f'<tr><td>{_text(state)}</td><td class="number">{count}</td><td class="note">'
        f"{_text(record.STATES[state])}</td></tr>"
        for state, count in counts["uses"].items()
    )
    overview = "".join(
        f'<tr><td><a href="#file{index}">{_text(one["path"])}</a></td>'
        f'<td class="{"open" if one["open"] or one["not_written"] else "done"}">{_text(one["said"])}</td>'
        f'<td class="number">{len(one["changes"])}</td><td class="number">{len(one["open"])}</td></tr>'
        for index, one in enumerate(data["files"])
    )
    body = [
        "<h1>Migration to TensorFlow 2</h1>",
        f'<p class="note">{counts["files"]} files, {counts["changed"]} of them rewritten, {counts["open"]} '
        f"TODOs open; tpucompat {_text(data['tpucompat'])}</p>",
        "<h2>Uses of TensorFlow and Keras</h2><section><table>"
        f"<tr><th>state</th><th>uses</th><th></th></tr>{states}</table></section>",
        "<h2>Files</h2><section><table><tr><th>file</th><th>what became of it</th><th>changes</th>"
        f"<th>open</th></tr>{overview}</table></section>",
        *(_section(index, one) for index, one in enumerate(outcomes)),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Migration to TensorFlow 2'
        f"</title><style>{_STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )


def _section(index: int, outcome: Outcome) -> str:
    result, one = outcome.result, _file(outcome)
    parts = [f'<h2 id="file{index}">{_text(one["path"])}</h2><p>{_text(one["said"])}']
    if one["written"]:
        parts.append(f' <span class="note">written to {_text(one["written"])}</span>')
    parts.append("</p>")
    if one["not_written"]:
        parts.append(f'<p class="open">Not written: {_text(one["not_written"])}</p>')
    for problem in one["problems"]:
        parts.append(
            f'<p class="open">{problem["line"]}: {problem["code"]} {_text(problem["what"])}</p>'
        )
    for comparison in one["verified"]:
        verdict = "done" if comparison["exit_code"] == 0 else "open"
        parts.append(
            f'<p class="{verdict}">{_text(comparison["name"])}: {_text(comparison["verdict"])}</p>'
        )
    todos = [
        f"<tr><td>{todo['line']}</td><td>{_rule(todo['code'])}</td><td>{_text(todo['what'])}</td></tr>"
        for todo in one["open"]
    ]
    parts.append(_details(f"Open: {len(todos)}", ("line", "rule", "what is left"), todos, True))
    changes = [
        f"<tr><td>{_place(change)}</td><td>{_rule(change.rule)}</td><td><code>{_short(change.was)}</code></td>"
        f"<td><code>{_short(change.becomes)}</code></td></tr>"
        for change in result.changes
    ]
    parts.append(_details(f"Changes: {len(changes)}", ("line", "rule", "was", "is"), changes))
    uses = [
        f"<tr><td><code>{_text(use.name)}</code></td><td>{_text(use.state)}</td><td>{_rule(use.rule)}</td>"
        f'<td><code>{_text(use.becomes)}</code></td><td class="note">{_lines(lines)}</td></tr>'
        for use, lines in record.by_name(result.uses)
    ]
    said = ", ".join(f"{count} {state}" for state, count in one["counts"].items())
    parts.append(
        _details(
            f"Uses of TensorFlow and Keras: {said or 'none'}",
            ("name", "state", "rule", "today", "lines"),
            uses,
        )
    )
    return "".join(parts)


def _details(title: str, heads: Sequence[str], lines: Sequence[str], is_open: bool = False) -> str:
    if not lines:
        return ""
    head = "".join(f"<th>{name}</th>" for name in heads)
    return (
        f"<details{' open' if is_open else ''}><summary>{_text(title)}</summary>"
        f"<table><tr>{head}</tr>{''.join(lines)}</table></details>"
    )


def _rule(code: str) -> str:
    if not code:
        return ""
    title = codes.CODES[code].title if code in codes.CODES else ""
    return f'<span title="{_text(title)}">{code}</span>'


def _place(change: record.Change) -> str:
    return f"cell {change.cell}, {change.line}" if change.cell else str(change.line)


def _lines(lines: Sequence[int]) -> str:
    shown = ", ".join(map(str, lines[:12]))
    return shown + (f" and {len(lines) - 12} more" if len(lines) > 12 else "")


def _short(text: str) -> str:
    return _text(text if len(text) <= _SHORT else text[:_SHORT] + " …")


def _text(text: object) -> str:
    return html.escape(str(text))
