"""Compares public programs with migrations of them by ``tpucompat verify``; writes docs/public_migrations.md.

    TPUCOMPAT_PROGRAMS=~/checkouts python tools/verify_public_programs.py [--python-221 PYTHON] \\
        [--python-215 PYTHON] [--python-115 PYTHON] [--only NAME] [--cores N]

The originals are not part of this repository: TPUCOMPAT_PROGRAMS names a folder of Git clones called
OWNER+REPO, and ``tools/public_programs.json`` the revisions. The migrations were written by hand, and are in
``tools/migrated_programs``; ``tools/verified_programs.json`` says which belongs to which. Each is compared as
it is, and once more with a mistake in it that its author might have made. What was found is kept in
``tools/verified_programs_results.json``. Exit code 1 if a migration differs, or a mistake does not.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
from typing import Any

import public_data
import run_public_programs

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "tools" / "verified_programs.json"
RESULTS = ROOT / "tools" / "verified_programs_results.json"
PAGE = ROOT / "docs" / "public_migrations.md"

HEAD = """\
# Public programs and their migrations

Public programs for TensorFlow 1.x and TPUs, compared with a migration by hand by `tpucompat verify`. The
originals run unchanged, from clones at the revisions given below; the migrations are in
`tools/migrated_programs`. `tools/verify_public_programs.py` writes this page.

```
mkdir checkouts; cd checkouts
git clone https://github.com/hadifar/tensorflow-starter hadifar+tensorflow-starter   # and so on
cd ..
TPUCOMPAT_PROGRAMS=checkouts python tools/verify_public_programs.py --python-221 PYTHON
```

The migrated program starts from the initial values of the old one, and sees the examples in the same order.
Each was compared a second time with a deliberate mistake: a default of today's Keras.
"""


class Place:
    """A program's files and data, made anew."""

    def __init__(self, row: dict[str, Any], checkouts: pathlib.Path, folder: pathlib.Path) -> None:
        with open(run_public_programs.TABLE, encoding="utf-8") as stream:
            known = {program["name"]: program for program in json.load(stream)}
        self.program = known[row["program"]]
        self.row = row
        self.folder = folder
        run_public_programs.copy_program(self.program, checkouts, folder / "program")
        self.data, self.home = folder / "data", folder / "home"
        self.data.mkdir()
        self.home.mkdir()
        public_data.MAKERS[row.get("data", self.program["data"])](self.data, self.home)

    def environment(self) -> dict[str, str]:
        """What both runs find; made-up data passes for what Keras would download."""
        paths = [ROOT / "tools" / "seeded_start", ROOT]
        return {
            **os.environ,
            "HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "CUDA_VISIBLE_DEVICES": "-1",
            **self.program.get("environment", {}),
        }

    def compare(self, old: str, new: str, cores: int, mistake: str, seconds: int) -> dict[str, Any]:
        """What ``tpucompat verify`` says, as data."""
        script = self.folder / "program" / self.program.get("folder", "")
        command = [new, "-m", "tpucompat", "verify"]
        command += [str(script / self.program["commands"][0][0])]
        command += [str(ROOT / "tools" / "migrated_programs" / self.row["new"])]
        new_args = " ".join([self.row.get("new_args", ""), mistake]).strip()
        for option, words in (
            ("--args", self.row.get("args", "")),
            ("--old-args", self.row.get("old_args", "")),
            ("--new-args", new_args),
            ("--old-options", self.row.get("old_options", "")),
        ):
            command += [f"{option}={words}"] if words else []
        command += ["--python-old", old, "--python-new", new, "--timeout", str(seconds)]
        command += ["--cores", str(cores)] if cores > 1 else []
        target = self.folder / "result.json"
        command += ["--json", str(target)]
        print("$", shlex.join(command), flush=True)
        subprocess.run(command, env=self.environment(), cwd=self.folder, check=False)
        document: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
        return document


def condensed(document: dict[str, Any]) -> dict[str, Any]:
    """What the page shows of a comparison."""
    rungs = [
        {key: rung[key] for key in ("key", "title", "verdict", "worst", "limit", "note")}
        for rung in document["rungs"]
        if rung["verdict"] != "not compared"
    ]
    return {
        "verdict": document["verdict"] if document["exit_code"] < 2 else "not compared",
        "problems": document["problems"],
        "old": document["old"]["environment"].get("tensorflow", ""),
        "new": document["new"]["environment"].get("tensorflow", ""),
        "cores": document["old"]["cores"],
        "rungs": rungs,
    }


