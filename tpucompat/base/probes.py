"""Cheap looks at the machine: installed metadata, device files, environment variables."""

from __future__ import annotations

import dataclasses
import glob
import os
import re
import sys
from importlib.util import find_spec
from typing import Mapping

from tpucompat.base.late import late

metadata = late("importlib.metadata")  # slow to import; Python 3.8 and later

#: Distributions that bring the package ``tensorflow``.
DISTRIBUTIONS = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-gpu",
    "tensorflow-tpu",
    "tensorflow-rocm",
    "tensorflow-directml",
    "intel-tensorflow",
    "tf-nightly",
    "tf-nightly-cpu",
    "tf-nightly-gpu",
    "tf-nightly-tpu",
)
#: On some platforms ``tensorflow`` of the same version only asks for one of these.
PLATFORM_PARTS = (
    "tensorflow-intel",
    "tensorflow-macos",
    "tensorflow-aarch64",
    "tensorflow-cpu-aws",
)
_OTHERS = (
    "keras",
    "keras-nightly",
    "tf-keras",
    "tf-keras-nightly",
    "tensorflow-estimator",
    "tf-estimator-nightly",
)
_MODULES = ("tensorflow", "keras", "tf_keras", "tensorflow_estimator", "libtpu")

# The chips of TPU v2 to v4 are /dev/accel0 and so on, those of v5e and later /dev/vfio/0 and so on.
# (/dev/accel/, a directory, is the kernel's place for accelerators of other makers.)
_DEVICE_FILES = ("/dev/accel[0-9]*", "/dev/vfio/[0-9]*", "/dev/nvidia[0-9]*")
_LIBTPU_FILES = ("/lib/libtpu.so", "/usr/lib/libtpu.so")


@dataclasses.dataclass(frozen=True)
class Probes:
    """Everything that is looked at.

    Attributes:
      versions: Installed distributions: normalised name to version.
      modules: The top-level modules, of those of interest, that can be imported.
      environ: Environment variables.
      python: Version of the interpreter: (major, minor, micro).
      devices: Device files of accelerators, such as ``/dev/accel0`` and ``/dev/nvidia0``.
      libtpu: Whether the TPU's driver library is there apart from a package ``libtpu``.
    """

    versions: Mapping[str, str]
    modules: frozenset[str]
    environ: Mapping[str, str]
    python: tuple[int, int, int]
    devices: tuple[str, ...] = ()
    libtpu: bool = False


def probe() -> Probes:
    """Looks at this machine; imports none of the packages it asks about."""
    versions = installed_versions()
    modules = frozenset(name for name in _MODULES if _importable(name))
    known = any(name in versions for name in DISTRIBUTIONS + PLATFORM_PARTS)
    if "tensorflow" in modules and not known:
        version = _version_without_metadata()
        if version:
            versions["tensorflow"] = version
    named = os.environ.get("TPU_LIBRARY_PATH", "")
    return Probes(
        versions=versions,
        modules=modules,
        environ=dict(os.environ),
        python=sys.version_info[:3],
        devices=tuple(path for pattern in _DEVICE_FILES for path in sorted(glob.glob(pattern))),
        libtpu=any(os.path.exists(path) for path in (named, *_LIBTPU_FILES)),
    )


def installed_versions() -> dict[str, str]:
    """The distributions of interest that are installed: normalised name to version."""
    wanted = DISTRIBUTIONS + PLATFORM_PARTS + _OTHERS
    if sys.version_info < (3, 8):
        return {name: version for name, version in scan_path().items() if name in wanted}
    found = {}
    for name in wanted:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        if version:  # None where the metadata directory is damaged
            found[name] = version
    return found


def scan_path() -> dict[str, str]:
    """All distributions by the names of their metadata directories on ``sys.path``.

    For Python 3.7, which has no importlib.metadata; pkg_resources would take a tenth of a second.
    """
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            match = re.match(r"(.+?)-([0-9][^-]*)(-py[0-9.]+)?\.(dist|egg)-info$", name)
            if match:
                found.setdefault(re.sub(r"[-_.]+", "-", match.group(1)).lower(), match.group(2))
    return found


def _importable(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # ValueError: it is in sys.modules without a spec
        return name in sys.modules


def _version_without_metadata() -> str:
    """The version of a TensorFlow that no package manager installed; "" if it cannot be told."""
    loaded = getattr(sys.modules.get("tensorflow"), "__version__", "")
    if loaded:
        return str(loaded)
    spec = find_spec("tensorflow")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        header = os.path.join(folder, "include", "tensorflow", "core", "public", "version.h")
        try:
            with open(header, encoding="utf-8") as stream:
                text = stream.read()
        except OSError:
            continue
        numbers = re.findall(r"#define TF_(?:MAJOR|MINOR|PATCH)_VERSION\s+(\d+)", text)
        if len(numbers) == 3:
            return ".".join(numbers)
    return ""
