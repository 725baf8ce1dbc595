"""The folders and files that stand in: where they are, and what is said about them."""

from __future__ import annotations

import os

from tpucompat.base import journal


def folder(variable: str, default: str) -> str:
    """The absolute path of a folder: the value of an environment variable, or one beside the notebook."""
    return os.path.abspath(os.path.expanduser(os.environ.get(variable) or default))


def say(text: str) -> None:
    """One notice about something that stands in."""
    journal.notice("TPU438", text)
