"""Devices of jobs that are not here, in graphs that a Session runs in this process.

A script that was written for a TPU node names the node's host and its own:
``tf.device('/job:worker/task:0/device:CPU:0')``, ``/job:tpu_worker``, ``/job:coordinator``. A Session without
a target has the job "localhost" alone, and TensorFlow refuses every other, soft placement or not. There the
device of this machine is taken that has the same type and number. A Session on a server keeps the jobs.
"""

from __future__ import annotations

import re
from typing import Any

from tpucompat.tf import patches, private

# The parts of a device's name that say which process it belongs to.
_PROCESS = re.compile(r"/(job|replica|task):[^/]*")


@patches.patch
def watch() -> None:
    """Lets every Session of the process place operations of other jobs here; idempotent."""
    private.before_graphs_are_sent(_bring_here)


def local(device: str) -> str:
    """The device of this machine that one of a TPU's cluster stands for.

    Args:
      device: A device's name, such as "/job:worker/replica:0/task:1/device:CPU:0".

    Returns:
      The name without job, replica and task; as it is where it names no job, or "localhost".
    """
    named = re.search(r"/job:([^/]*)", device)
    if named is None or named.group(1) == "localhost":
        return device
    return _PROCESS.sub("", device)


def _bring_here(session: Any, operations: list[Any]) -> None:
    """Changes the devices of the operations that a session is about to be given."""
    if session.sess_str:  # a server, which knows its jobs
        return
    for operation in operations:
        device = operation.device
        if "/job:" in device:
            private.place(operation, local(device))
