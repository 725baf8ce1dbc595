"""The arguments of TensorFlow's functions, as introspection told them up to 1.15: without annotations.

TensorFlow's own Python had none then; the operations that TensorFlow generates have them now (seen in 2.15 and
2.21: ``ops/gen_math_ops.py``). Libraries of the time compare a function's specification with that of their own
function, as TensorFlow Probability 0.8 does (``python/internal/prefer_static.py``).
"""

from __future__ import annotations

import inspect
from typing import Any

from tpucompat import private


def getfullargspec(obj: Any) -> inspect.FullArgSpec:
    """``tf_inspect.getfullargspec``; annotations are told of other functions than TensorFlow's only.

    Args:
      obj: A function, a method or another callable, decorated by TensorFlow or not.

    Returns:
      The specification of what is called first, as ``inspect.getfullargspec`` gives it.

    Raises:
      TypeError: If the arguments cannot be told.
    """
    return without_new_annotations(obj, private.tf_inspect().getfullargspec(obj))


def without_new_annotations(obj: Any, spec: inspect.FullArgSpec) -> inspect.FullArgSpec:
    """The specification as 1.15 would have had it, where ``obj`` is TensorFlow's own."""
    module = getattr(obj, "__module__", None) or ""
    return spec._replace(annotations={}) if module.startswith("tensorflow.") else spec
