"""``google.colab.runtime``: the machine belongs to its user."""

from __future__ import annotations


def unassign() -> None:
    """Does nothing: Colab gives the machine back."""
