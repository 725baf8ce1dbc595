"""Unit tests of the time run as they are: by tf.test.main, by unittest and by pytest."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from tpucompat.base.machine import environment

pytestmark = pytest.mark.skipif(
    (environment().release or (0, 0)) < (1, 15),
    reason="the unit tests import what 1.15 has and 1.14 has not",
)

_FOLDER = pathlib.Path(__file__).parent / "programs"
_TESTS = 18  # of unit_tests.py, without TestCase.test_session, which skips itself


@pytest.mark.parametrize(
    "command, ran",
    [
        (["unit_tests.py", "--factor=3"], f"Ran {_TESTS + 4} tests"),
        (["-m", "unittest", "unit_tests"], f"Ran {_TESTS + 4} tests"),
        (["-m", "pytest", "-q", "-p", "no:cacheprovider", "unit_tests.py"], f"{_TESTS} passed"),
    ],
    ids=["script", "unittest", "pytest"],
)
def test_all_pass(command, ran):
    result = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--quiet", *command],
        cwd=_FOLDER,
        env={**os.environ, "PYTHONPATH": str(_FOLDER.parents[2]), "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        timeout=200,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    assert ran in result.stdout
