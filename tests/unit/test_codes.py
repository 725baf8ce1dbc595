"""Every code is raised or said somewhere, and a test provokes it by its number."""

import os
import re

from tpucompat.base.codes import CODES

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(os.path.dirname(TESTS), "tpucompat")


def named_in(folder, but):
    """The codes in the sources below a folder, without those in one file."""
    found = set()
    for where, _, names in os.walk(folder):
        for path in (os.path.join(where, name) for name in names):
            if path.endswith((".py", ".toml")) and path != but:
                with open(path, encoding="utf-8") as file:
                    found.update(re.findall(r"TPU\d{3}", file.read()))
    return found


def test_every_code_is_used():
    assert set(CODES) - named_in(PACKAGE, os.path.join(PACKAGE, "codes.py")) == set()


def test_every_code_is_provoked_by_a_test():
    assert set(CODES) - named_in(TESTS, os.path.abspath(__file__)) == set()


def test_a_text_of_a_code_is_whole_sentences():
    for code, row in CODES.items():
        assert row.why.endswith((".", "`.")) or row.why[-1] in ".)`", code
        assert row.what_to_do.rstrip("`").endswith((".", ")")), code
        assert "``" not in row.why + row.what_to_do, code
