"""``tpucompat run book.ipynb``: executes a notebook as Jupyter does, in a kernel of its own.

The cells run in the order of the file, in a real Jupyter kernel of this very Python, in the notebook's folder.
What they print is shown as it comes; pictures are named, and kept in the executed notebook (``--out``).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import warnings
from typing import Any, Sequence

from tpucompat.base import journal, missing, temporary
from tpucompat.base.errors import ScriptError, SetupError
from tpucompat.base.late import late
from tpucompat.base.machine import environment
from tpucompat.names.python_2 import is_python_2
from tpucompat.runtime import advice
from tpucompat.runtime.notebooks import cells, extension, forms, programs

# Of the extra "notebook", whose absence is told first.
exceptions = late("nbclient.exceptions")
nbformat = late("nbformat")

_LOG = "kernel.log"


def run(options: argparse.Namespace) -> int:
    """Executes the notebook that the options name.

    Args:
      options: As parsed by :func:`tpucompat.commands.cli.run.parser`.

    Returns:
      0, or 1 if a cell failed or the kernel ended, or 130 after an interrupt.

    Raises:
      ScriptError: The notebook cannot be read, is written for Python 2, has no such field of a form, or the
        result cannot be written.
      SetupError: Packages are missing, or TensorFlow cannot be used.
    """
    _require_packages()
    path = options.script[0]
    if options.script[1:]:
        raise ScriptError(
            "TPU420",
            "A notebook takes no arguments; received {}.".format(" ".join(options.script[1:])),
            "Put options of tpucompat before the notebook, and fill its form fields with --form NAME=VALUE.",
        )
    notebook = read(path)
    forms.fill(notebook, options.form)
    code = list(cells.code_cells(notebook))
    _refuse_python_2(path, code)
    environment(refresh=True).require()
    if options.out:
        write(notebook, options.out)  # that it cannot be written is known before hours of training
    return _execute(notebook, path, options, cells.source_for_era(code))


def read(path: str) -> Any:
    """The notebook of a file, brought to format 4.

    Raises:
      ScriptError: It cannot be read.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        step = missing.next_step(path) if isinstance(error, FileNotFoundError) else ""
        raise ScriptError("TPU420", f"{path}: {error.strerror}", step) from error
    except UnicodeDecodeError as error:
        raise ScriptError("TPU431", f"{path} is not a notebook: it is not UTF-8.") from error
    try:
        if not isinstance(json.loads(text), dict):
            raise ValueError("Its JSON is not an object with a list of cells.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cells without an id, which format 4.5 asks for
            notebook = nbformat.reads(text, as_version=4)
            nbformat.validate(notebook)
    except Exception as error:  # nbformat has no common base for what it raises
        reason = str(error).strip().split("\n")[0][:200]
        raise ScriptError("TPU431", f"{path} is not a notebook: {reason}") from error
    return notebook


def write(notebook: Any, path: str) -> None:
    """Writes a notebook, whole or not at all.

    Raises:
      ScriptError: The file cannot be written.
    """
    folder = os.path.dirname(os.path.abspath(path))
    try:
        temporary.sweep(folder)
        handle, name = tempfile.mkstemp(prefix="." + temporary.prefix(), dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                file.write(nbformat.writes(notebook) + "\n")
            _keep_mode(name, path)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        step = missing.writing_step(error) or "Check the permissions of its folder."
        raise ScriptError("TPU431", f"{path} cannot be written: {error.strerror}", step) from error


def _keep_mode(new: str, old: str) -> None:
    """Gives a temporary file the permissions of the file it replaces, or those of any new file."""
    try:
        mode = os.stat(old).st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    os.chmod(new, mode)


def _require_packages() -> None:
    missing = []
    for name in ("nbclient", "nbformat", "ipykernel"):
        try:
            __import__(name)
        except ImportError:
            missing.append(name)
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise SetupError("TPU430", "{} {} not installed.".format(", ".join(missing), verb))


def _refuse_python_2(path: str, code: Sequence[cells.Cell]) -> None:
    for cell in code:
        error = cells.syntax_error(cell)
        if error is not None and is_python_2(error):
            line = (error.text or "").strip()
            raise ScriptError(
                "TPU434",
                f"{path} is written for Python 2: cell {cell.number}, line {error.lineno}: {line}",
            )


# Executing -----------------------------------------------------------------------------------------


def _execute(notebook: Any, path: str, options: argparse.Namespace, source: str) -> int:
    from tpucompat.runtime.notebooks import client as clients  # asyncio, and packages of the extra

    def keep() -> None:
        if options.out:
            write(notebook, options.out)

    name = os.path.basename(path)
    with temporary.folder() as folder:
        kernel_journal = os.path.join(folder, "journal.json")
        for_kernel = {
            "source": source,
            "directory": os.path.dirname(os.path.abspath(path)),
            "era": options.era,
            "legacy_packages": options.legacy_package,
            "smoke": options.smoke,
            "quiet": options.quiet,
            "journal": kernel_journal,
        }
        os.environ[extension.OPTIONS] = os.path.join(folder, "options.json")
        with open(os.environ[extension.OPTIONS], "w", encoding="utf-8") as file:
            json.dump(for_kernel, file)
        folder_of_book = os.path.dirname(os.path.abspath(path))
        client = clients.Client(notebook, folder_of_book, keep, options.traceback)
        path_before = os.environ.get("PATH", "")
        os.environ["PATH"] = os.pathsep.join([programs.write(folder, options.smoke), path_before])
        code = 0
        try:
            # What native code writes comes as messages too; here it is kept for a kernel that crashes.
            with open(os.path.join(folder, _LOG), "w+b") as log:
                client.execute(stdout=log, stderr=log)
        except (
            exceptions.CellExecutionError,
            exceptions.DeadKernelError,
            RuntimeError,
            AssertionError,
        ) as error:
            # nbclient asserts that it has a kernel when it tidies up after one that has ended.
            code = 1
            if client.stopped:
                code = 128 + client.stopped
                _say(f"tpucompat: stopped in cell {client.number} of {name}")
            elif isinstance(error, exceptions.CellExecutionError):
                _read_journal(kernel_journal)
                _say_failed(client, name)
            elif client.is_dead(error):
                _say_dead(client, name, _tail(folder))
            else:
                raise
        finally:
            del os.environ[extension.OPTIONS]
            os.environ["PATH"] = path_before
            keep()
            _read_journal(kernel_journal)
    return code


def _say_failed(client: Any, name: str) -> None:
    step = advice.for_error(*client.error) if client.error else None
    if step is None:
        step = advice.for_code("TPU432")
    earlier = [text for code, text in journal.notices() if code == "TPU435" and "exit code" in text]
    before = f", after {earlier[0]}" if earlier else ""
    _say(
        f"tpucompat: cell {client.number} of {name} failed{before}. Next: {step.next_step} [{step.code}]"
    )


def _say_dead(client: Any, name: str, log: str) -> None:
    where = f"in cell {client.number}" if client.number else "before the first cell"
    step = advice.for_code("TPU433")
    _say(f"{log}tpucompat: the kernel died {where} of {name}. Next: {step.next_step} [TPU433]")


def _tail(folder: str) -> str:
    """The last lines that the kernel's process wrote past Jupyter: Python's or native code's last words."""
    with open(os.path.join(folder, _LOG), encoding="utf-8", errors="replace") as log:
        return "".join(log.readlines()[-30:])


def _say(line: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _read_journal(path: str) -> None:
    """Takes over what the kernel's tpucompat has counted, for the summary."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return  # the kernel ended before it could write
    os.unlink(path)
    journal.take_over(found["uses"], found["notices"])
