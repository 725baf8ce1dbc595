"""The kinds of rows that the tables of old symbols are made of.

A target is written ``module:attribute.path`` and is imported on first use, so that reading a table costs
nothing. Two words in braces stand for what differs between releases: ``{tf}`` is the TensorFlow 1 API of the
installed TensorFlow (``tensorflow.compat.v1`` on TensorFlow 2, ``tensorflow`` on TensorFlow 1) and
``{keras}`` the package that holds the source of its Keras 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Union


class Moved(NamedTuple):
    """The symbol lives on elsewhere with the same behaviour."""

    target: str
    note: str = ""


class StandIn(NamedTuple):
    """Code of ours stands in for the symbol, giving TensorFlow 1.15's results."""

    target: str
    note: str = ""


class Package(NamedTuple):
    """A whole old module is answered by others, in turn: its names and submodules fall through to them."""

    target: str | tuple[str, ...]
    note: str = ""

    @property
    def targets(self) -> tuple[str, ...]:
        """The modules asked, in their order."""
        return (self.target,) if isinstance(self.target, str) else self.target


class Constant(NamedTuple):
    """The symbol is a plain value."""

    value: Any
    note: str = ""


class Gone(NamedTuple):
    """The symbol has no counterpart: using it raises with this code, reason and alternative."""

    code: str
    reason: str
    instead: str = ""


Row = Union[Moved, StandIn, Package, Constant, Gone]
