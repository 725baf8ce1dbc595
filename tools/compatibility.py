"""Makes docs/compatibility.md from the results of the tox matrix.

    tox run                                            # writes ENVIRONMENT.xml into .tox/results
    python tools/compatibility.py record .tox/results  # adds them to docs/compatibility.json
    python tools/compatibility.py page                 # writes the page from it

A folder of results holds ``ENVIRONMENT.xml``, or ``ENVIRONMENT/*.xml`` where modules ran one by one, or again:
a test counts with its last result, in the order of the files' names.
``tools/check_docs.py`` says when the page is not what the records give.
"""

from __future__ import annotations

import argparse
import collections
import glob
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from typing import Any, Iterator, NamedTuple

import expected_failures
import make_constraints
import provenance

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORDS = os.path.join(ROOT, "docs", "compatibility.json")
PAGE = os.path.join(ROOT, "docs", "compatibility.md")


class Idiom(NamedTuple):
    """A column of the page: what scripts do, and the test modules that are about it."""

    name: str
    modules: str


IDIOMS = (
    Idiom("keras_to_tpu_model", r"test_keras_tpu_model|test_first_pair"),
    Idiom("TPUEstimator", r"test_tpu_estimator.*|test_estimator_.*"),
    Idiom("batch_parallel and kin", r"test_batch_parallel|test_session_scripts"),
    Idiom("the replay", r"test_strategy_.*"),
    Idiom("tf.contrib and symbols", r"test_contrib|test_symbols|test_private"),
    Idiom("without TensorFlow", r"unit"),
)
# A test is about several replicas where its name or its parameters say so; others are about one.
_SEVERAL = re.compile(r"\[(?:.*-)?[2-9](?:-.*)?\]|cores|shards|replicas|test_strategy_")
_REHEARSED = (
    "-rehearsed"  # ends the name of an environment whose cores are those of a rehearsed TPU
)
OUTCOMES = ("passed", "expected", "failed", "skipped")
_WORDS = {"passed": "pass", "expected": "cannot", "failed": "fail", "skipped": "skipped"}


class Result(NamedTuple):
    """What became of a test.

    Attributes:
      place: Its module, with dots.
      name: Its own name, with its parameters.
      outcome: One of ``OUTCOMES``.
      reason: Why it was skipped; else "".
      seconds: How long it took.
    """

    place: str
    name: str
    outcome: str
    reason: str
    seconds: float

    @property
    def module(self) -> str:
        """The name of its module; "unit" for all that start no TensorFlow."""
        return "unit" if self.place.startswith("tests.unit") else self.place.rpartition(".")[2]


def results(path: str) -> Iterator[Result]:
    """The tests of a JUnit file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        marks = {child.tag: child for child in case}
        outcome, reason = "passed", ""
        if "failure" in marks or "error" in marks:
            outcome = "failed"
        elif "skipped" in marks:
            expected = marks["skipped"].get("type") == "pytest.xfail"
            outcome = "expected" if expected else "skipped"
            reason = "" if expected else (marks["skipped"].get("message") or "")
        place, name = case.get("classname", ""), case.get("name", "")
        yield Result(place, name, outcome, reason, float(case.get("time") or 0))


def cell_of(module: str, name: str) -> str:
    """The cell of a test: "IDIOM, one" or "IDIOM, several"; "" for a test of no idiom."""
    for idiom in IDIOMS:
        if re.match(f"(?:{idiom.modules})$", module):
            both = idiom.name not in ("the replay", "tf.contrib and symbols", "without TensorFlow")
            several = _SEVERAL.search(name) or module.startswith("test_strategy_")
            return f"{idiom.name}, {'several' if both and several else 'one'}"
    return ""


def record(folder: str) -> None:
    """Adds the results in a folder to the records; an environment's newer results replace its older ones."""
    records = read_records()
    recorded = {key: provenance.where()[key] for key in ("revision", "date")}
    found: dict[str, list[str]] = collections.defaultdict(list)
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.xml"), recursive=True)):
        relative = os.path.relpath(path, folder)
        found[re.split(r"[/\\]|\.xml$", relative)[0]].append(path)
    for name, paths in found.items():
        last = {(each.place, each.name): each for path in paths for each in results(path)}
        cells: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for each in last.values():
            cells[cell_of(each.module, each.name) or "other"][each.outcome] += 1
        skipped = collections.Counter(each.reason for each in last.values() if each.reason)
        records[name] = {
            "cells": {cell: dict(sorted(counts.items())) for cell, counts in sorted(cells.items())},
            "recorded": recorded,
            "seconds": round(sum(each.seconds for each in last.values())),
            "skipped": dict(sorted(skipped.items())),
        }
    with open(RECORDS, "w", encoding="utf-8") as stream:
        json.dump(records, stream, indent=1, sort_keys=True)
        stream.write("\n")


