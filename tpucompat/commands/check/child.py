"""The process that runs the script far enough to see its TPU computations.

``python -m tpucompat.commands.check.child FOLDER REPLICAS [options of tpucompat run] SCRIPT [ARGUMENTS]``. The
script runs as under ``tpucompat run``, for that many cores; but its computations are lowered instead of
run, and what fetches their results gets zeros.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Sequence

from tpucompat.base import journal
from tpucompat.base.errors import SetupError, TPUCompatError
from tpucompat.base.late import late
from tpucompat.commands.check import watcher as watching
from tpucompat.commands.cli import run
from tpucompat.engines import accelerator, lowering, observer
from tpucompat.engines.script_lines import Sources
from tpucompat.runtime import smoke

tf = late("tensorflow.compat.v1")

# Imports inside functions: TensorFlow comes when the process is prepared for it.


def main(argv: Sequence[str]) -> int:
    """Runs the script; what it comes to is in the folder.

    Returns:
      0, or 2 where there was nothing to run.
    """
    folder, replicas = argv[0], int(argv[1])
    os.environ["TPUCOMPAT_CORES"] = str(replicas)
    given = list(argv[2:])
    packages = run.parser().parse_args(given).legacy_package
    watcher = watching.Watcher(folder, Sources(packages), replicas)
    try:
        program, era = run.prepare(given)
    except (TPUCompatError, SyntaxError) as error:
        watcher.end(error)
        return 2
    if not lowering.available():
        watcher.end(
            SetupError(
                "TPU378", ("this TensorFlow cannot show lowered programs; 2.15 and later can.")
            )
        )
        return 2
    journal.quiet = True
    smoke.enable(era)
    if era == "tf1":
        # XLA's compiler on a CPU does not know TF 1's own loops and conditionals.
        tf.enable_control_flow_v2()
    else:
        from tpucompat.commands.check import strategy

        accelerator.stand_in(strategy.CheckedStrategy(replicas, watcher))
    observer.register(watcher)
    return _end(watcher, program)


def _end(watcher: object, program: object) -> int:
    error: BaseException | None = None
    try:
        run.execute(program)  # type: ignore[arg-type]
    except SystemExit as stop:
        if stop.code not in (None, 0):
            error = stop
    except BaseException as raised:
        traceback.print_exc()
        error = raised
    watcher.end(error)  # type: ignore[attr-defined]
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads of the script's may wait for steps that nobody makes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
