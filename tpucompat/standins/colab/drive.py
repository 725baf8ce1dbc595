"""``google.colab.drive``: a local folder stands for My Drive."""

from __future__ import annotations

import os
from typing import Any

from tpucompat.base.errors import SetupError
from tpucompat.standins.colab import settings

#: The folder that stands for My Drive.
VARIABLE = "TPUCOMPAT_DRIVE"

_NAMES = ("My Drive", "MyDrive")  # Colab has the second one since 2020, and keeps the first


def mount(mountpoint: str, *args: Any, **kwargs: Any) -> None:
    """Makes ``mountpoint`` a folder in which ``My Drive`` is the folder of :data:`VARIABLE` (``./drive``).

    A link of an earlier run, in another folder, is turned to this one; no file or folder is changed.

    Args:
      mountpoint: Where the notebook expects Drive, such as ``/content/drive``.
      *args: force_remount and others of Colab, without a meaning here.
      **kwargs: Likewise.

    Raises:
      SetupError: The folder cannot be made.
    """
    target = os.path.abspath(mountpoint)
    storage = settings.folder(VARIABLE, "drive")
    if target == storage or target.startswith(storage + os.sep):
        storage = os.path.join(target, _NAMES[0])
    try:
        os.makedirs(storage, exist_ok=True)
        os.makedirs(target, exist_ok=True)
        for name in _NAMES:
            path = os.path.join(target, name)
            if os.path.islink(path) and os.path.realpath(path) != os.path.realpath(storage):
                os.remove(path)
            if not os.path.lexists(path):
                os.symlink(storage, path, target_is_directory=True)
    except OSError as error:
        raise SetupError(
            "TPU445",
            f"{error.filename or target} cannot be created: {error.strerror}.",
            (
                f'run `sudo mkdir -p "{target}" && sudo chown "$USER" "{target}"` once, then '
                "run the notebook again."
            ),
        ) from error
    settings.say(f"drive.mount: {storage} replaces {os.path.join(target, _NAMES[0])}")


def flush_and_unmount(*args: Any, **kwargs: Any) -> None:
    """Does nothing: the folder is local."""
