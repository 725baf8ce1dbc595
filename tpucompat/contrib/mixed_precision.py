"""``tf.contrib.mixed_precision``: losses scaled up before gradients are taken, and these scaled down again.

Follows tensorflow/contrib/mixed_precision/python/loss_scale_manager.py and loss_scale_optimizer.py of
TensorFlow 1.15.
"""

from __future__ import annotations

import abc
from typing import Any

import tensorflow.compat.v1 as tf

from tpucompat.base.errors import BadValueError


class LossScaleManager(abc.ABC):
    """Chooses the factor of the loss."""

    @abc.abstractmethod
    def get_loss_scale(self) -> Any:
        """The factor, a float32 scalar."""

    @abc.abstractmethod
    def update_loss_scale(self, finite_grads: Any) -> Any:
        """The operation that adapts the factor after a step.

        Args:
          finite_grads: Whether all gradients of the step were finite, a boolean scalar.
        """


class FixedLossScaleManager(LossScaleManager):
    """One factor for all steps.

    Args:
      loss_scale: The factor, 1 or more.

    Raises:
      BadValueError: A factor below 1.
    """

    def __init__(self, loss_scale: float) -> None:
        if loss_scale < 1:
            raise BadValueError("TPU103", "loss scale must be at least 1.")
        self._loss_scale = tf.convert_to_tensor(loss_scale, tf.float32)

    def get_loss_scale(self) -> Any:
        """The factor."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """Does nothing."""
        del finite_grads
        return tf.no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A factor that grows while gradients are finite, and shrinks where they are not.

    Args:
      init_loss_scale: The first factor.
      incr_every_n_steps: Steps with finite gradients, one after the other, after which it grows.
      decr_every_n_nan_or_inf: Steps with others, all counted since it changed, after which it shrinks.
      incr_ratio: What it is multiplied by to grow, as long as that is finite.
      decr_ratio: What it is multiplied by to shrink, down to 1.
    """

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        self._every_finite = incr_every_n_steps
        self._every_other = decr_every_n_nan_or_inf
        self._growth, self._shrinkage = incr_ratio, decr_ratio
        self._loss_scale = tf.Variable(
            tf.convert_to_tensor(init_loss_scale, tf.float32), trainable=False, name="loss_scale"
        )
        self._finite = tf.Variable(0, trainable=False, name="good_steps")
        self._others = tf.Variable(0, trainable=False, name="bad_steps")

    def get_loss_scale(self) -> Any:
        """The factor, a variable."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """Counts the step, and changes the factor where it is due."""

        def changed(factor: Any) -> Any:
            return tf.group(
                tf.assign(self._loss_scale, factor),
                tf.assign(self._finite, 0),
                tf.assign(self._others, 0),
            )

        def grow() -> Any:
            larger = self._loss_scale * self._growth
            return changed(tf.where(tf.is_finite(larger), larger, self._loss_scale))

        def shrink() -> Any:
            return changed(tf.maximum(1.0, self._loss_scale * self._shrinkage))

        def count_finite() -> Any:
            return tf.group(tf.assign_add(self._finite, 1))

        def count_other() -> Any:
            return tf.group(tf.assign_add(self._others, 1), tf.assign(self._finite, 0))

        return tf.cond(
            finite_grads,
            lambda: tf.cond(self._finite + 1 >= self._every_finite, grow, count_finite),
            lambda: tf.cond(self._others + 1 >= self._every_other, shrink, count_other),
        )


class LossScaleOptimizer(tf.train.Optimizer):
    """Takes gradients of a scaled loss, and leaves out steps whose gradients are not finite.

    Args:
      opt: The optimizer, a ``tf.train.Optimizer``.
      loss_scale_manager: A :class:`LossScaleManager`.
    """

    def __init__(self, opt: Any, loss_scale_manager: LossScaleManager) -> None:
        # As in 1.15, nothing of the base class is set up: the other optimizer has the slots.
        self._opt = opt
        self._loss_scale_manager = loss_scale_manager

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = tf.train.Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """The gradients of the loss, by way of the scaled one; see ``tf.train.Optimizer``."""
        scale = self._loss_scale_manager.get_loss_scale()

        def scaled() -> Any:
            value = loss() if callable(loss) else loss
            return value * tf.cast(scale, value.dtype.base_dtype)

        pairs = self._opt.compute_gradients(
            scaled if tf.executing_eagerly() else scaled(),
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        inverse = tf.math.reciprocal(scale)
        return [
            (None if each is None else each * tf.cast(inverse, each.dtype.base_dtype), variable)
            for each, variable in pairs
        ]

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Applies gradients that are all finite, and adapts the factor; see ``tf.train.Optimizer``."""
        pairs = list(grads_and_vars)
        finite = tf.reduce_all([tf.reduce_all(tf.is_finite(each)) for each, _ in pairs])
        update = tf.cond(
            finite,
            lambda: tf.group(self._opt.apply_gradients(pairs, global_step, name)),
            lambda: tf.group(),
        )
        return tf.group(update, self._loss_scale_manager.update_loss_scale(finite))
