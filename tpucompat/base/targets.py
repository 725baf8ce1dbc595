"""The TPUs for which a computation can be checked."""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from tpucompat.base.errors import BadValueError


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


class Slice(NamedTuple):
    """The cores that a program runs on.

    Attributes:
      cores: How many there are; chips, for a megacore.
      hosts: How many machines they belong to.
    """

    cores: int
    hosts: int


#: Generation -> (what its name counts for one core as TensorFlow sees it, cores of a host of a pod, cores of
#: the largest single host). From "TPU architecture" in Cloud TPU's documentation.
_HOSTS = {
    "v2": (1, 8, 8),
    "v3": (1, 8, 8),
    "v4": (2, 4, 4),
    "v5p": (2, 4, 4),
    "v5e": (1, 4, 8),
    "v6e": (1, 4, 8),
}


def slice_of(given: str) -> Slice | None:
    """The cores that a number or a name stands for; None if it stands for none.

    Args:
      given: A number of cores ("8"), or a TPU's name, that of a slice of a pod too ("v3-32").
    """
    text = given.strip().lower()
    if re.match(r"0*[1-9][0-9]*\Z", text):
        return Slice(int(text), 1)
    match = re.match(r"([a-z0-9]+)-([1-9][0-9]*)\Z", _plain(text))
    if match is None or match.group(1) not in _HOSTS:
        return None
    counted, per_host, largest = _HOSTS[match.group(1)]
    cores, rest = divmod(int(match.group(2)), counted)
    if cores <= largest:
        return Slice(cores, 1) if cores and not rest else None
    return None if rest or cores % per_host else Slice(cores, cores // per_host)


def _plain(name: str) -> str:
    """A name without what Cloud TPU writes in another way."""
    for prefix, plain in _PREFIXES.items():
        if name.startswith(prefix + "-"):
            name = (plain + name[len(prefix) :]).lstrip("-")
    return name


def parse(names: str) -> list[Target]:
    """The TPUs of a list.

    Args:
      names: Names, with commas between them: "v5e-8,v3-8"; also Cloud TPU's "v5litepod-8".

    Raises:
      BadValueError: If a name is unknown (TPU380).
    """
    result = []
    for given in filter(None, (name.strip().lower() for name in names.split(","))):
        name = _plain(given)
        if name not in TARGETS:
            close = difflib.get_close_matches(name, TARGETS, n=1)
            hint = f"; did you mean {close[0]}?" if close else "."
            raise BadValueError(
                "TPU380",
                f"Unknown TPU {given!r}{hint}",
                "Name some of " + ", ".join(TARGETS) + ".",
            )
        if TARGETS[name] not in result:
            result.append(TARGETS[name])
    if not result:
        raise BadValueError(
            "TPU380", "No TPU was named.", "Name some of " + ", ".join(TARGETS) + "."
        )
    return result
