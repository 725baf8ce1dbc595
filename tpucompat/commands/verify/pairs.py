"""The table of example pairs, ``examples.toml``.

Read in the new script's world: Python 3.11 has ``tomllib``; older ones need the package tomli.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from typing import Any, NamedTuple, Sequence

from tpucompat.commands.verify import runs
from tpucompat.commands.verify.comparison import IGNORED, Task
from tpucompat.commands.verify.runs import Half
from tpucompat.commands.verify.tolerances import DEFAULTS

_KEYS = frozenset(
    [
        *(
            "name",
            "idiom",
            "data",
            "tensorflow",
            "flags",
            "old_flags",
            "new_flags",
            "map",
            "prepare",
        ),
        *("tolerances", "core_tolerances", "ignore", "timeout", "cores", "old_options"),
        *("script", "dropout", "core_flags", "first_run"),
    ]
)

#: Of those, what is there to be read.
_WORDS = frozenset(["idiom", "data", "tensorflow"])


class Pair(NamedTuple):
    """One row.

    Attributes:
      name: Of both files, without ``.py``, unless the row names its script.
      idiom: What the old script shows.
      data: Where its data come from.
      tensorflow: Which releases the old script was written for.
      content: The row as it stands in the table.
      folder: Where the table is.
    """

    name: str
    idiom: str
    data: str
    tensorflow: str
    content: dict[str, Any]
    folder: str

    def task(
        self,
        cores: int,
        python_old: str,
        python_new: str,
        timeout: float | None = None,
        rehearse: str = "",
    ) -> Task:
        """What is to be run for this pair.

        Args:
          cores: 1 for one replica, else emulated cores.
          python_old: The old script's interpreter.
          python_new: The new script's interpreter.
          timeout: Seconds for each run, instead of the row's own.
          rehearse: The TPU that is rehearsed, which has so many cores; "" for none.
        """
        row = self.content
        tolerances = dict(row.get("tolerances", {}))
        if cores > 1:
            tolerances.update(row.get("core_tolerances", {}))
        halves = []
        pythons = (python_old, python_new)
        for which, script, python in zip(("old", "new"), self.scripts, pythons):
            flags = [*row.get("flags", ()), *row.get(which + "_flags", ())]
            flags += row.get("core_flags", ()) if cores > 1 else ()
            arguments = [flag.replace("{root}", self.folder) for flag in flags]
            arguments = [flag.replace("{cores}", str(cores)) for flag in arguments]
            options = row.get("old_options", ()) if which == "old" else ()
            half = Half(script, arguments, python, which == "old", cores, options, rehearse)
            halves.append(
                half._replace(dropout=row.get("dropout", True), first=row.get("first_run"))
            )
        where = runs.described(cores, bool(rehearse))
        return Task(
            f"{self.name}, {where}",
            halves[0],
            halves[1],
            row.get("map", {}),
            tolerances,
            {**IGNORED, **row.get("ignore", {})},
            timeout=timeout or row.get("timeout", 300),
            prepare=[word.replace("{root}", self.folder) for word in row.get("prepare", ())],
        )

    @property
    def script(self) -> str:
        """The name of both files, without ``.py``: that of the row, unless several rows run one script."""
        return str(self.content.get("script", self.name))

    @property
    def scripts(self) -> tuple[str, str]:
        """The files of the old and of the new script."""
        kinds = ("legacy_examples", "migrated_examples")
        old, new = (os.path.join(self.folder, kind, self.script + ".py") for kind in kinds)
        return old, new

    @property
    def digest(self) -> str:
        """Of what a recorded comparison is about: both scripts, this row without its words, and the limits."""
        limits = {rung: [each.limit, each.measure] for rung, each in DEFAULTS.items()}
        row = {key: value for key, value in self.content.items() if key not in _WORDS}
        found = hashlib.sha256(json.dumps([row, limits], sort_keys=True).encode())
        for path in self.scripts:
            with open(path, encoding="utf-8") as stream:
                found.update(stream.read().encode())
        return found.hexdigest()[:16]

    @property
    def cores(self) -> Sequence[int]:
        """The numbers of cores that the pair is compared on."""
        return self.content.get("cores", [1, 8])


def read(path: str) -> list[Pair]:
    """The pairs of a table.

    Raises:
      ValueError: The table cannot be read, or a row is wrong.
    """
    toml = toml_reader()
    try:
        with open(path, "rb") as stream:
            rows = toml.load(stream).get("pair", [])
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    folder = os.path.dirname(os.path.abspath(path))
    pairs = []
    for row in rows:
        unknown = set(row) - _KEYS
        if unknown or not row.get("name"):
            raise ValueError(f"{path}: {row.get('name', 'a pair')}: unknown {sorted(unknown)}")
        pairs.append(
            Pair(
                row["name"],
                row.get("idiom", ""),
                row.get("data", ""),
                row.get("tensorflow", ""),
                row,
                folder,
            )
        )
    return pairs


def toml_reader() -> Any:
    """The module that reads TOML.

    Raises:
      ValueError: There is none.
    """
    for name in ("tomllib", "tomli"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ValueError(
        "reading examples.toml needs Python 3.11, or the package tomli (pip install tomli)"
    )
