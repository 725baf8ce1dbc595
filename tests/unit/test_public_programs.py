"""The tool that runs public programs: its table, its data, and how it compares."""

from __future__ import annotations

import json
import re
import struct

import numpy as np
import public_data
import pytest
import run_public_programs as tool

with open(tool.TABLE, encoding="utf-8") as _stream:
    PROGRAMS = json.load(_stream)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program["name"])
def test_a_row_names_what_it_needs(program):
    assert re.fullmatch(r"[0-9a-f]{40}", program["revision"])
    assert re.fullmatch(r"[\w-]+/[\w.-]+", program["repository"])
    assert program["data"] in public_data.MAKERS
    assert 0 < program["tolerance"] <= 1e-3
    assert set(program.get("figures_8_cores", [])) <= set(program["figures"])
    assert tool.reference(program) in tool.RELEASES
    assert len({other["name"] for other in PROGRAMS}) == len(PROGRAMS)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(public_data.MAKERS))
def test_data_is_the_same_each_time(name, tmp_path):
    def made(folder):
        for place in ("data", "home"):
            (folder / place).mkdir(parents=True)
        public_data.MAKERS[name](folder / "data", folder / "home")
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        # Archives and compressed files hold the time at which they were written.
        plain = [path for path in files if path.suffix not in (".npz", ".gz")]
        return {str(path.relative_to(folder)): path.read_bytes() for path in plain}

    first = made(tmp_path / "1")
    assert first == made(tmp_path / "2")
    assert first or name in ("nothing", "all_digits") or name.endswith("reviews")


def test_a_record_has_the_checksums_of_its_format(tmp_path):
    # CRC-32C of "123456789" is 0xE3069283 (RFC 3720, B.4 gives the polynomial).
    crc = 0xE3069283
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    assert public_data._masked_crc(b"123456789") == struct.pack("<I", masked)
    public_data.write_records(tmp_path / "records", [b"123456789"])
    content = (tmp_path / "records").read_bytes()
    assert content[:8] == struct.pack("<Q", 9)
    assert content[12:21] == b"123456789"
    assert content[21:] == struct.pack("<I", masked)


def test_differences_are_relative_but_not_to_nothing():
    assert tool.difference([1.0, 2.0], [1.0, 2.0]) == 0
    assert tool.difference([1.01], [1.0]) == pytest.approx(0.01)
    assert tool.difference([10.0, 0.001], [10.0, 0.0]) == pytest.approx(0.01)
    assert tool.difference([1.0], [1.0, 1.0]) == float("inf")


def test_weights_that_differ_have_another_summary():
    values = np.random.RandomState(0).normal(size=100).tolist()
    swapped = [values[1], values[0], *values[2:]]
    one, other = tool.summary_of({"w": values}), tool.summary_of({"w": swapped})
    assert one[0] == pytest.approx(other[0])
    assert tool.difference(one, other) > 1e-3


def test_a_row_may_have_another_release_as_its_reference():
    program = {"figures": {"loss": {"history": "loss"}}, "tolerance": 1e-5, "reference": "2.1"}
    first, second, *_ = tool.columns_of(program)
    assert first == tool.Column("2.1", "2.1")
    assert [column.name for column in tool.columns_of({})] == [c.name for c in tool.COLUMNS]
    results = {name: {"figures": {"loss": [loss]}} for name, loss in (("2.1", 2.0), ("2.15", 2.5))}
    assert tool.compared(program, results, second) == 0.25
    assert tool._cell(program, results, first) == "2 ‡"
    assert tool._cell({**program, "through_21": True}, results, first) == "2 † ‡"
    places = {"data": ""}
    assert tool.command(program, ["a.py"], "python", first, places) == ["python", "a.py"]
    assert "tpucompat" in tool.command(program, ["a.py"], "python", second, places)


def test_made_up_weights_are_as_many_as_keras_has():
    layers = public_data._densenet121(np.random.RandomState(0))
    # What `DenseNet121(include_top=False).count_params()` gives.
    assert sum(part.size for parts in layers.values() for part in parts.values()) == 7037504
    assert len(layers) == 241  # with weights: 120 convolutions and 121 norms


def test_paths_hold_in_a_program_s_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    words = [
        "x",
        "--python-221",
        "venv/bin/python",
        "--python-215",
        "python3",
        "--extra-221",
        "more",
    ]
    monkeypatch.setattr(tool.sys, "argv", words)
    arguments = tool._arguments()
    assert arguments.python["2.21"] == str(tmp_path / "venv" / "bin" / "python")
    assert arguments.python["2.15"] == "python3"
    assert arguments.extra["2.21"] == [str(tmp_path / "more")]
