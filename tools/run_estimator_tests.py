"""Runs TPUEstimator's own tests against tpucompat, on emulated cores.

The tests are part of the repository tensorflow/estimator and are not copied here: the environment
variable TPUCOMPAT_ESTIMATOR_CHECKOUT names a checkout of release 2.15.0. Each class of tests runs in a
process of its own through `tpucompat run`, unmodified. Prints how many tests pass, and for each one that
does not the reason that ``tools/estimator_tests.json`` gives, or its error. There is also said which
tests are left out, because they would not end.

    TPUCOMPAT_ESTIMATOR_CHECKOUT=~/estimator python tools/run_estimator_tests.py [--only NAME]
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from typing import Any

_FOLDER = "tensorflow_estimator/python/estimator/tpu"
_REASONS = pathlib.Path(__file__).with_name("estimator_tests.json")
# Modules that were written for another number of cores than the others, or whose build names it
# (``--test_num_shards=2`` in the package's BUILD file, which some tests cannot do without).
_CORES = {
    "tpu_estimator_test.py": 2,
    "tpu_enqueue_sequence_test.py": 2,
    "tpu_estimator_embedding_test.py": 4,
    "tpu_estimator_gradients_test.py": 2,
    "tpu_estimator_input_v2_test.py": 2,
}
# The flag for the number of cores that some modules have.
_SHARDS = "test_num_shards"
# `tpucompat run` on a test module, some of whose tests are left out.
_BOOTSTRAP = """
import re, sys, unittest
from tpucompat.__main__ import main
left_out, names_of = re.compile(sys.argv[1]), unittest.TestLoader.getTestCaseNames

def names_without(self, case):
    names = names_of(self, case)
    left = [name for name in names if left_out.match(case.__name__ + "." + name)]
    for name in left:
        print("LEFT OUT " + case.__name__ + "." + name, flush=True)
    return [name for name in names if name not in left]

unittest.TestLoader.getTestCaseNames = names_without
sys.exit(main(["run", "--quiet", "--cores", sys.argv[2], *sys.argv[3:]]))
"""
_ROOT = pathlib.Path(__file__).resolve().parent.parent


def run_class(
    path: pathlib.Path, kind: str, cores: int, limit: int, left_out: str = "$^"
) -> dict[str, str]:
    """Runs one class of tests.

    Args:
      path: The file of its module.
      kind: The class.
      cores: How many cores are emulated.
      limit: Seconds after which it is stopped.
      left_out: Tests that do not run, a pattern of class and name.

    Returns:
      Test -> "" if it passed, else the first line of its error.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        command = [sys.executable, "-c", _BOOTSTRAP, left_out, str(cores), str(path), kind]
        if _SHARDS in path.read_text():
            command.append(f"--{_SHARDS}={cores}")
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        environment["TPUCOMPAT_EXACT"] = "1"
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(_ROOT), *filter(None, [environment.get("PYTHONPATH")])]
        )
        try:
            ran = subprocess.run(
                [*command, f"--xml_output_file={report}"],
                env=environment,
                cwd=folder,
                timeout=limit,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            return {f"{kind}.*": f"stopped after {limit} seconds{_current(error.stdout)}"}
        lines = ran.stdout.decode(errors="replace").strip().splitlines()
        results = {line.split()[2]: "left out" for line in lines if line.startswith("LEFT OUT ")}
        try:
            results.update(_results(xml.etree.ElementTree.parse(report).getroot()))
        except (OSError, xml.etree.ElementTree.ParseError):
            results[f"{kind}.*"] = lines[-1] if lines else f"exit code {ran.returncode}"
        return results


def classes(path: pathlib.Path) -> list[str]:
    """The names of a module's classes of tests."""
    return [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Test")
    ]


def _current(output: bytes | None) -> str:
    """The test that was running, from the output of the test runner."""
    started = [
        line for line in (output or b"").decode(errors="replace").splitlines() if "[ RUN " in line
    ]
    return " in " + started[-1].rpartition("]")[2].strip() if started else ""


def _results(report: Any) -> Any:
    for case in report.iter("testcase"):
        name = "{}.{}".format(case.get("classname", "").rpartition(".")[2], case.get("name"))
        problem = case.find("failure")
        if problem is None:
            problem = case.find("error")
        if case.find("skipped") is not None or case.get("status") == "notrun":
            continue
        if problem is None:
            yield name, ""
        else:
            text = (problem.get("message") or problem.text or "").strip().splitlines()
            yield name, text[0][:200] if text else "failed"


def _markdown(rows: list[tuple[str, str, str]], passed: int, cores: int) -> str:
    """The page of the documentation.

    Args:
      rows: Module, test and reason of each test that does not pass.
      passed: How many pass.
      cores: The number of emulated cores.
    """
    import tensorflow

    by_reason: dict[str, list[str]] = {}
    for module, test, reason in rows:
        by_reason.setdefault(reason, []).append(f"`{module}`: `{test}`")
    lines = [
        "# TPUEstimator's own tests",
        "",
        f"{passed} of {passed + len(rows)} tests of the `tpu` folder of tensorflow/estimator 2.15.0 pass on "
        f"TensorFlow {tensorflow.__version__} with {cores} emulated cores, or 2 or 4 if a module requires them "
        "(every case of a parametrized test counts). The others, by reason:",
    ]
    for reason, tests in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        lines += ["", f"## {reason[0].upper()}{reason[1:]} ({len(tests)})", ""]
        lines += [f"* {test}" for test in tests]
    lines += [
        "",
        "Written by `tools/run_estimator_tests.py --markdown docs/estimator_tests.md`.",
        "",
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Runs the tests; 0 if all that failed have a reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=8)
    parser.add_argument("--only", default="", help="part of a module's name")
    parser.add_argument("--class", dest="kind", default="", help="run this class of tests only")
    parser.add_argument("--limit", type=int, default=600, help="seconds for one class")
    parser.add_argument("--markdown", type=pathlib.Path, help="where the documentation goes")
    options = parser.parse_args(arguments)
    checkout = os.environ.get("TPUCOMPAT_ESTIMATOR_CHECKOUT")
    if not checkout:
        parser.error("TPUCOMPAT_ESTIMATOR_CHECKOUT names no checkout of tensorflow/estimator")
    reasons = json.loads(_REASONS.read_text())
    rows = []
    passed = unexplained = 0
    for path in sorted((pathlib.Path(checkout) / _FOLDER).glob("*_test.py")):
        if options.only not in path.name:
            continue
        results: dict[str, str] = {}
        left_out = "|".join(row["tests"] for row in reasons if row.get("left out")) or "$^"
        for kind in classes(path):
            if options.kind in ("", kind):
                cores = _CORES.get(path.name, options.cores)
                results.update(run_class(path, kind, cores, options.limit, left_out))
        failed = {test: error for test, error in results.items() if error}
        passed += len(results) - len(failed)
        print(f"{path.name}: {len(results) - len(failed)} pass, {len(failed)} do not", flush=True)
        for test, error in sorted(failed.items()):
            known = [row["reason"] for row in reasons if re.match(row["tests"], test)]
            unexplained += not known
            rows.append((path.name, test, known[0] if known else "NO REASON: " + error))
            print(f"  {test}: {rows[-1][2]}", flush=True)
    print(f"{passed} of {passed + len(rows)} tests pass, {unexplained} fail without a known reason")
    if options.markdown:
        options.markdown.write_text(_markdown(rows, passed, options.cores))
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
