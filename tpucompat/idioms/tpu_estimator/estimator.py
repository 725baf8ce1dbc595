"""``tf.contrib.tpu.TPUEstimator`` and what is passed to it.

With ``use_tpu=True`` it trains on the replicas of this process
(:func:`tpucompat.engines.accelerator.cores`): on several by TPUEstimator's own TPU code over the strategy
engine, on one in the script's own graph and Session, with what a model function expects on a TPU.
With ``use_tpu=False`` it is the installed class.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import sys
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.engines import accelerator, observer
from tpucompat.idioms.tpu_estimator import checkpoints, one_replica, source, stopping, watched
from tpucompat.idioms.tpu_estimator import workers as workers_lib
from tpucompat.idioms.tpu_estimator.context import LocalContext
from tpucompat.idioms.tpu_estimator.errors import explained
from tpucompat.idioms.tpu_estimator.progress import ProgressHook
from tpucompat.tf import patches

_source = source.load()
_tpu_config = _source.tpu_config
_RunConfig: Any = _tpu_config.RunConfig
_TPUEstimator: Any = _source.TPUEstimator
_TPUEstimatorSpec: Any = _source.TPUEstimatorSpec
_ModeKeys = _source.model_fn_lib.ModeKeys

ExportSavedModelApiVersion = getattr(_source, "ExportSavedModelApiVersion", None)  # from 1.14 on
InputPipelineConfig = _tpu_config.InputPipelineConfig
TPUConfig = _tpu_config.TPUConfig
export_estimator_savedmodel = _source.export_estimator_savedmodel


class TPUEstimatorSpec(_TPUEstimatorSpec):
    """What a model function returns; TensorFlow's own class.

    Args:
      *args: As there: mode, predictions, loss, train_op, eval_metrics, export_outputs, scaffold_fn,
        host_call and hooks.
      **kwargs: The same by name.

    Raises:
      TypeError: If a hook is not a hook, or a function not a function (TPU330, TPU331).
      ValueError: If ``host_call`` or ``eval_metrics`` is not a pair (TPU331).
      RuntimeError: If they have another number of tensors than arguments (TPU331).
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Checks the arguments, as TensorFlow does."""
        with explained():
            return super().__new__(cls, *args, **kwargs)

    def as_estimator_spec(self) -> Any:
        """The ``EstimatorSpec`` for a model that trains without a TPU."""
        calls = {"eval_metrics": self.eval_metrics, "host_call": self.host_call}
        # After 1.15 the class keeps the calls of the specification that was made last, in which
        # one made by ``_replace``, or before another model's, has no part.
        type(self)._host_calls = {name: call for name, call in calls.items() if call is not None}
        return super().as_estimator_spec()


class RunConfig(_RunConfig):
    """TPUEstimator's configuration, for the devices of this process.

    TensorFlow's own class. Estimators made with it use the devices of this process, whatever the address.

    Args:
      tpu_config: A :class:`TPUConfig`.
      evaluation_master: Address for evaluation.
      master: Address for training.
      cluster: A cluster resolver, instead of ``master``.
      **kwargs: Arguments of ``tf.estimator.RunConfig``.

    Raises:
      ValueError: If both ``master`` and ``cluster`` are given, or a cluster is given twice.
    """

    def __init__(
        self,
        tpu_config: Any = None,
        evaluation_master: Any = None,
        master: Any = None,
        cluster: Any = None,
        **kwargs: Any,
    ) -> None:
        open_sessions_here()
        with explained(), workers_lib.readable_cluster() as complete:
            super().__init__(
                tpu_config=tpu_config,
                evaluation_master=evaluation_master,
                master=master,
                cluster=cluster,
                **kwargs,
            )
        complete(self)


class TPUEstimator(_TPUEstimator):
    """An Estimator that trains on the replicas of this process.

    The arguments, checks and errors are those of TensorFlow's class
    (``tensorflow_estimator/python/estimator/tpu/tpu_estimator.py`` of release 1.15).
    """

    _is_input_fn_invoked: Any
    _config: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        with explained():
            kwargs, self._workers = workers_lib.connected(_TPUEstimator.__init__, args, kwargs)
            super().__init__(**kwargs)
        self._ctx: Any = LocalContext.from_config(
            self._config, self._ctx, kwargs["config"], self._workers
        )
        if self._ctx.replicas > 1:
            self._session_config: Any = _for_steps_of_cores(self._session_config)
        self._steps_asked_for: tuple[Any, Any] = (None, None)
        self._stop: Any = None
        if self._workers is None or self._workers.is_chief:
            checkpoints.pass_over_damaged(self._model_dir)

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Trains; see ``tf.estimator.Estimator.train``.

        SIGTERM or Ctrl-C ends it after a step, as :class:`stopping.StopOnSignal` says.

        Args:
          *args: input_fn, hooks, steps, max_steps, saving_listeners.
          **kwargs: The same by name.

        Returns:
          The Estimator.

        Raises:
          ValueError, TypeError, RuntimeError: As in TensorFlow (TPU324 to TPU335).
          RuntimeError: If another process trains in the same model_dir (TPU328).
          tf.errors.OutOfRangeError: If the input ends before the steps do (TPU336).
          KeyboardInterrupt: After Ctrl-C, when the step is finished and saved.
        """
        try:
            together = workers_lib.training(self._workers, self._model_dir)
            stop = stopping.StopOnSignal(self._workers, self._model_dir)
            with self._alone(), stop as self._stop, explained(), together:
                return super().train(*args, **kwargs)
        except observer.Told:
            watched.evaluate_for(self, kwargs.get("saving_listeners", args[4:5]))
            return self

    def _alone(self) -> contextlib.AbstractContextManager[None]:
        """Within: no other process trains in the directory; of several workers the chief asks."""
        if (self._workers is not None and not self._workers.is_chief) or observer.watched():
            return contextlib.nullcontext()
        return checkpoints.alone_in(self._model_dir)

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluates; see ``tf.estimator.Estimator.evaluate``.

        Args:
          *args: input_fn, steps, hooks, checkpoint_path, name.
          **kwargs: The same by name.

        Returns:
          Name -> value of the metrics, with ``loss`` and ``global_step``.

        Raises:
          ValueError, TypeError, RuntimeError, tf.errors.OutOfRangeError: As :meth:`train`.
        """
        try:
            with explained():
                return super().evaluate(*args, **kwargs)
        except observer.Told as told:
            return watched.metrics(told.result)

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """Predicts; see ``tf.estimator.Estimator.predict``.

        Args:
          *args: input_fn, predict_keys, hooks, checkpoint_path, yield_single_examples.
          **kwargs: The same by name.

        Yields:
          The predictions of each example; of each batch without ``yield_single_examples``.

        Raises:
          ValueError, TypeError, RuntimeError: As :meth:`train`.
        """
        with contextlib.suppress(observer.Told), explained():
            yield from super().predict(*args, **kwargs)

    def _call_model_fn(
        self, features: Any, labels: Any, mode: str, *args: Any, **kwargs: Any
    ) -> Any:
        called_for_input = self._is_input_fn_invoked  # otherwise a model is exported
        spec = super()._call_model_fn(features, labels, mode, *args, **kwargs)
        if called_for_input:
            watched.tell(mode, spec)
        return spec

    def _export_all_saved_models(self, export_dir_base: Any, *args: Any, **kwargs: Any) -> Any:
        if observer.watched():  # there is no checkpoint to be exported
            return tf.compat.as_bytes(export_dir_base)
        if self._workers is not None and not self._workers.is_chief:
            export_dir_base = workers_lib.scratch_dir()
        return super()._export_all_saved_models(export_dir_base, *args, **kwargs)

    def _convert_train_steps_to_hooks(self, steps: Any, max_steps: Any) -> Any:
        if self._ctx.is_one_replica(_ModeKeys.TRAIN):
            with self._ctx.as_tpu():  # for its checks
                super()._convert_train_steps_to_hooks(steps, max_steps)
        self._steps_asked_for = steps, max_steps
        hooks = list(super()._convert_train_steps_to_hooks(steps, max_steps))
        return [*hooks, self._stop] if self._stop is not None else hooks

    def _convert_eval_steps_to_hooks(self, steps: Any) -> Any:
        if self._ctx.is_one_replica(_ModeKeys.EVAL):
            with self._ctx.as_tpu():
                super()._convert_eval_steps_to_hooks(steps)
        return super()._convert_eval_steps_to_hooks(steps)

    def _call_input_fn(self, input_fn: Any, mode: str, *args: Any) -> Any:
        if not self._ctx.is_one_replica(mode):
            whole = super()._call_input_fn(input_fn, mode, *args)
            if self._workers is None or mode != _ModeKeys.TRAIN:
                return whole
            before, self._ctx = self._ctx, self._ctx.of_workers()
            try:
                return workers_lib.SharedInput(whole, super()._call_input_fn(input_fn, mode, *args))
            finally:
                self._ctx = before
        with self._ctx.as_tpu(), self._ctx.with_mode(mode) as ctx:
            called_later = super()._call_input_fn(input_fn, mode, *args)
            return one_replica.call_input_fn(called_later, ctx)

    def _evaluate_run(self, *args: Any, **kwargs: Any) -> Any:
        if self._workers is not None and not self._workers.is_chief:
            kwargs["output_dir"] = workers_lib.scratch_dir()
        return super()._evaluate_run(*args, **kwargs)

    def _augment_model_fn(self, model_fn: Any, batch_axis: Any) -> Any:
        theirs = super()._augment_model_fn(model_fn, batch_axis)

        def _model_fn(features: Any, labels: Any, mode: str, config: Any, params: Any) -> Any:
            # Without an input function a model is exported, which is TensorFlow's own business.
            if self._is_input_fn_invoked is None or not self._ctx.is_one_replica(mode):
                return theirs(features, labels, mode, config, params)
            self._is_input_fn_invoked = None
            with self._ctx.as_tpu(), self._ctx.with_mode(mode) as ctx:
                return one_replica.call_model_fn(
                    model_fn, features, labels, config, params, ctx, self._logging_hooks
                )

        return _model_fn

    def _train_with_estimator_spec(self, spec: Any, worker_hooks: list[Any], *args: Any) -> Any:
        if self._workers is not None and not self._workers.is_chief:
            return self._train_beside_chief(spec, worker_hooks, *args)
        if sys.stderr.isatty():
            batch_size = self._ctx._train_batch_size
            worker_hooks.append(ProgressHook(spec.loss, batch_size, *self._steps_asked_for))
        return super()._train_with_estimator_spec(spec, worker_hooks, *args)

    def _train_beside_chief(
        self, spec: Any, worker_hooks: Any, hooks: Any, step: Any, saving_listeners: Any
    ) -> Any:
        """Trains, and leaves it to the chief to save and to report."""
        del saving_listeners
        spec = spec._replace(
            training_chief_hooks=(), training_hooks=workers_lib.silent(spec.training_hooks)
        )
        before, self._config = self._config, workers_lib.without_writing(self._config)
        try:
            return super()._train_with_estimator_spec(
                spec, workers_lib.silent(worker_hooks), workers_lib.silent(hooks), step, None
            )
        finally:
            self._config = before

    def _logging_hooks(self, loss: Any) -> list[Any]:
        """The hooks by which a training on a TPU shows itself, counted in steps."""
        steps = self._ctx.log_step_count_steps
        if steps is None:
            return []
        return [
            tf.train.LoggingTensorHook(
                {"loss": tf.identity(loss), "step": tf.train.get_global_step()}, every_n_iter=steps
            ),
            _source.ExamplesPerSecondHook(
                self._ctx._train_batch_size,
                output_dir=self.model_dir if self._config.save_summary_steps else None,
                every_n_steps=steps,
            ),
        ]


@patches.patch
def open_sessions_here() -> None:
    """Lets Estimators with a :class:`RunConfig` open their Sessions on this machine."""
    estimator_lib = _source.estimator_lib
    theirs = estimator_lib.maybe_overwrite_model_dir_and_session_config

    @functools.wraps(theirs)
    def of_estimator(config: Any, model_dir: Any) -> Any:
        config = theirs(config, model_dir)
        if isinstance(config, RunConfig):
            config = copy.copy(config)
            config._master = _local(config._master)
            config._evaluation_master = _local(config._evaluation_master)
        return config

    patches.replace(estimator_lib, "maybe_overwrite_model_dir_and_session_config", of_estimator)


def _local(master: Any) -> Any:
    """A Session's target on this machine; what is not an address is kept, for nothing connects to it."""
    return accelerator.normalise_target(master) if "://" in (master or "") else master


def _for_steps_of_cores(config: Any) -> Any:
    """A ConfigProto for a graph that holds the step of a core, which no Session runs.

    A Session gives a device to every operation of its graph before the first run, and sums over
    the cores cannot have one.
    """
    changed = tf.ConfigProto()
    changed.CopyFrom(config)
    changed.graph_options.place_pruned_graph = True
    return changed
