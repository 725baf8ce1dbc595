"""Private base classes of standalone Keras, for scripts' subclasses, by the names of classes below them."""

from __future__ import annotations

from typing import Any

from tpucompat.engines import session as _session


def __getattr__(name: str) -> Any:
    return getattr(_session.keras().layers, name).__bases__[0]
