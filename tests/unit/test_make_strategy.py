"""What migrated programs train on: another device in silence only where nobody has asked for a TPU."""

from __future__ import annotations

import ast
import functools
import glob
import os
import types

import pytest

from tpucompat.commands.migrate import keras, written

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOOP = os.path.join(os.path.dirname(written.__file__), "training_loop.py")
EXAMPLES = sorted(glob.glob(os.path.join(ROOT, "migrated_examples", "*.py")))


class OpError(Exception):
    """TensorFlow's."""


def tensorflow(problem, gpus):
    """As much of TensorFlow as the function calls, with a TPU that fails, or that does not."""

    def resolve(tpu, zone=None, project=None):
        if problem is not None:
            raise problem
        return tpu

    return types.SimpleNamespace(
        distribute=types.SimpleNamespace(
            cluster_resolver=types.SimpleNamespace(TPUClusterResolver=resolve),
            TPUStrategy=lambda resolver: f"TPU {resolver}",
            MirroredStrategy=lambda: "GPUs",
            get_strategy=lambda: "default",
            Strategy=object,
        ),
        config=types.SimpleNamespace(
            experimental_connect_to_cluster=lambda resolver: None,
            list_physical_devices=lambda kind: gpus,
        ),
        tpu=types.SimpleNamespace(
            experimental=types.SimpleNamespace(initialize_tpu_system=lambda resolver: None)
        ),
        errors=types.SimpleNamespace(OpError=OpError),
    )


def source(name):
    if name == "tpucompat migrate":
        return keras.helper("  ", "tf")
    with open(name, encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = [node for node in functions if node.name in ("make_strategy", "_strategy")]
    assert found[0].name == "make_strategy"
    return "\n".join(map(ast.unparse, found))


@pytest.mark.skipif("sys.version_info < (3, 9)", reason="ast.unparse is new in Python 3.9")
@pytest.mark.parametrize("name", ["tpucompat migrate", *EXAMPLES], ids=os.path.basename)
def test_a_tpu_that_was_asked_for_and_fails_is_an_error(name, monkeypatch):
    def make(problem=None, gpus=()):
        names = {"tf": tensorflow(problem, gpus), "os": os}
        exec(source(name), names)
        return names["make_strategy"]()

    monkeypatch.setenv("TPU_NAME", "mine")
    assert make() == "TPU mine"
    for problem in (ValueError("no such TPU"), OpError("it does not answer")):
        with pytest.raises(type(problem)):
            make(problem)
    monkeypatch.delenv("TPU_NAME")
    assert make() == "TPU local"
    assert make(ValueError(), ["GPU:0", "GPU:1"]) == "GPUs"
    assert make(OpError(), ["GPU:0"]) == make(ValueError()) == "default"
    with pytest.raises(KeyError):  # a mistake of the program's own is no missing TPU
        make(KeyError("x"))


def test_a_tpu_that_a_flag_names_is_asked_for_and_none_is_not(monkeypatch):
    def make(tpu, problem=None):
        names = {"tf": tensorflow(problem, ()), "os": os}
        exec(keras.helper("  ", "tf", is_named=True), names)
        return names["make_strategy"](tpu, "zone", project="project")

    monkeypatch.delenv("TPU_NAME", raising=False)
    assert make("mine") == "TPU mine" and make("") == make(None) == "TPU local"
    assert (
        make("", ValueError()) == make(None, OpError()) == make("local", ValueError()) == "default"
    )
    with pytest.raises(ValueError):
        make("mine", ValueError())
    monkeypatch.setenv("TPU_NAME", "other")
    assert make("mine") == "TPU mine" and make("") == "TPU other"
    with pytest.raises(OpError):
        make("", OpError())


@pytest.mark.skipif("sys.version_info < (3, 9)", reason="ast.unparse is new in Python 3.9")
def test_a_script_that_names_no_tpu_does_not_get_the_environments(monkeypatch):
    made = tensorflow(None, ())
    made.distribute.cluster_resolver.TPUClusterResolver = lambda tpu, zone, project: tpu
    made.distribute.Strategy = type("Strategy", (), {})
    names = {"tf": made, "os": os, "functools": functools}
    exec(source(LOOP), names)
    monkeypatch.setenv("TPU_NAME", "mine")
    assert names["make_strategy"]() == "TPU mine"
    assert names["make_strategy"]("") == "TPU local"  # --tpu= --nouse_tpu
    assert (
        names["make_strategy"](tpu=["mine"]) == "TPU mine"
    )  # TPUClusterResolver takes a list of one
