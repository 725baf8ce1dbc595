"""Which cores a Keras TPU model gets: ``TPUDistributionStrategy``, without a connection."""

from __future__ import annotations

from typing import Any

from tpucompat.base import cluster, errors, journal
from tpucompat.engines import accelerator, session


class TPUAssignment:
    """The cores assigned to one model."""

    def __init__(self, worker_name: str, num_cores: int) -> None:
        self._worker_name = worker_name
        self._num_cores = num_cores

    @property
    def worker_name(self) -> str:
        """Name of the job that 1.13 placed host operations on."""
        return self._worker_name

    @property
    def num_towers(self) -> int:
        """Number of cores that share every batch."""
        return self._num_cores


class TPUDistributionStrategy:
    """Says on how many cores a Keras model trains.

    Args:
      tpu_cluster_resolver: Kept for the script's sake; nothing connects. The cores are those of
        :func:`tpucompat.engines.accelerator.cores`.
      using_single_core: Use one core, however many there are.
      num_cores_per_host: TensorFlow 1.9's spelling: 1 stands for ``using_single_core``, and other
        numbers for all cores.

    Raises:
      tpucompat.base.errors.SetupError: Several cores were asked for on TensorFlow 1.x (TPU308).
    """

    def __init__(
        self,
        tpu_cluster_resolver: Any = None,
        using_single_core: bool = False,
        num_cores_per_host: int | None = None,
    ) -> None:
        single = using_single_core or num_cores_per_host == 1
        cores = 1 if single else accelerator.cores()
        if cores > 1 and session.enter_graph_mode().__version__.startswith("1."):
            raise errors.SetupError(
                "TPU308",
                f"{cores} cores were requested, but TensorFlow {session.enter_graph_mode().__version__} "
                "trains Keras models on one replica only.",
            )
        _say_if_alone()
        self._tpu_cluster_resolver = tpu_cluster_resolver
        self._num_cores = cores
        self._worker_name = "worker"

    def _make_assignment_for_model(self, cpu_model: Any) -> TPUAssignment:
        """One core for a stateful model, as 1.13; all cores for others."""
        cores = self._num_cores
        if cores > 1 and cpu_model.stateful:
            journal.notice(
                "TPU309",
                "model replication does not support stateful models: one core trains this one",
            )
            cores = 1
        return TPUAssignment(worker_name=self._worker_name, num_cores=cores)


def _say_if_alone() -> None:
    """Says that other machines, which TF_CONFIG names, train for themselves."""
    try:
        given = cluster.cluster()
    except errors.BadValueError:  # meant for somebody else, who may understand it
        return
    if given is not None and given.machines > 1:
        journal.notice(
            "TPU301",
            (
                f"TF_CONFIG lists {given.machines} machines; a Keras TPU model trains on this "
                "one only"
            ),
        )
