"""Colour, progress and logging of the commands."""

import argparse
import io
import logging
import re
import sys

import pytest

from tpucompat.base import journal
from tpucompat.commands.cli import console, migrate, scan


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def logger(monkeypatch):
    """The project's logger as it is before a command."""
    monkeypatch.setattr(console.LOGGER, "handlers", [])
    monkeypatch.setattr(console.LOGGER, "level", logging.NOTSET)
    monkeypatch.setattr(console.LOGGER, "propagate", True)
    return console.LOGGER


@pytest.mark.parametrize(
    "stream, environ, expected",
    [
        (Terminal(), {}, True),
        (io.StringIO(), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        (Terminal(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_when_colours_are_written(monkeypatch, stream, environ, expected):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert console.has_colours(stream) is expected


def test_scan_is_coloured_on_demand(monkeypatch, tmp_path, capsys):
    (tmp_path / "old.py").write_text("import tensorflow as tf\ntf.log(1.0)\n")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    scan.main([str(tmp_path)])
    coloured = capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    scan.main([str(tmp_path)])
    plain = capsys.readouterr().out
    assert "\033[33mTPU202\033[0m" in coloured and "\033" not in plain


@pytest.mark.skipif(sys.version_info < (3, 9), reason="migrate needs Python 3.9")
def test_the_diff_of_migrate_is_coloured_on_demand(monkeypatch, tmp_path, capsys):
    (tmp_path / "old.py").write_bytes(b"import tensorflow as tf\r\ntf.log(1.0)\r\n")
    printed = {}
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.setenv(name, "1")
        assert migrate.main([str(tmp_path), "--diff"]) == 0
        printed[name] = capsys.readouterr().out
    assert "\033[31m-tf.log(1.0)\033[0m\r\n" in printed["FORCE_COLOR"]
    assert "\033[32m+tf.math.log(1.0)\033[0m\r\n" in printed["FORCE_COLOR"]
    assert "\033[36m@@ -1,2 +1,2 @@\033[0m" in printed["FORCE_COLOR"]
    assert re.sub("\033\\[[0-9]*m", "", printed["FORCE_COLOR"]) == printed["NO_COLOR"]


@pytest.mark.skipif(sys.version_info < (3, 9), reason="migrate needs Python 3.9")
def test_migrate_shows_its_progress_and_logs_what_it_does(logger, monkeypatch, tmp_path, capsys):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("import tensorflow as tf\ntf.log(1.0)\n")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert migrate.main([str(tmp_path), "--check", "-v"]) == 1
    seen = terminal.getvalue()
    assert "0 of 2 files" in seen and "1 of 2 files" in seen
    assert f"tpucompat: INFO: {tmp_path / 'two.py'}: plain" in seen
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"{tmp_path / n}.py: would be rewritten to TensorFlow 2" for n in ("one", "two")
    ]


def test_progress_is_shown_on_a_terminal_alone():
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        progress = console.Progress(2, stream)
        progress("first")
        progress.show(1, 2, "half")
        progress.close()
        assert bool(stream.getvalue()) is shown
        if shown:
            assert "░ first" in stream.getvalue() and stream.getvalue().endswith("\r\033[K")


def _options(*words):
    parser = argparse.ArgumentParser()
    console.add_logging(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    "words, seen",
    [((), ""), (("-v",), "i"), (("-vv",), "di"), (("--log-level", "debug"), "di"),
     (("-v", "--log-level", "error"), "")],
)  # fmt: skip
def test_how_much_is_logged(logger, capsys, words, seen):
    console.set_up_logging(_options(*words))
    logger.debug("d")
    logger.info("i")
    told = capsys.readouterr().err.splitlines()
    assert [line.rpartition(" ")[2] for line in told] == list(seen)
    assert all(line.startswith("tpucompat: ") for line in told)


def test_notices_go_to_standard_error_or_to_a_handler(logger, capsys, monkeypatch):
    monkeypatch.setattr(journal, "quiet", False)
    journal.reset()
    console.set_up_logging(_options("-v"))
    journal.notice("TPU410", "on the terminal")
    assert capsys.readouterr().err == "tpucompat: on the terminal [TPU410]\n"
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logger.addHandler(handler)
    journal.notice("TPU410", "to a handler")
    (record,) = records
    assert (record.code, record.getMessage()) == ("TPU410", "to a handler [TPU410]")
    assert record.levelname == "WARNING" and "terminal" not in capsys.readouterr().err
    journal.reset()
