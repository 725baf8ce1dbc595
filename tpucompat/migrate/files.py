"""Writes a file as a whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile

from tpucompat import temporary as temporary_files
from tpucompat.errors import TPUCompatError


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
                raise WriteError("TPU452", f"{path} has changed since it was read.")
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
        raise WriteError("TPU452", f"{path}: {error.strerror or error}") from error
    finally:
        if temporary and os.path.exists(temporary):
            os.remove(temporary)
