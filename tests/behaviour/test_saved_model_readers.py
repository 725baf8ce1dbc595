"""What reads the SavedModel that a script writes: all functions of TensorFlow that are given its folder."""

from __future__ import annotations

import inspect
import sys
import types

import pytest
import tensorflow as tf

if sys.version_info < (3, 9):
    pytest.skip("migrate needs Python 3.9", allow_module_level=True)

from tpucompat.commands.analysis import keras_3_files

_DEPTH = 5


def _public(module, name, seen, depth=_DEPTH):
    """The functions and methods of classes below a module, by a public name each."""
    for part in dir(module) if depth else ():
        if part.startswith("_") or part == "flags":
            continue
        try:
            value = getattr(module, part)
            is_module = isinstance(value, types.ModuleType) and bool(dir(value))
        except Exception:  # what is gone raises its own errors
            continue
        path = f"{name}.{part}"
        is_part = isinstance(value, type) and value.__module__.partition(".")[0] in _ROOTS
        if (is_module or is_part) and id(value) not in seen:
            seen.add(id(value))
            yield from _public(value, path, seen, depth - 1)
        if inspect.isroutine(value) or isinstance(value, type):
            yield path, value


_ROOTS = ("tensorflow", "keras", "tf_keras")


def _takes_folder(function):
    try:
        names = set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
    return bool(names & keras_3_files.FOLDERS)


def test_every_function_that_takes_the_folder_of_a_saved_model_is_known():
    """A function of a later release that is neither a reader nor a writer by its name shows up here."""
    found = {path for path, value in _public(tf, "tensorflow", {id(tf)}) if _takes_folder(value)}
    readers = {path for path in found if keras_3_files.reads_saved_model(path)}
    writers = {path for path in found if keras_3_files.writes_saved_model(path)}
    assert "tensorflow.saved_model.load" in readers
    assert "tensorflow.lite.TFLiteConverter.from_saved_model" in readers
    assert "tensorflow.saved_model.save" in writers
    assert found - readers - writers == set()
