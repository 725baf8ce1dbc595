"""What is installed and which accelerator is here, found out without importing TensorFlow.

:func:`environment` gives one frozen :class:`Environment`; :func:`sniff` is the pure function behind
it, from :class:`tpucompat.base.probes.Probes` that a test can make up. A difference between TensorFlow
releases is a row of :data:`CAPABILITIES`: code asks ``environment().has("strategy_run")`` and never
compares versions.
"""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any, Mapping, NamedTuple

from tpucompat.base import errors, journal, problems, targets
from tpucompat.base.probes import DISTRIBUTIONS, PLATFORM_PARTS, Probes, probe
from tpucompat.base.releases import LEGACY_KERAS_ON, NEWEST, Release, release_of

#: A host name that cannot exist (RFC 2606); see :func:`tpucompat.engines.accelerator.offer_address`.
NO_HOST = "tpucompat.invalid"

_ADDRESSES = ("COLAB_TPU_ADDR", "TPU_NAME", "XRT_TPU_CONFIG")


class Capability(NamedTuple):
    """Something that TensorFlow releases differ in.

    ``since`` is the first release that has it, ``until`` the first without it; None means no end.
    """

    name: str
    since: Release | None
    until: Release | None
    source: str


#: Where the source is a file, the releases on both sides of the change were read.
CAPABILITIES: tuple[Capability, ...] = (
    Capability("contrib", None, (2, 0), "RELEASE.md 2.0.0: tf.contrib is not in the release"),
    Capability("graph_mode", None, (2, 0), "RELEASE.md 2.0.0: eager execution is the default"),
    Capability(
        "keras_package",
        (2, 6),
        None,
        "RELEASE.md 2.6.0: Keras is the package keras; before, it is tensorflow/python/keras",
    ),
    Capability("keras_2", None, (2, 16), "RELEASE.md 2.16.1: tf.keras is Keras 3 by default"),
    Capability(
        "legacy_keras_switch",
        (2, 15),
        None,
        "2.15 tensorflow/python/util/lazy_loader.py: KerasLazyLoader reads TF_USE_LEGACY_KERAS",
    ),
    Capability("estimator", None, (2, 16), "RELEASE.md 2.16.1: the tf.estimator API is removed"),
    Capability(
        "strategy_run",
        (2, 2),
        None,
        "RELEASE.md 2.2.0: Strategy.experimental_run_v2 is renamed to run",
    ),
    Capability(
        "experimental_run_v2",
        (2, 0),
        (2, 4),
        "2.3 tensorflow/python/distribute/distribute_lib.py defines it, 2.4 does not",
    ),
    Capability(
        "tpu_strategy",
        (2, 3),
        None,
        "RELEASE.md 2.3.0: tf.distribute.TPUStrategy; before, in tf.distribute.experimental",
    ),
    Capability(
        "columns_of_vectors",
        None,
        (2, 7),
        "RELEASE.md 2.7.0: Model.fit(), predict() and evaluate() no longer uprank input data of shape "
        "(batch_size,) to become (batch_size, 1)",
    ),
    Capability(
        "operation_counts",
        (2, 6),
        None,
        "tpucompat/engines/operation_counts.py: Keras and tf.data of 2.5 make other operations",
    ),
    Capability(
        "eager_placement",
        (2, 2),
        None,
        "2.2 tensorflow/python/framework/device_spec.py reads /TPU:0, and what is eager there runs on the "
        "CPU; for 2.1 it is an unknown device",
    ),
    Capability(
        "several_cores",
        (1, 14),
        None,
        "1.14 has tf.compat.v2.distribute, and tensorflow/python/framework/func_graph.py FuncGraph shares the "
        "collections of the graph around it; 1.13 has neither",
    ),
    Capability(
        "scaffolds_captured",
        (1, 14),
        None,
        "1.14 tensorflow_estimator/python/estimator/tpu/tpu_estimator.py: _train_on_tpu_system returns the "
        "captured scaffold_fn; 1.13 tf.contrib.tpu the scaffold",
    ),
    Capability(
        "typed_slices",
        (2, 9),
        None,
        "2.9 tensorflow/python/ops/array_ops.py _slice_helper: what a slice leaves out is a constant of the "
        "type of its other bounds; 2.8 appends a number",
    ),
    Capability(
        "lookup_without_unique",
        (2, 15),
        None,
        "2.15 tensorflow/python/ops/embedding_ops.py embedding_lookup_sparse_impl: ids of one table without "
        "weights are not made distinct; 2.11 makes them so",
    ),
    Capability(
        "gathered_shapes_uncast",
        (2, 19),
        None,
        "2.19 tensorflow/python/ops/array_grad.py _GatherV2Grad: the shape is not cast; 2.18 casts it",
    ),
    Capability(
        "tpu_local",
        (2, 4),
        None,
        "2.4 tensorflow/python/distribute/cluster_resolver/tpu/tpu_cluster_resolver.py: "
        "tpu='local' is the TPU of this machine",
    ),
    Capability(
        "calls_of_arrays",
        (2, 3),
        None,
        "2.3 tf.graph_util.import_graph_def: 2.2 refuses a call that is given a TensorArray of another call "
        "(Shapes must be equal rank: it looks at shapes that it has freed)",
    ),
    Capability(
        "rehearsal",
        (2, 15),
        None,
        "2.15 tensorflow/python/distribute/tpu_strategy.py: tpucompat/tf/private/rehearsal.py rests on it",
    ),
    Capability(
        "multi_worker",
        (2, 4),
        None,
        "RELEASE.md 2.4.0: tf.distribute.MultiWorkerMirroredStrategy is stable",
    ),
    Capability(
        "logical_devices",
        (2, 1),
        None,
        "2.1 tf.config.set_logical_device_configuration; before, "
        "tf.config.experimental.set_virtual_device_configuration",
    ),
)
_CAPABILITY = {row.name: row for row in CAPABILITIES}


