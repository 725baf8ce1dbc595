"""What is said about a path that does not exist."""

from __future__ import annotations

import errno
import os
import tempfile

import pytest

from tpucompat.base import missing
from tpucompat.commands.cli import migrate, scan
from tpucompat.commands.migrate import files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("train_model.py", "broken.ipynb"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "path, step",
    [
        ("train_modle.py", "Did you mean train_model.py?"),
        ("train_model", "Did you mean train_model.py?"),
        ("nope.ipynb", "Check the path; it is relative to {folder}."),
        ("scripts/a.py", "Check the path: the folder scripts does not exist or cannot be read."),
        ("a/b/c.py", "Check the path: the folder a does not exist or cannot be read."),
        ("/none/c.py", "Check the path: the folder /none does not exist or cannot be read."),
        ("", "Check the path; it is relative to {folder}."),
    ],
)
def test_the_next_step_names_what_is_near_or_lacks(folder, path, step):
    assert missing.next_step(path) == step.format(folder=folder)


@pytest.mark.parametrize("command", [scan, migrate])
def test_commands_that_run_nothing_do_not_speak_of_modules(folder, command, capsys):
    assert command.main(["train_modle.py"]) == 2
    said = capsys.readouterr().err
    assert "TPU420" in said and "Did you mean train_model.py?" in said
    assert "-m NAME" not in said


@pytest.mark.parametrize(
    "number, step",
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EROFS, "The file system is read-only"),
        (errno.EACCES, "Check the permissions"),
    ],
)
def test_a_file_that_is_not_written_says_what_hinders_it(tmp_path, monkeypatch, number, step):
    def mkstemp(**_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\n")
    for write in (
        lambda: files.place(str(path), b"y = 1\n"),
        lambda: files.write(str(path), b"x = 1\n", b"y = 1\n"),
    ):
        with pytest.raises(files.WriteError, match=step):
            write()
    assert path.read_bytes() == b"x = 1\n"
