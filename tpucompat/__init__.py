"""Runs TensorFlow 1.x TPU scripts, unmodified, on the TensorFlow that is installed today.

Three ways in: ``tpucompat run old.py``; ``import tpucompat; tpucompat.install()`` on a script's first line;
``import tpucompat.v1 as tf``. Importing this package imports no TensorFlow, and no other module either: under
``python -m tpucompat`` the current folder is still searched first.
"""

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
    from tpucompat.base.machine import environment
    from tpucompat.engines.accelerator import strategy
    from tpucompat.runtime.installation import install, installed, uninstall
    from tpucompat.runtime.notebooks.extension import (
        load_ipython_extension,
        unload_ipython_extension,
    )


def __getattr__(name: str) -> object:
    """What is offered comes when it is asked for (PEP 562)."""
    import importlib  # importing the package imports nothing

    if name == "v1":
        return importlib.import_module("tpucompat.v1")
    if name not in __all__:
        raise AttributeError(f"module 'tpucompat' has no attribute {name!r}")
    home = "runtime.notebooks.extension" if name.endswith("_extension") else "runtime.installation"
    home = {"environment": "base.machine", "strategy": "engines.accelerator"}.get(name, home)
    return getattr(importlib.import_module("tpucompat." + home), name)
