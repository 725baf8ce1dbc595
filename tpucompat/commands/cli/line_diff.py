"""Unified diffs of long files.

``difflib`` takes time that grows with the square of the number of changed places: minutes for generated code
with some ten thousand of them. Here it compares one window of lines after the other.
"""

from __future__ import annotations

import difflib
from typing import Iterator, Sequence

_WINDOW = 400  # lines


def unified(old: Sequence[str], new: Sequence[str], before: str, after: str) -> Iterator[str]:
    """The lines of a unified diff, as ``difflib.unified_diff`` gives them.

    Args:
      old: The lines before, with their ends.
      new: The lines afterwards.
      before: The name of the old file.
      after: That of the new one.
    """
    if len(old) <= _WINDOW:
        yield from difflib.unified_diff(old, new, before, after)
        return
    matcher: difflib.SequenceMatcher[str] = difflib.SequenceMatcher(None, "", "")
    matcher.opcodes = opcodes(old, new)  # type: ignore[attr-defined]
    groups = list(matcher.get_grouped_opcodes())
    if groups:
        yield from (f"--- {before}\n", f"+++ {after}\n")
    for group in groups:
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for kind, i, i_end, j, j_end in group:
            if kind == "equal":
                yield from (" " + line for line in old[i:i_end])
                continue
            yield from ("-" + line for line in old[i:i_end])
            yield from ("+" + line for line in new[j:j_end])


def opcodes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """How to turn one list of lines into the other, as ``SequenceMatcher.get_opcodes`` says it."""
    found: list[tuple[str, int, int, int, int]] = []
    i = j = 0
    window = _WINDOW
    while i < len(old) or j < len(new):
        piece = difflib.SequenceMatcher(None, old[i : i + window], new[j : j + window], False)
        codes = [(kind, i + a, i + b, j + c, j + d) for kind, a, b, c, d in piece.get_opcodes()]
        if i + window < len(old) or j + window < len(new):
            # What is behind the last common lines is compared with what follows.
            while codes and codes[-1][0] != "equal":
                codes.pop()
            if not codes:
                window *= 2
                continue
        _extend(found, codes)
        i, j, window = codes[-1][2], codes[-1][4], _WINDOW
    return found


def _extend(
    found: list[tuple[str, int, int, int, int]], codes: Sequence[tuple[str, int, int, int, int]]
) -> None:
    for code in codes:
        if found and found[-1][0] == code[0]:
            kind, i, _, j, _ = found.pop()
            code = (kind, i, code[2], j, code[4])
        found.append(code)


def _range(start: int, end: int) -> str:
    """Lines as a unified diff counts them."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
