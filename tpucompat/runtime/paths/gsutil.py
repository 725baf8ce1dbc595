"""``gsutil`` on mapped buckets, for the shell lines of notebooks: ls, cp, mv, rm, cat, mb, du, stat and rsync.

Nothing here connects to anything. A gs:// path without a folder is an error.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
from typing import Callable, Sequence

from tpucompat.base.errors import ScriptError
from tpucompat.runtime.paths import mapping

#: Command -> its options that have a value; "" stands for gsutil itself.
_WITH_VALUE = {
    "": frozenset(["-o", "-h", "-i", "-u"]),
    "cp": frozenset(["-L", "-j", "-s", "-z"]),
    "du": frozenset(["-X"]),
    "ls": frozenset(["-p"]),
    "mb": frozenset(["-b", "-c", "-l", "-p", "-s"]),
    "mv": frozenset(["-L", "-j", "-s", "-z"]),
    "rsync": frozenset(["-j", "-x", "-y"]),
}


class _NoMatch(Exception):
    """A path that names nothing."""


class _Paths:
    """The mapped paths of a command line."""

    def __init__(self) -> None:
        self._map = mapping.from_environment()

    def local(self, path: str, pattern: bool = False) -> str:
        """The local path for one of gs://; others are local already."""
        if path.startswith("gs://") and not self._map.holds(path):
            raise ScriptError("TPU442", f"{path} has no local folder.")
        return str(self._map.local(path, pattern))

    def shown(self, path: str) -> str:
        """The gs:// path for a local one."""
        return str(self._map.remote(path)) + ("/" if os.path.isdir(path) else "")

    def found(self, path: str) -> list[str]:
        """The local paths that a path, or a pattern of names, stands for.

        Raises:
          _NoMatch: There are none.
        """
        local = self.local(path, pattern=True)
        names = sorted(glob.glob(local, recursive=True)) if glob.has_magic(path) else []
        plain = self.local(path).rstrip("/") or "/"
        names = names or ([plain] if os.path.exists(plain) else [])
        if not names:
            raise _NoMatch(path)
        return names


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
      argv: What stands behind ``gsutil``; that of the process if None.

    Returns:
      The exit code.
    """
    options, words = _parse(list(sys.argv[1:] if argv is None else argv))
    name, paths = (words[0], words[1:]) if words else ("", [])
    command = _COMMANDS.get(name)
    try:
        if command is None:
            raise ScriptError("TPU442", f"gsutil {name} has no counterpart for local folders.")
        command(_Paths(), options, paths)
    except ScriptError as error:
        sys.stderr.write(f"tpucompat: error: {error}\n")
        return 2
    except _NoMatch:
        sys.stderr.write("CommandException: One or more URLs matched no objects.\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


def _parse(words: list[str]) -> tuple[set[str], list[str]]:
    """(single-letter options, the command and its paths)."""
    options: set[str] = set()
    kept: list[str] = []
    takes_value = False
    for word in words:
        if takes_value:
            takes_value = False
        elif word.startswith("-") and word != "-":
            takes_value = word in _WITH_VALUE.get(kept[0] if kept else "", ())
            options |= set(word.lstrip("-"))
        else:
            kept.append(word)
    return options, kept


def _ls(paths: _Paths, options: set[str], names: list[str]) -> None:
    for name in names:
        for found in paths.found(name):
            if os.path.isdir(found) and "d" not in options:
                _list(paths, found, "r" in options or "R" in options)
            else:
                print(paths.shown(found))


def _list(paths: _Paths, folder: str, deep: bool) -> None:
    for entry in sorted(os.listdir(folder)):
        path = os.path.join(folder, entry)
        print(paths.shown(path))
        if deep and os.path.isdir(path):
            _list(paths, path, deep)


def _cp(paths: _Paths, options: set[str], names: list[str]) -> None:
    _transfer(paths, options, names, moves=False)


def _mv(paths: _Paths, options: set[str], names: list[str]) -> None:
    _transfer(paths, options | {"r"}, names, moves=True)


def _transfer(paths: _Paths, options: set[str], names: list[str], moves: bool) -> None:
    *sources, last = names
    if last == "-":
        _cat(paths, options, sources)
        return
    target = paths.local(last)
    found = [path for name in sources if name != "-" for path in paths.found(name)]
    into = os.path.isdir(target) or last.endswith("/") or len(found) > 1
    os.makedirs(target if into else os.path.dirname(os.path.abspath(target)), exist_ok=True)
    if "-" in sources:
        with open(target, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    for source in found:
        place = os.path.join(target, os.path.basename(source)) if into else target
        if os.path.isdir(source):
            if moves and _is_inside(place, source):
                raise OSError(f"cannot move {paths.shown(source)} into itself")
            if not options & {"r", "R"}:
                sys.stderr.write(
                    f'Omitting prefix "{paths.shown(source)}". (Did you mean to do cp -r?)\n'
                )
                continue
            _copy_folder(source, place)
        elif not ("n" in options and os.path.exists(place)):
            shutil.copyfile(source, place)
        if moves:
            _remove(source)


def _is_inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it."""
    folder = os.path.realpath(folder)
    return os.path.commonpath([os.path.realpath(path), folder]) == folder


