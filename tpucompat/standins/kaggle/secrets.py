"""``kaggle_secrets``: secrets are environment variables, and nobody signs in to Google Cloud."""

from __future__ import annotations

from typing import Any

from tpucompat.standins.colab import userdata


class UserSecretsClient:
    """What the notebook's author has stored."""

    def get_secret(self, label: str) -> str:
        """The environment variable of that name.

        Raises:
          SetupError: It is not set (TPU439).
        """
        return userdata.get(label)

    def get_gcloud_credential(self) -> str:
        """An empty one: local folders need none."""
        return ""

    def set_gcloud_credentials(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing."""

    def set_tensorflow_credential(self, credential: Any) -> None:
        """Does nothing."""
