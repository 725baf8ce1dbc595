"""Starts the old and the new script in processes of their own, with the recording in them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, Mapping, NamedTuple, Sequence

from tpucompat.base import package, temporary
from tpucompat.commands.verify.recorder import SNAPSHOT_STEPS, Recording
from tpucompat.runtime import rounding

#: Where the recording of an earlier run lies.
_FIRST = "first"
#: Seconds that a process has after SIGTERM to write down what it has.
_GRACE = 10.0


class Half(NamedTuple):
    """One of the two scripts to compare.

    Attributes:
      script: Its file.
      arguments: What stands behind its name; ``{out}`` in them is the folder that it may write to.
      python: The interpreter.
      legacy: Whether it runs through ``tpucompat run``.
      cores: Emulated cores; 1 for one replica.
      options: More options for ``tpucompat run``.
      rehearse: The TPU that is rehearsed, as ``tpucompat run --rehearse`` takes it; its cores are
        then not emulated. "" for none.
      dropout: Whether it drops out what it says.
      first: More arguments of an earlier run in the same folder, which this one continues; None for none.
    """

    script: str
    arguments: Sequence[str] = ()
    python: str = sys.executable
    legacy: bool = False
    cores: int = 1
    options: Sequence[str] = ()
    rehearse: str = ""
    dropout: bool = True
    first: Sequence[str] | None = None


def described(cores: int, rehearsed: bool) -> str:
    """What trains: "one replica", "8 emulated cores" or "8 rehearsed cores"."""
    if rehearsed:
        return f"{cores} rehearsed core" + "s" * (cores != 1)
    return "one replica" if cores == 1 else f"{cores} emulated cores"


class Run(NamedTuple):
    """One run that has ended.

    Attributes:
      half: What ran.
      code: Its exit code; None if it was ended for want of time, or never began.
      seconds: How long it took.
      output: What it printed, standard output and error together.
      recording: What was recorded.
      problem: Why the run is incomplete; "" if it is complete.
      work: The folder that it wrote to.
    """

    half: Half
    code: int | None
    seconds: float
    output: str
    recording: Recording
    problem: str
    work: str


def record(
    half: Half,
    folder: str,
    initial: str | None = None,
    mapping: Mapping[str, str] | None = None,
    seed: int = 0,
    timeout: float | None = None,
    snapshot_steps: Sequence[int] = SNAPSHOT_STEPS,
) -> Run:
    """Runs a script and records it.

    Args:
      half: What to run.
      folder: Where recording, output and the script's files go.
      initial: The folder of the recording whose initial values to start from.
      mapping: New variable -> old variable.
      seed: For Python's, NumPy's and TensorFlow's random numbers, before the script sets its own.
      timeout: Seconds after which the run is ended.
      snapshot_steps: After how many steps the variables are written down.
    """
    for spec in specifications(half, folder, initial, mapping, seed, snapshot_steps):
        run = _record(half, spec, timeout)
        if run.problem:
            break
    return run


def _record(half: Half, spec: Mapping[str, Any], timeout: float | None) -> Run:
    folder, work, recording = (spec[name] for name in ("run", "work", "folder"))
    path = os.path.join(folder, "spec.json")
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(spec, stream)
    log = os.path.join(folder, "output.txt")
    start = time.monotonic()
    problem = ""
    code: int | None = None
    with temporary.folder() as shown:
        try:
            code = _run(
                [half.python, "-m", "tpucompat.commands.verify.child", path],
                work,
                environment(shown),
                log,
                timeout,
            )
        except OSError as error:
            problem = f"{half.python}: {error.strerror or error}"
        except subprocess.TimeoutExpired:
            problem = f"stopped after {timeout:g} seconds (--timeout)"
    seconds = time.monotonic() - start
    output = ""
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as stream:
            output = stream.read()
    found = Recording(recording)
    if code:
        said = found.first("end").get("error", "")
        problem = said or f"exit code {code}: {_last_line(output)}"
    return Run(half, code, seconds, output, found, problem, work)


def specifications(
    half: Half,
    folder: str,
    initial: str | None = None,
    mapping: Mapping[str, str] | None = None,
    seed: int = 0,
    snapshot_steps: Sequence[int] = SNAPSHOT_STEPS,
) -> list[dict[str, Any]]:
    """What the recorded processes are to run, with arguments as :func:`record`; makes the folders.

    There is one, unless the script continues an earlier run: that comes first, with a recording of its own.
    """
    work = os.path.join(folder, "work")
    found = [_specification(half, folder, work, initial, mapping, seed, snapshot_steps)]
    if half.first is not None:
        earlier = half._replace(arguments=[*half.arguments, *half.first])
        begun = initial and os.path.join(os.path.dirname(initial), _FIRST, "recording")
        where = os.path.join(folder, _FIRST)
        found.insert(0, _specification(earlier, where, work, begun, mapping, seed, snapshot_steps))
    return found


def _specification(
    half: Half,
    folder: str,
    work: str,
    initial: str | None,
    mapping: Mapping[str, str] | None,
    seed: int,
    snapshot_steps: Sequence[int],
) -> dict[str, Any]:
    for made in (folder, work):
        os.makedirs(made, exist_ok=True)
    return {
        "script": os.path.abspath(half.script),
        "arguments": [argument.replace("{out}", work) for argument in half.arguments],
        "options": [option.replace("{out}", work) for option in half.options],
        "legacy": half.legacy,
        "cores": half.cores,
        "rehearse": half.rehearse,
        "dropout": half.dropout,
        "run": folder,
        "folder": os.path.join(folder, "recording"),
        "work": work,
        "seed": seed,
        "initial": initial,
        "map": dict(mapping or {}),
        "snapshot_steps": list(snapshot_steps),
    }


def _run(
    command: Sequence[str],
    folder: str,
    variables: Mapping[str, str],
    log: str,
    timeout: float | None,
) -> int:
    with open(log, "wb") as stream:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that what the script starts ends with it
        )
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            raise
        finally:
            with contextlib.suppress(OSError, AttributeError):  # all of it has ended
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def environment(shown: str) -> dict[str, str]:
    """This process's environment in exact mode, with this tpucompat and nothing else of this installation.

    Raises:
      SetupError: TF_ENABLE_ONEDNN_OPTS asks for another rounding (TPU473).
    """
    link = os.path.join(shown, "tpucompat")
    try:
        os.symlink(package.FOLDER, link)
    except OSError:  # file systems without links
        shutil.copytree(package.FOLDER, link)
    result = rounding.exact(os.environ)
    paths = [shown, os.environ.get("PYTHONPATH", "")]
    result["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    result["PYTHONHASHSEED"] = "0"
    result.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # What TensorFlow 2 leaves to its children, and the old half's emulated cores.
    for name in ("TF2_BEHAVIOR", "TF_USE_LEGACY_KERAS", "TPUCOMPAT_CORES", "TPUCOMPAT_REHEARSE"):
        result.pop(name, None)
    return result


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it printed nothing"