@dataclasses.dataclass(frozen=True)
class Environment:
    """The versions and the accelerators of this process.

    Attributes:
      python: Version of the interpreter: (major, minor, micro).
      distribution: The distribution that brings TensorFlow, such as ``tensorflow-cpu``; "" if none
        is known.
      tensorflow: TensorFlow's version; "" if there is none, "unknown" if it cannot be told.
      distributions: All distributions found that bring TensorFlow: (name, version).
      keras: What ``tf.keras`` will be for a script: "bundled 2" (part of TensorFlow), "2" (the
        package keras), "tf-keras" (Keras 2 as a package of its own), "3", or "" (none).
      keras_version: Version of the package keras; "" if absent.
      tf_keras_version: Version of the package tf-keras; "" if absent.
      estimator: "native" (``tf.estimator`` exists), "package" (only tensorflow-estimator does) or
        "absent".
      estimator_version: Version of tensorflow-estimator; "" if absent.
      tpu_devices: Device files of the TPU chips of this machine; empty away from a TPU VM.
      libtpu: Whether the TPU's driver library is there.
      tpu_address: "NAME=value" of an environment variable that names a TPU node of the old kind; ""
        if there is none.
      gpus: Number of NVIDIA GPUs that CUDA_VISIBLE_DEVICES leaves visible.
      cores_setting: TPUCOMPAT_CORES as the user wrote it; "" if unset.
      rehearse_setting: TPUCOMPAT_REHEARSE as the user wrote it; "" if unset.
      tpu_setting: TPUCOMPAT_TPU as the user wrote it: the TPU to connect to; "" if unset.
      require_tpu: Whether TPUCOMPAT_REQUIRE_TPU asks for a TPU.
      exact: Whether TPUCOMPAT_EXACT asks for TensorFlow 1.15's rounding.
      onednn_setting: TF_ENABLE_ONEDNN_OPTS as the user wrote it; "" if unset.
      without_tpu: Whether TPUCOMPAT_NO_TPU asks that a script which looks for a TPU finds none.
      legacy_keras_setting: TF_USE_LEGACY_KERAS as the user wrote it; "" if unset.
    """

    python: tuple[int, int, int]
    distribution: str
    tensorflow: str
    distributions: tuple[tuple[str, str], ...]
    keras: str
    keras_version: str
    tf_keras_version: str
    estimator: str
    estimator_version: str
    tpu_devices: tuple[str, ...]
    libtpu: bool
    tpu_address: str
    gpus: int
    cores_setting: str
    rehearse_setting: str
    tpu_setting: str
    require_tpu: bool
    exact: bool
    onednn_setting: str
    without_tpu: bool
    legacy_keras_setting: str

    @property
    def release(self) -> Release | None:
        """TensorFlow's (major, minor); None if there is none or its version is unknown."""
        return release_of(self.tensorflow)

    def has(self, capability: str) -> bool:
        """Whether TensorFlow has a capability; one of unknown version counts as the newest.

        Args:
          capability: The name of a row of :data:`CAPABILITIES`.

        Raises:
          KeyError: There is no such row.
        """
        row = _CAPABILITY[capability]
        release = self.release or NEWEST
        return (row.since is None or release >= row.since) and (
            row.until is None or release < row.until
        )

    @property
    def tpu(self) -> bool:
        """Whether a ``TPUStrategy`` trains: on the TPU of this machine, or on one that is rehearsed."""
        return self.has_tpu or self.rehearsed_cores > 0

    @property
    def has_tpu(self) -> bool:
        """Whether this machine is a TPU VM with the TPU's driver, or TPUCOMPAT_TPU names a TPU."""
        return bool(self.tpu_setting) or (bool(self.tpu_devices) and self.libtpu)

    @property
    def rehearsed_cores(self) -> int:
        """The number of cores that TPUCOMPAT_REHEARSE asks for; 0 if unset, or if it names no TPU."""
        return self._rehearsed()[0]

    @property
    def rehearsed_hosts(self) -> int:
        """The number of hosts that the rehearsed cores belong to; 0 as for :attr:`rehearsed_cores`."""
        return self._rehearsed()[1]

    def _rehearsed(self) -> tuple[int, int]:
        if not self.rehearse_setting:
            return 0, 0
        return targets.slice_of(self.rehearse_setting) or (0, 0)

    @property
    def emulated_cores(self) -> int:
        """The number of cores that TPUCOMPAT_CORES asks for; 0 if unset or no positive number."""
        return int(self.cores_setting) if re.match(r"0*[1-9][0-9]*$", self.cores_setting) else 0

    @property
    def is_tpu(self) -> bool:
        """Whether what a script gives to a TPU runs under a ``TPUStrategy``, even over one core."""
        return self.tpu and not self.emulated_cores

    @property
    def cpu_only(self) -> bool:
        """Whether TensorFlow was built without GPU support, as far as the name tells."""
        return "cpu" in self.distribution

    @property
    def engine(self) -> str:
        """Which engine trains: "session" (one replica) or "strategy" (a TPU, or several replicas)."""
        if self.rehearsed_cores:
            return "strategy"
        if self.emulated_cores:
            return "strategy" if self.emulated_cores > 1 else "session"
        several_gpus = self.gpus > 1 and not self.cpu_only
        return "strategy" if self.tpu or several_gpus else "session"

    @property
    def replicas(self) -> str:
        """What it trains on, for people: "8 emulated cores", "one CPU replica"..."""
        if self.rehearsed_cores:
            plural = "s" if self.rehearsed_cores > 1 else ""
            return f"rehearsed TPUStrategy, {self.rehearsed_cores} core{plural}, on the CPU"
        if self.emulated_cores > 1:
            return f"{self.emulated_cores} emulated cores"
        if self.tpu_setting:
            return f"the TPU {self.tpu_setting}"
        if not self.emulated_cores and self.tpu:
            chips = len(self.tpu_devices)
            return f"the cores of {chips} TPU chip{'s' if chips > 1 else ''}"
        if self.gpus and not self.cpu_only:
            return f"{self.gpus} GPUs" if self.engine == "strategy" else "one GPU replica"
        return "one CPU replica"

    @property
    def mode(self) -> str:
        """Whose rounding it has, for people; see :mod:`tpucompat.runtime.rounding`."""
        if self.exact:
            return "exact mode"
        setting = self.onednn_setting
        return "fast mode" + (f" with TF_ENABLE_ONEDNN_OPTS={setting}" if setting else "")

    @property
    def needs_legacy_keras(self) -> bool:
        """Whether TF_USE_LEGACY_KERAS must be 1 for ``tf.keras`` to be Keras 2."""
        return bool(self.tensorflow) and not self.has("keras_2")

    def problems(self) -> list[problems.Problem]:
        """What a script would stumble over, errors first."""
        return problems.find(self)

    def require(self) -> None:
        """Raises the first error among :meth:`problems`; gives each warning as a notice.

        Raises:
          SetupError: A script cannot run in this environment.
        """
        for problem in self.problems():
            step = f"run `{problem.repair}`" if problem.repair else ""
            if problem.severity == "error":
                raise errors.SetupError(problem.code, problem.text + ".", step and step + ".")
            if problem.severity == "warning":
                journal.notice(problem.code, problem.text + (step and "; " + step))

    def one_line(self) -> str:
        """TensorFlow, Keras, Python and the engine in one line."""
        keras = {
            "tf-keras": "tf-keras " + self.tf_keras_version,
            "3": "Keras " + self.keras_version,
        }
        parts = [
            f"TensorFlow {self.tensorflow or '(none)'}",
            keras.get(self.keras, "Keras 2" if self.keras else "no Keras"),
            f"Python {'.'.join(map(str, self.python))}",
            f"{self.engine} engine on {self.replicas}",
        ]
        return ", ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        found = dataclasses.asdict(self)
        found["python"] = ".".join(map(str, self.python))
        found["distributions"] = [list(each) for each in self.distributions]
        found["tpu_devices"] = list(self.tpu_devices)
        found.update(
            tpu=self.tpu,
            emulated_cores=self.emulated_cores,
            engine=self.engine,
            mode=self.mode,
            replicas=self.replicas,
            capabilities={row.name: self.has(row.name) for row in CAPABILITIES},
            problems=[problem._asdict() for problem in self.problems()],
        )
        return found


