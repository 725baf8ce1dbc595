"""Modules that are written beside a script: a notebook has them in cells of its own.

A notebook travels alone. A cell that begins with ``%%writefile training_loop.py`` writes the module where the
notebook runs, before a cell below imports it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
from typing import Iterator

from tpucompat.commands.analysis import sources
from tpucompat.commands.migrate import notebook_text
from tpucompat.commands.migrate.plan import Result

_MOST_TEXTS = 4096


def in_cells(result: Result) -> Result:
    """What becomes of a file: a notebook has what is written beside it in cells before their first use."""
    if not result.path.endswith(".ipynb") or not notebook_text.is_of_format_4(result.after):
        return result
    after = result.after
    for name, content in result.beside.items():
        units = sources.decode(result.path, after).units
        magic = f"%%writefile {name}\n"
        if not any(unit.original.startswith(magic) for unit in units):
            module = name[: -len(".py")]
            first = next(unit.cell for unit in units if module in unit.original)
            after = notebook_text.insert_cell(after, first, magic + content.decode())
    return result._replace(after=after, beside={})


@functools.lru_cache(maxsize=_MOST_TEXTS)
def code(path: str, data: bytes) -> bytes:
    """The Python of a file: of a notebook, that of all its cells."""
    if not path.endswith(".ipynb"):
        return data
    return "\n".join(_cells(path, data)).encode()


def _cells(path: str, data: bytes) -> Iterator[str]:
    units: list[sources.Unit] = []
    with contextlib.suppress(sources.SourceError):  # one that cannot be read has no code
        units = sources.decode(path, data).units
    for unit in units:
        with contextlib.suppress(SyntaxError, ValueError):
            ast.parse(unit.text or "")
            yield unit.text or ""
