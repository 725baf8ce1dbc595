"""Writes a file as a whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Mapping

from tpucompat.base import missing
from tpucompat.base import temporary as temporary_files
from tpucompat.base.errors import TPUCompatError
from tpucompat.commands.migrate import written


class WriteError(TPUCompatError, OSError):
    """A file that could not be written; it is as it was."""


def write(path: str, before: bytes, after: bytes) -> None:
    """Puts new content into a file by renaming; the mode stays, and a link goes on pointing to it.

    Args:
      path: The file.
      before: What it held when it was read.
      after: What it will hold.

    Raises:
      WriteError: If it cannot be written, or has changed in the meantime.
    """
    target = os.path.realpath(path)
    temporary = ""
    try:
        if not os.access(target, os.W_OK) or not os.stat(target).st_mode & 0o222:  # root may do all
            raise WriteError("TPU452", f"{path} is read-only.")
        with open(target, "rb") as stream:
            if stream.read() != before:
                raise WriteError(
                    "TPU452", f"{path} has changed since it was read.", "Run the command again."
                )
        temporary_files.sweep(os.path.dirname(target))
        name = "." + temporary_files.prefix()
        handle, temporary = tempfile.mkstemp(prefix=name, dir=os.path.dirname(target))
        with os.fdopen(handle, "wb") as stream:
            stream.write(after)
            stream.flush()
            os.fsync(stream.fileno())
        shutil.copymode(target, temporary)
        os.replace(temporary, target)
        temporary = ""
    except WriteError:
        raise
    except OSError as error:
        raise WriteError(
            "TPU452", f"{path}: {error.strerror or error}", missing.writing_step(error)
        ) from error
    finally:
        if temporary and os.path.exists(temporary):
            os.remove(temporary)


def beside(modules: Mapping[str, bytes], folder: str) -> Mapping[str, bytes]:
    """What is written beside a script so that those which are there already find theirs in it too.

    Args:
      modules: Name of a module's file -> what the script needs of it.
      folder: Where the script goes.

    Returns:
      Path -> content, of what changes.

    Raises:
      WriteError: If a module was changed by hand, and lacks something.
    """
    found = {}
    for name, content in modules.items():
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, "rb") as stream:
                before = stream.read()
            both = written.of_both(name[: -len(".py")], before, content)
            if both is None:
                lacks = sorted(written.defined(content) - written.defined(before))
                raise WriteError(
                    "TPU452",
                    f"{path} was changed by hand, and lacks {', '.join(lacks)}.",
                    "Rename your file, and run the command again.",
                )
            content = both
            if content == before:
                continue
        found[path] = content
    return found


def place(path: str, content: bytes) -> None:
    """Writes a file as a whole, whether it is there or not; its folder is made.

    Raises:
      WriteError: If it cannot be written.
    """
    folder = os.path.dirname(os.path.abspath(path))
    temporary = ""
    try:
        os.makedirs(folder, exist_ok=True)
        temporary_files.sweep(folder)
        name = "." + temporary_files.prefix()
        handle, temporary = tempfile.mkstemp(prefix=name, dir=folder)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = ""
    except OSError as error:
        raise WriteError(
            "TPU452", f"{path}: {error.strerror or error}", missing.writing_step(error)
        ) from error
    finally:
        if temporary and os.path.exists(temporary):
            os.remove(temporary)


def _umask() -> int:
    """What new files are not allowed; the system tells it by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def keep(path: str, content: bytes) -> str:
    """Keeps the old content of a file beside it, under a name that is not taken yet.

    Returns:
      The name: ``script.py.orig``, ``script.py.orig2`` and so on.

    Raises:
      WriteError: If it cannot be written.
    """
    number = 1
    while True:
        name = f"{path}.orig{number if number > 1 else ''}"
        try:
            with open(name, "xb") as stream:
                stream.write(content)
            shutil.copymode(path, name)
            return name
        except FileExistsError:
            number += 1
        except OSError as error:
            raise WriteError(
                "TPU452", f"{name}: {error.strerror or error}", missing.writing_step(error)
            ) from error