def page(rows: list[dict[str, Any]], results: dict[str, Any]) -> str:
    """The page's text, from what was found."""
    with open(run_public_programs.TABLE, encoding="utf-8") as stream:
        known = {program["name"]: program for program in json.load(stream)}
    lines = [HEAD]
    for row in rows:
        program, found = known[row["program"]], results.get(row["program"], {})
        runs = [found[key] for key in sorted(found) if not key.endswith("mistake")]
        if not runs:
            continue
        lines += [f"## {program['title']}", ""]
        lines += [f"{program['repository']} at `{program['revision'][:10]}`: {row['what']}."]
        lines += [f"It became: {row['became']} (`tools/migrated_programs/{row['new']}`).", ""]
        heads = [_head(run) for run in runs]
        lines += ["| rung | " + " | ".join(heads) + " | limit |", "|---" * (len(runs) + 2) + "|"]
        rungs: dict[str, Any] = {}
        for run in runs:
            for rung in run["rungs"]:
                rungs.setdefault(rung["key"], rung)
        for key, rung in rungs.items():
            cells = [_cell(run, key) for run in runs]
            limit = "–" if not rung["limit"] else _number(rung["limit"], 0)
            lines += ["| " + " | ".join([rung["title"], *cells, limit]) + " |"]
        lines += [""]
        wrong = [found[key] for key in sorted(found) if key.endswith("mistake")]
        if wrong:
            first = next(r for r in wrong[0]["rungs"] if r["verdict"] == "differ")
            note = first["note"].split("; ")[0]
            lines += [
                f"With {row['mistake']['what']}: **{wrong[0]['verdict']}**, first on "
                f"*{first['title']}*" + (f" ({note})" if note else "") + ".",
                "",
            ]
    return "\n".join(lines)


def _head(run: dict[str, Any]) -> str:
    releases = run["new"] if run["old"] == run["new"] else f"{run['old']} → {run['new']}"
    return releases + ("" if run["cores"] == 1 else f", {run['cores']} cores")


def _cell(run: dict[str, Any], key: str) -> str:
    for rung in run["rungs"]:
        if rung["key"] == key:
            worst = rung["worst"]
            return rung["verdict"] + (f" ({_number(worst, 1)})" if worst else "")
    return "–"


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}e}".replace("-", "\N{NON-BREAKING HYPHEN}")


def main() -> int:
    """Runs, compares, writes the page; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for release in ("115", "215", "221"):
        parser.add_argument(f"--python-{release}", help="an interpreter with this TensorFlow")
    parser.add_argument("--only", action="append", help="the programs to compare; default: all")
    parser.add_argument("--cores", type=int, action="append", help="default: 1 and 8")
    parser.add_argument("--seconds", type=int, default=300, help="time limit of each run")
    parser.add_argument("--page-only", action="store_true", help="write the page, run nothing")
    options = parser.parse_args()
    checkouts = pathlib.Path(os.environ.get("TPUCOMPAT_PROGRAMS", "checkouts")).expanduser()
    rows = json.loads(TABLE.read_text(encoding="utf-8"))
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    news = [python for python in (options.python_221, options.python_215) if python]
    wrong = 0
    for row in rows if not options.page_only else []:
        if options.only and row["program"] not in options.only:
            continue
        found = results.setdefault(row["program"], {})
        with tempfile.TemporaryDirectory(prefix="tpucompat-public-") as folder:
            place = Place(row, checkouts, pathlib.Path(folder))
            for new in news or [sys.executable]:
                for cores in options.cores or [1, 8]:
                    for mistake in ["", row["mistake"]["args"]] if cores == 1 else [""]:
                        old = (options.python_115 if cores == 1 else None) or new
                        document = condensed(
                            place.compare(old, new, cores, mistake, options.seconds)
                        )
                        key = f"{document['new']} {cores}" + (" mistake" if mistake else "")
                        found[key] = document
                        wrong += document["verdict"] != ("differ" if mistake else "agree")
                        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(rows, results), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
