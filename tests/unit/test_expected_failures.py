"""The lines of tests/expected_failures name tests that exist, and say why they fail."""

from __future__ import annotations

import os
import re
import types

import expected_failures
import pytest

TESTS = os.path.dirname(expected_failures.FOLDER)


def test_every_line_names_a_test_a_cause_and_a_link():
    for row in expected_failures.rows():
        path, _, name = row.test.partition("::")
        with open(os.path.join(TESTS, path), encoding="utf-8") as stream:
            functions = re.findall(r"(?m)^def (test_\w+)", stream.read())
        pattern = name.partition("[")[0].replace("*", ".*") or ".*"
        assert any(re.match(pattern + "$", function) for function in functions), row
        assert (1, 13) <= row.first <= row.last, row
        assert len(row.cause) > 20, row
        assert re.match(r"https://\S+$", row.link), row


def test_lines_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(expected_failures, "FOLDER", str(tmp_path))
    (tmp_path / "a.txt").write_text(
        "# about the releases\n\n"
        "2.0-2.14 | behaviour/test_x.py::test_y[some*] | why | https://example.com\n"
        "2.3 crashes | unit/test_z.py::* | why | https://example.com\n"
        "2.21 rehearsed | unit/test_z.py::* | why | https://example.com\n"
    )
    at = lambda *release, **on: expected_failures.rows_for(
        types.SimpleNamespace(release=release), **on
    )
    (row,) = at(2, 14)
    assert (row.first, row.last, row.crashes) == ((2, 0), (2, 14), False)
    assert row.names("tests/behaviour/test_x.py::test_y[some-1]")
    assert row.names("behaviour/test_x.py::test_y[some]") is False  # not below tests
    assert not row.names("tests/behaviour/test_x.py::test_y[other]")
    assert [each.crashes for each in at(2, 3)] == [False, True]
    assert at(2, 15) == [] and at(1, 15) == [] and at(2, 21) == []
    assert [each.rehearsed for each in at(2, 21, rehearsed=True)] == [True]
    assert expected_failures.rows_for(types.SimpleNamespace(release=None)) == []


@pytest.mark.parametrize(
    "line",
    ["2.0 | unit/test_x.py::test_y | why", "2 | a | b | c", "2.0-2 | a | b | c", "2.0 | a |  | c"],
)
def test_a_line_without_its_cause_is_an_error(line, tmp_path, monkeypatch):
    monkeypatch.setattr(expected_failures, "FOLDER", str(tmp_path))
    (tmp_path / "a.txt").write_text(line + "\n")
    with pytest.raises(ValueError, match=r"a\.txt:1: releases"):
        expected_failures.rows()
