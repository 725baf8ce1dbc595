"""Uses the installed wheel from outside the repository: ``python tools/try_wheel.py``.

Not the tree: the package has to come from the environment's own packages. Where TensorFlow and Keras 2 are
here, a script of 2019 is trained on one replica and on eight emulated cores; else only the import, the
environment and the doctor's advice are tried (tensorflow-tpu starts on TPU machines alone).
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPT = os.path.join(ROOT, "legacy_examples", "sharded_linear_regression.py")


def run(*command: str, folder: str) -> str:
    """Runs the installed package in another folder and returns what it wrote."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(done.stdout)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}")
    return done.stdout


def main() -> None:
    """Imports, asks for the environment, and trains where that is possible."""
    with tempfile.TemporaryDirectory() as folder:
        where = run("-c", "import tpucompat; print(tpucompat.__file__)", folder=folder).strip()
        if not where.startswith(sysconfig.get_path("purelib")):
            raise SystemExit(f"tpucompat comes from {where}, not from the installed wheel")
        program = (
            "import tpucompat; e = tpucompat.environment(); print(e.one_line());"
            "print(','.join(p.code for p in e.problems() if p.severity == 'error'))"
        )
        told = run("-c", program, folder=folder).splitlines()
        installed = run("-m", "pip", "list", "--format=freeze", folder=folder).replace("_", "-")
        if "tensorflow-tpu==" in installed:  # some releases of pip say tensorflow_tpu
            print("tensorflow-tpu: imported only")
            return
        if told[-1]:
            raise SystemExit(f"this environment cannot train: {told[-1]}; see tpucompat doctor")
        for cores in (1, 8):
            run(
                "-m",
                "tpucompat",
                "run",
                "--cores",
                str(cores),
                SCRIPT,
                "--steps",
                "20",
                folder=folder,
            )


if __name__ == "__main__":
    main()
