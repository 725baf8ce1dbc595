"""The part of Python's ``imp`` (gone in 3.12) that scripts use, on :mod:`importlib`."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import types
from typing import Any, Sequence

PY_SOURCE, PY_COMPILED, C_EXTENSION, PKG_DIRECTORY = 1, 2, 3, 5

reload = importlib.reload
new_module = types.ModuleType


def load_source(name: str, pathname: str, file: Any | None = None) -> types.ModuleType:
    """Loads a source file as the module ``name`` and puts it into ``sys.modules``."""
    loader = importlib.machinery.SourceFileLoader(name, pathname)
    spec = importlib.util.spec_from_file_location(name, pathname, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def find_module(
    name: str, path: Sequence[str] | None = None
) -> tuple[Any, str, tuple[str, str, int]]:
    """(open file or None, path, (suffix, mode, kind)) of a module.

    Raises:
      ImportError: If there is none.
    """
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        raise ImportError(f"No module named {name!r}", name=name)
    if spec.submodule_search_locations:
        return None, next(iter(spec.submodule_search_locations)), ("", "", PKG_DIRECTORY)
    assert spec.origin is not None
    return open(spec.origin, encoding="utf-8"), spec.origin, (".py", "r", PY_SOURCE)


def load_module(
    name: str, file: Any, filename: str, details: tuple[str, str, int]
) -> types.ModuleType:
    """Loads what :func:`find_module` found."""
    if details[2] == PKG_DIRECTORY:
        return load_source(name, filename + "/__init__.py")
    return load_source(name, filename)