def read_records() -> dict[str, Any]:
    """What was recorded, by environment."""
    if not os.path.exists(RECORDS):
        return {}
    with open(RECORDS, encoding="utf-8") as stream:
        found: dict[str, Any] = json.load(stream)
    return found


def _release(environment: str) -> tuple[int, int]:
    match = re.search(r"tf(\d+)\.(\d+)", environment)
    if match is None:
        raise ValueError(f"no TensorFlow in the name of the environment {environment}")
    return int(match.group(1)), int(match.group(2))


def _title(environment: str) -> str:
    row = next(row for row in make_constraints.ROWS if row.number == _release(environment))
    version = row.requirement.partition("==")[2]
    return version + (", Keras 3 alone" if environment.endswith("keras3") else "")


def _python(environment: str) -> str:
    return re.sub(r"py(\d)(\d+)-.*", r"\1.\2", environment)


def _cell(counts: dict[str, int]) -> str:
    run = sum(counts.get(outcome, 0) for outcome in ("passed", "expected", "failed"))
    if not run:
        return "·"
    passed = counts.get("passed", 0)
    if passed == run:
        return f"{run}"
    notes = [
        f"{counts[outcome]} {word}"
        for outcome, word in (("expected", "cannot"), ("failed", "**failed**"))
        if counts.get(outcome)
    ]
    return f"{passed} of {run} ({', '.join(notes)})"


def _ordered(records: dict[str, Any]) -> list[str]:
    return sorted(
        (name for name in records if not name.endswith(_REHEARSED)),
        key=lambda name: (_release(name), name),
    )


def _targets(records: dict[str, Any]) -> list[str]:
    """A row for each idiom and environment that was rehearsed too, a column for each target."""
    lines = [
        "| TensorFlow | idiom | one replica | emulated cores | one rehearsed core | several rehearsed cores |",
        "|---|---|---|---|---|---|",
    ]
    for rehearsed in sorted(name for name in records if name.endswith(_REHEARSED)):
        environment = rehearsed[: -len(_REHEARSED)]
        for idiom in IDIOMS[:3]:
            counted = [
                _cell(records.get(name, {"cells": {}})["cells"].get(f"{idiom.name}, {engine}", {}))
                for name in (environment, rehearsed)
                for engine in ("one", "several")
            ]
            lines.append(f"| {_title(environment)} | {idiom.name} | {' | '.join(counted)} |")
    return lines


