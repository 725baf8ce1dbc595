"""The lazy module tree, on made-up modules: no TensorFlow is started."""

import importlib
import sys
import types

import pytest

import tpucompat
from tpucompat.base import journal
from tpucompat.base.errors import GoneError, UnknownNameError
from tpucompat.names import lookup
from tpucompat.names.rows import Constant, Gone, Moved, Package, StandIn
from tpucompat.runtime import legacy_modules, namespace

ROWS = {
    "contrib.tpu.shard": StandIn("ours:shard"),
    "contrib.tpu.python.tpu.keras_support": Package("ours.keras_support"),
    "contrib.layers": Package(("ours.layers", "base.layers")),
    "contrib.layers.old": Package("ours.keras_support"),
    "contrib.lost.Thing": Gone("TPU101", "it went", "take another"),
    "contrib.trees": Gone("TPU101", "they fell", "plant others"),
    "train.Moved": Moved("base.train:Adam"),
    "__version__": Constant("1.15.5"),
    "compat.v1": Moved("tpucompat.v1"),
}
KNOWN = {
    "old_function": "function",
    "contrib.trees": "module",
    "contrib.layers.python.layers.deep": "module",
}


def make_module(name, **names):
    module = types.ModuleType(name)
    module.__path__ = []
    module.__dict__.update(names)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
    return module


@pytest.fixture
def tree(monkeypatch):
    before = dict(sys.modules)
    v1 = vars(tpucompat).get("v1")
    make_module("base", placeholder="placeholder", keras="keras", __version__="2.21.0")
    make_module("base.train", Adam="Adam")
    make_module("base.layers", dense="dense", conv="base conv")
    make_module("ours", shard="our shard")
    make_module("ours.keras_support", tpu_model="our tpu_model")
    make_module("ours.layers", conv="our conv", np=types.ModuleType("numpy_like"))
    entered = []

    def enter():
        entered.append(True)
        return "base"

    made = namespace.Namespace("tpucompat.v1", lambda: ROWS, enter, KNOWN.get, "base")
    made.entered = entered
    for name in [n for n in sys.modules if n.startswith("tpucompat.v1")]:
        del sys.modules[name]
    monkeypatch.setattr(namespace, "_NAMESPACES", (made,))
    monkeypatch.setattr(namespace.Namespace, "_is_legacy", property(lambda self: True))
    journal.reset()
    namespace.root(made)
    yield made
    for name in set(sys.modules) - set(before):
        del sys.modules[name]
    sys.modules.update(before)  # tpucompat.v1 too, which later tests may have
    if v1 is not None:
        tpucompat.v1 = v1
    journal.reset()


def old(name):
    return importlib.import_module("tpucompat.v1" + ("." + name if name else ""))


def test_rows_come_first_and_the_real_module_behind_them(tree):
    tf = old("")
    assert tf.__version__ == "1.15.5"
    assert tf.train.Moved == "Adam"
    assert tf.placeholder == "placeholder"
    assert tf.contrib.tpu.shard == "our shard"


def test_tensorflow_is_entered_only_when_a_symbol_is_asked(tree):
    tf = old("")
    assert tf.__version__ == "1.15.5"
    assert tf.contrib.tpu.__name__ == "tpucompat.v1.contrib.tpu"
    assert tree.entered == []
    # A stand-in imports TensorFlow: its world comes first.
    assert tf.contrib.tpu.shard == "our shard"
    assert tf.placeholder == "placeholder"
    assert tree.entered == [True]


def test_a_package_row_asks_its_modules_in_turn(tree):
    layers = old("contrib.layers")
    assert layers.conv == "our conv"
    assert layers.dense == "dense"


@pytest.mark.parametrize(
    "path, name, value",
    [
        ("contrib.layers.python.layers.deep", "dense", "dense"),
        ("contrib.layers.python.layers.initializers", "conv", "our conv"),
        ("contrib.tpu.python.tpu.tpu_sharding", "shard", "our shard"),
        ("contrib.tpu.python.tpu.keras_support", "tpu_model", "our tpu_model"),
    ],
)
def test_private_paths_lead_to_the_public_names(tree, path, name, value):
    assert getattr(old(path), name) == value


def test_compat_v1_is_the_old_namespace_itself(tree):
    assert old("compat.v1") is old("")
    assert old("compat.v1.train") is old("train")
    assert old("").__spec__.name == "tpucompat.v1"


def test_a_real_module_is_itself_with_its_own_spec(tree):
    layers = sys.modules["base.layers"]
    layers.__spec__ = "its own"
    assert old("layers") is layers
    assert layers.__spec__ == "its own"


def test_a_module_of_the_same_name_elsewhere_is_another(tree):
    make_module("base.layers.deep")
    make_module("base.layers.deep.old", dense="older dense")
    assert old("contrib.layers.deep").old.dense == "older dense"
    assert old("contrib.layers").old.tpu_model == "our tpu_model"


