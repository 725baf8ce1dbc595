"""Puts the old namespace before a script, and takes it away again."""

from __future__ import annotations

import os
import sys
import types
from typing import Iterable

from tpucompat.base import keras_generation
from tpucompat.base.errors import SetupError
from tpucompat.base.machine import environment
from tpucompat.engines import accelerator
from tpucompat.names import scope as scopes
from tpucompat.names.era import detect
from tpucompat.runtime import imports, namespace, rounding
from tpucompat.runtime.paths import gcs, mapping

_current: Installation | None = None


class Installation:
    """The old namespace, shown to the user's own modules while this is in place.

    A context manager: leaving it uninstalls.

    Attributes:
      era: "tf1" or "tf2".
      scope: Which modules are the user's own.
    """

    def __init__(self, era: str, legacy_packages: Iterable[str]) -> None:
        self.era = era
        self.legacy_packages = tuple(legacy_packages)
        self.scope = scopes.Scope(self.legacy_packages)
        self._hook = imports.ImportHook(era, self.scope)
        self._forget = namespace.forget
        self._hook.install()
        scopes.make_current(self.scope)

    def uninstall(self) -> None:
        """Gives every module Python's own import again, and the libraries what was replaced in them.

        Modules already imported stay, and so does TensorFlow's graph mode.
        """
        global _current
        self._hook.uninstall()
        scopes.make_current(None)
        self._forget()
        if "tpucompat.runtime.paths.redirection" in sys.modules:
            sys.modules["tpucompat.runtime.paths.redirection"].uninstall()
        if _current is self:
            _current = None

    def __enter__(self) -> Installation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        self.uninstall()


def install(
    era: str | None = None, legacy_packages: Iterable[str] = (), exact: bool = False
) -> Installation:
    """Shows the old ``tensorflow`` to the user's own modules from here on.

    Call it on a script's or notebook's first line. Installed packages go on seeing the real TensorFlow.

    Args:
      era: "tf1" for graph and Session, "tf2" for early TensorFlow 2; None reads the calling script to find
        out, and takes "tf1" where there is no file to read (a notebook).
      legacy_packages: Names of installed packages that were written for TensorFlow 1.x too.
      exact: Asks for TensorFlow 1.15's rounding; TensorFlow must not be loaded yet. Otherwise
        TPUCOMPAT_EXACT decides.

    Returns:
      The installation; calling again with the same era returns the one in place.

    Raises:
      SetupError: If no script can run in this environment, Keras 3 was already in use, another era is
        installed, TPUCOMPAT_MAP is malformed, or exact mode and TF_ENABLE_ONEDNN_OPTS contradict each other.
    """
    file = sys._getframe(1).f_globals.get("__file__")
    source, directory = "", ""
    if file and os.path.isfile(file):
        directory = os.path.dirname(os.path.abspath(file))
        with open(file, encoding="utf-8", errors="replace") as text:
            source = text.read()
    return install_for(source, directory, era, legacy_packages, exact)


def install_for(
    source: str,
    directory: str,
    era: str | None = None,
    legacy_packages: Iterable[str] = (),
    exact: bool = False,
) -> Installation:
    """:func:`install` for a script whose text is known.

    Args:
      source: The script's text; "" where there is none (a notebook).
      directory: Where the script's own modules lie.
      era: As for :func:`install`.
      legacy_packages: As for :func:`install`.
      exact: As for :func:`install`.
    """
    global _current
    chosen = era or detect(source, directory).era
    if _current is not None:
        if _current.era != chosen and era is not None:
            raise SetupError(
                "TPU423",
                (f"tpucompat is already installed for {_current.era}, but {chosen} was requested."),
            )
        rounding.choose(exact)
        return _current
    environment(refresh=True).require()
    rounding.choose(exact)
    # Before anything of the script runs: an installed library that the script imports first may touch
    # tf.keras, and old scripts read the TPU's address as soon as they start.
    keras_generation.choose()
    accelerator.offer_address(source)
    gcs.offer_settings()
    if os.environ.get(mapping.VARIABLE):
        from tpucompat.runtime.paths import redirection  # only if paths are mapped

        redirection.install(mapping.from_environment())
    _current = Installation(chosen, legacy_packages)
    return _current


def installed() -> Installation | None:
    """The installation in place, or None."""
    return _current


def switch(era: str) -> bool:
    """Changes the era, where TensorFlow has not been used yet.

    Args:
      era: "tf1" or "tf2".

    Returns:
      Whether it is the era from here on.
    """
    if _current is None or any(each.in_use for each in (namespace.V1, namespace.V2)):
        return _current is not None and _current.era == era
    packages = _current.legacy_packages
    _current.uninstall()
    install_for("", "", era, packages)
    return True


def uninstall() -> None:
    """Undoes :func:`install`; does nothing where nothing is installed."""
    if _current is not None:
        _current.uninstall()
