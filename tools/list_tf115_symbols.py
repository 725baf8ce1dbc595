"""Writes TensorFlow 1.15's own list of symbols: run it with a Python that has that TensorFlow.

    python tools/list_tf115_symbols.py > tpucompat/names/tables/tf115_symbols.txt

The list has every public name of ``tf.*`` and of each ``tf.contrib`` package (also of those that
``tf.contrib`` does not import by itself), and the path of every module of ``tf.contrib``. tpucompat
reads it only when a name is not found otherwise: a symbol that is gone is not one that never was.

Two trees are left out: ``tf.compat.v1`` and ``tf.compat.v2``, which repeat ``tf.*``.
"""

from __future__ import absolute_import, annotations

import importlib
import inspect
import logging
import os
import sys
import types
import warnings
from typing import Any, Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
warnings.filterwarnings("ignore")

import tensorflow as tf  # noqa: E402

HEADER = """\
# Public symbols of TensorFlow {version}, and the modules of tf.contrib: name, kind.
# Written by tools/list_tf115_symbols.py; do not edit.
"""
LEFT_OUT = ("compat.v1", "compat.v2")
# Private parts of a contrib package: their modules are listed, the names in them are not.
PRIVATE = ("python", "ops", "pylib")
# Where the modules of the API proper lie.
API_MODULES = (
    "tensorflow._api.v1",
    "tensorflow.python.keras.api",
    "tensorflow_estimator.python.estimator.api",
)


def kind_of(value: Any) -> str:
    """The kind of a symbol, in one word."""
    if isinstance(value, types.ModuleType):
        return "module"
    if inspect.isclass(value):
        return "class"
    return "function" if callable(value) else "value"


def names(module: Any) -> Iterator[tuple[str, Any]]:
    """The public names of a module with their values."""
    for name in sorted(dir(module)):
        if name.startswith("_") and name not in (
            "__version__",
            "__git_version__",
            "__compiler_version__",
        ):
            continue
        try:
            yield name, getattr(module, name)
        except Exception as error:  # a lazy module of 1.15 whose own import fails here
            print(f"cannot read {module.__name__}.{name}: {error}", file=sys.stderr)


def is_api(module: Any, path: str) -> bool:
    """Whether a module found under a public name is a part of the API to walk into."""
    name = module.__name__.replace("tensorflow_core", "tensorflow")
    if path.startswith("contrib."):
        parts = path.split(".")
        if parts[-1] in PRIVATE:
            return False
        return name.startswith("tensorflow." + ".".join(parts[:2]))
    return name == "tensorflow" or name.startswith(API_MODULES)


def is_helper(value: Any, module: Any, path: str) -> bool:
    """Whether a name of tf.contrib is only a module that the package's own code imports."""
    if not path.startswith("contrib.") or path.endswith(".nest"):
        return False
    if not isinstance(value, (types.ModuleType, type(absolute_import))):
        return False
    name = getattr(value, "__name__", "")
    in_package_root = path.count(".") <= 2
    return ".contrib." not in name or not (in_package_root or name.startswith(module.__name__))


def walk(module: Any, path: str, found: dict[str, str]) -> None:
    """Adds all public names at and below ``path``."""
    for name, value in names(module):
        full = path + "." + name if path else name
        if full in LEFT_OUT or full in found or is_helper(value, module, full):
            continue
        found[full] = kind_of(value)
        if full != "contrib" and isinstance(value, types.ModuleType) and is_api(value, full):
            walk(value, full, found)


def contrib_modules() -> Iterator[tuple[str, bool]]:
    """The dotted paths of tf.contrib's modules on disk, and whether each is a package's root."""
    import tensorflow.contrib as contrib

    top = os.path.dirname(os.path.abspath(contrib.__file__))
    for folder, _, files in sorted(os.walk(top)):
        below = os.path.relpath(folder, top).replace(os.sep, ".")
        prefix = "contrib" if below == "." else "contrib." + below
        if "__init__.py" in files and below != ".":
            yield prefix, "." not in below
        for file in sorted(files):
            if file.endswith(".py") and file not in ("__init__.py", "setup.py"):
                yield prefix + "." + file[:-3], False


def main() -> None:
    """Prints the list."""
    logging.disable(logging.CRITICAL)
    found: dict[str, str] = {}
    walk(tf, "", found)
    walk_contrib(found)
    sys.stdout.write(HEADER.format(version=tf.__version__))
    for name in sorted(found):
        sys.stdout.write(f"{name} {found[name]}\n")


def walk_contrib(found: dict[str, str]) -> None:
    """Adds the names of each tf.contrib package, and the paths of all modules in it."""
    walk(tf.contrib, "contrib", found)
    for path, is_root in contrib_modules():
        # A name that a package imports from its module may hide the module itself.
        parent, _, name = path.rpartition(".")
        hidden = getattr(sys.modules.get("tensorflow." + parent), name, None)
        found[path] = "module" if hidden is None else kind_of(hidden)
        if is_root:
            try:
                walk(importlib.import_module("tensorflow." + path), path, found)
            except Exception as error:
                print(f"cannot import {path}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
