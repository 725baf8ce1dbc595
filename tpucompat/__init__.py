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
    from tpucompat.accelerator import strategy
    from tpucompat.environment import environment
    from tpucompat.installation import install, installed, uninstall
    from tpucompat.notebooks.extension import load_ipython_extension, unload_ipython_extension


def __getattr__(name: str) -> object:
    """What is offered comes when it is asked for (PEP 562)."""
    import importlib

    if name in ("environment", "v1"):
        return importlib.import_module("tpucompat." + name)
    if name not in __all__:
        raise AttributeError(f"module 'tpucompat' has no attribute {name!r}")
    home = "accelerator" if name == "strategy" else "installation"
    if name.endswith("_ipython_extension"):
        home = "notebooks.extension"
    return getattr(importlib.import_module("tpucompat." + home), name)
