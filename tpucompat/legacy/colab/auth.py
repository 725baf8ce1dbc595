"""``google.colab.auth``: nobody signs in."""

from __future__ import annotations

from typing import Any

from tpucompat.legacy.colab import settings


def authenticate_user(*args: Any, **kwargs: Any) -> None:
    """Does nothing: programs use the credentials of this machine, if there are any."""
    settings.say(
        "auth.authenticate_user(): nobody signs in here; gs:// uses this machine's credentials, or --map"
    )
