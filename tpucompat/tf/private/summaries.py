"""Summaries, usage counters and warnings."""

from __future__ import annotations

import importlib
from typing import Any

import tensorflow as tf
from tensorflow.python.ops import summary_ops_v2 as summary_ops_v2_module
from tensorflow.python.util import deprecation

from tpucompat.tf import patches


def silence_deprecations() -> None:
    """Stops TensorFlow's deprecation warnings, for good: its public switch is a context only.

    Seen in 1.13 to 2.21 as ``tensorflow.python.util.deprecation``.
    """
    patches.replace(deprecation, "_PRINT_DEPRECATION_WARNINGS", False)


def summary_ops_v2() -> Any:
    """The module that was ``tf.contrib.summary``.

    Seen in 1.13 to 2.21. Public names took another meaning on the way, and the first version stayed beside
    them under the names that :mod:`tpucompat.idioms.summary` asks for.
    """
    return summary_ops_v2_module


def monitoring() -> Any:
    """The module with TensorFlow's usage counters, as libraries outside TensorFlow reach it.

    Seen in 2.5 to 2.21 as ``tf.compat.v2.__internal__.monitoring``; before, libraries imported
    ``tensorflow.python.eager.monitoring``.
    """
    internal = getattr(getattr(tf.compat, "v2", None), "__internal__", None)
    if internal is not None and hasattr(internal, "monitoring"):
        return internal.monitoring
    return importlib.import_module("tensorflow.python.eager.monitoring")
