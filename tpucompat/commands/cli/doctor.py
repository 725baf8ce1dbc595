"""``tpucompat doctor``: the environment, the engine that would run, what is missing in it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from typing import Sequence

from tpucompat.base.errors import SetupError
from tpucompat.base.machine import Environment, environment
from tpucompat.base.problems import Problem
from tpucompat.commands.check import compiler
from tpucompat.commands.cli.options import Parser
from tpucompat.runtime import namespace
from tpucompat.tf import patches
from tpucompat.tf.patches.rows import ROWS
from tpucompat.version import VERSION

_COLOURS = {"error": "31", "warning": "33", "note": "36", "ok": "32"}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = Parser(prog="tpucompat doctor", description=__doc__)
    result.add_argument("--json", action="store_true", help="print everything as JSON")
    result.add_argument(
        "--patches",
        action="store_true",
        help="print what a TensorFlow 1 script's process has replaced in TensorFlow and Keras",
    )
    return result


def main(argv: Sequence[str]) -> int:
    """Runs the command.

    Args:
      argv: The arguments behind ``doctor``.

    Returns:
      1 when a script could not run, else 0.
    """
    options = parser().parse_args(argv)
    if options.patches:
        return _print_patches(options.json)
    here = environment()
    problems = here.problems()
    if options.json:
        shown = dict(here.as_dict(), tpucompat=VERSION, platform=platform.platform())
        shown["check"] = _check(here)
        print(json.dumps(shown, indent=2, sort_keys=True))
    else:
        _print_all(here, problems)
    return 1 if any(problem.severity == "error" for problem in problems) else 0


def _print_patches(as_json: bool) -> int:
    """Enters graph mode as a script's first use of TensorFlow does, and prints the patches."""
    environment().require()
    namespace.root(namespace.V1).Session  # noqa: B018  # its first use
    targets: dict[str, list[str]] = {row.make: [] for row in ROWS}
    for change in patches.changes():
        targets[change.patch.make].append(change.target)
    if as_json:
        found = [{**row._asdict(), "replaced": sorted(set(targets[row.make]))} for row in ROWS]
        print(json.dumps(found, indent=2))
        return 0
    for row in sorted(ROWS, key=lambda row: not targets[row.make]):
        applied = "applied" if targets[row.make] else "not applied here"
        print(f"{row.make} ({row.releases or 'all releases'}; {row.group}; {applied}): {row.why}")
        for target in sorted(set(targets[row.make])):
            print(f"    {target}")
    count, applied_rows = sum(map(len, targets.values())), sum(map(bool, targets.values()))
    print(
        f"{count} attributes by {applied_rows} of {len(ROWS)} patches. tpucompat.uninstall() puts them back."
    )
    return 0


def _print_all(here: Environment, problems: list[Problem]) -> None:
    for name, value in _facts(here):
        print(f"{name:<12}{value}")
    print()
    for problem in problems:
        print(
            _coloured(problem.severity, f"{problem.severity:<9}")
            + f"{problem.text} [{problem.code}]"
        )
        if problem.repair:
            print(f"{'':<9}repair: {problem.repair}")
    broken = sum(problem.severity == "error" for problem in problems)
    if broken:
        print(_coloured("error", "Scripts cannot run in this environment."))
    else:
        print(_coloured("ok", f"Scripts can run: {here.engine} engine on {here.replicas}."))


def _facts(here: Environment) -> list[tuple[str, str]]:
    """Name and value of each line, as it is pasted into a report of a fault."""
    tensorflow = f"{here.tensorflow} ({here.distribution or 'no metadata'})"
    return [
        ("tpucompat", VERSION),
        ("Python", f"{'.'.join(map(str, here.python))} on {platform.platform()}"),
        ("TensorFlow", tensorflow if here.tensorflow else "not installed"),
        ("Keras", _keras(here)),
        ("Estimator", _estimator(here)),
        ("Accelerator", _accelerator(here)),
        ("Engine", f"{here.engine}: {here.replicas}"),
        ("Numbers", _numbers(here)),
        ("Check", _check(here)),
    ]


def _check(here: Environment) -> str:
    """Which tiers of ``tpucompat check`` there are."""
    if not here.tensorflow or here.has("contrib"):
        return "unavailable: requires TensorFlow 2"
    try:
        libtpu = compiler.find()
    except SetupError as error:
        return f"tier (a): operations and lowering; no tier (b): {error.cause}"
    return f"tiers (a), (b) and (c): libtpu {libtpu.version}".rstrip()


def _numbers(here: Environment) -> str:
    return f"{here.mode}: " + (
        "TensorFlow 1.15's rounding"
        if here.exact
        else "TensorFlow's default rounding and speed; --exact selects 1.15's rounding"
    )


def _keras(here: Environment) -> str:
    return {
        "": "none that works with this TensorFlow",
        "bundled 2": "Keras 2, part of TensorFlow",
        "2": f"Keras {here.keras_version}",
        "3": f"Keras {here.keras_version}",
        "tf-keras": f"tf-keras {here.tf_keras_version} (TF_USE_LEGACY_KERAS=1)",
    }[here.keras]


def _estimator(here: Environment) -> str:
    return {
        "native": "part of TensorFlow",
        "package": f"tensorflow-estimator {here.estimator_version}",
        "absent": "none",
    }[here.estimator]


def _accelerator(here: Environment) -> str:
    found = []
    if here.tpu_devices:
        found.append(f"{len(here.tpu_devices)} TPU chip(s), {'' if here.libtpu else 'no '}libtpu")
    if here.gpus:
        found.append(f"{here.gpus} GPU(s)" + (", not used by this TensorFlow" * here.cpu_only))
    if here.emulated_cores:
        found.append(f"TPUCOMPAT_CORES={here.emulated_cores}")
    if here.tpu_setting:
        found.append(f"TPUCOMPAT_TPU={here.tpu_setting}")
    if here.tpu_address:
        found.append(f"{here.tpu_address} (not used)")
    return "; ".join(found) or "none, CPU only"


def _coloured(kind: str, text: str) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\033[{_COLOURS[kind]}m{text}\033[0m"
