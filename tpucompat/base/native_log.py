"""What TensorFlow's C++ code writes to the terminal by itself: off, unless the user asks for it.

The environment variable TF_CPP_MIN_LOG_LEVEL has always said from which severity on it writes; 3 leaves what
ends the process. What it writes while its library is loaded (2.20 and later) obeys no variable, and is left
out of what the process writes to its standard error during ``import tensorflow``.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
import tempfile
import types
from typing import Any, Sequence

VARIABLE = "TF_CPP_MIN_LOG_LEVEL"

# Lines of absl's log and of TensorFlow's own before 2.20, but for those that end the process (F).
_LINES = re.compile(
    rb"^(?:WARNING: All log messages before absl::InitializeLog|[IWE]\d{4} \d\d:\d\d:\d+"
    rb"|\d{4}-\d\d-\d\d \d\d:\d\d:[\d.]+: [IWE] |To enable the following instructions:).*\n",
    re.MULTILINE,
)


def quieten() -> None:
    """Lets TensorFlow's C++ code say nothing, unless the user asks for its log (0 or 1).

    To be called before TensorFlow is imported.
    """
    if os.environ.setdefault(VARIABLE, "3") not in ("2", "3"):
        return
    if "tensorflow" not in sys.modules and _has_avx():
        sys.meta_path.insert(0, _Finder())


def _has_avx() -> bool:
    """Whether TensorFlow can be loaded; its last words on a processor without AVX have to be seen."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            return b" avx" in file.read()
    except OSError:  # no Linux
        return False


class _Finder(importlib.abc.MetaPathFinder):
    """Finds ``tensorflow`` as the others do, and has its first lines looked through."""

    _finding = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The specification whose loader writes less."""
        if name != "tensorflow" or self._finding:
            return None
        self._finding = True  # the others find it
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._finding = False
        loader: Any = spec.loader if spec is not None else None
        if loader is not None and hasattr(loader, "exec_module"):
            execute = loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                if self in sys.meta_path:  # else it is loaded anew
                    sys.meta_path.remove(self)
                with _Filtered():
                    execute(module)

            loader.exec_module = exec_module
        return spec


class _Filtered:
    """Within: what the process writes to its standard error is kept, and written without the log's lines."""

    def __enter__(self) -> None:
        sys.stderr.flush()
        self._file: Any = tempfile.TemporaryFile()
        self._before = os.dup(2)
        os.dup2(self._file.fileno(), 2)

    def __exit__(self, *exc_info: object) -> None:
        sys.stderr.flush()
        os.dup2(self._before, 2)
        self._file.seek(0)
        os.write(2, _LINES.sub(b"", self._file.read()))
        os.close(self._before)
        self._file.close()
