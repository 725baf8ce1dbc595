"""No function reads like TensorFlow 1.15's own; the tool that says so sees what it has to."""

import os
import pathlib
import subprocess
import textwrap

import likeness
import pytest

TF115 = os.environ.get("TPUCOMPAT_TF115_PYTHON")

ORIGINAL = """
    def moving_average(value, decay, steps=None):
        '''What is documented.'''
        if steps is not None:
            decay = min(decay, (1.0 + steps) / (10.0 + steps))
        total = 0.0
        for index, item in enumerate(value):
            total = total * decay + item * (1.0 - decay)
        return total / (1.0 - decay ** len(value))
"""
RENAMED = """
    import math

    def _moving_average(numbers: list, rate: float, count: int = None) -> float:
        # In other words.
        if count is not None:
            rate = min(rate, (1.0 + count) / (10.0 + count))
        answer = 0.0
        for place, number in enumerate(numbers):
            answer = answer * rate + number * (1.0 - rate)
        return answer / (1.0 - rate ** len(numbers))
"""
OUR_OWN = """
    def moving_average(value, decay, steps=None):
        rate = decay if steps is None else min(decay, (1 + steps) / (10 + steps))
        powers = rate ** np.arange(len(value))[::-1]
        return (1 - rate) * np.dot(powers, value) / (1 - rate ** len(value))
"""


@pytest.fixture
def compared(tmp_path):
    def compare(text, original=ORIGINAL):
        folders = [tmp_path / "original", tmp_path / "ours"]
        for folder, code in zip(folders, (original, text)):
            folder.mkdir(exist_ok=True)
            (folder / "file.py").write_text(textwrap.dedent(code))
        return likeness.pairs(folders[:1], folders[1], 0.75, 40)

    return compare


def test_a_copy_under_other_names_is_found(compared):
    (pair,) = compared(RENAMED)
    assert pair.ours.name == "_moving_average"
    assert pair.likeness > 0.95


def test_code_of_our_own_is_none(compared):
    assert not compared(OUR_OWN)


def test_a_method_is_compared_with_its_class_only(compared):
    def method(of, text):
        return f"class {of}:\n" + textwrap.indent(textwrap.dedent(text), "    ")

    original = method("Average", ORIGINAL)
    assert compared(method("_Average", RENAMED), original)
    assert not compared(method("Other", RENAMED), original)


def test_no_reason_counts_for_what_is_almost_the_same(compared):
    (pair,) = compared(RENAMED)
    allowed = {pair.ours.name: "an interface"}
    assert not likeness.is_allowed(pair, allowed)
    assert likeness.is_allowed(pair._replace(likeness=0.79), allowed)
    assert not likeness.is_allowed(pair._replace(likeness=0.79), {})


@pytest.mark.reference
@pytest.mark.skipif(not TF115, reason="TPUCOMPAT_TF115_PYTHON is not set")
def test_no_function_reads_like_tensorflow_1_15(capsys):
    ask = "import importlib.util as u; print(u.find_spec('tensorflow_core').origin)"
    found = subprocess.run([TF115, "-c", ask], stdout=subprocess.PIPE, check=True, text=True)
    site_packages = pathlib.Path(found.stdout.strip()).parent.parent
    # Its functions are read: one folder of it compared with itself is all alike.
    wrappers = site_packages / "tensorflow_core" / "python" / "keras" / "wrappers"
    alike = likeness.pairs([wrappers], wrappers, 0.75, 40)
    assert "KerasClassifier.score" in {pair.ours.name for pair in alike}

    assert likeness.main([str(site_packages)]) == 0, capsys.readouterr().out
