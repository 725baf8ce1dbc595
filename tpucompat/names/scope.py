"""Which modules are the script's own: they see the old namespace, and nobody else does."""

from __future__ import annotations

import functools
import os
import site
import sysconfig
from typing import Any, Iterable, Mapping

from tpucompat.base import journal
from tpucompat.names import old_packages
from tpucompat.names import surroundings as table

# What a script of an era imports -> where the old namespace has it.
VIEWS: Mapping[str, Mapping[str, str]] = {
    "tf1": {
        "tensorflow": "tpucompat.v1",
        "tensorflow_core": "tpucompat.v1",  # TensorFlow 1.15's own name for its package
        "keras": "tpucompat.v1.keras",
        "keras_preprocessing": "tpucompat.v1.keras.preprocessing",  # came with TensorFlow 1.13 to 2.10
        "tensorflow_estimator": "tpucompat.v1._tensorflow_estimator",
    },
    "tf2": {
        "tensorflow": "tpucompat.v2",
        "keras": "tpucompat.v2.keras",
        "keras_preprocessing": "tpucompat.v2.keras.preprocessing",
    },
}

# Libraries that the script sees through here, and that must not see themselves so.
_SHOWN = [*table.ROOTS, *(name for view in VIEWS.values() for name in view)]

# Libraries whose releases go with the installed TensorFlow: they ask for its version and its own API.
_OF_TODAY = (
    "tensorboard tensorflow_addons tensorflow_datasets tensorflow_estimator tensorflow_hub "
    "tensorflow_probability tensorflow_text tf_keras tf_slim"
)

_LIBRARIES = frozenset([*_SHOWN, *_OF_TODAY.split()])

# TensorFlow itself, what it is made of, and us.
_NEVER_OLD = frozenset([*_SHOWN, "tensorboard", "tf_keras", "tf_slim", "tpucompat", "__main__"])

# Folders that packages are installed into, in whichever environment.
_INSTALLED = frozenset(("site-packages", "dist-packages"))

# In whose functions the operators of the script's modules run.
OPERATORS = "tpucompat.standins.operators"


class Scope:
    """Which modules are the script's own.

    A module is its own if its file lies outside the standard library and outside every directory that
    packages are installed into, and it is none of a library that is shown with its old names or that goes
    with the installed TensorFlow; or if it belongs to a package named as an old one.

    Args:
      legacy_packages: Names of installed packages that were written for TensorFlow 1.x too.
    """

    def __init__(self, legacy_packages: Iterable[str] = ()) -> None:
        self._packages = frozenset(legacy_packages)
        self._installed = _installation_directories()
        self._own: dict[tuple[Any, Any], bool] = {}
        #: Names of the modules that have imported the package ``keras`` itself.
        self.importers_of_keras: set[Any] = set()

    @property
    def packages(self) -> frozenset[str]:
        """The installed packages that count as the script's own."""
        return self._packages

    def owns(self, importer: Mapping[str, Any]) -> bool:
        """Whether the module with these globals is the script's own."""
        name, file = importer.get("__name__"), importer.get("__file__")
        try:
            return self._own[name, file]
        except KeyError:
            verdict = self._own[name, file] = self._decide(name, file)
            return verdict
        except TypeError:  # a __file__ of an odd, unhashable kind: nobody's module
            return False

    def packaged(self, importer: Mapping[str, Any]) -> bool:
        """Whether the module with these globals belongs to an installed package that is an old one."""
        return str(importer.get("__name__")).partition(".")[0] in self._packages

    def adopts(self, importer: Mapping[str, Any], era: str = "tf1") -> bool:
        """Whether a module that imports TensorFlow is of an installed package that is an old one.

        In a script of TensorFlow 2 it is one that Keras or TensorFlow have left behind since: there is no
        ``tf.contrib`` to show to the others. The package counts as the script's own from then on.
        """
        name, file = importer.get("__name__"), importer.get("__file__")
        if not isinstance(name, str) or not isinstance(file, str):
            return False
        package, _, inner = name.partition(".")
        if package in _NEVER_OLD:
            return False
        location = file
        for _ in range(inner.count(".") + bool(inner) + _is_folder(file)):
            location = os.path.dirname(location)
        if not old_packages.is_old(package, location, file, era):
            return False
        self._packages |= {package}
        self._own = {key: own for key, own in self._own.items() if not is_part(key[0], package)}
        journal.notice(
            "TPU427", f"{package} is written for an earlier TensorFlow, and sees its names"
        )
        return True

    def _decide(self, name: str | None, file: str | None) -> bool:
        package = (name or "").partition(".")[0]
        if package == "tpucompat":
            return name == OPERATORS
        if package in self._packages:
            return True
        if package in _LIBRARIES:  # wherever it lies: `pip install --target` and PYTHONPATH
            return False
        if not file:
            # Notebook cells and code typed at a prompt run in a __main__ that has no file.
            return name == "__main__"
        path = os.path.abspath(file)
        if not _INSTALLED.isdisjoint(path.split(os.sep)):  # of another environment, through a .pth
            return False
        return not any(
            path.startswith(directory) or os.path.realpath(path).startswith(directory)
            for directory in self._installed
        )


def _is_folder(file: str) -> bool:
    return os.path.basename(file).startswith("__init__.")


def is_part(name: Any, package: str) -> bool:
    """Whether a module's name is that of a package or below it."""
    return isinstance(name, str) and name.partition(".")[0] == package


def _installation_directories() -> tuple[str, ...]:
    keys = ("stdlib", "platstdlib", "purelib", "platlib")
    found = [sysconfig.get_paths()[key] for key in keys]
    # site.getsitepackages is missing in environments made by virtualenv below 20.
    found += getattr(site, "getsitepackages", list)()
    found.append(site.getusersitepackages())
    # The standard library may be reached through links, which its modules' __file__ then shows.
    found.append(os.path.dirname(os.__file__))
    both = {os.path.abspath(path) for path in found} | {os.path.realpath(path) for path in found}
    return tuple(sorted(path + os.sep for path in both))


_current: Scope | None = None


def current() -> Scope:
    """The scope of the installation in place; without one, that of a script without old packages."""
    return _without_installation() if _current is None else _current


@functools.lru_cache(maxsize=None)
def _without_installation() -> Scope:
    return Scope()


def make_current(scope: Scope | None) -> None:
    """Says which scope is in place; None for none."""
    global _current
    _current = scope
