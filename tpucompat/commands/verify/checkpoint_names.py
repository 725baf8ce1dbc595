"""What the variables of two checkpoints are called: who restores one uses these names.

Some names differ in a known way: a checkpoint of objects has paths of attributes where one of TensorFlow 1 has
the variables' own names, Keras counts its layers in each process from the start, and a file of Keras 3 numbers
the variables of a layer. Those are matched; what is left over has another name.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from tpucompat.commands.checkpoints import formats
from tpucompat.commands.verify import contents, matching

#: Parts of the paths that objects and files put before a variable's name, whichever it is.
_HOLDERS = frozenset(("layers", "model", "weights", "variables", "module", "net", "vars"))
#: A layer's cell, which the path has in some generations of Keras and not in others.
_CELL = re.compile(r"^(\w+_)?cell(_\d+)?$")
#: Kinds of checkpoints whose names are the same from run to run.
_BY_NAME = "tf1"


class Saved(NamedTuple):
    """One variable in a checkpoint.

    Attributes:
      key: What the checkpoint calls it.
      shown: What it is called in the report.
      shape: Its shape.
      ways: What it may go by: its parts, by the path, or by the name that was given to it.
    """

    key: str
    shown: str
    shape: tuple[int, ...]
    ways: list[list[str]]


class Names(NamedTuple):
    """How the names of two checkpoints go together.

    Attributes:
      same: Old key -> new key of what has the same name in both.
      renamed: (old name, new name) of one whose name differs.
      only_old: Names that nothing in the new checkpoint stands for.
      only_new: The same for the old one.
      unknown: New variables of which the file says only a number.
    """

    same: dict[str, str]
    renamed: list[tuple[str, str]]
    only_old: list[str]
    only_new: list[str]
    unknown: int


def named(event: Mapping[str, Any], arrays: Mapping[str, Any], exactly: bool) -> list[Saved]:
    """The variables in a recorded checkpoint that have names of their own.

    Args:
      event: Of the recording.
      arrays: Its arrays by their keys.
      exactly: Also counters and what optimizers keep, which each kind of checkpoint calls its own way.
    """
    labels = event.get("labels", {})
    found: list[Saved] = []
    direct = {labels.get(key, "") for key in arrays if contents.TRACKED not in key}
    for key, array in arrays.items():
        label = labels.get(key, "")
        tracked = contents.TRACKED in key
        # An optimizer of Keras 3 has a second path to what it trains.
        if tracked and label in direct:
            continue
        owner = arrays.get(key.rpartition("/")[0])
        slot = bool(formats.slot_of(key)) or (
            owner is not None and owner.shape == array.shape != ()
        )
        other = slot or formats.is_optimizers(label if tracked else key) or array.dtype.kind != "f"
        if exactly or not other:
            ways = [_parts(name) for name in dict.fromkeys((key, label)) if name]
            found.append(Saved(key, label if tracked else key, array.shape, ways))
    return found


def compare(old: Sequence[Saved], new: Sequence[Saved], exactly: bool) -> Names:
    """Finds out which names went missing, and what stands where they were.

    Args:
      old: Of the old checkpoint.
      new: Of the new one.
      exactly: Both kinds of checkpoint have the variables' own names, which have to be the same.
    """
    theirs, ours = list(old), list(new)
    same: dict[str, str] = {}
    alike = (_equal,) if exactly else (_equal, _both_ways, _counted, _numbered)
    for goes in alike:
        for one in list(theirs):
            other = next((o for o in ours if o.shape == one.shape and goes(one, o)), None)
            if other is not None:
                same[one.key] = other.key
                theirs.remove(one)
                ours.remove(other)
    unknown = [] if exactly else [o for o in ours if all(not _words(way) for way in o.ways)]
    renamed = []
    for number in unknown:
        fitting = [one for one in theirs if one.shape == number.shape]
        if fitting:
            theirs.remove(fitting[0])
        ours.remove(number)
    for one in list(theirs):
        other = next((o for o in ours if o.shape == one.shape), None)
        if other is not None:
            renamed.append((one.shown, other.shown))
            theirs.remove(one)
            ours.remove(other)
    return Names(same, renamed, [t.key for t in theirs], [o.key for o in ours], len(unknown))


def is_exact(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether both checkpoints go by the names of variables."""
    return old.get("form") == new.get("form") == _BY_NAME


def _parts(name: str) -> list[str]:
    """A name's parts, in current words; an attribute's name may have slashes, which are written otherwise."""
    plain = name.replace(formats.VALUE, "").replace(".S", "/")
    return [part for part in matching.words(plain) if not _CELL.match(part)]


def _words(parts: Iterable[str]) -> list[str]:
    """Parts that say something: neither a number nor what holds variables of any name."""
    return [part for part in parts if not part.isdigit() and part.lstrip("_") not in _HOLDERS]


def _equal(one: Saved, other: Saved) -> bool:
    return one.key == other.key


def _both_ways(one: Saved, other: Saved) -> bool:
    """Whether the shorter one of two names is the end of the longer one."""
    return any(_ends(a, b) for a in one.ways for b in other.ways)


def _ends(one: Sequence[str], other: Sequence[str]) -> bool:
    short, long = sorted(([p for p in one if p], [p for p in other if p]), key=len)
    enough = len(short) >= min(2, len(_words(long)))
    return bool(short) and enough and list(long[-len(short) :]) == list(short)


def _counted(one: Saved, other: Saved) -> bool:
    """The same but for the numbers that Keras has counted."""
    ways = [[[matching.uncounted(p) for p in way] for way in each.ways] for each in (one, other)]
    return any(_ends(a, b) for a in ways[0] for b in ways[1])


def _numbered(one: Saved, other: Saved) -> bool:
    """Whether a file that numbers the variables of a layer has one of this layer."""
    ways = [[[matching.uncounted(p) for p in way] for way in each.ways] for each in (one, other)]
    return any(
        b[-1:] and b[-1].isdigit() and _ends(a[:-1], b[:-1]) for a in ways[0] for b in ways[1]
    )
