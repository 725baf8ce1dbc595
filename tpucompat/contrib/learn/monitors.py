"""``tf.contrib.learn.monitors``: what watched a training before there were hooks, and its turning into hooks.

Follows tensorflow/contrib/learn/python/learn/monitors.py of TensorFlow 1.15, for the Estimators of
tf.estimator.
"""

from __future__ import annotations

import copy
import inspect
import time
from typing import Any, Callable, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError

NanLossDuringTrainingError = tf.train.NanLossDuringTrainingError


class BaseMonitor:
    """Is told when training begins and ends, and of each step."""

    def __init__(self) -> None:
        self._begun = False
        self._current_step: int | None = None
        self._max_steps: int | None = None
        self._estimator: Any = None

    @property
    def run_on_all_workers(self) -> bool:
        """Whether it is used on other workers than the chief."""
        return False

    def set_estimator(self, estimator: Any) -> None:
        """Is told whose training it is."""
        if estimator is None:
            raise BadValueError("TPU103", "Missing estimator.")
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """Training begins."""
        if self._begun:
            raise BadValueError("TPU103", "begin called twice without end.")
        self._max_steps = max_steps
        self._begun = True

    def end(self, session: Any = None) -> None:
        """Training has ended."""
        del session
        if not self._begun:
            raise BadValueError("TPU103", "end called without begin.")
        self._max_steps = None
        self._begun = False

    def step_begin(self, step: int) -> list[Any]:
        """A step begins; returns the tensors, or their names, that it asks for."""
        if step < 0 or (self._max_steps is not None and step > self._max_steps):
            raise BadValueError("TPU103", f"Invalid step {step}.")
        self._current_step = step
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        """A step has ended, with the values of what was asked for; returns whether training stops."""
        del output
        if self._current_step != step:
            raise BadValueError("TPU103", f"step_end expected {self._current_step} but got {step}.")
        self._current_step = None
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Is called after every monitor has seen the end of a step."""


class EveryN(BaseMonitor):
    """Works at the first steps, and every so many after them.

    Args:
      every_n_steps: How many.
      first_n_steps: The last of the first steps.
    """

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps = every_n_steps
        self._first_n_steps = first_n_steps
        self._last_successful_step: int | None = None
        self._last_active_step: int = 0
        self._active = False

    def every_n_step_begin(self, step: int) -> list[Any]:
        """As :meth:`step_begin`, at the steps that count."""
        return []

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        """As :meth:`step_end`, at the steps that count."""
        return False

    def every_n_post_step(self, step: int, session: Any) -> None:
        """As :meth:`post_step`, at the steps that count, and after the last."""

    def step_begin(self, step: int) -> list[Any]:
        """Calls :meth:`every_n_step_begin`."""
        super().step_begin(step)
        next_due = self._last_active_step + self._every_n_steps
        self._active = step == self._max_steps or not self._first_n_steps < step < next_due
        return self.every_n_step_begin(step) if self._active else []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        """Calls :meth:`every_n_step_end`."""
        super().step_end(step, output)
        return self.every_n_step_end(step, output) if self._active else False

    def post_step(self, step: int, session: Any) -> None:
        """Calls :meth:`every_n_post_step`."""
        super().post_step(step, session)
        if self._active:
            self.every_n_post_step(step, session)
            self._last_active_step = step
        self._last_successful_step = step

    def end(self, session: Any = None) -> None:
        """Calls :meth:`every_n_post_step` for a last step that did not count."""
        super().end(session=session)
        last = self._last_successful_step
        if last is not None and last != self._last_active_step:
            self.every_n_post_step(last, session)


class ValidationMonitor(EveryN):
    """Evaluates each new checkpoint while the model trains, and may stop the training.

    Args:
      x: Of tf.contrib.learn's own Estimators only, as ``y``, ``batch_size`` and ``metrics``.
      y: See ``x``.
      input_fn: Gives the data to evaluate on.
      batch_size: See ``x``.
      eval_steps: Batches of an evaluation; None for all.
      every_n_steps: Steps between looking for a checkpoint.
      metrics: See ``x``.
      hooks: Of the evaluations.
      early_stopping_rounds: Steps without a better metric after which training stops; None for never.
      early_stopping_metric: The metric's name.
      early_stopping_metric_minimize: Whether smaller is better.
      name: Of the evaluation's folder.
      check_interval_secs: The least time between looking for a checkpoint.

    Raises:
      BadValueError: No data.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Any = None,
        hooks: Sequence[Any] | None = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
        check_interval_secs: float | None = 5,
    ) -> None:
        super().__init__(every_n_steps=every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise BadValueError("TPU103", "Either x or input_fn should be provided.")
        self._old_arguments = (x, y, batch_size, metrics)
        self.input_fn = input_fn
        self.eval_steps = eval_steps
        self.hooks = hooks
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_metric = early_stopping_metric
        self.early_stopping_metric_minimize = early_stopping_metric_minimize
        self.name = name
        self._check_interval_secs = check_interval_secs
        self._looked_at: float | None = None
        self._evaluated: str | None = None
        self._best_step: int | None = None
        self._best_value: Any = None
        self._best_metrics: Any = None
        self._early_stopped = False

    @property
    def early_stopped(self) -> bool:
        """Whether it stopped the training."""
        return self._early_stopped

    @property
    def best_step(self) -> int | None:
        """The step of the best metric."""
        return self._best_step

    @property
    def best_value(self) -> Any:
        """The best metric."""
        return self._best_value

    @property
    def best_metrics(self) -> Any:
        """All metrics of this step."""
        return self._best_metrics

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        """Evaluates where there is a new checkpoint; returns whether training stops."""
        if self._estimator is None:
            raise BadValueError("TPU103", "Missing call to set_estimator.")
        now, before, interval = time.time(), self._looked_at, self._check_interval_secs
        if interval is not None and before is not None and now - before <= interval:
            return False
        self._looked_at = now
        newest = tf.train.latest_checkpoint(self._estimator.model_dir)
        if newest is None or newest == self._evaluated:
            return False
        self._evaluated = newest
        metrics = self._evaluate()
        told = ", ".join(f"{name} = {value}" for name, value in metrics.items())
        tf.logging.info("Validation (step %d): %s", step, told)
        return self.early_stopping_rounds is not None and self._stops(step, metrics)

    def _evaluate(self) -> Any:
        if any(argument is not None for argument in self._old_arguments):
            raise BadValueError(
                "TPU103",
                "tf.estimator.Estimator does not support following arguments: x, y, batch_size, metrics. "
                "Should set as `None` in ValidationMonitor",
            )
        return self._estimator.evaluate(
            input_fn=self.input_fn, steps=self.eval_steps, hooks=self.hooks, name=self.name
        )

    def _stops(self, step: int, metrics: Any) -> bool:
        if self.early_stopping_metric not in metrics:
            raise BadValueError(
                "TPU103",
                f"Metric {self.early_stopping_metric} missing from outputs {sorted(metrics)}.",
            )
        value = metrics[self.early_stopping_metric]
        best = self._best_value
        smaller = self.early_stopping_metric_minimize
        if best is None or (value < best if smaller else value > best):
            self._best_value, self._best_step = value, step
            self._best_metrics = copy.deepcopy(metrics)
        if step - (self._best_step or 0) < (self.early_stopping_rounds or 0):
            return False
        tf.logging.info("Stopping. Best step: %s, %s", self._best_step, self._best_value)
        self._early_stopped = True
        return True


class RunHookAdapterForMonitors(tf.train.SessionRunHook):
    """A hook that tells monitors of the steps.

    Args:
      monitors: The monitors.
    """

    def __init__(self, monitors: Sequence[Any]) -> None:
        self._monitors = monitors
        self._last_step: int | None = None
        self._global_step: Any = None

    def begin(self) -> None:
        """Begins the monitors."""
        self._last_step = None
        self._global_step = tf.train.get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def before_run(self, run_context: Any) -> Any:
        """Asks for the step, and for what the monitors ask for."""
        if self._last_step is None:
            self._last_step = run_context.session.run(self._global_step) + 1
        asked: dict[Any, Any] = {}
        for monitor in self._monitors:
            wanted = monitor.step_begin(self._last_step) or []
            if not isinstance(wanted, list):
                raise BadValueError("TPU103", "Monitor.step_begin should return a list.")
            asked.update((each, _element(each)) for each in wanted)
        return tf.train.SessionRunArgs({"step": self._global_step, "monitors": asked})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Tells the monitors of the step, and stops where one wants it."""
        for monitor in self._monitors:
            if monitor.step_end(self._last_step, run_values.results["monitors"]):
                run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(self._last_step, run_context.session)
        self._last_step = run_values.results["step"] + 1

    def end(self, session: Any) -> None:
        """Ends the monitors."""
        self._last_step = None
        for monitor in self._monitors:
            takes = "session" in inspect.signature(monitor.end).parameters
            monitor.end(**({"session": session} if takes else {}))


def _element(wanted: Any) -> Any:
    """A tensor or operation of the graph, by itself or by its name."""
    if not isinstance(wanted, str):
        return wanted
    graph = tf.get_default_graph()
    return graph.as_graph_element(wanted if ":" in wanted or wanted[:1] == "^" else wanted + ":0")


def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[Any]:
    """The hooks among them, and one hook for all the monitors.

    Args:
      monitors_or_hooks: A list of both, or None.
      estimator: Whose training they belong to.

    Returns:
      A list of hooks.
    """
    given = list(monitors_or_hooks or [])
    hooks = [each for each in given if isinstance(each, tf.train.SessionRunHook)]
    monitors = [each for each in given if not isinstance(each, tf.train.SessionRunHook)]
    if not estimator.config.is_chief:
        monitors = [each for each in monitors if each.run_on_all_workers]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    return [*hooks, RunHookAdapterForMonitors(monitors)] if monitors else hooks
