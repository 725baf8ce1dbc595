"""What a program's own copy of TPUEstimator takes from ``tpu_context.py``.

Some programs carry a changed ``tpu_estimator.py`` of TensorFlow 1.12 or 1.13 (kept state between steps, for
instance). Its loops, feeds and hooks run on the functions of
:mod:`tpucompat.idioms.computations.batch_parallel` and :mod:`tpucompat.idioms.computations.feeds`; only its
questions about the TPU have to be answered from here.
"""

from __future__ import annotations

import sys
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError
from tpucompat.engines import accelerator, in_graph
from tpucompat.idioms.tpu_estimator import source
from tpucompat.idioms.tpu_estimator.context import LocalContext


class ForkContext(LocalContext):
    """The context for such a copy: one replica is a TPU of one core to it, too."""

    master_job = None  # it starts the job's cores

    def _is_running_on_cpu(self, is_export_mode: bool) -> bool:
        if not is_export_mode and self.is_one_replica(self._assert_mode()):
            return False
        return super()._is_running_on_cpu(is_export_mode)


def _validate_tpu_training_graph(ctx: Any = None) -> None:
    """Refuses a training step without sums over the cores.

    Args:
      ctx: The context, which 1.15 passes; that of a copy may be another.

    Raises:
      ValueError: In TensorFlow's words.
    """
    del ctx
    if accelerator.cores() == 1:
        return  # there is nothing to sum, and no sum is made
    graphs = in_graph.traced_in(tf.get_default_graph())
    if not any(source.holds(graph, "CrossReplicaSum") for graph in graphs):
        raise BadValueError(
            "TPU325", "CrossShardOptimizer must be used for model training on TPUs."
        )


def _get_tpu_context(
    config: Any,
    train_batch_size: Any,
    eval_batch_size: Any,
    predict_batch_size: Any,
    use_tpu: bool,
    eval_on_tpu: bool = True,
    embedding_config_spec: Any = None,
) -> ForkContext:
    """Counterpart of the function of that name; its arguments grew in 1.13 and 1.14.

    The copy calls it from its TPUEstimator's constructor; its look for a sum over the cores, which are other
    operations here, is replaced in passing.
    """
    copy = sys._getframe(1).f_globals
    if "_validate_tpu_training_graph" in copy:
        copy["_validate_tpu_training_graph"] = _validate_tpu_training_graph
    theirs = source.load().tpu_context._InternalTPUContext(
        config, train_batch_size, eval_batch_size, predict_batch_size, use_tpu, eval_on_tpu
    )
    del embedding_config_spec
    made = ForkContext.from_config(config, theirs, config)
    # Such copies divide batches by the number of shards that the script gave.
    made._config = config.replace(
        tpu_config=config.tpu_config._replace(num_shards=made.replicas, num_cores_per_replica=None)
    )
    return made
