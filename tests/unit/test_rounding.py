"""Whose rounding a process has: TensorFlow's own by default, TensorFlow 1.15's on request."""

import os
import subprocess
import sys
import types

import first_pair
import pytest
from installations import made_up

import tpucompat
from tpucompat.base import journal
from tpucompat.base import machine as environment_module
from tpucompat.base.errors import SetupError
from tpucompat.base.machine import sniff
from tpucompat.commands.cli import run, verify
from tpucompat.commands.verify import runs
from tpucompat.runtime import installation, rounding
from tpucompat.tf import private

ONEDNN = "TF_ENABLE_ONEDNN_OPTS"


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """A made-up TensorFlow 2.21 that is not loaded, no variables; what is set is taken back."""
    for name in rounding.EXACT:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    probes = made_up("2.21.0")
    monkeypatch.setattr(environment_module, "_probes", probes)
    monkeypatch.setattr(environment_module, "_environment", sniff(probes))
    journal.reset()
    yield
    journal.reset()


def set_to():
    return {name: os.environ[name] for name in rounding.EXACT if name in os.environ}


def test_the_default_leaves_tensorflow_as_it_is():
    rounding.choose()
    assert set_to() == {}


@pytest.mark.parametrize("asked, setting", [(True, None), (False, "1"), (True, "yes")])
def test_exact_mode_leaves_onednn_out(asked, setting, monkeypatch):
    if setting:
        monkeypatch.setenv("TPUCOMPAT_EXACT", setting)
    rounding.choose(asked)
    assert set_to() == {"TPUCOMPAT_EXACT": "1", ONEDNN: "0"}
    assert journal.notices() == []


@pytest.mark.parametrize("value", ["0", "false", "False", ""])
def test_the_user_s_own_setting_may_say_the_same(value, monkeypatch):
    monkeypatch.setenv(ONEDNN, value)
    rounding.choose(asked=True)
    assert set_to()[ONEDNN] == "0"


def test_a_setting_that_contradicts_is_an_error(monkeypatch):
    monkeypatch.setenv(ONEDNN, "1")
    rounding.choose()  # alone it is the user's choice
    with pytest.raises(SetupError, match="TPU473 .*TF_ENABLE_ONEDNN_OPTS=1 is set"):
        rounding.choose(asked=True)
    assert set_to() == {ONEDNN: "1"}


@pytest.mark.parametrize("onednn, codes", [(True, ["TPU472"]), (False, [])])
def test_too_late_is_a_notice_where_onednn_computes(onednn, codes, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", types.ModuleType("tensorflow"))
    monkeypatch.setattr(private, "computes_with_onednn", lambda: onednn)
    rounding.choose(asked=True)
    assert [code for code, _ in journal.notices()] == codes
    assert bool(set_to()) == (not onednn)


@pytest.mark.parametrize("first", [{}, {"exact": True}])
def test_install_asks_for_it(first, monkeypatch):
    monkeypatch.setattr(environment_module, "probe", lambda: made_up("2.21.0", environ=os.environ))
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    monkeypatch.setenv("COLAB_TPU_ADDR", "x")
    assert installation.installed() is None
    with tpucompat.install(era="tf1", **first):
        assert bool(set_to()) == bool(first)
        tpucompat.install(era="tf1", exact=True)  # what is in place already can still be told
        assert set_to()[ONEDNN] == "0"


def test_run_passes_it_on_to_the_processes_that_it_starts():
    run._apply(run.parser().parse_args(["--exact", "script.py"]))
    assert set_to() == {"TPUCOMPAT_EXACT": "1"}  # install_for chooses by it
    journal.quiet = False


def test_both_halves_of_a_comparison_are_exact(tmp_path, monkeypatch, capsys):
    there = runs.environment(str(tmp_path))
    assert {name: there[name] for name in rounding.EXACT} == rounding.EXACT
    monkeypatch.setenv(ONEDNN, "1")
    assert verify.main([__file__, __file__]) == 2
    assert "TPU473" in capsys.readouterr().err


def test_the_first_pair_is_compared_in_exact_mode():
    assert first_pair.EXACT == rounding.EXACT


@pytest.mark.parametrize(
    "options, mode",
    [([], "fast mode"), (["--exact"], "exact mode")],
)
def test_the_summary_names_the_mode(options, mode, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import os; print(os.environ.get('TF_ENABLE_ONEDNN_OPTS'))")
    root = os.path.dirname(os.path.dirname(tpucompat.__file__))
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", *options, str(script)],
        env=dict(os.environ, PYTHONPATH=root),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.stdout == ("0\n" if options else "None\n"), done.stderr
    assert mode + "\n" in done.stderr
