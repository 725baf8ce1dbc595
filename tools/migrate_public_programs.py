"""Migrates public programs with TPUEstimator and compares; writes docs/migrated_programs.md.

    TPUCOMPAT_PROGRAMS=~/checkouts python tools/migrate_public_programs.py [--only NAME] [--verify]

The programs and their data are those of ``tools/run_public_programs.py``. Without ``--verify`` they are
migrated in memory, and that is all. With it, each that became TensorFlow 2 is compared with what it was by
``tpucompat verify``, on the TensorFlow of this Python, on one device and without dropout. What was found is in
``tools/migrated_programs_results.json``. Exit code 1 if a migrated program fails or differs.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import glob
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Iterator

import public_data
import run_public_programs

ROOT = run_public_programs.ROOT
sys.path.insert(0, str(ROOT))

from tpucompat.commands.migrate import plan, resolution, tree  # noqa: E402

RESULTS = ROOT / "tools" / "migrated_programs_results.json"
PAGE = ROOT / "docs" / "migrated_programs.md"
#: Starts a program as its row says: a module or a script, with its paths; where it looks for files around it,
#: in a copy of its folder.
_LAUNCHER = """\
import os, runpy, shutil, sys
here = os.path.dirname(os.path.abspath(__file__))
place = os.path.abspath(os.path.join(here, os.path.relpath(".", {beneath!r})))
if not here:
    import {module_name}  # what it starts, for those that read it
if {own_data}:
    shutil.copytree({data!r}, "data")
if {beside}:
    shutil.copytree(place, "program", ignore=shutil.ignore_patterns(os.path.basename(__file__)))
    os.symlink({data!r}, "data")
    place = os.path.abspath("program")
    for name in {beside}:
        shutil.copy(os.path.join({data!r}, name), os.path.join(place, {folder!r}))
    os.chdir(os.path.join(place, {folder!r}))
sys.path[:0] = [os.path.join(place, {home!r}), *(os.path.join(place, one) for one in {paths})]
if {module!r}:
    runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
else:
    runpy.run_path(os.path.join(place, {script!r}), run_name="__main__")
"""
#: What a row has where its script is started by another one.
_LAUNCHED = ("python_path", "beside", "own_data")
HEAD = """\
# Public programs with TPUEstimator, migrated

The result of `tpucompat migrate` on public programs that use TPUEstimator, without any manual change. *Plain*:
the script and all of its own modules are TensorFlow 2 and run without tpucompat. *In part*: they contain TODOs.
*Stays*: the program uses `tpucompat.v1`, for the given reason. *Lines* counts the new and changed lines of the
script and its modules, without `training_loop.py`.

`tpucompat verify` compared the program with its migration, both on TensorFlow 2.21 on one device, with
synthetic data, without dropout, and from the same initial values: forward pass, losses, gradients, updates,
evaluations and predictions, as far as a program has them. A program that computes something else in each run
says so. `tools/migrate_public_programs.py --verify` writes this page.

| program | becomes | lines | verify | left to do by hand |
|---|---|---|---|---|
"""


def step_of(program: dict[str, Any], folder: pathlib.Path) -> tuple[int, pathlib.Path] | None:
    """The last of a program's commands whose script uses TPUEstimator, itself or in what it imports."""
    commands = program["commands"][: program.get("verified_commands")]
    for index, command in reversed(list(enumerate(commands))):
        words = command[1:] if command[0] == "-m" else command
        name = words[0].replace(".", "/") + ".py" if command[0] == "-m" else words[0]
        path = folder / program.get("folder", "") / name
        files = modules(program, folder, path) if path.suffix == ".py" and path.exists() else ()
        if any(b"TPUEstimator" in one.read_bytes() for one in files):
            return index, path
    return None


def modules(
    program: dict[str, Any], folder: pathlib.Path, script: pathlib.Path
) -> Iterator[pathlib.Path]:
    """A script and the modules of its own that it imports, and what these import."""
    roots = [script.parent, folder, folder / program.get("folder", "")]
    roots += [folder / one for one in program.get("python_path", [])]
    seen: set[pathlib.Path] = set()
    waiting = [script]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        yield path
        try:
            found = ast.parse(path.read_bytes())
        except SyntaxError:
            continue
        for node in ast.walk(found):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                names = [base, *(f"{base}.{alias.name}".strip(".") for alias in node.names)]
            for name in names:
                for root in [path.parent, *roots]:
                    target = root / (name.replace(".", "/") + ".py")
                    if name and target.exists():
                        waiting.append(target)
                        break


