"""tf.contrib.slim's training loop with an update of the masks after every step."""

from __future__ import annotations

from typing import Any

from tpucompat.legacy.contrib.slim import tf_slim

_USE_DEFAULT: Any = 0


def train(
    train_op: Any,
    logdir: str | None,
    mask_update_op: Any,
    train_step_fn: Any = None,
    train_step_kwargs: Any = _USE_DEFAULT,
    **more: Any,
) -> Any:
    """``tf.contrib.slim.learning.train``, which also runs an operation after each step.

    Args:
      train_op: A tensor: takes a step, gives the loss.
      logdir: The folder of checkpoints and summaries, or None.
      mask_update_op: Run after each step.
      train_step_fn: Takes a step; tf.contrib.slim's by default.
      train_step_kwargs: For it.
      **more: Other arguments of ``tf.contrib.slim.learning.train``.

    Returns:
      The last loss.
    """
    step = train_step_fn or tf_slim.learning.train_step

    def step_and_update(session: Any, train_op: Any, global_step: Any, arguments: Any) -> Any:
        total_loss, should_stop = step(session, train_op, global_step, arguments)
        session.run(mask_update_op)
        return total_loss, should_stop

    # TensorFlow 1.15 took the loss for a pair here, and so failed at the end of every training.
    return tf_slim.learning.train(
        train_op,
        logdir,
        train_step_fn=step_and_update,
        train_step_kwargs=train_step_kwargs,
        **more,
    )
