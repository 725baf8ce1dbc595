"""``make_strategy()``, as the migrated examples and ``tpucompat migrate`` write it, without TensorFlow."""

from __future__ import annotations

import ast
import glob
import os
import types

import pytest

from tpucompat.migrate import keras

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TWINS = sorted(
    glob.glob(os.path.join(ROOT, "migrated_examples", "*.py"))
    + glob.glob(os.path.join(ROOT, "tools", "migrated_programs", "*.py"))
)


class OpError(Exception):
    """What TensorFlow raises where a TPU does not start."""


def source(path):
    """The function of a twin; that of ``migrate`` for no path."""
    if path is None:
        return keras._HELPER.format(i="    ", tf="tf")
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    (function,) = (
        each
        for each in ast.parse(text).body
        if isinstance(each, ast.FunctionDef) and each.name == "make_strategy"
    )
    function.returns = None
    return ast.unparse(function) if hasattr(ast, "unparse") else pytest.skip("Python 3.9")


def made(path, error):
    """What the function gives where the TPU fails."""

    def fails(*args, **kwargs):
        raise error

    distribute = types.SimpleNamespace(
        cluster_resolver=types.SimpleNamespace(TPUClusterResolver=fails),
        get_strategy=lambda: "the one device",
    )
    config = types.SimpleNamespace(list_physical_devices=lambda kind: [])
    tf = types.SimpleNamespace(
        distribute=distribute, config=config, errors=types.SimpleNamespace(OpError=OpError)
    )
    namespace = {"tf": tf, "os": os}
    exec(source(path), namespace)
    return namespace["make_strategy"]()


@pytest.mark.parametrize(
    "path", [None, *TWINS], ids=lambda path: os.path.basename(path or "migrate")
)
def test_a_tpu_that_was_asked_for_and_fails_is_an_error(path, monkeypatch):
    for error in (ValueError("no such TPU"), OpError("it does not start")):
        monkeypatch.delenv("TPU_NAME", raising=False)
        assert made(path, error) == "the one device"
        monkeypatch.setenv("TPU_NAME", "demo-tpu")
        with pytest.raises(type(error)):
            made(path, error)
