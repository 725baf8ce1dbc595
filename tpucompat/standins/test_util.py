"""``tensorflow.python.framework.test_util``: the decorators that take other arguments today.

Behaviour follows tensorflow/python/framework/test_util.py of TensorFlow 1.15.
"""

from __future__ import annotations

import inspect
from typing import Any

from tpucompat.tf import private


def run_in_graph_and_eager_modes(
    func: Any = None,
    config: Any = None,
    use_gpu: bool = True,
    reset_test: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Any:
    """Runs a test method twice, in a graph and eagerly.

    Args:
      func: The method; without it, the result is a decorator.
      config: Of the session in which the graph runs.
      use_gpu: Whether operations go to a GPU where they can.
      reset_test: Whether ``setUp`` runs again between the two. Since 2.2 it always does.
      assert_no_eager_garbage: Whether the eager run must leave no cycles of references.

    Returns:
      The method that does so, or a decorator.
    """
    decorate = private.test_util().run_in_graph_and_eager_modes
    options: dict[str, Any] = {
        "config": config,
        "use_gpu": use_gpu,
        "assert_no_eager_garbage": assert_no_eager_garbage,
    }
    if "reset_test" in inspect.signature(decorate).parameters:
        options["reset_test"] = reset_test
    return decorate(func, **options)
