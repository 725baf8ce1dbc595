"""Lists private names of TensorFlow 1.15 that later releases have in other places.

Scripts took them from ``tensorflow.python``: ``from tensorflow.python.ops import control_flow_ops`` and then
``control_flow_ops.cond``. Two steps, the first with a Python that has the real TensorFlow 1.15, the second
with each later one (every minor release that is there), whose results are merged:

    python tools/list_private_moves.py exported > exported.txt
    python tools/list_private_moves.py moved exported.txt >> moved.txt
    python tools/list_private_moves.py merge moved.txt > tpucompat/names/tables/private_moves.txt

A name that is public in 1.15 is looked for under its public name, another one by its own name in all modules
of ``tensorflow.python``, where it counts if one of them only defines it, or one of the same package.
"""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import sys
import types
import warnings
from typing import Any, Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
warnings.filterwarnings("ignore")

# Where scripts reached in; Keras, Estimator, layers and tests have tables of their own.
PACKAGES = (
    "client",
    "data",
    "eager",
    "framework",
    "lib",
    "ops",
    "platform",
    "saved_model",
)
PACKAGES += ("summary", "training", "util")
SKIPPED = ("test", "benchmark", "_pb2", "keras", "gen_", "profiler")

# What another table stands in for under this name too.
STANDS_ELSEWHERE = ("python.framework.ops.Tensor",)


def modules() -> Iterator[Any]:
    """The modules of TensorFlow 1.15's Python code in those packages."""
    for package in PACKAGES:
        # By this name, whatever the module calls itself: 1.15's tensorflow_core would be imported twice.
        name = "tensorflow.python." + package
        root = importlib.import_module(name)
        yield root
        for info in pkgutil.walk_packages(root.__path__, name + "."):
            if any(word in info.name for word in SKIPPED):
                continue
            try:
                yield importlib.import_module(info.name)
            except Exception as error:
                print(f"cannot import {info.name}: {error}", file=sys.stderr)


def print_exported() -> None:
    """Prints private path, name and public name, or "-", of the functions and classes of TensorFlow 1.15."""
    for module in modules():
        path = module.__name__.replace("tensorflow_core.", "").replace("tensorflow.", "", 1)
        for name, value in sorted(vars(module).items()):
            target = getattr(value, "__wrapped__", value)
            if name.startswith("__") or not is_ours(target):
                continue
            exported = vars(value).get("_tf_api_names_v1") or getattr(
                target, "_tf_api_names_v1", None
            )
            public = min(exported or ["-"], key=lambda n: (n.count("."), len(n), n))
            # What a module has imported counts where it is public.
            if exported or target.__module__ == module.__name__:
                print(path, name, public)


def is_ours(value: Any) -> bool:
    """Whether something is a function or class of TensorFlow's Python code."""
    kinds = (type, types.FunctionType)
    module = str(getattr(value, "__module__", ""))
    return isinstance(value, kinds) and module.startswith(("tensorflow.", "tensorflow_core."))


def defined() -> dict[str, list[str]]:
    """The functions and classes of the loaded modules of ``tensorflow.python``: name to modules."""
    found: dict[str, list[str]] = {}
    for path, module in sorted(sys.modules.items()):
        if path.startswith("tensorflow.python.") and not any(word in path for word in SKIPPED):
            for name, value in vars(module).items():
                value = getattr(value, "__wrapped__", value)
                if is_ours(value) and value.__module__ == path:
                    found.setdefault(name, []).append(path)
    return found


def print_moved(exported: str) -> None:
    """Prints the names of a list that the installed TensorFlow has elsewhere: path, target, release."""
    if importlib.util.find_spec("tf_keras"):  # without it, 2.15 would find no Keras at all
        os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    list(modules())
    places = defined()
    release = ".".join(tf.__version__.split(".")[:2])
    with open(exported) as lines:
        entries = [line.split() for line in lines]
    for path, name, public in entries:
        try:
            if hasattr(importlib.import_module("tensorflow." + path), name):
                continue
        except ImportError:
            pass
        target = public_target(tf, public)
        found = places.get(name, [])
        near = [
            place for place in found if place.split(".")[:3] == ["tensorflow", *path.split(".")[:2]]
        ]
        for place in (found, near):
            if target is None and len(place) == 1:
                target = f"{place[0]}:{name}"
        if target is not None:
            print(f"{path}.{name} {target} {release}")


def public_target(tf: Any, public: str) -> str | None:
    """The target of a row for a public name of TensorFlow 1, if this release has it."""
    value: Any = tf
    for part in public.split("."):
        value = getattr(value, part, None)
    return None if value is None else "{tf}:" + public


def print_merged(moved: str) -> None:
    """Prints the lists of several releases as one: a line for each release in which the target is another.

    "-" is the target where a release has the name in its old place again, or nowhere.
    """
    targets: dict[str, dict[int, str]] = {}
    with open(moved) as lines:
        for name, target, release in (line.split() for line in lines):
            if name in STANDS_ELSEWHERE:
                continue
            targets.setdefault(name, {})[int(release.partition(".")[2])] = target
    releases = sorted({release for found in targets.values() for release in found})
    print(
        "# Private names of TensorFlow 1.15 that moved: old path, target, first release with that target."
    )
    print("# Written by tools/list_private_moves.py; do not edit.")
    for name, by_release in sorted(targets.items()):
        before = "-"
        for release in releases:
            target = by_release.get(release, "-")
            if target != before:
                print(f"{name} {target} 2.{release}")
            before = target


if __name__ == "__main__":
    STEPS = {"moved": print_moved, "merge": print_merged}
    STEPS[sys.argv[1]](*sys.argv[2:]) if sys.argv[1] in STEPS else print_exported()
