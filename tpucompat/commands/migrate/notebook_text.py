"""Puts new text into cells of a notebook, and leaves every other byte of the file as it is."""

from __future__ import annotations

import json
from json import decoder
from typing import Iterator, Mapping

_SPACE = " \t\r\n"


def replace_cells(data: bytes, cells: Mapping[int, str]) -> bytes:
    """The notebook with other texts in some cells.

    Args:
      data: The file, which is known to be a notebook.
      cells: Number of the cell, from 1 -> its new text.
    """
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    raw = data[len(mark) :].decode("utf-8")
    spans = source_spans(raw)
    for number in sorted(cells, reverse=True):
        start, end = spans[number]
        raw = raw[:start] + _encoded(raw[start:end], cells[number]) + raw[end:]
    return mark + raw.encode("utf-8")


def insert_cell(data: bytes, number: int, text: str) -> bytes:
    """The notebook with one more code cell.

    Args:
      data: The file, which is known to be a notebook of format 4.
      number: The cell that it is put before, from 1.
      text: What is in it.
    """
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    raw = data[len(mark) :].decode("utf-8")
    root = dict(_members(raw, _skip(raw, 0)))
    starts = list(_elements(raw, root["cells"]))
    at = starts[number - 1]
    before = raw[:at]
    space = before[len(before.rstrip(_SPACE)) :]
    cell: dict[str, object] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": text.splitlines(keepends=True),
    }
    minor = root.get("nbformat_minor")
    # Format 4.5 gives each cell a name.
    if minor is not None and int(raw[minor : _end(raw, minor)]) >= 5:
        cell["id"] = f"written-{len(starts)}"
    indent = space.rpartition("\n")[2]
    deep = len(indent) // 2 if len(indent) % 2 == 0 else 1
    lines = json.dumps(cell, indent=deep if "\n" in space else None).split("\n")
    raw = before + ("\n" + indent).join(lines) + "," + space + raw[at:]
    return mark + raw.encode("utf-8")


def is_of_format_4(data: bytes) -> bool:
    """Whether cells are what the notebook has on its first level, as since 2015."""
    return b'"worksheets"' not in data


def source_spans(raw: str) -> dict[int, tuple[int, int]]:
    """Number of a cell -> where the value of its source stands in the JSON."""
    root = dict(_members(raw, _skip(raw, 0)))
    at = root.get("cells")
    if at is None:
        sheet = next(_elements(raw, root["worksheets"]))
        at = dict(_members(raw, sheet))["cells"]
    found = {}
    for number, cell in enumerate(_elements(raw, at), 1):
        if raw[cell] != "{":
            continue
        members = dict(_members(raw, cell))
        start = members.get("source", members.get("input"))
        if start is not None:
            found[number] = (start, _end(raw, start))
    return found


def _encoded(old: str, text: str) -> str:
    """A text as JSON in the manner of what stood there: one string, or one for each line."""
    ascii_only = all(ord(char) < 128 for char in old)
    if not old.startswith("["):
        return json.dumps(text, ensure_ascii=ascii_only)
    # A line that was there keeps its spelling: Colab writes < as \u003c.
    spelled: dict[str, str] = {}
    starts = list(_elements(old, 0))
    for start in starts:
        end = _end(old, start)
        spelled[json.loads(old[start:end])] = old[start:end]
    first = starts[0] if starts else 1
    before = old[1:first]
    between = old[_end(old, starts[0]) : starts[1]] if len(starts) > 1 else "," + (before or " ")
    last = _end(old, starts[-1]) if starts else 1
    lines = text.splitlines(keepends=True)
    lines = _joined_at_newlines(lines)
    items = [spelled.get(line) or json.dumps(line, ensure_ascii=ascii_only) for line in lines]
    return "[" + before + between.join(items) + old[last:]


def _joined_at_newlines(lines: list[str]) -> list[str]:
    """str.splitlines knows more line ends than notebooks do."""
    found: list[str] = []
    for line in lines:
        if found and not found[-1].endswith("\n"):
            found[-1] += line
        else:
            found.append(line)
    return found


def _skip(raw: str, at: int) -> int:
    while raw[at] in _SPACE:
        at += 1
    return at


def _end(raw: str, at: int) -> int:
    return json.JSONDecoder().raw_decode(raw, at)[1]


def _members(raw: str, at: int) -> Iterator[tuple[str, int]]:
    """(key, where its value begins) of the object at a place."""
    at = _skip(raw, at + 1)
    while raw[at] != "}":
        key, at = decoder.scanstring(raw, at + 1)  # type: ignore[attr-defined]
        at = _skip(raw, _skip(raw, at) + 1)
        yield key, at
        at = _skip(raw, _end(raw, at))
        if raw[at] == ",":
            at = _skip(raw, at + 1)


def _elements(raw: str, at: int) -> Iterator[int]:
    """Where the elements of the array at a place begin."""
    at = _skip(raw, at + 1)
    while raw[at] != "]":
        yield at
        at = _skip(raw, _end(raw, at))
        if raw[at] == ",":
            at = _skip(raw, at + 1)