def _rsync(paths: _Paths, options: set[str], names: list[str]) -> None:
    for option in sorted(options & {"d", "x", "y"}):
        sys.stderr.write(
            f"tpucompat: gsutil rsync -{option} is ignored: all is copied, nothing deleted\n"
        )
    if "n" in options:  # a trial
        return
    _copy_folder(paths.found(names[0])[0], paths.local(names[1]), bool(options & {"r", "R"}))


def _copy_folder(source: str, target: str, deep: bool = True) -> None:
    """Copies what is in a folder; what is in the target already and not in the source stays."""
    entries = sorted(os.listdir(source))  # before the target is made: it may lie in the source
    os.makedirs(target, exist_ok=True)
    for entry in entries:
        path, place = os.path.join(source, entry), os.path.join(target, entry)
        if not os.path.isdir(path):
            shutil.copyfile(path, place)
        elif deep:
            _copy_folder(path, place)


def _rm(paths: _Paths, options: set[str], names: list[str]) -> None:
    for name in names:
        try:
            found = paths.found(name)
        except _NoMatch:
            if "f" in options:
                continue
            raise
        for path in found:
            if os.path.isdir(path) and not options & {"r", "R"}:
                raise _NoMatch(name)  # gsutil knows no folders: none of these is an object
            _remove(path)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


def _cat(paths: _Paths, options: set[str], names: list[str]) -> None:
    sys.stdout.flush()
    for name in names:
        for path in paths.found(name):
            with open(path, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _mb(paths: _Paths, options: set[str], names: list[str]) -> None:
    for name in names:
        os.makedirs(paths.local(name), exist_ok=True)


def _du(paths: _Paths, options: set[str], names: list[str]) -> None:
    for name in names:
        for path in paths.found(name):
            inside = [
                os.path.join(place, file) for place, _, files in os.walk(path) for file in files
            ]
            sizes = {file: os.path.getsize(file) for file in inside or [path]}
            for file, size in sorted({} if "s" in options else sizes.items()):
                print(f"{size:<12}{paths.shown(file)}")
            if "s" in options:
                print(f"{sum(sizes.values()):<12}{paths.shown(path)}")


def _stat(paths: _Paths, options: set[str], names: list[str]) -> None:
    for name in names:
        for path in paths.found(name):
            if os.path.isdir(path):
                raise _NoMatch(name)
            if "q" not in options:
                print(f"{paths.shown(path)}:\n    Content-Length: {os.path.getsize(path)}")


_COMMANDS: dict[str, Callable[[_Paths, set[str], list[str]], None]] = {
    "cat": _cat,
    "cp": _cp,
    "du": _du,
    "ls": _ls,
    "mb": _mb,
    "mv": _mv,
    "rm": _rm,
    "rsync": _rsync,
    "stat": _stat,
}

if __name__ == "__main__":
    sys.exit(main())
