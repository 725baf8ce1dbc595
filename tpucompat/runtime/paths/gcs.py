"""Keeps a gs:// path from waiting for minutes where Google's cloud cannot be reached.

TensorFlow's file system for gs:// asks the metadata server of Google's cloud for a token and tries every
request eleven times, each for up to two minutes. On a machine that is not Google's and has no credentials, all
it could ever read are public buckets.
"""

from __future__ import annotations

import os
from typing import MutableMapping

#: What is set where nothing can be gained by waiting (tensorflow/core/platform/cloud: google_auth_provider.cc,
#: gcs_file_system.cc). The number of attempts can be set since TensorFlow 2.6.
SETTINGS = {
    "NO_GCE_CHECK": "true",
    "GCS_REQUEST_CONNECTION_TIMEOUT_SECS": "5",
    "GCS_RETRY_CONFIG_MAX_RETRIES": "3",
}

_PRODUCT = "/sys/class/dmi/id/product_name"  # what google-auth looks at too
_HOSTS = "/etc/hosts"
_GOOGLE_VARIABLES = ("GCE_METADATA_HOST", "GCE_METADATA_IP", "COLAB_RELEASE_TAG", "K_SERVICE")
_CREDENTIALS = "application_default_credentials.json"


def offer_settings(environ: MutableMapping[str, str] = os.environ) -> list[str]:
    """Sets what is unset of :data:`SETTINGS`, unless credentials or Google's cloud are here.

    TensorFlow reads them when it is imported.

    Returns:
      The names of the variables that were set.
    """
    if can_sign_in(environ):
        return []
    names = [name for name in SETTINGS if name not in environ]
    environ.update((name, SETTINGS[name]) for name in names)
    return names


def can_sign_in(environ: MutableMapping[str, str] = os.environ) -> bool:
    """Whether there is something that gs:// could be opened with beyond public buckets."""
    return _on_google_cloud(environ) or _has_credentials(environ)


def _on_google_cloud(environ: MutableMapping[str, str]) -> bool:
    if any(environ.get(name) for name in _GOOGLE_VARIABLES):
        return True
    return _read(_PRODUCT).startswith("Google") or "metadata.google.internal" in _read(_HOSTS)


def _has_credentials(environ: MutableMapping[str, str]) -> bool:
    places = [
        environ.get("GOOGLE_APPLICATION_CREDENTIALS", ""),
        os.path.join(environ.get("CLOUDSDK_CONFIG", ""), _CREDENTIALS),
        os.path.join(environ.get("HOME", ""), ".config", "gcloud", _CREDENTIALS),
    ]
    if environ.get("GOOGLE_AUTH_TOKEN_FOR_TESTING"):
        return True
    return any(os.path.isabs(place) and os.path.isfile(place) for place in places)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
