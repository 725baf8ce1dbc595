"""How the outcomes of other people's unit tests are read and counted."""

import json

import run_library_tests as tool

_LOG = """\
[ RUN      ] ATest.test_one
[       OK ] ATest.test_one
[  FAILED  ] ATest.test_two
[  SKIPPED ] ATest.test_session
[ RUN      ] ATest.test_parts
======================================================================
ERROR: test_two (__main__.ATest.test_two)
ATest.test_two
----------------------------------------------------------------------
Traceback (most recent call last):
  File "a_test.py", line 3, in test_two
tpucompat.base.errors.GoneError: TPU101 tf.contrib.a: It went.
======================================================================
ERROR: test_parts (__main__.ATest.test_parts) [graph_mode]
ATest.test_parts
----------------------------------------------------------------------
AttributeError: no part
----------------------------------------------------------------------
Ran 4 tests in 0.1s
"""


def test_each_test_has_its_error():
    error = "tpucompat.base.errors.GoneError: TPU101 tf.contrib.a: It went."
    assert tool.outcomes(_LOG, 1) == {
        "ATest.test_one": "",
        "ATest.test_two": error,
        "ATest.test_parts": "AttributeError: no part",
    }
    assert tool.outcomes(_LOG, 124)["*"] == "rc 124: Ran 4 tests in 0.1s"
    assert tool.outcomes("ImportError: no", 1) == {"*": "rc 1: ImportError: no"}


def test_what_1_15_does_not_pass_does_not_count(tmp_path):
    found = {
        "1.15": {"a": "", "b": "", "c": "E", "d": ""},
        "2.21": {"a": "", "b": "TPU101", "c": ""},
    }
    found["2.21"]["*"] = "rc 124: stopped"
    for release, tests in found.items():
        (tmp_path / release / "s").mkdir(parents=True)
        (tmp_path / release / "s" / "file.json").write_text(json.dumps(tests))
    table = {
        "suites": [{"id": "s", "name": "S"}],
        "reasons": [{"error": "TPU101", "reason": "gone"}, {"error": "rc 124", "reason": "slow"}],
    }
    page = tool.page(table, tmp_path, ["2.21"])
    assert "| S | 1 | 3 | 1 |" in page
    assert "* 1: gone" in page and "* 1: slow" in page