def migrated(program: dict[str, Any], checkouts: pathlib.Path) -> dict[str, Any] | None:
    """What becomes of a program; None where it has nothing to do with TPUEstimator."""
    with tempfile.TemporaryDirectory(prefix="tpucompat-migrated-") as scratch:
        folder = pathlib.Path(scratch) / "program"
        run_public_programs.copy_program(program, checkouts, folder)
        step = step_of(program, folder)
        if step is None:
            return None
        script = step[1]
        files = set(modules(program, folder, script))
        everything = sorted({str(one) for path in files for one in path.parent.glob("*.py")})
        every = resolution.mark(tree.with_parts(list(tree.migrate(everything))))
        found = [one for one in every if pathlib.Path(one.path) in files]
        way = {pathlib.Path(one.path): one.way for one in found}[script]
        lines, left = 0, []
        for one in sorted(found, key=lambda one: pathlib.Path(one.path) != script):
            before, after = (text.decode().splitlines() for text in (one.before, one.after))
            lines += sum(
                line[:1] == "+" and line[:3] != "+++"
                for line in difflib.unified_diff(before, after, n=0)
            )
            left += [f"{os.path.basename(one.path)}: {reason}" for reason in reasons(one.after)]
        stays = way == plan.COMPATIBLE
        becomes = "stays" if stays else "in part" if left else "plain"
        return {"becomes": becomes, "lines": lines, "left": left}


def reasons(text: bytes) -> Iterator[str]:
    """The TODOs of a file."""
    for found in re.findall(r"# TODO\(tpucompat (.*(?:\n *#   .*)*)", text.decode()):
        yield " ".join(re.sub(r"\n *#  ", " ", found).replace("): ", ": ", 1).split())


def launched(
    program: dict[str, Any], work: pathlib.Path, index: int, script: pathlib.Path
) -> pathlib.Path:
    """A script of the old half that starts another one as a program's row says; the new half has it too."""
    command = program["commands"][index]
    is_module = command[0] == "-m"
    relative = script.relative_to(work / "old")
    beneath = pathlib.Path("" if is_module or program.get("beside") else relative.parent)
    text = _LAUNCHER.format(
        beside=program.get("beside", []),
        own_data=program.get("own_data", False),
        data=str(work / "data"),
        folder=program.get("folder", ""),
        home="" if is_module else str(relative.parent),
        paths=program.get("python_path", []),
        module=command[1] if is_module else "",
        script=str(relative),
        beneath=str(beneath),
        module_name=".".join(relative.relative_to(beneath).with_suffix("").parts),
    )
    for half in ("old", "new"):
        (work / half / beneath / "launcher.py").write_text(text, encoding="utf-8")
    return work / "old" / beneath / "launcher.py"  # what migrate has written may be beside it


