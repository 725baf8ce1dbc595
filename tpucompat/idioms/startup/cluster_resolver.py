"""``tf.contrib.cluster_resolver`` and the ``TPUClusterResolver`` of all releases.

A resolver used to find a TPU node by its name, asking Google's cloud for its address. There are no
such nodes any more: the TPU of a TPU VM belongs to the machine itself. An address is still told as the
script gave it, or as a service of the script's own answers; sessions, Estimators and strategies then use
the devices of this machine, and nothing is asked of the network.
"""

from __future__ import annotations

import collections
import os
import re
from typing import Any, Iterable, Mapping, NamedTuple

import tensorflow

from tpucompat.base.errors import BadTypeError
from tpucompat.base.late import late
from tpucompat.base.machine import current_environment
from tpucompat.engines import accelerator
from tpucompat.idioms.startup import tpu_system
from tpucompat.tf import private

urllib = late("six.moves.urllib")

_train: Any = tensorflow.compat.v1.train

# The environment variables of 1.15 (tensorflow/python/distribute/cluster_resolver/tpu_cluster_resolver.py).
_GKE_ENV_VARIABLE = "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"
_DEFAULT_ENV_VARIABLE = "TPU_NAME"
_DISCOVERY_SERVICE_URL_ENV_VARIABLE = "TPU_API_DISCOVERY_URL"
_ENDPOINTS_SEPARATOR = ","
_GCE_METADATA_ENDPOINT = "http://metadata.google.internal"

#: What 1.15's metadata server said, for this machine: a service of the script's own may want it.
_METADATA = {"instance/network-interfaces/0/ip": b"127.0.0.1"}


def is_running_in_gce() -> bool:
    """Whether the metadata server of Google's cloud answers; asked only where a script calls this."""
    request = urllib.request.Request(
        _GCE_METADATA_ENDPOINT + "/computeMetadata/v1", headers={"Metadata-Flavor": "Google"}
    )
    try:
        answer = urllib.request.urlopen(request, timeout=1)
    except OSError:  # of which URLError is one
        return False
    return bool(answer.info().get("Metadata-Flavor") == "Google")


class DeviceDetails(NamedTuple):
    """Cores by the number of their host, as text, and how many there are."""

    device_map: Mapping[str, list[str]]
    total_cores: int


class SystemMetadata(NamedTuple):
    """The fields of ``tf.tpu.experimental.TPUSystemMetadata``, which exists since 2.3."""

    num_cores: int
    num_hosts: int
    num_of_cores_per_host: int
    topology: Any
    devices: Any


class LocalClusterSpec(_train.ClusterSpec):
    """The cluster whose one worker is this process itself; nothing ever connects to it."""


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


