"""Several cores leave a script's own arrays alone, also where generators give parts of them."""

import os
import subprocess
import sys

import pytest

from tpucompat.base.machine import environment

HERE = os.path.dirname(os.path.abspath(__file__))
RELEASE = environment().release or (0, 0)


@pytest.mark.parametrize("era", ["tf1", "tf2"])
@pytest.mark.parametrize("option", ["--cores", "--rehearse"])
@pytest.mark.skipif(RELEASE < (2, 15), reason="no rehearsal before 2.15")
def test_parts_of_arrays_stay_as_they_are(era, option, tmp_path):
    program = os.path.join(HERE, "programs", f"views_{era}.py")
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", "--quiet", option, "8", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        cwd=str(tmp_path),
        env={
            **os.environ,
            "PYTHONPATH": os.getcwd(),
            "CUDA_VISIBLE_DEVICES": "-1",
            "VIEWS_OUT": str(tmp_path / "model"),
        },
    )
    assert done.stdout.strip().split("\n")[-1] == "KEPT", done.stderr[-2000:]
