"""Which variable of a new program is which variable of an old one: by name, by shape, by order."""

from __future__ import annotations

import difflib
import functools
import re
from typing import Callable, Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from tpucompat.commands.verify.recorder import Variable

# One word for what the generations call otherwise.
_WORDS = {
    "weights": "kernel",
    "weight": "kernel",
    "w": "kernel",
    "depthwise_weights": "depthwise_kernel",
    "biases": "bias",
    "b": "bias",
    "layernorm": "layer_norm",
    "batchnorm": "batch_normalization",
    "moving_var": "moving_variance",
}
#: So many parts of a name are compared.
_LONGEST = 8
_COUNTED = re.compile(r"_\d+$")
# Names that Keras makes up by counting: what is `dense_3` in one process may be `dense` in another.
_MADE_UP = re.compile(
    r"(^|/)(dense|conv\dd\w*|separable_\w+|depthwise_\w+|batch_normalization|layer_norm\w*|embedding"
    r"|lstm|gru|variable)(_\d+)?(/|$)"
)


class Matches(NamedTuple):
    """What belongs to what.

    Attributes:
      pairs: New name -> old name.
      how: New name -> "map", "name", "shape" or "order".
      only_old: Old variables without a twin.
      only_new: New variables without a twin.
      problems: What is wrong with the mapping file.
    """

    pairs: dict[str, str]
    how: dict[str, str]
    only_old: list[str]
    only_new: list[str]
    problems: list[str]


def match(
    old: Sequence[Variable], new: Sequence[Variable], mapping: Mapping[str, str] | None = None
) -> Matches:
    """Finds each new variable's twin.

    The mapping decides first. Then names that are equal but for the conventions of their time, if they have
    the same shape. Then a shape that one variable of each side has; what is left of a shape goes by the
    most similar name where that is a clear choice, else by order, where both sides have equally many.

    Args:
      old: In the order of their making.
      new: In the order of their making.
      mapping: New name -> old name.
    """
    pairs: dict[str, str] = {}
    how: dict[str, str] = {}
    problems: list[str] = []
    left_old = {variable.name: variable for variable in old}
    left_new = {variable.name: variable for variable in new}

    def take(new_name: str, old_name: str, why: str) -> None:
        pairs[new_name], how[new_name] = old_name, why
        del left_new[new_name]
        del left_old[old_name]

    for new_name, old_name in (mapping or {}).items():
        if new_name not in left_new:
            problems.append(f"the new run has no variable {new_name!r}{_close(new_name, left_new)}")
        elif old_name not in left_old:
            problems.append(f"the old run has no variable {old_name!r}{_close(old_name, left_old)}")
        elif not _fits(left_new[new_name], left_old[old_name]):
            shapes = left_new[new_name].shape, left_old[old_name].shape
            problems.append(f"{new_name} {shapes[0]} cannot be {old_name} {shapes[1]}")
        else:
            take(new_name, old_name, "map")

    # The more of two names is equal, the surer it is that they mean the same.
    keys: list[Callable[[str], str]] = [_exact]
    keys += [functools.partial(_ending, count=count) for count in range(_LONGEST, 1, -1)]
    for key in keys:
        theirs = _by_shape(left_old.values(), key)
        for shape, ours in _by_shape(left_new.values(), key).items():
            others = theirs.get(shape, {})
            whole_group = set(ours) == set(others)
            for same, names in ours.items():
                # Numbers that Keras has counted mean the same layer only if all of them do.
                sure = whole_group or not _MADE_UP.search(same)
                if sure and len(names) == 1 and len(others.get(same, ())) == 1:
                    take(names[0], others[same][0], "name")

    # By the last word too: a gamma is never a beta, whatever their order.
    for likeness in (_shape_and_last_word, _shape):
        groups: dict[object, tuple[list[str], list[str]]] = {}
        for variable in left_new.values():
            groups.setdefault(likeness(variable), ([], []))[0].append(variable.name)
        for variable in left_old.values():
            groups.setdefault(likeness(variable), ([], []))[1].append(variable.name)
        for ours_here, theirs_here in groups.values():
            if len(ours_here) != len(theirs_here):
                continue
            for new_name, old_name in zip(ours_here, theirs_here):
                take(new_name, old_name, "shape" if len(ours_here) == 1 else "order")
    return Matches(pairs, how, list(left_old), list(left_new), problems)


def copies(
    others: Mapping[str, np.ndarray], changed: Iterable[tuple[np.ndarray, np.ndarray]]
) -> dict[str, np.ndarray]:
    """What variables that began as copies of others hold, once those are given other values.

    An average of weights begins with the weights' own values.

    Args:
      others: Name -> value of variables that are given nothing.
      changed: The value before and the one given, of those that are. One number throughout says nothing.
    """
    found = {}
    for before, given in changed:
        if np.ptp(before) if before.size else 0:
            for name, value in others.items():
                if np.array_equal(value, before):
                    found[name] = given
    return found


def _by_shape(
    variables: Iterable[Variable], key: Callable[[str], str]
) -> dict[tuple[int, ...], dict[str, list[str]]]:
    """Shape -> key of a name -> the names that have it."""
    found: dict[tuple[int, ...], dict[str, list[str]]] = {}
    for variable in variables:
        names = found.setdefault(tuple(variable.shape), {}).setdefault(key(variable.name), [])
        names.append(variable.name)
    return found


def _fits(one: Variable, other: Variable) -> bool:
    return tuple(one.shape) == tuple(other.shape)


def _exact(name: str) -> str:
    return name.partition(":")[0]


def words(name: str) -> list[str]:
    """The parts of a name, in current words."""
    parts = re.split(r"[/.]", _exact(name).lower())
    found = [
        _WORDS.get(part, part) for part in parts if part not in ("", "_variable", ".attributes")
    ]
    return [part for part in found if part != "variable_value"]


def uncounted(part: str) -> str:
    """A part of a name without the number that Keras has counted, if it has made the name up."""
    return _COUNTED.sub("", part) if _MADE_UP.search(part) else part


def _ending(name: str, count: int) -> str:
    return "/".join(words(name)[-count:])


def _shape_and_last_word(variable: Variable) -> object:
    last = (words(variable.name) or [""])[-1]
    return tuple(variable.shape), _COUNTED.sub("", last), variable.trainable


def _shape(variable: Variable) -> object:
    return tuple(variable.shape), variable.trainable


def _close(name: str, known: Mapping[str, Variable]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
