"""Which devices this process trains on, and the ``tf.distribute`` strategy over them.

A TPU is used where the process runs on its host (a TPU VM). Everywhere else nothing connects and
no metadata server is asked: the addresses of TPU nodes that old scripts carry become the local
device. Only ``TPUCOMPAT_TPU=NAME`` connects to a TPU elsewhere, such as a slice of a pod.
``TPUCOMPAT_CORES=N`` emulates N cores by logical CPU devices; ``TPUCOMPAT_REQUIRE_TPU=1`` makes a missing
TPU an error.
"""

from __future__ import annotations

import os
import re
import threading
from typing import Any

from tpucompat.base import journal
from tpucompat.base.cluster import Cluster
from tpucompat.base.errors import SetupError
from tpucompat.base.late import late
from tpucompat.base.machine import NO_HOST, Environment, current_environment
from tpucompat.tf import private

tf = late("tensorflow")

# Imports inside functions: what asks for a device is imported before TensorFlow.

#: What the unset variables of a TPU node are set to; see :func:`offer_address`.
OFFERED = {
    "COLAB_TPU_ADDR": NO_HOST + ":8470",
    "TPU_NAME": "grpc://" + NO_HOST + ":8470",
    "COLAB_GPU": "0",  # what Colab sets where it gives no GPU
}

_lock = threading.RLock()
_strategy: Any = None
_topology: Any = None
_parts: dict[int, Any] = {}
_prepared = 0


def cores() -> int:
    """The number of replicas that this process trains on; 1 means the session engine.

    On a TPU and on several GPUs, TensorFlow's runtime is asked, and so started.

    Raises:
      SetupError: TPUCOMPAT_CORES is not a positive integer (TPU412), or TPUCOMPAT_REQUIRE_TPU is
        set and there is no TPU (TPU411).
    """
    here = _here()
    if _prepared:
        return _prepared
    if here.rehearsed_cores:
        return here.rehearsed_cores
    if here.emulated_cores:
        return here.emulated_cores
    if here.tpu:
        return int(strategy().num_replicas_in_sync)
    return max(1, len(_gpus(here)))


def hosts() -> int:
    """The number of machines that the cores of :func:`cores` belong to: those of a TPU, or this one.

    Raises:
      SetupError: As in :func:`cores`.
    """
    return int(strategy().extended.num_hosts) if is_tpu() else 1


def is_tpu() -> bool:
    """Whether what a script gives to a TPU runs under a ``TPUStrategy``, be it over one core.

    Raises:
      SetupError: As in :func:`cores`.
    """
    return _here().is_tpu


def emulated_cores() -> int:
    """The number of cores that TPUCOMPAT_CORES emulates; 0 where it is unset.

    Raises:
      SetupError: As in :func:`cores`.
    """
    return _here().emulated_cores


def prepare() -> None:
    """Makes one logical CPU device per emulated core; does nothing when no cores are emulated.

    It has to come before TensorFlow's runtime starts, which the first eager operation or the first
    question for logical devices does.

    Raises:
      SetupError: TensorFlow's runtime has started with fewer devices (TPU413), or as in
        :func:`cores`.
    """
    global _prepared
    here = _here()
    if here.rehearsed_cores or here.emulated_cores < 2:
        return
    private.leave_replica_inputs_untuned()  # again, if uninstall() has undone it
    if _prepared:
        return
    with _lock:
        if here.has("logical_devices"):
            config = tf.config
            get, make = (
                config.get_logical_device_configuration,
                config.set_logical_device_configuration,
            )
            kind = config.LogicalDeviceConfiguration
        elif hasattr(tf, "config"):
            config = tf.config.experimental
            get, make = (
                config.get_virtual_device_configuration,
                config.set_virtual_device_configuration,
            )
            kind = config.VirtualDeviceConfiguration
        else:  # 1.13 knows them only in the ConfigProto of a session
            return
        cpu = config.list_physical_devices("CPU")[0]
        if len(get(cpu) or ()) < here.emulated_cores:  # a script may have made them itself
            try:
                make(cpu, [kind() for _ in range(here.emulated_cores)])
            except RuntimeError as error:
                raise SetupError(
                    "TPU413",
                    f"TensorFlow started with fewer than {here.emulated_cores} devices.",
                ) from error
        _prepared = here.emulated_cores


