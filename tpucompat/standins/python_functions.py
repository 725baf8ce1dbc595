"""``tf.py_func`` of TensorFlow 1.x."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import tensorflow

tf = tensorflow.compat.v1


def py_func(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """``tf.py_func``: calls a function of Python with arrays; a Dataset calls it for one element at a time.

    tf.data calls a ``map`` function without state for several elements at once (seen in 2.15 and 2.21; the
    option is ``experimental_optimization.map_parallelization``), which 1.15 did not. Functions of old scripts
    draw from Python's random numbers there, in the order of the elements.

    Args:
      func: Takes arrays, gives an array or a list of them.
      inp: Tensors.
      Tout: A dtype, or a list of them.
      stateful: Whether two calls with the same arrays may give two results. In a function of a graph, such as a
        Dataset's, it always counts as so.
      name: Of the operation.

    Returns:
      A tensor or a list of tensors.
    """
    inside = tf.get_default_graph().building_function
    return tf.py_func(func, inp, Tout, stateful=stateful or inside, name=name)
