"""TensorFlow from 2.16 on with Keras 3 alone: a script is told what to install, and nothing is half done."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tpucompat.base.machine import environment

pytestmark = pytest.mark.skipif(
    environment().keras != "3", reason="Keras 2 is here, bundled or as tf-keras"
)


@pytest.mark.parametrize("command", [["run"], ["doctor"]], ids=lambda command: command[0])
def test_the_package_to_install_is_named(command, tmp_path):
    (tmp_path / "script.py").write_text("import tensorflow as tf\nprint(tf.keras)\n")
    if command == ["run"]:
        command = ["run", "script.py"]
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        cwd=tmp_path,
    )
    major, minor = environment().release
    assert done.returncode != 0
    assert "TPU403" in done.stdout
    assert f"tf-keras=={major}.{minor}." in done.stdout
