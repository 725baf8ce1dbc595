"""``tf.contrib.distribute``: strategies for graphs and Sessions, on the devices of this machine.

They are the strategies of ``tf.compat.v1.distribute``, which still build graphs. What differs is
the constructor's arguments, and ``TPUStrategy``: off a TPU it is a mirrored strategy with one
replica per emulated core or GPU, or with a single one.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import tensorflow.compat.v1 as tf

from tpucompat.engines import accelerator, tpu_devices
from tpucompat.idioms.startup import early_tf2, tpu_system
from tpucompat.tf import patches, private, topology

_MirroredStrategy = tf.distribute.MirroredStrategy


def _replica_devices() -> list[str]:
    """The devices of the replicas that this process trains on."""
    cores = accelerator.cores()
    kind = "gpu" if not accelerator.emulated_cores() and private.gpus() else "cpu"
    return [f"/{kind}:{index}" for index in range(cores)]


class _Mirrored(_MirroredStrategy):  # type: ignore[misc, valid-type]
    """A mirrored strategy whose step functions return one value per replica, also for one replica.

    Scripts written for eight cores take the ``values`` of what a step returns.
    """

    def run(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Runs a function on every replica; see ``tf.distribute.Strategy.run``."""
        parent: Any = super()
        return self._wrapped(
            (getattr(parent, "run", None) or parent.experimental_run_v2)(fn, *args, **kwargs)
        )

    def experimental_run_v2(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The name of :meth:`run` up to 2.3."""
        return self.run(fn, *args, **kwargs)

    def _wrapped(self, result: Any) -> Any:
        if self.num_replicas_in_sync > 1:
            return result
        return tf.nest.map_structure(lambda value: private.one_replica(self, value), result)


@patches.patch
def take_partial_batches() -> None:
    """Lets Keras evaluate and predict numbers of examples that the batch does not divide, as on a TPU.

    In a graph, Keras allows it to TPUStrategy alone (keras/distribute/distributed_training_utils.py).
    """

    def changed(get_input_params: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(get_input_params)
        def params(
            distribution_strategy: Any,
            num_samples: Any,
            steps: Any,
            batch_size: Any,
            mode: Any = None,
        ) -> Any:
            if mode in ("test", "predict") and isinstance(distribution_strategy, _Mirrored):
                mode = "train"  # of which the last batch may be smaller everywhere
            return get_input_params(distribution_strategy, num_samples, steps, batch_size, mode)

        return params

    private.replace_functions(
        {
            f"keras/distribute.distributed_training_utils{suffix}:get_input_params": changed
            for suffix in ("", "_v1")
        }
    )


class _TPUStrategyType(type):
    """Makes the strategy for the mode and the devices, and recognises those that it made."""

    def __call__(
        cls,
        tpu_cluster_resolver: Any = None,
        steps_per_run: Any = None,
        device_assignment: Any = None,
    ) -> Any:
        """Makes a strategy.

        Args:
          tpu_cluster_resolver: Not needed: the devices are those of this machine.
          steps_per_run: Kept as an attribute; the host sees every step.
          device_assignment: Not needed.
        """
        accelerator.announce()
        if tf.executing_eagerly():
            return early_tf2.TPUStrategy()
        on_tpu = accelerator.is_tpu()
        if on_tpu:
            tpu_devices.tell("what a tf.contrib.distribute.TPUStrategy of a graph computes")
        take_partial_batches()
        strategy = _Mirrored(devices=["/cpu:0"] if on_tpu else _replica_devices())
        strategy.steps_per_run = 1 if steps_per_run is None else steps_per_run
        strategy.extended.steps_per_run = strategy.steps_per_run
        return strategy

    def __instancecheck__(cls, instance: Any) -> bool:
        native = getattr(tf.distribute.experimental, "TPUStrategy", _Mirrored)
        return isinstance(instance, (_Mirrored, native, early_tf2.TPUStrategy))


class TPUStrategy(metaclass=_TPUStrategyType):
    """``tf.contrib.distribute.TPUStrategy``: one replica for each core of this machine.

    Variables are mirrored over emulated cores, GPUs or a single device, and everything runs in the
    script's Session. Batches of Keras and of ``make_dataset_iterator`` are global, as with TensorFlow
    1.15's class. On a TPU the host computes alone, and says so (TPU464): a Session cannot have the chips
    that ``TPUStrategy`` has initialized for this process.
    """


#: ``tf.distribute.MirroredStrategy`` beside :class:`TPUStrategy`.
PlainMirroredStrategy = early_tf2.recognising(
    _MirroredStrategy, lambda strategy: isinstance(strategy, TPUStrategy)
)


def initialize_tpu_system(cluster_resolver: Any = None) -> Any:
    """Initializes the TPU system for the whole process.

    Args:
      cluster_resolver: Not needed.

    Returns:
      A ``Topology``.
    """
    del cluster_resolver
    accelerator.announce()
    tpu_system.mark_initialized()
    return private.topology_class()(serialized=topology.serialized(accelerator.cores()))


def shutdown_tpu_system(cluster_resolver: Any = None) -> None:
    """Shuts the TPU system down; computations in Sessions fail from then on.

    Args:
      cluster_resolver: Not needed.
    """
    del cluster_resolver
    tpu_system.mark_shut_down()


class MirroredStrategy(_MirroredStrategy):  # type: ignore[misc, valid-type]
    """Mirrors variables over GPUs; see ``tf.distribute.MirroredStrategy``.

    Args:
      devices: The devices.
      num_gpus: How many GPUs, where no devices are given; all by default. Where there are fewer,
        those that are there, or the CPU.
      num_gpus_per_worker: Another name for it.
      cross_device_ops: As TensorFlow's.
      auto_shard_dataset: Ignored.
      cross_tower_ops: The name of ``cross_device_ops`` up to 1.12.
    """

    def __init__(
        self,
        devices: Any = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: Any = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: Any = None,
    ) -> None:
        del auto_shard_dataset
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("You cannot specify both `num_gpus` and `num_gpus_per_worker`.")
        if devices is None:
            devices = _gpu_devices(num_gpus_per_worker if num_gpus is None else num_gpus)
        super().__init__(devices=devices, cross_device_ops=cross_device_ops or cross_tower_ops)


def _gpu_devices(wanted: int | None) -> list[str]:
    there = len(private.gpus())
    count = there if wanted is None else min(wanted, there)
    return [f"/gpu:{index}" for index in range(count)] or ["/cpu:0"]


class OneDeviceStrategy(tf.distribute.OneDeviceStrategy):
    """Puts everything on one device; see ``tf.distribute.OneDeviceStrategy``."""


class ParameterServerStrategy(tf.distribute.experimental.ParameterServerStrategy):
    """Variables on parameter servers; see ``tf.distribute.experimental.ParameterServerStrategy``.

    Args:
      num_gpus_per_worker: Ignored; the GPUs that are there are used.
    """

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        del num_gpus_per_worker
        super().__init__()


class CollectiveAllReduceStrategy(tf.distribute.experimental.MultiWorkerMirroredStrategy):
    """Mirrors variables over workers; see ``tf.distribute.MultiWorkerMirroredStrategy``.

    Args:
      num_gpus_per_worker: Ignored; the GPUs that are there are used.
    """

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        del num_gpus_per_worker
        super().__init__()
