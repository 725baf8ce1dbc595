"""How a TPUEstimator's training shows itself on a terminal: one line that is rewritten.

Elsewhere the lines of TPUEstimator's own logging hooks say the same.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import tensorflow.compat.v1 as tf

_SECONDS = 0.5  # between two changes of the line


class ProgressHook(tf.train.SessionRunHook):
    """Writes steps, loss, examples per second and the time that is left.

    Args:
      loss: The loss of a step, a scalar tensor.
      batch_size: Examples in a step of all replicas; None if that is not known.
      steps: How many more steps there will be; or
      max_steps: the number of the last one; None for both if there is no end.
      stream: Where the line goes; standard error if None.
    """

    def __init__(
        self, loss: Any, batch_size: Any, steps: Any, max_steps: Any, stream: Any = None
    ) -> None:
        self._loss = loss
        self._batch_size = batch_size
        self._more = steps
        self._last = max_steps
        self._stream = stream or sys.stderr
        self._value: Any = None
        self._shown = ""

    def begin(self) -> None:
        """Finds the global step."""
        self._step = tf.train.get_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Notes where the training starts."""
        del coord
        step = int(session.run(self._step))
        if self._more is not None:
            self._last = step + self._more
        self._before = step, time.time()

    def before_run(self, run_context: Any) -> Any:
        """Asks for the loss."""
        del run_context
        return tf.train.SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Writes the line when it is time."""
        self._value = run_values.results
        if time.time() - self._before[1] >= _SECONDS:
            self._show(int(run_context.session.run(self._step)))

    def end(self, session: Any) -> None:
        """Leaves the last line standing."""
        self._show(int(session.run(self._step)))
        self._stream.write("\n")
        self._stream.flush()

    def _show(self, step: int) -> None:
        (before, start), self._before = self._before, (step, time.time())
        steps_per_second = (step - before) / max(self._before[1] - start, 1e-6)
        text = line(step, self._last, self._value, steps_per_second, self._batch_size)
        # Back to the line's start, so that a log line that comes next covers it.
        self._stream.write("\r" + text.ljust(len(self._shown)) + "\r")
        self._stream.flush()
        self._shown = text


def line(step: int, last: Any, loss: Any, steps_per_second: float, batch_size: Any) -> str:
    """The text of the line.

    Args:
      step: The step that is done.
      last: The last step; None if there is no end.
      loss: Its loss; None if there was no step.
      steps_per_second: The speed.
      batch_size: Examples in a step; None if that is not known.
    """
    parts = [f"step {step}" + (f"/{last}" if last else "")]
    if loss is not None:
        parts.append(f"loss {float(loss):.5g}")
    if batch_size:
        parts.append(f"{steps_per_second * batch_size:.1f} examples/s")
    else:
        parts.append(f"{steps_per_second:.1f} steps/s")
    if last and steps_per_second > 0:
        minutes, seconds = divmod(int(max(last - step, 0) / steps_per_second), 60)
        hours, minutes = divmod(minutes, 60)
        parts.append(f"{hours}:{minutes:02}:{seconds:02} left")
    return ", ".join(parts)
