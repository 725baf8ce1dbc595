"""The row of an old symbol, from all tables; starts no TensorFlow."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any, Iterator, Mapping

from tpucompat.names.rows import Gone, Moved, Package, Row


@functools.lru_cache(maxsize=None)
def table_rows(era: str, on_tensorflow_1: bool = False) -> Mapping[str, Row]:
    """All rows for an era, merged from the modules of :mod:`tpucompat.names.tables`.

    A table says with ``ERA`` whether it serves "tf1" (the default) or "tf2" scripts, and with
    ``ON_TENSORFLOW_1 = True`` that its rows hold beside a real TensorFlow 1.x too, where everything else is
    the real one's own, and so are its rows ``REAL_ON_TENSORFLOW_1``.

    Raises:
      ValueError: If two tables have the same row.
    """
    rows: dict[str, Row] = {}
    for table in _tables():
        if getattr(table, "ERA", "tf1") != era:
            continue
        if on_tensorflow_1 and not getattr(table, "ON_TENSORFLOW_1", False):
            continue
        twice = rows.keys() & table.ROWS.keys()
        if twice:
            raise ValueError("rows stand twice: {}".format(", ".join(sorted(twice))))
        real = getattr(table, "REAL_ON_TENSORFLOW_1", ()) if on_tensorflow_1 else ()
        rows.update((name, row) for name, row in table.ROWS.items() if name not in real)
    return {**_private_rows_of_both(), **rows} if era == "tf2" else rows


def _private_rows_of_both() -> Mapping[str, Row]:
    """The rows of ``tensorflow.python`` that early TensorFlow 2 takes over from TensorFlow 1.

    The private modules of 2.0 to 2.3 were those of 1.15, with the functions of ``compat.v1`` in them
    (``control_flow_ops.cond`` takes ``strict``). Where today's TensorFlow or Keras has a name elsewhere, it is
    there for both; what code of ours stands in for belongs to graphs.
    """
    rows: dict[str, Row] = {}
    for name, row in table_rows("tf1").items():
        if not name.startswith("python.") or not isinstance(row, (Gone, Moved, Package)):
            continue
        targets: tuple[str, ...] = ()
        if isinstance(row, Moved):
            targets = (row.target,)
        elif isinstance(row, Package):
            targets = row.targets
        if any(
            target.startswith(("tpucompat.", "{own}")) and not target.startswith("{own}.python.")
            for target in targets
        ):
            continue
        today = tuple(target.replace("{tf}", "tensorflow.compat.v1") for target in targets)
        if isinstance(row, Moved):
            row = row._replace(target=today[0])
        elif isinstance(row, Package):
            row = row._replace(target=today)
        rows[name] = row
    return rows


def _tables() -> Iterator[Any]:
    package = importlib.import_module("tpucompat.names.tables")
    for info in pkgutil.iter_modules(package.__path__):
        yield importlib.import_module(package.__name__ + "." + info.name)


def find_row(name: str) -> Row | None:
    """The row of an old symbol (``tf.contrib.tpu.shard``, with or without ``tf.``), without TensorFlow."""
    for prefix in ("tf.", "tensorflow."):
        if name.startswith(prefix):
            name = name[len(prefix) :]
    return table_rows("tf1").get(name) or table_rows("tf2").get(name)
