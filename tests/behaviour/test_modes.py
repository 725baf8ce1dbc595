"""Fast mode, the default, and exact mode, as a script meets them."""

import os
import pathlib
import subprocess
import sys

import pytest

from tpucompat.base.machine import environment
from tpucompat.runtime import rounding

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "behaviour" / "programs" / "channels_first.py"

pytestmark = pytest.mark.skipif(
    (environment().release or (0, 0)) < (2, 15), reason="oneDNN was tried with 2.15 and later"
)


def run(*options, **variables):
    environ = {key: value for key, value in os.environ.items() if key not in rounding.EXACT}
    return subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", *options, str(PROGRAM)],
        env=dict(environ, PYTHONPATH=str(ROOT), **variables),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("cores", ["1", "2"])
def test_channels_first_trains_with_onednn(cores):
    # A CPU without AVX512_VNNI has oneDNN only where it is asked for.
    done = run("--cores", cores, TF_ENABLE_ONEDNN_OPTS="1")
    assert done.stdout == "falling\n", done.stderr[-2000:]
    assert "fast mode with TF_ENABLE_ONEDNN_OPTS=1\n" in done.stderr


@pytest.mark.parametrize("cores", ["1", "2"])
def test_in_exact_mode_the_error_names_the_mode_that_works(cores):
    done = run("--exact", "--cores", cores)
    assert done.returncode == 1 and "only support" in done.stderr
    (advice,) = [line for line in done.stderr.splitlines() if line.endswith("[TPU474]")]
    assert "omit --exact" in advice
