"""Distribution strategies, and the devices and machines below them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import distribute_lib, values
from tensorflow.python.distribute.cluster_resolver import cluster_resolver
from tensorflow.python.eager import context

from tpucompat.base.late import late

collective_all_reduce_strategy = late("tensorflow.python.distribute.collective_all_reduce_strategy")
distribution_strategy_context = late("tensorflow.python.distribute.distribution_strategy_context")
multi_worker_util = late("tensorflow.python.distribute.multi_worker_util")


def cluster_resolver_class() -> Any:
    """``tf.distribute.cluster_resolver.ClusterResolver``, which 1.13 has below ``tensorflow.python`` only."""
    return cluster_resolver.ClusterResolver


def per_replica(strategy: Any, value_of: Any) -> Any:
    """A value of a strategy from a function that is called with the context of each replica.

    Public since 2.4 (``experimental_distribute_values_from_function``); before, replicas that run
    eagerly give the same.
    """
    give = getattr(strategy, "experimental_distribute_values_from_function", None)
    if give is not None:
        return give(value_of)
    return run_on_replicas(strategy, lambda: value_of(tf.distribute.get_replica_context()))


def run_on_replicas(strategy: Any, function: Any, args: Any = ()) -> Any:
    """``strategy.run``, which is public since 2.2; 2.0 and 2.1 have it as ``experimental_run_v2``."""
    run = getattr(strategy, "run", None) or strategy.experimental_run_v2
    return run(function, args=args)


def gpus() -> Any:
    """The GPUs that TensorFlow sees.

    Public as ``tf.config.list_physical_devices`` since 2.1; under ``experimental`` in 1.14 and 2.0;
    1.13 has no such list.
    """
    config = getattr(tf, "config", None)
    where = (
        config
        if hasattr(config, "list_physical_devices")
        else getattr(config, "experimental", None)
    )
    return where.list_physical_devices("GPU") if where is not None else []


def one_replica(strategy: Any, value: Any) -> Any:
    """The value of a strategy's only replica, in the form that values of several replicas have.

    Seen in 1.14 to 2.21 as ``tensorflow.python.distribute.values.PerReplica``, which up to 2.0 wants to
    be told the devices.
    """
    if isinstance(value, values.DistributedValues):
        return value
    if hasattr(values, "SingleDeviceMap"):
        try:
            device = strategy.extended.worker_devices[0]
        except RuntimeError:  # 2.0's default strategy names none
            device = "/device:CPU:0"
        return values.PerReplica(values.SingleDeviceMap(device), (value,))
    return values.PerReplica((value,))


def cross_replica_context() -> Any:
    """The strategy, if the code is not inside a replica; seen in 1.14 to 2.21 under two modules."""
    if hasattr(distribute_lib, "get_cross_replica_context"):
        return distribute_lib.get_cross_replica_context()
    return distribution_strategy_context.get_cross_replica_context()


def limit_start_of_peers(resolver: Any, seconds: int) -> None:
    """Limits how long this process waits for the other machines of a cluster to start.

    To be called before their strategy is made, which otherwise sets the limit itself, to an hour.
    Seen in 2.15 to 2.21 as ``tensorflow.python.eager.context.Context.configure_coordination_service``,
    called so by ``collective_all_reduce_strategy.py``; older releases wait without a limit.
    """
    configure = getattr(context.context(), "configure_coordination_service", None)
    config = getattr(collective_all_reduce_strategy, "coordination_config_pb2", None)
    if configure is None or config is None or not hasattr(config, "CoordinatedJob"):
        return
    machines = multi_worker_util.normalize_cluster_spec(resolver.cluster_spec())
    configure(
        service_type="standalone",
        service_leader=multi_worker_util.coordination_leader(machines),
        cluster_register_timeout_in_ms=1000 * seconds,
        coordinated_jobs=[
            config.CoordinatedJob(name=job, num_tasks=machines.num_tasks(job))
            for job in machines.jobs
        ],
    )
