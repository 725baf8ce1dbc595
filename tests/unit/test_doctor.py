"""``tpucompat doctor``: what it prints and its exit code, in made-up environments."""

import io
import json
import os
import subprocess
import sys

import pytest
from installations import ACCEL, NVIDIA, made_up

from tpucompat import __main__ as command_line
from tpucompat.base import machine as environment_module
from tpucompat.base.errors import SetupError
from tpucompat.base.machine import sniff
from tpucompat.commands.cli import doctor
from tpucompat.version import VERSION


@pytest.fixture
def here(monkeypatch):
    """Puts a made-up environment in place of this machine's."""

    def no_compiler():
        raise SetupError("TPU379", "libtpu, the TPU compiler, is not installed.")

    monkeypatch.setattr(doctor.compiler, "find", no_compiler)

    def put(*arguments, **changes):
        made = sniff(made_up(*arguments, **changes))
        monkeypatch.setattr(environment_module, "_environment", made)
        return made

    return put


def lines(capsys):
    return capsys.readouterr().out.splitlines()


def test_a_complete_environment(here, capsys):
    here("2.21.0", "tensorflow-cpu")
    assert doctor.main([]) == 0
    shown = lines(capsys)
    assert shown[0] == "tpucompat   " + VERSION
    assert shown[1].startswith("Python      3.13.4 on ")
    assert shown[2:] == [
        "TensorFlow  2.21.0 (tensorflow-cpu)",
        "Keras       tf-keras 2.21.0 (TF_USE_LEGACY_KERAS=1)",
        "Estimator   tensorflow-estimator 2.15.0",
        "Accelerator none, CPU only",
        "Engine      session: one CPU replica",
        "Numbers     fast mode: TensorFlow's default rounding and speed; --exact selects 1.15's rounding",
        "Check       tier (a): operations and lowering; no tier (b): libtpu, the TPU compiler, is not "
        "installed.",
        "",
        "Scripts can run: session engine on one CPU replica.",
    ]


@pytest.mark.parametrize(
    "version, keras, estimator",
    [
        ("1.15.5", "Keras 2, part of TensorFlow", "part of TensorFlow"),
        ("2.15.1", "Keras 2.15.0", "part of TensorFlow"),
        ("2.16.2", "tf-keras 2.16.0 (TF_USE_LEGACY_KERAS=1)", "tensorflow-estimator 2.15.0"),
    ],
)
def test_generations(here, capsys, version, keras, estimator):
    here(version)
    assert doctor.main([]) == 0
    shown = lines(capsys)
    assert "Keras       " + keras in shown and "Estimator   " + estimator in shown


def test_an_error_makes_exit_code_1_and_names_the_command(here, capsys):
    here("2.21.0", "tensorflow-cpu", versions={"tf-keras": None, "tensorflow-estimator": None})
    assert doctor.main([]) == 1
    assert lines(capsys)[10:] == [
        "error    tf-keras is not installed, and tf.keras of TensorFlow 2.21.0 is Keras 3 [TPU403]",
        '         repair: pip install --no-deps "tf-keras==2.21.*"',
        "note     tensorflow-estimator is not installed: scripts that use tf.estimator or "
        "TPUEstimator fail [TPU405]",
        "         repair: pip install tensorflow-estimator==2.15.0",
        "Scripts cannot run in this environment.",
    ]


def test_without_tensorflow(here, capsys):
    here("")
    assert doctor.main([]) == 1
    shown = lines(capsys)
    assert "TensorFlow  not installed" in shown
    assert "Keras       none that works with this TensorFlow" in shown


def test_a_warning_alone_leaves_exit_code_0(here, capsys):
    here("2.22.0")
    assert doctor.main([]) == 0
    assert any(line.startswith("warning  TensorFlow 2.22.0 is newer") for line in lines(capsys))


@pytest.mark.parametrize(
    "changes, accelerator, engine",
    [
        (
            {"devices": ACCEL, "libtpu": True},
            "2 TPU chip(s), libtpu",
            "strategy: the cores of 2 TPU chips",
        ),
        ({"devices": NVIDIA}, "2 GPU(s)", "strategy: 2 GPUs"),
        (
            {"environ": {"TPUCOMPAT_CORES": "8"}},
            "TPUCOMPAT_CORES=8",
            "strategy: 8 emulated cores",
        ),
        (
            {"environ": {"TPU_NAME": "my-tpu"}},
            "TPU_NAME=my-tpu (not used)",
            "session: one CPU replica",
        ),
    ],
)
def test_accelerators(here, capsys, changes, accelerator, engine):
    here("2.20.0", **changes)
    doctor.main([])
    shown = lines(capsys)
    assert "Accelerator " + accelerator in shown
    assert "Engine      " + engine in shown


