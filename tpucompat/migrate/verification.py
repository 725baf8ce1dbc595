"""``migrate --verify``: runs a script and its rewriting by ``tpucompat verify`` before anything is written."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Sequence

from tpucompat import temporary
from tpucompat.migrate import files
from tpucompat.migrate.plan import Result


def verify(result: Result, arguments: str = "", options: Sequence[str] = ()) -> int:
    """Compares the numbers of a rewritten script with those of the original.

    The rewriting stands in a folder of its own, among links to what stands beside the original.

    Args:
      result: The rewritten script.
      arguments: The scripts' own arguments, as one string.
      options: More options of ``tpucompat verify``.

    Returns:
      Its exit code: 0 where they agree, 1 where they differ, 2 where they could not be compared.
    """
    original = os.path.abspath(result.path)
    folder, name = os.path.split(original)
    with temporary.folder() as beside:
        for entry in os.listdir(folder):
            if entry != name:
                os.symlink(os.path.join(folder, entry), os.path.join(beside, entry))
        rewritten = os.path.join(beside, name)
        with open(rewritten, "wb") as stream:
            stream.write(result.after)
        for module, content in result.beside.items():
            files.create(os.path.join(beside, module), content)
        command = [sys.executable, "-m", "tpucompat", "verify", original, rewritten]
        command += ["--args", arguments] if arguments else []
        return subprocess.run([*command, *options]).returncode
