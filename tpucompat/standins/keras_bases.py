"""Private base classes of standalone Keras, for scripts' subclasses, by the names of classes below them."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from tpucompat.engines import session

    return getattr(session.keras().layers, name).__bases__[0]
