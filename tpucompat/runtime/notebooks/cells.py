"""The code cells of a notebook as Python: what they speak, without running them."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any, Iterator, NamedTuple

from tpucompat.base.late import late

# An extra of its own.
inputtransformer2 = late("IPython.core.inputtransformer2")

# Cell magics whose body is Python of the notebook's own.
_PYTHON_BODY = re.compile(r"%%(time|timeit|capture|prun|python3?)\b.*\n?")


class Cell(NamedTuple):
    """A code cell.

    Attributes:
      number: Its place among all cells, from 1.
      source: What the author wrote.
      python: The same with magics and shell lines turned into calls; "" for a cell of another language.
    """

    number: int
    source: str
    python: str


def code_cells(notebook: Any) -> Iterator[Cell]:
    """The code cells of a notebook of nbformat 4, in order."""
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type == "code" and cell.source.strip():
            yield Cell(number, cell.source, as_python(cell.source))


def as_python(source: str) -> str:
    """A cell with its magics and shell lines turned into calls, as IPython does; "" if it is not Python."""
    body = "".join(_from_magic(source.splitlines(keepends=True))).lstrip("\n")
    while True:
        magic = _PYTHON_BODY.match(body)
        if magic is None:
            break
        body = body[magic.end() :]
    if body.startswith("%%"):
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            manager = inputtransformer2.TransformerManager()
            manager.cleanup_transforms.insert(0, outdented)
            return str(manager.transform_cell(body))
        except SyntaxError:
            return body


def outdented(lines: list[str]) -> list[str]:
    """A cell's lines from its magic on, without the indentation of the first, as IPython reads them up to 8.

    9 takes away what all of them have only (``leading_indent`` of ``IPython/core/inputtransformer2.py``).
    """
    lines = _from_magic(lines)
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    return [line[len(indent) :] if line.startswith(indent) else line for line in lines]


def _from_magic(lines: list[str]) -> list[str]:
    """A cell without the comments above its ``%%magic``, which Colab lets stand there."""
    first = next((n for n, line in enumerate(lines) if line.strip() and line[0] != "#"), 0)
    return lines[first:] if lines and lines[first].startswith("%%") else lines


def syntax_error(cell: Cell) -> SyntaxError | None:
    """What keeps this Python from reading a cell, or None. Asynchronous cells are none."""
    flags = getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)  # since Python 3.8
    if not flags and re.search(r"\b(await|async)\b", cell.python):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(cell.python, f"cell {cell.number}", "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return error if isinstance(error, SyntaxError) else None
    return None


def source_for_era(cells: list[Cell]) -> str:
    """All cells as one script, for :func:`tpucompat.names.era.detect`; cells in error are left out.

    Magics stand in it as comments, since ``%tensorflow_version`` says what the notebook speaks.
    """
    parts = []
    for cell in cells:
        parts += ["# " + line.strip() for line in cell.source.splitlines() if "%" in line[:20]]
        if syntax_error(cell) is None:
            parts.append(cell.python)
    return "\n".join(parts)
