"""How a TPUEstimator call ends early, and what it leaves.

Stands for ``tensorflow/python/tpu/session_support.py`` (gone since TensorFlow 2.16), which
restarted the workers of a TPU node, and for TPUEstimator's hook that made Ctrl-C kill the process.
"""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow.compat.v1 as tf


class GracefulShutdownHook(tf.train.SessionRunHook):
    """Nothing has to be shut down: the cores belong to this process.

    Args:
      checkpoint_prefix: Where a checkpoint would be saved.
      saver: What would save it.
      on_shutdown_hooks: What would be done to the workers.
    """

    def __init__(
        self, checkpoint_prefix: str, saver: Any = None, on_shutdown_hooks: Sequence[Any] = ()
    ) -> None:
        del checkpoint_prefix, saver, on_shutdown_hooks


class ResetComputation:
    """Restarted the training on the remaining workers."""


class ShutdownLameWorkers:
    """Restarted the workers that were about to go."""


class ShutdownAllWorkers:
    """Restarted all workers."""


def start_worker_watchdog(session: Any, shutdown_timeout: int = 0) -> None:
    """Watched the workers of a TPU node; there are none."""


class InstallSignalHandlerHook(tf.train.SessionRunHook):
    """Let Ctrl-C kill the process, because a TPU's Session did not return; this one does."""
