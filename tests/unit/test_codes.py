"""Every code is raised or said somewhere, and a test provokes it by its number."""

import ast
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


def expected_in(source):
    """The codes in a test's values: a comment or a docstring provokes none, nor does "not in"."""
    found = set()
    tree = ast.parse(source)
    idle = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn):
            idle.update(map(id, ast.walk(node)))
    for node in ast.walk(tree):
        value = getattr(node, "value", getattr(node, "s", None))  # "s" up to Python 3.7
        if isinstance(value, (str, bytes)) and id(node) not in idle:
            found.update(re.findall(r"TPU\d{3}", str(value)))
    return found


def test_every_code_is_provoked_by_a_test():
    provoked = set()
    for where, _, names in os.walk(TESTS):
        for path in (os.path.join(where, name) for name in names if name.endswith(".py")):
            with open(path, encoding="utf-8") as file:
                provoked |= expected_in(file.read())
    assert set(CODES) - provoked == set()


def test_what_provokes_a_code():
    code = min(CODES)
    nothing = f'"""{code}"""\n# {code}\nassert "{code}" not in said\n'
    assert expected_in(nothing) == set()
    assert expected_in(f"{nothing}assert said == b'[{code}]'\n") == {code}


def test_a_text_of_a_code_is_whole_sentences():
    for code, row in CODES.items():
        assert row.why.endswith((".", "`.")) or row.why[-1] in ".)`", code
        assert row.what_to_do.rstrip("`").endswith((".", ")")), code
        assert "``" not in row.why + row.what_to_do, code
