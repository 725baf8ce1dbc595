"""Patterns of files in a folder that does not exist are an error, as in TensorFlow 1.15.

To find a pattern's files, 1.15 lists the folder before its first wildcard, and what fails there is the error of
``tf.gfile.Glob`` and of the operation MatchingFiles (``GetMatchingPaths`` in
``core/platform/file_system_helper.cc``; seen in 2.1 too). Later releases, 2.6 to 2.21 among them, find no
files. A program whose data are not where its flag says would train on nothing then, and end well.
"""

from __future__ import annotations

import functools
import os
import re
from typing import Any, Callable, Iterable

import numpy as np
import tensorflow

_v1 = tensorflow.compat.v1
_WILDCARD = re.compile(r"[*?\[\\]")
_LOCAL = "file://"


def folder(pattern: str | bytes | os.PathLike[str]) -> str:
    """The local folder whose files a pattern is compared with; "" where that is another file system's."""
    path = os.fsdecode(pattern)
    if path.startswith(_LOCAL):
        path = path[len(_LOCAL) :]
    if not path or "://" in path:
        return ""
    before = _WILDCARD.split(path, maxsplit=1)[0]
    parent, slash, _ = before.rpartition("/")
    return parent or slash or "."


def check(patterns: Iterable[str | bytes | os.PathLike[str]]) -> None:
    """Raises what 1.15 raises of patterns before it looks for their files.

    Raises:
      tensorflow.errors.NotFoundError: A folder does not exist.
      tensorflow.errors.FailedPreconditionError: It is a file.
    """
    for pattern in patterns:
        name = folder(pattern)
        if not name or os.path.isdir(name):
            continue
        if os.path.exists(name):
            raise tensorflow.errors.FailedPreconditionError(None, None, f"{name}; Not a directory")
        raise tensorflow.errors.NotFoundError(None, None, f"{name}; No such file or directory")


def glob(pattern: Any) -> list[str]:
    """``tf.io.gfile.glob``: the files of a pattern, or of several.

    Raises:
      tensorflow.errors.NotFoundError: As :func:`check`.
    """
    check(_each(pattern))
    found: list[str] = tensorflow.io.gfile.glob(pattern)
    return found


def Glob(filename: Any) -> list[str]:
    """``tf.gfile.Glob``, as :func:`glob`."""
    return glob(filename)


def checked(
    matching_files: Callable[..., Any], uncount: Callable[[Any, int], None]
) -> Callable[..., Any]:
    """The function that makes an operation MatchingFiles, with the error; for patterns that are constants.

    Args:
      matching_files: TensorFlow's function.
      uncount: Is told the graph and how many operations of it 1.15 would not have made, as a negative number.
    """

    @functools.wraps(matching_files)
    def matching(pattern: Any, name: str | None = None) -> Any:
        patterns = _constant(pattern)
        if tensorflow.executing_eagerly():
            check(patterns)
            return matching_files(pattern, name=name)
        found = matching_files(pattern, name=name)
        # The folder may be made before the operation runs: whether it is there is asked again then.
        missing = [each for each in map(folder, patterns) if each and not os.path.isdir(each)]
        if not missing:
            return found
        before = found.graph.version
        with _v1.name_scope(None, "missing_folders"):
            errors = [_error_of(each, matching_files) for each in missing]
            # A one-shot iterator's function takes the inputs of operations along, and not what they wait for.
            found = tensorflow.strings.join([found, *errors])
        uncount(found.graph, before - found.graph.version)
        return found

    return matching


def _each(patterns: Any) -> Iterable[Any]:
    return [patterns] if isinstance(patterns, (str, bytes, os.PathLike)) else patterns


def _constant(pattern: Any) -> list[Any]:
    """The patterns, as far as they are known before anything runs; makes no operation."""
    known: list[Any] = []
    for each in tensorflow.nest.flatten(pattern):
        value = tensorflow.get_static_value(each) if tensorflow.is_tensor(each) else each
        if value is not None:
            known += np.ravel(np.asarray(value, dtype=object)).tolist()
    return known


def _error_of(name: str, matching_files: Callable[..., Any]) -> Any:
    """The text "", or the error of 1.15 where the folder does not exist when the operation runs.

    No operation asks for a folder. One that is there is found by its name or by what is in it, and what
    reads it as a file fails as 1.15 does where it is not.
    """
    there = matching_files([name, os.path.join(name, "*")])
    return _v1.cond(
        tensorflow.size(there) > 0,
        lambda: tensorflow.constant(""),
        lambda: tensorflow.io.read_file(name),
    )
