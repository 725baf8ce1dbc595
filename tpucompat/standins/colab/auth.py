"""``google.colab.auth``: nobody signs in; the credentials of this machine stand for Colab's."""

from __future__ import annotations

import json
import os
from typing import Any

from tpucompat.standins.colab import settings

#: Where Colab leaves its credentials. Notebooks read the file and give it to ``configure_gcs``.
FILE = "/content/adc.json"


def authenticate_user(*args: Any, **kwargs: Any) -> None:
    """Leaves this machine's Google credentials, or none, where Colab leaves the user's.

    A file that is there already stays. Where the folder cannot be made there is no file, and a notebook
    that reads it says so.

    Args:
      *args: Those of Colab, without a meaning here.
      **kwargs: Likewise.
    """
    settings.say(
        "auth.authenticate_user(): skipped; gs:// uses the credentials of this machine, or --map"
    )
    try:
        os.makedirs(os.path.dirname(FILE), exist_ok=True)
        with open(FILE, "x", encoding="utf-8", opener=_for_the_owner_only) as file:
            json.dump(_credentials(), file)
    except OSError:
        return


def _credentials() -> Any:
    """What ``gcloud auth application-default login`` has left, or an empty object."""
    usual = os.path.join("~", ".config", "gcloud", "application_default_credentials.json")
    path = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS") or os.path.expanduser(usual)
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def _for_the_owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