class TPUClusterResolver(private.cluster_resolver_class()):  # type: ignore[misc]
    """``tf.distribute.cluster_resolver.TPUClusterResolver``, for the TPU or the devices of this
    machine.

    Arguments and results follow
    tensorflow/python/distribute/cluster_resolver/tpu_cluster_resolver.py of 1.13, 1.15 and
    tpu/tpu_cluster_resolver.py of 2.21.

    Args:
      tpu: A TPU's name or address, a list of one, "local", "" or None, which stands for the endpoints that
        Kubernetes names in the environment, else for TPU_NAME, else for this machine.
      zone: Where the node is; said to ``service`` alone, as ``project`` is.
      project: See ``zone``.
      job_name: Name of the job in the cluster.
      coordinator_name: Name of the coordinator's job; None leaves it out of the cluster.
      coordinator_address: Address of the coordinator; where it is None, a server is started only if ``service``
        is given.
      credentials: Kept for the script's sake, as ``discovery_url`` is: nothing is asked of the cloud.
      service: An object with the methods of the cloud's API, which is asked for the node's addresses
        instead; None leaves a name without any.
      discovery_url: See ``credentials``.

    Raises:
      ValueError: ``tpu`` is an empty list; or nothing names a TPU, and TPUCOMPAT_NO_TPU is set.
      NotImplementedError: ``tpu`` is a list of several.
      TypeError: ``tpu`` is not a string.
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
        if tpu is None:
            tpu = self._gke_endpoints() if self._in_gke() else self._env_var_fallback()
            if tpu is None and current_environment().without_tpu:
                raise ValueError("Please provide a TPU Name to connect to.")
        self._tpu = tpu.decode() if isinstance(tpu, bytes) else tpu or ""
        self._service = service
        self._credentials = credentials
        self._discovery_url = self._environment_discovery_url() or discovery_url
        self.task_type = job_name
        self.task_id = 0
        # TensorFlow 1.15 found an address where none was given, on Colab and on a TPU's own machine.
        self.rpc_layer = None if tpu is not None and self._is_google_environment() else "grpc"
        self._is_address = self.rpc_layer is None or self._tpu.startswith("grpc://")
        asks = service is not None and self._should_resolve()
        if asks:
            project = project or _text(self._request_compute_metadata("project/project-id"))
            zone = zone or _text(self._request_compute_metadata("instance/zone")).split("/")[-1]
        self._zone = zone
        self._project = project
        self._master = accelerator.normalise_target(self._tpu)
        self._coordinator_name = coordinator_name
        self._coordinator_address = coordinator_address
        if asks and coordinator_name and not coordinator_address:
            self._start_local_server()

    @staticmethod
    def connect(
        tpu: Any = None, zone: str | None = None, project: str | None = None
    ) -> TPUClusterResolver:
        """Makes the resolver and initialises the TPU, where there is one (2.3 and later)."""
        resolver = TPUClusterResolver(tpu, zone, project)
        tpu_system.initialize_tpu_system(resolver)
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
        """The address that the script gave or its service answers; "" where only a name is known.

        Sessions use the devices of this machine whatever it is, but for a server on this machine.

        Args:
          task_type: The job of the address, instead of the resolver's own; None with ``task_id``.
          task_id: The task.
          rpc_layer: The protocol before the address, instead of "grpc".

        Raises:
          RuntimeError: The service says that the node is not ready.
        """
        if self._should_resolve():
            cluster = self._resolved()
            if cluster is None:
                return ""
            if task_type is None or task_id is None:
                task_type, task_id = self.task_type, self.task_id
            master = cluster.task_address(task_type, task_id)
        else:
            master = self._endpoints()[0]
        protocol = rpc_layer or self.rpc_layer
        return f"{protocol}://{master}" if protocol and master else master

    def get_master(self) -> str:
        """Same as :meth:`master`."""
        return self.master()

    @property
    def is_here(self) -> bool:
        """Whether this process is meant, not a server on this machine."""
        return not self._master

    def get_job_name(self) -> str | None:
        """The job's name; None in graph mode: the devices of this process belong to no job."""
        return self.task_type if tensorflow.executing_eagerly() or self._master else None

    def cluster_spec(self) -> Any:
        """A cluster with the workers at the addresses that are known, else with one, this machine.

        None in graph mode if the address is one of Google's own, "" and "local" among them.

        Raises:
          RuntimeError: The service says that the node is not ready.
        """
        if self.rpc_layer is None and not tensorflow.executing_eagerly():
            return None
        resolved = self._resolved() if self._should_resolve() else None
        if resolved is not None:
            jobs = resolved.as_dict()
        else:
            jobs = {self.task_type: [each or "localhost" for each in self._endpoints()]}
            if not self._is_address:
                jobs = {self.task_type: ["localhost"]}
        if self._coordinator_name and self._coordinator_address:
            jobs[self._coordinator_name] = [self._coordinator_address]
        return LocalClusterSpec(jobs) if self.is_here else _train.ClusterSpec(jobs)

    # What asks or is asked, under the names of 1.15 ---------------------------------------------

    def _is_google_environment(self) -> bool:
        return self._tpu in ("", "local") or self._tpu.startswith(("localhost:", "/bns", "uptc://"))

    def _should_resolve(self) -> bool:
        return not self._is_address

    def _endpoints(self) -> list[str]:
        """The addresses in what the script gave, without their protocol; "" for this machine."""
        if self._tpu == "local":
            return [""]
        prefix = f"{self.rpc_layer}://"
        return [
            each[len(prefix) :] if each.startswith(prefix) else each
            for each in self._tpu.split(_ENDPOINTS_SEPARATOR)
        ]

    def _resolved(self) -> Any:
        """The ClusterSpec of the workers that the service names; None where nobody does."""
        response = self._fetch_cloud_tpu_metadata()
        if not response:
            return None
        if response.get("state", "READY") != "READY":
            raise RuntimeError(f'TPU "{self._tpu}" is not yet ready; state: "{response["state"]}"')
        endpoints = response.get("networkEndpoints") or [response]
        workers = [f"{each['ipAddress']}:{each['port']}" for each in endpoints]
        return _train.ClusterSpec({self.task_type: workers})

    def _fetch_cloud_tpu_metadata(self) -> Any:
        """What the service says of the node; None where there is no service, or it does not know it."""
        if self._service is None:
            return None
        name = f"projects/{self._project}/locations/{self._zone}/nodes/{self._tpu}"
        try:
            return self._service.projects().locations().nodes().get(name=name).execute()
        except Exception:  # whatever the script's service raises, as in 1.15
            return None

    def _request_compute_metadata(self, path: str) -> bytes:
        """What the cloud's metadata server would say of this machine; it is not asked."""
        return _METADATA.get(path, b"")

    def _start_local_server(self) -> None:
        """Starts a server for the coordinator, at a free port."""
        address = _text(self._request_compute_metadata("instance/network-interfaces/0/ip"))
        self._server = _train.Server({"local": ["0.0.0.0:0"]}, protocol="grpc", start=True)
        self._coordinator_port = _text(self._server.target).rpartition(":")[2]
        self._coordinator_address = f"{address}:{self._coordinator_port}"

    @staticmethod
    def _in_gke() -> bool:
        return _GKE_ENV_VARIABLE in os.environ

    @staticmethod
    def _gke_endpoints() -> str:
        return os.environ[_GKE_ENV_VARIABLE]

    @staticmethod
    def _env_var_fallback() -> str | None:
        return os.environ.get(_DEFAULT_ENV_VARIABLE)

    @staticmethod
    def _environment_discovery_url() -> str | None:
        return os.environ.get(_DISCOVERY_SERVICE_URL_ENV_VARIABLE)

    @staticmethod
    def _get_device_dict_and_cores(devices: Iterable[Any]) -> DeviceDetails:
        """The cores among devices of a session."""
        hosts = collections.defaultdict(list)
        for device in devices:
            match = re.match(r".*task:(\d+)/.*device:TPU:(\d+)$", device.name)
            if match:
                hosts[match.group(1)].append(match.group(2))
        return DeviceDetails(hosts, sum(map(len, hosts.values())))

    @staticmethod
    def _verify_and_return_same_core_count(device_dict: Mapping[Any, list[Any]]) -> int:
        """How many cores each host has.

        Raises:
          RuntimeError: Their numbers differ.
        """
        numbers = {len(cores) for cores in device_dict.values()}
        if len(numbers) != 1:
            raise RuntimeError(
                "TPU cores on each device is not the same. This should never happen. Devices: "
                f"{device_dict}"
            )
        return numbers.pop()

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
        cores, hosts = accelerator.cores(), accelerator.hosts()
        if current_environment().rehearsed_cores:
            return private.system_metadata(cores, hosts)
        devices = [
            device
            for device in tensorflow.config.experimental.list_logical_devices()
            if not device.device_type.startswith("XLA")  # up to 2.3 each has a second name
        ]
        return kind(
            num_cores=cores,
            num_hosts=hosts,
            num_of_cores_per_host=cores // hosts,
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
