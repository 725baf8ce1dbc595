"""Operations that a script places on a TPU by itself: ``with tf.device('/device:TPU:0')``.

On a TPU VM every Session makes TPU devices of its own (``TpuNodeDeviceFactory`` in
``tensorflow/compiler/jit/xla_tpu_device.cc`` of 2.4 to 2.20), over the chips that ``TPUStrategy`` has
initialized for its computations. Nothing of a Session's graph may stand on them; so the host runs it,
and says so. Without a TPU, and with emulated or rehearsed cores, there are no such devices: the same.
What runs eagerly goes to a TPU, but not in a rehearsal.
"""

from __future__ import annotations

import os
from typing import Any

from tpucompat.base import journal, package
from tpucompat.base.errors import SetupError
from tpucompat.base.machine import current_environment
from tpucompat.tf import patches, private

_OURS = package.FOLDER + os.sep


@patches.patch
def keep_sessions_off() -> None:
    """From here on no Session of the process places an operation on a TPU."""
    private.before_graphs_are_sent(_free)


def tell(what: str) -> None:
    """Says that the host runs something that was meant for a TPU.

    Args:
      what: What it is.

    Raises:
      SetupError: TPUCOMPAT_REQUIRE_TPU is set (TPU464).
    """
    if current_environment().require_tpu:
        text = f"TPUCOMPAT_REQUIRE_TPU is set, but {what} would run on the host."
        raise SetupError("TPU464", text)
    journal.notice("TPU464", f"the host runs {what}")


def _free(session: Any, operations: list[Any]) -> None:
    """Takes operations off the TPU, before a Session gets them."""
    if session.sess_str and not current_environment().tpu:  # a server, which has its own devices
        return
    placed = [operation for operation in operations if "TPU" in operation.device]
    # The calls of our own computations stand where the script calls for them.
    theirs = [operation for operation in placed if not _is_ours(operation)]
    if theirs:
        tell(f"{theirs[0].type} {theirs[0].name!r}, which the script places on {theirs[0].device}")
    for operation in placed:
        private.place(operation, "")


def _is_ours(operation: Any) -> bool:
    frames = [frame[0] for frame in operation.traceback or ()]  # none of an imported one
    return operation.type in ("NoOp", "Const", "Placeholder") or any(
        file.startswith((_OURS + "idioms", _OURS + "engines")) for file in frames
    )