def sniff(probes: Probes) -> Environment:
    """The environment that the probes show; looks at nothing else.

    Args:
      probes: What was found on the machine, or what a test made up.
    """
    versions, environ = probes.versions, probes.environ
    present = [(name, versions[name]) for name in DISTRIBUTIONS if name in versions]
    parts = [(name, versions[name]) for name in PLATFORM_PARTS if name in versions]
    # Where a platform part exists, `tensorflow` of the same version only asks for it.
    found = present + [part for part in parts if ("tensorflow", part[1]) not in present]
    importable = "tensorflow" in probes.modules
    made = Environment(
        python=probes.python,
        distribution=found[0][0] if found and importable else "",
        tensorflow=(found[0][1] if found else "unknown") if importable else "",
        distributions=tuple(found),
        keras="",
        keras_version=_first(versions, "keras", "keras-nightly"),
        tf_keras_version=_first(versions, "tf-keras", "tf-keras-nightly")
        or ("unknown" if "tf_keras" in probes.modules else ""),
        estimator="absent",
        estimator_version=_first(versions, "tensorflow-estimator", "tf-estimator-nightly"),
        tpu_devices=_tpu_devices(probes),
        libtpu=_has_libtpu(probes),
        tpu_address=_address(environ),
        gpus=_visible_gpus(probes),
        cores_setting=environ.get("TPUCOMPAT_CORES", "").strip(),
        rehearse_setting=environ.get("TPUCOMPAT_REHEARSE", "").strip(),
        tpu_setting=environ.get("TPUCOMPAT_TPU", "").strip(),
        require_tpu=_is_on(environ.get("TPUCOMPAT_REQUIRE_TPU", "")),
        exact=_is_on(environ.get("TPUCOMPAT_EXACT", "")),
        onednn_setting=environ.get("TF_ENABLE_ONEDNN_OPTS", "").strip(),
        without_tpu=_is_on(environ.get("TPUCOMPAT_NO_TPU", "")),
        legacy_keras_setting=environ.get("TF_USE_LEGACY_KERAS", "").strip(),
    )
    estimator = "absent"
    if "tensorflow_estimator" in probes.modules:
        estimator = "native" if made.has("estimator") else "package"
    return dataclasses.replace(made, keras=_keras(made, probes), estimator=estimator)


