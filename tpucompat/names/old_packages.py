"""Which installed packages were written for TensorFlow 1, as their releases or their own code show.

``pip install bert-tensorflow==1.0.1`` puts code of 2019 beside current libraries. The user can name such a
package by ``--legacy-package``; those that can be told are taken without.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
import warnings
from importlib import util
from typing import Iterator, Mapping

from packaging.version import InvalidVersion, Version

from tpucompat.base.late import late
from tpucompat.names.rows import Gone
from tpucompat.names.used import Names

metadata = late("importlib.metadata")  # slow to import; Python 3.8 and later

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

#: Names that packages with releases for TensorFlow 2 have dropped. The script sees those packages themselves,
#: so that only the source is searched for them.
DROPPED: Mapping[str, Mapping[str, Gone]] = {
    "tensorflow_hub": {
        name: Gone(
            "TPU220",
            "tensorflow-hub 0.16, the first for TensorFlow 2.16, has no TF1 Hub format.",
            "hub.load and hub.KerasLayer read a SavedModel, which tf.saved_model.save writes.",
        )
        for name in (
            *("ImageModuleInfo", "LatestModuleExporter", "Module", "ModuleSpec", "add_signature"),
            *("attach_image_module_info", "attach_message", "create_module_spec"),
            *("create_module_spec_from_saved_model", "eval_function_for_module"),
            *("get_expected_image_size", "get_num_image_channels", "image_embedding_column"),
            *("load_module_spec", "register_module_for_export", "sparse_text_embedding_column"),
            *("text_embedding_column", "text_embedding_column_v2"),
        )
    }
}

_MENTION = re.compile(rb"\bcontrib\b")
# More files no package of that time had (tensor2tensor: 700); reading them would take seconds.
_FILES = 2000
# What no code for TensorFlow 1 alone has: it knows that there may be no tf.contrib.
_MAY_BE_GONE = re.compile(
    rb"\bestimator\b|\bcontrib\b|\bpython(?:\.| import )keras\b|\bkeras\.\w+\b|\bwrappers\b"
)
# Packages of TensorFlow that the script's namespace still has, by its era.
_GONE: Mapping[str, tuple[str, ...]] = {"tf1": ("contrib", "estimator"), "tf2": ("estimator",)}
# The private copy of TensorFlow has lost modules since 2.6, and the public package `wrappers`.
_KERAS = ("tensorflow.python.keras", "tensorflow.keras")
# What Keras' optimizers up to 2.10 were made of, and how code says that it knows of others.
_EARLY_OPTIMIZER = re.compile(rb"\b_set_hyper\b")
_APPLIES = re.compile(rb"\b_resource_apply_dense\b")
_KNOWS_BOTH = re.compile(rb"\boptimizers\.legacy\b|\boptimizers import legacy\b")
_AWARE = re.compile(rb"\bcompat\.v1\b|\bcompat import v1\b|hasattr\(\s*\w+\s*,\s*['\"]contrib['\"]")


@functools.lru_cache(maxsize=None)
def is_old(package: str, location: str, file: str, era: str = "tf1") -> bool:
    """Whether an installed package was written for a TensorFlow or a Keras that is no more.

    It is one of the table above in an early release. Or its code uses ``tf.contrib``, and none of it names
    ``tf.compat.v1`` or asks whether there is a ``contrib``. Or it cannot be imported here otherwise, since what
    it uses on import is gone (``tf.estimator``, ``keras.engine``). Or it has optimizers as Keras 2's were.

    Args:
      package: The name under which it is imported.
      location: Its folder, or its one file.
      file: The module of it that imports TensorFlow.
      era: The script's; "tf2" has no ``tf.contrib``.
    """
    if package in _FIRST_OF_TODAY:
        return _is_before(*_FIRST_OF_TODAY[package])
    contrib = era == "tf1" and _is_for_tensorflow_1(location)
    return contrib or _fails_here(package, location, file, era)


def _is_for_tensorflow_1(location: str) -> bool:
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


def _fails_here(package: str, location: str, file: str, era: str) -> bool:
    """Whether a module that is imported on the way uses on import what is gone, or has an early optimizer."""
    todo = [file]
    seen: set[str] = set()
    init = os.path.join(location, "__init__.py")
    todo += [init] if os.path.isfile(init) else []
    while todo and len(seen) < _FILES:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        try:
            with open(path, "rb") as source:
                text = source.read()
        except OSError:
            continue
        early = _EARLY_OPTIMIZER.search(text) and _APPLIES.search(text)
        if early and not _KNOWS_BOTH.search(text):
            return True
        tree = _parsed(text)
        if tree is None:
            continue
        if _MAY_BE_GONE.search(text):
            names = Names()
            names.add(tree)
            if any(
                # What stands for one Keras or another (an `if` chooses it) has lost the module in each.
                use.function is None
                and (not use.guarded or use.base in _KERAS)
                and _is_gone(use.name, era)
                for use in names.uses
            ):
                return True
        todo += _imported(tree, package, location, path)
    return False


def _imported(tree: ast.Module, package: str, location: str, path: str) -> Iterator[str]:
    """The files of the package that a module imports, wherever it does so but in functions."""
    here = os.path.dirname(path)
    todo: list[ast.AST] = [*tree.body]
    while todo:
        node = todo.pop()
        modules: list[tuple[str, list[str]]] = []
        if isinstance(node, ast.Import):
            modules = [
                (location, alias.name.split(".")[1:])
                for alias in node.names
                if alias.name.partition(".")[0] == package
            ]
        elif isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".") if node.module else []
            base = location
            if node.level:
                base = here
                for _ in range(node.level - 1):
                    base = os.path.dirname(base)
            elif parts[:1] == [package]:
                parts = parts[1:]
            else:
                continue
            modules = [(base, parts), *((base, [*parts, alias.name]) for alias in node.names)]
        elif isinstance(node, (ast.If, ast.With, ast.Try)):
            todo += ast.iter_child_nodes(node)
        for base, parts in modules:
            for count in range(len(parts) + 1):
                found = os.path.join(base, *parts[:count])
                yield from filter(
                    os.path.isfile, (found + ".py", os.path.join(found, "__init__.py"))
                )


@functools.lru_cache(maxsize=None)
def _is_gone(name: str, era: str = "tf1") -> bool:
    """Whether TensorFlow or Keras has no such package or module here: their files tell, without an import.

    What the script's namespace does not have either is left to TensorFlow's own error.
    """
    root, *parts = name.split(".")
    for world in (["compat", "v1"], ["compat", "v2"]):
        if parts[:2] == world:
            parts = parts[2:]
    if not parts:
        return False
    if root == "tensorflow" and parts[0] in _GONE[era]:
        return not _has_folder("tensorflow", "_api", "v2", parts[0])
    if root == "tensorflow" and parts[:2] == ["python", "keras"]:
        module = [name for name in parts[2:3] if name.islower() and name != "backend"]
        return not _has_folder("tensorflow", *parts[:2], *module)
    if root == "tensorflow" and parts == ["keras", "wrappers"]:
        return not _has_folder("tf_keras", "api", "_v2", *parts)
    if root == "keras" and parts[0] in ("engine", "legacy", "objectives"):
        return not _has_folder("keras", parts[0])
    return False


def _has_folder(package: str, *parts: str) -> bool:
    try:
        spec = util.find_spec(package)
    except (ImportError, ValueError):
        return True
    folders = list(spec.submodule_search_locations or ()) if spec else []
    # TensorFlow 1's own wheels have `_api/v1`: nothing is gone there.
    if not folders or (package == "tensorflow" and not _in(folders, "_api", "v2")):
        return True
    return _in(folders, *parts)


def _in(folders: list[str], *parts: str) -> bool:
    paths = [os.path.join(folder, *parts) for folder in folders]
    return any(os.path.isdir(path) or os.path.isfile(path + ".py") for path in paths)


def _is_before(distribution: str, release: str) -> bool:
    if sys.version_info < (3, 8):  # with a TensorFlow that those releases were made for
        return False
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
    tree = _parsed(text)
    return tree is not None and any(_names_contrib(node) for node in ast.walk(tree))


def _parsed(text: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in strings
            return ast.parse(text)
    except (SyntaxError, ValueError):  # for Python 2: it could not be imported anyway
        return None


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
