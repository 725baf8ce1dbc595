"""How the results of the environments become records and a page."""

from __future__ import annotations

import json

import compatibility as tool

RECORDED = {"date": "2026-11-28", "revision": "0123456789"}
_FILE = '<testsuites><testsuite name="pytest">{}</testsuite></testsuites>'


def _case(module, name, inside="", seconds=2.0):
    return (
        f'<testcase classname="tests.{module}" name="{name}" time="{seconds}">{inside}</testcase>'
    )


def _write(path, *cases):
    path.parent.mkdir(exist_ok=True)
    path.write_text(_FILE.format("".join(cases)))


def _record(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "RECORDS", str(tmp_path / "records.json"))
    monkeypatch.setattr(tool.provenance, "where", lambda: {**RECORDED, "processor": "some"})
    tool.record(str(tmp_path / "results"))
    return json.loads((tmp_path / "records.json").read_text())


def test_a_test_counts_with_its_last_result(tmp_path, monkeypatch):
    environment = tmp_path / "results" / "py311-tf2.15"
    environment.parent.mkdir()
    failed, skipped = '<failure message="no"/>', '<skipped type="pytest.skip" message="a  reason"/>'
    cannot = '<skipped type="pytest.xfail" message="a cause"/>'
    _write(
        environment / "1.xml",
        _case("behaviour.test_first_pair", "test_a", failed),
        _case("behaviour.test_first_pair", "test_on_8_cores", failed),
        _case("unit.test_scan", "test_b", skipped),
        _case("unit.test_scan", "test_c"),
    )
    _write(
        environment / "2.xml",
        _case("behaviour.test_first_pair", "test_a", seconds=60.0),
        _case("behaviour.test_first_pair", "test_on_8_cores", cannot),
    )
    found = _record(tmp_path, monkeypatch)["py311-tf2.15"]
    assert found == {
        "cells": {
            "keras_to_tpu_model, one": {"passed": 1},
            "keras_to_tpu_model, several": {"expected": 1},
            "without TensorFlow, one": {"passed": 1, "skipped": 1},
        },
        "recorded": RECORDED,
        "seconds": 66,
        "skipped": {"a  reason": 1},
    }


def test_the_page_shows_totals_and_reasons(tmp_path, monkeypatch):
    skipped = '<skipped type="pytest.skip" message="{}"/>'
    _write(
        tmp_path / "results" / "py39-tf2.7.xml", _case("unit.test_scan", "a", skipped.format("x"))
    )
    _write(
        tmp_path / "results" / "py313-tf2.21.xml",
        _case("unit.test_scan", "a", skipped.format("x"), 120.0),
        _case("unit.test_scan", "b", skipped.format("y"), 60.0),
        _case("unit.test_scan", "c", "<failure/>", 0.0),
    )
    lines = tool.page(_record(tmp_path, monkeypatch)).splitlines()
    assert "| 2.7.4 | 3.9 | 0 | 0 | 0 | 1 | 0 | 2026-11-28, 0123456789 |" in lines
    assert "| 2.21.0 | 3.13 | 0 | 0 | 1 | 2 | 3 | 2026-11-28, 0123456789 |" in lines
    assert "| 2 environments | | 0 | 0 | 1 | 3 | 3 | |" in lines
    assert lines.index("| 1 | x | all |") < lines.index("| 1 | y | 2.21.0 |")


def test_the_page_has_a_column_for_each_target(tmp_path, monkeypatch):
    one, eight = (_case("behaviour.test_batch_parallel", f"a[{n}]", "", 1.0) for n in (1, 8))
    _write(tmp_path / "results" / "py313-tf2.21.xml", one, eight)
    _write(tmp_path / "results" / "py313-tf2.21-rehearsed.xml", one)
    page = tool.page(_record(tmp_path, monkeypatch))
    assert "| 2.21.0 | batch_parallel and kin | 1 | 1 | 1 | · |" in page.splitlines()
    assert "| 1 environments | | 2 | 0 | 0 | 0 | 0 |" in page  # the targets are no releases
