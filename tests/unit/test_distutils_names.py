"""distutils' versions: ours beside CPython's own where this Python still has it."""

import itertools
import operator
import warnings

import pytest

from tpucompat.names import scope as scopes
from tpucompat.runtime import imports
from tpucompat.standins import distutils_names

VERSIONS = (
    "0.12.1",
    "1.9",
    "1.10",
    "1.15.0",
    "1.15.0-rc1",
    "1.15.5",
    "2.0",
    "2.0.0",
    "2.0.0b3",
    "2.21.0",
)
COMPARISONS = (operator.lt, operator.le, operator.eq, operator.gt, operator.ge)


def outcome(call, *makers):
    """What a call gives on what the makers, pairs of a class and its argument, make; or the error."""
    try:
        return call(*(make(argument) for make, argument in makers))
    except (TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("name", ["LooseVersion", "StrictVersion"])
def test_versions_compare_as_distutils_compared_them(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        original = pytest.importorskip("distutils.version", reason="Python 3.12 removed distutils")
    theirs, ours = getattr(original, name), getattr(distutils_names, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for left, right in itertools.product(VERSIONS, VERSIONS):
            for compare in COMPARISONS:
                wanted = outcome(compare, (theirs, left), (theirs, right))
                assert outcome(compare, (ours, left), (ours, right)) == wanted
                assert outcome(compare, (ours, left), (str, right)) == wanted
            assert outcome(str, (ours, left)) == outcome(str, (theirs, left))


def test_versions_by_themselves():
    loose = distutils_names.LooseVersion
    assert loose("1.15.0-rc1").version == [1, 15, 0, "-", "rc", 1]
    assert loose("1.9") < "1.10" < loose("1.10.1")
    assert loose("2.0") == loose("2.0")
    strict = distutils_names.StrictVersion
    assert strict("2.0b1") < strict("2.0")
    with pytest.raises(ValueError, match="invalid version number"):
        strict("2.0rc1")


@pytest.mark.parametrize("word, value", [("YES", 1), ("t", 1), ("Off", 0), ("0", 0)])
def test_flags(word, value):
    assert distutils_names.strtobool(word) == value
    with pytest.raises(ValueError, match="invalid truth value"):
        distutils_names.strtobool("maybe")


def test_a_script_finds_it_after_importing_distutils_alone():
    hook = imports.ImportHook("tf1", scopes.Scope())
    hook.install()
    try:
        scope = {"__name__": "__main__", "__file__": "/home/me/script.py"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(
                "import distutils\n"
                "old = distutils.version.LooseVersion('1.15.5') < '2.0'\n"
                "from distutils.util import strtobool",
                scope,
            )
    finally:
        hook.uninstall()
    assert scope["old"] is True
    assert scope["strtobool"]("no") == 0