_probes: Probes | None = None
_environment: Environment | None = None


def environment(refresh: bool = False) -> Environment:
    """The environment of this process; looked at once.

    Args:
      refresh: Look again, because packages or environment variables have changed.
    """
    global _environment, _probes
    if _environment is None or refresh:
        _probes = probe()
        _environment = sniff(_probes)
    return _environment


def current_environment() -> Environment:
    """Like :func:`environment`, with the environment variables as they are now.

    A script may set CUDA_VISIBLE_DEVICES in its first lines, and a notebook TPUCOMPAT_CORES.
    """
    made = environment()
    if _probes is None:
        return made
    return sniff(dataclasses.replace(_probes, environ=dict(os.environ)))


def _first(versions: Mapping[str, str], *names: str) -> str:
    return next((versions[name] for name in names if name in versions), "")


def _is_on(value: str) -> bool:
    return value.strip().lower() not in ("", "0", "false", "no", "off")


def _address(environ: Mapping[str, str]) -> str:
    for name in _ADDRESSES:
        value = environ.get(name, "")
        if value and NO_HOST not in value:
            return f"{name}={value}"
    return ""


def _has_libtpu(probes: Probes) -> bool:
    return probes.libtpu or "libtpu" in probes.modules


def _tpu_devices(probes: Probes) -> tuple[str, ...]:
    accel = tuple(path for path in probes.devices if re.match(r"/dev/accel\d+$", path))
    if accel or not _has_libtpu(probes):
        return accel
    # A VFIO group is any device given to user space; with libtpu beside it, it counts as a chip.
    return tuple(path for path in probes.devices if re.match(r"/dev/vfio/\d+$", path))


def _visible_gpus(probes: Probes) -> int:
    here = sum(bool(re.match(r"/dev/nvidia\d+$", path)) for path in probes.devices)
    masked = probes.environ.get("CUDA_VISIBLE_DEVICES")
    if masked is None:
        return here
    shown = 0
    for entry in masked.split(","):  # CUDA stops at the first entry that names no device
        if not entry.strip() or entry.strip().startswith("-"):
            break
        shown += 1
    return min(shown, here)


def _keras(made: Environment, probes: Probes) -> str:
    if not made.tensorflow:
        return ""
    switched_on = made.legacy_keras_setting in LEGACY_KERAS_ON
    if made.has("legacy_keras_switch") and switched_on:
        return "tf-keras" if made.tf_keras_version else ""
    if made.needs_legacy_keras:
        # tpucompat sets the variable where it is unset.
        if made.tf_keras_version and not made.legacy_keras_setting:
            return "tf-keras"
        return "3" if "keras" in probes.modules else ""
    if not made.has("keras_package"):
        return "bundled 2"
    if "keras" not in probes.modules:
        return ""
    return "3" if (release_of(made.keras_version) or (2, 0)) >= (3, 0) else "2"
