"""``google.colab.userdata``: secrets are environment variables."""

from __future__ import annotations

import os

from tpucompat.base.errors import SetupError


class SecretNotFoundError(SetupError):
    """There is no such environment variable."""


def get(key: str) -> str:
    """The environment variable of that name.

    Raises:
      SecretNotFoundError: It is not set.
    """
    if key not in os.environ:
        raise SecretNotFoundError(
            "TPU439", f"userdata.get({key!r}): no secrets are stored here.", f"set {key}."
        )
    return os.environ[key]