def page(records: dict[str, Any]) -> str:
    """The text of the page."""
    shown = [
        (idiom.name, engine)
        for idiom in IDIOMS
        for engine in ("one", "several")
        if any(f"{idiom.name}, {engine}" in each["cells"] for each in records.values())
    ]
    lines = [
        "# Compatibility",
        "",
        "Results of the tests on each TensorFlow, written by `tools/compatibility.py` from the environments in",
        "`tox.ini`. *Cannot* counts tests that a release cannot pass, and *skipped* those that do not apply to",
        "it; both are listed below with their causes. *Minutes* is the time of the tests, one after the other.",
        "*Recorded* is the day of the run, and the revision that was tested.",
        "",
        *_totals(records),
        "",
        "## By idiom",
        "",
        "Number of tests, all of which pass; · means not run. *Several* means 4 or 8 emulated cores.",
        "",
        "| TensorFlow | Python | "
        + " | ".join(
            name + ("" if (name, "several") not in shown else f", {engine}")
            for name, engine in shown
        )
        + " |",
        "|---" * (len(shown) + 2) + "|",
    ]
    for environment in _ordered(records):
        cells = records[environment]["cells"]
        counted = [_cell(cells.get(f"{name}, {engine}", {})) for name, engine in shown]
        lines.append(f"| {_title(environment)} | {_python(environment)} | {' | '.join(counted)} |")
    lines += [
        "",
        "## On four targets",
        "",
        "The same programs on one replica, on emulated cores, and under TensorFlow's own TPUStrategy on",
        "simulated cores ([rehearsal](topics/rehearsal.md)).",
        "",
        *_targets(records),
    ]
    lines += ["", "## What a release cannot pass", ""]
    lines += ["| TensorFlow | test | cause |", "|---|---|---|"]
    for row in sorted(expected_failures.rows()):
        first, last = (".".join(map(str, release)) for release in (row.first, row.last))
        releases = first if first == last else f"{first} to {last}"
        releases += ", rehearsed" if row.rehearsed else ""
        test = row.test.rpartition("::")[2].replace("|", r"\|")
        lines.append(f"| {releases} | `{test}` | {row.cause} ([source]({row.link})) |")
    lines += ["", "## What is skipped", "", "| tests | why | under |", "|---|---|---|"]
    for reason, counts in sorted(_skipped(records).items()):
        numbers = sorted(set(counts.values()))
        under = (
            ", ".join(_title(name) for name in counts)
            if len(counts) < len(_ordered(records))
            else "all"
        )
        lines.append(f"| {' or '.join(map(str, numbers))} | {reason} | {under} |")
    return "\n".join(lines) + "\n"


def _totals(records: dict[str, Any]) -> list[str]:
    """The table of all tests, one row for each environment and one for their sum."""
    lines = ["| TensorFlow | Python | " + " | ".join(_WORDS.values()) + " | minutes | recorded |"]
    lines.append("|---" * (len(OUTCOMES) + 4) + "|")
    total: collections.Counter[str] = collections.Counter()
    seconds = 0
    for environment in _ordered(records):
        counts: collections.Counter[str] = collections.Counter()
        for cell in records[environment]["cells"].values():
            counts.update(cell)
        total.update(counts)
        seconds += records[environment]["seconds"]
        shown = " | ".join(str(counts[outcome]) for outcome in OUTCOMES)
        minutes = f"{records[environment]['seconds'] / 60:.0f}"
        recorded = "{date}, {revision}".format(**records[environment]["recorded"])
        cells = [_title(environment), _python(environment), shown, minutes, recorded]
        lines.append(f"| {' | '.join(cells)} |")
    shown = " | ".join(str(total[outcome]) for outcome in OUTCOMES)
    lines.append(f"| {len(_ordered(records))} environments | | {shown} | {seconds / 60:.0f} | |")
    return lines


def _skipped(records: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Reason -> environment -> number of tests."""
    found: dict[str, dict[str, int]] = collections.defaultdict(dict)
    for environment in _ordered(records):
        for reason, count in records[environment].get("skipped", {}).items():
            found[" ".join(reason.split())][environment] = count
    return found


def _written() -> dict[str, str]:
    return {PAGE: page(read_records())}


def outdated() -> list[str]:
    """A line for each made document that is not what the records give."""
    problems = []
    for path, text in _written().items():
        with open(path, encoding="utf-8") as stream:
            if stream.read() != text:
                problems.append(
                    f"{os.path.relpath(path, ROOT)}: run `python tools/compatibility.py page`"
                )
    return problems


def main() -> None:
    """Records results, or writes the documents."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["record", "page"])
    parser.add_argument("folder", nargs="?", help="of the results to record")
    options = parser.parse_args()
    if options.step == "record":
        if not options.folder or not os.path.isdir(options.folder):
            parser.error(f"no folder of results: {options.folder}")
        record(options.folder)
    for path, text in _written().items():
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)


if __name__ == "__main__":
    main()
