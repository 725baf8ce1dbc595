"""The TPUs for which a computation can be checked."""

from __future__ import annotations

import difflib
from typing import NamedTuple

from tpucompat.errors import BadValueError


class Target(NamedTuple):
    """A TPU by the name under which it is rented.

    Attributes:
      name: "v5e-8".
      generation: "v5e".
      topology: Its chips, as libtpu names them; "/megacore" where both cores of a chip are one
        device, which is how TensorFlow sees a v4 and a v5p.
      replicas: On how many cores (chips, for a megacore) one program runs.
      memory: Bytes that a program can have on one of them: what libtpu 0.0.52 says when it refuses a
        program ("available HBM").
    """

    name: str
    generation: str
    topology: str
    replicas: int
    memory: int


#: Generation -> GiB for one replica; (name, chips) -> topology. Cloud TPU's own names: up to v5p
#: the number counts TensorCores, from v5e on it counts chips, which have one core there.
_MEMORY = {"v2": 7.48, "v3": 15.48, "v4": 30.75, "v5e": 15.75, "v5p": 95.73, "v6e": 31.24}
_ROWS = (
    ("v2-8", "v2:2x2", 8),
    ("v3-8", "v3:2x2", 8),
    ("v4-8", "v4:2x2x1/megacore", 4),
    ("v5e-1", "v5e:1x1", 1),
    ("v5e-4", "v5e:2x2", 4),
    ("v5e-8", "v5e:2x4", 8),
    ("v5p-8", "v5p:2x2x1/megacore", 4),
    ("v6e-1", "v6e:1x1", 1),
    ("v6e-4", "v6e:2x2", 4),
    ("v6e-8", "v6e:2x4", 8),
)

TARGETS = {
    name: Target(
        name,
        name.split("-")[0],
        topology,
        replicas,
        int(_MEMORY[name.split("-")[0]] * 2**30),
    )
    for name, topology, replicas in _ROWS
}

#: What is checked when nothing is named: the size that old scripts were written for.
DEFAULT = "v2-8,v3-8,v5e-8,v6e-8"

_PREFIXES = {"v5litepod": "v5e", "v5lite": "v5e", "v6litepod": "v6e", "tpu": ""}


def parse(names: str) -> list[Target]:
    """The TPUs of a list.

    Args:
      names: Names, with commas between them: "v5e-8,v3-8"; also Cloud TPU's "v5litepod-8".

    Raises:
      BadValueError: If a name is unknown (TPU380).
    """
    result = []
    for given in filter(None, (name.strip().lower() for name in names.split(","))):
        name = given
        for prefix, plain in _PREFIXES.items():
            if name.startswith(prefix + "-"):
                name = (plain + name[len(prefix) :]).lstrip("-")
        if name not in TARGETS:
            close = difflib.get_close_matches(name, TARGETS, n=1)
            hint = f"; did you mean {close[0]}?" if close else "."
            raise BadValueError(
                "TPU380",
                f"There is no TPU {given!r}{hint}",
                "Name some of " + ", ".join(TARGETS) + ".",
            )
        if TARGETS[name] not in result:
            result.append(TARGETS[name])
    if not result:
        raise BadValueError(
            "TPU380", "No TPU is named.", "Name some of " + ", ".join(TARGETS) + "."
        )
    return result
