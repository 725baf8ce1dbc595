"""Several cores leave a script's own arrays alone, also where generators give parts of them."""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


RUN = ["-m", "tpucompat", "run", "--quiet", "--cores", "8"]


@pytest.mark.parametrize("program", ["views_tf1", "views_tf2"])
def test_parts_of_arrays_stay_as_they_are(program, tmp_path):
    settings = {"PYTHONPATH": os.getcwd(), "VIEWS_OUT": str(tmp_path / "model")}
    clean = {name: value for name, value in os.environ.items() if name != "TF_USE_LEGACY_KERAS"}
    done = subprocess.run(
        [sys.executable, *RUN, os.path.join(HERE, "programs", f"{program}.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        cwd=str(tmp_path),
        env={**clean, **settings, "CUDA_VISIBLE_DEVICES": "-1"},
    )
    assert done.stdout.strip().split("\n")[-1] == "KEPT", done.stderr[-2000:]
