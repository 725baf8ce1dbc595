"""What a row about a patch says, and when patches are applied."""

from __future__ import annotations

import functools
import importlib
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version

# The groups, and when each is applied.
GRAPH = "in graph mode"
SEVERAL_CORES = "in graph mode, on several cores"
LIBRARIES = "at the script's first use of TensorFlow"
GRAPH_KERAS = "at the first use of TensorFlow by a script of TensorFlow 1"
EAGER_KERAS = "at the first use of TensorFlow by a script of TensorFlow 2"
ON_DEMAND = "when a script needs it"

#: All releases.
ALL = ""
#: Libraries whose module has another name.
_MODULES = {"protobuf": "google.protobuf"}


class Patch(NamedTuple):
    """A patch.

    Attributes:
      make: ``module:function`` of what replaces the targets; marked by ``@patches.patch``.
      group: When it is applied.
      releases: Those in which it replaces something, of TensorFlow where no other library is named.
      targets: What it replaces: patterns of ``module.Class.attribute``, whichever of them a release has.
      why: What it is for.
    """

    make: str
    group: str
    releases: str
    targets: tuple[str, ...]
    why: str

    def is_needed(self) -> bool:
        """Whether the installed release is one of them; imports the library where that is the question."""
        return self.releases == ALL or _is_installed(self.releases)


@functools.lru_cache(maxsize=None)  # patches ask at each call of what they are for
def _is_installed(releases: str) -> bool:
    needed = Requirement(releases if releases[0].isalpha() else "tensorflow" + releases)
    library = importlib.import_module(_MODULES.get(needed.name, needed.name))
    return needed.specifier.contains(Version(library.__version__).base_version)
