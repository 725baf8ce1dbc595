"""Old source as it lies on the disk: its encoding, its line ends, the cells of a notebook.

What is read can be written back byte for byte: the text is kept with its own line ends, and a notebook keeps
every character that does not belong to a changed cell.
"""

from __future__ import annotations

import ast
import codecs
import contextlib
import io
import json
import os
import re
import stat
import tokenize
import unicodedata
import warnings
from typing import Any, Iterator, NamedTuple

from tpucompat.names.python_2 import is_python_2

#: Files that are larger are no program; reading one would only cost memory.
MOST_BYTES = 20 << 20


class SourceError(Exception):
    """A file, or a cell, that cannot be read as Python.

    Args:
      code: A key of :data:`tpucompat.base.codes.CODES`.
      message: What is wrong with it.
      line: Where, from 1.
    """

    def __init__(self, code: str, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line


class Unit(NamedTuple):
    """A piece of Python with a name space of its file's: the whole file, or a code cell.

    Attributes:
      text: The Python, with lines of IPython's own replaced by as many lines of Python; None for a cell of
        another language.
      cell: The number of the cell among all cells, from 1; 0 for a file.
      original: The text as it stands in the file.
    """

    text: str | None
    cell: int
    original: str


class Source(NamedTuple):
    """One file that was read."""

    path: str
    data: bytes
    encoding: str
    units: list[Unit]

    @property
    def is_notebook(self) -> bool:
        """Whether it is a notebook."""
        return self.path.endswith(".ipynb")


def read(path: str) -> Source:
    """Reads a script or notebook.

    Raises:
      SourceError: If it cannot be read.
    """
    try:
        kind = os.stat(path).st_mode
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            # A pipe or a device may keep its reader waiting for ever.
            raise SourceError("TPU420", "It is a pipe, a socket or a device, not a regular file.")
        with open(path, "rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise SourceError("TPU420", error.strerror or str(error)) from error
    if len(data) > MOST_BYTES:
        raise SourceError("TPU420", f"It is larger than {MOST_BYTES >> 20} MB.")
    return decode(path, data)


def decode(path: str, data: bytes) -> Source:
    """Like :func:`read`, of bytes that are there already."""
    if path.endswith(".ipynb"):
        return Source(path, data, "utf-8", list(_cells(data)))
    encoding, text = _text(data)
    return Source(path, data, encoding, [Unit(text, 0, text)])


def _text(data: bytes) -> tuple[str, str]:
    """(encoding, text) of a Python file; Latin-1 if it is not UTF-8 and declares no encoding."""
    if b"\0" in data:
        raise SourceError("TPU424", "It contains null bytes, so it is not Python source.")
    if b"coding" not in b"".join(data.split(b"\n", 2)[:2]) and data[:3] != codecs.BOM_UTF8:
        with contextlib.suppress(UnicodeError):
            return "utf-8", data.decode("utf-8")
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError as error:
        if b"coding" in b"".join(data.splitlines()[:2]):
            raise SourceError("TPU420", str(error)) from error
        encoding = "latin-1"
    try:
        return encoding, data.decode(encoding)
    except LookupError as error:  # rot13 and the like, which make texts of texts
        raise SourceError("TPU420", str(error)) from error
    except UnicodeError as error:
        if encoding in ("utf-8", "utf-8-sig"):
            # Python 2 took such bytes in comments and strings; read so, every byte can be written again.
            return "latin-1", data.decode("latin-1")
        raise SourceError("TPU420", str(error)) from error


def spelled(text: str) -> str:
    """A text in which each name stands as it does in the text's tree, in the normal form of Unicode."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def parse(text: str, is_cell: bool = False) -> ast.Module:
    """The tree of a unit.

    Args:
      text: The Python.
      is_cell: Whether it is a notebook's cell, whose lines may all begin with the same spaces.

    Raises:
      SourceError: If this Python cannot read it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in old strings
            try:
                return ast.parse(text)
            except IndentationError:
                indented = _parse_indented(text) if is_cell and text[:1].isspace() else None
                if indented is None:
                    raise
                return indented
    except SyntaxError as error:
        code = "TPU421" if is_python_2(error) else "TPU424"
        raise SourceError(code, error.msg or "invalid syntax", error.lineno or 1) from error
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise SourceError("TPU424", str(error) or type(error).__name__) from error


# Notebooks -------------------------------------------------------------------------------------------


def _parse_indented(text: str) -> ast.Module | None:
    """The tree of a cell whose first line is indented, with the columns of the text as it stands.

    IPython takes the indentation of the first line from all lines that have it
    (IPython/core/inputtransformer2.py, leading_indent); here they are the body of an ``if``.
    """
    try:
        tree = ast.parse("if 1:\n" + text)
    except SyntaxError:
        return None
    first = tree.body[0]
    assert isinstance(first, ast.If)
    tree.body[:1] = first.body
    ast.increment_lineno(tree, -1)
    return tree


def _cells(data: bytes) -> Iterator[Unit]:
    """The code cells of a notebook of nbformat 4 or 3."""
    for number, cell in enumerate(notebook_cells(load_notebook(data)), 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        text = cell_text(cell)
        if text.strip():
            yield Unit(without_magics(text), number, text)


def load_notebook(data: bytes) -> dict[str, Any]:
    """The JSON of a notebook.

    Raises:
      SourceError: If it is not a notebook.
    """
    try:
        loaded = json.loads(data.decode("utf-8-sig"))
    except (
        ValueError,
        RecursionError,
    ) as error:  # UnicodeDecodeError and JSONDecodeError among them
        raise SourceError("TPU450", f"It is not valid JSON: {error}") from error
    if not isinstance(loaded, dict) or not isinstance(notebook_cells(loaded), list):
        raise SourceError("TPU450", "It has no list of cells.")
    return loaded


def notebook_cells(notebook: dict[str, Any]) -> Any:
    """The cells of a notebook of nbformat 4, or of 3, where they lie in a worksheet."""
    if "cells" in notebook:
        return notebook["cells"]
    sheets = notebook.get("worksheets")
    first = sheets[0] if isinstance(sheets, list) and sheets else None
    return first.get("cells") if isinstance(first, dict) else None


def cell_text(cell: dict[str, Any]) -> str:
    """What a code cell holds; nbformat 3 calls it input."""
    text = cell.get("source", cell.get("input", ""))
    if isinstance(text, list):
        text = "".join(part for part in text if isinstance(part, str))
    return text if isinstance(text, str) else ""


# IPython's own lines: shell commands, magics, help; `x = !ls` and `x = %magic` are assignments.
_COMMAND = re.compile(r"(?P<indent>\s*)(?:[!%]|\?{1,2}[\w.]+\s*$)")
_HELP = re.compile(r"(?P<indent>\s*)[\w.%]+\?{1,2}\s*$")
_ASSIGNED = re.compile(r"(?P<before>\s*[\w\s,.]+=\s*)(?:!|%\w)")
_PYTHON_BODY = re.compile(r"%%(time|timeit|capture|prun|python3?)\b")
# Magics that IPython takes without their %, where the line is no Python.
_AUTOMAGIC = re.compile(r"(?P<indent>)(?:pip|conda|cat|cd|cp|ls|mkdir|mv|pwd|rm|rmdir)\s+\S")


def without_magics(text: str) -> str | None:
    """A cell with IPython's lines as Python of the same number of lines; None for another language."""
    lines = text.split("\n")
    # Colab lets comments, such as those of a form, stand above a magic.
    code = (index for index, line in enumerate(lines) if line.strip() and line[0] != "#")
    first = next(code, 0)
    if lines[first].startswith("%%"):
        if not _PYTHON_BODY.match(lines[first]):
            return None
        lines[first] = "pass"
    if not any(mark in text for mark in "!%?") and not any(map(_automagic, lines)):
        return text
    continued = False  # a command goes on in this line
    joined = False  # Python does
    inside = _lines_inside_strings(lines)
    for index, line in enumerate(lines):
        if index in inside or joined:
            joined = line.rstrip().endswith("\\")
            continue
        command = _COMMAND.match(line) or _HELP.match(line) or _automagic(line)
        assigned = _ASSIGNED.match(line)
        more = line.rstrip().endswith("\\")
        if continued:
            lines[index], continued = "", more
        elif command:
            lines[index], continued = command.group("indent") + "pass", more
        elif assigned:
            lines[index], continued = assigned.group("before") + "None", more
        else:
            joined = more
    return "\n".join(lines)


def _automagic(line: str) -> re.Match[str] | None:
    """The start of a line such as ``pip install tensorflow==1.13.1``; ``ls -l`` alone is a subtraction."""
    found = _AUTOMAGIC.match(line)
    if found is None:
        return None
    try:
        ast.parse(line.rstrip().rstrip("\\"))
    except (SyntaxError, ValueError):
        return found
    return None


_DELIMITER = re.compile(
    r"""'''|\"\"\"|\\.|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\#.*|[()\[\]{}]"""
)


def _lines_inside_strings(lines: list[str]) -> set[int]:
    """The lines that begin inside of a string of three quotes, or of an open bracket."""
    found: set[int] = set()
    quote, depth = "", 0
    for index, line in enumerate(lines):
        if quote or depth > 0:
            found.add(index)
        elif line.lstrip().startswith(("!", "%")):
            continue
        for part in _DELIMITER.finditer(line):
            token = part.group()
            if quote:
                quote = "" if token == quote else quote
            elif token in ("'''", '"""'):
                quote = token
            elif token in ("(", "[", "{"):
                depth += 1
            elif token in (")", "]", "}"):
                depth -= 1
    return found
