"""Runs public programs, unmodified, on several TensorFlow releases, and writes docs/public_programs.md.

    TPUCOMPAT_PROGRAMS=~/checkouts python tools/run_public_programs.py --python-115 PYTHON \\
        --python-215 PYTHON --python-221 PYTHON [--only NAME] [--columns "1.15;2.21"] [--jobs 2]
    python tools/run_public_programs.py --python-115 PYTHON --sensitivity --only NAME
    python tools/run_public_programs.py --python-221 PYTHON --rehearse 1 --rehearse 8 --only NAME

The programs are not part of this repository. TPUCOMPAT_PROGRAMS names a folder of Git clones called
OWNER+REPO; each program's files are taken from them as they were at the revision that
``tools/public_programs.json`` names. Their data is made up here (``tools/public_data.py``), always the
same. A run's seeds come from ``tools/seeded_start``; its output is read for the figures that the table names,
and those are compared in exact mode with TensorFlow 1.15's, or with those of the release that a row names as
its reference. What was measured is kept in ``tools/public_programs_results.json``, so that the page can be
written from several calls. Exit code 1 if a run fails or differs by more than its tolerance.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, NamedTuple

import public_data

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "tools" / "public_programs.json"
RESULTS = ROOT / "tools" / "public_programs_results.json"
PAGE = ROOT / "docs" / "public_programs.md"

# Prints every variable of the newest checkpoint of a folder, but an optimizer's own, as JSON.
_READ_CHECKPOINT = """
import json, sys, tensorflow as tf
reader = tf.train.load_checkpoint(sys.argv[1])
out = {}
for name, shape in sorted(reader.get_variable_to_shape_map().items()):
    value = reader.get_tensor(name)
    if value.dtype.kind == "f" and not any(word in name for word in ("Adam", "adam_", "Momentum", "power")):
        out[name] = [float(v) for v in value.ravel()]
json.dump(out, open(sys.argv[2], "w"))
"""


class Column(NamedTuple):
    """One way of running a program."""

    name: str
    release: str
    cores: int = 1
    rehearsed: bool = False
    migrated: bool = False  # by ``tpucompat migrate``, and then run by plain Python


COLUMNS = (
    Column("1.15", "1.15"),
    Column("2.15", "2.15"),
    Column("2.21", "2.21"),
    Column("2.15, 8 cores", "2.15", 8),
    Column("2.21, 8 cores", "2.21", 8),
)
#: 2.1 is the reference of programs for TensorFlow 2 alone.
RELEASES = ("1.15", "2.1", "2.15", "2.21")


def reference(program: dict[str, Any]) -> str:
    """The release that a program was written for, whose numbers the others are compared with."""
    return program.get("reference", "1.15")


def columns_of(program: dict[str, Any]) -> list[Column]:
    """The ways of running a program, its reference first."""
    return [Column(reference(program), reference(program)), *COLUMNS[1:]]


def through(program: dict[str, Any]) -> bool:
    """Whether the reference runs the program through tpucompat as well."""
    return program.get("through_" + reference(program).replace(".", ""), False)


class NotRun(Exception):
    """A program that cannot be run here, with the reason."""


# The program's files -------------------------------------------------------------------------------


def _git(folder: pathlib.Path, *args: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(folder), *args],
        capture_output=True,
        check=True,
    ).stdout


def copy_program(program: dict[str, Any], checkouts: pathlib.Path, target: pathlib.Path) -> None:
    """The program's files at its revision; the clone may stand at any other one."""
    clone = checkouts / program["repository"].replace("/", "+")
    if not clone.exists():
        raise NotRun(f"no {clone.name} in {checkouts}")
    target.mkdir(parents=True)
    paths = program.get("paths", [])
    try:
        archive = _git(clone, "archive", program["revision"], "--", *paths)
    except subprocess.CalledProcessError as error:
        raise NotRun(f"{clone}: {error.stderr.decode().strip()}") from error
    subprocess.run(["tar", "-x", "-C", str(target)], input=archive, check=True)
    for folder, module in program.get("submodules", {}).items():
        shutil.rmtree(target / folder, ignore_errors=True)
        copy_program(module, checkouts, target / folder)


