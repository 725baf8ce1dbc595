"""``tf.contrib.learn.Experiment``: an Estimator with what it is trained and evaluated on.

Follows tensorflow/contrib/learn/python/learn/experiment.py of TensorFlow 1.15, for the Estimators of
tf.estimator and TPUEstimator.
"""

from __future__ import annotations

import inspect
import math
import os
import time
from typing import Any, Callable, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.contrib.learn import config as _config
from tpucompat.contrib.learn import monitors as _monitors
from tpucompat.contrib.learn.exports import ExportStrategy
from tpucompat.idioms import estimator as _estimator

_STEP = tf.GraphKeys.GLOBAL_STEP


class Experiment:
    """An Estimator, its data, and how often it is evaluated and exported.

    Args:
      estimator: A ``tf.estimator.Estimator``; a TPUEstimator is one.
      train_input_fn: Gives the data to train on.
      eval_input_fn: Gives the data to evaluate on.
      eval_metrics: Of tf.contrib.learn's own Estimators only.
      train_steps: The step to train up to; None for as long as there is data.
      eval_steps: Batches of an evaluation; None for all.
      train_monitors: Hooks and monitors of the training.
      eval_hooks: Hooks of the evaluations.
      local_eval_frequency: Steps between evaluations of :meth:`local_run`.
      eval_delay_secs: Seconds to wait before the first evaluation.
      continuous_eval_throttle_secs: Seconds from the start of an evaluation to that of the next.
      min_eval_frequency: Steps between looking for a checkpoint to evaluate while training; 0 for none.
      delay_workers_by_global_step: Whether other workers than the first wait for a step instead of a time.
      export_strategies: One or more of :class:`ExportStrategy`.
      train_steps_per_iteration: Steps between evaluations of :meth:`continuous_train_and_eval`.
      checkpoint_and_export: Whether each checkpoint is evaluated and exported while training.
      saving_listeners: Of ``Estimator.train``.
      check_interval_secs: The least time between looking for a checkpoint while training.

    Raises:
      BadValueError: An argument that does not fit.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[..., Any],
        eval_input_fn: Callable[..., Any],
        eval_metrics: Any = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Sequence[Any] | None = None,
        eval_hooks: Sequence[Any] | None = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: ExportStrategy | Sequence[ExportStrategy] | None = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Sequence[Any] | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        if not isinstance(estimator, _estimator.api.Estimator):
            raise BadValueError(
                "TPU103",
                (
                    "`estimator` must implement `tf.contrib.learn.Evaluable` or "
                    "`tf.estimator.Estimator`; the Estimators of tf.contrib.learn were "
                    "removed"
                ),
                "Convert the model to a tf.estimator.Estimator.",
            )
        if eval_metrics is not None:
            raise BadValueError(
                "TPU103",
                "`eval_metrics` must be `None` with `tf.estimator.Estimator`. Use `eval_metric_ops` in "
                "`tf.estimator.EstimatorSpec` instead.",
            )
        if train_steps_per_iteration is not None and not isinstance(train_steps_per_iteration, int):
            raise BadValueError("TPU103", "`train_steps_per_iteration` must be an integer.")
        self._estimator = estimator
        self._train_input_fn = train_input_fn
        self._eval_input_fn = eval_input_fn
        self._train_steps = train_steps
        self._eval_steps = eval_steps
        self._local_eval_frequency = local_eval_frequency
        self._eval_delay_secs = eval_delay_secs
        self._throttle_secs = continuous_eval_throttle_secs
        self._checkpoint_and_export = checkpoint_and_export
        self._saving_listeners = saving_listeners
        self._min_eval_frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._check_interval_secs = check_interval_secs
        self._delay_workers_by_global_step = delay_workers_by_global_step
        self._train_hooks = list(train_monitors or [])
        self._eval_hooks = list(eval_hooks or [])
        self._steps_per_iteration = train_steps_per_iteration
        self._export_strategies = _strategies(export_strategies)

    @property
    def estimator(self) -> Any:
        """As given."""
        return self._estimator

    @property
    def eval_metrics(self) -> None:
        """None: the metrics are those of the model function."""
        return None

    @property
    def train_steps(self) -> int | None:
        """As given."""
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        """As given."""
        return self._eval_steps

    def extend_train_hooks(self, additional_hooks: Sequence[Any]) -> None:
        """Adds hooks of the training."""
        self._train_hooks.extend(additional_hooks)

    def reset_export_strategies(
        self, new_export_strategies: Any = None
    ) -> tuple[ExportStrategy, ...]:
        """Replaces the export strategies; returns those before."""
        before = self._export_strategies
        self._export_strategies = _strategies(new_export_strategies)
        return before

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains up to ``train_steps``.

        Args:
          delay_secs: Seconds to wait; by default five for each worker before this one, 60 at most.

        Returns:
          The Estimator.

        Raises:
          BadValueError: Several processes without ``tf.contrib.learn.RunConfig``.
        """
        return self._train(delay_secs, [])

    def _train(self, delay_secs: float | None, hooks: list[Any]) -> Any:
        config = self._estimator.config
        apart = bool(config.cluster_spec) and bool(config.master)
        if not isinstance(config, _config.RunConfig):
            if apart:
                raise BadValueError(
                    "TPU103",
                    "For distributed runtime, Experiment class only works with tf.contrib.learn.RunConfig for "
                    f"now, but provided {type(config)}",
                )
        elif apart and config.environment == _config.Environment.LOCAL:
            tf.logging.warn(
                "ClusterSpec and master are provided, but environment is set to 'local'. Set environment to "
                "'cloud' if you intend to use the distributed runtime."
            )
        elif apart and config.environment != _config.Environment.GOOGLE:
            self._start_server()
        extra = []
        if delay_secs is None:
            task = config.task_id or 0
            if self._delay_workers_by_global_step:
                extra.append(tf.train.GlobalStepWaiterHook(int(8000.0 * math.log(task + 1))))
                delay_secs = 0
            else:
                delay_secs = min(60, task * 5)
        _wait(delay_secs, "training")
        return self._estimator.train(
            input_fn=self._train_input_fn,
            max_steps=self._train_steps,
            hooks=self._hooks(hooks + extra),
            saving_listeners=self._saving_listeners,
        )

    def _train_for(self, steps: int) -> None:
        self._estimator.train(
            input_fn=self._train_input_fn,
            steps=steps,
            hooks=self._hooks(),
            saving_listeners=self._saving_listeners,
        )

    def _hooks(self, more: Sequence[Any] = ()) -> list[Any]:
        """Those of the training, monitors among them, and more."""
        return _monitors.replace_monitors_with_hooks([*self._train_hooks, *more], self._estimator)

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Any:
        """Evaluates the newest checkpoint once.

        Args:
          delay_secs: Seconds to wait; those of the constructor by default.
          name: Of the evaluation's folder; "one_pass" by default.

        Returns:
          The metrics by their names.
        """
        _wait(self._eval_delay_secs if delay_secs is None else delay_secs, "eval")
        return self._evaluate(name=name or "one_pass")

    def _evaluate(
        self, input_fn: Any = None, name: str | None = None, checkpoint_path: str | None = None
    ) -> Any:
        return self._estimator.evaluate(
            input_fn=input_fn or self._eval_input_fn,
            steps=self._eval_steps,
            name=name,
            checkpoint_path=checkpoint_path,
            hooks=self._eval_hooks,
        )

    def local_run(self) -> Any:
        """As :meth:`train_and_evaluate`, with ``local_eval_frequency``."""
        before = self._min_eval_frequency
        self._min_eval_frequency = self._local_eval_frequency or 0
        try:
            return self.train_and_evaluate()
        finally:
            self._min_eval_frequency = before

    def continuous_eval(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn: Callable[..., bool] | None = None,
        name: str = "continuous",
    ) -> None:
        """Evaluates and exports each new checkpoint, until one of the last step.

        Args:
          delay_secs: Seconds to wait at first; those of the constructor by default.
          throttle_delay_secs: Seconds from one evaluation to the next; those of the constructor by default.
          evaluate_checkpoint_only_once: Whether a checkpoint that was evaluated is left alone.
          continuous_eval_predicate_fn: Whether to go on, of the last metrics and, if it names it,
            ``checkpoint_path``.
          name: Of the evaluation's folder.
        """
        self._continuous_eval(
            self._eval_input_fn,
            name,
            delay_secs,
            throttle_delay_secs,
            evaluate_checkpoint_only_once,
            continuous_eval_predicate_fn,
        )

    def continuous_eval_on_train_data(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        continuous_eval_predicate_fn: Callable[..., bool] | None = None,
        name: str = "continuous_on_train_data",
    ) -> None:
        """As :meth:`continuous_eval`, on the data to train on, and without exports."""
        self._continuous_eval(
            self._train_input_fn,
            name,
            delay_secs,
            throttle_delay_secs,
            True,
            continuous_eval_predicate_fn,
            export=False,
        )

    def _continuous_eval(
        self,
        input_fn: Any,
        name: str,
        delay_secs: float | None,
        throttle_delay_secs: float | None,
        only_once: bool,
        predicate: Any,
        export: bool = True,
    ) -> None:
        goes_on = _predicate(predicate)
        _wait(self._eval_delay_secs if delay_secs is None else delay_secs, "eval")
        throttle = self._throttle_secs if throttle_delay_secs is None else throttle_delay_secs
        evaluated: Any = None
        metrics: Any = None
        while goes_on(metrics, checkpoint_path=evaluated):
            if self._is_trained(metrics):
                tf.logging.info("Exiting continuous eval at step %s", metrics[_STEP])
                return
            start = time.time()
            newest = tf.train.latest_checkpoint(self._estimator.model_dir)
            if not newest or (only_once and newest == evaluated):
                metrics = {}
            else:
                metrics = self._evaluate(input_fn, name, newest) or {}
                if export:
                    self._export(metrics, newest)
                evaluated = newest
            rest = throttle - (time.time() - start)
            if rest > 0:
                time.sleep(rest)

    def _is_trained(self, metrics: Any) -> bool:
        step = (metrics or {}).get(_STEP)
        return bool(step and self._train_steps and step >= self._train_steps)

    def train_and_evaluate(self) -> tuple[Any, Any]:
        """Trains, evaluates new checkpoints on the way, and evaluates and exports the last.

        Returns:
          The last metrics, and what the export strategies returned.
        """
        config = self._estimator.config
        every = config.save_checkpoints_secs, config.save_checkpoints_steps
        if self._checkpoint_and_export and any(every):
            listener = _EvaluatesAndExports(self)
            saver = tf.train.CheckpointSaverHook(
                self._estimator.model_dir,
                save_secs=every[0],
                save_steps=every[1],
                listeners=[listener],
            )
            self._train(0, [saver])
            return listener.metrics, listener.exports
        validation = _monitors.ValidationMonitor(
            input_fn=self._eval_input_fn,
            eval_steps=self._eval_steps,
            every_n_steps=self._min_eval_frequency,
            check_interval_secs=self._check_interval_secs,
            hooks=self._eval_hooks,
        )
        self._train(0, [validation] if self._min_eval_frequency else [])
        metrics = self._evaluate()
        return metrics, self._export(metrics)

    def continuous_train_and_eval(
        self, continuous_eval_predicate_fn: Callable[..., bool] | None = None
    ) -> tuple[Any, Any]:
        """Trains and evaluates by turns, in this process.

        Args:
          continuous_eval_predicate_fn: Whether to go on; see :meth:`continuous_eval`.

        Returns:
          The last metrics, and what the export strategies returned.
        """
        goes_on = _predicate(continuous_eval_predicate_fn)
        steps = 1000 if self._train_steps is None else int(self._train_steps / 10)
        if self._steps_per_iteration is not None:
            steps = self._steps_per_iteration
        metrics: Any = None
        exports: Any = None
        newest: Any = None
        while goes_on(metrics, checkpoint_path=newest if metrics else None):
            if self._is_trained(metrics):
                break
            self._train_for(steps)
            newest = tf.train.latest_checkpoint(self._estimator.model_dir)
            metrics = self._evaluate(name="one_pass", checkpoint_path=newest)
            exports = self._export(metrics)
        return metrics, exports

    def _export(self, metrics: Any, checkpoint_path: str | None = None) -> list[Any]:
        base = os.path.join(tf.compat.as_bytes(self._estimator.model_dir), b"export")
        return [
            strategy.export(
                self._estimator,
                os.path.join(base, tf.compat.as_bytes(strategy.name)),
                checkpoint_path=checkpoint_path,
                eval_result=metrics,
            )
            for strategy in self._export_strategies
        ]

    def test(self) -> Any:
        """Trains one step, evaluates one batch, and exports; returns the metrics."""
        self._train_for(1)
        metrics = self._estimator.evaluate(input_fn=self._eval_input_fn, steps=1, name="one_pass")
        self._export(metrics)
        return metrics

    def run_std_server(self) -> None:
        """Serves the other processes, for ever."""
        self._start_server().join()

    def _start_server(self) -> Any:
        config = self._estimator.config
        named = all((config.cluster_spec, config.task_type, config.master))
        if not named or config.task_id is None:
            raise BadValueError(
                "TPU103",
                "Could not start server; be sure to specify cluster_spec, task_type, master, and task in "
                "RunConfig or set the TF_CONFIG environment variable.",
            )
        options = getattr(config, "tf_config", None)
        return tf.train.Server(
            config.cluster_spec, config.task_type, config.task_id, config=options
        )


