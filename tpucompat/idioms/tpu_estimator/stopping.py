"""How a TPUEstimator call ends early, and what it leaves.

:class:`StopOnSignal` lets SIGTERM and Ctrl-C end a training after a step, with a checkpoint. The rest
stands for ``tensorflow/python/tpu/session_support.py`` (gone since TensorFlow 2.16), which
restarted the workers of a TPU node, and for TPUEstimator's hook that made Ctrl-C kill the process.
:func:`end_with_the_process` ends the threads of a call that a script has left half done.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import weakref
from typing import Any, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base import interrupts
from tpucompat.base.errors import StoppedTraining
from tpucompat.idioms.tpu_estimator import seams

# Signal -> the handler that a script has not replaced.
_SIGNALS = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}


class StopOnSignal(tf.train.SessionRunHook):
    """Within: SIGTERM and Ctrl-C let a training finish its step and save a checkpoint.

    As a hook of the training it ends it; as a context manager around it, it then does what the signal
    would have done, so that the process has the usual exit code. A second signal does that at once.
    On several cores the steps of a call (``iterations_per_loop``) are finished. Handlers that the
    script has set itself stay, and outside the main thread nothing is changed.

    Args:
      workers: The workers that train together, all of which stop then; None if there is one machine.
      model_dir: Where the training saves its checkpoints.
    """

    def __init__(self, workers: Any = None, model_dir: str = "") -> None:
        self._workers = workers
        self._model_dir = model_dir
        self._received: Any = None
        self._said = False
        self._before: dict[Any, Any] = {}

    def __enter__(self) -> StopOnSignal:
        if threading.current_thread() is threading.main_thread():
            for number, usual in _SIGNALS.items():
                if signal.getsignal(number) == usual:
                    self._before[number] = signal.signal(number, self._handle)
            interrupts.saves(self._handle)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._restore()
        saved = tf.train.latest_checkpoint(self._model_dir) if self._said else None
        if saved and self._received == signal.SIGINT and exc_info[0] is None:
            step = saved.rpartition("-")[2]
            raise StoppedTraining(
                f"stopped at step {step}, saved in {self._model_dir}; run the script "
                "again to resume."
            )
        if self._received is not None:
            _deliver(self._received)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends the training if a signal came; the hooks that save do so at its end."""
        del run_values
        if not self._is_time():
            return
        if not self._said:
            self._said = True
            received = self._received
            tf.logging.warning(
                "%s: stopping after this step. A second signal ends the process at once.",
                signal.Signals(received).name if received is not None else "Another worker",
            )
        run_context.request_stop()

    def _is_time(self) -> bool:
        """Whether this step is the last one; several workers have agreed on it at the step's end."""
        if self._workers is None:
            return self._received is not None
        return self._workers.stopping is not None

    def _handle(self, number: int, frame: Any) -> None:
        del frame
        if self._received is not None:
            self._restore()
            _deliver(number)
        self._received = number
        if self._workers is not None:
            self._workers.asks_to_stop = True

    def _restore(self) -> None:
        interrupts.saves(None)
        while self._before:
            signal.signal(*self._before.popitem())


def _deliver(number: int) -> None:
    """Does what a signal does in a process that has set no handler."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.stdout.flush()
    sys.stderr.flush()
    os.kill(os.getpid(), number)


# TensorFlow's controllers of the threads at the ends of the feeds, and each one's Session.
_controllers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
# Sessions that were ended so.
_ended: weakref.WeakSet[Any] = weakref.WeakSet()
# Seconds that a thread has for what it is in the middle of.
_PATIENCE = 10


def end_with_the_process(module: Any) -> None:
    """Lets the threads at the ends of the feeds end before the interpreter does.

    A script that leaves a loop over the results of ``predict`` leaves such threads in ``Session.run``.
    One that comes back from there while the interpreter is being torn down takes the process with it.

    Args:
      module: The copy of TPUEstimator's source; the threads of its ``_OpQueueContext`` are given the Session.
    """
    original = module._OpQueueContext.__init__

    def __init__(self: Any, name: str, target: Any, args: tuple[Any, ...]) -> None:
        original(self, name, target, args)
        _controllers[self] = args[0]

    seams.replace(module, "_OpQueueContext.__init__", __init__)
    atexit.register(end_controllers)


def end_controllers() -> None:
    """Ends the threads at the ends of the feeds that are still there, and their Sessions."""
    alive = [(one, session) for one, session in _controllers.items() if one._thread.is_alive()]
    for controller, session in alive:
        controller.stop()
        _ended.add(session)
        session.close()
    for controller, _ in alive:
        controller._thread.join(_PATIENCE)


def was_ended(session: Any) -> bool:
    """Whether a Session was ended by :func:`end_controllers`: its errors do not matter then."""
    return session is not None and session in _ended


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


class _OnShutdown:
    """What was done to the workers of a TPU node.

    Args:
      timeout_ms: How long they would be waited for; an argument up to TensorFlow 1.12.
    """

    def __init__(self, timeout_ms: int = 0) -> None:
        del timeout_ms


class ResetComputation(_OnShutdown):
    """Restarted the training on the remaining workers."""


RestartComputation = ResetComputation  # its name up to TensorFlow 1.12


class ShutdownLameWorkers(_OnShutdown):
    """Restarted the workers that were about to go."""


class ShutdownAllWorkers(_OnShutdown):
    """Restarted all workers."""


def start_worker_watchdog(session: Any, shutdown_timeout: int = 0) -> None:
    """Watched the workers of a TPU node; there are none."""


class InstallSignalHandlerHook(tf.train.SessionRunHook):
    """Let Ctrl-C kill the process, because a TPU's Session did not return; this one does."""
