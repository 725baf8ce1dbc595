"""Which installed packages were written for TensorFlow 1, as their releases or their own code show.

``pip install bert-tensorflow==1.0.1`` puts code of 2019 beside libraries of today. The user can name such a
package by ``--legacy-package``; those that can be told are taken without.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
import warnings
from typing import Iterator, Mapping

from packaging.version import InvalidVersion, Version

# Libraries that know of both TensorFlows -> their distribution, and the first release that does without what
# TensorFlow has removed since.
_FIRST_OF_TODAY: Mapping[str, tuple[str, str]] = {
    # 0.7: `from tensorflow.compat.v1 import *`, then `estimator.Exporter` at import.
    "tensorflow_hub": ("tensorflow-hub", "0.9"),
    # 1.x: tf_compat.py patches what TensorFlow 1.13 lacks, by its version.
    "tensorflow_datasets": ("tensorflow-datasets", "2.0"),
    # 0.8 is TensorFlow 1.15's, and compares the arguments of TensorFlow's functions with its own.
    "tensorflow_probability": ("tensorflow-probability", "0.9"),
}

_MENTION = re.compile(rb"\bcontrib\b")
# More files no package of that time had (tensor2tensor: 700); reading them would take seconds.
_FILES = 2000
# What no code for TensorFlow 1 alone has: it knows that there may be no tf.contrib.
_AWARE = re.compile(rb"\bcompat\.v1\b|\bcompat import v1\b|hasattr\(\s*\w+\s*,\s*['\"]contrib['\"]")


@functools.lru_cache(maxsize=None)
def is_old(package: str, location: str) -> bool:
    """Whether an installed package can run on TensorFlow 1 only.

    It is one of the table above in an early release; or its code uses ``tf.contrib``, and none of it
    names ``tf.compat.v1`` or asks whether there is a ``contrib``.

    Args:
      package: The name under which it is imported.
      location: Its folder, or its one file.
    """
    if package in _FIRST_OF_TODAY:
        return _is_before(*_FIRST_OF_TODAY[package])
    uses = False
    for number, path in enumerate(_sources(location)):
        if number == _FILES:
            return False
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError:  # a link to nowhere
            continue
        if _AWARE.search(text):
            return False
        uses = uses or (_MENTION.search(text) is not None and _uses_contrib(text))
    return uses


def _is_before(distribution: str, release: str) -> bool:
    if sys.version_info < (3, 8):  # with a TensorFlow that those releases were made for
        return False
    from importlib import metadata

    try:
        return Version(metadata.version(distribution)) < Version(release)
    except (metadata.PackageNotFoundError, InvalidVersion):
        return False


def _sources(location: str) -> Iterator[str]:
    if os.path.isfile(location):
        yield location
    for folder, _, names in os.walk(location):
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))


def _uses_contrib(text: bytes) -> bool:
    """Whether code uses ``tf.contrib`` or imports from it; what comments and strings say does not count."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in strings
            tree = ast.parse(text)
    except (SyntaxError, ValueError):  # for Python 2: it could not be imported anyway
        return False
    return any(_names_contrib(node) for node in ast.walk(tree))


def _names_contrib(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        owner = node.value
        return (
            node.attr == "contrib"
            and isinstance(owner, ast.Name)
            and owner.id in ("tf", "tensorflow")
        )
    if isinstance(node, ast.ImportFrom):
        module = "" if node.level else node.module or ""
        return module.startswith("tensorflow.contrib") or (
            module == "tensorflow" and any(alias.name == "contrib" for alias in node.names)
        )
    return isinstance(node, ast.Import) and any(
        alias.name.startswith("tensorflow.contrib") for alias in node.names
    )