def strategy() -> Any:
    """The strategy over all replicas of this process, made once; it is a TensorFlow 2 strategy.

    Returns:
      ``TPUStrategy`` on a TPU VM, ``MirroredStrategy`` over logical CPU devices (emulated cores) or
      over several GPUs, otherwise TensorFlow's default strategy with its one replica.

    Raises:
      SetupError: As in :func:`cores` and :func:`prepare`, or TensorFlow cannot use the TPU
        (TPU414).
    """
    global _strategy
    with _lock:
        if _strategy is None:
            # Strategies of TensorFlow 2 are made eagerly, whatever the script's own mode is.
            with private.eager_mode():
                _strategy = _make_strategy(_here())
        return _strategy


def strategy_of(replicas: int) -> Any:
    """The strategy over some of the replicas of this process.

    Args:
      replicas: How many, at most all.

    Raises:
      SetupError: As in :func:`strategy`.
    """
    everything = strategy()
    if replicas == everything.num_replicas_in_sync:
        return everything
    with _lock, private.eager_mode():
        if replicas not in _parts:
            _parts[replicas] = _make_part(_here(), everything, replicas)
        return _parts[replicas]


def stand_in(strategy: Any) -> None:
    """Lets a strategy stand for that of this process, before anybody has asked for it."""
    global _strategy
    with _lock:
        _strategy = strategy


def strategy_over(given: Cluster, patience: int) -> Any:
    """The strategy over the replicas of several machines; waits until all of them have started.

    It has to be made before TensorFlow's runtime starts, and once per process.

    Args:
      given: The machines, this one being one of them.
      patience: How many seconds a machine waits for the others, here and in a step.

    Returns:
      ``MultiWorkerMirroredStrategy`` over one CPU, or all GPUs, of each machine.

    Raises:
      SetupError: As in :func:`cores`; or the devices, or TensorFlow, cannot do it (TPU419).
    """
    here = _here()
    for hinders, what in (
        (here.emulated_cores > 1, f"TPUCOMPAT_CORES={here.emulated_cores} is set"),
        (
            here.tpu and not here.emulated_cores,
            "this machine has a TPU, whose hosts TF_CONFIG does not list",
        ),
        (not here.has("multi_worker"), f"TensorFlow {here.tensorflow} is older than 2.4"),
    ):
        if hinders:
            raise SetupError("TPU419", f"TF_CONFIG lists {given.machines} machines, and {what}.")
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(dict(given.jobs)),
        task_type=given.task,
        task_id=given.task_id,
        num_accelerators={"GPU": here.gpus and len(tf.config.list_physical_devices("GPU"))},
        rpc_layer="grpc",
    )
    with private.eager_mode():
        private.limit_start_of_peers(resolver, patience)
        return tf.distribute.MultiWorkerMirroredStrategy(
            resolver, tf.distribute.experimental.CommunicationOptions(timeout_seconds=patience)
        )


def describe() -> str:
    """What this process trains on, for people: "8 emulated cores", "one CPU replica"..."""
    return _here().replicas


def announce() -> None:
    """Says once that there is no TPU and what trains instead.

    Raises:
      SetupError: TPUCOMPAT_REQUIRE_TPU is set, and there is no TPU (TPU411).
    """
    here = _here()
    if here.rehearsed_cores:
        journal.notice("TPU457", f"training on a {here.replicas}")
    if not here.tpu:
        hint = "" if here.emulated_cores else "; TPUCOMPAT_CORES=8 emulates the cores of a TPU v2-8"
        journal.notice("TPU410", f"no TPU found, training on {here.replicas}{hint}")


