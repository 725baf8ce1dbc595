"""Sums over the shards of a computation: ``cross_replica_sum``, ``CrossShardOptimizer``, the TPU
context.

The functions build the native operations, as ``tensorflow/python/tpu/ops/tpu_ops.py`` and
``tpu/tpu_optimizer.py`` of TensorFlow 1.15 do, wherever a computation for several shards is being
traced; the engine that replays the computation puts sums over the shards in their place. Where
there is one shard, or no computation is being traced, a sum over the shards is the value itself:
this is what lets a model that always wraps its optimizer train on a CPU.
"""

from __future__ import annotations

from typing import Any, List, Optional

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadTypeError, BadValueError
from tpucompat.tf import private

Groups = Optional[List[List[int]]]

_context_module = private.tpu_function()

TpuContext = _context_module.TpuContext
get_tpu_context = _context_module.get_tpu_context
tpu_shard_context = _context_module.tpu_shard_context


def on_device_training_loop(func: Any) -> Any:
    """Marks a computation as holding the training loop itself, as TensorFlow 1.15's decorator does.

    Args:
      func: The computation.

    Returns:
      The same function, with ``step_marker_location`` set. Only the TPU profiler reads it.
    """
    func.step_marker_location = "STEP_MARK_AT_TOP_LEVEL_WHILE_LOOP"
    return func


def number_of_shards(asked_by: str) -> int:
    """The number of shards of the computation being traced; 1, with TensorFlow 1.15's warning,
    outside.

    Args:
      asked_by: The name that the warning gives.
    """
    shards = get_tpu_context().number_of_shards
    if shards is None:
        tf.logging.warning(
            "%s should be used within a tpu_shard_context, but got unset number_of_shards. "
            "Assuming 1.",
            asked_by,
        )
        return 1
    return int(shards)


def replica_id(name: str | None = None) -> Any:
    """The number of the shard that runs: ``xla.replica_id`` of ``tensorflow/compiler/tf2xla/python``.

    Args:
      name: The operation's name, where there is one shard.

    Returns:
      A scalar of int32, 0 where there is one shard.
    """
    if get_tpu_context().number_of_shards in (None, 1):
        return tf.constant(0, tf.int32, name=name or "XlaReplicaId")
    return private.xla_replica_id()


def cross_replica_sum(x: Any, group_assignment: Groups = None, name: str | None = None) -> Any:
    """Sums a tensor over the shards.

    Args:
      x: The shard's own tensor.
      group_assignment: A list of ``num_groups`` lists of shard numbers; the sum is taken within
        each group. None sums over all shards.
      name: The operation's name.

    Returns:
      A tensor with the shape and type of ``x``: the same in all shards of a group.
    """
    shards = get_tpu_context().number_of_shards
    if shards is None and group_assignment is None:
        shards = number_of_shards("cross_replica_sum")
    # A sparse gradient becomes dense, as the native operation makes it: the update rule is then the
    # same for any number of shards.
    x = tf.convert_to_tensor(x)
    if shards is None or shards == 1:
        return tf.identity(x, name=name or "CrossReplicaSum")
    if group_assignment is None:
        group_assignment = [list(range(shards))]
    return private.tpu_ops().cross_replica_sum(x, group_assignment, name=name)


def all_to_all(
    x: Any,
    concat_dimension: int,
    split_dimension: int,
    split_count: int,
    group_assignment: Groups = None,
    name: str | None = None,
) -> Any:
    """Exchanges pieces of a tensor between the shards.

    Args:
      x: The shard's own tensor.
      concat_dimension: The dimension along which the received pieces are put together.
      split_dimension: The dimension along which ``x`` is cut into pieces, one for each shard of the
        group.
      split_count: The number of pieces, which is the size of a group.
      group_assignment: A list of lists of shard numbers; None stands for one group of all shards.
      name: The operation's name.

    Returns:
      The pieces that the shards of the group sent to this one, in their order.
    """
    shards = number_of_shards("all_to_all")
    if shards == 1:
        return tf.identity(x, name=name or "AllToAll")
    if group_assignment is None:
        group_assignment = [list(range(shards))]
    return private.tpu_ops().all_to_all(
        x, concat_dimension, split_dimension, split_count, group_assignment, name=name
    )


def collective_permute(
    x: Any, source_target_pairs: list[list[int]], name: str | None = None
) -> Any:
    """Sends the tensor of one shard to another.

    Args:
      x: The shard's own tensor.
      source_target_pairs: Pairs of shard numbers; each number stands at most once in each column.
      name: The operation's name.

    Returns:
      What was sent to this shard; zeros where nothing was.
    """
    if number_of_shards("collective_permute") == 1:
        sent = [list(pair) for pair in source_target_pairs] == [[0, 0]]
        return (tf.identity if sent else tf.zeros_like)(x, name=name or "CollectivePermute")
    return private.tpu_ops().collective_permute(x, source_target_pairs, name=name)


