"""What a client has to know of an exported model: signatures, names, types and shapes."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence

#: Signature -> "inputs" and "outputs" -> name -> [type, shape or None].
Interface = Mapping[str, Mapping[str, Mapping[str, Sequence[Any]]]]
#: Signatures that a model has beside those that its script has named: Keras 3 adds the first.
_ADDED = frozenset(("serve",))
_HALVES = ("inputs", "outputs")


def size(interface: Interface) -> int:
    """How many tensors the signatures of a model have."""
    return sum(len(signature[half]) for signature in interface.values() for half in _HALVES)


def by_signature(answers: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Signature -> what it has answered, by name; "" for the usual one."""
    found: dict[str, dict[str, Any]] = {"": {}}
    for name, value in answers.items():
        signature, _, output = name.rpartition(": ")
        found.setdefault(signature, {})[output] = value
    return found


def differences(old: Interface, new: Interface) -> Iterator[tuple[str, str]]:
    """What a client of the old model does not find in the new one: a name for it, and what it is.

    Args:
      old: Of the old model.
      new: Of the new one.
    """
    for name, theirs in old.items():
        place = f"signature {name}"
        if name not in new:
            yield place, f"the new model has {', '.join(sorted(new)) or 'none'}"
            continue
        for half in _HALVES:
            yield from _of_half(f"{place}: {half[:-1]} ", theirs[half], new[name][half], half)
    for name in new:
        if name not in old and name not in _ADDED:
            yield f"signature {name}", "in the new model only"


def _of_half(
    place: str, old: Mapping[str, Any], new: Mapping[str, Any], half: str
) -> Iterator[tuple[str, str]]:
    for name in old:
        if name not in new:
            others = sorted(set(new) - set(old))
            yield place + name, f"the new model has {', '.join(others) or 'none'} in its place"
            if len(others) == len(set(old) - set(new)) == 1:
                # Whoever expects another name need not expect another form.
                note = _form(old[name], new[others[0]], half)
                yield from [(f"form of {place}{name}", note)] * bool(note)
            continue
        note = _form(old[name], new[name], half)
        if note:
            yield place + name, note
    for name in new:
        if name not in old and len(new) > len(old):
            yield place + name, "in the new model only"


def _form(old: Sequence[Any], new: Sequence[Any], half: str) -> str:
    """What is different in type or shape; "" for nothing."""
    (their_type, their_shape), (our_type, our_shape) = old, new
    if their_type != our_type:
        return f"{our_type} instead of {their_type}"
    fits = _fits(their_shape, our_shape, half == "inputs")
    return "" if fits else f"shape {our_shape} instead of {their_shape}"


def _fits(old: Sequence[Any] | None, new: Sequence[Any] | None, given: bool) -> bool:
    """Whether what fits an old shape fits a new one: an input may say less, an output may say more."""
    if old is None or new is None:
        return new is None if given else True
    if len(old) != len(new):
        return False
    if given:
        return all(n is None or n == o for o, n in zip(old, new))
    return all(o is None or n is None or n == o for o, n in zip(old, new))
