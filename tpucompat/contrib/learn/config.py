"""``tf.contrib.learn.RunConfig``: where a process stands among others, and how an Estimator runs.

Follows tensorflow/contrib/learn/python/learn/estimators/run_config.py of TensorFlow 1.15, and ModeKeys of
model_fn.py beside it.
"""

from __future__ import annotations

import json
import os
from typing import Any, Iterable

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.idioms import estimator as _estimator

_core: Any = _estimator.api.RunConfig
_BY_DEFAULT = 0  # of save_checkpoints_secs: 600 unless steps were given
#: What may differ between two configurations that are called the same.
_NOT_IN_UID = (
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
)


class ModeKeys:
    """What a model function is called for; the values are those of ``tf.estimator.ModeKeys``."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


class Environment:
    """Where a job runs."""

    CLOUD = "cloud"
    GOOGLE = "google"
    LOCAL = "local"


class TaskType:
    """The kinds of processes of a job."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"


class ClusterConfig:
    """What the environment variable TF_CONFIG says of this process and the others.

    Args:
      master: The address to run on, instead of the one that TF_CONFIG gives.
      evaluation_master: The address to evaluate on.

    Raises:
      BadValueError: TF_CONFIG names a task that its cluster does not have.
    """

    def __init__(self, master: str | None = None, evaluation_master: str | None = None) -> None:
        config = _tf_config()
        self._task_type = config.get("task", {}).get("type")
        self._task_id = self.get_task_id()
        self._cluster_spec = tf.train.ClusterSpec(config.get("cluster", {}))
        self._master = self._own_address() if master is None else master
        jobs = self._cluster_spec.as_dict()
        self._num_ps_replicas = len(jobs.get("ps", []))
        self._num_worker_replicas = len(jobs.get("worker", [])) + len(jobs.get("master", []))
        self._environment = config.get("environment", Environment.LOCAL)
        chief = TaskType.MASTER if self._environment == Environment.CLOUD else TaskType.WORKER
        self._is_chief = self._task_id == 0 and self._task_type in (None, chief)
        self._evaluation_master = evaluation_master or ""

    def _own_address(self) -> str:
        jobs = self._cluster_spec.as_dict()
        if sum(map(len, jobs.values())) <= 1 or not self._task_type:
            return ""
        if self._task_type not in jobs:
            raise BadValueError(
                "TPU103", f"{self._task_type} is not a valid task_type in the cluster_spec: {jobs}"
            )
        addresses = self._cluster_spec.job_tasks(self._task_type)
        if not 0 <= self._task_id < len(addresses):
            raise BadValueError(
                "TPU103",
                f"{self._task_id} is not a valid task_id for task_type {self._task_type} in the "
                f"cluster_spec: {jobs}",
            )
        return "grpc://" + addresses[self._task_id]

    @property
    def cluster_spec(self) -> Any:
        """The tasks of all jobs."""
        return self._cluster_spec

    @property
    def environment(self) -> str:
        """One of :class:`Environment`."""
        return self._environment

    @property
    def evaluation_master(self) -> str:
        """The address to evaluate on."""
        return self._evaluation_master

    @property
    def is_chief(self) -> bool:
        """Whether this process saves checkpoints."""
        return self._is_chief

    @property
    def master(self) -> str:
        """The address to run on; empty for this process."""
        return self._master

    @property
    def num_ps_replicas(self) -> int:
        """How many processes keep variables."""
        return self._num_ps_replicas

    @property
    def num_worker_replicas(self) -> int:
        """How many processes train, the master among them."""
        return self._num_worker_replicas

    @property
    def task_id(self) -> int:
        """The number of this process in its job."""
        return self._task_id

    @property
    def task_type(self) -> str | None:
        """The job of this process, one of :class:`TaskType`."""
        return self._task_type

    @staticmethod
    def get_task_id() -> int:
        """The number that TF_CONFIG gives this process; 0 without one."""
        return int(_tf_config().get("task", {}).get("index") or 0)


class RunConfig(ClusterConfig, _core):
    """How an Estimator runs.

    Args:
      master: The address to run on.
      num_cores: Threads of an operation, and operations at a time; 0 for as many as TensorFlow chooses.
      log_device_placement: Whether the devices of operations are logged.
      gpu_memory_fraction: Of each GPU.
      tf_random_seed: Of graphs; None leaves them without one.
      save_summary_steps: Steps between summaries.
      save_checkpoints_secs: Seconds between checkpoints; 600 by default, unless steps are given.
      save_checkpoints_steps: Steps between checkpoints.
      keep_checkpoint_max: How many checkpoints are kept.
      keep_checkpoint_every_n_hours: How often one is kept for good.
      log_step_count_steps: Steps between reports of the speed.
      protocol: Of servers; not used.
      evaluation_master: The address to evaluate on.
      model_dir: The folder of checkpoints; TF_CONFIG's by default.
      session_config: Of Sessions.
      session_creation_timeout_secs: How long a worker waits for its Session.

    Raises:
      BadValueError: Another model_dir than TF_CONFIG's.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int = 100,
        save_checkpoints_secs: int | None = _BY_DEFAULT,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: str | None = None,
        session_config: Any = None,
        session_creation_timeout_secs: int = 7200,
    ) -> None:
        if save_checkpoints_secs == _BY_DEFAULT:
            save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
        # The properties of tf.estimator.RunConfig, which Estimators read; what it would make of TF_CONFIG
        # itself, where it knows other tasks, is written over by the next line.
        _core.__init__(
            self,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
        )
        ClusterConfig.__init__(self, master=master, evaluation_master=evaluation_master)
        self._save_checkpoints_secs = save_checkpoints_secs
        self._save_checkpoints_steps = save_checkpoints_steps
        self._model_dir = _model_dir(model_dir)
        self._session_creation_timeout_secs = session_creation_timeout_secs
        self._protocol = protocol
        self._tf_config = tf.ConfigProto(
            log_device_placement=log_device_placement,
            inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
        )

    @property
    def tf_config(self) -> Any:
        """The ConfigProto of the cores, the devices and their memory."""
        return self._tf_config

    def uid(self, whitelist: Iterable[str] | None = None) -> str:
        """A text that two configurations share when they are of the same run.

        Args:
          whitelist: What may differ between them.
        """
        left_out = {"_" + name for name in (_NOT_IN_UID if whitelist is None else whitelist)}
        state = {name: value for name, value in vars(self).items() if name not in left_out}
        state["_cluster_spec"] = sorted(self._cluster_spec.as_dict().items())
        return ", ".join(f"{name}={state[name]!r}" for name in sorted(state))


def _tf_config() -> dict[str, Any]:
    return json.loads(os.environ.get("TF_CONFIG") or "{}")


def _model_dir(given: str | None) -> str | None:
    told = _tf_config().get("model_dir")
    if told is not None and given is not None and told != given:
        raise BadValueError(
            "TPU103",
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir in "
            f"TF_CONFIG. model_dir: {given}, TF_CONFIG['model_dir']: {told}",
        )
    return given or told
