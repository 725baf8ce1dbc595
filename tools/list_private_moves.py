"""Lists private names of TensorFlow 1.15 that later releases have in other places, but still publicly.

Scripts took them from ``tensorflow.python``: ``from tensorflow.python.ops import control_flow_ops`` and then
``control_flow_ops.cond``. Two steps, the first with a Python that has the real TensorFlow 1.15, the second
with each later one; the results of the second are merged:

    python tools/list_private_moves.py exported > exported.txt
    python tools/list_private_moves.py moved exported.txt >> moved.txt
    sort -u moved.txt > tpucompat/legacy/tables/tf115_private.txt
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import types
import warnings
from typing import Any, Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
warnings.filterwarnings("ignore")

# Where scripts reached in; Keras, Estimator and tests have tables of their own.
PACKAGES = (
    "client",
    "data",
    "eager",
    "framework",
    "layers",
    "lib",
    "ops",
    "platform",
    "saved_model",
)
PACKAGES += ("summary", "training", "util")
SKIPPED = ("test", "benchmark", "_pb2", "keras", "gen_")


def modules() -> Iterator[Any]:
    """The modules of TensorFlow 1.15's Python code in those packages."""
    python = importlib.import_module("tensorflow.python")
    for package in PACKAGES:
        root = importlib.import_module(python.__name__ + "." + package)
        yield root
        for info in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
            if any(word in info.name for word in SKIPPED):
                continue
            try:
                yield importlib.import_module(info.name)
            except Exception as error:
                print(f"cannot import {info.name}: {error}", file=sys.stderr)


def print_exported() -> None:
    """Prints private path, name and public name of what is public in TensorFlow 1.15."""
    for module in modules():
        path = module.__name__.replace("tensorflow_core.", "").replace("tensorflow.", "", 1)
        for name, value in sorted(vars(module).items()):
            if name.startswith("_") or isinstance(value, types.ModuleType):
                continue
            target = getattr(value, "__wrapped__", value)
            exported = vars(value).get("_tf_api_names_v1") if hasattr(value, "__dict__") else None
            exported = exported or getattr(target, "_tf_api_names_v1", None)
            if exported:
                print(path, name, min(exported, key=lambda n: (n.count("."), len(n), n)))


def print_moved(exported: str) -> None:
    """Prints those of a list that the installed TensorFlow has publicly, but no more privately."""
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    with open(exported) as lines:
        entries = [line.split() for line in lines]
    for path, name, public in entries:
        try:
            if hasattr(importlib.import_module("tensorflow." + path), name):
                continue
        except ImportError:
            pass
        value: Any = tf
        try:
            for part in public.split("."):
                value = getattr(value, part)
        except AttributeError:
            continue
        print(f"{path}.{name} {public}")


if __name__ == "__main__":
    if sys.argv[1] == "exported":
        print_exported()
    else:
        print_moved(sys.argv[2])
