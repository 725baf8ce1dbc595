"""Output that cannot be written, processes that were killed, folders with files named as Python's own."""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
import tempfile

import pytest

from tpucompat.base import temporary
from tpucompat.commands.migrate import files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and devices of POSIX")

OLD = "import tensorflow as tf\ntf.log(1)\n"
COMMANDS = [["scan", "."], ["migrate", "."], ["explain", "TPU410"], ["--help"], ["run", "--help"]]


def tpucompat(words, folder, **settings):
    command = [sys.executable, "-m", "tpucompat", *words]
    return subprocess.Popen(command, cwd=str(folder), text=True, **settings)


@pytest.fixture
def old(tmp_path):
    (tmp_path / "old.py").write_text(OLD)
    return tmp_path


@pytest.mark.parametrize(("words", "unbuffered"), [*zip(COMMANDS, ["", "1", "", "1", ""])])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_output_on_a_full_disk(words, unbuffered, old):
    settings = {"stderr": subprocess.PIPE, "env": {**os.environ, "PYTHONUNBUFFERED": unbuffered}}
    with open("/dev/full", "w") as full, tpucompat(words, old, stdout=full, **settings) as process:
        said = process.communicate()[1]
    assert process.returncode == 2
    assert said.startswith("tpucompat: error: TPU487 The output: No space left on device.")
    assert "Traceback" not in said and "ignored" not in said


def test_output_nobody_reads(old):
    for words in COMMANDS[:3]:
        reading, writing = os.pipe()
        os.close(reading)
        with tpucompat(words, old, stdout=writing, stderr=subprocess.PIPE) as process:
            os.close(writing)
            assert process.communicate()[1] == ""
        assert process.returncode == 2


@pytest.mark.parametrize("command", ["scan", "migrate"])
def test_a_working_directory_that_was_deleted(command, tmp_path):
    inside = (
        "import os, sys; os.rmdir(os.getcwd()); import tpucompat.__main__ as m; sys.exit(m.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", inside, command, "."], cwd=tmp_path, text=True, capture_output=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("tpucompat: error: TPU420 .: the working directory was deleted.")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="runpy is a file that can be hidden")
def test_a_folder_with_files_named_as_python_s_own(old):
    """`python -m` searches the current folder first."""
    own = ("typing", "difflib", "argparse", "json", "ast", "warnings", "random", "tempfile")
    for name in (*own, "tensorflow", "numpy", "keras", "tf_keras", "h5py"):
        (old / (name + ".py")).write_text(f"open('{name}.ran', 'w')\n")
    # `--write` asks the installed TensorFlow for the names that it has written.
    for words in (
        ["scan", "."],
        ["migrate", "."],
        ["migrate", "--write", "."],
        ["explain", "TPU410"],
    ):
        with tpucompat(words, old, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            said = process.communicate()
        assert process.returncode in (0, 1), said
    assert glob.glob(str(old / "*.ran")) == []


KILLED = """
import os, sys, time
from tpucompat.base import temporary
from tpucompat.commands.migrate import files
os.fsync = lambda handle: (print("in the middle", flush=True), time.sleep(60))
files.write(sys.argv[1], open(sys.argv[1], "rb").read(), b"new")
"""


def test_what_a_killed_process_leaves_is_removed_at_the_next_run(old):
    path = str(old / "old.py")
    command = [sys.executable, "-c", KILLED, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "in the middle\n"
        (left,) = glob.glob(str(old / ".tpucompat*"))
        temporary.sweep(str(old))
        assert os.path.exists(left)  # its process is alive
        process.send_signal(signal.SIGTERM)
    mine = old / ".tpucompat-mine"  # not one of ours, whatever it is called
    elsewhere = old / ".tpucompat-00000000-99999999-abc"  # of another machine
    mine.write_text("")
    elsewhere.write_text("")
    assert os.path.exists(left) and (old / "old.py").read_text() == OLD
    files.write(path, OLD.encode(), b"new")
    assert not os.path.exists(left) and mine.exists() and elsewhere.exists()
    assert (old / "old.py").read_text() == "new"


def test_folders_among_the_machine_s_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        pass
    name = temporary.prefix().replace(f"-{os.getpid()}-", f"-{process.pid}-")
    (tmp_path / (name + "abc") / "deep").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / (name + "link")).symlink_to(outside)
    with temporary.folder() as made:
        assert os.path.basename(made).startswith(temporary.prefix())
    assert os.listdir(str(tmp_path)) == ["outside"]
