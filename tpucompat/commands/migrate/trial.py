"""``migrate --try``: runs a rewritten script under plain Python, for few steps, before anything is written.

``python -m tpucompat.commands.migrate.trial SCRIPT`` caps the epochs and steps of Keras as ``run --smoke``
does, and runs the script; it shows it no old namespace.
"""

from __future__ import annotations

import os
import runpy
import shlex
import subprocess
import sys
import tempfile

from tpucompat.base import package
from tpucompat.commands.migrate import files
from tpucompat.commands.migrate.plan import Result


def fails(result: Result, arguments: str = "") -> str:
    """How a rewritten script ends: "" or its error.

    Args:
      result: The rewritten script.
      arguments: Its own arguments, as one string.
    """
    original = os.path.abspath(result.path)
    folder, name = os.path.split(original)
    root = os.path.dirname(package.FOLDER)
    environment = dict(os.environ)
    environment.pop("TF_USE_LEGACY_KERAS", None)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH"))))
    with tempfile.TemporaryDirectory(prefix="tpucompat-migrate-") as beside:
        for entry in os.listdir(folder):
            if entry != name:
                os.symlink(os.path.join(folder, entry), os.path.join(beside, entry))
        with open(os.path.join(beside, name), "wb") as stream:
            stream.write(result.after)
        for path, content in files.beside(result.beside, beside).items():
            files.place(path, content)
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tpucompat.commands.migrate.trial",
                name,
                *shlex.split(arguments),
            ],
            cwd=beside,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    at = [index for index, line in enumerate(lines) if f'{name}", line' in line]
    shown = [line.strip() for line in lines[at[-1] : at[-1] + 2]] if at else []
    errors = [line for line in lines if line[:1].isalpha() and "Error" in line.partition(":")[0]]
    return " ".join([*shown, *(errors or lines)[-1:]]) or f"exit code {done.returncode}"


def main() -> None:
    """Runs the script that the command line names."""
    from tpucompat.runtime import smoke  # for this process alone: migrate itself runs nothing

    del sys.argv[0]
    sys.path.insert(0, os.getcwd())
    smoke.enable("tf2")
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
