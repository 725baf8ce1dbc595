"""``tf.contrib.cluster_resolver`` and the ``TPUClusterResolver`` of all releases.

A resolver used to find a TPU node by its name, asking Google's cloud for its address. There are no
such nodes any more: the TPU of a TPU VM belongs to the machine itself, so that every name and
address now means the devices of this machine, and nothing is asked of anybody.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow

from tpucompat import accelerator, private
from tpucompat.errors import BadTypeError

_train: Any = tensorflow.compat.v1.train


class SystemMetadata(NamedTuple):
    """The fields of ``tf.tpu.experimental.TPUSystemMetadata``, which exists from 2.3 on."""

    num_cores: int
    num_hosts: int
    num_of_cores_per_host: int
    topology: Any
    devices: Any


class LocalClusterSpec(_train.ClusterSpec):
    """The cluster whose one worker is this process itself; nothing ever connects to it."""


class TPUClusterResolver(private.cluster_resolver_class()):  # type: ignore[misc]
    """``tf.distribute.cluster_resolver.TPUClusterResolver``, for the TPU or the devices of this
    machine.

    Arguments and results follow
    tensorflow/python/distribute/cluster_resolver/tpu_cluster_resolver.py of 1.13, 1.15 and
    tpu/tpu_cluster_resolver.py of 2.21.

    Args:
      tpu: A TPU's name or address, a list of one, "local", "" or None. The address of a server on
        this machine is kept; everything else means this process.
      zone: Kept for the script's sake, as ``project``, ``credentials``, ``service`` and
        ``discovery_url`` are: nothing is asked of the cloud.
      project: See ``zone``.
      job_name: Name of the job in the cluster.
      coordinator_name: Name of the coordinator's job; None leaves it out of the cluster.
      coordinator_address: Address of the coordinator; no server is started where it is None.
      credentials: See ``zone``.
      service: See ``zone``.
      discovery_url: See ``zone``.

    Raises:
      ValueError: ``tpu`` is an empty list.
      NotImplementedError: ``tpu`` is a list of several.
      TypeError: ``tpu`` is no text.
      SetupError: There is no TPU, and TPUCOMPAT_REQUIRE_TPU asks for one.
    """

    def __init__(
        self,
        tpu: Any = None,
        zone: str | None = None,
        project: str | None = None,
        job_name: str = "worker",
        coordinator_name: str | None = None,
        coordinator_address: str | None = None,
        credentials: Any = "default",
        service: Any = None,
        discovery_url: str | None = None,
    ) -> None:
        if isinstance(tpu, (list, tuple)):
            if not tpu:
                raise ValueError("At least one TPU must be specified.")
            if len(tpu) != 1:
                raise NotImplementedError(
                    "Using multiple TPUs in a single session is not yet implemented"
                )
            tpu = tpu[0]
        if tpu is not None and not isinstance(tpu, (str, bytes)):
            raise BadTypeError("TPU415", f"tpu has to be a name or an address, not {tpu!r}.")
        accelerator.announce()
        name = tpu.decode() if isinstance(tpu, bytes) else tpu or ""
        self._tpu = name
        self._zone = zone
        self._project = project
        self._master = accelerator.normalise_target(name)
        self._coordinator_name = coordinator_name
        self._coordinator_address = coordinator_address
        self.task_type = job_name
        self.task_id = 0
        # TensorFlow 1.15 found an address where none was given, on Colab and on a TPU's own machine.
        self.rpc_layer = "grpc" if tpu is None or name not in ("", "local") else None

    @staticmethod
    def connect(
        tpu: Any = None, zone: str | None = None, project: str | None = None
    ) -> TPUClusterResolver:
        """Makes the resolver and initialises the TPU, where there is one (2.3 and later)."""
        from tpucompat.legacy import early_tf2

        resolver = TPUClusterResolver(tpu, zone, project)
        early_tf2.initialize_tpu_system(resolver)
        return resolver

    @property
    def task_index(self) -> Any:
        """The name that 1.13 has for ``task_id``."""
        return self.task_id

    @property
    def environment(self) -> str:
        """ "google" where the address is "" or "local", as up to 2.1; otherwise ""."""
        return "" if self.rpc_layer else "google"

    def master(self, task_type: Any = None, task_id: Any = None, rpc_layer: Any = None) -> str:
        """The target of a session: "", this process, or the address of a server on this machine."""
        del task_type, task_id, rpc_layer
        return self._master

    def get_master(self) -> str:
        """Same as :meth:`master`."""
        return self.master()

    def get_job_name(self) -> str | None:
        """The job's name; None in graph mode: the devices of this process belong to no job."""
        return self.task_type if tensorflow.executing_eagerly() or self._master else None

    def cluster_spec(self) -> Any:
        """A cluster with one worker, this machine; None in graph mode if the address is "" or "local"."""
        if self.rpc_layer is None and not tensorflow.executing_eagerly():
            return None
        jobs = {self.task_type: [self._master[len("grpc://") :] or "localhost"]}
        if self._coordinator_name and self._coordinator_address:
            jobs[self._coordinator_name] = [self._coordinator_address]
        return _train.ClusterSpec(jobs) if self._master else LocalClusterSpec(jobs)

    def num_accelerators(
        self, task_type: Any = None, task_id: Any = None, config_proto: Any = None
    ) -> dict[str, int]:
        """The number of cores that train, under the key "TPU"."""
        del task_type, task_id, config_proto
        return {"TPU": accelerator.cores()}

    def get_tpu_system_metadata(self) -> Any:
        """Cores, hosts and devices (2.2 and later): a ``tf.tpu.experimental.TPUSystemMetadata``."""
        experimental = getattr(tensorflow.tpu, "experimental", None)
        kind: Any = getattr(experimental, "TPUSystemMetadata", SystemMetadata)
        cores = accelerator.cores()
        devices = tensorflow.config.experimental.list_logical_devices()
        return kind(
            num_cores=cores,
            num_hosts=1,
            num_of_cores_per_host=cores,
            topology=None,
            devices=devices,
        )

    @property
    def tpu_hardware_feature(self) -> None:
        """The features of the TPU's hardware (2.2 and later): not known."""
        return None

    def __enter__(self) -> None:
        """Resolvers of 2.3 and later are context managers that give nothing."""

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        """Leaves errors to the caller."""

    def __deepcopy__(self, memo: Any) -> TPUClusterResolver:
        """Itself: RunConfig copies what it holds."""
        return self
