"""``google.colab.widgets``: tabs and grids; here their parts are shown one after another."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Sequence


class TabBar:
    """Tabs, each with an output of its own.

    Args:
      tab_names: What stands on the tabs.
    """

    def __init__(self, tab_names: Sequence[str], *args: Any, **kwargs: Any) -> None:
        self._names = list(tab_names)

    @contextlib.contextmanager
    def output_to(self, tab: Any, select: bool = True) -> Iterator[None]:
        """Shows what is printed inside below the tab's name."""
        print(f"── {self._names[tab] if isinstance(tab, int) else tab} ──")
        yield

    def __iter__(self) -> Iterator[Any]:
        for name in self._names:
            with self.output_to(name):
                yield name

    def clear_tab(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: what is printed stays."""


class Grid:
    """A table, each of whose cells has an output of its own.

    Args:
      rows: Number of rows.
      columns: Number of columns.
    """

    def __init__(self, rows: int, columns: int, *args: Any, **kwargs: Any) -> None:
        self._size = (rows, columns)

    @contextlib.contextmanager
    def output_to(self, row: int, col: int) -> Iterator[None]:
        """Shows what is printed inside below the numbers of the row and the column."""
        print(f"── {row}, {col} ──")
        yield

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for row in range(self._size[0]):
            for column in range(self._size[1]):
                with self.output_to(row, column):
                    yield row, column

    def clear_cell(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: what is printed stays."""


GridFocus = Grid
