"""Operators of the script's modules, with the types that NumPy 1 chose."""

from __future__ import annotations

import ast
import gzip
import json
import operator
import os
import sys

import arithmetic_cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpucompat.runtime import script_code
from tpucompat.standins import arithmetic

DATA = os.path.join(os.path.dirname(__file__), "..", "data", "arithmetic_numpy1.json.gz")

pytestmark = pytest.mark.skipif(
    not script_code.numpy_promotes_by_type(), reason="NumPy 1 chooses its types itself"
)


def test_types_and_numbers_are_those_of_numpy_1():
    with gzip.open(DATA, "rt") as stream:
        recorded = json.load(stream)
    found = arithmetic_cases.results(lambda name: arithmetic.FUNCTIONS[f"__tpucompat_{name}__"])
    assert {name: value for name, value in found.items() if recorded[name] != value} == {}
    assert len(found) == len(recorded) > 8000
    plain = arithmetic_cases.results(lambda name: getattr(operator, name))
    assert sum(plain[name] != value for name, value in recorded.items()) > 1000


def _run(source, **names):
    tree = ast.parse(source)
    assert arithmetic.rewritten(tree)
    exec(compile(tree, "script.py", "exec", dont_inherit=True), names)
    return names


def test_of_what_scripts_write():
    found = _run(
        """
import numpy as np
images = np.ones((2, 3), np.float32)
scaled = images * np.sqrt(2) - np.float64(0.5)
total = 0.0
for loss in np.array([16777216, 1, 1], np.float32):
    total += loss
pixel = np.uint8(200) + 100
wide = np.array([1, 2], np.uint8) + 300
word = (np.uint8(1) << 8) | np.uint8(2)
images *= np.float64(2)
""",
    )
    assert found["scaled"].dtype == np.float32
    assert found["total"] == 16777218.0
    assert found["pixel"] == 300
    assert found["wide"].tolist() == [301, 302]
    assert found["word"] == 258
    assert found["images"].dtype == np.float32 and found["images"][0, 0] == 2


def test_what_is_no_number_of_numpys_is_left_alone():
    found = _run(
        """
class Odd:
    __private = 3
    def __init__(self):
        self.count, self.items = 0, [1]
    def __add__(self, other):
        return ("added", other)
    def __iadd__(self, other):
        self.count += other
        return self
    def private(self):
        return self.__private * 2
odd = Odd()
sum_ = odd + 1
same = odd
same += 4
shared = alias = [1]
alias += [2]
members = {1} | {2}
letters = set("ab")
letters |= set("c")
text = "a" * 3 + "%d" % 4
def annotated(x: int | None = 1 + 1) -> int | None:
    return x
calls = []
def where():
    calls.append(1)
    return 0
held = [10, 20]
held[where()] += 5
odd.items[0] += held[1]
def outer():
    inside = 1
    def inner():
        nonlocal inside
        inside += 2
        return inside
    return inner()
nested = outer()
small = lambda x: x * 2
""",
    )
    assert found["sum_"] == ("added", 1)
    assert found["same"] is found["odd"] and found["odd"].count == 4
    assert found["odd"].private() == 6
    assert found["shared"] == [1, 2]
    assert found["members"] == {1, 2} and found["letters"] == {"a", "b", "c"}
    assert found["text"] == "aaa4"
    assert found["annotated"]() == 2 and found["annotated"].__annotations__["x"] == (int | None)
    assert found["held"] == [15, 20] and found["calls"] == [1]
    assert found["odd"].items == [21]
    assert found["nested"] == 3
    assert not set(found["small"].__code__.co_names) & set(arithmetic.FUNCTIONS)


def test_functions_for_other_compilers_are_left_alone():
    source = "@numba.{}\ndef one(a, b):\n    return a + b\n"
    for decorator in ("njit", "jit(nopython=True)", "vectorize(['f8(f8)'])"):
        assert not arithmetic.rewritten(ast.parse(source.format(decorator)))
    assert arithmetic.rewritten(ast.parse(source.format("something")))


_NUMBERS = st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6))


@given(_NUMBERS, _NUMBERS, st.sampled_from(["+", "-", "*", "<<", "|"]))
def test_pythons_numbers_stay_pythons(left, right, sign):
    def result(code):
        try:
            names = {"left": left, "right": abs(right) % 64 if sign == "<<" else right}
            exec(code, names)
            return names["left"], type(names["left"])
        except TypeError as error:
            return str(error).replace("=", "")

    for source in (f"left = left {sign} right", f"left {sign}= right"):
        tree = ast.parse(source)
        assert arithmetic.rewritten(tree)
        assert result(compile(tree, "a", "exec")) == result(compile(source, "b", "exec"))


def test_modules_beside_the_script(tmp_path, monkeypatch):
    package = tmp_path / "beside_the_script"
    package.mkdir()
    (package / "__init__.py").write_text("")
    text = "import numpy as np\nvalue = np.uint8(200) + {}\n"
    (package / "mine.py").write_text(text.format(100))
    (package / "theirs.py").write_text(text.format(1))
    (package / "plain.py").write_text("value = 1 + len('a')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    finder = script_code.Finder(lambda module: not module["__name__"].endswith("theirs"))
    finder.install()
    try:
        from beside_the_script import mine, plain, theirs
    finally:
        finder.uninstall()
        for name in [each for each in sys.modules if each.startswith("beside_the_script")]:
            del sys.modules[name]
    assert mine.value == 300 and mine.value.dtype == np.int64
    assert theirs.value.dtype == np.uint8
    assert plain.value == 2
    compiled = sorted(each.name.partition(".")[0] for each in package.glob("__pycache__/*.pyc"))
    assert compiled == ["__init__", "plain", "theirs"]  # none that needs tpucompat
    assert finder not in sys.meta_path


@pytest.mark.parametrize("terms", [300, 1500])
def test_sums_of_many_terms(terms):
    source = "import numpy as np\none = 1\nmany = " + " + ".join(["one"] * terms) + "\nmany += 2\n"
    names = {}
    exec(script_code.compiled(source, "script.py"), names)
    assert names["many"] == terms + 2


def test_errors_are_pythons_own():
    with pytest.raises(SyntaxError) as caught:
        script_code.compiled("import numpy as np\nx = 1 +\n", "script.py")
    assert (caught.value.filename, caught.value.lineno) == ("script.py", 2)
    code = script_code.compiled("import numpy as np\n\nx = np.ones(2) + np.ones(3)\n", "script.py")
    with pytest.raises(ValueError, match="broadcast") as caught:
        exec(code, {})
    assert caught.traceback[1].lineno == 2