def offer_address(source: str = "") -> None:
    """Sets the variables of a TPU node, where unset, to the address of a host that cannot exist.

    COLAB_TPU_ADDR always: old scripts read it unconditionally (``'grpc://' +
    os.environ['COLAB_TPU_ADDR']``) and would stop with a KeyError, or they take it for the sign that a
    TPU is there and otherwise stop. TPU_NAME only for a script that reads it as unconditionally,
    because TensorFlow's own resolver reads it too, and a library that asks that would wait for a TPU.
    The resolvers and sessions of the old namespace recognise the address and use the local devices. With
    TPUCOMPAT_NO_TPU nothing is set: the variable is what many scripts look for a TPU by.

    Args:
      source: The text of the script.
    """
    if current_environment().without_tpu:
        return
    os.environ.setdefault("COLAB_TPU_ADDR", OFFERED["COLAB_TPU_ADDR"])
    for name, value in OFFERED.items():
        if re.search(rf"""environ\s*\[\s*['"]{name}['"]\s*\]""", source):
            os.environ.setdefault(name, value)


def normalise_target(target: Any) -> Any:
    """The target that a session has to connect to, given the one that the script names.

    Args:
      target: A session's target or a TPU's name or address; None and bytes are allowed.

    Returns:
      "" (the devices of this process) for everything but a gRPC server on this machine, which may
      be one that the script has started (``tf.train.Server``). What is not text is returned as it
      is, for TensorFlow to refuse.

    Raises:
      SetupError: The target is that of a TPU, there is none, and TPUCOMPAT_REQUIRE_TPU asks for
        one.
    """
    if target is None:
        return ""
    if not isinstance(target, (str, bytes)):
        return target
    text = target.decode() if isinstance(target, bytes) else target
    if text in ("", "local"):
        return ""
    match = re.match(r"grpc://(\[[^\]]*\]|[^:/]*)", text)
    host = match.group(1).strip("[]") if match else ""
    if host == "localhost" or host == "::1" or host.startswith("127."):
        return target
    if NO_HOST not in text and not current_environment().tpu:
        journal.notice("TPU417", f"not connecting to {text}; using the devices of this machine")
    announce()
    return ""


def _here() -> Environment:
    """The environment with the settings as they are now; raises where they cannot be met."""
    here = current_environment()
    if here.rehearse_setting:
        _check_rehearsal(here)
    if here.tpu_setting:
        _check_connection(here)
    if here.cores_setting and not here.emulated_cores:
        raise SetupError(
            "TPU412", f"TPUCOMPAT_CORES={here.cores_setting} is not a number of cores."
        )
    if here.require_tpu and (here.emulated_cores or not here.tpu):
        what = (
            "TPUCOMPAT_CORES emulates cores" if here.emulated_cores else "this machine has no TPU"
        )
        raise SetupError("TPU411", f"TPUCOMPAT_REQUIRE_TPU is set, but {what}.")
    return here


def _check_rehearsal(here: Environment) -> None:
    asked = f"TPUCOMPAT_REHEARSE={here.rehearse_setting}"
    if not here.rehearsed_cores:
        raise SetupError("TPU455", f"{asked} is neither a number of cores nor a TPU name.")
    if here.cores_setting:
        raise SetupError(
            "TPU455", f"{asked} and TPUCOMPAT_CORES={here.cores_setting} are both set."
        )
    if not here.has("rehearsal"):
        raise SetupError(
            "TPU456",
            (f"TensorFlow {here.tensorflow} does not support rehearsals; 2.15 to 2.21 do."),
        )


