"""Codes of commands and settings: each is provoked by its number, and its advice read."""

from __future__ import annotations

import os
import sys
import types

import pytest
from installations import made_up

from tpucompat.base import journal, keras_generation
from tpucompat.base.codes import CODES
from tpucompat.base.errors import SetupError
from tpucompat.base.machine import sniff
from tpucompat.commands.cli import (
    check,
    convert_checkpoint,
    doctor,
    explain,
    migrate,
    run,
    scan,
    verify,
)
from tpucompat.engines import accelerator
from tpucompat.runtime import imports, installation, smoke
from tpucompat.runtime.notebooks import runner
from tpucompat.runtime.paths import mapping, redirection
from tpucompat.tf import patches


@pytest.fixture(autouse=True)
def quiet():
    journal.reset()
    yield
    journal.reset()


def said():
    """The codes of the notices so far."""
    return [code for code, _ in journal.notices()]


FIT = """
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""


@pytest.mark.parametrize(
    "line, code, advised",
    [
        ("x = np.float(1)", "TPU220", "Use the current name"),
        ("model.fit_generator(*given)", "TPU214", "Use the current method"),
        (
            "model.fit_generator(g, validation_data=(x, x))",
            "TPU217",
            "divides the number of examples",
        ),
    ],
)
def test_what_a_scan_or_a_migration_says_of_a_line(line, code, advised, tmp_path, capsys):
    (tmp_path / "script.py").write_text(FIT + line + "\n")
    command = scan if code == "TPU220" else migrate
    command.main([str(tmp_path)])
    assert code in capsys.readouterr().out
    assert advised in CODES[code].what_to_do


def test_keras_3_in_use_before_the_installation(monkeypatch):
    model = type("Model", (), {"__module__": "keras.src.models"})
    keras = types.SimpleNamespace(Model=model)
    monkeypatch.setitem(sys.modules, "tensorflow", types.SimpleNamespace(keras=keras))
    monkeypatch.setattr(keras_generation, "environment", lambda: sniff(made_up("2.21.0")))
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    with pytest.raises(SetupError) as caught:
        keras_generation.choose()
    assert caught.value.code == "TPU422" and "first line" in caught.value.next_step
    assert "TF_USE_LEGACY_KERAS" not in os.environ


def test_an_installation_for_another_era(monkeypatch):
    monkeypatch.setattr(installation, "_current", types.SimpleNamespace(era="tf1"))
    with pytest.raises(SetupError) as caught:
        installation.install_for("", ".", era="tf2")
    assert caught.value.code == "TPU423" and "--era" in caught.value.next_step


def test_a_smoke_run_says_so(monkeypatch):
    namespace = types.SimpleNamespace(base=None, find=lambda *names: None)
    monkeypatch.setattr(smoke.private, "keras_models", lambda graph: [])
    monkeypatch.setitem(imports.ROOTS, "tf1", namespace)
    since = patches.mark()
    smoke.enable("tf1")
    patches.undo(since)
    assert said() == ["TPU425"] and "without --smoke" in CODES["TPU425"].what_to_do


def test_notebooks_without_the_packages_that_execute_them(monkeypatch):
    for name in ("nbclient", "ipykernel"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SetupError) as caught:
        runner._require_packages()
    assert caught.value.code == "TPU430" and "nbclient, ipykernel are not" in str(caught.value)
    assert "pip install" in caught.value.next_step


def test_a_new_folder_for_a_bucket(tmp_path):
    redirection.install(mapping.parse_all([f"gs://bucket={tmp_path / 'new'}"]))
    redirection.uninstall()
    assert said() == ["TPU441"] and (tmp_path / "new").is_dir()
    assert "copy its data into the folder" in CODES["TPU441"].what_to_do


def test_a_migration_by_an_old_python(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 8, 18))
    assert migrate.main([str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert "TPU453" in shown and "with a later Python" in shown


def test_a_rehearsal_by_a_tensorflow_that_cannot(monkeypatch):
    here = sniff(made_up("2.10.1", environ={"TPUCOMPAT_REHEARSE": "8"}))
    with pytest.raises(SetupError) as caught:
        accelerator._check_rehearsal(here)
    assert caught.value.code == "TPU456" and "TPUCOMPAT_CORES=8" in caught.value.next_step


def test_a_rehearsal_says_so(monkeypatch):
    here = sniff(made_up("2.21.0", environ={"TPUCOMPAT_REHEARSE": "8"}))
    monkeypatch.setattr(accelerator, "_here", lambda: here)
    accelerator.announce()
    assert said()[0] == "TPU457" and "tpucompat check" in CODES["TPU457"].what_to_do


def test_a_verification_of_nothing(tmp_path, capsys):
    assert verify.main([str(tmp_path / "old.py"), str(tmp_path / "new.py")]) == 2
    shown = capsys.readouterr().err
    assert "TPU470" in shown and "tpucompat verify --help" in shown


@pytest.mark.parametrize(
    "command, words, said, step",
    [
        (run, "--cores 0 a.py", "--cores: '0' is not a positive integer", "run --help"),
        (run, "--cores eight a.py", "'eight' is not a positive integer", "run --help"),
        (run, "--cors 8 a.py", "--cors; did you mean --cores?", "run --help"),
        (run, "--out b.ipynb a.py", "require a notebook", "Leave them out"),
        (scan, "--jobs 0 a.py", "'0' is not a positive integer", "scan --help"),
        (migrate, "--write --output b a.py", "not allowed with", "migrate --help"),
        (migrate, "--backup a.py", "--backup requires --write", "Add --write"),
        (verify, "--cores -1 a.py a.py", "'-1' is not a positive integer", "verify --help"),
        (verify, "--timeout nan a.py a.py", "'nan' is not a positive number", "verify --help"),
        (check, "--limit 0 a.py", "'0' is not a positive number of seconds", "check --help"),
        (explain, "", "CODE|SYMBOL", "explain --help"),
        (doctor, "--jsn", "did you mean --json?", "doctor --help"),
    ],
)
def test_a_command_line_that_cannot_be_followed(
    command, words, said, step, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("")
    try:
        code = command.main(words.split())
    except SystemExit as end:
        code = end.code
    shown = capsys.readouterr().err
    assert code == 2 and "TPU493" in shown and len(shown.splitlines()) == 3
    assert said in shown and step in shown.splitlines()[1]


@pytest.mark.parametrize(
    "words, said",
    [
        ("--all a.py a.py", "leave out OLD and NEW"),
        ("--pair x a.py a.py", "--pair and --examples require --all"),
        ("--seeds 2 a.py a.py", "at least 5"),
        ("--tolerance fwd=1 a.py a.py", "unknown rung 'fwd'"),
        ("--tolerance forward=nan a.py a.py", "expected RUNG=LIMIT"),
    ],
)
def test_a_verification_that_cannot_be_made_is_refused_before_it_runs(
    words, said, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("")
    assert verify.main(words.split()) == 2
    shown = capsys.readouterr().err
    assert "TPU470" in shown and said in shown and len(shown.splitlines()) == 3


@pytest.mark.parametrize(
    "options, said",
    [
        (["--cores", "8", "--rehearse", "8"], "--cores and --rehearse exclude each other"),
        (["--rehearse", "v9-9"], "--rehearse v9-9 is neither"),
    ],
)
def test_cores_that_cannot_be_had_are_refused_before_the_script_begins(
    options, said, tmp_path, capsys, monkeypatch
):
    for name in ("TPUCOMPAT_CORES", "TPUCOMPAT_REHEARSE"):
        monkeypatch.delenv(name, raising=False)
    script = tmp_path / "a.py"
    script.write_text("")
    assert run.main([*options, str(script)]) == 2
    shown = capsys.readouterr().err
    assert "TPU455" in shown and said in shown and "Traceback" not in shown


def test_a_legacy_package_that_is_not_installed(tmp_path, monkeypatch):
    options = run.parser().parse_args(["--legacy-package", "nothere", "a.py"])
    run._apply(options)
    assert said() == ["TPU493"]


def test_a_file_for_a_folder(tmp_path, capsys):
    script = tmp_path / "a.py"
    script.write_text("")
    assert migrate.main(["--output", str(script), str(script)]) == 2
    shown = capsys.readouterr().err
    assert "TPU452" in shown and "Name a folder" in shown


def test_a_checkpoint_that_is_not_there(tmp_path, capsys):
    (tmp_path / "script.py").write_text("")
    for name, what in (("nothere", "no such checkpoint"), ("script.py", "not a checkpoint")):
        old = str(tmp_path / name)
        assert convert_checkpoint.main([old, str(tmp_path / "new.h5")]) == 2
        shown = capsys.readouterr().err
        assert "TPU471" in shown and what in shown and "Check the path" in shown
        assert len(shown.splitlines()) == 3