def test_a_gone_symbol_is_harmless_until_used(tree):
    thing = old("contrib.lost").Thing
    with pytest.raises(GoneError, match="TPU101 tf.contrib.lost.Thing: it went") as caught:
        thing()
    assert "take another" in str(caught.value)
    with pytest.raises(GoneError):
        _ = thing.attribute
    with pytest.raises(GoneError):
        types.new_class("Sub", (thing,))


def test_a_symbol_of_1_15_without_a_row_is_gone_and_not_unknown(tree):
    with pytest.raises(GoneError, match="tf.old_function"):
        old("").old_function()


@pytest.mark.parametrize("module", ["contrib.trees.estimators.forest", "contrib.trees.python"])
def test_what_was_private_in_a_package_that_is_gone_has_the_reason_of_the_package(tree, module):
    with pytest.raises(GoneError, match="they fell") as caught:
        old(module).Forest()
    assert "plant others" in str(caught.value)


def test_an_unknown_name_says_what_is_near(tree):
    with pytest.raises(UnknownNameError, match="did you mean placeholder") as caught:
        old("").plaecholder
    assert caught.value.code == "TPU102"
    assert not hasattr(old(""), "never")


def test_a_private_name_may_have_been_in_1_15(tree, monkeypatch):
    monkeypatch.setattr(namespace, "V1", tree)
    for path, text in (
        ("", "in TensorFlow 1.15 neither"),
        ("python.ops", "may have been a private name"),
    ):
        assert text in tree._unknown(path, "_thing")[0]


def test_an_unknown_module_is_not_found(tree):
    with pytest.raises(ModuleNotFoundError):
        old("nonsense.more")


def test_uses_are_counted_each_time(tree):
    tpu = old("contrib.tpu")
    assert [tpu.shard, tpu.shard] == ["our shard"] * 2
    assert hasattr(tpu, "missing") is False
    assert journal.uses() == [("tf.contrib.tpu.shard", 2)]


@pytest.mark.parametrize("use, count", [("", 0), ("shard", 1), ("def f():\n    shard()", 1)])
def test_a_star_import_counts_the_names_that_are_used(tree, use, count):
    names = {}
    exec(f"from tpucompat.v1.contrib.tpu import *\n{use}", names)
    assert names["shard"] == "our shard"
    assert sum(number for _, number in journal.uses()) == count


def test_a_star_import_takes_no_imported_modules(tree):
    names = old("contrib.layers").__all__
    assert "conv" in names
    assert "np" not in names


def test_dir_lists_rows_and_real_names(tree):
    assert {"placeholder", "train", "contrib"} <= set(dir(old("")))


def test_tables_agree_and_have_known_codes():
    from tpucompat.base.codes import CODES

    rows = {**lookup.table_rows("tf1"), **lookup.table_rows("tf2")}
    assert rows
    for name, row in rows.items():
        assert not name.startswith(("tf.", "tensorflow.")), name
        if isinstance(row, Gone):
            assert row.code in CODES, name
            assert row.reason, name


def test_a_submodule_wins_over_what_its_package_has_merely_imported(monkeypatch):
    """tensorflow/python/__init__.py of 1.15 may show Python's own ``platform`` as its attribute."""
    package = types.ModuleType("tensorflow_core.python")
    package.__dict__.update(__path__=[], platform=types.ModuleType("platform"), ops=3)
    theirs = types.ModuleType("tensorflow_core.python.platform")
    monkeypatch.setitem(sys.modules, "tensorflow.python.platform", theirs)
    assert legacy_modules.attribute_of(package, "platform") is theirs
    assert legacy_modules.attribute_of(package, "ops") == 3
    package.platform = theirs
    monkeypatch.delitem(sys.modules, "tensorflow.python.platform")
    assert legacy_modules.attribute_of(package, "platform") is theirs


def test_private_paths_of_tensorflow_1_are_those_of_early_tensorflow_2():
    """One table for both: what is elsewhere in TensorFlow; what stands in for graphs is left to graphs."""
    ours, theirs = lookup.table_rows("tf2"), lookup.table_rows("tf1")
    for name in ("ops.control_flow_ops.cond", "ops.control_flow_ops.case"):
        row = ours.get("python." + name)
        if "python." + name in theirs:  # the installed release has moved it
            assert row.target.startswith("tensorflow.compat.v1:")
    for name in (
        "python.training.tracking.base",
        "python.distribute.distribution_strategy_context",
    ):
        assert ours[name] == theirs[name]
    assert "python.client.session.Session" not in ours and "python.tpu.tpu_estimator" not in ours
    for name in (
        "python.math_ops",
        "python.nest",
        "python.framework_ops",
    ):  # of tensorflow.python itself
        assert ours[name] == theirs[name]
    assert not any(
        "{tf}" in str(row) for name, row in ours.items() if name in theirs and "python." in name[:7]
    )