def _strategies(given: Any) -> tuple[ExportStrategy, ...]:
    found = [given] if isinstance(given, ExportStrategy) else list(given or [])
    for strategy in found:
        if not isinstance(strategy, ExportStrategy):
            raise BadValueError(
                "TPU103",
                "`export_strategies` must be an ExportStrategy, an iterable of ExportStrategy, or `None`, "
                f"found {strategy}.",
            )
    return tuple(found)


def _predicate(given: Callable[..., bool] | None) -> Callable[..., bool]:
    """The function, made to take the path of a checkpoint too."""
    if given is None:
        return lambda metrics, checkpoint_path: True
    if not callable(given):
        raise BadValueError("TPU103", "`continuous_eval_predicate_fn` must be a callable, or None.")
    if "checkpoint_path" in inspect.signature(given).parameters:
        return given
    return lambda metrics, checkpoint_path: given(metrics)


def _wait(seconds: float | None, what: str) -> None:
    if seconds and seconds > 0:
        tf.logging.info("Waiting %d secs before starting %s.", seconds, what)
        time.sleep(seconds)


class _EvaluatesAndExports(tf.train.CheckpointSaverListener):
    """Evaluates and exports each checkpoint when it has been saved."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._seen: str | None = None
        self.metrics: Any = None
        self.exports: Any = None

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Looks for the checkpoint."""
        newest = tf.train.latest_checkpoint(self._experiment.estimator.model_dir)
        if not newest or newest == self._seen:
            tf.logging.warning("Skipping evaluation and export: there is no new checkpoint.")
            return
        self._seen = newest
        self.metrics = self._experiment._evaluate(
            name="intermediate_export", checkpoint_path=newest
        )
        self.exports = self._experiment._export(self.metrics, newest)
