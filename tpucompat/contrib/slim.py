"""``tf.contrib.slim``: the package tf-slim, put right for the TensorFlow that is installed.

tf-slim (1.1.0, its last release) is what became of ``tf.contrib.layers``, ``slim``, ``framework``,
``metrics`` and ``losses``; the counterparts of those packages take it from here. It reaches into
modules of TensorFlow whose names have moved since (``control_flow_ops.cond`` and others left in
2.12 to 2.13, the layers in 2.15), so that most of its functions fail when they are called,
although ``import tf_slim`` works. :func:`complete_tf_slim` gives its modules the public names instead;
TensorFlow's own modules are not touched.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import SetupError
from tpucompat.engines import session
from tpucompat.idioms.startup import sessions
from tpucompat.names.slim_names import MISSING
from tpucompat.tf import patches

# What the tables call a package of tf-slim -> its module. Star imports have hidden some of them behind
# modules of TensorFlow with the same names.
_MODULES = {
    "data": "tf_slim.data",
    "graphs": "tf_slim.ops.framework_ops",
    "layers": "tf_slim.layers",
    "losses": "tf_slim.losses",
    "metrics": "tf_slim.metrics",
    "nets": "tf_slim.nets",
    "sparse_ops": "tf_slim.layers.sparse_ops",
    "training": "tf_slim.training",
    "variables": "tf_slim.ops.variables",
}

# What of it takes the address of a TPU, which is not dialled.
_LOCAL: dict[str, tuple[str, ...]] = {
    "monitored_session": ("ChiefSessionCreator", "MonitoredTrainingSession"),
    "supervisor": ("Supervisor",),
}


class _Mended(types.ModuleType):
    """A module of TensorFlow with some names added."""

    def __init__(self, module: Any, names: dict[str, Any]) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(names)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def load() -> Any:
    """tf-slim with what it misses; puts the process into graph mode.

    Raises:
      SetupError: tf-slim is not installed (TPU110).
    """
    session.enter_graph_mode()
    slim = package()
    for name in _MODULES.values():
        importlib.import_module(name)
    complete_tf_slim()
    return slim


def package() -> Any:
    """tf-slim as it is installed.

    Raises:
      SetupError: It is not (TPU110).
    """
    try:
        return importlib.import_module("tf_slim")
    except ImportError as error:
        raise SetupError(
            "TPU110",
            (
                "tf.contrib.layers and slim require the package tf-slim, which cannot be "
                f"imported: {error}."
            ),
            "pip install tf-slim==1.1.0",
        ) from error


def __getattr__(name: str) -> Any:
    """The packages that the tables name, put right when the first is asked for (PEP 562)."""
    if name == "tf_slim":
        return load()
    if name in _MODULES:
        load()
        return sys.modules[_MODULES[name]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@patches.patch
def complete_tf_slim() -> None:
    """Gives tf-slim's modules the names that they miss in TensorFlow's."""
    for module_name in [name for name in sys.modules if name.startswith("tf_slim.")]:
        module = sys.modules[module_name]
        for alias, names in MISSING.items():
            used = module.__dict__.get(alias)
            if isinstance(used, types.ModuleType) and used.__name__.startswith("tensorflow."):
                found = {name: _public(target) for name, target in names.items()}
                patches.replace(module, alias, _Mended(used, found))
        for alias, local in _LOCAL.items():
            used = module.__dict__.get(alias)
            if isinstance(used, types.ModuleType) and used.__name__.startswith("tensorflow."):
                found = {name: getattr(sessions, name) for name in local}
                patches.replace(module, alias, _Mended(used, found))
    evaluation = importlib.import_module(_MODULES["training"]).evaluation
    patches.replace(evaluation, "evaluate_once", sessions.local(evaluation.evaluate_once))


def _public(target: str) -> Any:
    value: Any = tf
    for part in target.split("."):
        value = getattr(value, part)
    return value
