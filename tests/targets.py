"""On which cores the programs of the idioms' tests run: emulated ones, or those of a rehearsed TPU.

    pytest tests/behaviour/test_tpu_estimator.py
    TPUCOMPAT_TEST_CORES=rehearsed pytest tests/behaviour/test_tpu_estimator.py

The first runs programs on one replica and on emulated cores, the second the same ones under TensorFlow's own
TPUStrategy over one core and over several. What cannot be rehearsed is in ``tests/expected_failures``, with its
cause.
"""

from __future__ import annotations

import os
import sys

#: Whether programs run under TensorFlow's own TPUStrategy.
REHEARSED = os.environ.get("TPUCOMPAT_TEST_CORES") == "rehearsed"


def options(cores: int, python: str = sys.executable) -> list[str]:
    """The options of ``tpucompat run`` for so many cores.

    Args:
      cores: How many.
      python: Another interpreter is a TensorFlow to compare with, which cannot rehearse.
    """
    return ["--rehearse" if REHEARSED and python == sys.executable else "--cores", str(cores)]


def settings(cores: int, python: str = sys.executable) -> dict[str, str]:
    """The variables of a process that trains on so many cores.

    Args:
      cores: How many.
      python: As in :func:`options`.
    """
    rehearsed = REHEARSED and python == sys.executable
    return {"TPUCOMPAT_REHEARSE" if rehearsed else "TPUCOMPAT_CORES": str(cores)}
