"""``tf.contrib.cloud``: how scripts told TensorFlow's Cloud Storage file system who they are.

TensorFlow 2 has no operations for that (tensorflow/contrib/cloud/python/ops/gcs_config_ops.py of
1.15 had); its file system reads environment variables when it is first used.
"""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError

_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
_MEBIBYTE = 1024 * 1024


class BlockCacheParams:
    """How the file system caches what it reads.

    Args:
      block_size: Bytes in a block, 128 MiB by default.
      max_bytes: Bytes in the cache, two blocks by default.
      max_staleness: Seconds for which a block is taken from the cache unasked.
    """

    def __init__(
        self,
        block_size: int | None = None,
        max_bytes: int | None = None,
        max_staleness: int | None = None,
    ) -> None:
        self._block_size = block_size or 128 * _MEBIBYTE
        self._max_bytes = max_bytes or 2 * self._block_size
        self._max_staleness = max_staleness or 0

    @property
    def block_size(self) -> int:
        """Bytes in a block."""
        return self._block_size

    @property
    def max_bytes(self) -> int:
        """Bytes in the cache."""
        return self._max_bytes

    @property
    def max_staleness(self) -> int:
        """Seconds."""
        return self._max_staleness


def configure_gcs(
    session: Any, credentials: Any = None, block_cache: Any = None, device: Any = None
) -> None:
    """Gives the Cloud Storage file system credentials and cache sizes.

    Args:
      session: Ignored; the file system belongs to the process.
      credentials: A dictionary or JSON text with a refresh token or a private key. They are kept
        in a file that only the user can read, until the process ends.
      block_cache: A :class:`BlockCacheParams`; it counts if nothing was read from gs:// before.
      device: Ignored.
    """
    if credentials:
        _keep(credentials if isinstance(credentials, str) else json.dumps(credentials))
    if block_cache:
        os.environ["GCS_READ_CACHE_BLOCK_SIZE_MB"] = str(block_cache.block_size // _MEBIBYTE)
        os.environ["GCS_READ_CACHE_MAX_SIZE_MB"] = str(block_cache.max_bytes // _MEBIBYTE)
        os.environ["GCS_READ_CACHE_MAX_STALENESS"] = str(block_cache.max_staleness)


def _keep(text: str) -> None:
    handle, path = tempfile.mkstemp(prefix="tpucompat-", suffix=".json")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.environ[_VARIABLE] = path
    atexit.register(_forget, path)


def _forget(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)
    if os.environ.get(_VARIABLE) == path:
        del os.environ[_VARIABLE]


def configure_colab_session(session: Any) -> None:
    """Gives the file system the credentials that Colab keeps in a file.

    Args:
      session: Ignored.
    """
    with open(os.environ.get(_VARIABLE, "/content/adc.json")) as file:
        configure_gcs(session, credentials=json.load(file))


class ConfigureGcsHook(tf.train.SessionRunHook):
    """:func:`configure_gcs` as a session hook.

    Args:
      credentials: As there.
      block_cache: As there.

    Raises:
      ValueError: If they are malformed.
    """

    def __init__(self, credentials: Any = None, block_cache: Any = None) -> None:
        if credentials is not None:
            credentials = _checked(credentials)
        if block_cache and not isinstance(block_cache, BlockCacheParams):
            raise BadValueError("TPU103", "block_cache must be an instance of BlockCacheParams.")
        self._credentials = credentials
        self._block_cache = block_cache

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Configures."""
        configure_gcs(session, self._credentials, self._block_cache)


def _checked(credentials: Any) -> str:
    if isinstance(credentials, str):
        try:
            fields = json.loads(credentials)
        except ValueError as error:
            raise BadValueError(
                "TPU103", f"credentials was not a well formed JSON string: {error}"
            ) from error
    elif isinstance(credentials, dict):
        fields = credentials
    else:
        raise BadValueError("TPU103", "credentials is of an unknown type")
    if "refresh_token" not in fields and "private_key" not in fields:
        raise BadValueError(
            "TPU103", 'credentials has neither a "refresh_token" nor a "private_key" field.'
        )
    return json.dumps(fields)
