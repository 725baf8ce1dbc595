"""``google.colab.files``: downloads go to a folder, uploads come from a list of files."""

from __future__ import annotations

import os
import shutil
from typing import Any

from tpucompat.base.errors import SetupError
from tpucompat.standins.colab import settings

#: The folder that downloads go to, and the files that uploads come from (separated as in PATH).
DOWNLOADS = "TPUCOMPAT_DOWNLOADS"
UPLOADS = "TPUCOMPAT_UPLOADS"


def download(filename: str) -> None:
    """Copies a file into the folder of :data:`DOWNLOADS` (``./downloads``), under a name that is free.

    Args:
      filename: The file that the notebook has written.

    Raises:
      FileNotFoundError: There is no such file; Colab raises the same.
    """
    if not os.path.exists(filename):
        raise FileNotFoundError(f"Cannot find file: {filename}")
    folder = settings.folder(DOWNLOADS, "downloads")
    os.makedirs(folder, exist_ok=True)
    target = _free_name(os.path.join(folder, os.path.basename(filename)))
    shutil.copyfile(filename, target)
    settings.say(f"files.download: {filename} was copied to {target}")


def upload(*args: Any, **kwargs: Any) -> dict[str, bytes]:
    """What Colab's dialog returns: the files that :data:`UPLOADS` lists, also copied beside the notebook.

    Returns:
      File name -> content. A file that is there already keeps its content, and the new one gets another
      name, as on Colab.

    Raises:
      SetupError: No files are listed, or one cannot be read.
    """
    listed = [path for path in os.environ.get(UPLOADS, "").split(os.pathsep) if path]
    if not listed:
        raise SetupError(
            "TPU439",
            "files.upload() asks for files in the browser.",
            f"name them: `{UPLOADS}=FILE1{os.pathsep}FILE2 tpucompat run …`.",
        )
    found = {}
    for path in listed:
        try:
            with open(os.path.expanduser(path), "rb") as file:
                content = file.read()
        except OSError as error:
            raise SetupError("TPU439", f"{UPLOADS}: {path}: {error.strerror}.") from error
        name = os.path.basename(path)
        if not _is_same(name, content):
            name = _free_name(name)
            with open(name, "wb") as copy:
                copy.write(content)
        found[name] = content
    settings.say("files.upload: {}, from {}".format(", ".join(found), UPLOADS))
    return found


def upload_file(filename: str) -> None:
    """One file under a given name, from :data:`UPLOADS`."""
    (name, content), *_ = upload().items()
    if name != filename:
        with open(_free_name(filename), "wb") as file:
            file.write(content)


def view(filepath: str) -> None:
    """Colab shows the file in its own viewer; here its place is said."""
    settings.say(f"files.view: {os.path.abspath(filepath)}")


def _is_same(path: str, content: bytes) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read() == content


def _free_name(path: str) -> str:
    stem, extension = os.path.splitext(path)
    number, name = 0, path
    while os.path.lexists(name):
        number += 1
        name = f"{stem} ({number}){extension}"
    return name
