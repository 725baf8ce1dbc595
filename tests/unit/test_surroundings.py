"""Names that Python and the libraries have removed, in the script's modules only."""

import importlib
import sys
import types

import pytest

from tpucompat.legacy import surroundings
from tpucompat.legacy.removed import python_names, table
from tpucompat.legacy.rows import Constant, Gone, Moved


@pytest.fixture
def library(monkeypatch):
    real = types.ModuleType("library")
    real.kept = "kept"
    real.also = "the real one"
    monkeypatch.setitem(sys.modules, "library", real)
    rows = {
        "library": {
            "lost": Moved("math:sqrt"),
            "also": Constant("never used: the library still has it"),
            "gone": Gone("TPU101", "it went"),
        },
        "library.old": {"name": Constant(7)},
        "whole": {},
    }
    monkeypatch.setattr(table, "ROWS", rows)
    monkeypatch.setattr(table, "MODULES", {"library.old": None, "whole": "json"})
    return real


def shown(name):
    return surroundings.Surroundings(importlib.import_module).module(name)


def test_rows_stand_behind_the_real_module(library):
    module = shown("library")
    assert module.kept == "kept"
    assert module.also == "the real one"
    assert module.lost(9.0) == 3.0
    assert module.old.name == 7
    assert not hasattr(library, "lost")


def test_a_gone_name_raises_with_its_code(library):
    with pytest.raises(NotImplementedError, match="TPU101 library.gone: it went"):
        shown("library").gone


def test_an_unknown_name_is_python_s_own_error(library):
    with pytest.raises(AttributeError, match="library.*never"):
        shown("library").never


def test_a_patch_reaches_the_real_module(library):
    shown("library").kept = "patched"
    assert library.kept == "patched"
    library.later = 1
    assert shown("library").later == 1


def test_whole_modules(library):
    assert shown("whole").dumps is importlib.import_module("json").dumps
    assert shown("library.old").name == 7
    with pytest.raises(ModuleNotFoundError, match="No module named 'library.unknown_part'"):
        shown("library.unknown_part")


def test_a_module_that_has_lost_nothing_is_itself(library, monkeypatch):
    monkeypatch.setattr(table, "ROWS", {"library": {"kept": Constant(1)}})
    assert shown("library") is library


def test_the_numpy_of_2018():
    numpy = pytest.importorskip("numpy")
    old = shown("numpy")
    assert numpy.zeros(2, old.bool).dtype == numpy.bool_
    assert (old.int, old.float, old.object) == (int, float, object)
    assert old.float_ is numpy.float64
    assert old.Inf == numpy.inf
    assert old.asscalar(numpy.array([3])) == 3
    assert old.asfarray([1, 2]).dtype == numpy.float64
    assert old.random is numpy.random


@pytest.mark.parametrize(
    "dtypes, scalars, expected",
    [(["f4"], ["f8"], "f4"), (["i4"], ["f8"], "f8"), (["f4", "f8"], [], "f8"), ([], ["i8"], "i8")],
)
def test_find_common_type(dtypes, scalars, expected):
    numpy = pytest.importorskip("numpy")
    from tpucompat.legacy.removed import numpy_names

    find = numpy_names.find_common_type
    assert find([numpy.dtype(d) for d in dtypes], [numpy.dtype(s) for s in scalars]) == expected


def test_python_s_own_modules():
    assert issubclass(dict, shown("collections").Mapping)
    assert shown("time").clock() >= 0
    spec = shown("inspect").getargspec(lambda a, b=1, *c, **d: 0)
    assert spec == (["a", "b"], "c", "d", (1,))
    assert shown("fractions").gcd(12, 18) == 6
    with pytest.raises(ValueError, match="keyword-only"):
        python_names.getargspec(lambda *, a: 0)


def test_imp(tmp_path):
    (tmp_path / "plugin.py").write_text("VALUE = 3\n")
    from tpucompat.legacy.removed import imp_module as imp

    assert imp.load_source("plugin_by_path", str(tmp_path / "plugin.py")).VALUE == 3
    found = imp.find_module("plugin", [str(tmp_path)])
    with found[0]:
        assert imp.load_module("plugin_found", *found).VALUE == 3
    with pytest.raises(ImportError):
        imp.find_module("absent", [str(tmp_path)])


def test_images(tmp_path):
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("PIL")
    from tpucompat.legacy.removed import scipy_images as misc

    ramp = numpy.linspace(-1, 3, 48).reshape(4, 4, 3)
    scaled = misc.bytescale(ramp)
    assert (scaled.dtype, scaled.min(), scaled.max()) == (numpy.uint8, 0, 255)
    assert misc.imresize(ramp, (8, 2)).shape == (8, 2, 3)
    assert misc.imresize(ramp, 50).shape == (2, 2, 3)
    assert misc.imresize(ramp, 2.0).shape == (8, 8, 3)
    misc.imsave(str(tmp_path / "x.png"), scaled)
    assert (misc.imread(str(tmp_path / "x.png")) == scaled).all()
    assert misc.imread(str(tmp_path / "x.png"), flatten=True).shape == (4, 4)
    assert (misc.imrotate(scaled, 90) == numpy.rot90(scaled)).all()
    with pytest.raises(ValueError, match="cmin"):
        misc.bytescale(ramp, cmin=2, cmax=1)


STAND_INS = [
    row.target
    for rows in table.ROWS.values()
    for row in rows.values()
    if getattr(row, "target", "").startswith("tpucompat.")
]


@pytest.mark.parametrize("target", STAND_INS)
def test_every_stand_in_is_there(target):
    pytest.importorskip("numpy")
    module, _, name = target.partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_numbers_print_as_they_did():
    numpy = pytest.importorskip("numpy")
    before = numpy.get_printoptions()
    try:
        surroundings.print_numbers_as_then()
        assert repr([numpy.float32(0.5), numpy.int64(3)]) == "[0.5, 3]"
    finally:
        numpy.set_printoptions(**before)