def _check_arguments(optimizer: Any, reduction: str) -> None:
    known = (tf.losses.Reduction.SUM, tf.losses.Reduction.MEAN)
    if reduction not in known:
        raise BadValueError("TPU340", f"Unsupported reduction: {reduction}.")
    if _is_keras_optimizer(optimizer):
        raise BadTypeError(
            "TPU341",
            "CrossShardOptimizer does not work with OptimizerV2, the optimizers of Keras; it "
            f"got {type(optimizer).__name__}.",
        )


class CrossShardOptimizer(tf.train.Optimizer):
    """Averages the gradients of the shards and lets another optimizer apply them.

    ``compute_gradients`` scales the loss by one over the number of shards, ``apply_gradients`` sums
    the gradients over the shards; what a script does in between (clipping by a global norm) it does
    for each shard by itself, as on a TPU. Follows ``tensorflow/python/tpu/tpu_optimizer.py`` of
    TensorFlow 1.15.

    Args:
      opt: The ``tf.train.Optimizer`` that applies the gradients.
      reduction: ``tf.losses.Reduction.MEAN`` or ``SUM`` over the shards' losses.
      name: The prefix of operation names.
      group_assignment: A list of lists of shard numbers of equal length: the optimizer works in
        each group for itself.

    Raises:
      ValueError: If ``reduction`` is neither MEAN nor SUM (TPU340).
      TypeError: If ``opt`` is a Keras optimizer (TPU341).
    """

    def __init__(
        self,
        opt: Any,
        reduction: str = tf.losses.Reduction.MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: Groups = None,
    ) -> None:
        _check_arguments(opt, reduction)
        super().__init__(False, name)
        self._opt = opt
        self._reduction = reduction
        self._group_assignment = group_assignment

    def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> Any:
        """Gradients of this shard's share of the loss.

        Args:
          loss: The loss of this shard, a scalar tensor.
          var_list: The variables; by default all trainable ones of the graph.
          **kwargs: Arguments of the wrapped optimizer's ``compute_gradients``.

        Returns:
          A list of (gradient, variable) pairs, not yet summed over the shards.

        Raises:
          ValueError: If ``group_assignment`` does not share out the shards evenly (TPU342).
        """
        shards = number_of_shards("CrossShardOptimizer")
        group_size = self._group_size(shards)
        if shards > 1 and self._reduction == tf.losses.Reduction.MEAN:
            loss *= 1.0 / (group_size or shards)
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """Sums the gradients over the shards and applies them.

        Args:
          grads_and_vars: Pairs as ``compute_gradients`` returns them.
          global_step: A variable to be incremented by one after the update.
          name: The operation's name.

        Returns:
          The operation of the wrapped optimizer.
        """
        summed = []
        for gradient, variable in grads_and_vars:
            if gradient is not None:
                gradient = cross_replica_sum(gradient, self._group_assignment)
            summed.append((gradient, variable))
        return self._opt.apply_gradients(summed, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """A slot variable of the wrapped optimizer, or None."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """The names of the wrapped optimizer's slots."""
        return list(self._opt.get_slot_names(*args, **kwargs))

    def variables(self) -> list[Any]:
        """The variables of the wrapped optimizer."""
        return list(self._opt.variables())

    def _group_size(self, shards: int) -> int | None:
        """The size of the groups, None without groups; TensorFlow 1.15's checks."""
        groups = self._group_assignment
        if not groups:
            return None
        if not (isinstance(groups, list) and all(isinstance(group, list) for group in groups)):
            raise BadValueError("TPU342", f"group_assignment must be a list of list. Got {groups}")
        if {shard for group in groups for shard in group} != set(range(shards)):
            raise BadValueError(
                "TPU342",
                f"group_assignment must be a permutation of range({shards}). Got "
                f"group_assignment={groups}",
            )
        if len({len(group) for group in groups}) != 1:
            raise BadValueError(
                "TPU342",
                "The size of each subgroup in group_assignment must be equal. "
                f"Got group_assignment={groups}",
            )
        return len(groups[0])


def _is_keras_optimizer(opt: Any) -> bool:
    """Whether an optimizer is one of Keras, of whichever generation (OptimizerV2 in 1.14 to
    2.10)."""
    if isinstance(opt, tf.train.Optimizer):
        return False
    bases = type(opt).__mro__
    return any(
        "keras" in base.__module__.split(".") or "tf_keras" in base.__module__ for base in bases
    )
