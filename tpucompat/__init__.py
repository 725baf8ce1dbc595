"""Runs TensorFlow 1.x TPU scripts, unmodified, on the TensorFlow that is installed today.

Three ways in: ``tpucompat run old.py``; ``import tpucompat; tpucompat.install()`` on a script's first line;
``import tpucompat.v1 as tf``. Importing this package imports no TensorFlow.
"""

from __future__ import annotations

from tpucompat.installation import (
    install,
    installed,
    load_ipython_extension,
    uninstall,
    unload_ipython_extension,
)
from tpucompat.version import VERSION as __version__

__all__ = [
    "__version__",
    "environment",
    "install",
    "installed",
    "load_ipython_extension",
    "strategy",
    "uninstall",
    "unload_ipython_extension",
]

TYPE_CHECKING = False  # typing's own costs an import; checkers know the name
if TYPE_CHECKING:
    from tpucompat.accelerator import strategy
    from tpucompat.environment import environment


def __getattr__(name: str) -> object:
    """``environment`` and ``strategy`` cost imports of their own: they come when asked for (PEP 562)."""
    if name == "environment":
        import tpucompat.environment as environment_module

        return environment_module
    if name == "strategy":
        from tpucompat.accelerator import strategy

        return strategy
    if name == "v1":
        import importlib

        return importlib.import_module("tpucompat.v1")
    raise AttributeError(f"module 'tpucompat' has no attribute {name!r}")
