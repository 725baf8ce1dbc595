"""``AsyncCheckpointSaverHook``: checkpoints that are written while the training goes on.

The hook of TensorFlow 1.15 (``tensorflow/python/tpu/async_checkpoint.py``, gone since 2.13) saved
the variables from another thread, so that a checkpoint could hold values of several steps. Here the
values are taken between two steps, and only the writing is left to the thread.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.engines import graph_walk
from tpucompat.tf import private

# Operation that writes a checkpoint -> its first input that is a value.
_FIRST_VALUE = {"Save": 2, "SaveSlices": 3, "SaveV2": 3}


class AsyncCheckpointSaverHook(tf.train.CheckpointSaverHook):
    """Saves checkpoints every so many steps or seconds, without waiting for the files.

    Where a checkpoint is due while the one before is still being written, it is left out.

    Args:
      checkpoint_dir: The directory.
      save_secs: Seconds between two checkpoints; or
      save_steps: steps.
      saver: The ``tf.train.Saver``; or
      scaffold: the ``Scaffold`` that has one. Without both, the only one of the graph's collection.
      checkpoint_basename: The beginning of the files' names.
      listeners: ``CheckpointSaverListener`` objects; they are called in the thread that writes.

    Raises:
      ValueError: If both or none of ``save_secs`` and ``save_steps`` are given, or both ``saver``
      and
        ``scaffold``.
    """

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: Any = None,
        save_steps: Any = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Any = None,
    ) -> None:
        super().__init__(
            checkpoint_dir, save_secs, save_steps, saver, checkpoint_basename, scaffold, listeners
        )
        self._thread: Any = None
        self._error: BaseException | None = None
        self._last_step: Any = None

    def end(self, session: Any) -> None:
        """Waits for the files, and saves the last step if that was not done yet."""
        self._wait()
        step = session.run(self._global_step_tensor)
        if step != self._last_step:
            self._write(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: Any) -> bool:
        """Takes the values, and starts writing; the call of TensorFlow's hook when it is time."""
        if self._thread is not None and self._thread.is_alive():
            tf.logging.info("Saver thread still in progress, skipping checkpoint.")
            return False
        self._wait()
        snapshot = Snapshot(session, self._get_saver())
        self._thread = threading.Thread(target=self._write_and_note, args=(snapshot, step))
        self._thread.start()
        return False

    def _write_and_note(self, session: Any, step: Any) -> None:
        try:
            self._write(session, step)
        except BaseException as error:
            self._error = error

    def _write(self, session: Any, step: Any) -> None:
        tf.logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        start = time.time()
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._save_path, global_step=step)
        self._last_step = step
        self._summary_writer.add_session_log(
            tf.SessionLog(status=tf.SessionLog.CHECKPOINT, checkpoint_path=self._save_path), step
        )
        for listener in self._listeners:
            listener.after_save(session, step)
        tf.logging.info("Checkpoint actual writing time: (%.3f sec)", time.time() - start)

    def _wait(self) -> None:
        """Waits for the thread; raises what it failed with."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._error is not None:
            error, self._error = self._error, None
            raise error


class Snapshot(private.session_interface()):  # type: ignore[misc]
    """A Session with the values of now of everything that a Saver saves.

    Args:
      session: The Session.
      saver: The ``tf.train.Saver``.
    """

    def __init__(self, session: Any, saver: Any) -> None:
        self._session = session
        save = session.graph.get_tensor_by_name(saver.saver_def.save_tensor_name).op
        saved = [
            tensor
            for operation in graph_walk.needed(save)
            for tensor in operation.inputs[
                _FIRST_VALUE.get(operation.type, len(operation.inputs)) :
            ]
        ]
        self._values = dict(zip(saved, session.run(saved)))

    @property
    def graph(self) -> Any:
        """The Session's graph."""
        return self._session.graph

    @property
    def sess_str(self) -> str:
        """The Session's target."""
        return str(self._session.sess_str)

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """``Session.run``, with the values of then."""
        feeds = {**self._values, **(feed_dict or {})}
        return self._session.run(fetches, feeds, options, run_metadata)
