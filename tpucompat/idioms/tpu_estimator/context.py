"""Which cores a TPUEstimator has: those of this process, or of several workers."""

from __future__ import annotations

import contextlib
import copy
from typing import Any, Iterator

from tpucompat.base import journal
from tpucompat.base.errors import GoneError
from tpucompat.base.machine import environment
from tpucompat.engines import accelerator, observer
from tpucompat.idioms.startup.cluster_resolver import SystemMetadata
from tpucompat.idioms.tpu_estimator import source
from tpucompat.idioms.tpu_estimator.placement import Here
from tpucompat.tf import private, topology

_source = source.load()
_ModeKeys = _source.model_fn_lib.ModeKeys
_Context: Any = _source.tpu_context._InternalTPUContext


class LocalContext(_Context):
    """Answers TPUEstimator's questions about the TPU without asking one.

    Attributes:
      replicas: How many replicas train; 1 where no TPU is wanted.
      workers: The workers that train together; None if there is one machine.
      log_step_count_steps: How often the script wants to hear of the training; None for never.
    """

    replicas: int = 1
    workers: Any = None
    _seen: Any = None
    log_step_count_steps: Any = None
    _embedding_config_spec: Any = None
    _embedding_config: Any = None
    _asked: Any = None

    @classmethod
    def from_config(cls, config: Any, theirs: Any, asked: Any, workers: Any = None) -> LocalContext:
        """The context of an Estimator.

        Args:
          config: The Estimator's RunConfig.
          theirs: The context that TPUEstimator made; it knows the batch sizes and flags.
          asked: The script's RunConfig, before TPUEstimator changed it.
          workers: The workers that train together; None if there is one machine.
        """
        replicas = _replicas(config) if theirs._use_tpu else 1
        if workers is not None:
            replicas = workers.replicas
        made = cls(
            _for_replicas(config, replicas),
            theirs._train_batch_size,
            theirs._eval_batch_size,
            theirs._predict_batch_size,
            theirs._use_tpu,
            theirs._eval_on_tpu,
        )
        made.replicas = replicas
        made.workers = workers
        spec = getattr(theirs, "_embedding_config_spec", None)  # absent in 1.13
        if theirs._use_tpu and spec is not None and environment().has("contrib"):
            raise GoneError("TPU321", "embedding_config_spec is used.")
        made._embedding_config_spec = spec
        made.log_step_count_steps = asked.log_step_count_steps
        made._asked = asked
        made._pretends = [False]
        return made

    def is_one_replica(self, mode: str) -> bool:
        """Whether a TPU is wanted in this mode, and one replica without a TPU stands for it."""
        if not self._use_tpu or self.replicas > 1 or self._embedding_config_spec is not None:
            return False
        if observer.watched() or accelerator.is_tpu():  # who looks on wants the program of a core
            return False
        return bool(mode != _ModeKeys.EVAL or self._eval_on_tpu)

    @contextlib.contextmanager
    def as_tpu(self) -> Iterator[None]:
        """Within: the one replica counts as a TPU, so that TPUEstimator checks and says the
        same."""
        before, self._pretends[0] = self._pretends[0], True
        try:
            yield
        finally:
            self._pretends[0] = before

    def _is_running_on_cpu(self, is_export_mode: bool) -> bool:
        if not is_export_mode and self.is_one_replica(self._assert_mode()):
            return not self._pretends[0]
        return bool(super()._is_running_on_cpu(is_export_mode))

    def _get_tpu_system_metadata(self) -> Any:
        hosts, per_host = self._seen or self._hosts()
        return SystemMetadata(self.replicas, hosts, per_host, None, [])

    def _hosts(self) -> tuple[int, int]:
        """The number of hosts that feed replicas, and how many replicas each of them feeds."""
        # A replica that spreads over the cores of several hosts is fed by one of them.
        hosts = min(accelerator.hosts(), self.replicas) if self.replicas > 1 else 1
        return hosts, self.replicas // hosts

    def seen(self, hosts: int, per_host: int) -> LocalContext:
        """The context with the cores on several hosts.

        Args:
          hosts: The number of hosts.
          per_host: The number of cores that belong to each.
        """
        made = copy.copy(self)
        made._seen = hosts, per_host
        return made

    def of_workers(self) -> LocalContext:
        """The context with each worker as a host."""
        return self.seen(self.workers.count, len(self.workers.cores))

    def placement(self) -> Here:
        """Where the cores of a program are that this process runs by itself."""
        at_once = None if self.workers is None else len(self.workers.cores)
        return Here(self.replicas, at_once, self.cores_per_replica)

    @property
    def embedding_config(self) -> Any:
        """The embedding tables of the present mode; None if there are none."""
        spec = self._embedding_config_spec
        if not self._use_tpu or spec is None:
            return None
        from tpucompat.idioms.embedding import columns  # 1.13 has no such columns

        if self._embedding_config is None:
            self._embedding_config = columns.EmbeddingConfig(
                spec, self._train_batch_size, self._eval_batch_size, 1, self.replicas, self.config
            )
        if not self._embedding_config.has_embedding_tables():
            return None
        mode = self._assert_mode()
        self._embedding_config.tpu_embedding = self._embedding_config.get_tpu_embedding(mode)
        return self._embedding_config

    @property
    def cores_per_replica(self) -> int:
        """How many cores of a TPU the script wants for a replica, which has one device here."""
        return self._asked.tpu_config.num_cores_per_replica or 1

    @property
    def tells_cores(self) -> bool:
        """Whether the script is told which cores compute a replica: if it says how many do."""
        return bool(self._asked.tpu_config.num_cores_per_replica)

    def assignment(self) -> Any:
        """Which cores of a TPU compute which replica, if the script says how many each has; else None."""
        if not self.tells_cores:
            return None
        cores = self.cores_per_replica
        return private.device_assignment().device_assignment(
            private.topology_class()(topology.serialized(self.replicas * cores)),
            computation_shape=_source.tpu_context._NUM_CORES_TO_COMPUTATION_SHAPE[cores],
            num_replicas=self.replicas,
        )

    @property
    def master_job(self) -> Any:
        """The job of the TPU that the script names; None for a local one.

        Raises:
          ValueError: If the cluster has several that it may be.
        """
        made = copy.copy(self)
        made._config = self._asked
        return _Context.master_job.fget(made)

    @property
    def tpu_host_placement_function(self) -> Any:
        """Core or host -> the device for its operations on the host: one of this process."""
        return _Context.tpu_host_placement_function.fget(_Unplaced(self))

    @property
    def tpu_device_placement_function(self) -> Any:
        """Core -> its device in the graph."""
        return _Context.tpu_device_placement_function.fget(_Unplaced(self))

    def device_for_replica(self, replica_id: int) -> Any:
        """The device for what a replica's host does, and the replica's core, counted through all hosts.

        Args:
          replica_id: The replica's number.
        """
        # All hosts are this process, which is task 0.
        return _Context.device_for_replica(_Unplaced(self), 0)[0], replica_id

    def tpu_ordinal_function(self, host_id: int) -> Any:
        """Number of a replica among those of a host -> its core, counted through all hosts.

        Args:
          host_id: The host's number.
        """
        return lambda shard: host_id * self.num_of_replicas_per_host + shard


class _Unplaced:
    """A context that names no job: operations are placed on devices of this process.

    Args:
      context: The context.
    """

    master_job = None

    def __init__(self, context: LocalContext) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def _replicas(config: Any) -> int:
    tpu_config = config.tpu_config
    if tpu_config.num_shards == 1 and tpu_config.num_cores_per_replica is None:
        return 1  # TPUEstimator's way to use one core of a TPU
    return max(1, accelerator.cores() // (tpu_config.num_cores_per_replica or 1))


def _for_replicas(config: Any, replicas: int) -> Any:
    """The configuration, without the shape of the TPU that the script was written for.

    A replica has one device: model parallelism spreads it over several cores, which changes where
    it is computed and not what.
    """
    shards = config.tpu_config.num_shards
    if shards not in (None, replicas):
        journal.notice(
            "TPU327",
            f"TPUConfig(num_shards={shards}) is ignored, training on {accelerator.describe()}",
        )
    return config.replace(
        tpu_config=config.tpu_config._replace(num_shards=None, num_cores_per_replica=None)
    )
