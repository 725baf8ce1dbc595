"""``tf.contrib.learn.learn_runner``: makes an Experiment and does what the process is there for.

Follows tensorflow/contrib/learn/python/learn/learn_runner.py of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Callable

from tpucompat.base.errors import BadTypeError, BadValueError, RefusedError
from tpucompat.contrib.hparam import HParams
from tpucompat.contrib.learn import config as _config
from tpucompat.contrib.learn.experiment import Experiment


def run(
    experiment_fn: Callable[..., Any],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """Makes an Experiment and calls one of its methods.

    Args:
      experiment_fn: A function of ``output_dir``, or of ``run_config`` and ``hparams``, that returns it.
      output_dir: The folder of checkpoints; or ``run_config`` is given.
      schedule: The name of the method; by default what TF_CONFIG makes of this process.
      run_config: A ``tf.contrib.learn.RunConfig`` with a ``model_dir``, for the Estimator too.
      hparams: Hyperparameters for the function; with ``run_config`` only.

    Returns:
      What the method returns.

    Raises:
      BadValueError: Arguments that do not go together, or a method that does not exist.
      BadTypeError: Not a function, or one that does not return an Experiment.
      RefusedError: The Experiment's Estimator has another configuration.
    """
    if output_dir is not None and run_config is not None:
        raise BadValueError("TPU103", "Cannot provide both `output_dir` and `run_config`")
    if output_dir is None and run_config is None:
        raise BadValueError("TPU103", "Must set value for `output_dir` or `run_config`")
    if not callable(experiment_fn):
        raise BadTypeError("TPU103", f'Experiment builder "{experiment_fn}" is not callable.')
    if run_config is not None:
        experiment = _checked(experiment_fn)(run_config, hparams)
    else:
        if not output_dir:
            raise BadValueError("TPU103", "Must specify an output directory")
        if hparams is not None:
            raise BadValueError(
                "TPU103", "Must set `hparams` as None for `experiment_fn` with `output_dir`."
            )
        experiment = _experiment(experiment_fn(output_dir=output_dir))
    name = schedule or _schedule(run_config or experiment.estimator.config)
    return _task(experiment, name)()


def tune(experiment_fn: Callable[..., Any], tuner: Any) -> None:
    """Runs Experiments as a tuner wants them.

    Args:
      experiment_fn: A function of a ``RunConfig`` and ``HParams`` that returns an Experiment.
      tuner: With ``next_trial()`` and ``run_experiment(function)``.
    """
    while tuner.next_trial():
        tuner.run_experiment(_checked(experiment_fn, with_hparams=True))


def _checked(experiment_fn: Callable[..., Any], with_hparams: bool = False) -> Callable[..., Any]:
    """The function, whose Estimator has to get the configuration that it was given."""

    def checked(run_config: Any, hparams: Any) -> Any:
        if not isinstance(run_config, _config.RunConfig):
            raise BadValueError(
                "TPU103", "`run_config` must be `tf.contrib.learn.RunConfig` instance"
            )
        if not run_config.model_dir:
            raise BadValueError(
                "TPU103", "Must specify a model directory `model_dir` in `run_config`."
            )
        if hparams is not None and not isinstance(hparams, HParams):
            raise BadValueError("TPU103", "`hparams` must be `HParams` instance")
        if with_hparams and hparams is None:
            raise BadValueError("TPU103", "`hparams` cannot be `None`.")
        expected = run_config.uid()
        experiment = _experiment(experiment_fn(run_config, hparams))
        config = experiment.estimator.config
        if not hasattr(config, "uid"):
            raise RefusedError(
                "TPU103",
                "Pass `run_config` argument of the `experiment_fn` to the Estimator in Experiment. It is "
                "likely a different `RunConfig` is passed to `Estimator` or the `config` constructor "
                "argument in `Estimator` is not set.",
            )
        if config.uid() != expected:
            raise RefusedError(
                "TPU103",
                "`RunConfig` instance is expected to be used by the `Estimator` inside the `Experiment`. "
                f"expected {expected}, but got {config.uid()}",
            )
        return experiment

    return checked


def _experiment(made: Any) -> Experiment:
    if not isinstance(made, Experiment):
        raise BadTypeError(
            "TPU103",
            f"Experiment builder did not return an Experiment instance, got {type(made)} instead.",
        )
    return made


def _task(experiment: Experiment, name: str) -> Callable[[], Any]:
    task = getattr(experiment, name, None)
    if callable(task):
        return task
    known = [each for each in dir(experiment) if not each.startswith("_")]
    known = [each for each in known if callable(getattr(experiment, each))]
    advice = f"Allowed values for this experiment are: {', '.join(known)}."
    if not hasattr(experiment, name):
        raise BadValueError("TPU103", f"Schedule references non-existent task {name}", advice)
    raise BadTypeError("TPU103", f"Schedule references non-callable member {name}", advice)


def _schedule(config: Any) -> str:
    """The method for this process of a job."""
    spec = getattr(config, "cluster_spec", None)
    if not spec or sum(spec.num_tasks(job) for job in spec.jobs) <= 1:
        return "train_and_evaluate"
    if not config.task_type:
        raise BadValueError("TPU103", "Must specify a schedule")
    schedules = {
        _config.TaskType.MASTER: "train_and_evaluate",
        _config.TaskType.PS: "run_std_server",
        _config.TaskType.WORKER: "train",
    }
    if config.task_type not in schedules:
        raise BadValueError("TPU103", f"No default schedule for task type: {config.task_type}")
    return schedules[config.task_type]
