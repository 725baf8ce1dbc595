"""``TPUPartitionedCall``: a function that holds a TPU computation, called on one core.

Exporters for serving (TPUEstimator's, those of the object detection API) put ``tpu.rewrite`` into a
``Defun`` and call it so. What :mod:`tpucompat.idioms.computations.batch_parallel` builds is part of the graph
that it stands in, so that an ordinary call of the function computes the same. Names and arguments are those of
``tensorflow/python/ops/gen_tpu_ops.py``, 1.13 to 2.21.
"""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow.compat.v1 as tf


def tpu_partitioned_call(
    args: Sequence[Any],
    device_ordinal: Any,
    Tout: Sequence[Any],
    f: Any,
    autotuner_thresh: int = 0,
    name: str | None = None,
) -> list[Any]:
    """Calls a function.

    Args:
      args: What it takes.
      device_ordinal: Ignored: which core.
      Tout: The types of what it returns.
      f: The function, as ``function.Defun`` makes it.
      autotuner_thresh: Ignored.
      name: A name for the operation.

    Returns:
      A list of tensors, one for each of ``Tout``.
    """
    del device_ordinal, autotuner_thresh
    returned = tf.raw_ops.StatefulPartitionedCall(args=args, Tout=Tout, f=f, name=name)
    return list(returned) if Tout else returned


def tpu_ordinal_selector(name: str | None = None) -> Any:
    """The number of a core that is free: a vector of one, the first.

    Args:
      name: A name for the operation.

    Returns:
      A tensor.
    """
    return tf.constant([0], tf.int32, name=name or "TPUOrdinalSelector")