def migrate(folder: pathlib.Path) -> None:
    """Rewrites a program in its folder by ``tpucompat migrate``."""
    subprocess.run(
        [sys.executable, "-m", "tpucompat", "migrate", "--write", "--quiet", str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        check=False,  # a file that cannot be read is left, and that is no reason to stop
    )


# Running --------------------------------------------------------------------------------------------


def _expand(args: list[str], places: dict[str, str]) -> list[str]:
    return [re.sub(r"\{(\w+)\}", lambda found: places[found[1]], arg) for arg in args]


def command(
    program: dict[str, Any], step: list[str], python: str, column: Column, places: dict[str, str]
) -> list[str]:
    """The command line of one step of a program, in one column."""
    plain = column.migrated or (column.release == reference(program) and not through(program))
    args = _expand(step, places)
    if not plain:
        args += _expand(program.get("tpu_arguments", []), places)
    if column.cores > 1:
        args += _expand(program.get("arguments_8_cores", []), places)
    if plain:
        return [python, *args, *_expand(program.get("plain_arguments", []), places)]
    options = ["--cores", str(column.cores)] if column.cores > 1 else []
    if column.rehearsed:
        options = ["--rehearse", str(column.cores)]
    return [
        python,
        "-m",
        "tpucompat",
        "run",
        *options,
        *_expand(program.get("options", []), places),
        *args,
    ]


def run(
    program: dict[str, Any],
    python: str,
    column: Column,
    args: argparse.Namespace,
    **environ: str,
) -> dict[str, Any]:
    """Runs one program in one column; its figures, and how long it took."""
    work = args.work / program["name"] / column.name.replace(", ", "-").replace(" ", "")
    shutil.rmtree(work, ignore_errors=True)
    for folder in program.get("clears", []):  # where a program writes whatever it is told
        shutil.rmtree(folder, ignore_errors=True)
    copy_program(program, args.programs, work / "program")
    data, home, out = work / "data", work / "home", work / "out"
    for folder in (data, home, out):
        folder.mkdir()
    public_data.MAKERS[program["data"]](data, home)
    for name in program.get("beside", []):  # what a program looks for in its own folder
        target = work / "program" / program.get("folder", "") / name
        if (data / name).is_dir():
            shutil.copytree(data / name, target, dirs_exist_ok=True)
        else:
            shutil.copy(data / name, target)
    for name in program.get("folders", []):  # what it writes into, and does not make
        (work / "program" / program.get("folder", "") / name).mkdir(parents=True)
    places = {"data": str(data), "out": str(out), "program": str(work / "program")}
    places["cores"] = str(column.cores)
    environment = {
        **os.environ,
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join(
            [
                *(str(work / "program" / folder) for folder in program.get("python_path", [])),
                str(ROOT / "tools" / "seeded_start"),
                *([] if column.migrated else [str(ROOT)]),
                *args.extra.get(column.release, []),
            ]
        ),
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "MPLBACKEND": "Agg",
        "KERAS_HISTORY": str(work / "history"),
        "TPUCOMPAT_EXACT": "1",
    }
    if column.migrated:
        migrate(work / "program")
        environment["TF_ENABLE_ONEDNN_OPTS"] = "0"  # as in exact mode
    begun = time.monotonic()
    for key in ("environment", f"environment_{column.release}"):
        for name, value in program.get(key, {}).items():
            environment[name] = _expand([value], places)[0]
    environment.update(environ)
    with open(work / "log", "w", encoding="utf-8") as log:
        for step in program["commands"]:
            line = command(program, step, python, column, places)
            print("$", *line, file=log, flush=True)
            try:
                code = subprocess.run(
                    line,
                    cwd=work / "program" / program.get("folder", ""),
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    timeout=program.get("seconds", args.seconds),
                ).returncode
            except subprocess.TimeoutExpired:
                return {"error": f"not finished in {program.get('seconds', args.seconds)} s"}
            if code:
                error = _last_error(work / "log").replace(str(work) + os.sep, "")
                return {"error": f"exit code {code}: {error[:150]}"}
    seconds = time.monotonic() - begun
    figures = {}
    for name, where in program["figures"].items():
        numbers = read_figure(where, work, places, args)
        if not numbers:
            return {"error": f"no {name} in what it wrote"}
        figures[name] = [float(f"{number:.9g}") for number in numbers]
    return {"figures": figures, "seconds": round(seconds)}


def _last_error(log: pathlib.Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    wrong = [line for line in lines if re.match(r"\w*(Error|Exception)\b", line) or "[TPU" in line]
    return (wrong or lines or [""])[-1]


# Reading figures ------------------------------------------------------------------------------------


def read_figure(
    where: dict[str, str], work: pathlib.Path, places: dict[str, str], args: argparse.Namespace
) -> list[float]:
    """The numbers of one figure: of the log, of a file of numbers, of Keras' epochs, or of a checkpoint."""
    if "log" in where:
        text = (work / "log").read_text(encoding="utf-8", errors="replace")
        found = re.findall(where["log"], text)
        if where.get("which") == "last":  # what is logged in two ways, or once for each evaluation
            found = found[-1:]
        if where.get("which") == "first":
            found = found[:1]
        return [float(number.rstrip(".")) for match in found for number in _each(match)]
    if "numbers" in where:
        path = pathlib.Path(_expand([where["numbers"]], places)[0])
        text = path.read_text(encoding="utf-8")
        return [float(number) for number in re.findall(r"-?\d+\.\d+(?:[eE][-+]?\d+)?", text)]
    if "history" in where:  # see tools/seeded_start
        if not (work / "history").exists():
            return []
        epochs = map(json.loads, (work / "history").read_text(encoding="utf-8").splitlines())
        return [v for logs in epochs for k, v in logs.items() if re.fullmatch(where["history"], k)]
    if "notebook" in where:
        path = pathlib.Path(_expand([where["notebook"]], places)[0])
        return [float(n) for m in re.findall(where["regex"], _outputs(path)) for n in _each(m)]
    folder = _expand([where["checkpoint"]], places)[0]
    with tempfile.TemporaryDirectory() as scratch:
        target = os.path.join(scratch, "weights.json")
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        environment.pop("PYTHONPATH", None)
        reader = args.python["2.21"] or args.python["2.15"]
        subprocess.run(
            [reader, "-c", _READ_CHECKPOINT, folder, target],
            env=environment,
            check=True,
            stderr=subprocess.PIPE,
        )
        with open(target, encoding="utf-8") as stream:
            weights = json.load(stream)
    left_out = where.get("without", "^$")
    return summary_of({n: v for n, v in weights.items() if not re.search(left_out, n)})


def _each(match: str | tuple[str, ...]) -> tuple[str, ...]:
    return (match,) if isinstance(match, str) else match


def _outputs(path: pathlib.Path) -> str:
    """What an executed notebook printed."""
    with open(path, encoding="utf-8") as stream:
        cells = json.load(stream)["cells"]
    pieces = []
    for cell in cells:
        for output in cell.get("outputs", []):
            text = output.get("text") or output.get("data", {}).get("text/plain") or []
            pieces.append("".join(text))
    return "\n".join(pieces)


def summary_of(weights: dict[str, list[float]]) -> list[float]:
    """Three numbers for each variable, which no two sets of weights share by chance.

    The root of the mean square, and two sums over the elements with signs that are always the same,
    over the root of the count: of the size of one element each.
    """
    numbers = []
    for name in sorted(weights):
        values = weights[name]
        count = max(len(values), 1)
        numbers.append((sum(value * value for value in values) / count) ** 0.5)
        for seed in (1, 2):
            signs = public_data.signs(seed, len(values))
            numbers.append(sum(s * v for s, v in zip(signs, values)) / count**0.5)
    return numbers


# Comparing ------------------------------------------------------------------------------------------


def difference(got: list[float], expected: list[float]) -> float:
    """The largest difference, relative to the largest expected number's size where that is below it."""
    if len(got) != len(expected):
        return float("inf")
    size = max(abs(number) for number in expected) or 1.0
    # A number near nothing has no relative difference worth naming: a hundredth of the largest is the least
    # that a difference is measured against.
    return max(abs(a - b) / max(abs(b), size / 100) for a, b in zip(got, expected))


def compared(program: dict[str, Any], results: dict[str, Any], column: Column) -> float | None:
    """The largest difference of a column's figures from the reference's, or None."""
    mine, theirs = results.get(column.name, {}), results.get(reference(program), {})
    if "figures" not in mine or "figures" not in theirs:
        return None
    names = compared_names(program, column)
    if not names:
        return None
    return max(difference(mine["figures"][name], theirs["figures"][name]) for name in names)


def compared_names(program: dict[str, Any], column: Column) -> list[str]:
    """The figures that are compared in a column."""
    names = list(program["figures"])
    return program.get("figures_8_cores", names) if column.cores > 1 else names


def tolerance(program: dict[str, Any], column: Column) -> float:
    """What a column's figures may differ by."""
    if column.cores > 1:
        return program.get("tolerance_8_cores", program["tolerance"])
    return program["tolerance"]


# The page -------------------------------------------------------------------------------------------


def write_page(programs: list[dict[str, Any]], results: dict[str, Any]) -> str:
    """The page's text, from what was measured."""
    lines = (ROOT / "tools" / "public_programs_head.md").read_text(encoding="utf-8").splitlines()
    columns = [c for c in COLUMNS if any(c.name in results.get(p["name"], {}) for p in programs)]
    shown = [p for p in programs if "figures" in results.get(p["name"], {}).get(reference(p), {})]
    shown = [p for p in shown if len(results[p["name"]]) > 1]
    heads = ["program", "figure", "tolerance"]
    heads += [c.name if c.release == "1.15" else f"{c.name}" for c in columns]
    lines += ["", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for number, program in enumerate(shown, 1):
        mine = results[program["name"]]
        limits = [f"{program['tolerance']:.0e}"]
        if "tolerance_8_cores" in program:
            limits.append(f"8 cores {program['tolerance_8_cores']:.0e}")
        cells = [f"{number}. {program['title']}", next(iter(program["figures"])), ", ".join(limits)]
        own = {COLUMNS[0]: columns_of(program)[0]}
        cells += [_cell(program, mine, own.get(column, column)) for column in columns]
        lines.append("| " + " | ".join(cells) + " |")
    authors = {p["repository"].split("/")[0] for p in shown}
    books = sum(p["commands"][0][0].endswith(".ipynb") for p in shown)
    lines += ["", f"{len(shown)} programs of {len(authors)} authors, {books} of them notebooks."]
    lines += ["", "## What each row ran", ""]
    for number, program in enumerate(shown, 1):
        lines.append(
            f"{number}. **{program['title']}**, {program['repository']} at `{program['revision'][:10]}`: "
            f"{program['what']}. Compared: {', '.join(program['figures'])}. {program.get('note', '')}".rstrip()
        )
    return "\n".join(lines) + "\n"


def _cell(program: dict[str, Any], results: dict[str, Any], column: Column) -> str:
    mine = results.get(column.name)
    if mine is None:
        return "not run"
    if "error" in mine:
        return mine["error"].replace("|", "\\|")
    name, where = next(iter(program["figures"].items()))
    value = f"{mine['figures'][name][0 if 'checkpoint' in where else -1]:.7g}"
    if column.name == reference(program):
        marks = ["†"] * through(program) + ["‡"] * (column.release != "1.15")
        return " ".join([value, *marks])
    off = compared(program, results, column)
    if off is None:
        return value
    return f"{value} ({off:.1e}{'' if off <= tolerance(program, column) else ', **differs**'})"


# The command ----------------------------------------------------------------------------------------


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for release in RELEASES:
        short = release.replace(".", "")
        parser.add_argument(
            f"--python-{short}",
            default=os.environ.get(f"TPUCOMPAT_TF{short}_PYTHON"),
            help=f"an interpreter with TensorFlow {release}",
        )
        parser.add_argument(
            f"--extra-{short}",
            action="append",
            default=[],
            help="a folder of further packages for it",
        )
    parser.add_argument("--only", action="append", help="the programs to run; default: all")
    parser.add_argument("--columns", help="the columns to run, with semicolons; default: all")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--seconds", type=int, default=300, help="time limit of each command")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "public_programs")
    parser.add_argument(
        "--sensitivity",
        action="store_true",
        help="how far 1.15 is from itself where its weights start a unit in their last place away",
    )
    parser.add_argument(
        "--rehearse",
        action="append",
        type=int,
        metavar="CORES",
        help="how far so many rehearsed cores are from emulated ones; may be repeated",
    )
    parser.add_argument("--page-only", action="store_true", help="write the page, run nothing")
    args = parser.parse_args()
    args.programs = pathlib.Path(os.environ.get("TPUCOMPAT_PROGRAMS", "checkouts")).expanduser()
    args.work = args.work.absolute()
    args.columns = [name.strip() for name in args.columns.split(";")] if args.columns else []
    short = {release: release.replace(".", "") for release in RELEASES}
    args.python = {release: _path(getattr(args, f"python_{n}")) for release, n in short.items()}
    args.extra = {
        release: [os.path.abspath(folder) for folder in getattr(args, f"extra_{n}")]
        for release, n in short.items()
    }
    return args


def _path(place: str | None) -> str | None:
    """An interpreter as it is found from a program's folder too; a name on PATH stays one."""
    return os.path.abspath(place) if place and os.sep in place else place


def _stored() -> dict[str, Any]:
    """What earlier calls measured."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def measure(program: dict[str, Any], mine: dict[str, Any], args: argparse.Namespace) -> int:
    """Runs one program in the columns asked for, into its results; how many of them are wrong."""
    wrong = 0
    for column in columns_of(program):
        python = args.python[column.release]
        if not python or (args.columns and column.name not in args.columns):
            continue
        if column.name in program.get("left_out", {}):
            mine[column.name] = {"error": program["left_out"][column.name]}
            continue
        try:
            mine[column.name] = run(program, python, column, args)
        except NotRun as reason:
            print(f"{program['name']}: {reason}  WRONG", flush=True)
            return wrong + 1
        off = compared(program, mine, column)
        error = mine[column.name].get("error")
        bad = error is not None or (off is not None and off > tolerance(program, column))
        wrong += bad
        lines = [
            f"{program['name']:<28} {column.name:<14} {mine[column.name].get('seconds', '')} s  "
            f"{error or ('' if off is None else format(off, '.1e'))}{'  WRONG' if bad else ''}"
        ]
        if off is not None and bad:
            for name in compared_names(program, column):
                a = mine[column.name]["figures"][name]
                b = mine[reference(program)]["figures"][name]
                lines.append(f"    {name}: {difference(a, b):.1e}  {a[:6]} for {b[:6]}")
        print("\n".join(lines), flush=True)
    return wrong


def sensitivity(program: dict[str, Any], args: argparse.Namespace) -> int:
    """How far TensorFlow 1.15 is from itself where its weights start a unit in their last place away."""
    first, second, *_ = columns_of(program)
    runs = [
        run(program, args.python[first.release], first, args, **environ)
        for environ in ({}, *({"MOVED_WEIGHTS": str(seed)} for seed in (1, 2, 3)))
    ]
    errors = [each["error"] for each in runs if "error" in each]
    if errors:
        print(f"{program['name']:<28} {errors[0]}  WRONG", flush=True)
        return 1
    offs = [
        compared(program, {first.name: runs[0], second.name: each}, second) for each in runs[1:]
    ]
    print(f"{program['name']:<28} {', '.join(f'{off:.1e}' for off in offs if off is not None)}")
    return 0


def rehearse(program: dict[str, Any], args: argparse.Namespace) -> int:
    """How far rehearsed cores are from as many emulated ones, or from one replica, on 2.21.

    Without dropout, and with the same shuffling (see tools/seeded_start). How many are too far.
    """
    wrong = 0
    steps = [[*step, *program.get("rehearsal_arguments", [])] for step in program["commands"]]
    program = {**program, "commands": steps}
    for cores in args.rehearse:
        columns = [
            Column(f"{cores} {kind}", "2.21", cores, kind == "rehearsed")
            for kind in ("emulated", "rehearsed")
        ]
        runs = [run(program, args.python["2.21"], c, args, ALIKE_ON_CORES="1") for c in columns]
        limit = tolerance(program, columns[0])
        said = [each["error"] for each in runs if "error" in each]
        if not said:
            theirs, mine = (each["figures"] for each in runs)
            offs = {name: difference(mine[name], theirs[name]) for name in program["figures"]}
            said = [f"{name} {off:.1e}" for name, off in offs.items()]
        bad = any("error" in each for each in runs) or max(offs.values()) > limit
        wrong += bad
        seconds = ", ".join(f"{each.get('seconds', '-')} s" for each in runs)
        print(
            f"{program['name']:<28} {cores} rehearsed ({seconds})  {', '.join(said)}"
            f"{'  WRONG' if bad else ''}",
            flush=True,
        )
    return wrong


def main() -> int:
    """Runs, compares, writes the page; returns the exit code."""
    args = _arguments()
    with open(TABLE, encoding="utf-8") as stream:
        programs = json.load(stream)
    asked = [p for p in programs if not args.only or p["name"] in args.only]
    keeping = threading.Lock()

    def keep(program: dict[str, Any]) -> int:
        mine = _stored().get(program["name"], {})
        wrong = measure(program, mine, args)
        with keeping:
            results = {
                **_stored(),
                program["name"]: mine,
            }  # another call may have written meanwhile
            lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in results.items()]
            RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return wrong

    wrong = 0
    if args.sensitivity:
        return max(sensitivity(program, args) for program in asked)
    if args.rehearse:
        return min(1, sum(rehearse(program, args) for program in asked))
    if not args.page_only:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            wrong = sum(pool.map(keep, asked))
    PAGE.write_text(write_page(programs, _stored()), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
