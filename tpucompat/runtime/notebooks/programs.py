"""The programs of a notebook's shell lines: ``!python``, ``!pip`` and ``!gsutil`` are those of the notebook.

A notebook of Colab has one Python. Here ``python`` in the search path may be another one than the kernel's.
Small programs of these names, in a folder that the kernel's shells search first, start the kernel's Python.
"""

from __future__ import annotations

import os
import shlex
import sys

from tpucompat.runtime.paths import mapping

# A script, or a module of the current folder, sees the old namespace as the notebook's cells do.
_PYTHON = """#!/bin/sh
case "$1" in
*.py) exec {run} "$@" ;;
-m) if [ -n "$2" ] && {{ [ -e "${{2%%.*}}.py" ] || [ -d "${{2%%.*}}" ]; }}; then exec {run} "$@"; fi ;;
esac
exec {python} "$@"
"""
_MODULE = """#!/bin/sh
exec {python} -m {module} "$@"
"""


def write(folder: str, smoke: bool = False) -> str:
    """Writes the programs.

    Args:
      folder: Where their own folder is made.
      smoke: Whether scripts run with ``--smoke``, as the cells do.

    Returns:
      Their folder; it has no program where there is no POSIX shell.
    """
    place = os.path.join(folder, "programs")
    os.mkdir(place)
    if os.name != "posix":
        return place
    python = shlex.quote(sys.executable)
    run = f"{python} -m tpucompat run --quiet" + " --smoke" * smoke
    texts = dict.fromkeys(("python", "python3"), _PYTHON.format(python=python, run=run))
    texts.update(dict.fromkeys(("pip", "pip3"), _MODULE.format(python=python, module="pip")))
    if os.environ.get(mapping.VARIABLE):
        texts["gsutil"] = _MODULE.format(python=python, module="tpucompat.runtime.paths.gsutil")
    for name, text in texts.items():
        path = os.path.join(place, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
    return place
