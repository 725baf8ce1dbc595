"""The settings of scan and migrate: the table ``[tool.tpucompat]`` of pyproject.toml, and the command line.

[tool.tpucompat]
select = ["TPU1", "TPU2"]     # codes, or how codes begin; all where it is missing
ignore = ["TPU203"]
exclude = ["third_party", "*_pb2.py"]
"""

from __future__ import annotations

import ast
import fnmatch
import importlib
import os
import re
from typing import Any, NamedTuple, Sequence

from tpucompat.base.errors import ScriptError, TPUCompatError

#: Folders that hold nothing of the author's.
SKIPPED_FOLDERS = frozenset(
    (
        *(".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "__pycache__", "node_modules"),
        *(
            ".ipynb_checkpoints",
            ".mypy_cache",
            ".pytest_cache",
            ".ruff_cache",
            ".eggs",
            "site-packages",
        ),
    )
)
_KEYS = ("select", "ignore", "exclude")


class ConfigurationError(TPUCompatError):
    """A setting that cannot be used."""


class Configuration(NamedTuple):
    """What is reported, and which files are left out."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def reports(self, code: str) -> bool:
        """Whether a code is reported; the longer of two settings that fit it holds."""
        selected = max((len(word) for word in self.select if code.startswith(word)), default=-1)
        ignored = max((len(word) for word in self.ignore if code.startswith(word)), default=-1)
        if self.select and selected < 0:
            return False
        return ignored <= selected if ignored >= 0 else True

    def leaves_out(self, path: str) -> bool:
        """Whether a file or folder is left out, by its name or its whole path."""
        path = path.replace(os.sep, "/")
        name = path.rpartition("/")[2]
        if name in SKIPPED_FOLDERS:
            return True
        for pattern in self.exclude:
            pattern = pattern.rstrip("/")
            if fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(path, pattern):
                return True
            if fnmatch.fnmatch(path, "*/" + pattern):
                return True
        return False


def load(
    start: str, select: Sequence[str] = (), ignore: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Configuration:
    """The settings for a path: those of the nearest pyproject.toml, and what the command line adds.

    Raises:
      ConfigurationError: If a setting cannot be used.
      ScriptError: If the path is relative and the working directory was deleted.
    """
    found = _from_file(start)
    merged = Configuration(
        tuple(select) or found.select, (*found.ignore, *ignore), (*found.exclude, *exclude)
    )
    for code in (*merged.select, *merged.ignore):
        if not re.match(r"TPU\d{0,3}$", code):
            raise ConfigurationError("TPU451", f"{code!r} is neither a code nor a prefix of codes.")
    return merged


def _from_file(start: str) -> Configuration:
    try:
        folder = os.path.abspath(start if os.path.isdir(start) else os.path.dirname(start))
    except FileNotFoundError as error:
        raise ScriptError("TPU420", f"{start}: the working directory was deleted.") from error
    while True:
        path = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(path):
            return _read(path)
        above = os.path.dirname(folder)
        if above == folder:
            return Configuration()
        folder = above


def _read(path: str) -> Configuration:
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        table = _table(text)
    except (OSError, ValueError, SyntaxError, RecursionError) as error:
        raise ConfigurationError("TPU451", f"{path}: {error}") from error
    for key, value in table.items():
        if key not in _KEYS:
            raise ConfigurationError("TPU451", f"{path}: unknown setting {key!r}.")
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise ConfigurationError("TPU451", f"{path}: {key} must be a list of strings.")
    return Configuration(*(tuple(table.get(key, ())) for key in _KEYS))


def _table(text: str) -> dict[str, Any]:
    """``[tool.tpucompat]``, by the standard library's reader where there is one (Python 3.11)."""
    if "tool.tpucompat" not in text:
        return {}
    for name in ("tomllib", "tomli"):
        try:
            reader = importlib.import_module(name)
        except ImportError:
            continue
        table = reader.loads(text)
        for name in ("tool", "tpucompat"):
            table = table.get(name, {})
            if not isinstance(table, dict):
                raise ValueError(f"{name!r} is not a table.")
        return table
    return _plain_table(text)


def _plain_table(text: str) -> dict[str, Any]:
    """The same for a table of strings and lists of strings, which are written as in Python."""
    match = re.search(
        r"^\[tool\.tpucompat\][^\n]*\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL
    )
    found: dict[str, Any] = {}
    for entry in re.finditer(
        r"^(\w+)\s*=\s*(\[.*?\]|\"[^\"\n]*\"|'[^'\n]*')\s*(?:#.*)?$",
        match.group(1) if match else "",
        re.MULTILINE | re.DOTALL,
    ):
        found[entry.group(1)] = ast.literal_eval(entry.group(2))
    return found
