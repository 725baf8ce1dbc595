"""Compiles the script's own modules: what NumPy 2 computes differently, they compute as with NumPy 1.

Messages that an old compiler of protocol buffers has generated are made as protobuf makes them today, those of
installed packages too, which nobody could import otherwise. Only code that stands in a file is reached, and
cells of a notebook. No compiled file is read or written for a module that was changed: it is compiled again in
every run.
"""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import re
import sys
import types
from typing import Any, Callable, Mapping, Sequence

from tpucompat.base.late import late
from tpucompat.names.scope import Scope
from tpucompat.standins import generated_messages

metadata = late("importlib.metadata")  # slow to import; Python 3.8 and later

# Modules that mention none of them have nothing of NumPy's, or next to nothing.
_SUBJECTS = re.compile(r"\b(numpy|tensorflow|keras|pandas|scipy|sklearn|cv2|PIL|np|tf)\b")


@functools.lru_cache(maxsize=None)  # every import of the process asks
def numpy_promotes_by_type() -> bool:
    """Whether the installed NumPy is 2 or later; it is not imported for that."""
    return _installed("numpy") >= 2


@functools.lru_cache(maxsize=None)
def protobuf_refuses_old_modules() -> bool:
    """Whether the installed protobuf is 4 or later, which takes no descriptors from a generated module."""
    return _installed("protobuf") >= 4


def _installed(distribution: str) -> int:
    """The first number of the installed release, or 0."""
    if sys.version_info < (3, 8):  # for which neither NumPy 2 nor protobuf 5 is made
        return 0
    try:
        return int(metadata.version(distribution).partition(".")[0])
    except (metadata.PackageNotFoundError, ValueError):
        return 0


def _some_code_changes() -> bool:
    return numpy_promotes_by_type() or protobuf_refuses_old_modules()


def _has_subject(text: str) -> bool:
    if protobuf_refuses_old_modules() and generated_messages.mentioned(text):
        return True
    return numpy_promotes_by_type() and _SUBJECTS.search(text) is not None


def compiled(source: str | bytes, file: str) -> types.CodeType:
    """The code of a module of the script.

    Args:
      source: Its text.
      file: What tracebacks call it.

    Raises:
      SyntaxError: Python's own.
    """
    code = compile(source, file, "exec", dont_inherit=True)
    text = source if isinstance(source, str) else source.decode("utf-8", "replace")
    if not _has_subject(text):
        return code
    tree = ast.parse(source, file)
    if not _rewritten(tree, text):
        return code
    try:
        return compile(tree, file, "exec", dont_inherit=True)
    except RecursionError:  # a tree may be less deep than a text
        return code


def _rewritten(tree: ast.Module, text: str) -> bool:
    """Changes what a module computes differently today; returns whether there was something."""
    generated = protobuf_refuses_old_modules() and generated_messages.mentioned(text)
    if generated and generated_messages.rewritten(tree):
        return True
    if not numpy_promotes_by_type():
        return False
    from tpucompat.standins import arithmetic  # imports NumPy

    return arithmetic.rewritten(tree)


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module of the script."""

    def get_code(self, fullname: str) -> types.CodeType | None:
        path = self.get_filename(fullname)
        data = self.get_data(path)
        if _has_subject(data.decode("utf-8", "replace")):
            return compiled(data, path)
        return super().get_code(fullname)


class _LoaderOfMessages(importlib.machinery.SourceFileLoader):
    """Loads a module of an installed package, and once more where protobuf refuses what is written in it."""

    def exec_module(self, module: types.ModuleType) -> None:
        try:
            super().exec_module(module)
        except (ImportError, TypeError):
            # protobuf 4 takes no descriptors made by a call, and a later one has no `service` to import.
            path = self.get_filename(module.__name__)
            tree = ast.parse(self.get_data(path), path)
            if not generated_messages.rewritten(tree):
                raise
            exec(compile(tree, path, "exec", dont_inherit=True), module.__dict__)


def _its_own_loader(
    spec: importlib.machinery.ModuleSpec, owns: Callable[[Mapping[str, Any]], bool]
) -> Any:
    """The loader of a module's file: ours, if the module is the script's own, or one of old messages."""
    loader: Any = spec.loader
    if type(loader) is not importlib.machinery.SourceFileLoader or not _some_code_changes():
        return loader
    if owns({"__name__": spec.name, "__file__": spec.origin}):
        return _Loader(loader.name, loader.path)
    if spec.name.endswith("_pb2") and protobuf_refuses_old_modules():
        return _LoaderOfMessages(loader.name, loader.path)
    return loader


def code_of(spec: importlib.machinery.ModuleSpec, name: str, packages: Sequence[str]) -> Any:
    """The code of a module that is to run as the program.

    Args:
      spec: Where it was found.
      name: Its full name.
      packages: Installed packages that were written for TensorFlow 1.x.
    """
    return _its_own_loader(spec, Scope(packages).owns).get_code(name)


class Finder:
    """Finds the script's own modules for :class:`_Loader`, as a finder of ``sys.meta_path``.

    Args:
      owns: Tells whether the module with these globals is the script's own.
    """

    def __init__(self, owns: Callable[[Mapping[str, Any]], bool]) -> None:
        self._owns = owns

    def install(self) -> None:
        """Goes before Python's own finder of files, where some code means something else today."""
        if _some_code_changes():
            finders: list[Any] = sys.meta_path
            files = importlib.machinery.PathFinder
            finders.insert(finders.index(files) if files in finders else len(finders), self)

    def uninstall(self) -> None:
        """Goes away again."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """What Python's finder finds, with another loader where the module is the script's."""
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _its_own_loader(spec, self._owns)
        return spec
