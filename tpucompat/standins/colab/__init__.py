"""``google.colab`` away from Colab: folders for Drive and downloads, nobody to sign in.

On Colab the real package is there, and this one is not used.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from tpucompat.base.errors import UnknownModuleError


def __getattr__(name: str) -> Any:
    """The submodules, which Colab's package imports by itself."""
    if name.startswith("__"):
        raise AttributeError(name)
    full = f"{__name__}.{name}"
    if not name.startswith("_") and importlib.util.find_spec(full) is not None:
        return importlib.import_module(full)
    raise UnknownModuleError(
        "TPU439",
        f"google.colab.{name} is available on Colab only.",
        "remove its cells, or run the notebook on Colab.",
    )