def verified(program: dict[str, Any], args: argparse.Namespace, cores: int) -> dict[str, str]:
    """What ``tpucompat verify`` says of a program and its migration: rung -> verdict."""
    work = args.work / program["name"]
    shutil.rmtree(work, ignore_errors=True)
    for half in ("old", "new"):
        run_public_programs.copy_program(program, args.programs, work / half)
    run_public_programs.migrate(work / "new")
    data, home = work / "data", work / "home"
    data.mkdir()
    home.mkdir()
    public_data.MAKERS[program["data"]](data, home)
    index, script = step_of(program, work / "old") or (0, work)
    own_data = "data" if program.get("own_data") else ""
    if program["commands"][index][0] == "-m" or any(map(program.get, _LAUNCHED)):
        script = launched(program, work, index, script)
    scripts = [str(script), str(work / "new" / script.relative_to(work / "old"))]
    # Both halves the same: what a script computes may depend on its flag for a TPU. There is none by name.
    more = program.get("plain_arguments", program.get("tpu_arguments", []))
    *before, last = (
        [word.replace("{data}", place).replace("{cores}", str(cores)) for word in step]
        for step, place in zip(program["commands"], [str(data)] * index + [own_data or str(data)])
    )
    first = str(work / "first")
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": paths}
    with open(work / "log", "w", encoding="utf-8") as log:
        for step in before:  # what it needs of another script
            step = [word.replace("{out}", first) for word in step]
            line = [sys.executable, "-m", "tpucompat", "run", *step]
            folder = work / "old" / program.get("folder", "")
            subprocess.run(line, env=environment, cwd=folder, stdout=log, stderr=log, check=True)
    # What the scripts before have left is read, everything else is written.
    read = [re.sub(r"^.*\{out\}", first, word) + "*" for word in last]
    last = [
        word.replace("{out}", first) if glob.glob(path) else word for word, path in zip(last, read)
    ]
    given = [*last[2 if last[0] == "-m" else 1 :], *more]
    words = shlex.join(word for word in given if "mytpu" not in word)
    command = [sys.executable, "-m", "tpucompat", "verify", *scripts, f"--args={words}"]
    command += program.get("verify_options", [])  # where it draws its batches, distributions
    command += ["--no-dropout", "--timeout", str(args.seconds), "--json", str(work / "result.json")]
    command += ["--cores", str(cores)] if cores > 1 else []
    with open(work / "log", "a", encoding="utf-8") as log:
        subprocess.run(command, env=environment, cwd=work, stdout=log, stderr=log, check=False)
    document = json.loads((work / "result.json").read_text(encoding="utf-8"))
    if document["exit_code"] == 2:
        problems = re.sub(r"/\S*/", "", " ".join(map(str, document["problems"])))
        return {"not compared": problems[:300]}
    rungs = {rung["title"]: rung for rung in document["rungs"]}
    return {
        name: rung["verdict"] + (f" ({float(rung['worst']):.1e})" if rung["worst"] else "")
        for name, rung in rungs.items()
        if rung["verdict"] != "not compared"
    }


def verdict(program: dict[str, Any], rungs: dict[str, str]) -> str:
    """A comparison in few words; without what is another one in each run of the program itself."""
    if not rungs:
        return "not run"
    if "not compared" in rungs:
        return "could not be compared: " + rungs["not compared"]
    rungs = {
        name: said for name, said in rungs.items() if name not in program.get("random_rungs", [])
    }
    wrong = [f"{name}: {said}" for name, said in rungs.items() if not said.startswith("agree")]
    count = len(rungs) - len(wrong)
    return "; ".join([*wrong, f"{count} agree"]) if wrong else f"agrees ({count} rungs)"


def page(programs: list[dict[str, Any]], results: dict[str, Any]) -> str:
    """The page's text."""
    rows = []
    for program in programs:
        found = results.get(program["name"])
        if not found:
            continue
        rungs = found.get("verify", {})
        notes = [program["verify_note"]] if rungs and "verify_note" in program else []
        shown = "; ".join([verdict(program, rungs), *notes])
        left = found["left"]
        more = f"; {len(left) - 2} more" if len(left) > 2 else ""
        todo = "; ".join(left[:2]) + more if left else "nothing"
        cells = [program["title"], found["becomes"], str(found["lines"]), shown, todo]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    counts = [one["becomes"] for one in results.values()]
    said = ", ".join(f"{counts.count(way)} {way}" for way in ("plain", "in part", "stays"))
    return HEAD + "\n".join(rows) + f"\n\n{len(counts)} programs: {said}.\n"


def main() -> int:
    """Migrates, runs, writes the page; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", help="the programs; default: all")
    parser.add_argument("--verify", action="store_true", help="compare what became TensorFlow 2")
    parser.add_argument("--seconds", type=int, default=600, help="time limit of each command")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "migrated_programs")
    args = parser.parse_args()
    args.work = args.work.absolute()
    args.programs = pathlib.Path(os.environ.get("TPUCOMPAT_PROGRAMS", "checkouts")).expanduser()
    programs = json.loads(run_public_programs.TABLE.read_text(encoding="utf-8"))
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    wrong = 0
    for program in programs:
        if args.only and program["name"] not in args.only:
            continue
        try:
            found = migrated(program, args.programs)
        except run_public_programs.NotRun as reason:
            print(f"{program['name']}: {reason}", flush=True)
            continue
        if found is None:
            continue
        found["verify"] = results.get(program["name"], {}).get("verify", {})
        if args.verify and found["becomes"] != "stays":
            found["verify"] = verified(program, args, 1)
            wrong += "agrees" not in verdict(program, found["verify"])
        print(program["name"], found, flush=True)
        results[program["name"]] = found
        lines = [
            f"{json.dumps(name)}: {json.dumps(value)}" for name, value in sorted(results.items())
        ]
        RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    PAGE.write_text(page(programs, results), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
