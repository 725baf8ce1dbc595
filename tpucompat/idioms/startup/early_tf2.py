"""The TPU start-up calls of early TensorFlow 2 scripts, on the devices of this machine.

Such a script resolves a TPU, connects to it, initialises it and makes a ``TPUStrategy``. Here the
resolver connects to nothing (:mod:`tpucompat.idioms.startup.cluster_resolver`), connecting and
initialising are done by :mod:`tpucompat.engines.accelerator` where there is a TPU, and the strategy is the
accelerator's.

A resolver never raises the ValueError by which TensorFlow says that there is no TPU: scripts that
catch it have a path without TPU, but scripts that do not catch it would die, and emulated cores are
reached by the TPU's path only. TPUCOMPAT_NO_TPU asks for the other path.
"""

from __future__ import annotations

from typing import Any, Callable

import tensorflow

from tpucompat.base.machine import current_environment
from tpucompat.engines import accelerator, tpu_devices
from tpucompat.idioms.startup.cluster_resolver import LocalClusterSpec, TPUClusterResolver
from tpucompat.tf import patches, private


def recognising(real: Any, is_tpus: Callable[[Any], bool]) -> Any:
    """A class of mirrored strategies of which those in place of a TPU's are not instances.

    Args:
      real: TensorFlow's class, whose subclass it is.
      is_tpus: Whether a strategy is in place of a TPU's.
    """

    class Kind(type(real)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: Any) -> bool:
            if cls is not made:
                return bool(super().__instancecheck__(instance))
            return isinstance(instance, real) and not is_tpus(instance)

    made = Kind(real.__name__, (real,), {"__module__": real.__module__, "__doc__": real.__doc__})
    return made


class _TPUStrategyType(type):
    """Makes the accelerator's strategy where a ``TPUStrategy`` is asked for, and recognises it."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """The accelerator's strategy, for any resolver and device assignment."""
        del args, kwargs
        accelerator.announce()
        cls.given = accelerator.strategy()
        here = current_environment()
        if here.emulated_cores > 1 and not here.exact and here.onednn_setting != "0":
            private.shape_convolutions_of_no_examples()
        return cls.given

    def __instancecheck__(cls, instance: Any) -> bool:
        return instance is not None and instance is cls.given


class TPUStrategy(metaclass=_TPUStrategyType):
    """``tf.distribute.TPUStrategy`` and ``tf.distribute.experimental.TPUStrategy``.

    Calling it gives the strategy over the TPU of this machine, over its GPUs, over emulated cores
    or, with one replica, TensorFlow's default strategy.
    """

    given: Any = None


#: ``tf.distribute.MirroredStrategy``: emulated cores are one, and a script takes them for a TPU's.
MirroredStrategy = recognising(
    tensorflow.distribute.MirroredStrategy, lambda strategy: isinstance(strategy, TPUStrategy)
)


def device(device_name: Any) -> Any:
    """``tf.device``, for which ``/TPU:0`` may be a device that does not exist.

    Later releases place softly what runs eagerly; 2.1 knows no such device.

    Args:
      device_name: As there.
    """
    here = current_environment()
    if here.rehearsed_cores and "TPU" in str(device_name).upper():
        tpu_devices.tell(f"what the script places on {device_name}")
    if not here.has("eager_placement") and not here.tpu and "TPU" in str(device_name).upper():
        device_name = None
    return tensorflow.device(device_name)


@patches.patch
def restore_methods() -> None:
    """Gives strategies, those of graphs too, back the methods that they have lost since 1.15 and 2.0.

    Adding a missing method affects no other user of the class.
    """
    for strategy in (tensorflow.distribute.Strategy, tensorflow.compat.v1.distribute.Strategy):
        for name, method in _OLD_METHODS.items():
            if not hasattr(strategy, name):
                patches.replace(strategy, name, method)


def _experimental_run_v2(self: Any, fn: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Its name of ``run`` up to 2.1: 2.2 renamed it, 2.4 removed the old name (RELEASE.md)."""
    return self.run(fn, args=args, kwargs=kwargs)


def _experimental_make_numpy_dataset(self: Any, numpy_input: Any, session: Any = None) -> Any:
    """A Dataset of the rows of arrays; 2.4 removed it in favour of ``from_tensor_slices``."""
    del session  # only a graph needs one
    return tensorflow.data.Dataset.from_tensor_slices(numpy_input)


_OLD_METHODS = {
    "experimental_run_v2": _experimental_run_v2,
    "experimental_make_numpy_dataset": _experimental_make_numpy_dataset,
    # 2.4 took "experimental" off it, and a later release removed the longer name.
    "experimental_distribute_datasets_from_function": lambda self, *args, **kwargs: (
        self.distribute_datasets_from_function(*args, **kwargs)
    ),
}


def connect_to_host(remote_host: Any = None, job_name: str = "worker") -> None:
    """``tf.config.experimental_connect_to_host``: connects to servers on this machine only.

    Args:
      remote_host: An address or a list of addresses; that of a TPU means this process.
      job_name: Name of the job of the server.

    Raises:
      ValueError: There is no ``remote_host``.
    """
    hosts = [remote_host] if isinstance(remote_host, (str, bytes)) else list(remote_host or ())
    kept = []
    for host in hosts:
        text = host.decode() if isinstance(host, bytes) else str(host)
        address = text if text.startswith("grpc://") else "grpc://" + text
        if text and accelerator.normalise_target(address):
            kept.append(text)
    if kept or not hosts:
        tensorflow.config.experimental_connect_to_host(kept or remote_host, job_name)


def connect_to_cluster(cluster_spec_or_resolver: Any, *args: Any, **kwargs: Any) -> None:
    """``tf.config.experimental_connect_to_cluster``: nothing for a TPU, TensorFlow's for the rest.

    Args:
      cluster_spec_or_resolver: A ClusterSpec or a cluster resolver.
      *args: As TensorFlow's.
      **kwargs: As TensorFlow's.
    """
    if isinstance(cluster_spec_or_resolver, LocalClusterSpec):
        return
    is_resolver = isinstance(cluster_spec_or_resolver, TPUClusterResolver)
    if is_resolver and cluster_spec_or_resolver.is_here:
        return
    tensorflow.config.experimental_connect_to_cluster(cluster_spec_or_resolver, *args, **kwargs)
