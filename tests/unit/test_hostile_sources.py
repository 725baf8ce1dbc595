"""Names of files that a terminal would obey, and sources that took time in the square of their length."""

from __future__ import annotations

import os
import sys
import time

import pytest

from tpucompat.commands.cli import migrate, scan

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
USE = "import tensorflow as tf\ntf.contrib.tpu.TPUConfig()\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "\x1b[31mred\nname\u202e.py").write_text(USE)
    (tmp_path / "bad\x1b]0;x.py").write_text("import tensorflow as tf\nprint tf\n")
    os.symlink("/etc/hostname", str(tmp_path / "out\x1b[2J.py"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command, arguments",
    [
        (scan, ["."]),
        (scan, [".", "--format", "github"]),
        (migrate, [".", "--check"]),
    ],
)
def test_a_terminal_gets_no_control_character_of_a_name(folder, command, arguments, capsys):
    command.main(arguments)
    said = "".join(capsys.readouterr())
    assert "red" in said and "\x1b" not in said and "\u202e" not in said


@pytest.mark.parametrize(
    "source",
    [
        "import tensorflow as a0\n"
        + "\n".join(f"a{n + 1} = a{n}" for n in range(1000))
        + "\na1000.contrib.tpu.TPUConfig()\n",
        "from tensorflow.contrib.tpu import *\n" * 3000,
        "".join(f"from tensorflow.m{n} import *\ny = zeros(1)\n" for n in range(1500)),
        "from keras.layers import *\n" + "y = Dense(1)\n" * 1500,
    ],
    ids=["aliases", "stars", "unknown stars", "calls"],
)
def test_many_names_of_one_module_take_no_time_in_their_square(tmp_path, source, capsys):
    path = tmp_path / "many.py"
    path.write_text(source)
    start = time.process_time()
    migrate.main(["--check", str(path)])
    assert time.process_time() - start < 5
