"""A script's traceback as plain python, or Jupyter, would show it: without the lines of tpucompat's."""

from __future__ import annotations

import os
import re
import types
from traceback import walk_tb
from typing import Any, Iterable

from tpucompat.base import package
from tpucompat.runtime import imports, installation

# How IPython begins a frame: `File ~/x.py:12, in f(a)`, or `Cell In[3], line 1`; before IPython 8
# `~/x.py in f(a)` and `<ipython-input-3-…> in <module>`.
_FRAME = re.compile(
    r"^(?:File (.+?):\d+(?:, in .*)?|(?:Cell In ?\[\d+\].*)|(\S+) in \S+\(.*\)|<ipython-input.*)$",
    re.MULTILINE,
)
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
_RUN = os.path.join(package.FOLDER, "commands", "cli", "run.py")


def strip_error(error: BaseException | None, between: bool = False) -> None:
    """Takes our lines out of the tracebacks of an error, its causes and contexts; see :func:`strip`."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = strip(error.__traceback__, between)
        error = error.__cause__ or error.__context__


def strip(traceback: Any, between: bool = False) -> Any:
    """A traceback without the lines of the import hook and of what started the script.

    Args:
      traceback: The traceback.
      between: Whether the lines of stand-ins and patches go too, which call what the script means to call.
        They stay where the error is raised in one.
    """
    kept: list[Any] = []
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not imports.is_hook_frame(file) and file != _RUN and not _is_launcher(traceback):
            kept.append(traceback)
        traceback = traceback.tb_next
    if between and kept and not _is_ours(kept[-1]):
        kept = [entry for entry in kept if not _is_ours(entry)]
    return _joined(kept)


def _is_ours(entry: Any) -> bool:
    return bool(entry.tb_frame.f_code.co_filename.startswith(package.FOLDER + os.sep))


def _joined(entries: list[Any]) -> Any:
    result = None
    for entry in reversed(entries):
        result = types.TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def of_script(traceback: Any) -> Any:
    """The lines of a traceback that are the script's own; all of them where none is.

    What lies between, Keras' and TensorFlow's loops, says nothing beside an error that tells its cause.
    """
    here = installation.installed()
    kept: list[Any] = []
    rest = traceback
    while rest is not None and here is not None:
        generated = "__autograph_generated_file" in rest.tb_frame.f_code.co_filename
        if here.scope.owns(rest.tb_frame.f_globals) and not generated:
            kept.append(rest)
        rest = rest.tb_next
    return _joined(kept) or traceback


def files(traceback: Any) -> list[str]:
    """The files of a traceback's lines, the innermost last."""
    return [frame.f_code.co_filename for frame, _ in walk_tb(traceback)]


def files_of_lines(lines: Iterable[str]) -> list[str]:
    """The same for a traceback as IPython writes it, a text for each frame."""
    text = "\n".join(_COLOURS.sub("", line) for line in lines)
    return [found.group(1) or found.group(2) or "" for found in _FRAME.finditer(text)]


def _is_launcher(traceback: Any) -> bool:
    """Frames above the script: the console script, ``python -m tpucompat`` and its main function."""
    module = traceback.tb_frame.f_globals
    return (
        module.get("__name__") == "tpucompat.__main__"
        or (
            module.get("__spec__") is not None
            and getattr(module["__spec__"], "name", "") == "tpucompat.__main__"
        )
        or traceback.tb_frame.f_code.co_filename.endswith(("<frozen runpy>", os.sep + "runpy.py"))
        or os.path.basename(traceback.tb_frame.f_code.co_filename) in ("tpucompat", "tpucompat.exe")
    )
