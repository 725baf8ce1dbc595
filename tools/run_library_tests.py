"""Runs the unit tests of TensorFlow 1.15 and of the libraries of its time, and counts who passes them.

The tests are not part of this repository: ``tools/library_tests.json`` names the repositories, and the
environment variable TPUCOMPAT_LIBRARIES a folder with a checkout of each, called owner+name. The files run as
they are, on a real TensorFlow 1.15 and through `tpucompat run` on later ones. So that TensorFlow is imported
once for each interpreter and not once for each file, a process that has imported it forks one that runs the
file. Tests that the real 1.15 does not pass (they want other machines, packages or files) do not count.

    TPUCOMPAT_LIBRARIES=checkouts python tools/run_library_tests.py --results FOLDER \
        --python 1.15=PYTHON --python 2.21=PYTHON [--only SUITE] [--markdown docs/library_tests.md]

What has a result in FOLDER already does not run again.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import re
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_TABLE = pathlib.Path(__file__).with_name("library_tests.json")
_HOST = "1.15"  # the release that says which tests count
# A file's time is the processor's, so that a busy machine changes no result; one that waits for nothing is
# stopped after so many times as long.
_PATIENCE = 5


# In the interpreter of one TensorFlow ----------------------------------------------------------------


def serve(options: argparse.Namespace) -> None:
    """Runs files one after another, each in a fork of this process; standard input names them."""
    native = options.serve == _HOST
    if native:
        import tensorflow as tf

        _ = tf.contrib.slim, tf.keras
    else:
        sys.path.insert(0, str(_ROOT))
        from tpucompat.base import keras_generation

        keras_generation.choose()
        import tensorflow as tf

        _ = tf.compat.v1.keras.layers
    files = json.load(sys.stdin)
    for file, result in files:
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            until = time.time() + _PATIENCE * options.limit
            child = os.fork()
            if not child:
                resource.setrlimit(resource.RLIMIT_CPU, (options.limit, options.limit + 1))
                _run(file, native, folder, log)
            code = _wait(child, until)
            found = outcomes(log.read_text(errors="replace"), code)
        pathlib.Path(result).write_text(json.dumps(found, indent=0))
        passed = sum(not error for error in found.values())
        print(f"{options.serve} {file}: {passed} pass, {len(found) - passed} do not", flush=True)


def _run(file: str, native: bool, folder: str, log: pathlib.Path) -> None:
    """What ``python FILE`` and ``tpucompat run FILE`` do; does not return."""
    os.setpgid(0, 0)
    os.chdir(folder)
    os.environ["TEST_TMPDIR"] = folder
    output = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    code: Any = 1
    try:
        if native:
            sys.argv[:] = [file]
            sys.path[0] = os.path.dirname(file)
            runpy.run_path(file, run_name="__main__")
        else:
            from tpucompat.commands.cli import run

            code = run.main(["--quiet", file])
    except SystemExit as end:
        code = end.code
    except BaseException:  # the traceback that python would end with
        import traceback

        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(bool(code)))


def _wait(child: int, until: float) -> int:
    """The exit code of a child, less than 0 for a signal (SIGXCPU: its time was up); 124 where it hung."""
    while time.time() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 124


# What a test runner wrote ----------------------------------------------------------------------------

_ERROR = re.compile(r"[\w.]*(?:Error|Exception|Failure)\b|tensorflow\.|TPU\d")


def outcomes(log: str, code: int) -> dict[str, str]:
    """What became of each test of a file.

    Args:
      log: What absl's test runner wrote.
      code: The exit code.

    Returns:
      Test -> "" if it passed, else its error. "*" stands for the file where that did not end as it should.
    """
    found = dict.fromkeys(re.findall(r"\[       OK \] (\S+)", log), "")
    errors: dict[str, str] = {}
    report = r"^(?:ERROR|FAIL): (\S+) \((.*?)\).*?\n(.*?)(?=^={50,}|^-{60,}\nRan|\Z)"
    for name, kind, text in re.findall(report, log, re.M | re.S):
        lines = [line for line in text.splitlines() if line.strip()]
        said = [line for line in lines if _ERROR.match(line)] or lines
        owner = [part for part in kind.split(".") if part != name][-1]
        errors.setdefault(f"{owner}.{name}", said[-1][:300])
    for name in re.findall(r"\[  FAILED  \] (\S+)", log):
        found[name] = errors.get(name, "failed")
    # Where only parts of a test fail (subTest), absl writes neither of the two.
    found.update((name, error) for name, error in errors.items() if not found.get(name))
    for name in re.findall(r"\[  SKIPPED \] (\S+)", log):
        found.pop(name, None)
    if code not in (0, 1) or not (found or re.search(r"^Ran \d+ test", log, re.M)):
        lines = [line for line in log.splitlines() if line.strip()]
        found["*"] = f"rc {code}: {lines[-1][:300] if lines else ''}"
    return found


# All of them -----------------------------------------------------------------------------------------


def _files(suite: dict[str, Any], checkouts: pathlib.Path) -> list[pathlib.Path]:
    root = checkouts / suite["checkout"]
    found = sorted(path for pattern in suite["tests"] for path in root.glob(pattern))
    without = re.compile("|".join(suite.get("without", ["$^"])))
    return [path for path in found if not without.search(path.relative_to(root).as_posix())]


def _name(path: pathlib.Path, root: pathlib.Path) -> str:
    return path.relative_to(root).as_posix().replace("/", "_") + ".json"


def run_suite(
    suite: dict[str, Any], release: str, python: str, options: argparse.Namespace
) -> None:
    """Runs what has no result yet of one suite on one TensorFlow."""
    root = options.checkouts / suite["checkout"]
    folder = options.results / release / suite["id"]
    folder.mkdir(parents=True, exist_ok=True)
    todo = [
        (str(path), str(folder / _name(path, root)))
        for path in _files(suite, options.checkouts)
        if not (folder / _name(path, root)).exists()
    ]
    if todo:
        path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
        command = [python, __file__, "--serve", release, "--limit", str(options.limit)]
        subprocess.run(
            command,
            input=json.dumps(todo).encode(),
            env={
                **os.environ,
                "PYTHONPATH": path if suite.get("importable") else os.environ.get("PYTHONPATH", ""),
                "TF_CPP_MIN_LOG_LEVEL": "3",
                "CUDA_VISIBLE_DEVICES": "-1",
                "TF_ENABLE_ONEDNN_OPTS": "0",  # as in exact mode
            },
            stderr=subprocess.DEVNULL,
            check=True,
        )


def _read(folder: pathlib.Path) -> dict[str, str]:
    """File and test -> error, of a suite on one TensorFlow."""
    return {
        f"{path.stem}: {test}": error
        for path in sorted(folder.glob("*.json"))
        for test, error in json.loads(path.read_text()).items()
    }


def page(table: dict[str, Any], results: pathlib.Path, releases: list[str]) -> str:
    """The page of the documentation: one row for each suite, and why the other tests do not pass."""
    lines = [
        "# Unit tests of TensorFlow 1.15 and of its libraries",
        "",
        "Google's unit tests, unchanged, run by `tpucompat run FILE`. Only tests that pass on a real "
        "TensorFlow 1.15.5 are counted. If a file exceeds the time limit, or needs a missing package or file, "
        "the tests that had passed until then are counted.",
        "",
        "| suite | files | pass on 1.15.5 | "
        + " | ".join(f"of them on {r}" for r in releases)
        + " |",
        "|---|---|---|" + "---|" * len(releases),
    ]
    reasons: collections.Counter[tuple[str, str]] = collections.Counter()
    for suite in table["suites"]:
        then = _read(results / _HOST / suite["id"])
        count = {name for name, error in then.items() if not error}
        if not count:
            continue
        cells = []
        for release in releases:
            now = _read(results / release / suite["id"])
            cells.append(str(sum(now.get(name, "-") == "" for name in count)) if now else "not run")
            files = {
                name.partition(":")[0]: error for name, error in now.items() if name.endswith(": *")
            }
            for name in count if now else ():
                error = (
                    now.get(name) if name in now else files.get(name.partition(":")[0], "absent")
                )
                if error:
                    reasons[release, _reason(error, table["reasons"])] += 1
        number = len({name.partition(":")[0] for name in then})
        lines.append(f"| {suite['name']} | {number} | {len(count)} | {' | '.join(cells)} |")
    for release in releases:
        lines += ["", f"## Why the others fail on {release}", ""]
        lines += [
            f"* {count}: {reason}"
            for (where, reason), count in reasons.most_common()
            if where == release
        ]
    return "\n".join([*lines, "", "Written by `tools/run_library_tests.py`.", ""])


def _reason(error: str, reasons: list[dict[str, str]]) -> str:
    return next(
        (row["reason"] for row in reasons if re.search(row["error"], error)),
        "differs in another way",
    )


def main(arguments: list[str] | None = None) -> int:
    """Runs what is missing, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=pathlib.Path, help="a folder that keeps the results")
    parser.add_argument("--python", action="append", default=[], metavar="RELEASE=PYTHON")
    parser.add_argument("--only", default="", help="the id of a suite")
    parser.add_argument(
        "--limit", type=int, default=100, help="seconds of the processor for one file"
    )
    parser.add_argument("--markdown", type=pathlib.Path, help="where the documentation goes")
    parser.add_argument("--releases", default="2.15,2.21", help="the columns of the page")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve(options)
        return 0
    table = json.loads(_TABLE.read_text())
    if options.python:
        checkouts = os.environ.get("TPUCOMPAT_LIBRARIES")
        if not checkouts or not options.results:
            parser.error("TPUCOMPAT_LIBRARIES names the checkouts, --results where results go")
        options.checkouts = pathlib.Path(checkouts)
        for release, _, python in (each.partition("=") for each in options.python):
            for suite in table["suites"]:
                if options.only in ("", suite["id"]):
                    run_suite(suite, release, python, options)
    if options.markdown:
        options.markdown.write_text(page(table, options.results, options.releases.split(",")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
