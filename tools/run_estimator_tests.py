"""Runs TPUEstimator's own tests against tpucompat, on emulated cores.

The tests are part of the repository tensorflow/estimator and are not copied here: the environment
variable TPUCOMPAT_ESTIMATOR_CHECKOUT names a checkout of release 2.15.0. Each test module runs in a
process of its own, on TensorFlow 2 as it was written, with tpucompat's TPUEstimator where it imports
TensorFlow's. Prints how many tests pass, and for each one that does not the reason that
``tools/estimator_tests.json`` gives, or its error.

    TPUCOMPAT_ESTIMATOR_CHECKOUT=~/estimator python tools/run_estimator_tests.py [--only NAME] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from typing import Any

_FOLDER = "tensorflow_estimator/python/estimator/tpu"
_REASONS = pathlib.Path(__file__).with_name("estimator_tests.json")
# Modules that were written for another number of cores than the others.
_CORES = {"tpu_estimator_input_v2_test.py": 2}
# Runs a test module with tpucompat's modules in the place of TensorFlow's.
_BOOTSTRAP = """
import runpy, sys, types
from tpucompat.engines import session
session.enter()
from tpucompat.idioms import tpu_estimator, tpu_estimator_source

def put(name, copy):
    class Module(types.ModuleType):
        def __getattr__(self, key):
            return getattr(tpu_estimator, key) if hasattr(tpu_estimator, key) else getattr(copy, key)
        def __setattr__(self, key, value):
            setattr(copy, key, value)
    full = "tensorflow_estimator.python.estimator.tpu." + name
    module = sys.modules[full] = Module(full)
    setattr(sys.modules["tensorflow_estimator.python.estimator.tpu"], name, module)

copy = tpu_estimator_source.load()
put("tpu_estimator", copy)
put("tpu_config", copy.tpu_config)
import tensorflow
from tpucompat.idioms import cross_shard
tensorflow.compat.v1.tpu.CrossShardOptimizer = cross_shard.CrossShardOptimizer
sys.argv = sys.argv[1:]
sys.path[0] = ""
runpy.run_path(sys.argv[0], run_name="__main__")
"""
_ROOT = pathlib.Path(__file__).resolve().parent.parent


def run_module(path: pathlib.Path, cores: int, limit: int, kind: str = "") -> dict[str, str]:
    """Runs one test module.

    Args:
      path: Its file.
      cores: How many cores are emulated.
      limit: Seconds after which it is stopped.
      kind: The class of tests to run; all of them if "".

    Returns:
      Test -> "" if it passed, else the first line of its error.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        command = [sys.executable, "-c", _BOOTSTRAP, str(path), f"--xml_output_file={report}"]
        command += [kind] if kind else []
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        environment["TPUCOMPAT_CORES"] = str(cores)
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(_ROOT), *filter(None, [environment.get("PYTHONPATH")])]
        )
        try:
            ran = subprocess.run(
                command,
                env=environment,
                cwd=folder,
                timeout=limit,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            return {"(module)": f"stopped after {limit} seconds{_current(error.stdout)}"}
        if not report.exists():
            lines = ran.stdout.decode(errors="replace").strip().splitlines()
            return {"(module)": lines[-1] if lines else f"exit code {ran.returncode}"}
        return dict(_results(xml.etree.ElementTree.parse(report).getroot()))


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


def main(arguments: list[str] | None = None) -> int:
    """Runs the tests; 0 if all that failed have a reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=8)
    parser.add_argument("--only", default="", help="part of a module's name")
    parser.add_argument("--class", dest="kind", default="", help="run this class of tests only")
    parser.add_argument("--limit", type=int, default=1800, help="seconds for one module")
    parser.add_argument("--json", type=pathlib.Path, help="where the results go")
    options = parser.parse_args(arguments)
    checkout = os.environ.get("TPUCOMPAT_ESTIMATOR_CHECKOUT")
    if not checkout:
        parser.error("TPUCOMPAT_ESTIMATOR_CHECKOUT names no checkout of tensorflow/estimator")
    reasons = json.loads(_REASONS.read_text()) if _REASONS.exists() else {}
    results = {}
    for path in sorted((pathlib.Path(checkout) / _FOLDER).glob("*_test.py")):
        if options.only in path.name:
            results[path.name] = run_module(
                path, _CORES.get(path.name, options.cores), options.limit, options.kind
            )
            failed = sum(bool(error) for error in results[path.name].values())
            print(
                f"{path.name}: {len(results[path.name]) - failed} pass, {failed} do not", flush=True
            )
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    total = passed = unexplained = 0
    for module, tests in results.items():
        for name, error in sorted(tests.items()):
            total += 1
            passed += not error
            if error:
                reason = reasons.get(f"{module}:{name}") or reasons.get(module)
                unexplained += reason is None
                print(f"  {module}:{name}: {reason or 'NO REASON: ' + error}")
    print(f"{passed} of {total} tests pass, {unexplained} fail without a known reason")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