def _check_connection(here: Environment) -> None:
    for name, setting in (
        ("TPUCOMPAT_CORES", here.cores_setting),
        ("TPUCOMPAT_REHEARSE", here.rehearse_setting),
        ("TPUCOMPAT_NO_TPU", "1" if here.without_tpu else ""),
    ):
        if setting:
            raise SetupError(
                "TPU458", (f"TPUCOMPAT_TPU={here.tpu_setting} and {name}={setting} are both set.")
            )


def _gpus(here: Environment) -> list[Any]:
    """The GPUs that TensorFlow sees; it is not imported where there is at most one."""
    if here.gpus < 2 or here.cpu_only:
        return []
    config = tf.config if here.has("logical_devices") else tf.config.experimental
    return list(config.get_visible_devices("GPU"))


def require_several_cores(here: Environment) -> None:
    """Raises SetupError (TPU357) on TensorFlow 1.13, which has no graphs and strategies for them."""
    if not here.has("several_cores"):
        raise SetupError(
            "TPU357",
            f"TensorFlow {here.tensorflow} can run no computations of a TPU and no second core.",
        )


def _make_strategy(here: Environment) -> Any:
    prepare()
    require_several_cores(here)
    # tf.distribute of TensorFlow 1.x has version 1 of the strategies.
    distribute = tf.compat.v2.distribute if here.has("contrib") else tf.distribute
    if here.rehearsed_cores:
        return _rehearsal().strategy_over(here.rehearsed_cores, here.rehearsed_hosts)
    if here.emulated_cores > 1:
        devices = [f"/cpu:{core}" for core in range(here.emulated_cores)]
        # Sums are made on one device: collectives, the default, take six times as long between the
        # logical devices of one CPU, and serve one set of devices per process only.
        return distribute.MirroredStrategy(devices, distribute.ReductionToOneDevice())
    if here.tpu and not here.emulated_cores:
        return _make_tpu_strategy(tf, here)
    gpus = [] if here.emulated_cores else _gpus(here)
    if len(gpus) > 1:
        return distribute.MirroredStrategy([f"/gpu:{index}" for index in range(len(gpus))])
    return distribute.get_strategy()


def _make_tpu_strategy(tf: Any, here: Environment) -> Any:
    """The strategy over the TPU of this machine, or over the one that TPUCOMPAT_TPU names.

    As TensorFlow's guide "Use TPUs" does it on a TPU VM. It can be done once per process:
    initialising a second time makes the variables on the TPU unusable.
    """
    if not here.has("tpu_local"):
        raise SetupError(
            "TPU414",
            f"TensorFlow {here.tensorflow} cannot use a local TPU; 2.4 and later can.",
        )
    resolver = _connected(tf, here.tpu_setting)
    global _topology
    _topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


def _connected(tf: Any, name: str) -> Any:
    """TensorFlow's resolver of the TPU with that name, connected to it; of this machine's if there is none."""
    resolver_of = tf.distribute.cluster_resolver.TPUClusterResolver
    if not name:
        return resolver_of(tpu="local")
    try:
        resolver = resolver_of(tpu=name)
        # Sessions and pipelines are this machine's: it stays the one where the eager code runs.
        tf.config.experimental_connect_to_cluster(resolver, make_master_device_default=False)
    except (ValueError, RuntimeError, OSError, tf.errors.OpError) as error:
        raise SetupError("TPU459", f"TPUCOMPAT_TPU={name}: {error}") from error
    return resolver


def _rehearsal() -> Any:
    from tpucompat.engines import rehearsal  # for rehearsed cores alone; imports TensorFlow

    return rehearsal


def _make_part(here: Environment, everything: Any, replicas: int) -> Any:
    if here.rehearsed_cores:
        return _rehearsal().strategy_over(replicas)
    if here.tpu and not here.emulated_cores:
        return tf.distribute.TPUStrategy(
            everything.cluster_resolver,
            experimental_device_assignment=tf.tpu.experimental.DeviceAssignment.build(
                _topology, num_replicas=replicas
            ),
        )
    return tf.distribute.MirroredStrategy(everything.extended.worker_devices[:replicas])
