"""What is wrong with an environment, and the command that repairs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tpucompat.base.releases import LEGACY_KERAS_ON, NEWEST, OLDEST, Release, release_of

if TYPE_CHECKING:
    from tpucompat.base.machine import Environment


class Problem(NamedTuple):
    """Something about the environment that a script would stumble over.

    ``severity`` is "error" (no script can run), "warning" (every script is concerned) or "note"
    (some are); ``repair`` is a command, or "".
    """

    code: str
    severity: str
    text: str
    repair: str


class PythonRange(NamedTuple):
    """The CPython versions that a range of TensorFlow releases was published for."""

    first: Release
    last: Release
    oldest: Release
    newest: Release


#: From the wheels of ``tensorflow`` on the Python Package Index.
PYTHONS = (
    PythonRange((1, 13), (2, 1), (3, 5), (3, 7)),
    PythonRange((2, 2), (2, 3), (3, 5), (3, 8)),
    PythonRange((2, 4), (2, 4), (3, 6), (3, 8)),
    PythonRange((2, 5), (2, 6), (3, 6), (3, 9)),
    PythonRange((2, 7), (2, 7), (3, 7), (3, 9)),
    PythonRange((2, 8), (2, 11), (3, 7), (3, 10)),
    PythonRange((2, 12), (2, 13), (3, 8), (3, 11)),
    PythonRange((2, 14), (2, 15), (3, 9), (3, 11)),
    PythonRange((2, 16), (2, 19), (3, 9), (3, 12)),
    PythonRange((2, 20), (2, 20), (3, 9), (3, 13)),
    PythonRange((2, 21), (2, 21), (3, 10), (3, 13)),
)

#: The newest release that tensorflow-tpu was published for, and where its libtpu comes from.
_LAST_ON_TPU: Release = (2, 20)
_LIBTPU_INDEX = "https://storage.googleapis.com/libtpu-tf-releases/index.html"

_SEVERITIES = ("error", "warning", "note")

_ESTIMATOR = "tensorflow-estimator==2.15.0"


def find(here: Environment) -> list[Problem]:
    """What a script would stumble over in this environment, the worst first."""
    found = [problem for check in _CHECKS for problem in check(here)]
    return sorted(found, key=lambda problem: _SEVERITIES.index(problem.severity))


def newest_for(python: tuple[int, ...]) -> Release | None:
    """The newest TensorFlow published for a version of Python; None if there is none."""
    fits = [row.last for row in PYTHONS if row.oldest <= python[:2] <= row.newest]
    return max(fits) if fits else None


def complete_set(here: Environment) -> str:
    """The command that installs TensorFlow with what old scripts need, for this machine."""
    release = newest_for(here.python)
    if release is None:
        python = _dotted(max(row.newest for row in PYTHONS))
        return f"python{python} -m venv tf && tf/bin/{_set_of(NEWEST)}"
    if here.tpu_devices and release >= (2, 16):
        minor = _dotted(min(release, _LAST_ON_TPU))
        # tf-keras asks for `tensorflow`, which pip would install over tensorflow-tpu.
        return (
            f'pip install "tensorflow-tpu=={minor}.*" -f {_LIBTPU_INDEX} && '
            f'pip install --no-deps "tf-keras=={minor}.*" {_ESTIMATOR}'
        )
    return _set_of(release)


def _set_of(release: Release) -> str:
    minor = _dotted(release)
    if release < (2, 16):  # Keras 2 and the estimator come with it
        return f'pip install "tensorflow=={minor}.*"'
    return f'pip install "tensorflow=={minor}.*" "tf-keras=={minor}.*" {_ESTIMATOR}'


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _error(code: str, text: str, repair: str) -> Problem:
    return Problem(code, "error", text, repair)


def _warning(code: str, text: str, repair: str = "") -> Problem:
    return Problem(code, "warning", text, repair)


def _tensorflow(here: Environment) -> list[Problem]:
    if not here.tensorflow:
        text = f"TensorFlow is not installed in this Python ({_dotted(here.python)})"
        if here.distributions:
            name, version = here.distributions[0]
            text = f"{name} {version} is installed, but the module tensorflow is missing"
        if newest_for(here.python) is None:
            text += f"; no TensorFlow release supports Python {_dotted(here.python[:2])}"
        return [_error("TPU400", text, complete_set(here))]
    release = here.release
    if release is None:
        text = f"the TensorFlow version is unknown; assuming {_dotted(NEWEST)}"
        return [_warning("TPU402", text)]
    if release < OLDEST:
        text = f"TensorFlow {here.tensorflow} is older than {_dotted(OLDEST)}"
        return [_error("TPU401", text, complete_set(here))]
    if release > NEWEST:
        text = (
            f"TensorFlow {here.tensorflow} is newer than {_dotted(NEWEST)}, the latest "
            "tested release, and is treated like it"
        )
        return [_warning("TPU402", text)]
    return []


def _distributions(here: Environment) -> list[Problem]:
    if len(here.distributions) < 2:
        return []
    listed = " and ".join(f"{name} {version}" for name, version in here.distributions)
    names = " ".join(name for name, _ in here.distributions)
    keep, version = here.distributions[0]
    repair = f"pip uninstall -y {names} && pip install --no-deps {keep}=={version}"
    if len({version for _, version in here.distributions}) == 1:
        text = f"{listed} are installed over each other; the versions match, so they may work"
        return [_warning("TPU407", text, repair)]
    text = f"{listed} are installed over each other: their files are mixed"
    return [_error("TPU407", text, repair)]


def _python(here: Environment) -> list[Problem]:
    for row in PYTHONS:
        fits = row.oldest <= here.python[:2] <= row.newest
        if here.release and row.first <= here.release <= row.last and not fits:
            text = (
                f"TensorFlow {here.tensorflow} supports Python {_dotted(row.oldest)} to "
                f"{_dotted(row.newest)}; this is Python {_dotted(here.python[:2])}"
            )
            # A warning, because one built from source may work.
            return [_warning("TPU408", text, complete_set(here))]
    return []


def _keras(here: Environment) -> list[Problem]:
    if not here.tensorflow:
        return []
    found = []
    minor = _dotted(here.release or NEWEST)
    tensorflow = f"TensorFlow {here.tensorflow}"
    setting = f"TF_USE_LEGACY_KERAS={here.legacy_keras_setting} is set"
    unset = "unset TF_USE_LEGACY_KERAS"
    switched_on = here.legacy_keras_setting in LEGACY_KERAS_ON
    if here.needs_legacy_keras and here.legacy_keras_setting and not switched_on:
        text = f"{setting}, but the Keras 3 of {tensorflow} cannot train a TensorFlow 1 graph"
        found.append(_error("TPU406", text, unset))
    if here.needs_legacy_keras or (here.has("legacy_keras_switch") and switched_on):
        # tf-keras asks for `tensorflow`, which pip would install over another distribution of it.
        no_deps = "" if here.distribution == "tensorflow" else "--no-deps "
        install = f'pip install {no_deps}"tf-keras=={minor}.*"'
        if _other_minor(here.tf_keras_version, here.release):
            text = f"tf-keras {here.tf_keras_version} does not match {tensorflow}"
            found.append(_error("TPU404", text, install))
        elif not here.tf_keras_version and here.needs_legacy_keras:
            text = f"tf-keras is not installed, and tf.keras of {tensorflow} is Keras 3"
            found.append(_error("TPU403", text, install))
        elif not here.tf_keras_version:
            text = f"{setting}, but tf-keras is not installed, so {tensorflow} has no tf.keras"
            found.append(_error("TPU406", text, unset))
    elif here.has("keras_package"):
        install = f'pip install "keras=={minor}.*"'
        if not here.keras:
            text = f"the keras package, which provides tf.keras for {tensorflow}, is not installed"
            found.append(_error("TPU409", text, install))
        elif _other_minor(here.keras_version, here.release):
            text = f"keras {here.keras_version} does not match {tensorflow}"
            found.append(_error("TPU409", text, install))
    return found


def _other_minor(version: str, release: Release | None) -> bool:
    """Whether a version is of another minor; nothing is said against an unknown or absent one."""
    known = release_of(version)
    return known is not None and release is not None and known != release


def _estimator(here: Environment) -> list[Problem]:
    if not here.tensorflow or here.estimator != "absent":
        return []
    repair = f"pip install {_ESTIMATOR}"
    if here.release and here.has("estimator"):
        repair = f'pip install "tensorflow-estimator=={_dotted(here.release)}.*"'
    text = (
        "tensorflow-estimator is not installed: scripts that use tf.estimator or TPUEstimator fail"
    )
    return [Problem("TPU405", "note", text, repair)]


def _accelerator(here: Environment) -> list[Problem]:
    found = []
    if here.cores_setting and not here.emulated_cores:
        text = f"TPUCOMPAT_CORES={here.cores_setting} is not a positive integer"
        found.append(_error("TPU412", text, "export TPUCOMPAT_CORES=8"))
    if here.require_tpu and not here.tpu:
        text = "TPUCOMPAT_REQUIRE_TPU is set, but this machine has no TPU"
        found.append(_error("TPU411", text, "unset TPUCOMPAT_REQUIRE_TPU"))
    if here.tpu_devices and here.tensorflow and not (here.libtpu and "tpu" in here.distribution):
        name = here.distribution or "tensorflow"
        reason = f"{name} may be built without TPU support"
        if not here.libtpu:
            reason = "its driver libtpu is missing"
        text = f"this machine has a TPU ({here.tpu_devices[0]}), but {reason}"
        minor = _dotted(min(here.release or NEWEST, _LAST_ON_TPU))
        repair = (
            f'pip uninstall -y {name} && pip install "tensorflow-tpu=={minor}.*" -f {_LIBTPU_INDEX}'
        )
        found.append(_warning("TPU414", text, repair))
    if here.tpu_address and not here.tpu:
        text = f"{here.tpu_address} is a remote TPU, which tpucompat does not connect to"
        text = f"{text}, training is on {here.replicas}"
        found.append(Problem("TPU417", "note", text, ""))
    return found


_CHECKS = (_tensorflow, _distributions, _python, _keras, _estimator, _accelerator)
