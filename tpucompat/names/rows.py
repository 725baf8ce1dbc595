"""The kinds of rows that the tables of old symbols are made of.

A target is written ``module:attribute.path`` and is imported on first use, so that reading a table costs
nothing. Three words in braces stand for what differs between releases and eras: ``{tf}`` is the TensorFlow 1
API of the installed TensorFlow (``tensorflow.compat.v1`` on TensorFlow 2, ``tensorflow`` on TensorFlow 1, and
for scripts of early TensorFlow 2), ``{keras}`` the package that holds the source of its Keras 2, and ``{own}``
the old namespace itself, whose rows hold there.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Union


class Gone(NamedTuple):
    """The symbol has no counterpart: using it raises with this code, reason and alternative.

    ``since`` is the first release without it, where earlier ones that tpucompat runs on have it still: those
    are asked as if there were no row.
    """

    code: str
    reason: str
    instead: str = ""
    since: str = ""


class Moved(NamedTuple):
    """The symbol lives on elsewhere with the same behaviour; ``since`` is as for :class:`Gone`."""

    target: str
    note: str = ""
    since: str = ""


class StandIn(NamedTuple):
    """Code of ours stands in for the symbol, giving TensorFlow 1.15's results.

    ``varies`` says that the target is to be asked at each use; such uses are neither counted nor reported, as
    every script takes the symbol, and today's TensorFlow has it too.
    """

    target: str
    note: str = ""
    varies: bool = False


class Package(NamedTuple):
    """A whole old module is answered by others, in turn: its names and submodules fall through to them.

    What TensorFlow 1.15 had in it and none of them has is gone, as the row ``rest`` says.
    """

    target: str | tuple[str, ...]
    note: str = ""
    rest: Gone | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """The modules asked, in their order."""
        return (self.target,) if isinstance(self.target, str) else self.target


class Constant(NamedTuple):
    """The symbol is a plain value."""

    value: Any
    note: str = ""


class Changed(NamedTuple):
    """The name is still there, but takes other arguments or gives something else since a release.

    ``since`` names what changed and in which release: ``numpy 1.24``, ``python 3.9``.
    """

    target: str
    since: str
    note: str = ""


Row = Union[Moved, StandIn, Package, Constant, Gone, Changed]