@pytest.mark.parametrize(
    "variable, value, shown",
    [
        ("TPUCOMPAT_EXACT", "1", "exact mode: TensorFlow 1.15's rounding"),
        ("TF_ENABLE_ONEDNN_OPTS", "0", "fast mode with TF_ENABLE_ONEDNN_OPTS=0: "),
    ],
)
def test_the_mode_is_named(here, capsys, variable, value, shown):
    here("2.21.0", environ={variable: value})
    doctor.main([])
    assert any(line.startswith("Numbers     " + shown) for line in lines(capsys))


def test_json_has_all_of_it(here, capsys):
    made = here("2.21.0", versions={"tf-keras": "2.16.0"})
    assert doctor.main(["--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["tpucompat"] == VERSION and data["engine"] == "session"
    assert data["problems"] == [problem._asdict() for problem in made.problems()]
    assert data["problems"][0]["repair"] == 'pip install "tf-keras==2.21.*"'


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("no_color, coloured", [(None, True), ("", True), ("1", False)])
def test_colour_on_a_terminal_only(here, monkeypatch, no_color, coloured):
    here("2.21.0", versions={"tf-keras": None})
    if no_color is None:
        monkeypatch.delenv("NO_COLOR", raising=False)
    else:
        monkeypatch.setenv("NO_COLOR", no_color)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    doctor.main([])
    assert ("\033[31merror" in terminal.getvalue()) == coloured


# The command line --------------------------------------------------------------------------------


def tpucompat(*arguments):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return subprocess.run(
        [sys.executable, "-m", "tpucompat", *arguments],
        env=dict(os.environ, PYTHONPATH=root),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_doctor_as_a_command():
    done = tpucompat("doctor", "--json")
    data = json.loads(done.stdout)
    errors = [each for each in data["problems"] if each["severity"] == "error"]
    assert done.returncode == (1 if errors else 0)
    assert done.stderr == ""


@pytest.mark.parametrize("arguments, code", [(["--help"], 0), (["-h"], 0), ([], 2)])
def test_usage(capsys, arguments, code):
    assert command_line.main(arguments) == code
    assert "usage: tpucompat COMMAND" in capsys.readouterr().out


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(capsys, flag):
    assert command_line.main([flag]) == 0
    assert capsys.readouterr().out == "tpucompat " + VERSION + "\n"


def test_an_unknown_command(capsys):
    assert command_line.main(["docter"]) == 2
    assert "did you mean doctor?" in capsys.readouterr().err


def test_a_command_gets_its_arguments_as_they_are(monkeypatch):
    given = []
    monkeypatch.setattr("tpucompat.commands.cli.run.main", lambda argv: given.append(argv) or 7)
    arguments = ["--cores", "8", "script.py", "--help", "--version", "-m", "--", "-x"]
    assert command_line.main(["run", *arguments]) == 7
    assert given == [arguments]


def test_only_the_chosen_command_is_imported():
    script = (
        "import sys; sys.argv = ['tpucompat', '--version']; from tpucompat.__main__ import main;"
        "main(); print(sorted(name for name in sys.modules if name.startswith('tpucompat.commands.cli')))"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=dict(os.environ, PYTHONPATH=root),
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    assert (
        done.stdout.splitlines()[-1]
        == "['tpucompat.commands.cli', 'tpucompat.commands.cli.failing']"
    )  # for them all


def test_the_tiers_of_check(here, capsys, monkeypatch):
    here("2.21.0", "tensorflow-cpu")
    found = doctor.compiler.Libtpu("/libtpu.so", "0.0.51")
    monkeypatch.setattr(doctor.compiler, "find", lambda: found)
    doctor.main(["--json"])
    assert json.loads(capsys.readouterr().out)["check"] == "tiers (a), (b) and (c): libtpu 0.0.51"
    here("1.15.5")
    doctor.main([])
    assert "Check       unavailable: requires TensorFlow 2" in lines(capsys)
