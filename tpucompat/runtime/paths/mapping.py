"""Which local folder stands for which gs:// path: ``--map gs://bucket=DIR``, ``TPUCOMPAT_MAP``."""

from __future__ import annotations

import os
import re
from typing import Any, Iterable, NamedTuple

from tpucompat.base.errors import SetupError

#: Several mappings in one value: ``gs://a=/data/a;gs://b=/data/b``.
VARIABLE = "TPUCOMPAT_MAP"

_SEPARATOR = re.compile(r"[;,](?=[a-z][a-z0-9]*://)")
_MAPPING = re.compile(r"([a-z][a-z0-9]*://[^=]+?)/*=(.+)$", re.DOTALL)
_GLOB = re.compile(r"([*?\[\]\\])")


class Folder(NamedTuple):
    """A local folder that stands for a remote path and everything below it."""

    remote: str
    local: str


class PathMap:
    """Remote paths and the folders that stand for them; the longest remote path that fits is taken.

    Args:
      folders: Remote paths without a slash at their end, and absolute folders.
    """

    def __init__(self, folders: Iterable[Folder]) -> None:
        self.folders = tuple(sorted(folders, key=lambda folder: -len(folder.remote)))

    def local(self, path: Any, pattern: bool = False) -> Any:
        """The local path for a remote one; anything else comes back as it is.

        Args:
          path: A path as text, bytes or ``os.PathLike``.
          pattern: Whether the path is a glob pattern, so that ``*`` and ``[`` in the folder's own name have
            to be escaped.
        """
        text = _text(path)
        folder = self._folder(text)
        if folder is None or text is None:
            return path
        local = _GLOB.sub(r"\\\1", folder.local) if pattern else folder.local
        below = text[len(folder.remote) :]
        return _like(path, local + below)

    def remote(self, path: Any) -> Any:
        """The remote path for a local one that lies below a mapped folder; else the path as it is."""
        text = _text(path)
        for remote, local in self.folders:
            if text is not None and (text == local or text.startswith(local + os.sep)):
                return _like(path, remote + text[len(local) :])
        return path

    def holds(self, path: Any) -> bool:
        """Whether a path is a remote one that a folder stands for."""
        return self._folder(_text(path)) is not None

    def _folder(self, text: str | None) -> Folder | None:
        if text is None:
            return None
        for folder in self.folders:
            if text.startswith(folder.remote) and text[len(folder.remote) :][:1] in ("", "/"):
                return folder
        return None

    def to_local(self) -> list[tuple[str, str]]:
        """The mapping as (pattern, replacement) of RE2, for paths that are computed in a graph."""
        return [_pattern(remote, local) for remote, local in self.folders]

    def to_remote(self) -> list[tuple[str, str]]:
        """The same back: of the names that a pattern found."""
        return [_pattern(local, remote) for remote, local in self.folders]


def _pattern(before: str, after: str) -> tuple[str, str]:
    return "^" + re.escape(before) + "(/|$)", after.replace("\\", r"\\") + r"\1"


def parse(mapping: str) -> Folder:
    """One mapping, ``gs://bucket=DIR`` or ``gs://bucket/folder=DIR``.

    Raises:
      SetupError: It does not look like that, or DIR is a file.
    """
    found = _MAPPING.match(mapping.strip())
    if found is None:
        raise SetupError("TPU440", f"{mapping!r} is not of the form gs://bucket=DIR.")
    remote, folder = found.groups()
    local = os.path.abspath(os.path.expanduser(folder))
    if os.path.exists(local) and not os.path.isdir(local):
        raise SetupError("TPU440", f"{local} is a file; {remote} has to be replaced with a folder.")
    return Folder(remote, local)


def parse_all(mappings: Iterable[str]) -> PathMap:
    """All mappings together.

    Raises:
      SetupError: One is malformed, or two folders are given for the same remote path.
    """
    folders: list[Folder] = []
    for folder in map(parse, mappings):
        for other in folders:
            if other.remote == folder.remote and other.local != folder.local:
                raise SetupError(
                    "TPU440",
                    f"{folder.remote} is mapped twice: {other.local} and {folder.local}.",
                )
        if folder not in folders:
            folders.append(folder)
    return PathMap(folders)


def from_environment() -> PathMap:
    """The mappings of :data:`VARIABLE`; none if it is unset.

    Raises:
      SetupError: As in :func:`parse_all`.
    """
    value = os.environ.get(VARIABLE, "")
    return parse_all(part for part in _SEPARATOR.split(value) if part.strip())


def to_environment(path_map: PathMap) -> str:
    """The value of :data:`VARIABLE` that gives the same mappings in every working directory."""
    return ";".join("{}={}".format(*folder) for folder in path_map.folders)


def _text(path: Any) -> str | None:
    if isinstance(path, os.PathLike):
        path = os.fspath(path)
    if isinstance(path, bytes):
        return path.decode("utf-8", "surrogateescape")
    return path if isinstance(path, str) else None


def _like(path: Any, text: str) -> Any:
    return text.encode("utf-8", "surrogateescape") if isinstance(path, bytes) else text
